"""The report: what is on the page, what is in the flip browser, which files go together, how errors read."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.commands import command
from helpers.errors import refuses
from helpers.report import ANSWERS, HOSTILE, rows, write_file, write_run

import paraconsist as pc
from paraconsist.cli.app import main
from paraconsist.data.bucket_sets import bucket_set_from_table
from paraconsist.data.options import SourceOptions
from paraconsist.data.predictions import read_predictions, write_predictions
from paraconsist.errors import InputError
from paraconsist.files import to_strict_json
from paraconsist.measures.consistency_difference import consistency_difference
from paraconsist.measures.fooling_rate import fooling_rate
from paraconsist.measures.ie_test import ie_test
from paraconsist.measures.paraphrastic import paraphrastic_consistency
from paraconsist.reporting.page import ReportOptions, load_models, write, write_report
from paraconsist.reporting.page.browser import script_json
from paraconsist.reporting.page.models import Report
from paraconsist.running.run import texts_table
from paraconsist.scoring.options import ScoreOptions

QUICK = ScoreOptions(n_resamples=200)


def report(folder: Path, *paths: Path, names=(), score=QUICK, read=None, draw=False, **options):
    """Write a report and return the page and what was said of it; without its plots, which take longest."""
    page = folder / "page.html"
    entries = load_models(list(paths), score, names, read=read)
    with patch.object(write, "report_plots", write.report_plots if draw else lambda *_: []):
        written = write_report(entries, page, ReportOptions(score=score, **options))
    return page.read_text(encoding="utf-8"), written


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


def text_of(page: str) -> str:
    """Return the page's text as a reader sees it, without tags, scripts and styles."""
    kept = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", kept))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("run") / "toy")


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    return report(tmp_path_factory.mktemp("page"), run, draw=True)[0]


def test_the_page_shows_the_measures_of_the_rows(page):
    paraphrases = [row for row in rows() if row["role"] == "paraphrase"]
    expected = paraphrastic_consistency(
        [row["prediction"] for row in paraphrases],
        [1] * len(paraphrases),
        [row["bucket_id"] for row in paraphrases],
        n_resamples=10,
    )
    assert f"{100 * expected.paraphrastic_consistency_unbiased:.1f} %" in text_of(page).replace(" %", " %")
    for key in ("accuracy", "paraphrastic_consistency", "pvap_unbiased"):
        assert f"{100 * getattr(expected, key):.1f}" in text_of(page)
    assert "pc|est:unbiased" in page
    assert "weights_hash" in page
    assert "2026-01-02T03:04:05Z" in page


def test_flips_against_the_original_are_counted_by_hand(page):
    # of 16 pairs: half 2 lost, lost 4 lost, gained 3 gained
    table = re.search(r"Answers that change.*?</table>", page, re.S)[0]
    first = [re.sub(r"<[^>]+>", " ", cell).split()[0] for cell in re.findall(r"<td.*?</td>", table, re.S)[:5]]
    assert first == ["16", "9", "56.2", "6", "3"]


def test_the_worst_bucket_stands_first_and_texts_are_shared_where_they_can_be(page):
    data = data_of(page)
    assert [bucket["id"] for bucket in data["buckets"]] == ["half", "lost", "calm", "gained", "wrong"]
    half = data["buckets"][0]
    assert half["v"] == [0.6667]
    assert data["head"]["sets"][0]["fields"] == ["premise", "hypothesis", "update"]
    assert half["x"] == {"0": "It is late in house 1. ", "1": "Nobody is awake. "}
    assert half["f"] == [2]
    assert [row[3] for row in half["r"]][:2] == [["A dog sleeps on the mat. "], ["On the mat a dog is asleep. "]]
    assert half["r"][0] == ["original", "half.0", 1, ["A dog sleeps on the mat. "], [[1, 400, 600]]]
    assert data["head"]["sets"][0]["strata"] == [["kind", ["even", "odd"]]]


