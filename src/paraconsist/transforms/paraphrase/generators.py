"""Generators: from texts to lists of candidates, by rules, a language model, or a function of the user's.

A generator is any callable ``texts -> a list of candidates for each``. Called again for the same text it may give
others (the refining loop does so); it need not.

Diverse beam search with one beam a group (Vijayakumar et al. 2018), as arguments of transformers' ``generate``.

transformers 5 has no group beam search of its own. With one beam a group it is greedy search in groups side by
side, where a token that earlier groups chose at this place costs `penalty` for each of them.

What a generator reads for a sentence, solved examples included, and what is taken of the text it writes.

A model behind an endpoint as a generator; what it wrote is kept, and nothing is asked for twice.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from paraconsist.errors import InputError, input_error, renamed
from paraconsist.transforms.paraphrase.settings import GeneratorSettings

if TYPE_CHECKING:
    import torch

    from paraconsist.models.endpoint.journal import Usage
    from paraconsist.models.endpoint.settings import EndpointSettings
    from paraconsist.models.pretrained import LanguageModel


#: Solved examples for prompts: our own sentences.
EXAMPLES = (
    ("The boy put his shoes by the door.", "By the door stood the shoes that the boy had taken off."),
    ("She has no time to cook tonight.", "This evening she is too busy to make dinner."),
    ("A man is waiting for the bus.", "Someone stands at the stop until his bus comes."),
    ("The shop was closed when they came.", "By the time they got to the store, it had shut."),
    ("He plays the piano very well.", "He is an excellent pianist."),
    ("Two children are throwing snowballs.", "A pair of kids are having a snowball fight."),
    ("Her brother lent her the money.", "She borrowed the money from her brother."),
    ("The dog is afraid of thunder.", "Thunder frightens the dog."),
    ("They moved here ten years ago.", "They have lived here for a decade."),
    ("Nobody answered the phone.", "The telephone rang, but no one picked it up."),
)


def check_examples(settings: GeneratorSettings, examples: Sequence[tuple[str, str]]) -> None:
    """Refuse too few solved examples for a prompt.

    Raises
    ------
    InputError
    """
    if settings.n_examples > len(examples):
        must = f"be at least {settings.n_examples} for this prompt"
        raise input_error("paraphrase", "examples", must, got=len(examples))


def prompt_of(settings: GeneratorSettings, examples: Sequence[tuple[str, str]], sentence: str) -> str:
    """Return the whole prompt for a sentence."""
    solved = "".join(f"Sentence: {a}\nParaphrase: {b}\n\n" for a, b in examples[: settings.n_examples])
    return settings.prompt.replace("{examples}", solved).replace("{sentence}", sentence)


def tidy(written: str) -> str:
    """Take the first line that says something, out of its quotation marks."""
    line = next((line.strip() for line in written.splitlines() if line.strip()), "")
    for mark in ('""', "''", "“”"):
        if len(line) > 1 and line[0] == mark[0] and line[-1] == mark[1] and not set(mark) & set(line[1:-1]):
            line = line[1:-1].strip()
    return " ".join(line.split())


def read_examples(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read solved examples from a CSV with the columns original and paraphrase.

    Raises
    ------
    InputError
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError) as problem:
        raise input_error(
            "paraphrase", "examples", "name a CSV that can be read", got=str(path), remedy=f"{problem}."
        ) from None
    for number, row in enumerate(rows):
        if not (row.get("original") or "").strip() or not (row.get("paraphrase") or "").strip():
            raise input_error(
                "paraphrase", "examples", "have texts in the columns original and paraphrase", got=row, row=number
            )
    return [(row["original"], row["paraphrase"]) for row in rows]


Generator: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[str]]]


def load_generator(
    name: str,
    settings: GeneratorSettings,
    *,
    kind: str | None = None,
    revision: str | None = None,
    seed: int = 0,
    examples: Sequence[tuple[str, str]] = EXAMPLES,
) -> Generator:
    """Return the generator that `name` stands for.

    Parameters
    ----------
    name : str
        ``rules``; ``module:function``, the user's own; or a folder or Hub id of a language model.
    settings : GeneratorSettings
        Prompt and decoding of a language model; rules take `n` only.
    kind : {"causal", "seq2seq"}, optional
        Of the language model; by default what its configuration says.
    revision : str, optional
        Of a Hub model.
    seed : int
        Of the sampling.
    examples : sequence of (str, str)
        Original and paraphrase, for prompts with examples.

    Raises
    ------
    InputError
        If there is no such model or function, or the model writes no text.
    """
    if name == "rules":
        from paraconsist.transforms.paraphrase.rules import RuleGenerator

        return RuleGenerator(settings.n)
    if ":" in name and not Path(name).exists():
        return _own_function(name)
    from paraconsist.models.loading import kind_of
    from paraconsist.models.pretrained import load_language_model, open_configuration

    found = kind_of(open_configuration(name, revision=revision), kind)
    if found == "classifier":
        raise input_error(
            "paraphrase",
            "generator",
            "be rules, module:function, or a causal or sequence-to-sequence language model",
            got=name,
            remedy="That model is a classifier and writes no text.",
        )
    return LanguageGenerator(load_language_model(name, found, revision=revision), settings, seed, tuple(examples))


def call(generator: Generator, texts: Sequence[str]) -> list[list[str]]:
    """Call a generator and check what it returns: a list of texts for each text.

    Raises
    ------
    InputError
    """
    found = generator(list(texts))
    if isinstance(found, (str, bytes)) or not isinstance(found, Sequence) or len(found) != len(texts):
        raise input_error(
            "paraphrase",
            "generator",
            f"return a list of candidates for each of {len(texts)} texts",
            got=found if not isinstance(found, Sequence) else f"{len(found)} items",
        )
    for row, candidates in enumerate(found):
        if (
            isinstance(candidates, str)
            or not isinstance(candidates, Sequence)
            or not all(isinstance(c, str) for c in candidates)
        ):
            raise input_error("paraphrase", "generator", "return lists of texts", got=candidates, row=row)
    return [list(candidates) for candidates in found]


@dataclass
class LanguageGenerator:
    """A language model as a generator; every call draws with a seed of its own, or goes on to further groups."""

    language: LanguageModel
    settings: GeneratorSettings
    seed: int = 0
    examples: tuple[tuple[str, str], ...] = EXAMPLES
    batch_rows: int = 16
    _calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        check_examples(self.settings, self.examples)

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Return `settings.n` candidates for each text."""
        from paraconsist.models.generation import GenerationSettings, generate

        s = self.settings
        calls, self._calls = self._calls, self._calls + 1
        prompts = [prompt_of(s, self.examples, text) for text in texts]
        if s.diversity is not None and s.num_beams == 1:
            groups = s.n * (calls + 1)  # asked again, it goes on to further groups
            chosen = diverse_groups(self.language, groups, s.diversity, s.temperature or 1.0)
            rows = groups * max(1, self.batch_rows // groups)
            options = GenerationSettings(n=1, max_new_tokens=s.max_new_tokens, batch_rows=rows, more=chosen)
            flat = [
                line
                for one in generate(self.language, [p for p in prompts for _ in range(groups)], options)
                for line in one
            ]
            found = [flat[i + groups - s.n : i + groups] for i in range(0, len(flat), groups)]
        else:
            sampled = s.num_beams == 1
            options = GenerationSettings(
                n=s.n,
                max_new_tokens=s.max_new_tokens,
                num_beams=s.num_beams,
                temperature=s.temperature if sampled else None,
                top_k=s.top_k,
                top_p=s.top_p,
                seed=self.seed + calls,
                batch_rows=self.batch_rows,
            )
            found = generate(self.language, prompts, options)
        return [[tidy(text) for text in candidates] for candidates in found]


def _own_function(name: str) -> Generator:
    from paraconsist.transforms.registry import load_function

    try:
        with renamed(function="generator"):
            made: Generator = load_function(name)
    except InputError as problem:  # the reader speaks of transformations
        raise InputError(str(problem).replace("text to text", "texts to lists of candidates")) from None
    return made


class DiverseGroups:
    """Makes greedy search choose, in each row of a group of `n_groups` rows, what diverse beam search would.

    Parameters
    ----------
    n_groups : int
        Rows one after another that continue the same prompt.
    penalty : float
        Taken off a token's log-probability for each earlier row that chose it at this step.
    temperature : float
        Divides the scores before the log-probabilities are taken.
    stop : sequence of int
        Tokens that end a text: rows that are over choose nothing.
    """

    def __init__(self, n_groups: int, penalty: float, temperature: float, stop: tuple[int, ...]) -> None:
        self.n_groups = n_groups
        self.penalty = penalty
        self.temperature = temperature
        self.stop = stop
        self._over: Any = None
        self._seen: Any = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the log-probabilities less what earlier groups' choices cost."""
        import torch

        n_rows = scores.shape[0]
        before = input_ids[:, :-1]
        if self._seen is None or before.shape != self._seen.shape or not torch.equal(before, self._seen):
            self._over = torch.zeros(n_rows, dtype=torch.bool, device=scores.device)  # a new batch
        else:
            for token in self.stop:
                self._over |= input_ids[:, -1] == token
        self._seen = input_ids.clone()
        chosen = torch.log_softmax(scores.float() / self.temperature, dim=-1)
        groups = self.n_groups if n_rows % self.n_groups == 0 else n_rows  # halved where memory did not suffice
        for first in range(0, n_rows, groups):
            spent = torch.zeros_like(chosen[0])
            for row in range(first, first + groups):
                chosen[row] -= self.penalty * spent
                if not bool(self._over[row]):
                    spent[int(chosen[row].argmax())] += 1.0
        return chosen.to(scores.dtype)


def diverse_groups(language: LanguageModel, n_groups: int, penalty: float, temperature: float) -> dict[str, Any]:
    """Return the arguments of ``generate`` for prompts that stand `n_groups` times one after another."""
    from transformers import LogitsProcessorList

    from paraconsist.models.generation import stop_tokens

    made = DiverseGroups(n_groups, penalty, temperature, tuple(stop_tokens(language.module, language.tokenizer)))
    return {"logits_processor": LogitsProcessorList([made])}


def without_beams(settings: GeneratorSettings) -> GeneratorSettings:
    """Return settings that sample at the same temperature: endpoints have no beams, diverse or plain."""
    return replace(settings, diversity=None, num_beams=1, temperature=settings.temperature or 1.0)


@dataclass
class EndpointGenerator:
    """A model behind an OpenAI-compatible endpoint; every candidate is a request with a seed of its own.

    Parameters
    ----------
    endpoint : EndpointSettings
    model : str
        As the endpoint calls it.
    settings : GeneratorSettings
        Prompt and sampling.
    answers : Path
        A folder for what was written: a killed command goes on from it.
    seed : int
        Of the first candidate.
    examples : sequence of (str, str)
        Original and paraphrase, for prompts with examples.

    Raises
    ------
    InputError
        For settings with beams, and too few examples; when called, for what the endpoint refuses.
    """

    endpoint: EndpointSettings
    model: str
    settings: GeneratorSettings
    answers: Path
    seed: int = 0
    examples: Sequence[tuple[str, str]] = EXAMPLES
    _calls: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for name, usual in (("num_beams", 1), ("diversity", None)):
            if (given := getattr(self.settings, name)) != usual:
                must = f"be {usual} for an endpoint"
                raise input_error("paraphrase", name, must, got=given, remedy="Endpoints sample: give a temperature.")
        check_examples(self.settings, self.examples)

    def __call__(self, texts: Sequence[str]) -> list[list[str]]:
        """Return `settings.n` candidates for each text; asked again, others."""
        from paraconsist.models.endpoint.generation import write_texts
        from paraconsist.models.endpoint.journal import Journal
        from paraconsist.models.generation import GenerationSettings

        s = self.settings
        sampling = GenerationSettings(
            n=s.n,
            max_new_tokens=s.max_new_tokens,
            temperature=s.temperature,
            top_k=s.top_k,
            top_p=s.top_p,
            seed=self.seed + self._calls * s.n,
        )
        self._calls += 1
        prompts = [prompt_of(s, self.examples, text) for text in texts]
        self.answers.mkdir(parents=True, exist_ok=True)
        with renamed(model="generator"), Journal(self.answers) as journal:
            found = write_texts(self.endpoint, self.model, prompts, sampling, journal=journal)
        return [[tidy(text) for text in candidates] for candidates in found]

    def usage(self) -> Usage:
        """Return what the answers came to, over all the commands that put them there."""
        from paraconsist.models.endpoint.journal import Journal, add_up

        self.answers.mkdir(parents=True, exist_ok=True)
        with Journal(self.answers) as journal:
            return add_up(journal.answers.values(), self.endpoint)
