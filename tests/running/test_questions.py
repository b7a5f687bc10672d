"""Questions of the user's own: files, functions, endpoints and models on this machine, from rows to numbers."""

import asyncio
import csv
import json
import os
import signal
from contextlib import closing

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers import endpoint
from helpers.commands import command, done, refused, write
from helpers.errors import refuses
from helpers.faulty_server import FaultyServer
from helpers.language_models import save_language_model

import paraconsist as pc
from paraconsist.data.prompts import QuestionPrompt
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import InputError

YAML = """\
same: number
system: You work in a shoe shop.
questions:
  - id: days
    wordings:
      - How many days do I have to return a shoe?
      - Within how many days can shoes be sent back?
      - What is the deadline for a return, in days?
    expected: 30
  - id: fee
    wordings:
      - What does shipping cost?
      - How much is the delivery fee?
    expected: [5, "4.99"]
"""
ANSWERS = {
    "How many days do I have to return a shoe?": "You have thirty days.",
    "Within how many days can shoes be sent back?": "30",
    "What is the deadline for a return, in days?": "14 days",
    "What does shipping cost?": "It is 4.99.",
    "How much is the delivery fee?": "5 euro",
}
#: Of three pairs of wordings of `days` one has one answer; those of `fee` differ, and both are accepted: one answer.
WORDING_CHANGE, RIGHT, DEPENDS = (2 / 3 + 0) / 2, 1, 1
WITHOUT_GOLD = (2 / 3 + 1) / 2


def app(prompts):
    return [ANSWERS[prompt if isinstance(prompt, str) else prompt[-1]["content"]] for prompt in prompts]


def rows():
    wordings = list(ANSWERS)
    asked = [("days", ["30"])] * 3 + [("fee", ["5", "4.99"])] * 2
    return [
        {"bucket_id": bucket, "question": wording, "expected": expected, "system": "You work in a shoe shop."}
        for wording, (bucket, expected) in zip(wordings, asked, strict=True)
    ]


@pytest.fixture
def file(tmp_path):
    (tmp_path / "shop.yaml").write_text(YAML)
    return str(tmp_path / "shop.yaml")


def checked(scores):
    (values,) = scores.to_dict().values()
    wording = values["wording"]
    assert wording["wording_change"] == pytest.approx(WORDING_CHANGE, abs=1e-12)
    assert (wording["n_right"], wording["n_depends"], wording["n_wrong"]) == (RIGHT, DEPENDS, 0)
    assert values["measures"]["paraphrastic_consistency"]["accuracy"] == pytest.approx(0.8, abs=1e-12)
    return values


