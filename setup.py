"""The packages: what lies under src/, and the two folders of the Hub's repositories, which stand at the top level."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

# metrics/<name> and the folder of a page's templates are packages without an __init__.py; built data is no package
EXCLUDED = ["*__pycache__*", "*.egg-info*", "*.data", "*.data.*"]
FOLDERS = {"paraconsist": "src/paraconsist", "paraconsist.metrics": "metrics"}
FOLDERS["paraconsist.dataset_builders"] = "dataset_builders"

#: A relative target of a link or picture in Markdown or HTML.
RELATIVE = re.compile(r"""(\]\(|(?:src|srcset|href)=")(?![a-z]+:|[#/])([^)\s"]+)""")
PICTURES = (".png", ".svg", ".gif", ".jpg", ".webp")


def absolute(text: str, repository: str) -> str:
    """Return Markdown whose links and pictures are of the repository, for pages elsewhere, such as PyPI's."""

    def replaced(link: re.Match[str]) -> str:
        kind = "raw" if link[2].endswith(PICTURES) else "blob"
        return f"{link[1]}{repository}/{kind}/main/{link[2].removeprefix('./')}"

    return RELATIVE.sub(replaced, text)


root = Path(__file__).parent
(url,) = re.findall('^Repository = "(.+)"', (root / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)

setup(
    long_description=absolute((root / "README.md").read_text(encoding="utf-8"), url),
    long_description_content_type="text/markdown",
    packages=[
        package
        for top, folder in FOLDERS.items()
        for package in (top, *(f"{top}.{name}" for name in find_namespace_packages(folder, exclude=EXCLUDED)))
    ],
    package_dir=FOLDERS,
)
