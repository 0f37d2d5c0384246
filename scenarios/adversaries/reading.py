"""A scenario's `[[adversary]]` tables become roles: members are spelled out, and everything is checked first."""

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ...agents.adversaries import SERVER
from ...protocol.errors import ConfigurationError, refuse
from ..plugins import ADVERSARIES, find, names_in
from ..reading.conversion import convert
from .role import Role, Scene

__all__ = ["find_adversary", "read_adversaries"]

_ROLE: Final = "role"
_EVERYBODY: Final = "*"
# More than any roster of agents; a slip of the pen must not fill the memory.
_MOST_IN_RANGE: Final = 1_000_000


def read_adversaries(
    tables: Sequence[Mapping[str, Any]], scene: Scene, *, has_agents: bool, away: Collection[str] = ()
) -> tuple[Role, ...]:
    """Return a scenario's adversaries, one for each table.

    Members may be ranges ("partner-2..27"), and "*" is every party of the roster but the target. Members who are away,
    parties of a series who are not in this vote of it, are left out, unless all are. Who has no part in this vote
    (`Role.takes_part`) is not checked against it.

    Raises:
        ConfigurationError: a table has no role or an unknown one, a key or a value is not allowed, or the scene cannot
            have this adversary; `field` names the table, from 1.
    """
    allowed = "another name, since adversaries know the server by this one"
    refuse(tables and SERVER in scene.names, f"a {scene.protocol.client_role}", SERVER, allowed)
    roles: list[Role] = []
    for number, table in enumerate(tables, start=1):
        place = f"adversary {number}"
        given = dict(table)
        if _ROLE not in given:
            raise ConfigurationError(field=place, value=sorted(given), allowed="a table with the key 'role'")
        kind: type[Role] = find_adversary(convert(given.pop(_ROLE), str, f"{place}: role"))
        _check_protocol(kind, scene.protocol.name, field=f"{place}: role")
        if "members" in given:
            members = convert(given["members"], tuple[str, ...], f"{place}: members")
            everybody = [*scene.names, *away]
            spelled_out = _spelled_out(members, given.get("target"), everybody, field=f"{place}: members")
            given["members"] = tuple(name for name in spelled_out if name not in away) or spelled_out
        role: Role = convert(given, kind, place)
        if kind.needs_agents and not has_agents:
            allowed = "one that only infers: this one deviates or watches the network, which needs agents"
            raise ConfigurationError(field=f"{place}: role", value=kind.name, allowed=f"{allowed} (transport = 'tcp')")
        try:
            if role.takes_part(away):
                role.check(scene)
        except ConfigurationError as error:
            if not error.field.startswith("adversary"):
                raise ConfigurationError(
                    field=f"{place}: {error.field}", value=error.value, allowed=error.allowed
                ) from None
            raise
        roles.append(role)
    _check_deviations([role for role in roles if role.needs_agents and role.takes_part(away)], scene)
    return tuple(roles)


def _check_deviations(roles: Sequence[Role], scene: Scene) -> None:
    """Refuse parties that would deviate in two ways at once: one would silently replace the other."""
    deviating: set[str] = set()
    for role in roles if len(roles) > 1 else ():
        own = role.deviations(scene).keys()
        if twice := sorted(deviating & own):
            allowed = "a party that deviates for one adversary only"
            raise ConfigurationError(field=f"adversary {role.name!r}", value=twice[0], allowed=allowed)
        deviating |= own


def _check_protocol(kind: type[Role], protocol: str, *, field: str) -> None:
    """Raise ConfigurationError where a protocol does not have this role."""
    if not kind.protocols or protocol in kind.protocols:
        return
    its_own: list[str] = []
    for name in names_in(ADVERSARIES):
        with contextlib.suppress(ConfigurationError):  # somebody else registered what is no role
            other: type[Role] = find_adversary(name)
            its_own += [name] * (not other.protocols or protocol in other.protocols)
    allowed = f"one that protocol {protocol!r} has: {', '.join(its_own)}"
    raise ConfigurationError(field=field, value=kind.name, allowed=allowed)


def _spelled_out(members: Sequence[str], target: object, everybody: Sequence[str], *, field: str) -> tuple[str, ...]:
    """Return members with ranges and "*" replaced by names."""
    names: list[str] = []
    for member in members:
        found = re.fullmatch(r"(.*?)(\d+)\.\.(\d+)", member)
        if member == _EVERYBODY:
            names += [name for name in everybody if name != target]
        elif member in everybody or member == SERVER or found is None:
            names.append(member)
        else:
            stem, first, last = found[1], int(found[2]), int(found[3])
            if not first <= last < first + _MOST_IN_RANGE:
                raise ConfigurationError(field=field, value=member, allowed="a range that goes up, as in 'voter-2..9'")
            names += [
                f"{stem}{number:0{len(found[2]) if found[2].startswith('0') else 0}d}"
                for number in range(first, last + 1)
            ]
    return tuple(names)


def find_adversary(name: str) -> type[Role]:
    """Return the role registered as `name`; ConfigurationError where there is none, or it is no adversary's."""
    return find(ADVERSARIES, name, Role, field="role of an adversary", is_class=True)
