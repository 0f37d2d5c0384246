"""The states of one conversation, and every move between them.

Two rules, after h11: whatever changes a state is in this file, and the tables do not know what a message
carries. Machines hold a `Position`, which moves by its table and by nothing else.

A conversation joins one client with the server. Both ends see the same moves, so both read the same
alphabet (`Move`); the server keeps one state per client, and a client's fault ends that client's row alone.
`SESSION` is the server's second table: where the session as a whole stands.

A *phase* (weights, opinions) is a part of a protocol that users know, and takes one *step* (a request and its answers)
or several; a *state* is where one end of a conversation stands.
"""

import enum
from collections.abc import Mapping
from typing import Final, Generic, TypeVar

from .roles import Side

StateT = TypeVar("StateT", bound=enum.Enum)
MoveT = TypeVar("MoveT", bound=enum.Enum)


class State(enum.Enum):
    """The state of one end of a conversation."""

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    NEW = "new"
    """Nothing was said: the client has not sent its Hello, or the server still expects it."""
    GREETED = "greeted"
    """Hello was said, Welcome was not."""
    JOINED = "joined"
    """Welcome was said; nothing has been asked yet."""
    ASKED = "asked"
    """A request is open."""
    REPORTED = "reported"
    """The request was answered."""
    LATE = "late"
    """Server only: a phase closed without this client; it is counted no more, yet may hear the release."""
    FINISHED = "finished"
    """The release was said."""
    ENDED = "ended"
    """The conversation was broken off: aborted by an end, or lost by the network."""


class Move(enum.Enum):
    """A move of a conversation, which both ends see."""

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    HELLO = "hello"
    WELCOME = "welcome"
    REQUEST = "request"
    REPORT = "report"
    ACKNOWLEDGE = "acknowledge"
    """The server said that it keeps the report."""
    CLOSE = "close"
    """The server closed a phase that this client had not answered."""
    RELEASE = "release"
    BREAK = "break"
    """Either end aborted, or the connection was lost."""


_CLIENT: Final[Mapping[State, Mapping[Move, State]]] = {
    State.NEW: {Move.HELLO: State.GREETED, Move.BREAK: State.ENDED},
    State.GREETED: {Move.WELCOME: State.JOINED, Move.BREAK: State.ENDED},
    State.JOINED: {Move.REQUEST: State.ASKED, Move.BREAK: State.ENDED},  # who was asked nothing is released nothing
    State.ASKED: {Move.REPORT: State.REPORTED, Move.BREAK: State.ENDED},
    State.REPORTED: {
        Move.REQUEST: State.ASKED,
        Move.REPORT: State.REPORTED,  # the same request again: the same bytes again, nothing new is drawn
        Move.ACKNOWLEDGE: State.REPORTED,
        Move.RELEASE: State.FINISHED,
        Move.BREAK: State.ENDED,
    },
    State.LATE: {},  # a client learns from the release that it was late
    State.FINISHED: {},
    State.ENDED: {},
}

_SERVER: Final[Mapping[State, Mapping[Move, State]]] = {
    State.NEW: {Move.HELLO: State.GREETED, Move.BREAK: State.ENDED},
    State.GREETED: {Move.WELCOME: State.JOINED, Move.BREAK: State.ENDED},
    State.JOINED: {Move.REQUEST: State.ASKED, Move.BREAK: State.ENDED},
    State.ASKED: {Move.REPORT: State.REPORTED, Move.CLOSE: State.LATE, Move.BREAK: State.ENDED},
    State.REPORTED: {
        Move.REQUEST: State.ASKED,
        Move.REPORT: State.REPORTED,  # the same report again is counted once
        Move.ACKNOWLEDGE: State.REPORTED,
        Move.RELEASE: State.FINISHED,
        Move.BREAK: State.ENDED,
    },
    State.LATE: {
        Move.REPORT: State.LATE,  # it was on its way when the phase closed: not counted, not a fault
        Move.RELEASE: State.FINISHED,
        Move.BREAK: State.ENDED,
    },
    State.FINISHED: {},
    State.ENDED: {},
}

