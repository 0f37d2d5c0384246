"""Hosts: many parties in one process, over one connection and with one journal, take part as if each were alone."""

import contextlib
import dataclasses
import functools
import itertools
import re
import shutil
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
import trio
from deployments import ENTRIES, NOBODY_LISTENS, PATIENCE, SEED, Process, write_vote
from durable_votes import PHASES, Dying, Vote, check_ended, partners
from psephos.agents import server as server_module
from psephos.agents.driver import Observers
from psephos.agents.host_journal import HOST, HostJournal, id_of
from psephos.agents.journal_file import JournalFile
from psephos.agents.journal_format import Row, read_journal
from psephos.agents.person_journal import sessions_of
from psephos.protocol import SessionKind
from psephos.protocol.effects import Effect, Send
from psephos.protocol.errors import ConfigurationError, JournalError, QuorumError, RemoteProtocolError
from psephos.protocol.messages import PROTOCOL_VERSION, Abort, Inquiry, Report, Welcome, decode, encode
from psephos.protocol.records import Drawn, Reserved, SessionEnded
from psephos.protocol.rules import JOIN
from psephos.protocol.session_flow import SessionResult
from psephos.scenarios import load_scenario, resolve, resolve_served, run_session
from psephos.scenarios.deployment import Joining, Serving, TLSKeys, draw_session, enroll, join, serve
from psephos.scenarios.deployment import hosting as hosting_module
from psephos.scenarios.deployment.agreement import protocol_of
from psephos.scenarios.deployment.client import JoinResult
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.deployment.hosting import HostResult, host, host_in_folder, read_hosted
from psephos.scenarios.deployment.invitations import DrawnSession, write_session
from psephos.scenarios.deployment.journal_care import back_up, restore
from psephos.scenarios.deployment.keys import check_enrollments, read_enrollments
from psephos.scenarios.deployment.own_rows import encode_own, with_choices
from psephos.scenarios.running.folder import RunFolder, read_ledger
from psephos.transports import Channel
from psephos.transports.carrier import GREETING, Carrier
from psephos.transports.keys import Identity, read_certificate
from psephos.transports.tls import TLSTransport
from runs import read_json
from surveyed import CHOSEN_PLANS, GROUPS, OWN_EPSILONS, RANKINGS
from thoroughness import draws

Psephos = Callable[..., Any]
NUM_HOSTED = draws(60, full=200)
ENTRIES_OF_MANY = partners(NUM_HOSTED + 3)
OF_HOSTS = [list(ENTRIES_OF_MANY)[:20], list(ENTRIES_OF_MANY)[20:NUM_HOSTED]]
ALONE = list(ENTRIES_OF_MANY)[NUM_HOSTED:]


def drawn_up(folder: Path) -> tuple[Serving, DrawnSession]:
    """Return a simulation of two hosts' parties and three others, as it is served and as it was drawn up."""
    side = resolve_served(load_scenario(write_vote(folder, entries=ENTRIES_OF_MANY), ()))
    for number, names in enumerate(OF_HOSTS):
        enroll(f"host {number}", folder / "keys" / f"host {number}", parties=names)
    for name in ALONE:
        enroll(name, folder / "keys" / name)
    drawn = draw_session(
        side.protocol,
        side.roster,
        session=side.scenario.name,
        kind=SessionKind.SIMULATION,
        enrolled=read_enrollments(folder / "keys"),
    )
    serving = Serving(
        side=msgspec.structs.replace(side, fingerprints=drawn.roster.fingerprints),
        address="127.0.0.1:0",
        mode=make_mode(side.scenario.name, seed=SEED),
        keys=TLSKeys(drawn.server, [read_certificate(each)[0] for each in drawn.certificates]),
        descriptor=drawn.opening.descriptor,
    )
    return serving, drawn


def joinings(drawn: DrawnSession, names: Sequence[str], key: Path, address: str) -> list[Joining]:
    invitations = {each.party: each for each in drawn.invitations}
    return [
        Joining(
            address=address,
            party=name,
            entries=ENTRIES_OF_MANY[name],
            seed=SEED,
            invitation=invitations[name],
            keys=invitations[name].find_keys([key]),
            patience_seconds=PATIENCE,
        )
        for name in names
    ]


