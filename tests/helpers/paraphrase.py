"""Tiny models with rows to paraphrase, and a sheet that is filled in, for the tests of paraphrase generation."""

import csv

from helpers.language_models import save_language_model
from helpers.models import tiny_encoder
from helpers.perturb import NLI_ROWS, write_csv


def write_places(folder):
    """Write a causal model, an encoder-decoder, an NLI model, one that is none, and `rows.csv`."""
    save_language_model(folder / "causal", "llama")
    save_language_model(folder / "seq2seq", "t5")
    labels = ("contradiction", "entailment", "neutral")
    words = "a girl reads is awake likes books asleep dog barks an animal makes noise there lady person".split()  # noqa: SIM905
    tiny_encoder(folder / "nli", labels, words=words)
    tiny_encoder(folder / "other", ("good", "bad"), words=words)
    rows = [(premise, hypothesis, label) for premise, hypothesis, label in NLI_ROWS]
    write_csv(folder / "rows.csv", ("premise", "hypothesis", "label"), [*rows, ("A man.", "A dog is here.", "-")])
    return folder


def fill(path, **columns):
    """Write columns of a sheet, one value a row."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for name, said in columns.items():
        for row, value in zip(rows, said, strict=True):
            row[name] = value
    return write_csv(path, tuple(rows[0]), [tuple(row.values()) for row in rows])
