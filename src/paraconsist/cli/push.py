"""``paraconsist push``: metrics, bucket sets and runs to the Hub."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from paraconsist.cli.options import argument, echo, quiet_libraries, read_pairs
from paraconsist.data.options import option
from paraconsist.errors import check_choice, input_error, renamed

if TYPE_CHECKING:
    from paraconsist.reporting.hub.client import Push, Remote


What = Literal["metric", "dataset", "run"]
_METRICS, _DATASETS, _RUNS = "push metric", "push dataset", "push run"


@dataclass(frozen=True)
class PushOptions:
    """What decides a push; the heading of an option names the kinds that have it."""

    namespace: str | None = option(None, "The user or organization that gets the Spaces.", panel=_METRICS)
    all_metrics: bool = option(False, "Every metric, each a Space of its own.", panel=_METRICS, option="--all")
    package: str | None = option(
        None,
        "What pip installs this package from, if not PyPI: git+https://... or a URL of a wheel.",
        metavar="SPEC",
        panel=_METRICS,
    )
    repo: str | None = option(None, "The repository, as NAMESPACE/NAME.", panel=f"{_DATASETS}, {_RUNS}")
    config_name: list[str] | None = option(
        None, "Only this config; repeat for several. All by default.", panel=_DATASETS
    )
    data_dir: Path | None = option(
        None, "Folder with the upstream files, used instead of the network; same checksums.", panel=_DATASETS
    )
    cache_dir: Path | None = option(None, "A datasets cache other than the default one.", panel=_DATASETS)
    task: str | None = option(None, "The task of a file whose columns fit several.", panel=_DATASETS)
    i_have_the_rights: str | None = option(
        None,
        "Why you may publish a set without a stated licence; it goes into the commit message.",
        metavar="REASON",
        panel=_DATASETS,
    )
    benchmark: list[str] | None = option(
        None,
        "Where a set of the run is on the Hub, for .eval_results; repeat for several.",
        metavar="SET=NAMESPACE/NAME",
        panel=_RUNS,
    )
    model: str | None = option(
        None, "The model's own repository, which gets .eval_results, too: its page shows them.", panel=_RUNS
    )


def push(
    *,
    what: What = argument("metric NAME, dataset NAME or FILE, or run FOLDER."),
    name: str | None = argument("Name of the metric or bucket set, a file of your own rows, or the run folder.", None),
    dry_run: bool = option(False, "Show what would be sent, and send nothing.", option="--dry-run"),
    public: bool = option(False, "Make new repositories public; they are private otherwise.", option="--public"),
    options: PushOptions,
) -> None:
    """Push to the Hub: a metric as a Space, a bucket set or a run as a dataset repository.

    push metric NAME|--all --namespace ORG, push dataset NAME|FILE --repo ORG/NAME, push run FOLDER --repo ORG/NAME.
    Nothing that is already there is sent again. Log in before, with `hf auth login`.

    paraconsist push dataset questions.yaml --repo ORG/questions
    paraconsist push run runs/a --repo ORG/a --dry-run
    """
    given = {key: value for key, value in vars(options).items() if value}
    known = [each.name for each in fields(options) if f"push {what}" in each.metadata["panel"]]
    if other := next((key for key in given if key not in known), None):
        remedy = f"The options of push {what} are {', '.join(f'`{key}`' for key in known)}."
        raise input_error("push", other, "not be given", got=given[other], remedy=remedy)
    if what == "metric":
        _check_metric(name, options.all_metrics)
    elif name is None:
        must = "name a bucket set or a file" if what == "dataset" else "be a run folder"
        raise input_error("push", "name", must, remedy="Write it after the kind; see `paraconsist push --help`.")
    target, example = ("namespace", "ORG") if what == "metric" else ("repo", "ORG/NAME")
    if target not in given:
        raise input_error("push", target, f"say where to push to, as {example}", got=getattr(options, target))
    if what == "metric":
        _push_metrics(name, given[target], options.package, public, dry_run)
    elif what == "dataset":
        reason = given.pop("i_have_the_rights", None)
        _push_dataset(str(name), given.pop(target), given, reason, public, dry_run)
    else:
        benchmarks = read_pairs("push", "benchmark", options.benchmark, "SET=NAMESPACE/NAME")
        from paraconsist.reporting.hub.client import look
        from paraconsist.reporting.hub.runs import model_results, run_dataset

        model, remote = options.model, look(given[target], "dataset", dry_run=dry_run)
        of_model = look(model, "model", parameter="model", dry_run=dry_run) if model else None
        if of_model is not None and of_model.is_known and not of_model.exists:
            raise input_error("push", "model", "name a model that is on the Hub", got=model)
        one = run_dataset(Path(str(name)), given[target], benchmarks=benchmarks, remote=remote)
        results = model_results(one, model) if model else None  # before anything is sent
        _carry_out(one, remote, public, dry_run)
        if results is not None and of_model is not None:
            _carry_out(results, of_model, False, dry_run)


def _check_metric(name: str | None, everything: bool) -> None:
    from paraconsist.registry import metric_names

    if everything == (name is not None):
        remedy = f"The metrics are {', '.join(metric_names())}."
        raise input_error("push", "name", "be one metric, or `all_metrics`", got=name, remedy=remedy)
    if name is not None:
        check_choice("push", "name", name, metric_names())


def _push_metrics(name: str | None, namespace: str, package: str | None, public: bool, dry_run: bool) -> None:
    from paraconsist.registry import metric_names
    from paraconsist.reporting.hub.client import look
    from paraconsist.reporting.hub.spaces import check_space, metric_space

    if "/" in namespace:
        must, remedy = "be a user or organization only", "Each metric is a Space called after it."
        raise input_error("push", "namespace", must, got=namespace, remedy=remedy)
    names = metric_names() if name is None else (name,)
    pushes = [metric_space(name, namespace, package=package) for name in names]  # all whole before the first is sent
    for one in pushes:
        remote = look(one.repo_id, "space", parameter="namespace", dry_run=dry_run)
        check_space(one, remote.files)
        _carry_out(one, remote, public, dry_run)
    if package is None:
        echo("A Space installs paraconsist[space] from PyPI, and does not start where it is not: see --package.")


def _push_dataset(name: str, repo: str, given: dict[str, Any], reason: str | None, public: bool, dry_run: bool) -> None:
    from paraconsist.data.bucket_sets import FILE_ENDINGS, is_file_of_rows
    from paraconsist.dataset_builders import BUILDERS

    is_file = is_file_of_rows(name)
    if not is_file and name not in BUILDERS:
        must = f"be one of {', '.join(BUILDERS)}, or a file of rows ({', '.join(FILE_ENDINGS)})"
        set_, _, config = name.partition(":")
        remedy = f"Write {set_} alone, and `config_name` {config}." if set_ in BUILDERS else ""
        raise input_error("push", "name", must, got=name, remedy=remedy)
    for key in given.keys() & ({"config_name", "data_dir", "cache_dir"} if is_file else {"task"}):
        kind = "a file" if is_file else "a set of this package"
        raise input_error("push", key, f"not be given with {kind}", got=given[key])
    quiet_libraries()
    from paraconsist.reporting.hub.bucket_sets import bucket_set_dataset, check_rights, own_dataset
    from paraconsist.reporting.hub.client import look

    check_rights(None if is_file else name, reason)
    remote = look(repo, "dataset", dry_run=dry_run)  # before the set is built
    with tempfile.TemporaryDirectory(prefix="paraconsist-push-") as folder:
        if is_file:
            one = own_dataset(Path(name), repo, Path(folder), reason=reason, remote=remote, **given)
        else:
            given["configs"] = given.pop("config_name", None)
            with renamed(config="config_name"):
                one = bucket_set_dataset(name, repo, Path(folder), reason=reason, remote=remote, **given)
        _carry_out(one, remote, public, dry_run)


def _carry_out(one: Push, remote: Remote, public: bool, dry_run: bool) -> None:
    """Send, and say what was sent (or would be), file by file."""
    from paraconsist.reporting.formatting import byte_size
    from paraconsist.reporting.hub.client import changes, send

    files = changes(one, remote.files)
    sent = [change for change in files if change.state != "same"]
    echo(f"{one.repo_id}: {_state_of(remote, one.repo_type, public)}")
    if sent or dry_run:
        width = max(len(change.path) for change in files)
        for change in files:
            echo(f"  {change.state:<8}{change.path:<{width}}  {byte_size(change.size):>9}")
    for note in one.notes:
        echo(f"  note: {note}")
    if remote.exists and public and remote.private:
        echo("  note: It stays private; its settings on the Hub make it public.")
    total = f"{len(sent)} of {len(files)} files, {byte_size(sum(c.size for c in sent if c.state != 'gone'))}"
    if not sent:
        echo(f"  Nothing to send: all {len(files)} files are there already.")
    elif dry_run:
        echo(f"  Dry run: nothing was sent. A push would send {total}.")
    else:
        commit = send(one, remote, files, public=public)
        echo(f"  Sent {total}, in commit {commit.oid[:7]}: {commit.repo_url}")
        echo(f"  {one.how_to_use}")


def _state_of(remote: Remote, repo_type: str, public: bool) -> str:
    kind = "Space" if repo_type == "space" else f"{repo_type} repository"
    if not remote.is_known:
        return f"{kind}; the Hub was not asked what it has: no network, or HF_HUB_OFFLINE=1, with which none is tried"
    if not remote.exists:
        return f"a new {kind}, {'public' if public else 'private'}"
    return f"{kind}, {'private' if remote.private else 'public'}"
