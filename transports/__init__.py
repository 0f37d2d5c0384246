"""Transports of bytes between named parties: framing, memory, TCP, TLS, WebSockets. They do not interpret the bytes."""

from typing import TYPE_CHECKING, Any

from .abc import Channel, Listener, Transport
from .framing import MAX_FRAME_BYTES, FrameDecoder, encode_frames
from .memory import MemoryTransport
from .tcp import TCPTransport

if TYPE_CHECKING:
    from .tls import TLSTransport

__all__ = [
    "MAX_FRAME_BYTES",
    "Channel",
    "FrameDecoder",
    "Listener",
    "MemoryTransport",
    "TCPTransport",
    "TLSTransport",
    "Transport",
    "encode_frames",
]


def __getattr__(name: str) -> Any:
    """Return `TLSTransport`, which waits for somebody who asks for it: cryptography takes longer than all the rest."""
    if name != "TLSTransport":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .tls import TLSTransport  # noqa: PLC0415  the same

    return TLSTransport


def __dir__() -> list[str]:
    return __all__
