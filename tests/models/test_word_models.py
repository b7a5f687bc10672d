"""Word-level models: splitting, vocabulary, vectors, the arithmetic against plain loops, padding, saving, running."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.errors import refuses
from helpers.examples import examples
from helpers.models import tiny_encoder
from helpers.rows import easy_rows, record, write_csv
from hypothesis import given
from hypothesis import strategies as st

from paraconsist.cli.app import main
from paraconsist.data.predictions import read_predictions
from paraconsist.data.tasks import ModelInput, get_task
from paraconsist.errors import InputError
from paraconsist.models.classifier import Classifier
from paraconsist.models.labels import resolve_label_map
from paraconsist.models.loading import load_model
from paraconsist.models.pretrained import get_baseline
from paraconsist.models.training.options import WORD_MODELS, TrainingOptions, options_from_preset
from paraconsist.models.training.trainer import train
from paraconsist.models.word_models import (
    POOLINGS,
    VOCABULARY_FILE,
    BowClassifier,
    BowConfig,
    BowForMultipleChoice,
    BowForSequenceClassification,
    Vocabulary,
    WordClassifier,
    hash_ngrams,
    read_vectors,
    split_text,
    split_words,
)

DEFEASIBLE, ABDUCTIVE = get_task("defeasible_nli"), get_task("abductive_nli")
LABELS = DEFEASIBLE.label_names
VOCABULARY = Vocabulary(["a", "dog", "sleeps", "cat", "does", "n't", "bark", "at", "night", "loudly"])
EVERY = [("glove_bow", {}), *(("bilstm", {"pooling": pooling, "lstm_size": 6}) for pooling in POOLINGS)]
INPUTS = [
    (ModelInput("a dog sleeps", "a cat"),),
    (ModelInput("", ""),),
    (ModelInput("a zebra", ""),),
    (ModelInput("the cat doesn't bark at a dog at night, and a dog doesn't bark at a cat", "dog"),),
]


def _classifier(name: str, *, multiple_choice=False, paired=True, labels=LABELS, **settings) -> WordClassifier:
    torch.manual_seed(0)
    own = get_baseline(name)
    config = own.config(
        vocab_size=len(VOCABULARY), embedding_dim=5, mlp_size=7, paired=paired, **settings,
        id2label=dict(enumerate(labels)), label2id={n: i for i, n in enumerate(labels)},
    )  # fmt: skip
    module = own.heads[multiple_choice](config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(4)  # small ones give nearly uniform answers
    return WordClassifier(module, VOCABULARY, labels, {"model": name})


def test_words_split_as_files_of_vectors_split_them():
    assert split_text("She's can\u2019t \u201cquote\u201d the dogs' n't 's '' rock'n'roll") == [
        "she", "'s", "ca", "n't", '"', "quote", '"', "the", "dogs", "'", "n't", "'s", "''", "rock'n'roll",
    ]  # fmt: skip


@examples(200)
@given(st.text(alphabet="ab'nts .\u2019\n\ud800", max_size=20))
def test_splitting_loses_no_letter_and_splits_no_further(text):
    words = split_text(text)
    assert "".join(words) == "".join(text.lower().replace("\u2019", "'").split())
    assert [part for word in words for part in split_text(word)] == words


def test_the_vocabulary_comes_back_whatever_its_words(tmp_path):
    words = ["a", "\ud800", "é", "line\u2028end", '"']
    Vocabulary(words).save(tmp_path)
    loaded = Vocabulary.load(tmp_path)
    assert loaded.words == tuple(words)
    assert len(loaded) == 7
    assert [numbers.tolist() for numbers in loaded.encode(["A é b", ""])] == [[2, 4, 1], []]


def _vectors(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_vectors_are_read_from_glove_and_word2vec_files(tmp_path):
    lines = ["the 1 2 3", ". . . 9 9 9", "The 4 4 4", "dog -1 0.5 1e-2", "wolf 7 8 9", "dog 5 5 5", "owl 6 6 6"]
    file = _vectors(tmp_path / "glove.txt", lines)
    found = read_vectors(file, {"dog", "the", "unseen"})
    assert list(found) == ["the", "dog"]
    np.testing.assert_allclose([*found.values()], [[1, 2, 3], [-1, 0.5, 0.01]])
    assert found["dog"].dtype == np.float32
    # more words, in the order of the file; "The" and ". ." can never come out of a text
    assert list(read_vectors(file, {"dog"}, extra=2)) == ["the", "dog", "wolf"]
    other = _vectors(tmp_path / "word2vec.txt", ["3 2", "the 1 2 ", "dog 3 4 "])
    np.testing.assert_allclose(read_vectors(other, {"dog"})["dog"], [3, 4])


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        (["the 1 2", "dog 1"], r"hold a word and 2 numbers on each line; got 'dog 1' at row 1"),
        (["dog 1 x"], r"2 numbers on each line; got 'dog 1 x' at row 0"),
        (["dog nan 1"], "2 numbers on each line"),
        (["dog"], "its numbers"),
        (["cat 1 2"], "hold words of the training rows"),
    ],
)
def test_files_that_hold_no_vectors(tmp_path, lines, match):
    refuses(match, read_vectors, _vectors(tmp_path / "v.txt", lines), {"dog"})
    refuses("a file that can be read", read_vectors, tmp_path / "absent.txt", {"dog"})


def _naive_scores(classifier: WordClassifier, row: ModelInput) -> torch.Tensor:
    """One row on its own, in plain loops, without padding and packing."""
    module, config = classifier.module, classifier.module.config

    def vector(text: str) -> torch.Tensor:
        numbers = [VOCABULARY.number(word) for word in split_text(text)]
        if not numbers:
            return torch.zeros(module.encoder.size)
        vectors = [module.embedding.weight[number] for number in numbers]
        if config.model_type == "paraconsist_glove_bow":
            return sum(vectors) / len(vectors)
        states, (last, _) = module.encoder.lstm(torch.stack(vectors)[None])
        if config.pooling == "last":
            return torch.cat([last[-2, 0], last[-1, 0]])
        if config.pooling == "mean":
            return sum(states[0]) / len(numbers)
        return torch.stack([max(states[0, :, unit]) for unit in range(states.shape[2])])

    u = combined = vector(row.text)
    if config.paired:
        v = vector(row.text_pair)
        combined = torch.cat([u, v, abs(u - v), u * v])
    for layer in module.head:
        if isinstance(layer, torch.nn.Linear):
            last_layer = layer is module.head[-1]
            combined = layer.weight @ combined + layer.bias
            combined = combined if last_layer else combined.clamp(min=0)
    return combined


@pytest.mark.parametrize(("name", "options"), EVERY)
@pytest.mark.parametrize("paired", [True, False])
def test_scores_equal_the_definition_row_by_row(name, options, paired):
    classifier = _classifier(name, paired=paired, **options)
    inputs = INPUTS if paired else [(ModelInput(row.text, None),) for (row,) in INPUTS]
    with torch.inference_mode():
        expected = torch.stack([_naive_scores(classifier, row) for (row,) in inputs])
    assert expected.std(dim=0).min() > 1e-3
    torch.testing.assert_close(classifier.logits(classifier.prepare(inputs)), expected, rtol=0, atol=1e-5)
    assert sum(isinstance(layer, torch.nn.Linear) for layer in classifier.module.head) == 3


@pytest.mark.parametrize(("name", "options"), EVERY)
def test_a_row_does_not_depend_on_its_batch(name, options):
    classifier = _classifier(name, **options)
    batch = classifier.prepare(INPUTS)
    together = classifier.logits(batch)
    alone = torch.cat([classifier.logits([row]) for row in batch])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)
    torch.testing.assert_close(classifier.logits(batch[::-1]).flip(0), together, rtol=0, atol=1e-5)
    ids = classifier.collate(batch)["input_ids"]
    wider = torch.nn.functional.pad(ids, (0, 9))
    with torch.inference_mode():
        torch.testing.assert_close(classifier.module(wider).logits, together, rtol=0, atol=1e-5)
    assert [(row.n_sequences, row.n_tokens, row.width) for row in batch[:3]] == [(2, 5, 3), (2, 0, 0), (2, 2, 2)]
    assert classifier.prepare([]) == []


@pytest.mark.parametrize("name", WORD_MODELS)
def test_gradients_of_empty_texts_are_finite(name):
    classifier = _classifier(name)
    ids = classifier.collate(classifier.prepare(INPUTS))["input_ids"]
    classifier.module(ids, labels=torch.tensor([0, 1, 0, 1])).loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in classifier.module.parameters())
    assert not classifier.module.embedding.weight.grad[0].any()


@pytest.mark.parametrize(("name", "options"), EVERY)
def test_saved_and_loaded_it_gives_the_same_scores(tmp_path, name, options):
    classifier = _classifier(name, **options)
    classifier.module.save_pretrained(tmp_path)
    VOCABULARY.save(tmp_path)
    loaded = load_model(tmp_path, task=DEFEASIBLE)
    assert isinstance(loaded, Classifier)
    assert loaded.label_names == LABELS
    torch.testing.assert_close(
        loaded.logits(loaded.prepare(INPUTS)), classifier.logits(classifier.prepare(INPUTS)), rtol=0, atol=0
    )
    half = load_model(tmp_path, task=DEFEASIBLE, dtype="bfloat16")
    assert half.logits(half.prepare(INPUTS)).dtype == torch.float32
    before = loaded.identity
    Vocabulary([*VOCABULARY.words[::-1]]).save(tmp_path)  # another order: other answers, so another identity
    after = load_model(tmp_path, task=DEFEASIBLE).identity
    assert before["weights_hash"] == after["weights_hash"]
    assert before["settings_hash"] != after["settings_hash"]


def test_folders_that_cannot_be_run(tmp_path):
    _classifier("glove_bow").module.save_pretrained(tmp_path)
    refuses("Its vocabulary cannot be read", load_model, tmp_path, task=DEFEASIBLE)
    Vocabulary(["a"]).save(tmp_path)
    refuses("has 3 places, its weights 12", load_model, tmp_path, task=DEFEASIBLE)
    (tmp_path / VOCABULARY_FILE).write_text('["a", "a"]')
    refuses("not a list of distinct words", load_model, tmp_path, task=DEFEASIBLE)
    VOCABULARY.save(tmp_path)
    refuses("cuts nothing", load_model, tmp_path, task=DEFEASIBLE, max_length=16)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"splitting": 1', '"splitting": 0'))
    refuses("another version of the word splitting", load_model, tmp_path, task=DEFEASIBLE)
    refuses(r"be a trained model; got 'bilstm'.*train --model bilstm", load_model, "bilstm", task=DEFEASIBLE)
    single = _classifier("glove_bow", paired=False)
    with pytest.raises(InputError, match=r"trained on single texts.*'b' at row 1"):
        single.prepare([(ModelInput("a", None),), (ModelInput("a", "b"),)])


@pytest.fixture
def files(tmp_path):
    return write_csv(tmp_path / "train.csv", easy_rows(200)), write_csv(tmp_path / "dev.csv", easy_rows(60, seed=1))


def _options(files, output, model, **overrides) -> TrainingOptions:
    settings = {"embedding_dim": 16, "batch_size": 16, "epochs": 6.0, "learning_rate": 1e-2, "lstm_size": 8}
    settings |= {"device": "cpu", "mlp_size": 16, "dropout": 0.0} | overrides
    return options_from_preset(None, output=output, model=model, train_file=files[0], eval_file=files[1], **settings)


def _command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


@pytest.mark.slow
@pytest.mark.parametrize("model", WORD_MODELS)
def test_it_learns_repeats_itself_and_the_folder_runs(files, tmp_path, model, capsys):
    said: list[str] = []
    folder = train(_options(files, tmp_path / "model", model), say=said.append)
    names = sorted(p.name for p in folder.iterdir())
    assert names == ["config.json", "model.safetensors", "training.json", "words.json"]
    assert "Word vectors start random: no file was given (`vectors` takes GloVe's text format)." in said
    assert any(line.startswith("Vocabulary: 23 of the 23 words") for line in said)
    accuracy = record(folder)["metrics"]["eval_accuracy"]
    assert accuracy > 0.9
    again = train(_options(files, tmp_path / "again", model))
    assert (again / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    rows = [{"bucket_id": f"b{i % 10}", **row} for i, row in enumerate(easy_rows(60, seed=1))]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    ran = _command(
        "run", "--model", folder, "--dataset", tmp_path / "set.jsonl", "--output", tmp_path / "run",
        "--device", "cpu", "--n-resamples", 10,
    )  # fmt: skip
    assert ran == 0, capsys.readouterr().err
    table = read_predictions(tmp_path / "run" / "predictions" / "set.parquet").table
    hits = [p == y for p, y in zip(table["prediction"].to_pylist(), table["label"].to_pylist(), strict=True)]
    assert sum(hits) / 60 == pytest.approx(accuracy)


@pytest.mark.slow
def test_vectors_start_the_embeddings_and_may_be_frozen(files, tmp_path):
    words = ["likes", "hates", "she", "wolf", "owl", "unicorn"]
    file = _vectors(tmp_path / "v.txt", [f"{w} {i} {i + 1} {i + 2}" for i, w in enumerate(words)])
    said: list[str] = []
    options = _options(files, tmp_path / "model", "glove_bow", vectors=file, extra_words=2, freeze_vectors=True)
    folder = train(options, say=said.append)
    assert any("3 of the 23 words (13.0%), and 2 words more; the rest start random" in line for line in said)
    loaded = load_model(folder, task=DEFEASIBLE)
    assert loaded.module.config.embedding_dim == 3
    assert loaded.vocabulary.words[-2:] == ("wolf", "owl")
    for i, word in enumerate(words[:5]):
        kept = loaded.module.embedding.weight[loaded.vocabulary.number(word)]
        assert kept.tolist() == [i, i + 1, i + 2]
    free = load_model(train(replace(options, output=tmp_path / "free", freeze_vectors=False)), task=DEFEASIBLE)
    assert free.module.embedding.weight[free.vocabulary.number("likes")].tolist() != [0, 1, 2]
    assert free.module.embedding.weight[free.vocabulary.number("owl")].tolist() == [4, 5, 6]


@pytest.mark.slow
def test_rare_words_become_unknown_unless_they_have_a_vector(tmp_path):
    rows = [row | {"premise": f"once{i}"} for i, row in enumerate(easy_rows(8))]
    file = write_csv(tmp_path / "rows.csv", rows)
    vectors = _vectors(tmp_path / "v.txt", ["once3 1 2", "she 1 2"])
    options = replace(_options((file, None), tmp_path / "a", "glove_bow", epochs=1.0), vectors=vectors)
    words = load_model(train(options), task=DEFEASIBLE).vocabulary.words
    assert [word for word in words if word.startswith("once")] == ["once3"]
    every = replace(options, output=tmp_path / "b", vectors=None, min_count=1)
    assert sum(w.startswith("once") for w in load_model(train(every), task=DEFEASIBLE).vocabulary.words) == 8


@pytest.mark.slow
def test_single_texts_and_going_on_from_a_folder(tmp_path):
    rows = [{"text": row["update"], "label": row["label"]} for row in easy_rows(100)]
    file = write_csv(tmp_path / "rows.csv", rows)
    options = replace(
        _options((file, None), tmp_path / "a", "bilstm", epochs=2.0), task="defeasible_nli", text_column="text"
    )
    first = train(options)
    assert not load_model(first, task=DEFEASIBLE).module.config.paired
    second = train(replace(options, model=str(first), output=tmp_path / "b"))
    losses = [record(folder)["metrics"]["train_loss"] for folder in (first, second)]
    assert losses[1] < losses[0]
    assert (second / VOCABULARY_FILE).read_bytes() == (first / VOCABULARY_FILE).read_bytes()
    with pytest.raises(InputError, match=r"have the labels.*Start a new one with `model` bilstm"):
        train(replace(options, model=str(first), output=tmp_path / "c", label_names=("no", "yes")))
    refuses("not be given for bilstm, which cuts nothing", train, replace(options, output=tmp_path / "d", max_length=9))


def test_a_three_way_model_answers_two_way_rows_through_a_map(tmp_path):
    model = tiny_encoder(tmp_path / "mnli", ("contradiction", "neutral", "entailment"), seed=3)
    rows = [
        {"bucket_id": f"b{i % 10}", "premise": row["premise"], "hypothesis": row["update"],
         "label": ("entailment", "not_entailment")[i % 2]}
        for i, row in enumerate(easy_rows(40))
    ]  # fmt: skip
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["run", "--model", model, "--dataset", tmp_path / "set.jsonl", "--device", "cpu", "--task", "nli",
               "--n-resamples", 10]  # fmt: skip
    mapping = ["--label-map", "contradiction=not_entailment", "--label-map", "neutral=not_entailment"]
    assert _command(*command, "--output", tmp_path / "unmapped") == 2
    assert _command(*command, *mapping, "--output", tmp_path / "a") == 0
    assert _command(*command, *mapping, "--label-rule", "sum", "--output", tmp_path / "b") == 0
    by_rule = [read_predictions(tmp_path / name / "predictions" / "set.parquet") for name in "ab"]
    probabilities = np.array(by_rule[0].table["probabilities"].to_pylist())
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    three_way = load_model(model, task=get_task("nli"))
    task = get_task("nli")
    scores = three_way.logits(three_way.prepare([three_way.encode(task, row) for row in rows]))
    assert by_rule[0].table["prediction"].to_pylist() == [int(best != 2) for best in scores.argmax(1).tolist()]
    assert by_rule[1].table["prediction"].to_pylist() == probabilities.argmax(axis=1).tolist()


# ---------- The lexical baseline: hashing against a plain loop, both ways of batching, both heads, saving

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
    names = {"id2label": dict(enumerate(labels)), "label2id": {n: i for i, n in enumerate(labels)}}
    config = BowConfig(n_buckets=n_buckets, embedding_dim=4, **names)
    return BowClassifier(kind(config).eval(), labels, {"model": "bow"})


PAIRS = [
    (ModelInput("a dog sleeps", "it is late"),),
    (ModelInput("", ""),),
    (ModelInput("a dog sleeps and a cat does not sleep at all", None),),
]


def test_padded_and_flat_bags_give_the_same_scores():
    classifier = _bow()
    batch = classifier.prepare(PAIRS)
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


@pytest.mark.parametrize(("name", "n_sequences"), [("bow", 2), *((name, 4) for name in WORD_MODELS)])
def test_multiple_choice_scores_each_choice(name, n_sequences):
    classifier = _bow(BowForMultipleChoice) if name == "bow" else _classifier(name, multiple_choice=True)
    rows = [
        {"observation_1": "a dog", "observation_2": "at night", "hypothesis_1": one, "hypothesis_2": other}
        for one, other in [("a cat", "sleeps loudly"), ("sleeps loudly", "a cat"), ("bark", "bark")]
    ]
    batch = classifier.prepare([classifier.encode(ABDUCTIVE, row) for row in rows])
    assert [row.n_sequences for row in batch] == [n_sequences] * 3
    scores = classifier.logits(batch)
    assert scores.shape == (3, 2)
    torch.testing.assert_close(scores[0], scores[1].flip(0))
    assert scores[2, 0] == scores[2, 1]
    with torch.inference_mode():
        torch.testing.assert_close(classifier.module(**classifier.collate(batch)).logits, scores, rtol=0, atol=1e-5)


def test_the_bag_gives_the_same_scores_when_loaded(tmp_path):
    classifier = _bow()
    classifier.module.save_pretrained(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "model.safetensors"]
    loaded = load_model(tmp_path, task=DEFEASIBLE)
    assert isinstance(loaded, Classifier)
    assert loaded.label_names == ("weakener", "strengthener")
    assert not loaded.pads
    assert resolve_label_map(loaded.label_names, DEFEASIBLE.label_names).is_identity
    torch.testing.assert_close(
        loaded.logits(loaded.prepare(PAIRS)), classifier.logits(classifier.prepare(PAIRS)), rtol=0, atol=0
    )
    assert len(loaded.identity["weights_hash"]) == 64
    assert loaded.identity["architecture"] == "BowForSequenceClassification"


def test_an_old_hashing_or_a_max_length_is_refused(tmp_path):
    _bow().module.save_pretrained(tmp_path)
    refuses("cuts nothing", load_model, tmp_path, task=DEFEASIBLE, max_length=16)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"hashing": 1', '"hashing": 0'))
    refuses("another version of the n-gram hashing", load_model, tmp_path, task=DEFEASIBLE)


def test_whole_sets_are_hashed_at_once():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(5000)])
    rows = [(ModelInput(" ".join(rng.choice(words, 15)), " ".join(rng.choice(words, 8))),) for _ in range(3000)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared = _bow().prepare(rows)
    assert len(prepared) == 3000
    assert all(row.n_tokens == (15 + 14 + 13 + 12) + (8 + 7 + 6 + 5) for row in prepared)
