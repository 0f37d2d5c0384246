"""Promises on a session's results: tallies merge, and the outcome is a function of them, equal on all paths.

Partitions are drawn from fixed seeds, so that results are repeatable.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

import msgspec
import numpy as np
import trio

from ...agents.adversaries import Deviation, Leaver
from ...agents.modes import Simulation, with_keys
from ...protocol.arrays import IntArray
from ...protocol.effects import Effect
from ...protocol.errors import MalformedMessageError
from ...protocol.masking import MaskingMove
from ...protocol.phases import MaskedPhase, Phase
from ...protocol.population import PopulationResult, run_batches, run_population, tally_batch
from ...protocol.roles import SessionKind, Side
from ...protocol.roster import Roster
from ...protocol.server_machine import ServerMachine
from ...protocol.tally import Tally
from ...protocol.views import Happening, Observation, View
from ...transports.memory import MemoryTransport
from ...transports.promises import require
from ...transports.tcp import TCPTransport
from ..adversaries.masked_lies import Lie, MaskedLiar
from ..attacks.coalition_view import draw_all
from ..running.by_agents import Adversity
from ..running.session import SessionRecord, run_agents, run_arrays
from .afresh import compute, compute_afresh
from .cases import SESSION, ProtocolCase

_SESSIONS: Final = 3  # sessions whose reports are tallied
_PARTITIONS: Final = 3  # random partitions of the parties of each, in addition to single parties
_MANY: Final = 3_000  # parties, by repeating the given rows, whose tallies must merge
_EACH: Final = 160  # all numbers of parties up to this are checked, and this many greater ones
_SIZES: Final = 12
_BATCHES: Final = (1, 3, 7)  # sizes of batches


def _check_tallies(case: ProtocolCase) -> None:
    """The tallies of any partition of the reports merge into the tally of all, in any order."""
    generator = np.random.default_rng(case.seed)
    all_places = np.arange(len(case.inputs))
    for session, (number, phase) in itertools.product(range(_SESSIONS), enumerate(case.protocol.phases)):
        reports = case.reports(session)
        tally: Any = case.tally(reports, number, all_places)
        require(isinstance(tally, Tally), f"the tally of phase {phase.name!r} is {tally!r}")
        whole: Tally = tally
        problem = f"the tally of phase {phase.name!r} is of {whole.num_reports} reports, and not of {len(all_places)}"
        require(whole.num_reports == len(all_places), problem)
        for shards in _partitions(len(all_places), generator, has_empty=phase.hides_participation):
            merged_tally = functools.reduce(Tally.merge, [case.tally(reports, number, shard) for shard in shards])
            sizes = [len(shard) for shard in shards]
            complaint = (
                f"in phase {phase.name!r} {len(shards)} tallies of {min(sizes)} to {max(sizes)} parties merge into "
                f"{_shown(merged_tally)}, and the tally of all is {_shown(whole)}"
            )
            require(merged_tally == whole, complaint)


def _check_large_tallies(case: ProtocolCase) -> None:
    """However many parties there are, tallies merge: each number up to some hundred, and others up to thousands."""
    generator = np.random.default_rng(case.seed)
    inputs = case.repeat_rows(_MANY)
    reports = draw_all(case.protocol, inputs, noise=case.noise())
    larger = np.unique(np.exp(generator.uniform(math.log(_EACH), math.log(len(inputs)), size=_SIZES)).astype(np.int64))
    for number, phase in enumerate(case.protocol.phases):

        def tally_of(start: int, stop: int, phase: Phase = phase, number: int = number) -> Tally:
            return tally_batch(
                phase,
                reports[number],
                case.protocol.retained_reports(reports[:number]),
                inputs.public,
                slice(start, stop),
            )

        merged_tally = tally_of(0, 1)
        for num_before, size in itertools.pairwise([*range(1, _EACH), *larger.tolist(), len(inputs)]):
            merged_tally = merged_tally.merge(tally_of(num_before, size))
            whole_tally = tally_of(0, size)
            complaint = (
                f"in phase {phase.name!r} the tally of {size} parties is {_shown(whole_tally)}, and not "
                f"{_shown(merged_tally)}"
            )
            require(whole_tally == merged_tally, complaint)


def _check_outcome_type(case: ProtocolCase) -> None:
    """The outcome is of outcome_type, field by field, and what single parties are told of own_outcome_type."""
    protocol, tallies = case.protocol, case.tallies()
    outcome: Any = protocol.outcome(tallies)
    kind = protocol.outcome_type
    require(isinstance(outcome, kind), f"it is {_told(outcome)}, and not of {kind.__name__}")
    protocol.outcome_decoder.decode(msgspec.msgpack.encode(outcome))
    for number, phase in enumerate(protocol.phases):
        published: Any = phase.outcome(tallies[: number + 1])
        is_struct = published is None or isinstance(published, msgspec.Struct)
        require(is_struct, f"what phase {phase.name!r} publishes is {_told(published)}, and no struct")
        msgspec.msgpack.encode(published)
    own_outcomes = protocol.own_outcomes(tallies)
    own_kind = protocol.own_outcome_type
    strangers = sorted({*own_outcomes} - {*range(len(case.inputs))})
    require(not strangers, f"own_outcomes has the places {strangers[:12]}, which nobody has")
    for place, own_outcome in own_outcomes.items():
        is_own = own_kind is not None and isinstance(own_outcome, own_kind)
        require(is_own, f"what party {place} is told is {_told(own_outcome)}, and not of own_outcome_type")
        protocol.own_outcome_decoder.decode(msgspec.msgpack.encode(own_outcome))


def _check_finite(case: ProtocolCase) -> None:
    """Every number of the outcome is finite."""
    for session in range(_SESSIONS):
        tallies = case.tallies(session)
        for place, number in _numbers(msgspec.to_builtins(case.protocol.outcome(tallies)), ""):
            require(math.isfinite(number), f"outcome{place} is {number}")


def _check_round_trip(case: ProtocolCase) -> None:
    """The outcome comes back equal from msgpack, as it travels, and from JSON, as a run's folder has it."""
    protocol, tallies = case.protocol, case.tallies()
    outcome = protocol.outcome(tallies)
    kind = protocol.outcome_type
    decoded_outcomes = {
        "msgpack": msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=kind),
        "JSON": msgspec.json.decode(msgspec.json.encode(outcome), type=kind),
    }
    for way, decoded in decoded_outcomes.items():
        require(decoded == outcome, f"{_told(outcome)} comes back from {way} as {_told(decoded)}")
    for own_outcome in (*protocol.own_outcomes(tallies).values(), None):
        decoded = protocol.own_outcome_decoder.decode(msgspec.msgpack.encode(own_outcome))
        require(decoded == own_outcome, f"{_told(own_outcome)} comes back as {_told(decoded)}")


