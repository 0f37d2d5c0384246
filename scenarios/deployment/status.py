"""`serve --status`: a session's status over HTTP, for monitors: /healthz in words, /metrics for Prometheus.

Everybody who can reach the address can read both pages, so they contain nothing private. If a phase hides who takes
part (`agents.session_status`), they do not depend on it: they count no parties, reports, connections or refusals, and
of the process they show only constants, not memory, processor time or open files.

The pages never delay the session. The server accepts `_MOST_PER_SECOND` connections a second. At most `_MOST_AT_ONCE`
are open; a new one closes the oldest. Others wait in the system's queue. Each connection has `_SECONDS` for one short
request.
"""

import collections
import contextlib
import datetime as dt
import http
import math
import socket
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

import h11
import trio
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ...agents.pending import REASONS
from ...agents.session_status import SessionStatus
from ...protocol.errors import MAX_NAMES_IN_A_SENTENCE, ConfigurationError, printable
from ...protocol.rules import JOIN
from ...protocol.states import SessionState
from ...transports.addresses import format_address, is_loopback, parse_address
from ...transports.http_server import HttpAnswer, HttpConversations, is_meant_for

_MOST_AT_ONCE: Final = 8
_MOST_PER_SECOND: Final = 10
"""With thousands of parties a page takes milliseconds, so a flood of requests uses a few percent of the time."""
_SECONDS: Final = 5.0
_MOST_REQUEST_BYTES: Final = 4096
_HANDSHAKE: Final = "handshake"
"""The label of all handshake errors in metrics, whose labels must be few; the log distinguishes them."""
_OF_ANY_SESSION: Final = frozenset({"process_max_fds", "process_start_time_seconds"})
"""Metrics of the process that are shown if participation is private."""
_STATES: Final = (SessionState.GATHERING, SessionState.COLLECTING, SessionState.RELEASED, SessionState.ABORTED)


class Status:
    """The status page's server.

    Args:
        listening: the listening socket, which the caller closes.
    """

    def __init__(self, listening: socket.socket) -> None:
        self._socket = listening
        host, port = listening.getsockname()[:2]
        self.address = format_address(host, port)
        """HOST:PORT, with the port that the system chose for port 0."""

    def __str__(self) -> str:
        """The page's address and purpose."""
        exposure_note = "" if is_loopback(self.address) else ", for whoever reaches this address"
        return f"status at http://{self.address}/healthz and http://{self.address}/metrics{exposure_note}"

    async def serve(self, tell: Callable[[], SessionStatus]) -> None:
        """Answer requests, without end."""
        registry = CollectorRegistry()
        registry.register(_Metrics(tell))

        def respond(request: h11.Request) -> HttpAnswer:
            if not is_meant_for(request, self.address):
                return HttpAnswer(http.HTTPStatus.MISDIRECTED_REQUEST)
            return _answer_to(request, tell, registry)

        conversations = HttpConversations(
            respond, most_at_once=_MOST_AT_ONCE, seconds=_SECONDS, most_request_bytes=_MOST_REQUEST_BYTES
        )
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._socket))
        async with listener, trio.open_nursery() as nursery:
            while True:
                with contextlib.suppress(OSError):  # the connection has closed, or file descriptors have run out
                    nursery.start_soon(conversations.hold, await listener.accept())
                await trio.sleep(1 / _MOST_PER_SECOND)


@contextlib.contextmanager
def open_status(address: str) -> Generator[Status]:
    """Open the page's socket early, so that an error in its address appears before anything else happens.

    Args:
        address: HOST:PORT, or a port of this machine's loopback interface; port 0 lets the system choose.

    Raises:
        ConfigurationError: it is not an address, not on this machine, or in use.
    """
    try:
        host, port = parse_address(f"127.0.0.1:{address}" if address.isdecimal() else address)
        family, *_, socket_address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.create_server(socket_address[:2], family=family, backlog=_MOST_AT_ONCE)
    except ConfigurationError as error:
        allowed = f"a port, or {error.allowed}"
        raise ConfigurationError(field="--status", value=address, allowed=allowed) from None
    except (OSError, UnicodeError) as error:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else "no such name"
        allowed = f"an address of this machine at which nobody listens ({reason.lower()})"
        raise ConfigurationError(field="--status", value=address, allowed=allowed) from None
    with listening:
        yield Status(listening)


