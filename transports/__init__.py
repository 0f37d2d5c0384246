"""How bytes travel between named parties: framing, memory, TCP, TLS. Nothing here knows what the bytes mean."""

from .abc import Channel, Listener, Transport
from .framing import MAX_FRAME_BYTES, FrameDecoder, encode_frames
from .memory import MemoryTransport
from .tcp import TCPTransport
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
