"""Draw up a session: a folder for its server, and an invitation for each party.

Before any message, both sides have the same descriptor (session id, digest of the roster, time of expiry) and each
other's certificate.
"""

import dataclasses
import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from ...agents.modes import draw_session_id
from ...protocol.errors import ConfigurationError, did_you_mean, join_names, quote, refuse, require
from ...protocol.messages import SessionDescriptor
from ...protocol.phases import PhasedProtocol
from ...protocol.roles import SessionKind, check_party_name
from ...protocol.roster import Roster
from ...transports.keys import Identity, fingerprint_of, make_identity, read_certificate
from ...transports.own_files import replace_private, write_private
from ..reading.files import check_regular, readable
from ..running.rosters import PARAMETERS_FILE, ROSTER_FILE
from .common import TLSKeys, utc
from .keys import Enrollment, check_days, check_enrollments, find_key, read_certificates, slug_of

SERVER_KEY_FILE: Final = "server.pem"
"""File of the server's private key and certificate, in its folder."""
_OPENING_FILE: Final = "session.json"
_CERTIFICATES_FILE: Final = "certificates.pem"
_REVOKED_FILE: Final = "revoked.json"
REGISTRATION_FILE: Final = "registration.json"
INVITATIONS: Final = "invitations"
"""Folder of invitations, in the server's folder."""
_SECONDS_OF_DAY: Final = 86_400
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Invitation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A party's invitation: the agreed terms and the server's certificate. Confidential if it contains a key.

    Args:
        protocol: the protocol's registered name.
        kind: "deployment" or "simulation".
        party: the invited party.
        place: the party's index in the roster, from 0; addresses simulated noise.
        public: the party's public row, as on the server.
        session_id: 128 random bits; empty for a simulation, which derives it from the seed.
        roster: the roster's digest (`Roster.digest`).
        expires: time after which no party may take part, in seconds since 1970 (UTC); 0 for never.
        address: the server's address.
        server: the server's certificate, in PEM; empty if certificates are not used.
        certificate: the fingerprint of the party's certificate.
        key: the party's private key and certificate, in PEM, if the organizer made them.
        forecast: a warning for the party if the session's accuracy is low, as a sentence.

    Examples:
        >>> terms = {"session": "tea", "protocol": "dpwevote", "kind": "simulation", "parameters": {}}
        >>> Invitation(**terms, party="ann", place=0)
        Invitation(session='tea', party='ann')
    """

    session: str
    protocol: str
    kind: str
    parameters: dict[str, Any]
    party: str
    place: _Count
    public: tuple[int, ...] = ()
    session_id: str = ""
    roster: str = ""
    expires: _Count = 0
    address: str = ""
    server: str = ""
    certificate: str = ""
    key: str = ""
    forecast: str = ""

    def __repr__(self) -> str:
        return f"Invitation(session={self.session!r}, party={self.party!r})"  # without the key, which is private

    @property
    def descriptor(self) -> SessionDescriptor:
        """The descriptor that identifies the session."""
        return SessionDescriptor(self.session_id, self.roster, self.expires)

    def find_keys(self, candidates: Sequence[Path]) -> TLSKeys:
        """Return the party's key, from the invitation, or else from the first candidate that has it.

        Args:
            candidates: files, or folders of `enroll`.

        Raises:
            ConfigurationError: no candidate has it, or the invitation's key is invalid.
        """
        try:
            peers = (read_certificate(self.server)[0],)
            identity = Identity.from_text(self.key) if self.key else find_key(self.certificate, candidates)
        except ValueError as error:
            allowed = f"an invitation with certificates, or --transport tcp on one machine ({error})"
            raise ConfigurationError(field="INVITATION", value=self.party, allowed=allowed) from None
        if identity is None:
            looked = ", ".join(map(str, candidates))
            allowed = f"given: the folder of the keys of {self.party!r}, with certificate {self.certificate[:16]}…"
            raise ConfigurationError(field="--key", value=f"no such key in {looked}", allowed=allowed)
        return TLSKeys(identity, peers)


class ServerSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A server's session, in addition to scenario and roster; its fields equal those of all invitations."""

    session: str
    kind: str
    session_id: str
    roster: str
    expires: _Count
    address: str

    @property
    def descriptor(self) -> SessionDescriptor:
        """The descriptor that identifies the session."""
        return SessionDescriptor(self.session_id, self.roster, self.expires)

    def check(self, *, session: str, kind: SessionKind, roster: Roster) -> None:
        """Raise ConfigurationError unless these terms were drawn up, since parties would refuse others."""
        for field, own_value, asked_value in (
            ("SCENARIO", session, self.session),
            ("--simulate", kind.value, self.kind),
            (ROSTER_FILE, roster.digest, self.roster),
        ):
            allowed = (
                f"The invitations are to {quote(asked_value)}, not to {quote(own_value)}. "
                "Serve that, or draw up a new roster."
            )
            if field == ROSTER_FILE:
                allowed = (
                    "It was changed since the invitations were made. Put the old one back, or draw up a new roster."
                )
            require(own_value == asked_value, field, own_value, allowed)


