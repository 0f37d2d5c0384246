"""Plans: of error, ε and people two give the third, and sessions have the errors that were planned.

The statistical tests compare a mean square over seeded sessions with what was planned, within five of its standard
errors, which are estimated from the same sessions: each would be a false alarm for less than 1 of 10,000 seeds.
"""

import csv
import functools
import itertools
import json
import math
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import Psephos
from psephos.protocol import SimulatedNoise
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.privacy import TrustModel, total_of
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.experiments.measured import TrialCell
from psephos.scenarios.experiments.plans import Plan, make_plan, make_table
from psephos.scenarios.experiments.plans_shown import verdict_of_plan
from psephos.scenarios.experiments.searches import OutOfTimeError, SearchClock, least_by_trials
from psephos.scenarios.experiments.trials import run_trials
from psephos.scenarios.experiments.variants import SimulatedVariants, Unit, VariantOffer, VariantTable
from psephos.scenarios.fair_voting.variants import sizes_of
from psephos.scenarios.running.resolution import Local
from psephos.scenarios.running.session import run_arrays
from thoroughness import draws

TWO_WEIGHTS = ("weights=[1,3]", "partners.count=30", "partners.weight_shares=[0.5,0.5]")
ONE_EACH = ("weights=[1]", "public_weights=true", "partners.count=30", "partners.weight_shares=[1]")
FEW = ("voters.groups.north.voters=20", "voters.groups.south.voters=10")
SMALL_CROWD = ("workers.tasks=30", "workers.workers=12", "workers.answers_per_task=6", "epsilon=2")


def table(name: str, *settings: str, people: int | None = None, trials: int = 4) -> VariantTable:
    return make_table(load_scenario(name, settings), trials=trials, people=people)


SURVEY = ("voters.voters=20", "voters.records=8")


def share_at(compared: VariantTable, name: str, price: float) -> float:
    offered = compared.offer(name, price)
    assert offered is not None
    return offered.error.value / compared.unit.whole


def planned(plan: Plan, name: str) -> Any:
    return next(each for each in plan.variants if each.name == name)


# What is planned is what sessions have.


def errors_of(resolved: Local, of: Callable[[Any], list[float]], *, sessions: int) -> np.ndarray[Any, Any]:
    """Return the mean square of some errors in each of so many sessions."""
    found: list[float] = []
    for number in range(sessions):
        noise = SimulatedNoise(11, session="plan", round_number=number)
        outcome = run_arrays(resolved.protocol, inputs=resolved.inputs, noise=noise).outcome
        errors = of(outcome)
        found.append(math.fsum(error * error for error in errors) / len(errors))
    return np.array(found)


def truth_of(resolved: Local) -> dict[str, float]:
    """Return the numbers that are true of the parties."""
    told = resolved.protocol.truth(resolved.inputs) or {}
    return {name: float(value) for name, value in told.items() if isinstance(value, (int, float))}


def check_mean(squares: np.ndarray[Any, Any], expected: float) -> None:
    error = float(squares.std(ddof=1)) / math.sqrt(len(squares))
    assert abs(float(squares.mean()) - expected) <= 5 * error


def session(compared: VariantTable, name: str, aim: float) -> tuple[Local, float]:
    """Return the session that a plan for an error comes to, and the share that was planned."""
    found = planned(make_plan(compared, error=aim, has_curves=False), name)
    assert found.offered is not None
    settings = {key: value for key, value in found.offered.settings.items() if value is not None}
    scenario = load_scenario(
        compared.resolved.scenario.name,
        [
            *SETTINGS[compared.resolved.scenario.name],
            *(f"{key}={json.dumps(value)}" for key, value in settings.items()),
        ],
    )
    resolved = resolve(scenario)
    assert total_of(resolved.protocol.losses).proven == pytest.approx(found.offered.epsilon)
    return resolved, found.share


SETTINGS = {"consortium": ONE_EACH, "two-societies": FEW}


