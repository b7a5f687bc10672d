"""Kinds of rewording: what each changes, that nothing else changes, and that the answer key moves with the options."""

import re
from random import Random

import pytest

from paraconsist.errors import InputError
from paraconsist.transforms.reworded_tasks import RewordOptions, wordings
from paraconsist.transforms.rewording import KINDS, WRITTEN, Prompt, common_descriptors, listing, reworded

N = 10_000
QUESTION = "A man is carrying a big lamp near 3 boats. What isn't on it?"
OPTIONS = ("3 cats", "the dog", "a fish", "no one")
PROMPT = Prompt(
    f"Question: {QUESTION}\n"
    + "\n".join(f"{a}. {text}" for a, text in zip("ABCD", OPTIONS, strict=True))
    + "\nAnswer:",
    ("A", "B", "C", "D"),
    2,
    (QUESTION,),
    {"Question": 1, "Answer": 1},
)


def changed(kind, variant=0, prompt=PROMPT, key="0"):
    return reworded(prompt, kind, variant, key)


@pytest.mark.parametrize(
    ("kind", "variant", "before", "after"),
    [
        ("instruction", 0, "Question:", "Please answer the question below.\nQuestion:"),
        ("case", 0, "Answer:", "ANSWER:"),
        ("case", 1, "Question:", "question:"),
        ("separator", 0, "Answer:", "Answer::"),
        ("separator", 1, "\nAnswer:", "\n\nAnswer:"),
        ("option_labels", 0, "C. a fish", "3. a fish"),
        ("option_labels", 1, "C. a fish", "c. a fish"),
        ("contraction", 0, "isn't", "is not"),
        ("phrase", 0, "A man", "A guy"),
        ("phrase", 1, "big", "large"),
        ("structure", 0, "A man is carrying", "There is a man carrying"),
    ],
)
def test_what_a_kind_changes(kind, variant, before, after):
    new = changed(kind, variant)
    assert before in PROMPT.text
    assert after in new.text
    assert new.options == (("1", "2", "3", "4"), ("a", "b", "c", "d"))[variant] if "labels" in kind else PROMPT.options
    assert new.answer == PROMPT.answer


def shown(text):
    """Return the options of a prompt by their labels, read without the code under test."""
    return dict(re.findall(r"^\(?([A-Z1-9a-z])[.)] (.+)$", text, re.MULTILINE))


