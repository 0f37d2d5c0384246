"""Keys of a TLS channel's ends: a private key, and a certificate that says nothing but what its public key is.

The rule that holds here: a certificate is known by its fingerprint alone, the SHA-256 of its bytes. Nobody signs it but
its own key, and neither its names nor an authority count; who it belongs to is agreed beforehand, on a roster or in an
invitation. So its subject is drawn at random, which also lets a store of thousands find it at once.
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
"""How long a certificate is good, unless its owner says otherwise."""
_SKEW: Final = dt.timedelta(days=1)
"""The most that clocks may be behind: a new certificate is good at once on both sides."""


@dataclasses.dataclass(frozen=True)
class Identity:
    """One end's private key and certificate.

    Args:
        certificate: in DER.
        private_key: in PEM (PKCS #8); nobody else's to read.

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
        """Return the identity that a text holds, as `text` writes it.

        Raises:
            ValueError: it holds no key, or no certificate.
        """
        end = text.find("-----BEGIN CERTIFICATE-----")
        try:
            serialization.load_pem_private_key(text[: max(end, 0)].encode(), password=None)
        except (TypeError, UnsupportedAlgorithm) as error:  # one that a password protects; one of another kind
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
        days: how long from now the certificate is good.

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
    """Make an Ed25519 key of signatures; return the private one in PEM, and the public one's 32 bytes.

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
    """Return a certificate in DER, and until when it is good.

    Args:
        text: holds it in PEM; what stands around it does not matter.

    Raises:
        ValueError: it holds none, or one that cannot be used.

    Examples:
        >>> identity = make_identity()
        >>> read_certificate(identity.certificate_pem)[0] == identity.certificate
        True
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what is no certificate by RFC 5280 and is still taken for one
            certificate = x509.load_pem_x509_certificate(text.encode())
            certificate.public_key()
    except (x509.InvalidVersion, UnsupportedAlgorithm, CryptographyDeprecationWarning) as error:
        raise ValueError(str(error)) from None
    return certificate.public_bytes(serialization.Encoding.DER), certificate.not_valid_after_utc


def check_usable(certificate: bytes) -> None:
    """Check that OpenSSL can read a certificate: it takes all that were agreed, or none.

    Args:
        certificate: in DER, as `read_certificate` returned it.

    Raises:
        ValueError: it cannot.
    """
    try:
        # Twice: it is compared with others, which shows more than reading it does.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate * 2)
    except ssl.SSLError as error:
        raise ValueError(f"OpenSSL cannot read the certificate: {error}") from None
