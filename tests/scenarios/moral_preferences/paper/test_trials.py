"""Cells of the moral preferences reproduction: each repetition is two of the protocol's own sessions."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.arrays import FloatArray
from psephos.protocol.phases import Inputs
from psephos.scenarios.moral_preferences.agreement import agreement_of
from psephos.scenarios.moral_preferences.data.privacy_groups import PrivacyGroups, draw_epsilons
from psephos.scenarios.moral_preferences.paper import trials as module
from psephos.scenarios.moral_preferences.paper.societies import (
    MACHINE_LIKE,
    Kind,
    covariance_of_dilemmas,
    draw_society,
    make_survey,
    seed_of,
)
from psephos.scenarios.moral_preferences.paper.trials import CellToMeasure, measure, measure_all, protocol_of
from psephos.scenarios.running.processes import shares_of

SMALL = Kind(records=6, features=3)
MACHINE = Kind(kind=MACHINE_LIKE, records=4, features=23)
SEED = 5


class Mirrored(SimulatedNoise):
    """The mirror image of noise: that of the first d uniforms of each row."""

    features = 0

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        drawn = super().uniforms(protocol=protocol, phase=phase, start=start, stop=stop, slots=slots)
        drawn[:, : self.features] = 1 - 2.0**-53 - drawn[:, : self.features]
        return drawn

    def randomize(self, mechanism: Any, values: Any, *, protocol: str, phase: str, place: int) -> list[int]:
        slots = mechanism.slots_of(len(values))
        (uniforms,) = self.uniforms(protocol=protocol, phase=phase, start=place, stop=place + 1, slots=slots)
        return mechanism.randomize_row(values, uniforms.tolist())


def session_by_session(cell: CellToMeasure, repetition: int) -> float:
    """Return a repetition's accuracy by the protocol's own array path, on voters made one society alone."""
    society, protocol = cell.society, protocol_of(cell)
    survey = make_survey(society, num_voters=cell.voters, seed=seed_of(SEED, repetition))
    table: dict[str, Any] = {"records": survey.records}
    if cell.groups is not None:
        groups = msgspec.structs.replace(cell.groups, seed=seed_of(SEED, repetition))
        table["epsilon"] = draw_epsilons(groups, num_voters=cell.voters)
    parameters = protocol.parameters
    name = f"{society.kind}/{society.features}/{parameters.paradigm.model.value}/{parameters.mechanism}"
    judge = draw_society(society, SEED, range(repetition, repetition + 1), num_voters=cell.voters)
    found: list[float] = []
    for kind in (SimulatedNoise, Mirrored):
        noise = kind(SEED, session=name, round_number=repetition)
        if isinstance(noise, Mirrored):
            noise.features = society.features
        outcome = run_population(protocol, protocol.encode(table), noise=noise).outcome
        found.append(float(judge.accuracies(np.array([outcome.preferences]), cell.voters)[0]))
    return (found[0] + found[1]) / 2


@pytest.mark.few(most=8)
@pytest.mark.parametrize(
    "cell",
    [
        CellToMeasure(society=SMALL, voters=5, method="algorithm-1", epsilon=2.0),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-1", epsilon=2.0, bound=4.0),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-1-projected", epsilon=0.5),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-2", epsilon=2.0),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-3", epsilon=5.0),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-3-trimmed", epsilon=5.0),
        CellToMeasure(society=SMALL, voters=5, method="direction", epsilon=3.0),
        CellToMeasure(society=SMALL, voters=5, method="pooled", epsilon=3.0),
        CellToMeasure(society=SMALL, voters=5, method="central-pooled", epsilon=3.0),
        CellToMeasure(society=SMALL, voters=5, method="central-voter-direction", epsilon=3.0),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-2-weighted", groups=PrivacyGroups()),
        CellToMeasure(society=SMALL, voters=5, method="algorithm-3", groups=PrivacyGroups()),
        CellToMeasure(
            society=SMALL, voters=5, method="algorithm-3-weighted", groups=PrivacyGroups(epsilon_conservative=0.2)
        ),
        CellToMeasure(society=MACHINE, voters=5, method="whitened", epsilon=8.0),
        CellToMeasure(society=MACHINE, voters=5, method="algorithm-3", epsilon=8.0),
    ],
    ids=lambda cell: f"{cell.method}-{cell.society.kind}-{'groups' if cell.groups else cell.epsilon}",
)
def test_every_repetition_is_two_sessions_that_the_protocol_runs(cell: CellToMeasure) -> None:
    """Also beside a cell of more voters, whose first voters these are, and beside another method's."""
    wider = msgspec.structs.replace(cell, voters=8, bound=0.0)
    other = CellToMeasure(society=cell.society, voters=3, method="algorithm-1", epsilon=1.0)
    found = measure([wider, cell, other], seed=SEED, start=1, stop=4)[cell]
    assert found == [session_by_session(cell, repetition) for repetition in (1, 2, 3)]


