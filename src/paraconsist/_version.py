"""The version, where every room can read it without importing the package's face."""

from importlib.metadata import version

__version__: str = version("paraconsist")
