"""Draft a first scenario from a user's file, or from none: what a system looks for, and the text that it writes.

A system's `ScenarioTemplate` says what its file holds and drafts a scenario of it. What the file does not tell is a
question (`UnclearError`): asked in a terminal, and else an error that names the option. Nothing that decides a vote is
guessed.
"""

import collections
import dataclasses
import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import msgspec

from ...protocol.columns import first_alike
from ...protocol.errors import ConfigurationError, did_you_mean, list_choices, refuse, require
from ..reading.cells import number_in
from ..reading.files import MAX_FILE_BYTES, readable
from ..reading.headers import USUAL, TableOptions, UnclearTableError, check_column_names
from ..reading.text_forms import form_of, open_table

_STATUS: Final = re.compile(r"(?:.*[ _.:-])?(?:status|state|finished)|.*status", re.IGNORECASE)
"""Names of columns that say of each row whether it counts."""
_DONE: Final = re.compile(r"submitdate|date submitted|submitted at", re.IGNORECASE)
"""And of those that are empty where a form was left before its end."""
_ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+")
_ELECTIONS: Final = frozenset({".soc", ".soi", ".toc", ".toi", ".cat", ".pb"})
_ROWS_LOOKED_AT: Final = 200_000  # of larger files the others are checked as the scenario is read
_OF_ANSWERS: Final = re.compile(
    r"(?:label|answer|response|annotation|judge?ment|choice|vote)s?|answer[.:].+", re.IGNORECASE
)
_MOST_LABELS: Final = 30  # of what in objects may be an answer
_MOST_SHOWN: Final = 12


@dataclasses.dataclass(frozen=True, kw_only=True)
class SavedTable:
    """A table that somebody saved, as far as it is looked at.

    Args:
        written: the file as the scenario has it.
        note: how it is read, as sentences for people.
        header: the names of its columns.
        line: where the header stands, as a spreadsheet counts.
        rows: the first ones that count, each with as many entries.
        lines: where they stand.
        options: what is said of the table.
    """

    path: Path
    written: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    line: int = 1
    options: TableOptions = USUAL

    @classmethod
    def of(
        cls, path: Path, *, data_path: str, wanted_columns: Sequence[str] = (), options: TableOptions = USUAL
    ) -> "SavedTable":
        """Return a file's sheet.

        `data_path` is the file as the scenario has it, and `wanted_columns` are columns that it may have. A
        header that is surely of several lines is read so.

        Raises:
            UnclearTableError: where its header stands has to be said.
            ConfigurationError: it cannot be read, or is no table with rows.
        """
        try:
            return cls._of(path, data_path, wanted_columns, options)
        except UnclearTableError as error:
            if not error.is_sure:
                raise
            sure_options = {error.option.replace("-", "_"): error.choice}
        return cls._of(path, data_path, wanted_columns, msgspec.structs.replace(options, **sure_options))

    @classmethod
    def _of(cls, path: Path, data_path: str, wanted_columns: Sequence[str], options: TableOptions) -> "SavedTable":
        allowed = (
            f"a table: a scenario reads an election of PrefLib or Pabulib as it is, by file = {path.name!r} in [voters]"
        )
        refuse(path.suffix.casefold() in _ELECTIONS, path.name, str(path), allowed)
        with (
            readable(path, field="FILE", what="a readable CSV file"),
            open_table(path, form_of(path, wanted_columns, options), max_lines=MAX_FILE_BYTES) as table,
        ):
            first = itertools.islice(table, _ROWS_LOOKED_AT)
            numbered_rows = [(line, tuple(map(str.strip, row))) for line, row in first]
            header, place_text = table.header, f"{path.name} line {table.line}"
        allowed = "a header of distinct, non-empty names; if the file has no header, put one above this line"
        check_column_names(header, place_text, allowed)
        require(
            numbered_rows,
            path.name,
            "no rows",
            "There is no table in it. A table has a header, and below it a line for each person or answer.",
        )
        lines, rows = zip(*numbered_rows, strict=True)
        return cls(
            path=path,
            written=data_path,
            note=table.note(),
            header=header,
            rows=rows,
            lines=lines,
            line=table.line,
            options=options,
        )

    def where(self, column: str, row: int) -> str:
        """Return where an entry stands, for errors."""
        return f"{column} ({self.path.name} line {self.lines[row]})"

    def without(self, left_out: Collection[int]) -> "SavedTable":
        """Return the sheet without some of its rows."""
        rows = [row for row in range(len(self.rows)) if row not in left_out]
        return dataclasses.replace(self, rows=[self.rows[row] for row in rows], lines=[self.lines[row] for row in rows])

    def count(self, number: int) -> str:
        """Return how many of something there are, as words: of a large file at least so many."""
        return f"{number:,}{' or more' if len(self.rows) == _ROWS_LOOKED_AT else ''}"

    def column(self, name: str) -> list[str]:
        """Return the entries of a column."""
        place = self._places[name]
        return [row[place] for row in self.rows]

    @functools.cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in reversed(list(enumerate(self.header)))}


