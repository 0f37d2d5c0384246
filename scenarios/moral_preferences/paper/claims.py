"""What laws say of the paper's claims, here and now; what trials say of the others, `claims.csv` has by rows.

`psephos audit papers` shows these, `psephos reproduce` all of them.

Source: Wang et al. (2019), Sections 4 and 5; readings M2 to M7.
"""

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
from ...experiments.findings import BoundedFinding, Certainty, found_in
from ...experiments.measurements import mean_of
from ..audit.sessions import exposure_of_preferences
from ..audit.witnesses import search_sensitivity
from .societies import Kind, draw_society
from .trials import Cell, measure

_AUDIT: Final = "psephos audit moral-preferences"
_REPRODUCE: Final = "psephos reproduce moral-preferences"
_EPSILON: Final = 1.0
_FEATURES: Final = 10  # Section 5.1: d
_RECORDS: Final = 50  # Section 5.1: n
_DILEMMAS: Final = 13  # Section 5.2: n of the Moral Machine
_BOUND: Final = 2.0
_WIDE: Final = 1_000.0  # of what the paper's baseline quotes, which has no bound
_FAILURE: Final = 0.05
_SEED: Final = 1
_RISK: Final = 0.001
# The normal quantile of that risk, on one side.
_QUANTILE: Final = 3.09
_SOCIETIES: Final = 10
_VOTERS: Final = 50
# Inside of "ε > 1".
_EPSILON_OF_RATIO: Final = 2.0
_found: Final = found_in(__name__, paper="Moral preferences: Wang et al. (2019)")


