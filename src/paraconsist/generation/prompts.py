"""What a generator reads for a sentence, solved examples included, and what is taken of the text it writes."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from paraconsist.errors import input_error
from paraconsist.generation.settings import GeneratorSettings

#: Solved examples for prompts: our own sentences.
EXAMPLES = (
    ("The boy put his shoes by the door.", "By the door stood the shoes that the boy had taken off."),
    ("She has no time to cook tonight.", "This evening she is too busy to make dinner."),
    ("A man is waiting for the bus.", "Someone stands at the stop until his bus comes."),
    ("The shop was closed when they came.", "By the time they got to the store, it had shut."),
    ("He plays the piano very well.", "He is an excellent pianist."),
    ("Two children are throwing snowballs.", "A pair of kids are having a snowball fight."),
    ("Her brother lent her the money.", "She borrowed the money from her brother."),
    ("The dog is afraid of thunder.", "Thunder frightens the dog."),
    ("They moved here ten years ago.", "They have lived here for a decade."),
    ("Nobody answered the phone.", "The telephone rang, but no one picked it up."),
)


def check_examples(settings: GeneratorSettings, examples: Sequence[tuple[str, str]]) -> None:
    """Refuse too few solved examples for a prompt.

    Raises
    ------
    InputError
    """
    if settings.n_examples > len(examples):
        must = f"be at least {settings.n_examples} for this prompt"
        raise input_error("paraphrase", "examples", must, got=len(examples))


def prompt_of(settings: GeneratorSettings, examples: Sequence[tuple[str, str]], sentence: str) -> str:
    """Return the whole prompt for a sentence."""
    solved = "".join(f"Sentence: {a}\nParaphrase: {b}\n\n" for a, b in examples[: settings.n_examples])
    return settings.prompt.replace("{examples}", solved).replace("{sentence}", sentence)


def tidy(written: str) -> str:
    """Take the first line that says something, out of its quotation marks."""
    line = next((line.strip() for line in written.splitlines() if line.strip()), "")
    for mark in ('""', "''", "“”"):
        if len(line) > 1 and line[0] == mark[0] and line[-1] == mark[1] and not set(mark) & set(line[1:-1]):
            line = line[1:-1].strip()
    return " ".join(line.split())


def read_examples(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read solved examples from a CSV with the columns original and paraphrase.

    Raises
    ------
    InputError
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError) as problem:
        raise input_error(
            "paraphrase", "examples", "name a CSV that can be read", got=str(path), remedy=f"{problem}."
        ) from None
    for number, row in enumerate(rows):
        if not (row.get("original") or "").strip() or not (row.get("paraphrase") or "").strip():
            raise input_error(
                "paraphrase", "examples", "have texts in the columns original and paraphrase", got=row, row=number
            )
    return [(row["original"], row["paraphrase"]) for row in rows]
