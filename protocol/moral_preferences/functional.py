"""Algorithm 3: a voter perturbs its objective, and reports the maximum of the noisy objective.

The objective is the second-order expansion of the log-likelihood at 0, a quadratic whose coefficients get Laplace noise
(Zhang et al., 2012). The noisy quadratic may have no maximum, so a remedy first makes it concave (reading M3). All of
this is post-processing of the noisy coefficients.
"""

import dataclasses

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import require
from ..estimators.l1_ball import maximize_quadratics
from ..mechanisms import PostProcessed, VectorLaplace
from .coefficients import split
from .parameters import Remedy
from .remedies import maximize_indefinite, remedy_project, remedy_trim
from .sensitivity import num_coefficients

# The grid of reports is so fine that rounding is negligible compared to the noise.
_BLOCK_ROWS = 1 << 13


def maximize_noisy(
    coefficients: FloatArray, *, num_features: int, radius: float, remedy: Remedy, noise_scale: float
) -> FloatArray:
    """Maximize noisy quadratics over the ℓ₁ ball, after a remedy.

    Args:
        coefficients: float64, shape (m, D): the linear ones, then one for each unordered pair of features
            (`coefficients`).
        num_features: d.
        radius: the radius of the ball, > 0.
        remedy: "project" and "trim" make the quadratics concave; "nonconvex" searches for the best local maximum.
        noise_scale: the scale of the Laplace noise in each coefficient, by which "trim" regularizes.

    Returns:
        The maxima, float64, shape (m, d).

    Source:
        Algorithm 3, line 9; reading M3.
    """
    linear, quadratic = split(coefficients, num_features=num_features)
    if remedy == "nonconvex":
        return maximize_indefinite(linear, quadratic, radius=radius)
    if remedy == "project":
        linear, quadratic = remedy_project(linear, quadratic)
    else:
        linear, quadratic = remedy_trim(linear, quadratic, noise_scale=noise_scale)
    return maximize_quadratics(linear, quadratic, radius=radius).points


@dataclasses.dataclass(frozen=True)
class NoisyObjective(PostProcessed):
    """Add Laplace noise to a row of coefficients, and report the maximum of the noisy objective.

    Args:
        of_coefficients: the noise of the coefficients.
        num_features: d; rows have d + d(d + 1)/2 coefficients, and reports d numbers.
        step: the grid step of coefficients.
        radius: B > 0, the radius of the ball that is searched.
        report_step: the grid step of reports.

    Raises:
        ConfigurationError: a number is not positive.

    Privacy:
        That of the noise (post-processing).

    Source:
        Wang et al. (2019), Algorithm 3; readings M3, M4 and M6.
    """

    of_coefficients: VectorLaplace
    num_features: int
    step: float
    radius: float
    report_step: float
    remedy: Remedy

    def __post_init__(self) -> None:
        for field in ("num_features", "step", "radius", "report_step"):
            value = getattr(self, field)
            require(value > 0, field, value, "positive")

    @property
    def noise(self) -> VectorLaplace:
        return self.of_coefficients

    @property
    def report_range(self) -> tuple[int, int]:
        """The ball's radius on either side, in steps of the reports' grid."""
        greatest = int(self.radius / self.report_step)
        return -greatest, greatest

    @property
    def forgets_noise(self) -> bool:
        """Whether the remedy goes by nothing but the rows."""
        return self.remedy != "trim"

    def num_reports_of(self, num_values: int) -> int:
        """d, whatever the number of coefficients."""
        return self.num_features

    def finish_rows(self, noisy: IntArray) -> IntArray:
        """Maximize each objective; the place is rounded towards 0, so that it stays in the ball."""
        return self.places_of(noisy, noise_scale=self.noise.scale * self.step)

    def places_of(self, coefficients: IntArray, *, noise_scale: float) -> IntArray:
        """Return the objectives' maxima, in steps of the reports' grid.

        Args:
            coefficients: int64, shape (n, D), in steps of their grid.
            noise_scale: the scale of the noise in them, in units; 0 without noise.

        Returns:
            int64, shape (n, d).
        """
        if (num_given := coefficients.shape[1]) != (width := num_coefficients(self.num_features)):
            raise ValueError(f"{num_given} coefficients are given: give {width}")
        places = np.empty((len(coefficients), self.num_features), dtype=np.int64)
        for start in range(0, len(coefficients), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            points = maximize_noisy(
                coefficients[block].astype(np.float64) * self.step,
                num_features=self.num_features,
                radius=self.radius,
                remedy=self.remedy,
                noise_scale=noise_scale,
            )
            places[block] = np.trunc(points / self.report_step).astype(np.int64)
        low, high = self.report_range
        return np.clip(places, low, high)
