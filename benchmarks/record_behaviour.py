"""Keep what the command line answers on fixed data, and compare two such recordings: a net under refactorings.

    python benchmarks/record_behaviour.py record before.json [--executable .venv/bin/paraconsist] [--quick] [--jobs 2]
    python benchmarks/record_behaviour.py diff before.json after.json [--tolerance 1e-12] [--ignore REGEX]

Only the command is run and nothing of the package is imported, so the same file serves before and after modules move.
Each case is one process: on tables written here, on the logs, counts and stored predictions that lie somewhere below
tests/, on the sample set and, without --quick, on the data folder (PARACONSIST_TEST_DATA, else ../shared/data). Kept
are the exit code, both streams (as JSON where it is JSON) and the files that were written; of a report its tables, its
other text and the data that it embeds, of which LEFT_OUT and VOLATILE say what changes from run to run.
"""

from __future__ import annotations

import argparse
import hashlib
import html
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
#: Keys of JSON that hold versions, dates, durations or sizes of files.
LEFT_OUT = {"versions", "paraconsist_version", "git_hash", "date", "seconds", "total_evaluation_time_seconds"}
#: The same within text, and what stands for it; the package's version and the temporary folder come on top.
VOLATILE = ((r"\d[\d.]* MB\b", "<size> MB"), (r"\d{4}-\d\d-\d\dT[\d.:-]*\d", "<date>"), (r".*font cache.*", ""))
ABSENT, METADATA_KEY, NAMES = "(absent)", b"paraconsist", ["entailment", "neutral", "contradiction"]
ROLES = {
    "buckets": ("original", *["paraphrase"] * 7),
    "swaps": ("original", "swap"),
    "pairs": ("original", "paraphrase"),
    "negations": ("original", "negation"),
    "triples": ("antecedent_1", "antecedent_2", "consequent"),
    "merged": ("part_1", "part_2", "merged"),
}
Rows = list[dict[str, Any]]
Cases = list[list[str]]

