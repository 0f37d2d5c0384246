"""Masked phases in a session: the payloads of their requests and reports, on either side.

All parties hold the same roster of keys. Its digest is in the session descriptor on which all agreed. A server sends
the roster with its first request, and a party leaves if the digest differs.

A party with records stores the root of its secrets in them before it sends its public keys. The root is sealed by a key
that is not in the records. So after a restart the party sends the same bytes, or nothing, and a mask never covers two
different values.
"""

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from .arrays import IntArray
from .effects import LiarNamed
from .errors import ConfigurationError, JournalError, MalformedMessageError, RemoteProtocolError, require
from .masking import (
    BOX_BYTES,
    DEEDS,
    IN_DISPUTE,
    KEY_BYTES,
    LEAF_BYTES,
    MARK_BYTES,
    SIGNATURE_BYTES,
    Boxes,
    Check,
    Confirmation,
    Confirmations,
    Deal,
    Disputes,
    Excluded,
    HeldBox,
    Keys,
    Liars,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    MaskingServer,
    NeighborKeys,
    PartyMessage,
    Piece,
    Primitives,
    Shares,
    Survivors,
)
from .messages import NIL, Report, Request, decode_payload, encode
from .phases import MaskedPhase, Phase, PhasedProtocol, Step
from .roles import SERVER
from .roster import Roster, SeededRoster, SigningRoster
from .sides import Party, SessionMode

_HEARD: Final[Mapping[MaskingMove, Any]] = {
    MaskingMove.KEYS: SeededRoster,
    MaskingMove.SHARES: NeighborKeys,
    MaskingMove.CHECK: Boxes,
    MaskingMove.ACCUSE: Disputes,
    MaskingMove.MASKED: Excluded,
    MaskingMove.CONFIRM: Survivors,
    MaskingMove.UNMASK: Confirmations,
    MaskingMove.OPEN: Liars,
}
"""The payload type of each step's request. Boxes, disputes and messages for neighbors differ between parties."""
_NUMBERS: Final = {move: number for number, move in enumerate(_HEARD)}


def masking_rules(
    protocol: PhasedProtocol[Any, Any],
    phase: MaskedPhase,
    signing: SigningRoster,
    mode: SessionMode,
    *,
    seed: bytes = b"",
) -> MaskingRules:
    """Return the rules of a masked phase of a session. See `MaskingRules` for the errors.

    Parties sign the parameters, so if a server gives them different ones, no party proceeds to its masked row.
    """
    agreed = [protocol.name, bytes(protocol.encoded_parameters), mode.session, mode.descriptor.roster]
    return MaskingRules(
        session=mode.descriptor.id,
        phase=phase.name,
        names=signing.names,
        keys=signing.keys,
        threshold=phase.threshold,
        colluders=phase.colluders,
        width=phase.num_values,
        circle=phase.circle_of(len(signing.names), seed),
        agreed=hashlib.sha256(msgspec.msgpack.encode(agreed)).digest(),
    )


def _primitives(phase: MaskedPhase, mode: SessionMode) -> Primitives:
    require(mode.descriptor.id, "session id", "", f"given: phase {phase.name!r} is masked, for one session alone")
    if (primitives := mode.primitives) is None:
        allowed = f"a mode of agents: phase {phase.name!r} is masked, by cryptography"
        raise ConfigurationError(field="mode", value=type(mode).__name__, allowed=allowed)
    return primitives


def _raw(value: msgspec.Struct) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(value))


