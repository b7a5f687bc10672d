// Tables that are sorted by a click on a column's head: first the largest, names from a to z. Headings stay where they are.
for (const table of document.querySelectorAll(".sortable table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const isLine = (row) => row.className !== "heading";
  if ([...body.rows].filter(isLine).length > 1) heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...[...head.childNodes].filter((node) => node.className !== "help"));
    head.prepend(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : column > 0;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => (column === 0 ? row.cells[0].textContent : Number(row.cells[column].dataset.sort ?? NaN));
      const compare = (a, b) => (column === 0 ? a.localeCompare(b) : a - b);
      const missing = (value) => Number.isNaN(value);  // last, whichever way
      let part = 0;
      const rows = [...body.rows].map((row) => [part += !isLine(row), isLine(row), isLine(row) && key(row), row]);
      rows.sort(([p, i, a], [q, j, b]) => p - q || i - j || (missing(a) || missing(b) ? missing(a) - missing(b) : (down ? -1 : 1) * compare(a, b)));
      body.append(...rows.map(([, , , row]) => row));
    });
  });
}
