"""Build the first leaderboard from the pinned files that ``first.yaml`` names.

    python examples/leaderboard/build.py --data DATA --output site

Each file is checked against its sha256 and written, a model and a set at a time, as a predictions file in the long
format; the rest is `paraconsist.leaderboard`, as it would be called on files of your own. DATA is the folder in which
the files lie; none of them is in the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import yaml

import paraconsist as pc
from paraconsist.data.predictions import write_predictions

#: One model on one set: its name, the set's, the rows, and the measure where their roles do not say it.
Answers = tuple[str, str, pd.DataFrame, str | None]


def llmbar(files: dict[str, Path]) -> Iterator[Answers]:
    """Judges: every pair of outputs was shown in both orders, and ``winner`` is who won, as first numbered."""
    (file,) = files.values()
    rows = pd.read_parquet(file)
    rows["set"] = rows["subset"].str.partition("/")[0]
    rows["bucket_id"] = rows["subset"] + "." + rows["item"].astype(str)
    for (model, prompting, name), one in rows.groupby(["model", "prompting", "set"]):
        sides = {"original": "winner_given", "swap": "winner_swapped"}
        long = [one.assign(role=role, prediction=one[column].astype("Int64")) for role, column in sides.items()]
        both = pd.concat(long).rename(columns={"gold": "label"})
        yield (
            f"{model} {prompting}",
            f"llmbar:{name}",
            both[["bucket_id", "role", "label", "prediction", "subset"]],
            None,
        )


def dynamath(files: dict[str, Path]) -> Iterator[Answers]:
    """Ten variants of every question, of which only right (1) and wrong (0) are known."""
    (file,) = files.values()
    rows = pd.read_parquet(file).rename(columns={"correct": "prediction", "question": "bucket_id"})
    rows["example_id"] = rows["bucket_id"].astype(str) + "." + rows["variant"].astype(str)
    for model, one in rows.assign(label=1, role="paraphrase", prediction=rows["prediction"].astype(int)).groupby(
        "model"
    ):
        yield str(model), "dynamath", one.drop(columns="model"), None


def parte(files: dict[str, Path]) -> Iterator[Answers]:
    """Each row is an original (1: entailed) and one of its paraphrases; those of one RTE pair are a group."""
    (file,) = files.values()
    rows = pd.read_csv(file)
    rows["label"] = (rows["gold_label"] == "entailed").astype(int)
    rows["group_id"] = rows["paraphrased_pair_id"].str.rpartition("_")[0]
    for column in (name for name in rows if name.endswith("_original")):
        model = column.removesuffix("_original")
        sides = {"original": column, "paraphrase": f"{model}_paraphrase"}
        long = [rows.assign(role=role, prediction=rows[name]) for role, name in sides.items()]
        both = pd.concat(long).rename(columns={"id": "bucket_id"})
        yield (
            f"parte/{model}",
            "parte:rte",
            both[["bucket_id", "group_id", "role", "label", "prediction"]],
            "prediction_change",
        )


def paranlu(files: dict[str, Path]) -> Iterator[Answers]:
    """Originals with people's paraphrases; problems of one context are a group."""
    names = {"anli": "alpha_nli", "atomic": "delta_atomic", "snli": "delta_snli", "social": "delta_social"}
    for path, file in files.items():
        if "/predictions/" not in path:
            continue
        short, model, _ = file.stem.split("__")
        items = pd.read_parquet(files[f"paranlu/items/{short}_human.parquet"])
        rows = pd.read_parquet(file).rename(columns={"gold": "label", "pred": "prediction"})
        rows["group_id"] = rows["bucket_id"].map(
            items.drop_duplicates("bucket_id").set_index("bucket_id")["context_id"]
        )
        rows["role"] = rows["is_original"].map({True: "original", False: "paraphrase"})
        rows["example_id"] = rows["bucket_id"] + "." + rows["paraphrase_id"]
        columns = ["bucket_id", "group_id", "example_id", "role", "label", "prediction"]
        yield f"paranlu/{model}", f"paranlu:{names[short]}", rows[columns], None


def checked(data: Path, pinned: dict[str, str]) -> dict[str, Path]:
    """Return where the files lie, or end with one sentence: which is missing, or is another than the pinned one."""
    files = {path: data / path for path in pinned}
    missing = [path for path, file in files.items() if not file.is_file()]
    if missing:
        lacking = f"{data} lacks {len(missing)} of {len(files)} files, the first of them {missing[0]}"
        sys.exit(f"{lacking}: give --data the folder that has them.")
    for path, file in files.items():
        if hashlib.sha256(file.read_bytes()).hexdigest() != pinned[path]:
            sys.exit(f"{file} is not the file that first.yaml names: its sha256 is another. Copy it again.")
    return files


def main() -> None:
    """Check the files, write the predictions, and build the site."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=here.parents[2] / "shared" / "data", help="where the files lie")
    parser.add_argument("--output", type=Path, default=Path("site"), help="the site's folder")
    parser.add_argument("--space", action="store_true", help="the site is for a static Space")
    parser.add_argument("more", nargs="*", help="runs, files and logs of your own, to stand among them")
    options = parser.parse_args()
    pinned = yaml.safe_load((here / "first.yaml").read_text(encoding="utf-8"))
    title = pinned.pop("title")
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, of_study in pinned.items():
            for model, set_name, rows, measure in globals()[name](checked(options.data, of_study)):
                metadata = {"set": set_name, "model": {"model": model}, **({"measures": [measure]} if measure else {})}
                files.append(Path(folder) / f"{len(files)}.parquet")
                table = rows.assign(bucket_id=rows["bucket_id"].astype(str))
                write_predictions(files[-1], pa.Table.from_pandas(table, preserve_index=False), metadata)
        written = pc.leaderboard(*files, *options.more, output=options.output, title=title, space=options.space)
    print(f"{written.index}: {written.n_models} models, {written.n_bytes / 1e6:.1f} MB in all.")


if __name__ == "__main__":
    main()