def hold(serving: Serving, act: Callable[[str, trio.Nursery], Awaitable[None]], **how: Any) -> SessionResult:
    """Serve a session while somebody acts who has its address, and return what it leaves."""

    async def main() -> SessionResult:
        async with trio.open_nursery() as nursery:
            return await serve(serving, on_listening=lambda own: nursery.start_soon(act, own, nursery), **how)

    return trio.run(main)


def join_alone(nursery: trio.Nursery, drawn: DrawnSession, folder: Path, address: str) -> None:
    """Let those take part who have no host."""
    for name in ALONE:
        (own,) = joinings(drawn, [name], folder / "keys" / name, address)
        nursery.start_soon(join, own)


def test_hosted_parties_and_others_have_the_result_of_a_simulation(tmp_path: Path) -> None:
    serving, drawn = drawn_up(tmp_path)
    assert len(drawn.certificates) == len(OF_HOSTS) + len(ALONE)
    hosted: list[HostResult] = []

    async def let_host(names: Sequence[str], key: Path, address: str) -> None:
        hosted.append(await host(joinings(drawn, names, key, address), journal=None))

    async def vote(address: str, nursery: trio.Nursery) -> None:
        for number, names in enumerate(OF_HOSTS):
            nursery.start_soon(let_host, names, tmp_path / "keys" / f"host {number}", address)
        join_alone(nursery, drawn, tmp_path, address)

    result = hold(serving, vote)
    alone = run_session(resolve(load_scenario(str(tmp_path / "vote.toml"), ["noise=simulated"])), seed=SEED)
    assert (result.outcome, result.tallies) == (alone.outcome, alone.tallies)
    assert sorted(len(each.heard) for each in hosted) == [20, NUM_HOSTED - 20]
    assert [each.failures for each in hosted] == [{}, {}]
    assert {heard.outcome for each in hosted for heard in each.heard.values()} == {alone.outcome}


def test_a_host_speaks_for_no_seat_but_its_own_and_harms_no_other_connection(tmp_path: Path) -> None:
    serving, drawn = drawn_up(tmp_path)
    refused: list[str] = []

    async def be_hostile(address: str) -> None:
        own = Identity.from_text((tmp_path / "keys" / "host 0" / "key.pem").read_text(encoding="ascii"))
        transport = TLSTransport(own, peers=[drawn.server.certificate])
        async with await transport.connect(address) as alone:
            refused.append(await refusal_of(alone, OF_HOSTS[0][0]))
        async with trio.open_nursery() as nursery:
            carrier = Carrier(await transport.connect(address))
            nursery.start_soon(carrier.run)
            refused.extend([await refusal_of(carrier.open(), party) for party in (ALONE[0], OF_HOSTS[1][0])])
            await carrier.aclose()
        for said in (b"", b"no header", b"\0" * 9):
            async with await transport.connect(address) as connection:
                await connection.send([GREETING, said])
                await until_it_ends(connection)
        flooding = Carrier(await transport.connect(address))
        channels = [flooding.open() for _ in range(len(OF_HOSTS[0]) + 1)]
        await flooding.run()
        with pytest.raises(trio.BrokenResourceError):
            await channels[0].receive()

    async def attack_and_vote(address: str, nursery: trio.Nursery) -> None:
        join_alone(nursery, drawn, tmp_path, address)
        await be_hostile(address)
        for number, names in enumerate(OF_HOSTS):
            own = joinings(drawn, names, tmp_path / "keys" / f"host {number}", address)
            nursery.start_soon(functools.partial(host, own, journal=None))

    result = hold(serving, attack_and_vote)
    assert [each.split(",")[0] for each in refused] == [
        "20 parties have this certificate",
        *["not admitted: check the address"] * 2,
    ]
    assert result.tallies[0].num_reports == len(ENTRIES_OF_MANY)


