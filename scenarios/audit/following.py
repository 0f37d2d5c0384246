"""Test whether outputs follow a law, by the frequencies of events.

The law has finitely many outcomes, ordered so that both ends are its tails. The events are:

- bins: at most 512 ranges of neighboring outcomes, of about equal probability;
- tails: outcomes at each end, of probability ½, ¼, ⅛ and so on, down to where a single output departs;
- each single outcome;
- the outcomes' indices modulo 2 and modulo 8, if bins hold several outcomes;
- holes: the most probable run of neighboring outcomes that was never drawn;
- outcomes of probability 0, and outputs that are no outcome: a single one departs.

The first four kinds use exact binomial tests: an event of probability p with h hits in n independent outputs departs if
P[Bin(n, p) ≥ h] or P[Bin(n, p) ≤ h] is below its part of the risk. With K outcomes, some run of probability at least m
is never drawn with probability K·(1 − m)^n at most: such a run contains one of the K shortest runs of that probability,
each with a different first outcome. The risk is divided equally among kinds of events, and among the events of a kind.
So outputs that follow the law are reported to depart with at most that probability. Events of probability 0 need no
part of it.
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

_NUM_KINDS: Final = 5  # bins, tails, outcomes, residues, holes
_MOST_BINS: Final = 512
_LEAST_EXPECTED: Final = 5
_RESTS: Final = (2, 8)
_LEAST_REST: Final = 2.0**-52
_ROUNDING: Final = 1e-11  # relative: far more than the error of a law in floats, or of scipy's incomplete beta function


class _Events(NamedTuple):
    """Events of one kind: their counts and probabilities."""

    kind: str
    hits: IntArray
    law: FloatArray


def departure(counts: IntArray, law: FloatArray, number: int, risk: float) -> str:
    """Return how outputs depart from a law, as a phrase; empty if they follow it.

    `counts`, shape (outcomes + 1,), has each outcome's count, and last the number of outputs that are no outcome.
    `risk` is the probability that outputs of the law are reported to depart.
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
    """Return the probability below which a missing outcome, or a run of them, may go unnoticed.

    `risk` is the probability that outputs of the law are reported to depart.
    """
    return float(-expm1((ln(risk / _NUM_KINDS) - ln(num_outcomes)) / number))


def _told(expected: float) -> str:
    return f"{expected:,.1f}" if expected >= 1 else f"{expected:.2g}"


def _events(counts: IntArray, law: FloatArray, number: int, risk: float) -> Iterator[_Events]:
    """Yield the events, kind by kind."""
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
    """Return the tails: for each useful k, the longest range at each end with probability at most 2^−k."""
    # In a tail of such small probability, a single output departs.
    smallest = math.ceil(math.log2(number) - math.log2(risk)) + _MOST_BINS.bit_length()
    levels = np.exp2(-np.arange(1.0, smallest + 1))
    hits: list[IntArray] = []
    masses: list[FloatArray] = []
    for counts_in_order, mass in ((counts, law), (counts[::-1], law[::-1])):
        cumulated = np.cumsum(mass)
        # With two outcomes of probability about ½ each, rounding must not leave both without a tail.
        ends = np.unique(np.searchsorted(cumulated, levels * (1 + _ROUNDING), side="right")) - 1
        ends = ends[ends >= 0]
        hits.append(np.cumsum(counts_in_order)[ends])
        masses.append(cumulated[ends])
    return _Events("a tail", np.concatenate(hits), np.concatenate(masses))


def _extreme_events(events: _Events) -> _Events:
    """Keep only the least and the most probable event for each count."""
    if (size := int(events.hits.max()) + 1) > len(events.hits):
        return events  # a table would cost more than it saves
    least_counts, greatest_counts = np.full(size, 2.0), np.full(size, -1.0)
    np.minimum.at(least_counts, events.hits, events.law)
    np.maximum.at(greatest_counts, events.hits, events.law)
    nonempty_bins = np.flatnonzero(greatest_counts >= 0)
    return events._replace(
        hits=np.tile(nonempty_bins, 2),
        law=np.concatenate([least_counts[nonempty_bins], greatest_counts[nonempty_bins]]),
    )


def _tails_of(events: _Events, number: int) -> FloatArray:
    """Return the binomial tail probability: of at least this many hits if above the mean, else of at most as many."""
    hits, law = events.hits, events.law
    # the other tail then has probability about ½, since the median is within 1 of the mean
    is_many = hits > number * law
    chances = np.empty(len(hits))
    many_hits, few = hits[is_many], hits[~is_many]
    chances[is_many] = betainc(many_hits, number - many_hits + 1, np.minimum(law[is_many] * (1 + _ROUNDING), 1.0))
    # betainc at the complement 1 − p is eight times as fast; _LEAST_REST makes up for what the subtraction rounds off.
    complements = np.minimum(1 - law[~is_many] * (1 - _ROUNDING) + _LEAST_REST, 1.0)
    chances[~is_many] = np.where(few < number, betainc(np.maximum(number - few, 1), few + 1, complements), 1.0)
    return chances


class Counts(NamedTuple):
    """Counts of each outcome in outputs of one input."""

    name: str  # names of the input and of the feature, as a phrase
    law: FloatArray  # probabilities of the outcomes, shape (outcomes,)
    counts: IntArray  # counts of outcomes, and last of outputs that are none, shape (outcomes + 1,)
    number: int  # number of counted outcomes

    @classmethod
    def of(cls, name: str, law: FloatArray, number: int) -> "Counts":
        """Return counts that are all 0."""
        return cls(name, law, np.zeros(len(law) + 1, dtype=np.int64), number)

    def add(self, places: IntArray) -> None:
        """Count outputs by the indices of their outcomes, or `NO_PLACE`."""
        size = len(self.counts)
        if places.ndim != 1 or not NO_PLACE <= int(places.min()) <= int(places.max()) < size - 1:
            raise ValueError("an output is no column of the law: number it by a column, or as none")
        self.counts[:] += np.bincount(places % size, minlength=size)


@dataclasses.dataclass(frozen=True)
class LawFindings:
    """The result of testing outputs against laws."""

    num_inputs: int = 0  # number of tested inputs
    samples: int = 0  # least number of outputs of each input
    departure: str = ""  # the input that departs from its law, and how, as a phrase; empty if none does
    unnoticed: float = 1.0  # the probability below which a missing run of outcomes may go unnoticed


NOTHING_HELD: Final = LawFindings()  # without drawn outputs, or without laws


def draw_checks(
    pairs: Iterable[tuple[LawCheck, OutputSampler]], samples: int, streams: Streams
) -> Iterator[Sequence[Counts]]:
    """Yield for each input with a sampler the counts of its views."""
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
    """Return the findings on at least one input, each with the counts of its views.

    `risk` is the probability that some input is reported to depart although all follow their laws.
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
    """Return the first departure, and how many others there are, as a phrase."""
    first, *other_departures = [*departures, ""]
    return f"{first}; so do {len(other_departures) - 1} more" if len(other_departures) > 1 else first
