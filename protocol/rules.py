"""How long a phase waits, and for whom."""

from typing import Final

import msgspec

from .errors import ConfigurationError

__all__ = ["JOIN", "PhaseRules"]

JOIN: Final = "join"
"""What the time before the first phase is called in rules, deadlines and quorum errors."""


class PhaseRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long a phase waits, and for whom.

    Args:
        deadline_seconds: > 0; the phase closes then with whoever has reported.
        quorum: how many reports it needs: a number of parties (an integer ≥ 1), or a share of the roster (a
            float in (0, 1]); everybody by default.

    Raises:
        ConfigurationError: a value is out of range.
    """

    deadline_seconds: float = 300.0
    quorum: int | float = 1.0

    def __post_init__(self) -> None:
        if not self.deadline_seconds > 0:
            raise ConfigurationError(field="deadline_seconds", value=self.deadline_seconds, allowed="positive")
        is_count = isinstance(self.quorum, int) and not isinstance(self.quorum, bool) and self.quorum >= 1
        if not is_count and not (isinstance(self.quorum, float) and 0 < self.quorum <= 1):
            allowed = "a number of parties (an integer >= 1) or a share (a float in (0, 1])"
            raise ConfigurationError(field="quorum", value=self.quorum, allowed=allowed)

    def required(self, num_parties: int) -> int:
        """Return the quorum among `num_parties`, rounded up.

        Raises:
            ConfigurationError: it asks for more parties than there are.
        """
        if isinstance(self.quorum, float):
            # 0.6 * 5 is 3.0000000000000004 in floating point, and means three.
            return max(1, int(-(-(self.quorum * num_parties - 1e-9) // 1)))
        if self.quorum > num_parties:
            raise ConfigurationError(field="quorum", value=self.quorum, allowed=f"at most the {num_parties} parties")
        return self.quorum
