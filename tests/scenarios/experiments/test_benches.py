"""Trials in blocks: those of the loop, to the bit, and where one fails it fails there, with the same words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.errors import PluginError
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios import load_scenario
from psephos.scenarios.dpwevote.measures import VoteMeasures
from psephos.scenarios.experiments import benches
from psephos.scenarios.experiments.benches import Bench
from psephos.scenarios.experiments.measured import Trial, TrialCell
from psephos.scenarios.experiments.trials import prepare
from psephos.scenarios.running import by_arrays

NUMBER = 40
VOTES = ("consortium", "partners.count=30")
ELECTION = ("two-societies", "voters.groups.north.voters=30", "voters.groups.south.voters=20")

CROWD = ("crowd", "workers.tasks=12", "workers.workers=9", "workers.answers_per_task=5")
PREFERENCES = ("moral-synthetic", "voters.voters=20", "voters.records=8")


def bench_of(name: str, *settings: str, redraw: int = 0) -> Bench:
    scenario, resolved = prepare(load_scenario(name, list(settings)), redraws=redraw > 0)
    return Bench(resolved, TrialCell(settings=(), scenario=scenario, redraw=redraw))


def loop_of(bench: Bench, number: int = NUMBER) -> list[Trial]:
    return [bench.whole(trial) for trial in range(number)]


@pytest.mark.parametrize(
    ("words", "redraw", "most_whole"),
    [
        pytest.param((*VOTES, "variant=printed"), 0, 3, id="printed"),
        pytest.param((*VOTES, "variant=laplace"), 2, 3, id="laplace, drawn anew"),
        pytest.param((*VOTES, "public_weights=true", "partners.yes_shares=[0.5]"), 0, 3, id="public weights"),
        pytest.param((*VOTES, "variant=central", 'candidates=["a","b"]', "partners.yes_shares=[]"), 1, 6, id="central"),
        pytest.param((*VOTES, "trust=central", "release=decision"), 2, 4, id="decisions by trust, drawn anew"),
        pytest.param((*VOTES, "trust=central", "public_weights=true"), 0, 3, id="central public weights"),
        pytest.param((*VOTES, "trust=central", "public_weights=true", "release=decision"), 0, 4, id="public decisions"),
        pytest.param(("consortium-masked", "partners.count=12", "threshold=9", "colluders=1"), 2, 3, id="masked votes"),
        pytest.param((*ELECTION, "mechanism=laplace"), 0, 16, id="laplace election"),
        pytest.param((*ELECTION, "mechanism=exponential"), 2, 8, id="exponential election, drawn anew"),
        pytest.param((*PREFERENCES, "paradigm=VLCP"), 0, 2, id="central preferences"),
        pytest.param((*PREFERENCES, "paradigm=RLDP", "mechanism=direction"), 0, 2, id="local directions"),
        pytest.param((*ELECTION, "mechanism=noisy_scores", "epsilon=4"), 0, 16, id="local election"),
        pytest.param((*CROWD, "mechanism=two_layer"), 0, 1, id="crowd, two layers"),
        pytest.param((*CROWD, "mechanism=central"), 0, 1, id="counted crowd"),
        pytest.param(("truth-masked",), 0, 3, id="masked crowd"),
    ],
)
def test_trials_in_blocks_are_those_of_the_loop(
    monkeypatch: pytest.MonkeyPatch, words: Sequence[str], redraw: int, most_whole: int
) -> None:
    expected = loop_of(bench_of(*words, redraw=redraw))
    held: list[int] = []
    run_arrays = by_arrays.run_arrays

    def counted(*args: Any, **given: Any) -> Any:
        held.append(1)
        return run_arrays(*args, **given)

    monkeypatch.setattr(benches, "run_arrays", counted)
    for size in (512, 7, 1):
        held.clear()
        bench = bench_of(*words, redraw=redraw)
        assert bench.at_once > 1
        bench.at_once = size
        assert list(bench.run(range(NUMBER))) == expected
        assert len(held) <= most_whole
    assert list(bench.run(range(0))) == []


@pytest.mark.parametrize("estimator", ["auto", "majority", "truth_discovery", "dawid_skene", "minimax_entropy"])
def test_trials_of_crowds_are_those_of_the_loop_whoever_finds_the_truths(estimator: str) -> None:
    words = (*CROWD, f"estimator={estimator}", "ties=last")
    bench = bench_of(*words)
    assert list(bench.run(range(NUMBER))) == loop_of(bench_of(*words))


def test_crowds_that_are_drawn_anew_and_have_known_truths_are_tried_one_by_one() -> None:
    bench = bench_of(*CROWD, redraw=3)
    assert not bench.at_once
    assert list(bench.run(range(7))) == loop_of(bench_of(*CROWD, redraw=3), 7)


def test_a_trial_that_fails_in_a_block_fails_where_and_as_it_does_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, failing = bench_of(*VOTES, "variant=printed"), 23
    scenario = load_scenario(*VOTES[:1], list(VOTES[1:]))
    noise = SimulatedNoise(scenario.seed or 0, session=scenario.name, round_number=failing)
    unlucky = noise.uniforms(protocol="dpwevote", phase="weights", start=0, stop=1, slots=1)[0, 0]
    randomize = GeneralizedRandomizedResponse.randomize

    def breaking(self: GeneralizedRandomizedResponse, values: Any, uniforms: Any) -> Any:
        if (uniforms == unlucky).any():
            raise ValueError("out of luck")
        return randomize(self, values, uniforms)

    monkeypatch.setattr(GeneralizedRandomizedResponse, "randomize", breaking)
    with pytest.raises(ValueError, match=r"^out of luck$"):
        bench.whole(failing)
    trials = bench.run(range(NUMBER))
    assert [next(trials) for _ in range(failing)] == loop_of(bench, failing)
    with pytest.raises(ValueError, match=r"^out of luck$"):
        next(trials)


def test_a_block_with_numbers_that_are_not_finite_is_run_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, measure_block = bench_of(*VOTES), VoteMeasures.measure_block
    expected = loop_of(bench)

    def broken(self: VoteMeasures, *args: Any) -> Any:
        return {name: own if len(own) == 1 else own * np.nan for name, own in measure_block(self, *args).items()}

    monkeypatch.setattr(VoteMeasures, "measure_block", broken)
    assert list(bench.run(range(NUMBER))) == expected


def test_a_block_that_says_something_else_than_a_session_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, decisions = bench_of(*VOTES), DPWeVote.decisions

    def wrong(self: DPWeVote, tallies: Any) -> Any:
        found = decisions(self, tallies)
        found.leans_yes[:] = ~found.leans_yes
        return found

    monkeypatch.setattr(DPWeVote, "decisions", wrong)
    with pytest.raises(PluginError, match="other numbers than one of them by itself"):
        list(bench.run(range(NUMBER)))
