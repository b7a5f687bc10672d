"""A page on which people fill in a sheet of `paraconsist sheet`, by keys, and save it as CSV."""

from __future__ import annotations

import hashlib

import pyarrow as pa

from paraconsist.files import to_json
from paraconsist.reporting.page.browser import script_json
from paraconsist.reporting.page.write import filled
from paraconsist.scoring.checked import Kind

_SHOWN = {
    "same": [["question_1", "answer_1"], ["question_2", "answer_2"]],
    "right": [["question", "accepted"], ["answer"]],
}
#: What is asked, what the page says of it, and the words for yes and no.
_ASKED = {
    "same": (
        "Do the two answers say the same?",
        "Each row has two answers, to one problem or to two.",
        "The same",
        "Not the same",
    ),
    "right": ("Is the answer right?", "Each row has an answer, and those that are accepted.", "Right", "Wrong"),
}


def sheet_page(sheet: pa.Table, mark: Kind, file: str) -> str:
    """Return a page of its own in which a drawn sheet is filled in; it saves the sheet as a CSV called `file`."""
    from markupsafe import Markup

    people = [name for name in sheet.column_names if name == mark or name.startswith(f"{mark}_")]
    rows = [[*row.values()] for row in sheet.to_pylist()]
    digest = hashlib.sha256(to_json(rows).encode("utf-8", "replace")).hexdigest()[:16]
    whole = {"columns": sheet.column_names, "rows": rows, "people": people, "shown": _SHOWN[mark], "id": digest}
    title, about, yes, no = _ASKED[mark]
    data = Markup(script_json(whole))
    asked = {"title": title, "about": about, "yes": yes, "no": no, "people": people, "file": file}
    return filled("sheet.html", data=data, **asked)
