"""The glossary of indices: every line of it holds on rows of the kind that it names, and no index is left out."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from helpers.scripts import ROOT, load_script
from measures.test_prompt_sensitivity import made

import paraconsist as pc
from paraconsist.measures.prompt_sensitivity import PromptSensitivityResult
from paraconsist.measures.results import Result

glossary = load_script("docs/tables.py").index_tables
ROWS = glossary.index_rows()
IDENTITIES = [(row["index"], row["equals"], row["where"]) for row in ROWS if row["equals"]]
#: Where -> least and greatest number of wordings, less one; labels.
KINDS = {
    "always": ((1, 7), 3),
    "k wordings each": ((4, 5), 3),
    "two wordings": ((2, 3), 3),
    "two wordings, two labels": ((2, 3), 2),
    "variants": ((7, 8), 3),
}
NO_INDEX = {
    "n_buckets",
    "n_examples",
    "variant_accuracies",
    "chance_corrected",
    "chance",
    "spread_by_chance",
    "spread_p_value",
}


def names(where: str, seed: int) -> dict[str, Any]:
    """What an expression may name: results of the measures on rows of this kind."""
    sizes, n_labels = KINDS[where]
    columns = made(seed, n_labels=n_labels, sizes=sizes)
    rows = {name: columns[name] for name in ("predictions", "references", "buckets")}
    found = pc.prompt_sensitivity(**columns, draws=(1, 2, 4)).to_dict()
    found |= {"k": sizes[0], "log": np.log, "paraphrastic_consistency": pc.paraphrastic_consistency(**rows)}
    if sizes == (2, 3):
        pairs = np.array(columns["predictions"]).reshape(-1, 2).T
        gold = np.array(columns["references"])[::2]
        found["semantic_inconsistency"] = pc.semantic_inconsistency(*pairs)
        found["prediction_change"] = pc.prediction_change(pairs[1], pairs[0], references=gold)
    return found


@pytest.mark.parametrize(("index", "equals", "where"), IDENTITIES, ids=lambda part: str(part).replace(" ", ""))
def test_an_identity_holds(index, equals, where):
    for seed in (0, 1):
        values = names(where, seed)
        assert values[index] % 1 > 0  # it is neither nothing nor all
        assert eval(equals, values) == pytest.approx(values[index], abs=1e-12)


def test_where_is_needed():
    """On problems of unequal size what holds for equal ones only does not."""
    values = names("always", 0) | {"k": 4}
    of_one_size = [row for row in IDENTITIES if row[2] == "k wordings each"]
    holds = [row for row in of_one_size if not any(word in "".join(row) for word in ("str(k)", "fleiss"))]
    assert len(holds) >= 5
    for index, equals, _ in holds:
        assert eval(equals, dict(values)) != pytest.approx(values[index], abs=1e-9), (index, equals)


def test_24_indices_of_14_papers():
    indices = {row["index"] for row in ROWS}
    assert (
        indices == {one.name for one in fields(PromptSensitivityResult)} - {f.name for f in fields(Result)} - NO_INDEX
    )
    assert len(indices) >= 24
    cited = {number for row in ROWS for number in row["papers"].split()}
    assert cited == set(glossary.papers())
    assert len(cited) >= 14
    card = (ROOT / "metrics" / "prompt_sensitivity" / "README.md").read_text(encoding="utf-8")
    assert "](../../docs/concepts/indices.md)" in card
    assert all(f"`{index}`" in card for index in indices)
