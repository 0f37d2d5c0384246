"""What both sides need: addresses that stay on this machine, and the kind of a session."""

import contextlib
from collections.abc import Generator
from typing import Final

from ...agents.modes import Deployment, Mode, Simulation
from ...agents.noise import SecureNoise
from ...protocol.errors import ConfigurationError
from ...protocol.randomness import SimulatedNoise
from ...transports.abc import Transport
from ..plugins import ARRAY, make_transport

__all__ = ["DEFAULT_TRANSPORT", "check_address", "check_seed", "find_transport", "make_mode", "naming_address"]

DEFAULT_TRANSPORT: Final = "tcp"
"""Over which parties that are processes meet, unless they name another."""


def find_transport(name: str) -> Transport:
    """Return a transport over which parties that are processes of their own can meet.

    Raises:
        ConfigurationError: there is none of the name, or it stays inside one process.
    """
    if name != ARRAY:
        transport = make_transport(name)
        if transport.joins_processes:
            return transport
    what = "no party is there by itself" if name == ARRAY else "it stays inside one process"
    allowed = f"one by which processes reach each other, such as {DEFAULT_TRANSPORT!r} ({what})"
    raise ConfigurationError(field="transport", value=name, allowed=allowed)


def check_address(address: str, *, field: str, is_insecure: bool, transport: Transport) -> None:
    """Refuse a connection that would not stay on this machine, unless its ends are known or the user insists.

    Args:
        address: in the transport's form.
        field: how the caller's user knows it.
        is_insecure: whether the user does.
        transport: over which.

    Raises:
        ConfigurationError: it is no address, or leads elsewhere.
    """
    with naming_address(address, field=field):
        stays = transport.stays_on_this_machine(address)
    if not (stays or is_insecure or transport.is_authenticated):
        which = "a loopback address such as 127.0.0.1:7000"
        if transport.name != DEFAULT_TRANSPORT:
            which = f"an address that {transport.name!r} is known to keep on this machine"
        allowed = f"{which}, since nothing is encrypted yet; --insecure lifts that"
        raise ConfigurationError(field=field, value=address, allowed=allowed)


@contextlib.contextmanager
def naming_address(address: str, *, field: str = "address") -> Generator[None]:
    """Let what the system or a transport says against an address name it.

    Args:
        address: in the transport's form.
        field: how its user knows it.

    Raises:
        ConfigurationError: it is no address.
        OSError: as the code inside.
    """
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
