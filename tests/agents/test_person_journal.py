"""A person's journal: the ledger over sessions and processes, and no report of a phase but the first."""

from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import trio
from journal_sessions import change_about
from makers import loss_of
from psephos.agents.host_journal import HOST, HostJournal
from psephos.agents.journal_file import JournalFile
from psephos.agents.journal_format import About, read_journal
from psephos.agents.journals import Journal
from psephos.agents.person_journal import PERSON, PersonJournal, read_sessions, row_of
from psephos.protocol.errors import JournalError
from psephos.protocol.privacy import (
    Budget,
    LedgerEntry,
)
from psephos.protocol.records import Accepted, Acknowledged, ClientRecord, Drawn, Reserved, SessionEnded

NOW = 1_900_000_000.0
PHASES = ("weights", "opinions")


def entry_of(epsilon: float, phase: str, *, session: str = "spring") -> LedgerEntry:
    return LedgerEntry.from_loss(loss_of(epsilon), person="Germany", session=session, phase=phase)


def reserved(
    *epsilons: float, session: str = "spring", party: str = "Germany", protocol: str = "dpwevote", expires: int = 0
) -> Reserved:
    phases = PHASES[len(PHASES) - len(epsilons) :]
    entries = tuple(entry_of(epsilon, phase, session=session) for epsilon, phase in zip(epsilons, phases, strict=True))
    return Reserved(party=party, session=session, protocol=protocol, expires=expires, entries=entries, terms="")


def drawn(phase: int, epsilon: float, *, report: bytes = b"report", session: str = "spring") -> Drawn:
    return Drawn(
        step=phase,
        request=b"request",
        report=report + b" %d" % phase,
        entries=(entry_of(epsilon, PHASES[phase], session=session),),
    )


DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


@pytest.fixture
def keep(path: Path) -> Callable[..., None]:
    """Keeps records of a session, in a process's life of its own."""

    def keep_in(session_id: str, *records: ClientRecord, now: float = NOW) -> None:
        with PersonJournal.open(path, now=now) as journal:
            journal.sitting(session_id).keep(records)

    return keep_in


def test_a_session_goes_on_where_it_was(path: Path) -> None:
    records: Sequence[ClientRecord] = (
        reserved(1.0, 2.0),
        drawn(0, 1.0),
        Acknowledged(0),
        drawn(1, 2.0),
        SessionEnded("over"),
    )
    for place, record in enumerate(records):
        with PersonJournal.open(path, now=NOW) as journal:
            assert journal.is_new is (place == 0)
            assert journal.path == path
            sitting = journal.sitting("id-1")
            assert sitting.records == records[:place]
            sitting.keep([record])
            assert sitting.records == records[: place + 1]
            assert journal.sitting("id-1").records == sitting.records
            assert journal.sitting("id-2").records == ()


def test_the_ledger_has_every_sessions_losses_and_room(path: Path, keep: Callable[..., None]) -> None:
    keep("id-1", reserved(1.0, 2.0), drawn(0, 1.0))
    keep(
        "id-2",
        reserved(0.25, 0.5, session="summer", party="DE"),
        drawn(0, 0.25, session="summer"),
        SessionEnded("it failed"),
    )
    with PersonJournal.open(path, now=NOW) as journal:
        ledger = journal.ledger("me", Budget(epsilon=5.0))
        assert (ledger.person, ledger.spent, ledger.reserved, ledger.remaining) == ("me", 1.25, 2.0, 1.75)
        assert [(entry.session, entry.phase) for entry in ledger.entries] == [
            ("spring", "weights"),
            ("summer", "weights"),
        ]
        own = journal.ledger("me", Budget(epsilon=5.0), session_id="id-1")
        assert (own.spent, own.reserved, own.remaining) == (1.25, 0.0, 3.75)
        assert journal.ledger("me", None).remaining == float("inf")


