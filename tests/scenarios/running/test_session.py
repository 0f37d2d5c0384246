"""Sessions on the three paths: the same bits, and what happens when somebody stays away or may not pay."""

import asyncio
import dataclasses
import resource
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

import hypothesis
import msgspec
import pytest
import trio
import trio.testing
from bad_input import refuses
from hypothesis import strategies as st
from psephos.agents import CloudServer, Partner, Simulation
from psephos.agents.adversaries import SERVER, Asker, Deviation, Liar, Poisoner
from psephos.protocol import (
    ConfigurationError,
    QuorumError,
    SessionAborted,
    SessionRules,
    SimulatedNoise,
)
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.effects import Closed, Effect, Opened
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.privacy import Budget, Ledger, LedgerEntry
from psephos.scenarios import (
    Adversity,
    AgentClasses,
    SessionRecord,
    load_scenario,
    resolve,
    run_agents,
    run_arrays,
    simulate,
    simulate_async,
)
from psephos.scenarios.plugins import make_transport
from psephos.scenarios.running import limits
from psephos.scenarios.running.record import SessionObservers
from psephos.transports import Channel, MemoryTransport, TCPTransport
from quiz import Parameters as QuizParameters
from quiz import Quiz, make_quiz_inputs
from thoroughness import draws

WEIGHTS = (1.0, 2.5, 4.0)
FORMS: list[dict[str, Any]] = [
    {},
    {"project_counts": True},
    {"groups": ((1.0, 2.5), (4.0,))},
    {"weight_collection": "per_candidate"},
    {"public_weights": True},
    {"quota": 3.0, "passes": "more_than"},
    {"variant": "printed"},
    {"variant": "printed", "weight_collection": "per_candidate", "quota_fraction": 0.75},
    {"variant": "laplace"},
    {"variant": "laplace", "weight_collection": "per_candidate"},
    {"variant": "laplace", "public_weights": True},
]


@dataclasses.dataclass(frozen=True)
class Session:
    """A session's protocol, its parties and its seed."""

    protocol: PhasedProtocol[Any, Any]
    names: list[str]
    inputs: Inputs
    seed: int

    def run(self, path: Literal["array", "memory", "tcp", "tls"]) -> SessionRecord:
        noise = SimulatedNoise(self.seed, session="s")
        if path == "array":
            return run_arrays(self.protocol, inputs=self.inputs, noise=noise)
        transport = make_transport(path)

        async def main() -> SessionRecord:
            return await run_agents(
                self.protocol, names=self.names, inputs=self.inputs, mode=Simulation("s", noise), transport=transport
            )

        return trio.run(main)


@st.composite
def votes(draw: st.DrawFn) -> Session:
    """Votes of every form, with 1 to 40 partners."""
    candidates = tuple(f"c{number}" for number in range(draw(st.integers(1, 3))))
    epsilon = draw(st.floats(0.05, 8.0))
    form = draw(st.sampled_from(FORMS))
    protocol = DPWeVote(Parameters(candidates=candidates, weights=WEIGHTS, epsilon=epsilon, **form))
    opinions = st.tuples(*(st.integers(0, 1) for _ in candidates))
    rows = draw(st.lists(st.tuples(st.sampled_from(WEIGHTS), opinions), min_size=1, max_size=40))
    columns = zip(*(opinions for _, opinions in rows), strict=True)
    table = {"weight": [weight for weight, _ in rows], **dict(zip(candidates, map(list, columns), strict=True))}
    return Session(protocol, [f"p{n}" for n in range(len(rows))], protocol.encode(table), draw(st.integers(0, 2**130)))


def check_equal(first: SessionRecord, second: SessionRecord) -> None:
    """Check that two sessions left the same bits."""
    assert first.outcome == second.outcome
    assert first.num_received == second.num_received
    assert first.own_outcomes == second.own_outcomes
    pairs = zip(first.tallies, second.tallies, strict=True)
    assert all(one.totals.tolist() == other.totals.tolist() for one, other in pairs)
    assert first.tallies == second.tallies


