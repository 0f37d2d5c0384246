"""Cells of the moral preferences reproduction: each repetition is the protocol's own session, however it is split."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.arrays import FloatArray
from psephos.protocol.moral_preferences import MoralPreferences
from psephos.protocol.phases import Inputs
from psephos.scenarios.moral_preferences.agreement import agreement_of
from psephos.scenarios.moral_preferences.data.privacy_groups import PrivacyGroups, draw_epsilons
from psephos.scenarios.moral_preferences.paper import trials as module
from psephos.scenarios.moral_preferences.paper.methods import METHODS, parameters_of
from psephos.scenarios.moral_preferences.paper.societies import (
    MACHINE_LIKE,
    Setting,
    agreement,
    covariance_of_dilemmas,
    draw_society,
    make_survey,
    seed_of,
)
from psephos.scenarios.moral_preferences.paper.trials import Cell, Trials, measure, measure_all, session_of
from psephos.scenarios.running.processes import shares_of

SMALL = Setting(records=6, features=3)
MACHINE = Setting(kind=MACHINE_LIKE, records=4, features=23)
SEED = 5


def session_by_session(cell: Cell, repetition: int) -> tuple[float, FloatArray]:
    """Return a repetition's accuracy and release, by the protocol's own array path on voters made one society alone."""
    setting, method = cell.setting, METHODS[cell.method]
    survey = make_survey(
        setting,
        num_voters=cell.voters,
        seed=seed_of(SEED, repetition, is_fixed=setting.is_fixed),
    )
    table: dict[str, Any] = {"records": survey.records}
    given: dict[str, Any] = {"epsilon": cell.epsilon}
    if cell.groups is not None:
        groups = msgspec.structs.replace(cell.groups, seed=seed_of(SEED, repetition, is_fixed=False))
        table["epsilon"] = draw_epsilons(groups, num_voters=cell.voters)
        given = {"epsilons": tuple(sorted(set(table["epsilon"])))}
    parameters = parameters_of(
        method,
        num_features=setting.features,
        max_records=setting.records,
        bound=cell.bound or None,
        covariance=covariance_of_dilemmas() if method.is_whitened else None,
        **given,
    )
    protocol = MoralPreferences(parameters)
    noise = SimulatedNoise(SEED, session=session_of(cell, repetition))
    outcome = run_population(protocol, protocol.encode(table), noise=noise).outcome
    released = np.array([outcome.preferences])
    assert survey.truth is not None
    truth = np.cumsum(survey.truth, axis=0)[-1:] / cell.voters
    return float(agreement(setting, released, truth)[0]), released[0]


@pytest.mark.few(most=8)
@pytest.mark.parametrize(
    "cell",
    [
        Cell(setting=SMALL, voters=5, method="algorithm-1", epsilon=2.0),
        Cell(setting=SMALL, voters=5, method="algorithm-1", epsilon=2.0, bound=4.0),
        Cell(setting=SMALL, voters=5, method="algorithm-1-projected", epsilon=0.5),
        Cell(setting=SMALL, voters=5, method="algorithm-2", epsilon=2.0),
        Cell(setting=SMALL, voters=5, method="algorithm-3", epsilon=5.0),
        Cell(setting=SMALL, voters=5, method="trimmed", epsilon=5.0),
        Cell(setting=SMALL, voters=5, method="direction", epsilon=3.0),
        Cell(setting=SMALL, voters=5, method="pooled", epsilon=3.0),
        Cell(setting=SMALL, voters=5, method="central-pooled", epsilon=3.0),
        Cell(setting=SMALL, voters=5, method="central-voter-direction", epsilon=3.0),
        Cell(setting=SMALL, voters=5, method="algorithm-2-weighted", groups=PrivacyGroups()),
        Cell(setting=SMALL, voters=5, method="algorithm-3", groups=PrivacyGroups()),
        Cell(setting=SMALL, voters=5, method="algorithm-3-weighted", groups=PrivacyGroups(epsilon_conservative=0.2)),
        Cell(
            setting=Setting(records=6, features=3, is_fixed=True), voters=5, method="direction", groups=PrivacyGroups()
        ),
        Cell(setting=MACHINE, voters=5, method="whitened", epsilon=8.0),
        Cell(setting=MACHINE, voters=5, method="algorithm-3", epsilon=8.0),
    ],
    ids=lambda cell: f"{cell.method}-{cell.setting.kind}-{'groups' if cell.groups else cell.epsilon}",
)
def test_every_repetition_is_the_session_that_the_protocol_runs(cell: Cell) -> None:
    """Also beside a cell of more voters, whose first voters these are, and beside another method's."""
    wider = Cell(setting=cell.setting, voters=8, method=cell.method, epsilon=cell.epsilon, groups=cell.groups)
    other = Cell(setting=cell.setting, voters=3, method="algorithm-1", epsilon=1.0)
    found = measure([wider, cell, other], seed=SEED, start=1, stop=4)[cell]
    assert found.accuracies == [session_by_session(cell, repetition)[0] for repetition in (1, 2, 3)]


