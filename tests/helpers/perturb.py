"""Small labelled sets, and WordNet where it is, for the tests of perturbing."""

import csv

import pytest

from paraconsist.data.tasks import get_task
from paraconsist.transforms import labelled_sets
from paraconsist.transforms.lexicon import find_wordnet, load_wordnet
from paraconsist.transforms.perturbation import LabelledRow, LabelledSet, RowOptions

NLI_ROWS = [
    ("A girl reads.", "A girl is awake.", "entailment"),
    ("A girl reads.", "A girl likes books.", "neutral"),
    ("A girl reads.", "A girl is asleep.", "contradiction"),
    ("A dog barks.", "An animal makes noise.", "entailment"),
]


def labelled(task, rows, label_names=None):
    names = label_names or get_task(task).label_names
    made = [LabelledRow(f"e{i}", f"e{i}", tuple(texts), names.index(label)) for i, (*texts, label) in enumerate(rows)]
    return LabelledSet("toy", get_task(task), tuple(names), made)


def load_labelled(spec, skipped, reading=None):
    """Return the labelled rows of a file or set."""
    return labelled_sets.labelled(labelled_sets.load_rows(spec, skipped, reading or RowOptions()), skipped)


def write_csv(path, columns, rows):
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])
    return path


def wordnet_or_skip():
    """Return nltk's reader of WordNet."""
    if find_wordnet() is None:
        pytest.skip("WordNet not found: python -m nltk.downloader wordnet, or apt-get install wordnet-base")
    return load_wordnet()
