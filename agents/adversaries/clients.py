"""Clients that deviate: selective abort, poisoning, false answers, and replay."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import msgspec

from ...protocol.integers import rewrite_row
from ...protocol.messages import Message, Report, Request
from .deviation import Deviation, Passage

_NOTHING: Mapping[int, Sequence[int]] = {}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Leaver(Deviation):
    """A client that disconnects instead of answering a step.

    Corrupt: this client. It sees the public outcome of the previous step, in the request.

    The honest side: the server counts it as missing. If all must report, the session ends, and both sides learn who is
    missing; so one client can stop such a vote, and is named. With a lower quorum the vote continues without it. The
    client can then bias the outcome by its weight, since its participation depends on a noisy outcome that already
    contains its report. If participation is private, there is no quorum: the vote continues, and nobody is named.

    Args:
        step: the step, from 0, whose request it waits for.
        leaves_if: a function of the request's payload as plain data (None if it has none) that decides whether to
            leave.

    Examples:
        >>> from psephos.protocol.messages import NIL
        >>> Leaver(step=1, leaves_if=lambda outcome: True).incoming("server", Request(1, NIL)).hangs_up
        True
    """

    step: int
    leaves_if: Callable[[object], bool]

    def incoming(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Request) and message.step == self.step:
            outcome: object = msgspec.msgpack.decode(message.payload)
            if self.leaves_if(outcome):
                return Passage(hangs_up=True)
        return Passage(inward=(message,))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Poisoner(Deviation):
    """A client that chooses its reports.

    Corrupt: this client. It knows the public parameters and its values. For a coalition, use several with agreed
    reports.

    The honest side: a server refuses a report that no honest client could send, by its length, its range or its
    sender's public row, and drops its sender. Any other report counts, since an honest client could have drawn it. The
    harm is bounded by the effect of one report on the estimate, which grows as ε decreases. With k-RR, one report
    changes a count by at most 1/(p − q), while a false value that is honestly randomized changes its expectation by 1.

    Args:
        reports: the numbers that it reports, for each step (from 0) that it poisons; in all other steps it reports what
            its agent drew.

    Source:
        Cao, Jia and Gong (2021), Data poisoning attacks to local differential privacy protocols, section 4 (the maximal
        gain attack). Cheu, Smith and Ullman (2021), Manipulation attacks in local differential privacy, that this harm
        is inherent in local privacy.

    Examples:
        >>> from psephos.protocol.integers import encode_row
        >>> honest = Report(0, msgspec.Raw(encode_row([1], width=1)))
        >>> (poisoned,) = Poisoner({0: [2]}).outgoing("server", honest).outward
        >>> msgspec.msgpack.decode(poisoned.payload)
        [2]
    """

    reports: Mapping[int, Sequence[int]] = dataclasses.field(repr=False)

    def outgoing(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Report) and message.step in self.reports:
            message = _with_numbers(message, self.reports[message.step])
        return Passage(outward=(message,))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Changer(Deviation):
    """A client that changes its answer to one step of a masked phase, by a function of the payload.

    Corrupt: this client, which may add a number to its masked row without knowing other masks.

    The honest side: nobody can check a row, so the sum changes by the same number. All other messages are signed, and a
    client whose message does not match its signature is excluded.

    Examples:
        >>> from psephos.protocol.messages import NIL
        >>> changer = Changer(step=0, change=lambda payload: msgspec.Raw(b""))
        >>> [bytes(message.payload) for message in changer.outgoing("server", Report(0, NIL)).outward]
        [b'']
    """

    step: int
    change: Callable[[msgspec.Raw], msgspec.Raw] = dataclasses.field(repr=False)

    def outgoing(self, peer: str, message: Message) -> Passage:
        if isinstance(message, Report) and message.step == self.step:
            message = Report(message.step, self.change(message.payload))
        return Passage(outward=(message,))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Replayer(Deviation):
    """A client that sends further messages after each of its reports.

    Corrupt: this client; and for `captured`, an eavesdropper on an unencrypted network.

    The honest side: an identical repeated report counts once. For a different one the server raises
    `ConflictingReportError`: the first report stands, and the sender is dropped. A connection speaks for one party, so
    another party's report counts as the sender's, and another party's Hello ends the sender's conversation. On a new
    connection, such a Hello is refused while that party takes part, and afterwards (`sybils`). In another session it is
    invalid by the session's id, and over TLS it needs the party's key. Without encryption one harm remains: an
    eavesdropper who reads a Hello before it reaches the server can join in its place.

    Args:
        times: the number of times that its report is sent again.
        altered: the numbers of a second, different report, by step (from 0).
        captured: other parties' messages that are sent afterwards, by step.

    Examples:
        >>> from psephos.protocol.messages import NIL
        >>> len(Replayer(times=2).outgoing("server", Report(0, NIL)).outward)
        3
    """

    times: int = 1
    altered: Mapping[int, Sequence[int]] = dataclasses.field(default_factory=lambda: _NOTHING, repr=False)
    captured: Mapping[int, Sequence[Message]] = dataclasses.field(
        default_factory=dict[int, Sequence[Message]], repr=False
    )

    def outgoing(self, peer: str, message: Message) -> Passage:
        if not isinstance(message, Report):
            return Passage(outward=(message,))
        outward: list[Message] = [message] * (1 + self.times)
        if message.step in self.altered:
            outward.append(_with_numbers(message, self.altered[message.step]))
        return Passage(outward=[*outward, *self.captured.get(message.step, ())])


def _with_numbers(report: Report, numbers: Sequence[int]) -> Report:
    """Return a report that says these numbers in as many bytes each, since one of another size would be refused."""
    try:
        return Report(report.step, msgspec.Raw(rewrite_row(bytes(report.payload), numbers)))
    except OverflowError:  # not encodable, so no honest client could send it
        return Report(report.step, msgspec.Raw(msgspec.msgpack.encode(list(numbers))))
