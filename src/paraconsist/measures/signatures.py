"""The line that every number carries: how it was made, short enough for a table's foot, and parseable back.

``pc|est:plugin|avg:bucket|orig:apart|unparsed:wrong|ci:bucket-bootstrap10000|level:0.95|seed:0|data:paranlu/delta_snli@275be35|v:0.1.0``

The first part names the measure. Every other part is ``key:value``; the keys that mean the same in every
measure are in `KEYS`, in the order in which they are written. ``%``, ``|`` and line ends in values are
percent-encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from paraconsist._version import __version__
from paraconsist.errors import input_error

#: Short names in signatures -> names of the measures.
MEASURE_NAMES: Mapping[str, str] = {
    "pc": "paraphrastic_consistency",
    "semantic": "semantic_inconsistency",
    "symmetric": "symmetric_inconsistency",
    "negational": "negational_inconsistency",
    "transitive": "transitive_inconsistency",
    "additive": "additive_inconsistency",
    "change": "prediction_change",
    "fooling": "fooling_rate",
    "shift": "distribution_shift",
    "ie": "ie_test",
    "difference": "consistency_difference",
    "diversity": "paraphrase_diversity",
    "noise": "noise_floor",
    "sensitivity": "prompt_sensitivity",
    "coherence": "probability_coherence",
}
SHORT_NAMES = {name: short for short, name in MEASURE_NAMES.items()}

#: Keys with one meaning in all measures, in the order in which they stand. A measure's own come before ``unparsed``.
KEYS: Mapping[str, str] = {
    "est": "the estimator that is the headline",
    "avg": "what the mean is over",
    "orig": "whether originals are among the paraphrases",
    "unparsed": "what became of answers that could not be read: refused, wrong, own_class, drop_bucket",
    "ci": "what intervals resample, and how",
    "level": "confidence level of the intervals",
    "seed": "of the resampling",
    "dtype": "in which the model was computed, where not in float32",
    "data": "the bucket set and its revision",
    "excluded": "buckets that a list left out",
    "v": "version of paraconsist",
}
_LEADING, _TRAILING = ("est", "avg", "orig"), ("unparsed", "ci", "level", "seed", "dtype", "data", "excluded", "v")


@dataclass(frozen=True)
class Signature:
    """A signature taken apart."""

    measure: str  # full name, such as ``paraphrastic_consistency``
    parts: Mapping[str, str] = field(default_factory=dict)  # the values by key, in the order in which they are written

    def __str__(self) -> str:
        own = [key for key in self.parts if key not in KEYS]
        order = [*_LEADING, *own, *_TRAILING]
        written = [f"{key}:{_encode(self.parts[key])}" for key in order if key in self.parts]
        return "|".join([SHORT_NAMES.get(self.measure, self.measure), *written])

    def replace(self, **parts: str) -> Signature:
        """Return the signature with other or further parts."""
        return Signature(self.measure, {**self.parts, **parts})


def signature(measure: str, **parts: str | None) -> str:
    """Return the line for a number made by this version of the package; parts that are None are left out.

    >>> signature("paraphrastic_consistency", est="plugin", avg="bucket").rpartition("|")[0]
    'pc|est:plugin|avg:bucket'
    """
    present = {key: value for key, value in parts.items() if value is not None}
    return str(Signature(measure, {**present, "v": __version__}))


def parse_signature(text: str) -> Signature:
    """Take a signature apart; ``str`` of the result is the text again.

    InputError if `text` is no signature: a part without ``key:``, a key given twice, more than one line.

    >>> line = parse_signature("pc|est:plugin|avg:bucket|ci:bucket-bootstrap10000|v:0.1.0")
    >>> line.measure, line.parts["ci"]
    ('paraphrastic_consistency', 'bucket-bootstrap10000')
    """
    if not isinstance(text, str):
        raise input_error("parse_signature", "text", "be text", got=text)
    name, *written = text.strip().split("|")
    parts: dict[str, str] = {}
    for part in written:
        key, colon, value = part.partition(":")
        if not colon or not key or key in parts:
            raise input_error("parse_signature", "text", "be key:value parts, each key once, after the name", got=part)
        parts[key] = unquote(value)
    if not name or ":" in name or "\n" in text.strip():
        raise input_error("parse_signature", "text", "be one line that starts with the measure's name", got=text)
    return Signature(MEASURE_NAMES.get(name, name), parts)


def _encode(value: str) -> str:
    return value.replace("%", "%25").replace("|", "%7C").replace("\n", "%0A").replace("\r", "%0D")
