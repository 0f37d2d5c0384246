"""Variants: one price for all, errors in the system's own unit, and prices for errors that are wanted."""

import io
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np
import pytest
from bad_input import Psephos, Write
from distributions import installed
from psephos.protocol.fair_voting.kinds import JOINT
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, LocalHashing, SubsetSelection
from psephos.protocol.privacy import TrustModel, total_of
from psephos.scenarios import list_scenarios, load_scenario, resolve
from psephos.scenarios.experiments import variants
from psephos.scenarios.experiments.counting import counting_errors
from psephos.scenarios.experiments.plain_variants import PlainVariants
from psephos.scenarios.experiments.variants import VariantTable, epsilon_at, price_for, table_of
from psephos.scenarios.experiments.variants_shown import describe_trusted, show_variants
from psephos.scenarios.system import find_protocol, part_of
from psephos.scenarios.verdicts import round_up
from rich.console import Console

SAMPLED = [word for each in ("mechanism=sampling", "gamma=0", "num_samples=20") for word in ("--set", each)]
SMALL = {
    "crowd": ("workers.tasks=30", "workers.workers=9", "workers.answers_per_task=5"),
    "two-societies": ("voters.groups.north.voters=60", "voters.groups.south.voters=40"),
    "moral-synthetic": ("voters.voters=20", "voters.records=8"),
}


def table(name: str, *settings: str, trials: int = 4) -> VariantTable:
    scenario = load_scenario(name, [*SMALL.get(name, ()), *settings])
    kind = part_of(find_protocol(scenario.protocol), "variants", VariantTable, is_class=True)
    return table_of(kind, scenario, trials=trials)


@pytest.mark.parametrize(("name", "number"), [("truth-masked", 200), ("truth-masked", 3), ("moral-masked", 12)])
def test_a_masked_session_of_other_people_has_sizes_in_its_proportion(name: str, number: int) -> None:
    compared = table(name)
    more = compared.with_people(number)
    assert len(more.resolved.names) == number
    left = number * (len(compared.resolved.names) - compared.parameters.threshold) // len(compared.resolved.names)
    assert more.parameters.threshold == number - left
    assert 2 * more.parameters.threshold > number + more.parameters.colluders


@pytest.mark.few(most=1)
@pytest.mark.parametrize("name", SMALL)
def test_all_variants_have_the_session_s_price_or_less(name: str) -> None:
    """And what a variant is said to cost is what a session with its settings costs."""
    compared = table(name)
    offers = compared.offers()
    assert len(offers) > 5
    for offered in offers:
        assert offered.epsilon <= compared.price * (1 + 1e-6)
        assert offered.epsilon >= 0.6 * compared.price
        kept = {key: value for key, value in offered.settings.items() if value is not None}
        given = [f"{key}={json.dumps(value)}" for key, value in kept.items() if key != "covariance"]
        priced = [key for key in ("epsilon_worker",) if key in kept]
        scenario = load_scenario(name, [*SMALL[name], *given])
        if priced:  # in place of the scenario's own ε
            scenario.parameters.pop("epsilon", None)
        assert total_of(resolve(scenario).protocol.losses).proven == pytest.approx(offered.epsilon)


CROSSINGS = ("women × vegan", "women × any", "men × vegan", "men × any")
FEW_OF_EACH = [f"voters.groups.{name}.voters={number}" for name, number in zip(CROSSINGS, (9, 14, 6, 11), strict=True)]


@pytest.mark.few(most=1)
@pytest.mark.parametrize("name", ["two-societies", "two-features"])
def test_samples_to_a_proven_epsilon_are_a_variant_at_their_price(name: str) -> None:
    few = SMALL.get(name, FEW_OF_EACH)
    compared = table(name, *few, "mechanism=sampling", "calibration=proven", "epsilon=2")
    offered = compared.offer("sampling", 2.5)
    assert offered is not None
    assert compared.price < offered.epsilon <= 2.5
    assert offered.settings["epsilon"] == 2.5
    assert compared.offer("laplace", compared.price) is not None
    assert any("that serve best" in note for note in compared.notes([offered]))
    assert compared.offer("sampling", 1e-6) is None