def test_a_second_process_with_a_hosts_key_is_refused_as_long_as_the_first_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends in one line, and the first goes on; one that no longer answers gives way."""
    monkeypatch.setattr(server_module, "_REFUSAL_SECONDS", 2.0)
    serving, drawn = drawn_up(tmp_path)
    firsts: list[HostResult] = []
    losses: list[Exception] = []
    key = tmp_path / "keys" / "host 0"

    async def vote(address: str, nursery: trio.Nursery) -> None:
        own = Identity.from_text((key / "key.pem").read_text(encoding="ascii"))
        silent = await TLSTransport(own, peers=[drawn.server.certificate]).connect(address)
        await silent.send([GREETING])

        async def be_first() -> None:
            firsts.append(await host(joinings(drawn, OF_HOSTS[0], key, address), journal=None))

        nursery.start_soon(be_first)
        await until_it_ends(silent)  # it is asked whether it is there, and gives way
        silent.close()
        for _ in range(2):
            with pytest.raises(ConfigurationError, match=r"the host's key (is|are) .*one with which no other process"):
                await host(joinings(drawn, OF_HOSTS[0], key, address), journal=None, on_loss=losses.append)
        join_alone(nursery, drawn, tmp_path, address)
        await host(joinings(drawn, OF_HOSTS[1], tmp_path / "keys" / "host 1", address), journal=None)

    assert hold(serving, vote).tallies[0].num_reports == len(ENTRIES_OF_MANY)
    assert [(len(each.heard), each.failures) for each in firsts] == [(len(OF_HOSTS[0]), {})]
    assert losses == []


def test_a_host_that_gives_up_on_a_silent_server_takes_all_its_parties_along_and_all_are_named(tmp_path: Path) -> None:
    """One more is awaited, in a session that needs all: it ends at once, and names whoever is not there."""
    serving, drawn = drawn_up(tmp_path)
    awaited, *alone = ALONE
    failures: dict[str, BaseException] = {}
    welcomed: list[Effect] = []
    are_there = trio.Event()

    def watch(effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, Welcome):
            welcomed.append(effect)
            if len(welcomed) == len(alone) + len(OF_HOSTS[1]):
                are_there.set()

    async def be_alone(name: str, address: str) -> None:
        (own,) = joinings(drawn, [name], tmp_path / "keys" / name, address)
        with pytest.raises(QuorumError) as caught:
            await join(own)
        failures[name] = caught.value

    async def vote(address: str, nursery: trio.Nursery) -> None:
        for name in alone:
            nursery.start_soon(be_alone, name, address)
        other = joinings(drawn, OF_HOSTS[1], tmp_path / "keys" / "host 1", address)
        nursery.start_soon(functools.partial(host, other, journal=None))
        own = joinings(drawn, OF_HOSTS[0], tmp_path / "keys" / "host 0", address)
        own = [dataclasses.replace(each, patience_seconds=2.0) for each in own]
        await are_there.wait()
        hosted = await host(own, journal=None)
        assert {type(each) for each in hosted.failures.values()} == {RemoteProtocolError}
        failures.update(hosted.failures)

    async def hold_in_vain() -> None:
        async with trio.open_nursery() as nursery:
            with pytest.raises(QuorumError) as caught:
                await serve(
                    serving,
                    observers=Observers(listener=watch),
                    on_listening=lambda own: nursery.start_soon(vote, own, nursery),
                )
            failures["server"] = caught.value

    trio.run(hold_in_vain)
    missing = tuple(sorted([*OF_HOSTS[0], awaited]))
    for name in ("server", *alone):
        error = failures[name]
        assert isinstance(error, QuorumError)
        assert (error.phase, tuple(sorted(error.missing))) == (JOIN, missing)
        assert error.received + len(missing) == error.required


async def refusal_of(channel: Channel, party: str) -> str:
    """Return what a server says to who asks for a party's seat."""
    await channel.send([encode(Inquiry(PROTOCOL_VERSION, party))])
    message = decode((await channel.receive())[0])
    assert isinstance(message, Abort), message
    return message.reason


async def until_it_ends(channel: Channel) -> None:
    with contextlib.suppress(trio.EndOfChannel, trio.BrokenResourceError), trio.fail_after(PATIENCE):
        while True:
            await channel.receive()


EVERYWHERE: Sequence[Dying] = [("before", 1), ("after", 1)]
"""In turns: each process goes on from where the last one was killed, so that this is before and after every commit."""


@pytest.mark.full("a dozen processes and more")
def test_a_host_that_is_killed_at_every_commit_loses_and_draws_nothing_twice(tmp_path: Path) -> None:
    check_killed(tmp_path, entries=partners(30), deaths=itertools.cycle(EVERYWHERE))


def test_a_host_that_is_killed_goes_on_and_draws_nothing_twice(tmp_path: Path) -> None:
    check_killed(tmp_path, entries=ENTRIES, deaths=iter([("after", 2)]))


