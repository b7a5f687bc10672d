"""Prompts: the papers' wording, examples drawn once, templates of users, answers read or left unread."""

import random
from dataclasses import replace

import pytest
from helpers.errors import refuses

from paraconsist.data.prompts import (
    Example,
    Prompt,
    PromptTemplate,
    default_template,
    draw_examples,
    get_template,
    parse_answer,
    template_from_mapping,
    templates,
)
from paraconsist.data.tasks import TASKS, get_task, input_id
from paraconsist.errors import InputError
from paraconsist.running.by_name import load_pools, make_prompt, read_template
from paraconsist.running.options import PromptOptions

NLI = get_task("nli")
DELTA = get_task("defeasible_nli")


def delta_pool(n: int, start: int = 0) -> list[Example]:
    return [
        Example({"premise": f"p {i}", "hypothesis": f"h {i}", "update": f"u {i}"}, DELTA.label_names[i % 2])
        for i in range(start, start + n)
    ]


def test_the_zero_shot_prompt_of_verma_et_al():
    """V23, appendix A.5: two lines, a blank one, the question, `Answer:`; yes or no behind a space."""
    template = templates()["v23-nli"]
    row = {"premise": "A dog ran.", "hypothesis": "An animal moved."}
    assert Prompt(template).text(NLI, row) == (
        "Premise: A dog ran.\nHypothesis: An animal moved.\n\nDoes the premise entail the hypothesis?\nAnswer:"
    )
    assert dict(zip(template.label_names, template.answers, strict=True)) == {
        "entailment": " yes",
        "not_entailment": " no",
    }


def test_a_few_shot_prompt_is_instruction_then_solved_examples_then_the_question():
    template = PromptTemplate(
        "t", "nli", "{premise} So {hypothesis}?", {"entailment": "yes", "neutral": "no"}, "Say yes or no.", "\n--\n"
    )
    prompt = Prompt(template, (Example({"premise": "A", "hypothesis": "B"}, "neutral"),))
    assert prompt.text(NLI, {"premise": "C", "hypothesis": "D"}) == "Say yes or no.\n--\nA So B? no\n--\nC So D?"
    assert prompt.messages(NLI, {"premise": "C", "hypothesis": "D"}) == [
        {"role": "system", "content": "Say yes or no."},
        {"role": "user", "content": "A So B?"},
        {"role": "assistant", "content": "no"},
        {"role": "user", "content": "C So D?"},
    ]


@pytest.mark.parametrize("name", ["s24-delta", "s24-alpha"])
def test_the_papers_delta_and_alpha_prompts_have_an_instruction_and_take_36_examples(name):
    template = templates()[name]
    task = get_task(template.task)
    row = {column: f"<{column}>" for column in task.columns}
    examples = tuple(Example({c: f"{c}{i}" for c in task.columns}, task.label_names[i % 2]) for i in range(36))
    text = Prompt(template, examples).text(task, row)
    assert text.startswith(template.instruction + "\n\n")
    assert text.count("Answer:") == 37
    assert text.endswith("Answer:")
    assert all(text.count(f"<{column}>") == 1 for column in task.columns)
    assert sum(text.count(f"Answer: {word}\n") for word in template.words) == 36


def test_braces_in_a_row_are_text():
    row = {"premise": "{hypothesis} {0} {", "hypothesis": "}"}
    assert "Premise: {hypothesis} {0} {\nHypothesis: }\n" in Prompt(templates()["v23-nli"]).text(NLI, row)


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda t: t.name)
def test_every_task_has_a_template_for_its_own_labels(task):
    template = default_template(task, task.label_names)
    assert template.label_names == task.label_names
    row = {column: f"<{column}>" for column in task.columns}
    assert all(template.ask(row).count(value) == 1 for value in row.values())


def test_two_labels_or_three_choose_the_template():
    assert default_template(NLI, ["entailed", "not_entailed"]).name == "v23-nli"
    assert default_template(NLI, ["entailment", "neutral", "contradiction"]).name == "nli-3"
    refuses("`template` must be given for a set with the labels a, b, c, d", default_template, NLI, "abcd")


