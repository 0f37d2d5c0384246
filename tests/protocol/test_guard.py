"""The guard on phases that somebody else wrote: whatever states less than it draws is refused by name."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_vote
from makers import AddedUp, loss_of
from psephos.protocol import ConfigurationError, Tally
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting.choices import SampledChoice
from psephos.protocol.fair_voting.scoring import Scoring
from psephos.protocol.guard import Guarded
from psephos.protocol.mechanisms import FiniteMechanism, GeneralizedRandomizedResponse, RowMechanism, VectorLaplace
from psephos.protocol.phases import CentralPhase, MechanismGroups
from psephos.protocol.privacy import (
    LocalRandomizer,
    NeighboringRelation,
    PrivacyEvent,
    PrivacyLoss,
    TrustModel,
)

REPLACE, ADD_OR_REMOVE = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def proving(epsilon: float) -> Callable[..., float]:
    """Return what proves so much, whatever it is asked."""

    def prove(*_asked: object, **_given: object) -> float:
        return epsilon

    return prove


@dataclasses.dataclass(frozen=True)
class Boaster(FiniteMechanism):
    """Randomized response at ε = 2 between two values, whose event says less."""

    said: float

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, 1

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, 1

    @property
    def event(self) -> PrivacyEvent:
        return LocalRandomizer(epsilon=self.said)

    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        """Keep with e²/(e² + 1)."""
        keep = 1 / (1 + math.exp(-2))
        return (keep, 1 - keep), (1 - keep, keep)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Refuse: nothing is drawn."""
        raise AssertionError(values, uniforms)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Refuse: nothing is drawn."""
        raise AssertionError(value, uniforms)


@dataclasses.dataclass(frozen=True)
class JointBoaster(RowMechanism):
    """Reports whether a row's values are equal by randomized response at ε = 2, and says less."""

    said: float

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, 1

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, 1

    def slots_of(self, num_values: int) -> int:
        del num_values
        return 1

    def num_reports_of(self, num_values: int) -> int:
        del num_values
        return 1

    def event_of(self, num_values: int) -> PrivacyEvent:
        del num_values
        return LocalRandomizer(epsilon=self.said)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Refuse: nothing is drawn."""
        raise AssertionError(values, uniforms)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        """Refuse: nothing is drawn."""
        raise AssertionError(values, uniforms)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Keep with e²/(e² + 1)."""
        truths = (values == values[:, :1]).all(axis=1)
        keep = 1 / (1 + math.exp(-2))
        return np.where(reports == truths, math.log(keep), math.log(1 - keep))


@pytest.mark.parametrize("kind", [Boaster, JointBoaster])
@pytest.mark.parametrize(("said", "stated"), [(0.2, 0.4), (1.98, 1.98), (0.0, 0.0)])
def test_an_event_is_not_believed_where_the_law_says_more(kind: Any, said: float, stated: float) -> None:
    width = 1 if kind is Boaster else 3
    with pytest.raises(ConfigurationError, match="at least what phase 'counts' draws: 2") as caught:
        AddedUp("counts", columns=range(width), mechanism=kind(said), losses=[loss_of(stated)])
    assert (caught.value.field, caught.value.value) == ("losses", stated)


@pytest.mark.parametrize("kind", [Boaster, JointBoaster])
def test_what_covers_the_law_is_taken_whatever_the_event_says(kind: Any) -> None:
    phase = AddedUp("counts", columns=range(2), mechanism=kind(2.0), losses=[loss_of(4.0)])
    phase.check_losses(())
    phase = AddedUp("counts", columns=range(2), mechanism=kind(0.1), losses=[loss_of(4.0)])
    phase.check_losses(())


class Believing(AddedUp):
    """Takes its own statement for what it draws, as a phase could once."""

    @property
    def event(self) -> PrivacyEvent:
        return self.losses[0].event


