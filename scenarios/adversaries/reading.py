"""Make roles of a scenario's `[[adversary]]` tables, and check what a role's own code returns.

Ranges of members are expanded, and every table is checked before the session runs. A role's deviations, strangers and
report are checked before they are used.
"""

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from ...agents.adversaries import SERVER, Deviation
from ...protocol.errors import ConfigurationError, PluginError, refuse, require
from ...protocol.messages import Hello
from ..plugins import ADVERSARIES, find, names_in
from ..reading.conversion import convert
from .role import AttackContext, AttackReport, Role, SessionTrace

_ROLE: Final = "role"
_EVERYBODY: Final = "*"
_MOST_IN_RANGE: Final = 1_000_000  # more than any roster of agents, so that a typing error does not fill the memory


def read_adversaries(
    tables: Sequence[Mapping[str, Any]], context: AttackContext, *, has_agents: bool, absent_names: Collection[str] = ()
) -> tuple[Role, ...]:
    """Return a scenario's adversaries, one for each table.

    Members may be ranges ("partner-2..27"), and "*" stands for every party of the roster except the target. In a
    series, members who are not in this vote are dropped, unless all members are absent. A role that does not take part
    in this vote (`Role.takes_part`) is not checked against it.

    Raises:
        ConfigurationError: a table has no role or an unknown one, a key or a value is not allowed, or the role refuses
            this context; `field` names the table, counted from 1.
    """
    allowed = "another name, since adversaries know the server by this one"
    refuse(tables and SERVER in context.names, f"a {context.protocol.client_role}", SERVER, allowed)
    roles: list[Role] = []
    for number, table in enumerate(tables, start=1):
        place = f"adversary {number}"
        fields = dict(table)
        refuse(_ROLE not in fields, place, sorted(fields), "a table with the key 'role'")
        kind: type[Role] = find_adversary(convert(fields.pop(_ROLE), str, f"{place}: role"))
        _check_protocol(kind, context.protocol.name, field=f"{place}: role")
        is_refused = context.protocol.masked_phase is not None and kind.refused_if_masked
        refuse(is_refused, f"{place}: role", kind.name, f"another in a masked session: {kind.refused_if_masked}")
        if "members" in fields:
            members = convert(fields["members"], tuple[str, ...], f"{place}: members")
            all_names = [*context.names, *absent_names]
            spelled_out = _expand_members(members, fields.get("target"), all_names, field=f"{place}: members")
            fields["members"] = tuple(name for name in spelled_out if name not in absent_names) or spelled_out
        role: Role = convert(fields, kind, place)
        if kind.needs_agents and not has_agents:
            allowed = "one that only infers: this one deviates or watches the network, which needs agents"
            raise ConfigurationError(field=f"{place}: role", value=kind.name, allowed=f"{allowed} (transport = 'tcp')")
        try:
            if role.takes_part(absent_names):
                role.check(context)
        except ConfigurationError as error:
            if not error.field.startswith("adversary"):
                raise ConfigurationError(
                    field=f"{place}: {error.field}", value=error.value, allowed=error.allowed
                ) from None
            raise
        roles.append(role)
    _check_deviations([role for role in roles if role.needs_agents and role.takes_part(absent_names)], context)
    return tuple(roles)


def _check_deviations(roles: Sequence[Role], context: AttackContext) -> None:
    """Refuse parties with two deviations, of which one would silently replace the other."""
    deviators: set[str] = set()
    for role in roles if len(roles) > 1 else ():
        role_deviators = role.deviations(context).keys()
        if deviators_of_both := sorted(deviators & role_deviators):
            allowed = "a party that deviates for one adversary only"
            raise ConfigurationError(field=f"adversary {role.name!r}", value=deviators_of_both[0], allowed=allowed)
        deviators |= role_deviators


