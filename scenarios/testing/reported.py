"""Promises on a party's reports: they are in range, follow the stated law, and lose at most the stated ε.

Seeds are fixed, so that results are repeatable. A correct protocol fails by chance with a probability below
`FALSE_ALARM`.
"""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.mechanisms import ExactMechanism, Mechanism, PostProcessed, Prepared, RandBelow, RowMechanism
from ...protocol.phases import Inputs, Phase
from ...protocol.population import draw_reports
from ...protocol.privacy import NeighboringRelation, total_of
from ...protocol.randomness import SimulatedNoise
from ...transports.promises import require
from ..audit import AuditResult, AuditVerdict, Case, OutputSampler, Pair, audit
from ..audit.case import NO_PLACE, LawCheck, OutputView, Streams
from ..audit.exposed_parts import Summed, draw_releases
from ..audit.following import draw_checks, hold
from ..audit.mechanisms.checking import checks_of, some_rows
from .cases import SESSION, ProtocolCase

FALSE_ALARM: Final = 1e-6  # probability that a whole check fails for a correct protocol
_PARTIES: Final = 2_000  # parties, by repeating the given rows, whose reports' ranges are checked
_REFUSALS: Final = 32  # arbitrary reports checked for a public row
_PUBLIC: Final = 8
_MECHANISMS: Final = 16  # most mechanisms of a phase that are tested against their laws
_ROWS: Final = 4  # rows of each mechanism
_OUTPUTS: Final = 20_000  # outputs of each row
_EXACT_OUTPUTS: Final = 2_000  # pairs of reports of each row from an exact sampler, which draws one by one
_RISK: Final = FALSE_ALARM / 200  # risk of each mechanism's test
_MOST_LAW: Final = 1 << 12  # most reports whose probabilities are summed
_SUM_ERROR: Final = 1e-6
_PAIRS: Final = 3  # audited pairs of neighbors
_AUDITED: Final = 6_000  # outputs of each pair; fewer for masked sums, by their number of noise shares
_MOST_SHARES, _LEAST_AUDITED = 300_000, 300


def _check_reports(case: ProtocolCase) -> None:
    """Reports are integers in the range that their mechanism states, as many as it says."""
    inputs = case.repeat_rows(_PARTIES)
    for phase in case.protocol.phases:
        reports = draw_reports(phase, inputs, noise=case.noise(), protocol=case.protocol.name, start=0)
        _require_range(phase, phase.mechanism, reports, len(inputs))
        for mechanism, values in _mechanisms(phase, case.inputs):
            for uniform in (0.0, float(np.nextafter(1.0, 0.0))):  # the extremes of uniforms
                uniforms = np.full((len(values), mechanism.slots_of(values.shape[1])), uniform)
                _require_range(phase, mechanism, mechanism.randomize_rows(values, uniforms), len(values))


def _check_wire(case: ProtocolCase) -> None:
    """An honest report travels as it is, and the server takes it."""
    public: list[list[int]] = case.inputs.public.tolist()
    for phase, phase_reports in zip(case.protocol.phases, case.reports(), strict=True):
        reports: list[list[int]] = phase_reports.tolist()
        for report, own_public in zip(reports, public, strict=True):
            decoded = list(phase.codec.decode(phase.codec.encode(report)))
            require(decoded == report, f"in phase {phase.name!r} {report[:12]} arrives as {decoded[:12]}")
            phase.check_report(report, own_public)


def _check_refusals(case: ProtocolCase) -> None:
    """Whatever numbers in range a report has, check_report returns or raises ValueError."""
    generator = np.random.default_rng(case.seed)
    public: list[list[int]] = np.unique(case.inputs.public, axis=0)[:_PUBLIC].tolist()
    for phase in case.protocol.phases:
        low, high = phase.mechanism.report_range
        ends = [[number] * phase.num_reported for number in {low, high, min(max(0, low), high)}]
        drawn_reports = generator.integers(low, high, size=(_REFUSALS, phase.num_reported), endpoint=True)
        for report, own_public in itertools.product([*ends, *drawn_reports.tolist()], public):
            with contextlib.suppress(ValueError):
                phase.check_report(report, own_public)


