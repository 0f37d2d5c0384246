"""What a client agrees to, what it refuses before anything is drawn, and how it comes back."""

import concurrent.futures
import contextlib
import json
import re
import socket
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
import trio
from deployments import ENTRIES, NOBODY_LISTENS, PATIENCE, SEED, Serving, invitations_of, report, serving, write_vote
from psephos.agents.person_journal import PersonJournal, read_sessions
from psephos.protocol import ConfigurationError, SessionKind
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import (
    BudgetExceededError,
    ConnectionLostError,
    MalformedMessageError,
    PluginError,
    PsephosError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    UnusablePluginError,
)
from psephos.protocol.messages import PROTOCOL_VERSION, Abort, Message, SessionDescriptor, Terms, encode
from psephos.protocol.privacy import Budget, Ledger, LedgerEntry
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.deployment import (
    DEFAULT_BUDGET,
    CheckedInvitation,
    Invitation,
    Joining,
    join,
    join_in_folder,
)
from psephos.scenarios.deployment import client as client_module
from psephos.scenarios.deployment.client import JoinResult, describe
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.running.folder import RunFolder, read_ledger
from psephos.scenarios.verdicts import outcome_to_dict
from psephos.transports.addresses import format_address
from psephos.transports.framing import encode_frames
from runs import read_json, read_lines


@pytest.fixture
def vote(tmp_path: Path) -> str:
    """A vote of three partners; its path."""
    return write_vote(tmp_path)


@pytest.fixture
def session(vote: str) -> Generator[Serving]:
    """A server of that vote, as a simulation."""
    with serving(vote) as running:
        yield running


def invitation_to(
    scenario: str, *settings: str, party: str = "ann", kind: SessionKind = SessionKind.SIMULATION
) -> Invitation:
    """Return an invitation to a scenario over TCP."""
    side = resolve_served(load_scenario(scenario, settings))
    return next(each for each in invitations_of(side, kind=kind) if each.party == party)


def joining_of(address: str, party: str = "ann", **options: Any) -> Joining:
    usual: dict[str, Any] = {"entries": ENTRIES[party], "seed": SEED, "transport": "tcp"}
    return Joining(address=address, party=party, **{**usual, **options})


def join_as(address: str, party: str = "ann", **options: Any) -> JoinResult:
    """Take part, from this thread."""
    own = {name: options.pop(name) for name in ("ledger", "on_agreed", "on_loss") if name in options}
    joining = joining_of(address, party, **options)

    async def take_part() -> JoinResult:
        with trio.fail_after(PATIENCE):
            return await join(joining, **own)

    return trio.run(take_part)


def join_with_others(session: Serving, **options: Any) -> JoinResult:
    """Take part as ann, beside bob and cid, who hear the same."""
    others = [session.join(name) for name in ("bob", "cid")]
    heard = join_as(session.address, **options)
    assert [other.result(PATIENCE) for other in others] == [heard.outcome] * 2
    return heard


def check_all_may_join(session: Serving, **options: Any) -> None:
    """Check that the server has heard no party's name: all may still take part."""
    heard = [session.join(name, **options) for name in ENTRIES]
    assert [each.result(PATIENCE) for each in heard] == [session.result().outcome] * 3


def refusal(address: str, error: type[PsephosError], **options: Any) -> str:
    """Return why ann does not take part, having checked that she paid nothing."""
    ledger = Ledger("ann")
    with pytest.raises(error) as caught:
        join_as(address, ledger=ledger, **options)
    assert type(caught.value) is error
    assert ledger.entries == ()
    return str(caught.value)


# What is agreed to.


def test_what_is_agreed_to_is_told_before_anything_is_drawn(session: Serving) -> None:
    ledger = Ledger("ann")
    told: list[tuple[CheckedInvitation, int]] = []

    def tell(agreement: CheckedInvitation) -> None:
        told.append((agreement, len(ledger.entries)))

    join_with_others(session, ledger=ledger, on_agreed=tell)
    ((agreement, num_paid),) = told
    assert num_paid == 0
    assert (agreement.terms.session, agreement.terms.place) == ("vote", 0)
    assert agreement.terms.descriptor == SessionDescriptor(
        make_mode("vote", seed=SEED).descriptor.id, session.side.roster.digest
    )
    assert (agreement.row, agreement.cost) == ((0, 1, 0), 1.0)
    assert agreement.protocol.parameters == session.side.protocol.parameters
    assert [entry.proven for entry in ledger.entries] == [0.5, 0.5]


