"""Probit maximum likelihood over an ℓ₁ ball, beside scipy's SLSQP: the same voters, the same certificate.

SLSQP is given what a careful user would give it: β = p − q with p, q ≥ 0 and one linear constraint, the analytic
gradient of the objective and of the constraint, and vectorized evaluations. Its `ftol` is a change of the objective,
no gap: it is the largest power of ten for which nearly all of its points have a gap of at most 1e-6, or else that for
which most have, found on other voters; the share that reaches it stands in the row. Both sides use as many processes,
each on one core and with one thread: SLSQP's small matrices are several times slower where a library spreads them.
The data are those of section 5.1 of the paper on moral preferences: β_i ~ N(m, 1) with m ~ U(−1, 1)^d, pairs of N(0, 1)
alternatives, choices of the probit model; B = 2.
"""

import math
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from harness import Row, Rows, row, timed, turns
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.l1_ball import fit_probit
from scipy.optimize import minimize
from scipy.special import erfcx, log_ndtr

_RADIUS = 2.0
_TOLERANCE = 1e-6
_PROCESSES = 2
_RATE = "{:,.0f} voters/s"
_Fit = Callable[[FloatArray], FloatArray]


def solvers(*, quick: bool) -> Rows:
    """Yield voters a second on two processes, ours and SLSQP's, and ours on one."""
    ours, theirs = (2_000, 20) if quick else (20_000, 400)
    # Processes inherit this before they import a library with threads.
    os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")})
    with ProcessPoolExecutor(_PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        for records, features, target in ((13, 23, "≥ 15"), (50, 10, "≥ 15"), (100, 10, "")):
            yield _compare(pool, _draw(ours, records, features, seed=1), theirs, target)
    number = 10 * ours // _PROCESSES
    differences = _draw(number, 13, 23, seed=3)
    seconds = turns(3, ours=lambda: _fit_by_ours(differences)).median("ours")
    what = "probit over the ℓ₁ ball, 13 records of 23 features a voter, one process"
    yield row(what, number / seconds, show=_RATE, target="≥ 20000 voters/s")


def _compare(pool: Executor, differences: FloatArray, num_theirs: int, target: str) -> Row:
    ours, records, features = differences.shape
    ftol = _tune(_draw(60, records, features, seed=2))
    sides: dict[str, tuple[_Fit, FloatArray]] = {
        "ours": (_fit_by_ours, differences),
        "raw": (partial(_fit_by_slsqp, ftol=ftol), differences[:num_theirs]),
    }
    shares: dict[str, float] = {}

    def run(side: str) -> float:
        """Let each process have an equal part, and see how many voters are within the tolerance."""
        fit, voters = sides[side]
        parts = np.array_split(voters, _PROCESSES)
        gaps: list[FloatArray] = []
        seconds = timed(lambda: gaps.extend(pool.map(_gaps_of, [fit] * len(parts), parts)))
        shares[side] = float(np.mean(np.concatenate(gaps) <= _TOLERANCE))
        return seconds

    times = turns(3, **{side: partial(run, side) for side in sides})
    what = (
        f"probit over the ℓ₁ ball, {records} records of {features} features a voter, {_PROCESSES} processes, "
        f"beside SLSQP (ftol {ftol:g})"
    )
    note, beside = (f" ({shares[side]:.1%} within 1e-6)" for side in sides)
    return times.row(what, number=ours, of_raw=num_theirs, show=_RATE, note=note, beside=beside, target=target)


def _gaps_of(fit: _Fit, differences: FloatArray) -> FloatArray:
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
    for exponent in range(6, 15):
        ftol = 10.0**-exponent
        gaps = _gaps_of(partial(_fit_by_slsqp, ftol=ftol), differences)
        shares[ftol] = float(np.mean(gaps <= _TOLERANCE))
        if shares[ftol] >= 0.98:  # noqa: PLR2004  nearly all
            break
    return max(shares, key=lambda ftol: (shares[ftol], ftol))


def _draw(num_voters: int, num_records: int, num_features: int, *, seed: int) -> FloatArray:
    """Return chosen − rejected, shape (voters, records, features)."""
    rng = np.random.default_rng(seed)
    preferences = rng.uniform(-1, 1, size=num_features) + rng.normal(size=(num_voters, num_features))
    shape = (num_voters, num_records, num_features)
    differences = rng.normal(size=shape) - rng.normal(size=shape)
    utilities = np.einsum("ijk,ik->ij", differences, preferences) + rng.normal(size=shape[:2])
    return differences * np.where(utilities > 0, 1.0, -1.0)[..., None]
