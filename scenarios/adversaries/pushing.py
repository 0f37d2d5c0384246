"""Roles whose members push an estimate by extreme reports: what they send, and how far it moves."""

import functools
import math
from collections.abc import Mapping
from typing import Literal

import msgspec
import numpy as np

from ...agents.adversaries import Changer, Deviation, Poisoner
from ...protocol.arrays import IntArray
from ...protocol.masking import Masked, MaskingMove
from ...protocol.phases.phase import Codec
from ...protocol.population import draw_reports
from ..attacks.extreme_reports import NOT_COMPUTED, ExtremeReports
from .role import AttackContext, Role, Row, SessionTrace, find_masked_step


class PushingRole(Role, frozen=True, kw_only=True):
    """Parties that push an estimate one way."""

    # Name of the estimate that they push: a candidate's margin, an alternative, a label (or "TASK=LABEL") or a feature;
    # by default the first.
    aim: str = ""
    direction: Literal["up", "down"] = "up"  # whether they push it up or down

    def extremes(self, context: AttackContext) -> ExtremeReports:
        """Return the effect of extreme reports on the estimate; ConfigurationError if there is no such estimate."""
        sign = 1 if self.direction == "up" else -1
        return ExtremeReports(context.protocol, context.inputs, context.noise(), self.aim, sign)

    def pushing(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return for each member the deviation that sends its extreme reports instead of those that it drew."""
        places = context.coalition(self.members).members
        reports = self.extremes(context).reports(np.array(places, dtype=np.int64))
        if (phase := context.protocol.masked_phase) is not None:
            honest_reports = draw_reports(
                phase, context.inputs, noise=context.noise(), protocol=context.protocol.name, start=0
            )
            number, shift = find_masked_step(context, MaskingMove.MASKED), reports[0] - honest_reports
            codec = context.protocol.steps[number].codec
            changes = {place: functools.partial(_shift_payload, codec, shift[place]) for place in places}
            return {context.names[place]: Changer(number, change) for place, change in changes.items()}
        return {
            context.names[place]: Poisoner({number: phase[place].tolist() for number, phase in enumerate(reports)})
            for place in places
        }

    def shifts(self, context: AttackContext, trace: SessionTrace) -> tuple[list[Row], list[str]]:
        """Return a table row for each released estimate: without the members, with their reports, and the shift."""
        extremes, places = self.extremes(context), np.array(context.coalition(self.members).members, dtype=np.int64)
        honest_estimates = extremes.estimates()
        try:
            pushed_estimates = extremes.estimates(extremes.reports(places))
        except NOT_COMPUTED:  # computed for each kind of public row, but not for all together
            return [], ["Of their reports together the protocol computes no outcome: they end the session."]
        rows: dict[str, Row] = {}
        for name in honest_estimates.keys() & pushed_estimates.keys():
            error, shift = (
                honest_estimates[name].standard_error,
                pushed_estimates[name].value - honest_estimates[name].value,
            )
            rows[name] = {
                "estimate": name,
                "without them": honest_estimates[name].value,
                "standard error": error,
                "with them": pushed_estimates[name].value,
                "shift": shift,
                "in standard errors": shift / error if error else math.copysign(math.inf, shift) if shift else 0.0,
            }
        aimed_row = rows[extremes.name_of_aim]
        error, errors = "", ""
        if aimed_row["standard error"]:  # a decision has no standard error
            error = f" (standard error {aimed_row['standard error']:.3g})"
            errors = f", {abs(float(aimed_row['in standard errors'])):.1f} standard errors,"
        sentences = [
            (
                f"They push the estimate {extremes.name_of_aim!r} {self.direction}. Without them it is "
                f"{aimed_row['without them']:.4g}{error}, with their reports {aimed_row['with them']:.4g}."
            ),
            *([] if trace.failure is None else [f"The session itself came to no end: {trace.failure}"]),
            (
                f"That is a shift of {aimed_row['shift']:.4g}{errors} from what they had drawn; between pushed down "
                f"and up their reports move it by {extremes.spread(places):.4g}."
            ),
            (
                "These are the reports in range that push most by the protocol's own tally and outcome. They were "
                "searched, number by number: where each report adds to the estimate by itself nothing pushes further; "
                "elsewhere nothing is proven, and others may."
            ),
        ]
        return [rows[name] for name in honest_estimates if name in rows], sentences


def _shift_payload(codec: Codec, shift: IntArray, payload: msgspec.Raw) -> msgspec.Raw:
    """Return a masked row plus some numbers, modulo 2⁶⁴, which needs no knowledge of the masks."""
    row = np.array(codec.decode(payload).residues, dtype=np.int64) + shift
    return codec.encode(Masked(tuple(row.tolist())))
