"""Errors of plug-ins in one sentence: which plug-in, in which step, at which line.

The sentence quotes the exception's own text. Where a server is trusted with values, or participation is private, that
text may contain private data, and is left out.
"""

import contextlib
from collections.abc import Generator, Iterable
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import PluginError
from .tally import NOT_THERE

if TYPE_CHECKING:
    from .phases import PhasedProtocol

_WITHHELD = "what it says is left out, since it may tell what is private"


class StackFrame(NamedTuple):
    """A frame of an exception's traceback: the module's name, its code, and the line."""

    module: str
    code: CodeType
    line: int


def plugin_of(protocol: "PhasedProtocol[Any, Any] | type[PhasedProtocol[Any, Any]]") -> str:
    """Return the name of a protocol for an error."""
    return f"protocol {protocol.name!r}"


def is_ours(module: str) -> bool:
    """Return whether a module is of this distribution."""
    return module == "psephos" or module.startswith("psephos.")


def packages_of(kinds: Iterable[type]) -> frozenset[str]:
    """Return the packages that classes are from, ours left out where there are others."""
    modules = {kind.__module__ for kind in kinds}
    return frozenset(module.partition(".")[0] for module in modules if not is_ours(module)) or frozenset({"psephos"})


def frames_of(error: BaseException) -> list[StackFrame]:
    """Return the frames of an exception's traceback; the one that raised it is last."""
    frames: list[StackFrame] = []
    trace = error.__traceback__
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        frames.append(StackFrame(name, trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    return frames


def place_of(error: BaseException, packages: frozenset[str]) -> str:
    """Return file and line of the code of these packages that an exception passed last; empty where there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    own_frames = [frame for frame in frames_of(error) if frame.module.partition(".")[0] in packages]
    return f"{own_frames[-1].code.co_filename}, line {own_frames[-1].line}" if own_frames else ""


def reason_of(error: BaseException, *, is_private: bool = False) -> str:
    """Return an exception's text as one line; if it is private, without its own words.

    Examples:
        >>> reason_of(ZeroDivisionError("3 / 0"))
        'ZeroDivisionError: 3 / 0'
        >>> reason_of(ZeroDivisionError("3 / 0"), is_private=True)[:50]
        'ZeroDivisionError: what it says is left out, since'
    """
    text = _WITHHELD if is_private else " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextlib.contextmanager
def blaming_function(plugin: str, function: object, *, is_private: bool = False) -> Generator[None]:
    """Turn what a function of somebody's raises as it is called into a PluginError, which calls it `plugin`.

    Examples:
        >>> with blaming_function("weight 'steep'", max):
        ...     1 / 0
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.PluginError: weight 'steep' failed in its call: ZeroDivisionError: ...
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        module = str(getattr(getattr(function, "func", function), "__module__", ""))  # of a partial function its own
        place = place_of(error, frozenset({module.partition(".")[0]}))
        reason = reason_of(error, is_private=is_private)
        raise PluginError(plugin=plugin, step="its call", reason=reason, place=place) from error


@contextlib.contextmanager
def blaming(protocol: "PhasedProtocol[Any, Any]", step: str, *, inputs_text: str = "") -> Generator[None]:
    """Turn what a protocol's own code raises in a step into a sentence.

    Args:
        inputs_text: a description of the step's inputs, for the message if it takes something that is not there.

    Raises:
        PluginError: in place of any other exception. Psephos's own are no exception, since what they quote may be
            private too, and is for nobody elsewhere.
    """
    try:
        yield
    except PluginError:
        raise
    except (Exception, SystemExit) as error:  # nobody's code ends a session as if it were its own process
        reason = reason_of(error, is_private=protocol.keeps_words)
        if inputs_text and isinstance(error, NOT_THERE):
            reason = f"{reason}; {inputs_text}"
        kinds = [*type(protocol).__mro__, *(kind for phase in protocol.phases for kind in type(phase).__mro__)]
        place = place_of(error, packages_of(kinds))
        raise PluginError(plugin=plugin_of(protocol), step=step, reason=reason, place=place) from error
