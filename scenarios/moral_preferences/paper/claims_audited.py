"""The claims of the paper on moral preferences.

Source: Wang et al. (2019), Sections 4 and 5; readings M2 to M7.
"""

import functools
import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.mechanisms import PostProcessed
from ....protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from ....protocol.moral_preferences.coefficients import coefficients_of_records, split
from ....protocol.moral_preferences.parameters import MechanismName
from ....protocol.moral_preferences.sensitivity import printed_sensitivity, tight_sensitivity
from ....protocol.privacy import PrivacyLoss
from ....protocol.randomness import SimulatedNoise
from ...audit.bounds import lower_limits
from ...experiments.findings import BoundedFinding, Certainty
from ..audit.sessions import exposure_of_preferences
from ..audit.witnesses import search_sensitivity
from .published import BASELINES, HIGH_RATIO
from .societies import SYNTHETIC, Setting, draw_society
from .theory import probability_within, utility_bound
from .trials import Cell, measure

__all__ = ["findings_on_moral_preferences"]

_AUDIT: Final = "psephos audit moral-preferences"
_REPRODUCE: Final = "psephos reproduce moral-preferences"
_EPSILON: Final = 1.0
_FEATURES: Final = 10
"""Section 5.1: d."""
_RECORDS: Final = 50
"""Section 5.1: n."""
_DILEMMAS: Final = 13
"""Section 5.2: n of the Moral Machine."""
_BOUND: Final = 2.0
_FAILURE: Final = 0.05
_SEED: Final = 1
_RISK: Final = 0.001
# The normal quantile of that risk, on one side.
_QUANTILE: Final = 3.09
_SOCIETIES: Final = 10
_VOTERS: Final = 50
# Inside of "ε > 1".
_EPSILON_OF_RATIO: Final = 2.0
_found: Final = functools.partial(BoundedFinding, paper="Moral preferences: Wang et al. (2019)")


def findings_on_moral_preferences() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    yield _central_functional()
    yield _laplace(Paradigm.VLCP, "M15", "Algorithm 1 is ε-DP for VLCP and RLCP (Theorem 1)")
    yield _utility()
    yield _laplace(Paradigm.VLDP, "M16", "Algorithm 2 is ε-DP for VLDP and RLDP (Theorem 3)")
    yield _preprocessing()
    yield _sensitivity()
    yield _functional()
    yield _maximum()
    yield _units()
    yield from _accuracies()


def _protocol(
    paradigm: Paradigm, mechanism: MechanismName, *, records: int = 1, printed: bool = False
) -> MoralPreferences:
    return MoralPreferences(
        Parameters(
            features=tuple(f"x{place}" for place in range(1, _FEATURES + 1)),
            paradigm=paradigm,
            mechanism=mechanism,
            epsilon=_EPSILON,
            bound=_BOUND,
            max_records=records,
            sensitivity="printed" if printed else "tight",
            clipping="items" if printed else "difference",
        )
    )


def _loss(protocol: MoralPreferences) -> PrivacyLoss:
    (loss,) = protocol.losses
    return loss


def _laplace(paradigm: Paradigm, key: str, claim: str) -> BoundedFinding:
    """Return the proven loss, and that of voters whose one record points one way or the other."""
    protocol = _protocol(paradigm, "laplace")
    exposure = exposure_of_preferences(protocol, (), num_sessions=1)
    return _found(
        key=key,
        claim=claim,
        quantity="loss of a voter, and of a single record, at ε = 1",
        claimed=_EPSILON,
        found=_loss(protocol).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note=f"The proof gives the same bound. One record can move β from end to end of the ball, and loses "
        f"{exposure.losses.max():.6f}.",
    )


def _central_functional() -> BoundedFinding:
    loss = _loss(_protocol(Paradigm.RLCP, "pooled"))
    return _found(
        key="M17",
        claim="The functional mechanism cannot be used with centralized perturbation (Section 4.1)",
        quantity="loss of a record at ε = 1, all voters' coefficients added up under one noise",
        claimed=math.inf,
        bound="=",
        found=loss.finest.proven,
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        note="It can: the coefficients of all voters add up, and one noise on the sum protects them.",
        compared="no protection",
    )


def _utility() -> BoundedFinding:
    deviation = utility_bound(_FAILURE, num_features=_FEATURES, radius=_BOUND, epsilon=_EPSILON)
    return _found(
        key="M18",
        claim="With probability 1 - γ, noise moves no coordinate by more than α (Theorems 2 and 4)",
        quantity=f"that probability for γ = {_FAILURE:g} and {_FEATURES} features",
        claimed=1 - _FAILURE,
        bound="≥",
        found=probability_within(deviation, num_features=_FEATURES, scale=2 * _BOUND / _EPSILON),
        note="The probability is slightly higher than claimed.",
    )


def _preprocessing() -> BoundedFinding:
    """Return the loss if records are scaled by the longest of them: one very long record makes all others vanish."""
    direction = np.full(_FEATURES, 1 / math.sqrt(_FEATURES))
    # The scaled ones of a voter with alike records, and what is left of them beside one that is much longer.
    before = np.tile(direction, (_DILEMMAS, 1))
    after = np.vstack([-direction, np.zeros((_DILEMMAS - 1, _FEATURES))])
    sums: list[FloatArray] = [coefficients_of_records(records).sum(axis=0) for records in (before, after)]
    change = float(np.abs(sums[0] - sums[1]).sum())
    return _found(
        key="M4",
        claim="Data are scaled to norms of at most 1/2 (Section 4.4; how is not said)",
        quantity=f"loss of one of {_DILEMMAS} records at ε = 1, all scaled by the largest norm among them",
        claimed=_EPSILON,
        found=_EPSILON * change / printed_sensitivity(_FEATURES),
        certainty=Certainty.FOUND,
        only="if each item is clipped by itself",
        note="If the data's own largest norm sets the scale, one long record changes all others.",
    )


