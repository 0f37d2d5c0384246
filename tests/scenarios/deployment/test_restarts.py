"""Servers and parties over TLS that are killed, stopped, cut off, and come back: nothing is lost or drawn twice.

All are processes. Noise is the system's own and cannot be seeded, so each test compares the outcome with what the
server's journal has accepted (`durable_votes.Vote.check`).
"""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from deployments import ENTRIES
from durable_votes import DURABLE_STEPS, Dying, Vote

Psephos = Callable[..., Any]


EVERYWHERE: Final[Sequence[Dying]] = [("before", 1), ("after", 1)]
"""In turns: each process goes on from where the last one was killed, so that this is before and after every step."""
FORWARD: Final[Sequence[Dying]] = [("after", 1)]
whole = pytest.mark.full("a dozen processes more")


@pytest.mark.parametrize("turns", [pytest.param(EVERYWHERE, marks=whole), FORWARD], ids=["everywhere", "forward"])
def test_a_party_that_is_killed_at_every_durable_step_reports_once(
    tmp_path: Path, psephos: Psephos, turns: Sequence[Dying]
) -> None:
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        num_killed = 0
        for dying in itertools.cycle(turns):
            ann = vote.join("ann", dying=dying)
            ending = ann.ending()
            if ending.status == 0:
                break
            assert ending.status == -9, ending
            num_killed += 1
        assert num_killed == len(turns) * len(DURABLE_STEPS)
        vote.check({**clients, "ann": ann}, server)
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
