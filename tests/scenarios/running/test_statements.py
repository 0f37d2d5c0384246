"""Trust and prices are said as they were resolved, and never as a scenario's own words have them."""

import itertools
import math
import re
from typing import Any

import pytest
from psephos.protocol.privacy import (
    NeighboringRelation,
    PartLoss,
    PrivacyLoss,
    PureMechanism,
    TrustModel,
)
from psephos.scenarios.running.config import list_scenarios, load_scenario
from psephos.scenarios.running.resolution import resolve
from psephos.scenarios.running.session_facts import prices_of
from psephos.scenarios.running.statements import (
    certainty_of,
    describe_bound,
    meaning_of,
    setting_of,
    trust_in,
    warning_of,
)

# What only the resolved run can say: who is trusted, who randomizes, and how much ε is.
COMPUTED = re.compile(
    r"(aggregator|server) is trusted|[Nn]obody is trusted|(epsilon|ε) is \d|than epsilon allows"
    r"|(randomiz|perturb)\w* (its|their) own|whom they trust|who trust"
)


def loss(epsilon: float, *, unit: str = "vote", **options: Any) -> PrivacyLoss:
    """Return a loss in the local model."""
    given: dict[str, Any] = {"relation": NeighboringRelation.REPLACE_ONE, "model": TrustModel.LOCAL, **options}
    return PrivacyLoss(mechanism="m", event=PureMechanism(epsilon), unit=unit, claimed=epsilon, **given)


def test_prices_of_several_persons_are_those_of_who_pays_most_in_whatever_order() -> None:
    """Of each price by itself: who pays most in all need not be who pays most for a part, or for being there."""
    hidden: dict[str, Any] = {"relation": NeighboringRelation.ADD_OR_REMOVE_ONE, "model": TrustModel.CENTRAL}
    part = PartLoss(unit="answer", claimed=0.1, proven=0.1)
    persons = [[loss(1.0)], [loss(0.5), loss(0.75, part=part)], [loss(0.25, **hidden)], [loss(0.6, unit="weight")]]
    for order in itertools.permutations(persons):
        found = prices_of(*order)
        assert (found.replaced, found.participation) == (1.25, 0.25)
        assert found.finest == ((1.0, ("one vote",)), (0.6, ("one weight",)), (0.1, ("one answer",)))
    for person in persons:
        alone = prices_of(person)
        assert alone.replaced is not None
        assert alone.replaced <= 1.25
        assert not alone.participation or person == persons[2]


@pytest.mark.parametrize("name", sorted(list_scenarios()))
def test_a_shipped_scenario_says_nothing_that_a_setting_makes_false(name: str) -> None:
    scenario = load_scenario(name)
    for told in (scenario.title, scenario.description, scenario.trust):
        assert not COMPUTED.search(" ".join(told.split()))


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        (
            "eu-council",
            [],
            "27 partners · privacy loss per person: ε = 9 proven (replace-one) · local model: nobody is",
        ),
        (
            "two-societies",
            ["epsilon=0.5"],
            "1,500 voters · privacy loss per person: ε = 0.5 proven (replace-one) · central model: the aggregator is",
        ),
        (
            "moral-synthetic",
            ["relation=add-remove-one", "num_voters=200"],
            (
                "up to 200 voters · privacy loss per person: ε = 1 proven (add-remove-one) · central model: "
                "the aggregator is"
            ),
        ),
    ],
)
def test_the_setting_of_a_picture_follows_from_what_was_resolved(name: str, settings: list[str], said: str) -> None:
    resolved = resolve(load_scenario(name, settings))
    assert setting_of(resolved.protocol, len(resolved.names)) == f"{said} trusted"


@pytest.mark.parametrize(
    ("settings", "said", "epsilon"),
    [
        ((), "The aggregator is trusted", 0.6),
        (("mechanism=local",), "Nobody is trusted with private values", 0.6),
        (("mechanism=sampled_pair", "epsilon=2"), "Nobody is trusted with private values", 2),
    ],
)
def test_trust_is_that_of_the_mechanism_that_is_set(settings: tuple[str, ...], said: str, epsilon: float) -> None:
    trust = trust_in(resolve(load_scenario("two-societies", settings)).protocol)
    assert trust.startswith(said)
    assert trust.count("trusted") == 1
    assert f"than ε = {epsilon:g} in all allows (replace-one)" in trust
    assert trust.endswith("Public of each person: group.")


