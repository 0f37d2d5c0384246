"""Read alternatives: from a line of text, or from pairs or a list in a CSV file."""

import csv
import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ...protocol.arrays import FloatArray
from ...protocol.errors import ConfigurationError, join_names, refuse, require
from ...protocol.moral_preferences import Outcome
from ...protocol.moral_preferences.records import GREATEST_FEATURE
from ..reading.batches import TableFiles
from ..reading.cells import number_in
from ..reading.columns import RowBatch
from .data.numbers import ALLOWED, read_numbers

_PAIR, _ALTERNATIVE = "pair", "alternative"
_SIDES: Final = ("first", "second")
_EXAMPLE: Final = "as in 'Man=1, Dog=0'"


class AlternativePair(msgspec.Struct, frozen=True, kw_only=True):
    """A named pair of alternatives, each with its features by name; features not listed are 0.

    Examples:
        >>> pair = AlternativePair(name="1", first={"dogs": 1.0}, second={"cats": 2.0})
        >>> pair.first, pair.second
        ({'dogs': 1.0}, {'cats': 2.0})
    """

    name: str
    first: Mapping[str, float]
    second: Mapping[str, float]


def parse_alternative(text: str, outcome: Outcome, *, field: str) -> dict[str, float]:
    """Parse an alternative from `feature=value, feature=value`.

    If a feature's name contains a comma, put feature and value in double quotes: `"tall, old=1", Dog=2`.

    Raises:
        ConfigurationError: the text is empty, a feature is unknown or repeated, or a value is not a number.
    """
    try:
        parts = [part.strip() for row in csv.reader([text], skipinitialspace=True, strict=True) for part in row]
    except csv.Error as error:
        raise ConfigurationError(field=field, value=text, allowed=f"{_EXAMPLE} ({error})") from None
    require(any(parts), field, text, f"features with their values, {_EXAMPLE}")
    alternative: dict[str, float] = {}
    for part in parts:
        name, separator, value = (piece.strip() for piece in part.rpartition("="))
        require(separator, field, part, f"feature=value, {_EXAMPLE}")
        _check_feature(name, outcome, field=field)
        refuse(name in alternative, field, name, "named once")
        alternative[name] = number_in(value)
        require(abs(alternative[name]) <= GREATEST_FEATURE, f"{name} in {field}", value, ALLOWED)
    return alternative


def _check_feature(name: str, outcome: Outcome, *, field: str) -> None:
    """Refuse a feature that is not in the outcome, and suggest a similar name."""
    if name in outcome.features:
        return
    by_folded = {feature.casefold(): feature for feature in reversed(outcome.features)}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    allowed = f"one of {join_names(outcome.features)}"
    if close:
        allowed = f"a feature that voters were asked about (did you mean {by_folded[close[0]]!r}?)"
    raise ConfigurationError(field=field, value=name, allowed=allowed)


def read_pairs(path: Path, outcome: Outcome) -> list[AlternativePair]:
    """Read pairs from a CSV file, which may be compressed (`.gz`), in order of first appearance.

    The columns are `pair`, `alternative` and features; missing features are 0. Each pair has two lines, with
    alternatives `first` and `second`, in any order.

        pair,alternative,Man,Dog
        1,first,1,0
        1,second,0,2

    Raises:
        ConfigurationError: the file cannot be read, or has another form; `field` names the line.
    """
    rows, features, numbers = _read(path, (_PAIR, _ALTERNATIVE), outcome, field="--pairs")
    codes, names = rows.column(_PAIR).codes, rows.column(_PAIR).names
    alternatives: list[dict[str, dict[str, float]]] = [{} for _ in names]
    lines: list[int] = [0] * len(names)
    for row, code in enumerate(codes.tolist()):
        side_given = rows.column(_ALTERNATIVE)[row]
        side, place_text = side_given.strip(), f"{_ALTERNATIVE} ({rows.where(row + 1)})"
        require(side in _SIDES, place_text, side_given, "'first' or 'second'")
        if side in alternatives[code]:
            value = f"{side!r} of pair {names[code]!r} again"
            raise ConfigurationError(field=place_text, value=value, allowed="named once")
        alternatives[code][side] = dict(zip(features, numbers[row].tolist(), strict=True))
        lines[code] = lines[code] or rows.lines[row]
    for name, sides, line in zip(names, alternatives, lines, strict=True):
        if len(sides) < len(_SIDES):
            (side_given,) = sides
            (missing,) = (side for side in _SIDES if side != side_given)
            value = f"the {side_given} alternative alone"
            allowed = f"two lines: the {missing} one is missing"
            raise ConfigurationError(field=f"pair {name!r} ({path.name} line {line})", value=value, allowed=allowed)
    return [
        AlternativePair(name=name, first=sides["first"], second=sides["second"])
        for name, sides in zip(names, alternatives, strict=True)
    ]


def read_alternatives(path: Path, outcome: Outcome) -> dict[str, dict[str, float]]:
    """Read alternatives from a CSV file, by name, in order. Errors are those of `read_pairs`.

    The columns are `alternative`, a unique name, and features; missing features are 0.

        alternative,Man,Dog
        swerve,1,0
        stay,0,2
    """
    rows, features, numbers = _read(path, (_ALTERNATIVE,), outcome, field="--alternatives")
    alternatives: dict[str, dict[str, float]] = {}
    for row, (alternative_name, values) in enumerate(zip(rows.column(_ALTERNATIVE), numbers.tolist(), strict=True)):
        name = alternative_name.strip()
        if not name or not name.isprintable() or name in alternatives:
            allowed = "a name of printable characters that no other alternative has"
            raise ConfigurationError(
                field=f"{_ALTERNATIVE} ({rows.where(row + 1)})", value=alternative_name, allowed=allowed
            )
        alternatives[name] = dict(zip(features, values, strict=True))
    return alternatives


def _read(
    path: Path, names: Sequence[str], outcome: Outcome, *, field: str
) -> tuple[RowBatch, Sequence[str], FloatArray]:
    """Read columns of names, the features next to them, and the features' numbers."""
    files = TableFiles(path, field=field)
    header, place_text, shown_names = files.names, f"{path.name} line 1", list(map(repr, names))
    for name in names:
        require(name in header, place_text, header, f"a header with the columns {', '.join(shown_names)} and features")
    features = [name for name in header if name not in names]
    require(features, place_text, header, f"a header with features after {' and '.join(shown_names)}")
    for name in features:
        _check_feature(name, outcome, field=place_text)
    rows, numbers = read_numbers(files, names, features)
    return rows, features, numbers