def test_a_vote_of_thirty_has_the_margin_s_error_that_was_planned() -> None:
    compared = table("consortium", *ONE_EACH)
    resolved, share = session(compared, "joint", 0.1)
    assert share <= 0.1
    yes = float(resolved.inputs.private[:, 0].sum())

    def error(outcome: Any) -> list[float]:
        (candidate,) = outcome.candidates
        return [(candidate.margin.value - (yes - 15)) / 30]

    check_mean(errors_of(resolved, error, sessions=draws(150, full=4000)), share**2)


@pytest.mark.full("trials of a plan")
@pytest.mark.parametrize("name", ["laplace", "noisy_scores", "whole_ranking"])
def test_a_ranking_has_the_utilities_errors_that_were_planned(name: str) -> None:
    compared = table("two-societies", *FEW)
    resolved, share = session(compared, name, 0.1)
    truth = truth_of(resolved)

    def errors(outcome: Any) -> list[float]:
        south = outcome.groups.index("south")
        return [
            (each.utilities[south].value - truth[f"{each.name} (south)"]) / 3  # Borda scores from 0 to 3
            for each in outcome.alternatives
        ]

    check_mean(errors_of(resolved, errors, sessions=draws(100, full=2000)), share**2)


def test_private_weights_have_at_most_the_error_that_was_planned() -> None:
    compared = table("consortium", *TWO_WEIGHTS)
    offered = compared.offer("signed_rr", 2.0)
    assert offered is not None
    resolved = resolve(load_scenario("consortium", [*TWO_WEIGHTS, "variant=signed_rr", "epsilon=2"]))
    truth = truth_of(resolved)
    margin = truth["joint data space"] - truth["quota"]

    def error(outcome: Any) -> list[float]:
        return [outcome.candidates[0].margin.value - margin]

    squares = errors_of(resolved, error, sessions=draws(200, full=2000))
    spread = float(squares.std(ddof=1)) / math.sqrt(len(squares))
    assert float(squares.mean()) <= offered.error.value**2 + 5 * spread


# Two of three give the third.


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("consortium", ONE_EACH),
        ("two-societies", FEW),
        pytest.param("consortium", TWO_WEIGHTS, marks=pytest.mark.full("the optimal mechanism at many prices")),
    ],
)
def test_a_price_brings_the_error_and_a_little_less_does_not(name: str, settings: tuple[str, ...]) -> None:
    compared = table(name, *settings)
    found = make_plan(compared, error=0.2, has_curves=False)
    assert found.sought == "epsilon"
    for each in found.variants:
        if each.offered is not None:
            assert share_at(compared, each.name, each.offered.epsilon) <= 0.2
            assert share_at(compared, each.name, 0.98 * each.offered.epsilon) > 0.2
            assert float(f"{each.offered.epsilon:.3g}") == pytest.approx(each.offered.epsilon, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "settings", "variant"),
    [("consortium", ONE_EACH, "joint"), ("two-societies", FEW, "laplace"), ("two-societies", FEW, "sampled_pair")],
)
def test_so_many_people_are_enough_and_fewer_are_not(name: str, settings: tuple[str, ...], variant: str) -> None:
    """A group's size is rounded, so that fewer are a hundredth fewer where there are groups."""
    compared = table(name, *settings)
    found = planned(make_plan(compared, error=0.05, epsilon=1.0, has_curves=False), variant)
    assert found.people is not None
    assert share_at(compared.with_people(found.people), variant, 1.0) == found.share <= 0.05
    fewer = found.people - 1 if name == "consortium" else math.floor(0.99 * found.people) - 3
    assert share_at(compared.with_people(fewer), variant, 1.0) > 0.05


def test_a_quarter_of_the_error_takes_sixteen_times_the_people() -> None:
    compared = table("consortium", *ONE_EACH)
    share = share_at(compared, "joint", 1.0)
    found = planned(make_plan(compared, error=share / 4, epsilon=1.0, has_curves=False), "joint")
    assert found.people == pytest.approx(16 * 30, abs=1)


