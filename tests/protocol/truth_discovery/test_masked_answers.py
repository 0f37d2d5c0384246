"""Answers that are added up under masks: what moves the sums, what is charged, and what noisy sums say of answers."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import makers
import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import NO_ANSWER
from psephos.protocol.phases import Inputs
from psephos.protocol.privacy import PrivacyLoss, TrustModel
from psephos.protocol.truth_discovery import NO_TASK, MaskedAnswers, TruthDiscovery

TWO, THREE = ("no", "yes"), ("a", "b", "c")
MIXED: Final = (TWO, THREE, TWO)
ASKED: Final = [own for number in range(4) for own in itertools.combinations(range(3), number)]


make_survey = makers.as_usual(makers.make_survey, *MIXED, mechanism="masked", threshold=4, colluders=1)


def phase_of(survey: TruthDiscovery) -> MaskedAnswers:
    assert isinstance(survey.phase, MaskedAnswers)
    return survey.phase


def public_of(asked: Sequence[int]) -> list[int]:
    return [0, *asked, *[NO_TASK] * (3 - len(asked))]


def answers_of(survey: TruthDiscovery, asked: Sequence[int]) -> IntArray:
    """Return all that a worker may answer to these tasks, skipped ones among them."""
    possible = [survey.codes.values_of_task[task] for task in public_of(asked)[1:]]
    return np.array(list(itertools.product(*possible)))


@pytest.mark.parametrize("asked", ASKED)
def test_all_answers_move_the_sums_by_what_is_charged_and_one_of_them_by_a_part(asked: tuple[int, ...]) -> None:
    """By all pairs of rows: from one label to another by 2, and to none by no more."""
    survey, public = make_survey(epsilon=1.5), public_of(asked)
    phase, answers = phase_of(survey), answers_of(survey, asked)
    rows = phase.rows_for(answers, np.tile(public[1:], (len(answers), 1)))
    apart = np.abs(rows[:, None] - rows).sum(axis=2)
    assert int(apart.max()) == 2 * len(asked) == phase.sensitivity_of(public)
    of_one = np.count_nonzero(answers[:, None] != answers, axis=2) == 1
    assert int(apart[of_one].max(initial=0)) == (2 if asked else 0)
    ends = phase.rows_of(public)
    assert {tuple(row) for row in ends.tolist()} <= {tuple(row) for row in rows.tolist()}
    assert int(np.abs(ends[:, None] - ends).sum(axis=2).max()) == 2 * len(asked)
    held = phase.values_of(public)
    assert all({*column.tolist()} == {*own} for column, own in zip(rows.T, held, strict=True))
    losses = survey.losses_of(public)
    assert [loss.proven for loss in losses] == pytest.approx([1.5 * len(asked)] if asked else [])
    survey.check_losses(public)
    survey.check_loss_groups(np.array([public, public_of((0, 1, 2))]))


@pytest.mark.parametrize("price", [{"epsilon": 1.0}, {"epsilon_answer": 1.0}, {"epsilon_worker": 3.0}])
def test_a_price_is_that_of_one_answer_or_of_all_against_the_server_and_colluders(price: dict[str, Any]) -> None:
    (loss,) = make_survey(**price).losses
    assert (loss.model, loss.proven, loss.finest_loss.proven) == (TrustModel.DISTRIBUTED, pytest.approx(3.0), 1.0)
    assert phase_of(make_survey(**price)).share.scale == 2.0


def test_a_loss_that_is_stated_too_low_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    survey, public = make_survey(epsilon=1.0), public_of((0, 1))
    stated = make_survey(epsilon=0.5).losses_of(public)

    def losses_of(self: MaskedAnswers, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        del self, public
        return stated

    monkeypatch.setattr(MaskedAnswers, "losses_of", losses_of)
    with refuses(field="losses", allowed="at least what phase"):
        survey.check_losses(public)


CROWD: Final[dict[str, Any]] = {
    "tasks": [["t0", "t1"], ["t1", "t0"], ["t1", "t2"], ["t0"]],
    "answers": [["yes", "a"], ["c", "no"], ["c", ""], ["yes"]],
}


def test_sums_say_how_many_gave_each_label_and_nobody_sees_who_skips() -> None:
    survey = make_survey()
    phase, inputs = phase_of(survey), survey.encode(CROWD)
    tally = phase.tally(inputs.private[:, phase.columns], earlier=(), public=inputs.public)
    counts, asked = survey.counts_of(tally)
    assert counts.tolist() == [[2, 4, 0], [1, 0, 2], [0, 0, 0]]  # of two labels twice
    assert asked.tolist() == [3, 3, 1]
    outcome = survey.outcome([tally])
    assert (outcome.num_answers, outcome.num_workers, outcome.planned) == ((3, 3, 1), 4, 3)
    assert outcome.truths == ("yes", "c", "no")  # one was asked the last one, and of noise alone there is a label
    assert survey.truth(inputs) == {"t0": "yes", "t1": "c"}
    assert not survey.own_outcomes([tally])
    supports = outcome.supports[0]
    assert supports is not None
    assert (supports["no"].value, supports["yes"].value) == (1, 2)
    variance = 4 * phase.share.noise_variance
    assert supports["yes"].standard_error == pytest.approx(math.sqrt(variance / 2))


def test_a_row_that_adds_up_what_its_answers_do_not_say_is_refused() -> None:
    survey = make_survey()
    inputs = survey.encode(CROWD)
    public = inputs.public[0].tolist()
    row: list[int] = inputs.private[0].tolist()
    assert survey.encode_own({"answers": "t0=yes; t1=a"}, public) == tuple(row)
    survey.check_row(row, public)
    survey.check_inputs(inputs)
    for place in range(3, len(row)):
        with pytest.raises(ValueError, match="adds up what its answers do not say"):
            survey.check_row([*row[:place], 0 if row[place] else 1, *row[place + 1 :]], public)
    private = inputs.private.copy()
    private[1, 3:] = private[0, 3:]
    with pytest.raises(ValueError, match="adds up what its answers do not say"):
        survey.check_inputs(Inputs(private, inputs.public))
    with pytest.raises(ValueError, match="outside its answer set"):
        survey.check_row([4, *row[1:]], public)


def test_the_noise_of_counts_is_that_of_the_shares_that_parties_draw() -> None:
    """Mean squared error of a named label's count, of two and of three labels, within five standard errors."""
    survey = make_survey(epsilon=0.7)
    phase, inputs, sessions = phase_of(survey), survey.encode(CROWD), 4_000
    rows = np.tile(inputs.private[:, phase.columns], (sessions, 1))
    uniforms = np.random.default_rng(5).random((len(rows), phase.mechanism.slots_of(phase.num_values)))
    sums = phase.mechanism.randomize_rows(rows, uniforms).reshape(sessions, 4, -1).sum(axis=1)
    told = [phase.counts_of(phase.tally_of_sum(total, inputs.public).totals)[0] for total in sums]
    noise = survey.noise.count_noise(4)
    assert noise is not None
    for task, size, true in ((0, 2, [1, 2]), (1, 3, [1, 0, 2])):
        for label, number in enumerate(true):
            off = np.array([counts[task, label] for counts in told]) / noise.parts_of(size) - number
            squares = np.square(off)
            assert abs(squares.mean() - noise.error_of(size) ** 2) <= 5 * squares.std() / math.sqrt(sessions)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"threshold": 2, "colluders": 0}, "threshold is 2: use a value from"),
        ({"colluders": 4}, "colluders is 4: use a value of at least 0"),
        ({"mechanism": "one_layer"}, "leave out threshold in mechanism 'one_layer'"),
        ({"flip_probability": 0.2}, "leave out flip_probability, where noise is added to masked sums"),
        ({"estimator": "cautious"}, "use majority or auto, where a masked session"),
        ({"epsilon": 1e-4}, "epsilon is 0.0001: use at least 0.000244140625 in mechanism 'masked'"),
        ({"epsilon": 0.0}, "epsilon is 0.0: use at least 0.000244140625 in mechanism 'masked'"),
        ({"epsilon_worker": 1e-4}, "epsilon_worker is 0.0001: use at least 0.000732421875 in mechanism 'masked'"),
        ({"answer_sets": (tuple(map(str, range(1000))),), "answer_set_of_task": (0,) * 17}, "use at most"),
    ],
)
def test_sizes_and_prices_that_cannot_be_are_refused(given: dict[str, Any], named: str) -> None:
    if "answer_sets" in given:
        given = {**given, "tasks": tuple(f"t{place}" for place in range(17))}
    roster = np.array([public_of((0, 1, 2))] * 5)
    with pytest.raises(ConfigurationError, match=named):
        make_survey(**given).check_roster(roster)


