"""What was drawn held against laws: of each input, in every view of its outputs.

What is said of all inputs and views holds jointly: each view has the same part of the risk.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from .case import NO_PLACE, LawCheck, OutputSampler, View
from .following import departure, greatest_unnoticed
from .streams import Streams

__all__ = ["NOTHING_HELD", "Counts", "Held", "draw_checks", "hold"]


class Counts(NamedTuple):
    """How often each outcome was drawn of an input.

    Args:
        name: of the input and of what is looked at, as a phrase.
        law: of the outcomes, shape (outcomes,).
        counts: of each, and last of outputs that are none, shape (outcomes + 1,).
        number: of outcomes that are counted.
    """

    name: str
    law: FloatArray
    counts: IntArray
    number: int

    @classmethod
    def of(cls, name: str, law: FloatArray, number: int) -> "Counts":
        """Return counts of nothing yet."""
        return cls(name, law, np.zeros(len(law) + 1, dtype=np.int64), number)

    def add(self, places: IntArray) -> None:
        """Count outputs by the places of their outcomes, or `NO_PLACE`."""
        size = len(self.counts)
        if places.ndim != 1 or not NO_PLACE <= int(places.min()) <= int(places.max()) < size - 1:
            raise ValueError("an output that has a law must be the number of one of its columns, or of none")
        self.counts[:] += np.bincount(places % size, minlength=size)


@dataclasses.dataclass(frozen=True)
class Held:
    """What was found where outputs were held against laws.

    Args:
        num_inputs: inputs of which outputs were drawn.
        samples: of each of them, at least.
        departure: which of them departs from its law, and in what, as a phrase; empty where all follow.
        unnoticed: the probability below which neighboring outcomes that are never drawn may go unnoticed.
    """

    num_inputs: int = 0
    samples: int = 0
    departure: str = ""
    unnoticed: float = 1.0


NOTHING_HELD: Final = Held()
"""Where no output was drawn, or none has a law."""


def draw_checks(
    drawn: Iterable[tuple[LawCheck, OutputSampler]], samples: int, streams: Streams
) -> Iterator[Sequence[Counts]]:
    """Yield for each input, which something draws, the counts in each of its views, of as many as it asks for."""
    for check, draw in drawn:
        number = max(samples, check.least)
        views = [(view, Counts.of(_name(check, view), view.law, number * view.each)) for view in check.views]
        for outputs in streams.chunks(draw, number):
            for view, counts in views:
                counts.add(view.places(outputs))
        yield [counts for _, counts in views]


def hold(inputs: Sequence[Sequence[Counts]], risk: float) -> Held:
    """Return what is found of inputs, at least one, each with the counts in its views.

    The risk is that any of them is said to depart from its law though none does.
    """
    views = [counts for own in inputs for counts in own]
    each = risk / len(views)
    told = [(counts.name, departure(counts.counts, counts.law, counts.number, each)) for counts in views]
    return Held(
        num_inputs=len(inputs),
        samples=min(counts.number for counts in views),
        departure=_all(f"{name}: {what}" for name, what in told if what),
        unnoticed=max(greatest_unnoticed(len(counts.law), counts.number, each) for counts in views),
    )


def _all(departures: Iterable[str]) -> str:
    """Return the first one, and how many others there are."""
    first, *others = [*departures, ""]
    return f"{first}; so do {len(others) - 1} more" if len(others) > 1 else first


def _name(check: LawCheck, view: View) -> str:
    return f"{check.name}, {view.name}" if view.name else check.name
