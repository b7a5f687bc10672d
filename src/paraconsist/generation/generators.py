"""Generators: from texts to lists of candidates, by rules, a language model, or a function of the user's.

A generator is any callable ``texts -> a list of candidates for each``. Called again for the same text it may give
others (the refining loop does so); it need not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from paraconsist.errors import InputError, input_error, speaking_for
from paraconsist.generation.prompts import EXAMPLES, check_examples, prompt_of, tidy
from paraconsist.generation.settings import GeneratorSettings

if TYPE_CHECKING:
    from paraconsist.models.pretrained import LanguageModel


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
        from paraconsist.generation.rules import RuleGenerator

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
            from paraconsist.generation.diverse import diverse_groups

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
    from paraconsist.transforms.callables import load_function

    try:
        with speaking_for("paraphrase", function="generator"):
            made: Generator = load_function(name)
    except InputError as problem:  # the reader speaks of transformations
        raise InputError(str(problem).replace("text to text", "texts to lists of candidates")) from None
    return made
