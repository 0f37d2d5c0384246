"""Sessions on real sockets: a server in a thread, parties in threads, by hand or by the command line, and processes.

Whoever waits here waits for a socket, a line or an ending, never for a time; what goes wrong ends by `PATIENCE`.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import os
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self, cast

import msgspec
import pytest
import trio
from openssl_calls import ask_for_new_keys
from psephos.agents.driver import Observers
from psephos.agents.events import Log
from psephos.agents.session_status import SessionStatus
from psephos.protocol import SessionKind, SessionResult
from psephos.protocol.effects import Effect
from psephos.protocol.errors import PsephosError
from psephos.protocol.messages import (
    NO_DESCRIPTOR,
    PROTOCOL_VERSION,
    Abort,
    Hello,
    Message,
    Release,
    Report,
    Request,
    decode,
    encode,
)
from psephos.protocol.privacy import Ledger
from psephos.scenarios import ServerRun, deployment, load_scenario, resolve_served
from psephos.scenarios.deployment import (
    Invitation,
    Joining,
    TLSKeys,
    draw_session,
    join,
    join_in_folder,
    serve,
)
from psephos.scenarios.deployment.client import JoinResult
from psephos.scenarios.deployment.common import make_mode
from psephos.scenarios.deployment.invitations import read_server_session
from psephos.scenarios.deployment.own_entries import read_own_entries
from psephos.scenarios.running.folder import RunFolder, read_ledger
from psephos.transports.addresses import parse_address
from psephos.transports.framing import FrameDecoder, encode_frames

PATIENCE: Final = 240.0
"""Seconds after which something has gone wrong, on however slow a machine: no test passes by waiting for so long."""
_MEASURES: Final = "COVERAGE_PROCESS_CONFIG"
"""By this variable coverage tells a new process that it is to be measured."""
AHEAD: Final = Path(__file__).with_name("ahead.py")
"""A program with the command line in it, whose clock SIGCONT sets forward by its first argument's seconds."""
SEED: Final = 7
NOBODY_LISTENS: Final = "127.0.0.1:1"
ENTRIES: Final[Mapping[str, Mapping[str, str]]] = {
    "ann": {"weight": "1", "merger": "1"},
    "bob": {"weight": "3", "merger": "0"},
    "cid": {"weight": "2", "merger": "1"},
}
WARNED: Final = (
    "warning: 3 partners at ε = 1 may stay undecided even if all agree. For margins of 10 % (60 : 40) and more take "
    "ε = 18.8 (signed_rr), or let someone trusted count (ε = 17.7).\n"
)
"""What everybody is told before the vote that `write_vote` writes, by itself without a seed."""


def write_vote(folder: Path, *, lines: str = "", entries: Mapping[str, Mapping[str, str]] = ENTRIES) -> str:
    """Write a vote, of three partners by default, `vote.toml` with `three.csv`, and return the scenario's path.

    Args:
        folder: where.
        lines: more of the scenario, before its tables.
        entries: each partner's own, by column.
    """
    table = "partner,weight,merger\n"
    for name, own in entries.items():
        line = f"{name},{','.join(own.values())}\n"
        table += line
        (folder / f"{name}.csv").write_text(f"partner,{','.join(own)}\n{line}", encoding="utf-8")
    (folder / "three.csv").write_text(table, encoding="utf-8")
    path = folder / "vote.toml"
    parameters = '[parameters]\ncandidates = ["merger"]\nepsilon = 1.0\n'
    path.write_text(f'protocol = "dpwevote"\npartners.file = "three.csv"\n{lines}\n{parameters}', encoding="utf-8")
    return str(path)


def report(phase: int, *values: int) -> Report:
    return Report(phase, msgspec.Raw(msgspec.msgpack.encode(values)))


