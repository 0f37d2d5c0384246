"""Rounded weights: quotas for rounded weights that decide about the weights before rounding.

Let a weight w be rounded to w̃ of the set, with abs(w − w̃) ≤ ρ·w̃. Let A be the rounded weight of "yes", and B that of
all others. If the quota is a share τ of all weight, the true margin is at least (1 − τ)(1 − ρ)A − τ(1 + ρ)B. This is
negative only if A < τ₊(A + B), τ₊ = τ(1 + ρ)/(τ(1 + ρ) + (1 − τ)(1 − ρ)). The upper bound of the margin has −ρ in place
of ρ, and is nonnegative only if A ≥ τ₋(A + B). So a candidate that truly fails also fails with rounded weights and τ₊,
and one that truly passes also passes with τ₋. A fixed quota q becomes q/(1 − ρ) and q/(1 + ρ). No closer quotas hold
for all weights.
"""

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from ..arrays import FloatArray, IntArray
from ..estimators import Verdict

if TYPE_CHECKING:
    from .parameters import Parameters

_OUTWARDS: Final = 1 + 2.0**-40
"""A factor that exceeds all rounding errors of a quota."""


def nearest_places(numbers: FloatArray, choices: FloatArray) -> IntArray:
    """Return the place of the choice from which each number differs by the smallest share of it; choices increase."""
    return np.searchsorted(2 * choices[1:] * choices[:-1] / (choices[1:] + choices[:-1]), numbers)


def quotas_within(parameters: "Parameters") -> tuple[float, float]:
    """Return the two quotas, or shares of all weight if the quota is a share: the greater one first.

    Both are rounded outwards.
    """
    rho, share = parameters.rounding, parameters.fraction
    high_factor, low_factor = (1 + rho) * _OUTWARDS, (1 - rho) / _OUTWARDS
    if parameters.quota is not None:
        return parameters.quota / low_factor, parameters.quota / high_factor
    high_share, low_share = share * high_factor, share * low_factor
    return high_share / (high_share + (1 - share) * low_factor), low_share / (low_share + (1 - share) * high_factor)


def votes_within(parameters: "Parameters") -> "tuple[Parameters, ...]":
    """Return the two votes with unrounded weights and either end of the quota; none if weights are not rounded."""
    if not parameters.rounding:
        return ()
    field = "quota_fraction" if parameters.quota is None else "quota"
    changed: dict[str, Any] = {"weights_within": msgspec.UNSET}
    return tuple(
        msgspec.structs.replace(parameters, **changed, **{field: quota}) for quota in quotas_within(parameters)
    )


def verdict_within(high_verdict: Verdict, low_verdict: Verdict) -> Verdict:
    """Return the verdict on what passes with the greater quota, or fails with the less one."""
    if high_verdict is Verdict.PASSES:
        return high_verdict
    return low_verdict if low_verdict is Verdict.FAILS else Verdict.TOO_CLOSE
