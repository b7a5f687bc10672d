"""Default intervals hold: a short version of ``benchmarks/coverage.py``, in the designs where intervals ran short."""

import pytest
from helpers.scripts import load_script

coverage = load_script("benchmarks/coverage.py")
SHORT = {
    "buckets": ("30 x 5", "12 unequal contexts", "accuracy .97, 60 x 5"),
    "corrected": ("snli, 5 a decile",),
    "pairs": ("50 originals x 8", "12 groups of 1 to 80", "40 texts in 400 pairs"),
    "shift": ("13 changed pairs",),
}


@pytest.mark.slow
@pytest.mark.parametrize("family", SHORT)
def test_default_intervals_hold(family: str) -> None:
    designs = [design for design in coverage.FAMILIES[family]() if design.name in SHORT[family]]
    assert len(designs) == len(SHORT[family])
    shown = 0
    for design in designs:
        for key, cell in coverage.cells(design, 500, seed=0).items():
            assert cell.holds, f"{design.name}, {key}: {cell.covered:.1f} %"
            shown += cell.shown >= coverage.LEAST_SHOWN
    assert shown


def test_a_cell_that_does_not_hold_is_seen() -> None:
    """The test above can fail: an interval that covers 90 % of the time does not hold, nor one that always does."""
    assert not coverage.Cell(1.0, 0.05, 0.05, 0.1, 2_000).holds
    assert not coverage.Cell(1.0, 0.0, 0.0, 0.1, 2_000).holds
    assert coverage.Cell(1.0, 0.025, 0.025, 0.1, 2_000).holds
