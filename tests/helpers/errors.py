"""Calls that are refused."""

from collections.abc import Callable
from typing import Any

import pytest

from paraconsist.errors import InputError


def refuses(sentence: str, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> None:
    """Assert that a call raises an `InputError` in which the pattern occurs."""
    with pytest.raises(InputError, match=sentence):
        function(*arguments, **options)