@pytest.mark.parametrize(
    ("records", "now", "held"),
    [
        ([reserved(1.0, 2.0)], NOW, 3.0),
        ([reserved(1.0, 2.0), drawn(0, 1.0)], NOW, 2.0),
        ([reserved(1.0, 2.0), drawn(0, 1.0), Acknowledged(0)], NOW, 2.0),
        ([reserved(1.0, 2.0), drawn(0, 1.0), drawn(1, 2.0)], NOW, 0.0),
        ([reserved(1.0, 2.0), SessionEnded("another day")], NOW, 0.0),
        ([reserved(1.0, 2.0), SessionEnded("another day"), reserved(1.0, 2.0)], NOW, 3.0),
        ([reserved(1.0, 2.0), drawn(0, 1.0), reserved(2.0)], NOW, 2.0),
        ([reserved(1.0, 2.0, expires=int(NOW))], NOW, 3.0),
        ([reserved(1.0, 2.0, expires=int(NOW))], NOW + 1, 0.0),
    ],
)
def test_room_is_held_until_it_is_paid_left_or_expired(
    path: Path, keep: Callable[..., None], records: Sequence[ClientRecord], now: float, held: float
) -> None:
    keep("id-1", *records)
    with PersonJournal.open(path, now=now) as journal:
        assert journal.ledger("me", Budget(epsilon=10.0), session_id="id-2").reserved == held


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (drawn(0, 1.0, report=b"another"), "has another report of phase 0 of session id-1"),
        (drawn(0, 3.0), "has another report of phase 0"),
        (reserved(1.0, 2.0, party="France"), "has party 'Germany' for session id-1, and not 'France'"),
        (reserved(1.0, 2.0, session="summer"), "has session 'spring' for session id-1"),
        (reserved(1.0, 2.0, protocol="fair-voting"), "has protocol 'dpwevote' for session id-1"),
        (reserved(1.0, 2.0, expires=7), "has expires 0 for session id-1, and not 7"),
        (drawn(1, 1.0), ""),
        (Acknowledged(1), "has no report of phase 1 of session id-1"),
    ],
)
def test_what_contradicts_a_record_is_refused_and_nothing_is_kept(
    path: Path, keep: Callable[..., None], record: ClientRecord, reason: str
) -> None:
    kept = (reserved(1.0, 2.0), drawn(0, 1.0))
    keep("id-1", *kept)
    with PersonJournal.open(path, now=NOW) as journal:
        sitting = journal.sitting("id-1")
        if not reason:
            sitting.keep([record])
            assert sitting.records == (*kept, record)
            return
        with pytest.raises(JournalError, match=reason):
            sitting.keep([Acknowledged(0), record])
        assert sitting.records == kept
    with PersonJournal.open(path, now=NOW) as journal:
        assert journal.sitting("id-1").records == kept


@pytest.mark.parametrize("record", [drawn(0, 1.0), Acknowledged(0)])
def test_nothing_is_drawn_before_room_is_reserved(path: Path, record: ClientRecord) -> None:
    with (
        PersonJournal.open(path, now=NOW) as journal,
        pytest.raises(JournalError, match="has nothing reserved for session id-1"),
    ):
        journal.sitting("id-1").keep([record])


def test_steps_of_disputes_are_passed_over_and_no_others(path: Path) -> None:
    """Nobody doubts a box of a masked session: nobody is asked for a proof, and its row is its fourth answer."""

    def answered(step: int) -> Drawn:
        return Drawn(step=step, request=b"request", report=b"report", entries=())

    with PersonJournal.open(path, now=NOW) as journal:
        sitting = journal.sitting("id-1")
        sitting.keep([reserved(1.0), *map(answered, range(3))])
        with pytest.raises(JournalError, match="has 3 reports of session id-1, and phase 5 is not the next"):
            sitting.keep([answered(5)])
        sitting.keep([*map(answered, (4, 5, 6, 7))])
        assert len(sitting.records) == 8


def test_what_is_kept_already_is_not_kept_twice(path: Path, keep: Callable[..., None]) -> None:
    records = (reserved(1.0, 2.0), drawn(0, 1.0), Acknowledged(0), reserved(2.0), SessionEnded("gone"))
    for number in range(len(records)):
        keep("id-1", records[number])
        keep("id-1", records[number])
    with PersonJournal.open(path, now=NOW) as journal:
        # What is left of the room is what was reserved; to reserve it once more says nothing new.
        assert journal.sitting("id-1").records == (*records[:3], records[4])


