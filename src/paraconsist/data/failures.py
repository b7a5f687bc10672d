"""Inputs without an answer and inputs that were cut: what a run keeps, counts and says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from paraconsist.errors import InputError

#: What a run does with an input that fails: goes on without its answer, or ends.
ON_ERROR = ("unparsed", "stop")
#: The kinds of failures.
REFUSED, NO_ANSWER, NOT_FINITE, TOO_LONG = "refused", "no answer", "not finite", "too long"
#: So many failures without an answer between them are no matter of single inputs.
_HOPELESS = 20
_MOST_NAMED = 3


class Failed(NamedTuple):
    """An input without an answer, in the place of its result."""

    kind: str
    reason: str  # the whole sentence, which may quote the input: it stays in the store


class Failures:
    """What becomes of the inputs of one pass that fail; `on_error` is one of `ON_ERROR`.

    One that fails counts beside those that are answered. Where none is, or where a server answers nothing any more, the
    pass ends: that is no input's fault.
    """

    def __init__(self, on_error: str, *, any_answered: bool) -> None:
        self._on_error, self._any_answered, self._in_a_row = on_error, any_answered, 0

    def answered(self) -> None:
        self._any_answered, self._in_a_row = True, 0

    def failed(self, kind: str, problem: InputError) -> Failed:
        """Return what the store keeps of an input that met a problem; raise that where the run is to end for it."""
        self._in_a_row += 1
        if self._on_error == "stop":
            raise problem
        if self._in_a_row >= _HOPELESS and (kind == NO_ANSWER or not self._any_answered):
            problem.remedy = f"{problem.remedy} {self._in_a_row} inputs one after another failed like this one.".strip()
            raise problem
        return Failed(kind, str(problem))


def to_ask(ids: Iterable[str], finished: Mapping[str, Any], *, retry_failed: bool = False) -> list[str]:
    """Return which inputs have no result yet; one that failed has, unless it is to be asked again or none has another.

    `finished` is from the store: input id -> its result.
    """
    retry_failed = retry_failed or all_failed(finished)
    return [i for i in ids if i not in finished or (retry_failed and isinstance(finished[i], Failed))]


def all_failed(finished: Mapping[str, Any]) -> bool:
    """Whether no result of a store is an answer."""
    return all(isinstance(result, Failed) for result in finished.values())


def count_inputs(ids: Iterable[str], finished: Mapping[str, Any], n_cut: Mapping[str, int]) -> dict[str, Any]:
    """Return what became of a set's inputs, for ``run.json`` and the metadata of its predictions.

    `n_cut` are the tokens that each input lost which the model did not read whole.
    """
    distinct = list(dict.fromkeys(ids))
    failed = {i: finished[i].kind for i in distinct if isinstance(finished[i], Failed)}
    cut = [n_cut[i] for i in distinct if i in n_cut]
    return {
        "n_inputs": len(distinct),
        "n_cut": len(cut),
        "most_tokens_cut": max(cut, default=0),
        "n_failed": len(failed),
        "failed": dict(Counter(failed.values()).most_common()),
        "first_failed": list(failed)[:_MOST_NAMED],
    }


def add_counts(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of parts that have no input in common as those of the whole."""
    kinds: Counter[str] = sum((Counter(one["failed"]) for one in several), Counter())
    return {
        **{name: sum(one[name] for one in several) for name in ("n_inputs", "n_cut", "n_failed")},
        "most_tokens_cut": max(one["most_tokens_cut"] for one in several),
        "failed": dict(kinds.most_common()),
        "first_failed": [name for one in several for name in one["first_failed"]][:_MOST_NAMED],
    }


def input_notes(metadata: Mapping[str, Any]) -> list[str]:
    """Return a sentence on the inputs that failed and one on those that were cut, of a run's metadata; none without."""
    counts, max_length = metadata.get("inputs", {}), metadata.get("model", {}).get("max_length")
    notes, n = [], f"{counts.get('n_inputs')} inputs"
    if counts.get("n_failed"):
        kinds = ", ".join(f"{number} {kind}" for kind, number in dict(counts.get("failed", {})).items())
        names = ", ".join(map(str, counts.get("first_failed", ())))
        notes.append(f"{counts['n_failed']} of {n} have no answer and count as unparsed ({kinds}; the first: {names})")
    if counts.get("n_cut"):
        limit = "" if max_length is None else f" of {max_length} tokens"
        notes.append(
            f"{counts['n_cut']} of {n} are longer than the model's window{limit} and were cut, the longer text of a "
            f"pair first, by up to {counts.get('most_tokens_cut')} tokens"
        )
    return notes
