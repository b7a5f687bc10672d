"""The tables of models' scores, one builder a kind: terminal, page, notebook and LaTeX render the same tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urlencode

from paraconsist.measures.catalogue import (
    ABOVE_CHANCE,
    CATALOGUE,
    CHANGE,
    COHERENCE,
    FOOLING,
    PARAPHRASTIC,
    MeasureSpec,
    Quantity,
)
from paraconsist.reporting.formatting import UNDEFINED, Values, bounds, count, decimal, known, percent, plural
from paraconsist.reporting.table import (
    NUMBER,
    P_VALUE,
    PERCENT,
    QUANTITY,
    SHARE,
    TWO_DIGITS,
    Cell,
    Column,
    Line,
    Part,
    Table,
    remarks,
)

if TYPE_CHECKING:
    from paraconsist.scoring.checked import Checked, Validity
    from paraconsist.scoring.score import SetScores

#: Model -> set -> its scores.
ByModel = Mapping[str, Mapping[str, "SetScores"]]

#: What a breakdown by stratum shows of paraphrastic consistency.
STRATUM_QUANTITIES = [q for q in PARAPHRASTIC.quantities if q.symbol in ("A", "P_C", "P_C publ.", "PVAP")]
#: The parts of the pairs that a changed answer is counted in, and their labels.
PARTS = {
    CHANGE.headline: "all",
    f"{CHANGE.headline}_given_correct": "original right",
    f"{CHANGE.headline}_given_incorrect": "original wrong",
}
SET, MODEL = Column("set", words=True), Column("model", words=True)
_AGREEMENT = "agreement_unbiased"
#: Of paraphrastic consistency what is seen at first look: by the page's summary, before "more columns".
_FIRST = (PARAPHRASTIC.headline, "accuracy", _AGREEMENT, ABOVE_CHANCE.key)
#: Shares of paraphrastic consistency that the summary has no column for.
_NOT_IN_SUMMARY = (
    *("consistently_right", "consistently_wrong", "corrected_pvap", "covered_mass"),
    *("pvap", "corrected_paraphrastic_consistency"),  # as published: the unbiased ones have columns
)
_RATE = "share of broken rules; lower is better"
_VARIANCES = ("problem", "paraphrase", "decoding", "numeric")
#: Parts of keys whose values are no shares.
_NO_SHARE = (
    *("vap", "variance", "statistic", "p_value", "snr", "distance", "divergence", "deviation", "difference"),
    *("violation", "entropy", "alpha", "kappa", "distinct_answers"),
)
_MOST_BETS, _MOST_ENTRIES = 8, 10
_MOST_TRANSITIONS = 40  # more than three labels can make; of longer tables the commonest are shown


def link(
    *, stratum: Mapping[str, str] | None = None, accuracy: tuple[float, float] | None = None, **filters: str
) -> str:
    """Return the `href` that opens the page's flip browser with these filters; an empty filter is left out.

    Parameters
    ----------
    stratum : mapping of str to str
        Column -> its value; breakdowns call the gold label ``label``.
    accuracy : (low, high), optional
        Share of the rewordings that are answered right, as a column of the histogram of bucket accuracy: 0 and 1 are
        separate columns, and an edge counts to the side nearer the middle.
    **filters : str
        `set`, `model`, `label` (gold), `kind` (of edit), `text` (words, in any order), `bucket` (an id: the focus goes
        there), all by the names that the page shows; `flips` and `holds`: models of which the first is inconsistent
        there and the second is not; `before` and `after`: answers to the original and to a rewording; `show`: one of
        broken, changed, lost, gained, wrong, right, same; `sort`: sure, flips, accuracy, swing, size or id; `size`,
        `page`; `ids`: buckets, with commas between; `original` and `paraphrase`: ``low,high`` of the probability of the
        gold label, both ends included and in [0, 1], of originals and of an answer to one of their rewordings.

    Examples
    --------
    >>> link(set="snli", show="lost", stratum={"source": "news & web"})
    '#?set=snli&show=lost&stratum.source=news+%26+web'
    >>> link(show="changed", stratum={"label": "entailment"}, accuracy=(0.0, 0.2))
    '#?show=changed&label=entailment&accuracy=0%2C0.2'
    """
    columns = {"label" if name == "label" else f"stratum.{name}": value for name, value in (stratum or {}).items()}
    pairs = {name: value for name, value in (filters | columns).items() if value}
    if accuracy is not None:
        pairs["accuracy"] = f"{accuracy[0]:g},{accuracy[1]:g}"
    return f"#?{urlencode(pairs)}"


# ---- what results hold


def set_names(by_model: ByModel) -> list[str]:
    """Return the sets that any of the models answered."""
    return list(dict.fromkeys(name for sets in by_model.values() for name in sets))


def measures_of(by_model: ByModel) -> list[str]:
    """Return every measure that the sets were scored for."""
    return list(
        dict.fromkeys(name for sets in by_model.values() for scored in sets.values() for name in scored.measures)
    )


def results_of(by_model: ByModel, measure: str) -> Iterator[tuple[str, str, SetScores, Values]]:
    """Yield (set, model, the set's scores, the measure's result), set by set."""
    for name in set_names(by_model):
        for model, sets in by_model.items():
            if name in sets and measure in sets[name].measures:
                yield name, model, sets[name], sets[name].measures[measure]


def by_stratum(strata: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str, str, Any]]:
    """Yield (column, value, model, what it holds) of every stratum that a model has, the models side by side."""
    for column in dict.fromkeys(column for by_column in strata.values() for column in by_column):
        for value in dict.fromkeys(value for by_column in strata.values() for value in by_column.get(column, {})):
            for model, by_column in strata.items():
                part = by_column.get(column, {}).get(value)
                if part is not None:
                    yield str(column), str(value), model, part


def rates_of(measures: Iterable[str]) -> list[MeasureSpec]:
    """Return those of the measures that are known by the share of pairs or rows that break a rule."""
    specs = [CATALOGUE[measure] for measure in measures if measure in CATALOGUE]
    return [spec for spec in specs if spec.target and spec not in (PARAPHRASTIC, CHANGE) and not spec.higher_is_better]


def headline_name(spec: MeasureSpec) -> str:
    """Return what a measure's headline is called."""
    return next((q.name for q in spec.quantities if q.key == spec.headline), spec.title.lower())


