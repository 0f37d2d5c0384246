"""The states of one conversation, and all moves between them.

Two rules follow h11: all that changes a state is in this file, and the tables do not depend on the content of messages.
A machine holds a `Position`, which changes only as its table allows.

A conversation joins one client with the server. Both ends see the same moves (`Move`). The server keeps one state per
client, and a client's fault ends only that client's conversation. `SESSION` is the server's second table, for the
session as a whole.

A *phase*, such as weights or opinions, is a part of a protocol that users know. It takes one or more *steps*, each a
request and its answers. A *state* is that of one end of a conversation.
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
    State.JOINED: {Move.REQUEST: State.ASKED, Move.BREAK: State.ENDED},  # a client without a request gets no release
    State.ASKED: {Move.REPORT: State.REPORTED, Move.BREAK: State.ENDED},
    State.REPORTED: {
        Move.REQUEST: State.ASKED,
        Move.REPORT: State.REPORTED,  # for a repeated request the same bytes are sent again, and nothing is drawn
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
        Move.REPORT: State.REPORTED,  # a repeated report is counted once
        Move.ACKNOWLEDGE: State.REPORTED,
        Move.RELEASE: State.FINISHED,
        Move.BREAK: State.ENDED,
    },
    State.LATE: {
        Move.REPORT: State.LATE,  # sent before the client knew that the phase closed: neither counted nor a fault
        Move.RELEASE: State.FINISHED,
        Move.BREAK: State.ENDED,
    },
    State.FINISHED: {},
    State.ENDED: {},
}

CONVERSATION: Final[Mapping[Side, Mapping[State, Mapping[Move, State]]]] = {Side.CLIENT: _CLIENT, Side.SERVER: _SERVER}
"""Side × state × move → state. Every state has a row; that of a terminal state is empty. Absent moves are forbidden."""

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
"""The record that a side with a journal makes durable before the effects of a move become visible.

A move without an entry changes nothing that must survive. A server records a party's choice only if the protocol lets
parties choose."""


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
    """The current state of one end of a conversation, or of a session, in a table of moves.

    Args:
        table: state × move → state.

    Attributes:
        state: the current state; only this class changes it.
        moves: the allowed moves, and the state after each; empty in a terminal state.

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
    """Return one side's table as a Mermaid state diagram; the manual's picture is generated from it.

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