def test_a_number_of_votes_is_the_share_of_all() -> None:
    """And a plan does not depend on what was asked before."""
    compared = table("consortium", *ONE_EACH)
    by_number = make_plan(compared, error=3, has_curves=False)
    by_share = make_plan(compared, error=0.1, has_curves=False)
    assert (by_number.aim, by_number.best[0].offered) == (by_share.aim, by_share.best[0].offered)
    assert by_number.options == by_share.options


def test_without_an_aim_the_session_s_own_price_is_told() -> None:
    compared = table("two-societies", *FEW)
    found = make_plan(compared, has_curves=False)
    assert (found.sought, found.epsilon) == ("error", 0.6)
    assert [each.model for each in found.best] == [*TrustModel]
    local, masked, central = verdict_of_plan(found, compared)
    assert local.startswith("Trusting nobody, 30 voters at ε = 0.6 in all get ± ")
    assert masked.startswith("Trusting nobody, under masks, ")
    assert central.startswith("Trusting the aggregator, ")
    assert "with variant laplace" in central


def test_what_else_could_be_done_costs_less_or_brings_more() -> None:
    compared = table("two-societies", *FEW)
    dear = make_plan(compared, error=0.2, has_curves=False)
    assert dear.best[0].offered is not None
    assert {option.do for option in dear.options} == {
        "ask more people",
        "let sums be masked",
        "trust the aggregator",
        "accept twice the error",
        "rank two alternatives",
    }
    assert all(option.epsilon < dear.best[0].offered.epsilon for option in dear.options)
    poor = make_plan(compared, has_curves=False)
    assert poor.best[0].offered is not None
    assert all(option.share < poor.best[0].share for option in poor.options)
    many = make_plan(compared, error=0.2, epsilon=0.6, has_curves=False)
    most = many.best[0].people
    assert most is not None
    assert all(option.people is not None and option.people < most for option in many.options)


def test_candidates_share_a_price() -> None:
    alone = table("eu-council")
    found = make_plan(alone, error=0.1, has_curves=False)
    assert found.best[0].offered is not None
    (one,) = [option for option in found.options if option.do == "ask of one candidate"]
    assert one.epsilon == pytest.approx(found.best[0].offered.epsilon / 3, rel=0.01)


@pytest.mark.parametrize("people", [2, 3, 31, 3000])
def test_groups_keep_their_shares_however_many_voters_there_are(people: int) -> None:
    sizes = sizes_of(people, (20, 10))
    assert sum(sizes) == people
    assert abs(sizes[0] - 2 * people / 3) <= 1


def test_a_crowd_is_planned_by_trials_and_each_worker_answers_as_much_as_before() -> None:
    compared = table("crowd", *SMALL_CROWD)
    assert compared.with_people(12) is compared
    more = compared.with_people(24)
    per_worker = [len(each.resolved.names) for each in (compared, more)]
    assert per_worker == [12, 24]
    workers = more.resolved.scenario.parties
    assert isinstance(workers, Mapping)
    assert workers["answers_per_task"] == 12


@pytest.mark.full("trials of a plan")
def test_an_error_that_trials_found_is_quoted_at_its_upper_limit() -> None:
    """Of six trials by Student's t with five degrees, at 99 %: 3.36 standard errors; an exact error is what it is."""
    few = ("workers.tasks=8", "workers.workers=6", "workers.answers_per_task=3")
    compared = table("crowd", *SMALL_CROWD, *few, trials=6)
    offered = compared.offer(compared.names[0], compared.price)
    assert offered is not None
    assert offered.error.standard_error > 0
    assert offered.quoted == pytest.approx(offered.error.value + 3.365 * offered.error.standard_error, rel=1e-3)
    plan = make_plan(compared, has_curves=False)
    assert plan.best[0].share == max(each.quoted for each in [compared.at(plan.best[0].name, compared.price)] if each)
    exact = table("eu-council")
    offered = exact.offer(exact.names[0], exact.price)
    assert offered is not None
    assert offered.quoted == offered.error.value