#: A line is a case, one with {a|b} or {files*} several; * stands for files, OUT for a folder whose files are kept.
FIRST = """
list
--help
build sample --folder sets/sample
score own/run-b --output gated.json
"""
QUICK = r"""
score own/*.jsonl --json
score own/*.csv P012 --stratum theme --stratum level --json
score own/buckets.parquet own/pairs.csv --seed 3 --n-resamples 500 --confidence-level 0.9 --confidence confidence --json
score own/lost/*.* P012 --unparsed {wrong|own_class|drop_bucket} --json
score own/lost/buckets.csv MEASURES --unparsed {wrong|own_class|drop_bucket} --stratum theme --json
score own/alone/*.csv --json
score own/forms/bare.jsonl own/forms/named.csv --json
score own/forms/flag.parquet --original first --bucket "example_id ~ '^(\w+\.\d+)'" --json
score own/forms/wide.csv --original-prediction before MEASURES --label gold --label-names NAMES --stratum level --json
score own/forms/wide-lost.csv --original-prediction before --unparsed {own_class|drop_bucket} --json
score own/buckets.parquet --test-predictions own/forms/test.parquet --training-file own/forms/train.csv --json
score own/lost/buckets.csv --test-predictions own/forms/test-lost.csv P012 --renormalize --json
score own/buckets.parquet --config own/forms/options.yaml --n-resamples 200 --json
score own/*.parquet --figures
score own/lost/*.* --markdown
score own/run-a --output OUT/results.json --json
score own/run-a --unparsed drop_bucket --figures
score own/bad/{mixed|role|two|sum|cut}.parquet
compare own/buckets.parquet own/b/buckets.parquet own/c/buckets.parquet --json
compare own/buckets.csv own/*/buckets.parquet MEASURES --against-first --correction bonferroni --estimator plugin
compare own/{swaps|negations|triples|merged}.jsonl own/b/{1}.parquet --json
compare own/b/lost.parquet own/lost/buckets.csv own/c/lost.parquet MEASURES --unparsed {own_class|drop_bucket} --json
compare own/buckets.csv own/c/buckets.parquet --groups-from own/forms/contexts.csv --group context --name x --name y
compare own/run-a own/run-b --json
compare own/buckets.csv own/buckets.csv
plan own/buckets.csv --half-width 0.02 --difference 0.03 --against own/b/buckets.parquet --json
plan own/lost/buckets.csv --half-width 0.05 --measure inconsistency
plan own/run-a --set own:buckets --difference 0.1 --measure accuracy --json
gate "{pc.low >= 0.5 and accuracy.high < 99%|symmetric.high < 1% and unparsed_rate <= 0.5}" gated.json
gate "{pc >= 0.9|nothing > 0}" own/run-a --set own:buckets
artifacts --partial own/b/buckets.parquet --full own/buckets.parquet --full own/c/buckets.parquet --json
artifacts --partial own/run-b --full own/run-a --set own:buckets
report own/buckets.parquet own/b/buckets.parquet own/c/buckets.parquet --output OUT/page.html
report own/lost/buckets.csv --unparsed own_class --output OUT/page.html
report own/run-a own/run-b --output OUT/page.html
report own/*.jsonl --browser-buckets 12 --stratum level --output OUT/page.html
report own/forms/wide-lost.csv --original-prediction before MEASURES --output OUT/page.html --plots OUT
ie-test --from ie_runs/snli.csv --from ie_runs/snli_minilm.csv --json
score logs/**/*yes_no_2*.jsonl --bucket question_id --original 'doc.kind == "Original"' --stratum doc.indoors --json
score logs/**/*yes_no_2*.jsonl logs/**/samples_which*.jsonl --bucket "id ~ '^(\d+)-'" --figures
score logs/**/samples_which*.jsonl --bucket {meta.fact} --metric acc_norm --json
score logs/**/*generated*.jsonl --bucket question_id --filter anywhere --unparsed {wrong|drop_bucket} --json
score logs/**/*generated*.jsonl --bucket question_id
score logs/**/*yes-no*.eval --bucket question_id --json
score logs/**/*_twice*.eval --bucket question_id {--seed 1|--epoch 1 --prediction completion} --json
plan logs/**/*yes_no_2*.jsonl --bucket question_id --half-width 0.1 --json
report logs/**/*which-place*.eval --bucket metadata.fact --output OUT/page.html
{score --renormalize|gate "pc.low >= 75% and accuracy > 0.5"} runs/demo
score runs/demo --unparsed own_class --json
report runs/demo --browser-buckets 60 --output OUT/page.html
"""
FULL = r"""
score DATA/{anli|snli|atomic|social}__*__human.parquet COLUMNS --json
score DATA/*__auto.parquet COLUMNS --json
score DATA/{anli|snli|atomic|social}__*__test.parquet --label gold --prediction pred --bucket example_id --json
score DATA/{SETS}__{roberta-large|bow}__human.parquet COLUMNS --test-predictions DATA/{1}__{2}__test.parquet --json
score DATA/{SETS}__bow-partial__human.parquet COMPARED --probabilities p0,p1 \
--test-predictions DATA/{1}__bow-partial__test.parquet --renormalize --unparsed own_class --json
compare DATA/{SETS}__roberta-large__human.parquet DATA/{1}__bow__human.parquet COMPARED --json \
--groups-from data/paranlu/items/{1}_human.parquet --group context_id
compare DATA/{snli__roberta|atomic__miniberta|social__b}*__human.parquet COMPARED --against-first --json
plan DATA/{snli|social}__bow__human.parquet --against DATA/{1}__bilstm__human.parquet COMPARED --half-width 0.02 --json
artifacts --partial DATA/{SETS}__bow-partial__human.parquet --full DATA/{1}__roberta-large__human.parquet COLUMNS \
--json --partial-test DATA/{1}__bow-partial__test.parquet --full-test DATA/{1}__roberta-large__test.parquet
report DATA/snli__roberta-base*__human.parquet COLUMNS --browser-buckets 60 --output OUT/page.html
score data/parte/predictions_all.csv PAIRS --prediction {bert|roberta|cbow|bilstm|gpt}_paraphrase \
--original-prediction {1}_original --measure semantic_inconsistency --measure prediction_change --json
{score|report --output OUT/page.html} data/parte/predictions_bert_gpt3.csv PAIRS --prediction gpt3_paraphrase \
--original-prediction gpt3_original
ie-test --from data/ietest/matched_runs.csv --rhos 0,0.5,1 --ties lower --json
ie-test --from data/ietest/vectors --method {replay|mcnemar} --json
score {runs/*} --json
compare runs/bow-{atomic|snli|social}-* --json
compare runs/bow-atomic-0 runs/minilm-atomic runs/sweep-*-0.05-0 --against-first --json
report runs/{becel|parte|minilm-snli} --browser-buckets 60 --n-resamples 500 --output OUT/page.html
plan runs/{minilm-social|bow-snli-1} --difference 0.03 --json
"""
WORDS = {
    "MEASURES": "--measure paraphrastic_consistency --measure semantic_inconsistency --measure prediction_change",
    "COLUMNS": "COMPARED --confidence conf_gold",  # each may hold those below it
    "COMPARED": "--label gold --prediction pred --original is_original",
    "PAIRS": "--label gold_label --label-names not_entailed,entailed",
    "P012": "--probabilities p0,p1,p2",
    "DATA": "data/paranlu/predictions",
    "NAMES": ",".join(NAMES),
    "SETS": "anli|snli|atomic|social",
}