def _sensitivity() -> BoundedFinding:
    change, _ = search_sensitivity(_FEATURES, seed=_SEED, num_starts=16)
    return _found(
        key="M6",
        claim="One record changes the coefficients by at most Δ = 2(√(2d/π) + d/π) (Section 4.4)",
        quantity=f"largest change in the ℓ₁ norm, d = {_FEATURES} features",
        claimed=printed_sensitivity(_FEATURES),
        found=tight_sensitivity(_FEATURES),
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        note=f"Less noise would do, since a smaller bound is proven. A search finds a change of {change:.2f}.",
    )


def _functional() -> BoundedFinding:
    loss = _loss(_protocol(Paradigm.RLDP, "functional", printed=True))
    return _found(
        key="M19",
        claim="Algorithm 3 is ε-DP for RLDP (Theorem 5)",
        quantity=f"loss of a record at ε = 1, {_FEATURES} features, each item clipped by itself",
        claimed=_EPSILON,
        found=loss.finest.proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="It loses less than claimed, since the printed noise is larger than needed.",
    )


def _maximum() -> BoundedFinding:
    """Count the noisy objectives that rise in some direction without end."""
    protocol = _protocol(Paradigm.RLDP, "functional", records=_RECORDS, printed=True)
    society = draw_society(
        Setting(records=_RECORDS, features=_FEATURES), num_voters=_VOTERS, seed=_SEED, start=0, stop=_SOCIETIES
    )
    rows = protocol.summary.rows_of(society.records)
    phase = protocol.phase
    assert isinstance(phase.mechanism, PostProcessed)  # noqa: S101  the maximum comes after the noise
    noise = SimulatedNoise(_SEED, session="paper")
    uniforms = noise.uniforms(
        protocol=protocol.name, phase=phase.name, start=0, stop=len(rows), slots=phase.mechanism.slots_of(rows.shape[1])
    )
    noisy = phase.mechanism.noise.randomize_rows(rows, uniforms).astype(np.float64)
    _, quadratic = split(noisy, num_features=_FEATURES)
    hits = np.count_nonzero(np.linalg.eigvalsh(quadratic)[:, -1] > 0)
    return _found(
        key="M3",
        claim="Algorithm 3 returns the point where the noisy objective is largest (line 10)",
        quantity=f"share of voters whose objective has no maximum, ε = 1, {_RECORDS} records, {_FEATURES} features",
        claimed=0.0,
        found=float(lower_limits(np.array([hits]), len(rows), _RISK)[0]),
        certainty=Certainty.SAMPLED,
        note="Hardly any voter has such a point: noise makes the quadratic indefinite, and it grows without end.",
    )


def _units() -> BoundedFinding:
    """Return the loss of a voter whose records are all replaced, in the coefficients that Algorithm 3 perturbs."""
    protocol = _protocol(Paradigm.RLDP, "functional", records=_RECORDS, printed=True)
    exposure = exposure_of_preferences(protocol, (), num_sessions=1)
    return _found(
        key="M7",
        claim="Figure 4 compares Algorithms 1, 2 and 3 at equal ε",
        quantity=f"loss of a voter with {_RECORDS} records by Algorithm 3 at ε = 1",
        claimed=_EPSILON,
        found=float(exposure.losses.max()),
        certainty=Certainty.FOUND,
        command=_AUDIT,
        only="for a voter with one record",
        note="The ε of Algorithms 1 and 2 protects a voter, that of Algorithm 3 only one record. The ledger charges "
        f"such a voter {_loss(protocol).proven:.1f}.",
    )


def _accuracies() -> Iterator[BoundedFinding]:
    setting = Setting(records=100, features=_FEATURES)
    base = Cell(setting=setting, voters=_VOTERS, method="algorithm-1", epsilon=math.inf)
    private = Cell(setting=setting, voters=_VOTERS, method="algorithm-3", epsilon=_EPSILON_OF_RATIO)
    found = measure([base, private], seed=_SEED, start=0, stop=_SOCIETIES)
    yield _found(
        key="M2",
        claim="Without noise the accuracy is 92.4 % (Section 5.3; 50 voters with 100 records each)",
        quantity=f"accuracy of the mean of all voters' fits, over {_SOCIETIES} societies",
        claimed=BASELINES[SYNTHETIC],
        bound="=",
        found=_interval(found[base].accuracies)[0],
        certainty=Certainty.SAMPLED,
        command=_REPRODUCE,
        tolerance=0.01,
        note="The mean over a society is more accurate. A single voter's own fit comes near the paper's number: it has "
        f"{100 * np.mean(found[base].own):.1f} %.",
    )
    ratio = np.array(found[private].accuracies) / np.mean(found[base].accuracies)
    yield _found(
        key="M5",
        claim="For ε > 1 Algorithm 3 keeps more than 90 % of the accuracy without noise (Section 5.3)",
        quantity=f"share of the accuracy that is kept at ε = {_EPSILON_OF_RATIO:g}, over {_SOCIETIES} societies",
        claimed=HIGH_RATIO[1],
        bound="≥",
        found=_interval(ratio.tolist())[1],
        certainty=Certainty.SAMPLED,
        command=_REPRODUCE,
        note="It keeps less. Preprocessing that does not leak leaves little signal under this noise.",
    )


def _interval(values: list[float]) -> tuple[float, float]:
    """Return the ends of a confidence interval of a mean, by the normal law."""
    error = _QUANTILE * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    mean = float(np.mean(values))
    return mean - error, mean + error