def test_a_phase_that_takes_its_statement_for_what_it_draws_is_refused_for_every_public_row() -> None:
    phase = Believing(
        "counts", columns=range(1), mechanism=GeneralizedRandomizedResponse(2.0, 3), losses=[loss_of(0.2)]
    )
    with pytest.raises(ConfigurationError, match=r"draws for the public row \(4, 1\): 2") as caught:
        phase.check_losses((4, 1))
    assert (caught.value.field, caught.value.value) == ("losses", 0.2)
    with pytest.raises(ConfigurationError, match="draws: 2"):
        phase.check_loss_groups(np.empty((3, 0), dtype=np.int64))


class Levels(AddedUp):
    """Two kinds of persons, at ε = 1 and ε = 3, of whom some pay what others should."""

    def __init__(self, paid: tuple[float, float], *, paid_in_arrays: tuple[float, float]) -> None:
        self._mechanisms = tuple(GeneralizedRandomizedResponse(epsilon, 2) for epsilon in (1.0, 3.0))
        self._paid, self._paid_in_arrays = paid, paid_in_arrays
        super().__init__("levels", columns=range(1), mechanism=self._mechanisms[0], losses=[loss_of(3.0)])

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        return self._mechanisms[public[0]]

    def mechanism_groups(self, public: IntArray) -> MechanismGroups:
        return [(self._mechanisms[level], np.flatnonzero(public[:, 0] == level)) for level in (0, 1)]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return (loss_of(self._paid[public[0]]),)

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        numbers = np.bincount(public[:, 0], minlength=2).tolist()
        return [
            (f"at {level}", numbers[level], (loss_of(self._paid_in_arrays[level]),))
            for level in (0, 1)
            if numbers[level]
        ]


BOTH = np.array([[0], [1], [0]], dtype=np.int64)


def test_each_public_row_is_held_against_its_own_mechanism() -> None:
    honest = Levels((1.0, 3.0), paid_in_arrays=(1.0, 3.0))
    honest.check_loss_groups(BOTH)
    confused = Levels((3.0, 1.0), paid_in_arrays=(1.0, 3.0))
    confused.check_losses((0,))
    with pytest.raises(ConfigurationError, match=r"public row \(1\): 3"):
        confused.check_losses((1,))
    with pytest.raises(ConfigurationError, match=r"public row \(1\): 3"):
        confused.check_loss_groups(BOTH)
    confused.check_loss_groups(BOTH[:1])


def test_each_group_of_losses_is_held_against_the_groups_of_mechanisms() -> None:
    confused = Levels((1.0, 3.0), paid_in_arrays=(1.0, 1.0))
    for row in ((0,), (1,)):
        confused.check_losses(row)
    with pytest.raises(ConfigurationError, match=r"public row \(1\): 3") as caught:
        confused.check_loss_groups(BOTH)
    assert caught.value.value == 1.0
    confused.check_loss_groups(BOTH[:1])


def test_losses_that_are_to_cover_everybody_cover_each_public_row() -> None:
    phase = Levels((1.0, 3.0), paid_in_arrays=(1.0, 3.0))
    phase.losses = (loss_of(2.0),)
    phase.check_losses((0,))
    with pytest.raises(ConfigurationError, match=r"public row \(1\): 3"):
        phase.check_losses((1,))


def test_an_event_that_proves_less_than_its_stated_number_is_not_made_good_by_that() -> None:
    """Tighter composition goes by the event."""
    stated = loss_of(0.5, claimed=2.0, proven=2.0)
    with pytest.raises(ConfigurationError, match="draws: 2"):
        AddedUp("counts", columns=range(1), mechanism=GeneralizedRandomizedResponse(2.0, 3), losses=[stated])


# Central releases


class Sum(CentralPhase):
    """Adds values of up to 5 up, with noise that is made for less."""

    def __init__(self, sensitivity: int, *, relation: NeighboringRelation = REPLACE) -> None:
        noise = VectorLaplace(10.0, sensitivity, 1 << 40)
        stated = loss_of(sensitivity / 10, relation=relation, model=TrustModel.CENTRAL)
        super().__init__("sum", columns=range(1), bound=5, tally_mechanism=noise, losses=[stated])

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del public
        assert [own.shape for own in earlier] in ([], [(len(reports), 2)])
        return Tally(len(reports), reports.sum(axis=0))