@dataclasses.dataclass(frozen=True)
class Option:
    """What may be said of a file on the command line, and is asked for where the file does not tell it.

    Args:
        name: as `Chosen` has it; the option is called so too.
        help: what it is.
        metavar: what stands for its value.
        multiple: whether it may be given again.
        is_file: whether it names a file.
        is_flag: whether it has no value: then it is chosen or not.
        flag_value: what it is without a value, where that may be left out.
        words: what it may be, anything, if there are none.

    Examples:
        >>> Option("yes", "A word that means yes.", metavar="WORD", multiple=True).metavar
        'WORD'
    """

    name: str
    help: str
    metavar: str = "COLUMN"
    multiple: bool = False
    is_file: bool = False
    is_flag: bool = False
    flag_value: str = ""
    words: Sequence[str] = ()


def word_option(name: str, description: str, *words: str) -> Option:
    """Return an option that is one of a few words, which its help says.

    Examples:
        >>> word_option("ties", "How ties count", "mean", "refuse").help
        'How ties count: mean, refuse.'
    """
    return Option(name, f"{description}: {', '.join(words)}.", "WORD", words=words)


Chosen: TypeAlias = Mapping[str, Sequence[str]]
"""What was said: values by the option's name."""


@dataclasses.dataclass(frozen=True)
class ScenarioLine:
    """A line of a scenario.

    Args:
        key: a name.
        value: text, a number, a truth value, a list or a table of these.
        comment: what a reader should know of it.

    Examples:
        >>> ScenarioLine("epsilon", 1.0, "the privacy loss").key
        'epsilon'
    """

    key: str
    value: Any
    comment: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Draft:
    """A first scenario.

    Args:
        title: one line.
        parameters: the protocol's, beside ε.
        parties: where they are from; the key that names the file is among them.
        role: what the parties' table is called in the scenario.
        price: what ε is the price of.
        said: what was found in the file, as sentences for people.

    Examples:
        >>> draft = Draft(title="The roof", role="partner", price="each opinion")
        >>> draft.role, draft.parameters
        ('partner', ())
    """

    title: str
    role: str
    price: str
    parameters: Sequence[ScenarioLine] = ()
    parties: Sequence[ScenarioLine] = ()
    said: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScenarioTemplate:
    """How a system begins with a file of somebody's own.

    Args:
        word: what is begun: `psephos new WORD`.
        help: what that is, and what its file holds.
        options: what may be said of the file.
        draft: returns a draft of a sheet and what was chosen; it raises `UnclearError` where one thing more has to be
            said.
        sample: the made-up file of ours that is taken without one (`samples`).
        epsilon: by default.
        wanted: columns by which the sign between entries is known.
        fits: whether a sheet is plainly of this kind, by its columns' names and what repeats in them.
        shown: what a server sees that is trusted.
        told_by: options that follow from another one as a rule, and are not asked for beside it.
    """

    word: str
    help: str
    options: Sequence[Option]
    draft: Callable[[SavedTable, Chosen], Draft]
    sample: str
    epsilon: float = 1.0
    wanted: Sequence[str] = ()
    fits: Callable[[SavedTable], bool] | None = None
    shown: str = "values"
    told_by: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])


def is_status(name: str) -> bool:
    """Return whether a column is called as those that say of each row whether it counts.

    Examples:
        >>> is_status("Order status"), is_status("name")
        (True, False)
    """
    return _STATUS.fullmatch(name) is not None


