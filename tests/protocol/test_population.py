"""The array path: a session without agents."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import (
    Session,
    make_fair_inputs,
    make_fair_vote,
    make_inputs,
    make_preference_inputs,
    make_preferences,
    make_vote,
)
from makers import make_survey
from psephos.protocol import Inputs, Phase, SimulatedNoise, Tally, run_population
from psephos.protocol.moral_preferences import Paradigm
from psephos.protocol.population import draw_reports, tally_batch
from quiz import Parameters, Quiz, make_quiz_inputs

NOISE = SimulatedNoise(5, session="s")


def test_nobody_cannot_hold_a_session() -> None:
    empty = np.empty((0, 4), dtype=np.int64)
    with pytest.raises(ValueError, match="at least one party"):
        run_population(make_vote(), Inputs(empty, empty[:, :0]), noise=NOISE)


def test_a_value_out_of_range_is_refused_before_anything_is_drawn() -> None:
    vote = make_vote()
    inputs = make_inputs(vote, 3)
    inputs.private[1, 0] = 3
    with pytest.raises(ValueError, match=r"phase 'weights' takes values in \[0, 2\]"):
        run_population(vote, inputs, noise=NOISE)


@pytest.mark.parametrize("batch_rows", [0, -1])
def test_a_batch_without_rows_is_refused(batch_rows: int) -> None:
    vote = make_vote()
    with pytest.raises(ValueError, match="batch_rows"):
        run_population(vote, make_inputs(vote, 3), noise=NOISE, batch_rows=batch_rows)


def test_each_phase_is_reported_as_it_closes() -> None:
    vote = make_vote()
    seen: list[tuple[str, Tally, object]] = []

    def on_phase(phase: Phase, tally: Tally, outcome: object) -> None:
        seen.append((phase.name, tally, outcome))

    result = run_population(vote, make_inputs(vote, 5), noise=NOISE, on_phase=on_phase)
    assert [name for name, _, _ in seen] == ["weights", "opinions"]
    assert tuple(tally for _, tally, _ in seen) == result.tallies
    assert seen[0][2] == vote.phases[0].outcome(result.tallies[:1])
    assert seen[1][2] is None


def test_the_same_seed_gives_the_same_result_and_another_one_does_not() -> None:
    vote = make_vote()
    inputs = make_inputs(vote, 50)
    first, again, other = (run_population(vote, inputs, noise=SimulatedNoise(seed, session="s")) for seed in (1, 1, 2))
    assert first == again
    assert first.tallies != other.tallies


def test_reports_of_a_batch_are_those_of_its_places() -> None:
    vote = make_vote()
    inputs = make_inputs(vote, 9)
    for phase in vote.phases:
        everybody = draw_reports(phase, inputs, noise=NOISE, protocol=vote.name, start=0)
        assert everybody.shape == (9, phase.num_values)
        some = draw_reports(phase, inputs.slice_rows(4, 7), noise=NOISE, protocol=vote.name, start=4)
        assert np.array_equal(some, everybody[4:7])


def test_reports_of_persons_with_randomizers_of_their_own_are_theirs_alone() -> None:
    """Each as if it were drawn for by itself, by its own mechanism and its own uniforms, in any batch."""
    protocol = make_preferences(2, epsilons=(0.1, 1.0, 5.0))
    inputs = make_preference_inputs(protocol, 10)
    phase = protocol.phase
    drawn = draw_reports(phase, inputs, noise=NOISE, protocol=protocol.name, start=0)
    rows: list[list[int]] = inputs.private.tolist()
    public: list[list[int]] = inputs.public.tolist()
    assert drawn.tolist() == [
        NOISE.randomize(phase.mechanism_of(theirs), row, protocol=protocol.name, phase=phase.name, place=place)
        for place, (row, theirs) in enumerate(zip(rows, public, strict=True))
    ]
    for start, stop in [(0, 1), (3, 4), (2, 9), (5, 5)]:
        some = draw_reports(phase, inputs.slice_rows(start, stop), noise=NOISE, protocol=protocol.name, start=start)
        assert np.array_equal(some, drawn[start:stop])


def test_a_tally_of_some_rows_takes_the_same_rows_of_every_array() -> None:
    vote = make_vote()
    weights = np.array([[0], [2], [1]], dtype=np.int64)
    opinions = np.array([[1, 0], [1, 1], [0, 0]], dtype=np.int64)
    tally = tally_batch(vote.phases[1], opinions, [weights], np.empty((3, 0), dtype=np.int64), np.array([0, 2]))
    # p0 reported group 0 with yes, no; p2 reported group 1 with no, no.
    assert tally == Tally(2, np.array([[[0, 1], [1, 0], [0, 0]], [[1, 0], [1, 0], [0, 0]]], dtype=np.int64))


@pytest.mark.parametrize("batch_rows", [1, 3, 8, 1000])
def test_rows_that_are_kept_apart_and_what_is_for_one_alone_do_not_depend_on_the_batches(batch_rows: int) -> None:
    quiz = Quiz(Parameters())
    inputs = make_quiz_inputs(quiz, 8)
    result = run_population(quiz, inputs, noise=NOISE, batch_rows=batch_rows)
    assert result == run_population(quiz, inputs, noise=NOISE)
    assert result.own_outcomes == quiz.own_outcomes(result.tallies)
    assert set(result.own_outcomes) == set(np.flatnonzero(inputs.public[:, 1:].sum(axis=1)).tolist())
    # A line for each answer: whose, to which task, and the report.
    assert result.tallies[0].rows[:, :2].tolist() == np.argwhere(inputs.public[:, 1:]).tolist()


def test_a_mechanism_of_whole_rows_is_given_its_slots() -> None:
    """A row of three answers takes four uniforms, so that row i of the stream is not that of three or of one."""
    quiz = Quiz(Parameters())
    inputs = make_quiz_inputs(quiz, 50)
    phase = quiz.phases[0]
    uniforms = NOISE.uniforms(protocol="quiz", phase="answers", start=0, stop=50, slots=4)
    expected = phase.mechanism.randomize_rows(inputs.private[:, :3], uniforms)
    drawn = draw_reports(phase, inputs, noise=NOISE, protocol="quiz", start=0)
    assert drawn.tolist() == expected.tolist()


def test_a_protocol_that_tells_nobody_anything_alone_has_no_own_outcomes() -> None:
    vote = make_vote()
    assert run_population(vote, make_inputs(vote, 3), noise=NOISE).own_outcomes == {}


def vote_session() -> Session:
    protocol = make_vote()
    return Session(protocol, make_inputs(protocol, 4))


def fair_session(**given: Any) -> Session:
    protocol = make_fair_vote(3, 2, **given)
    return Session(protocol, make_fair_inputs(protocol))


def preference_session(**given: Any) -> Session:
    protocol = make_preferences(**given)
    return Session(protocol, make_preference_inputs(protocol, 6))


def survey_session() -> Session:
    protocol = make_survey(("no", "yes"), ("a", "b", "c"))
    tasks = list(protocol.parameters.tasks)
    table = {"tasks": [tasks] * 3, "answers": [["yes", "a"], ["no", "c"], ["no", "b"]]}
    return Session(protocol, protocol.encode(table))


@pytest.mark.parametrize(
    ("make", "given", "of_server"),
    [
        (vote_session, {}, 0),
        (fair_session, {"mechanism": "laplace"}, 1),
        (fair_session, {"mechanism": "sampling", "reading": "subsample", "num_samples": 2, "gamma": 0.5}, 2),
        *((preference_session, {"paradigm": paradigm}, 1) for paradigm in (Paradigm.VLCP, Paradigm.RLCP)),
        *(
            (preference_session, {"paradigm": Paradigm.VLCP, "societies": tuple("abcde"[:number])}, number)
            for number in (2, 3, 5)
        ),
        (survey_session, {}, 1),
    ],
)
def test_no_draw_of_a_session_has_the_noise_of_another(
    make: Callable[..., Session], given: dict[str, Any], of_server: int
) -> None:
    """Each has an address of its own, by machines; and arrays, which find the same tallies, draw by the same ones."""
    session = make(**given)
    wire = session.play()
    draws = session.noise.draws
    assert len(set(draws)) == len(draws)
    assert sum(name.startswith("release of ") for name, _ in draws) == of_server
    assert wire.result is not None
    assert run_population(session.protocol, session.inputs, noise=session.fresh_noise()).tallies == wire.result.tallies
