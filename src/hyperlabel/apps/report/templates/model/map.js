// The label map: near each other are labels that share rows; the size is the number of rows.
import { $, h, s, show, share, whole, plural, labelLink, labelPicker } from "./dom.js";

const SPAN = 1000, FONT = 13;

export class MapView {
  constructor(data) {
    this.data = data;
    if (innerWidth < 640) [data.map.x, data.map.y] = [data.map.y, data.map.x]; // higher than wide on a phone
    const { x, y, r } = data.map;
    this.width = Math.max(...x.map((v, j) => v + r[j])) * SPAN;
    this.height = Math.max(...y.map((v, j) => v + r[j])) * SPAN;
    this.svg = s("svg", { class: "map", role: "img", "aria-label": "Labels placed by the rows they share; the list below says the same in words" });
    this.dots = data.labels.map((name, j) => {
      const dot = s("circle", { cx: x[j] * SPAN, cy: y[j] * SPAN, r: r[j] * SPAN, class: `c${data.map.cluster[j] % 8}` },
        s("title", {}, `${name}: ${plural(data.tables(j).rows, "row")}`));
      dot.addEventListener("click", () => { if (!this.dragged) location.hash = `label=${encodeURIComponent(name)}`; });
      return dot;
    });
    this.names = s("g", { class: "names" });
    this.svg.append(...this.dots, this.names);
    show("map-figure", this.svg);
    const picker = labelPicker(data, "map-find", "Find", (j) => this.find(j));
    show("map-tools", picker.element, h("button", { type: "button", onclick: () => this.zoom(1 / 1.5) }, "zoom in"),
      h("button", { type: "button", onclick: () => this.zoom(1.5) }, "zoom out"),
      h("button", { type: "button", onclick: () => this.whole() }, "whole map"));
    this.listen();
    this.clusters();
    const pen = h("canvas").getContext("2d");
    pen.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
    this.short = data.labels.map((name) => (name.length > 34 ? `${name.slice(0, 33)}…` : name));
    this.wide = this.short.map((name) => pen.measureText(name).width + 5); // pixels, with a gap to the next
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, this.at(event));
    }, { passive: false });
    let from = null;
    svg.addEventListener("pointerdown", (event) => { from = { x: event.clientX, y: event.clientY, box: { ...this.box } }; this.dragged = false; });
    svg.addEventListener("pointermove", (event) => {
      if (!from || !event.buttons) return;
      const frame = svg.getBoundingClientRect(), scale = Math.max(this.box.w / frame.width, this.box.h / frame.height), dx = event.clientX - from.x, dy = event.clientY - from.y;
      this.dragged ||= Math.hypot(dx, dy) > 4;
      if (this.dragged) this.look({ ...this.box, x: from.box.x - dx * scale, y: from.box.y - dy * scale });
    });
    addEventListener("pointerup", () => { from = null; });
  }

  at(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }

  open() {
    if (!this.box) this.whole();
  }

  whole() {
    this.look({ x: -20, y: -20, w: this.width + 40, h: this.height + 40 });
  }

  zoom(by, centre) {
    const { box } = this;
    if (!box || (by < 1 && box.w < 60)) return; // not drawn yet, or as near as it goes
    const c = centre ?? { x: box.x + box.w / 2, y: box.y + box.h / 2 };
    this.look({ x: c.x - (c.x - box.x) * by, y: c.y - (c.y - box.y) * by, w: box.w * by, h: box.h * by });
  }

  find(j) {
    const { x, y } = this.data.map, w = this.width / 4, hgt = this.height / 4;
    this.dots.forEach((dot, i) => dot.classList.toggle("searched", i === j));
    this.first = j;
    this.look({ x: x[j] * SPAN - w / 2, y: y[j] * SPAN - hgt / 2, w, h: hgt });
  }

  look(box) {
    this.box = box;
    this.svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);
    if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = null; this.write(); });
  }

  // Names where they fit, inside large circles, below or above small ones, the largest labels first: none
  // is written over another, nor over another's large circle if that can be helped.
  write() {
    const shown = this.svg.getBoundingClientRect();
    const scale = Math.max(this.box.w / (shown.width || 1000), this.box.h / (shown.height || 600)), size = FONT * scale;
    const { x, y, r } = this.data.map, usedSpots = [], written = [];
    const width = shown.width * scale, height = shown.height * scale; // what is seen is wider or higher than the box
    const seen = { left: this.box.x + (this.box.w - width) / 2, top: this.box.y + (this.box.h - height) / 2 };
    const within = (at, low, high) => Math.max(low, Math.min(at, high));
    const large = this.data.byRows.filter((i) => r[i] * SPAN > 2 * size);
    const isFree = (spot) => !usedSpots.some((o) => spot[0] < o[2] && o[0] < spot[2] && spot[1] < o[3] && o[1] < spot[3]);
    const over = (spot, i) => Math.hypot(Math.max(spot[0] - x[i] * SPAN, 0, x[i] * SPAN - spot[2]), Math.max(spot[1] - y[i] * SPAN, 0, y[i] * SPAN - spot[3])) < 0.9 * r[i] * SPAN;
    const order = this.data.byRows.slice();
    if (this.first !== undefined) order.unshift(this.first);
    for (const j of new Set(order)) {
      const cx = x[j] * SPAN, cy = y[j] * SPAN, radius = r[j] * SPAN;
      if (cx < seen.left || cx > seen.left + width || cy < seen.top || cy > seen.top + height) continue;
      const w = this.wide[j] * scale, left = within(cx - w / 2, seen.left, seen.left + width - w);
      const middles = (w < 3.2 * radius ? [cy] : [cy + radius + size * 0.65, cy - radius - size * 0.65])
        .map((at) => within(at, seen.top + size * 0.7, seen.top + height - size * 0.7));
      const spots = middles.map((at) => [left, at - size * 0.6, left + w, at + size * 0.6]).filter(isFree);
      const spot = spots.find((candidate) => !large.some((i) => i !== j && over(candidate, i))) ?? spots[0];
      if (!spot) continue;
      usedSpots.push(spot);
      written.push(s("text", { x: left + w / 2, y: (spot[1] + spot[3]) / 2, "font-size": size, "stroke-width": 3 * scale }, this.short[j]));
    }
    this.names.replaceChildren(...written);
    this.written = written.length;
  }

  clusters() {
    const groups = new Map();
    for (const j of this.data.byRows) {
      const c = this.data.map.cluster[j];
      groups.set(c, [...(groups.get(c) ?? []), j]);
    }
    const sorted = [...groups].sort((a, b) => a[0] - b[0]);
    show("clusters", sorted.map(([c, labels]) => h("li", {}, h("span", { class: `swatch c${c % 8}`, "aria-hidden": "true" }),
      labels.slice(0, 6).map((j, i) => [i ? ", " : "", labelLink(this.data, j)]).flat(),
      labels.length > 6 ? h("details", {}, h("summary", {}, `and ${whole(labels.length - 6)} more`), labels.slice(6).map((j, i) => [i ? ", " : "", labelLink(this.data, j)]).flat()) : "")));
  }
}
