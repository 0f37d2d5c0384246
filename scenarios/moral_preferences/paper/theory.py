"""The paper's Theorems 1 to 5 as functions: what noise does to preferences, and searches that stay below each bound.

A search finds a change that one record can make; it proves no bound, but no valid bound lies below it. Bounds stand in
`psephos.protocol.moral_preferences.sensitivity`, proofs in the documentation (moral-preferences-proofs).

Source: sections 4.2 to 4.4 of the paper; readings M1, M6 and M8.
"""

import math

import numpy as np
from scipy.special import gammaincinv

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.estimators.l1_ball import fit_probit
from ....protocol.moral_preferences.coefficients import coefficients_of_records, unit_directions
from ....protocol.privacy import NeighboringRelation

__all__ = [
    "accuracy_of_directions",
    "deviation_in_norm",
    "deviation_of_directions",
    "exact_deviation",
    "probability_within",
    "probability_within_steps",
    "removal_witness",
    "search_direction_change",
    "search_preference_change",
    "search_sensitivity",
    "sensitivity_in_norm",
    "sensitivity_witness",
    "utility_bound",
]

_LINEAR = math.sqrt(2 / math.pi)
_QUADRATIC = 1 / math.pi
_ASCENTS = 300
# The other records of the witness together weigh a tenth of the one that is replaced.
_WEIGHT_OF_OTHERS = 0.1


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
    if not norm >= 1:
        raise ConfigurationError(field="norm", value=norm, allowed="p ≥ 1, or inf: below 1 it is no norm")
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
    if norm != 1:
        allowed = "1 or inf: the law of the error's other norms has no closed form"
        raise ConfigurationError(field="norm", value=norm, allowed=allowed)
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


def probability_within_steps(deviation: int, *, num_features: int, scale: float) -> float:
    """Return the probability that d draws of discrete Laplace noise all are k steps at most.

    With a = e^(−1/scale) one draw is within k steps with probability 1 − 2a^(k + 1)/(1 + a).

    Args:
        deviation: k ≥ 0, in grid steps.
        num_features: d ≥ 1.
        scale: of the noise, > 0, in grid steps.

    Raises:
        ValueError: a parameter is out of range.
    """
    if deviation < 0:
        raise ValueError(f"deviation must be >= 0, got {deviation}")
    _check_positive(num_features=num_features, scale=scale)
    beyond = 2 * math.exp(-(deviation + 1) / scale) / (1 + math.exp(-1 / scale))
    return (1 - beyond) ** num_features


def deviation_of_directions(failure: float, *, num_features: int, epsilon: float, num_voters: int = 1) -> float:
    """Return the ℓ₂ length that the noise of a direction release exceeds with probability γ exactly.

    The length of noise with density ∝ e^(−ε‖x‖₂/2) has the Gamma law of shape d and scale 2/ε, whose quantile this is.

    Args:
        failure: γ, in (0, 1).
        num_features: d ≥ 1.
        epsilon: ε > 0.
        num_voters: N ≥ 1 divides it, for one draw on the sum of N voters whose mean is released; 1 for a voter's own.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        Reading M8.
    """
    _check_failure(failure)
    scale = _scale(num_features, 1.0, epsilon, num_voters)
    return scale * float(gammaincinv(num_features, 1 - failure))


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


def sensitivity_witness(num_records: int, *, num_features: int, radius: float) -> tuple[FloatArray, FloatArray]:
    """Return a voter's differences before and after one record is replaced, whose β are 2B apart in the ℓ₁ norm.

    All records lie along the first feature: the first one is t = 1/max(B, 1) or −t, the others together weigh t/10.
    The likelihood depends on β₁ alone and is strictly concave in it. At β₁ = −B, where the first record is −t, its
    slope is at most −t·h(tB) + (t/10)·h(−tB/10), h = φ/Φ, and h(1) = .288 against h(−.1)/10 < .088: it still falls, so
    that the maximum over the ball is the vertex −B. For +t it is the vertex +B, as all records point there.

    Args:
        num_records: n ≥ 1.
        num_features: d ≥ 1.
        radius: B > 0.

    Returns:
        Two tables, float64, shape (n, d), which differ in their first row.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        Theorems 1 and 3, whose sensitivities it attains: 2B for a voter, 2B/N for the mean of N.
    """
    _check_positive(num_features=num_features, num_records=num_records, radius=radius)
    before = np.zeros((num_records, num_features))
    before[0, 0] = 1 / max(radius, 1.0)
    before[1:, 0] = before[0, 0] * _WEIGHT_OF_OTHERS / max(num_records - 1, 1)
    after = before.copy()
    after[0, 0] = -before[0, 0]
    return before, after


def removal_witness(*, num_features: int, radius: float) -> tuple[FloatArray, FloatArray]:
    """Return a voter's differences before and after a record is added, whose β are 2B apart in every p-norm.

    A single record −t/10 along the first feature has its maximum at the vertex −B. With a second one, t = 1/max(B, 1),
    the slope at β₁ = B is at least t·h(tB) − (t/10)·h(−tB/10), which is positive as in `sensitivity_witness`: the
    maximum is the vertex B.

    Args:
        num_features: d ≥ 1.
        radius: B > 0.

    Returns:
        Two tables, float64, of shapes (1, d) and (2, d), whose first rows are the same.

    Raises:
        ValueError: a parameter is out of range.
    """
    _check_positive(num_features=num_features, radius=radius)
    after = np.zeros((2, num_features))
    after[:, 0] = np.array([-_WEIGHT_OF_OTHERS, 1.0]) / max(radius, 1.0)
    return after[:1].copy(), after


