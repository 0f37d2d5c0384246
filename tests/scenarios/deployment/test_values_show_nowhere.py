"""Whatever a party holds, what is left, logged and shown of a session is the same, but for what noise is drawn around.

Noise is drawn here that tells nothing: around the same values, whatever a party holds or parties add up to. So two
sessions that differ in what one party holds may differ in nothing: no file, no count of bytes, no page and no sentence.
In the central model the server alone hears the values.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import http.client
import re
import time
import types
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
from deployments import ENTRIES, PATIENCE, Peer, SettableClock, report, write_vote
from psephos.agents.host_journal import HostJournal
from psephos.agents.journal_format import read_journal
from psephos.agents.modes import draw_session_id
from psephos.agents.noise import SecureNoise
from psephos.agents.person_journal import PersonJournal, read_sessions
from psephos.protocol import SessionKind
from psephos.protocol.errors import ConfigurationError, PsephosError
from psephos.protocol.mechanisms import Disclosure, RowMechanism
from psephos.protocol.messages import SessionDescriptor
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.records import Acknowledged
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.deployment import Joining, Serving, TLSKeys, draw_session, join_in_folder
from psephos.scenarios.deployment import server as server_module
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.deployment.hosting import host_in_folder
from psephos.scenarios.deployment.invitations import DrawnSession, Invitation
from psephos.scenarios.deployment.keys import enroll, read_enrollments
from psephos.scenarios.deployment.own_entries import read_own_entries
from psephos.scenarios.deployment.server import serve_in_folder
from psephos.scenarios.deployment.status import open_status
from psephos.scenarios.running.folder import RunFolder
from psephos.transports.addresses import parse_address
from psephos.transports.keys import read_certificate
from surveyed import (
    LOCAL_PLANS,
    QUIZ,
    SURVEY,
    TRUSTED_PLANS,
    TRUSTED_QUIZ,
    TRUSTED_SURVEY,
    Surveyed,
)

_CHANGES: Final = re.compile(r'"(timestamp|at|seconds)":\s*("[^"]*"|[-+.e0-9]+),?|\b[0-9a-f]{16,}\b|127\.0\.0\.1:\d+')
"""What is of the hour, of a session's id, or the system's choice."""
_LATE: Final = '"reasons":{"silent":'
"""In the line of a connection whose end was heard after its deadline, where a test has set the clock forward."""


DEADLINE: Final = 1000.0
CLOCK: Final = SettableClock()
"""The servers', which tests set forward."""


@pytest.fixture(autouse=True)
def clock_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no deadline pass but by a test's word, however slow the machine."""
    run = functools.partial(trio.run, clock=CLOCK)
    monkeypatch.setattr(server_module, "trio", types.SimpleNamespace(run=run))


@pytest.fixture(autouse=True)
def noise_that_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is drawn not depend on what it is drawn around; what is shown to a trusted server has no noise."""
    fixed = SimulatedNoise(1, session="fixed")

    def randomize(
        _noise: SecureNoise, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        if isinstance(mechanism, Disclosure):
            return list(values)
        around = [mechanism.value_range[0]] * len(values)
        return fixed.randomize(mechanism, around, protocol=protocol, phase=phase, place=place)

    monkeypatch.setattr(SecureNoise, "randomize", randomize)


class Held:
    """A session over TCP, served in a thread, with a page of its status; what it leaves is compared."""

    def __init__(self, folder: Path, scenario: str, *settings: str) -> None:
        self.folder, self.side = folder, resolve_served(load_scenario(scenario, settings))
        self.seen: dict[str, str] = {}
        self.address = ""
        self.session_id = draw_session_id()
        mode = make_mode(self.side.scenario.name, seed=None)
        self._serving = Serving(
            side=self.side,
            address="127.0.0.1:0",
            mode=mode,
            transport="tcp",
            descriptor=SessionDescriptor(self.session_id),
        )

    def serve_drawn(self, drawn: DrawnSession) -> None:
        """Let it be served over TLS, with a journal."""
        side = msgspec.structs.replace(self.side, fingerprints=drawn.roster.fingerprints, keys=drawn.roster.keys)
        peers = [read_certificate(each)[0] for each in drawn.certificates]
        self._serving = dataclasses.replace(
            self._serving,
            side=side,
            transport="tls",
            keys=TLSKeys(drawn.server, peers),
            descriptor=drawn.opening.descriptor,
            journal=self.folder / "server.sqlite",
        )

    @contextlib.contextmanager
    def serving(self) -> Generator[concurrent.futures.ThreadPoolExecutor]:
        listening = concurrent.futures.Future[str]()
        with open_status("0") as page, concurrent.futures.ThreadPoolExecutor() as pool:
            self._page = page.address
            out, beside = RunFolder(self.folder / "server"), (page.serve, self._watch)
            options: dict[str, Any] = {"pictures": False, "on_listening": listening.set_result, "beside": beside}
            ending = pool.submit(serve_in_folder, self._serving, out, **options)
            ending.add_done_callback(lambda _: listening.cancel())
            self.address = listening.result(PATIENCE)
            yield pool
            with contextlib.suppress(PsephosError):
                ending.result(PATIENCE)

    async def _watch(self, _tell: object) -> None:
        self._token = trio.lowlevel.current_trio_token()

    def pass_time(self) -> None:
        """Let the server's open phase close by its deadline."""
        self._token.run_sync_soon(CLOCK.set_forward, 2 * DEADLINE)

    def look(self) -> None:
        """Keep what the page shows; of the process itself nothing."""
        for path in ("/healthz", "/metrics"):
            connection = http.client.HTTPConnection(*parse_address(self._page), timeout=PATIENCE)
            connection.request("GET", path)
            lines = connection.getresponse().read().decode().splitlines()
            connection.close()
            told = [line for line in lines if not re.search(r"process_|deadline|until ", line)]
            self.seen[f"{path} {len(self.seen)}"] = "\n".join(told)

    def join(self, party: str, entries: Mapping[str, Any], *, trusts: bool) -> None:
        joining = Joining(
            address=self.address, party=party, entries=entries, seed=None, trusts_server=trusts, transport="tcp"
        )
        try:
            join_in_folder(joining, RunFolder(self.folder / f"as-{party}"))
        except PsephosError as error:
            self.seen[party] = type(error).__name__

    def left(self) -> dict[str, str]:
        return {**self.seen, **left_in(self.folder)}


