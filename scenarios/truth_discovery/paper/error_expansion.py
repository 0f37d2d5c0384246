"""Sections 6.2.2 and 6.2.3: the error rate change Δ, its expansion, and the important users, as printed (reading T8).

All of it builds on (7), which is no bound (see `error_bounds`), and adds two faults. The line 2p, which replaces the
printed factor G(p), is less than .08 away from it, but twice as high near p = 0 and with n workers 2^n times: just for
the important users that it is meant for. And the expansion (11) has the right terms, each without its 2^n. The two do
not cancel: what (11) expands is Π 2p̂, not Π G(p̂).
"""

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from ....protocol.arrays import FloatArray, IntArray
from .error_bounds import checked_probabilities, perturbed_qualities, printed_factors

__all__ = [
    "LineQuality",
    "error_change",
    "expansion_terms",
    "importances",
    "important_workers",
    "line_quality",
    "linear_factors",
    "printed_expansion_terms",
]


def linear_factors(qualities: ArrayLike) -> FloatArray:
    """Return G'(p) = 2p, by which Section 6.2.2 replaces the printed factor G(p).

    Args:
        qualities: p, in [0, 1], any shape; G' is meant for folded ones, and above ½ it exceeds 1.

    Raises:
        ValueError: a quality is not in [0, 1].
    """
    return 2 * checked_probabilities("qualities", qualities)


@dataclasses.dataclass(frozen=True)
class LineQuality:
    """How close G'(p) = 2p is to G(p) for folded qualities.

    Args:
        greatest_gap: the greatest |G' − G|.
        gap_at: the quality where that is.
        least_ratio: the least G'/G.
        greatest_ratio: the greatest G'/G, near quality 0; for n workers its nth power counts.
    """

    greatest_gap: float
    gap_at: float
    least_ratio: float
    greatest_ratio: float


def line_quality(*, num_points: int = 10_000) -> LineQuality:
    """Return how close G' is to G at equally spaced qualities in (0, ½].

    Args:
        num_points: > 0.

    Raises:
        ValueError: it is not.
    """
    if num_points < 1:
        raise ValueError(f"num_points must be > 0, got {num_points}")
    qualities = np.arange(1, num_points + 1) / (2 * num_points)
    line, printed = linear_factors(qualities), printed_factors(qualities)
    gaps, ratios = np.abs(line - printed), line / printed
    widest = int(np.argmax(gaps))
    return LineQuality(float(gaps[widest]), float(qualities[widest]), float(ratios.min()), float(ratios.max()))


def error_change(qualities: ArrayLike, flip_probabilities: ArrayLike) -> float:
    """Return Δ = Π 2p̂ − Π 2p, the change of the printed bound with G' in the place of G.

    Args:
        qualities: p before perturbation, in [0, 1], shape (workers,).
        flip_probabilities: p^f, in [0, 1], one for all or shape (workers,).

    Raises:
        ValueError: a probability is not in [0, 1].

    Source:
        Section 6.2.2, equation (10), as printed.
    """
    after = linear_factors(perturbed_qualities(qualities, flip_probabilities))
    return math.prod(after.tolist()) - math.prod(linear_factors(qualities).tolist())


def printed_expansion_terms(qualities: ArrayLike, flip_probabilities: ArrayLike) -> FloatArray:
    """Return the terms of (11), by the number k of workers that enter with p and not with p^f·(1 − 2p).

    The first is Π p^f·(1 − 2p), the second Σ p·Π_{others} p^f·(1 − 2p); the dots stand for the rest up to k = n − 1, as
    k = n belongs to Π p. Their sum is Π p̂ − Π p, without the 2^n of (10): at n = 11 the printed Δ is 2048 times too
    small, and so are one layer's (p^f)^n and the product of uniforms on which Section 6.2.3 builds.

    Args:
        qualities: p before perturbation, in [0, 1], shape (workers,).
        flip_probabilities: p^f, in [0, 1], one for all or shape (workers,).

    Returns:
        float64, shape (workers,).

    Raises:
        ValueError: a probability is not in [0, 1].

    Source:
        Section 6.2.3, equation (11), as printed.
    """
    known = checked_probabilities("qualities", qualities)
    flipped = checked_probabilities("flip_probabilities", flip_probabilities) * (1 - 2 * known)
    terms = np.ones(1)
    for quality, flip in zip(known, flipped, strict=True):
        terms = np.convolve(terms, np.array([flip, quality]))
    return terms[:-1]


def expansion_terms(qualities: ArrayLike, flip_probabilities: ArrayLike) -> FloatArray:
    """Return the terms of which (10)'s Δ is the sum: 2^n times the printed ones.

    Args:
        qualities: p before perturbation, in [0, 1], shape (workers,).
        flip_probabilities: p^f, in [0, 1], one for all or shape (workers,).

    Returns:
        float64, shape (workers,).

    Raises:
        ValueError: a probability is not in [0, 1].
    """
    printed = printed_expansion_terms(qualities, flip_probabilities)
    return np.ldexp(printed, len(printed))


def importances(qualities: ArrayLike) -> FloatArray:
    """Return Im(u) = 1/G(p), by which factor the printed bound rises without a worker; infinite at quality 0.

    Args:
        qualities: p, folded into [0, ½], shape (workers,).

    Raises:
        ValueError: a quality is not in [0, ½].

    Source:
        Section 6.2.3.
    """
    factors = _folded_factors(qualities)
    # The inverse of a subnormal number may be no float.
    return np.divide(1.0, factors, out=np.full_like(factors, math.inf), where=factors >= np.finfo(np.float64).tiny)


def important_workers(qualities: ArrayLike, *, threshold: float) -> IntArray:
    """Return the workers with Im(u) ≥ c·max Im.

    The smaller c is, the more there are: the best alone at c = 1. With 0 among the qualities it is all of that quality
    and nobody else, whatever c is.

    Args:
        qualities: p, folded into [0, ½], shape (workers,).
        threshold: c, in (0, 1].

    Returns:
        int64: their places, ascending.

    Raises:
        ValueError: a quality or the threshold is out of range.

    Source:
        Section 6.2.3.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    factors = _folded_factors(qualities)
    return np.flatnonzero(threshold * factors <= factors.min()).astype(np.int64)


def _folded_factors(qualities: ArrayLike) -> FloatArray:
    known = checked_probabilities("qualities", qualities)
    if np.any(known > 0.5):  # noqa: PLR2004  a half
        raise ValueError(f"qualities must be folded into [0, 0.5], got {known.max()}")
    return printed_factors(known)
