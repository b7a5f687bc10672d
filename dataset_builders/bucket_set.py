"""The base class of builders: the bucket-set schema, its checks, and the atomic preparation of a set."""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import datasets
from filelock import FileLock

from paraconsist.data import tasks
from paraconsist.data.tasks import Row, get_task, input_id
from paraconsist.dataset_builders import upstream
from paraconsist.dataset_builders.checks import SplitChecker
from paraconsist.dataset_builders.normalisation import normalize_surface
from paraconsist.errors import InputError, input_error
from paraconsist.files import changed, digests, make_youngest, staged, write_json

#: The file with the checksums of a prepared set.
CHECKSUMS = "paraconsist.json"


@dataclass
class BucketSetConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """One config of a bucket set.

    Parameters
    ----------
    name, version, description
        As in `datasets.BuilderConfig`. Each config has a version (a builder's would be ignored).
    task
        The name of the task, which fixes the input columns.
    measures
        The measures that apply; empty if the rows are not a bucket set (test and training rows).
    strata
        The columns by which results may be broken down.
    counts
        The number of rows of each role in each split. Building fails if they differ.
    label_names
        The labels in class order; the task's own by default.
    normalize_surface
        Convert every input column with `normalisation.normalize_surface`, so that originals and perturbed texts do not
        differ by tokenisation and casing.
    """

    task: str = ""
    measures: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    label_names: tuple[str, ...] = ()
    normalize_surface: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.label_names and self.task:
            self.label_names = get_task(self.task).label_names

    def normalized(self) -> BucketSetConfig:
        """Return the config ``<name>_normalized`` of the same rows and ids in one surface form."""
        twin = replace(self, normalize_surface=True)
        twin.name = f"{self.name}_normalized"
        twin.description = f"{self.description} In one surface form: lower case, detokenised."
        return twin


class BucketSetBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]
    """Base of all builders. A subclass gives `NAME`, `BUILDER_CONFIGS`, `STRATA` and `rows`.

    A builder can be used as it is (``ParanluBuilder(config_name="delta_snli").download_and_prepare()``, or
    ``.as_streaming_dataset()``); `paraconsist.data.building` adds the folder form.

    Parameters
    ----------
    cache_dir
        The datasets cache; by default that of `load_dataset`.
    data_dir
        A mirror of the upstream files that replaces the network. The identity of the prepared set does not depend on
        it, because every file must pass the same sha256 check.
    **kwargs
        `config_name` and other arguments of `datasets.DatasetBuilder`.
    """

    BUILDER_CONFIG_CLASS = BucketSetConfig
    BUILDER_CONFIGS: ClassVar[list[BucketSetConfig]] = []
    #: The data set's bare name. Without it the cache would be named after the file, `builder`, for all sets.
    NAME: ClassVar[str]
    #: Every stratum of every config, with its Arrow type: string, bool, int32 or float64.
    STRATA: ClassVar[Mapping[str, str]] = {}
    #: One line for the card's `dataset_info`.
    HOMEPAGE: ClassVar[str] = ""
    CITATION: ClassVar[str] = ""

    def __init__(
        self,
        cache_dir: str | None = None,
        *,
        dataset_name: str | None = None,
        hash: str | None = None,
        data_dir: str | Path | None = None,
        **kwargs: Any,
    ) -> None:
        self.mirror = None if data_dir is None else self.find_mirror(data_dir)
        super().__init__(
            cache_dir=None if cache_dir is None else str(cache_dir),
            dataset_name=dataset_name or self.NAME,
            hash=hash or self.content_hash(),
            **kwargs,
        )

    def _build_cache_dir(self) -> str:
        """Name the set's folder in the cache, and remove a damaged description, which would make datasets fail."""
        folder = str(super()._build_cache_dir())
        try:
            datasets.DatasetInfo.from_directory(folder)
        except OSError:
            pass
        except Exception:  # of any kind, from a damaged file
            (Path(folder) / datasets.config.DATASET_INFO_FILENAME).unlink(missing_ok=True)
        return folder

    # Methods of a subclass

    def upstream_files(self) -> Mapping[str, upstream.UpstreamFile]:
        """Return the published files of this config by short keys."""
        return {}

    def rows(self, split: str, files: Mapping[str, bytes]) -> Iterator[Row]:
        """Yield the rows of `split` from the verified contents of `upstream_files`.

        A row has `example_id`, `bucket_id`, `role`, the task's columns, `label` (int) and the config's strata;
        `group_id` defaults to `bucket_id` and `allowed_labels` to `[label]`.
        """
        raise NotImplementedError

    # Methods of a subclass whose files are not pinned by one hash each

    def find_mirror(self, data_dir: str | Path) -> Path:
        """Return the folder of the files in `data_dir`."""
        return upstream.mirror_root(data_dir)

    def locate(self, dl_manager: Any) -> dict[str, str]:
        """Return the path of each file by its key, or its URL if the set is streamed."""
        files = self.upstream_files()
        return upstream.locate(files, dl_manager, self.mirror, self.NAME) if files else {}

    def read(self, places: Mapping[str, str]) -> dict[str, bytes]:
        """Return the verified contents of the files."""
        files = self.upstream_files()
        return {key: upstream.read_verified(place, files[key], self.NAME) for key, place in places.items()}

    # Preparation

    @classmethod
    def source_folder(cls) -> Path:
        """The folder with the builder, its card and its shipped data."""
        return Path(inspect.getfile(cls)).resolve().parent

    @classmethod
    def content_hash(cls) -> str:
        """Return a hash of all code and shipped data on which the rows depend: any edit makes a new set."""
        here = Path(__file__).resolve().parent
        shared = [here / name for name in ("bucket_set.py", "checks.py", "normalisation.py", "upstream.py")]
        shared.append(Path(tasks.__file__).resolve())
        own = [p for p in sorted(cls.source_folder().iterdir()) if p.suffix in {".py", ".jsonl"}]
        digest = hashlib.sha256()
        for path in shared + own:
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def _info(self) -> datasets.DatasetInfo:
        config = self.config
        text = datasets.Value("string")
        features = dict.fromkeys(("example_id", "input_id", "bucket_id", "group_id", "role"), text)
        features |= dict.fromkeys(get_task(config.task).columns, text)
        features["label"] = datasets.ClassLabel(names=list(config.label_names))
        features["allowed_labels"] = datasets.List(datasets.Value("int64"))
        features |= {name: datasets.Value(self.STRATA[name]) for name in config.strata}
        return datasets.DatasetInfo(
            description=config.description,
            features=datasets.Features(features),
            homepage=self.HOMEPAGE,
            citation=self.CITATION,
        )

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        places = self.locate(dl_manager)
        if not dl_manager.is_streaming:  # check before anything is written; a stream checks when it reads
            self.read(places)
        return [
            datasets.SplitGenerator(name=split, gen_kwargs={"split": split, "places": places})
            for split in self.config.counts
        ]

    def _generate_examples(self, split: str, places: Mapping[str, str]) -> Iterator[tuple[int, dict[str, Any]]]:
        config = self.config
        contents = self.read(places)
        columns = get_task(config.task).columns
        checker = SplitChecker(
            where=f"build {self.NAME}:{config.name} ({split})",
            task=get_task(config.task),
            n_labels=len(config.label_names),
            strata={name: self.STRATA[name] for name in config.strata},
            counts=config.counts[split],
        )
        for index, partial in enumerate(self.rows(split, contents)):
            row = dict(partial)
            row.setdefault("group_id", row.get("bucket_id"))
            row.setdefault("allowed_labels", [row.get("label")])
            if config.normalize_surface:
                row |= {column: normalize_surface(row[column]) for column in columns}
            row["input_id"] = input_id(config.task, row)
            checker.add(row)
            yield index, row
        checker.finish()

    def download_and_prepare(self, output_dir: str | None = None, *args: Any, **kwargs: Any) -> None:
        """Prepare the set in the datasets cache (or in `output_dir`) atomically.

        datasets itself writes into a sibling of the final folder, which after a kill makes every later
        ``load_dataset`` of this name fail; so the set is written elsewhere and then renamed.

        Raises
        ------
        InputError
            If the cache cannot be written, a file cannot be fetched or is not the pinned one, or the rows violate the
            schema or the declared counts.
        """
        if output_dir is not None:
            super().download_and_prepare(output_dir, *args, **kwargs)
            return
        final = Path(self.cache_dir)
        root = final.parents[3]  # cache / name / config / version / hash
        staging = root / f".{self.dataset_name}.paraconsist-staging"
        mode = datasets.DownloadMode(kwargs.get("download_mode") or "reuse_dataset_if_exists")
        try:
            with FileLock(str(root / f".{self.dataset_name}.paraconsist.lock")):
                shutil.rmtree(staging, ignore_errors=True)  # left by a killed build: the lock is ours
                if mode is not datasets.DownloadMode.REUSE_DATASET_IF_EXISTS or not self.is_prepared():
                    staging.mkdir(parents=True)
                    if final.exists() and not self.is_prepared():
                        warnings.warn(f"{final} is damaged: it is built again.", UserWarning, stacklevel=2)
                    try:
                        self._prepare_in(str(staging / "set"), *args, **kwargs)
                        write_json(staging / "set" / CHECKSUMS, {"files": digests(staging / "set")})
                        with staged(final) as new:
                            new.rmdir()
                            (staging / "set").rename(new)
                    finally:
                        shutil.rmtree(staging, ignore_errors=True)
                make_youngest(final, final.parent.iterdir())
                super().download_and_prepare()  # finds the set and loads its info
        except OSError as error:
            raise input_error(
                f"build {self.NAME}",
                "cache_dir",
                "be a folder that can be written",
                got=str(root),
                remedy=f"The system says: {error}. Name another with --cache-dir or HF_DATASETS_CACHE.",
            ) from error

    def _prepare_in(self, output_dir: str, *args: Any, **kwargs: Any) -> None:
        try:
            super().download_and_prepare(output_dir, *args, **kwargs)
        except datasets.exceptions.DatasetGenerationError as error:
            if isinstance(error.__cause__, InputError):  # which names the cause
                raise error.__cause__ from None
            raise

    def is_prepared(self) -> bool:
        """Say whether the cache holds this config, as this code builds it, with all its files."""
        return is_whole(Path(self.cache_dir), self.dataset_name, self.config.counts)


def is_whole(folder: Path, dataset_name: str, splits: Collection[str]) -> bool:
    """Say whether `folder`, of the datasets cache, holds an undamaged prepared set with exactly these splits."""
    if not (folder / datasets.config.DATASET_INFO_FILENAME).is_file():
        return False
    try:
        record = json.loads((folder / CHECKSUMS).read_text()) if (folder / CHECKSUMS).exists() else {}
        prepared = datasets.DatasetInfo.from_directory(str(folder)).splits or {}
    except ValueError:
        return False
    if changed(folder, record.get("files", {})):
        return False
    names = {path.name for path in folder.iterdir()}
    return set(prepared) == set(splits) and all(f"{dataset_name}-{split}.arrow" in names for split in splits)
