"""A rehearsal: a session's server and all its parties as processes on this machine, with the scenario's values.

Only the commands that are shown are run. On several machines, the same commands run the session there.
"""

import contextlib
import dataclasses
import functools
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import trio

from ...agents.noise import check_secure_noise
from ...protocol.errors import refuse, require
from ...transports.own_files import write_private
from ..running.config import Scenario
from ..running.parties import read_parties
from ..running.processes import num_cores
from ..running.resolution import Local, resolve, resolve_served
from .agreement import check_trust
from .invitations import INVITATIONS, stems_of
from .own_entries import write_own_file

__all__ = [
    "MOST_PARTIES",
    "Command",
    "PartyCommand",
    "ProcessEnd",
    "RehearsalPlan",
    "RehearsalResult",
    "check_rehearsed",
    "make_plan",
    "most_parties",
    "num_told",
    "rehearse",
    "reserve_address",
    "values_of",
    "write_values",
]

MOST_PARTIES: Final = 200
"""Each party is a process; this many take minutes, and some 13 GB of memory."""
_BYTES_OF_PARTY: Final = 64 << 20
"""Unshared memory of a party's process (measured: 58 to 61 MB, by Linux's smaps_rollup)."""
_SHARE_OF_MEMORY: Final = 0.75
"""Fraction of the machine's memory for the parties."""
_STARTING_ON_EACH_CORE: Final = 2
"""Processes that start at once on each core, which they use fully; connected parties only wait."""
_SECONDS_TO_END: Final = 10.0
"""Time for a process to end after a signal; a server first notifies all parties."""
_SECONDS_AFTER_SERVER: Final = 30.0
"""Time for parties to end after their server."""
_LISTENING: Final = b"listening on "
_VOTE, _VALUES, _SERVER, _PARTIES, _JOURNALS = "vote", "values", "server", "parties", "journals"
_WITNESS: Final = "witness"
"""Folder of the rollback guards of a rehearsal's journals, so that none remain in the user's folders."""

_ENDED_BY_SIGNAL: Final = 128
"""A shell's convention: 128 plus the signal's number."""
Command: TypeAlias = tuple[str, ...]
"""The arguments after `psephos` in a command line."""
_Tell: TypeAlias = Callable[[bytes], None]


def _ignore(line: bytes) -> None:
    del line


@dataclasses.dataclass(frozen=True, kw_only=True)
class PartyCommand:
    """One party's command and files.

    Args:
        folder: the folder for the results of `join`.
        command: the party's `join` command.
    """

    party: str
    values: Path
    folder: Path
    command: Command


@dataclasses.dataclass(frozen=True, kw_only=True)
class RehearsalPlan:
    """The commands of a rehearsal, and the folders that they read and write.

    Args:
        roster: the command that draws up the session.
        serve: the server's command.
        parts: the parties' commands, in roster order.
    """

    folder: Path
    roster: Command
    serve: Command
    parts: Sequence[PartyCommand]

    @property
    def commands(self) -> list[str]:
        """All commands in order, as they can be typed."""
        return [
            shlex.join(("psephos", *command))
            for command in (self.roster, self.serve, *(part.command for part in self.parts))
        ]

    @property
    def server(self) -> Path:
        """The folder for the server's results."""
        return self.folder / _SERVER


@dataclasses.dataclass(frozen=True)
class ProcessEnd:
    """How a process ended.

    Args:
        status: the exit status; for a process ended by a signal, 128 plus the signal's number.
        said: its last line on standard error; empty if there is none.
    """

    status: int
    said: str = ""


@dataclasses.dataclass(frozen=True)
class RehearsalResult:
    """How a rehearsal ended.

    Args:
        server: the end of the server, or of `psephos roster` if that failed.
        parties: the ends of the parties that were started, by name.
    """

    server: ProcessEnd
    parties: Mapping[str, ProcessEnd] = dataclasses.field(default_factory=dict[str, ProcessEnd])


