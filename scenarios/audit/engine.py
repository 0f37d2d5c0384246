"""One audit: choose neighbors and an event by some outputs, bound the loss by others, and test outputs against laws.

A fifth of the outputs chooses. For each pair and each score (the pair's own, and learned ones) it finds the events "the
score is at least t" and "at most t" with the greatest bounds, and it finds an edge event. The other outputs are drawn
for the chosen pair only, and decide. Since they are independent of the choice, no correction for multiple events is
needed.

If a pair's laws are known, their ε is exact, and the laws choose the first event. Whether the sampler follows the laws
is a separate question, which drawn outputs answer: those of the pair, and of the inputs in the case's checks, are
tested against their laws.

All statements on one case and source hold jointly with the requested confidence. Not refuting a proof proves nothing.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import refuse, require
from .bounds import (
    delta_bounds,
    epsilon_bounds,
    exact_delta,
    exact_epsilon,
    lower_limits,
    mu_bounds,
    samples_needed,
    upper_limits,
)
from .case import Case, LawCheck, OutputSampler, Pair, Source, Streams
from .choosing import ChosenEvent, Edge, choose_by_laws, choose_by_outputs, choose_edge
from .features import outcome_feature
from .following import NOTHING_HELD, Counts, draw_checks, hold
from .verdict import AuditResult, Bounds, Evidence, judge

_SHARE_THAT_CHOOSES: Final = 0.2
_MOST_THAT_CHOOSE: Final = 1 << 18
# Shares of the risk: of tests against laws, if any; then of the rest for ε, for the edge, and for the curve, δ and μ.
_OF_LAW: Final = 0.5
_OF_EPSILON, _OF_EDGE, _OF_CURVE = 0.6, 0.3, 0.1
_OF_INPUTS: Final[Mapping[Source, float]] = {"simulated": 1.0, "secure": 0.4}
"""Outputs of all checked inputs together, relative to those of one neighbor; fewer if they are drawn one by one."""

_Draws = tuple[OutputSampler, OutputSampler]


def check_confidence(confidence: float) -> None:
    """Raise ConfigurationError unless a confidence is in (0, 1).

    Examples:
        >>> check_confidence(0.99)
    """
    require(0 < confidence < 1, "confidence", confidence, "in (0, 1)")


def check_samples(samples: int, confidence: float) -> None:
    """Raise ConfigurationError if there are too few outputs for any statement."""
    min_samples = _least_samples(confidence)
    allowed = f"at least {min_samples}: with fewer no statement is possible at confidence {confidence:.12g}"
    refuse(samples < min_samples, "samples", samples, allowed)


def _least_samples(confidence: float) -> int:
    min_samples = samples_needed(math.inf, _OF_LAW * _OF_EPSILON * (1 - confidence))
    assert min_samples is not None  # noqa: S101  at ε = ∞ some number is enough
    return _with_choice(min_samples) + 1


def _with_choice(number: float) -> int:
    """Return the number of outputs of which this many are left to decide."""
    return math.ceil(number / (1 - _SHARE_THAT_CHOOSES))


def audit(
    case: Case, *, samples: int, confidence: float, source: Source = "simulated", seed: int = 1
) -> AuditResult | None:
    """Bound a case's loss from below.

    Args:
        case: the loss, with its neighbors and samplers.
        samples: number of outputs of each neighbor, before the case's share; a fifth of them choose, the others decide.
        confidence: joint confidence of all statements on this case and source, in (0, 1).
        source: the audited noise, "simulated" or "secure".
        seed: the seed of simulated outputs.

    Returns:
        The result; None if no pair has laws, and this source has no sampler for a pair or a check.

    Raises:
        ConfigurationError: the confidence is out of range, or the samples are too few for any statement.

    Privacy:
        A lower bound on ε for the case's unit and relation, against an adversary that sees the outputs.

    Examples:
        >>> from psephos.scenarios.audit import Pair
        >>> answers = np.array([[0.75, 0.25], [0.25, 0.75]])  # randomized response at ε = ln 3
        >>> pair = Pair("yes and no", laws=answers)
        >>> case = Case(name="coin", group="mine", unit="answer", claimed=1.0, proven=1.1, pairs=lambda: [pair])
        >>> found = audit(case, samples=1_000, confidence=0.99)
        >>> round(found.epsilon, 3), found.verdict.value
        (1.099, 'claim refuted')
    """
    check_confidence(confidence)
    check_samples(samples, confidence)
    share = case.share if source == "simulated" else case.secure_share
    samples = max(int(samples * share), _least_samples(confidence))
    risk = 1 - confidence
    pairs, checks = case.pairs(), _checks_of_source(case.law_checks(), source)
    if source == "secure":  # from here on, a pair's `draws` are those of the source
        able = (pair for pair in pairs if pair.laws is not None or pair.secure is not None)
        pairs = [dataclasses.replace(pair, draws=pair.secure) for pair in able]
    finite = [(pair, pair.laws) for pair in pairs if pair.laws is not None]
    pairs_with_draws = [(pair, pair.draws) for pair in pairs if pair.draws is not None]
    if not (finite or pairs_with_draws or checks):
        return None
    streams = Streams(seed)
    of_law = risk * _OF_LAW if checks or any(pair.draws is not None for pair, _ in finite) else 0.0
    inputs: list[Sequence[Counts]] = []
    if finite:
        pair, laws = max(finite, key=_rank)
        evidence, sides = _audit_laws(case, pair, laws, samples, streams, risk=risk - of_law)
        inputs += [[side] for side in sides]
    elif pairs_with_draws:
        evidence = _audit_outputs(case, pairs_with_draws, samples, streams, risk=risk - of_law)
    else:
        evidence = Evidence("", "", Bounds())
    if checks:
        inputs += draw_checks(checks, int(samples * _OF_INPUTS[source]) // len(checks), streams)
    evidence = evidence._replace(held=hold(inputs, of_law) if inputs else NOTHING_HELD)
    min_samples = samples_needed(case.proven, (risk - of_law) * _OF_EPSILON)
    needed_samples = None if min_samples is None else _with_choice(min_samples)
    return judge(case, evidence, source=source, needed_samples=needed_samples, confidence=1 - risk)


def _checks_of_source(checks: Iterable[LawCheck], source: Source) -> list[tuple[LawCheck, OutputSampler]]:
    """Return the checks that this source can sample, with their samplers."""
    draws = ((check, check.draw if source == "simulated" else check.secure) for check in checks)
    return [(check, draw) for check, draw in draws if draw is not None]


def _audit_outputs(
    case: Case, pairs_with_draws: Sequence[tuple[Pair, _Draws]], samples: int, streams: Streams, *, risk: float
) -> Evidence:
    """Choose an event by some outputs, and bound the loss by others, independent of the choice."""
    num_choosing = min(int(samples * _SHARE_THAT_CHOOSES), _MOST_THAT_CHOOSE)
    each = max(num_choosing // len(pairs_with_draws), 2)
    choosing_samples = [
        (pair, streams.all(first, each), streams.all(second, each)) for pair, (first, second) in pairs_with_draws
    ]
    edge = choose_edge(choosing_samples)
    if edge is not None and edge.bound > case.proven:  # the edge must be decided on the pair that it was found on
        choosing_samples = [hits_of_side for hits_of_side in choosing_samples if hits_of_side[0] is edge.pair]
    event = choose_by_outputs(choosing_samples, risk=risk * _OF_EPSILON, proven=case.proven)
    if edge is not None and edge.pair is not event.pair:
        edge = choose_edge([hits_of_side for hits_of_side in choosing_samples if hits_of_side[0] is event.pair])
    draws = event.pair.draws
    assert draws is not None  # noqa: S101  only what can be drawn is chosen
    number = samples - num_choosing
    hits = [_Hits(event, edge) for _ in draws]
    for draw, hits_of_side in zip(draws, hits, strict=True):
        for outputs in streams.chunks(draw, number):
            hits_of_side.add(outputs)
            hits_of_side.add_edge(outputs)
    bounds = _bounds_of(event, edge, hits, number, risk=risk, proven=case.proven)._replace(samples=samples)
    return Evidence(event.pair.name, _name_of(event, edge, bounds), bounds)


def _rank(pair_and_losses: tuple[Pair, FloatArray]) -> tuple[float, bool, float]:
    """Return the sort key of pairs: the exact ε, then whether there is a sampler, then the distance of the laws."""
    pair, laws = pair_and_losses
    # Rounded, so that symmetric pairs are equal here, and compared by the rest.
    return round(exact_epsilon(laws), 9), pair.draws is not None, exact_delta(laws, 0.0)


def _audit_laws(
    case: Case, pair: Pair, laws: FloatArray, samples: int, streams: Streams, *, risk: float
) -> tuple[Evidence, Sequence[Counts]]:
    """Audit by the exact laws; return also the counts of drawn outputs, to be tested against them."""
    event = choose_by_laws(pair, laws)
    if pair.draws is None:
        return Evidence(pair.name, event.name, Bounds(), laws), []
    counts = [Counts.of(f"{pair.name}, {side}", law, samples) for side, law in zip(("one", "other"), laws, strict=True)]
    num_choosing = min(int(samples * _SHARE_THAT_CHOOSES), _MOST_THAT_CHOOSE)
    # The laws chose the event, so all outputs decide on it. Outputs that chose the edge do not decide on the edge.
    first, second = (
        np.concatenate(list(_count_chunks(streams.chunks(draw, num_choosing), counts_of_side)))
        for draw, counts_of_side in zip(pair.draws, counts, strict=True)
    )
    edge = choose_edge([(pair, first, second)], [outcome_feature()])
    hits = [_Hits(event, edge) for _ in laws]
    for draw, counts_of_side, side, outputs in zip(pair.draws, counts, hits, (first, second), strict=True):
        side.add(outputs)
        for outputs_chunk in _count_chunks(streams.chunks(draw, samples - num_choosing), counts_of_side):
            side.add(outputs_chunk)
            side.add_edge(outputs_chunk)
    bounds = _bounds_of(event, edge, hits, samples, risk=risk, proven=case.proven, num_undecided=num_choosing)
    return Evidence(pair.name, _name_of(event, edge, bounds), bounds, laws), counts


class _Hits:
    """Counts of one neighbor's outputs in the event and those of the curve, and in the edge."""

    def __init__(self, event: ChosenEvent, edge: Edge | None) -> None:
        self._chosen, self._edge = event, edge
        self.of_events: IntArray = np.zeros(1 + len(event.curve), dtype=np.int64)
        self.of_edge = 0

    def add(self, outputs: IntArray) -> None:
        """Count outputs in the event and in those of the curve."""
        self.of_events += self._chosen.hits(outputs)

    def add_edge(self, outputs: IntArray) -> None:
        """Count outputs in the edge."""
        if self._edge is not None:
            self.of_edge += self._edge.hits(outputs)


