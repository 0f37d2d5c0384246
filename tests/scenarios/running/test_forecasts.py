"""What a vote can tell is said before it is held, and holds for every truth: by the exact law of all reports."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from bad_input import Psephos
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.parameters import VariantName
from psephos.protocol.dpwevote.signed import make_report
from psephos.protocol.phases import Inputs
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.running import forecasts
from psephos.scenarios.running.forecasts import Forecast, forecast
from scipy import stats


def said_of(scenario: str, *settings: str) -> str:
    resolved = resolve(load_scenario(scenario, settings))
    return forecast(resolved.protocol, resolved.inputs)


@pytest.mark.full("thousands of votes")
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13, 40, 200, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_one_person_one_vote_is_wrong_as_seldom_as_said(number: int, epsilon: float) -> None:
    """Of every number of yes votes, by the sum of two binomial laws."""
    vote = DPWeVote(Parameters(candidates=("a",), weights=(1.0,), public_weights=True, epsilon=epsilon))
    reach = vote.reach(np.zeros((number, 2), dtype=np.int64))
    assert reach is not None
    keep = 1 / (1 + math.exp(-epsilon))
    wrong: list[float] = []
    for yes in range(number + 1):
        law = np.convolve(
            stats.binom.pmf(np.arange(yes + 1), yes, keep),
            stats.binom.pmf(np.arange(number - yes + 1), number - yes, 1 - keep),
        )
        passing = float(law[math.ceil(number / 2) :].sum())  # at least half of all reports
        wrong.append(1 - passing if yes >= number / 2 else passing)
    margins = np.abs(np.arange(number + 1) - number / 2)
    assert all(chance <= 0.05 for chance, margin in zip(wrong, margins, strict=True) if margin >= reach)
    exact = max((margin for chance, margin in zip(wrong, margins, strict=True) if chance > 0.05), default=0.0)
    assert exact < reach or max(wrong) <= 0.05  # where all is told, no margin is too small
    assert exact == margins.max() or reach < 1.5 * exact + 2  # a bound that says something


@pytest.mark.full("thousands of votes")
@pytest.mark.parametrize("variant", ["two_point", "signed_rr", "optimal", "joint"])
@pytest.mark.parametrize(("number", "epsilon"), [(1, 16.0), (2, 12.0), (5, 10.0), (6, 8.0)])
def test_private_weights_are_decided_as_seldom_wrongly_as_said(
    variant: VariantName, number: int, epsilon: float
) -> None:
    """Of all partners with all weights and opinions, by the exact law of what their reports add up to."""
    parameters = Parameters(candidates=("a",), weights=(1.0, 2.0), variant=variant, epsilon=epsilon)
    vote = DPWeVote(parameters)
    reach = vote.reach(np.empty((number, 0), dtype=np.int64))
    assert reach is not None
    holdings = [(weight, opinion) for weight in (1.0, 2.0) for opinion in (0, 1)]
    if variant == "joint":
        weights, opinions = parameters.make_weight_mechanism(), parameters.make_opinion_mechanism()
        w = np.linalg.inv(weights.channel_matrix()) @ [1.0, 2.0]
        o = np.linalg.inv(opinions.channel_matrix()) @ [0.0, 1.0] - 0.5
        channel = np.kron(weights.channel_matrix(), opinions.channel_matrix())
        adds = np.outer(w, o).ravel()
        laws = dict(zip(holdings, channel.tolist(), strict=True))
    else:
        report = make_report(parameters)
        adds = np.array([float(estimate) for estimate in report.estimates])
        order = sorted(holdings, key=lambda held: held[0] * (held[1] - 0.5))
        laws = dict(zip(order, np.array(report.mechanism.channel_matrix()).tolist(), strict=True))
    num_told = 0
    for held in itertools.combinations_with_replacement(holdings, number):
        margin = math.fsum(weight * (opinion - 0.5) for weight, opinion in held)
        if abs(margin) < reach:
            continue
        num_told += 1
        law: Counter[float] = Counter({0.0: 1.0})
        for one in held:
            after: Counter[float] = Counter()
            for so_far, chance in law.items():
                for added, own in zip(adds.tolist(), laws[one], strict=True):
                    after[round(so_far + added, 9)] += chance * own
            law = after
        wrong = math.fsum(chance for total, chance in law.items() if (total >= 0) != (margin >= 0))
        assert wrong <= 0.05, (held, wrong)
    assert num_told or variant == "two_point"  # whose greater report is larger than any weight


def test_a_price_that_is_named_tells_what_it_says() -> None:
    said = said_of("consortium", "epsilon=0.3", "variant=optimal")
    assert (
        "2,000 partners at ε = 0.3 can only tell margins of 20 % (70 : 30) and more of all votes, "
        "if weights are 2 on average" in said
    )
    price = float(said.partition(" take ε = ")[2].partition(" ")[0])
    for epsilon, is_enough in ((price, True), (0.97 * price, False)):
        vote = DPWeVote(Parameters(candidates=("merger",), weights=(1, 2, 3), variant="two_point", epsilon=epsilon))
        reach = vote.reach(np.empty((2000, 0), dtype=np.int64))
        assert reach is not None
        assert (reach <= 0.1 * 2000 * 2) == is_enough


def test_nothing_is_said_where_margins_are_told_or_no_bound_is_known() -> None:
    assert not said_of("consortium", "epsilon=2", "variant=two_point")
    assert not said_of("consortium", "variant=printed")
    assert not said_of("two-societies")


def test_who_could_be_trusted_instead_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Forecast(epsilon=2, share=0.41, most=0.5, price=10.2, by="joint", whole="of all votes")
    trusting = Forecast(
        trust="let someone trusted count", epsilon=2, share=0.01, most=0.5, price=0.6, by="laplace", whole=own.whole
    )
    vote = DPWeVote(Parameters(candidates=("a",)))
    inputs = Inputs(np.zeros((30, 3), dtype=np.int64), np.empty((30, 0), dtype=np.int64))

    def both(*_: object) -> tuple[Forecast, ...]:
        return own, trusting

    def part_of(*_: object) -> Callable[..., tuple[Forecast, ...]]:
        return both

    monkeypatch.setattr(forecasts, "part_of", part_of)
    assert forecast(vote, inputs) == (
        "30 partners at ε = 2 can only tell margins of 41 % (91 : 9) and more of all votes: closer ones may stay "
        "undecided. For margins of 10 % (60 : 40) and more take ε = 10.2 (joint), or let someone trusted count "
        "(ε = 0.6)."
    )


def test_what_may_stay_undecided_is_announced_before_anybody_votes(psephos: Psephos) -> None:
    ended = psephos("run", "eu-council", "--set", "epsilon=0.5", "--no-pictures")
    told = " ".join(ended.out.split())
    said = "27 partners at ε = 1.5 may stay undecided even if all agree. For margins of 10 %"
    assert -1 < told.find(said) < told.find("Verdict: ")
    quiet = psephos("run", "eu-council", "--set", "epsilon=0.5", "--no-pictures", "--json")
    assert json.loads(quiet.out)["protocol"] == "dpwevote"
    assert "may stay undecided" not in quiet.out
    assert said in " ".join(quiet.err.split())
