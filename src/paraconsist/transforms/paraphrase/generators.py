"""Generators of candidates: rules, a language model, an endpoint, or the user's function; and the papers' presets.

A generator is any callable ``texts -> a list of candidates for each``. Called again for the same text it may return
others: the refining loop does so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from paraconsist.data.foreign import parse_yaml
from paraconsist.data.options import option
from paraconsist.entry_points import load_function
from paraconsist.errors import check_choice, check_whole, first_line, input_error, renamed
from paraconsist.files import Json
from paraconsist.models.endpoint.settings import EndpointSettings
from paraconsist.transforms.lexicon import english
from paraconsist.transforms.sheets import read_sheet

if TYPE_CHECKING:
    import torch

    from paraconsist.models.endpoint.queue import Usage
    from paraconsist.models.pretrained import LanguageModel
    from paraconsist.models.prompted import GenerationSettings


@dataclass(frozen=True)
class GeneratorSettings:
    """Options of the generation of candidates, and of the filters that keep them."""

    prompt: str = option("{sentence}", "The generator's prompt, with {sentence}, and {examples} before it.")
    n: int = option(10, "Candidates for each original in each try.", option=("--candidates", "-n"))
    keep: int = option(10, "Paraphrases wanted for each original, k: the first that pass.")
    tries: int = option(1, "How often to ask again for originals with fewer than k.")
    max_new_tokens: int = option(40, "Longest candidate.")
    num_beams: int = option(1, "Number of beams of plain beam search.", option="--beams")
    #: With a number: that many groups of beams as candidates, each one beam, where a token costs this much for every
    #: earlier group that chose it at the same place (Vijayakumar et al. 2018).
    diversity: float | None = option(None, "Diverse beam search: penalty for tokens of other groups.")
    temperature: float | None = option(1.0, "Temperature of sampling, and of the scores in diverse beam search.")
    top_k: int | None = option(None, "Sample among this many of the likeliest tokens.")
    top_p: float | None = option(None, "Sample among the likeliest tokens with this much probability.")
    most_jaccard: float | None = option(None, "Drop candidates that share at least this much of their words.")
    mutual_entailment: bool = option(
        False,
        "Keep candidates that entail the original and follow from it, under an NLI model; the preset says.",
        option="--entailment/--no-entailment",
    )
    language: str | None = option(
        None, "Language of the texts, such as de; by default what py3langid tells, where it is installed."
    )
    #: Whether a candidate is all that is written, also in several lines, and must keep numbers, names and code.
    whole: bool = False
    #: Least and most words, as multiples of the original's (two words more or fewer are always allowed).
    shortest: float = 0.4
    longest: float = 2.5
    #: Solved examples before the sentence.
    n_examples: int = 0

    def __post_init__(self) -> None:
        for name in ("n", "keep", "tries", "max_new_tokens", "num_beams"):
            check_whole("paraphrase", name, getattr(self, name))
        if "{sentence}" not in self.prompt:
            raise input_error("paraphrase", "prompt", "have {sentence} where the original goes", got=self.prompt)
        if self.language is not None and not re.fullmatch("[a-z]{2,3}", self.language):
            raise input_error("paraphrase", "language", "be a language's code, such as de", got=self.language)
        if self.temperature is not None and not self.temperature > 0:
            raise input_error("paraphrase", "temperature", "be above 0", got=self.temperature)
        if self.most_jaccard is not None and not 0 < self.most_jaccard <= 1:
            raise input_error("paraphrase", "most_jaccard", "lie between 0 and 1", got=self.most_jaccard)
        beams_only = self.num_beams > 1 or (self.temperature is None and self.diversity is None)
        if beams_only and self.n > self.num_beams:
            must = f"not be above the number of beams ({self.num_beams})"
            remedy = "A beam gives one candidate: give more beams, or a temperature (sampling) with one beam."
            raise input_error("paraphrase", "n", must, got=self.n, remedy=remedy)

    def changed(self, **options: Any) -> GeneratorSettings:
        """Return the settings with other values; options that are None stay as they are."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})


_PRESETS = parse_yaml(files("paraconsist.transforms.paraphrase").joinpath("presets.yaml").read_text(encoding="utf-8"))
#: The settings that the papers print, and ours for questions in free text.
PRESETS: Mapping[str, GeneratorSettings] = {name: GeneratorSettings(**settings) for name, settings in _PRESETS.items()}


