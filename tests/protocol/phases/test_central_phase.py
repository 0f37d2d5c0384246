"""Phases in which the server is trusted with values: who draws what and when, and what everybody's view has."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import (
    SESSION_NAME,
    CountingNoise,
    Session,
    make_vote,
    outcome_of_those_who_reported,
)
from makers import AddedUp, loss_of
from psephos.agents.noise import SecureNoise
from psephos.protocol import (
    Column,
    ConfigurationError,
    Inputs,
    NoiseSource,
    Phase,
    PhasedProtocol,
    QuorumError,
    ServerMachine,
    SessionRules,
    SimulatedNoise,
    Tally,
    run_population,
)
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import (
    Disclosure,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    Mechanism,
    RowMechanism,
    VectorLaplace,
)
from psephos.protocol.phases import CentralPhase, Entries
from psephos.protocol.population import draw_for_release, run_batches
from psephos.protocol.privacy import (
    NonPrivate,
    PrivacyEvent,
    PrivacyLoss,
    PureMechanism,
    TrustModel,
)

BOUND = 5
NOISY = VectorLaplace(2.0 * BOUND, 2 * BOUND, 1 << 40)
"""A row of values changes by 2·5 at most: ε = 1."""


def loss(*, model: TrustModel = TrustModel.CENTRAL, epsilon: float = 1.0) -> PrivacyLoss:
    return loss_of(epsilon, mechanism="a census", model=model)


class Totals(CentralPhase):
    """Adds values up; the totals may have any shape."""

    def __init__(
        self,
        *,
        losses: Sequence[PrivacyLoss] | None = None,
        mechanism: RowMechanism = NOISY,
        columns: range = range(2),
        shape: tuple[int, ...] = (2,),
    ) -> None:
        self._shape = shape
        given = [loss()] if losses is None else losses
        super().__init__("totals", columns=columns, bound=BOUND, tally_mechanism=mechanism, losses=given)

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Refuse what adds up to more than the bound."""
        del public
        if sum(map(abs, report)) > BOUND:
            raise ValueError("too much for one")

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del earlier, public
        return Tally(len(reports), reports.sum(axis=0).reshape(self._shape))


class Nothing(msgspec.Struct, frozen=True):
    """No parameters."""


class Counts(msgspec.Struct, frozen=True):
    """How many, and the noisy totals."""

    number: int
    totals: tuple[int, ...]


class Census(PhasedProtocol[Nothing, Counts]):
    """A protocol of one central phase, perhaps after others."""

    name: ClassVar[str] = "census"
    parameters_type: ClassVar[type[msgspec.Struct]] = Nothing
    outcome_type: ClassVar[type[msgspec.Struct]] = Counts

    def __init__(self, *phases: Phase) -> None:
        super().__init__(Nothing())
        self._given = phases or (Totals(),)

    def make_phases(self) -> Iterable[Phase]:
        return self._given

    def columns(self) -> tuple[Column, ...]:
        return ()

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        raise NotImplementedError

    def outcome(self, tallies: Sequence[Tally]) -> Counts:
        """Return the last phase's totals."""
        return Counts(tallies[-1].num_reports, tuple(tallies[-1].totals.reshape(-1).tolist()))


class Question(AddedUp):
    """A local phase: yes or no."""

    def __init__(self) -> None:
        mechanism = GeneralizedRandomizedResponse(1.0, 2)
        losses = [loss_of(mechanism="k-RR", event=mechanism.event, unit="answer", claimed=1.0)]
        super().__init__("question", columns=range(2, 3), mechanism=mechanism, losses=losses)


def inputs_of(*rows: Sequence[int]) -> Inputs:
    return Inputs(np.array(rows, dtype=np.int64), np.empty((len(rows), 0), dtype=np.int64))


ROWS = inputs_of([3, -2], [0, 0], [-5, 0], [1, 4])


def session_of(protocol: Census | None = None, inputs: Inputs = ROWS, **given: Any) -> Session:
    return Session(protocol or Census(), inputs, seed=11, **given)


# What a phase states


def test_values_are_disclosed_and_losses_are_those_of_the_release() -> None:
    phase = Totals()
    assert phase.mechanism == Disclosure(BOUND)
    assert phase.mechanism.event_of(2) == NonPrivate()
    assert phase.event == NOISY.event_of(2) == PureMechanism(epsilon=1.0)
    assert (phase.num_values, phase.num_reported) == (2, 2)
    assert phase.losses == (loss(),)


@pytest.mark.parametrize("model", [model for model in TrustModel if model is not TrustModel.CENTRAL])
def test_a_loss_against_the_server_itself_cannot_be_stated(model: TrustModel) -> None:
    with refuses("losses", model.value, "'central' in phase"):
        Totals(losses=[loss(), loss(model=model)])


