// A label: every threshold with exact counts, the words behind it, the rows that contradict it.
import { $, h, s, show, share, whole, plural, say, labelLink, labelPicker } from "./dom.js";
import { frame, across, upward, path, reliability, roundTicks, wordBars } from "./charts.js";

export class LabelView {
  constructor(data) {
    this.data = data;
    this.label = null;
    const picker = labelPicker(data, "label-pick", "Label", (j) => { location.hash = `label=${encodeURIComponent(data.labels[j])}`; });
    this.pick = picker.input;
    show("label-picker", picker.element,
      h("button", { type: "button", onclick: () => this.step(-1) }, "← previous"),
      h("button", { type: "button", onclick: () => this.step(1) }, "next →"));
    $("threshold").addEventListener("input", () => this.move(Number($("threshold").value)));
    $("threshold-back").addEventListener("click", () => this.move(data.chosen[this.label]));
    $("threshold-best").addEventListener("click", () => this.move(this.best()));
  }

  step(by) {
    const k = this.data.labels.length;
    location.hash = `label=${encodeURIComponent(this.data.labels[(this.label + by + k) % k])}`;
  }

  open(label) {
    const { data } = this;
    this.label = label;
    this.pick.value = data.labels[label];
    $("label-name").textContent = data.labels[label];
    const table = (this.table = data.tables(label));
    $("label-facts").textContent = `${plural(table.rows, "row")} of ${whole(data.n)} carry it; `
      + `as a probability its score is off by ${share(data.reliability[label], 3)} on average.`;
    $("threshold").min = -1;
    $("threshold").max = table.size;
    this.draw();
    this.words();
    this.rows();
    this.move(data.currentThreshold[label]);
  }

  best() {
    let bestThreshold = -1;
    for (let t = -1; t <= this.table.size; t++) {
      if (this.data.measured(this.label, t).f1 > (this.data.measured(this.label, bestThreshold).f1 || 0)) bestThreshold = t;
    }
    return bestThreshold;
  }

  position(t) {
    const { table } = this, last = table.size - 1;
    if (last < 1) return 0.5;
    const at = table.edge(Math.max(0, Math.min(last, t)));
    return (at - table.edge(0)) / (table.edge(last) - table.edge(0) || 1);
  }

  draw() {
    const { table, label, data } = this, points = [];
    for (let t = 0; t < table.size; t++) points.push([this.position(t), data.measured(label, t)]);
    const ticks = table.size > 1 ? roundTicks(table.edge(0), table.edge(table.size - 1)) : [];
    const figure = frame(`Precision, recall and F1 of ${data.labels[label]} at every threshold`, "threshold (score)", "", ticks);
    for (const kind of ["precision", "recall", "f1"]) figure.append(path(points.map(([x, m]) => [x, m[kind]]), kind));
    const chosen = this.position(data.chosen[label]);
    if (data.guarantee) figure.append(s("line", { x1: across(0), x2: across(1), y1: upward(data.guarantee), y2: upward(data.guarantee), class: "guarantee" }),
      s("text", { x: across(1), y: upward(data.guarantee) - 5, class: "tick end" }, `guaranteed precision ${share(data.guarantee)}`));
    figure.append(s("line", { x1: across(chosen), x2: across(chosen), y1: upward(0), y2: upward(1), class: "model-threshold" }));
    this.line = s("line", { y1: upward(0), y2: upward(1), class: "threshold-line" });
    this.dots = ["precision", "recall", "f1"].map((kind) => s("circle", { r: 5, class: `dot ${kind}` }));
    figure.append(this.line, ...this.dots);
    figure.addEventListener("click", (event) => this.pointed(event, figure));
    show("curve", figure);
    this.drawPrecisionRecall();
    show("label-said", reliability(data.curves.label[label], `Share of rows with ${data.labels[label]} against its probability`));
    this.instead();
  }

