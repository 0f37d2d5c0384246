"""Probit maximum likelihood over an ℓ₁ ball, beside scipy's SLSQP: the same voters, the same certificate.

SLSQP is given what a careful user would give it: β = p − q with p, q ≥ 0 and one linear constraint, the analytic
gradient of the objective and of the constraint, and vectorized evaluations. Its `ftol` is a change of the objective,
no gap: it is the largest power of ten for which nearly all of its points have a gap of at most 1e-6, or else that for
which most have, found on other voters; the share that reaches it stands in the row. Both sides use as many processes,
each on one core and with one thread: SLSQP's small matrices are several times slower where a library spreads them.
The data are those of section 5.1 of the paper on moral preferences: β_i ~ N(m, 1) with m ~ U(−1, 1)^d, pairs of N(0, 1)
alternatives, choices of the probit model; B = 2.
"""

import functools
import math
import multiprocessing
import os
import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any, Final

import numpy as np
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.l1_ball import fit_probit
from scipy.optimize import minimize
from scipy.special import erfcx, log_ndtr
from table import Row, at_least
from trials import timed

__all__ = ["measure"]

_RADIUS: Final = 2.0
_TOLERANCE: Final = 1e-6
_PROCESSES: Final = 2
_ONE_THREAD: Final = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
_LEAST_RATIO: Final = 15.0
_LEAST_A_SECOND: Final = 20_000.0
# Records a voter, features, whether there is a target.
_SIZES: Final = ((13, 23, True), (50, 10, True), (100, 10, False))
_MOONSHOT: Final = (13, 23)
_TRIALS: Final = 3
_FTOLS: Final = tuple(10.0**-exponent for exponent in range(6, 15))
_ENOUGH: Final = 0.98
_VOTERS_TO_TUNE: Final = 60


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield voters a second on two processes, ours and SLSQP's, and ours on one."""
    num_ours, num_theirs = (2_000, 20) if quick else (20_000, 400)
    os.environ.update(_ONE_THREAD)  # which the processes inherit before they import a library with threads
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_PROCESSES, mp_context=context) as pool:
        for num_records, num_features, has_target in _SIZES:
            yield _compare(
                pool,
                num_records,
                num_features,
                num_ours=num_ours,
                num_theirs=num_theirs,
                has_target=has_target and not quick,
            )
    yield _measure_one_process(10 * num_ours // _PROCESSES, has_target=not quick)


def _compare(
    pool: Executor, num_records: int, num_features: int, *, num_ours: int, num_theirs: int, has_target: bool
) -> Row:
    differences = _draw(num_ours, num_records, num_features, seed=1)
    ftol = _tune(_draw(_VOTERS_TO_TUNE, num_records, num_features, seed=2))
    theirs = functools.partial(_fit_by_slsqp, ftol=ftol)
    # The first run of each imports and, on either side, allocates; it is not counted.
    _run(pool, _fit_by_ours, differences[: 2 * _PROCESSES])
    _run(pool, theirs, differences[: 2 * _PROCESSES])
    our_rates: list[float] = []
    their_rates: list[float] = []
    our_shares: list[float] = []
    their_shares: list[float] = []
    for _ in range(_TRIALS):
        for fit, voters, rates, shares in (
            (_fit_by_ours, differences, our_rates, our_shares),
            (theirs, differences[:num_theirs], their_rates, their_shares),
        ):
            rate, share = _run(pool, fit, voters)
            rates.append(rate)
            shares.append(share)
    ratio = statistics.median(ours / theirs for ours, theirs in zip(our_rates, their_rates, strict=True))
    return Row(
        f"probit over the ℓ₁ ball, {num_records} records of {num_features} features a voter, {_PROCESSES} processes, "
        f"beside SLSQP (ftol {ftol:g})",
        f"{statistics.median(our_rates):,.0f} voters/s ({our_shares[0]:.1%} within 1e-6)",
        f"{statistics.median(their_rates):,.0f} voters/s ({their_shares[0]:.1%} within 1e-6)",
        f"{ratio:.1f}",
        at_least(ratio, _LEAST_RATIO if has_target else None),
    )


def _measure_one_process(num_voters: int, *, has_target: bool) -> Row:
    num_records, num_features = _MOONSHOT
    differences = _draw(num_voters, num_records, num_features, seed=3)
    _fit_by_ours(differences[:100])
    seconds = statistics.median(timed(lambda: _fit_by_ours(differences)) for _ in range(_TRIALS))
    rate = num_voters / seconds
    return Row(
        f"probit over the ℓ₁ ball, {num_records} records of {num_features} features a voter, one process",
        f"{rate:,.0f} voters/s",
        goal=at_least(rate, _LEAST_A_SECOND if has_target else None, unit=" voters/s"),
    )


def _run(pool: Executor, fit: Callable[[FloatArray], FloatArray], differences: FloatArray) -> tuple[float, float]:
    """Return voters a second, and the share of them within the tolerance; each process has an equal part."""
    parts = np.array_split(differences, _PROCESSES)
    gaps: list[FloatArray] = []
    seconds = timed(lambda: gaps.extend(pool.map(_gaps_of, [fit] * len(parts), parts)))
    return len(differences) / seconds, float(np.mean(np.concatenate(gaps) <= _TOLERANCE))


def _gaps_of(fit: Callable[[FloatArray], FloatArray], differences: FloatArray) -> FloatArray:
    """Return the gap of each point that a side finds, computed here, the same way for both."""
    points: FloatArray = fit(differences)
    # A point that is outside of the ball, by rounding, is brought back before it is certified.
    norms = np.abs(points).sum(axis=1)
    points *= (_RADIUS / np.maximum(norms, _RADIUS))[:, None]
    z = np.einsum("ijk,ik->ij", differences, points)
    gradients = np.einsum("ijk,ij->ik", differences, _slopes(z))
    return _RADIUS * np.abs(gradients).max(axis=1) - (gradients * points).sum(axis=1)


def _fit_by_ours(differences: FloatArray) -> FloatArray:
    num_voters, num_records, num_features = differences.shape
    offsets = np.arange(num_voters + 1, dtype=np.int64) * num_records
    return fit_probit(
        differences.reshape(-1, num_features), offsets, radius=_RADIUS, tolerance=_TOLERANCE * (1 - 1e-6)
    ).points


def _fit_by_slsqp(differences: FloatArray, *, ftol: float) -> FloatArray:
    return np.array([_fit_one_by_slsqp(records, ftol) for records in differences])


def _fit_one_by_slsqp(records: FloatArray, ftol: float) -> FloatArray:
    num_features = records.shape[1]
    ones = np.full(2 * num_features, -1.0)

    def loss(halves: FloatArray) -> tuple[float, FloatArray]:
        z: FloatArray = records @ (halves[:num_features] - halves[num_features:])
        gradient = records.T @ _slopes(z)
        return -float(np.asarray(log_ndtr(z), dtype=np.float64).sum()), np.concatenate([-gradient, gradient])

    found: Any = minimize(
        loss,
        np.zeros(2 * num_features),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, None)] * (2 * num_features),
        constraints={"type": "ineq", "fun": lambda halves: _RADIUS - halves.sum(), "jac": lambda _: ones},
        options={"ftol": ftol, "maxiter": 1_000},
    )
    return found.x[:num_features] - found.x[num_features:]


