"""Shares of a seed: enough of any tell it, fewer tell nothing, and what does not fit is refused."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.masking.shamir import PRIME, combine, entropy_bytes, split

SEED = bytes(range(1, 32))


@given(
    st.binary(min_size=31, max_size=31),
    st.sets(st.integers(1, 10_000), min_size=1, max_size=9),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
def test_as_many_as_are_needed_tell_the_seed(seed: bytes, holders: set[int], needed: int, draw: random.Random) -> None:
    places = sorted(holders)
    needed = min(needed, len(places))
    entropy = bytes(draw.randrange(256) for _ in range(entropy_bytes(needed)))
    shares = dict(zip(places, split(seed, places, needed=needed, entropy=entropy), strict=True))
    for some in itertools.islice(itertools.combinations(places, needed), 20):
        assert combine({place: shares[place] for place in some}, needed=needed) == seed
    assert combine(shares, needed=needed) == seed


def test_shares_are_values_of_the_polynomial_by_hand() -> None:
    """Seed 5 and slope 3: 8, 11, 14, … modulo the prime."""
    seed, slope = (5).to_bytes(31, "little"), (3).to_bytes(48, "little")
    shares = split(seed, [1, 2, 3], needed=2, entropy=slope)
    assert [int.from_bytes(share, "little") for share in shares] == [8, 11, 14]
    below = split(seed, [1], needed=1, entropy=b"")
    assert int.from_bytes(below[0], "little") == 5
    wide = split(seed, [1, 2], needed=2, entropy=(PRIME - 1).to_bytes(48, "little"))
    assert [int.from_bytes(share, "little") for share in wide] == [4, 3]


def test_one_share_less_fits_each_seed() -> None:
    """With one share of two, each seed has exactly one polynomial."""
    (share, _) = split(SEED, [4, 9], needed=2, entropy=bytes(range(48)))
    for other in (bytes(31), SEED, b"\xff" * 31):
        slope = (int.from_bytes(share, "little") - int.from_bytes(other, "little")) * pow(4, -1, PRIME) % PRIME
        assert split(other, [4, 9], needed=2, entropy=slope.to_bytes(48, "little"))[0] == share


def test_what_is_no_share_of_one_seed_is_noticed_where_it_shows() -> None:
    shares = dict(enumerate(split(SEED, [1, 2, 3], needed=3, entropy=bytes(range(96))), start=1))
    assert combine(shares, needed=3) == SEED
    noticed = 0
    for change in range(1, 50):
        wrong = pow(3, 1_000 + change, PRIME)
        try:
            assert combine({**shares, 2: wrong.to_bytes(32, "little")}, needed=3) != SEED
        except ValueError:
            noticed += 1
    assert noticed > 40
    with pytest.raises(ValueError, match="not of one seed"):
        combine({**shares, 1: b"\xff" * 32}, needed=3)


def test_too_few_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="3 shares are needed, got 2"):
        combine({1: bytes(32), 2: bytes(32)}, needed=3)


@pytest.mark.parametrize(
    ("seed", "holders", "needed", "length"),
    [
        (bytes(30), [1, 2], 2, 48),
        (bytes(31), [1, 1], 2, 48),
        (bytes(31), [0, 1], 2, 48),
        (bytes(31), [1, 2], 3, 96),
        (bytes(31), [1, 2], 0, 0),
        (bytes(31), [1, 2], 2, 47),
    ],
)
def test_what_cannot_be_shared_is_refused(seed: bytes, holders: list[int], needed: int, length: int) -> None:
    with pytest.raises(ValueError, match="cannot share a seed"):
        split(seed, holders, needed=needed, entropy=bytes(length))