def test_the_hash_changes_with_all_that_is_shown_and_nothing_else():
    base = Prompt(templates()["s24-delta"], tuple(delta_pool(2)))
    t = base.template
    changed = [
        Prompt(t, base.examples[::-1]),
        Prompt(t, base.examples[:1]),
        Prompt(t, (base.examples[0], replace(base.examples[1], label="weakener"))),
        Prompt(replace(t, instruction="Other."), base.examples),
        Prompt(replace(t, separator="\n"), base.examples),
        Prompt(replace(t, answer_prefix="\n"), base.examples),
        Prompt(replace(t, labels={"weakener": "S", "strengthener": "W"}), base.examples),
        Prompt(replace(t, question="{update} {premise} {hypothesis}"), base.examples),
    ]
    assert len({base.hash, *(prompt.hash for prompt in changed)}) == 1 + len(changed)
    assert Prompt(replace(t, name="n", source="s"), base.examples).hash == base.hash


def test_examples_are_even_over_pools_and_labels_and_do_not_hang_on_the_order_of_rows():
    pools = [delta_pool(40), delta_pool(40, 100), delta_pool(40, 200)]
    drawn = draw_examples(DELTA, pools, 36, seed=3)
    places = [int(example.values["update"][2:]) // 100 for example in drawn]
    assert [places.count(pool) for pool in range(3)] == [12, 12, 12]
    assert [sum(e.label == name for e in drawn) for name in DELTA.label_names] == [18, 18]
    shuffled = [random.Random(1).sample(pool, len(pool)) for pool in pools]
    assert draw_examples(DELTA, shuffled, 36, seed=3) == drawn
    assert draw_examples(DELTA, pools, 36, seed=4) != drawn
    assert len(draw_examples(DELTA, pools, 37, seed=3)) == 37


def test_rows_that_are_asked_are_no_examples():
    pool = delta_pool(6)
    asked = {input_id(DELTA, example.values) for example in pool[:2]}
    drawn = draw_examples(DELTA, [pool], 4, seed=0, exclude=asked)
    assert {example.values["update"] for example in drawn} == {"u 2", "u 3", "u 4", "u 5"}
    with pytest.raises(InputError, match=r"`examples` must have 3 rows labelled \w+ that are not asked themselves"):
        draw_examples(DELTA, [pool], 5, seed=0, exclude=asked)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" W", 0),
        ("S\n\nPremise: W", 1),
        ("\n\n  strong (S)", 1),
        ("w.", None),
        ("It's unclear.", None),
        ("Let’s think", None),
        ("The answer's S", 1),
        ("W's", None),
        ("<think>\nW? no\n</think>\n\nS", 1),
        ("<think>S or", None),
        ("W?\nRather not.\n</think>\n\nS", 1),  # the chat template wrote <think>
        ("W <think>S</think> S", 0),
        ("It is not W", None),
        ("Not a strengthener", None),
        ("It isn't a strengthener", None),
        ("No strengthener", None),
        ("non-strengthener", None),
        ("It is not W but S", 1),
        ('"S"', 1),
        ("**S** because", 1),
        ("W or S", None),
        ("S, not W", 1),
        ("neither W nor S", None),
        ("Weakener", 0),
        ("a strengthener.", 1),
        ("strengthener or weakener", None),
        ("", None),
        (" \n ", None),
    ],
)
def test_answers_are_read_or_left_unread(text, expected):
    assert parse_answer(text, ("W", "S"), ("weakener", "strengthener")) == expected


def test_a_letter_that_is_a_word_of_the_sentence_is_no_answer():
    assert [parse_answer(text, ("A", "B")) for text in ("A", "A.", "(A)", "A man walks", "I think B")] == [
        0,
        0,
        0,
        None,
        1,
    ]
    texts = ("A is better than B", "Option A is right", "A or B", "A and B", "A or other letters")
    assert [parse_answer(text, ("A", "B")) for text in texts] == [0, 0, None, None, 0]
    assert [parse_answer(text, ("same", "other"), ("no_change", "change")) for text in ("No change", "change")] == [
        0,
        1,
    ]


def test_of_a_cut_line_only_a_label_at_its_beginning_counts():
    texts = ("Yes, because", "The answer is no", "no", "The answer is no.\n")
    assert [parse_answer(text, ("no", "yes"), cut=True) for text in texts] == [1, None, 0, 0]


def test_the_longer_of_two_label_words_is_meant():
    assert parse_answer("Not entailed.", ("entailed", "not entailed")) == 1
    assert parse_answer("It is entailed.", ("entailed", "not entailed")) == 0
    assert parse_answer("It is not an entailment.", ("entailment", "not entailment")) is None
    assert [parse_answer(text, ("no", "yes")) for text in ("No.", "No yes", "I have no yes or no")] == [0, 0, None]
    assert [parse_answer(text, ("1", "2")) for text in ("1.", "1.5", "2.0 points")] == [0, None, 1]


