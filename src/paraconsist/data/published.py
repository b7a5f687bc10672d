"""The numbers that the papers print, as one table: 816 results of their models, each with its source."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from paraconsist.data.arrays import own_stream
from paraconsist.errors import check_names, input_error

#: The papers, by the names in the column `paper`.
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
#: Measures that are printed as plain numbers; all others are percentages.
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
    """Return the numbers that the papers print for their models.

    Parameters
    ----------
    paper : str or sequence of str, optional
        ``J22`` (BECEL), ``V23`` (PaRTE), ``S24`` (ParaNLU) or ``A24`` (semantic sensitivity).
    dataset, model : str or sequence of str, optional
        Names as in the papers; sets as in this package: ``delta_snli``, ``DeBERTa-V3``.
    measure : str or sequence of str, optional
        Keys of this package's results, if it has the measure: ``paraphrastic_consistency`` is the plug-in estimator of
        S24, ``semantic_inconsistency`` the tau of J22.

    Returns
    -------
    table : pa.Table
        A row for each number that matches all filters: ``paper``, ``table`` (its number there), ``dataset``, ``model``,
        ``size``, ``measure``, ``value`` and ``sd`` as printed, ``unit`` of both (``%`` or empty), ``note``, ``source``.

    Raises
    ------
    InputError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> table = published(paper="S24", dataset="delta_snli", measure="paraphrastic_consistency")
    >>> table.num_rows, max(table["value"].to_pylist())
    (8, 89.3)
    """
    stream = own_stream(files(__package__).joinpath("published.csv").read_bytes())
    options = pyarrow.csv.ConvertOptions(column_types=_TYPES, strings_can_be_null=True)
    table = pyarrow.csv.read_csv(stream, convert_options=options)
    for name, wanted in {"paper": paper, "dataset": dataset, "model": model, "measure": measure}.items():
        if wanted is None:
            continue
        names = check_names("published", name, wanted)
        known = table[name].unique().to_pylist()
        for unknown in (value for value in names if value not in known):
            must = f"be one of {', '.join(known)}" if known else "be in the rows that fit the other filters"
            raise input_error("published", name, must, got=unknown)
        table = table.filter(pc.is_in(table[name], pa.array(names)))
    is_number = pc.is_in(table["measure"], pa.array(sorted(_NUMBERS)))
    table = table.append_column("unit", pc.if_else(is_number, "", "%"))
    return table.append_column("source", pa.array(map(PAPERS.__getitem__, table["paper"].to_pylist()), pa.string()))
