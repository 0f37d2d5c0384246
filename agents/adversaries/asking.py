"""Averaging: a server that asks the same step again and again, to average the noise away."""

import dataclasses

from ...protocol.messages import Message, Report, Request
from .deviation import Deviation, Passage

__all__ = ["Asker"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Asker(Deviation):
    """A server that repeats each request.

    Corrupt: the server.

    The honest side: a client draws once for each step, and answers the same request by the same bytes, without another
    charge; an average of equal numbers says no more than one of them. A request for a step that is over ends the
    session. A new session draws anew and is charged anew: there the ledger's budget, over all sessions of one person,
    is what bounds the average, as long as the ledger outlives the sessions.

    Args:
        times: how often each request is sent again.

    Attributes:
        answers: by client and step, the payload of every report that came.
    """

    times: int
    answers: dict[tuple[str, int], list[bytes]] = dataclasses.field(
        default_factory=dict[tuple[str, int], list[bytes]], init=False, repr=False
    )

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Ask more than once. See `Deviation.outgoing`."""
        del peer
        return Passage(outward=[message] * (1 + self.times * isinstance(message, Request)))

    def incoming(self, peer: str, message: Message) -> Passage:
        """Keep every answer, and show the agent the first. See `Deviation.incoming`."""
        if not isinstance(message, Report):
            return Passage(inward=(message,))
        of_step = self.answers.setdefault((peer, message.step), [])
        of_step.append(bytes(message.payload))
        return Passage(inward=(message,) if len(of_step) == 1 else ())
