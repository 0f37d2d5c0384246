"""Masked votes over TLS, one process of which is killed at every durable step; windows and revocations under kills."""

import functools
import itertools
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from deployments import ENTRIES, Ending
from durable_votes import DURABLE_STEPS, Vote, check_ended
from journal_care_child import die_at, in_a_process
from masked_kills import CALM, DISPUTE, EVERYWHERE, KILLED, kill
from psephos.scenarios.deployment.invitations import read_server_session, revoke

Psephos = Callable[..., Any]
LEAST_KILLED: Final = {
    # Reserved, six or eight reports each with its acknowledgement, and left: before and after each. A server keeps what
    # opens and closes each step, and the reports of all, several at once where they come so.
    (len(CALM), "ann"): 28,
    (len(CALM), "server"): 24,
    (len(DISPUTE), "p1"): 36,
    (len(DISPUTE), "p2"): 14,
    (len(DISPUTE), "p3"): 26,
    (len(DISPUTE), "server"): 50,
}


def test_a_party_of_a_masked_vote_that_is_killed_before_and_after_its_first_steps_is_in_the_sum(tmp_path: Path) -> None:
    assert kill(tmp_path, CALM, "ann", most=3) == 3


@pytest.mark.full("up to a hundred processes each")
@pytest.mark.parametrize(("parties", "who"), KILLED, ids=[f"{who}, {len(parties)} parties" for parties, who in KILLED])
def test_whoever_is_killed_at_every_durable_step_of_a_masked_vote_loses_nothing(
    parties: dict[str, str], who: str, tmp_path: Path
) -> None:
    """With and without a dispute; of the honest nobody is named or out. `tests/masked_kills.py` counts the kills."""
    assert kill(tmp_path, parties, who) >= LEAST_KILLED[len(parties), who]


@pytest.mark.full("two dozen processes")
def test_a_party_with_a_budget_by_windows_that_is_killed_at_every_durable_step_pays_once(tmp_path: Path) -> None:
    """And has no room for another vote in the same window, whenever it is killed there."""
    budget = ("--budget", "1.5", "--budget-period", "12 hours")
    with Vote(tmp_path, name="first") as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        num_killed, ended = 0, Ending(0, "", "")
        for dying in itertools.cycle(EVERYWHERE):
            clients["ann"] = vote.join("ann", *budget, dying=dying)
            server = vote.attend(clients["ann"], server)
            ended = clients["ann"].ending()
            if ended.status != -signal.SIGKILL:
                break
            num_killed += 1
        assert num_killed == 2 * len(DURABLE_STEPS)
        vote.check(clients, server)
    with Vote(tmp_path, name="second") as vote:
        for dying in EVERYWHERE:
            ended = vote.join("ann", *budget, dying=dying).ending()
            check_ended(ended, "the privacy budget holds epsilon = 0.5, requested 1", status=1)


def test_a_revocation_that_is_cut_off_at_any_call_is_there_or_not_and_the_next_one_is(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        folder = vote.roster
    number, is_cut, had = 0, True, set[int]()
    while is_cut:
        number += 1
        (folder / "revoked.json").unlink(missing_ok=True)
        is_cut, said = in_a_process(functools.partial(die_at, number), functools.partial(revoke, folder, "ann"))
        assert not said
        had.add(len(read_server_session(folder, fingerprints=())[1].peers))
        revoke(folder, "ann")
        assert len(read_server_session(folder, fingerprints=())[1].peers) == len(ENTRIES) - 1
    assert number == 4  # it makes a file, has it on the disk, and puts it in place
    assert had == {len(ENTRIES), len(ENTRIES) - 1}


@pytest.mark.full("two dozen processes, and a deadline that is waited for")
def test_a_server_that_is_killed_at_every_durable_step_lets_whoever_is_revoked_in_no_more(
    tmp_path: Path, psephos: Psephos
) -> None:
    """What ann has reported stands; she is out from the next start on, and the others decide."""
    with Vote(tmp_path, "quorum=2", "phases.opinions.deadline_seconds=60") as vote:
        server = vote.serve(dying=("after", 2))  # the first phase is open, and a report or more is kept
        server.address()
        clients = {party: vote.join(party) for party in ENTRIES}
        assert server.ending().status == -signal.SIGKILL
        assert psephos("revoke", "ann", "--roster", vote.roster).status == 0
        num_killed, ended = 0, Ending(0, "", "")
        for dying in itertools.cycle(EVERYWHERE):
            server = vote.serve(dying=dying)
            ended = server.ending()
            if ended.status != -signal.SIGKILL:
                break
            num_killed += 1
        assert num_killed >= 6
        check_ended(clients.pop("ann").ending(), "does not know this side's certificate", status=1)
        assert ended.status == 0, ended
        assert {party: client.ending().status for party, client in clients.items()} == {"bob": 0, "cid": 0}
        assert "ann" not in vote.accepted(1)
        assert vote.accepted(1).keys() == {"bob", "cid"}
