"""Which model and which set each of several opened files is of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paraconsist.data.long_format import bucket_ids
from paraconsist.errors import input_error
from paraconsist.scoring.sources import Opened, Source, model_of

_UNNAMED = "predictions"  # a set, or the model of several sets, that neither metadata nor file names say


@dataclass
class _File:
    """One set in one of the files; `model` and `set_name` are found one after the other."""

    index: int  # among what was opened
    source: Source
    path: Path
    model: str | None
    set_name: str | None
    is_run: bool
    part: int = 0  # files of one part are of one set

    @property
    def names(self) -> tuple[str, str, str, str]:
        """What the file may be known by: its name, its folder, the folder above, its folder and name."""
        folder = self.path.parent
        return self.path.stem, folder.name, folder.parent.name, f"{folder.name}/{self.path.stem}"


def arranged(opened: Sequence[Opened], names: Sequence[str], sets: Sequence[str]) -> list[tuple[str, Opened]]:
    """Return what was opened, in its order, each with its model's name and under its sets' names.

    Files that name the same set, or have buckets in common, are of one set. A model is called as `names` or the files
    say, else by its file, or by the folder if one set has several files of that name. If no two files share a set,
    they are of one model. A set is called as `sets` or the files say; sets that lack a name are told apart by what all
    of their files are called, or by their folders, else each by its own. `names` and `sets`, one for each file or none,
    are in the order of the files. InputError if two files are of one model and set.
    """
    files = list(_files(opened, names, sets))
    _find_parts(files)
    _name_models([file for file in files if file.model is None], files)
    _check_once(files)
    _name_sets(files)
    result = []
    for index, each in enumerate(opened):
        own = [file for file in files if file.index == index]
        sources = {str(file.set_name): replace(file.source, name=str(file.set_name)) for file in own}
        model = str(own[0].model) if own else names[index] if names else (each.path or Path()).resolve().name
        result.append((model, replace(each, sets=sources)))
    return result


def check_numbers(paths: Sequence[Path], names: Sequence[str], sets: Sequence[str]) -> None:
    """Raise InputError if names of models or sets are given, but not one for each path."""
    for parameter, given in (("name", names), ("set", sets)):
        if given and len(given) != len(paths):
            must = f"be given once for each of these, in order: {', '.join(map(str, paths))}"
            raise input_error("report", parameter, must, got=list(given))


def is_run(opened: Opened) -> bool:
    """Return whether something opened is a run folder, not a file."""
    is_folder = any(source.path != opened.path for source in opened.sets.values())
    return bool(opened.run or opened.saved) or is_folder


def is_generic(name: str) -> bool:
    """Return whether a name is one that many tools give their output."""
    return re.fullmatch(r"(checkpoint[-_]?\d*|model|models|output|predictions|results|run)", name, re.I) is not None


def model_name(sources: Sequence[Source]) -> str | None:
    """Return the model's name, None where several models answered; published ones are named with their collection."""
    files = [source.predictions for source in sources]
    names = {name for file in files if (name := model_of(file)) is not None}
    collections = {str(file.metadata["set"]).partition(":")[0] for file in files if "published" in file.metadata}
    return "/".join([*collections, names.pop()]) if len(names) == 1 else None


def _files(opened: Sequence[Opened], names: Sequence[str], sets: Sequence[str]) -> Iterator[_File]:
    for index, each in enumerate(opened):
        path = each.path or Path()
        if sets and len(each.sets) != 1:
            must, got = "be given for files of one set only", f"{len(each.sets)} sets in {path}"
            raise input_error("report", "set", must, got=got)
        run = is_run(each)
        model = names[index] if names else model_name([*each.sets.values()]) or (path.resolve().name if run else None)
        for name, source in each.sets.items():
            known = sets[index] if sets else name if source.has_name or run else None
            yield _File(index, source, path, model, known, run)


