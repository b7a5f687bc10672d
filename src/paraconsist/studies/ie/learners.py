"""The models of an IE experiment: trained on a sample, they answer both versions of the test set.

The baseline of Salvatore et al. 2023 is gradient boosting on word counts or TF-IDF, with scikit-learn. Vocabulary and
document frequencies are those of the sample.

Neural models are `bow`, the word models of Srikanth et al. 2024 and any Hugging Face classifier. Each process tokenises
both versions of every text once; a sample is a list of references to them. One process runs one training
(`transformers.Trainer`): several processes train different samples.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.foreign import parse_yaml
from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import InputError, extras, input_error
from paraconsist.models.training.options import TrainingOptions, options_from_preset
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions, Parameters
from paraconsist.studies.ie.rows import SPLITS, Rows

_HYPERPARAMETERS = parse_yaml(files("paraconsist.studies.ie").joinpath("hyperparameters.yaml").read_text("utf-8"))
#: Hyperparameter -> what a random search draws from: a list of values, or the ends of a log-uniform range.
SearchSpace: TypeAlias = Mapping[str, "list[Any] | Mapping[str, float]"]
#: Name of the model -> how words are weighed.
WEIGHTINGS = {"gradient_boosting": "counts", "gradient_boosting_tfidf": "tfidf"}
_WORD_MODELS = ("bow", "glove_bow", "bilstm")
_BATCH = 64


@dataclass(frozen=True)
class Sample:
    """Row numbers into both versions of the training and validation rows (see `rows.sample_rows`), and their labels."""

    train: NDArray[np.int64]
    train_labels: NDArray[np.int64]
    validation: NDArray[np.int64]
    validation_labels: NDArray[np.int64]


@dataclass(frozen=True)
class Answers:
    """Predicted class numbers, int64: of the sample's validation rows, and of both versions of the test rows."""

    validation: NDArray[np.int64]
    original: NDArray[np.int64]
    transformed: NDArray[np.int64]


def draw_parameters(space: SearchSpace, fixed: Parameters, rng: np.random.Generator) -> Parameters:
    """Return one trial of the random search; `fixed` hyperparameters are not drawn."""
    drawn: dict[str, Any] = {}
    for name, choice in space.items():
        if isinstance(choice, Mapping):
            low, high = np.log([choice["low"], choice["high"]])
            drawn[name] = float(np.exp(rng.uniform(low, high)))
        else:
            drawn[name] = choice[int(rng.integers(len(choice)))]
    return {**drawn, **fixed}


def refuse_unknown(parameters: Parameters, kind: str, model: str) -> None:
    """Refuse hyperparameters that a kind of model does not have."""
    known = [*_HYPERPARAMETERS[kind]["space"], *_HYPERPARAMETERS[kind]["known"]]
    for name in parameters:
        if name not in known:
            raise input_error(FUNCTION, "parameters", f"be hyperparameters of {model}: {', '.join(known)}", got=name)


@dataclass(frozen=True)
class BoostingLearner:
    """Gradient boosting over the rows of an experiment; premise and hypothesis are counted apart."""

    inputs: Mapping[str, Sequence[ModelInput]]  # both versions of every split
    weighting: str
    device: ClassVar[str] = "cpu"
    space: ClassVar[SearchSpace] = _HYPERPARAMETERS["gradient_boosting"]["space"]

    @property
    def identity(self) -> Mapping[str, str]:
        import sklearn

        return {"weighting": self.weighting, "scikit-learn": sklearn.__version__}

    def check(self, parameters: Parameters) -> None:
        with extras(FUNCTION):
            import sklearn  # noqa: F401
        refuse_unknown(parameters, "gradient_boosting", "gradient boosting")

    def train(self, sample: Sample, parameters: Parameters, seed: int) -> Answers:
        from sklearn.ensemble import GradientBoostingClassifier

        settings = dict(parameters)
        train, validation, test = self.matrices(sample, settings.pop("max_words", None))
        model = GradientBoostingClassifier(random_state=seed, **settings)
        try:
            model.fit(train, sample.train_labels)
        except TypeError as problem:  # as scikit-learn refuses values
            message = str(problem).splitlines()[0]
            raise input_error(FUNCTION, "parameters", "be values that it takes", got=message) from None
        before, after = np.split(model.predict(test).astype(np.int64), 2)
        return Answers(model.predict(validation).astype(np.int64), before, after)

    def matrices(self, sample: Sample, max_words: int | None = None) -> list[Any]:
        """Return what a model sees of the sample's training and validation rows, and of both versions of the test rows.

        Of each text the `max_words` words most frequent in the training rows are kept.
        """
        from scipy.sparse import hstack
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        chosen = {"train": sample.train, "validation": sample.validation}
        rows = [[self.inputs[s][i] for i in chosen[s]] if s in chosen else self.inputs[s] for s in SPLITS]
        blocks = []
        for k in range(1 if rows[0][0].text_pair is None else 2):
            kind = TfidfVectorizer if self.weighting == "tfidf" else CountVectorizer
            vectorizer = kind(dtype=np.float32, max_features=max_words)
            train, *others = ([row[k] or "" for row in part] for part in rows)
            try:
                blocks.append([vectorizer.fit_transform(train), *map(vectorizer.transform, others)])
            except ValueError as problem:
                got = f"text {k + 1} of each row: {problem}"
                raise input_error(FUNCTION, "train", "hold texts with words", got=got) from None
        return [hstack(part, format="csr") for part in zip(*blocks, strict=True)]