def test_a_function_answers_a_file(file, tmp_path):
    seen = []
    values = checked(pc.run(lambda p: seen.extend(p) or app(p), file, output=tmp_path / "run", version="1").score())
    assert (values["task"], values["same"], values["set"]) == ("questions", "number", "shop")
    assert seen[0] == [
        {"role": "system", "content": "You work in a shoe shop."},
        {"role": "user", "content": "How many days do I have to return a shoe?"},
    ]
    table = pq.read_table(tmp_path / "run" / "predictions" / "shop.parquet").to_pylist()
    assert [row["raw_output"] for row in table] == list(ANSWERS.values())


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "frame", "prompt", "messages"])
def test_every_kind_of_source_gives_the_same_number(ending, tmp_path):
    listed = rows()
    if ending == "csv":
        with (tmp_path / "shop.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, listed[0])
            writer.writeheader()
            writer.writerows({**row, "expected": json.dumps(row["expected"])} for row in listed)
    elif ending == "jsonl":
        (tmp_path / "shop.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listed))
    elif ending in ("prompt", "messages"):
        key = {"prompt": lambda text: text, "messages": lambda text: [{"role": "user", "content": text}]}[ending]
        listed = [
            {"bucket_id": row["bucket_id"], ending: key(row["question"]), "expected": row["expected"]} for row in listed
        ]
        (tmp_path / "shop.jsonl").write_text("".join(json.dumps(row) + "\n" for row in listed))
    frame = pd.DataFrame(listed)
    if ending == "parquet":
        frame.to_parquet(tmp_path / "shop.parquet")
    files = list(tmp_path.iterdir())
    source = str(files[0]) if files else frame
    checked(pc.run(app, source, output=tmp_path / "run").score(same="number"))


def test_a_run_is_told_when_answers_are_the_same(tmp_path):
    """A table has no place for it, yet the run's own numbers, and `until`, need it; it precedes what a file says."""
    told = {"same": "number", "output": tmp_path / "run", "version": "1"}
    table = pd.DataFrame(rows())
    checked(pc.run(app, table, **{**told, "output": tmp_path / "until"}, until="wording_change ± 0.03").score())
    (tmp_path / "shop.yaml").write_text(YAML.replace("same: number", "same: exact\nright: exact"))
    checked(pc.run(app, tmp_path / "shop.yaml", **told, right="number").score())
    table.to_json(tmp_path / "shop.jsonl", orient="records", lines=True)
    with FaultyServer(write=lambda text, body: ANSWERS.get(body["messages"][-1]["content"], "Hm.")) as server:
        options = ["--model", server.model, "--endpoint", server.url, "--output", tmp_path / "asked"]
        done("run", *options, "--dataset", tmp_path / "shop.jsonl", "--same", "number")
    checked(pc.score(tmp_path / "asked"))
    refuses("`same` must be given with questions", pc.run, lambda p: ["W"] * len(p), "sample:defeasible_nli", **told)
    refuses("Did you mean 'number'", pc.run, app, rows(), **{**told, "same": "nummer"})


def test_the_comparer_is_named_where_the_questions_are_asked(file, tmp_path, command):
    checked(pc.run(app, pd.DataFrame(rows()), output=tmp_path / "run", same="number").score())
    checked(pc.run(app, file, output=tmp_path / "exact", same="exact", right="number").score(same="number"))
    given = ["run", "--model", "x", "--dataset", "sample:defeasible_nli", "--output", tmp_path / "labels"]
    assert "`--same`" in command.refused(*given, "--same", "text")


def test_without_accepted_answers_nothing_needs_them(file, tmp_path):
    table = pd.DataFrame(rows()).drop(columns="expected")
    (values,) = pc.run(app, table, output=tmp_path / "run").score(same="number").to_dict().values()
    assert values["wording"]["wording_change"] == pytest.approx(WITHOUT_GOLD, abs=1e-12)
    assert "n_right" not in values["wording"] or values["wording"]["n_right"] is None
    assert "paraphrastic_consistency" not in values["measures"]


def test_the_command_line_asks_an_endpoint_and_goes_on(file, tmp_path):
    with FaultyServer(write=lambda text, body: ANSWERS.get(body["messages"][-1]["content"], "Hm.")) as server:
        options = ["--model", server.model, "--endpoint", server.url, "--dataset", file, "--output", tmp_path / "run"]
        done("run", *options)
        n = len(server.received)
        done("run", *options)
        assert len(server.received) == n
        bodies = [received.body for received in server.received if "messages" in received.body]
    assert {body["messages"][0]["content"] for body in bodies[-len(ANSWERS) :]} == {"You work in a shoe shop."}
    assert {body.get("max_tokens", body.get("max_completion_tokens")) for body in bodies} >= {256}
    checked(pc.score(tmp_path / "run"))
    (values,) = command.json("score", tmp_path / "run").values()
    assert values["wording"]["wording_change"] == pytest.approx(WORDING_CHANGE, abs=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX: elsewhere SIGINT ends the process")
def test_an_interrupt_in_a_notebook_sends_nothing_more(tmp_path):
    """A notebook's loop is running, so a thread asks, and it went on to the last question."""
    rows = [{"bucket_id": str(i // 2), "question": f"Wording {i}?"} for i in range(40)]

    def interrupts(number, tag):
        if number == 5:
            os.kill(os.getpid(), signal.SIGINT)

    async def cell():
        return pc.run(server.url, rows, output=tmp_path, concurrency=2)

    loop = asyncio.new_event_loop()
    with FaultyServer(write=lambda text, body: text, script=interrupts, delay=0.02) as server, closing(loop):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of pytest-xdist ignores it
        try:
            with pytest.raises(KeyboardInterrupt):
                loop.run_until_complete(cell())
        finally:
            signal.signal(signal.SIGINT, before)
        assert len(server.received) < 12
        loop.run_until_complete(cell())
        assert len(server.sent()) == len(set(server.sent())) == 40


def test_an_address_is_a_model(file, tmp_path):
    """Its limit is the one of labels' answers: it was taken for none given, and was 256."""
    with FaultyServer(write=lambda text, body: ANSWERS.get(body["messages"][-1]["content"], "Hm.")) as server:
        checked(pc.run(server.url, file, output=tmp_path / "run", max_new_tokens=8).score())
        assert {body[key] for body in (r.body for r in server.received) for key in body if "_tokens" in key} == {8}
        with pytest.raises(InputError) as problem:
            pc.run(server.url, file, output=tmp_path / "other", name="absent")
    assert problem.value.parameter == "model"


def test_the_worst_buckets_are_named_with_their_answers(file, tmp_path):
    pc.run(app, file, output=tmp_path / "run", version="1")
    shown = command.out("score", tmp_path / "run", "--worst", 2)
    assert "days (2 of 3 right: '30' ×2, '14 days' ×1)" in shown
    code, shown, _ = command("gate", "wording_change <= 10%", tmp_path / "run")
    assert (code, "14 days" in shown) == (1, True)


def test_requests_are_chats(file, tmp_path):
    done("export-requests", "--model", "m", "--dataset", file, "--output", tmp_path / "requests")
    (batch,) = (tmp_path / "requests").glob("**/*.jsonl")
    lines = [json.loads(line) for line in batch.read_text().splitlines()]
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert [line["body"]["messages"][-1]["content"] for line in lines] == list(ANSWERS)


@pytest.mark.filterwarnings("ignore:.* a higher `max_new_tokens`")  # a model of random weights never ends
def test_a_model_on_this_machine_writes_answers(file, tmp_path):
    save_language_model(tmp_path / "model", "llama", chat=True)
    options = ["--model", tmp_path / "model", "--dataset", file, "--output", tmp_path / "run", "--device", "cpu"]
    done("run", *options, "--max-new-tokens", 4)
    assert pq.read_table(tmp_path / "run" / "predictions" / "shop.parquet")["prediction"].null_count == 0


def test_choices_and_context_are_shown():
    row = {"system": "", "context": "A shop.", "question": "Which?", "choices": '["red", "blue"]', "messages": ""}
    assert QuestionPrompt().text(QUESTIONS, row) == "A shop.\n\nWhich?\n\nA. red\nB. blue"


@pytest.mark.parametrize(("text", "parameter"), [
    ("questions: []", "dataset"), ("- 5", "dataset"), ("- {wording: a}", "dataset"), ("- {question: [a]}", "question"),
    ("- {messages: [{role: user}]}", "messages"), ("- {question: ' '}", "question")
])  # fmt: skip
def test_what_is_no_question_is_refused_with_its_place(text, parameter, tmp_path):
    (tmp_path / "q.yaml").write_text(text)
    with pytest.raises(InputError) as problem:
        pc.load_bucket_set(str(tmp_path / "q.yaml"))
    assert problem.value.parameter == parameter


def test_promptfoos_tests_are_questions(tmp_path):
    (tmp_path / "promptfoo.yaml").write_text(
        "tests:\n"
        "  - {vars: {question: 'One?', bucket_id: a}, assert: [{type: equals, value: '1'}]}\n"
        "  - {vars: {question: 'One now?'}, metadata: {bucket_id: a}, assert: [{type: icontains, value: '1'}]}\n"
    )
    table = pc.load_bucket_set(str(tmp_path / "promptfoo.yaml")).table.to_pylist()
    assert [(row["bucket_id"], row["question"], row["label"]) for row in table] == [
        ("a", "One?", ["1"]),
        ("a", "One now?", ["1"]),
    ]


@pytest.mark.faults
def test_promptfoos_prompts_are_the_wordings_of_its_tests(tmp_path):
    """Of a test with one variable that was asked, and of the prompts nothing: "France"."""
    (tmp_path / "capitals.yaml").write_text(
        "prompts: ['What is the capital of {{country}}?', \"Name {{ country }}'s capital.\"]\n"
        "providers: [x]\n"
        "tests:\n"
        "  - {vars: {country: France, system: Be brief.}, assert: [{type: equals, value: Paris}]}\n"
        "  - {vars: {country: '{{x}}'}, metadata: {bucket_id: x}, assert: [x, {type: icontains-any, value: [a, b]}]}\n"
    )
    table = pc.load_bucket_set(str(tmp_path / "capitals.yaml")).table.to_pylist()
    assert [(row["bucket_id"], row["question"], row["system"], row["label"]) for row in table] == [
        ("capitals-1", "What is the capital of France?", "Be brief.", ["Paris"]),
        ("capitals-1", "Name France's capital.", "Be brief.", ["Paris"]),
        ("x", "What is the capital of {{x}}?", "", ["a", "b"]),
        ("x", "Name {{x}}'s capital.", "", ["a", "b"]),
    ]


def test_promptfoos_accepted_answers_are_filled_in_and_listed_as_it_lists_them(tmp_path):
    """'{{capital}}' was the accepted answer, as it stands, and 'Paris, Lutetia' was one."""
    (tmp_path / "p.yaml").write_text(
        "prompts: ['Capital of {{country}}?']\ntests:\n"
        "  - {vars: {country: France, capital: Paris}, assert: [{type: equals, value: '{{capital}}'}]}\n"
        "  - {vars: {country: France}, assert: [{type: contains-any, value: 'Paris, Lutetia'}]}\n"
    )
    table = pc.load_bucket_set(str(tmp_path / "p.yaml")).table.to_pylist()
    assert [(row["question"], row["label"]) for row in table] == [
        ("Capital of France?", ["Paris"]),
        ("Capital of France?", ["Paris", "Lutetia"]),
    ]


@pytest.mark.parametrize(
    ("prompts", "words"),
    [
        ("[prompts.txt]", "have prompts with"),
        ("['{{country | upper}}?']", "have prompts with"),
        ("[{id: a}]", "have prompts with"),
        ("['{{city}}?']", "have vars for what its prompts name, each a text or a number; got 'city' at row 0"),
        ("['{{none}}?', '{{two}}?']", "got 'none, two' at row 0"),  # None? and ['a', 'b']? were asked
        ("['{{country}} {{a.b}}?']", "have prompts with"),  # was asked as it stands
        ("['{% if country %}{{country}}?{% endif %}']", "have prompts with"),
    ],
)
def test_prompts_that_cannot_be_filled_in_are_refused(prompts, words, tmp_path):
    tests = "[vars: {country: France, none: null, two: [a, b]}]"
    (tmp_path / "p.yaml").write_text(f"prompts: {prompts}\ntests: {tests}\n")
    refuses(words, pc.load_bucket_set, str(tmp_path / "p.yaml"))


def test_a_function_that_returns_no_texts_is_refused(file, tmp_path):
    refuses("texts", pc.run, lambda prompts: [1 for _ in prompts], file, output=tmp_path / "run", version="1")


@pytest.mark.filterwarnings("ignore:.* a higher `max_new_tokens`")  # a model of random weights never ends
def test_repeats_are_compared_with_the_run(file, tmp_path):
    """Of a written answer and a repeat of it only what the comparer holds for another answer is a flip."""
    save_language_model(tmp_path / "model", "llama", chat=True)
    options = ["--model", tmp_path / "model", "--dataset", file, "--output", tmp_path / "run", "--device", "cpu"]
    drawn = ["--temperature", 1, "--repeats", 1, "--noise-share", 1, "--max-new-tokens", 3]
    done("run", *options, *drawn)
    noise = pq.read_table(tmp_path / "run" / "noise" / "shop.parquet").to_pylist()
    main = {
        row["example_id"]: row for row in pq.read_table(tmp_path / "run" / "predictions" / "shop.parquet").to_pylist()
    }
    pairs = [(main[row["example_id"]]["prediction"], row["prediction"]) for row in noise]
    for same in ("exact", "tokens:0.01"):
        is_same = pc.answer_similarity(*zip(*pairs, strict=True), same=same) > 0.5
        unread = [not a.strip() and not b.strip() for a, b in pairs]  # the same answer here
        (values,) = pc.score(tmp_path / "run", same=same, right="exact").to_dict().values()
        flips = [1.0 - (s or u) for s, u in zip(is_same.tolist(), unread, strict=True)]
        by_bucket = {bucket: [] for bucket in ("days", "fee")}
        for row, flip in zip(noise, flips, strict=True):
            by_bucket[row["bucket_id"]].append(flip)
        expected = sum(sum(of_bucket) / len(of_bucket) for of_bucket in by_bucket.values()) / 2
        if same == "exact":  # of a transitive comparer; classes of the other are a sketch
            assert values["noise_floor"]["flip_rate"]["decoding"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore:.* a higher `max_new_tokens`")  # a model of random weights never ends
def test_language_models_are_run_from_python_and_without_a_chat_template(file, tmp_path):
    save_language_model(tmp_path / "model", "llama")
    scores = pc.run(str(tmp_path / "model"), file, output=tmp_path / "run", max_new_tokens=3, device="cpu").score()
    assert list(scores.to_dict()) == ["shop"]


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"model": app, "version": "1", "temperature": 1.0}, "temperature"),
        ({"model": "http://localhost:9/v1", "name": "m", "dtype": "float32"}, "dtype"),
        ({"model": "http://localhost:9/v1", "name": "m", "scoring": "label"}, "scoring"),
        ({"model": "some/model", "concurrency": 3}, "concurrency"),
    ],
)
def test_options_of_another_kind_of_model_are_refused(options, parameter, file, tmp_path):
    with pytest.raises(InputError) as problem:
        pc.run(sets=file, output=tmp_path / "run", **options)
    assert problem.value.parameter == parameter


@pytest.mark.faults
@pytest.mark.parametrize(
    "wordings", ["[How much?, What does it cost?]", '\n      - "How much?"\n      - Shipping: how much?']
)
def test_texts_that_yaml_reads_otherwise_are_told_of_quotes(wordings, tmp_path):
    (tmp_path / "shop.yaml").write_text(f"questions:\n  - id: fee\n    wordings: {wordings}\n")
    with pytest.raises(InputError, match="into quotes, such as"):
        pc.load_bucket_set(tmp_path / "shop.yaml")
    with pytest.raises(InputError) as absent:
        pc.load_bucket_set(tmp_path / "absent.yaml")
    assert "quotes" not in str(absent.value)


@pytest.mark.faults
def test_two_questions_of_one_id_are_refused(tmp_path):
    """A copied entry whose id was left as it was joined two questions, whose answers must differ, to one."""
    (tmp_path / "shop.yaml").write_text(YAML.replace("id: fee", "id: days").replace('[5, "4.99"]', "30"))
    with pytest.raises(InputError, match="`id` must be another in each entry; got 'days' at row 1"):
        pc.load_bucket_set(tmp_path / "shop.yaml")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["question", "topic"], "`bucket_id` must be a column .* by `column`: bucket_id=NAME"),
        (["Frage", "topic"], "or name columns by `column`, such as question=text"),
        (["text", "topic"], "They fit sentiment and topic.* questions of your own give `column` question=text"),
    ],
)
def test_columns_of_other_names_are_told_how_to_be_named(columns, words, tmp_path):
    """Renaming them was all that was advised."""
    frame = pd.DataFrame([("How long?", "days"), ("By when?", "days")], columns=columns)
    with pytest.raises(InputError, match=words):
        pc.run(app, frame, output=tmp_path / "run", version="1")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("before", "after", "parameter", "words"),
    [
        ("same: number", "same: nummer", "same", "Did you mean 'number'"),
        ("same: number", "same: number\nright: contain", "right", "Did you mean 'contains'"),
        ("expected: 30", "expected: a month", "label", "answers that the comparer can read; got 'a month'"),
    ],
)
def test_what_scoring_would_refuse_is_refused_before_anything_is_asked(before, after, parameter, words, tmp_path):
    (tmp_path / "shop.yaml").write_text(YAML.replace(before, after))
    asked = []
    with pytest.raises(InputError, match=r"^run: ") as problem:
        pc.run(lambda p: asked.extend(p) or app(p), tmp_path / "shop.yaml", output=tmp_path / "run", version="1")
    assert (problem.value.parameter, asked) == (parameter, [])
    assert words in str(problem.value)


