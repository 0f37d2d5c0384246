"""False parameters: a server that names a larger ε, or another channel, than was agreed to."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ...protocol.messages import Message, Terms, Welcome
from .deviation import Deviation, Passage

__all__ = ["Liar"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Liar(Deviation):
    """A server that names other parameters than its own.

    Corrupt: the server.

    The honest side: a client holds the parameters that it agreed to, compares bytes as soon as it is welcomed, says
    where they differ and leaves; nothing was drawn, charged or reserved by then. So there is no harm, but that nobody
    takes part. A client that agreed to nothing and asks for the terms instead takes them as they are: there a budget,
    and whoever reads the terms, are all that stands against them.

    Args:
        parameters: what to name: a function of the true ones, as plain data, or bytes as they are.
    """

    parameters: Callable[[dict[str, Any]], Mapping[str, Any]] | bytes

    def outgoing(self, peer: str, message: Message) -> Passage:
        """Put the false parameters in the place of the true ones. See `Deviation.outgoing`."""
        del peer
        if isinstance(message, (Welcome, Terms)):
            message = msgspec.structs.replace(message, parameters=self._named(message.parameters))
        return Passage(outward=(message,))

    def _named(self, true: msgspec.Raw) -> msgspec.Raw:
        if isinstance(self.parameters, bytes):
            return msgspec.Raw(self.parameters)
        named = self.parameters(msgspec.msgpack.decode(true, type=dict[str, Any]))
        return msgspec.Raw(msgspec.msgpack.encode(named))
