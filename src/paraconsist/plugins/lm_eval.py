"""What the tasks in ``lm_eval_tasks/`` call of lm-evaluation-harness: documents, examples, P_C (tried with 0.4.13).

Only the harness imports this module.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import datasets
import numpy as np
from lm_eval.api.samplers import ContextSampler

from paraconsist.data.bucket_sets import load_bucket_set
from paraconsist.errors import InputError, input_error
from paraconsist.measures.catalogue import PARAPHRASTIC, default_measures
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.models.labels import resolve_label_map
from paraconsist.running.options import PromptOptions
from paraconsist.running.prompting import load_pools, prompt_for

#: Between the parts of a prompt, and before an answer: the same in the tasks' files.
_DELIMITERS = ("\n\n", " ")


def documents(
    dataset: str | None = None,
    *,
    examples: str | Sequence[str] = (),
    task: str | None = None,
    template: str | None = None,
    data_dir: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """Return a bucket set as the harness's documents, and what draws solved examples for them.

    A task's ``metadata`` holds the parameters, which are those of ``paraconsist run``; the harness adds what its
    ``--metadata`` says, and the model's arguments, which are passed over.

    Raises
    ------
    InputError
        If there is no such set, it has rows without one right label, or its prompts are none of the harness's.
    """
    if not dataset:
        remedy = """Name one: --metadata '{"dataset": "sample:defeasible_nli"}'."""
        raise input_error("lm_eval", "dataset", "name a bucket set", got=dataset, remedy=remedy)
    rows = load_bucket_set(dataset, task=task, data_dir=data_dir)
    prompt = prompt_for([rows], PromptOptions(template, data_dir=data_dir), [])
    asked, labels = prompt.template, rows.table["label"].to_pylist()
    mapped = resolve_label_map(asked.label_names, rows.label_names)
    if (asked.separator, asked.answer_prefix) != _DELIMITERS or not mapped.is_one_to_one:
        names = ", ".join(rows.label_names)
        must = f"have a word for each label ({names}), and as separator and answer_prefix {_DELIMITERS}"
        raise input_error("lm_eval", "template", must, got=asked)
    if -1 in labels:
        remedy = "`paraconsist run` takes rows with several."
        raise input_error("lm_eval", "dataset", "have one right label a row", row=labels.index(-1), remedy=remedy)
    words = [asked.words[mapped.targets.index(label)] for label in range(len(rows.label_names))]

    @cache
    def draw(shots: int) -> list[dict[str, Any]]:
        specs = (examples,) if isinstance(examples, str) else examples
        options = PromptOptions(template, shots, specs, data_dir=data_dir)
        drawn = [
            (asked.ask(e.values), asked.labels[e.label])
            for e in prompt_for([rows], options, load_pools(options)).examples
        ]
        return [{"question": text, "choices": words, "label": words.index(word)} for text, word in drawn]

    columns = rows.table.select(["example_id", "bucket_id", "group_id", "role", "label", *rows.strata]).to_pydict()
    columns["question"] = [asked.ask(rows.task.values(row)) for row in rows.table.to_pylist()]
    columns |= {"choices": [words] * len(labels), "instruction": [prompt.prefix] * len(labels)}
    return {"test": datasets.Dataset.from_dict(columns), "examples": [draw]}


class Examples(ContextSampler):  # type: ignore[misc]
    """Draws ``--num_fewshot`` examples as ``paraconsist run --shots`` does, the same before every question."""

    def sample(self, n: int, *_: Any, **__: Any) -> Any:
        """Return the documents of `n` examples."""
        return self.df[0](n)


def judge(document: dict[str, Any], scores: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Return what each metric's aggregation reads of a document, from the log-likelihoods of its choices."""
    right = float(np.argmax([score for score, _ in scores]) == document["label"])
    row = [document["bucket_id"], document["role"], document["group_id"], str(right)]
    return {"acc": right, "pc": row, "pc_low": row, "pc_high": row}


def _consistency(rows: Sequence[Sequence[str]], *, place: int) -> float:
    """Return P_C or an end of its interval, which goes by buckets; nan where rows are no paraphrases, or too few."""
    buckets, roles, groups, right = zip(*rows, strict=True)
    if default_measures(roles) != [PARAPHRASTIC.name]:
        return math.nan
    try:
        answers, gold = [float(one) for one in right], [1.0] * len(rows)
        keys = paraphrastic_consistency(answers, gold, buckets, roles=roles, groups=groups).to_dict()
    except InputError as problem:
        warnings.warn(str(problem), UserWarning, stacklevel=2)
        return math.nan
    return float((keys[PARAPHRASTIC.headline], *keys["confidence_interval"][PARAPHRASTIC.headline])[place])


#: The harness knows no standard error of these, and makes none up.
value, low, high = (partial(_consistency, place=place) for place in range(3))
