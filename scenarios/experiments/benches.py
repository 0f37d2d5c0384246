"""Run the trials of one cell, in blocks if the system supports them, else one by one, with equal results.

A block computes the numbers of many sessions without their messages. So some trials of each cell are whole sessions
(`run_arrays`): the first one, and the first of each kind of outcome, whose numbers of messages and bytes apply to all
of the kind. Whole sessions have the checks that a block omits: tallies of two halves add up; an outcome is
deterministic and survives msgpack and JSON; losses can be entered into a ledger; and the block has the same numbers.
The ranges of values, reports and losses are checked in all trials. If a block fails, or has a number that is not
finite, its trials are run one by one, and the failing one raises its error.
"""

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ...protocol.arrays import FloatArray
from ...protocol.blocks import decide_sessions, decides_in_blocks, goes_with, sessions_at_once
from ...protocol.errors import PluginError
from ...protocol.phases import InputBlock
from ...protocol.plugin_faults import plugin_of
from ...protocol.randomness import SimulatedNoise
from ...protocol.tally import TallyBlock
from ...protocol.traffic import PhaseTraffic
from ..running.by_arrays import run_arrays
from ..running.resolution import Local, resolve
from ..running.results import expect_traffic, traffic_of
from .measured import BYTES, MESSAGES, Trial, TrialCell
from .measures import Measure, Measures, measures_of
from .redrawing import redraw_scenario, rows_drawn

_Beside: TypeAlias = tuple[dict[str, float], dict[str, float]]


