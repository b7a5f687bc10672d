"""The tables of compared models, one builder a kind: pairs, differences, standings, accuracy against consistency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from paraconsist.measures.catalogue import PARAPHRASTIC, MeasureSpec, Quantity
from paraconsist.measures.standings import corrected_p_values
from paraconsist.reporting.formatting import Values, bounds, interval, known, minus, p_value, percent, plural, quantity
from paraconsist.reporting.table import (
    CHANGE,
    DIFFERENCE,
    P_VALUE,
    POINTS,
    QUANTITY,
    SHARE,
    Cell,
    Column,
    Part,
    Table,
    remarks,
)
from paraconsist.reporting.tables import MODEL, corrected_quantity, direction, link
from paraconsist.scoring.outcomes import WORDING_CHANGE, compared_by

if TYPE_CHECKING:
    from paraconsist.scoring.checked import CheckedDifference
    from paraconsist.scoring.compare import ModelPair, SetComparison

#: Pairs of models of one set and measure, above which only those with the best model are listed.
MOST_PAIRS = 15
#: The difference that a test at 5 % finds 80 % of the time, in half-widths of its interval.
_FOUND = (1.95996 + 0.84162) / 1.95996
#: The quantities that two models are compared by, as far as the comparison has them.
_COMPARED = ("wording change", "P_C", "P_C publ.", "A", "A_O", "VAP", "PVAP")
#: Those of two paraphrases of a problem, which say nothing where it has one.
_OF_TWO = ("P_C", "P_C publ.", "VAP", "PVAP")
_BY_SYMBOL = {q.symbol: q for q in (*PARAPHRASTIC.quantities, WORDING_CHANGE)}
_CORRECTIONS = {"benjamini_hochberg": "Benjamini-Hochberg", "none": "no correction"}
#: Corrected p-values at which a difference is shaded, each darker than the one before.
_SHADED = (0.05, 0.01, 0.001)


def comparison_tables(comparisons: Sequence[SetComparison]) -> Iterator[Part]:
    """Yield what a terminal and a notebook show of each compared set: its pairs, standings and Pareto table."""
    for comparison in comparisons:
        of_set = f"{comparison.set}: " if comparison.set else ""
        shown = listed_pairs(comparison)
        for pair in shown:
            yield pair_table(of_set, comparison, pair)
        if {pair.measure for pair in comparison.pairs} <= {WORDING_CHANGE.key}:
            yield steadiness(of_set, comparison)
        if comparison.standings:
            yield standings(of_set, comparison)
        if comparison.pareto:
            yield pareto(of_set, comparison)
        if comparison.checked:
            yield corrected(of_set, comparison.checked)
        unparsed = [f"{plural(n, 'unparsed answer')} of {model}" for model, n in comparison.n_unparsed.items() if n]
        if len(shown) < len(comparison.pairs):
            of_all = f"{len(shown)} of {len(comparison.pairs)} pairs are shown"
            unparsed.append(f"{of_all}, those of the model that is ranked first")
        unparsed += [f"{model} is not ranked: {why}" for model, why in comparison.ranking.unranked.items()]
        signatures = [pair.result["signature"] for pair in comparison.pairs]
        yield from remarks([*unparsed, *comparison.warnings], signatures, comparison.noun)


def best_of_many(comparison: SetComparison) -> dict[str, str]:
    """Return the first model by each measure of more pairs than are listed; of wordings it is the steadiest."""
    n_pairs = Counter(pair.measure for pair in comparison.pairs)
    ranked = {measure: comparison.ranked_by(measure) for measure, n in n_pairs.items() if n > MOST_PAIRS}
    return {measure: rows[0].model for measure, rows in ranked.items() if rows}


def listed_pairs(comparison: SetComparison) -> list[ModelPair]:
    """Return all pairs, where they are many those of the best model."""
    best = best_of_many(comparison)
    return [pair for pair in comparison.pairs if best.get(pair.measure, pair.first) in (pair.first, pair.second)]


def corrected(of_set: str, differences: Sequence[CheckedDifference]) -> Table:
    """Return differences of rates corrected by answers that people checked, a line each."""
    columns = [Column("models", words=True), Column("rate", words=True), Column("difference", interval="interval")]
    rows = [
        [
            Cell(f"{each.first} less {each.second}", head=True),
            Cell(q.label, symbols=True),
            Cell(each.difference, each.confidence_interval, DIFFERENCE if q.is_share else CHANGE),
        ]
        for each in differences
        for q in [corrected_quantity(each.rate)]
    ]
    return Table(f"{of_set}differences of corrected rates, shares in points", columns, rows)


# ---- a pair


def margin_words(pair: ModelPair) -> str:
    """Return the verdict of a pair's margin test, without a full stop; empty if there was no test."""
    test = pair.result.get("margin_test")
    if not test:
        return ""
    points = f"{percent(test['margin'])} points"
    if test["verdict"] == "unranked":
        return "no verdict, as one of the two is not ranked"
    if test["verdict"] == "equivalent":
        return f"equivalent within {points}"
    if test["verdict"] == "undecided":
        return f"undecided: neither is shown to be not worse by more than {points}"
    better, other = (pair.first, pair.second) if test["verdict"] == "first_not_worse" else (pair.second, pair.first)
    return f"{better} is not worse than {other} by more than {points}"


