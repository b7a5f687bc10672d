"""Which sets a command line means, and which model answers which of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from paraconsist.errors import input_error


def expand_specs(specs: Sequence[str], function: str = "run", parameter: str = "dataset") -> list[str]:
    """Write ``becel:all`` and ``becel:snli`` out as the configs they stand for; other names stay.

    ``builder:all`` stands for every set with a measure (for BECEL, the paper's 19 test cases), and ``builder:NAME``,
    where no config has this name, for all of them that begin with it. InputError, for the caller's `parameter`, if a
    name of a builder's stands for nothing.
    """
    from paraconsist.dataset_builders import BUILDERS, builder_class

    expanded: dict[str, None] = {}
    for spec in specs:
        source, _, wanted = spec.partition(":")
        if source not in BUILDERS:
            expanded[spec] = None
            continue
        builder = builder_class(source)
        configs = {config.name: config for config in builder.BUILDER_CONFIGS}
        cases = getattr(builder, "TEST_CASES", [name for name, config in configs.items() if config.measures])
        if wanted in configs:
            chosen = [wanted]
        else:
            chosen = [name for name in cases if wanted == "all" or (wanted and name.startswith(f"{wanted}_"))]
        if not chosen:
            must = f"name a config of {source!r} after a colon, the beginning of several, or 'all'"
            raise input_error(function, parameter, must, got=spec, remedy=f"The configs are {', '.join(configs)}.")
        expanded.update(dict.fromkeys(f"{source}:{name}" for name in chosen))
    return list(expanded)


def matches(pattern: str, spec: str) -> bool:
    """Say whether a pattern means a set: its whole name, its config, the config's beginning, or with ``*``.

    >>> matches("snli", "becel:snli_semantic"), matches("*additive", "becel:sst2_additive")
    (True, True)
    >>> matches("sst", "becel:sst2_semantic")
    False
    """
    config = spec.partition(":")[2] or spec
    return (
        pattern in (spec, config)
        or config.startswith(f"{pattern}_")
        or any("*" in pattern and fnmatchcase(name, pattern) for name in (spec, config))
    )


def assign_models(models: Sequence[str], specs: Sequence[str]) -> dict[str, list[str]]:
    """Return model -> the sets it answers; sets that no model answers are left out, with a warning.

    Models are ``MODEL`` for all sets, or ``PATTERN=MODEL`` for those that the pattern means (see `matches`). The first
    pattern that fits wins; a model without a pattern answers what is left. InputError if two models have no pattern, or
    no set is left.
    """
    pairs = []
    for text in models:
        pattern, equals, model = text.partition("=")
        pairs.append((pattern, model) if equals and not Path(text).exists() else ("", text))
    general = [model for pattern, model in pairs if not pattern]
    if len(general) > 1:
        must = "be given once, or as PATTERN=MODEL for several"
        raise input_error("run", "model", must, got=general, remedy="Say which sets are whose.")
    assigned: dict[str, list[str]] = {}
    for spec in specs:
        fitting = [model for pattern, model in pairs if pattern and matches(pattern, spec)] + general
        if fitting:
            assigned.setdefault(fitting[0], []).append(spec)
    left_out = [spec for spec in specs if not any(spec in answered for answered in assigned.values())]
    if assigned and left_out:
        warnings.warn(f"no model is given for {', '.join(left_out)}: left out", stacklevel=2)
    if not assigned:
        raise input_error("run", "model", "answer at least one of the sets", got=list(models), remedy=f"Sets: {specs}.")
    return assigned


def parse_limits(limits: Sequence[str] | None, spec: str) -> int | None:
    """Return how many rows of a set to take: from ``N`` for all sets, or ``PATTERN=N`` for some.

    >>> parse_limits(["*additive=2000"], "becel:sst2_additive"), parse_limits(["*additive=2000"], "becel:rte_semantic")
    (2000, None)
    """
    for text in limits or ():
        pattern, equals, number = text.rpartition("=")
        if not number.isdecimal() or int(number) < 1:
            raise input_error("run", "limit", "be a number of rows from 1, or PATTERN=NUMBER", got=text)
        if not equals or matches(pattern, spec):
            return int(number)
    return None


def with_test_sets(specs: Sequence[str]) -> list[str]:
    """Add to each set the full test set of its original items. InputError if a set has none."""
    from paraconsist.dataset_builders import BUILDERS, builder_class

    wanted: dict[str, None] = dict.fromkeys(specs)
    for spec in specs:
        name, _, config = spec.partition(":")
        test = f"{config.removesuffix('_automatic')}_test"
        known = name in BUILDERS and test in {c.name for c in builder_class(name).BUILDER_CONFIGS}
        if not known:
            must = "be given only with sets that have a full test set"
            remedy = "Run the test set's file as another `dataset` and give it to `score --test-predictions`."
            raise input_error("run", "with_test", must, got=spec, remedy=remedy)
        wanted[f"{name}:{test}"] = None
    return list(wanted)
