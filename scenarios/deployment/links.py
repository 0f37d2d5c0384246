"""Links: how a party without keys of its own takes part in a browser, and what everybody there may know of the vote.

The rule that holds here: a link's secret stands in the link alone. The roster's folder has its SHA-256, by which the
server knows it again. In place of a certificate's fingerprint a party of a link has 256 random bits on the roster, so
that a new link changes nothing that others have agreed to. Behind the `#`, where no server and no log sees it, a link
has the party's place, its secret, and the digest of the terms that its page has to show.
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
"""Name and link of each party: for a mail merge, and for nobody else."""
KEYS_FILE: Final = "web_keys.jsonl"
"""The public keys by which browsers have enrolled, one a line. It is there from the first on: where it has gone, so has
who holds which seat, and anybody with a copy of a link could enrol anew."""
DEFAULT_ORIGIN: Final = "http://127.0.0.1:8000"
VOTE_PATH: Final = "/vote"
_SECRETS_FILE: Final = "links.json"
_TERMS_FILE: Final = "web.json"
_SECRET_BYTES: Final = 16
_KINDS: Final = frozenset({".html", ".css", ".js"})
_HOST: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{0,62}[a-z_-][a-z0-9_-]{0,62}")
"""A host's name as browsers leave it: one that ends in a number is an address, which they write in their own way."""
NOTICE_SECONDS: Final = 1.0
"""How often a server looks for replaced links."""


class BallotForm(msgspec.Struct, frozen=True, kw_only=True):
    """What the page asks a voter of a protocol, and what it says of it.

    Args:
        ballots: each a question's name and its options' words, in the order of the integers 0, 1, …
        trust: "local" where a report is private by itself, "central" where the server is trusted with the ballot.
        epsilon: what a report of each kind, and all of them together, cost; "total" is among the kinds.
        channel: where weight and opinion are reported together, the values of a no and a yes for each group of weights
            (`votes`), of how many (`choices`), and their law as `FiniteChannel.masses`; None for k-RR.
    """

    ballots: Sequence[Mapping[str, Any]]
    trust: str
    epsilon: Mapping[str, float]
    channel: Mapping[str, Any] | None = None


BallotMaker: TypeAlias = Callable[[PhasedProtocol[Any, Any]], BallotForm]
"""Makes the form of a session (`System.web_ballot`); ConfigurationError: the page takes part in none of this kind."""


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the server keeps of a link.

    Args:
        place: the party's in the roster.
        fingerprint: what the roster has in place of a certificate's.
        secret: the secret's SHA-256, in hexadecimal.
    """

    place: int
    fingerprint: str
    secret: str


class LinkTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The links of a session, as its folder has them.

    Args:
        origin: of the page, as people reach it.
        terms: the SHA-256 of the terms' bytes, in base64url.
    """

    origin: str
    terms: str
    links: tuple[Link, ...]

    @property
    def fingerprints(self) -> frozenset[str]:
        """What the roster has of the parties of links, in place of certificates' fingerprints."""
        return frozenset(link.fingerprint for link in self.links)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 in base64url without padding, as links have it.

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
        ConfigurationError: it is none, or one in which browsers neither sign nor encrypt.

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
    """Return what the page asks of a session; ConfigurationError: it takes part in none of this kind."""
    make: BallotMaker | None = part_of(type(protocol), "web_ballot", Callable)
    allowed = f"There is no page for sessions of {protocol.name!r}. Their parties take part by psephos join."
    if make is None:
        raise ConfigurationError(field="--links", value=protocol.name, allowed=allowed)
    return make(protocol)


class _PageDigests(msgspec.Struct, frozen=True):
    """What the terms say of the page's files."""

    page: dict[str, str]


@dataclasses.dataclass(frozen=True)
class DrawnLinks:
    """Links that were drawn up, and the terms that they lead to.

    Args:
        terms: the bytes of /session.json.
        links: by party; each for it alone.
    """

    table: LinkTable
    terms: bytes = dataclasses.field(repr=False)
    links: Mapping[str, str] = dataclasses.field(repr=False)


def draw_links(
    protocol: PhasedProtocol[Any, Any], drawn_session: DrawnSession, *, origin: str, title: str, question: str = ""
) -> DrawnLinks:
    """Draw up the links of a session's parties that have no certificate.

    Args:
        origin: as `check_origin` returned it.
        title: of the session, as people know it.
        question: what it is about, in more words.

    Raises:
        ConfigurationError: the page takes part in no session of this kind.
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
    """Write links for a mail merge, and what the server keeps of them, into a roster's folder."""
    write_private(folder / KEYS_FILE, b"")
    write_private(folder / _TERMS_FILE, drawn_links.terms)
    write_private(folder / _SECRETS_FILE, _encode(drawn_links.table))
    write_private(folder / LINKS_FILE, csv_of([["name", "link"], *map(list, drawn_links.links.items())]).encode())


def write_qr_codes(folder: Path, drawn_links: DrawnLinks) -> Path:
    """Write each link as a QR code, NUMBER-NAME.svg, into a new folder of a roster's, and return it."""
    import segno  # noqa: PLC0415  an extra, for whoever asks for it

    codes = folder / "qr"
    codes.mkdir(mode=0o700)
    for stem, link in zip(stems_of(list(drawn_links.links)), drawn_links.links.values(), strict=True):
        content = io.BytesIO()
        segno.make_qr(link).save(content, kind="svg", scale=4)
        write_private(codes / f"{stem}.svg", content.getvalue())
    return codes


def secrets_file_of(folder: Path) -> Path:
    """Return the file of a folder's `LinkTable`."""
    return folder / _SECRETS_FILE


def read_links(folder: Path) -> LinkTable | None:
    """Return the links of a roster's folder; None where it has none.

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
        ConfigurationError: they are not those that links lead to, or this version of Psephos has another page.
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
    """Make a new link for a party whose link somebody else has used, and let the old one open nothing.

    A server that is running notices within `NOTICE_SECONDS`, and cuts off whoever came by the old link. Where a report
    of theirs comes in before that, it stands, and so does their link.

    Args:
        folder: of the roster.
        names: on the roster.
        journal: of the session, which need not be there.

    Returns:
        The new file, which holds the link.

    Raises:
        ConfigurationError: the party has no link, or has reported: the first report stands; or they cannot be read.
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
            time.sleep(3 * NOTICE_SECONDS)  # and it has written down what it had heard by then
            if _has_reported(journal, old.place):
                _replace_table(folder, table)
                path.unlink()
                raise ConfigurationError(field="--replace", value=party, allowed=reported)
    return path


@contextlib.contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Keep other commands that replace links waiting: each would undo what another has changed."""
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
