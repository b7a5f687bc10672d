"""Tiny models with random weights, made in a moment: they stand for the real architectures in tests."""

from collections.abc import Iterable, Sequence
from pathlib import Path

WORDS = tuple(
    "the a an of to in is are was it they he she we you not no never always rain sun dog cat school work "  # noqa: SIM905
    "friend money food music after before because still very late early lost found likes hates every day".split()
)


def tiny_tokenizer(words: Iterable[str] = WORDS):
    """Return a word-level tokenizer with BERT's special tokens."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=128,
    )


def tiny_encoder(
    folder: Path, labels: Sequence[str] = ("weakener", "strengthener"), *, seed: int = 0, words=WORDS
) -> Path:
    """Save a two-layer BERT classifier with large random weights (small ones give nearly uniform answers)."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = tiny_tokenizer(words)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        id2label=dict(enumerate(labels)),
        label2id={name: i for i, name in enumerate(labels)},
    )
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(10)
        # without a shift the random head would give nearly all texts one label
        texts = [" ".join(words[i : i + 9]) for i in range(len(words) - 9)]
        scores = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits
        model.classifier.bias -= scores.mean(dim=0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
