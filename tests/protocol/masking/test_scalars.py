"""Shares modulo ℓ against a plain reference, the test that they are of one polynomial, and X25519's forms of points."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from psephos.agents.masking import Cryptography
from psephos.protocol.masking.party import agreements
from psephos.protocol.masking.scalars import (
    ENTROPY_BYTES,
    ORDER,
    encode_scalar,
    exchange_key_of,
    is_of_one_polynomial,
    montgomery_of,
    scalar_from,
    scalars_of,
    value_at_zero,
    values_at,
)
from thoroughness import draws

PRIMITIVES = Cryptography()
SCALARS = st.integers(0, ORDER - 1) | st.sampled_from([0, 1, ORDER - 1, 2**252])
COORDINATE_PRIME = 2**255 - 19


def plain_value(polynomial: Sequence[int], number: int) -> int:
    """Return a polynomial's value term by term, the constant term being the last one."""
    return sum(own * number**power for power, own in enumerate(reversed(polynomial))) % ORDER


def plain_at_zero(values: dict[int, int]) -> int:
    """Return by fractions what the polynomial through all of these has at 0."""
    total = 0
    for number, value in values.items():
        factor = Fraction(value)
        for other in values.keys() - {number}:
            factor *= Fraction(other, other - number)
        total += factor.numerator * pow(factor.denominator, -1, ORDER)
    return total % ORDER


@given(
    st.integers(1, 3).flatmap(
        lambda many: st.integers(1, 12).flatmap(
            lambda length: st.lists(st.lists(SCALARS, min_size=length, max_size=length), min_size=many, max_size=many)
        )
    ),
    st.lists(st.integers(1, 10_000) | st.just(2**31 - 1), min_size=1, max_size=6, unique=True),
)
def test_values_are_those_of_each_polynomial_by_itself(polynomials: list[list[int]], numbers: list[int]) -> None:
    expected = [tuple(plain_value(each, number) for each in polynomials) for number in numbers]
    assert list(values_at(numbers, polynomials)) == expected


@pytest.mark.parametrize(("length", "number"), [(100, 3), (700, 1_000), (60, 10**6)])
def test_values_of_the_largest_coefficients_do_not_run_into_one_another(length: int, number: int) -> None:
    polynomials = [[ORDER - 1] * length, [ORDER - 1] * length, [ORDER - 1] * length]
    expected = (plain_value(polynomials[0], number),) * 3
    assert list(values_at([number, 1], polynomials)) == [expected, (-length % ORDER,) * 3]


@given(
    st.lists(SCALARS, min_size=1, max_size=9),
    st.sets(st.integers(1, 10_000), min_size=9, max_size=12),
    st.randoms(use_true_random=False),
)
def test_as_many_as_are_needed_tell_the_secret(terms: list[int], numbers: set[int], draw: random.Random) -> None:
    values = {number: plain_value(terms, number) for number in numbers}
    some = {number: values[number] for number in draw.sample(sorted(numbers), len(terms))}
    assert value_at_zero(some, len(terms)) == value_at_zero(values, len(terms)) == terms[-1] == plain_at_zero(some)


