"""Votes in which a voter's group is private: rows, what is checked of them, losses, and outcomes."""

import itertools
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import ConfigurationError, Inputs, SimulatedNoise, Tally, run_population
from psephos.protocol.fair_voting import FairVoting, JointRankings
from psephos.protocol.fair_voting.kinds import JOINT, MechanismName
from psephos.protocol.mechanisms import MAX_JOINT_GROUPS
from psephos.protocol.privacy import NeighboringRelation, TrustModel

NOISE = SimulatedNoise(3, session="s")
ALL: tuple[MechanismName, ...] = ("joint", *JOINT)
every_mechanism = pytest.mark.parametrize("mechanism", ALL)
TABLE: dict[str, Any] = {"group": ["g1", "g0", "g1"], "ranking": ["b > a > c", ["c", "b", "a"], "a>b>c"]}
ROWS = [[4, 3, 5], [2, 1, 0], [3, 4, 5]]


def make(mechanism: MechanismName = "joint", **given: Any) -> FairVoting:
    return make_fair_vote(1, 2, mechanism=mechanism, **given)


def test_both_columns_are_private_and_rows_hold_both() -> None:
    vote = make()
    assert [(column.name, column.private) for column in vote.columns()] == [("group", True), ("ranking", True)]
    inputs = vote.encode(TABLE)
    assert inputs.private.tolist() == ROWS
    assert inputs.public.shape == (3, 0)
    groups, positions = vote.members_of(inputs)
    assert groups.tolist() == [1, 0, 1]
    assert positions.tolist() == [[1, 0, 2], [2, 1, 0], [0, 1, 2]]
    assert vote.write_public(inputs.public) == {}
    assert vote.encode_public({}, num_parties=4).shape == (4, 0)


def test_a_voter_encodes_both_and_the_server_has_neither() -> None:
    vote = make()
    assert vote.encode_own({"group": "g1", "ranking": "b>a>c"}, ()) == (4, 3, 5)
    vote.check_row((4, 3, 5), ())
    with pytest.raises(ConfigurationError, match="group"):
        vote.encode_own({"ranking": "b>a>c"}, ())
    with pytest.raises(ConfigurationError, match="one group of g0, g1"):
        vote.encode_own({"group": "g2", "ranking": "b>a>c"}, ())
    with pytest.raises(ConfigurationError, match="empty: groups are private here"):
        vote.encode_own({"group": "g1", "ranking": "b>a>c"}, (1,))


@pytest.mark.parametrize("row", [(0, 1, 5), (3, 1, 5), (0, 0, 1), (3, 3, 4)])
def test_rows_that_are_no_ranking_within_a_group_are_refused(row: tuple[int, ...]) -> None:
    vote = make()
    with pytest.raises(ValueError, match=r"group|ranking"):
        vote.check_row(row, ())
    with pytest.raises(ValueError, match=r"group|ranking"):
        vote.check_inputs(Inputs(np.array([row], dtype=np.int64), np.empty((1, 0), dtype=np.int64)))


def test_the_roster_has_as_many_voters_as_the_groups_together() -> None:
    vote = make()
    vote.check_roster(np.empty((3, 0), dtype=np.int64))
    with pytest.raises(ConfigurationError, match="the 3 of group_sizes together"):
        vote.check_roster(np.empty((4, 0), dtype=np.int64))


@every_mechanism
def test_the_loss_is_one_epsilon_for_group_and_ranking(mechanism: MechanismName) -> None:
    vote = make(mechanism, epsilon=1.5)
    (loss,) = vote.losses
    assert (loss.claimed, loss.proven) == (1.5, pytest.approx(1.5))
    assert (loss.unit, loss.relation, loss.model) == ("voter", NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL)
    vote.check_losses(())
    vote.check_loss_groups(np.empty((3, 0), dtype=np.int64))
    assert isinstance(vote.phase, JointRankings)
    assert loss.mechanism == vote.phase.report.name


def test_estimates_are_of_the_groups_sums_by_their_public_sizes() -> None:
    """With hardly any noise, the truth comes out; voters who are missing count as indifferent."""
    vote = make_fair_vote(6, 4, mechanism="joint_ranking", epsilon=30.0)
    inputs = make_fair_inputs(vote, seed=2)
    truth = vote.truth(inputs)
    outcome = run_population(vote, inputs, noise=NOISE).outcome
    assert outcome is not None
    for alternative in outcome.alternatives:
        for group, told in zip(outcome.groups, alternative.utilities, strict=True):
            assert told.value == pytest.approx(truth[f"{alternative.name} ({group})"], abs=1e-9)
            assert told.standard_error < 1e-4
    nobody = vote.outcome([Tally(0, np.zeros((2, 9), dtype=np.int64))])
    assert {told.value for alternative in nobody.alternatives for told in alternative.utilities} == {1.0}
    assert nobody.assurance.verdict == "too close to tell"


def test_a_report_that_nobody_sends_is_refused_by_the_server() -> None:
    vote = make("joint_pair", epsilon=2.0)
    assert isinstance(vote.phase, JointRankings)
    vote.phase.check_report((0, 1, 0), ())
    for report in ((0, 0, 0), (2, 2, 0), (-1, 1, 0)):
        with pytest.raises(ValueError, match="no question with a sign"):
            vote.phase.check_report(report, ())


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"relation": NeighboringRelation.ADD_OR_REMOVE_ONE}, "relation"),
        ({"mechanism": "joint_pair", "scores": "plurality"}, "mechanism"),
        ({"mechanism": "joint_ranking", "num_alternatives": 9}, "mechanism"),
    ],
)
def test_what_no_joint_mechanism_does_is_refused(given: dict[str, Any], field: str) -> None:
    options: dict[str, Any] = {"mechanism": "joint"}
    options.update(given)
    with refuses(field):
        make_fair_vote(2, 2, **options)


def test_too_many_private_groups_are_refused() -> None:
    assert make_fair_vote(*[1] * MAX_JOINT_GROUPS, mechanism="joint").parameters.is_joint
    with pytest.raises(ConfigurationError, match="each report tells of every group"):
        make_fair_vote(*[1] * (MAX_JOINT_GROUPS + 1), mechanism="joint")


@every_mechanism
def test_what_the_server_sees_differs_by_the_loss_between_any_groups_and_rankings(mechanism: MechanismName) -> None:
    """Over all rows of three alternatives: by the law of the session's own phase."""
    vote = make(mechanism, epsilon=0.9)
    rows = vote.phase.rows_of(())
    assert rows is not None
    found: list[list[int]] = rows.tolist()
    assert sorted(found) == sorted(
        [group * 3 + position for position in order] for group in range(2) for order in itertools.permutations(range(3))
    )
    noise = SimulatedNoise(1, session="law")
    drawn = [
        noise.randomize(vote.phase.mechanism, rows[place % 12].tolist(), protocol="p", phase="q", place=place)
        for place in range(300)
    ]
    logs = vote.phase.mechanism.log_likelihoods(np.array(drawn), rows)
    assert float((logs.max(axis=1) - logs.min(axis=1)).max()) <= 0.9 + 1e-9
