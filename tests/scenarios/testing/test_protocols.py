"""`check_protocol` names each planted fault by what it breaks, and has nothing to say of a protocol without a fault."""

# ruff: noqa: D101  a planted fault is its one line, and its name says which

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec
import numpy as np
import pytest
import stranger_faults
from makers import AddedUp
from polls import VOTERS, Ask, Poll, Settings, Shares
from psephos.protocol import CentralPhase, Column, ConfigurationError, Inputs, Phase, Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.estimators import Estimate
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, RowMechanism, VectorLaplace
from psephos.protocol.phases import Draw, Entries
from psephos.protocol.privacy import NeighboringRelation, PrivacyEvent, PrivacyLoss, RandomizedResponse, TrustModel
from psephos.scenarios.testing import PROTOCOL_PROMISES, check_protocol
from thoroughness import draws

FAULTS: dict[str, list[type[Poll]]] = {}
"""By the beginning of the promise that it breaks."""


def breaks(promise: str) -> Any:
    """Put a protocol, or a poll with this phase or this mechanism, among the faults."""

    def planted(kind: type[Any]) -> type[Any]:
        def make_mechanism(self: Ask, epsilon: float) -> RowMechanism:
            return kind(epsilon, len(self.settings.drinks))

        phase = (
            type(kind.__name__, (Ask,), {"make_mechanism": make_mechanism}) if issubclass(kind, RowMechanism) else kind
        )
        protocol = kind if issubclass(kind, Poll) else type(kind.__name__, (Poll,), {"phase_type": phase})
        FAULTS.setdefault(promise, []).append(protocol)
        return kind

    return planted


# What a protocol says of itself.


@breaks("A protocol has a name")
class NoStruct(Poll):
    outcome_type: ClassVar[type[msgspec.Struct]] = cast("type[msgspec.Struct]", dict)


@breaks("A protocol has a name")
class Growing(Poll):
    """Made again, it has other parameters."""

    def __init__(self, parameters: Settings) -> None:
        super().__init__(msgspec.structs.replace(parameters, epsilon=parameters.epsilon + 1))


@breaks("The columns have distinct names")
class TwoLevels(Poll):
    def columns(self) -> tuple[Column, ...]:
        return (*super().columns(), super().columns()[0])


@breaks("The columns have distinct names")
class BreaksInColumns(Poll):
    def columns(self) -> tuple[Column, ...]:
        raise LookupError("columns")


@breaks("Every phase states at least what it draws")
class Understated(Ask):
    """It says that an answer costs a third of what it does."""

    def losses_at(self, level: int) -> tuple[PrivacyLoss, ...]:
        (loss,) = super().losses_at(level)
        event = RandomizedResponse(self.settings.epsilon / 3, len(self.settings.drinks))
        return (msgspec.structs.replace(loss, event=event, proven=self.settings.epsilon / 3),)


@breaks("Every phase states at least what it draws")
class UnderstatedForSome(Ask):
    """Careful voters are told that they pay half, and draw as the others do."""

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        del public
        return self.mechanisms[0]

    def mechanism_groups(self, public: IntArray) -> Sequence[tuple[RowMechanism, IntArray]]:
        return [(self.mechanisms[0], np.arange(len(public)))]


@breaks("A table becomes a row of integers")
class Floats(Poll):
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        inputs = super().encode(table)
        return Inputs(cast("IntArray", inputs.private / 2), inputs.public)


@breaks("A table becomes a row of integers")
class OutOfRangeValues(Poll):
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        inputs = super().encode(table)
        return Inputs(inputs.private + 1, inputs.public)


@breaks("A table becomes a row of integers")
class OneRowTooFew(Poll):
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        inputs = super().encode(table)
        return inputs.slice_rows(0, len(inputs) - 1)


@breaks("A party that encodes its own entries")
class OtherOwnRow(Poll):
    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        (place,) = super().encode_own(entries, public)
        return ((place + 1) % 3,)


@breaks("A party that encodes its own entries")
class RefusesHonestRows(Poll):
    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        if public[0]:
            raise ValueError(f"{row} does not fit")


