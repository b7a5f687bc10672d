"""The packages: what lies under src/, and the two folders of the Hub's repositories, which stand at the top level."""

from setuptools import find_namespace_packages, setup

# metrics/<name> and the folder of a page's templates are packages without an __init__.py; built data is no package
EXCLUDED = ["*__pycache__*", "*.egg-info*", "*.data", "*.data.*"]
FOLDERS = {"paraconsist": "src/paraconsist", "paraconsist.metrics": "metrics"}
FOLDERS["paraconsist.dataset_builders"] = "dataset_builders"

setup(
    packages=[
        package
        for top, folder in FOLDERS.items()
        for package in (top, *(f"{top}.{name}" for name in find_namespace_packages(folder, exclude=EXCLUDED)))
    ],
    package_dir=FOLDERS,
)
