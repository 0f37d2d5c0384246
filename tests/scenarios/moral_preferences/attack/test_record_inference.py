"""Which of two records a voter's last one is: within what is proven, strongest before the maximum is taken."""

import math
from typing import Any

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from psephos.scenarios.moral_preferences.attack.record_inference_role import pair_of, play_record_game, record_line_up
from psephos.scenarios.moral_preferences.audit.witnesses import search_sensitivity

NUM_TARGETS = 4_000
TOLERANCE = 4 / math.sqrt(4 * NUM_TARGETS)  # four standard errors of a share: false alarms below 1e-4


def survey(num_features: int, **settings: Any) -> MoralPreferences:
    """Return a protocol that protects records."""
    given: dict[str, Any] = {"paradigm": Paradigm.RLDP, "mechanism": "functional", "max_records": 3, **settings}
    return MoralPreferences(Parameters(features=tuple(f"x{n}" for n in range(num_features)), **given))


def proven(protocol: MoralPreferences) -> tuple[float, float]:
    """Return a record's ε, and the most success that it allows."""
    (loss,) = protocol.losses
    return loss.finest_loss.proven, 1 / (1 + math.exp(-loss.finest_loss.proven))


@pytest.mark.parametrize("sensitivity", ["tight", "printed"])
def test_coefficients_tell_more_than_the_report_and_neither_more_than_is_proven(sensitivity: str) -> None:
    protocol = survey(4, epsilon=4.0, sensitivity=sensitivity)
    _, pair = search_sensitivity(4, seed=1)
    known = np.random.default_rng(2).standard_normal((2, 2, 4))
    rows = record_line_up(protocol, known, pair_of(pair))
    clear, report = (
        play_record_game(protocol, rows, num_targets=NUM_TARGETS, seed=3, sees=sees, num_simulated=1024)
        for sees in ("coefficients", "report")
    )
    epsilon, most = proven(protocol)
    for game in (clear, report):
        assert epsilon == pytest.approx(4.0 if sensitivity == "tight" else 3.0, rel=0.03)
        assert game.evaluation.greatest_log_odds_ratio <= game.distance * (1 + 1e-9) <= epsilon * (1 + 1e-9)
        assert game.distance > 0.9 * epsilon  # nearly as far apart as records can be
        assert game.evaluation.success <= most + TOLERANCE
        assert game.evaluation.success > 0.5 + TOLERANCE
    assert clear.evaluation.success > report.evaluation.success + 0.03


def test_noise_for_the_printed_bound_hides_more() -> None:
    games = [
        play_record_game(
            protocol,
            record_line_up(protocol, np.empty((0, 2, 4)), pair_of(search_sensitivity(4, seed=1)[1])),
            num_targets=NUM_TARGETS,
            seed=3,
            sees="coefficients",
        )
        for protocol in (survey(4, epsilon=4.0, sensitivity=name) for name in ("tight", "printed"))
    ]
    assert games[1].distance < 0.8 * games[0].distance
    assert games[1].evaluation.success < games[0].evaluation.success


@pytest.mark.parametrize(
    "settings",
    [{"mechanism": "pooled"}, {"mechanism": "pooled", "paradigm": Paradigm.RLCP}],
    ids=["voters' noise", "the server's"],
)
def test_two_opposite_records_of_one_feature_are_told_apart_as_one_laplace_draw_allows(
    settings: dict[str, Any],
) -> None:
    """Of V = ±1 the linear coefficient alone differs, by 2√(2/π): success is 1 − e^(−δ/2)/2."""
    protocol = survey(1, epsilon=2.0, **settings)
    rows = record_line_up(protocol, np.empty((0, 2, 1)), pair_of(np.array([[1.0], [-1.0]])))
    assert abs(int(rows[0, 0] - rows[1, 0])) * protocol.summary.step == pytest.approx(
        2 * math.sqrt(2 / math.pi), rel=1e-4
    )
    assert rows[0, 1] == rows[1, 1]
    game = play_record_game(protocol, rows, num_targets=NUM_TARGETS, seed=1)
    assert game.evaluation.success == pytest.approx(1 - math.exp(-game.distance / 2) / 2, abs=TOLERANCE)


def test_directions_keep_a_record_within_its_epsilon_too() -> None:
    protocol = survey(3, epsilon=3.0, mechanism="direction")
    rows = record_line_up(protocol, np.empty((0, 2, 3)), pair_of(np.array([[1.0, 0, 0], [-1.0, 0, 0]])))
    game = play_record_game(protocol, rows, num_targets=NUM_TARGETS, seed=1)
    assert game.evaluation.greatest_log_odds_ratio <= game.distance * (1 + 1e-9)
    assert game.distance == pytest.approx(3.0, rel=1e-5)
    assert 0.6 < game.evaluation.success <= proven(protocol)[1] + TOLERANCE


def test_what_is_known_of_other_records_is_taken_off() -> None:
    protocol = survey(3)
    pair = pair_of(np.array([[0.6, 0, 0], [0, 0.8, 0]]))
    known = np.random.default_rng(2).standard_normal((2, 2, 3))
    alone, among = record_line_up(protocol, np.empty((0, 2, 3)), pair), record_line_up(protocol, known, pair)
    np.testing.assert_array_equal(among[0] - among[1], alone[0] - alone[1])
    assert np.any(among[0] != alone[0])
    with pytest.raises(ConfigurationError, match="two rows"):
        play_record_game(protocol, alone[:1], num_targets=1, seed=1)
