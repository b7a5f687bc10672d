"""Runs that stop asking once a condition is known: buckets in a random order, some more at a time.

The order and the wordings of a bucket are drawn by hashes of the seed, the bucket and the text before anything is
asked, and written down. How many buckets are asked next depends on how many were asked alone, so that a killed run goes
on with the same rounds, and stops where it would have stopped.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from paraconsist.data.bucket_sets import BucketSet
from paraconsist.data.rows import read_rows
from paraconsist.data.tasks import QUESTIONS
from paraconsist.errors import check_whole, input_error
from paraconsist.files import Json, make_folder, write_json
from paraconsist.running.options import RunOptions
from paraconsist.scoring.roles import apply_policy
from paraconsist.scoring.sources import open_source
from paraconsist.scoring.until import QUANTITIES, Known, Until, known, values_of_run

if TYPE_CHECKING:
    from pathlib import Path

    from paraconsist.data.store import RunFolder, Store

_LEAST, _SHARE = 8, 16  # a round has a 16th of the clusters that were asked before, and 8 at least
_COUNTED_ONCE = ("n_inputs", "n_ranks", "max_tokens", "padding")  # of the statistics of a pass, in all rounds
_S = TypeVar("_S")


class Asking(Protocol):
    """What a job (`paraconsist.running.run.Job`) has for its rounds."""

    groups: dict[str, tuple[str, list[BucketSet]]]
    options: RunOptions
    files: dict[str, Path]
    until: dict[str, Json]
    known: dict[str, Known]

    @property
    def folder(self) -> RunFolder: ...

    def write(self, name: str, store: Store) -> None:
        """Write the predictions of a pass."""


@dataclass(frozen=True)
class Drawn:
    """A set in the order in which it is asked."""

    whole: BucketSet  # its rows in that order
    ends: Sequence[int]  # of the rows of each cluster
    about: Json  # what predictions record of it
    order: Sequence[str]  # the buckets

    def first(self, n_clusters: int) -> BucketSet:
        """Return the rows of the first clusters."""
        return replace(self.whole, table=self.whole.table.slice(0, self.ends[n_clusters - 1]))


def check_until(options: RunOptions) -> Until | None:
    """Return the condition on which a run stops, if there is one; InputError for options that do not go with it."""
    if options.until is None:
        for name in ("until_set", "wordings"):
            if getattr(options, name):
                raise input_error("run", name, "be given only with `until`", got=getattr(options, name))
        return None
    until = Until.read(options.until)
    for name in ("noise_floor", "repeats"):
        if getattr(options, name):
            raise input_error("run", name, "not be given with `until`", got=getattr(options, name))
    if options.wordings is not None:
        if options.until_set:
            remedy = "The mean over this very set is known from all of its wordings."
            raise input_error("run", "wordings", "not be given with `until_set`", got=options.wordings, remedy=remedy)
        check_whole("run", "wordings", options.wordings, at_least=QUANTITIES[until.quantity][1])
    return until


def draw(bucket_set: BucketSet, until: Until, options: RunOptions) -> Drawn:
    """Draw the order of a set's clusters, of the buckets of each, and the wordings of each bucket."""
    roles, least = QUANTITIES[until.quantity]
    names = ("bucket_id", "group_id", "role", "input_id")
    if bucket_set.part is not None:
        raise input_error("run", "part", "not be given with `until`", got=bucket_set.part)
    by_bucket: dict[str, list[int]] = {}
    counted: dict[str, list[tuple[float, int]]] = {}
    group_of: dict[str, str] = {}
    rows = zip(*(bucket_set.table[name].to_pylist() for name in names), strict=True)
    for place, (bucket, group, role, input_id) in enumerate(rows):
        by_bucket.setdefault(bucket, []).append(place)
        group_of[bucket] = bucket if options.until_set or group is None else group
        if role in roles:
            counted.setdefault(bucket, []).append((uniform(options.seed, bucket, input_id), place))
    clusters: dict[str, list[str]] = {}
    for bucket, wordings in counted.items():
        if len(wordings) >= least:
            clusters.setdefault(group_of[bucket], []).append(bucket)
            if options.wordings is not None:
                by_bucket[bucket] = sorted(place for _, place in sorted(wordings)[: options.wordings])
    if not clusters:
        must = f"have a bucket with {least} rows of role {' or '.join(roles)} where `until` is given"
        raise input_error("run", "dataset", must, got=bucket_set.name)
    drawn = sorted(clusters, key=lambda group: (uniform(options.seed, group), group))
    reference = {}
    if until.reference is not None:
        reference = _of_reference(until, bucket_set, by_bucket)
        n_known = next((n for n, group in enumerate(drawn) if not reference.keys() >= {*clusters[group]}), len(drawn))
        if n_known < (len(drawn) if options.until_set else 1):
            must = "refer to a run that answered every bucket, or was stopped in the same order (with this `seed`)"
            raise input_error("run", "until", must, got=until.reference)
        drawn = drawn[:n_known]
    order = [bucket for group in drawn for bucket in clusters[group]]
    places = [place for bucket in order for place in by_bucket[bucket]]
    ends = accumulate(sum(len(by_bucket[bucket]) for bucket in clusters[group]) for group in drawn)
    about = {
        "condition": str(until),
        "of_set": options.until_set,
        "wordings": options.wordings,
        "n_clusters": len(drawn),
        "largest_cluster": max(map(len, clusters.values())),
        **({"reference": {bucket: reference[bucket] for bucket in order}} if reference else {}),
    }
    ordered = replace(bucket_set, table=bucket_set.table.take(pa.array(places, pa.int64())))
    return Drawn(ordered, list(ends), about, order)


