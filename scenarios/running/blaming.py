"""A protocol's own code, blamed in a sentence for what it did not foresee."""

import contextlib
from collections.abc import Generator
from typing import Any

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol

__all__ = ["blaming"]


@contextlib.contextmanager
def blaming(kind: type[PhasedProtocol[Any, Any]]) -> Generator[None]:
    """Turn what a protocol's own code makes of parameters and entries that it did not foresee into a sentence.

    Raises:
        ConfigurationError: as the code inside, or in place of its arithmetic, lookup, type and value errors.
    """
    try:
        yield
    except ConfigurationError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        allowed = f"what protocol {kind.name!r} can take"
        value = f"{type(error).__name__}: {error}"
        raise ConfigurationError(field="parameters and entries", value=value, allowed=allowed) from error
