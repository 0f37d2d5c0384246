"""A vote's outcome in files: each candidate's verdict, and the side of its estimate."""

from typing import Any, Final

from ...protocol.dpwevote import Outcome
from ...protocol.estimators import Verdict
from ..verdicts import UNDECIDED, FileForm


def _write(outcome: dict[str, Any]) -> None:
    for candidate in outcome["candidates"]:
        leaning = candidate["leaning"] = "yes" if candidate.pop("passed") else "no"
        if candidate["verdict"]["verdict"] == Verdict.TOO_CLOSE.value:
            candidate["verdict"]["verdict"] = f"{UNDECIDED}, leaning {leaning}"


def _read(outcome: dict[str, Any]) -> None:
    for candidate in outcome["candidates"]:
        if "leaning" in candidate:
            candidate["passed"] = candidate.pop("leaning") == "yes"
        if candidate["verdict"]["verdict"].startswith(UNDECIDED):
            candidate["verdict"]["verdict"] = Verdict.TOO_CLOSE.value


FILE_FORM: Final = FileForm(Outcome, _write, _read)
"""The file form of an outcome. Messages have `passed` and "too close to tell" where files state the leaning."""