def test_weights_of_one_s_own_leave_no_estimator_out_and_a_law_of_one_s_own_has_its_row() -> None:
    """Estimators that take no weight function were missing, and nothing said so."""
    compared = table("hyper-laws", "normalization=all", trials=2)
    offers = {offered.name: offered for offered in compared.offers()}
    assert offers.keys() == {*compared.names}
    assert {"two_layer, crh", "two_layer, one_coin", "two_layer, noise_aware_crh"} <= offers.keys()
    own = offers["own law, truth_discovery"]
    assert own.epsilon == compared.price
    assert set(own.settings) == {"estimator", "rounds"}
    assert compared.offer("own law, truth_discovery", compared.price / 2) is None
    notes = " ".join(compared.notes([own]))
    assert "the session's own hyper-distribution" in notes
    missing = "central, majority; fresh_two_layer, truth_discovery; masked, majority; one_layer, truth_discovery"
    assert f"not at this price: {missing}" in notes
    assert not any("own law" in name for name in table("crowd").names)


def test_at_a_price_there_is_a_most_that_a_false_ranking_gains() -> None:
    """(e^ε − 1)/(e^ε + 1), where ε is that of replacing a ranking: twice that of adding or removing one."""
    for words, epsilon in ((), 0.6), (("relation=add-remove-one",), 1.2), (("mechanism=joint", "epsilon=1"), 1.0):
        bound = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
        notes = " ".join(table("two-societies", *words).notes([]))
        assert f"no false ranking gains a voter more than {round_up(bound):.3g} of a utility" in notes


def test_private_groups_are_compared_with_what_keeps_them_private() -> None:
    compared = table("two-societies", "mechanism=joint")
    offers = compared.offers()
    assert {offered.name for offered in offers} == set(JOINT)
    assert {offered.epsilon for offered in offers} == {compared.price}
    assert any("groups are private" in note for note in compared.notes(offers))


def test_a_vote_s_price_for_its_own_error_is_its_own() -> None:
    compared = table("consortium")
    for name in ("joint, the paper's split", "two_point", "signed_rr"):
        offered = compared.offer(name, 1.5)
        assert offered is not None
        priced = price_for(compared, name, offered.error.value * (1 + 1e-9))
        assert priced is not None
        assert priced.epsilon == pytest.approx(offered.epsilon, rel=0.01)
        assert priced.error.value <= offered.error.value * (1 + 1e-9)


def test_an_error_that_no_price_buys_has_none() -> None:
    compared = table("consortium")
    assert price_for(compared, "two_point", 1e-9) is None


@pytest.mark.parametrize(("price", "expected"), [(0.5, 0.25), (100.0, 8.0), (0.001, None)])
def test_a_parameter_is_the_greatest_within_a_price(price: float, expected: float | None) -> None:
    """A loss of twice the parameter, between 0.01 and 8."""
    found = epsilon_at(price, lambda parameter: 2 * parameter, low=0.01, high=8.0)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "name",
    [
        "two-societies",
        *(
            pytest.param(name, marks=pytest.mark.full("its table is made above"))
            for name in ("crowd", "moral-synthetic")
        ),
    ],
)
def test_the_command_compares_every_system(psephos: Psephos, name: str) -> None:
    settings = [word for each in SMALL[name] for word in ("--set", each)]
    ended = psephos("variants", name, *settings, "--trials", "3")
    assert ended.status == 0, ended.err
    assert "ε in all" in ended.out
    assert "3 trials" in " ".join(ended.out.split())


def test_the_command_says_what_an_error_costs(psephos: Psephos) -> None:
    words = ("--set", "weights=[1,3]", "--set", "partners.weight_shares=[0.5,0.5]", "--error", "200")
    found = json.loads(psephos("variants", "consortium", *words, "--json").out)
    assert found["error"] == "± of a margin"
    assert {each["name"] for each in found["prices"]} == {each["name"] for each in found["variants"]}
    assert all(each["offered"]["error"]["value"] <= 200 for each in found["prices"])


