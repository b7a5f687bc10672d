"""How the papers generate: presets of prompts, decoding and filters, as settings that can be changed one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from paraconsist.errors import check_choice, check_whole, input_error


def _option(default: Any, help: str, **more: Any) -> Any:
    """A field: its default, what it means, and what the command line needs to know of it."""
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True)
class GeneratorSettings:
    """How candidates are generated, and which are kept.

    What a field means stands with it, and in its ``metadata["help"]``.
    """

    prompt: str = _option("{sentence}", "What the generator reads, with {sentence}, and {examples} before it.")
    n: int = _option(10, "Candidates a try for each original.", option=("--candidates", "-n"))
    keep: int = _option(10, "Paraphrases wanted for each original, k: the first that pass.")
    tries: int = _option(1, "How often to ask again for originals with fewer than k.")
    max_new_tokens: int = _option(40, "Longest candidate.")
    num_beams: int = _option(1, "Plain beam search with so many beams.", option="--beams")
    #: With a number: that many groups of beams as candidates, each one beam, where a token costs this much for every
    #: earlier group that chose it at the same place (Vijayakumar et al. 2018).
    diversity: float | None = _option(None, "Diverse beam search: penalty for tokens of other groups.")
    temperature: float | None = _option(1.0, "Of sampling (and of the scores, with `diversity`).")
    top_k: int | None = _option(None, "Sample among so many tokens.")
    top_p: float | None = _option(None, "Sample among so much probability.")
    most_jaccard: float | None = _option(None, "Drop candidates that share this much or more words.")
    mutual_entailment: bool = _option(
        False,
        "Keep candidates that entail the original and follow from it, under an NLI model; the preset says.",
        option="--entailment/--no-entailment",
    )
    #: Least and most words, as multiples of the original's (two words more or less are always allowed).
    shortest: float = 0.4
    longest: float = 2.5
    #: Solved examples before the sentence.
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