def expand(lines: str, work: Path) -> Cases:
    """Return the cases that lines stand for; {1} is what stands in the place of a line's first {a|b}."""

    def files(pattern: str) -> list[str]:
        return sorted(str(path.relative_to(work)) for path in work.glob(pattern)) if "*" in pattern else []

    cases, group = [], re.compile(r"\{([^{}]*[|*][^{}]*)\}")
    for line in filter(None, lines.replace("\\\n", "").splitlines()):
        for word, meaning in WORDS.items():
            line = line.replace(word, meaning)
        for chosen in product(*(files(part) or part.split("|") for part in group.findall(line))):
            one = line
            for number, choice in enumerate(chosen, 1):
                one = group.sub(choice, one, count=1).replace(f"{{{number}}}", choice)
            cases.append([part for word in shlex.split(one) for part in files(word) or [word]])
    return cases


def own_rows(kind: str, model: str, *, lost: float = 0.0, n: int = 36) -> Rows:
    """Return lopsided buckets with the roles of one measure; gold depends on the kind, answers on the model."""
    places, answers, rows = random.Random(kind), random.Random(f"{kind} {model}"), []
    for b in range(n):
        roles = ROLES[kind][: places.randint(2, 8)]
        theme, level, sure = places.choice(["rain", "wind", "sun"]), places.randint(1, 2), answers.random() ** 0.5
        for k, role in enumerate(roles):
            gold = (b + (role in ("negation", "antecedent_2"))) % 3
            allowed = [gold, (gold + 1) % 3][: 1 + (role == "consequent" and b % 2)]
            weights = [answers.random() for _ in range(3)]
            weights[gold] += 1.5 * (answers.random() < sure)
            p = [weight / sum(weights) for weight in weights]
            row: dict[str, Any] = {
                "example_id": f"{kind}.{b}.{k}",
                "input_id": f"{kind}.{b}.{k}",
                "bucket_id": f"{kind}-{b}",
            }
            row |= {"group_id": f"c{b // 2}", "role": role, "label": gold if len(allowed) == 1 else -1}
            row |= {"allowed_labels": allowed, "prediction": None if answers.random() < lost else p.index(max(p))}
            row |= {"probabilities": p, "confidence": p[gold], "p0": p[0], "p1": p[1], "p2": p[2]}
            row |= {"theme": theme, "level": level, "premise": f"In house {b} there is {theme}, they say."}
            rows.append({**row, "hypothesis": f"Wording {k} of number {b} speaks of {theme} too."})
    if model != "a":
        places.shuffle(rows)
    return rows


