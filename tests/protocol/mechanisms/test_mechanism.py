"""What every mechanism checks of a batch before it randomizes anything."""

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import DiscreteLaplace, FiniteMechanism, GeneralizedRandomizedResponse, Mechanism

MECHANISMS: list[Mechanism] = [GeneralizedRandomizedResponse(1.0, 3), DiscreteLaplace(1.0, 0, 2)]


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
    with pytest.raises(ValueError, match=r"expected values of shape \(n,\) and uniforms of shape \(n, 1\), got"):
        mechanism.randomize(values, uniforms)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_wrong_value_refuses_the_whole_batch_and_names_the_extremes(mechanism: Mechanism) -> None:
    with pytest.raises(ValueError, match=r"values must be in \[0, 2\], got -1 to 5"):
        mechanism.randomize(np.array([1, 5, -1]), np.zeros((3, 1)))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_randomizing_leaves_its_arguments_as_they_were(mechanism: Mechanism) -> None:
    values, uniforms = np.array([0, 1, 2]), np.array([[0.1], [0.5], [0.999]])
    mechanism.randomize(values, uniforms)
    assert values.tolist() == [0, 1, 2]
    assert uniforms.ravel().tolist() == [0.1, 0.5, 0.999]


def test_only_mechanisms_with_a_matrix_are_finite() -> None:
    assert isinstance(GeneralizedRandomizedResponse(1.0, 3), FiniteMechanism)
    assert not isinstance(DiscreteLaplace(1.0, 0, 2), FiniteMechanism)