class Registration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a session waits with until browsers have made their keys (`registration`).

    Args:
        opening: the session's, with the digest of the roster without keys.
        keys: of who has enrolled, in hexadecimal by name.
        invitations: theirs, which still lack the roster's digest.
    """

    opening: ServerSession
    keys: dict[str, str]
    invitations: tuple[Invitation, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrawnSession:
    """A drawn-up session: its roster, certificates and invitations.

    Args:
        roster: the roster, with certificates' fingerprints.
        parameters: the protocol's parameters, to which every party agrees.
        certificates: the parties' certificates, in PEM, in roster order; a host's only once.
        invitations: in roster order, without parties that get links.
        linked: the parties that get links; instead of a fingerprint they have random bits (`links`).
        signature_keys: the keys of signatures of enrolled parties, in hexadecimal by name, if those of links are still
            to be made: the roster has no keys then (`registration`).
    """

    roster: Roster
    opening: ServerSession
    parameters: Mapping[str, Any]
    server: Identity = dataclasses.field(repr=False)
    certificates: Sequence[str]
    invitations: Sequence[Invitation]
    linked: Sequence[str] = ()
    signature_keys: dict[str, str] | None = None


def check_agreed_parameters(folder: Path, protocol: PhasedProtocol[Any, Any]) -> None:
    """Raise ConfigurationError unless a protocol has the parameters in the folder's invitations.

    Parties would refuse any others.
    """
    path = folder / PARAMETERS_FILE
    if not path.exists():  # a folder that was assembled by hand
        return
    check_regular(path, field="--roster")
    with readable(path, field="--roster"):
        content = path.read_bytes()
    try:
        agreed_parameters = msgspec.json.decode(content, type=dict[str, Any])
    except (ValueError, RecursionError) as error:
        allowed = f"The parameters in {path} cannot be read ({error}). Draw up a new roster."
        raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None
    parameters: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(protocol.parameters))
    for name in sorted(agreed_parameters.keys() | parameters.keys()):
        agreed_value, value = agreed_parameters.get(name), parameters.get(name)
        allowed = f"The invitations say {quote(agreed_value)}, not {quote(value)}. Serve that, or draw up a new roster."
        require(agreed_value == value, f"parameters.{name}", value, allowed)


def draw_session(
    protocol: PhasedProtocol[Any, Any],
    roster: Roster,
    *,
    session: str,
    kind: SessionKind,
    address: str = "",
    days: float = 30.0,
    enrolled: dict[str, Enrollment] | None = None,
    forecast: str = "",
    has_links: bool = False,
) -> DrawnSession:
    """Draw up a session: its id, its server's key, and the parties' invitations.

    Args:
        days: days until the session expires.
        enrolled: the parties' certificates, by name. Without them, keys are made for all parties, and their maker could
            impersonate any party.
        forecast: the warning in invitations.
        has_links: whether each party that has not enrolled gets a link, instead of keys that are made here.

    Raises:
        ConfigurationError: as `check_days` and `check_enrollments`; a phase is masked and none has enrolled; or links
            are requested and everybody has enrolled.

    Examples:
        >>> from psephos.scenarios import load_scenario, resolve_served
        >>> side = resolve_served(load_scenario("trusted-count", ["partners.count=2"]))
        >>> drawn = draw_session(side.protocol, side.roster, session="tea", kind=SessionKind.SIMULATION)
        >>> drawn.invitations[0]
        Invitation(session='tea', party='partner-1')
    """
    check_days(days)
    allowed = "given for a masked session: whoever makes the keys of all could sign, and take part, for all"
    is_masked = protocol.masked_phase is not None
    refuse(is_masked and enrolled is None and not has_links, "--enrolled or --links", "left out", allowed)
    expires = int(time.time() + days * _SECONDS_OF_DAY)
    server = make_identity(days=days)
    identities: list[Identity] = []
    signature_keys: dict[str, str] = {}
    linked = [name for name in roster.names if has_links and name not in (enrolled or {})]
    refuse(has_links and not linked, "--links", "given", "left out: everybody on the roster has enrolled")
    if enrolled is None and not has_links:
        identities = [make_identity(days=days) for _ in roster.names]
        fingerprints = [identity.fingerprint for identity in identities]
        certificates = [identity.certificate_pem for identity in identities]
    else:
        names = [name for name in roster.names if name not in linked]
        known_enrollments = check_enrollments(names, enrolled or {}, expires=expires)
        of_each = {
            each.certificate: each.fingerprint for each in {id(each): each for each in known_enrollments}.values()
        }
        of_name = {name: of_each[each.certificate] for name, each in zip(names, known_enrollments, strict=True)}
        fingerprints = [of_name.get(name) or secrets.token_hex(32) for name in roster.names]
        certificates = list(of_each)
        if is_masked:
            hosts = [each.party for each in known_enrollments if each.parties]
            allowed = "left out in a masked session, where a host could take masks off: let each party enroll by itself"
            refuse(bool(hosts), "the enrollment of a host", hosts[:1], allowed)
            signature_keys = {
                name: enrollment.signature_key for name, enrollment in zip(names, known_enrollments, strict=True)
            }
    keys = [bytes.fromhex(key) for key in signature_keys.values()] if is_masked and not linked else None
    roster = Roster(roster.names, roster.public, fingerprints=fingerprints, keys=keys)
    session_id = draw_session_id() if kind is SessionKind.DEPLOYMENT else ""
    parameters: dict[str, Any] = msgspec.to_builtins(protocol.parameters)
    invitations = [
        Invitation(
            session=session,
            protocol=protocol.name,
            kind=kind.value,
            parameters=parameters,
            party=name,
            place=place,
            public=tuple(roster.public[place].tolist()),
            session_id=session_id,
            roster=roster.digest,
            expires=expires,
            address=address,
            server=server.certificate_pem,
            certificate=fingerprints[place],
            key=identities[place].text if identities else "",
            forecast=forecast,
        )
        for place, name in enumerate(roster.names)
        if name not in linked
    ]
    opening = ServerSession(
        session=session,
        kind=kind.value,
        session_id=session_id,
        roster=roster.digest,
        expires=expires,
        address=address,
    )
    return DrawnSession(
        roster=roster,
        opening=opening,
        parameters=parameters,
        server=server,
        certificates=certificates,
        invitations=invitations,
        linked=linked,
        signature_keys=signature_keys if is_masked and linked else None,
    )


def write_session(folder: Path, drawn_session: DrawnSession) -> None:
    """Write the server's files except the roster, and each invitation into a file NUMBER-NAME.json.

    Args:
        folder: an existing, empty folder.
        drawn_session: the session; only the files' owner can read them.
    """
    drawn_session.server.write(folder / SERVER_KEY_FILE)
    write_opening(folder, drawn_session.opening)
    write_private(folder / PARAMETERS_FILE, _encode(drawn_session.parameters))
    if drawn_session.certificates:
        write_private(folder / _CERTIFICATES_FILE, "".join(drawn_session.certificates).encode())
    (folder / INVITATIONS).mkdir(mode=0o700)
    keys, invited = drawn_session.signature_keys, tuple(drawn_session.invitations)
    if keys is None:
        write_invitations(folder, invited)
    else:
        registration = Registration(drawn_session.opening, keys, invited)
        write_private(folder / REGISTRATION_FILE, msgspec.json.encode(registration))


def write_opening(folder: Path, opening: ServerSession) -> None:
    """Write what the server knows of its session, in place of what was there."""
    replace_private(folder / _OPENING_FILE, _encode(opening))


def write_invitations(folder: Path, invitations: Sequence[Invitation]) -> None:
    """Write each invitation into a file of its own, in place of any that is there."""
    stems = stems_of([invitation.party for invitation in invitations])
    for stem, invitation in zip(stems, invitations, strict=True):
        replace_private(folder / INVITATIONS / f"{stem}.json", _encode(invitation))


def stems_of(names: Sequence[str]) -> list[str]:
    """Return the stem of each party's files, NUMBER-NAME, in roster order.

    Examples:
        >>> stems_of(["Ann", "Bob & Cid"])
        ['1-ann', '2-bob-cid']
    """
    digits = len(str(len(names)))
    return [f"{number:0{digits}}-{slug_of(name)}" for number, name in enumerate(names, start=1)]


def _encode(value: msgspec.Struct | Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def check_scenario(roster: Path, name: str) -> None:
    """Raise ConfigurationError if a folder, of `psephos roster` or another, has the roster of another scenario."""
    if (roster / _OPENING_FILE).exists():
        drawn_name = _read_opening(roster).session
        allowed = f"The roster in {roster} is of the scenario {quote(drawn_name)}. Name that, or another roster."
        require(name == drawn_name, "SCENARIO", name, allowed)


def _read_opening(folder: Path) -> ServerSession:
    path = folder / _OPENING_FILE
    check_regular(path, field="--roster")
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServerSession)
    except (OSError, ValueError, RecursionError) as error:
        allowed = f"Name a folder that `psephos roster` wrote. {path} cannot be read ({error})."
        raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None


def read_server_session(
    folder: Path, *, fingerprints: Sequence[str], linked_fingerprints: Collection[str] = ()
) -> tuple[ServerSession, TLSKeys]:
    """Read the server's files that `write_session` wrote.

    Args:
        fingerprints: the fingerprints on the roster.
        linked_fingerprints: those of parties with links.

    Raises:
        ConfigurationError: a file cannot be read, a party of the roster has no certificate, or all certificates are
            revoked.
    """
    opening = _read_opening(folder)
    certified = set(fingerprints).difference(linked_fingerprints)
    has_certificates = bool(certified) or not linked_fingerprints
    certificates = tuple(read_certificates(folder / _CERTIFICATES_FILE)) if has_certificates else ()
    keys = TLSKeys(folder / SERVER_KEY_FILE, certificates)
    if unknown := sorted(certified - keys.fingerprints):
        allowed = f"the fingerprint of a certificate in {_CERTIFICATES_FILE}"
        raise ConfigurationError(field=f"fingerprint ({ROSTER_FILE})", value=unknown[0], allowed=allowed)
    revoked = _read_revoked(folder)
    peers = [each for each in certificates if fingerprint_of(each) not in revoked]
    allowed = "one of which not all certificates are revoked (a host's parties share one): draw the session up anew"
    refuse(not peers and not linked_fingerprints, "--roster", str(folder), allowed)
    return opening, dataclasses.replace(keys, peers=peers)


def _read_revoked(folder: Path) -> set[str]:
    path = folder / _REVOKED_FILE
    check_regular(path, field="--roster")
    try:
        return msgspec.json.decode(path.read_bytes(), type=set[str])
    except FileNotFoundError:
        return set()
    except (OSError, ValueError) as error:
        allowed = f"The list of revoked certificates cannot be read ({error}). Restore {path}, or draw up a new roster."
        raise ConfigurationError(field="--roster", value=_REVOKED_FILE, allowed=allowed) from None


def revoke(folder: Path, party: str) -> tuple[str, list[str]]:
    """Revoke a party's certificate, from the next start of the session's server on.

    Args:
        folder: the roster's folder, written by `write_session`.

    Returns:
        The fingerprint, and the parties that use it: the party alone, or all parties of its host.

    Raises:
        ConfigurationError: the party has no invitation there, or one without a certificate; or the list of revoked ones
            cannot be read.
        OSError: the list cannot be written.
    """
    fingerprint = find_invitation(folder / INVITATIONS, party=party).certificate
    refuse(
        not fingerprint, "PARTY", party, f"There is no certificate of {party!r}. Leave it out of the roster instead."
    )
    revoked = sorted(_read_revoked(folder) | {fingerprint})
    replace_private(folder / _REVOKED_FILE, msgspec.json.encode(revoked) + b"\n")
    invitations = read_invitations(folder / INVITATIONS)
    return fingerprint, [name for name, each in invitations.items() if each.certificate == fingerprint]


def check_expiry(descriptor: SessionDescriptor, *, field: str) -> None:
    """Raise ConfigurationError if a session has expired."""
    if descriptor.expires and time.time() > descriptor.expires:
        over = f"expired on {utc(descriptor.expires)}"
        allowed = f"The session {over}, by this machine's clock. A new roster gives a longer time, by --days."
        raise ConfigurationError(field=field, value=over, allowed=allowed)


def find_invitation(path: Path, *, party: str | None = None) -> Invitation:
    """Read a party's invitation.

    Args:
        path: the invitation's file, or a folder of invitations.
        party: the party's name; another party's file is refused.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    names = list[str]()
    for invitation in _invitations_in(path):
        if not path.is_dir() or invitation.party == party:
            return invitation
        names.append(invitation.party)
    refuse(party is None, "--as", "left out", f"given: {path} holds invitations of {join_names(names)}")
    hint = did_you_mean(party, names)
    others = f" It has those of {join_names(names)}." if names else ""
    allowed = f"There is no invitation of {party!r} in {path}{hint}.{others}"
    raise ConfigurationError(field="INVITATION", value=str(path), allowed=allowed)


def read_invitations(folder: Path) -> dict[str, Invitation]:
    """Read the invitations in a folder, by party; ConfigurationError: there is none, or one cannot be read."""
    invitations = {each.party: each for each in _invitations_in(folder)}
    require(invitations, "INVITATION", str(folder), "a folder with invitations")
    return invitations


def _invitations_in(path: Path) -> Iterator[Invitation]:
    return map(_read_invitation, sorted(path.glob("*.json")) if path.is_dir() else [path])


def _read_invitation(file: Path) -> Invitation:
    try:
        with readable(file, field="INVITATION"):
            invitation = msgspec.json.decode(file.read_bytes(), type=Invitation)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # The file may contain a key, so the error names the file and does not quote it.
        allowed = f"This is no invitation ({error}). Name the file that you got from the organizer."
        raise ConfigurationError(field="INVITATION", value=str(file), allowed=allowed) from None
    check_party_name(invitation.party, field=f"party ({file.name})")
    return invitation
