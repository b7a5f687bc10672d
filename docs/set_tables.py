"""The tables of the sets' cards: how many buckets, rows, contexts and labels each has."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from table_sources import ROOT, Cells, card, configs, rows, table, with_role

from paraconsist.dataset_builders.becel.configs import N_GROUPS, N_ROWS, TEST_CASES

_SETS = ("alpha_nli", "delta_snli", "delta_atomic", "delta_social")


@table("paranlu-sets", card("paranlu"))
def paranlu_sets() -> list[Cells]:
    """Buckets, paraphrases, contexts, sizes and labels of ParaNLU's bucket sets."""
    made: list[Cells] = []
    for config in (*_SETS, *(f"{name}_automatic" for name in _SETS)):
        these = rows("paranlu", config)
        sizes = Counter(row["bucket_id"] for row in with_role(these, "paraphrase"))
        labels = Counter(row["label"] for row in with_role(these, "original"))
        counts = [f"{n:,}" for n in (len(sizes), sizes.total(), len({row["group_id"] for row in these}))]
        ends = f"{min(sizes.values())} to {max(sizes.values())}"
        made.append([f"`{config}`", *counts, ends, f"{labels[0]} / {labels[1]}"])
    return made


@table("paranlu-test-sets", card("paranlu"))
def paranlu_test_sets() -> list[Cells]:
    """Rows and contexts of ParaNLU's full test sets."""
    tests = {f"{name}_test": rows("paranlu", f"{name}_test") for name in _SETS}
    return [[f"`{name}`", f"{len(t):,}", f"{len({row['group_id'] for row in t}):,}"] for name, t in tests.items()]


def _becel_counts(config: str) -> Cells:
    name = "/".join(config.rsplit("_", 1))
    return [f"`{config}`", f"{N_ROWS[name]:,}", f"{N_GROUPS[name]:,}", None, None]


@table("becel-cases", card("becel"), needs_data=False)
def becel_cases() -> list[Cells]:
    """Buckets and groups of BECEL's test cases, as the builder declares and checks them."""
    return [_becel_counts(config) for config in TEST_CASES]


@table("becel-others", card("becel"), needs_data=False)
def becel_others() -> list[Cells]:
    """The set that was published and is no test case."""
    return [_becel_counts("wic_negational")]


@table("becel-base", card("becel"), needs_data=False)
def becel_base() -> list[Cells]:
    """Rows of what the test cases were made from."""
    base = [c for c in configs("becel").values() if c.name.rsplit("_", 1)[1] in ("train", "validation", "test")]
    return [[f"`{c.name}`", " + ".join(f"{split['original']:,}" for split in c.counts.values()), None] for c in base]


@table("becel-labels", card("becel"), needs_data=False)
def becel_labels() -> list[Cells]:
    """The labels of BECEL's tasks."""
    made: list[Cells] = []
    for task in ("boolq", "mrpc", "rte", "snli", "wic", "sst2", "ag_news"):
        names = configs("becel")[f"{task}_semantic"].label_names
        made.append([f"`{task}_*`", None, ", ".join(f"{i} `{name}`" for i, name in enumerate(names))])
    return made


@table("parte-sets", card("parte"))
def parte_sets() -> list[Cells]:
    """Buckets of PaRTE by what is paraphrased."""
    made: list[Cells] = []
    for config in ("rte", "rte_normalized"):
        originals = with_role(rows("parte", config), "original")
        parts = Counter(row["paraphrased"] for row in originals)
        counts = [len(originals), *(parts[part] for part in ("premise", "hypothesis", "both"))]
        counts.append(sum(row["gold_label"] == "entailment" for row in originals))
        made.append([f"`{config}`", *(f"{n:,}" for n in (*counts, len({row["group_id"] for row in originals})))])
    return made


@table("parte-tasks", card("parte"))
def parte_tasks() -> list[Cells]:
    """Buckets of PaRTE by source task, the commonest first."""
    tasks = Counter(row["source_task"] for row in with_role(rows("parte", "rte"), "original"))
    return [["buckets", *(str(n) for _, n in tasks.most_common())]]


def sample_lines(name: str) -> list[dict[str, Any]]:
    """The lines of one of the sample set's files."""
    text = (ROOT / "dataset_builders" / "sample" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@table("sample-sets", card("sample"), needs_data=False)
def sample_sets() -> list[Cells]:
    """Rows of the sample set's configurations."""
    made: list[Cells] = []
    for name, config in configs("sample").items():
        counts = " + ".join(str(sum(split.values())) for split in config.counts.values())
        roles = config.counts.get("test", {})
        is_buckets = roles.get("paraphrase")
        what = (
            "the bucket set: {original} originals and {paraphrase} paraphrases".format(**roles) if is_buckets else None
        )
        made.append([f"`{name}`", None, counts, what])
    return made


@table("sample-files", card("sample"), needs_data=False)
def sample_files() -> list[Cells]:
    """Lines, contexts and labels of the sample set's files."""
    made: list[Cells] = []
    for name in ("buckets", "test", "train", "validation"):
        lines = sample_lines(name)
        labels = Counter(line["label"] for line in lines)
        n = f"{len(lines)} buckets, {sum(len(line.get('paraphrases', ())) for line in lines)} paraphrases"
        counts = [len({line["context_id"] for line in lines}), labels["strengthener"], labels["weakener"]]
        made.append([f"`{name}.jsonl`", n if name == "buckets" else str(len(lines)), *map(str, counts), None])
    return made


@table("sample-rewordings", card("sample"), needs_data=False)
def sample_rewordings() -> list[Cells]:
    """Paraphrases of each kind of rewording, and the share of words that they keep."""

    def words(text: str) -> set[str]:
        return set(re.findall(r"[a-z']+", text.lower()))

    overlaps: dict[str, list[float]] = {"light": [], "syntactic": [], "free": []}
    for line in sample_lines("buckets"):
        for paraphrase in line["paraphrases"]:
            one, two = words(line["update"]), words(paraphrase["text"])
            overlaps[paraphrase["rewording"]].append(len(one & two) / len(one | two))
    return [[f"`{name}`", str(len(o)), None, f"{sum(o) / len(o):.2f}"] for name, o in overlaps.items()]
