"""lm-evaluation-harness in this process."""

import os
import sys
import warnings
from functools import partial
from unittest import mock


def lm_eval(*arguments: object) -> None:
    """Run the harness's command line; it looks for no tasks but ours (to read its own thousands takes 10 s)."""
    from lm_eval import tasks
    from lm_eval._cli import HarnessCLI

    only_ours = partial(tasks.TaskManager, include_defaults=False)
    with (
        mock.patch.object(tasks, "TaskManager", only_ours),
        mock.patch.object(sys, "argv", ["lm_eval", *map(str, arguments)]),
        mock.patch.dict(os.environ),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        parser = HarnessCLI()
        parser.execute(parser.parse_args())
