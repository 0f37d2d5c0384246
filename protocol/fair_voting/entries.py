"""Tables of voters as users write them: groups, and rankings as text.

As text a ranking is "pool > library = rink": the best first, and ties with an equals sign between blanks.

Errors name the row, from 1, and the wrong group or alternative.
"""

import itertools
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from ..arrays import IntArray
from ..columns import CodedColumn, first_alike
from ..errors import ConfigurationError, refuse, require
from ..phases import Entries, missing_column
from .parameters import SEPARATOR, TIE
from .rankings import Rankings, are_strict, positions_of_classes, positions_of_orders

MOST_NAMED: Final = 20
"""The most names in an error message."""
# The number of rankings from which the alternatives are derived; a few wrong lines do not matter.
RANKINGS_LOOKED_AT: Final = 1_000
_READ_AT_ONCE: Final = 4_096
_END: Final = "\n"
"""The separator between entries that are parsed together."""


def names_two_groups(name: str, groups: Container[str]) -> bool:
    """Return whether a name consists of the names of several groups with a separator between them.

    Since a voter is in one group, such an entry is an error, not another group.
    """
    parts = [part.strip() for part in re.split(r"[;,|/+&]", name)]
    return len(parts) > 1 and all(part in groups for part in parts)


def groups_of(entries: Entries, group_names: Sequence[str]) -> list[str]:
    """Return the groups in the given order; by default in the order of their first voters.

    Raises:
        ConfigurationError: a voter is in no group, or in two; or the spelling of two groups that were not given in
            advance is nearly equal.
    """
    column = CodedColumn.from_values(entries)
    codes: dict[str, int] = {}
    for code, entry in enumerate(column.names):
        codes.setdefault(entry.strip(), code)
    for name, code in codes.items():
        if group_names and name not in group_names:
            allowed = f"one group of {', '.join(group_names[:MOST_NAMED])}"
            raise ConfigurationError(field=f"group in row {column.row_of(code)}", value=name, allowed=allowed)
        if not name or names_two_groups(name, codes):
            other_codes = [other_code for other_code in codes if other_code and other_code != name][:MOST_NAMED]
            allowed = f"one group, such as {', '.join(other_codes)}" if other_codes else "the name of a group"
            raise ConfigurationError(field=f"group in row {column.row_of(code)}", value=name, allowed=allowed)
    if not group_names and (pair := first_alike(codes)) is not None:
        first, second = (list(codes)[place] for place in pair)
        allowed = f"unlike {first!r}, but for case and blanks: write one group alike, or name all in parameters.groups"
        raise ConfigurationError(field=f"group in row {column.row_of(codes[second])}", value=second, allowed=allowed)
    return list(group_names or codes)


def alternatives_of(entries: Entries) -> list[str]:
    """Return the alternatives that most of the first rankings have, in alphabetical order.

    Raises:
        ConfigurationError: there is only one.
    """
    first = [itertools.chain(*tiers_of(entry, ())) for entry in entries[:RANKINGS_LOOKED_AT]]
    sets = Counter(frozenset(names) - {""} for names in first)
    del sets[frozenset()]  # from empty entries, which `encode` refuses
    usual: frozenset[str] = sets.most_common(1)[0][0] if sets else frozenset()
    allowed = f"two names or more, the best first, with {SEPARATOR!r} between them"
    refuse(len(usual) == 1, "ranking in row 1", next(iter(usual), ""), allowed)
    return sorted(usual)


def names_of(entry: Any) -> tuple[str, ...]:
    """Return the names of a ranking as users write it: text, or a list."""
    if isinstance(entry, str):
        return tuple(name.strip() for name in entry.split(SEPARATOR))
    if isinstance(entry, (list, tuple)):
        return tuple(str(name).strip() for name in cast("Sequence[Any]", entry))
    return (str(entry),)


def tiers_of(entry: Any, names: Container[str]) -> list[tuple[str, ...]]:
    """Return a ranking's names, those that are tied together, the best first; a name may hold the sign of a tie."""
    return [_tied_names(tier, names) for tier in names_of(entry)]


def _tied_names(text: str, names: Container[str]) -> tuple[str, ...]:
    parts = [part.strip() for part in f" {text} ".split(TIE)]
    tied: list[str] = []
    while parts:
        sizes = range(len(parts), 0, -1)
        size = next((size for size in sizes if TIE.join(parts[:size]) in names), 1)
        tied.append(TIE.join(parts[:size]))
        del parts[:size]
    return tuple(tied)


def text_of(positions: Sequence[int], names: Sequence[str]) -> str:
    """Return a ranking as text."""
    tiers = [
        [name for name, place in zip(names, positions, strict=True) if place == tier_position]
        for tier_position in sorted({*positions})
    ]
    return f" {SEPARATOR} ".join(TIE.join(tier) for tier in tiers)


