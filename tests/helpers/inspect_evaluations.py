"""inspect_ai in this process, with a function as its model; nothing asks a network."""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def installed() -> Iterator[None]:
    """Where its libraries may warn, and paraconsist is the one that is installed.

    ``python -m pytest`` puts the checkout first, whose metadata do not say that it is installed in place.
    """
    path = [place for place in sys.path if Path(place).resolve() != ROOT]
    with warnings.catch_warnings(), mock.patch.object(sys, "path", path):
        warnings.simplefilter("ignore")
        yield


def plugin() -> Any:
    """The extension's module, as inspect_ai imports it."""
    with installed():
        from paraconsist.plugins import inspect_ai

        return inspect_ai


def mock_model(answer: Callable[[str], str]) -> Any:
    """``inspect_ai``'s mock model, which answers the last message."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def respond(messages: Any, *_: Any) -> Any:
        output = ModelOutput.from_content("mock", answer(messages[-1].text))
        output.usage = ModelUsage()  # else it counts tokens, by a file that it downloads
        return output

    return get_model("mockllm/model", custom_outputs=respond, memoize=False)


def inspect_eval(task: Any, answer: Callable[[str], str] | str, folder: Path, **options: Any) -> Any:
    """Evaluate a task on the mock model, or on one by its name; return the log."""
    with installed():
        import inspect_ai

        settings = {"display": "none", "log_dir": str(folder), "log_format": "eval", "log_realtime": False}
        model = answer if isinstance(answer, str) else mock_model(answer)
        (log,) = inspect_ai.eval(task, model=model, **settings, **options)
        gc.collect()  # streams that it left open say so when they are collected
    return log
