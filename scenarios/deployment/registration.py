"""Registration: browsers make the keys that a masked session's roster needs, before it is held.

The rule that holds here: the keys of all are on the roster before anybody says a word in the session, and none is made
for anybody else. A link that is not opened in time gets a key of which nobody has the private one, and everybody can
see that: it follows from public words. Then the roster is closed, once: its digest, which all parties agree to, is that
of all keys.

A server that makes the links could also open them. Whoever opens such a link afterwards is told that it was used; those
who do not count among the parties that collude with the server.
"""

import hashlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import trio

from ...protocol.errors import ConfigurationError, refuse
from ...protocol.masking import check_signature_key
from ...protocol.roles import SessionKind
from ...protocol.roster import Roster
from ...protocol.rules import JOIN
from ...transports.own_files import replace_private
from ..reading.files import check_regular
from ..running.rosters import ROSTER_FILE
from ..tables import csv_of
from .invitations import (
    INVITATIONS,
    REGISTRATION_FILE,
    Registration,
    check_agreed_parameters,
    check_expiry,
    write_invitations,
    write_opening,
)
from .server import roster_rows

if TYPE_CHECKING:
    from ..running.resolution import ServerRun
    from .web import WebSite


def read_registration(folder: Path) -> Registration | None:
    """Return what a session waits with; None where its roster is closed, or its parties need no keys of signatures.

    Raises:
        ConfigurationError: it cannot be read.
    """
    path = folder / REGISTRATION_FILE
    if not path.exists():
        return None
    check_regular(path, field="--roster")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Registration)
    except (OSError, ValueError, RecursionError) as error:
        allowed = f"The file {path} cannot be read ({error}). Restore it, or draw up a new roster."
        raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None


def register_browsers(
    folder: Path, side: "ServerRun", registration: Registration, site: "WebSite", *, tell: Callable[[str], object]
) -> None:
    """Hold the pages until each link has its key, or the time to join is over, and close the roster.

    Args:
        site: the session's pages; it serves them here, and again in the session.
        tell: hears, as sentences, where the pages are and how many links were opened.

    Raises:
        ConfigurationError: too few have a key when the time is over; nothing is closed. Or it is another session.
        OSError: the address is taken, or a file cannot be written.
    """
    phase, opening = side.protocol.masked_phase, registration.opening
    assert phase is not None  # noqa: S101  else there is no registration
    roster = Roster(side.names, side.inputs.public, fingerprints=side.fingerprints)
    opening.check(session=side.scenario.name, kind=SessionKind.DEPLOYMENT, roster=roster)
    check_agreed_parameters(folder, side.protocol)
    check_expiry(opening.descriptor, field="--roster")
    rules, number = side.rules.phase_rules(JOIN), len(side.names)
    least = max(phase.threshold, rules.num_required(number))
    keys = trio.run(site.register, rules.deadline_seconds, tell)
    num_known = len(keys) + len(registration.keys)
    allowed = (
        f"Of {number} parties {num_known} have keys, and {least} have to join. Run the same command again: whose link "
        f"was opened stays known. More time is phases.{JOIN}.deadline_seconds; fewer may be phases.{JOIN}.quorum."
    )
    refuse(num_known < least, "--web", f"{len(keys)} links were opened", allowed)
    close_registration(folder, side, registration, keys)
    absent = f", and {number - num_known}, whose link was not opened, may be missing" if num_known < number else ""
    tell(f"the list of {number} {side.protocol.client_role}s is closed: {num_known} have keys{absent}")
    if registration.invitations:
        tell(f"{folder / INVITATIONS}: a file for each of those who have enrolled; send them out now")


def close_registration(folder: Path, side: "ServerRun", registration: Registration, keys: Mapping[int, bytes]) -> None:
    """Put the keys of all on the roster, and write the invitations of who has enrolled.

    Args:
        keys: those of browsers, by place.

    Raises:
        OSError: a file cannot be written.
    """
    opening, places = registration.opening, enumerate(side.names)
    taken = {*map(bytes.fromhex, registration.keys.values())}  # a browser with a key of these is nobody
    keys = {place: key for place, key in keys.items() if key not in taken}
    all_keys = [
        bytes.fromhex(registration.keys[name])
        if name in registration.keys
        else keys.get(place) or nobodys_key(opening.session_id, place)
        for place, name in places
    ]
    roster = Roster(side.names, side.inputs.public, fingerprints=side.fingerprints, keys=all_keys)
    rows = roster_rows(side, roster)
    write_invitations(
        folder, [msgspec.structs.replace(each, roster=roster.digest) for each in registration.invitations]
    )
    write_opening(folder, msgspec.structs.replace(opening, roster=roster.digest))
    replace_private(folder / ROSTER_FILE, csv_of([list(rows[0]), *([*row.values()] for row in rows)]).encode())
    (folder / REGISTRATION_FILE).unlink()  # last: who is killed before closes again, in the same way


def nobodys_key(session_id: str, place: int) -> bytes:
    """Return a key of Ed25519 whose private one nobody has: the first point among digests of public words.

    Examples:
        >>> nobodys_key("a1", 0) == nobodys_key("a1", 0) != nobodys_key("a1", 1)
        True
    """
    for number in itertools.count():
        key = hashlib.sha256(f"nobody {session_id} {place} {number}".encode()).digest()
        try:
            check_signature_key("", key)
        except ConfigurationError:
            continue
        return key
    raise AssertionError
