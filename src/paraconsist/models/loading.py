"""From a folder or a Hub id to a classifier: a trained one, or a language model with a prompt."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
import transformers

from paraconsist.data.tasks import Task
from paraconsist.errors import check_choice, input_error
from paraconsist.files import Json, launched
from paraconsist.models import pretrained
from paraconsist.models.causal_engine import has_dynamic_rope
from paraconsist.models.classifier import Classifier, HeadClassifier, longest_input, window_of
from paraconsist.models.endpoint.settings import PromptSettings
from paraconsist.models.prompted import CausalScorer, CausalWriter, PromptedModel, Seq2SeqScorer, Seq2SeqWriter

Kind = Literal["classifier", "causal", "seq2seq"]
#: Instructions with which a processor multiplies bfloat16 faster than float32.
_FAST = ("avx512_bf16", "amx_tile")
_ENDINGS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_HEADS = {
    "ForSequenceClassification": (transformers.AutoModelForSequenceClassification, False),
    "ForMultipleChoice": (transformers.AutoModelForMultipleChoice, True),
}


def load_model(
    model: str | Path,
    *,
    task: Task,
    revision: str | None = None,
    dtype: str | None = None,
    max_length: int | None = None,
    trust_remote_code: bool = False,
    kind: str | None = None,
    attn_implementation: str | None = None,
    ask: Callable[[], PromptSettings] | None = None,
    device: str | None = None,
) -> Classifier:
    """Load a trained classifier, or a language model with a prompt, to run it.

    Parameters
    ----------
    model : str or Path
        A folder that `paraconsist train` or ``save_pretrained`` wrote, or a Hub id; or the folder of a PEFT adapter
        (LoRA and its kin), which is put into the weights of the model that it names.
    task : Task
        The task of the model's inputs; multiple-choice models take their label names from it.
    revision : str, optional
        Branch, tag or commit of a Hub model. The identity records the commit.
    dtype : {"float32", "auto", "tf32", "bfloat16", "float16"}, optional
        Of the weights in memory; see `dtype_taken`. The identity records the result.
    max_length : int, optional
        Longest input in tokens; by default the longest that model and tokenizer allow.
    trust_remote_code : bool
        Run code that comes with a Hub model.
    kind : {"classifier", "causal", "seq2seq"}, optional
        By default by the model's architecture.
    attn_implementation : str, optional
        How attention is computed, as transformers names it; the identity records it.
    ask : callable, optional
        Returns the settings of a language model; called for language models only, and required for them.
    device : str, optional
        The device it will run on, by default the best available one; only `dtype` depends on it.

    Returns
    -------
    Classifier
        In evaluation mode, on the CPU.

    Raises
    ------
    InputError
        If there is no such model, its weights are not safetensors, it has no trained classification or
        multiple-choice head, or an option does not fit it.
    """
    taken = dtype_taken(dtype, device)
    name = str(model)
    if name in pretrained.BASELINES and not Path(name).exists():
        raise input_error("load_model", "model", "be a trained model", got=name, remedy=_how_to_train(name, task))
    adapter, name = pretrained.adapter_of(name)
    config = pretrained.open_configuration(name, revision=revision, trust_remote_code=trust_remote_code)
    own = pretrained.find_baseline(config.model_type)
    dtype = "float32" if own is not None and dtype in (None, "auto") else taken  # bfloat16 gains nothing here
    identity = _identity(name, config, dtype, adapter, trust_remote_code=trust_remote_code)
    if not task.label_names and (own is not None or ask is None or kind_of(config, kind) == "classifier"):
        must, remedy = "be a language model, for questions in free text", "A classifier has labels only."
        raise input_error("load_model", "model", must, got=name, remedy=remedy)
    if own is not None:
        if attn_implementation is not None:
            must = f"not be given for {own.name}, which has no attention"
            raise input_error("load_model", "attn_implementation", must, got=attn_implementation)
        own.refuse_max_length("load_model", max_length)
        head = own.heads[_head(name, config, task)[1]]
        loaded = pretrained.load_head(name, head, dtype=pretrained.DTYPES[dtype], has_tokenizer=False)
        if loaded.missing:
            raise pretrained.not_a_model(name, f"its files lack {', '.join(loaded.missing)}")
        labels = _label_names(name, config, task, multiple_choice=head.multiple_choice)
        return own.open(loaded.module.eval(), Path(name).expanduser(), labels, {**identity, "max_length": "unlimited"})
    options: Json = {"revision": revision, "dtype": pretrained.DTYPES[dtype], "trust_remote_code": trust_remote_code}
    options = {**options, "adapter": adapter}
    if attn_implementation is not None:
        identity["attn_implementation"] = attn_implementation
        options = {**options, "attn_implementation": attn_implementation}
    if ask is not None and (language := kind_of(config, kind)) != "classifier":
        settings = ask()
        if settings.device_map is not None and (n_processes := launched()[1]) > 1:
            must = "not be given under a launcher: each process would spread the model over all devices"
            remedy = "Start one process, or leave `device_map` out: each process then has a device."
            raise input_error("run", "device_map", must, got=f"{n_processes} processes", remedy=remedy)
        opened = pretrained.load_language_model(name, language, device_map=settings.device_map, **options)
        return prompted(opened, settings, max_length=max_length, identity=identity)
    auto, multiple_choice = _head(name, config, task)
    loaded = pretrained.load_head(name, auto, **options)
    if loaded.missing:
        must = "have all of its weights in its files, the classification head too"
        why = f"Its files lack {', '.join(loaded.missing[:4])}: answers would be random."
        raise input_error("load_model", "model", must, got=name, remedy=f"{why} {_how_to_train(name, task)}")
    labels = _label_names(name, config, task, multiple_choice=multiple_choice)
    limit = pretrained.checked_max_length("load_model", max_length, longest_input(loaded.module, loaded.tokenizer))
    identity["max_length"] = str(limit) if limit is not None else "unlimited"
    what: Json = {"multiple_choice": multiple_choice, "max_length": limit, "identity": identity}
    return HeadClassifier(loaded.module.eval(), loaded.tokenizer, labels, **what)


def dtype_taken(dtype: str | None, device: str | None = None) -> str:
    """Return the dtype in which a model is computed on a device, by default the best available one.

    ``auto`` is bfloat16 where that is fast (CUDA from compute capability 8, processors with AVX512-BF16 or AMX), else
    float32; None is ``auto`` on an accelerator and float32 on the processor. InputError for ``tf32`` (float32 weights,
    products in TF32) without such a GPU.
    """
    on_cpu = device == "cpu" or not torch.accelerator.is_available()
    dtype = dtype or ("float32" if on_cpu else "auto")
    check_choice("load_model", "dtype", dtype, ("auto", *pretrained.DTYPES))
    has_gpu = device in (None, "cuda") and torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    if dtype == "tf32" and not has_gpu:
        must, remedy = "be one that the device has", "TF32 needs a GPU of CUDA compute capability 8 or more."
        raise input_error("load_model", "dtype", must, got=dtype, remedy=remedy)
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"  # torch keeps it from one model to the next
    if dtype != "auto":
        return dtype
    fast = [getattr(torch.cpu, f"_is_{instructions}_supported", bool)() for instructions in _FAST]  # or an older torch
    return "bfloat16" if has_gpu or (on_cpu and any(fast)) else "float32"


def prompted(
    language: pretrained.LanguageModel,
    settings: PromptSettings,
    *,
    max_length: int | None = None,
    identity: Mapping[str, str] | None = None,
) -> PromptedModel:
    """Return a language model as a classifier that scores label words or writes answers.

    `max_length` is the longest prompt with answer in tokens, by default and at most the model's window; `identity` is
    what the predictions file records of the model.
    """
    limit = None if has_dynamic_rope(language.module.config) else window_of(language.module)
    window = pretrained.checked_max_length("load_model", max_length, limit)
    identity = {"model": type(language.module).__name__, **(identity or {}), "kind": language.kind}
    if "weights_hash" in identity:  # a folder's
        used = ["*.jinja", "additional_chat_templates/*.jinja"] if settings.chat else []
        used += ["generation_config.json"] if settings.scoring == "generate" or language.kind == "seq2seq" else []
        folder = Path(identity.get("base_model", identity["model"]))
        identity |= pretrained.named_hashes(folder, "prompt_files", used)
    makers: dict[str, tuple[type[PromptedModel], type[PromptedModel]]] = {
        "causal": (CausalScorer, CausalWriter),
        "seq2seq": (Seq2SeqScorer, Seq2SeqWriter),
    }
    maker = makers[language.kind][settings.scoring == "generate"]
    return maker(language.module, language.tokenizer, settings, window=window, identity=identity)


def kind_of(config: Any, kind: str | None = None) -> Kind:
    """Return `kind`, checked, or by default the kind of model that a configuration's architecture is."""
    if kind is not None:
        check_choice("run", "kind", kind, get_args(Kind))
        return cast(Kind, kind)
    if not any(architecture.endswith(_ENDINGS) for architecture in config.architectures or ()):
        return "classifier"
    return "seq2seq" if getattr(config, "is_encoder_decoder", False) else "causal"


