"""Tables of any size, in one file or many of one form, as batches of columns: CSV, Parquet and Arrow.

A path is a file, a folder of files, or a pattern (`votes/*.parquet`); files follow each other in the order of their
paths. What can be wrong with one of them without reading its rows is found before any row is read. Parquet and Arrow
are read by pyarrow, an extra.
"""

import collections
import contextlib
import dataclasses
import glob
import importlib
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np

from ...protocol.columns import CodedColumn
from ...protocol.errors import ConfigurationError, did_you_mean, refuse, require
from ...protocol.phases import Entries
from .cells import text_of
from .columnar import pyarrow_for, translate_arrow_errors
from .columns import RowBatch, read_text
from .files import MAX_FILE_BYTES, HeldFile, WatchedFile, readable, similar_files, size_of
from .headers import USUAL, TableOptions, check_column_names
from .text_forms import form_of, open_table

_PARQUET: Final = ".parquet"
_ARROW: Final = (".arrow", ".feather", ".ipc")
_CSV: Final = (".csv", ".csv.gz", ".txt", ".tsv")
_FORMS: Final = (_PARQUET, *_ARROW, *_CSV)
_NUMBER, _TEXT, _TRUTH, _ENTRY, _BYTES = "a number", "a text", "true or false", "an entry of a CSV", "bytes"
_ROWS: Final = 1 << 17
_WILD: Final = frozenset("*?[")
_MOST_DISTINCT: Final = 100_000


class FilePiece(msgspec.Struct, frozen=True, array_like=True):
    """Rows of a file that can be read by themselves: a row group of Parquet, a batch of Arrow, all of a CSV.

    Args:
        number: the piece's in it, from 0.
        first: the place of its first row among those of all files.
        state: size and time of the file as it was planned: that of a file that changes is another one.
    """

    path: str
    number: int
    first: int
    num_rows: int
    state: tuple[int, int]

    def check(self) -> None:
        """Raise ConfigurationError unless the file is as it was planned."""
        path = Path(self.path)
        with readable(path, field=path.name):
            _check_as_it_was(path, self.state)


def _state_of(path: Path) -> tuple[int, int]:
    if isinstance(path, HeldFile):
        return size_of(path), 0
    file_state = path.stat()
    return file_state.st_size, file_state.st_mtime_ns


def _check_as_it_was(path: Path, state: tuple[int, int]) -> None:
    change_text = "it has changed since, or is another one here, and files are not to change while they are read"
    require(
        (state_now := _state_of(path)) == state,
        path.name,
        state_now,
        f"of (bytes, time) {state}, as it was looked at: {change_text}",
    )


def is_columnar(path: str) -> bool:
    """Return whether a path names many files, or one of columns in binary."""
    with contextlib.suppress(OSError, ValueError):
        file_path = Path(path)
        if file_path.suffix.casefold() in {_PARQUET, *_ARROW}:
            return True
        return file_path.is_dir() or not (_WILD.isdisjoint(path) or file_path.exists())
    return False


def is_in_batches(path: str) -> bool:
    """Return whether what a path names cannot be read at once: that, or too large a file."""
    with contextlib.suppress(OSError, ValueError):
        return is_columnar(path) or Path(path).stat().st_size > MAX_FILE_BYTES
    return False


