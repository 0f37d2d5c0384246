"""Sybils: connections that try to take seats which are not theirs.

Corrupt: whoever can reach the server. The honest side: a roster. Its server takes nobody whose name is not on it,
nobody twice, and, where the roster has certificates, nobody without that name's key; a refusal moves no party's row.
Without certificates a name is enough to take a seat that is free: right only where nobody else can reach the server.
Seats that one person holds by right, under several names, are no matter of the protocol: as `Poisoner` each weighs one
report.
"""

from collections.abc import Sequence
from typing import NamedTuple

import trio

from ...protocol.errors import HandshakeError, RemoteProtocolError
from ...protocol.messages import Abort, Hello, Message, Welcome, decode, encode
from ...transports.abc import Transport


class Attempt(NamedTuple):
    """The result of one Hello.

    `answer` is the server's first message; None where it hung up without one.

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
    """Say each Hello on a connection of its own, one after another, and hang up once it was answered.

    Args:
        hellos: in others' names, or in names that were made up; made by hand, or captured.

    Raises:
        OSError: the server cannot be reached.

    Cancelled, it closes its connection at once.
    """
    return [Attempt(hello.party, await _ask(transport, address, hello)) for hello in hellos]


async def _ask(transport: Transport, address: str, hello: Hello) -> Message | None:
    async with await transport.connect(address) as channel:
        try:
            await channel.send([encode(hello)])
            return decode((await channel.receive())[0])
        except HandshakeError as error:  # its key is not one of the roster's
            return Abort.from_error(error)
        except (trio.EndOfChannel, trio.BrokenResourceError, RemoteProtocolError):
            return None
