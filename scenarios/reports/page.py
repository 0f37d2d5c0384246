"""A page: blocks of text, tables and pictures, written as a single HTML file.

The file is self-contained and may load nothing: its Content-Security-Policy allows only the one style and the one
script in it, by their digests. All text passes Jinja's escaping. Control characters in names, such as marks that
reverse the text direction, are removed as in a terminal.
"""

import base64
import dataclasses
import functools
import hashlib
import importlib.metadata
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import jinja2

from ...protocol.errors import ConfigurationError, printable, refuse
from ...transports.own_files import replace_private
from ..presentation.drawing import NARROW
from ..presentation.numbers import pluralize
from ..presentation.rows import MOST_ROWS
from ..tables import Cell, Table, Tone, csv_of
from ..verdicts import at_most
from .drawings import Classes, Drawing, inline_picture

_MOST_DOWNLOADED: Final = 5_000  # most rows of a table that can be downloaded from the page
_MARK: Final = b'<meta name="generator" content="Psephos'
_HEAD_BYTES: Final = 2_048
_TOGETHER: Final = re.compile(r"ε = |(?<=\d) ± |(?<=\d) %| (?=[:;?!](?:\s|$))")  # text without line breaks


@dataclasses.dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    tone: Tone = ""


@dataclasses.dataclass(frozen=True)
class Facts:
    """Pairs of labels and facts."""

    facts: Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceStep:
    """A step in a sequence of messages: to the server, to the parties, or on one side."""

    way: Literal["up", "down", "server", "parties"]
    title: str
    words: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceSteps:
    """Messages in order, between parties at the left and a server."""

    parties: str
    server: str
    steps: Sequence[SequenceStep]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Code:
    """A text to copy, such as a command, with its explanation."""

    text: str
    words: str


Block: TypeAlias = Text | Facts | Table | Drawing | SequenceSteps | Code


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """Blocks under a heading, possibly a subsection, with an anchor if a cell links to it."""

    title: str
    blocks: Sequence[Block]
    is_part: bool = False
    anchor: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """A page: its kind, title, short facts, verdict sentences, and sections."""

    kind: str
    title: str
    facts: Sequence[str]
    verdict: Sequence[str]
    sections: Sequence[Section]
    tone: Tone = ""
    version: str = dataclasses.field(default_factory=functools.partial(importlib.metadata.version, "psephos"))


def epsilon_text(epsilon: object) -> str:
    """Format a loss for sentences, rounded up; null means unbounded, and is ∞."""
    return at_most(epsilon) if isinstance(epsilon, (int, float)) and math.isfinite(epsilon) else "∞"


def epsilon_cell(epsilon: float | None) -> Cell:
    """Format a loss for tables."""
    return Cell(epsilon_text(epsilon), math.inf if epsilon is None else epsilon)


def drawn(pictures: Mapping[str, bytes], name: str, words: str) -> Iterator[Drawing]:
    """Yield a picture by its name, with its description; nothing if it does not exist.

    Pictures without a valid seal (`reader.pictures_in`) have no content.
    """
    if name in pictures:
        narrow = pictures.get(f"{name}{NARROW}")
        yield Drawing(svg=b"" if narrow == b"" else pictures[name], words=words, narrow=narrow or b"")


def repeat_section(command: str) -> Iterator[Section]:
    """Yield the section with the command that repeats a folder's results; nothing if it is unknown."""
    if command:
        code = Code(text=command, words="In the folder in which it was given, the command that repeats it:")
        yield Section(title="How to repeat it", blocks=[code])


def write_page(page: Page, path: Path) -> None:
    """Write a page atomically, readable only by its owner; replace an earlier page, but no other file.

    Raises:
        ConfigurationError: the file exists and is not a page, or cannot be written.
    """
    data = _render(page).encode()
    try:
        refuse(path.exists() and not _is_page(path), "--out", str(path), "a new file, or a report, which is replaced")
        replace_private(path, data)
    except OSError as error:
        allowed = f"a file that can be written ({error.strerror})"
        raise ConfigurationError(field="--out", value=str(path), allowed=allowed) from None


def _is_page(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _MARK in file.read(_HEAD_BYTES)


def download_of(table: Table) -> str:
    """Return a table as a data URL; empty if it is too long."""
    if not table.rows or table.num_rows > _MOST_DOWNLOADED:
        return ""
    lines = [[cell.written for cell in row] for row in table.cells]
    if table.full:
        lines = [list(row.values()) for row in table.full]
    text = csv_of([table.full[0] if table.full else table.columns, *lines])
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()


def _render(page: Page) -> str:
    classes = Classes()
    pictures = [block for section in page.sections for block in section.blocks if isinstance(block, Drawing)]
    drawings = iter([inline_picture(picture, classes) for picture in pictures if picture.svg])
    style, script = _part("report.css") + classes.style, _part("report.js")
    return _template().render(
        page=page,
        most_rows=MOST_ROWS,
        download_of=download_of,
        next_drawing=lambda: next(drawings),
        left_out=_describe_omitted(sum(not picture.svg for picture in pictures)),
        style=style,
        script=script,
        policy="; ".join(
            (
                "default-src 'none'",
                f"style-src {_digest(style)}",
                f"script-src {_digest(script)}",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            )
        ),
    )


def _describe_omitted(number: int) -> str:
    """Return a sentence on the number of pictures without a valid seal."""
    if not number:
        return ""
    verb, pronoun = ("is", "it") if number == 1 else ("are", "them")
    note = f"{pluralize(number, 'picture')} of the folder {verb} left out"
    return f"{note}: nothing shows that you drew {pronoun} from these results."


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def _part(name: str) -> str:
    return (resources.files(__package__ or "") / name).read_text(encoding="utf-8")


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["sentence"] = _Sentence
    environment.tests["of_kind"] = lambda block, kind: type(block).__name__ == kind
    return environment.from_string(_part("report.html.j2"))


class _Sentence(str):
    """Text that is wrapped without separating numbers from signs, as in "ε = 1"."""

    __slots__ = ()


def _harmless(value: Any) -> Any:
    """Return text without control characters; HTML stays unchanged."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    text = "\n".join(map(printable, value.split("\n")))
    if isinstance(value, _Sentence):
        text = _TOGETHER.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    return text
