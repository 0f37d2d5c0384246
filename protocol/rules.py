"""How long a phase waits, and for whom.

Where it is private who reports in a phase, the phase waits for its deadline and for nobody: whether a quorum was met
would tell who came, and so would a phase that closes as soon as all have.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from .errors import one_of, refuse, require
from .phases import PhasedProtocol

__all__ = ["DEFAULT_RULES", "JOIN", "PhaseRules", "SessionRules", "hidden_phases"]

JOIN: Final = "join"
"""What the time before the first phase is called in rules, deadlines and quorum errors."""


class PhaseRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a phase waits, and for whom.

    Args:
        deadline_seconds: > 0; the phase closes then with whoever has reported.
        quorum: how many reports it needs: a number of parties (an integer ≥ 1), or a share of the roster (a
            float in (0, 1]); by default everybody, and nobody where it is private who reports.

    Raises:
        ConfigurationError: a value is out of range.
    """

    deadline_seconds: float = 300.0
    quorum: int | float | None = None

    def __post_init__(self) -> None:
        require(self.deadline_seconds > 0, "deadline_seconds", self.deadline_seconds, "positive")
        if self.quorum is None:
            return
        is_count = isinstance(self.quorum, int) and not isinstance(self.quorum, bool) and self.quorum >= 1
        is_share = isinstance(self.quorum, float) and 0 < self.quorum <= 1
        allowed = "a number of parties (an integer >= 1) or a share (a float in (0, 1])"
        require(is_count or is_share, "quorum", self.quorum, allowed)

    def required(self, num_parties: int, *, hides_participation: bool = False) -> int:
        """Return the quorum among `num_parties`, rounded up.

        Args:
            hides_participation: whether it is private who reports; then there is no quorum, which is 0.

        Raises:
            ConfigurationError: it asks for more parties than there are, or, where who reports is private, there is one
                at all, or no end to the waiting.
        """
        if hides_participation:
            allowed = "left out: participation is private here, and a quorum would reveal how many took part"
            require(self.quorum is None, "quorum", self.quorum, allowed)
            allowed = "finite: participation is private here, so every phase lasts until its deadline"
            refuse(math.isinf(self.deadline_seconds), "deadline_seconds", self.deadline_seconds, allowed)
            return 0
        if self.quorum is None:
            return num_parties
        if isinstance(self.quorum, float):
            # 0.6 * 5 is 3.0000000000000004 in floating point, and means three.
            return max(1, int(-(-(self.quorum * num_parties - 1e-9) // 1)))
        require(self.quorum <= num_parties, "quorum", self.quorum, f"at most the {num_parties} parties")
        return self.quorum


def hidden_phases(protocol: PhasedProtocol[Any, Any]) -> frozenset[str]:
    """Return the names of the phases in which it is private who reports; with any of them, `JOIN` is one."""
    names = [phase.name for phase in protocol.phases if phase.hides_participation]
    return frozenset([JOIN, *names] if names else [])


class SessionRules(PhaseRules, frozen=True, kw_only=True):
    """The rules of all phases of a session, and of the time before the first one (`JOIN`).

    Args:
        deadline_seconds: of each phase that `phases` does not name; as of `PhaseRules`.
        quorum: of each of those, too.
        phases: the rules of single phases, by name.

    Raises:
        ConfigurationError: as `PhaseRules`.
    """

    phases: Mapping[str, PhaseRules] = {}

    def of(self, name: str) -> PhaseRules:
        """Return the rules of a phase, by its name."""
        return self.phases.get(name, self)

    def required_by_phase(self, protocol: PhasedProtocol[Any, Any], *, num_parties: int) -> dict[str, int]:
        """Return how many reports each phase needs, by name; 0 where it is private who reports.

        Raises:
            ConfigurationError: a phase has the name of the time before the first one, a rule names no phase, or it asks
                for more parties than there are, or for any where it is private who reports.
        """
        names = (JOIN, *(phase.name for phase in protocol.phases))
        refuse(JOIN in names[1:], "phase", JOIN, "named otherwise")
        for name in sorted(self.phases):
            require(name in names, "rules", name, one_of(names, name))
        hidden = hidden_phases(protocol)
        return {name: self.of(name).required(num_parties, hides_participation=name in hidden) for name in names}


DEFAULT_RULES: Final = SessionRules()
"""Of a session for which nobody says otherwise."""
