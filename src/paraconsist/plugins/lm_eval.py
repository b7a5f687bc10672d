"""What the tasks in ``lm_eval_tasks/`` call of lm-evaluation-harness: documents, examples, P_C (tried with 0.4.13).

Only the harness imports this module.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask

from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
from paraconsist.data.logs.format import free_text_columns
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import Metadata, Predictions
from paraconsist.data.prompts import QuestionPrompt
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import InputError, input_error
from paraconsist.files import Json
from paraconsist.measures.catalogue import PARAPHRASTIC, PLACES, default_measures
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.measures.rules import PARAPHRASE
from paraconsist.models.labels import resolve_label_map
from paraconsist.running.by_name import load_pools, prompt_for
from paraconsist.running.options import PromptOptions
from paraconsist.scoring.free_text import compared
from paraconsist.scoring.options import ScoreOptions
from paraconsist.scoring.score import score_set
from paraconsist.scoring.sources import Source, by_roles

#: Between the parts of a prompt, and before an answer: the same in the tasks' files.
_DELIMITERS = ("\n\n", " ")


def documents(
    dataset: str | None = None,
    *,
    examples: str | Sequence[str] = (),
    task: str | None = None,
    template: str | None = None,
    data_dir: str | None = None,
    column: str | Sequence[str] = (),
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
    rows = _rows(dataset, task, data_dir, column)
    if rows.task is QUESTIONS:
        remedy = "Name the task paraconsist_questions."
        raise input_error("lm_eval", "dataset", "have labels, not answers in free text", got=dataset, remedy=remedy)
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


def questions(
    dataset: str | None = None,
    *,
    same: str | None = None,
    right: str | None = None,
    data_dir: str | None = None,
    column: str | Sequence[str] = (),
    **_: Any,
) -> dict[str, Any]:
    """Return questions in free text as the harness's documents; answers are compared by `same` and `right`.

    InputError if there is no such set, it has labels, or a row is a chat of several turns, for which the harness has no
    place.
    """
    rows = _rows(dataset, None, data_dir, column)
    if rows.task is not QUESTIONS:
        remedy = "Name the task paraconsist."
        raise input_error("lm_eval", "dataset", "hold questions in free text", got=dataset, remedy=remedy)
    chats = [QuestionPrompt().messages(rows.task, row) for row in rows.table.to_pylist()]
    for row, chat in enumerate(chats):
        if [turn["role"] for turn in chat] not in (["user"], ["system", "user"]):
            must = "be one question, with or without a system message"
            raise input_error("lm_eval", "messages", must, row=row, remedy="`paraconsist run` takes chats.")
    same = same or rows.comparers.get("same", "text")
    comparers = {"same": same, "right": right or rows.comparers.get("right", same)}
    columns = rows.table.select(["example_id", "bucket_id", "group_id", "role", *rows.strata]).to_pydict()
    columns |= {name: [comparer] * len(chats) for name, comparer in comparers.items()}
    columns["question"] = [chat[-1]["content"] for chat in chats]
    columns["instruction"] = ["".join(f"{turn['content']}\n\n" for turn in chat[:-1]) for chat in chats]
    columns["accepted"] = [json.dumps(texts or []) for texts in rows.table["label"].to_pylist()]
    columns["choices"] = [text or "[]" for text in rows.table["choices"].to_pylist()]
    return {"test": datasets.Dataset.from_dict(columns)}


def _rows(dataset: str | None, task: str | None, data_dir: str | None, column: str | Sequence[str]) -> BucketSet:
    if not dataset:
        remedy = """Name one: --metadata '{"dataset": "sample:defeasible_nli"}'."""
        raise input_error("lm_eval", "dataset", "name a bucket set", got=dataset, remedy=remedy)
    pairs = (column,) if isinstance(column, str) else tuple(column)
    return load_bucket_set(dataset, task=task, data_dir=data_dir, column=pairs)


class BucketSetTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose prompts are those of ``paraconsist run`` in chats, too."""

    def __init__(self, config: Json) -> None:
        super().__init__(config={name: value for name, value in config.items() if name != "class"})

    def fewshot_context(self, doc: Json, *arguments: Any, **options: Any) -> Any:
        """Return a prompt. In a chat the instruction is a message of its own, which no separator ends."""
        if options.get("apply_chat_template"):
            doc = {**doc, "instruction": doc["instruction"].removesuffix(_DELIMITERS[0])}
        return super().fewshot_context(doc, *arguments, **options)


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


def judge_text(document: dict[str, Any], answers: Sequence[str]) -> dict[str, Any]:
    """Return what each metric's aggregation reads of a question and its answer."""
    keys = ("example_id", "bucket_id", "group_id", "role", "accepted", "choices", "same", "right")
    row = [*(document[key] for key in keys), answers[0]]
    names = ["wording_change", "wording_change_low", "wording_change_high"]
    return dict.fromkeys(["acc"] * (document["accepted"] != "[]") + names, row)


def _of_text(rows: Sequence[Sequence[str]], *, key: str) -> float:
    """Return what `score` says of answers in free text; nan where no question has two wordings."""
    ids, buckets, groups, roles, accepted, choices, same, right, answers = zip(*rows, strict=True)
    listed = [[json.loads(text) for text in texts] for texts in (accepted, choices)]
    columns = free_text_columns(answers, listed[0], [each or None for each in listed[1]])
    columns |= {"example_id": pa.array(ids), "bucket_id": pa.array(buckets), "group_id": pa.array(groups)}
    metadata: Metadata = {"task": QUESTIONS.name, "same": same[0], "right": right[0]}
    read = compared(Predictions(pa.table({**columns, "role": pa.array(roles)}), metadata), SourceOptions(), None, None)
    if key == "acc":
        hits = pc.equal(read.table["prediction"], read.table["label"])
        return float(pc.mean(pc.fill_null(hits, False).cast(pa.int64())).as_py())
    source, *_ = by_roles(Source("questions", read), SourceOptions())  # of paraphrases, where there are other rows, too
    wording = score_set(source, ScoreOptions()).wording
    if wording is None:
        return math.nan
    ends = dict(zip(("low", "high"), wording.confidence_interval["wording_change"], strict=True))
    return float(ends.get(key, wording.wording_change))


def _consistency(rows: Sequence[Sequence[str]], *, place: int) -> float:
    """Return P_C or an end of its interval, which goes by buckets; nan where rows are no paraphrases, or too few."""
    if PARAPHRASE in {role for _, role, *_ in rows}:
        rows = [row for row in rows if row[1] in PLACES[PARAPHRASE]]
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
acc_of_text, change, change_low, change_high = (partial(_of_text, key=key) for key in ("acc", "value", "low", "high"))
value, low, high = (partial(_consistency, place=place) for place in range(3))
