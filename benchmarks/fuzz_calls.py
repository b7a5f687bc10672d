"""The cases of `fuzz.py` that are calls: commands with random options, functions with random arguments."""

from __future__ import annotations

import importlib
import inspect
import random
from collections.abc import Callable, Mapping
from typing import Any

from fuzz_cases import Case, as_text

Rng = random.Random

# ---------------------------------------------------------------------------------------------------------- options

_NUMBERS = ["0", "1", "2", "-1", "0.5", "1e9", "99999999999999999999", "nan", "inf", "-0.0", "1e-300", "x", "", "0.95"]
_WORDS = [
    "",
    "x",
    "role",
    "theme",
    "label",
    "prediction",
    "bucket_id",
    "pc",
    "a=b",
    "a,b",
    ",",
    "=",
    "\ud800",
    "\x1b[31m",
]
_WORDS += [
    "doc.id ~ '^(\\d+)-'",
    "x ~ '('",
    "{doc.id}",
    "{",
    "theme == 'weather'",
    "semantic_inconsistency",
    "[red]",
    "-",
]
_WORDS += [
    "é" * 300,
    "wrong",
    "own_class",
    "drop_bucket",
    "auto",
    "bootstrap",
    "cpu",
    "none",
    "holm",
    "0",
    "null",
    "--",
]
_PATHS = [
    "missing.csv",
    ".",
    "..",
    "/dev/null",
    "/proc/self/mem",
    "out",
    "out/deep/er",
    "\x00",
    "a" * 300,
    "run",
    "p.csv",
]
#: What keeps a command from training, downloading or serving: a value that has to be refused.
_REFUSED = {
    "demo": ["--output", "p.csv/x"],
    "train": ["--train-file", "missing.jsonl"],
    "run": ["--dataset", "missing.jsonl"],
    "sweep": ["--dataset", "missing.jsonl"],
    "adversarial": ["--train-file", "missing.jsonl"],
    "ie-test": ["--train", "missing.jsonl"],
    "sensitivity": ["--model", "missing-model"],
    "select": ["--encoder", "missing-model"],
    "space": ["--port", "-1"],
    "build": ["--data-dir", "missing"],
    "push": ["--dry-run"],
}
_CHEAP = ["score", "compare", "plan", "report", "gate", "artifacts", "perturb", "paraphrase", "transform", "check"]


_CONDITIONS = ["pc >= 0.5", "accuracy >= 2", "pc", ">=", "pc >= x", "1 >= pc", "pc.not_worse", "t < .1"]
_USUAL = {"condition": _CONDITIONS, "what": ["run", "space", "dataset"], "names": ["sample"], "name": ["sample"]}
#: Command lines that work as they are.
_WHOLE = {
    "score": ["p.parquet", "p.csv --json", "run", "p.parquet --figures --measure prediction_change"],
    "compare": ["p.parquet run --json", "p.parquet p.csv --name a --name b"],
    "plan": ["p.parquet --half-width 0.1", "p.csv --difference 0.1", "run --budget 1000 --json"],
    "report": ["p.parquet --output r.html", "run --output r.html --plots plots", "p.csv --output r.html"],
    "gate": ["pc>=0.5 p.parquet", "pc.low>=0.1 run", "accuracy>=0.1 p.csv", "pc.not_worse p.csv --against p.parquet"],
    "artifacts": ["--partial p.parquet --full p.parquet", "--partial p.csv --full run --json"],
    "perturb": ["rows.jsonl --output out.parquet --property negation --task defeasible_nli"],
    "paraphrase": ["rows.jsonl --generator rules --output out --no-entailment --task defeasible_nli"],
    "transform": ["rows.jsonl --output o.jsonl --transformation suffix --columns update"],
    "check": ["run"],
    "push": ["run run", "metric paraphrastic_consistency"],
}


