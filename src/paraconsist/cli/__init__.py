"""The `paraconsist` command."""

from __future__ import annotations


def main() -> None:
    from paraconsist.cli.app import main as _main

    _main()
