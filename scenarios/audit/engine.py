"""One audit: choose a pair of neighbors and an event by some outputs, then bound the loss by others.

A fifth of the outputs chooses: for each pair and each score (the pair's own, and those that are learned), the events
"the score is at least t" and "at most t" whose bound would be the greatest. The rest is drawn for the chosen pair
alone and decides: since the choice has not seen it, one event costs no correction for all that were tried.

Where the laws are known, ε is exact and nothing is chosen; outputs that are drawn are then held against the laws, so
that a sampler of another law is found out.

What is stated of one case and source holds jointly with the confidence asked for. Not refuting a proof proves nothing.
"""

import enum
import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError
from .bounds import (
    delta_bounds,
    departs,
    epsilon_bounds,
    exact_delta,
    exact_epsilon,
    exact_mu,
    exact_trade_off,
    lower_limits,
    mu_bounds,
    samples_needed,
    upper_limits,
)
from .case import NO_PLACE, Case, Draw, Pair, Score
from .features import learn_scores

__all__ = ["TOLERANCE", "Audited", "Source", "Verdict", "audit", "check_confidence", "check_samples"]

Source: TypeAlias = Literal["simulated", "secure"]
"""Whose randomness is audited: that of simulations, or that of deployments."""

TOLERANCE: Final = 1e-9
"""What an exact ε may exceed the proven one by: laws are written in floats."""

_CHUNK: Final = 1 << 16
_SHARE_THAT_CHOOSES: Final = 0.2
_MOST_THAT_CHOOSE: Final = 1 << 18
_MOST_THAT_TEACH: Final = 1 << 15
_MOST_THAT_TEACH_MORE: Final = 1 << 14
# How the risk is shared: by ε, by the curve (with δ and μ), and by the comparison with a law where there is one.
_OF_EPSILON, _OF_CURVE = 0.9, 0.1
_OF_LAW: Final = 0.5
# Of intervals by which an event for δ is chosen from fewer outputs than decide: no rare event can win by chance, since
# δ is at most its probability.
_RISK_OF_DELTA_CHOICE: Final = 0.1
_NUM_CURVE_POINTS: Final = 7
_NUM_THRESHOLDS: Final = 256
_MOST_BINS: Final = 512
_LEAST_EXPECTED: Final = 5
_LOW_BITS: Final = (2, 8)
_FIRST_STREAM: Final = 1 << 40


class Verdict(enum.StrEnum):
    """What an audit says of a loss."""

    CONSISTENT = "consistent"
    """Nothing was found that is more than claimed or proven; which is no proof."""
    CLAIM_REFUTED = "claim refuted"
    """The loss is more than the paper claims, and no more than is proven."""
    PROOF_REFUTED = "proof refuted"
    """The loss is more than is proven, or the sampler does not have the law of which it is proven."""
    NO_STATEMENT = "no statement"
    """The outputs were too few to tell the neighbors apart at all."""


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """What one audit found.

    Args:
        group: the case's.
        name: the case's.
        source: whose randomness was audited; "law" where nothing was drawn.
        verdict: what it says.
        epsilon: the lower bound on ε, in nats; None where the outputs allow no statement.
        is_exact: whether it is the ε of these neighbors, known from their law.
        sampled_epsilon: the lower bound from outputs alone; None where they allow no statement.
        delta: a lower bound on δ at the proven ε, which is 0 where the proof holds.
        mu: a lower bound on Gaussian DP's μ.
        trade_off: points that the trade-off curve does not exceed: type I error, type II error.
        follows_law: whether the outputs followed the law; None where there is none, or nothing was drawn.
        pair: which neighbors told most, as a phrase.
        event: what they were told apart by, as a phrase.
        samples: outputs that were drawn of each of those neighbors.
        needed: outputs of each neighbor below which no statement is to be had; None where no number is enough.
        confidence: with which all this holds at once.
    """

    group: str
    name: str
    source: Literal["simulated", "secure", "law"]
    verdict: Verdict
    epsilon: float | None
    is_exact: bool
    sampled_epsilon: float | None
    delta: float
    mu: float
    trade_off: list[tuple[float, float]]
    follows_law: bool | None
    pair: str
    event: str
    samples: int
    needed: int | None
    confidence: float


def check_confidence(confidence: float) -> None:
    """Raise ConfigurationError unless a confidence is in (0, 1)."""
    if not 0 < confidence < 1:
        raise ConfigurationError(field="confidence", value=confidence, allowed="in (0, 1), both excluded")