@pytest.mark.parametrize("losses", [[], [loss(epsilon=0.9)]])
def test_a_loss_below_the_releases_is_refused(losses: list[PrivacyLoss]) -> None:
    with pytest.raises(ConfigurationError, match="at least what phase 'totals' draws: 1") as caught:
        Totals(losses=losses)
    assert caught.value.field == "losses"


def test_a_protocol_says_whether_it_trusts_its_server() -> None:
    assert Census().trusts_server
    assert Census(Question(), Totals()).trusts_server
    assert not Census(Question()).trusts_server
    assert not make_vote().trusts_server


# Noise for the server


def server_with(noise: NoiseSource, *, protocol: Any = None) -> ServerMachine:
    session = session_of()
    return ServerMachine(Census() if protocol is None else protocol, session.roster, session.mode(noise))


class Loud(Mechanism):
    """A mechanism that no exact sampler knows."""

    @property
    def value_range(self) -> tuple[int, int]:
        return -(1 << 40), 1 << 40

    @property
    def report_range(self) -> tuple[int, int]:
        return self.value_range

    @property
    def event(self) -> PrivacyEvent:
        return PureMechanism(epsilon=0.5)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        del uniforms
        return 2 * values

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        del uniforms
        return 2 * value


@pytest.mark.parametrize("earlier", [(), (Question(),)])
def test_noise_that_cannot_be_drawn_is_refused_before_anybody_comes(earlier: tuple[Phase, ...]) -> None:
    census = Census(*earlier, Totals(mechanism=Loud()))
    with pytest.raises(ConfigurationError, match="Loud"):
        server_with(SecureNoise(), protocol=census)
    server_with(SecureNoise())


# When it is drawn


def test_the_servers_noise_is_drawn_once_as_the_phase_closes() -> None:
    session = session_of()
    wire = session.wire()
    wire.start()
    released = ("release of totals", 0)
    while not wire.result:
        assert released not in session.noise.draws
        assert not wire.accepted or "totals" not in wire.accepted
        wire.deliver(wire.available()[0])
    assert session.noise.draws.count(released) == 1
    assert session.noise.draws[-1] == released
    wire.run()
    wire.check_end()
    assert session.noise.draws.count(released) == 1


def test_no_noise_is_drawn_for_a_phase_that_misses_its_quorum() -> None:
    session = session_of()
    wire = session.wire()
    wire.start()
    for name in session.names:
        wire.feed_server(name, wire.up[name].popleft())
    wire.lose("p1")
    wire.run()
    wire.check_end()
    assert isinstance(wire.failure, QuorumError)
    assert {phase for phase, _ in session.noise.draws} <= {"totals"}


def test_a_late_report_does_not_draw_again() -> None:
    session = session_of(rules=SessionRules(quorum=3))
    wire = session.wire()
    wire.start()
    for name in session.names:
        wire.feed_server(name, wire.up[name].popleft())
    for name in session.names:
        while wire.down[name]:
            wire.feed_client(name, wire.down[name].popleft())
    for name in ("p0", "p1", "p3"):
        wire.feed_server(name, wire.up[name].popleft())
    wire.expire("totals")
    assert wire.result is not None
    first = wire.result
    wire.feed_server("p2", wire.up["p2"].popleft())
    wire.run()
    wire.check_end()
    assert wire.result is first
    assert session.noise.draws.count(("release of totals", 0)) == 1
    assert first.outcome == outcome_of_those_who_reported(session, [[0, 1, 3]])[0]


def test_the_servers_stream_is_none_of_the_voters() -> None:
    """Else the first voter's uniforms, which it knows, would take the noise off."""
    noise = SimulatedNoise(11, session=SESSION_NAME)
    phase = Totals(mechanism=DiscreteLaplace(7.0, -100, 100), losses=[loss(epsilon=100.0)])
    draw = draw_for_release(noise, protocol="census", phase=phase)
    drawn = list(draw(phase.tally_mechanism, [0, 0]))
    own = noise.randomize(phase.tally_mechanism, [0, 0], protocol="census", phase="release of totals", place=0)
    assert drawn == own
    assert drawn != noise.randomize(phase.tally_mechanism, [0, 0], protocol="census", phase="totals", place=0)


# What is left


def test_the_release_has_noise_and_the_clear_totals_are_dropped() -> None:
    session = session_of()
    wire = session.play()
    assert wire.result is not None
    (tally,) = wire.result.tallies
    noisy = session.fresh_noise().randomize(NOISY, [-1, 2], protocol="census", phase="release of totals", place=0)
    assert tally == Tally(4, np.array(noisy, dtype=np.int64))
    assert wire.result.outcome == Counts(4, tuple(noisy))
    assert tally.totals.tolist() != [-1, 2]


