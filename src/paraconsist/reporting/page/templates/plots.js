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
// A figure leaves the page as it looks here: its colours are those of the theme, which classes and variables name.
const figures = (() => {
  const looks = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "font-family", "font-size", "font-weight"];
  function drawn(figure) {
    const svg = figure.querySelector("svg"), copy = svg.cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const copies = [copy, ...copy.querySelectorAll("*")];
    [svg, ...svg.querySelectorAll("*")].forEach((element, i) => {
      const style = getComputedStyle(element), used = element.closest("defs");  // shapes take the looks of what uses them
      for (const name of used ? [] : looks) copies[i].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "tabindex", "href"]) copies[i].removeAttribute(name);
    });
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const attributes = { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor };
    for (const [name, value] of Object.entries(attributes)) paper.setAttribute(name, value);
    const words = document.createElementNS("http://www.w3.org/2000/svg", "desc");
    words.textContent = `${figure.querySelector("h3").textContent}. ${figure.querySelector("figcaption").textContent}`;
    copy.prepend(words, paper);
    return [new XMLSerializer().serializeToString(copy), width, height];
  }
  const name = (figure, ending) => `${figure.id.replace(/^plot-/u, "")}.${ending}`;
  const asSvg = (figure) => csv.save(new Blob([drawn(figure)[0]], { type: "image/svg+xml" }), name(figure, "svg"));
  function asCsv(figure) {
    const rows = [...figure.querySelectorAll("[data-row]")].map((mark) => JSON.parse(mark.dataset.row));
    const columns = [...new Set(rows.flatMap(Object.keys))].filter((key) => rows.some((row) => row[key] !== "" && row[key] !== null));
    csv.save(csv.from(columns, rows.map((row) => columns.map((key) => row[key]))), name(figure, "csv"));
  }
  async function asPng(figure) {
    const [text, width, height] = drawn(figure), picture = new Image(), canvas = document.createElement("canvas");
    const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    picture.src = address;
    await picture.decode();
    [canvas.width, canvas.height] = [4 * width, 4 * height];  // 288 dots an inch
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((blob) => csv.save(blob, name(figure, "png")));
  }
  for (const figure of document.querySelectorAll("figure[id^=plot-]")) {
    const { element, button } = buckets;
    const row = element("p", { class: "leaves" }), title = (figure.querySelector(".note") || figure.querySelector("h3")).textContent;
    for (const [words, act] of [["PNG", asPng], ["SVG", asSvg], ["CSV", asCsv]]) {
      if (act === asCsv && !figure.querySelector("[data-row]")) continue;
      row.append(button(words, () => act(figure), { "aria-label": `Save “${title}” as ${words}` }));
    }
    row.append(element("a", { href: `#${figure.id}`, "aria-label": `Link to “${title}”`, text: "link" }));
    figure.append(row);
  }
})();
