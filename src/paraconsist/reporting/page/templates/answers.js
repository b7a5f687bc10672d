// The answers' own words in classes, which a reader may merge and split: the numbers then, and the file for `--classes`.
const answers = (() => {
  const { element, button, head, all } = buckets;
  const panel = document.getElementById("by-hand");
  const place = `paraconsist-classes:${location.pathname}`;
  const key = (bucket) => JSON.stringify([head.sets[bucket.s].name, bucket.id]);
  const nameOf = ([text, name]) => name || text;
  let edited = {};  // bucket -> name of an answer -> number of its class
  try { edited = JSON.parse(localStorage.getItem(place)) || {}; } catch { /* a frame without a store */ }

  const own = (bucket) => edited[key(bucket)] || {};
  const classOf = (bucket, entry) => (Object.hasOwn(own(bucket), nameOf(entry)) ? own(bucket)[nameOf(entry)] : entry[2]);
  const times = (entry) => entry[4].reduce((sum, rows) => sum + rows.length, 0);
  const count = (entries) => entries.reduce((sum, entry) => sum + times(entry), 0);
  const freed = (bucket) => 1 + Math.max(-1, ...bucket.t.map((entry) => Math.max(entry[2], classOf(bucket, entry))));
  // [number, answers] of every class, the largest first; what could not be read comes last.
  function classesOf(bucket) {
    const found = new Map();
    for (const entry of bucket.t) {
      const number = classOf(bucket, entry);
      if (!found.has(number)) found.set(number, []);
      found.get(number).push(entry);
    }
    for (const entries of found.values()) entries.sort((a, b) => times(b) - times(a));
    return [...found].sort(([a, one], [b, two]) => (a < 0) - (b < 0) || count(two) - count(one) || a - b);
  }

  function move(bucket, entries, number) {
    const before = own(bucket);
    // The file names all answers of a problem that were read: its classes are then the reader's as a whole.
    const read = bucket.t.filter((entry) => classOf(bucket, entry) >= 0).map((entry) => [nameOf(entry), classOf(bucket, entry)]);
    const now = Object.fromEntries([...read, ...entries.map((entry) => [nameOf(entry), number])]);  // one may be "__proto__"
    edited = { ...edited, [key(bucket)]: { ...before, ...now } };
    if (bucket.t.every((entry) => classOf(bucket, entry) === entry[2])) delete edited[key(bucket)];
    changed();
  }
  function changed() {
    try { localStorage.setItem(place, JSON.stringify(edited)); } catch { /* a frame without a store */ }
    for (const box of document.querySelectorAll("#list .answers")) {
      const at = [...box.querySelectorAll("select")].indexOf(document.activeElement);
      const drawn = render(box.closest(".bucket").bucket);
      box.replaceWith(drawn);
      const boxes = drawn.querySelectorAll("select");
      if (at >= 0 && boxes.length) boxes[Math.min(at, boxes.length - 1)].focus({ preventScroll: true });
    }
    show();
  }

  function choice(bucket, label, options, act) {
    const box = element("select", { "aria-label": label });
    for (const [value, text] of [["", label.startsWith("Class") ? "same class" : "merge with …"], ...options]) box.append(element("option", { value, text }));
    // Arrow keys go through a closed list's options one by one: there the Enter key takes one.
    let isByKey = false;
    box.addEventListener("pointerdown", () => { isByKey = false; });
    box.addEventListener("keydown", (event) => {
      isByKey = true;
      if (event.key === "Enter" && box.value !== "") { event.preventDefault(); act(Number(box.value)); }
    });
    box.addEventListener("change", () => { if (!isByKey && box.value !== "") act(Number(box.value)); });
    return box;
  }
  const short = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text || "(empty)");
  const whose = (bucket, entry) => head.sets[bucket.s].models.map((number, i) => [number, entry[4][i]]).filter(([, rows]) => rows.length)
    .map(([number, rows]) => `${head.models.length > 1 ? `${head.models[number]}: ` : ""}row${rows.length > 1 ? "s" : ""} ${rows.slice(0, 12).map((row) => row + 1).join(", ")}${rows.length > 12 ? ", …" : ""}`).join("; ");

  function render(bucket) {
    const found = classesOf(bucket);
    const hasGold = head.sets[bucket.s].gold;
    // Of several classes with right answers one is right, the largest, as `paraconsist score` reads the file.
    const rights = found.filter(([number, entries]) => number >= 0 && entries.some((entry) => entry[3]));
    const commonest = found[0][0] < 0 ? null : found[0][1][0][0];
    const madeBy = head.sets[bucket.s].byHand.some(Boolean) ? ", by the comparer and by hand" : "";
    const list = element("ol");
    for (const [number, entries] of found) {
      const name = short(entries[0][0]);
      const isRight = rights.length > 0 && rights[0][0] === number;
      const line = element("p", { class: `class ${hasGold && !isRight ? "wrong" : "right"}` });
      if (hasGold) line.append(element("span", { class: `mark${isRight ? "" : " wrong"}`, "aria-hidden": "true" }), element("span", { class: "hide", text: isRight ? "right: " : "wrong: " }));
      line.append(element("b", {}, element("bdi", { text: number < 0 ? "could not be read" : name })), ` (${count(entries)})`);
      const others = found.filter(([other]) => other >= 0 && other !== number).map(([other, theirs]) => [other, short(theirs[0][0])]);
      if (others.length) line.append(" ", choice(bucket, `Merge ${number < 0 ? "what could not be read" : name} with another class`, others, (other) => move(bucket, entries, other)));
      const wordings = element("ul");
      for (const entry of entries) {
        const item = element("li", { class: "text" });
        const text = element("span", entry[0].length > 1000 ? { tabindex: "0" } : {});  // it may have to be scrolled
        words.show(text, number === found[0][0] ? null : commonest, entry[0]);
        if (entry[0] === "") text.append(element("span", { class: "field", text: "(empty)" }));
        item.append(text, " ", element("span", { class: "field", text: whose(bucket, entry) }));
        const elsewhere = [...(entries.length > 1 || number < 0 ? [["new", "a class of its own"]] : []), ...(entries.length > 1 ? others : [])];
        if (elsewhere.length) item.append(" ", choice(bucket, `Class of ${short(entry[0])}`, elsewhere.map(([to, text]) => [to === "new" ? freed(bucket) : to, text]), (to) => move(bucket, [entry], to)));
        wordings.append(item);
      }
      list.append(element("li", {}, line, wordings));
    }
    const box = element("section", { class: "answers", "aria-label": `classes of answers to ${bucket.id}` }, element("h4", { text: `${found.length} ${found.length === 1 ? "class" : "classes"} of answers${key(bucket) in edited ? ", by hand" : madeBy}` }), list);
    if (key(bucket) in edited) box.append(button("as the comparer has them", () => { delete edited[key(bucket)]; changed(); }));
    return box;
  }

  // Share of pairs of wordings with another answer, as `paraconsist score` counts it, from the classes.
  function change(bucket, i, set) {
    const sizes = new Map();
    for (const entry of bucket.t) {
      const number = classOf(bucket, entry);
      if (number >= 0) sizes.set(number, (sizes.get(number) || 0) + entry[4][i].length);
    }
    const n = bucket.r.filter((row) => row[4][i] !== null).length + (bucket.more || 0);
    const unread = n - [...sizes.values()].reduce((a, b) => a + b, 0);
    const alike = [...sizes.values(), ...(set.neverAgree[i] ? [] : [unread])].reduce((sum, size) => sum + size * (size - 1), 0);
    return 1 - alike / (n * (n - 1));
  }
  function show() {
    const mine = all.filter((bucket) => key(bucket) in edited && bucket.t);
    panel.hidden = !mine.length;
    const lines = head.sets.flatMap((set, s) => set.models.map((model, i) => {
      const [n, sum] = set.changes[i];
      const counted = mine.filter((bucket) => bucket.s === s && bucket.c && (bucket.c[i] ?? null) !== null);
      if (!counted.length) return null;
      const [before, after] = [0, counted.reduce((total, bucket) => total + change(bucket, i, set) - bucket.c[i], 0)].map((more) => 1 - (sum + more) / n);
      const percent = (share) => `${(100 * share).toFixed(1)} %`;
      const about = [head.sets.length > 1 ? set.name : "", head.models.length > 1 ? head.models[model] : ""].filter(Boolean).join(", ");
      return element("li", { "data-same": String(after), text: `${about ? `${about}: ` : ""}same answer to two wordings ${percent(before)} → ${percent(after)}` });
    }).filter(Boolean));
    panel.querySelector("ul").replaceChildren(...lines);
    panel.querySelector("output").textContent = `${mine.length.toLocaleString("en")} ${mine.length === 1 ? "problem has" : "problems have"} classes that you made.`;
  }
  function list() {
    const lines = all.filter((bucket) => key(bucket) in edited && bucket.t).flatMap((bucket) => {
      const set = head.sets[bucket.s];
      return bucket.t.filter((entry) => classOf(bucket, entry) >= 0).map((entry) => {
        const model = set.models.map((_, i) => i).find((i) => entry[4][i].length);
        const line = { set: set.name, bucket_id: bucket.id, answer: nameOf(entry), class: String(classOf(bucket, entry) + 1) };
        return set.models.length > 1 ? { ...line, model: set.ids[model] || head.models[set.models[model]] } : line;
      });
    });
    return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }
  panel.querySelector("[data-do=save]").addEventListener("click", () => csv.save(list(), "classes.jsonl"));
  panel.querySelector("[data-do=forget]").addEventListener("click", () => { edited = {}; changed(); document.getElementById("found").focus(); });
  show();
  return { render };
})();
