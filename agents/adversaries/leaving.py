"""Selective abort by a client: it leaves after it saw a step's outcome that it does not like."""

import dataclasses
from collections.abc import Callable

import msgspec

from ...protocol.messages import Message, Request
from .deviation import Deviation, Passage

__all__ = ["Leaver"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Leaver(Deviation):
    """A client that hangs up instead of answering a step.

    Corrupt: this client. It sees what everybody sees: the outcome of the step before, in the request.

    The honest side: the server counts it among the missing. With a quorum of everybody the session ends, both sides are
    told who is missing, and no later step is opened; so one client can stop a vote that needs all, and is named. With
    a lower quorum the vote goes on without it, and it can bias the outcome by its own share: whether it takes part then
    depends on a noisy outcome in which its own report is already counted. Where who takes part is private there is no
    quorum: the vote goes on, and says of nobody that they left.

    Args:
        step: from 0, the one whose request it waits for.
        leaves_if: given what that request publishes, as plain data (None where it publishes nothing), whether to leave.
    """

    step: int
    leaves_if: Callable[[object], bool]

    def incoming(self, peer: str, message: Message) -> Passage:
        """Hang up on the request, or show it to the agent. See `Deviation.incoming`."""
        del peer
        if isinstance(message, Request) and message.step == self.step:
            outcome: object = msgspec.msgpack.decode(message.payload)
            if self.leaves_if(outcome):
                return Passage(hangs_up=True)
        return Passage(inward=(message,))