ALONE: Final = (f"deadline_seconds={DEADLINE}", "quorum=1")
"""Settings of a session that one party holds."""


def held_by(system: Surveyed, folder: Path, *settings: str) -> Held:
    """Return a session of a system, in a new folder."""
    folder.mkdir()
    return Held(folder, system.write(folder), *settings)


def left_in(folder: Path) -> dict[str, str]:
    """Return what is in all files but journals and what the test has written, without what changes each time."""
    left: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.parent != folder and "sqlite" not in path.name:
            lines = [line for line in path.read_text(encoding="utf-8").splitlines() if _LATE not in line]
            left[str(path.relative_to(folder))] = "\n".join(sorted(_CHANGES.sub("", line) for line in lines))
    return left


def entries_of(system: Surveyed, party: str, folder: Path, content: str) -> Mapping[str, Any]:
    file = folder / f"{party}-own.csv"
    file.write_text(content, encoding="utf-8")
    return read_own_entries(file, party=party, roles=[system.role])


RANKINGS: Final = ("ranking\na > b > c\n", "ranking\nc > b > a\n", "ranking\nb > a > c\n")
ANSWERS: Final = ("task,label\nq1,yes\nq2,no\nq3,yes\n", "task,label\nq1,no\nq2,no\nq3,no\n")
RECORDS: Final = (
    "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,0,0,1\n2,1,4,1\n",
    "record,choice,lives,law\n1,0,5,0\n1,1,1,1\n2,1,0,1\n2,0,4,1\n",
)
SYSTEMS: Final = [
    pytest.param(LOCAL_PLANS, RANKINGS, id="rankings"),
    pytest.param(TRUSTED_PLANS, RANKINGS, id="rankings, central"),
    pytest.param(SURVEY, RECORDS, id="preferences"),
    pytest.param(TRUSTED_SURVEY, RECORDS, id="preferences, central"),
    pytest.param(QUIZ, ANSWERS, id="answers"),
    pytest.param(TRUSTED_QUIZ, ANSWERS, id="answers, central"),
]


@pytest.mark.parametrize(("system", "contents"), SYSTEMS)
def test_what_a_party_holds_shows_in_nothing_that_is_left(
    tmp_path: Path, system: Surveyed, contents: Sequence[str]
) -> None:
    left: list[dict[str, str]] = []
    for number, content in enumerate(contents):
        held = held_by(system, tmp_path / str(number))
        own = {party: entries_of(system, party, held.folder, text) for party, text in system.files.items()}
        own["ann"] = entries_of(system, "ann", held.folder, content)
        with held.serving() as pool:
            joining = [pool.submit(held.join, party, own[party], trusts=system.trusts) for party in system.names[1:]]
            held.join("ann", own["ann"], trusts=system.trusts)
            for each in joining:
                each.result(PATIENCE)
        left.append(held.left())
    assert "result.json" in " ".join(left[0])
    check_alike(left)


def check_alike(left: Sequence[Mapping[str, str]]) -> None:
    first, *others = left
    for other in others:
        assert list(other) == list(first)
        for name, text in first.items():
            assert other[name] == text, name


