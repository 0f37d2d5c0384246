"""Errors of plug-ins in one sentence, with the plug-in, the step and the line.

The sentence quotes the exception's text, unless that may contain private data: in the central model, or if
participation is private.
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
    """Return an exception's type and text as one line; a private text is withheld.

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
    """Turn exceptions of a call of a plug-in's function into a PluginError that names `plugin`.

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
        module = str(getattr(getattr(function, "func", function), "__module__", ""))  # that of a partial's function
        place = place_of(error, frozenset({module.partition(".")[0]}))
        reason = reason_of(error, is_private=is_private)
        raise PluginError(plugin=plugin, step="its call", reason=reason, place=place) from error


@contextlib.contextmanager
def blaming(protocol: "PhasedProtocol[Any, Any]", step: str, *, inputs_text: str = "") -> Generator[None]:
    """Turn exceptions of a protocol's code in a step into a PluginError with one sentence.

    Args:
        protocol: the protocol.
        step: the operation, such as "outcome".
        inputs_text: a description of the step's inputs, for the message of an IndexError or ValueError.

    Raises:
        PluginError: in place of any other exception, including those of Psephos, since these may quote private data.
    """
    try:
        yield
    except PluginError:
        raise
    except (Exception, SystemExit) as error:  # also sys.exit: a plug-in must not end the process
        reason = reason_of(error, is_private=protocol.keeps_words)
        if inputs_text and isinstance(error, NOT_THERE):
            reason = f"{reason}; {inputs_text}"
        kinds = [*type(protocol).__mro__, *(kind for phase in protocol.phases for kind in type(phase).__mro__)]
        place = place_of(error, packages_of(kinds))
        raise PluginError(plugin=plugin_of(protocol), step=step, reason=reason, place=place) from error
