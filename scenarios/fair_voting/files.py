"""An election's outcome in files, with the verdict in the words of pages."""

from typing import Any, Final

from ...protocol.estimators import Verdict
from ...protocol.fair_voting import Outcome
from ..verdicts import UNDECIDED, FileForm


def _rename(outcome: dict[str, Any], old_name: str, new_name: str) -> None:
    if outcome["assurance"]["verdict"] == old_name:
        outcome["assurance"]["verdict"] = new_name


FILE_FORM: Final = FileForm(
    Outcome,
    lambda outcome: _rename(outcome, Verdict.TOO_CLOSE.value, UNDECIDED),
    lambda outcome: _rename(outcome, UNDECIDED, Verdict.TOO_CLOSE.value),
)
"""The file form of an outcome, whose messages have "too close to tell"."""
