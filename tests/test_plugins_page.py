"""The page on plug-ins: its package is installed as a stranger would, and its commands are run as they stand there."""

import ast
import csv
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from psephos.protocol import ConfigurationError, PhasedProtocol
from psephos.scenarios import simulate
from psephos.scenarios.testing import PROTOCOL_PROMISES, check_protocol
from runs import read_json
from test_documents import Protocol, blocks_of, files_of, put_on_path, run_page

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"
FUNCTIONS = PAGE.parent / "own-functions.md"
MOST_LINES = 90
"""Of an approval vote that has a table, a picture, an attack and an audit."""
VOTERS = {f"v{number}": (number % 2, int(number % 3 > 0), int(number % 5 > 1)) for number in range(1, 41)}


class Package:
    """The page's package, installed, and a folder with the page's scenario and voters.

    Args:
        folder: an empty one.
        page: whose package it is.
    """

    def __init__(self, folder: Path, page: Path = PAGE) -> None:
        self.folder, self.site = folder, folder / "site"
        for name, text in files_of(page).items():
            (folder / name).write_text(text, encoding="utf-8")
        with (folder / "voters.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("voter", "tea", "coffee", "water"), *((k, *v) for k, v in VOTERS.items())])
        offline = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
        self._run(sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", str(self.site), str(folder))
        for module in folder.glob("*.py"):
            module.unlink()  # from here on they are those that were installed

    def run(self, command: str) -> str:
        """Return what a command prints, which ends well."""
        program, *words = shlex.split(command)
        module = {"psephos": "psephos.scenarios.cli", "pytest": "pytest"}[program]
        return self._run(sys.executable, "-m", module, *words, PYTHONPATH=str(self.site))

    def _run(self, *command: str, **environment: str) -> str:
        ended = subprocess.run(  # noqa: S603  the page's own commands
            command, cwd=self.folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return Package(tmp_path_factory.mktemp("package"))


def commands(program: str) -> list[str]:
    """Return the page's commands of one program."""
    lines = [line.removeprefix("$ ") for block in blocks_of(PAGE, "console") for line in block.splitlines()]
    return [line for line in lines if line.startswith(f"{program} ")]


def test_an_approval_vote_is_one_short_module() -> None:
    module = files_of(PAGE)["approval_vote.py"]
    assert len(module.splitlines()) <= MOST_LINES
    assert [node.name for node in ast.parse(module).body if isinstance(node, ast.ClassDef)][-1] == "ApprovalVote"


@pytest.mark.full("a process that draws")
def test_a_run_has_a_table_a_picture_an_attack_and_a_poisoner(package: Package) -> None:
    said = package.run("psephos run drinks.toml --out out")
    assert all(
        re.search(rf"^{option} +[\d,.-]+ ± [\d.]+$", said, re.MULTILINE) for option in ("tea", "coffee", "water")
    )
    out = package.folder / "out"
    assert (out / "estimates.svg").read_bytes().startswith(b"<svg ")
    coalition, poisoner = read_json(out / "adversaries.json")
    assert (coalition["role"], coalition["rows"][0]["target"]) == ("coalition", "v1")
    assert coalition["rows"][0]["guess"].startswith("tea ")
    assert [row["estimate"] for row in poisoner["rows"]] == ["tea", "coffee", "water"]


@pytest.mark.full("four processes; the page's own checks hold its paths alike")
@pytest.mark.parametrize("transport", ["array", "slow"])
def test_every_path_and_the_pages_transport_end_alike(package: Package, transport: str) -> None:
    """The page's own transport is TCP, slowed down; arrays leave adversaries that deviate out, and so does this."""
    honest = package.folder / "honest.toml"
    honest.write_text((package.folder / "drinks.toml").read_text(encoding="utf-8").partition("[[")[0], encoding="utf-8")
    package.run(f"psephos run honest.toml --transport {transport} --no-pictures --out {transport}")
    package.run(f"psephos run honest.toml --transport memory --no-pictures --out memory-{transport}")
    results = [package.folder / name / "result.json" for name in (transport, f"memory-{transport}")]
    assert results[0].read_bytes() == results[1].read_bytes()


@pytest.mark.full("a process more")
def test_a_script_has_the_bits_of_the_command(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(package.site, PAGE, monkeypatch)
    import approval_vote  # pyright: ignore[reportMissingImports]  # noqa: PLC0415  it is on the page, and there now

    scenario = (package.folder / "drinks.toml").read_text(encoding="utf-8").partition("[[")[0]
    (package.folder / "drinks-again.toml").write_text(scenario, encoding="utf-8")
    package.run("psephos run drinks-again.toml --no-pictures --out again")
    result = read_json(package.folder / "again" / "result.json")
    module: Any = approval_vote
    vote = module.ApprovalVote(module.Ballot(options=("tea", "coffee", "water"), epsilon=3))
    outcome = simulate(vote, VOTERS, seed=7, session="drinks-again")
    found = [option["approvals"]["value"] for option in result["outcome"]["options"]]
    assert [option.approvals.value for option in outcome.options] == found


@pytest.mark.full("a process more")
def test_a_stuffer_stuffs_a_vote_by_coins(package: Package) -> None:
    scenario = (package.folder / "drinks.toml").read_text(encoding="utf-8").partition("[[")[0]
    (stuffer,) = [block for block in blocks_of(PAGE, "toml") if "stuffer" in block and "[[adversary]]" in block]
    text = scenario.replace("approval-vote", "coin-vote") + stuffer
    (package.folder / "coins.toml").write_text(text, encoding="utf-8")
    package.run("psephos run coins.toml --no-pictures --out coins")
    (attack_report,) = read_json(package.folder / "coins" / "adversaries.json")
    assert re.fullmatch(r"water has -?\d+ approvals, and truly \d+\.", attack_report["sentences"][0])


@pytest.mark.full("an audit of nine seconds")
@pytest.mark.parametrize("command", commands("psephos audit"))
def test_the_audit_finds_no_loss_above_what_is_stated(package: Package, command: str) -> None:
    """The command of the page, at a confidence that fails in one of a million runs."""
    said = package.run(f"{command} --confidence 0.999999")
    assert "consistent" in said
    assert "\nNo proof is refuted. " in said


@pytest.mark.full(
    "a process that checks for many seconds, as it does with a stranger's module in test_pytest_plugin.py"
)
@pytest.mark.parametrize("command", commands("pytest"))
def test_all_that_the_page_defines_passes_its_checks(package: Package, command: str) -> None:
    said = package.run(f"{command} -q -p no:cacheprovider")
    assert re.search(rf"^{command.count('--psephos-')} passed", said, re.MULTILINE)


@pytest.mark.full("six processes, of which some hold trials")
def test_functions_of_ones_own_are_words_in_every_command_of_their_page(tmp_path: Path) -> None:
    """What is said names them, and no calibrated number: neither a probability nor a verdict."""
    package = Package(tmp_path, FUNCTIONS)
    lines = [line.removeprefix("$ ") for block in blocks_of(FUNCTIONS, "console") for line in block.splitlines()]
    said = {line: package.run(line) for line in lines}
    assert len(said) == 6
    assert all(re.search("cubed|worst-off|square", line + words) for line, words in said.items())
    assert "one_layer, cubed" in said["psephos variants crowd --trials 4"]
    assert "How sure that is stays open" in said["psephos run two-societies --set objective=worst-off"]


def test_the_reference_has_every_module_that_the_page_names() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"automodule:: (\S+)", (PAGE.parent / "api.md").read_text(encoding="utf-8")))
    parts = re.findall(r"`((?:[a-z_]+\.)+)[A-Z]\w+`", (PAGE.parent / "systems.md").read_text(encoding="utf-8"))
    named = {f"psephos.scenarios.{part.rstrip('.')}" for part in parts}
    for module, names in re.findall(r"^from (psephos[\w.]*) import ([\w, ]+)$", text, re.MULTILINE):
        found = importlib.import_module(module)
        named |= {getattr(getattr(found, name), "__module__", module) for name in names.split(", ")}
    assert named
    homes = {home for home in named if home not in listed and home.rpartition(".")[0] not in listed}
    assert homes == set()


def test_the_private_mean_ends_alike_on_every_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run_page(PAGE.parent / "private-mean.md", tmp_path, monkeypatch)
    mean = cast("Protocol", names["mean"])
    assert isinstance(mean, PhasedProtocol)
    few = dict(list(cast("dict[str, tuple[float, ...]]", names["salaries"]).items())[:40])
    outcomes = [simulate(mean, few, seed=11, transport=path) for path in ("memory", "tcp", "array")]
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0] != simulate(mean, few, seed=12)
    for epsilon in (0.1, 0.3, 0.7, 1.1, 2.3, 3.3):
        (loss,) = type(mean)(msgspec.structs.replace(mean.parameters, epsilon=epsilon)).losses
        assert loss.proven <= epsilon  # to the last bit
    with pytest.raises(ConfigurationError, match=r"`float` > 0.* `\$\.epsilon`"):
        type(mean)(msgspec.structs.replace(mean.parameters, epsilon=0.0))
    check_protocol(
        cast("PhasedProtocol[Any, Any]", names["masked"]),
        cast("dict[str, tuple[float, ...]]", names["few"]),
        promises=[each for each in PROTOCOL_PROMISES if each.startswith("Arrays")],  # somebody leaves in each step
    )
