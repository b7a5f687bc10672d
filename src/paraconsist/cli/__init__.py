"""The `paraconsist` command."""

from __future__ import annotations

from paraconsist.cli.ends import hear_signals, one_exit
from paraconsist.files import launched


def main() -> None:
    hear_signals()
    with one_exit():
        if launched()[1] > 1:
            from paraconsist.running.processes import end_with_launcher

            end_with_launcher()
        from paraconsist.cli.app import main as _main

        _main()