def _check_single_rows(case: ProtocolCase) -> None:
    """A party draws by itself what it draws as a row of an array."""
    for phase in case.protocol.phases:
        for mechanism, values in _mechanisms(phase, case.inputs):
            slots = mechanism.slots_of(values.shape[1])
            uniforms = case.noise().uniforms(protocol="check", phase=phase.name, start=0, stop=len(values), slots=slots)
            together: list[list[int]] = mechanism.randomize_rows(values, uniforms).tolist()
            rows: list[list[int]] = values.tolist()
            for row, row_uniforms, report in zip(rows, uniforms.tolist(), together, strict=True):
                single_report = [int(number) for number in mechanism.randomize_row(row, row_uniforms)]
                complaint = (
                    f"in phase {phase.name!r} {row[:12]} gives {single_report[:12]} alone and {report[:12]} in an array"
                )
                require(single_report == report, complaint)


def _check_likelihoods(case: ProtocolCase) -> None:
    """The likelihoods that a mechanism states are those of the reports that it draws."""
    for phase, mechanism, values in _randomizers(case):
        _hold(phase, mechanism, values, case.seed)


def _check_exact_sampler(case: ProtocolCase) -> None:
    """What a deployment's own sampler draws has the law that is written down, all numbers of a report together.

    And it is made of the row and of fresh integers alone.
    """
    for phase, mechanism, values in _randomizers(case):
        inner, rows = mechanism, some_rows(values, _ROWS)
        while isinstance(inner, (PostProcessed, Prepared)):
            rows = inner.prepare_rows(rows) if isinstance(inner, Prepared) else rows
            inner = inner.noise
        # Samplers of Psephos's mechanisms are audited separately.
        if isinstance(inner, ExactMechanism) and not type(inner).__module__.startswith("psephos.protocol."):
            _hold(phase, inner, rows, case.seed, is_exact=True)
            _require_no_memory(phase, inner, rows.tolist(), case.seed)


def _check_audit(case: ProtocolCase) -> None:
    """What a party sends tells its row from another one by no more than the stated loss."""
    for public, first, second in itertools.islice(_neighbors(case), _PAIRS):
        proven = total_of(case.protocol.losses_of(public), relation=NeighboringRelation.REPLACE_ONE).proven
        if not math.isfinite(proven):
            continue
        audit_found = _audit(case, (_sampler(case, public, first), _sampler(case, public, second)), proven=proven)
        complaint = (
            f"the rows {first.tolist()[:12]} and {second.tolist()[:12]} are told apart by ε ≥ "
            f"{audit_found.epsilon or 0:.3g} "
            f"and δ ≥ {audit_found.delta:.3g}, and ε = {proven:.3g} is stated"
        )
        require(audit_found.verdict is not AuditVerdict.PROOF_REFUTED, complaint)


REPORTED: Final[tuple[Callable[[ProtocolCase], None], ...]] = (
    _check_reports,
    _check_wire,
    _check_refusals,
    _check_single_rows,
    _check_likelihoods,
    _check_exact_sampler,
    _check_audit,
)
"""The checks, in the order in which they are made: each may rely on those before it."""


def _mechanisms(phase: Phase, inputs: Inputs) -> Iterator[tuple[RowMechanism, IntArray]]:
    """Yield each mechanism of a phase with the distinct values of its parties."""
    for mechanism, places in phase.mechanism_groups(inputs.public):
        values = inputs.private[places][:, phase.columns]
        if len(values):
            yield mechanism, np.unique(values, axis=0)


def _randomizers(case: ProtocolCase) -> Iterator[tuple[str, RowMechanism, IntArray]]:
    """Yield for each phase some mechanisms with their parties' values, and a trusted server's with its totals."""
    for number, phase in enumerate(case.protocol.phases):
        for mechanism, values in itertools.islice(_mechanisms(phase, case.inputs), _MECHANISMS):
            yield phase.name, mechanism, values
        if phase.tally_mechanism is not None:
            tally = case.tally(case.reports(), number, np.arange(len(case.inputs)))
            yield phase.name, phase.tally_mechanism, tally.totals.reshape(1, -1)


