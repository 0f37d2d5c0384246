"""Protocol objects in a REPL or a notebook: a text, one exact line, a data frame, a table.

The exact line is made here. The other forms need presentation code, pandas or markup: packages register a function for
each form (entry points `psephos.showing`), which is looked up on demand. Nothing that a session computes, sends or
records depends on it.
"""

import functools
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import pandas as pd

_LONGEST: Final = 80
"""The most characters of a value's `repr` in a line; of a longer value the line shows only the size."""


class Tabled:
    """Something that has a frame, and a table in a notebook."""

    __slots__ = ()

    def to_frame(self) -> "pd.DataFrame":
        """Return it as a pandas frame."""
        return _find_presenter("frame")(self)

    def _repr_html_(self) -> str:
        return _find_presenter("html")(self)


class Shown(Tabled):
    """A base class for objects that print readably.

    It must be the first base of a struct or class: `class Outcome(Shown, msgspec.Struct, frozen=True)`. The data frame
    of an outcome has the rows of `estimates.csv`.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return _find_presenter("text")(self)

    def __repr__(self) -> str:
        return exact_line(self)


@functools.cache
def _find_presenter(name: str) -> Callable[[object], Any]:
    """Find the function that shows an object in a way; entry points are read once, which takes a while."""
    import importlib.metadata  # noqa: PLC0415  only who looks needs it

    (registered,) = importlib.metadata.entry_points(group="psephos.showing", name=name)
    return registered.load()


def exact_line(value: Any) -> str:
    """Return a struct's fields in one line: short values exactly, and the sizes of long ones.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse
        >>> exact_line(RandomizedResponse(1.0, 2))
        'RandomizedResponse(epsilon=1.0, num_choices=2)'
    """
    fields = ", ".join(f"{name}={brief(getattr(value, name))}" for name in value.__struct_fields__)
    return f"{type(value).__name__}({fields})"


def brief(value: object) -> str:
    """Return the `repr` of a value if it is short; else its size and type.

    Examples:
        >>> brief([1, 2]), brief(list(range(100)))
        ('[1, 2]', '<100 int>')
    """
    written = repr(value)
    if len(written) <= _LONGEST:
        return written
    if isinstance(value, str):
        return f"<{len(value)} characters>"
    if isinstance(value, Mapping):
        return f"<{len(cast('Mapping[object, object]', value))} entries>"
    if isinstance(value, Collection):
        elements = cast("Collection[object]", value)
        kinds = {type(element).__name__ for element in elements}
        return f"<{len(elements)} {kinds.pop() if len(kinds) == 1 else 'elements'}>"
    return f"<{type(value).__name__}>"
