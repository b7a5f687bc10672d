"""Tables of indices of sensitivity to wording: which is which under another name, and what self-pairs hide.

A line of ``docs/indices.csv`` has an index of `paraconsist.prompt_sensitivity`, what papers call it, which papers (by
number, of the function's references), and what it equals where, as an expression in results;
``tests/measures/test_indices.py`` proves each.
"""

from __future__ import annotations

import csv
import re

import numpy as np
import pandas as pd
from table_sources import ROOT, Cells, data, table

import paraconsist as pc


def index_rows() -> list[dict[str, str]]:
    """The lines of the glossary."""
    with (ROOT / "docs" / "indices.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def papers() -> dict[str, str]:
    """Number -> authors and year (or the name) of the references of `paraconsist.prompt_sensitivity`."""
    references = re.findall(r"^ *\.\. \[(\d+)\] (.*?\(\d{4}\)|\w+)", pc.prompt_sensitivity.__doc__ or "", re.MULTILINE)
    return dict(references)


@table("indices", "docs/concepts/indices.md", needs_data=False)
def indices() -> list[Cells]:
    """Every index with its names, its papers and what it equals."""
    names, made = papers(), list[Cells]()
    for row in index_rows():
        is_first = not any(cells[0] == f"`{row['index']}`" for cells in made)
        sources = ", ".join(names[number] for number in row["papers"].split())
        called = [row["also called"], sources]
        equals = [f"`{row['equals']}`" if row["equals"] else "", row["where"]]
        made.append([f"`{row['index']}`" if is_first else "", *called, *equals])
    return made


@table("self_pairs", "docs/concepts/indices.md")
def self_pairs() -> list[Cells]:
    """Models of llm-consistency-study whose rank on TruthfulQA changes without self-pairs, by their rank with these."""
    study = pd.read_parquet(data() / "free_text" / "consistency_study.parquet").query("dataset == 'truthful_qa'")
    verdicts = ["correct", "incorrect", "not_attempted"]
    values = {}
    for model, problems in study.groupby("model"):
        n_answers = problems[verdicts].fillna(0).astype(int).to_numpy()
        n_answers = n_answers + (problems["original_verdict"].to_numpy()[:, np.newaxis] == np.array(verdicts))
        answers = np.tile(np.arange(3), len(problems)).repeat(n_answers.ravel())
        buckets = np.arange(len(problems)).repeat(n_answers.sum(axis=1))
        result = pc.prompt_sensitivity(answers, None, buckets, n_resamples=9)
        values[model] = [result.agreement_plugin, result.agreement]
    table_of = pd.DataFrame(values, ["with", "without"]).T
    ranks = table_of.rank(ascending=False).astype(int)
    moved = ranks[ranks["with"] != ranks["without"]].sort_values("with")
    made = list[Cells]()
    for model, rank in moved.iterrows():
        name = str(model).split("/")[-1].replace("[with_thinking]", ", thinking")
        cells = [
            [f"{table_of.loc[model, kind]:.3f}".removeprefix("0"), str(rank[kind])] for kind in ("with", "without")
        ]
        made.append([name, *cells[0], *cells[1]])
    return made
