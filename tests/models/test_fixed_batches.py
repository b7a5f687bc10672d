"""Batches of fixed shapes: the same bits for a row in any batch, order, number of threads and processes."""

import json
import random
import shutil

import numpy as np
import pytest
import torch
from helpers.language_models import save_language_model
from helpers.models import WORDS, tiny_tokenizer
from helpers.processes import launch, write_set

from paraconsist.cli.app import main
from paraconsist.data.predictions import read_predictions
from paraconsist.data.tasks import ModelInput
from paraconsist.errors import InputError
from paraconsist.models.classifier import FixedBatches, HeadClassifier, Prepared, _linear, deterministic_kernels
from paraconsist.models.word_models import BowClassifier, BowConfig, BowForSequenceClassification
from paraconsist.running.options import RunOptions

SIZES = {"hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 384}
KINDS = {
    "Bert": SIZES,
    "DebertaV2": {**SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 16},
    "GPT2": {"n_embd": 96, "n_head": 3, "n_layer": 2, "pad_token_id": None},  # pads with an id chosen for each batch
    "XLNet": {"d_model": 96, "n_head": 3, "n_layer": 2, "d_inner": 384},  # pads on the left
}


def classifier(kind: str):
    import transformers

    if kind == "bow":
        return BowClassifier(BowForSequenceClassification(BowConfig(n_buckets=64)).eval(), ("no", "yes"), {})
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    multiple_choice = kind == "choices"
    name, more = ("Bert", SIZES) if multiple_choice else (kind, KINDS[kind])
    config = getattr(transformers, f"{name}Config")(**{"vocab_size": len(tokenizer), "pad_token_id": 0, **more})
    module = getattr(transformers, name + ("ForMultipleChoice" if multiple_choice else "ForSequenceClassification"))
    if kind == "GPT2":
        tokenizer.pad_token = None
    made = module(config).eval()
    for parameter in made.parameters():
        parameter.data.mul_(4 if parameter.ndim > 1 else 1)
    return HeadClassifier(made, tokenizer, ("no", "yes"), multiple_choice=multiple_choice, max_length=60, identity={})


def texts(n: int, n_choices: int = 1):
    rng = random.Random(0)
    words = [" ".join(rng.choices(WORDS, k=rng.randint(1, 24))) for _ in range(2 * n * n_choices)]
    inputs = [ModelInput(a, b) for a, b in zip(words[::2], words[1::2], strict=True)]
    return [tuple(inputs[i * n_choices : (i + 1) * n_choices]) for i in range(n)]


def scores(model, rows, size: int) -> torch.Tensor:
    return torch.cat([model.logits(rows[i : i + size]) for i in range(0, len(rows), size)])


@pytest.mark.parametrize("kind", [*KINDS, "choices", "bow"])
def test_a_row_has_the_same_bits_in_any_batch_order_and_number_of_threads(kind):
    model = classifier(kind)
    rows = model.prepare(texts(90, 2 if kind == "choices" else 1))
    free = scores(model, rows, 64)
    if kind == "Bert":  # what the fixed shapes are for
        assert not torch.equal(free, scores(model, rows, 1))
    model.fix("cpu")
    with deterministic_kernels():
        expected = scores(model, rows, 64)
        torch.testing.assert_close(expected, free, rtol=0, atol=1e-4)
        for size, seed, threads in ((1, 1, 1), (7, 2, 2), (64, 3, 2), (90, 4, 1)):
            order = random.Random(seed).sample(range(90), 90)
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
            try:
                assert torch.equal(scores(model, [rows[i] for i in order], size), expected[order]), (size, threads)
                assert torch.get_num_threads() == threads
            finally:
                torch.set_num_threads(before)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("n_rows", [2, 4, 8])
def test_heads_give_a_row_the_same_bits_in_every_place(n_rows):
    """As one product small ones differ by the place, in so few numbers that the check of a shape may miss it."""
    torch.manual_seed(0)
    head = torch.nn.Linear(32, 2)
    with torch.inference_mode():
        for shape in ((200, n_rows, 32), (50, n_rows, 5, 32)):
            for rows in torch.randn(*shape):
                assert torch.equal(_linear(head, rows.flip(0)).flip(0), _linear(head, rows))
                torch.testing.assert_close(_linear(head, rows), head(rows))


def test_where_places_of_a_batch_differ_rows_are_computed_one_at_a_time():
    rows = [Prepared.of([torch.arange(n).numpy()]) for n in (3, 4, 9, 3, 30, 4, 4)]
    shapes: list[tuple[int, int]] = []

    def compute(batch, width):
        shapes.append((len(batch), width))
        lengths = torch.tensor([[float(row.width)] for row in batch])
        return lengths + 1e-6 * torch.arange(len(batch))[:, None] * (width == 4)

    fixed = FixedBatches(16, longest=30)
    assert [fixed.shape(row) for row in rows] == [
        (n, 1, w) for n, w in ((4, 4), (4, 4), (1, 12), (4, 4), (1, 30), *[(4, 4)] * 2)
    ]
    for _ in range(2):
        assert fixed.scores(compute, rows).ravel().tolist() == [3, 4, 9, 3, 30, 4, 4]
    assert shapes[:2] == [(4, 4), (4, 4)]  # once as they are, once in reverse; never again
    assert (4, 4) not in shapes[2:]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixed")
    model = classifier("Bert")
    model.module.save_pretrained(folder / "model")
    model.tokenizer.save_pretrained(folder / "model")
    write_set(folder / "set.jsonl")
    return folder


def command(place, output, *more) -> list[str]:
    which = ["run", "--model", place / "model", "--dataset", place / "set.jsonl", "--task", "defeasible_nli"]
    labels = ["--label-map", "LABEL_0=weakener", "--label-map", "LABEL_1=strengthener", "--device", "cpu"]
    return [str(one) for one in (*which, *labels, "--deterministic", "--output", place / output, *more)]


def answers(place, output, part="predictions"):
    table = read_predictions(place / output / part / "set.parquet").table
    return dict(zip(table["example_id"].to_pylist(), table["probabilities"].to_pylist(), strict=False))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # torch's own
def test_a_compiled_run_gives_the_same_answers_up_to_rounding_and_says_that_it_is_compiled(place):
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([one for one in command(place, *arguments) if one != "--deterministic"])
        return int(stop.value.code or 0)

    assert run("plain") == 0
    assert run("compiled", "--compile", "--noise-floor", "1") == 0
    plain, compiled = answers(place, "plain"), answers(place, "compiled")
    assert plain.keys() == compiled.keys()
    np.testing.assert_allclose([*compiled.values()], [*plain.values()], rtol=0, atol=1e-5)
    assert json.loads((place / "compiled/results.json").read_text())["set"]["noise_floor"]["flip_rate"] == {
        "numeric": 0
    }
    about, before = (read_predictions(place / o / "predictions/set.parquet").metadata for o in ("compiled", "plain"))
    assert about["batch_policy"] == f"{about['batch_policy'].removesuffix(', compiled')}, compiled"
    assert about["model"] == before["model"]


def test_without_a_compiler_or_with_another_model_compiling_is_refused_in_a_sentence(place, monkeypatch):
    def compile_nothing(*arguments, **options):
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found\n\nmore lines")

    monkeypatch.setattr(torch, "compile", compile_nothing)
    with pytest.raises(
        InputError, match=r"`compile` must be given only where torch can compile; got .*C\+\+ compiler found"
    ):
        classifier("Bert").compile("cpu")
    with pytest.raises(InputError, match="`compile` must be given only with classifiers"):
        classifier("bow").compile("cpu")
    with pytest.raises(InputError, match="`compile` must not be given with `deterministic`"):
        RunOptions(place / "out", compile=True, deterministic=True)


def test_the_noise_floor_is_zero_and_a_run_that_goes_on_has_the_same_bits(place):
    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(command(place, *arguments))
        return int(stop.value.code or 0)

    assert run("one", "--noise-floor", "1", "--noise-share", "0.9") == 0
    whole, again = answers(place, "one"), answers(place, "one", "noise")
    assert len(again) > 60
    assert all(whole[example] == values for example, values in again.items())
    assert json.loads((place / "one/results.json").read_text())["set"]["noise_floor"]["flip_rate"] == {"numeric": 0.0}
    assert read_predictions(place / "one/predictions/set.parquet").metadata["model"]["deterministic"] == "512 tokens"
    assert run("two", "--limit", "30") == 0
    assert run("two", "--batch-tokens", "100") == 0
    assert answers(place, "two") == whole


@pytest.mark.slow
def test_two_and_three_processes_give_the_bits_of_one(place):
    for n in (1, 2, 3):
        launch(command(place, f"of {n}"), processes=n, threads=4 - n)
    assert answers(place, "of 1") == answers(place, "of 2") == answers(place, "of 3")


def test_language_models_are_refused(place, tmp_path, capsys):
    arguments = command(place, tmp_path / "run")
    arguments[2] = str(save_language_model(tmp_path / "model", "llama"))
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "`--deterministic` must be given only with classifiers" in capsys.readouterr().err
