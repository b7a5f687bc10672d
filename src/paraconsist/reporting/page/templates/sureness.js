// The gold label's probability, original against rewording, drawn from the flip browser's data; a frame drawn with the
// pointer, or set by its four ends, filters the browser.
(() => {
  const place = document.getElementById("sure");
  if (!place) return;
  const { element, button, head, all } = buckets;
  const bands = JSON.parse(place.dataset.bands);  // [set, model, how far apart the noise alone drives probabilities, or null]
  const SIZE = 480;
  const LEFT = 52;
  const BELOW = 46;
  const x = (p) => LEFT + p * (SIZE - LEFT - 10);
  const y = (p) => SIZE - BELOW - p * (SIZE - BELOW - 10);
  const ends = ["original from", "original to", "rewording from", "rewording to"];
  let frame = [0, 1, 0, 1];
  let points = [];

  const svgNode = (name, attributes, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const n = (value) => value.toLocaleString("en");
  const select = (label, names) => {
    const box = element("select", {}, ...names.map((name) => element("option", { value: name, text: name })));
    box.addEventListener("change", start);
    return [box, names.length > 1 ? element("label", {}, label, box) : null];
  };
  const [setBox, setLabel] = select("set", [...new Set(bands.map(([set]) => set))]);
  const [modelBox, modelLabel] = select("model", [...new Set(bands.map(([, model]) => model))]);
  const sliders = ends.map((label, i) => {
    const input = element("input", { type: "range", min: "0", max: "1", step: "0.01", value: String(frame[i]) });
    input.addEventListener("input", () => { frame[i] = Number(input.value); mark(); });
    input.addEventListener("change", filter);
    return input;
  });
  const values = ends.map(() => element("b"));
  const saved = button("CSV", () => {
    const lines = points.map(([before, after, lost, gained, ...ids]) => [setBox.value, modelBox.value, ...ids, before, after, lost ? "lost" : gained ? "gained" : "same"]);
    csv.save(csv.from(["set", "model", "bucket_id", "example_id", "original", "rewording", "answer"], lines), "sureness.csv");
  }, { "aria-label": "Save the probabilities as CSV" });
  const inside = element("p", { role: "status", "aria-live": "polite" });
  const whole = element("p", { class: "note" });
  const lead = element("a", { href: "#browser", text: "Show them below" });
  const reset = button("Drop the frame", () => { frame = [0, 1, 0, 1]; filter(); sliders[0].focus({ preventScroll: true }); });
  const picture = svgNode("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" });
  const layers = Object.fromEntries(["same", "lost", "gained"].map((kind) => [kind, svgNode("path", { class: kind })]));
  const noise = svgNode("path", { class: "axis noise" });
  const rectangle = svgNode("rect", { class: "frame" });

  // Each answer to a rewording with its original's: [probability there, here, lost, gained, bucket, example].
  function collect() {
    points = [];
    const number = head.sets.findIndex((set) => set.name === setBox.value);
    const set = head.sets[number];
    const at = set.models.indexOf(head.models.indexOf(modelBox.value));
    for (const bucket of at < 0 ? [] : all) {
      const first = bucket.s === number && bucket.original && bucket.n[at][0] ? bucket.original[4][at] : null;
      const before = first ? buckets.goldProbability(first, bucket.original[2]) : null;
      if (before === null) continue;
      const was = first[0] === bucket.original[2];
      for (const row of bucket.rewordings) {
        const answer = row[4][at];
        const after = answer ? buckets.goldProbability(answer, row[2]) : null;
        if (after === null) continue;
        const is = answer[0] === row[2];
        points.push([before, after, was && !is, !was && is, bucket.id, row[1]]);
      }
    }
  }
  const count = (some) => `lost ${n(some.filter((point) => point[2]).length)}, gained ${n(some.filter((point) => point[3]).length)} of ${n(some.length)} answer${some.length === 1 ? "" : "s"} to rewordings`;
  function start() {
    collect();
    const parts = { same: [], lost: [], gained: [] };
    for (const [before, after, lost, gained] of points) {
      const at = `M${x(before).toFixed(1)} ${y(after).toFixed(1)}`;
      if (lost) parts.lost.push(`${at}m-4-3h8l-4 7z`);
      else if (gained) parts.gained.push(`${at}m-4 3h8l-4-7z`);
      else parts.same.push(`${at}h0`);
    }
    for (const [kind, layer] of Object.entries(layers)) layer.setAttribute("d", parts[kind].join(""));
    const band = (bands.find(([set, model]) => set === setBox.value && model === modelBox.value) || [])[2];
    const line = (shift) => `M${x(Math.max(0, -shift))} ${y(Math.max(0, shift))}L${x(Math.min(1, 1 - shift))} ${y(Math.min(1, 1 + shift))}`;
    noise.setAttribute("d", band ? line(band) + line(-band) : "");
    const rest = place.dataset.part ? `, in those ${place.dataset.part} problems that this page holds` : "";
    const text = points.length ? `${count(points)}${rest}.` : "This model has no such answers on this page.";
    whole.textContent = `${text[0].toUpperCase()}${text.slice(1)}${band ? " Between the dashed lines lie as many flips as asking again unchanged gives." : ""}`;
    picture.setAttribute("aria-label", `Scatter plot, ${setBox.value}, ${modelBox.value}: ${whole.textContent}`);
    mark();
  }
  const isWhole = () => frame.join() === "0,1,0,1";
  function mark() {
    const [left, right, low, high] = [Math.min(frame[0], frame[1]), Math.max(frame[0], frame[1]), Math.min(frame[2], frame[3]), Math.max(frame[2], frame[3])];
    for (const [key, value] of Object.entries({ x: x(left), y: y(high), width: x(right) - x(left), height: y(low) - y(high) })) rectangle.setAttribute(key, value);
    rectangle.setAttribute("visibility", isWhole() ? "hidden" : "visible");
    sliders.forEach((slider, i) => { slider.value = frame[i]; values[i].textContent = frame[i].toFixed(2); });
    const some = points.filter(([before, after]) => before >= left && before <= right && after >= low && after <= high);
    inside.textContent = isWhole() ? "Draw a frame in the plot, or set its ends, to see what lies inside." : `In the frame: ${count(some)}.`;
    lead.hidden = reset.hidden = isWhole();
    const filters = isWhole() ? { original: "", paraphrase: "" } : { set: setBox.value, model: modelBox.value, original: `${left},${right}`, paraphrase: `${low},${high}` };
    lead.setAttribute("href", browser.link(filters));
    return filters;
  }
  function filter() { browser.change(mark()); }

  // Where the pointer is, in hundredths.
  function probabilities(event) {
    const box = picture.getBoundingClientRect();
    const clip = (value) => Math.round(100 * Math.min(1, Math.max(0, value))) / 100;
    const [across, down] = [(event.clientX - box.left) * SIZE / box.width, (event.clientY - box.top) * SIZE / box.height];
    return [clip((across - LEFT) / (SIZE - LEFT - 10)), clip((SIZE - BELOW - down) / (SIZE - BELOW - 10))];
  }
  let from = null;
  picture.addEventListener("pointerdown", (event) => { if (event.button === 0) { from = probabilities(event); picture.setPointerCapture(event.pointerId); event.preventDefault(); } });
  picture.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = probabilities(event);
    frame = [Math.min(from[0], to[0]), Math.max(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[1], to[1])];
    mark();
  });
  picture.addEventListener("pointerup", () => { if (from) { from = null; filter(); } });
  picture.addEventListener("pointercancel", () => { from = null; });

  for (const tick of [0, 0.5, 1]) {
    picture.append(svgNode("text", { x: x(tick), y: SIZE - 26, "text-anchor": "middle" }, String(tick)), svgNode("text", { x: LEFT - 8, y: y(tick) + 5, "text-anchor": "end" }, String(tick)));
  }
  const box = `M${x(0)} ${y(1)}V${y(0)}H${x(1)}M${x(0)} ${y(0)}L${x(1)} ${y(1)}`;
  picture.append(
    svgNode("path", { class: "axis", d: box }), noise, ...Object.values(layers), rectangle,
    svgNode("text", { x: x(0.5), y: SIZE - 6, "text-anchor": "middle" }, "right answer's probability: original"),
    svgNode("text", { x: -y(0.5), y: 16, "text-anchor": "middle", transform: "rotate(-90)" }, "rewording"),
  );
  const key = element("p", { class: "key note" }, element("span", { class: "down", text: "▼ lost" }), element("span", { class: "up", text: "▲ gained" }), element("span", { text: "• as right or wrong as before" }));
  const set = element("fieldset", {}, element("legend", { text: "Frame" }), ...ends.map((label, i) => element("label", {}, element("span", {}, `${label} `, values[i]), sliders[i])));
  place.append(element("div", {}, picture, key), element("div", {}, setLabel, modelLabel, whole, set, inside, element("p", {}, lead, " ", reset), element("p", { class: "leaves" }, saved)));
  place.hidden = false;
  const filters = new URLSearchParams(location.hash.slice(2));
  if (filters.get("original") && filters.get("paraphrase")) frame = `${filters.get("original")},${filters.get("paraphrase")}`.split(",").map(Number);
  for (const [select, name] of [[setBox, "set"], [modelBox, "model"]]) if ([...select.options].some((option) => option.value === filters.get(name))) select.value = filters.get(name);
  start();
})();
