// One bucket as an article. Every text goes in through textContent.
const buckets = (() => {
  const { head, buckets: all } = JSON.parse(document.getElementById("data").textContent);

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "class") made.className = value;
      else if (key === "text") made.textContent = value;
      else made.setAttribute(key, value);
    }
    for (const child of children) if (child) made.append(child);
    return made;
  }

  function button(text, act, attributes) {
    const made = element("button", { type: "button", ...attributes, text });
    made.addEventListener("click", () => act(made));
    return made;
  }

  // A gold label is a list where a rule allows several.
  const labelName = (set, label) => [label].flat().map((one) => (one < 0 ? "unparsed" : set.labels[one])).join(" or ");
  const isRight = ([answer], gold) => (Array.isArray(gold) ? gold.includes(answer) : answer === gold);
  // Probability of a label in [0, 1], or null where the file does not say.
  function probability(answer, label) {
    if (answer.length < 2 || answer[1] < 0) return null;
    return label >= 0 && answer.length > label + 1 ? answer[label + 1] / 1000 : null;
  }
  const goldProbability = (answer, gold) =>
    answer.length === 3 && answer[1] === -1 ? answer[2] / 1000 : probability(answer, gold);
  // How sure of its answer the model was, in [0, 1]; of a wrong answer at most what the gold label leaves.
  function sureness(answer, gold) {
    const own = probability(answer, answer[0]);
    const ofGold = goldProbability(answer, gold);
    return own !== null || ofGold === null ? own : answer[0] === gold ? ofGold : 1 - ofGold;
  }

  // The row that others are compared with; of runs the first by the same model.
  const owner = (row) => row[4].findIndex(Boolean);
  const firstOf = (bucket, row) => bucket.r.find((other) => (row && row[0] === "run" ? owner(other) === owner(row) : other[0] === "original")) || bucket.r[0];
  // Whether an answer is right; without gold labels, whether it is that of the first row.
  function isGood(bucket, row, place) {
    const [answer, first] = [row[4][place], firstOf(bucket)];
    if (!head.sets[bucket.s].noGold) return isRight(answer, row[2]);
    return row === first || first[4][place] === null || (answer[0] >= 0 && answer[0] === first[4][place][0]);
  }
  function marks(bucket, place) {
    const strip = element("span", { class: "marks", "aria-hidden": "true" });
    for (const row of bucket.r) {
      const [role, , , , answers] = row;
      if (role === "run" && answers[place] === null) continue;  // another model's
      const state = answers[place] === null ? " none" : isGood(bucket, row, place) ? "" : " wrong";
      strip.append(element("span", { class: `mark${state}${role === "original" ? " first" : ""}` }));
    }
    return strip;
  }

  function rightOf(bucket, place) {
    const rows = bucket.r.filter(([role, , , , answers]) => role !== "original" && answers[place] !== null);
    const counted = rows.length ? rows : bucket.r.filter((row) => row[4][place] !== null);
    if (!counted.length) return "not asked";
    if (head.sets[bucket.s].noGold) {
      const given = bucket.r.filter((row) => row[4][place] !== null).map((row) => row[4][place][0]);
      const n = new Set(given.filter((label) => label >= 0)).size + given.filter((label) => label < 0).length;
      return `${n} ${n === 1 ? "answer" : "answers"} in ${given.length} ${given.length === 1 ? "row" : "rows"}`;
    }
    return `${counted.filter((row) => isRight(row[4][place], row[2])).length} of ${counted.length} right`;
  }
  function tally(bucket, set, place) {
    const model = head.models.length > 1 ? `${head.models[set.models[place]]}: ` : "";
    return element("span", {}, marks(bucket, place), element("span", { text: `${model}${rightOf(bucket, place)}` }));
  }

  // What `legend` explains: the mark, the answer, how sure of it the model was, whether it breaks the set's rule.
  function putAnswer(cell, row, first, set, place) {
    const answer = row[4][place];
    if (answer === null) { cell.className = "answer"; cell.append("–"); return null; }
    const right = isRight(answer, row[2]);
    cell.className = set.noGold ? "answer" : `answer ${right ? "right" : "wrong"}`;
    if (!set.noGold) cell.append(element("span", { class: `mark${right ? "" : " wrong"}`, "aria-hidden": "true" }));
    cell.append(element("span", { class: "label", text: labelName(set, answer[0]) }));
    if (!set.noGold) cell.append(element("span", { class: "hide", text: right ? " (right)" : " (wrong)" }));
    const sure = probability(answer, answer[0]);
    const ofGold = goldProbability(answer, row[2]);
    if (sure !== null) cell.append(element("span", { class: "p", text: sure.toFixed(2) }));
    else if (ofGold !== null) cell.append(element("span", { class: "p", text: `gold ${ofGold.toFixed(2)}` }));
    const before = first && first !== row ? first[4][place] : null;
    if (before && !set.conditional && (before[0] !== answer[0]) !== set.mustDiffer) {
      cell.append(element("span", { class: "flip", text: set.mustDiffer ? "= same" : first[0] === "original" ? "⇄ changed" : `⇄ not as ${row[0] === "run" ? "run" : "row"} 1` }));
    }
    return ofGold;
  }
  function answerCell(row, first, set, place) {
    const cell = element("td", {});
    if (head.models.length > 1) cell.setAttribute("data-model", head.models[set.models[place]]);
    const ofGold = putAnswer(cell, row, first, set, place);
    if (ofGold !== null) {
      const bar = element("span", { class: "bar", title: `probability of the gold label: ${ofGold.toFixed(3)}` }, element("i"));
      bar.firstChild.style.width = `${100 * ofGold}%`;
      cell.append(bar);
    }
    return cell;
  }
  // From this many models on they are rows of a table of their own, with the wordings by their numbers.
  const MANY = 4;
  function modelTable(bucket, set) {
    const body = element("tbody");
    set.models.forEach((number, place) => {
      const chips = element("td", { class: "chips" });
      bucket.r.forEach((row, i) => {
        if (row[0] === "run" && row[4][place] === null) return;
        const chip = element("span");
        putAnswer(chip, row, set.conditional ? null : firstOf(bucket, row), set, place);
        chip.classList.add("chip");
        chip.prepend(element("span", { class: "hide", text: "row " }), element("span", { class: "number", text: String(i + 1) }));
        chips.append(chip, " ");
      });
      body.append(element("tr", {}, element("th", { scope: "row", text: head.models[number] }), element("td", { class: "tally", text: rightOf(bucket, place) }), chips));
    });
    const top = ["model", "rewordings", "answers to the rows above, by their numbers"].map((text) => element("th", { scope: "col", text }));
    return element("table", { class: "models" }, element("thead", {}, element("tr", {}, ...top)), body);
  }

  function textCell(bucket, set, row, first) {
    const cell = element("td", { class: "text" });
    const texts = row[3];
    if (texts === null || bucket.f.length === 0) {
      const note = texts === null ? row[1] || "no text at hand" : row === first ? "the same text in every row" : "the same text";
      cell.append(element("span", { class: "field", text: note }));
      return cell;
    }
    bucket.f.forEach((field, i) => {
      const line = element("p");
      if (bucket.f.length > 1) line.append(element("bdi", { class: "field", text: set.fields[field] }));
      words.show(line, first && first[3] && first !== row ? first[3][i] : null, texts[i]);
      if (texts[i] === "") line.append(element("span", { class: "field", text: "(empty)" }));
      cell.append(line);
    });
    return cell;
  }

  function render(bucket) {
    const set = head.sets[bucket.s];
    const golds = [...new Set(bucket.r.map((row) => row[2]))];
    const article = element("article", { class: bucket.t ? "bucket written" : "bucket", tabindex: "-1", "aria-label": `${bucket.r[0][0] === "run" ? "task" : "problem"} ${bucket.id}` });
    article.bucket = bucket;
    const facts = element("span", { class: "facts" });
    const fact = (name, value) => facts.append(facts.childNodes.length ? " · " : "", `${name} `, element("b", { text: value }));
    if (head.sets.length > 1) fact("set", set.name);
    if (golds.length === 1 && !set.noGold) fact("gold", labelName(set, golds[0]));
    bucket.st.forEach((values, i) => {
      const [name, names] = set.strata[i];
      if (values.length === 1) fact(name, names[values[0]]);
    });
    article.append(element("div", { class: "head" }, element("h3", { text: bucket.id }), facts));
    const many = set.models.length >= MANY;
    const tallies = element("div", { class: "tallies" });
    if (!many) set.models.forEach((_, place) => tallies.append(tally(bucket, set, place)));
    article.append(tallies);
    if (Object.keys(bucket.x).length) {
      const shared = element("dl", { class: "shared" });
      for (const [field, text] of Object.entries(bucket.x)) {
        shared.append(element("dt", { text: set.fields[field] }), element("dd", { dir: "auto", text }));
      }
      article.append(shared);
    }
    const table = element("table", { class: "rows" });
    const top = element("tr", {}, element("th", { scope: "col", text: "row" }), element("th", { scope: "col", text: bucket.f.length === 1 ? set.fields[bucket.f[0]] : "text" }));
    if (golds.length > 1) top.append(element("th", { scope: "col", text: "gold" }));
    if (!many) set.models.forEach((number) => top.append(element("th", { scope: "col", text: head.models.length > 1 ? head.models[number] : "answer" })));
    table.append(element("thead", {}, top));
    const body = element("tbody");
    for (const [i, row] of bucket.r.entries()) {
      const first = set.conditional ? null : firstOf(bucket, row);
      const line = element("tr", row[0] === "original" ? { class: "original" } : {});
      line.append(element("td", { class: "role", text: `${many ? `${i + 1} ` : ""}${row[0] === "paraphrase" ? (bucket.r.some((other) => other[0] === "original") ? "rewording" : "wording") : row[0].replace("_", " ")}`, ...(row[1] ? { title: row[1] } : {}) }));
      line.append(textCell(bucket, set, row, first));
      if (golds.length > 1) line.append(element("td", { class: "answer", text: labelName(set, row[2]) }));
      if (!many) set.models.forEach((_, place) => line.append(answerCell(row, first, set, place)));
      body.append(line);
    }
    table.append(body);
    article.append(table);
    if (many) article.append(modelTable(bucket, set));
    if (bucket.t && bucket.t.length) article.append(answers.render(bucket));
    if (bucket.more) article.append(element("p", { class: "note", text: `and ${bucket.more.toLocaleString("en")} rows more` }));
    return article;
  }

  // Mark in an element what a search found, also where a word's letters lie in several parts of a text.
  function markHits(root, wanted) {
    if (!wanted.length) return;
    const pattern = new RegExp(wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&")).join("|"), "giu");
    const accepts = (node) => (node.parentElement.closest(".field, del") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
    for (const part of root.querySelectorAll(".text p, .shared dd, h3")) {
      if (part.textContent.search(pattern) < 0) continue;
      const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT, accepts);
      const nodes = [];
      while (walker.nextNode()) nodes.push(walker.currentNode);
      const hits = [...nodes.map((node) => node.data).join("").matchAll(pattern)].map((hit) => [hit.index, hit.index + hit[0].length]);
      let start = 0;
      for (const node of nodes) {
        const end = start + node.length;
        const inside = hits.filter(([from, to]) => from < end && to > start);
        const pieces = [];
        let done = 0;
        for (const [from, to] of inside) {
          const [low, high] = [Math.max(from - start, 0), Math.min(to - start, node.length)];
          pieces.push(node.data.slice(done, low), element("mark", { text: node.data.slice(low, high) }));
          done = high;
        }
        start = end;
        if (inside.length) node.replaceWith(...pieces, node.data.slice(done));
      }
    }
  }

  // What the signs of the buckets mean, of those that this page has.
  function legend() {
    const sign = (mark, text) => element("span", {}, element("span", { class: `mark${mark}`, "aria-hidden": "true" }), ` ${text}`);
    const some = (test) => all.some((bucket) => bucket.r.some((row) => row[4].some((answer) => test(answer, row))));
    const areRuns = all.some((bucket) => bucket.r[0][0] === "run");
    const compares = (bucket) => !head.sets[bucket.s].mustDiffer && !head.sets[bucket.s].conditional;
    const has = (bucket) => bucket.r[0][0] === "original";
    const parts = [];
    if (head.sets.some((set) => !set.noGold)) parts.push(sign("", "right"), sign(" wrong", "wrong"));
    if (head.sets.some((set) => set.noGold)) parts.push(sign("", "the first row's answer"), sign(" wrong", "another answer"));
    if (all.some(has)) parts.push(sign(" first", "the original (round)"));
    if (some((answer, [role]) => answer === null && role !== "run")) parts.push(sign(" none", "not asked"));
    if (some((answer) => answer !== null && answer[1] >= 0)) parts.push(element("span", { text: "0.93: how probable the model held the answer that it gave" }));
    if (some((answer, row) => answer !== null && goldProbability(answer, row[2]) !== null) && head.sets.some((set) => set.models.length < MANY)) {
      const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("i"));
      bar.firstChild.style.width = "70%";
      parts.push(element("span", {}, bar, " how probable it held the gold label; the stroke stands at one half"));
    }
    if (head.sets.some((set) => set.mustDiffer)) parts.push(element("span", { text: "= same: the original's answer, where it must be another" }));
    if (all.some((bucket) => compares(bucket) && has(bucket))) parts.push(element("span", { text: "⇄ changed: another answer than the original's" }));
    if (all.some((bucket) => compares(bucket) && !has(bucket))) parts.push(element("span", { text: areRuns ? "⇄ not as run 1: it ended otherwise than the first run of the task" : "⇄ not as row 1: another answer than that of the first row" }));
    return parts;
  }
  return { head, all, element, button, marks, render, legend, markHits, labelName, isRight, probability, goldProbability, sureness };
})();
