"""Frames of pandas, of polars or of anybody else in place of a file: the same reading, and the same refusals.

A frame becomes the text of a CSV file, which is in memory alone: nothing in a cell is an empty entry, and a whole
number has no decimals, as in a workbook. So a session of a frame has the bits of a session of the file with the same
rows. Errors name rows by their labels. Neither library is imported, and neither need be installed.
"""

import contextlib
import csv
import io
import re
from collections.abc import Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeGuard, cast

from ...protocol.errors import ConfigurationError, refuse, require
from .cells import text_of
from .files import HeldFile


class AnyFrame(Protocol):
    """A frame of pandas, polars, pyarrow or anybody else, as far as types know."""

    @property
    def columns(self) -> Any:
        """Its columns, or their names."""
        ...


class FrameText(str):
    """A frame as the text of a CSV file, where a scenario has the path of one. As a text it is its name.

    Args:
        name: what errors call it.
        text: a header, and a line for each row: UTF-8.
        labels: what errors call its rows.
    """

    __slots__ = ("labels", "text")

    text: bytes
    labels: Sequence[object]

    def __new__(cls, name: str, text: bytes, labels: Sequence[object]) -> Self:
        frame_text = super().__new__(cls, name)
        frame_text.text, frame_text.labels = text, labels
        return frame_text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrameText) and (str(self), self.text) == (str(other), other.text)

    __hash__ = str.__hash__

    @classmethod
    def of(cls, name: str, frame: Any) -> Self:
        """Return a frame, of whichever library.

        Raises:
            ConfigurationError: it is not in memory, has no row, an empty row or a column without a name, or holds what
                no file does.
        """
        name = f"frame {name}"
        columns, labels = columns_of(frame, name)
        require(columns and labels, name, "one without rows", "a frame with columns and rows")
        for column, cells in columns:
            refuse(not column.strip(), f"columns of {name}", column, "names that are not empty")
            if several_value := _several_in(cells):
                row = next(row for row, cell in enumerate(cells) if type(cell) in several_value)
                field = f"{column} (row {labels[row]} of {name})"
                raise ConfigurationError(
                    field=field, value=cells[row], allowed="a text, a number, true or false, a time"
                )
        rows = list(zip(*[_texts_of(cells) for _, cells in columns], strict=True))
        empty = next((row for row, entries in enumerate(rows) if not any(map(str.strip, entries))), None)
        if empty is not None:
            raise ConfigurationError(
                field=f"row {labels[empty]} of {name}", value="nothing", allowed="an entry at least"
            )
        file = io.StringIO(newline="")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column for column, _ in columns])
        writer.writerows(rows)
        return cls(name, file.getvalue().encode("utf-8", "surrogatepass"), labels)

    def place(self, line: int) -> str:
        """Return what stands on a line, for errors."""
        return f"row {self.labels[line - 2]} of {self}" if line > 1 else f"columns of {self}"


def is_frame(value: object) -> TypeGuard[AnyFrame]:
    """Return whether something is a frame, in memory or not; it is not looked into.

    Examples:
        >>> is_frame([1, 2])
        False
    """
    return hasattr(type(value), "columns")  # of a frame that is not in memory to look for its own may cost much


def path_of(file: str | Path) -> Path:
    """Return where a file is that a scenario names: on a disk, or in memory where it is a frame.

    Examples:
        >>> path_of("votes.csv").name
        'votes.csv'
    """
    if not isinstance(file, FrameText):
        return file if isinstance(file, Path) else Path(file)
    path = HeldFile(file)
    path.data = file.text
    return path


def with_frames(name: str, value: Any) -> Any:
    """Return what a scenario has of parties, with each frame in it in place of a file.

    A frame of all parties in which a cell holds a list, as no file does, is rows.
    """
    if isinstance(value, Mapping):
        table = cast("Mapping[str, Any]", value)
        return {
            key: FrameText.of(f"{name}.{key}", table_value) if is_frame(table_value) else table_value
            for key, table_value in table.items()
        }
    if not is_frame(value):
        return value
    columns, _ = columns_of(value, f"frame {name}")
    if "." in name or not any(_several_in(cells) for _, cells in columns):
        return FrameText.of(name, value)
    names = [column for column, _ in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*[cells for _, cells in columns], strict=True)]


def frames_in(parties: object) -> list[FrameText]:
    """Return the frames that a scenario has of its parties."""
    table: Mapping[Any, object] = cast("Any", parties) if isinstance(parties, Mapping) else {"": parties}
    return [each for each in table.values() if isinstance(each, FrameText)]


@contextlib.contextmanager
def name_rows_in_errors(parties: object) -> Generator[None]:
    """Let errors name the rows of parties' frames by their labels, rather than the lines of their texts."""
    frames = frames_in(parties)
    try:
        yield
    except ConfigurationError as error:
        if not frames:
            raise
        field, allowed = error.field, error.allowed
        for frame in frames:
            field, allowed = (_relabel(text, frame) for text in (field, allowed))
        raise ConfigurationError(field=field, value=error.value, allowed=allowed) from None


def _relabel(text: str, frame: FrameText) -> str:
    text = text.replace(f"{frame} (line 1)", frame)
    text = re.sub(rf"{re.escape(frame)} line (\d+)", lambda match: frame.place(int(match[1])), text)
    return re.sub(r"(?<=\balso )(in )?line (\d+)", lambda match: (match[1] or "") + frame.place(int(match[2])), text)


def columns_of(frame: Any, name: str) -> tuple[list[tuple[str, list[Any]]], Sequence[object]]:
    """Return a frame's columns, with None where nothing is, and its rows' labels.

    Raises:
        ConfigurationError: it is no frame, or not in memory; the field is its name.
    """
    if hasattr(frame, "get_columns"):  # polars, in which nan is a number
        texts = ((str(each.name), each.to_list()) for each in frame.get_columns())
        columns = [(key, [None if cell != cell else cell for cell in cells]) for key, cells in texts]  # noqa: PLR0124  nan
        return columns, range(len(frame))
    if not hasattr(frame, "iloc"):
        allowed = "a frame of pandas or polars that is in memory, or one that has to_pandas()"
        refuse(not hasattr(frame, "to_pandas"), name, type(frame).__name__, allowed)
        frame = frame.to_pandas()
    columns: list[tuple[str, list[Any]]] = []
    for place, column in enumerate(frame.columns):
        cells: list[Any] = frame.iloc[:, place].tolist()
        for row in frame.iloc[:, place].isna().to_numpy().nonzero()[0].tolist():
            cells[row] = None
        columns.append((str(column), cells))
    return columns, frame.index.tolist()


def _several_in(cells: Sequence[Any]) -> set[type]:
    """Return the types of cells that hold several things."""
    return {kind for kind in {*map(type, cells)} if issubclass(kind, Collection) and not issubclass(kind, str)}


def _texts_of(cells: Sequence[Any]) -> list[str]:
    text = str if {*map(type, cells)} <= {str, int, type(None)} else text_of  # the usual ones, several times as fast
    return ["" if cell is None else text(cell) for cell in cells]
