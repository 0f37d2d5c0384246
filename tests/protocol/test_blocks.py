"""Many sessions at once: the bits that each has by itself, whatever is decided, and by whatever mechanism."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import Session
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import SimulatedNoise, Tally
from psephos.protocol.arrays import ExactSums, FloatArray, IntArray, counts_of_rows
from psephos.protocol.blocks import decide_sessions, decides_in_blocks, goes_with, sessions_at_once
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.laplace import LaplaceVariant
from psephos.protocol.dpwevote.variant import VoteDecisions
from psephos.protocol.estimators import Verdict
from psephos.protocol.estimators.truth_inference import Inference
from psephos.protocol.phases import InputBlock
from psephos.protocol.population import run_population
from psephos.protocol.tally import TallyBlock
from psephos.protocol.truth_discovery import Parameters as Survey
from psephos.protocol.truth_discovery import TruthDecisions, TruthDiscovery
from psephos.scenarios.experiments.measures import Measures
from psephos.scenarios.system import part_of
from strategies import CHECKED, crowd_sessions, fair_sessions, preference_sessions, sessions

ROUNDS = range(3, 9)


def check_alike(session: Session) -> None:
    """Hold a block of rounds against each round by itself: tallies, measures, and bytes by kind."""
    protocol, inputs = session.protocol, session.inputs
    measures: Measures = part_of(type(protocol), "measures", Measures, is_class=True)(protocol, inputs, gold={})
    assert measures.go_in_blocks
    noise = SimulatedNoise(session.seed, session="block")
    decisions, tallies = decide_sessions(protocol, measures.block, noise.make_rounds(ROUNDS))
    numbers = measures.measure_block(measures.block, decisions, tallies)
    kinds, sizes = decisions.kinds(), dict[bytes, int]()
    for place, own in enumerate(noise.make_rounds(ROUNDS)):
        alone = run_population(protocol, inputs, noise=own)
        assert [tally.tally(place) for tally in tallies] == list(alone.tallies)
        assert {name: float(values[place]) for name, values in numbers.items()} == measures.of(
            alone.outcome, alone.tallies
        )
        told = [msgspec.msgpack.encode(each) for each in (alone.outcome, *alone.own_outcomes.values())]
        size = sum(map(len, told))
        assert sizes.setdefault(kinds[place].tobytes(), size) == size


@CHECKED
@given(sessions())
def test_many_votes_have_the_bits_of_each(session: Session) -> None:
    if any(phase.memo_scope is not None for phase in session.protocol.phases):
        assert not decides_in_blocks(session.protocol)
    else:
        check_alike(session)


def test_verdicts_are_worked_out_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    verdicts_on = LaplaceVariant.verdicts_on

    def count(self: LaplaceVariant, margins: FloatArray, *rest: Any) -> list[Verdict]:
        asked.append(len(margins))
        return verdicts_on(self, margins, *rest)

    monkeypatch.setattr(LaplaceVariant, "verdicts_on", count)
    vote = DPWeVote(Parameters(candidates=("a", "b"), variant="laplace"))
    inputs = vote.encode({"weight": [1, 2, 3], "a": [1, 0, 1], "b": [0, 1, 0]})
    noise = SimulatedNoise(1, session="block").make_rounds(ROUNDS)
    decisions, _ = decide_sessions(vote, InputBlock.from_inputs(inputs), noise)
    assert isinstance(decisions, VoteDecisions)
    assert decisions.leans_yes.shape == (len(ROUNDS), 2)
    assert not asked
    assert decisions.kinds().sum(axis=1).tolist() == [2] * len(ROUNDS)
    assert decisions.verdicts().shape == (len(ROUNDS), 2)
    assert asked == [len(ROUNDS)] * 2  # of each candidate once


@CHECKED
@given(fair_sessions())
def test_many_elections_have_the_bits_of_each(session: Session) -> None:
    if session.protocol.parameters.samples_voters_first:
        with pytest.raises(NotImplementedError):
            check_alike(session)
    else:
        check_alike(session)


@CHECKED
@given(preference_sessions())
def test_many_releases_of_preferences_have_the_bits_of_each(session: Session) -> None:
    check_alike(session)


@CHECKED
@given(crowd_sessions())
def test_many_surveys_have_the_bits_of_each(session: Session) -> None:
    if session.protocol.truth(session.inputs):  # else nobody has answered anything, and nothing is measured
        check_alike(session)


def survey_of(**given: Any) -> TruthDiscovery:
    settings: dict[str, Any] = {"tasks": ("p", "q", "r"), "answer_sets": (("no", "yes"),), "max_answers": 2, **given}
    return TruthDiscovery(Survey(**settings))


@pytest.mark.parametrize("mechanism", ["one_layer", "two_layer", "central"])
def test_crowds_that_answer_something_else_have_the_bits_of_each(mechanism: str) -> None:
    survey = survey_of(mechanism=mechanism)
    tasks = [["p", "q"], ["q"], ["r", "p"], ["q", "p"]]
    answers = [["yes", "no"], ["no"], ["yes", "yes"], ["", "no"]], [["no", "no"], ["yes"], ["no", "yes"], ["", "yes"]]
    rows = [survey.encode({"tasks": tasks, "answers": own}) for own in answers]
    block = InputBlock(np.stack([each.private for each in rows]), rows[0].public)
    noise = SimulatedNoise(4, session="block").make_rounds(range(2))
    decisions, tallies = decide_sessions(survey, block, noise)
    assert isinstance(decisions, TruthDecisions)
    truths = survey.truths(block)
    for place, own in enumerate(noise):
        alone = run_population(survey, block.inputs(place), noise=own)
        assert [tally.tally(place) for tally in tallies] == list(alone.tallies)
        assert tuple(named(survey, decisions.truths[place])) == alone.outcome.truths
        clean = dict(zip(survey.parameters.tasks, named(survey, truths[place]), strict=True))
        assert clean == survey.truth(block.inputs(place))


def named(survey: TruthDiscovery, truths: IntArray) -> list[str | None]:
    return [None if code < 0 else survey.codes.labels_of(task)[code] for task, code in enumerate(truths.tolist())]


def test_crowds_of_whom_others_skip_are_surveyed_one_by_one() -> None:
    survey = survey_of()
    answers = [["yes", "no"], ["no"]], [["yes", ""], ["no"]], [["", "no"], ["no"]]
    rows = [survey.encode({"tasks": [["p", "q"], ["q"]], "answers": own}) for own in answers]
    noise = SimulatedNoise(4, session="block").make_rounds(range(2))
    for pair in ((0, 1), (1, 2)):
        block = InputBlock(np.stack([rows[place].private for place in pair]), rows[0].public)
        with pytest.raises((ValueError, NotImplementedError), match=r"side by side|one by one"):
            decide_sessions(survey, block, noise)


def test_crowds_are_given_to_an_estimator_of_ones_own_one_by_one() -> None:
    def own(*_: Any, **__: Any) -> Inference:
        raise AssertionError("it is asked for sessions alone")

    parameters = Survey(tasks=("p",), answer_sets=(("no", "yes"),), max_answers=1, estimator="own")
    survey = TruthDiscovery(parameters, estimator=own)
    block = InputBlock.from_inputs(survey.encode({"tasks": [["p"], ["p"]], "answers": [["yes"], ["no"]]}))
    with pytest.raises(NotImplementedError, match="one by one"):
        decide_sessions(survey, block, SimulatedNoise(4, session="block").make_rounds(range(2)))


def vote_of(**given: Any) -> tuple[DPWeVote, IntArray]:
    vote = DPWeVote(Parameters(candidates=("a", "b"), epsilon=1.0, **given))
    rows = [vote.encode({"weight": [1, 2, 3, 3], "a": own, "b": [1, 1, 0, 0]}) for own in ([1, 0, 1, 0], [0, 0, 1, 1])]
    return vote, np.stack([each.private for each in rows])


@pytest.mark.parametrize("variant", ["joint", "laplace", "two_point", "central"])
def test_sessions_whose_parties_hold_something_else_have_the_bits_of_each(variant: str) -> None:
    vote, private = vote_of(variant=variant)
    block = InputBlock(private, np.empty((4, 0), dtype=np.int64))
    noise = SimulatedNoise(4, session="block").make_rounds(range(2))
    _, tallies = decide_sessions(vote, block, noise)
    truths = vote.truths(block)
    for place, own in enumerate(noise):
        alone = run_population(vote, block.inputs(place), noise=own)
        assert [tally.tally(place) for tally in tallies] == list(alone.tallies)
        truth = vote.truth(block.inputs(place))
        assert [truths.supports[place].tolist(), truths.quotas[place]] == [[truth["a"], truth["b"]], truth["quota"]]
        assert truths.should_pass[place].tolist() == list(vote.should_pass(block.inputs(place)).values())


def test_a_block_is_bounded_in_memory_and_has_no_session_that_is_too_large() -> None:
    vote, _ = vote_of()
    sizes = [
        sessions_at_once(vote, np.empty((n, 0), dtype=np.int64), are_alike=True) for n in (0, 1, 100, 32768, 32769)
    ]
    assert sizes == [512, 512, 327, 1, 0]
    central, _ = vote_of(variant="central")
    assert sessions_at_once(central, np.empty((10**6, 0), dtype=np.int64), are_alike=True) == 512
    assert sessions_at_once(central, np.empty((10**6, 0), dtype=np.int64), are_alike=False) == 0


def test_whoever_overrides_a_method_for_one_alone_is_not_asked_for_many() -> None:
    class Vote(DPWeVote):
        def outcome(self, tallies: Sequence[Tally]) -> Any:
            return super().outcome(tallies)

    vote, _ = vote_of()
    assert decides_in_blocks(vote)
    assert not decides_in_blocks(Vote(vote.parameters))
    assert not goes_with(Vote, "decisions", "outcome")


def test_tallies_of_as_many_reports_and_rows_stand_side_by_side() -> None:
    totals, rows = np.array([1, 2]), np.array([[5, 6]])
    block = TallyBlock.from_tallies([Tally(3, totals), Tally(3, totals + 1)])
    assert (len(block), block.tally(1)) == (2, Tally(3, totals + 1))
    kept = TallyBlock.from_tallies([Tally(3, totals, rows), Tally(3, totals, rows + 1)])
    assert kept.tally(1) == Tally(3, totals, rows + 1)
    assert TallyBlock(3, totals[None], rows[None]).broadcast(4).tally(3) == Tally(3, totals, rows)
    for other in (Tally(4, totals), Tally(3, totals, np.ones((1, 1), dtype=np.int64))):
        with pytest.raises(ValueError, match="side by side"):
            TallyBlock.from_tallies([Tally(3, totals), other])


@CHECKED
@given(
    st.lists(st.fractions(-1000, 1000), min_size=1, max_size=5),
    st.fractions(-10, 10),
    st.lists(st.integers(0, 2**40), min_size=5, max_size=5),
)
def test_exact_sums_are_rounded_once(numbers: list[Any], constant: Any, counts: list[int]) -> None:
    sums, row = ExactSums(numbers, constant), np.array([counts[: len(numbers)]])
    exact = sum((own * count for own, count in zip(numbers, counts, strict=False)), start=constant)
    assert sums.to_floats(row).tolist() == [float(exact)]
    (numerator,) = sums.numerators(row)
    assert (numerator > 0, numerator < 0) == (exact > 0, exact < 0)


def test_codes_are_counted_row_by_row() -> None:
    assert counts_of_rows(np.array([[0, 2, 2], [1, 1, 0]]), 4).tolist() == [[1, 0, 2, 0], [1, 2, 0, 0]]
