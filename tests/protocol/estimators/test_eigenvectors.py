"""Eigenvectors by elementwise steps, against a library's and by what defines them."""

from typing import Any

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.eigenvectors import eigenvectors


def matrices(num_features: int, *, number: int = 20) -> FloatArray:
    halves = np.random.default_rng(num_features).standard_normal((number, num_features, num_features))
    return halves + np.swapaxes(halves, 1, 2)


def check(given: FloatArray, *, size: float = 1.0) -> None:
    values, vectors = eigenvectors(given)
    identity = np.eye(given.shape[1])
    assert np.einsum("mji,mjk->mik", vectors, vectors) == pytest.approx(
        np.broadcast_to(identity, given.shape), abs=1e-12
    )
    again = np.einsum("mij,mj,mkj->mik", vectors, values, vectors)
    assert again == pytest.approx(given, abs=1e-12 * size * len(identity))


@pytest.mark.parametrize("num_features", [1, 2, 3, 6, 7, 23])
def test_values_are_a_librarys_and_vectors_make_the_matrix_again(num_features: int) -> None:
    given = matrices(num_features)
    check(given)
    assert np.sort(eigenvectors(given)[0]) == pytest.approx(np.linalg.eigvalsh(given), abs=1e-11)


@pytest.mark.parametrize("size", [1e-310, 1e-150, 1.0, 1e300])
@pytest.mark.parametrize("kind", ["zero", "identity", "all alike", "block", "nearly equal values"])
def test_equal_eigenvalues_and_any_size(kind: str, size: float) -> None:
    """Values that differ by rounding alone have no vectors of their own; any orthogonal ones of their span will do."""
    made: dict[str, Any] = {
        "zero": np.zeros((4, 4)),
        "identity": np.eye(4),
        "all alike": np.ones((4, 4)),
        "block": np.kron(np.diag([2.0, -3.0]), np.ones((2, 2))),
        "nearly equal values": np.eye(4) + 2.0**-52 * (np.ones((4, 4)) - np.eye(4)),
    }
    check(size * made[kind][None], size=size)


def test_what_a_matrix_gets_does_not_depend_on_the_others() -> None:
    given = matrices(5, number=300)  # more than one block
    values, vectors = eigenvectors(given)
    for place in (0, 7, 255, 256, 299):
        alone, its_vectors = eigenvectors(given[place : place + 1])
        assert np.array_equal(alone[0], values[place])
        assert np.array_equal(its_vectors[0], vectors[place])