def most_parties() -> int:
    """Return the number of parties for which the memory suffices, at most `MOST_PARTIES`."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(MOST_PARTIES, int(_SHARE_OF_MEMORY * memory / _BYTES_OF_PARTY)))


def check_rehearsed(scenario: Scenario, *, trusts_server: bool, seed: int | None = None) -> Local:
    """Resolve a scenario for a rehearsal, and check the parties' values as a run does.

    Args:
        scenario: the scenario; all of its parties are honest.
        seed: the seed of a simulation; None for a deployment.

    Raises:
        ConfigurationError: a value is not allowed, a private column is missing, there are too many parties, the session
            is masked, the server must be trusted and is not, or the package for secure noise is not installed.
    """
    served_scenario = resolve_served(scenario)
    allowed = "another in a rehearsal, which makes everybody's keys: a masked session's parties make their own (enroll)"
    refuse(served_scenario.protocol.masked_phase is not None, "trust", served_scenario.protocol.model.value, allowed)
    check_trust(served_scenario.protocol, trusts_server=trusts_server)
    if seed is None:
        check_secure_noise(served_scenario.protocol)
    number, role, max_processes = len(served_scenario.names), served_scenario.protocol.client_role, most_parties()
    reason = "each is a process, and all of them wait for each other"
    of_memory = f", as many as this machine has memory for at {_BYTES_OF_PARTY >> 20} MB each"
    room = "" if max_processes == MOST_PARTIES else of_memory
    allowed = (
        f"at most {max_processes}{room}: {reason}. Rehearse with fewer, or use `psephos run`, which has no such limit"
    )
    require(number <= max_processes, f"{role}s of a rehearsal", number, allowed)
    return resolve(msgspec.structs.replace(scenario, transport="memory", adversary=[], seed=None))


def make_plan(
    setup: Local,
    folder: Path,
    *,
    address: str,
    scenario: Sequence[str],
    seed: int | None = None,
    trusts_server: bool = False,
    serve: Sequence[str] = (),
) -> RehearsalPlan:
    """Return the commands of a rehearsal.

    Args:
        folder: the folder for all files that they read and write.
        address: the address that the server listens on.
        scenario: the arguments that name the scenario for `roster` and `serve`: its name and settings.
        seed: the seed of a simulation; None for a deployment.
        serve: further arguments of `serve`.
    """
    own_scenario = setup.scenario
    simulated = () if seed is None else ("--simulate", "--seed", str(seed))
    join_options = [*(["--trust-server"] if trusts_server else []), *simulated]
    if (
        own_scenario.budget is not None and not own_scenario.budget_delta
    ):  # a party's budget is pure ε; the budget at δ has been checked
        join_options += ["--budget", repr(own_scenario.budget)]
    if seed is not None and own_scenario.round:
        join_options += ["--round", str(own_scenario.round)]
    vote = folder / _VOTE
    parts: list[PartyCommand] = []
    choices = _choices_of(setup)
    for stem, party, party_choices in zip(stems_of(setup.names), setup.names, choices, strict=True):
        values, out = folder / _VALUES / f"{stem}.csv", folder / _PARTIES / stem
        invitation = str(vote / INVITATIONS / f"{stem}.json")
        # Here one user plays many persons, each with a journal.
        journal_options = () if simulated else ("--journal", str(folder / _JOURNALS / f"{stem}.sqlite"))
        command = (
            "join",
            invitation,
            "--input",
            str(values),
            *party_choices,
            "--out",
            str(out),
            *journal_options,
            *join_options,
        )
        parts.append(PartyCommand(party=party, values=values, folder=out, command=command))
    roster_options = ("--make-keys", "--address", address, "--out", str(vote))
    serve_options = ("--roster", str(vote), "--out", str(folder / _SERVER))
    return RehearsalPlan(
        folder=folder,
        roster=("roster", *scenario, *roster_options, *simulated[:1]),
        serve=("serve", *scenario, *serve_options, *simulated, *serve),
        parts=parts,
    )


def values_of(setup: Local) -> list[bytes]:
    """Return the content of each party's file of values, in roster order.

    Raises:
        ConfigurationError: as `write_own_file`.
    """
    return [write_own_file(setup.protocol, entries) for entries in _entries_of(setup)]


def _entries_of(setup: Local) -> list[dict[str, Any]]:
    """Return each party's entries by column, in roster order."""
    scenario, protocol = setup.scenario, setup.protocol
    parties = read_parties(
        scenario.parties, parameters=scenario.parameters, protocol=type(protocol), data=scenario.data
    )
    table_columns = [column.name for column in protocol.columns() if column.name in parties.table]
    return [{name: parties.table[name][place] for name in table_columns} for place in range(len(parties.names))]


def _choices_of(setup: Local) -> list[list[str]]:
    """Return each party's arguments of `join` for its choices, in roster order."""
    names = [column.name for column in setup.protocol.columns() if column.chosen]
    if not names:
        return [[] for _ in setup.names]
    return [[word for name in names for word in ("--set", f"{name}={entries[name]}")] for entries in _entries_of(setup)]


def write_values(plan: RehearsalPlan, values: Sequence[bytes]) -> None:
    """Write each party's values into a separate file."""
    (plan.folder / _VALUES).mkdir(mode=0o700)
    for part, content in zip(plan.parts, values, strict=True):
        write_private(part.values, content)


