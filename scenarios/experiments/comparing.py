"""Judge claims of papers by rows of tables; each claim is a line of a file.

A line has the rows (`rows`), what they are compared with (`against`), their number (`measure`), and the criterion
(`judge`).

- `rows` is a table with conditions on its fields: `figure_4 variant=printed partners=10|100`.
- `against` is empty, a number, another field of the same rows, or conditions that replace those of `rows` and select
  other rows: `variant=laplace`. Rows are compared in pairs, in the order of the table; if the numbers of rows differ,
  each row is compared with all that have the same other fields. `less epsilon|partners` compares each row with the one
  that has the next smaller value in one of these fields, and is otherwise equal; `more` with the next greater value.
- `measure` is a number of the rows, or several. After `by` follows a number from an exact law, which decides unless
    trials contradict it.
- `judge` is one of `JUDGES` with its arguments. After `vague`, a claim that does not hold is open, because it does not
  say what would contradict it.

An argument that ends with % is relative: `agree 5%`.

Privacy: none. Rows come from simulated sessions, or from public data.
"""

import itertools
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..verdicts import Judgement
from .judging import (
    agree,
    ahead_somewhere,
    average,
    between,
    difference,
    difference_of_shares,
    errors_of,
    judge_all_above,
    judge_with_law,
    on_average,
)
from .measurements import Measurement, Sample, Share, deviation, mean_square

Row: TypeAlias = Mapping[str, Any]
Tables: TypeAlias = Mapping[str, Sequence[Row]]
"""Maps each table's name to its rows."""
_BY: Final = " by "
_NONE: Final = Measurement(0.0, 0.0)
_VAGUE: Final = "vague "
_ORDERS: Final = ("less", "more")


class ClaimRule(NamedTuple):
    """A claim's line: rows, comparison, measure and judge."""

    rows: str
    against: str
    measure: str
    judge: str


class Told(NamedTuple):
    """A verdict, and a sentence or two with its numbers."""

    judgement: Judgement
    numbers: str


class _Beside(NamedTuple):
    row: Row
    other: Row  # the row itself if it is compared with a number or another field
    along: str = ""  # heading of the field in which neighboring rows differ


class _RowPair(NamedTuple):
    beside: _Beside
    difference: Measurement
    form: str  # the difference's format
    limit: float | None  # the number that is subtracted, if the line has one

    @property
    def row(self) -> Row:
        return self.beside.row


def select(tables: Tables, text: str) -> list[Row]:
    """Return the rows of a table whose fields have one of the values in the conditions.

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
    """Format a field as in lines."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def compare(line: ClaimRule, tables: Tables, *, trials: int, axes: Mapping[str, str]) -> Told | None:
    """Judge a claim by its rows; return None if there are none.

    Args:
        line: the claim's line.
        tables: all tables of rows.
        trials: number of trials behind each number with a standard error that is not a `Sample`.
        axes: headings, such as n, of the fields that distinguish rows.

    Raises:
        KeyError: there is no such table, field or judge.

    Example:
        >>> rows = [{"variant": name, "mse": Measurement(mean, 0.1)} for name, mean in (("a", 5.0), ("b", 3.0))]
        >>> line = ClaimRule("cells variant=a", "variant=b", "mse", "above")
        >>> compare(line, {"cells": rows}, trials=1_000, axes={}).judgement
        <Judgement.HOLDS: 'holds'>
    """
    judge, *arguments = line.judge.removeprefix(_VAGUE).split()
    name, _, law = line.measure.partition(_BY)
    pairs = _compared_rows(tables, line, axes)
    if not pairs:
        return None
    differences = [each for measure in name.split() for each in _differences(pairs, line, measure, arguments, trials)]
    samples = [each.difference for each in differences if isinstance(each.difference, Sample)]
    trials = min((len(each.numbers) for each in samples), default=trials)
    judgement, numbers = JUDGES[judge](
        differences, arguments, trials, _make_row_describer([pair.row for pair in pairs], axes)
    )
    if law:
        least_difference = min(each.difference.value for each in _differences(pairs, line, law, (), trials))
        judgement = judge_with_law(judgement, is_true=least_difference > 0)
        numbers = f"By the law the difference is {least_difference:+.4f} at least. {numbers}"
    if line.judge.startswith(_VAGUE) and judgement is not Judgement.HOLDS:
        judgement = Judgement.OPEN
    return Told(judgement, numbers)