def is_table(path: str) -> bool:
    """Return whether a path names one file that can be read at once, of text or of columns."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_file() and Path(path).stat().st_size <= MAX_FILE_BYTES
    return False


class TableFiles:
    """The files that a path names, whose columns are looked at, and no row.

    Args:
        path: as text a file, a folder or a pattern; else one file that is read as text (`reading.text_forms`).
        field: what errors call that.
        columns: what the files call columns that are called otherwise here.
        named_by: what the column of parties' names is called; without that one, `name` in any case is it.
        options: what is said of each table.
        wanted: the columns that count: others may have one name, or none; by default all.

    Attributes:
        names: the columns of every file but that of parties' names; further ones that only some have do not count.
        naming: the column of parties' names; empty where there is none.
        unnamed: the columns that have no name in the first file, and one of ours.
        num_rows: how many rows there are in all; None where only reading them tells, and nobody has.

    Raises:
        ConfigurationError: nothing is found, a file cannot be read, has no rows or other columns, or what reads it is
            not installed.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        field: str,
        columns: Mapping[str, str] = MappingProxyType({}),
        named_by: str = "",
        options: TableOptions = USUAL,
        wanted: Collection[str] = (),
    ) -> None:
        self._field, self.options = field, options.alone()
        paths_found = [path] if isinstance(path, Path) else _find_files(path, field)
        with readable(Path(path), field=field):
            self._states = [_state_of(each) for each in paths_found]
        self._files = list[_File]()
        for each in paths_found:
            with readable(each, field=field):
                match _form_of(each) if self.options == USUAL and not isinstance(path, Path) else "":
                    case ".parquet":
                        self._files.append(_Parquet(each))
                    case ".arrow" | ".feather" | ".ipc":
                        self._files.append(_Arrow(each))
                    case _:
                        self._files.append(_TableFile(each, self.options, wanted))
        _check_alike(self._files)
        file_kinds = self._files[0].kinds
        for column, name in columns.items():
            if name not in file_kinds:
                allowed = (
                    f"a column of {self._files[0].path.name}: {', '.join(file_kinds)}{did_you_mean(name, file_kinds)}"
                )
                raise ConfigurationError(field=f"{field}.columns.{column}", value=name, allowed=allowed)
        column_of_name = {name: column for column, name in columns.items()}
        self._own_names = {column_of_name.get(name, name): name for name in file_kinds}
        folded_names = {name.casefold(): name for name in reversed(self._own_names)} if named_by else {}
        self.naming = (
            named_by if named_by in self._own_names else folded_names.get(named_by, folded_names.get("name", ""))
        )
        self.paths, self.unnamed = [file.path for file in self._files], self._files[0].unnamed
        other_names = {name: file_kinds for name, file_kinds in self._own_names.items() if name != self.naming}
        self.names = [
            name for name, file_kinds in other_names.items() if all(file_kinds in file.kinds for file in self._files)
        ]
        numbers = [file.num_rows for file in self._files]
        self.num_rows = None if None in numbers else sum(number for number in numbers if number is not None)
        self._done = 0  # bytes of files whose batches have all come

    def pieces(self) -> list[FilePiece]:
        """Return all rows, piece by piece in order; rows of a CSV are counted, which reads it, and may be refused."""
        file_pieces, first = list[FilePiece](), 0
        for file, state in zip(self._files, self._states, strict=True):
            with readable(file.path, field=self._field):
                for number, num_rows in enumerate(file.piece_rows()):
                    if num_rows:  # of an empty one there is nobody to count
                        file_pieces.append(FilePiece(str(file.path.absolute()), number, first, num_rows, state))
                    first += num_rows
        self.num_rows = first
        return file_pieces

    @property
    def share_read(self) -> float:
        """Which share of all bytes `batches` has read; of a file in Parquet or Arrow none before its end."""
        num_read = sum(file.path.num_read for file in self._files if isinstance(file.path, WatchedFile))
        return (self._done + num_read) / sum(num_bytes for num_bytes, _ in self._states)

    def batches(
        self,
        names: Sequence[str],
        *,
        pieces: range | None = None,
        has_bytes: bool = False,
        uncoded: Collection[str] = (),
    ) -> Generator[RowBatch]:
        """Yield the rows of these columns, batch by batch; of each file all, or those of some pieces.

        Bytes, where columns may have them, are text of hexadecimal digits, as they are in a CSV. Columns of text may be
        `uncoded`, as `read_text` has it.

        Raises:
            ConfigurationError: a file cannot be read or has changed since it was looked at, or an entry is missing.
        """
        self._done = 0
        file_columns = [self._own_names[name] for name in names]
        kinds, known_kinds = self._files[0].kinds, {_NUMBER, _TEXT, _TRUTH, _ENTRY, *[_BYTES] * has_bytes}
        for name in file_columns:
            allowed = f"{_NUMBER}, {_TEXT}, or {_TRUTH}"
            refuse(
                kinds[name] not in known_kinds, f"column {name!r} of {self._files[0].path.name}", kinds[name], allowed
            )
        for file, state in zip(self._files, self._states, strict=True):
            with (
                readable(file.path, field=self._field),
                contextlib.closing(file.read(file_columns, pieces, uncoded)) as parts,
            ):
                _check_as_it_was(file.path, state)
                for batch in parts:
                    table = {name: batch.table[column] for name, column in zip(names, file_columns, strict=True)}
                    yield dataclasses.replace(batch, table=table)
                _check_as_it_was(file.path, state)
            self._done += state[0]

    def counts(self, name: str) -> dict[Any, int]:
        """Return how often each distinct entry stands in a column, in the order of their first rows: one pass over it.

        Raises:
            ConfigurationError: as `batches`, or it is too much.
        """
        count_of_entry = dict[Any, int]()
        for batch in self.batches([name]):
            entries = batch.table[name]
            names, entry_list = (entries.names, entries.codes) if isinstance(entries, CodedColumn) else (None, entries)
            codes, first, numbers = np.unique(np.asarray(entry_list), return_index=True, return_counts=True)
            distinct: list[Any] = codes.tolist()
            for place in np.argsort(first).tolist():
                entry = names[distinct[place]] if names is not None else distinct[place]
                count_of_entry[entry] = count_of_entry.get(entry, 0) + int(numbers[place])
            limit_text = f"at most {_MOST_DISTINCT:,} different entries"
            refuse(len(count_of_entry) > _MOST_DISTINCT, f"{name} ({batch.source})", "more", limit_text)
        return count_of_entry


