"""The poisoner: parties that choose their reports so that the outcome moves.

Members are parties of the roster whose agents are honest but for their reports. The session runs with them, and the
same session is computed without: with the same seed everybody else reports the same, so that the difference is theirs.
What is pushed, and what a report adds to it, a protocol's system says; of any other, extreme reports are tried.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

import numpy as np

from ...agents.adversaries import SERVER, Deviation
from ...protocol.arrays import IntArray
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.estimators import Estimate
from ..attacks.extreme_reports import NOT_COMPUTED, ExtremeReports
from ..attacks.poisoning import STRATEGIES, StrategyName, has_poisoning
from ..verdicts import round_up
from .masked_push import MaskedPush
from .pushing import Pushed, PushingRole, poisoners
from .role import AttackContext, AttackReport, Row, SessionTrace

_ROUNDING: Final = 1e-9  # a quotient of sums of floats that is meant to be 1
_SHARES: Final = 7  # shares of poisoners that are tried, none and the greatest included
_IN_WORDS: Final[Mapping[str, str]] = {
    "greatest": "chosen reports",
    "input": "false values",
    "random": "random reports",
}


_TRUST: Final = (
    "Corrupt are the members alone, who know the public parameters and agree on their reports. The server and "
    "everybody else follow the protocol. Nobody learns more than otherwise; what suffers is the outcome."
)


class PoisonerRole(PushingRole, frozen=True, kw_only=True):
    """Parties that choose their reports."""

    strategy: StrategyName = "greatest"  # how they choose their reports (see `attacks.poisoning`)
    most_share: float = 0.3  # of all parties, how many poison at most in the table

    name: ClassVar[str] = "poisoner"

    def check(self, context: AttackContext) -> None:
        require(self.members, "members", "nobody", "at least one party")
        refuse(SERVER in self.members, "members", SERVER, "parties that report: a server sends no report")
        coalition = context.coalition(self.members)
        require(0 < self.most_share <= 1, "most_share", self.most_share, "in (0, 1]")
        if not has_poisoning(context.protocol):
            self._check_extremes(context)
            return
        is_random = context.protocol.masked_phase is not None and self.strategy == "random"
        refuse(is_random, "strategy", self.strategy, "another: a masked row looks like any other")
        poisoning = self.pushed(context).poisoning
        public = context.inputs.public[list(coalition.members)].tolist()
        allowed = f"parties whose reports count for {poisoning.pushed}"
        require(any(map(poisoning.is_concerned, public)), "members", f"{len(public)} others", allowed)

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return each member's: the reports that its strategy chooses."""
        if not has_poisoning(context.protocol):
            places = self._places(context)
            return poisoners(context, places, self._extremes(context).reports(places))
        if (masked := context.protocol.masked_phase) is not None:
            push = MaskedPush(masked, self.pushed(context))
            return poisoners(context, self._places(context), [push.reports(self._times(push))])
        return self.deviations_by(context, self.strategy)

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return by how much the outcome moved, and by how much it could have."""
        if not has_poisoning(context.protocol):
            return self._learn_extremes(context, trace)
        pushed = self.pushed(context)
        if (masked := context.protocol.masked_phase) is not None:
            push = MaskedPush(masked, pushed)
            came = [] if trace.failure is None else [f"The session itself came to no end: {trace.failure}"]
            told = [*push.sentences(self._times(push)), *came, _undetected(context)]
            return self.attack_report(context.some_parties(len(self.members)), _TRUST, told, push.rows)
        places, error = pushed.places, pushed.honest_error
        honest = pushed.honest_reports()
        before = pushed.estimate(honest)
        rows: list[Row] = []
        for strategy in STRATEGIES:
            reports = pushed.reports(places, strategy)
            after = pushed.estimate(reports)
            rows.append(
                {
                    "reports": _IN_WORDS[strategy],
                    "poisoners": len(places),
                    "estimate": after,
                    "shift": after - before,
                    "in standard errors": (after - before) / error if error else math.inf,
                    "decision": pushed.poisoning.decided(pushed.outcome(reports)),
                }
            )
        sweep = _Sweep(pushed, self.most_share)
        decided = pushed.poisoning.decided(pushed.outcome(honest))
        return self.attack_report(
            who=context.some_parties(len(places)),
            trust=_TRUST,
            sentences=(
                *self._sentences(trace, pushed, rows, before=before, decided=decided),
                *sweep.sentences(),
            ),
            rows=rows,
        )

    def _sentences(
        self, trace: SessionTrace, pushed: Pushed, rows: Sequence[Row], *, before: float, decided: str
    ) -> Iterator[str]:
        poisoning, places = pushed.poisoning, pushed.places
        own = rows[STRATEGIES.index(self.strategy)]
        most = pushed.bound(places)
        bound = round_up(most, 4)
        yield (
            f"They push {f'{poisoning.pushed} up' if self.direction == 'up' else f'{poisoning.pushed} down'}. "
            f"Without them it is {before:.4g} {poisoning.unit} "
            f"(standard error {pushed.honest_error:.3g}), and {decided}; with their {own['reports']} "
            f"{own['estimate']:.4g}, and {own['decision']}."
        )
        if trace.failure is not None:
            yield f"The session itself came to no end: {trace.failure}"
        yield (
            f"That is a shift of {own['shift']:.4g}, {abs(float(own['in standard errors'])):.1f} standard errors. "
            f"{len(places):,} poisoners can shift it by {bound:.4g} at most, whatever they report "
            f"(proven: the greatest contribution less the least, of each of them)."
        )
        role, gain = pushed.context.protocol.client_role, most / pushed.truthful_range(places)
        if gain > 1 + _ROUNDING:
            yield (
                f"One of them weighs as much as {gain:,.2f} {role}s who lie about a value but randomize it honestly. "
                f"That factor grows as epsilon shrinks: noise that hides a {role} also hides a poisoner."
            )
        else:
            yield (
                f"None of them weighs more than a {role} who lies about a value, and no {role} can be kept from that."
            )
        yield _undetected(pushed.context)

    def _times(self, push: MaskedPush) -> int:
        return 1 if self.strategy == "input" else push.most

    def _places(self, context: AttackContext) -> IntArray:
        return np.array(context.coalition(self.members).members, dtype=np.int64)

    def _extremes(self, context: AttackContext) -> ExtremeReports:
        """Return what extreme reports do to an estimate of a protocol of which nothing more is known."""
        sign = 1 if self.direction == "up" else -1
        return ExtremeReports(context.protocol, context.inputs, context.noise(), self.aim, sign)

    def _check_extremes(self, context: AttackContext) -> None:
        if self.strategy != STRATEGIES[0]:
            allowed = f"{STRATEGIES[0]!r}: of protocol {context.protocol.name!r} no other is known"
            raise ConfigurationError(field="strategy", value=self.strategy, allowed=allowed)
        self._extremes(context)

    def _learn_extremes(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        extremes, places = self._extremes(context), self._places(context)
        rows = extreme_rows(extremes, places)
        return self.attack_report(
            who=context.some_parties(len(places)),
            trust=_TRUST,
            sentences=(
                *say_extremes(extremes, places, rows, trace, direction=self.direction),
                _undetected(context),
            ),
            rows=rows,
        )


def _undetected(context: AttackContext) -> str:
    role = context.protocol.client_role
    if context.protocol.masked_phase is not None:
        return (
            "Nobody sees a row, so that nothing checks its numbers: one poisoner moves a sum by any residue modulo "
            "2^64, unnoticed, and a release says of its certainty what holds where nobody does. Range proofs, or two "
            "servers that do not collude (Prio3), are the known cure."
        )
    return (
        "The server checks each report's length, its range and its sender's public row, and drops who fails; the "
        "roster bounds how many report. Nothing detects a single false report that is well formed: an honest "
        f"{role} could have drawn it."
    )


class _Sweep:
    """The same session with more and more poisoners, by each strategy."""

    def __init__(self, pushed: Pushed, most_share: float) -> None:
        self._pushed = pushed
        self._num_parties = len(pushed.context.names)
        order = pushed.order()
        most = min(max(1, round(most_share * self._num_parties)), len(order))
        self.numbers = sorted({round(most * step / (_SHARES - 1)) for step in range(_SHARES)})
        self.estimates: dict[StrategyName, list[float]] = {strategy: [] for strategy in STRATEGIES}
        self.has_reached: dict[StrategyName, list[bool]] = {strategy: [] for strategy in STRATEGIES}
        self.bounds = [pushed.bound(order[:number]) for number in self.numbers]
        for strategy in STRATEGIES:
            for number in self.numbers:
                reports = pushed.reports(order[:number], strategy)
                self.estimates[strategy].append(pushed.estimate(reports))
                self.has_reached[strategy].append(pushed.poisoning.has_reached(pushed.outcome(reports)))

    def sentences(self) -> Iterator[str]:
        """Say from how many poisoners on the decision is theirs."""
        if self.has_reached["greatest"][0]:
            yield "The decision is what they want without them already; more poisoners only make it look clearer."
            return
        told: list[str] = []
        for strategy in STRATEGIES:
            first = next((n for n, own in zip(self.numbers, self.has_reached[strategy], strict=True) if own), None)
            share = "" if first is None else f"{first:,} ({first / self._num_parties:.0%})"
            told.append(f"{_IN_WORDS[strategy]}: {f'from {share} on' if share else 'never'}")
        most = self.numbers[-1]
        yield f"With up to {most:,} poisoners tried, the decision becomes theirs by {', '.join(told)}."


def extreme_rows(extremes: ExtremeReports, places: IntArray) -> list[Row]:
    """Return a line for each estimate that is released, without the poisoners and with them; none if no outcome is."""
    before = extremes.estimates()
    try:
        after = extremes.estimates(extremes.reports(places))
    except NOT_COMPUTED:  # of each kind of public row they are, and of all together not
        return []
    return [
        {
            "estimate": name,
            "without them": own.value,
            "standard error": own.standard_error,
            "with them": after[name].value,
            "shift": after[name].value - own.value,
            "in standard errors": _in_errors(after[name].value - own.value, own),
        }
        for name, own in before.items()
        if name in after
    ]


def say_extremes(
    extremes: ExtremeReports, places: IntArray, rows: Sequence[Row], trace: SessionTrace, *, direction: str
) -> Iterator[str]:
    """Say by how much the estimate moved that they push "up" or "down", and what that is worth."""
    if not rows:
        yield "Of their reports together the protocol computes no outcome: they end the session."
        return
    (own,) = [row for row in rows if row["estimate"] == extremes.aimed]
    in_errors = abs(float(own["in standard errors"]))
    yield (
        f"They push the estimate {extremes.aimed!r} {direction}. Without them it is {own['without them']:.4g} "
        f"(standard error {own['standard error']:.3g}), with their reports {own['with them']:.4g}."
    )
    if trace.failure is not None:
        yield f"The session itself came to no end: {trace.failure}"
    yield (
        f"That is a shift of {own['shift']:.4g}, {in_errors:.1f} standard errors, from what they had drawn; between "
        f"pushed down and up their reports move it by {extremes.spread(places):.4g}."
    )
    yield (
        "These are the reports in range that push most by the protocol's own tally and outcome. They were searched, "
        "number by number, and nothing is proven: others may push further."
    )


def _in_errors(shift: float, before: Estimate) -> float:
    if before.standard_error:
        return shift / before.standard_error
    return math.copysign(math.inf, shift) if shift else 0.0
