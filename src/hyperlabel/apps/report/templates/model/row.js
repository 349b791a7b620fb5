// A row: its text with the words that counted, scores against thresholds, and corrections by keyboard.
import { $, h, show, share, whole, plural, say, named, labelPicker } from "./dom.js";
import { marginBar } from "./charts.js";

const SHOWN = 10;
const STATES = { unknown: "nobody said whether the row carries it", set: "the row carries it in your file", predicted: "the model predicts it; the row does not carry it", accepted: "accepted by you", rejected: "rejected by you" };

export class RowView {
  constructor(data) {
    this.data = data;
    this.row = null;
    this.changes = new Map(); // row → Map(label → set or not)
    this.picker = labelPicker(data, "row-add", "Add a label (+)", (j) => this.decide(j, true, true));
    show("row-adding", this.picker.element);
    $("row-next").addEventListener("click", () => this.step(1));
    $("row-back").addEventListener("click", () => this.step(-1));
    $("row-go").addEventListener("change", () => { location.hash = `row=${$("row-go").value}`; });
    $("row-save").addEventListener("click", () => this.save());
    $("row-go").max = Math.max(...data.rows);
    addEventListener("beforeunload", (event) => { if (this.unsaved) event.preventDefault(); });
    this.says();
  }

  step(by) {
    const { review, rows } = this.data, at = this.order ?? 0, n = review.length;
    location.hash = `row=${rows[review[(at + by + n) % n]]}`;
  }

  open(row) {
    const { data } = this;
    this.row = row;
    this.order = data.review.indexOf(row);
    $("row-name").textContent = `Row ${data.rows[row]}`;
    $("row-place").textContent = `${whole(this.order + 1)} of ${whole(data.review.length)}, most doubtful first`;
    $("row-go").value = data.rows[row];
    this.carried = data.carriedLabels(row);
    this.unknown = data.unknownLabels(row);
    const margin = (j) => data.score(j, row) - data.thresholdValue(j);
    const ranked = data.labels.map((_, j) => j).sort((a, b) => margin(b) - margin(a));
    const must = ranked.filter((j) => this.carried.has(j) || margin(j) > 0 || this.decided(j) !== undefined);
    this.listed = [...new Set([...must, ...ranked.slice(0, SHOWN)])].sort((a, b) => margin(b) - margin(a)).slice(0, 40);
    this.at = 0;
    this.draw();
  }

  decided(label) {
    return this.changes.get(this.row)?.get(label);
  }

  draw() {
    const { data, row } = this;
    const reach = Math.max(0.2, ...this.listed.map((j) => Math.abs(data.score(j, row) - data.thresholdValue(j))).filter(Number.isFinite));
    show("row-labels", this.listed.map((j, i) => this.line(j, i, reach)));
    this.mark();
  }

  line(j, i, reach) {
    const { data, row } = this, score = data.score(j, row), threshold = data.thresholdValue(j), decided = this.decided(j);
    const has = decided ?? this.carried.has(j), name = data.labels[j];
    const state = decided === undefined ? (this.carried.has(j) ? "set" : this.unknown.has(j) ? "unknown" : score > threshold ? "predicted" : "") : decided ? "accepted" : "rejected";
    const button = (text, title, value) => h("button", { type: "button", title, "aria-label": `${title} ${name}`, "aria-pressed": String(decided === value), onclick: () => { this.at = i; this.decide(j, value); } }, text);
    return h("li", { class: `choice ${i === this.at ? "current" : ""} ${has ? "has" : ""}`, "aria-current": i === this.at ? "true" : null, onclick: () => { this.at = i; this.refresh(); } },
      h("span", { class: "name", title: name }, named(name)), h("span", { class: `state ${state}`, title: STATES[state] }, state),
      marginBar(Math.max(-1e9, Math.min(1e9, score - threshold)), reach, `score ${share(score)}, threshold ${share(threshold)}`),
      h("span", { class: "value" }, share(score)), button("✓", "Accept", true), button("✗", "Reject", false));
  }

  // The text with the words that moved the chosen label; the features of rows that have no text.
  mark() {
    const { data, row } = this, label = this.listed[this.at];
    $("row-why").textContent = !data.why[label] ? "" : `Words for and against “${data.labels[label]}”`;
    show("row-text", data.markedRow(row, label));
    const twins = data.twins[row] ?? [];
    show("row-twins", twins.length ? ["Near twins: ", twins.flatMap((twin, i) => [i ? ", " : "", data.positionOfRow.has(twin) ? h("a", { href: `#row=${twin}` }, `row ${twin}`) : `row ${twin}`])] : "");
  }

