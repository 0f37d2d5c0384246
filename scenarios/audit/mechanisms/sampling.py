"""Pairs of rows for a mechanism: drawn as a session draws, with their law where it is finite, told apart by it.

Simulated outputs are `SimulatedNoise`'s uniforms through `randomize_rows`, as the array path has them; secure ones are
`SecureNoise`'s, one at a time, as an agent has them.
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

EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)  # losses for which mechanisms are audited, in nats

_NAME: Final = "audit"  # of the session, the protocol and the phase, where outputs are drawn without any


def local_case(
    name: str, group: str, unit: str, pairs: Callable[[], Sequence[Pair]], *, proven: float, **given: Any
) -> Case:
    """Return the case of a local randomizer whose proof is tight, and is all that is claimed unless more is given."""
    statement: dict[str, Any] = {"claimed": proven, "is_tight": True}
    return Case(name=name, group=group, unit=unit, proven=proven, pairs=pairs, **statement | given)


def simulate_draw(mechanism: RowMechanism, row: PrivateRow) -> OutputSampler:
    """Return draws of a row's reports with the noise of simulations."""
    values = np.array([row], dtype=np.int64)
    slots = mechanism.slots_of(len(row))

    def draw(number: int, stream: int) -> IntArray:
        noise = SimulatedNoise(stream, session=_NAME)
        uniforms = noise.uniforms(protocol=_NAME, phase=_NAME, start=0, stop=number, slots=slots)
        return mechanism.randomize_rows(np.repeat(values, number, axis=0), uniforms)

    return draw


@functools.cache  # what it draws by takes long to make
def _secure_noise() -> SecureNoise:
    return SecureNoise()


def secure_draw(
    mechanism: RowMechanism, row: PrivateRow, make_noise: Callable[[], SecureNoise] = _secure_noise
) -> OutputSampler:
    """Return draws of a row's reports with the noise of deployments, which know no streams."""
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
    """Return two rows as neighbors, told apart by the mechanism's likelihoods where it has them.

    `name` is what they differ in, as a phrase.
    """
    draws = simulate_draw(mechanism, first), simulate_draw(mechanism, second)
    secure = (secure_draw(mechanism, first), secure_draw(mechanism, second)) if is_secure else None
    return Pair(name, draws=draws, score=_score(mechanism, first, second, draws[0]), secure=secure)


def _score(mechanism: RowMechanism, first: PrivateRow, second: PrivateRow, draw: OutputSampler) -> Score | None:
    rows = np.array([first, second], dtype=np.int64)

    def score(outputs: IntArray) -> FloatArray:
        logs = mechanism.log_likelihoods(outputs, rows)
        with np.errstate(invalid="ignore"):  # impossible for both: nan, which the audit takes for 0
            return logs[:, 0] - logs[:, 1]

    try:
        score(draw(1, 0))
    except NotImplementedError:
        return None
    return score


def list_rows(width: int, num_values: int) -> IntArray:
    """Return every row of so many values in [0, num_values), in lexicographic order."""
    return np.array(list(itertools.product(range(num_values), repeat=width)), dtype=np.int64)


def finite_pairs(
    mechanism: RowMechanism,
    rows: IntArray,
    *,
    is_secure: bool,
    are_neighbors: Callable[[IntArray, IntArray], bool] | None = None,
    reports: IntArray | None = None,
) -> list[Pair]:
    """Return the worst of all pairs of rows, with its exact law; a mechanism of finitely many reports.

    Args:
        mechanism: with `log_likelihoods`.
        rows: all rows, or those that may be the worst, shape (c, w).
        is_secure: whether the pair is drawn with the noise of deployments too.
        are_neighbors: whether two rows are; by default all are.
        reports: some reports, the only ones that there are, in lexicographic order, each number from the least on,
            shape (outputs, r); by default all of `report_range`.
    """
    if reports is None:
        low, high = mechanism.report_range
        reports = list_rows(mechanism.num_reports_of(rows.shape[1]), high - low + 1) + low
    logs = mechanism.log_likelihoods(reports, rows).T
    laws = np.exp(logs)
    laws /= laws.sum(axis=1, keepdims=True)  # what a law in floats leaves of 1: some 1e-16
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
    """Return the exact ε of two rows, rounded, and how far their laws are apart in all."""
    possible = (laws[one] > 0) | (laws[other] > 0)
    losses = np.abs(logs[one][possible] - logs[other][possible])
    return round(float(losses.max()), 9), round(float(np.abs(laws[one] - laws[other]).sum()), 9)


def number_outputs(outputs: IntArray) -> Callable[[IntArray], IntArray]:
    """Return what numbers reports by their places among all of them, given in lexicographic order."""
    low: IntArray = outputs.min(axis=0)
    sizes: list[int] = (outputs.max(axis=0) - low + 1).tolist()
    if math.prod(sizes) != len(outputs):
        raise ValueError("the reports must be all rows of numbers in some ranges")
    factors = np.array([math.prod(sizes[place + 1 :]) for place in range(len(sizes))], dtype=np.int64)

    def encode(reports: IntArray) -> IntArray:
        places = ((reports - low) * factors).sum(axis=1, keepdims=True)
        is_possible = np.all((reports >= low) & (reports < low + sizes), axis=1, keepdims=True)
        return np.where(is_possible, places, NO_PLACE)

    return encode


def encode_outputs(draw: OutputSampler, encode: Callable[[IntArray], IntArray]) -> OutputSampler:
    """Return draws whose outputs are what something makes of others."""
    return lambda number, stream: encode(draw(number, stream))