def common_symbol(specs: Sequence[MeasureSpec]) -> str:
    """Return the label of a column of the measures' rates: their common symbol, else tau."""
    symbols = {spec.symbol.partition(" ")[0] for spec in specs}
    return symbols.pop() if len(symbols) == 1 else "tau"


def direction(specs: Iterable[MeasureSpec]) -> str:
    """Return which end of the measures' headlines is good, where it is the same for all."""
    ends = {spec.higher_is_better for spec in specs}
    return "lower is better" if ends == {False} else "higher is better" if ends == {True} else "mind the direction"


def _population(values: Values) -> str:
    """Return the denominator of a share, and the total if only a subset counts."""
    if "n_satisfied" in values:
        return f"{count(values['n_satisfied'])} / {count(values['n_rows'])}"
    return count(values.get("n_pairs", values.get("n_rows", values.get("n_buckets"))))


def _has_own_table(spec: MeasureSpec, values: Values) -> bool:
    """Return whether each of a measure's numbers has its line, as those of a judge's position bias have."""
    return spec.has_table or "primacy" in values


def _has_two_labels(values: Values) -> bool:
    """Return whether the same answer means both right or both wrong, so that one of the two numbers is enough."""
    same, headline = values.get(_AGREEMENT), values.get(PARAPHRASTIC.headline)
    return same is not None and headline is not None and math.isclose(same, headline, abs_tol=1e-9)


def share(values: Values, key: str) -> Cell:
    """Return a share in per cent with its interval."""
    return Cell(values.get(key), bounds(values.get("confidence_interval"), key), PERCENT)


def laid_out(
    title: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]], n_models: int, caption: str = ""
) -> Table:
    """Return a table without its column of models where there is one model.

    Where there are several, the models head the rows, and a leading column of several sets becomes headings.
    """
    if n_models == 1:
        place = columns.index(MODEL)
        kept = [row if len(row) < 2 else [*row[:place], *row[place + 1 :]] for row in rows]
        return Table(title, [column for column in columns if column is not MODEL], kept, caption)
    if columns[0] is not SET:
        return Table(title, columns, list(rows), caption)
    lines, groups = list[Sequence[Cell]](), [(over, [*same]) for over, same in groupby(rows, key=lambda row: row[0])]
    for over, same in groups:
        heading = Cell(f"{over.text}, {over.below}" if over.below else over.text, head=True)
        lines += [[heading]] if len(groups) > 1 or over.below else []
        lines += [[replace(model, head=True), *cells] for _, model, *cells in same]
    return Table(title, columns[1:], lines, caption)


def stratified(
    lines: Iterable[tuple[str, str, str, Sequence[Cell]]], name: str, *, gold_labels: bool = True
) -> Iterator[list[Cell]]:
    """Yield the rows of (column, value, model, cells) under a heading for each column; values lead to their buckets.

    Without `gold_labels` the values of the gold label have no link: it is not the bucket's, but of some of its rows.
    """
    for column, parts in groupby(lines, key=lambda line: line[0]):
        yield [Cell(column, head=True)]
        for _, value, model, cells in parts:
            href = link(set=name, model=model, stratum={column: value})
            shown = href if gold_labels or column != "label" else ""
            yield [Cell(value, head=True, indent=True, link=shown), Cell(model), *cells]
        yield []


# ---- one builder a kind of table