def correction_words(comparison: SetComparison) -> str:
    """Return how many comparisons the p-values are corrected for, and by which method."""
    how = _CORRECTIONS.get(comparison.correction, comparison.correction.capitalize())
    return f"corrected for {plural(comparison.n_comparisons, 'comparison')} ({how})"


def _size(comparison: SetComparison, pair: ModelPair) -> str:
    if "n_common" in pair.result:
        return f"{pair.result['n_common']:,} of {pair.result['n_rows']:,} rows count for both"
    return plural(comparison.n_common_buckets, f"common {comparison.noun}")


def pair_table(of_set: str, comparison: SetComparison, pair: ModelPair) -> Table:
    """Return the values of two models with their differences; the caption has the tests of its first line."""
    result, notes, end_that_is_good = pair.result, list[str](), ""
    of_wordings = f" ({direction([compared_by(WORDING_CHANGE.key)])})"  # beside measures of which more is better
    if "differences" in result:
        counted = "wording" if pair.measure == WORDING_CHANGE.key else "paraphrase"
        nouns = ("task", "run") if comparison.noun == "task" else ("bucket", counted)
        size = ", ".join(plural(result[n], noun) for n, noun in zip(("n_buckets", "n_examples"), nouns, strict=True))
        n_clusters = result["n_clusters"]["difference"]
        if n_clusters < result["n_buckets"]:
            size += f" in {plural(n_clusters, 'group')}"
    else:
        size = _size(comparison, pair)
        end_that_is_good = f" ({direction([compared_by(pair.measure)])})"
        if result["n_common"] < max(result["n_own1"], result["n_own2"]):
            notes.append(
                f"Over each model's own rows: {quantity(result['own_value1'], True)} of {result['n_own1']:,} and "
                f"{quantity(result['own_value2'], True)} of {result['n_own2']:,}, which are not the same rows."
            )
    if words := margin_words(pair):
        test = result["margin_test"]
        keys = "p_not_worse1", "p_not_worse2", "p_equivalent"
        p = [p_value(test[key]) for key in keys]
        ends = interval(test["interval"], percent, signed=True)
        notes.append(
            f"Margin: {words} (p of non-inferiority: model 1 {p[0]}, model 2 {p[1]}; of equivalence {p[2]}; the "
            f"interval that goes with these is {ends})."
        )
        if "corrected_p_equivalent" in test:
            corrected = ", ".join(p_value(test[f"corrected_{key}"]) for key in keys)
            notes.append(f"The margin's p, {correction_words(comparison)}, by which the verdict is: {corrected}.")
    if pair.simultaneous_interval:
        ends = interval(pair.simultaneous_interval, percent, signed=True)
        p_of_all = p_value(pair.simultaneous_p_value)
        notes.append(f"All pairs together (max-T): interval of the first line {ends}, p {p_of_all}.")
    lines = [*_lines(comparison, pair)]
    ends_of = ((q.symbol, both) for q, _, _, of_line, _ in lines if q.is_share and (both := bounds(of_line)))
    symbol, (low, high) = next(ends_of, ("", (1.0, 1.0)))
    if low <= 0.0 <= high and "|level:0.95|" in result["signature"] and (least := _FOUND * (high - low) / 2.0) < 1.0:
        found = f"80 % of tests find a true difference of {percent(least)} points in {symbol}."
        notes.append(f"With this many {comparison.noun}s, {found}")
    if comparison.n_comparisons > 1:
        corrected = p_value(pair.corrected_p_value, undefined="-")
        notes.append(f"p of the first line, {correction_words(comparison)}: {corrected}")
    columns = [
        Column("measure", words=True),
        *(Column("model 1"), Column("model 2"), Column("1 - 2", interval="interval"), Column("p")),
    ]
    rows = [
        [
            Cell(f"{q.symbol}{of_wordings if q is WORDING_CHANGE else end_that_is_good}", head=True, symbols=True),
            *(Cell(value, unit=SHARE if q.is_share else QUANTITY) for value in values),
            Cell(difference, ends, POINTS if q.is_share else CHANGE),
            Cell(p, unit=P_VALUE),
        ]
        for q, values, difference, ends, p in lines
    ]
    return Table(f"{of_set}{pair.first} (1) and {pair.second} (2), {size}", columns, rows, "\n".join(notes))