def _require_range(phase: Phase, mechanism: RowMechanism, reports: IntArray, number: int) -> None:
    kind: Any = reports.dtype
    require(np.issubdtype(kind, np.integer), f"in phase {phase.name!r} reports are {kind}, and no integers")
    shape = number, phase.num_reported
    require(reports.shape == shape, f"in phase {phase.name!r} reports have the shape {reports.shape}, and not {shape}")
    low, high = mechanism.report_range
    min_report, greatest = int(reports.min()), int(reports.max())
    complaint = f"in phase {phase.name!r} reports are from {min_report} to {greatest}, and [{low}, {high}] is stated"
    require(low <= min_report and greatest <= high, complaint)


def _hold(phase: str, mechanism: RowMechanism, values: IntArray, seed: int, *, is_exact: bool = False) -> None:
    """Test outputs of some rows against their law, if known: single values, and whole rows."""
    kinds = [values]
    if isinstance(mechanism, Mechanism):  # single values have few reports
        kinds = [np.unique(values.reshape(-1))[:, None], *([values] if values.shape[1] > 1 else [])]
    for rows in (some_rows(kind, _ROWS) for kind in kinds):
        try:
            _require_law(phase, mechanism, rows)
            checks = checks_of(mechanism, rows, limit=_ROWS, is_secure=False)
        except NotImplementedError:  # there is no law, or too many reports
            continue
        law_checks = [(check, check.draw) for check in checks if check.draw is not None]
        if is_exact:
            law_checks = [_exactly(mechanism, check, row) for check, row in zip(checks, rows.tolist(), strict=True)]
        law_findings = hold(
            list(draw_checks(law_checks, _EXACT_OUTPUTS if is_exact else _OUTPUTS, Streams(seed + 1))), _RISK
        )
        require(
            not law_findings.departure, f"in phase {phase!r} the reports of {mechanism} of {law_findings.departure}"
        )


