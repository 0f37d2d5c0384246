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
        kinds_given = [kind for kind in _KINDS if getattr(self, kind)]
        if len(kinds_given) > 1:
            allowed = f"left out beside {_FIELD}.{kinds_given[0]}"
            raise ConfigurationError(field=f"{_FIELD}.{kinds_given[1]}", value="given", allowed=allowed)
        refuse(self.numbered and self.repeats != "error", f"{_FIELD}.repeats", self.repeats, "left out beside numbered")
        require(self.between.strip(" ") or "\n" in self.between, f"{_FIELD}.between", self.between, "a sign")
        named_columns = self.places or self.scores
        if named_columns and self.alternatives:
            allowed = f"a name for each of the {len(named_columns)} columns"
            require(
                len(named_columns) == len(self.alternatives), f"{_FIELD}.alternatives", list(self.alternatives), allowed
            )
        is_partial = self.ties == "mean" and not named_columns
        allowed = "given with ties: what a voter does not name is known by these"
        refuse(is_partial and not self.alternatives, f"{_FIELD}.alternatives", "nothing", allowed)


def load_table(options: RankingTable) -> PartiesTable:
    """Return the voters of a file."""
    path, role = path_of(options.file), FairVoting.client_role
    is_counted = options.numbered or options.repeats in {"first", "last"}
    parties = read_parties_file(path, role, options.columns, has_numbers=is_counted, options=options)
    if not options.numbered and is_counted:
        parties = one_row_each(parties, role, options.repeats)
    elif options.repeats == "error" and not is_counted:
        check_unlike(parties, role)
    named_columns = options.places or options.scores or options.choices
    for name in named_columns:
        if name not in parties.table:
            key = next(kind for kind in _KINDS if getattr(options, kind))
            allowed = f"columns of {path.name}: {', '.join(parties.table)}{did_you_mean(name, parties.table)}"
            raise ConfigurationError(field=f"{_FIELD}.{key}", value=name, allowed=allowed)
    table = {name: entries for name, entries in parties.table.items() if name in _COLUMNS}
    names = options.alternatives or options.places or options.scores
    default_values = ("refuse", "refuse", SEPARATOR, ())
    if named_columns or (options.ties, options.twice, options.between, options.not_ranked) != default_values:
        require(named_columns or "ranking" in table, f"{_FIELD}.columns", "no ranking", "a column of rankings")
        columns: Sequence[Any] = [parties.table[name] for name in named_columns or ("ranking",)]
        rows = zip(*columns, strict=True)
        table["ranking"] = [
            _text([str(cell) for cell in row], names, options, parties, row_number)
            for row_number, row in enumerate(rows)
        ]
    parameters_found: dict[str, Any] = (
        {"alternatives": list(names)} if options.alternatives or options.ties == "mean" else {}
    )
    if options.ties == "mean":
        parameters_found["ties"] = "mean"
        number = sum(1 for entry in table["ranking"] if TIE in str(entry))
        voters_text = f"{number:,} voter{'s' * (number != 1)}"
        ties_note = f"Ties, or alternatives not ranked, of {voters_text} have the mean score of their places."
        parties = parties.with_note(ties_note if number else "")
    return dataclasses.replace(
        parties, table=table, parameters=parameters_found, fixed=frozenset(parameters_found) - {"ties"}
    )


def parts_of(cells: Sequence[str], names: Sequence[str], options: RankingTable, place_text: str = "") -> Tiers:
    """Return what a voter's cells rank, the best first, whatever it is: words that stand for none are left out.

    Args:
        place_text: they stand, for errors.

    Raises:
        ConfigurationError: a place or a score is none.
    """
    is_named = _is_named(options.not_ranked)
    if options.places or options.scores:
        names_at_place: dict[float, list[str]] = {}
        for name, cell in zip(names, map(str.strip, cells), strict=True):
            is_score = bool(options.scores)
            if is_named(cell):
                number = number_in(cell) if is_score else place_in(cell)
                allowed = f"a {'score' if is_score else 'place, 1 the best'}, empty, or a word of not_ranked"
                require(math.isfinite(number) and (is_score or number >= 1), f"{name} {place_text}", cell, allowed)
                names_at_place.setdefault(-number if is_score else number, []).append(name)
        return [names_at_place[level] for level in sorted(names_at_place)]
    known_names, separator = {*names}, options.between
    if options.choices:
        split = [[cell.strip()] if cell.strip() in known_names else cell.split(separator) for cell in cells]
    elif separator == SEPARATOR:
        split = [list(tier) for tier in tiers_of(cells[0], known_names)]
    else:
        split = [[name] for name in cells[0].split(separator)]
    return [tier for part in split if (tier := [name.strip() for name in part if is_named(name.strip())])]


def place_in(text: str) -> float:
    """Return the place that a text says: of 1, 1st, First choice or Rank 1 it is 1; nan where it says none.

    Examples:
        >>> place_in("2nd"), place_in("Rank 3"), place_in("pool")
        (2.0, 3.0, nan)
    """
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        return math.nan
    number, word = match.groups()
    return float(number or _ORDINALS.index(word.lower()) + 1)


def _is_named(words: Sequence[str]) -> Callable[[str], bool]:
    silent_words = {"", *(word.casefold() for word in words)}
    return lambda cell: cell.casefold() not in silent_words


def _text(cells: Sequence[str], names: Sequence[str], options: RankingTable, parties: PartiesTable, voter: int) -> str:
    """Return a voter's ranking as text; ConfigurationError for what it may not say."""
    place_text = f"({parties.source} line {parties.lines[voter]}, {parties.names[voter]})"
    if options.places and options.ties == "refuse":
        allowed = f'each place from 1 to {len(names)} once: 1 is the best (or ties = "mean")'
        is_strict = sorted(map(place_in, cells)) == list(range(1, len(names) + 1))
        require(is_strict, f"places {place_text}", ", ".join(cells), allowed)
    tiers = parts_of(cells, names, options, place_text)
    seen_names: dict[str, None] = {}
    kept_tiers: Tiers = []
    for tier in tiers:
        for name in tier:
            allowed = f"one of {', '.join(names)}, or a word of not_ranked{did_you_mean(name, names)}"
            require(name in names or not names, f"ranking {place_text}: unknown alternative", name, allowed)
        new = [name for name in dict.fromkeys(tier) if name not in seen_names]
        allowed = 'each alternative once, or twice = "first", its first place'
        is_once = options.twice == "first" or len(new) == len(tier)
        require(
            is_once,
            f"ranking {place_text}: repeated alternative",
            next((n for n in tier if n in seen_names), tier[0]),
            allowed,
        )
        seen_names.update(dict.fromkeys(new))
        kept_tiers += [new] if new else []
    missing = [name for name in names if name not in seen_names]
    is_strict = not missing and all(len(tier) == 1 for tier in kept_tiers)
    value = f"without {', '.join(missing)}" if missing else "a tie"
    allowed = 'a strict order of all alternatives, or ties = "mean"'
    require(is_strict or options.ties == "mean", f"ranking {place_text}", value, allowed)
    return f" {SEPARATOR} ".join(map(TIE.join, [*kept_tiers, missing] if missing else kept_tiers))
