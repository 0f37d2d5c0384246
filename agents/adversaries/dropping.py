"""Selective abort by a server: it drops some clients, to publish the tally of the others, in the extreme of one."""

import dataclasses
from collections.abc import Collection

from ...protocol.messages import Message, Report, Request
from .deviation import Deviation, Passage

__all__ = ["Dropper"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Dropper(Deviation):
    """A server that loses all but some clients on purpose.

    Corrupt: the server, or the network between it and the others.

    The honest side: a quorum. The server's own code does not close a step without it, and ends the session with the
    names of the missing, so that a network that drops clients cannot isolate one. A server that is corrupt all through
    would ignore its quorum, and no client can check who else was there; so clients rely on local privacy alone: an
    isolated client's report costs it what any report costs, the ledger's proven ε against a server that sees this one
    report, which is the adversary that the ledger always assumes. In the central model the server sees the values
    anyway; who sees only the release of a tally of one is still held off by the noise that the tally has. Where who
    takes part is private there is no quorum, since one would tell, and that noise is all that stands against this.

    Args:
        keeps: the names of those who are served.
        step: from 0, the first one in which the others are dropped.
        hangs_up: on the others as the step opens, so that they are not asked; else they are asked, and their reports
            are thrown away.
    """

    keeps: Collection[str]
    step: int = 0
    hangs_up: bool = True

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Hang up on the others instead of asking them. See `Deviation.outgoing`."""
        if self.hangs_up and isinstance(message, Request) and self._drops(peer, message.step):
            return Passage(hangs_up=True)
        return Passage(outward=(message,))

    def incoming(self, peer: str, message: Message) -> Passage:
        """Throw away the others' reports. See `Deviation.incoming`."""
        if isinstance(message, Report) and self._drops(peer, message.step):
            return Passage()
        return Passage(inward=(message,))

    def _drops(self, peer: str, step: int) -> bool:
        return peer not in self.keeps and step >= self.step
