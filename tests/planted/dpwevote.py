"""Faults planted into votes: what a single mechanism's audit cannot see, since each mechanism by itself is right."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from planted.fault import Drawing, Fault
from planted.masked_faults import masked_faults
from planted.planting import ReportChanger, Sessions, by_draw, planted_in_stage
from psephos.agents.client import Client
from psephos.agents.modes import Mode
from psephos.agents.noise import SecureNoise
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.mechanisms import DiscreteLaplace, ResponseSum, RowMechanism, ThresholdDecision
from psephos.protocol.memoized_reports import KeptReports
from psephos.protocol.messages import Report
from psephos.protocol.phases import Inputs, PhasedProtocol
from psephos.protocol.randomness import NoiseSource, SimulatedNoise
from psephos.protocol.sides import Party
from psephos.scenarios.audit.machines import (
    RecordedSession,
    one_source,
    reports_of_all,
    roster_of,
    run_by_agents,
    run_by_arrays,
    source_of_each,
)
from psephos.scenarios.audit.whole_sessions import charge
from psephos.scenarios.dpwevote.audit.sessions import dpwevote_climbs, masked_configuration, vote_with_matrices

_SAMPLES_OF_ARRAYS = 5_000  # outputs of each neighbor
_SAMPLES = 1_200  # the same of agents, and with secure noise
_CLEAR_PLACE = 40
_CUT_AT = 6  # scales
_STATED = 0.5  # the loss that is stated of either report by a matrix


def planted_faults() -> Iterator[Fault]:
    """Yield noise or a draw that is shared, raw values in the agents, matrices that cost more, a weight drawn again."""
    yield _shared_by_two_parties()
    yield _raw_in_agents()
    yield _shared_by_two_candidates()
    yield _stated_loss_of_matrices()
    yield _weight_drawn_again()
    yield from _of_sizes()
    sizes = {"weights": 3, "candidates": 2, "partners": 8, "votes in a row": 1}
    yield from masked_faults("votes", masked_configuration("majority", sizes))


class _SharedNoise(SimulatedNoise):
    """Noise that every party takes from the first place of the roster."""

    def uniforms(self, *, protocol: str, phase: str, start: int, stop: int, slots: int) -> FloatArray:
        first = super().uniforms(protocol=protocol, phase=phase, start=0, stop=1, slots=slots)
        return np.repeat(first, stop - start, axis=0)


def _shared_by_two_parties() -> Fault:
    vote = _vote("a")
    table = vote.encode({"weight": [1, 2, 1], "a": [0, 1, 0]})
    other = table.private[2]  # what the second party has, whatever the first one's row is
    rosters = [roster_of(vote, [row, other], [(), ()]) for row in table.private[:2]]
    entries = charge(vote, table.private[0].tolist(), (), num_sessions=1)
    return Sessions(vote, (rosters[0], rosters[1]), entries, reports_of_all, run_by_arrays).planted(
        "noise shared by two parties",
        "All parties of a session randomize by the uniforms of one place: another one's report tells them.",
        "noise of each party's own",
        samples=_SAMPLES_OF_ARRAYS,
        make_noise=source_of_each(_SharedNoise),
    )


class _RawMachine(ReportChanger):
    """A machine whose reports from the second phase on are the values themselves."""

    __slots__ = ()

    def changed(self, report: Report) -> Report:
        phase = self._protocol.steps[report.step].phase
        return Report(report.step, phase.codec.encode(self._party.row[phase.columns])) if report.step else report


class _RawPartner(Client):
    """A partner whose agent runs such a machine."""

    __slots__ = ()

    def __init__(self, protocol: PhasedProtocol[Any, Any], party: Party, mode: Mode, **given: Any) -> None:
        super().__init__(protocol, party, mode, **given)
        self._machine = _RawMachine(protocol, party, mode)


def _raw_in_agents() -> Fault:
    vote = _vote("a")
    rows = vote.encode({"weight": [2, 2], "a": [0, 1]}).private
    return Sessions.of_rows(vote, rows, hold=run_by_agents).planted(
        "raw values in the agents",
        "Agents randomize what they report in the first phase, and in the second report the opinion itself.",
        "randomized in every phase",
        samples=_SAMPLES,
        hold=functools.partial(run_by_agents, client=_RawPartner),
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
        make_noise=by_draw(_by_one_draw),
    )


def _stated_loss_of_matrices() -> Fault:
    vote = vote_with_matrices("a")
    right = Sessions.of_rows(vote, vote.encode({"weight": [1, 2], "a": [0, 1]}).private, hold=run_by_arrays)
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
) -> RecordedSession:
    """Hold a session whose parties and server have kept nothing of earlier ones."""
    del kept
    return run_by_arrays(protocol, inputs, session=session, noise=noise)


def _weight_drawn_again() -> Fault:
    vote = DPWeVote(Parameters(candidates=("a",), epsilon_weight=2.0, epsilon_opinion=0.5, game="board"))
    rows = vote.encode({"weight": [1, 3], "a": [1, 1]}).private  # they differ in the weight alone
    right = Sessions.of_rows(vote, rows, hold=run_by_arrays, num_sessions=2)
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


class _ClearPlace(SecureNoise):
    """Secure noise that leaves what one place of the roster says as it is."""

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return the values themselves at place 40."""
        if place == _CLEAR_PLACE:
            return list(values)
        return super().randomize(mechanism, values, protocol=protocol, phase=phase, place=place)


