"""``paraconsist gate``: a condition on results, an exit code and one line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from paraconsist.cli.ends import say
from paraconsist.cli.options import Fields, argument, echo
from paraconsist.comparing.rehearsal import end_rehearsal, rehearsed
from paraconsist.data.options import SourceOptions, option
from paraconsist.errors import input_error, renamed
from paraconsist.scoring.options import ScoreOptions

if TYPE_CHECKING:
    from paraconsist.scoring.gate import Check


#: Exit code of a condition that does not hold; 2 is bad input, as everywhere.
FAILED = 1
#: Exit code of `sequential` where more buckets must be asked.
MORE = 3


@rehearsed
def gate(
    *,
    condition: str = argument("For instance 'pc.low >= 0.75', 'change.high < 10%', 'pc.not_worse' with --against."),
    path: Path = argument("A run folder, a predictions file, a log, or results from score --output."),
    more: list[Path] | None = argument("Further files of the same run.", None),
    set_name: list[str] | None = option(
        None, "Only this set; repeat for several. By default every set.", option="--set"
    ),
    against: Path | None = option(
        None, "Another model's predictions, or its name beside --model, for wording_change.not_worse, pc.equivalent."
    ),
    margin: float | None = option(None, "By how much a measure may be worse: a proportion, 0.02 for two points."),
    sequential: bool = option(
        False, "For a run with --until: pass, fail, or exit code 3 to ask for more, whenever and however often called."
    ),
    allow_degenerate: bool = option(
        False,
        "Also accept numbers that say little about the model: the consistency of a constant answer, P_C where wrong "
        "answers differ, conditions on which the policies for unparsed answers disagree.",
    ),
    read: SourceOptions,
    options: Annotated[ScoreOptions, Fields(without=("validity",))],
) -> None:
    """Pass or fail on a condition: exit code 0 if it holds in every set, 1 if it does not.

    Undefined values fail, and so does the consistency of a model that gives (nearly) always the same answer, whose
    labels never match the gold labels, or whose answers could not be read. So do conditions on which the policies for
    unparsed answers disagree, and P_C where two wordings get the same answer too rarely for the condition, more than 10
    points less often than P_C says. A failure names the buckets to look at. Warnings go to standard error.

    With --sequential the confidence sequence of a `run --until` decides: exit code 3 asks for more buckets, which the
    same run, with its bound, goes on to ask. Both errors together are at most 1 less the confidence level.

    paraconsist gate 'pc.low >= 0.75' runs/a
    paraconsist gate wording_change.not_worse runs/b --against runs/a --margin 0.02
    """
    from paraconsist.scoring import gate as gating
    from paraconsist.scoring.compare import compare_options
    from paraconsist.scoring.score import score_sources
    from paraconsist.scoring.sources import Opened, of_other, open_source

    conditions = gating.parse_conditions(condition, options.confidence_level)
    gating.check_margin(conditions, against, margin)
    opened = gating.opened_or_written([path, *(more or ())], read, options)
    sets, results = {}, opened.saved if isinstance(opened, Opened) else opened
    if isinstance(opened, Opened) and not gating.has_results(opened, read, options):
        sets = score_sources(opened, options)
        results = {name: scored.to_dict() for name, scored in sets.items()}
    if against is not None:
        if not isinstance(opened, Opened):
            remedy = "A paired test needs the answers themselves."
            raise input_error("gate", "path", "be predictions where `against` is given", got=str(path), remedy=remedy)
        comparing = compare_options(options, margin)
        file, theirs = of_other(against, path, read, "gate")
        with renamed(path="against"):
            other = open_source(file, theirs, function="gate")
        results = gating.with_margin_tests(results, opened, other, comparing, conditions)
    if set_name:
        if absent := [name for name in set_name if name not in results]:
            known = f"There are {', '.join(results)}."
            raise input_error("gate", "set", "be among the results", got=absent[0], remedy=known)
        results = {name: results[name] for name in set_name}
    if sequential:
        verdicts = gating.check_sequentially(conditions, results)
        end_rehearsal()
        for tested, name, holds in verdicts:
            found = results[name]["until"].get("own") or results[name]["until"]
            unknown = "ask for more" if found["n_asked"] < found["n_in_all"] else "not known, and all are asked"
            word = {True: "pass", False: "fail", None: unknown}[holds]
            ends = f"{found['low']:.4f} to {found['high']:.4f} after {found['n_asked']:,} of {found['n_in_all']:,}"
            echo(f"{word}: {tested} ({ends}: {name})")
        said = {holds for *_, holds in verdicts}
        raise SystemExit(FAILED if False in said else MORE if None in said else 0)
    checks = gating.check(conditions, results, allow_degenerate=allow_degenerate)
    if isinstance(opened, Opened) and not sets and not all(one.passed for one in checks):
        sets = score_sources(opened, options)
    checks = gating.with_worst(checks, sets)
    end_rehearsal()
    for warning in gating.warnings_of(results, conditions):
        say(f"warning: {warning}")
    echo(verdict(checks))
    if not all(one.passed for one in checks):
        raise SystemExit(FAILED)


def verdict(checks: Sequence[Check]) -> str:
    """Return the verdict, with the value that decided it: the one furthest outside, else the nearest inside."""
    failed = [one for one in checks if not one.passed]
    tightest = min(failed or checks, key=lambda one: one.condition.margin(one.value))
    is_undefined = math.isnan(tightest.value)
    is_count = tightest.value > 1.0 and tightest.value.is_integer()
    value = "undefined" if is_undefined else f"{tightest.value:,.{0 if is_count else 4}f}"
    conditions = " and ".join(dict.fromkeys(str(one.condition) for one in checks))
    n_sets = len({one.set_name for one in checks})
    others = "" if n_sets == 1 else f"; {n_sets} sets"
    why = f". {'Undefined' if is_undefined else 'Says too little'}: {tightest.reason}" * bool(tightest.reason)
    why += f". Look at {', '.join(tightest.worst)}" * bool(tightest.worst)
    parts = tightest.set_name, tightest.condition.what, tightest.condition.meaning, tightest.within
    what = ", ".join(filter(None, parts))
    return f"{'fail' if failed else 'pass'}: {conditions} (found {value}: {what}{others}){why}"