@pytest.mark.full("a price by trials for each variant")
def test_a_price_by_trials_brings_the_error_in_these_trials() -> None:
    compared = table("moral-synthetic", "voters.voters=20", "voters.records=8", trials=6)
    found = make_plan(compared, error=0.2)
    for each in found.variants:
        if each.offered is not None:
            assert each.offered.error.value <= 0.2
    assert len(found.best) == 3  # local, under masks, central
    with pytest.raises(ConfigurationError, match=r"at least .* the best that 20 voters can have"):
        make_plan(compared, error=1e-9)


# The command.

PAGE = Path(__file__).parents[3] / "docs" / "planning.md"
SHOWN = re.findall(
    r"```console\n\$ psephos (plan [^\n]*)\n```\n\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
)


@pytest.mark.parametrize(("command", "text"), SHOWN)
def test_the_manual_shows_what_the_command_prints(psephos: Psephos, command: str, text: str) -> None:
    ended = psephos(*shlex.split(command), "--out", "out", "--no-pictures")
    assert ended.out.partition("Everything is in")[0].strip() == text.strip()


def test_the_command_says_what_is_needed_first_and_what_it_protects(psephos: Psephos) -> None:
    ended = psephos("plan", "eu-council", "--people", "30", "--error", "10%", "--out", "out", "--no-pictures")
    assert ended.status == 0, ended.err
    said = " ".join(ended.out.split())
    assert "Trusting nobody, 30 partners need ε = " in said
    assert "for ± 10 % of all votes on a candidate's margin" in said
    assert "Whoever had no idea (50 : 50) ends at most " in said
    assert "± is one standard error" in said
    assert "ask more people" in said


@pytest.mark.parametrize(("epsilon", "is_larger"), [("0.5", False), ("0.05", True)])
def test_an_error_above_the_whole_is_said_to_tell_next_to_nothing(
    psephos: Psephos, *, epsilon: str, is_larger: bool
) -> None:
    ended = psephos("plan", "two-societies", "--epsilon", epsilon, "--out", "out", "--no-pictures")
    assert ("an error above 100 % is larger than the whole" in " ".join(ended.out.split())) == is_larger


def test_the_command_that_is_shown_holds_what_was_planned(psephos: Psephos) -> None:
    ended = psephos("plan", "two-societies", "--error", "0.05", "--out", "out", "--no-pictures")
    (line,) = [line for line in ended.out.splitlines() if line.startswith("To hold it: ")]
    words = shlex.split(line.removeprefix("To hold it: "))
    assert words[:3] == ["psephos", "run", "two-societies"]
    resolved = resolve(load_scenario(words[2], words[4::2]))
    written = json.loads(Path("out/plan.json").read_text(encoding="utf-8"))
    (chosen,) = [each for each in written["variants"] if each["name"] == "sampled_pair"]
    assert total_of(resolved.protocol.losses).proven == pytest.approx(chosen["offered"]["epsilon"], rel=1e-5)


@pytest.mark.parametrize("settings", [(), ("release=decision",)])
def test_a_plan_of_a_scenario_that_names_its_trust_can_be_held(psephos: Psephos, settings: tuple[str, ...]) -> None:
    """The command kept the scenario's trust beside a variant that trusts nobody; of decisions alone there was none."""
    given = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("plan", "trusted-count", "--error", "10%", *given, "--out", "out", "--no-pictures")
    assert ended.status == 0, ended.err
    (line,) = [line for line in ended.out.splitlines() if line.startswith("To hold it: ")]
    command, _, left_out = line.removeprefix("To hold it: ").partition(", and leave out ")
    assert left_out == ("release" if settings else "")
    words = shlex.split(command)
    assert resolve(load_scenario(words[2], words[4::2])).protocol.model is TrustModel.LOCAL


