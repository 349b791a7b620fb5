// Overview: the measures of the model, its labels, the weakest of them and what would help.
import { $, h, s, show, share, whole, plural, say, sortedTable, labelLink } from "./dom.js";
import { frame, across, upward, intervalBar } from "./charts.js";
import { measuresOf } from "./pack.js";

const RARE = 10, WEAK = 0.3, MOST = 100;
const NAMES = { f1_macro: "macro-F1", f1_micro: "micro-F1", precision: "precision", recall: "recall" };

export function overview(data) {
  const { measures: m, crossFitted } = data.worth;
  const [value, low, high] = m.f1_macro;
  const interval = `${share(low)} to ${share(high)}`;
  const source = data.kind === "out of fold"
    ? "from models that had not seen the row"
    : "on these rows, taken as new: if the model was fitted on them, it flatters";
  show("worth",
    h("p", { class: "big" }, share(value), h("span", { class: "unit" }, "macro-F1")),
    intervalBar(m.f1_macro, `macro-F1 ${share(value, 3)}, 95 % interval ${interval}`),
    h("p", { class: "muted" }, `95 % interval ${interval}: the mean F1 of the labels, ${source}`
      + (crossFitted ? ", with thresholds that had not seen it either." : ".")));
  show("numbers", ["f1_micro", "precision", "recall"].map((name) => tile(NAMES[name], share(m[name][0]), `${share(m[name][1])} – ${share(m[name][2])}`)),
    tile("rows", whole(data.n), data.kind), tile("labels", whole(data.labels.length), `${(data.withLabel.reduce((a, b) => a + b, 0) / data.n).toFixed(2)} per row`));
  const labels = data.labels.map((_, j) => labelFacts(data, j));
  $("dots").replaceChildren(dots(data, labels));
  weakest(data, labels);
  labelTable(data, labels);
}

const tile = (name, value, note) =>
  h("div", { class: "tile" }, h("span", { class: "name" }, name), h("span", { class: "value" }, value), h("span", { class: "muted" }, note));

// By the decisions the intervals come from: thresholds that had not seen the row.
function labelFacts(data, j) {
  const { rows } = data.tables(j), judged = measuresOf(data.judgedHits[j], data.judgedPredicted[j], rows);
  return { j, name: data.labels[j], rows, ...judged, low: data.f1Low[j], high: data.f1High[j], off: data.reliability[j] };
}

function dots(data, labels) {
  const rows = labels.map((l) => l.rows).filter(Boolean), least = Math.min(...rows, 1e6) / 1.15, most = Math.max(...rows, 10 * least);
  const scale = (n) => Math.log(n / least) / Math.log(most / least);
  const ticks = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].flatMap((n) => (most / least > 1000 ? [n] : [n, 3 * n])).filter((n) => n >= least && n <= most).map((n) => [scale(n), whole(n)]);
  const figure = frame("F1 of each label against the number of rows that carry it", "rows with the label", "F1", ticks);
  figure.append(...labels.filter((l) => l.rows).map((l) => {
    const dot = s("circle", { cx: across(scale(l.rows)), cy: upward(l.f1 || 0), r: 4.5, class: `mark ${l.f1 < WEAK ? "weak" : ""}` },
      s("title", {}, `${l.name}: F1 ${share(l.f1)}, ${plural(l.rows, "row")}`));
    dot.addEventListener("click", () => { location.hash = `label=${encodeURIComponent(l.name)}`; });
    return dot;
  }));
  return figure;
}

function weakest(data, labels) {
  const weak = labels.filter((l) => l.rows >= 3 && l.f1 < 1).sort((a, b) => a.f1 - b.f1 || b.rows - a.rows).slice(0, 6);
  if (!weak.length) $("weakest").replaceChildren(h("li", { class: "muted" }, "No label is missed or set wrongly on these rows."));
  else $("weakest").replaceChildren(...weak.map((l) => h("li", { class: "card" },
    h("h3", {}, labelLink(data, l.j)),
    h("p", {}, h("strong", {}, `F1 ${share(l.f1)}`), h("span", { class: "muted" }, ` · ${plural(l.rows, "row")}, ${whole(l.predicted)} predicted, ${whole(l.hits)} of them right`)),
    h("p", {}, advice(data, l)))));
}

function advice(data, l) {
  const [lost, doubtful] = data.mistakes[l.j];
  if (l.rows < 20) return `Only ${plural(l.rows, "row")} to learn from: label more. The rows it might suit are listed with the label.`;
  const partner = data.together[l.j][0];
  const both = partner ? partner[1] / (l.rows + data.tables(partner[0]).rows - partner[1]) : 0;
  if (both >= 0.5) {
    return `${whole((100 * partner[1]) / l.rows)} % of its rows also carry “${data.labels[partner[0]]}”: say how they differ, or join the two.`;
  }
  if (l.predicted < 0.5 * l.rows) return "Most of its rows look like others: check the rows it carries with the lowest scores first.";
  if (l.precision < l.recall) return `Often predicted where it is not set: check the ${doubtful.length} rows it would suit that lack it.`;
  return `Often missed: check the ${lost.length} rows that carry it with the lowest scores.`;
}

function labelTable(data, labels) {
  const number = (name, of, digits, help) => ({ name, of, number: true, help, cell: (l) => (digits === 0 ? whole(of(l)) : share(of(l), digits)) });
  const columns = [
    { name: "label", of: (l) => l.name, cell: (l) => labelLink(data, l.j) },
    { name: "F1", of: (l) => l.f1, number: true, help: data.worth.crossFitted ? "with thresholds that had not seen the row; grey: 95 % interval" : "at the model's threshold; grey: 95 % interval",
      cell: (l) => h("span", {}, share(l.f1), h("span", { class: "range" }, ` ${share(l.low)}–${share(l.high)}`)) },
    number("rows", (l) => l.rows, 0),
    number("precision", (l) => l.precision, 2),
    number("recall", (l) => l.recall, 2),
    { name: "off by", of: (l) => l.off, number: true, help: "calibration error: mean distance of probabilities from observed shares", cell: (l) => share(l.off, 3) },
  ];
  const common = labels.filter((l) => l.rows >= RARE), rare = labels.length - common.length;
  const table = sortedTable("Labels", columns, rare === labels.length ? labels : common, { by: 1, most: MOST });
  const filter = () => {
    const text = $("find").value.toLowerCase(), kind = $("kind").value;
    const folded = !$("rare").checked && kind !== "rare" && !text;
    const matching = labels.filter((l) => l.name.toLowerCase().includes(text) && (!folded || rare === labels.length || l.rows >= RARE)
      && (kind === "all" || (kind === "weak" && l.f1 < WEAK) || (kind === "rare" && l.rows < RARE) || (kind === "off" && l.off > 0.05)));
    table.draw(matching);
    $("shown").textContent = `${plural(matching.length, "label")} of ${whole(labels.length)}`;
  };
  show("labels-table", table.element);
  for (const id of ["find", "kind", "rare"]) $(id).addEventListener("input", filter);
  $("rare-name").textContent = `show the ${whole(rare)} rare ones (under ${RARE} rows)`;
  $("rare").parentElement.hidden = !rare;
  filter();
}
