"""Noise shares: shares of discrete Laplace noise, each the difference of two negative binomial (Pólya) numbers.

Each of h parties adds X − Y to its values. Both X and Y are negative binomial with a = e^(−1/scale): P[X = k] = Γ(k +
1/h)/(k!·Γ(1/h))·(1 − a)^(1/h)·a^k. The sum of h shares has the law of `DiscreteLaplace`.
`psephos.protocol.privacy.shared_noise` bounds the loss against an observer who knows all but H shares. Values and
shares are added modulo 2⁶⁴. This loses no privacy, since the residue of a sum is a function of the sum.

A deployment's shares are exact. X is the sum of a Poisson number of logarithmic numbers L, P[L = k] ∝ a^k/k. The
Poisson rate, −ln(1 − a)/h, is rounded up by less than 2⁻⁷⁹, which adds independent noise. Logarithmic numbers are drawn
by blocks [2^j, 2^(j+1)); each step rejects with a probability of about one half or less, at any scale.

Source: Goryczka and Xiong (2017), for the shares; Canonne, Kamath and Steinke (2020), for decisions of probability
e^(−x).
"""

import dataclasses
import decimal
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import scipy as sp
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, expm1, ln, square
from ..errors import require
from ..estimate import Estimate
from ..privacy.events import SharedDiscreteLaplace
from ..privacy.shared_noise import shared_laplace_loss
from .discrete_laplace import are_within
from .exact import ExactMechanism, RandBelow, happens_exp
from .logarithms import log_of
from .mechanism import Mechanism, check_batch, sums_of

REACH_IN_SCALES: Final = 64
"""The reach of the law's table, in scales; larger noise has probability below e^(−64)."""

MOST_TIMES: Final = 32
"""The greatest ratio of the number of shares in a sum to `planned` for which the reach of noise is proven."""
_LEAST_SCALE: Final = 2.0**-4
_MOST_OF_LAW: Final = 2.0**14  # the greatest scale whose law is computed, which takes a second
_MOST_OF_TABLE: Final = 1 << 12  # cached tails
_NEAR: Final = 4  # the error, in counts, of linear interpolation between tails
_SCALES_OF_UNIFORMS: Final = 38  # e^(−38) < 2^(−54), less than every uniform
_START_IN_SCALES: Final = REACH_IN_SCALES + 24  # where the recurrence starts; its initial error decays by e^(−2·24)
# For shares that sum to r times Laplace noise, P[X > x] ≤ 2^r·e^(−x/(2·scale)) (Chernoff).
_ROOM_IN_SCALES: Final = 128
_TOO_LARGE: Final = 2**62
_WORD: Final = 2**64
_MORE: Final = 1 + 2.0**-30  # covers the rounding of the law and its sums
_RATE_BITS: Final = 80
_DIGITS: Final = 60


