"""Writes one session down, message by message and step by step, as a vector has it."""

import json
from collections.abc import Sequence
from typing import Any, Final, cast

import msgspec
from helpers import SERVER, SESSION_NAME, Session, error_of, messages_of, receive_at_server
from masked_sums import MaskedSession
from psephos.protocol import ClientMachine, ServerMachine
from psephos.protocol.effects import Effect, Finish, Keep, LiarNamed
from psephos.protocol.integers import encode_row
from psephos.protocol.messages import PROTOCOL_VERSION, Hello, Inquiry, Message, Report, encode
from psephos.protocol.privacy import Ledger
from psephos.protocol.records import Drawn
from psephos.protocol.views import describe

Plain = dict[str, Any]
SECRET: Final = b"by which the server knows its own word"
"""Of servers with a journal."""
_MOST_IN_JSON: Final = (1 << 53) - 1
"""The greatest integer that all readers of JSON hold exactly."""


def in_json(value: Any) -> Any:
    """Return plain data as a vector has it: bytes in hexadecimal, integers beyond 2**53 - 1 as text."""
    if isinstance(value, dict):
        return {key: in_json(each) for key, each in cast("Plain", value).items()}
    if isinstance(value, (list, tuple)):
        return [in_json(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, int) and abs(value) > _MOST_IN_JSON else value


class Journals:
    """What a session's machines have kept, and machines that are made from it; of a session without journals, nothing.

    Args:
        secret: the server's.
    """

    def __init__(self, session: Session, *, is_durable: bool, secret: bytes = SECRET) -> None:
        self._session = session
        self._secret = secret
        self._of: dict[str, list[Any]] | None = {name: [] for name in (SERVER, *session.names)} if is_durable else None

    def server(self) -> ServerMachine:
        """Return a server that goes on from its journal."""
        if self._of is None:
            return self._session.server()
        return self._session.server(records=tuple(self._of[SERVER]), secret=self._secret)

    def client(self, name: str) -> ClientMachine:
        """Return a client that goes on from its journal, with a ledger that has what was drawn."""
        records = None if self._of is None else tuple(self._of[name])
        entries = [entry for record in records or () if isinstance(record, Drawn) for entry in record.entries]
        self._session.ledgers[name] = Ledger(name, entries=entries)
        return self._session.client(name, records=records)

    def keep(self, name: str, effects: Sequence[Effect]) -> None:
        """Keep what a machine asks to be kept."""
        if self._of is not None:
            self._of[name] += [effect.record for effect in effects if isinstance(effect, Keep)]

    def forget(self, name: str, number: int) -> None:
        """Let a journal be an older copy, with so many records."""
        if self._of is not None:
            del self._of[name][number:]

    def __bool__(self) -> bool:
        return self._of is not None


class Recorder:
    """Runs a session step by step and writes down every message and every operation.

    Args:
        session: the session.
        about: what the vector shows, as a sentence.
        is_durable: whether server and parties have journals.
    """

    def __init__(self, session: Session, about: str, *, is_durable: bool = False) -> None:
        self.session = session
        self.about = about
        self._journals = Journals(session, is_durable=is_durable)
        self.server = self._journals.server()
        self.clients = {name: self._journals.client(name) for name in session.names}
        self.messages: list[Plain] = []
        self.operations: list[Plain] = []
        self.released: msgspec.Struct | None = None
        self._came_by: dict[str, str] = {}
        self._lost: set[str] = set()
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
            if isinstance(message, Hello):
                self._lost.discard(source)
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

    def restart(self, at: str, *, records: int | None = None) -> None:
        """Let a process begin anew, from its journal where it has one, or from the first so many records of it."""
        operation: Plain = {"operation": "restart", "at": at}
        if records is not None:
            operation["records"] = records
            self._journals.forget(at, records)
        if at == SERVER:
            self.waiting.clear()
            self._lost.update(self.session.names)
            self.server = self._journals.server()
            self._note(operation, at, self.server.start())
        else:
            self.clients[at] = self._journals.client(at)
            self._note(operation, at, self.clients[at].start())

    def come_back(self, party: str, *, records: int | None = None) -> None:
        """Let a party's process be lost with what is on its way, and begin anew."""
        self.lose(party)
        self.restart(party, records=records)

    def deliver_last(self) -> None:
        """Deliver what was sent last, before everything else."""
        self.waiting.insert(0, self.waiting.pop())
        self.deliver()

    def deliver_until(self, kind: str, sender: str, *, phase: int | None = None) -> None:
        """Deliver the oldest messages, until a party has said something of a kind."""
        while not any(
            (entry["type"], entry["from"]) == (kind, sender) and phase in {None, entry["fields"].get("phase")}
            for entry in self.messages
        ):
            self.deliver()

    def deliver_between(self, party: str) -> None:
        """Deliver what a party and the server say to each other, while all others wait."""
        while any(party in entry[1:3] for entry in self.waiting):
            found = next(entry for entry in self.waiting if party in entry[1:3])
            self.deliver(*found[1:3])

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
        self._lost.add(party)
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
            "descriptor": msgspec.structs.asdict(session.descriptor),
            **({"secret": SECRET} if self._journals else {}),
            **_secrets_of(session),
            "private_rows": private,
            "public_rows": public,
            "messages": self.messages,
            "operations": self.operations,
            "outcome": msgspec.to_builtins(self.released),
            "digests": {each.party: each.transcript for each in self.clients.values()}
            | {SERVER: self.server.transcript},
        }

    def _note(self, operation: Plain, at: str, effects: Sequence[Effect]) -> None:
        self._journals.keep(at, effects)
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
        named = [{"party": each.party, **json.loads(each.evidence)} for each in effects if isinstance(each, LiarNamed)]
        if named:
            operation["names"] = named
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
        if recipient not in self._lost:
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
