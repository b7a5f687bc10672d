"""``paraconsist init``: questions, a test and a workflow to begin with."""

from __future__ import annotations

from pathlib import Path

from paraconsist.cli.options import argument, echo
from paraconsist.data.options import option
from paraconsist.errors import input_error
from paraconsist.files import replacing

_QUESTIONS = """\
# Questions that people ask, each in several wordings. `paraconsist list --comparers` says what `same` may be.
same: number            # two answers are the same if they conclude with the same number
# right: number         # when an answer is the same as an accepted one, if otherwise
# system: You work in a shoe shop.
questions:
  - id: days
    wordings:
      - How many days do I have to return a pair of shoes?
      - Within how many days can I send shoes back?
      - What is the deadline for a return, in days?
    expected: 30        # or a list of accepted answers; where you know them
  - id: shipping
    wordings:
      - What does shipping cost, in euro?
      - How much is the delivery fee in euro?
      - How many euro do you charge for sending a parcel?
    expected: 5
"""
_TEST = '''\
"""Does the app give the same answer however a question is put? `pytest --paraconsist-report report.html`"""


def app(prompts):
    """Return an answer, as text, to each of a list of questions: call your own function, chain or API here."""
    return ["You have 30 days." if "day" in prompt else "It costs 5 euro." for prompt in prompts]


def test_consistent(paraconsist):
    paraconsist.assert_consistent(app, "questions.yaml", condition="wording_change <= 10%")
'''
_WORKFLOW = """\
name: consistency
on: pull_request
jobs:
  consistency:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install 'paraconsist[report]' pytest  # and what your app needs, such as -r requirements.txt
      - run: pytest consistency_test.py --paraconsist-report report.html
        # env: {API_KEY: "${{ secrets.API_KEY }}"}     # where your app needs a key
      - if: always()
        uses: actions/upload-artifact@v4
        with: {name: consistency, path: report.html}
"""
_FILES = {
    "questions.yaml": _QUESTIONS,
    "consistency_test.py": _TEST,
    ".github/workflows/consistency.yml": _WORKFLOW,
}


def init(
    *,
    folder: Path = argument("Where to write.", Path()),
    overwrite: bool = option(False, "Write over files that are there."),
) -> None:
    """Write questions, a test and a workflow to begin with.

    paraconsist init
    paraconsist init my-app
    """
    there = [str(folder / name) for name in _FILES if (folder / name).exists()]
    if there and not overwrite:
        raise input_error("init", "folder", "have none of the files", got=there, remedy="Give `overwrite`.")
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
        echo(f"wrote {folder / name}")
    echo("Next: call your app in consistency_test.py, then: pytest --paraconsist-report report.html")