def test_the_database_itself_refuses_a_second_report(path: Path, keep: Callable[..., None]) -> None:
    keep("id-1", reserved(1.0, 2.0), drawn(0, 1.0), Acknowledged(0))
    file, _ = JournalFile.open(path, About(kind=PERSON))
    with file:
        for record in (drawn(0, 1.0, report=b"another"), drawn(0, 1.0), Acknowledged(0)):
            with pytest.raises(JournalError, match="has already"):
                file.append([row_of("id-1", record)])
        file.append([row_of("id-2", drawn(0, 1.0, report=b"another"))])


def test_a_restored_journal_joins_no_session_that_may_have_gone_on(path: Path, keep: Callable[..., None]) -> None:
    keep("id-1", reserved(1.0, 2.0))
    change_about(path, unsure_rows=1, unsure_since=int(NOW))
    keep("id-2", reserved(1.0, 2.0))
    keep("id-2", drawn(0, 1.0))
    with (
        PersonJournal.open(path, now=NOW) as journal,
        pytest.raises(JournalError, match="was restored from a backup, and session id-1 may have gone on"),
    ):
        journal.sitting("id-1")


def test_a_row_that_is_no_record_is_found(path: Path) -> None:
    file, _ = JournalFile.open(path, About(kind=PERSON))
    with file:
        file.append([row_of("id-1", reserved(1.0))._replace(body=b"\xc1")])
    for read in (lambda: PersonJournal.open(path, now=NOW), lambda: read_sessions(path)):
        with pytest.raises(JournalError, match="is damaged, since something else stands where a record was kept"):
            read()
    assert read_journal(path, kind=PERSON).rows  # nobody has it open


def test_who_left_before_anything_was_reserved_leaves_nothing_behind(path: Path, keep: Callable[..., None]) -> None:
    keep("id-1", SessionEnded("the privacy budget does not allow it"))
    assert read_sessions(path)[1] == {}


def test_a_sitting_keeps_a_clients_records_alone(path: Path) -> None:
    with PersonJournal.open(path, now=NOW) as journal:
        sitting: Journal = journal.sitting("id-1")
        with pytest.raises(TypeError, match="keeps no Accepted"):
            sitting.keep([reserved(1.0), Accepted(0, 0, b"")])
        assert journal.sitting("id-1").records == ()


def vote(
    path: Path, day: float, epsilon: float, *, expires: int = 0, clock: bool = True, is_heard: bool = True
) -> None:
    """Draw a report on a day, in a process's life of its own, and hear the release; times are kept rounded up."""
    session = f"id-{day}-{epsilon}"
    now = NOW + day * DAY - 0.9
    with PersonJournal.open(path, now=now, clock=(lambda: now) if clock else None) as journal:
        journal.sitting(session).keep([reserved(epsilon, session=session, expires=expires)])
        journal.sitting(session).keep([drawn(0, epsilon, session=session)])
        journal.sitting(session).keep([Acknowledged(0)])
        if is_heard:
            journal.sitting(session).keep([SessionEnded()])


def spent(path: Path, day: float, days: float) -> float:
    """Return what counts on a day in a window of so many days."""
    now = NOW + day * DAY
    with PersonJournal.open(path, now=now, clock=lambda: now) as journal:
        return journal.ledger("me", Budget(epsilon=9.0), period_seconds=days * DAY).spent


def test_a_window_holds_the_losses_of_its_time_and_the_ledger_without_one_all(path: Path) -> None:
    for day, epsilon in ((0, 1.0), (3, 2.0), (6.5, 4.0)):
        vote(path, day, epsilon)
    assert [spent(path, day, 7) for day in (7 - 0.5 / DAY, 7, 9.9, 10, 13.5)] == [7.0, 6.0, 6.0, 4.0, 0.0]
    with PersonJournal.open(path, now=NOW) as journal:
        assert journal.ledger("me", Budget(epsilon=9.0)).spent == 7.0


def test_a_loss_without_a_time_counts_until_its_session_has_expired_for_a_period(path: Path) -> None:
    vote(path, 0, 1.0, clock=False)
    vote(path, 0, 2.0, clock=False, expires=int(NOW + 2 * DAY))
    assert [spent(path, day, 7) for day in (0, 8.9, 9, 1000)] == [3.0, 3.0, 1.0, 1.0]


