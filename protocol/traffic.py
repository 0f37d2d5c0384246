"""The traffic of a session: messages and bytes of each step, from the parties to the server and back.

Bytes are those of encoded messages (`messages.encode`). On a socket, each message also has a frame header, and
encryption adds more.

`TrafficMeter` counts the messages of agents at their server. The array path sends no messages; for it `ExpectedTraffic`
computes the traffic of agents who all take part, with the same encoder. The two agree to the byte.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from .arrays import IntArray
from .integers import bytes_of
from .masked_sessions import masked_sizes
from .messages import (
    NIL,
    Acknowledgement,
    Hello,
    Inquiry,
    Message,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Terms,
    Welcome,
    encode,
    encode_payload,
)
from .phases import PhasedProtocol
from .plugin_checks import checked_phase_outcome
from .roles import SessionKind
from .rules import names_of
from .tally import Tally

RELEASE: Final = "release"
"""The name of the traffic after the last step: the release, and messages that end a conversation."""

# The lengths from which on MessagePack's header of a text (in bytes) or an array (in elements) gets longer.
_LONGER_TEXTS: Final = (1 << 5, 1 << 8, 1 << 16)
_LONGER_ARRAYS: Final = ((1 << 4, 2), (1 << 16, 2))


class PhaseTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic of one step, of all parties together.

    Args:
        phase: the step's name; `rules.JOIN` before the first step, and `RELEASE` after the last.
        messages_up: the number of messages from parties to the server.
        messages_down: the number of messages from the server to parties.

    Examples:
        >>> PhaseTraffic(phase="weights", messages_up=3, bytes_up=24)
        PhaseTraffic(phase='weights', messages_up=3, bytes_up=24, messages_down=0, bytes_down=0)
    """

    phase: str
    messages_up: int = 0
    bytes_up: int = 0
    messages_down: int = 0
    bytes_down: int = 0


class TrafficMeter:
    """Counts the messages that pass a server.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> meter = TrafficMeter(DPWeVote(Parameters(candidates=("tea",))))
        >>> meter.note(Report(0, NIL), 4)
        >>> [(phase.phase, phase.bytes_up) for phase in meter.phases]
        [('join', 0), ('weights', 4), ('opinions', 0), ('release', 0)]
    """

    def __init__(self, protocol: PhasedProtocol[Any, Any]) -> None:
        self._names = _rows_of(protocol)
        self._counts = [[0, 0, 0, 0] for _ in self._names]
        self._num_steps = len(protocol.steps)

    def note(self, message: Message, num_bytes: int, *, times: int | None = None) -> None:
        """Count a message of a party, of so many encoded bytes; or one that the server sends to `times` parties."""
        match message:
            case Request(step=step) | Report(step=step) | Acknowledgement(step=step):
                counts = self._counts[1 + step if 0 <= step < self._num_steps else -1]
            case Hello() | Welcome() | Inquiry() | Terms():
                counts = self._counts[0]
            case _:
                counts = self._counts[-1]
        if times is None:
            counts[0] += 1
            counts[1] += num_bytes
        else:
            counts[2] += times
            counts[3] += times * num_bytes

    @property
    def phases(self) -> tuple[PhaseTraffic, ...]:
        """The traffic so far."""
        return tuple(_make_traffic(name, counts) for name, counts in zip(self._names, self._counts, strict=True))


class ExpectedTraffic:
    """The traffic of a session of agents in which all parties take part, and none has a journal.

    Args:
        public: the parties' public rows, shape (n, public columns).

    Raises:
        ValueError: a message would exceed the limit, so that agents cannot run the session.
    """

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        *,
        names: Sequence[str],
        public: IntArray,
        session: str,
        kind: SessionKind,
        descriptor: SessionDescriptor,
    ) -> None:
        self._protocol = protocol
        self._number = len(names)
        hello = len(encode(Hello.make(protocol, "", session=session, kind=kind, descriptor=descriptor)))
        lengths = np.array([len(name.encode()) for name in names], dtype=np.int64)
        of_names = int(lengths.sum()) + int(np.searchsorted(_LONGER_TEXTS, lengths, side="right").sum())
        welcome = len(encode(Welcome.make(protocol, descriptor=descriptor)))
        width = public.shape[1]
        header = sum(num_bytes for least, num_bytes in _LONGER_ARRAYS if width >= least)
        self._join = [
            self._number,
            self._number * hello + of_names,
            self._number,
            self._number * (welcome + header) + int(bytes_of(public).sum()),
        ]
        phase = protocol.masked_phase
        self._masked = None if phase is None else masked_sizes(phase, names)
        self._reports = [
            0 if step.move else len(encode(Report(number, step.codec.encode(step.phase.least_report))))
            for number, step in enumerate(protocol.steps)
        ]

    def phase_traffic(
        self, tallies: Sequence[Tally], outcome: msgspec.Struct, own_outcomes: Mapping[int, msgspec.Struct]
    ) -> tuple[PhaseTraffic, ...]:
        """Return the traffic of a session with these results; ValueError if a release exceeds a message's limit."""
        number, protocol = self._number, self._protocol
        counts = [self._join]
        payload = NIL
        counts += [[number, sizes[0], number, sizes[1]] if sizes else [0, 0, 0, 0] for sizes in self._masked or ()]
        steps = () if self._masked else zip(protocol.steps, self._reports, strict=True)
        for place, (step, report) in enumerate(steps):
            request = len(encode(Request(place, payload)))
            counts.append([number, number * report, number, number * request])
            if place + 1 < len(protocol.steps):
                published = checked_phase_outcome(protocol, step.phase, tallies[: place + 1])
                payload = encode_payload(published)
        release = len(encode(Release(encode_payload(outcome))))
        num_own_bytes = sum(
            len(bytes(encode_payload(own_outcome))) - len(bytes(NIL)) for own_outcome in own_outcomes.values()
        )
        counts.append([0, 0, number, number * release + num_own_bytes])
        return tuple(_make_traffic(name, of_phase) for name, of_phase in zip(_rows_of(protocol), counts, strict=True))


def _rows_of(protocol: PhasedProtocol[Any, Any]) -> tuple[str, ...]:
    return (*names_of(protocol), RELEASE)


def _make_traffic(phase: str, counts: Sequence[int]) -> PhaseTraffic:
    return PhaseTraffic(phase=phase, **dict(zip(PhaseTraffic.__struct_fields__[1:], counts, strict=True)))
