"""The numbers that the papers print, as one table: 816 results of their models, with where each stands."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from paraconsist.errors import input_error

#: What `paper` in the table stands for.
PAPERS = {
    "J22": "Jang, Kwon, Lukasiewicz (2022), BECEL: Benchmark for Consistency Evaluation of Language Models, COLING",
    "V23": (
        "Verma, Lal, Sinha, Van Durme, Poliak (2023), Evaluating Paraphrastic Robustness in Textual Entailment Models, "
        "ACL"
    ),
    "S24": (
        "Srikanth, Carpuat, Rudinger (2024), How Often Are Errors in Natural Language Reasoning Due to Paraphrastic "
        "Variability?, TACL"
    ),
    "A24": (
        "Arakelyan, Liu, Augenstein (2024), Semantic Sensitivities and Inconsistent Predictions: Measuring the "
        "Fragility of NLI Models, EACL"
    ),
}
#: Measures that are printed as plain numbers; all others are in per cent.
_NUMBERS = {
    *("batch_size_per_gpu", "learning_rate", "max_length", "original_length", "variant_length", "rho"),
    *("fuzzy_token_match", "token_overlap", "lexical_distance", "semantic_similarity", "syntactic_distance"),
}
_TYPES = {name: pa.string() for name in ("paper", "table", "dataset", "model", "size", "measure", "note")}
_TYPES |= {"value": pa.float64(), "sd": pa.float64()}


def published(
    *,
    paper: str | Sequence[str] | None = None,
    dataset: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
    measure: str | Sequence[str] | None = None,
) -> pa.Table:
    """Return numbers that the papers print of their models.

    Parameters
    ----------
    paper : str or sequence of str, optional
        ``J22`` (BECEL), ``V23`` (PaRTE), ``S24`` (ParaNLU) or ``A24`` (semantic sensitivity).
    dataset, model : str or sequence of str, optional
        As in the papers, sets in the spelling of this package: ``delta_snli``, ``DeBERTa-V3``.
    measure : str or sequence of str, optional
        By the keys of this package's results where it has the measure: ``paraphrastic_consistency`` is the plug-in
        estimator of S24, ``semantic_inconsistency`` the tau of J22.

    Returns
    -------
    table : pa.Table
        A row for each number, with all the filters in common: ``paper``, ``table`` (its number there), ``dataset``,
        ``model``, ``size``, ``measure``, ``value`` and ``sd`` as printed, ``unit`` of both (``%``, or empty for a plain
        number), ``note``, ``source``.

    Raises
    ------
    InputError
        For a name that no row has; the message lists those there are.

    Examples
    --------
    >>> table = published(paper="S24", dataset="delta_snli", measure="paraphrastic_consistency")
    >>> table.num_rows, max(table["value"].to_pylist())
    (8, 89.3)
    """
    with files(__package__).joinpath("published.csv").open("rb") as stream:
        options = pyarrow.csv.ConvertOptions(column_types=_TYPES, strings_can_be_null=True)
        table = pyarrow.csv.read_csv(stream, convert_options=options)
    for name, wanted in {"paper": paper, "dataset": dataset, "model": model, "measure": measure}.items():
        if wanted is None:
            continue
        names = [wanted] if isinstance(wanted, str) else [*wanted]
        there = table[name].unique().to_pylist()
        for one in names:
            if one not in there:
                must = f"be one of {', '.join(there)}" if there else "be in the rows that fit the other filters"
                raise input_error("published", name, must, got=one)
        table = table.filter(pc.is_in(table[name], pa.array(names)))
    is_number = pc.is_in(table["measure"], pa.array(sorted(_NUMBERS)))
    table = table.append_column("unit", pc.if_else(is_number, "", "%"))
    return table.append_column("source", pa.array([PAPERS[one] for one in table["paper"].to_pylist()], pa.string()))
