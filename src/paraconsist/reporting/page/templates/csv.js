// Tables as CSV, files to save.
const csv = (() => {
  // As `paraconsist.data.writing.write_table`: where a spreadsheet would run a text, all of the column get an apostrophe.
  const runs = (text) => /^'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20]./su.test(text) && !/^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?\s*%?$/iu.test(text);
  function from(columns, lines) {
    const guarded = columns.map((_, i) => lines.some((line) => typeof line[i] === "string" && runs(line[i])));
    const cell = (value, guard) => `"${(guard && typeof value === "string" && value !== "" ? `'${value}` : String(value ?? "")).replace(/"/gu, '""')}"`;
    const header = columns.map((name) => cell(name, runs(name)));
    return `\ufeff${[header, ...lines.map((line) => line.map((value, i) => cell(value, guarded[i])))].map((line) => `${line.join(",")}\r\n`).join("")}`;
  }
  function save(content, file) {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: "text/csv" }));
    anchor.download = file;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
  }
  return { from, save };
})();
