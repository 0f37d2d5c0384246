"""Equivocation: a server that tells some clients other things than the rest."""

import dataclasses
from collections.abc import Callable, Collection

import msgspec

from ...protocol.messages import Message, Release, Request
from .deviation import Deviation, Passage

__all__ = ["Equivocator"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Equivocator(Deviation):
    """A server that sends some clients other requests, or another release.

    Corrupt: the server.

    The honest side: each client digests what it was told (`protocol.transcript`), and people who compare the digests
    see that they differ; a client cannot notice by itself. It does notice a second request for a step that differs
    from the first, and ends the session. No report depends on what a request publishes, so that nobody pays more or
    draws otherwise: the harm is that people believe different outcomes.

    Args:
        misled: the names of those who are told otherwise.
        request: given a step (from 0) and what its request publishes, as plain data, what to say instead.
        release: given the outcome as plain data, what to say instead.
    """

    misled: Collection[str]
    request: Callable[[int, object], object] | None = None
    release: Callable[[object], object] | None = None

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Say something else to those who are misled. See `Deviation.outgoing`."""
        if peer in self.misled:
            if isinstance(message, Request) and self.request is not None:
                changed = self.request(message.step, msgspec.msgpack.decode(message.payload))
                message = Request(message.step, msgspec.Raw(msgspec.msgpack.encode(changed)))
            elif isinstance(message, Release) and self.release is not None:
                changed = self.release(msgspec.msgpack.decode(message.payload))
                payload = msgspec.Raw(msgspec.msgpack.encode(changed))
                message = msgspec.structs.replace(message, payload=payload)
        return Passage(outward=(message,))
