"""Sphinx's configuration: the manual is Markdown, the reference comes from the docstrings."""

import importlib.metadata

project = "Psephos"
author = "The Psephos developers"
version = release = importlib.metadata.version("psephos")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Psephos"
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
suppress_warnings = [
    "misc.highlighting_failure",  # Mermaid is for whatever renders it; here it is text
    "myst.xref_missing",  # README's links lead to files of the repository
]
