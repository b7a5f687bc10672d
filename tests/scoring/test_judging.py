"""Files that cannot be judged, and the sentences beside numbers that mislead."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from helpers.commands import Command, write

from paraconsist.measures.alarms import constant_predictions, nearly_constant
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.scoring.roles import POLICIES

PC = "paraphrastic_consistency"
#: So many resamples that nothing is said of their number.
ENOUGH = ("--n-resamples", 400)


def scored(command: Command, *arguments: object) -> dict[str, Any]:
    out = command.out("score", "--json", *ENOUGH, *arguments)
    (result,) = json.loads(out).values()
    return result


def long(*buckets: tuple[Any, list[Any]], role: str = "paraphrase") -> list[dict[str, Any]]:
    """A row for each answer, from buckets of (gold label, answers)."""
    return [
        {"bucket_id": f"b{number}", "role": role, "label": gold, "prediction": answer}
        for number, (gold, answers) in enumerate(buckets)
        for answer in answers
    ]


# ------------------------------------------------------------------------------------------- majority rate


def test_the_majority_rate_is_that_of_the_rows_beside_it(command: Command, tmp_path: Path) -> None:
    originals = [row | {"role": "original"} for row in long((0, [0]), (1, [1]), (1, [1]))]
    rows = long((0, [0, 1, 0, 0, 0]), (1, [1, 1]), (1, [1]))
    test = long(*((int(i < 9), [i % 2]) for i in range(10)))
    files = write(tmp_path / "mine.csv", originals + rows), write(tmp_path / "test.csv", test)
    result = scored(command, files[0], "--test-predictions", files[1])
    assert result["majority_rate"] == 5 / 8
    assert result["test_majority_rate"] == 9 / 10
    assert "test_majority_rate" not in scored(command, files[0])
    out = command("score", files[0], "--test-predictions", files[1])[1]
    assert "accuracy 62.5 % (90.0 % on the full test set)" in " ".join(out.split())


@pytest.mark.parametrize(("policy", "rate"), [("wrong", 4 / 6), ("drop_bucket", 2 / 4)])
def test_the_majority_rate_is_that_of_the_rows_a_policy_leaves(
    command: Command, tmp_path: Path, policy: str, rate: float
) -> None:
    rows = long((0, [0, 1]), (1, [1, 0]), (1, [1, None]))
    assert scored(command, write(tmp_path / "mine.csv", rows), "--unparsed", policy)["majority_rate"] == rate


@pytest.mark.real_data
def test_the_majority_rate_of_delta_snli(command: Command, data_folder: Path) -> None:
    folder = data_folder / "paranlu" / "predictions"
    files = [folder / f"snli__roberta-large__{kind}.parquet" for kind in ("human", "test")]
    columns = ["--label", "gold", "--prediction", "pred", "--original", "is_original", "--confidence", "conf_gold"]
    result = scored(command, files[0], "--test-predictions", files[1], *columns)
    table = pq.read_table(files[0])
    gold = table["gold"].to_numpy()[~table["is_original"].to_numpy(zero_copy_only=False)]
    assert result["majority_rate"] == pytest.approx(max(gold.mean(), 1 - gold.mean()), abs=1e-12)
    assert (round(100 * result["majority_rate"], 1), round(100 * result["test_majority_rate"], 1)) == (52.1, 50.3)


# ---------------------------------------------------------------------------------- labels that never meet


def test_labels_in_another_case_are_refused(command: Command, tmp_path: Path) -> None:
    """N15: a model of yes and no scored P_C 100 % at accuracy 0, and the alarm took 'No' for 'yes'."""
    path = write(tmp_path / "mine.csv", long(*(("no", ["Yes", "Yes", "No"]), ("yes", ["No", "No", "Yes"])) * 4))
    for call in (["score"], ["gate", "pc.low >= 0.5"], ["report", "--output", tmp_path / "page.html"]):
        code, out, err = command(*call, path)
        assert (code, out) == (2, "")
        assert "`--prediction` must use the gold labels, 'no', 'yes'; got" in err
        assert "got ['No', 'Yes']" in err
        assert "case" in err
    assert command("score", write(tmp_path / "two.csv", long(("no", ["No"]), ("yes", ["Yes"]))))[0] == 2


@pytest.mark.parametrize(
    ("gold", "answers", "is_refused"),
    [
        (["no", "yes"], ["LABEL_0", "LABEL_1"], True),
        (["no", "yes"], ["LABEL_0", "no"], False),  # a third label
        (["no", "yes"], ["yes", "no"], False),  # always wrong, in the same names
        (["no", "yes"], ["neither", "neither"], False),  # a constant model may give a label that no row has
        (["no", "yes"], ["Yes", "Yes"], True),
        (["a", "a"], ["b", "c"], False),  # one gold label: any other answer is wrong, and a label
        ([0, 1], [2, 2], False),
        ([0, 1], [2, 3], True),
        ([2, 2], [0, 1], False),
        ([-1, 1], [0, 2], True),
    ],
)
def test_labels_that_never_meet(
    command: Command, tmp_path: Path, gold: list[Any], answers: list[Any], is_refused: bool
) -> None:
    second = 1 if answers == ["yes", "no"] else 2
    buckets = [(label, [answers[i % 2], answers[i // second % 2]]) for i, label in enumerate(gold * 4)]
    path = write(tmp_path / "mine.parquet", long(*buckets))
    code, out, err = command("score", path, "--json")
    assert code == (2 if is_refused else 0), err
    if is_refused:
        assert "`--prediction` must use the gold labels" in err
    elif answers != ["LABEL_0", "no"]:
        assert next(iter(json.loads(out).values()))["measures"][PC]["accuracy"] == 0.0
    if answers == [2, 3]:  # named as one task's classes they are legal
        assert command("score", path, "--label-names", "a,b,c,d")[0] == 0


def test_answers_of_open_questions_and_a_handful_of_rows_need_not_meet(command: Command, tmp_path: Path) -> None:
    open_answers = long(*((f"{i}", [f"{i + 100}", f"{i + 101}"]) for i in range(12)))
    few = long(("no", ["A", "B"]), ("yes", ["B", "A"]), ("no", ["B", "A"]), ("yes", ["A", "B"]))
    for name, rows in (("open", open_answers), ("few", few)):
        assert command("score", write(tmp_path / f"{name}.parquet", rows))[0] == 0


def test_labels_that_never_meet_are_refused_in_test_sets_and_comparisons(command: Command, tmp_path: Path) -> None:
    good = write(tmp_path / "good.csv", long(*(("no", ["no", "yes"]), ("yes", ["yes", "yes"])) * 6))
    other = write(tmp_path / "other.csv", long(*(("no", ["A", "B"]), ("yes", ["B", "B"])) * 6))
    for call in (["score", good, "--test-predictions", other], ["compare", good, other], ["plan", other]):
        assert "must use the gold labels" in command.refused(*call)


@pytest.mark.faults
def test_answers_that_the_log_s_own_metric_judged_need_not_meet(command: Command, tmp_path: Path) -> None:
    """A log of a model whose every answer is wrong was refused, though its tool says of each that it is."""
    path, answers = tmp_path / "samples_toy_2026-01-01T00-00-00.000000.jsonl", ["I think so", "maybe"]
    rows = [
        {
            **{"doc_id": i, "doc": {"bucket_id": i // 3}, "target": ["yes", "no"][i // 3 % 2]},
            **{"resps": [[answers[i % 2]]], "filtered_resps": [answers[i % 2]], "filter": "none"},
            **{"exact_match": 0.0, "metrics": ["exact_match"]},
        }
        for i in range(36)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    result = scored(command, path, "--bucket", "doc.bucket_id")
    assert result["measures"][PC]["accuracy"] == 0.0
    assert result["wording"]["wording_change"] == pytest.approx(2 / 3)
    named = ["--prediction", "filtered_resps", "--label", "target"]  # what the user names is compared
    assert "must use the gold labels" in command.refused("score", path, "--bucket", "doc.bucket_id", *named)


# ------------------------------------------------------------------------------------------ nothing to judge by

PARSED = long(*((i % 2, [i % 2, 1]) for i in range(12)))
UNJUDGED = {
    "nothing parsed": ([row | {"prediction": None} for row in PARSED], "no answer could be read (all 24 predictions"),
    "no pair": (
        [row | {"bucket_id": f"s{i}"} for i, row in enumerate(PARSED)],
        "no problem has two rows to compare, so P_C is undefined",
    ),
}


@pytest.mark.parametrize("case", UNJUDGED)
def test_what_cannot_be_judged_has_no_headline(command: Command, tmp_path: Path, case: str) -> None:
    rows, reason = UNJUDGED[case]
    path = write(tmp_path / "mine.parquet", rows)
    values = scored(command, path)["measures"][PC]
    assert values["warnings"][0].startswith(reason)
    right = None if case == "nothing parsed" else sum(r["label"] == r["prediction"] for r in rows) / len(rows)
    assert values.pop("accuracy") == right
    for key, value in values.items():
        assert not isinstance(value, float) or key.endswith("accuracy"), key
    assert values["confidence_interval"][PARAPHRASTIC.headline] == [None, None]
    flat = " ".join(command.done("score", path).split())
    assert f"warning: {reason}" in flat
    for quantity in PARAPHRASTIC.quantities:
        if quantity.key in values and not quantity.key.endswith("accuracy"):
            assert f"{quantity.label} undefined" in flat


@pytest.mark.parametrize("case", UNJUDGED)
def test_what_cannot_be_judged_fails_the_gate(command: Command, tmp_path: Path, case: str) -> None:
    """N6: P_C 1.0 [.916, 1] and no alarm where nothing was parsed; the gate passed."""
    rows, reason = UNJUDGED[case]
    path, results = write(tmp_path / "mine.parquet", rows), tmp_path / "results.json"
    assert command("score", path, "--output", results)[0] == 0
    for condition in ("pc.low >= 0.75", "pc <= 1", "pc_published.high <= 1"):
        for file in (path, results):
            code, out, err = command("gate", condition, file)
            assert (code, out.count("\n")) == (1, 1)
            assert out.startswith(f"fail: {condition} (found undefined: mine, ")
            assert f"Undefined: {reason}" in out
            assert f"warning: mine: {reason}" in err


def test_nothing_parsed_under_every_policy_and_measure(command: Command, tmp_path: Path) -> None:
    rows = [row | {"prediction": None} for row in PARSED]
    path = write(tmp_path / "mine.parquet", rows)
    for chosen in POLICIES:  # also drop_bucket, which would leave nothing: one unread model must not end a page of many
        result = scored(command, path, "--unparsed", chosen)
        for policy in POLICIES:
            assert result["by_policy"][policy][PC] == {PARAPHRASTIC.headline: None, "confidence_interval": [None, None]}
    for role, measure in (("swap", "symmetric_inconsistency"), ("negation", "negational_inconsistency")):
        pairs = [row | {"role": ("original", role)[i % 2]} for i, row in enumerate(rows)]
        values = scored(command, write(tmp_path / "pairs.parquet", pairs))["measures"][measure]
        assert (values["inconsistency"], values["accuracy"]) == (None, None)
        assert values["warnings"][0].startswith("no answer could be read")


def test_one_problem_has_the_value_that_the_sentence_and_the_gate_tell(command: Command, tmp_path: Path) -> None:
    """Its table called same answer undefined; without a second problem there is no variance between problems."""
    path = write(tmp_path / "mine.csv", long((1, [1, 0, 1, 1])))
    result = scored(command, path)
    values = result["measures"][PC]
    assert (result["wording"]["wording_change"], values["agreement_unbiased"], values[f"{PC}_unbiased"]) == (0.5,) * 3
    assert (values["between_variance_unbiased"], values["pvap_unbiased"]) == (None, None)
    assert values["warnings"][0].startswith("there is one problem: P_C is of it alone and says nothing of others")
    assert command("gate", "same_answer >= .5", path)[0] == command("gate", "pc >= .5", path)[0] == 0


def test_one_pair_is_told_as_one_bucket(command: Command, tmp_path: Path) -> None:
    rows = [row | {"role": role} for row, role in zip(long((1, [1, 0])), ("original", "swap"), strict=True)]
    values = scored(command, write(tmp_path / "mine.csv", rows))["measures"]["symmetric_inconsistency"]
    assert (values["inconsistency"], values["accuracy"]) == (1.0, 1.0)
    assert values["warnings"][0].startswith("there is one problem: tau sym. is of it alone")


@pytest.mark.parametrize("case", UNJUDGED)
def test_the_page_says_undefined(command: Command, tmp_path: Path, case: str) -> None:
    rows, reason = UNJUDGED[case]
    path, good = write(tmp_path / "mine.parquet", rows), write(tmp_path / "good.parquet", PARSED)
    page = tmp_path / "page.html"
    command.done("report", path, "--output", page)
    assert re.search(r'class="value"[^>]*>undefined<|too few problems for an interval', page.read_text())
    assert reason.replace("P_C", "P<sub>C</sub>") in page.read_text()
    if case == "nothing parsed":
        command.done("report", path, good, "--output", page)
        assert "undefined" in page.read_text()


def test_nothing_is_compared_with_or_planned_from_no_answers(command: Command, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.parquet", [row | {"prediction": None} for row in PARSED])
    for call in (["compare", bad, write(tmp_path / "good.parquet", PARSED)], ["plan", bad]):
        assert "must have an answer that could be read; got 'bad'" in command.refused(*call)


# ------------------------------------------------------------------------------------------------- constancy


def test_a_nearly_constant_model_is_told_as_one(command: Command, tmp_path: Path) -> None:
    """N18: 96 % of the answers are one label and no better than that label alone; it was the most consistent of all."""
    rows = long(*((int(i % 3 > 0), [int(i % 30 > 0)] * 4) for i in range(60)))
    path = write(tmp_path / "mine.parquet", rows)
    sentence = "232 of 240 predictions are 1, and their accuracy (70.0 %) does not clearly exceed"
    assert [w for w in scored(command, path)["warnings"] if w.startswith(sentence)]
    assert f"warning: {sentence}" in " ".join(command("score", path)[2].split())
    assert f"warning: mine: {sentence}" in command("gate", "pc > 0", path)[2]
    page = tmp_path / "page.html"
    assert command("report", path, "--output", page)[0] == 0
    assert sentence in page.read_text()
    better = [row | {"wording": i} | ({"prediction": row["label"]} if i % 3 else {}) for i, row in enumerate(rows)]
    assert scored(command, write(tmp_path / "better.parquet", better))["warnings"] == []


@pytest.mark.real_data
def test_published_predictions_that_are_nearly_constant(data_folder: Path) -> None:
    """99.9 % of one model's answers are one label; models that never give another are told as constant."""
    models = [f"roberta-base-share-{share}" for share in ("0.01", "0.05", "0.1", "0.5")]
    models += ["roberta-large", "roberta-base", "deberta-v3-large", "bilstm", "bow", "miniberta-1M", "miniberta-1B"]
    found: dict[str, list[str]] = {"nearly": [], "wholly": []}
    for name in [f"{part}__{model}" for part in ("atomic", "snli", "social") for model in models]:
        table = pq.read_table(data_folder / "paranlu" / "predictions" / f"{name}__human.parquet")
        columns = [table[column].to_pylist() for column in ("pred", "gold", "bucket_id")]
        found["nearly"] += [name] if nearly_constant(*columns) else []
        found["wholly"] += [name] if constant_predictions(columns[0]) else []
    parts = {"0.01": ("atomic", "snli", "social"), "0.05": ("snli", "social"), "0.1": ("social",)}
    wholly = [f"{part}__roberta-base-share-{share}" for share, names in parts.items() for part in names]
    assert found == {"nearly": ["atomic__roberta-base-share-0.05"], "wholly": sorted(wholly)}


