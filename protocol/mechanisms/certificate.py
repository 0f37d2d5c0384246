"""A checkable proof that no unbiased ε-LDP report of a number has a smaller variance than a bound.

The proof is weak duality; it does not depend on how its numbers were found. Take any ε-LDP randomizer of the values v
with unbiased estimates t, any numbers λ_v, μ_v, and weights π_v ≥ 0. The claim is

    Σ_v π_v·Var[t | v]  ≥  Σ_v (λ_v·v − μ_v − π_v·v²)

Left side minus right side is a sum over reports r. A report with estimate t contributes Σ_v P[r | v]·(π_v·t² − λ_v·t +
μ_v). The column P[r | ·] is a nonnegative combination of the columns c_S, for subsets S of the values: c_S(v) is 1 for
v in S, and e^(−ε) for all others. So the contribution is ≥ 0 for every t if Λ_S² ≤ 4·A_S·M_S for every S, where Λ_S =
Σ_v c_S(v)·λ_v, A_S = Σ_v c_S(v)·π_v and M_S = Σ_v c_S(v)·μ_v. If some constraint is violated, raising every μ_v by
h·π_v raises 4·A_S·M_S by 4·h·A_S², and lowers the bound by h·Σπ.

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
    """A point of the dual program that is feasible up to the last of its forty digits.

    Args:
        epsilon: ε of the bounded randomizers, in nats.
        values: v, the numbers that they report.
        slopes: λ, one for each value.
        masses: μ, one for each value.
        prior: π, one for each value, ≥ 0 and not all 0. For a bound on the greatest variance, its sum must be 1.

    Raises:
        ConfigurationError: `epsilon` is out of range, or an argument contains something other than numbers.

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

        All 2^k constraints are checked, in integers, with a ratio just below e^(−ε). The greatest violation is
        subtracted from the claimed bound. For twenty values this takes a second.

        Raises:
            ValueError: π has a negative weight, or only zeros, so that nothing is proven.
        """
        if min(self.prior) < 0 or not any(self.prior):
            raise ValueError("prior has a number below 0, or none above: use numbers of at least 0, not all 0")
        return self.claimed_bound - sum(self.prior) * self._greatest_lack()

    def _greatest_lack(self) -> Fraction:
        """Return the greatest (Λ_S² − 4·A_S·M_S)/(4·A_S²), or 0 if none is positive."""
        # Just below e^(-epsilon), so that the bound covers slightly more randomizers than required.
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
        # In Gray code, each subset differs from the previous one in a single value.
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
