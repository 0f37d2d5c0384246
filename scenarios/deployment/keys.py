"""Keys of parties and servers, made where they are used; others see only their certificates.

A private key is in one file only, which only its owner can read. The enrollment that a party sends is public. The one
exception: the organizer may make the keys of all parties (`--make-keys`), and could then impersonate any party.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ...protocol.errors import ConfigurationError, join_names, quote, refuse, require
from ...protocol.masking import check_signature_key
from ...protocol.roles import check_party_name
from ...transports.keys import (
    VALID_DAYS,
    check_usable,
    fingerprint_of,
    make_identity,
    make_signature_key,
    read_certificate,
    read_signature_key,
)
from ...transports.own_files import OWN_FOLDER, is_own, write_private
from ..plugins import ROLES, names_in
from ..reading.files import check_regular, readable
from ..reading.text_forms import header_of, read_rows

KEY_FILE: Final = "key.pem"
"""File of a party's TLS private key and certificate."""
SIGNATURE_FILE: Final = "signature.pem"
"""File of a party's private signature key."""
ENROLLMENT_FILE: Final = "enrollment.json"
"""File of a party's enrollment."""
_CHARACTERS_OF_NAME: Final = 40
_DIGITS_OF_NAME: Final = 16
_MAX_DAYS: Final = 365_250
"""A thousand years; certificates cannot express years after 9999."""
_SIGNATURE_KEY_BYTES: Final = 32


class Enrollment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public data that a party sends to the organizer of a session.

    Args:
        certificate: the party's TLS certificate, in PEM.
        signature_key: the public signature key (Ed25519), in hexadecimal.
        parties: the parties of a host; empty for a single party.
    """

    party: str
    certificate: str
    signature_key: str
    parties: tuple[str, ...] = ()

    @property
    def der(self) -> bytes:
        """The certificate in DER."""
        return read_certificate(self.certificate)[0]

    @property
    def fingerprint(self) -> str:
        """The certificate's fingerprint."""
        return fingerprint_of(self.der)

    @property
    def until(self) -> dt.datetime:
        """The certificate's time of expiry."""
        return read_certificate(self.certificate)[1]


def stem_of(party: str) -> str:
    """Return a unique file stem for a party's name: its slug and a digest.

    Examples:
        >>> stem_of("Ann")
        'ann-17239b6e25011033'
    """
    digest = hashlib.sha256(party.encode(errors="surrogatepass")).hexdigest()  # also for invalid names
    return f"{slug_of(party)}-{digest[:_DIGITS_OF_NAME]}"


def slug_of(party: str) -> str:
    """Return a readable file stem for a party's name; different names may have the same.

    Examples:
        >>> slug_of("Bob & Cid")
        'bob-cid'
    """
    return re.sub(r"[^a-z0-9]+", "-", party.lower()).strip("-")[:_CHARACTERS_OF_NAME] or "party"


def check_days(days: float) -> None:
    """Raise ConfigurationError if a certificate cannot be valid for `days` days."""
    require(days <= _MAX_DAYS, "--days", days, f"at most {_MAX_DAYS:,}")


def parties_in(path: Path) -> list[str]:
    """Return the distinct parties in a CSV file, from the column of a role, such as voter.

    Raises:
        ConfigurationError: the file has no such column, or cannot be read.
    """
    roles = names_in(ROLES)
    with readable(path, field="--parties", what="a readable CSV file"), path.open("rb"):
        columns = [name for name in header_of(path) if name in roles]
    refuse(
        len(columns) != 1,
        "--parties",
        str(path),
        f"Which column of {path.name} has the names? Call it {', '.join(roles[:-1])} or {roles[-1]}.",
    )
    rows = read_rows(path, *columns, *columns, field="--parties")
    names = dict.fromkeys(name.strip() for _, (name, _) in rows)
    require(names, "--parties", str(path), f"a file with at least one {columns[0]}")
    return list(names)


def enroll(party: str, folder: Path, *, days: float = VALID_DAYS, parties: Sequence[str] = ()) -> Enrollment:
    """Make the keys and the enrollment of a party, or of a host for all its parties.

    Args:
        parties: the parties of a host; empty for a single party.
        folder: folder for the private keys and the enrollment; created with its parents.
        days: days from now until the certificate expires.

    Raises:
        ConfigurationError: the name is no valid party name, the days are too many, or the folder already has keys,
            cannot be written to, or is writable by others.
    """
    for name in (party, *parties):
        check_party_name(name)
    check_days(days)
    identity, (signature_key, public) = make_identity(days=days), make_signature_key()
    enrollment = Enrollment(
        party=party, certificate=identity.certificate_pem, signature_key=public.hex(), parties=tuple(parties)
    )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        refuse(not is_own(folder), "--out", str(folder), OWN_FOLDER)
        identity.write(folder / KEY_FILE)
        write_private(folder / SIGNATURE_FILE, signature_key)
        write_private(folder / ENROLLMENT_FILE, msgspec.json.format(msgspec.json.encode(enrollment), indent=2) + b"\n")
    except OSError as error:
        allowed = f"a folder to write to that has no keys yet ({error.strerror}: {error.filename})"
        if isinstance(error, FileExistsError):
            allowed = f"There are keys in {folder} already ({error.filename}). Use them, or name another folder."
        raise ConfigurationError(field="--out", value=str(folder), allowed=allowed) from None
    return enrollment