@pytest.mark.parametrize("is_public", [False, True])
def test_matrices_of_ones_own_stand_beside_the_variants_at_their_own_price(
    psephos: Psephos, write: Write, *, is_public: bool
) -> None:
    opinion = [[2 / 3, 1 / 3], [1 / 5, 4 / 5]]
    weight = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]]
    ballots = ", ".join(f'{{partner = "p{number}", weight = {number}, a = 1}}' for number in (1, 2, 3))
    own = "public_weights = true" if is_public else f"weight_matrix = {weight}"
    text = f"""protocol = "dpwevote"
synthetic = true
partners = [{ballots}]
[parameters]
weights = [1, 2, 3]
opinion_matrix = [["2/3", "1/3"], ["1/5", "4/5"]]
{own}
"""
    ended = psephos("variants", write("own.toml", text), "--json")
    first, *others = json.loads(ended.out)["variants"]
    assert first["name"] == "joint, own matrices"
    debiased = np.linalg.inv(opinion) @ [0, 1]
    heavy = np.linalg.inv(weight) @ [1, 2, 3]
    if is_public:
        variances = np.array(opinion) @ debiased**2 - np.array([0, 1])
        error = math.sqrt(variances.max() * (1 + 4 + 9))
    else:
        margins = np.einsum("wr,yo,ro->wy", weight, opinion, np.outer(heavy, debiased - 0.5) ** 2)
        error = math.sqrt(3 * (margins - np.outer([1, 2, 3], [-0.5, 0.5]) ** 2).max())
    assert first["error"]["value"] == pytest.approx(error)
    lost = math.log(2 / 3 / (1 / 5)) + (0 if is_public else math.log(7))
    assert first["epsilon"] == pytest.approx(lost)
    assert "joint, own matrices: the session itself" in " ".join(psephos("variants", "own.toml").out.split())
    assert "joint, own matrices" not in {each["name"] for each in others}


