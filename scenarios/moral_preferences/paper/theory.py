"""The paper's Theorems 2 and 4 as functions: what noise does to preferences.

Bounds of sensitivity stand in `psephos.protocol.moral_preferences.sensitivity`, the neighbors that attain them in the
audit's `witnesses`, proofs in the documentation (moral-preferences-proofs).

Source: sections 4.2 to 4.4 of the paper; readings M1 and M8.
"""

import math

import numpy as np
from scipy.special import gammaincinv

from ....protocol.arrays import FloatArray
from ....protocol.errors import refuse, require
from ....protocol.privacy import NeighboringRelation

__all__ = [
    "accuracy_of_directions",
    "deviation_in_norm",
    "exact_deviation",
    "probability_within",
    "sensitivity_in_norm",
    "utility_bound",
]


def utility_bound(failure: float, *, num_features: int, radius: float, epsilon: float, num_voters: int = 1) -> float:
    """Return α = 2B/(Nε)·ln(d/γ): with probability 1 − γ at least no coordinate is off by more.

    Args:
        failure: γ, in (0, 1).
        num_features: d ≥ 1.
        radius: B > 0.
        epsilon: ε > 0; for Algorithm 2 the voter's own.
        num_voters: N ≥ 1 for Algorithm 1, whose noise is added to the mean; 1 for Algorithm 2.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        Theorem 2 (Algorithm 1) and Theorem 4 (Algorithm 2).
    """
    _check_failure(failure)
    return _scale(num_features, radius, epsilon, num_voters) * math.log(num_features / failure)


def exact_deviation(failure: float, *, num_features: int, radius: float, epsilon: float, num_voters: int = 1) -> float:
    """Return the α that no coordinate exceeds with probability 1 − γ exactly, −2B/(Nε)·ln(1 − (1 − γ)^(1/d)).

    The union bound of `utility_bound` is above it, and has the probability (1 − γ/d)^d.

    Args:
        failure: γ, in (0, 1).
        num_features: d ≥ 1.
        radius: B > 0.
        epsilon: ε > 0.
        num_voters: N ≥ 1, see `utility_bound`.

    Raises:
        ValueError: a parameter is out of range.
    """
    _check_failure(failure)
    scale = _scale(num_features, radius, epsilon, num_voters)
    return -scale * math.log(-math.expm1(math.log1p(-failure) / num_features))


def sensitivity_in_norm(
    norm: float, *, radius: float, num_voters: int = 1, relation: NeighboringRelation = NeighboringRelation.REPLACE_ONE
) -> float:
    """Return how far one voter moves the mean of preference vectors at most, in the p-norm: exact for every p ≥ 1.

    A vector of the ℓ₁ ball has ‖β‖_p ≤ ‖β‖₁ ≤ B, and two opposite vertices are 2B apart in each p-norm: 2B/N where a
    voter, or a record, is replaced, or a record is added or removed; B/N where a voter is there or not, N being public.

    Args:
        norm: p in [1, ∞].
        radius: B > 0.
        num_voters: N ≥ 1 for Algorithm 1, 1 for Algorithm 2.
        relation: whether a voter is replaced, or is there or not.

    Raises:
        ConfigurationError: it is no norm.
        ValueError: a parameter is out of range.
    """
    require(norm >= 1, "norm", norm, "p ≥ 1, or inf: below 1 it is no norm")
    _check_positive(radius=radius, num_voters=num_voters)
    return (2 if relation is NeighboringRelation.REPLACE_ONE else 1) * radius / num_voters


def deviation_in_norm(
    failure: float, norm: float, *, num_features: int, radius: float, epsilon: float, num_voters: int = 1
) -> float:
    """Return the α that the error's p-norm exceeds with probability γ exactly, where that has a closed form.

    The sum of d Laplace draws' sizes has the Gamma law of shape d: for p = 1, α = 2B/(Nε)·P⁻¹(d, 1 − γ), with P the
    regularized incomplete Gamma function. For p = ∞ it is `exact_deviation`. In one dimension all norms are the same.

    Args:
        failure: γ, in (0, 1).
        norm: p: 1 or inf; any p ≥ 1 for a single feature.
        num_features: d ≥ 1.
        radius: B > 0.
        epsilon: ε > 0.
        num_voters: N ≥ 1, see `utility_bound`.

    Raises:
        ConfigurationError: there is no closed form for this norm.
        ValueError: a parameter is out of range.

    Source:
        Section 4.2, which calls other norms than ∞ difficult.
    """
    _check_failure(failure)
    scale = _scale(num_features, radius, epsilon, num_voters)
    if norm == math.inf or (num_features == 1 and norm >= 1):
        return exact_deviation(
            failure, num_features=num_features, radius=radius, epsilon=epsilon, num_voters=num_voters
        )
    refuse(norm != 1, "norm", norm, "1 or inf: the law of the error's other norms has no closed form")
    return scale * float(gammaincinv(num_features, 1 - failure))


def probability_within(deviation: float, *, num_features: int, scale: float) -> float:
    """Return (1 − e^(−α/scale))^d, the probability that d Laplace draws all are α at most.

    Args:
        deviation: α ≥ 0.
        num_features: d ≥ 1.
        scale: of the noise, > 0: 2B/(Nε) in Algorithm 1, 2B/ε in Algorithm 2.

    Raises:
        ValueError: a parameter is out of range.
    """
    if not deviation >= 0:
        raise ValueError(f"deviation must be >= 0, got {deviation}")
    _check_positive(num_features=num_features, scale=scale)
    return (-math.expm1(-deviation / scale)) ** num_features


def accuracy_of_directions(estimates: FloatArray, truth: FloatArray) -> FloatArray:
    """Return 1 − angle/π: how often two preferences choose alike between isotropic Gaussian pairs.

    The difference V of such a pair has a uniform direction, and β·V and β*·V differ in sign where V's part in the plane
    of the two falls into a double wedge of that angle. The angle is taken by its tangent's half, which is precise for
    small angles too.

    Args:
        estimates: float64, shape (m, d), none of them 0.
        truth: float64, shape (d,), not 0.

    Returns:
        float64, shape (m,), in [0, 1].

    Raises:
        ValueError: a vector is 0, or the shapes do not fit together.

    Source:
        Reading M1.
    """
    if estimates.ndim != 2 or truth.shape != estimates.shape[1:]:  # noqa: PLR2004  a table
        raise ValueError(f"expected shapes (m, d) and (d,), got {estimates.shape} and {truth.shape}")
    lengths = np.linalg.norm(estimates, axis=1)
    length = float(np.linalg.norm(truth))
    if not (length > 0 and np.all(lengths > 0)):
        raise ValueError("a vector of zeros has no direction")
    units, unit = estimates / lengths[:, None], truth / length
    angles = 2 * np.arctan2(np.linalg.norm(units - unit, axis=1), np.linalg.norm(units + unit, axis=1))
    return 1 - angles / math.pi


def _scale(num_features: int, radius: float, epsilon: float, num_voters: int) -> float:
    """Return 2B/(Nε)."""
    _check_positive(num_features=num_features, radius=radius, epsilon=epsilon, num_voters=num_voters)
    return 2 * radius / (num_voters * epsilon)


def _check_failure(failure: float) -> None:
    if not 0 < failure < 1:
        raise ValueError(f"failure must be in (0, 1), got {failure}")


def _check_positive(**parameters: float) -> None:
    for name, value in parameters.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value}")