def preset(name: str) -> GeneratorSettings:
    """Return a paper's settings, one of `PRESETS`."""
    check_choice("paraphrase", "preset", name, PRESETS)
    return PRESETS[name]


class Cut(str):
    """A candidate that breaks off, at the limit of tokens or by a filter."""


Generator: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[str]]]


@dataclass(frozen=True)
class GeneratorOptions:
    """Which generator, and what it is loaded with."""

    generator: str = option(
        "rules",
        "rules, a causal or seq2seq model's folder or Hub id (or its name behind the endpoint), or module:function of "
        "your own.",
    )
    examples: Path | None = option(None, "CSV with columns original, paraphrase, for {examples}.")
    kind: str | None = option(
        None, "Whether the generator is causal or seq2seq; by default what its architecture says."
    )
    endpoint: EndpointSettings | None = None
    #: Of the model that judges candidates: its label -> the task's.
    label_map: dict[str, str] | None = None


@dataclass(frozen=True)
class ParaphraseOptions(GeneratorOptions):
    """How a set's paraphrases are made."""

    preset: str | None = option(
        None, "Settings of a paper, a24, v23 or s24, or questions. By default questions for these, a24 for others."
    )
    column: str | None = option(None, "The text to paraphrase; by default what the task's papers do.")
    nli_model: str | None = option(None, "Keep candidates that this model finds entailed both ways.")
    check: str | None = option(
        None, "Keep candidates that mean the same in both orders: nli:MODEL, plui:MODEL, judge:FILE (YAML), similar."
    )
    least: int = option(1, "Leave out originals with fewer paraphrases.", min=1)
    seed: int = option(0, "Random seed of the draw and of sampling.", min=0)


@dataclass(frozen=True)
class MeasuringModels:
    """What measures the surface form."""

    embedding_model: str | None = option(None, "Encoder for semantic similarity.")
    bleurt: str | None = option(None, "BLEURT checkpoint, in place of the encoder.")
    parser: str | None = option(None, "For syntactic distance: stanza, or module:function.")


#: Solved examples for prompts: our own sentences.
EXAMPLES = tuple(english()["paraphrases"].items())


def check_examples(settings: GeneratorSettings, examples: Sequence[tuple[str, str]]) -> None:
    if settings.n_examples > len(examples):
        must = f"be at least {settings.n_examples} for this prompt"
        raise input_error("paraphrase", "examples", must, got=len(examples))


def prompt_of(settings: GeneratorSettings, examples: Sequence[tuple[str, str]], sentence: str) -> str:
    solved = "".join(f"Sentence: {a}\nParaphrase: {b}\n\n" for a, b in examples[: settings.n_examples])
    language = f" ({settings.language})" if settings.language else ""
    return settings.prompt.replace("{examples}", solved).replace("{language}", language).replace("{sentence}", sentence)


def tidy(written: str, *, whole: bool = False) -> str:
    """Return the first line that is not empty, or all that is written, without its quotation marks."""
    line = written.strip() if whole else next((line.strip() for line in written.splitlines() if line.strip()), "")
    for mark in ('""', "''", "“”"):
        if len(line) > 1 and line[0] == mark[0] and line[-1] == mark[1] and not set(mark) & set(line[1:-1]):
            line = line[1:-1].strip()
    return line if whole else " ".join(line.split())


