"""How the papers generate: presets of prompts, decoding and filters, as settings that can be changed one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from paraconsist.errors import check_choice, check_whole, input_error


@dataclass(frozen=True)
class GeneratorSettings:
    """How candidates are generated, and which are kept.

    Attributes
    ----------
    prompt : str
        What the model reads; ``{sentence}`` stands for the original, ``{examples}`` for solved ones before it.
    n : int
        Candidates a try for each original.
    keep : int
        Paraphrases wanted for each original, the first that pass.
    tries : int
        How often candidates are asked for, for originals that have fewer than `keep`.
    max_new_tokens : int
    num_beams : int
    diversity : float or None
        With a number: that many groups of beams as candidates, each one beam, where a token costs this much for
        every earlier group that chose it at the same place (Vijayakumar et al. 2018).
    temperature : float or None
        Divides the scores; sampling unless beams are used.
    top_k, top_p
        Sample among so many tokens, or so much probability.
    most_jaccard : float or None
        Candidates whose words overlap with the original's this much or more are dropped.
    mutual_entailment : bool
        Candidates must entail the original and follow from it, under an NLI model.
    shortest, longest : float
        Least and most words, as multiples of the original's (two words more or less are always allowed).
    n_examples : int
        Solved examples before the sentence.
    """

    prompt: str = "{sentence}"
    n: int = 10
    keep: int = 10
    tries: int = 1
    max_new_tokens: int = 40
    num_beams: int = 1
    diversity: float | None = None
    temperature: float | None = 1.0
    top_k: int | None = None
    top_p: float | None = None
    most_jaccard: float | None = None
    mutual_entailment: bool = False
    shortest: float = 0.4
    longest: float = 2.5
    n_examples: int = 0

    def __post_init__(self) -> None:
        for name in ("n", "keep", "tries", "max_new_tokens", "num_beams"):
            check_whole("paraphrase", name, getattr(self, name))
        if "{sentence}" not in self.prompt:
            raise input_error("paraphrase", "prompt", "have {sentence} where the original goes", got=self.prompt)
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

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name."""
        return asdict(self)


_A24_PROMPT = "Rephrase the following sentence while preserving its original meaning: {sentence}"
_S24_PROMPT = "Paraphrase each sentence in other words.\n\n{examples}Sentence: {sentence}\nParaphrase:"

_A24_PROMPT = "Rephrase the following sentence while preserving its original meaning: {sentence}"
_S24_PROMPT = "Paraphrase each sentence in other words.\n\n{examples}Sentence: {sentence}\nParaphrase:"

#: The settings as the papers print them; what they leave open is noted beside it.
PRESETS: Mapping[str, GeneratorSettings] = {
    # Arakelyan et al. 2024, section 3.1: group beam search with a diversity term, k = 10, at most 40 tokens. They
    # give temperatures from 0.3 to 0.6, neither groups nor weight: as many groups as candidates, and weight 1.
    "a24": GeneratorSettings(
        _A24_PROMPT, n=10, keep=10, max_new_tokens=40, diversity=1.0, temperature=0.6, mutual_entailment=True
    ),
    # Verma et al. 2023: top-k 120, top-p 0.95, three each; overlap of 0.75 or more is dropped.
    "v23": GeneratorSettings(
        "paraphrase: {sentence}", n=3, keep=3, tries=3, max_new_tokens=64, top_k=120, top_p=0.95, most_jaccard=0.75
    ),
    # Srikanth et al. 2024, section 6: temperature 0.7, nine each, ten examples in the prompt.
    "s24": GeneratorSettings(_S24_PROMPT, n=9, keep=9, max_new_tokens=64, temperature=0.7, n_examples=10),
}


def preset(name: str) -> GeneratorSettings:
    """Return a paper's settings, one of `PRESETS`."""
    check_choice("paraphrase", "preset", name, PRESETS)
    return PRESETS[name]
