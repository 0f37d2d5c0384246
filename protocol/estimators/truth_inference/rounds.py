"""Rounds of many crowds side by side, each of which stops by itself and then stays as it is."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import IntArray


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


StateT = TypeVar("StateT", bound=_Dataclass)

_FEW: Final = 0.6
"""Where no more of the crowds go on, the others are left behind: laying out answers anew costs about a round."""


class Rounds(Generic[StateT]):
    """Which crowds go on, and what each of the others had when it stopped.

    A state is a dataclass of arrays that have a row for each crowd.

    Attributes:
        crowds: those that a state has rows of, in order: all that go on, and some that have stopped.
        number: of rounds so far.
    """

    def __init__(self, num_crowds: int) -> None:
        self.crowds: IntArray = np.arange(num_crowds)
        self.number: int = 0
        self._go_on: NDArray[np.bool_] = np.ones(num_crowds, dtype=np.bool_)
        self._stopped: list[tuple[IntArray, StateT]] = []

    @property
    def go_on(self) -> bool:
        """Whether some crowd does."""
        return bool(self._go_on.any())

    def stop(self, are_done: NDArray[np.bool_], state: Callable[[], StateT]) -> None:
        """Let crowds stop with their rows of the state, which is asked for where one does."""
        stop = self._go_on & are_done
        if not stop.any():
            return
        self._stopped.append((self.crowds, state()) if stop.all() else (self.crowds[stop], rows_of(state(), stop)))
        self._go_on &= ~are_done

    def leave_behind(self) -> IntArray | None:
        """Return the places of the crowds that go on, which then are all; None while nearly all that there are do."""
        places = np.flatnonzero(self._go_on)
        if not len(places) or len(places) > _FEW * len(self._go_on):
            return None
        self.crowds, self._go_on = self.crowds[places], self._go_on[places]
        return places

    def ended(self) -> StateT:
        """Return what each crowd had when it stopped, all of them in order."""
        if len(self._stopped) == 1:
            return self._stopped[0][1]
        order = np.argsort(np.concatenate([crowds for crowds, _ in self._stopped]))
        return _joined([state for _, state in self._stopped], order)


def rows_of(state: StateT, places: Any) -> StateT:
    """Return the rows of some crowds of a dataclass of arrays."""
    fields = {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
    return type(state)(**{name: own[places] for name, own in fields.items()})


def _joined(states: Sequence[StateT], order: IntArray) -> StateT:
    names = [field.name for field in dataclasses.fields(states[0])]
    return type(states[0])(**{name: np.concatenate([getattr(own, name) for own in states])[order] for name in names})
