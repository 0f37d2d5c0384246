"""Searches whose steps run trials: with few steps, a time limit and progress.

A search assumes that a larger number never increases the error, and guesses how fast errors decrease. A wrong guess
costs steps, but does not change the answer.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from ..running.progress import OnStep
from ..tables import snapped

_WITHIN: Final = 1.2  # relative precision of the least number, matching that of trials
_BEYOND: Final = 1.1  # factor beyond a guess, so that the least number is soon enclosed
_STRIDE: Final = 16.0  # greatest factor of a step while one side is unknown
_MIDDLE: Final = 0.25  # least distance of a guess from both known sides, as a part of their logarithmic distance
_MOST_STEPS: Final = 24

_T = TypeVar("_T")


class OutOfTimeError(Exception):
    """A search's time is over; caught within the searching module."""


class SearchClock:
    """Ends trials in time, and reports progress: a text, the fraction of work done, and a total of 1.

    After `seconds` no trial starts.
    """

    def __init__(
        self, tell: OnStep | None, seconds: float = math.inf, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._seconds = seconds
        self._opened = clock()
        self._ends = self._opened + seconds
        self._weights: Mapping[str, float] = {}
        self._from, self._to = 0.0, 0.0
        self._before = 0.0
        self._weight = 0.0
        self._began = clock()
        self._said = ""
        self._shown = 0.0

    def allow(self, share: float) -> None:
        """Start no trials after a fraction of the time, until the next call."""
        self._ends = self._opened + share * self._seconds

    @property
    def left(self) -> float:
        """The remaining seconds in which trials may start."""
        return self._ends - self._clock()

    def expect(self, weights: Mapping[str, float], *, to: float) -> None:
        """Set the next pieces of work, and the fraction of all work that is done afterwards.

        `weights` maps each piece's name to its approximate seconds, or to equal numbers.
        """
        self._from, self._to = self._to, to
        self._weights = weights
        self._before = self._weight = 0.0

    def begin(self, piece: str, text: str) -> float:
        """Start a piece of work, show its text, and return the current time."""
        self._before += self._weight
        self._weight = self._weights.get(piece, 0.0)
        self._began = self._clock()
        self._said = text
        self._show(0.0)
        return self._began

    def seconds_since(self, moment: float) -> float:
        """Return the seconds since a time."""
        return self._clock() - moment

    def on_trial(self, text: str, done: float, total: float) -> None:
        """Record the start of a trial; OutOfTimeError if there is no time for it."""
        del text, done, total
        self.check()
        spent = self.seconds_since(self._began)
        self._show(spent / (spent + self._weight) if spent else 0.0)  # always below 1, since the duration is unknown

    def check(self) -> None:
        """Raise OutOfTimeError if the time is over."""
        if self._clock() >= self._ends:
            raise OutOfTimeError

    def _show(self, margin: float) -> None:
        if self._tell is None:
            return
        all_of_it = math.fsum(self._weights.values())
        share = (self._before + margin * self._weight) / all_of_it if all_of_it else 0.0
        self._shown = max(self._shown, self._from + (self._to - self._from) * min(share, 1.0))
        self._tell(self._said, self._shown, 1.0)


def least_by_trials(
    offer: Callable[[float], _T | None],
    excess: Callable[[_T], float],
    *,
    start: float,
    limits: tuple[float, float],
    power: float,
) -> _T | None:
    """Return the offer at about the least number that suffices.

    Args:
        offer: maps a number to an offer; None if the number is not possible.
        excess: the factor by which an offer misses the aim; at most 1 suffices.
        start: the first number to try.
        limits: the least and the greatest allowed number.
        power: the excess decreases approximately with this power of the number.

    Returns:
        The offer at the least number known to suffice, within 20 % of the least; None if none is known.
    """
    low, high = 0.0, math.inf
    best: _T | None = None
    number = start
    for _ in range(_MOST_STEPS):
        offer_found = offer(number)
        guess = number
        if offer_found is not None:
            factor = max(excess(offer_found), 1e-9) ** (1 / power)
            guess = snapped(number * min(max(factor, 1 / _STRIDE), _STRIDE))
            if excess(offer_found) <= 1:
                best, high = offer_found, number
            else:
                low = number
        elif best is None and number <= start:
            low = number  # too small to be possible
        else:
            high = number
        next_number = _next_number(low, high, guess, limits=limits)
        if next_number is None:
            break
        number = next_number
    return best


def _next_number(low: float, high: float, guess: float, *, limits: tuple[float, float]) -> float | None:
    """Return the next number to try; None if the search is finished."""
    least_number, greatest = limits
    if high / max(low, least_number) <= _WITHIN:
        return None
    if math.isinf(high):
        return min(max(guess, low) * _BEYOND, greatest) if low < greatest else None
    if low == 0:
        return max(min(guess, high) / _BEYOND, least_number) if high > least_number else None
    width = math.log(high / low)
    place = math.log(max(guess, 1e-300) / low) / width
    return snapped(low * math.exp(width * min(max(place, _MIDDLE), 1 - _MIDDLE)))