def options_case(rng: Rng, found: Mapping[str, dict[str, bytes]]) -> Case:
    """Return a command with options drawn from its own, most of them absurd, on tiny inputs."""
    from paraconsist.cli.app import COMMANDS, app

    name = rng.choice([*COMMANDS, *_CHEAP * 2])
    files = {file: data for one in ("p.parquet", "p.csv", "rows.jsonl", "run") for file, data in found[one].items()}
    parameters: Any = app.get_command(None, name).params
    words = [name]
    if name in _WHOLE and rng.random() < 0.8:
        words = [name, *rng.choice(_WHOLE[name]).split()]
    for one in parameters if len(words) == 1 else ():
        if one.param_type_name == "argument":
            pool = _USUAL.get(one.name, ["p.parquet", "p.csv", "run", "rows.jsonl"])
            words += [rng.choice(pool) if rng.random() < 0.9 else rng.choice(_WORDS + _PATHS)] * (rng.random() < 0.95)
        elif one.required:
            words += [max(one.opts, key=len), rng.choice(["p.parquet", "out", "rows.jsonl", "bow", *_WORDS])]
    optional = [one for one in parameters if one.param_type_name != "argument"]
    for one in rng.sample(optional, min(len(optional), rng.choice([0, 1, 1, 2, 2, 3, 5]))):
        words.append(rng.choice([*one.opts, *one.secondary_opts]))
        if not one.is_flag:
            words.append(rng.choice(rng.choice([_NUMBERS, _WORDS, _PATHS, ["p.parquet", "run", "rows.jsonl"]])))
    words += _REFUSED.get(name, [])
    return {"kind": "command", "files": {one: as_text(data) for one, data in files.items()}, "arguments": words}


# -------------------------------------------------------------------------------------------------------- functions

