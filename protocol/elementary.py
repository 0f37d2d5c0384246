"""Functions of a single number whose last bit is the same on every processor.

The C library chooses its code for `exp` and similar functions by the processor, with or without fused multiply-add. The
last bit of a result may depend on that, which is rare, but enough for two machines to disagree about a tie or a file.
Decimal arithmetic has no such choice. It takes microseconds, which is fast enough for parameters and outcomes; arrays
of noise are transformed by `scipy.special` instead.
"""

import decimal
import functools
import math
from fractions import Fraction

# Twice the digits of a float, so that only the final rounding to a float matters.
_DIGITS = 34
# Beyond this number, erfc is below the least float.
_GREATEST_ERFC = 27.3
# From this number on, the continued fraction of erfc with this number of terms has a relative error below 1e-37.
_FRACTION_FROM = 5.0
_FRACTION_TERMS = 60


@functools.lru_cache(maxsize=4096)
def exp(x: float) -> float:
    """Return e^x.

    Examples:
        >>> exp(1.0)
        2.718281828459045
    """
    return float(decimal.Context(prec=_DIGITS).exp(decimal.Decimal(x)))


@functools.lru_cache(maxsize=4096)
def expm1(x: float) -> float:
    """Return e^x − 1, accurately also for small `x` (0, or |x| ≥ 1e-30).

    Examples:
        >>> expm1(1e-20)
        1e-20
    """
    return float(decimal.Context(prec=2 * _DIGITS).exp(decimal.Decimal(x)) - 1)


@functools.lru_cache(maxsize=4096)
def erfc(x: float) -> float:
    """Return the complementary error function, 1 − (2/√π)·Σ (−1)^n x^(2n+1)/(n!(2n+1)).

    The terms of the series grow to e^(x²), while the sum falls to e^(−x²), so more digits are carried as x grows. For
    large x, Laplace's continued fraction e^(−x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...)))) takes fewer
    terms.

    Examples:
        >>> erfc(0.0), erfc(1.0)
        (1.0, 0.15729920705028513)
    """
    if x < 0:
        return 2.0 - erfc(-x)
    if x > _GREATEST_ERFC:
        return 0.0
    with decimal.localcontext() as context:
        exact_x = decimal.Decimal(x)
        if x >= _FRACTION_FROM:
            context.prec = _DIGITS + 6
            fraction = exact_x
            for n in range(_FRACTION_TERMS, 0, -1):
                fraction = exact_x + n / (2 * fraction)
            return float((-exact_x * exact_x).exp() / (_square_root_of_pi(context.prec) * fraction))
        context.prec = _DIGITS + math.ceil(0.9 * x * x)  # 2·x²/ln 10, rounded up
        square, power, total, n = exact_x * exact_x, exact_x, exact_x, 0
        while abs(power) > decimal.Decimal(10) ** -context.prec:
            n += 1
            power = -power * square / n
            total += power / (2 * n + 1)
        return float(1 - 2 * total / _square_root_of_pi(context.prec))


@functools.lru_cache(maxsize=4096)
def ln(x: float) -> float:
    """Return the natural logarithm of `x` > 0.

    Examples:
        >>> ln(2.0)
        0.6931471805599453
    """
    return float(decimal.Context(prec=_DIGITS).ln(decimal.Decimal(x)))


@functools.lru_cache(maxsize=4096)
def log1p(x: float) -> float:
    """Return ln(1 + x) for `x` > −1, accurately also for small `x` (0, or |x| ≥ 1e-30).

    Examples:
        >>> log1p(1e-20)
        1e-20
    """
    context = decimal.Context(prec=2 * _DIGITS)
    return float(context.ln(context.add(decimal.Decimal(1), decimal.Decimal(x))))


def quotient_up(numerator: float | Fraction, denominator: float | Fraction) -> float:
    """Return the least float that is at least `numerator`/`denominator`, both ≥ 0; infinity if there is none.

    Examples:
        >>> quotient_up(1, 3), 1 / 3
        (0.33333333333333337, 0.3333333333333333)
    """
    quotient = Fraction(numerator) / Fraction(denominator)
    try:
        nearest = float(quotient)
    except OverflowError:
        return math.inf
    return nearest if nearest >= quotient else math.nextafter(nearest, math.inf)


def normal_tail(x: float) -> float:
    """Return the probability that a standard normal number exceeds `x`, 1 − Φ(x).

    Examples:
        >>> normal_tail(1.96)
        0.024997895148220435
    """
    return erfc(x / math.sqrt(2)) / 2


def power_of_two_below(x: float) -> float:
    """Return the greatest power of two that is at most `x` > 0.

    Examples:
        >>> power_of_two_below(5.0), power_of_two_below(4.0)
        (4.0, 4.0)
    """
    return math.ldexp(1.0, math.frexp(x)[1] - 1)


def power_of_two_above(x: float) -> float:
    """Return the least power of two that is at least `x` > 0.

    Examples:
        >>> power_of_two_above(5.0), power_of_two_above(4.0)
        (8.0, 4.0)
    """
    lower_power = power_of_two_below(x)
    return lower_power if lower_power == x else 2 * lower_power


def square(x: float) -> float:
    """Return x·x; `x ** 2` would call the C library's `pow`.

    Examples:
        >>> square(3.0)
        9.0
    """
    return x * x


@functools.lru_cache(maxsize=64)
def _square_root_of_pi(digits: int) -> decimal.Decimal:
    """Return √π to so many digits (Gauss and Legendre's iteration, which doubles them each time)."""
    unit = decimal.Decimal(1)
    with decimal.localcontext() as context:
        context.prec = digits + 10
        a, b, t, p = unit, unit / decimal.Decimal(2).sqrt(), unit / 4, unit
        for _ in range(context.prec.bit_length() + 1):
            mean = (a + b) / 2
            b = (a * b).sqrt()
            t -= p * (a - mean) ** 2
            a, p = mean, 2 * p
        root = ((a + b) ** 2 / (4 * t)).sqrt()
        context.prec = digits
        return +root
