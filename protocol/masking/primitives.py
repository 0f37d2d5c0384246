"""The interface to the cryptography of masking, since this package has no cryptographic dependencies.

`psephos.agents.masking` implements it with X25519, HKDF, ChaCha20-Poly1305 and Ed25519. Nothing here draws: all secrets
are derived from a party's root of 32 bytes.
"""

import functools
from collections.abc import Callable
from typing import Final, Protocol

from ..errors import require

PRIME: Final = 2**255 - 19
KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_D: Final = -121665 * pow(121666, -1, PRIME) % PRIME  # of Ed25519's curve −x² + y² = 1 + d·x²·y²
_OF_ORDER_8: Final = 2707385501144840649318225287225658788936804267575313519463743609750303402022
"""The y of a point of order 8: its double has y = 0 and order 4, so d·y⁴ + 2·y² = 1. The other such y is −y."""
_SMALL: Final = frozenset((0, 1, PRIME - 1, _OF_ORDER_8, PRIME - _OF_ORDER_8))
_KEYS_KNOWN: Final = 1 << 13


def has_large_order(key: bytes) -> bool:
    """Return whether no point with this y has an order that divides 8; for such a key anybody could forge signatures.

    Examples:
        >>> has_large_order(bytes(32)), has_large_order((9).to_bytes(32, "little"))
        (False, True)
    """
    y = _y_of(key)
    return y < PRIME and y not in _SMALL


def check_signature_key(party: str, key: bytes, *, may_be_nobodys: bool = False) -> None:
    """Raise ConfigurationError unless a party's signature key is an Ed25519 key for which nobody else can sign.

    Args:
        may_be_nobodys: whether to skip the check that the key is a point of the curve, which takes longer than checking
            a signature. Nobody can sign for a key that is no point.
    """
    allowed = f"{KEY_BYTES} bytes that are a point of Ed25519's curve, of no small order: as `psephos enroll` makes"
    is_right = len(key) == KEY_BYTES and has_large_order(key) and (may_be_nobodys or _is_point(key))
    require(is_right, f"signature_key of {party!r}", key.hex(), allowed)


@functools.lru_cache(_KEYS_KNOWN)
def _is_point(key: bytes) -> bool:
    """Return whether there is a point of this y: x² = (y² − 1)/(d·y² + 1) is a square, as is their product if so."""
    y = _y_of(key)
    return pow((y * y - 1) * (_D * y * y + 1), PRIME // 2, PRIME) == 1


def _y_of(key: bytes) -> int:
    return int.from_bytes(key, "little") % 2**255  # without the highest bit, the sign of x


class Primitives(Protocol):
    """Ed25519's group, key agreement, signatures, boxes and a generator."""

    def base(self, scalar: bytes) -> bytes:
        """Return the point that 32 bytes, a scalar below ℓ, tell of the base point; ValueError for 0."""
        ...

    def times(self, scalar: bytes, point: bytes) -> bytes:
        """Return a point taken so many times; ValueError unless it is of the group of prime order, and neither is 0."""
        ...

    def plus(self, first: bytes, second: bytes) -> bytes:
        """Return the sum of two points; ValueError where one is none."""
        ...

    def is_point(self, encoded: bytes) -> bool:
        """Return whether 32 bytes are a point of the group of prime order, and not its zero."""
        ...

    def agreement(self, private: bytes) -> Callable[[bytes], bytes]:
        """Return a function from a public key to its shared secret with the private key, 32 bytes each (X25519).

        The function raises ValueError for a public key of low order, whose shared secret would be known to everybody.
        """
        ...

    def derive(self, secret: bytes, info: bytes, length: int) -> bytes:
        """Return bytes that look uniform to everybody without the secret."""
        ...

    def expand(self, key: bytes, length: int) -> bytes:
        """Return bytes of the generator that is seeded by this key of 32 bytes."""
        ...

    def seal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        """Return a box, which the key opens and which is about this alone; a key seals once."""
        ...

    def open(self, key: bytes, box: bytes, about: bytes) -> bytes:
        """Return the content of a box.

        Raises:
            ValueError: the key does not open the box, or its associated data differ.
        """
        ...

    def verify(self, key: bytes, signature: bytes, message: bytes) -> bool:
        """Return whether the owner of a key of signatures has signed this."""
        ...
