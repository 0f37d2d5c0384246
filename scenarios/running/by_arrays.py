"""Run a session by array computations, all parties at once or batch by batch."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ...agents.driver import EffectListener
from ...agents.events import log_effect
from ...protocol.effects import Closed, Effect, Opened
from ...protocol.phases import Inputs, Phase, PhasedProtocol
from ...protocol.population import release_tallies, run_population
from ...protocol.privacy import LedgerEntry
from ...protocol.randomness import SimulatedNoise
from ...protocol.tally import Tally
from .earlier_reports import EarlierReports
from .plugin_errors import blame_plugins, parts_of
from .record import SessionObservers, SessionRecord


def run_arrays(
    protocol: PhasedProtocol[Any, Any],
    *,
    inputs: Inputs,
    noise: SimulatedNoise,
    names: Sequence[str] = (),
    observers: SessionObservers | None = None,
) -> SessionRecord:
    """Run the session of all parties as array computations; the ledger gets one entry for each loss of all parties.

    Losses are charged before anything is drawn. `names`, in roster order, are required if reports are memoized.

    Raises:
        ValueError: as `run_population`; or reports are memoized and `names` are missing.
        ConfigurationError: a memoized report has another law, or changed values.
        PluginError: as `run_population`; also if the protocol's mechanisms raise an exception.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> inputs = vote.encode({"weight": [1, 2], "roof": [1, 0]})
        >>> record = run_arrays(vote, inputs=inputs, noise=SimulatedNoise(7, session="tea"))
        >>> [(entry.person, entry.phase, entry.proven) for entry in record.entries]
        [('each of 2 partners', 'weights', 0.5), ('each of 2 partners', 'opinions', 0.5)]
    """

    def on_phase(phase: Phase, tally: Tally, outcome: msgspec.Struct | None) -> None:
        tell(Opened(phase.name, None if phase.hides_participation else len(inputs)))
        tell(_make_closed(phase, tally, outcome))

    observers = observers or SessionObservers()
    tell = _make_teller(noise.session, observers)
    protocol.check_loss_groups(inputs.public)
    earlier_reports = EarlierReports(protocol, names, inputs, observers.kept)
    observers.entries.extend(
        LedgerEntry.from_loss(
            loss,
            person=f"each of {count} {protocol.client_role}{'s' if count > 1 else ''}{group and ' '}{group}",
            session=noise.session,
            phase=phase.name,
            num_persons=count,
        )
        for phase in protocol.phases
        for group, count, losses in phase.loss_groups(earlier_reports.public_of_new(phase))
        for loss in losses
        if count
    )
    with blame_plugins([parts_of(protocol)], is_private=protocol.keeps_words):
        result = run_population(
            protocol, inputs, noise=noise, on_phase=on_phase, memoized_reports=earlier_reports.reports_by_place()
        )
    earlier_reports.take_up_arrays(result.memoized_reports)
    return SessionRecord(
        outcome=result.outcome,
        tallies=result.tallies,
        num_received=_report_counts(protocol, result.tallies),
        entries=observers.entries,
        own_outcomes=result.own_outcomes,
        kept=earlier_reports.all,
    )


def run_streamed(
    protocol: PhasedProtocol[Any, Any],
    *,
    tally: Callable[[Callable[[int], None]], Sequence[Tally]],
    num_left: Callable[[int], float],
    noise: SimulatedNoise,
    observers: SessionObservers,
) -> SessionRecord:
    """Run a session as array computations over batches of parties; see `run_arrays`.

    `num_left` is `PartyStream.num_left`. `tally` tallies the batches, and calls its argument with the number of parties
    so far; losses are charged by this number.
    """
    name = " and ".join(phase.name for phase in protocol.phases)
    tell = _make_teller(noise.session, observers)
    if observers.log is not None:  # the number of parties is not always known in advance
        for phase in protocol.phases:
            observers.log.info("phase_opened", session=noise.session, party="arrays", phase=phase.name)

    def on_batch(count: int) -> None:
        if observers.on_progress is not None:
            observers.on_progress(name, count, num_left(count))

    def on_phase(phase: Phase, tally: Tally, outcome: msgspec.Struct | None) -> None:
        tell(_make_closed(phase, tally, outcome))

    with blame_plugins([parts_of(protocol)], is_private=protocol.keeps_words):
        result = release_tallies(protocol, tally(on_batch), noise=noise, on_phase=on_phase)
    return SessionRecord(
        outcome=result.outcome,
        tallies=result.tallies,
        num_received=_report_counts(protocol, result.tallies),
        entries=(),
        own_outcomes=result.own_outcomes,
    )


def _make_closed(phase: Phase, tally: Tally, outcome: msgspec.Struct | None) -> Closed:
    """Return the effect of the server's machine when a phase closes in which all parties have reported."""
    counts = (None, None) if phase.hides_participation else (tally.num_reports, 0)
    return Closed(phase.name, *counts, outcome)


def _report_counts(protocol: PhasedProtocol[Any, Any], tallies: Sequence[Tally]) -> tuple[int | None, ...]:
    """Return each phase's number of reports; None if it is private."""
    return tuple(
        None if phase.hides_participation else tally.num_reports
        for phase, tally in zip(protocol.phases, tallies, strict=True)
    )


def _make_teller(session: str, observers: SessionObservers) -> EffectListener:
    """Return a function that reports the effects that the server's machine would have."""

    def tell(effect: Effect) -> None:
        if observers.log is not None:
            log_effect(observers.log, session=session, party="arrays", effect=effect)
        if observers.listener is not None:
            observers.listener(effect)

    return tell