def test_a_report_counts_as_new_until_its_release_is_heard(path: Path) -> None:
    vote(path, 0, 1.0, is_heard=False)
    assert [spent(path, day, 7) for day in (0, 7, 8, 1000)] == [1.0] * 4
    with PersonJournal.open(path, now=NOW, clock=lambda: NOW + 8 * DAY) as journal:
        journal.sitting("id-0-1.0").keep(
            [SessionEnded("the connection was lost")]
        )  # after which it may be joined again
    assert [spent(path, day, 7) for day in (8, 15, 1000)] == [1.0] * 3
    with PersonJournal.open(path, now=NOW, clock=lambda: NOW + 20 * DAY) as journal:
        sitting = journal.sitting("id-0-1.0")
        sitting.keep([SessionEnded()])
        sitting.keep([SessionEnded()])
    assert [spent(path, day, 7) for day in (20, 26.9, 27)] == [1.0, 1.0, 0.0]


def test_a_report_whose_release_was_never_heard_counts_until_its_session_has_expired_for_a_period(path: Path) -> None:
    vote(path, 0, 1.0, is_heard=False, expires=int(NOW + 2 * DAY))
    assert [spent(path, day, 7) for day in (0, 7, 8.9, 9)] == [1.0, 1.0, 1.0, 0.0]


def test_a_release_a_week_after_the_report_counts_beside_what_else_leaves_then(path: Path) -> None:
    """A masked row on day 0 tells nothing before day 7.1, when another session has all of its own: 2 within a day."""
    with PersonJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        masked = journal.sitting("id-1")
        masked.keep([reserved(1.0), drawn(0, 1.0), Acknowledged(0)])
    assert spent(path, 7.05, 7) == 1.0  # so that nobody joins another session for all of a budget of 1
    with PersonJournal.open(path, now=NOW, clock=lambda: NOW + 7.1 * DAY) as journal:
        journal.sitting("id-1").keep([drawn(1, 0.0), Acknowledged(1), SessionEnded()])
    assert [spent(path, day, 7) for day in (7.2, 14, 14.2)] == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("seed", range(3))
def test_in_no_window_more_leaves_than_its_budget_however_late_reports_and_releases_are(path: Path, seed: int) -> None:
    generator, now = np.random.default_rng(seed), NOW
    left: list[tuple[float, str]] = []  # when a report left, or a release told of it, and of which session
    unheard: list[str] = []
    refused = 0
    with PersonJournal.open(path, now=NOW, clock=lambda: now) as journal:
        for number in range(60):
            now += float(generator.exponential(DAY))
            name = f"id-{number}"
            for late in [each for each in unheard if generator.random() < 0.4]:
                left.append((now, late))
                if generator.random() < 0.4:
                    journal.sitting(late).keep([Acknowledged(0)])
                if generator.random() < 0.5:
                    journal.sitting(late).keep([SessionEnded()])
                    unheard.remove(late)
                elif generator.random() < 0.5:
                    journal.sitting(late).keep([SessionEnded("the connection was lost")])  # and comes back
            if generator.random() < 0.5:
                continue
            ledger = journal.ledger("me", Budget(epsilon=2.0), session_id=name, period_seconds=7 * DAY)
            if ledger.spent > 1.0:
                refused += 1
                continue
            journal.sitting(name).keep([reserved(1.0, session=name), drawn(0, 1.0, session=name)])
            unheard.append(name)
            if generator.random() < 0.7:
                left.append((now, name))
    windows = [{name for time, name in left if start <= time < start + 7 * DAY} for start, _ in left]
    assert max(map(len, windows)) == 2
    assert refused


def test_a_clock_that_is_set_back_takes_no_loss_out_of_a_window(path: Path) -> None:
    vote(path, 5, 1.0)
    vote(path, -90, 2.0)  # kept with the time of the one before it
    assert [spent(path, day, 7) for day in (-90, 5, 11.9, 12)] == [3.0, 3.0, 3.0, 0.0]


