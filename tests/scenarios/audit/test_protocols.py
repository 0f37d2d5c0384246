"""Whole sessions are audited against the ledger: exact laws attain it, draws follow the laws, nothing exceeds it."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import pytest
from audits import found_by
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Parameters as ElectionParameters
from psephos.protocol.mechanisms import TwoLayer, loss_of_all_answers, loss_of_one_answer, uniform_for
from psephos.protocol.mechanisms.answer_perturbation import flip_probability_of
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.audit import AuditVerdict, Case
from psephos.scenarios.audit.bounds import epsilon_bounds, exact_epsilon
from psephos.scenarios.audit.case import NO_PLACE
from psephos.scenarios.audit.following import departure
from psephos.scenarios.audit.observables import exposure_of_party
from psephos.scenarios.audit.running import session_cases
from psephos.scenarios.audit.whole_sessions import charge
from psephos.scenarios.fair_voting.audit.neighbors import RankingCounts, law_of_winner
from psephos.scenarios.fair_voting.audit.sessions import LARGE_SIZES, disliked_alternative
from thoroughness import IS_FULL, draws

GROUPS = ("dpwevote", "truth-discovery", "moral-preferences", "fair-voting")
# A test finds a law or a loss wrong though it is right with this probability at most, and all tests with the other.
RISK = 5e-7
TOTAL_RISK = 2e-4
SAMPLES = draws(300, full=5_000)
FEW = draws(15, full=200)
ROUNDING = 1e-9


@functools.cache
def all_cases() -> dict[str, Case]:
    cases = session_cases()
    named = {f"{case.group}: {case.name}": case for case in cases}
    assert len(named) == len(cases)
    return named


def test_every_system_has_cases_and_their_risks_add_up_to_little() -> None:
    assert 2 * len(all_cases()) * RISK <= TOTAL_RISK
    assert {case.group for case in all_cases().values()} == set(GROUPS)


@pytest.mark.parametrize(
    ("name", "claimed", "proven"),
    [
        ("dpwevote: joint, one candidate", 1, 1),
        # ε/2 for the weight and ε/2 for each of two candidates, twice.
        ("dpwevote: joint, two candidates, twice", 3, 3),
        ("dpwevote: joint, two candidates, the weight alone, twice", 1, 1),
        ("dpwevote: laplace, weights again for each candidate, twice", 4, 4),
        # A game's weight is paid once: ε/2, and ε/2 for each of two candidates in each of two votes.
        ("dpwevote: joint, two votes of a game, twice", 2.5, 2.5),
        ("dpwevote: laplace, two votes of a game, twice", 2.5, 2.5),
        ("dpwevote: joint, two votes of a game, the weight alone, twice", 0.5, 0.5),
        ("dpwevote: optimal, two candidates, twice", 4, 4),
        ("truth-discovery: one_layer, 5 answers, twice", 10, 10),
        # Reading T3's numbers.
        ("truth-discovery: two_layer, 5 answers", 5, 3.7109),
        ("truth-discovery: two_layer, 5 answers, one of them", 1, 1.6806),
        ("truth-discovery: two_layer, 5 answers, claimed 0", 0, math.log(10)),
        ("moral-preferences: VLDP laplace, voter, own ε = 0.5, twice", 1, 1),
        ("moral-preferences: VLCP laplace, voter, there or not, twice", 2, 2),
        ("moral-preferences: VLDP laplace, voter, own ε = 1, chosen as it joins, twice", 2, 2),
        # Each public row has a price of its own: three tasks, the ternary one alone, the larger group.
        ("truth-discovery: one_layer, 3 of 5 tasks, twice", 6, 6),
        ("truth-discovery: one_layer, 3 of 2, 2 and 3 labels, twice", 2, 2),
        # Of two labels an answer costs half beside three.
        ("truth-discovery: central, 3 answers, twice", 6, 6),
        ("truth-discovery: central, 2, 2 and 3 labels", 2, 2),
        ("truth-discovery: central, 2 and 3 of 2, 2 and 3 labels", 1.5, 1.5),
        ("fair-voting: exponential, replace-one, group of 1", 1, 1),
        ("fair-voting: exponential, replace-one, group of 2", 1, 0.5),
        ("dpwevote: joint, two parties", 1.5, 1.5),
        ("moral-preferences: RLDP direction, voter", 2, 2),
        ("fair-voting: laplace, printed scale, replace-one, twice", 2, 8 / 3),
        ("fair-voting: laplace, printed scale, add-remove-one, twice", 2, 2),
    ],
)
def test_totals_are_those_of_a_ledger(name: str, claimed: float, proven: float) -> None:
    case = all_cases()[name]
    assert case.claimed == pytest.approx(claimed)
    assert case.proven == pytest.approx(proven, rel=2e-5)


def test_totals_of_two_layers_are_j_and_r() -> None:
    hyper = uniform_for(flip_probability_of(1.0, 2))
    both = all_cases()["truth-discovery: two_layer, 5 answers, twice"]
    one = all_cases()["truth-discovery: two_layer, 5 answers, one of them, twice"]
    assert both.proven == pytest.approx(2 * loss_of_all_answers((2,) * 5, hyper))
    assert one.proven == pytest.approx(2 * loss_of_one_answer((2,) * 5, hyper))
    assert (both.claimed, one.claimed) == pytest.approx((10, 2))


@pytest.mark.parametrize("group", GROUPS)
def test_no_session_loses_more_than_the_ledger_says(group: str) -> None:
    """False alarm: 1e-6 a case. Exact where laws are known; then what is drawn must follow them as well."""
    for case in all_cases().values():
        if case.group == group and (IS_FULL or "among agents" not in case.name):
            check_loss(case)


def check_loss(case: Case) -> None:
    (pair,) = case.pairs()
    assert pair.draws is not None, case.name
    number = FEW if case.share < 0.2 else SAMPLES
    outputs = [draw(number, 5) for draw in pair.draws]
    if pair.laws is not None:
        assert exact_epsilon(pair.laws) <= case.proven + ROUNDING, case.name
        for law, own in zip(pair.laws, outputs, strict=True):
            hits = np.bincount(own[:, 0], minlength=len(law))
            assert not departure(np.append(hits, 0), law, number, RISK), case.name
        return
    assert pair.score is not None, case.name
    # One event, chosen before anything is drawn: that the score speaks for the first neighbor.
    hits = [np.array([np.count_nonzero(pair.score(own) > 0)]) for own in outputs]
    for likely, unlikely in (hits, [number - each for each in hits[::-1]]):
        assert float(epsilon_bounds(likely, unlikely, number, RISK)[0]) <= case.proven, case.name


def test_audits_say_what_the_ledger_allows() -> None:
    """False alarm: 5e-7 each."""
    verdicts = {
        "dpwevote: joint, two candidates, twice": AuditVerdict.CONSISTENT,
        "truth-discovery: two_layer, 5 answers, claimed 0": AuditVerdict.CLAIM_REFUTED,
        "fair-voting: sampling, group, printed, 500 and 1,001 voters": AuditVerdict.CLAIM_REFUTED,
        "moral-preferences: VLDP laplace, voter, own ε = 2, twice": AuditVerdict.CONSISTENT,
    }
    for name, verdict in verdicts.items():
        assert found_by(all_cases()[name], SAMPLES, 1 - RISK).verdict is verdict


@pytest.mark.parametrize("group", [group for group in GROUPS if group != "moral-preferences"])
def test_neighbors_attain_what_is_proven(group: str) -> None:
    """By the exact law, or where outputs are many by the greatest score at the first neighbor's likeliest output."""
    for case in all_cases().values():
        if case.group != group or not case.is_tight:
            continue
        (pair,) = case.pairs()
        if pair.laws is not None:
            assert exact_epsilon(pair.laws) == pytest.approx(case.proven, rel=1e-6), case.name
            assert pair.laws.sum(axis=1) == pytest.approx([1, 1])
            continue
        assert pair.draws is not None
        assert pair.score is not None
        scores = pair.score(pair.draws[0](1_000, 1))
        assert float(scores.max()) == pytest.approx(case.proven, rel=1e-6), case.name
        assert float(scores.min()) >= -case.proven - ROUNDING, case.name


