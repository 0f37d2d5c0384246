"""What a party chooses of its public row: said in its Hello, held to it for the session, and the bits of a roster's."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import Session, hello, make_inputs, make_preference_inputs, make_preferences, make_vote, messages_of
from psephos.protocol import (
    ConfigurationError,
    RemoteProtocolError,
    ServerMachine,
    SimulatedNoise,
    run_population,
)
from psephos.protocol.arrays import IntArray
from psephos.protocol.columns import Column, Entries
from psephos.protocol.effects import Keep, Send
from psephos.protocol.errors import JournalError
from psephos.protocol.messages import MAX_CHOSEN, SessionDescriptor, Welcome
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm
from psephos.protocol.phases import Inputs
from psephos.protocol.records import Chosen, Reserved, ServerRecord
from psephos.protocol.roster import Roster
from psephos.scenarios.deployment.own_rows import encode_chosen, with_choices
from psephos.scenarios.testing import check_protocol
from strangers import BoundedMean, Bounds
from thoroughness import draws

LEVELS = (0.5, 1.0, 2.0)
CHARTER = SessionDescriptor("fedcba9876543210" * 2)
MINE: Mapping[str, Any] = {"protocol": "moral-preferences", "session_id": CHARTER.id}
PROTOCOL = make_preferences(epsilons=LEVELS, chosen_by="voter")
CHOICES = [0, 2, 1, 2]


def make_session(protocol: MoralPreferences = PROTOCOL, **given: Any) -> Session:
    """Return a session whose server knows of voters' levels what a roster says: nothing."""
    inputs = make_preference_inputs(protocol, len(CHOICES))
    inputs.public[:, 0] = CHOICES
    session = Session(protocol, inputs, seed=7, **given)
    unknown = protocol.encode_public({}, num_parties=len(CHOICES))
    assert unknown[:, 0].tolist() == [len(LEVELS) - 1] * len(CHOICES)  # the dearest, until they say
    session.roster = Roster(session.names, unknown)
    return session


def greet(server: ServerMachine, party: str, *chosen: int) -> list[Any]:
    return server.receive(party, hello(party, **MINE, chosen=chosen))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"paradigm": Paradigm.RLDP, "mechanism": "direction"},
        {"paradigm": Paradigm.RLDP, "mechanism": "functional"},
    ],
)
def test_agents_who_choose_and_arrays_and_a_public_roster_have_the_same_bits(given: dict[str, Any]) -> None:
    protocol = make_preferences(epsilons=LEVELS, chosen_by="voter", **given)
    session = make_session(protocol)
    result = session.play().result
    assert result is not None
    arrays = run_population(protocol, session.inputs, noise=session.fresh_noise())
    assert result.outcome == arrays.outcome
    of_roster = make_preferences(epsilons=LEVELS, **given)
    assert run_population(of_roster, session.inputs, noise=session.fresh_noise()).outcome == arrays.outcome
    assert [(each.epsilon, each.num_voters) for each in arrays.outcome.levels] == [(0.5, 1), (1.0, 1), (2.0, 2)]


def test_each_pays_for_its_own_choice() -> None:
    session = make_session()
    session.play()
    spent = [sum(entry.proven for entry in session.ledgers[name].entries) for name in session.names]
    assert spent == [pytest.approx(LEVELS[choice]) for choice in CHOICES]


def test_a_welcome_says_what_was_chosen() -> None:
    server = make_session(descriptor=CHARTER).server()
    server.start()
    ((_, welcome),) = messages_of(greet(server, "p0", 1))
    assert isinstance(welcome, Welcome)
    assert welcome.public == (1,)


