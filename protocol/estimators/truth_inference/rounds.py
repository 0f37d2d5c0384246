"""Rounds of many crowds side by side, each of which stops by itself and then stays as it is."""

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import IntArray

StateT = TypeVar("StateT")

_FEW: Final = 0.6
"""The share of running crowds below which the stopped ones are dropped: to lay out answers anew costs about a round."""


class Rounds(Generic[StateT]):
    """Which crowds go on, and what each of the others had when it stopped.

    A state is a dataclass of arrays that have a row for each crowd, or of such dataclasses.

    Attributes:
        crowds: those that a state has rows of, in order: all that go on, and some that have stopped.
        number: of rounds so far.
    """

    def __init__(self, num_crowds: int) -> None:
        self.crowds: IntArray = np.arange(num_crowds)
        self.number: int = 0
        self._is_going_on: NDArray[np.bool_] = np.ones(num_crowds, dtype=np.bool_)
        self._stopped_states: list[tuple[IntArray, StateT]] = []

    @property
    def go_on(self) -> bool:
        """Whether some crowd does."""
        return bool(self._is_going_on.any())

    def stop(self, are_done: NDArray[np.bool_], state: Callable[[], StateT]) -> None:
        """Let crowds stop with their rows of the state, which is asked for where one does."""
        stop = self._is_going_on & are_done
        if not stop.any():
            return
        self._stopped_states.append(
            (self.crowds, state()) if stop.all() else (self.crowds[stop], rows_of(state(), stop))
        )
        self._is_going_on &= ~are_done

    def leave_behind(self) -> IntArray | None:
        """Return the places of the crowds that go on, which then are all; None while nearly all that there are do."""
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
    """Return arrays, or dataclasses of them, as one, by a function of the arrays that stand in one place."""
    if not dataclasses.is_dataclass(states[0]):
        return function(*states)
    names = vars(states[0])
    return type(states[0])(**{name: _combine(function, *(getattr(state, name) for state in states)) for name in names})
