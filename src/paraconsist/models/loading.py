"""From a folder or a Hub id to a classifier; refuses what cannot be run honestly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import transformers
from transformers.utils import logging as transformers_logging

from paraconsist.data.tasks import Task
from paraconsist.errors import InputError, input_error
from paraconsist.models.bow import BowClassifier
from paraconsist.models.classifier import Classifier
from paraconsist.models.heads import HeadClassifier, longest_input
from paraconsist.models.kinds import kind_of
from paraconsist.models.own import OWN_MODELS, OwnModel, find_own_model
from paraconsist.models.word_models import WordClassifier
from paraconsist.models.words import VOCABULARY_FILE, Vocabulary

if TYPE_CHECKING:
    from paraconsist.models.prompted import PromptSettings


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_HEADS = {
    "ForSequenceClassification": (transformers.AutoModelForSequenceClassification, False),
    "ForMultipleChoice": (transformers.AutoModelForMultipleChoice, True),
}
_TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("vocab.txt", "vocab.json", "merges.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"),
    VOCABULARY_FILE,
)
_HOW_TO_TRAIN = "paraconsist train --model {model} --task {task} --train-file ROWS.csv --output FOLDER"


class LoadedModule(NamedTuple):
    """A module with its tokenizer, and which of its weights the files did not hold."""

    module: Any
    tokenizer: Any
    missing: tuple[str, ...]


def load_model(
    model: str | Path,
    *,
    task: Task,
    revision: str | None = None,
    dtype: str = "float32",
    max_length: int | None = None,
    trust_remote_code: bool = False,
    kind: str | None = None,
    ask: Callable[[], PromptSettings] | None = None,
) -> Classifier:
    """Load a trained classifier, or a language model with a prompt, to run it.

    Parameters
    ----------
    model : str or Path
        A folder that `paraconsist train` or ``save_pretrained`` wrote, or a Hub id.
    task : Task
        What it will be asked; multiple-choice models take their label names from it.
    revision : str, optional
        Branch, tag or commit of a Hub model. The commit found is recorded in the identity.
    dtype : {"float32", "bfloat16", "float16"}
        Of the weights in memory.
    max_length : int, optional
        Longest input in tokens; by default what model and tokenizer allow.
    trust_remote_code : bool
        Run code that comes with a Hub model.
    kind : {"classifier", "causal", "seq2seq"}, optional
        By default what the model's architecture says.
    ask : callable, optional
        Returns how a language model is asked; called for language models only, and required for them.

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
    if dtype not in DTYPES:
        raise input_error("load_model", "dtype", f"be one of {', '.join(DTYPES)}", got=dtype)
    name = str(model)
    if name in OWN_MODELS and not Path(name).exists():
        raise input_error(
            "load_model",
            "model",
            "be a trained model",
            got=name,
            remedy=f"Train one first: {_HOW_TO_TRAIN.format(model=name, task=task.name)}",
        )
    config = open_configuration(name, revision=revision, trust_remote_code=trust_remote_code)
    identity = _identity(name, config, dtype)
    own = find_own_model(config.model_type)
    if own is not None:
        return _load_own(own, name, config, task, dtype, max_length, identity)
    if ask is not None and (found := kind_of(config, kind)) != "classifier":
        from paraconsist.models.language import load_language_model, prompted

        settings = ask()
        language = load_language_model(
            name,
            found,
            revision=revision,
            dtype=DTYPES[dtype],
            trust_remote_code=trust_remote_code,
            device_map=settings.device_map,
        )
        return prompted(language, settings, max_length=max_length, identity=identity)
    auto, multiple_choice = _head(name, config, task)
    loaded = load_head(name, auto, revision=revision, dtype=DTYPES[dtype], trust_remote_code=trust_remote_code)
    if loaded.missing:
        raise input_error(
            "load_model",
            "model",
            "have all of its weights in its files, the classification head too",
            got=name,
            remedy=f"Its files lack {', '.join(loaded.missing[:4])}: answers would be random. "
            f"Train it first: {_HOW_TO_TRAIN.format(model=name, task=task.name)}",
        )
    labels = _label_names(name, config, task, multiple_choice=multiple_choice)
    limit = checked_max_length("load_model", max_length, longest_input(loaded.module, loaded.tokenizer))
    return HeadClassifier(
        loaded.module.eval(),
        loaded.tokenizer,
        labels,
        multiple_choice=multiple_choice,
        max_length=limit,
        identity={**identity, "max_length": str(limit) if limit is not None else "unlimited"},
    )


