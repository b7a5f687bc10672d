"""paraconsist: does a language model give the same answer however a question is phrased?

    import paraconsist as pc

    scores = pc.score(df, bucket="question_id", prediction="answer", label="gold")    # or a path, a log, a run folder
    pc.compare(scores, other)
    pc.run("ORG/MODEL", "paranlu:delta_snli", output="runs/a").score()

Every name is imported on first use, so that importing the package is quick. `__init__.pyi` lists them.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

#: Name -> the module that defines it.
_HOMES = {
    name: home
    for home, name in re.findall(
        r"^from (\S+) import (\w+)", Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"), re.MULTILINE
    )
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from paraconsist.errors import extras

    with extras(name):
        value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