def headline(name: str, scored: SetScores, spec: MeasureSpec, keys: Sequence[str] | None = None) -> Table:
    """Return every number of a measure on one set, or those of some `keys`, a line each."""
    values, is_sketch = scored.measures[spec.name], scored.rows.same is not None  # classes of answers are
    no_gold, is_run = scored.rows.is_without_gold, scored.rows.calls is not None
    rows = [
        [
            Cell(label, symbols=True, head=True),
            Cell(value, bounds(values["confidence_interval"], key), SHARE if q.is_share else QUANTITY),
        ]
        for q in spec.quantities
        if q.key in values and not (q.key == _AGREEMENT and (_has_two_labels(values) or is_sketch))
        if not (no_gold and q.needs_gold) and (keys is None or q.key in keys)
        for key, label, value in _entries(q, values[q.key])
        if not is_run or known(value)  # runs may be without calls, and most have no arguments
    ]
    if scored.n_unparsed:
        rows.append([Cell("unparsed answers", head=True), Cell(scored.n_unparsed / len(scored.rows), unit=SHARE)])
    majority = SHARE.show(scored.majority_rate)
    if scored.test_majority_rate is not None:
        majority += f" ({SHARE.show(scored.test_majority_rate)} on the full test set)"
    sizes = {
        "n_buckets": "task" if is_run else "bucket",
        "n_examples": "run" if is_run else "probability row" if spec.is_about_probabilities else "paraphrase",
        "n_pairs": "pair",
    }
    model = scored.predictions.metadata.get("model", {}).get("model")
    what = ", ".join(plural(values[key], noun) for key, noun in sizes.items() if key in values)
    caption = f"A constant answer: accuracy {majority}, P_C 100 %." if spec is PARAPHRASTIC else ""
    if scored.rows.values is not None:
        caption = f"Answers are the same by `{scored.predictions.metadata['same']}`."
    columns = [Column("measure", words=True), Column("value", interval="interval")]
    return Table(f"{name}: {f'{model}, ' if model else ''}{what}", columns, rows, caption, wide=True)


def _entries(q: Quantity, value: Any) -> list[tuple[str, str, Any]]:
    """Return key, label and value of a quantity; of one by numbers, such as pass^n, those of the first few."""
    if not isinstance(value, Mapping):
        return [(q.key, q.label, value)]
    shown = list(value.items())[:_MOST_ENTRIES]
    return [(f"{q.key}/{n}", q.label.format(n=n), of_n) for n, of_n in shown]


def summary(by_model: ByModel) -> Iterator[Table]:
    """Yield paraphrastic consistency, where there is any: a line for each set and model."""
    if not (lines := list(results_of(by_model, PARAPHRASTIC.name))):
        return
    from paraconsist.scoring.outcomes import WORDING_CHANGE  # reads rows, which takes pyarrow

    left_out = [*_NOT_IN_SUMMARY, *([_AGREEMENT] if all(_has_two_labels(values) for *_, values in lines) else [])]
    known_as = (q for q in PARAPHRASTIC.quantities if q.is_share and q.key not in left_out)
    used = [q for q in known_as if any(known(values.get(q.key)) for *_, values in lines)]
    used.sort(key=lambda q: q.key != PARAPHRASTIC.headline)
    change = [WORDING_CHANGE] if any(scored.wording for _, _, scored, _ in lines) else []
    columns = [
        SET,
        MODEL,
        *(Column(q.symbol, f"{q.meaning}; lower is better") for q in change),
        *(Column(q.symbol, q.meaning, rare=q.key not in _FIRST) for q in used),
        Column("buckets", "problems, each with its paraphrases"),
        Column("majority", "accuracy of always giving the paraphrases' commonest label; P_C would be 100", rare=True),
    ]
    rows = []
    for name, model, scored, values in lines:
        sizes = [Cell(values.get("n_buckets")), Cell(scored.majority_rate)]
        shares = [*(share(scored.wording or {}, q.key) for q in change), *(share(values, q.key) for q in used)]
        rows.append([Cell(name, head=True), Cell(model), *shares, *sizes])
    caption = "Read P_C together with A: a model that always gives the same answer has P_C 100."
    table = laid_out("Paraphrastic consistency, in per cent, with intervals", columns, rows, len(by_model), caption)
    yield replace(table, kind="sortable")


def strata(name: str, by_model: Mapping[str, SetScores], spec: MeasureSpec, n_models: int = 1) -> Iterator[Table]:
    """Yield a measure's breakdown by stratum, where there is one; models side by side."""
    title, sizes, shown = "Accuracy and consistency by stratum, in per cent", ["buckets", "rows"], STRATUM_QUANTITIES
    if spec.name != PARAPHRASTIC.name:
        of_gold = all(scored.headline(spec).key == spec.headline for scored in by_model.values())
        rate = Quantity(spec.headline, "", common_symbol([spec]), _RATE)
        shown = [rate if of_gold else next(q for q in spec.quantities if not q.needs_gold)]
        title, sizes = f"{spec.title} by stratum, in per cent", ["buckets" if spec.mean_over == "buckets" else "rows"]
    parts = by_stratum({model: scored.strata for model, scored in by_model.items()})
    lines = [
        (column, value, model, _stratum_cells(spec, part[spec.name], shown))
        for column, value, model, part in parts
        if part.get(spec.name) is not None
    ]
    if not lines:
        return
    rows = stratified(lines, name, gold_labels=spec.name == PARAPHRASTIC.name)
    columns = [Column("stratum", words=True), MODEL, *map(Column, sizes)]
    for q in shown:
        has_interval = q.key == PARAPHRASTIC.headline or len(shown) == 1
        columns.append(Column(q.symbol, q.meaning, interval="interval" * has_interval))
    yield laid_out(title, columns, rows, n_models)


def _stratum_cells(spec: MeasureSpec, values: Values, shown: Sequence[Quantity]) -> list[Cell]:
    sizes = [values[key] for key in ("n_satisfied", "n_pairs", "n_buckets") if key in values][:1]
    if spec.name == PARAPHRASTIC.name:
        sizes = [values[key] for key in ("n_buckets", "n_examples")]
    return [*map(Cell, sizes), *(share(values, q.key) for q in shown)]


_RateLine: TypeAlias = "tuple[str, str, MeasureSpec, SetScores, Values]"