class ServerMasking:
    """The server's part of a masked phase: a `MaskingServer` whose messages are payloads of requests.

    Attributes:
        payload: the next request's payload for all parties.
        own_payloads: the next request's payloads for single parties, by roster index.

    Raises:
        ConfigurationError: the roster has no signature keys, differs from the descriptor's, or does not fit the phase.
        ValueError: the roster does not fit into a message.
    """

    def __init__(
        self,
        protocol: PhasedProtocol[Any, Any],
        phase: MaskedPhase,
        roster: Roster,
        mode: SessionMode,
        *,
        secret: bytes,
    ) -> None:
        primitives = _primitives(phase, mode)
        if (signing := roster.signing_roster) is None:
            allowed = f"one whose parties all have enrolled, with keys of signatures: phase {phase.name!r} is masked"
            raise ConfigurationError(field="roster", value="without keys of signatures", allowed=allowed)
        allowed = f"{roster.digest!r}, the digest of a roster with keys, as all parties of a masked phase agree to it"
        require(mode.descriptor.roster == roster.digest, "descriptor.roster", mode.descriptor.roster, allowed)
        phase.check_parties(len(roster))
        self._phase, seed = phase, b""
        if phase.is_sparse:  # derived from the secret, so that it is the same after a restart
            root = secret or mode.noise.entropy(protocol=protocol.name, phase=f"circle of {phase.name}", place=0)
            seed = primitives.derive(root, f"circle of {mode.descriptor.id}".encode(), KEY_BYTES)
            signing = SeededRoster(signing.others, signing.names, signing.keys, seed)
        self._rules = masking_rules(protocol, phase, signing, mode, seed=seed)
        self._server = MaskingServer(self._rules, primitives)
        self._num_named = self._num_known = 0  # cheaters reported so far, and before a restart
        self._keys: dict[int, Keys] = {}
        self.payload = _raw(signing)
        self.own_payloads: Mapping[int, msgspec.Raw] = {}
        try:
            encode(Request(0, self.payload))
        except ValueError as error:
            value = f"{len(signing.names)} names of {max(map(len, signing.names))} letters at most"
            allowed = f"fewer, or shorter ones: all of them, and their keys, are one message ({error})"
            raise ConfigurationError(field="roster", value=value, allowed=allowed) from None

    def receive(self, place: int, message: PartyMessage) -> None:
        """Take an answer in the open step; see `MaskingServer.receive`."""
        self._server.receive(place, message)
        if isinstance(message, Keys):
            self._keys[place] = message

    @property
    def next_step(self) -> int:
        """The number of the step that is open, or opens next; how many there are, where none does."""
        return len(_NUMBERS) if self._server.step is None else _NUMBERS[self._server.step]

    @property
    def asked_places(self) -> frozenset[int]:
        """The places of those of whom that step asks something."""
        return self._server.asked

    def take_named(self) -> list[LiarNamed]:
        """Return who was found to have lied since this was asked last."""
        first, self._num_named = self._num_named, len(self._server.named)
        rules = self._rules.describe()
        return [
            LiarNamed(
                self._rules.names[place],
                DEEDS[type(evidence)],
                msgspec.json.encode({"rules": rules, "evidence": evidence}),
                number < self._num_known,
            )
            for number, (place, evidence) in enumerate(self._server.named[first:], start=first)
        ]

    def note_named(self) -> None:
        """Take note, as records are read, that all who were named so far have been told of."""
        self._num_known = len(self._server.named)

    def close(self) -> tuple[IntArray, IntArray] | None:
        """Close the open step; after the last, return the roster indices of the parties in the sum, and the sum.

        Raises:
            QuorumError, RemoteProtocolError: as `MaskingServer.close`; then the sum stays masked.
        """
        messages = self._server.close()
        self.payload, self.own_payloads = NIL, {}
        step = self._server.step
        if step is None:
            survivors = np.array(self._server.survivors, dtype=np.int64)
            return survivors, np.array(self._server.total, dtype=np.int64)
        if _is_own(self._phase, step):
            self.own_payloads = {place: _raw(theirs) for place, theirs in messages.items()}
        elif step is MaskingMove.SHARES:
            self.payload = _raw(NeighborKeys(tuple((place, self._keys[place]) for place in messages)))
        else:
            self.payload = _raw(next(iter(messages.values())))  # the same for all parties
        return None


