"""What an IE experiment needs of a model: train on a sample, answer both versions of the test set. And its baseline.

The baseline of Salvatore et al. 2023 is gradient boosting on word counts or TF-IDF, with scikit-learn. Every text is
split into words and counted once, in both versions; a sample is a choice of rows of the count matrix. Vocabulary and
document frequencies are those of the sample, as if the vectoriser had been fitted to its texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from paraconsist.errors import extras, input_error
from paraconsist.studies.ie.options import FUNCTION
from paraconsist.studies.ie.rows import SPLITS, Rows

#: Hyperparameter -> what a random search draws from: a list of values, or the ends of a log-uniform range.
SearchSpace = Mapping[str, "list[Any] | tuple[float, float]"]


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


class Learner(Protocol):
    """A model that can be trained again and again. Can be pickled, to travel to other processes."""

    @property
    def device(self) -> str | None:
        """``"cpu"``, or None for the best there is."""

    @property
    def space(self) -> SearchSpace:
        """What the random search draws from."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides its answers besides data, parameters and seed: versions and settings."""

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Refuse unknown hyperparameters."""

    def train(self, sample: Sample, parameters: Mapping[str, Any], seed: int) -> Answers:
        """Train on a sample and answer."""


def draw_parameters(space: SearchSpace, fixed: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """One trial of the random search; hyperparameters that are set stay as they are."""
    drawn: dict[str, Any] = {}
    for name, choice in space.items():
        if isinstance(choice, tuple):
            low, high = np.log(choice)
            drawn[name] = float(np.exp(rng.uniform(low, high)))
        else:
            drawn[name] = choice[int(rng.integers(len(choice)))]
    return {**drawn, **fixed}


def refuse_unknown(parameters: Mapping[str, Any], known: tuple[str, ...], model: str) -> None:
    """Refuse hyperparameters that the model does not have."""
    for name in parameters:
        if name not in known:
            raise input_error(FUNCTION, "parameters", f"be hyperparameters of {model}: {', '.join(known)}", got=name)


#: What to type after ``--model`` -> how words are weighed.
WEIGHTINGS = {"gradient_boosting": "counts", "gradient_boosting_tfidf": "tfidf"}
#: The paper names no ranges: these are ours.
_SPACE: SearchSpace = {
    "n_estimators": [50, 100, 150, 200],
    "learning_rate": (0.03, 0.5),
    "max_depth": [2, 3, 4, 5],
    "subsample": [0.5, 0.75, 1.0],
    "max_features": [None, "sqrt", 0.25],
    "max_words": [None, 200, 500, 1000],
}
#: Of `GradientBoostingClassifier`; `max_words` is the vectoriser's `max_features`.
_KNOWN = (*_SPACE, "min_samples_leaf", "min_samples_split", "max_leaf_nodes", "min_impurity_decrease")


@dataclass(frozen=True)
class BoostingLearner:
    """Gradient boosting over the rows of an experiment; both versions of every split as count matrices."""

    counts: Mapping[str, tuple[Any, ...]]  # a matrix for each text of a row: premise and hypothesis have own words
    weighting: str
    device: ClassVar[str] = "cpu"

    @classmethod
    def over(cls, rows: Rows, weighting: str) -> BoostingLearner:
        """Count the words of every text, once."""
        with extras(FUNCTION):
            from sklearn.feature_extraction.text import CountVectorizer
        counts: dict[str, list[Any]] = {split: [] for split in SPLITS}
        n_texts = 1 if rows.inputs["train"][0].text_pair is None else 2
        for k in range(n_texts):
            vectorizer = CountVectorizer(dtype=np.float32)
            for split in SPLITS:
                texts = [row[k] or "" for row in rows.inputs[split]]
                try:
                    matrix = vectorizer.fit_transform(texts) if split == "train" else vectorizer.transform(texts)
                except ValueError as problem:
                    got = f"text {k + 1} of each row: {problem}"
                    raise input_error(FUNCTION, "train", "hold texts with words", got=got) from None
                counts[split].append(matrix)
        return cls({split: tuple(blocks) for split, blocks in counts.items()}, weighting)

    @property
    def space(self) -> SearchSpace:
        return _SPACE

    @property
    def identity(self) -> Mapping[str, Any]:
        import sklearn

        return {"weighting": self.weighting, "scikit-learn": sklearn.__version__}

    def check(self, parameters: Mapping[str, Any]) -> None:
        refuse_unknown(parameters, _KNOWN, "gradient boosting")

    def train(self, sample: Sample, parameters: Mapping[str, Any], seed: int) -> Answers:
        from sklearn.ensemble import GradientBoostingClassifier

        settings = dict(parameters)
        train, others = weigh(
            [block[sample.train] for block in self.counts["train"]],
            ([block[sample.validation] for block in self.counts["validation"]], list(self.counts["test"])),
            self.weighting,
            settings.pop("max_words", None),
        )
        model = GradientBoostingClassifier(random_state=seed, **settings)
        try:
            model.fit(train, sample.train_labels)
        except TypeError as problem:  # as scikit-learn refuses values
            message = str(problem).splitlines()[0]
            raise input_error(FUNCTION, "parameters", "be values that it takes", got=message) from None
        validation, test = (model.predict(matrix).astype(np.int64) for matrix in others)
        n = len(test) // 2
        return Answers(validation, test[:n], test[n:])


def weigh(train: list[Any], others: tuple[list[Any], ...], weighting: str, max_words: int | None) -> tuple[Any, ...]:
    """Turn counts into the matrices a model sees, with columns as a vectoriser fitted to the sample's texts has them.

    `train` holds, for each text of a row, the counts of the sample's training rows over the words of all training rows;
    `others` is the same of rows to answer. Of each text the `max_words` most frequent words are kept, as
    `CountVectorizer(max_features=...)` does. Returns the matrix of `train`, and those of `others`.
    """
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfTransformer

    seen: list[Any] = []
    answered: list[list[Any]] = [[] for _ in others]
    for k, block in enumerate(train):
        totals = np.asarray(block.sum(axis=0)).ravel()
        words = np.flatnonzero(totals)
        if max_words is not None and words.size > max_words:
            words = np.sort(words[(-totals[words]).argsort()[:max_words]])
        parts = [block[:, words], *(rows[k][:, words] for rows in others)]
        if weighting == "tfidf":
            transformer = TfidfTransformer().fit(parts[0])
            parts = [transformer.transform(part) for part in parts]
        seen.append(parts[0])
        for place, part in zip(answered, parts[1:], strict=True):
            place.append(part)
    return hstack(seen, format="csr"), [hstack(part, format="csr") for part in answered]
