"""Paraphrastic consistency while `transformers.Trainer` trains, with bucket ids that cannot slip.

Trainer drops columns that the model does not read, so bucket ids never reach `compute_metrics`; they have to be
matched by position. Some of its settings reorder or drop evaluation rows, and then every number is wrong
without a sign of it. `BucketEvaluation` keeps the ids beside the data, refuses those settings before the first
step, and compares the labels that come back with the rows' own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from paraconsist.errors import extras, input_error
from paraconsist.measures.buckets import as_column
from paraconsist.measures.catalogue import PARAPHRASTIC
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.rules import ORIGINAL

if TYPE_CHECKING:
    from transformers import EvalPrediction, TrainerCallback, TrainingArguments


_NAME = "BucketEvaluation"
_KEY = PARAPHRASTIC.headline
_KEYS = (_KEY, PARAPHRASTIC.published, "accuracy", "original_accuracy", "vap", "pvap", "n_buckets")
_HOW = "Pass callbacks=[evaluation.callback] to Trainer, so that its settings can be checked."


class BucketEvaluation:
    """`compute_metrics` and a callback for one evaluation set in long format.

    Parameters
    ----------
    rows : mapping of columns, such as a `datasets.Dataset`
        The evaluation set as it is given to Trainer: same rows, same order.
    bucket, label, role, group : str
        What the columns are called. `role` and `group` may be absent: then every row is a paraphrase, and
        buckets are independent. Labels are integers in the order of the model's outputs.
    confidence_level : float
        Of the interval of P_C, in (0, 1); closed form, so that an evaluation costs milliseconds.

    Raises
    ------
    InputError
        If a column is missing or the set has no rows.

    Examples
    --------
    ::

        evaluation = BucketEvaluation(rows)
        trainer = Trainer(..., eval_dataset=rows, compute_metrics=evaluation.compute_metrics,
                          callbacks=[evaluation.callback])
        trainer.evaluate()["eval_paraphrastic_consistency"]
    """

    def __init__(
        self,
        rows: Any,
        *,
        bucket: str = "bucket_id",
        label: str = "label",
        role: str = "role",
        group: str = "group_id",
        confidence_level: float = 0.95,
    ) -> None:
        if not isinstance(rows, Mapping) and not hasattr(rows, "column_names") and not hasattr(rows, "columns"):
            raise input_error(_NAME, "rows", "be a table with named columns", got=type(rows).__name__)
        names = list(getattr(rows, "column_names", None) or rows)
        for name in (bucket, label):
            if name not in names:
                raise input_error(_NAME, name, "be a column of the evaluation set", got=names)
        self._buckets = list(rows[bucket])
        self._roles, self._groups = (list(rows[name]) if name in names else None for name in (role, group))
        self._confidence_level, self._checked = confidence_level, False
        labels = as_column(list(rows[label]), function=_NAME, parameter=label)
        self._labels = np.asarray(labels.values)
        if labels.kind != "integer":
            raise input_error(_NAME, label, "hold label numbers", got=self._labels[0].item(), row=0)

    @property
    def callback(self) -> TrainerCallback:
        """What Trainer is given, so that its settings are checked before anything runs."""
        with extras(_NAME):
            from transformers import TrainerCallback

        evaluation = self

        class Guard(TrainerCallback):  # type: ignore[misc]  # transformers has no types
            def on_init_end(self, args: TrainingArguments, *_: Any, **__: Any) -> None:
                evaluation.check_settings(args)

            on_train_begin = on_init_end

        return Guard()

    def check_settings(self, arguments: TrainingArguments) -> None:
        """Refuse settings under which rows come back in another order, in part, or not at once; the error names one."""
        for name, allowed, why in (
            ("dataloader_drop_last", (False,), "it drops the rows of the last batch in evaluation too"),
            ("batch_eval_metrics", (False,), "a bucket's rows may stand in several batches"),
            ("eval_do_concat_batches", (True,), "the rows must come back as one array"),
            ("train_sampling_strategy", ("random", "sequential"), "evaluation rows come back sorted by length"),
        ):
            value = getattr(arguments, name, allowed[0])
            value = getattr(value, "value", value)
            if value not in allowed:
                wanted = f"be {' or '.join(repr(v) for v in allowed)} with BucketEvaluation"
                raise input_error("TrainingArguments", name, wanted, got=value, remedy=f"Otherwise {why}.")
        self._checked = True

    def compute_metrics(self, prediction: EvalPrediction) -> dict[str, float]:
        """Return consistency and accuracy; Trainer puts ``eval_`` before the keys.

        They are ``paraphrastic_consistency_unbiased`` with ``_low`` and ``_high``, ``paraphrastic_consistency``,
        ``accuracy``, ``vap``, ``pvap``, ``n_buckets``; with originals ``original_accuracy``; nan where undefined.
        InputError if the rows are not this set's, in this order, or an output is nan.
        """
        if not self._checked:
            raise input_error(_NAME, "callback", "be given to Trainer", remedy=_HOW)
        outputs = prediction.predictions
        logits = np.asarray(outputs[0] if isinstance(outputs, tuple) else outputs)
        self._check_rows(np.asarray(prediction.label_ids), logits)
        result = paraphrastic_consistency(
            logits.argmax(axis=-1),
            self._labels,
            self._buckets,
            roles=self._roles if self._roles is not None and ORIGINAL in self._roles else None,
            groups=self._groups,
            confidence_level=self._confidence_level,
        )
        low, high = result.confidence_interval[_KEY]
        values = {key: float(result[key]) for key in _KEYS if key in result}
        return values | {f"{_KEY}_low": float(low), f"{_KEY}_high": float(high)}

    def _check_rows(self, labels: np.ndarray[Any, Any], logits: np.ndarray[Any, Any]) -> None:
        n = len(self._labels)
        remedy = "Give Trainer the same evaluation rows, in the same order; one BucketEvaluation for each set."
        if logits.ndim != 2 or len(logits) != n:
            wanted = f"be one row of class outputs for each of the {n} rows"
            raise input_error(_NAME, "predictions", wanted, got=f"shape {logits.shape}", remedy=remedy)
        if not np.array_equal(labels, self._labels):
            row = int(np.argmax(labels != self._labels)) if labels.shape == (n,) else None
            got = f"shape {labels.shape}" if row is None else labels[row].item()
            raise input_error(_NAME, "label_ids", "be the set's labels", got=got, row=row, remedy=remedy)
        bad = ~np.isfinite(logits).all(axis=1)
        if bad.any():
            row, remedy = int(np.argmax(bad)), "Training diverged."
            raise input_error(_NAME, "predictions", "be finite", got=logits[row].tolist(), row=row, remedy=remedy)
