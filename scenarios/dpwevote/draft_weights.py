"""Weights in a file of somebody's own: how they are written, and what a scenario, which everybody reads, says of them.

A list of many private weights would tell everybody who has which. So each is rounded, by at most a share of it that is
asked for, to a public list of numbers that lie apart by about twice that share; or they are said to be public.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ...protocol.dpwevote.parameters import MAX_GROUPS, MAX_WEIGHTS, MOST_ROUNDING
from ...protocol.dpwevote.rounding import nearest_places
from ...protocol.errors import ConfigurationError, quote, require
from ..reading.cells import may_be_thousands, nearly_equal, number_of
from ..running.drafts import Chosen, SavedTable, ScenarioLine, UnclearError, answer, chosen_word
from ..verdicts import at_most

_MOST_WEIGHTS: Final = 10
_FEWEST_HOLDERS: Final = 2
"""A list of more private weights than these, or of more than a partner in so many has, would tell who has which."""
_ALWAYS_FEW: Final = 3
_SHARES: Final = ("5%", "10%", "20%")
_LEAST_SHARE: Final = 0.01
_DIGITS: Final = 2  # after the first one, of the numbers that weights are rounded to
_FINEST: Final = 10_000  # by which share weights are rounded is itself rounded up, to so many parts


@dataclasses.dataclass(frozen=True)
class Weights:
    """What a scenario says of weights: among its parameters, of its file, and in a sentence."""

    parameters: Sequence[ScenarioLine]
    parties: Sequence[ScenarioLine]
    said: str


def any_number(entry: str) -> float:
    """Return a number with either sign before its decimals, and perhaps % behind; nan for what is none.

    Examples:
        >>> any_number("1,5"), any_number("12 %"), any_number("many")
        (1.5, 12.0, nan)
    """
    entry = entry.removesuffix("%").strip()
    value = number_of(entry)
    return number_of(entry, ",") if math.isnan(value) else value


def are_numbers(entries: Sequence[str]) -> bool:
    """Return whether entries are numbers above 0, but for empty ones, and others than 0 and 1 among them.

    Examples:
        >>> are_numbers(["1", "2.5", ""]), are_numbers(["0", "1"])
        (True, False)
    """
    filled_entries = [entry for entry in entries if entry]
    return (
        bool(filled_entries)
        and not set(filled_entries) <= {"0", "1"}
        and all(any_number(entry) > 0 for entry in filled_entries)
    )


def draft_weights(sheet: SavedTable, options: Chosen, column: str) -> Weights:
    """Return what a scenario says of the weights in a column.

    Raises:
        UnclearError: they can be read in two ways, or are private and a list of them would publish them.
        ConfigurationError: one is none.
    """
    entries = sheet.column(column)
    decimal = _decimal(entries, options, sheet, column)
    own_weights: list[float] = []
    for row, entry in enumerate(entries):
        number = number_of(entry, decimal)
        way_out = f"Write a number above 0, with {decimal!r} before its decimals and no unit."
        allowed = f"A weight cannot be {quote(entry)}. {way_out}"
        require(0 < number < math.inf, sheet.where(column, row), entry, allowed)
        own_weights.append(number)
    if pair := nearly_equal(own_weights):
        row = own_weights.index(pair[1])
        allowed = f"Is {entries[row]!r} the same weight as {pair[0]!r}? Write one weight alike, with 15 digits at most."
        raise ConfigurationError(field=sheet.where(column, row), value=entries[row], allowed=allowed)
    decimal_lines = (
        [ScenarioLine("decimal", decimal, "before the decimals of weights")]
        if decimal == "," or options.get("decimal") or any("," in entry for entry in entries)
        else []
    )
    weights, rounding, rounding_note = sorted(set(own_weights)), list[ScenarioLine](), ""
    is_public = bool(options.get("public-weights")) or len(weights) == 1  # then there is nothing to learn
    if share := _share(options, own_weights, is_public=is_public):
        weights, max_error = _grid(weights[0], weights[-1], share)
        rounding.append(
            ScenarioLine("weights_within", max_error, "each is taken for the nearest of these: verdicts allow for it")
        )
        rounding_note = f" {_rounded(own_weights, weights, max_error)}"
        is_public = is_public or len(weights) == 1
    weights_note = (
        f"Weights are those of the column {column!r}, and {'public' if is_public else 'private'}." + rounding_note
    )
    if "web" in options and not is_public:
        weights_note += " Each partner chooses its own on the page. If everybody knows them, add --public-weights."
    comment = "public: nothing is spent on them" if is_public else "everybody may know that these are possible"
    weight_list = [int(weight) if weight.is_integer() else weight for weight in weights]
    parameters = [ScenarioLine("weights", weight_list, comment), *rounding]
    if is_public:
        parameters.append(ScenarioLine("public_weights", value=True, comment="everybody knows who has which weight"))
    return Weights(parameters, decimal_lines, weights_note)


def _decimal(entries: Sequence[str], options: Chosen, sheet: SavedTable, column: str) -> str:
    """Return the sign before decimals; UnclearError where all may be thousands."""
    if decimal := answer(options, "decimal"):
        return decimal
    marked = [entry for entry in entries if "," in entry or "." in entry]
    fits = [sign for sign in (".", ",") if not any(math.isnan(number_of(entry, sign)) for entry in marked)]
    if len(fits) > 1 and may_be_thousands(marked):
        row = entries.index(marked[0])
        question = f"{sheet.where(column, row)} is {marked[0]!r}: which sign stands before decimals"
        return chosen_word(options, "decimal", question, fits)
    return fits[0] if fits else "."


def _share(options: Chosen, weights: Sequence[float], *, is_public: bool) -> float:
    """Return by which share weights may be rounded, 0 where all are published; UnclearError if that tells much."""
    number = len(set(weights))
    if share_text := answer(options, "round-weights"):
        share = any_number(share_text) / (100 if share_text.endswith("%") else 1)
        allowed = f"a share of each weight from {_LEAST_SHARE:.0%} to {MOST_ROUNDING:.0%}, such as 5%"
        require(_LEAST_SHARE <= share <= MOST_ROUNDING, "--round-weights", share_text, allowed)
        max_weights = MAX_WEIGHTS if is_public else MAX_GROUPS
        possible = len(_grid(min(weights), max(weights), share)[0])
        allowed = f"a greater share: {possible:,} weights are possible with this one, at most {max_weights:,} allowed"
        require(possible <= max_weights, "--round-weights", share_text, allowed)
        return share
    is_few = number <= _ALWAYS_FEW or (number <= _MOST_WEIGHTS and _FEWEST_HOLDERS * number <= len(weights))
    if is_few or (is_public and number <= MAX_WEIGHTS):
        return 0.0
    if "web" in options:
        way_out = "Write" if is_public else "Add --public-weights, where everybody knows who has which, or write"
        allowed = f"{number:,} different weights are too many for the page, which lists them. {way_out} fewer."
        raise ConfigurationError(field="--web", value=f"{number} weights", allowed=allowed)
    grids = {share: _grid(min(weights), max(weights), float(share.removesuffix("%")) / 100)[0] for share in _SHARES}
    grids = {share: grid for share, grid in grids.items() if len(grid) <= MAX_GROUPS}
    shares = "; ".join(f"{share}: {len(grid)} possible weights" for share, grid in grids.items())
    problem = "are private, and the scenario, which everybody reads, would list them"
    question = (
        f"{number:,} different weights {'are more than a scenario lists' if is_public else problem}. By which share of "
        f"itself may each be rounded ({shares}), which verdicts allow for"
    )
    if not is_public:
        question += "; or --public-weights, where everybody knows them"
    raise UnclearError("round-weights", question, list(grids))


def _grid(least_weight: float, greatest: float, share: float) -> tuple[list[float], float]:
    """Return the numbers of a few digits to which weights are rounded, and by which share of one at most.

    They are alike in each power of ten and for all files; listed are those from the least weight's to the greatest's.
    """
    number = math.ceil(1 / math.log10((1 + share) / (1 - share)))
    while True:
        decade = [round(10 ** (place / number), _DIGITS) for place in range(number + 1)]
        # By which share of it a number between two is rounded at most.
        max_error = max((upper - lower) / (upper + lower) for lower, upper in itertools.pairwise(decade))
        if max_error <= share:
            break
        number += 1
    powers = range(math.floor(math.log10(least_weight)) - 1, math.floor(math.log10(greatest)) + 2)
    grid = [float(f"{each:.{_DIGITS}f}e{power}") for power in powers for each in decade[:-1]]
    first, last = nearest_places(np.array([least_weight, greatest]), np.array(grid)).tolist()
    return grid[first : last + 1], math.ceil(max_error * _FINEST) / _FINEST


def _rounded(weights: Sequence[float], grid: Sequence[float], max_error: float) -> str:
    """Return a sentence on what rounding does to a file's weights."""
    numbers = np.array(grid)
    total_change = math.fsum(numbers[nearest_places(np.array(weights), numbers)].tolist()) / math.fsum(weights) - 1
    least_text, greatest = (f"{weight:,.10g}" for weight in (grid[0], grid[-1]))
    return (
        f"Each is rounded by at most {at_most(100 * max_error, 4)} % to one of {len(grid):,} possible weights, all "
        f"together by {100 * total_change:+.2g} %; verdicts allow for that. Everybody may know that none is below "
        f"{least_text} "
        f"or above {greatest}."
    )
