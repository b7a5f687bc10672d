"""Tiny causal and sequence-to-sequence models with large random weights, and a byte-level tokenizer for them."""

from pathlib import Path

from helpers.models import WORDS

SENTENCES = (
    "Premise: the dog sleeps in the rain. Hypothesis: it is wet. Update: it has found a roof. Answer: W",
    "Premise: she works late every day. Hypothesis: she likes money. Update: her friend never pays her. Answer: S",
    "Text: not positive, negative. Answer: strengthener weakener entailed not entailed yes no true false",
)


def byte_tokenizer(n_merges: int = 120, *, bos: bool = True, chat: bool = False):
    """Return a byte-level BPE tokenizer trained on a few sentences; with a beginning-of-text token, or without."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<pad>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=len(alphabet) + len(special) + n_merges,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator([*SENTENCES, " ".join(WORDS)] * 3, trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    if chat:
        made.chat_template = (
            "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"
            "{% if add_generation_prompt %}<s>assistant: {% endif %}"
        )
    return made


def _config(kind: str, n_tokens: int):
    import transformers as tf

    sizes = {
        "vocab_size": n_tokens, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2
    }  # fmt: skip
    head = {"head_dim": 8, "query_pre_attn_scalar": 8}
    sliding = {"sliding_window": 24}
    layers = ["sliding_attention", "full_attention"] * 2
    few = {k: v for k, v in sizes.items() if k not in ("intermediate_size", "num_key_value_heads")}
    return {
        "llama": lambda: tf.LlamaConfig(**sizes),
        "gpt2": lambda: tf.GPT2Config(
            vocab_size=n_tokens, n_embd=32, n_layer=4, n_head=4, n_positions=2048, bos_token_id=1, eos_token_id=2
        ),
        "qwen2": lambda: tf.Qwen2Config(**sizes),
        "qwen2_sliding": lambda: tf.Qwen2Config(**sizes, use_sliding_window=True, **sliding, layer_types=layers),
        "qwen3": lambda: tf.Qwen3Config(**sizes, head_dim=8),
        "mistral_sliding": lambda: tf.MistralConfig(**sizes, **sliding),
        "gemma": lambda: tf.GemmaConfig(**sizes, head_dim=8),
        "gemma2": lambda: tf.Gemma2Config(**sizes, **head, **sliding, layer_types=layers),
        "gemma3": lambda: tf.Gemma3TextConfig(**sizes, **head, **sliding, layer_types=layers),
        "bloom": lambda: tf.BloomConfig(vocab_size=n_tokens, hidden_size=32, n_layer=2, n_head=4),
        "mamba": lambda: tf.MambaConfig(vocab_size=n_tokens, hidden_size=32, num_hidden_layers=2, state_size=4),
        "opt": lambda: tf.OPTConfig(**few, ffn_dim=48, word_embed_proj_dim=32),
        "t5": lambda: tf.T5Config(
            vocab_size=n_tokens, d_model=32, d_ff=48, d_kv=8, num_layers=2, num_heads=4, decoder_start_token_id=0
        ),
    }[kind]()


def tiny_language_model(kind: str, tokenizer, *, seed: int = 0, scale: float = 5.0):
    """Return a model of this kind; its weights are scaled up, for small ones give nearly uniform answers."""
    import torch
    import transformers as tf

    torch.manual_seed(seed)
    config = _config(kind, len(tokenizer))
    auto = tf.AutoModelForSeq2SeqLM if kind == "t5" else tf.AutoModelForCausalLM
    module = auto.from_config(config).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.mul_(scale)
    return module


def save_language_model(folder: Path, kind: str = "llama", *, seed: int = 0, chat: bool = False) -> Path:
    """Save a tiny model with its tokenizer, as `save_pretrained` does."""
    tokenizer = byte_tokenizer(chat=chat)
    tiny_language_model(kind, tokenizer, seed=seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def merging_over_words():
    """Return a tokenizer without words: its merges go over spaces and line ends."""
    from tokenizers import Tokenizer, models, trainers

    tokenizer = byte_tokenizer()
    plain = Tokenizer(models.BPE())
    alphabet = sorted({char for text in SENTENCES for char in text} | set("\n"))
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    plain.train_from_iterator([*SENTENCES, "Answer: W\n\nPremise: the dog"] * 3, trainer)
    tokenizer._tokenizer = plain
    return tokenizer


def metaspaces():
    """Return a tokenizer that sets a mark before the text: what follows a cut begins otherwise than in the whole."""
    from tokenizers import pre_tokenizers

    tokenizer = byte_tokenizer()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def looking_back():
    """Return a tokenizer whose words hang on what is before them."""
    from tokenizers import Regex, pre_tokenizers

    tokenizer = byte_tokenizer()
    behind = pre_tokenizers.Split(Regex(r"(?<=:) \w+|\w+|\s|[^\w\s]+"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence([behind, byte_level])
    return tokenizer


def by_digits():
    """Return a tokenizer with words of two steps, and a space before the first."""
    from tokenizers import pre_tokenizers

    tokenizer = byte_tokenizer()
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return tokenizer
