"""What comparers of answers say of five systems that people judged (EVOUNA), and judges under 26 wordings."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pyarrow.parquet as pq
from table_sources import ROOT, Cells, data, table

from paraconsist.comparing.comparer import get_comparer
from paraconsist.reporting.plots.canvas import Plot
from paraconsist.studies.plots import curve_plot

sys.path += [str(ROOT / "benchmarks"), str(ROOT / "examples" / "judges")]
import relevance
from comparers import area, judged, similarities

SYSTEMS = {"fid": "FiD", "gpt35": "GPT-3.5", "chatgpt": "ChatGPT", "gpt4": "GPT-4", "newbing": "New Bing"}
COMPARERS = ("text", "contains", "tokens")


@cache
def judgements() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the system of each answer, its number of words, and whether people and comparers find it right."""
    rows = judged()
    systems, right = (np.array([row[name] for row in rows]) for name in ("system", "correct"))
    by = {name: similarities(name, rows) >= get_comparer(name).threshold for name in COMPARERS}
    return systems, np.array([len(row["answer"].split()) for row in rows]), {"people": right.astype(bool), **by}


@table("comparer_errors", "docs/concepts/same.md")
def comparer_errors() -> list[Cells]:
    """A line for each system, the tersest first."""
    systems, words, by = judgements()
    made: list[Cells] = []
    for system, label in SYSTEMS.items():
        mine = systems == system
        shares = [f"{100 * by[name][mine].mean():.1f}" for name in ("people", *COMPARERS)]
        made.append([label, f"{np.median(words[mine]):.0f}", *shares])
    return made


@table("comparer_sensitivity", "docs/concepts/same.md")
def comparer_sensitivity() -> str:
    """The least and the greatest share of right answers that `tokens` finds."""
    systems, _, by = judgements()
    shares = [100 * by["tokens"][by["people"] & (systems == system)].mean() for system in SYSTEMS]
    return f"{min(shares):.0f} to {max(shares):.0f} %"


@table("similar_as_check", "docs/howto/paraphrase.md")
def similar_as_check() -> str:
    """How well the score of `similar` tells the variations of queries that people found valid from the others."""
    rows = pq.read_table(data() / "validity" / "query_variations.parquet").to_pylist()
    rows = [row for row in rows if row["annotator"] is not None]  # the others were set by a rule
    valid = np.array([row["valid"] for row in rows], dtype=bool)
    comparer = get_comparer("similar")
    values = (comparer.values([row[name] for row in rows]) for name in ("query", "variation"))
    scores = comparer.pairs(*values)
    return f"{area(scores, valid):.2f}"


def terse_and_verbose() -> Plot:
    """Return the plot of the right answers that comparers find, by the length of the answer."""
    _, words, by = judgements()
    right, octaves = by["people"], np.clip(np.log2(np.maximum(words, 1)).astype(int), 0, 6)
    members = [right & (octaves == octave) for octave in range(7)]
    series = {name: [(float(np.median(words[of])), float(by[name][of].mean())) for of in members] for name in COMPARERS}
    return curve_plot(
        "terse_and_verbose",
        "The longer the answer, the more right ones a comparer misses",
        series,
        xlabel="words of the answer",
        ylabel="right answers that are found, per cent",
        log=True,
        caption="Answers of five systems to Natural Questions that people find right.",
    )


@cache
def judges() -> list[relevance.Judge]:
    """Return the judges in binary mode, also without the wordings that ask the opposite, and in graded mode."""
    found = []
    for judge in relevance.read(data()):
        found += [judge, judge.without(relevance.REVERSED)] if judge.mode == "binary" else [judge]
    return found


def called(judge: relevance.Judge) -> str:
    return f"{judge.name}, {judge.verdicts.shape[1]} wordings"


@table("judges_consistency", "docs/judges.md")
def judges_consistency() -> list[Cells]:
    """P_C, the same verdict, and accuracy by wording."""
    return [[called(judge), f"{len(judge.labels):,}", *relevance.consistency(judge)] for judge in judges()]


def _apart() -> list[relevance.Judge]:
    return [judge for judge in judges() if not set(relevance.REVERSED) <= set(judge.verdicts) or judge.mode == "graded"]


@table("judges_variance", "docs/judges.md")
def judges_variance() -> list[Cells]:
    """Shares of the variance of right and wrong."""
    return [[judge.name, *relevance.shares(judge)] for judge in _apart()]


@table("judges_people", "docs/judges.md")
def judges_people() -> list[Cells]:
    """Kappa with the assessors."""
    return [[judge.name, *relevance.with_people(judge)] for judge in _apart()]


@table("judges_two", "docs/judges.md")
def judges_two() -> list[Cells]:
    """What two wordings say."""
    return [[judge.name, *relevance.of_two(judge)] for judge in _apart()]


@table("judges_alarm", "docs/judges.md")
def judges_alarm() -> str:
    """The alarm of each judge that has one."""
    alarms = [(judge.name, relevance.reversing(judge)) for judge in judges()]
    return "; ".join(f"{name}: {alarm.partition(':')[0]}" for name, alarm in alarms if alarm)