@dataclass(frozen=True)
class NeuralLearner:
    """A neural model over the rows of an experiment."""

    model: str
    inputs: Mapping[str, Sequence[ModelInput]]
    label_names: tuple[str, ...]
    task: Task
    device: str | None
    threads: int
    _tokenised: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def over(cls, rows: Rows, options: ExperimentOptions) -> NeuralLearner:
        """Return a learner for the options' model, which must exist."""
        from paraconsist.models.pretrained import open_configuration

        if options.model not in _WORD_MODELS:
            try:
                open_configuration(options.model)
            except InputError as problem:
                must = f"be one of {', '.join((*WEIGHTINGS, *_WORD_MODELS))}, or a Hub id or folder that can be loaded"
                raise input_error(FUNCTION, "model", must, got=options.model, remedy=f"({problem})") from None
        return cls(options.model, rows.inputs, rows.label_names, rows.task, options.device, options.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tokens: each process makes them from the texts and the model."""
        return {**self.__dict__, "_tokenised": {}}

    @property
    def kind(self) -> str:
        return self.model if self.model in _WORD_MODELS else "encoder"

    @property
    def space(self) -> SearchSpace:
        return dict(_HYPERPARAMETERS[self.kind]["space"])

    @property
    def identity(self) -> Mapping[str, str]:
        from importlib.metadata import version

        return {name: version(name) for name in ("torch", "transformers")}

    def check(self, parameters: Parameters) -> None:
        refuse_unknown(parameters, self.kind, self.model)
        self._options(parameters, seed=0)  # refuses values that no training takes

    def train(self, sample: Sample, parameters: Parameters, seed: int) -> Answers:
        import torch
        import transformers

        from paraconsist.models.pretrained import quiet
        from paraconsist.models.training.trainer import TrainingRows, make_trainer, starting_model, training_arguments

        settings = self._options(parameters, seed=seed)
        torch.set_num_threads(self.threads)
        with quiet(), tempfile.TemporaryDirectory() as folder:
            transformers.set_seed(seed)
            texts = [(text,) for text in self.inputs["train"]]
            start = partial(starting_model, multiple_choice=False, say=lambda line: None)
            classifier = start(settings, self.task, self.label_names, texts)
            rows = self._tokens(classifier, settings)
            order = np.array([classifier.label_names.index(name) for name in self.label_names])
            silent = {"save_strategy": "no", "logging_strategy": "no", "dataloader_pin_memory": False}
            drawn = TrainingRows([rows["train"][i] for i in sample.train], order[sample.train_labels].tolist())
            trainer = make_trainer(classifier, training_arguments(settings, Path(folder), **silent), drawn)
            trainer.train()
            back = np.argsort(order)  # the model's class number -> ours
            validation = back[_predict(classifier, [rows["validation"][i] for i in sample.validation])]
            test = back[_predict(classifier, rows["test"])]
        del trainer, classifier
        gc.collect()
        n = len(test) // 2
        return Answers(validation, test[:n], test[n:])

    def _options(self, parameters: Parameters, *, seed: int) -> TrainingOptions:
        settings = dict(parameters)
        preset = settings.pop("preset", "s24-bilstm" if self.model == "bilstm" else None)
        if settings.get("vectors") is not None:
            settings["vectors"] = Path(settings["vectors"])
        try:
            return options_from_preset(
                preset, output=Path(), model=self.model, train_file=Path("-"), seed=seed, device=self.device, **settings
            )
        except TypeError as problem:
            raise input_error(FUNCTION, "parameters", "be values of the right types", got=str(problem)) from None

    def _tokens(self, classifier: Any, settings: TrainingOptions) -> Mapping[str, list[Any]]:
        """Return both versions of every split, tokenised once for each setting of the tokeniser."""
        key = (settings.max_length, settings.n_buckets, settings.max_ngram, settings.min_count, settings.extra_words)
        if key not in self._tokenised:
            self._tokenised.clear()
            texts = {split: [(text,) for text in self.inputs[split]] for split in SPLITS}
            self._tokenised[key] = {split: classifier.prepare(of_split) for split, of_split in texts.items()}
        return dict(self._tokenised[key])


#: A model that can be trained many times, and pickled for other processes. `device` is None for the best available; the
#: random search draws from the `space` of hyperparameters; `identity` has the versions and settings that decide
#: answers, besides data, parameters and seed; `check` refuses hyperparameters.
Learner: TypeAlias = BoostingLearner | NeuralLearner


def _predict(classifier: Any, rows: Sequence[Any]) -> NDArray[np.int64]:
    """Return class numbers, in batches of similar length that depend on nothing but the rows."""
    classifier.module.eval()
    order = sorted(range(len(rows)), key=lambda i: (rows[i].width, i))
    answers = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        answers[batch] = classifier.logits([rows[i] for i in batch]).argmax(dim=1).cpu().numpy()
    return answers