def _slopes(z: FloatArray) -> FloatArray:
    """Return φ(z)/Φ(z)."""
    return math.sqrt(2 / math.pi) / np.asarray(erfcx(z * -math.sqrt(0.5)), dtype=np.float64)


def _tune(differences: FloatArray) -> float:
    """Return the largest `ftol` that brings nearly all within the tolerance, or the best one if none does."""
    shares: dict[float, float] = {}
    for ftol in _FTOLS:
        gaps: FloatArray = _gaps_of(functools.partial(_fit_by_slsqp, ftol=ftol), differences)
        shares[ftol] = float(np.mean(gaps <= _TOLERANCE))
        if shares[ftol] >= _ENOUGH:
            return ftol
    return max(shares, key=lambda ftol: (shares[ftol], ftol))


def _draw(num_voters: int, num_records: int, num_features: int, *, seed: int) -> FloatArray:
    """Return chosen − rejected, shape (voters, records, features)."""
    rng = np.random.default_rng(seed)
    preferences = rng.uniform(-1, 1, size=num_features) + rng.normal(size=(num_voters, num_features))
    shape = (num_voters, num_records, num_features)
    differences = rng.normal(size=shape) - rng.normal(size=shape)
    utilities = np.einsum("ijk,ik->ij", differences, preferences) + rng.normal(size=shape[:2])
    return differences * np.where(utilities > 0, 1.0, -1.0)[..., None]
