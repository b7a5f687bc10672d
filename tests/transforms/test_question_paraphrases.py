"""What a rewording of a question keeps, and questions written as YAML."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.data.bucket_sets import bucket_set_from_table, load_bucket_set
from paraconsist.data.prompts import by_bucket, write_questions
from paraconsist.data.tables import table_of_rows
from paraconsist.transforms.paraphrase import generators
from paraconsist.transforms.paraphrase.kept import language_of, lost, names
from paraconsist.transforms.paraphrase.sets import make_paraphrases

KEPT = [
    "30",
    "2.5",
    "`f(x, 1)`",
    "https://a.example/b?c=1",
    "ada@example.org",
    "{name}",
    "{{ user }}",
    '"red shoes"',
    "%s",
]
words = st.sampled_from("which what how long until shoe parcel arrives sent back when".split())  # noqa: SIM905
texts = st.lists(words | st.sampled_from(KEPT), min_size=3, max_size=9).map(" ".join)


def tokens(text: str) -> list[str]:
    """Return the kept tokens of a text of `texts`, found in another way than the package does."""
    return sorted(re.findall("|".join(rf"(?<!\S){re.escape(each)}(?!\S)" for each in KEPT), text))


@examples(60)
@given(st.lists(st.tuples(texts, st.lists(texts, max_size=4)), min_size=1, max_size=3), st.randoms())
def test_no_kept_token_is_ever_lost_in_what_is_written(questions, random):
    written = dict(questions)
    for text, candidates in written.items():  # some with the same tokens, in another order
        candidates.extend(" ".join(random.sample(text.split(), len(text.split()))) for _ in range(3))
        candidates.append(f"please say {text}")
    rows = [{"question": text, "bucket_id": f"q{i}"} for i, text in enumerate(written)]
    data = bucket_set_from_table(table_of_rows(rows), name="q", task="questions")
    settings, options = generators.PRESETS["questions"], generators.ParaphraseOptions()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(generators, "load_generator", lambda *_, **__: lambda texts: [written[text] for text in texts])
        made = make_paraphrases(data, settings, options, answers=Path(folder))
        if not made.generated.rows():
            return
        made.write(Path(folder) / "set.yaml", Path(folder) / "sheet.csv")
        found = load_bucket_set(Path(folder) / "set.yaml").table.to_pylist()
    original = {row["bucket_id"]: row["question"] for row in found if row["role"] == "original"}
    assert list(original.values()) == [text for text in written if text in {row["question"] for row in found}]
    for row in found:
        assert tokens(row["question"]) == tokens(original[row["bucket_id"]])


@pytest.mark.parametrize(("original", "candidate", "said"), [
    ("Is it 1,500.50 €?", "Does it come to 1,500.50 €?", []),
    ("Is it 1,500.50 €?", "Does it come to 1500.50 €?", ["1,500.50", "1500.50"]),
    ("Who said «rien»?", 'By whom was "rien" said?', []),
    ("Who said «rien»?", 'By whom was "tout" said?', ['"rien"', '"tout"']),
    ("Run\n```\nx = 1\n```\nWhat is x?", "What is x after x = 1?", ["```\nx = 1\n```", "1"]),
    ("Is Oslo north of Rome?", "Does Oslo lie further north than Rome?", []),
    ("Does NASA pay Ada?", "Is ADA paid by NASA?", ["Ada"]),
    ("Is it -5 or 5?", "Is it 5 or 5?", ["-5", "5"]),
])  # fmt: skip
def test_what_a_candidate_lost(original, candidate, said):
    assert lost(candidate, original, "en") == said


def test_names_are_told_by_capitals_also_among_german_nouns():
    assert names("Wie lange fährt Frau Berg mit Ihrem Auto nach Wien?", "de") == ["Berg", "Wien"]
    assert names("HOW LONG IS IT?") == []
    assert names("Since when is iPhone sold by Dr. Ada in Rio de Janeiro?") == ["iPhone", "Dr", "Ada", "Rio", "Janeiro"]


texts_of_any_kind = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1).filter(str.strip)


@examples(60)
@given(
    st.lists(st.lists(texts_of_any_kind, min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.sampled_from(["30", "[1]", "yes", "on", "null", "1e3"]), max_size=2),
    st.sampled_from(["", "a context: with colon", "# none"]),
    st.lists(st.sampled_from(["a", "no"]), max_size=2),
)
def test_questions_written_as_yaml_are_read_back(questions, expected, context, choices):
    shared = {"expected": expected, "context": context, "choices": choices}
    rows = [
        {"question": text, "bucket_id": f"q{i}", "role": "paraphrase" if place else "original", **shared}
        for i, wordings in enumerate(questions)
        for place, text in enumerate(wordings)
    ]
    before = bucket_set_from_table(table_of_rows(rows), name="q", task="questions").table.to_pylist()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "q.yaml"
        write_questions(before, {"same": "text"}, file)
        after = load_bucket_set(file)
    assert after.comparers == {"same": "text"}
    columns = ("question", "bucket_id", "role", "label", "context", "choices", "input_id")
    shown = [[{name: row[name] for name in columns} for row in rows] for rows in (before, after.table.to_pylist())]
    assert shown[0] == shown[1]
    ids = [[row["example_id"] for group in by_bucket(rows).values() for row in group] for rows in shown]
    assert ids[0] == ids[1]


def test_the_language_of_a_text_is_told_where_it_is_long_enough():
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    assert language_of("Kann man in der Stadt Wien am Sonntag mit dem Auto parken?") == "de"
    assert language_of("Can a man park here on a Sunday, near the big house?") == "en"
    assert [language_of(text) for text in ("Oui", "42", "")] == [None] * 3
