"""From a folder or a Hub id to configuration, module and tokenizer; models that cannot be run honestly are refused."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
import transformers
from transformers.utils import logging as transformers_logging

from paraconsist.errors import InputError, extras, first_line, input_error
from paraconsist.files import Json, json_in, remembered_sha256

if TYPE_CHECKING:
    from paraconsist.models.classifier import Classifier


#: This package's own models, by the name that a user gives for a new one -> where each is defined. They belong to the
#: studies: a definition is imported only when such a model is trained or loaded.
BASELINES = {
    "bow": "paraconsist.models.word_models:BOW",
    "glove_bow": "paraconsist.models.word_models:GLOVE_BOW",
    "bilstm": "paraconsist.models.word_models:BILSTM",
}


@dataclass(frozen=True)
class Baseline:
    """One of this package's own models: its configuration's class, its classes with either head, and its loader."""

    name: str
    config: Any
    heads: tuple[Any, Any]  # for sequence classification and for multiple choice
    #: takes a loaded module, its folder, the label names and the identity
    open: Callable[[Any, Path, tuple[str, ...], Mapping[str, str]], Classifier]
    version_field: str = "splitting"  # field of the configuration with the version of the text processing
    versioned: str = "word splitting"  # what that version is of, for the message

    def refuse_max_length(self, function: str, max_length: int | None) -> None:
        """Raise InputError if a maximum length is given: nothing is cut."""
        if max_length is not None:
            must = f"not be given for {self.name}, which cuts nothing"
            raise input_error(function, "max_length", must, got=max_length)


def get_baseline(name: str) -> Baseline:
    """Return one of `BASELINES`."""
    baseline: Baseline = resolve_name(BASELINES[name])
    return baseline


def find_baseline(model_type: str | None) -> Baseline | None:
    """Return this package's model with this ``model_type`` in its configuration; None for any other."""
    _, is_ours, name = (model_type or "").rpartition("paraconsist_")
    return get_baseline(name) if is_ours and name in BASELINES else None


ADAPTER = "adapter_model.safetensors"
VOCABULARY_FILE = "words.json"  # of word-level models
#: ``tf32``: float32 whose products a GPU rounds to ten bits of mantissa.
DTYPES = {"float32": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"),
    VOCABULARY_FILE,
)
#: Other files that decide a model's answers: of rarer tokenizers and of shards.
FURTHER_FILES = (
    *("*.spm", "*.model", "*.codes", "*.bpe", "*.tiktoken", "vocab*", "*vocab.json", "merges*", "dict*.txt"),
    *("word_*.json", "emoji.json", "normalizer.json", "byte_maps.json", "*.index.json"),
)


class LoadedModule(NamedTuple):
    """A module with its tokenizer, and the names of weights that its files lack."""

    module: Any
    tokenizer: Any
    missing: tuple[str, ...]


def adapter_of(model: str) -> tuple[Path | None, str]:
    """Return the folder of a PEFT adapter and the model that it changes; None and `model` where it is no adapter."""
    folder = Path(model).expanduser()
    weights, config = folder / ADAPTER, folder / "adapter_config.json"
    if not config.is_file():
        return None, model
    if {*folder.glob("*.safetensors")} - {weights}:  # transformers reads both where peft is installed
        raise not_a_model(model, "it holds a model and an adapter: give the adapter a folder of its own")
    try:
        base = json_in(config).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError):
        base = None
    if not isinstance(base, str) or not base:
        raise not_a_model(model, "its adapter_config.json names no base model")
    if not weights.is_file():
        raise not_a_model(model, f"its adapter has no {ADAPTER}")
    return folder, base


def open_configuration(model: str, *, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """Read a model's configuration, a cheap check that there is a model."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        _check_folder(folder)
        try:
            config = json_in(folder / "config.json")
        except (OSError, ValueError):
            raise not_a_model(model, "its config.json cannot be read") from None
        baseline = find_baseline(config.get("model_type"))
        if baseline is not None:
            if config.get(baseline.version_field, 1) != getattr(baseline.config, baseline.version_field):
                raise not_a_model(model, f"it was trained with another version of the {baseline.versioned}")
            return baseline.config.from_pretrained(str(folder))
    elif folder.exists() or model.startswith(("/", ".", "~")) or model.count("/") > 1:
        raise not_a_model(model, "there is no such folder")
    try:
        with quiet():
            source, options = str(folder) if folder.is_dir() else model, {"trust_remote_code": trust_remote_code}
            return transformers.AutoConfig.from_pretrained(source, revision=revision, **options)
    except (OSError, ValueError, KeyError) as problem:
        raise not_a_model(model, first_line(problem)) from None


def load_head(
    model: str,
    auto: Any,
    *,
    revision: str | None = None,
    dtype: torch.dtype = torch.float32,
    trust_remote_code: bool = False,
    adapter: Path | None = None,
    has_tokenizer: bool = True,
    **options: Any,
) -> LoadedModule:
    """Load weights (safetensors only) and tokenizer, if it has one, of a model by its class or an Auto class.

    An `adapter` is put into the weights.
    """
    folder = Path(model).expanduser()
    source = str(folder) if folder.is_dir() else model
    which: Json = {"revision": revision, "trust_remote_code": trust_remote_code}
    try:
        with quiet():
            options |= {"dtype": dtype, "use_safetensors": True, "output_loading_info": True}
            module, info = auto.from_pretrained(source, **which, **options)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **which) if has_tokenizer else None
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as problem:
        if (attention := options.get("attn_implementation")) not in (None, "eager", "sdpa"):
            must, remedy = "be one that model and machine have, such as eager or sdpa", f"{first_line(problem)[:200]}."
            raise input_error("run", "attn_implementation", must, got=attention, remedy=remedy) from None
        if isinstance(problem, ModuleNotFoundError):
            raise
        raise not_a_model(model, first_line(problem)) from None
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] not in ("safetensors", "safetensors_rust"):
            raise
        raise not_a_model(model, f"its weights cannot be read ({first_line(problem)})") from None
    missing = {*info["missing_keys"], *(key if isinstance(key, str) else key[0] for key in info["mismatched_keys"])}
    if adapter is not None:
        module, added = _with_adapter(module, adapter)
        missing = {key for key in missing if not any(name.endswith(f".{key}") for name in added)}
    return LoadedModule(module, tokenizer, tuple(sorted(missing)))


def _with_adapter(module: Any, adapter: Path) -> tuple[Any, list[str]]:
    """Return a module with an adapter in its weights, and the names of the adapter's weights."""
    from safetensors import SafetensorError, safe_open

    with extras("load_model"):
        from peft import PeftModel
    try:
        with safe_open(adapter / ADAPTER, "pt") as weights:
            names = [*weights.keys()]
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of what peft calls in transformers
            adapted = PeftModel.from_pretrained(module, str(adapter))
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RuntimeError) as problem:
        raise not_a_model(str(adapter), f"its adapter cannot be read ({first_line(problem)})") from None
    try:
        return adapted.merge_and_unload(), names
    except (AttributeError, ValueError, TypeError, NotImplementedError) as problem:
        raise not_a_model(str(adapter), f"its adapter cannot be put into the weights ({first_line(problem)})") from None