@pytest.mark.parametrize("kind", list(SessionKind))
def test_an_invitation_takes_the_place_of_the_servers_terms(vote: str, kind: SessionKind) -> None:
    seed = SEED if kind is SessionKind.SIMULATION else None
    with serving(vote, seed=seed) as session:
        invitations = {name: invitation_to(vote, party=name, kind=kind) for name in ENTRIES}
        heard = [session.join(name, invitation=own, seed=seed) for name, own in invitations.items()]
        result = session.result()
    assert [future.result(PATIENCE) for future in heard] == [result.outcome] * 3
    assert result.num_received == (3, 3)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["epsilon=2"], "epsilon is 1.0, agreed 2.0"),
        (["weights=[1, 2, 4]"], "weights is [1.0, 2.0, 3.0], agreed [1.0, 2.0, 4.0]"),
        (["quota_fraction=0.75"], "quota_fraction is None, agreed 0.75"),
    ],
)
def test_parameters_other_than_agreed_are_refused_and_nothing_is_paid(
    session: Serving, vote: str, settings: list[str], reason: str
) -> None:
    entries = {"weight": "1", "merger": "1"}
    said = refusal(session.address, RemoteProtocolError, invitation=invitation_to(vote, *settings), entries=entries)
    assert said == f"server's parameters are not those agreed to: {reason}"


def test_an_invitation_to_another_session_is_refused_by_the_server(session: Serving, vote: str) -> None:
    said = refusal_by_the_server(session, invitation_to(vote, "name=another"))
    assert "'vote', 'ann' came with 'another'" in said


def refusal_by_the_server(session: Serving, invitation: Invitation) -> str:
    """Return why a server does not admit who holds an invitation."""
    with pytest.raises(SessionAborted) as caught:
        join_as(session.address, invitation=invitation)
    assert caught.value.by == "server"
    return caught.value.reason


# Kinds never mix.


@pytest.mark.bad_input("a peer of another version, session or kind")
def test_a_deployment_does_not_join_a_simulation(session: Serving, vote: str) -> None:
    said = refusal(session.address, ConfigurationError, seed=None)
    assert said == "give --simulate: the session is a simulation"
    deployed = invitation_to(vote, kind=SessionKind.DEPLOYMENT)
    with pytest.raises(SessionAborted, match="kind is 'simulation', 'ann' came with 'deployment'"):
        join_as(session.address, seed=None, invitation=deployed)


def test_a_simulation_does_not_join_a_deployment(vote: str) -> None:
    with serving(vote, seed=None) as session:
        said = refusal(session.address, ConfigurationError)
        assert said == "leave out --simulate: the session is a deployment"
        with pytest.raises(SessionAborted, match="kind is 'deployment', 'ann' came with 'simulation'"):
            join_as(session.address, invitation=invitation_to(vote))


def test_an_invitation_of_the_other_kind_or_of_another_party_is_refused_without_a_server(vote: str) -> None:
    said = refusal(NOBODY_LISTENS, ConfigurationError, invitation=invitation_to(vote), seed=None)
    assert said == "give --simulate: the session is a simulation"
    deployed = invitation_to(vote, kind=SessionKind.DEPLOYMENT)
    said = refusal(NOBODY_LISTENS, ConfigurationError, invitation=deployed)
    assert said == "leave out --simulate: the session is a deployment"
    said = refusal(NOBODY_LISTENS, ConfigurationError, invitation=invitation_to(vote, party="bob"))
    assert "is \"that of 'bob'\": use the invitation of 'ann'" in said


# Public rows.


def test_a_public_weight_is_the_servers_and_need_not_be_entered(vote: str) -> None:
    told: list[CheckedInvitation] = []
    with serving(vote, "public_weights=true") as session:
        join_with_others(session, entries={"merger": "1"}, on_agreed=told.append)
    (agreement,) = told
    assert (agreement.terms.public, agreement.row) == ((0, 0), (1,))
    assert agreement.losses == agreement.protocol.losses_of((0, 0))
    assert agreement.cost == 1.0


def test_a_public_weight_that_is_not_the_servers_is_refused_before_the_server_hears_a_name(vote: str) -> None:
    with serving(vote, "public_weights=true") as session:
        said = refusal(session.address, ConfigurationError, entries={"weight": "3", "merger": "1"})
        assert said == "weight is '3': use 1, as the server has it"
        check_all_may_join(session)


