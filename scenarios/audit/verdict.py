"""An audit's result: its bounds, and whether they refute the claim or the proof.

Not refuting a proof proves nothing.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray
from ..verdicts import AuditVerdict
from .bounds import exact_delta, exact_epsilon, exact_mu, exact_trade_off
from .case import Case, Source
from .following import NOTHING_HELD, LawFindings

TOLERANCE: Final = 1e-9  # rounding by which an exact ε may exceed the proven one
_NUM_CORNERS: Final = 65


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one audit.

    Args:
        group: the case's group.
        name: the case's name.
        source: the audited noise; "law" if nothing was drawn.
        verdict: the conclusion on claim and proof.
        epsilon: the lower bound on ε, in nats; None if the outputs allow no statement.
        is_exact: whether `epsilon` is the exact ε of the neighbors' laws, which says nothing about a sampler, instead
            of a bound from outputs.
        sampled_epsilon: the lower bound on ε from outputs alone, in nats; None if they allow no statement.
        delta: a lower bound on δ at the proven ε; a value above 0 contradicts the proof.
        mu: a lower bound on Gaussian DP's μ.
        trade_off: points (type I error, type II error) on or above the trade-off curve.
        follows_law: whether drawn outputs of the checked inputs follow their laws, up to `unnoticed`; None if none were
            tested.
        num_inputs: number of inputs tested against their laws; 0 without outputs or laws.
        outputs_held: least number of outputs of each tested input; 0 if there are none.
        unnoticed: the probability below which a missing run of outcomes may go unnoticed; 1 if nothing was tested.
        departure: the inputs that depart from their laws, and how, as a phrase; empty if none does.
        pair: the neighbors with the greatest bound, as a phrase; empty if only inputs were tested.
        event: the event that distinguished them, as a phrase; empty in the same case.
        samples: number of outputs drawn of each of those neighbors.
        needed: number of outputs of each neighbor below which no statement is possible; None if no number is enough.
        confidence: joint confidence of all bounds.

    Examples:
        >>> from psephos.scenarios.audit import Case, Pair, audit
        >>> pair = Pair("yes and no", laws=np.array([[0.75, 0.25], [0.25, 0.75]]))
        >>> case = Case(name="coin", group="mine", unit="answer", claimed=2.0, proven=2.0, pairs=lambda: [pair])
        >>> found = audit(case, samples=1_000, confidence=0.99)
        >>> found.is_exact, found.source, found.pair
        (True, 'law', 'yes and no')
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
    num_inputs: int
    outputs_held: int
    unnoticed: float
    departure: str
    pair: str
    event: str
    samples: int
    needed: int | None
    confidence: float


class Bounds(NamedTuple):
    """Lower bounds from outputs; 0 if there are none, or they allow no statement."""

    epsilon: float = 0.0  # bound on ε, in nats
    by_edge: float = 0.0  # bound on ε by the edge event, in nats
    delta: float = 0.0  # bound on δ at the proven ε
    mu: float = 0.0  # bound on Gaussian DP's μ
    trade_off: Sequence[tuple[float, float]] = ()  # points on or above the trade-off curve
    samples: int = 0  # number of outputs of each neighbor


class Evidence(NamedTuple):
    """The evidence on two neighbors: bounds from outputs, exact laws of shape (2, outputs), and tests against laws.

    It names the pair and the event that distinguished it.
    """

    pair: str
    event: str
    bounds: Bounds
    laws: FloatArray | None = None
    held: LawFindings = NOTHING_HELD

    @property
    def follows_law(self) -> bool | None:
        """Whether outputs followed their laws; None if none were tested."""
        return not self.held.departure if self.held.num_inputs else None


def judge(
    case: Case, evidence: Evidence, *, source: Source, needed_samples: int | None, confidence: float
) -> AuditResult:
    """Return the result, with its verdict. See `AuditResult`."""
    bounds = evidence.bounds
    # A sampler that departs from the law has another ε, so only its outputs count.
    laws = None if evidence.follows_law is False else evidence.laws
    sampled = bounds.epsilon if bounds.epsilon > 0 else None
    epsilon = sampled if laws is None else exact_epsilon(laws)
    return AuditResult(
        group=case.group,
        name=case.name,
        source=source if bounds.samples or evidence.held.num_inputs else "law",
        verdict=_verdict(case, evidence, epsilon),
        epsilon=epsilon,
        is_exact=laws is not None,
        sampled_epsilon=sampled,
        delta=bounds.delta if laws is None else exact_delta(laws, case.proven),
        mu=bounds.mu if laws is None else exact_mu(laws),
        trade_off=list(bounds.trade_off) if laws is None else _corners(laws),
        follows_law=evidence.follows_law,
        num_inputs=evidence.held.num_inputs,
        outputs_held=evidence.held.samples,
        unnoticed=evidence.held.unnoticed,
        departure=evidence.held.departure,
        pair=evidence.pair,
        event=evidence.event,
        samples=bounds.samples,
        needed=needed_samples,
        confidence=confidence,
    )


def _verdict(case: Case, evidence: Evidence, epsilon: float | None) -> AuditVerdict:
    greatest = max(epsilon or 0.0, evidence.bounds.epsilon)
    if evidence.follows_law is False or greatest > case.proven + TOLERANCE or evidence.bounds.delta > TOLERANCE:
        return AuditVerdict.PROOF_REFUTED
    if greatest > case.claimed + TOLERANCE:
        return AuditVerdict.CLAIM_REFUTED
    # If only inputs were tested against their laws, no neighbors were distinguished.
    if epsilon is None and case.proven > 0 and (evidence.bounds.samples or not evidence.follows_law):
        return AuditVerdict.NO_STATEMENT
    return AuditVerdict.CONSISTENT


def _corners(laws: FloatArray) -> list[tuple[float, float]]:
    """Return enough corners of the exact curve to draw it."""
    corners = exact_trade_off(laws)
    places = np.unique(np.linspace(0, len(corners) - 1, _NUM_CORNERS).astype(np.int64))
    return [(float(error), float(miss)) for error, miss in corners[places]]
