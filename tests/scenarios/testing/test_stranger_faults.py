"""Faults in somebody else's protocol that once passed: each is named by the promise that it breaks."""

from pathlib import Path
from typing import Any

import pytest
from polls import VOTERS
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.testing import PROTOCOL_PROMISES, check_protocol
from runs import read_json
from stranger_faults import FAULTS, SOUND, VOTES, Completes, Spotted, Told, make
from strangers import register

PLANTED = [pytest.param(kind, promise, id=kind.__name__) for kind, promise in FAULTS.items()]


@pytest.mark.few(most=10)
@pytest.mark.parametrize(("kind", "promise"), PLANTED)
def test_a_stranger_s_fault_is_named_by_the_promise_that_it_breaks(kind: type[Any], promise: str) -> None:
    protocol, rows = make(kind)
    with pytest.raises(AssertionError) as caught:
        check_protocol(protocol, rows)
    assert str(caught.value).startswith(promise)


def test_there_are_forty_of_them_and_each_promise_is_one() -> None:
    assert len(FAULTS) >= 40
    assert all(any(each.startswith(promise) for each in PROTOCOL_PROMISES) for promise in FAULTS.values())


@pytest.mark.few(most=3)
@pytest.mark.parametrize("kind", SOUND)
def test_the_same_without_the_fault_passes(kind: type[Any]) -> None:
    """False alarm: below 1e-6 for each."""
    check_protocol(*make(kind))


def test_what_is_made_of_a_private_column_is_refused_as_a_public_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(tmp_path / "site", monkeypatch, Completes)
    rows = "\n".join(f"{name},{level},{drink}" for name, (level, drink) in VOTERS.items())
    (tmp_path / "voters.csv").write_text(f"voter,level,drink\n{rows}\n", encoding="utf-8")
    scenario = tmp_path / "drinks.toml"
    scenario.write_text('title = "Drinks"\nprotocol = "completes"\nvoters = "voters.csv"\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"complete\(\) of protocol 'completes' looks at .* public columns"):
        resolve(load_scenario(str(scenario)))


@pytest.mark.few(most=1)
@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["shown", "json"])
def test_a_ledger_that_an_exact_attack_refutes_ends_its_run_with_status_1(
    as_json: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, psephos: Any
) -> None:
    """The guard looks at some of a million cells of a law, and the attack at all."""
    register(tmp_path / "site", monkeypatch, Spotted)
    (tmp_path / "voters.csv").write_text("voter,number\na,137\nb,137\nc,5\n", encoding="utf-8")
    scenario = tmp_path / "numbers.toml"
    adversary = '[[adversary]]\nrole = "coalition"\nmembers = ["server"]\n'
    told = f'title = "Numbers"\nprotocol = "spotted"\nvoters = "voters.csv"\nseed = 1\n{adversary}'
    scenario.write_text(told, encoding="utf-8")
    ended = psephos("run", str(scenario), "--set", "synthetic=true", "--out", str(tmp_path / "run"), *as_json)
    assert ended.status == 1
    assert "this ledger is refuted: the aggregator learnt more" in " ".join(ended.err.split())
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8") if not as_json else ""
    assert as_json or "This ledger is refuted: the aggregator learnt more than it says is proven." in page
    attack_reports = read_json(tmp_path / "run" / "adversaries.json")
    assert attack_reports[0]["refutes_ledger"]
    assert "This ledger is refuted: exact evidence moved the odds" in " ".join(attack_reports[0]["sentences"])


@pytest.mark.parametrize(
    ("words", "part"), [(["plan"], "variants"), (["variants"], "variants"), (["new"], "beginning")]
)
def test_what_a_stranger_s_protocol_lacks_is_named_as_the_part_that_its_system_brings(
    words: list[str], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, psephos: Any
) -> None:
    register(tmp_path / "site", monkeypatch, Spotted)
    (tmp_path / "voters.csv").write_text("voter,number\na,137\nb,5\n", encoding="utf-8")
    told = 'title = "Numbers"\nprotocol = "spotted"\nvoters = "voters.csv"\n'
    (tmp_path / "numbers.toml").write_text(told, encoding="utf-8")
    refusal = psephos(*words, "spotted" if words == ["new"] else "numbers.toml").refusal
    assert f"one whose System brings the part '{part}'" in " ".join(refusal.split())


@pytest.mark.few(most=1)
@pytest.mark.parametrize(
    "words",
    [["variants"], pytest.param(["plan"], marks=pytest.mark.full("as for an error")), ["plan", "--error", "20%"]],
    ids=" ".join,
)
def test_a_stranger_s_protocol_that_tells_the_truth_is_planned_by_trials(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, psephos: Any
) -> None:
    register(tmp_path / "site", monkeypatch, Told)
    rows = "".join(f"{name},{','.join(map(str, row))}\n" for name, row in VOTES.items())
    (tmp_path / "voters.csv").write_text(f"voter,tea,coffee,water\n{rows}", encoding="utf-8")
    told = 'title = "Drinks"\nprotocol = "approvals"\nvoters = "voters.csv"\nseed = 1\n'
    parameters = '[parameters]\ncandidates = ["tea", "coffee", "water"]\nepsilon = 3\n'
    (tmp_path / "drinks.toml").write_text(told + parameters, encoding="utf-8")
    ended = psephos(words[0], "drinks.toml", *words[1:], "--set", "synthetic=true", "--trials", 20, "--json")
    assert ended.status == 0, ended.err
    assert "this session" in ended.out