def test_a_cap_keeps_the_worst_and_says_so(run, tmp_path):
    page, written = report(tmp_path, run, most_buckets=2)
    assert [bucket["id"] for bucket in data_of(page)["buckets"]] == ["half", "lost"]
    assert (written.n_shown, written.n_buckets) == (2, 5)
    assert "holds the 2 most inconsistent of 5 problems" in text_of(page)
    ((n_rows, n_right, *_),) = data_of(page)["head"]["sets"][0]["sums"]  # of all buckets
    assert (n_rows, n_right) == tuple(sum(f(a[1:]) for a in ANSWERS.values()) for f in (len, lambda a: a.count("1")))
    page, written = report(tmp_path, run, most_bytes=1)
    assert written.n_shown == 1
    page, written = report(tmp_path, run, most_bytes=1, most_buckets=5)  # what is asked for is there
    assert written.n_shown == 5


def test_columns_of_many_values_do_not_vanish_and_labels_are_called_by_name(tmp_path):
    answers = {f"b{i}": "101" for i in range(250)}
    table = pa.Table.from_pylist([row | {"label": int(row["bucket_id"][1:]) % 2} for row in rows(answers)])
    buckets = [int(bucket[1:]) for bucket in table["bucket_id"].to_pylist()]
    many = {"thirty": 30, "most": 200, "more": 201, "each": 250}
    for name, n_values in many.items():
        table = table.append_column(name, pa.array([f"v{b % n_values}" for b in buckets]))
    write_predictions(tmp_path / "many.parquet", table, {"set": "toy:set", "label_names": ["weakener", "strengthener"]})
    scores = pc.score(tmp_path / "many.parquet", stratum=["thirty"], n_resamples=200)
    assert "thirty has 30 values, more than the 20 that results are broken down by" in scores.sets["toy:set"].warnings
    (entry,) = load_models([tmp_path / "many.parquet"], QUICK)
    changed = Report([entry], ReportOptions(score=QUICK)).changed
    assert changed["toy:set"][entry.name]["by_stratum"]["label"].keys() == {"weakener", "strengthener"}
    page, _ = report(tmp_path, tmp_path / "many.parquet")
    described = data_of(page)["head"]["sets"][0]
    assert {name: len(values) for name, values in described["strata"]} == {"kind": 2, "thirty": 30, "most": 200}
    assert described["tooMany"] == [["more", 201], ["each", 250]]


