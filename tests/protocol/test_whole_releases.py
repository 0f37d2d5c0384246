"""A release is one object: what a trusted server tells is drawn, or the same for all rows of a person.

Strangers' phases with one hole each; whoever holds a row that no loss was worked out for takes part in nothing.
"""

# ruff: noqa: D101  a planted hole is its one line, and its name says which

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from helpers import Session
from makers import AddedUp, loss_of
from psephos.protocol import CentralPhase, Column, ConfigurationError, Inputs, Phase, PhasedProtocol, PluginError, Tally
from psephos.protocol.arrays import IntArray, select_distinct
from psephos.protocol.errors import BudgetExceededError, PrivacyError
from psephos.protocol.mechanisms import (
    GeneralizedRandomizedResponse,
    Prepared,
    RowMechanism,
    TwoLayer,
    Uniform,
    VectorLaplace,
)
from psephos.protocol.mechanisms.joint_law import loss_of_one_answer
from psephos.protocol.phases import Draw, Entries, MaskedSums
from psephos.protocol.population import run_population, tally_places
from psephos.protocol.privacy import (
    Budget,
    Ledger,
    PartLoss,
    PrivacyEvent,
    PrivacyLoss,
    PureMechanism,
    TrustModel,
)
from psephos.protocol.randomness import SimulatedNoise

TOP = 100
NOBODY_KNOWS = np.empty((3, 0), dtype=np.int64)


class Settings(msgspec.Struct, frozen=True):
    """None."""


class Told(msgspec.Struct, frozen=True):
    """All that is left."""

    numbers: tuple[int, ...]


def loss(epsilon: float, model: TrustModel = TrustModel.CENTRAL, part: PartLoss | None = None) -> PrivacyLoss:
    return loss_of(epsilon, model=model, part=part)


class Sum(AddedUp, CentralPhase):
    """A noisy sum of numbers up to 100."""

    def __init__(self, name: str = "sum") -> None:
        noise = VectorLaplace(TOP, TOP, 1 << 40)
        super().__init__(name, columns=range(1), bound=TOP, tally_mechanism=noise, losses=[loss(1.0)])

    def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
        return [range(TOP + 1)]


class Beside(Sum):
    """Beside it, without noise, how many are large."""

    def beside(self, reports: IntArray) -> int:
        return int((reports > TOP // 2).sum())

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), np.array([reports.sum(), self.beside(reports)]))

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        noisy = draw(self.tally_mechanism, tally.totals[:1].tolist())
        return Tally(tally.num_reports, np.array([*noisy, *tally.totals[1:].tolist()]))


class Rare(Beside):
    def beside(self, reports: IntArray) -> int:
        return int((reports == 37).sum())


class Public(Beside):
    """How many there are is public."""

    def beside(self, reports: IntArray) -> int:
        return len(reports)


class Rows(Sum):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), reports.sum(axis=0), np.sort(reports, axis=0))

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        return dataclasses.replace(super().randomize_tally(tally, draw), rows=tally.rows)


class EmptyRows(Rows):
    """They say nothing, and are rows."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), reports.sum(axis=0), np.zeros_like(reports))


class Counts(Sum):
    """It says that there are as many reports as the numbers add up to."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(int(reports.sum()), reports.sum(axis=0))


