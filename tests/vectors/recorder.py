"""Writes one session down, message by message and step by step, as a vector has it."""

from collections.abc import Sequence
from typing import Any

import msgspec
from helpers import SERVER, SESSION_NAME, Session, error_of, messages_of, receive_at_server
from masked_sums import MaskedSession
from psephos.protocol.effects import Effect, Finish
from psephos.protocol.integers import encode_row
from psephos.protocol.messages import PROTOCOL_VERSION, Inquiry, Message, Report, encode
from psephos.protocol.privacy import Ledger
from psephos.protocol.views import describe

__all__ = ["Plain", "Recorder", "all_goes_well", "with_a_forged_report"]

Plain = dict[str, Any]


class Recorder:
    """Runs a session step by step and writes down every message and every operation.

    Args:
        session: the session.
        about: what the vector shows, as a sentence.
    """

    def __init__(self, session: Session, about: str) -> None:
        self.session = session
        self.about = about
        self.server = session.server()
        self.clients = {name: session.client(name) for name in session.names}
        self.messages: list[Plain] = []
        self.operations: list[Plain] = []
        self.released: msgspec.Struct | None = None
        self._came_by: dict[str, str] = {}
        self.waiting: list[tuple[int, str, str, Message]] = []
        self._note({"operation": "start", "at": SERVER}, SERVER, self.server.start())

    def start(self, *names: str) -> None:
        for name in names:
            self._note({"operation": "start", "at": name}, name, self.clients[name].start())

    def forge(self, sender: str, recipient: str, message: Message) -> None:
        """Let somebody send in `sender`'s name what its machine would not."""
        self._write(sender, recipient, message, forged=True)

    def deliver(self, sender: str | None = None, recipient: str | None = None) -> None:
        """Deliver the oldest message that is on its way, of this sender and for this recipient if they are named."""
        found = next(entry for entry in self.waiting if sender in {None, entry[1]} and recipient in {None, entry[2]})
        self.waiting.remove(found)
        number, source, target, message = found
        operation: Plain = {"operation": "receive", "at": target, "from": source, "message": number}
        if target == SERVER:
            came_by = self._came_by.get(source, self.session.roster.fingerprint_of(source))
            if came_by:
                operation["fingerprint"] = came_by
            effects = receive_at_server(self.server, source, message, fingerprint=came_by)
        else:
            effects = self.clients[target].receive(source, message)
        self._note(operation, target, effects)

    def come_by(self, party: str, fingerprint: str) -> None:
        """From now on, whoever speaks as this party has another certificate than the roster's; "" for its own again."""
        self._came_by[party] = fingerprint or self.session.roster.fingerprint_of(party)

    def inquire(self, party: str) -> None:
        """Let a party ask for the terms before its machine starts; who asked reads them."""
        self.forge(party, SERVER, Inquiry(PROTOCOL_VERSION, party))
        self.deliver(party)
        self.waiting = [entry for entry in self.waiting if entry[2] != party]

    def restart(self, party: str) -> None:
        """Let a party's process begin anew, with a ledger of its own."""
        self.session.ledgers[party] = Ledger(party)
        self.clients[party] = self.session.client(party)
        self._note({"operation": "restart", "at": party}, party, self.clients[party].start())

    def deliver_last(self) -> None:
        """Deliver what was sent last, before everything else."""
        self.waiting.insert(0, self.waiting.pop())
        self.deliver()

    def deliver_all(self) -> None:
        """Deliver everything in the order in which it was sent."""
        while self.waiting:
            self.deliver()

    def deliver_requests(self) -> None:
        """Deliver what comes before the first reports, where all parties have started: hellos, welcomes, requests."""
        for _ in range(3 * len(self.session.names)):
            self.deliver()

    def expire(self, phase: str) -> None:
        """Let a deadline pass."""
        operation: Plain = {"operation": "timeout", "at": SERVER, "phase": phase}
        self._note(operation, SERVER, self.server.receive_timeout(phase))

    def lose(self, party: str) -> None:
        """Let the server lose a connection, with what is on its way."""
        self.waiting = [entry for entry in self.waiting if party not in entry[1:3]]
        operation: Plain = {"operation": "loss", "at": SERVER, "from": party}
        self._note(operation, SERVER, self.server.receive_loss(party))

    def render(self) -> Plain:
        session = self.session
        private: list[list[int]] = session.inputs.private.tolist()
        public: list[list[int]] = session.inputs.public.tolist()
        return {
            "version": PROTOCOL_VERSION,
            "about": self.about,
            "protocol": session.protocol.name,
            "kind": "simulation",
            "session": SESSION_NAME,
            "seed": session.seed,
            "rules": {"deadline_seconds": session.rules.deadline_seconds, "quorum": session.rules.quorum},
            "parameters": msgspec.to_builtins(session.protocol.parameters),
            "roster": list(session.names),
            "fingerprints": None if session.roster.fingerprints is None else list(session.roster.fingerprints),
            "charter": msgspec.structs.asdict(session.charter),
            **_secrets_of(session),
            "private_rows": private,
            "public_rows": public,
            "messages": self.messages,
            "operations": self.operations,
            "outcome": msgspec.to_builtins(self.released),
        }

    def _note(self, operation: Plain, at: str, effects: Sequence[Effect]) -> None:
        error = error_of(effects)
        operation["success"] = error is None
        if error is not None:
            operation["error"] = type(error).__name__
            operation["reason"] = str(error)
        operation["sends"] = [
            self._write(at, recipient, message, forged=False)
            for recipients, message in messages_of(effects)
            for recipient in recipients
        ]
        for effect in effects:
            if isinstance(effect, Finish):
                operation["finishes"] = True
                if at != SERVER:
                    assert self.released in {None, effect.result}
                    self.released = effect.result
        self.operations.append(operation)

    def _write(self, sender: str, recipient: str, message: Message, *, forged: bool) -> int:
        described = describe(message)
        entry: Plain = {
            "type": described.pop("type"),
            "from": sender,
            "to": recipient,
            "bytes": encode(message).hex(),
            "fields": described,
        }
        if forged:
            entry["forged"] = True
        number = len(self.messages)
        self.messages.append(entry)
        self.waiting.append((number, sender, recipient, message))
        return number


def _secrets_of(session: Session) -> Plain:
    """Return what masked sessions have beside: keys of signatures, public and private, and roots of secrets."""
    if not isinstance(session, MaskedSession):
        return {}
    own = {"signature_keys": session.roster.keys, "private_keys": session.private_keys, "roots": session.roots}
    return {name: [each.hex() for each in keys or ()] for name, keys in own.items()}


def all_goes_well(session: Session, about: str) -> Recorder:
    """Record a session in which everybody follows the protocol."""
    recorder = Recorder(session, about)
    recorder.start(*recorder.session.names)
    recorder.deliver_all()
    return recorder


def with_a_forged_report(
    session: Session, about: str, party: str, values: Sequence[int], *, width: int = 0
) -> Recorder:
    """Record a session in which all are asked, and one party's report has these values.

    Args:
        session: the session.
        about: what it shows.
        party: whose report it is.
        values: what it says.
        width: the bytes of each; 0 for those of the phase.
    """
    payload = encode_row(values, width=width or session.protocol.phases[0].codec.number_bytes)
    recorder = Recorder(session, about)
    recorder.start(*session.names)
    recorder.deliver_requests()
    recorder.forge(party, SERVER, Report(0, msgspec.Raw(payload)))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder
