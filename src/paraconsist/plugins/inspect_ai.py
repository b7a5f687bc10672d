"""The inspect_ai extension: tasks for bucket sets, the scorer that reads label words, P_C (tried with 0.3.285).

inspect_ai finds this module by its entry point and imports it whenever it looks for an extension: paraconsist's own
modules are imported when a task is made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai import Task, task
from inspect_ai._eval.task.results import call_metric
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_unqualified_name
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

if TYPE_CHECKING:
    from paraconsist.data.bucket_sets import BucketSet

_MAX_TOKENS = 8  # of an answer, as for `paraconsist run`
_CUT = ("max_tokens", "model_length")  # why an answer ended that a limit of tokens cut
_TURNS = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}  # others, such as developer, are the system's
_DELTA_POOLS = ("paranlu:delta_snli_test", "paranlu:delta_atomic_test", "paranlu:delta_social_test")


@task
def bucket_set(
    dataset: str,
    shots: int = 0,
    examples: str | Sequence[str] = (),
    template: str | None = None,
    chat: bool = False,
    task: str | None = None,
    data_dir: str | None = None,
    same: str | None = None,
    right: str | None = None,
    column: str | Sequence[str] = (),
) -> Task:
    """Any bucket set that ``paraconsist run --dataset`` takes; the parameters are those of ``paraconsist run``.

    A sample's input is the prompt as one message, or with `chat` the instruction as the system's message, and solved
    examples in turns. Rows that have several right labels have several targets. Questions in free text are chats, and
    answers are compared by `same` and `right`, by default as the file says.
    """
    from rich.markup import escape

    from paraconsist.data.bucket_sets import load_bucket_set
    from paraconsist.errors import InputError

    try:
        pairs = (column,) if isinstance(column, str) else tuple(column)
        rows = load_bucket_set(dataset, task=task, data_dir=data_dir, column=pairs)
        comparers = {name: value for name, value in (("same", same), ("right", right)) if value is not None}
        return _made(rows, shots, examples, template, chat, data_dir, comparers)
    except InputError as problem:  # inspect_ai prints these without a traceback, and reads brackets as styles
        raise PrerequisiteError(escape(str(problem))) from None


@task
def sample(shots: int = 0, template: str | None = None, chat: bool = False) -> Task:
    """The set that comes with paraconsist; examples are from its training rows."""
    pools = ["sample:defeasible_nli_train"] if shots else []
    return bucket_set("sample:defeasible_nli", shots, pools, template, chat)


@task
def paranlu(
    config: str = "delta_snli",
    shots: int = 0,
    template: str | None = None,
    chat: bool = False,
    data_dir: str | None = None,
) -> Task:
    """ParaNLU's delta_snli, delta_atomic, delta_social or alpha_nli; examples are from test sets, as in the paper."""
    pools = _DELTA_POOLS if config.startswith("delta_") else (f"paranlu:{config}_test",)
    return bucket_set(f"paranlu:{config}", shots, pools if shots else (), template, chat, data_dir=data_dir)


def _made(
    rows: BucketSet,
    shots: int,
    examples: str | Sequence[str],
    template: str | None,
    chat: bool,
    data_dir: str | None,
    comparers: dict[str, str],
) -> Task:
    from paraconsist.data.logs.inspect_ai import BUCKET_SET
    from paraconsist.data.prompts import offered
    from paraconsist.data.tasks import QUESTIONS
    from paraconsist.models.labels import resolve_label_map
    from paraconsist.running.by_name import ANSWER_TOKENS, load_pools, prompt_for
    from paraconsist.running.options import PromptOptions

    specs = (examples,) if isinstance(examples, str) else tuple(examples)
    options = PromptOptions(template, shots or None, specs, data_dir=data_dir)
    prompt = prompt_for([rows], options, load_pools(options))
    asked, names, is_free = prompt.template, rows.label_names, rows.task is QUESTIONS
    about = {
        "set": rows.name,
        "set_fingerprint": rows.fingerprint,
        "n_rows": rows.table.num_rows,
        "label_names": list(names),
        "measures": list(rows.measures),
        "strata": list(rows.strata),
        "template": asked.name,
        "prompt_hash": prompt.hash,
    }
    if is_free:
        about |= {"same": "text", **rows.comparers, **comparers}
        about.setdefault("right", about["same"])
        judge = accepted_answer(about["right"])
    else:
        targets = resolve_label_map(asked.label_names, names).targets
        labels = [[word, name, names[to]] for (name, word), to in zip(asked.labels.items(), targets, strict=True)]
        judge = label_word(labels, asked.stop)

    def as_sample(row: dict[str, Any]) -> Sample:
        said = prompt.messages(rows.task, row) if chat or is_free else prompt.text(rows.task, row)
        metadata = {name: row[name] for name in ("bucket_id", "group_id", "role", "input_id", *rows.strata)}
        if is_free:
            target, metadata["choices"] = row["label"] or "", offered([row["choices"]])[0]
        else:
            target = [names[label] for label in ([row["label"]] if row["label"] >= 0 else row["allowed_labels"])]
        input = said if isinstance(said, str) else _turns(said)
        return Sample(id=row["example_id"], input=input, target=target, metadata=metadata)

    stops = [asked.stop] if asked.stop else None
    return Task(
        dataset=MemoryDataset([as_sample(row) for row in rows.table.to_pylist()], name=rows.name),
        scorer=judge,
        metrics=[consistency(about)],
        config=GenerateConfig(max_tokens=ANSWER_TOKENS if is_free else _MAX_TOKENS, temperature=0.0, stop_seqs=stops),
        metadata={BUCKET_SET: about},
        version=1,
    )


