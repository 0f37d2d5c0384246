"""A conformance suite for objectives, for any test runner.

    from psephos.scenarios.fair_voting.testing import check_objective

    def test_the_objective_keeps_its_promises():
        check_objective(worst_off)

An objective that passes may still be a bad one. An objective that fails is wrong, and the message names the promise in
`OBJECTIVE_PROMISES` that it broke.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final

import numpy as np

from ...protocol.fair_voting import FairVoting, Objective, Parameters
from ...protocol.fair_voting.objective import ObjectiveFunction, Utilities
from ...transports.promises import check_promise, require, sentence_of
from ..testing import check_protocol

_NAME: Final = "own-objective"
_ALTERNATIVES: Final = ("a", "b", "c")
_ROUNDING: Final = 1e-9


def check_objective(objective: ObjectiveFunction, *, seed: int = 1) -> None:
    """Check that a function fulfills the contract of `psephos.objectives`, by itself and in votes.

    Args:
        objective: the function; a new process that repeats votes imports it by its name.
        seed: the seed of rankings and noise, so that results are repeatable.

    Raises:
        AssertionError: a promise was broken; the message begins with the promise.

    Example:
        >>> check_objective(lambda utilities, sizes: [min(own) for own in zip(*utilities)])
    """
    for check in _CHECKS.values():
        with check_promise(sentence_of(check)):
            check(objective, seed)
    generator = np.random.default_rng(seed)
    groups = ("north", "south")
    rows = {
        f"voter-{number}": (groups[number % 2], " > ".join(generator.permutation(_ALTERNATIVES).tolist()))
        for number in range(12)
    }
    for mechanism in ("laplace", "local"):
        parameters = Parameters(
            alternatives=_ALTERNATIVES, groups=groups, group_sizes=(6, 6), mechanism=mechanism, objective=_NAME
        )
        check_protocol(FairVoting(parameters, objective=objective), rows, seed=seed)


def _profiles(seed: int) -> Iterator[tuple[Utilities, list[int]]]:
    """Yield groups' mean utilities, as in releases, and the groups' sizes."""
    generator = np.random.default_rng(seed)
    for groups, size in ((1, 2), (2, 2), (2, 3), (3, 5), (7, 4)):
        sizes: list[int] = generator.integers(1, 50, groups).tolist()
        # all equal, near each other, and far outside the scores' range, as noise may cause
        for reach in (0, 3, 1 << 40):
            totals: list[list[int]] = generator.integers(-reach, reach + 1, (groups, size)).tolist()
            yield (
                [
                    [Fraction(entry_number, 3 * number) for entry_number in row]
                    for row, number in zip(totals, sizes, strict=True)
                ],
                sizes,
            )


def _merits(objective: ObjectiveFunction, utilities: Utilities, sizes: list[int]) -> list[Fraction]:
    return Objective(_NAME, function=objective).merits_by_function(utilities, sizes)


def _check_all_profiles(objective: ObjectiveFunction, seed: int) -> None:
    """Every profile has a finite number for each alternative."""
    for utilities, sizes in _profiles(seed):
        _merits(objective, utilities, sizes)


def _check_pure(objective: ObjectiveFunction, seed: int) -> None:
    """Equal utilities have equal numbers, to the bit."""
    for utilities, sizes in _profiles(seed):
        first, second_merits = (_merits(objective, utilities, sizes) for _ in range(2))
        require(first == second_merits, f"asked twice, it says {first} and {second_merits}")


def _check_neutral(objective: ObjectiveFunction, seed: int) -> None:
    """An alternative has the same number at each place: names and order decide nothing."""
    for utilities, sizes in _profiles(seed):
        turned = _merits(objective, [[*row[1:], row[0]] for row in utilities], sizes)
        for place, merits in enumerate(_merits(objective, utilities, sizes)):
            other = turned[place - 1]
            close = abs(merits - other) <= _ROUNDING * max(abs(merits), abs(other))
            require(
                close, f"of {utilities}, alternative {place} has {float(merits)}, and at another place {float(other)}"
            )


_CHECKS: Final[Mapping[str, Callable[[ObjectiveFunction, int], None]]] = {
    sentence_of(check): check for check in (_check_all_profiles, _check_pure, _check_neutral)
}

OBJECTIVE_PROMISES: Final = tuple(_CHECKS)
"""The promises of an objective, in addition to those of every protocol (`PROTOCOL_PROMISES`)."""
