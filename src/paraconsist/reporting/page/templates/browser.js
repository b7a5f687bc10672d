// Filters, sorting, pages and keys of the flip browser. Its state stands in the page's address, as `browser.link` of
// browser.py writes it: #?set=…&model=…&show=…&stratum.NAME=…, without what is the default.
const browser = (() => {
  const { element, button, head, all } = buckets;
  const [form, found, active, slices, names, list, pages, keys] = ["filters", "found", "active", "slices", "names", "list", "pages", "keys"].map((id) => document.getElementById(id));
  const areRuns = all.length > 0 && all.every((bucket) => bucket.r[0][0] === "run");
  const [unit, each, another] = areRuns ? ["task", "run", "another run"] : ["problem", "wording", "a rewording"];
  const distinct = (values) => [...new Set(values)];
  const strata = distinct(head.sets.flatMap((set) => set.strata.map(([name]) => name)));

  // What filters and sorting ask of a bucket, once; lists are of the models of its set.
  for (const [order, bucket] of all.entries()) {
    const set = head.sets[bucket.s];
    bucket.order = order;
    bucket.a = bucket.n.map(([answers, right]) => (answers ? right / answers : null));
    bucket.label = buckets.labelName(set, bucket.r[0][2]);
    // Answers in free text are compared with the commonest one where there is no original: it is in row 1.
    bucket.original = bucket.r.find((row) => row[0] === "original") || (set.written ? bucket.r[0] : undefined);
    bucket.rewordings = bucket.r.filter((row) => row !== bucket.original);
    bucket.sure = set.models.map((_, place) => surest(bucket, set, place));
    bucket.swing = set.models.map((_, place) => swing(bucket, place));
  }
  const hasSureness = all.some((bucket) => bucket.sure.some((value) => value > 0));
  const defaults = {
    set: "", label: "", model: "", show: "", kind: "", flips: "", holds: "", before: "", after: "", original: "", paraphrase: "",
    accuracy: "", ids: "", text: "", slices: "", sort: hasSureness ? "sure" : "flips", size: "20", page: "1", bucket: "",
    ...Object.fromEntries(strata.map((name) => [`stratum.${name}`, ""])),
  };
  const range = /^\d*\.?\d+,\d*\.?\d+$/u;
  // What these may be in an address; anything else there is the default.
  const valid = {
    show: /^(broken|changed|lost|gained|right|depends|wrong|same)$/u, sort: /^(sure|flips|accuracy|swing|size|id)$/u,
    size: /^[1-9]\d*$/u, page: /^\d+$/u, original: range, paraphrase: range, accuracy: range,
  };
  let state = { ...defaults };
  let chosen = [];
  let opener = null;  // the link that was followed: coming back finds the focus there again
  const controls = {};

  // How sure the model was of the surest two answers that break the set's rule together: of the less sure of the two.
  function surest(bucket, set, place) {
    if (set.conditional) return 0;  // answers to other questions
    const sure = (row) => (row[4][place] === null || row[4][place][0] < 0 ? null : buckets.sureness(row[4][place], row[2]));
    const first = bucket.original ? sure(bucket.original) : null;
    const most = new Map();  // answer -> the surest of its rows
    for (const row of bucket.original ? bucket.rewordings : bucket.r) {
      const value = sure(row);
      if (value !== null) most.set(row[4][place][0], Math.max(value, most.get(row[4][place][0]) || 0));
    }
    if (!bucket.original) return [...most.values()].sort((a, b) => b - a)[1] || 0;
    if (first === null) return 0;
    const breaking = [...most].filter(([answer]) => (answer !== bucket.original[4][place][0]) !== set.mustDiffer);
    return Math.max(0, ...breaking.map(([, value]) => Math.min(first, value)));
  }
  function swing(bucket, place) {
    const values = bucket.r.filter((row) => row[4][place] !== null)
      .map((row) => buckets.goldProbability(row[4][place], row[2])).filter((p) => p !== null);
    return values.length ? Math.max(...values) - Math.min(...values) : 0;
  }
  function haystack(bucket) {
    if (bucket.hay === undefined) {
      const texts = [...bucket.r.flatMap((row) => [row[1], ...(row[3] || [])]), ...(bucket.t || []).map(([text]) => text)];
      bucket.hay = [bucket.id, ...Object.values(bucket.x), ...texts].join("\n").toLowerCase();
    }
    return bucket.hay;
  }

  // The state as filters ask it; null is no filter.
  function asked() {
    const ends = (text) => (text === "" ? null : text.split(",").map(Number));
    return {
      model: state.model === "" ? null : head.models.indexOf(state.model),
      words: state.text.toLowerCase().split(/\s+/u).filter(Boolean),
      ids: state.ids === "" ? null : new Set(state.ids.split(",").map(plain)),
      strata: Object.entries(state).filter(([key, value]) => key.startsWith("stratum.") && value !== "").map(([key, value]) => [key.slice(8), value]),
      original: ends(state.original), paraphrase: ends(state.paraphrase), accuracy: ends(state.accuracy),
      ofRows: ["kind", "before", "after", "original", "paraphrase"].some((key) => state[key] !== "") || ["lost", "gained", "changed"].includes(state.show),
    };
  }
  function plain(id) { try { return decodeURIComponent(id); } catch { return id; } }
  // The places, in a bucket's lists, of the model asked for (all of them where none is).
  const places = (bucket, model) => [...head.sets[bucket.s].models.keys()].filter((place) => model === null || head.sets[bucket.s].models[place] === model);

  // The answers to rewordings that fit the filters of rows, as [row, place].
  function answers(bucket, query) {
    const set = head.sets[bucket.s];
    const inside = (range, answer, gold) => {
      const p = answer === null ? null : buckets.goldProbability(answer, gold);
      return range === null || (p !== null && p >= range[0] && p <= range[1]);
    };
    const fitting = [];
    const ofPairs = ["lost", "gained", "changed"].includes(state.show);
    for (const place of places(bucket, query.model)) {
      const first = bucket.original ? bucket.original[4][place] : null;
      if (!bucket.n[place][0]) continue;  // left out, as an answer in it could not be read
      if (!inside(query.original, first, bucket.original && bucket.original[2])) continue;
      for (const row of bucket.rewordings) {
        const answer = row[4][place];
        if (answer === null || !inside(query.paraphrase, answer, row[2])) continue;
        if (state.kind !== "" && !(row[5] || []).some((kind) => head.kinds[kind] === state.kind)) continue;
        if (state.after !== "" && buckets.labelName(set, answer[0]) !== state.after) continue;
        if (state.before !== "" && (first === null || buckets.labelName(set, first[0]) !== state.before)) continue;
        if (ofPairs) {
          if (first === null) continue;
          const [was, is] = [first[0] === bucket.original[2], answer[0] === row[2]];
          if (state.show === "changed" ? first[0] === answer[0] && (first[0] >= 0 || !set.neverAgree[place]) : was === is || was !== (state.show === "lost")) continue;
        }
        fitting.push([row, place]);
      }
    }
    return fitting;
  }
  // As the histogram's columns: an edge counts to the side that is nearer the middle, 0 and 1 to themselves alone.
  function isAbout(share, [low, high]) {
    if (low === high) return share === low;
    return (share > low || (share === low && low > 0 && low <= 0.5)) && (share < high || (share === high && high < 1 && high >= 0.5));
  }
  function fits(bucket, query) {
    const set = head.sets[bucket.s];
    if (state.set !== "" && set.name !== state.set) return false;
    if (state.label !== "" && bucket.label !== state.label) return false;
    if (query.ids !== null && !query.ids.has(bucket.id)) return false;
    for (const [name, value] of query.strata) {
      const column = set.strata.findIndex(([stratum]) => stratum === name);
      if (column < 0 || !bucket.st[column].some((i) => set.strata[column][1][i] === value)) return false;
    }
    const mine = places(bucket, query.model).filter((place) => bucket.n[place][0]);  // not of models without answers that count
    if (query.model !== null && mine.length === 0) return false;
    if (state.show === "same" && (mine.some((place) => bucket.v[place] > 0) || !mine.some((place) => bucket.v[place] === 0))) return false;
    if (state.show === "broken" && !mine.some((place) => bucket.v[place] > 0)) return false;
    if (["right", "depends", "wrong"].includes(state.show) && !mine.some((place) => bucket.o[place] === state.show[0])) return false;
    if (query.accuracy !== null && !mine.some((place) => bucket.a[place] !== null && isAbout(bucket.a[place], query.accuracy))) return false;
    for (const [key, flips] of [["flips", true], ["holds", false]]) {
      if (state[key] === "") continue;
      const place = set.models.indexOf(head.models.indexOf(state[key]));
      const value = areRuns ? { r: 0, d: 1, w: 0 }[bucket.o[place]] : bucket.v[place];  // of runs models are compared by their ends
      if (value === undefined || value === null || value > 0 !== flips) return false;
    }
    return query.words.every((word) => haystack(bucket).includes(word));
  }
  const mean = (values) => {
    const known = values.filter((value) => value !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : -1;
  };
  // Sort keys, the largest first; what ties is in the page's own order, the most inconsistent first.
  const orders = {
    sure: (measure) => [Math.max(...measure("sure")), mean(measure("w"))],
    flips: (measure) => [mean(measure("w")), mean(measure("v"))],
    accuracy: (measure) => [-mean(measure("a"))],
    swing: (measure) => [mean(measure("swing"))],
    size: (_, bucket) => [bucket.r.length],
  };
  function sorted(fitting, query) {
    if (state.sort === "id") return fitting.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.order - b.order));
    const key = orders[state.sort];
    const keyed = fitting.map((bucket) => {
      const mine = places(bucket, query.model);
      return [...key((name) => mine.map((place) => bucket[name][place]), bucket), bucket];
    });
    const last = keyed.length ? keyed[0].length - 1 : 0;
    const compare = (a, b) => { for (let i = 0; i < last; i += 1) if (a[i] !== b[i]) return b[i] - a[i]; return a[last].order - b[last].order; };
    return keyed.sort(compare).map((one) => one[last]);
  }

  // The buckets that fit the state, in no order, and how many answers.
  function filtered(query) {
    const fitting = all.filter((bucket) => fits(bucket, query));
    if (!query.ofRows) return [fitting, 0];
    const sizes = new Map(fitting.map((bucket) => [bucket, answers(bucket, query).length]));
    return [fitting.filter((bucket) => sizes.get(bucket) > 0), [...sizes.values()].reduce((sum, size) => sum + size, 0)];
  }
  function update() {
    const query = asked();
    const [fitting, nAnswers] = filtered(query);
    chosen = sorted(fitting, query);
    const place = state.bucket === "" ? -1 : chosen.findIndex((bucket) => bucket.id === state.bucket);
    if (place >= 0) state.page = String(1 + Math.floor(place / Number(state.size)));
    draw(query.ofRows ? `, ${n(nAnswers, "answer")} to rewordings` : "");
  }
  const n = (value, noun) => `${value.toLocaleString("en")}${noun ? ` ${noun}${value === 1 ? "" : "s"}` : ""}`;
  let lastPage = 0;
  let counted = "";
  function draw(ofRows = counted) {
    counted = ofRows;
    const size = Number(state.size);
    lastPage = Math.max(0, Math.ceil(chosen.length / size) - 1);
    const page = Math.min(Math.max(0, Number(state.page) - 1), lastPage);
    state.page = String(page + 1);
    const shown = chosen.slice(page * size, (page + 1) * size);
    list.replaceChildren(...shown.map(article));
    names.replaceChildren(...shown.map((bucket, i) => {
      const [place, ...others] = places(bucket, asked().model);  // of several models the marks would be of none
      const made = button("", () => go(list.children[i]));
      made.append(element("bdi", { text: bucket.id }), ...(others.length ? [] : [buckets.marks(bucket, place)]));
      return made;
    }));
    names.hidden = shown.length < 2;
    if (list.firstChild) list.firstChild.tabIndex = 0;
    found.textContent = chosen.length
      ? `${unit[0].toUpperCase()}${unit.slice(1)}s ${n(page * size + 1)} to ${n(page * size + shown.length)} of ${n(chosen.length)}${ofRows}${chosen.length < all.length ? `, out of ${n(all.length)} on this page` : ""}`
      : `No ${unit} fits these filters.`;
    if (state.bucket !== "" && !chosen.some((bucket) => bucket.id === state.bucket)) {
      const elsewhere = all.some((bucket) => bucket.id === state.bucket);
      found.textContent += ` ${unit[0].toUpperCase()}${unit.slice(1)} ${state.bucket} is ${elsewhere ? "not among them." : "not on this page."}`;
    }
    pages.hidden = lastPage === 0;
    const [back, on] = [["first", "previous"], ["next", "last"]].map((ways) => ways.map((way) => pages.querySelector(`[data-go=${way}]`)));
    const ends = [...(page === 0 ? back : []), ...(page === lastPage ? on : [])];
    const others = [...back, ...on].filter((button) => !ends.includes(button));
    for (const button of others) button.disabled = false;
    // focus is never lost with a button that has had its day
    if (ends.includes(document.activeElement) && others.length) others[page === 0 ? 0 : others.length - 1].focus({ preventScroll: true });
    for (const button of ends) button.disabled = true;
    pages.querySelector("output").textContent = `page ${n(page + 1)} of ${n(lastPage + 1)}`;
    showActive();
    showSlices();
  }
  function article(bucket) {
    const made = buckets.render(bucket);
    const set = head.sets.length > 1 ? { set: head.sets[bucket.s].name } : {};
    const box = element("input", { type: "checkbox", class: "noise" });
    box.checked = marking.has(bucket);
    box.addEventListener("change", () => marking.set(bucket, box.checked));
    const actions = element("span", { class: "actions" }, element("a", { href: link({ ...set, bucket: bucket.id }), text: "link" }));
    for (const [text, format] of [["copy as Markdown", "asMarkdown"], ["copy as JSON", "asJson"]]) {
      actions.append(button(text, (pressed) => exporting.copy(exporting[format](bucket), pressed)));
    }
    actions.append(element("label", {}, box, bucket.r[0][0] === "run" ? "leave out" : "not a paraphrase"));
    const record = element("details", { class: "record" }, element("summary", { text: "Raw record" }));
    record.addEventListener("toggle", () => record.append(element("pre", { text: exporting.asRecords(bucket) })), { once: true });
    made.append(actions, record);
    buckets.markHits(made, state.text.split(/\s+/u).filter(Boolean));
    return made;
  }
  // Filters that came by a link and have no control of their own: a button each, to drop them.
  function showActive() {
    const percent = (text) => text.split(",").map((end) => (100 * Number(end)).toFixed(0)).join(" to ");
    const texts = {
      ids: () => n(state.ids.split(",").length, unit), before: () => `original answered ${state.before}`, after: () => `rewording answered ${state.after}`,
      original: () => `gold label on the original ${percent(state.original)} %`, paraphrase: () => `gold label on a rewording ${percent(state.paraphrase)} %`,
      accuracy: () => `rewordings right ${percent(state.accuracy)} %`,
    };
    const drop = Object.keys(texts).filter((key) => state[key] !== "").map((key) => button(`${texts[key]()} ✕`, () => {
      change({ [key]: "" });
      found.focus({ preventScroll: true });
    }, { "aria-label": `drop the filter: ${texts[key]()}` }));
    if (chosen.length) {
      const nMore = chosen.reduce((sum, bucket) => sum + (bucket.more || 0), 0);
      const lacks = nMore ? ` without ${n(nMore, "row")} that this page lacks` : "";
      drop.push(button(`Download as CSV${lacks}`, () => csv.save(exporting.csvOf(chosen), "buckets.csv")));
    }
    const filters = Object.entries(state).filter(([key, value]) => !["sort", "size", "page", "bucket", "slices"].includes(key) && value !== (defaults[key] ?? ""));
    if (filters.length) {
      const clear = button("Clear all filters", () => { change({ ...defaults, sort: state.sort, size: state.size, slices: state.slices }); found.focus({ preventScroll: true }); });
      const name = element("input", { "aria-label": "name of the slice", value: filters.map(([key, value]) => (key === "ids" ? `some ${unit}s` : value)).join(", ") });
      const save = button("Save as a slice", () => keep([...saved().filter(([other]) => other !== name.value), [name.value, String(new URLSearchParams(filters))]]));
      drop.push(clear, element("span", {}, name, save));
    }
    active.replaceChildren(...drop);
    active.hidden = drop.length === 0;
  }

  // Slices: filters under names, all in the address; a line each with its buckets and every model's numbers on them.
  const saved = () => [...new URLSearchParams(state.slices)];
  const keep = (wanted) => change({ slices: String(new URLSearchParams(wanted)) }, { keepPage: true });
  const numbersOf = new Map();
  // Of `marking.numbers` those that mean something of some set, and of one set without P_C its own measure.
  const [{ rule, sums, paraphrastic }] = head.sets.length === 1 ? head.sets : [{ paraphrastic: head.sets.some((set) => set.paraphrastic) }];
  const isShown = [paraphrastic, head.sets.some((set) => !set.noGold), !paraphrastic && sums && sums.some((of) => of[4] > 0)];
  const ofShown = (values) => values.filter((_, i) => isShown[i]);
  function measured(filters) {
    if (!numbersOf.has(filters)) {
      const own = state;
      state = read(`#?${filters}`);
      const [inside] = filtered(asked());
      state = own;
      const models = head.models.map((_, model) => inside.flatMap((bucket) => places(bucket, model).filter((place) => head.sets[bucket.s].read[place]).map((place) => bucket.n[place])));
      numbersOf.set(filters, [n(inside.length), ...models.flatMap((counts) => ofShown(marking.numbers(marking.summed(counts))))]);
    }
    return numbersOf.get(filters);
  }
  function showSlices() {
    slices.hidden = state.slices === "";
    const number = (tag, text) => element(tag, { class: "number", text, ...(tag === "th" ? { scope: "col" } : {}) });
    const of = (what, model) => (head.models.length > 1 ? `${what}, ${model}` : what);
    const heads = [`${unit}s`, ...head.models.flatMap((model) => ofShown(["consistency (P_C)", "right", rule]).map((what) => of(what, model)))];
    const lines = saved().map(([name, filters]) => {
      const drop = button("✕", () => { keep(saved().filter(([other]) => other !== name)); found.focus({ preventScroll: true }); }, { "aria-label": `forget the slice ${name}` });
      const lead = element("th", { scope: "row" }, drop, " ", element("a", { href: `#?${filters}`, text: name }));
      return element("tr", {}, lead, ...measured(filters).map((value) => number("td", value)));
    });
    const top = element("tr", {}, element("th", { scope: "col", text: "slice" }), ...heads.map((text) => number("th", text)));
    slices.replaceChildren(element("table", {}, element("caption", { text: `Saved slices of the ${unit}s on this page; its address holds them` }), element("thead", {}, top), element("tbody", {}, ...lines)));
  }

  // The address: what is not the default, in the order of `defaults`.
  function link(filters) {
    const pairs = Object.entries(filters).filter(([key, value]) => value !== (defaults[key] ?? ""));
    return `#?${new URLSearchParams(pairs)}`;
  }
  function read(hash) {
    const pairs = [...new URLSearchParams(hash.slice(2))].filter(([key, value]) => (Object.hasOwn(valid, key) ? valid[key].test(value) : Object.hasOwn(defaults, key) || key.startsWith("stratum.")));
    return { ...defaults, slices: state.slices, ...Object.fromEntries(pairs) };
  }
  function remember(how) {
    try { history[how]({ browser: true }, "", link(state)); } catch { /* a frame without an address of its own */ }
  }
  function show(wanted) {
    state = wanted;
    for (const [key, control] of Object.entries(controls)) {
      const value = state[key] ?? "";
      if (control.tagName === "SELECT" && ![...control.options].some((option) => option.value === value)) control.append(element("option", { value, text: value }));
      if (control.value !== value) control.value = value;
    }
    update();
  }
  // What a control or another part of the page changes of the state; the list begins anew.
  function change(filters, { how = "pushState", keepPage = false } = {}) {
    show({ ...state, bucket: "", ...(keepPage ? {} : { page: "1" }), ...filters });
    remember(how);
  }
  function arrive() {
    const wanted = chosen.find((bucket) => bucket.id === state.bucket);
    const article = wanted && [...list.children].find((one) => one.bucket === wanted);
    if (article) { go(article); return; }
    found.focus({ preventScroll: true });
    form.scrollIntoView({ block: "start" });
  }
  function follow(hash, from) {
    opener = from;
    show(read(hash));
    remember(location.hash === hash ? "replaceState" : "pushState");
    arrive();
  }
  document.addEventListener("click", (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const anchor = event.target.closest && event.target.closest("a");
    const target = anchor && (anchor.getAttribute("href") || anchor.getAttributeNS("http://www.w3.org/1999/xlink", "href"));
    if (!target || !target.startsWith("#?")) return;
    event.preventDefault();
    follow(target, anchor);
  });
  window.addEventListener("popstate", (event) => {
    const { hash } = location;
    if (hash !== "" && !hash.startsWith("#?")) return;  // another part of the page
    if (!event.state && hash !== "") { show(read(hash)); remember("replaceState"); arrive(); return; }  // typed, or set by a script
    show(read(hash));
    if (opener && opener.isConnected) opener.focus({ preventScroll: true });
    opener = null;
  });

  // For every sheet of paper a browser searches the page for the place of every link: those with filters have none.
  const printed = new Map();
  window.addEventListener("beforeprint", () => {
    for (const anchor of document.querySelectorAll("a[href^='#?']")) { printed.set(anchor, anchor.getAttribute("href")); anchor.setAttribute("href", "#browser"); }
  });
  window.addEventListener("afterprint", () => { for (const [anchor, href] of printed) anchor.setAttribute("href", href); printed.clear(); });

  function turn(where, { focus } = {}) {
    const before = Number(state.page);
    const next = { first: 1, previous: before - 1, next: before + 1, last: lastPage + 1 }[where];
    if (next < 1 || next > lastPage + 1) return;
    state = { ...state, bucket: "", page: String(next) };
    draw();
    remember("pushState");
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

  function select(label, key, options) {
    const box = element("select", { "aria-label": label });
    for (const [value, text] of options) box.append(element("option", { value, text }));
    controls[key] = box;
    box.addEventListener("change", () => change({ [key]: box.value }));
    form.append(element("label", {}, label, box));
  }
  const named = (names) => names.map((name) => [name, name]);

  function build() {
    const search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    controls.text = search;
    let timer = 0;
    search.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => change({ text: search.value }, { how: state.text === "" ? "pushState" : "replaceState" }), 120);
    });
    const empty = () => { clearTimeout(timer); search.value = ""; if (state.text !== "") change({ text: "" }); };
    form.append(element("label", { class: "search" }, "text ( / )", search));
    if (head.sets.length > 1) select("set", "set", [["", "all sets"], ...named(head.sets.map((set) => set.name))]);
    const labels = distinct(all.map((bucket) => bucket.label));
    if (labels.length > 1) select("gold label", "label", [["", "all labels"], ...named(labels)]);
    for (const name of strata) {
      const values = distinct(head.sets.flatMap((set) => set.strata.filter(([stratum]) => stratum === name).flatMap(([, known]) => known)));
      select(name, `stratum.${name}`, [["", "all"], ...named(values)]);
    }
    if (head.models.length > 1) {
      select("by", "model", [["", "all models"], ...named(head.models)]);
      select("flips", "flips", [["", "any model"], ...named(head.models)]);
      select("does not flip", "holds", [["", "any model"], ...named(head.models)]);
    }
    if (head.kinds && head.kinds.length) select("edit", "kind", [["", "all edits"], ...named(head.kinds)]);
    const base = all.some((bucket) => bucket.r[0][0] === "original") ? "the original" : "row 1";
    const hasGold = !head.sets.every((set) => set.noGold);
    const [hasBase, hasEnds] = [all.some((bucket) => bucket.original), hasGold && all.some((bucket) => bucket.o.some(Boolean))];
    const shows = [
      ["", `all ${unit}s`, true], ["broken", "inconsistent", true], ["changed", `another answer than ${base}`, hasBase],
      ["lost", `${base} right, ${another} wrong`, hasBase && hasGold], ["gained", `${base} wrong, ${another} right`, hasBase && hasGold],
      ["right", `right in every ${each}`, hasEnds], ["depends", `right in some ${each}s`, hasEnds], ["wrong", `wrong in every ${each}`, hasEnds],
      ["same", "consistent", true],
    ];
    select("show", "show", shows.filter(([, , isThere]) => isThere));
    select("sort by", "sort", [
      ...(hasSureness ? [["sure", "surest flip"]] : []), ["flips", "most inconsistent"], ...(hasGold ? [["accuracy", "least accurate"]] : []),
      ...(hasSureness ? [["swing", "largest swing in probability"]] : []), ["size", "most rows"], ["id", "id"],
    ]);
    select("per page", "size", named(["10", "20", "50"]));
    const removed = element("input", { type: "checkbox", id: "removed", checked: "" });
    removed.addEventListener("change", () => list.classList.toggle("without-removed", !removed.checked));
    form.append(element("label", { class: "check" }, removed, "words left out"));
    const letters = document.getElementById("letters");
    letters.checked = kept() !== "off";
    letters.addEventListener("change", () => { try { localStorage.setItem(KEYS, letters.checked ? "on" : "off"); } catch { /* this page alone */ } });
    document.getElementById("legend").append(...buckets.legend());
    const tooMany = new Map(head.sets.flatMap((set) => set.tooMany));
    const columns = [...tooMany].map(([name, size]) => `${name} (${n(size)})`).join(", ");
    if (columns) form.append(element("p", { class: "note", text: `With too many values to choose from: ${columns}. The search does not look there.` }));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    for (const text of ["First", "Previous", "", "Next", "Last"]) {
      const where = text.toLowerCase();
      pages.append(text ? button(text, () => turn(where), { "data-go": where }) : element("output"));
    }
    document.addEventListener("keydown", (event) => press(event, search, removed, empty, letters.checked));
  }
  const KEYS = "paraconsist-letters";
  const kept = () => { try { return localStorage.getItem(KEYS); } catch { return null; } };
  function press(event, search, removed, empty, letters) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target === search) { event.preventDefault(); empty(); go(list.firstChild); return; }
    if (event.target.closest && event.target.closest("input, select, textarea")) return;
    const inside = event.target.matches && event.target.matches("#list > .bucket");  // a long text in it scrolls by arrows
    const act = {
      ...(letters ? { j: () => move(1), k: () => move(-1), n: () => turn("next", { focus: "first" }), p: () => turn("previous", { focus: "first" }),
      "/": () => { search.focus(); search.select(); }, d: () => removed.click(), "?": () => { keys.open = !keys.open; keys.scrollIntoView({ block: "nearest" }); } } : {}),
      ...(inside ? { ArrowDown: () => move(1), ArrowUp: () => move(-1), ArrowRight: () => turn("next", { focus: "first" }), ArrowLeft: () => turn("previous", { focus: "first" }) } : {}),
    }[event.key];
    if (act) { event.preventDefault(); act(); }
  }
  document.getElementById("needs-script").remove();
  build();
  const begin = location.hash.startsWith("#?");
  show(read(begin ? location.hash : "#?"));
  if (begin) { remember("replaceState"); arrive(); }
  (window.requestIdleCallback || setTimeout)(() => all.forEach(haystack));  // so that the first search is as quick as others
  return { change, link };
})();
