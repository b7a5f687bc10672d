"""Small example files for the pages: sentences of our own (sentences/*.tsv) with invented answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from importlib.resources import files

_NAMES = {"E": "entailment", "N": "neutral", "C": "contradiction", "p": "positive", "n": "negative"}


def texts_example() -> str:
    """One row for each text: twelve items, each an original and three paraphrases."""
    return _csv(
        {
            "bucket_id": item["id"],
            "role": "paraphrase" if place else "original",
            "premise": item["premise"],
            "hypothesis": hypothesis,
            "label": _NAMES[item["label"]],
            "prediction": _NAMES[answer],
        }
        for item in _items()
        for place, (hypothesis, answer) in enumerate(_wordings(item))
    )


def pairs_example() -> str:
    """One row for each pair of an original and one of its paraphrases, with both answers."""
    return _csv(_pairs())


def two_models_example() -> str:
    """One row for each paraphrase, with the answers of two models."""
    return _csv(
        {
            "bucket_id": item["id"],
            "premise": item["premise"],
            "hypothesis": hypothesis,
            "label": _NAMES[item["label"]],
            "prediction_1": _NAMES[answer if (3 * number + place) % 5 == 0 else item["label"]],
            "prediction_2": _NAMES[answer],
        }
        for number, item in enumerate(_items())
        for place, (hypothesis, answer) in enumerate(_wordings(item)[1:])
    )


def changed_pairs_example() -> str:
    """The same as `pairs_example` for the columns of the IE test."""
    names = {"prediction": "transformed_prediction", "original_prediction": "prediction"}
    return _csv({names.get(name, name): value for name, value in row.items()} for row in _pairs())


def swapped_pairs_example() -> str:
    """One row for each pair of sentences, with the answers in both orders."""
    items = _items()
    rows: list[dict[str, str]] = []
    for number, item in enumerate(items):
        (first, answer), (reworded, other_answer), *_ = _wordings(item)
        other = items[(number + 5) % len(items)]["hypothesis"]
        for second, gold, is_steady in ((reworded, "same", answer == other_answer), (other, "other", True)):
            wrong = "other" if gold == "same" else "same"
            before = gold if (number + len(rows)) % 7 else wrong
            after = before if is_steady and number % 5 != 3 else (wrong if before == gold else gold)
            row = {"sentence_1": first, "sentence_2": second, "label": gold}
            rows.append({**row, "original_prediction": before, "prediction_swapped": after})
    return _csv(rows)


def negated_pairs_example() -> str:
    """One row for each statement and its negation, with both answers."""
    answers = ("original_prediction", "prediction_negated")
    return _csv(
        {name: row[name] for name in ("statement", "negation")} | _named(answers, row["answers"])
        for row in _rows("negations")
    )


def additive_example() -> str:
    """One row for each merged text, with the answers to it and to its two parts."""
    answers = ("part_1_prediction", "part_2_prediction", "merged_prediction")
    return _csv(
        {"part_1": row["part_1"], "part_2": row["part_2"], "label": _NAMES[row["label"]]}
        | _named(answers, row["answers"])
        for row in _rows("remarks")
    )


def transitive_example() -> str:
    """One row for each chain of three statements, with the answers to its three pairs."""
    return _csv(
        {name: row[name] for name in ("statement_1", "statement_2", "statement_3")}
        | _named(("antecedent_1_label", "antecedent_2_label"), row["labels"])
        | _named(("antecedent_1_prediction", "antecedent_2_prediction", "prediction"), row["answers"])
        | {"allowed_labels": "|".join(_NAMES[label] for label in row["allowed"].split("|"))}
        for row in _rows("chains")
    )


def probabilities_example() -> str:
    """One row for each pair, with the probabilities of three classes on both texts."""
    rows = []
    for place, pair in enumerate(_pairs()):
        row = {name: pair[name] for name in ("premise", "original_hypothesis", "hypothesis")}
        sure = 0.5 + 0.045 * ((7 * place) % 10), 0.5 + 0.045 * ((3 * place + 4) % 10)
        for prefix, name, share in zip(("original_p", "p"), ("original_prediction", "prediction"), sure, strict=True):
            for label, letter in enumerate("ENC"):
                value = share if pair[name] == _NAMES[letter] else (1 - share) / 2
                row[f"{prefix}{label}"] = f"{value:.4f}"
        rows.append(row)
    return _csv(rows)


def _pairs() -> list[dict[str, str]]:
    return [
        {
            "group_id": item["id"],
            "premise": item["premise"],
            "original_hypothesis": item["hypothesis"],
            "hypothesis": hypothesis,
            "label": _NAMES[item["label"]],
            "original_prediction": _NAMES[item["answers"][0]],
            "prediction": _NAMES[answer],
        }
        for item in _items()
        for hypothesis, answer in _wordings(item)[1:]
    ]


def _items() -> list[dict[str, str]]:
    return [{"id": f"item {number}", **row} for number, row in enumerate(_rows("items"), 1)]


def _wordings(item: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return an item's hypothesis and its three rewordings, each with the model's answer."""
    names = ("hypothesis", "wording_1", "wording_2", "wording_3")
    return [(item[name], answer) for name, answer in zip(names, item["answers"], strict=True)]


def _named(names: Iterable[str], letters: str) -> dict[str, str]:
    return {name: _NAMES[letter] for name, letter in zip(names, letters, strict=True)}


def _rows(name: str) -> list[dict[str, str]]:
    text = files("paraconsist.reporting.space").joinpath("sentences", f"{name}.tsv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))


def _csv(rows: Iterable[Mapping[str, str]]) -> str:
    first, *others = rows
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(first), lineterminator="\n")
    writer.writeheader()
    writer.writerows([first, *others])
    return text.getvalue()