class Vote(Held):
    """The weighted vote of three partners, whose values the server's own copy of the scenario may have as well."""

    def __init__(self, folder: Path, *settings: str, entries: Mapping[str, Mapping[str, str]] = ENTRIES) -> None:
        folder.mkdir()
        rows = (f"{{partner = '{name}', {', '.join(map(' = '.join, own.items()))}}}" for name, own in entries.items())
        path = Path(write_vote(folder))
        text = path.read_text(encoding="utf-8").replace(
            'partners.file = "three.csv"', f"partners = [{', '.join(rows)}]"
        )
        path.write_text(text, encoding="utf-8")
        super().__init__(folder, str(path), *settings)


WRONG: Final = {
    "weight": ("7", "98765", "-3", "3.5"),
    "merger": ("2", "yes, please", "-1"),
}
WRONG_FILES: Final = [
    pytest.param(LOCAL_PLANS, [f"ranking\na > b > {other}\n" for other in ("dog", "elephant", "7")], id="rankings"),
    pytest.param(QUIZ, [f"task,label\nq1,yes\nq2,{other}\n" for other in ("maybe", "27", "YES!")], id="answers"),
]


@pytest.mark.parametrize(("system", "contents"), WRONG_FILES)
def test_an_entry_that_is_none_shows_in_nothing_that_is_left(
    tmp_path: Path, system: Surveyed, contents: Sequence[str]
) -> None:
    left: list[dict[str, str]] = []
    for number, content in enumerate(contents):
        held = held_by(system, tmp_path / str(number), *ALONE)
        entries = entries_of(system, "ann", held.folder, content)
        with held.serving():
            held.join("ann", entries, trusts=False)
            held.pass_time()
        left.append(held.left())
    assert left[0]["ann"] == "ConfigurationError"
    check_alike(left)


@pytest.mark.parametrize("column", WRONG)
def test_a_number_that_is_none_shows_in_nothing_that_is_left(tmp_path: Path, column: str) -> None:
    left: list[dict[str, str]] = []
    for value in WRONG[column]:
        held = Vote(tmp_path / value, *ALONE)
        with held.serving():
            held.join("ann", {**ENTRIES["ann"], column: value}, trusts=False)
            held.pass_time()
        left.append(held.left())
    assert left[0]["ann"] == "ConfigurationError"
    check_alike(left)


@pytest.mark.parametrize(
    ("system", "reports"),
    [
        pytest.param(LOCAL_PLANS, [[1 << 40], [(1 << 40) + 5], [77]], id="a number that none reports"),
        pytest.param(TRUSTED_PLANS, [[0, 0, 1], [2, 2, 1], [1, 1, 1]], id="a ranking that repeats"),
        pytest.param(TRUSTED_PLANS, [[3, 1, 2], [5, 0, 1], [99, 0, 7]], id="a ranking of others"),
        pytest.param(TRUSTED_SURVEY, [[1 << 62, 0], [1 << 61, 1], [1 << 60, 3]], id="preferences out of the ball"),
        pytest.param(TRUSTED_QUIZ, [[9, 0, 1], [77, 0, 0], [5, 5, 5]], id="answers that are none"),
    ],
)
def test_a_report_that_is_none_is_refused_without_its_numbers(
    tmp_path: Path, system: Surveyed, reports: Sequence[Sequence[int]]
) -> None:
    """Which of them is wrong is said."""
    left: list[dict[str, str]] = []
    for number, values in enumerate(reports):
        held = held_by(system, tmp_path / str(number), *ALONE)
        with held.serving(), Peer(held.address) as peer, Peer(held.address) as other:
            for party, connection in (("ann", peer), ("bob", other)):
                own = {"session": system.name, "protocol": system.protocol, "session_id": held.session_id}
                connection.hello(party, kind="deployment", **own)
                connection.receive()  # its welcome
            held.pass_time()
            assert peer.next_request().step == 0
            peer.send(report(0, *values))
            held.seen["told"] = repr(peer.last_message())
            held.look()
            held.pass_time()
        left.append(held.left())
    check_alike(left)


def of_journal(path: Path) -> str:
    """Return what a journal says of itself, and what it holds but for its contents."""
    about, rows, _ = read_journal(path, kind=("person", "host", "session"))
    return f"{_CHANGES.sub('', repr(about))}, {sorted((row.kind, str(row.key), len(row.body)) for row in rows)}"


HOSTED: Final[Mapping[str, Sequence[Mapping[str, str]]]] = {
    "weights": [{"weight": own} for own in "123"],
    "opinions": [{"merger": own} for own in "01"],
    "what is no weight": [{"weight": own} for own in WRONG["weight"]],
    "what is no opinion": [{"merger": own} for own in WRONG["merger"]],
}