def _client_context(keys: TLSKeys) -> ssl.SSLContext:
    """Return the standard library's TLS with these keys."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=b"".join(keys.peers))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "key.pem"
        file.write_text(keys.identity.read_text() if isinstance(keys.identity, Path) else keys.identity.text)
        context.load_cert_chain(file)
    return context


class Peer:
    """A connection that is played by hand.

    Args:
        address: of whom it connects to.
        keys: for TLS.
    """

    def __init__(self, address: str, *, keys: TLSKeys | None = None) -> None:
        self._socket = socket.create_connection(parse_address(address), timeout=PATIENCE)
        if keys is not None:
            self._socket = _client_context(keys).wrap_socket(self._socket)
        self._decoder = FrameDecoder()
        self._received: list[bytes] = []

    def send(self, *messages: Message) -> None:
        self.send_bytes(encode_frames([encode(message) for message in messages]))

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ask_for_new_keys(self, number: int) -> None:
        """Change the keys of TLS so many times, and ask for the other side's each time."""
        assert isinstance(self._socket, ssl.SSLSocket)
        ask_for_new_keys(self._socket, number)

    def hello(self, party: str, **fields: Any) -> None:
        """Send the Hello of a partner of `write_vote`'s simulation, or one that differs in some fields."""
        own = make_mode(fields.get("session", "vote"), seed=SEED).descriptor.id
        usual = Hello(PROTOCOL_VERSION, "vote", "dpwevote", "simulation", party, own)
        self.send(msgspec.structs.replace(usual, **fields))

    def receive(self) -> Message:
        """Return the next message.

        Raises:
            EOFError: there is none.
        """
        while not self._received:
            data = self._socket.recv(1 << 16)
            if not data:
                raise EOFError
            self._received += self._decoder.feed(data)
        return decode(self._received.pop(0))

    def next_request(self) -> Request:
        """Return the next request, whatever comes before it."""
        while True:
            message = self.receive()
            if isinstance(message, Request):
                return message
            assert not isinstance(message, Abort), message.reason

    def hear_release(self) -> None:
        """Read up to the release, and hang up as a client does."""
        while not isinstance(message := self.receive(), Release):
            assert not isinstance(message, Abort), message.reason
        self.close()

    def last_message(self) -> Message | None:
        """Return the last message before the other side hangs up; None if there is none."""
        last: Message | None = None
        with contextlib.suppress(EOFError, ConnectionResetError):
            while True:
                last = self.receive()
        return last

    def refusal(self) -> str:
        """Return why the other side hung up, as it says last."""
        message = self.last_message()
        assert isinstance(message, Abort), message
        return message.reason

    def stop_sending(self) -> None:
        """Close one half of the connection."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class SettableClock(trio.abc.Clock):
    """The system's clock, which a test sets forward: a deadline is then early for nobody, however slow the machine."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def set_forward(self, seconds: float) -> None:
        """Let so much time have passed."""
        self._ahead += seconds

    def start_clock(self) -> None:
        """Begin with the first question."""

    def current_time(self) -> float:
        return time.monotonic() + self._ahead

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Return how long whoever wakes at a deadline may sleep."""
        return deadline - self.current_time()


class Serving:
    """A server in a thread, and clients in others.

    Attributes:
        side: what is served.
        address: where.
        effects: of the server's machine, so far.
    """

    def __init__(self, side: ServerRun, *, seed: int | None, folder: Path | None = None) -> None:
        self.side = side
        self.transport = "tcp" if folder is None else "tls"
        self._descriptor, self._keys = NO_DESCRIPTOR, None
        if folder is not None:
            opening, self._keys = read_server_session(folder, fingerprints=side.fingerprints or ())
            self._descriptor = opening.descriptor
        self.address = ""
        self.effects: list[Effect] = []
        self.events: list[dict[str, Any]] = []
        self._seed = seed
        self._pool = concurrent.futures.ThreadPoolExecutor(max_workers=8)
        self._is_up = threading.Event()
        self._clock = SettableClock()
        self._stop: Callable[[], None] = lambda: None
        self._tell: Callable[[], SessionStatus] | None = None

    def open(self, address: str) -> None:
        self._ending = self._pool.submit(trio.run, self._serve, address, clock=self._clock)
        self._ending.add_done_callback(lambda _: self._is_up.set())
        assert self._is_up.wait(PATIENCE)
        if not self.address:
            self._ending.result()

    async def _serve(self, address: str) -> SessionResult | None:
        self._token = trio.lowlevel.current_trio_token()
        mode = make_mode(self.side.scenario.name, seed=self._seed)
        with trio.CancelScope() as scope:
            self._stop = lambda: self._token.run_sync_soon(scope.cancel)
            return await serve(
                deployment.Serving(
                    side=self.side,
                    address=address,
                    transport=self.transport,
                    keys=self._keys,
                    descriptor=self._descriptor,
                    mode=mode,
                ),
                observers=Observers(log=self, listener=self.effects.append),
                on_listening=self._on_listening,
                beside=[self._watch],
            )
        return None

    async def _watch(self, tell: Callable[[], SessionStatus]) -> None:
        self._tell = tell

    def pass_time(self, seconds: float) -> None:
        """Let so much time have passed for the server."""
        self._token.run_sync_soon(self._clock.set_forward, seconds)

    def pass_deadline(self, phase: str, *, num_received: int) -> None:
        """Wait until a phase has so many reports, and let its deadline pass."""
        self.pass_time(self.wait_for(phase, num_received=num_received).seconds_left)

    def wait_for(self, phase: str, *, num_received: int) -> SessionStatus:
        """Wait until a phase has so many reports, and return where the session then stands."""
        gives_up = time.monotonic() + PATIENCE
        while (session_status := self._standing()) is None or not _has(session_status, phase, num_received):
            assert time.monotonic() < gives_up, session_status
            threading.Event().wait(0.005)
        return session_status

    def _standing(self) -> SessionStatus | None:
        return None if self._tell is None else trio.from_thread.run_sync(self._tell, trio_token=self._token)

    def _on_listening(self, address: str) -> None:
        self.address = address
        self._is_up.set()

    def info(self, event: str, **fields: Any) -> None:
        """Keep an event of the server's."""
        self.events.append({"event": event, **fields})

    warning = info

    def join(
        self,
        party: str,
        *,
        entries: Mapping[str, str] | None = None,
        ledger: Ledger | None = None,
        invitation: Invitation | None = None,
        seed: int | None = SEED,
        log: Log | None = None,
    ) -> concurrent.futures.Future[msgspec.Struct]:
        """Let a party take part, in a thread of its own."""
        own = ENTRIES[party] if entries is None else entries
        joining = Joining(
            address=self.address,
            party=party,
            entries=own,
            seed=seed,
            invitation=invitation,
            transport=self.transport,
            keys=None if invitation is None or self.transport == "tcp" else invitation.find_keys([]),
        )
        client = functools.partial(join, joining, ledger=ledger, log=log)
        return self._pool.submit(lambda: trio.run(client).outcome)

    def connect(self, keys: TLSKeys | None = None) -> Peer:
        return Peer(self.address, keys=keys)

    def result(self) -> SessionResult:
        """Wait for the end, and return what the server is left with, or raise what it failed with."""
        result = self._ending.result(PATIENCE)
        assert result is not None
        return result

    @property
    def has_ended(self) -> bool:
        return self._ending.done()

    def failure(self) -> BaseException | None:
        """Wait for the end, and return what the server failed with."""
        return self._ending.exception(PATIENCE)

    def close(self) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            self._stop()
        self._pool.shutdown()


