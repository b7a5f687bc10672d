"""Label scoring: shared prefixes give what every prompt gives on its own, on many architectures; what is refused."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import language_models as made
from helpers.language_models import byte_tokenizer, tiny_language_model
from helpers.prompts import LABELS, TASK, make_prompt, ragged_rows, scorer, sentence
from tokenizers import normalizers
from transformers import LlamaForCausalLM

from paraconsist.data.prompts import Prompt, templates
from paraconsist.errors import InputError
from paraconsist.models.causal_engine import Pack, compute_prefix, plan_packs
from paraconsist.models.pretrained import LanguageModel
from paraconsist.models.prompted import CausalWriter, GenerationSettings, Seq2SeqWriter, generate

SHARING = ("llama", "gpt2", "qwen2", "qwen2_sliding", "qwen3", "mistral_sliding", "gemma", "gemma2", "gemma3", "opt")


def spoilt(kind: str, tokenizer, sign: str = "@"):
    """A model whose numbers behind a sign, which is one token, are not finite."""
    module = tiny_language_model(kind, tokenizer)
    weights = (module.get_encoder() if kind == "t5" else module).get_input_embeddings()
    weights.weight = torch.nn.Parameter(weights.weight.clone())  # those of the output stay finite where they are tied
    with torch.no_grad():
        weights.weight[tokenizer(sign, add_special_tokens=False)["input_ids"]] = torch.nan
    return module


def scores(model, rows) -> torch.Tensor:
    return model.logits(model.prepare([model.encode(TASK, row) for row in rows]))


def naive(model, rows, opening=(1,)) -> torch.Tensor:
    """The definition: the whole prompt with each label word, alone, one forward pass each."""
    prompt, tokenizer = model.settings.prompt, model.tokenizer
    found = []
    for row in rows:
        ids = [*opening, *tokenizer(prompt.text(TASK, row), add_special_tokens=False)["input_ids"]]
        line = []
        for answer in prompt.template.answers:
            word = tokenizer(answer, add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                logits = model.module(torch.tensor([[*ids, *word]]), use_cache=False).logits[0].log_softmax(-1)
            line.append(sum(float(logits[len(ids) - 1 + i, token]) for i, token in enumerate(word)))
        found.append(line)
    return torch.tensor(found)


@pytest.mark.parametrize("kind", SHARING)
def test_shared_prefixes_give_what_each_prompt_gives_alone(kind):
    tokenizer = byte_tokenizer()
    model, rows = scorer(kind, tokenizer, make_prompt()), ragged_rows()
    found, expected = scores(model, rows), naive(model, rows)
    assert model.engine.way == "packed"
    assert len(model.engine.prefix_tokens) > 200
    lengths = {len(tokenizer(answer, add_special_tokens=False)["input_ids"]) for answer in LABELS.values()}
    assert len(lengths) == 3  # label words of one, of some, and of more tokens
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    assert torch.equal(found.argmax(-1), expected.argmax(-1))
    assert float(expected.std(dim=0).min()) > 0.01  # else a wrong mask could pass


def test_a_model_without_positions_expands_the_prefix_to_each_row():
    model, rows = scorer("bloom", byte_tokenizer(), make_prompt()), ragged_rows()
    found = scores(model, rows)
    assert model.engine.way == "expanded"
    torch.testing.assert_close(found, naive(model, rows), rtol=0, atol=1e-4)
    model.engine.prefix = compute_prefix(model.module, [5] * len(model.engine.prefix_tokens))
    assert float((scores(model, rows) - found).abs().max()) > 0.01  # the prefix is really used


def test_a_recurrent_model_is_computed_whole_and_says_so():
    model, rows = scorer("mamba", byte_tokenizer(), make_prompt()), ragged_rows()
    with pytest.warns(UserWarning, match="MambaForCausalLM cannot share prefixes exactly.*correct but slow"):
        found = scores(model, rows)
    assert model.engine.way == "plain"
    torch.testing.assert_close(found, naive(model, rows), rtol=0, atol=1e-4)


def test_the_prefix_is_held_once_and_never_changed():
    model, rows = scorer("llama", byte_tokenizer(), make_prompt()), ragged_rows()
    first = scores(model, rows)
    config, prefix = model.module.config, model.engine.prefix
    n = len(model.engine.prefix_tokens)
    n_bytes = sum(states.element_size() * states.nelement() for layer in prefix.layers for states in layer)
    assert n_bytes == 2 * 4 * config.num_hidden_layers * n * config.num_key_value_heads * config.head_dim
    before = [keys.clone() for keys, _ in prefix.layers]
    assert torch.equal(scores(model, rows), first)
    assert all(torch.equal(keys, kept) for (keys, _), kept in zip(prefix.layers, before, strict=True))
    assert prefix.first(5).layers[0].keys.data_ptr() == prefix.layers[0][0].data_ptr()


def test_rows_that_share_less_than_the_first_ones_are_right_too():
    model, rows = scorer("gpt2", byte_tokenizer(), make_prompt(0, LABELS)), ragged_rows()
    scores(model, rows[:4])  # the prefix now holds the first bucket's context
    n = len(model.engine.prefix_tokens)
    found = scores(model, rows[4:])
    assert len(model.engine.prefix_tokens) == n
    torch.testing.assert_close(found, naive(model, rows[4:]), rtol=0, atol=1e-4)


def test_a_pack_computes_what_is_common_once():
    pack = Pack.of([[1, 2, 3], [1, 2, 4, 5], [1, 2, 3]], [([7], [8, 9])] * 3)
    assert pack.tokens.tolist() == [1, 2, 3, 8, 4, 5, 8]
    assert pack.depths.tolist() == [0, 1, 2, 3, 2, 3, 4]
    seen = pack.visible(1).numpy()
    assert [np.flatnonzero(row).tolist() for row in seen] == [
        [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 5], [0, 1, 2, 5, 6], [0, 1, 2, 5, 6, 7],
    ]  # fmt: skip
    assert np.flatnonzero(pack.visible(1, window=2).numpy()[5]).tolist() == [5, 6]
    reads = list(zip(pack.read_labels.tolist(), pack.read_places.tolist(), pack.read_tokens.tolist(), strict=True))
    assert reads == [(0, 2, 7), (1, 2, 8), (1, 3, 9), (2, 5, 7), (3, 5, 8), (3, 6, 9), (4, 2, 7), (5, 2, 8), (5, 3, 9)]


@pytest.mark.parametrize("seed", range(3))
def test_who_sees_whom_in_a_tree_is_what_its_branches_say(seed):
    rng = random.Random(seed)
    prompts = [[rng.randint(0, 2) for _ in range(rng.randint(1, 9))] for _ in range(12)]
    pack = Pack.of(prompts, [([5, 6], [7])] * 12)
    for place, line in enumerate(pack.visible(0).numpy()):
        branch = [place]
        while pack.parents[branch[-1]] >= 0:
            branch.append(int(pack.parents[branch[-1]]))
        assert np.flatnonzero(line).tolist() == sorted(branch)


def test_a_prefix_is_copied_in_no_layer(monkeypatch):
    from paraconsist.models.causal_engine import FrozenLayer

    model, rows = scorer("llama", byte_tokenizer(), make_prompt()), ragged_rows()
    expected = scores(model, rows)
    update, keys = FrozenLayer.update, []
    monkeypatch.setattr(FrozenLayer, "update", lambda *a, **k: keys.append(update(*a, **k)) or keys[-1])
    assert torch.equal(scores(model, rows), expected)
    held = {tensor.data_ptr() for layer in model.engine.prefix.layers for tensor in layer}
    assert {tensor.data_ptr() for pair in keys for tensor in pair} == held


@pytest.mark.parametrize(
    ("make", "once"),
    [(byte_tokenizer, True), (made.by_digits, True)]
    + [(make, False) for make in (made.merging_over_words, made.metaspaces, made.looking_back)],
)
def test_the_beginning_of_prompts_is_tokenised_once_and_as_in_the_whole(make, once, monkeypatch):
    tokenizer, rng = make(), random.Random(3)
    model = scorer("llama", tokenizer, make_prompt(6), module=tiny_language_model("llama", byte_tokenizer()))
    rows = [{c: sentence(rng) + rng.choice(["", " 12", "\n", "  ", "'s"]) for c in TASK.columns} for _ in range(60)]
    for row in rows:
        row["premise"] = rng.choice(["", " ", "\n", "s", "7"]) + row["premise"]  # what meets the common beginning
    inputs = [model.encode(TASK, row) for row in rows]
    whole = tokenizer([choices[0].text for choices in inputs], add_special_tokens=False)["input_ids"]
    read = []
    call = type(tokenizer).__call__
    monkeypatch.setattr(
        type(tokenizer), "__call__", lambda self, texts, **k: read.extend(texts) or call(self, texts, **k)
    )
    for batch in (inputs, inputs[7:9], inputs[3:4]):
        prepared = model.prepare(batch)
        first = inputs.index(batch[0])
        for row, ids in zip(prepared, whole[first:], strict=False):
            tokens = [*model.engine.prefix_tokens[: row.n_shared], *row.sequences[0].tolist()]
            end = (
                len(tokens) if make is made.merging_over_words else None
            )  # the answer merges with the prompt's last words
            assert tokens == [*model._opening, *ids][:end]
    n_common = len(model.settings.prompt.prefix)
    n_long = sum(len(text) > n_common for text in read)
    assert (n_long <= 3) if once else (n_long >= len(rows))


def test_packs_hold_prompts_that_begin_alike_and_each_once():
    rng = random.Random(0)
    texts = [f"Common. {'abc'[i % 3] * 30} {rng.random()}" for i in range(30)]
    n_tokens = [20 + i for i in range(30)]
    packs = plan_packs(texts, n_tokens, max_tokens=120)
    assert sorted(i for pack in packs for i in pack) == list(range(30))
    longest = [max(n_tokens[i] for i in pack) for pack in packs]
    assert longest == sorted(longest, reverse=True)
    assert sum(len({i % 3 for i in pack}) for pack in packs) <= len(packs) + 2
    assert all(len(pack) <= 2 for pack in plan_packs(texts, n_tokens, max_tokens=1000, max_rows=2))
    assert plan_packs([], [], max_tokens=5) == []


def test_a_sequence_to_sequence_model_scores_all_words_behind_one_encoding():
    tokenizer = byte_tokenizer(bos=False)
    model, rows = scorer("t5", tokenizer, make_prompt()), ragged_rows()
    found = scores(model, rows)
    for row, line in zip(rows, found, strict=True):
        ids = torch.tensor([tokenizer(model.settings.prompt.text(TASK, row))["input_ids"]])
        for word, value in zip(LABELS.values(), line.tolist(), strict=True):
            labels = torch.tensor([tokenizer(word, add_special_tokens=False)["input_ids"]])
            with torch.inference_mode():
                loss = model.module(input_ids=ids, labels=labels).loss
            assert value == pytest.approx(-float(loss) * labels.shape[1], abs=1e-4)
    assert float(found.std(dim=0).min()) > 0.01


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_scores_are_divided_by_tokens_or_characters(kind):
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    module = tiny_language_model(kind, tokenizer)
    found = {n: scores(scorer(kind, tokenizer, make_prompt(), module=module, normalize=n), rows)
             for n in ("none", "tokens", "characters")}  # fmt: skip
    words = [a if kind == "llama" else a.strip() for a in make_prompt().template.answers]
    n_tokens = torch.tensor([len(tokenizer(w, add_special_tokens=False)["input_ids"]) for w in words])
    torch.testing.assert_close(found["tokens"], found["none"] / n_tokens)
    torch.testing.assert_close(found["characters"], found["none"] / torch.tensor([7, 10, 1]))


def test_words_that_run_into_the_prompt_are_tokenised_with_it():
    """No space between question and answer: the last token of the prompt is another one with the answer behind it."""
    tokenizer, rows = byte_tokenizer(), ragged_rows()[:3]
    template = replace(
        templates()["s24-delta"], question="{premise} {update} H", labels={"a": "ypothesis", "b": "e"}, answer_prefix=""
    )
    model = scorer("llama", tokenizer, Prompt(template))
    found = scores(model, rows)
    for row, line in zip(rows, found, strict=True):
        text = model.settings.prompt.text(TASK, row)
        whole = [tokenizer(text + word)["input_ids"] for word in template.words]
        same = [a == b for a, b in zip(tokenizer(text)["input_ids"], whole[0], strict=False)]
        assert not all(same)
        start = next(i for i, (a, b) in enumerate(zip(*whole, strict=False)) if a != b)
        for ids, value in zip(whole, line.tolist(), strict=True):
            with torch.inference_mode():
                logits = model.module(torch.tensor([ids])).logits[0].log_softmax(-1)
            assert value == pytest.approx(sum(float(logits[i - 1, ids[i]]) for i in range(start, len(ids))), abs=1e-4)


def test_words_that_begin_alike_are_told_apart():
    labels = {"weakener": "wet dog", "strengthener": "wet cat"}
    model, rows = scorer("gpt2", byte_tokenizer(), make_prompt(labels=labels)), ragged_rows()
    torch.testing.assert_close(scores(model, rows), naive(model, rows), rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_words_that_cannot_be_told_apart_are_refused(kind):
    tokenizer = byte_tokenizer()
    with pytest.raises(InputError, match=r"no label word that begins another.*'W and W W'.*`normalize` by tokens"):
        scores(scorer(kind, tokenizer, make_prompt(labels={"weakener": "W", "strengthener": "W W"})), ragged_rows())
    model = scorer(kind, tokenizer, make_prompt(labels={"a": "W", "b": "W W", "c": "S"}), normalize="tokens")
    assert torch.isfinite(scores(model, ragged_rows())).all()
    blind = byte_tokenizer()
    blind.backend_tokenizer.normalizer = normalizers.Replace("Z", "S")
    with pytest.raises(InputError, match='must have label words with different tokens; got "S and Z, the same'):
        scores(scorer(kind, blind, make_prompt(labels={"a": "S", "b": "Z"})), ragged_rows())


def test_prompts_are_never_cut():
    rows = ragged_rows()
    model = scorer("llama", byte_tokenizer(), make_prompt(), max_length=300)
    over = model.prepare([model.encode(TASK, row) for row in rows])
    assert "`shots` must make prompts of at most 300 tokens" in str(model.window_error(over))
    n = max(model.tokenizer(model.encode(TASK, row)[0].text, return_length=True)["length"][0] for row in rows)
    longest = max(len(model.tokenizer(a, add_special_tokens=False)["input_ids"]) for a in model.answers)
    fits = scorer("llama", byte_tokenizer(), make_prompt(), module=model.module, max_length=n + longest)
    assert torch.isfinite(scores(fits, rows)).all()
    short = scorer("llama", byte_tokenizer(), make_prompt(), max_length=n + longest - 1)
    over = short.prepare([short.encode(TASK, row) for row in rows])
    assert max(row.n_over for row in over) == 1
    assert f"the longest of {n + longest:,} tokens" in str(short.window_error(over))


@pytest.mark.parametrize("scoring", ["label", "generate"])
def test_prompts_beyond_the_positions_of_a_model_with_dynamic_rope(scoring):
    """Each as it would be alone, whatever came before; those within the positions go on sharing."""
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    config = tiny_language_model("llama", tokenizer).config
    prompt = make_prompt(labels={"weakener": "W", "strengthener": "S"})
    lengths = [len(tokenizer(prompt.text(TASK, row))["input_ids"]) for row in rows]
    config.max_position_embeddings = sorted(lengths)[len(rows) // 2]
    config.rope_parameters = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
    module = LlamaForCausalLM(config).eval()
    module.load_state_dict(tiny_language_model("llama", tokenizer).state_dict())
    asking = {"max_new_tokens": 4} if scoring == "generate" else {}
    model = scorer("llama", tokenizer, prompt, module=module, scoring=scoring, **asking)
    assert model.identity["max_length"] == "unlimited"
    in_turn = sorted(rows, key=lambda row: len(str(row)), reverse=True)
    batch = model.prepare([model.encode(TASK, row) for row in in_turn])
    found = model.logits(batch) if scoring == "label" else [answer.raw_output for answer in model.write(batch)]
    assert {row.width + row.n_shared > config.max_position_embeddings for row in batch} == {True, False}
    for place, row in enumerate(in_turn):
        fresh = LlamaForCausalLM(config).eval()
        fresh.load_state_dict(module.state_dict())
        ids = tokenizer(prompt.text(TASK, row), return_tensors="pt")
        if scoring == "label":
            words = [tokenizer(answer, add_special_tokens=False)["input_ids"] for answer in prompt.template.answers]
            whole = [[*ids["input_ids"][0].tolist(), *word] for word in words]
            with torch.inference_mode():
                logits = [fresh(torch.tensor([tokens[:-1]])).logits[0].log_softmax(-1) for tokens in whole]
            expected = [
                sum(float(scores[i - len(word), token]) for i, token in enumerate(word))
                for word, scores in zip(words, logits, strict=True)
            ]
            torch.testing.assert_close(found[place], torch.tensor(expected), rtol=0, atol=1e-4)
        else:
            out = fresh.generate(**ids, max_new_tokens=4, do_sample=False, pad_token_id=0)
            expected = tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
            assert found[place] == expected


def test_a_chat_goes_through_the_tokenizers_template_and_is_refused_without_one():
    rows = ragged_rows()
    model = scorer("llama", byte_tokenizer(chat=True), make_prompt(1), chat=True)
    text = model.encode(TASK, rows[0])[0].text
    assert text.startswith(f"<s>system: {model.settings.prompt.template.instruction}</s><s>user: Premise: ")
    assert text.endswith("</s><s>assistant: ")
    assert model.answers == tuple(LABELS.values())
    assert torch.isfinite(scores(model, rows)).all()
    first = model.tokenizer.decode(model.engine.prefix_tokens[:2])
    assert first.count("<s>") == 1  # the chat template's own, and no second one
    with pytest.raises(InputError, match="`chat` must be given only for models whose tokenizer has a chat template"):
        scorer("llama", byte_tokenizer(), make_prompt(), chat=True)


def test_a_chat_template_without_a_systems_turn_gets_the_instruction_with_the_first_question():
    tokenizer = byte_tokenizer(chat=True)
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    tokenizer.chat_template = refusing + tokenizer.chat_template
    model = scorer("llama", tokenizer, make_prompt(1), chat=True)
    text = model.encode(TASK, ragged_rows()[0])[0].text
    assert text.startswith(f"<s>user: {model.settings.prompt.template.instruction}\n\nPremise: ")


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma3", "mistral_sliding", "mamba"])
def test_answers_written_behind_a_shared_prefix_are_those_of_generate(kind):
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    module = tiny_language_model(kind, tokenizer)
    model = scorer(kind, tokenizer, make_prompt(), module=module, scoring="generate", max_new_tokens=6)
    assert isinstance(model, CausalWriter)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mamba.* cannot share")
        written = model.write(model.prepare([model.encode(TASK, row) for row in rows]))
    for row, answer in zip(rows, written, strict=True):
        ids = tokenizer(model.settings.prompt.text(TASK, row), return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            out = module.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False, pad_token_id=0
            )
        assert answer.raw_output == tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    assert len({answer.raw_output for answer in written}) > 1


@pytest.mark.parametrize("kind", ["llama", "mamba", "t5"])
@pytest.mark.filterwarnings("ignore:Mamba.* cannot share")
def test_a_written_answer_ends_where_the_template_says(kind):
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    module, prompt, n_steps = tiny_language_model(kind, tokenizer), make_prompt(), []
    module.get_output_embeddings().register_forward_hook(lambda *_: n_steps.append(1))

    def write(prompt: Prompt) -> tuple[list[str], int]:
        model = scorer(kind, tokenizer, prompt, module=module, scoring="generate", max_new_tokens=12)
        prepared = model.prepare([model.encode(TASK, row) for row in rows])
        model.write(prepared[:1])  # which checks the shared prefix
        n_steps.clear()
        return [model.write([row])[0].raw_output for row in prepared], len(n_steps)

    whole, n_whole = write(prompt)
    stop = next(text[2:4] for text in whole if len(text) > 6)
    ended, n_ended = write(replace(prompt, template=replace(prompt.template, stop=stop)))
    assert ended == [text.partition(stop)[0] for text in whole] != whole
    assert n_ended < n_whole


@pytest.mark.parametrize("kind", ["llama", "bloom"])
def test_rows_that_are_not_finite_among_the_first_do_not_end_the_sharing(kind):
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    module = spoilt(kind, tokenizer)
    model = scorer(kind, tokenizer, make_prompt(), module=module)
    expected = scores(model, rows)
    odd = [{**rows[0], "update": "@ " * n} for n in (40, 41)]  # the longest: those that are checked
    model = scorer(kind, tokenizer, make_prompt(), module=module)
    prepared = model.prepare([model.encode(TASK, row) for row in [*odd, *rows]])
    assert not torch.isfinite(model.logits(prepared[:2])).any()
    assert model.engine.way is None  # nothing was there to check with
    model.logits(prepared[:4])
    assert model.engine.way == {"llama": "packed", "bloom": "expanded"}[kind]
    torch.testing.assert_close(model.logits(prepared[2:]), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "mamba", "t5"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.filterwarnings("ignore:Mamba.* cannot share")
def test_an_answer_out_of_numbers_that_are_not_finite_is_none(kind, temperature):
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    module, options = spoilt(kind, tokenizer), {"scoring": "generate", "max_new_tokens": 6, "temperature": temperature}
    expected, found = [], []
    for odd, written in (([], expected), ([{**rows[0], "update": "@"}, {**rows[0], "update": "the @ the"}], found)):
        model = scorer(kind, tokenizer, make_prompt(), module=module, **options)
        prepared = model.prepare([model.encode(TASK, row) for row in [*odd, *rows]])
        written += [*model.write(prepared[:3]), *model.write(prepared[3:])]
    assert found == [None, None, *expected]
    assert None not in expected
    assert kind != "llama" or model._prefix is not None


@pytest.mark.faults
@pytest.mark.parametrize("share", [True, False])
def test_the_most_probable_token_is_taken_whatever_the_models_generation_settings_say(share):
    """A penalty in a model's `generation_config.json` counted for prompts without a shared prefix alone."""
    tokenizer, rows = byte_tokenizer(), ragged_rows()
    options = {"scoring": "generate", "max_new_tokens": 12, "share": share}
    model = scorer("llama", tokenizer, make_prompt(), **options)
    prepared = model.prepare([model.encode(TASK, row) for row in rows])
    expected = model.write(prepared)
    penalties = {"repetition_penalty": 3.0, "no_repeat_ngram_size": 1, "cache_implementation": "static"}
    model.module.generation_config.update(**penalties)
    assert model.write(prepared) == expected
    assert any(len(set(answer.raw_output)) < len(answer.raw_output) for answer in expected)