def read_examples(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read solved examples from a CSV with the columns original and paraphrase, all filled in."""
    sheet = read_sheet(path, ("original", "paraphrase"), function="paraphrase", parameter="examples")
    for place, row in sheet:
        if not row["original"].strip() or not row["paraphrase"].strip():
            must = "have texts in the columns original and paraphrase"
            raise input_error("paraphrase", "examples", must, got=row, row=place)
    return [(row["original"], row["paraphrase"]) for row in sheet.rows]


@renamed(model="generator")
def load_generator(
    options: GeneratorOptions,
    settings: GeneratorSettings,
    *,
    seed: int = 0,
    answers: Path = Path("answers"),
    say: Callable[[str], object] | None = None,
) -> Generator:
    """Return the options' generator; an endpoint's answers are kept in the folder `answers`.

    `say` is told what requests will take, before they are sent.

    Rules use only the setting `n`. Solved examples, for prompts that have some, are our own by default.
    """
    name, kind = options.generator, options.kind
    solved = EXAMPLES if options.examples is None else read_examples(options.examples)
    if options.endpoint is not None:
        if kind is not None:
            raise input_error("paraphrase", "kind", "be given only without `endpoint`", got=kind)
        if name == "rules":
            raise input_error("paraphrase", "generator", "be given with `endpoint`: the model's name there", got=name)
        return EndpointGenerator(options.endpoint, name, settings, answers, seed, solved, say)
    if name == "rules":
        from paraconsist.transforms.paraphrase.rules import RuleGenerator

        return RuleGenerator(settings.n, settings.language)
    if ":" in name and not Path(name).exists():
        own: Generator = load_function(name, "paraphrase", "generator", "texts to lists of candidates")

        def user_generator(texts: Sequence[str]) -> Sequence[Sequence[str]]:
            try:
                return own(texts)
            except Exception as problem:
                remedy, must = f"It raised {type(problem).__name__}: {first_line(problem)}.", "return lists of texts"
                raise input_error("paraphrase", "generator", must, got=name, remedy=remedy) from problem

        return user_generator
    from paraconsist.models.loading import kind_of
    from paraconsist.models.pretrained import load_language_model, open_configuration

    kind = kind_of(open_configuration(name), kind)
    if kind == "classifier":
        must = "be rules, module:function, or a causal or sequence-to-sequence language model"
        remedy = "That model is a classifier and writes no text."
        raise input_error("paraphrase", "generator", must, got=name, remedy=remedy)
    return LanguageGenerator(load_language_model(name, kind), settings, seed, solved)


def call(generator: Generator, texts: Sequence[str]) -> list[list[str]]:
    """Call a generator, which must return a list of texts for each text."""
    lists = generator(list(texts))
    if isinstance(lists, (str, bytes)) or not isinstance(lists, Sequence) or len(lists) != len(texts):
        got = f"{len(lists)} items" if isinstance(lists, Sequence) else lists
        must = f"return a list of candidates for each of {len(texts)} texts"
        raise input_error("paraphrase", "generator", must, got=got)
    for row, candidates in enumerate(lists):
        is_list = isinstance(candidates, Sequence) and not isinstance(candidates, str)
        if not is_list or not all(isinstance(candidate, str) for candidate in candidates):
            raise input_error("paraphrase", "generator", "return lists of texts", got=candidates, row=row)
    return [list(candidates) for candidates in lists]


def _sampling(settings: GeneratorSettings, seed: int, **more: Any) -> GenerationSettings:
    from paraconsist.models.prompted import GenerationSettings

    names = ("n", "max_new_tokens", "num_beams", "top_k", "top_p")
    temperature = settings.temperature if settings.num_beams == 1 else None
    options = {name: getattr(settings, name) for name in names}
    return GenerationSettings(temperature=temperature, seed=seed, **options, **more)


@dataclass
class LanguageGenerator:
    """A language model as a generator; every call draws with a new seed, or continues with further groups."""

    language: LanguageModel
    settings: GeneratorSettings
    seed: int = 0
    examples: Sequence[tuple[str, str]] = EXAMPLES
    batch_rows: int = 16
    _calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        check_examples(self.settings, self.examples)

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        from transformers import LogitsProcessorList

        from paraconsist.models.prompted import GenerationSettings, generate, stop_tokens

        s = self.settings
        calls, self._calls = self._calls, self._calls + 1
        prompts = [prompt_of(s, self.examples, text) for text in texts]
        if s.diversity is not None and s.num_beams == 1:
            groups = s.n * (calls + 1)  # a further call continues with further groups
            stop = tuple(stop_tokens(self.language.module, self.language.tokenizer))
            choose = DiverseGroups(groups, s.diversity, s.temperature or 1.0, stop)
            choice = {"logits_processor": LogitsProcessorList([choose])}
            rows = groups * max(1, self.batch_rows // groups)
            options = GenerationSettings(n=1, max_new_tokens=s.max_new_tokens, batch_rows=rows, more=choice)
            lists = generate(self.language, [prompt for prompt in prompts for _ in range(groups)], options)
            lines = [line for candidates in lists for line in candidates]
            lists = [lines[i + groups - s.n : i + groups] for i in range(0, len(lines), groups)]
        else:
            lists = generate(self.language, prompts, _sampling(s, self.seed + calls, batch_rows=self.batch_rows))
        return [[tidy(text, whole=s.whole) for text in candidates] for candidates in lists]


@dataclass
class DiverseGroups:
    """A logits processor with which greedy search over `n_groups` rows becomes diverse beam search.

    Vijayakumar et al. (2018), with one beam a group; transformers 5 has no group beam search. The rows, one after
    another, continue the same prompt, and `penalty` is subtracted from a token's log-probability for each earlier row
    that chose it at this step. `temperature` divides the scores before. Rows that have ended, by one of the `stop`
    tokens, choose nothing.
    """

    n_groups: int
    penalty: float
    temperature: float
    stop: tuple[int, ...]
    _ended: Any = None
    _seen: Any = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        import torch

        n_rows = scores.shape[0]
        before = input_ids[:, :-1]
        if self._seen is None or before.shape != self._seen.shape or not torch.equal(before, self._seen):
            self._ended = torch.zeros(n_rows, dtype=torch.bool, device=scores.device)  # a new batch
        else:
            for token in self.stop:
                self._ended |= input_ids[:, -1] == token
        self._seen = input_ids.clone()
        chosen = torch.log_softmax(scores.float() / self.temperature, dim=-1)
        groups = self.n_groups if n_rows % self.n_groups == 0 else n_rows  # halved when memory did not suffice
        for first in range(0, n_rows, groups):
            spent = torch.zeros_like(chosen[0])
            for row in range(first, first + groups):
                chosen[row] -= self.penalty * spent
                if not bool(self._ended[row]):
                    spent[int(chosen[row].argmax())] += 1.0
        return chosen.to(scores.dtype)


def settings_of(
    name: str, options: Json, *, endpoint: EndpointSettings | None, say: Callable[[str], None]
) -> GeneratorSettings:
    """Return a preset's settings, overridden by `options`; endpoints have no beams and sample at its temperature."""
    chosen = preset(name)
    if endpoint is not None and (chosen.diversity is not None or chosen.num_beams > 1):
        chosen = replace(chosen, diversity=None, num_beams=1, temperature=chosen.temperature or 1.0)
        temperature = options.get("temperature") or chosen.temperature
        say(f"preset {name} has beams, an endpoint has none: candidates are sampled, temperature {temperature:g}.")
    return chosen.changed(**options)


def endpoint_facts(generator: Generator) -> dict[str, object]:
    """Return the metadata of a generator behind an endpoint; nothing for other generators."""
    if not isinstance(generator, EndpointGenerator):
        return {}
    endpoint = generator.endpoint
    return {"endpoint": {"url": " ".join(endpoint.urls), "api": endpoint.api, **generator.usage().to_dict()}}


@dataclass
class EndpointGenerator:
    """A model behind an OpenAI-compatible endpoint; every candidate is a request with its own seed, from `seed` on.

    `answers` is a folder for the answers, from which a killed command resumes.
    """

    endpoint: EndpointSettings
    model: str
    settings: GeneratorSettings
    answers: Path
    seed: int = 0
    examples: Sequence[tuple[str, str]] = EXAMPLES
    say: Callable[[str], object] | None = None
    _calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        from paraconsist.models.endpoint.client import Meter

        self.endpoint = self.endpoint.priced([self.model])
        self._meter = Meter(self.endpoint)  # of all calls
        for name, usual in (("num_beams", 1), ("diversity", None)):
            if (value := getattr(self.settings, name)) != usual:
                must, remedy = f"be {usual} for an endpoint", "Endpoints sample: give a temperature."
                raise input_error("paraphrase", name, must, got=value, remedy=remedy)
        check_examples(self.settings, self.examples)

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Return `settings.n` candidates for each text, different ones in each call."""
        from paraconsist.models.endpoint.queue import Journal, write_texts

        sampling = _sampling(self.settings, self.seed + self._calls * self.settings.n)
        self._calls += 1
        prompts = [prompt_of(self.settings, self.examples, text) for text in texts]
        self.answers.mkdir(parents=True, exist_ok=True)
        with renamed(model="generator"), Journal(self.answers) as journal:
            asked = self.endpoint, self.model, prompts, sampling
            lists = write_texts(*asked, journal=journal, meter=self._meter, say=self.say, cut=self._cut)
        return [[type(text)(tidy(text, whole=self.settings.whole)) for text in candidates] for candidates in lists]

    def _cut(self, text: str) -> str:
        """Return what a text that was cut has of whole lines, where a candidate is one."""
        return (not self.settings.whole and text.lstrip().rpartition("\n")[0]) or Cut(text)

    def usage(self) -> Usage:
        """Return the usage of all answers in the folder."""
        from paraconsist.models.endpoint.queue import Journal, add_up

        self.answers.mkdir(parents=True, exist_ok=True)
        with Journal(self.answers) as journal:
            return add_up(journal.paid, self.endpoint)
