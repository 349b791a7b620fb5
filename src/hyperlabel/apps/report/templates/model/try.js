// Try it: the model itself, in the page; a server answers where the page cannot.
import { $, h, show, share, named } from "./dom.js";
import { marginBar } from "./charts.js";

const MOST_FIELDS = 24;

export class TryView {
  constructor(data) {
    this.data = data;
    this.fields = !data.model && data.live && data.columns ? data.columns.slice(0, MOST_FIELDS) : null;
    this.can = Boolean(data.model || (data.live && (!data.columns || data.columns.length <= MOST_FIELDS)));
    $("try-marked").hidden = !data.model;
    if (!data.model) $("try-how").textContent = "Labels, by their probability";
    if (!this.can) return;
    if (this.fields) {
      this.inputs = this.fields.map((name, i) => (data.textColumns.includes(name)
        ? h("textarea", { id: `try-${i}`, class: "short", spellcheck: "false" }) : h("input", { id: `try-${i}`, autocomplete: "off" })));
      $("try-fields").replaceChildren(...this.fields.map((name, i) => h("label", { class: "field", for: `try-${i}` }, h("span", {}, name), this.inputs[i])));
    } else if (data.columns) {
      $("try-name").textContent = data.textColumns[0];
      $("try-rest").textContent = "All other columns are taken as empty here.";
    }
    for (const input of this.inputs ?? [$("try-text")]) input.addEventListener("input", () => { this.label = null; this.answer(); });
  }

  open() {
    if (!this.can) return;
    const { data } = this, row = data.review[data.review.length - 1];
    if (this.fields && !this.filled && data.cells) this.inputs.forEach((input, i) => { input.value = data.cells[row][i] ?? ""; });
    if (!this.fields && !$("try-text").value) $("try-text").value = (data.cells ? data.cells[row][data.columns.indexOf(data.textColumns[0])] : data.texts?.[row]) ?? "";
    this.filled = true;
    this.answer();
  }

  async answer() {
    const { data } = this, text = this.fields ? "" : $("try-text").value, asked = (this.asked = (this.asked ?? 0) + 1);
    const scores = data.model ? data.model.scores(text) : await this.askServer(text, asked);
    if (!scores || asked !== this.asked) return; // a later question is under way
    // a server answers with probabilities, which have no threshold
    const margin = (j) => scores[j] - (data.model ? data.thresholds[j] : 0), over = (j) => data.model && margin(j) > 0;
    const order = data.labels.map((_, j) => j).sort((a, b) => margin(b) - margin(a)).slice(0, 12);
    const label = this.label ?? order[0];
    const reach = data.model ? Math.max(0.2, ...order.map((j) => Math.abs(margin(j))).filter((v) => v < 1e9)) : 1;
    show("try-labels", order.map((j) => h("li", { class: `choice ${over(j) ? "has" : ""} ${j === label ? "current" : ""}` },
      h("button", { type: "button", class: "name", title: data.labels[j], "aria-pressed": String(j === label), onclick: () => { this.label = j; this.answer(); } }, named(data.labels[j])),
      h("span", { class: `state ${over(j) ? "predicted" : ""}` }, over(j) ? "predicted" : ""),
      marginBar(margin(j), reach, `score ${share(scores[j])}`, data.model ? 50 : 0), h("span", { class: "value" }, share(scores[j])))));
    if (!data.model) return;
    $("try-why").textContent = `Words for and against “${data.labels[label]}”`;
    show("try-marked", data.marks(text, label));
  }

  async askServer(text, asked) {
    const { base, project } = this.data.live, scores = new Array(this.data.labels.length).fill(0);
    const content = this.fields ? { row: Object.fromEntries(this.fields.map((name, i) => [name, this.inputs[i].value])) } : { text };
    const answer = await fetch(`${location.origin}${base}v1/projects/${encodeURIComponent(project)}/suggest`,
      { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...content, limit: 100 }) });
    const reply = await answer.json();
    if (asked !== this.asked) return null; // answers may come in another order than the questions
    if (!answer.ok) {
      $("try-rest").textContent = reply.detail ?? "The server did not answer.";
      return null;
    }
    if (this.fields) $("try-rest").textContent = "";
    for (const { label, score } of reply.results) scores[this.data.labelIndex.get(label)] = score;
    return scores;
  }
}