def test_two_accepted_answers_in_a_bucket_are_refused_before_anything_is_asked(tmp_path):
    """All was asked, then the scoring refused it."""
    rows = [{"bucket_id": "days", "question": f"{i}?", "expected": ("30", "9")[i]} for i in range(2)]
    words = "same gold label. 1 of 1 in table have two, such as 'days': 30 and 9."
    refuses(words, pc.run, app, rows, output=tmp_path / "run", version="1")
    assert not (tmp_path / "run").exists()
    lettered = {"A": ["x", "y"], "B": ["y", "x"]}.items()
    chosen = [{**row, "expected": letter, "choices": each} for row, (letter, each) in zip(rows, lettered, strict=True)]
    words = "'days': A and B. Of choices in different orders give the text"
    refuses(words, pc.run, app, chosen, output=tmp_path / "run", version="1")
    negated = [{**row, "role": role} for row, role in zip(rows, ("original", "negation"), strict=True)]
    pc.run(lambda texts: texts, negated, output=tmp_path / "run", version="1")


@pytest.mark.faults
def test_what_a_newcomer_gives_otherwise_is_read_or_told(tmp_path):
    """An object was "a model that is loaded", numbers as answers and functions of one text had no remedy."""
    rows = [{"q": "How long?", "topic": "days"}, {"q": "By when?", "topic": "days"}]
    column = {"question": "q", "bucket_id": "topic"}
    run = pc.run(lambda texts: ["3"] * len(texts), rows, output=tmp_path / "run", version="1", column=column)
    assert run.score().sets
    one = [{"bucket_id": "days", "question": "How long?", "answer": "30"}]
    with pytest.warns(UserWarning, match=r"answer\. Name .* accepted answers to questions as `column` expected=NAME"):
        pc.run(lambda texts: ["3"], one, output=tmp_path / "answers", version="1", column="question=question")
    with pytest.raises(InputError, match="Rows of one bucket ask the same in other words; `paraconsist paraphrase`"):
        pc.run(app, [{"question": "How long?"}], output=tmp_path / "alone", version="1")
    for model, words in (
        (object(), "be a function, a name, a folder or an address; got 'object'. Of an object give its method"),
        (lambda texts: [5] * len(texts), r"got 5. Take the text out of it, or str\(\) of a number"),
        (lambda texts: "days", r"Of a function `ask` of one input make `lambda inputs: \[ask"),
    ):
        with pytest.raises(InputError, match=words):
            pc.run(model, rows, output=tmp_path / "other", version="1", column=column)


