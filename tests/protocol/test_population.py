"""The array path: a session without agents."""

import numpy as np
import pytest
from helpers import make_inputs, make_vote
from psephos.protocol import Inputs, Phase, SimulatedNoise, Tally, run_population
from psephos.protocol.population import draw_reports, tally_batch

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


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 6, 7, 8, 1000])
def test_the_result_does_not_depend_on_the_batches(batch_rows: int) -> None:
    vote = make_vote()
    inputs = make_inputs(vote, 7)
    assert run_population(vote, inputs, noise=NOISE, batch_rows=batch_rows) == run_population(vote, inputs, noise=NOISE)


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
        everybody = draw_reports(phase, inputs.private, noise=NOISE, protocol=vote.name, start=0)
        assert everybody.shape == (9, phase.num_values)
        some = draw_reports(phase, inputs.private[4:7], noise=NOISE, protocol=vote.name, start=4)
        assert np.array_equal(some, everybody[4:7])


def test_a_tally_of_some_rows_takes_the_same_rows_of_every_array() -> None:
    vote = make_vote()
    weights = np.array([[0], [2], [1]], dtype=np.int64)
    opinions = np.array([[1, 0], [1, 1], [0, 0]], dtype=np.int64)
    tally = tally_batch(vote.phases[1], opinions, [weights], np.empty((3, 0), dtype=np.int64), np.array([0, 2]))
    # p0 reported group 0 with yes, no; p2 reported group 1 with no, no.
    assert tally == Tally(2, np.array([[[0, 1], [1, 0], [0, 0]], [[1, 0], [1, 0], [0, 0]]], dtype=np.int64))
