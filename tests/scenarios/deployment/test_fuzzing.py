"""What parties and servers read from files that others wrote: any of it is taken, or refused as it is documented.

Invitations, enrollments, sessions and certificates, changed anyhow. What was found by it, or by hand, has a
test of its own beside it.
"""

import contextlib
import datetime as dt
import functools
import json
import os
import pty
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x25519
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st
from psephos.protocol import SessionKind
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.roster import Roster
from psephos.scenarios.deployment import Joining, draw_session, find_invitation, read_enrollments
from psephos.scenarios.deployment.common import find_transport
from psephos.scenarios.deployment.invitations import DrawnSession, check_expiry, read_server_session, write_session
from psephos.scenarios.deployment.keys import check_enrollments, enroll, read_certificates
from psephos.transports import TLSTransport
from psephos.transports.keys import Identity, make_identity, read_certificate
from thoroughness import draws

PROTOCOL: Final = DPWeVote(Parameters(candidates=("merger",)))
NAMES: Final = ("ann", "bob")
EXAMPLES: Final = draws(30, full=1000)
SEVERAL: Final = settings(max_examples=EXAMPLES, deadline=None)


@functools.cache
def drawn() -> DrawnSession:
    """Return a session that is drawn up, once."""
    inputs = PROTOCOL.encode({"weight": [1.0, 2.0], "merger": [1, 0]})
    return draw_session(
        PROTOCOL, Roster(NAMES, inputs.public), session="vote", kind=SessionKind.DEPLOYMENT, address="127.0.0.1:1"
    )


@functools.cache
def enrollment() -> dict[str, Any]:
    """Return what a party hands over, once."""
    with tempfile.TemporaryDirectory() as folder:
        return msgspec.to_builtins(enroll("ann", Path(folder)))


# Documents


NUMBERS: Final = (
    "-1",
    "0",
    "1.5",
    "-0.0",
    "1e999",
    "NaN",
    "-Infinity",
    str(2**63),
    str(-(2**63) - 1),
    "9" * 5000,
    "1e-400",
)
NESTED: Final = ("[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "[[[[[[]]]]]]")
TEXTS: Final = (
    r'"\ud800"',
    r'"\u001b[2J\u0007\u202e"',
    r'"\r\nYou paid nothing"',
    '"\x1b[2J"',
    '"' + "x" * 20_000 + '"',
    '""',
    '"=1+1"',
    '"../../etc/passwd"',
)


def values() -> st.SearchStrategy[str]:
    """Return texts in the place of a JSON value, of which some are none."""
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    any_of = st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    )
    return st.sampled_from((*NUMBERS, *NESTED, *TEXTS, "null", "true", "{}", "[]", "")) | any_of.map(json.dumps)


@st.composite
def documents(draw: st.DrawFn, true: Mapping[str, Any]) -> bytes:
    """Return a document that differs from a true one in a few places, of which some are keys, and some are bytes."""
    pairs = [(json.dumps(key), json.dumps(value)) for key, value in true.items()]
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(pairs) - 1))
        key, value = pairs[place]
        match draw(st.sampled_from(("value", "value", "key", "gone", "twice", "inner"))):
            case "value":
                pairs[place] = (key, draw(values()))
            case "key":
                pairs.append((json.dumps(draw(st.text(max_size=10))), draw(values())))
            case "gone" if len(pairs) > 1:
                del pairs[place]
            case "inner" if value.startswith("{") and 2 < len(value) < 1000:
                pairs[place] = (key, draw(documents(json.loads(value))).decode("utf-8", "replace"))
            case _:
                pairs.append((key, draw(values())))
    content = ("{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}").encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)):
        return content
    at = draw(st.integers(0, len(content)))
    return content[:at] + draw(st.binary(max_size=6)) + content[at + draw(st.integers(0, 6)) :]


def taken(read: Callable[[], object]) -> bool:
    """Return whether something is taken; it is refused in one line that a terminal can show, or the test fails."""
    refusal = ""
    try:
        read()
    except ConfigurationError as error:
        refusal = str(error)
    assert refusal.isprintable(), repr(refusal)
    assert len(refusal) < 2000
    return not refusal


@contextlib.contextmanager
def file_with(content: bytes, name: str = "1-ann.json") -> Generator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


def read_invitation(path: Path) -> None:
    """Do all that `join` does with an invitation before it calls anybody."""
    invitation = find_invitation(path)
    assert repr(invitation).isprintable()
    keys = invitation.find_keys([])
    find_transport("tls", keys=keys)
    joining = Joining(
        address=invitation.address,
        party=invitation.party,
        entries={"weight": "1", "merger": "1"},
        seed=None,
        invitation=invitation,
        keys=keys,
    )
    joining.agree_beforehand()