def search_sensitivity(num_features: int, *, seed: int, num_starts: int = 64) -> tuple[float, FloatArray]:
    """Look for two records whose coefficients in the functional mechanism are as far apart as possible.

    Random pairs, of which the better half climbs: with the signs of all changes held, the change is a quadratic of
    either vector, whose slope, made convex by d/π·‖V‖², names the next vector of norm 1.

    Args:
        num_features: d ≥ 1.
        seed: of the pairs.
        num_starts: how many pairs climb, ≥ 1; twice as many are drawn.

    Returns:
        The greatest ℓ₁ change found, and its two differences, float64, shape (2, d), of norm ≤ 1.

    Raises:
        ValueError: a parameter is out of range.
    """
    _check_positive(num_features=num_features, num_starts=num_starts)
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((2 * num_starts, 2, num_features))
    # Norms within the ball, half of them on its surface.
    norms = np.minimum(2 * generator.random((2 * num_starts, 2, 1)), 1.0)
    pairs *= norms / np.linalg.norm(pairs, axis=2, keepdims=True)
    pairs = pairs[np.argsort(-_changes(pairs), kind="stable")[:num_starts]]
    best = pairs
    for _ in range(_ASCENTS):
        pairs = _climb(pairs)
        better = _changes(pairs) > _changes(best)
        best = np.where(better[:, None, None], pairs, best)
    pair = best[int(np.argmax(_changes(best)))]
    pair /= np.maximum(np.linalg.norm(pair, axis=1, keepdims=True), 1.0)
    first, second = coefficients_of_records(pair)
    return float(np.abs(first - second).sum()), pair


def search_direction_change(num_features: int, *, seed: int, step: float, num_pairs: int = 1000) -> float:
    """Look for the greatest ℓ₂ change of a sum of unit directions by one record, as they are on the grid.

    Random pairs of differences and each difference with its opposite, of any length.

    Args:
        num_features: d ≥ 1.
        seed: of the differences.
        step: the directions' grid, see `unit_directions`.
        num_pairs: how many, ≥ 1.

    Returns:
        The greatest change found, in units of 1 rather than steps: never above 2.

    Raises:
        ValueError: a parameter is out of range.
    """
    _check_positive(num_features=num_features, num_pairs=num_pairs)
    generator = np.random.default_rng(seed)
    differences = generator.standard_normal((num_pairs, num_features)) * np.exp(generator.normal(0, 20, (num_pairs, 1)))
    directions = unit_directions(differences, step=step)
    opposites = unit_directions(-differences, step=step)
    greatest = max(_longest(directions - np.roll(directions, 1, axis=0)), _longest(directions - opposites))
    return math.sqrt(greatest) * step


def search_preference_change(
    num_features: int, num_records: int, *, radius: float, seed: int, num_pairs: int = 100
) -> float:
    """Look for the greatest ℓ₁ change of a voter's β by one record, over random data and the witness.

    Args:
        num_features: d ≥ 1.
        num_records: n ≥ 1.
        radius: B > 0.
        seed: of the records.
        num_pairs: how many voters have a record replaced, ≥ 1.

    Returns:
        The greatest change found: never above 2B.

    Raises:
        ValueError: a parameter is out of range.
    """
    _check_positive(num_features=num_features, num_records=num_records, radius=radius, num_pairs=num_pairs)
    generator = np.random.default_rng(seed)
    before = generator.standard_normal((num_pairs, num_records, num_features)) * 10 / radius
    after = before.copy()
    after[:, 0] = -10 * before.sum(axis=1)  # against what the records say together
    both = np.stack([before, after])
    witness = np.stack(sensitivity_witness(num_records, num_features=num_features, radius=radius))
    both = np.concatenate([both, witness[:, None]], axis=1)
    offsets: IntArray = np.arange(0, 2 * (num_pairs + 1) * num_records + 1, num_records, dtype=np.int64)
    points = fit_probit(both.reshape(-1, num_features), offsets, radius=radius).points
    first, second = points.reshape(2, num_pairs + 1, num_features)
    return float(np.abs(first - second).sum(axis=1).max())


def _changes(pairs: FloatArray) -> FloatArray:
    """Return √(2/π)·‖V − V'‖₁ + (1/π)·‖VVᵀ − V'V'ᵀ‖₁₁ of each pair."""
    first, second = pairs[:, 0], pairs[:, 1]
    products = first[:, :, None] * first[:, None, :] - second[:, :, None] * second[:, None, :]
    return _LINEAR * np.abs(first - second).sum(axis=1) + _QUADRATIC * np.abs(products).sum(axis=(1, 2))


def _climb(pairs: FloatArray) -> FloatArray:
    first, second = pairs[:, 0], pairs[:, 1]
    linear = np.where(first >= second, _LINEAR, -_LINEAR)
    products = first[:, :, None] * first[:, None, :] - second[:, :, None] * second[:, None, :]
    signs = np.where(products >= 0, 2 * _QUADRATIC, -2 * _QUADRATIC)
    convex = 2 * _QUADRATIC * first.shape[1]
    upwards = np.stack(
        [
            linear + np.einsum("mkl,ml->mk", signs, first) + convex * first,
            -linear - np.einsum("mkl,ml->mk", signs, second) + convex * second,
        ],
        axis=1,
    )
    return upwards / np.maximum(np.linalg.norm(upwards, axis=2, keepdims=True), np.finfo(np.float64).tiny)


def _longest(rows: IntArray) -> int:
    """Return the greatest squared length of a row, exactly."""
    return max(sum(value * value for value in row) for row in rows.tolist())


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
