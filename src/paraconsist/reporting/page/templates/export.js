// A bucket as Markdown and as JSON, buckets as CSV; a text for the clipboard.
const exporting = (() => {
  const { head } = buckets;
  const field = (bucket, set, row) => (row[3] === null ? {} : Object.fromEntries(bucket.f.map((i, place) => [set.fields[i], row[3][place]])));
  const shared = (bucket, set) => Object.fromEntries(Object.entries(bucket.x).map(([i, text]) => [set.fields[i], text]));
  const modelsOf = (set) => set.models.map((number, place) => [head.models[number], place]);

  function asObject(bucket) {
    const set = head.sets[bucket.s];
    const strata = Object.fromEntries(bucket.st.map((values, i) => [set.strata[i][0], values.map((value) => set.strata[i][1][value])]));
    const rows = bucket.r.map((row) => {
      const answers = modelsOf(set).filter(([, place]) => row[4][place] !== null).map(([model, place]) => {
        const answer = row[4][place];
        const own = buckets.probability(answer, answer[0]);
        const ofGold = buckets.goldProbability(answer, row[2]);
        return [model, { answer: answer[0] < 0 ? null : set.labels[answer[0]], right: set.noGold ? undefined : buckets.isRight(answer, row[2]), probability: own, gold_probability: ofGold }];
      });
      return { role: row[0], example_id: row[1], gold: set.noGold ? undefined : buckets.labelName(set, row[2]), ...field(bucket, set, row), answers: Object.fromEntries(answers) };
    });
    return { set: set.name, bucket_id: bucket.id, ...shared(bucket, set), strata, rows, more_rows: bucket.more };
  }
  const asJson = (bucket) => JSON.stringify(asObject(bucket), null, 2);

  function asMarkdown(bucket) {
    const set = head.sets[bucket.s];
    const safe = (text) => String(text).replace(/[\\`*_[\]<>|#~&]/gu, "\\$&").replace(/\s*\n\s*/gu, "<br>");
    const line = (cells) => `| ${cells.join(" | ")} |`;
    const fields = bucket.f.map((i) => set.fields[i]);
    const columns = ["row", ...fields, ...(set.noGold ? [] : ["gold"]), ...modelsOf(set).map(([model]) => model)];
    const rows = asObject(bucket).rows.map((row) => {
      const answers = modelsOf(set).map(([model]) => row.answers[model]).map((one) => {
        if (one === undefined) return "";
        const sure = one.probability === null ? "" : ` ${one.probability.toFixed(2)}`;
        return `${set.noGold ? "" : one.right ? "✓ " : "✗ "}${safe(one.answer === null ? "unparsed" : one.answer)}${sure}`;
      });
      return line([safe(row.role), ...fields.map((name) => safe(row[name] ?? "")), ...(set.noGold ? [] : [safe(row.gold)]), ...answers]);
    });
    const beside = Object.entries(shared(bucket, set)).map(([name, text]) => `${safe(name)}: ${safe(text)}\n`);
    return [`**${safe(bucket.id)}** (${safe(set.name)})\n`, ...beside, line(columns.map(safe)), line(columns.map(() => "---")), ...rows, ...(bucket.more ? ["", `and ${bucket.more} rows more`] : []), ""].join("\n");
  }

  // A line for each row; for each model its answer and, where it is known, the gold label's probability.
  function csvOf(chosen) {
    const fields = [...new Set(chosen.flatMap((bucket) => head.sets[bucket.s].fields))];
    const sure = chosen.some((bucket) => bucket.r.some((row) => row[4].some((answer) => answer !== null && buckets.goldProbability(answer, row[2]) !== null)));
    const perModel = head.models.flatMap((model) => [`prediction ${model}`, ...(sure ? [`gold probability ${model}`] : [])]);
    const lines = chosen.map(asObject).flatMap((bucket) => bucket.rows.map((row) => [
      bucket.set, bucket.bucket_id, row.role, row.example_id, ...fields.map((name) => row[name] ?? bucket[name]), row.gold,
      ...head.models.flatMap((model) => { const one = row.answers[model] || {}; return [one.answer, ...(sure ? [one.gold_probability] : [])]; }),
    ]));
    return csv.from(["set", "bucket_id", "role", "example_id", ...fields, "label", ...perModel], lines);
  }

  // The rows of a bucket as lines of predictions.jsonl: what the page holds of them, probabilities with three decimals.
  function asRecords(bucket) {
    const set = head.sets[bucket.s];
    return bucket.r.flatMap((row, i) => modelsOf(set).filter(([, place]) => row[4][place] !== null).map(([model, place]) => {
      const [answer, ...thousandths] = row[4][place], isOfGold = thousandths[0] === -1;
      const written = (bucket.t || []).find((entry) => entry[4][place].includes(i));
      return JSON.stringify({
        model: head.models.length > 1 ? model : undefined, bucket_id: bucket.id, example_id: row[1] || undefined, role: row[0],
        label: set.noGold ? undefined : buckets.labelName(set, row[2]), prediction: answer < 0 ? null : set.labels[answer],
        probabilities: thousandths.length && !isOfGold ? thousandths.map((p) => p / 1000) : undefined,
        gold_probability: isOfGold ? thousandths[1] / 1000 : undefined, raw_output: written && written[0],
      });
    })).join("\n");
  }

  async function copy(text, button) {
    const name = button.textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "copied"; } catch {
      const box = buckets.element("textarea", { readonly: "", rows: "8", "aria-label": "to copy by hand" });
      box.value = text;
      button.after(box);
      box.select();
    }
    setTimeout(() => { button.textContent = name; }, 1500);
  }
  return { asJson, asMarkdown, asRecords, csvOf, copy };
})();
