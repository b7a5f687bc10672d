// The linked marks of a plot are one stop of the Tab key; arrow keys lead from one to the next.
for (const svg of document.querySelectorAll("svg.plot")) {
  const marks = [...svg.querySelectorAll("a.datum")];
  marks.forEach((mark, i) => mark.setAttribute("tabindex", i === 0 ? "0" : "-1"));
  svg.addEventListener("keydown", (event) => {
    const now = marks.indexOf(document.activeElement);
    const next = marks[now + ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] || 0)];
    if (now < 0 || !next || next === marks[now]) return;
    event.preventDefault();
    marks[now].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
