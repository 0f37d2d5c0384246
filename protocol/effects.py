"""What a machine asks of the driver, as values; `psephos.agents.driver` carries all of them out."""

import enum
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from .errors import PsephosError, RemoteProtocolError
from .messages import Message
from .privacy import Charge
from .records import Record
from .views import Happening, View


class Send(msgspec.Struct, frozen=True, gc=False):
    """Send one message to these parties, in this order."""

    recipients: tuple[str, ...]
    message: Message


class SetDeadline(msgspec.Struct, frozen=True, gc=False):
    """Call `receive_timeout(phase)` after so many seconds, unless the session has ended by then."""

    phase: str
    seconds: float


class Drop(msgspec.Struct, frozen=True):
    """End the connection with this party once what is queued for it has left; its fault is `error`."""

    party: str
    error: RemoteProtocolError


class LiarNamed(msgspec.Struct, frozen=True):
    """There is proof that this party cheated in a masked phase.

    Args:
        deed: what it did, as a phrase.
        evidence: the proof, as JSON, which anybody who knows the session's terms can check.
        is_known: whether this was reported before the server restarted.
    """

    party: str
    deed: str
    evidence: bytes
    is_known: bool = False


class Presence(enum.Enum):
    """How a party came or went, as events name it."""

    JOINED = "party_joined"
    RETURNED = "party_returned"
    LOST = "connection_lost"
    LEFT = "party_left"


class Attended(msgspec.Struct, frozen=True, gc=False):
    """A party joined, returned or left; not used if participation is private. `reason` is the reason of its Abort."""

    party: str
    presence: Presence
    reason: str = ""


class Opened(msgspec.Struct, frozen=True, gc=False):
    """A phase began, with so many parties asked; None where that is private."""

    phase: str
    num_asked: int | None


class Closed(msgspec.Struct, frozen=True, gc=False):
    """A phase ended with this number of reports; None if the number is private.

    `outcome` is what it publishes, as plain data, or None.
    """

    phase: str
    num_received: int | None
    num_missing: int | None
    outcome: msgspec.Struct | None


class Charged(msgspec.Struct, frozen=True, gc=False):
    """A privacy loss was charged; the report that caused it is drawn only after this."""

    charge: Charge


class Keep(msgspec.Struct, frozen=True, gc=False):
    """Make a record durable before acting on any effect that follows."""

    record: Record


class Finish(msgspec.Struct, frozen=True, gc=False):
    """The session is over for this party, with this result; everything queued is sent first.

    `own_outcome` is the part of the outcome for this client alone.
    """

    result: msgspec.Struct
    own_outcome: msgspec.Struct | None = None


class Fail(msgspec.Struct, frozen=True):
    """The session is over for this party without a result; everything queued is sent first."""

    error: PsephosError


Effect: TypeAlias = Send | SetDeadline | Drop | LiarNamed | Attended | Opened | Closed | Charged | Keep | Finish | Fail


def send(recipients: Sequence[str], message: Message, *, view: View | None) -> Send:
    """Return the effect that sends a message, and record the message if the sender has a view.

    Examples:
        >>> from psephos.protocol.messages import Abort
        >>> send(["ann"], Abort("not today"), view=None).recipients
        ('ann',)
    """
    if view is not None:
        for recipient in recipients:
            view.record(Happening.SENT, recipient, message)
    return Send(tuple(recipients), message)
