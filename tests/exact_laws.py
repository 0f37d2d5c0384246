"""Plays a sampler on every outcome of its draws, so that its law is known exactly and nothing is left to chance.

A sampler that draws uniform integers below a bound is run once for each way in which those draws can matter: a draw
that is only compared with a number has two outcomes, whatever its bound, and one that is used as a number has each.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, TypeVar, cast

from psephos.protocol.mechanisms import Below

__all__ = ["Law", "exact_law", "law_of_rows"]

ReportT = TypeVar("ReportT")
Law: TypeAlias = dict[ReportT, Fraction]

# A sampler that may go on for ever is cut where it hardly ever gets.
_LEAST_CHANCE: Final = Fraction(1, 10**18)


class _TooRareError(Exception):
    """This way is hardly ever taken."""


class _Way:
    """One way through a sampler's draws: first as a prefix says, then always the first outcome.

    Attributes:
        chance: of the way so far.
        others: prefixes of the ways that turned off after the prefix.
    """

    def __init__(self, prefix: Sequence[int]) -> None:
        self._prefix = prefix
        self._taken: list[int] = []
        self.chance = Fraction(1)
        self.others: list[list[int]] = []

    def choose(self, weights: Sequence[int]) -> int:
        """Return which of some outcomes happens."""
        number = len(self._taken)
        if number < len(self._prefix):
            chosen = self._prefix[number]
        else:
            possible = [outcome for outcome, weight in enumerate(weights) if weight]
            chosen = possible[0]
            self.others += [[*self._taken, outcome] for outcome in possible[1:]]
        self._taken.append(chosen)
        self.chance *= Fraction(weights[chosen], sum(weights))
        if self.chance < _LEAST_CHANCE:
            raise _TooRareError
        return chosen

    def below(self, bound: int) -> int:
        """Return an integer below a bound that is decided when it is looked at."""
        assert bound >= 1
        return cast("int", _Drawn(self, bound))


class _Drawn:
    """A uniform integer in [low, high), of which only so much is decided as was asked for."""

    def __init__(self, way: _Way, bound: int) -> None:
        self._way = way
        self._low, self._high = 0, bound

    def __lt__(self, other: int) -> bool:
        if other <= self._low:
            return False
        if other < self._high:
            if self._way.choose([other - self._low, self._high - other]):
                self._low = other
                return False
            self._high = other
        return True

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __index__(self) -> int:
        if self._high - self._low > 1:
            self._low += self._way.choose([1] * (self._high - self._low))
            self._high = self._low + 1
        return self._low

    __int__ = __index__

    def __add__(self, other: int) -> int:
        return int(self) + other

    def __mul__(self, other: int) -> int:
        return int(self) * other

    __radd__, __rmul__ = __add__, __mul__


def exact_law(draw: Callable[[Below], ReportT]) -> Law[ReportT]:
    """Return P[what a sampler returns], exactly; less than 1 in all by the ways that were cut.

    Args:
        draw: the sampler; what it returns can be a key, and holds no undecided number.
    """
    law: Law[ReportT] = {}
    prefixes: list[list[int]] = [[]]
    while prefixes:
        way = _Way(prefixes.pop())
        try:
            report = draw(way.below)
        except _TooRareError:
            pass
        else:
            law[report] = law.get(report, Fraction(0)) + way.chance
        prefixes += way.others
    return law


def law_of_rows(draw: Callable[[Below], Sequence[Any]]) -> Law[tuple[int, ...]]:
    """Return P[row of numbers] of a sampler of rows."""
    return exact_law(lambda below: tuple(int(number) for number in draw(below)))