def draft_of(beginning: ScenarioTemplate, sheet: SavedTable, options: Chosen) -> Draft:
    """Return a system's draft, once it is said which rows count.

    Raises:
        UnclearError: a column seems to say so (`--only`, `--leave-out-empty`); or as the system's own.
        ConfigurationError: an option is none of its words; or as the system's own.
    """
    for option in beginning.options:
        for value in options.get(option.name, ()) if option.words else ():
            require(value in option.words, f"--{option.name}", value, list_choices(option.words, value))
    _check_plain(sheet)
    for name in sheet.header:
        entries = sheet.column(name)
        words = collections.Counter(filter(None, entries))
        is_told = is_status(name) and 1 < len(words) <= _MOST_SHOWN and len(words) < len(entries)
        if is_told and NONE not in options.get("only", ()) and name not in sheet.options.only:
            words_text = " and ".join(f"{word!r} ({number:,}×)" for word, number in words.most_common())
            question = f"{name!r} has {words_text}: which rows count, or {NONE!r}: all"
            raise UnclearError("only", question, [*(f"{name}={word}" for word in words), NONE])
        if _DONE.fullmatch(name) and "" in entries and "leave-out-empty" not in options:
            question = f"{name!r} is empty in {entries.count(''):,} rows: are these left out, or {NONE!r}: all count"
            raise UnclearError("leave-out-empty", question, [name, NONE])
    return beginning.draft(sheet, options)


def _check_plain(sheet: SavedTable) -> None:
    """Raise ConfigurationError where a column that is called as answers has objects of JSON alone."""
    for name in filter(_OF_ANSWERS.fullmatch, sheet.header):
        cells = [cell for cell in sheet.column(name) if cell]
        if not cells or not all(cell.startswith(("{", "[{")) for cell in cells):
            continue
        try:
            leaves = [dict(_leaves(json.loads(cell))) for cell in cells]
        except (ValueError, RecursionError):
            continue
        label_paths = [path for path in leaves[0] if 1 < len({leaf.get(path) for leaf in leaves}) <= _MOST_LABELS]
        example = f"[json.loads(cell){label_paths[0] if label_paths else '...'} for cell in table[{name!r}]]"
        allowed = (
            "plain answers: make a column of what in its JSON is the answer, in pandas by "
            f"table['answer'] = {example}, and leave {name!r} out"
        )
        raise ConfigurationError(field=f"{name!r} in {sheet.path.name}", value="JSON", allowed=allowed)


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield each single value in JSON, as text, with the path that leads to it in Python."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
    elif isinstance(value, list):
        pairs = enumerate(cast("list[Any]", value))
    else:
        yield path, str(value)
        return
    for key, leaf_value in pairs:
        yield from _leaves(leaf_value, f"{path}[{key!r}]")


class UnclearError(ConfigurationError):
    """Something has to be said that the file does not tell.

    Attributes:
        option: that says it.
        question: that asks for it.
        choices: what may be answered.
        is_open: whether these are examples.

    Examples:
        >>> print(UnclearError("yes", "which word of 'roof' means yes", ["hiya", "hapana"]))
        --yes: which word of 'roof' means yes? One of hiya, hapana
    """

    def __init__(self, option: str, question: str, choices: Sequence[str], *, is_open: bool = False) -> None:
        self.option, self.question, self.choices, self.is_open = option, question, tuple(choices), is_open
        super().__init__(field=f"--{option}", value="left out", allowed="given")
        sign = "; " if any("," in choice for choice in self.choices) else ", "
        choices_text = sign.join(self.choices[:_MOST_SHOWN]) + (", ..." if len(self.choices) > _MOST_SHOWN else "")
        self.args = (f"--{option}: {question}?" + (f" One of {choices_text}" if choices_text else ""),)


class QuestionsError(ConfigurationError):
    """Some things have to be said that the file does not tell: a line for each, and a command that says them all."""

    def __init__(self, name: str, questions: Sequence[UnclearError], command: str) -> None:
        super().__init__(field=questions[0].field, value="left out", allowed="given")
        head = f"{name} leaves questions open. Answer them by options:"
        self.args = ("\n  ".join([head, *map(str, questions), f"Add your answers to: {command}"]),)


def check_header(
    sheet: SavedTable, options_given: Chosen, *, options: Sequence[str], names: Collection[str], example: str
) -> None:
    """Make sure that the first line names the columns: else it is somebody's, who would be lost.

    A line is taken for an entry where a cell of it is in its own column again, or is a number among numbers or an
    address among addresses, unless another cell is known to name a column.

    Args:
        options_given: what was said: a column that it names is called so.
        options: those that name columns.
        names: that columns of such a table have, in any case.
        example: a header.

    Raises:
        ConfigurationError: the first line looks like the others.
    """
    given_names = itertools.chain.from_iterable(options_given.get(each, ()) for each in options)
    columns = {name.casefold() for name in (*names, *given_names)}
    if any(name.casefold() in columns for name in sheet.header):
        return
    if any(_is_like(name, sheet.column(name)) for name in sheet.header):
        allowed = (
            f"the columns' names, such as {example}: this line looks like those below it. Put the names above it, or "
            f"say which of these is one with --{options[0]}"
        )
        raise ConfigurationError(field=f"{sheet.path.name} line 1", value=",".join(sheet.header), allowed=allowed)


