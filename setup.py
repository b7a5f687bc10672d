"""The packages: what lies under src/, and the two folders of the Hub's repositories, which stand at the top level."""

from setuptools import find_packages, setup

FOLDERS = {"paraconsist.metrics": "metrics", "paraconsist.dataset_builders": "dataset_builders"}
OUTSIDE = [name for top, folder in FOLDERS.items() for name in (top, *(f"{top}.{p}" for p in find_packages(folder)))]

setup(packages=[*find_packages("src"), *OUTSIDE], package_dir={"paraconsist": "src/paraconsist", **FOLDERS})
