"""Neural models of an IE experiment: `bow`, the BiLSTM of Srikanth et al. 2024, any Hugging Face classifier.

Both versions of every text are tokenised once in each process; a sample is a list of references to them. Training is
`transformers.Trainer`, one process to a training: several processes train different samples.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paraconsist.data.tasks import ModelInput, Task
from paraconsist.errors import InputError, input_error
from paraconsist.models.training.options import TrainingOptions, options_from_preset
from paraconsist.studies.ie.learners import WEIGHTINGS, Answers, Sample, SearchSpace, refuse_unknown
from paraconsist.studies.ie.options import FUNCTION, ExperimentOptions
from paraconsist.studies.ie.rows import SPLITS, Rows

_OWN = ("bow", "glove_bow", "bilstm")
_LEARNING = ("learning_rate", "epochs", "batch_size", "weight_decay", "warmup", "scheduler", "gradient_accumulation")
_ENCODER = (*_LEARNING, "max_grad_norm", "max_length", "group_by_length", "bf16", "preset")
_WORDS = ("vectors", "extra_words", "freeze_vectors", "min_count", "embedding_dim", "mlp_size", "mlp_layers", "dropout")
_KNOWN = {
    "bow": (*_LEARNING, "max_grad_norm", "preset", "n_buckets", "embedding_dim", "max_ngram"),
    "glove_bow": (*_LEARNING, "max_grad_norm", "preset", *_WORDS),
    "bilstm": (*_LEARNING, "max_grad_norm", "preset", *_WORDS, "lstm_size", "lstm_layers", "pooling"),
}
_SPACES: Mapping[str, SearchSpace] = {
    "bow": {"learning_rate": (1e-3, 1e-2), "weight_decay": [0.0, 0.1, 0.3], "epochs": [3, 5, 8]},
    "glove_bow": {"learning_rate": (3e-4, 3e-3), "dropout": [0.1, 0.2, 0.4], "mlp_size": [64, 128, 256]},
    "bilstm": {"learning_rate": (1e-3, 6e-3), "dropout": [0.1, 0.2, 0.4], "lstm_size": [32, 64, 128]},
}
#: The values that the authors of BERT recommend for fine-tuning.
_ENCODER_SPACE: SearchSpace = {"learning_rate": [2e-5, 3e-5, 5e-5], "epochs": [2, 3, 4], "batch_size": [16, 32]}
_BATCH = 64


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
        """Check that there is such a model."""
        from paraconsist.models.pretrained import open_configuration

        if options.model not in _OWN:
            try:
                open_configuration(options.model)
            except InputError as problem:
                must = f"be one of {', '.join((*WEIGHTINGS, *_OWN))}, or a Hub id or folder that can be loaded"
                raise input_error(FUNCTION, "model", must, got=options.model, remedy=f"({problem})") from None
        return cls(options.model, rows.inputs, rows.label_names, rows.task, options.device, options.threads)

    def __getstate__(self) -> dict[str, Any]:
        """Token numbers are made anew in each process: they depend on nothing but texts and model."""
        return {**self.__dict__, "_tokenised": {}}

    @property
    def space(self) -> SearchSpace:
        return _SPACES.get(self.model, _ENCODER_SPACE)

    @property
    def identity(self) -> Mapping[str, Any]:
        from importlib.metadata import version

        return {name: version(name) for name in ("torch", "transformers")}

    def check(self, parameters: Mapping[str, Any]) -> None:
        refuse_unknown(parameters, _KNOWN.get(self.model, _ENCODER), self.model)
        self._options(parameters, seed=0)  # refuses values that no training takes

    def train(self, sample: Sample, parameters: Mapping[str, Any], seed: int) -> Answers:
        import torch
        import transformers

        from paraconsist.models.pretrained import quiet
        from paraconsist.models.training.start import starting_model
        from paraconsist.models.training.trainer import TrainingRows, make_trainer, training_arguments

        settings = self._options(parameters, seed=seed)
        torch.set_num_threads(self.threads)
        with quiet(), tempfile.TemporaryDirectory() as folder:
            transformers.set_seed(seed)
            texts = [(one,) for one in self.inputs["train"]]
            classifier = starting_model(
                settings, self.task, self.label_names, texts, multiple_choice=False, say=lambda line: None
            )
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

    def _options(self, parameters: Mapping[str, Any], *, seed: int) -> TrainingOptions:
        settings = dict(parameters)
        preset = settings.pop("preset", "s24-bilstm" if self.model == "bilstm" else None)
        if settings.get("vectors") is not None:
            settings["vectors"] = Path(settings["vectors"])
        try:
            return options_from_preset(
                preset, output=Path(), model=self.model, train_file=Path("-"), seed=seed, device=self.device, **settings
            )
        except TypeError as problem:
            raise input_error(FUNCTION, "parameters", "be numbers where numbers belong", got=str(problem)) from None

    def _tokens(self, classifier: Any, settings: TrainingOptions) -> Mapping[str, list[Any]]:
        """Both versions of every split, tokenised once for each way of tokenising."""
        key = (settings.max_length, settings.n_buckets, settings.max_ngram, settings.min_count, settings.extra_words)
        if key not in self._tokenised:
            self._tokenised.clear()
            self._tokenised[key] = {s: classifier.prepare([(one,) for one in self.inputs[s]]) for s in SPLITS}
        return dict(self._tokenised[key])


def _predict(classifier: Any, rows: Sequence[Any]) -> NDArray[np.int64]:
    """Class numbers, in batches of similar length that depend on nothing but the rows."""
    classifier.module.eval()
    order = sorted(range(len(rows)), key=lambda i: (rows[i].width, i))
    answers = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        answers[batch] = classifier.logits([rows[i] for i in batch]).argmax(dim=1).cpu().numpy()
    return answers
