"""Curves of fairness, welfare and proven ε: exact where the law is, proven where it is said, and by the command."""

import csv
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import Psephos, Write, check_refused
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol.elementary import quotient_up
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.fair_voting import FairVoting, Feature
from psephos.protocol.fair_voting.choices import ExponentialChoice
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.fair_voting.objective import ObjectiveName
from psephos.protocol.fair_voting.rankings import Rankings
from psephos.protocol.mechanisms import MAX_JOINT_GROUPS
from psephos.protocol.phases import Inputs
from psephos.protocol.population import run_population
from psephos.protocol.privacy import NeighboringRelation
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.fair_voting.comparisons import MECHANISMS
from psephos.scenarios.fair_voting.elections import elect, release
from psephos.scenarios.fair_voting.profiles import fixed_profile
from psephos.scenarios.fair_voting.trade_offs import TradeOff, trade_off, usual_mechanisms

VOTE = make_fair_vote(30, 20, objective="welfare_constrained", welfare_share=0.6)
INPUTS = make_fair_inputs(VOTE, seed=4)
TRIALS = 40


def curves(**given: Any) -> TradeOff:
    values: dict[str, Any] = {"epsilons": (0.5, 2.0), "trials": TRIALS} | given
    return trade_off(VOTE, INPUTS, **values)


def test_every_mechanism_has_a_point_at_every_price_or_a_reason() -> None:
    found = curves()
    assert {row.mechanism for row in found.rows} | set(found.left_out) == set(usual_mechanisms(VOTE.parameters))
    assert set(MECHANISMS) - set(usual_mechanisms(VOTE.parameters)) == {"joint"}  # groups are public here
    assert [row.epsilon for row in found.rows if row.mechanism == "laplace"] == [0.5, 2.0]
    proven = [row for row in found.rows if row.mechanism == "sampling, proven"]
    assert proven
    for row in proven:
        assert row.epsilon_proven is not None
        assert row.epsilon_proven <= row.epsilon
        assert row.epsilon_claimed != row.epsilon
    assert "N/A" in found.left_out["sampling, by label"]


def test_numbers_are_the_true_ones_of_the_best_without_privacy() -> None:
    """At ε = 30 the best always wins, but for ties; and the truth is the protocol's."""
    found = curves(epsilons=(30.0,), mechanisms=("permute_and_flip", "laplace"))
    truth = VOTE.truth(INPUTS)
    names = [VOTE.parameters.alternatives[place] for place in found.best]
    assert truth["this objective"] == ", ".join(names)
    for place, name in enumerate(VOTE.parameters.alternatives):
        utilities = [float(truth[f"{name} ({group})"]) for group in VOTE.parameters.groups]
        assert found.disparities[place] == pytest.approx(max(utilities) - min(utilities))
        assert found.welfares[place] == pytest.approx((30 * utilities[0] + 20 * utilities[1]) / 50)
    disparity, welfare = found.clean
    for row in found.rows:
        assert row.agreement.value == pytest.approx(1, abs=1e-3)
        assert row.disparity.value == pytest.approx(disparity, abs=2e-3)
        assert row.welfare.value == pytest.approx(welfare, abs=2e-3)


def test_a_law_is_computed_and_has_no_error() -> None:
    (row,) = curves(epsilons=(0.7,), mechanisms=("exponential",)).rows
    vote = make_fair_vote(
        30, 20, objective="welfare_constrained", welfare_share=0.6, mechanism="exponential", epsilon=0.7
    )
    choice = vote.disclosed.elects_by(ExponentialChoice)
    law = choice.probabilities(vote.disclosed.sums_of(INPUTS.private, INPUTS.public[:, 0]).reshape(-1).tolist())
    assert row.disparity.value == pytest.approx(float(np.dot(law, curves().disparities)))
    assert (row.trials, row.disparity.standard_error, row.welfare.standard_error) == (0, 0, 0)


@pytest.mark.full("a hundred sessions, each with its verdict, take a second")
def test_a_standard_error_is_that_of_sessions_run_singly() -> None:
    """Within 5 of the joint errors of two means; false alarm: 6e-7."""
    (row,) = curves(epsilons=(0.5,), mechanisms=("laplace",), trials=400).rows
    vote = make_fair_vote(30, 20, objective="welfare_constrained", welfare_share=0.6, epsilon=0.5)
    welfares = dict(zip(VOTE.parameters.alternatives, curves().welfares, strict=True))
    found = np.array(
        [
            welfares[run_population(vote, INPUTS, noise=SimulatedNoise(seed, session="one by one")).outcome.winner]
            for seed in range(100)
        ]
    )
    error = np.hypot(row.welfare.standard_error, found.std(ddof=1) / 10)
    assert abs(found.mean() - row.welfare.value) < 5 * error
    assert row.welfare.standard_error == pytest.approx(found.std(ddof=1) / 20, rel=0.5)


