"use strict";
// Tables sort by their headers. Without a script they are as the command wrote them.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const key = (row, place) => {
    const cell = row.cells[place];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number";
    if (!numbers && typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return numbers ? a - b : a.localeCompare(b, undefined, { numeric: true });
  };
  if (body.rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((header, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const down = header.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => compare(key(a, place), key(b, place)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
}