def _check_outcome_function(case: ProtocolCase) -> None:
    """The outcome is a function of the tallies and of nothing else: the same tallies have the same outcome."""
    protocol, reports, public = case.protocol, case.reports(), case.inputs.public
    if case.table is not None:
        protocol.encode(case.table)  # as at a session's start; state kept from this must not influence the outcome
    tallies, other_tallies = case.tallies(), case.tallies(1)
    first = compute(protocol, reports, public, tallies)
    require(compute(protocol, reports, public, tallies) == first, "the second time it is another one")
    compute(protocol, case.reports(1), public, other_tallies)
    case.tallies(2)
    require(compute(protocol, reports, public, tallies) == first, "after other tallies it is another one")
    complaint = "a protocol of the same parameters that has seen no report has another one"
    require(compute(case.again(), reports, public, tallies) == first, complaint)
    complaint = "a new process, with another PYTHONHASHSEED and a later clock, that has seen no row has another"
    for computation in compute_afresh(protocol, reports, public, tallies):
        require(computation.released == first.released, f"{complaint} one")
        require(computation.tallies == first.tallies, f"{complaint} tally of the same reports")


def _check_paths(case: ProtocolCase) -> None:
    """Arrays, batches, agents in memory and agents over TCP give the same bits, and everybody hears the outcome."""
    protocol, inputs = case.protocol, case.inputs
    whole = run_arrays(protocol, inputs=inputs, noise=case.noise())
    for size in _BATCHES:
        inner = run_population(protocol, inputs, noise=case.noise(), batch_rows=size)
        _require_same(f"arrays of {size} rows", whole, inner)
        if len(protocol.phases) == 1:
            cuts = [*range(0, len(inputs), size), len(inputs)]
            parts = [inputs.slice_rows(start, stop) for start, stop in itertools.pairwise(cuts)]
            outer = run_batches(protocol, parts, noise=case.noise())
            _require_same(f"batches of {size}", whole, outer)
    for transport in (MemoryTransport(), TCPTransport()):
        record = _held(case, transport)
        way = f"agents over {transport.name}"
        for name, error in record.endings.items():
            raise AssertionError(f"with {way} {name} heard no outcome: {error}")
        _require_same(way, whole, record)
        require(record.num_received == whole.num_received, f"{way} count {record.num_received} reports")

    if (phase := protocol.masked_phase) is not None and phase.threshold < len(inputs):
        _check_departures(case, phase)
        _check_liars(case, phase)