def _has(session_status: SessionStatus, phase: str, num_received: int) -> bool:
    """Return whether a phase is open and has so many reports."""
    received = None if session_status.attendance is None else session_status.attendance.num_received
    return session_status.phase == phase and received is not None and received[phase] == num_received


@contextlib.contextmanager
def serving(
    scenario: str, *settings: str, seed: int | None = SEED, roster: Path | None = None, address: str = "127.0.0.1:0"
) -> Generator[Serving]:
    """Serve a scenario until the block is left, over TLS where there is a folder of `psephos roster`, else over TCP."""
    side = resolve_served(load_scenario(scenario, settings), roster=roster)
    session = Serving(side, seed=seed, folder=roster if side.fingerprints is not None else None)
    try:
        session.open(address)
        yield session
    finally:
        session.close()


def invitations_to(scenario: str, *settings: str) -> dict[str, Invitation]:
    """Return everybody's invitation to a simulation over TCP."""
    side = resolve_served(load_scenario(scenario, settings))
    return {each.party: each for each in invitations_of(side, kind=SessionKind.SIMULATION)}


def invitations_of(side: ServerRun, *, kind: SessionKind) -> list[Invitation]:
    """Return invitations to a session over TCP: nothing is agreed on certificates and what follows from them."""
    drawn = draw_session(side.protocol, side.roster, session=side.scenario.name, kind=kind)
    plain = {"session_id": "", "roster": "", "expires": 0, "server": "", "certificate": "", "key": ""}
    return [msgspec.structs.replace(invitation, **plain) for invitation in drawn.invitations]


def entries_of(party: str, folder: Path, *, role: str) -> Mapping[str, Any]:
    """Return what a party's own file, `PARTY.csv`, holds.

    Args:
        party: whose.
        folder: where the file is.
        role: of the party, as its file names it.
    """
    return read_own_entries(folder / f"{party}.csv", party=party, roles=[role])


def _start(address: str, party: str, folder: Path, role: str, given: Mapping[str, Any]) -> Callable[[], JoinResult]:
    """Return what lets a party take part in its folder; its file is not read where entries are given."""
    options: dict[str, Any] = {"seed": SEED, "transport": "tcp", **given}
    on_agreed = options.pop("on_agreed", None)
    if "entries" not in options:
        options["entries"] = entries_of(party, folder, role=role)
    joining = Joining(address=address, party=party, **options)
    return lambda: join_in_folder(joining, RunFolder(folder / f"as-{party}"), on_agreed=on_agreed)


Start = Callable[..., concurrent.futures.Future[JoinResult]]
"""Lets the named party take part, with options of `Joining` and `join_in_folder`."""


