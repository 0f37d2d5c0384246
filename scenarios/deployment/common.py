"""Shared by server and clients: transports with keys, loopback addresses, and the kind of a session."""

import contextlib
import dataclasses
import datetime as dt
import functools
import hashlib
import ssl
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ...agents.modes import Deployment, Mode, Simulation
from ...agents.noise import SecureNoise
from ...protocol.errors import ConfigurationError, refuse
from ...protocol.messages import SessionDescriptor
from ...protocol.randomness import SimulatedNoise
from ...transports.abc import Transport
from ...transports.keys import Identity, fingerprint_of, read_certificate
from ...transports.tls import TLSTransport
from ..plugins import ARRAY, make_transport
from ..reading.files import check_regular

_MOST_NAMED: Final = 3
DEFAULT_TRANSPORT: Final = "tls"
"""Over which parties that are processes meet, unless they name another."""


@dataclasses.dataclass(frozen=True)
class TLSKeys:
    """What one side of a session needs for TLS.

    Args:
        identity: its own private key and certificate, or the file of both.
        peers: the certificates, in DER, of whoever may be at the other end.
    """

    identity: Identity | Path = dataclasses.field(repr=False)
    peers: Sequence[bytes] = dataclasses.field(repr=False)

    @property
    def fingerprints(self) -> frozenset[str]:
        """The peers'."""
        return frozenset(map(fingerprint_of, self.peers))

    @property
    def private_key(self) -> bytes:
        """The private key, in PEM; ConfigurationError: its file cannot be read."""
        return self._find_own_identity.private_key

    @property
    def secret(self) -> bytes:
        """What follows from all of the private key, and from nothing else: by it this side seals, and knows its own.

        ConfigurationError: the key's file cannot be read.
        """
        return hashlib.sha256(self.private_key).digest()

    def warn_of_expiry(self, names: Mapping[str, str]) -> Iterator[str]:
        """Yield what is to be said of certificates that are good for less than a day, this side's own among them.

        `names` are whose each is, by its fingerprint. ConfigurationError: the file of this side's own cannot be read.
        """
        owners: dict[dt.datetime, list[str]] = {}
        for certificate in (self._find_own_identity.certificate, *self.peers):
            _, expires = read_certificate(ssl.DER_cert_to_PEM_cert(certificate))
            if (
                dt.timedelta() < expires - dt.datetime.now(dt.UTC) < dt.timedelta(days=1)
            ):  # one that has ended is refused
                owners.setdefault(expires, []).append(names.get(fingerprint_of(certificate), "this side"))
        for expires, parties in owners.items():
            more = f" and {len(parties) - _MOST_NAMED} more" if len(parties) > _MOST_NAMED else ""
            yield f"the certificate of {', '.join(parties[:_MOST_NAMED])}{more} ends on {expires:%Y-%m-%d %H:%M} UTC"

    @functools.cached_property
    def _find_own_identity(self) -> Identity:
        if isinstance(self.identity, Identity):
            return self.identity
        check_regular(self.identity, field="key")
        try:
            return Identity.from_text(self.identity.read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            allowed = f"a file with a private key and its certificate ({type(error).__name__})"
            raise ConfigurationError(field="key", value=str(self.identity), allowed=allowed) from None


def find_transport(name: str, *, keys: TLSKeys | None = None) -> Transport:
    """Return a transport over which parties that are processes of their own can meet.

    Raises:
        ConfigurationError: there is none of the name, it stays inside one process, or TLS has no keys.
    """
    if name == TLSTransport.name:
        if keys is None:
            allowed = "one that needs no keys, such as 'tcp', on one machine: this side has no certificates to go by"
            raise ConfigurationError(field="transport", value=name, allowed=allowed)
        return TLSTransport(keys.identity, peers=keys.peers)
    if name != ARRAY:
        transport = make_transport(name)
        if transport.joins_processes:
            return transport
    reason = "no party is there by itself" if name == ARRAY else "it stays inside one process"
    allowed = f"one by which processes reach each other, such as {DEFAULT_TRANSPORT!r} ({reason})"
    raise ConfigurationError(field="transport", value=name, allowed=allowed)


def check_address(address: str, *, field: str, transport: Transport) -> None:
    """Refuse a connection that would not stay on this machine, unless its ends know each other.

    Raises:
        ConfigurationError: it is no address, or leads elsewhere.
    """
    with name_address_in_errors(address, field=field):
        stays = transport.stays_on_this_machine(address)
    if not (stays or transport.is_authenticated):
        allowed_addresses = f"an address that {transport.name!r} is known to keep on this machine"
        if transport.is_over_tcp:
            allowed_addresses = "a loopback address such as 127.0.0.1:7000"
        allowed = (
            f"{allowed_addresses}: over {transport.name!r} nobody proves who it is; over {DEFAULT_TRANSPORT!r} "
            "everybody does"
        )
        raise ConfigurationError(field=field, value=address, allowed=allowed)


@contextlib.contextmanager
def name_address_in_errors(address: str, *, field: str = "address") -> Generator[None]:
    """Let what the system or a transport says against an address name it; ConfigurationError: it is no address."""
    try:
        yield
    except ValueError as error:
        allowed = error.allowed if isinstance(error, ConfigurationError) else f"an address of its transport ({error})"
        raise ConfigurationError(field=field, value=address, allowed=allowed) from None
    except OSError as error:
        if error.errno is not None:  # else it is trio's, which names the address
            error.filename = address
        raise


def make_mode(scenario_name: str, *, seed: int | None, round_number: int = 0) -> Mode:
    """Return a simulation's mode where there is a seed, else a deployment's.

    Examples:
        >>> make_mode("tea", seed=7).kind.value, make_mode("tea", seed=None).kind.value
        ('simulation', 'deployment')
    """
    if seed is None:
        return Deployment(scenario_name, SecureNoise())
    return Simulation(scenario_name, SimulatedNoise(seed, session=scenario_name, round_number=round_number))


def with_descriptor(mode: Mode, descriptor: SessionDescriptor) -> Mode:
    """Return a mode with this session's descriptor; a simulation keeps the id that follows from its seed."""
    return dataclasses.replace(
        mode, descriptor=msgspec.structs.replace(descriptor, id=mode.descriptor.id or descriptor.id)
    )


def utc(seconds: float) -> str:
    """Return a time in seconds since 1970 as people read it.

    Examples:
        >>> utc(0)
        '1970-01-01 00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def check_seed(*, simulate: bool, seed: int | None) -> None:
    """Raise ConfigurationError unless a seed is given for a simulation, and for nothing else.

    Examples:
        >>> check_seed(simulate=True, seed=7)
        >>> check_seed(simulate=True, seed=None)
        Traceback (most recent call last):
        psephos.protocol.errors.ConfigurationError: give --seed together with --simulate, the same on both sides
    """
    refuse(simulate and seed is None, "--seed", "left out", "given together with --simulate, the same on both sides")
    refuse(
        not simulate and seed is not None, "--seed", "given", "left out, or add --simulate: secure noise has no seed"
    )
