"""A pytest plug-in that checks protocols, transports and adversary roles named on the command line.

    pytest --psephos-protocol my.module:make_case --psephos-transport my.module:PigeonTransport

Nothing else is imported before an option asks for a check, so that an installed Psephos does not slow down pytest.
"""

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import pytest

_EXAMPLE: Final = "example"
_GROUP: Final = "psephos"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each may be given several times."""
    group = parser.getgroup(_GROUP, "Psephos: checks of protocols, transports and roles (a MODULE must be importable)")
    for option, description in _OPTIONS.items():
        group.addoption(option, action="append", default=[], metavar="MODULE:NAME", help=description)


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add a test for each target of an option, after the collected tests."""
    make = cast("Callable[..., pytest.Item]", _Check.from_parent)
    for option, check in _CHECKS.items():
        targets: Sequence[str] = config.getoption(option, default=[]) or []
        items.extend(make(session, name=f"{option[2:]}[{each}]", target=each, check=check) for each in targets)


_CASE: Final = (
    "NAME is a function without arguments that returns {}, or a class that has such a function as its attribute "
    f"'{_EXAMPLE}'"
)
_OPTIONS: Final[Mapping[str, str]] = {
    "--psephos-protocol": "Check a protocol (psephos.scenarios.testing.check_protocol). "
    + _CASE.format("the protocol and its parties' rows, as check_protocol takes them"),
    "--psephos-transport": "Check a transport (psephos.transports.testing.check_transport). NAME is its class, or "
    "whatever makes one without arguments.",
    "--psephos-role": "Check an adversary's role (psephos.scenarios.testing.check_role). "
    + _CASE.format("the role, a protocol and its parties' rows, as check_role takes them"),
}


class _Check(pytest.Item):
    """A test that runs one check on one target.

    Args:
        target: the checked object, as "module:name".
        check: the conformance check.
    """

    def __init__(self, *, target: str, check: Callable[[Any], None], **arguments: Any) -> None:
        super().__init__(**arguments)  # pyright: ignore[reportUnknownMemberType]  pytest leaves it open
        self._target = target
        self._check = check

    def runtest(self) -> None:
        """Import and check the target."""
        self._check(_load_target(self._target))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any, **__: Any) -> Any:
        """Return the broken promise and the reason, with the traceback of another error that caused it."""
        if excinfo.errisinstance(AssertionError):
            from ..protocol.errors import PsephosError  # its message suffices without a traceback

            cause: BaseException | None = excinfo.value.__cause__
            while isinstance(cause, BaseExceptionGroup):
                cause = cast("BaseExceptionGroup[BaseException]", cause).exceptions[0]
            if cause is None or isinstance(cause, (AssertionError, PsephosError)):
                return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[str, None, str]:
        """Return the test's location and name."""
        return self._target.partition(":")[0], None, self.name


def _load_target(target: str) -> Any:
    """Return the object at "module:name"."""
    try:
        return importlib.metadata.EntryPoint(target, target, _GROUP).load()
    except (ImportError, AttributeError) as error:  # the module is missing, or lacks the name
        reason = str(error)
    hint = "a module that is not installed needs its folder in pytest's pythonpath, as by -o pythonpath=."
    pytest.fail(f"{target} cannot be imported: {reason} ({hint})", pytrace=False)


def _made(plugin: Any, *parts: str) -> tuple[Any, ...]:
    """Return the result of a function, or of a class's `example`; check that it has these parts."""
    example: Any = getattr(plugin, _EXAMPLE, None) if isinstance(plugin, type) else plugin
    if not callable(example):
        pytest.fail(f"{plugin!r} is neither a function nor a class with the function '{_EXAMPLE}'", pytrace=False)
    case: Any = example()
    if not isinstance(case, tuple) or len(cast("tuple[Any, ...]", case)) != len(parts):
        pytest.fail(f"{plugin!r} returned {case!r:.200}, and not ({', '.join(parts)})", pytrace=False)
    return cast("tuple[Any, ...]", case)


def _check_protocol(plugin: Any) -> None:
    from .testing import check_protocol

    check_protocol(*_made(plugin, "protocol", "rows"))


def _check_transport(plugin: Any) -> None:
    import trio

    from ..transports.testing import check_transport

    trio.run(check_transport, plugin)


def _check_role(plugin: Any) -> None:
    from .testing import check_role

    check_role(*_made(plugin, "role", "protocol", "rows"))


_CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "--psephos-protocol": _check_protocol,
    "--psephos-transport": _check_transport,
    "--psephos-role": _check_role,
}
