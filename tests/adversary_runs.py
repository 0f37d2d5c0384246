"""Small sessions of all four protocols with adversaries on them, as fixtures of the tests of engines and of systems."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from psephos.protocol.errors import PsephosError
from psephos.scenarios import RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.adversaries import AttackReport
from psephos.scenarios.running.resolution import Local

SMALL: Final = {
    "dpwevote": ("consortium", ["partners.count=4"]),
    "truth-discovery": ("crowd", ["workers={tasks=3, workers=4, answers_per_task=2, classes=2}"]),
    "moral-preferences": ("moral-synthetic", ["voters={generator='normal', voters=4, records=6, features=2}"]),
    "fair-voting": (
        "two-societies",
        [
            "mechanism=sampled_pair",
            "objective=parity",
            "voters.alternatives=['harbor', 'market', 'park']",
            "voters.groups.north={voters=2, center=['harbor', 'market', 'park'], dispersion=0.4}",
            "voters.groups.south={voters=2, center=['park', 'harbor', 'market'], dispersion=0.6}",
        ],
    ),
    "central": ("traffic-analysis", ["voters={generator='normal', voters=4, records=6, features=2}"]),
}
"""By protocol, and one with a trusted aggregator: a shipped scenario, with four parties."""


@dataclasses.dataclass(frozen=True)
class Played:
    """What a run left.

    Args:
        attack_reports: of its adversaries, in their order.
        folder: with its files.
        failure: why it came to no end; None where it did.
    """

    attack_reports: Sequence[AttackReport]
    folder: Path
    failure: PsephosError | None = None


@pytest.fixture
def configuration() -> Callable[..., Local]:
    """Put adversaries' tables on a small session: `configuration(protocol, *tables, transport=…, settings=…, …)`.

    `parties` is a setting in the place of the four parties.
    """

    def resolved(
        protocol: str,
        *tables: dict[str, Any],
        transport: str = "memory",
        settings: Sequence[str] = (),
        parties: str = "",
    ) -> Local:
        name, small = SMALL[protocol]
        of_parties = [parties] if parties else small
        scenario = load_scenario(name, [*of_parties, "seed=11", "noise=simulated", f"transport={transport}", *settings])
        return resolve(msgspec.structs.replace(scenario, adversary=list(tables)))

    return resolved


@pytest.fixture
def play(tmp_path: Path, configuration: Callable[..., Local]) -> Callable[..., Played]:
    """Runs such a session, also one that fails: `play(protocol, *tables, …)`."""

    def played(*words: Any, pictures: bool = False, **options: Any) -> Played:
        folder = RunFolder(tmp_path / f"run-{len(list(tmp_path.iterdir()))}")
        told: list[AttackReport] = []
        resolved = configuration(*words, **options)
        try:
            finished = run_in_folder(resolved, folder, pictures=pictures, on_failure=told.extend)
        except PsephosError as error:
            return Played(told, folder.path, error)
        return Played(finished.attack_reports, folder.path)

    return played