def _find_files(path: str, field: str) -> list[Path]:
    """Return the files that a path names, in order."""
    whole = Path(path)
    with readable(whole, field=field):
        if whole.is_file():
            return [whole]
        if whole.is_dir():
            paths_found = [
                each for each in whole.iterdir() if each.is_file() and _form_of(each) and each.name[0] != "."
            ]
        else:
            paths_named = {Path(each) for each in glob.glob(path, recursive=True)}  # noqa: PTH207  a pattern may be absolute
            paths_found = [each for each in paths_named if each.is_file()]
    allowed = f"There is no file in {path!r} whose name ends in {', '.join(_FORMS)}."
    if not whole.is_dir():
        allowed = f"There is no file {path!r}{similar_files(whole)}. Name a file, a folder or a pattern."
    require(paths_found, field, path, allowed)
    paths_found.sort()
    path_of_file = dict[tuple[int, int], Path]()
    for each in paths_found:
        require(_form_of(each), field, str(each), f"a file of {', '.join(_FORMS)}")
        with readable(each, field=field):
            file_stat = each.stat()
        earlier_path = path_of_file.setdefault((file_stat.st_dev, file_stat.st_ino), each)
        require(
            earlier_path is each,
            field,
            str(each),
            f"another file than {earlier_path.name}: else parties would count twice",
        )
    return paths_found


def _form_of(path: Path) -> str:
    return next((form for form in _FORMS if path.name.casefold().endswith(form)), "")


