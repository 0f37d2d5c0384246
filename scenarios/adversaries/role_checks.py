"""What a role's own code returns, checked before anything is made of it: deviations, strangers and the lesson."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ...agents.adversaries import SERVER, Deviation
from ...protocol.errors import PluginError
from ...protocol.messages import Hello
from .role import Happened, Lesson, Role, Scene

__all__ = ["checked_deviations", "checked_lesson", "checked_strangers"]


def checked_deviations(role: Role, scene: Scene) -> Mapping[str, Deviation]:
    """Return what members do that the protocol does not say; PluginError for no mapping of names to deviations."""
    told: Any = role.deviations(scene)
    if not isinstance(told, Mapping):
        raise _wrong(
            role, "deviations", f"it returned a {type(told).__name__}, and not a mapping of names to Deviations"
        )
    known = {SERVER, *scene.names}
    for name, deviation in cast("Mapping[Any, Any]", told).items():
        if name not in known:
            raise _wrong(role, "deviations", f"it named {name!r}, who is neither {SERVER!r} nor on the roster")
        if not isinstance(deviation, Deviation):
            raise _wrong(role, "deviations", f"of {name!r} it returned {_one(deviation)}, and not a Deviation")
    return cast("Mapping[str, Deviation]", told)


def checked_strangers(role: Role, scene: Scene) -> Sequence[Hello]:
    """Return what connections say that are nobody's of the session; PluginError for no sequence of Hellos."""
    told: Any = role.strangers(scene)
    if not isinstance(told, Sequence) or not all(isinstance(each, Hello) for each in cast("Sequence[Any]", told)):
        raise _wrong(role, "strangers", "it returned something else than a sequence of Hellos")
    return cast("Sequence[Hello]", told)


def checked_lesson(role: Role, scene: Scene, happened: Happened) -> Lesson:
    """Return what a role learnt; PluginError where it is no lesson, or one that cannot be written down."""
    if type(role).learn is Role.learn:
        raise _wrong(role, "learn", f"{type(role).__name__} has no method of this name")
    told: Any = role.learn(scene, happened)
    if not isinstance(told, Lesson):
        raise _wrong(role, "learn", f"it returned {_one(told)}, and not a Lesson")
    try:
        msgspec.convert(msgspec.to_builtins(told), Lesson)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise _wrong(role, "learn", f"what it returned is no Lesson: {error}") from error
    keys = {tuple(row) for row in told.rows}
    if len(keys) > 1:
        raise _wrong(role, "learn", f"lines of its table have different columns: {', '.join(map(str, sorted(keys)))}")
    return told


def _one(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def _wrong(role: Role, step: str, reason: str) -> PluginError:
    return PluginError(plugin=f"role {role.name!r}", step=step, reason=reason)