class _Metrics(Collector):
    """A session's metrics for Prometheus."""

    def __init__(self, tell: Callable[[], SessionStatus]) -> None:
        self._tell = tell
        self._process = ProcessCollector(registry=None)

    def collect(self) -> Iterator[Metric]:
        session_status = self._tell()
        yield _labelled_gauge(
            "psephos_session_state",
            "1 for the state of the session: gathering (parties join), collecting (they report), released, aborted.",
            "state",
            ((state.value, state is session_status.state) for state in _STATES),
        )
        yield GaugeMetricFamily("psephos_roster_parties", "Parties on the roster.", value=session_status.num_parties)
        yield _labelled_gauge(
            "psephos_phase_open",
            "1 for the phase that is open, 0 for those before it.",
            "phase",
            ((name, session_status.is_open and name == session_status.phase) for name in session_status.deadlines),
        )
        yield _labelled_gauge(
            "psephos_phase_deadline_timestamp_seconds",
            "When a phase closes, or has closed at the latest.",
            "phase",
            session_status.deadlines.items(),
        )
        yield from _party_metrics(session_status)
        for metric in self._process.collect():
            if session_status.connections is not None or metric.name in _OF_ANY_SESSION:
                yield metric


def _party_metrics(session_status: SessionStatus) -> Iterator[Metric]:
    """Yield the metrics that depend on who takes part, unless that is private."""
    attendance, connections = session_status.attendance, session_status.connections
    if attendance is not None:
        num_joined = attendance.num_received[JOIN]
        yield GaugeMetricFamily("psephos_parties_joined", "Parties that have joined.", value=num_joined)
        awaited = len(attendance.awaited)
        yield GaugeMetricFamily("psephos_parties_awaited", "Parties that the open phase waits for.", value=awaited)
        accepted_reports = CounterMetricFamily(
            "psephos_reports_accepted", "Reports that were accepted.", labels=["phase"]
        )
        for name, number in attendance.num_received.items():
            if name != JOIN:
                accepted_reports.add_metric([name], number)
        yield accepted_reports
    if connections is not None:
        yield GaugeMetricFamily("psephos_connections_open", "Connections that are open.", value=connections.num_open)
        yield GaugeMetricFamily(
            "psephos_connections_greeting",
            "Connections of these that have not shown that they are a party's.",
            value=connections.num_greeting,
        )
        refused_connections = CounterMetricFamily(
            "psephos_connections_refused", "Connections turned away.", labels=["reason"]
        )
        counts = collections.Counter(dict.fromkeys((*REASONS, _HANDSHAKE), 0))
        for reason, number in connections.refused.items():
            counts[reason if reason in REASONS else _HANDSHAKE] += number
        for reason, number in counts.items():
            refused_connections.add_metric([reason], number)
        yield refused_connections


def _labelled_gauge(
    name: str, documentation: str, label: str, values: Iterable[tuple[str, float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, documentation, labels=[label])
    for of_label, value in values:
        family.add_metric([of_label], value)
    return family


def _healthz(session_status: SessionStatus) -> HttpAnswer:
    """Return a session's status in words, and why parties have left; status 503 after a failure."""
    status_text = _reasons(session_status)
    if session_status.state is SessionState.ABORTED:
        return HttpAnswer(
            http.HTTPStatus.SERVICE_UNAVAILABLE, f"failed: the session has ended without an outcome\n{status_text}"
        )
    if session_status.state is SessionState.RELEASED:
        return HttpAnswer(http.HTTPStatus.OK, f"released: the parties are told the outcome\n{status_text}")
    return HttpAnswer(
        http.HTTPStatus.OK,
        f"open: phase {printable(session_status.phase)!r} {_expiry_text(session_status)}\n{status_text}",
    )


def _reasons(session_status: SessionStatus) -> str:
    """Return a line for each of the first parties that have left."""
    reasons = [] if session_status.attendance is None else [*session_status.attendance.reasons.items()]
    lines = [f"{printable(party)} has left: {reason}\n" for party, reason in reasons[:MAX_NAMES_IN_A_SENTENCE]]
    if (num_more := len(reasons) - len(lines)) > 0:
        lines.append(f"{num_more:,} more have left\n")
    return "".join(lines)


def _expiry_text(session_status: SessionStatus) -> str:
    deadline = session_status.deadlines.get(session_status.phase, math.inf)
    try:
        return f"until {dt.datetime.fromtimestamp(deadline, dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError):  # after the year 9999
        return "without a deadline"


def _answer_to(request: h11.Request, tell: Callable[[], SessionStatus], registry: CollectorRegistry) -> HttpAnswer:
    path = request.target.partition(b"?")[0]
    if path not in {b"/healthz", b"/metrics"}:
        return HttpAnswer(http.HTTPStatus.NOT_FOUND)
    if request.method not in {b"GET", b"HEAD"}:
        return HttpAnswer(http.HTTPStatus.METHOD_NOT_ALLOWED)
    if path == b"/healthz":
        return _healthz(tell())
    return HttpAnswer(http.HTTPStatus.OK, generate_latest(registry), CONTENT_TYPE_LATEST)
