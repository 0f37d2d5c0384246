"""A primal-dual interior point method for the ℓ₁ ball, for many problems in lockstep.

To minimize a convex f over ‖β‖₁ ≤ B, write β = p − q with p, q > 0 and t = B − Σ(p + q) > 0. With multipliers y > 0 of
p and q, and ν > 0 of the sum, the central path is ±∇f + ν = y, p·y = q·y = t·ν = μ as μ decreases to 0. Each step is
Mehrotra's: Newton's direction for μ = 0 shows how far μ can decrease, and a second right-hand side of the same system
aims there and corrects for curvature. The unknowns p, q, y, t, ν are eliminated analytically, which leaves one system H
+ D of d unknowns. The method has no branches for single problems, needs no special starting point, and no full rank,
since D is positive.

Every iterate is strictly inside the ball, so each is certified by its gap, and the best one is returned.

Source: Mehrotra (1992) for the predictor and corrector; reading M10 for the certificate.
"""

import dataclasses
from typing import Final

import numpy as np

from ...arrays import FloatArray
from .lanes import sum_over_features
from .maximum import BallMaximum
from .objectives import ConvexFunctions, MaskArray

DEFAULT_TOLERANCE: Final = 1e-6
DEFAULT_MAX_ITERATIONS: Final = 100
# The share of the distance to the boundary that a step may take.
_SHARE: Final = 0.995
# The products stay above this share of the gap that the multipliers' dual residual (misfit) alone would cause.
_MISFIT_SHARE: Final = 0.01
# After this many steps, more than separable records of any scale need, misfits are ignored: along a feature that is a
# million times as large as the others, a misfit matters little, but would block progress forever.
_REGARDS_MISFITS: Final = 60
# A step is too long if the curvature of f along it is this many times that at its start, and its effect is also this
# many times the gap.
_MOST_BENDING: Final = 3.0
_SHARE_OF_GAP: Final = 0.1
_SHORTENING: Final = 0.25
_MOST_SHORTENINGS: Final = 20
# Finished lanes are dropped when they are this share of all.
_IDLE_SHARE: Final = 0.25


@dataclasses.dataclass
class _State:
    """The variables of all lanes, or a step in them.

    `halves` are p and q, `duals` their multipliers, shape (2, d, lanes); `slack` is t and `price` is ν, shape (lanes,).
    """

    halves: FloatArray
    duals: FloatArray
    slack: FloatArray
    price: FloatArray

    @property
    def points(self) -> FloatArray:
        """β = p − q, shape (d, lanes)."""
        return self.halves[0] - self.halves[1]

    def keep(self, lanes: MaskArray) -> None:
        """Forget all lanes but these."""
        self.halves = np.compress(lanes, self.halves, axis=-1)
        self.duals = np.compress(lanes, self.duals, axis=-1)
        self.slack = self.slack[lanes]
        self.price = self.price[lanes]

    def reach(self, step: "_State") -> FloatArray:
        """Return the longest part of a step that keeps all variables above 0; inf if no variable falls."""
        rates = np.maximum((-step.halves / self.halves).max(axis=(0, 1)), (-step.duals / self.duals).max(axis=(0, 1)))
        np.maximum(rates, -step.slack / self.slack, out=rates)
        np.maximum(rates, -step.price / self.price, out=rates)
        return 1 / np.abs(np.maximum(rates, 0.0))  # abs avoids −0, whose inverse would be −inf

    def advance(self, step: "_State", lengths: FloatArray) -> "_State":
        """Return the state after a part of a step."""
        return _State(
            self.halves + lengths * step.halves,
            self.duals + lengths * step.duals,
            self.slack + lengths * step.slack,
            self.price + lengths * step.price,
        )

    def products(self) -> FloatArray:
        """Return μ, the mean of p·y, q·y and t·ν."""
        terms = self.halves * self.duals
        terms[0] += terms[1]
        return (sum_over_features(terms[0]) + self.slack * self.price) / (2 * terms.shape[1] + 1)


