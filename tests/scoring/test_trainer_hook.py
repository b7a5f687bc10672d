"""The Trainer hook on a real Trainer: numbers equal the function's, settings that move rows are refused."""

import numpy as np
import pytest
import torch
from datasets import Dataset
from helpers.errors import refuses
from transformers import EvalPrediction, Trainer, TrainingArguments

from paraconsist.errors import InputError
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.scoring.trainer_callback import BucketEvaluation


class Linear(torch.nn.Module):
    """Two classes from four numbers; a head that Trainer can train."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, features: torch.Tensor, labels: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        logits = self.layer(features)
        loss = None if labels is None else torch.nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits} if loss is not None else {"logits": logits}


@pytest.fixture(scope="module")
def rows() -> Dataset:
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 7, 25)
    buckets = np.repeat(np.arange(25), sizes)
    return Dataset.from_dict(
        {
            "features": rng.normal(size=(len(buckets), 4)).astype(np.float32).tolist(),
            "labels": (buckets % 2).tolist(),
            "bucket_id": [f"b{i}" for i in buckets],
            "role": np.where(np.diff(buckets, prepend=-1) > 0, "original", "paraphrase").tolist(),
        }
    )


def trainer(rows: Dataset, evaluation: BucketEvaluation, folder, **settings) -> Trainer:
    options = {"per_device_eval_batch_size": 7, "report_to": "none", "use_cpu": True, "disable_tqdm": True}
    return Trainer(
        Linear(),
        TrainingArguments(str(folder), **options | settings),
        train_dataset=rows,
        eval_dataset=rows,
        compute_metrics=evaluation.compute_metrics,
        callbacks=[evaluation.callback],
    )


@pytest.mark.slow
def test_the_numbers_are_those_of_the_function(rows, tmp_path):
    loop = trainer(rows, BucketEvaluation(rows, label="labels"), tmp_path, max_steps=3)
    loop.train()
    found = loop.evaluate()
    with torch.no_grad():
        logits = loop.model(torch.tensor(rows["features"]))["logits"].numpy()
    expected = paraphrastic_consistency(logits.argmax(1), rows["labels"], rows["bucket_id"], roles=rows["role"])
    headline = "paraphrastic_consistency_unbiased"
    for key in ("paraphrastic_consistency", headline, "accuracy", "original_accuracy", "vap"):
        assert found[f"eval_{key}"] == pytest.approx(getattr(expected, key), abs=1e-12)
    ends = [found[f"eval_{headline}_{end}"] for end in ("low", "high")]
    assert ends == pytest.approx(expected.confidence_interval[headline])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"dataloader_drop_last": True}, "`dataloader_drop_last` must be False .*got True.*drops the rows"),
        ({"eval_do_concat_batches": False}, "`eval_do_concat_batches` must be True"),
        ({"train_sampling_strategy": "group_by_length"}, "must be 'random' or 'sequential'.*sorted by length"),
    ],
)
def test_settings_that_move_rows_are_refused_before_anything_runs(rows, tmp_path, setting, said):
    refuses(said, trainer, rows, BucketEvaluation(rows, label="labels"), tmp_path, **setting)


def test_batch_metrics_are_refused():
    arguments = TrainingArguments("unused", batch_eval_metrics=True, report_to="none", use_cpu=True)
    with pytest.raises(InputError, match="`batch_eval_metrics` must be False"):
        BucketEvaluation({"bucket_id": ["a"], "label": [0]}).check_settings(arguments)


def test_other_rows_than_the_set_s(rows, tmp_path):
    evaluation = BucketEvaluation(rows, label="labels")
    loop = trainer(rows, evaluation, tmp_path)
    refuses(f"for each of the {len(rows)} rows; got 'shape \\(5, 2\\)'", loop.evaluate, rows.select(range(5)))
    order = np.argsort(rows["labels"], kind="stable")
    refuses("`label_ids` must be the set's labels", loop.evaluate, rows.select(order))
    outputs = np.zeros((len(rows), 2))
    outputs[3, 0] = np.nan
    with pytest.raises(InputError, match=r"be finite; got .* at row 3"):
        evaluation.compute_metrics(EvalPrediction(outputs, np.asarray(rows["labels"])))


def test_without_the_callback_nothing_is_computed(rows):
    given = EvalPrediction(np.zeros((len(rows), 2)), np.asarray(rows["labels"]))
    with pytest.raises(InputError, match="`callback` must be given to Trainer"):
        BucketEvaluation(rows, label="labels").compute_metrics(given)


def test_columns_that_are_not_there(rows):
    refuses("`label` must be a column of the evaluation set", BucketEvaluation, rows)
    refuses("`label` must not be empty", BucketEvaluation, {"bucket_id": [], "label": []})
    refuses("hold label numbers; got 'x' at row 0", BucketEvaluation, {"bucket_id": ["a"], "label": ["x"]})