def orders_of(entries: Entries, names: Sequence[str]) -> IntArray:
    """Return the index of the alternative at each position of each entry, int64, shape (n, m); negative if unknown.

    Texts with at most one space around each name are parsed many at a time.
    """
    places = {
        f"{left_blank}{name}{right_blank}": place
        for place, name in enumerate(names)
        for left_blank in ("", " ")
        for right_blank in ("", " ")
    }
    places[_END] = len(names)
    orders = np.empty((len(entries), len(names)), dtype=np.int64)
    for start in range(0, len(entries), _READ_AT_ONCE):
        block = entries[start : start + _READ_AT_ONCE]
        plain = _orders_of_plain(block, places)
        if plain is None:
            places_of = [[places.get(name, -1) for name in names_of(entry)] for entry in block]
            plain = np.array(
                [order if len(order) == len(names) else [-1] * len(names) for order in places_of], dtype=np.int64
            )
        orders[start : start + len(block)] = plain
    return orders


def _orders_of_plain(entries: Entries, places: Mapping[str, int]) -> IntArray | None:
    """Return the orders of text whose names are keys of `places`; None if any is not, or has another number of them."""
    if not all(isinstance(entry, str) for entry in entries):
        return None
    parts = f"{SEPARATOR}{_END}{SEPARATOR}".join((*entries, "")).split(SEPARATOR)[:-1]
    end = places[_END]
    if len(parts) != len(entries) * (end + 1):
        return None
    codes = np.fromiter(map(places.get, parts, itertools.repeat(-1)), dtype=np.int64, count=len(parts))
    codes = codes.reshape(-1, end + 1)
    is_plain = codes.min() >= 0 and (codes[:, :end] < end).all() and (codes[:, end] == end).all()
    return codes[:, :end] if is_plain else None


def check_order(order: Sequence[str], names: Sequence[str], *, field: str) -> None:
    """Raise ConfigurationError unless an order has each alternative once."""
    first_names = ", ".join(names[:MOST_NAMED])
    allowed = (
        f"each of {first_names} once, the best first, with {SEPARATOR!r} between them, or {TIE.strip()!r} for a tie"
    )
    for place, name in enumerate(order):
        require(name in names, f"{field}: unknown alternative", name, allowed)
        refuse(name in order[:place], f"{field}: repeated alternative", name, allowed)
    for name in names:
        require(name in order, f"{field}: missing alternative", name, allowed)


def places_of_groups(table: Mapping[str, Entries], groups: Sequence[str], *, num_parties: int) -> IntArray:
    """Return the places of the voters' groups, shape (n, 1); of one group alone the table need not say it."""
    if "group" not in table:
        if len(groups) == 1:
            return np.zeros((num_parties, 1), dtype=np.int64)
        raise missing_column("group")
    entries = table["group"]
    refuse(len(entries) != num_parties, "group", f"{len(entries)} entries", f"{num_parties} entries")
    if isinstance(entries, np.ndarray) and np.issubdtype(entries.dtype, np.integer):
        codes = entries.astype(np.int64).reshape(-1, 1)
        least, most = (int(codes.min()), int(codes.max())) if num_parties else (0, 0)
        allowed = f"places among the {len(groups)} groups"
        require(least >= 0 and most < len(groups), "group", f"{least} to {most}", allowed)
        return codes
    column = CodedColumn.from_values(entries)
    places = {name: place for place, name in enumerate(groups)}
    for code, name in enumerate(column.names):
        if name.strip() not in places:
            row = column.row_of(code)
            allowed = f"one group of {', '.join(groups[:MOST_NAMED])}"
            raise ConfigurationError(field=f"group in row {row}", value=entries[row - 1], allowed=allowed)
    return column.recode({name: places[name.strip()] for name in column.names}).reshape(-1, 1)


def positions_of(entries: Entries, names: Sequence[str]) -> IntArray:
    """Return rankings as positions, checked against the alternatives; `field` names the row."""
    if isinstance(entries, Rankings):
        number = entries.num_alternatives
        allowed = f"of {len(names)} alternatives"
        require(number == len(names), "ranking", f"of {number} alternatives", allowed)
        return entries.positions
    distinct = entries.names if isinstance(entries, CodedColumn) else entries
    orders = orders_of(distinct, names)
    is_strict = are_strict(orders)
    positions = positions_of_orders(np.where(is_strict[:, None], orders, np.arange(len(names))))
    places = {name: place for place, name in enumerate(names)}
    for number in np.flatnonzero(~is_strict).tolist():
        row = entries.row_of(number) if isinstance(entries, CodedColumn) else number + 1
        tiers = tiers_of(distinct[number], places)
        check_order(list(itertools.chain(*tiers)), names, field=f"ranking in row {row}")
        classes = np.empty((1, len(names)), dtype=np.int64)
        for tier, tied in enumerate(tiers):
            classes[0, [places[name] for name in tied]] = tier
        positions[number] = positions_of_classes(classes)[0]
    return positions[entries.codes] if isinstance(entries, CodedColumn) else positions