def test_what_is_private_is_not_shown_to_whatever_encodes_a_choice() -> None:
    """A stranger's protocol would put each answer into the Hello."""

    class Peeks(Sized):
        def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
            return (int(float(entries.get("value", 0))) % 4,)

    entries = {"size": 1, "value": 3}
    assert encode_chosen(Peeks(Bounds()), entries) == (0,)
    assert with_choices(Peeks(Bounds()), entries, (2,)) == (0,)


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ((3,), r"the server's public row is \[3\]: use the place of an ε, in \[0, 2\]"),
        ((-1,), "chooses what is not allowed"),
        ((1 << 62,), "chooses what is not allowed"),
        ((), "chooses 0 numbers of its public row, the protocol leaves it 1"),
        ((1, 1), "chooses 2 numbers of its public row, the protocol leaves it 1"),
    ],
)
def test_a_server_refuses_what_is_no_level(chosen: tuple[int, ...], why: str) -> None:
    server = make_session(descriptor=CHARTER).server()
    server.start()
    with pytest.raises(RemoteProtocolError, match=why):
        server.admit(hello("p0", **MINE, chosen=chosen))
    ((_, welcome),) = messages_of(greet(server, "p0", 0))  # it may come with another, since nothing was chosen yet
    assert isinstance(welcome, Welcome)


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_choice_where_there_is_none_is_refused() -> None:
    vote = make_vote()
    server = Session(vote, make_inputs(vote, 2)).server()
    server.start()
    with pytest.raises(RemoteProtocolError, match="chooses 1 numbers of its public row, the protocol leaves it 0"):
        server.admit(hello("p0", chosen=(1,)))


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
@pytest.mark.parametrize("is_durable", [True, False])
def test_who_comes_back_is_held_to_its_choice(*, is_durable: bool) -> None:
    server = make_session(descriptor=CHARTER).server(records=[] if is_durable else None)
    server.start()
    greet(server, "p0", 1)
    server.receive_loss("p0")
    with pytest.raises(RemoteProtocolError, match="chose otherwise as it joined, and is held to that"):
        server.admit(hello("p0", **MINE, chosen=(2,)))
    assert not any(isinstance(message, Welcome) for _, message in messages_of(greet(server, "p0", 2)))
    server.admit(hello("p0", **MINE, chosen=(1,)))
    assert any(isinstance(message, Welcome) for _, message in messages_of(greet(server, "p0", 1)))


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_server_that_restarts_holds_parties_to_their_choices() -> None:
    """Before the first phase and within it: choices are on the disk before anybody is welcomed."""
    session = make_session(descriptor=CHARTER)
    server = session.server(records=[])
    kept: list[ServerRecord] = []
    server.start()
    for name, choice in zip(session.names, CHOICES, strict=True):
        effects = greet(server, name, choice)
        first = next(each for each in effects if isinstance(each, (Keep, Send)))
        assert first == Keep(Chosen(session.names.index(name), (choice,)))
        kept += [each.record for each in effects if isinstance(each, Keep) and isinstance(each.record, Chosen)]
        again = session.server(records=tuple(kept))
        again.start()
        with pytest.raises(RemoteProtocolError, match="chose otherwise"):
            again.admit(hello(name, **MINE, chosen=((choice + 1) % 3,)))
        again.admit(hello(name, **MINE, chosen=(choice,)))
    with pytest.raises(JournalError, match="has a record that has no place in this session: p0 chose otherwise"):
        session.server(records=[Chosen(0, (1,)), Chosen(0, (2,))]).start()


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_client_is_held_to_its_own_record_and_draws_nothing_anew() -> None:
    session = make_session(descriptor=CHARTER)
    client = session.client("p0", records=[])
    client.start()
    server = session.server()
    server.start()
    ((_, welcome),) = messages_of(greet(server, "p0", 0))
    assert isinstance(welcome, Welcome)
    records = [effect.record for effect in client.receive("server", welcome) if isinstance(effect, Keep)]
    (reserved,) = records
    assert isinstance(reserved, Reserved)
    assert reserved.chosen == (0,)
    session.client("p0", records=[reserved])
    session.inputs.public[0, 0] = 2
    with pytest.raises(JournalError, match="the party has chosen otherwise in this session"):
        session.client("p0", records=[reserved])
    assert session.noise.draws == []


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
@pytest.mark.parametrize("choice", [3, -1])
def test_a_client_refuses_its_own_choice_before_it_says_anything(choice: int) -> None:
    session = make_session()
    session.inputs.public[0, 0] = choice
    with pytest.raises(ConfigurationError, match=r"use the place of an ε, in \[0, 2\]"):
        session.client("p0")
    session.clients_know = False
    with pytest.raises(ConfigurationError, match="give public: the party chooses the last 1 of it"):
        session.client("p0")


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ({}, "epsilon is missing: use one of 0.5, 1, 2"),
        ({"epsilon": "0.7"}, "epsilon in row 1 is '0.7': use one of 0.5, 1, 2"),
        ({"epsilon": "-1"}, "epsilon in row 1 is '-1': use a number > 0"),
        ({"epsilon": "nan"}, "epsilon in row 1 is 'nan': use a number > 0"),
    ],
)
def test_an_epsilon_that_is_no_level_has_no_code(entries: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        PROTOCOL.encode_chosen(entries)
    assert PROTOCOL.encode_chosen({"epsilon": "2"}) == (2,)
    assert make_preferences(epsilons=LEVELS).encode_chosen(entries) == ()


def test_parameters_that_say_who_chooses_name_the_levels() -> None:
    with pytest.raises(ConfigurationError, match="give epsilons: the levels of ε among which"):
        make_preferences(chosen_by="voter")
    table = {"epsilon": [0.3, 0.4]}
    assert MoralPreferences.complete({"chosen_by": "voter"}, table) == {"chosen_by": "voter"}
    assert MoralPreferences.complete({"chosen_by": "roster"}, table)["epsilons"] == [0.3, 0.4]
    with pytest.raises(ConfigurationError, match="epsilon"):
        PROTOCOL.encode({"records": [[[[1.0, 0.0], [0.0, 0.0]]]]})


def test_a_public_roster_stays_the_default_and_its_bytes_as_they_were() -> None:
    of_roster = make_preferences(epsilons=LEVELS)
    assert not of_roster.parameters.is_chosen
    encoded = bytes(of_roster.encoded_parameters)
    assert b"chosen_by" not in encoded
    assert msgspec.msgpack.encode(msgspec.msgpack.decode(encoded)) == encoded  # with the shortest header of a map
    assert of_roster.num_chosen == 0
    assert [column.is_own for column in of_roster.columns()] == [False, True]
    assert [column.is_own for column in PROTOCOL.columns()] == [True, True]


def test_a_weighted_mean_of_chosen_levels_has_no_bias_where_choices_do_not_depend_on_values() -> None:
    """Sessions of 40 voters who all hold the same: within five standard errors (6e-7) in each of two features."""
    protocol = make_preferences(epsilons=LEVELS, chosen_by="voter")
    inputs = make_preference_inputs(protocol, 40)
    inputs.private[:] = inputs.private[0]
    inputs.public[:, 0] = np.arange(40) % 3
    truth = list(protocol.truth(inputs).values())
    found: list[tuple[float, ...]] = []
    for seed in range(draws(100, full=300)):
        outcome = run_population(protocol, inputs, noise=SimulatedNoise(seed, session="vote")).outcome
        found.append(outcome.preferences)
        assert outcome.errors is not None
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert np.all(np.abs(np.mean(found, axis=0) - truth) < 5 * error)


class Sized(BoundedMean):
    """A stranger's mean to which each party also says how large it is, in public and by its own choice."""

    def columns(self) -> tuple[Column, ...]:
        return (Column("size", private=False, chosen=True, description="0 to 3"), *super().columns())

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        if str(entries.get("size")) not in set("0123"):
            raise ConfigurationError(field="size", value=entries.get("size"), allowed="0 to 3")
        return (int(entries["size"]),)

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        sizes = table.get("size", [3] * num_parties)
        return np.array([self.encode_chosen({"size": size}) for size in sizes], dtype=np.int64)

    def check_public(self, public: Sequence[int]) -> None:
        """Refuse other sizes."""
        if not (len(public) == 1 and 0 <= public[0] <= 3):
            raise ConfigurationError(field="the public row", value=list(public), allowed="a size")

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        public = self.encode_public({"size": table["size"]}, num_parties=len(table["size"]))
        return Inputs(super().encode({"value": table["value"]}).private, public)

    def possible_entries(self) -> Mapping[str, Entries] | None:
        return {"size": [2, 2], "value": [self.parameters.low, self.parameters.high]}


class Silent(Sized):
    """The same, without a word on how a choice is written."""

    encode_chosen = BoundedMean.encode_chosen

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        return np.array([[int(size)] for size in table.get("size", [3] * num_parties)], dtype=np.int64)


def test_a_strangers_protocol_leaves_parties_a_choice() -> None:
    """It keeps what any protocol promises; one that does not say how a choice is written is found out."""
    people = {"ann": (1, 3.5), "bob": (3, 99), "cid": (0, 12), "dan": (2, 50)}
    check_protocol(Sized(Bounds()), people)
    with pytest.raises(AssertionError, match=r"protocol (is|are) .*one that encodes the columns that a party chooses"):
        check_protocol(Silent(Bounds()), people)
    session = Session(Sized(Bounds()), Sized(Bounds()).encode({"size": [1, 2], "value": [4, 5]}))
    session.roster = Roster(session.names, np.array([[3], [3]], dtype=np.int64))
    wire = session.play()
    assert wire.result is not None
    assert wire.drops == {}


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_column_is_not_private_and_chosen_and_there_are_not_many() -> None:
    with pytest.raises(ConfigurationError, match=r"column 'age' (is|are) .*public: what a party chooses"):
        Column("age", private=True, description="years", chosen=True)

    class Many(MoralPreferences):
        def columns(self) -> tuple[Column, ...]:
            return tuple(Column(f"c{n}", private=False, description="", chosen=True) for n in range(MAX_CHOSEN + 1))

    with pytest.raises(ConfigurationError, match="chosen columns is 65: use at most 64"):
        _ = Many(PROTOCOL.parameters).num_chosen
