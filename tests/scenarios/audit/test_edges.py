"""Edges are found where laws and learned scores do not look."""

import numpy as np
import pytest
from audits import case_of, found_by
from psephos.protocol.arrays import IntArray
from psephos.protocol.mechanisms import DiscreteLaplace
from psephos.scenarios.audit import AuditVerdict, Case, OutputSampler, Pair
from psephos.scenarios.audit.choosing import Edge, choose_edge

STEPS = 128
REACH = 8 * STEPS
RISK = 1e-9


def noisy(value: int, *, is_clipped: bool) -> OutputSampler:
    """Return draws of a number with Laplace noise of ε = 1, clipped at eight scales or not."""
    mechanism = DiscreteLaplace(float(STEPS), 0, STEPS)

    def draw(number: int, stream: int) -> IntArray:
        uniforms = np.random.default_rng([stream, value]).random((number, 1))
        reports = mechanism.randomize(np.full(number, value), uniforms)
        return (np.clip(reports, value - REACH, value + REACH) if is_clipped else reports)[:, None]

    return draw


def noise_case(*, is_clipped: bool) -> Case:
    return case_of(Pair("0 and 1", draws=(noisy(0, is_clipped=is_clipped), noisy(STEPS, is_clipped=is_clipped))))


def test_a_clipped_tail_is_refuted_without_a_law() -> None:
    """{report ≤ −897} has some 460 of a million outputs of one neighbor, and none of the other's."""
    found = found_by(noise_case(is_clipped=True), 1_000_000, 1 - RISK)
    assert found.verdict is AuditVerdict.PROOF_REFUTED
    assert found.epsilon is not None
    assert found.epsilon > 1.5
    assert found.event.startswith("number 1: at ")
    assert found.follows_law is None


def test_a_tail_that_is_there_passes() -> None:
    """False alarm: 1e-9."""
    found = found_by(noise_case(is_clipped=False), 200_000, 1 - RISK)
    assert found.verdict is AuditVerdict.CONSISTENT
    assert found.epsilon is not None
    assert 0.9 < found.epsilon <= 1


def best(first: IntArray, second: IntArray) -> Edge:
    edge = choose_edge([(Pair("the two", laws=np.ones((2, 1))), first, second)])
    assert edge is not None
    return edge


def test_a_single_value_is_an_edge() -> None:
    rng = np.random.default_rng(5)
    first, second = rng.integers(0, 1_000, size=(2, 50_000, 1))
    second[:200] = 777
    edge = best(first, second)
    assert (edge.least, edge.greatest, edge.is_first) == (777, 777, False)
    assert edge.name == "number 1: 777"
    assert edge.hits(np.array([[776], [777], [777]])) == 2


def test_an_end_is_an_edge_and_so_is_a_difference_of_numbers() -> None:
    rng = np.random.default_rng(6)
    first, second = rng.integers(0, 1 << 40, size=(2, 50_000, 2))
    second[:100, 0] += 1 << 41
    assert best(first, second).name.startswith("number 1: at least")
    first, second = rng.integers(0, 1 << 40, size=(2, 50_000, 2))
    second[:, 1] = second[:, 0] + 5
    edge = best(first, second)
    assert edge.name == "numbers 1 and 2, their difference: -5"
    assert edge.hits(second) == len(second)


def test_outputs_that_are_all_alike_have_no_edge() -> None:
    same = np.full((50, 2), 3, dtype=np.int64)
    assert choose_edge([(Pair("alike", laws=np.ones((2, 1))), same, same)]) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_extreme_integers_do_no_harm(sign: int) -> None:
    """Bits of floats fill 64 bits: differences wrap around, alike for all."""
    info = np.iinfo(np.int64)
    wild = np.array([[info.min, info.max], [info.max, info.min], [0, sign]] * 20, dtype=np.int64)
    edge = best(wild, wild[:, ::-1])
    assert np.isfinite(edge.bound)