def write(path: Path, rows: Rows, *, drop: Sequence[str] = (), metadata: Mapping[str, Any] | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows).drop_columns(list(drop))
    if path.suffix == ".parquet":
        packed = None if metadata is None else {METADATA_KEY: json.dumps(metadata).encode()}
        pq.write_table(table.replace_schema_metadata(packed), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
    else:
        pa.csv.write_csv(table.select([c.name for c in table.schema if not pa.types.is_list(c.type)]), path)


def write_own(own: Path) -> None:
    """Write the forms that the commands read, what they must refuse, and two run folders."""
    for i, kind in enumerate(ROLES):
        for ending in ("csv", "jsonl", "parquet"):
            write(own / f"{kind}.{ending}", own_rows(kind, "a"))
        for model in ("b", "c"):
            write(own / model / f"{kind}.parquet", own_rows(kind, model))
        write(own / "lost" / f"{kind}.{('csv', 'jsonl', 'parquet')[i % 3]}", own_rows(kind, "a", lost=0.1))
        write(own / "alone" / f"{kind}.csv", own_rows(kind, "a"), drop=["group_id", "confidence"])
    rows, forms, both = own_rows("buckets", "a"), own / "forms", ("label", "prediction")
    for model in ("b", "c"):
        write(own / model / "lost.parquet", own_rows("buckets", model, lost=0.1))
    write(forms / "named.csv", [row | {name: NAMES[row[name]] for name in both} for row in rows])
    write(forms / "bare.jsonl", [{name: row[name] for name in ("bucket_id", *both)} for row in rows])
    write(forms / "flag.parquet", [row | {"first": row["role"] == "original"} for row in rows], drop=["role"])
    write(forms / "contexts.csv", [{"bucket_id": f"buckets-{b}", "context": f"x{b // 3}"} for b in range(36)])
    write(forms / "train.csv", rows[:20], drop=["role", "bucket_id"])
    write(forms / "test.parquet", own_rows("swaps", "t", n=90), drop=["bucket_id", "role"])
    write(forms / "test-lost.csv", own_rows("swaps", "t", lost=0.1, n=90), drop=["bucket_id", "role"])
    for name, lost in (("wide", 0.0), ("wide-lost", 0.15)):
        pairs = zip(*[iter(own_rows("pairs", "a", lost=lost))] * 2, strict=True)
        write(forms / f"{name}.csv", [b | {"before": a["prediction"], "gold": NAMES[b["label"]]} for a, b in pairs])
    (forms / "options.yaml").write_text("n-resamples: 300\nconfidence_level: 0.8\nstratum: [level]\n")
    changes = {"mixed": {"label": 1 - rows[5]["label"] // 2}, "role": {"role": "twin"}, "two": {"role": "original"}}
    for name, change in {**changes, "sum": {"probabilities": [0.5, 0.4, 0.0]}}.items():
        write(own / "bad" / f"{name}.parquet", [*rows[:5], rows[5] | change, *rows[6:]])
    (own / "bad" / "cut.parquet").write_bytes((own / "buckets.parquet").read_bytes()[:-9])
    columns = ["confidence", "p0", "p1", "p2"]
    for model in ("a", "b"):
        sets = {kind: own_rows(kind, model, lost=0.05 * (kind == "swaps")) for kind in ("buckets", "swaps", "triples")}
        sets["buckets_test"] = [row | {"role": "original"} for row in own_rows("swaps", model, n=90)]
        for name, made in sets.items():
            folder, file, drop = own / f"run-{model}", f"own-{name}.parquet", [*columns, "premise", "hypothesis"]
            weights = {"model": f"toy-{model}", "weights_hash": model}
            metadata = {"set": f"own:{name}", "task": "nli", "label_names": NAMES, "model": weights}
            write(folder / "texts" / file, made, drop=columns)
            write(folder / "predictions" / file, made, drop=drop, metadata=metadata)
            if name == "buckets":
                again = [r | {"repeat": k, "kind": "decoding"} for k in (1, 2) for r in own_rows(name, f"{model}{k}")]
                write(folder / "noise" / file, again, drop=drop, metadata=metadata)


def builds(results: Path) -> Cases:
    """Return the commands that build the sets of stored predictions, the large additive ones by themselves."""
    configs: dict[tuple[str, str], set[str]] = {}
    for path in sorted(results.glob("*/*.parquet")):
        builder, _, config = json.loads(pq.read_schema(path).metadata[METADATA_KEY])["run"]["set"].partition(":")
        folder = f"sets/{builder}-additive" if "additive" in config else f"sets/{builder}"
        configs.setdefault((builder, folder), set()).add(f"--config-name={config}")
    del configs["sample", "sets/sample"]
    return [["build", b, *sorted(names), "--data-dir", "data", "--folder", f] for (b, f), names in configs.items()]


def join_stored(results: Path, work: Path) -> None:
    """Join stored predictions with the rows of the sets that were built, as run folders."""
    for path in sorted(results.glob("*/*.parquet")):
        stored = pq.read_table(path)
        metadata = json.loads(stored.schema.metadata[METADATA_KEY])
        config, run = metadata["run"]["set"].partition(":")[2], json.dumps(metadata["run"])
        for built in (work / "sets").rglob(f"{config}/{metadata.get('split') or 'test'}-*.parquet"):
            rows = pq.read_table(built).slice(0, stored.num_rows)
            ids = "".join(f"{name}\n" for name in rows["example_id"].to_pylist())
            if hashlib.sha256(ids.encode()).hexdigest() != metadata["example_ids_sha256"]:
                raise SystemExit(f"{path} was made for other rows than those of {built}")
            rows = rows.append_column("prediction", stored["prediction"].cast(pa.int64()))
            if stored.num_columns > 1:  # the last probability is what the others leave
                known = zip(*(column.to_pylist() for column in stored.columns[1:]), strict=True)
                whole = [[*values, min(1.0, max(0.0, 1.0 - sum(values)))] for values in known]
                rows = rows.append_column("probabilities", pa.array(whole, pa.list_(pa.float64())))
            target = work / "runs" / path.parent.name / "predictions" / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows.replace_schema_metadata({METADATA_KEY: run.encode()}), target)


def page_of(text: str) -> dict[str, Any]:
    """Return the tables of a page by caption, the lines of its other visible text, and the JSON that it embeds."""

    def plain(part: str) -> str:
        return " ".join(html.unescape(re.sub(r"<[^>]*>", "", part)).split())

    data = [json.loads(part) for part in re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", text, re.S)]
    text = re.sub(r"<(script|style|svg|title)\b.*?</\1>", "", text, flags=re.S)
    tables: dict[str, Any] = {}
    for table in re.findall(r"<table\b.*?</table>", text, re.S):
        caption, *rows = re.split(r"<tr\b[^>]*>", table)
        name = plain(caption)
        name += f" ({len(tables)})" * (name in tables)
        tables[name] = [[plain(cell) for cell in re.split(r"<t[hd]\b[^>]*>", row)[1:]] for row in rows]
    text = re.sub(r"<table\b.*?</table>", "", text, flags=re.S)
    lines = [plain(part) for part in re.split(r"</?(?:h\d|p|d[tdl]|div|section|summary|figcaption|nav)\b[^>]*>", text)]
    return {"data": data, "tables": tables, "text": [line for line in lines if line]}


def answer(case: list[str], executable: str, work: Path, names: Mapping[str, str]) -> dict[str, Any]:
    """Run a case in the folder; return its exit code, what it printed on both streams and the files that it wrote."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_") and k not in ("PYTHONPATH", "RANK")}
    kept |= dict.fromkeys(("HF_HOME", "PARACONSIST_CACHE"), str(work / "cache"))
    kept |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "NO_COLOR": "1", "TERM": "dumb"}
    kept |= {"COLUMNS": "200", "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    out = f"out/{hashlib.sha256(shlex.join(case).encode()).hexdigest()[:12]}"
    (work / out).mkdir(parents=True)
    command = [executable, *(re.sub(r"^OUT\b", out, word) for word in case)]
    done = subprocess.run(command, cwd=work, env=kept, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    files = {}
    for file in sorted((work / out).rglob("*.*")):
        text = "a picture" if file.suffix in (".png", ".svg") else file.read_text(encoding="utf-8")
        files[str(file.relative_to(work / out))] = page_of(text) if file.suffix == ".html" else _parsed(text)
    streams = {"out": _parsed(done.stdout), "err": _lines(done.stderr)}
    return {"exit": done.returncode, **_steady({**streams, "files": files}, {out: "OUT", **names})}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return _lines(text)


def _lines(text: str) -> list[str]:
    """Return lines without the frames of tables and without white space that only aligns."""
    lines = (re.sub(r"[\s\u2500-\u257f]+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def _steady(value: Any, names: Mapping[str, str]) -> Any:
    """Return the value without what changes from run to run."""
    if isinstance(value, dict):
        return {_steady(key, names): _steady(one, names) for key, one in value.items() if key not in LEFT_OUT}
    if isinstance(value, list):
        return [_steady(one, names) for one in value]
    if isinstance(value, str):
        for text, name in names.items():
            value = value.replace(text, name)
        for pattern, name in VOLATILE:
            value = re.sub(pattern, name, value)
    return value


def record(options: argparse.Namespace) -> None:
    beside = Path(sys.executable).with_name("paraconsist")
    executable = shutil.which(options.executable or (beside if beside.is_file() else "paraconsist"))
    if executable is None:
        raise SystemExit("no such command here: name an installed paraconsist with --executable")
    version = subprocess.run(
        [executable, "--version"], capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()
    data = Path(os.environ.get("PARACONSIST_TEST_DATA") or ROOT.parent / "shared" / "data").resolve()
    started, full = time.monotonic(), (data / "upstream").is_dir() and not options.quick
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="behaviour-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        work = Path(folder).resolve()
        names = {str(work): "<work>", str(data): "<data>", version: "<version>"}
        names[f"v:{version.split()[-1]}"] = "v:<version>"
        one = partial(answer, executable=str(Path(executable).absolute()), work=work, names=names)

        def run(cases: Cases) -> None:
            answers.update(zip(map(shlex.join, cases), pool.map(one, cases), strict=True))

        for name, pattern in (
            ("logs", "lm_eval/*/samples_*"),
            ("results", "demo/sample-*.parquet"),
            ("ie_runs", "snli_minilm.csv"),
        ):
            source = next((ROOT / "tests").rglob(pattern))
            shutil.copytree(source.parents[pattern.count("/")], work / name)
        write_own(work / "own")
        run(expand(FIRST, work))
        if full:
            (work / "data").symlink_to(data)
            run(builds(work / "results"))
        join_stored(work / "results", work)
        run(expand(QUICK + FULL * full, work))
    lines = (f"{json.dumps(case)}: {json.dumps(kept)}" for case, kept in answers.items())
    options.output.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    note = "" if full or options.quick else f"; left out, as it is not there: {data}"
    print(f"{len(answers)} cases in {time.monotonic() - started:.0f} s: {options.output}{note}")


def differences(old: Any, new: Any, tolerance: float, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, the old and the new value of all that differs; lists of texts are aligned first."""
    lists = isinstance(old, list) and isinstance(new, list)
    if lists and all(isinstance(one, str) for one in [*old, *new]):
        for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if what != "equal":
                yield f"{path}[{i}]", old[i:j], new[k:m]
    elif lists:
        for i, (one, other) in enumerate(zip_longest(old, new, fillvalue=ABSENT)):
            yield from differences(one, other, tolerance, f"{path}[{i}]")
    elif isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), tolerance, f"{path}/{key}")
    elif type(old) is not type(new) or old != new:
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (old, new))
        if not (numbers and tolerance and abs(old - new) <= tolerance * max(1.0, abs(old), abs(new))):
            yield path, old, new


