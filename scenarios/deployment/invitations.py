"""Invitations: what each party agreed to, and the token by which the server knows it."""

import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ...protocol.roles import SessionKind
from ...protocol.roster import Roster, digest_of

__all__ = ["Invitation", "draw_invitations", "find_invitation", "write_invitations"]

_TOKEN_BYTES: Final = 24
_CHARACTERS_OF_NAME: Final = 40


class Invitation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one party agreed to, and the token that shows who it is. For that party alone.

    Args:
        session: the session's name.
        protocol: as registered.
        kind: "deployment" or "simulation".
        parameters: the protocol's own.
        party: whom it is for.
        place: its place in the roster, from 0; addresses simulated noise.
        public: its public row, as the server has it.
        token: shown to the server.
    """

    session: str
    protocol: str
    kind: str
    parameters: dict[str, Any]
    party: str
    place: int
    public: tuple[int, ...] = ()
    token: str = ""

    def __repr__(self) -> str:
        return f"Invitation(session={self.session!r}, party={self.party!r})"  # a token is nobody else's to read


def draw_invitations(
    protocol: PhasedProtocol[Any, Any], roster: Roster, *, session: str, kind: SessionKind
) -> tuple[Roster, list[Invitation]]:
    """Draw a token for each party.

    Args:
        protocol: with the parameters that are agreed to.
        roster: who may take part.
        session: the session's name.
        kind: the session's.

    Returns:
        The roster with the tokens' digests, and the invitations, in roster order.
    """
    tokens = [secrets.token_urlsafe(_TOKEN_BYTES) for _ in roster.names]
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
            token=token,
        )
        for place, (name, token) in enumerate(zip(roster.names, tokens, strict=True))
    ]
    roster = Roster(roster.names, roster.public, token_digests=[digest_of(token) for token in tokens])
    return roster, invitations


def write_invitations(folder: Path, invitations: Sequence[Invitation]) -> None:
    """Write each invitation into a file of its own, readable by its owner alone: NUMBER-NAME.json.

    Args:
        folder: new; made with its parents.
        invitations: in roster order.
    """
    folder.mkdir(parents=True, mode=0o700)
    digits = len(str(len(invitations)))
    for invitation in invitations:
        name = re.sub(r"[^a-z0-9]+", "-", invitation.party.lower()).strip("-")[:_CHARACTERS_OF_NAME]
        file = folder / f"{invitation.place + 1:0{digits}}-{name or 'party'}.json"
        file.touch(mode=0o600)
        file.write_bytes(msgspec.json.format(msgspec.json.encode(invitation), indent=2) + b"\n")


def find_invitation(path: Path, *, party: str) -> Invitation:
    """Return an invitation.

    Args:
        path: its file, or a folder that holds the party's among others.
        party: whose.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    for file in files:
        found = _read_invitation(file)
        if not path.is_dir() or found.party == party:
            return found
    raise ConfigurationError(field="--invitation", value=str(path), allowed=f"a folder with an invitation of {party!r}")


def _read_invitation(file: Path) -> Invitation:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Invitation)
    except OSError as error:
        allowed = f"a readable file ({error.strerror})"
        raise ConfigurationError(field="--invitation", value=str(file), allowed=allowed) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # A token may stand in it: the file is named and not shown.
        allowed = f"an invitation ({error})"
        raise ConfigurationError(field="--invitation", value=str(file), allowed=allowed) from None