def _rate_lines(by_model: ByModel, *, own_tables: bool) -> Iterator[_RateLine]:
    for spec in rates_of(measures_of(by_model)):
        for name, model, scored, values in results_of(by_model, spec.name):
            if own_tables or not _has_own_table(spec, values):
                yield name, model, spec, scored, values


def rates(by_model: ByModel, *, own_tables: bool = True) -> Iterator[Table]:
    """Yield the shares of broken rules, where there are any: a line for each set, measure, model (BECEL's Table 2).

    Without gold labels the measures of right answers give way to the wording change, in a table of its own. Without
    `own_tables` the measures that have a table with all their numbers are left out.
    """
    lines = list(_rate_lines(by_model, own_tables=own_tables))
    for of_wordings in (True, False):
        chosen = [line for line in lines if (line[3].headline(line[2]).key != line[2].headline) == of_wordings]
        if chosen:
            yield _rates(chosen, len(by_model), of_wordings=of_wordings)


def _rates(lines: Sequence[_RateLine], n_models: int, *, of_wordings: bool) -> Table:
    specs = [spec for _, _, spec, *_ in lines]
    rows: list[list[Cell]] = []
    for name, model, spec, scored, values in lines:
        quantity = scored.headline(spec)
        shares = [share(values, quantity.key), share(values, ABOVE_CHANCE.key)]
        if of_wordings:
            shares = [share(scored.wording or {}, key) for key in (quantity.key, "above_chance")]
        accuracies = [Cell(values.get(key), unit=PERCENT) for key in ("accuracy", "perturbed_accuracy")]
        first = Cell(name, below="" if of_wordings or spec.short in name else spec.short, head=True)
        size = count(scored.wording["n_problems"]) if of_wordings and scored.wording else _population(values)
        rows.append([first, Cell(model), *shares, Cell(size), *accuracies, Cell(scored.majority_rate)])
    of_rows = "what the share is of; for transitive and additive sets: rows whose parts are right, of all"
    of_problems = "; of measures of whole problems on the rewordings" * any(s.mean_over == "buckets" for s in specs)
    symbol, meaning, change = common_symbol(specs), _RATE, lines[0][3].headline(specs[0])
    if of_wordings:
        symbol, meaning = change.symbol, f"{change.meaning}; lower is better"
    columns = [
        SET,
        MODEL,
        Column(symbol, meaning, interval="interval"),
        Column(ABOVE_CHANCE.symbol, ABOVE_CHANCE.meaning, short=ABOVE_CHANCE.symbol),
        Column("problems") if of_wordings else Column("rows", of_rows, short="rows"),
        Column("A", f"accuracy on the originals{of_problems}", short="acc."),
        Column("A perturbed", "accuracy on the perturbed side", short="pert."),
        Column("majority", "accuracy of always giving the originals' commonest label", short="maj."),
    ]
    first_accuracy = 5
    told = [i for i in range(len(columns)) if i < first_accuracy or any(row[i].text != UNDEFINED for row in rows)]
    columns, rows = [columns[i] for i in told], [[row[i] for i in told] for row in rows]
    title = f"{'Wording change' if of_wordings else 'Inconsistency'}, in per cent, {direction(specs)}"
    return replace(laid_out(title, columns, rows, n_models), kind="sortable")


def changes(name: str, by_model: Mapping[str, Values], n_models: int = 1) -> Table:
    """Return the share of changed answers on one set, whole and by stratum (PaRTE's Figures 1 to 5)."""
    rows: list[list[Cell]] = []
    for model, values in by_model.items():
        for key, label in PARTS.items():
            whole = key == CHANGE.headline
            counted = _changed(values, name, model if n_models > 1 else "", linked=True) if whole else []
            cells = counted or [Cell(), Cell(), share(values, key), Cell(), Cell()]
            rows.append([Cell(label, head=True, indent=not whole), Cell(model), *cells])
    parts = by_stratum({model: values.get("by_stratum") or {} for model, values in by_model.items()})
    lines = ((column, value, model, _changed(part, name, model)) for column, value, model, part in parts)
    rows += stratified(lines, name)
    columns = [
        Column("pairs", words=True),
        MODEL,
        Column("n", "pairs of an original and a paraphrase"),
        Column("changed", "pairs with two different answers"),
        Column("share", "in per cent; lower is better", short="share", interval="interval"),
        Column("lost", "right on the original, wrong on the paraphrase", short="lost"),
        Column("gained", "wrong on the original, right on the paraphrase", short="gained"),
    ]
    return laid_out("Answers that change between the original and its rewordings", columns, rows, n_models)


def _changed(values: Values, name: str, model: str, *, linked: bool = False) -> list[Cell]:
    keys = {"n_pairs": "", "n_changed": "changed", "correct_to_incorrect": "lost", "incorrect_to_correct": "gained"}
    hrefs = {key: link(set=name, model=model, show=kind) if linked and kind else "" for key, kind in keys.items()}
    n, changed, lost, gained = (
        Cell(values.get(key), link=href if values.get(key) else "") for key, href in hrefs.items()
    )
    return [n, changed, share(values, CHANGE.headline), lost, gained]