@pytest.mark.full("two plans more")
@pytest.mark.parametrize(
    ("name", "settings", "left_out"),
    [
        ("consortium", ("weight_collection=per_candidate", *TWO_WEIGHTS), "and leave out weight_collection"),
        ("own-matrix", (), "and leave out weight_matrix and opinion_matrix"),
    ],
)
def test_what_a_variant_goes_without_is_to_be_left_out(
    psephos: Psephos, name: str, settings: tuple[str, ...], left_out: str
) -> None:
    words = [word for each in settings for word in ("--set", each)]
    ended = psephos("plan", name, "--epsilon", "3", *words, "--no-pictures")
    assert ended.status == 0, ended.err
    assert left_out in ended.out


def test_a_matrix_of_one_s_own_does_not_set_what_other_variants_cost() -> None:
    compared = table("own-matrix")
    assert share_at(compared, "signed_rr", 1.0) > 2 * share_at(compared, "signed_rr", 3.0)


def test_a_plan_leaves_json_a_table_and_a_picture(psephos: Psephos) -> None:
    ended = psephos("plan", "two-societies", "--epsilon", "0.5", "--json", "--out", "out")
    written = json.loads(ended.out)
    assert (written["sought"], written["epsilon"], written["wanted"]) == ("error", 0.5, None)
    assert written["unit"]["is_standard_error"] is True
    told = ["nobody", "the aggregator", "the aggregator to follow the protocol"]
    assert sorted({each["trusted"] for each in written["variants"]}) == told
    with Path("out/plan.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    at = {row["variant"]: row for row in rows if float(row["epsilon"]) == 0.5}
    assert {name: float(row["error"]) for name, row in at.items()} == {
        each["name"]: each["offered"]["error"] for each in written["variants"]
    }
    assert "sampled_pair" in Path("out/plan.svg").read_text(encoding="utf-8")
    assert Path("out/plan.png").stat().st_size > 10_000


def test_adversaries_of_a_scenario_do_not_stand_in_a_plan_s_way(psephos: Psephos) -> None:
    assert psephos("plan", "differencing", "--epsilon", "1", "--no-pictures", "--out", "out", "--json").status == 0


def test_a_plan_without_a_wish_compares_variants(psephos: Psephos) -> None:
    assert psephos("plan", "consortium").out == psephos("variants", "consortium").out
    told = psephos("plan", "private-groups")
    assert told.status == 0, told.err
    assert re.search(r"^joint_pair <- least +nobody +2 +± 3\.1", told.out, re.MULTILINE), told.out


@pytest.mark.bad_input("a plan that no ε can meet, or no number of people; an aim that is none")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["eu-council", "--error", "1e-12"],
            "--error is '1e-10 %': use at least ± ",
        ),
        (
            ["consortium", "--error", "-1"],
            "--error is -1.0: use a share above 0 and below 1, as 0.05 or 5%, or from 1 on",
        ),
        (["consortium", "--error", "150%"], "--error is '150%': use a value below 100%"),
        (["consortium", "--error", "nan"], "--error is nan: use a share above 0"),
        (["two-societies", "--error", "3"], "--error is 3.0: use a value above 0 and below 1"),
        (["two-societies", "--error", "much"], "--error is 'much': use a number, as 0.05, or percent, as 5%"),
        (["two-societies", "--epsilon", "0"], "--epsilon is 0.0: use a value above 0"),
        (
            ["two-societies", "--epsilon", "1e9"],
            "--epsilon is 1000000000.0: use an ε in all that a variant can have, such as any from about ",
        ),
        (["consortium", "--people", "0"], "--people is 0: use a value from 1 to "),
        (["two-societies", "--people", "1"], "--people is 1: use at least 2: one voter in each group"),
        (["duchenne", "--people", "9", "--data", "missing"], "data"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_what_can(psephos: Psephos, words: list[str], said: str) -> None:
    ended = psephos("plan", *words)
    assert ended.status == 2
    assert ended.err.splitlines()[-1].startswith(f"psephos: {said}"), ended.err
    assert not Path("runs").exists()


def test_the_best_that_can_be_had_is_said_with_its_price() -> None:
    compared = table("two-societies", *FEW, "mechanism=joint")
    with pytest.raises(ConfigurationError, match=r"the best that 30 voters can have: by joint_\w+, at ε = \d"):
        make_plan(compared, error=1e-9)


def test_parties_of_a_file_are_as_many_as_they_are(psephos: Psephos) -> None:
    rows = "".join(f"q{task},w{worker},{(task + worker) % 2}\n" for task in range(4) for worker in range(3))
    Path("answers.csv").write_text("task,worker,label\n" + rows, encoding="utf-8")
    words = ("--set", "workers.answers=answers.csv", "--set", "synthetic=true", "--set", "epsilon=2")
    ended = psephos("plan", "crowd", *words, "--people", "5")
    assert ended.status == 2
    assert ended.err.startswith("psephos: --people is")


@pytest.mark.parametrize(
    ("unit", "error", "share"),
    [(Unit(of=""), 0.05, 0.05), (Unit(of="", noun="votes", whole=40.0), 4, 0.1), (Unit(of=""), 1, None)],
)
def test_an_error_is_a_share_or_a_number(unit: Unit, error: float, share: float | None) -> None:
    if share is None:
        with pytest.raises(ConfigurationError):
            unit.share_in(error)
    else:
        assert unit.share_in(error) == share


# By trials, in time.


@pytest.mark.parametrize(("power", "root"), [(1.0, 0.013), (1.0, 7.0), (0.5, 900.0), (2.0, 3.3)])
def test_a_search_finds_the_least_within_a_fifth_in_a_few_steps(power: float, root: float) -> None:
    """Whether or not errors fall as the search takes for granted."""
    for guessed in (power, 1.0):
        asked: list[float] = []

        def offer(number: float, asked: list[float] = asked) -> float:
            asked.append(number)
            return (root / number) ** power

        found = least_by_trials(offer, float, start=1.0, limits=(1e-6, 1e6), power=guessed)
        assert found is not None
        assert (1 / 1.2) ** power <= found <= 1
        assert len(asked) <= 12


def test_a_search_ends_at_what_is_possible() -> None:
    """Of prices above 5 nothing is offered, and at 5 the error is still too great."""
    asked: list[float] = []

    def offer(number: float) -> float | None:
        asked.append(number)
        return None if number > 5 else 10 / number

    assert least_by_trials(offer, float, start=1.0, limits=(1e-6, 1e6), power=1.0) is None
    assert max(number for number in asked if number <= 5) >= 5 / 1.2
    assert least_by_trials(lambda _: 3.0, float, start=1.0, limits=(0.1, 10.0), power=1.0) is None


def test_a_clock_lets_no_trial_begin_once_the_time_is_over_and_its_bar_never_moves_back() -> None:
    told: list[tuple[str, float]] = []
    seconds = SimpleNamespace(now=0.0)
    clock = SearchClock(lambda said, done, _: told.append((said, done)), 10.0, clock=lambda: seconds.now)
    clock.expect({"cheap": 1.0, "dear": 9.0}, to=0.8)
    for piece in ("cheap", "dear"):
        clock.begin(piece, f"the ε of {piece}")
        for _ in range(4):
            seconds.now += 1.0
            clock.on_trial("", 0, 0)
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert next(round(share, 3) for said, share in told if said == "the ε of dear") == 0.08
    assert shares[-1] < 0.8
    seconds.now = 10.0
    with pytest.raises(OutOfTimeError):
        clock.on_trial("", 0, 0)


def test_far_from_an_aim_few_trials_do_and_more_of_them_are_the_same_ones() -> None:
    compared, whole = (table("moral-synthetic", *SURVEY, trials=24) for _ in range(2))
    began: list[str] = []

    def tell(said: str, done: float, total: float) -> None:
        del done, total
        began.append(said)

    few = compared.at("VLCP/laplace", 0.05, aim=1e-6, tell=tell)
    assert few is not None
    assert len(began) < 8
    told, asked_at_once = compared.at("VLCP/laplace", 0.05), whole.offer("VLCP/laplace", 0.05)
    assert told is not None
    assert asked_at_once is not None
    assert told.error == asked_at_once.error != few.error
    assert msgspec.structs.replace(asked_at_once, cells=told.cells) == told
    assert told.cells == {compared.error: asked_at_once.cells[compared.error]}


@pytest.mark.parametrize("are_all", [False, pytest.param(True, marks=pytest.mark.full("all variants of a survey"))])
def test_a_variant_s_parties_are_the_same_at_every_price(*, are_all: bool) -> None:
    """They are encoded once, and what is found is what a session that is resolved anew would have."""
    compared = table("moral-synthetic", *SURVEY, trials=2)
    assert isinstance(compared, SimulatedVariants)
    names = compared.names if are_all else ("RLCP/direction", "VLDP/laplace")
    for name, price in itertools.product(names, (1.0, 3.0)):
        anew, own = table("moral-synthetic", *SURVEY, trials=2), compared.at(name, price)
        assert own == anew.at(name, price)
        assert own is not None
        assert isinstance(anew, SimulatedVariants)
        resolved = anew.setup_with(own.settings)
        assert resolved.protocol.parameters.epsilon == own.settings["epsilon"]
        reused = run_trials([TrialCell(settings=(), scenario=resolved.scenario)], trials=2, setups={(): resolved})
        assert own.error.value == 1 - reused[0].summaries[compared.measure].mean


@pytest.mark.full("seconds: all variants of a survey are searched")
@pytest.mark.parametrize("dear", ["RLDP/functional", "RLDP/direction"])
def test_a_variant_whose_trials_are_dear_keeps_no_other_from_being_found(
    monkeypatch: pytest.MonkeyPatch, dear: str
) -> None:
    """It is said what it costs at least: its error there is above the one that is wanted, as all trials have it."""
    compared = table("moral-synthetic", *SURVEY, trials=8)
    seconds, at = SimpleNamespace(now=0.0), type(compared).at
    asked: set[tuple[str, float]] = set()

    def slowly(self: VariantTable, name: str, price: float, **more: Any) -> VariantOffer | None:
        if (name, price) not in asked:  # what is known takes no time
            asked.add((name, price))
            seconds.now += 10.0 if name == dear else 0.01
        return at(self, name, price, **more)

    monkeypatch.setattr(type(compared), "at", slowly)
    moved = functools.partial(SearchClock, clock=lambda: seconds.now)
    monkeypatch.setattr("psephos.scenarios.experiments.plans.SearchClock", moved)
    plan = make_plan(compared, error=0.2, seconds=60.0)
    untried = [each for each in plan.variants if not each.is_tried]
    assert [each.name for each in untried] == [dear]
    assert plan.is_cut
    assert seconds.now < 20
    assert plan.options
    assert all(len(each.curve) > 4 for each in plan.variants if each.is_tried)
    (cut,) = untried
    assert cut.too_little == pytest.approx(1)
    offered = compared.offer(dear, cut.too_little)
    assert offered is not None
    assert offered.error.value > 0.2


def test_a_plan_that_has_no_time_says_so_and_what_it_found_stands(psephos: Psephos) -> None:
    """The first looks have the time that they need; the searches have none."""
    compared = table("moral-synthetic", *SURVEY, trials=8)
    with pytest.raises(ConfigurationError, match=r"--minutes (is|are) .*more: no variant's errors were found by then"):
        make_plan(compared, error=0.2, has_curves=False, seconds=0)
    words = [word for each in SURVEY for word in ("--set", each)]
    ended = psephos("plan", "moral-synthetic", *words, "--error", "20%", "--minutes", "1e-6", "--out", "out")
    assert ended.status == 2
    assert "Make it more" in ended.err
    assert not Path("out").exists()


@pytest.mark.full("two plans more")
def test_what_a_plan_did_not_come_to_is_named(psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the time were over once the third search by trials begins."""
    begun: list[str] = []
    begin = SearchClock.begin

    def count(self: SearchClock, piece: str, said: str) -> float:
        begun.append(said)
        if len([each for each in begun if each.startswith("the ε of")]) == 3:
            monkeypatch.setattr(SearchClock, "check", out_of_time)
        return begin(self, piece, said)

    def out_of_time(_: SearchClock) -> None:
        raise OutOfTimeError

    monkeypatch.setattr(SearchClock, "begin", count)
    words = [word for each in SURVEY for word in ("--set", each)]
    ended = psephos(
        "plan", "moral-synthetic", *words, "--error", "20%", "--trials", "4", "--no-pictures", "--out", "out"
    )
    assert ended.status == 0, ended.err
    said = " ".join(ended.out.split())
    assert said.count("no time") == 12
    assert "there was not time enough for " in said
    assert "more --minutes, or fewer --trials, would do" in said
    written = json.loads(Path("out/plan.json").read_text(encoding="utf-8"))
    assert written["is_cut"] is True
    assert [each["tried"] for each in written["variants"]].count(False) == 12
    assert {each["trusted"] for each in written["variants"] if each["tried"]} == {"nobody", "the aggregator"}


def test_a_plan_of_many_says_against_whom_masks_hold(psephos: Psephos) -> None:
    of_many = psephos("plan", "consortium-masked", "--epsilon", "1", "--out", "out")
    assert "ε holds against a semi-honest server only" in of_many.out
    told = ["nobody", "the cloud server", "the cloud server to follow the protocol"]
    written = json.loads(Path("out/plan.json").read_text(encoding="utf-8"))
    assert sorted({each["trusted"] for each in written["variants"]}) == told
    drawn = Path("out/plan.svg").read_text(encoding="utf-8")
    assert all(f"Trusting {who}" in drawn for who in told)
    of_few = psephos("plan", "consortium-masked", "--epsilon", "1", "--people", "30")
    assert "semi-honest" not in of_few.out + of_few.err


@pytest.mark.parametrize(
    ("weights", "epsilon"),
    [([1] * 30, 4.8), ([1] * 100, 6.0), ([1000, 1, 1, 1], 1.4), ([1] * 30, 1.0), ([3, 2, 2, 1, 1], 3.0), ([1], 9.0)],
    ids=["30 alike", "100 alike", "a giant", "thirty, small ε", "few weights", "one"],
)
def test_two_and_more_standard_errors_hold_as_often_as_a_plan_says(weights: list[int], epsilon: float) -> None:
    """By the exact law of randomized response, for every truth by one: two hold for 79 % of some, and not for 95 %."""
    lie = 1 / (1 + math.exp(epsilon))
    error = math.sqrt(sum(weight * weight for weight in weights) * lie * (1 - lie))
    within: dict[float, list[float]] = {2.0: [], 4.5: []}
    for number in range(len(weights) + 1):
        law = np.ones(1)
        for place, weight in enumerate(weights):
            yes = 1 - lie if place < number else lie
            law = np.convolve(law, [1 - yes, *[0.0] * (weight - 1), yes])
        mean = sum(weight * (1 - lie if place < number else lie) for place, weight in enumerate(weights))
        off = np.abs(np.arange(len(law)) - mean)
        for errors, found in within.items():
            found.append(float(law[off <= errors * error + 1e-9].sum()))
    assert min(within[2.0]) >= 3 / 4
    assert min(within[4.5]) >= 19 / 20
    if len(weights) in {4, 30, 100} and epsilon > 1:
        assert min(within[2.0]) < 0.85


def test_a_plan_says_how_often_its_errors_hold(psephos: Psephos) -> None:
    told = " ".join(psephos("plan", "eu-council", "--error", "10%").out.split())
    assert "at least 3 of 4 results are within two of them, 19 of 20 within 4.5" in told
