"""Sums and linear systems for many problems at once, in a fixed order of operations.

The last axis of every array has the problems ("lanes"), and every operation is elementwise along it. So the bits of a
lane depend neither on other lanes, nor on their number, nor on the processor. Sums over features are pairwise. Sums
over records have `NUM_STRANDS` running totals, so that additional records of zeros change nothing.
"""

from typing import Final

import numpy as np

from ...arrays import FloatArray

NUM_STRANDS: Final = 8
"""The number of running totals of a sum over records."""


def sum_over_features(terms: FloatArray) -> FloatArray:
    """Return the sum over the last axis but one of terms, shape (..., d, lanes), which are used up: a view of them."""
    size = terms.shape[-2]
    while size > 1:
        half = size // 2
        head = terms[..., :half, :]
        np.add(head, terms[..., size - half : size, :], out=head)
        size -= half
    return terms[..., 0, :]


def sum_over_records(terms: FloatArray) -> FloatArray:
    """Return the sum over the first axis of terms, shape (n, ..., lanes), used up; zeros at its end change no bit."""
    num_records = len(terms)
    if num_records == 0:
        return np.zeros(terms.shape[1:])
    for begin in range(NUM_STRANDS, num_records, NUM_STRANDS):
        block = terms[begin : begin + NUM_STRANDS]
        head = terms[: len(block)]
        np.add(head, block, out=head)
    strands = NUM_STRANDS
    while strands > 1:
        strands //= 2
        block = terms[strands : 2 * strands] if strands < num_records else terms[:0]
        head = terms[: len(block)]
        np.add(head, block, out=head)
    return terms[0]


def factorize(matrices: FloatArray) -> None:
    """Replace symmetric positive definite matrices, shape (m, m, lanes), by their factors L·D·Lᵀ, in place.

    Only the lower triangle is read. The diagonal becomes D, and the part below it L without its ones. The part above is
    undefined afterwards.
    """
    size = len(matrices)
    for pivot in range(size - 1):
        column = matrices[pivot + 1 :, pivot]
        factors = column / matrices[pivot, pivot]
        matrices[pivot + 1 :, pivot + 1 :] -= factors[:, None] * column[None, :]
        column[...] = factors


def solve_factorized(factors: FloatArray, right: FloatArray) -> None:
    """Solve the systems of `factorize` for right-hand sides of shape (number, m, lanes), which become the solutions."""
    size = len(factors)
    for pivot in range(size - 1):
        right[:, pivot + 1 :] -= factors[pivot + 1 :, pivot] * right[:, pivot, None]
    right /= np.einsum("iil->il", factors)
    for pivot in range(size - 1, 0, -1):
        right[:, :pivot] -= factors[pivot, :pivot] * right[:, pivot, None]