def _make_draw_below(generator: np.random.Generator) -> RandBelow:
    """Return a function that draws an integer below a bound of any size."""

    def draw_below(number: int) -> int:
        bits = (number - 1).bit_length()
        while (number_drawn := int.from_bytes(generator.bytes(bits // 8 + 1), "big") % (1 << bits)) >= number:
            pass
        return number_drawn

    return draw_below


def _require_no_memory(phase: str, mechanism: ExactMechanism, rows: Sequence[Sequence[int]], seed: int) -> None:
    """Require that the exact sampler's report depends only on the row and on the integers drawn for it."""

    def draw(place: int) -> list[int]:
        draw_below = _make_draw_below(np.random.default_rng((seed, place)))
        return list(mechanism.randomize_exactly(rows[place % len(rows)], draw_below))

    places = range(_ROWS)
    first, second_draws = [draw(place) for place in places], [draw(place) for place in reversed(places)]
    complaint = f"in phase {phase!r} the exact sampler of {mechanism} reports something else for the same integers"
    require(first == second_draws[::-1], f"{complaint}: it remembers earlier draws, or draws from elsewhere")


def _exactly(mechanism: RowMechanism, check: LawCheck, row: Sequence[int]) -> tuple[LawCheck, OutputSampler]:
    """Return a check of two consecutive reports from the exact sampler, with their joint law."""
    assert isinstance(mechanism, ExactMechanism)  # noqa: S101  the caller's
    width = mechanism.num_reports_of(len(row))

    def draw(number: int, stream: int) -> IntArray:
        draw_below = _make_draw_below(np.random.default_rng(stream))
        outputs = [
            [*mechanism.randomize_exactly(row, draw_below), *mechanism.randomize_exactly(row, draw_below)]
            for _ in range(number)
        ]
        reports = np.array(outputs)
        low, high = mechanism.report_range
        right = reports.shape == (number, 2 * width) and np.issubdtype(reports.dtype, np.integer)
        require(right, f"the exact sampler of {mechanism} reports {outputs[0]}, and not {width} integers each time")
        in_range = low <= reports.min() and reports.max() <= high
        require(in_range, f"the exact sampler of {mechanism} reports {reports.min()} to {reports.max()}")
        return reports.astype(np.int64)

    def of_two(view: OutputView) -> OutputView:
        if len(view.law) ** 2 > _MOST_LAW:
            return OutputView(view.name, view.law, lambda reports: view.places(reports[:, :width]))

        def places(reports: IntArray) -> IntArray:
            first, second = view.places(reports[:, :width]), view.places(reports[:, width:])
            return np.where((first == NO_PLACE) | (second == NO_PLACE), NO_PLACE, first * len(view.law) + second)

        return OutputView(
            f"{view.name} two after one another".strip(), np.outer(view.law, view.law).reshape(-1), places
        )

    return dataclasses.replace(check, views=[of_two(view) for view in check.views]), draw


def _require_law(phase: str, mechanism: RowMechanism, rows: IntArray) -> None:
    """Require that a row's probabilities sum to 1, if they are few."""
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(rows.shape[1])
    if width * math.log(high - low + 1) > math.log(_MOST_LAW):
        return
    outputs = np.array(list(itertools.product(range(low, high + 1), repeat=width)), dtype=np.int64)
    for row, total in zip(rows.tolist(), np.exp(mechanism.log_likelihoods(outputs, rows)).sum(axis=0), strict=True):
        complaint = f"in phase {phase!r} the probabilities of all reports of {row} add up to {total:.6g}"
        require(abs(total - 1) < _SUM_ERROR, complaint)


def _neighbors(case: ProtocolCase) -> Iterator[tuple[list[int], IntArray, IntArray]]:
    """Yield public rows with two neighboring private rows whose loss is bounded, the farthest apart first."""
    neighbors: list[tuple[int, list[int], IntArray, IntArray]] = []
    inputs = case.inputs
    kinds = np.unique(inputs.public, axis=0, return_inverse=True)[1].reshape(-1)
    for kind in np.unique(kinds):
        places = np.flatnonzero(kinds == kind)
        rows = some_rows(np.unique(inputs.private[places], axis=0), _ROWS)
        public: list[int] = inputs.public[places[0]].tolist()
        neighbors += [
            (int(np.abs(first - second).sum()), public, first, second)
            for first, second in itertools.combinations(rows, 2)
            if _are_neighbors(case, public, first, second)
        ]
    for _, public, first, second in sorted(neighbors, key=lambda each: -each[0]):
        yield public, first, second


def _are_neighbors(case: ProtocolCase, public: Sequence[int], first: IntArray, second: IntArray) -> bool:
    return all(
        phase.mechanism_of(public).are_neighbors(first[None, phase.columns], second[None, phase.columns])[0, 0]
        for phase in case.protocol.phases
    )


def _audit(case: ProtocolCase, draws: tuple[OutputSampler, OutputSampler], *, proven: float) -> AuditResult:
    """Bound a session's loss between two rows from below."""
    stated_case = Case(
        name=case.protocol.name,
        group=SESSION,
        unit="row",
        model=case.protocol.model,
        claimed=proven,
        proven=proven,
        pairs=lambda: [Pair("two rows", draws=draws)],
    )
    masked = case.protocol.masked_phase
    shares = 1 if masked is None else masked.honest * masked.num_values
    samples = min(_AUDITED, max(_MOST_SHARES // shares, _LEAST_AUDITED))
    result = audit(stated_case, samples=samples, confidence=1 - FALSE_ALARM / (2 * _PAIRS), seed=case.seed + 1)
    assert result is not None  # noqa: S101  the pair is drawn
    return result


def _sampler(case: ProtocolCase, public: Sequence[int], row: IntArray) -> OutputSampler:
    """Return a sampler of all that leaves a party with this row: its reports, or the server's release."""
    protocol = case.protocol

    def draw(number: int, stream: int) -> IntArray:
        noise = SimulatedNoise(stream, session=SESSION)
        if (masked := protocol.masked_phase) is not None:
            return Summed(protocol, masked, row[None], public).draw(0, number, noise)
        tiled = Inputs(np.tile(row, (number, 1)), np.tile(np.array(public, dtype=np.int64), (number, 1)))
        parts: list[IntArray] = []
        earlier_reports: list[IntArray] = []  # equal for every row, since their loss is counted in their phase
        for phase in protocol.phases:
            reports = draw_reports(phase, tiled, noise=noise, protocol=protocol.name, start=0)
            if phase.model.bounds_release:
                clear = phase.tally(reports[:1], earlier=earlier_reports, public=tiled.public[:1])
                parts.append(draw_releases(protocol, phase, clear, number, noise))
            else:
                parts.append(reports)
            earlier_reports.append(phase.retained_reports(np.array([phase.least_report], dtype=np.int64)))
        return np.concatenate(parts, axis=1)

    return draw
