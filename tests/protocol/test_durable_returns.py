"""Parties that come back to a session of which both sides keep records: nobody pays again, and all hear the release."""

import collections
from collections.abc import Sequence

from helpers import SERVER, Session, drop_of, make_inputs, make_vote
from psephos.protocol import ClientMachine, ServerMachine, UnexpectedMessageError
from psephos.protocol.effects import Effect, Finish, Keep, Send
from psephos.protocol.messages import Acknowledgement, Charter, Message, Release
from psephos.protocol.records import Acknowledged, ClientRecord, Drawn, Left, Record, Reserved, ServerRecord
from psephos.protocol.roles import Side
from psephos.protocol.states import KEPT

VOTE = make_vote()
NAMES = ("p0", "p1")


class Durable:
    """A session of two, whose records are kept in lists.

    Attributes:
        kept: everybody's records.
        finished: who has the outcome.
        unheard: what is told to these parties is lost on its way, if it is of this kind.
    """

    def __init__(self) -> None:
        charter = Charter("5e" * 16)
        fingerprints = [f"{place}c" * 32 for place in range(len(NAMES))]
        self.session = Session(VOTE, make_inputs(VOTE, 2), charter=charter, fingerprints=fingerprints)
        self.kept: dict[str, list[Record]] = {name: [] for name in (SERVER, *NAMES)}
        self.finished: set[str] = set()
        self.unheard: dict[str, type[Message]] = {}
        self._queue: collections.deque[tuple[str, str, Message]] = collections.deque()
        self.server = self.make_server()
        self.clients: dict[str, ClientMachine] = {}
        self._act(SERVER, self.server.start())

    def make_server(self) -> ServerMachine:
        records = [record for record in self.kept[SERVER] if isinstance(record, ServerRecord)]
        return ServerMachine(VOTE, self.session.roster, self.session.mode(), records=records)

    def join(self, name: str) -> None:
        """Let a party take part, again or for the first time."""
        self.clients[name] = ClientMachine(
            VOTE,
            self.session.party(name),
            self.session.mode(),
            records=[record for record in self.kept[name] if isinstance(record, ClientRecord)],
        )
        self._act(name, self.clients[name].start())

    def leave(self, name: str) -> None:
        """Let a party's process end."""
        del self.clients[name]
        self._act(SERVER, self.server.receive_loss(name))

    def _act(self, name: str, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Keep(record):
                    self.kept[name].append(record)
                case Send(recipients, message):
                    self._queue += [(name, recipient, message) for recipient in recipients]
                case Finish():
                    self.finished.add(name)
                case _:
                    pass

    def deliver(self) -> None:
        while self._queue:
            sender, recipient, message = self._queue.popleft()
            if recipient == SERVER:
                self._act(SERVER, self.server.receive(sender, message))
            elif recipient in self.clients and not isinstance(message, self.unheard.get(recipient, ())):
                self._act(recipient, self.clients[recipient].receive(sender, message))


def kinds_of(records: Sequence[Record]) -> list[type[Record]]:
    return [type(record) for record in records]


PAID = [Reserved, Drawn, Acknowledged, Drawn, Acknowledged]


def test_a_server_waits_until_every_party_has_said_that_it_has_the_release() -> None:
    durable = Durable()
    durable.join("p0")
    durable.join("p1")
    durable.unheard["p1"] = Release
    durable.deliver()
    assert durable.finished == {SERVER, "p0"}
    assert kinds_of(durable.kept["p0"]) == [*PAID, Left]
    assert kinds_of(durable.kept["p1"]) == PAID
    assert durable.server.awaits_listeners  # although the connection of p1 may seem to be there
    durable.leave("p1")
    assert durable.server.awaits_listeners
    del durable.unheard["p1"]
    durable.join("p1")
    durable.deliver()
    assert kinds_of(durable.kept["p1"]) == [*PAID, Left]
    assert not durable.server.awaits_listeners


def test_a_server_that_restarts_after_its_release_waits_for_all_again() -> None:
    durable = Durable()
    durable.join("p0")
    durable.join("p1")
    durable.deliver()
    assert not durable.server.awaits_listeners
    server = durable.make_server()
    server.start()
    assert server.awaits_listeners


def test_who_comes_back_after_the_release_hears_it_again_and_reserves_nothing() -> None:
    durable = Durable()
    durable.join("p0")
    durable.join("p1")
    durable.deliver()
    before = list(durable.kept["p0"])
    durable.leave("p0")
    durable.finished.clear()
    durable.join("p0")
    durable.deliver()
    assert durable.finished == {"p0"}
    assert durable.kept["p0"] == [*before, before[-1]]  # as it was told the first time


def test_a_word_of_the_release_before_there_is_one_is_unexpected() -> None:
    durable = Durable()
    durable.join("p0")
    durable.deliver()
    effects = durable.server.receive("p0", Acknowledgement(len(VOTE.phases)))
    assert isinstance(drop_of(effects).error, UnexpectedMessageError)


def test_each_side_keeps_what_its_table_says() -> None:
    durable = Durable()
    durable.join("p0")
    durable.join("p1")
    durable.deliver()
    for side, name in ((Side.CLIENT, "p0"), (Side.SERVER, SERVER)):
        tags = {str(kind.__struct_config__.tag) for kind in kinds_of(durable.kept[name])}
        # What nobody chooses is not kept; `test_chosen_columns` has a session in which somebody does.
        assert tags == set(KEPT[side].values()) - {"chosen"}
