"""A small protocol without a fault, some of whose voters pay half: what planted faults are planted in."""

import collections
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
from psephos.protocol import Column, ConfigurationError, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, RowMechanism
from psephos.protocol.phases import Entries
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel

VOTERS: Mapping[str, Sequence[Any]] = {
    f"voter-{number}": ("careful" if number % 3 == 0 else "open", ("tea", "coffee", "water")[number % 7 % 3])
    for number in range(24)
}
"""Rows of every kind: how much each pays, and its drink."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The drinks, and what naming one costs an open voter; a careful one pays half."""

    drinks: tuple[str, ...] = ("tea", "coffee", "water")
    epsilon: float = 1.5


class Shares(msgspec.Struct, frozen=True):
    """How many drink what."""

    drinkers: tuple[Estimate, ...]


class Ask(Phase):
    """Everybody names a drink, by k-RR; the public row is 1 for careful voters."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.mechanisms = [self.make_mechanism(settings.epsilon / price) for price in (1, 2)]
        super().__init__("ask", columns=range(1), mechanism=self.mechanisms[0], losses=self.losses_at(0))

    def make_mechanism(self, epsilon: float) -> RowMechanism:
        return GeneralizedRandomizedResponse(epsilon, len(self.settings.drinks))

    def losses_at(self, level: int) -> tuple[PrivacyLoss, ...]:
        """Return what open (0) and careful (1) voters pay."""
        loss = PrivacyLoss(
            mechanism="k-RR",
            event=GeneralizedRandomizedResponse(self.settings.epsilon / (1 + level), len(self.settings.drinks)).event,
            unit="drink",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
            claimed=self.settings.epsilon / (1 + level),
        )
        return (loss,)

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        return self.mechanisms[public[0]]

    def mechanism_groups(self, public: IntArray) -> Sequence[tuple[RowMechanism, IntArray]]:
        """Return open voters and careful ones."""
        return [(mechanism, np.flatnonzero(public[:, 0] == level)) for level, mechanism in enumerate(self.mechanisms)]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return self.losses_at(public[0])

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Return open voters and careful ones, as far as there are any."""
        counts = collections.Counter[int](public[:, 0].tolist())
        return [(("open", "careful")[level], counts[level], self.losses_at(level)) for level in sorted(counts)]

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count reports, of open and of careful voters apart."""
        del earlier
        size = len(self.settings.drinks)
        counts = np.bincount(public[:, 0] * size + reports[:, 0], minlength=2 * size)
        return Tally(len(reports), counts.astype(np.int64).reshape(2, size))


class Poll(PhasedProtocol[Settings, Shares]):
    """Who drinks what."""

    name: ClassVar[str] = "poll"
    parameters_type: ClassVar[type[msgspec.Struct]] = Settings
    outcome_type: ClassVar[type[msgspec.Struct]] = Shares
    phase_type: ClassVar[type[Ask]] = Ask

    def make_phases(self) -> Iterable[Phase]:
        return (self.phase_type(self.parameters),)

    def columns(self) -> tuple[Column, ...]:
        return (
            Column("level", private=False, description="open or careful"),
            Column("drink", private=True, description="one of the drinks"),
        )

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Return places among the drinks."""
        for row, drink in enumerate(table["drink"], start=1):
            if drink not in self.parameters.drinks:
                raise ConfigurationError(field=f"drink in row {row}", value=drink, allowed="one of the drinks")
        private = [[self.parameters.drinks.index(drink)] for drink in table["drink"]]
        return Inputs(np.array(private), self.encode_public(table, num_parties=len(private)))

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        del num_parties
        return np.array([[int(level == "careful")] for level in table["level"]], dtype=np.int64)

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        size, (tally, *_) = len(self.parameters.drinks), tallies
        values, variances = np.zeros(size), np.zeros(size)
        for level, counts in enumerate(tally.totals):
            grown = math.exp(self.parameters.epsilon / (1 + level))
            keep, lie = grown / (grown + size - 1), 1 / (grown + size - 1)
            values += (counts - counts.sum() * lie) / (keep - lie)
            variances += counts.sum() / 4 / (keep - lie) ** 2
        pairs: list[tuple[float, float]] = list(zip(values.tolist(), np.sqrt(variances).tolist(), strict=True))
        return Shares(tuple(Estimate(value, error) for value, error in pairs))