  refresh() {
    this.draw();
    $("row-labels").children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  decide(label, value, added = false) {
    const { data, row } = this;
    if (row === null) return;
    const of = this.changes.get(row) ?? new Map();
    if (of.get(label) === value && !added) of.delete(label);
    else of.set(label, value);
    if (of.size) this.changes.set(row, of);
    else this.changes.delete(row);
    if (!this.listed.includes(label)) this.listed.unshift(label);
    if (added) { this.picker.input.value = ""; this.picker.input.blur(); this.at = this.listed.indexOf(label); }
    this.unsaved = this.changed().length > 0;
    this.refresh();
    this.says();
    const decision = of.get(label);
    say(`${data.labels[label]}: ${decision === undefined ? "as it was" : decision ? "accepted" : "rejected"}.`);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const last = this.listed.length - 1, label = this.listed[this.at];
    const does = {
      ArrowDown: () => { this.at = Math.min(last, this.at + 1); this.refresh(); },
      ArrowUp: () => { this.at = Math.max(0, this.at - 1); this.refresh(); },
      a: () => this.decide(label, true),
      r: () => this.decide(label, false),
      "+": () => this.picker.input.focus(),
      n: () => this.step(1),
      ArrowRight: () => this.step(1),
      p: () => this.step(-1),
      ArrowLeft: () => this.step(-1),
      s: () => this.save(),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }

  // Rows whose labels differ from the file.
  changed() {
    return [...this.changes.keys()].filter((row) => {
      const carried = this.data.carriedLabels(row), unknown = this.data.unknownLabels(row);
      return [...this.changes.get(row)].some(([label, value]) => unknown.has(label) || carried.has(label) !== value);
    }).sort((a, b) => a - b);
  }

  says() {
    const rows = this.changed(), { data } = this;
    $("row-changed").textContent = rows.length ? `${plural(rows.length, "row")} corrected` : "nothing corrected yet";
    $("row-save").disabled = !rows.length;
    const forget = data.kind === "out of fold" ? " --forget before.jsonl" : "";
    const command = data.export ? `hyperlabel update ${data.facts.model ?? "MODEL"} corrected.jsonl${forget}` : "";
    show("row-command", command.split(" ").flatMap((word, i) => [i ? " " : "", word.startsWith("--") ? h("span", { class: "option" }, word) : word]));
    $("row-command").hidden = !data.export;
    $("row-hint").textContent = data.export ? "The files hold the corrected rows as they are now, and as they were; the model learns with:"
      : "The page cannot write whole rows (no texts in it, not a table, or missing labels): the file lists row numbers and labels.";
  }

  lines(now) {
    const { data } = this, { text = [], numbers = [], labelColumn = null, labels = [] } = data.export ?? {};
    return this.changed().map((row) => {
      const set = data.carriedLabels(row), unknown = data.unknownLabels(row);
      if (now) for (const [label, value] of this.changes.get(row)) { value ? set.add(label) : set.delete(label); unknown.delete(label); }
      const names = [...set].sort((a, b) => a - b).map((j) => data.labels[j]);
      if (!data.export) return JSON.stringify({ row: data.rows[row], labels: names });
      const out = {};
      if (data.cells) data.columns.forEach((column, i) => { out[column] = data.cells[row][i]; });
      else text.forEach((column, i) => { out[column] = i ? "" : data.texts[row]; });
      if (!data.cells) numbers.forEach((column, i) => { out[column] = data.numbers[row][i]; });
      if (labelColumn) out[labelColumn] = names;
      else labels.forEach((column, j) => { out[column] = set.has(j) ? 1 : unknown.has(j) ? "unknown" : 0; });
      return JSON.stringify(out);
    }).map((line) => `${line}\n`).join("");
  }

  save() {
    if (!this.changed().length) return;
    const files = [["corrected.jsonl", this.lines(true)]];
    if (this.data.export && this.data.kind === "out of fold") files.push(["before.jsonl", this.lines(false)]);
    for (const [name, content] of files) {
      const link = h("a", { href: URL.createObjectURL(new Blob([content], { type: "application/jsonl" })), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
    this.unsaved = false;
    say(`Saved ${files.map(([name]) => name).join(" and ")}.`);
  }
}
