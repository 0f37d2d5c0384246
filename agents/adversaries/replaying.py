"""Replay: a client that sends again what was sent before, altered, or what another party had sent."""

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from ...protocol.messages import Message, Report
from .deviation import Deviation, Passage

__all__ = ["Replayer"]

_NOTHING: Mapping[int, Sequence[int]] = {}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Replayer(Deviation):
    """A client that follows each of its reports by others.

    Corrupt: this client; and for `captured`, somebody who reads the network where nothing encrypts it.

    The honest side: a report that comes again, the same byte for byte, is counted once. One that differs is
    `ConflictingReportError`: the first stands, and its sender is dropped. A connection speaks for one party, so that
    another party's report counts as the sender's own, and another's Hello ends the sender's own conversation; on a new
    connection it is refused while its owner takes part, and afterwards (`sybils`). In another
    session its id makes it void, and over TLS nobody can say it without the owner's key. What remains where nothing
    encrypts: whoever reads a Hello before it reaches the server takes the seat.

    Args:
        times: how often its own report is sent again.
        altered: by step (from 0), the numbers of a second, different report.
        captured: by step, other parties' messages, which follow.
    """

    times: int = 1
    altered: Mapping[int, Sequence[int]] = dataclasses.field(default_factory=lambda: _NOTHING, repr=False)
    captured: Mapping[int, Sequence[Message]] = dataclasses.field(
        default_factory=dict[int, Sequence[Message]], repr=False
    )

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Send the report, and what follows it. See `Deviation.outgoing`."""
        del peer
        if not isinstance(message, Report):
            return Passage(outward=(message,))
        outward: list[Message] = [message] * (1 + self.times)
        if message.step in self.altered:
            numbers = list(self.altered[message.step])
            outward.append(Report(message.step, msgspec.Raw(msgspec.msgpack.encode(numbers))))
        return Passage(outward=[*outward, *self.captured.get(message.step, ())])
