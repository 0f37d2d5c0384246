"""A vote over TLS whose server and parties are processes that end and come back, and what must hold when it is over."""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import numpy as np
from deployments import AHEAD, ENTRIES, Ending, Process, write_vote
from psephos.agents.journal_format import SESSION, read_journal
from psephos.agents.person_journal import SessionRecords, read_sessions
from psephos.protocol.messages import Report, decode
from psephos.protocol.population import tally_batch
from psephos.protocol.records import Accepted, Drawn, PhaseClosed, PhaseOpened, ServerRecord
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.deployment import enroll, find_invitation
from psephos.scenarios.deployment.journals import journal_file
from psephos.scenarios.deployment.server import JOURNAL_FILE
from psephos.scenarios.verdicts import outcome_to_dict
from relays import Relay
from runs import read_json, read_lines

PHASES: Final = ("weights", "opinions")
DURABLE_STEPS: Final = ("reserved", "drawn", "acknowledged", "drawn", "acknowledged", "sessionended")
"""Of a party in a vote: what its journal holds in the end."""
Dying = tuple[str, int]
"""When a process is killed, before or after, and at which of its durable steps."""
_DYING: Final = Path(__file__).with_name("dying.py")
_LYING: Final = Path(__file__).with_name("lying_party.py")
_of_server: msgspec.msgpack.Decoder[ServerRecord] = msgspec.msgpack.Decoder(ServerRecord)


def partners(number: int) -> dict[str, dict[str, str]]:
    return {f"p{place:02}": {"weight": str(1 + place % 3), "merger": str(place % 2)} for place in range(number)}


def check_ended(ending: Ending, words: str, *, status: int) -> None:
    """Check that a process ended with this line, whatever connections it lost before, and where no page had room."""
    lines = ending.err.splitlines()
    assert (ending.status, ending.out.count("Traceback")) == (status, 0), ending
    before = ("trying again: ", "warning: ", "psephos: no report.html: ")
    assert all(line.startswith(before) for line in lines[:-1]), ending
    assert lines[-1].startswith("psephos: ")
    assert words in lines[-1]


