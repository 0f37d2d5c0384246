"""Redraw parties every few trials, and split a variance into the parts of parties and of noise.

Draw number e of a scenario's parties uses the seed of their generator in the scenario, or 0, plus e, so it can be
repeated. Trials of one draw share its parties. So draws are independent, not trials, and the standard error of a mean
comes from the draws' means. A measure's variance is the sum of that between draws and that within a draw. Both
estimates are unbiased for any law of the measure. Their standard errors come from the spread over draws (within), and
from leaving out each draw once (between, jackknife).

Source: Efron and Stein (1981), who show that the jackknife does not underestimate the variance on average.
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
"""Two draws give no standard error for the variance between draws."""
_SEED: Final = "seed"


class Spread(NamedTuple):
    """The two parts of a measure's variance over trials with redrawn parties."""

    between: Measurement
    """The variance between draws of the mean over all noise; its estimate may be slightly negative."""
    within: Measurement
    """The variance of a trial around that mean, due to noise."""


def redraw_scenario(scenario: Scenario, number: int) -> Scenario:
    """Return a scenario whose parties are the draw with this number."""
    parties = scenario.parties
    assert isinstance(parties, Mapping)  # noqa: S101  `check_redrawn` has seen a generator's table
    each = sources_of(find_protocol(scenario.protocol)).own_parameters.keys() & parties.keys()
    tables = {name: _with_seed(parties[name], number) for name in each if isinstance(parties[name], Mapping)}
    return msgspec.structs.replace(scenario, parties={**_with_seed(parties, number), **tables})


def rows_drawn(
    scenario: Scenario, protocol: PhasedProtocol[Any, Any], numbers: range
) -> tuple[IntArray, IntArray] | None:
    """Return private and public rows of the draws with these numbers, shape (draws, n, columns).

    None if the system does not support drawing many at once.
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
    """Raise ConfigurationError unless a generator makes the parties."""
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
    """Group trials by draw, `size` consecutive trials each, and drop draws in which a trial has no number."""
    draws = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    complete = [[each for each in draw if each is not None] for draw in draws]
    return [draw for draw in complete if len(draw) == size]


def spread_of(draws: Sequence[Sequence[float]]) -> Spread:
    """Return the two parts of a variance, from at least `LEAST_DRAWS` draws of equal size, at least 2."""
    count, size = len(draws), len(draws[0])
    means = list(map(_mean, draws))
    inner = [_variance(draw, mean, size) for draw, mean in zip(draws, means, strict=True)]
    mean_within, middle = mean_of(inner), _mean(means)
    outer = _variance(means, middle, count)
    # The variance of means without one draw follows from the deviation of that draw's mean.
    rests = [
        ((count - 1) * outer - square(mean - middle) * count / (count - 1)) / (count - 2)
        - (count * mean_within.value - inner_numbers) / (count - 1) / size
        for mean, inner_numbers in zip(means, inner, strict=True)
    ]
    error = (count - 1) * mean_of(rests).standard_error
    return Spread(Measurement(outer - mean_within.value / size, error), mean_within)


def _mean(numbers: Sequence[float]) -> float:
    """Return the mean; for equal numbers it is exactly that number, so that their variance is 0."""
    return numbers[0] + math.fsum(number - numbers[0] for number in numbers) / len(numbers)


def _variance(numbers: Sequence[float], mean: float, count: int) -> float:
    return math.fsum(square(number - mean) for number in numbers) / (count - 1)