@pytest.mark.parametrize("size", [1, 2, 9, 63, 64, 65, 128, 130])
@pytest.mark.parametrize("most", [150, 1_000, 2**16, 2**31 - 1, 2**31])
def test_shares_at_however_many_numbers_of_any_length_tell_the_secret(size: int, most: int) -> None:
    draw = random.Random(size * most)
    numbers = [most, *draw.sample(range(1, most), size - 1)]
    for needed in {1, size // 2 or 1, size}:
        terms = [draw.randrange(ORDER) for _ in range(needed)]
        values = {number: value for number, (value,) in zip(numbers, values_at(numbers, [terms]), strict=True)}
        assert value_at_zero(values, needed) == terms[-1]
        assert is_of_one_polynomial(values, needed, seed=b"a seed of one")
        values[most] ^= 1
        assert is_of_one_polynomial(values, needed, seed=b"a seed of one") == (needed == size)


def test_too_few_shares_are_refused_and_one_less_fits_each_secret() -> None:
    with pytest.raises(ValueError, match="2 shares are given: give 3"):
        value_at_zero({1: 5, 2: 6}, 3)
    for secret in (0, 7, ORDER - 1):  # of one share of two, each secret has one polynomial
        slope = (1_234 - secret) * pow(4, -1, ORDER) % ORDER
        assert list(values_at([4], [[slope, secret]])) == [(1_234,)]


@given(
    st.lists(SCALARS, min_size=1, max_size=6),
    st.sets(st.integers(1, 10_000), min_size=7, max_size=12),
    st.binary(min_size=32, max_size=32),
    st.integers(1, ORDER - 1),
)
def test_values_of_one_polynomial_pass_and_none_of_them_may_be_another(
    terms: list[int], numbers: set[int], seed: bytes, by: int
) -> None:
    values = {number: plain_value(terms, number) for number in numbers}
    needed = len(terms)
    assert is_of_one_polynomial(values, needed, seed=seed)
    for number in numbers:
        assert not is_of_one_polynomial({**values, number: (values[number] + by) % ORDER}, needed, seed=seed)
    few = dict([*values.items()][:needed])
    assert is_of_one_polynomial(dict.fromkeys(few, by), needed, seed=seed)


def test_a_polynomial_with_one_term_more_is_found_by_each_seed() -> None:
    draw = random.Random(7)
    for _ in range(draws(50, full=2_000)):
        needed, number = draw.randrange(1, 8), draw.randrange(9, 20)
        terms = [draw.randrange(1, ORDER), *(draw.randrange(ORDER) for _ in range(needed))]
        values = {place: plain_value(terms, place) for place in draw.sample(range(1, 60), number)}
        assert not is_of_one_polynomial(values, needed, seed=draw.randbytes(32))
        assert is_of_one_polynomial(values, needed + 1, seed=draw.randbytes(32))


def test_scalars_have_one_form_of_32_bytes() -> None:
    assert scalar_from(encode_scalar(ORDER - 1)) == ORDER - 1
    assert scalar_from(ORDER.to_bytes(32, "little")) is None
    assert scalar_from(b"\xff" * 32) is None
    assert scalar_from(encode_scalar(5)[:31]) is None
    assert scalar_from(encode_scalar(5) + b"\0") is None


def test_scalars_are_of_48_bytes_each() -> None:
    entropy = bytes(range(2 * ENTROPY_BYTES))
    halves = entropy[:ENTROPY_BYTES], entropy[ENTROPY_BYTES:]
    assert scalars_of(entropy) == [int.from_bytes(half, "little") % ORDER for half in halves]
    assert scalars_of(b"") == []


def test_the_base_point_is_x25519_s() -> None:
    """RFC 7748, Section 4.1: u is 9 where y is 4/5."""
    assert montgomery_of([PRIMITIVES.base(encode_scalar(1))]) == [(9).to_bytes(32, "little")]


def test_points_at_which_there_is_no_inverse_become_zero_and_disturb_no_others() -> None:
    one = (1).to_bytes(32, "little")
    other = PRIMITIVES.base(encode_scalar(77))
    opposite_sign = one[:31] + b"\x80"
    (zero, right, again) = montgomery_of([one, other, opposite_sign])
    assert (zero, again) == (bytes(32), bytes(32))
    assert [right] == montgomery_of([other])
    y = COORDINATE_PRIME - 1  # of order 2
    assert montgomery_of([y.to_bytes(32, "little")]) == [bytes(32)]


def near_the_limits() -> list[int]:
    """Return scalars s whose eighth modulo ℓ is next to where X25519's form changes, and others."""
    eighths = [2**251 - 1, 2**251, 2**251 + 1, ORDER - 2**251, ORDER - 2**251 + 1, 1, ORDER - 1, ORDER // 2]
    draw = random.Random(5)
    drawn = [draw.randrange(1, ORDER) for _ in range(draws(30, full=2_000))]
    return [*(8 * eighth % ORDER for eighth in eighths), 1, 2, 8, ORDER - 1, ORDER - 8, *drawn]


def test_by_a_scalar_x25519_multiplies_as_the_group_does() -> None:
    """`cryptography` clamps: the form has to be one that clamping leaves, and of the scalar or its opposite."""
    other = PRIMITIVES.base(encode_scalar(1_000_003))
    without_form = 0
    for scalar in near_the_limits():
        expected = montgomery_of([PRIMITIVES.times(encode_scalar(scalar), other)])
        assert agreements(scalar, [other], PRIMITIVES) == expected
        private, eighth = exchange_key_of(scalar), scalar * pow(8, -1, ORDER) % ORDER
        if private is None:
            without_form += 1
            assert min(eighth, ORDER - eighth) <= ORDER - 2**252
            continue
        assert private[0] % 8 == 0
        assert 0x40 <= private[31] < 0x80
        assert int.from_bytes(private, "little") % ORDER in {scalar, ORDER - scalar}
        shared = X25519PrivateKey.from_private_bytes(private).exchange(
            X25519PublicKey.from_public_bytes(*montgomery_of([other]))
        )
        assert [shared] == expected
        own = X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
        assert [own] == montgomery_of([PRIMITIVES.base(encode_scalar(scalar))])
    assert without_form == 4
