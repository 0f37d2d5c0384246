"""Adversaries of a whole series: Bayes from vote to vote, on what was really seen, and nothing twice."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_series, resolve_series
from psephos.scenarios.adversaries.averaging_attacker import AveragingAttackerRole
from psephos.scenarios.adversaries.over_votes import Belief, beliefs_over
from runs import read_json
from series_plans import hold, voted_in

Write = Callable[[str, str], Path]

HEAD = """
protocol = "dpwevote"
synthetic = true
seed = 5
[parameters]
weights = [1, 2, 3]
candidates = ["m"]
"""
PARTNERS = """
[partners]
count = 30
[[adversary]]
role = "coalition"
members = ["server"]
secret = "SECRET"
[[votes]]
absent = ["partner-2"]
[[votes]]
[[votes]]
"""


def wanting(secret: str) -> AveragingAttackerRole:
    return AveragingAttackerRole(secret=secret)


def of(belief: Belief, name: str) -> list[float]:
    return belief.probabilities[belief.names.index(name)].tolist()


@pytest.mark.few(most=1)
@pytest.mark.parametrize("secret", ["weight", "opinions"])
def test_the_last_belief_is_the_posterior_of_all_votes_together(tmp_path: Path, write: Write, secret: str) -> None:
    text = HEAD + "epsilon = 1.0\n" + PARTNERS.replace("SECRET", secret).replace('absent = ["partner-2"]\n', "")
    votes = voted_in(hold(write("plan.toml", text), tmp_path / "out"))
    role = wanting(secret)
    beliefs = beliefs_over(role.attack, votes)
    context = votes[0].context
    attack, _ = role.attack(context)
    seen = [voted.trace.seen(voted.context, voted.context.coalition(["server"])) for voted in votes]
    for number in (1, 2, 3):
        together = attack.posteriors(seen[:number], np.arange(30), secret=secret)
        np.testing.assert_allclose(beliefs[number - 1].probabilities, together.probabilities, rtol=1e-9)


def test_a_secret_is_followed_through_votes_on_other_matters(tmp_path: Path, write: Write) -> None:
    """The weight stays; opinions are on something new in each vote, and are summed out in each by itself."""
    text = HEAD.replace('candidates = ["m"]\n', "epsilon = 1.0\n") + PARTNERS.replace("SECRET", "weight")
    head, *votes_told = text.split("[[votes]]\n")
    told = (f'[[votes]]\nparameters = {{candidates = ["m{number}"]}}\n{own}' for number, own in enumerate(votes_told))
    text = head + "".join(told)
    votes = voted_in(hold(write("plan.toml", text), tmp_path / "out"))
    beliefs = beliefs_over(wanting("weight").attack, votes)
    belief = np.full(3, 1 / 3)
    for voted, after in zip(votes, beliefs, strict=True):
        if "partner-2" in voted.context.names:
            attack, secret = wanting("weight").attack(voted.context)
            place = np.array([voted.context.names.index("partner-2")])
            coalition = voted.context.coalition(["server"])
            seen = voted.trace.seen(voted.context, coalition)
            belief = attack.posteriors([seen], place, secret=secret, prior=belief).probabilities[0]
            np.testing.assert_allclose(of(after, "partner-2"), belief, rtol=1e-9)
        else:
            assert "partner-2" not in after.names
    assert [after.epsilon for after in beliefs] == [0.5, 1.0, 1.5]
    assert beliefs_over(wanting("opinions").attack, votes) == []  # which are on something else each time


@pytest.mark.parametrize("path", ["array", pytest.param("memory", marks=pytest.mark.full("the same bits by agents"))])
def test_what_a_game_repeats_teaches_nothing_more(tmp_path: Path, write: Write, path: str) -> None:
    game = 'game = "board"\nepsilon_weight = 0.5\nepsilon_opinion = 0.5\n'
    text = HEAD + game + PARTNERS.replace("SECRET", "weight")
    finished = hold(write("plan.toml", text), tmp_path / "out", f"transport={path}")
    votes = voted_in(finished)
    first, second, third = beliefs_over(wanting("weight").attack, votes)
    for name in third.names:  # the report of the first vote in which it was there, whoever else's was new in that
        voted = next(each for each in votes if name in each.context.names)
        attack, secret = wanting("weight").attack(voted.context)
        seen, place = (
            voted.trace.seen(voted.context, voted.context.coalition(["server"])),
            voted.context.names.index(name),
        )
        (alone,) = attack.posteriors([seen], np.array([place]), secret=secret).probabilities
        assert of(third, name) == pytest.approx(alone), name
    assert of(first, "partner-1") == pytest.approx(of(third, "partner-1"))
    assert second.probabilities == pytest.approx(third.probabilities)
    assert [each.epsilon for each in (first, second, third)] == [0.5, 0.5, 0.5]
    (attack_report,) = finished.attack_reports
    assert "59 reports were repeated from earlier votes, and told nothing new" in attack_report.sentences[0]
    # Without the game each vote tells more, at a price.
    fresh = hold(write("plan.toml", text.replace('game = "board"\n', "")), tmp_path / "fresh", f"transport={path}")
    beliefs = beliefs_over(wanting("weight").attack, voted_in(fresh))
    assert [each.epsilon for each in beliefs] == [0.5, 1.0, 1.5]
    assert beliefs[-1].max_belief > third.max_belief


def test_of_all_that_a_party_holds_a_vote_costs_what_it_paid_there(tmp_path: Path, write: Write) -> None:
    """A weight that a game repeats is paid once, also where weight and opinions are one secret."""
    game = 'game = "board"\nepsilon_weight = 0.5\nepsilon_opinion = 0.25\n'
    text = HEAD + game + PARTNERS.replace("SECRET", "weight and opinions").replace('absent = ["partner-2"]\n', "")
    beliefs = beliefs_over(
        wanting("weight and opinions").attack, voted_in(hold(write("plan.toml", text), tmp_path / "a"))
    )
    assert [each.epsilon for each in beliefs] == [0.75, 1.0, 1.25]
    text = text.replace('game = "board"\n', "")
    beliefs = beliefs_over(
        wanting("weight and opinions").attack, voted_in(hold(write("plan.toml", text), tmp_path / "b"))
    )
    assert [each.epsilon for each in beliefs] == [0.75, 1.5, 2.25]


def test_no_belief_is_surer_than_the_ledgers_allow(tmp_path: Path, write: Write) -> None:
    text = HEAD + "epsilon = 1.0\n" + PARTNERS.replace("SECRET", "weight")
    (attack_report,) = hold(write("plan.toml", text), tmp_path / "out").attack_reports
    for row in attack_report.rows:
        assert float(row["surest belief"]) <= float(row["at most"]) + 1e-9
    assert [row["targets"] for row in attack_report.rows] == [29, 30, 30]


def test_a_secret_that_changes_between_votes_adds_up_to_nothing(tmp_path: Path, write: Write) -> None:
    changed = "[votes.entries]\nweight = {partner-1 = 3, partner-3 = 1, partner-4 = 2, partner-5 = 3}\n"
    text = HEAD + "epsilon = 1.0\n" + PARTNERS.replace("SECRET", "weight") + changed
    assert not hold(write("plan.toml", text), tmp_path / "out").attack_reports


def test_a_server_over_a_series_is_held_to_the_ledgers_as_they_were(tmp_path: Path, write: Write) -> None:
    text = PARTNERS.replace("SECRET", "weight")
    finished = hold(
        write("plan.toml", "budget = 2\n" + HEAD + "epsilon = 1.0\n" + text), tmp_path / "out", "quorum=0.01"
    )
    # After two votes all but partner-2 are out of budget: the third tells of it alone.
    assert [len(each.names) for each in finished.held] == [29, 30, 1]
    (attack_report,) = finished.attack_reports
    assert [row["epsilon"] for row in attack_report.rows] == [0.5, 1.0, 1.0]
    told = read_json(tmp_path / "out" / "adversaries.json")
    assert told[0]["who"] == "the cloud server, over the series"
    assert (tmp_path / "out" / "adversary-1.csv").exists()


def test_a_role_that_has_nothing_to_say_of_a_series_says_nothing(tmp_path: Path, write: Write) -> None:
    text = PARTNERS.replace('"server"', '"partner-1"').replace("SECRET", "weight")
    finished = hold(write("plan.toml", HEAD + "epsilon = 1.0\n" + text), tmp_path / "out")
    assert not finished.attack_reports
    assert not (tmp_path / "out" / "adversaries.json").exists()


def test_a_target_may_be_away_from_a_vote_or_be_refused_by_its_budget(tmp_path: Path, write: Write) -> None:
    target = 'secret = "weight"\ntarget = "partner-2"\n'
    text = PARTNERS.replace('secret = "SECRET"\n', target)  # who is away from the first vote
    finished = hold(
        write("plan.toml", "budget = 1.5\n" + HEAD + "epsilon = 1.0\n" + text), tmp_path / "out", "quorum=0.01"
    )
    assert [len(each.names) for each in finished.held] == [29, 1, 0]
    (attack_report,) = finished.attack_reports
    assert [row["target"] for row in attack_report.rows] == ["voted"]
    assert attack_report.sentences[0].startswith("After 2 votes the likeliest weight of partner-2 is '")
    assert "the true one is" in attack_report.sentences[0]


def test_members_who_are_away_have_no_part_in_a_vote(tmp_path: Path, write: Write) -> None:
    members = '["server", "partner-2", "partner-3"]'
    text = HEAD + "epsilon = 1.0\n" + PARTNERS.replace('["server"]', members).replace("SECRET", "weight")
    (attack_report,) = hold(write("plan.toml", text), tmp_path / "out", "transport=array").attack_reports
    assert [row["targets"] for row in attack_report.rows] == [28, 28, 28]
    told = [read_json(tmp_path / "out" / f"vote-{number}" / "adversaries.json") for number in (1, 2)]
    assert [each[0]["who"] for each in told] == ["the cloud server and 1 partner", "the cloud server and 2 partners"]


def test_of_a_real_party_no_truth_is_told(tmp_path: Path, write: Write) -> None:
    text = (HEAD + "epsilon = 1.0\n").replace("synthetic = true\n", 'noise = "simulated"\n') + PARTNERS
    text = text.replace('secret = "SECRET"\n', 'secret = "weight"\ntarget = "ann"\n').replace(
        'absent = ["partner-2"]\n', ""
    )
    real = '[[partners]]\npartner = "ann"\nweight = 1\nm = 1\n[[partners]]\npartner = "bob"\nweight = 2\nm = 0\n'
    (attack_report,) = hold(
        write("plan.toml", text.replace("[partners]\ncount = 30\n", real)), tmp_path / "out", "transport=array"
    ).attack_reports
    assert "the likeliest weight of ann is" in attack_report.sentences[0]
    assert "the true one" not in attack_report.sentences[0]
    assert not any("named" in column for column in attack_report.rows[0])


def test_a_target_that_no_vote_knows_is_refused(write: Write) -> None:
    text = HEAD + "epsilon = 1.0\n" + PARTNERS.replace('secret = "SECRET"\n', 'target = "partner-99"\n')
    series = load_series(str(write("plan.toml", text)))
    with pytest.raises(ConfigurationError, match=r"adversary 1: target \(vote 1\) (is|are) .*a partner of the roster"):
        resolve_series(series)
