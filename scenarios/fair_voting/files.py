"""An election's outcome in files: whether its winner is confirmed, in the words of every page."""

from typing import Any, Final

from ...protocol.estimators import Verdict
from ...protocol.fair_voting import Outcome
from ..verdicts import UNDECIDED, FileForm


def _rename(outcome: dict[str, Any], before: str, after: str) -> None:
    if outcome["assurance"]["verdict"] == before:
        outcome["assurance"]["verdict"] = after


FILE_FORM: Final = FileForm(
    Outcome,
    lambda outcome: _rename(outcome, Verdict.TOO_CLOSE.value, UNDECIDED),
    lambda outcome: _rename(outcome, UNDECIDED, Verdict.TOO_CLOSE.value),
)
"""Of an outcome: messages say "too close to tell"."""
