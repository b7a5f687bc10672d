"""A model's labels meet a task's labels by name (numpy only).

The field's commonest silent error is a classifier whose label numbers are permuted. Labels are therefore
matched by name, never by position, and names that say nothing (``LABEL_0``) are refused until mapped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paraconsist.errors import InputError, input_error

Rule = Literal["argmax", "sum"]
_RULES = ("argmax", "sum")

#: Names that mean the same; every group's first name stands for the others. Compared after `normalise_label`.
ALIASES: tuple[tuple[str, ...], ...] = (
    ("entailment", "entailed", "entail", "entails"),
    ("not entailment", "not entailed", "non entailment", "nonentailment", "no entailment"),
    ("neutral", "neutrality"),
    ("contradiction", "contradictory", "contradicted", "contradict", "contradicts"),
    ("strengthener", "strengthen", "strengthens"),
    ("weakener", "weaken", "weakens"),
    ("paraphrase", "equivalent", "duplicate"),
    ("not paraphrase", "not equivalent", "not duplicate", "non paraphrase"),
    ("yes", "true"),
    ("no", "false"),
    ("positive", "pos"),
    ("negative", "neg"),
    ("hypothesis 1", "hypothesis1", "hyp1", "hyp 1"),
    ("hypothesis 2", "hypothesis2", "hyp2", "hyp 2"),
)
_CANONICAL = {name: group[0] for group in ALIASES for name in group}
_SAYS_NOTHING = re.compile(r"(?:label|class)? ?\d+")


def normalise_label(name: str) -> str:
    """Return `name` in lower case, separators as single spaces, aliases replaced by one of them.

    >>> normalise_label("NOT_ENTAILED"), normalise_label("not-entailment"), normalise_label("Label_1")
    ('not entailment', 'not entailment', 'label 1')
    """
    plain = re.sub(r"[\s_\-/]+", " ", str(name)).strip().lower()
    return _CANONICAL.get(plain, plain)


@dataclass(frozen=True)
class LabelMap:
    """How a model's labels become a task's labels; made by `resolve_label_map`.

    Attributes
    ----------
    model_labels : tuple of str
        In the order of the model's logits.
    task_labels : tuple of str
        In the order of the task's classes.
    targets : tuple of int
        For each model label the task label it counts as; -1 where it counts as none (a partial map).
    rule : {"argmax", "sum"}
        ``argmax``: the model's best label is found first and then mapped. ``sum``: probabilities of labels
        with the same target are added, then the best task label is taken.
    """

    model_labels: tuple[str, ...]
    task_labels: tuple[str, ...]
    targets: tuple[int, ...]
    rule: Rule = "argmax"

    @property
    def is_identity(self) -> bool:
        """True if the model's labels are the task's labels in the same order."""
        return self.targets == tuple(range(len(self.task_labels)))

    @property
    def is_one_to_one(self) -> bool:
        """True if every task label has exactly one model label, and no model label is left over."""
        return sorted(self.targets) == list(range(len(self.task_labels)))

    def apply(self, probabilities: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Turn the model's probabilities into predictions and probabilities over the task's labels.

        Parameters
        ----------
        probabilities : array, shape (n, n_model_labels)
            Each row sums to one.

        Returns
        -------
        predictions : int64 array, shape (n,)
            Position in `task_labels`; -1 where the model's best label counts as no task label.
        task_probabilities : float64 array, shape (n, n_task_labels)
            Summed over the labels of each target (under either rule); a row sums to less than one where
            the map is partial.

        Notes
        -----
        With many-to-one maps under ``argmax`` the prediction need not have the largest summed probability:
        0.4 entailment, 0.3 neutral, 0.3 contradiction is entailment by ``argmax``, not entailment by ``sum``.
        """
        given = np.asarray(probabilities, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != len(self.model_labels):
            raise input_error(
                "LabelMap.apply",
                "probabilities",
                f"have shape (n, {len(self.model_labels)}), one column for each of the model's labels",
                got=given.shape,
            )
        targets = np.asarray(self.targets, dtype=np.int64)
        mapped = np.zeros((given.shape[0], len(self.task_labels)), dtype=np.float64)
        for column, target in enumerate(self.targets):
            if target >= 0:
                mapped[:, target] += given[:, column]
        if given.shape[0] == 0:
            return np.empty(0, dtype=np.int64), mapped
        if self.rule == "argmax":
            predictions = targets[given.argmax(axis=1)]
        else:
            rest = 1.0 - mapped.sum(axis=1) if -1 in self.targets else np.zeros(len(mapped))
            best = mapped.argmax(axis=1)
            predictions = np.where(mapped.max(axis=1) >= rest, best, -1)
        return predictions.astype(np.int64), mapped

    def describe(self) -> str:
        """One line for signatures and metadata: ``identity``, or every pair and the rule.

        >>> resolve_label_map(("yes", "no"), ("no", "yes"), None).describe()
        'yes=yes,no=no'
        """
        if self.is_identity and self.model_labels == self.task_labels:
            return "identity"
        pairs = ",".join(
            f"{name}={self.task_labels[target] if target >= 0 else '(none)'}"
            for name, target in zip(self.model_labels, self.targets, strict=True)
        )
        return pairs if self.is_one_to_one else f"{pairs};rule={self.rule}"


def resolve_label_map(
    model_labels: Sequence[str],
    task_labels: Sequence[str],
    label_map: Mapping[str, str] | None = None,
    rule: str = "argmax",
) -> LabelMap:
    """Match a model's labels to a task's labels by name, or by an explicit map.

    Names are compared without regard to case, hyphens and underscores, and with the few aliases of `ALIASES`.

    Parameters
    ----------
    model_labels : sequence of str
        In the order of the model's logits (``config.id2label``).
    task_labels : sequence of str
        In the order of the task's classes.
    label_map : mapping of model label -> task label, optional
        May be many-to-one, may be partial: model labels that it leaves out are matched by name, and where
        they have no namesake they count as no task label (prediction -1, unparsed). Model labels may also be
        given by number (``"0"``) or as ``LABEL_0``.
    rule : {"argmax", "sum"}
        See `LabelMap`.

    Raises
    ------
    InputError
        If names do not match and no map is given, if the map names labels that do not exist, or if some task
        label cannot be reached. The message shows both lists and the option to type.

    Examples
    --------
    An MNLI model on a two-way task:

    >>> two_way = {"contradiction": "not_entailment", "neutral": "not_entailment"}
    >>> mapped = resolve_label_map(
    ...     ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "not_entailment"], two_way
    ... )
    >>> mapped.targets
    (1, 1, 0)
    """
    function = "resolve_label_map"
    models, tasks = tuple(str(m) for m in model_labels), tuple(str(t) for t in task_labels)
    if rule not in _RULES:
        raise input_error(function, "rule", "be 'argmax' or 'sum'", got=rule)
    task_index = _index(tasks, "task_labels")
    model_index = _index(models, "model_labels")
    targets: list[int | None] = [None] * len(models)
    if label_map is None:
        nameless = [name for name in models if _SAYS_NOTHING.fullmatch(normalise_label(name))]
        nameless = [name for name in nameless if normalise_label(name) not in task_index]
        if nameless:
            raise _ask_for_map(
                "have label names that say what they mean",
                models,
                tasks,
                "the model's configuration names none",
            )
        for i, name in enumerate(models):
            targets[i] = task_index.get(normalise_label(name))
        if None in targets:
            lost = [name for name, target in zip(models, targets, strict=True) if target is None]
            raise _ask_for_map(
                "be the task's labels by name", models, tasks, f"no task label is called {', '.join(lost)}"
            )
    else:
        for source, target in label_map.items():
            place = _find_model_label(str(source), model_index, len(models))
            if place is None:
                raise _unknown("map labels that the model has", source, models, tasks)
            j = task_index.get(normalise_label(str(target)))
            if j is None:
                raise _unknown("map to labels that the task has", target, models, tasks)
            if targets[place] is not None and targets[place] != j:
                raise _unknown("map each model label once", source, models, tasks)
            targets[place] = j
        for i, name in enumerate(models):
            if targets[i] is None:
                targets[i] = task_index.get(normalise_label(name))
    resolved = tuple(-1 if target is None else target for target in targets)
    unreached = [name for j, name in enumerate(tasks) if j not in resolved]
    if unreached:
        raise _ask_for_map(
            "reach every label of the task",
            models,
            tasks,
            f"the model could never answer {', '.join(unreached)}",
        )
    return LabelMap(models, tasks, resolved, cast(Rule, rule))


def _index(names: tuple[str, ...], parameter: str) -> dict[str, int]:
    if not names:
        raise input_error("resolve_label_map", parameter, "not be empty", got=[])
    index = {normalise_label(name): i for i, name in enumerate(names)}
    if len(index) != len(names):
        raise input_error(
            "resolve_label_map",
            parameter,
            "be names that differ (case, hyphens, underscores and aliases aside)",
            got=list(names),
        )
    return index


def _find_model_label(name: str, index: Mapping[str, int], n: int) -> int | None:
    found = index.get(normalise_label(name))
    if found is None and (match := re.fullmatch(r"(?:label )?(\d+)", normalise_label(name))):
        number = int(match[1])
        found = number if number < n else None
    return found


def _unknown(must: str, got: object, models: tuple[str, ...], tasks: tuple[str, ...]) -> InputError:
    return input_error(
        "resolve_label_map",
        "label_map",
        must,
        got=got,
        remedy=f"The model's labels are {', '.join(models)}; the task's are {', '.join(tasks)}.",
    )


def _ask_for_map(must: str, models: tuple[str, ...], tasks: tuple[str, ...], why: str) -> InputError:
    """The error that names both lists and shows what to type."""
    known = {normalise_label(task): task for task in tasks}
    shown = " ".join(f"--label-map {name}={known.get(normalise_label(name), 'TASK_LABEL')}" for name in models)
    return InputError(
        f"resolve_label_map: `label_map` must {must}: {why}. "
        f"The model's labels, in order: {', '.join(models)}. The task's labels: {', '.join(tasks)}. "
        f"Look up what the model's labels mean and say it: {shown}."
    )
