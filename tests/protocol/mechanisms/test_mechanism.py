"""What every mechanism checks of a batch before it randomizes anything."""

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import (
    Disclosure,
    DiscreteLaplace,
    FiniteChannel,
    GeneralizedRandomizedResponse,
    Mechanism,
    VectorLaplace,
)

MECHANISMS: list[Mechanism] = [
    GeneralizedRandomizedResponse(1.0, 3),
    DiscreteLaplace(1.0, -1, 1),
    VectorLaplace(1.0, 2, 1),
    FiniteChannel(1.0, ((2**52, 2**52),) * 3),
    Disclosure(1),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("values", "uniforms"),
    [
        (np.zeros(3, dtype=np.int64), np.zeros((2, 1))),
        (np.zeros(3, dtype=np.int64), np.zeros(3)),
        (np.zeros(3, dtype=np.int64), np.zeros((3, 2))),
        (np.zeros((3, 1), dtype=np.int64), np.zeros((3, 1))),
        (np.zeros(0, dtype=np.int64), np.zeros((0, 2))),
    ],
)
def test_shapes_that_do_not_fit_are_refused(mechanism: Mechanism, values: IntArray, uniforms: FloatArray) -> None:
    with pytest.raises(ValueError, match=r"give values of shape \(n,\) and uniforms of shape \(n, 1\)"):
        mechanism.randomize(values, uniforms)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_wrong_value_refuses_the_whole_batch_and_names_the_extremes(mechanism: Mechanism) -> None:
    low, high = mechanism.value_range
    with pytest.raises(ValueError, match=f"values are {low - 1} to {high + 3}: use values from {low} to {high}"):
        mechanism.randomize(np.array([low, high + 3, low - 1]), np.zeros((3, 1)))
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"value is .*: use a value from {low} to {high}"):
            mechanism.randomize_one(value, (0.5,))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_randomizing_leaves_its_arguments_as_they_were(mechanism: Mechanism) -> None:
    low, high = mechanism.value_range
    values, uniforms = np.array([low, low + 1, high]), np.array([[0.1], [0.5], [0.999]])
    mechanism.randomize(values, uniforms)
    assert values.tolist() == [low, low + 1, high]
    assert uniforms.ravel().tolist() == [0.1, 0.5, 0.999]