# ---- all pairs


def differences(comparisons: Sequence[SetComparison]) -> Iterator[Table]:
    """Yield every difference of all sets, where there are any; where models are many from the best one only."""
    rows: list[list[Cell]] = []
    has_joint = any(pair.simultaneous_interval for comparison in comparisons for pair in comparison.pairs)
    has_margin = any("margin_test" in pair.result for comparison in comparisons for pair in comparison.pairs)
    is_long = any(map(best_of_many, comparisons))
    for comparison in comparisons:
        for pair in listed_pairs(comparison):
            first = Cell(comparison.set, below=_size(comparison, pair), head=True)
            tests = [Cell(pair.corrected_p_value, unit=P_VALUE)]
            if has_joint:
                below = minus(interval(pair.simultaneous_interval))
                tests.append(Cell(pair.simultaneous_p_value, unit=P_VALUE, below=below))
            if has_margin:
                below = minus(interval((pair.result.get("margin_test") or {}).get("interval")))
                tests.append(Cell(margin_words(pair), below=below))
            models = Cell(f"{pair.first} minus {pair.second}")
            for place, (q, _, difference, ends, p) in enumerate(islice(_lines(comparison, pair), 3)):
                numbers = Cell(difference, ends, DIFFERENCE), Cell(p, unit=P_VALUE)
                rest = tests if place == 0 else [Cell()] * len(tests)
                rows.append([first, models, Cell(q.symbol, symbols=True), *numbers, *rest])
    if not rows:
        return
    of_margin = "one-sided tests, p corrected; the interval is that of the pair alone"
    columns = [
        *(Column(label, words=True) for label in ("set", "models", "measure")),
        Column("difference", "in points"),
        Column("p", "sign-flip permutation test, two-sided"),
        Column("p corrected", correction_words(comparisons[0])),
        *([Column("p, all pairs together", "max-T, with its interval")] if has_joint else []),
        *([Column("margin", of_margin, words=True)] if has_margin else []),
    ]
    caption = (
        "Positive: the first model has the higher value. Both models on the same buckets. The interval is of the "
        "difference, which the overlap of two intervals does not show, and holds 0 just where p is above .05 (at 95 %)."
    )
    what = "from the model that is ranked first" if is_long else "between the models"
    yield Table(f"Differences {what}, in points", columns, rows, caption)