def relations(name: str, scored: SetScores) -> Iterator[Table]:
    """Yield how often the probabilities of each relation are incoherent, and the bets that are sure to win most."""
    from paraconsist.scoring.roles import tuples_of

    values = scored.measures.get(COHERENCE.name)
    if values is None:
        return
    quantities = COHERENCE.quantities[:2]
    by_gain = sorted(values["by_relation"].items(), key=lambda item: -item[1][quantities[1].key])
    rows = []
    for relation, part in by_gain:
        ends, units = part["confidence_interval"], [PERCENT if q.is_share else QUANTITY for q in quantities]
        cells = [Cell(part[q.key], ends.get(q.key), unit) for q, unit in zip(quantities, units, strict=True)]
        rows.append([Cell(relation, head=True), Cell(part["n_buckets"]), *cells])
    columns = [Column("relation", words=True), Column("tuples")]
    columns += [
        Column(f"{q.symbol}{', %' if q.is_share else ', nats'}", q.plain, interval="interval") for q in quantities
    ]
    if len(rows) > 1:
        yield Table(f"{name}: by relation", columns, rows, wide=True)
    each = [(of, i) for of in tuples_of(scored.kept) for i in range(min(_MOST_BETS, len(of.gain))) if of.gain[i] > 0.0]
    rows = [
        [
            Cell(str(of.buckets[i]), head=True, link=link(set=name, bucket=str(of.buckets[i]))),
            Cell(of.relation),
            Cell(_said(of.statements, of.probabilities[i])),
            Cell(_said(of.statements, of.bets[i])),
            Cell(float(of.gain[i]), unit=QUANTITY),
        ]
        for of, i in sorted(each, key=lambda item: -item[0].gain[item[1]])[:_MOST_BETS]
    ]
    words = ("problem", "relation", "the model says", "a bet that wins whatever is true")
    columns = [*(Column(word, words=True) for word in words), Column("sure gain, nats")]
    caption = "The probabilities of a bet could all be right: of such ones they are nearest to the model's."
    if rows:
        yield Table(f"{name}: the most incoherent", columns, rows, caption, wide=True)


def _said(statements: Sequence[str], probabilities: Any) -> str:
    """Return ``P 60 %, not_P 55 %``."""
    return ", ".join(f"{role} {percent(p)} %" for role, p in zip(statements, probabilities.tolist(), strict=True))


def noise(name: str, floor: Values) -> Table:
    """Return how often answers flip when nothing changes, and how often under paraphrase."""
    of_answers = {
        "wording_change": "different answers to two wordings, over all runs",
        "excess_wording_change": "of that, in excess of the noise",
    }
    of_right = {
        "inconsistency": "paraphrases one right, one wrong (1 - P_C, unbiased)",
        "excess_inconsistency": "of that, in excess of the right and wrong that flip",
        "consistency_in_excess": "P_C with the noise taken off",
    }
    lines = [
        (f"flip_rate/{kind}", value, f"answers that flip at no change ({kind})")
        for kind, value in floor["flip_rate"].items()
    ]
    labels = of_answers | (of_right if floor["share"] else {})
    lines += [(key, floor[key], label) for key, label in labels.items() if key in floor]
    lines += [("", floor["share"][part], f"share of variance: {part}") for part in _VARIANCES if part in floor["share"]]
    shown_elsewhere = {"wording_change", "inconsistency"}  # beside the finding, of the run alone
    intervals = {key: ends for key, ends in floor["confidence_interval"].items() if key not in shown_elsewhere}
    rows = [
        [Cell(label, head=True, symbols=True), Cell(value, intervals.get(key), TWO_DIGITS)]
        for key, value, label in lines
    ]
    columns = [Column("measure", words=True), Column("value", interval="interval")]
    return Table(f"{name}: noise floor, {plural(floor['n_repeats'], 'repeat')} (per cent)", columns, rows, wide=True)


def policies(sets: Mapping[str, SetScores]) -> Iterator[Table]:
    """Yield every measure under each policy for unparsed answers, of the sets that have such answers."""
    rows = []
    for name, scored in sets.items():
        for measure in next(iter(scored.by_policy.values()), ()):
            spec = CATALOGUE[measure]
            quantity, values = scored.headline_by_policy(spec)
            short = spec.short if quantity.key == spec.headline else quantity.symbol
            first = [Cell(f"{name} ({short})", head=True), Cell(scored.n_unparsed / len(scored.rows))]
            for policy in scored.by_policy:
                used = "*" if policy == scored.options.policy else " "
                value = share(values.get(policy, {}), quantity.key)
                rows.append([*first, Cell(f"{used} {policy.replace('_', ' ')}"), value])
                first = [Cell(), Cell()]
    columns = [Column("set (measure)", words=True), Column("unparsed"), Column("counts as", words=True)]
    columns.append(Column("value", interval="interval"))
    caption = "*: the policy of the other tables."
    if rows:
        yield Table("What unparsed answers count as (per cent)", columns, rows, caption, wide=True)


