// Word differences of two texts: the longest common subsequence of their words.
const words = (() => {
  const MOST = 400_000;
  const split = (text) => text.match(/[\p{L}\p{N}'’]+|[^\s\p{L}\p{N}]|\s+/gu) || [];
  const isSpace = (token) => /^\s/u.test(token);

  // Returns [[kind, text], ...] with kind "same", "added" or "removed"; "same" and "added" together are `text`.
  function difference(original, text) {
    if (original === text) return [["same", text]];
    const a = [];
    const places = [];  // where each word of the original begins
    let place = 0;
    for (const token of split(original)) {
      if (!isSpace(token)) { a.push(token); places.push(place); }
      place += token.length;
    }
    const cut = (from, to) => original.slice(places[from], places[to - 1] + a[to - 1].length);
    const all = split(text);
    const b = all.filter((token) => !isSpace(token));
    const kept = common(a, b);
    const out = [];
    const put = (kind, token) => {
      if (token === "") return;
      const last = out[out.length - 1];
      if (last && last[0] === kind) last[1] += token;
      else out.push([kind, token]);
    };
    // For each word of the text: how far the original is used up before it.
    const until = new Int32Array(b.length);
    for (let j = b.length - 1, next = a.length; j >= 0; j -= 1) until[j] = next = kept[j] >= 0 ? kept[j] : next;
    let i = 0;
    let j = 0;
    let gap = "";
    for (const token of all) {
      if (isSpace(token)) { gap = token; continue; }
      const kind = kept[j] >= 0 ? "same" : "added";
      if (until[j] > i) {
        put("same", gap);
        gap = "";
        const last = out[out.length - 1];
        const glued = last && !/\s$/u.test(last[1]);
        put("removed", (glued ? " " : "") + cut(i, until[j]) + (/[\p{L}\p{N}]/u.test(token) ? " " : ""));
        i = until[j];
      }
      const last = out[out.length - 1];
      put(gap && last && last[0] === kind ? kind : "same", gap);
      put(kind, token);
      gap = "";
      if (kind === "same") i += 1;
      j += 1;
    }
    put("same", gap);
    if (i < a.length) put("removed", (out.length ? " " : "") + cut(i, a.length));
    return out;
  }

  // For each word of b the place of its partner in a, or -1.
  function common(a, b) {
    const kept = new Int32Array(b.length).fill(-1);
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) { kept[start] = start; start += 1; }
    let endA = a.length;
    let endB = b.length;
    while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA -= 1; endB -= 1; kept[endB] = endA; }
    const n = endA - start;
    const m = endB - start;
    if (n === 0 || m === 0 || n * m > MOST) return kept;
    const lengths = new Uint16Array((n + 1) * (m + 1));
    const at = (i, j) => i * (m + 1) + j;
    for (let i = n - 1; i >= 0; i -= 1) {
      for (let j = m - 1; j >= 0; j -= 1) {
        lengths[at(i, j)] = a[start + i] === b[start + j]
          ? lengths[at(i + 1, j + 1)] + 1
          : Math.max(lengths[at(i + 1, j)], lengths[at(i, j + 1)]);
      }
    }
    for (let i = 0, j = 0; i < n && j < m;) {
      if (a[start + i] === b[start + j]) { kept[start + j] = start + i; i += 1; j += 1; }
      else if (lengths[at(i + 1, j)] >= lengths[at(i, j + 1)]) i += 1;
      else j += 1;
    }
    return kept;
  }
  return { difference };
})();