class Vote:
    """A vote that is drawn up, and its processes; whatever runs ends when the block is left.

    Args:
        folder: where everything is.
        settings: of the scenario, for the server.
        entries: each partner's own.
        lines: more of the scenario.
        name: of the session's folder, to tell votes of one folder apart.
        host: of partners, who enrolls for them; empty for keys of their own.
        hosted: the file of its partners, by default of all; others have enrolled in `folder`.
        is_enrolled: whether each partner has made its own keys, as a masked vote needs them; then the roster is drawn
            up with `settings`, too.
        prefix: the words of a command that runs every process somewhere else.

    Attributes:
        roster: the folder that `psephos roster` wrote.
        address: where the server is, whenever it is there.
    """

    def __init__(
        self,
        folder: Path,
        *settings: str,
        entries: Mapping[str, Mapping[str, str]] = ENTRIES,
        lines: str = "",
        name: str = "drawn",
        host: str = "",
        hosted: str = "three.csv",
        is_enrolled: bool = False,
        prefix: Sequence[str] = (),
    ) -> None:
        self._is_enrolled = is_enrolled
        self.roster = folder / name
        self.entries = entries
        self._folder = folder
        self._settings = [word for setting in settings for word in ("--set", setting)]
        self._prefix = prefix
        self._stack = contextlib.ExitStack()
        self._last_folders: dict[str, Path] = {}
        self._num_started = 0
        self._scenario = write_vote(folder, lines=lines, entries=entries)
        # Bound, and never listening: whoever asks for any port is given another one, and the server may have this one.
        self._seat = self._stack.enter_context(socket.socket())
        self._seat.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._seat.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._seat.getsockname()[1]}"
        keys: Sequence[object] = ("--make-keys",)
        if host:
            ended = self.start("enroll", host, "--parties", hosted, "--out", folder / host).ending()
            assert ended.status == 0, ended.err
            keys = ("--enrolled", folder)
        if is_enrolled:
            for party in entries:
                enroll(party, folder / "keys" / party)
            keys = ("--enrolled", folder / "keys", *self._settings)
        how = (*keys, "--address", self.address, "--out", self.roster)
        ended = self.start("roster", self._scenario, *how).ending()
        assert ended.status == 0, ended.err

    def start(
        self,
        *words: object,
        dying: Dying | None = None,
        lying: str = "",
        ahead: float | None = None,
        ulimit: str = "",
        prefix: Sequence[str] = (),
    ) -> Process:
        """Start a process, which dies at a step, lies, or has a clock that SIGCONT sets forward by so many seconds."""
        program: Sequence[object] = ("-m", "psephos.scenarios.cli")
        if lying:
            program = (_LYING, lying, *(dying or ()))
        elif dying is not None:
            program = (_DYING, *dying)
        elif ahead is not None:
            program = (AHEAD, ahead)
        options: dict[str, Any] = {"ulimit": ulimit, "program": program, "prefix": (*self._prefix, *prefix)}
        return self._stack.enter_context(Process(*words, folder=self._folder, is_measured=False, **options))

    def serve(
        self, *words: object, dying: Dying | None = None, ahead: float | None = None, ulimit: str = ""
    ) -> Process:
        """Start the server, again or for the first time."""
        how = ("--roster", self.roster, *self._settings, "--no-pictures")
        own = (*how, *words, *self._out("server"))
        return self.start("serve", self._scenario, *own, dying=dying, ahead=ahead, ulimit=ulimit)

    def join(
        self,
        party: str,
        *words: object,
        relay: Relay | None = None,
        dying: Dying | None = None,
        lying: str = "",
        ahead: float | None = None,
        ulimit: str = "",
        prefix: Sequence[str] = (),
    ) -> Process:
        """Let a party take part, again or for the first time; as a liar in a way of `lying_party.py`."""
        where: Sequence[object] = () if relay is None else ("--address", relay.address)
        if self._is_enrolled:
            where = (*where, "--key", self._folder / "keys" / party)
        own = (self.roster / "invitations", "--as", party, "--input", f"{party}.csv", *where, *words)
        own = (*own, *self._out(party))
        return self.start("join", *own, dying=dying, lying=lying, ahead=ahead, ulimit=ulimit, prefix=prefix)

    def _out(self, name: str) -> tuple[str, Path]:
        self._num_started += 1
        self._last_folders[name] = self._folder / f"{self.roster.name}-{name}-{self._num_started}"
        return "--out", self._last_folders[name]

    def attend(self, process: Process, server: Process) -> Process:
        """Wait until a process ends, and return the server.

        A released session waits for half a minute for who was killed, and a machine may have more to do than that: a
        server that has gone begins again.
        """
        while process.is_running:
            if not server.is_running:
                server = self.serve()
            threading.Event().wait(0.1)
        return server

    # What journals hold

    def server_records(self) -> list[ServerRecord]:
        """Return what the server's journal holds, also while it is open; nothing before it is there."""
        path = self.roster / JOURNAL_FILE
        return [_of_server.decode(row.body) for row in read_journal(path, kind=SESSION).rows] if path.exists() else []

    def accepted(self, phase: int) -> dict[str, bytes]:
        """Return the reports of a phase that the server's journal holds."""
        names = list(self.entries)
        records = self.server_records()
        return {names[each.place]: each.report for each in records if isinstance(each, Accepted) and each.step == phase}

    def accepted_of(self, party: str) -> list[bytes]:
        """Return the reports of a party that the server's journal holds."""
        return [reports[party] for phase in range(len(PHASES)) if party in (reports := self.accepted(phase))]

    def journal_of(self, party: str) -> Path:
        return journal_file(Path(os.environ["PSEPHOS_JOURNAL"]), party=party)

    def records_of(self, party: str) -> SessionRecords:
        """Return what a person's journal holds of this session."""
        session_id = find_invitation(self.roster / "invitations", party=party).session_id
        _, sessions = read_sessions(self.journal_of(party))
        return sessions.get(session_id) or SessionRecords(session_id)

    # What must hold

    def check(self, clients: Mapping[str, Process], server: Process, *, absent: Sequence[str] = ()) -> None:
        """Wait until the last processes of all end, and check that nothing was lost, counted twice or drawn again.

        Args:
            clients: the last process of each party.
            server: its last one.
            absent: the parties of whom a phase has no report.
        """
        endings = {party: client.ending() for party, client in clients.items()}
        endings["server"] = server.ending()
        for name, ended in endings.items():
            assert ended.status == 0, (name, endings)
            assert all(line.startswith("trying again: ") for line in ended.err.splitlines()), (name, endings)
        self.check_files(absent=absent)

    def last_folder(self, name: str) -> Path:
        """Return where the last process of a party, or of the server, left its files."""
        return self._last_folders[name]

    def run_of(self, name: str) -> dict[str, Any]:
        """Return how the last process of a party, or of the server, says that it ran."""
        return read_json(self._last_folders[name] / "run.json")

    def events_of(self, name: str) -> list[dict[str, Any]]:
        """Return the events of the last process of a party, or of the server."""
        return read_lines(self._last_folders[name] / "events.jsonl")

    def check_files(self, *, absent: Sequence[str] = ()) -> None:
        """Check what is left when all has ended."""
        result = read_json(self._last_folders["server"] / "result.json")
        present = [party for party in self.entries if party not in absent]
        assert result["received"] == dict.fromkeys(PHASES, len(present))
        assert result["outcome"] == self.outcome_by_arrays()
        digests = {self.run_of(name)["transcript"] for name in ("server", *present)}
        assert len(digests) == 1
        for party in present:
            assert read_json(self._last_folders[party] / "outcome.json") == result["outcome"]
            self.check_person(party, num_phases=len(PHASES))

    def check_person(self, party: str, *, num_phases: int) -> None:
        """Check that the reports of a person that count are those that were drawn, one each, with one loss each."""
        session = self.records_of(party)
        drawn = [record for record in session.records if isinstance(record, Drawn)]
        assert session.num_drawn == len(drawn) == session.num_acknowledged == num_phases
        for phase in range(num_phases):
            (record,) = [each for each in drawn if each.step == phase]
            report = decode(record.report)
            assert isinstance(report, Report)
            assert bytes(report.payload) == self.accepted(phase)[party]
        assert [(entry.person, entry.phase, entry.proven) for entry in session.entries] == [
            (party, phase, 0.5) for phase in PHASES[:num_phases]
        ]

    def outcome_by_arrays(self) -> Any:
        """Return the outcome of the accepted reports that the server's journal holds, computed without its machine."""
        side = resolve_served(load_scenario(self._scenario, ()))
        protocol = side.protocol
        records = self.server_records()
        tallies: list[Any] = []
        earlier: list[Any] = []
        for number, phase in enumerate(protocol.phases):
            (opened,) = [each for each in records if isinstance(each, PhaseOpened) and each.step == number]
            (closed,) = [each for each in records if isinstance(each, PhaseClosed) and each.step == number]
            accepted = {
                each.place: each.report for each in records if isinstance(each, Accepted) and each.step == number
            }
            assert set(closed.places) == set(accepted) <= set(opened.places)
            reports = np.zeros((len(side.names), phase.num_reported), dtype=np.int64)
            for place, report in accepted.items():
                reports[place] = msgspec.msgpack.decode(report, type=list[int])
            rows = np.array(sorted(accepted), dtype=np.int64)
            tallies.append(tally_batch(phase, reports, earlier, side.roster.public, rows))
            earlier.append(reports)
        return json.loads(msgspec.json.encode(outcome_to_dict(protocol.outcome(tallies))))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
