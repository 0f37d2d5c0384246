"""The status of a session, for people and programs that watch its server.

A `SessionStatus` contains nothing private. If some phase hides participation, it does not contain who joined or
reported, nor the numbers of connections and refusals, which would reveal it.
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
        num_greeting: the number of open connections without a Hello.
        refused: the number of refused connections so far, by reason (`Server.refusals`).
    """

    num_open: int
    num_greeting: int
    refused: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class SessionStatus:
    """The progress of a session, as its server knows it.

    Args:
        phase: the name of the open phase; of the last one after the end.
        seconds_left: the seconds until the open phase's deadline; infinite without one.
        deadlines: the deadline of each opened phase, in whole seconds of Unix time; infinite without one.
        attendance: who takes part; None if participation is private.
        connections: the server's connections; None if participation is private.
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
"""A task that runs during a session. It gets a function that returns the session's status, and is cancelled at the
end."""
