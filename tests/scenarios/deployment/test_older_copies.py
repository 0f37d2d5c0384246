"""An older copy of a journal's whole folder is put in its place, as a snapshot does: nothing is drawn a second time.

All are processes over TLS. What one machine cannot tell by itself, the other side does.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deployments import ENTRIES
from durable_votes import Vote, check_ended
from psephos.agents.journal_format import lock_file_of
from psephos.protocol.records import Drawn
from psephos.scenarios.deployment.server import JOURNAL_FILE

Psephos = Callable[..., Any]


def put_back(snapshot: Path, folder: Path) -> None:
    """Put what a snapshot has in the place of what there is of the same files, a journal's with its lock and log."""
    for name in {path.name.split(".")[0] for path in snapshot.iterdir()}:
        for file in folder.glob(f"{name}.*"):
            file.unlink()
    shutil.copytree(snapshot, folder, dirs_exist_ok=True)


def snapshot_of(journal: Path, name: str, folder: Path) -> Path:
    """Copy a journal, with all that lies beside it under its name."""
    snapshot = folder / name
    snapshot.mkdir()
    for file in journal.parent.glob(f"{journal.name}*"):
        shutil.copy(file, snapshot)
    return snapshot


def forget(witness: Path) -> None:
    for told in witness.iterdir():
        told.unlink()


@pytest.mark.full("a dozen processes")
def test_an_older_copy_of_a_partys_folder_draws_nothing_again(tmp_path: Path, psephos: Psephos) -> None:
    """Whether its lock is older as well, zeroed or gone."""
    journals, witness = Path(os.environ["PSEPHOS_JOURNAL"]), Path(os.environ["PSEPHOS_WITNESS"])
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        clients = {party: vote.join(party) for party in ("bob", "cid")}
        assert vote.join("ann", dying=("after", 1)).ending().status == -9  # what it may cost is reserved
        older = snapshot_of(vote.journal_of("ann"), "older", tmp_path)
        assert vote.join("ann", dying=("after", 2)).ending().status == -9  # its report is acknowledged
        newest = snapshot_of(vote.journal_of("ann"), "newest", tmp_path)
        (drawn,) = [record for record in vote.records_of("ann").records if isinstance(record, Drawn)]
        sent = vote.accepted(0)["ann"]

        put_back(older, journals)
        lock = lock_file_of(vote.journal_of("ann"))
        unsaid = ".sqlite.lock tells how many there were"
        for said, reason in (
            (lock.read_bytes(), "it was cut short, or is an older copy"),
            (bytes(256), unsaid),
            (None, unsaid),
        ):
            lock.unlink() if said is None else lock.write_bytes(said)
            check_ended(vote.join("ann").ending(), reason, status=2)
            assert reason in psephos("ledger", vote.journal_of("ann")).err

        put_back(older, journals)
        forget(witness)  # as on another machine: the server is honest
        check_ended(
            vote.join("ann").ending(),
            "'ann' came with an older copy of its journal, or with none: 1 of its reports",
            status=1,
        )
        assert vote.accepted(0)["ann"] == sent

        put_back(newest, journals)
        check_ended(vote.join("ann").ending(), "is another one than was here last (as ", status=2)
        forget(witness)
        clients["ann"] = vote.join("ann")
        vote.check(clients, server)
        assert vote.accepted(0)["ann"] == sent
        assert drawn in vote.records_of("ann").records


@pytest.mark.full("a dozen processes")
def test_an_older_copy_of_a_servers_folder_goes_on_with_nothing(tmp_path: Path) -> None:
    with Vote(tmp_path) as vote:
        journal = vote.roster / JOURNAL_FILE
        server = vote.serve(dying=("after", 1))
        server.address()
        clients = {party: vote.join(party) for party in ENTRIES}
        assert server.ending().status == -9
        older = snapshot_of(journal, "older", tmp_path)
        server = vote.serve(dying=("after", 3))
        assert server.ending().status == -9
        newest = snapshot_of(journal, "newest", tmp_path)
        num_kept = len(vote.server_records())

        put_back(older, vote.roster)
        check_ended(vote.serve().ending(), "it was cut short, or is an older copy", status=2)
        lock_file_of(journal).unlink()
        check_ended(vote.serve().ending(), "journal.sqlite.lock tells how many there were", status=2)

        put_back(older, vote.roster)
        shutil.rmtree(os.environ["PSEPHOS_WITNESS"])  # as on another machine: a party has its word
        check_ended(
            vote.serve().ending(),
            "is an older copy: a party shows this server's own word that it has a report",
            status=2,
        )
        for client in clients.values():  # the one that shows it, whoever else was there, and who comes after that
            check_ended(client.ending(), "its journal is an older copy, which its operator has to replace", status=1)

        put_back(newest, vote.roster)
        assert len(vote.server_records()) == num_kept
        shutil.rmtree(os.environ["PSEPHOS_WITNESS"])
        server = vote.serve()
        server.address()
        vote.check({party: vote.join(party) for party in ENTRIES}, server)


@pytest.mark.full("half a dozen processes")
def test_a_server_that_has_lost_its_journal_begins_nothing_anew(tmp_path: Path) -> None:
    """Nor does one whose folder was copied beside it: the session is served by one process of a machine."""
    with Vote(tmp_path) as vote:
        server = vote.serve()
        server.address()
        copy = tmp_path / "copy"
        shutil.copytree(vote.roster, copy)
        how = (
            "serve",
            tmp_path / "vote.toml",
            "--roster",
            copy,
            "--listen",
            "127.0.0.1:0",
            "--out",
            tmp_path / "other",
        )
        check_ended(vote.start(*how).ending(), "is in use by process", status=2)
        clients = {party: vote.join(party) for party in ENTRIES}
        vote.check(clients, server)
        for file in vote.roster.glob("journal.sqlite*"):
            file.unlink()
        check_ended(vote.serve().ending(), "is gone, and had", status=2)
