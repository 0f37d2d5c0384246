"""Cells of trials: their settings, and their results as means with standard errors.

Cells of one grid have equal seeds, so trials with the same number share their random numbers. Hence differences between
cells are computed trial by trial, with standard errors from these differences.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from ...protocol.errors import list_choices, require
from ...protocol.privacy import PrivacyLoss, Total, total_of
from ...protocol.traffic import PhaseTraffic
from ..running.config import Scenario
from ..running.resolution import Local
from .grids import Settings
from .measurements import Measurement, mean_of
from .measures import Measure, measures_of
from .redrawing import LEAST_DRAWS, group_by_draw
from .summaries import (
    LEAST_TRIALS,
    MeasureSummary,
    Refined,
    refine_by_control,
    refine_by_law,
    summary_of,
    summary_of_draws,
)

BYTES: Final = Measure(name="bytes", about="that one party sends and receives, on average")
MESSAGES: Final = Measure(name="messages", about="that one party sends and receives, on average")


class Trial(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One trial's result: measures by name, traffic of all parties, and reference values.

    `expected` and `controls` are as in `Measures`.

    Examples:
        >>> Trial({"accuracy": 1.0}).measures
        {'accuracy': 1.0}
    """

    measures: dict[str, float]
    traffic: tuple[PhaseTraffic, ...] = ()
    expected: dict[str, float] = {}
    controls: dict[str, float] = {}


class TrialCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a grid, to be run.

    Args:
        settings: the settings by which it differs from other cells.
        scenario: the scenario, with its seed.
        redraw: number of trials for each draw of the parties; 0 if the parties stay the same.
    """

    settings: Settings
    scenario: Scenario
    redraw: int = 0


class RefusedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a grid that cannot be run, with the reason.

    Examples:
        >>> RefusedCell(settings=(("epsilon", "0.01"),), reason="too small").reason
        'too small'
    """

    settings: Settings
    reason: str


