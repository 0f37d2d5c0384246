"""What every paper's reproduction is: rows and findings, a folder, a page, and what a terminal shows."""

import importlib.metadata
import platform
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.errors import ConfigurationError
from ..running.folder import RunFolder
from .findings import Finding, count_in_words, findings_in_markdown, show_findings
from .sheets import Sheet, flatten, markdown_of, show_sheet

__all__ = [
    "PaperReproduction",
    "check_data",
    "check_trials",
    "page_of",
    "say_nothing",
    "show_sheets_and_findings",
    "versions_here",
    "write_reproduction",
]


class PaperReproduction(msgspec.Struct, frozen=True, kw_only=True):
    """What all papers' reproductions have.

    Args:
        trials: of each cell.
        seed: of everything drawn.
        versions: of what computed it.
        paper_findings: what the paper says, and whether it holds.
        own_findings: what we add to it.
    """

    trials: int
    seed: int
    versions: Mapping[str, str]
    paper_findings: tuple[Finding, ...] = ()
    own_findings: tuple[Finding, ...] = ()

    @property
    def findings(self) -> dict[str, tuple[Finding, ...]]:
        """All findings, by their heading."""
        return {"What the paper says": self.paper_findings, "What we add": self.own_findings}

    @property
    def tables(self) -> dict[str, tuple[msgspec.Struct, ...]]:
        """The rows of each file, by its name."""
        return {}


def check_trials(*, trials: int, seed: int, least: int, most: int) -> None:
    """Raise ConfigurationError unless a reproduction can have so many trials, from `least` to `most`, and this seed."""
    if not least <= trials <= most:
        raise ConfigurationError(field="--trials", value=trials, allowed=f"from {least} to {most:,}")
    if seed < 0:
        raise ConfigurationError(field="--seed", value=seed, allowed="an integer >= 0")


def check_data(folder: str) -> None:
    """Raise ConfigurationError unless a folder of data sets is one, or none is named."""
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(field="data", value=folder, allowed="a folder of data sets")


def versions_here() -> dict[str, str]:
    """Return the versions of what computes a reproduction."""
    return {
        "psephos": importlib.metadata.version("psephos"),
        "numpy": importlib.metadata.version("numpy"),
        "python": platform.python_version(),
    }


def say_nothing(line: str) -> None:
    """Be told of progress, and keep it for oneself."""
    del line


def write_reproduction(folder: RunFolder, reproduction: PaperReproduction, *, kept: Sequence[str], page: str) -> None:
    """Write a reproduction: a CSV for each table with rows, `reproduction.json`, `summary.md`.

    Args:
        folder: the run's.
        reproduction: what was measured.
        kept: its fields that `reproduction.json` has beside the tables, in order.
        page: the content of `summary.md`.
    """
    tables = {name: [flatten(row) for row in rows] for name, rows in reproduction.tables.items() if rows}
    for name, rows in tables.items():
        folder.write_table(f"{name}.csv", rows)
    folder.write_json("reproduction.json", {**{name: getattr(reproduction, name) for name in kept}, "tables": tables})
    (folder.path / "summary.md").write_text(page, encoding="utf-8")


def page_of(
    reproduction: PaperReproduction,
    opening: Iterable[str],
    *,
    captions: Mapping[str, str],
    sheets: Iterable[Sheet],
    prefix: str,
) -> str:
    """Return the page of a reproduction: what holds and what does not, the pictures, all tables.

    Args:
        reproduction: what was measured.
        opening: the title and the first paragraphs.
        captions: of the pictures, by name; none for a page without pictures.
        sheets: the tables.
        prefix: of the pictures' names.
    """
    parts = [*opening]
    for heading, findings in reproduction.findings.items():
        parts += [f"## {heading}", count_in_words(findings), findings_in_markdown(findings)]
    if captions:
        parts.append("## Pictures")
        parts += [f"![{words}]({prefix}{name}.png)\n\n{words}" for name, words in captions.items()]
    parts.append("## Tables")
    parts += [markdown_of(sheet) for sheet in sheets]
    return "\n\n".join(parts) + "\n"


def show_sheets_and_findings(
    console: Console,
    reproduction: PaperReproduction,
    *,
    sheets: Iterable[Sheet],
    warnings: Iterable[str] = (),
    notes: Iterable[str],
) -> None:
    """Print all tables, and what holds and what does not.

    Args:
        console: where to.
        reproduction: what was measured.
        sheets: its tables.
        warnings: what is not there, and why.
        notes: the last lines.
    """
    for sheet in sheets:
        show_sheet(console, sheet)
    for heading, findings in reproduction.findings.items():
        show_findings(console, heading, findings)
    console.print()
    for style, lines in (("yellow", warnings), ("dim", notes)):
        for line in lines:
            console.print(Text(line, style=style))