class _File:
    """A file, of whose columns the kinds are known: a number, a text or whatever a CSV has.

    Args:
        kinds: by column.
        num_rows: how many rows it has; None where only reading them tells.
        unnamed: the columns that have no name there, and one of ours.
    """

    def __init__(
        self, path: Path, kinds: Mapping[str, str], num_rows: int | None, unnamed: frozenset[str] = frozenset()
    ) -> None:
        self.path, self.kinds, self.num_rows, self.unnamed = path, kinds, num_rows, unnamed
        require(num_rows != 0, path.name, "a header alone", "a file with rows")

    def piece_rows(self) -> Sequence[int]:
        """Return how many rows each piece has that can be read by itself."""
        raise NotImplementedError

    def read(
        self, names: Sequence[str], pieces: range | None = None, uncoded: Collection[str] = ()
    ) -> Generator[RowBatch]:
        """Yield the rows of some of its columns, of all pieces or of some."""
        raise NotImplementedError


def _check_alike(files: Sequence[_File]) -> None:
    """Raise ConfigurationError unless all files have the first one's columns, of the same kinds."""
    first = files[0]
    for file in files[1:]:
        for name, kind in first.kinds.items():
            kind_found = file.kinds.get(name, "missing")
            allowed = f"{kind if name in file.kinds else 'a column of each file'}, as in {first.path.name}"
            require(kind_found == kind, f"column {name!r} of {file.path.name}", kind_found, allowed)


class _TableFile(_File):
    """A file that is read row by row: of text, or any of which something is said."""

    def __init__(self, path: Path, options: TableOptions, wanted: Collection[str]) -> None:
        self._form = form_of(path, wanted, options)
        with open_table(path, self._form) as table:
            header = table.header
            unnamed = frozenset(header[place - 1] for place in table.unnamed)
            require(header, path.name, "an empty file", "a CSV file with a header")
            wanted_names = [name for name in header if name in wanted] if wanted else header
            check_column_names(wanted_names, f"{path.name} line {table.line}")
            has_rows = next(iter(table), None) is not None
        self._places = {name: place for place, name in reversed([*enumerate(header)])}
        file_path = path if isinstance(path, HeldFile) else WatchedFile(path)
        super().__init__(file_path, dict.fromkeys(header, _ENTRY), None if has_rows else 0, unnamed)

    def piece_rows(self) -> Sequence[int]:
        return [sum(batch.num_rows for batch in self.read([next(iter(self.kinds))]))]

    def read(
        self, names: Sequence[str], pieces: range | None = None, uncoded: Collection[str] = ()
    ) -> Generator[RowBatch]:
        del pieces  # there is one
        places = {name: self._places[name] for name in names}
        with open_table(self.path, self._form) as table:
            yield from read_text(self.path, self._form, table, places, uncoded=uncoded)


class _Columnar(_File):
    """A file that pyarrow reads."""

    def __init__(self, path: Path) -> None:
        with self._translate_errors(path):
            schema, self._piece_rows = self._look_at(path)
        for name, number in collections.Counter(field.name for field in schema).items():
            refuse(number > 1, f"columns of {path.name}", f"{name!r} twice", "distinct names")
        super().__init__(path, {field.name: _kind_of(field.type) for field in schema}, sum(self._piece_rows))

    def piece_rows(self) -> Sequence[int]:
        return self._piece_rows

    @staticmethod
    def _translate_errors(path: Path) -> contextlib.AbstractContextManager[None]:
        return translate_arrow_errors(path, _form_of(path).removeprefix("."))

    def _look_at(self, path: Path) -> tuple[Any, Sequence[int]]:
        """Return the schema and the number of rows of each piece."""
        raise NotImplementedError

    def _tables(self, names: Sequence[str], pieces: range | None) -> Iterator[Any]:
        """Yield record batches of some columns, of all that is in the file now, or of some pieces."""
        raise NotImplementedError

    def read(
        self, names: Sequence[str], pieces: range | None = None, uncoded: Collection[str] = ()
    ) -> Generator[RowBatch]:
        del uncoded  # its own codes are at hand
        num_rows = 0 if pieces is None else sum(self._piece_rows[: pieces.start])
        with self._translate_errors(self.path):
            for batch in self._tables(names, pieces):
                if batch.num_rows:
                    columns = zip(names, batch.columns, strict=True)
                    table = {name: _entries(column, self.kinds[name]) for name, column in columns}
                    yield RowBatch(table, self.path.name, range(num_rows + 1, num_rows + 1 + batch.num_rows), "row")
                num_rows += batch.num_rows


