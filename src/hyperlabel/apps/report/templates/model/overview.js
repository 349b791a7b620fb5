// Overview: the measures of the model, its labels, the weakest of them and what would help.
import { $, h, s, show, share, whole, plural, say, sortedTable, labelLink } from "./dom.js";
import { frame, across, upward, intervalBar, path, reliability } from "./charts.js";
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
  show("said-true", reliability(data.curves.all, "Share of entries that are true against the probability said"));
  insteadOfEachOther(data);
  growth(data);
  $("twins-says").textContent = data.nTwins ? `${plural(data.nTwins, "row")} of ${whole(data.n)} have a near twin; the page of a row names them.` : "";
  weakest(data, labels);
  labelTable(data, labels);
}

function insteadOfEachOther(data) {
  const pairs = data.replaced.instead.flatMap((list, j) => list.map(([other, n]) => ({ j, other, n }))).sort((a, b) => b.n - a.n).slice(0, 8);
  show("instead-all", !pairs.length ? h("p", { class: "muted" }, "No row that misses a label gets another that it lacks.") : h("ul", { class: "instead" }, pairs.map(({ j, other, n }) =>
    h("li", {}, labelLink(data, other), h("span", { class: "muted" }, " in place of "), labelLink(data, j), h("span", { class: "muted" }, `: ${whole(n)} of ${plural(data.replaced.missed[j], "row")} that miss it`)))));
}

function growth(data) {
  const points = data.growth ?? [];
  $("growth-part").hidden = points.length < 3;
  if (points.length < 3) return;
  const [least, most] = [points[0][0], points[2][0]], at = (n) => (0.9 * Math.log(n / least)) / Math.log(most / least) + 0.05;
  const figure = frame("macro-F1 of models of a quarter, half and all of the rows", "rows to learn from", "macro-F1", points.map(([n]) => [at(n), whole(n)]));
  figure.append(path(points.map(([n, f1]) => [at(n), f1]), "f1"), ...points.map(([n, f1]) => s("circle", { cx: across(at(n)), cy: upward(f1), r: 5, class: "dot" }, s("title", {}, `${whole(n)} rows: ${share(f1, 3)}`))));
  show("growth", figure);
  const last = points[2][1] - points[1][1];
  $("growth-says").textContent = last > 0.005 ? `The last doubling of rows brought ${share(last, 3)}. Another usually brings as much or less.`
    : "The last doubling of rows brought next to nothing: better labels or other columns help more than rows.";
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
