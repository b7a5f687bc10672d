// Flips outside the browser: what differs is marked as in the browser. Without scripts the texts stand as they are.
for (const sample of document.querySelectorAll(".sample")) {
  const [before, after] = sample.querySelectorAll(".wording");
  const text = after.textContent;
  after.replaceChildren();
  words.show(after, before.textContent, text);
}
// The surest flips, a page each; what is there to be copied.
for (const panel of document.querySelectorAll(".flips")) {
  const samples = [...panel.querySelectorAll(".sample")], output = panel.querySelector("output");
  let shown = 0;
  for (const button of panel.querySelectorAll("[data-step]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      shown = (shown + Number(button.dataset.step) + samples.length) % samples.length;
      samples.forEach((sample, i) => { sample.hidden = i !== shown; });
      output.textContent = shown + 1;
    });
  }
}
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", () => exporting.copy(button.previousElementSibling.textContent, button));
}
// Tables show their first columns, until more are asked for. Without scripts they show all.
for (const table of document.querySelectorAll(".scroll:has(th.rare)")) {
  const show = (all) => { table.classList.toggle("few", !all); button.textContent = all ? "fewer columns" : "more columns"; };
  const button = buckets.button("", () => show(table.classList.contains("few")), { class: "columns" });
  show(false);
  table.after(button);
}
