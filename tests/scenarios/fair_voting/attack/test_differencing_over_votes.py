"""Differencing over a series: the beliefs are those of both outcomes together, whoever of the votes is the first."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bad_input import Write
from psephos.protocol.fair_voting import FairVoting
from psephos.scenarios import FinishedSeries, RunFolder, load_series, resolve_series, run_series
from psephos.scenarios.adversaries.over_votes import Belief
from psephos.scenarios.adversaries.role import Voted
from psephos.scenarios.attacks import Seen
from psephos.scenarios.fair_voting.attack.differencing_over_votes import beliefs_of_elections
from psephos.scenarios.fair_voting.attack.inference import Change, FairVotingAttack
from psephos.scenarios.fair_voting.attack.two_elections import TwoElections

HEAD = """
protocol = "fair-voting"
made_up = true
seed = 3
voters = [
    {voter = "ann", group = "hill", ranking = "bridge > ferry > tunnel"},
    {voter = "bob", group = "hill", ranking = "bridge > tunnel > ferry"},
    {voter = "cat", group = "hill", ranking = "tunnel > bridge > ferry"},
    {voter = "dan", group = "shore", ranking = "ferry > bridge > tunnel"},
    {voter = "eve", group = "shore", ranking = "ferry > tunnel > bridge"},
]
[parameters]
objective = "parity"
epsilon = 3.0
alternatives = ["bridge", "ferry", "tunnel"]
[[adversary]]
role = "differencing"
members = ["bob"]
target = "ann"
trials = 1
"""
AWAY = '[[votes]]\nabsent = ["ann"]\n'
LEFT = f"[[votes]]\n{AWAY}"
JOINED = f"{AWAY}[[votes]]\n"
CHANGED = '[[votes]]\n[[votes]]\n[votes.entries]\nranking = {ann = "tunnel > ferry > bridge"}\n'


def hold(text: str, folder: Path, write: Write, *settings: str) -> FinishedSeries:
    series = load_series(str(write("plan.toml", HEAD + text)), settings)
    return run_series(series, resolve_series(series), RunFolder(folder), pictures=False)


def voted_in(finished: FinishedSeries, members: Sequence[str]) -> list[Voted]:
    votes: list[Voted] = []
    for each in finished.held:
        assert each.finished is not None
        assert each.finished.happened is not None
        scene, happened = each.finished.happened
        number = each.vote.number
        votes.append(
            Voted(
                number=number, members=members, scene=scene, happened=happened, paid=each.paid, repeated=each.repeated
            )
        )
    return votes


def seen_in(voted: Voted) -> Seen:
    return voted.happened.seen(voted.scene, voted.scene.coalition(voted.members))


def protocol_of(voted: Voted) -> FairVoting:
    assert isinstance(voted.scene.protocol, FairVoting)
    return voted.scene.protocol


def beliefs_in(votes: Sequence[Voted]) -> list[Belief]:
    return beliefs_of_elections(votes, target="ann", secret="ranking")  # noqa: S106  what is inferred


@pytest.mark.parametrize("mechanism", ["laplace", "exponential"])
@pytest.mark.parametrize(("text", "change"), [(LEFT, "left"), (CHANGED, "changed")])
def test_two_votes_of_a_series_teach_what_two_elections_do(
    tmp_path: Path, write: Write, mechanism: str, text: str, change: Change
) -> None:
    votes = voted_in(hold(text, tmp_path / "out", write, f"mechanism={mechanism}", "transport=array"), ["bob"])
    first, second = votes
    elections = TwoElections(FairVotingAttack(protocol_of(first), seed=first.scene.seed), protocol_of(second), change)
    expected = elections.posteriors((seen_in(first), seen_in(second)), target=0, secret="ranking")  # noqa: S106  no password
    alone = elections.first.posteriors([seen_in(first)], np.zeros(1, dtype=np.int64), secret="ranking")  # noqa: S106  no password
    after_one, after_both = beliefs_in(votes)
    np.testing.assert_allclose(after_one.probabilities, alone.probabilities, rtol=1e-9)
    np.testing.assert_allclose(after_both.probabilities, expected.probabilities, rtol=1e-9)
    # cat is unknown in both, so that the second outcome tells of ann, also where ann is not in it.
    assert not np.allclose(after_one.probabilities, after_both.probabilities, rtol=1e-6)
    assert after_one.epsilon == pytest.approx(first.paid["ann"])
    assert after_both.epsilon == pytest.approx(elections.bound(0))


@pytest.mark.parametrize("transport", ["array", "memory"])
def test_who_joins_later_is_told_by_the_election_before(tmp_path: Path, write: Write, transport: str) -> None:
    finished = hold(JOINED, tmp_path / "out", write, "mechanism=exponential", f"transport={transport}")
    before, after = beliefs_in(votes := voted_in(finished, ["bob"]))
    np.testing.assert_allclose(before.probabilities, 1 / 6)
    assert [before.epsilon, after.epsilon] == [0.0, votes[1].paid["ann"]]
    # The same two elections in the other order.
    turned = beliefs_in(votes[::-1])
    np.testing.assert_allclose(turned[-1].probabilities, after.probabilities, rtol=1e-9)
    (lesson,) = finished.lessons
    assert [row["target"] for row in lesson.rows] == ["away", "voted"]
    assert all(float(row["surest belief"]) <= float(row["at most"]) + 1e-9 for row in lesson.rows)
    assert lesson.sentences[0].startswith("After 2 votes the likeliest ranking of ann is '")
    assert "the true one is 'bridge > ferry > tunnel'" in lesson.sentences[0]
    # The vote without ann has no lesson of its own, and the other one has.
    assert not (tmp_path / "out" / "vote-1" / "adversaries.json").exists()
    assert (tmp_path / "out" / "vote-2" / "adversaries.json").exists()


@pytest.mark.parametrize("mechanism", ["laplace", "exponential"])
def test_elections_of_other_unknown_voters_are_not_compared(tmp_path: Path, write: Write, mechanism: str) -> None:
    elsewhere = '[[votes]]\n[[votes]]\nabsent = ["ann", "dan"]\n'  # who is in no sum of ann's group
    finished = hold(elsewhere, tmp_path / "out", write, f"mechanism={mechanism}", "transport=array")
    assert len(finished.lessons) == (mechanism == "laplace")
    otherwise = elsewhere.replace("dan", "cat")
    assert not hold(otherwise, tmp_path / "more", write, f"mechanism={mechanism}", "transport=array").lessons
