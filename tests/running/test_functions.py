"""Runs of Python functions: every kind of answer, cached and resumed, failures as in other runs, whose run it is."""

import asyncio
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.errors import refuses

import paraconsist as pc
from paraconsist.data import foreign
from paraconsist.errors import InputError

ROWS = [
    {
        "bucket_id": f"b{i // 3}",
        "role": ["original", "paraphrase", "paraphrase"][i % 3],
        "update": f"row {i}",
        "label": 1,
    }
    for i in range(12)
]
NAMES = ("weakener", "strengthener")
FIXED = {"premise": "A premise.", "hypothesis": "A hypothesis."}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    lines = [{**FIXED, **row, "label": NAMES[row["label"] ^ (i // 6)]} for i, row in enumerate(ROWS)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


class Counting:
    """A function that notes what it is asked, and fails where `broken` says."""

    def __init__(self, answer: Any, broken: Any = lambda text: False) -> None:
        self.answer, self.broken, self.asked = answer, broken, []

    def __call__(self, inputs: Any) -> list[Any]:
        self.asked.append(list(inputs))
        if any(map(self.broken, inputs)):
            raise RuntimeError("the model fell over")
        return [self.answer(one) for one in inputs]


def predictions(run: pc.Run) -> list[dict[str, Any]]:
    (file,) = (run.folder / "predictions").glob("*.parquet")
    return pq.read_table(file).to_pylist()


def number(text: str) -> int:
    return int(text.split("row ")[1].split()[0]) % 2


@pytest.mark.parametrize(
    ("answer", "probabilities"),
    [
        (lambda text: NAMES[number(text)], None),
        (lambda text: f"The answer is {NAMES[number(text)]}.", None),
        (number, None),
        (lambda text: [0.75 - 0.5 * number(text), 0.25 + 0.5 * number(text)], [0.75, 0.25]),
    ],
)
def test_every_kind_of_answer_gives_the_same_predictions(rows, tmp_path, answer, probabilities):
    run = pc.run(Counting(answer), str(rows), output=tmp_path / "run", version="1", template=None)
    answers = predictions(run)
    assert [one["prediction"] for one in answers] == [i % 2 for i in range(12)]
    assert answers[0].get("probabilities") == probabilities
    assert run.score().sets["rows"].measures["paraphrastic_consistency"]["n_buckets"] == 4


def test_functions_get_prompts_or_columns_in_batches(rows, tmp_path):
    prompts, columns = Counting(number), Counting(lambda row: number(row["update"]))
    pc.run(prompts, str(rows), output=tmp_path / "prompts", version="1", batch_size=5)
    pc.run(columns, str(rows), output=tmp_path / "columns", version="1", columns=True)
    assert [len(batch) for batch in prompts.asked] == [5, 5, 2]
    assert prompts.asked[0][0].endswith("Update: row 0\nAnswer:")
    assert columns.asked == [[{**FIXED, "update": row["update"]} for row in ROWS]]


def test_an_async_function_is_awaited_in_one_loop_also_in_a_notebook(rows, tmp_path):
    loops = set()

    async def answer(text: str) -> int:
        await asyncio.sleep(0)
        return number(text)

    async def app(texts: list[str]) -> list[int]:
        loops.add(asyncio.get_running_loop())
        return await asyncio.gather(*map(answer, texts))

    async def notebook() -> pc.Run:
        return pc.run(app, str(rows), output=tmp_path / "run", version="1", batch_size=5)

    assert [one["prediction"] for one in predictions(asyncio.run(notebook()))] == [i % 2 for i in range(12)]
    assert len(loops) == 1


def test_a_run_that_was_ended_asks_for_the_rest_alone(rows, tmp_path):
    def ended(text: str) -> bool:
        if "row 7" in text:
            raise KeyboardInterrupt
        return False

    asking = {"output": tmp_path / "run", "version": "1", "batch_size": 4}
    with pytest.raises(KeyboardInterrupt):
        pc.run(Counting(number, ended), str(rows), **asking)
    again = Counting(number)
    run = pc.run(again, str(rows), **asking)
    assert [len(batch) for batch in again.asked] == [4, 4]
    assert [one["prediction"] for one in predictions(run)] == [i % 2 for i in range(12)]
    nobody = Counting(number)
    assert predictions(pc.run(nobody, str(rows), **asking)) == predictions(run)
    assert nobody.asked == []


def test_an_input_that_fails_is_asked_alone_and_counted(rows, tmp_path):
    broken = Counting(number, lambda text: "row 7" in text)
    with pytest.warns(UserWarning, match="1 of 12 inputs have no answer and count as unparsed"):
        run = pc.run(broken, str(rows), output=tmp_path / "run", version="1")
    assert [len(batch) for batch in broken.asked] == [12] + [1] * 12
    answers = predictions(run)
    assert [i for i, one in enumerate(answers) if one["prediction"] is None] == [7]
    assert answers[7]["unanswered"] == "no answer"
    with pytest.raises(InputError, match="raised RuntimeError: the model fell over"):
        pc.run(broken, str(rows), output=tmp_path / "stopped", version="1", on_error="stop")
    mended = Counting(number)
    pc.run(mended, str(rows), output=tmp_path / "run", version="1", retry_failed=True)
    assert [len(batch) for batch in mended.asked] == [1]


@pytest.mark.parametrize(
    ("function", "must"),
    [
        (lambda texts: [1], "return a list with an answer for each of the 12 inputs.*got 1"),
        (lambda texts: [2] * 12, "return.*got 2"),
        (lambda texts: [[0.5, 0.6]] * 12, r"return.*got \[0.5, 0.6\]"),
        (lambda texts: [[0.2, 0.3, 0.5]] * 12, "return"),
        (lambda texts: [{"a": 1}] * 12, "return"),
        pytest.param(lambda texts: "yes no maybe", "return a list.*got 'yes no", marks=pytest.mark.faults),
        pytest.param(lambda texts: dict.fromkeys(texts, "yes"), "return a list.*got {", marks=pytest.mark.faults),
    ],
)
def test_what_is_no_answer_is_refused(rows, tmp_path, function, must):
    refuses(must, pc.run, function, str(rows), output=tmp_path / "run")


def test_a_function_of_one_text_is_told_how_it_is_called(rows, tmp_path):
    def first_word(text):
        return text.split()[0]

    with pytest.raises(InputError, match="called with a list of inputs, and returns a list"):
        pc.run(first_word, rows, output=tmp_path / "run", version="1")


def test_a_changed_function_is_another_model(rows, tmp_path):
    def named(texts: list[str]) -> list[int]:
        return [number(text) for text in texts]

    def other(texts: list[str]) -> list[int]:
        return [1 - number(text) for text in texts]

    run = pc.run(named, str(rows), output=tmp_path / "run")
    (identity,) = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))["models"].values()
    assert identity["kind"] == "function"
    assert identity["version"].startswith("source-")
    with pytest.raises(InputError, match=r"hold a run of the same model.*version: 'source-"):
        pc.run(other, str(rows), output=tmp_path / "run", name=identity["model"])
    pc.run(other, str(rows), output=tmp_path / "run", name=identity["model"], overwrite=True)


@pytest.mark.parametrize(
    "function",
    [Counting(number), Counting(number).__call__, partial(map, number), print],
    ids=["object", "method", "partial", "print"],
)
def test_what_has_no_source_of_its_own_needs_a_version(rows, tmp_path, function):
    """Of two objects the second got the answers of the first's method."""
    refuses("`version` must be given", pc.run, function, str(rows), output=tmp_path / "run")


def test_what_a_function_closes_over_needs_a_version(rows, tmp_path):
    weights = [1]
    refuses("`version` must be given", pc.run, lambda texts: weights * len(texts), str(rows), output=tmp_path / "run")


def test_answers_among_three_labels_are_not_read_as_those_among_two(tmp_path):
    """Without prompts, which name the labels, the third label of one set was the first of another."""
    texts = [{"bucket_id": "b", "premise": f"p{i}", "hypothesis": "h"} for i in range(2)]
    asking = {"output": tmp_path / "run", "columns": True, "version": "1"}
    pc.run(lambda rows: ["contradiction"] * len(rows), [{**row, "label": "neutral"} for row in texts], **asking)
    two = [{**row, "label": "not_entailment"} for row in texts]
    refuses("labels: None there, 'not_entailment' now", pc.run, lambda rows: ["entailment"] * len(rows), two, **asking)


@pytest.mark.parametrize("option", [{"noise_floor": 1}, {"device": "cpu"}, {"compile": True}, {"dtype": "bfloat16"}])
def test_options_of_loaded_models_are_refused(rows, tmp_path, option):
    (name,) = option
    with pytest.raises(InputError, match=f"`{name}` must not be given with a function"):
        pc.run(Counting(number), str(rows), output=tmp_path / "run", version="1", **option)


def test_options_of_functions_are_refused_elsewhere(rows, tmp_path):
    with pytest.raises(InputError, match="`version` must not be given with a model that is loaded"):
        pc.run("org/model", str(rows), output=tmp_path / "run", version="1")


@pytest.mark.parametrize("name", ["spilt", "batchsize"])
def test_an_unknown_option_is_named_with_the_nearest_one(rows, tmp_path, name):
    with pytest.raises(InputError, match=r"Did you mean `(split|batch_size)`") as refused:
        pc.run(Counting(number), str(rows), output=tmp_path / "run", **{name: "test"})
    assert refused.value.parameter == name


def test_bucket_sets_and_tables_in_memory_are_run(rows, tmp_path):
    def answers(source, output):
        rows = predictions(pc.run(Counting(number), source, output=output, version="1"))
        return [(row["input_id"], row["role"], row["prediction"]) for row in rows]

    expected = answers(str(rows), tmp_path / "file")
    columns = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    table, bucket_set = pa.Table.from_pylist(columns), pc.load_bucket_set(str(rows))
    for i, source in enumerate((bucket_set, table, table.to_pandas(), [table.to_pydict()])):
        assert answers(source, tmp_path / f"run{i}") == expected
    with pytest.raises(InputError, match="a path or a table") as refused:
        pc.run(Counting(number), 7, output=tmp_path / "no", version="1")
    assert refused.value.parameter == "sets"


@pytest.mark.faults
def test_answers_that_no_file_takes_are_made_valid_or_fail_alone(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "MOST_BYTES", 1000)

    def answer(text: str) -> str:
        return "no" * 1000 if "row 3" in text else "no \ud83d"

    with pytest.warns(UserWarning, match="1 of 12 inputs"):
        answers = predictions(pc.run(Counting(answer), str(rows), output=tmp_path / "run", version="1"))
    assert [row["raw_output"] for row in answers] == [None if i == 3 else "no \ufffd" for i in range(12)]
    assert {row["unanswered"] for row in answers} == {None, "no answer"}


def test_a_function_is_named_on_the_command_line_too(tmp_path, rows, command, monkeypatch):
    """As the model, ``module:function``, of a module in the working folder; what was asked once is said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "answering", raising=False)
    line = "    return [f\"{'strong' if '1' in p.split('row ')[1] else 'weak'}ener\" for p in prompts]\n"
    Path("answering.py").write_text(f"def answers(prompts):\n{line.replace('strong', 'strength')}", encoding="utf-8")
    given = ["run", "--model", "answering:answers", "--dataset", str(rows)]
    said = command.done(*given, "--output", "named")
    assert "12 distinct inputs asked." in said
    import answering

    in_python = pc.run(answering.answers, rows, output=tmp_path / "in_python")
    by_name = pc.run("answering:answers", rows, output=tmp_path / "by_name")
    assert predictions(pc.Run(tmp_path / "named")) == predictions(in_python) == predictions(by_name)
    assert str(in_python.score()).splitlines()[0] in said.replace(" \n", " ")
    again = command.done(*given, "--output", "named", "--repeats", 2)
    assert re.search("0 distinct inputs asked, [1-9][0-9]* for 2 repeats; 12 were there already, by the same", again)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--system", "no"], "`--system` must not be given with a function"),
        (["--max-length", "3"], "`--max-length` must not be given with a function"),
        (["--part", "1/2"], "`--part` must not be given with a function"),
        (["--model", "string:digits"], "`--model` must be given once where it is a function"),
        (["--noise-floor", "2"], "`--noise-floor` must not be given with a function"),
    ],
)
def test_what_only_models_have_is_refused_beside_a_function(tmp_path, rows, command, more, words):
    given = ["run", "--model", "string:capwords", "--dataset", str(rows), "--output", str(tmp_path / "run")]
    assert words in command.refused(*given, *more)


def test_a_server_model_without_its_address_is_no_function(tmp_path, rows, command):
    said = command.refused("run", "--model", "llama3:latest", "--dataset", str(rows), "--output", str(tmp_path / "run"))
    assert "ModuleNotFoundError: No module named 'llama3'. A model behind a server needs `--endpoint`" in said
    said = command.refused("run", "--model", "string:cap", "--dataset", str(rows), "--output", str(tmp_path / "run"))
    assert "`--model` must be in module string; got 'string:cap'." in said
    assert "--endpoint" not in said


@pytest.mark.faults
def test_options_of_another_type_are_refused_by_name_and_a_name_alone_is_a_list_of_one(tmp_path):
    """A TypeError in both, and a column called l."""
    frame = pd.DataFrame(
        [{"bucket_id": i // 2, "question": f"Question {i}?", "lang": "de" if i < 2 else "en"} for i in range(6)]
    )
    more = {"output": tmp_path / "run", "version": "1"}
    for name, value in (("limit", "5"), ("until", 0.5)):
        refuses(f"`{name}` must be", pc.run, Counting(lambda text: "yes"), frame, **more, **{name: value})
    run = pc.run(Counting(lambda text: "yes"), frame, stratum="lang", **more)
    (values,) = run.score().to_dict().values()
    assert list(values["strata"]["lang"]) == ["de", "en"]