def test_an_invitation_with_another_public_row_is_held_to_and_nothing_is_paid(vote: str) -> None:
    invitation = invitation_to(vote, "public_weights=true")
    assert invitation.public == (0, 0)
    heavier = msgspec.structs.replace(invitation, public=(2, 2))
    with serving(vote, "public_weights=true") as session:
        said = refusal(session.address, RemoteProtocolError, invitation=heavier, entries={"merger": "1"})
    assert said == "server's public row for ann is not the one agreed to"


@pytest.mark.parametrize("public", [(1,), (0, 3), (0, -1), (0, 2), (1, 1, 1)])
def test_terms_with_a_row_that_is_none_are_refused_and_nothing_is_paid(public: tuple[int, ...]) -> None:
    protocol = DPWeVote(Parameters(candidates=("merger",), public_weights=True))
    address = play_server(terms(parameters=protocol.encoded_parameters, public=public))
    refusal(address, ConfigurationError, entries={"merger": "1"})


# Budgets.


def test_a_session_of_more_than_ten_is_refused_without_an_invitation(vote: str) -> None:
    with serving(vote, "epsilon=10.5") as session:
        with pytest.raises(BudgetExceededError, match=r"holds epsilon = 10, requested 10.5 .*nothing was drawn"):
            join_as(session.address)
        ledger = Ledger("ann", budget=Budget(epsilon=10.5))
        others = [session.join(name, ledger=Ledger(name)) for name in ("bob", "cid")]
        heard = join_as(session.address, ledger=ledger)
        assert [other.result(PATIENCE) for other in others] == [heard.outcome] * 2
    assert ledger.spent == 10.5
    assert DEFAULT_BUDGET == 10


@pytest.mark.parametrize("is_invited", [False, True])
def test_a_budget_below_the_price_is_refused_before_the_server_hears_a_name(
    session: Serving, vote: str, *, is_invited: bool
) -> None:
    invitation = invitation_to(vote) if is_invited else None
    with pytest.raises(BudgetExceededError, match=r"holds epsilon = 0\.99, requested 1 "):
        join_as(session.address, invitation=invitation, budget=0.99)
    check_all_may_join(session)


def test_a_budget_by_periods_holds_by_the_times_in_the_journal_and_one_in_all_at_any_time(
    vote: str, tmp_path: Path
) -> None:
    plan = {0: "", 3: "0.5", 7: "", 14: "0.9"}
    for scenario, (day, refused) in zip(copies_of(vote, len(plan)), plan.items(), strict=True):
        now = 1_900_000_000.0 + 86_400 * day
        with (
            serving(scenario) as session,
            PersonJournal.open(tmp_path / "ann.sqlite", now=now, clock=lambda now=now: now) as journal,
        ):
            kept: dict[str, Any] = {"journal": journal, "budget": 1.5, "budget_period_seconds": 7 * 86_400.0}
            kept["budget_in_all"] = 2.9
            if refused:
                with pytest.raises(BudgetExceededError, match=rf"holds epsilon = {refused}, requested 1 "):
                    join_as(session.address, **kept)
            else:
                join_with_others(session, **kept)
    with PersonJournal.open(tmp_path / "ann.sqlite", now=0.0) as journal:
        assert journal.ledger("ann", None).spent == 2.0


def copies_of(vote: str, number: int) -> list[str]:
    """Return so many copies of a vote, `vote-0.toml` and so on, in its folder."""
    paths = [Path(vote).with_name(f"vote-{place}.toml") for place in range(number)]
    for path in paths:
        path.write_text(Path(vote).read_text(encoding="utf-8"), encoding="utf-8")
    return [str(path) for path in paths]


def invited(scenario: str) -> Invitation:
    """Return ann's invitation to a simulation, with the id by which her journal knows it."""
    descriptor = make_mode(Path(scenario).stem, seed=SEED).descriptor
    return msgspec.structs.replace(invitation_to(scenario), session_id=descriptor.id)