@pytest.mark.parametrize("changed", HOSTED)
def test_what_a_host_s_parties_hold_shows_in_nothing_that_is_left(tmp_path: Path, changed: str) -> None:
    enroll("org", tmp_path / "keys" / "org", parties=[*ENTRIES])
    left: list[dict[str, str]] = []
    for number, own in enumerate(HOSTED[changed]):
        entries = {name: {**each, **own} for name, each in ENTRIES.items()}
        known = ENTRIES if changed.startswith("what is no") else entries
        held = Vote(tmp_path / str(number), f"deadline_seconds={DEADLINE}", entries=known)
        left.append(hosted(entries, held, tmp_path / "keys"))
    assert ("'…'" in left[0]["host/parties.csv"]) == changed.startswith("what is no")
    check_alike(left)


def draw_up(held: Held, keys: Path) -> DrawnSession:
    """Draw a deployment up of those who have enrolled, to be served over TLS with a journal."""
    side = held.side
    known, kind = read_enrollments(keys), SessionKind.DEPLOYMENT
    drawn = draw_session(side.protocol, side.roster, session=side.scenario.name, kind=kind, enrolled=known)
    held.serve_drawn(drawn)
    return drawn


@pytest.mark.parametrize("column", ["weight", "merger"])
def test_what_a_party_puts_under_a_mask_shows_in_nothing_that_is_left(tmp_path: Path, column: str) -> None:
    for name in ENTRIES:
        enroll(name, tmp_path / "keys" / name)
    left: list[dict[str, str]] = []
    for number, value in enumerate({"weight": "132", "merger": "01"}[column]):
        entries = {name: {**own, column: value} if name == "bob" else own for name, own in ENTRIES.items()}
        settings = (f"deadline_seconds={DEADLINE}", "trust=distributed", "threshold=2", "colluders=0")
        held = Vote(tmp_path / str(number), *settings, entries=entries)
        drawn = draw_up(held, tmp_path / "keys")
        with held.serving() as pool:
            joining = [
                pool.submit(join_masked, held, each, entries[each.party], tmp_path / "keys" / each.party)
                for each in drawn.invitations
            ]
            for each in concurrent.futures.as_completed(joining, timeout=PATIENCE):
                each.result()
        left.append({**held.left(), **{name: of_journal(held.folder / f"{name}.sqlite") for name in ENTRIES}})
    assert "server/result.json" in left[0]
    check_alike(left)


def join_masked(held: Held, invitation: Invitation, entries: Mapping[str, str], key: Path) -> None:
    party, folder = invitation.party, held.folder
    with PersonJournal.open(folder / f"{party}.sqlite", now=time.time(), clock=time.time) as journal:
        joining = Joining(
            address=held.address,
            party=party,
            entries=entries,
            seed=None,
            invitation=invitation,
            keys=invitation.find_keys([key]),
            journal=journal,
        )
        join_in_folder(joining, RunFolder(folder / f"as-{party}"))


def hosted(entries: Mapping[str, Mapping[str, str]], held: Held, keys: Path) -> dict[str, str]:
    """Hold a deployment of a host's parties, with journals, and return what it leaves."""
    folder, drawn = held.folder, draw_up(held, keys)
    with (
        held.serving(),
        HostJournal.open(folder / "host.sqlite", now=time.time(), clock=time.time) as journal,
    ):
        parties = [
            Joining(
                address=held.address,
                party=each.party,
                entries=entries[each.party],
                seed=None,
                invitation=each,
                keys=each.find_keys([keys / "org"]),
                journal=journal.person_journal(each.party),
            )
            for each in drawn.invitations
        ]
        try:
            host_in_folder(parties, RunFolder(folder / "host"), journal=journal)
        except ConfigurationError:  # nobody was let out with what is none
            held.pass_time()
    journals = {file: of_journal(folder / file) for file in ("host.sqlite", "server.sqlite")}
    return {**held.left(), **journals}


def test_each_word_of_a_server_is_one_that_its_key_alone_can_give(tmp_path: Path) -> None:
    """By it the server finds its own older copy: none is empty, and no two are alike, in one session or in another."""
    enroll("org", tmp_path / "keys" / "org", parties=[*ENTRIES])
    receipts: list[bytes] = []
    for number in range(2):
        held = Vote(tmp_path / str(number), f"deadline_seconds={DEADLINE}")
        hosted(ENTRIES, held, tmp_path / "keys")
        _, sessions = read_sessions(held.folder / "host.sqlite", kind="host")
        records = [record for session in sessions.values() for record in session.records]
        receipts += [record.receipt for record in records if isinstance(record, Acknowledged)]
    assert len({*receipts}) == len(receipts) == 2 * 2 * len(ENTRIES)
    assert min(map(len, receipts)) >= 16
