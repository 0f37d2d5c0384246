"""The primitives of masked sums: X25519, HKDF with SHA-256, ChaCha20-Poly1305 and Ed25519, by `cryptography`.

Operations of Ed25519's group, which `cryptography` lacks, are from PyNaCl.

Each key of a box is derived for one box of one phase, so the nonce may be zero. The same holds for the generator.

Source: RFC 7748, RFC 5869, RFC 8439, RFC 8032.
"""

import functools
from collections.abc import Callable
from typing import Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl import bindings
from nacl.exceptions import CryptoError

from ..protocol.randomness import NoiseSource

_NONCE: Final = bytes(12)
_COUNTER_AND_NONCE: Final = bytes(16)


class Cryptography:
    """The stateless primitives that `psephos.protocol.masking` needs.

    Examples:
        >>> tools = Cryptography()
        >>> box = tools.seal(bytes(32), b"secret", b"about")
        >>> tools.open(bytes(32), box, b"about")
        b'secret'
    """

    def base(self, scalar: bytes) -> bytes:
        """Return the point that a scalar tells of the base point; ValueError for 0 (Ed25519)."""
        try:
            return bindings.crypto_scalarmult_ed25519_base_noclamp(scalar)
        except CryptoError:
            raise ValueError("the zero of the group") from None

    def times(self, scalar: bytes, point: bytes) -> bytes:
        """Return a point taken so many times; ValueError unless it is of the group of prime order (Ed25519)."""
        try:
            return bindings.crypto_scalarmult_ed25519_noclamp(scalar, point)
        except CryptoError:
            raise ValueError("no point of the group of prime order") from None

    def plus(self, first: bytes, second: bytes) -> bytes:
        """Return the sum of two points; ValueError where one is none (Ed25519)."""
        try:
            return bindings.crypto_core_ed25519_add(first, second)
        except CryptoError:
            raise ValueError("no points of the curve") from None

    def is_point(self, encoded: bytes) -> bool:
        """Return whether 32 bytes are a point of the group of prime order, and not its zero (Ed25519)."""
        return bindings.crypto_core_ed25519_is_valid_point(encoded)

    def agreement(self, private: bytes) -> Callable[[bytes], bytes]:
        """Return a function from public keys to shared secrets (X25519); ValueError for a key of low order."""
        private_key = X25519PrivateKey.from_private_bytes(
            private
        )  # this also computes the public key, which is half of the work
        return lambda public: private_key.exchange(X25519PublicKey.from_public_bytes(public))

    def derive(self, secret: bytes, info: bytes, length: int) -> bytes:
        """Derive up to 8,160 bytes (HKDF)."""
        return HKDF(algorithm=hashes.SHA256(), length=length, salt=None, info=info).derive(secret)

    def expand(self, key: bytes, length: int) -> bytes:
        """Return this many bytes of ChaCha20's key stream."""
        return Cipher(ChaCha20(key, _COUNTER_AND_NONCE), mode=None).encryptor().update(bytes(length))

    def seal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        """Return a box (ChaCha20-Poly1305)."""
        return ChaCha20Poly1305(key).encrypt(_NONCE, content, about)

    def open(self, key: bytes, box: bytes, about: bytes) -> bytes:
        """Decrypt a box; ValueError if the key does not open it."""
        try:
            return ChaCha20Poly1305(key).decrypt(_NONCE, box, about)
        except InvalidTag:
            raise ValueError("the box does not open") from None

    def verify(self, key: bytes, signature: bytes, message: bytes) -> bool:
        """Return whether a signature is the key's owner's (Ed25519)."""
        if len(key) != bindings.crypto_sign_PUBLICKEYBYTES:
            return False  # the binding does not check lengths
        try:
            if bindings.crypto_sign_open(signature + message, key) == message:  # twice as fast as the other
                return True
        except (CryptoError, ValueError):
            pass  # it refuses some signatures that only owners can make, whose first point is of small order
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class SharedCryptography(Cryptography):
    """Cryptography for a process that runs all parties, as simulations do: it verifies each signature once."""

    def verify(self, key: bytes, signature: bytes, message: bytes) -> bool:
        """Return whether a signature is the key's owner's (Ed25519)."""
        return _is_signed(key, signature, message)


_is_signed: Final = functools.lru_cache(maxsize=1 << 10)(Cryptography().verify)


def signer_of(private: bytes) -> Callable[[bytes], bytes]:
    """Return a function that signs with a private key of 32 bytes (Ed25519)."""
    return Ed25519PrivateKey.from_private_bytes(private).sign


def draw_signature_keys(
    noise: NoiseSource, *, protocol: str, number: int
) -> tuple[list[Callable[[bytes], bytes]], list[bytes]]:
    """Return signing functions and public keys for all parties of a session that one process runs.

    In a simulation they follow from its seed.

    Examples:
        >>> from psephos.protocol import SimulatedNoise
        >>> signers, keys = draw_signature_keys(SimulatedNoise(1, session="council"), protocol="mean", number=2)
        >>> Cryptography().verify(keys[0], signers[0](b"yes"), b"yes")
        True
    """
    address = {"protocol": protocol, "phase": "keys of signatures"}
    private = [Ed25519PrivateKey.from_private_bytes(noise.entropy(**address, place=place)) for place in range(number)]
    return [key.sign for key in private], [key.public_key().public_bytes_raw() for key in private]
