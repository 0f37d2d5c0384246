"""Bad networks in scenarios: from the seed, over every transport alike, and refused where there is none to be bad."""

import pytest
from bad_input import Psephos, check_refused
from psephos.protocol import ConfigurationError
from psephos.scenarios.running import in_process
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.resolution import resolve, resolve_served
from psephos.scenarios.running.run import run_session
from psephos.scenarios.running.session import SessionRecord
from runs import read_json

FAULTS = "network={loss=0.05, duplication=0.3, delay=0.01}"
# A party's third payload depends on when a repeated report is heard: who is lost is said without repetitions.
LOSSES = "network={loss=0.05, delay=0.01}"
# Of no connection the first payload is lost in either direction, so that all join and no deadline is waited for; later
# four are lost before they have reported, and three after.
SEED = 89


def run(*settings: str, seed: int = SEED) -> SessionRecord:
    """Return what a council's session leaves."""
    return run_session(resolve(load_scenario("eu-council", [f"seed={seed}", "quorum=0.3", *settings])), seed=seed)


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_lost_parties_are_left_out_and_what_they_drew_is_on_the_ledger(transport: str) -> None:
    record = run(LOSSES, f"transport={transport}")
    assert record.num_received == (23,)
    assert len(record.endings) == 7
    paid = {entry.person for entry in record.entries}
    assert (len(paid), len(record.entries)) == (26, 3 * 26)  # three reports were lost on their way, and are paid for
    calm = run()
    assert (calm.num_received, calm.endings) == ((27,), {})
    assert record.tallies != calm.tallies
    again = run(LOSSES)
    assert (record.tallies, record.outcome) == (again.tallies, again.outcome)
    assert record.endings.keys() == again.endings.keys()


def test_delays_and_repetitions_change_nothing_but_time() -> None:
    calm, bad = run(), run("network={delay=0.02, duplication=1.0}")
    assert (bad.tallies, bad.outcome, bad.num_received, bad.endings) == (
        calm.tallies,
        calm.outcome,
        calm.num_received,
        {},
    )
    assert sorted(bad.entries, key=str) == sorted(calm.entries, key=str)


@pytest.mark.full("it waits ten seconds")
def test_connections_that_are_cut_hold_nobody_up_when_the_session_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "LINGER_SECONDS", 0.1)
    record = run("network.partition=0.3", "deadline_seconds=1", "quorum=1")
    assert 1 <= len(record.endings) < 27
    assert {str(ending) for ending in record.endings.values()} == {
        "server ended the session: the connection was lost before the release"
    }


def test_a_run_says_how_bad_its_network_was_and_only_then(psephos: Psephos) -> None:
    how = ("--set", FAULTS, "--set", f"seed={SEED}", "--set", "quorum=0.3")
    ended = psephos("run", "eu-council", *how, "--out", "out", "--no-pictures")
    assert ended.status == 0
    kept = read_json("out/scenario.json")
    assert kept["network"] == {"loss": 0.05, "duplication": 0.3, "delay": 0.01}
    assert psephos("run", "eu-council", "--out", "calm", "--no-pictures").status == 0
    assert "network" not in read_json("calm/scenario.json")


@pytest.mark.bad_input("a network with an unknown fault, a number out of range, or that is real or none")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["network.los=0.1"], ["network 'los' is unknown: did you mean 'loss'?", "delay, duplication, partition"]),
        (["network.loss=1.5"], ["network.loss is 1.5: use a probability, in [0, 1]"]),
        (["network.partition=-1"], ["network.partition is -1.0: use a probability"]),
        (["network.delay=inf"], ["network.delay is inf: use seconds, at least 0 and finite"]),
        (["network={delay='long'}"], ["'long'}: use a number"]),
        (["network.loss=0.1", "transport=array"], ["leave out network for arrays"]),
    ],
)
def test_a_network_that_cannot_be_is_refused(psephos: Psephos, settings: list[str], words: list[str]) -> None:
    check_refused(psephos, "eu-council", settings, words)


@pytest.mark.bad_input("a network with an unknown fault, a number out of range, or that is real or none")
def test_a_deployment_has_the_network_that_it_has() -> None:
    with pytest.raises(ConfigurationError, match="leave out network where the network is real"):
        resolve_served(load_scenario("eu-council", ["network.loss=0.1"]))