def _count_chunks(chunks: Iterable[IntArray], counts: Counts) -> Iterator[IntArray]:
    """Yield chunks of outputs, and count them."""
    for outputs in chunks:
        if outputs.shape[1] != 1:
            raise ValueError("an output is no column of the law: number it by a column, or as none")
        counts.add(outputs[:, 0])
        yield outputs


def _bounds_of(
    event: ChosenEvent,
    edge: Edge | None,
    hits: Sequence[_Hits],
    number: int,
    *,
    risk: float,
    proven: float,
    num_undecided: int = 0,
) -> Bounds:
    """Return the bounds from the hits of both neighbors in the chosen event, the edge and the curve.

    `num_undecided` of the `number` outputs were not counted in the edge. `risk` is that of all bounds together.
    """
    likely, unlikely = hits if event.event.is_above else hits[::-1]
    epsilon = float(epsilon_bounds(likely.of_events[:1], unlikely.of_events[:1], number, risk * _OF_EPSILON)[0])
    by_edge, delta = -math.inf, 0.0
    if edge is not None:
        ones, hits_of_other = (
            np.array([hits_of_side.of_edge]) for hits_of_side in (hits if edge.is_first else hits[::-1])
        )
        counts = ones, hits_of_other, number - num_undecided, risk * _OF_EDGE
        by_edge = float(epsilon_bounds(*counts)[0])
        delta = float(delta_bounds(*counts, proven)[0])  # from the same intervals, so that both bounds hold jointly
    bounds = Bounds(max(epsilon, by_edge), by_edge=by_edge, delta=delta, samples=number)
    if not event.curve:
        return bounds
    first, second = (hits_of_side.of_events[1:] for hits_of_side in hits)
    each = risk * _OF_CURVE / len(first)
    delta = max(delta, float(delta_bounds(first, second, number, each, proven).max()))
    mu = max(0.0, float(mu_bounds(first, second, number, each).max()))
    errors, misses = upper_limits(second, number, each / 2), 1 - lower_limits(first, number, each / 2)
    curve = [(float(error), float(miss)) for error, miss in zip(errors, misses, strict=True)]
    return bounds._replace(delta=delta, mu=mu, trade_off=sorted(curve))


def _name_of(event: ChosenEvent, edge: Edge | None, bounds: Bounds) -> str:
    """Return the event with the greatest bound, as a phrase."""
    return edge.name if edge is not None and bounds.epsilon == bounds.by_edge else event.name