def test_more_noise_than_has_a_law_is_refused() -> None:
    survey = make_survey(threshold=20, colluders=19)
    with refuses(said="32 * (threshold - colluders) >= 2 * workers = 40"):
        survey.check_roster(np.array([public_of((0, 1, 2))] * 20))
    make_survey(threshold=20, colluders=18).check_roster(np.array([public_of((0,))] * 20))


def test_who_is_asked_nothing_adds_noise_and_pays_nothing() -> None:
    survey = make_survey()
    inputs = survey.encode({"tasks": [["t0"], [], ["t1"], ["t2"]], "answers": [["yes"], [], ["a"], ["no"]]})
    assert not inputs.private[1, 3:].any()
    assert survey.losses_of(inputs.public[1].tolist()) == ()
    survey.check_losses(inputs.public[1].tolist())
    survey.check_loss_groups(inputs.public)
    assert (inputs.private[1, :3] == NO_ANSWER).all()
    assert isinstance(phase_of(survey).tally(inputs.private[:, 3:], earlier=(), public=inputs.public), Tally)


def test_losses_of_many_workers_say_that_they_hold_against_a_semi_honest_server_only() -> None:
    for threshold in (1_000, 1_001):
        survey = make_survey(threshold=threshold, colluders=1)
        public = np.array([public_of(asked) for asked in ASKED[1:]])
        grouped = [loss for _, _, losses in phase_of(survey).loss_groups(public) for loss in losses]
        stated = [*survey.losses, *grouped, *(loss for row in public.tolist() for loss in survey.losses_of(row))]
        assert {loss.mechanism.endswith("semi-honest server only") for loss in stated} == {threshold > 1_000}
