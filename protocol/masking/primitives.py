"""What masking asks of cryptography: an interface, since this room computes with numbers alone.

`psephos.agents.masking` brings X25519, HKDF, ChaCha20-Poly1305 and Ed25519. Nothing here draws: whatever is secret is
derived from a root of 32 bytes that a party keeps.
"""

from typing import Final, Protocol

__all__ = ["KEY_BYTES", "SIGNATURE_BYTES", "Primitives"]

KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64


class Primitives(Protocol):
    """Key agreement, signatures, boxes and a generator."""

    def public_of(self, private: bytes) -> bytes:
        """Return the public key of 32 private bytes."""
        ...

    def agree(self, private: bytes, public: bytes) -> bytes:
        """Return the 32 bytes that two keys have in common.

        Raises:
            ValueError: the public key is of low order, so that they would be known to everybody, or no key.
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
