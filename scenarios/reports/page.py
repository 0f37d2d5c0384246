"""A page: blocks of words, tables and pictures, and the one HTML file that they become.

The rules that hold here: the file needs nothing beside itself, and may load nothing (its Content-Security-Policy allows
the one style and the one script in it, by their digests); all text passes Jinja's escaping, and what a browser would
obey in a name, such as marks that turn the direction of what follows, is taken out as in a terminal.
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

_MOST_DOWNLOADED: Final = 5_000  # rows that a page carries to be downloaded
_MARK: Final = b'<meta name="generator" content="Psephos'
_HEAD_BYTES: Final = 2_048
_TOGETHER: Final = re.compile(r"ε = |(?<=\d) ± |(?<=\d) %| (?=[:;?!](?:\s|$))")  # what a line does not end within


@dataclasses.dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    tone: Tone = ""


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is said in pairs: of what, and what."""

    facts: Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceStep:
    """A step of a sequence of messages: from the parties up to the server, down to them, or with one side."""

    way: Literal["up", "down", "server", "parties"]
    title: str
    words: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SequenceSteps:
    """Messages in their order, between parties, at the left, and a server."""

    parties: str
    server: str
    steps: Sequence[SequenceStep]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Code:
    """Something to be copied, such as a command, and what it does in words."""

    text: str
    words: str


Block: TypeAlias = Text | Facts | Table | Drawing | SequenceSteps | Code


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """Blocks under a heading; a part of the section before it or not, with an anchor where a cell leads to it."""

    title: str
    blocks: Sequence[Block]
    is_part: bool = False
    anchor: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """All of a page: what it is, of what, short facts in one line, what came of it sentence by sentence, the rest."""

    kind: str
    title: str
    facts: Sequence[str]
    verdict: Sequence[str]
    sections: Sequence[Section]
    tone: Tone = ""
    version: str = dataclasses.field(default_factory=functools.partial(importlib.metadata.version, "psephos"))


def epsilon_text(epsilon: object) -> str:
    """Return a loss as sentences have it, rounded up; what nothing bounds is written as null, and is ∞."""
    return at_most(epsilon) if isinstance(epsilon, (int, float)) and math.isfinite(epsilon) else "∞"


def epsilon_cell(epsilon: float | None) -> Cell:
    """Return a loss as tables have it."""
    return Cell(epsilon_text(epsilon), math.inf if epsilon is None else epsilon)


def drawn(pictures: Mapping[str, bytes], name: str, words: str) -> Iterator[Drawing]:
    """Yield a picture by its name, with what it shows; nothing where there is none.

    Of pictures that are not known to be ours, as `reader.pictures_in` says it, there are no bytes.
    """
    if name in pictures:
        narrow = pictures.get(f"{name}{NARROW}")
        yield Drawing(svg=b"" if narrow == b"" else pictures[name], words=words, narrow=narrow or b"")


def repeat_section(command: str) -> Iterator[Section]:
    """Yield how to repeat what left a folder; nothing where the command is not known, and empty."""
    if command:
        code = Code(text=command, words="In the folder in which it was given, the command that repeats it:")
        yield Section(title="How to repeat it", blocks=[code])


def write_page(page: Page, path: Path) -> None:
    """Write a page, all of it or nothing, for its owner alone; one that was there is replaced, and another file is not.

    Raises:
        ConfigurationError: the file is something else than a page, or cannot be written.
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
    """Return a table as the address of a file; empty where it is too long to be carried."""
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
    """Return what a page says of so many pictures of its folder that are not known to be ours."""
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
    """What is broken into lines, where a number stays with its sign, such as in "ε = 1"."""

    __slots__ = ()


def _harmless(value: Any) -> Any:
    """Return text as a terminal would show it; what is HTML already stays so."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    text = "\n".join(map(printable, value.split("\n")))
    if isinstance(value, _Sentence):
        text = _TOGETHER.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    return text