def test_what_a_repetition_gives_does_not_depend_on_how_repetitions_are_split() -> None:
    cells = [
        Cell(setting=SMALL, voters=4, method=method, epsilon=epsilon)
        for method in ("algorithm-1", "algorithm-3", "direction")
        for epsilon in (1.0, math.inf)
    ]
    cells.append(Cell(setting=SMALL, voters=4, method="algorithm-2", groups=PrivacyGroups()))
    whole = measure(cells, seed=2, start=0, stop=5)
    first, second = (measure(cells, seed=2, start=start, stop=stop) for start, stop in ((0, 2), (2, 5)))
    for cell in cells:
        for part in ("accuracies", "errors", "own"):
            assert getattr(whole[cell], part) == getattr(first[cell], part) + getattr(second[cell], part)


@pytest.mark.full("processes once more")
def test_other_processes_give_what_this_one_gives() -> None:
    cells = [Cell(setting=SMALL, voters=4, method=method, epsilon=1.0) for method in ("algorithm-1", "direction")]
    lines: list[str] = []
    alone = measure_all(cells, trials=11, seed=3, workers=1)
    assert measure_all(cells, trials=11, seed=3, workers=2, on_progress=lines.append) == alone
    assert lines == ["synthetic societies, 6 records of 3 features: 2 cells"]


def test_a_process_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    cell = Cell(setting=SMALL, voters=4, method="no such method", epsilon=1.0)

    def nothing(*_: object, **__: object) -> dict[Cell, Trials]:
        return {cell: Trials([0.5] * 5)}

    monkeypatch.setattr(module, "measure", nothing)
    with pytest.raises(RuntimeError, match="a share of the repetitions has failed"):
        measure_all([cell], trials=10, seed=3, workers=2)
    assert "no such method" in capfd.readouterr().err


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
    cell = Cell(setting=SMALL, voters=5, method="algorithm-1", epsilon=math.inf)
    found = measure([cell], seed=SEED, start=0, stop=2)[cell]
    for repetition in range(2):
        survey = make_survey(SMALL, num_voters=5, seed=seed_of(SEED, repetition, is_fixed=False))
        protocol = MoralPreferences(parameters_of(METHODS["algorithm-1"], num_features=3, max_records=6, epsilon=1.0))
        fits = protocol.encode({"records": survey.records}).private * protocol.summary.step
        assert survey.truth is not None
        society = agreement_of(fits.mean(axis=0).tolist(), survey.truth.mean(axis=0).tolist())
        pairs = zip(fits.tolist(), survey.truth.tolist(), strict=True)
        voters = [agreement_of(fit, truth) or math.nan for fit, truth in pairs]
        assert found.accuracies[repetition] == pytest.approx(society, abs=1e-12)
        assert found.own[repetition] == pytest.approx(np.mean(voters), abs=1e-12)
    assert found.errors == []


def test_errors_are_squared_distances_from_the_mean_of_the_fits() -> None:
    cell = Cell(setting=SMALL, voters=5, method="algorithm-2", epsilon=4.0)
    found = measure([cell], seed=SEED, start=0, stop=1)[cell]
    _, released = session_by_session(cell, 0)
    survey = make_survey(SMALL, num_voters=5, seed=seed_of(SEED, 0, is_fixed=False))
    protocol = MoralPreferences(parameters_of(METHODS["algorithm-2"], num_features=3, max_records=6, epsilon=4.0))
    inputs = protocol.encode({"records": survey.records})
    clean = list(protocol.truth(Inputs(inputs.private, inputs.public)).values())
    assert found.errors == [pytest.approx(np.square(released - clean).sum(), rel=1e-9)]
    assert found.own == []


def test_agreement_on_isotropic_pairs_is_that_of_the_angle() -> None:
    estimates = np.array([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    truth = np.broadcast_to(np.array([0.5, 0.0]), estimates.shape)
    assert agreement(SMALL, estimates, truth).tolist() == pytest.approx([1.0, 0.5, 0.0, 0.75, 0.5])
    generator = np.random.default_rng(3)
    many, one = generator.normal(size=(20, 4)), generator.normal(size=4)
    expected = [agreement_of(each, one.tolist()) for each in many.tolist()]
    assert agreement(SMALL, many, np.broadcast_to(one, many.shape)) == pytest.approx(expected)


def test_agreement_on_dilemmas_is_counted_and_a_coin_is_tossed_where_nothing_is_said() -> None:
    truth = np.random.default_rng(4).normal(size=(1, 23))
    for estimate, share in ((3 * truth, 1.0), (-truth, 0.0), (0 * truth, 0.5)):
        assert agreement(MACHINE, estimate, truth).tolist() == [share]


def test_the_covariance_of_dilemmas_can_be_whitened_by() -> None:
    covariance = covariance_of_dilemmas()
    assert covariance.shape == (23, 23)
    assert np.array_equal(covariance, covariance.T)
    assert float(np.linalg.eigvalsh(covariance)[0]) > 0.03


def test_fixed_societies_have_the_same_voters_in_every_repetition() -> None:
    fixed = draw_society(Setting(records=4, features=3, is_fixed=True), num_voters=6, seed=1, start=0, stop=3)
    fresh = draw_society(Setting(records=4, features=3), num_voters=6, seed=1, start=0, stop=3)
    assert (len(fixed.truth), len(fresh.truth), len(fixed.records), len(fresh.records)) == (1, 3, 6, 18)
    assert np.array_equal(fresh.means[1, 3], np.cumsum(fresh.truth[1], axis=0)[3] / 4)
    assert not np.array_equal(fresh.truth[0], fresh.truth[1])
