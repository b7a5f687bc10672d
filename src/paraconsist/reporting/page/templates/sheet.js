// A sheet that people fill in: a row at a time, by keys. Marks stay in the browser until the sheet is saved as CSV.
(() => {
  const { columns, rows, people, shown, id } = JSON.parse(document.getElementById("data").textContent);
  const by = (name) => document.getElementById(name);
  const place = `paraconsist-sheet:${id}`;
  const kept = () => { try { return JSON.parse(localStorage.getItem(place)) || {}; } catch { return {}; } };
  const given = kept();
  const person = () => people[by("person").selectedIndex];
  const key = (row) => `${person()}/${row}`;
  const marked = () => rows.filter((_, row) => given[key(row)]).length;
  const next = (from) => { for (let i = 1; i <= rows.length; i++) { const row = (from + i) % rows.length; if (!given[key(row)]) return row; } return from; };
  let now = 0;

  function show() {
    const cards = shown.map((part) => {
      const card = document.createElement("section");
      for (const column of part) {
        const cell = rows[now][columns.indexOf(column)], name = document.createElement("h2"), words = document.createElement("p");
        name.textContent = column.replace(/_\d+$/u, "");
        words.textContent = (column === "accepted" ? JSON.parse(cell).join("\nor ") : cell) || "(empty)";
        card.append(name, words);
      }
      return card;
    });
    by("unit").replaceChildren(...cards);
    for (const mark of ["yes", "no"]) by(mark).setAttribute("aria-pressed", String(given[key(now)] === mark));
    const n = marked();
    by("progress").textContent = `Row ${now + 1} of ${rows.length}, ${n} marked${n === rows.length ? ": save the sheet" : ""}.`;
  }
  function go(row) { now = (row + rows.length) % rows.length; show(); }
  function mark(word) {
    if (word) given[key(now)] = word; else delete given[key(now)];
    try { localStorage.setItem(place, JSON.stringify(given)); } catch { by("note").textContent = "This browser keeps nothing: save before you close the page."; }
    go(word ? next(now) : now);
  }
  function save() {
    const filled = rows.map((cells, row) => columns.map((column, i) => (people.includes(column) ? given[`${column}/${row}`] || "" : cells[i])));
    csv.save(csv.from(columns, filled), by("save").dataset.file);
  }

  const acts = { y: () => mark("yes"), n: () => mark("no"), u: () => mark(""), ArrowLeft: () => go(now - 1), ArrowRight: () => go(now + 1), s: save };
  for (const button of document.querySelectorAll("[data-key]")) button.addEventListener("click", acts[button.dataset.key]);
  by("person").addEventListener("change", () => go(next(-1)));
  document.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || (event.key.length > 1 && event.target.closest("select"))) return;
    event.preventDefault();
    act();
  });
  go(next(-1));
})();
