() => {
  const results = document.querySelector("#results .pc-results");
  (document.querySelector("#download") ?? results).scrollIntoView({ block: "start" });
  results.focus({ preventScroll: true });
}