def test_the_same_report_is_kept_once_whenever_it_comes_again(path: Path) -> None:
    vote(path, 1, 1.0)
    with PersonJournal.open(path, now=NOW, clock=lambda: NOW + 9 * DAY) as journal:
        sitting = journal.sitting("id-1-1.0")
        sitting.keep([drawn(0, 1.0, session="id-1-1.0")])
        (kept,) = (record for record in sitting.records if isinstance(record, Drawn))
        assert kept.at == NOW + DAY


def test_no_time_goes_back_after_a_session_that_was_left_and_joined_again(path: Path) -> None:
    """A clock that is set back meanwhile dates no loss before what was kept: it would count for less long."""
    clock = NOW
    with PersonJournal.open(path, now=NOW, clock=lambda: clock) as journal:
        sitting = journal.sitting("id-1")
        sitting.keep([reserved(1.0, 2.0), SessionEnded("the server restarts")])
        clock -= DAY
        sitting.keep([reserved(1.0, 2.0)])
        sitting.keep([drawn(0, 1.0)])
    with PersonJournal.open(path, now=clock, clock=lambda: clock) as journal:
        journal.sitting("id-2").keep([reserved(1.0, session="summer"), drawn(0, 1.0, session="summer")])
        records = [*journal.sitting("id-1").records, *journal.sitting("id-2").records]
    times = [record.at for record in records if not isinstance(record, Reserved)]
    assert times == sorted(times)
    assert min(times) == NOW


# A host's


async def test_what_a_host_keeps_while_it_commits_is_kept_by_its_next_commit(path: Path) -> None:
    with HostJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        sittings = {name: journal.person_journal(name).sitting("id-1") for name in ("ann", "bob")}

        async def commit(function: Callable[..., None], *arguments: object) -> None:
            function(*arguments)
            sittings["bob"].keep([reserved(1.0)])

        journal.run_in_thread = commit
        sittings["ann"].keep([reserved(1.0)])
        kept: list[set[str]] = []
        for _ in range(2):
            await journal.commit()
            kept.append({*read_sessions(path, kind=HOST)[1]})
    assert kept == [{"id-1\tann"}, {"id-1\tann", "id-1\tbob"}]


async def test_a_hosts_journal_that_failed_keeps_nothing_more_until_it_is_opened_anew(path: Path) -> None:
    with HostJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        sitting = journal.person_journal("ann").sitting("id-1")
        sitting.keep([reserved(1.0)])
        with mock.patch.object(JournalFile, "append", side_effect=JournalError("is full")), pytest.raises(JournalError):
            await journal.commit()
        with pytest.raises(JournalError, match="is full"):
            await journal.commit()
        with pytest.raises(JournalError, match="is full"):
            sitting.keep([drawn(0, 1.0)])
    with HostJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        assert not journal.person_journal("ann").sitting("id-1").records


def test_a_journal_of_which_nobody_knows_what_it_kept_says_nothing_of_a_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory is older than its disk may be: a session was refused for room that had been given back."""
    path = tmp_path / "journal.sqlite"

    def interrupt(*_: object) -> bytes:
        raise KeyboardInterrupt

    with PersonJournal.open(path, now=NOW) as journal:
        journal.sitting("first").keep([reserved(1.0)])
        with monkeypatch.context() as patched:
            patched.setattr("psephos.agents.journal_file.link", interrupt)
            with pytest.raises(KeyboardInterrupt):
                journal.sitting("first").keep([SessionEnded("the server was silent")])
        with pytest.raises(JournalError, match="failed before, and is to be opened anew"):
            journal.ledger("Germany", None)
    with PersonJournal.open(path, now=NOW) as journal:
        assert journal.ledger("Germany", Budget(epsilon=2.0)).reserved == 1.0


def test_a_host_that_cannot_keep_anything_says_nothing_of_a_partys_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise JournalError("was interrupted", path="here")

    with HostJournal.open(tmp_path / "host.sqlite", now=NOW, clock=lambda: NOW) as host:
        journal = host.person_journal("Germany")
        journal.sitting("first").keep([reserved(1.0)])
        with monkeypatch.context() as patched:
            patched.setattr(JournalFile, "append", fail)
            with pytest.raises(JournalError, match="was interrupted"):
                trio.run(host.commit)
        with pytest.raises(JournalError, match="was interrupted"):
            journal.ledger("Germany", None)