@breaks("In mechanism_groups everybody")
class ArraysAreMoreCareful(Ask):
    """The array path draws for everybody as careful voters do."""

    def mechanism_groups(self, public: IntArray) -> Sequence[tuple[RowMechanism, IntArray]]:
        return [(self.mechanisms[1], np.arange(len(public)))]


@breaks("In loss_groups everybody")
class ArraysPayMore(Ask):
    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        return [("", len(public), self.losses)]


@breaks("In loss_groups everybody")
class GroupsOfOneName(Ask):
    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        return [("voters", count, losses) for _, count, losses in super().loss_groups(public)]


@breaks("In kinds_of everybody")
class NobodyDrinksTea(Ask):
    def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
        del public
        return [range(1, 3)]


@breaks("In kinds_of everybody")
class ForgetsTheCareful(Ask):
    def kinds_of(self, public: IntArray) -> Sequence[IntArray]:
        return [np.flatnonzero(public[:, 0] == 0)]


# What leaves a party.


@breaks("Reports are integers in the range")
@dataclasses.dataclass(frozen=True)
class BeyondRange(GeneralizedRandomizedResponse):
    """Sometimes reports one more than there is."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        reports = super().randomize(values, uniforms)
        return np.where(uniforms[:, 0] > 0.99, self.num_choices, reports)


@breaks("An honest report travels as it is")
class RefusesHonestReports(Ask):
    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        if public[0] and report[0]:
            raise ValueError("careful voters drink tea")


@breaks("A party draws by itself what it draws as a row")
@dataclasses.dataclass(frozen=True)
class OtherAlone(GeneralizedRandomizedResponse):
    """Draws otherwise where it draws for one."""

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        return super().randomize_one(value, [1 - uniforms[0] - 2**-53])


@breaks("The likelihoods that a mechanism states")
@dataclasses.dataclass(frozen=True)
class OtherLaw(GeneralizedRandomizedResponse):
    """Its law is written down as that of a smaller ε."""

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        return GeneralizedRandomizedResponse(0.8 * self.epsilon, self.num_choices).log_probabilities(reports, values)


@breaks("The likelihoods that a mechanism states")
@dataclasses.dataclass(frozen=True)
class HalfLaw(GeneralizedRandomizedResponse):
    """Its probabilities add up to a half."""

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        return super().log_probabilities(reports, values) - math.log(2)


@breaks("The likelihoods that a mechanism states")
@dataclasses.dataclass(frozen=True)
class Truthful(GeneralizedRandomizedResponse):
    """Keeps a value with the probability of four times its ε."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return GeneralizedRandomizedResponse(4 * self.epsilon, self.num_choices).randomize(values, uniforms)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        return GeneralizedRandomizedResponse(4 * self.epsilon, self.num_choices).randomize_one(value, uniforms)


@breaks("What a party sends tells its row")
@dataclasses.dataclass(frozen=True)
class Unwritten(RowMechanism):
    """A law that is nowhere written down, and an event that is far from it."""

    epsilon: float
    num_choices: int

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, self.num_choices - 1

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, self.num_choices - 1

    def slots_of(self, num_values: int) -> int:
        return num_values

    def event_of(self, num_values: int) -> PrivacyEvent:
        del num_values
        return RandomizedResponse(self.epsilon, self.num_choices)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return GeneralizedRandomizedResponse(4 * self.epsilon, self.num_choices).randomize_rows(values, uniforms)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        return GeneralizedRandomizedResponse(4 * self.epsilon, self.num_choices).randomize_row(values, uniforms)


class Trusted(AddedUp, CentralPhase):
    """Voters disclose the number of their drink, and the server publishes the sum with noise."""

    called: ClassVar[str] = "ask"

    def __init__(self, settings: Settings) -> None:
        greatest = len(settings.drinks) - 1
        mechanism = VectorLaplace(2 * greatest / settings.epsilon, 2 * greatest, 1 << 10)
        loss = PrivacyLoss(
            mechanism="discrete Laplace",
            event=mechanism.event_of(1),
            unit="drink",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.CENTRAL,
            claimed=settings.epsilon,
        )
        super().__init__(self.called, columns=range(1), bound=greatest, tally_mechanism=mechanism, losses=[loss])


