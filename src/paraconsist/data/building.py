"""Preparation of bucket sets: in the datasets cache under their bare name, and as a folder in the public form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from paraconsist.dataset_builders import BUILDERS, builder_class
from paraconsist.errors import input_error
from paraconsist.files import locked, staged, write_text, writing

if TYPE_CHECKING:
    from datasets import DatasetInfo

    from paraconsist.dataset_builders.bucket_set import BucketSetBuilder, BucketSetConfig


_TAG = "paraconsist"  # of every card: folders without it are not overwritten


def config_named(name: str, config: str | None = None) -> BucketSetConfig:
    """Return a builder's config, by default its default one; InputError if there is no such builder or config."""
    cls = builder_class(name)
    wanted = cls.DEFAULT_CONFIG_NAME if config is None else config
    configs = {c.name: c for c in cls.BUILDER_CONFIGS}
    if wanted not in configs:
        raise input_error("build", "config", f"be a config of {name}: {', '.join(configs)}", got=config)
    return configs[wanted]


def is_prepared(name: str, config: str, *, cache_dir: str | Path | None = None) -> bool:
    """Say whether the datasets cache holds this config as the installed code builds it, without writing anything."""
    import datasets

    from paraconsist.dataset_builders.bucket_set import is_whole

    cls, wanted = builder_class(name), config_named(name, config)
    root = Path(cache_dir or datasets.config.HF_DATASETS_CACHE).expanduser()
    folder = root / cls.NAME / config / str(wanted.version) / cls.content_hash()
    return bool(is_whole(folder, cls.NAME, wanted.counts))


def prepare(
    name: str, config: str | None = None, *, data_dir: str | Path | None = None, cache_dir: str | Path | None = None
) -> BucketSetBuilder:
    """Prepare one config in the datasets cache, so that ``load_dataset`` finds it; return the builder.

    ``.as_dataset(split=...)`` gives its rows, ``.config`` task and measures. `name` is a builder's, such as
    ``"paranlu"``; `config` None is its default one. `data_dir` is a folder with the upstream files, used instead of the
    network under the same checksums; `cache_dir` replaces the datasets cache (``HF_DATASETS_CACHE``). A set in the
    cache is not built again. A build that is killed leaves nothing that could be served.

    InputError if name or config is unknown, the files cannot be fetched or are not the pinned ones, their content is
    not as declared by the builder, or the cache cannot be written.

    >>> rows = prepare("paranlu", "delta_snli").as_dataset(split="test")  # doctest: +SKIP
    """
    cls, wanted = builder_class(name), config_named(name, config)
    root = None if cache_dir is None else str(Path(cache_dir).expanduser().absolute())
    with writing("build", "cache_dir", root, remedy="Name another in `cache_dir` or HF_DATASETS_CACHE."):
        builder = cls(cache_dir=root, config_name=wanted.name, data_dir=data_dir)
    builder.download_and_prepare()
    return builder


def prepare_spec(
    spec: str, *, function: str, parameter: str = "dataset", data_dir: str | Path | None = None
) -> BucketSetBuilder:
    """Prepare ``builder:config`` as `prepare` does; a wrong name is an error about the caller's `parameter`."""
    name, _, config = spec.partition(":")
    if name not in BUILDERS:
        raise input_error(function, parameter, f"be builder:config, the builder one of {', '.join(BUILDERS)}", got=spec)
    configs = [c.name for c in builder_class(name).BUILDER_CONFIGS]
    if config not in configs:
        must = f"name a config of {name!r} after a colon: {', '.join(configs)}"
        raise input_error(function, parameter, must, got=config)
    return prepare(name, config, data_dir=data_dir)


