"""Faults as somebody else might make them in a protocol of their own: each class is one, beside the promise it breaks.

They stand in a module of their own, since a new process computes their outcomes again and has to import them.
"""

import dataclasses
import datetime as dt
import math
import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from polls import VOTERS, Ask, Poll, Settings, Shares
from psephos.protocol import Column, Inputs, Phase, Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import (
    ExactMechanism,
    FiniteMechanism,
    GeneralizedRandomizedResponse,
    RandBelow,
    RowMechanism,
    SphericalLaplace,
    VectorLaplace,
)
from psephos.protocol.phases import Entries
from psephos.protocol.privacy import NeighboringRelation, PrivacyEvent, PrivacyLoss, PureMechanism, TrustModel
from strangers import Approvals, Ballot, BoundedMean, Bounds, Candidate, Elected, Sums

__all__ = ["FAULTS", "SOUND", "VOTES", "Completes", "Spotted", "Told", "make"]

VOTES: Mapping[str, Sequence[Any]] = {
    f"voter-{place}": (place % 2, place // 2 % 2, place % 3 // 2) for place in range(24)
}
VALUES: Mapping[str, Sequence[Any]] = {f"voter-{place}": (place % 21 - 10,) for place in range(24)}

KindT = TypeVar("KindT", bound=type[Any])

FAULTS: dict[type[Any], str] = {}
"""By class, the beginning of the promise that it breaks."""
STATED = "Every phase states at least what it draws"
SAMPLED = "What a deployment's own sampler draws"
LIKELY = "The likelihoods that a mechanism states"
COMPUTED = "The outcome is a function of the tallies"
ADDS = "However many parties there are"
NEAR = "Estimates whose truth is told"
SOUND: list[type[Any]] = []
"""Protocols that are like the faulty ones, without the fault."""


def breaks(promise: str) -> Callable[[KindT], KindT]:
    """Put a class among the faults."""

    def planted(kind: KindT) -> KindT:
        FAULTS[kind] = promise
        return kind

    return planted


def sound(kind: KindT) -> KindT:
    """Put a class among those without a fault."""
    SOUND.append(kind)
    return kind


def make(kind: type[Any]) -> tuple[Any, Mapping[str, Sequence[Any]]]:
    """Return a protocol and its voters."""
    if issubclass(kind, Approvals):
        return kind(Ballot(candidates=("tea", "coffee", "water"))), VOTES
    if issubclass(kind, BoundedMean):
        return kind(Bounds(low=-10.0, high=10.0)), VALUES
    return kind(Settings()), VOTERS


def loss_of(event: PrivacyEvent, model: TrustModel = TrustModel.LOCAL) -> PrivacyLoss:
    """Return a loss of what it says that it costs."""
    return PrivacyLoss(
        mechanism="noise", event=event, unit="value", relation=NeighboringRelation.REPLACE_ONE, model=model, claimed=1.0
    )


# Rows that are farther apart than the loss is stated for.


class Noisy(BoundedMean):
    """Adds up values with noise; a row is a value, and the distance of two is stated as 20 grid steps."""

    def make_noise(self) -> RowMechanism:
        return VectorLaplace(20.0, sensitivity=20, bound=10)

    def make_phases(self) -> Iterable[Phase]:
        noise = self.make_noise()
        yield Sums("values", columns=range(1), mechanism=noise, losses=[loss_of(noise.event_of(1))])

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        rows = np.array(table["value"], dtype=np.int64)[:, None]
        return Inputs(rows, np.empty((len(rows), 0), dtype=np.int64))


sound(Noisy)


@breaks(STATED)
class CopiedFromTheManual(Noisy):
    """Its rows are up to 20 apart, and the noise is for a distance of 1."""

    def make_noise(self) -> RowMechanism:
        return VectorLaplace(1.0, sensitivity=1, bound=10)


@breaks(STATED)
class OneStepTooFar(Noisy):
    def make_noise(self) -> RowMechanism:
        return VectorLaplace(20.0, sensitivity=19, bound=10)


@breaks(STATED)
class OnASphere(Noisy):
    def make_noise(self) -> RowMechanism:
        return SphericalLaplace(20.0, sensitivity=1.0, bound=10, dimension=1)


@breaks(STATED)
class WideRows(Noisy):
    """Sixteen values, each within the distance that all together may have."""

    def make_phases(self) -> Iterable[Phase]:
        noise = VectorLaplace(20.0, sensitivity=20, bound=10)
        yield Sums("values", columns=range(16), mechanism=noise, losses=[loss_of(noise.event_of(16))])


@dataclasses.dataclass(frozen=True)
class Lonely(GeneralizedRandomizedResponse):
    """No two rows are its neighbors, so it states next to nothing."""

    @property
    def event(self) -> PrivacyEvent:  # pyright: ignore[reportIncompatibleMethodOverride]  the fault: it states another kind
        return PureMechanism(epsilon=0.002)

    def event_of(self, num_values: int) -> PrivacyEvent:
        return self.event

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        return np.zeros((len(values), len(other_values)), dtype=np.bool_)


@dataclasses.dataclass(frozen=True)
class LonelyAndSilent(Lonely):
    """Its law is not written down either."""

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        raise NotImplementedError

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        raise NotImplementedError


@breaks(STATED)
class NobodysNeighbors(Poll):
    mechanism_type: ClassVar[type[Lonely]] = Lonely

    def make_phases(self) -> Iterable[Phase]:
        lonely = self.mechanism_type(1.5, 3)
        yield Sums("ask", columns=range(1), mechanism=lonely, losses=[loss_of(lonely.event)])


@breaks(STATED)
class NobodysNeighborsWithoutALaw(NobodysNeighbors):
    mechanism_type: ClassVar[type[Lonely]] = LonelyAndSilent


@dataclasses.dataclass(frozen=True)
class NotItself(LonelyAndSilent):
    """Every other row is a neighbor, and the row itself is none."""

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        return np.any(values[:, None] != other_values[None], axis=2)


@breaks(STATED)
class NotEvenOneself(NobodysNeighbors):
    mechanism_type: ClassVar[type[Lonely]] = NotItself


# Whom a loss is bounded against.


@breaks(STATED)
class CalledCentral(Noisy):
    """Every report is noisy, and the loss is said to be against whoever sees the release alone."""

    def make_phases(self) -> Iterable[Phase]:
        noise = self.make_noise()
        losses = [loss_of(noise.event_of(1), TrustModel.CENTRAL)]
        yield Sums("values", columns=range(1), mechanism=noise, losses=losses)


class CentralForSome(Ask):
    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        (loss,) = super().losses_of(public)
        return (loss_of(loss.event, TrustModel.CENTRAL if public[0] else TrustModel.LOCAL),)


@breaks(STATED)
class CalledCentralForSome(Poll):
    phase_type: ClassVar[type[Ask]] = CentralForSome


# What a deployment draws.


@dataclasses.dataclass(frozen=True)
class Coin(GeneralizedRandomizedResponse, ExactMechanism):
    """Keeps a value with probability 3/4: ε = ln 3."""

    def keep(self, value: int, randbelow: RandBelow) -> int:
        return value if randbelow(4) < 3 else 1 - value

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        return [self.keep(value, randbelow) for value in values]


class Coins(Approvals):
    mechanism_type: ClassVar[type[Coin]] = Coin

    def make_mechanism(self) -> RowMechanism:
        return self.mechanism_type(math.log(3), 2)

    def make_phases(self) -> Iterable[Phase]:
        mechanism, number = self.make_mechanism(), len(self.parameters.candidates)
        losses = [loss_of(mechanism.event_of(number))]
        yield Sums("approvals", columns=range(number), mechanism=mechanism, losses=losses)


sound(Coins)


class InClear(Coin):
    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        return list(values)


class Bolder(Coin):
    def keep(self, value: int, randbelow: RandBelow) -> int:
        return value if randbelow(10) < 9 else 1 - value


class OneForAll(Coin):
    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        kept = randbelow(4) < 3
        return [value if kept else 1 - value for value in values]


class SharedByTheLast(Coin):
    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        kept = [randbelow(4) < 3 for _ in values]
        kept[-1] = kept[-2]
        return [value if own else 1 - value for value, own in zip(values, kept, strict=True)]


class Forgetful(Coin):
    """Draws for every second report, and repeats the noise in the next one."""

    noise: ClassVar[list[int]] = []

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        noise = list(self.noise)
        self.noise[:] = [] if noise else [int(randbelow(4) == 3) for _ in values]
        return [value ^ own for value, own in zip(values, noise or self.noise, strict=True)]


class SevenOfThree(Coin):
    """Three seeds give seven coins, of which any two are independent: only three reports together tell."""

    coins: ClassVar[list[int]] = []

    def keep(self, value: int, randbelow: RandBelow) -> int:
        if not self.coins:
            a, b, c = randbelow(4), randbelow(4), randbelow(4)
            self.coins[:] = [a, b, c, a ^ b, a ^ c, b ^ c, a ^ b ^ c]
        return value if self.coins.pop() < 3 else 1 - value


class FromElsewhere(Coin):
    """Right in law, and drawn by a generator that a deployment has not chosen."""

    def keep(self, value: int, randbelow: RandBelow) -> int:
        del randbelow
        return super().keep(value, random.randrange)


class OneTooFew(Coin):
    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        return super().randomize_exactly(values, randbelow)[1:]


class BeyondTheRange(Coin):
    def keep(self, value: int, randbelow: RandBelow) -> int:
        return 2 if randbelow(1000) == 0 else super().keep(value, randbelow)


class Halves(Coin):
    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[Any]:
        return [each / 1 for each in super().randomize_exactly(values, randbelow)]


for faulty in (
    InClear,
    Bolder,
    OneForAll,
    SharedByTheLast,
    Forgetful,
    SevenOfThree,
    FromElsewhere,
    OneTooFew,
    BeyondTheRange,
    Halves,
):
    name = f"Coins{faulty.__name__}"
    globals()[name] = breaks(SAMPLED)(type(name, (Coins,), {"mechanism_type": faulty, "__module__": __name__}))


class SharedUniform(Coin):
    """A simulation's voters use one uniform for all of their values."""

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return super().randomize_rows(values, np.repeat(uniforms[:, :1], values.shape[1], axis=1))

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        return super().randomize_row(values, [uniforms[0]] * len(values))


@breaks(LIKELY)
class SimulatedByOneUniform(Coins):
    mechanism_type: ClassVar[type[Coin]] = SharedUniform


# What an outcome is computed of.

SEEN: list[float] = []


@breaks(COMPUTED)
class KeepsWhatItEncoded(Poll):
    """Releases the exact count of the first drink, which it has from encode."""

    kept = 0.0

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        inputs = super().encode(table)
        self.kept = float(np.count_nonzero(inputs.private == 0))
        return inputs

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Shares((Estimate(self.kept, 0.1), *super().outcome(tallies).drinkers))


@breaks(COMPUTED)
class KeepsItWithTheClass(KeepsWhatItEncoded):
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        inputs = super().encode(table)
        type(self).kept = self.kept
        return inputs


@breaks(COMPUTED)
class KeepsItInTheModule(Poll):
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        inputs = super().encode(table)
        SEEN[:] = [float(inputs.private.sum())]
        return inputs

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Shares((*super().outcome(tallies).drinkers, *(Estimate(each, 0.1) for each in SEEN)))


class AddsWhatWasSeen(Ask):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        tally = super().tally(reports, earlier=earlier, public=public)
        return Tally(len(reports), tally.totals + len(reports) * int(sum(SEEN)))


@breaks(COMPUTED)
class TalliesWhatItEncoded(KeepsItInTheModule):
    phase_type: ClassVar[type[Ask]] = AddsWhatWasSeen

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Poll.outcome(self, tallies)


def after(poll: Poll, tallies: Sequence[Tally], number: float) -> Shares:
    """Return a poll's outcome, and another number behind it."""
    return Shares((*Poll.outcome(poll, tallies).drinkers, Estimate(number, 1.0)))


@breaks(COMPUTED)
class InTheOrderOfASet(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        words = {f"{drink} {number}" for drink in self.parameters.drinks for number in range(9)}
        return after(self, tallies, float(next(iter(words))[-1]))


@breaks(COMPUTED)
class ByAHash(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return after(self, tallies, float(hash("tea") % 1000))


@breaks(COMPUTED)
class ByTheProcess(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return after(self, tallies, float(os.getpid()))


@breaks(COMPUTED)
class ByTheClock(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return after(self, tallies, float(time.time() // 86_400))


@breaks(COMPUTED)
class ByTheDay(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return after(self, tallies, float(dt.date.today().year))  # noqa: DTZ011  the fault


@breaks(COMPUTED)
class ByTheHour(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return after(self, tallies, float(dt.datetime.now(tz=dt.UTC).timestamp() // 3600))


# Tallies of many.


class Counting(Ask):
    def changed(self, totals: IntArray, number: int) -> IntArray:
        return totals

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        tally = super().tally(reports, earlier=earlier, public=public)
        return Tally(len(reports), self.changed(tally.totals, len(reports)))


class InAByte(Counting):
    def changed(self, totals: IntArray, number: int) -> IntArray:
        return totals.astype(np.int8).astype(np.int64)


class UpToSeventy(Counting):
    def changed(self, totals: IntArray, number: int) -> IntArray:
        return totals if number < 70 else np.minimum(totals, 20)


class NotAtThirtySeven(Counting):
    def changed(self, totals: IntArray, number: int) -> IntArray:
        return totals + (number == 37)


class NotInHundreds(Counting):
    def changed(self, totals: IntArray, number: int) -> IntArray:
        return totals - totals // 400


class RoundedWhereMany(Counting):
    def changed(self, totals: IntArray, number: int) -> IntArray:
        return totals if number < 500 else totals // 2 * 2


for counting in (InAByte, UpToSeventy, NotAtThirtySeven, NotInHundreds, RoundedWhereMany):
    name = f"Poll{counting.__name__}"
    globals()[name] = breaks(ADDS)(type(name, (Poll,), {"phase_type": counting, "__module__": __name__}))


# Estimates and their truth.


@sound
class Told(Approvals):
    """Tells how many approve of each candidate."""

    def truth(self, inputs: Inputs) -> Mapping[str, float]:
        return dict(zip(self.parameters.candidates, inputs.private.sum(axis=0).astype(float).tolist(), strict=True))

    def changed(self, estimates: list[Estimate], number: int) -> list[Estimate]:
        return estimates

    def outcome(self, tallies: Sequence[Tally]) -> Elected:
        found = [each.approvals for each in super().outcome(tallies).candidates]
        changed = self.changed(found, tallies[0].num_reports)
        return Elected(tuple(map(Candidate, self.parameters.candidates, changed)))


@breaks(NEAR)
class NotDebiased(Told):
    def changed(self, estimates: list[Estimate], number: int) -> list[Estimate]:
        return [Estimate(0.46 * each.value + 0.27 * number, each.standard_error) for each in estimates]


@breaks(NEAR)
class Swapped(Told):
    def changed(self, estimates: list[Estimate], number: int) -> list[Estimate]:
        return [estimates[0], estimates[2], estimates[1]]


@breaks(NEAR)
class TooSure(Told):
    def changed(self, estimates: list[Estimate], number: int) -> list[Estimate]:
        return [Estimate(each.value, each.standard_error / 1.3) for each in estimates]


@breaks(NEAR)
class TooShy(Told):
    def changed(self, estimates: list[Estimate], number: int) -> list[Estimate]:
        return [Estimate(each.value, each.standard_error * 1.3) for each in estimates]


@breaks(NEAR)
class SureOfItself(Told):
    def changed(self, estimates: list[Estimate], number: int) -> list[Estimate]:
        return [Estimate(each.value, 0.0) for each in estimates]


@breaks(NEAR)
class TellsOfNothing(Told):
    def truth(self, inputs: Inputs) -> Mapping[str, float]:
        return {f"approvals of {name}": number for name, number in super().truth(inputs).items()}


@breaks(NEAR)
class Misspelled(Told):
    def truth(self, inputs: Inputs) -> Mapping[str, float]:
        return {name.replace("coffee", "cofee"): number for name, number in super().truth(inputs).items()}


@breaks(NEAR)
class TellsShares(Told):
    def truth(self, inputs: Inputs) -> Mapping[str, float]:
        return {name: number / len(inputs) for name, number in super().truth(inputs).items()}


# What a server does with reports.


class Stumbles(Sums):
    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        _ = range(400)[abs(report[0])]


@breaks("Whatever numbers in range a report has")
class StumblesOverFew(Noisy):
    """Honest reports are never so large; one that somebody makes up is in range all the same."""

    def make_phases(self) -> Iterable[Phase]:
        noise = self.make_noise()
        yield Stumbles("values", columns=range(1), mechanism=noise, losses=[loss_of(noise.event_of(1))])


class Completes(Poll):
    """Puts the exact count of the first drink into its parameters, which are public."""

    name: ClassVar[str] = "completes"

    @classmethod
    def complete(cls, fields: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        return {**fields, "epsilon": 1.0 + list(dict(table)["drink"]).count("tea") / 1000}


@dataclasses.dataclass(frozen=True)
class Hidden(GeneralizedRandomizedResponse):
    """Of a thousand values one is reported nearly as it is."""

    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        channel = np.array(super().channel_matrix())
        channel[137] = 0.5 / self.num_choices
        channel[137, 137] += 0.5
        return tuple(map(tuple, channel.tolist()))

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        return FiniteMechanism.log_probabilities(self, reports, values)


class Number(msgspec.Struct, frozen=True):
    count: int


class Spotted(Approvals):
    """Asks for a number below a thousand."""

    name: ClassVar[str] = "spotted"
    outcome_type: ClassVar[type[msgspec.Struct]] = Number

    def make_phases(self) -> Iterable[Phase]:
        mechanism = Hidden(1.0, 1000)
        yield Sums("numbers", columns=range(1), mechanism=mechanism, losses=[loss_of(mechanism.event)])

    def columns(self) -> tuple[Column, ...]:
        return (Column("number", private=True, description="below a thousand"),)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        rows = np.array([[int(entry)] for entry in table["number"]], dtype=np.int64)
        return Inputs(rows, np.empty((len(rows), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Any:
        return Number(tallies[0].num_reports)
