"""What the package's entry point names."""

from .tasks import guided, letters, words

__all__ = ["guided", "letters", "words"]
