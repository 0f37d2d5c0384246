"""The array path: a whole session over a population, without agents.

The result equals, bit for bit, that of a session of agents in which every party reports: the same mechanisms get the
same rows of the same random streams, and tallies merge exactly in any order. Parties may come in batches, so that a
population need not fit into memory. Nothing here protects real data: the seed of a simulation lets anybody remove its
noise.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from .arrays import FloatArray, IntArray
from .errors import ConfigurationError
from .mechanisms import Disclosure, PostProcessed
from .memoized_reports import check_kept_names
from .phases import Draw, Inputs, MechanismGroups, Phase, PhasedProtocol
from .plugin_checks import check_reports, checked_outcome, checked_own_outcomes, checked_phase_outcome, checked_tally
from .plugin_faults import blaming
from .randomness import NoiseSource, SimulatedNoise
from .tally import Merged, Tally

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)

# Rows per batch: enough for numpy to be fast, and few enough that temporary arrays stay in the processor's cache.
BATCH_ROWS = 1 << 15
# Bytes. After a block of this size is freed, glibc retains up to twice as much of later freed memory. The arrays of the
# next batch then reuse it, instead of new pages from the system, which saves a tenth of the time of a vote from files.
KEPT_BYTES = 1 << 24


class PopulationResult(msgspec.Struct, Generic[OutcomeT], frozen=True):
    """The result of a session over arrays: the outcome, the tallies, and single parties' outcomes by roster index.

    `memoized_reports` maps the name of each memoized phase to its reports, in roster order.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",)))
        >>> inputs = vote.encode({"weight": [1, 2, 3], "tea": ["yes", "no", "yes"]})
        >>> type(run_population(vote, inputs, noise=SimulatedNoise(1, session="council")).outcome).__name__
        'Outcome'
    """

    outcome: OutcomeT
    tallies: tuple[Tally, ...]
    own_outcomes: Mapping[int, msgspec.Struct]
    memoized_reports: Mapping[str, IntArray] = {}


def draw_reports(phase: Phase, inputs: Inputs, *, noise: SimulatedNoise, protocol: str, start: int) -> IntArray:
    """Return the reports of parties from place `start` on, whose rows these are: int64, shape (n, num_reported)."""
    slots, stop = phase.mechanism.slots_of(phase.num_values), start + len(inputs)
    if discloses(phase, inputs.public):
        uniforms: FloatArray = np.broadcast_to(np.float64(0.0), (len(inputs), slots))
    else:
        uniforms = noise.uniforms(protocol=protocol, phase=phase.name, start=start, stop=stop, slots=slots)
    return randomize(phase, inputs, uniforms)


def discloses(phase: Phase, public: IntArray) -> bool:
    """Return whether persons with these public rows show their values as they are, without any uniform."""
    return all(type(mechanism) is Disclosure for mechanism, _ in phase.mechanism_groups(public))


def randomize(phase: Phase, inputs: Inputs, uniforms: FloatArray) -> IntArray:
    """Return the reports of some persons by these uniforms, a row for each: int64, shape (n, num_reported)."""
    groups, values = phase.mechanism_groups(inputs.public), inputs.private[:, phase.columns]
    if len(groups) == 1:
        return groups[0][0].randomize_rows(values, uniforms)
    forgetful = [
        (mechanism, at) for mechanism, at in groups if isinstance(mechanism, PostProcessed) and mechanism.forgets_noise
    ]
    if groups and len(forgetful) == len(groups):
        noises = [(mechanism.noise, at) for mechanism, at in forgetful]
        return forgetful[0][0].finish_rows(_randomize_groups(noises, values, uniforms, values.shape[1]))
    return _randomize_groups(groups, values, uniforms, phase.num_reported)


def _randomize_groups(groups: MechanismGroups, values: IntArray, uniforms: FloatArray, width: int) -> IntArray:
    reports = np.empty((len(values), width), dtype=np.int64)
    for mechanism, places in groups:
        reports[places] = mechanism.randomize_rows(values[places], uniforms[places])
    return reports


def draw_for_release(noise: NoiseSource, *, protocol: str, phase: Phase) -> Draw:
    """Return the function by which a trusted server draws noise; simulated, each draw has its own stream."""
    streams = release_streams(phase)

    def draw(mechanism: Any, values: Sequence[int]) -> Sequence[int]:
        return noise.randomize(mechanism, values, protocol=protocol, phase=next(streams), place=0)

    return draw


def release_streams(phase: Phase) -> Iterator[str]:
    """Yield the name of the stream of each draw that a server makes as a phase closes."""
    stream = f"release of {phase.name}"
    return itertools.chain([stream], (f"{stream}, draw {number}" for number in itertools.count(2)))


def run_population(
    protocol: PhasedProtocol[Any, OutcomeT],
    inputs: Inputs,
    *,
    noise: SimulatedNoise,
    on_phase: Callable[[Phase, Tally, msgspec.Struct | None], None] | None = None,
    memoized_reports: Mapping[str, Mapping[int, Sequence[int]]] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> PopulationResult[OutcomeT]:
    """Run all phases over all parties.

    Args:
        inputs: the rows of all parties that take part; at least one, unless their number is private.
        on_phase: called as each phase closes, with its tally and its outcome.
        memoized_reports: reports of earlier sessions, by phase and roster index, which are repeated instead of drawn.
        batch_rows: the number of rows per batch; the result does not depend on it.

    Raises:
        ValueError: there is no party, `batch_rows` is below 1, or a value is out of its mechanism's range.
        ConfigurationError: a phase states a smaller loss than it draws for a party's public row; a private row's loss
            exceeds the stated one (`PhasedProtocol.check_rows`); or reports are given for a phase without memoization.
        PluginError: a report is out of range, or the protocol's code raises an exception or breaks its contract
            (`plugin_checks`).

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",)))
        >>> inputs = vote.encode({"weight": [1, 2, 3], "tea": ["yes", "no", "yes"]})
        >>> result = run_population(vote, inputs, noise=SimulatedNoise(1, session="council"))
        >>> [tally.num_reports for tally in result.tallies]
        [3, 3]
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows is {batch_rows}: use at least 1")
    if not len(inputs) and not protocol.hides_participation:
        raise ValueError("a session needs at least one party")
    check_kept_names(memoized_reports or {}, protocol.kept_scopes)
    protocol.check_inputs(inputs)
    protocol.check_loss_groups(inputs.public)
    protocol.check_rows(inputs)
    reports: list[IntArray] = []
    tallies: list[Tally] = []
    for number, phase in enumerate(protocol.phases, start=1):
        is_asked_for = phase.memo_scope is not None or number < len(protocol.phases)
        drawn_reports = np.empty((len(inputs) if is_asked_for else 0, phase.num_reported), dtype=np.int64)
        places, earlier = _kept_arrays(phase, (memoized_reports or {}).get(phase.name, {}))
        tally = Merged()
        for start in range(0, max(len(inputs), 1), batch_rows):
            batch = slice(start, min(start + batch_rows, len(inputs)))
            rows = inputs.slice_rows(batch.start, batch.stop)
            phase_reports = draw_reports(phase, rows, noise=noise, protocol=protocol.name, start=start)
            drawn_before = (places >= batch.start) & (places < batch.stop)
            phase_reports[places[drawn_before] - start] = earlier[drawn_before]
            check_reports(protocol, phase, phase_reports, rows.public)
            if is_asked_for:
                drawn_reports[batch] = phase_reports
            earlier_reports = [phase_rows[batch] for phase_rows in reports]
            tally.add(checked_tally(protocol, phase, phase_reports, earlier_reports, rows.public, is_first=not start))
        reports.append(drawn_reports)
        draw = draw_for_release(noise, protocol=protocol.name, phase=phase)
        with blaming(protocol, f"release of phase {phase.name!r}"):
            tallies.append(released_tally(phase, tally.total(), draw))
        if on_phase is not None:
            on_phase(phase, tallies[-1], checked_phase_outcome(protocol, phase, tallies))
    return PopulationResult(
        checked_outcome(protocol, tallies),
        tuple(tallies),
        checked_own_outcomes(protocol, tallies),
        {
            phase.name: drawn_reports
            for phase, drawn_reports in zip(protocol.phases, reports, strict=True)
            if phase.memo_scope is not None
        },
    )