def diff(options: argparse.Namespace) -> None:
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (options.old, options.new))
    n, cases = 0, set[str]()
    for case in {**old, **new}:
        for path, *values in differences(old.get(case, ABSENT), new.get(case, ABSENT), options.tolerance):
            if not any(re.search(pattern, path) for pattern in options.ignore):
                shown = [text if len(text) < 500 else f"{text[:500]} ..." for text in map(json.dumps, values)]
                print(f"{case}\n  {path or '(the case)'}\n    - {shown[0]}\n    + {shown[1]}")
                n, cases = n + 1, cases | {case}
    print(f"{n} differences in {len(cases)} of {len({**old, **new})} cases")
    sys.exit(n > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record", help="run the cases and keep their answers")
    recording.add_argument("output", type=Path)
    recording.add_argument("--executable", help="the command; by default that of this Python")
    recording.add_argument("--quick", action="store_true", help="leave the data folder out")
    recording.add_argument("--jobs", type=int, default=2, help="cases at a time")
    recording.set_defaults(do=record)
    comparing = commands.add_parser("diff", help="print what differs; exit code 1 where anything does")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--tolerance", type=float, default=0.0, help="of numbers, relative where they exceed 1")
    comparing.add_argument("--ignore", action="append", default=[], metavar="REGEX", help="leave out such key paths")
    comparing.set_defaults(do=diff)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
