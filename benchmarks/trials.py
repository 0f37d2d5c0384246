"""Trials that take turns, so that a noisy machine is as noisy for one side as for the other."""

import gc
import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

__all__ = ["Times", "interleave", "timed"]


class Times:
    """The seconds of each contestant, trial by trial.

    Args:
        seconds: by contestant, in the order of the trials.
    """

    def __init__(self, seconds: Mapping[str, list[float]]) -> None:
        self._seconds = seconds

    def median(self, name: str) -> float:
        """Return the median of one contestant's seconds."""
        return statistics.median(self._seconds[name])

    def ratio(self, name: str, to: str) -> float:
        """Return the median, over the trials, of the quotient of two contestants' seconds in the same trial."""
        return statistics.median(one / other for one, other in zip(self._seconds[name], self._seconds[to], strict=True))


def interleave(contestants: Mapping[str, Callable[[], float]], *, trials: int) -> Times:
    """Let contestants take turns.

    Args:
        contestants: each runs once and returns its seconds.
        trials: turns for each, at least 1; one more at the beginning warms up and is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for trial in range(trials + 1):
        for name, run in contestants.items():
            gc.collect()
            took = run()
            if trial:
                seconds[name].append(took)
    return Times(seconds)


def timed(run: Callable[[], object]) -> float:
    """Run once and return the seconds; what it returns is thrown away after the clock has stopped."""
    begin = perf_counter()
    result = run()
    seconds = perf_counter() - begin
    del result
    return seconds