def _lines(comparison: SetComparison, pair: ModelPair) -> Iterator[tuple[Quantity, list[float], float, object, float]]:
    """Yield quantity, both values, difference, interval, p; the headline, whose p is the corrected one, is first.

    Of runs, which are right or wrong, the wording change is 1 less P_C and is left out beside it.
    """
    result, intervals = pair.result, pair.result["confidence_interval"]
    if "differences" not in result:
        title, values = compared_by(pair.measure).title.lower(), [result["value1"], result["value2"]]
        q = Quantity("difference", title, title)
        yield q, values, result["difference"], intervals["difference"], result["p_value"]
        return
    main = "P_C publ." if "|est:plugin|" in result["signature"] else compared_by(pair.measure).symbol
    left_out = {main, WORDING_CHANGE.symbol} if comparison.noun == "task" else {main}
    symbols = [symbol for symbol in _COMPARED if symbol not in left_out]
    if not known(result["differences"].get(PARAPHRASTIC.headline, float("nan"))):
        symbols = [symbol for symbol in symbols if symbol not in _OF_TWO]
    quantities = (_BY_SYMBOL[symbol] for symbol in (main, *symbols))
    for q in (q for q in quantities if q.key in result["differences"]):
        values = [result[side][q.key] for side in ("values1", "values2")]
        yield q, values, result["differences"][q.key], intervals.get(q.key), result["p_values"].get(q.key)


def matrices(comparisons: Sequence[SetComparison], *, linked: bool = True) -> Iterator[tuple[str, Table]]:
    """Yield (set and measure, table) of every difference of three models or more: the row's value minus the column's.

    Models are in the order of their ranks, without those that have none. With `linked` a cell of a measure that models
    were compared by leads to the buckets in which the column's model flips and the row's does not.
    """
    wordings = [of_wordings for one in comparisons if (of_wordings := _by_wordings(one)).pairs]
    for place, comparison in enumerate((*comparisons, *wordings)):
        for spec in (compared_by(measure) for measure in dict.fromkeys(pair.measure for pair in comparison.pairs)):
            pairs = {(pair.first, pair.second): pair for pair in comparison.pairs if pair.measure == spec.name}
            ranks = {row["model"]: row for row in comparison.ranked_by(spec.name)}
            able = (model for names in pairs for model in names if model not in comparison.ranking.unranked)
            models = list(ranks or dict.fromkeys(able))
            if len(models) < 3 or not any(known(pair.result["difference"]) for pair in pairs.values()):
                continue
            of_set = comparison.set if linked and place < len(comparisons) else None
            columns, caption = [MODEL], "Models are in the order of their steadiness." * bool(ranks)
            rows = [[Cell(model, head=True)] for model in models]
            if ranks and spec.mean_over != "buckets":  # no second ranking beside that by steadiness
                columns += [Column("rank"), Column("group", words=True)]
                caption = "Models that share a letter are not shown to differ; ranks and letters hold for all pairs."
                for line, model in zip(rows, models, strict=True):
                    line += [Cell(rank_words(ranks[model])), Cell(ranks[model].letters)]
            columns += [Column(model, upright=True) for model in models]
            for line, row in zip(rows, models, strict=True):
                line += [_difference(pairs, spec, row, column, of_set) for column in models]
            name = spec.symbol or spec.title.lower()
            leads = " A cell leads to the buckets where the column's model flips and the row's does not."
            shades = (
                f"Row minus column with its interval; blue where the row's model is better, orange where the column's "
                f"is, the darker the smaller p, {correction_words(comparison)}: at most .05, .01, .001. "
            )
            title = f"Differences in {name}, in points, {comparison.set}"
            yield (
                f"{comparison.set}: {name}",
                Table(title, columns, rows, shades + caption + leads * (of_set is not None), kind="matrix"),
            )


def _by_wordings(comparison: SetComparison) -> SetComparison:
    """Return models that are compared by P_C as compared by the wording change, p corrected over their pairs.

    There are no pairs where the wording change is what models were compared by, or problems have one wording.
    """
    key, pairs = WORDING_CHANGE.key, [pair for pair in comparison.pairs if pair.measure == PARAPHRASTIC.name]
    if any(pair.measure == key for pair in comparison.pairs) or any(key not in p.result["differences"] for p in pairs):
        return replace(comparison, pairs=[])
    p_values = corrected_p_values([pair.result["p_values"][key] for pair in pairs], comparison.correction)
    for place, (pair, p) in enumerate(zip(pairs, p_values, strict=True)):
        ends = {"difference": pair.result["confidence_interval"][key]}
        result = replace(pair.result, difference=pair.result["differences"][key], confidence_interval=ends)
        pairs[place] = replace(pair, measure=key, result=result, corrected_p_value=p)
    return replace(comparison, pairs=pairs, n_comparisons=len(pairs))


