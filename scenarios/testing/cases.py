"""What is checked: a protocol with the rows of some parties, and all that a session makes of them, part by part."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.errors import ConfigurationError
from ...protocol.phases import Entries, Inputs, PhasedProtocol
from ...protocol.population import tally_batch
from ...protocol.randomness import SimulatedNoise
from ...protocol.tally import Tally
from ..attacks.coalition_view import draw_all, tallies_of

SESSION: Final = "check"  # what all sessions of a check are called

Rows: TypeAlias = Mapping[str, Sequence[Any]] | Inputs
"""Each party's entries by its name, a table of entries by column, or rows that are encoded already."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProtocolCase:
    """A protocol with the rows of some parties."""

    protocol: PhasedProtocol[Any, Any]  # what is checked
    # Each party's entries, in the order of `protocol.columns()`; or a table, by column each party's entry; or rows that
    # are encoded already, of which nothing says how they were.
    rows: Rows
    seed: int  # of all noise

    def __len__(self) -> int:
        if isinstance(self.rows, Inputs):
            return len(self.rows)
        return len(next(iter(self.rows.values()), ())) if self._is_table else len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """The roster."""
        if isinstance(self.rows, Inputs) or self._is_table:
            return tuple(f"{self.protocol.client_role}-{number}" for number in range(1, len(self) + 1))
        return tuple(self.rows)

    @functools.cached_property
    def table(self) -> Mapping[str, Entries] | None:
        """For each column the parties' entries; None where rows are encoded already."""
        if isinstance(self.rows, Inputs):
            return None
        if self._is_table:
            return self.rows
        columns = [column.name for column in self.protocol.columns()]
        for name, entries in self.rows.items():
            if len(entries) != len(columns):
                allowed = f"{len(columns)} entries: {', '.join(columns)}"
                raise ConfigurationError(field=f"entries of {name}", value=f"{len(entries)} entries", allowed=allowed)
        return {column: [entries[place] for entries in self.rows.values()] for place, column in enumerate(columns)}

    @functools.cached_property
    def inputs(self) -> Inputs:
        """The parties' rows."""
        return self.rows if isinstance(self.rows, Inputs) else self.protocol.encode(self.table or {})

    @property
    def _is_table(self) -> bool:
        columns = {column.name for column in self.protocol.columns()}
        return not isinstance(self.rows, Inputs) and bool(columns) and {*self.rows} <= columns

    def again(self) -> PhasedProtocol[Any, Any]:
        """Return another protocol of the same parameters, which has seen no session."""
        return self.protocol.with_parameters(self.protocol.parameters)

    def repeat_rows(self, number: int) -> Inputs:
        """Return at least so many rows: the given ones, again and again."""
        times = -(-number // len(self.inputs))
        return Inputs(np.tile(self.inputs.private, (times, 1)), np.tile(self.inputs.public, (times, 1)))

    def noise(self, number: int = 0) -> SimulatedNoise:
        """Return the noise of one session, or of another one."""
        return SimulatedNoise(self.seed, session=SESSION, round_number=number)

    def reports(self, number: int = 0) -> list[IntArray]:
        """Return what everybody reports in a session, phase by phase."""
        return draw_all(self.protocol, self.inputs, noise=self.noise(number))

    def tally(self, reports: Sequence[IntArray], number: int, places: IntArray) -> Tally:
        """Return the tally of some parties' reports in one phase, before a trusted server adds its noise."""
        phase = self.protocol.phases[number]
        return tally_batch(
            phase, reports[number], self.protocol.retained_reports(reports[:number]), self.inputs.public, places
        )

    def tallies(self, number: int = 0) -> list[Tally]:
        """Return the tallies that a session leaves."""
        return tallies_of(self.protocol, self.reports(number), self.inputs.public, noise=self.noise(number))
