"""How much a run says: arrays compute to the byte what agents count, in every protocol and on every transport."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from psephos.scenarios import RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.running.run import ObservedRun, run_session
from runs import read_json

SCENARIOS: Final[Mapping[str, tuple[str, list[str]]]] = {
    "two phases": ("consortium", ["partners.count=40"]),
    "weights for each candidate": (
        "consortium",
        [
            "partners.count=9",
            "candidates=['a', 'b']",
            "partners.yes_shares=[0.2, 0.6]",
            "weight_collection=per_candidate",
        ],
    ),
    "public rows of many lengths": ("crowd", ["workers.tasks=300", "workers.workers=20"]),
    "a release for each worker": ("peer-grading", []),
    "the server's noise": ("moral-synthetic", ["voters.voters=20", "voters.records=5"]),
    "an epsilon of each voter": ("fairness-judgements", ["voters.voters=30"]),
    "groups": ("two-societies", ["voters.groups.north.voters=9", "voters.groups.south.voters=7"]),
    "names of many lengths": ("eu-council", []),
}


def traffic_in(folder: Path) -> list[dict[str, Any]]:
    return read_json(folder / "run.json")["traffic"]


@pytest.mark.few(most=4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_arrays_say_what_agents_would(tmp_path: Path, name: str) -> None:
    scenario, settings = SCENARIOS[name]
    found: list[list[dict[str, Any]]] = []
    for transport in ("array", "memory"):
        resolved = resolve(load_scenario(scenario, [*settings, f"transport={transport}"]))
        run_in_folder(resolved, RunFolder(tmp_path / transport), pictures=False)
        found.append(traffic_in(tmp_path / transport))
    computed, counted = found
    assert computed == counted
    assert all(each["bytes_up"] > 0 for each in counted[:-1])
    assert [each["messages_down"] for each in counted] == [len(resolved.names)] * len(counted)


def test_a_session_that_hides_who_takes_part_does_not_count_its_messages(tmp_path: Path) -> None:
    relation = "relation=add-remove-one"
    for transport in ("array", "memory"):
        settings = ["voters.groups.north.voters=9", "voters.groups.south.voters=7", f"transport={transport}"]
        resolved = resolve(load_scenario("two-societies", [*settings, relation]))
        run_in_folder(resolved, RunFolder(tmp_path / transport), pictures=False)
        assert "traffic" not in read_json(tmp_path / transport / "run.json")


def test_what_a_relay_sees_is_what_the_server_counts() -> None:
    """On TCP each message has a header of four bytes besides."""
    seen = "adversary=[{role='network-observer'}]"
    resolved = resolve(load_scenario("consortium", ["partners.count=6", "transport=tcp", seen]))
    watched = ObservedRun()
    record = run_session(resolved, seed=1, observed_run=watched)
    for is_upstream in (True, False):
        relayed = sum(each.num_bytes for each in watched.traffic if each.is_upstream == is_upstream)
        messages, num_bytes = (
            sum(getattr(phase, f"{what}_{'up' if is_upstream else 'down'}") for phase in record.traffic)
            for what in ("messages", "bytes")
        )
        assert relayed == num_bytes + 4 * messages
