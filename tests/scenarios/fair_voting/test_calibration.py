"""Fair voting's part of the calibration: profiles by their laws, winners and what they may lack, and every table."""

import math

import pytest
from psephos.protocol.fair_voting.objective import ObjectiveName
from psephos.protocol.fair_voting.parameters import MechanismName
from psephos.scenarios.experiments.calibration import Drawn
from psephos.scenarios.fair_voting import calibration
from psephos.scenarios.fair_voting.calibration import CALIBRATION, PROFILES, SETTINGS, Setting, measure
from thoroughness import draws

CLEAR = Setting((3_000, 2_000), 20.0, 20.0)


@pytest.mark.few
@pytest.mark.parametrize("objective", ["parity", "constrained", "penalized", "welfare_constrained"])
@pytest.mark.parametrize("mechanism", ["laplace", "noisy_scores", "sampled_pair", "joint_pair", "joint_scores"])
def test_with_little_noise_winners_are_the_best_and_said_to_be(
    mechanism: MechanismName, objective: ObjectiveName
) -> None:
    trials = draws(4, full=12) if mechanism == "joint_pair" else 12  # which draws three numbers for each voter
    cell = measure(mechanism, objective=objective, setting=CLEAR, profiles="apart", trials=trials, seed=1)
    assert cell.found <= 0.2
    assert cell.claimed < 0.2
    assert cell.decided > 0.3
    assert cell.verdicts_wrong == 0


def test_where_groups_rank_alike_winners_are_hardly_ever_confirmed() -> None:
    cell = measure("laplace", objective="parity", setting=SETTINGS[0], profiles="alike", trials=20, seed=2)
    assert cell.found > 0.3
    assert cell.decided < 0.3
    assert cell.prior == "uniform differences"


def test_a_winner_alone_claims_its_shortfall_at_the_level() -> None:
    cell = measure(
        "exponential", objective="penalized", setting=SETTINGS[1], profiles="apart", trials=10, seed=3, level=0.2
    )
    assert (cell.claimed, cell.prior) == (pytest.approx(0.2), "")
    assert math.isnan(cell.decided)
    assert math.isnan(cell.verdicts_wrong)


def test_a_winner_that_lacks_its_shortfall_is_counted() -> None:
    """At a level of .49 the shortfall is next to nothing, and some winners lack it."""
    cell = measure(
        "exponential",
        objective="parity",
        setting=Setting((60, 40), 0.5, 1.0),
        profiles="impartial",
        trials=40,
        seed=4,
        level=0.49,
    )
    assert 0 < cell.found < 0.49


@pytest.mark.full("two seconds of trials")
def test_there_is_a_table_for_each_law_of_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "SETTINGS", (Setting((20, 10), 1.0, 4.0),))
    monkeypatch.setattr(calibration, "_OBJECTIVES", ("parity", "welfare_constrained"))
    told: list[str] = []
    tables = list(CALIBRATION.tables(Drawn(10, 1, told.append)))
    assert [table.name for table in tables] == list(PROFILES)
    assert len(told) == 7
    numbers = {table.name: len(table.rows) for table in tables}
    assert numbers == {name: 2 * 3 if name == "prior" else 2 * 7 for name in PROFILES}
