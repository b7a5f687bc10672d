// Buckets that a reader marks as no paraphrases: the numbers without them, and the list for `score --exclude`.
const marking = (() => {
  const { element, head, all } = buckets;
  const unit = all.length > 0 && all.every((bucket) => bucket.r[0][0] === "run") ? "task" : "problem";
  const panel = document.getElementById("marked");
  const place = `paraconsist-marked:${location.pathname}`;
  const key = (bucket) => JSON.stringify([head.sets[bucket.s].name, bucket.id]);
  const kept = () => { try { return JSON.parse(sessionStorage.getItem(place)) || []; } catch { return []; } };
  const marked = new Set(kept());

  function set(bucket, isMarked) {
    if (isMarked) marked.add(key(bucket)); else marked.delete(key(bucket));
    changed();
  }
  function changed() {
    try { sessionStorage.setItem(place, JSON.stringify([...marked])); } catch { /* a frame without a store */ }
    for (const box of document.querySelectorAll("#list input.noise")) box.checked = has(box.closest(".bucket").bucket);
    show();
  }
  const has = (bucket) => marked.has(key(bucket));

  // What buckets add to the sums, as `paraconsist score` sums them: rows, right ones, buckets of two, their chance that two
  // differ in correctness, rows that the set's rule counts, those that break it.
  function summed(counts) {
    const sums = [0, 0, 0, 0, 0, 0];
    for (const [k, right, counted, broken] of counts) {
      const two = k > 1;
      [k, right, two ? 1 : 0, two ? (2 * right * (k - right)) / (k * (k - 1)) : 0, counted, broken].forEach((value, i) => { sums[i] += value; });
    }
    return sums;
  }
  const percent = (share) => (Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "–");
  const numbers = ([rows, right, buckets, differ, counted, broken]) => [1 - differ / buckets, right / rows, broken / counted].map(percent);
  function show() {
    const mine = all.filter(has);
    panel.hidden = mine.length === 0;
    const tables = head.sets.flatMap((set, s) => {
      const without = mine.filter((bucket) => bucket.s === s);
      if (!without.length) return [];
      const names = ["consistency (P_C)", "right on rewordings", set.rule];
      const shown = [set.paraphrastic, !set.noGold, set.sums.some((sums) => sums[4] > 0)];
      const lines = set.models.map((model, i) => {
        if (!set.read[i]) return "";
        const gone = summed(without.map((bucket) => bucket.n[i]));
        const after = numbers(set.sums[i].map((sum, j) => sum - gone[j]));
        const cells = numbers(set.sums[i]).map((value, j) => element("td", { class: "number", text: `${value} → ${after[j]}` }));
        return element("tr", {}, element("th", { scope: "row", text: head.models[model] }), ...cells.filter((_, j) => shown[j]));
      });
      const top = ["model", ...names.filter((_, j) => shown[j])].map((text, i) => element("th", { scope: "col", text, ...(i ? { class: "number" } : {}) }));
      const caption = element("caption", { text: `${head.sets.length > 1 ? `${set.name}, ` : ""}all ${unit}s → without the marked` });
      return [element("table", {}, caption, element("thead", {}, element("tr", {}, ...top)), element("tbody", {}, ...lines))];
    });
    panel.querySelector(".scroll").replaceChildren(...tables);
    panel.querySelector("output").textContent = `${mine.length.toLocaleString("en")} ${mine.length === 1 ? `${unit} is` : `${unit}s are`} marked "${unit === "task" ? "leave out" : "not a paraphrase"}".`;
  }
  const list = () => csv.from(["set", "bucket_id"], all.filter(has).map((bucket) => [head.sets[bucket.s].name, bucket.id]));
  panel.querySelector("[data-do=save]").addEventListener("click", () => csv.save(list(), "marked.csv"));
  panel.querySelector("[data-do=forget]").addEventListener("click", () => {
    marked.clear();
    changed();
    document.getElementById("found").focus();
  });
  show();
  return { has, set, list, summed, numbers };
})();