def transitions(name: str, measure: str, figures: Values, model: str = "") -> Table:
    """Return which answers turn into which, the commonest first (BECEL's Figure 2)."""
    lines = sorted(figures["transitions"], key=lambda line: -int(line["n_pairs"]))
    n_pairs = sum(line["n_pairs"] for line in lines)
    rows = []
    for line in lines[:_MOST_TRANSITIONS]:
        labels = (line[key] for key in ("label", "prediction", "perturbed_prediction"))
        gold, *answers = ("unparsed" if label is None else str(label) for label in labels)
        href = link(set=name, model=model, label="" if gold == "(none)" else gold, before=answers[0], after=answers[1])
        sizes = [Cell(line["n_pairs"], link=href), Cell(line["n_pairs"] / n_pairs)]
        rows.append([*map(Cell, (gold, *answers)), *sizes])
    words = (Column(label, words=True) for label in ("gold label", "on original", "on perturbed"))
    caption = f"The {_MOST_TRANSITIONS} commonest of {len(lines)}." if len(lines) > _MOST_TRANSITIONS else ""
    columns = [*words, Column("pairs"), Column("per cent")]
    return Table(f"{name}, {measure}: predictions by gold label", columns, rows, caption)


def confidence(name: str, measure: str, figures: Values) -> Iterator[Table]:
    """Yield how sure the model was of consistent and of inconsistent pairs, where it is known (BECEL's Figure 3)."""
    keys = ("confidence", "original_confidence", "perturbed_confidence")
    rows = [
        [Cell(kind, head=True), Cell(part["n_pairs"]), *(Cell(part[key], unit=PERCENT) for key in keys)]
        for kind, part in figures.get("confidence", {}).items()
    ]
    columns = [Column("pairs", words=True), *map(Column, ("n", "both sides", "on original", "on perturbed"))]
    caption = "Mean probability of the predicted label, in per cent; unparsed answers have none."
    if rows:
        yield Table(f"{name}, {measure}: confidence", columns, rows, caption)


def fooling(by_model: ByModel) -> Iterator[tuple[str, Table]]:
    """Yield (set, table) of fooling rates, by gold label."""
    columns = [
        Column("gold label", words=True),
        MODEL,
        Column("items", "originals that are answered right and have variants"),
        Column("relaxed", "share with a variant that gets any other answer; lower is better"),
        Column("strict", "share with a variant that gets the opposite answer; lower is better"),
    ]
    by_set: dict[str, list[list[Cell]]] = {}
    for name, model, _, values in results_of(by_model, FOOLING.name):
        for label, part in (("all", values), *(values.get("by_label") or {}).items()):
            first = [Cell(str(label), head=True, indent=label != "all"), Cell(model), Cell(part.get("n_items"))]
            by_set.setdefault(name, []).append([*first, share(part, "relaxed"), share(part, "strict")])
    for name, rows in by_set.items():
        yield name, laid_out("Fooling rates, in per cent", columns, rows, len(by_model))


def invariance(values: Values) -> Table:
    """Return the decision of a test of invariance under equivalence, and what it rests on."""
    ends = bounds(values.get("confidence_interval"), "accuracy_difference")
    cells = {
        "decision": Cell(f"invariance is {'' if values.get('reject') else 'not '}rejected"),
        "p-value": Cell(values.get("p_value"), unit=NUMBER),
        "accuracy on originals": Cell(values.get("accuracy"), unit=SHARE),
        "accuracy on transformed items": Cell(values.get("transformed_accuracy"), unit=SHARE),
        "lost by the change, points": Cell(values.get("accuracy_difference"), ends, PERCENT),
        "right on the original only": Cell(values.get("n10")),
        "right on the transformed only": Cell(values.get("n01")),
        "items": Cell(values.get("n")),
        "runs": Cell(values.get("n_runs")),
    }
    rows = [[Cell(label, head=True), cell] for label, cell in cells.items() if cell.value is not None]
    columns = [Column("quantity", words=True), Column("value", interval="interval")]
    return Table("Invariance under equivalence", columns, rows, wide=True)


def invariance_by_rho(decisions: Sequence[Values]) -> Table:
    """Return the decision at each share of transformed rows in training."""
    labels = ("rho", "runs", "original", "transformed", "lost, points", "smallest p", "corrected p", "invariance")
    rows = []
    for decision in decisions:
        accuracies = (Cell(decision[key]) for key in ("accuracy", "transformed_accuracy", "accuracy_difference"))
        p_values = (Cell(decision[key], unit=P_VALUE) for key in ("smallest_p", "p_value"))
        rejected = f"rejected ({decision['n_rejected']} of {decision['n_runs']})"
        words = Cell(rejected if decision["reject"] else "not rejected")
        rows.append([Cell(f"{decision['rho']:g}", head=True), Cell(decision["n_runs"]), *accuracies, *p_values, words])
    caption = "rho: share of transformed rows in training. Accuracies (per cent) are means of runs; p is corrected."
    return Table("Decision at each rho", [Column(label) for label in labels], rows, caption)


def every_number(title: str, values: Values) -> Iterator[Table]:
    """Yield the table of every number of a result, also of a measure that the catalogue does not have."""
    rows = []
    for key, value in values.items():
        if isinstance(value, (int, float)) or (value is None and key not in ("runs", "collapsed_runs")):
            is_share = isinstance(value, float) and known(value) and not any(word in key for word in _NO_SHARE)
            known_of = (values.get(name) for name in ("confidence_interval", "n_clusters", "design_effect"))
            ends, units, effect = (part.get(key) if isinstance(part, Mapping) else None for part in known_of)
            sizes = Cell(units if known(units) else ""), Cell(decimal(effect, digits=1, undefined=""))
            cell = Cell(value, bounds(ends), SHARE if is_share else NUMBER)
            rows.append([Cell(key.replace("_", " "), head=True), cell, *sizes])
    columns = [Column("key", words=True), Column("value", interval="interval")]
    columns += [Column("units"), Column("design effect")]
    if rows:
        yield Table(title, columns, rows, wide=True)