def test_the_price_is_the_one_that_is_set() -> None:
    assert "ε = 9 in all" in trust_in(resolve(load_scenario("eu-council")).protocol)
    assert "ε = 3 in all" in trust_in(resolve(load_scenario("eu-council", ["epsilon=1"])).protocol)


def test_the_relation_that_is_set_is_said() -> None:
    trust = trust_in(resolve(load_scenario("two-societies", ["relation=add-remove-one"])).protocol)
    assert "ε = 0.6 in all allows (add-remove-one)" in trust


def test_what_no_epsilon_bounds_is_said_to_be_unbounded() -> None:
    settings = ["mechanism=sampling", "epsilon=2", "reading=group", "gamma=0"]
    protocol = resolve(load_scenario("two-societies", settings)).protocol
    assert math.isinf(protocol.losses[0].proven)
    assert "more of one person than any ε bounds" in trust_in(protocol)


def test_certainty_is_what_randomized_response_attains() -> None:
    """Binary randomized response of ε is right with e^ε/(1 + e^ε), which is what a report tells from even odds."""
    assert certainty_of(0) == 0.5
    assert certainty_of(math.log(3)) == pytest.approx(0.75)
    assert certainty_of(math.inf) == 1


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.5, "up to 50.0 %"),
        (certainty_of(1), "up to 73.2 %"),  # .73106, and a bound is not rounded down
        (certainty_of(3), "up to 95.3 %"),
        (certainty_of(9), "up to 99.988 %"),
        (certainty_of(30), "over 99.9999 %"),
        (1.0, "over 99.9999 %"),
    ],
)
def test_a_bound_is_rounded_up_and_never_to_certainty(probability: float, said: str) -> None:
    assert describe_bound(probability) == said


def test_what_epsilon_means_is_said_in_all_and_for_each_unit() -> None:
    lines = meaning_of([loss(0.5, unit="weight"), loss(0.5, unit="opinion")], party="partner")
    assert lines == [
        "Whoever had no idea (50 : 50) ends at most 73.2 % sure of one person's vote (ε = 1).",
        "Of one weight or of one opinion, if all else is known: up to 62.3 % (ε = 0.5).",
    ]
    assert len(meaning_of([loss(1.0)])) == 1


def test_an_epsilon_of_a_part_is_said_by_itself() -> None:
    whole = loss(2.0, unit="all answers of a worker", part=PartLoss(unit="one answer", claimed=1.0, proven=1.0))
    assert meaning_of([whole])[1] == "Of one answer, if all else is known: up to 73.2 % (ε = 1)."


def test_hidden_participation_has_its_own_certainty_and_a_vote_twice_the_price() -> None:
    hidden = loss(1.0, relation=NeighboringRelation.ADD_OR_REMOVE_ONE, model=TrustModel.CENTRAL)
    assert meaning_of([hidden], party="voter") == [
        "Whoever had no idea (50 : 50) ends at most 88.1 % sure of one person's vote (ε = 2).",
        "Whoever had no idea (50 : 50) ends at most 73.2 % sure of whether one person takes part (ε = 1).",
    ]


def test_above_95_percent_a_sentence_says_that_little_is_protected() -> None:
    council = resolve(load_scenario("eu-council")).protocol
    assert (
        warning_of(council.losses)
        == "Little protection: at ε = 9 in all and ε = 3 for one opinion someone can become over 95 % sure."
    )
    limit = math.log(19)  # 19 to 1 is 95 %
    assert not warning_of([loss(limit - 1e-6)])
    assert warning_of([loss(limit + 1e-6)]).startswith("Little protection: at ε = 2.94444 in all")
    assert not warning_of([])


def test_losses_without_a_bound_protect_little_and_name_no_number() -> None:
    free = loss(math.inf)
    assert meaning_of([free], party="voter") == ["No proven ε bounds how sure someone can become of one person's vote."]
    assert "Little protection" in warning_of([free])