def test_a_variant_of_ones_own_stands_beside_ours(
    tmp_path: Path, psephos: Psephos, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own worst variance, and by what its phases cost."""
    source = """from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.dpwevote.finite import JointVariant


class Louder(JointVariant):
    @property
    def worst_variance(self):
        return 2 * super().worst_variance


class LoudVote(DPWeVote):
    name = "loud-vote"

    def make_variant(self):
        is_own = self.parameters.variant == "joint"
        return Louder(self.parameters) if is_own else super().make_variant()
"""
    with installed(monkeypatch, tmp_path, "loud", "[psephos.protocols]\nloud-vote = loud:LoudVote\n", source):
        text = (list_scenarios()["consortium"]).read_text(encoding="utf-8")
        own = text.replace('protocol = "dpwevote"', 'protocol = "loud-vote"')
        assert own != text
        said = psephos("variants", write("loud.toml", own)).out
    rows = {line.split("  ")[0]: line.split() for line in said.splitlines()}
    mine, joint = rows["loud-vote"], rows["joint, the paper's split"]
    assert float(mine[-2]) == pytest.approx(2 * float(joint[-2]), rel=1e-4)
    assert mine[-3] == joint[-3]
    assert "loud-vote: the session itself, at its own price" in " ".join(said.split())


@pytest.mark.full("trials once more")
def test_an_error_in_percent_is_of_all_that_there_is(psephos: Psephos) -> None:
    settings = ["--set", "partners.count=40", "--set", "weights=[1,3]", "--set", "partners.weight_shares=[0.5,0.5]"]
    by_percent, by_number = (
        json.loads(psephos("variants", "consortium", *settings, "--error", error, "--json").out)["prices"]
        for error in ("50%", "20")  # half of all votes, if every partner had the least weight
    )
    assert by_percent == by_number


@pytest.mark.parametrize(
    ("name", "variant"),
    [("crowd", "two_layer, majority"), ("two-societies", "laplace"), ("moral-synthetic", "VLCP/laplace")],
)
def test_what_an_error_costs_is_shown_where_errors_are_found_by_trials(name: str, variant: str) -> None:
    """Prices were computed, and the command ended in a traceback of Python as it showed them."""
    compared = table(name)
    priced = price_for(compared, variant, 0.6, steps=2)
    assert priced is not None
    shown = io.StringIO()
    console = Console(file=shown, width=100)
    show_variants(console, compared, [priced], {variant: priced, "none": None}, error=0.6)
    line = rf"^{variant}.* {priced.epsilon:.4g} +{100 * priced.error.value:.1f}"
    assert re.search(line, shown.getvalue(), re.MULTILINE)


def test_rivals_of_krr_are_compared_where_weights_are_counted(psephos: Psephos) -> None:
    """With all of ε = 1 for a weight, a partner adds 5.66 by k-RR and 3.11 by subset selection, as the manual says."""
    weights = ["--set", f"weights={[*range(1, 17)]}", "--set", f"partners.weight_shares={[1 / 16] * 16}"]
    dear = ["--set", "epsilon_weight=1", "--set", "epsilon_opinion=1"]
    told = json.loads(psephos("variants", "consortium", *weights, *dear, "--json").out)["counting"]
    assert (told["num_choices"], told["epsilon"]) == (16, 1.0)
    variances = {name: error**2 / 2_000 for name, error in told["errors"].items()}
    assert list(variances) == ["k-RR", "subset selection", "Hadamard response", "local hashing"]
    law = np.array(GeneralizedRandomizedResponse(1.0, 16).channel_matrix())
    other = float(law[1] @ np.linalg.inv(law)[:, 0] ** 2)
    assert variances["k-RR"] == pytest.approx(other, rel=1e-9) == pytest.approx(5.66, abs=0.005)
    other = float(SubsetSelection(1.0, 16).variance_of(0, 1))
    assert variances["subset selection"] == pytest.approx(other, rel=1e-12) == pytest.approx(3.11, abs=0.005)
    shown = psephos("variants", "consortium", *weights).out
    assert re.search(r"^subset selection <- least +[\d.]+ ", shown, re.MULTILINE)
    assert "16 values at ε = 0.5; ± is the standard error of one that few of 2,000 partners have" in shown
    assert "Who has each weight" not in psephos("variants", "eu-council").out


def test_a_phase_that_counts_many_values_is_compared_as_well() -> None:
    compared = object.__new__(PlainVariants)
    compared.resolved = cast("Any", SimpleNamespace(protocol=SimpleNamespace(phases=[counting_phase(5_000_000)])))
    assert compared.counted is None  # nothing is counted by a mechanism of another kind
    compared.resolved = cast("Any", SimpleNamespace(protocol=SimpleNamespace(phases=[counting_phase(20_000)])))
    counted = compared.counted
    assert counted is not None
    assert (counted.epsilon, counted.num_choices) == (1.0, 20_000)
    assert counted.note == "phase 'streets' of this session takes local hashing"
    errors = counting_errors(counted, people=100)
    assert list(errors) == ["k-RR", "Hadamard response", "local hashing"]  # the fourth takes fewer
    assert min(errors, key=errors.__getitem__) == "local hashing"


def counting_phase(num_choices: int) -> Any:
    """Return a phase by local hashing, or where there are more values than it takes by another kind of mechanism."""
    mechanism = LocalHashing(1.0, num_choices) if num_choices <= LocalHashing.most_choices else object()
    return SimpleNamespace(name="streets", mechanism=mechanism)


def test_a_masked_vote_s_variants_have_no_threshold(psephos: Psephos) -> None:
    ended = psephos("variants", "consortium-masked", "--json")
    assert ended.status == 0, ended.err
    names = [each["name"] for each in json.loads(ended.out)["variants"]]
    assert names[-3:] == ["optimal", "masked", "central"]


MASKED = ("voters.voters=12", "threshold=10", "colluders=2", "voters.records=4", "max_records=4", "voters.features=3")


def test_a_masked_session_s_variants_are_those_of_any_other() -> None:
    """At its own price every one; without T and c, which another mechanism does not have."""
    of_preferences = table("moral-masked", *MASKED, trials=2)
    assert of_preferences.missing(of_preferences.offers()) == []
    sizes = ("mechanism=masked", "threshold=80", "colluders=5")
    for of_votes in cast("list[Any]", [table("two-societies"), table("two-societies", *sizes)]):
        lacking = [name for name in of_votes.names if of_votes.settings(name, of_votes.price) is None]
        assert lacking == ["sampling"]  # which takes more voters


@pytest.mark.few(most=1)
@pytest.mark.parametrize("name", ["RLMP/direction", "RLMP/pooled", "VLMP/laplace"])
def test_at_another_price_masked_summaries_are_on_the_grid_of_that_one(name: str) -> None:
    """They were left on the grid of the price that was first: wrong by powers of two, or a traceback."""
    prices = (8.0, 1.0, 30.0)
    compared = table("moral-masked", *MASKED)
    together = [compared.at(name, price) for price in prices]
    assert together == [table("moral-masked", *MASKED).at(name, price) for price in prices]


OF_MANY: Final = "Trusting the cloud server to follow the protocol, under masks"


def test_a_masked_variant_trusts_nobody_only_where_so_few_take_part_that_the_server_may_lie() -> None:
    """Of 1,800 in 2,000 who have to take part."""
    masked = table("consortium-masked")
    assert describe_trusted(TrustModel.DISTRIBUTED, masked, people=1_111) == "Trusting nobody, under masks"
    assert describe_trusted(TrustModel.DISTRIBUTED, masked, people=1_112) == OF_MANY
    assert describe_trusted(TrustModel.DISTRIBUTED, masked) == OF_MANY
    assert describe_trusted(TrustModel.LOCAL, masked) == "Trusting nobody"


@pytest.mark.parametrize("name", ["truth-masked", "moral-masked", "two-societies"])
def test_so_does_the_table_of_every_system(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = table(name, trials=2)
    masked = next(each for each in compared.names if compared.model_of(each).is_masked)
    for least, told in ((1_001, "nobody"), (2, "the aggregator to follow the protocol")):
        monkeypatch.setattr(variants, "LEAST_FOR_CIRCLE", least)
        found = compared.changed().offer(masked, compared.price)
        assert found is not None
        assert found.cells["Trusted"] == told


@pytest.mark.full("three seconds of sessions")
def test_the_best_variant_of_each_model_of_trust_is_said_first(psephos: Psephos) -> None:
    ended = psephos("variants", "consortium", "--error", "200")
    best, masked, trusted, least, of_masked, of_trusted, *rest = (
        " ".join(part.split()) for part in ended.out.strip().replace(".\n", ".\n\n").split("\n\n")
    )
    assert best.startswith("Trusting nobody, 2,000 partners at ε = 1 in all get ± 6.69 % of all votes on a candidate's")
    assert best.endswith("margin (134 votes), with variant optimal.")
    assert masked.startswith(f"{OF_MANY}, 2,000 partners at ε = 1 in all get ± 0.237 % of all votes")
    assert masked.endswith("(4.74 votes), with variant masked.")
    assert least.startswith("Trusting nobody, 2,000 partners need ε = 0.6707 in all for ± 10 % of all votes")
    assert trusted.endswith("± 0.212 % of all votes on a candidate's margin (4.24 votes), with variant central.")
    assert of_masked.startswith(f"{OF_MANY}, 2,000 partners need ε = 0.02376 in all for ± 10 %")
    assert of_trusted.startswith("Trusting the cloud server, 2,000 partners need ε = 0.02125 in all for ± 10 %")
    assert rest[0] == "Whoever had no idea (50 : 50) ends at most 73.2 % sure of one person's vote (ε = 1)."
    small = [word for each in SMALL["two-societies"] for word in ("--set", each)]
    ended = psephos("variants", "two-societies", *small, "--trials", "3", "--json")
    local, _, central = json.loads(ended.out)["verdict"]
    assert local.startswith("Trusting nobody, ")
    assert "though 3 trials do not tell it from" in local
    assert central.startswith("Trusting the aggregator, ")


@pytest.mark.bad_input("an error that is no error; a session without variants")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["consortium", "--error", "0"], "--error is '0': use a value above 0"),
        (["consortium", "--error", "nan"], "--error is 'nan': use a value above 0"),
        (["consortium", "--error", "few"], "--error is 'few': use a number, as 0.05, or percent, as 5%"),
        (["consortium", "--trials", "1"], "--trials is 1: use a value from 2 to"),
        (["fairness-judgements"], "leave out epsilons"),
        (["two-societies", *SAMPLED], "the session is 'fair-voting': use one whose loss is bounded"),
        (["duchenne", "--data", "missing"], "data"),
    ],
)
def test_what_cannot_be_compared_is_refused(psephos: Psephos, words: list[str], said: str) -> None:
    ended = psephos("variants", *words)
    assert ended.status == 2
    assert ended.err.startswith(f"psephos: {said}"), ended.err
