"""Rankings in a table as people keep them: in one cell, or places, scores or choices in a column each."""

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ....protocol.errors import ConfigurationError, did_you_mean, list_choices, refuse, require
from ....protocol.fair_voting import FairVoting
from ....protocol.fair_voting.entries import tiers_of
from ....protocol.fair_voting.parameters import SEPARATOR, TIE
from ...reading.cells import number_in
from ...reading.frames import path_of
from ...reading.headers import TableOptions
from ...reading.sources import PartiesTable
from ...running.parties import check_unlike, one_row_each, read_parties_file

_FIELD: Final = "voters"
_COLUMNS: Final = ("voter", "group", "ranking")
_KINDS: Final = ("places", "scores", "choices")
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_RANK: Final = r"(?:rank|choice|preference|place|priority|option)"
_PLACE: Final = re.compile(
    rf"{_RANK}?\s*#?\s*(?:(\d+)(?:\.0*|st|nd|rd|th)?|({'|'.join(_ORDINALS)}))\s*{_RANK}?", re.IGNORECASE
)

Tiers: TypeAlias = list[Sequence[str]]
"""What a voter ranks, the best first; what stands together is tied."""


class RankingTable(TableOptions, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with a line for each voter, of whatever form; columns that nothing names are left out.

    Raises:
        ConfigurationError: a value is not allowed.
    """

    file: str  # a CSV of voter, group and ranking
    columns: dict[str, str] = {}  # what the file calls these, where it calls them otherwise
    # In place of rankings, the columns of the alternatives, each with its place: 1 is the best.
    places: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()  # the same, each with its score: the higher, the better
    choices: tuple[str, ...] = ()  # in place of rankings, the columns of the first, the second and further choices
    between: str = SEPARATOR  # the sign between the alternatives of a ranking; or between those tied in one choice
    # The names of those columns' alternatives, in their order; or all that rankings and choices may name.
    alternatives: tuple[str, ...] = ()
    not_ranked: tuple[str, ...] = ()  # words in place of an alternative or of its place, which stand for none
    # What becomes of ties, and of alternatives that a voter does not rank, which stand last together.
    ties: Literal["refuse", "mean"] = "refuse"
    twice: Literal["refuse", "first"] = "refuse"  # what becomes of an alternative that a voter ranks twice
    # Which row counts of a voter who has several; with "none" names that are nearly alike are different voters'.
    repeats: Literal["error", "first", "last", "none"] = "error"
    manifest: str = ""  # keeps what a pass over files of any size finds (`reading.manifests`)
    numbered: bool = False  # it has no names: voters are called by their number in it

    def __post_init__(self) -> None:
        for name in self.columns:
            refuse(name not in _COLUMNS, f"{_FIELD}.columns", name, list_choices(_COLUMNS, name))
        given = [kind for kind in _KINDS if getattr(self, kind)]
        if len(given) > 1:
            allowed = f"left out beside {_FIELD}.{given[0]}"
            raise ConfigurationError(field=f"{_FIELD}.{given[1]}", value="given", allowed=allowed)
        refuse(self.numbered and self.repeats != "error", f"{_FIELD}.repeats", self.repeats, "left out beside numbered")
        require(self.between.strip(" ") or "\n" in self.between, f"{_FIELD}.between", self.between, "a sign")
        named = self.places or self.scores
        if named and self.alternatives:
            allowed = f"a name for each of the {len(named)} columns"
            require(len(named) == len(self.alternatives), f"{_FIELD}.alternatives", list(self.alternatives), allowed)
        is_partial = self.ties == "mean" and not named
        allowed = "given with ties: what a voter does not name is known by these"
        refuse(is_partial and not self.alternatives, f"{_FIELD}.alternatives", "nothing", allowed)


def load_table(options: RankingTable) -> PartiesTable:
    """Return the voters of a file."""
    path, role = path_of(options.file), FairVoting.client_role
    is_counted = options.numbered or options.repeats in {"first", "last"}
    read = read_parties_file(path, role, options.columns, numbered=is_counted, options=options)
    if not options.numbered and is_counted:
        read = one_row_each(read, role, options.repeats)
    elif options.repeats == "error" and not is_counted:
        check_unlike(read, role)
    named = options.places or options.scores or options.choices
    for name in named:
        if name not in read.table:
            key = next(kind for kind in _KINDS if getattr(options, kind))
            allowed = f"columns of {path.name}: {', '.join(read.table)}{did_you_mean(name, read.table)}"
            raise ConfigurationError(field=f"{_FIELD}.{key}", value=name, allowed=allowed)
    table = {name: entries for name, entries in read.table.items() if name in _COLUMNS}
    names = options.alternatives or options.places or options.scores
    usual = ("refuse", "refuse", SEPARATOR, ())
    if named or (options.ties, options.twice, options.between, options.not_ranked) != usual:
        require(named or "ranking" in table, f"{_FIELD}.columns", "no ranking", "a column of rankings")
        columns: Sequence[Any] = [read.table[name] for name in named or ("ranking",)]
        rows = zip(*columns, strict=True)
        table["ranking"] = [
            _text([str(cell) for cell in row], names, options, read, own) for own, row in enumerate(rows)
        ]
    found: dict[str, Any] = {"alternatives": list(names)} if options.alternatives or options.ties == "mean" else {}
    if options.ties == "mean":
        found["ties"] = "mean"
        number = sum(1 for entry in table["ranking"] if TIE in str(entry))
        whose = f"{number:,} voter{'s' * (number != 1)}"
        told = f"Ties, or alternatives not ranked, of {whose} have the mean score of their places."
        read = read.noting(told if number else "")
    return dataclasses.replace(read, table=table, parameters=found, fixed=frozenset(found) - {"ties"})


def parts_of(cells: Sequence[str], names: Sequence[str], options: RankingTable, where: str = "") -> Tiers:
    """Return what a voter's cells rank, the best first, whatever it is: words that stand for none are left out.

    Args:
        where: they stand, for errors.

    Raises:
        ConfigurationError: a place or a score is none.
    """
    is_named = _is_named(options.not_ranked)
    if options.places or options.scores:
        found: dict[float, list[str]] = {}
        for name, cell in zip(names, map(str.strip, cells), strict=True):
            is_score = bool(options.scores)
            if is_named(cell):
                number = number_in(cell) if is_score else place_in(cell)
                allowed = f"a {'score' if is_score else 'place, 1 the best'}, empty, or a word of not_ranked"
                require(math.isfinite(number) and (is_score or number >= 1), f"{name} {where}", cell, allowed)
                found.setdefault(-number if is_score else number, []).append(name)
        return [found[level] for level in sorted(found)]
    known, between = {*names}, options.between
    if options.choices:
        split = [[cell.strip()] if cell.strip() in known else cell.split(between) for cell in cells]
    elif between == SEPARATOR:
        split = [list(tier) for tier in tiers_of(cells[0], known)]
    else:
        split = [[name] for name in cells[0].split(between)]
    return [tier for own in split if (tier := [name.strip() for name in own if is_named(name.strip())])]


def place_in(text: str) -> float:
    """Return the place that a text says: of 1, 1st, First choice or Rank 1 it is 1; nan where it says none.

    Examples:
        >>> place_in("2nd"), place_in("Rank 3"), place_in("pool")
        (2.0, 3.0, nan)
    """
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        return math.nan
    number, word = found.groups()
    return float(number or _ORDINALS.index(word.lower()) + 1)


def _is_named(words: Sequence[str]) -> Callable[[str], bool]:
    silent = {"", *(word.casefold() for word in words)}
    return lambda cell: cell.casefold() not in silent


def _text(cells: Sequence[str], names: Sequence[str], options: RankingTable, read: PartiesTable, voter: int) -> str:
    """Return a voter's ranking as text; ConfigurationError for what it may not say."""
    where = f"({read.source} line {read.lines[voter]}, {read.names[voter]})"
    if options.places and options.ties == "refuse":
        allowed = f'each place from 1 to {len(names)} once: 1 is the best (or ties = "mean")'
        is_strict = sorted(map(place_in, cells)) == list(range(1, len(names) + 1))
        require(is_strict, f"places {where}", ", ".join(cells), allowed)
    tiers = parts_of(cells, names, options, where)
    seen: dict[str, None] = {}
    kept: Tiers = []
    for tier in tiers:
        for name in tier:
            allowed = f"one of {', '.join(names)}, or a word of not_ranked{did_you_mean(name, names)}"
            require(name in names or not names, f"ranking {where}: unknown alternative", name, allowed)
        new = [name for name in dict.fromkeys(tier) if name not in seen]
        allowed = 'each alternative once, or twice = "first", its first place'
        is_once = options.twice == "first" or len(new) == len(tier)
        require(
            is_once, f"ranking {where}: repeated alternative", next((n for n in tier if n in seen), tier[0]), allowed
        )
        seen.update(dict.fromkeys(new))
        kept += [new] if new else []
    missing = [name for name in names if name not in seen]
    is_strict = not missing and all(len(tier) == 1 for tier in kept)
    value = f"without {', '.join(missing)}" if missing else "a tie"
    allowed = 'a strict order of all alternatives, or ties = "mean"'
    require(is_strict or options.ties == "mean", f"ranking {where}", value, allowed)
    return f" {SEPARATOR} ".join(map(TIE.join, [*kept, missing] if missing else kept))
