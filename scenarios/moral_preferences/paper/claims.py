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
from ...experiments.findings import BoundedFinding, found_in
from ...experiments.measurements import mean_of
from ..audit.sessions import exposure_of_preferences
from ..audit.witnesses import search_sensitivity
from .societies import Kind, draw_society
from .trials import Cell, measure

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
    yield _found("M17", _loss(_protocol(Paradigm.RLCP, "pooled")).finest.proven)
    yield _laplace(Paradigm.VLCP, "M15")
    # The union bound has d·e^(−α/scale) = γ.
    yield _found("M18", (-math.expm1(-math.log(_FEATURES / _FAILURE))) ** _FEATURES)
    yield _laplace(Paradigm.VLDP, "M16")
    direction = np.full(_FEATURES, 1 / math.sqrt(_FEATURES))
    # The scaled ones of a voter with alike records, and what is left of them beside one that is much longer.
    before = np.tile(direction, (_DILEMMAS, 1))
    after = np.vstack([-direction, np.zeros((_DILEMMAS - 1, _FEATURES))])
    sums: list[FloatArray] = [coefficients_of_records(records).sum(axis=0) for records in (before, after)]
    change = float(np.abs(sums[0] - sums[1]).sum())
    yield _found("M4", _EPSILON * change / printed_sensitivity(_FEATURES))
    change, _ = search_sensitivity(_FEATURES, seed=_SEED, num_starts=16)
    yield _found("M6", tight_sensitivity(_FEATURES), printed_sensitivity(_FEATURES), change=change)
    yield _found("M19", _loss(_protocol(Paradigm.RLDP, "functional", printed=True)).finest.proven)
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
    yield _found("M3", lower_limits(np.array([hits]), len(rows), _RISK)[0])
    # A voter whose records are all replaced.
    observable, loss = exposure_of_preferences(protocol, (), num_sessions=1), _loss(protocol)
    yield _found("M7", loss.finest.proven, least=observable.losses.max(), charged=loss.proven)
    base = Cell(society=Kind(records=100), voters=_VOTERS)
    unbound = Cell(society=base.society, voters=_VOTERS, bound=_WIDE)
    private = Cell(society=base.society, voters=_VOTERS, method="algorithm-3", epsilon=_EPSILON_OF_RATIO)
    found = measure([base, unbound, private], seed=_SEED, start=0, stop=_SOCIETIES)
    fits, kept = mean_of(found[unbound]), mean_of(np.divide(found[private], np.mean(found[base])))
    yield _found("M2", fits.value - _QUANTILE * fits.standard_error, bound=100 * np.mean(found[base]))
    yield _found("M5", kept.value + _QUANTILE * kept.standard_error)


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
    record = exposure_of_preferences(protocol, (), num_sessions=1).losses.max()
    return _found(key, _loss(protocol).proven, record=record)
