"""Whole sessions of agents, over memory and over sockets: what they release, log, charge and record."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import pytest
import structlog.testing
import trio
import trio.testing
from pairs import open_pair
from peers import INPUTS, NAMES, VOTE, run
from psephos.agents import Client, CloudServer, Deployment, Mode, Partner, SecureNoise, Simulation, Voter
from psephos.agents.driver import Observers
from psephos.agents.events import Log
from psephos.protocol import Party
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.effects import Effect
from psephos.protocol.errors import (
    BudgetExceededError,
    ConfigurationError,
    LocalProtocolError,
    PsephosError,
    QuorumError,
    SessionAborted,
)
from psephos.protocol.messages import (
    Abort,
    Hello,
    Release,
    Report,
    Request,
    Welcome,
    encode,
)
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.privacy import Budget, Ledger
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.protocol.rules import SessionRules
from psephos.protocol.views import Happening
from psephos.transports import MemoryTransport, Transport

SEED = 918_273_645

PRIVACY_LOSS_KEYS = {
    "event",
    "log_level",
    "session",
    "party",
    "phase",
    "mechanism",
    "relation",
    "unit",
    "model",
    "claimed",
    "proven",
    "total",
    "remaining",
    "total_relation",
}


def simulation(*, record_views: bool = False, session: str = "council") -> Simulation:
    """Return a simulation whose seed would be seen in a log."""
    return Simulation(session, SimulatedNoise(SEED, session=session), record_views=record_views)


def make_server(mode: Mode, *, names: Sequence[str] = NAMES, **options: Any) -> CloudServer:
    public = INPUTS.public if len(names) == len(INPUTS) else INPUTS.public[[0] * len(names)]
    return CloudServer(VOTE, Roster(names, public), mode, **options)


def make_clients(
    mode: Mode,
    *,
    protocol: PhasedProtocol[Any, Any] = VOTE,
    inputs: Inputs = INPUTS,
    ledger: Ledger | None = None,
    log: Log | None = None,
) -> dict[str, Client]:
    """Return an honest client for each party."""
    rows: list[list[int]] = inputs.private.tolist()
    return {
        name: Partner(protocol, Party(name, place, rows[place], ledger=ledger), mode, log=log)
        for place, name in enumerate(NAMES)
    }


async def test_a_session_of_many_parties_and_phases_waits_for_no_deadline(
    transport: Transport,
    mock_clock: trio.testing.MockClock,  # noqa: ARG001  it stands still: a wait for a deadline would never end
) -> None:
    number = 40
    protocol = DPWeVote(Parameters(candidates=("a", "b", "c"), weight_collection="per_candidate"))
    inputs = protocol.encode({"weight": [1.0, 2.0] * 20, "a": [0, 1] * 20, "b": [1, 1] * 20, "c": [0, 0] * 20})
    names = [f"partner {place}" for place in range(number)]
    mode = simulation()
    server = CloudServer(protocol, Roster(names, inputs.public), mode)
    rows: list[list[int]] = inputs.private.tolist()
    clients: dict[str, Client] = {
        name: Voter(protocol, Party(name, place, rows[place]), mode) for place, name in enumerate(names)
    }
    ending = await run(server, clients, transport)
    assert ending.result is not None
    assert ending.result.num_received == (number,) * 6
    assert len(ending.outcomes) == number


async def test_a_whole_deployment_runs_with_secure_noise() -> None:
    mode = Deployment("council", SecureNoise())
    ending = await run(make_server(mode), make_clients(mode), MemoryTransport())
    assert ending.result is not None
    assert ending.outcomes == dict.fromkeys(NAMES, ending.result.outcome)


def test_a_deployment_accepts_nothing_but_secure_noise() -> None:
    class Claims(SecureNoise):
        pass

    simulated: Any = SimulatedNoise(SEED, session="council")
    with pytest.raises(TypeError, match="SimulatedNoise") as caught:
        Deployment("council", simulated)
    assert str(SEED) not in str(caught.value)
    with pytest.raises(TypeError, match="Claims"):
        Deployment("council", Claims())


def test_a_simulation_takes_the_noise_of_its_own_session_and_no_other() -> None:
    with pytest.raises(ConfigurationError, match="council"):
        Simulation("council", SimulatedNoise(1, session="another"))
    with pytest.raises(TypeError, match="SecureNoise"):
        Simulation("council", SecureNoise())  # pyright: ignore[reportArgumentType]  on purpose


@pytest.mark.parametrize("is_server_real", [True, False])
async def test_peers_of_a_deployment_and_of_a_simulation_refuse_each_other(
    is_server_real: bool,  # noqa: FBT001  a parameter of the test
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it acts by being asked for
) -> None:
    real, simulated = Deployment("council", SecureNoise()), simulation()
    server_mode, client_mode = (real, simulated) if is_server_real else (simulated, real)
    clients = make_clients(client_mode)
    ending = await run(make_server(server_mode), clients, MemoryTransport(), patience_seconds=1000.0)
    assert isinstance(ending.failure, QuorumError)
    assert ending.failure.missing == NAMES
    for name in NAMES:
        error = ending.endings[name]
        assert isinstance(error, SessionAborted)
        assert "kind" in error.reason
        assert not clients[name].ledger.entries


async def test_peers_of_different_parameters_refuse_before_anything_is_charged() -> None:
    mode = simulation()
    other = DPWeVote(Parameters(candidates=("bridge", "tunnel"), epsilon=9.0))
    clients = {**make_clients(mode), "bob": make_clients(mode, protocol=other)["bob"]}
    ending = await run(make_server(mode, rules=SessionRules(quorum=2)), clients, MemoryTransport())
    assert ending.result is not None
    assert "epsilon is 2.0, agreed 9.0" in str(ending.endings["bob"])
    assert not clients["bob"].ledger.entries


async def test_a_party_whose_budget_is_too_small_leaves_and_the_quorum_decides(
    transport: Transport,
) -> None:
    mode = simulation(record_views=True)
    for quorum in (2, 3):
        clients = make_clients(mode)
        clients["bob"] = make_clients(mode, ledger=Ledger("bob", budget=Budget(epsilon=2.9)))["bob"]  # 3 are needed
        server = make_server(mode, rules=SessionRules(quorum=quorum))
        ending = await run(server, clients, transport, last="bob")
        bobs = ending.endings["bob"]
        assert isinstance(bobs, BudgetExceededError)
        assert bobs.requested == pytest.approx(3.0)
        assert not clients["bob"].ledger.entries
        # What bob had queued reached the server before bob finished.
        assert server.view is not None
        assert [
            observation.message
            for observation in server.view.observations
            if observation.happening is Happening.RECEIVED
            and observation.peer == "bob"
            and isinstance(observation.message, Abort)
        ] == [Abort("the party's privacy budget does not allow it")]
        if quorum == 2:
            assert ending.result is not None
            assert ending.result.num_received == (2, 2)
            assert set(ending.outcomes) == {"alice", "carol"}
        else:
            assert isinstance(ending.failure, QuorumError)
            assert "bob" in ending.failure.missing  # and whoever had not reported when bob left
            for name in ("alice", "carol"):
                error = ending.endings[name]
                assert isinstance(error, QuorumError)
                assert error.missing == ending.failure.missing


@pytest.mark.parametrize("budget", [3.0, 3.5, 4.0, 100.0])
async def test_every_charge_is_one_event_with_these_keys_and_numbers(budget: float) -> None:
    mode = simulation()
    log = structlog.get_logger()
    with structlog.testing.capture_logs() as events:
        clients = make_clients(mode, log=log)
        clients["bob"] = make_clients(mode, log=log, ledger=Ledger("bob", budget=Budget(epsilon=budget)))["bob"]
        await run(make_server(mode, observers=Observers(log=log)), clients, MemoryTransport())
    charges = [event for event in events if event["event"] == "privacy_loss"]
    assert {frozenset(event) for event in charges} == {frozenset(PRIVACY_LOSS_KEYS)}
    for name in NAMES:
        entries = clients[name].ledger.entries
        of_party = [event for event in charges if event["party"] == name]
        assert [
            (event["phase"], event["mechanism"], event["unit"], event["claimed"], event["proven"]) for event in of_party
        ] == [(entry.phase, entry.mechanism, entry.unit, entry.claimed, entry.proven) for entry in entries]
        assert {event["session"] for event in of_party} == {"council"}
        assert [event["total"] for event in of_party] == pytest.approx([1.0, 2.0, 3.0])
        remaining = [event["remaining"] for event in of_party]
        assert remaining == (pytest.approx([budget - 1, budget - 2, budget - 3]) if name == "bob" else [None] * 3)
    assert {event["relation"] for event in charges} == {"replace-one"}
    assert {event["model"] for event in charges} == {"local"}


def leaves(value: object) -> list[object]:
    """Return the numbers and texts in nested plain data."""
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        return [leaf for item in items.values() for leaf in leaves(item)]
    if isinstance(value, (list, tuple)):
        elements = cast("Sequence[object]", value)
        return [leaf for element in elements for leaf in leaves(element)]
    return [value]


async def test_no_private_value_report_or_seed_is_in_any_event() -> None:
    weights = tuple(float(weight) for weight in range(1, 82))
    protocol = DPWeVote(Parameters(candidates=("bridge",), weights=weights, variant="joint"))
    inputs = protocol.encode({"weight": [78.0, 79.0, 80.0], "bridge": [1, 0, 1]})
    mode = simulation(record_views=True)
    log = structlog.get_logger()
    with structlog.testing.capture_logs() as events:
        clients = make_clients(mode, protocol=protocol, inputs=inputs, log=log)
        server = CloudServer(protocol, Roster(NAMES, inputs.public), mode, observers=Observers(log=log))
        await run(server, clients, MemoryTransport())
    assert events
    # Outcomes are what the session publishes: public weights, estimates.
    found = [leaf for event in events for key, field in event.items() if key != "outcome" for leaf in leaves(field)]
    assert not {77, 78, 79, 80} & {leaf for leaf in found if isinstance(leaf, (int, float))}
    assert str(SEED) not in repr(events)
    told = {"asked", "received", "missing", "outcome", "peer"}
    assert {key for event in events for key in event} <= PRIVACY_LOSS_KEYS | told


async def test_views_hold_what_each_party_saw_in_order(transport: Transport) -> None:
    mode = simulation(record_views=True)
    server, clients = make_server(mode), make_clients(mode)
    await run(server, clients, transport)
    assert server.view is not None
    for place, name in enumerate(NAMES):
        view = clients[name].view
        assert view is not None
        assert view.private_row == tuple(INPUTS.private[place].tolist())
        assert [type(observation.message) for observation in view.observations] == [
            Hello,
            Welcome,
            Request,
            Report,
            Request,
            Report,
            Release,
        ]
        # The server saw the same messages of this party, in the same order.
        assert [observation.message for observation in view.observations] == [
            observation.message for observation in server.view.observations if observation.peer == name
        ]


async def test_views_are_recorded_only_by_simulations_and_only_on_request() -> None:
    for mode in (simulation(), Deployment("council", SecureNoise())):
        server, clients = make_server(mode), make_clients(mode)
        await run(server, clients, MemoryTransport())
        assert server.view is None
        assert [client.view for client in clients.values()] == [None] * 3


async def test_the_listener_of_a_server_is_told_of_effects() -> None:
    mode = simulation()
    told: list[str] = []

    def listen(effect: Effect) -> None:
        told.append(type(effect).__name__)

    server = make_server(mode, observers=Observers(listener=listen))
    await run(server, make_clients(mode), MemoryTransport())
    assert [name for name in told if name != "Send"] == [
        "SetDeadline",
        *["Attended"] * 3,
        "Closed",
        "Opened",
        "SetDeadline",
        "Closed",
        "Opened",
        "SetDeadline",
        "Closed",
        "Finish",
    ]


async def test_a_client_and_a_server_take_part_once() -> None:
    mode = simulation()
    server, clients = make_server(mode), make_clients(mode)
    await run(server, clients, MemoryTransport())
    transport = MemoryTransport()
    listener = await transport.open_listener()
    with pytest.raises(LocalProtocolError, match="once"):
        await server.serve(listener)
    with pytest.raises(OSError, match="nobody"):
        await transport.connect(listener.address)
    async with open_pair() as (near, far):
        with pytest.raises(LocalProtocolError, match="once"):
            await clients["bob"].take_part(near)
        with pytest.raises(trio.EndOfChannel):
            await far.receive()


async def test_sessions_on_one_ledger_add_up_until_the_budget_is_spent() -> None:
    ledger = Ledger("alice", budget=Budget(epsilon=7.0))
    for number in range(3):
        mode = simulation(session=f"council {number}")
        clients = {**make_clients(mode), "alice": make_clients(mode, ledger=ledger)["alice"]}
        ending = await run(make_server(mode, rules=SessionRules(quorum=2)), clients, MemoryTransport())
        assert ("alice" in ending.endings) is (number == 2)
    assert ledger.spent == pytest.approx(6.0)


async def test_cancelling_the_server_ends_every_client(transport: Transport) -> None:
    mode = simulation()
    server, clients = make_server(mode), make_clients(mode)
    del clients["carol"]  # so that the others have to wait
    errors: list[PsephosError] = []

    async def take_part(client: Client, address: str) -> None:
        with pytest.raises(SessionAborted, match="lost") as caught:
            await client.take_part(await transport.connect(address))
        errors.append(caught.value)

    async with trio.open_nursery() as nursery:
        listener = await transport.open_listener()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as serving:
                serving.start_soon(server.serve, listener)
                for client in clients.values():
                    nursery.start_soon(take_part, client, listener.address)
                await trio.testing.wait_all_tasks_blocked(0.02)
                scope.cancel()
    assert len(errors) == 2
    assert {client.ledger.spent for client in clients.values()} == {0.0}


async def test_cancelling_a_client_closes_its_channel_and_what_was_charged_stays_charged(
    transport: Transport,
) -> None:
    mode = simulation()
    client = make_clients(mode)["alice"]
    async with open_pair(transport) as (near, far):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.take_part, near)
            await far.receive()
            request = Request(0, msgspec.Raw(msgspec.msgpack.encode(None)))
            await far.send([encode(Welcome.make(VOTE, descriptor=mode.descriptor)), encode(request)])
            await far.receive()
            nursery.cancel_scope.cancel()
        with pytest.raises(trio.EndOfChannel):
            await far.receive()
        with pytest.raises(trio.ClosedResourceError):
            await near.receive()
    assert client.ledger.spent == pytest.approx(1.0)


async def test_a_cancelled_client_gives_back_what_its_session_had_reserved() -> None:
    ledger = Ledger("alice", budget=Budget(epsilon=3.0))
    mode = simulation()
    client = make_clients(mode, ledger=ledger)["alice"]
    async with open_pair() as (near, far), trio.open_nursery() as nursery:
        nursery.start_soon(client.take_part, near)
        await far.receive()
        await far.send([encode(Welcome.make(VOTE, descriptor=mode.descriptor))])
        await trio.testing.wait_all_tasks_blocked()
        assert ledger.remaining == 0.0
        nursery.cancel_scope.cancel()
    assert (ledger.spent, ledger.remaining) == (0.0, 3.0)