def break_off(scenario: str, folder: RunFolder, **kept: Any) -> None:
    """Let ann report in the first phase of a vote in which nobody else does."""
    with (
        serving(scenario, "deadline_seconds=1000") as session,
        session.connect() as bob,
        session.connect() as cid,
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        passing = pool.submit(session.pass_deadline, "weights", num_received=1)
        for name, peer in (("bob", bob), ("cid", cid)):
            peer.hello(name, session=Path(scenario).stem)
        with pytest.raises(QuorumError):
            join_in_folder(joining_of(session.address, **kept), folder)
        passing.result(PATIENCE)


def test_whatever_a_party_comes_back_for_its_folder_says_what_its_journal_has(vote: str, tmp_path: Path) -> None:
    """Of that session, and of no other; whether it hears it from the journal, or from nobody any more."""
    scenarios = copies_of(vote, 3)
    path = tmp_path / "ann.sqlite"
    told: list[tuple[str, list[LedgerEntry]]] = []
    with PersonJournal.open(path, now=0.0, clock=lambda: 1_900_000_000.0) as journal:
        kept: dict[str, Any] = {"journal": journal, "budget": 5.0, "budget_period_seconds": 1e6}
        break_off(scenarios[0], RunFolder(tmp_path / "broken"), **kept)
        told.append(("vote-0", read_ledger(tmp_path / "broken")))
        for number, scenario in enumerate(scenarios[1:], start=1):
            with serving(scenario) as session:
                others = [session.join(name) for name in ("bob", "cid")]
                folder = RunFolder(tmp_path / f"held-{number}")
                join_in_folder(joining_of(session.address, **kept), folder)
                assert all(other.result(PATIENCE) for other in others)
            told.append((f"vote-{number}", read_ledger(folder.path)))
        for number, scenario in enumerate(scenarios):
            again = joining_of(NOBODY_LISTENS, invitation=invited(scenario), patience_seconds=0.01, **kept)
            folder = RunFolder(tmp_path / f"again-{number}")
            with contextlib.nullcontext() if number else pytest.raises(OSError, match="failed"):
                join_in_folder(again, folder)
            told.append((f"vote-{number}", read_ledger(folder.path)))
    sessions = read_sessions(path)[1].values()
    entries = {each.first.session: list(each.entries) for each in sessions if each.first is not None}
    assert {name: len(own) for name, own in entries.items()} == {"vote-0": 1, "vote-1": 2, "vote-2": 2}
    assert told == [(name, entries[name]) for name, _ in told]


@pytest.mark.parametrize(("in_all", "is_enough"), [(2.0, True), (1.9, False), (1.5, False)])
def test_whoever_left_and_spent_elsewhere_comes_back_for_no_more_than_is_left(
    vote: str, tmp_path: Path, in_all: float, *, is_enough: bool
) -> None:
    """A session of which a half is drawn, another one that cost 1, and now the other half: within either budget."""
    first, second = copies_of(vote, 2)
    budgets = {"budget": in_all}, {"budget": 1.0, "budget_period_seconds": 60.0, "budget_in_all": in_all}
    for number, budget in enumerate(budgets):
        path, now = tmp_path / f"{number}.sqlite", [1_900_000_000.0]
        with PersonJournal.open(path, now=0.0, clock=lambda now=now: now[0]) as journal:
            break_off(first, RunFolder(tmp_path / f"broken-{number}"), journal=journal)
            with serving(second) as session:
                join_with_others(session, journal=journal)
            now[0] += 100
            again: dict[str, Any] = {
                "invitation": invited(first),
                "patience_seconds": 0.01,
                "journal": journal,
                **budget,
            }
            with pytest.raises(OSError, match="failed") if is_enough else pytest.raises(BudgetExceededError):
                join_as(NOBODY_LISTENS, **again)


def test_an_invitation_is_an_agreement_to_its_price(vote: str) -> None:
    with serving(vote, "epsilon=10.5") as session:
        heard = [session.join(name, invitation=invitation_to(vote, "epsilon=10.5", party=name)) for name in ENTRIES]
        assert [each.result(PATIENCE) for each in heard] == [session.result().outcome] * 3


# Its entries.


@pytest.mark.bad_input("a weight outside the public set", "an opinion other than 0 or 1")
@pytest.mark.parametrize("is_invited", [False, True])
@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"weight": "9", "merger": "1"}, "weight is '9': use one of 1, 2, 3"),
        ({"weight": "1", "merger": "2"}, "merger is '2': use yes or no (y/n, true/false, 1/0)"),
        ({"weight": "1", "merger": ""}, "merger is empty: use yes or no (y/n, true/false, 1/0)"),
        ({"weight": "1"}, "the table has no column merger"),
        (
            {"weight": "1", "merger": "1", "marger": "1"},
            "column 'marger' is unknown: did you mean 'merger'? Use one of weight, merger",
        ),
    ],
)
def test_an_entry_that_is_not_allowed_is_refused_by_its_column(
    session: Serving, vote: str, entries: Mapping[str, str], reason: str, *, is_invited: bool
) -> None:
    invitation = invitation_to(vote) if is_invited else None
    assert refusal(session.address, ConfigurationError, entries=entries, invitation=invitation) == reason
    if invitation is not None:
        with pytest.raises(ConfigurationError) as caught:
            joining_of(NOBODY_LISTENS, entries=entries, invitation=invitation).agree_beforehand()
        assert str(caught.value) == reason


