"""What goes into machines and what comes out: messages that tests make, and effects that they read."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from psephos.protocol import PsephosError, RemoteProtocolError, ServerMachine, Side
from psephos.protocol.effects import Drop, Effect, Fail, Finish, Send
from psephos.protocol.messages import PROTOCOL_VERSION, Abort, Hello, Inquiry, Message, Report, decode
from psephos.protocol.states import CONVERSATION, State

SERVER: Final = "server"
SESSION_NAME: Final = "spring-ballot"


def hello(party: str, /, **changes: Any) -> Hello:
    """Return the Hello that admits `party` to a simulated DPWeVote session, changed as asked."""
    given: dict[str, Any] = {
        "version": PROTOCOL_VERSION,
        "session": SESSION_NAME,
        "protocol": "dpwevote",
        "kind": "simulation",
        "party": party,
        **changes,
    }
    return Hello(**given)


def raw(value: object) -> msgspec.Raw:
    """Return a payload that carries `value`."""
    return msgspec.Raw(msgspec.msgpack.encode(value))


def messages_of(effects: Sequence[Effect]) -> list[tuple[tuple[str, ...], Message]]:
    """Return recipients and message of every `Send`."""
    return [(effect.recipients, effect.message) for effect in effects if isinstance(effect, Send)]


def drop_of(effects: Sequence[Effect]) -> Drop:
    (drop,) = (effect for effect in effects if isinstance(effect, Drop))
    return drop


def failure_of(effects: Sequence[Effect]) -> PsephosError:
    (fail,) = (effect for effect in effects if isinstance(effect, Fail))
    return fail.error


def error_of(effects: Sequence[Effect]) -> PsephosError | None:
    """Return the first error among the effects, a dropped row's or a failure's; None where all went well."""
    for effect in effects:
        if isinstance(effect, (Drop, Fail)):
            return effect.error
    return None


def encoded_values(payload: bytes) -> tuple[int, list[int]]:
    """Return phase and values of an encoded report."""
    message = decode(payload)
    assert isinstance(message, Report)
    return message.step, msgspec.msgpack.decode(message.payload, type=list[int])


def receive_at_server(server: ServerMachine, sender: str, message: Message, *, fingerprint: str = "") -> list[Effect]:
    """Hand a server a message as its agent does: what a connection begins with is checked before any row hears of it.

    A refusal is an `Abort` on that connection, and the connection's end.
    """
    begins = server.state_of(sender) is State.NEW or is_over(Side.SERVER, server.state_of(sender))
    try:
        if isinstance(message, Inquiry) and begins:
            return [Send((sender,), server.answer(message, fingerprint=fingerprint))]
        if isinstance(message, Hello) and begins:
            server.admit(message, fingerprint=fingerprint)
    except RemoteProtocolError as error:
        return [Send((sender,), Abort.from_error(error)), Drop(sender, error)]
    return server.receive(sender, message)


def is_over(side: Side, state: State) -> bool:
    """Whether a conversation has ended."""
    return not CONVERSATION[side][state]


def has_ending(effects: Sequence[Effect]) -> bool:
    """Whether a machine ended, well or badly."""
    return any(isinstance(effect, (Finish, Fail)) for effect in effects)
