"""Servers and parties over TLS that are killed, stopped, cut off, and come back: nothing is lost or drawn twice.

All are processes. Noise is the system's own and cannot be seeded, so each test compares the outcome with what the
server's journal has accepted (`durable_votes.Vote.check`).
"""

import contextlib
import itertools
import random
import re
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from deployments import ENTRIES, PATIENCE
from durable_votes import DURABLE_STEPS, PHASES, Dying, Vote, check_ended, partners
from relays import SHORTER_THAN_A_HELLO, Connection, Relay

Psephos = Callable[..., Any]


EVERYWHERE: Final[Sequence[Dying]] = [("before", 1), ("after", 1)]
"""In turns: each process goes on from where the last one was killed, so that this is before and after every step."""
FORWARD: Final[Sequence[Dying]] = [("after", 1)]


@pytest.mark.full("a dozen processes and more")
@pytest.mark.parametrize("turns", [EVERYWHERE, FORWARD], ids=["everywhere", "forward"])
def test_a_party_that_is_killed_at_every_durable_step_reports_once(
    tmp_path: Path, psephos: Psephos, turns: Sequence[Dying]
) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        num_killed = 0
        for dying in itertools.cycle(turns):
            clients["ann"] = vote.join("ann", dying=dying)
            ending = clients["ann"].ending()
            if ending.status == 0:
                assert "begun now" not in ending.out
                break
            assert ending.status == -9, ending
            num_killed += 1
        assert num_killed == len(turns) * len(DURABLE_STEPS)
        vote.check(clients, server)
    kept = [type(record).__name__.lower() for record in vote.records_of("ann").records]
    assert kept == list(DURABLE_STEPS)
    shown = psephos("ledger", vote.journal_of("ann"), "--json")
    assert (shown.status, shown.err, shown.out.count("\n")) == (0, "", 2)


@pytest.mark.full("it waits for parties that come back after pauses")
@pytest.mark.parametrize("turns", [EVERYWHERE, FORWARD], ids=["everywhere", "forward"])
def test_a_server_that_is_killed_at_every_durable_step_goes_on(tmp_path: Path, turns: Sequence[Dying]) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("ann", "bob")}
        for client in clients.values():
            client.line_with("Session vote")
        server.kill()  # while parties join, and nothing is kept
        num_killed = 0
        for dying in itertools.cycle(turns):
            server = vote.serve(dying=dying)
            server.address()
            if not num_killed:
                clients["cid"] = vote.join("cid")
            ending = server.ending()
            if ending.status == 0:
                break
            assert ending.status == -9, ending
            num_killed += 1
        # Each phase opens, has its reports, some of which may be kept at once, and closes as the next one opens.
        assert num_killed >= len(turns) * 4
        vote.check_files()
        assert {party: client.ending().status for party, client in clients.items()} == dict.fromkeys(ENTRIES, 0)