# ---- what a terminal and a notebook show


class Finding(NamedTuple):
    """What is found of a set, in the parts of a sentence; without a full stop, and empty where nothing is known."""

    claim: str
    interval: str = ""
    changed: str = ""  # how many problems change
    outcomes: str = ""  # what becomes of them

    def __str__(self) -> str:
        if not self.interval:
            return f"{self.claim}." if self.claim else ""
        return f"{self.claim} ({self.interval}); {self.changed}.{f' {self.outcomes}.' if self.outcomes else ''}"


def finding(scored: SetScores, model: str = "") -> Finding:
    """Return how often two wordings of a problem get different answers; without a claim where none has two."""
    if (wording := scored.wording) is None:
        return Finding("")
    if scored.degenerate:
        return Finding(f"Nothing can be said of consistency: {scored.degenerate[0]}")
    ends = bounds(wording.confidence_interval, "wording_change")
    level = f"{100 * scored.options.confidence_level:g} %"
    problem, each = scored.rows.nouns
    what = f"wordings of a problem get different answers{model and f' from {model}'}"
    what = what if each == "wording" else f"runs of a task{model and f' by {model}'} end differently"
    sure = f"{level} interval {percent(ends[0])} to {percent(ends[1])}" if ends else no_interval(scored)
    claim = f"Two {what} {percent(wording.wording_change)} % of the time"
    changed = f"{count(wording.n_changed)} of {plural(wording.n_problems, problem)} change"
    changed += "s" * (wording.n_problems == 1)
    if flips := list(filter(known, (scored.noise_floor or {}).get("flip_rate", {}).values())):
        changed += f"; asked again unchanged, answers differ {percent(max(flips))} % of the time"
    if wording.n_right is None:
        return Finding(claim, sure, changed)
    parts = f"{count(wording.n_right)} right in every {each}, {count(wording.n_depends)} right in some"
    return Finding(claim, sure, changed, f"{parts}, {count(wording.n_wrong)} wrong in every {each}")


def no_interval(scored: SetScores) -> str:
    """Return why a value of a set has no interval."""
    if scored.until is None:
        return f"too few {scored.rows.nouns[0]}s for an interval"
    return f"asked until {scored.until.condition}: only {scored.until.quantity} has an interval"


def cited(sets: Mapping[str, SetScores], name: str = "") -> str:
    """Return what is found of a set (of all, without a name), of how many problems, and its numbers' signatures."""
    parts = list[str]()
    for name_of_set, scored in sets.items():
        if name in ("", name_of_set):
            size = f"{plural(scored.rows.n_problems, 'problem')} in {plural(len(scored.rows), 'row')}."
            lines = dict.fromkeys(str(values["signature"]) for values in scored.measures.values())
            parts += [f"{name_of_set}:", str(finding(scored)), size, *lines]
    return " ".join(filter(None, parts))


def corrected_quantity(key: str) -> Quantity:
    """Return what people's checks correct."""
    from paraconsist.scoring.outcomes import CHANCE, OF_WORDINGS  # reads rows, which takes pyarrow

    return next((q for q in (*OF_WORDINGS, CHANCE, *PARAPHRASTIC.quantities) if q.key == key), Quantity(key, key, key))


def _rate(key: str) -> Cell:
    return Cell(corrected_quantity(key).label, head=True, symbols=True)


def corrected(name: str, checked: Checked) -> Table:
    """Return rates corrected by answers that people checked, with the comparer's errors, a line each."""
    columns = [
        Column("rate", words=True),
        Column("by the comparer", interval="interval"),
        Column("corrected", interval="interval"),
        Column("sensitivity", interval="interval"),
        Column("false matches", interval="interval"),
        Column("checked"),
    ]
    rows = []
    for key, rate in checked.rates.items():
        unit = PERCENT if corrected_quantity(key).is_share else QUANTITY
        rates = [replace(share(rate, each), unit=unit) for each in ("observed", "corrected")]
        errors = [share(rate, each) for each in ("sensitivity", "false_match_rate")]
        rows.append([_rate(key), *rates, *errors, Cell(rate.n_labels, unit=NUMBER)])
    agreed = [
        f"Two people gave {count(each['n_labels'])} of the labels `{kind}`, {percent(each['share'])} % of them alike "
        f"(kappa {decimal(each['kappa'], digits=2)}): no comparer can be known to be better."
        for kind, each in checked.agreement.items()
    ]
    if "same_answer" in checked.rates and "chance" not in checked.rates:
        agreed += ["Same answer above chance takes marked pairs of different problems: `paraconsist sheet --apart 50`."]
    return Table(f"{name}: corrected by answers that people checked", columns, rows, " ".join(agreed), wide=True)


