"""Faults planted into votes: what a single mechanism's audit cannot see, since each mechanism by itself is right."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from ....agents.client import Client
from ....agents.modes import Mode
from ....protocol.arrays import FloatArray
from ....protocol.client_machine import ClientMachine
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.effects import Effect, Send
from ....protocol.kept_reports import KeptReports
from ....protocol.mechanisms import RowMechanism
from ....protocol.messages import Message, Report
from ....protocol.phases import Inputs, PhasedProtocol
from ....protocol.randomness import NoiseSource, SimulatedNoise
from ...audit.fault import Drawing, Fault, WrongNoise
from ...audit.machines import (
    HeldSession,
    by_agents,
    by_arrays,
    one_source,
    reports_of_all,
    roster_of,
    source_of_each,
)
from ...audit.planting import Sessions
from ...audit.whole_sessions import charge
from .sessions import vote_with_matrices

__all__ = ["planted_faults"]

_SAMPLES_OF_ARRAYS = 5_000
"""Outputs of each neighbor."""
_SAMPLES = 1_200
"""The same of agents, and with secure noise."""
_STATED = 0.5
"""The loss that is stated of either report by a matrix."""


def planted_faults() -> Iterator[Fault]:
    """Yield noise or a draw that is shared, raw values in the agents, matrices that cost more, a weight drawn again."""
    yield _shared_by_two_parties()
    yield _raw_in_agents()
    yield _shared_by_two_candidates()
    yield _stated_loss_of_matrices()
    yield _weight_drawn_again()


class _SharedNoise(SimulatedNoise):
    """Noise that every party takes from the first place of the roster."""

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        """Return the uniforms of place 0, for every party alike."""
        first = super().uniforms(protocol=protocol, phase=phase, start=0, stop=1, slots=slots)
        return np.repeat(first, stop - start, axis=0)


def _shared_by_two_parties() -> Fault:
    vote = _vote("a")
    table = vote.encode({"weight": [1, 2, 1], "a": [0, 1, 0]})
    other = table.private[2]  # what the second party has, whatever the first one's row is
    rosters = [roster_of(vote, [row, other], [(), ()]) for row in table.private[:2]]
    entries = charge(vote, table.private[0].tolist(), (), num_sessions=1)
    return Sessions(vote, (rosters[0], rosters[1]), entries, reports_of_all, by_arrays).planted(
        "noise shared by two parties",
        "All parties of a session randomize by the uniforms of one place: another one's report tells them.",
        "noise of each party's own",
        samples=_SAMPLES_OF_ARRAYS,
        make_noise=source_of_each(_SharedNoise),
    )


class _RawMachine(ClientMachine):
    """A machine whose reports from the second phase on are the values themselves."""

    __slots__ = ()

    def receive(self, sender: str, message: Message) -> list[Effect]:
        """Return what the honest machine does, with raw values in the reports of later phases."""
        return [self._raw(effect) for effect in super().receive(sender, message)]

    def _raw(self, effect: Effect) -> Effect:
        if not isinstance(effect, Send) or not isinstance(effect.message, Report) or not effect.message.phase:
            return effect
        number = effect.message.phase
        phase = self._protocol.phases[number]
        return Send(effect.recipients, Report(number, phase.encode_report(self._row[phase.columns])))


class _RawPartner(Client):
    """A partner whose agent runs such a machine."""

    __slots__ = ()

    def __init__(self, protocol: PhasedProtocol[Any, Any], **given: Any) -> None:
        super().__init__(protocol, **given)
        mode: Mode = given["mode"]
        rows = {name: given[name] for name in ("party", "place", "row", "public")}
        self._machine = _RawMachine(
            protocol,
            **rows,
            session=mode.session,
            noise=mode.noise,
            ledger=self.ledger,
            server="server",
            charter=mode.charter,
        )


def _raw_in_agents() -> Fault:
    vote = _vote("a")
    rows = vote.encode({"weight": [2, 2], "a": [0, 1]}).private
    return Sessions.of_rows(vote, rows, hold=by_agents).planted(
        "raw values in the agents",
        "Agents randomize what they report in the first phase, and in the second report the opinion itself.",
        "randomized in every phase",
        samples=_SAMPLES,
        hold=functools.partial(by_agents, client=_RawPartner),
    )


def _by_one_draw(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return reports that are all true or all false, as one draw for the first value decides."""
    (report,) = rightly(mechanism, values[:1])
    low, high = mechanism.value_range
    return [report, *((value if report == values[0] else low + high - value) for value in values[1:])]


def _shared_by_two_candidates() -> Fault:
    vote = _vote("a", "b")
    rows = vote.encode({"weight": [2, 2], "a": [0, 0], "b": [0, 1]}).private
    return Sessions.of_rows(vote, rows).planted(
        "secure draw shared by candidates",
        "One secure draw randomizes the opinions on two candidates: they agree exactly if their reports do.",
        "a secure draw for each candidate",
        source="secure",
        samples=_SAMPLES,
        make_noise=one_source(functools.partial(WrongNoise, _by_one_draw)),
    )


def _stated_loss_of_matrices() -> Fault:
    vote = vote_with_matrices("a")
    rows = vote.encode({"weight": [1, 2], "a": [0, 1]}).private
    right = Sessions.of_rows(vote, rows, hold=by_arrays)
    # The usual ε of 1, half for either report, beside matrices whose own loss is ln 5 + ln 8.
    stated = [msgspec.structs.replace(entry, claimed=_STATED, proven=_STATED) for entry in right.entries]
    return right.planted(
        "a matrix stated with too small a loss",
        "Matrices of one's own are charged by the ε that stands beside them, and not by the ratios in their columns.",
        "a matrix charged by its own loss",
        samples=_SAMPLES,
        entries=stated,
    )


def _forgetful(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    session: str,
    noise: NoiseSource,
    kept: KeptReports | None = None,
) -> HeldSession:
    """Hold a session whose parties and server have kept nothing of earlier ones."""
    del kept
    return by_arrays(protocol, inputs, session=session, noise=noise)


def _weight_drawn_again() -> Fault:
    vote = DPWeVote(Parameters(candidates=("a",), epsilon_weight=2.0, epsilon_opinion=0.5, game="board"))
    rows = vote.encode({"weight": [1, 3], "a": [1, 1]}).private  # they differ in the weight alone
    right = Sessions.of_rows(vote, rows, hold=by_arrays, num_sessions=2)
    of_weight = [entry for entry in right.entries if entry.unit == "weight"]
    return dataclasses.replace(right, entries=of_weight).planted(
        "a weight drawn again",
        "In the second vote of a game the weight is drawn again, where the ledger charges one report.",
        "a weight kept in its game",
        samples=_SAMPLES_OF_ARRAYS,
        hold=_forgetful,
    )


def _vote(*candidates: str) -> DPWeVote:
    return DPWeVote(Parameters(candidates=candidates, variant="joint", epsilon=1.0))