def test_answers_that_are_never_right_are_told(command: Command, tmp_path: Path) -> None:
    for n in (1, 2):  # answers to a problem
        rows = long(*((f"{i}", [f"{i + 100 + j}" for j in range(n)]) for i in range(24 // n)))
        warnings = scored(command, write(tmp_path / f"open{n}.parquet", rows))["warnings"]
        said = "no prediction is any row's gold label ('100' for '0'): do both columns name labels alike?"
        assert said in warnings


def test_sentences_that_no_comparer_read_are_told(command: Command, tmp_path: Path) -> None:
    said = "most answers are sentences, and only equal texts are the same"
    rows = long(*(("30 days", [f"You have {30 + b} days.", f"It is {30 + b} days"]) for b in range(12)))
    path = write(tmp_path / "free.csv", rows)
    for label in (("--label", "label"), ("--label", "")):  # the wording change was 100 %, and nothing said why
        assert said in " ".join(scored(command, path, *label)["warnings"])
    assert said not in " ".join(scored(command, path, "--same", "number")["warnings"])
    names = ["does not follow from it", "follows from it", "may follow from it"]  # labels, which are few
    labels = long(*((names[b % 3], [names[b % 3], names[(b + 1) % 3]]) for b in range(12)))
    assert said not in " ".join(scored(command, write(tmp_path / "labels.csv", labels))["warnings"])


def test_a_stray_answer_is_told_with_the_label_that_it_resembles(command: Command, tmp_path: Path) -> None:
    names = ("No", "Yes")
    rows = long(*((names[b % 2], ["Yes." if b == 1 else names[(b + k) % 2] for k in range(3)]) for b in range(20)))
    path = write(tmp_path / "mine.csv", rows)
    sentence = "answers that are no row's gold label count as wrong: 'Yes.' in 3 rows (nearest: 'Yes')"
    assert sentence in scored(command, path)["warnings"]
    assert f"warning: {sentence}" in command("score", path)[2]


@pytest.mark.parametrize(
    ("policy", "differ", "sentence"),
    [
        ("wrong", 16 / 24, "both wrong, so consistent, in P_C"),
        ("own_class", 0.0, "one more answer, wrong and the same"),
    ],
)
def test_what_is_said_of_unparsed_answers_is_true(
    command: Command, tmp_path: Path, policy: str, differ: float, sentence: str
) -> None:
    rows = long(*(("ny"[b % 2], ["" if b < 8 else "ny"[b % 2]] * 3) for b in range(12)))
    rows = [row | {"role": "paraphrase" if i % 3 else "original"} for i, row in enumerate(rows)]
    path = write(tmp_path / "mine.csv", rows)
    options = ("--unparsed", policy, "--measure", "paraphrastic_consistency", "--measure", "semantic_inconsistency")
    result = scored(command, path, *options)
    assert any(sentence in one for one in result["warnings"])
    assert result["measures"]["paraphrastic_consistency"]["paraphrastic_consistency_unbiased"] == 1.0
    assert result["measures"]["semantic_inconsistency"]["inconsistency"] == pytest.approx(differ)
