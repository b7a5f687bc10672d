"""Runs that stop asking once a condition is known: the same stop after a kill, and nothing asked twice."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.commands import command
from helpers.errors import refuses
from helpers.faulty_server import FaultyServer, Received

import paraconsist as pc
from paraconsist.errors import InputError
from paraconsist.measures.results import parse_signature
from paraconsist.models.endpoint.queue import QueueStatistics
from paraconsist.running.run import _next, _said, summed
from paraconsist.scoring.until import Known, Until

N = 400
ROWS = [
    {
        "bucket_id": f"b{i}",
        "role": "paraphrase" if j else "original",
        "premise": "A premise.",
        "hypothesis": "A hypothesis.",
        "update": f"row {i} {j}",
        "label": ("weakener", "strengthener")[i % 2],
    }
    for i in range(N)
    for j in range(4)
]


class Model:
    """Answers that depend on the wording in a quarter of the buckets; ends like a killed run after `most` calls."""

    def __init__(self, most: int | None = None) -> None:
        self.asked: list[str] = []
        self.most = most

    def __call__(self, inputs: list[str]) -> list[int]:
        if self.most is not None:
            self.most -= 1
            if self.most < 0:
                raise KeyboardInterrupt
        self.asked += inputs
        return [self.answer(*map(int, text.split("row ")[1].split()[:2])) for text in inputs]

    @staticmethod
    def answer(i: int, j: int) -> int:
        return i % 2 if i % 4 else j % 2


def run(folder: Path, model: Model | None = None, until: str = "wording_change ± 0.1", **options: Any) -> pc.Run:
    return pc.run(model or Model(), ROWS, output=folder, version="1", until=until, batch_size=10, **options)


def answers(run: pc.Run) -> list[dict[str, Any]]:
    (file,) = (run.folder / "predictions").glob("*.parquet")
    return pq.read_table(file).to_pylist()


def record(run: pc.Run) -> dict[str, Any]:
    (found,) = json.loads((run.folder / "run.json").read_text())["until"].values()
    return found


def parts(result: Any) -> Any:
    return parse_signature(result["signature"]).parts


@pytest.mark.faults
def test_what_is_not_known_takes_another_round_at_least() -> None:
    """With every bucket alike three rounds were said to take "about 0 more (0 rows)"."""
    found = Known("wording_change ± 0.05", "wording_change", False, 0.0, 0.0, 0.166, 24, 120, 24, None)
    ends = range(3, 361, 3)
    assert "takes about 8 more (24 rows, cost 1.0000)." in _said("q", found, ends, 3.0)
    assert "takes about 1 more (3 rows)." in _said("q", replace(found, n_asked=119, n_expected=119), ends, 0.0)
    assert "takes about 20 more (60 rows)." in _said("q", replace(found, n_expected=44), ends, 0.0)


def test_a_run_stops_when_the_interval_is_narrow_enough(tmp_path: Path) -> None:
    model = Model()
    done = run(tmp_path / "run", model)
    found, rows = record(done), answers(done)
    assert found["high"] - found["low"] <= 0.2
    assert found["verdict"] is True
    assert found["low"] < 1 / 6 < found["high"]
    assert found["n_asked"] * 4 == len(rows) == len(model.asked) < len(ROWS) / 2
    assert len({row["bucket_id"] for row in rows}) == found["n_asked"]
    assert [row["bucket_id"] for row in rows] != sorted(row["bucket_id"] for row in rows)
    order = json.loads(next((tmp_path / "run" / "store").glob("until-*.json")).read_text())["order"]
    assert list(dict.fromkeys(row["bucket_id"] for row in rows)) == order[: found["n_asked"]]


@pytest.mark.parametrize("calls", [0, 1, 3, 7, 11])
def test_a_killed_run_stops_where_it_would_have_stopped_and_asks_nothing_twice(tmp_path: Path, calls: int) -> None:
    whole = run(tmp_path / "whole")
    first, second = Model(most=calls), Model()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", first)
    resumed = run(tmp_path / "killed", second)
    assert answers(resumed) == answers(whole)
    assert record(resumed) == record(whole)
    assert len({*first.asked, *second.asked}) == len(first.asked) + len(second.asked) == len(answers(whole))
    third = Model()
    assert record(run(tmp_path / "killed", third)) == record(whole)
    assert third.asked == []


@pytest.mark.filterwarnings("ignore:.*no answer")
def test_what_failed_is_asked_again_once_and_not_in_each_round(tmp_path: Path) -> None:
    """It was asked, and paid for, as many times as there were rounds after it."""

    def failing(inputs: list[str]) -> list[str]:
        asked.extend(inputs)
        if asked[0] in inputs:
            raise RuntimeError
        return [str(len(text)) for text in inputs]

    def filtered(body: dict[str, Any], request: Received) -> dict[str, Any]:
        if request.tag in server.sent()[:1]:
            body["choices"][0]["finish_reason"] = "content_filter"
        return body

    rows = [{"bucket_id": str(i), "question": f"wording {i} {j}"} for i in range(40) for j in range(2)]
    given: dict[str, Any] = {"until": "wording_change ± 0.1", "retry_failed": True}
    asked: list[str] = []
    pc.run(failing, rows, output=tmp_path / "function", version="1", **given, batch_size=1)
    assert len(asked) == len(set(asked)) > 16  # more than one round
    with FaultyServer(write=lambda text, body: text, change=filtered) as server:
        pc.run(server.url, rows, output=tmp_path / "endpoint", **given)
        assert len(server.sent()) == len(set(server.sent())) > 16


@pytest.mark.parametrize(("bound", "verdict"), [("wording_change >= 0.5", False), ("pc >= 0.4", True)])
def test_a_bound_is_decided_either_way(tmp_path: Path, bound: str, verdict: bool) -> None:
    done = run(tmp_path / "run", until=bound)
    assert record(done)["verdict"] is verdict
    assert record(done)["n_asked"] < N


def test_the_mean_of_the_set_itself_is_known_when_all_is_asked(tmp_path: Path) -> None:
    found = record(run(tmp_path / "run", until="wording_change ± 0.0001", until_set=True))
    assert "price" not in found
    assert found["n_asked"] == N
    assert found["low"] == pytest.approx(found["high"]) == pytest.approx(found["value"]) == pytest.approx(1 / 6)


def test_some_wordings_of_each_bucket_are_drawn(tmp_path: Path) -> None:
    done = run(tmp_path / "run", until="pc ± 0.1", wordings=2)
    rows = answers(done)
    assert {row["role"] for row in rows} == {"paraphrase"}
    assert len(rows) == 2 * record(done)["n_asked"]
    assert len({row["example_id"].rpartition("-")[2] for row in rows}) > 2


def test_another_condition_or_seed_needs_another_folder(tmp_path: Path) -> None:
    run(tmp_path / "run")
    refuses("`until` must be that of the run in the folder", run, tmp_path / "run", until="wording_change ± 0.05")
    refuses("Other than there: seed", run, tmp_path / "run", seed=1)


@pytest.mark.parametrize(
    "options",
    [{"noise_floor": 1}, {"until_set": True, "wordings": 2}, {"wordings": 1}, {"until": None, "until_set": True}],
)
def test_options_that_do_not_go_with_it_are_refused_before_anything_is_asked(tmp_path: Path, options: Any) -> None:
    model = Model()
    with pytest.raises(InputError):
        run(tmp_path / "run", model, **options)
    assert model.asked == []


@pytest.mark.parametrize("text", ["accuracy", "pc ± 2", "pc >= 7", "pc - a > 1.5", "steadiness ± 0.1", "pc = 0.5"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    refuses("`until` must be QUANTITY.*bucket_accuracy is the accuracy", Until.read, text)


def test_conditions_are_read_and_judged() -> None:
    assert str(Until.read("wording_change +- 3%")) == str(Until.read("wording_change ± .03")) == "wording_change ± 0.03"
    assert Until.read("pc >= 0.75").verdict(0.75, 1.0) is True
    assert Until.read("pc > 0.75").verdict(0.75, 1.0) is None
    assert Until.read("pc > 0.75").verdict(0.5, 0.75) is False
    assert Until.read("wording_change <= 0.1").verdict(0.0, 0.1) is True
    assert Until.read("wording_change < 0.1").verdict(0.1, 0.3) is False
    for value in (0.1 + 0.2, 0.3, 1 - 0.7, 3 * 0.1 - 1e-16):  # of a whole set, whose mean is known
        verdicts = [Until.read(f"pc {sign} 30%").verdict(value, value) for sign in (">=", "<=", ">", "<")]
        assert verdicts == [True, True, False, False]
    assert str(Until.read("pc > runs/a")) == "pc > runs/a"


def test_scores_have_the_one_interval_that_holds_and_say_so(tmp_path: Path) -> None:
    done = run(tmp_path / "run")
    (scores,) = done.score().to_dict().values()
    found, wording = record(done), scores["wording"]
    assert found["n_asked"] <= found["n_expected"] < found["n_in_all"]
    assert wording["confidence_interval"]["wording_change"] == [found["low"], found["high"]]
    assert wording["confidence_interval"]["same_answer"] == [1 - found["high"], 1 - found["low"]]
    assert wording["wording_change"] == pytest.approx(found["value"])
    assert all(end is None for end in wording["confidence_interval"]["above_chance"])
    assert {"ci": "bucket-betting", "until": "wording_change ± 0.1"}.items() <= parts(wording).items()
    for measure in scores["measures"].values():
        assert all(end is None for ends in measure["confidence_interval"].values() for end in ends)
        assert {"ci": "none", "until": "wording_change ± 0.1"}.items() <= parts(measure).items()
    assert any("holds however often it was looked at" in warning for warning in scores["warnings"])


def test_models_of_such_runs_are_not_compared_by_tests_for_a_fixed_number(tmp_path: Path) -> None:
    folders = [str(run(tmp_path / name).folder) for name in "ab"]
    refuses("`models` must not be runs that were asked until", pc.compare, *folders)
    other = pc.run(Model(), ROWS, output=tmp_path / "c", version="1").folder
    whole = str(pc.run(Better(), ROWS, output=tmp_path / "d", version="1").folder)
    ranked = pc.rank(run(tmp_path / "e", until="pc ± 0.01").folder, other, whole).set_index("model")  # they were ranked
    assert ranked.loc["e", "unranked"].startswith("it was asked until something was known")
    assert ranked.loc[["c", "d"], "unranked"].tolist() == ["", ""]


def test_buckets_of_such_runs_are_not_left_out(tmp_path: Path) -> None:
    """A list of buckets was left out, and the interval for those that were asked in random order still said to hold."""
    done = run(tmp_path / "run")
    marked = done.score().outcomes()["bucket"][:2]
    refuses("`exclude` must not be given for a run that was asked until", done.score, exclude=marked)
    refuses("`unparsed` must not be drop_bucket for a run that was", done.score, unparsed="drop_bucket")


@pytest.mark.parametrize(
    ("condition", "code", "word"),
    [("pc >= 0.5", 0, "pass"), ("pc >= 0.97", 1, "fail"), ("pc >= 0.78", 3, "ask for more")],
)
def test_a_sequential_gate_passes_fails_or_asks_for_more(tmp_path: Path, condition: str, code: int, word: str) -> None:
    done = run(tmp_path / "run", until="pc ± 0.1")
    exit_code, out, _ = command("gate", condition, done.folder, "--sequential")
    assert exit_code == code
    assert out.startswith(word)
    assert done.score().gate_sequentially(condition) is {0: True, 1: False, 3: None}[code]


def test_a_sequential_gate_asks_for_no_more_than_there_is(tmp_path: Path) -> None:
    done = run(tmp_path / "run", until="pc ± 0.001")
    value = record(done)["value"]
    exit_code, out, _ = command("gate", f"pc >= {value:.3f}", done.folder, "--sequential")
    assert (exit_code, out.partition(":")[0]) == (3, "not known, and all are asked")


def test_a_sequential_gate_refuses_other_runs_and_quantities(tmp_path: Path) -> None:
    fixed = pc.run(Model(), ROWS[:60], output=tmp_path / "fixed", version="1")
    assert command("gate", "pc >= 0.5", fixed.folder, "--sequential")[0] == 2
    assert command("gate", "pc >= 0.5", run(tmp_path / "run").folder, "--sequential")[0] == 2


def test_an_ordinary_gate_says_why_another_interval_is_undefined(tmp_path: Path) -> None:
    done = run(tmp_path / "run", until="wording_change +- 0.2")
    exit_code, out, _ = command("gate", "pc.low >= 0.1", done.folder)
    assert exit_code == 1
    assert "the run was asked until something else was known" in out


def test_a_value_that_a_results_file_holds_as_null_fails_an_ordinary_gate(tmp_path: Path) -> None:
    done, path = run(tmp_path / "run", until="wording_change +- 0.2"), tmp_path / "results.json"
    assert command("score", done.folder, "--output", path)[0] == 0
    results = json.loads(path.read_text())
    for keys in results.values():
        keys["measures"]["paraphrastic_consistency"]["vap_unbiased"] = None
    path.write_text(json.dumps(results))
    exit_code, out, _ = command("gate", "vap >= 0", path)
    assert exit_code == 1
    assert "found undefined" in out


def test_a_finding_without_an_interval_says_that_another_value_decided_when_to_stop(tmp_path: Path) -> None:
    """It said "too few problems for an interval", of any number of them."""
    pytest.importorskip("jinja2")
    done = run(tmp_path / "run", until="pc ± 0.15")
    page, why = tmp_path / "page.html", "asked until pc ± 0.15: only pc has an interval"
    text = command.done("score", done.folder) + command.done("report", done.folder, "--output", page)
    assert why in " ".join(text.split())
    assert why in page.read_text()
    said = text + page.read_text()
    assert "too few problems" not in said
    assert "Ask about more problems" not in page.read_text()


def test_the_price_of_looking_is_said_beside_the_interval_of_a_fixed_number_of_the_same_buckets(tmp_path: Path) -> None:
    done = run(tmp_path / "run", until="pc ± 0.15")
    found = record(done)
    (fixed,) = pc.score(pd.DataFrame(answers(done))).to_dict().values()
    ends = fixed["measures"]["paraphrastic_consistency"]["confidence_interval"]["paraphrastic_consistency_unbiased"]
    assert found["price"] == pytest.approx(((found["high"] - found["low"]) / (ends[1] - ends[0])) ** 2)
    (scores,) = done.score().to_dict().values()
    assert any(f"(which took {found['price']:.1f} times the buckets)" in warning for warning in scores["warnings"])
    line = _said("q", Known(**found), range(4, 4 * N + 1, 4), 0.0)
    assert line.endswith(f"is known. Looking took {found['price']:.1f} times the buckets of a fixed number.")


class Better(Model):
    """Right in every wording of most buckets where `Model` is right in half of them."""

    @staticmethod
    def answer(i: int, j: int) -> int:
        return i % 2 if i % 8 else j % 2


def test_a_run_stops_when_it_is_known_to_be_better_than_another_run(tmp_path: Path) -> None:
    other = pc.run(Model(), ROWS, output=tmp_path / "a", version="1")
    better = run(tmp_path / "b", Better(), until=f"bucket_accuracy > {other.folder}")
    found, rows = record(better), answers(better)
    rights: dict[str, list[float]] = {}
    of_other = {row["example_id"]: row["prediction"] for row in answers(other)}
    for row in rows:
        if row["role"] == "paraphrase":
            ours, theirs = (float(p == row["label"]) for p in (row["prediction"], of_other[row["example_id"]]))
            rights.setdefault(row["bucket_id"], []).append(ours - theirs)
    assert found["value"] == pytest.approx(sum(sum(v) / len(v) for v in rights.values()) / len(rights))
    assert found["verdict"] is True
    assert 0.0 < found["low"] < found["value"] < found["high"]
    assert found["n_asked"] == len(rights) < N
    assert found["reference"] == str(other.folder)


def test_the_same_answers_are_not_better_and_a_difference_can_be_wanted_narrow(tmp_path: Path) -> None:
    other = pc.run(Model(), ROWS, output=tmp_path / "a", version="1")
    same = record(run(tmp_path / "b", until=f"pc > {other.folder}"))
    assert (same.get("verdict"), same["n_asked"], same["value"]) == (None, N, 0.0)
    assert same["low"] < 0.0 < same["high"]
    narrow = record(run(tmp_path / "c", until=f"pc - {other.folder} ± 5 %"))
    assert narrow["verdict"] is True
    assert (narrow["high"] - narrow["low"]) / 2 <= 0.05
    assert narrow["n_asked"] < N


def test_against_a_run_that_stopped_buckets_end_where_it_did(tmp_path: Path) -> None:
    other = run(tmp_path / "a", until="pc ± 0.1")
    n = record(other)["n_asked"]
    found = record(run(tmp_path / "b", until=f"pc > {other.folder}"))
    assert found["n_asked"] == found["n_in_all"] == n


def test_of_the_set_itself_every_bucket_must_be_in_the_other_run(tmp_path: Path) -> None:
    other, stopped = pc.run(Model(), ROWS, output=tmp_path / "a", version="1"), run(tmp_path / "b", until="pc ± 0.1")
    found = record(run(tmp_path / "c", Better(), until=f"pc - {other.folder} ± 0.0001", until_set=True))
    assert (found["n_asked"], found["low"]) == (N, found["high"])
    refuses("that answered every bucket", run, tmp_path / "d", until=f"pc > {stopped.folder}", until_set=True)


@pytest.mark.faults
def test_a_run_that_stopped_in_another_order_is_no_reference(tmp_path: Path) -> None:
    """Where the first buckets of the one happened to be among those of the other, these few were all that was asked."""
    other = run(tmp_path / "a", until="pc ± 0.1")
    for seed in (1, 8):  # the first bucket is not among them, and is
        refuses("stopped in the same order", run, tmp_path / "b", until=f"pc > {other.folder}", seed=seed)
    whole = pc.run(Model(), ROWS, output=tmp_path / "c", version="1")
    assert record(run(tmp_path / "d", Better(), until=f"pc - {whole.folder} ± 0.1", seed=8))["verdict"] is True


def test_scores_have_the_difference_and_the_models_own_interval(tmp_path: Path) -> None:
    other = pc.run(Model(), ROWS, output=tmp_path / "a", version="1")
    done = run(tmp_path / "b", Better(), until=f"wording_change < {other.folder}")
    (scores,) = done.score().to_dict().values()
    low, high = scores["wording"]["confidence_interval"]["wording_change"]
    assert 0.0 < low < scores["wording"]["wording_change"] < high
    assert scores["until"]["value"] < 0.0
    assert any(f"less that of {other.folder}" in warning for warning in scores["warnings"])
    assert command.done("gate", "wording_change <= 0.2", done.folder, "--sequential").startswith("pass")


def test_values_are_subtracted_under_one_policy_and_comparer(tmp_path: Path) -> None:
    other = pc.run(Model(), ROWS, output=tmp_path / "a", version="1")
    done = run(tmp_path / "b", Better(), until=f"pc > {other.folder}")
    refuses("`unparsed` must be wrong for a run whose condition names another run", done.score, unparsed="own_class")
    refuses("`same` must not be given for a run whose condition names another run", done.score, same="text")


def test_another_set_is_no_reference(tmp_path: Path) -> None:
    other = pc.run(Model(), ROWS[:40], output=tmp_path / "a", version="1")
    refuses("be over the same set", run, tmp_path / "b", until=f"pc > {other.folder}")
    refuses("a run that exists", run, tmp_path / "b", until=f"pc > {tmp_path / 'none'}")


def test_the_page_of_such_a_run_names_no_step_that_it_would_refuse(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    done = run(tmp_path / "run")
    page = tmp_path / "page.html"
    command.done("report", done.folder, "--output", page)
    text = page.read_text().replace("</span> <span>", " ")  # a command breaks between its words
    half_width = (record(done)["high"] - record(done)["low"]) / 4.0
    assert f"--until &#39;wording_change ± {half_width:.2g}&#39;" in text
    assert "paraconsist run ... --noise-floor" not in text
    assert "brackets hold" not in text


def test_how_many_clusters_a_round_has():
    """Eight more, or a 16th of those before: a run that goes on has the same rounds, also with another version."""
    assert [_next(n, 1000) for n in (0, 8, 128, 136, 143, 144, 160, 995)] == [8, 16, 136, 144, 151, 153, 170, 1000]


def test_the_statistics_of_a_pass_are_those_of_its_rounds():
    """Its inputs are those of the last round, which holds all before it; everything else is added up."""
    faults = {8: {"429": 1}, 16: {}, 24: {"429": 1, "500": 2}}
    rounds = [QueueStatistics(n, 8, 9, faults[n], 1, 0, 1.5) for n in faults]
    assert summed(rounds) == QueueStatistics(24, 24, 27, {"429": 2, "500": 2}, 3, 0, 4.5)
    assert summed(rounds[:1]) == rounds[0]


@pytest.mark.parametrize(("quantity", "n"), [("pc", 2), ("wording_change", 3), ("bucket_accuracy", 3)])
def test_a_bucket_with_just_as_many_wordings_as_it_needs_is_asked(tmp_path, quantity, n):
    """Of its original and one paraphrase P_C knows nothing."""
    rows = [{**row, "bucket_id": f"b{k}"} for k in range(3) for row in ROWS[4 * k : 4 * k + k + 1]]
    rows += [{**row, "bucket_id": "last"} for row in ROWS[40:44]]
    done = pc.run(Model(), rows, output=tmp_path, version="1", until=f"{quantity} ± 0.9")
    assert record(done)["n_in_all"] == n