def with_fields(**fields: Any) -> bytes:
    """Return the true invitation but for these fields."""
    return json.dumps(msgspec.to_builtins(drawn().invitations[0]) | fields).encode()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("expires", -(10**18)),  # was the system's error of a date
        ("place", -1),  # was taken
        ("key", "-----BEGIN CERTIFICATE-----"),
        ("server", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
        ("party", "\x1b[2J\r\nann"),
        ("protocol", "\u202edpwevote"),
    ],
)
def test_what_was_found_in_invitations_is_refused(field: str, value: object) -> None:
    with file_with(with_fields(**{field: value})) as path:
        assert not taken(lambda: read_invitation(path))


@SEVERAL
@given(st.deferred(lambda: documents(msgspec.to_builtins(drawn().invitations[0]))))
def test_an_invitation_is_taken_or_refused(content: bytes) -> None:
    with file_with(content) as path:
        taken(lambda: read_invitation(path))


def test_the_true_ones_are_taken(tmp_path: Path) -> None:
    with file_with(msgspec.json.encode(drawn().invitations[0])) as path:
        assert taken(lambda: read_invitation(path))
    with file_with(json.dumps(enrollment()).encode()) as path:
        assert taken(lambda: read_enrolled(path))
    write_session(tmp_path, drawn())
    assert taken(lambda: read_session(tmp_path))


def read_enrolled(path: Path) -> None:
    enrolled = read_enrollments(path.parent)
    for each in enrolled.values():
        assert each.party.isprintable()
    check_enrollments(list(enrolled), enrolled, expires=0)


@pytest.mark.parametrize("key", ["", "ab", "xyz", "00" * 33, "\u0661" * 64])
def test_a_signature_key_that_is_none_is_refused(key: str) -> None:
    with file_with(json.dumps(enrollment() | {"signature_key": key}).encode()) as path:
        assert not taken(lambda: read_enrolled(path))


@SEVERAL
@given(st.deferred(lambda: documents(enrollment())))
def test_an_enrollment_is_taken_or_refused(content: bytes) -> None:
    with file_with(content) as path:
        taken(lambda: read_enrolled(path))


def read_session(folder: Path) -> None:
    """Do all that `serve` does with what was drawn up."""
    opening, keys = read_server_session(folder, fingerprints=drawn().roster.fingerprints or ())
    check_expiry(opening.descriptor, field="--roster")
    opening.check(session="vote", kind=SessionKind.DEPLOYMENT, roster=drawn().roster)
    find_transport("tls", keys=keys)


@SEVERAL
@given(st.deferred(lambda: documents(msgspec.to_builtins(drawn().opening))))
def test_a_servers_session_is_taken_or_refused(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        write_session(Path(name), drawn())
        (Path(name) / "session.json").write_bytes(content)
        taken(lambda: read_session(Path(name)))


@pytest.mark.parametrize("days", [1e7, 1e300, float("inf"), float("nan")])
def test_keys_and_sessions_for_longer_than_there_are_dates_are_refused(tmp_path: Path, days: float) -> None:
    assert not taken(lambda: enroll("ann", tmp_path / "ann", days=days))
    assert not taken(
        lambda: draw_session(PROTOCOL, drawn().roster, session="vote", kind=SessionKind.DEPLOYMENT, days=days)
    )
    assert list(tmp_path.iterdir()) == []


# Certificates and keys


@functools.cache
def certificate(extension: bytes = b"") -> bytes:
    """Return a certificate that is the same in every run, so that the same examples are tried."""
    key = ec.derive_private_key(7, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1 << 100).not_valid_before(dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    builder = builder.not_valid_after(dt.datetime(2027, 1, 1, tzinfo=dt.UTC))
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    if extension:
        unknown = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), extension)
        builder = builder.add_extension(unknown, critical=False)
    made = builder.sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    return made.public_bytes(serialization.Encoding.DER)


PRIVATE: Final[Mapping[str, Callable[[], Any]]] = {
    "another of the same kind": lambda: ec.generate_private_key(ec.SECP256R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "Ed448": ed448.Ed448PrivateKey.generate,
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "DSA": lambda: dsa.generate_private_key(2048),
    "P-192": lambda: ec.generate_private_key(ec.SECP192R1()),
    "X25519, which signs nothing": x25519.X25519PrivateKey.generate,
}


def pem(key: Any, password: bytes = b"") -> str:
    hidden = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden).decode()


