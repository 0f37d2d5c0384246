"""The field has a word for these things: no name of ours takes another one."""

import io
import tokenize
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parent.parent
_ROOMS: Final = ("protocol", "transports", "agents", "scenarios")
INSTEAD: Final = {
    "Beginning": "ScenarioTemplate",
    "Broken": "SessionFailed",
    "Charter": "SessionDescriptor",
    "Climb": "SizeSweep",
    "Exposure": "Observable",
    "Happened": "SessionTrace",
    "HeldSession": "RecordedSession",
    "Holder": "SessionRunner",
    "Kept": "MemoizedReports",
    "Ladder": "SizeGrid",
    "Left": "SessionEnded",
    "Lesson": "AttackReport",
    "LeveledPhase": "PersonalizedPhase",
    "Lobby": "PendingConnections",
    "Patience": "RetryPolicy",
    "PolyaShare": "NoiseShare",
    "RunLeft": "RunArtifacts",
    "Scene": "AttackContext",
    "Seat": "ClientState",
    "Seats": "ClientTable",
    "Seen": "CoalitionView",
    "Sitting": "JournalSession",
    "Stage": "Configuration",
    "Standing": "SessionStatus",
    "Witness": "RollbackGuard",
    "charter": "descriptor",
    "climb": "sweep",
    "happened": "trace",
    "has_happened": "bernoulli",
    "has_happened_exp": "bernoulli_exp",
    "lesson": "attack_report",
    "lie_probability": "flip_probability",
    "lobby": "pending",
    "made_up": "synthetic",
    "scene": "context",
    "seat": "client",
    "whoever": "the party, client or user that is meant",
}
"""What to write, by what not to."""


def _names(text: str) -> set[str]:
    return {each.string for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type == tokenize.NAME}


@pytest.mark.parametrize("room", _ROOMS)
def test_things_have_the_names_of_the_field(room: str) -> None:
    paths = sorted((_ROOT / room).rglob("*.py"))
    assert paths
    wrong = {
        f"{path.relative_to(_ROOT)}: {name}, write {INSTEAD[name]}"
        for path in paths
        for name in _names(path.read_text(encoding="utf-8")) & INSTEAD.keys()
    }
    assert sorted(wrong) == []


def test_a_name_of_old_is_found() -> None:
    assert _names("class Lesson:\n    def scene(self): ...\n") & INSTEAD.keys() == {"Lesson", "scene"}
