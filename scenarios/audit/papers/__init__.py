"""The papers' claims held against exact numbers: what is refuted, what holds, and the command that shows it."""

from collections.abc import Callable, Iterator
from typing import Final

from ...dpwevote.paper.claims_audited import findings_on_dpwevote
from ...fair_voting.paper.claims_audited import findings_on_fair_voting
from ...moral_preferences.paper.claims_audited import findings_on_moral_preferences
from ...truth_discovery.paper.claims_audited import findings_on_truth_discovery
from .finding import Certainty, PaperFinding, Verdict
from .show import show_findings

__all__ = ["Certainty", "PaperFinding", "Verdict", "findings", "show_findings"]

_FINDINGS: Final[tuple[Callable[[], Iterator[PaperFinding]], ...]] = (
    findings_on_dpwevote,
    findings_on_truth_discovery,
    findings_on_moral_preferences,
    findings_on_fair_voting,
)


def findings() -> list[PaperFinding]:
    """Compute all findings, paper by paper; some seconds."""
    return [finding for find in _FINDINGS for finding in find()]
