"""One audit: choose a pair of neighbors and an event by some outputs, then bound the loss by others.

A fifth of the outputs chooses: for each pair and each score (the pair's own, and those that are learned), the events
"the score is at least t" and "at most t" whose bound would be the greatest. The rest is drawn for the chosen pair
alone and decides: since the choice has not seen it, one event costs no correction for all that were tried.

Where the laws are known, ε is exact and nothing is chosen; outputs that are drawn are then held against the laws, so
that a sampler of another law is found out.

What is stated of one case and source holds jointly with the confidence asked for. Not refuting a proof proves nothing.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError
from .bounds import (
    delta_bounds,
    departs,
    epsilon_bounds,
    exact_delta,
    exact_epsilon,
    lower_limits,
    mu_bounds,
    samples_needed,
    upper_limits,
)
from .case import NO_PLACE, Case, OutputSampler, Pair, Source
from .choosing import ChosenEvent, choose_by_laws, choose_by_outputs
from .verdict import Audited, Bounds, Evidence, judge

__all__ = ["audit", "check_confidence", "check_samples"]

_CHUNK: Final = 1 << 16
_SHARE_THAT_CHOOSES: Final = 0.2
_MOST_THAT_CHOOSE: Final = 1 << 18
# How the risk is shared: by ε, by the curve (with δ and μ), and by the comparison with a law where there is one.
_OF_EPSILON, _OF_CURVE = 0.9, 0.1
_OF_LAW: Final = 0.5
_MOST_BINS: Final = 512
_LEAST_EXPECTED: Final = 5
_LOW_BITS: Final = (2, 8)
_FIRST_STREAM: Final = 1 << 40


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
    return _with_choice(least) + 1


def _with_choice(number: float) -> int:
    """Return how many outputs it takes for so many to decide."""
    return math.ceil(number / (1 - _SHARE_THAT_CHOOSES))


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
    pairs = case.pairs()
    if source == "secure":  # from here on, a pair's draws are the source's
        able = (pair for pair in pairs if pair.laws is not None or pair.secure is not None)
        pairs = [dataclasses.replace(pair, draws=pair.secure) for pair in able]
    finite = [(pair, pair.laws) for pair in pairs if pair.laws is not None]
    drawn = [(pair, pair.draws) for pair in pairs if pair.draws is not None]
    streams = _Streams(seed)
    if finite:
        pair, laws = max(finite, key=_rank)
        found = _audit_laws(case, pair, laws, samples, streams, risk=risk)
    elif drawn:
        found = _audit_outputs(case, drawn, samples, streams, risk=risk)
    else:
        return None
    least = samples_needed(case.proven, risk * _OF_EPSILON)
    needed = None if least is None else _with_choice(least)
    return judge(case, found, source=source, needed=needed, confidence=1 - risk)


class _Streams:
    """Numbers of streams, each given out once."""

    def __init__(self, seed: int) -> None:
        self._next = seed * _FIRST_STREAM

    def chunks(self, draw: OutputSampler, number: int) -> Iterator[IntArray]:
        """Yield so many outputs, some at a time, each time from a stream of their own.

        Raises:
            ValueError: as many rows as asked for were not drawn.
        """
        for start in range(0, number, _CHUNK):
            size = min(_CHUNK, number - start)
            self._next += 1
            outputs = draw(size, self._next)
            if outputs.ndim != 2 or len(outputs) != size:  # noqa: PLR2004  a table
                raise ValueError(f"expected outputs of shape ({size}, width), got {outputs.shape}")
            yield outputs

    def all(self, draw: OutputSampler, number: int) -> IntArray:
        """Return so many outputs. See `chunks`."""
        return np.concatenate(list(self.chunks(draw, number)))


def _audit_outputs(
    case: Case,
    drawn: Sequence[tuple[Pair, tuple[OutputSampler, OutputSampler]]],
    samples: int,
    streams: _Streams,
    *,
    risk: float,
) -> Evidence:
    """Choose by some outputs, draw others that the choice has not seen, and bound by them."""
    choosing = min(int(samples * _SHARE_THAT_CHOOSES), _MOST_THAT_CHOOSE)
    each = max(choosing // len(drawn), 2)
    shown = ((pair, streams.all(first, each), streams.all(second, each)) for pair, (first, second) in drawn)
    chosen = choose_by_outputs(shown, risk=risk * _OF_EPSILON, proven=case.proven)
    draws = chosen.pair.draws
    assert draws is not None  # noqa: S101  only what can be drawn is chosen
    number = samples - choosing
    hits = [_hits(chosen, streams.chunks(draw, number)) for draw in draws]
    bounds = _bounds_of(chosen, hits, number, risk=risk, proven=case.proven)._replace(samples=samples)
    return Evidence(chosen.pair.name, chosen.name, bounds)


def _rank(known: tuple[Pair, FloatArray]) -> tuple[float, bool, float]:
    """Return by what pairs are compared: the exact ε; if equal whether it is drawn, then how far it is told apart."""
    pair, laws = known
    # Rounded, so that pairs alike by symmetry are compared by the rest.
    return round(exact_epsilon(laws), 9), pair.draws is not None, exact_delta(laws, 0.0)


def _audit_laws(case: Case, pair: Pair, laws: FloatArray, samples: int, streams: _Streams, *, risk: float) -> Evidence:
    """Audit by the exact laws, and hold what is drawn against them."""
    chosen = choose_by_laws(pair, laws)
    if pair.draws is None:
        return Evidence(pair.name, chosen.name, Bounds(), laws)
    counts = [np.zeros(len(law) + 1, dtype=np.int64) for law in laws]
    hits = [
        _hits(chosen, _counting(streams.chunks(draw, samples), own))
        for draw, own in zip(pair.draws, counts, strict=True)
    ]
    each = risk * _OF_LAW / len(laws)
    follows = not any(_departs(own, law, samples, each) for own, law in zip(counts, laws, strict=True))
    bounds = _bounds_of(chosen, hits, samples, risk=risk * (1 - _OF_LAW), proven=case.proven)
    return Evidence(pair.name, chosen.name, bounds, laws, follows_law=follows)


def _hits(chosen: ChosenEvent, drawn: Iterable[IntArray]) -> IntArray:
    """Return how many outputs of a neighbor are in the event, and in each one of the curve."""
    hits = np.zeros(1 + len(chosen.curve), dtype=np.int64)
    for outputs in drawn:
        hits += chosen.hits(outputs)
    return hits


def _counting(drawn: Iterable[IntArray], counts: IntArray) -> Iterator[IntArray]:
    """Yield outputs that have a law, and add up how often each was drawn: last `NO_PLACE`.

    Raises:
        ValueError: an output is not what such an output must be.
    """
    for outputs in drawn:
        if outputs.shape[1] != 1 or not NO_PLACE <= int(outputs.min()) <= int(outputs.max()) < len(counts) - 1:
            raise ValueError("an output that has a law must be the number of one of its columns, or of none")
        counts += np.bincount(outputs[:, 0] % len(counts), minlength=len(counts))
        yield outputs


def _bounds_of(chosen: ChosenEvent, hits: Sequence[IntArray], number: int, *, risk: float, proven: float) -> Bounds:
    """Return the bounds that hits among so many outputs of the first and of the second neighbor give."""
    likely, unlikely = hits if chosen.event.is_above else hits[::-1]
    epsilon = float(epsilon_bounds(likely[:1], unlikely[:1], number, risk * _OF_EPSILON)[0])
    if not chosen.curve:
        return Bounds(epsilon, samples=number)
    first, second = hits[0][1:], hits[1][1:]
    each = risk * _OF_CURVE / len(first)
    delta = float(delta_bounds(first, second, number, each, proven).max())
    mu = max(0.0, float(mu_bounds(first, second, number, each).max()))
    errors, misses = upper_limits(second, number, each / 2), 1 - lower_limits(first, number, each / 2)
    curve = [(float(error), float(miss)) for error, miss in zip(errors, misses, strict=True)]
    return Bounds(epsilon, delta, mu, sorted(curve), number)


def _departs(counts: IntArray, law: FloatArray, number: int, risk: float) -> bool:
    """Return whether outputs of one neighbor do not follow its law.

    Neighboring outputs that are too rare are counted together; then their low bits are counted too.

    Args:
        counts: of each output, and last of those that are none, shape (outputs + 1,).
        law: shape (outputs,).
        number: of outputs that were drawn.
        risk: that outputs of this law depart from it.
    """
    law = np.append(law, 0.0)
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
