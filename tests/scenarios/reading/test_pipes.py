"""A pipe where a file is asked for: it is refused in a line, and nobody waits for what may never come through it."""

import contextlib
import os
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.deployment.invitations import read_invitations, read_server_session
from psephos.scenarios.deployment.keys import SIGNATURE_FILE, find_key, read_certificates, signer_beside
from psephos.scenarios.reading.batches import TableFiles
from psephos.scenarios.reading.columnar import rows_of_columns
from psephos.scenarios.reading.files import check_files, readable
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.folder import read_ledger
from psephos.scenarios.running.parties import read_parties_file
from psephos.scenarios.running.rosters import PARAMETERS_FILE, read_roster


def read_parquet(path: Path) -> None:
    list(rows_of_columns(path))


def read_text(path: Path) -> None:
    with readable(path, field="it"):
        path.read_bytes()


def read_agreed(path: Path) -> None:
    path.with_name("roster.csv").write_text("partner\nann\nbob\n")
    read_roster(path.parent, DPWeVote)


DOORS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "parties": ("p.csv", lambda path: read_parties_file(path, "partner")),
    "a packed file": ("p.csv.gz", lambda path: read_parties_file(path, "partner")),
    "columns": ("p.parquet", read_parquet),
    "any file": ("p.txt", read_text),
    "a scenario": ("p.toml", lambda path: load_scenario(str(path))),
    "an invitation": ("p.json", read_invitations),
    "a session's opening": ("session.json", lambda path: read_server_session(path.parent, fingerprints=[])),
    "certificates": ("certificates.pem", read_certificates),
    "a key of signatures": (SIGNATURE_FILE, lambda path: signer_beside(path.with_name("key.pem"))),
    "a key of TLS": ("key.pem", lambda path: find_key("", [path])),
    "agreed parameters": (PARAMETERS_FILE, read_agreed),
    "a run's ledger": ("ledger.jsonl", lambda path: read_ledger(path.parent)),
    "a run's picture": ("estimates.svg", lambda path: check_files(path.parent)),
    "files of any size": ("p.parquet", lambda path: TableFiles(str(path), field="partners", columns={})),
}


@contextlib.contextmanager
def pipe_at(path: Path) -> Generator[None]:
    """Make a pipe, through which nothing comes: whoever opens it finds its end, and does not hang the test."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: os.close(os.open(path, os.O_WRONLY)), daemon=True)
    writer.start()
    try:
        yield
    finally:
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writer.join()
        os.close(reader)


@pytest.mark.parametrize("door", list(DOORS))
def test_a_pipe_is_refused_and_not_opened(door: str, tmp_path: Path) -> None:
    name, read = DOORS[door]
    with (
        pipe_at(tmp_path / name),
        pytest.raises(ConfigurationError, match=r"neither a file nor a folder|file on a disk"),
    ):
        read(tmp_path / name)
