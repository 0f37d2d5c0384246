"""Searches whose every step takes trials: in few steps, within a time limit, with progress.

The rule that holds here: a search knows nothing of what it looks for but that more of it never makes an error larger,
and about how fast errors fall. A wrong guess of that costs steps, and changes no answer.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from ..running.progress import OnStep
from ..tables import snapped

_WITHIN: Final = 1.2  # the least is found within so much: an answer by trials is no surer
_BEYOND: Final = 1.1  # a guess is passed by so much, so that what suffices is enclosed soon
_STRIDE: Final = 16.0  # the longest step while one side is unknown
_MIDDLE: Final = 0.25  # once both are known, a guess keeps such a part of what is between them, by factors, from either
_MOST_STEPS: Final = 24

_T = TypeVar("_T")


class OutOfTimeError(Exception):
    """The time of a search is over; it does not leave the module that searches."""


class SearchClock:
    """Ends trials in time, and tells how much of the work is done: what goes on, the share that is done, and 1.

    After so many seconds no trial begins any more.
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
        """Let no trial begin after a share of the time, until another share is said."""
        self._ends = self._opened + share * self._seconds

    @property
    def left(self) -> float:
        """The seconds in which trials may begin."""
        return self._ends - self._clock()

    def expect(self, weights: Mapping[str, float], *, to: float) -> None:
        """Say what is done next, and which share of all work is done afterwards.

        Weights are of each piece of work, by its name: about how many seconds it takes, or equal ones.
        """
        self._from, self._to = self._to, to
        self._weights = weights
        self._before = self._weight = 0.0

    def begin(self, piece: str, text: str) -> float:
        """Begin one of the pieces, with what is said of it to whoever waits, and return the moment."""
        self._before += self._weight
        self._weight = self._weights.get(piece, 0.0)
        self._began = self._clock()
        self._said = text
        self._show(0.0)
        return self._began

    def seconds_since(self, moment: float) -> float:
        """Return how many seconds have passed."""
        return self._clock() - moment

    def on_trial(self, text: str, done: float, total: float) -> None:
        """Take note of a trial that begins; OutOfTimeError where there is no time for it."""
        del text, done, total
        self.check()
        spent = self.seconds_since(self._began)
        self._show(spent / (spent + self._weight) if spent else 0.0)  # never all of it: nobody knows how long it takes

    def check(self) -> None:
        """Raise OutOfTimeError where the time is over."""
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
    """Return what is offered at about the least number that suffices.

    Args:
        offer: returns what there is at a number; None where a number is not possible.
        excess: by what factor that is worse than wanted; at most 1 suffices.
        start: the number to begin with.
        limits: the least and the greatest number.
        power: of the number, by which the excess falls about.

    Returns:
        The offer of the least number that is known to suffice, within a fifth; None where none is known to.
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
            low = number  # too little to be possible
        else:
            high = number
        next_number = _next_number(low, high, guess, limits=limits)
        if next_number is None:
            break
        number = next_number
    return best


def _next_number(low: float, high: float, guess: float, *, limits: tuple[float, float]) -> float | None:
    """Return the number to look at next; None where there is nothing more to know."""
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
