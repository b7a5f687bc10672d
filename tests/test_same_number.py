"""The command, the Python function, the pytest fixture and the page give the same number for any options."""

from __future__ import annotations

import html
import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as pcsv
import pytest
from helpers.examples import examples
from hypothesis import example, given
from hypothesis import strategies as st

import paraconsist as pc
from paraconsist.cli.app import main
from paraconsist.cli.gate import verdict
from paraconsist.data.options import SourceOptions
from paraconsist.plugins.pytest import Consistency
from paraconsist.scoring.options import CompareOptions, ScoreOptions

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
COLUMNS = {"bucket": "q", "prediction": "answer", "label": "gold"}
COMMON = {
    "confidence_level": st.sampled_from([0.5, 0.8, 0.95, 0.99]),
    "seed": st.integers(0, 3),
    "unparsed": st.sampled_from(["wrong", "own_class", "drop_bucket"]),
    "measures": st.sampled_from([["paraphrastic_consistency"], ["paraphrastic_consistency", "prompt_sensitivity"]]),
    "example": st.just("id"),
    "group": st.just("context"),
    "original": st.just("is_original"),
    "stratum": st.just(["kind"]),
    "variant": st.just("wording"),
    "exclude": st.just("marked"),
}
OF_SCORE = COMMON | {
    "interval_method": st.sampled_from(["auto", "bootstrap", "closed_form"]),
    "renormalize": st.just(True),
}
OF_COMPARE = COMMON | {
    "interval_method": st.sampled_from(["auto", "sign_flip", "closed_form"]),
    "estimator": st.sampled_from(["unbiased", "plugin"]),
    "correction": st.sampled_from(["holm", "none"]),
    "against_first": st.just(True),
    "margin": st.sampled_from([0.02, 0.1]),
}
#: Options that exclude others or fit few files; a refusal must be one everywhere too.
RARE = {
    "role": "place", "groups_from": "groups", "confidence": "sure", "probabilities": "p_no,p_yes",
    "label_names": "no,yes", "original_prediction": "first", "trial": "wording", "places": "no,yes",
    "relations": "groups", "encoding": "latin-1", "metric": "accuracy", "filter": "none", "epoch": 1, "same": "text",
    "right": "exact", "classes": "groups", "checked": "groups", "validity": "groups", "model": "a",
    "labelled": True,
}  # fmt: skip
#: Options that name files of the folder.
FILES = {"exclude": "marked.csv"} | dict.fromkeys(
    ("classes", "groups_from", "relations", "checked", "validity"), "groups.csv"
)
NAMES = {
    each.name: each.metadata.get("option", f"--{each.name.replace('_', '-')}")
    for options in (SourceOptions, ScoreOptions, CompareOptions)
    for each in fields(options)
}


def drawn(options: dict[str, Any]) -> Any:
    """Return a strategy of options, always with few resamples, now and then with a rare one."""
    usual = st.fixed_dictionaries({"n_resamples": st.integers(20, 60)}, optional=options)
    rare = st.one_of(st.just({}), st.sampled_from(sorted(RARE)).map(lambda name: {name: RARE[name]}))
    return st.builds(lambda one, other: one | other, usual, rare)


def test_every_option_is_drawn() -> None:
    for strategy, family in ((OF_SCORE, ScoreOptions), (OF_COMPARE, CompareOptions)):
        of_family = {each.name for options in (SourceOptions, family) for each in fields(options)}
        assert of_family | {"validity"} == {*strategy, *RARE, *COLUMNS, "n_resamples"} | {"n_permutations"} & of_family


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        (Path(name) / "marked.csv").write_text("bucket_id\nq1\nq2\n")
        (Path(name) / "groups.csv").write_text("q,group_id\n" + "".join(f"q{b},{b // 3}\n" for b in range(10)))
        yield Path(name)


@pytest.fixture(autouse=True)
def no_explanations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out which buckets flip where the pytest fixture fails: that takes most of its time."""
    monkeypatch.setattr("paraconsist.plugins.pytest._flips", lambda *_: iter(()))


@cache
def tables(folder: Path) -> list[Path]:
    """Return three models' answers to 10 problems in 3 wordings each, some of them unparsed."""
    paths = []
    for model, (right, read) in enumerate([(0.8, 0.85), (0.7, 0.95), (0.5, 1.0)]):
        rng, rows = np.random.default_rng(model), []
        for bucket in range(10):
            solved = rng.random() < right
            for wording in range(3):
                gold, other = ("yes", "no") if bucket % 3 else ("no", "yes")
                answer = gold if (rng.random() < 0.8) == solved else other
                answer = answer if rng.random() < read else None
                row = {"id": f"{bucket}-{wording}", "q": f"q{bucket}", "context": f"c{bucket // 2}", "answer": answer}
                sure = 0.5 + (bucket + wording) / 30
                row |= {"place": "original" if wording == 1 else "paraphrase", "sure": sure, "first": gold}
                row |= {"p_no": sure if answer == "no" else 1 - sure, "p_yes": 1 - sure if answer == "no" else sure}
                row |= {"kind": "ab"[bucket % 2], "wording": f"w{wording}", "is_original": wording == 0, "gold": gold}
                rows.append(row)
        paths.append(folder / f"model{model}.csv")
        pd.DataFrame(rows).sample(frac=1, random_state=model).to_csv(paths[-1], index=False)
    return paths


