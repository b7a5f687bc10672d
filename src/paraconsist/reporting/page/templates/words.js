// What differs between two texts: the longest common subsequence of their words, in any language, and what the eye
// cannot see of it, in words.
const words = (() => {
  const MOST = 400_000;
  const SPACE = /^\s+$/u;
  const IGNORED = /\p{Default_Ignorable_Code_Point}/u;
  const NAMES = {
    " ": "blank", "\n": "line break", "\r\n": "line break of Windows", "\t": "tab", "\u00a0": "no-break blank", "\u202f": "narrow no-break blank",
    "\u3000": "wide blank", "\u00ad": "soft hyphen", "\u200b": "zero-width space", "\u200c": "zero-width non-joiner", "\u200d": "zero-width joiner",
    "\u200e": "left-to-right mark", "\u200f": "right-to-left mark", "\u202e": "right-to-left override", "\u2060": "word joiner", "\ufeff": "byte order mark",
  };
  const SIGNS = { " ": "␣", "\n": "↵", "\r\n": "↵", "\t": "⇥", "\u00a0": "⍽" };
  const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
  const code = (letter) => `U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  const letters = (text) => text.match(/\r\n|./gsu) || [];

  // The words of a text, each with where it begins; none ends within a letter. Only what has no blanks between words, or
  // letters of several signs that are none of a word, needs the segmenter, which is slow.
  const COMPLEX = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}\p{Extended_Pictographic}\p{RI}\p{Cf}]|(?<![\p{L}\p{M}\p{N}])\p{M}/u;
  const JOINED = /[\p{M}\p{Cf}\p{RI}\p{Emoji_Modifier}\u0e33\u0eb3]/u;
  const [byWord, byLetter] = Intl.Segmenter ? ["word", "grapheme"].map((granularity) => new Intl.Segmenter("en", { granularity })) : [];
  const SIMPLE = /[\p{L}\p{M}\p{N}_]+(?:['’.,][\p{L}\p{M}\p{N}]+)*|[^\s]/gu;
  function split(text) {
    if (!byWord || !COMPLEX.test(text)) return Array.from(text.matchAll(SIMPLE), (match) => [match[0], match.index]);
    const starts = JOINED.test(text) && new Set(Array.from(byLetter.segment(text), ({ index }) => index));
    const out = [];
    for (const { segment, index } of byWord.segment(text)) {
      const last = out[out.length - 1];
      if (last && starts && !starts.has(index)) last[0] += segment;
      else if (!SPACE.test(segment)) out.push([segment, index]);
    }
    return out;
  }

  // Returns [[kind, text], ...] with kind "same", "added" or "removed": "same" and "removed" together are `original`,
  // "same" and "added" together are `text`.
  const difference = (original, text) => parts(changes(original, text));
  function parts(changed) {
    const out = [];
    const put = (kind, piece) => {
      const last = out[out.length - 1];
      if (piece === "") return;
      if (last && last[0] === kind) last[1] += piece;
      else out.push([kind, piece]);
    };
    for (const [before, removed, added, after] of changed) {
      put("same", before);
      put("removed", removed);
      put("added", added);
      put("same", after);
    }
    return out;
  }

  // All rows of a bucket are compared with one original.
  let known = [null, []];
  function originals(text) {
    if (known[0] !== text) known = [text, split(text)];
    return known[1];
  }
  // Returns [[same, removed, added, same], ...] in order; blanks on which both agree are not part of a change.
  function changes(original, text) {
    if (original === text) return [[text, "", "", ""]];
    const [a, b] = [originals(original), split(text)];
    const numbers = new Map();
    const numbered = (list) => list.map(([word]) => numbers.get(word) ?? (numbers.set(word, numbers.size), numbers.size - 1));
    const kept = common(numbered(a), numbered(b));
    const out = [];
    let [endA, endB] = [0, 0];
    const between = (nextA, nextB, word) => {
      const [from, to] = [original.slice(endA, nextA), text.slice(endB, nextB)];
      const start = from === to ? from.length : shared(blanks(from, /^\s*(?![\p{M}\u200d])/u), blanks(to, /^\s*(?![\p{M}\u200d])/u));
      const [restA, restB] = [from.slice(start), to.slice(start)];
      const end = shared(blanks(restA, /\s*$/u).reverse(), blanks(restB, /\s*$/u).reverse());
      out.push([to.slice(0, start), restA.slice(0, restA.length - end), restB.slice(0, restB.length - end), restB.slice(restB.length - end) + word]);
      [endA, endB] = [nextA + word.length, nextB + word.length];
    };
    b.forEach(([word, place], j) => { if (kept[j] >= 0) between(a[kept[j]][1], place, word); });
    between(original.length, text.length, "");
    return out;
  }
  const blanks = (text, pattern) => letters(pattern.exec(text)[0]);
  function shared(a, b) {
    let n = 0;
    while (n < a.length && n < b.length && a[n] === b[n]) n += 1;
    return a.slice(0, n).join("").length;
  }

  // What changes without being seen, or in case alone: "two blanks for one", "NFD for NFC".
  const unseen = (original, text) => names(changes(original, text));
  function names(changed) {
    const counts = new Map();
    for (const [before, removed, added, after] of changed) {
      if (removed === added) continue;
      const name = nameOf(removed, added, /\s*$/u.exec(before)[0], /^\s*/u.exec(after)[0]);
      if (name) counts.set(name, (counts.get(name) || 0) + 1);
    }
    return [...counts].map(([name, n]) => (n > 1 ? `${name} (${n} times)` : name));
  }
  function nameOf(removed, added, before, after) {
    const bare = (piece) => letters(piece).filter((letter) => !IGNORED.test(letter) || SPACE.test(letter)).join("");
    if (/^\s*$/u.test(removed + added)) return exchange(before + removed + after, before + added + after);
    if (bare(removed) === bare(added)) return exchange(...[removed, added].map((piece) => letters(piece).filter((letter) => IGNORED.test(letter)).join("")));
    if (removed.normalize("NFC") === added.normalize("NFC")) {
      const form = (piece) => ["NFC", "NFD"].find((one) => piece.normalize(one) === piece);
      return form(removed) && form(added) ? `${form(added)} for ${form(removed)}` : "other code points for the same letters";
    }
    if (removed.toLowerCase() === added.toLowerCase()) return "case alone";
    return removed.normalize("NFKC") === added.normalize("NFKC") ? "another form of the same letters" : "";
  }
  function exchange(removed, added) {
    if (removed === "") return `${list(added)} put in`;
    if (added === "") return `${list(removed)} left out`;
    const [a, b] = [letters(removed), letters(added)];
    const isOneKind = new Set([...a, ...b]).size === 1;
    return isOneKind ? `${count(b.length, b[0])} for ${NUMBERS[a.length] || a.length}` : `${list(added)} for ${list(removed)}`;
  }
  const count = (n, letter) => `${NUMBERS[n] || n} ${NAMES[letter] || code(letter)}${n > 1 ? "s" : ""}`;
  function list(piece) {
    const runs = [];
    for (const letter of letters(piece)) {
      const last = runs[runs.length - 1];
      if (last && last[1] === letter) last[0] += 1;
      else runs.push([1, letter]);
    }
    return runs.map(([n, letter]) => (n > 1 ? count(n, letter) : `a ${NAMES[letter] || code(letter)}`)).join(" and ");
  }

  // Puts a text into an element, with what differs from the original marked; what has no ink gets a sign.
  function show(line, original, text) {
    line.dir = "auto";
    const changed = changes(original === null ? text : original, text);
    for (const [kind, piece] of parts(changed)) {
      if (kind === "same") { line.append(piece); continue; }
      const isSeen = letters(piece).some((letter) => !SPACE.test(letter) && !IGNORED.test(letter));
      const [, before, text, after] = isSeen ? /^(\s*(?![\p{M}\u200d]))(.*?)(\s*)$/su.exec(piece) : ["", "", piece, ""];
      const mark = buckets.element(kind === "added" ? "ins" : "del", { text });
      if (kind === "removed") mark.dir = "auto";  // does not decide the direction of the line
      if (!isSeen) mark.dataset.sign = letters(piece).map((letter) => SIGNS[letter] || code(letter)).join("");
      line.append(before, mark, after);
    }
    const hidden = names(changed);
    if (hidden.length) line.append(buckets.element("bdi", { class: "field unseen", text: hidden.join("; ") }));
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
  return { difference, show, unseen };
})();