_COLUMNS = {
    "labels": [
        "[0, 1, 1, 0, 2, 1, 0, 0]",
        "list('abbacbaa')",
        "np.array([0, 1, 1, 0, 2, 1, 0, 0])",
        "['\\ud800', 'a'] * 4",
    ],
    "ids": ["[0, 0, 0, 1, 1, 1, 2, 2]", "list('xxxyyyzz')", "np.arange(8) // 3", "['1e1'] * 4 + ['10'] * 4"],
    "numbers": ["[0.5] * 8", "np.linspace(0, 1, 8)", "[0.1, 0.9, 1.0, 0.0, 0.5, 0.5, 0.3, 0.2]"],
    "rows": ["[[0.5, 0.5]] * 8", "np.full((8, 3), 1 / 3)"],
    "texts": ["['a b', 'c', 'd e f', '', 'é', 'a', 'b', 'c d']", "['x'] * 8"],
    "lists": ["[[0], [1, 2], [1], [0], [2], [0, 1], [0], [0]]"],
    "roles": ["['original', 'paraphrase', 'paraphrase'] * 2 + ['original', 'paraphrase']", "['paraphrase'] * 8"],
}
_ODD_SOURCES = (
    """
None | 0 | 1 | -1 | True | 0.5 | 1.5 | float('nan') | float('inf') | 10**400 | 2**63 | '' | 'x' | [] | {} | set() | 1j
'\\ud800' | ['\\ud800'] * 8 | ['a\\x00', 'a'] * 4 | [None] * 8 | [0, None] * 4 | [0, 'a'] * 4 | [[]] * 8 | [''] * 8
[1.5] * 8 | [float('nan')] * 8 | [2**63] * 8 | [-2**63] * 8 | [10**400] * 8 | [True] * 8 | [b'a'] * 8 | [{}] * 8
{'a': 1} | {0: 0.5, 1: 0.5, 2: 1} | {'x': 0.5} | object() | [object()] * 8 | range(8) | iter([0] * 8) | lambda: 0 | int
np.zeros(0) | np.zeros((8, 2)) | np.array(3) | np.array([0, 1] * 4, dtype=object) | np.zeros(8, 'f2')
np.ma.array([0] * 8, mask=[1] + [0] * 7) | np.array(['2020-01-01'] * 8, dtype='M8[D]') | np.random.default_rng(0)
pd.Series([0, 1] * 4) | pd.Series([0, None] * 4, dtype='Int64') | pd.Series(list('abababab'), index=[1] * 8) | pd.NA
pd.Categorical(list('abababab')) | pa.array([0, 1] * 4) | pa.chunked_array([[0] * 8]) | pd.DataFrame({'a': [1]})
[0] * 7 | [0] * 9 | list('ab') | 'a' * 70000 | Decimal('1.5') | [Decimal(1)] * 8 | [[0, 1], [2]] * 4 | [[None]] * 8
'exact' | 'auto' | 'bootstrap' | 'closed_form' | 1e-300 | 99999999999999999999 | ([0] * 8, [1] * 8)
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)
_KINDS = {
    **dict.fromkeys(("buckets", "groups", "examples", "runs", "wordings", "trials", "repeats", "bucket_ids"), "ids"),
    **dict.fromkeys(("probabilities", "original_probabilities", "embeddings", "original_embeddings"), "rows"),
    **dict.fromkeys(("paraphrases", "originals"), "texts"),
    **dict.fromkeys(("test_confidences", "similarities", "values", "p_values"), "numbers"),
    "roles": "roles",
}


#: What trains, writes, or only holds what others have checked.
_UNCHECKED = [
    *("register", "run", "load_model", "Run", "Scores", "Comparison", "InputError"),
    "BucketCounts",
    "__version__",
]


def callables() -> dict[str, tuple[Callable[..., Any], list[str], list[str]]]:
    """Return what is called: name -> the function or module of evaluate, its required and its optional parameters."""
    import paraconsist as pc
    from paraconsist.measures.catalogue import CATALOGUE

    def parameters(function: Any) -> tuple[list[str], list[str]]:
        signature = inspect.signature(function).parameters.values()
        variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        usable = [one for one in signature if one.kind not in variadic and one.name not in ("function", "parameter")]
        required = [one.name for one in usable if one.default is one.empty]
        return required, [one.name for one in usable if one.name not in required]

    calls = {}
    for name in pc.__all__:
        if name not in _UNCHECKED:
            calls[f"pc.{name}"] = (getattr(pc, name), *parameters(getattr(pc, name)))
    for path in _FURTHER:
        module, _, name = path.partition(":")
        function = getattr(importlib.import_module(f"paraconsist.measures.{module}"), name)
        calls[f"{module}.{name}"] = (function, *parameters(function))
    calls["BucketCounts.from_counts"] = (pc.BucketCounts.from_counts, *parameters(pc.BucketCounts.from_counts))
    for name, spec in CATALOGUE.items():
        module_of = importlib.import_module(f"paraconsist.metrics.{name}.{name}")
        kind = next(one for one in vars(module_of).values() if getattr(one, "__module__", "") == module_of.__name__)
        calls[f"evaluate.{name}"] = (lambda kind=kind, **named: kind().compute(**named), *parameters(spec.function))
    return calls


#: Public, but not in the package's own list of names.
_FURTHER = [
    *("ie_test:ie_test_from_counts", "inconsistency_difference:inconsistency_difference", "cue_ratio:cue_design_ratio"),
    *("standings:correct_p_values", "standings:signal_to_noise", "results:parse_signature"),
    *("buckets:partition", "paraphrastic:minimum_consistency"),
]


def function_case(rng: Rng, calls: Mapping[str, tuple[Any, list[str], list[str]]]) -> Case:
    """Return a call with arguments of which some are odd."""
    name = rng.choice(list(calls))
    _, required, optional = calls[name]
    chosen = [*required, *rng.sample(optional, min(len(optional), rng.choice([0, 0, 1, 2, 3])))]
    odd = rng.choice([0, 0, 0.2, 0.5, 1])
    arguments = {one: rng.choice(_ODD_SOURCES if rng.random() < odd else _usual(one)) for one in chosen}
    return {"kind": "function", "call": name, "arguments": arguments}


def _usual(parameter: str) -> list[str]:
    if parameter in ("n_resamples", "n_permutations", "seed", "variants", "minimum"):
        return ["0", "1", "50", "5"]
    if parameter in ("confidence_level", "alpha", "margin", "bucket_accuracy"):
        return ["0.9", "0.05", "0.5"]
    if "allowed" in parameter:
        return _COLUMNS["lists"]
    return _COLUMNS[_KINDS.get(parameter, "labels")]
