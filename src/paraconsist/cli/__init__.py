"""The `paraconsist` command."""

from __future__ import annotations

from paraconsist.cli.ends import hear_signals, one_exit
from paraconsist.running.processes import end_with_launcher


def main() -> None:
    hear_signals()
    with one_exit():
        end_with_launcher()
        from paraconsist.cli.app import main as _main

        _main()