def _check_departures(case: ProtocolCase, phase: MaskedPhase) -> None:
    """Check that a party leaving a masked session is counted exactly if it has sent its masked row, for every step."""
    (reports,) = case.reports()
    for number, step in enumerate(case.protocol.steps):
        if step.is_in_dispute:
            continue  # a step in which no party is asked
        place = number % len(case)
        record = _held(case, MemoryTransport(), {case.names[place]: Leaver(number, lambda _: True)})
        is_in = np.arange(len(case)) != place
        is_in[place] = number > list(MaskingMove).index(MaskingMove.MASKED)
        tally = phase.tally(reports[is_in], earlier=[], public=case.inputs.public[is_in])
        require(
            record.tallies == (tally,), f"where one leaves in step {step.name!r} the tally is not that of the others"
        )


def _check_liars(case: ProtocolCase, phase: MaskedPhase) -> None:
    """Check that only a tampering party is named, and that it counts if it sent its masked row before tampering."""
    (reports,) = case.reports()
    roster = Roster(case.names, case.inputs.public)
    _, mode, signers = with_keys(case.protocol, roster, Simulation(SESSION, case.noise()))
    for number, lie in enumerate(get_args(Lie)):
        place = number % len(case)
        name = case.names[place]
        record = _held(case, MemoryTransport(), {name: MaskedLiar(case.protocol, mode, place, signers[place], lie)})
        reasons = {party: str(error) for party, error in record.endings.items()}
        is_named = reasons.keys() == {name} and f"{name!r} has " in reasons[name]
        require(
            is_named, f"where {name} lies in its {lie} it alone is to be named, and who heard no outcome is {reasons}"
        )
        is_in = np.arange(len(case)) != place
        is_in[place] = lie == "share"
        tally = phase.tally(reports[is_in], earlier=[], public=case.inputs.public[is_in])
        require(record.tallies == (tally,), f"where one lies in its {lie} the tally is not of all whose rows came")


def _check_replay(case: ProtocolCase) -> None:
    """A server that is shown again what it saw says the same again."""
    (server_view,) = (view for view in _held(case, MemoryTransport()).views if view.side is Side.SERVER)
    replayed_view = View(server_view.party, Side.SERVER, SESSION, SessionKind.SIMULATION)
    roster, mode, _ = with_keys(
        case.protocol, Roster(case.names, case.inputs.public), Simulation(SESSION, case.noise())
    )
    machine = ServerMachine(case.again(), roster, mode, view=replayed_view)
    replay(machine, server_view.observations)
    for step, (first_observation, second_observation) in enumerate(
        zip(server_view.observations, replayed_view.observations, strict=False)
    ):
        require(
            first_observation == second_observation,
            f"step {step} was {first_observation}, and is {second_observation} in the replay",
        )
    lengths = len(server_view.observations), len(replayed_view.observations)
    require(lengths[0] == lengths[1], f"there were {lengths[0]} steps, and {lengths[1]} are in the replay")