@pytest.mark.parametrize("form", ["labels", "texts", "written label", "written text"])
def test_the_answer_key_moves_with_the_options(form):
    """10,000 orders in all: the option that the key names has the right text, whatever the key is."""
    places = set()
    for number in range(N // 4):
        place = number % 4
        options = {"labels": PROMPT.options, "texts": OPTIONS}.get(form, ())
        answer = {"written label": f"({'ABCD'[place]})", "written text": OPTIONS[place]}.get(form, place)
        new = reworded(Prompt(PROMPT.text, options, answer), "option_order", 0, str(number))
        by_label = shown(new.text)
        assert sorted(by_label.values()) == sorted(OPTIONS)
        assert by_label != shown(PROMPT.text)
        if form == "written label":
            assert by_label[new.answer.strip("()")] == OPTIONS[place]
        elif form == "written text":
            assert new.answer == OPTIONS[place]
        else:
            label = "ABCD"[new.answer]
            assert by_label[label] == OPTIONS[place]
            assert new.options[new.answer] == (label if form == "labels" else OPTIONS[place])
            places.add((place, new.answer))
    assert len(places) in (0, 16)


@pytest.mark.parametrize("form", ["letters", "texts"])
def test_the_key_moves_where_the_harness_lists_the_options(form):
    """10,000 orders in all, with one right option or, by text, two."""
    seen = set()
    for number in range(N // 2):
        right = [OPTIONS[number % 4], *([OPTIONS[(number + 1) % 4]] if form == "texts" and number % 3 else [])]
        answer = ["ABCD"[OPTIONS.index(text)] for text in right] if form == "letters" else right
        prompt = Prompt(QUESTION, OPTIONS, answer, is_unlisted=True)
        new = reworded(prompt, "option_order", 0, str(number))
        assert (new.text, sorted(new.options)) == (QUESTION, sorted(OPTIONS))
        assert new.options != OPTIONS
        by_letter = dict(zip("ABCD", new.options, strict=True))
        assert [by_letter[each] if form == "letters" else each for each in new.answer] == right
        seen.add(new.options)
    assert len(seen) == 23


def test_options_code_numbers_and_formulas_survive():
    """10,000 prompts of parts that must stay, in every kind; the property is checked on the parts, not by the rules."""
    rng = Random(4)
    nouns = ["man", "woman", "boat", "lamp", "dog", "street", "house", "car", "bike", "child"]
    seen = set()
    for number in range(N):
        a, b, c = rng.sample(nouns, 3)
        formula, code = f"$x_{number} = {rng.randrange(99)}$", f"`f({a}, {number})`"
        texts = [f"the {noun} and {rng.randrange(9)} {rng.choice(['big', 'small'])} {c}s" for noun in nouns[:4]]
        question = (
            f"A {a} is riding a big {b} near {number} houses. It isn't old. We know that {formula} holds. "
            f"The call is {code}. What is the {a} doing?"
        )
        lines = "\n".join(f"({label}) {text}" for label, text in zip("ABCD", texts, strict=True))
        prompt = Prompt(f"Q: {question}\n{lines}\nA:", tuple("ABCD"), number % 4, (question,), {"Q": 1, "A": 1})
        kind = list(KINDS.values())[number % len(KINDS)]
        variant = number // len(KINDS) % max(1, len(kind.variants))
        new = reworded(prompt, kind.name, variant, str(number)) if kind.variants else None
        if new is None:
            continue
        seen.add(kind.name)
        assert new.text != prompt.text
        for part in (formula, code, f" {number} houses"):
            assert new.text.count(part) == 1
        by_label = shown(new.text)
        assert sorted(by_label.values()) == sorted(texts)
        assert by_label[new.options[new.answer]] == texts[number % 4]
    assert seen >= {kind.name for kind in KINDS.values() if kind.variants} - {"wordnet", WRITTEN}


@pytest.mark.parametrize(
    ("prompt", "kinds"),
    [
        (Prompt("Question: Why?\nAnswer:", ("it is", "it was"), 0), ("option_order", "option_labels")),
        (Prompt("Why?\nA. yes\nB. all of the above", ("A", "B"), 0), ("option_order",)),
        (Prompt("Why? Answer with A or B.\nA. yes\nB. no", ("A", "B"), 0), ("option_order", "option_labels")),
        (Prompt("Why?\nA. yes\nB. no", (), ["A", "(A)"]), ("option_order", "option_labels")),
        (Prompt("Why?\nA. yes\nB. no", ("A", "B"), None), ("option_order", "option_labels")),
        (Prompt("Why?", ("yes", "all of the above"), ["A"], is_unlisted=True), ("option_order", "option_labels")),
        (Prompt("Is it A or B?", ("yes", "no"), ["A"], is_unlisted=True), ("option_order", "option_labels")),
        (Prompt("Why?\nA. yes\nB. no", ("yes", "no"), ["A"], is_unlisted=True), ("option_order",)),
        (Prompt("Why?", ("yes", "no", "perhaps"), ["A", "B"], is_unlisted=True), ("option_order", "option_labels")),
        (Prompt("Why?", ("yes", "yes", "no"), ["A"], is_unlisted=True), ("option_order", "option_labels")),
        (Prompt("Why?", ("yes", "no"), ["perhaps"], is_unlisted=True), ("option_order", "option_labels")),
        (Prompt("Why?", tuple(map(str, range(27))), ["A"], is_unlisted=True), ("option_order", "option_labels")),
        (Prompt("x = big(man, 2)", words=("x = big(man, 2)",)), ("phrase", "structure")),
        (Prompt("Why\nAnswer: because"), ("case", "separator")),
        (Prompt("How many?\nA. 4\nB. 2", ("A", "B"), 0), ("option_labels",)),  # is the answer 2 the number or B?
        (Prompt("How many?\nA. one.\nB. five", ("A", "B"), 0), ("option_labels",)),
        (Prompt("Which?\nA. red\nB. old\nC. neither A nor B", ("A", "B", "C"), 0), ("option_labels",)),
        (Prompt("Which?\nA. red\nB. old\nC. A and B", ("A", "B", "C"), 0), ("option_labels",)),
        (Prompt("Give the letter of the answer.\nA. yes\nB. no", ("A", "B"), 0), ("option_labels",)),
    ],
)
def test_what_a_kind_leaves_alone(prompt, kinds):
    """Options that name others, labels named elsewhere, written labels, several keys, code, a question's own colon."""
    assert [changed(kind, 0, prompt) for kind in kinds] == [None] * len(kinds)


def test_an_accepted_answer_in_the_question_stays():
    prompt = Prompt("A man is big.", words=("A man is big.",), answer="man")
    assert changed("phrase", 0, prompt).text == "A man is large."


def test_a_list_of_statements_before_the_options():
    text = "Which hold?\n1. Big.\n2. Red.\n3. Old.\nA. yes\nB. no"
    assert [line[4] for line in listing(text)] == ["yes", "no"]
    assert [line[2] for line in listing(text, 2)] == ["A", "B"]
    assert listing(text, 3) == []
    assert listing("A. alone\nC. third") == []
    assert [line[4] for line in listing("A. yes\nB. no\n\nA. Turing asked this.")] == ["yes", "no"]


def test_labels_that_are_no_option():
    """Lower-case letters serve where numbers do not, and the other way round."""
    for texts, variants in ((("4", "2"), (1,)), (("five", "six"), (1,)), (("b", "c"), (0,)), (("40", "x2"), (0, 1))):
        prompt = Prompt(
            "Which?\n" + "\n".join(f"{a}. {text}" for a, text in zip("AB", texts, strict=True)), ("A", "B"), 0
        )
        assert tuple(v for v in (0, 1) if changed("option_labels", v, prompt)) == variants


@pytest.mark.parametrize(("labels", "others"), [("12", ["a.", "A."]), ("ab", ["1.", "A."]), ("AB", ["1.", "a."])])
def test_labels_are_changed_to_both_others(labels, others):
    prompt = Prompt(f"Which?\n{labels[0]}. red\n{labels[1]}. old", (*labels,), 0)
    assert [changed("option_labels", variant, prompt).text.split()[1] for variant in (0, 1)] == others


def test_an_instruction_names_a_question_only_where_one_follows():
    """Not before a sentence to be continued, nor where the template brings questions that are answered already."""
    completed = Prompt("Q: Is it red?\nA: Yes.\n\nQ: Is it old?\nA:", descriptors={"Q": 2, "A": 2})
    for prompt in (Prompt("The man sat down because"), completed):
        for variant in range(3):
            said = changed("instruction", variant, prompt).text.partition("\n")[0]
            assert not re.search("question|answer", said)


def test_descriptors_are_those_of_the_template():
    assert common_descriptors(["Q: b\nA:"]) == {}  # of one text it cannot be told
    texts = ["Note: a\nQ: b\nA:", "Q: c\nA: d\nA:"]
    assert common_descriptors(texts) == {"Q": 1, "A": 1}
    assert common_descriptors(texts, ["Q:"]) == {"A": 1}
    prompt = Prompt(texts[1], descriptors={"Q": 1, "A": 1})
    assert changed("case", 1, prompt).text == "q: c\nA: d\nA:"  # the question has an A: of its own


def test_the_catalogue():
    assert [kind.name for kind in RewordOptions().chosen()] == [n for n in KINDS if n not in ("wordnet", WRITTEN)]
    assert [kind.name for kind in RewordOptions("wordnet, case").chosen()] == ["case", "wordnet"]
    with pytest.raises(InputError, match="Did you mean option_order"):
        RewordOptions("option_ordr").chosen()
    for kind in KINDS.values():
        assert all((kind.title, kind.keeps, kind.tasks, kind.source))
        assert len(kind.variants) in (0, 2, 3)


def test_the_command_lists_the_catalogue(command):
    lines = command.out("list", "--kinds").splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == [*KINDS]
    assert "valid variants: 87 of 230" in command.out("list", "--kinds", "wordnet")
    assert "in the name of a kind" in command.refused("list", "--kinds", "nothing")


def test_a_question_of_another_language_is_not_reworded_by_rules_of_english():
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    texts = ["Can a man park here on a Sunday, near the big house?"] * 3
    texts.append("Kann man in der Stadt Wien am Sonntag mit dem Auto parken?")
    prompts = [Prompt(text, words=(text,)) for text in texts]
    rows = [*wordings(prompts, RewordOptions("phrase,contraction,structure"), (), 0)]
    assert {row["question"] for row in rows if row["kind"] == "phrase"} == {0, 1, 2}


@pytest.mark.real_data
def test_the_measured_share_of_valid_variants(data_folder):
    """Recomputed: what a person judged of WordNet's synonyms, where the variation differs from the query."""
    import pyarrow.parquet as pq

    rows = pq.read_table(data_folder / "validity" / "query_variations.parquet").to_pylist()
    judged = [r for r in rows if r["method"] == "WordSwapWordNet" and r["annotator"] and r["variation"] != r["query"]]
    assert KINDS["wordnet"].valid == (sum(row["valid"] for row in judged), len(judged))