@pytest.mark.parametrize("kind", PRIVATE)
def test_a_key_that_is_not_the_certificates_is_refused(kind: str) -> None:
    text = pem(PRIVATE[kind]()) + drawn().server.certificate_pem
    with file_with(with_fields(key=text)) as path:
        assert not taken(lambda: read_invitation(path))
    with file_with(text.encode(), "key.pem") as path:
        assert not taken(lambda: TLSTransport(path, peers=[drawn().server.certificate]))


def test_a_key_that_a_password_protects_is_refused_and_nobody_is_asked_for_it() -> None:
    identity = make_identity()
    key = serialization.load_pem_private_key(identity.private_key, None)
    text = pem(key, b"secret") + identity.certificate_pem
    with file_with(with_fields(key=text)) as path:
        assert not taken(lambda: read_invitation(path))
    with file_with(text.encode(), "key.pem") as path:
        load = f"TLSTransport(Path({str(path)!r}), peers=[b''])"
        command = f"from pathlib import Path; from psephos.transports import TLSTransport; {load}"
        ended = run_in_terminal([sys.executable, "-c", command])
    assert "pass phrase" not in ended
    assert "use a private key with its certificate" in ended


def run_in_terminal(command: Sequence[str]) -> str:
    """Run a program in a terminal in which nobody types, and return what is shown."""
    ours, theirs = pty.openpty()
    plain = os.environ | {"PYTHON_COLORS": "0"}  # Python 3.13 colors tracebacks
    with subprocess.Popen(  # noqa: S603  our own
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=plain
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal ends
            while data := os.read(ours, 1 << 16):
                shown += data
                if b"pass phrase" in shown:
                    process.kill()
        os.close(ours)
    return shown.decode()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return a certificate of which a few bytes are others, more or fewer."""
    der = bytearray(certificate())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(der) - 1))
        der[at : at + draw(st.sampled_from((1, 1, 1, 0, 2, 40)))] = draw(st.binary(min_size=0, max_size=2))
    return bytes(der)


def of_version(number: int) -> bytes:
    """Return a certificate that says another version of its format."""
    der = bytearray(certificate())
    der[der.index(b"\xa0\x03\x02\x01") + 4] = number
    return bytes(der)


def read_der(der: bytes) -> None:
    """Read a certificate as from an enrollment and from a roster's file, and serve to whoever has it."""
    text = ssl.DER_cert_to_PEM_cert(der)
    with file_with(json.dumps(enrollment() | {"certificate": text}).encode()) as path:
        read_enrolled(path)
    with file_with(text.encode() * 2, "certificates.pem") as path:
        peers = read_certificates(path)
    assert len(peers) == 2
    try:
        TLSTransport(drawn().server, peers=peers)
    except ConfigurationError as error:  # whoever draws up a roster is told, and not its server
        raise AssertionError(str(error)) from error


@pytest.mark.parametrize("number", [0, 1, 3, 9, 255])
def test_a_certificate_of_another_version_of_its_format_is_refused(number: int) -> None:
    assert not taken(lambda: read_der(of_version(number)))


def test_a_certificate_whose_number_is_negative_is_refused_without_a_warning() -> None:
    der = bytearray(certificate())
    der[der.index(b"\x02\x0d\x10") + 2] |= 0x80  # in its serial number of thirteen bytes
    assert not taken(lambda: read_der(bytes(der)))


def test_a_certificate_that_one_library_reads_and_the_other_does_not_is_refused_before_it_is_on_a_roster() -> None:
    """One of these would have kept the server from reading all others."""
    der = bytearray(certificate())
    der[der.index(b"\x0c\x03ann")] = 0  # the type of a text
    assert not taken(lambda: read_der(bytes(der)))


@SEVERAL
@given(damaged())
def test_a_damaged_certificate_is_taken_by_all_or_refused_at_once(der: bytes) -> None:
    taken(lambda: read_der(der))


@SEVERAL
@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda data: data.decode("latin-1")))
def test_what_is_no_pem_is_refused(text: str) -> None:
    end = "-----END CERTIFICATE-----"
    for content in (
        text,
        f"-----BEGIN CERTIFICATE-----\n{text}\n{end}",
        drawn().server.certificate_pem.replace("\n", text, 2),
    ):
        for read in (read_certificate, Identity.from_text):
            with contextlib.suppress(ValueError):
                read(content)
        with file_with(content.encode("utf-8", "surrogatepass"), "certificates.pem") as path:
            taken(functools.partial(read_certificates, path))


def test_a_certificate_of_a_megabyte_is_taken() -> None:
    assert taken(lambda: read_der(certificate(bytes(1 << 20))))