class Trusting(Poll):
    def make_phases(self) -> Iterable[Phase]:
        return (Trusted(self.parameters),)

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Shares((Estimate(float(tallies[0].totals[0]), 0.0),))


class AfterAsking(Trusted):
    """What voters answered before moves the sum by far more than one of them does now."""

    called: ClassVar[str] = "disclose"

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), reports.sum(axis=0) + 10 * earlier[0].sum(axis=0))


class AskingTwice(Trusting):
    def make_phases(self) -> Iterable[Phase]:
        return Ask(self.parameters), AfterAsking(self.parameters)


class Clear(Trusted):
    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        return tally


@breaks("Every phase states at least what it draws")
class ForgetsTheNoise(Trusting):
    """The server publishes the sum as it is."""

    def make_phases(self) -> Iterable[Phase]:
        return (Clear(self.parameters),)


class TellsOfSome(Trusted):
    """Beside the sum it says, without noise, how many drink water; compared are those alone who drink tea."""

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return np.zeros((1, 1), dtype=np.int64)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), np.array([reports.sum(), (reports == 2).sum()]))

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        noisy = draw(self.tally_mechanism, tally.totals[:1].tolist())
        return Tally(tally.num_reports, np.array([*noisy, tally.totals[1]]))


@breaks("Rows that parties hold are told apart")
class TellsWhoDrinksWater(Trusting):
    def make_phases(self) -> Iterable[Phase]:
        return (TellsOfSome(self.parameters),)


# What a session leaves.


@breaks("The tallies of any partition")
class Maximum(Ask):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        tally = super().tally(reports, earlier=earlier, public=public)
        return Tally(len(reports), np.full_like(tally.totals, reports.max()))


