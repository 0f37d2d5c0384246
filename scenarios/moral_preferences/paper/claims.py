"""Findings on the paper's claims that exact laws decide; `claims.csv` says how trials decide the others.

`psephos audit papers` shows the former, `psephos reproduce` all of them.

Source: Wang et al. (2019), Sections 4 and 5; readings M2 to M7.
"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from ....protocol.mechanisms import PostProcessed
from ....protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from ....protocol.moral_preferences.coefficients import coefficients_of_records, split
from ....protocol.moral_preferences.parameters import MechanismName
from ....protocol.moral_preferences.sensitivity import printed_sensitivity, tight_sensitivity
from ....protocol.randomness import SimulatedNoise
from ...audit.bounds import lower_limits
from ...experiments.findings import BoundedFinding, make_finder
from ...experiments.measurements import mean_of
from ..audit.sessions import exposure_of_preferences
from ..audit.witnesses import search_sensitivity
from .societies import Kind, draw_society
from .trials import CellToMeasure, measure

_EPSILON: Final = 1.0
_FEATURES: Final = 10  # number of features d, by Section 5.1
_SEED: Final = 1
_QUANTILE: Final = 3.09  # the normal quantile of a one-sided risk of .001
_SOCIETIES: Final = 10
_VOTERS: Final = 50
_found: Final = make_finder(__name__, paper="Moral preferences: Wang et al. (2019)")


def findings_on_moral_preferences() -> Iterator[BoundedFinding]:
    """Yield the findings on the paper's claims, in its order."""
    yield _found("M17", _protocol(Paradigm.RLCP, "pooled").losses[0].finest_loss.proven)
    yield _laplace(Paradigm.VLCP, "M15")
    # The union bound sets d·e^(−α/scale) = γ = .05.
    yield _found("M18", (-math.expm1(-math.log(_FEATURES / 0.05))) ** _FEATURES)
    yield _laplace(Paradigm.VLDP, "M16")
    # The scaled records of a voter with equal ones, and what remains of them next to one much longer record. There are
    # 13, as in Section 5.2, the Moral Machine's n.
    records_before = np.full((13, _FEATURES), 1 / math.sqrt(_FEATURES))
    records_after = np.zeros_like(records_before)
    records_after[0] = -records_before[0]
    change = coefficients_of_records(records_before).sum(axis=0) - coefficients_of_records(records_after).sum(axis=0)
    yield _found("M4", _EPSILON * np.abs(change).sum() / printed_sensitivity(_FEATURES))
    largest_change, _ = search_sensitivity(_FEATURES, seed=_SEED, num_starts=16)
    yield _found("M6", tight_sensitivity(_FEATURES), printed_sensitivity(_FEATURES), change=largest_change)
    protocol = _protocol(Paradigm.RLDP, "functional", is_as_printed=True)
    yield _found("M19", protocol.losses[0].finest_loss.proven)
    # Noisy objectives that are unbounded in some direction.
    society = draw_society(Kind(), _SEED, range(_SOCIETIES), num_voters=_VOTERS)
    protocol = _protocol(Paradigm.RLDP, "functional", records=Kind().records, is_as_printed=True)
    rows, phase = protocol.summary.rows_of(society.records), protocol.phase
    assert isinstance(phase.mechanism, PostProcessed)  # noqa: S101  the maximum comes after the noise
    slots = phase.mechanism.slots_of(rows.shape[1])
    uniforms = SimulatedNoise(_SEED, session="paper").uniforms(
        protocol=protocol.name, phase=phase.name, start=0, stop=len(rows), slots=slots
    )
    noisy = phase.mechanism.noise.randomize_rows(rows, uniforms).astype(np.float64)
    _, quadratic = split(noisy, num_features=_FEATURES)
    hits = np.count_nonzero(np.linalg.eigvalsh(quadratic)[:, -1] > 0)
    yield _found("M3", lower_limits(np.array([hits]), len(rows), 0.001)[0])
    # A voter with all records replaced.
    observable, loss = exposure_of_preferences(protocol, (), num_sessions=1), protocol.losses[0]
    yield _found("M7", loss.finest_loss.proven, least=observable.losses.max(), charged=loss.proven)
    kind = Kind(records=100)
    base = CellToMeasure(society=kind, voters=_VOTERS)
    # the source that the baseline quotes has no bound
    unbound = CellToMeasure(society=kind, voters=_VOTERS, bound=1_000.0)
    private = CellToMeasure(society=kind, voters=_VOTERS, method="algorithm-3", epsilon=2.0)  # within "ε > 1"
    measurements = measure([base, unbound, private], seed=_SEED, start=0, stop=_SOCIETIES)
    fits, accuracy_kept = (
        mean_of(measurements[unbound]),
        mean_of(np.divide(measurements[private], np.mean(measurements[base]))),
    )
    yield _found("M2", fits.value - _QUANTILE * fits.standard_error, bound=100 * np.mean(measurements[base]))
    yield _found("M5", accuracy_kept.value + _QUANTILE * accuracy_kept.standard_error)


def _protocol(
    paradigm: Paradigm, mechanism: MechanismName, *, records: int = 1, is_as_printed: bool = False
) -> MoralPreferences:
    parameters = Parameters(
        features=tuple(f"x{number}" for number in range(1, _FEATURES + 1)),
        paradigm=paradigm,
        mechanism=mechanism,
        epsilon=_EPSILON,
        bound=2.0,
        max_records=records,
        sensitivity="printed" if is_as_printed else "tight",
        clipping="items" if is_as_printed else "difference",
    )
    return MoralPreferences(parameters)


def _laplace(paradigm: Paradigm, key: str) -> BoundedFinding:
    """Return a finding with the proven loss, and the loss between two voters with opposite single records."""
    protocol = _protocol(paradigm, "laplace")
    record = exposure_of_preferences(protocol, (), num_sessions=1).losses.max()
    return _found(key, protocol.losses[0].proven, record=record)