class _Remembering(SecureNoise):
    """Secure noise that draws for every second row of opinions what it drew for the one before."""

    def __init__(self) -> None:
        super().__init__()
        self._flips: list[bool] | None = None

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return a report, whose flips are the last one's if that has not been drawn twice."""
        low, high = mechanism.value_range
        if high - low > 1:
            return super().randomize(mechanism, values, protocol=protocol, phase=phase, place=place)
        if self._flips is not None:
            flips, self._flips = self._flips, None
            return [
                low + high - value if is_flipped else value for value, is_flipped in zip(values, flips, strict=True)
            ]
        report = super().randomize(mechanism, values, protocol=protocol, phase=phase, place=place)
        self._flips = [one != other for one, other in zip(report, values, strict=True)]
        return report


def _shared_from_the_third(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report in which all opinions from the third on are told by one draw."""
    return [*rightly(mechanism, values[:2]), *(_by_one_draw(rightly, mechanism, values[2:]) if values[2:] else [])]


def _cut_tail(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a report whose Laplace noise is never larger than so many scales."""
    report = rightly(mechanism, values)
    if not isinstance(mechanism, DiscreteLaplace):
        return report
    reach = round(_CUT_AT * mechanism.scale)
    return [min(max(own, value - reach), value + reach) for own, value in zip(report, values, strict=True)]


def _with_half_the_noise(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return decisions by half of the noise."""
    if isinstance(mechanism, ThresholdDecision):
        mechanism = dataclasses.replace(mechanism, scale=mechanism.scale / 2)
    return rightly(mechanism, values)


def _at_twice_the_price(rightly: Drawing, mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
    """Return a sum to which heavy partners' opinions come by randomized response at twice ε."""
    if isinstance(mechanism, ResponseSum):
        response = dataclasses.replace(mechanism.response, epsilon=2 * mechanism.response.epsilon)
        mechanism = dataclasses.replace(mechanism, response=response)
    return rightly(mechanism, values)


def _of_sizes() -> Iterator[Fault]:
    """Yield what shows at some sizes, places or times alone, planted into sessions as the ladder draws them."""
    votes, *_, heavy, releases = dpwevote_climbs()
    yield planted_in_stage(
        heavy.make("noise for some", {"candidates": 1, "partners": 3}),
        "heavy partners at twice the price",
        "With secure noise a trusted server randomizes heavy partners' opinions at twice their ε.",
        "heavy partners at their price",
        make_noise=by_draw(_at_twice_the_price),
    )
    yield planted_in_stage(
        releases.make("majority, decisions alone", {"candidates": 2, "partners": 2}),
        "decisions by half of the noise",
        "With secure noise a trusted server tells decisions by noise of half the scale.",
        "decisions by all of the noise",
        make_noise=by_draw(_with_half_the_noise),
    )
    for variant, sizes, name, what, repaired, noise in (
        (
            "joint",
            (3, 8, 3, 1),
            "candidates from the third on share a draw",
            "With secure noise one draw serves all opinions from the third candidate on.",
            "a draw for each of many candidates",
            by_draw(_shared_from_the_third),
        ),
        (
            "joint",
            (3, 1, 64, 1),
            "a place in clear",
            "With secure noise whoever stands at place 40 of the roster sends its values as they are.",
            "each place randomized",
            one_source(_ClearPlace),
        ),
        (
            "joint",
            (3, 5, 2, 8),
            "a sampler that remembers",
            "With secure noise every second report of opinions is flipped where the one before was.",
            "a sampler that forgets",
            one_source(_Remembering),
        ),
        (
            "laplace",
            (3, 64, 8, 1),
            "tail cut in sessions",
            "With secure noise a vote's Laplace noise ends at 6 scales.",
            "tail in sessions",
            by_draw(_cut_tail),
        ),
    ):
        configuration = votes.make(variant, dict(zip(votes.sizes, sizes, strict=True)))
        yield planted_in_stage(configuration, name, what, repaired, make_noise=noise)
