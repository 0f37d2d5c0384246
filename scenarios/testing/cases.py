"""The checked case: a protocol with some parties' rows, and each step of a session."""

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

SESSION: Final = "check"  # name of all sessions in a check

Rows: TypeAlias = Mapping[str, Sequence[Any]] | Inputs
"""Entries by party, entries by column, or encoded rows."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProtocolCase:
    """A protocol with some parties' rows."""

    protocol: PhasedProtocol[Any, Any]  # the checked protocol
    # Each party's entries, in the order of `protocol.columns()`; or a table of entries by column; or encoded rows,
    # whose entries are unknown.
    rows: Rows
    seed: int  # the seed of all noise

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
        """The parties' entries by column; None for encoded rows."""
        if isinstance(self.rows, Inputs):
            return None
        if self._is_table:
            return self.rows
        columns = [column.name for column in self.protocol.columns()]
        for name, entries in self.rows.items():
            if len(entries) != len(columns):
                allowed = f"{len(columns)} entries: {', '.join(columns)}"
                raise ConfigurationError(field=name, value=f"{len(entries)} entries", allowed=allowed)
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
        """Return a new protocol with the same parameters, which has seen no session."""
        return self.protocol.with_parameters(self.protocol.parameters)

    def repeat_rows(self, number: int) -> Inputs:
        """Return at least `number` rows, by repeating the given ones."""
        times = -(-number // len(self.inputs))
        return Inputs(np.tile(self.inputs.private, (times, 1)), np.tile(self.inputs.public, (times, 1)))

    def noise(self, number: int = 0) -> SimulatedNoise:
        """Return the noise of a session, by number."""
        return SimulatedNoise(self.seed, session=SESSION, round_number=number)

    def reports(self, number: int = 0) -> list[IntArray]:
        """Return all parties' reports in a session, phase by phase."""
        return draw_all(self.protocol, self.inputs, noise=self.noise(number))

    def tally(self, reports: Sequence[IntArray], number: int, places: IntArray) -> Tally:
        """Return the tally of some parties' reports in one phase, before a trusted server adds its noise."""
        phase = self.protocol.phases[number]
        return tally_batch(
            phase, reports[number], self.protocol.retained_reports(reports[:number]), self.inputs.public, places
        )

    def tallies(self, number: int = 0) -> list[Tally]:
        """Return the released tallies of a session."""
        return tallies_of(self.protocol, self.reports(number), self.inputs.public, noise=self.noise(number))
