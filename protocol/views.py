"""Views: what a party sees in a session, in order.

In multi-party computation, a party's *view* is its input together with every message that it sent and received. An
adversary is a function of the views of its coalition and of public parameters. Views contain private values, so they
are recorded only in simulations, on request; a deployment never has one.
"""

import enum

import msgspec

from .errors import require
from .messages import NIL, Acknowledgement, Message, Request, SessionDescriptor
from .roles import SessionKind, Side


class Happening(enum.Enum):
    """The kind of an observation."""

    SENT = "sent"
    RECEIVED = "received"
    TIMEOUT = "timeout"
    LOST = "lost"
    FAULT = "fault"
    """The peer sent bytes that are no message, or did not read; `reason` says which."""


class Observation(msgspec.Struct, frozen=True):
    """One event of a view.

    `peer` is the other party; for a timeout it is the phase's name. `message` is set for a sent or received message,
    `reason` for a fault.

    Examples:
        >>> Observation(Happening.TIMEOUT, "weights").happening.value
        'timeout'
    """

    happening: Happening
    peer: str
    message: Message | None = None
    reason: str = ""


class View(msgspec.Struct):
    """One party's view.

    Args:
        private_row: a client's private row, as integers; empty for a server.

    Raises:
        ConfigurationError: the session is a deployment.

    Examples:
        >>> view = View("ann", Side.CLIENT, "council", SessionKind.SIMULATION, private_row=(1,))
        >>> view.record(Happening.LOST, "server")
        >>> [observation.happening.value for observation in view.observations]
        ['lost']
    """

    party: str
    side: Side
    session: str
    kind: SessionKind
    private_row: tuple[int, ...] = ()
    observations: list[Observation] = msgspec.field(default_factory=list[Observation])

    def __post_init__(self) -> None:
        is_simulated = self.kind is SessionKind.SIMULATION
        require(is_simulated, "kind", self.kind.value, "a simulation, to record a view")

    def record(self, happening: Happening, peer: str, message: Message | None = None, *, reason: str = "") -> None:
        """Append one observation."""
        self.observations.append(Observation(happening, peer, message, reason))


def check_view(view: View | None, kind: SessionKind) -> None:
    """Raise ConfigurationError for a view in a session of another kind."""
    if view is not None:
        require(view.kind is kind, "view", view.kind.value, f"of a {kind.value}")


def describe(message: Message) -> dict[str, object]:
    """Return a message as plain data for JSON, with its payload decoded, and its type's name first.

    Examples:
        >>> from psephos.protocol.messages import Report
        >>> describe(Report(0, msgspec.Raw(bytes([145, 1]))))
        {'type': 'Report', 'phase': 0, 'payload': [1]}
    """
    plain: dict[str, object] = {"type": type(message).__name__}
    for field, name in zip(message.__struct_fields__, message.__struct_encode_fields__, strict=True):
        value: object = getattr(message, field)
        if field == "own" and isinstance(message, Request) and value == NIL:
            continue  # an absent field is not sent either
        if isinstance(value, msgspec.Raw):
            value = _decode_plain(value)
        elif isinstance(value, SessionDescriptor):
            value = msgspec.structs.asdict(value)
        elif isinstance(value, Acknowledgement):
            value = describe(value)
        plain[name] = value
    return plain


def _decode_plain(payload: msgspec.Raw) -> object:
    """Return a payload decoded; what a misbehaving party made up, as its bytes in hexadecimal."""
    try:
        value: object = msgspec.msgpack.decode(payload)
        msgspec.json.encode(value)  # raises for MessagePack values that JSON cannot represent
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError, ValueError):
        return {"undecodable": bytes(payload).hex()}
    return value
