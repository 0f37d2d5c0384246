"""Fair voting's part of the calibration: estimates that are the protocol's, and lies that are caught."""

import numpy as np
import pytest
from calibration import fair_voting as calibration
from calibration.engine import Case, hold
from calibration.fair_voting import CALIBRATION
from numpy.typing import NDArray
from psephos.protocol import Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting import protocol
from psephos.protocol.fair_voting.kinds import JOINT, LOCAL
from psephos.protocol.fair_voting.phases import DisclosedRankings
from psephos.protocol.fair_voting.rankings import Rankings

PLAIN: Case = {
    "mechanism": "laplace",
    "objective": "penalized",
    "groups": (4, 3, 2),
    "alternatives": 4,
    "epsilon": 2.0,
    "level": 0.05,
    "rankings": "arbitrary",
    "profile": 3,
    "weight": 0.3,
    "limit": 0.5,
    "share": 0.9,
    "scores": "borda",
}
STATEMENTS = {statement.name: statement for statement in CALIBRATION.statements()}


@pytest.mark.parametrize("scores", ["borda", "veto"])
@pytest.mark.parametrize("mechanism", ["laplace", *LOCAL, *JOINT])
def test_estimates_are_those_of_the_protocol(mechanism: str, scores: str) -> None:
    """Of the same reports: zeros of a report of all groups were once counted for each voter of any group."""
    case = {**PLAIN, "mechanism": mechanism, "scores": scores}
    if (vote := calibration.vote_of(case)) is None:
        assert scores == "veto"
        return
    profile, phase = calibration.profile_of(case), vote.phase
    found = calibration.estimates_of(vote, profile, 1, np.random.default_rng(5))[0]
    inputs = vote.encode({"group": profile.groups, "ranking": Rankings(profile.positions)})
    generator = np.random.default_rng(5)
    if isinstance(phase, DisclosedRankings):
        sums = phase.sums_of(profile.positions, profile.groups)
        drawn = phase.tally_mechanism.randomize_rows(sums.reshape(1, -1), generator.random((1, sums.size)))
        tally = Tally(len(profile.groups), drawn.reshape(sums.shape))
    else:
        uniforms = generator.random((9, phase.mechanism.slots_of(inputs.private.shape[1])))
        reports = phase.mechanism.randomize_rows(inputs.private, uniforms)
        tally = phase.tally(reports, earlier=[], public=inputs.public)
    outcome = vote.outcome([tally])
    told = np.array([[each.value for each in alternative.utilities] for alternative in outcome.alternatives]).T
    assert found == pytest.approx(told, abs=1e-9)


def test_a_winner_that_is_confirmed_without_a_test_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def bold(_self: object, _utilities: object, winners: IntArray, _exactly: object) -> NDArray[np.bool_]:
        return np.ones(len(winners), dtype=np.bool_)

    monkeypatch.setattr(calibration.Confirming, "are_confirmed", bold)
    cell = hold("fair-voting", STATEMENTS["confirmed winner: laplace"], PLAIN, 40, np.random.default_rng(6))
    assert cell is not None
    assert not cell.holds


@pytest.mark.few(most=1)
@pytest.mark.parametrize(("objective", "alternatives"), [("copeland", 2), ("kemeny", 3)])
def test_a_winner_by_pairs_that_is_confirmed_without_a_test_is_caught(
    objective: str, alternatives: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A winner of two that are a vote apart is confirmed wrongly about as often as the level allows, and no oftener."""
    sizes = {"groups": (3,), "alternatives": alternatives, "epsilon": 0.2, "level": 0.2}
    case = {**PLAIN, **sizes, "mechanism": "pairwise", "objective": objective, "rankings": "unanimous"}
    cell = hold("fair-voting", STATEMENTS["winner by pairs"], case, 400, np.random.default_rng(6))
    assert cell is not None
    assert cell.holds
    assert cell.found > 0.02

    def bold(*_given: object) -> float:
        return 0.0

    monkeypatch.setattr(protocol, "p_value_of_pairs", bold)
    cell = hold("fair-voting", STATEMENTS["winner by pairs"], case, 400, np.random.default_rng(6))
    assert cell is not None
    assert not cell.holds


def test_one_group_has_verdicts_that_hold() -> None:
    case = {**PLAIN, "groups": (8,), "objective": "welfare", "level": 0.2, "epsilon": 0.2}
    cell = hold("fair-voting", STATEMENTS["winner of one group"], case, 400, np.random.default_rng(6))
    assert cell is not None
    assert cell.holds


@pytest.mark.parametrize("mechanism", LOCAL)
@pytest.mark.parametrize("name", ["winner by own ε", "standard error by own ε"])
def test_verdicts_and_errors_hold_where_few_voters_have_most_of_the_noise(mechanism: str, name: str) -> None:
    """At ε = .2, .6 and 1.8. False alarm: that of a cell of `hold`, 1e-4 at most."""
    case = {**PLAIN, "mechanism": mechanism, "groups": (9, 5), "epsilon": 0.2, "spread": 3.0, "level": 0.2}
    case |= {"alternatives": 3, "objective": "penalized"}
    cell = hold("fair-voting", STATEMENTS[name], case, 300, np.random.default_rng(8))
    assert cell is not None
    assert cell.holds


@pytest.mark.parametrize("rankings", calibration.VOTES["rankings"])
def test_every_profile_has_rankings(rankings: str) -> None:
    for groups in ((1, 1), (5, 3), (4, 3, 2, 1)):
        profile = calibration.profile_of({**PLAIN, "rankings": rankings, "groups": groups})
        assert np.sort(profile.positions, axis=1).tolist() == [[0, 1, 2, 3]] * sum(groups)
        assert np.bincount(profile.groups).tolist() == list(groups)


def test_a_winner_that_lacks_its_shortfall_is_counted() -> None:
    """At a level of .49 the shortfall is next to nothing, and some winners lack it."""
    case = {**PLAIN, "mechanism": "exponential", "groups": (60, 40), "epsilon": 0.5, "level": 0.49}
    cell = hold("fair-voting", STATEMENTS["shortfall"], case, 40, np.random.default_rng(4))
    assert cell is not None
    assert 0 < cell.found < 0.49


def test_there_is_a_statement_for_each_mechanism() -> None:
    assert [name for name in STATEMENTS if name.startswith("confirmed winner")] == [
        f"confirmed winner: {mechanism}" for mechanism in ("laplace", "masked", *LOCAL, *JOINT)
    ]
    assert [name for name in STATEMENTS if ":" not in name] == [
        "shortfall",
        "probability of the winner",
        "standard error of utilities",
        "winner by own ε",
        "standard error by own ε",
        "winner of one group",
        "winner by pairs",
    ]
