// Filters, sorting, pages and keys of the flip browser.
(() => {
  const { head, buckets: all } = JSON.parse(document.getElementById("data").textContent);
  const { element } = buckets;
  const [form, found, list, pages, keys] = ["filters", "found", "list", "pages", "keys"].map((id) => document.getElementById(id));
  const state = { set: "", label: "", model: "", show: "", sort: "flips", text: "", page: 0, size: 20, strata: {} };
  let chosen = [];

  // What filters and sorting ask of a bucket, once.
  for (const [order, bucket] of all.entries()) {
    const set = head.sets[bucket.s];
    bucket.order = order;
    bucket.label = buckets.labelName(set, bucket.r[0][2]);
    bucket.kinds = set.models.map((_, place) => kind(bucket, place));
    bucket.swing = set.models.map((_, place) => swing(bucket, place));
  }

  function kind(bucket, place) {
    const known = bucket.r.filter((row) => row[4][place] !== null);
    const rest = known.filter((row) => row[0] !== "original");
    const right = rest.filter((row) => row[4][place][0] === row[2]).length;
    const original = known.find((row) => row[0] === "original");
    const isRight = original && original[4][place][0] === original[2];
    return {
      broken: bucket.v[place] > 0,
      lost: Boolean(original) && isRight && right < rest.length,
      gained: Boolean(original) && !isRight && right > 0,
      wrong: rest.length > 0 && right === 0,
      right: rest.length > 0 && right === rest.length,
    };
  }
  function swing(bucket, place) {
    const values = bucket.r.filter((row) => row[4][place] !== null)
      .map((row) => buckets.goldProbability(row[4][place], row[2])).filter((p) => p !== null);
    return values.length ? Math.max(...values) - Math.min(...values) : 0;
  }
  function haystack(bucket) {
    if (bucket.hay === undefined) {
      const texts = bucket.r.flatMap((row) => [row[1], ...(row[3] || [])]);
      bucket.hay = [bucket.id, ...Object.values(bucket.x), ...texts].join("\n").toLowerCase();
    }
    return bucket.hay;
  }
  // The places, in a bucket's lists, of the model asked for (all of them where none is).
  function places(bucket) {
    const numbers = head.sets[bucket.s].models;
    return numbers.map((_, place) => place).filter((place) => state.model === "" || numbers[place] === Number(state.model));
  }
  const mean = (values) => {
    const known = values.filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : -1;
  };
  const measure = (bucket, name) => mean(places(bucket).map((place) => bucket[name][place]));

  function fits(bucket, wanted) {
    const set = head.sets[bucket.s];
    if (state.set !== "" && bucket.s !== Number(state.set)) return false;
    if (state.label !== "" && bucket.label !== state.label) return false;
    for (const [name, value] of Object.entries(state.strata)) {
      if (value === "") continue;
      const column = set.strata.findIndex(([stratum]) => stratum === name);
      if (column < 0 || !bucket.st[column].some((i) => set.strata[column][1][i] === value)) return false;
    }
    if (state.show === "same" ? places(bucket).some((p) => bucket.kinds[p].broken) : state.show !== "" && !places(bucket).some((p) => bucket.kinds[p][state.show])) return false;
    if (state.model !== "" && places(bucket).length === 0) return false;
    return wanted.every((word) => haystack(bucket).includes(word));
  }
  const orders = {
    flips: (a, b) => measure(b, "w") - measure(a, "w") || measure(b, "v") - measure(a, "v") || a.order - b.order,
    accuracy: (a, b) => measure(a, "a") - measure(b, "a") || a.order - b.order,
    swing: (a, b) => measure(b, "swing") - measure(a, "swing") || a.order - b.order,
    size: (a, b) => b.r.length - a.r.length || a.order - b.order,
    id: (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.order - b.order),
  };

  function update({ keepPage = false } = {}) {
    const wanted = state.text.toLowerCase().split(/\s+/u).filter(Boolean);
    chosen = all.filter((bucket) => fits(bucket, wanted)).sort(orders[state.sort]);
    if (!keepPage) state.page = 0;
    draw();
  }
  function draw() {
    const last = Math.max(0, Math.ceil(chosen.length / state.size) - 1);
    state.page = Math.min(Math.max(0, state.page), last);
    const start = state.page * state.size;
    const shown = chosen.slice(start, start + state.size);
    list.replaceChildren(...shown.map(buckets.render));
    if (list.firstChild) list.firstChild.tabIndex = 0;
    const n = (value) => value.toLocaleString("en");
    found.textContent = chosen.length
      ? `Buckets ${n(start + 1)} to ${n(start + shown.length)} of ${n(chosen.length)}${chosen.length < all.length ? `, out of ${n(all.length)} on this page` : ""}`
      : "No bucket fits these filters.";
    pages.hidden = last === 0;
    pages.querySelector("[data-go=first]").disabled = pages.querySelector("[data-go=previous]").disabled = state.page === 0;
    pages.querySelector("[data-go=next]").disabled = pages.querySelector("[data-go=last]").disabled = state.page === last;
    pages.querySelector("output").textContent = `page ${n(state.page + 1)} of ${n(last + 1)}`;
  }
  function turn(where, { focus } = {}) {
    const last = Math.max(0, Math.ceil(chosen.length / state.size) - 1);
    const before = state.page;
    state.page = { first: 0, previous: before - 1, next: before + 1, last }[where];
    if (state.page < 0 || state.page > last) { state.page = before; return; }
    draw();
    if (focus) go(focus === "first" ? list.firstChild : list.lastChild);
    else found.scrollIntoView({ block: "start" });
  }
  function go(article) {
    if (!article) return;
    for (const other of list.children) other.tabIndex = -1;
    article.tabIndex = 0;
    article.focus({ preventScroll: true });
    const tall = article.offsetHeight > window.innerHeight - 80;
    article.scrollIntoView({ block: tall ? "start" : "nearest" });
  }
  function move(step) {
    const now = document.activeElement && document.activeElement.closest("#list > .bucket");
    if (!now) go(list.firstChild);
    else if (step > 0) { if (now.nextSibling) go(now.nextSibling); else turn("next", { focus: "first" }); }
    else if (now.previousSibling) go(now.previousSibling);
    else turn("previous", { focus: "last" });
  }

  function select(label, options, change, value = "") {
    const box = element("select", { "aria-label": label });
    for (const [key, text] of options) box.append(element("option", { value: key, text }));
    box.value = value;
    box.addEventListener("change", () => { change(box.value); update(); });
    return element("label", {}, label, box);
  }
  const distinct = (values) => [...new Set(values)];

  function build() {
    const search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    let timer = 0;
    search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { state.text = search.value; update(); }, 120); });
    form.append(element("label", { class: "search" }, "text ( / )", search));
    if (head.sets.length > 1) {
      form.append(select("set", [["", "all sets"], ...head.sets.map((set, i) => [String(i), set.name])], (v) => { state.set = v; }));
    }
    const labels = distinct(all.map((bucket) => bucket.label));
    if (labels.length > 1) form.append(select("gold label", [["", "all labels"], ...labels.map((l) => [l, l])], (v) => { state.label = v; }));
    for (const name of distinct(head.sets.flatMap((set) => set.strata.map(([stratum]) => stratum)))) {
      const values = distinct(head.sets.flatMap((set) => set.strata.filter(([stratum]) => stratum === name).flatMap(([, found]) => found)));
      form.append(select(name, [["", "all"], ...values.map((v) => [v, v])], (v) => { state.strata[name] = v; }));
    }
    if (head.models.length > 1) {
      form.append(select("by", [["", "all models"], ...head.models.map((model, i) => [String(i), model])], (v) => { state.model = v; }));
    }
    form.append(select("show", [
      ["", "all buckets"], ["broken", "inconsistent"], ["lost", "original right, a rewording wrong"],
      ["gained", "original wrong, a rewording right"], ["wrong", "all rewordings wrong"], ["right", "all rewordings right"], ["same", "consistent"],
    ], (v) => { state.show = v; }));
    form.append(select("sort by", [
      ["flips", "most inconsistent"], ["accuracy", "least accurate"], ["swing", "largest swing in probability"], ["size", "most rows"], ["id", "id"],
    ], (v) => { state.sort = v; }, "flips"));
    form.append(select("per page", [["10", "10"], ["20", "20"], ["50", "50"]], (v) => { state.size = Number(v); }, "20"));
    const removed = element("input", { type: "checkbox", id: "removed" });
    removed.addEventListener("change", () => list.classList.toggle("with-removed", removed.checked));
    form.append(element("label", { class: "check" }, removed, "words left out"));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    for (const [where, text] of [["first", "First"], ["previous", "Previous"]]) pages.append(element("button", { type: "button", "data-go": where, text }));
    pages.append(element("output"));
    for (const [where, text] of [["next", "Next"], ["last", "Last"]]) pages.append(element("button", { type: "button", "data-go": where, text }));
    pages.addEventListener("click", (event) => { const where = event.target.dataset && event.target.dataset.go; if (where) turn(where); });
    document.addEventListener("keydown", (event) => press(event, search, removed));
  }
  function press(event, search, removed) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target === search) { go(list.firstChild); return; }
    if (event.target.closest && event.target.closest("input, select, textarea")) return;
    const inside = event.target.closest && event.target.closest("#list");
    const act = {
      j: () => move(1), k: () => move(-1), n: () => turn("next", { focus: "first" }), p: () => turn("previous", { focus: "first" }),
      "/": () => { search.focus(); search.select(); }, d: () => removed.click(), "?": () => { keys.open = !keys.open; keys.scrollIntoView({ block: "nearest" }); },
      ...(inside ? { ArrowDown: () => move(1), ArrowUp: () => move(-1), ArrowRight: () => turn("next", { focus: "first" }), ArrowLeft: () => turn("previous", { focus: "first" }) } : {}),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  }
  document.getElementById("needs-script").remove();
  build();
  update();
})();
