// Try it: the model itself, in the page; a server answers where the page cannot.
import { $, h, show, share, named } from "./dom.js";
import { marginBar } from "./charts.js";

export class TryView {
  constructor(data) {
    this.data = data;
    this.can = Boolean(data.model || data.live);
    $("try-no").textContent = this.can ? "" : `${data.noTry} hyperlabel predict runs every model.`;
    $("try-form").hidden = !this.can;
    $("try-marked").hidden = !data.model;
    if (!data.model) $("try-how").textContent = "Labels, by their probability";
    if (this.can) $("try-text").addEventListener("input", () => this.answer());
  }

  open() {
    if (!this.can) return;
    if (!$("try-text").value && this.data.texts) $("try-text").value = this.data.texts[this.data.review[this.data.review.length - 1]] ?? "";
    this.answer();
  }

  async answer() {
    const { data } = this, text = $("try-text").value;
    const scores = data.model ? data.model.scores(text) : await this.askServer(text);
    if (!scores) return;
    // a server answers with probabilities, which have no threshold
    const margin = (j) => scores[j] - (data.model ? data.thresholds[j] : 0), over = (j) => data.model && margin(j) > 0;
    const order = data.labels.map((_, j) => j).sort((a, b) => margin(b) - margin(a)).slice(0, 12);
    if (!order.includes(this.label)) this.label = order[0];
    const reach = data.model ? Math.max(0.2, ...order.map((j) => Math.abs(margin(j))).filter((v) => v < 1e9)) : 1;
    show("try-labels", order.map((j) => h("li", { class: `choice ${over(j) ? "has" : ""} ${j === this.label ? "current" : ""}` },
      h("button", { type: "button", class: "name", title: data.labels[j], "aria-pressed": String(j === this.label), onclick: () => { this.label = j; this.answer(); } }, named(data.labels[j])),
      h("span", { class: `state ${over(j) ? "predicted" : ""}` }, over(j) ? "predicted" : ""),
      marginBar(margin(j), reach, `score ${share(scores[j])}`, data.model ? 50 : 0), h("span", { class: "value" }, share(scores[j])))));
    if (!data.model) return;
    $("try-why").textContent = `Words for and against “${data.labels[this.label]}”`;
    show("try-marked", data.marks(text, this.label));
  }

  async askServer(text) {
    const { base, project } = this.data.live, scores = new Array(this.data.labels.length).fill(0);
    const body = new URLSearchParams({ text, limit: "100", threshold: "0" });
    const answer = await fetch(`${location.origin}${base}v1/projects/${encodeURIComponent(project)}/suggest`, { method: "POST", body });
    if (!answer.ok) return null;
    for (const { label, score } of (await answer.json()).results) scores[this.data.labelIndex.get(label)] = score;
    return scores;
  }
}
