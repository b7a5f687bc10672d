"""A package with tasks of inspect_ai, as it is installed: its modules import one another, an entry point names them."""
