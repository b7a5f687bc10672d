"""The lexical baseline: hashing against a plain loop, both ways of batching, both heads, saving."""

from __future__ import annotations

import subprocess
import sys
import warnings
from hashlib import blake2b

import numpy as np
import pytest
import torch
from helpers.examples import examples
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.data.tasks import ModelInput, get_task
from paraconsist.errors import InputError
from paraconsist.models.classifier import Classifier
from paraconsist.models.labels import resolve_label_map
from paraconsist.models.loading import load_model
from paraconsist.models.word_models import (
    BowClassifier,
    BowConfig,
    BowForMultipleChoice,
    BowForSequenceClassification,
    hash_ngrams,
    split_words,
)

DEFEASIBLE, ABDUCTIVE = get_task("defeasible_nli"), get_task("abductive_nli")
M64 = 2**64 - 1


def _mix(value: int) -> int:
    """splitmix64's finaliser, in Python's integers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & M64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & M64
    return value ^ (value >> 31)


def _naive(text: str, max_n: int, n_buckets: int, salt: str) -> list[int]:
    def word_hash(word):
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.encode())
        return int.from_bytes(digest.digest(), "little")

    hashes = [word_hash(word) for word in split_words(text)]
    features = []
    for n in range(1, max_n + 1):
        for start in range(len(hashes) - n + 1):
            rolling = hashes[start]
            for step in range(1, n):
                rolling = _mix((rolling * 0x9E3779B97F4A7C15) & M64) ^ hashes[start + step]
            features.append(_mix(rolling) % n_buckets + 1)
    return features


@examples(200)
@given(st.lists(st.text(alphabet="ab c.'é\n", max_size=12), max_size=5), st.integers(1, 5))
def test_hashing_equals_a_plain_loop_over_ngrams(texts, max_n):
    features, lengths = hash_ngrams(texts, max_n=max_n, n_buckets=997, salt="text")
    expected = [_naive(text, max_n, 997, "text") for text in texts]
    assert lengths.tolist() == [len(row) for row in expected]
    assert features.tolist() == [feature for row in expected for feature in row]


@pytest.mark.slow
def test_hashing_is_the_same_in_every_process_and_version():
    # written down once: a change makes every saved model wrong, and must raise BowConfig.hashing
    features, lengths = hash_ngrams(["The dog barks.", ""], max_n=2, n_buckets=2**18, salt="text")
    assert lengths.tolist() == [7, 0]
    code = (
        "from paraconsist.models.word_models import hash_ngrams;"
        "print(hash_ngrams(['The dog barks.', ''], max_n=2, n_buckets=2**18, salt='text')[0].tolist())"
    )
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert result.stdout.strip() == str(features.tolist())
    assert features.tolist() == [50434, 92875, 135887, 239047, 250566, 166271, 177663]


def test_words():
    assert split_words("PersonX's dog -- BARKS!") == ["personx's", "dog", "-", "-", "barks", "!"]


def _bow(kind=BowForSequenceClassification, n_buckets=503):
    torch.manual_seed(0)
    labels = DEFEASIBLE.label_names
    config = BowConfig(
        n_buckets=n_buckets,
        embedding_dim=4,
        id2label=dict(enumerate(labels)),
        label2id={n: i for i, n in enumerate(labels)},
    )
    return BowClassifier(kind(config).eval(), labels, {"model": "bow"})


INPUTS = [
    (ModelInput("a dog sleeps", "it is late"),),
    (ModelInput("", ""),),
    (ModelInput("a dog sleeps and a cat does not sleep at all", None),),
]


def test_padded_and_flat_bags_give_the_same_scores():
    classifier = _bow()
    batch = classifier.prepare(INPUTS)
    with torch.inference_mode():
        padded = classifier.module(**classifier.collate(batch)).logits
    torch.testing.assert_close(classifier.logits(batch), padded, rtol=0, atol=1e-5)
    alone = torch.cat([classifier.logits([row]) for row in batch])
    torch.testing.assert_close(alone, padded, rtol=0, atol=1e-5)


def test_text_and_pair_have_separate_name_spaces():
    classifier = _bow(n_buckets=2**18)
    one, other = classifier.prepare([(ModelInput("big dog", "old cat"),), (ModelInput("old cat", "big dog"),)])
    assert set(one.sequences[0]).isdisjoint(other.sequences[0])
    assert one.n_tokens == one.width == 6
    assert classifier.prepare([]) == []


def test_multiple_choice_scores_each_choice():
    classifier = _bow(BowForMultipleChoice)
    rows = [
        {"observation_1": "It rained", "observation_2": "She was wet", "hypothesis_1": a, "hypothesis_2": b}
        for a, b in [("no umbrella", "she stayed in"), ("she stayed in", "no umbrella"), ("x", "x")]
    ]
    batch = classifier.prepare([classifier.encode(ABDUCTIVE, row) for row in rows])
    assert [row.n_sequences for row in batch] == [2, 2, 2]
    scores = classifier.logits(batch)
    assert scores.shape == (3, 2)
    torch.testing.assert_close(scores[0], scores[1].flip(0))
    assert scores[2, 0] == scores[2, 1]
    with torch.inference_mode():
        torch.testing.assert_close(classifier.module(**classifier.collate(batch)).logits, scores, rtol=0, atol=1e-5)


def test_saved_and_loaded_it_gives_the_same_scores(tmp_path):
    classifier = _bow()
    classifier.module.save_pretrained(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    loaded = load_model(tmp_path, task=DEFEASIBLE)
    assert isinstance(loaded, Classifier)
    assert loaded.label_names == ("weakener", "strengthener")
    assert not loaded.pads
    assert resolve_label_map(loaded.label_names, DEFEASIBLE.label_names).is_identity
    torch.testing.assert_close(
        loaded.logits(loaded.prepare(INPUTS)), classifier.logits(classifier.prepare(INPUTS)), rtol=0, atol=0
    )
    assert len(loaded.identity["weights_hash"]) == 64
    assert loaded.identity["architecture"] == "BowForSequenceClassification"


def test_an_old_hashing_or_a_max_length_is_refused(tmp_path):
    _bow().module.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="cuts nothing"):
        load_model(tmp_path, task=DEFEASIBLE, max_length=16)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"hashing": 1', '"hashing": 0'))
    with pytest.raises(InputError, match="another version of the n-gram hashing"):
        load_model(tmp_path, task=DEFEASIBLE)


def test_whole_sets_are_hashed_at_once():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(5000)])
    rows = [(ModelInput(" ".join(rng.choice(words, 15)), " ".join(rng.choice(words, 8))),) for _ in range(3000)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared = _bow().prepare(rows)
    assert len(prepared) == 3000
    assert all(row.n_tokens == (15 + 14 + 13 + 12) + (8 + 7 + 6 + 5) for row in prepared)
