"""Find protocols, transports and roles by name, through entry points (for systems: `system`).

A distribution that declares, say,

    [project.entry-points."psephos.protocols"]
    mean = "survey.mean:BoundedMean"

makes `protocol = "mean"` available in scenarios. Those of Psephos are declared in the same way, in `pyproject.toml`.

Nothing heavy is imported before it is needed, since the command line's help uses this module.
"""

import functools
import importlib.metadata
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ..agents.client import Client
    from ..agents.server import Server
    from ..transports.abc import Transport

ARRAY: Final = "array"  # in place of a transport's name: array computation without agents
AUTO: Final = "auto"  # agents over memory, or arrays if there are many parties
PROTOCOLS: Final = "psephos.protocols"  # entry points: name → subclass of `PhasedProtocol`
TRANSPORTS: Final = "psephos.transports"  # entry points: name → subclass of `Transport`, made without arguments
ADVERSARIES: Final = "psephos.adversaries"  # entry points: name → subclass of `adversaries.Role`
ROLES: Final = "psephos.roles"  # entry points: name → subclass of `Client` or `Server`


def names_in(group: str) -> tuple[str, ...]:
    """Return the sorted names that are registered in an entry point group.

    Examples:
        >>> names_in(TRANSPORTS)
        ('memory', 'tcp', 'tls')
    """
    return tuple(sorted(_entry_points(group, tuple(sys.path)).names))


def check_transport(name: str) -> None:
    """Raise ConfigurationError unless this is a registered transport, `ARRAY` or `AUTO`.

    Examples:
        >>> check_transport("array")
    """
    known_names = (ARRAY, *names_in(TRANSPORTS))
    if name not in known_names:
        raise _refusal("transport", name, _one_of(known_names, name))
    if name != ARRAY:
        from ..transports.abc import Transport

        find(TRANSPORTS, name, Transport, field="transport", is_class=True)


def make_transport(name: str) -> "Transport":
    """Return a new transport of the kind registered as `name`.

    Examples:
        >>> type(make_transport("memory")).__name__
        'MemoryTransport'
    """
    from ..transports.abc import Transport

    kind = find(TRANSPORTS, name, Transport, field="transport", is_class=True)
    try:
        return kind()
    except Exception as error:
        from ..protocol.errors import UnusablePluginError
        from ..protocol.plugin_faults import place_of, reason_of

        place = place_of(error, frozenset({kind.__module__.partition(".")[0]}))
        plugin = f"transport {name!r}"
        raise UnusablePluginError(plugin=plugin, step="__init__", reason=reason_of(error), place=place) from error


def find_client_role(name: str) -> type["Client"]:
    """Return the client role registered as `name`.

    Examples:
        >>> find_client_role("voter").role
        'voter'
    """
    from ..agents.client import Client

    return find(ROLES, name, Client, field="client role", is_class=True)


def find_server_role(name: str) -> type["Server"]:
    """Return the server role registered as `name`."""
    from ..agents.server import Server

    return find(ROLES, name, Server, field="server role", is_class=True)


@functools.lru_cache(maxsize=8)
def _entry_points(group: str, path: tuple[str, ...]) -> importlib.metadata.EntryPoints:
    """Return a group's entry points on `sys.path`; cached, since reading them takes as long as a small session."""
    del path
    return importlib.metadata.entry_points(group=group)


def find(group: str, name: str, kind: Any, *, field: str, is_class: bool = False, also: Sequence[str] = ()) -> Any:
    """Return the object registered as `name` in an entry point group.

    Args:
        kind: the required type; with `is_class`, the required base class.
        field: the field that errors name.
        also: further allowed names, for errors.

    Raises:
        ConfigurationError: nothing is registered as `name`, it cannot be imported, or it has another type.
    """
    entry_points = _entry_points(group, tuple(sys.path)).select(name=name)
    if not entry_points:
        allowed_names = _one_of(sorted({*names_in(group), *also}), name)
        raise _refusal(
            field, name, f"{allowed_names}; others are registered as {ROLES}" if group == ROLES else allowed_names
        )
    (entry, *_) = entry_points
    plugin = load(entry.value, kind, field=field, name=name, is_class=is_class)
    if is_class:
        check_registered(plugin, name, field=field)
    return plugin


def check_registered(plugin: Any, name: str, *, field: str) -> None:
    """Raise ConfigurationError, with `field`, if a class is registered under a name other than its own."""
    own_name = getattr(plugin, "role" if field.endswith(" role") else "name", name)
    if own_name != name:
        raise _refusal(field, name, f"registered by the name that {plugin.__name__} has, {own_name!r}")


def load(target: str, kind: Any, *, field: str, name: str, is_class: bool = False) -> Any:
    """Import the object at "module:name", registered under `name`; check its type, or with `is_class` its base class.

    Raises:
        ConfigurationError: it cannot be imported, or has another type; the error names `field`.
    """
    try:
        plugin_class: Any = importlib.metadata.EntryPoint(name, target, field).load()
    except (Exception, SystemExit) as error:  # the module is missing, lacks the name, or fails
        raise _not_imported(error, target, field=field, name=name) from error
    is_one = (
        isinstance(plugin_class, type) and issubclass(plugin_class, kind)
        if is_class
        else isinstance(plugin_class, kind)
    )
    if not is_one:
        raise _refusal(field, name, f"registered as a {kind.__name__}")
    if is_class and (missing := sorted(getattr(plugin_class, "__abstractmethods__", ()))):
        allowed = f"a class with all methods of a {kind.__name__} ({plugin_class.__name__} lacks {', '.join(missing)})"
        raise _refusal(field, name, allowed)
    return plugin_class


def _one_of(known_names: Sequence[str], name: str) -> str:
    from ..protocol.errors import list_choices

    return list_choices(known_names, name)


def _refusal(field: str, name: str, allowed: str) -> Exception:
    from ..protocol.errors import ConfigurationError

    return ConfigurationError(field=field, value=name, allowed=allowed)


def _not_imported(error: BaseException, target: str, *, field: str, name: str) -> Exception:
    """Return the message for a plug-in whose import fails."""
    from ..protocol.errors import UnusablePluginError
    from ..protocol.plugin_faults import place_of, reason_of

    place, reason = place_of(error, frozenset({target.partition(":")[0].partition(".")[0]})), reason_of(error)
    place_note = f"; {place}" if place else ""
    return UnusablePluginError(
        plugin=f"{field} {name!r}",
        step=f"the import of {target}",
        reason=reason,
        place=place,
        field=field,
        value=name,
        allowed=f"registered as something that can be imported: {target} cannot ({reason}{place_note})",
    )