@pytest.mark.parametrize(
    "name",
    ["dpwevote: joint, two candidates, twice", "moral-preferences: VLCP laplace, voter, twice"],
)
def test_loss_that_is_understated_is_found(name: str) -> None:
    """An audit must be able to fail. By the law without chance, or with room of many standard errors."""
    case = all_cases()[name]
    understated = dataclasses.replace(case, proven=case.proven / 4, claimed=0.0, share=1.0)
    assert found_by(understated, draws(1_000, full=5_000), 1 - RISK).verdict is AuditVerdict.PROOF_REFUTED


def test_repeated_votes_share_no_noise() -> None:
    (pair,) = all_cases()["dpwevote: laplace, two candidates, twice"].pairs()
    assert pair.draws is not None
    outputs = pair.draws[0](100, 3)
    width = outputs.shape[1] // 2
    assert not np.any(np.all(outputs[:, :width] == outputs[:, width:], axis=1))
    others = pair.draws[1](100, 3)
    assert not np.any(np.all(outputs == others, axis=1))
    assert np.array_equal(outputs, pair.draws[0](100, 3))


def test_independent_outputs_are_what_agents_draw_at_their_places() -> None:
    vote = DPWeVote(Parameters(candidates=("a", "b"), variant="laplace"))
    rows = vote.encode({"weight": [1, 3], "a": [0, 1], "b": [1, 1]}).private
    observable = exposure_of_party(vote, rows, (), num_sessions=1)
    for part, phase in zip(observable.parts, vote.phases, strict=True):
        drawn = part.draw(1, 5, SimulatedNoise(7, session="views"))
        agent = SimulatedNoise(7, session="views")
        values = rows[1, phase.columns].tolist()
        of_agents = [
            agent.randomize(phase.mechanism, values, protocol=vote.name, phase=phase.name, place=place)
            for place in range(5)
        ]
        assert drawn.tolist() == of_agents


