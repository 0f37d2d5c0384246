"""Plays a sampler on every outcome of its draws, so that its law is known exactly; and tests draws against a law.

A sampler that draws uniform integers below a bound is run once for each way in which those draws can matter: a draw
that is only compared with a number has two outcomes, whatever its bound, and one that is used as a number has each.
"""

import decimal
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, TypeVar, cast

import numpy as np
from psephos.protocol.mechanisms import (
    Beta,
    Discrete,
    HyperDistribution,
    Moments,
    Piecewise,
    PointMass,
    RandBelow,
    TruncatedNormal,
    Uniform,
)
from scipy.special import chdtrc, pdtrc

ReportT = TypeVar("ReportT")
Law: TypeAlias = dict[ReportT, Fraction]

_LEAST_EXPECTED: Final = 25.0
_HARDLY_EXPECTED: Final = 1e-3

# A sampler that may go on for ever is cut where it hardly ever gets.
_RARE: Final = 10**18  # once in so many times


class _TooRareError(Exception):
    """This way is hardly ever taken."""


class _Way:
    """One way through a sampler's draws: first as a prefix says, then always the first outcome.

    Attributes:
        ways: of all ways of these draws, counted as often as they are likely, how many are this one.
        of: how many all ways are, so that this one's chance is ways / of; never reduced, which would take most time.
        others: prefixes of the ways that turned off after the prefix.
    """

    def __init__(self, prefix: Sequence[int]) -> None:
        self._prefix = prefix
        self._taken: list[int] = []
        self.ways, self.of = 1, 1
        self.others: list[list[int]] = []

    def choose(self, weights: Sequence[int]) -> int:
        """Return which of some outcomes happens."""
        number = len(self._taken)
        if number < len(self._prefix):
            chosen = self._prefix[number]
        else:
            possible = [outcome for outcome, weight in enumerate(weights) if weight]
            chosen = possible[0]
            self.others += [[*self._taken, outcome] for outcome in possible[1:]]
        self._taken.append(chosen)
        self.ways *= weights[chosen]
        self.of *= sum(weights)
        if self.ways * _RARE < self.of:
            raise _TooRareError
        return chosen

    def below(self, bound: int) -> int:
        """Return an integer below a bound that is decided when it is looked at."""
        assert bound >= 1
        return cast("int", _Drawn(self, bound))


class _Drawn:
    """A uniform integer in [low, high), of which only so much is decided as was asked for."""

    def __init__(self, way: _Way, bound: int) -> None:
        self._way = way
        self._low, self._high = 0, bound

    def __lt__(self, other: int) -> bool:
        if other <= self._low:
            return False
        if other < self._high:
            if self._way.choose([other - self._low, self._high - other]):
                self._low = other
                return False
            self._high = other
        return True

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __index__(self) -> int:
        if self._high - self._low > 1:
            self._low += self._way.choose([1] * (self._high - self._low))
            self._high = self._low + 1
        return self._low

    __int__ = __index__

    def __add__(self, other: int) -> int:
        return int(self) + other

    def __mul__(self, other: int) -> int:
        return int(self) * other

    __radd__, __rmul__ = __add__, __mul__


def exact_law(draw: Callable[[RandBelow], ReportT]) -> Law[ReportT]:
    """Return P[what a sampler returns], exactly; less than 1 in all by the ways that were cut.

    Args:
        draw: the sampler; what it returns can be a key, and holds no undecided number.
    """
    ways: dict[ReportT, dict[int, int]] = {}  # by the number of all ways, in which they are added up
    prefixes: list[list[int]] = [[]]
    while prefixes:
        way = _Way(prefixes.pop())
        try:
            report = draw(way.below)
        except _TooRareError:
            pass
        else:
            same = ways.setdefault(report, {})
            same[way.of] = same.get(way.of, 0) + way.ways
        prefixes += way.others
    return {report: sum((Fraction(own, of) for of, own in same.items()), Fraction(0)) for report, same in ways.items()}


def law_of_rows(draw: Callable[[RandBelow], Sequence[Any]]) -> Law[tuple[int, ...]]:
    """Return P[row of numbers] of a sampler of rows."""
    return exact_law(lambda below: tuple(int(number) for number in draw(below)))


