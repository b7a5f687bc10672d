"""Random tables of texts, and what they score by the papers' formulas, in plain loops over their rows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from fuzz_cases import Case, random_column

Columns = Mapping[str, Sequence[Any]]
Row = dict[str, Any]
Rng = random.Random
NAN = float("nan")


def naive_scores(columns: Columns, policy: str) -> dict[str, dict[str, float]]:
    """Return measure -> key -> value of a table whose cells are texts; a prediction None or empty is unparsed.

    Only those measures are there whose rows the table has.
    """
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    for number, row in enumerate(rows):
        row.setdefault("role", "paraphrase")
        row["unparsed"] = row["prediction"] in (None, "")
        if row["unparsed"]:  # under "wrong" no unparsed answer equals another
            row["prediction"] = ("unparsed", number if policy == "wrong" else 0)
    silent = all(row["unparsed"] for row in rows)
    if policy == "drop_bucket":
        lost = {row["bucket_id"] for row in rows if row["unparsed"]}
        rows = [row for row in rows if row["bucket_id"] not in lost]
    by_role: dict[str, list[Row]] = {}
    for row in rows:
        by_role.setdefault(row["role"], []).append(row)
    values = {}
    if "paraphrase" in by_role:
        values["paraphrastic_consistency"] = _paraphrastic(by_role)
    for measure, role in _PAIRS.items():
        if role in by_role and "original" in by_role:
            values[measure] = _pairs(measure, by_role, role, policy)
    for measure, (role, *parts) in _RULES.items():
        if role in by_role:
            values[measure] = _conclusions(by_role, role, parts)
    for scores in values.values():  # undefined: nothing was read, or no bucket has two rows
        alone = scores.get("n_examples", 0) == scores.get("n_buckets", 1)
        for key, value in scores.items():
            if isinstance(value, float) and (silent or (alone and not key.endswith("accuracy"))):
                scores[key] = NAN
    return values


_PAIRS = {
    "semantic_inconsistency": "paraphrase",
    "prediction_change": "paraphrase",
    "symmetric_inconsistency": "swap",
    "negational_inconsistency": "negation",
}
_RULES = {
    "transitive_inconsistency": ("consequent", "antecedent_1", "antecedent_2"),
    "additive_inconsistency": ("merged", "part_1", "part_2"),
}


def _right(row: Row) -> bool:
    return bool(row["prediction"] == row["label"])


def _mean(values: Sequence[float]) -> float:
    return float(sum(values)) / len(values) if values else NAN


def _paraphrastic(by_role: Mapping[str, list[Row]]) -> dict[str, float]:
    rows, buckets = by_role["paraphrase"], {}
    for row in rows:
        buckets.setdefault(row["bucket_id"], []).append(row)
    consistent, unbiased, within, within_unbiased, agreeing, thetas = [], [], [], [], [], []
    for bucket in buckets.values():
        k = len(bucket)
        c = sum(map(_right, bucket))
        theta = c / k
        thetas.append(theta)
        consistent.append(theta**2 + (1 - theta) ** 2)
        within.append(theta * (1 - theta))
        if k > 1:
            unbiased.append((c * (c - 1) + (k - c) * (k - c - 1)) / (k * (k - 1)))
            within_unbiased.append(theta * (1 - theta) * k / (k - 1))
            same = sum(a["prediction"] == b["prediction"] for a in bucket for b in bucket if a is not b)
            agreeing.append(same / (k * (k - 1)))
    between = _mean([(theta - _mean(thetas)) ** 2 for theta in thetas])
    vap = _mean(within)
    return {
        "accuracy": _mean([_right(row) for row in rows]),
        "original_accuracy": _mean([_right(row) for row in by_role.get("original", ())]),
        "bucket_accuracy": _mean(thetas),
        "paraphrastic_consistency": _mean(consistent),
        "paraphrastic_consistency_unbiased": _mean(unbiased),
        "min_paraphrastic_consistency": 1 - 2 * _mean(thetas) * (1 - _mean(thetas)),
        "agreement_unbiased": _mean(agreeing),
        "vap": vap,
        "vap_unbiased": _mean(within_unbiased),
        "between_variance": between,
        "pvap": vap / (vap + between) if vap + between > 1e-12 else NAN,
        "n_buckets": len(buckets),
        "n_examples": len(rows),
    }


def _pairs(measure: str, by_role: Mapping[str, list[Row]], role: str, policy: str) -> dict[str, float]:
    pairs = [(one, row) for row in by_role[role] for one in by_role["original"] if one["bucket_id"] == row["bucket_id"]]
    differ = [one["prediction"] != row["prediction"] for one, row in pairs]
    if measure == "prediction_change":
        return {
            "change_rate": _mean(differ),
            "n_changed": sum(differ),
            "correct_to_incorrect": sum(_right(one) and not _right(row) for one, row in pairs),
            "incorrect_to_correct": sum(_right(row) and not _right(one) for one, row in pairs),
        }
    broken = differ
    if measure == "negational_inconsistency":
        silent = [policy == "wrong" and (one["unparsed"] or row["unparsed"]) for one, row in pairs]
        broken = [not changed or failed for changed, failed in zip(differ, silent, strict=True)]
    return {
        "inconsistency": _mean(broken),
        "accuracy": _mean([_right(one) for one, _ in pairs]),
        "perturbed_accuracy": _mean([_right(row) for _, row in pairs]),
    }


def _conclusions(by_role: Mapping[str, list[Row]], role: str, parts: Sequence[str]) -> dict[str, float]:
    right = {(row["role"], row["bucket_id"]): _right(row) for part in parts for row in by_role.get(part, ())}
    conditioned = [row for row in by_role[role] if all(right.get((part, row["bucket_id"])) for part in parts)]
    kept = [row["prediction"] in (_allowed(row) if role == "consequent" else [row["label"]]) for row in conditioned]
    return {"inconsistency": 1 - _mean(kept)}


def _allowed(row: Row) -> list[str]:
    """Return the labels that a row's rule allows: those of its column ``allowed_labels``, or its gold label."""
    cell = row.get("allowed_labels")
    if cell is None or cell == "":
        return [row["label"]]
    labels = cell.split("|") if isinstance(cell, str) else cell if isinstance(cell, list) else [cell]
    return [
        str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip() for label in labels
    ]