def _turns(messages: Sequence[dict[str, str]]) -> list[ChatMessage]:
    return [_TURNS.get(one["role"], ChatMessageSystem)(content=one["content"]) for one in messages]


@metric(scores="unreduced")
def consistency(about: dict[str, Any] | None = None) -> Metric:
    """What ``paraconsist score`` says of the log: the headline of the set's measures with its interval, and accuracy.

    `about` is what the log says of the set. Epochs of a bucket are resampled together. Undefined is nan.
    """

    def of_scores(scores: list[SampleScore]) -> dict[str, float]:
        from paraconsist.data.logs.inspect_ai import BUCKET_SET, log_rows
        from paraconsist.data.options import SourceOptions
        from paraconsist.errors import InputError
        from paraconsist.measures.catalogue import PARAPHRASTIC
        from paraconsist.scoring.free_text import compared
        from paraconsist.scoring.options import ScoreOptions
        from paraconsist.scoring.score import score_set
        from paraconsist.scoring.sources import Source, by_roles

        if not scores:
            return {}
        header = {"eval": {"metadata": {BUCKET_SET: about}}}
        is_free = about is not None and "same" in about  # where NOANSWER is of questions without an accepted answer
        judged = [one.score.value for one in scores if not is_free or one.score.value != NOANSWER]
        accuracy = judged.count(CORRECT) / len(judged) if judged else math.nan
        shorts = [PARAPHRASTIC.short] * (accuracy == accuracy) + ["wording_change"] * is_free
        values = {f"{short}{end}": math.nan for short in shorts for end in ("", "_low", "_high")}
        try:
            log = log_rows(header, [_logged(one) for one in scores], Path("log"), SourceOptions())
            whole = Source("log", compared(log, SourceOptions(), None, None))
            parts = [score_set(part, ScoreOptions()) for part in by_roles(whole, SourceOptions())]
        except InputError:  # the first rows of a run that goes on, or rows that --limit leaves: `score` says what lacks
            return {**values, "accuracy": accuracy}
        values = {}
        for wording in (part.wording for part in parts[:1] if is_free and part.wording is not None):
            low, high = wording.confidence_interval["wording_change"]
            ends = {"wording_change_low": low, "wording_change_high": high}
            values = {"wording_change": wording.wording_change, **ends}
        for spec, keys in ((spec, part.measures[spec.name]) for part in parts for spec in part.specs):
            low, high = keys["confidence_interval"][spec.headline]
            values |= {spec.short: keys[spec.headline], f"{spec.short}_low": low, f"{spec.short}_high": high}
        return {**values, "accuracy": accuracy}

    return of_scores


def _logged(one: SampleScore) -> dict[str, Any]:
    """Return a sample as a log has it, as far as its score says."""
    score, more = one.score, one.score.metadata or {}
    scores = {"label_word": {"value": score.value, "answer": score.answer}}
    return {"id": one.sample_id, "metadata": one.sample_metadata, "scores": scores, **more}


@metric(scores="auto")
def original(metrics: Sequence[Metric], keyed: bool = False) -> Metric:
    """Metrics of originals alone, which give the numbers of the task that ``paraconsist reword`` has reworded.

    `keyed` says that they are of one key of a scorer's values: inspect_ai then puts this metric's name before theirs.
    """

    def of_originals(scores: list[SampleScore]) -> dict[str, object]:
        originals = [one for one in scores if (one.sample_metadata or {}).get("role") == "original"]
        values: dict[str, object] = {}
        for each in metrics:
            found: Any = call_metric(each, originals) if originals else math.nan
            values |= found if isinstance(found, Mapping) else {registry_unqualified_name(each): found}
        return {name if keyed else f"original_{name}": value for name, value in values.items()}

    return of_originals


@scorer(metrics=[consistency()])
def accepted_answer(right: str) -> Scorer:
    """Whether an answer in free text is the same as an accepted one, by the comparer `right`; none without any."""

    async def score(state: TaskState, target: Target) -> Score:
        from paraconsist.comparing.comparer import get_comparer

        judge, text = get_comparer(right, "right"), state.output.completion
        accepted = [answer for answer in target.target if answer]
        offered = [state.metadata.get("choices")] * len(accepted)
        found = judge.values([text] * len(accepted), offered), judge.values(accepted, offered)
        is_right = bool(judge.are_same(*found, reference=True).any())
        value = NOANSWER if not accepted else CORRECT if is_right else INCORRECT
        return Score(value=value, answer=text, metadata={"epoch": state.epoch, "target": target.target})

    return score


@scorer(metrics=[consistency()])
def label_word(labels: Sequence[Sequence[str]], stop: str = "") -> Scorer:
    """Whether an answer holds the word of a right label, and no other's, as ``paraconsist run`` reads written answers.

    `labels` are each label's word, its name in the template and its name in the set; answers end at `stop`. The answer
    is the set's name of the label, none where no label could be read.
    """
    words, names, of_set = zip(*labels, strict=True)

    async def score(state: TaskState, target: Target) -> Score:
        from paraconsist.data.prompts import parse_answer

        text = state.output.completion
        shown = text.partition(stop)[0] if stop else text
        is_cut = text != "" and shown == text and state.output.stop_reason in _CUT  # without choices there is neither
        place = parse_answer(shown, words, names, cut=is_cut)
        answer = None if place is None else of_set[place]
        value = NOANSWER if answer is None else CORRECT if answer in target.target else INCORRECT
        return Score(value=value, answer=answer, metadata={"epoch": state.epoch, "target": target.target})

    return score
