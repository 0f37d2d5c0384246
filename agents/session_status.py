"""The status of a session, for people and programs that watch its server.

The rule that holds here: nothing private is in a `SessionStatus`. If some phase hides participation, that includes who
has joined or reported, and all that would reveal it: the numbers of connections and of refusals.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from ..protocol.phase_reports import Attendance
from ..protocol.states import SessionState


@dataclasses.dataclass(frozen=True)
class Connections:
    """A server's connections.

    Args:
        num_greeting: of these, those that have not said Hello.
        refused: the number of refused connections so far, by reason (`Server.refusals`).
    """

    num_open: int
    num_greeting: int
    refused: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class SessionStatus:
    """The progress of a session, as its server knows it.

    Args:
        phase: the open one; the last one after the end.
        seconds_left: until the open phase's deadline; inf where it has none.
        deadlines: of each phase that was opened, in whole seconds of Unix time; inf where it has none.
        attendance: who takes part; None where that is private.
        connections: None where it is private who takes part.
    """

    state: SessionState
    phase: str
    num_parties: int
    seconds_left: float
    deadlines: Mapping[str, float]
    attendance: Attendance | None
    connections: Connections | None

    @property
    def is_open(self) -> bool:
        """Whether parties can still join or report."""
        return self.state in {SessionState.GATHERING, SessionState.COLLECTING}


Companion: TypeAlias = Callable[[Callable[[], SessionStatus]], Awaitable[object]]
"""A task beside a session: it gets a function that returns the session's status, and is cancelled at the end."""