def _of_reference(until: Until, bucket_set: BucketSet, by_bucket: dict[str, list[int]]) -> dict[str, float]:
    """Return the value of each bucket in the run that the condition refers to, of the wordings that are asked."""
    roles, _ = QUANTITIES[until.quantity]
    ids, of = (bucket_set.table[name].to_pylist() for name in ("example_id", "role"))
    wanted = {bucket: [ids[i] for i in places if of[i] in roles] for bucket, places in by_bucket.items()}
    same = {"same": bucket_set.comparers.get("same", "text")} if bucket_set.task is QUESTIONS else {}
    return values_of_run(until, wanted, {"set": bucket_set.name, "set_fingerprint": bucket_set.fingerprint, **same})


def rounds(
    job: Asking,
    name: str,
    store: Store,
    *,
    on_main: Callable[[Callable[[], Any]], Any] = lambda action: action(),
    say: Callable[[str], None] | None = None,
    cost: Callable[[], float] = lambda: 0.0,
) -> Iterator[None]:
    """Yield once a round of a pass, whose sets in the job are then what has been asked so far and is asked next.

    Without a condition there is one round. `on_main` does something on the main process and returns its result on all.
    """
    until = check_until(job.options)
    if until is None:
        yield
        return
    model, whole = job.groups[name]
    drawn = {bucket_set.name: draw(bucket_set, until, job.options) for bucket_set in whole}
    on_main(lambda: _write_down(job, drawn))
    n_asked, pending = dict.fromkeys(drawn, 0), set(drawn)
    while pending:
        for of_set in pending:
            n = n_asked[of_set]
            n_asked[of_set] = min(n + max(_LEAST, n // _SHARE), len(drawn[of_set].ends))
        job.groups[name] = model, [one.first(n_asked[of_set]) for of_set, one in drawn.items()]
        job.until.update({of_set: one.about for of_set, one in drawn.items()})
        yield

        def look() -> dict[str, Known]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                job.write(name, store)
            return {of_set: _known(job, of_set) for of_set in drawn}

        found = on_main(look)
        for of_set in sorted(pending):
            if say is not None:
                say(_said(of_set, found[of_set], drawn[of_set], cost()))
        job.known.update(found)
        pending = {s for s in pending if found[s].verdict is None and n_asked[s] < len(drawn[s].ends)}


def _write_down(job: Asking, drawn: dict[str, Drawn]) -> None:
    """Record each order before anything is asked in it; InputError if the folder holds another one."""
    for one in drawn.values():
        file = job.folder.store / f"until-{one.whole.file_name}.json"
        now = {**one.about, "seed": job.options.seed, "set": one.whole.fingerprint, "order": list(one.order)}
        if file.exists():
            before = json.loads(file.read_text(encoding="utf-8"))
            if changed := [key for key in now if before.get(key) != now[key]]:
                must = "be that of the run in the folder, which was drawn before anything was asked"
                remedy = f"Other than there: {', '.join(changed)}. Choose another folder, or give `overwrite`."
                raise input_error("run", "until", must, got=job.options.until, remedy=remedy)
        else:
            make_folder(file.parent)
            write_json(file, now)


def _known(job: Asking, of_set: str) -> Known:
    (source,) = open_source(job.files[of_set], function="run").sets.values()
    rows = apply_policy(read_rows(source.predictions, source.columns), "wrong")[0]
    return known(rows, job.until[of_set])


def _said(of_set: str, found: Known, drawn: Drawn, cost: float) -> str:
    """Return what is known, what it cost in this command, and about what the rest costs."""
    n, rest = found.n_asked, found.n_expected - found.n_asked
    inputs = drawn.ends[n - 1]
    spent = f"{inputs:,} rows{f', cost {cost:,.4f}' if cost else ''}"
    what = found.quantity if found.reference is None else f"{found.quantity} less that of {found.reference}"
    line = f"{of_set}: {what} {found.low:.3f} to {found.high:.3f} after {n:,} of {found.n_in_all:,} ({spent})"
    if found.verdict is not None:
        ends = "is known" if found.verdict else "does not hold"
        return f"{line}: {found.condition} {ends}."
    if n == found.n_in_all:
        return f"{line}: all is asked, and {found.condition} is not known."
    more = f"{drawn.ends[n + rest - 1] - inputs:,} rows{f', cost {cost * rest / n:,.4f}' if cost else ''}"
    return f"{line}; {found.condition} takes about {rest:,} more ({more})."


def summed(rounds_of_pass: Sequence[_S]) -> _S:
    """Return the statistics of a pass from those of its rounds."""
    *earlier, last = rounds_of_pass
    if not earlier:
        return last
    parts: list[Any] = [vars(one) if is_dataclass(one) else one for one in rounds_of_pass]
    values = dict(parts[-1])
    for key, value in values.items():
        if isinstance(value, (int, float)) and key not in _COUNTED_ONCE:
            values[key] = sum(part[key] for part in parts)
        elif isinstance(value, dict):
            values[key] = {k: sum(part[key].get(k, 0) for part in parts) for part in parts for k in part[key]}
    whole: Any = last
    return replace(whole, **{f.name: values[f.name] for f in fields(whole)}) if is_dataclass(last) else values  # type: ignore[return-value]


def uniform(*parts: object) -> float:
    """Return a number in [0, 1) that is a hash of the parts."""
    digest = hashlib.sha256("\x00".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2.0**56