def wrap(total: int) -> int:
    """Return the residue of an integer modulo 2⁶⁴ that lies in [−2⁶³, 2⁶³)."""
    return (total + _WORD // 2) % _WORD - _WORD // 2


@exact_arguments
def share_log_law(*, scale: float, planned: int, num_shares: int = 1) -> FloatArray:
    """Return ln P[noise = x] of a sum of shares for x = 0, 1, …, ⌈64·scale⌉; the law is symmetric.

    Let r = num_shares/planned. The coefficients of F(z) = (1 − az)^(−r)·(1 − a/z)^(−r) are proportional to the law q.
    Since (1 − az)(1 − a/z)·z·F' = r·a·(z − 1/z)·F,

        a·(x − 1 + r)·q(x − 1) = (1 + a²)·x·q(x) − a·(x + 1 − r)·q(x + 1).

    The law is the decreasing solution of this recurrence. It is computed downwards from a large x, so that the other
    solutions decay.

    Raises:
        ConfigurationError: the scale is below 1/16, or a number of shares below 1.
        NotImplementedError: the scale is above 2¹⁴, which would take too long.

    Examples:
        >>> law = np.exp(share_log_law(scale=2.0, planned=1))  # one share is the whole noise
        >>> round(float(law[0]), 4)
        0.2449
    """
    require(_LEAST_SCALE <= scale < math.inf, "scale", scale, "at least 1/16 grid step, and finite")
    require(planned >= 1, "planned", planned, "at least 1")
    require(num_shares >= 1, "num_shares", num_shares, "at least 1")
    if scale > _MOST_OF_LAW:
        raise NotImplementedError(f"scale is {scale:g}: the law of noise shares is worked out up to 2**14")
    return _log_law(scale, num_shares / planned)


@functools.lru_cache(maxsize=32)
def share_masses(*, scale: float, planned: int, num_shares: int) -> FloatArray:
    """Return P[noise = x] of a sum of shares for x = 0, 1, …; see `share_log_law`."""
    logs = share_log_law(scale=scale, planned=planned, num_shares=num_shares)
    masses: FloatArray = sp.special.exp2(logs / ln(2.0)).astype(np.float64, copy=False)
    masses.flags.writeable = False
    return masses


@exact_arguments
def share_reach(*, scale: float, planned: int, num_shares: int, level: float) -> int:
    """Return the least t ≥ 1 that the noise of a sum of shares reaches with probability at most `level`.

    Beyond the law's table, tails decrease by at least a factor of e^(−1/(2·scale)) per step, for up to 32 times the
    planned shares.

    Raises:
        ConfigurationError, NotImplementedError: as `share_log_law`, or for more than 32 times the planned shares.
    """
    require(num_shares <= MOST_TIMES * planned, "num_shares", num_shares, f"at most {MOST_TIMES * planned}")
    return _reach(scale, planned, num_shares, level)


@functools.lru_cache(maxsize=64)
def _reach(scale: float, planned: int, num_shares: int, level: float) -> int:
    masses = share_masses(scale=scale, planned=planned, num_shares=num_shares) * _MORE
    tail_mass = float(masses[-1]) / -expm1(-1 / (2 * scale))
    tails = np.cumsum(masses[::-1])[::-1] + tail_mass
    reaches = np.flatnonzero(tails[1:] <= level)
    allowed = f"a level that noise of {REACH_IN_SCALES} scales reaches"
    require(len(reaches), "level", level, allowed)
    return int(reaches[0]) + 1


@functools.lru_cache(maxsize=32)
def _log_law(scale: float, shape: float) -> FloatArray:
    decay, reach = exp(-1 / scale), math.ceil(REACH_IN_SCALES * scale)
    diagonal, masses = 1 + decay * decay, [0.0, 2.0**-900]
    for place in range(math.ceil(_START_IN_SCALES * scale) + 2, 0, -1):
        previous, current = masses[-2:]
        masses.append(
            (diagonal * place * current - decay * (place + 1 - shape) * previous) / (decay * (place - 1 + shape))
        )
    law = np.array(masses[: -reach - 2 : -1])
    logs = log_of(law / (2 * math.fsum(masses) - masses[-1]))
    logs.flags.writeable = False
    return logs


@dataclasses.dataclass(frozen=True)
class NoiseShare(Mechanism, ExactMechanism):
    """Add to each coordinate of a row one share of discrete Laplace noise, modulo 2⁶⁴.

    Args:
        scale: the scale of the noise that `planned` shares add up to, in [1/16, 2**24) grid steps.
        sensitivity: the greatest ℓ₁ distance between neighboring rows, in grid steps; 1 ≤ sensitivity < 2**62.
        bound: coordinates are in [−bound, bound], in grid steps; ≥ 1.
        planned: h ≥ 1, the number of honest shares that are certain to be in the sum.

    Privacy:
        The sum of all rows is ε-DP against an observer who sees only the sum, and knows all but `honest` shares. With
        `honest` ≥ `planned`, ε = sensitivity/scale exactly; with fewer, a greater loss is proven (`privacy`). Relation:
        replace-one, rows at an ℓ₁ distance of at most `sensitivity`; unit: the row. A single report has one honest
        share; `event` states that loss.

    Source:
        Goryczka and Xiong (2017), Section 4.

    Examples:
        >>> share = NoiseShare(scale=8.0, sensitivity=2, bound=5, planned=4)
        >>> round(4 * share.noise_variance, 2)  # of all shares together
        127.83
    """

    is_drawn_ahead = True
    slots = 2
    scale: float
    sensitivity: int
    bound: int
    planned: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(_LEAST_SCALE <= self.scale < 2**24, "scale", self.scale, "in [1/16, 2**24) grid steps")
        require(1 <= self.sensitivity < _TOO_LARGE, "sensitivity", self.sensitivity, "in [1, 2**62) grid steps")
        require(1 <= self.bound < _TOO_LARGE, "bound", self.bound, "in [1, 2**62) grid steps")
        require(1 <= self.planned < 2**31, "planned", self.planned, "in [1, 2**31)")

    @property
    def value_range(self) -> tuple[int, int]:
        """[−bound, bound]."""
        return -self.bound, self.bound

    @property
    def report_range(self) -> tuple[int, int]:
        """All residues modulo 2⁶⁴."""
        return -_WORD // 2, _WORD // 2 - 1

    @property
    def noise_variance(self) -> float:
        """2a/(1 − a)²/planned of a value, in squared grid steps: n shares have n/planned times Laplace noise's."""
        return 2 * exp(-1 / self.scale) / square(expm1(-1 / self.scale)) / self.planned

    @property
    def event(self) -> SharedDiscreteLaplace:
        """The event of a single value's report, seen by itself."""
        return self.event_of(1)

    def event_of(self, num_values: int) -> SharedDiscreteLaplace:
        """Return the event of a row's report, seen by itself; for a sum with others see `event_of_sum`."""
        return self.event_of_sum(num_values, honest=1)

    def event_of_sum(self, num_values: int, *, honest: int) -> SharedDiscreteLaplace:
        """Return each row's event in a sum of rows of this many values, with this many honest shares."""
        return SharedDiscreteLaplace(self.scale, self.sensitivity, self.planned, honest, max(num_values, 1))

    @exact_arguments
    def privacy(self, num_values: int = 1, *, honest: int) -> float:
        """Return the proven loss (ε, nats) of a sum of rows of this many values, with this many honest shares."""
        return shared_laplace_loss(
            scale=self.scale, sensitivity=self.sensitivity, planned=self.planned, honest=honest, width=num_values
        )

    @exact_arguments
    def check_sum(self, num_shares: int) -> None:
        """Raise ConfigurationError unless a sum of this many rows with shares fits 64 bits, but for e^(−60)."""
        noise = math.ceil(_ROOM_IN_SCALES * self.scale * (num_shares / self.planned + 1))
        most = (_WORD // 2 - 1 - noise) // max(num_shares, 1)
        allowed = f"at most {most}, so that {num_shares} values and their noise do not wrap around modulo 2**64"
        require(self.bound <= most, "bound", self.bound, allowed)

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows are neighbors if their ℓ₁ distance is at most `sensitivity`. See `RowMechanism.are_neighbors`."""
        return are_within(self.sensitivity, values, other_values)

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        """Estimate the sum of each column's values. See `RowMechanism.estimate_rows`."""
        return sums_of(reports, self.noise_variance)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Add X − Y, each the quantile of its uniform. See `Mechanism.randomize`."""
        check_batch(self, values, uniforms)
        up, down = (self._polya(uniforms[:, place]) for place in range(2))
        return values + (up - down)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        (report,) = self.randomize(np.array([value], dtype=np.int64), np.array([uniforms])).tolist()
        return report

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        if not all(-self.bound <= value <= self.bound for value in values):
            raise ValueError(f"values are out of range: use values from {-self.bound} to {self.bound}")
        return [wrap(value + _draw_share(self.scale, self.planned, randbelow)) for value in values]

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return the law of one share. See `Mechanism.log_probabilities`.

        Beyond the table of `share_log_law`, it is extrapolated as a^x·x^(r − 1), within 1 % of the exact law.
        """
        logs = share_log_law(scale=self.scale, planned=self.planned)
        # The difference wraps around like reports; the absolute value of −2⁶³ needs a float.
        noise = np.abs((reports[:, None] - values).astype(np.float64))
        last = len(logs) - 1
        excess_ratio = np.maximum(noise / last, 1.0)
        falling = log_of(excess_ratio) * (1 / self.planned - 1) - (excess_ratio - 1) * (last / self.scale)
        return logs[np.minimum(noise, last).astype(np.int64)] + falling

    def _polya(self, uniforms: FloatArray) -> IntArray:
        """Return the least k ≥ 0 with P[X > k] < 1 − u: how many tails are at least 1 − u."""
        tails = _tails(self.scale, self.planned)
        upper_tails = 1 - uniforms
        counts = len(tails) - np.searchsorted(tails[::-1], upper_tails)
        (farther,) = np.nonzero(counts == len(tails))
        if len(farther):
            counts[farther] = _least_far(upper_tails[farther], self.scale, self.planned, len(tails) - 1)
        return counts


def _tails_at(counts: IntArray, scale: float, planned: int) -> FloatArray:
    """Return P[X > k]: a regularized incomplete beta function."""
    tails: FloatArray = sp.special.betaincc(1 / planned, counts + 1.0, -expm1(-1 / scale)).astype(
        np.float64, copy=False
    )
    return tails


@functools.lru_cache(maxsize=16)
def _tails(scale: float, planned: int) -> FloatArray:
    """Return P[X > k] from k = 0 on, of as many as are kept."""
    number = min(math.ceil(_SCALES_OF_UNIFORMS * scale) + 1, _MOST_OF_TABLE)
    return np.minimum.accumulate(_tails_at(np.arange(number), scale, planned))


def _least_far(upper_tails: FloatArray, scale: float, planned: int, start: int) -> IntArray:
    """Return the least k > start with P[X > k] < wanted, which is no more than P[X > start]."""
    places, tails = _far_tails(scale, planned, start)
    at = len(places) - np.searchsorted(tails[::-1], upper_tails)
    low, high = places[at - 1], places[at]
    part = log_of(tails[at - 1] / upper_tails) / log_of(
        tails[at - 1] / tails[at]
    )  # linear interpolation has an error of a few counts
    guess = low + ((high - low) * part).astype(np.int64)
    tries = [guess - _NEAR, guess + _NEAR]
    while (is_open := high - low > 1).any():
        middle = np.clip(tries.pop(), low, high) if tries else (low + high) // 2
        is_above = _tails_at(middle, scale, planned) >= upper_tails
        low, high = np.where(is_open & is_above, middle, low), np.where(is_open & ~is_above, middle, high)
    return high


@functools.lru_cache(maxsize=256)
def _far_tails(scale: float, planned: int, start: int) -> tuple[IntArray, FloatArray]:
    """Return counts from `start` on, farther and farther apart, and their P[X > k]; the last is below every uniform."""
    places = np.geomspace(start, math.ceil(_SCALES_OF_UNIFORMS * scale) + start + 1, _MOST_OF_TABLE).astype(np.int64)
    places = np.unique(places)
    return places, np.minimum.accumulate(_tails_at(places, scale, planned))


def _draw_share(scale: float, planned: int, randbelow: RandBelow) -> int:
    decay = (1 / Fraction(scale)).as_integer_ratio()
    sizes = (_draw_logarithmic(*decay, randbelow) for _ in range(_draw_poisson(*_parts(scale, planned), randbelow)))
    return sum(size if randbelow(2) else -size for size in sizes)


@functools.lru_cache(maxsize=64)
def _parts(scale: float, planned: int) -> tuple[int, int, int]:
    """Return parts of rate f ≤ 1/2 each, and 2f, rounded up: of logarithmic numbers of a share, of both signs."""
    context = decimal.Context(prec=_DIGITS)
    gap = context.subtract(1, context.exp(context.divide(-1, decimal.Decimal(scale))))
    rate = context.divide(context.multiply(-2, context.ln(gap)), planned)
    doubled = Fraction(math.floor(context.multiply(rate, 2**_RATE_BITS)) + 2, 2 ** (_RATE_BITS - 1))
    parts = math.ceil(doubled)
    return parts, *(doubled / parts).as_integer_ratio()


def _draw_poisson(parts: int, numerator: int, denominator: int, randbelow: RandBelow) -> int:
    """Draw in parts of rate f ≤ 1/2 each: n of probability 2^(−n−1), accepted with (2f)^n/n!."""
    total = 0
    for _ in range(parts):
        while True:
            number = _draw_heads(randbelow)
            if not number or all(randbelow(denominator * place) < numerator for place in range(1, number + 1)):
                break
        total += number
    return total


def _draw_logarithmic(numerator: int, denominator: int, randbelow: RandBelow) -> int:
    """Draw L with P[L = k] ∝ e^(−k·decay)/k, for a rational decay = numerator/denominator.

    The block [2^j, 2^(j+1)) has weight e^(−2^j·decay). The first J blocks, up to the scale, are proposed uniformly. The
    m-th block after them is proposed with probability 2^(−m−1), by coin flips, and accepted with probability
    (2/e)^(m+1)·e^(−(2^j·decay − m − 1)) to correct the weight. Within a block a uniform k is accepted with probability
    (2^j/k)·e^(−(k − 2^j)·decay). If J = 0, all weights are divided by the first one, 2·e^(−decay).
    """
    num_small = max(0, (-(-denominator // numerator) - 1).bit_length())
    while True:
        block = randbelow(num_small + 1)
        is_small, heads = block < num_small, 0
        if not is_small:
            heads = _draw_heads(randbelow)
            block += heads
        least = 1 << block
        heads += not is_small and num_small > 0
        remainder = (least - (not num_small)) * numerator - heads * denominator
        if not all(_happens_two_over_e(randbelow) for _ in range(heads)) or not happens_exp(
            remainder, denominator, randbelow
        ):
            continue
        new_number = randbelow(least)
        if randbelow(least + new_number) < least and happens_exp(new_number * numerator, denominator, randbelow):
            return least + new_number


def _draw_heads(randbelow: RandBelow) -> int:
    """Return how many heads come before the first tail."""
    number = 0
    while randbelow(2) < 1:
        number += 1
    return number


def _happens_two_over_e(randbelow: RandBelow) -> bool:
    """Return whether an event of probability 2/e = 1 − 1/3 + 1/12 − … has happened."""
    number = 3
    while randbelow(number) < 1:
        number += 1
    return number % 2 == 1