def check_samples(samples: int, confidence: float) -> None:
    """Raise ConfigurationError where so few outputs allow no statement whatever they are."""
    least = _least_samples(confidence)
    if samples < least:
        allowed = f"at least {least}: fewer allow no statement at confidence {confidence:.12g}"
        raise ConfigurationError(field="samples", value=samples, allowed=allowed)


def _least_samples(confidence: float) -> int:
    least = samples_needed(math.inf, _OF_LAW * _OF_EPSILON * (1 - confidence))
    assert least is not None  # noqa: S101  at ε = ∞ some number is enough
    return math.ceil(least / (1 - _SHARE_THAT_CHOOSES)) + 1


def audit(
    case: Case, *, samples: int, confidence: float, source: Source = "simulated", seed: int = 1
) -> Audited | None:
    """Bound a case's loss from below.

    Args:
        case: what is audited.
        samples: outputs of each neighbor; of the case's share of them a fifth choose, and the rest decide.
        confidence: with which all that is stated of this case and source holds, in (0, 1).
        source: whose randomness is audited.
        seed: of simulated outputs.

    Returns:
        What was found; None where no pair can be drawn from this source, nor has laws.

    Raises:
        ConfigurationError: the confidence is out of range, or the samples are too few for any statement.

    Privacy:
        A lower bound on ε of the case's unit and relation, against whoever sees the outputs.
    """
    check_confidence(confidence)
    check_samples(samples, confidence)
    share = case.share if source == "simulated" else case.secure_share
    samples = max(int(samples * share), _least_samples(confidence))
    risk = 1 - confidence
    pairs = [_Side(pair, pair.draws if source == "simulated" else pair.secure) for pair in case.pairs()]
    finite = [side for side in pairs if side.laws is not None]
    streams = _Streams(seed)
    if finite:
        return _audit_law(case, _greatest(finite), samples=samples, risk=risk, source=source, streams=streams)
    drawn = [side for side in pairs if side.draws is not None]
    if not drawn:
        return None
    choosing = min(int(samples * _SHARE_THAT_CHOOSES), _MOST_THAT_CHOOSE)
    number = samples - choosing
    chosen = _choose(drawn, choosing, risk * _OF_EPSILON, streams, proven=case.proven)
    measured = _measure(chosen, number, streams, of_epsilon=risk * _OF_EPSILON, of_curve=risk * _OF_CURVE, case=case)
    return _judged(case, source, chosen, measured, samples=samples, risk=risk, exact=None, follows=None)


class _Side(NamedTuple):
    """A pair, with how it is drawn from the source."""

    pair: Pair
    draws: tuple[Draw, Draw] | None

    @property
    def laws(self) -> FloatArray | None:
        return self.pair.laws


class _Streams:
    """Numbers of streams, each given out once."""

    def __init__(self, seed: int) -> None:
        self._next = seed * _FIRST_STREAM

    def draw(self, draw: Draw, number: int) -> IntArray:
        """Return so many outputs, from a stream of their own.

        Raises:
            ValueError: the draw did not return as many rows.
        """
        self._next += 1
        outputs = draw(number, self._next)
        if outputs.ndim != 2 or len(outputs) != number:  # noqa: PLR2004  a table
            raise ValueError(f"expected outputs of shape ({number}, width), got {outputs.shape}")
        return outputs


class _Event(NamedTuple):
    """That a score is on one side of a threshold.

    Args:
        threshold: on which it may be itself.
        is_above: whether the event is at least the threshold, and more likely under the first neighbor; else at most,
            and more likely under the second.
    """

    threshold: float
    is_above: bool

    def hits(self, scores: FloatArray) -> int:
        """Return how many scores are in the event."""
        return int(np.count_nonzero(scores >= self.threshold if self.is_above else scores <= self.threshold))


class _Chosen(NamedTuple):
    """What is to be told apart by what.

    Args:
        side: the pair.
        name: of the score.
        score: the score.
        event: which says most of ε.
        curve: events along the trade-off curve.
        bound: what the event said of ε to the outputs that chose it.
    """

    side: _Side
    name: str
    score: Score
    event: _Event
    curve: list[_Event]
    bound: float


class _Measured(NamedTuple):
    epsilon: float
    delta: float
    mu: float
    trade_off: list[tuple[float, float]]