def _compared_rows(tables: Tables, line: ClaimRule, axes: Mapping[str, str]) -> list[_Beside]:
    """Return the rows, each with the row that it is compared with."""
    rows = select(tables, line.rows)
    order, _, fields = line.against.strip().partition(" ")
    if order in _ORDERS:
        return [each for field in fields.split("|") for each in _neighbors(rows, field, axes, falls=order == "more")]
    if "=" not in line.against:
        return [_Beside(row, row) for row in rows]
    name, *conditions = shlex.split(line.rows)
    changed_fields = _fields(shlex.split(line.against))
    conditions_text = " ".join(
        shlex.quote(f"{field}={values}") for field, values in (_fields(conditions) | changed_fields).items()
    )
    other_rows = select(tables, f"{name} {conditions_text}")
    if len(other_rows) in {1, len(rows)}:
        return [_Beside(row, other) for row, other in zip(rows, itertools.cycle(other_rows), strict=False)]
    common_axes = [axis for axis in axes if axis not in changed_fields]
    comparisons = [
        _Beside(row, other)
        for row in rows
        for other in other_rows
        if _place(row, common_axes) == _place(other, common_axes)
    ]
    if {id(each.row) for each in comparisons} != set(map(id, rows)):
        raise ValueError(f"{line.rows!r} has rows that have no other ones to be compared with: {line.against!r}")
    return comparisons


def _neighbors(rows: Sequence[Row], field: str, axes: Mapping[str, str], *, falls: bool) -> Iterator[_Beside]:
    """Yield rows with the row that has the next smaller (or greater) value in a field and is otherwise equal."""
    rows_of_place: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row[field], reverse=falls):
        rows_of_place.setdefault(_place(row, [axis for axis in axes if axis != field]), []).append(row)
    for group_rows in rows_of_place.values():
        yield from (_Beside(row, other, axes[field]) for other, row in itertools.pairwise(group_rows))


def _place(row: Row, axes: Sequence[str]) -> tuple[object, ...]:
    return tuple(row.get(axis) for axis in axes)


def _differences(
    pairs: Sequence[_Beside], line: ClaimRule, measure: str, arguments: Sequence[str], trials: int
) -> Iterator[_RowPair]:
    """Yield the difference of each pair's numbers."""
    is_relative = any(each.endswith("%") for each in arguments)
    for pair in pairs:
        own_value, other, limit = _to_measurement(pair.row[measure]), _to_measurement(pair.other[measure]), None
        if pair.row is pair.other:
            is_field = line.against in pair.row
            limit = None if is_field else float(line.against or 0)
            other = _to_measurement(pair.row[line.against] if is_field else limit)
        are_shares = isinstance(own_value, Share) and isinstance(other, Share)
        differences_found = (
            difference_of_shares(own_value, other, trials) if are_shares else difference(own_value, other)
        )
        are_shares |= isinstance(differences_found, Sample) and differences_found.is_share
        if is_relative:
            differences_found = Measurement(
                differences_found.value / other.value, differences_found.standard_error / other.value
            )
        form = "{:+.2f} %" if is_relative else "{:+.1f} points" if are_shares else "{:+.3g}"
        yield _RowPair(pair, differences_found, form, limit)


def _numbers(arguments: Sequence[str]) -> list[float]:
    return [float(each.removesuffix("%")) / (100 if each.endswith("%") else 1) for each in arguments]


def _to_measurement(value: Any) -> Measurement:
    return value if isinstance(value, Measurement) else Measurement(float(value), 0.0)


def _make_row_describer(rows: Sequence[Row], axes: Mapping[str, str]) -> Callable[[Row], str]:
    """Return a function that describes a row by the fields in which the rows differ."""
    fields = [field for field in axes if len({written(row.get(field)) for row in rows}) > 1]

    def place(row: Row) -> str:
        row_text = ", ".join(f"{axes[field]} = {written(row[field])}" for field in fields)
        return f" ({row_text})" if row_text else ""

    return place


def _range(pairs: Sequence[_RowPair], place: Callable[[Row], str]) -> str:
    """Return a clause with the least and the greatest number or difference."""
    least_pair, greatest_pair = (choose(pairs, key=lambda each: each.difference.value) for choose in (min, max))
    limit = least_pair.limit
    if limit is None:
        ends = (f"{_said(each, each.difference.value)}{place(each.row)}" for each in (least_pair, greatest_pair))
        return f"The difference is {' to '.join(dict.fromkeys(ends))}"
    ends = (f"{each.difference.value + limit:.4g}{place(each.row)}" for each in (least_pair, greatest_pair))
    return f"The number is {' to '.join(dict.fromkeys(ends))}" + (f", beside {limit:g}" if limit else "")


def _said(pair: _RowPair, value: float) -> str:
    return pair.form.format(value if pair.form == "{:+.3g}" else 100 * value)


def _distance_in_errors(pair: _RowPair) -> float:
    return deviation(pair.difference, _NONE)