@pytest.mark.parametrize(("relation", "needed"), [(REPLACE, 10), (ADD_OR_REMOVE, 5)])
def test_a_release_is_held_against_tallies_that_differ_in_one_person(
    relation: NeighboringRelation, needed: int
) -> None:
    nobody_knows = np.empty((7, 0), dtype=np.int64)
    Sum(needed, relation=relation).check_loss_groups(nobody_knows)
    phase = Sum(needed - 1, relation=relation)
    with pytest.raises(ConfigurationError, match=f"phase 'sum' draws: {needed / 10:g}") as caught:
        phase.check_loss_groups(nobody_knows)
    assert (caught.value.field, caught.value.value) == ("losses", (needed - 1) / 10)


def test_a_row_that_states_another_relation_than_the_phase_is_held_against_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    phase = Sum(10)
    stated = (loss_of(0.4, relation=ADD_OR_REMOVE, model=TrustModel.CENTRAL),)

    def other(_public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return stated

    monkeypatch.setattr(phase, "losses_of", other)
    with pytest.raises(ConfigurationError, match="at least what phase 'sum' draws: 1") as caught:
        phase.check_losses(())
    assert caught.value.value == 0.4


def test_a_release_after_another_phase_is_looked_at_too() -> None:
    before: list[Guarded] = [
        AddedUp("counts", columns=range(2), mechanism=GeneralizedRandomizedResponse(1.0, 3), losses=[loss_of(2.0)])
    ]
    nobody_knows = np.empty((7, 0), dtype=np.int64)
    Sum(10).check_loss_groups(nobody_knows, earlier=before)
    with pytest.raises(ConfigurationError, match="draws: 1"):
        Sum(9).check_loss_groups(nobody_knows, earlier=before)


class Choosy(Sum):
    """Nobody's report fits."""

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        raise ValueError(f"{report} of {public}")


def test_without_a_possible_report_nothing_is_known() -> None:
    Choosy(9).check_loss_groups(np.empty((7, 0), dtype=np.int64))


def test_a_choice_whose_proof_is_wrong_is_refused_by_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 2 for groups so small that its law is worked out: .1 is less than what two rankings realize."""
    vote = make_fair_vote(3, 4, mechanism="sampling", num_samples=2)
    vote.check_loss_groups(np.array([[0], [1]], dtype=np.int64))
    monkeypatch.setattr("psephos.protocol.fair_voting.phases.proven_epsilon", proving(0.01))
    wrong = FairVoting(vote.parameters)
    choice = wrong.disclosed_phase.elects_by(SampledChoice)
    assert choice.proven == (0.01, 0.01)
    with pytest.raises(ConfigurationError, match=r"phase 'rankings' draws for the public row \(0\)"):
        wrong.check_loss_groups(np.array([[0], [1]], dtype=np.int64))


@pytest.mark.parametrize("mechanism", ["laplace", "exponential", "permute_and_flip"])
@pytest.mark.parametrize("relation", NeighboringRelation)
def test_noise_for_less_than_a_voter_is_refused_by_its_law(
    mechanism: str, relation: NeighboringRelation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scoring says that voters move sums by less than they do."""
    vote = make_fair_vote(3, 4, mechanism=mechanism, relation=relation)
    rows = np.array([[0], [1]], dtype=np.int64)
    vote.check_loss_groups(rows)
    sensitivity, change = Scoring.sensitivity, Scoring.greatest_change

    def less(scoring: Scoring, relation: NeighboringRelation) -> int:
        return max(sensitivity(scoring, relation) // 3, 1)

    def a_tenth(scoring: Scoring, relation: NeighboringRelation) -> Fraction:
        return Fraction(change(scoring, relation), 10)

    monkeypatch.setattr(Scoring, "sensitivity", less)
    monkeypatch.setattr(Scoring, "greatest_change", a_tenth)
    with pytest.raises(ConfigurationError, match=r"losses is .*: use at least what phase 'rankings' draws"):
        FairVoting(vote.parameters).check_loss_groups(rows)
