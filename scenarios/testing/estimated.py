"""Check estimates with known true values: they are near the truth, and their standard errors are right.

For every law, the inequalities of Chebyshev and Cantelli bound frequencies: for unbiased estimates with the stated
standard error, at most one ninth is three errors away from the truth, and at most one fifth is two errors above (or
below) it. If half of the sessions are, chance does not explain it (probability below 1e-9).

Standard errors are tested up to a factor of 1.25: squared deviations, in stated errors, have mean 1 if the error is
right, and 1.5625 or 0.64 if it is wrong by this factor. A mean is refused if it is outside [0.72, 1.4] and five of its
standard errors from 1. This detects the factor in 99.9 % of checks for Gaussian estimates, and in 97 % for Laplace
noise, which has the heaviest tails here. It refuses a right error with a probability below 1e-7.

Source: Chebyshev (1867); Cantelli (1928).
"""

import math
from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np

from ...protocol.errors import ConfigurationError
from ...protocol.estimators import Estimate
from ...protocol.phases import Inputs
from ...protocol.plugin_checks import checked_truth
from ...protocol.population import run_population
from ...protocol.randomness import SimulatedNoise
from ...transports.promises import require
from ..outcomes import estimates_in, tables_of, truth_of
from ..presentation import is_plain
from .cases import SESSION, ProtocolCase

_FEW, _SESSIONS = 50, 2_000
_PARTIES: Final = 2_000
"""Parties, by repeating the given rows, if such a roster is allowed, so that proportional errors are detected."""
_FAR: Final = 3.0
_ABOVE: Final = 2.0
_SHARE: Final = 0.6
_FACTOR: Final = 1.25
_SQUARES: Final = 0.72, 1.4
_ERRORS: Final = 5.0


def check_estimates(case: ProtocolCase) -> None:
    """Estimates whose truth is told are near it, as far off as their errors say, and each truth is an estimate's."""
    inputs = _inputs_of(case)
    truths = checked_truth(case.protocol, inputs)
    if not truths:
        return
    first = _outcomes(case, inputs, range(1))
    # with a presenter, names of estimates and truths need not correspond
    if not estimates_in(first[0]) or not is_plain(first[0]):
        return
    known_names = {
        name
        for table in tables_of(first[0])
        for line in table.lines
        for column in line.cells
        for name in truth_of(table, line, column)
    }
    numbers = {name: float(true) for name, true in truths.items() if not isinstance(true, str)}
    estimates_found = estimates_in(first[0])
    unknown, untold_names = sorted(numbers.keys() - known_names), sorted(estimates_found.keys() - numbers.keys())
    complaint = (
        f"truth tells of {', '.join(unknown)}, which the outcome does not have; it has {', '.join(untold_names)}"
    )
    require(not (unknown and untold_names and numbers), complaint)
    if not (names := estimates_found.keys() & numbers.keys()):
        return
    estimates: list[Mapping[str, Estimate]] = []
    for stop in (_FEW, _SESSIONS):  # most errors are found early
        estimates += map(estimates_in, _outcomes(case, inputs, range(len(estimates), stop)))
        for name in names:
            _require_near(name, [each[name] for each in estimates if name in each], numbers[name])


def _outcomes(case: ProtocolCase, inputs: Inputs, sessions: range) -> list[msgspec.Struct]:
    """Return the outcomes of sessions with independent noise."""
    noises = (SimulatedNoise(case.seed + 1 + number, session=SESSION) for number in sessions)
    return [run_population(case.protocol, inputs, noise=noise).outcome for noise in noises]


def _inputs_of(case: ProtocolCase) -> Inputs:
    many_parties = case.repeat_rows(_PARTIES)
    try:
        case.protocol.check_roster(many_parties.public)
        case.protocol.check_inputs(many_parties)
    except (ConfigurationError, ValueError):
        return case.inputs
    return many_parties


def _require_near(name: str, estimates: list[Estimate], true: float) -> None:
    """Require that estimates over many sessions deviate from the truth as their standard errors state."""
    values = np.array([each.value for each in estimates])
    errors = np.array([each.standard_error for each in estimates])
    standardized = np.divide(values - true, errors, out=np.full(len(values), math.inf), where=errors > 0)
    standardized[np.isclose(values, true, rtol=1e-9, atol=1e-9)] = 0.0
    finding = f"{name} is {values.mean():.6g} on average of {len(values)} sessions, and truth tells {true:.6g}"
    error = f"{errors.mean():.3g} is its stated error, and {values.std():.3g} its deviation"
    for share in (
        np.mean(standardized > _ABOVE),
        np.mean(standardized < -_ABOVE),
        np.mean(np.abs(standardized) > _FAR),
    ):
        require(share <= _SHARE, f"{finding}; {error}")
    if len(values) <= _FEW or len(np.unique(values)) <= _FEW:  # too few sessions, or a number with few values
        return
    squares = standardized**2
    wrong, spread = float(squares.mean()), _ERRORS * float(squares.std()) / math.sqrt(len(squares))
    low, high = _SQUARES
    test_note = f"tested by a factor of {_FACTOR:g} in {len(values):,} sessions"
    require(wrong >= min(low, 1 - spread), f"the error of {name} is overstated: {error} ({test_note})")
    require(wrong <= max(high, 1 + spread), f"the error of {name} is understated: {error} ({test_note})")