@breaks("The tallies of any partition")
class LastComesFirst(Ask):
    """The order of the parties counts."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        weights = np.arange(len(reports))
        tally = super().tally(reports, earlier=earlier, public=public)
        return Tally(len(reports), tally.totals + int(weights @ reports[:, 0]))


@breaks("The tallies of any partition")
class BreaksInTally(Ask):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        raise KeyError("coffee")


@breaks("The tallies of any partition")
class NoTally(Ask):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return cast("Tally", {"tea": len(reports)})


@breaks("The outcome is of outcome_type")
class OtherType(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return cast("Shares", Settings())


@breaks("The outcome is of outcome_type")
class TextForEstimate(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Shares(cast("tuple[Estimate, ...]", ("many", "few", "none")))


@breaks("The outcome is of outcome_type")
class BreaksInOutcome(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Shares((Estimate(1 / (len(tallies) - 1), 0.0),))


@breaks("The outcome is of outcome_type")
class TellsSomebodyElse(Poll):
    own_outcome_type: ClassVar[type[msgspec.Struct] | None] = Settings

    def own_outcomes(self, tallies: Sequence[Tally]) -> Mapping[int, msgspec.Struct]:
        return {0: self.outcome(tallies)}


@breaks("Every number of the outcome is finite")
class NotANumber(Poll):
    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        first, *others = super().outcome(tallies).drinkers
        return Shares((*others, Estimate(first.value, math.nan)))


class Anything(msgspec.Struct, frozen=True):
    counts: Any


@breaks("The outcome comes back equal")
class ChangesOnItsWay(Poll):
    outcome_type: ClassVar[type[msgspec.Struct]] = Anything

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return cast("Shares", Anything((1, 2)))


@breaks("The outcome is a function of the tallies")
class NotTheSameTwice(Poll):
    numbers: ClassVar["itertools.count[int]"] = itertools.count()

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        return Shares((*super().outcome(tallies).drinkers, Estimate(next(self.numbers), 0.0)))


class Remembers(Ask):
    last = 0

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        self.last = int(reports[-1, 0]) + len(reports)
        return super().tally(reports, earlier=earlier, public=public)


@breaks("The outcome is a function of the tallies")
class LooksAtReports(Poll):
    phase_type: ClassVar[type[Ask]] = Remembers

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        phase = cast("Remembers", self.phases[0])
        return Shares((*super().outcome(tallies).drinkers, Estimate(phase.last, 0.0)))


@breaks("Arrays, batches, agents in memory")
class NoSuchRole(Poll):
    client_role: ClassVar[str] = "nobody's"


_BEFORE_REPLAYS = 232 + 2 * (3 + 32)
"""Reports that all checks before that of replays show a server."""


@breaks("A server that is shown again")
class Tires(Ask):
    """Takes as many reports as that, and no more."""

    taken: ClassVar[list[int]] = [0]

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        self.taken[0] += 1
        if self.taken[0] > _BEFORE_REPLAYS:
            raise ValueError("enough")


PLANTED = [(promise, kind) for promise, kinds in FAULTS.items() for kind in kinds]


@pytest.mark.parametrize(("promise", "kind"), PLANTED, ids=[kind.__name__ for _, kind in PLANTED])
def test_a_planted_fault_is_named_by_what_it_breaks(promise: str, kind: type[Poll]) -> None:
    with pytest.raises(AssertionError) as caught:
        check_protocol(kind(Settings()), VOTERS)
    assert str(caught.value).startswith(promise)
    assert " Broken: " in str(caught.value)


def test_every_promise_has_a_fault_that_breaks_it() -> None:
    assert len({*PROTOCOL_PROMISES}) == len(PROTOCOL_PROMISES)
    faults = {*FAULTS, *stranger_faults.FAULTS.values()}
    broken = [[begun for begun in faults if promise.startswith(begun)] for promise in PROTOCOL_PROMISES]
    assert [len(each) for each in broken] == [1] * len(PROTOCOL_PROMISES)


@pytest.mark.parametrize("kind", [Poll, Trusting])
@pytest.mark.parametrize("epsilon", [0.2, 1.5, 8.0])
def test_a_protocol_without_a_fault_passes(kind: type[Poll], epsilon: float) -> None:
    """False alarm: below 1e-6 for each."""
    check_protocol(kind(Settings(epsilon=epsilon)), VOTERS)


def test_rows_are_parties_or_a_table_or_encoded_already() -> None:
    poll = Poll(Settings())
    table = {"level": [level for level, _ in VOTERS.values()], "drink": [drink for _, drink in VOTERS.values()]}
    check_protocol(poll, table)
    check_protocol(poll, poll.encode(table))
    with pytest.raises(AssertionError, match=r"^A table becomes a row of integers.*'wine'"):
        check_protocol(poll, {**VOTERS, "voter-1": ("open", "wine")})
    with pytest.raises(AssertionError, match=r"^A table becomes a row of integers.*voter-1 has"):
        check_protocol(poll, {**VOTERS, "voter-1": ("open",)})


def test_what_a_party_sent_before_does_not_count_against_a_release() -> None:
    (promise,) = (each for each in PROTOCOL_PROMISES if each.startswith("What a party sends tells its row"))
    for seed in range(1, draws(2, full=5)):
        check_protocol(AskingTwice(Settings()), VOTERS, seed=seed, promises=(promise,))


@pytest.mark.parametrize("rows", [{}, {"voter-1": ("open", "tea")}], ids=["nobody", "one"])
def test_fewer_than_two_parties_are_refused(rows: Mapping[str, Sequence[Any]]) -> None:
    with pytest.raises(ConfigurationError, match="at least two parties"):
        check_protocol(Poll(Settings()), rows)


def test_a_promise_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="promises is 'honesty': use some of PROTOCOL_PROMISES"):
        check_protocol(Poll(Settings()), VOTERS, promises=("honesty",))


def test_promises_are_checked_one_by_one_on_request() -> None:
    promise = PROTOCOL_PROMISES[0]
    check_protocol(FAULTS["The tallies of any partition"][0](Settings()), VOTERS, promises=(promise,))