def _choose(sides: Sequence[_Side], choosing: int, risk: float, streams: _Streams, *, proven: float) -> _Chosen:
    """Return the pair and the event that told most, by outputs that do not decide."""
    best: _Chosen | None = None
    each = max(choosing // len(sides), 2)
    for side in sides:
        assert side.draws is not None  # noqa: S101  these are the ones that can be drawn
        first, second = (_in_chunks(draw, each, streams) for draw in side.draws)
        # A pair's own score is hard to beat; what is learned beside it finds what the law does not have.
        taught = min(each // 2, _MOST_THAT_TEACH if side.pair.score is None else _MOST_THAT_TEACH_MORE)
        scores: list[tuple[str, Score, IntArray, IntArray]] = []
        if side.pair.score is not None:
            scores.append(("the likelihood ratio", side.pair.score, first, second))
        # By other outputs than those that it was learned from, or the best would be what chance made the best.
        shown = slice(taught, 3 * taught)
        scores += [
            (name, score, first[shown], second[shown]) for name, score in learn_scores(first[:taught], second[:taught])
        ]
        for name, score, ones, others in scores:
            tried = _best_event(side, name, score, (ones, others), risk, proven=proven)
            if best is None or tried.bound > best.bound:
                best = tried
    if best is None:  # all outputs are one and the same, which tells nothing: any event will do
        best = _Chosen(sides[0], "nothing", _nothing, _Event(0.0, is_above=True), [], 0.0)
    return best


def _nothing(outputs: IntArray) -> FloatArray:
    return np.zeros(len(outputs))


def _in_chunks(draw: Draw, number: int, streams: _Streams) -> IntArray:
    sizes = [min(_CHUNK, number - start) for start in range(0, number, _CHUNK)]
    return np.concatenate([streams.draw(draw, size) for size in sizes])


def _best_event(
    side: _Side, name: str, score: Score, outputs: tuple[IntArray, IntArray], risk: float, *, proven: float
) -> _Chosen:
    """Return the threshold of a score that tells most."""
    first, second = (np.sort(_scored(score, rows)) for rows in outputs)
    number = min(len(first), len(second))
    thresholds = _thresholds(first, second)
    above = [len(scores) - np.searchsorted(scores, thresholds, side="left") for scores in (first, second)]
    below = [np.searchsorted(scores, thresholds, side="right") for scores in (first, second)]
    of_above = epsilon_bounds(above[0], above[1], number, risk)
    of_below = epsilon_bounds(below[1], below[0], number, risk)
    is_above = float(of_above.max()) >= float(of_below.max())
    bounds = of_above if is_above else of_below
    place = int(np.argmax(bounds))
    of_mu = mu_bounds(above[0], above[1], number, risk)
    # What happens seldom, and under one neighbor alone, says little of ε and much of δ.
    of_delta = delta_bounds(above[0], above[1], number, _RISK_OF_DELTA_CHOICE, proven)
    evenly = thresholds[np.linspace(0, len(thresholds) - 1, _NUM_CURVE_POINTS + 2).astype(np.int64)[1:-1]]
    of_both = thresholds[int(np.argmax(of_mu))], thresholds[int(np.argmax(of_delta))]
    curve = {float(threshold) for threshold in (*of_both, *evenly)}
    return _Chosen(
        side,
        name,
        score,
        _Event(float(thresholds[place]), is_above),
        [_Event(threshold, is_above=True) for threshold in sorted(curve)],
        float(bounds[place]),
    )


def _thresholds(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return some of the scores: at even ranks, and closer towards both ends."""
    ordered = np.sort(np.concatenate([first, second]))
    last = len(ordered) - 1
    even = np.linspace(0, last, _NUM_THRESHOLDS)
    ends = np.geomspace(1, max(last, 1), _NUM_THRESHOLDS // 4)
    ranks = np.unique(np.concatenate([even, ends, last - ends]).astype(np.int64))
    return np.unique(ordered[np.clip(ranks, 0, last)])


def _scored(score: Score, outputs: IntArray) -> FloatArray:
    """Return scores; 0 where an output is impossible for both neighbors, so that its logarithms' difference is none."""
    scores = score(outputs)
    return np.where(np.isnan(scores), 0.0, scores)


def _measure(
    chosen: _Chosen, number: int, streams: _Streams, *, of_epsilon: float, of_curve: float, case: Case
) -> _Measured:
    """Draw outputs that the choice has not seen, and bound by them."""
    draws = chosen.side.draws
    assert draws is not None  # noqa: S101  only what can be drawn is chosen
    return _counted(
        chosen, [_hits(chosen, draw, number, streams) for draw in draws], number, of_epsilon, of_curve, case
    )


def _hits(
    chosen: _Chosen,
    draw: Draw,
    number: int,
    streams: _Streams,
    on_outputs: Callable[[IntArray], None] | None = None,
) -> IntArray:
    """Return how often the event and each one of the curve happened in outputs of a neighbor."""
    events = (chosen.event, *chosen.curve)
    hits = np.zeros(len(events), dtype=np.int64)
    for start in range(0, number, _CHUNK):
        outputs = streams.draw(draw, min(_CHUNK, number - start))
        if on_outputs is not None:
            on_outputs(outputs)
        scores = _scored(chosen.score, outputs)
        hits += [event.hits(scores) for event in events]
    return hits


def _counted(
    chosen: _Chosen, hits: Sequence[IntArray], number: int, of_epsilon: float, of_curve: float, case: Case
) -> _Measured:
    """Return the bounds that hits of the first and of the second neighbor give."""
    likely, unlikely = hits if chosen.event.is_above else hits[::-1]
    epsilon = float(epsilon_bounds(likely[:1], unlikely[:1], number, of_epsilon)[0])
    first, second = hits[0][1:], hits[1][1:]
    if not len(first):
        return _Measured(epsilon, 0.0, 0.0, [])
    each = of_curve / len(first)
    delta = float(delta_bounds(first, second, number, each, case.proven).max())
    mu = max(0.0, float(mu_bounds(first, second, number, each).max()))
    errors, misses = upper_limits(second, number, each / 2), 1 - lower_limits(first, number, each / 2)
    curve = [(float(error), float(miss)) for error, miss in zip(errors, misses, strict=True)]
    return _Measured(epsilon, delta, mu, sorted(curve))


def _greatest(sides: Sequence[_Side]) -> _Side:
    """Return the pair with the greatest exact ε; of equal ones the one that is drawn, then the one told apart most."""

    def key(side: _Side) -> tuple[float, bool, float]:
        assert side.laws is not None  # noqa: S101  these are the ones with laws
        # Rounded, so that pairs alike by symmetry are compared by the rest.
        return round(exact_epsilon(side.laws), 9), side.draws is not None, exact_delta(side.laws, 0.0)

    return max(sides, key=key)


def _audit_law(case: Case, side: _Side, *, samples: int, risk: float, source: Source, streams: _Streams) -> Audited:
    """Audit by the exact laws, and hold what is drawn against them."""
    laws = side.laws
    assert laws is not None  # noqa: S101  the caller has looked
    # One more column, which neither law has: the last one, so that `NO_PLACE` is its place.
    extended: FloatArray = np.pad(laws, ((0, 0), (0, 1)))
    score = _law_score(extended)
    columns = np.arange(laws.shape[1], dtype=np.int64)[:, None]
    events = _law_events(laws, score(columns))
    chosen = _Chosen(side, "the likelihood ratio", score, events[0], events[1:], 0.0)
    measured, follows = None, None
    if side.draws is not None:
        counts = [np.zeros(extended.shape[1], dtype=np.int64) for _ in laws]

        def counter(own: IntArray) -> Callable[[IntArray], None]:
            def count(outputs: IntArray) -> None:
                if outputs.shape[1] != 1 or not NO_PLACE <= int(outputs.min()) <= int(outputs.max()) < len(own) - 1:
                    raise ValueError("an output that has a law must be the number of one of its columns, or of none")
                np.add(own, np.bincount(outputs[:, 0] % len(own), minlength=len(own)), out=own)

            return count

        hits = [
            _hits(chosen, draw, samples, streams, counter(own)) for draw, own in zip(side.draws, counts, strict=True)
        ]
        rest = risk * (1 - _OF_LAW)
        measured = _counted(chosen, hits, samples, rest * _OF_EPSILON, rest * _OF_CURVE, case)
        each = risk * _OF_LAW / len(laws)
        follows = not any(_departs(own, law, samples, each) for own, law in zip(counts, extended, strict=True))
    return _judged(case, source, chosen, measured, samples=samples, risk=risk, exact=laws, follows=follows)


def _law_score(laws: FloatArray) -> Score:
    with np.errstate(divide="ignore", invalid="ignore"):  # impossible outputs: ±∞, or nan where both are
        ratios = np.log(laws[0]) - np.log(laws[1])
    return lambda outputs: ratios[outputs[:, 0]]


def _law_events(laws: FloatArray, scores: FloatArray) -> list[_Event]:
    """Return the event whose sampled bound should be the greatest, then events along the curve."""
    scores = np.where(np.isnan(scores), 0.0, scores)
    order = np.argsort(scores, kind="stable")
    first, second = laws[:, order]
    # As many hits as some outputs would have, so that rare events do not win.
    number = 1 << 17
    above = [np.floor(number * np.cumsum(law[::-1])[::-1]).astype(np.int64).clip(0, number) for law in (first, second)]
    below = [np.floor(number * np.cumsum(law)).astype(np.int64).clip(0, number) for law in (first, second)]
    step = max(1, len(order) // _MOST_BINS)
    of_above = epsilon_bounds(above[0][::step], above[1][::step], number, 0.01)
    of_below = epsilon_bounds(below[1][::step], below[0][::step], number, 0.01)
    is_above = float(of_above.max()) >= float(of_below.max())
    ordered = scores[order]
    place = int(np.argmax(of_above if is_above else of_below)) * step
    cumulated = np.cumsum((first + second) / 2)
    levels = np.arange(1, _NUM_CURVE_POINTS + 1) / (_NUM_CURVE_POINTS + 1)
    along = ordered[np.minimum(np.searchsorted(cumulated, levels), len(ordered) - 1)]
    return [
        _Event(float(ordered[place]), is_above),
        *(_Event(float(level), is_above=True) for level in np.unique(along)),
    ]


def _departs(counts: IntArray, law: FloatArray, number: int, risk: float) -> bool:
    """Return whether outputs of one neighbor do not follow its law.

    Neighboring outputs that are too rare are counted together; then their low bits are counted too.
    """
    least = max(_LEAST_EXPECTED, number / _MOST_BINS)
    starts = np.flatnonzero(np.diff(np.floor(np.cumsum(law) * number / least), prepend=-1.0))
    hits, masses = [np.add.reduceat(counts, starts)], [np.add.reduceat(law, starts)]
    if len(starts) < len(law):
        places = np.arange(len(law))
        for size in _LOW_BITS:
            hits.append(np.array([counts[places % size == rest].sum() for rest in range(size)], dtype=np.int64))
            masses.append(np.array([law[places % size == rest].sum() for rest in range(size)]))
    impossible = law <= 0
    hits.append(np.array([counts[impossible].sum()], dtype=np.int64))
    masses.append(np.zeros(1))
    return departs(np.concatenate(hits), np.concatenate(masses), number, risk)


def _judged(
    case: Case,
    source: Source,
    chosen: _Chosen,
    measured: _Measured | None,
    *,
    samples: int,
    risk: float,
    exact: FloatArray | None,
    follows: bool | None,
) -> Audited:
    """Return what was found, with its verdict."""
    sampled = None if measured is None or measured.epsilon <= 0 else measured.epsilon
    sampled_delta = 0.0 if measured is None else measured.delta
    known = None if exact is None else exact_epsilon(exact)
    # A sampler of another law has another ε: then only what was drawn says anything.
    is_exact = known is not None and follows is not False
    epsilon = known if is_exact else sampled
    greatest = max(epsilon or 0.0, sampled or 0.0)
    if follows is False or greatest > case.proven + TOLERANCE or sampled_delta > TOLERANCE:
        verdict = Verdict.PROOF_REFUTED
    elif greatest > case.claimed + TOLERANCE:
        verdict = Verdict.CLAIM_REFUTED
    elif epsilon is None and case.proven > 0:
        verdict = Verdict.NO_STATEMENT
    else:
        verdict = Verdict.CONSISTENT
    needed = samples_needed(case.proven, risk * _OF_EPSILON)
    return Audited(
        group=case.group,
        name=case.name,
        source="law" if measured is None else source,
        verdict=verdict,
        epsilon=epsilon,
        is_exact=is_exact,
        sampled_epsilon=sampled,
        delta=exact_delta(exact, case.proven) if exact is not None and is_exact else sampled_delta,
        mu=exact_mu(exact) if exact is not None and is_exact else (0.0 if measured is None else measured.mu),
        trade_off=_corners(exact)
        if exact is not None and is_exact
        else ([] if measured is None else measured.trade_off),
        follows_law=follows,
        pair=chosen.side.pair.name,
        event=chosen.name,
        samples=0 if measured is None else samples,
        needed=None if needed is None else math.ceil(needed / (1 - _SHARE_THAT_CHOOSES)),
        confidence=1 - risk,
    )


def _corners(laws: FloatArray) -> list[tuple[float, float]]:
    """Return some corners of the exact curve: enough to draw it by."""
    corners = exact_trade_off(laws)
    places = np.unique(np.linspace(0, len(corners) - 1, 65).astype(np.int64))
    return [(float(error), float(miss)) for error, miss in corners[places]]
