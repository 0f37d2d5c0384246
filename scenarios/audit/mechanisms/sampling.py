"""Pairs of a mechanism's rows, with samplers and, if it is finite, the exact law.

Simulated outputs come from `randomize_rows` with `SimulatedNoise`, as in the array path. Secure outputs come from
`SecureNoise`, one at a time, as in an agent.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ....agents.noise import SecureNoise
from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms import RowMechanism
from ....protocol.randomness import SimulatedNoise
from ..case import NO_PLACE, Case, OutputSampler, Pair, Score

PrivateRow: TypeAlias = Sequence[int]  # private values

EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)  # ε of audited mechanisms, in nats

_NAME: Final = "audit"  # name of session, protocol and phase for outputs drawn outside a session


def local_case(
    name: str, group: str, unit: str, pairs: Callable[[], Sequence[Pair]], *, proven: float, **given: Any
) -> Case:
    """Return the case of a local randomizer with a tight proof; by default the claimed loss is the proven one."""
    statement: dict[str, Any] = {"claimed": proven, "is_tight": True}
    return Case(name=name, group=group, unit=unit, proven=proven, pairs=pairs, **statement | given)


def simulate_draw(mechanism: RowMechanism, row: PrivateRow) -> OutputSampler:
    """Return a sampler of a row's reports with simulated noise."""
    values = np.array([row], dtype=np.int64)
    slots = mechanism.slots_of(len(row))

    def draw(number: int, stream: int) -> IntArray:
        noise = SimulatedNoise(stream, session=_NAME)
        uniforms = noise.uniforms(protocol=_NAME, phase=_NAME, start=0, stop=number, slots=slots)
        return mechanism.randomize_rows(np.repeat(values, number, axis=0), uniforms)

    return draw


@functools.cache  # building the sampler is slow
def _secure_noise() -> SecureNoise:
    return SecureNoise()


def secure_draw(
    mechanism: RowMechanism, row: PrivateRow, make_noise: Callable[[], SecureNoise] = _secure_noise
) -> OutputSampler:
    """Return a sampler of a row's reports with secure noise, which ignores streams."""
    values = list(row)

    def draw(number: int, stream: int) -> IntArray:
        del stream
        noise = make_noise()
        reports = [
            noise.randomize(mechanism, values, protocol=_NAME, phase=_NAME, place=place) for place in range(number)
        ]
        return np.array(reports, dtype=np.int64).reshape(number, -1)

    return draw


def pair_of(mechanism: RowMechanism, first: PrivateRow, second: PrivateRow, *, name: str, is_secure: bool) -> Pair:
    """Return two rows as neighbors, scored by the mechanism's log-likelihood ratio if it is known.

    `name` is their difference, as a phrase.
    """
    draws = simulate_draw(mechanism, first), simulate_draw(mechanism, second)
    secure = (secure_draw(mechanism, first), secure_draw(mechanism, second)) if is_secure else None
    return Pair(name, draws=draws, score=_score(mechanism, first, second, draws[0]), secure=secure)


def _score(mechanism: RowMechanism, first: PrivateRow, second: PrivateRow, draw: OutputSampler) -> Score | None:
    rows = np.array([first, second], dtype=np.int64)

    def score(outputs: IntArray) -> FloatArray:
        logs = mechanism.log_likelihoods(outputs, rows)
        with np.errstate(invalid="ignore"):  # impossible for both: nan, which the audit replaces by 0
            return logs[:, 0] - logs[:, 1]

    try:
        score(draw(1, 0))
    except NotImplementedError:
        return None
    return score


def list_rows(width: int, num_values: int) -> IntArray:
    """Return all rows of `width` values in [0, num_values), in lexicographic order."""
    return np.array(list(itertools.product(range(num_values), repeat=width)), dtype=np.int64)


def finite_pairs(
    mechanism: RowMechanism,
    rows: IntArray,
    *,
    is_secure: bool,
    are_neighbors: Callable[[IntArray, IntArray], bool] | None = None,
    reports: IntArray | None = None,
) -> list[Pair]:
    """Return the pair of rows with the greatest loss, with its exact law, of a mechanism with finitely many reports.

    Args:
        mechanism: a mechanism with `log_likelihoods`.
        rows: shape (c, w): all rows, or those among which the worst pair is.
        is_secure: whether the pair also has samplers with secure noise.
        are_neighbors: whether two rows are neighbors; by default all are.
        reports: all possible reports, in lexicographic order, shape (outputs, r); by default all rows of numbers in
            `report_range`.
    """
    if reports is None:
        low, high = mechanism.report_range
        reports = list_rows(mechanism.num_reports_of(rows.shape[1]), high - low + 1) + low
    logs = mechanism.log_likelihoods(reports, rows).T
    laws = np.exp(logs)
    laws /= laws.sum(axis=1, keepdims=True)  # rounding leaves sums within some 1e-16 of 1
    best = max(
        (
            (_separation(logs, laws, one, other), -one, -other)
            for one, other in itertools.combinations(range(len(rows)), 2)
            if are_neighbors is None or are_neighbors(rows[one], rows[other])
        ),
    )
    places = [-best[1], -best[2]]
    first, second = (rows[place].tolist() for place in places)
    encode = number_outputs(reports)

    def draw_both(draw: Callable[[RowMechanism, PrivateRow], OutputSampler]) -> tuple[OutputSampler, OutputSampler]:
        return encode_outputs(draw(mechanism, first), encode), encode_outputs(draw(mechanism, second), encode)

    secure = draw_both(secure_draw) if is_secure else None
    return [Pair(f"{first} and {second}", laws=laws[places], draws=draw_both(simulate_draw), secure=secure)]


def _separation(logs: FloatArray, laws: FloatArray, one: int, other: int) -> tuple[float, float]:
    """Return the exact ε of two rows, rounded, and the total distance of their laws."""
    possible = (laws[one] > 0) | (laws[other] > 0)
    losses = np.abs(logs[one][possible] - logs[other][possible])
    return round(float(losses.max()), 9), round(float(np.abs(laws[one] - laws[other]).sum()), 9)


def number_outputs(outputs: IntArray) -> Callable[[IntArray], IntArray]:
    """Return a function from reports to their indices among all reports, given in lexicographic order."""
    low: IntArray = outputs.min(axis=0)
    sizes: list[int] = (outputs.max(axis=0) - low + 1).tolist()
    if math.prod(sizes) != len(outputs):
        raise ValueError("reports have gaps: give all rows of numbers within ranges")
    factors = np.array([math.prod(sizes[place + 1 :]) for place in range(len(sizes))], dtype=np.int64)

    def encode(reports: IntArray) -> IntArray:
        places = ((reports - low) * factors).sum(axis=1, keepdims=True)
        is_possible = np.all((reports >= low) & (reports < low + sizes), axis=1, keepdims=True)
        return np.where(is_possible, places, NO_PLACE)

    return encode


def encode_outputs(draw: OutputSampler, encode: Callable[[IntArray], IntArray]) -> OutputSampler:
    """Return a sampler that encodes another sampler's outputs."""
    return lambda number, stream: encode(draw(number, stream))
