"""What both sides need: addresses that stay on this machine, and the kind of a session."""

import contextlib
import ipaddress
from collections.abc import Generator

from ...agents.modes import Deployment, Mode, Simulation
from ...agents.noise import SecureNoise
from ...protocol.errors import ConfigurationError
from ...protocol.randomness import SimulatedNoise
from ...transports.tcp import parse_address

__all__ = ["check_address", "check_seed", "make_mode", "naming_address"]


def check_address(address: str, *, field: str, is_insecure: bool) -> None:
    """Refuse a connection that would not stay on this machine, unless the user insists.

    Args:
        address: HOST:PORT.
        field: how the caller's user knows it.
        is_insecure: whether the user does.

    Raises:
        ConfigurationError: it is no address, or leads elsewhere.
    """
    try:
        host, _ = parse_address(address)
    except ValueError:
        allowed = "HOST:PORT or [IPV6]:PORT, with a port up to 65535"
        raise ConfigurationError(field=field, value=address, allowed=allowed) from None
    if not is_insecure and not _is_loopback(host):
        allowed = "a loopback address such as 127.0.0.1:7000, since nothing is encrypted yet; --insecure lifts that"
        raise ConfigurationError(field=field, value=address, allowed=allowed)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def naming_address(address: str) -> Generator[None]:
    """Let what the system says against an address name it.

    Raises:
        OSError: as the code inside.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # else it is trio's, which names the address
            error.filename = address
        raise


def make_mode(scenario_name: str, *, seed: int | None, round_number: int = 0) -> Mode:
    """Return a simulation's mode where there is a seed, else a deployment's."""
    if seed is None:
        return Deployment(scenario_name, SecureNoise())
    return Simulation(scenario_name, SimulatedNoise(seed, session=scenario_name, round_number=round_number))


def check_seed(*, simulate: bool, seed: int | None) -> None:
    """Raise ConfigurationError unless a seed is given for a simulation, and for nothing else."""
    if simulate and seed is None:
        raise ConfigurationError(
            field="--seed", value="left out", allowed="given together with --simulate, on both sides"
        )
    if not simulate and seed is not None:
        raise ConfigurationError(field="--seed", value="given", allowed="left out without --simulate")
