"""The sensitivity of the functional mechanism's coefficients to one record, including rounding to a grid.

All functions return upper bounds on the ℓ₁ change if one record is replaced, over all differences V of two alternatives
with ‖V‖₂ ≤ 1. The bounds are rounded up, so that they also hold for coefficients computed in floating point. The number
d of features is in [1, 65536]; otherwise ConfigurationError is raised. `coefficients` defines the coefficients; the
documentation has the proofs (moral-preferences-proofs).

Source: section 4.4 of the paper for the printed bound; reading M6 for the tighter one.
"""

import math

from ..elementary import power_of_two_below
from ..errors import list_choices, refuse, require

COEFFICIENT_BOUNDS = ("printed", "tight")
# A relative margin. Vectors are accepted up to a norm of 1 + 2⁻³⁶, since one that was clipped to norm 1 can exceed it
# by (d/2 + 6)·2⁻⁵³, and a computed coefficient has a relative error of 2⁻⁵¹. With the rounding of these functions, all
# of this raises a bound by less than 2⁻³⁴.
_MARGIN = 2.0**-32
_MOST_FEATURES = 2**16


def num_coefficients(num_features: int) -> int:
    """Return D = d + d(d + 1)/2: the linear coefficients and one for each unordered pair of features."""
    _check_num_features(num_features)
    return num_features + num_features * (num_features + 1) // 2


def printed_sensitivity(num_features: int) -> float:
    """Return 2(√(2d/π) + d/π), twice the greatest ℓ₁ norm of one record's coefficients.

    The paper's algorithm box has the same as 2√(2d/π) + 2d/π.

    Source:
        Section 4.4, Δ_upper; Algorithm 3, line 4.
    """
    _check_num_features(num_features)
    return 2 * (math.sqrt(2 * num_features / math.pi) + num_features / math.pi) * (1 + _MARGIN)


def tight_sensitivity(num_features: int) -> float:
    """Return max over φ of 2√(2d/π)·sin φ + (√2·d/π)·sin 2φ, an upper bound below the printed one.

    With a = 2√(2d/π) and b = √2·d/π, the derivative a·cos φ + 2b·cos 2φ has its only zero in [0, π/2] at cos φ = (√(a²
    + 32b²) − a)/(8b), where its sign changes from + to −.

    Source:
        Reading M6.
    """
    _check_num_features(num_features)
    a = 2 * math.sqrt(2 * num_features / math.pi)
    b = math.sqrt(2) * num_features / math.pi
    cosine = (math.sqrt(a * a + 32 * b * b) - a) / (8 * b)
    sine = math.sqrt(1 - cosine * cosine)
    return (a * sine + 2 * b * sine * cosine) * (1 + _MARGIN)


def grid_sensitivity(num_features: int, *, step: float, bound: str = "tight") -> int:
    """Return a bound on the ℓ₁ change in grid steps if each record's coefficients are rounded towards zero.

    Rounding towards zero increases no coefficient's size. So two records' integers differ by at most the sum of their
    norms, which the printed bound contains. Rounding also changes the difference of two records by less than one step
    in each of the D coefficients, so the tight bound grows by less than D steps. Both bounds hold; "tight" takes the
    smaller.

    Args:
        num_features: d.
        step: the grid step, a power of two in (0, 1].
        bound: "printed" or "tight".

    Raises:
        ConfigurationError: a parameter is out of range.
    """
    require(bound in COEFFICIENT_BOUNDS, "bound", bound, list_choices(COEFFICIENT_BOUNDS, bound))
    refuse(not 0 < step <= 1 or power_of_two_below(step) != step, "step", step, "a power of two in (0, 1]")
    of_norms = math.floor(printed_sensitivity(num_features) / step)
    if bound == "printed":
        return of_norms
    # The change is an integer, and strictly below the sum of the two bounds.
    of_change = math.ceil(tight_sensitivity(num_features) / step) + num_coefficients(num_features) - 1
    return min(of_norms, of_change)


def _check_num_features(num_features: int) -> None:
    require(1 <= num_features <= _MOST_FEATURES, "num_features", num_features, f"in [1, {_MOST_FEATURES}]")
