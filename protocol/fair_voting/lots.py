"""Lots for ties: anybody with the tally draws the same lot from it, and no position in a list is favored.

A tally of randomized reports, or of noisy sums, has enough randomness, and lots computed from it cost no privacy. A
party that knows all other reports could foresee the lot for each possible report, but lots only break ties.
"""

import hashlib

from ..arrays import IntArray

_BYTES = 8


def lot_of(totals: IntArray) -> float:
    """Return a tally's lot in [0, 1): BLAKE2b of its totals, as little-endian numbers of 64 bits, personalized."""
    digest = hashlib.blake2b(totals.astype("<i8").tobytes(), digest_size=_BYTES, person=b"psephos-lots-1")
    return (int.from_bytes(digest.digest(), "big") >> 11) * 2.0**-53


def key_of(totals: IntArray) -> int:
    """Return a tally's key of draws, < 2**128: as its lot, and independent of that."""
    digest = hashlib.blake2b(totals.astype("<i8").tobytes(), digest_size=2 * _BYTES, person=b"psephos-draws-1")
    return int.from_bytes(digest.digest(), "big")


def draw_lot(tied: list[int], lot: float) -> int:
    """Return the one of those that tie whom a lot names, all alike."""
    return tied[min(int(lot * len(tied)), len(tied) - 1)]
