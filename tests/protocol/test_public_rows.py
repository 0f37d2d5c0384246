"""Public rows at the machines: what a client pays and may send follows from one, and a release may be for one alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import (
    SERVER,
    SESSION_NAME,
    Session,
    drop_of,
    failure_of,
    hello,
    make_inputs,
    make_vote,
    messages_of,
    raw,
)
from hypothesis import given
from makers import as_usual
from psephos.protocol import (
    BudgetExceededError,
    ClientMachine,
    Inputs,
    LocalProtocolError,
    MalformedMessageError,
    Party,
    Phase,
    RemoteProtocolError,
    Roster,
    ServerMachine,
    SessionRules,
    Tally,
)
from psephos.protocol.effects import Charged, Effect, Fail, Finish, Send
from psephos.protocol.messages import (
    MAX_MESSAGE_BYTES,
    NIL,
    PROTOCOL_VERSION,
    Abort,
    Inquiry,
    Release,
    Report,
    Request,
    Terms,
    Welcome,
    encode,
)
from psephos.protocol.privacy import Budget
from psephos.protocol.states import SessionState, State
from psephos.protocol.views import Happening
from quiz import NONE, Outcome, Parameters, Quiz, Score
from strategies import CHECKED, quizzes

QUIZ = Quiz(Parameters())
# p0 is asked nothing, p1 everything, p2 the tasks 0 and 2.
INPUTS = Inputs(
    np.array([[NONE, NONE, NONE, 0], [1, 0, 1, 2], [1, NONE, 0, 1]], dtype=np.int64),
    np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 1, 0, 1]], dtype=np.int64),
)
ROW, PUBLIC = (1, NONE, 0, 1), (2, 1, 0, 1)
OUTCOME = Outcome(1, (0, 0, 0), (0, 0, 0), (1, 0, 0))


make_session = as_usual(Session, QUIZ, INPUTS, seed=3)


def make_client(
    *, knows: bool = True, protocol: Quiz = QUIZ, budget: Budget | None = None
) -> tuple[Session, ClientMachine]:
    """Return the session of p2, and its machine, which has said hello."""
    session = Session(protocol, INPUTS, budget=budget, clients_know=knows)
    client = session.client("p2")
    client.start()
    return session, client


def welcome(public: Sequence[int] = PUBLIC, protocol: Quiz = QUIZ) -> Welcome:
    return Welcome.make(protocol, public=public)


def make_server(*parties: str, quorum: float = 1) -> ServerMachine:
    """Return a server of the three, where these have joined and the first phase is open."""
    server = make_session(rules=SessionRules(quorum=quorum)).server()
    server.start()
    for party in parties or ("p0", "p1", "p2"):
        server.receive(party, hello(party, protocol="quiz"))
    if parties:
        server.receive_timeout("join")
    return server


# What a server says


def test_everybody_is_welcomed_with_its_own_row_and_no_other() -> None:
    server = make_session().server()
    server.start()
    for place, public in enumerate(INPUTS.public.tolist()):
        sent = messages_of(server.receive(f"p{place}", hello(f"p{place}", protocol="quiz")))
        assert sent[0] == ((f"p{place}",), welcome(public))


def test_an_inquiry_is_answered_with_the_row() -> None:
    terms = make_session().server().answer(Inquiry(PROTOCOL_VERSION, "p2"))
    assert (terms.place, terms.public) == (2, PUBLIC)
    assert all(type(number) is int for number in terms.public)


def test_a_protocol_without_public_columns_sends_an_empty_row() -> None:
    vote = make_vote()
    server = Session(vote, make_inputs(vote, 2)).server()
    server.start()
    assert messages_of(server.receive("p1", hello("p1"))) == [(("p1",), Welcome.make(vote, public=()))]
    assert server.answer(Inquiry(PROTOCOL_VERSION, "p1")).public == ()


def test_a_public_weight_is_shown_to_its_partner() -> None:
    """The row of DPWeVote with public weights is the weight's group and its place in the list."""
    vote = make_vote(public_weights=True)
    inputs = vote.encode({"weight": [3.0, 1.0], "ada": [0, 1], "bob": [1, 1]})
    wire = Session(vote, inputs).play()
    shown = [
        observation.message.public
        for observation in wire.view.observations
        if observation.happening is Happening.SENT and isinstance(observation.message, Welcome)
    ]
    assert shown == [(2, 2), (0, 0)]
    assert inputs.public.tolist() == [list(public) for public in shown]


class OfAnyRow(Quiz):
    """The favorite alone, which costs the same whatever a public row says, and however long it is."""

    def make_phases(self) -> Iterable[Phase]:
        _, favorites = super().make_phases()
        return (favorites,)