def test_totals_of_any_shape_are_one_row_to_the_noise() -> None:
    seen: list[tuple[RowMechanism, list[int]]] = []

    def draw(mechanism: RowMechanism, values: Sequence[int]) -> Sequence[int]:
        seen.append((mechanism, list(values)))
        return [value + 10 for value in values]

    tally = Tally(3, np.array([[1, 2, 3], [4, 5, 6]], dtype=np.int64))
    noisy = Totals().randomize_tally(tally, draw)
    assert seen == [(NOISY, [1, 2, 3, 4, 5, 6])]
    assert noisy == Tally(3, np.array([[11, 12, 13], [14, 15, 16]], dtype=np.int64))
    assert tally.totals.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_phase_before_it_keeps_its_own_tally_clear() -> None:
    """Only the central phase's totals are randomized by the server; the reports of the other one are random already."""
    census = Census(Question(), Totals())
    inputs = inputs_of([3, -2, 1], [0, 0, 0], [1, 1, 1])
    session = session_of(census, inputs)
    wire = session.play()
    assert wire.result is not None
    arrays = run_population(census, inputs, noise=session.fresh_noise())
    assert wire.result.tallies == arrays.tallies
    assert wire.result.outcome == arrays.outcome
    assert 0 <= int(arrays.tallies[0].totals[0]) <= 3
    assert [name for name, _ in session.noise.draws].count("release of totals") == 1


def test_a_value_that_the_phase_refuses_ends_its_senders_row_alone() -> None:
    inputs = inputs_of([3, -2], [5, 1], [-5, 0], [1, 4])  # 5 + 1 is too much
    session = session_of(inputs=inputs, rules=SessionRules(quorum=3))
    wire = session.play()
    assert set(wire.drops) == {"p1"}
    assert "ValueError: what it says is left out" in str(wire.drops["p1"])  # a stranger's phase may quote a row
    assert wire.result is not None
    assert wire.result.num_received == (3,)
    noisy = session.fresh_noise().randomize(NOISY, [-1, 2], protocol="census", phase="release of totals", place=0)
    assert wire.result.outcome == Counts(3, tuple(noisy))


class Torn(Totals):
    """Its code fails over a report from some moment on, and quotes it."""

    is_torn = False

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        super().check_report(report, public)
        if self.is_torn:
            raise KeyError(f"nothing for {tuple(report)}")


def test_what_code_says_that_fails_over_a_report_is_told_to_nobody() -> None:
    torn = Torn()
    wire = session_of(Census(torn), inputs_of([3, -2])).wire()
    wire.start()
    wire.feed_server("p0", wire.up["p0"].popleft())
    while wire.down["p0"]:
        wire.feed_client("p0", wire.down["p0"].popleft())
    torn.is_torn = True
    wire.run()
    wire.check_end()
    told = [str(wire.drops["p0"]), str(wire.failure), str(wire.failures["p0"])]
    assert all("KeyError: what it says is left out" in each for each in told[:2])
    assert not [each for each in told if "nothing for" in each]


# Batches


@pytest.mark.parametrize("cuts", [[0, 4], [0, 1, 4], [0, 0, 2, 2, 4], [0, 1, 2, 3, 4]])
def test_batches_in_any_partition_are_one_population(cuts: list[int]) -> None:
    census = Census()
    batches = [ROWS.slice_rows(start, stop) for start, stop in itertools.pairwise(cuts)]
    noise = SimulatedNoise(11, session=SESSION_NAME)
    result = run_batches(census, iter(batches), noise=noise)
    assert result == run_population(census, ROWS, noise=noise)


def test_the_servers_noise_is_drawn_once_for_all_batches() -> None:
    counting = CountingNoise(SimulatedNoise(11, session=SESSION_NAME))
    census = Census()
    draw = draw_for_release(counting, protocol=census.name, phase=Totals())
    draw(NOISY, [1, 2])
    assert counting.draws == [("release of totals", 0)]
    noise = SimulatedNoise(11, session=SESSION_NAME)
    one_by_one = run_batches(census, (ROWS.slice_rows(place, place + 1) for place in range(4)), noise=noise)
    assert one_by_one.tallies[0].totals.tolist() == noise.randomize(
        NOISY, [-1, 2], protocol="census", phase="release of totals", place=0
    )


@pytest.mark.parametrize("batches", [[], [ROWS.slice_rows(0, 0)]])
def test_batches_of_nobody_are_refused(batches: list[Inputs]) -> None:
    with pytest.raises(ValueError, match="at least one party"):
        run_batches(Census(), batches, noise=SimulatedNoise(1, session="s"))