CONVERSATION: Final[Mapping[Side, Mapping[State, Mapping[Move, State]]]] = {Side.CLIENT: _CLIENT, Side.SERVER: _SERVER}
"""Side × state × move → state; total over states, terminal rows empty. What is absent is forbidden."""

KEPT: Final[Mapping[Side, Mapping[Move, str]]] = {
    Side.CLIENT: {
        Move.WELCOME: "reserved",
        Move.REPORT: "drawn",
        Move.ACKNOWLEDGE: "acknowledged",
        Move.RELEASE: "left",
    },
    Side.SERVER: {
        Move.WELCOME: "chosen",
        Move.REQUEST: "opened",
        Move.REPORT: "accepted",
        Move.CLOSE: "closed",
        Move.RELEASE: "closed",
    },
}
"""The record that a side with a journal has made durable before such a move shows; none where it says nothing new.

A server keeps what a party has chosen only where the protocol leaves a party something to choose."""


class SessionState(enum.Enum):
    """The state of the server's session, over all its conversations."""

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    IDLE = "idle"
    GATHERING = "gathering"
    COLLECTING = "collecting"
    RELEASED = "released"
    ABORTED = "aborted"


class SessionMove(enum.Enum):
    """A move of the session as a whole."""

    __hash__ = object.__hash__  # members are single objects; Enum hashes their names, in Python

    START = "start"
    OPEN_PHASE = "open phase"
    RELEASE = "release"
    ABORT = "abort"


SESSION: Final[Mapping[SessionState, Mapping[SessionMove, SessionState]]] = {
    SessionState.IDLE: {SessionMove.START: SessionState.GATHERING},
    SessionState.GATHERING: {SessionMove.OPEN_PHASE: SessionState.COLLECTING, SessionMove.ABORT: SessionState.ABORTED},
    SessionState.COLLECTING: {
        SessionMove.OPEN_PHASE: SessionState.COLLECTING,
        SessionMove.RELEASE: SessionState.RELEASED,
        SessionMove.ABORT: SessionState.ABORTED,
    },
    SessionState.RELEASED: {},
    SessionState.ABORTED: {},
}


class Position(Generic[StateT, MoveT]):
    """A place in a table of moves, of one end of a conversation or of a session.

    Args:
        table: state × move → state.

    Attributes:
        state: its state; nothing outside this class changes it.
        moves: all moves that are allowed from there, and where they lead; empty at the end.

    Examples:
        >>> position = Position(CONVERSATION[Side.CLIENT], State.NEW)
        >>> position.move(Move.HELLO)
        >>> position.state, sorted(move.value for move in position.moves)
        (<State.GREETED: 'greeted'>, ['break', 'welcome'])
    """

    __slots__ = ("_table", "moves", "state")

    def __init__(self, table: Mapping[StateT, Mapping[MoveT, StateT]], state: StateT) -> None:
        self._table = table
        self.state = state
        self.moves: Mapping[MoveT, StateT] = table[state]

    def move(self, move: MoveT) -> None:
        """Make a move; KeyError where the table forbids it from here."""
        self.state = self.moves[move]
        self.moves = self._table[self.state]


def mermaid(side: Side) -> str:
    """Return one side's table as a Mermaid state diagram, so that the manual's picture is the table itself.

    Examples:
        >>> mermaid(Side.CLIENT).splitlines()[2].strip()
        'new --> greeted: hello'
    """
    lines = ["stateDiagram-v2", "    [*] --> new"]
    for state, moves in CONVERSATION[side].items():
        lines += [
            f"    {state.value} --> {next_state.value}: {_label(side, state, move)}"
            for move, next_state in moves.items()
        ]
    terminal = (State.FINISHED, State.ENDED)
    lines += [f"    {state.value} --> [*]" for state in terminal]
    return "\n".join(lines) + "\n"


def _label(side: Side, before: State, move: Move) -> str:
    record = KEPT[side].get(move)
    is_repeated = CONVERSATION[side][before][move] is before and move is not Move.ACKNOWLEDGE
    return move.value if record is None or is_repeated else f"{move.value} [{record}]"
