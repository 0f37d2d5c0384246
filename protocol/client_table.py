"""The state of each party's conversation with the server, and the number of parties that the server waits for.

Each state changes only as the server's table allows (`states`). If a change affects whom the server waits for, only
`ClientTable` makes it, so that states and numbers stay consistent.
"""

from collections.abc import Iterable, Iterator, Sequence

from .roles import Side
from .states import CONVERSATION, Move, Position, State

_TABLE = CONVERSATION[Side.SERVER]


class ClientState(Position[State, Move]):
    """One party's conversation, as the server has it.

    Attributes:
        num_reports: the number of the step of its last accepted report, plus 1; 0 without one.
        is_lost: whether its connection was lost, so that it may return: any time in a durable session, and otherwise
            before its first report.
        has_heard: whether it has acknowledged the release, or left after it.
        reason: the reason in the party's Abort.
    """

    __slots__ = ("has_heard", "is_lost", "num_reports", "party", "place", "reason")

    def __init__(self, party: str, place: int) -> None:
        super().__init__(_TABLE, State.NEW)
        self.party = party
        self.place = place
        self.num_reports = 0
        self.is_lost = False
        self.has_heard = False
        self.reason = ""


class ClientTable:
    """The states of one session's clients.

    Attributes:
        by_party: the states, in roster order.
        num_awaited: the number of parties that can still report in the open step, or join before the first.
        num_joined: the number of parties that have joined, before the first step.

    Examples:
        >>> table = ClientTable(["ann", "bob"])
        >>> table.welcome(table.client_at(0))
        >>> table.num_joined, table.num_awaited
        (1, 1)
    """

    __slots__ = ("_is_joining", "_names", "by_party", "num_awaited", "num_joined")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self.by_party = {name: ClientState(name, place) for place, name in enumerate(names)}
        self.num_awaited = len(names)
        self.num_joined = 0
        self._is_joining = True

    def __iter__(self) -> Iterator[ClientState]:
        return iter(self.by_party.values())

    def client_at(self, place: int) -> ClientState:
        """Return the seat of the party at this place of the roster; IndexError where there is none."""
        return self.by_party[self._names[place]]

    def clear(self, client: ClientState) -> ClientState:
        """Return the seat for another conversation with its party, since this one has come to nothing."""
        cleared = self.by_party[client.party] = ClientState(client.party, client.place)
        return cleared

    def welcome(self, client: ClientState) -> None:
        """Admit a party. While the first step is open, it gets its request at once, even if it comes late."""
        client.move(Move.HELLO)
        client.move(Move.WELCOME)
        if self._is_joining:
            self.num_awaited -= 1
            self.num_joined += 1
        else:
            client.move(Move.REQUEST)
            self.num_awaited += 1

    def ask(self, clients: Iterable[ClientState]) -> None:
        """Open a step: these are asked, and waited for."""
        self._is_joining = False
        self.num_awaited = 0
        for client in clients:
            client.move(Move.REQUEST)
            self.num_awaited += 1

    def take_report(self, client: ClientState, step: int) -> None:
        """Take note that a party has reported in a step."""
        client.move(Move.REPORT)
        client.num_reports = step + 1
        self.num_awaited -= 1

    def close(self) -> None:
        """Ask nobody in the open step any longer."""
        for client in self:
            if client.state is State.ASKED:
                client.move(Move.CLOSE)

    def leave(self, client: ClientState) -> None:
        """Take note that a party has gone."""
        if self._is_joining:
            has_joined = client.state is State.JOINED
            self.num_joined -= has_joined
            # The server waits again, until the deadline, for a party that lost its connection, not for one that left.
            self.num_awaited += has_joined if client.is_lost else has_joined - 1
        else:
            self.num_awaited -= client.state is State.ASKED
        client.move(Move.BREAK)

    def break_all(self) -> tuple[str, ...]:
        """End all conversations, and return with whom there was one."""
        live = [client for client in self if client.state is not State.NEW and client.moves]
        for client in live:
            client.move(Move.BREAK)
        return tuple(client.party for client in live)

    def awaits(self, client: ClientState) -> bool:
        """Return whether a session that is under way waits for a party; `num_awaited` counts them."""
        if self._is_joining:
            return client.state is State.NEW or client.is_lost
        return client.state is State.ASKED

    def able_to(self, move: Move) -> list[ClientState]:
        """Return the seats whose table allows this move, in roster order."""
        return [client for client in self if move in client.moves]

    def places_in(self, state: State) -> set[int]:
        """Return the places of the parties with whom the server stands there."""
        return {client.place for client in self if client.state is state}
