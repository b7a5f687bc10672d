"""The `paraconsist` command."""

from __future__ import annotations

from paraconsist.running.processes import end_with_launcher


def main() -> None:
    end_with_launcher()
    from paraconsist.cli.app import main as _main

    _main()
