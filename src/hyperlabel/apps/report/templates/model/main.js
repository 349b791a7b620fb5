// The page: its data, its views, and the address that says which is open.
import { $, h, share, named } from "./dom.js";
import { unpack, counts, measures, scoreOf, carriedBy } from "./pack.js";
import { TextModel } from "./words.js";
import { overview } from "./overview.js";
import { LabelView } from "./label.js";
import { MapView } from "./map.js";
import { RowView } from "./row.js";
import { TryView } from "./try.js";

function prepared(data) {
  const tables = new Map();
  data.labelIndex = new Map(data.labels.map((name, j) => [name, j]));
  data.positionOfRow = new Map(data.rows.map((row, i) => [row, i]));
  data.tables = (j) => tables.get(j) ?? tables.set(j, counts(data, j)).get(j);
  data.measured = (j, t) => measures(data.tables(j), t);
  data.currentThreshold = data.chosen.slice();
  data.byRows = data.labels.map((_, j) => j).sort((a, b) => data.tables(b).rows - data.tables(a).rows);
  data.score = (label, row) => scoreOf(data, label, row);
  data.carriedLabels = (row) => carriedBy(data, row);
  data.unknownLabels = (row) => new Set(data.unknown[row] ?? []);
  data.thresholdValue = (j) => {
    const t = data.currentThreshold[j], { size, edge } = data.tables(j);
    return t < 0 ? -1e300 : t >= size ? 1e300 : edge(t);
  };
  data.model = data.vectoriser ? new TextModel(data) : null;
  data.marks = (text, label) => {
    const pieces = data.model.marked(text, label), most = Math.max(...pieces.map(([, v]) => Math.abs(v)), 1e-12);
    return pieces.map(([piece, v]) => (v ? h("mark", { class: v > 0 ? "for" : "against", style: `--s:${(Math.abs(v) / most).toFixed(2)}`, title: `${v > 0 ? "+" : ""}${share(v, 3)}` }, piece) : piece));
  };
  data.featuresOf = (row) => [...data.featureOf.subarray(data.featureStart[row], data.featureStart[row + 1])].map((i) => data.features[i]);
  data.snippet = (row) => (data.cells ? data.cells[row].filter((cell) => cell !== null && cell !== "").join(" · ").slice(0, 160) : data.texts ? data.texts[row].slice(0, 160) : data.features ? data.featuresOf(row).slice(0, 18).join(" ") : "");
  // A word of a column, with the weight it has for a label, where it is among the strongest.
  data.markWords = (text, column, label) => {
    const listed = label === undefined ? [] : (data.why[label] ?? []).flat(), many = data.textColumns.length > 1;
    const weightOf = new Map(listed.map(([name, weight]) => [name.toLowerCase(), weight]));
    const most = Math.max(...listed.map(([, weight]) => Math.abs(weight)), 1e-12);
    return text.split(/([\p{L}\p{N}_]+)/u).map((piece) => {
      const weight = weightOf.get(many ? `${piece} (${column})`.toLowerCase() : piece.toLowerCase());
      return weight ? h("mark", { class: weight > 0 ? "for" : "against", style: `--s:${Math.abs(weight) / most}` }, piece) : piece;
    });
  };
  data.markedCell = (name, cell, label) => {
    if (cell === null || cell === "") return h("span", { class: "muted" }, "empty");
    if (!data.textColumns.includes(name)) return String(typeof cell === "number" ? Number(cell.toPrecision(6)) : cell);
    return data.model && label !== undefined ? data.marks(cell, label) : data.markWords(cell, name, label);
  };
  data.markedRow = (row, label) => {
    if (data.cells) return h("dl", { class: "cells" }, data.columns.map((name, i) => [h("dt", {}, named(name)), h("dd", {}, data.markedCell(name, data.cells[row][i], label))]));
    if (data.texts) return data.model && label !== undefined ? data.marks(data.texts[row], label) : [data.texts[row]];
    if (!data.features) return [h("span", { class: "muted" }, "This file has no texts, or the page was made without them.")];
    const weightOf = new Map(label === undefined ? [] : (data.why[label] ?? []).flat());
    const most = Math.max(...[...weightOf.values()].map(Math.abs), 1e-12);
    return data.featuresOf(row).map((name) => [weightOf.has(name)
      ? h("mark", { class: weightOf.get(name) > 0 ? "for" : "against", style: `--s:${Math.abs(weightOf.get(name)) / most}` }, name) : name, " "]).flat();
  };
  return data;
}

const tabOf = (view) => document.querySelector(`nav a[href="#${view}"]`);
const VIEWS = ["overview", "label", "map", "row", "try"];

function route(data, views) {
  let [name, value = ""] = location.hash.slice(1).split(/=(.*)/s);
  try {
    value = decodeURIComponent(value);
  } catch {
    value = ""; // a broken address opens the view as it was
  }
  const view = VIEWS.includes(name) && !tabOf(name).parentElement.hidden ? name : "overview";
  for (const other of VIEWS) {
    $(`view-${other}`).hidden = other !== view;
    const tab = tabOf(other);
    if (other === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (view === "label") views.label.open(data.labelIndex.get(value) ?? views.label.label ?? data.byRows[0]);
  if (view === "map") views.map.open();
  if (view === "row") views.row.open(data.positionOfRow.get(Number(value)) ?? views.row.row ?? data.review[0]);
  if (view === "try") views.try.open();
  views.now = view;
  scrollTo(0, 0);
}

async function start() {
  const data = prepared(await unpack($("packed").textContent));
  $("labels").append(...data.labels.map((name) => h("option", { value: name })));
  overview(data);
  const views = { label: new LabelView(data), map: new MapView(data), row: new RowView(data), try: new TryView(data) };
  tabOf("try").parentElement.hidden = !views.try.can;
  addEventListener("hashchange", () => route(data, views));
  addEventListener("keydown", (event) => { if (views.now === "row") views.row.key(event); });
  $("facts").textContent = (data.facts.shown ?? []).join(" · ");
  $("rule").textContent = data.rule;
  route(data, views);
  globalThis.hyperlabelPage = { data, views };
  document.body.dataset.ready = "yes";
}

await start();
