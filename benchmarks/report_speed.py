"""The report of a large predictions file: seconds, memory, size of the page; each beside what the issue allows.

``python benchmarks/report_speed.py [--rows 100000] [--all]`` writes a file of that many rows with texts (buckets of
ten, two labels, strata), runs the command in a process of its own, and prints what that process took. Loading the
libraries is in the time; the ratio is to the work of scoring the same file. The page is then opened in Chromium, where
there is one (``--all``: with every bucket on it): seconds of work until it stands with all of its scripts run, and of a
search (its filter, its sorting and the list drawn anew), the middle one of seven. Allowed: 5 MB, 1 s, .1 s.

``python benchmarks/report_speed.py --models 30 --rows 3000`` writes as many files of that many rows, and ``report
--site`` of them: an index with every pair compared, and a page each. Allowed: a minute.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WORDS = np.array(["the", "a", "cold", "warm", "river", "woman", "child", "walks", "reads", "under", "bright", "late"])


def write_rows(path: Path, n_rows: int, model: int = 0) -> None:
    """Write buckets of ten rows, the first of each its original, as one of several models answers them."""
    rng = np.random.default_rng(0)
    bucket = np.arange(n_rows) // 10
    theta = rng.beta(1.2, 0.9, bucket[-1] + 1)[bucket]
    label = rng.integers(0, 2, bucket[-1] + 1)[bucket]
    right = np.random.default_rng([1, model]).random(n_rows) < theta ** (1.0 + model / 20.0)
    prediction = np.where(right, label, 1 - label)
    sure = 0.5 + rng.random(n_rows) / 2
    probabilities = np.where(prediction == 1, sure, 1 - sure)
    texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(n_rows)]
    columns = {
        "example_id": [f"row-{i}" for i in range(n_rows)],
        "bucket_id": [f"bucket-{b}" for b in bucket],
        "role": np.where(np.arange(n_rows) % 10 == 0, "original", "paraphrase"),
        "label": label,
        "prediction": prediction,
        "probabilities": pa.array(np.stack([1 - probabilities, probabilities], axis=1).tolist()),
        "text": texts,
        "source": np.array(["news", "fiction", "web", "speech"])[bucket % 4],
    }
    pq.write_table(pa.table(columns), path)


def measured(arguments: list[str]) -> tuple[float, float, float]:
    """Return seconds, seconds of work and the largest resident memory in MB of a command in its own process."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "paraconsist", *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed")
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


SEARCH = """(text) => {
  browser.change({ text });
  document.getElementById("list").getBoundingClientRect();
}"""


def in_browser(page: Path) -> tuple[float, float, float, str] | None:
    """Return seconds of the page's main thread: to load, of the first search, of the middle later one; what it found.

    It is processor time: what else the machine does is not in it.
    """
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1440, "height": 900})
        session = opened.context.new_cdp_session(opened)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent() -> float:
            return {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

        def seconds(call: Callable[[], object]) -> float:
            before = spent()
            call()
            return spent() - before

        load = seconds(lambda: opened.goto(page.as_uri()))
        load += seconds(lambda: opened.wait_for_timeout(1000))  # what it does when it stands; nobody searches sooner
        texts = ("river woman", "a", "cold", "late river", "row-77", "zzz", "the", "un")
        first, *later = (seconds(lambda text=text: opened.evaluate(SEARCH, text)) for text in texts)
        words = opened.locator("#found").text_content()
        browser.close()
    return load, first, median(later), words or ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--all", action="store_true", help="put every bucket on the page")
    parser.add_argument("--models", type=int, default=1, help="above 1: the site of so many models in place of a page")
    options = parser.parse_args()
    if options.models > 1:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            paths = [folder / f"model-{i:02d}.parquet" for i in range(options.models)]
            for i, path in enumerate(paths):
                write_rows(path, options.rows, i)
            wall, work, memory = measured(["report", *map(str, paths), "--site", str(folder / "site")])
            size = sum(file.stat().st_size for file in (folder / "site").rglob("*.html")) / 1e6
        print(f"{options.models} models, {options.rows:,} rows each: a site of {size:.1f} MB")
        print(f"report --site  {wall:6.1f} s ({work:.1f} s of work)  {memory:6.0f} MB")
        return
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder) / "predictions.parquet", Path(folder) / "report.html"
        write_rows(path, options.rows)
        strata, more = ["--stratum", "source"], ["--browser-buckets", str(options.rows)] if options.all else []
        scored, score_work, score_memory = measured(["score", str(path), *strata])
        reported, report_work, report_memory = measured(["report", str(path), *strata, "--output", str(page), *more])
        size, seconds = page.stat().st_size / 1e6, in_browser(page)
    print(f"{options.rows:,} rows, {resource.getpagesize()} byte pages, Python {sys.version.split()[0]}")
    print(f"score   {scored:6.1f} s ({score_work:.1f} s of work)  {score_memory:6.0f} MB")
    print(f"report  {reported:6.1f} s ({report_work:.1f} s of work)  {report_memory:6.0f} MB, a page of {size:.1f} MB")
    print(f"the report takes {report_work / score_work:.1f} times the work of scoring")
    if seconds is not None:
        load, first, search, words = seconds
        print(
            f"in Chromium: it stands after {load:.2f} s; first search {first:.3f} s, later ones {search:.3f} s: {words}"
        )


if __name__ == "__main__":
    main()
