"""What masking asks of cryptography: an interface, since this room computes with numbers alone.

`psephos.agents.masking` brings X25519, HKDF, ChaCha20-Poly1305 and Ed25519. Nothing here draws: whatever is secret is
derived from a root of 32 bytes that a party keeps.
"""

import functools
from collections.abc import Callable
from typing import Final, Protocol

from ..errors import require
from .shamir import PRIME

__all__ = ["KEY_BYTES", "SIGNATURE_BYTES", "Primitives", "check_signature_key"]

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_D: Final = -121665 * pow(121666, -1, PRIME) % PRIME  # of Ed25519's curve −x² + y² = 1 + d·x²·y²
_KEYS_KNOWN: Final = 1 << 13


def check_signature_key(party: str, key: bytes) -> None:
    """Raise ConfigurationError unless a party's key of signatures is one of Ed25519 by which it alone can sign."""
    allowed = f"{KEY_BYTES} bytes that are a point of Ed25519's curve, of no small order: as `psephos enroll` makes"
    require(_is_signature_key(key), f"signature_key of {party!r}", key.hex(), allowed)


@functools.lru_cache(_KEYS_KNOWN)
def _is_signature_key(key: bytes) -> bool:
    """Return whether there is a point of this y, and its order does not divide 8: then anybody could sign for it.

    There is one if x² = (y² − 1)/(d·y² + 1) is a square, as is the product of the two if their quotient is. Twice a
    point has y = 0, the order 4, if x² = −y².
    """
    y = int.from_bytes(key, "little") % 2**255  # the bit above is the sign of x
    squared = y * y % PRIME
    above, below = squared - 1, _D * squared + 1
    is_small = not y * above * (squared * below + above) % PRIME
    return len(key) == KEY_BYTES and y < PRIME and pow(above * below, PRIME // 2, PRIME) == 1 and not is_small


class Primitives(Protocol):
    """Key agreement, signatures, boxes and a generator."""

    def public_of(self, private: bytes) -> bytes:
        """Return the public key of 32 private bytes."""
        ...

    def agreement(self, private: bytes) -> Callable[[bytes], bytes]:
        """Return what finds the 32 bytes that 32 private ones and a public key have in common.

        It raises a ValueError if the public key is of low order, so that they would be known to everybody, or no key.
        """
        ...

    def derive(self, secret: bytes, info: bytes, length: int) -> bytes:
        """Return so many bytes that nobody tells from uniform ones who does not know the secret."""
        ...

    def expand(self, key: bytes, length: int) -> bytes:
        """Return so many bytes of the generator whose seed is this key of 32 bytes."""
        ...

    def seal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        """Return a box, which the key opens and which is about this alone; a key seals once."""
        ...

    def open(self, key: bytes, box: bytes, about: bytes) -> bytes:
        """Return what is in a box.

        Raises:
            ValueError: the key does not open it, or it is about something else.
        """
        ...

    def verify(self, key: bytes, signature: bytes, message: bytes) -> bool:
        """Return whether the owner of a key of signatures has signed this."""
        ...
