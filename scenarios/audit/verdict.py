"""What an audit says: the bounds that it found, and whether they refute the claim or the proof.

Not refuting a proof proves nothing.
"""

import enum
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray
from .bounds import exact_delta, exact_epsilon, exact_mu, exact_trade_off
from .case import Case, Source

__all__ = ["TOLERANCE", "AuditVerdict", "Audited", "Bounds", "Evidence", "judge"]

TOLERANCE: Final = 1e-9
"""What an exact ε may exceed the proven one by: laws are written in floats."""
_NUM_CORNERS: Final = 65


class AuditVerdict(enum.StrEnum):
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
    verdict: AuditVerdict
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


class Bounds(NamedTuple):
    """Lower bounds by outputs; 0 where they allow no statement, or there are none.

    Args:
        epsilon: on ε, in nats.
        delta: on δ at the proven ε.
        mu: on Gaussian DP's μ.
        trade_off: points that the trade-off curve does not exceed.
        samples: outputs of each neighbor.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    mu: float = 0.0
    trade_off: Sequence[tuple[float, float]] = ()
    samples: int = 0


class Evidence(NamedTuple):
    """What was found of two neighbors.

    Args:
        pair: which they are, as a phrase.
        event: what they were told apart by, as a phrase.
        bounds: by outputs.
        laws: their exact laws, shape (2, outputs); None where there are none.
        follows_law: whether outputs followed them; None where there are none, or nothing was drawn.
    """

    pair: str
    event: str
    bounds: Bounds
    laws: FloatArray | None = None
    follows_law: bool | None = None


def judge(case: Case, found: Evidence, *, source: Source, needed: int | None, confidence: float) -> Audited:
    """Return what was found, with its verdict.

    Args:
        case: what was audited.
        found: what was found.
        source: whose randomness was audited.
        needed: see `Audited`.
        confidence: see `Audited`.
    """
    bounds = found.bounds
    # A sampler of another law has another ε: then only what was drawn says anything.
    laws = None if found.follows_law is False else found.laws
    sampled = bounds.epsilon if bounds.epsilon > 0 else None
    epsilon = sampled if laws is None else exact_epsilon(laws)
    return Audited(
        group=case.group,
        name=case.name,
        source=source if bounds.samples else "law",
        verdict=_verdict(case, found, epsilon),
        epsilon=epsilon,
        is_exact=laws is not None,
        sampled_epsilon=sampled,
        delta=bounds.delta if laws is None else exact_delta(laws, case.proven),
        mu=bounds.mu if laws is None else exact_mu(laws),
        trade_off=list(bounds.trade_off) if laws is None else _corners(laws),
        follows_law=found.follows_law,
        pair=found.pair,
        event=found.event,
        samples=bounds.samples,
        needed=needed,
        confidence=confidence,
    )


def _verdict(case: Case, found: Evidence, epsilon: float | None) -> AuditVerdict:
    greatest = max(epsilon or 0.0, found.bounds.epsilon)
    if found.follows_law is False or greatest > case.proven + TOLERANCE or found.bounds.delta > TOLERANCE:
        return AuditVerdict.PROOF_REFUTED
    if greatest > case.claimed + TOLERANCE:
        return AuditVerdict.CLAIM_REFUTED
    if epsilon is None and case.proven > 0:
        return AuditVerdict.NO_STATEMENT
    return AuditVerdict.CONSISTENT


def _corners(laws: FloatArray) -> list[tuple[float, float]]:
    """Return some corners of the exact curve: enough to draw it by."""
    corners = exact_trade_off(laws)
    places = np.unique(np.linspace(0, len(corners) - 1, _NUM_CORNERS).astype(np.int64))
    return [(float(error), float(miss)) for error, miss in corners[places]]