def _kept_arrays(phase: Phase, reports_by_place: Mapping[int, Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Return the places of the parties whose reports are kept, and these reports."""
    places = np.fromiter(reports_by_place, dtype=np.int64, count=len(reports_by_place))
    return places, np.array(list(reports_by_place.values()), dtype=np.int64).reshape(
        len(reports_by_place), phase.num_reported
    )


def run_batches(
    protocol: PhasedProtocol[Any, OutcomeT], batches: Iterable[Inputs], *, noise: SimulatedNoise
) -> PopulationResult[OutcomeT]:
    """Run all phases over parties that come in batches, in one pass, with one batch at a time in memory.

    No phase's draws depend on what another phase releases, so a batch draws its reports of all phases at once.

    Args:
        batches: the parties' rows in roster order, in batches of any sizes; at least one row in all.

    Returns:
        The same as `run_population` of all rows at once.

    Raises:
        ValueError: there is no party, or a value is out of its mechanism's range.
        ConfigurationError: as `run_population`, or a phase is memoized.
        PluginError: as `run_population`.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote, noise = DPWeVote(Parameters(candidates=("tea",))), SimulatedNoise(1, session="council")
        >>> inputs = vote.encode({"weight": [1, 2, 3], "tea": ["yes", "no", "yes"]})
        >>> together = run_population(vote, inputs, noise=noise)
        >>> batches = [inputs.slice_rows(0, 2), inputs.slice_rows(2, 3)]
        >>> run_batches(vote, batches, noise=noise).outcome == together.outcome
        True
    """
    return release_tallies(protocol, tally_batches(protocol, batches, noise=noise), noise=noise)


def tally_batches(
    protocol: PhasedProtocol[Any, Any],
    batches: Iterable[Inputs],
    *,
    noise: SimulatedNoise,
    first: int = 0,
    on_batch: Callable[[int], None] | None = None,
) -> list[Tally]:
    """Return each phase's merged tally of parties at consecutive roster indices: all parties, or a shard.

    Args:
        first: the roster index of the first party.
        on_batch: called after each batch with the roster index after its last party.

    Raises:
        ValueError, ConfigurationError, PluginError: as `run_batches`.
    """
    _check_nothing_kept(protocol)
    merged = [Merged() for _ in protocol.phases]
    num_parties = first
    np.empty(KEPT_BYTES, dtype=np.uint8)
    for inputs in batches:
        if not len(inputs):
            continue
        for total, tally in zip(merged, tally_places(protocol, inputs, noise=noise, start=num_parties), strict=True):
            total.add(tally)
        num_parties += len(inputs)
        if on_batch is not None:
            on_batch(num_parties)
    if num_parties == first:
        raise ValueError("a session needs at least one party")
    return [tally.total() for tally in merged]


def tally_places(
    protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, noise: SimulatedNoise, start: int
) -> tuple[Tally, ...]:
    """Return each phase's tally of the parties whose rows are `inputs`, at roster indices from `start` on.

    No phase's draws depend on what another phase releases. So ranges of parties may be tallied in any order, by any
    process, and again after a failure. Their tallies merge into those of all parties (`Tally.merge`, or `Merged` for
    many), from which `release_tallies` computes the outcome.

    Raises:
        ValueError: there is no row, or a value is out of its mechanism's range.
        ConfigurationError: as `run_batches`.
        PluginError: as `run_population`.

    Privacy:
        Until `release_tallies`, the tally of a phase of the central model contains the values without noise.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote, noise = DPWeVote(Parameters(candidates=("tea",))), SimulatedNoise(1, session="council")
        >>> inputs = vote.encode({"weight": [1, 2, 3], "tea": ["yes", "no", "yes"]})
        >>> first = tally_places(vote, inputs.slice_rows(0, 2), noise=noise, start=0)
        >>> last = tally_places(vote, inputs.slice_rows(2, 3), noise=noise, start=2)
        >>> [one.merge(other).num_reports for one, other in zip(first, last)]
        [3, 3]
    """
    _check_nothing_kept(protocol)
    if not len(inputs):
        raise ValueError("a tally needs at least one party")
    protocol.check_inputs(inputs)
    protocol.check_loss_groups(inputs.public)
    protocol.check_rows(inputs)
    reports: list[IntArray] = []
    tallies: list[Tally] = []
    for phase in protocol.phases:
        drawn_reports = draw_reports(phase, inputs, noise=noise, protocol=protocol.name, start=start)
        check_reports(protocol, phase, drawn_reports, inputs.public)
        tallies.append(checked_tally(protocol, phase, drawn_reports, reports, inputs.public, is_first=not start))
        reports.append(drawn_reports)
    return tuple(tallies)


def release_tallies(
    protocol: PhasedProtocol[Any, OutcomeT],
    tallies: Sequence[Tally],
    *,
    noise: SimulatedNoise,
    on_phase: Callable[[Phase, Tally, msgspec.Struct | None], None] | None = None,
) -> PopulationResult[OutcomeT]:
    """Release the merged tallies of all reports (`tally_places`): add the servers' noise, and compute the outcome.

    Raises:
        ValueError: the number of tallies differs from that of phases.
        PluginError: as `run_population`.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote, noise = DPWeVote(Parameters(candidates=("tea",))), SimulatedNoise(1, session="council")
        >>> inputs = vote.encode({"weight": [1, 2, 3], "tea": ["yes", "no", "yes"]})
        >>> tallies = tally_places(vote, inputs, noise=noise, start=0)
        >>> release_tallies(vote, tallies, noise=noise).outcome == run_population(vote, inputs, noise=noise).outcome
        True
    """
    released: list[Tally] = []
    for phase, tally in zip(protocol.phases, tallies, strict=True):
        with blaming(protocol, f"release of phase {phase.name!r}"):
            draw = draw_for_release(noise, protocol=protocol.name, phase=phase)
            released.append(released_tally(phase, tally, draw))
        if on_phase is not None:
            on_phase(phase, released[-1], checked_phase_outcome(protocol, phase, released))
    return PopulationResult(
        checked_outcome(protocol, released), tuple(released), checked_own_outcomes(protocol, released)
    )


def _check_nothing_kept(protocol: PhasedProtocol[Any, Any]) -> None:
    """Raise ConfigurationError if a phase keeps its reports."""
    for phase in protocol.phases:
        if phase.memo_scope is not None:
            allowed = f"one that keeps no reports (this one does, in {phase.memo_scope}): of batches nothing is kept"
            raise ConfigurationError(field="phase", value=phase.name, allowed=allowed)


def tally_batch(
    phase: Phase, drawn_reports: IntArray, earlier: Sequence[IntArray], public: IntArray, rows: slice | IntArray
) -> Tally:
    """Return the tally of some of the clients: those at these rows of every array."""
    return phase.tally(drawn_reports[rows], earlier=[reports[rows] for reports in earlier], public=public[rows])


def released_tally(phase: Phase, tally: Tally, draw: Draw | None) -> Tally:
    """Return the tally from which a phase's outcome is computed; the server runs this as the phase closes.

    The tally has the server's noise, if the server draws any. If the number of reports is private, it is removed, so
    that nothing computed from the tally reveals who took part.

    Args:
        draw: applies a mechanism to a row, with the server's randomness; None if the server draws nothing.
    """
    if phase.tally_mechanism is not None:
        if draw is None:
            raise TypeError(f"in phase {phase.name!r} the server draws the noise, and it has no noise source")
        released = phase.randomize_tally(tally, draw)
        if len(released.rows) or released.num_reports != tally.num_reports:
            raise ValueError("a trusted server releases totals, no rows, and as many reports as it was given")
        tally = released
    return tally.hide_count() if phase.hides_participation else tally