def test_ledger_is_charged_phase_by_phase() -> None:
    vote = DPWeVote(Parameters(candidates=("a", "b"), variant="joint", weight_collection="per_candidate"))
    row = vote.encode({"weight": [1], "a": [0], "b": [1]}).private[0].tolist()
    entries = charge(vote, row, (), num_sessions=2)
    assert [entry.phase for entry in entries] == ["weights-1", "opinions-1", "weights-2", "opinions-2"] * 2
    assert len({entry.session for entry in entries}) == 2


def test_law_of_a_winner_adds_up_over_sub_samples() -> None:
    """Two voters of each group, one sampled: the mean of the laws of all four choices."""
    given: dict[str, Any] = {
        "alternatives": ("a", "b", "c"),
        "groups": ("left", "right"),
        "mechanism": "sampling",
        "num_samples": 1,
    }
    vote = FairVoting(ElectionParameters(**given, group_sizes=(2, 2), reading="subsample"))
    single = FairVoting(ElectionParameters(**given, group_sizes=(1, 1)))

    def counts(*places: int) -> tuple[int, ...]:
        return tuple(places.count(place) for place in range(6))

    law = law_of_winner(vote, RankingCounts(counts(0, 3), counts(5, 5)))
    each = [law_of_winner(single, RankingCounts(counts(place), counts(5))) for place in (0, 3)]
    assert law == pytest.approx(np.mean(each, axis=0))
    assert math.fsum(law.tolist()) == pytest.approx(1)


def test_disliked_alternative_is_disliked_by_all_but_one() -> None:
    given: dict[str, Any] = {
        "alternatives": ("a", "b", "c", "d"),
        "groups": ("left", "right"),
        "group_sizes": LARGE_SIZES,
    }
    before, after = disliked_alternative(FairVoting(ElectionParameters(**given)))
    assert [sum(own) for own in (*before, *after)] == [*LARGE_SIZES] * 2
    assert before.right == after.right
    assert sum(abs(one - other) for one, other in zip(before.left, after.left, strict=True)) == 2


def test_a_report_that_no_candidate_has_is_no_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label of another answer set, and none at all."""
    case = all_cases()["truth-discovery: two_layer, 2, 2 and 3 labels"]
    (pair,) = case.pairs()
    assert pair.laws is not None
    assert pair.draws is not None
    usual = TwoLayer.randomize_rows

    def strange(mechanism: TwoLayer, values: IntArray, uniforms: FloatArray) -> IntArray:
        reports = usual(mechanism, values, uniforms)
        reports[0, 0], reports[1, 0] = mechanism.report_range[1], mechanism.report_range[1] + 1
        return reports

    monkeypatch.setattr(TwoLayer, "randomize_rows", strange)
    places = pair.draws[0](FEW, 1)[:, 0]
    assert places[:2].tolist() == [NO_PLACE, NO_PLACE]
    assert np.all((places[2:] >= 0) & (places[2:] < pair.laws.shape[1]))
