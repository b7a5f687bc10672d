"""What options are made of: fields that say what they mean, to Python and to the command line alike.

`paraconsist.cli.options.spread` makes options of such fields. Standard library only.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

# What several options mean.
DATA_DIR = "Folder with the upstream files, used instead of the network."
DEVICE = "cpu, cuda or mps; by default the best one available."
LABEL_MAP = "MODEL_LABEL=TASK_LABEL, repeated; may be many-to-one."
LABEL_RULE = "Where labels map many to one: 'argmax' (the most probable label) or 'sum' (their probabilities)."
TASK = "Task of the rows, where their columns do not say."


def option(default: Any, help: str, **more: Any) -> Any:
    """Return a field: its default, what it means, and what it may be.

    In `more`, ``min``, ``max``, ``metavar`` and ``rich_help_panel`` are typer's; ``option`` is its name on the command
    line, where that is not the field's; the class itself may read others (``at_least``, ``choices``).
    """
    return field(default=default, metadata={"help": help, **more})
