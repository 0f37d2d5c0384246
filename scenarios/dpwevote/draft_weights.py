"""Weights in a file of somebody's own: how they are written, and what a scenario, which everybody reads, says of them.

A list of many private weights would tell everybody who has which. So they are rounded to multiples of a step that is
asked for, beside what that costs, or said to be public.
"""

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from ...protocol.errors import ConfigurationError, require
from ..reading.cells import nearest_multiple, number_of
from ..running.drafts import Chosen, Line, Sheet, UnclearError
from ..words import marked

__all__ = ["Weights", "any_number", "are_numbers", "draft_weights"]

_GROUPED: Final = re.compile(r"\d{1,3}([.,]\d{3})+")
_MOST_WEIGHTS: Final = 10
_FEWEST_HOLDERS: Final = 2
"""A list of more private weights than these, or of more than a partner in so many has, would tell who has which."""
_ALWAYS_FEW: Final = 3
_STEPS: Final = (16, 8, 4)  # multiples up to the greatest weight


@dataclasses.dataclass(frozen=True)
class Weights:
    """What a scenario says of weights: among its parameters, of its file, and in a sentence."""

    parameters: Sequence[Line]
    parties: Sequence[Line]
    said: str


def any_number(entry: str) -> float:
    """Return a number with either sign before its decimals; nan for what is none."""
    found = number_of(entry)
    return number_of(entry, ",") if math.isnan(found) else found


def are_numbers(entries: Sequence[str]) -> bool:
    """Return whether entries are numbers above 0, but for empty ones, and others than 0 and 1 among them."""
    given = [entry for entry in entries if entry]
    return bool(given) and not set(given) <= {"0", "1"} and all(any_number(entry) > 0 for entry in given)


def draft_weights(sheet: Sheet, chosen: Chosen, column: str, *, is_yes: Mapping[str, Sequence[bool]]) -> Weights:
    """Return what a scenario says of the weights in a column.

    Args:
        is_yes: who votes yes, in each motion.

    Raises:
        UnclearError: they can be read in two ways, or are private and a list of them would publish them.
        ConfigurationError: one is none.
    """
    entries = sheet.column(column)
    decimal = _decimal(entries, chosen, sheet, column)
    own: list[float] = []
    for row, entry in enumerate(entries):
        number = number_of(entry, decimal)
        if not 0 < number < math.inf:
            allowed = marked(f"a number > 0 for each partner, with {decimal!r} before its decimals")
            raise ConfigurationError(field=sheet.where(column, row), value=entry, allowed=allowed)
        own.append(number)
    about = (
        [Line("decimal", decimal, "before the decimals of weights")] if any("," in entry for entry in entries) else []
    )
    weights = sorted(set(own))
    is_public = bool(chosen.get("public-weights")) or len(weights) == 1  # then there is nothing to learn
    told = marked(f"Weights are those of the column {column!r}, and {'public' if is_public else 'private'!s}.")
    if not is_public and (step := _step(chosen, own, is_yes)):
        greatest = nearest_multiple(weights[-1], step)
        weights = [nearest_multiple(number * step, step) for number in range(1, round(greatest / step) + 1)]
        about.append(Line("round_weights", _plain(step), "each weight becomes a multiple of it"))
        rounded = f"They are rounded to multiples of {step:g}; everybody may know that none is above {greatest:g}."
        told = f"{told} {marked(rounded)}"
    comment = "public: nothing is spent on them" if is_public else "everybody may know that these are possible"
    parameters = [Line("weights", [_plain(weight) for weight in weights], comment)]
    if is_public:
        parameters.append(Line("public_weights", value=True, comment="everybody knows who has which weight"))
    return Weights(parameters, about, told)


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else number


def _decimal(entries: Sequence[str], chosen: Chosen, sheet: Sheet, column: str) -> str:
    """Return the sign before decimals; UnclearError where all may be thousands."""
    if given := chosen.get("decimal", ()):
        require(given[-1] in {".", ","}, "--decimal", given[-1], "a point or a comma")
        return given[-1]
    marked = [entry for entry in entries if "," in entry or "." in entry]
    fits = [sign for sign in (".", ",") if not any(math.isnan(number_of(entry, sign)) for entry in marked)]
    if len(fits) > 1 and marked and all(map(_GROUPED.fullmatch, marked)):
        row = entries.index(marked[0])
        question = f"{sheet.where(column, row)} is {marked[0]!r}: which sign stands before decimals"
        raise UnclearError(option="decimal", question=question, choices=fits)
    return fits[0] if fits else "."


def _step(chosen: Chosen, own: Sequence[float], is_yes: Mapping[str, Sequence[bool]]) -> float:
    """Return of what private weights become multiples, 0 where all are published; UnclearError if that tells much."""
    if given := chosen.get("round-weights", ()):
        step = number_of(given[-1])
        require(0 < step < math.inf, "--round-weights", given[-1], "a number > 0")
        return step
    number = len(set(own))
    if number <= _ALWAYS_FEW or (number <= _MOST_WEIGHTS and _FEWEST_HOLDERS * number <= len(own)):
        return 0.0
    steps = dict.fromkeys(_nice(max(own) / bands) for bands in _STEPS)
    costs = "; ".join(_cost(own, step, is_yes) for step in steps)
    question = (
        f"{number} different weights are private, and the scenario, which everybody reads, would list them. To which "
        f"multiples are they rounded ({costs!s}); or --public-weights, where everybody knows them"
    )
    raise UnclearError(option="round-weights", question=question, choices=[f"{step:g}" for step in steps])


def _nice(number: float) -> float:
    """Return a round number, 1, 2 or 5 times a power of ten, that is no less."""
    power = 10.0 ** math.floor(math.log10(number))
    return next(round(times * power, 12) for times in (1, 2, 5, 10) if times * power >= number * (1 - 1e-12))


def _cost(own: Sequence[float], step: float, is_yes: Mapping[str, Sequence[bool]]) -> str:
    """Return a step, by how much rounding to it moves a motion's share of yes, and how many weights are left."""
    rounded = [nearest_multiple(weight, step) for weight in own]
    moved = [(_share(own, votes), _share(rounded, votes)) for votes in is_yes.values()]
    most = max(abs(after - before) for before, after in moved)
    flips = any((before >= 0.5) != (after >= 0.5) for before, after in moved)  # noqa: PLR2004  half
    changes = marked(", and changes") if flips else ""
    return marked(f"to {step:g}: up to {max(rounded) / step:g} weights, a result moves by {most:.1%}{changes!s}")


def _share(weights: Sequence[float], is_yes: Sequence[bool]) -> float:
    return math.fsum(weight for weight, yes in zip(weights, is_yes, strict=True) if yes) / math.fsum(weights)
