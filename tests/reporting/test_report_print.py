"""The printed page: no controls, its shading, no heading alone at the end of a sheet, buckets one after another."""

import re
from importlib.resources import files

STYLES = files("paraconsist.reporting.page") / "templates"


def test_rules_of_print():
    (rules,) = re.findall(r"@media print \{(.*?)\n\}", (STYLES / "style.css").read_text(encoding="utf-8"), re.DOTALL)
    found = {selector.strip(): body for one in re.findall(r"([^{}]+)\{([^{}]+)\}", rules) for selector, body in [one]}
    of = {part.strip(): body for selectors, body in found.items() for part in re.split(r",(?![^(]*\))", selectors)}
    assert all("display: none" in of[control] for control in ("button", "select", "input"))
    assert all("break-after: avoid" in of[heading] for heading in ("h1", "h2", "h3", "h4", "caption", "thead"))
    assert "print-color-adjust: exact" in of["*"]
    assert "break-inside: avoid" in of["figure"]
    assert "display: none" in of[".heat tbody tr:nth-child(n + 41):not(:last-child)"]  # the last is of the others
    assert ".bucket" not in of  # else a tall one begins a new sheet, and leaves the rest of the last one empty
