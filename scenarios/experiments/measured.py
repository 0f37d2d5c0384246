"""The cells of trials: what is tried, and what came of it, as means with their errors.

Cells of one grid have equal seeds: at one trial number they share their luck. So differences are taken trial against
trial, and have standard errors of their own.
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
    """What one trial gave: its measures by name, how much all parties said, and what is known of measures beside.

    `expected` and `controls` are those of `Measures`.

    Examples:
        >>> Trial({"accuracy": 1.0}).measures
        {'accuracy': 1.0}
    """

    measures: dict[str, float]
    traffic: tuple[PhaseTraffic, ...] = ()
    expected: dict[str, float] = {}
    controls: dict[str, float] = {}


class TrialCell(msgspec.Struct, frozen=True, kw_only=True):
    """What is tried.

    Args:
        settings: by which it differs from the other cells.
        scenario: with its seed.
        redraw: of how many trials each draw of the parties has; 0 where these stay the same.
    """

    settings: Settings
    scenario: Scenario
    redraw: int = 0


class RefusedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a grid that cannot be tried, and the reason in a sentence.

    Examples:
        >>> RefusedCell(settings=(("epsilon", "0.01"),), reason="too small").reason
        'too small'
    """

    settings: Settings
    reason: str


class PhaseMeans(msgspec.Struct, frozen=True, kw_only=True):
    """What one party says and hears in a phase, on average over parties and trials."""

    phase: str
    messages_up: float
    bytes_up: float
    messages_down: float
    bytes_down: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeasuredCell:
    """A cell and what its trials gave, in their order; `losses` are what one session costs one party.

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
        """What one session costs one party in all."""
        return total_of(self.losses)

    @functools.cached_property
    def parts(self) -> dict[str, float]:
        """ε proven of one part of what a party says, by what that is."""
        parts = [loss.part for loss in self.losses if loss.part is not None]
        return {part.unit: max(each.proven for each in parts if each.unit == part.unit) for part in parts}

    @functools.cached_property
    def summaries(self) -> dict[str, MeasureSummary]:
        """Each measure over the trials, by its name; none of a measure that has no value in two of them."""
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
        """The means that are known better than by trials alone, by measures' names."""
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
        """Each measure over the trials, refined where that is known."""
        return {**self.summaries, **self.refined}

    def _means_of_draws(self, field: str, name: str) -> list[float]:
        """Return the mean of each draw of the parties, or trial, in which all trials have the number."""
        numbers = [getattr(trial, field).get(name) for trial in self.trials]
        return [math.fsum(draw) / len(draw) for draw in group_by_draw(numbers, self.redraw or 1)]

    def differences_from(self, other: "MeasuredCell", *, field: str = "measures") -> dict[str, Measurement]:
        """Return by how much each mean is more than another cell's, by its name, trial against trial.

        The other one is of the same grid, so that trials of one number share their luck; it may have more or fewer.
        With "expected" these are the trials' means by their law.
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
        """What one party says and hears, phase by phase; nothing where messages would be too large for agents."""
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
    """How well a mean is to be known.

    Args:
        measure: whose.
        error: by how much either end of its interval (95 %) may be away from it, above 0.

    Examples:
        >>> Wanted(measure="accuracy", error=0.01).measure
        'accuracy'
    """

    measure: str
    error: float

    def is_reached(self, cell: MeasuredCell) -> bool:
        """Return whether a cell has the mean so well."""
        summary = cell.best_summaries.get(self.measure)
        return summary is not None and max(summary.high - summary.mean, summary.mean - summary.low) <= self.error


def precision_of(measure: str, error: float, setups: Sequence[Local]) -> Wanted:
    """Return how well a measure's mean is to be known; by default that of the verdict.

    Raises:
        ConfigurationError: the error is not above 0, or nothing is measured so.
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
