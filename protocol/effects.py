"""What a machine asks of the driver: values, acted on in one place (`psephos.agents.driver`)."""

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
    """This party was found to have lied in a masked phase.

    Args:
        deed: what it has done, as a phrase.
        evidence: what proves that to whoever knows the session's rules, as JSON.
        is_known: whether it was told before the server was begun anew.
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
    """A party came or went; told where it is not private who takes part. `reason` is its own, where it has left."""

    party: str
    presence: Presence
    reason: str = ""


class Opened(msgspec.Struct, frozen=True, gc=False):
    """A phase began, with so many parties asked; None where that is private."""

    phase: str
    num_asked: int | None


class Closed(msgspec.Struct, frozen=True, gc=False):
    """A phase ended with so many reports; None where that is private.

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
    """The session is over for this party, and this is its result; everything queued is sent first.

    `own_outcome` is what a client alone was told.
    """

    result: msgspec.Struct
    own_outcome: msgspec.Struct | None = None


class Fail(msgspec.Struct, frozen=True):
    """The session is over for this party without a result; everything queued is sent first."""

    error: PsephosError


Effect: TypeAlias = Send | SetDeadline | Drop | LiarNamed | Attended | Opened | Closed | Charged | Keep | Finish | Fail


def send(recipients: Sequence[str], message: Message, *, view: View | None) -> Send:
    """Return the effect that sends a message, and record it where the sender has a view.

    Examples:
        >>> from psephos.protocol.messages import Abort
        >>> send(["ann"], Abort("not today"), view=None).recipients
        ('ann',)
    """
    if view is not None:
        for recipient in recipients:
            view.record(Happening.SENT, recipient, message)
    return Send(tuple(recipients), message)
