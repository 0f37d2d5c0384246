"""Choose the event that distinguishes two neighbors best, by some of their outputs or by their laws.

An event is a set of outputs whose score is at least, or at most, a threshold. Scores are the pair's own, and those
learned from outputs. The event with the greatest bound on ε is chosen, together with events along the trade-off curve
and the one with the greatest bound on δ.

An *edge* event is a range at an extreme of an ordered feature, or a single value. Likelihood ratios test where the law
says that neighbors differ, and learned scores test where most outputs lie. Only an edge event shows a sampler that is
wrong in a tail, such as clipped noise. Outputs that choose an event are not used to bound the loss.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from .bounds import delta_bounds, epsilon_bounds, mu_bounds
from .case import Pair, Score
from .features import OutputFeature, features_of, learn_scores

_MOST_THAT_TEACH: Final = 1 << 15
_MOST_THAT_TEACH_MORE: Final = 1 << 14
# The risk of the intervals that choose an event for δ from fewer outputs than decide. A rare event cannot win by
# chance, since δ is at most its probability.
_RISK_OF_DELTA_CHOICE: Final = 0.1
_RISK_OF_LAW_CHOICE: Final = 0.01
# hits that stand for probability 1: a finite number of outputs, so that rare events do not win
_HITS_BY_LAW: Final = 1 << 17
_NUM_CURVE_POINTS: Final = 7
_NUM_THRESHOLDS: Final = 256
_MOST_THRESHOLDS_OF_LAWS: Final = 512
# thresholds whose exact bound is computed, the best by an approximation: a bound takes microseconds
_MOST_BOUNDED: Final = 16
_RISK_OF_CHOICE: Final = 1e-3
"""The risk of the intervals that compare edges; large, since few outputs choose."""
_NUM_RANKS: Final = 64  # thresholds at either end, at geometrically growing distances
_DEVIATIONS: Final = 3


class Event(NamedTuple):
    """A score at or above a threshold, more likely under the first neighbor; or at or below it, under the second."""

    threshold: float
    is_above: bool

    def hits(self, scores: FloatArray) -> int:
        """Return the number of scores in the event."""
        return int(np.count_nonzero(scores >= self.threshold if self.is_above else scores <= self.threshold))


class ChosenEvent(NamedTuple):
    """The chosen pair and score, the event with the greatest bound on ε, and events along the trade-off curve."""

    pair: Pair
    name: str
    score: Score
    event: Event
    curve: Sequence[Event] = ()

    def hits(self, outputs: IntArray) -> IntArray:
        """Return the numbers of outputs in the event, and in each event of the curve."""
        scores = score_outputs(self.score, outputs)
        return np.array([event.hits(scores) for event in (self.event, *self.curve)], dtype=np.int64)


def score_outputs(score: Score, outputs: IntArray) -> FloatArray:
    """Return scores; 0 for outputs that are impossible for both neighbors, whose log-likelihood ratio is undefined."""
    scores = score(outputs)
    return np.where(np.isnan(scores), 0.0, scores)


def choose_by_outputs(samples: Iterable[tuple[Pair, IntArray, IntArray]], *, risk: float, proven: float) -> ChosenEvent:
    """Return the pair and the event with the greatest bound on ε.

    Args:
        samples: at least one pair, each with outputs of its first and second neighbor that only choose the event.
        risk: the risk of the intervals that compare events.
        proven: the proven ε, at which δ is compared.
    """
    best: ChosenEvent | None = None
    greatest, sides = -math.inf, None
    for pair, first, second in samples:
        if best is None:  # if all outputs are equal, any event will do
            best = ChosenEvent(pair, "nothing", _nothing, Event(0.0, is_above=True))
        # A pair's own score is hard to beat; learned scores find deviations from the law.
        taught = min(len(first) // 2, _MOST_THAT_TEACH if pair.score is None else _MOST_THAT_TEACH_MORE)
        scores: list[tuple[str, Score, IntArray, IntArray]] = []
        if pair.score is not None:
            scores.append(("the likelihood ratio", pair.score, first, second))
        # Scores are compared on outputs that they were not learned from, to avoid overfitting.
        holdout = slice(taught, 3 * taught)
        scores += [
            (name, score, first[holdout], second[holdout])
            for name, score in learn_scores(first[:taught], second[:taught])
        ]
        for name, score, ones, others_outputs in scores:
            sorted_scores = np.sort(score_outputs(score, ones)), np.sort(score_outputs(score, others_outputs))
            event, bound = _best_event(*sorted_scores, risk=risk)
            if bound > greatest:
                best, greatest, sides = ChosenEvent(pair, name, score, event), bound, sorted_scores
    assert best is not None  # noqa: S101  there is a pair
    return best if sides is None else best._replace(curve=_curve(*sides, risk=risk, proven=proven))


def choose_by_laws(pair: Pair, laws: FloatArray) -> ChosenEvent:
    """Return the event whose bound should be greatest by the laws; outputs are column indices or `NO_PLACE`."""
    # Append a column for outputs in neither law, so that `NO_PLACE` indexes it.
    extended: FloatArray = np.pad(laws, ((0, 0), (0, 1)))
    with np.errstate(divide="ignore", invalid="ignore"):  # impossible outputs: ±∞, or nan where both are
        ratios = np.log(extended[0]) - np.log(extended[1])

    def score(outputs: IntArray) -> FloatArray:
        return ratios[outputs[:, 0]]

    scores = score_outputs(score, np.arange(laws.shape[1], dtype=np.int64)[:, None])
    order = np.argsort(scores, kind="stable")
    first, second = laws[:, order]
    number = _HITS_BY_LAW
    hits_above = [
        np.floor(number * np.cumsum(law[::-1])[::-1]).astype(np.int64).clip(0, number) for law in (first, second)
    ]
    hits_below = [np.floor(number * np.cumsum(law)).astype(np.int64).clip(0, number) for law in (first, second)]
    step = max(1, len(order) // _MOST_THRESHOLDS_OF_LAWS)
    of_above = epsilon_bounds(hits_above[0][::step], hits_above[1][::step], number, _RISK_OF_LAW_CHOICE)
    of_below = epsilon_bounds(hits_below[1][::step], hits_below[0][::step], number, _RISK_OF_LAW_CHOICE)
    is_above = float(of_above.max()) >= float(of_below.max())
    ordered_scores = scores[order]
    place = int(np.argmax(of_above if is_above else of_below)) * step
    cumulated = np.cumsum((first + second) / 2)
    levels = np.arange(1, _NUM_CURVE_POINTS + 1) / (_NUM_CURVE_POINTS + 1)
    thresholds_of_levels = ordered_scores[np.minimum(np.searchsorted(cumulated, levels), len(ordered_scores) - 1)]
    event = Event(float(ordered_scores[place]), is_above)
    curve = [Event(float(level), is_above=True) for level in np.unique(thresholds_of_levels)]
    return ChosenEvent(pair, "the likelihood ratio", score, event, curve)


def _best_event(first: FloatArray, second: FloatArray, *, risk: float) -> tuple[Event, float]:
    """Return the threshold of sorted scores with the greatest bound on ε, and that bound."""
    thresholds, hits_above, hits_below = _hits_of(first, second)
    sides = hits_above, hits_below[::-1]
    few = [np.argsort(-_roughly(*side), kind="stable")[:_MOST_BOUNDED] for side in sides]
    likely, unlikely = (
        np.concatenate([hits[places] for hits, places in zip(each, few, strict=True)])
        for each in zip(*sides, strict=True)
    )
    bounds = epsilon_bounds(likely, unlikely, min(len(first), len(second)), risk)
    place = int(np.argmax(bounds))
    return Event(float(thresholds[np.concatenate(few)[place]]), place < len(few[0])), float(bounds[place])


def _curve(first: FloatArray, second: FloatArray, *, risk: float, proven: float) -> list[Event]:
    """Return events along the trade-off curve of sorted scores, with those that bound μ and δ best."""
    thresholds, hits_above, _ = _hits_of(first, second)
    number = min(len(first), len(second))
    of_mu = mu_bounds(*hits_above, number, risk)
    # A rare event that only one neighbor has bounds δ well, and ε badly.
    of_delta = delta_bounds(*hits_above, number, _RISK_OF_DELTA_CHOICE, proven)
    evenly = thresholds[np.linspace(0, len(thresholds) - 1, _NUM_CURVE_POINTS + 2).astype(np.int64)[1:-1]]
    of_both = thresholds[int(np.argmax(of_mu))], thresholds[int(np.argmax(of_delta))]
    return [
        Event(threshold, is_above=True)
        for threshold in sorted({float(own_threshold) for own_threshold in (*of_both, *evenly)})
    ]


def _hits_of(
    first: FloatArray, second: FloatArray
) -> tuple[FloatArray, tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
    """Return some of the sorted scores as thresholds, and how many scores of each neighbor are above and below them."""
    all_scores = np.sort(np.concatenate([first, second]))
    thresholds = np.unique(all_scores[_ranks_in(len(all_scores))])
    one, other = (np.searchsorted(scores, thresholds, side="left") for scores in (first, second))
    hits_below = np.searchsorted(first, thresholds, side="right"), np.searchsorted(second, thresholds, side="right")
    return thresholds, (len(first) - one, len(second) - other), hits_below


def _nothing(outputs: IntArray) -> FloatArray:
    return np.zeros(len(outputs))


@functools.lru_cache(maxsize=8)
def _ranks_in(number: int) -> IntArray:
    """Return some ranks, evenly spread and denser towards both ends."""
    last = number - 1
    even = np.linspace(0, last, _NUM_THRESHOLDS)
    ends = np.geomspace(1, max(last, 1), _NUM_THRESHOLDS // 4)
    return np.clip(np.unique(np.concatenate([even, ends, last - ends]).astype(np.int64)), 0, last)


_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class Edge(NamedTuple):
    """An event that a feature is in a range: beyond a point, or at a single value."""

    pair: Pair  # the neighbors
    feature: OutputFeature  # the feature
    least: int  # the least value in the range
    greatest: int  # the greatest value in the range
    is_first: bool  # whether it should be more likely under the first neighbor
    bound: float  # the bound on ε by the outputs that chose it, which proves nothing

    @property
    def name(self) -> str:
        """The range, as a phrase."""
        if self.least == self.greatest:
            return f"{self.feature.name}: {self.least}"
        at_least = f"at least {self.least}" if self.least > _LEAST else ""
        return f"{self.feature.name}: {at_least or f'at most {self.greatest}'}"

    def hits(self, outputs: IntArray) -> int:
        """Return the number of outputs in the range."""
        values = self.feature.of(outputs)
        return int(np.count_nonzero((values >= self.least) & (values <= self.greatest)))


def choose_edge(
    samples: Sequence[tuple[Pair, IntArray, IntArray]], features: Sequence[OutputFeature] = ()
) -> Edge | None:
    """Return the edge event with the greatest bound on ε; None if all outputs are equal.

    `samples` are outputs of the first and the second neighbor that only choose the event. By default `features` are
    each number of an output, and combinations of several.
    """
    edges = (
        edge
        for pair, first, second in samples
        for feature in features or features_of(first, are_ordered=True)
        for edge in _edges_of(pair, feature, first, second)
    )
    return max(edges, key=lambda edge: edge.bound, default=None)


def _edges_of(pair: Pair, feature: OutputFeature, first: IntArray, second: IntArray) -> Iterator[Edge]:
    """Yield a feature's best event at each extreme, and its best single value."""
    sides = np.sort(feature.of(first)), np.sort(feature.of(second))
    all_values = np.sort(np.concatenate(sides))
    if all_values[0] == all_values[-1]:
        return
    ranks = np.geomspace(1, len(all_values), _NUM_RANKS).astype(np.int64) - 1
    low, high = np.unique(all_values[ranks]), np.unique(all_values[len(all_values) - 1 - ranks])
    values = all_values[np.concatenate([[True], all_values[1:] != all_values[:-1]])]
    lowest, greatest = np.full(1, _LEAST), np.full(1, _GREATEST)
    best: list[tuple[int, int, bool, int, int]] = []
    for starts, ends in (
        (np.repeat(lowest, len(low)), low),
        (high, np.repeat(greatest, len(high))),
        (values, values),
    ):
        one, other = (
            np.searchsorted(side, ends, side="right") - np.searchsorted(side, starts, side="left") for side in sides
        )
        for is_first, likely, unlikely in ((True, one, other), (False, other, one)):
            place = int(np.argmax(_roughly(likely, unlikely)))
            best.append((int(starts[place]), int(ends[place]), is_first, int(likely[place]), int(unlikely[place])))
    likely, unlikely = np.array([edge[3:] for edge in best], dtype=np.int64).T
    bounds = epsilon_bounds(likely, unlikely, min(map(len, sides)), _RISK_OF_CHOICE)
    for (start, end, is_first, *_), bound in zip(best, bounds.tolist(), strict=True):
        yield Edge(pair, feature, start, end, is_first, bound)


def _roughly(likely: IntArray, unlikely: IntArray) -> FloatArray:
    """Approximate the bound on ε of each event without computing intervals."""
    low = np.maximum(likely - _DEVIATIONS * np.sqrt(likely), 0.0)
    return low / (unlikely + _DEVIATIONS * np.sqrt(unlikely) + 2 * _DEVIATIONS)
