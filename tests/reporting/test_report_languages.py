"""Texts of any language on the page: whole letters and words, their direction, and what changes without being seen."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.browser import in_chromium, visit, write_page

from paraconsist.reporting.page.excerpts import MOST_LETTERS, excerpts

pytestmark = in_chromium

#: What is asked, a rewording, the words left out, the words put in, and how the page writes it.
PAIRS = {
    "English": ("He did not sleep.", "He did sleep.", ["not"], [], "ltr"),
    "Arabic": (
        "الكلب لا ينام على السجادة الحمراء.",
        "الكلب ينام على السجادة الزرقاء.",
        ["لا", "الحمراء"],
        ["الزرقاء"],
        "rtl",
    ),
    "Arabic from a Latin word": ("Paraconsist يقيس الاتساق.", "يقيس الاتساق.", ["Paraconsist"], [], "rtl"),
    "Hebrew": ("הכלב ישן על השטיח (האדום).", "הכלב אינו ישן על השטיח (הכחול).", ["האדום"], ["אינו", "הכחול"], "rtl"),
    "Hindi": ("लड़का किताब नहीं पढ़ता है।", "लड़की किताब पढ़ती है।", ["लड़का", "नहीं पढ़ता"], ["लड़की", "पढ़ती"], "ltr"),
    "Thai": ("ฉันไม่ชอบสุนัขตัวนี้", "ฉันชอบแมวตัวนี้", ["ไม่", "สุนัข"], ["แมว"], "ltr"),
    "Chinese": ("他昨天没有去学校。", "他昨天去图书馆。", ["没有", "学校"], ["图书馆"], "ltr"),
    "Japanese": (
        "私は毎日学校に行きます。",
        "私は毎日図書館に行きません。",
        ["学校", "ます"],
        ["図書館", "ません"],
        "ltr",
    ),
    "emoji": (
        "The 👨‍👩‍👧‍👦 liked it 👍🏽 in 🇩🇪",
        "The 👨‍👩‍👧 liked it 👍 in 🇮🇹",
        ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪"],
        ["👨‍👩‍👧", "👍", "🇮🇹"],
        "ltr",
    ),
}
#: What the eye does not see, and what the page says of it.
UNSEEN = {
    ("a b c", "a  b c"): "two blanks for one",
    ("a b c", "a  b  c"): "two blanks for one (2 times)",
    ("a\n\nb", "a\nb"): "one line break for two",
    ("a b", "a\nb"): "a line break for a blank",
    ("a b", "a\u00a0b"): "a no-break blank for a blank",
    ("a b", "a b "): "a blank put in",
    ("a , b", "a, b"): "a blank left out",
    ("word b", "wo\u200brd b"): "a zero-width space put in",
    ("क्\u200dष ab", "क्ष ab"): "a zero-width joiner left out",
    ("caf\u00e9 b", "cafe\u0301 b"): "NFD for NFC",
    ("cafe\u0301 b", "caf\u00e9 b"): "NFC for NFD",
    ("The dog", "the dog"): "case alone",
    ("\ufb01ne", "fine"): "another form of the same letters",
    ("a b", "b a"): "",
    ("a b", "a b"): "",
}
#: Of all pairs of texts: those whose parts do not give back both texts, or cut a letter.
CUT = """(texts) => {
  const letters = (text) => Array.from(new Intl.Segmenter("en").segment(text), ({ segment }) => segment);
  const isWhole = (pieces, text) =>
    pieces.join("") === text && pieces.flatMap(letters).join("|") === letters(text).join("|");
  return texts.flatMap((original) => texts.map((text) => [original, text])).filter(([original, text]) => {
    const parts = words.difference(original, text);
    const without = (kind) => parts.filter((part) => part[0] !== kind).map((part) => part[1]);
    return !isWhole(without("removed"), text) || !isWhole(without("added"), original);
  });
}"""

#: Whether a text begins with the letters of another.
BEGINS = """((text, whole) => {
  const letters = (text) => Array.from(new Intl.Segmenter("en").segment(text), ({ segment }) => segment);
  return letters(whole.slice(0, text.length + 99)).slice(0, letters(text).length).join("|") === letters(text).join("|");
})"""


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("languages")
    rows = [
        {
            "bucket_id": name,
            "role": role,
            "text": text,
            "context": texts[0],
            "label": 1,
            "prediction": int(role == "original"),
        }
        for name, texts in PAIRS.items()
        for role, text in zip(("original", "paraphrase"), texts, strict=False)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "model.parquet")
    context = chromium.new_context(viewport={"width": 1100, "height": 800})
    yield visit(context, write_page(folder, folder / "model.parquet", text_columns=["context", "text"]))
    assert context.problems == []
    context.close()


@pytest.mark.parametrize("language", PAIRS)
def test_a_pair_differs_by_words_and_runs_as_it_is_written(page, language):
    original, _, left_out, put_in, direction = PAIRS[language]
    bucket = page.locator(f'.bucket[aria-label="problem {language}"]')
    line = bucket.locator("tbody tr").nth(1).locator(".text p")
    assert line.locator("del").all_text_contents() == left_out
    assert line.locator("ins").all_text_contents() == put_in
    assert all(mark.is_visible() for mark in line.locator("del, ins").all())
    assert line.evaluate("(e) => getComputedStyle(e).direction") == direction
    shared = bucket.locator(".shared dd")
    assert shared.text_content() == original
    assert shared.get_attribute("dir") == "auto"


def test_no_letter_is_cut_wherever_texts_differ(page):
    texts = [text for pair in PAIRS.values() for text in pair[:2]] + [text for pair in UNSEEN for text in pair]
    texts += ["", "e\u0301", " \u0301a", "#\ufe0f\u20e3 1", "\r\n", "a \r\n b", "กำ", "\u0600123", "a\u200d b"]
    assert page.evaluate(CUT, texts) == []
    letters = ["e\u0301", "👩🏽\u200d🔬", "🇩🇪", "क्षि", "กำ", "图", "\u1112\u1161\u11ab", "1\ufe0f\u20e3"]
    long = ["".join(letters[i % n] for i in range(3 * MOST_LETTERS)) for n in range(1, len(letters) + 1)]
    cut = [text.removesuffix("…") for text in (*(excerpts([text])[0] for text in long), *excerpts(long))]
    whole = "([a, b]) => a.filter((text, i) => !isWhole(text, b[i]))".replace("isWhole", BEGINS)
    assert page.evaluate(whole, [cut, long * 2]) == []


@pytest.mark.parametrize(("pair", "name"), UNSEEN.items())
def test_what_cannot_be_seen_is_named_and_has_a_sign(page, pair, name):
    line = "(pair) => { const line = document.createElement('p'); words.show(line, ...pair); return line.outerHTML; }"
    assert page.evaluate("(pair) => words.unseen(...pair).join('; ')", pair) == name
    made = page.evaluate(line, pair)
    assert (f">{name}</bdi>" in made) == bool(name)
    if not (pair[0] + pair[1]).replace(" ", "").isascii() or "blank" in name:
        assert "<ins" in made or "<del" in made