def _check_protocol(kind: type[Role], protocol: str, *, field: str) -> None:
    """Raise ConfigurationError if the role does not apply to the protocol."""
    if not kind.protocols or protocol in kind.protocols:
        return
    its_own: list[str] = []
    for name in names_in(ADVERSARIES):
        with contextlib.suppress(ConfigurationError):  # another distribution registered an object that is not a role
            other: type[Role] = find_adversary(name)
            its_own += [name] * (not other.protocols or protocol in other.protocols)
    allowed = f"one that protocol {protocol!r} has: {', '.join(its_own)}"
    raise ConfigurationError(field=field, value=kind.name, allowed=allowed)


def _expand_members(members: Sequence[str], target: object, all_names: Sequence[str], *, field: str) -> tuple[str, ...]:
    """Return members with ranges and "*" replaced by names."""
    names: list[str] = []
    for member in members:
        match = re.fullmatch(r"(.*?)(\d+)\.\.(\d+)", member)
        if member == _EVERYBODY:
            names += [name for name in all_names if name != target]
        elif member in all_names or member == SERVER or match is None:
            names.append(member)
        else:
            stem, first, last = match[1], int(match[2]), int(match[3])
            require(first <= last < first + _MOST_IN_RANGE, field, member, "a range that goes up, as in 'voter-2..9'")
            names += [
                f"{stem}{number:0{len(match[2]) if match[2].startswith('0') else 0}d}"
                for number in range(first, last + 1)
            ]
    return tuple(names)


def find_adversary(name: str) -> type[Role]:
    """Return the role registered as `name`; ConfigurationError if there is none, or it is not a `Role`."""
    return find(ADVERSARIES, name, Role, field="role of an adversary", is_class=True)


def check_deviations(role: Role, context: AttackContext) -> Mapping[str, Deviation]:
    """Return the members' deviations; PluginError unless they are a mapping from names to deviations."""
    deviations: Any = role.deviations(context)
    if not isinstance(deviations, Mapping):
        raise _wrong(
            role, "deviations", f"it returned a {type(deviations).__name__}, and not a mapping of names to Deviations"
        )
    known_names = {SERVER, *context.names}
    for name, deviation in cast("Mapping[Any, Any]", deviations).items():
        if name not in known_names:
            raise _wrong(role, "deviations", f"it named {name!r}, who is neither {SERVER!r} nor on the roster")
        if not isinstance(deviation, Deviation):
            raise _wrong(role, "deviations", f"of {name!r} it returned {_one(deviation)}, and not a Deviation")
    return cast("Mapping[str, Deviation]", deviations)


def check_strangers(role: Role, context: AttackContext) -> Sequence[Hello]:
    """Return the Hellos of a role's extra connections; PluginError unless they are a sequence of Hellos."""
    hellos: Any = role.strangers(context)
    if not isinstance(hellos, Sequence) or not all(isinstance(each, Hello) for each in cast("Sequence[Any]", hellos)):
        raise _wrong(role, "strangers", "it returned something else than a sequence of Hellos")
    return cast("Sequence[Hello]", hellos)


def check_attack_report(role: Role, context: AttackContext, trace: SessionTrace) -> AttackReport:
    """Return a role's report; PluginError unless it is an AttackReport that can be written to a file."""
    if type(role).learn is Role.learn:
        raise _wrong(role, "learn", f"{type(role).__name__} has no method of this name")
    report: Any = role.learn(context, trace)
    if not isinstance(report, AttackReport):
        raise _wrong(role, "learn", f"it returned {_one(report)}, and not a AttackReport")
    try:
        msgspec.convert(msgspec.to_builtins(report), AttackReport)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise _wrong(role, "learn", f"what it returned is no AttackReport: {error}") from error
    keys = {tuple(row) for row in report.rows}
    if len(keys) > 1:
        raise _wrong(role, "learn", f"lines of its table have different columns: {', '.join(map(str, sorted(keys)))}")
    return report


def _one(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def _wrong(role: Role, step: str, reason: str) -> PluginError:
    return PluginError(plugin=f"role {role.name!r}", step=step, reason=reason)
