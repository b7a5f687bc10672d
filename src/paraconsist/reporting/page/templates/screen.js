// Flips outside the browser: what differs is marked as in the browser. Without scripts the texts stand as they are.
for (const sample of document.querySelectorAll(".sample")) {
  const [before, after] = sample.querySelectorAll(".wording");
  const text = after.textContent;
  after.replaceChildren();
  words.show(after, before.textContent, text);
}
