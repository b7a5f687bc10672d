"""A model's labels meet a task's labels by name (numpy only).

The field's commonest silent error is a classifier whose label numbers are permuted. Labels are therefore matched by
name, never by position, and meaningless names (``LABEL_0``) are refused until mapped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paraconsist.errors import InputError, check_choice, input_error

Rule = Literal["argmax", "sum"]

#: Synonyms; the first name of a group replaces the others. Compared after `normalise_label`.
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
_MEANINGLESS = re.compile(r"(?:label|class)? ?\d+")


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

    Under ``argmax`` the model's best label is found first and then mapped. Under ``sum`` probabilities of labels with
    the same target are added, then the best task label is taken.
    """

    model_labels: tuple[str, ...]  # in the order of the model's logits
    task_labels: tuple[str, ...]  # in the order of the task's classes
    targets: tuple[int, ...]  # the task label of each model label; -1 for none (a partial map)
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
        """Turn the model's probabilities, shape (n, n_model_labels), into predictions and the task's probabilities.

        A prediction is a position in `task_labels`, -1 where the model's best label counts as no task label.
        Probabilities, shape (n, n_task_labels), are summed over the labels of each target (under either rule); a row
        sums to less than one where the map is partial. With many-to-one maps under ``argmax`` the prediction need not
        have the largest one: 0.4 entailment, 0.3 neutral, 0.3 contradiction is entailment by ``argmax``, not entailment
        by ``sum``.
        """
        values = np.asarray(probabilities, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.model_labels):
            must = f"have shape (n, {len(self.model_labels)}), one column for each of the model's labels"
            raise input_error("LabelMap.apply", "probabilities", must, got=values.shape)
        targets = np.asarray(self.targets, dtype=np.int64)
        mapped = np.zeros((values.shape[0], len(self.task_labels)), dtype=np.float64)
        for column, target in enumerate(self.targets):
            if target >= 0:
                mapped[:, target] += values[:, column]
        if self.rule == "argmax":
            predictions = targets[values.argmax(axis=1)]
        else:
            rest = 1.0 - mapped.sum(axis=1) if -1 in self.targets else np.zeros(len(mapped))
            predictions = np.where(mapped.max(axis=1) >= rest, mapped.argmax(axis=1), -1)
        return predictions.astype(np.int64), mapped

    def describe(self) -> str:
        """Return one line for signatures and metadata: ``identity``, or every pair and the rule.

        >>> resolve_label_map(("yes", "no"), ("no", "yes"), None).describe()
        'yes=yes,no=no'
        """
        if self.is_identity and self.model_labels == self.task_labels:
            return "identity"
        names = ["(none)" if target < 0 else self.task_labels[target] for target in self.targets]
        pairs = ",".join(f"{label}={name}" for label, name in zip(self.model_labels, names, strict=True))
        return pairs if self.is_one_to_one else f"{pairs};rule={self.rule}"


def resolve_label_map(
    model_labels: Sequence[str],
    task_labels: Sequence[str],
    label_map: Mapping[str, str] | None = None,
    rule: str = "argmax",
) -> LabelMap:
    """Match a model's labels to a task's labels by name, or by an explicit map.

    Names are compared without regard to case, hyphens and underscores, and with the few aliases of `ALIASES`.
    InputError, with both lists and the option to type, for names that do not match without a map, and for a map that
    names labels that do not exist or leaves a task label unreached.

    Parameters
    ----------
    model_labels, task_labels : sequence of str
        In the order of the model's logits (``config.id2label``), and of the task's classes.
    label_map : mapping of model label -> task label, optional
        May be many-to-one, and partial: model labels that it leaves out are matched by name, and without a namesake
        they count as no task label (prediction -1, unparsed). Model labels may also be given by number (``"0"``) or as
        ``LABEL_0``.
    rule : {"argmax", "sum"}
        See `LabelMap`.

    Examples
    --------
    An MNLI model on a two-way task:

    >>> two_way = {"contradiction": "not_entailment", "neutral": "not_entailment"}
    >>> resolve_label_map(["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], ["entailment", "not_entailment"], two_way).targets
    (1, 1, 0)
    """
    models, tasks = tuple(str(m) for m in model_labels), tuple(str(t) for t in task_labels)
    check_choice("resolve_label_map", "rule", rule, get_args(Rule))
    task_index, model_index = _index(tasks, "task_labels"), _index(models, "model_labels")
    targets: list[int | None] = [None] * len(models)
    for source, target in (label_map or {}).items():
        name = normalise_label(str(source))
        number = re.fullmatch(r"(?:label )?(\d+)", name)
        place = model_index.get(name, int(number[1]) if number else len(models))
        if place >= len(models):
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
    lost = [name for name, target in zip(models, targets, strict=True) if target is None]
    if label_map is None and any(_MEANINGLESS.fullmatch(normalise_label(name)) for name in lost):
        must = "have meaningful label names: the model's configuration has none"
        raise _ask_for_map(must, models, tasks)
    if label_map is None and lost:
        raise _ask_for_map(f"be the task's labels by name: no task label is called {', '.join(lost)}", models, tasks)
    resolved = tuple(-1 if target is None else target for target in targets)
    unreached = [name for j, name in enumerate(tasks) if j not in resolved]
    if unreached:
        must = f"reach every label of the task: the model could never answer {', '.join(unreached)}"
        raise _ask_for_map(must, models, tasks)
    return LabelMap(models, tasks, resolved, cast(Rule, rule))


def _index(names: tuple[str, ...], parameter: str) -> dict[str, int]:
    index = {normalise_label(name): i for i, name in enumerate(names)}
    if not names or len(index) != len(names):
        must = "not be empty, and be names that differ (case, hyphens, underscores and aliases aside)"
        raise input_error("resolve_label_map", parameter, must, got=list(names))
    return index


def _unknown(must: str, got: object, models: tuple[str, ...], tasks: tuple[str, ...]) -> InputError:
    remedy = f"The model's labels are {', '.join(models)}; the task's are {', '.join(tasks)}."
    return input_error("resolve_label_map", "label_map", must, got=got, remedy=remedy)


def _ask_for_map(must: str, models: tuple[str, ...], tasks: tuple[str, ...]) -> InputError:
    known = {normalise_label(task): task for task in tasks}
    items = " ".join(f"`label_map` {name}={known.get(normalise_label(name), 'TASK_LABEL')}" for name in models)
    remedy = f"The model's labels, in order: {', '.join(models)}. The task's labels: {', '.join(tasks)}. "
    remedy += f"Look up what the model's labels mean and name it: {items}."
    return input_error("resolve_label_map", "label_map", must, remedy=remedy)
