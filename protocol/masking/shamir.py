"""Shamir's shares of a seed over the integers modulo 2²⁵⁵ − 19.

A seed of 31 bytes is the constant term of a polynomial whose other coefficients are uniform; a holder has its value at
a place of its own. As many values as there are coefficients tell the seed, and fewer tell nothing.

Source: Shamir (1979).
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

PRIME: Final = 2**255 - 19
SEED_BYTES: Final = 31
SHARE_BYTES: Final = 32
_COEFFICIENT_BYTES: Final = 48  # modulo the prime within 2^(−128) of uniform
_BLOCK: Final = 16  # coefficients, after which a number is reduced: it grows by a holder's few bits for each


def entropy_bytes(needed: int) -> int:
    """Return how many uniform bytes `split` takes."""
    return (needed - 1) * _COEFFICIENT_BYTES


def split(seed: bytes, holders: Sequence[int], *, needed: int, entropy: bytes) -> list[bytes]:
    """Return a share for each holder.

    Args:
        seed: `SEED_BYTES` bytes.
        holders: distinct numbers ≥ 1.
        needed: how many shares tell the seed, from 1 to the number of holders.
        entropy: `entropy_bytes(needed)` uniform bytes.

    Raises:
        ValueError: a length, a number or a holder does not fit.
    """
    fits = len(seed) == SEED_BYTES and len(entropy) == entropy_bytes(needed)
    if not fits or not 1 <= needed <= len(holders) or len({*holders}) < len(holders) or min(holders) < 1:
        raise ValueError(f"cannot share a seed among {len(holders)} holders of whom {needed} are needed")
    ends = range(0, len(entropy), _COEFFICIENT_BYTES)
    others = [int.from_bytes(entropy[end : end + _COEFFICIENT_BYTES], "little") % PRIME for end in ends]
    coefficients = [*others, int.from_bytes(seed, "little")]
    blocks = [coefficients[start : start + _BLOCK] for start in range(0, needed, _BLOCK)]
    shares: list[bytes] = []
    for holder in holders:
        value = 0
        for block in blocks:
            for coefficient in block:
                value = value * holder + coefficient
            value %= PRIME
        shares.append(value.to_bytes(SHARE_BYTES, "little"))
    return shares


def combine(shares: Mapping[int, bytes], *, needed: int) -> bytes:
    """Return the seed of at least so many shares, by their holders.

    Raises:
        ValueError: there are fewer, or one is not of this seed, as far as that shows: of more shares than are needed,
            the first tell the same seed as the last.
    """
    if len(shares) < needed:
        raise ValueError(f"{needed} shares are needed, got {len(shares)}")
    holders = sorted(shares)
    values = {holder: int.from_bytes(shares[holder], "little") for holder in holders}
    totals = {_value_at_zero(some, values) for some in (tuple(holders[:needed]), tuple(holders[-needed:]))}
    (total, *others) = totals
    if others or max(values.values()) >= PRIME or total.bit_length() > 8 * SEED_BYTES:
        raise ValueError("the shares are not of one seed")
    return total.to_bytes(SEED_BYTES, "little")


def _value_at_zero(holders: tuple[int, ...], values: Mapping[int, int]) -> int:
    factors = _factors_at_zero(holders)
    return sum(factor * values[holder] for factor, holder in zip(factors, holders, strict=True)) % PRIME


@functools.lru_cache(maxsize=4096)
def _factors_at_zero(holders: tuple[int, ...]) -> tuple[int, ...]:
    """Return Lagrange's factors for the value at 0: Π x_j/(x_j − x_i) over all others j.

    One inverse is taken, of the product of all x_i·Π (x_j − x_i), and from it each other one.
    """
    below = [holder * math.prod(other - holder for other in holders if other != holder) % PRIME for holder in holders]
    before = [*itertools.accumulate(below, lambda product, own: product * own % PRIME, initial=1)]
    above, inverse = math.prod(holders), pow(before.pop(), -1, PRIME)
    factors: list[int] = []
    for own, product in zip(reversed(below), reversed(before), strict=True):
        factors.append(above * inverse * product % PRIME)
        inverse = inverse * own % PRIME
    return tuple(reversed(factors))