def read_enrollments(folder: Path) -> dict[str, Enrollment]:
    """Read the enrollments in a folder, by party; each is a file, or a folder that `enroll` made.

    Raises:
        ConfigurationError: there is none, one cannot be read, or two are for one party.
    """
    enrollments: dict[str, Enrollment] = {}
    for file in sorted({*folder.glob("*.json"), *folder.glob(f"*/{ENROLLMENT_FILE}")}):
        enrollment = _read_enrollment(file)
        for party in enrollment.parties or (enrollment.party,):
            allowed = f"left out: there is another enrollment of {quote(party)}"
            refuse(party in enrollments, "--enrolled", str(file), allowed)
            enrollments[party] = enrollment
    allowed = (
        f"There is no enrollment in {folder}. Put each party's {ENROLLMENT_FILE} there, which `psephos enroll` writes."
    )
    refuse(not enrollments, "--enrolled", str(folder), allowed)
    return enrollments


def _read_enrollment(file: Path) -> Enrollment:
    check_regular(file, field="--enrolled")
    try:
        enrollment = msgspec.json.decode(file.read_bytes(), type=Enrollment)
        for name in (enrollment.party, *enrollment.parties):
            check_party_name(name)
        check_usable(enrollment.der)
        if len(bytes.fromhex(enrollment.signature_key)) != _SIGNATURE_KEY_BYTES:
            raise ValueError("its signature_key is no Ed25519 key in hexadecimal")  # noqa: TRY301  refused below, as all
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(field="--enrolled", value=str(file), allowed=f"an enrollment ({error})") from None
    return enrollment


def check_enrollments(
    names: Sequence[str], enrollments_by_party: dict[str, Enrollment], *, expires: int
) -> list[Enrollment]:
    """Return the enrollments of a roster's parties, in roster order.

    Args:
        expires: time until which their certificates must be valid.

    Raises:
        ConfigurationError: a party has not enrolled, or has a weak signature key that anybody could sign with; two
            parties have the same certificate, or one expires too early.
    """
    if missing := [name for name in names if name not in enrollments_by_party]:
        allowed = f"Some parties have not enrolled: {join_names(missing)} ({len(missing)} of {len(names)}). Add theirs."
        raise ConfigurationError(field="enrollment", value=", ".join(missing[:12]), allowed=allowed)
    owners: dict[str, str] = {}
    for name, enrollment in {
        id(enrollments_by_party[name]): (name, enrollments_by_party[name]) for name in names
    }.values():  # each host's only once
        check_signature_key(name, bytes.fromhex(enrollment.signature_key))
        for key_name, key in (("certificate", enrollment.fingerprint), ("signature_key", enrollment.signature_key)):
            if key and (other := owners.setdefault(f"{key_name} {key}", name)) != name:
                allowed = f"another than that of {other!r}: who holds one key could take both seats"
                raise ConfigurationError(field=f"{key_name} of {name!r}", value="the same", allowed=allowed)
        if enrollment.until.timestamp() < expires:
            needed_until = dt.datetime.fromtimestamp(expires, dt.UTC)
            allowed = (
                f"one that is good until {needed_until:%Y-%m-%d %H:%M} UTC, as the session is: enroll anew, or --days"
            )
            value = f"good until {enrollment.until:%Y-%m-%d %H:%M} UTC"
            raise ConfigurationError(field=f"certificate of {name!r}", value=value, allowed=allowed)
    return [enrollments_by_party[name] for name in names]


def read_certificates(path: Path) -> list[bytes]:
    """Read all certificates in a file, in DER; ConfigurationError: it cannot be read, or has none."""
    end = "-----END CERTIFICATE-----"
    check_regular(path, field="--roster")
    try:
        texts = [text + end for text in path.read_text(encoding="ascii").split(end) if text.strip()]
        certificates = [read_certificate(text)[0] for text in texts]
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        said = f"The certificates in {path} cannot be read ({reason}). Restore the file, or draw up a new roster."
        raise ConfigurationError(field="--roster", value=str(path), allowed=said) from None
    require(certificates, "--roster", str(path), f"There are no certificates in {path}. Draw up a new roster.")
    return certificates


def signer_beside(key_file: Path) -> Callable[[bytes], bytes]:
    """Return a signer with the signature key that `enroll` wrote into the folder of a TLS key.

    Raises:
        ConfigurationError: there is no readable key.
    """
    file = key_file.with_name(SIGNATURE_FILE)
    check_regular(file, field="--key")
    try:
        return read_signature_key(file.read_bytes())
    except (OSError, ValueError) as error:
        allowed = f"the folder of `psephos enroll`, with a key of signatures, for a masked session ({error})"
        raise ConfigurationError(field="--key", value=str(file), allowed=allowed) from None


def find_key(fingerprint: str, candidates: Iterable[Path]) -> Path | None:
    """Return the first candidate file (`KEY_FILE` in a folder) with a certificate's key; None if there is none."""
    for candidate in candidates:
        file = candidate / KEY_FILE if candidate.is_dir() else candidate
        check_regular(file, field="--key")
        try:
            certificate, _ = read_certificate(file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        if fingerprint_of(certificate) == fingerprint:
            return file
    return None
