"""What an audit says: the bounds that it found, and whether they refute the claim or the proof.

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

TOLERANCE: Final = 1e-9  # what an exact ε may exceed the proven one by: laws are written in floats
_NUM_CORNERS: Final = 65


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one audit found.

    Args:
        group: the case's.
        name: the case's.
        source: whose randomness was audited; "law" where nothing was drawn.
        verdict: what it says.
        epsilon: the lower bound on ε, in nats; None where the outputs allow no statement.
        is_exact: whether it is the ε of these neighbors' laws, as they are written down, and no bound by outputs: it
            says nothing of a sampler.
        sampled_epsilon: the lower bound from outputs alone; None where they allow no statement.
        delta: a lower bound on δ at the proven ε, which is 0 where the proof holds.
        mu: a lower bound on Gaussian DP's μ.
        trade_off: points that the trade-off curve does not exceed: type I error, type II error.
        follows_law: whether the outputs of this source that were drawn of the inputs that were held against their laws
            followed them, as far as `unnoticed` says; None where nothing was.
        num_inputs: inputs that were held against their laws; 0 where nothing was drawn, or there is no law.
        outputs_held: of each of them, at least; 0 where there are none.
        unnoticed: the probability below which neighboring outcomes that are never drawn may go unnoticed; 1 where
            nothing was held against a law.
        departure: which inputs depart from their laws, and in what, as a phrase; empty where none does.
        pair: which neighbors told most, as a phrase; empty where inputs alone were drawn.
        event: what they were told apart by, as a phrase; empty likewise.
        samples: outputs that were drawn of each of those neighbors.
        needed: outputs of each neighbor below which no statement is to be had; None where no number is enough.
        confidence: with which all this holds at once.

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
    """Lower bounds by outputs; 0 where they allow no statement, or there are none."""

    epsilon: float = 0.0  # on ε, in nats
    by_edge: float = 0.0  # on ε, by the event at an edge alone
    delta: float = 0.0  # on δ at the proven ε
    mu: float = 0.0  # on Gaussian DP's μ
    trade_off: Sequence[tuple[float, float]] = ()  # points that the trade-off curve does not exceed
    samples: int = 0  # outputs of each neighbor


class Evidence(NamedTuple):
    """What was found of two neighbors, and what they were told apart by.

    Bounds are by outputs, laws, shape (2, outputs), exact; what outputs were held against is apart.
    """

    pair: str
    event: str
    bounds: Bounds
    laws: FloatArray | None = None
    held: LawFindings = NOTHING_HELD

    @property
    def follows_law(self) -> bool | None:
        """Whether outputs followed their laws; None where none was held against one."""
        return not self.held.departure if self.held.num_inputs else None


def judge(
    case: Case, evidence: Evidence, *, source: Source, needed_samples: int | None, confidence: float
) -> AuditResult:
    """Return what was found, with its verdict; see `AuditResult`."""
    bounds = evidence.bounds
    # A sampler of another law has another ε: then only what was drawn says anything.
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
    # Where inputs alone were held against their laws, nothing was to tell neighbors apart.
    if epsilon is None and case.proven > 0 and (evidence.bounds.samples or not evidence.follows_law):
        return AuditVerdict.NO_STATEMENT
    return AuditVerdict.CONSISTENT


def _corners(laws: FloatArray) -> list[tuple[float, float]]:
    """Return some corners of the exact curve: enough to draw it by."""
    corners = exact_trade_off(laws)
    places = np.unique(np.linspace(0, len(corners) - 1, _NUM_CORNERS).astype(np.int64))
    return [(float(error), float(miss)) for error, miss in corners[places]]