def run(*arguments: object) -> tuple[int, str]:
    """Run a command in this process and return its exit code and standard output."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        main([str(argument) for argument in arguments])
    return int(str(end.value.code)), out.getvalue()


def words(options: dict[str, Any]) -> list[object]:
    """Return options as they are written on the command line."""
    line: list[object] = []
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            line += [NAMES[name]] if each is True else [NAMES[name], each]
    return line


def whole(folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the columns of the tables."""
    return COLUMNS | options | {name: folder / file for name, file in FILES.items() if name in options}


def result(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or 2 (the exit code) if its input is refused."""
    try:
        return call()
    except pc.InputError:
        return 2


def fixture(folder: Path) -> Consistency:
    return Consistency(folder, lambda key, value: None, {})


@examples(170)
@example(options={"n_resamples": 20, "model": "a"}, beside={})
@given(drawn(OF_SCORE), st.sampled_from([{}, {}, {"test": "--test-predictions"}, {"training": "--training-file"}]))
def test_score(folder: Path, options: dict[str, Any], beside: dict[str, str]) -> None:
    (path, other, _), options = tables(folder), whole(folder, options)
    second = [word for name in beside.values() for word in (name, other)]
    code, out = run("score", path, *words(options), *second, "--json")
    expected = 2 if code else json.loads(out)
    tables_beside = {name: pcsv.read_csv(other) if name == "training" else other for name in beside}
    assert result(lambda: pc.score(path, **options, **tables_beside).to_dict()) == expected
    if beside:  # the fixture has neither
        return
    assert result(lambda: fixture(folder).score(path, **options).to_dict()) == expected


@examples(150)
@given(st.integers(2, 3), drawn(OF_COMPARE))
def test_compare(folder: Path, n: int, options: dict[str, Any]) -> None:
    paths, options = tables(folder)[:n], whole(folder, {"n_permutations": 50, **options})
    code, out = run("compare", *paths, *words(options), "--json")
    assert result(lambda: pc.compare(*paths, **options).to_dict()) == (2 if code else json.loads(out))


@examples(150)
@given(
    st.sampled_from(["pc.low >= 0.3", "accuracy > 0.6", "wording_change <= 0.4", "pc.not_worse", "pc.equivalent"]),
    st.floats(0.01, 0.3),
    st.booleans(),
    drawn(OF_SCORE),
)
@example("pc.not_worse", 0.05, False, {"n_resamples": 50, "unparsed": "drop_bucket", "confidence_level": 0.5})
def test_gate(folder: Path, condition: str, margin: float, also_degenerate: bool, options: dict[str, Any]) -> None:
    path, other, *_ = tables(folder)
    options = whole(folder, options)
    is_paired = condition.startswith(("pc.not", "pc.eq"))
    against = ["--against", other, "--margin", margin] if is_paired else []
    against += ["--allow-degenerate"] * also_degenerate
    code, out = run("gate", condition, path, *against, *words(options))

    def by_scores() -> tuple[int, str]:
        paired = {"against": pc.score(other, **options), "margin": margin} if is_paired else {}
        checks = pc.score(path, **options).checks(condition, allow_degenerate=also_degenerate, **paired)
        return int(not all(check.passed for check in checks)), verdict(checks)

    def by_fixture() -> int:
        paired = {"baseline": other, "margin": margin} if is_paired else {}
        try:
            fixture(folder).assert_consistent(path, condition=condition, **paired, **options)
        except pytest.fail.Exception:
            return 1
        return 0

    assert result(by_scores) == (2 if code == 2 else (code, out.strip()))
    if condition != "pc.equivalent" and not also_degenerate:  # a fixture with a baseline also asserts pc.not_worse
        assert result(by_fixture) == code


@examples(30)
@given(st.sampled_from([None, 0.05]), drawn(OF_SCORE))
@example(None, {"n_resamples": 50, "interval_method": "closed_form", "example": "id"})
def test_report(folder: Path, margin: float | None, options: dict[str, Any]) -> None:
    paths, options = tables(folder)[:2], whole(folder, options)
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    code, _ = run("report", *paths, *words(options), *(["--margin", margin] if margin else []), "--output", page)
    method = options.get("interval_method", "auto")  # comparisons have no bootstrap
    of_both = {name: value for name, value in options.items() if name != "renormalize"}
    of_both |= {"margin": margin, "interval_method": "auto" if method == "bootstrap" else method}
    if code:  # rows that do not match are refused by the comparison alone
        assert code == 2
        scores = result(lambda: [pc.score(path, **options).to_dict() for path in paths])
        assert 2 in (scores, result(lambda: pc.compare(*paths, **of_both)))
        return
    text = html.unescape(page.read_text(encoding="utf-8"))
    shown = set(re.findall(r"<dt>[^<]*</dt><dd><code>([^<]*)</code>", text))
    scored = [one for path in paths for one in pc.score(path, **options).sets.values()]
    signatures = {measured["signature"] for one in scored for measured in one.measures.values()}
    (compared,) = pc.compare(*paths, **of_both).to_dict()
    signatures |= {pair["result"]["signature"] for pair in compared["pairs"]}
    assert signatures <= shown
