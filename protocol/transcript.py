"""The public transcript: a digest of what a server tells everybody, by which its clients find out whether it did.

A server that equivocates tells some clients other things than the rest: another outcome of a phase, another release.
Each client sees a session that is right by itself, so that no check of its own can notice. But each, and the server for
what it means to tell all, digests what was told. People who compare the digests (by telephone, on a notice board,
anywhere but through that server) see whether they took part in one session or in several.

What is digested: version, session, protocol, kind, parameters and descriptor (id, roster, expiry); step and payload of
each request, in order; the release. Not what is for one client alone: its public row, and what is `own` of a request
or of the release.
"""

import functools
import hashlib
from typing import Final

from .messages import PROTOCOL_VERSION, Release, Request, Welcome, encode

_SHOWN_DIGITS: Final = 32
"""Hexadecimal digits that people compare. A server may try outcomes until two agree in them: 2**64 here, but 2**32,
which is minutes of work, if there were only 16."""
_GROUP: Final = 4


class Transcript:
    """Digests what a server tells everybody, in the order in which each client hears it.

    Args:
        num_steps: how many requests there are in all.

    Nothing is digested before somebody asks.

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
        # Each part ends where MessagePack says that it ends: no two sessions have the same bytes.
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
    """Return a transcript's digest as people read it to each other: its first half, in groups.

    Examples:
        >>> show_digest("0123456789abcdef" * 4)
        '0123 4567 89ab cdef 0123 4567 89ab cdef'
    """
    return " ".join(digest[at : at + _GROUP] for at in range(0, _SHOWN_DIGITS, _GROUP))
