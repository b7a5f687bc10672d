"""paraconsist: does a language model give the same answer however a question is phrased?

    import paraconsist as pc

    scores = pc.score(df, bucket="question_id", prediction="answer", label="gold")    # or a path, a log, a run folder
    pc.compare(scores, other)
    pc.run("ORG/MODEL", "paranlu:delta_snli", output="runs/a").score()

Every name is imported on first use: importing the package costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from paraconsist._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from paraconsist.data.bucket_sets import BucketSet, load_bucket_set
    from paraconsist.data.logs.every_eval_ever import read_evaluations
    from paraconsist.data.published import published
    from paraconsist.errors import InputError
    from paraconsist.measures.antecedents import additive_inconsistency, transitive_inconsistency
    from paraconsist.measures.bucket_model import consistency_at, fit_bucket_model
    from paraconsist.measures.buckets import BucketCounts
    from paraconsist.measures.catalogue import list_measures
    from paraconsist.measures.consistency_difference import consistency_difference
    from paraconsist.measures.cue_ratio import cue_design_ratio
    from paraconsist.measures.distribution_shift import distribution_shift
    from paraconsist.measures.diversity import paraphrase_diversity
    from paraconsist.measures.edit_effects import edit_effects
    from paraconsist.measures.edit_kinds import edit_kinds
    from paraconsist.measures.fooling_rate import fooling_rate
    from paraconsist.measures.ie_test import ie_test
    from paraconsist.measures.noise_floor import noise_floor, trial_noise
    from paraconsist.measures.pairs import negational_inconsistency, semantic_inconsistency, symmetric_inconsistency
    from paraconsist.measures.paraphrastic import paraphrastic_consistency
    from paraconsist.measures.prediction_change import prediction_change
    from paraconsist.measures.probability_coherence import probability_coherence
    from paraconsist.measures.prompt_sensitivity import prompt_sensitivity, variant_indices
    from paraconsist.models.loading import load_model
    from paraconsist.registry import register
    from paraconsist.reporting.page.site import leaderboard
    from paraconsist.reporting.result import Comparison, Run, Scores, compare, score
    from paraconsist.scoring.trainer_callback import BucketEvaluation

#: Name -> the module that has it.
_HOMES = {
    **dict.fromkeys(("Comparison", "Run", "Scores", "compare", "score"), "reporting.result"),
    "BucketCounts": "measures.buckets",
    "BucketEvaluation": "scoring.trainer_callback",
    "InputError": "errors",
    "leaderboard": "reporting.page.site",
    "list_measures": "measures.catalogue",
    "load_bucket_set": "data.bucket_sets",
    "load_model": "models.loading",
    "read_evaluations": "data.logs.every_eval_ever",
    "register": "registry",
    **dict.fromkeys(("additive_inconsistency", "transitive_inconsistency"), "measures.antecedents"),
    **dict.fromkeys(
        ("negational_inconsistency", "semantic_inconsistency", "symmetric_inconsistency"), "measures.pairs"
    ),
    **dict.fromkeys(("consistency_at", "fit_bucket_model"), "measures.bucket_model"),
    "consistency_difference": "measures.consistency_difference",
    "cue_design_ratio": "measures.cue_ratio",
    "distribution_shift": "measures.distribution_shift",
    "edit_effects": "measures.edit_effects",
    "edit_kinds": "measures.edit_kinds",
    "fooling_rate": "measures.fooling_rate",
    "ie_test": "measures.ie_test",
    **dict.fromkeys(("noise_floor", "trial_noise"), "measures.noise_floor"),
    "paraphrase_diversity": "measures.diversity",
    "paraphrastic_consistency": "measures.paraphrastic",
    "prediction_change": "measures.prediction_change",
    "probability_coherence": "measures.probability_coherence",
    **dict.fromkeys(("prompt_sensitivity", "variant_indices"), "measures.prompt_sensitivity"),
    "published": "data.published",
}

__all__ = [
    "BucketCounts",
    "BucketEvaluation",
    "Comparison",
    "InputError",
    "Run",
    "Scores",
    "__version__",
    "additive_inconsistency",
    "compare",
    "consistency_at",
    "consistency_difference",
    "cue_design_ratio",
    "distribution_shift",
    "edit_effects",
    "edit_kinds",
    "fit_bucket_model",
    "fooling_rate",
    "ie_test",
    "leaderboard",
    "list_measures",
    "load_bucket_set",
    "load_model",
    "negational_inconsistency",
    "noise_floor",
    "paraphrase_diversity",
    "paraphrastic_consistency",
    "prediction_change",
    "probability_coherence",
    "prompt_sensitivity",
    "published",
    "read_evaluations",
    "register",
    "run",
    "score",
    "semantic_inconsistency",
    "symmetric_inconsistency",
    "transitive_inconsistency",
    "trial_noise",
    "variant_indices",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from paraconsist.errors import extras

    with extras(name):
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def run(
    model: str | Path | Callable[[Any], Any],
    sets: str | Sequence[str],
    *,
    output: str | Path,
    data_dir: str | None = None,
    split: str = "test",
    limit: int | None = None,
    revision: str | None = None,
    dtype: str = "float32",
    max_length: int | None = None,
    label_map: Mapping[str, str] | None = None,
    stratum: Sequence[str] = (),
    **options: Any,
) -> Run:
    """Run a classifier or a Python function over bucket sets; the same call goes on with an interrupted run.

    Parameters
    ----------
    model : str, Path or callable
        A folder that `paraconsist train` or ``save_pretrained`` wrote, or a Hub id; or a function from a list of
        prompts to a list with an answer for each: a text that holds a label, a label's number, probabilities.
    sets : str or sequence of str
        As `load_bucket_set` takes them: ``paranlu:delta_snli``, a folder, a file, a Hub name.
    output : str or Path
        The run folder.
    data_dir, split
        As for `load_bucket_set`.
    limit : int, optional
        The first buckets of each set only.
    revision, dtype, max_length
        As for `load_model`.
    label_map : mapping, optional
        Model label -> task label; by default labels meet by name.
    stratum : sequence of str
        As for `load_bucket_set`.
    **options
        Further fields of `paraconsist.running.run.RunOptions`: ``device``, ``batch_tokens``, ``noise_floor`` ...; of a
        function those of `paraconsist.running.functions.Function`: ``name``, ``version``, ``template`` ...

    Returns
    -------
    Run
        Its ``score()`` returns `Scores`.
    """
    from pathlib import Path

    from paraconsist import load_bucket_set
    from paraconsist.reporting.result import Run
    from paraconsist.running.functions import as_function, run_function
    from paraconsist.running.options import RunOptions
    from paraconsist.running.run import run as run_sets

    names = [sets] if isinstance(sets, str) else list(sets)
    reading: dict[str, Any] = {"data_dir": data_dir, "split": split, "stratum": stratum}
    loading: dict[str, Any] = {"revision": revision, "dtype": dtype, "max_length": max_length}
    function = as_function(model, options, loading)
    running = RunOptions(output=Path(output), label_map=label_map, **options)

    def load() -> list[BucketSet]:
        return [load_bucket_set(name, **reading).limited(limit) for name in names]

    if function is not None:
        return Run(run_function(function, load(), running).path)
    from paraconsist import load_model  # imports torch

    loading["device"] = running.device
    report = run_sets(
        lambda name, group: load_model(name, task=group[0].task, **loading), lambda: {str(model): load()}, running
    )
    return Run(report.folder.path)