def test_questions_of_which_only_some_have_accepted_answers_are_asked(tmp_path):
    partly = YAML.replace('    expected: [5, "4.99"]\n', "")
    (tmp_path / "shop.yaml").write_text(partly)
    run = pc.run(app, tmp_path / "shop.yaml", output=tmp_path / "run", version="1")
    (of_all,), (of_some,) = run.score().sets.values(), run.score(labelled=True).sets.values()
    assert (of_all.wording.n_problems, of_some.wording.n_problems) == (2, 1)
    assert "accuracy" in of_some.measures["paraphrastic_consistency"]
    (tmp_path / "shop.yaml").write_text(partly.replace("expected: 30", "expected: a month"))
    with pytest.raises(InputError, match="answers that the comparer can read; got 'a month'"):
        pc.run(app, tmp_path / "shop.yaml", output=tmp_path / "other", version="1")


def test_a_comparer_that_loads_a_model_is_not_loaded_beside_the_runs_own(tmp_path):
    (tmp_path / "shop.yaml").write_text(YAML.replace("same: number", "same: nli:absent"))
    run = pc.run(app, tmp_path / "shop.yaml", output=tmp_path / "run", version="1")
    assert run.score(same="number").sets["shop"].measures


def test_columns_of_questions_cannot_be_hidden(file, tmp_path):
    options = ["--model", "m", "--dataset", file, "--output", tmp_path / "run", "--input-columns", "question"]
    assert "--input-columns" in refused("run", *options)