def write_folder(
    name: str,
    folder: str | Path,
    *,
    configs: Iterable[str] | None = None,
    data_dir: str | Path | None = None,
    cache_dir: str | Path | None = None,
) -> Path:
    """Write a set in its public form, Parquet files and a card for ``load_dataset``; return the folder.

    ``load_dataset(folder, config)`` then gives the same rows and features as ``load_dataset(name, config)``. The folder
    must be new, empty, or from an earlier call for this set; then each of the `configs` (all if None) is replaced, and
    others are kept. A new folder is written atomically. `data_dir` and `cache_dir` are as for `prepare`.

    InputError if the folder holds something else or cannot be written, or for the reasons of `prepare`.
    """
    cls = builder_class(name)
    names = [c.name for c in cls.BUILDER_CONFIGS] if configs is None else list(configs)
    names = [config_named(name, config).name for config in dict.fromkeys(names)]
    target = Path(folder).expanduser().absolute()
    _check_target(target, {c.name for c in cls.BUILDER_CONFIGS})
    builders = [prepare(name, config, data_dir=data_dir, cache_dir=cache_dir) for config in names]
    with writing("build", "folder", target):
        if not (target / "README.md").exists():
            with staged(target) as new:
                infos = {builder.config.name: _write_config(builder, new) for builder in builders}
                (new / "README.md").write_text(_card(target, cls, infos), encoding="utf-8")
        else:
            with locked(target, "build", "folder"):
                infos = {builder.config.name: _write_config(builder, target) for builder in builders}
                write_text(target / "README.md", _card(target, cls, infos))
    return target


def _write_config(builder: BucketSetBuilder, folder: Path) -> DatasetInfo:
    """Write the Parquet files of a config over existing ones; return its info for the card."""
    info = builder.info.copy()
    info.download_size = 0
    with staged(folder / _parquet_path(builder.config.name).parent) as new:
        for split, rows in builder.as_dataset().items():
            path = new / _parquet_path(builder.config.name, split).name
            rows.to_parquet(path, write_page_checksum=True)
            info.download_size += path.stat().st_size
    return info


def _parquet_path(config: str, split: str = "*") -> Path:
    return Path("data", config, f"{split}-00000-of-00001.parquet")


def _card(target: Path, cls: type[BucketSetBuilder], infos: Mapping[str, DatasetInfo]) -> str:
    """Return the builder's card with `configs` and `dataset_info` for all configs in the folder."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    card = DatasetCard((cls.source_folder() / "README.md").read_text(encoding="utf-8"))
    earlier = DatasetInfosDict.from_directory(str(target)) if (target / "README.md").is_file() else {}
    present = {config: info for config, info in earlier.items() if (target / "data" / config).is_dir()} | dict(infos)
    merged = {config.name: present[config.name] for config in cls.BUILDER_CONFIGS if config.name in present}
    default = cls.DEFAULT_CONFIG_NAME if cls.DEFAULT_CONFIG_NAME in merged else next(iter(merged))
    metadata = MetadataConfigs()
    for config, info in merged.items():
        files = [{"split": split, "path": _parquet_path(config, split).as_posix()} for split in info.splits]
        metadata[config] = {"data_files": files} | ({"default": True} if config == default else {})
    DatasetInfosDict(merged).to_dataset_card_data(card.data)
    metadata.to_dataset_card_data(card.data)
    return str(card)


def _check_target(target: Path, known_configs: set[str]) -> None:
    from datasets.info import DatasetInfosDict
    from huggingface_hub import DatasetCard

    if not target.exists():
        return
    with writing("build", "folder", target), suppress(ValueError):  # of a malformed card
        if target.is_dir() and not any(target.iterdir()):
            return
        card = target / "README.md"
        if card.is_file():
            data = DatasetCard(card.read_text(encoding="utf-8")).data
            infos = DatasetInfosDict.from_dataset_card_data(data)
            if _TAG in (data.get("tags") or []) and known_configs & infos.keys():
                return
    must = "be new, empty, or a folder that this command wrote for the same set"
    raise input_error("build", "folder", must, got=str(target), remedy="Name another folder; nothing was written.")