@dataclass(frozen=True)
class LanguageModel:
    """A causal or sequence-to-sequence model of transformers, in evaluation mode, with its tokenizer."""

    module: Any
    tokenizer: Any
    kind: Literal["causal", "seq2seq"]


def load_language_model(
    model: str, kind: Literal["causal", "seq2seq"], *, device_map: str | None = None, **options: Any
) -> LanguageModel:
    """Load a language model, in evaluation mode; on the CPU, or spread over devices by `device_map`.

    `options` are those of `load_head`. InputError for weights that are missing or not safetensors.
    """
    auto = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
    options |= {} if device_map is None else {"device_map": device_map}
    loaded = load_head(model, auto, **options)
    if loaded.missing:
        must = f"have all of its weights in its files, to be run as a {kind} language model"
        remedy = f"Its files lack {', '.join(loaded.missing[:4])}: answers would be random."
        raise input_error("load_model", "model", must, got=model, remedy=remedy)
    return LanguageModel(loaded.module.eval(), loaded.tokenizer, kind)


def checked_max_length(function: str, max_length: int | None, limit: int | None) -> int | None:
    """Return the length to cut at: `max_length` if the model accepts it; by default the model's limit."""
    if max_length is None:
        return limit
    if max_length < 4 or (limit is not None and max_length > limit):
        allowed = "4 or more" if limit is None else f"between 4 and {limit}, the model's limit"
        raise input_error(function, "max_length", f"be {allowed}", got=max_length)
    return max_length


def weights_hash(folder: Path) -> str:
    """Return the sha256 (hex) of a folder's safetensors file, or of the shards' hashes in name order."""
    digests = [remembered_sha256(file) for file in sorted(folder.glob("*.safetensors"))]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def folder_identity(folder: Path, *, trust_remote_code: bool = False) -> dict[str, str]:
    """Return the hashes of what decides a model's answers in its folder, for any prompt.

    ``weights_hash``; ``settings_hash``, of configuration and tokenizer; ``files``, if there are any of `FURTHER_FILES`,
    or code that is to be run (see `named_hashes`).
    """
    settings = hashlib.sha256()
    for name in sorted(("config.json", *TOKENIZER_FILES)):
        if (file := folder / name).is_file():
            settings.update(name.encode() + file.read_bytes())
    hashes = {"weights_hash": weights_hash(folder), "settings_hash": settings.hexdigest()[:16]}
    return hashes | named_hashes(folder, "files", (*FURTHER_FILES, *(["**/*.py"] if trust_remote_code else [])))


def named_hashes(folder: Path, key: str, patterns: Iterable[str]) -> dict[str, str]:
    """Return ``{key: "chat_template.jinja 0123456789abcdef, ..."}`` for a folder's files; empty if none matches."""
    files = {f.relative_to(folder).as_posix(): f for pattern in patterns for f in folder.glob(pattern) if f.is_file()}
    hashes = [
        f"{name} {hashlib.sha256(files[name].read_bytes()).hexdigest()[:16]}"
        for name in sorted(files.keys() - {*TOKENIZER_FILES})
    ]
    return {key: ", ".join(hashes)} if hashes else {}


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' load reports and bars, whose content this package checks and reports itself."""
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


def _check_folder(folder: Path) -> None:
    present = {file.name for file in folder.iterdir()}
    if "config.json" not in present:
        raise not_a_model(str(folder), "it has no config.json")
    if not any(file.endswith(".safetensors") for file in present):
        why = "it has no weights (*.safetensors)"
        if pickled := sorted(f for f in present if f.endswith((".bin", ".pt", ".pth", ".ckpt", ".h5"))):
            why = f"its weights are in {pickled[0]}, and only safetensors are read (pickles can run code): "
            why += "load it where you trust it and call save_pretrained"
        raise not_a_model(str(folder), why)


def not_a_model(model: str, why: str) -> InputError:
    """Return the error for a source that is not a model or cannot be read, and why."""
    must = "be a Hub id, or a folder with config.json, safetensors and a tokenizer"
    return input_error("load_model", "model", must, got=model, remedy=f"{why[:1].upper()}{why[1:].rstrip('.')}.")