class PhaseMeans(msgspec.Struct, frozen=True, kw_only=True):
    """One party's traffic in a phase, on average over parties and trials."""

    phase: str
    messages_up: float
    bytes_up: float
    messages_down: float
    bytes_down: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasuredCell:
    """A cell with its trials' results, in order; `losses` are those of one party in one session.

    Examples:
        >>> from psephos.scenarios.experiments.measures import Measure
        >>> accuracy = Measure(name="accuracy", about="", is_share=True)
        >>> trials = tuple(Trial({"accuracy": number}) for number in (1.0, 0.0, 1.0, 1.0))
        >>> MeasuredCell(settings=(), measures=(accuracy,), num_parties=9, trials=trials).summaries["accuracy"].mean
        0.75
    """

    settings: Settings
    measures: tuple[Measure, ...]
    num_parties: int
    trials: tuple[Trial, ...]
    redraw: int = 0
    losses: tuple[PrivacyLoss, ...] = ()

    @functools.cached_property
    def total(self) -> Total:
        """One party's total loss in one session."""
        return total_of(self.losses)

    @functools.cached_property
    def parts(self) -> dict[str, float]:
        """The proven ε of each unit of protection."""
        parts = [loss.part for loss in self.losses if loss.part is not None]
        return {part.unit: max(each.proven for each in parts if each.unit == part.unit) for part in parts}

    @functools.cached_property
    def summaries(self) -> dict[str, MeasureSummary]:
        """Summaries of measures over the trials, by name; only of measures with values in at least two trials."""
        summary_of_measure: dict[str, MeasureSummary] = {}
        for measure in self.measures:
            numbers = [trial.measures.get(measure.name) for trial in self.trials]
            draws = group_by_draw(numbers, self.redraw or 1)
            if self.redraw and len(draws) >= LEAST_DRAWS:
                limits = (-math.inf, math.inf) if measure.is_bound_by_parties else measure.range
                summary_of_measure[measure.name] = summary_of_draws(measure.name, draws, limits=limits)
            elif not self.redraw and len(draws) >= LEAST_TRIALS:
                given_numbers = np.array([number for (number,) in draws], dtype=np.float64)
                summary_of_measure[measure.name] = summary_of(measure.name, given_numbers, limits=measure.range)
        return summary_of_measure

    @functools.cached_property
    def refined(self) -> dict[str, Refined]:
        """Means with a smaller error than by trials alone, by measure."""
        refined_of_measure: dict[str, Refined | None] = {}
        for measure in self.measures:
            plain = self.summaries.get(measure.name)
            means, controls, numbers = (
                self._means_of_draws(field, measure.name) for field in ("expected", "controls", "measures")
            )
            limits = (-math.inf, math.inf) if self.redraw and measure.is_bound_by_parties else measure.range
            if plain is None or len(numbers) * (self.redraw or 1) < len(self.trials):
                continue
            if len(means) == len(numbers):
                refined_of_measure[measure.name] = refine_by_law(plain, means, limits=limits, are_same=not self.redraw)
            elif len(controls) == len(numbers):
                refined_of_measure[measure.name] = refine_by_control(plain, numbers, controls, limits=limits)
        return {name: refined for name, refined in refined_of_measure.items() if refined is not None}

    @property
    def best_summaries(self) -> dict[str, MeasureSummary]:
        """Summaries of measures over the trials, refined if possible."""
        return {**self.summaries, **self.refined}

    def _means_of_draws(self, field: str, name: str) -> list[float]:
        """Return the mean over each draw of the parties (or each trial) in which all trials have the number."""
        numbers = [getattr(trial, field).get(name) for trial in self.trials]
        return [math.fsum(draw) / len(draw) for draw in group_by_draw(numbers, self.redraw or 1)]

    def differences_from(self, other: "MeasuredCell", *, field: str = "measures") -> dict[str, Measurement]:
        """Return the differences of means from another cell, by measure, computed trial by trial.

        The other cell is from the same grid, so trials with the same number share their random numbers; the numbers of
        trials may differ. With field "expected", the trials' means by law are compared.
        """
        difference_of_measure: dict[str, Measurement] = {}
        for measure in self.measures:
            differences = [
                own_values[measure.name] - other_values[measure.name]
                if measure.name in own_values and measure.name in other_values
                else None
                for own_values, other_values in zip(
                    (getattr(trial, field) for trial in self.trials),
                    (getattr(trial, field) for trial in other.trials),
                    strict=False,
                )
            ]
            draws = group_by_draw(differences, self.redraw or 1)
            if len(draws) >= LEAST_TRIALS:
                difference_of_measure[measure.name] = mean_of([math.fsum(draw) / len(draw) for draw in draws])
        return difference_of_measure

    @property
    def traffic(self) -> list[PhaseMeans]:
        """One party's traffic, phase by phase; empty if messages would be too large for agents."""
        if not all(trial.traffic for trial in self.trials):
            return []
        times = self.num_parties * len(self.trials)
        return [
            PhaseMeans(
                phase=phases[0].phase,
                messages_up=sum(phase.messages_up for phase in phases) / times,
                bytes_up=sum(phase.bytes_up for phase in phases) / times,
                messages_down=sum(phase.messages_down for phase in phases) / times,
                bytes_down=sum(phase.bytes_down for phase in phases) / times,
            )
            for phases in zip(*(trial.traffic for trial in self.trials), strict=True)
        ]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The requested precision of a mean.

    Args:
        measure: the measure's name.
        error: the largest half width of its 95 % confidence interval, above 0.

    Examples:
        >>> Wanted(measure="accuracy", error=0.01).measure
        'accuracy'
    """

    measure: str
    error: float

    def is_reached(self, cell: MeasuredCell) -> bool:
        """Return whether a cell's mean has this precision."""
        summary = cell.best_summaries.get(self.measure)
        return summary is not None and max(summary.high - summary.mean, summary.mean - summary.low) <= self.error


def precision_of(measure: str, error: float, setups: Sequence[Local]) -> Wanted:
    """Return the requested precision of a measure; by default of the measure that the verdict uses.

    Raises:
        ConfigurationError: the error is not above 0, or there is no such measure.
    """
    require(0 < error < math.inf, "--error", error, "above 0, and finite")
    known_measures = {each.name: each for setup in setups for each in measures_of(setup).measures}
    measure_name = measure or min(known_measures.values(), key=lambda each: not each.said, default=BYTES).name
    require(
        measure_name in known_measures,
        "--error",
        measure_name,
        f"{list_choices(known_measures, measure_name)}, with its error behind =",
    )
    return Wanted(measure=measure_name, error=error)