def test_answers_that_the_limit_of_tokens_cut_are_a_warning(file, tmp_path):
    """Their beginnings are compared: it was told of the first, in the call that asked, and not counted."""
    save_language_model(tmp_path / "model")
    with pytest.warns(UserWarning, match="max_new_tokens"):
        run = pc.run(str(tmp_path / "model"), file, output=tmp_path / "out", max_new_tokens=2)
    counts = json.loads((run.folder / "run.json").read_text())["inputs"]["shop"]
    sentence = f"{counts['n_unfinished']} of {counts['n_inputs']} inputs have answers that were cut at 2 tokens: their "
    (warnings,) = (one.warnings for one in run.score().sets.values())
    assert any(warning.startswith(f"{sentence}beginnings are compared") for warning in warnings)


@pytest.mark.faults
def test_a_run_whose_answers_are_all_cut_is_a_run(tmp_path):
    """Sixteen label words that are cut end a run; of answers in free text the beginnings are compared."""
    asked = [{"bucket_id": f"b{i // 2}", "question": f"Why {i}?"} for i in range(40)]
    write(tmp_path / "set.jsonl", asked)
    given = ["run", "--model", "toy", "--dataset", tmp_path / "set.jsonl", "--output", tmp_path / "run"]
    with FaultyServer(write=lambda text, body: "because it is so") as server:
        endpoint.done(*given, "--endpoint", server.url, "--max-tokens", 2)
        assert len(server.sent()) == 40
        endpoint.done(*given, "--endpoint", server.url, "--max-tokens", 2)
        assert len(server.sent()) == 40
    assert "40 of 40 inputs have answers that were cut" in endpoint.done("score", tmp_path / "run")


