"""An ε of the voters' own on the command line: what it costs is priced, and a file in batches gives the same."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bad_input import Psephos
from psephos.protocol.fair_voting import FairVoting, RandomizedRankings
from psephos.scenarios import load_scenario
from psephos.scenarios.experiments.variants import table_of
from psephos.scenarios.fair_voting.variants import WelfareErrors
from runs import read_json

EPSILONS = [0.5, 3, 1, 3, 0.5, 3, 3, 1]


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """Eight voters, of whom the three of the smaller group have ε = .5, 3 and 1."""
    orders, groups = ["a>b>c", "c>a>b", "b>a>c", "a>c>b"] * 2, ["south"] * 3 + ["north"] * 5
    frame = pd.DataFrame({"group": groups, "ranking": orders, "epsilon": EPSILONS})
    frame.insert(0, "voter", [f"v{place}" for place in range(8)])
    frame.to_csv(tmp_path / "voters.csv", index=False)
    frame.to_parquet(tmp_path / "voters.parquet")
    path = tmp_path / "vote.toml"
    path.write_text(
        f"protocol = 'fair-voting'\nvoters = '{tmp_path}/voters.csv'\n[parameters]\n"
        "mechanism = 'sampled_pair'\nepsilons = [0.5, 1, 3]\nobjective = 'welfare'\n",
        encoding="utf-8",
    )
    return str(path)


def test_a_plan_prices_the_rosters_levels_and_one_epsilon_of_all(scenario: str) -> None:
    """The error in the smallest group, of one voter of each level, in shares of the scores' range of 2."""
    table = table_of(WelfareErrors, load_scenario(scenario), trials=2)
    assert isinstance(table, WelfareErrors)
    protocol = table.resolved.protocol
    assert isinstance(protocol, FairVoting)
    assert isinstance(protocol.phase, RandomizedRankings)
    variances = [report.mean_variance for report in protocol.phase.reports]
    offers = {offered.name: offered for offered in table.offers()}
    assert offers.keys() == {"sampled_pair", "sampled_position", "whole_ranking", "noisy_scores"}
    assert offers["sampled_pair"].error.value == pytest.approx(math.sqrt(math.fsum(variances)) / 3 / 2)
    alike = table.simplify()["give all voters one ε"].offer("sampled_pair", 3.0)
    assert alike is not None
    assert alike.error.value == pytest.approx(math.sqrt(variances[-1] / 3) / 2)
    assert [loss.proven for loss in table.losses_of(offers["whole_ranking"])] == [pytest.approx(3)]
    half = table.offer("sampled_pair", 1.5)
    assert half is not None
    assert half.settings["epsilons"] == [0.25, 0.5, 1.5]


def test_voters_who_choose_are_priced_by_the_smallest_epsilon(scenario: str) -> None:
    table = table_of(WelfareErrors, load_scenario(scenario, ["chosen_by=voter"]), trials=2)
    assert isinstance(table, WelfareErrors)
    protocol = table.resolved.protocol
    assert isinstance(protocol, FairVoting)
    assert isinstance(protocol.phase, RandomizedRankings)
    offered = table.offer("sampled_pair", 3.0)
    assert offered is not None
    assert offered.error.value == pytest.approx(math.sqrt(protocol.phase.reports[0].mean_variance / 3) / 2)


def test_batches_of_a_file_give_the_outcome_of_its_table(psephos: Psephos, scenario: str, tmp_path: Path) -> None:
    told: list[Any] = []
    for name in ("csv", "parquet"):
        ended = psephos(
            "run",
            scenario,
            "--seed",
            "4",
            "--set",
            "noise=simulated",
            "--set",
            f"voters={tmp_path}/voters.{name}",
            "--out",
            f"of-{name}",
        )
        assert ended.status == 0, ended.err
        page = Path(f"of-{name}/report.html").read_text(encoding="utf-8")
        assert "sampled_pair, one voter, ε ≤ 3" in page  # who reports, at ε = .5 or 1 too
        told.append(read_json(f"of-{name}/result.json")["outcome"])
    assert told[0] == told[1]
    assert [level["epsilon"] for level in told[0]["details"]["levels"]] == [0.5, 1, 3]
    assert "probability" not in told[0]["assurance"] or told[0]["assurance"]["probability"] is None


def test_the_command_of_a_plan_at_another_price_asks_for_a_file_of_its_levels(psephos: Psephos, scenario: str) -> None:
    told = {price: psephos("plan", scenario, "--epsilon", str(price), "--no-pictures") for price in (3, 1.23456789)}
    own, other = ([line for line in ended.out.splitlines() if "To hold it" in line] for ended in told.values())
    assert own[0].endswith("'epsilons=[0.5, 1.0, 3.0]'")  # the roster's
    assert other[0].endswith("1.23456789]' --set voters=FILE")
    assert "--set epsilon=1.23456789 " in other[0]  # rounded it would be none of the levels


def test_a_collusion_sweep_names_the_targets_own_epsilon(psephos: Psephos, scenario: str) -> None:
    path = Path(scenario)
    path.write_text(f"{path.read_text(encoding='utf-8')}[[adversary]]\nrole = 'collusion-sweep'\nsizes = [1]\n")
    ended = psephos("run", scenario, "--set", "synthetic=true")
    assert ended.status == 0, ended.err
    assert "fair-voting, local model, ε = 0.5: with the server" in " ".join(ended.out.split())


def test_an_averaging_attacker_is_refused_first_by_whoever_pays_most(psephos: Psephos, scenario: str) -> None:
    path = Path(scenario)
    path.write_text(
        f"{path.read_text(encoding='utf-8')}[[adversary]]\nrole = 'averaging-attacker'\nmembers = ['server']\n"
    )
    ended = psephos("run", scenario, "--set", "synthetic=true", "--set", "budget=7", "--verbose", "--out", "run")
    assert "sessions on a ledger with a budget" not in Path("run/report.html").read_text(encoding="utf-8")
    assert ended.status == 0, ended.err
    said = " ".join(ended.out.split())
    assert "a budget of whoever pays most answers 2 of them and refuses from session 3 on" in said
    assert "Those of others may answer more." in said
    assert "success stays at" not in said  # others have room for 14 sessions
