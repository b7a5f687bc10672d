"""Runs the tasks that ``paraconsist reword`` writes, in lm-evaluation-harness (tried with 0.4.13).

Wording 0 is the original: its prompts, examples, options and key come from the task itself, document by document, in
the order in which the task would have drawn them. Only the harness imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from lm_eval.api.task import ConfigurableTask

from paraconsist.errors import input_error
from paraconsist.files import Json, to_json
from paraconsist.transforms.reworded_tasks import ADDED, ORIGINAL, About, WordingRow, original_config, read_wordings
from paraconsist.transforms.rewording import KINDS, Prompt, reorder, reworded


class Reworded(ConfigurableTask):  # type: ignore[misc]  # whose signature says that a configuration is taken
    """The class that the YAML of a reworded task names: it makes the original task, with wordings."""

    def __new__(cls, config: Json) -> Any:
        """Return the task; `config` is its YAML, with what a group or the command line changed."""
        about = config["metadata"]["reworded"]
        original = original_config(about)
        base = original.get("class", ConfigurableTask)
        rows = Path(config["metadata"]["config_source"]).with_suffix(".jsonl")
        made = type("RewordedTask", (_Wordings, base), {"rows_file": rows, "about": about})
        shots = {**(original.get("fewshot_config") or {}), **config.get("fewshot_config", {})}
        values = {name: value for name, value in {**original, **config}.items() if name != "class"}
        return made(config={**values, "fewshot_config": shots})


class _Wordings(ConfigurableTask):  # type: ignore[misc]
    """A task whose documents have several wordings; mixed with the class of the original task."""

    rows_file: Path
    about: About

    def __init__(self, *args: Any, **options: Any) -> None:
        self._docs: Sequence[Json] | None = None
        self._rows: dict[tuple[str, int], WordingRow] = {}
        self._current: WordingRow | None = None  # whose prompt is written
        self._drawn: tuple[tuple[str, int] | None, list[Any]] = (None, [])  # of a question and a number of examples
        super().__init__(*args, **options)
        originals = super().eval_docs
        rows = read_wordings(self.rows_file)
        self._check(rows[-1], rows[-1]["question"] < len(originals))
        self._rows = {(row["bucket_id"], row["wording"]): row for row in rows}
        added = [{name: value for name, value in row.items() if name in ADDED} for row in rows]
        self._docs = self.task_docs = [
            {**originals[row["question"]], **more} for row, more in zip(rows, added, strict=True)
        ]
        if hasattr(self, "sampler"):
            self._sample, self.sampler.sample = self.sampler.sample, self._held

    def _check(self, row: WordingRow, is_same: bool) -> None:
        if not is_same:
            must, remedy = f"be wordings of {self.task_name}", "The data changed since: write the folder again."
            raise input_error("lm_eval", "rows", must, got=row["question"], remedy=remedy)

    @property
    def eval_docs(self) -> Any:
        """The documents, each with its wordings one after another; before they are read, the original ones."""
        return super().eval_docs if self._docs is None else self._docs

    def doc_iterator(
        self, *, rank: int = 0, limit: int | None = None, world_size: int = 1, samples: list[int] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield documents with their numbers; a question's wordings go to the process that its original would."""
        docs = [doc for number, doc in enumerate(self.eval_docs) if not samples or number in samples]
        for number, doc in enumerate(docs[: int(limit) if limit else None]):
            if self._rows[doc["bucket_id"], doc["wording"]]["question"] % world_size == rank:
                yield number, doc

    def _row(self, doc: Json) -> WordingRow | None:
        """Return a document's wording; None for a solved example."""
        return self._rows.get((doc.get("bucket_id", ""), doc.get("wording", -1)))

    def _held(self, n: int, eval_doc: Any = None, **more: Any) -> Any:
        """Draw solved examples once a question, as its original would; other wordings have the same ones."""
        row = self._current
        if row is None:
            return self._sample(n, eval_doc=eval_doc, **more)
        if self._drawn[0] != (row["bucket_id"], n):
            plain = eval_doc and {name: value for name, value in eval_doc.items() if name not in ADDED}
            self._drawn = ((row["bucket_id"], n), [*self._sample(n, eval_doc=plain, **more)])
        if row["kind"] != "shot_order":
            return self._drawn[1]
        known, rng = row["shots"], Random(f"{self.about['seed']}/{row['bucket_id']}")
        order = known if len(known) == n else reorder(n, rng, row["variant"])  # --num_fewshot changes the number
        return [self._drawn[1][i] for i in order]

    def fewshot_context(self, doc: Any, *args: Any, **options: Any) -> Any:
        """Write a wording's prompt; what kinds of format change in the question they change in the examples, too."""
        self._current = self._row(doc)
        return super().fewshot_context(doc, *args, **options)

    def _shot(self, doc: Json) -> Prompt | None:
        """Return a solved example in the current wording; None where it is held."""
        row, form = self._current, self.fewshot_cfg  # an example may have a form and an answer of its own
        if row is None or self.multiple_input or row["kind"] == ORIGINAL or not KINDS[row["kind"]].with_shots:
            return None
        text, answer = super().doc_to_text(doc, form.doc_to_text), super().doc_to_target(doc, form.doc_to_target)
        options = tuple(super().doc_to_choice(doc, form.doc_to_choice)) if form.doc_to_choice else ()
        return reworded(Prompt(text, options, answer, (), self.about["descriptors"]), row["kind"], row["variant"], "")

    def _part(self, doc: Any, name: str, task_own: Callable[[], Any]) -> Any:
        """Return the text, options or answer of a wording or of a solved example."""
        row = self._row(doc)
        shot = self._shot(doc) if row is None else None
        changed = vars(shot) if shot is not None else row if row is not None and row["wording"] else {}
        if (value := changed.get(name)) is not None and value not in ((), []):
            return [*value] if isinstance(value, tuple) else value
        own = task_own()
        if name != "options" and row is not None and not row["wording"]:  # a key that was mended since, too
            written = {**row}.get(name)
            self._check(row, written is None or to_json(written) == to_json(own))
        return own

    def doc_to_text(self, doc: Any, *args: Any) -> Any:
        return self._part(doc, "text", lambda: super(_Wordings, self).doc_to_text(doc, *args))

    def doc_to_choice(self, doc: Any, *args: Any) -> Any:
        return self._part(doc, "options", lambda: super(_Wordings, self).doc_to_choice(doc, *args))

    def doc_to_target(self, doc: Any, *args: Any) -> Any:
        return self._part(doc, "answer", lambda: super(_Wordings, self).doc_to_target(doc, *args))

    def process_results(self, doc: Any, results: Any) -> Json:
        """Return the task's metrics; those of originals a second time, so that the table has the task's own number."""
        metrics: Json = super().process_results(doc, results)
        return metrics if doc["wording"] else _twice(metrics)

    def aggregation(self) -> Json:
        return _twice(super().aggregation())

    def higher_is_better(self) -> Json:
        return _twice(super().higher_is_better())


def _twice(values: Json) -> Json:
    return {**values, **{f"{ORIGINAL}_{name}": value for name, value in values.items()}}
