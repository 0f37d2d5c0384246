"""Sphinx's configuration: the manual is Markdown, the reference comes from the docstrings.

What a page shows is in its folder: the pages work from a disk and without a network, diagrams, formulas and search
among it.
"""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from math_core import LatexError, LatexToMathML
from psephos.scenarios.cli import cli
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

project = "Psephos"
author = "The Psephos developers"
project_copyright = f"2026, {author}"
version = release = importlib.metadata.version("psephos")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}  # the page's Markdown is of no use to its readers
html_title = "Psephos"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_js_files = ["scrolling.js"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_fence_as_directive = ["mermaid", "math"]
html_math_renderer = "mathml"
myst_heading_anchors = 3
autosummary_generate = False  # the modules' pages are written below
autodoc_member_order = "bysource"
autodoc_typehints = "description"
copybutton_exclude = ".linenos, .gp"  # what is copied is what is typed: no prompt
suppress_warnings = [
    "ref.python",  # a type's short name, such as `range`, may also be some attribute's
    "misc.highlighting_failure",  # files of csv have no colors
]

TERMINAL_WIDTH = 80
NAMES = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="The manual">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '</noscript>\n\n<div id="search-results">': '</noscript>\n\n<h1>Search</h1>\n<div id="search-results">',
}
"""Of the theme's pages: parts that it leaves without the names that screen readers tell them apart by."""
REFERENCE = Path(__file__).parent / "reference"
FORMULAS = LatexToMathML()
MODULE = re.compile(r"^\.\. automodule:: (\S+)$", re.MULTILINE)
MODULES = re.compile(r"^```\{eval-rst\}\n(?:\.\. automodule:: .*\n(?:   :members:.*\n)?)+```$", re.MULTILINE)
ROOT_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages of the repository outside of docs/, of which the manual has a page that includes them."""


class Diagram(Directive):
    """A diagram in Mermaid's words, which `diagrams.js` draws where Mermaid lies beside the pages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the words as they are, for the page to draw."""
        words = nodes.Text("\n".join(self.content)).astext().replace("&", "&amp;").replace("<", "&lt;")
        return [nodes.raw("", f'<pre class="mermaid">{words}</pre>', format="html")]


class Commands(Directive):
    """A section for each command, with the help that it prints."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [
            nodes.section(
                "",
                nodes.title(text=context.command_path),
                nodes.literal_block(text=context.get_help(), language="text"),
                ids=[nodes.make_id(context.command_path)],
                names=[context.command_path],
            )
            for context in walk(cli, None)
        ]


def write_formula(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula as MathML, which browsers draw by themselves and screen readers read."""
    latex = node.astext().strip()
    try:
        formula = FORMULAS.convert_with_local_state(latex, displaystyle=True)
    except LatexError as error:
        logging.getLogger(__name__).warning("no formula: %s", error, location=node)
    else:
        translator.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def walk(command: click.Command, parent: click.Context | None) -> Iterator[click.Context]:
    """Yield a command and all below it, as their help knows them."""
    name = "psephos" if parent is None else command.name
    context = click.Context(command, parent=parent, info_name=name, terminal_width=TERMINAL_WIDTH)
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            if (below := command.get_command(context, each)) is not None and not below.hidden:
                yield from walk(below, context)


def write_module_pages(_: Sphinx) -> None:
    """Write a page for each module that `api.md` names."""
    REFERENCE.mkdir(exist_ok=True)
    modules = MODULE.findall((REFERENCE.parent / "api.md").read_text(encoding="utf-8"))
    for page in REFERENCE.glob("*.rst"):
        if page.stem not in modules:
            page.unlink()
    for module in modules:
        page = REFERENCE / f"{module}.rst"
        text = f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n   :members:\n"
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def list_modules(_: Sphinx, page: str, source: list[str]) -> None:
    """Let `api.md` list its modules with their first lines, each of which leads to the module's page."""

    def listed(found: re.Match[str]) -> str:
        lines = "".join(f"   {module}\n" for module in MODULE.findall(found[0]))
        return f"```{{eval-rst}}\n.. autosummary::\n   :toctree: {REFERENCE.name}\n\n{lines}```"

    if page == "api":
        source[0] = MODULES.sub(listed, source[0])


def lead_inside(_: Sphinx, __: str, source: list[str]) -> None:
    """Let links to pages of the repository lead to the manual's pages of them."""
    for file in ROOT_PAGES:
        page = Path(file).stem.lower()
        source[0] = source[0].replace(f"](../{file}", f"]({page}.md")


def draw_diagrams(app: Sphinx, page: str, __: str, ___: dict[str, object], doctree: nodes.document | None) -> None:
    """Load Mermaid, where it was fetched, on pages with a diagram, and on no other: it is large."""
    del page
    is_there = (Path(__file__).parent / "_static" / "mermaid.min.js").is_file()
    has_one = doctree is not None and any('class="mermaid"' in each.astext() for each in doctree.findall(nodes.raw))
    if is_there and has_one:
        for script in ("mermaid.min.js", "diagrams.js"):
            app.add_js_file(script)


def name_parts(app: Sphinx, error: Exception | None) -> None:
    """Name the parts of each page that the theme leaves without a name."""
    if error is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            named = text
            for part, name in NAMES.items():
                named = named.replace(part, name)
            if named != text:
                page.write_text(named, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the above."""
    app.add_directive("commands", Commands)
    app.add_directive("mermaid", Diagram)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("builder-inited", write_module_pages)
    app.connect("source-read", list_modules)
    app.connect("source-read", lead_inside)
    app.connect("html-page-context", draw_diagrams)
    app.connect("build-finished", name_parts)
