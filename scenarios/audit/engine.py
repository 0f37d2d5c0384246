"""One audit: choose neighbors and events by some outputs, bound the loss by others, and hold outputs against laws.

A fifth of the outputs chooses: for each pair and each score (the pair's own, and those that are learned), the events
"the score is at least t" and "at most t" whose bound would be the greatest; and an event at an edge of what is drawn.
The rest is drawn for the chosen pair alone and decides: since the choice has not seen it, an event costs no correction
for all that were tried.

Where the laws of a pair are known, its ε is exact, and the first event is chosen by the laws. That is the ε of the
laws: whether a sampler has them is another question, which what is drawn answers. Outputs of the pair, and of the
inputs that the case brings for it, are held against their laws.

What is stated of one case and source holds jointly with the confidence asked for. Not refuting a proof proves nothing.
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
# How the risk is shared: by laws where there are any; of the rest by ε, by the edge, and by the curve (with δ and μ).
_OF_LAW: Final = 0.5
_OF_EPSILON, _OF_EDGE, _OF_CURVE = 0.6, 0.3, 0.1
_OF_INPUTS: Final[Mapping[Source, float]] = {"simulated": 1.0, "secure": 0.4}
"""Outputs of all inputs together, by those of a neighbor: fewer where they are drawn one by one."""

_Draws = tuple[OutputSampler, OutputSampler]


def check_confidence(confidence: float) -> None:
    """Raise ConfigurationError unless a confidence is in (0, 1).

    Examples:
        >>> check_confidence(0.99)
    """
    require(0 < confidence < 1, "confidence", confidence, "in (0, 1)")


def check_samples(samples: int, confidence: float) -> None:
    """Raise ConfigurationError where so few outputs allow no statement whatever they are."""
    min_samples = _least_samples(confidence)
    allowed = f"at least {min_samples}: with fewer no statement is possible at confidence {confidence:.12g}"
    refuse(samples < min_samples, "samples", samples, allowed)


def _least_samples(confidence: float) -> int:
    min_samples = samples_needed(math.inf, _OF_LAW * _OF_EPSILON * (1 - confidence))
    assert min_samples is not None  # noqa: S101  at ε = ∞ some number is enough
    return _with_choice(min_samples) + 1


def _with_choice(number: float) -> int:
    """Return how many outputs it takes for so many to decide."""
    return math.ceil(number / (1 - _SHARE_THAT_CHOOSES))


def audit(
    case: Case, *, samples: int, confidence: float, source: Source = "simulated", seed: int = 1
) -> AuditResult | None:
    """Bound a case's loss from below.

    Args:
        case: what is audited.
        samples: outputs of each neighbor; of the case's share of them a fifth choose, and the rest decide.
        confidence: with which all that is stated of this case and source holds, in (0, 1).
        source: whose randomness is audited.
        seed: of simulated outputs.

    Returns:
        What was found; None where this source draws nothing, neither a pair nor an input, and no pair has laws.

    Raises:
        ConfigurationError: the confidence is out of range, or the samples are too few for any statement.

    Privacy:
        A lower bound on ε of the case's unit and relation, against whoever sees the outputs.

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
    if source == "secure":  # from here on, a pair's draws are the source's
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
    """Return the inputs that this source draws, with what draws them."""
    draws = ((check, check.draw if source == "simulated" else check.secure) for check in checks)
    return [(check, draw) for check, draw in draws if draw is not None]


def _audit_outputs(
    case: Case, pairs_with_draws: Sequence[tuple[Pair, _Draws]], samples: int, streams: Streams, *, risk: float
) -> Evidence:
    """Choose by some outputs, draw others that the choice has not seen, and bound by them."""
    num_choosing = min(int(samples * _SHARE_THAT_CHOOSES), _MOST_THAT_CHOOSE)
    each = max(num_choosing // len(pairs_with_draws), 2)
    choosing_samples = [
        (pair, streams.all(first, each), streams.all(second, each)) for pair, (first, second) in pairs_with_draws
    ]
    edge = choose_edge(choosing_samples)
    if edge is not None and edge.bound > case.proven:  # what an edge tells of a pair, another pair would not decide
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
    """Return by what pairs are compared: the exact ε; if equal whether it is drawn, then how far it is told apart."""
    pair, laws = pair_and_losses
    # Rounded, so that pairs alike by symmetry are compared by the rest.
    return round(exact_epsilon(laws), 9), pair.draws is not None, exact_delta(laws, 0.0)


def _audit_laws(
    case: Case, pair: Pair, laws: FloatArray, samples: int, streams: Streams, *, risk: float
) -> tuple[Evidence, Sequence[Counts]]:
    """Audit by the exact laws; return also what was drawn of either neighbor, to be held against them."""
    event = choose_by_laws(pair, laws)
    if pair.draws is None:
        return Evidence(pair.name, event.name, Bounds(), laws), []
    counts = [Counts.of(f"{pair.name}, {side}", law, samples) for side, law in zip(("one", "other"), laws, strict=True)]
    num_choosing = min(int(samples * _SHARE_THAT_CHOOSES), _MOST_THAT_CHOOSE)
    # The law has chosen an event, by which all outputs are counted; the edge is decided by those that did not choose.
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
    """How many outputs of a neighbor are in the event with those of the curve, and how many in the edge."""

    def __init__(self, event: ChosenEvent, edge: Edge | None) -> None:
        self._chosen, self._edge = event, edge
        self.of_events: IntArray = np.zeros(1 + len(event.curve), dtype=np.int64)
        self.of_edge = 0

    def add(self, outputs: IntArray) -> None:
        """Count outputs by the event and the curve."""
        self.of_events += self._chosen.hits(outputs)

    def add_edge(self, outputs: IntArray) -> None:
        """Count outputs by the edge."""
        if self._edge is not None:
            self.of_edge += self._edge.hits(outputs)


def _count_chunks(chunks: Iterable[IntArray], counts: Counts) -> Iterator[IntArray]:
    """Yield outputs that have a law, and count them."""
    for outputs in chunks:
        if outputs.shape[1] != 1:
            raise ValueError("an output that has a law must be the number of one of its columns, or of none")
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
    """Return the bounds that hits of the first and of the second neighbor give, of the chosen event and of the edge.

    Of the outputs that were counted so many were not counted by the edge. The risk is of all bounds together.
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
        delta = float(delta_bounds(*counts, proven)[0])  # by the same intervals, so that both hold
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
    """Return what told most, as a phrase."""
    return edge.name if edge is not None and bounds.epsilon == bounds.by_edge else event.name
