"""Iterations of many crowds in parallel, with a separate stopping rule for each crowd."""

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import IntArray

StateT = TypeVar("StateT")

_FEW: Final = 0.6
"""The fraction of running crowds below which stopped crowds are dropped; rearranging the answers costs about a
round."""


class Rounds(Generic[StateT]):
    """The running crowds, and the states of stopped crowds.

    A state is a dataclass of arrays with a row for each crowd, or of such dataclasses.

    Attributes:
        crowds: the indices of the crowds in a state, in order: all running crowds and some stopped ones.
        number: the number of rounds so far.
    """

    def __init__(self, num_crowds: int) -> None:
        self.crowds: IntArray = np.arange(num_crowds)
        self.number: int = 0
        self._is_going_on: NDArray[np.bool_] = np.ones(num_crowds, dtype=np.bool_)
        self._stopped_states: list[tuple[IntArray, StateT]] = []

    @property
    def go_on(self) -> bool:
        """Whether any crowd is still running."""
        return bool(self._is_going_on.any())

    def stop(self, are_done: NDArray[np.bool_], state: Callable[[], StateT]) -> None:
        """Stop crowds and keep their rows of the state, which is only computed if a crowd stops."""
        stop = self._is_going_on & are_done
        if not stop.any():
            return
        self._stopped_states.append(
            (self.crowds, state()) if stop.all() else (self.crowds[stop], rows_of(state(), stop))
        )
        self._is_going_on &= ~are_done

    def leave_behind(self) -> IntArray | None:
        """Drop stopped crowds and return the row numbers of the others; None if too few have stopped."""
        places = np.flatnonzero(self._is_going_on)
        if not len(places) or len(places) > _FEW * len(self._is_going_on):
            return None
        self.crowds, self._is_going_on = self.crowds[places], self._is_going_on[places]
        return places

    def final_states(self) -> StateT:
        """Return each crowd's state when it stopped, in order."""
        if len(self._stopped_states) == 1:
            return self._stopped_states[0][1]
        order = np.argsort(np.concatenate([crowds for crowds, _ in self._stopped_states]))
        return _combine(lambda *parts: np.concatenate(parts)[order], *(state for _, state in self._stopped_states))


def rows_of(state: StateT, places: Any) -> StateT:
    """Return the rows of some crowds of a dataclass of arrays."""
    return _combine(operator.itemgetter(places), state)


def _combine(function: Callable[..., NDArray[Any]], *states: Any) -> Any:
    """Apply a function to corresponding arrays of several states, which may be nested dataclasses."""
    if not dataclasses.is_dataclass(states[0]):
        return function(*states)
    names = vars(states[0])
    return type(states[0])(**{name: _combine(function, *(getattr(state, name) for state in states)) for name in names})