class Scaled(Beside):
    """It draws by as much noise as the number asks for."""

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        noise = VectorLaplace(TOP * (1 + tally.totals.max() // TOP), TOP, 1 << 40)
        return Tally(tally.num_reports, np.array(draw(noise, tally.totals[:1].tolist()), dtype=np.int64))


class Times(Sum):
    """It draws noise of nothing, and multiplies by it: 0, whatever the sum is, or the sum itself."""

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        (noise,) = draw(self.tally_mechanism, [0])
        return Tally(tally.num_reports, tally.totals * noise)


class Twice(Sum):
    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        totals: list[int] = tally.totals.tolist()
        return Tally(
            tally.num_reports, np.array([*draw(self.tally_mechanism, totals), *draw(self.tally_mechanism, totals)])
        )


@pytest.mark.parametrize("kind", [Beside, Rows, Counts, Scaled, Times])
def test_what_is_not_drawn_is_the_same_for_all_rows(kind: type[Sum]) -> None:
    Public().check_loss_groups(NOBODY_KNOWS)
    with pytest.raises(ConfigurationError, match=r"release of phase 'sum' (is|are) .*noisy, or the same for all rows"):
        kind().check_loss_groups(NOBODY_KNOWS)


def test_what_is_drawn_twice_costs_twice() -> None:
    with pytest.raises(ConfigurationError, match="phase 'sum' draws: 2"):
        Twice().check_loss_groups(NOBODY_KNOWS)


def test_a_client_whose_own_row_would_show_leaves_and_its_error_does_not_quote_it() -> None:
    phase = Rare()
    phase.check_loss_groups(NOBODY_KNOWS)
    phase.check_rows(np.array([[36]]), ())
    with pytest.raises(ConfigurationError, match=r"a row of phase 'sum': A private row exceeds the ") as caught:
        phase.check_rows(np.array([[37]]), ())
    assert "37" not in str(caught.value)
    wire = Session(protocol_of(Rare), rows([[3], [37], [9]])).play()
    assert wire.result is None
    assert "37" not in str(wire.failure)
    with pytest.raises(ConfigurationError, match=r"a row of phase 'phase 0': A private row exceeds the ") as of_arrays:
        run_population(protocol_of(Rare), rows([[3], [37], [9]]), noise=SimulatedNoise(1, session="s"))
    assert "37" not in str(of_arrays.value)


class Flat(AddedUp):
    """A local phase after it."""

    def __init__(self, name: str, part: PartLoss | None = None) -> None:
        response = GeneralizedRandomizedResponse(1.0, TOP + 1)
        losses = [loss(1.0, TrustModel.LOCAL, part)]
        super().__init__(name, columns=range(1), mechanism=response, losses=losses)


class Again(Flat):
    """It counts what was disclosed before."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), np.array([earlier[0][:, 0].sum()]))


class Numbers(PhasedProtocol[Settings, Told]):
    """A number each, or some."""

    name: ClassVar[str] = "numbers"
    parameters_type: ClassVar[type[msgspec.Struct]] = Settings
    outcome_type: ClassVar[type[msgspec.Struct]] = Told
    kinds: ClassVar[Sequence[Any]] = ()

    def make_phases(self) -> Iterable[Phase]:
        return [kind(f"phase {number}") for number, kind in enumerate(self.kinds)]

    def columns(self) -> tuple[Column, ...]:
        return (Column("number", private=True, description="up to 100"),)

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        return rows([[int(entry)] for entry in table["number"]])

    def outcome(self, tallies: Sequence[Tally]) -> Told:
        return Told(tuple(int(number) for tally in tallies for number in tally.totals.reshape(-1)))


def protocol_of(*kinds: Any) -> Numbers:
    return type("Made", (Numbers,), {"kinds": kinds})(Settings())


def rows(numbers: Sequence[Sequence[int]]) -> Inputs:
    return Inputs(np.array(numbers, dtype=np.int64), np.empty((len(numbers), 0), dtype=np.int64))


@pytest.mark.parametrize("kinds", [(Sum, Again), (EmptyRows,)])
def test_no_session_counts_again_what_was_disclosed_or_releases_rows(kinds: Sequence[Any]) -> None:
    run_population(protocol_of(Sum, Flat), rows([[1], [2]]), noise=SimulatedNoise(1, session="s"))
    with pytest.raises(PluginError):
        run_population(protocol_of(*kinds), rows([[1], [2]]), noise=SimulatedNoise(1, session="s"))


class AgainReleased(Sum):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), np.array([earlier[0][:, 0].sum()]))


class Reshaped(Flat):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), earlier[0].reshape(len(reports), 1).sum(axis=0))


class BeforeAll(Flat):
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), earlier[0].sum(axis=0))


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        *(
            ((Sum, kind), "phase 'phase 0': shape (n, 0), since its values were disclosed")
            for kind in (Again, Reshaped)
        ),
        (
            (Sum, Flat, AgainReleased),
            "(phase 'phase 0': shape (n, 0), since its values were disclosed; phase 'phase 1': shape (n, 1))",
        ),
        ((BeforeAll,), "`earlier` is empty, since no phase is before this one"),
    ],
)
def test_a_tally_that_takes_more_of_earlier_phases_than_there_is_is_told_what_there_is(
    kinds: Sequence[Any], told: str
) -> None:
    with pytest.raises((PluginError, ConfigurationError), match="tally of phase") as refused:
        run_population(protocol_of(*kinds), rows([[1], [2]]), noise=SimulatedNoise(1, session="s"))
    assert told in str(refused.value)


def test_a_tally_is_of_as_many_reports_as_it_was_given() -> None:
    class Fewer(Flat):
        def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
            return Tally(0, reports.sum(axis=0))

    with pytest.raises(PluginError, match="another number of reports"):
        run_population(protocol_of(Fewer), rows([[1], [2]]), noise=SimulatedNoise(1, session="s"))


# Parts, and rows that are nobody's


def test_a_part_loses_at_least_what_one_value_costs() -> None:
    with pytest.raises(
        ConfigurationError, match=r"loss of datum is .*: use at least what phase 'flat' draws of one: 1"
    ):
        Flat("flat", PartLoss(unit="datum", claimed=0.01, proven=0.01)).check_losses(())
    Flat("flat", PartLoss(unit="datum", claimed=1.0, proven=1.0)).check_losses(())


@dataclasses.dataclass(frozen=True)
class FirstAlone(Prepared):
    @property
    def noise(self) -> RowMechanism:
        return GeneralizedRandomizedResponse(1.0, 2)

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, 1

    def num_prepared_of(self, num_values: int) -> int:
        return 1

    def prepare_rows(self, values: IntArray) -> IntArray:
        return values[:, :1]


@pytest.mark.parametrize(
    ("mechanism", "width", "whole", "proven"),
    [
        # The others tell of the flip probability that all share.
        *(
            (shared, width, 50.0, loss_of_one_answer([2] * width, shared.hyper))
            for shared in [TwoLayer((2,), Uniform(0.1, 0.3))]
            for width in (1, 2, 8, 9, 20)
        ),
        *((FirstAlone(), width, 1.0, 1.0) for width in (2, 9)),  # of which no law is looked at, if they are wide
        *((VectorLaplace(1.0, width, 1), width, float(width), 1.0) for width in (2, 9)),
    ],
)
def test_a_part_is_held_against_the_worst_place_with_all_others_known(
    mechanism: RowMechanism, width: int, whole: float, proven: float
) -> None:
    class Answers(AddedUp):
        def __init__(self, part: float) -> None:
            own = loss(whole, TrustModel.LOCAL, PartLoss(unit="answer", claimed=part, proven=part))
            super().__init__("answers", columns=range(width), mechanism=mechanism, losses=[own])

        def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
            return [range(2)] * width

    Answers(proven).check_losses(())
    with pytest.raises(ConfigurationError, match=r"loss of answer is .*: use at least"):
        Answers(proven - 1e-6).check_losses(())


AXES = np.concatenate([np.zeros((1, 3), dtype=np.int64), np.eye(3, dtype=np.int64)])


class _Three:
    """Three numbers of a person, at most two records of which are anywhere."""

    def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
        return [range(11)] * 3

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return AXES

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), reports.sum(axis=0))


class LocalThree(_Three, Phase):
    def __init__(self, name: str = "three") -> None:
        noise, losses = VectorLaplace(1.0, 1, 10), [loss(2.0, TrustModel.LOCAL)]
        super().__init__(name, columns=range(3), mechanism=noise, losses=losses, num_parts=2)


class CentralThree(_Three, CentralPhase):
    def __init__(self, name: str = "three") -> None:
        noise = VectorLaplace(1.0, 1, 1 << 40)
        super().__init__(name, columns=range(3), bound=10, tally_mechanism=noise, losses=[loss(2.0)], num_parts=2)


class MaskedThree(_Three, MaskedSums):
    def __init__(self, name: str = "three", part: PartLoss | None = None) -> None:
        sizes: dict[str, Any] = {"threshold": 2, "colluders": 0, "unit": "voter"}
        losses = [] if part is None else [loss(2.0, TrustModel.DISTRIBUTED, part)]
        super().__init__(name, ranges=[(0, 10)] * 3, epsilon=1.0, sensitivity=1, num_parts=2, losses=losses, **sizes)


@pytest.mark.parametrize("kind", [LocalThree, CentralThree, MaskedThree])
def test_a_row_of_more_parts_than_are_paid_for_takes_part_in_nothing(kind: Any) -> None:
    phase = kind()
    phase.check_losses(())
    phase.check_rows(np.array([[0, 1, 0]]), ())
    with pytest.raises(ConfigurationError, match=r"a row of phase 'three': A private row exceeds the ") as refused:
        phase.check_rows(np.array([[0, 10, 0]]), ())
    assert "0, 10, 0" not in f"{refused.value} {refused.value.__context__}"
    if kind is MaskedThree:
        return
    wire = Session(protocol_of(kind), rows([[1, 0, 0], [0, 0, 0], [0, 0, 1]])).play()
    assert wire.result is not None
    wire = Session(protocol_of(kind), rows([[1, 0, 0], [0, 10, 0], [0, 0, 1]])).play()
    assert wire.result is None
    assert "p1" in str(wire.failure)


class LocalAnswers(_Three, Phase):
    """Rows of a list of their own: which of their numbers change by themselves, nobody says."""

    def __init__(self, part: PartLoss) -> None:
        losses = [loss(3.0, TrustModel.LOCAL, part)]
        super().__init__("three", columns=range(3), mechanism=GeneralizedRandomizedResponse(1.0, 11), losses=losses)


class CentralAnswers(AddedUp, CentralPhase):
    def __init__(self, part: PartLoss) -> None:
        noise = VectorLaplace(10.0, 30, 1 << 40)
        super().__init__("three", columns=range(3), bound=10, tally_mechanism=noise, losses=[loss(3.0, part=part)])

    def values_of(self, public: Sequence[int]) -> Sequence[Sequence[int]]:
        return [range(11)] * 3


class CentralAnswersApart(CentralAnswers):
    """It says what one of them costs."""

    of_part: ClassVar[float] = 1.0

    def part_event_of(self, public: Sequence[int]) -> PureMechanism:
        return PureMechanism(epsilon=self.of_part)


class CentralAnswersFalse(CentralAnswersApart):
    of_part = 0.01


class MaskedAnswers(MaskedSums):
    def __init__(self, part: PartLoss) -> None:
        sizes: dict[str, Any] = {"threshold": 2, "colluders": 0, "unit": "voter"}
        losses = [loss(3.0, TrustModel.DISTRIBUTED, part)]
        super().__init__("three", ranges=[(0, 10)] * 3, epsilon=3.0, losses=losses, **sizes)


class MaskedAnswersApart(MaskedAnswers):
    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        return self.event_within(10)


class MaskedAnswersFalse(MaskedAnswers):
    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        return self.event_within(1)


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (LocalAnswers, 3.0),
        (CentralAnswers, 3.0),
        (CentralAnswersApart, 1.0),
        (MaskedAnswers, 3.0),
        (MaskedAnswersApart, 1.0),
    ],
)
def test_no_phase_states_less_of_a_part_than_it_draws(kind: Any, whole: float) -> None:
    kind(PartLoss(unit="answer", claimed=whole, proven=whole)).check_losses(())
    for less in (0.01, whole * 0.999):
        phase = kind(PartLoss(unit="answer", claimed=less, proven=less))
        with pytest.raises(
            ConfigurationError, match=r"loss of answer is .*: use at least what phase 'three' draws of one"
        ):
            phase.check_losses(())
        with pytest.raises(ConfigurationError, match=r"loss of answer is .*: use at least"):
            phase.check_loss_groups(NOBODY_KNOWS)


@pytest.mark.parametrize("kind", [CentralAnswersFalse, MaskedAnswersFalse])
def test_what_a_phase_says_of_one_value_is_held_against_rows_that_differ_in_one(kind: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"loss of answer is .*: use at least"):
        kind(PartLoss(unit="answer", claimed=0.2, proven=0.2)).check_loss_groups(NOBODY_KNOWS)


@pytest.mark.parametrize("kind", [Flat, LocalAnswers, CentralAnswers, MaskedAnswers])
def test_a_part_whose_loss_is_left_out_loses_what_its_phase_draws(kind: Any) -> None:
    named = PartLoss(unit="answer", claimed=0.01)
    phase = kind("flat", named) if kind is Flat else kind(named)
    phase.check_losses(())
    phase.check_loss_groups(NOBODY_KNOWS)
    (own,) = phase.losses
    assert own.part == PartLoss(unit="answer", claimed=0.01, proven=own.proven)
    ledger = Ledger("p", budget=Budget(epsilon=math.inf, datum=own.proven))
    ledger.charge(own, session="1", phase=phase.name)
    with pytest.raises(BudgetExceededError):
        ledger.charge(own, session="2", phase=phase.name)


def test_a_part_of_several_loses_what_the_mechanism_draws_of_one_part() -> None:
    (own,) = MaskedThree(part=PartLoss(unit="record", claimed=1.0)).losses
    assert own.part is not None
    assert own.part.proven == 1.0 < own.proven
    with pytest.raises(PrivacyError, match="use a number"):
        Ledger("p").charge(loss(1.0, part=PartLoss(unit="record", claimed=1.0)), session="1", phase="made by none")


@pytest.mark.parametrize("kind", [LocalThree, CentralThree, MaskedThree])
@pytest.mark.parametrize("place", [0, 9, 20_000])
def test_arrays_and_batches_hold_private_rows_as_clients_do(kind: Any, place: int) -> None:
    private = np.eye(3, dtype=np.int64)[np.arange(3 if kind is MaskedThree else 20_001) % 3]
    noise = SimulatedNoise(1, session="s")
    run_population(protocol_of(kind), rows(private.tolist()), noise=noise)
    private[min(place, len(private) - 1)] = [0, 10, 0]

    def tallies(protocol: Any, inputs: Inputs, *, noise: SimulatedNoise) -> object:
        return tally_places(protocol, inputs, noise=noise, start=0)

    for run in (run_population, tallies):
        with pytest.raises(
            ConfigurationError, match=r"a row of phase 'phase 0': A private row exceeds the "
        ) as refused:
            run(protocol_of(kind), rows(private.tolist()), noise=noise)
        assert "10" not in str(refused.value)


class EachItsOwn(LocalThree):
    """A public row says which of the three a person may say something of; each person is a kind."""

    def rows_of(self, public: Sequence[int]) -> IntArray:
        return AXES[[0, 1 + public[0]]]

    def kinds_of(self, public: IntArray) -> Sequence[IntArray | slice]:
        return [slice(None)]


@pytest.mark.parametrize("place", [0, 100, 255])
@pytest.mark.parametrize("num_kinds", [1, 3, 256])
def test_arrays_hold_each_of_256_rows_that_differ(place: int, num_kinds: int) -> None:
    """The one that is told from others is as large as most, so that it is neither the innermost nor the outermost."""
    numbers = np.arange(256)
    public = np.stack([numbers % 3, numbers % num_kinds], axis=1)
    private = np.eye(3, dtype=np.int64)[public[:, 0]] * 2
    noise = SimulatedNoise(1, session="s")
    run_population(protocol_of(EachItsOwn), Inputs(private, public), noise=noise)
    private[place] = private[place, [1, 2, 0]]
    with pytest.raises(ConfigurationError, match=r"a row of phase 'phase 0': A private row exceeds the "):
        run_population(protocol_of(EachItsOwn), Inputs(private, public), noise=noise)


def test_of_more_rows_that_differ_some_are_held_from_the_innermost_to_the_outermost() -> None:
    table = np.array([[number, -abs(number - 5_000)] for number in range(20_000)])
    found = select_distinct(table, most=256, sized_by=slice(1, None))
    assert len(np.unique(found, axis=0)) == 256
    sizes = np.sort(-found[:, 1])
    assert (sizes[0], sizes[-1]) == (0, 14_999)
    assert np.diff(sizes).max() < 100
    assert select_distinct(table[:9], most=256, sized_by=slice(1, None)).tolist() == table[:9].tolist()


def test_a_part_of_a_masked_row_loses_at_least_what_a_part_costs() -> None:
    MaskedThree(part=PartLoss(unit="record", claimed=1.0, proven=1.0))
    with pytest.raises(ConfigurationError, match=r"loss of record (is|are) "):
        MaskedThree(part=PartLoss(unit="record", claimed=0.1, proven=0.1))