_Judge: TypeAlias = Callable[[Sequence[_RowPair], Sequence[str], int, Callable[[Row], str]], tuple[Judgement, str]]


def _make_directed_judge(judge: Callable[..., Judgement], sign: int) -> _Judge:
    """Return a judge that all differences, times `sign`, are above 0, or above the argument."""

    def judge_pairs(
        pairs: Sequence[_RowPair], arguments: Sequence[str], trials: int, place: Callable[[Row], str]
    ) -> tuple[Judgement, str]:
        limit = sum(_numbers(arguments))
        turned = [Measurement(sign * (each.difference.value - limit), each.difference.standard_error) for each in pairs]
        so = f"It is so in {sum(each.value > 0 for each in turned)} of {len(pairs)}. " if len(pairs) > 1 else ""
        return judge(turned, trials=trials), f"{so}{_range(pairs, place)}{_errors(pairs)}."

    return judge_pairs


def _errors(pairs: Sequence[_RowPair]) -> str:
    if not all(pair.difference.standard_error for pair in pairs):
        return ""  # numbers from a law have no error
    least_error, greatest_error = (choose(map(_distance_in_errors, pairs)) for choose in (min, max))
    return (
        f", {least_error:+.1f} to {greatest_error:+.1f} standard errors"
        if len(pairs) > 1
        else f", {least_error:+.1f} standard errors"
    )


def _judge_agreement(
    pairs: Sequence[_RowPair], arguments: Sequence[str], trials: int, place: Callable[[Row], str]
) -> tuple[Judgement, str]:
    """Judge that numbers agree: up to chance, and on average within a margin."""
    (margin,), deviations = _numbers(arguments), [_distance_in_errors(pair) for pair in pairs]
    mean = average(pair.difference for pair in pairs)
    num_far = sum(abs(each) > errors_of(len(pairs), trials) for each in deviations)
    greatest = max(pairs, key=lambda pair: abs(_distance_in_errors(pair)))
    return agree(deviations, mean, margin, trials=trials), (
        f"{num_far} of {len(pairs)} are farther off than chance has it; the greatest difference is "
        f"{_distance_in_errors(greatest):+.1f} joint standard errors{place(greatest.row)}, the mean square "
        f"{mean_square(deviations):.2f} where chance gives 1. On average they differ by "
        f"{_said(pairs[0], mean.value)} ± {_said(pairs[0], mean.standard_error).removeprefix('+')}."
    )


def _within(
    pairs: Sequence[_RowPair], arguments: Sequence[str], trials: int, place: Callable[[Row], str]
) -> tuple[Judgement, str]:
    """Judge that each number is between two limits."""
    low, high = _numbers(arguments)
    return between((pair.difference for pair in pairs), low, high, trials=trials), f"{_range(pairs, place)}."


def _on_average(
    pairs: Sequence[_RowPair], arguments: Sequence[str], trials: int, _: Callable[[Row], str]
) -> tuple[Judgement, str]:
    """Judge that differences are above 0 on average, and none is below.

    There is an average for each value of each given field, and for each field in which neighboring rows differ.
    """
    pairs_of_name: dict[str, list[_RowPair]] = {}
    for pair in pairs:
        row, other, axes_along = pair.beside
        values = (" against ".join(dict.fromkeys(written(each[field]) for each in (row, other))) for field in arguments)
        pairs_of_name.setdefault(", ".join(filter(None, (axes_along, *values))), []).append(pair)
    means = {name: average(pair.difference for pair in own_pairs) for name, own_pairs in pairs_of_name.items()}
    least_error, greatest_error = (choose(map(_distance_in_errors, pairs)) for choose in (min, max))
    averages_text = "; ".join(
        f"{_said(pairs_of_name[name][0], mean.value)} "
        f"({f'{name}, ' if name else ''}{mean.value / mean.standard_error:+.1f} "
        f"standard errors, {len(pairs_of_name[name])} pairs)"
        for name, mean in means.items()
        if mean.standard_error
    )
    return on_average(means.values(), least_error, len(pairs), trials=trials), (
        f"On average the difference is {averages_text}; that of single pairs is {least_error:+.1f} to "
        f"{greatest_error:+.1f} standard errors."
    )


JUDGES: Final[Mapping[str, _Judge]] = {
    "above": _make_directed_judge(judge_all_above, 1),
    "below": _make_directed_judge(judge_all_above, -1),
    "ahead": _make_directed_judge(ahead_somewhere, 1),
    "agree": _judge_agreement,
    "between": _within,
    "average": _on_average,
}
"""Judges by name: all differences above (or below) 0 or another limit; some above and none below; equal on average up
to a margin; all numbers between two limits; above 0 on average and none below."""