def check_killed(folder: Path, *, entries: Mapping[str, Mapping[str, str]], deaths: Iterator[Dying]) -> None:
    with Vote(folder, entries=entries, host="org") as vote:
        server = vote.serve()
        server.address()
        words = host_words(vote, "three.csv")
        out, number = folder, 0
        for number in itertools.count():
            out = folder / f"hosted-{number}"
            dying = next(deaths, None)
            ending = vote.start(*words, "--out", out, dying=dying).ending()
            if ending.status == 0:
                break
            assert ending.status == -9, ending
        assert number
        ended = server.ending()
        assert (ended.status, ended.err) == (0, "")
        assert read_json(out / "outcome.json") == vote.outcome_by_arrays()
        rows: dict[str, list[Row]] = {}
        for row in read_journal(folder / "host.sqlite", kind=HOST).rows:
            rows.setdefault(row.session.rpartition("\t")[2], []).append(row)
        assert set(rows) == set(entries)
        for party, own in rows.items():
            (session,) = sessions_of(own, folder).values()
            drawn = [record for record in session.records if isinstance(record, Drawn)]
            assert session.num_drawn == len(drawn) == session.num_acknowledged == len(PHASES)
            for record in drawn:
                report = decode(record.report)
                assert isinstance(report, Report)
                assert bytes(report.payload) == vote.accepted(record.step)[party]


def vote_of_two_and_one(folder: Path, *settings: str) -> Vote:
    """Return a vote of a host with ann and bob, and of cid, who has enrolled alone."""
    (folder / "two.csv").write_text("partner,weight,merger\nann,1,1\nbob,3,0\n", encoding="utf-8")
    enroll("cid", folder / "cid")
    return Vote(folder, *settings, host="org", hosted="two.csv")


def host_words(vote: Vote, parties: str = "two.csv") -> tuple[object, ...]:
    """Return the command by which the host takes part."""
    return ("join", vote.roster / "invitations", "--parties", parties, "--key", "org", "--journal", "host.sqlite")


def start_two(vote: Vote, folder: Path) -> Process:
    """Let the host take part until the server has its parties' first reports; the phase waits for cid, who is lost."""
    of_two = vote.start(*host_words(vote), "--out", folder / "first")
    assert vote.join("cid", "--key", "cid", dying=("after", 2)).ending().status == -9  # once all have joined
    while vote.accepted(0).keys() != {"ann", "bob"}:
        assert of_two.is_running, of_two.ending()
        time.sleep(0.05)
    time.sleep(1.0)  # in which it hears so
    return of_two


def test_a_host_that_is_stopped_says_what_was_accepted_and_what_it_cost(tmp_path: Path) -> None:
    with vote_of_two_and_one(tmp_path) as vote:
        vote.serve().address()
        stopped = start_two(vote, tmp_path)
        stopped.send(signal.SIGINT)
        ended = stopped.ending()
        assert ended.status == 128 + signal.SIGINT
        assert "host.sqlite, begun now; it knows of no earlier loss" in ended.out
        assert "parties.csv" in ended.err.splitlines()[-1]
        why = "it was stopped before it heard the outcome"
        rows = (tmp_path / "first" / "parties.csv").read_text(encoding="utf-8").splitlines()
        assert rows == ["party,accepted,late_phase,failure", f"ann,1,,{why}", f"bob,1,,{why}"]
        assert {entry.person for entry in read_ledger(tmp_path / "first")} == {"ann", "bob"}