def open_configuration(model: str, *, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """Read a model's configuration; the first, cheap check that there is a model at all."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        _check_folder(folder)
        try:
            said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise _not_a_model(model, "its config.json cannot be read") from None
        own = find_own_model(said.get("model_type"))
        if own is not None:
            if said.get(own.version_field, 1) != getattr(own.config, own.version_field):
                raise _not_a_model(model, f"it was trained with another version of the {own.what_changed}")
            return own.config.from_pretrained(str(folder))
    elif folder.exists() or model.startswith(("/", ".", "~")) or model.count("/") > 1:
        raise _not_a_model(model, "there is no such folder")
    try:
        with quiet():
            return transformers.AutoConfig.from_pretrained(
                str(folder) if folder.is_dir() else model,
                revision=revision,
                trust_remote_code=trust_remote_code,
            )
    except (OSError, ValueError, KeyError) as problem:
        raise _not_a_model(model, _first_line(problem)) from None


def load_head(
    model: str,
    auto: Any,
    *,
    revision: str | None = None,
    dtype: torch.dtype = torch.float32,
    trust_remote_code: bool = False,
    **options: Any,
) -> LoadedModule:
    """Load weights (safetensors only) and tokenizer of a Hugging Face model under one of the Auto classes."""
    folder = Path(model).expanduser()
    source = str(folder) if folder.is_dir() else model
    try:
        with quiet():
            module, info = auto.from_pretrained(
                source,
                revision=revision,
                dtype=dtype,
                trust_remote_code=trust_remote_code,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                source, revision=revision, trust_remote_code=trust_remote_code
            )
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        raise _not_a_model(model, _first_line(problem)) from None
    except Exception as problem:
        if type(problem).__module__.partition(".")[0] not in ("safetensors", "safetensors_rust"):
            raise
        raise _not_a_model(model, f"its weights cannot be read ({_first_line(problem)})") from None
    renewed = {key if isinstance(key, str) else key[0] for key in info["mismatched_keys"]}
    return LoadedModule(module, tokenizer, tuple(sorted({*info["missing_keys"], *renewed})))


def checked_max_length(function: str, given: int | None, limit: int | None) -> int | None:
    """The length to cut at: what is given if the model can take it, else the model's own limit."""
    if given is None:
        return limit
    if given < 4 or (limit is not None and given > limit):
        allowed = "4 or more" if limit is None else f"between 4 and {limit}, what the model can take"
        raise input_error(function, "max_length", f"be {allowed}", got=given)
    return given


def weights_hash(folder: Path) -> str:
    """Sha256 (hex) of a folder's weights: of the safetensors file, or of the shards' hashes in name order."""
    digests = []
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as stream:
            digest = hashlib.sha256()
            while block := stream.read(1 << 22):
                digest.update(block)
        digests.append(digest.hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' own load reports and bars: what they say is checked and said here."""
    verbosity, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()


def _load_own(
    own: OwnModel,
    name: str,
    config: Any,
    task: Task,
    dtype: str,
    max_length: int | None,
    identity: Mapping[str, str],
) -> Classifier:
    if max_length is not None:
        raise input_error(
            "load_model", "max_length", f"not be given for {own.name}, which cuts nothing", got=max_length
        )
    _, multiple_choice = _head(name, config, task)
    folder = Path(name).expanduser()
    try:
        with quiet():
            module, info = own.head(multiple_choice=multiple_choice).from_pretrained(
                str(folder),
                dtype=DTYPES[dtype],
                use_safetensors=True,
                output_loading_info=True,
            )
    except Exception as problem:
        raise _not_a_model(name, f"its weights cannot be read ({_first_line(problem)})") from None
    if info["missing_keys"]:
        raise _not_a_model(name, f"its files lack {', '.join(sorted(info['missing_keys']))}")
    labels = _label_names(name, config, task, multiple_choice=multiple_choice)
    identity = {**identity, "max_length": "unlimited"}
    if not own.has_vocabulary:
        return BowClassifier(module.eval(), labels, identity)
    try:
        vocabulary = Vocabulary.load(folder)
    except (OSError, ValueError) as problem:
        raise _not_a_model(name, f"its vocabulary cannot be read ({_first_line(problem)})") from None
    if len(vocabulary) != config.vocab_size:
        raise _not_a_model(name, f"its vocabulary has {len(vocabulary):,} places, its weights {config.vocab_size:,}")
    return WordClassifier(module.eval(), vocabulary, labels, identity)


def _head(name: str, config: Any, task: Task) -> tuple[Any, bool]:
    """Which Auto class reads the model, and whether it is multiple choice."""
    architectures = list(config.architectures or ())
    for architecture in architectures:
        for ending, (auto, multiple_choice) in _HEADS.items():
            if architecture.endswith(ending):
                if multiple_choice and not task.choices:
                    raise input_error(
                        "load_model",
                        "task",
                        "be one that can be put as multiple choice, because the model is",
                        got=task.name,
                        remedy="Use a sequence classifier for it.",
                    )
                return auto, multiple_choice
    raise input_error(
        "load_model",
        "model",
        "be a sequence-classification or multiple-choice model",
        got=f"{name} ({', '.join(architectures) or 'no architecture named'})",
        remedy="It has no trained head that answers. Train one first: "
        f"{_HOW_TO_TRAIN.format(model=name, task=task.name)}",
    )


def _label_names(name: str, config: Any, task: Task, *, multiple_choice: bool) -> tuple[str, ...]:
    if multiple_choice:
        return task.label_names
    labels = dict(config.id2label or {})
    if sorted(labels) != list(range(len(labels))) or len(labels) < 2:
        raise input_error(
            "load_model",
            "model",
            "be a classifier of two or more labels, numbered from 0 in its configuration",
            got=labels,
            remedy=f"Mend `id2label` in the config.json of {name}, or use another model.",
        )
    return tuple(str(labels[i]) for i in range(len(labels)))


def _identity(name: str, config: Any, dtype: str) -> dict[str, str]:
    folder = Path(name).expanduser()
    identity = {
        "model": str(folder) if folder.is_dir() else name,
        "architecture": ",".join(config.architectures or ()),
        "dtype": dtype,
    }
    if not folder.is_dir():
        return {**identity, "revision": str(getattr(config, "_commit_hash", None) or "unknown")}
    settings = hashlib.sha256()
    for file in sorted(folder / file for file in ("config.json", *_TOKENIZER_FILES)):
        if file.is_file():
            settings.update(file.name.encode() + file.read_bytes())
    return {**identity, "weights_hash": weights_hash(folder), "settings_hash": settings.hexdigest()[:16]}


def _check_folder(folder: Path) -> None:
    present = {file.name for file in folder.iterdir()}
    if "config.json" not in present:
        why = "it holds an adapter, not a model; merge it first" if "adapter_config.json" in present else ""
        raise _not_a_model(str(folder), why or "it has no config.json")
    if not any(file.endswith(".safetensors") for file in present):
        pickled = sorted(f for f in present if f.endswith((".bin", ".pt", ".pth", ".ckpt", ".h5")))
        if pickled:
            raise _not_a_model(
                str(folder),
                f"its weights are in {pickled[0]}, and only safetensors are read (pickles can run code): "
                "load it where you trust it and call save_pretrained",
            )
        raise _not_a_model(str(folder), "it has no weights (*.safetensors)")


def _not_a_model(model: str, why: str) -> InputError:
    return input_error(
        "load_model",
        "model",
        "be a Hub id, or a folder with config.json, safetensors and a tokenizer",
        got=model,
        remedy=f"{why[:1].upper()}{why[1:].rstrip('.')}.",
    )


def _first_line(problem: BaseException) -> str:
    lines = [line for line in str(problem).splitlines() if line.strip()]
    return lines[0] if lines else type(problem).__name__
