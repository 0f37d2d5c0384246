"""Votes with private groups: what is inferred of group and ranking, what a liar can push, files, and a run."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import ConfigurationError, Inputs, SimulatedNoise
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting import FairVoting, Outcome
from psephos.protocol.fair_voting.kinds import JOINT, MechanismName
from psephos.protocol.mechanisms import JointPair
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.adversaries.role import AttackContext
from psephos.scenarios.attacks import Coalition, CoalitionView, view_by_arrays
from psephos.scenarios.attacks.extreme_reports import ExtremeReports
from psephos.scenarios.fair_voting.attack.differencing_role import DifferencingRole
from psephos.scenarios.fair_voting.attack.inference import FairVotingAttack
from psephos.scenarios.fair_voting.data.own_ranking import OWN_RANKING

SECRETS = RANKING, _, _, GROUP = "ranking", "favorite", "pair", "group"
TARGET = np.array([0], dtype=np.int64)
every_mechanism = pytest.mark.parametrize("mechanism", JOINT)


def make(mechanism: MechanismName, *sizes: int, **given: Any) -> tuple[FairVoting, Inputs]:
    vote = make_fair_vote(*(sizes or (4, 3)), mechanism=mechanism, epsilon=1.5, **given)
    return vote, make_fair_inputs(vote, seed=3)


def see(vote: FairVoting, inputs: Inputs, *members: int, has_server: bool = False) -> CoalitionView:
    coalition = Coalition(members, has_server=has_server)
    return view_by_arrays(vote, inputs, noise=SimulatedNoise(5, session="s"), coalition=coalition)


def believed(vote: FairVoting, report: IntArray) -> dict[tuple[str, str], float]:
    """Return the posterior of group and ranking after one report, by Bayes's rule on the mechanism's law."""
    parameters = vote.parameters
    held = list(itertools.product(parameters.groups, itertools.permutations(parameters.alternatives)))
    rows = vote.encode({"group": [group for group, _ in held], "ranking": [list(order) for _, order in held]}).private
    chances = np.exp(vote.phase.mechanism.log_likelihoods(report, rows))[0]
    return {
        (group, ">".join(order)): chance
        for (group, order), chance in zip(held, (chances / chances.sum()).tolist(), strict=True)
    }


@every_mechanism
def test_the_aggregator_infers_group_and_ranking_by_bayes(mechanism: MechanismName) -> None:
    vote, inputs = make(mechanism)
    seen = see(vote, inputs, has_server=True)
    attack = FairVotingAttack(vote)
    joint = believed(vote, seen.reports[0][:1])
    for secret in SECRETS:
        found = attack.posteriors([seen], TARGET, secret=secret)
        assert found.probabilities[0].sum() == pytest.approx(1)
        assert found.log_odds_ratios[0] <= 1.5 + 1e-9
        assert attack.loss(secret, inputs.public, TARGET, seen.coalition) == pytest.approx(1.5)
    of_group = attack.posteriors([seen], TARGET, secret=GROUP)
    assert of_group.labels == ("g0", "g1")
    expected = [math.fsum(chance for (group, _), chance in joint.items() if group == name) for name in of_group.labels]
    assert of_group.probabilities[0] == pytest.approx(expected)
    of_favorite = attack.posteriors([seen], TARGET, secret=SECRETS[1])
    expected = [math.fsum(chance for (_, order), chance in joint.items() if order[0] == name) for name in "abc"]
    assert of_favorite.probabilities[0] == pytest.approx(expected)
    groups, _ = vote.members_of(inputs)
    assert attack.truths("group", inputs).tolist() == groups.tolist()


@every_mechanism
def test_all_other_voters_together_read_the_report_off_the_tally(mechanism: MechanismName) -> None:
    vote, inputs = make(mechanism)
    attack = FairVotingAttack(vote)
    for secret in SECRETS:
        by_server = attack.posteriors([see(vote, inputs, has_server=True)], TARGET, secret=secret)
        by_others = attack.posteriors([see(vote, inputs, *range(1, 7))], TARGET, secret=secret)
        assert by_others.probabilities == pytest.approx(by_server.probabilities, rel=1e-9)


@every_mechanism
def test_among_many_honest_voters_hardly_anything_is_inferred(mechanism: MechanismName) -> None:
    vote, inputs = make(mechanism, 40, 30)
    attack = FairVotingAttack(vote)
    seen = see(vote, inputs, *range(1, 20))
    one, other = (attack.posteriors([seen], np.array([place]), secret=GROUP) for place in (0, 50))
    assert one.probabilities == pytest.approx(other.probabilities)  # nothing tells them apart
    assert 0 < one.log_odds_ratios[0] < 1.5
    with pytest.raises(ConfigurationError, match="all but 30 and more"):
        attack.posteriors([see(vote, inputs, *range(1, 60))], TARGET, secret=GROUP)


def test_a_public_group_is_no_secret() -> None:
    vote, inputs = make("local")
    with pytest.raises(ConfigurationError, match="groups are public with mechanism 'local'"):
        FairVotingAttack(vote).posteriors([see(vote, inputs, has_server=True)], TARGET, secret=GROUP)


def test_of_many_alternatives_few_rankings_stand_for_all() -> None:
    vote, inputs = make("joint_pair", 3, 3, num_alternatives=8)
    seen = see(vote, inputs, has_server=True)
    found = FairVotingAttack(vote).posteriors([seen], TARGET, secret=GROUP)
    assert found.log_odds_ratios[0] <= 1.5 + 1e-9
    told = vote.phase.mechanism.log_likelihoods(
        seen.reports[0][:1],
        vote.encode({"group": ["g0", "g1"] * 2, "ranking": [list("abcdefgh")] * 2 + [list("hgfedcba")] * 2}).private,
    )
    weights = np.exp(told[0].reshape(2, 2)).sum(axis=0)
    assert found.probabilities[0] == pytest.approx(weights / weights.sum())


@every_mechanism
@pytest.mark.parametrize("sign", [1, -1])
def test_a_poisoner_reports_what_adds_most(mechanism: MechanismName, sign: int) -> None:
    """Of all reports that a voter could send, in the place of its own, none moves the welfare further."""
    vote, inputs = make(mechanism)
    session = ExtremeReports(vote, inputs, SimulatedNoise(5, session="s"), "b", sign)
    (poisoned,) = session.reports(TARGET)
    vote.phase.check_report(poisoned[0].tolist(), ())
    pushed = session.value_with(TARGET)
    assert sign * pushed >= sign * session.estimates()["b"].value
    if mechanism == "joint_pair":
        pair = vote.phase.mechanism
        assert isinstance(pair, JointPair)
        signs = [own for own in itertools.product((-1, 0, 1), repeat=2) if sum(map(abs, own)) == pair.num_signs]
        for every in itertools.product(range(3), signs):
            poisoned[0] = [every[0], *every[1]]
            assert sign * session.estimates([poisoned])["b"].value <= sign * pushed + 1e-9


def test_one_s_own_file_has_group_and_ranking() -> None:
    assert OWN_RANKING.write is not None
    vote, inputs = make("joint")
    assert OWN_RANKING.write(vote, {"group": "g1", "ranking": "b>a>c"}) == [("group", "ranking"), ("g1", "b > a > c")]
    groups, positions = vote.members_of(inputs)
    lines = OWN_RANKING.write(vote, {"group": groups[0], "ranking": positions[0]})
    own = dict(zip(*lines, strict=True))
    assert vote.encode_own(own, ()) == tuple(inputs.private[0].tolist())


def test_attacks_for_public_groups_alone_refuse_private_ones() -> None:
    vote, inputs = make("joint")
    context = AttackContext(vote, [f"voter-{number}" for number in range(1, 8)], inputs, "s")
    role = DifferencingRole(members=("voter-1",), target="voter-2")
    with pytest.raises(ConfigurationError, match="one in which the aggregator is trusted"):
        role.check(context)


def write(folder: Path, *, parameters: str = "", adversary: str = "") -> str:
    rows = [("ann", "north", "a > b > c"), ("bob", "south", "c > b > a"), ("cid", "north", "b > a > c")]
    table = ", ".join(f"{{voter = '{name}', group = '{group}', ranking = '{own}'}}" for name, group, own in rows)
    path = folder / "plans.toml"
    head = f'protocol = "fair-voting"\nvoters = [{table}]\n[parameters]\nmechanism = "joint"\nepsilon = 2.0\n'
    path.write_text(f"{head}{parameters}\n{adversary}", encoding="utf-8")
    return str(path)


def test_a_scenario_counts_the_groups_of_its_own_voters(tmp_path: Path) -> None:
    resolved = resolve(load_scenario(write(tmp_path), ["noise=simulated"]))
    assert resolved.protocol.parameters.group_sizes == (2, 1)
    by_agents = run_session(resolved, seed=1)
    assert isinstance(by_agents.outcome, Outcome)
    assert by_agents.outcome.num_reports == (3,)
    by_arrays = run_session(resolve(load_scenario(write(tmp_path), ["transport=array"])), seed=1)
    assert by_arrays.outcome == by_agents.outcome