@contextlib.contextmanager
def reserve_address() -> Generator[str]:
    """Yield a reserved address on this machine, whose port is bound but does not listen."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # lets the server listen there, on Linux
        reserved.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{reserved.getsockname()[1]}"
        if sys.platform != "linux":
            reserved.close()
        yield address


async def rehearse(
    plan: RehearsalPlan,
    *,
    show: _Tell,
    show_error: _Tell,
    on_failure: Callable[[str, ProcessEnd], None],
) -> RehearsalResult:
    """Run the commands of a rehearsal, and end all processes in any case.

    Args:
        show: called with each line of the server, or of `psephos roster` if that fails.
        show_error: called with each line on standard error.
        on_failure: called at once when a party fails.

    Returns:
        How the processes ended. Parties are ended soon after the server; a cancellation ends all.
    """
    run = functools.partial(_run, environment={"PSEPHOS_WITNESS": str(plan.folder / _WITNESS), **os.environ})
    roster_lines = await run(plan.roster, on_error=show_error)
    if roster_lines.status:
        return RehearsalResult(roster_lines)
    process_ends: dict[str, ProcessEnd] = {}
    start_limit = trio.Semaphore(_STARTING_ON_EACH_CORE * num_cores())
    is_listening = trio.Event()

    async def take_part(part: PartyCommand) -> None:
        await start_limit.acquire()
        has_connected = trio.Event()

        def on_line(line: bytes) -> None:
            # the party has printed the terms that it agrees to, and now waits
            if line.strip() and not has_connected.is_set():
                has_connected.set()
                start_limit.release()

        process_ends[part.party] = await run(part.command, on_line=on_line)
        if not has_connected.is_set():
            start_limit.release()
        if process_ends[part.party].status:
            on_failure(part.party, process_ends[part.party])

    def on_server(line: bytes, *, tell: _Tell) -> None:
        if line.startswith(_LISTENING):
            is_listening.set()
        tell(line)

    async def take_part_once_there_is_a_server(nursery: trio.Nursery) -> None:
        await is_listening.wait()
        for part in plan.parts:
            nursery.start_soon(take_part, part)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take_part_once_there_is_a_server, nursery)
        on_line, on_error = (functools.partial(on_server, tell=tell) for tell in (show, show_error))
        server = await run(plan.serve, on_line=on_line, on_error=on_error)
        nursery.cancel_scope.deadline = trio.current_time() + (_SECONDS_AFTER_SERVER if is_listening.is_set() else 0)
    if is_listening.is_set():
        for party in [part.party for part in plan.parts if part.party not in process_ends]:
            process_ends[party] = ProcessEnd(
                _ENDED_BY_SIGNAL + signal.SIGTERM, "was ended: its server had ended long before"
            )
            on_failure(party, process_ends[party])
    return RehearsalResult(server, process_ends)


def num_told(plan: RehearsalPlan) -> int:
    """Return how many parties received the release: those with the server's public transcript."""
    release = _transcript_in(plan.server)
    return 0 if release is None else sum(_transcript_in(part.folder) == release for part in plan.parts)


def _transcript_in(folder: Path) -> str | None:
    try:
        return msgspec.json.decode((folder / "run.json").read_bytes(), type=dict[str, Any]).get("transcript")
    except FileNotFoundError:
        return None


async def _run(
    command: Command, *, environment: Mapping[str, str], on_line: _Tell = _ignore, on_error: _Tell = _ignore
) -> ProcessEnd:
    """Run a `psephos` command to its end, in a process that Ctrl-C does not reach directly."""
    last = b""

    def keep(line: bytes) -> None:
        nonlocal last
        last = line.strip() or last
        on_error(line)

    words = [sys.executable, "-m", "psephos.scenarios.cli", *command]
    pipe = subprocess.PIPE
    options: dict[str, Any] = {"stdout": pipe, "stderr": pipe, "start_new_session": True, "check": False}
    options |= {"deliver_cancel": _end, "env": environment}
    status = 0
    try:
        async with trio.open_nursery() as nursery:
            process: trio.Process = await nursery.start(functools.partial(trio.run_process, words, **options))
            assert process.stdout is not None  # noqa: S101  a pipe was asked for
            assert process.stderr is not None  # noqa: S101  likewise
            nursery.start_soon(_read_lines, process.stdout, on_line)
            nursery.start_soon(_read_lines, process.stderr, keep)
        status = process.returncode or 0
    except* OSError as group:  # the system cannot start another process
        keep(f"psephos: cannot start a process: {group.exceptions[0]}".encode())
        status = 1
    return ProcessEnd(status if status >= 0 else _ENDED_BY_SIGNAL - status, last.decode(errors="replace"))


async def _end(process: trio.Process) -> None:
    """Terminate a process; kill it if it does not end."""
    process.terminate()
    with trio.move_on_after(_SECONDS_TO_END):
        await process.wait()
        return
    process.kill()


async def _read_lines(stream: trio.abc.ReceiveStream, tell: _Tell) -> None:
    unread = b""
    async for data in stream:
        *lines, unread = (unread + bytes(data)).split(b"\n")
        for line in lines:
            tell(line)
    if unread:
        tell(unread)