# ----------------------------------------------------------------------------------------------------------- tables

_LABELS = [
    *(["0", "1"], ["0", "1", "2"], ["-2", "-1", "0"], ["1", "10", "007"], ["1e1", "10", "1.0", "1"], ["true", "false"]),
    *(["yes", "no"], ["a", "A", "a "], ["é", "e\u0301"], ["nan", "None", "null", "NA"], ["0x10", "16", "+16"]),
    *(["x" * 300, "x" * 299 + "y"], ["a,b", 'a"b', "a\nb", "a;b"], ["9007199254740993", "9007199254740992"], ["a"]),
    *(["a\x00", "a", "\x00unparsed"], ["9223372036854775808", "9223372036854775809"], ["2024-01-01", "12:30"], ["1_0"]),
]
_IDS = [label for labels in _LABELS for label in labels] + [f"b{i}" for i in range(30)]
SHAPES: dict[str, tuple[list[str], list[str]]] = {
    "paraphrase": (["original"], ["paraphrase_consistency", "semantic_inconsistency", "prediction_change"]),
    "swap": (["original"], []),
    "negation": (["original"], []),
    "consequent": (["antecedent_1", "antecedent_2"], []),
    "merged": (["part_1", "part_2"], []),
}
STORED = ["csv", "csv quoted", "csv;", "csv utf-16", "tsv", "jsonl", "parquet", "arrow", "pandas", "mapping"]


def table_case(rng: Rng) -> Case:
    """Return a table of texts with how it is stored, and how it is scored."""
    labels, role = rng.choice(_LABELS), rng.choice(["paraphrase", "paraphrase", "paraphrase", *SHAPES])
    ids = rng.sample(_IDS, rng.choice([1, 2, 3, 8, 20]))
    hit, missing = rng.random(), rng.choice([0, 0, 0.1, 0.5])
    rows = []
    for bucket in ids:
        targets = rng.choice([1, 2, 3, 5]) if role == "paraphrase" else 1
        gold = rng.choice(labels)
        for one in [*SHAPES[role][0], *[role] * targets]:
            gold = gold if role in ("paraphrase", "merged") else rng.choice(labels)
            guess = None if rng.random() < missing else gold if rng.random() < hit else rng.choice(labels)
            rows.append({"bucket_id": bucket, "role": one, "label": gold, "prediction": guess})
    if "-1" in labels and "-1" not in {row["label"] for row in rows}:  # where it is no gold label, -1 is no answer
        for row in rows:
            row["label"] = "-1" if row["bucket_id"] == ids[0] else row["label"]
    if rng.random() < 0.2:
        rows.append(rng.choice(rows))
    if rng.random() < 0.5:
        rng.shuffle(rows)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    stored = rng.choice(STORED)
    if role == "paraphrase" and rng.random() < 0.2:
        del columns["role"]
    measures = None
    if role == "paraphrase" and rng.random() < 0.4:
        measures = [rng.choice(["semantic_inconsistency", "prediction_change"])]
    if rng.random() < 0.3:
        columns["group_id"] = [rng.choice(["1e1", "10", "g", "007", "7"]) for _ in rows]
    types = {}
    for name, cells in columns.items():
        usable = ["string", "string", "large_string", "string_view", "dictionary"]
        if all(cell is None or (cell.lstrip("-").isdecimal() and str(int(cell)) == cell) for cell in cells):
            sizes = [abs(int(cell)) for cell in cells if cell is not None]
            usable += ["int64"] * 4 * (max(sizes, default=0) < 2**63) + ["int8"] * (max(sizes, default=0) < 128)
        usable += ["bool"] * 4 if set(cells) <= {"true", "false", None} else []
        types[name] = rng.choice(usable)
    case: Case = {"kind": "table", "columns": columns, "stored": stored, "types": types, "measures": measures}
    case["unparsed"] = rng.choice(["wrong", "wrong", "own_class", "drop_bucket"])
    if stored in ("parquet", "arrow") and rng.random() < 0.4:
        names = ["x", "theme", "probabilities", "input_id", "allowed_labels", "example_id", "raw_output", "text"]
        case["extra"] = [rng.choice(names), rng.randrange(10**6)]
    return case


def extra_column(seed: int, n: int) -> pa.Array:
    """Return a column of any type, always the same for a seed."""
    return random_column(random.Random(seed), n)
