"""Deadlines and quorums of steps.

If participation in a step is private, the step has only a deadline: whether a quorum was met, or that a step closed
early, would reveal who took part.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from .errors import list_choices, refuse, require
from .phases import PhasedProtocol

JOIN: Final = "join"
"""The name of the joining period before the first step, in rules, deadlines and quorum errors."""


class PhaseRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The deadline and quorum of a phase.

    Args:
        deadline_seconds: > 0; the phase then closes with the reports received so far.
        quorum: the least number of reports: a number of parties (an integer ≥ 1), or a share of the roster (a float in
            (0, 1]); by default all parties. A phase that hides participation has no quorum; a masked phase has its
            threshold.

    Raises:
        ConfigurationError: a value is out of range.

    Examples:
        >>> PhaseRules(deadline_seconds=60, quorum=0.5).num_required(5)
        3
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

    def num_required(self, num_parties: int, *, hides_participation: bool = False) -> int:
        """Return the quorum among `num_parties`, rounded up.

        Args:
            hides_participation: whether participation is private; then there is no quorum, and the result is 0.

        Raises:
            ConfigurationError: the quorum exceeds the number of parties; or participation is private, and there is a
                quorum, or no finite deadline.

        Examples:
            >>> [PhaseRules(quorum=quorum).num_required(5) for quorum in (0.6, 2, None)]
            [3, 2, 5]
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
            # In floating point, 0.6 * 5 is 3.0000000000000004, which must not be rounded up to 4.
            return max(1, int(-(-(self.quorum * num_parties - 1e-9) // 1)))
        require(self.quorum <= num_parties, "quorum", self.quorum, f"at most the {num_parties} parties")
        return self.quorum


def _least_of(protocol: PhasedProtocol[Any, Any]) -> dict[str, int]:
    """Return how many have to answer in each, whatever the rules say, but 0 where that is nobody."""
    least = {step.name: step.least for step in protocol.steps}
    return {JOIN: max(least.values()), **least}


def names_of(protocol: PhasedProtocol[Any, Any]) -> dict[str, bool]:
    """Return all that a session waits in, `JOIN` and the steps by name, each with whether it is private who reports."""
    hidden = {step.name: step.phase.hides_participation for step in protocol.steps}
    return {JOIN: any(hidden.values()), **hidden}


class Wait(msgspec.Struct, frozen=True):
    """The wait of a session in one step, or before the first.

    Args:
        quorum: the least number of reports; 0 if participation is private.
    """

    name: str
    deadline_seconds: float
    quorum: int
    is_hidden: bool


class SessionRules(PhaseRules, frozen=True, kw_only=True):
    """The rules of all steps of a session, and of the joining period before the first one (`JOIN`).

    Args:
        deadline_seconds: as `PhaseRules`, for each step that `phases` does not name.
        quorum: as `PhaseRules`, for each step that `phases` does not name.
        phases: the rules of single steps, by name. The step of a phase with a single step has the phase's name.

    Raises:
        ConfigurationError: as `PhaseRules`.

    Examples:
        >>> rules = SessionRules(quorum=0.5, phases={"weights": PhaseRules(deadline_seconds=10)})
        >>> rules.phase_rules("weights").deadline_seconds, rules.phase_rules("opinions").deadline_seconds
        (10, 300.0)
    """

    phases: Mapping[str, PhaseRules] = {}

    def phase_rules(self, name: str) -> PhaseRules:
        """Return the rules of a step, by its name."""
        return self.phases.get(name, self)

    def waits_of(self, protocol: PhasedProtocol[Any, Any], *, num_parties: int) -> tuple[Wait, ...]:
        """Return the waits of a session: before the first step, and in each step.

        Raises:
            ConfigurationError: a step is called `JOIN`; a rule names no step; or a rule asks for more parties than
                there are, or for any although participation is private.
        """
        names, least = names_of(protocol), _least_of(protocol)
        in_dispute = {step.name for step in protocol.steps if step.is_in_dispute}
        refuse(len(names) == len(protocol.steps), "phase", JOIN, "named otherwise")
        for name in sorted(self.phases):
            require(name in names, "rules", name, list_choices(names, name))
        waits: list[Wait] = []
        for name, is_hidden in names.items():
            rules, quorum = self.phase_rules(name), 0
            if name not in in_dispute and (rules.quorum is not None or not least[name]):
                quorum = rules.num_required(num_parties, hides_participation=is_hidden)
            waits.append(Wait(name, rules.deadline_seconds, max(quorum, least[name]), is_hidden))
        return tuple(waits)


DEFAULT_RULES: Final = SessionRules()
"""The default rules of a session."""