def validity(name: str, found: Validity) -> Iterator[Table]:
    """Yield the share of wordings that are no paraphrases, how their check errs, and bounds of rates without them."""
    kinds = [(f"{column}: {kind}", values) for column, by in found.by.items() for kind, values in by.items()]
    shares = [
        [Cell(kind, head=True), Cell(v["invalid"], bounds(v, "confidence_interval"), PERCENT), Cell(v["n_labels"])]
        for kind, v in [("all", found), *kinds]
    ]
    columns = [Column("wordings", words=True), Column("no paraphrase", interval="interval"), Column("judged")]
    yield Table(f"{name}: wordings that people judged (per cent)", columns, shares)
    if found.check is not None:
        columns = [Column(of, interval="interval") for of in ("of the valid", "of the others")]
        cells = [share(found.check, key) for key in ("sensitivity", "false_match_rate")]
        columns, cells = [*columns, Column("judged")], [*cells, Cell(found.check.n_labels)]
        yield Table(f"{name}: what the check kept (per cent)", columns, [cells])
    ends = {key: (of.low, of.high, *of.confidence_interval) for key, of in found.bounds.items()}
    rows = [[_rate(key), *(Cell(end, unit=PERCENT) for end in of)] for key, of in ends.items()]
    columns = [Column("rate", words=True), *map(Column, ("at least", "at most", "low", "high"))]
    caption = "Low and high: with the intervals of the rate and of the share of wordings that are no paraphrases."
    yield Table(f"{name}: bounds among valid paraphrases (per cent)", columns, rows, caption)
    if among := {key: of for key, of in found.among_valid.items() if not of.refused}:
        columns = [Column("rate", words=True), Column("among valid", interval="interval"), Column("pairs judged")]
        rows = [
            [_rate(key), Cell(of.value, of.confidence_interval, PERCENT), Cell(of.n_pairs)] for key, of in among.items()
        ]
        caption = "From the answers to wordings that people judged, and to all others."
        yield Table(f"{name}: rates among valid paraphrases (per cent)", columns, rows, caption)


def first_look(sets: Mapping[str, SetScores], warnings: Sequence[str]) -> Iterator[Part]:
    """Yield what a reader wants first: the findings, the first numbers, and a line for each warning about the rows."""
    parts, of_rows = [*score_tables(sets, is_first=True)], tuple(w for scored in sets.values() for w in scored.warnings)
    yield from (part for part in parts if isinstance(part, Table) or part.kind not in ("warning", "signature"))
    shown = [warning for warning in warnings if warning.endswith(of_rows)]
    yield from (Line(shorten(warning, 110, placeholder=" ..."), "warning") for warning in shown)
    more = f"{plural(n, 'more warning')} in `.warnings`. " if (n := len(warnings) - len(shown)) else ""
    yield Line(f"{more}Every number and breakdown: `.to_markdown()`.")
    yield from dict.fromkeys(part for part in parts if isinstance(part, Line) and part.kind == "signature")


def score_tables(
    sets: Mapping[str, SetScores], *, figures: bool = False, published: bool = True, is_first: bool = False
) -> Iterator[Part]:
    """Yield the tables of every set; with `figures` also the answers behind the rates on pairs.

    Without `published` the numbers that papers print of the same sets are left out; of a first look, breakdowns.
    """
    from paraconsist.reporting.papers import published_tables  # reads tables, which takes pyarrow

    by_model = {"": sets}
    for name, scored in sets.items():
        if (found := finding(scored)).claim:
            yield Line(f"{name}: {found}", "finding")
        for measure, values in scored.measures.items():
            spec = CATALOGUE[measure]
            if _has_own_table(spec, values):
                yield headline(name, scored, spec, _FIRST if is_first and spec is PARAPHRASTIC else None)
                yield from relations(name, scored) if spec is COHERENCE else ()
                has_strata = not is_first and (spec is PARAPHRASTIC or scored.source.columns.stratum)
                yield from strata(name, {"": scored}, spec) if has_strata else ()
                said = [*scored.warnings, *values["warnings"]]
                yield from remarks(said, [values["signature"]], scored.rows.nouns[0])
        if (change := scored.measures.get(CHANGE.name)) is not None:
            changed = changes(name, {"": change})
            yield replace(changed, title=f"{name}: {changed.title[0].lower()}{changed.title[1:]}")
            yield from remarks([*scored.warnings, *change["warnings"]], [change["signature"]])
    yield from rates(by_model, own_tables=False)
    of_rates = [*_rate_lines(by_model, own_tables=False)]
    for name, _, spec, scored, _ in of_rates:
        of_set = f"{name}: " * (len(sets) > 1)
        broken_down = strata(name, {"": scored}, spec) if scored.source.columns.stratum else ()
        yield from (replace(each, title=f"{of_set}{each.title}") for each in broken_down)
    of_sets = ((name, each) for name, _, _, scored, rate in of_rates for each in (*scored.warnings, *rate["warnings"]))
    yield from remarks([f"{name}: {each}" for name, each in of_sets], [rate["signature"] for *_, rate in of_rates])
    yield from published_tables(sets) if published else ()
    yield from () if is_first else policies(sets)
    for name, scored in sets.items():
        if scored.noise_floor is not None:
            yield noise(name, scored.noise_floor)
            yield from remarks(scored.noise_floor["warnings"], [scored.noise_floor["signature"]])
    for name, scored in sets.items():
        if scored.checked is not None and scored.checked.rates:
            yield corrected(name, scored.checked)
        if scored.validity is not None:
            yield from validity(name, scored.validity)
    for name, scored in sets.items() if figures else ():
        for measure, parts in scored.figures.items():
            yield transitions(name, measure, parts)
            yield from confidence(name, measure, parts)