def test_what_was_set_for_one_mechanism_is_not_that_of_another() -> None:
    """γ of the scenario's own sampling by label counts there alone, and a calibration of Laplace noise likewise."""
    vote = make_fair_vote(300, 200, mechanism="sampling", epsilon=2.0, gamma=0.3)
    inputs = make_fair_inputs(vote)
    rows = trade_off(vote, inputs, epsilons=(2.0,), trials=2).rows
    gammas = {row.mechanism: row.gamma for row in rows}
    assert gammas["sampling, by label"] == 0.3
    assert gammas["sampling, proven"] not in {None, 0.3, 0.05}
    printed = make_fair_vote(30, 20, calibration="printed")
    rows = trade_off(printed, INPUTS, epsilons=(1.0,), trials=2).rows
    assert {row.epsilon_proven for row in rows if row.mechanism == "laplace"} == {quotient_up(4, 3)}
    masked = make_fair_vote(30, 20, mechanism="masked", threshold=40, colluders=5)
    found = trade_off(masked, make_fair_inputs(masked, seed=4), epsilons=(1.0,), trials=2)
    assert found.rows == trade_off(make_fair_vote(30, 20), INPUTS, epsilons=(1.0,), trials=2).rows
    hidden = make_fair_vote(30, 20, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert set(trade_off(hidden, INPUTS, epsilons=(1.0,), trials=2).left_out) == {
        "sampling, by label",
        "sampling, proven",
        "local",
    }


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("trials", {"trials": 1}),
        ("trials", {"trials": 100_001}),
        ("epsilons", {"epsilons": ()}),
        ("epsilon", {"epsilons": (1.0, 0.0)}),
        ("epsilon", {"epsilons": (float("nan"),)}),
        ("mechanism", {"mechanisms": ("laplac",)}),
    ],
)
def test_what_is_not_allowed_is_refused_by_its_field(field: str, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        curves(**given)
    assert caught.value.field == field


FEATURES = (
    Feature(name="gender", of=("women", "women", "men", "men")),
    Feature(name="diet", of=("vegan", "any", "vegan", "any")),
)


def make_featured(objective: ObjectiveName = "parity", **given: Any) -> FairVoting:
    given = {"max_disparity": 0.2, "features": FEATURES, **given}
    return make_fair_vote(30, 50, 20, 40, objective=objective, **given)


def disparity_of(vote: FairVoting, inputs: Inputs, alternative: int) -> float:
    """Return the greatest disparity of an alternative between the groups of any feature, from the rankings."""
    groups, positions = vote.members_of(inputs)
    scores = len(vote.parameters.alternatives) - 1 - positions[:, alternative]
    found: list[float] = []
    for feature in FEATURES:
        own = np.array(feature.of)[groups]
        means = [float(scores[own == name].mean()) for name in feature.groups]
        found.append(max(means) - min(means))
    return max(found)


@pytest.mark.parametrize("objective", ["parity", "constrained", "penalized", "welfare_constrained"])
def test_features_that_overlap_have_curves_of_their_greatest_disparity(objective: ObjectiveName) -> None:
    vote = make_featured(objective)
    inputs = make_fair_inputs(vote, seed=7)
    found = trade_off(vote, inputs, epsilons=(30.0,), mechanisms=("laplace", "local"), trials=TRIALS)
    truth = [disparity_of(vote, inputs, place) for place in range(len(vote.parameters.alternatives))]
    assert found.disparities == pytest.approx(truth)
    without = trade_off(
        make_fair_vote(30, 50, 20, 40, objective=objective, max_disparity=0.2), inputs, epsilons=(1.0,), trials=2
    )
    assert found.disparities != pytest.approx(without.disparities)
    best = [vote.parameters.alternatives[place] for place in found.best]
    assert ", ".join(best) == vote.truth(inputs)["this objective"]


ELECTED = pytest.mark.full("the same by another objective")


@pytest.mark.parametrize(
    "objective",
    [
        "parity",
        pytest.param("constrained", marks=ELECTED),
        pytest.param("penalized", marks=ELECTED),
        "welfare_constrained",
    ],
)
@pytest.mark.parametrize("mechanism", ["laplace", "sampling", "local", "joint_pair", "joint_position", "joint_scores"])
@pytest.mark.parametrize("features", ["two features", "none"])
def test_an_election_of_a_curve_is_the_protocols_own(
    objective: ObjectiveName, mechanism: MechanismName, features: str
) -> None:
    """Its first election has the bits of a session of the same voters, in the order of their groups."""
    given: dict[str, Any] = {"gamma": 0.3, "num_samples": 40} if mechanism == "sampling" else {}
    given |= {"features": msgspec.UNSET} if features == "none" else {}
    vote = make_featured(objective, mechanism=mechanism, epsilon=2.0, **given)
    groups, positions = vote.members_of(make_fair_inputs(vote, seed=9))
    order = np.argsort(groups, kind="stable")
    inputs = vote.encode({"group": groups[order], "ranking": Rankings(positions[order])})
    profiles = fixed_profile(positions, groups, 4)
    for seed in range(2):
        noise = SimulatedNoise(seed, session="trade-off")
        released = release(vote, profiles, trials=2, noise=noise)
        winner = int(elect(released, vote.parameters.make_objective())[0])
        assert vote.parameters.alternatives[winner] == run_population(vote, inputs, noise=noise).outcome.winner


@pytest.mark.full("two seconds of curves and pictures")
def test_private_groups_have_a_curve_of_their_own_beside_those_of_public_ones(psephos: Psephos) -> None:
    vote = make_fair_vote(300, 200, mechanism="joint", epsilon=2.0, objective="penalized")
    found = trade_off(vote, make_fair_inputs(vote, seed=3), epsilons=(1.0, 8.0), trials=TRIALS)
    assert {row.mechanism for row in found.rows} >= {"joint", "local", "laplace"}
    for row in found.rows:
        if row.mechanism == "joint":
            assert row.epsilon_proven == pytest.approx(row.epsilon)
    ended = psephos("trade-off", "private-groups", "--trials", "2", "--epsilons", "2", "--mechanism", "laplace")
    assert ended.status == 0
    assert "groups are public in all of these" in ended.out
    ended = psephos("trade-off", "private-groups", "--trials", "2", "--epsilons", "2", "--mechanism", "joint")
    assert ended.status == 0
    assert "groups are private in joint, and public in all others" in ended.out


def test_more_groups_than_reports_can_tell_of_leave_private_groups_out() -> None:
    vote = make_fair_vote(*(2,) * (MAX_JOINT_GROUPS + 1))
    found = trade_off(vote, make_fair_inputs(vote), epsilons=(1.0,), mechanisms=("joint", "exponential"), trials=2)
    assert {row.mechanism for row in found.rows} == {"exponential"}
    assert "groups must be at most" in found.left_out["joint"]


ELECTION = "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c>b>a\n"


@pytest.mark.full("a picture more")
def test_the_command_says_which_features_a_disparity_is_of(psephos: Psephos) -> None:
    ended = psephos("trade-off", "two-features", "--trials", "2", "--epsilons", "1", "--mechanism", "exponential")
    assert ended.status == 0
    assert "disparity: the greatest between the groups of any feature (gender and diet)" in ended.out


def test_the_command_writes_a_table_and_a_picture_of_ones_own_rankings(psephos: Psephos, write: Write) -> None:
    write("own.csv", ELECTION)
    ended = psephos(
        "trade-off", "two-societies", "--set", "voters=own.csv", "--trials", "5", "--epsilons", "1,2", "--out", "curves"
    )
    assert ended.status == 0
    for words in ("permute_and_flip", "without privacy", "this table is not private", "over 5 elections"):
        assert words in ended.out
    with Path("curves/trade-off.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {"mechanism", "epsilon_proven", "disparity", "disparity_standard_error", "welfare", "agreement"} <= set(
        rows[0]
    )
    assert {row["mechanism"] for row in rows} >= {"laplace", "exponential", "permute_and_flip", "local"}
    for suffix in ("svg", "png"):
        assert Path(f"curves/trade-off.{suffix}").stat().st_size > 1000


@pytest.mark.bad_input("prices or trials of curves that are none; curves of another protocol")
@pytest.mark.parametrize(
    ("scenario", "options", "words"),
    [
        ("two-societies", ["--epsilons", "1,much"], ["epsilons must be numbers with commas", "got '1,much'"]),
        ("two-societies", ["--epsilons", "0"], ["epsilon must be in [0.0001, 30], got 0.0"]),
        ("two-societies", ["--trials", "1"], ["trials must be in [2, 100000], got 1"]),
        ("two-societies", ["--mechanism", "sampling"], ["mechanism must be one of laplace; sampling, by label;"]),
        ("consortium", [], ["protocol must be 'fair-voting'", "got 'dpwevote'"]),
    ],
)
def test_wrong_options_get_one_sentence_and_status_2(
    psephos: Psephos, scenario: str, options: list[str], words: list[str]
) -> None:
    check_refused(psephos, scenario, [], words, command=("trade-off", *options))