def support_of(hyper: HyperDistribution) -> tuple[float, float]:
    """Return the least and the greatest flip probability that may be drawn."""
    match hyper:
        case PointMass():
            flips = (hyper.probability,)
        case Discrete():
            flips = hyper.probabilities
        case Moments():
            flips, _ = hyper.points
        case Piecewise():
            flips = hyper.edges
        case Uniform() | Beta() | TruncatedNormal():
            flips = (hyper.low, hyper.high)
    return min(flips), max(flips)


def exact_moment(hyper: HyperDistribution, num_answers: int, num_flips: int) -> Fraction:
    """Return E[P^k (1 − P)^(m−k)], exactly: term by term, from the polynomial's coefficients.

    Of a normal distribution to hundreds of digits; of `Moments` for the points that are drawn.

    Args:
        hyper: the distribution of P.
        num_answers: m.
        num_flips: k.
    """
    match hyper:
        case PointMass(flip):
            return Fraction(flip) ** num_flips * (1 - Fraction(flip)) ** (num_answers - num_flips)
        case Discrete() | Moments():
            flips, shares = hyper.points
            parts = [exact_moment(PointMass(flip), num_answers, num_flips) for flip in flips]
            total = sum((part * Fraction(share) for part, share in zip(parts, shares, strict=True)), Fraction())
            return total / sum(Fraction(share) for share in shares)
        case Piecewise(edges, shares):
            parts = [exact_moment(Uniform(*ends), num_answers, num_flips) for ends in itertools.pairwise(edges)]
            total = sum((part * Fraction(share) for part, share in zip(parts, shares, strict=True)), Fraction())
            return total / sum(Fraction(share) for share in shares)
        case TruncatedNormal():
            return _normal_moment(hyper, num_answers, num_flips)
        case Uniform(low, high):
            alpha, beta = Fraction(1), Fraction(1)
        case Beta(own_alpha, own_beta, low, high):
            alpha, beta = Fraction(own_alpha), Fraction(own_beta)
    width = Fraction(high) - Fraction(low)
    polynomial = [Fraction(1)]
    factors = [(Fraction(low), width)] * num_flips + [(1 - Fraction(low), -width)] * (num_answers - num_flips)
    for constant, slope in factors:
        polynomial = [
            constant * here + slope * before
            for here, before in zip([*polynomial, Fraction(0)], [Fraction(0), *polynomial], strict=True)
        ]
    # E[t^j] of a beta distribution on [0, 1].
    powers = [
        math.prod(((alpha + i) / (alpha + beta + i) for i in range(j)), start=Fraction(1))
        for j in range(len(polynomial))
    ]
    return sum((coefficient * power for coefficient, power in zip(polynomial, powers, strict=True)), Fraction())


@functools.cache
def _normal_integrals(hyper: TruncatedNormal, most: int) -> list[decimal.Decimal]:
    """Return ∫ x^j e^(−x²/2) for j = 0, 1, …, by parts, to hundreds of digits; the first by the alternating series."""
    with decimal.localcontext(prec=500):
        location, scale = decimal.Decimal(hyper.location), decimal.Decimal(hyper.scale)
        ends = [(decimal.Decimal(end) - location) / scale for end in (hyper.low, hyper.high)]
        densities = [(-end * end / 2).exp() for end in ends]
        wholes: list[decimal.Decimal] = []
        for end in ends:
            term = total = end
            for j in itertools.count(1):
                term *= -end * end / (2 * j)
                total += term / (2 * j + 1)
                if abs(term) < decimal.Decimal(10) ** -480:
                    break
            wholes.append(total)
        integrals = [wholes[1] - wholes[0], densities[0] - densities[1]]
        for j in range(2, most + 1):
            edge = ends[1] ** (j - 1) * densities[1] - ends[0] ** (j - 1) * densities[0]
            integrals.append((j - 1) * integrals[j - 2] - edge)
        return integrals