@hypothesis.given(vote=votes())
@hypothesis.settings(max_examples=draws(4, full=60))
def test_agents_in_memory_and_arrays_give_the_same_bits(vote: Session) -> None:
    check_equal(vote.run("memory"), vote.run("array"))


@hypothesis.given(vote=votes())
@hypothesis.settings(max_examples=draws(1, full=6))
def test_agents_over_tcp_and_arrays_give_the_same_bits(vote: Session) -> None:
    check_equal(vote.run("tcp"), vote.run("array"))
    check_equal(vote.run("tls"), vote.run("array"))


def test_all_partners_of_a_simulation_over_tls_take_part_though_they_have_one_certificate() -> None:
    protocol = DPWeVote(Parameters(candidates=("c0",), weights=WEIGHTS, epsilon=1.0))
    inputs = protocol.encode({"weight": [1.0, 2.5, 4.0], "c0": [1, 0, 1]})
    vote = Session(protocol, ["p0", "p1", "p2"], inputs, 1)
    check_equal(vote.run("tls"), vote.run("array"))


@hypothesis.given(vote=votes())
@hypothesis.settings(max_examples=draws(5, full=20))
def test_the_ledger_charges_every_partner_what_the_protocol_costs(vote: Session) -> None:
    entries = vote.run("memory").entries
    assert [entry.person for entry in entries] == [name for name in vote.names for _ in vote.protocol.losses]
    paid = sum(entry.proven for entry in entries if entry.person == vote.names[-1])
    assert paid == pytest.approx(vote.protocol.parameters.epsilon_total)
    by_arrays = vote.run("array").entries
    assert len(by_arrays) == len(vote.protocol.losses)
    assert {entry.num_persons for entry in by_arrays} == {len(vote.names)}
    assert [entry.event for entry in by_arrays] == [entry.event for entry in entries][: len(by_arrays)]


# A protocol in which public rows matter

QUIZ = Quiz(QuizParameters(epsilon=0.5))
OF_QUIZ = Session(QUIZ, [f"p{place}" for place in range(12)], make_quiz_inputs(QUIZ, 12, seed=2), seed=9)


def test_what_single_parties_are_told_is_the_same_on_every_path() -> None:
    records = [OF_QUIZ.run(path) for path in ("array", "memory", "tcp", "tls")]
    assert records[0].own_outcomes
    assert len(records[0].tallies[0].rows) > 0
    for record in records[1:]:
        check_equal(records[0], record)


def test_arrays_have_a_line_for_each_group_that_pays_alike_and_agents_pay_as_their_groups() -> None:
    """Whoever is asked nothing pays for the favorite alone, and a group of such voters has no line."""
    public: list[list[int]] = OF_QUIZ.inputs.public.tolist()
    asked = [sum(row[1:]) for row in public]
    assert set(asked) == {0, 1, 2, 3}
    lines = [
        (entry.person, entry.num_persons, entry.phase, entry.unit, entry.proven, entry.part is not None)
        for entry in OF_QUIZ.run("array").entries
    ]
    of_answers = [
        (f"each of {asked.count(n)} voters with {n} answers", asked.count(n), "answers", "voter", 0.5 * n, True)
        for n in (1, 2, 3)
    ]
    assert lines == [*of_answers, ("each of 12 voters", 12, "favorites", "favorite", 0.5, False)]
    by_agents = [entry for entry in OF_QUIZ.run("memory").entries if entry.phase == "answers"]
    assert [(entry.person, entry.proven) for entry in by_agents] == [
        (f"p{place}", 0.5 * number) for place, number in enumerate(asked) if number
    ]


BALLOT = DPWeVote(Parameters(candidates=("merger",)))
PARTIES = {"ann": (1, 1), "bob": (2, 0), "cid": (3, 1), "dee": (1, 1)}
INPUTS = BALLOT.encode({"weight": [1, 2, 3, 1], "merger": [1, 0, 1, 1]})