class _Parquet(_Columnar):
    def _look_at(self, path: Path) -> tuple[Any, Sequence[int]]:
        with importlib.import_module("pyarrow.parquet").ParquetFile(path) as file:
            metadata = file.metadata
            return file.schema_arrow, [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def _tables(self, names: Sequence[str], pieces: range | None) -> Iterator[Any]:
        parquet: Any = importlib.import_module("pyarrow.parquet")
        texts = [name for name in names if self.kinds[name] == _TEXT]
        with parquet.ParquetFile(self.path, read_dictionary=texts) as file:
            groups = None if pieces is None else list(pieces)
            parts = file.iter_batches(_ROWS, row_groups=groups, columns=list(names), use_threads=False)
            yield from (batch.select(list(names)) for batch in parts)


class _Arrow(_Columnar):
    def _look_at(self, path: Path) -> tuple[Any, Sequence[int]]:
        arrow = pyarrow_for(path)
        with arrow.memory_map(str(path)) as mapped, arrow.ipc.open_file(mapped) as file:
            return file.schema, [file.get_batch(number).num_rows for number in range(file.num_record_batches)]

    def _tables(self, names: Sequence[str], pieces: range | None) -> Iterator[Any]:
        arrow = pyarrow_for(self.path)
        with arrow.memory_map(str(self.path)) as mapped, arrow.ipc.open_file(mapped) as file:
            for number in range(file.num_record_batches) if pieces is None else pieces:
                batch = file.get_batch(number).select(list(names))
                yield from (batch.slice(start, _ROWS) for start in range(0, batch.num_rows, _ROWS))


def _kind_of(kind: Any) -> str:
    """Return what entries of a type are, as a phrase; a type that is none of these as itself."""
    types: Any = importlib.import_module("pyarrow.types")
    if types.is_dictionary(kind):
        return _kind_of(kind.value_type)
    if types.is_boolean(kind):
        return _TRUTH
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return _NUMBER
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _TEXT
    return _BYTES if types.is_binary(kind) or types.is_large_binary(kind) else str(kind)


def _entries(column: Any, kind: str) -> Entries:
    """Return a column: numbers as they are, and of texts each distinct one once; a missing one is an empty text."""
    if kind == _TRUTH and not column.null_count and type(column).__name__ == "BooleanArray":
        bits = np.frombuffer(column.buffers()[1], dtype=np.uint8)  # unpacked at once, which no cast does
        return np.unpackbits(bits, count=column.offset + len(column), bitorder="little")[column.offset :].view(np.int8)
    arrow: Any = importlib.import_module("pyarrow")
    types: Any = importlib.import_module("pyarrow.types")
    if kind == _NUMBER and column.null_count:
        return CodedColumn.from_values("" if entry is None else text_of(entry) for entry in column.to_pylist())
    if kind == _NUMBER:
        is_flat = not (types.is_dictionary(column.type) or types.is_decimal(column.type))
        return column.to_numpy() if is_flat else column.to_pylist()
    if kind == _TRUTH and not column.null_count:  # of a dictionary
        return column.cast(arrow.int8()).to_numpy()
    coded = column
    if column.null_count or not types.is_dictionary(column.type):
        arrow_type, missing = (arrow.binary(), b"") if kind == _BYTES else (arrow.string(), "")
        coded = column.cast(arrow_type).fill_null(missing).dictionary_encode()
    names = ["" if name is None else name.hex() if kind == _BYTES else name for name in coded.dictionary.to_pylist()]
    return CodedColumn(names, coded.indices.to_numpy())