def test_long_answers_that_are_compared_word_for_word_are_a_warning():
    table = {"bucket_id": ["a", "a"], "prediction": ["it is free " * 12, "you pay nothing " * 12]}
    short = {**table, "prediction": ["it is free", "you pay nothing"]}
    warned = [
        any("word for word" in warning for warning in pc.score(rows, same=same).sets["predictions"].warnings)
        for rows, same in ((table, "text"), (table, "tokens"), (short, "text"))
    ]
    assert warned == [True, False, False]


def test_without_gold_the_table_has_no_index_of_right_answers(tmp_path):
    with (tmp_path / "answers.csv").open("w") as stream:
        rows = [(f"q{i // 3}", f"It is {i % 2}.") for i in range(36)]
        csv.writer(stream).writerows([("bucket_id", "prediction"), *rows])
    shown = command.out("score", tmp_path / "answers.csv", "--same", "number")
    assert "same answer" in shown
    assert "undefined" not in shown


def test_answers_that_say_nothing_of_the_problem_are_an_alarm():
    """Every answer is the shorter one's words: a comparer that takes parts for the whole holds all for the same."""
    words = ["I do not know.", "Sorry, I do not know that.", "I do not know, ask us."]
    table = {"bucket_id": [f"q{i // 2}" for i in range(60)], "prediction": [words[i % 3] for i in range(60)]}
    scores = pc.score(table, same="tokens:0.5")
    assert scores.sets["predictions"].wording.same_answer > 0.9
    assert any("different problems" in warning for warning in scores.sets["predictions"].degenerate)
    assert not scores.gate("wording_change <= 10%")


