"""The exact likelihood of one answer to a task from noisy counts, in the central model.

Each of h other workers with unknown answers is assumed to answer by the task's prior π, so that

    P[counts | x] = Σ_m h!·Π_j π_j^(m_j)/m_j! · Π_j P[noise = count_j − m_j − 1(j = x)]

over all m with Σ m_j = h. This is a coefficient of a product of polynomials, one for each label. Sessions with the same
answers and fresh noise multiply the noise's law for each m.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import refuse

_MOST_OTHERS: Final = 5_000  # a product of polynomials of this degree takes some hundredths of a second


def log_likelihoods_of_counts(
    counts: IntArray, is_told: NDArray[np.bool_], num_others: int, prior: FloatArray, scale: float
) -> FloatArray:
    """Return ln P[noisy counts | label] for one worker's answer to a task, up to a constant, shape (labels,).

    Args:
        counts: noisy counts by session (rows) and label, minus the coalition's answers; only those in `is_told` are
            known.
        num_others: number of other workers that answered; ConfigurationError if there are too many.
        prior: prior probabilities of each of their answers, shape (labels,).
    """
    allowed = f"so large that at most {_MOST_OTHERS:,} workers outside it answer a task"
    refuse(num_others > _MOST_OTHERS, "coalition", f"{num_others:,} others", allowed)
    numbers = np.arange(num_others + 2)
    laws = np.abs(counts[:, :, None] - numbers).sum(axis=0) * is_told[:, None] / -scale
    rates = num_others * prior[:, None]  # a scaling that leaves likelihoods unchanged, and keeps coefficients in range
    log_belief = special.xlogy(numbers[:-1], rates) - rates - special.gammaln(numbers[:-1] + 1)
    likelihoods = np.zeros(len(prior))
    for own_label in range(len(prior)):
        product = np.ones(1)
        for label, law in enumerate(laws):
            terms = log_belief[label] + (law[1:] if label == own_label else law[:-1])
            product = np.convolve(product, np.exp(terms - terms.max()))[: num_others + 1]
            likelihoods[own_label] += terms.max() + np.log(product.max())
            product /= product.max()
        with np.errstate(divide="ignore"):
            likelihoods[own_label] += np.log(product[-1])
    return likelihoods
