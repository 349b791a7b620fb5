// Elements without HTML: whatever comes from the data is set as text, never parsed.
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export const $ = (id) => document.getElementById(id);
export const show = (id, ...children) => $(id).replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== ""));
export const share = (value, digits = 2) => (Number.isFinite(value) ? value.toFixed(digits) : "–");
export const whole = (value) => Math.round(value).toLocaleString("en").replaceAll(",", " ");
export const plural = (n, word) => `${whole(n)} ${word}${n === 1 ? "" : "s"}`;

export function say(text) {
  $("said").textContent = text;
}

// A table that sorts by its headers. Columns: {name, of: row → sort value, cell: row → node, number}.
// The first `most` rows are shown until the rest is asked for.
export function sortedTable(caption, columns, rows, { by = 0, falling = false, most = Infinity } = {}) {
  const body = h("tbody"), heads = [], more = h("button", { type: "button", onclick: () => { most = Infinity; draw(); } });
  let column = by, down = falling;
  const draw = (list = rows) => {
    rows = list;
    const { of } = columns[column];
    const sorted = [...rows].sort((a, b) => {
      const x = of(a), y = of(b);
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      const order = typeof x === "number" ? x - y : x.localeCompare(y);
      return down ? -order : order;
    });
    more.hidden = sorted.length <= most;
    more.textContent = `show all ${whole(sorted.length)}`;
    body.replaceChildren(...sorted.slice(0, most).map((row) => h("tr", {}, columns.map((c, i) =>
      h(i ? "td" : "th", { scope: i ? null : "row", class: c.number ? "number" : null }, c.cell(row))))));
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  columns.forEach((c, i) => {
    const sort = () => {
      down = i === column ? !down : Boolean(c.number);
      column = i;
      draw();
      say(`Sorted by ${c.name}, ${down ? "descending" : "ascending"}.`);
    };
    heads.push(h("th", { scope: "col", class: c.number ? "number" : null, title: c.help },
      h("button", { type: "button", onclick: sort }, c.name, h("span", { class: "arrow", "aria-hidden": "true" }))));
  });
  draw();
  const table = h("table", { "aria-label": caption }, h("thead", {}, h("tr", {}, heads)), body);
  return { element: h("div", {}, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table), more), draw };
}

// A name that may go on in the next line where its parts meet.
export const named = (name) => name.split(/(?<=[:/_.-])(?=[^:/_.-])/).flatMap((part, i) => (i ? [h("wbr"), part] : [part]));

export const labelLink = (data, label) =>
  h("a", { href: `#label=${encodeURIComponent(data.labels[label])}`, title: data.labels[label] }, named(data.labels[label]));

// A text box that offers the labels and calls back with the one chosen.
export function labelPicker(data, id, name, chosen) {
  const input = h("input", { id, list: "labels", autocomplete: "off", spellcheck: "false", placeholder: "type a label" });
  const take = () => {
    const label = data.labelIndex.get(input.value);
    if (label !== undefined) chosen(label);
  };
  input.addEventListener("change", take);
  input.addEventListener("input", take);
  return { input, element: h("label", { class: "field", for: id }, h("span", {}, name), input) };
}
