"""The one comparer of all papers: claims that rows decide, each a line of a table.

A line says which rows (`rows`), against what (`against`), by which of their numbers (`measure`), and how (`judge`).

- `rows` is a table and what its fields have to be: `figure_4 variant=printed partners=10|100`.
- `against` is nothing, a number, another field of the same rows, or fields that other rows have in place of the first
  ones': `variant=laplace`. Rows are compared in pairs, in the order of the table, or all with a single one.
- `measure` is a number of the rows, or several, and behind `by` one that a law has, which trials can only contradict.
- `judge` is one of `JUDGES`, with what it takes. Behind `vague`, what does not hold is open: nobody says what would
  contradict it.

A part of a number is meant where what it takes ends with %: `agree 5%`.

Privacy: none. Rows are of simulated sessions, or of data that everybody may know.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..verdicts import Judgement
from .judging import (
    agree,
    ahead_somewhere,
    all_above,
    average,
    between,
    difference,
    difference_of_shares,
    errors_of,
    on_average,
    unless_contradicted,
)
from .measurements import Measurement, Share, deviation, mean_square

Row: TypeAlias = Mapping[str, Any]
Tables: TypeAlias = Mapping[str, Sequence[Row]]
"""Rows by the name of their table."""
_BY: Final = " by "
_NONE: Final = Measurement(0.0, 0.0)
_VAGUE: Final = "vague "


class Line(NamedTuple):
    """How a claim is judged."""

    rows: str
    against: str
    measure: str
    judge: str


class Told(NamedTuple):
    """A verdict, and the numbers behind it in a sentence or two."""

    judgement: Judgement
    numbers: str


class _Pair(NamedTuple):
    row: Row
    difference: Measurement
    form: str  # of the difference, as people read it
    limit: float | None  # what it is a difference from, where that is a number of the line


def select(tables: Tables, text: str) -> list[Row]:
    """Return the rows of a table whose fields have one of the values that stand behind them.

    Example:
        >>> rows = [{"variant": name, "epsilon": epsilon} for name in ("a", "b") for epsilon in (0.5, 1.0)]
        >>> select({"cells": rows}, "cells variant=b epsilon=0.5|1")
        [{'variant': 'b', 'epsilon': 0.5}, {'variant': 'b', 'epsilon': 1.0}]
    """
    name, *conditions = shlex.split(text)
    rows = list(tables[name])
    for field, allowed in _fields(conditions).items():
        rows = [row for row in rows if written(row[field]) in allowed.split("|")]
    return rows


def _fields(conditions: Sequence[str]) -> dict[str, str]:
    return {field: values for field, _, values in (condition.partition("=") for condition in conditions)}


def written(value: object) -> str:
    """Return a field as lines have it: a number as people write it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def compare(line: Line, tables: Tables, *, trials: int, axes: Mapping[str, str]) -> Told | None:
    """Return what rows say of a claim; None where there are none.

    Args:
        line: how it is judged.
        tables: all rows.
        trials: of each number that has a standard error.
        axes: what fields that tell rows apart are called, such as n.

    Raises:
        KeyError: a table, a field or a judge is not there.

    Example:
        >>> rows = [{"variant": name, "mse": Measurement(mean, 0.1)} for name, mean in (("a", 5.0), ("b", 3.0))]
        >>> line = Line("cells variant=a", "variant=b", "mse", "above")
        >>> compare(line, {"cells": rows}, trials=1_000, axes={}).judgement
        <Judgement.HOLDS: 'holds'>
    """
    judge, *given = line.judge.removeprefix(_VAGUE).split()
    name, _, law = line.measure.partition(_BY)
    rows = select(tables, line.rows)
    if not rows:
        return None
    is_relative = any(each.endswith("%") for each in given)
    margins = [float(each.removesuffix("%")) / (100 if each.endswith("%") else 1) for each in given]
    pairs = [
        pair
        for measure in name.split()
        for pair in _pairs(tables, line, rows, measure, trials=trials, is_relative=is_relative)
    ]
    judgement, numbers = JUDGES[judge](pairs, margins, trials, _varying(rows, axes))
    if law:
        least = min(pair.difference.value for pair in _pairs(tables, line, rows, law, trials=trials))
        judgement = unless_contradicted(judgement, holds=least > 0)
        numbers = f"By the law the difference is {least:+.4f} at least. {numbers}"
    if line.judge.startswith(_VAGUE) and judgement is not Judgement.HOLDS:
        judgement = Judgement.OPEN
    return Told(judgement, numbers)


def _pairs(
    tables: Tables, line: Line, rows: Sequence[Row], measure: str, *, trials: int, is_relative: bool = False
) -> Iterator[_Pair]:
    """Yield by how much each row's number exceeds the other's."""
    is_number = "=" not in line.against and line.against not in rows[0]
    limit = float(line.against or 0) if is_number else None
    for row, other in zip(rows, _others(tables, line, rows, measure), strict=True):
        own = _measured(row[measure])
        are_shares = isinstance(own, Share) and isinstance(other, Share)
        found = difference_of_shares(own, other, trials) if are_shares else difference(own, other)
        if is_relative:
            found = Measurement(found.value / other.value, found.standard_error / other.value)
        form = "{:+.2f} %" if is_relative else "{:+.1f} points" if are_shares else "{:+.3g}"
        yield _Pair(row, found, form, limit)


