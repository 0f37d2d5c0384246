"""A server's journal: one configuration, and everything that there is once kept once."""

from pathlib import Path

import numpy as np
import pytest
from psephos.agents.journals import Journal
from psephos.agents.session_journal import SessionJournal
from psephos.protocol.errors import ConfigurationError, JournalError
from psephos.protocol.records import (
    Accepted,
    Acknowledged,
    Chosen,
    KeptTally,
    PhaseClosed,
    PhaseOpened,
    ServerRecord,
    SessionFailed,
)
from psephos.protocol.tally import Tally

CONFIGURATION = {"wire": "7", "protocol": "dpwevote", "parameters": "ab12", "roster": "cd34"}
TALLY = KeptTally.from_tally(Tally(3, np.array([[1, -(2**62)], [3, 4]]), np.array([[5, 6]])))
RECORDS: tuple[ServerRecord, ...] = (
    Chosen(2, (5,)),
    PhaseOpened(0, (0, 1, 2)),
    Accepted(0, 2, b"\x00\xff"),
    Accepted(0, 0, b""),
    PhaseClosed(0, (0, 2)),
    PhaseOpened(1, (0, 2)),
    Accepted(1, 0, b"\x01"),
    PhaseClosed(1, (0,), TALLY),
    SessionFailed(phase="opinions", received=1, required=2, missing=("Malta",), first_drop="it vanished"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.sqlite3"


def test_a_session_goes_on_with_the_same_records(path: Path) -> None:
    for place in range(0, len(RECORDS), 2):
        with SessionJournal.open(path, configuration=CONFIGURATION) as journal:
            assert (journal.path, journal.records) == (path, RECORDS[:place])
            keeper: Journal = journal
            keeper.keep(RECORDS[place : place + 2])
            assert journal.records == RECORDS[: place + 2]
    closed = RECORDS[7]
    assert isinstance(closed, PhaseClosed)
    assert closed.tally is not None
    assert closed.tally.restore() == TALLY.restore()


@pytest.mark.parametrize(
    ("other", "field", "ours", "theirs"),
    [
        ({**CONFIGURATION, "wire": "8"}, "wire", "'8'", "'7'"),
        ({**CONFIGURATION, "roster": "ee", "parameters": "ff"}, "parameters", "'ff'", "'ab12'"),
        ({**CONFIGURATION, "quorum": "3"}, "quorum", "'3'", "None"),
        ({field: value for field, value in CONFIGURATION.items() if field != "roster"}, "roster", "None", "'cd34'"),
    ],
)
def test_another_configuration_is_refused_by_its_first_field(
    path: Path, other: dict[str, str], field: str, ours: str, theirs: str
) -> None:
    SessionJournal.open(path, configuration=CONFIGURATION).close()
    with pytest.raises(ConfigurationError) as caught:
        SessionJournal.open(path, configuration=other)
    assert caught.value.field == field
    assert repr(caught.value.value) == ours != theirs
    assert str(caught.value).startswith(f"{field}: The journal {path} was begun with another value. ")
    with SessionJournal.open(path, configuration=CONFIGURATION) as journal:
        assert journal.records == ()


@pytest.mark.parametrize(
    "again",
    [
        Accepted(0, 2, b"another"),
        Accepted(0, 2, b"\x00\xff"),
        Chosen(2, (5,)),
        Chosen(2, (6,)),
        PhaseOpened(0, ()),
        PhaseClosed(0, (1,)),
        RECORDS[-1],
    ],
)
def test_what_there_is_once_is_kept_once(path: Path, again: ServerRecord) -> None:
    with SessionJournal.open(path, configuration=CONFIGURATION) as journal:
        journal.keep(RECORDS)
        with pytest.raises(JournalError, match="has already"):
            journal.keep([Accepted(1, 2, b"new"), again])
        assert journal.records == RECORDS
        journal.keep([Accepted(1, 2, b"new")])
    with SessionJournal.open(path, configuration=CONFIGURATION) as journal:
        assert journal.records == (*RECORDS, Accepted(1, 2, b"new"))


def test_it_keeps_a_servers_records_alone(path: Path) -> None:
    with SessionJournal.open(path, configuration=CONFIGURATION) as journal:
        with pytest.raises(TypeError, match="1 records are a client's"):
            journal.keep([RECORDS[0], Acknowledged(0)])
        assert journal.records == ()


def test_it_is_one_processes_at_a_time(path: Path) -> None:
    with SessionJournal.open(path, configuration=CONFIGURATION), pytest.raises(JournalError, match="is in use"):
        SessionJournal.open(path, configuration=CONFIGURATION)