class PartyMasking:
    """One party's part of a masked phase: a `MaskingParty` whose messages are payloads of requests and reports.

    Raises:
        ConfigurationError: the party has no signature key, or its descriptor lacks a roster of keys or a session id.
    """

    def __init__(
        self, protocol: PhasedProtocol[Any, Any], phase: MaskedPhase, party: Party, mode: SessionMode, *, is_kept: bool
    ) -> None:
        self._primitives = _primitives(phase, mode)
        self._protocol, self._phase, self._party, self._mode = protocol, phase, party, mode
        about = f"phase {phase.name!r} is masked, among parties who know each other's keys"
        require(mode.descriptor.roster, "descriptor.roster", "", f"First agree on a roster: {about}.")
        if party.sign is None:
            allowed = f"enrolled (psephos enroll), with a key of signatures: {about}"
            raise ConfigurationError(field="party", value=party.name, allowed=allowed)
        allowed = "a journal beside a private key, which seals what it may not tell: a masked session needs both"
        require(party.secret or not is_kept, "journal", "without a key", allowed)
        self._sign = party.sign
        address = {"protocol": protocol.name, "phase": phase.name, "place": party.place}
        self._entropy: Callable[[], bytes] = functools.partial(mode.noise.entropy, **address)
        self._part: MaskingParty | None = None
        self._seal_domain = b""  # the session to which the seal is bound
        self.sealed = b""
        """The sealed root of its secrets, for its records; empty before its first answer, and without records."""

    def answer(self, step: Step, request: Request, draw: Callable[[], Sequence[int]]) -> PartyMessage:
        """Return the party's answer in a step.

        Args:
            draw: charges the phase's losses and draws the row with noise; called only if the request is valid.

        Raises:
            RemoteProtocolError: an honest server could not have sent this request; the party answers no more.
        """
        content = _read_request(step, request)
        if isinstance(content, SeededRoster):
            root = self._entropy()
            self._begin(content, root)
            self.sealed = self._seal(root) if self._party.secret else b""
        return self._say(content, draw)

    def restore(self, exchanges: Sequence[tuple[Request, Report] | None], sealed: bytes) -> None:
        """Restore the state at the end of the records, and check that the party would send the same answers again.

        Raises:
            JournalError: an answer differs, or the secrets are sealed by another key.
        """
        for request, report in filter(None, exchanges):
            step = self._phase.steps[request.step]
            try:
                content = _read_request(step, request)
                if isinstance(content, SeededRoster):
                    self._begin(content, None, sealed)
                answer = self._say(content, None)
            except (RemoteProtocolError, ValueError) as error:
                raise JournalError(f"has secrets of a masked phase that cannot be read: {error}") from None
            if answer is not None and bytes(step.codec.encode(answer)) != bytes(report.payload):
                raise JournalError(f"has another answer in step {step.name!r} than its secrets lead to")
        self.sealed = sealed

    def _say(self, content: Any, draw: Callable[[], Sequence[int]] | None) -> Any:
        """Return the party's answer; None for a masked row that was sent before, if nothing draws one."""
        part = self._part
        assert part is not None  # noqa: S101  the first step has begun it
        match content:
            case SeededRoster():
                return part.keys()
            case NeighborKeys(keys):
                return part.shares(NeighborKeys(tuple(item for item in keys if item[0] != self._party.place)))
            case Boxes():
                return part.check(content)
            case Disputes():
                return part.accuse(content)
            case Excluded():
                return part.has_masked(content) if draw is None else part.mask(content, draw)
            case Survivors():
                return part.confirm(content)
            case Confirmations():
                return part.unmask(content)
            case _:
                return part.open(content)

    def _begin(self, signing: SeededRoster, root: bytes | None, sealed: bytes = b"") -> None:
        """Begin with a roster, and a new root or a sealed one.

        Raises:
            RemoteProtocolError: the roster is not the one agreed on, or the party has another index in it.
            ValueError: the seal does not open with this key.
        """
        party, place = self._party, self._party.place
        if signing.digest != self._mode.descriptor.roster or signing.names[place : place + 1] != (party.name,):
            raise self._fault(f"{SERVER}'s roster of keys is not the one agreed to")
        try:
            self._phase.check_parties(len(signing.names))
            rules = masking_rules(self._protocol, self._phase, signing, self._mode, seed=signing.seed)
        except ConfigurationError as error:
            raise self._fault(f"{SERVER}'s roster does not fit what was agreed to: {error}") from None
        self._seal_domain = rules.domain("sealed root", place)
        own_root = self._open(sealed) if root is None else root
        self._part = MaskingParty(rules, place, root=own_root, sign=self._sign, primitives=self._primitives)

    def _seal(self, root: bytes) -> bytes:
        salt = self._primitives.derive(self._entropy(), self._seal_domain, KEY_BYTES)  # each key seals only once
        return salt + self._primitives.seal(self._key_of_seal(salt), root, self._seal_domain)

    def _open(self, sealed: bytes) -> bytes:
        salt, box = sealed[:KEY_BYTES], sealed[KEY_BYTES:]
        return self._primitives.open(self._key_of_seal(salt), box, self._seal_domain)

    def _key_of_seal(self, salt: bytes) -> bytes:
        return self._primitives.derive(self._party.secret, self._seal_domain + salt, KEY_BYTES)

    def _fault(self, reason: str) -> RemoteProtocolError:
        return RemoteProtocolError(reason, sender=SERVER, role="client", message_type="Request")


