"""Keys of a TLS channel's ends: a private key, and a self-signed certificate of its public key.

A certificate is identified only by its fingerprint, the SHA-256 of its bytes. Names in it and authorities do not count.
Its owner is agreed on in advance, by a roster or an invitation. Its subject is random, so that OpenSSL finds it quickly
among thousands.
"""

import dataclasses
import datetime as dt
import hashlib
import secrets
import ssl
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import NameOID

from .own_files import write_private

VALID_DAYS: Final = 365
"""The default validity of a certificate, in days."""
_SKEW: Final = dt.timedelta(days=1)
"""How far a clock may be behind, so that a new certificate is valid at once on both sides."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """One end's private key and certificate.

    Args:
        certificate: the certificate in DER.
        private_key: the private key in PEM (PKCS #8); secret.

    Examples:
        >>> identity = make_identity()
        >>> Identity.from_text(identity.text) == identity
        True
    """

    certificate: bytes
    private_key: bytes = dataclasses.field(repr=False)

    @property
    def fingerprint(self) -> str:
        """The certificate's."""
        return fingerprint_of(self.certificate)

    @property
    def certificate_pem(self) -> str:
        """The certificate in PEM."""
        return ssl.DER_cert_to_PEM_cert(self.certificate)

    @classmethod
    def from_text(cls, text: str) -> "Identity":
        """Parse an identity from a text in the format of `text`.

        Raises:
            ValueError: the text contains no key, or no certificate.
        """
        end = text.find("-----BEGIN CERTIFICATE-----")
        try:
            serialization.load_pem_private_key(text[: max(end, 0)].encode(), password=None)
        except (TypeError, UnsupportedAlgorithm) as error:  # protected by a password, or of another kind
            raise ValueError(str(error)) from None
        return cls(read_certificate(text)[0], text[:end].encode())

    @property
    def text(self) -> str:
        """Both in PEM: what the file of an identity holds."""
        return self.private_key.decode() + self.certificate_pem

    def write(self, path: Path) -> None:
        """Write both into one new file, which its owner alone can read."""
        write_private(path, self.text.encode())


def fingerprint_of(certificate: bytes) -> str:
    """Return the SHA-256 of a certificate (DER) in hexadecimal.

    Examples:
        >>> fingerprint_of(b"certificate")[:16]
        '03d66dd08835c1ca'
    """
    return hashlib.sha256(certificate).hexdigest()


def make_identity(*, days: float = VALID_DAYS) -> Identity:
    """Make a key on the curve P-256 and a certificate for it.

    Args:
        days: the validity of the certificate from now, in days.

    Examples:
        >>> len(make_identity(days=30).fingerprint)
        64
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"psephos {secrets.token_hex(16)}")])
    now = dt.datetime.now(dt.UTC)
    until = now + dt.timedelta(days=days)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, until) - _SKEW)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Identity(
        certificate=certificate.public_bytes(serialization.Encoding.DER),
        private_key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def make_signature_key() -> tuple[bytes, bytes]:
    """Make an Ed25519 signature key; return the private key in PEM, and the public key's 32 bytes.

    Examples:
        >>> private, public = make_signature_key()
        >>> len(public), len(read_signature_key(private)(b"yes"))
        (32, 64)
    """
    key = ed25519.Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem, key.public_key().public_bytes_raw()


def read_signature_key(pem: bytes) -> Callable[[bytes], bytes]:
    """Return a signer for a private key that `make_signature_key` made; ValueError for anything else."""
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise ValueError("it is no Ed25519 key")  # noqa: TRY004  a file's content, and no argument's type
    return key.sign


def read_certificate(text: str) -> tuple[bytes, dt.datetime]:
    """Return a certificate in DER, and the end of its validity.

    Args:
        text: a text with the certificate in PEM; other text is ignored.

    Raises:
        ValueError: the text has no certificate, or an unusable one.

    Examples:
        >>> identity = make_identity()
        >>> read_certificate(identity.certificate_pem)[0] == identity.certificate
        True
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # refuse certificates that violate RFC 5280
            certificate = x509.load_pem_x509_certificate(text.encode())
            certificate.public_key()
    except (x509.InvalidVersion, UnsupportedAlgorithm, CryptographyDeprecationWarning) as error:
        raise ValueError(str(error)) from None
    return certificate.public_bytes(serialization.Encoding.DER), certificate.not_valid_after_utc


def check_usable(certificate: bytes) -> None:
    """Check that OpenSSL can read a certificate, since one bad certificate would prevent loading all others.

    Args:
        certificate: the certificate in DER, from `read_certificate`.

    Raises:
        ValueError: OpenSSL cannot read it.
    """
    try:
        # Loaded twice: OpenSSL then also compares it, which reveals more errors than reading it.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate * 2)
    except ssl.SSLError as error:
        raise ValueError(f"OpenSSL cannot read the certificate: {error}") from None