RELEASED: Final[tuple[Callable[[ProtocolCase], None], ...]] = (
    _check_tallies,
    _check_large_tallies,
    _check_outcome_type,
    _check_finite,
    _check_round_trip,
    _check_outcome_function,
    _check_paths,
    _check_replay,
)
"""The checks, in the order in which they are made: each may rely on those before it."""


def replay(machine: ServerMachine, observations: Sequence[Observation]) -> list[Effect]:
    """Feed a server's observations into a new server of the same session and noise, and return its effects.

    The new server records a separate view.

    Examples:
        >>> from psephos.agents import Simulation
        >>> from psephos.protocol import Roster, SimulatedNoise
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> roster = Roster(["ann"], vote.encode_public({}, num_parties=1))
        >>> machine = ServerMachine(vote, roster, Simulation("tea", SimulatedNoise(7, session="tea")))
        >>> [type(effect).__name__ for effect in replay(machine, [])]
        ['SetDeadline']
    """
    effects = machine.start()
    for observation in observations:
        match observation.happening:
            case Happening.RECEIVED:
                assert observation.message is not None  # noqa: S101  a message was received
                effects += machine.receive(observation.peer, observation.message)
            case Happening.TIMEOUT:
                effects += machine.receive_timeout(observation.peer)
            case Happening.LOST:
                effects += machine.receive_loss(observation.peer)
            case Happening.FAULT:
                error = MalformedMessageError(observation.reason, sender=observation.peer)
                effects += machine.receive_fault(observation.peer, error)
            case Happening.SENT:
                pass  # sent messages are compared with those of the replay
    return effects


def _partitions(number: int, generator: np.random.Generator, *, has_empty: bool) -> Iterator[list[IntArray]]:
    """Yield random partitions of indices into shards, which may be empty if a session may have no reports."""
    yield [np.array([place]) for place in generator.permutation(number)]
    for _ in range(_PARTITIONS):
        order = generator.permutation(number)
        shards = np.split(order, np.unique(generator.integers(0, number, size=3)))
        yield [shard for shard in shards if has_empty or len(shard)]


def _held(
    case: ProtocolCase, transport: MemoryTransport | TCPTransport, deviations: Mapping[str, Deviation] | None = None
) -> SessionRecord:
    """Return the record of a session of agents, with all views."""
    session = functools.partial(
        run_agents,
        case.protocol,
        names=case.names,
        inputs=case.inputs,
        mode=Simulation(SESSION, case.noise(), record_views=True),
        transport=transport,
        adversity=Adversity(deviations=deviations or {}),
    )
    return trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)


def _require_same(way: str, whole: SessionRecord, other: SessionRecord | PopulationResult[Any]) -> None:
    require(tuple(other.tallies) == tuple(whole.tallies), f"{way} leave other tallies than arrays")
    encoded_outcome, expected = msgspec.msgpack.encode(other.outcome), msgspec.msgpack.encode(whole.outcome)
    require(encoded_outcome == expected, f"{way} release {_told(other.outcome)}, and arrays {_told(whole.outcome)}")
    same = dict(other.own_outcomes) == dict(whole.own_outcomes)
    require(same, f"{way} tell single parties something else than arrays")


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Yield all floats in plain data, with their paths."""
    match value:
        case float():
            yield place, value
        case dict():
            for key, inner in cast("dict[Any, Any]", value).items():
                yield from _numbers(inner, f"{place}.{key}")
        case list() | tuple():
            for number, inner in enumerate(cast("Sequence[Any]", value)):
                yield from _numbers(inner, f"{place}[{number}]")
        case _:
            pass


def _shown(tally: Tally) -> str:
    return _told(f"{tally.num_reports} reports with totals {tally.totals.tolist()}")


def _told(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else f"{text[:200]} ..."  # noqa: PLR2004  a line or two