  drawPrecisionRecall() {
    const { table, label, data } = this, shares = [0, 0.25, 0.5, 0.75, 1].map((v) => [v, String(v)]);
    const points = [], at = (m) => [m.recall, m.precision];
    for (let t = -1; t < table.size; t++) points.push(at(data.measured(label, t)));
    const figure = frame(`Precision against recall of ${data.labels[label]}`, "recall", "precision", shares);
    figure.append(path(points.filter(([x]) => Number.isFinite(x)), "f1"));
    if (data.guarantee) figure.append(s("line", { x1: across(0), x2: across(1), y1: upward(data.guarantee), y2: upward(data.guarantee), class: "guarantee" }));
    $("pr-guarantee").textContent = data.guarantee ? `, which was chosen to keep the guaranteed precision of ${share(data.guarantee)} (dashed)` : "";
    const [x, y] = at(data.measured(label, data.chosen[label]));
    if (Number.isFinite(x) && Number.isFinite(y)) figure.append(s("circle", { cx: across(x), cy: upward(y), r: 8, class: "ring" }));
    this.prDot = s("circle", { r: 5, class: "dot f1" });
    figure.append(this.prDot);
    show("pr-curve", figure);
  }

  instead() {
    const { data, label } = this, missed = data.replaced.missed[label], list = data.replaced.instead[label];
    show("instead", !missed ? h("p", { class: "muted" }, "It is never missed on these rows.") : h("div", {},
      h("p", { class: "muted" }, `It is missed on ${plural(missed, "row")}.`),
      list.length ? h("ul", { class: "beside" }, list.map(([j, n]) => h("li", {}, labelLink(data, j), h("span", { class: "muted" }, ` on ${whole(n)} of them`))))
        : h("p", { class: "muted" }, "Those rows get no label that they lack.")));
  }

  pointed(event, figure) {
    const box = figure.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * 640;
    let best = 0;
    for (let t = 0; t < this.table.size; t++) {
      if (Math.abs(across(this.position(t)) - x) < Math.abs(across(this.position(best)) - x)) best = t;
    }
    this.move(best);
  }

  move(t) {
    const { data, label, table } = this, m = data.measured(label, t);
    data.currentThreshold[label] = t;
    $("threshold").value = t;
    const threshold = t < 0 ? "below every score" : t >= table.size ? "above every score" : share(table.edge(t), 3);
    $("threshold").setAttribute("aria-valuetext", `threshold ${threshold}: precision ${share(m.precision)}, recall ${share(m.recall)}`);
    $("threshold-value").textContent = threshold;
    $("threshold-own").textContent = t === data.chosen[label] ? "the model's threshold" : "moved";
    const values = { precision: share(m.precision), recall: share(m.recall), f1: share(m.f1), predicted: whole(m.predicted), hits: whole(m.hits), review: whole(m.review) };
    for (const [name, value] of Object.entries(values)) $(`at-${name}`).textContent = value;
    const x = across(this.position(t));
    this.line.setAttribute("x1", x);
    this.line.setAttribute("x2", x);
    this.prDot.setAttribute("cx", across(m.recall || 0));
    this.prDot.setAttribute("cy", upward(m.precision || 0));
    this.prDot.toggleAttribute("hidden", !Number.isFinite(m.precision) || !Number.isFinite(m.recall));
    ["precision", "recall", "f1"].forEach((kind, i) => {
      this.dots[i].setAttribute("cx", x);
      this.dots[i].setAttribute("cy", upward(m[kind] || 0));
      this.dots[i].toggleAttribute("hidden", !Number.isFinite(m[kind]));
    });
  }

  words() {
    const why = this.data.why[this.label];
    if (!why) {
      show("for-against", h("p", { class: "muted" }, "This model is not linear: it has no words for and against a label."));
      return;
    }
    show("for-against", h("div", {}, h("h3", {}, "For"), wordBars(why[0], "for", h)), h("div", {}, h("h3", {}, "Against"), wordBars(why[1], "against", h)));
  }

  rows() {
    const { data, label } = this, [lost, doubtful] = data.mistakes[label];
    const item = (row) => h("li", {}, h("a", { href: `#row=${data.rows[row]}` }, `row ${data.rows[row]}`),
      h("span", { class: "muted" }, ` score ${share(data.score(label, row))}`), h("span", { class: "snippet" }, data.snippet(row)));
    const list = (rows, none) => (rows.length ? h("ul", { class: "rows" }, rows.slice(0, 6).map(item)) : h("p", { class: "muted" }, none));
    show("lost", list(lost, "No row carries it."));
    show("doubtful", list(doubtful, "Every row carries it."));
    const total = this.table.rows;
    show("beside", data.together[label].length ? h("ul", { class: "beside" }, data.together[label].map(([j, n]) =>
      h("li", {}, labelLink(data, j), h("span", { class: "muted" }, ` on ${whole((100 * n) / total)} % of its rows`)))) : h("p", { class: "muted" }, "It appears with no other label."));
  }
}