@pytest.mark.parametrize("file_name", ["mine.yaml", "mine"])
def test_a_template_file_reads_yes_and_no_as_words(tmp_path, file_name):
    file = tmp_path / file_name
    file.write_text(
        "question: |\n  {premise}\n  {hypothesis}?\n\nlabels: {entailment: yes, not_entailment: no}\nseparator: '#'\n"
    )
    template = read_template(str(file), NLI, ["entailment", "not_entailment"])
    assert template.name == "mine"
    assert template.words == ("yes", "no")
    assert template.question == "{premise}\n{hypothesis}?"
    assert template.separator == "#"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": "{premise} {text}"}, r"`question` must name columns of task nli in braces.*got \['text'\]"),
        ({"question": "nothing"}, "`question` must name columns of task nli"),
        ({"question": "{premise!r}"}, "`question` must be text with plain"),
        ({"shots": "3"}, r"`template` must have no fields but .*; got \['shots'\]"),
        ({"labels": {"entailment": "yes", "not_entailment": "Yes"}}, "`labels` must give each label a different word"),
        ({"labels": {"entailment": "yes"}}, "`labels` must give a word for each of two or more labels"),
        ({"labels": ["yes", "no"]}, "`labels` must be a mapping"),
        ({"labels": {"entailment": True, "neutral": "no"}}, "`entailment` must be text; got True. Put it in quotes"),
        ({"task": "topic"}, "`task` must be for task nli, the task of the set; got 'topic'"),
    ],
)
def test_faulty_templates_are_refused(change, message):
    good = {"question": "{premise} {hypothesis}", "labels": {"entailment": "yes", "not_entailment": "no"}}
    refuses(message, template_from_mapping, {**good, **change}, name="mine", task=NLI)


def test_template_names_and_files_that_are_not_there():
    refuses(r"be a template for task nli \(v23-nli, nli-3\), or a YAML file", get_template, "s24-delta", NLI)
    with pytest.raises(InputError, match=r"`template` must name a text file that can be read; got 'absent.yaml'"):
        read_template("absent.yaml", NLI, NLI.label_names)
    with pytest.raises(InputError, match="`template` must be a mapping with `question` and `labels`; got 'text'"):
        template_from_mapping("text", name="mine")


def test_examples_of_a_file_need_texts_and_labels_only_and_meet_the_templates_labels_by_name(tmp_path):
    file = tmp_path / "solved.csv"
    lines = [f"the dog sleeps {i},it is late {i},{('entailed', 'not_entailed')[i % 2]}" for i in range(8)]
    file.write_text("premise,hypothesis,label\n" + "\n".join(lines) + "\n")
    options = PromptOptions(shots=4, examples=[str(file)])
    prompt = make_prompt(options, load_pools(options), NLI, ["entailment", "not_entailment"], ())
    assert sorted(e.label for e in prompt.examples) == ["entailment"] * 2 + ["not_entailment"] * 2
    for example in prompt.examples:
        expected = ("entailment", "not_entailment")[int(example.values["premise"][-1]) % 2]
        assert example.label == expected


def test_shots_without_examples_and_examples_without_shots():
    refuses("`examples` must name the source of 3 examples", PromptOptions, shots=3)
    refuses("`shots` must be given where `examples` are", PromptOptions, examples=["a"])
    assert PromptOptions(shots=0, examples="a.jsonl").examples == ("a.jsonl",)  # none, in a sweep over shots


def test_examples_of_another_task_are_refused(tmp_path):
    file = tmp_path / "solved.csv"
    file.write_text("sentence_1,sentence_2,label\na,b,0\nc,d,1\n")
    options = PromptOptions(shots=1, examples=[str(file)])
    with pytest.raises(InputError, match="`examples` must be of task nli, as the sets are; got 'paraphrase_iden"):
        make_prompt(options, load_pools(options), NLI, NLI.label_names, ())


def test_a_template_that_ends_answers_is_another_one_and_the_others_are_what_they_were():
    template = templates()["s24-delta"]
    assert Prompt(template).hash == "6b630570f54cd129"  # as before there was `stop`
    assert Prompt(replace(template, stop="\n")).hash != Prompt(template).hash
    ended = (each.read("W\nS").raw_output for each in (template, replace(template, stop="\n")))
    assert (*ended,) == ("W\nS", "W")
