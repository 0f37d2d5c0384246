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
    """A client that hangs up instead of answering a step.

    Corrupt: this client. It sees what everybody sees: the outcome of the step before, in the request.

    The honest side: the server counts it among the missing. With a quorum of everybody the session ends, both sides are
    told who is missing, and no later step is opened; so one client can stop a vote that needs all, and is named. With
    a lower quorum the vote goes on without it, and it can bias the outcome by its own share: whether it takes part then
    depends on a noisy outcome in which its own report is already counted. Where who takes part is private there is no
    quorum: the vote goes on, and says of nobody that they left.

    Args:
        step: from 0, the one whose request it waits for.
        leaves_if: given what that request publishes, as plain data (None where it publishes nothing), whether to leave.

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

    Corrupt: this client. It knows the public parameters and its own values; several that act together are several of
    these with reports that were agreed upon.

    The honest side: a server refuses a report that no honest client could send (its length, its range, its sender's
    public row) and drops its sender. Any other report stands, since an honest client could have drawn it. The harm is
    bounded by what one report weighs in the estimate, which grows as ε shrinks: by k-RR, a count moves by 1/(p − q) at
    most between two reports, where a false value that is honestly randomized moves its expectation by 1.

    Args:
        reports: for each step (from 0) that it poisons, the numbers that it reports; in the other steps it reports
            what its agent drew.

    Source:
        Cao, Jia and Gong (2021), Data poisoning attacks to local differential privacy protocols, section 4 (the maximal
        gain attack). Cheu, Smith and Ullman (2021), Manipulation attacks in local differential privacy: that every
        locally private protocol has this harm.

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

    Corrupt: this client, which may shift its row without its masks.

    The honest side: nobody can check a row, and the sum moves by as much. All other messages are signed: a client whose
    message differs from what it has signed is excluded.

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
    """A client that follows each of its reports by others.

    Corrupt: this client; and for `captured`, somebody who reads the network where nothing encrypts it.

    The honest side: a report that comes again, the same byte for byte, is counted once. One that differs is
    `ConflictingReportError`: the first stands, and its sender is dropped. A connection speaks for one party, so that
    another party's report counts as the sender's own, and another's Hello ends the sender's own conversation; on a new
    connection it is refused while its owner takes part, and afterwards (`sybils`). In another
    session its id makes it void, and over TLS nobody can say it without the owner's key. What remains where nothing
    encrypts: whoever reads a Hello before it reaches the server takes the seat.

    Args:
        times: how often its own report is sent again.
        altered: by step (from 0), the numbers of a second, different report.
        captured: by step, other parties' messages, which follow.

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
    except OverflowError:  # no honest client could send it either
        return Report(report.step, msgspec.Raw(msgspec.msgpack.encode(list(numbers))))
