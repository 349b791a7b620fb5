"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending" ||
        (!head.hasAttribute("aria-sort") && head.classList.contains("number"));
      const key = (row) => row.cells[column].dataset.sort;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = head.classList.contains("number") ? Number(x) - Number(y) : x.localeCompare(y);
        return falling ? -order : order;
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      table.tBodies[0].append(...rows);
      document.getElementById("said").textContent =
        `Sorted by ${head.innerText.trim()}, ${falling ? "descending" : "ascending"}.`;
    });
  });
}
for (const box of document.querySelectorAll("input[data-filters]")) {
  const table = document.getElementById(box.dataset.filters);
  box.addEventListener("input", () => {
    const query = box.value.toLowerCase();
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(query);
      shown += !row.hidden;
    }
    document.getElementById("said").textContent = `${shown} rows shown.`;
  });
}
document.getElementById("switch")?.addEventListener("change", (event) => {
  for (const block of document.querySelectorAll("[data-of]")) {
    block.hidden = event.target.value !== "" && block.dataset.of !== event.target.value;
  }
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
