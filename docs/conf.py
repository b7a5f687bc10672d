"""The documents' site: `make docs` builds it without a network, and stops at a warning.

Pages are Markdown (MyST); those with ``{code-cell}`` run as they are built. `generated.py` writes the pages of measures
and commands from the catalogue, the cards and the command line. Formulas become MathML, so no script draws them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError

# Cells call the commands of this environment, and their tables are as wide as a page.
os.environ |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}
os.environ |= {"HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
sys.path.insert(0, str(Path(__file__).resolve().parent))
import generated

project, author = "paraconsist", "The paraconsist authors"
project_copyright = "2026, the paraconsist authors. Apache-2.0"
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_copybutton",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
default_role = "code"
smartquotes = False

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]

autodoc_typehints = "none"
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "paraconsist"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {page: [] for page in ("install", "which_measure", "gallery", "faq", "glossary")}
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
}


def math(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, on a line of its own where it stands so."""
    is_block = isinstance(node, nodes.math_block)
    try:
        text = tex2mathml(node.astext().replace(r"\dots", r"\ldots"), as_block=is_block)
    except MathError as error:
        raise ExtensionError(f"{node.source}: {node.astext()}: {error}") from None
    translator.body.append(f'<div class="math">{text}</div>' if is_block else text)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect the parts that are written here."""
    app.add_html_math_renderer("mathml", (math, None), (math, None))
    app.connect("builder-inited", lambda app: generated.write_pages(Path(app.srcdir)))
    app.connect("build-finished", generated.write_markdown)


html_math_renderer = "mathml"