def _is_own(phase: Phase, move: MaskingMove) -> bool:
    """Return whether the question of a step is for one party alone: boxes, disputes, and what it hears of neighbors."""
    is_sparse = isinstance(phase, MaskedPhase) and phase.is_sparse
    return move in {MaskingMove.CHECK, *IN_DISPUTE} or (is_sparse and move in {MaskingMove.SHARES, MaskingMove.UNMASK})


def _read_request(step: Step, request: Request) -> Any:
    """Decode the request of a masked phase's step; MalformedMessageError if it is no such request."""
    assert step.move is not None  # noqa: S101  of a masked phase
    problem = f"{SERVER}'s request of phase {request.step} carries what nobody announces"
    payload, empty = request.payload, request.own
    if _is_own(step.phase, step.move):
        payload, empty = empty, payload
    if empty != NIL:
        raise MalformedMessageError(problem, sender=SERVER, role="client", message_type="Request")
    return decode_payload(payload, msgspec.msgpack.Decoder(_HEARD[step.move]).decode, sender=SERVER, problem=problem)


def masked_sizes(phase: MaskedPhase, names: Sequence[str]) -> list[tuple[int, int] | None]:
    """Return the bytes that all parties send and receive in each step if nobody leaves or cheats.

    None for a step of a dispute, which is then skipped.
    """
    number, key, signature = len(names), bytes(KEY_BYTES), bytes(SIGNATURE_BYTES)
    circle = phase.circle_of(number, seed := key if phase.is_sparse else b"")
    near = number - 1 if circle is None else circle.degree
    other_names, keys = tuple(names), Keys(key, key, signature)
    roster = SigningRoster("0" * 64, other_names, (key,) * number)
    if circle is not None:
        roster = SeededRoster(roster.others, other_names, roster.keys, seed)
    box, leaves, mark = bytes(BOX_BYTES), bytes(3 * LEAF_BYTES), bytes(MARK_BYTES)
    pieces = (*(Piece(0, leaves, key, box),) * near, Piece(0, leaves, key, b""))
    # The messages of each step, each with the number of its lists that contain a given party's index.
    messages: dict[MaskingMove, tuple[msgspec.Raw, int]] = {
        MaskingMove.KEYS: (_raw(keys), 0),
        MaskingMove.SHARES: (_raw(Deal(key, key, pieces)), near + 1),
        MaskingMove.CHECK: (_raw(Check(key, key, (), signature, signature)), 0),
        MaskingMove.MASKED: (phase.codec.encode(phase.least_report), 0),
        MaskingMove.CONFIRM: (_raw(Confirmation(signature)), 0),
        MaskingMove.UNMASK: (_raw(Shares(((0, True, key),) * (near + 1), signature)), near + 1),
    }
    neighbors = near + (circle is None)  # without a circle, all parties receive one common list
    requests: dict[MaskingMove, tuple[msgspec.Raw, int]] = {
        MaskingMove.KEYS: (_raw(roster), 0),
        MaskingMove.SHARES: (_raw(NeighborKeys(((0, keys),) * neighbors)), neighbors),
        MaskingMove.CHECK: (_raw(Boxes((HeldBox(0, box, mark, mark),) * near)), near),
        MaskingMove.MASKED: (_raw(Excluded(())), 0),
        MaskingMove.CONFIRM: (_raw(Survivors(tuple(range(number)))), 0),
        MaskingMove.UNMASK: (_raw(Confirmations(((0, signature),) * (near + 1))), near + 1),
    }
    # From each of these numbers on, an index takes one byte more.
    longer = sum(max(number - first, 0) for first in (1 << 7, 1 << 8))
    sizes: list[tuple[int, int] | None] = []
    for place, move in enumerate(_HEARD):
        if move in IN_DISPUTE:
            sizes.append(None)
            continue
        (up, many_up), (down, many_down) = messages[move], requests[move]
        request = Request(place, NIL, down) if _is_own(phase, move) else Request(place, down)
        of_all = number * len(encode(Report(place, up))) + many_up * longer
        sizes.append((of_all, number * len(encode(request)) + many_down * longer))
    return sizes