def test_what_a_repetition_gives_does_not_depend_on_how_repetitions_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [
        CellToMeasure(society=SMALL, voters=4, method=method, epsilon=epsilon)
        for method in ("algorithm-1", "algorithm-3", "direction")
        for epsilon in (1.0, math.inf)
    ]
    cells.append(CellToMeasure(society=SMALL, voters=4, method="algorithm-2", groups=PrivacyGroups()))
    whole = measure(cells, seed=2, start=0, stop=5)
    first, second = (measure(cells, seed=2, start=start, stop=stop) for start, stop in ((0, 2), (2, 5)))
    assert whole == {cell: first[cell] + second[cell] for cell in cells}
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    assert measure(cells, seed=2, start=0, stop=5) == whole


def test_noise_and_its_mirror_image_choose_opposite_preferences_where_there_is_no_signal() -> None:
    """At ε = .001 there is hardly any: each accuracy is of noise alone, and the mean of both a half."""
    for method in ("algorithm-1", "algorithm-2", "algorithm-3", "direction"):
        cell = CellToMeasure(society=SMALL, voters=4, method=method, epsilon=0.001)
        found = measure([cell], seed=2, start=0, stop=6)[cell]
        assert found == pytest.approx([0.5] * 6, abs=0.02), method


def test_points_of_one_method_have_the_same_noise_but_for_its_scale() -> None:
    """Where there is no signal, ε changes nothing: what the noise chooses is the same."""
    some = [
        CellToMeasure(society=SMALL, voters=4, method="algorithm-2", epsilon=epsilon) for epsilon in (1e-3, 2e-3, 4e-3)
    ]
    found = measure(some, seed=2, start=0, stop=4)
    one, *others = found.values()
    assert all(own == pytest.approx(one, abs=0.01) for own in others)
    assert len(set(one)) > 1


@pytest.mark.full("processes once more")
def test_other_processes_give_what_this_one_gives() -> None:
    cells = [
        CellToMeasure(society=SMALL, voters=4, method=method, epsilon=1.0) for method in ("algorithm-1", "direction")
    ]
    alone = measure_all(cells, trials=11, seed=3, workers=1)
    assert measure_all(cells, trials=11, seed=3, workers=2) == alone


def test_a_process_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    cell = CellToMeasure(society=SMALL, voters=4, epsilon=1e-9)

    def nothing(*_: object, **__: object) -> dict[CellToMeasure, list[float]]:
        return {cell: [0.5] * 5}

    monkeypatch.setattr(module, "measure", nothing)
    with pytest.raises(RuntimeError, match="a share of the repetitions has failed"):
        measure_all([cell], trials=10, seed=3, workers=2)
    assert ": use a value from 0.0001 to 100" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("trials", "number", "shares"),
    [
        (10, 1, [range(10)]),
        (10, 2, [range(5), range(5, 10)]),
        (10, 8, [range(5), range(5, 10)]),
        (9, 2, [range(9)]),
        (100, 3, [range(33), range(33, 66), range(66, 100)]),
    ],
)
def test_shares_are_nearly_alike_and_worth_a_process(trials: int, number: int, shares: list[range]) -> None:
    assert shares_of(trials, number) == shares


def test_without_noise_the_release_is_the_mean_of_all_fits() -> None:
    cell = CellToMeasure(society=SMALL, voters=5)
    found = measure([cell], seed=SEED, start=0, stop=2)[cell]
    for repetition in range(2):
        survey = make_survey(SMALL, num_voters=5, seed=seed_of(SEED, repetition))
        protocol = protocol_of(cell)
        inputs: Inputs = protocol.encode({"records": survey.records})
        fits = inputs.private * protocol.summary.step
        assert survey.truth is not None
        society = agreement_of(fits.mean(axis=0).tolist(), survey.truth.mean(axis=0).tolist())
        assert found[repetition] == pytest.approx(society, abs=1e-12)


def test_agreement_on_isotropic_pairs_is_that_of_the_angle() -> None:
    society = draw_society(SMALL, SEED, range(4), num_voters=3)
    assert society.means is not None
    truth = society.means[:, 1]
    turned = np.roll(truth, 1, axis=1) - np.roll(truth, 2, axis=1)
    across = turned - (turned * truth).sum(axis=1, keepdims=True) / (truth**2).sum(axis=1, keepdims=True) * truth
    assert society.accuracies(3 * truth, 2) == pytest.approx([1.0] * 4)
    assert society.accuracies(-truth, 2) == pytest.approx([0.0] * 4)
    assert society.accuracies(across, 2) == pytest.approx([0.5] * 4)
    assert society.accuracies(0 * truth, 2).tolist() == [0.5] * 4


def test_agreement_on_dilemmas_is_counted_and_a_coin_is_tossed_where_nothing_is_said() -> None:
    society = draw_society(MACHINE, SEED, range(2), num_voters=3)
    assert society.means is not None
    truth = society.means[:, 2]
    for estimate, share in ((3 * truth, 1.0), (-truth, 0.0), (0 * truth, 0.5)):
        assert society.accuracies(estimate, 3).tolist() == [share] * 2


def test_the_covariance_of_dilemmas_can_be_whitened_by() -> None:
    covariance = covariance_of_dilemmas()
    assert covariance.shape == (23, 23)
    assert np.array_equal(covariance, covariance.T)
    assert float(np.linalg.eigvalsh(covariance)[0]) > 0.03
