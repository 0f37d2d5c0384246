"""Protocols as somebody else would write them, with no part of a system: an approval vote, and a private mean.

Both are small enough for posteriors and shifts to be worked out by hand. A subclass plants a fault in one of them.
"""

import importlib
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from distributions import write_distribution
from psephos.protocol import Column, ConfigurationError, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.elementary import quotient_up
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import (
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    Mechanism,
    RowMechanism,
    laplace_grid,
)
from psephos.protocol.phases import CentralPhase, Entries
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, SelfComposed, TrustModel


class Sums(Phase):
    """Adds reports up, number by number."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del earlier, public
        return Tally(len(reports), reports.sum(axis=0, dtype=np.int64))


class TrustedSums(CentralPhase):
    """A trusted server's sums."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del earlier, public
        return Tally(len(reports), reports.sum(axis=0, dtype=np.int64))


class Lawless(GeneralizedRandomizedResponse):
    """Randomized response that does not say its law."""

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        return Mechanism.log_probabilities(self, reports, values)


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """Whom voters may approve of, and what each approval costs."""

    candidates: tuple[str, ...] = ("tea", "coffee")
    epsilon: float = 1.0


class Candidate(msgspec.Struct, frozen=True):
    """How many approve of a candidate."""

    name: str
    approvals: Estimate


class Elected(msgspec.Struct, frozen=True):
    """What is released."""

    candidates: tuple[Candidate, ...]


class Approvals(PhasedProtocol[Ballot, Elected]):
    """An approval vote by randomized response, candidate by candidate."""

    name: ClassVar[str] = "approvals"
    parameters_type: ClassVar[type[msgspec.Struct]] = Ballot
    outcome_type: ClassVar[type[msgspec.Struct]] = Elected

    def make_mechanism(self) -> RowMechanism:
        return GeneralizedRandomizedResponse(self.parameters.epsilon, 2)

    def make_phases(self) -> Iterable[Phase]:
        number = len(self.parameters.candidates)
        loss = PrivacyLoss(
            mechanism="randomized response",
            event=SelfComposed(GeneralizedRandomizedResponse(self.parameters.epsilon, 2).event, number),
            claimed=number * self.parameters.epsilon,
            unit="ballot",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
        )
        yield Sums("approvals", columns=range(number), mechanism=self.make_mechanism(), losses=[loss])

    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, private=True, description="0 or 1") for name in self.parameters.candidates)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        rows = np.array(
            [[int(entry) for entry in table[name]] for name in self.parameters.candidates], dtype=np.int64
        ).T
        for place in np.flatnonzero(np.any((rows < 0) | (rows > 1), axis=1))[:1].tolist():
            raise ConfigurationError(field=f"row {place + 1}", value=rows[place].tolist(), allowed="0 or 1")
        return Inputs(rows, np.empty((len(rows), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Elected:
        number = tallies[0].num_reports
        keep = math.exp(self.parameters.epsilon) / (1 + math.exp(self.parameters.epsilon))
        error = math.sqrt(number * keep * (1 - keep)) / (2 * keep - 1)
        totals: list[int] = tallies[0].totals.tolist()
        return Elected(
            tuple(
                Candidate(name, Estimate((total - number * (1 - keep)) / (2 * keep - 1), error))
                for name, total in zip(self.parameters.candidates, totals, strict=True)
            )
        )


class Skewed(GeneralizedRandomizedResponse):
    """Says the law of randomized response, and reports as it is each value whose uniform is in the upper half."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return np.where(uniforms[:, 0] < 0.5, super().randomize(values, uniforms), values)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        return super().randomize_one(value, uniforms) if uniforms[0] < 0.5 else value


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Between what values are, and what a report costs."""

    low: float = 0.0
    high: float = 100.0
    epsilon: float = 1.0


class Mean(msgspec.Struct, frozen=True):
    """What is released."""

    mean: Estimate


class BoundedMean(PhasedProtocol[Bounds, Mean]):
    """The private mean of bounded values."""

    name: ClassVar[str] = "bounded-mean"
    parameters_type: ClassVar[type[msgspec.Struct]] = Bounds
    outcome_type: ClassVar[type[msgspec.Struct]] = Mean

    def __init__(self, parameters: Bounds) -> None:
        super().__init__(parameters)
        self.step = laplace_grid(scale=(parameters.high - parameters.low) / parameters.epsilon)
        least, greatest = round(parameters.low / self.step), round(parameters.high / self.step)
        self.mechanism = DiscreteLaplace(quotient_up(greatest - least, parameters.epsilon), least, greatest)

    def make_phases(self) -> Iterable[Phase]:
        loss = PrivacyLoss(
            mechanism="discrete Laplace",
            event=self.mechanism.event,
            claimed=self.parameters.epsilon,
            unit="value",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
        )
        yield Sums("values", columns=range(1), mechanism=self.mechanism, losses=[loss])

    def columns(self) -> tuple[Column, ...]:
        return (Column("value", private=True, description="a number within the bounds"),)

    def possible_entries(self) -> Mapping[str, Entries] | None:
        return {"value": [self.parameters.low, self.parameters.high]}

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Round values to the grid."""
        values = np.asarray(table["value"], dtype=np.float64)
        for place in np.flatnonzero((values < self.parameters.low) | (values > self.parameters.high))[:1].tolist():
            raise ConfigurationError(
                field=f"value in row {place + 1}", value=values[place], allowed="within the bounds"
            )
        rows = np.rint(values / self.step).astype(np.int64)[:, None]
        return Inputs(rows, np.empty((len(rows), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Mean:
        total, number = int(tallies[0].totals[0]), tallies[0].num_reports
        error = self.step * math.sqrt(self.mechanism.noise_variance / number)
        return Mean(Estimate(self.step * total / number, error))


def register(site: Path, monkeypatch: pytest.MonkeyPatch, *protocols: type[PhasedProtocol[Any, Any]]) -> None:
    """Install a distribution that declares these protocols, of modules that can be imported already."""
    lines = [f"{kind.name} = {kind.__module__}:{kind.__name__}" for kind in protocols]
    write_distribution(site, "strangers", "\n".join(["[psephos.protocols]", *lines, ""]))
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    importlib.invalidate_caches()