def _head(name: str, config: Any, task: Task) -> tuple[Any, bool]:
    architectures = list(config.architectures or ())
    for architecture in architectures:
        for ending, (auto, multiple_choice) in _HEADS.items():
            if architecture.endswith(ending):
                if multiple_choice and not task.choices:
                    must = "be one with choices, because the model is multiple choice"
                    remedy = "Use a sequence classifier for it."
                    raise input_error("load_model", "task", must, got=task.name, remedy=remedy)
                return auto, multiple_choice
    must = "be a sequence-classification or multiple-choice model"
    remedy = f"It has no trained head. {_how_to_train(name, task)}"
    got = f"{name} ({', '.join(architectures) or 'no architecture named'})"
    raise input_error("load_model", "model", must, got=got, remedy=remedy)


def _how_to_train(model: str, task: Task) -> str:
    return (
        f"Train one first: paraconsist train --model {model} --task {task.name} --train-file ROWS.csv --output FOLDER"
    )


def _label_names(name: str, config: Any, task: Task, *, multiple_choice: bool) -> tuple[str, ...]:
    if multiple_choice:
        return task.label_names
    labels = dict(config.id2label or {})
    if sorted(labels) != list(range(len(labels))) or len(labels) < 2:
        must = "be a classifier of two or more labels, numbered from 0 in its configuration"
        remedy = f"Mend `id2label` in the config.json of {name}, or use another model."
        raise input_error("load_model", "model", must, got=labels, remedy=remedy)
    return tuple(str(labels[i]) for i in range(len(labels)))


def _identity(name: str, config: Any, dtype: str, adapter: Path | None, *, trust_remote_code: bool) -> dict[str, str]:
    folder = Path(name).expanduser()
    model, architecture = str(folder) if folder.is_dir() else name, ",".join(config.architectures or ())
    identity = {"model": model, "architecture": architecture, "dtype": dtype}
    if folder.is_dir():
        identity |= pretrained.folder_identity(folder, trust_remote_code=trust_remote_code)
    else:
        identity["revision"] = str(getattr(config, "_commit_hash", None) or "unknown")
    if adapter is None:
        return identity
    both = identity.get("weights_hash", "") + pretrained.weights_hash(adapter)
    identity |= {"model": str(adapter), "base_model": model, "weights_hash": hashlib.sha256(both.encode()).hexdigest()}
    settings = pretrained.named_hashes(adapter, "files", ["adapter_config.json"])["files"]
    return identity | {"files": ", ".join(filter(None, [identity.get("files"), settings]))}
