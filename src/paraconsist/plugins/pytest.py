"""The pytest plug-in: the fixture `paraconsist`, tests of buckets, a table in the summary, ``--paraconsist-report``.

Nothing but pytest is imported before a test asks for a set or the fixture.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from paraconsist.reporting.result import Scores

_NAME = "paraconsist"
_MARK = (
    f"{_NAME}(sets, limit=None): what the fixture `{_NAME}` runs; an argument `bucket` is each bucket's rows in turn"
)
_N_BUCKETS = 3  # that a failure names
_OF_BOTH = ("seed", "stratum", "same", "right")  # options of a run that scoring has too
_OF_SETS = ("task", "data_dir", "split", "limit", "column")  # options of a run that say which rows are asked


class Consistency:
    """The fixture; `record` keeps a line of the summary's table, `of_mark` is what the test's mark says."""

    def __init__(self, folder: Path, record: Callable[[str, object], None], of_mark: dict[str, Any]) -> None:
        self._folder, self._record, self._of_mark = folder, record, of_mark

    def score(self, model: Any, /, **options: Any) -> Scores:
        """Score a function or model, run as by `paraconsist.run`, or the file or run folder of its answers.

        Options of `paraconsist.score` apply to both; others are those of the run.
        """
        import paraconsist as pc
        from paraconsist.errors import input_error

        if _is_answers(model):
            return pc.score(Path(model), **{name: value for name, value in options.items() if name != "sets"})
        usual: dict[str, Any] = (
            {"output": self._folder / f"run-{len([*self._folder.iterdir()])}"} if "output" not in options else {}
        )
        usual |= {"version": "of this test"} if callable(model) and usual else {}
        scoring = _of_scoring(options)
        running = {name: value for name, value in options.items() if name not in scoring or name in _OF_BOTH}
        if "sets" not in (options := {**self._of_mark, **usual, **running}):
            got = model if isinstance(model, (str, Path)) else ...
            must = "be given, also by a mark, unless the model is a file or run folder of answers that exists"
            raise input_error("score", "sets", must, got=got)
        made: pc.Run = pc.run(model, **options)
        return made.score(**scoring)

    def assert_consistent(
        self,
        model: Any,
        /,
        sets: Any = None,
        *,
        pc_low: float | None = None,
        baseline: Any = None,
        margin: float | None = None,
        condition: str = "",
        **options: Any,
    ) -> Scores:
        """Fail unless P_C's interval lies above `pc_low`, P_C is shown to be less than `margin` below the baseline's
        (without gold labels the wording change less than that above it), and a `condition` of ``paraconsist gate``
        holds. Model and baseline are as for `score`; `options` are the model's, and those of scoring and of the sets
        also the baseline's.
        """
        __tracebackhide__ = True
        from paraconsist.cli.gate import verdict

        of_sets = {} if sets is None else {"sets": sets}
        scores = self.score(model, **of_sets, **options)
        against = None
        if baseline is not None:
            known = () if _is_answers(baseline) else _OF_SETS
            of_both = _of_scoring(options) | {name: options[name] for name in known if name in options}
            against = self.score(baseline, **of_sets, **of_both)
        is_golden = not any(scored.rows.is_without_gold for scored in scores.sets.values())
        not_worse = "pc.not_worse" if is_golden else "wording_change.not_worse"
        conditions = [f"pc.low >= {pc_low}"] * (pc_low is not None) + [not_worse] * (against is not None)
        conditions += [condition] * bool(condition)
        reasons = []
        checks = scores.checks(" and ".join(conditions), against=against, margin=margin)
        for name in dict.fromkeys(one.set_name for one in checks):
            mine = [replace(one, worst=()) for one in checks if one.set_name == name]  # `_flips` names them
            of_wording = all(one.condition.quantity.startswith("wording_change") for one in mine)
            passed, number = all(one.passed for one in mine), _number(scores, name, of_wording)
            read = str(scores.opened.path or ""), json.dumps(_of_scoring(options), default=str)
            self._record(_NAME, [name, "pass" if passed else "FAIL", *number, *read])
            if not passed:
                reasons += [verdict(mine), f"{name}: {' '.join(number)}", *_flips(scores, name, against)]
        if reasons:
            pytest.fail("\n".join(reasons))
        return scores


def _is_answers(model: Any) -> bool:
    """Say whether it is a file or run folder of answers, and no function or model; a table's name also of none."""
    from paraconsist.data.tables import ENDINGS

    if callable(model) or Path(model, "config.json").exists():
        return False
    return Path(model).suffix in ENDINGS or Path(model).exists()


def _of_scoring(options: dict[str, Any]) -> dict[str, Any]:
    """Return those of the options that say how answers are read and scored."""
    from paraconsist.data.options import SourceOptions
    from paraconsist.scoring.options import ScoreOptions

    known = {each.name for kind in (SourceOptions, ScoreOptions) for each in fields(kind)}
    return {name: value for name, value in options.items() if name in known}


def _number(scores: Scores, name: str, of_wording: bool) -> list[str]:
    """The wording change, or the headline of a set's first measure: name, value and interval, in per cent."""
    from paraconsist.measures.catalogue import CATALOGUE
    from paraconsist.reporting.formatting import interval, percent
    from paraconsist.scoring.outcomes import WORDING_CHANGE

    measure, keys = next(iter(scores.to_dict()[name]["measures"].items()))
    spec, wording = CATALOGUE[measure], scores.sets[name].wording
    key, called = scores.sets[name].headline(spec).key, spec.short
    if wording is not None and (of_wording or key != spec.headline):  # without gold labels it is the headline
        keys, key = wording, WORDING_CHANGE.key
        called = key
    return [called, percent(keys[key]), interval(keys["confidence_interval"].get(key))]


