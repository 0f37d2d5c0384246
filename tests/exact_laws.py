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
_RARE: Final = 10**18  # once in so many times


class _TooRareError(Exception):
    """This way is hardly ever taken."""


class _Way:
    """One way through a sampler's draws: first as a prefix says, then always the first outcome.

    Attributes:
        ways: of all ways of these draws, counted as often as they are likely, how many are this one.
        of: how many all ways are, so that this one's chance is ways / of; never reduced, which would take most time.
        others: prefixes of the ways that turned off after the prefix.
    """

    def __init__(self, prefix: Sequence[int]) -> None:
        self._prefix = prefix
        self._taken: list[int] = []
        self.ways, self.of = 1, 1
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
        self.ways *= weights[chosen]
        self.of *= sum(weights)
        if self.ways * _RARE < self.of:
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
    ways: dict[ReportT, dict[int, int]] = {}  # by the number of all ways, in which they are added up
    prefixes: list[list[int]] = [[]]
    while prefixes:
        way = _Way(prefixes.pop())
        try:
            report = draw(way.below)
        except _TooRareError:
            pass
        else:
            same = ways.setdefault(report, {})
            same[way.of] = same.get(way.of, 0) + way.ways
        prefixes += way.others
    return {report: sum((Fraction(own, of) for of, own in same.items()), Fraction(0)) for report, same in ways.items()}


def law_of_rows(draw: Callable[[Below], Sequence[Any]]) -> Law[tuple[int, ...]]:
    """Return P[row of numbers] of a sampler of rows."""
    return exact_law(lambda below: tuple(int(number) for number in draw(below)))
