"""Convert exceptions of plug-ins' code to PluginError, before and during a session."""

import contextlib
from collections.abc import Generator, Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

from ...protocol.errors import PluginError, PsephosError, UnusablePluginError
from ...protocol.phases import PhasedProtocol
from ...protocol.plugin_faults import StackFrame, frames_of, is_ours, packages_of, place_of, plugin_of, reason_of

# Exceptions that unexpected parameters and entries usually cause.
_OF_VALUES: Final = (ArithmeticError, LookupError, TypeError, ValueError)
# Message for an exception that Psephos raises on a plug-in's return value.
_RETURNED: Final = "what it returned"


class Plugin(NamedTuple):
    """A participant's code in a session: its name in errors, and its classes."""

    name: str
    kinds: tuple[type, ...]


@contextlib.contextmanager
def blaming(kind: type[PhasedProtocol[Any, Any]]) -> Generator[None]:
    """Convert exceptions of a protocol's code before a session to UnusablePluginError.

    Exceptions of Psephos stay, and those of the operating system unless the protocol's code raised them.
    """
    try:
        yield
    except PsephosError:
        raise
    except (Exception, SystemExit) as error:
        modules = {each.__module__ for each in kind.__mro__ if not is_ours(each.__module__)} or {kind.__module__}
        own_frame = next((frame for frame in frames_of(error) if frame.module in modules), None)
        if isinstance(error, OSError) and own_frame is None:
            raise
        step, place = (
            ("", "") if own_frame is None else (own_frame.code.co_name, place_of(error, packages_of(kind.__mro__)))
        )
        name, reason = plugin_of(kind), reason_of(error)
        if isinstance(error, _OF_VALUES):
            step_note = f" in {step} ({place})" if own_frame is not None else ""
            raise UnusablePluginError(
                plugin=name,
                step=step or "what it was given",
                reason=reason,
                place=place,
                field="parameters and entries",
                value=reason,
                allowed=f"what {name} can take{step_note}",
            ) from error
        if own_frame is None and (is_ours(kind.__module__) or not isinstance(error, AttributeError)):
            raise  # a bug in Psephos: show the traceback, to be reported
        raise UnusablePluginError(plugin=name, step=step or _RETURNED, reason=reason, place=place) from error


def parts_of(protocol: PhasedProtocol[Any, Any]) -> Plugin:
    """Return a protocol as a `Plugin`, with its phases and mechanisms.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> parts_of(vote).name
        "protocol 'dpwevote'"
    """
    parts = [part for phase in protocol.phases for part in (phase, phase.mechanism)]
    return Plugin(plugin_of(protocol), (type(protocol), *(type(part) for part in parts)))


@contextlib.contextmanager
def blame_plugins(
    plugins: Iterable[Plugin], *, is_private: bool = False, is_set_up: bool = False, is_last: bool = False
) -> Generator[None]:
    """Convert exceptions of plug-ins' code during a session to PluginError, across all tasks.

    Args:
        plugins: all participants' code, of Psephos or others.
        is_private: whether the exception's text is omitted (`protocol.plugin_faults`).
        is_set_up: whether the session is still being set up.
        is_last: whether exceptions of Psephos are converted too if a plug-in takes part, since its return values
            usually cause them.

    Raises:
        PluginError: replaces an exception, or a group, that a plug-in's code raised; during set-up it is an
            `UnusablePluginError`.
    """
    try:
        yield
    except (PsephosError, OSError):
        raise
    except (Exception, BaseExceptionGroup, SystemExit) as error:
        kind, plugins = UnusablePluginError if is_set_up else PluginError, tuple(plugins)
        plugin_error = _find_blamed(error, plugins, is_private=is_private, kind=kind)
        if plugin_error is None and is_last:
            plugin_error = _blame_returned(error, plugins, is_private=is_private, kind=kind)
        if plugin_error is None:
            raise
        raise plugin_error from plugin_error.__cause__


def _find_blamed(
    error: BaseException, plugins: tuple[Plugin, ...], *, is_private: bool, kind: type[PluginError]
) -> PluginError | None:
    """Return the sentence for the first exception of a group that a plug-in's code raised, if any."""
    leaves = list(_leaves(error))
    if not all(isinstance(leaf, (Exception, SystemExit)) for leaf in leaves):  # an interrupt
        return None
    for leaf in leaves:
        if isinstance(leaf, PsephosError):
            continue
        plugin_and_frame = _find_entered(frames_of(leaf), plugins)
        if plugin_and_frame is None:
            continue
        plugin, frame = plugin_and_frame
        reason = reason_of(leaf, is_private=is_private)
        place = place_of(leaf, frozenset({frame.module.partition(".")[0]}))
        plugin_error = kind(plugin=plugin, step=frame.code.co_name, reason=reason, place=place)
        plugin_error.__cause__ = leaf
        return plugin_error
    return None


def _blame_returned(
    error: BaseException, plugins: tuple[Plugin, ...], *, is_private: bool, kind: type[PluginError]
) -> PluginError | None:
    """Return the sentence for an exception that Psephos raised if plug-ins take part; None otherwise."""
    foreign_names = {plugin.name for plugin in plugins if any(not is_ours(each.__module__) for each in plugin.kinds)}
    leaves = [leaf for leaf in _leaves(error) if not isinstance(leaf, PsephosError)]
    if not foreign_names or not leaves or not all(isinstance(leaf, (*_OF_VALUES, AttributeError)) for leaf in leaves):
        return None
    reason = reason_of(leaves[0], is_private=is_private)
    plugin_error = kind(plugin=" or ".join(sorted(foreign_names)), step=_RETURNED, reason=reason)
    plugin_error.__cause__ = leaves[0]
    return plugin_error


def _leaves(error: BaseException) -> Generator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(each)
    else:
        yield error


def _find_entered(frames: Iterable[StackFrame], plugins: tuple[Plugin, ...]) -> tuple[str, StackFrame] | None:
    """Return the plug-in whose code raised an exception, and where it was entered; None if there is none."""
    classes: Mapping[tuple[str, str], str] = {
        (each.__module__, each.__qualname__): plugin.name
        for plugin in reversed(plugins)
        for kind in plugin.kinds
        for each in kind.__mro__
        if not is_ours(each.__module__) and each is not object
    }
    packages = {module.partition(".")[0]: name for (module, _), name in classes.items()}
    plugin_frames = [frame for frame in frames if frame.module.partition(".")[0] in packages]
    for frame in plugin_frames:
        if name := classes.get((frame.module, frame.code.co_qualname.rpartition(".")[0])):
            return name, frame
    return (packages[plugin_frames[0].module.partition(".")[0]], plugin_frames[0]) if plugin_frames else None
