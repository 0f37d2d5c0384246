"""Agents of a protocol in which public rows matter: who pays what, who is told what, and a server that lies."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import pytest
import trio
from peers import TRANSPORTS
from peers import run as run_session
from psephos.agents import Aggregator, Client, Simulation, Voter
from psephos.protocol import Party
from psephos.protocol.errors import MalformedMessageError, PsephosError, RemoteProtocolError, SessionAborted
from psephos.protocol.messages import (
    NIL,
    Abort,
    Message,
    Release,
    Report,
    Request,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.phases import Phase
from psephos.protocol.population import run_population
from psephos.protocol.privacy import PrivacyLoss
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.protocol.rules import SessionRules
from psephos.protocol.server_machine import SessionResult
from psephos.protocol.views import Happening, View
from psephos.transports import MemoryTransport, Transport
from quiz import Answers, Outcome, Parameters, Quiz, Score, make_quiz_inputs

QUIZ = Quiz(Parameters())
NAMES = tuple(f"p{place}" for place in range(7))
INPUTS = make_quiz_inputs(QUIZ, len(NAMES), seed=5)
ASKED = [sum(public[1:]) for public in INPUTS.public.tolist()]
PATIENCE = 240.0


def simulation(*, record_views: bool = False) -> Simulation:
    return Simulation("s", SimulatedNoise(77, session="s"), record_views=record_views)


def make_client(name: str, mode: Simulation, *, knows: bool = True, protocol: Quiz = QUIZ) -> Voter:
    place = NAMES.index(name)
    row: list[int] = INPUTS.private[place].tolist()
    public: list[int] = INPUTS.public[place].tolist()
    return Voter(protocol, Party(name, place, row, public=public if knows else None), mode)


async def run(
    clients: Mapping[str, Client], transport: Transport, mode: Simulation, *, quorum: float = 1.0
) -> tuple[SessionResult, dict[str, msgspec.Struct], dict[str, PsephosError]]:
    """Run a session; return what it left, what each client heard, and the errors of those that did not."""
    roster = Roster(NAMES, INPUTS.public)
    server = Aggregator(QUIZ, roster, mode, rules=SessionRules(quorum=quorum))

    ending = await run_session(server, clients, transport)
    assert ending.result is not None
    return ending.result, ending.outcomes, ending.endings


def releases_in(view: View | None) -> list[Release]:
    assert view is not None
    received = [each.message for each in view.observations if each.happening is Happening.RECEIVED]
    return [message for message in received if isinstance(message, Release)]


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_agents_and_arrays_tell_everybody_the_same(
    make_transport: Callable[[], Transport], *, knows: bool
) -> None:
    mode = simulation()
    clients = {name: make_client(name, mode, knows=knows) for name in NAMES}
    result, outcomes, endings = await run(clients, make_transport(), mode)
    arrays = run_population(QUIZ, INPUTS, noise=mode.noise)
    assert (result.outcome, result.tallies, result.own_outcomes) == (
        arrays.outcome,
        arrays.tallies,
        arrays.own_outcomes,
    )
    assert outcomes == dict.fromkeys(NAMES, arrays.outcome)
    assert not endings
    own = {name: client.own_outcome for name, client in clients.items()}
    assert own == {name: arrays.own_outcomes.get(place) for place, name in enumerate(NAMES)}
    assert [isinstance(score, Score) for score in own.values()] == [number > 0 for number in ASKED]


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_each_pays_for_what_it_is_asked(make_transport: Callable[[], Transport]) -> None:
    mode = simulation()
    clients = {name: make_client(name, mode) for name in NAMES}
    await run(clients, make_transport(), mode)
    for number, client in zip(ASKED, clients.values(), strict=True):
        assert client.ledger.spent == number + 1.0
        assert [entry.part is not None for entry in client.ledger.entries] == [True, False][not number :]


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_nobodys_view_has_what_another_was_told(make_transport: Callable[[], Transport]) -> None:
    """A client's view has one release, with its own score; its row, and no other's, came with its welcome."""
    mode = simulation(record_views=True)
    clients = {name: make_client(name, mode) for name in NAMES}
    result, _, _ = await run(clients, make_transport(), mode)
    for place, client in enumerate(clients.values()):
        (release,) = releases_in(client.view)
        own = result.own_outcomes.get(place)
        assert release.own == (NIL if own is None else msgspec.Raw(msgspec.msgpack.encode(own)))
        assert client.view is not None
        welcomes = [each.message for each in client.view.observations if isinstance(each.message, Welcome)]
        assert [list(welcome.public) for welcome in welcomes] == [INPUTS.public[place].tolist()]


@pytest.mark.bad_input("a label outside the task's answer set")
async def test_a_report_that_does_not_fit_its_senders_row_is_refused_and_the_others_go_on() -> None:
    mode = simulation()
    transport = MemoryTransport()
    honest = {name: make_client(name, mode) for name in NAMES[1:]}
    place, row = 0, [1] * 4

    class AllAnswers(Answers):
        """Takes and pays for answers that are not asked."""

        def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
            """Allow an answer everywhere."""
            del public
            return [(0, 1)] * self.num_values

        def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
            del public
            return self.losses

    class Overzealous(Quiz):
        """Answers what it is not asked."""

        def make_phases(self) -> Iterable[Phase]:
            _, favorites = super().make_phases()
            return AllAnswers(self.parameters), favorites

        def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
            """Find nothing wrong."""

    public: list[int] = INPUTS.public[place].tolist()
    assert public == [0, 0, 0, 0]
    liar = Voter(Overzealous(Parameters()), Party("p0", place, row, public=public), mode)
    result, outcomes, endings = await run({"p0": liar, **honest}, transport, mode, quorum=2)
    assert result.num_received == (6, 6)
    assert set(outcomes) == set(honest)
    ending = endings["p0"]
    assert isinstance(ending, SessionAborted)
    assert ending.reason.endswith("phase 'answers' is not what the phase declares: task 0 is answered and not asked")


async def against_a_played_server(
    make_transport: Callable[[], Transport], client: Client, *answers: Message
) -> tuple[PsephosError, list[Message]]:
    """Let a client meet a server that answers its Hello by all of these; return how that ended and what it heard."""
    transport = make_transport()
    heard: list[Message] = []
    endings: list[PsephosError] = []

    async def take_part(address: str) -> None:
        with pytest.raises(PsephosError) as caught:
            await client.take_part(await transport.connect(address))
        endings.append(caught.value)

    with trio.fail_after(PATIENCE):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(take_part, listener.address)
            async with await listener.accept() as channel:
                heard += map(decode, await channel.receive())
                await channel.send([encode(answer) for answer in answers])
                with contextlib.suppress(trio.EndOfChannel):
                    while True:
                        heard += map(decode, await channel.receive())
    (ending,) = endings
    return ending, heard


@pytest.mark.parametrize("make_transport", TRANSPORTS)
@pytest.mark.parametrize(
    ("knows", "public", "reason"),
    [
        (True, (1, 0, 0, 1), "server's public row for p1 is not the one agreed to"),
        (True, (), "server's public row for p1 is not the one agreed to"),
        (False, (1, 0, 0, 1), "server's public row does not fit p1's own values"),
        (False, (1, 1), "server's public row does not fit p1's own values"),
    ],
)
async def test_a_server_that_lies_about_the_row_is_told_so_and_learns_nothing(
    make_transport: Callable[[], Transport], *, knows: bool, public: tuple[int, ...], reason: str
) -> None:
    assert INPUTS.public[1].tolist() == [1, 1, 1, 1]
    client = make_client("p1", simulation(), knows=knows)
    welcome = Welcome.of(QUIZ, public=public, charter=simulation().charter)
    error, heard = await against_a_played_server(make_transport, client, welcome)
    assert type(error) is RemoteProtocolError
    assert str(error) == reason
    assert heard[1:] == [Abort(reason)]
    assert client.ledger.entries == ()
    assert client.own_outcome is None


@pytest.mark.parametrize("make_transport", TRANSPORTS)
async def test_a_release_that_tells_one_what_was_not_declared_is_an_error(
    make_transport: Callable[[], Transport],
) -> None:
    client = make_client("p1", simulation())
    outcome = msgspec.Raw(msgspec.msgpack.encode(Outcome(1, (0, 0, 0), (1, 1, 1), (1, 0, 0))))
    answers: list[Message] = [
        Welcome.of(QUIZ, public=(1, 1, 1, 1), charter=simulation().charter),
        Request(0, NIL),
        Request(1, NIL),
        Release(outcome, msgspec.Raw(msgspec.msgpack.encode("a secret of another"))),
    ]
    error, heard = await against_a_played_server(make_transport, client, *answers)
    assert isinstance(error, MalformedMessageError)
    assert "tells p1 alone is not what the protocol declares" in str(error)
    assert [type(message) for message in heard[1:]] == [Report, Report, Abort]
    assert client.own_outcome is None
