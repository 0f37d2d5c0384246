"""Poisoning: a client that reports what moves the tally most, and not what its randomizer drew."""

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from ...protocol.messages import Message, Report
from .deviation import Deviation, Passage

__all__ = ["Poisoner"]


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
    """

    reports: Mapping[int, Sequence[int]] = dataclasses.field(repr=False)

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Put the chosen report in the place of the drawn one. See `Deviation.outgoing`."""
        del peer
        if isinstance(message, Report) and message.step in self.reports:
            numbers = list(self.reports[message.step])
            message = Report(message.step, msgspec.Raw(msgspec.msgpack.encode(numbers)))
        return Passage(outward=(message,))
