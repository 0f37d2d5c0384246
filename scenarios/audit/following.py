"""Test whether outputs follow a law: none of the events below is drawn more or less often than it can be.

Of finitely many outcomes, in an order whose two ends are the law's tails:

- bins of neighboring outcomes, about equally probable, 512 of them at most;
- tails: each end's first outcomes, of probability ½, ¼, ⅛ and so on, down to where one output is too many;
- each outcome by itself;
- the rests of the outcomes' numbers by 2 and by 8, where bins hold several;
- holes: the most probable run of neighboring outcomes that were never drawn;
- outcomes that the law excludes, and outputs that are no outcome: one of them is enough.

The first four are held against Clopper and Pearson's intervals: an event of probability p that happened h times in n
independent outputs departs where P[Bin(n, p) ≥ h] or P[Bin(n, p) ≤ h] is below its part of the risk. Of K outcomes a
run of probability m or more is never drawn with probability K·(1 − m)^n at most: it then holds one of the K shortest
runs of that probability, of which each begins at another outcome. The risk is shared by all events, evenly by kind, so
that outputs of the law depart with that probability at most; what the law excludes has no part of it.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy.special import betainc, expm1

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.elementary import ln
from .case import NO_PLACE, LawCheck, OutputSampler, Streams

_NUM_KINDS: Final = 5  # bins, tails, outcomes, rests, holes
_MOST_BINS: Final = 512
_LEAST_EXPECTED: Final = 5
_RESTS: Final = (2, 8)
_LEAST_REST: Final = 2.0**-52
_ROUNDING: Final = 1e-11  # relative: far more than the error of a law in floats, or of scipy's incomplete beta function


class _Events(NamedTuple):
    """Events of a kind, how often each happened, and their probabilities."""

    kind: str
    hits: IntArray
    law: FloatArray


def departure(counts: IntArray, law: FloatArray, number: int, risk: float) -> str:
    """Return in what outputs depart from a law, as a phrase; empty where they follow it, but for a risk.

    Counts are of each outcome, and last of outputs that are none, shape (outcomes + 1,).
    """
    is_possible = law > 0
    if excluded := int(counts[:-1][~is_possible].sum() + counts[-1]):
        return f"{excluded:,} outputs that the law excludes"
    counts, law = counts[:-1][is_possible], law[is_possible]
    if len(law) < 2:  # noqa: PLR2004  a single outcome is drawn always
        return ""
    each = risk / _NUM_KINDS
    drawn_places = np.flatnonzero(counts)
    cumulated = np.concatenate([[0.0], np.cumsum(law)])
    starts, ends = np.concatenate([[0], drawn_places + 1]), np.concatenate([drawn_places, [len(law)]])
    hole = float((cumulated[ends] - cumulated[starts]).max()) * (1 - _ROUNDING)
    if hole > greatest_unnoticed(len(law), number, risk):
        return f"neighboring outcomes that were never drawn, {_told(number * hole)} outputs expected"
    for events in _events(counts, law, number, each):
        min_probability = each / (2 * len(events.hits))
        decisive = _extreme_events(events)
        tails = _tails_of(decisive, number)
        place = int(np.argmin(tails))
        if tails[place] < min_probability:
            expected = number * float(decisive.law[place])
            return f"{events.kind}: {int(decisive.hits[place]):,} outputs, {_told(expected)} expected"
    return ""


def greatest_unnoticed(num_outcomes: int, number: int, risk: float) -> float:
    """Return the probability below which outcomes that are never drawn may go unnoticed: one, or neighboring ones.

    The risk is that outputs of the law are said to depart from it.
    """
    return float(-expm1((ln(risk / _NUM_KINDS) - ln(num_outcomes)) / number))


def _told(expected: float) -> str:
    return f"{expected:,.1f}" if expected >= 1 else f"{expected:.2g}"


def _events(counts: IntArray, law: FloatArray, number: int, risk: float) -> Iterator[_Events]:
    """Yield events, one kind after the other."""
    cumulated = np.cumsum(law)
    min_expected = max(_LEAST_EXPECTED, number / _MOST_BINS)
    starts = np.flatnonzero(np.diff(np.floor(cumulated * number / min_expected), prepend=-1.0))
    yield _Events("neighboring outcomes", np.add.reduceat(counts, starts), np.add.reduceat(law, starts))
    yield _tails(counts, law, number, risk)
    yield _Events("a single outcome", counts, law)
    if len(starts) < len(law):
        places = np.arange(len(law))
        hits = [np.bincount(places % size, weights=counts, minlength=size) for size in _RESTS]
        masses: list[FloatArray] = [
            np.bincount(places % size, weights=law, minlength=size).astype(np.float64) for size in _RESTS
        ]
        yield _Events("every second or eighth outcome", np.concatenate(hits).astype(np.int64), np.concatenate(masses))


def _tails(counts: IntArray, law: FloatArray, number: int, risk: float) -> _Events:
    """Return the tails: at both ends the most outcomes of probability 2^−k together, for each k that says anything."""
    # Of a tail of so small a probability one output departs, whatever is shared of the risk.
    smallest = math.ceil(math.log2(number) - math.log2(risk)) + _MOST_BINS.bit_length()
    levels = np.exp2(-np.arange(1.0, smallest + 1))
    hits: list[IntArray] = []
    masses: list[FloatArray] = []
    for counts_in_order, mass in ((counts, law), (counts[::-1], law[::-1])):
        cumulated = np.cumsum(mass)
        # Of two outcomes that are as likely in floats as not, one must be a tail.
        ends = np.unique(np.searchsorted(cumulated, levels * (1 + _ROUNDING), side="right")) - 1
        ends = ends[ends >= 0]
        hits.append(np.cumsum(counts_in_order)[ends])
        masses.append(cumulated[ends])
    return _Events("a tail", np.concatenate(hits), np.concatenate(masses))


def _extreme_events(events: _Events) -> _Events:
    """Keep of all events with equal counts the least and the most probable one."""
    if (size := int(events.hits.max()) + 1) > len(events.hits):
        return events  # a table would be larger than what it saves
    least_counts, greatest_counts = np.full(size, 2.0), np.full(size, -1.0)
    np.minimum.at(least_counts, events.hits, events.law)
    np.maximum.at(greatest_counts, events.hits, events.law)
    nonempty_bins = np.flatnonzero(greatest_counts >= 0)
    return events._replace(
        hits=np.tile(nonempty_bins, 2),
        law=np.concatenate([least_counts[nonempty_bins], greatest_counts[nonempty_bins]]),
    )


def _tails_of(events: _Events, number: int) -> FloatArray:
    """Return the probability of as many hits or more where they are more than expected, else of as many or fewer."""
    hits, law = events.hits, events.law
    is_many = hits > number * law  # then as few have probability ½ or so: the median is within 1 of the mean
    chances = np.empty(len(hits))
    many_hits, few = hits[is_many], hits[~is_many]
    chances[is_many] = betainc(many_hits, number - many_hits + 1, np.minimum(law[is_many] * (1 + _ROUNDING), 1.0))
    # By the complement, eight times as fast: what it drops of a small probability is given back.
    complements = np.minimum(1 - law[~is_many] * (1 - _ROUNDING) + _LEAST_REST, 1.0)
    chances[~is_many] = np.where(few < number, betainc(np.maximum(number - few, 1), few + 1, complements), 1.0)
    return chances


class Counts(NamedTuple):
    """How often each outcome was drawn of an input."""

    name: str  # of the input and of what is looked at, as a phrase
    law: FloatArray  # of the outcomes, shape (outcomes,)
    counts: IntArray  # of each, and last of outputs that are none, shape (outcomes + 1,)
    number: int  # of outcomes that are counted

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
class LawFindings:
    """What was found where outputs were held against laws."""

    num_inputs: int = 0  # inputs of which outputs were drawn
    samples: int = 0  # of each of them, at least
    departure: str = ""  # which of them departs from its law, and in what, as a phrase; empty where all follow
    unnoticed: float = 1.0  # the probability below which neighboring outcomes that are never drawn may go unnoticed


NOTHING_HELD: Final = LawFindings()  # where no output was drawn, or none has a law


def draw_checks(
    pairs: Iterable[tuple[LawCheck, OutputSampler]], samples: int, streams: Streams
) -> Iterator[Sequence[Counts]]:
    """Yield for each input, which something draws, the counts in each of its views, of as many as it asks for."""
    for check, draw in pairs:
        number = max(samples, check.least)
        views = [
            (view, Counts.of((f"{check.name}, {view.name}" if view.name else check.name), view.law, number * view.each))
            for view in check.views
        ]
        for outputs in streams.chunks(draw, number):
            for view, counts in views:
                counts.add(view.places(outputs))
        yield [counts for _, counts in views]


def hold(inputs: Sequence[Sequence[Counts]], risk: float) -> LawFindings:
    """Return what is found of inputs, at least one, each with the counts in its views.

    The risk is that any of them is said to depart from its law though none does.
    """
    views = [counts for law_input in inputs for counts in law_input]
    each = risk / len(views)
    departures = [(counts.name, departure(counts.counts, counts.law, counts.number, each)) for counts in views]
    return LawFindings(
        num_inputs=len(inputs),
        samples=min(counts.number for counts in views),
        departure=_join_departures(
            f"{name}: {departure_found}" for name, departure_found in departures if departure_found
        ),
        unnoticed=max(greatest_unnoticed(len(counts.law), counts.number, each) for counts in views),
    )


def _join_departures(departures: Iterable[str]) -> str:
    """Return the first departure, and the number of the others."""
    first, *other_departures = [*departures, ""]
    return f"{first}; so do {len(other_departures) - 1} more" if len(other_departures) > 1 else first