def _others(tables: Tables, line: Line, rows: Sequence[Row], measure: str) -> list[Measurement]:
    against = line.against.strip()
    if "=" in against:
        name, *conditions = shlex.split(line.rows)
        fields = _fields(conditions) | _fields(shlex.split(against))
        chosen = " ".join(shlex.quote(f"{field}={values}") for field, values in fields.items())
        others = [_measured(row[measure]) for row in select(tables, f"{name} {chosen}")]
        return others * len(rows) if len(others) == 1 else others
    if against in rows[0]:
        return [_measured(row[against]) for row in rows]
    return [Measurement(float(against or 0), 0.0)] * len(rows)


def _measured(value: Any) -> Measurement:
    return value if isinstance(value, Measurement) else Measurement(float(value), 0.0)


def _varying(rows: Sequence[Row], axes: Mapping[str, str]) -> Callable[[Row], str]:
    """Return what says where a row stands among others, by the fields in which they differ."""
    fields = [field for field in axes if len({written(row.get(field)) for row in rows}) > 1]

    def place(row: Row) -> str:
        told = ", ".join(f"{axes[field]} = {written(row[field])}" for field in fields)
        return f" ({told})" if told else ""

    return place


def _range(pairs: Sequence[_Pair], place: Callable[[Row], str]) -> str:
    """Return a clause on the least number and the greatest, or on the differences."""
    least, most = (choose(pairs, key=lambda each: each.difference.value) for choose in (min, max))
    limit = least.limit
    if limit is None:
        ends = (f"{_said(each, each.difference.value)}{place(each.row)}" for each in (least, most))
        return f"The difference is {' to '.join(dict.fromkeys(ends))}"
    ends = (f"{each.difference.value + limit:.4g}{place(each.row)}" for each in (least, most))
    return f"The number is {' to '.join(dict.fromkeys(ends))}" + (f", beside {limit:g}" if limit else "")


def _said(pair: _Pair, value: float) -> str:
    return pair.form.format(value if pair.form == "{:+.3g}" else 100 * value)


def _in_errors(pair: _Pair) -> float:
    return deviation(pair.difference, _NONE)


_Judge: TypeAlias = Callable[[Sequence[_Pair], Sequence[float], int, Callable[[Row], str]], tuple[Judgement, str]]


def _directed(judge: Callable[..., Judgement], sign: int) -> _Judge:
    """Return what judges that all differences are above 0, or below."""

    def judged(
        pairs: Sequence[_Pair], _: Sequence[float], trials: int, place: Callable[[Row], str]
    ) -> tuple[Judgement, str]:
        turned = [Measurement(sign * each.difference.value, each.difference.standard_error) for each in pairs]
        so = f"It is so in {sum(each.value > 0 for each in turned)} of {len(pairs)}. " if len(pairs) > 1 else ""
        return judge(turned, trials=trials), f"{so}{_range(pairs, place)}{_errors(pairs)}."

    return judged


def _errors(pairs: Sequence[_Pair]) -> str:
    if not all(pair.difference.standard_error for pair in pairs):
        return ""  # of a law
    least, most = (choose(map(_in_errors, pairs)) for choose in (min, max))
    return f", {least:+.1f} to {most:+.1f} standard errors" if len(pairs) > 1 else f", {least:+.1f} standard errors"


def _agreeing(
    pairs: Sequence[_Pair], margins: Sequence[float], trials: int, place: Callable[[Row], str]
) -> tuple[Judgement, str]:
    """Judge that numbers are as others are: within chance, and on average within a margin."""
    (margin,), deviations = margins, [_in_errors(pair) for pair in pairs]
    mean = average(pair.difference for pair in pairs)
    far = sum(abs(each) > errors_of(len(pairs), trials) for each in deviations)
    greatest = max(pairs, key=lambda pair: abs(_in_errors(pair)))
    return agree(deviations, mean, margin, trials=trials), (
        f"{far} of {len(pairs)} are farther off than chance has it; the greatest difference is "
        f"{_in_errors(greatest):+.1f} joint standard errors{place(greatest.row)}, the mean square "
        f"{mean_square(deviations):.2f} where chance gives 1. On average they differ by "
        f"{_said(pairs[0], mean.value)} ± {_said(pairs[0], mean.standard_error).removeprefix('+')}."
    )


def _within(
    pairs: Sequence[_Pair], margins: Sequence[float], trials: int, place: Callable[[Row], str]
) -> tuple[Judgement, str]:
    """Judge that each number is between two limits."""
    low, high = margins
    return between((pair.difference for pair in pairs), low, high, trials=trials), f"{_range(pairs, place)}."


def _on_average(
    pairs: Sequence[_Pair], _: Sequence[float], trials: int, place: Callable[[Row], str]
) -> tuple[Judgement, str]:
    """Judge that a row's mean of differences is above 0, and none of them below: `least` and `most`, in errors."""
    (pair,) = pairs
    row, mean = pair.row, pair.difference
    said = pair._replace(form="{:+.1f} points")
    return on_average(mean, row["least"], row["number"], trials=row.get("trials", trials)), (
        f"On average over {row['number']} pairs the difference is {_said(said, mean.value)} ± "
        f"{_said(said, mean.standard_error).removeprefix('+')}{place(row)}, and that of single ones "
        f"{row['least']:+.1f} to {row['most']:+.1f} standard errors."
    )


JUDGES: Final[Mapping[str, _Judge]] = {
    "above": _directed(all_above, 1),
    "below": _directed(all_above, -1),
    "ahead": _directed(ahead_somewhere, 1),
    "agree": _agreeing,
    "between": _within,
    "average": _on_average,
}
"""Each by its name: all differences above 0, or below; some above and none below; equal on average to a margin; each
number between two limits; a mean of differences above 0, of a row that has the least and the most of them."""
