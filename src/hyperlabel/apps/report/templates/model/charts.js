// Figures: plain SVG in the page's colours.
import { s, share } from "./dom.js";

const W = 640, H = 340, LEFT = 44, RIGHT = 14, TOP = 24, BOTTOM = 40;

export const across = (value) => LEFT + value * (W - LEFT - RIGHT);
export const upward = (value) => H - BOTTOM - value * (H - TOP - BOTTOM);

export function frame(title, xlabel, ylabel, ticks) {
  const lines = [0, 0.25, 0.5, 0.75, 1].map((v) => [
    s("line", { x1: LEFT, x2: W - RIGHT, y1: upward(v), y2: upward(v), class: v ? "grid" : "axis" }),
    s("text", { x: LEFT - 8, y: upward(v) + 4, class: "tick end" }, v ? String(v) : "0"),
  ]);
  const marks = ticks.map(([at, text]) => [
    s("line", { x1: across(at), x2: across(at), y1: H - BOTTOM, y2: H - BOTTOM + 4, class: "axis" }),
    s("text", { x: across(at), y: H - BOTTOM + 17, class: "tick middle" }, text),
  ]);
  return s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title }, lines, marks,
    s("text", { x: W - RIGHT, y: H - 4, class: "tick end" }, xlabel),
    s("text", { x: 0, y: 12, class: "tick" }, ylabel),
    s("title", {}, title));
}

export const path = (points, kind) => {
  let d = "", open = false;
  for (const [x, y] of points) {
    if (!Number.isFinite(y)) { open = false; continue; }
    d += `${open ? "L" : "M"}${across(x).toFixed(1)} ${upward(y).toFixed(1)}`;
    open = true;
  }
  return s("path", { d, class: `line ${kind}` });
};

// Shares against probabilities: dots with their intervals, and the diagonal on which both are equal.
export function reliability(points, title) {
  const most = Math.max(...points.map((p) => p[4]), 1), figure = frame(title, "probability said", "share true", [0, 0.25, 0.5, 0.75, 1].map((v) => [v, String(v)]));
  figure.append(s("line", { x1: across(0), y1: upward(0), x2: across(1), y2: upward(1), class: "diagonal" }),
    ...points.flatMap(([said, share_, low, high, n]) => [
      s("line", { x1: across(said), x2: across(said), y1: upward(low), y2: upward(high), class: "whisker" }),
      s("circle", { cx: across(said), cy: upward(share_), r: 3 + 6 * Math.sqrt(Math.log1p(n) / Math.log1p(most)), class: "dot" },
        s("title", {}, `said ${share(said)}, true ${share(share_)} (${share(low)}–${share(high)}) of ${n}`))]));
  return figure;
}

// One figure with its interval on a line from 0 to 1.
export function intervalBar([value, low, high], text) {
  const at = (v) => 4 + v * 392;
  return s("svg", { viewBox: "0 0 400 34", class: "interval", role: "img", "aria-label": text },
    s("line", { x1: 4, x2: 396, y1: 12, y2: 12, class: "grid" }),
    s("rect", { x: at(low), y: 7, width: Math.max(2, at(high) - at(low)), height: 10, rx: 5, class: "interval-band" }),
    s("circle", { cx: at(value), cy: 12, r: 6, class: "dot" }),
    [0, 0.5, 1].map((v) => s("text", { x: at(v), y: 32, class: `tick ${v === 0 ? "" : v === 1 ? "end" : "middle"}` }, String(v))));
}

// Round numbers inside an interval, as positions from 0 to 1 and the text of each tick.
export function roundTicks(low, high) {
  const rough = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((v) => v * power >= rough), ticks = [];
  for (let v = Math.ceil(low / step); v * step <= high; v++) ticks.push([(v * step - low) / (high - low || 1), String(Number((v * step).toPrecision(6)))]);
  return ticks;
}

// Score against threshold: the threshold in the middle, what passes it to the right.
export function marginBar(margin, reach, text, threshold = 50) {
  const at = threshold + (98 - threshold) * Math.max(-1, Math.min(1, margin / reach));
  const passes = margin > 0;
  return s("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", class: "margin", role: "img", "aria-label": text },
    s("rect", { x: Math.min(threshold, at), y: 2, width: Math.max(0.6, Math.abs(at - threshold)), height: 8, class: passes ? "over" : "under" }),
    s("line", { x1: threshold, x2: threshold, y1: 0, y2: 12, class: "threshold-line" }));
}

export function wordBars(words, kind, h) {
  const most = Math.max(...words.map(([, weight]) => Math.abs(weight)), 1e-12);
  return h("ul", { class: `words ${kind}` }, words.map(([word, weight, named]) =>
    h("li", {}, h("span", { class: "word", title: named ? `${word}: ${share(named)} of it from the label's name` : word }, named ? `${word} (name)` : word),
      h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: `width:${(100 * Math.abs(weight)) / most}%` })),
      h("span", { class: "value" }, share(weight)))));
}
