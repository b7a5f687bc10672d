"""A model behind an endpoint as a generator; what it wrote is kept, and nothing is asked for twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.errors import input_error, speaking_for
from paraconsist.generation.prompts import EXAMPLES, check_examples, prompt_of, tidy
from paraconsist.generation.settings import GeneratorSettings

if TYPE_CHECKING:
    from paraconsist.models.endpoint.journal import Usage
    from paraconsist.models.endpoint.settings import EndpointSettings


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
        with speaking_for("paraphrase", model="generator"), Journal(self.answers) as journal:
            found = write_texts(self.endpoint, self.model, prompts, sampling, journal=journal)
        return [[tidy(text) for text in candidates] for candidates in found]

    def usage(self) -> Usage:
        """Return what the answers came to, over all the commands that put them there."""
        from paraconsist.models.endpoint.journal import Journal, add_up

        self.answers.mkdir(parents=True, exist_ok=True)
        with Journal(self.answers) as journal:
            return add_up(journal.answers.values(), self.endpoint)
