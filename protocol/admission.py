"""Admission to a session: the terms for a party that asks, the welcome for a party that joins, or a refusal.

This module compares a party's message with the server's session and roster. The machine decides whether the party comes
in time.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from .arrays import IntArray
from .errors import ConfigurationError, RemoteProtocolError, quote
from .integers import bytes_of
from .messages import (
    MAX_GREETING_BYTES,
    MAX_RECEIPT_BYTES,
    PROTOCOL_VERSION,
    Acknowledgement,
    Hello,
    Inquiry,
    Release,
    SessionDescriptor,
    Terms,
    Welcome,
    encode,
    encode_payload,
)
from .phases import PhasedProtocol
from .roster import Roster
from .sides import SessionMode

_WIDEST_CHOICE: Final = -(1 << 63)
_MOST: Final = (1 << 64) - 1
_WIDEST_CHARTER: Final = SessionDescriptor("0" * 32, "0" * 64, _MOST)


class Admission:
    """The admission checks of one session.

    Attributes:
        public: the public rows of all parties, int64, shape (n, public columns); with the choices of those that joined.
        welcome: the Welcome for every party, without its public row.

    Raises:
        ValueError: the parameters, or a release, would not fit into a message, or a Hello into `MAX_GREETING_BYTES`.

    Examples:
        >>> import numpy as np
        >>> from psephos.protocol import SimulatedNoise
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote, roster = DPWeVote(Parameters(candidates=("tea",))), Roster(["ann"], np.empty((1, 0), dtype=int))
        >>> door = Admission(vote, roster, SessionMode("council", SimulatedNoise(1, session="council")))
        >>> door.answer(Inquiry(PROTOCOL_VERSION, "ann"), fingerprint="").session
        'council'
    """

    __slots__ = ("_choices", "_expected_fields", "_protocol", "_roster", "_terms", "public", "welcome")

    def __init__(self, protocol: PhasedProtocol[Any, Any], roster: Roster, mode: SessionMode) -> None:
        session, kind, descriptor = mode.session, mode.kind, mode.descriptor
        self._protocol = protocol
        self._roster = roster
        self._choices: dict[int, tuple[int, ...]] = {}
        self.public = roster.public.copy() if protocol.num_chosen else roster.public
        self._expected_fields = (protocol.name, session, kind.value, descriptor.id)
        parameters = protocol.encoded_parameters
        self.welcome = Welcome.make(protocol, descriptor=descriptor)
        last = len(roster) - 1
        self._terms = Terms(
            PROTOCOL_VERSION, session, protocol.name, kind.value, parameters, last, descriptor=descriptor
        )
        check_sizes(protocol, roster.public, terms=self._terms, descriptor=descriptor)
        longest = max(map(str.encode, roster.names), key=len).decode()
        widest = (_WIDEST_CHOICE,) * protocol.num_chosen
        hello = Hello.make(protocol, longest, session=session, kind=kind, descriptor=descriptor, chosen=widest)
        hello = msgspec.structs.replace(
            hello, num_reports=_MOST, shown=Acknowledgement(_MOST, bytes(MAX_RECEIPT_BYTES))
        )
        num_bytes = len(encode(hello))
        if num_bytes > MAX_GREETING_BYTES:
            size_text = f"that of {quote(longest)} would have {num_bytes}"
            raise ValueError(f"a Hello may have {MAX_GREETING_BYTES} bytes, {size_text}")

    def answer(self, inquiry: Inquiry, *, fingerprint: str) -> Terms:
        """Return the session's terms for a party with a certificate of this fingerprint.

        Raises:
            StrangerError: the party is not on the roster, or the certificate is another one's.
            RemoteProtocolError: the version differs.
        """
        place = self._check_party(inquiry, fingerprint)
        self._check_version(inquiry)
        return msgspec.structs.replace(self._terms, place=place, public=self.public_row(place))

    def check(self, hello: Hello, *, fingerprint: str) -> None:
        """Check that a party means this session, and is the party that it claims to be.

        Raises:
            StrangerError: the party is not on the roster, or the certificate is another one's. This is checked first,
                so that an unauthenticated peer learns nothing else.
            RemoteProtocolError: version, session, its id, protocol or kind differ; or the party's choice is not
                allowed, or differs from its earlier one.
        """
        place = self._check_party(hello, fingerprint)
        if hello.version != PROTOCOL_VERSION:
            self._check_version(hello)
        if (hello.protocol, hello.session, hello.kind, hello.session_id) != self._expected_fields:
            reason = self._why_another(hello)
        elif not hello.chosen and not self._protocol.num_chosen:
            return
        elif reason := self._why_not_chosen(place, hello.chosen):
            reason = f"{quote(hello.party)} {reason}"
        else:
            return
        raise RemoteProtocolError(reason, sender=hello.party, role="server", message_type="Hello")

    def choose(self, place: int, chosen: Sequence[int]) -> bool:
        """Record the choice of the party at a roster index; return whether it is new.

        Raises:
            ValueError: the choice is not allowed, or differs from the party's earlier one.
        """
        if not chosen and not self._protocol.num_chosen:
            return False
        if reason := self._why_not_chosen(place, chosen):
            raise ValueError(f"{self._roster.names[place]} {reason}")
        if place in self._choices:
            return False
        self._choices[place] = tuple(chosen)
        self.public[place, -self._protocol.num_chosen :] = chosen
        return True

    def welcome_of(self, place: int) -> Welcome:
        """Return the Welcome for the party at this place."""
        if not self.public.shape[1]:
            return self.welcome
        return msgspec.structs.replace(self.welcome, public=self.public_row(place))

    def public_row(self, place: int) -> tuple[int, ...]:
        """Return the public row of the party at this place; empty where the protocol has no public columns."""
        return tuple(self.public[place].tolist())

    def _why_not_chosen(self, place: int, chosen: Sequence[int]) -> str:
        """Return why a party may not choose this, as the rest of a sentence; empty where it may."""
        number = self._protocol.num_chosen
        if len(chosen) != number:
            return f"chooses {len(chosen)} numbers of its public row, the protocol leaves it {number}"
        if tuple(chosen) == self._choices.get(place, tuple(chosen)):
            row = self.public_row(place)
            try:
                self._protocol.check_public((*row[: len(row) - number], *chosen))
            except ConfigurationError as error:
                return f"chooses what is not allowed: {error}"
            return ""
        return "chose otherwise as it joined, and is held to that"

    def _why_another(self, hello: Hello) -> str:
        """Return the reason why a party means another session: the first field that differs, or the id."""
        hello_fields = (hello.protocol, hello.session, hello.kind)
        for field, theirs, ours in zip(
            ("protocol", "session", "kind"), hello_fields, self._expected_fields, strict=False
        ):
            if theirs != ours:
                return f"the server's {field} is {ours!r}, {quote(hello.party)} came with {quote(theirs)}"
        return f"{quote(hello.party)} came with the id of another session"

    def _check_version(self, message: Hello | Inquiry) -> None:
        if message.version != PROTOCOL_VERSION:
            reason = f"the server's version is {PROTOCOL_VERSION}, {quote(message.party)} came with {message.version}"
            name = type(message).__name__
            raise RemoteProtocolError(reason, sender=message.party, role="server", message_type=name)

    def _check_party(self, message: Hello | Inquiry, fingerprint: str) -> int:
        try:
            return self._roster.check(message.party, fingerprint)
        except RemoteProtocolError as error:
            error.message_type = type(message).__name__
            raise


def check_sizes(
    protocol: PhasedProtocol[Any, Any],
    public: IntArray,
    *,
    terms: Terms | None = None,
    descriptor: SessionDescriptor = _WIDEST_CHARTER,
) -> None:
    """Raise ValueError if a message to parties with these public rows could exceed the limit.

    Examples:
        >>> import numpy as np
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> check_sizes(DPWeVote(Parameters(candidates=("tea",))), np.empty((3, 0), dtype=int))
    """
    widest: tuple[int, ...] = tuple(public[bytes_of(public).sum(axis=1).argmax()].tolist())
    encode(Welcome.make(protocol, public=widest, descriptor=descriptor))
    if terms is not None:
        encode(msgspec.structs.replace(terms, public=widest))
    if (largest := protocol.largest_outcome(len(public))) is not None:
        encode(Release(encode_payload(largest)))