def _flips(scores: Scores, name: str, against: Scores | None) -> Iterator[str]:
    """Say which buckets flip, or got worse most than the baseline, as gold labels tell, and two wordings of one."""
    from paraconsist.measures.catalogue import PARAPHRASTIC
    from paraconsist.reporting.page.aligned import align, set_texts
    from paraconsist.reporting.page.screen import flips

    source = scores.opened.sets[name]
    item = align(name, {"": scores.sets[name]})
    worst, (n, right) = item.worst_first(), item.counts[""].T[:2]
    if scores.sets[name].rows.is_without_gold:
        against = None
    if against is not None:
        other = against.sets
        was = align(name, {"": other.get(name, next(iter(other.values())))})
        before = dict(zip(was.bucket_ids, was.counts[""][:, 1], strict=True))
        lost = [before.get(bucket, k) - k for bucket, k in zip(item.bucket_ids, right, strict=True)]
        worst = worst[sorted(range(len(worst)), key=lambda i: -lost[worst[i]])]
    wording = scores.sets[name].wording  # answers may differ and be wrong alike
    n_flip = sum(0 < k < m for k, m in zip(right, n, strict=True)) if wording is None else wording.n_changed
    named = [f"{item.bucket_ids[i]} ({right[i]:g} of {n[i]:g} right)" for i in worst[:_N_BUCKETS]]
    most = ", ".join(map(str, scores.sets[name].worst(_N_BUCKETS)) if against is None else named)
    yield f"{n_flip} of {len(n)} buckets flip{'; the worst: ' * bool(most)}{most}"
    item = set_texts(item, [source.texts], [], source.columns, [])
    examples, _ = flips(item, PARAPHRASTIC, {"": {}})
    for text, answer, is_right, _ in examples[0].rows if examples else ():
        yield f"  {'' if is_right is None else 'right, ' if is_right else 'wrong, '}{answer}: {text}"


@pytest.fixture
def paraconsist(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Consistency:
    """Run and score models over bucket sets: ``paraconsist.assert_consistent(function, "sample:defeasible_nli")``."""
    folder = tmp_path_factory.mktemp(_NAME)
    record = request.node.user_properties.append
    return Consistency(folder, lambda key, value: record((key, value)), _of_mark(request.node))


def _of_mark(node: pytest.Item) -> dict[str, Any]:
    mark = node.get_closest_marker(_NAME)
    return {} if mark is None else {**dict(zip(("sets", "limit"), mark.args, strict=False)), **mark.kwargs}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--paraconsist-report``."""
    what = "Write the report of what the fixture `paraconsist` checked, a page of HTML."
    parser.getgroup(_NAME).addoption("--paraconsist-report", metavar="FILE", help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", _MARK)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each bucket of the mark's set where a test has an argument `bucket`."""
    options = _of_mark(metafunc.definition)
    if options and "bucket" in metafunc.fixturenames:
        from paraconsist.data.bucket_sets import load_bucket_sets

        which = {name: options[name] for name in (*_OF_SETS, "stratum") if name in options and name != "limit"}
        sets = [*load_bucket_sets(options.get("sets"), **which)]
        buckets: dict[str, list[Any]] = {}
        for one in sets:
            for row in one.limited(options.get("limit")).table.to_pylist():
                name = f"{one.name}-{row['bucket_id']}" if len(sets) > 1 else row["bucket_id"]
                buckets.setdefault(name, []).append(row)
        metafunc.parametrize("bucket", buckets.values(), ids=buckets)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, before pytest removes the folders of what passed (``tmp_path_retention_policy``)."""
    path = session.config.getoption("--paraconsist-report")
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")  # none in a worker of pytest-xdist
    if not path or reporter is None or not (lines := _checked(reporter)):
        return
    from paraconsist.data.options import SourceOptions, taken
    from paraconsist.errors import InputError
    from paraconsist.reporting.page import ReportOptions, load_models, write_report
    from paraconsist.scoring.options import ScoreOptions

    options = {Path(answers): of_scoring for *_, answers, of_scoring in reversed(lines)}  # the first time it was scored
    try:
        models = []
        for each in dict.fromkeys(options.values()):
            read, scoring = taken(load_models, json.loads(each), SourceOptions, ScoreOptions)
            models += load_models([answers for answers in options if options[answers] == each], scoring, read=read)
        names = [model.name for model in models]
        models = [one if names.count(one.name) == 1 else replace(one, name=str(one.path)) for one in models]
        write_report(models, Path(path), ReportOptions())
    except InputError as problem:
        reporter.write_line(f"\n--paraconsist-report: {problem}", red=True)
        session.exitstatus = session.exitstatus or pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show a line for each set that was checked."""
    if lines := _checked(terminalreporter):
        from paraconsist.reporting.table import as_text, table

        columns = ("test", "set", "verdict", "measure", "value", "interval")
        checks = table(_NAME, columns, [line[:-2] for line in lines], words=columns[:4])
        terminalreporter.section(_NAME)
        terminalreporter.write_line(as_text([checks]))


def _checked(terminalreporter: Any) -> list[tuple[str, ...]]:
    """Return a line for each set that was checked: the test, and what `Consistency` recorded of it.

    Its last parts are the place of the answers, and how they are read and scored.
    """
    reports = [one for some in terminalreporter.stats.values() for one in some if getattr(one, "when", "") == "call"]
    return [(one.nodeid, *line) for one in reports for key, line in one.user_properties if key == _NAME]
