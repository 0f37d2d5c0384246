"""A number with its standard error, and several of them."""

from collections.abc import Iterable
from typing import Any, Self

import msgspec
import numpy as np

from .arguments import make_fields_exact
from .arrays import FloatArray
from .shown import Shown, brief


class Estimate(msgspec.Struct, frozen=True):
    """An estimated number.

    Args:
        standard_error: the standard deviation of `value` over the randomizers' draws for fixed inputs. If it depends on
            the inputs, it is an estimate itself. It is 0 if nothing was randomized.

    Examples:
        >>> Estimate(value=12, standard_error=1.5)
        Estimate(value=12.0, standard_error=1.5)
    """

    value: float
    standard_error: float

    def __post_init__(self) -> None:
        make_fields_exact(self)


class Estimates(Shown, tuple[Estimate, ...]):  # noqa: SLOT001  a tuple that has an attribute
    """A tuple of estimates, which numpy converts to an array, and a notebook shows as a table.

    `to_frame()` has a row for each estimate: its value or column, its `estimate` and its `estimate_standard_error`.

    Args:
        of: what each estimate is for: a "value" that persons hold, or a "column" of reports.

    Examples:
        >>> counts = Estimates([Estimate(12, 1.5), Estimate(3, 1.5)])
        >>> counts[0].value, counts.array.tolist(), counts.standard_errors.tolist()
        (12.0, [12.0, 3.0], [1.5, 1.5])
    """

    of: str

    def __new__(cls, estimates: Iterable[Estimate], *, of: str = "value") -> Self:
        made = super().__new__(cls, estimates)
        made.of = of
        return made

    @property
    def array(self) -> FloatArray:
        """The estimates: float64, shape (k,)."""
        return np.array([estimate.value for estimate in self], dtype=np.float64)

    @property
    def standard_errors(self) -> FloatArray:
        """Theirs: float64, shape (k,)."""
        return np.array([estimate.standard_error for estimate in self], dtype=np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001  numpy's own signature
        if copy is False:
            raise ValueError("an array of estimates is always a copy")
        return self.array if dtype is None else self.array.astype(dtype)

    def __repr__(self) -> str:
        return f"Estimates({brief(tuple(self))}, of={self.of!r})"