def serve(columns: int, number: int, *, epsilon: float = 1.0) -> ServerMachine:
    public = np.full((1, columns), number, dtype=np.int64)
    roster = Roster(("p0",), public)
    return ServerMachine(OfAnyRow(Parameters(epsilon=epsilon)), roster, make_session().mode())


@pytest.mark.few(most=3)
@pytest.mark.parametrize(("number", "size"), [(1, 1), (-32, 1), (200, 2), (-200, 3), (2**40, 9), (-(2**63), 9)])
def test_a_row_that_makes_welcome_or_terms_too_large_is_refused_at_construction(number: int, size: int) -> None:
    """Terms have the longer head. An array of more than 65535 numbers has five bytes before them, an empty one one."""
    empty = Terms(PROTOCOL_VERSION, SESSION_NAME, "quiz", "simulation", QUIZ.encoded_parameters, 0)
    most = (MAX_MESSAGE_BYTES - len(encode(empty)) - 4) // size
    assert len(encode(serve(most, number).answer(Inquiry(PROTOCOL_VERSION, "p0")))) <= MAX_MESSAGE_BYTES
    with pytest.raises(ValueError, match=r"a message may have 1048576 bytes, this Terms has 10485\d\d"):
        serve(most + 1, number)


def test_a_row_that_makes_even_the_welcome_too_large_is_refused_by_that_name() -> None:
    with pytest.raises(ValueError, match="this Welcome has"):
        serve(MAX_MESSAGE_BYTES, 0)


# What a client takes


@pytest.mark.parametrize("knows", [True, False])
def test_a_client_pays_what_its_row_asks(*, knows: bool) -> None:
    """Two answers at ε = 1 and a favorite; whoever is asked nothing pays for the favorite alone."""
    session = make_session(clients_know=knows)
    session.play()
    paid = {
        name: [
            (entry.phase, entry.proven, None if entry.part is None else entry.part.proven) for entry in ledger.entries
        ]
        for name, ledger in session.ledgers.items()
    }
    favorite = ("favorites", 1.0, None)
    assert paid == {
        "p0": [favorite],
        "p1": [("answers", 3.0, 1.0), favorite],
        "p2": [("answers", 2.0, 1.0), favorite],
    }


@pytest.mark.parametrize("knows", [True, False])
def test_room_is_reserved_for_what_the_row_asks_and_no_more(*, knows: bool) -> None:
    session, client = make_client(knows=knows, budget=Budget(epsilon=3.0))  # all tasks would cost 4
    assert client.receive(SERVER, welcome()) == []
    assert session.ledgers["p2"].reserved == 3.0


def test_a_row_that_the_budget_does_not_allow_ends_the_session_before_anything_is_charged() -> None:
    session, client = make_client(budget=Budget(epsilon=2.9))
    effects = client.receive(SERVER, welcome())
    assert isinstance(failure_of(effects), BudgetExceededError)
    assert (session.ledgers["p2"].entries, session.ledgers["p2"].reserved) == ((), 0)


def assert_blamed(session: Session, client: ClientMachine, effects: Sequence[Effect], reason: str) -> None:
    """Check that the server is told and blamed, and that nothing was reserved, charged or drawn."""
    error = failure_of(effects)
    assert type(error) is RemoteProtocolError
    assert (str(error), error.sender, error.role) == (reason, SERVER, "client")
    assert effects == [Send((SERVER,), Abort(reason)), Fail(error)]
    assert client.state is State.ENDED
    assert session.noise.draws == []
    assert (session.ledgers["p2"].entries, session.ledgers["p2"].reserved) == ((), 0)


LIES: list[tuple[int, ...]] = [
    (),
    (2, 1, 0),
    (2, 1, 0, 1, 0),
    (1, 1, 0, 1),
    (2, 1, 1, 1),
    (2, 0, 0, 1),
    (2, 0, 1, 1),
    (2, 2, 0, 1),
    (2, -1, 0, 1),
    (2**63, 1, 0, 1),
]


@pytest.mark.parametrize("public", LIES)
def test_a_server_that_lies_about_the_row_is_blamed_before_anything_is_charged(public: tuple[int, ...]) -> None:
    session, client = make_client()
    effects = client.receive(SERVER, welcome(public))
    assert_blamed(session, client, effects, "server's public row for p2 is not the one agreed to")


@pytest.mark.parametrize("public", [lie for lie in LIES if lie[1:] != PUBLIC[1:]])
def test_a_row_that_does_not_fit_the_answers_is_blamed_where_the_servers_is_taken(public: tuple[int, ...]) -> None:
    session, client = make_client(knows=False)
    effects = client.receive(SERVER, welcome(public))
    assert_blamed(session, client, effects, "server's public row does not fit p2's own values")