def _difference(
    pairs: Mapping[tuple[str, str], ModelPair], spec: MeasureSpec, row: str, column: str, linked_set: str | None
) -> Cell:
    sign, pair = (1.0, pairs[row, column]) if (row, column) in pairs else (-1.0, pairs.get((column, row)))
    if pair is None:
        return Cell()
    difference = pair.result["difference"]
    ends = bounds(pair.result["confidence_interval"], "difference")
    value = sign * difference + 0.0 if known(difference) else None  # no minus before a zero
    turned = sorted(sign * end + 0.0 for end in ends) if ends else None
    p = pair.corrected_p_value
    level = sum(known(p) and p <= limit for limit in _SHADED)
    is_better = value is not None and (value > 0.0) == bool(spec.higher_is_better)
    shade = f"{'better' if is_better else 'worse'}-{level}" if level else ""
    href = link(set=linked_set, flips=column, holds=row) if linked_set is not None else ""
    return Cell(value, turned, DIFFERENCE, link=href, shade=shade)


# ---- models


def rank_words(standing: Values) -> str:
    """Return the ranks that a model may have."""
    low, high = standing["rank_low"], standing["rank_high"]
    return str(low) if low == high else f"{low} to {high}"


def steadiness(of_set: str, comparison: SetComparison) -> Table:
    """Return the models' steadiness, by which they are ranked where nothing else compares them, without gold labels."""
    ranking = comparison.ranking
    rows = [
        [*map(Cell, (row["model"], ranking.steadiness[row["model"]], rank_words(row), row["letters"]))]
        for row in ranking.standings
    ]
    rows += [[Cell(model), Cell(), Cell("not ranked"), Cell()] for model in ranking.unranked]
    columns = [MODEL, Column("steadiness"), Column("rank", words=True), Column("letters", words=True)]
    caption = "Steadiness: 0 as if answers were shuffled over the texts, 100 never another answer, in per cent. Models "
    caption += "with a letter in common are not shown to differ."
    title = f"{of_set}same answer above chance, {plural(ranking.n_problems, comparison.noun)} that all models answered"
    return Table(title, columns, rows, caption)


def standings(of_set: str, comparison: SetComparison) -> Table:
    """Return the models' ranks, and letters that models not shown to differ have in common."""
    rows = [
        [*map(Cell, (compared_by(row["measure"]).title.lower(), row["model"], rank_words(row), row["letters"]))]
        for row in comparison.standings
    ]
    columns = [Column(label, words=True) for label in ("measure", "model", "rank", "letters")]
    caption = "Models with a letter in common are not shown to differ."
    return Table(f"{of_set}models that differ, all pairs together", columns, rows, caption)


def pareto(of_set: str, comparison: SetComparison) -> Table:
    """Return the models' accuracy against their consistency, and which models beat them."""
    rows = []
    for row in comparison.pareto:
        place = f"beaten by {', '.join(row['dominated_by'])}" if row["dominated_by"] else "not beaten"
        if row["less_consistent_than_worse"]:
            place += f"; less consistent than the less accurate {', '.join(row['less_consistent_than_worse'])}"
        if row["untested"]:
            place += f"; not tested against {', '.join(row['untested'])}"
        shares = (Cell(row[key], unit=SHARE) for key in ("accuracy", "consistency"))
        rows.append([Cell(row["model"], head=True), *shares, Cell(place)])
    columns = [MODEL, Column("A"), Column("P_C"), Column("place", words=True)]
    caption = "Beaten: another model is better in one of the two beyond chance, and not worse in the other."
    return Table(f"{of_set}accuracy against consistency", columns, rows, caption)


def beaten(comparisons: Sequence[SetComparison]) -> Iterator[Table]:
    """Yield the table of every set in which a model beats another one."""
    for comparison in comparisons:
        if any(row["dominated_by"] for row in comparison.pareto):
            yield pareto(f"{comparison.set}: " if comparison.set else "", comparison)
