"""Protocols, transports and roles by name: ours and anybody's, through entry points.

A distribution that declares, say,

    [project.entry-points."psephos.protocols"]
    mean = "survey.mean:BoundedMean"

makes `protocol = "mean"` a word in scenarios. Ours are declared the same way, in `pyproject.toml`.
"""

import functools
import importlib.metadata
import sys
from typing import Any, Final

from ..agents.client import Client
from ..agents.server import Server
from ..protocol.errors import ConfigurationError
from ..protocol.phases import PhasedProtocol
from ..transports.abc import Transport

__all__ = [
    "ADVERSARIES",
    "ARRAY",
    "PROTOCOLS",
    "ROLES",
    "TRANSPORTS",
    "check_transport",
    "find_adversary",
    "find_client_role",
    "find_protocol",
    "find_server_role",
    "make_transport",
    "names_in",
]

ARRAY: Final = "array"
"""The path without agents, where a transport's name would stand."""
PROTOCOLS: Final = "psephos.protocols"
"""Entry points: name → subclass of `PhasedProtocol`."""
TRANSPORTS: Final = "psephos.transports"
"""Entry points: name → subclass of `Transport`, made without arguments."""
ADVERSARIES: Final = "psephos.adversaries"
"""Entry points: name → subclass of `adversaries.Role`."""
ROLES: Final = "psephos.roles"
"""Entry points: name → subclass of `Client` or `Server`."""


def names_in(group: str) -> tuple[str, ...]:
    """Return the names that are registered in an entry point group, sorted."""
    return tuple(sorted(_entry_points(group, tuple(sys.path)).names))


def find_protocol(name: str) -> type[PhasedProtocol[Any, Any]]:
    """Return the protocol registered as `name`.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is no protocol.
    """
    return _find(PROTOCOLS, name, PhasedProtocol, field="protocol")


def check_transport(name: str) -> None:
    """Raise ConfigurationError unless a session can take this path: a registered transport, or arrays."""
    known = (ARRAY, *names_in(TRANSPORTS))
    if name not in known:
        raise ConfigurationError(field="transport", value=name, allowed=f"one of {', '.join(known)}")


def make_transport(name: str) -> Transport:
    """Return a new transport of the kind registered as `name`.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is no transport.
    """
    return _find(TRANSPORTS, name, Transport, field="transport")()


def find_client_role(name: str) -> type[Client]:
    """Return the client role registered as `name`.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is no client's.
    """
    return _find(ROLES, name, Client, field="client role")


def find_server_role(name: str) -> type[Server]:
    """Return the server role registered as `name`.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is no server's.
    """
    return _find(ROLES, name, Server, field="server role")


def find_adversary(name: str) -> Any:
    """Return the subclass of `adversaries.Role` registered as `name`.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is no adversary's.
    """
    from .adversaries.role import Role  # noqa: PLC0415  roles look for attacks, which most runs do without

    return _find(ADVERSARIES, name, Role, field="role of an adversary")


@functools.lru_cache(maxsize=8)
def _entry_points(group: str, path: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Return a group's entry points on `sys.path`; reading them takes as long as a small session."""
    del path
    return importlib.metadata.entry_points(group=group)


def _find(group: str, name: str, kind: type[Any], *, field: str) -> Any:
    found = _entry_points(group, tuple(sys.path)).select(name=name)
    if not found:
        raise ConfigurationError(field=field, value=name, allowed=f"one of {', '.join(names_in(group))}")
    (entry, *_) = found
    try:
        registered = entry.load()
    except (ImportError, AttributeError) as error:  # its module is not there, or does not have the name
        allowed = f"registered as something that can be imported: {entry.value} cannot ({error})"
        raise ConfigurationError(field=field, value=name, allowed=allowed) from error
    if not (isinstance(registered, type) and issubclass(registered, kind)):
        raise ConfigurationError(field=field, value=name, allowed=f"registered as a {kind.__name__}")
    return registered