@contextlib.contextmanager
def joining(session: Serving, folder: Path, *, role: str, most: int) -> Generator[Start]:
    """Yield what lets a party take part in a thread of its own, with its file and a folder of its own, `as-PARTY`.

    Args:
        session: whose server they join.
        folder: where their files are and their folders come.
        role: of the parties.
        most: how many take part at once.
    """
    with concurrent.futures.ThreadPoolExecutor(max_workers=most) as pool:

        def start(party: str, **options: Any) -> concurrent.futures.Future[JoinResult]:
            return pool.submit(_start(session.address, party, folder, role, options))

        yield start


def join_all(
    session: Serving, folder: Path, options: Mapping[str, Mapping[str, Any]], *, role: str
) -> dict[str, JoinResult]:
    """Let parties take part, and return what each heard.

    Args:
        session: whose server they join.
        folder: where their files are and their folders come.
        options: of `Joining`, for each that takes part, in the order in which they start.
        role: of the parties.
    """
    with joining(session, folder, role=role, most=len(options)) as start:
        heard = {party: start(party, **own) for party, own in options.items()}
        return {party: each.result(PATIENCE) for party, each in heard.items()}


def refusal(
    address: str,
    folder: Path,
    error: type[PsephosError],
    *,
    role: str,
    party: str = "ann",
    unwritten: Sequence[str] = ("outcome.json",),
    **options: Any,
) -> str:
    """Return why a party does not take part, and check that it paid nothing and that its folder has no outcome.

    Args:
        address: the server's.
        folder: where its file is and its folder comes.
        error: how it ends.
        role: of the party.
        party: who.
        unwritten: the files that its folder must not have.
        options: of `Joining`.
    """
    start = _start(address, party, folder, role, options)
    with pytest.raises(error) as caught:
        start()
    out = folder / f"as-{party}"
    assert read_ledger(out) == []
    for name in unwritten:
        assert not (out / name).exists(), name
    return str(caught.value)


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a process ended."""

    status: int
    out: str
    err: str


def with_journals(folder: Path) -> dict[str, str]:
    """Return this environment, with a folder of journals: a test's, or else one in `folder`."""
    journals = Path(os.environ.get("PSEPHOS_JOURNAL", folder / "journals"))
    journals.mkdir(exist_ok=True)
    return {**os.environ, "PSEPHOS_JOURNAL": str(journals)}


class Process:
    """The command line as a process of its own; ended at the latest when the block is left.

    Args:
        words: of the command line.
        folder: where it runs.
        is_measured: whether coverage follows it: a second for each, which one more of the same kind is not worth.
        ulimit: what the shell that starts it limits, such as "-n 1024".
        program: another program with the command line in it.
        prefix: the words of a command that runs the command line somewhere else.
    """

    def __init__(
        self,
        *words: object,
        folder: Path,
        is_measured: bool = True,
        ulimit: str = "",
        program: Sequence[object] = ("-m", "psephos.scenarios.cli"),
        prefix: Sequence[str] = (),
    ) -> None:
        command = [*prefix, sys.executable, *map(str, program), *map(str, words)]
        if ulimit:
            command = ["sh", "-c", f'ulimit {ulimit} && exec "$@"', "sh", *command]
        pipe = subprocess.PIPE
        environment = with_journals(folder)
        if "-f" in ulimit:  # every later process would read compiled code that is cut off
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        if not is_measured:
            environment.pop(_MEASURES, None)
        # Without a buffer, so that reading a line takes nothing beyond it.
        self._process = subprocess.Popen(  # noqa: S603  our own
            command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, bufsize=0
        )
        self._seen = b""

    def line_with(self, words: str) -> str:
        watchdog = threading.Timer(PATIENCE, self._process.kill)
        watchdog.start()
        try:
            for line in cast("IO[bytes]", self._process.stdout):
                self._seen += line
                if words in line.decode():
                    return line.decode()
        finally:
            watchdog.cancel()
        ending = self.ending()
        raise AssertionError(f"no line with {words!r}: {ending}")

    def address(self) -> str:
        """Wait until a server listens, and return where."""
        return self.line_with("listening on ").split()[2]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; SIGINT is Ctrl-C."""
        self._process.send_signal(number)

    def pass_time(self) -> None:
        """Set the clock of a process of `ahead.py` forward until it has ended, however far it is."""
        while self._process.poll() is None:
            self.send(signal.SIGCONT)
            threading.Event().wait(0.05)

    def kill(self) -> None:
        """End it at once, without a word."""
        self._process.kill()
        self._process.wait()

    def ending(self) -> Ending:
        out, err = self._process.communicate(timeout=PATIENCE)
        return Ending(self._process.returncode, (self._seen + out).decode(), (err or b"").decode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self.kill()
        with contextlib.suppress(ValueError):
            self._process.communicate()
