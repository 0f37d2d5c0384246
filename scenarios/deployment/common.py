"""Shared by server and clients: transports with keys, loopback addresses, and the kind of a session."""

import contextlib
import dataclasses
import datetime as dt
import errno
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
from ...protocol.errors import ConfigurationError, join_names, refuse
from ...protocol.messages import SessionDescriptor
from ...protocol.randomness import SimulatedNoise
from ...transports.abc import Transport
from ...transports.keys import Identity, fingerprint_of, read_certificate
from ...transports.tls import TLSTransport
from ..plugins import ARRAY, make_transport
from ..reading.files import check_regular

DEFAULT_TRANSPORT: Final = "tls"
"""The default transport between processes."""


@dataclasses.dataclass(frozen=True)
class TLSKeys:
    """The TLS keys of one side of a session.

    Args:
        identity: this side's private key and certificate, or a file with both.
        peers: certificates, in DER, of the allowed peers.
    """

    identity: Identity | Path = dataclasses.field(repr=False)
    peers: Sequence[bytes] = dataclasses.field(repr=False)

    @property
    def fingerprints(self) -> frozenset[str]:
        """The peers' fingerprints."""
        return frozenset(map(fingerprint_of, self.peers))

    @property
    def private_key(self) -> bytes:
        """The private key, in PEM; ConfigurationError: its file cannot be read."""
        return self._find_own_identity.private_key

    @property
    def secret(self) -> bytes:
        """A secret derived from the private key only, by which this side seals data and recognizes it.

        ConfigurationError: the key's file cannot be read.
        """
        return hashlib.sha256(self.private_key).digest()

    def warn_of_expiry(self, names: Mapping[str, str]) -> Iterator[str]:
        """Yield warnings of certificates that expire within a day, including this side's.

        `names` maps fingerprints to the owners' names. ConfigurationError: the file of this side's certificate cannot
        be read.
        """
        owners: dict[dt.datetime, list[str]] = {}
        for certificate in (self._find_own_identity.certificate, *self.peers):
            _, expires = read_certificate(ssl.DER_cert_to_PEM_cert(certificate))
            if (
                dt.timedelta() < expires - dt.datetime.now(dt.UTC) < dt.timedelta(days=1)
            ):  # an expired certificate is refused
                owners.setdefault(expires, []).append(names.get(fingerprint_of(certificate), "this side"))
        for expires, parties in owners.items():
            yield f"the certificate of {join_names(parties)} ends on {expires:%Y-%m-%d %H:%M} UTC"

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
    """Return a transport between separate processes.

    Raises:
        ConfigurationError: there is no such transport, it works within one process only, or TLS has no keys.
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
    """Refuse an address outside this machine, unless the transport authenticates both ends.

    Raises:
        ConfigurationError: it is not an address, or is on another machine.
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


_HELP: Final = {
    errno.EADDRINUSE: "Another program listens at {}. End it, or choose another port.",
    errno.EADDRNOTAVAIL: "This machine does not have the address {}. Name one of its own, such as 127.0.0.1:7000.",
    errno.EACCES: "You may not listen at {}. Ports below 1024 need an administrator's rights.",
}
"""What helps where nobody can listen, by the system's number of an error."""


@contextlib.contextmanager
def name_address_in_errors(address: str, *, field: str = "address") -> Generator[None]:
    """Add the address to errors of the system or transport; ConfigurationError: nobody can listen there."""
    try:
        yield
    except ValueError as error:
        allowed = error.allowed if isinstance(error, ConfigurationError) else f"an address of its transport ({error})"
        raise ConfigurationError(field=field, value=address, allowed=allowed) from None
    except OSError as error:
        if error.errno in _HELP:
            raise ConfigurationError(field=field, value=address, allowed=_HELP[error.errno].format(address)) from None
        if error.errno is not None:  # trio's error already names the address
            error.filename = address
        raise


def make_mode(scenario_name: str, *, seed: int | None, round_number: int = 0) -> Mode:
    """Return a simulation's mode if there is a seed, else a deployment's.

    Examples:
        >>> make_mode("tea", seed=7).kind.value, make_mode("tea", seed=None).kind.value
        ('simulation', 'deployment')
    """
    if seed is None:
        return Deployment(scenario_name, SecureNoise())
    return Simulation(scenario_name, SimulatedNoise(seed, session=scenario_name, round_number=round_number))


def with_descriptor(mode: Mode, descriptor: SessionDescriptor) -> Mode:
    """Return a mode with this session's descriptor; a simulation keeps the id derived from its seed."""
    return dataclasses.replace(
        mode, descriptor=msgspec.structs.replace(descriptor, id=mode.descriptor.id or descriptor.id)
    )


def utc(seconds: float) -> str:
    """Format a time in seconds since 1970.

    Examples:
        >>> utc(0)
        '1970-01-01 00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def check_seed(*, simulate: bool, seed: int | None) -> None:
    """Raise ConfigurationError unless a seed is given exactly if it is a simulation.

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