@pytest.mark.full("it waits for parties that come back after pauses")
def test_a_server_that_is_killed_between_reports_goes_on(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve(dying=("after", 2))  # the first phase was opened, and a report or more is kept
        server.address()
        clients = {party: vote.join(party) for party in ENTRIES}
        assert server.ending().status == -9
        assert vote.accepted(0)
        vote.check(clients, vote.serve())
        run = vote.run_of("server")
        assert "traffic" not in run
        assert {each["phase"]: each["messages_up"] for each in run["traffic_since_restart"]}["opinions"] == len(ENTRIES)


@pytest.mark.full("four processes")
def test_reports_that_lay_in_the_socket_of_a_stopped_server_count_after_the_deadline(tmp_path: Path) -> None:
    """To the server, all the time that the phase had has passed while it was stopped."""
    deadline_seconds = 300.0

    has_stopped = threading.Event()

    def hold(connection: Connection, data: bytes) -> None:
        connection.is_held = len(data) < SHORTER_THAN_A_HELLO and not has_stopped.is_set()

    with Vote(tmp_path, "quorum=1", f"phases.weights.deadline_seconds={deadline_seconds}") as vote:
        server = vote.serve(ahead=deadline_seconds)
        server.address()
        relay = Relay(vote.address, watch=hold)
        clients = {party: vote.join(party, relay=relay) for party in ENTRIES}
        relay.wait_until(lambda: sum(each.is_held for each in relay.connections) == len(ENTRIES))
        server.send(signal.SIGSTOP)
        has_stopped.set()
        for each in relay.connections:
            each.is_held = False
        relay.wait_until(lambda: all(each.num_passed == len(each.sent) for each in relay.connections))
        assert vote.accepted(0) == {}
        server.send(signal.SIGCONT)
        vote.check(clients, server)
        relay.close()


@pytest.mark.full("eight processes")
@pytest.mark.parametrize("is_accepted", [True, False], ids=["accepted", "lost"])
def test_a_reset_as_a_report_arrives_costs_nothing_in_any_phase(tmp_path: Path, *, is_accepted: bool) -> None:
    """The report is accepted and its acknowledgement is lost, or it is lost itself."""
    num_resets = 0

    def cut(connection: Connection, data: bytes) -> None:
        nonlocal num_resets
        if len(data) >= SHORTER_THAN_A_HELLO:
            return
        if is_accepted:
            connection.is_deaf = True
        elif num_resets < len(PHASES):
            num_resets += 1
            connection.reset()

    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        relay = Relay(vote.address, watch=cut)
        clients = {"ann": vote.join("ann", relay=relay)}
        relay.wait_for(2)
        relay.reset()  # while parties join
        clients |= {party: vote.join(party) for party in ("bob", "cid")}
        if is_accepted:
            for phase in range(len(PHASES)):
                relay.wait_until(lambda phase=phase: "ann" in vote.accepted(phase))
                relay.reset()
        vote.check(clients, server)
        relay.close()
        assert len(relay.connections) == 2 + len(PHASES)


@pytest.mark.full("half a dozen processes")
def test_the_owner_of_a_half_open_connection_comes_back_at_once(tmp_path: Path) -> None:
    """Whether its process was killed, or has waited in vain: to the server both connections seem to be there.

    Who has waited for its welcome in vain has waited for half a minute, and any other for an hour.
    """
    with Vote(tmp_path) as vote:
        server = vote.serve("--status", "0")
        server.address()
        page = server.line_with("status at ").split()[-1]
        relay = Relay(vote.address)
        killed, waiting = vote.join("ann", relay=relay), vote.join("bob", relay=relay, ahead=3600)
        relay.wait_until(lambda: b"psephos_parties_joined 2.0" in _text_at(page))
        for each in relay.connections:
            each.is_silent = True
        killed.kill()
        waiting.pass_time()
        ending = waiting.ending()
        assert ending.status == 1
        assert re.fullmatch(r"psephos: server has said nothing for (30|3600) seconds\n", ending.err)
        vote.check({party: vote.join(party) for party in ENTRIES}, server)
        relay.close()


def _text_at(page: str) -> bytes:
    with urllib.request.urlopen(page, timeout=PATIENCE) as answer:  # noqa: S310  the server's own
        text: bytes = answer.read()
        return text


@pytest.mark.full("27 partners, each a process")
def test_five_of_27_partners_and_the_server_are_killed_at_random_and_all_decide(tmp_path: Path) -> None:
    luck = random.Random(20)
    names = list(partners(27))
    dying = {party: (luck.choice(["before", "after"]), luck.randrange(1, 5)) for party in luck.sample(names, 5)}
    in_order = sorted(dying, key=lambda party: dying[party][1])  # nobody gets to a step before all have done the last
    with Vote(tmp_path, entries=partners(27)) as vote:
        server = vote.serve(dying=("after", luck.randrange(1, 5)))
        server.address()
        relay = Relay(vote.address, delay=lambda: luck.uniform(0, 0.2))
        clients = {party: vote.join(party, relay=relay, dying=dying.get(party)) for party in names}
        has_restarted = False
        for party in in_order:
            if dying[party][1] > 1 and not has_restarted:
                assert server.ending().status == -9
                server, has_restarted = vote.serve(), True
            assert clients[party].ending().status == -9
            clients[party] = vote.join(party, relay=relay)
        vote.check(clients, server)
        relay.close()


@pytest.fixture
def lossy_network() -> Generator[list[str]]:
    """The words of a command that runs another one where the network loses and delays packets; skipped where not."""
    with contextlib.ExitStack() as stack:
        shell = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c"]
        steps = "ip link set lo up && tc qdisc add dev lo root netem delay 40ms 20ms loss 3% && echo ready && exec cat"
        try:
            pipe = subprocess.PIPE
            holder = stack.enter_context(
                subprocess.Popen([*shell, steps], stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603  our own
            )
        except OSError as error:
            pytest.skip(f"no network namespace can be made here: {error}")
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stderr is not None
        stack.callback(holder.stdin.close)
        if holder.stdout.readline() != b"ready\n":
            pytest.skip(f"no lossy network can be made here: {holder.stderr.read().decode().strip()}")
        yield ["nsenter", f"--target={holder.pid}", "--user", "--net", "--preserve-credentials"]


@pytest.mark.full("it needs rights that few have")
def test_a_lossy_network_costs_time_alone(tmp_path: Path, lossy_network: list[str]) -> None:
    with Vote(tmp_path, entries=partners(5), prefix=lossy_network) as vote:
        server = vote.serve(dying=("after", 3))
        server.address()
        clients = {party: vote.join(party) for party in partners(5)}
        assert server.ending().status == -9
        vote.check(clients, vote.serve())


@pytest.mark.full("half a dozen processes")
def test_a_party_that_was_killed_as_it_heard_the_outcome_has_it_from_its_journal(tmp_path: Path) -> None:
    """Its server is gone for good, and nobody is asked."""
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        assert vote.join("ann", dying=("after", len(DURABLE_STEPS))).ending().status == -9
        assert {client.ending().status for client in clients.values()} == {0}
        assert server.ending().status == 0
        clients["ann"] = vote.join("ann")
        vote.check(clients, server)
        again = vote.join("ann").ending()
        assert (again.status, again.err) == (0, "")
        assert "Public transcript" in again.out


@pytest.mark.full("half a dozen processes")
def test_parties_that_begin_while_their_server_is_away_wait_for_it(tmp_path: Path) -> None:
    """Before it has begun, and as it begins again; who has less patience says why it has left."""
    with Vote(tmp_path) as vote:
        clients = {party: vote.join(party) for party in ("ann", "bob")}
        for client in clients.values():
            client.line_with("Session vote")
        check_ended(vote.join("cid", "--patience", "0.1").ending(), "all attempts to connect to", status=1)
        server = vote.serve(dying=("after", 1))
        server.address()
        clients["cid"] = vote.join("cid")
        assert server.ending().status == -9
        vote.check(clients, vote.serve())
