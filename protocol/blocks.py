"""Many sessions of the same parties at once, for trials, with the same bits as `population.run_population` of each.

Sessions differ in their noise, and in the parties' values if these are drawn for each. Values, the range of reports and
the losses of phases are checked for all sessions together. Whether the tallies of halves merge into the whole, and
whether outcomes survive encoding, is not checked here; callers also run whole sessions for that.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .arrays import IntArray
from .mechanisms import RowMechanism
from .phases import DrawBlock, InputBlock, Phase, PhasedProtocol
from .plugin_checks import check_reports
from .population import BATCH_ROWS, KEPT_BYTES, discloses, draw_for_release, randomize, release_streams, released_tally
from .randomness import SimulatedRounds
from .tally import Decisions, TallyBlock

_MOST_SESSIONS: Final = 512
_MOST_UNIFORMS: Final = 1 << 16  # per phase, so that they fit into the cache


def decides_in_blocks(protocol: PhasedProtocol[Any, Any]) -> bool:
    """Return whether a protocol decides many sessions at once.

    It does if it overrides `decisions`, no subclass overrides only `outcome` or `own_outcomes`, and no phase is
    memoized.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> decides_in_blocks(DPWeVote(Parameters(candidates=("tea",))))
        True
    """
    kind = type(protocol)
    return (
        kind.decisions is not PhasedProtocol.decisions  # pyright: ignore[reportUnknownMemberType]  of any parameters
        and goes_with(kind, "decisions", "outcome")
        and goes_with(kind, "decisions", "own_outcomes")
        and all(phase.memo_scope is None for phase in protocol.phases)
    )


def goes_with(kind: type, many: str, one: str) -> bool:
    """Return whether a class's method for many sessions is valid: no subclass overrides only the method for one.

    Examples:
        >>> goes_with(Phase, "tally_block", "tally")
        True
    """
    many_in, one_in = (next(cls for cls in kind.__mro__ if name in vars(cls)) for name in (many, one))
    return issubclass(many_in, one_in)


def sessions_at_once(protocol: PhasedProtocol[Any, Any], public: IntArray, *, are_alike: bool) -> int:
    """Return the number of sessions that fit into memory and cache at a time; 0 if one does not fit.

    Args:
        public: the parties' public rows.
        are_alike: whether the parties hold the same values in all sessions; disclosed values are then checked once.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)
    drawn_phases = [phase for phase in protocol.phases if not (are_alike and discloses(phase, public))]
    rows = max(len(public), 1)
    uniforms = max((rows * phase.mechanism.slots_of(phase.num_values) for phase in drawn_phases), default=1)
    return min(_MOST_SESSIONS, BATCH_ROWS // (rows if drawn_phases else 1), max(1, _MOST_UNIFORMS // uniforms))


def decide_sessions(
    protocol: PhasedProtocol[Any, Any], inputs: InputBlock, noise: SimulatedRounds
) -> tuple[Decisions, list[TallyBlock]]:
    """Return the decisions of many sessions, from one up to `sessions_at_once`, and the tallies of each phase.

    Raises:
        ValueError, ConfigurationError, PluginError: something is wrong in one of the sessions, or cannot be computed in
            blocks. To find out which, run the sessions one by one.
    """
    for number in range(len(inputs.private) if protocol.compared_phases else 0):
        protocol.check_rows(inputs.inputs(number))
    once = inputs.flatten(len(inputs.private))
    protocol.check_inputs(once)
    all_rows = functools.cache(lambda: inputs.flatten(len(noise)))
    tallies, reports = list[TallyBlock](), list[IntArray]()
    for phase in protocol.phases:
        slots = phase.mechanism.slots_of(phase.num_values)
        if discloses(phase, inputs.public):  # these reports equal the values, so they may be the same in all sessions
            rows, uniforms = once, np.broadcast_to(np.float64(0.0), (len(once), slots))
        else:
            draws = noise.uniforms(
                protocol=protocol.name, phase=phase.name, start=0, stop=inputs.num_parties, slots=slots
            )
            rows, uniforms = all_rows(), draws.reshape(-1, slots)
        draws = randomize(phase, rows, uniforms)
        check_reports(protocol, phase, draws, rows.public)
        tallies.append(_release(phase, _tally(protocol, phase, draws, reports, inputs.public), noise, protocol.name))
        reports.append(draws)
    return protocol.decisions(tallies), tallies


def _tally(
    protocol: PhasedProtocol[Any, Any], phase: Phase, draws: IntArray, reports: Sequence[IntArray], public: IntArray
) -> TallyBlock:
    """Return the tallies of all sessions, or of one that stands for all, of reports one session after another."""

    def split(rows: IntArray) -> IntArray:
        return rows.reshape(len(rows) // len(public), len(public), rows.shape[1])

    current, earlier = split(draws), [split(rows) for rows in protocol.retained_reports(reports)]
    number = max(map(len, (current, *earlier)))
    current, *earlier = (np.broadcast_to(rows, (number, *rows.shape[1:])) for rows in (current, *earlier))
    is_of_phase = goes_with(type(phase), "tally_block", "tally")
    return (type(phase) if is_of_phase else Phase).tally_block(phase, current, earlier=earlier, public=public)


def _release(phase: Phase, tallies: TallyBlock, noise: SimulatedRounds, protocol: str) -> TallyBlock:
    """Return the tallies that a phase leaves, of each of the sessions."""
    tallies = tallies.broadcast(len(noise))
    if goes_with(type(phase), "randomize_tallies", "randomize_tally"):
        tallies = phase.randomize_tallies(tallies, _draw_for_releases(noise, protocol=protocol, phase=phase))
    else:
        draws = (draw_for_release(round_noise, protocol=protocol, phase=phase) for round_noise in noise)
        return TallyBlock.from_tallies(
            [released_tally(phase, tallies.tally(place), draw) for place, draw in enumerate(draws)]
        )
    return dataclasses.replace(tallies, num_reports=0) if phase.hides_participation else tallies


def _draw_for_releases(noise: SimulatedRounds, *, protocol: str, phase: Phase) -> DrawBlock:
    """Return the functions by which the servers of many sessions draw noise, as `draw_for_release` for each."""
    streams = release_streams(phase)

    def draw(mechanism: RowMechanism, values: IntArray) -> IntArray:
        slots = mechanism.slots_of(values.shape[1])
        uniforms = noise.uniforms(protocol=protocol, phase=next(streams), start=0, stop=1, slots=slots)
        return mechanism.randomize_rows(values, uniforms[:, 0])

    return draw