def test_simulate_gives_the_same_outcome_on_every_path() -> None:
    outcomes = [simulate(BALLOT, PARTIES, seed=5, transport=path) for path in ("array", "memory", "tcp", "tls")]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0].num_partners == 4


def test_under_asyncio_simulate_async_says_what_runs_there() -> None:
    """And that does: a thread of its own has the outcome."""

    async def wrong() -> None:
        await simulate_async(BALLOT, PARTIES, seed=5)

    async def right() -> object:
        return await asyncio.to_thread(simulate, BALLOT, PARTIES, seed=5, transport="memory")

    with pytest.raises(
        ConfigurationError, match=r"loop of simulate_async (is|are) .*trio's; .*asyncio.to_thread\(simulate"
    ):
        asyncio.run(wrong())
    assert asyncio.run(right()) == simulate(BALLOT, PARTIES, seed=5)


async def test_inside_trio_simulate_async_gives_the_same_outcome_and_simulate_says_so() -> None:
    outcomes = [await simulate_async(BALLOT, PARTIES, seed=5, transport=path) for path in ("array", "memory", "tcp")]
    outcomes.append(simulate(BALLOT, PARTIES, seed=5))
    assert outcomes[1:] == outcomes[:-1]
    with pytest.raises(ConfigurationError, match=r"'array' inside trio, or .* await simulate_async\(\.\.\.\)"):
        simulate(BALLOT, PARTIES, seed=5, transport="memory")


def test_another_seed_and_another_session_draw_other_noise() -> None:
    many = {f"p{n}": (1 + n % 3, n % 2) for n in range(200)}
    first = simulate(BALLOT, many, seed=5)
    assert simulate(BALLOT, many, seed=5) == first
    assert simulate(BALLOT, many, seed=6) != first
    assert simulate(BALLOT, many, seed=5, session="another") != first


@pytest.mark.parametrize("transport", ["array", "memory"])
@pytest.mark.parametrize(
    ("parties", "field"),
    [
        ({"ann": (1,)}, "ann"),
        ({"ann": (1, 1), "bob": (1, 1, 0)}, "bob"),
        ({"ann": (9, 1)}, "weight in row 1"),
        ({"ann": (1, 2)}, "merger in row 1"),
    ],
)
def test_simulate_refuses_entries_that_are_not_allowed(
    parties: dict[str, tuple[int, ...]], field: str, transport: str
) -> None:
    with refuses(field):
        simulate(BALLOT, parties, seed=5, transport=transport)


def test_simulate_refuses_a_seed_below_nought_and_a_transport_that_is_none() -> None:
    with pytest.raises(ConfigurationError, match="seed"):
        simulate(BALLOT, PARTIES, seed=-1)
    with pytest.raises(ConfigurationError, match=r"pigeon.*array"):
        simulate(BALLOT, PARTIES, seed=1, transport="pigeon")


@pytest.mark.parametrize("transport", ["array", "memory"])
def test_simulate_of_nobody_is_refused(transport: str) -> None:
    with pytest.raises(ConfigurationError, match="at least one partner"):
        simulate(BALLOT, {}, seed=1, transport=transport)


@pytest.mark.parametrize("transport", ["array", "memory"])
@pytest.mark.parametrize("name", ["", " ann", 7])
def test_simulate_refuses_a_name_that_names_no_party(name: Any, transport: str) -> None:
    with refuses("partner", name):
        simulate(BALLOT, {name: (1, 1)}, seed=1, transport=transport)


class SometimesAway(Partner):
    """A partner who hangs up without a word if its name says so."""

    __slots__ = ()

    async def take_part(self, channel: Any) -> Any:
        if self.ledger.person.startswith("away"):
            await channel.aclose()
            raise SessionAborted(reason="away", by=self.ledger.person)
        return await super().take_part(channel)


AWAY = AgentClasses(SometimesAway, CloudServer)