def test_the_clients_own_row_is_checked_against_its_answers_too() -> None:
    """Both sides may have been given the same wrong row."""
    wrong = Inputs(INPUTS.private, INPUTS.public[[0, 1, 1]])
    session = Session(QUIZ, wrong)
    client = session.client("p2")
    client.start()
    reason = "server's public row does not fit p2's own values"
    assert_blamed(session, client, client.receive(SERVER, welcome(wrong.public[2].tolist())), reason)


@pytest.mark.parametrize("number", [0, 1])
def test_what_a_party_holds_is_held_against_the_row_in_each_phase(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vote = make_vote()
    phase = vote.phases[number]

    def fitting_none(_: object) -> list[tuple[()]]:
        return [()] * phase.num_values

    monkeypatch.setattr(phase, "values_of", fitting_none)
    client = Session(vote, make_inputs(vote, 1)).client("p0")
    client.start()
    effects = client.receive(SERVER, Welcome.make(vote, public=()))
    assert str(failure_of(effects)) == "server's public row does not fit p0's own values"


def test_a_row_where_the_protocol_has_none_is_blamed_if_the_client_knows_that() -> None:
    vote = make_vote()
    client = Session(vote, make_inputs(vote, 1)).client("p0")
    client.start()
    effects = client.receive(SERVER, Welcome.make(vote, public=(1,)))
    assert str(failure_of(effects)) == "server's public row for p0 is not the one agreed to"


def client_of_row(public: Any) -> ClientMachine:
    return ClientMachine(QUIZ, Party("p2", 2, ROW, public=public), make_session().mode())


def test_a_row_given_in_other_integers_is_the_same_row() -> None:
    client = client_of_row(INPUTS.public[2])
    client.start()
    assert client.receive(SERVER, welcome()) == []


@pytest.mark.parametrize("public", [(2.0, 1, 0, 1), ("2", 1, 0, 1), (None,)])
def test_a_row_of_anything_but_integers_is_refused_at_construction(public: Any) -> None:
    with pytest.raises(TypeError):
        client_of_row(public)


# What a client sends


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        ([1, 0, 1], "task 1 is answered and not asked"),
        ([NONE, NONE, 1], "task 0 is asked and not answered"),
        ([NONE, NONE, NONE], "task 0 is asked and not answered"),
    ],
)
def test_a_report_that_does_not_fit_its_senders_row_drops_the_sender_and_says_why(
    report: list[int], problem: str
) -> None:
    server = make_server(quorum=2)
    effects = server.receive("p2", Report(0, raw(report)))
    drop = drop_of(effects)
    reason = f"p2's report in phase 'answers' is not what the phase declares: {problem}"
    assert (drop.party, str(drop.error), drop.error.sender) == ("p2", reason, "p2")
    assert isinstance(drop.error, MalformedMessageError)
    assert (drop.error.role, drop.error.state, drop.error.message_type) == ("server", "asked", "Report")
    assert messages_of(effects) == [(("p2",), Abort(reason))]
    assert (server.state_of("p2"), server.progress) == (State.ENDED, ("answers", 0, 2))


# What one client alone is told


def test_what_is_for_one_client_alone_reaches_it_and_nobody_else() -> None:
    wire = make_session().play()
    assert wire.result is not None
    assert set(wire.result.own_outcomes) == {1, 2}  # p0 was asked nothing, and is told nothing
    assert wire.own == {"p0": None, "p1": wire.result.own_outcomes[1], "p2": wire.result.own_outcomes[2]}
    sent = [(recipients, message) for recipients, message in messages_of(wire.effects) if isinstance(message, Release)]
    payload = raw(wire.result.outcome)
    assert sent == [
        (("p0",), Release(payload)),
        (("p1",), Release(payload, raw(wire.own["p1"]))),
        (("p2",), Release(payload, raw(wire.own["p2"]))),
    ]


def test_one_that_is_gone_is_told_nothing_and_the_result_still_has_it() -> None:
    session = make_session(rules=SessionRules(quorum=2))
    wire = session.wire()
    wire.start()
    while wire.server.progress[0] != "favorites":
        wire.deliver(wire.available()[0])
    wire.crash("p1")
    wire.up["p1"].clear()
    wire.run()
    wire.check_end()
    assert wire.result is not None
    assert 1 in wire.result.own_outcomes
    assert wire.own.keys() == {"p0", "p2"}
    assert not any(
        "p1" in recipients for recipients, message in messages_of(wire.effects) if isinstance(message, Release)
    )


