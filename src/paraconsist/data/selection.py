"""Patterns of a command line: the bucket sets they match, and the models and limits assigned to them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from paraconsist.errors import input_error


def expand_specs(specs: Sequence[str], function: str = "run", parameter: str = "dataset") -> list[str]:
    """Expand ``becel:all`` and ``becel:snli`` to the configs that they match; keep other names.

    ``builder:all`` matches every set with a measure (for BECEL, the paper's 19 test cases), and ``builder:NAME``, if
    NAME is no config, all of them whose name begins with it. InputError, about the caller's `parameter`, if a
    builder's name matches nothing.
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
    """Say whether a pattern matches a set's name, its config or the config's beginning; it may contain ``*``.

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
    """Return the sets of each model; sets without a model are excluded with a warning.

    Models are ``MODEL`` for all sets, or ``PATTERN=MODEL`` for those that match the pattern (see `matches`). The first
    match wins; a model without a pattern gets the other sets. InputError if two models have no pattern, or no model has
    a set.
    """
    pairs = []
    for text in models:
        pattern, equals, model = text.partition("=")
        pairs.append((pattern, model) if equals and not Path(text).exists() else ("", text))
    general = [model for pattern, model in pairs if not pattern]
    if len(general) > 1:
        must = "be given once, or as PATTERN=MODEL for several"
        raise input_error("run", "model", must, got=general, remedy="Assign sets to each model.")
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
    """Return the maximum number of rows of a set, from ``N`` for all sets or ``PATTERN=N`` for some.

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
            must = "be used only with sets that have a full test set"
            remedy = "Run the test set's file as another `dataset` and give it to `score --test-predictions`."
            raise input_error("run", "with_test", must, got=spec, remedy=remedy)
        wanted[f"{name}:{test}"] = None
    return list(wanted)
