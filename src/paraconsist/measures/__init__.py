"""The measures: arrays in, numbers with intervals out. numpy and scipy alone; each name is imported from its file."""
