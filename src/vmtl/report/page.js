"use strict";
// Sort a table by the column whose heading is pressed: numbers by value, text by the reader's alphabet.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[place].dataset.value;
      const isNumber = (text) => text !== "" && !Number.isNaN(Number(text === "inf" ? Infinity : text));
      const rows = [...table.tBodies[0].rows];
      const numeric = rows.every((row) => isNumber(value(row)));
      const number = (text) => (text === "inf" ? Infinity : Number(text));
      const order = (a, b) =>
        numeric ? number(value(a)) - number(value(b)) || 0 : value(a).localeCompare(value(b), undefined, { numeric: true });
      rows.sort((a, b) => (down ? -1 : 1) * order(a, b));
      table.tBodies[0].append(...rows);
    });
  });
}
// Say where a table is wider than its frame.
const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("wide", target.scrollWidth > target.clientWidth);
});
document.querySelectorAll(".sheet").forEach((sheet) => watch.observe(sheet));
// Paper has no folds: open them while the page prints.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((fold) => (fold.open = true));
});
window.addEventListener("afterprint", () => opened.forEach((fold) => (fold.open = false)));