@pytest.mark.full("half a dozen processes, and a deadline")
def test_a_host_that_comes_back_too_late_says_which_phase_closed_without_its_parties(tmp_path: Path) -> None:
    settings = ("quorum=0.1", "phases.opinions.deadline_seconds=0.1")
    with vote_of_two_and_one(tmp_path, *settings) as vote:
        vote.serve().address()
        words = host_words(vote)
        alone = vote.join("cid", "--key", "cid")
        assert vote.start(*words, "--out", tmp_path / "first", dying=("before", 2)).ending().status == -9
        assert alone.ending().status == 0
        ended = vote.start(*words, "--out", tmp_path / "again").ending()
        assert (ended.status, ended.err) == (0, "")
        assert "Late: phase 'opinions' closed without 2 of 2 parties, see parties.csv" in ended.out
        rows = (tmp_path / "again" / "parties.csv").read_text(encoding="utf-8").splitlines()
        assert rows[1:] == ["ann,1,opinions,", "bob,1,opinions,"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_host_is_told_the_price_of_its_dearest_party(tmp_path: Path, psephos: Psephos, order: int) -> None:
    scenario, names = CHOSEN_PLANS.write(tmp_path), list(CHOSEN_PLANS.names)[::order]
    rows = "".join(f"{name},{GROUPS[name]},{RANKINGS[name]}\n" for name in names)
    (tmp_path / "mine.csv").write_text(f"voter,group,ranking\n{rows}", encoding="utf-8")
    levels = "".join(f"{name},{OWN_EPSILONS[name]}\n" for name in names)
    (tmp_path / "levels.csv").write_text(f"voter,epsilon\n{levels}", encoding="utf-8")
    enroll("org", tmp_path / "keys" / "org", parties=names)
    assert psephos("roster", scenario, "--enrolled", "keys", "--out", "drawn").status == 0
    stopped = ConfigurationError(field="the host's key", value="in use", allowed="one of no other process")
    words = ("--key", "keys/org", "--set", "epsilon=levels.csv", "--journal", "host.sqlite")
    with mock.patch.object(hosting_module, "host_in_folder", side_effect=stopped):
        ended = psephos("join", "drawn/invitations", "--parties", "mine.csv", *words)
    assert f"costs epsilon = {max(OWN_EPSILONS.values())} in all" in " ".join(ended.out.split())


def test_what_a_host_shows_is_of_a_party_that_was_not_late() -> None:
    late, whole = (
        JoinResult(outcome=SessionEnded(), late_phase="opinions"),
        JoinResult(outcome=SessionEnded(), transcript="1234"),
    )
    assert HostResult(heard={"ann": late, "bob": whole, "cid": late}).fullest is whole


def test_a_party_without_room_is_named_at_once_while_the_others_go_on(tmp_path: Path) -> None:
    _, drawn = drawn_up(tmp_path)
    poor, *others = joinings(drawn, OF_HOSTS[0], tmp_path / "keys" / "host 0", NOBODY_LISTENS)
    named: list[str] = []

    async def go_on_until_told() -> None:
        with trio.CancelScope() as scope:

            def on_failure(hosted: HostResult) -> None:
                named.extend(hosted.failures)
                scope.cancel()

            poor_one = dataclasses.replace(poor, budget=0.1)
            await host([poor_one, *others], journal=None, on_failure=on_failure)

    trio.run(go_on_until_told)
    assert named == [poor.party]


@pytest.mark.full("a dozen processes")
def test_an_older_copy_or_a_backup_of_a_hosts_journal_draws_nothing_again(tmp_path: Path) -> None:
    journal, older = tmp_path / "host.sqlite", tmp_path / "older"
    with vote_of_two_and_one(tmp_path) as vote:
        vote.serve().address()
        words = host_words(vote)
        first = start_two(vote, tmp_path)
        assert vote.start("journal", "backup", "backup.sqlite", "--journal", "host.sqlite").ending().status == 0
        first.kill()
        older.mkdir()
        for file in tmp_path.glob("host.sqlite*"):
            shutil.copy(file, older)
        sent = vote.accepted(0)
        again, cid = vote.start(*words, "--out", tmp_path / "second"), vote.join("cid", "--key", "cid")
        assert (again.ending().status, cid.ending().status) == (0, 0)

        for file in tmp_path.glob("host.sqlite*"):
            file.unlink()
        shutil.copytree(older, tmp_path, dirs_exist_ok=True)
        check_ended(vote.start(*words).ending(), "it was cut short, or is an older copy", status=2)
        for file in tmp_path.glob("host.sqlite*"):
            file.unlink()
        check_ended(vote.start(*words).ending(), "is gone, and had", status=2)
        restoring = ("journal", "restore", "backup.sqlite", "--journal", "host.sqlite")
        check_ended(vote.start(*restoring).ending(), "give --accept-unknown-losses", status=2)
        assert vote.start(*restoring, "--accept-unknown-losses").ending().status == 0
        check_ended(vote.start(*words).ending(), "was restored from a backup", status=2)
        assert {party: vote.accepted(0)[party] for party in sent} == sent
        told = vote.start("ledger", journal).ending()
        assert (told.status, "restored from a backup of 20" in told.out) == (0, True)


def opened(path: Path) -> HostJournal:
    return HostJournal.open(path, now=0.0, clock=lambda: 0.0)


def reserved(party: str) -> Reserved:
    return Reserved(party=party, session="vote", protocol="dpwevote", expires=0, entries=(), terms="")


def test_the_ledger_of_a_restored_empty_backup_says_that_losses_are_unknown(tmp_path: Path, psephos: Psephos) -> None:
    journal, backup, restored = (tmp_path / name for name in ("host.sqlite", "backup.sqlite", "restored.sqlite"))
    opened(journal).close()
    assert psephos("journal", "backup", backup, "--journal", journal).status == 0
    restoring = ("journal", "restore", backup, "--journal", restored, "--accept-unknown-losses")
    assert psephos(*restoring).status == 0
    assert "restored from a backup of 20" in psephos("ledger", restored).out


def test_a_host_that_is_refused_says_why_of_each_party(tmp_path: Path) -> None:
    _, drawn = drawn_up(tmp_path)
    parties = joinings(drawn, OF_HOSTS[0], tmp_path / "keys" / "host 0", NOBODY_LISTENS)
    error = ConfigurationError(field="the host's key", value="in use", allowed="one of no other process")
    folder = RunFolder(tmp_path / "run")
    with mock.patch.object(hosting_module, "host", side_effect=error), pytest.raises(ConfigurationError):
        host_in_folder(parties, folder, journal=None)
    rows = (tmp_path / "run" / "parties.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert rows == [f"{each.party},,,the host's key is '…': use one of no other process" for each in parties]


def test_what_a_host_leaves_of_a_party_s_wrong_entry_does_not_quote_it(tmp_path: Path) -> None:
    """Its own terminal does."""
    _, drawn = drawn_up(tmp_path)
    (wrong,) = joinings(drawn, OF_HOSTS[0][:1], tmp_path / "keys" / "host 0", NOBODY_LISTENS)
    wrong = dataclasses.replace(wrong, entries={**wrong.entries, "weight": "98765"})
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(ConfigurationError, match="98765"):
        host_in_folder([wrong], folder, journal=None)
    assert "weight is" in (folder.path / "parties.csv").read_text(encoding="utf-8")
    assert not [file.name for file in folder.path.iterdir() if b"98765" in file.read_bytes()]


def test_a_journal_of_a_host_that_is_full_ends_it_in_one_line(tmp_path: Path) -> None:
    with opened(tmp_path / "host.sqlite") as journal:
        sitting = journal.person_journal("ann").sitting("0" * 32)
        with mock.patch.object(JournalFile, "append", side_effect=JournalError("is full", path="host.sqlite")):
            sitting.keep([reserved("ann")])
            for _ in range(2):
                with pytest.raises(JournalError, match="is full"):
                    trio.run(journal.commit)
        with pytest.raises(JournalError, match="is full"):
            journal.person_journal("bob").sitting("0" * 32).keep([reserved("bob")])


@pytest.mark.parametrize("session_id", ["0" * 32, "a/b", "a\tbob", ""])
def test_whatever_a_session_is_called_its_losses_stay_the_partys(tmp_path: Path, session_id: str) -> None:
    with opened(tmp_path / "host.sqlite") as journal:
        journal.person_journal("a/b").sitting(session_id).keep([reserved("a/b")])
    with opened(tmp_path / "host.sqlite") as journal:
        assert journal.person_journal("a/b").sitting(session_id).records == (reserved("a/b"),)


def test_a_session_in_a_hosts_backup_is_joined_by_none_of_its_parties(tmp_path: Path) -> None:
    """Nor by one that had kept nothing yet as the backup was made."""
    path, backup = tmp_path / "host.sqlite", tmp_path / "backup.sqlite"
    with opened(path) as journal:
        journal.person_journal("ann").sitting("begun").keep([reserved("ann")])
    back_up(path, backup)
    path.unlink()
    restore(backup, path, accepts_unknown_losses=True)
    with opened(path) as journal:
        for party in ("ann", "bob"):
            own = journal.person_journal(party)
            with pytest.raises(JournalError, match="session begun may have gone on"):
                own.sitting("begun")
            own.sitting("another")


def test_bad_input_of_a_host_is_one_line(tmp_path: Path, psephos: Psephos) -> None:
    write_vote(tmp_path)
    (tmp_path / "more.csv").write_text("partner,weight,merger\nann,1,1\ndan,1,1\n", encoding="utf-8")
    (tmp_path / "wrong.csv").write_text("partner,weight,merger\nann,1,1\nbob,1,7\ncid,1,1\n", encoding="utf-8")
    (tmp_path / "none.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    roster, key = tmp_path / "drawn", tmp_path / "org"
    assert psephos("enroll", "org", "--parties", tmp_path / "three.csv", "--out", key).status == 0
    drawn = ("roster", tmp_path / "vote.toml", "--enrolled", tmp_path, "--out", roster)
    assert psephos(*drawn).status == 0
    invited = roster / "invitations"
    usual = ("join", invited, "--key", key, "--journal", tmp_path / "j.sqlite")
    for words, told in (
        (
            ("enroll", "x", "--parties", tmp_path / "none.csv", "--out", tmp_path / "x"),
            "Which column of none.csv has the names? ",
        ),
        (("enroll", "x", "--parties", tmp_path / "away.csv", "--out", tmp_path / "x"), "--parties"),
        (("enroll", "x", "--parties", tmp_path / "three.csv", "--out", key), "There are keys in "),
        ((*usual, "--parties", tmp_path / "more.csv"), "dan"),
        ((*usual, "--parties", tmp_path / "wrong.csv"), "(bob)"),
        ((*usual, "--parties", tmp_path / "away.csv"), "--parties"),
        ((*usual, "--parties", tmp_path / "none.csv"), "partner"),
        (("join", tmp_path / "keys", "--key", key, "--parties", tmp_path / "three.csv"), "INVITATION"),
        (("join", invited, "--key", tmp_path, "--parties", tmp_path / "three.csv"), "--key"),
        ((*usual, "--parties", tmp_path / "three.csv", "--as", "ann"), "--as"),
        ((*usual, "--parties", tmp_path / "three.csv", "--transport", "tcp"), "--transport"),
    ):
        ended = psephos(*words)
        assert (ended.status, ended.err.count("\n")) == (2, 1), (words, ended)
        assert told in ended.err, (words, ended)


def test_a_certificate_is_one_hosts_or_one_partys(tmp_path: Path) -> None:
    made = enroll("org", tmp_path / "org", parties=["ann", "bob"])
    (tmp_path / "again.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(made, parties=("cid",))))
    known = read_enrollments(tmp_path)
    with pytest.raises(ConfigurationError, match=r"certificate of 'bob'|certificate of 'cid'"):
        check_enrollments(["ann", "bob", "cid"], known, expires=0)
    (tmp_path / "again.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(made, parties=("bob",))))
    with pytest.raises(ConfigurationError, match="another enrollment of 'bob'"):
        read_enrollments(tmp_path)


@pytest.mark.parametrize(
    ("scenario", "table", "hosted", "told"),
    [
        (
            'protocol = "moral-preferences"\nvoters = "all.csv"\n[parameters]\nparadigm = "VLDP"\nepsilon = 1.0\n',
            "voter,record,choice,lives,law\nann,1,1,5,1\nann,1,0,2,0\nbob,1,1,1,0\nbob,1,0,3,1\n",
            "voter,record,choice,law,lives\nann,1,1,1,5\nann,1,0,0,2\n",
            "use ['lives', 'law']",
        ),
        (
            'protocol = "truth-discovery"\nparameters.epsilon = 1\n[workers]\nanswers = "all.csv"\nlabels=["no","yes"]',
            "worker,task,label\nann,q1,yes\nann,q2,no\nbob,q1,no\nbob,q3,yes\ncid,q2,no\n",
            "worker,task,label\ncid,q2,no\nbob,q3,yes\nbob,q1,no\n",
            "",
        ),
    ],
)
def test_what_a_hosts_file_says_is_what_each_party_would_say(
    tmp_path: Path, psephos: Psephos, scenario: str, table: str, hosted: str, told: str
) -> None:
    (tmp_path / "all.csv").write_text(table, encoding="utf-8")
    (tmp_path / "hosted.csv").write_text(hosted, encoding="utf-8")
    (tmp_path / "game.toml").write_text(scenario, encoding="utf-8")
    assert psephos("enroll", "org", "--parties", tmp_path / "all.csv", "--out", tmp_path / "org").status == 0
    drawn = ("roster", tmp_path / "game.toml", "--enrolled", tmp_path, "--out", tmp_path / "drawn")
    assert psephos(*drawn).status == 0
    expected = pytest.raises(ConfigurationError, match=re.escape(told)) if told else contextlib.nullcontext()
    with expected:
        invited, entries = read_hosted(tmp_path / "hosted.csv", tmp_path / "drawn" / "invitations")
        protocol = protocol_of(invited["bob"], trusts_server=False)
        rows = [encode_own(protocol, entries[name], invited[name].public) for name in ("bob", "cid")]
        by_hand = [{"answers": {"q1": "no", "q3": "yes"}}, {"answers": {"q2": "no"}}]
        names = ["bob", "cid"]
        assert rows == [
            encode_own(protocol, own, invited[name].public) for own, name in zip(by_hand, names, strict=True)
        ]


MASKED = """protocol = "dpwevote"
trust = "distributed"
partners = "all.csv"
[parameters]
candidates = ["merger"]
weights = [1, 2, 3]
epsilon = 1.0
threshold = 3
colluders = 1
"""


def test_a_masked_session_takes_no_host_and_says_what_to_do(tmp_path: Path, psephos: Psephos) -> None:
    (tmp_path / "all.csv").write_text("partner,weight,merger\nann,1,1\nbob,3,0\ncid,2,1\n", encoding="utf-8")
    (tmp_path / "game.toml").write_text(MASKED, encoding="utf-8")
    for folder, hosted in (("alone", ()), ("hosted", ("--parties", tmp_path / "all.csv"))):
        for name in ("ann", "bob", "cid") if not hosted else ("org",):
            assert psephos("enroll", name, *hosted, "--out", tmp_path / folder / name).status == 0
    drawn = ("roster", tmp_path / "game.toml", "--out", tmp_path / "drawn", "--enrolled")
    assert "let each party enroll by itself" in psephos(*drawn, tmp_path / "hosted").refusal
    assert psephos(*drawn, tmp_path / "alone").status == 0
    joining = ("join", tmp_path / "drawn" / "invitations", "--parties", tmp_path / "all.csv")
    assert "let each party join by itself" in psephos(*joining, "--key", tmp_path / "alone" / "ann").refusal


def test_what_each_voter_chooses_is_in_a_file_beside_a_hosts(tmp_path: Path, psephos: Psephos) -> None:
    table = "voter,record,choice,lives,law\nann,1,1,5,1\nann,1,0,2,0\nbob,1,1,1,0\nbob,1,0,3,1\n"
    parameters = 'paradigm = "VLDP"\nepsilons = [0.5, 1.0]\nchosen_by = "voter"\n'
    scenario = f'protocol = "moral-preferences"\nvoters = "all.csv"\n[parameters]\n{parameters}'
    (tmp_path / "all.csv").write_text(table, encoding="utf-8")
    (tmp_path / "game.toml").write_text(scenario, encoding="utf-8")
    assert psephos("enroll", "org", "--parties", tmp_path / "all.csv", "--out", tmp_path / "org").status == 0
    drawn = ("roster", tmp_path / "game.toml", "--enrolled", tmp_path, "--out", tmp_path / "drawn")
    assert psephos(*drawn).status == 0
    own = tmp_path / "own.csv"
    own.write_text("voter,epsilon\nann,0.5\nbob,1\n", encoding="utf-8")
    hosted = (tmp_path / "all.csv", tmp_path / "drawn" / "invitations")
    invited, entries = read_hosted(*hosted, [f"epsilon={own}"])
    protocol = protocol_of(invited["bob"], trusts_server=False)
    assert [with_choices(protocol, entries[name], invited[name].public) for name in ("ann", "bob")] == [(0,), (1,)]
    for lines, told in (
        ("voter,epsilon\nann,0.5\n", r"use --set epsilon=FILE"),
        ("voter,epsilon\nann,0.5\nann,1\n", "a party of --parties, named once"),
        ("voter,epsilon\nann,0.5\neve,1\n", "a party of --parties, named once"),
    ):
        own.write_text(lines, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=told):
            read_hosted(*hosted, [f"epsilon={own}"])
    with pytest.raises(ConfigurationError, match="NAME=FILE beside --parties"):
        read_hosted(*hosted, ["lives=1"])


def test_whoever_revokes_a_hosts_certificate_hears_of_all_whose_it_is(tmp_path: Path, psephos: Psephos) -> None:
    (folder := tmp_path / "drawn").mkdir()
    write_session(folder, drawn_up(tmp_path)[1])
    said = psephos("revoke", OF_HOSTS[0][0], "--roster", folder).out
    assert said.startswith(f"{OF_HOSTS[0][0]} and {len(OF_HOSTS[0]) - 1} more of its host: certificate ")


def test_a_session_whose_id_has_a_tab_is_found_in_a_hosts_journal() -> None:
    assert [id_of(kept) for kept in ("a\tb\tann", "a\tann", "a")] == ["a\tb", "a", "a"]