@pytest.mark.parametrize("spaces", [True, False])
def test_long_texts_are_compared_whole_and_shown_where_they_differ(tmp_path, spaces):
    """FAULTS N19: texts that differ after 4,000 letters were "the same text in every row"."""
    shots = ("One solved example. " if spaces else "One_solved_example._") * 500
    made = [
        row
        | {"premise": shots, "hypothesis": f"{shots}{row['hypothesis']}", "update": f"{shots}{row['update']} {shots}"}
        for row in rows()
    ]
    path = tmp_path / "long.parquet"
    pq.write_table(pa.Table.from_pylist(made), path)
    half = data_of(report(tmp_path, path)[0])["buckets"][0]
    assert half["f"] == [2]
    assert half["x"] == {"0": f"{shots[:4000]}…", "1": f"{shots[:4000]}…"}
    texts = [row[3][0] for row in half["r"]]
    assert len(set(texts)) == len(texts)
    original, paraphrase = texts[:2]
    assert "A dog sleeps on the mat." in original[:1000]
    assert "On the mat a dog is asleep." in paraphrase
    assert original.startswith("… ")
    assert not spaces or original.split()[1] in shots.split()  # no word is cut in two
    assert all(len(text) <= 4003 for text in texts)


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_the_page_holds_nothing_that_loads_or_runs_but_its_own(page):
    elements = _Elements()
    elements.feed(page)
    for tag, attributes in elements.found:
        assert tag not in {"link", "iframe", "object", "embed", "img", "base"}, tag
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")
    policy = next(a["content"] for t, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    for tag, pattern in (("style", r"<style>(.*?)</style>"), ("script", r"<script>(.*?)</script>")):
        content = re.search(pattern, page, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert len(page) < 1_000_000


def test_hostile_names_and_texts_stay_text(tmp_path):
    run = write_run(tmp_path / "run", hostile=HOSTILE)
    page, _ = report(tmp_path, run, title=f"Title {HOSTILE}", draw=True)
    elements = _Elements()
    elements.feed(page)
    assert "img" not in {tag for tag, _ in elements.found}
    assert [tag for tag, _ in elements.found].count("script") == 2
    assert "49" not in data_of(page)["buckets"][0]["x"]["0"]
    assert data_of(page)["buckets"][0]["x"]["0"] == f"It is late in house 1. {HOSTILE}"
    assert "\u2028" not in re.search(r'id="data">(.*?)</script>', page, re.S)[1]


def test_script_json_is_json_that_ends_nothing():
    value = {"</script>": ["<!--", "\u2028\u2029", "&amp;", "é"]}
    text = script_json(value)
    assert json.loads(text) == value
    assert not set(text) & set("<>&\u2028\u2029")


def test_models_stand_side_by_side_whatever_the_order_of_their_rows(tmp_path):
    other = {bucket: answers[::-1] for bucket, answers in ANSWERS.items()}
    first, second = write_file(tmp_path / "first.parquet"), tmp_path / "second.parquet"
    shuffled = np.random.default_rng(0).permutation(len(rows(other)))
    pq.write_table(pa.Table.from_pylist(rows(other)).take(shuffled), second)
    page, _ = report(tmp_path, first, second)
    head, buckets = data_of(page)["head"], data_of(page)["buckets"]
    assert head["models"] == ["first", "second"]
    assert len(head["sets"]) == 1
    lost = next(bucket for bucket in buckets if bucket["id"] == "lost")
    answers = {row[1]: [answer[0] for answer in row[4]] for row in lost["r"]}
    assert answers == {"lost.0": [1, 0], "lost.1": [0, 0], "lost.2": [0, 0], "lost.3": [0, 0], "lost.4": [0, 1]}

    def columns(answers):
        kept = [row for row in rows(answers) if row["role"] == "paraphrase"]
        return [row["prediction"] for row in kept], [1] * len(kept), [row["bucket_id"] for row in kept]

    ours, gold, ids = columns(ANSWERS)
    expected = consistency_difference(ours, columns(other)[0], gold, ids, estimator="unbiased", n_resamples=10)
    table = re.search(r"Differences between the models.*?</table>", page, re.S)[0]
    assert f"{100 * expected.difference:+.1f}".replace("-", "−") in table


def test_a_model_that_lacks_rows_is_shown_without_them(tmp_path):
    first, second = write_file(tmp_path / "first.parquet"), tmp_path / "second.parquet"
    pq.write_table(pa.Table.from_pylist([r for r in rows() if r["bucket_id"] != "half"]), second)
    page, _ = report(tmp_path, first, second)
    half = next(bucket for bucket in data_of(page)["buckets"] if bucket["id"] == "half")
    assert half["v"] == [0.6667, None]
    assert [row[4][1] for row in half["r"]] == [None] * 5


def test_files_without_example_ids_are_joined_by_bucket_role_and_order(tmp_path):
    table = pa.Table.from_pylist(rows()).drop_columns(["example_id", "input_id"])
    for name in ("a", "b"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    page, _ = report(tmp_path, tmp_path / "a.parquet", tmp_path / "b.parquet")
    for bucket in data_of(page)["buckets"]:
        assert all(row[4][0] == row[4][1] for row in bucket["r"])


def test_texts_come_from_a_file_by_example_id(tmp_path):
    run = write_run(tmp_path / "run", texts=False)
    page, written = report(tmp_path, run)
    assert written.sets_without_texts == ("toy:set",)
    assert data_of(page)["buckets"][0]["r"][0][3] is None
    assert "give --texts FILE" in text_of(page)
    texts = tmp_path / "texts.csv"
    texts.write_text(
        "example_id,wording\n" + "".join(f"{row['example_id']},the words {i}\n" for i, row in enumerate(rows()))
    )
    page, written = report(tmp_path, run, texts=[str(texts)])
    assert written.sets_without_texts == ()
    assert data_of(page)["head"]["sets"][0]["fields"] == ["wording"]
    assert data_of(page)["buckets"][0]["r"][0][3] == ["the words 4"]


def test_a_run_is_scored_from_its_predictions_with_the_options_of_its_results(tmp_path):
    run = write_run(tmp_path / "run")
    saved = json.loads((run / "results.json").read_text())
    saved["toy:set"]["measures"]["paraphrastic_consistency"]["accuracy"] = 0.123
    saved["toy:set"]["options"]["confidence_level"] = 0.8
    (run / "results.json").write_text(json.dumps(saved))
    page = text_of(report(tmp_path, run)[0])
    assert "12.3" not in page
    assert "level:0.8|" in page
    assert "results.json does not fit" not in page
    page = text_of(report(tmp_path, run, score=ScoreOptions(confidence_level=0.5, unparsed="own_class"))[0])
    assert "level:0.8|" not in page  # what was given was ignored
    assert re.search(r"unparsed:own_class\|[^ ]*level:0.5\|", page)
    saved["toy:set"]["measures"]["odd"] = {"odd": 0.5, "warnings": [], "signature": "odd"}
    saved["toy:set"]["options"]["measures"] = ["paraphrastic_consistency", "odd"]
    (run / "results.json").write_text(json.dumps(saved))
    page = text_of(report(tmp_path, run)[0])
    assert "not known here: odd" in page
    assert "level:0.8|" in page  # a measure of a plug-in made all intervals 95 %
    saved["toy:set"]["options"]["renormalize"] = True
    (run / "results.json").write_text(json.dumps(saved))
    assert load_models([run], QUICK)[0].sets["toy:set"].options.renormalize
    saved["toy:set"]["n_rows"] = 7
    (run / "results.json").write_text(json.dumps(saved))
    page = text_of(report(tmp_path, run)[0])
    assert "results.json does not fit" in page
    assert "level:0.95|" in page


def test_variants_are_ranked_with_their_intervals(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["bucket_id,variant,prediction,label"]
    for bucket in range(40):
        for variant, share in {"plain": 0.9, "polite": 0.7, "terse": 0.4}.items():
            lines.append(f"{bucket},{variant},{int(rng.random() < share)},1")
    (tmp_path / "run.csv").write_text("\n".join(lines))
    command.done("report", tmp_path / "run.csv", "--variant", "variant", "--output", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    section = re.search(r'<section id="variants">.*?</section>', page, re.S)[0]
    assert re.search(
        r">plain is [0-9.]+ points better than terse; equal variants would differ by [0-9.]+ \(p 0\.", section
    )
    assert '<a href="#variants">' in page


def test_fooling_rates_and_the_ie_test_of_a_run_folder_are_shown(tmp_path):
    fooled = fooling_rate(
        [0, 1, 2, 1], [0, 0, 2, 2], [0, 0, 2, 2], ["a", "a", "b", "b"], n_resamples=50, interval_method="exact"
    )
    tested = ie_test([1] * 40, [1] * 30 + [0] * 10, [1] * 40)
    several = ie_test([1, 0] * 40, [1, 1] * 40, [1] * 80, runs=[0] * 40 + [1] * 40)
    more = {
        "measures": {"fooling_rate": to_strict_json(fooled.to_dict())},
        "ie synonyms": to_strict_json(tested.to_dict()),
        "ie runs": to_strict_json(several.to_dict()),
    }
    page, _ = report(tmp_path, write_run(tmp_path / "run", more=more), draw=True)
    assert f"{100 * fooled.relaxed:.1f}" in re.search(r'<section id="fooling">.*?</section>', page, re.S)[0]
    section = re.search(r'<section id="ie">.*?</section>', page, re.S)[0]
    assert "invariance is rejected" in section
    assert "plot-ie-1" in section
    lines = [json.loads(unescape(line)) for line in re.findall('data-row="(.*?)"', section)]
    assert [line["p_value"] for line in lines] == [pytest.approx(p, rel=1e-5) for p in several.p_values]


def test_the_folder_of_an_ie_experiment_is_a_report_of_its_own(tmp_path, command):
    """S5: it was refused, "hold logs" being what it should do."""
    runs = Path(__file__).parents[1] / "ie_runs" / "snli.csv"
    assert command("ie-test", "--from", runs, "--rhos=0,1", "--output", tmp_path / "ie", "--no-plots")[0] == 0
    (family,) = json.loads((tmp_path / "ie" / "results.json").read_text())["families"]
    out = command.out("report", tmp_path / "ie")
    page = (tmp_path / "ie" / "report.html").read_text(encoding="utf-8")
    assert "problems on the page" not in out  # the list of which is hidden: the skip link led nowhere
    assert '<a class="skip" href="#ie">' in page
    section = re.search(r'<section id="ie">.*?</section>', page, re.S)[0]
    assert all(f'id="plot-ie-0-{name}"' in section for name in ("smallest-p", "accuracy", "difference"))
    for one in family["by_rho"]:
        assert f"rejected ({one['n_rejected']} of 5)" in section
        assert f"{100 * one['accuracy_difference']:.1f}".replace("-", "−") in section
    figures = dict(re.findall(r'id="plot-ie-0-([a-z-]+)"(.*?)</figure>', section, re.S))
    lines = {
        name: [json.loads(unescape(line)) for line in re.findall('data-row="(.*?)"', text)]
        for name, text in figures.items()
    }
    keys = ("accuracy", "transformed_accuracy")
    for line, one in zip(lines["accuracy"], family["by_rho"], strict=True):
        assert line.pop("family") == family["name"]
        assert line == pytest.approx({key: one[key] for key in ("rho", *keys)}, rel=1e-5)
    for line, one in zip(lines["smallest-p"], family["by_rho"], strict=True):
        assert line["smallest_p"] == pytest.approx(one["smallest_p"], rel=1e-5)
        assert (line["rho"], line["reject"], line["n_runs"]) == (one["rho"], one["reject"], one["n_runs"])
    for line, one in zip(lines["difference"], family["runs"], strict=True):
        assert line["rho"] == one["rho"]
        assert [line["low"], line["high"]] == pytest.approx(one["difference_interval"], rel=1e-5)
        assert line["accuracy_difference"] == pytest.approx(one["accuracy_difference"], rel=1e-5)
    assert family["signature"] in text_of(page)
    assert data_of(page)["buckets"] == []


def test_pair_measures_have_their_tables(tmp_path):
    table = pa.Table.from_pylist(rows({"a": "11", "b": "10", "c": "00"}))
    roles = pa.array(["original" if role == "original" else "negation" for role in table["role"].to_pylist()])
    file = tmp_path / "negated.parquet"
    pq.write_table(table.set_column(table.column_names.index("role"), "role", roles), file)
    page, _ = report(tmp_path, file)
    assert "Inconsistency, in per cent" in page
    assert "A negation does not change 2 answers in 3 (66.7 %" in text_of(page)
    assert "eword" not in re.search(r'<div class="blocks">.*?</article>', page, re.S)[0]
    assert [(bucket["id"], bucket["v"]) for bucket in data_of(page)["buckets"]] == [("a", [1]), ("c", [1]), ("b", [0])]
    assert "Which answers turn into which" in page


def test_unparsed_answers_are_shown_as_such(tmp_path):
    made = rows()
    made[1]["prediction"] = None
    pq.write_table(pa.Table.from_pylist(made), tmp_path / "file.parquet")
    page, _ = report(tmp_path, tmp_path / "file.parquet")
    calm = next(bucket for bucket in data_of(page)["buckets"] if bucket["id"] == "calm")
    assert [row[4][0][0] for row in calm["r"]] == [1, -1, 1, 1]
    assert "unparsed" in text_of(page)


def test_the_run_folder_keeps_each_text_once():
    table = pa.Table.from_pylist(rows()).drop_columns(["prediction", "probabilities", "input_id"])
    twice = pa.concat_tables([table, table.set_column(0, "example_id", pa.array([f"x{i}" for i in range(len(table))]))])
    bucket_set = bucket_set_from_table(twice, name="toy")
    texts = texts_table(bucket_set)
    assert texts.column_names == ["input_id", "premise", "hypothesis", "update"]
    assert texts.num_rows == table.num_rows
    by_id = dict(zip(texts["input_id"].to_pylist(), texts["update"].to_pylist(), strict=True))
    joined = [by_id[input_id] for input_id in bucket_set.table["input_id"].to_pylist()]
    assert joined == bucket_set.table["update"].to_pylist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: [f / "none.parquet"], "name a file that exists"),
        (lambda f: [write_file(f / "one.parquet")] * 2, "different for two files of one set"),
    ],
)
def test_what_cannot_be_reported_is_said(make, message, tmp_path):
    refuses(message, report, tmp_path, *make(tmp_path))


def test_bad_options_are_said(run, tmp_path):
    refuses(r"`name` must be given once for each of these, in order: .*toy", report, tmp_path, run, names=["a", "b"])
    ids = tmp_path / "texts.csv"
    ids.write_text("id,text\n1,a\n")
    refuses("`texts` must have a column example_id", report, tmp_path, run, texts=[str(ids)])
    with pytest.raises(InputError, match="`output` must be a file that can be written"):
        write_report(load_models([run]), ids / "page.html", ReportOptions())
    broken = write_run(tmp_path / "broken")
    (broken / "results.json").write_text("{")
    refuses(r"hold a readable results\.json", report, tmp_path, broken)


@pytest.mark.slow
def test_the_command_writes_the_page_and_the_plots(run, tmp_path):
    page, folder = tmp_path / "out" / "page.html", tmp_path / "plots"
    done = subprocess.run(
        [sys.executable, "-m", "paraconsist", "report", str(run), "--output", str(page), "--plots", str(folder)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    names = {path.name for path in folder.iterdir()}
    assert f"all problems on the page.\n{len(names)} files in {folder}." in done.stdout
    assert page.stat().st_size > 20_000
    assert {"accuracy-consistency.png", "accuracy-consistency.svg", "buckets-0.svg", "strata-0.png"} <= names


def test_a_wrong_path_is_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(tmp_path / "none")])
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.real_data
def test_the_published_predictions_give_the_published_numbers(data_folder, tmp_path):
    folder = data_folder / "paranlu"
    files = [folder / "predictions" / f"snli__{model}__human.parquet" for model in ("roberta-large", "bow")]
    read = SourceOptions(label="gold", prediction="pred", original="is_original", confidence="conf_gold")
    page, _ = report(tmp_path, *files, names=["large", "bow"], read=read)
    # Table 4 of the paper
    for number in ("53.8", "74.8", "53.7", "82.2"):
        assert number in text_of(page)
    assert len(data_of(page)["buckets"]) == 250
    assert read_predictions(files[0]).table.num_rows == sum(len(bucket["r"]) for bucket in data_of(page)["buckets"])


def test_unparsed_answers_under_another_policy_than_the_run_s(tmp_path):
    table = pa.table(
        {
            "bucket_id": ["a", "a", "b", "b"],
            "role": ["original", "paraphrase"] * 2,
            "label": [0, 0, 1, 1],
            "prediction": pa.array([None, None, 1, 1], pa.int64()),
        }
    )
    path = tmp_path / "mine.parquet"
    pq.write_table(table, path)
    pages = {}
    for policy in ("wrong", "own_class"):
        page = tmp_path / f"{policy}.html"
        with pytest.raises(SystemExit) as stop:
            options = ["--measure", "semantic_inconsistency", "--unparsed", policy, "--output", str(page)]
            main(["report", str(path), *options])
        assert stop.value.code == 0
        pages[policy] = page.read_text()
    assert "unparsed:wrong|" in pages["wrong"]
    assert "unparsed:own_class|" in pages["own_class"]


@pytest.mark.faults
@pytest.mark.parametrize(("n_labels", "has_breakdown"), [(50, True), (51, False)])
def test_free_text_gold_is_no_breakdown(tmp_path, n_labels, has_breakdown):
    """A line, a row and a mark for each of thousands of gold texts took 6 ms a row."""
    frame = pa.table(
        {
            "bucket_id": [i // 3 for i in range(3 * n_labels)],
            "role": ["original", "paraphrase", "paraphrase"] * n_labels,
            "prediction": [f"text {i // 3}" if i % 3 else "another" for i in range(3 * n_labels)],
            "label": [f"text {i // 3}" for i in range(3 * n_labels)],
        }
    )
    pq.write_table(frame, tmp_path / "rows.parquet")
    (model,) = load_models([tmp_path / "rows.parquet"], QUICK)
    ((change,),) = (by_model.values() for by_model in Report([model], ReportOptions(score=QUICK)).changed.values())
    assert ("label" in change.to_dict().get("by_stratum", {})) == has_breakdown
    assert ("text 7" in text_of(report(tmp_path, tmp_path / "rows.parquet", draw=True)[0])) == has_breakdown
