"""Links, by which parties without keys take part in a browser, and the terms that the page shows.

A link's secret is in the link only. The roster's folder has its SHA-256, by which the server recognizes it. On the
roster, a party with a link has 256 random bits instead of a certificate's fingerprint, so that a replaced link does not
change the terms that others agreed to. The link's fragment, after `#`, which browsers do not send to servers, has the
party's index, the secret, and the digest of the terms that the page must show.
"""

import base64
import contextlib
import dataclasses
import fcntl
import hashlib
import io
import ipaddress
import os
import re
import secrets
import time
import urllib.parse
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from ...agents.journal_format import SESSION, decode_record, read_journal
from ...protocol.errors import ConfigurationError, did_you_mean, join_names, quote, refuse, require
from ...protocol.messages import PROTOCOL_VERSION
from ...protocol.phases import PhasedProtocol
from ...protocol.records import Accepted, ServerRecord
from ...transports.addresses import is_loopback
from ...transports.own_files import replace_private, write_private
from ..reading.files import check_regular
from ..system import part_of
from ..tables import csv_of
from .invitations import DrawnSession, stems_of
from .keys import stem_of

PAGE_FOLDER: Final = Path(__file__).with_name("page")
"""The files of the ballot's page."""
LINKS_FILE: Final = "links.csv"
"""File of parties' names and links, for a mail merge only."""
KEYS_FILE: Final = "web_keys.jsonl"
"""File of the public keys with which browsers have enrolled, one a line. It exists from the start. If it is lost, so is
which browser holds which seat, and anybody with a copy of a link could enroll again."""
VOTE_PATH: Final = "/vote"
_SECRETS_FILE: Final = "links.json"
_TERMS_FILE: Final = "web.json"
_SECRET_BYTES: Final = 16
_KINDS: Final = frozenset({".html", ".css", ".js"})
_HOST: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{0,62}[a-z_-][a-z0-9_-]{0,62}")
"""A host name that browsers do not rewrite. A name that ends in a number is an address, which they normalize."""
NOTICE_SECONDS: Final = 1.0
"""Interval at which a server looks for replaced links."""


