"""Sybils: connections that try to join as parties that they are not.

Corrupt: anybody who can reach the server. The honest side: a roster. The server refuses names that are not on it, and
names that have joined; if the roster has certificates, also connections without the key of the name. A refusal does not
affect any party. Without certificates, a name is enough to join in place of a party that has not joined yet; this is
safe only if nobody else can reach the server. If one person is on the roster under several names, the protocol cannot
prevent it; each of them counts as one report, as with `Poisoner`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import trio

from ...protocol.errors import HandshakeError, RemoteProtocolError
from ...protocol.messages import Abort, Hello, Message, Welcome, decode, encode
from ...transports.abc import Transport


class Attempt(NamedTuple):
    """The result of one Hello.

    `answer` is the server's first message; None if it disconnected without one.

    Examples:
        >>> Attempt("ann", Abort("'ann' has joined before")).reason
        "'ann' has joined before"
    """

    party: str
    answer: Message | None

    @property
    def is_welcome(self) -> bool:
        """Whether the server took the connection for the party."""
        return isinstance(self.answer, Welcome)

    @property
    def reason(self) -> str:
        """Why the server refused; empty where it did not say."""
        return self.answer.reason if isinstance(self.answer, Abort) else ""


async def try_to_join(transport: Transport, address: str, hellos: Sequence[Hello]) -> list[Attempt]:
    """Send each Hello on a new connection, one after another, and disconnect after the answer.

    If it is cancelled, it closes its connection at once.

    Args:
        hellos: messages in the names of others or in invented names, constructed or captured.

    Raises:
        OSError: the server cannot be reached.
    """
    return [Attempt(hello.party, await _ask(transport, address, hello)) for hello in hellos]


async def _ask(transport: Transport, address: str, hello: Hello) -> Message | None:
    async with await transport.connect(address) as channel:
        try:
            await channel.send([encode(hello)])
            return decode((await channel.receive())[0])
        except HandshakeError as error:  # the roster does not have its key
            return Abort.from_error(error)
        except (trio.EndOfChannel, trio.BrokenResourceError, RemoteProtocolError):
            return None
