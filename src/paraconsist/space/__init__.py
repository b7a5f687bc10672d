"""The interface in the browser: one gradio app that every metric's Space starts with its own name."""

from __future__ import annotations

from paraconsist.space.launching import launch

__all__ = ["launch"]