class Notes:
    """A log that keeps the events' names."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def info(self, event: str, **_fields: Any) -> None:
        self.events.append(event)

    def warning(self, event: str, **_fields: Any) -> None:
        self.events.append(event)


def with_budget(epsilon: float) -> dict[str, Ledger]:
    return {name: Ledger(name, budget=Budget(epsilon=epsilon)) for name in PARTIES}


async def run_with(*names: str, record_views: bool = False, **options: Any) -> SessionRecord:
    """Run the ballot with these partners, or all, in memory if no other transport is given."""
    mode = Simulation("s", SimulatedNoise(5, session="s"), record_views=record_views)
    chosen: dict[str, Any] = {"names": names or tuple(PARTIES), "transport": MemoryTransport(), **options}
    return await run_agents(BALLOT, inputs=INPUTS, mode=mode, **chosen)


async def test_a_session_without_its_quorum_names_who_was_missing(autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(QuorumError) as caught:
        await run_with("ann", "away-1", "cid", "away-2", classes=AWAY)
    error = caught.value
    assert (error.phase, error.received, error.required) == ("join", 2, 4)
    assert error.missing == ("away-1", "away-2")
    assert autojump_clock.rate == 0


async def test_a_session_with_its_quorum_goes_on_and_says_who_did_not_hear(
    autojump_clock: trio.testing.MockClock,
) -> None:
    rules = SessionRules(deadline_seconds=20.0, quorum=0.75)
    record = await run_with("ann", "away-1", "cid", "dee", classes=AWAY, rules=rules)
    assert record.num_received == (3, 3)
    assert {name: str(error) for name, error in record.endings.items()} == {"away-1": "away-1 ended the session: away"}
    assert {entry.person for entry in record.entries} == {"ann", "cid", "dee"}
    assert 20 <= autojump_clock.current_time() < 60


async def test_a_budget_below_the_session_stops_it_before_anything_is_paid(
    autojump_clock: trio.testing.MockClock,
) -> None:
    notes = Notes()
    with pytest.raises(QuorumError) as caught:
        await run_with(ledgers=with_budget(0.9), observers=SessionObservers(log=notes))
    assert caught.value.phase == "join"
    assert "privacy_loss" not in notes.events
    assert "session_failed" in notes.events
    assert autojump_clock.current_time() < 400


async def test_a_budget_that_holds_the_session_changes_nothing() -> None:
    record = await run_with(ledgers=with_budget(1.0))
    assert record.outcome == (await run_with()).outcome
    assert record.endings == {}


async def test_views_are_kept_only_where_asked_for() -> None:
    assert (await run_with()).views == []
    record = await run_with(record_views=True)
    assert [view.party for view in record.views] == ["cloud-server", *PARTIES]
    assert record.views[1].private_row == tuple(INPUTS.private[0].tolist())


async def test_a_listener_hears_every_phase_open_and_close() -> None:
    heard: list[Effect] = []
    await run_with(observers=SessionObservers(listener=heard.append))
    phases = [effect.phase for effect in heard if isinstance(effect, Closed)]
    assert phases == ["join", "weights", "opinions"]
    by_arrays: list[Effect] = []
    noise = SimulatedNoise(5, session="s")
    run_arrays(BALLOT, inputs=INPUTS, noise=noise, observers=SessionObservers(listener=by_arrays.append))
    kinds = (Opened, Closed)
    same = [effect for effect in heard if isinstance(effect, kinds) and effect.phase != "join"]
    assert by_arrays == same


@pytest.mark.parametrize("make_transport", [MemoryTransport, TCPTransport])
async def test_what_a_party_does_otherwise_is_done_over_any_transport(
    make_transport: Callable[[], MemoryTransport | TCPTransport],
) -> None:
    asker = Asker(times=2)
    deviations: dict[str, Deviation] = {SERVER: asker, "bob": Poisoner({0: [1]})}
    record = await run_with(transport=make_transport(), adversity=Adversity(deviations=deviations))
    assert record.endings == {}
    assert [entry.phase for entry in record.entries] == ["weights", "opinions"] * len(PARTIES)
    assert set(asker.answers["bob", 0]) == {msgspec.msgpack.encode([1])}


async def test_a_server_that_deviates_is_refused_by_clients_that_do_not() -> None:
    entries: list[LedgerEntry] = []
    with pytest.raises(QuorumError):
        await run_with(
            observers=SessionObservers(entries=entries), adversity=Adversity(deviations={SERVER: Liar(b"\x80")})
        )
    assert entries == []


async def test_progress_is_reported_while_a_phase_is_open(autojump_clock: trio.testing.MockClock) -> None:
    reported: list[tuple[str, int, float]] = []

    def take_note(phase: str, received: int, outstanding: float) -> None:
        reported.append((phase, received, outstanding))

    rules = SessionRules(deadline_seconds=2.0, quorum=3)
    await run_with(
        "ann", "away-1", "cid", "dee", classes=AWAY, rules=rules, observers=SessionObservers(on_progress=take_note)
    )
    assert ("join", 3, 1) in reported
    assert autojump_clock.current_time() >= 2


class LateTransport(MemoryTransport):
    """A network on which the third connection takes a minute, and is then refused."""

    def __init__(self) -> None:
        super().__init__()
        self._connections = 0

    async def connect(self, address: str) -> Channel:
        self._connections += 1
        if self._connections == 3:
            await trio.sleep(60)
            raise ConnectionRefusedError
        return await super().connect(address)


async def test_who_comes_after_the_end_is_not_missed(autojump_clock: trio.testing.MockClock) -> None:
    record = await run_with(transport=LateTransport(), rules=SessionRules(deadline_seconds=5.0, quorum=2))
    assert record.num_received == (2, 2)
    assert autojump_clock.current_time() == pytest.approx(60)


async def test_a_connection_that_is_refused_while_the_session_lasts_ends_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    with pytest.raises(ConnectionRefusedError):
        await run_with(transport=LateTransport())
    assert autojump_clock.current_time() == pytest.approx(60)


async def test_a_name_taken_twice_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        await run_with("ann", "bob", "ann", "dee")


def with_limits(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> list[tuple[int, int]]:
    """Let the session see these limits of open files; return those that it sets."""
    chosen: list[tuple[int, int]] = []

    def set_limits(_which: int, limits: tuple[int, int]) -> None:
        chosen.append(limits)

    def get_limits(_which: int) -> tuple[int, int]:
        return soft, hard

    fake = SimpleNamespace(
        RLIMIT_NOFILE=resource.RLIMIT_NOFILE,
        RLIM_INFINITY=resource.RLIM_INFINITY,
        getrlimit=get_limits,
        setrlimit=set_limits,
    )
    monkeypatch.setattr(limits, "resource", fake)
    return chosen


def test_more_partners_than_open_files_are_refused_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = with_limits(monkeypatch, 32, 64)
    with pytest.raises(ConfigurationError, match="arrays"):
        resolve(load_scenario("consortium", ["count=4", "transport=tcp"]))
    with pytest.raises(ConfigurationError, match="arrays") as caught:
        simulate(BALLOT, PARTIES, seed=1, transport="tcp")
    assert "64 open files" in caught.value.allowed
    assert chosen == []
    assert caught.value.value == len(PARTIES)


@pytest.mark.parametrize("hard", [4096, resource.RLIM_INFINITY])
def test_the_limit_of_open_files_is_raised_as_far_as_it_is_needed(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    chosen = with_limits(monkeypatch, 16, hard)
    simulate(BALLOT, PARTIES, seed=1, transport="tcp")
    ((soft, kept),) = chosen
    assert (soft >= 2 * len(PARTIES), kept) == (True, hard)


@pytest.mark.parametrize("soft", [100_000, resource.RLIM_INFINITY])
def test_a_limit_that_is_high_enough_stays(monkeypatch: pytest.MonkeyPatch, soft: int) -> None:
    chosen = with_limits(monkeypatch, soft, resource.RLIM_INFINITY)
    simulate(BALLOT, PARTIES, seed=1, transport="tcp")
    assert chosen == []


def test_agents_in_memory_need_no_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = with_limits(monkeypatch, 1, 1)
    simulate(BALLOT, PARTIES, seed=1, transport="memory")
    assert chosen == []