def _is_like(name: str, entries: Sequence[str]) -> bool:
    """Return whether a column's name could be one of its entries: as a number among numbers."""
    words = [name, *entries]
    are_numbers = all(math.isfinite(number_in(word.replace(",", "."))) for word in words)
    return name in entries or are_numbers or all(map(_ADDRESS.fullmatch, words))


NONE: Final = "none"
"""In place of a column: there is no such."""


def answer(options: Chosen, option: str) -> str:
    """Return what was said last with an option; empty where nothing was.

    Examples:
        >>> answer({"yes": ["agree", "aye"]}, "yes"), answer({}, "yes")
        ('aye', '')
    """
    return options.get(option, ("",))[-1]


def chosen_word(options: Chosen, option: str, question: str, choices: Sequence[str]) -> str:
    """Return the word that was said with an option; UnclearError where it is none of the choices.

    Examples:
        >>> chosen_word({"ties": ["mean"]}, "ties", "how ties count", ["mean", "refuse"])
        'mean'
    """
    if (word := answer(options, option)) not in choices:
        raise UnclearError(option, question, choices)
    return word


def chosen_column(sheet: SavedTable, options: Chosen, option: str) -> str | None:
    """Return the column that was named: empty where it is to be none, and None where nothing was said."""
    word = answer(options, option)
    return check_column(sheet, word, option) if word not in {"", NONE} else "" if word else None


def split_names(names_given: Sequence[str], names: Collection[str]) -> list[str]:
    """Return names that were said, one each time or several with a sign between them. See `joined`.

    Examples:
        >>> split_names(["a, b", "c;d"], []), split_names(["a, b"], ["a, b"])
        (['a', 'b', 'c', 'd'], ['a, b'])
    """
    parts = ([value] if value in names else value.split(";" if ";" in value else ",") for value in names_given)
    return [name.strip() for part in parts for name in part]


def joined(names: Sequence[str]) -> str:
    """Return names with commas between them, or semicolons where one has a comma.

    Examples:
        >>> joined(["a", "b"]), joined(["a", "b, c"])
        ('a,b', 'a;b, c')
    """
    return (";" if any("," in name for name in names) else ",").join(names)


def filled(*lines: ScenarioLine) -> list[ScenarioLine]:
    """Return the lines that say something.

    Examples:
        >>> [line.key for line in filled(ScenarioLine("yes", ["agree"]), ScenarioLine("no", []))]
        ['yes']
    """
    return [line for line in lines if line.value]


def alike_option(role: str) -> Option:
    """Return the option that says whose names are that differ in case or blanks alone.

    Examples:
        >>> alike_option("voter").name, alike_option("voter").words
        ('alike-voters', ('one', 'several'))
    """
    question = f"Whose names are that differ in case or blanks alone, one {role}'s or those of several"
    return word_option(f"alike-{role}s", question, "one", "several")


def alike_line(sheet: SavedTable, options: Chosen, names: Sequence[str], role: str) -> ScenarioLine:
    """Return whether names that differ in case or blanks alone are one party's; UnclearError where it is not said."""
    line_value = ""
    if (places := first_alike(names)) is not None:
        first, second_name = (names[place] for place in places)
        question = f"whether {first!r} and {second_name!r} in {sheet.path.name} are one {role}, or several"
        line_value = chosen_word(options, f"alike-{role}s", question, ["one", "several"])
    return ScenarioLine(f"alike_{role}s", line_value, "whose names differ in case or blanks alone")


def check_column(sheet: SavedTable, name: str, option: str) -> str:
    """Return a column's name, if the table has it; ConfigurationError: it has not."""
    if name not in sheet.header:
        header_text = ", ".join(sheet.header[:_MOST_SHOWN])
        allowed = f"a column of {sheet.path.name}: {header_text}{did_you_mean(name, sheet.header)}"
        raise ConfigurationError(field=f"--{option}", value=name, allowed=allowed)
    return name


def samples() -> dict[str, Path]:
    """Return the synthetic files that come with Psephos: name → file, sorted by name.

    Examples:
        >>> [name for name in samples() if name.startswith("c")]
        ['canteen.csv', 'choices.csv', 'committee.csv']
    """
    folder = Path(str(resources.files("psephos.scenarios.shipped"))) / "samples"
    return dict(sorted((path.name, path) for path in folder.iterdir() if path.is_file() and path.suffix != ".py"))