# A server that is none, and one that misbehaves.


def play_server(reply: Message | bytes) -> str:
    """Listen, answer the first client; return the address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def play() -> None:
        with listener, listener.accept()[0] as client:
            client.settimeout(PATIENCE)
            client.recv(1 << 16)
            client.sendall(reply if isinstance(reply, bytes) else encode_frames([encode(reply)]))
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):
                pass

    thread = threading.Thread(target=play)
    thread.start()
    _players.append(thread)
    return format_address(*listener.getsockname())


_players: list[threading.Thread] = []


@pytest.fixture(autouse=True)
def no_player_is_left() -> Generator[None]:
    """Waits for the servers that were played by hand."""
    yield
    while _players:
        _players.pop().join(PATIENCE)


def terms(**fields: Any) -> Terms:
    """Return the terms of a vote, but for some fields."""
    protocol = DPWeVote(Parameters(candidates=("merger",)))
    usual = Terms(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", protocol.encoded_parameters, 0)
    return msgspec.structs.replace(usual, **fields)


@pytest.mark.bad_input("a peer of another version, session or kind")
@pytest.mark.parametrize(
    ("reply", "error", "reason"),
    [
        (terms(protocol="no-such"), ConfigurationError, "no-such"),
        (terms(parameters=msgspec.Raw(b"\x01")), RemoteProtocolError, "the server's terms cannot be read"),
        (terms(parameters=msgspec.Raw(b"\x81\xa1\xff\x01")), RemoteProtocolError, "the server's terms cannot be read"),
        (terms(parameters=msgspec.Raw(b"\x81\xa1a\x01")), ConfigurationError, "no key 'a'|unknown field"),
        (terms(version=99), RemoteProtocolError, f"server speaks version 99, this side {PROTOCOL_VERSION}"),
        (terms(kind="rehearsal"), ConfigurationError, "--simulate"),
        (Abort("not today"), SessionAborted, "server ended the session: not today"),
        (report(0, 1), RemoteProtocolError, "server answered an inquiry with Report"),
        (b"\x00\x00\x00\x01\xc1", MalformedMessageError, "server sent 1 bytes that are no message"),
        (b"\xff\xff\xff\xff", MalformedMessageError, "a payload may have 1048576 bytes, the peer announced 4294967295"),
        (b"\x00\x00", SessionAborted, "the connection was lost before it named its terms"),
        (b"", SessionAborted, "the connection was lost before it named its terms"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", MalformedMessageError, "a payload may have 1048576 bytes"),
    ],
)
def test_a_server_whose_terms_are_none_is_blamed_and_nothing_is_paid(
    reply: Message | bytes, error: type[PsephosError], reason: str
) -> None:
    assert re.search(reason, refusal(play_server(reply), error))


def test_nobody_listens_is_the_systems_error_and_names_the_address() -> None:
    with pytest.raises(OSError, match=r"all attempts to connect to 127\.0\.0\.1:1 failed"):
        join_as(NOBODY_LISTENS, patience_seconds=0.01)


@pytest.mark.parametrize("is_invited", [True, False])
def test_a_server_that_is_yet_to_come_is_waited_for(vote: str, *, is_invited: bool) -> None:
    """By whoever has never reached it too, and as long as patience lasts."""
    invitation = invitation_to(vote) if is_invited else None
    losses: list[Exception] = []
    is_away = threading.Event()

    def note(error: Exception) -> None:
        losses.append(error)
        is_away.set()

    with socket.socket() as client, concurrent.futures.ThreadPoolExecutor() as pool:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind(("127.0.0.1", 0))
        address = format_address(*client.getsockname())
        first = pool.submit(join_as, address, invitation=invitation, on_loss=note)
        assert is_away.wait(PATIENCE)
        with serving(vote, address=address) as session:
            others = [session.join(name) for name in ("bob", "cid")]
            assert first.result(PATIENCE).outcome == others[0].result(PATIENCE) == others[1].result(PATIENCE)
    assert all("all attempts to connect to" in str(error) for error in losses)


# Its folder.


def test_a_folder_holds_outcome_ledger_and_events(session: Serving, tmp_path: Path) -> None:
    others = [session.join(name) for name in ("bob", "cid")]
    folder = RunFolder(tmp_path / "ann")
    heard = join_in_folder(joining_of(session.address), folder)
    assert [other.result(PATIENCE) for other in others] == [heard.outcome] * 2
    run = read_json(folder.path / "run.json")
    how = {"party": "ann", "server": session.address, "transcript": session.result().transcript}
    assert how.items() <= run.items()
    assert run.keys() - how.keys() == {"schema", "about", "at", "seconds", "psephos", "numpy"}
    assert read_json(folder.path / "outcome.json") == json.loads(msgspec.json.encode(outcome_to_dict(heard.outcome)))
    assert not (folder.path / "own_outcome.json").exists()  # this protocol has nothing for one alone
    lines = read_lines(folder.path / "ledger.jsonl")
    assert [(line["phase"], line["proven"]) for line in lines] == [("weights", 0.5), ("opinions", 0.5)]


def test_an_entry_that_the_servers_terms_do_not_allow_is_not_written(session: Serving, tmp_path: Path) -> None:
    """The party itself is told its entry; its folder, which others may read, is not."""
    folder = RunFolder(tmp_path / "ann")
    entries = {**ENTRIES["ann"], "weight": "71828"}
    with pytest.raises(ConfigurationError, match="71828"):
        join_in_folder(joining_of(session.address, entries=entries), folder)
    run = read_json(folder.path / "run.json")
    assert run["failure"]["reason"].startswith("weight is")
    assert all(b"71828" not in file.read_bytes() for file in folder.path.iterdir())
    assert (folder.path / "ledger.jsonl").read_bytes() == b""


OF_PLUGIN: dict[str, str] = {"plugin": "protocol 'tea'", "step": "encode_own", "reason": "ValueError: 'seven' is none"}


@pytest.mark.parametrize(
    "error",
    [
        ConfigurationError(field="weight", value="seven", allowed="one of 1, 2, 3"),
        PluginError(**OF_PLUGIN),
        UnusablePluginError(**OF_PLUGIN),
        UnusablePluginError(**OF_PLUGIN, field="weight", value="seven", allowed="one of 1, 2, 3"),
    ],
)
def test_what_is_written_of_a_failure_is_no_entry_whoever_quotes_it(error: PsephosError) -> None:
    assert "seven" in str(error)
    for raised in (error, ExceptionGroup("several", [error, OSError("another")])):
        described = describe(raised)
        assert described["reason"]
        assert "seven" not in " ".join(described.values())


@pytest.mark.parametrize("has_journal", [False, True])
def test_who_has_no_journal_comes_back_for_nothing_that_it_would_draw_anew(
    vote: str, tmp_path: Path, *, has_journal: bool
) -> None:
    told: list[bool] = []

    async def take_part(*_given: object, has_journal: bool, **_others: object) -> None:
        told.append(has_journal)
        raise ConnectionLostError(reason="the connection was lost", by="server")

    with (
        mock.patch.object(client_module, "take_part_durably", take_part),
        PersonJournal.open(tmp_path / "ann.sqlite", now=0.0) as journal,
        pytest.raises(ConnectionLostError),
    ):
        join_as(NOBODY_LISTENS, invitation=invited(vote), journal=journal if has_journal else None)
    assert told == [has_journal]


def test_a_folder_of_a_failure_says_it_and_what_was_paid(vote: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "ann")
    break_off(vote, folder)
    run = read_json(folder.path / "run.json")
    assert run["failure"]["error"] == "QuorumError"
    assert "missing: bob, cid" in run["failure"]["reason"]
    lines = read_lines(folder.path / "ledger.jsonl")
    assert [(line["phase"], line["proven"]) for line in lines] == [("weights", 0.5)]
    assert not (folder.path / "outcome.json").exists()