class BallotForm(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol's form on the ballot page: its questions and its privacy statement.

    Args:
        ballots: each has a question's name and its options, in the order of their integers 0, 1, …
        trust: "local" if a report is private by itself, "central" if the server is trusted with the ballot,
            "distributed" if it sees a masked sum alone.
        epsilon: maps each kind of report to its proven ε, and "total" to that of all reports.
        channel: for joint reports of weight and opinion, the values of a no and a yes for each group of weights
            (`votes`), the number of values (`choices`), and the law as `FiniteChannel.masses`; None for k-RR.
        masked: of a masked vote its phase, what a no and a yes add to a candidate's sum for each weight (`margins`),
            what a weight adds to one more sum (`totals`, maybe empty), and the scale of the noise; else None.
    """

    ballots: Sequence[Mapping[str, Any]]
    trust: str
    epsilon: Mapping[str, float]
    channel: Mapping[str, Any] | None = None
    masked: Mapping[str, Any] | None = None


BallotMaker: TypeAlias = Callable[[PhasedProtocol[Any, Any]], BallotForm]
"""Makes a session's form (`System.web_ballot`); ConfigurationError: the page does not support this kind of session."""


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The server's record of a link.

    Args:
        place: the party's index in the roster.
        fingerprint: the random bits that the roster has instead of a certificate's fingerprint.
        secret: the secret's SHA-256, in hexadecimal.
    """

    place: int
    fingerprint: str
    secret: str


class LinkTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The records of a session's links, in its folder.

    Args:
        origin: the page's public origin (scheme, host and port).
        terms: the SHA-256 of the terms' bytes, in base64url.
    """

    origin: str
    terms: str
    links: tuple[Link, ...]

    @property
    def fingerprints(self) -> frozenset[str]:
        """The roster's entries of parties with links, in place of certificates' fingerprints."""
        return frozenset(link.fingerprint for link in self.links)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 in base64url without padding, as in links.

    Examples:
        >>> digest_of(b"")
        '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
    """
    return _base64(hashlib.sha256(data).digest())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def page_files() -> dict[str, bytes]:
    """Return the files of the ballot's page, by name."""
    return {path.name: path.read_bytes() for path in sorted(PAGE_FOLDER.glob("*")) if path.suffix in _KINDS}


def check_origin(origin: str, *, field: str) -> str:
    """Return an origin as browsers write it: scheme, host, and the port if it is not the scheme's own.

    Raises:
        ConfigurationError: it is not an origin, or not a secure one, in which browsers can sign and encrypt.

    Examples:
        >>> check_origin("HTTPS://Vote.Example.org:443/", field="--links")
        'https://vote.example.org'
        >>> check_origin("https://[2001:DB8:0::1]:8000", field="--links")
        'https://[2001:db8::1]:8000'
    """
    allowed = "Name what people reach the page by, such as https://vote.example.org, without a path."
    try:
        parts = urllib.parse.urlsplit(origin)
        port, host = parts.port, parts.hostname or ""
        if "[" in parts.netloc:
            host = f"[{ipaddress.IPv6Address(host)}]"
        elif not _HOST.fullmatch(host) and host.isascii():
            host = str(ipaddress.IPv4Address(host))
    except ValueError:
        raise ConfigurationError(field=field, value=origin, allowed=allowed) from None
    is_bare = parts.path in {"", "/"} and not parts.query and not parts.fragment and parts.username is None
    is_plain = origin.isprintable() and " " not in origin and "%" not in host and port != 0
    require(parts.scheme in {"http", "https"} and bool(host) and is_bare and is_plain, field, origin, allowed)
    allowed = "Write a host's name in ASCII, as browsers do when its address is copied: https://xn--mnchen-3ya.de."
    require(host.isascii(), field, origin, allowed)
    allowed = "Browsers sign only on pages that came by HTTPS, or from their own machine. Write https://."
    require(parts.scheme == "https" or is_loopback(f"{host}:80"), field, origin, allowed)
    is_usual = port is None or port == {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if is_usual else f":{port}")


def form_of(protocol: PhasedProtocol[Any, Any]) -> BallotForm:
    """Return a session's form; ConfigurationError: the page does not support this kind of session."""
    make: BallotMaker | None = part_of(type(protocol), "web_ballot", Callable)
    allowed = f"There is no page for sessions of {protocol.name!r}. Their parties take part by psephos join."
    if make is None:
        raise ConfigurationError(field="--links", value=protocol.name, allowed=allowed)
    return make(protocol)


class _PageDigests(msgspec.Struct, frozen=True):
    """Digests of the page's files, in the terms."""

    page: dict[str, str]


@dataclasses.dataclass(frozen=True)
class DrawnLinks:
    """New links, and the terms that they lead to.

    Args:
        terms: the bytes of /session.json.
        links: each party's link, which is confidential.
    """

    table: LinkTable
    terms: bytes = dataclasses.field(repr=False)
    links: Mapping[str, str] = dataclasses.field(repr=False)


def draw_links(
    protocol: PhasedProtocol[Any, Any], drawn_session: DrawnSession, *, origin: str, title: str, question: str = ""
) -> DrawnLinks:
    """Draw up the links of a session's parties that have no certificate.

    Args:
        origin: the page's origin, as `check_origin` returns it.
        title: the session's title.
        question: the session's subject, in more words.

    Raises:
        ConfigurationError: the page does not support this kind of session.
    """
    form, opening, roster = form_of(protocol), drawn_session.opening, drawn_session.roster
    terms = {
        "wire": PROTOCOL_VERSION,
        "session": opening.session,
        "protocol": protocol.name,
        "kind": opening.kind,
        "parameters": msgspec.to_builtins(protocol.parameters),
        "descriptor": [opening.session_id, opening.roster, opening.expires],
        "title": title,
        "question": question or None,
        **msgspec.to_builtins(form),
        "masked": None if form.masked is None else {"parties": len(roster), **form.masked},
        "page": {name: digest_of(content) for name, content in page_files().items()},
    }
    encoded = msgspec.json.encode(terms)
    digest = digest_of(encoded)
    places = [roster.places[name] for name in drawn_session.linked]
    secret_of = {place: secrets.token_bytes(_SECRET_BYTES) for place in places}
    fingerprints = roster.fingerprints or ()
    table = LinkTable(
        origin=origin,
        terms=digest,
        links=tuple(
            Link(place, fingerprints[place], hashlib.sha256(secret).hexdigest()) for place, secret in secret_of.items()
        ),
    )
    links = {roster.names[place]: _link(table, place, secret) for place, secret in secret_of.items()}
    return DrawnLinks(table, encoded, links)


def _link(table: LinkTable, place: int, secret: bytes) -> str:
    return f"{table.origin}{VOTE_PATH}#{place}.{_base64(secret)}.{table.terms}"


def write_links(folder: Path, drawn_links: DrawnLinks) -> None:
    """Write links for a mail merge, and the server's records of them, into a roster's folder."""
    write_private(folder / KEYS_FILE, b"")
    write_private(folder / _TERMS_FILE, drawn_links.terms)
    write_private(folder / _SECRETS_FILE, _encode(drawn_links.table))
    write_private(folder / LINKS_FILE, csv_of([["name", "link"], *map(list, drawn_links.links.items())]).encode())


def write_qr_codes(folder: Path, drawn_links: DrawnLinks) -> Path:
    """Write each link as a QR code, NUMBER-NAME.svg, into a new folder of the roster's, and return that folder."""
    import segno  # noqa: PLC0415  an extra, for whoever asks for it

    codes = folder / "qr"
    codes.mkdir(mode=0o700)
    for stem, link in zip(stems_of(list(drawn_links.links)), drawn_links.links.values(), strict=True):
        content = io.BytesIO()
        segno.make_qr(link).save(content, kind="svg", scale=4)
        write_private(codes / f"{stem}.svg", content.getvalue())
    return codes


def secrets_file_of(folder: Path) -> Path:
    """Return the path of a folder's `LinkTable`."""
    return folder / _SECRETS_FILE


def read_links(folder: Path) -> LinkTable | None:
    """Read the link records of a roster's folder; None if it has none.

    Raises:
        ConfigurationError: they cannot be read.
    """
    path = secrets_file_of(folder)
    if not path.exists():
        return None
    check_regular(path, field="--roster")
    try:
        return msgspec.json.decode(path.read_bytes(), type=LinkTable)
    except (OSError, ValueError, RecursionError) as error:
        allowed = f"The links in {path} cannot be read ({error}). Restore the file, or draw up a new roster."
        raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None


def read_terms(folder: Path, table: LinkTable) -> bytes:
    """Return the bytes of /session.json.

    Raises:
        ConfigurationError: they differ from the terms in links, or this version of Psephos has a different page.
    """
    path = folder / _TERMS_FILE
    check_regular(path, field="--roster")
    try:
        terms = path.read_bytes()
        digests = msgspec.json.decode(terms, type=_PageDigests).page
    except (OSError, ValueError, RecursionError) as error:
        allowed = f"The terms in {path} cannot be read ({error}). Restore the file, or draw up a new roster."
        raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None
    allowed = f"The terms in {path} were changed since links were made. Put the old ones back, or draw up a new roster."
    require(digest_of(terms) == table.terms, "--roster", str(path), allowed)
    own = {name: digest_of(content) for name, content in page_files().items()}
    changed = sorted(name for name in own.keys() | digests.keys() if own.get(name) != digests.get(name))
    allowed = (
        f"This version of Psephos has another page than the one that the links are for: {join_names(changed)}. "
        "Serve with the version that drew up the roster, or draw up a new one."
    )
    refuse(bool(changed), "--web", changed[:1], allowed)
    return terms


def replace_link(folder: Path, party: str, names: Sequence[str], journal: Path) -> Path:
    """Replace a party's link that someone else has used by a new one, and revoke the old one.

    A running server notices within `NOTICE_SECONDS`, and disconnects clients of the old link. If their report arrives
    before that, it counts, and the old link stays.

    Args:
        folder: the roster's folder.
        names: the party names on the roster.
        journal: the session's journal, which need not exist.

    Returns:
        The new file with the link.

    Raises:
        ConfigurationError: the party has no link, or has already reported; or the records cannot be read.
        JournalError: the journal cannot be read.
        OSError: a file cannot be written.
    """
    with _alone_in(folder):
        table = read_links(folder)
        places = {} if table is None else {names[link.place]: link for link in table.links if link.place < len(names)}
        hint = did_you_mean(party, list(places))
        if table is None or party not in places:
            allowed = f"There is no link of {quote(party)} in {folder}{hint}. Links are made by psephos roster --links."
            raise ConfigurationError(field="--replace", value=party, allowed=allowed)
        old = places[party]
        reported = f"A report of {quote(party)} is in, and the first one stands. Draw up a new roster to vote again."
        refuse(_has_reported(journal, old.place), "--replace", party, reported)
        secret = secrets.token_bytes(_SECRET_BYTES)
        new = Link(old.place, old.fingerprint, hashlib.sha256(secret).hexdigest())
        changed = msgspec.structs.replace(table, links=tuple(new if link == old else link for link in table.links))
        path = folder / f"link-{stem_of(party)}.csv"
        replace_private(path, csv_of([["name", "link"], [party, _link(table, old.place, secret)]]).encode())
        _replace_table(folder, changed)
        if journal.exists():
            time.sleep(3 * NOTICE_SECONDS)  # by then the server has journaled what arrived before
            if _has_reported(journal, old.place):
                _replace_table(folder, table)
                path.unlink()
                raise ConfigurationError(field="--replace", value=party, allowed=reported)
    return path


@contextlib.contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Lock a folder against other commands that replace links, which would undo each other's changes."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace_table(folder: Path, table: LinkTable) -> None:
    replace_private(secrets_file_of(folder), _encode(table))


def _encode(table: LinkTable) -> bytes:
    return msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n"


def _has_reported(journal: Path, place: int) -> bool:
    if not journal.exists():
        return False
    rows = read_journal(journal, kind=SESSION).rows
    decoder = msgspec.msgpack.Decoder[ServerRecord](ServerRecord)
    records = [decode_record(row.body, decoder, journal) for row in rows]
    return any(isinstance(record, Accepted) and record.place == place for record in records)
