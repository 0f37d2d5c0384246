"""The public transcript: a digest of all public messages of a session, by which clients detect equivocation.

A server that equivocates sends different clients different messages, such as another outcome of a phase or another
release. Each client sees a consistent session, so it cannot detect this alone. So each client, and the server, digests
the public messages. People who compare their digests, by telephone, on a notice board, or in any way but through the
server, see whether they all took part in the same session.

The digest covers: version, session, protocol, kind, parameters and descriptor (id, roster, expiry); step and payload of
each request, in order; and the release. It does not cover what is for one client alone: its public row, and the `own`
part of a request or release.
"""

import functools
import hashlib
from typing import Final

from .messages import PROTOCOL_VERSION, Release, Request, Welcome, encode

_SHOWN_DIGITS: Final = 32
"""The number of hexadecimal digits that people compare. To find two outcomes that agree in them, a server needs about
2**64 attempts. With 16 digits it would need 2**32, which takes minutes."""
_GROUP: Final = 4


class Transcript:
    """Digest the public messages of a session, in their order.

    The digest is computed only when it is read.

    Args:
        num_steps: the number of requests in the session.

    Examples:
        >>> transcript = Transcript(session="council", protocol="mean", kind="simulation", num_steps=0)
        >>> transcript.digest is None
        True
        >>> transcript.add(Release(b""))
        >>> len(transcript.digest)
        64
    """

    __slots__ = ("_messages", "_num_steps", "_words")

    def __init__(self, *, session: str, protocol: str, kind: str, num_steps: int) -> None:
        self._words = _words_of(session, protocol, kind)
        self._num_steps = num_steps
        self._messages: list[Welcome | Request | Release] = []

    def add(self, message: Welcome | Request | Release) -> None:
        """Take note of the next message; of a request that is repeated, once."""
        self._messages += (message,)

    @property
    def digest(self) -> str | None:
        """SHA-256 in hexadecimal; None before the release, and for a client that has not heard every request."""
        is_released = bool(self._messages) and isinstance(self._messages[-1], Release)
        if not is_released or sum(isinstance(message, Request) for message in self._messages) != self._num_steps:
            return None
        # MessagePack delimits each part, so different sessions never have the same bytes.
        digest = hashlib.sha256()
        for word in self._words:
            encoded = word.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        for message in self._messages:
            digest.update(encode(_public_part(message)))
        return digest.hexdigest()


@functools.lru_cache(maxsize=1 << 4)
def _words_of(*words: str) -> tuple[str, ...]:
    """Return the words of a session, of which parties of one process hold one tuple."""
    return words


def _public_part(message: Welcome | Request | Release) -> Welcome | Request | Release:
    """Return the part of a message that is for everybody."""
    match message:
        case Welcome(parameters=parameters, descriptor=descriptor):
            return Welcome(PROTOCOL_VERSION, parameters, descriptor=descriptor)
        case Request(step, payload):
            return Request(step, payload)
        case Release(payload=payload):
            return Release(payload)


def show_digest(digest: str) -> str:
    """Return the first half of a transcript's digest, in groups, for people to compare.

    Examples:
        >>> show_digest("0123456789abcdef" * 4)
        '0123 4567 89ab cdef 0123 4567 89ab cdef'
    """
    return " ".join(digest[at : at + _GROUP] for at in range(0, _SHOWN_DIGITS, _GROUP))
