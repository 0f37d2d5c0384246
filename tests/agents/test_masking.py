"""The primitives of masked sums against published vectors, and what they refuse."""

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from psephos.agents.masking import Cryptography, signer_of
from psephos.protocol.masking.scalars import ORDER

PRIMITIVES = Cryptography()
KEY = bytes(range(32))


def test_a_shared_secret_is_as_published() -> None:
    """RFC 7748, Section 5.2, the first vector and the first of the iterated ones."""
    private = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    public = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    assert (
        PRIMITIVES.agreement(private)(public).hex()
        == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    )
    base = (9).to_bytes(32, "little")
    assert PRIMITIVES.agreement(base)(base).hex() == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"


def test_points_are_as_published() -> None:
    """RFC 8032, Sections 5.1 and 7.1: the base point, and the first key, of the scalar that its secret hashes to."""
    base = PRIMITIVES.base((1).to_bytes(32, "little"))
    assert base.hex() == "58" + "66" * 31
    secret = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    clamped = int.from_bytes(hashlib.sha512(secret).digest()[:32], "little") & (2**254 - 8) | 2**254
    scalar = (clamped % ORDER).to_bytes(32, "little")
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert PRIMITIVES.base(scalar).hex() == PRIMITIVES.times(scalar, base).hex() == public
    two, three = (PRIMITIVES.base(number.to_bytes(32, "little")) for number in (2, 3))
    assert PRIMITIVES.plus(base, two) == three
    assert PRIMITIVES.is_point(three)


OUTSIDE = {
    "0": (1).to_bytes(32, "little"),
    "of order 2": (2**255 - 20).to_bytes(32, "little"),
    "of order 4": bytes(32),
    "of order 8": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "of the base point and one of order 2": None,
    "not on the curve": (2).to_bytes(32, "little"),
    "not reduced": (2**255 - 1).to_bytes(32, "little"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_no_point_of_the_group_is_refused(name: str) -> None:
    base = PRIMITIVES.base((1).to_bytes(32, "little"))
    point = OUTSIDE[name] or PRIMITIVES.plus(base, OUTSIDE["of order 2"] or b"")
    assert not PRIMITIVES.is_point(point)
    with pytest.raises(ValueError, match="no point of the group of prime order"):
        PRIMITIVES.times((5).to_bytes(32, "little"), point)


def test_the_scalar_0_and_what_is_on_no_curve_are_refused() -> None:
    """By `ValueError`s, which judges of others' scalars expect: the bindings have their own."""
    base = PRIMITIVES.base((1).to_bytes(32, "little"))
    with pytest.raises(ValueError, match="the zero of the group"):
        PRIMITIVES.base(bytes(32))
    with pytest.raises(ValueError, match="no point of the group"):
        PRIMITIVES.times(bytes(32), base)
    with pytest.raises(ValueError, match="no points of the curve"):
        PRIMITIVES.plus(base, (2).to_bytes(32, "little"))


def test_the_generator_is_as_published() -> None:
    """RFC 8439, Appendix A.1, the first vector: all zeros."""
    assert PRIMITIVES.expand(bytes(32), 16).hex() == "76b8e0ada0f13d90405d6ae55386bd28"
    assert PRIMITIVES.expand(KEY, 100)[:40] == PRIMITIVES.expand(KEY, 40)


def test_the_generator_counts_its_blocks_however_long_a_row_is() -> None:
    """RFC 8439, Section 2.4: block i is that of counter i, here of a cipher of its own; and no two are alike."""
    for length in (1, 64, 65, 1_000, 8_192, 100_001, 1 << 21):
        stream = PRIMITIVES.expand(KEY, length)
        assert len(stream) == length
        number = -(-length // 64)
        for place in {*range(0, number, number // 50 + 1), number - 1}:
            counter_and_nonce = place.to_bytes(4, "little") + bytes(12)
            block = Cipher(ChaCha20(KEY, counter_and_nonce), mode=None).encryptor().update(bytes(64))
            assert stream[64 * place : 64 * (place + 1)] == block[: length - 64 * place]
        assert len({stream[at : at + 64] for at in range(0, length, 64)}) == number


def test_derived_bytes_are_as_published() -> None:
    """RFC 5869, Appendix A.3: no salt and no info."""
    derived = PRIMITIVES.derive(b"\x0b" * 22, b"", 42).hex()
    assert derived == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
    assert PRIMITIVES.derive(KEY, b"a", 32) != PRIMITIVES.derive(KEY, b"b", 32)


@pytest.mark.parametrize("number", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18])
def test_a_key_of_low_order_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r".*"):
        PRIMITIVES.agreement(KEY)(number.to_bytes(32, "little"))


def test_a_box_opens_by_its_key_about_its_matter_alone() -> None:
    box = PRIMITIVES.seal(KEY, b"share", b"about")
    assert PRIMITIVES.open(KEY, box, b"about") == b"share"
    for key, changed, about in (
        (bytes(32), box, b"about"),
        (KEY, box[:-1] + bytes([box[-1] ^ 1]), b"about"),
        (KEY, box, b"else"),
        (KEY, b"", b"about"),
    ):
        with pytest.raises(ValueError, match="the box does not open"):
            PRIMITIVES.open(key, changed, about)


def test_a_signature_is_of_its_key_and_its_message_alone() -> None:
    """RFC 8032, Section 7.1, the first vector: of nothing."""
    private = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    signature = signer_of(private)(b"")
    assert signature.hex().startswith("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155")
    assert PRIMITIVES.verify(public, signature, b"")
    for key, signed, message in (
        (public, signature, b"x"),
        (KEY, signature, b""),
        (public, bytes(64), b""),
        (public, b"", b""),
        (b"", signature, b""),
        (public[:-1], signature, b""),
        (public + b"x", signature, b""),
        (public, signature[:-1], b"x"),
        (public, signature + b"x", b""),
    ):
        assert not PRIMITIVES.verify(key, signed, message)


@pytest.mark.parametrize("small", ["0", "of order 2", "of order 4", "of order 8"])
@pytest.mark.parametrize("drawn", [0, 7])
def test_a_signature_whose_owner_means_to_divide_judges_is_judged_alike(small: str, drawn: int) -> None:
    """PyNaCl, `cryptography` and so `examples/verdict.py`: what one of them takes, evidence is."""

    def encode(number: int) -> bytes:
        return (number % ORDER).to_bytes(32, "little")

    secret, point = 12, OUTSIDE[small] or b""
    key = PRIMITIVES.base(encode(secret))
    for public, first in (
        (key, PRIMITIVES.plus(PRIMITIVES.base(encode(drawn)), point) if drawn else point),
        (PRIMITIVES.plus(key, point), PRIMITIVES.base(encode(drawn or 1))),
    ):
        challenge = int.from_bytes(hashlib.sha512(first + public + b"word").digest(), "little")
        signature = first + encode((drawn or (public != key)) + challenge * secret)
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, b"word")
            is_taken = True
        except InvalidSignature:
            is_taken = False
        assert PRIMITIVES.verify(public, signature, b"word") == is_taken