def maximize_in_lanes(
    objective: ConvexFunctions,
    *,
    num_features: int,
    num_lanes: int,
    radius: float,
    tolerance: float,
    max_iterations: int,
    start: FloatArray | None = None,
) -> BallMaximum:
    """Minimize convex functions over an ℓ₁ ball (maximize their negatives), one function per lane. See `maximum`.

    The objective cannot be used again. The iteration may start at given points of the ball, shape (d, lanes). The
    results of lanes that did not converge are in the ball, too.
    """
    best = _Best(num_features, num_lanes, tolerance)
    shares = np.ones(num_lanes)
    centers = np.zeros((num_features, num_lanes))
    with np.errstate(all="ignore"):  # a lane with an overflow ends
        if start is not None:
            gaps, steepest = _gaps(start, objective.descend(start), radius)
            is_going = best.update(start, gaps, 0)
            # The farther from the optimum, the closer to the ball's center is the start.
            shares = np.sqrt(gaps / (2 * radius * steepest))[is_going]
            shares = np.where(shares < 1, shares, 1.0)
            centers = np.compress(is_going, start, axis=-1)
            objective.keep(is_going)
            best.keep(is_going)
        state = _begin(centers, shares, radius)
        gradients = objective.descend(state.points)
        state.price = (1 + shares) * np.abs(gradients).max(axis=0)
        state.duals[0] = state.price + gradients
        state.duals[1] = state.price - gradients
        for iteration in range(max_iterations + 1):
            points = state.points
            gaps, _ = _gaps(points, gradients, radius)
            is_going = best.update(points, gaps, iteration)
            num_going = np.count_nonzero(is_going)
            if num_going == 0 or iteration == max_iterations:
                break
            if num_going <= (1 - _IDLE_SHARE) * len(is_going):
                objective.keep(is_going)
                state.keep(is_going)
                gradients = np.compress(is_going, gradients, axis=-1)
                gaps = gaps[is_going]
                best.keep(is_going)
                is_going = is_going[is_going]
            state, gradients = _walk(
                objective,
                state,
                gradients,
                is_going,
                radius=radius,
                slips=_SHARE_OF_GAP * gaps,
                misfit_share=_MISFIT_SHARE if iteration < _REGARDS_MISFITS else 0.0,
            )
    return best.maximum()


class _Best:
    """The best point that each lane has met, and which lanes are still under way."""

    def __init__(self, num_features: int, num_lanes: int, tolerance: float) -> None:
        self._points = np.zeros((num_features, num_lanes))
        self._gaps = np.full(num_lanes, np.inf)
        self._num_iterations = np.zeros(num_lanes, dtype=np.int64)
        self._tolerance = tolerance
        self._active_lanes = np.arange(num_lanes)
        self._is_going = np.ones(num_lanes, dtype=np.bool_)

    def update(self, points: FloatArray, gaps: FloatArray, iteration: int) -> MaskArray:
        """Take the points at which the active lanes are; return which of these lanes are to go on."""
        is_better = self._is_going & (gaps < self._gaps[self._active_lanes])
        better = self._active_lanes[is_better]
        self._points[:, better] = points[:, is_better]
        self._gaps[better] = gaps[is_better]
        self._num_iterations[self._active_lanes[self._is_going]] = iteration
        self._is_going &= (gaps > self._tolerance) & (gaps < np.inf)
        return self._is_going

    def keep(self, lanes: MaskArray) -> None:
        """Forget all active lanes but these."""
        self._active_lanes = self._active_lanes[lanes]
        self._is_going = self._is_going[lanes]

    def maximum(self) -> BallMaximum:
        """Return the best points."""
        return BallMaximum(
            np.ascontiguousarray(self._points.T), self._gaps, self._num_iterations, self._gaps <= self._tolerance
        )


def _gaps(points: FloatArray, gradients: FloatArray, radius: float) -> tuple[FloatArray, FloatArray]:
    """Return the gaps of points, and ‖g‖_∞."""
    steepest = np.abs(gradients).max(axis=0)
    return radius * steepest + sum_over_features(gradients * points), steepest


def _begin(centers: FloatArray, shares: FloatArray, radius: float) -> _State:
    """Return a state between given points (share 0) and the center of the ball (share 1); its prices are not set."""
    distance = radius / (2 * len(centers) + 1)
    halves = np.stack([np.maximum(centers, 0.0), np.maximum(-centers, 0.0)])
    remaining = np.maximum(radius - sum_over_features(np.abs(centers)), 0.0)
    halves += shares * (distance - halves)
    slack = remaining + shares * (distance - remaining)
    return _State(halves, np.empty_like(halves), slack, np.empty_like(slack))


