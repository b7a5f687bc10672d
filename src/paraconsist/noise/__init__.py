"""The noise floor: how much a model's answers move when nothing is reworded at all.

The same inputs are answered again, in another batch composition (*numeric* noise: sums in another order) or with
another seed where answers are sampled (*decoding* noise). Flips under paraphrase mean something only in excess of
the flips at no change; and the variance of correctness splits into what differs between problems, between
paraphrases of a problem, between decodings of a paraphrase and between numeric repeats of a decoding.
"""

from __future__ import annotations

from paraconsist.noise.counting import KINDS
from paraconsist.noise.floor import noise_floor
from paraconsist.noise.result import NoiseFloorResult

__all__ = ["KINDS", "NoiseFloorResult", "noise_floor"]