class Bench:
    """Runs the trials of one cell.

    Args:
        setup: the resolved scenario of the cell.
        cell: the cell to run.

    Attributes:
        at_once: the most trials in a block; 0 if they are run one by one.
    """

    def __init__(self, setup: Local, cell: TrialCell) -> None:
        self._own = _Session(setup)
        self._cell = cell
        self._drawn = functools.lru_cache(maxsize=1)(self._draw)  # trials of one draw are consecutive
        self._traffic_of_kind: dict[bytes, tuple[tuple[PhaseTraffic, ...], list[float]]] = {}
        self.num_parties = len(setup.names)
        self.losses = tuple(setup.protocol.losses)
        self.at_once = 0
        is_known = not (cell.redraw and setup.gold)  # the gold standard belongs to one draw only
        if is_known and decides_in_blocks(setup.protocol) and self._own.measures.go_in_blocks:
            public = setup.inputs.public
            self.at_once = sessions_at_once(setup.protocol, public, are_alike=not cell.redraw)

    @functools.cached_property
    def held(self) -> str:
        """A digest of the parties' rows and all parameters, by which a worker checks that it has the same cell."""
        inputs = self._own.resolved.inputs
        rows = (inputs.private.tobytes(), inputs.public.tobytes(), repr(self._own.resolved.protocol).encode())
        return hashlib.sha256(b"".join(rows)).hexdigest()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of a trial."""
        return (*self._own.measures.measures, *(() if self._own.traffic is None else (MESSAGES, BYTES)))

    def run(self, numbers: range) -> Iterator[Trial]:
        """Yield the trials with these numbers."""
        size = self.at_once or max(len(numbers), 1)
        for start in range(0, len(numbers), size):
            block = numbers[start : start + size]
            results = self._numbers_of(block) if self.at_once else None
            yield from map(self.whole, block) if results is None else self._trials_of(block, *results)

    def _numbers_of(self, numbers: range) -> tuple[Mapping[str, FloatArray], Sequence[_Beside], Sequence[bytes]] | None:
        """Return a block's measures, reference values, and each trial's kind of outcome.

        None if the trials must be run one by one.
        """
        protocol, noise = self._own.resolved.protocol, self._noise(numbers.start)
        first = self._cell.scenario.round + numbers.start
        try:
            if (inputs := self._inputs_of(numbers)) is None:
                return None
            decisions, tallies = decide_sessions(
                protocol, inputs, noise.make_rounds(range(first, first + len(numbers)))
            )
            numbers_of_measure = self._own.measures.measure_block(inputs, decisions, tallies)
            references = self._references_of(self._own.measures, inputs, tallies, len(numbers))
            kinds = [row.tobytes() for row in np.ascontiguousarray(decisions.kinds())]
        except Exception:  # noqa: BLE001  the single trial raises the error again
            return None
        if not all(np.isfinite(numbers_of_one).all() for numbers_of_one in numbers_of_measure.values()):
            return None
        return numbers_of_measure, references, kinds

    @staticmethod
    def _references_of(
        measures: Measures, inputs: InputBlock, tallies: Sequence[TallyBlock], size: int
    ) -> list[_Beside]:
        """Return each trial's known means by law, and its control variates."""
        kind, rows_of_reference = type(measures), list[list[dict[str, float]]]()
        for name, arguments in (("expected", (inputs,)), ("controls", (inputs, tallies))):
            reference_numbers: Mapping[str, FloatArray] = (
                getattr(measures, name)(*arguments) if goes_with(kind, name, "of") else {}
            )
            rows = zip(*(np.broadcast_to(each, size).tolist() for each in reference_numbers.values()), strict=True)
            rows_of_reference.append(
                [dict(zip(reference_numbers, row, strict=True)) for row in rows] if reference_numbers else [{}] * size
            )
        return list(zip(*rows_of_reference, strict=True))

    def _trials_of(
        self,
        numbers: range,
        numbers_of_measure: Mapping[str, FloatArray],
        references: Sequence[_Beside],
        kinds: Sequence[bytes],
    ) -> Iterator[Trial]:
        """Yield the trials of a block; run a whole session for each new kind, and check that its numbers are equal."""
        rows = np.stack(list(numbers_of_measure.values()), axis=1).tolist()
        names = (*numbers_of_measure, *(() if self._own.traffic is None else (MESSAGES.name, BYTES.name)))
        for number, row, reference, kind in zip(numbers, rows, references, kinds, strict=True):
            if kind not in self._traffic_of_kind:
                whole = self.whole(number)
                measure_names = [value for name, value in whole.measures.items() if name not in numbers_of_measure]
                self._traffic_of_kind[kind] = whole.traffic, measure_names
                if whole.measures != dict(zip(names, row + measure_names, strict=False)):
                    reason = "many sessions at once have other numbers than one of them by itself"
                    raise PluginError(plugin=plugin_of(self._own.resolved.protocol), step="decisions", reason=reason)
            traffic, measure_names = self._traffic_of_kind[kind]
            yield Trial(dict(zip(names, row + measure_names, strict=False)), traffic, *reference)

    def _inputs_of(self, numbers: range) -> InputBlock | None:
        """Return the parties' rows in these trials; None if redrawn parties change the session."""
        redraw, setup = self._cell.redraw, self._own.resolved
        if not redraw:
            return self._own.measures.block
        draws = range(numbers.start // redraw, numbers[-1] // redraw + 1)
        rows = rows_drawn(self._cell.scenario, setup.protocol, draws)
        if rows is None:
            redrawn_setups = [resolve(redraw_scenario(self._cell.scenario, number)) for number in draws]
            if any(
                each.protocol.parameters != setup.protocol.parameters or each.names != setup.names
                for each in redrawn_setups
            ):
                return None
            rows = (
                np.stack([each.inputs.private for each in redrawn_setups]),
                np.stack([each.inputs.public for each in redrawn_setups]),
            )
        private, public = rows
        if not np.array_equal(public, np.broadcast_to(setup.inputs.public, public.shape)):
            return None
        return InputBlock(private[np.array(numbers) // redraw - draws.start], setup.inputs.public)

    def _noise(self, number: int) -> SimulatedNoise:
        scenario = self._cell.scenario
        assert scenario.seed is not None  # noqa: S101  `prepare` sets one
        return SimulatedNoise(scenario.seed, session=scenario.name, round_number=scenario.round + number)

    def _draw(self, number: int) -> "_Session":
        return _Session(resolve(redraw_scenario(self._cell.scenario, number)))

    def whole(self, number: int) -> Trial:
        """Run a trial as a whole session."""
        redraw = self._cell.redraw
        session = self._drawn(number // redraw) if redraw else self._own
        setup = session.resolved
        record = run_arrays(setup.protocol, inputs=setup.inputs, noise=self._noise(number))
        measured_values = dict(session.measures.of(record.outcome, record.tallies))
        traffic = traffic_of(setup, record, session.traffic) or ()
        if traffic:
            messages = sum(phase.messages_up + phase.messages_down for phase in traffic)
            num_bytes = sum(phase.bytes_up + phase.bytes_down for phase in traffic)
            number_of_parties = len(setup.names)
            measured_values |= {MESSAGES.name: messages / number_of_parties, BYTES.name: num_bytes / number_of_parties}
        own_setup = self._own.resolved  # if the session differs, its law would have to be computed for each draw
        reference: _Beside = ({}, {})
        if setup.protocol.parameters == own_setup.protocol.parameters and setup.names == own_setup.names:
            tallies = [TallyBlock.from_tallies([tally]) for tally in record.tallies]
            (reference,) = self._references_of(session.measures, session.measures.block, tallies, 1)
        return Trial(measured_values, tuple(traffic), *reference)


class _Session:
    """The resolved scenario and measures that trials of the same parties share."""

    def __init__(self, setup: Local) -> None:
        self.resolved = setup
        self.measures: Measures = measures_of(setup)
        self.traffic = expect_traffic(setup)