def _find_parts(files: Sequence[_File]) -> None:
    """Number the connected parts of the files, and give a part the one name that its files say."""
    for part, file in enumerate(files):
        file.part = part
    is_needed = len(files) > 1 and any(file.set_name is None for file in files)
    ids = [set(bucket_ids(file.source.predictions, file.source.columns.bucket) if is_needed else ()) for file in files]
    for i, file in enumerate(files):
        for j, other in enumerate(files[:i]):
            is_one = file.set_name == other.set_name
            if None in (file.set_name, other.set_name):
                is_one = not ids[i].isdisjoint(ids[j])
            if is_one and file.part != other.part:
                old = file.part
                for each in files:
                    each.part = other.part if each.part == old else each.part
    for part in {file.part for file in files}:
        members = [file for file in files if file.part == part]
        known = sorted({file.set_name for file in members if file.set_name is not None})
        if len(known) > 1:
            unnamed = next(file.path for file in members if file.set_name is None)
            must, remedy = f"say which set {unnamed} is of", f"Give it once for each file, such as {known[0]}."
            raise input_error("report", "set", must, got=known, remedy=f"It has buckets of several sets. {remedy}")
        for file in members:
            file.set_name = known[0] if known else None


def _name_models(nameless: Sequence[_File], files: Sequence[_File]) -> None:
    """Give files that do not say their model the first kind of name by which no two of one set have the same."""
    if len(nameless) > 1 and len({file.part for file in files}) == len(files):
        stems = {file.path.stem for file in nameless}
        for file in nameless:
            file.model = stems.copy().pop() if len(stems) == 1 else _UNNAMED
        return
    taken = [(file.model, file.part) for file in files if file.model is not None]
    for kind in range(4):
        found = [(file.names[kind], file.part) for file in nameless]
        if all(name for name, _ in found) and len({*found, *taken}) == len(found) + len({*taken}):
            break
    else:
        kind = 0
    for file in nameless:
        file.model = file.names[kind]


def _check_once(files: Sequence[_File]) -> None:
    """Refuse two files of one model and set; runs are told apart by their folders."""
    seen: dict[tuple[Any, ...], _File] = {}
    for file in files:
        other = seen.setdefault((file.model, file.part), file)
        if other is not file and not (file.is_run and other.is_run):
            n_files = len({each.index for each in files})
            typed = " ".join(f"--name {chr(97 + i)}" for i in range(min(n_files, 3))) + " ..." * (n_files > 3)
            must = "be different for two files of one set"
            remedy = (
                f"Both {other.path} and {file.path} are of model {file.model}: name the models of all {n_files} files "
                f"in order ({typed}), or leave one out."
            )
            raise input_error("report", "name", must, got=file.model, remedy=remedy)


def _name_sets(files: Sequence[_File]) -> None:
    """Name the parts that no file names: all by their files or folders, else each by its own, else by number."""
    known = {file.set_name for file in files}
    parts = {file.part: [other for other in files if other.part == file.part] for file in files if not file.set_name}
    names = next(filter(None, (_common(parts.values(), kind) for kind in range(3))), None)
    if len(parts) == 1 and len(files) > 1 and names is not None:
        (members,) = parts.values()
        names = None if len(members) > 1 and {file.path.stem for file in members} != {*names} else names
        names = None if names and is_generic(names[0]) else names
    if names is None or known & {*names}:
        numbered = [_UNNAMED if len(parts) == 1 else f"{_UNNAMED} {n}" for n in range(1, len(parts) + 1)]
        own = [_own_name(part, files) if len(parts) > 1 else None for part in parts]
        names = [name or number for name, number in zip(own, numbered, strict=True)]
    for name, members in zip(names, parts.values(), strict=True):
        for file in members:
            file.set_name = name


def _common(parts: Iterable[Sequence[_File]], kind: int) -> list[str] | None:
    """Return what all files of each part are called, if that is one name a part, and different for every part."""
    found = [{file.names[kind] for file in members} for members in parts]
    names = [min(of_part) for of_part in found if len(of_part) == 1]
    return names if all(names) and len({*names}) == len(found) else None


def _own_name(part: int, files: Sequence[_File]) -> str | None:
    """Return what all files of a part are called, and no other file is, or its set."""
    for kind in range(3):
        name, *more = {file.names[kind] for file in files if file.part == part}
        others = {other for file in files if file.part != part for other in (*file.names, file.set_name)}
        if name and not more and name not in others and not is_generic(name):
            return name
    return None
