"""The terms that a party agreed to before its session, and the check that the server's Welcome has the same.

This is the client's counterpart of the server's `admission`: nothing is reserved, charged or drawn until all terms
agree. An error shows the public values of both sides, field by field. It never shows the party's private row; it says
only that the rows do not fit.
"""

from typing import Any

import msgspec

from .errors import ConfigurationError, MalformedMessageError, RemoteProtocolError, quote
from .messages import PROTOCOL_VERSION, SessionDescriptor, Welcome, decode_payload
from .phases import PhasedProtocol
from .roles import SERVER
from .sides import Party

_PLAIN = msgspec.msgpack.Decoder(dict[str, object])


class Agreement:
    """The terms of a session that one party has agreed to.

    Attributes:
        chosen: the part of the public row that the party chooses and sends in its Hello.

    Raises:
        ConfigurationError: the choice is missing or not allowed.
    """

    __slots__ = ("_party", "_protocol", "chosen", "descriptor")

    def __init__(self, protocol: PhasedProtocol[Any, Any], party: Party, descriptor: SessionDescriptor) -> None:
        self._protocol = protocol
        self._party = party
        self.descriptor = descriptor
        self.chosen = self._choice() if protocol.num_chosen else ()

    def check(self, welcome: Welcome) -> tuple[int, ...]:
        """Return the party's public row if the server's Welcome has the terms that the party agreed to.

        Raises:
            RemoteProtocolError: version, parameters, descriptor or public row differ, or the public row does not fit
                the private row.
        """
        if reason := self._difference(welcome):
            raise RemoteProtocolError(reason, sender=SERVER, role="client")
        return welcome.public

    def _difference(self, welcome: Welcome) -> str:
        """Say what of a Welcome was not agreed to; empty where all was."""
        if welcome.version != PROTOCOL_VERSION:
            return f"{SERVER} speaks version {welcome.version}, this side {PROTOCOL_VERSION}"
        if welcome.parameters != self._protocol.encoded_parameters:
            differing = self._other_parameters(welcome.parameters)
            return f"{SERVER}'s parameters are not those agreed to: {differing}"
        if self.descriptor != welcome.descriptor and not self.descriptor.agrees_with(welcome.descriptor):
            differing = self._other_charter(welcome.descriptor)
            return f"{SERVER}'s session is another one than was agreed to: {differing}"
        if self._party.public is not None and welcome.public != self._party.public:
            return f"{SERVER}'s public row for {self._party.name} is not the one agreed to"
        try:
            self._protocol.check_fit(self._party.row, welcome.public)
        except ConfigurationError as error:
            return f"{SERVER}'s public row for {self._party.name} is none: {error}"
        except ValueError:
            # The reason would reveal which columns of the private row are filled.
            return f"{SERVER}'s public row does not fit {self._party.name}'s own values"
        return ""

    def _choice(self) -> tuple[int, ...]:
        """Return the party's own choice in its public row, checked before any of it leaves."""
        number = self._protocol.num_chosen
        if self._party.public is None:
            allowed = f"given: the party chooses the last {number} of it"
            raise ConfigurationError(field="public", value=self._party.public, allowed=allowed)
        self._protocol.check_public(self._party.public)
        return self._party.public[-number:]

    def _other_charter(self, descriptor: SessionDescriptor) -> str:
        """Say where the server's descriptor is another one."""
        fields = msgspec.structs.asdict(descriptor)
        agreed_fields = {name: value for name, value in msgspec.structs.asdict(self.descriptor).items() if value}
        differing = [name for name, value in agreed_fields.items() if fields[name] != value]
        return "; ".join(f"{name} is {quote(fields[name])}, agreed {quote(agreed_fields[name])}" for name in differing)

    def _other_parameters(self, offered: msgspec.Raw) -> str:
        """Say where the server's parameters differ; they are public on both sides."""
        agreed_parameters = _PLAIN.decode(self._protocol.encoded_parameters)
        try:
            offered_parameters = decode_payload(offered, _PLAIN.decode, sender=SERVER, problem="")
        except MalformedMessageError:
            return "they cannot be read"
        differing = [
            name
            for name in sorted(agreed_parameters.keys() | offered_parameters.keys())
            if agreed_parameters.get(name) != offered_parameters.get(name)
        ]
        if not differing:
            return "they are encoded differently"
        differences = (
            f"{name[:40]} is {quote(offered_parameters.get(name))}, agreed {quote(agreed_parameters.get(name))}"
            for name in differing[:3]
        )
        return "; ".join(differences)
