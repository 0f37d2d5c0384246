"""Redraw parties every few trials, and split a variance into the parties' part and the noise's.

Draw e of a scenario's parties has the seed that the scenario gives their generator, or 0, plus e: it can be run again.
Trials of one draw share its parties, so that draws, and not trials, are independent: a mean has the standard error of
the means of draws. A measure's variance is the sum of two, between draws and within one. Both estimates are without
bias whatever the measure's law is, and their standard errors are too: by the spread over draws within one, by leaving
out each draw once (the jackknife) between them.

Source: Efron and Stein (1981), by whom the jackknife's variance is not too small on average.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ...protocol.arrays import IntArray
from ...protocol.elementary import square
from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ..running.config import Scenario, with_trust
from ..running.parties import sources_of
from ..running.resolution import Local, resolve
from ..system import find_protocol
from .measurements import Measurement, mean_of

LEAST_DRAWS: Final = 3
"""Of two there is no standard error of a variance between draws."""
_SEED: Final = "seed"


class Spread(NamedTuple):
    """A measure's variance over trials of parties that are drawn anew, in its two parts."""

    between: Measurement
    """Of the mean over all noise, from one draw of the parties to another; an estimate near 0 may be below it."""
    within: Measurement
    """Of a trial around that mean, by the noise."""


def redraw_scenario(scenario: Scenario, number: int) -> Scenario:
    """Return a scenario whose parties are the draw of this number: a generator's, and what it gives each of them."""
    parties = scenario.parties
    assert isinstance(parties, Mapping)  # noqa: S101  `check_redrawn` has seen a generator's table
    each = sources_of(find_protocol(scenario.protocol)).own_parameters.keys() & parties.keys()
    tables = {name: _with_seed(parties[name], number) for name in each if isinstance(parties[name], Mapping)}
    return msgspec.structs.replace(scenario, parties={**_with_seed(parties, number), **tables})


def rows_drawn(
    scenario: Scenario, protocol: PhasedProtocol[Any, Any], numbers: range
) -> tuple[IntArray, IntArray] | None:
    """Return private and public rows of the draws of these numbers, shape (draws, n, columns), encoded at once.

    None where the system does not draw so.
    """
    sources = sources_of(type(protocol))
    parties = scenario.parties
    if sources.draws is None or not isinstance(parties, Mapping) or sources.own_parameters.keys() & parties.keys():
        return None
    parameters = with_trust(scenario, type(protocol)).parameters
    table = sources.draws(parties, [parties.get(_SEED, 0) + number for number in numbers], parameters)
    if table is None:
        return None
    rows, size = protocol.encode(table), len(numbers)
    private, public = (
        drawn_rows.reshape(size, len(rows) // size, drawn_rows.shape[1]) for drawn_rows in (rows.private, rows.public)
    )
    return private, public


def _with_seed(table: Mapping[str, Any], number: int) -> dict[str, Any]:
    return {**table, _SEED: table.get(_SEED, 0) + number}


def check_redrawn(setup: Local) -> None:
    """Raise ConfigurationError unless a generator makes the parties, so that it can make others."""
    scenario, role = setup.scenario, setup.protocol.client_role
    if not (setup.is_generated and isinstance(scenario.parties, Mapping)):
        file = scenario.parties if isinstance(scenario.parties, str) else "as they are given"
        allowed = (
            f"left out, unless a generator makes the {role}s: these are not drawn from anything that could give others "
            f"(they stay the same without --redraw)"
        )
        raise ConfigurationError(field="--redraw", value=f"{role}s {file}", allowed=allowed)
    resolve(redraw_scenario(scenario, 1))


def group_by_draw(numbers: Sequence[float | None], size: int) -> list[Sequence[float]]:
    """Group trials by draw, `size` in a row each, and leave out draws in which a trial has no number."""
    draws = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    complete = [[each for each in draw if each is not None] for draw in draws]
    return [draw for draw in complete if len(draw) == size]


def spread_of(draws: Sequence[Sequence[float]]) -> Spread:
    """Return the two parts of a variance, of at least `LEAST_DRAWS` draws, all of one size, which is at least 2."""
    count, size = len(draws), len(draws[0])
    means = list(map(_mean, draws))
    inner = [_variance(draw, mean, size) for draw, mean in zip(draws, means, strict=True)]
    mean_within, middle = mean_of(inner), _mean(means)
    outer = _variance(means, middle, count)
    # Without one draw the variance of the others' means follows from the distance of its own mean.
    rests = [
        ((count - 1) * outer - square(mean - middle) * count / (count - 1)) / (count - 2)
        - (count * mean_within.value - inner_numbers) / (count - 1) / size
        for mean, inner_numbers in zip(means, inner, strict=True)
    ]
    error = (count - 1) * mean_of(rests).standard_error
    return Spread(Measurement(outer - mean_within.value / size, error), mean_within)


def _mean(numbers: Sequence[float]) -> float:
    """Return the mean, which of equal numbers is theirs to the last bit: their variance is 0."""
    return numbers[0] + math.fsum(number - numbers[0] for number in numbers) / len(numbers)


def _variance(numbers: Sequence[float], mean: float, count: int) -> float:
    return math.fsum(square(number - mean) for number in numbers) / (count - 1)