def _walk(
    objective: ConvexFunctions,
    state: _State,
    gradients: FloatArray,
    is_going: MaskArray,
    *,
    radius: float,
    slips: FloatArray,
    misfit_share: float,
) -> tuple[_State, FloatArray]:
    """Return the state after one step, and the gradients there.

    If the curvature of f along the step is much greater than at its start, the step is shortened: Newton's direction
    does not see a record whose choice was nearly certain at the start.

    Args:
        objective: the functions.
        state: the current state.
        gradients: the gradients there.
        is_going: the lanes that are not finished.
        radius: the radius of the ball.
        slips: a negligible error of f, shape (lanes,).
        misfit_share: the products do not aim below this share of the gap from the multipliers' misfit.
    """
    step, bends = _find_step(objective, state, gradients, misfit_share * radius)
    points = step.points
    slopes = sum_over_features(gradients * points)
    lengths = np.minimum(1.0, _SHARE * state.reach(step))
    next_state = state.advance(step, lengths)
    gradients = objective.descend(next_state.points)
    for _ in range(_MOST_SHORTENINGS):
        rises = lengths * (sum_over_features(gradients * points) - slopes)
        is_too_long = is_going & (rises > _MOST_BENDING * lengths * lengths * bends + slips)
        if not is_too_long.any():
            break
        lengths[is_too_long] *= _SHORTENING
        next_state = state.advance(step, lengths)
        gradients = objective.descend(next_state.points)
    return next_state, gradients


def _find_step(
    objective: ConvexFunctions, state: _State, gradients: FloatArray, reach_of_misfits: float
) -> tuple[_State, FloatArray]:
    """Return the step of predictor and corrector, and ΔβᵀHΔβ."""
    system = _System(objective, state, gradients)
    predictor, _ = system.direct(0.0, 0.0)
    lengths = np.minimum(1.0, state.reach(predictor))
    now = state.products()
    then = state.advance(predictor, lengths).products()
    falls_to = then / now
    target = falls_to * falls_to * then
    # As long as the multipliers do not fit the gradients, the products underestimate the distance to the optimum.
    misfits = np.abs(np.stack([gradients, -gradients]) + state.price - state.duals).max(axis=(0, 1))
    np.maximum(target, reach_of_misfits * misfits / (2 * len(gradients) + 1), out=target)
    # The predictor's second-order term, limited to the size of the products; larger ones lead away from the path.
    most = np.maximum(now, target)
    return system.direct(
        target - np.clip(predictor.halves * predictor.duals, -most, most),
        target - np.clip(predictor.slack * predictor.price, -most, most),
    )


class _System:
    """Newton's equations at one state, for any target products p·y, q·y and t·ν.

    Let a = y/p, b = y/q and D = ab/(a + b), and let e = ∓∇f − ν + (target product)/p or q be the residuals of p and q.
    The direction of β solves (H + D)·Δβ = (b·e_p − a·e_q)/(a + b) − Δν·(b − a)/(a + b). Δν solves the equation of the
    sum.
    """

    def __init__(self, objective: ConvexFunctions, state: _State, gradients: FloatArray) -> None:
        self._objective = objective
        self._state = state
        self._inverse = state.halves / state.duals  # 1/a, 1/b
        self._inverse_diagonal = self._inverse[0] + self._inverse[1]
        self._difference = self._inverse[0] - self._inverse[1]
        self._tilt = self._difference / self._inverse_diagonal
        self._forces = np.stack([-gradients, gradients]) - state.price
        objective.factorize(self._inverse_diagonal)
        (self._tilted,) = objective.solve(self._tilt[None])
        # The decrease of Σ(Δp + Δq) if Δν increases by 1.
        self._yield = sum_over_features(
            self._inverse_diagonal - self._difference * (self._tilt - self._tilted / self._inverse_diagonal)
        )

    def direct(self, products: FloatArray | float, last: FloatArray | float) -> tuple[_State, FloatArray]:
        """Return the direction Δ in which p·y and q·y become `products`, and t·ν `last`, to first order; and ΔβᵀHΔβ."""
        state, inverse = self._state, self._inverse
        pushes = products / state.halves
        flows = (self._forces + pushes) * inverse
        right = (flows[0] - flows[1]) / self._inverse_diagonal
        (solved,) = self._objective.solve(right[None])
        total = sum_over_features(flows[0] + flows[1] - self._difference * (right - solved / self._inverse_diagonal))
        ratio = state.price / state.slack
        price = (last / state.slack - state.price + ratio * total) / (1 + ratio * self._yield)
        points = solved - price * self._tilted
        bends = right - price * self._tilt - points / self._inverse_diagonal  # H·Δβ
        halves = flows - price * inverse
        halves[0] -= bends * inverse[0]
        halves[1] += bends * inverse[1]
        bends *= points
        # The less accurate of Δp and Δq is computed from the other one and Δβ.
        first = inverse[0] > inverse[1]
        np.copyto(halves[0], points + halves[1], where=first)
        np.copyto(halves[1], halves[0] - points, where=~first)
        duals = pushes - state.duals - halves / inverse
        slack = -sum_over_features(halves[0] + halves[1])
        return _State(halves, duals, slack, price), np.maximum(sum_over_features(bends), 0.0)