class Novel(msgspec.Struct):
    """More than a message may hold."""

    text: str = "x" * MAX_MESSAGE_BYTES


class Talkative(Quiz):
    """A quiz that tells one voter alone more than a message may hold."""

    own_outcome_type = Novel

    def own_outcomes(self, tallies: Sequence[Tally]) -> Mapping[int, msgspec.Struct]:
        """Tell p1 a novel."""
        del tallies
        return {1: Novel()}


def test_what_is_for_one_alone_and_does_not_fit_into_a_message_ends_the_session_on_every_side() -> None:
    """Everybody has paid by then; at least everybody is told why."""
    session = Session(Talkative(Parameters()), INPUTS)
    server = session.server()
    server.start()
    for name in session.names:
        server.receive(name, hello(name, protocol="quiz"))
    reports: list[list[list[int]]] = [INPUTS.private[:, :3].tolist(), INPUTS.private[:, 3:].tolist()]
    effects: list[Effect] = []
    for phase, of_all in enumerate(reports):
        for name, values in zip(session.names, of_all, strict=True):
            effects = server.receive(name, Report(phase, raw(values)))
    failure = failure_of(effects)
    assert isinstance(failure, LocalProtocolError)
    assert "does not fit into a message" in str(failure)
    assert [(recipients, type(message)) for recipients, message in messages_of(effects)] == [(session.names, Abort)]
    assert server.state is SessionState.ABORTED


def client_that_reported(protocol: Quiz = QUIZ) -> ClientMachine:
    """Return the machine of p2 with nothing left but the release."""
    _, client = make_client(protocol=protocol)
    effects: list[Effect] = []
    for message in (welcome(protocol=protocol), Request(0, NIL), Request(1, NIL)):
        effects += client.receive(SERVER, message)
    assert sum(isinstance(effect, Charged) for effect in effects) == 2
    return client


@pytest.mark.parametrize("own", [None, Score(1, 2)])
def test_a_client_finishes_with_what_it_alone_was_told(own: Score | None) -> None:
    release = Release(raw(OUTCOME), NIL if own is None else raw(own))
    assert client_that_reported().receive(SERVER, release) == [Finish(OUTCOME, own)]


class Discreet(Quiz):
    """A quiz that declares nothing for one alone."""

    own_outcome_type = None


UNDECLARED: list[tuple[Callable[[], Quiz], msgspec.Raw]] = [
    *[(lambda: QUIZ, raw(own)) for own in (7, [1, 2], {}, {"agreeing": 1}, {"agreeing": "1", "answered": 2}, "score")],
    (lambda: QUIZ, msgspec.Raw(b"\xc1")),
    (lambda: Discreet(Parameters()), raw(Score(1, 2))),
    (lambda: Discreet(Parameters()), raw(0)),
    (lambda: Discreet(Parameters()), raw([])),
]


@pytest.mark.parametrize(("make_protocol", "own"), UNDECLARED)
def test_a_release_that_tells_one_what_the_protocol_does_not_declare_is_blamed(
    make_protocol: Callable[[], Quiz], own: msgspec.Raw
) -> None:
    client = client_that_reported(make_protocol())
    effects = client.receive(SERVER, Release(raw(OUTCOME), own))
    error = failure_of(effects)
    assert isinstance(error, MalformedMessageError)
    assert str(error).startswith("what server's release tells p2 alone is not what the protocol declares: ")
    assert (error.sender, error.role, error.message_type) == (SERVER, "client", "Release")
    assert effects == [Send((SERVER,), Abort.from_error(error)), Fail(error)]
    assert client.state is State.ENDED


def test_a_protocol_that_declares_nothing_takes_a_release_for_everybody() -> None:
    client = client_that_reported(Discreet(Parameters()))
    assert client.receive(SERVER, Release(raw(OUTCOME))) == [Finish(OUTCOME, None)]


def test_the_outcome_of_all_is_still_checked() -> None:
    error = failure_of(client_that_reported().receive(SERVER, Release(raw(5), raw(Score(1, 2)))))
    assert "server's release is no Outcome" in str(error)


@CHECKED
@given(quizzes())
def test_nobodys_view_has_what_is_for_another(session: Session) -> None:
    """Scores are told apart by the party they went to: each client receives one release, with its own score or none."""
    wire = session.play()
    assert wire.result is not None
    for place, name in enumerate(session.names):
        releases = [
            observation.message
            for observation in wire.view.observations
            if observation.happening is Happening.SENT
            and observation.peer == name
            and isinstance(observation.message, Release)
        ]
        own = wire.result.own_outcomes.get(place)
        assert releases == [Release(raw(wire.result.outcome), NIL if own is None else raw(own))]


# What protocols do unless they say otherwise
