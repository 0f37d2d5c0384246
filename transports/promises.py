"""Promises of a conformance suite: each is a sentence at the place where it is checked.

A check is a function whose docstring begins with the promise that it checks. If it fails in any way, it raises an
AssertionError that begins with the promise. Neither this module nor the suites need pytest.
"""

import contextlib
from collections.abc import Callable, Generator
from typing import cast

import trio


def sentence_of(check: Callable[..., object]) -> str:
    """Return the promise that a check checks: its docstring's first line."""
    assert check.__doc__ is not None  # noqa: S101  each check begins with the promise that it checks
    return check.__doc__.partition("\n")[0]


@contextlib.contextmanager
def check_promise(promise: str) -> Generator[None]:
    """Turn any exception into an AssertionError that begins with the promise.

    Examples:
        >>> with check_promise("A payload arrives."):
        ...     require(False, "nothing came")
        Traceback (most recent call last):
            ...
        AssertionError: A payload arrives. Broken: nothing came.
    """
    try:
        yield
    except Exception as error:
        cause = _first_cause(error)
        if isinstance(cause, trio.TooSlowError):
            detail = "It waits for something that does not come"
        elif isinstance(cause, AssertionError):
            detail = str(cause)
        else:
            detail = f"It raised {cause!r}"
        raise AssertionError(f"{promise} Broken: {detail}.") from error


def require(condition: object, complaint: str) -> None:
    """Raise AssertionError with a complaint unless a condition holds."""
    if not condition:
        raise AssertionError(complaint)


def _first_cause(error: BaseException) -> BaseException:
    """Return the first of the errors that tasks ended with."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error