@pytest.mark.faults
@pytest.mark.parametrize("expected", [None, "3"])
def test_a_function_is_called_again_to_tell_dice_from_wording(tmp_path, expected):
    """Five answers in turn: the repeats were refused, and of questions without accepted answers not scored."""
    asked = []

    def dice(prompts):
        asked.extend(prompts)
        return [str((len(asked) - len(prompts) + i) % 5) for i in range(len(prompts))]

    wordings = [{"bucket_id": i // 3, "question": f"Question {i}?"} for i in range(24)]
    frame = pd.DataFrame([{**row, **({"expected": expected} if expected else {})} for row in wordings])
    options = {"repeats": 2, "noise_share": 1.0, "output": tmp_path / "run", "version": "1"}
    run = pc.run(dice, frame, **options)
    (values,) = run.score().to_dict().values()
    assert len(asked) == 72
    (file,), (again,) = ((tmp_path / "run" / kind).glob("*.parquet") for kind in ("predictions", "noise"))
    answers, noise = [pq.read_table(file)["prediction"].to_pylist()], pq.read_table(again).to_pylist()
    answers += [[row["prediction"] for row in noise if row["repeat"] == n] for n in (1, 2)]
    flips = [a != b for one, two in ((0, 1), (0, 2), (1, 2)) for a, b in zip(answers[one], answers[two], strict=True)]
    floor = values["noise_floor"]
    assert floor["flip_rate"]["decoding"] == pytest.approx(np.mean(flips), abs=1e-12)
    pairs = [(i, j) for i in range(24) for j in range(i + 1, 24) if i // 3 == j // 3]
    changes = [np.mean([a[i] != b[j] for a in answers for b in answers]) for i, j in pairs]
    assert floor["wording_change"] == pytest.approx(np.mean(changes), abs=1e-12)
    assert set(floor["variance"]) == ({"problem", "paraphrase", "decoding"} if expected else set())
    pc.run(dice, frame, **options)
    assert len(asked) == 72  # all is there