def test_generate_gives_texts_in_order_whatever_their_lengths_and_the_same_for_a_seed():
    tokenizer = byte_tokenizer()
    texts = ["the dog", "she likes the rain every day and", "a"]
    for kind in ("llama", "t5"):
        language = LanguageModel(
            tiny_language_model(kind, tokenizer), tokenizer, "seq2seq" if kind == "t5" else "causal"
        )
        greedy = GenerationSettings(max_new_tokens=5)
        alone = [generate(language, [text], greedy)[0] for text in texts]
        assert generate(language, texts, greedy) == alone
        sampled = GenerationSettings(max_new_tokens=5, n=3, temperature=1.0, top_k=50, top_p=0.95, seed=1)
        found = generate(language, texts, sampled)
        assert [len(candidates) for candidates in found] == [3, 3, 3]
        assert found == generate(language, texts, sampled)
        assert found != generate(language, texts, replace(sampled, seed=2))
    with pytest.raises(InputError, match="`num_beams` must be 3 or more, or a `temperature` be given; got 1"):
        generate(language, texts, GenerationSettings(n=3))


def test_a_sequence_to_sequence_model_that_writes():
    model = scorer("t5", byte_tokenizer(), make_prompt(), scoring="generate")
    assert isinstance(model, Seq2SeqWriter)
    written = model.write(model.prepare([model.encode(TASK, row) for row in ragged_rows()]))
    assert len(written) == len(ragged_rows())
    assert model.prepare([]) == []
