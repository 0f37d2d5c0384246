"""Faults planted into the release of a trusted server: half of the noise, and a voter in all societies."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from planted.fault import Fault
from planted.masked_faults import masked_faults
from planted.planting import Sessions, by_draw, planted_in_stage
from planted.sampler_faults import at_half_the_scale
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.guard import Guarded
from psephos.protocol.moral_preferences import (
    DisclosedPhase,
    MoralPreferences,
    Paradigm,
    Parameters,
    PerturbedPhase,
    SocietiesPhase,
)
from psephos.protocol.tally import Tally
from psephos.scenarios.audit.machines import RecordedSession, roster_of, run_by_arrays
from psephos.scenarios.audit.whole_sessions import charge
from psephos.scenarios.moral_preferences.audit.sessions import masked_configuration, moral_preferences_climbs, read_sums

_SAMPLES = 4_000
_SOCIETIES = ("north", "east", "south")


def planted_faults() -> Iterator[Fault]:
    """Yield a trusted server's secure noise, halved, and a voter that counts in all societies."""
    yield _counted_twice()
    yield _doubled_sums()
    # Of two voters one is honest: noise of so large a scale is drawn slowly, and two shares in place of one are seen.
    yield from masked_faults("preferences", masked_configuration("VLMP", {"features": 1, "records": 1, "voters": 2}))
    protocol = _protocol()
    bound = protocol.summary.bound
    # A voter that is as far to one side as it may be, or to the other; and one in the middle.
    first, second = (roster_of(protocol, [[place], [0]], [(), ()]) for place in (-bound, bound))
    entries = charge(protocol, [0], (), num_sessions=1)
    right = Sessions(protocol, (first, second), entries, functools.partial(_released, protocol))
    yield right.planted(
        "server's secure noise halved",
        "The trusted server draws its secure noise by half the scale; simulations draw it rightly.",
        "server's secure noise",
        source="secure",
        samples=_SAMPLES,
        make_noise=by_draw(at_half_the_scale),
    )


class _CountedTwice(SocietiesPhase):
    """Societies of which the first one's voters count in all others as well; the law is not written down."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Add the first society's sums to all others'."""
        tally = super().tally(reports, earlier=earlier, public=public)
        totals = tally.totals.copy()
        totals[1:] += totals[0]
        return Tally(tally.num_reports, totals)

    def log_laws(self, tallies: Sequence[Tally]) -> FloatArray:
        """Raise NotImplementedError, or the fault would be found before a session begins."""
        del tallies
        raise NotImplementedError


class _FaultySocieties(MoralPreferences):
    """A session of such societies."""

    def make_phase(self) -> PerturbedPhase | DisclosedPhase:
        return _CountedTwice(self.parameters, self.summary)


def _protocol(**given: Any) -> MoralPreferences:
    """Return a session of one feature, whose server is trusted."""
    usual: dict[str, Any] = {"features": ("x",), "mechanism": "laplace", "epsilon": 1.0, "max_records": 1}
    return MoralPreferences(Parameters(paradigm=Paradigm.VLCP, **usual | given))


def _counted_twice() -> Fault:
    protocol = _protocol(societies=_SOCIETIES)
    bound = protocol.summary.bound
    publics = [[place] for place in range(len(_SOCIETIES))]
    first, second = (roster_of(protocol, [[place], [0], [0]], publics) for place in (-bound, bound))
    entries = charge(protocol, [0], [0], num_sessions=1)
    right = Sessions(protocol, (first, second), entries, functools.partial(_released, protocol), run_by_arrays)
    return right.planted(
        "voter counted in all societies",
        "The trusted server adds what a voter says to each society's sum; its ledger has one release.",
        "voter counted in its own society",
        samples=_SAMPLES,
        protocol=_FaultySocieties(protocol.parameters),
    )


def _released(protocol: MoralPreferences, held: RecordedSession) -> Sequence[Sequence[int]]:
    return [read_sums(protocol, held.outcome)]


class _Doubled(DisclosedPhase):
    """A release of sums that are doubled where voters have three records or more."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        tally = super().tally(reports, earlier=earlier, public=public)
        return Tally(tally.num_reports, 2 * tally.totals)

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence[Guarded] = ()) -> None:
        """Allow anything, or the fault would be refused before a session begins."""

    def check_rows(self, rows: IntArray, public: Sequence[int], *, earlier: Sequence[Guarded] = ()) -> None:
        """Allow anything, as `check_loss_groups` does."""


class _FaultySums(MoralPreferences):
    """A session of such sums."""

    def make_phase(self) -> PerturbedPhase | DisclosedPhase:
        return _Doubled(self.parameters, self.summary)


def _doubled_sums() -> Fault:
    sweep = next(sweep for sweep in moral_preferences_climbs() if sweep.name == "releases")
    configuration = sweep.make("VLCP", {"features": 2, "records": 3, "voters": 2})
    return planted_in_stage(
        configuration,
        "sums doubled from three records on",
        "A trusted server counts twice what voters of three records and more say.",
        "sums of three records",
        source="simulated",
        protocol=_FaultySums(configuration.protocol.parameters),
    )
