"""A proof, to be checked by anybody, that no unbiased ε-LDP report of a number is more precise than a bound.

Weak duality, and nothing of how the numbers were found, is what it rests on. Take any ε-LDP randomizer of the values v
with unbiased estimates, and numbers λ_v, μ_v and shares π_v ≥ 0. A report r that stands for t adds
Σ_v P[r | v]·(π_v·t² − λ_v·t + μ_v) to the left side of

    Σ_v π_v·Var[t | v]  ≥  Σ_v (λ_v·v − μ_v − π_v·v²)

less the right one. Its column P[r | ·] is a mixture of the columns c_S (1 for a value in the subset S, e^(−ε) for the
others) times numbers ≥ 0, so that this is ≥ 0 for every t if Λ_S² ≤ 4·A_S·M_S for every S, where Λ_S = Σ_v c_S(v)·λ_v,
A_S likewise of π and M_S of μ. Raising every μ_v by h·π_v raises 4·A_S·M_S by 4·h·A_S², and lowers the bound by h·Σπ.

Source: Kairouz, Oh and Viswanath (2014), extremal mechanisms, for the columns; reading W8.
"""

import dataclasses
import functools
import math
from fractions import Fraction

from ..arguments import make_fields_exact
from ..elementary import exp
from ..errors import require


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A feasible point of the dual program, up to the last of its forty digits.

    Args:
        epsilon: of the randomizers that it speaks of, in nats.
        values: the numbers that they report, v.
        slopes: λ, one for each value.
        masses: μ, likewise.
        prior: π, likewise, ≥ 0 and not all 0. Where the worst case is bounded, its sum is 1.

    Raises:
        ConfigurationError: `epsilon` is out of range, or something is no number.

    Examples:
        >>> from fractions import Fraction
        >>> from psephos.protocol.mechanisms import optimal
        >>> report = optimal([Fraction(0), Fraction(1)], epsilon=1.0)
        >>> round(float(report.certificate.proven_bound()), 6), round(report.worst_variance, 6)
        (0.920674, 0.920674)
    """

    epsilon: float
    values: tuple[Fraction, ...]
    slopes: tuple[Fraction, ...]
    masses: tuple[Fraction, ...]
    prior: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(0 <= self.epsilon < math.inf, "epsilon", self.epsilon, "at least 0 and finite")

    @functools.cached_property
    def claimed_bound(self) -> Fraction:
        """Σ_v (λ_v·v − μ_v − π_v·v²): the bound, if the point is feasible."""
        numbers = zip(self.values, self.slopes, self.masses, self.prior, strict=True)
        return sum((slope * v - mass - share * v * v for v, slope, mass, share in numbers), start=Fraction(0))

    def proven_bound(self) -> Fraction:
        """Return a proven lower bound on Σ_v π_v·Var[t | v], and so on the greatest variance if Σπ = 1.

        Every one of the 2^k constraints is looked at, in integers, with a ratio just below e^(−ε); what the worst one
        lacks is taken off the claimed bound. A second for twenty values.

        Raises:
            ValueError: π is not a prior, so that nothing is proven.
        """
        if min(self.prior) < 0 or not any(self.prior):
            raise ValueError("prior must be >= 0 and not 0 everywhere")
        return self.claimed_bound - sum(self.prior) * self._greatest_lack()

    def _greatest_lack(self) -> Fraction:
        """Return the greatest (Λ_S² − 4·A_S·M_S)/(4·A_S²), or 0 if none is positive."""
        # Just below e^(-epsilon): the bound is one for a few more randomizers than it must be.
        ratio = Fraction(exp(-self.epsilon)) * (1 - Fraction(1, 1 << 50))
        rest_numerator, excess_numerator = ratio.numerator, ratio.denominator - ratio.numerator
        scale = math.lcm(*(number.denominator for number in (*self.slopes, *self.masses, *self.prior)))
        points = [
            tuple(int(number * scale) for number in point)
            for point in zip(self.slopes, self.prior, self.masses, strict=True)
        ]
        steps = [tuple(excess_numerator * number for number in point) for point in points]
        slope, share, mass = (rest_numerator * sum(numbers) for numbers in zip(*points, strict=True))
        is_inside = [False] * len(points)
        worst = Fraction(0)
        # Gray code: each subset differs from the one before in a single value.
        for count in range(1, (1 << len(points)) + 1):
            lack = slope * slope - 4 * share * mass
            if lack > 0:
                worst = max(worst, Fraction(lack, 4 * share * share))
            place = (count & -count).bit_length() - 1
            if place == len(points):
                break
            sign = -1 if is_inside[place] else 1
            is_inside[place] = not is_inside[place]
            of_slope, of_share, of_mass = steps[place]
            slope += sign * of_slope
            share += sign * of_share
            mass += sign * of_mass
        return worst