def _normal_moment(hyper: TruncatedNormal, num_answers: int, num_flips: int) -> Fraction:
    """Return E[P^k (1 − P)^(m−k)] of p = location + scale·x, term by term."""
    integrals = _normal_integrals(hyper, num_answers)
    with decimal.localcontext(prec=500):
        location, scale = decimal.Decimal(hyper.location), decimal.Decimal(hyper.scale)
        polynomial = [decimal.Decimal(1)]
        for constant, slope in [(location, scale)] * num_flips + [(1 - location, -scale)] * (num_answers - num_flips):
            pairs = zip([*polynomial, decimal.Decimal(0)], [decimal.Decimal(0), *polynomial], strict=True)
            polynomial = [constant * here + slope * before for here, before in pairs]
        total = sum((each * part for each, part in zip(polynomial, integrals, strict=False)), decimal.Decimal(0))
        return Fraction(total / integrals[0])


def exact_log(number: Fraction) -> decimal.Decimal:
    """Return the logarithm to eighty digits, −∞ of 0."""
    if not number:
        return -decimal.Decimal("Infinity")
    with decimal.localcontext(prec=80):
        return (decimal.Decimal(number.numerator) / decimal.Decimal(number.denominator)).ln()


def lattice_law(dimension: int, scale: float) -> dict[tuple[int, ...], float]:
    """Return P[rounded spherical Laplace noise]: the density's integral over the cube of side 1 around it.

    In two dimensions by Gauss and Legendre's rule, in 64 parts where the density has its peak.

    Args:
        dimension: 1 or 2.
        scale: of the noise, which is followed sixteen scales far.
    """
    reach = math.ceil(16 * scale)
    if dimension == 1:
        decay = math.exp(-1 / scale)
        tails = {k: 0.5 * math.exp(-(abs(k) - 0.5) / scale) * (1 - decay) for k in range(-reach, reach + 1) if k}
        return {(0,): 1 - math.exp(-0.5 / scale)} | {(k,): chance for k, chance in tails.items()}
    nodes, weights = np.polynomial.legendre.leggauss(10)
    law: dict[tuple[int, ...], float] = {}
    for x in range(reach + 1):
        for y in range(x + 1):
            parts = 64 if x <= 1 else 1
            offsets = (np.arange(parts)[:, None] + (nodes[None, :] + 1) / 2).reshape(-1) / parts - 0.5
            shares = np.tile(weights, parts) / (2 * parts)
            sizes = np.hypot(x + offsets[:, None], y + offsets[None, :])
            density = np.exp(-sizes / scale) / (2 * math.pi * scale**2)
            chance = math.fsum((shares[:, None] * shares[None, :] * density).reshape(-1))
            law |= {(a * s, b * t): chance for a, b in ((x, y), (y, x)) for s in (1, -1) for t in (1, -1)}
    return law


def least_tail(reports: Sequence[Any], law: Mapping[Any, float]) -> float:
    """Return the smaller tail probability of two tests: of the common reports' counts, and of the rare ones' number.

    Neighbors are pooled until 25 are expected together, and their counts tested by chi-square. Reports that are hardly
    expected at all (or are not in the law) are counted once more by themselves: Poisson.

    Args:
        reports: what was drawn.
        law: P[report], for reports that are not too rare to matter and can be put in order.
    """
    pool_of: dict[Any, int] = {}
    expected: list[float] = []
    pooled = 0.0
    for report in sorted(law):
        pool_of[report] = len(expected)
        pooled += law[report] * len(reports)
        if pooled >= _LEAST_EXPECTED:
            expected.append(pooled)
            pooled = 0.0
    expected[-1] += len(reports) - math.fsum(expected)  # what is left, and what is too rare to be in the law
    last = len(expected) - 1
    observed = np.bincount([min(pool_of.get(report, last), last) for report in reports], minlength=len(expected))
    statistic = float(np.sum((observed - np.array(expected)) ** 2 / np.array(expected)))
    of_common = float(chdtrc(last, statistic)) if last else 1.0
    common = {report for report, chance in law.items() if chance * len(reports) >= _HARDLY_EXPECTED}
    num_rare = sum(report not in common for report in reports)
    rest = max(0.0, 1 - math.fsum(law[report] for report in common))
    return min(of_common, float(pdtrc(num_rare - 1, rest * len(reports))) if num_rare else 1.0)