def findings_on_moral_preferences() -> Iterator[BoundedFinding]:
    """Yield the paper's claims in its order, with what was found."""
    loss = _loss(_protocol(Paradigm.RLCP, "pooled"))
    yield _found(
        key="M17",
        quantity="loss of a record at ε = 1, all voters' coefficients added up under one noise",
        claimed=math.inf,
        bound="=",
        found=loss.finest.proven,
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        only="for the average of the voters' parameters, which is no optimum of an objective, as the paper says",
        note="The coefficients of all voters add up, and one noise on the sum protects them: this estimates another "
        "parameter, that of all records together.",
        compared="if it cannot",
    )
    yield _laplace(Paradigm.VLCP, "M15")
    # The union bound has d·e^(−α/scale) = γ.
    in_scales = math.log(_FEATURES / _FAILURE)
    yield _found(
        key="M18",
        quantity=f"that probability for γ = {_FAILURE:g} and {_FEATURES} features",
        claimed=1 - _FAILURE,
        bound="≥",
        found=(-math.expm1(-in_scales)) ** _FEATURES,
        note="The probability is slightly higher than claimed.",
    )
    yield _laplace(Paradigm.VLDP, "M16")
    direction = np.full(_FEATURES, 1 / math.sqrt(_FEATURES))
    # The scaled ones of a voter with alike records, and what is left of them beside one that is much longer.
    before = np.tile(direction, (_DILEMMAS, 1))
    after = np.vstack([-direction, np.zeros((_DILEMMAS - 1, _FEATURES))])
    sums: list[FloatArray] = [coefficients_of_records(records).sum(axis=0) for records in (before, after)]
    change = float(np.abs(sums[0] - sums[1]).sum())
    yield _found(
        key="M4",
        quantity=f"loss of one of {_DILEMMAS} records at ε = 1, all scaled by the largest norm among them",
        claimed=_EPSILON,
        found=_EPSILON * change / printed_sensitivity(_FEATURES),
        certainty=Certainty.FOUND,
        only="if each item is clipped by itself",
        note="If the data's own largest norm sets the scale, one long record changes all others.",
    )
    change, _ = search_sensitivity(_FEATURES, seed=_SEED, num_starts=16)
    yield _found(
        key="M6",
        quantity=f"largest change in the ℓ₁ norm, d = {_FEATURES} features",
        claimed=printed_sensitivity(_FEATURES),
        found=tight_sensitivity(_FEATURES),
        certainty=Certainty.PROVEN,
        command=_REPRODUCE,
        note=f"Less noise would do, since a smaller bound is proven. A search finds a change of {change:.2f}.",
    )
    loss = _loss(_protocol(Paradigm.RLDP, "functional", printed=True))
    yield _found(
        key="M19",
        quantity=f"loss of a record at ε = 1, {_FEATURES} features, each item clipped by itself",
        claimed=_EPSILON,
        found=loss.finest.proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="It loses less than claimed, since the printed noise is larger than needed.",
    )
    # Noisy objectives that rise in some direction without end.
    protocol = _protocol(Paradigm.RLDP, "functional", records=_RECORDS, printed=True)
    society = draw_society(Kind(records=_RECORDS), _SEED, range(_SOCIETIES), num_voters=_VOTERS)
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
    yield _found(
        key="M3",
        quantity=f"share of voters whose objective has no maximum, ε = 1, {_RECORDS} records, {_FEATURES} features",
        claimed=0.0,
        found=float(lower_limits(np.array([hits]), len(rows), _RISK)[0]),
        certainty=Certainty.SAMPLED,
        note="Hardly any voter has such a point: noise makes the quadratic indefinite, and it grows without end.",
    )
    # A voter whose records are all replaced.
    exposure = exposure_of_preferences(protocol, (), num_sessions=1)
    yield _found(
        key="M7",
        quantity=f"loss of one of a voter's {_RECORDS} records by Algorithm 3 at ε = 1",
        claimed=_EPSILON,
        found=_loss(protocol).finest.proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note="It holds of records. But the ε of Algorithms 1 and 2 protects a voter, too: by Algorithm 3 such a voter "
        f"loses {exposure.losses.max():.1f} at least, and is charged {_loss(protocol).proven:.1f}.",
    )
    base = Cell(society=Kind(records=100), voters=_VOTERS)
    unbound = Cell(society=base.society, voters=_VOTERS, bound=_WIDE)
    private = Cell(society=base.society, voters=_VOTERS, method="algorithm-3", epsilon=_EPSILON_OF_RATIO)
    found = measure([base, unbound, private], seed=_SEED, start=0, stop=_SOCIETIES)
    fits, kept = mean_of(found[unbound]), mean_of(np.divide(found[private], np.mean(found[base])))
    yield _found(
        key="M2",
        quantity=f"accuracy of the mean of all voters' fits with B = {_WIDE:,g}, over {_SOCIETIES} societies",
        claimed=0.924,
        bound="=",
        found=fits.value - _QUANTILE * fits.standard_error,
        certainty=Certainty.SAMPLED,
        command=_REPRODUCE,
        note=f"With B = {_BOUND:g} it is {100 * np.mean(found[base]):.1f} %.",
        undecided="The method that the paper quotes has no bound B, and the accuracy depends on it.",
    )
    yield _found(
        key="M5",
        quantity=f"share of the accuracy that 3 keeps at ε = {_EPSILON_OF_RATIO:g}, over {_SOCIETIES} societies",
        claimed=0.9,
        bound="≥",
        found=kept.value + _QUANTILE * kept.standard_error,
        certainty=Certainty.SAMPLED,
        command=_REPRODUCE,
        only="from a larger ε on",
        note="Preprocessing that does not leak leaves little signal under this noise.",
    )


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


def _laplace(paradigm: Paradigm, key: str) -> BoundedFinding:
    """Return the proven loss, and that of voters whose one record points one way or the other."""
    protocol = _protocol(paradigm, "laplace")
    exposure = exposure_of_preferences(protocol, (), num_sessions=1)
    return _found(
        key=key,
        quantity="loss of a voter, and of a single record, at ε = 1",
        claimed=_EPSILON,
        found=_loss(protocol).proven,
        certainty=Certainty.PROVEN,
        command=_AUDIT,
        note=f"The proof gives the same bound. One record can move β from end to end of the ball, and loses "
        f"{exposure.losses.max():.6f}.",
    )
