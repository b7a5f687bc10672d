"""Mutual entailment: what an NLI model says of a candidate and its original, both ways (Arakelyan et al. 2024)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paraconsist.data.tasks import get_task
from paraconsist.errors import input_error
from paraconsist.models.labels import normalise_label
from paraconsist.running.predictor import Predictor


def entailment_label(label_names: Sequence[str], label_map: dict[str, str] | None = None) -> int:
    """Return which of a model's labels is entailment.

    Parameters
    ----------
    label_names : sequence of str
        The model's.
    label_map : dict of str to str, optional
        Model label -> its real name, for models with names that say nothing.

    Raises
    ------
    InputError
        If none or several are called entailment.
    """
    renamed = {normalise_label(key): value for key, value in (label_map or {}).items()}
    names = [normalise_label(renamed.get(normalise_label(name), name)) for name in label_names]
    if names.count("entailment") != 1:
        raise input_error(
            "paraphrase",
            "nli_model",
            "have one label called entailment",
            got=list(label_names),
            remedy="Say which it is: --label-map MODEL_LABEL=entailment; or take a model trained on inference.",
        )
    return names.index("entailment")


class MutualEntailment:
    """Judges pairs: does each text entail the other, that is, is entailment the most probable label both ways?

    Parameters
    ----------
    predictor : Predictor
        An NLI model.
    label_map : dict, optional
        As for `entailment_label`.
    """

    def __init__(self, predictor: Predictor, label_map: dict[str, str] | None = None) -> None:
        if predictor.task != get_task("nli"):
            raise input_error(
                "paraphrase", "nli_model", "be asked about premise and hypothesis", got=predictor.task.name
            )
        self.predictor = predictor
        self.label = entailment_label(predictor.label_names, label_map)

    def __call__(self, originals: Sequence[str], candidates: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return for each pair whether it holds, shape (n,); the way back is asked only where the way there holds."""
        there = self._entails(originals, candidates)
        both = there.copy()
        rows = np.flatnonzero(there).tolist()
        if rows:
            both[rows] = self._entails([candidates[i] for i in rows], [originals[i] for i in rows])
        return both

    def _entails(self, premises: Sequence[str], hypotheses: Sequence[str]) -> npt.NDArray[np.bool_]:
        asked = [{"premise": p, "hypothesis": h} for p, h in zip(premises, hypotheses, strict=True)]
        if not asked:
            return np.zeros(0, dtype=np.bool_)
        said: npt.NDArray[np.bool_] = self.predictor.probabilities(asked).argmax(axis=1) == self.label
        return said
