"""Profiles of many trials: redrawn for each trial, or one for all.

The counts of each group's voters with each alternative at each position determine the inputs of central mechanisms, and
the true values. Rankings are strict.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.fair_voting import Scoring


@dataclasses.dataclass(frozen=True, eq=False)
class Profiles:
    """The voters of some elections; voters of one group are consecutive.

    Examples:
        >>> profiles = fixed_profile(np.array([[0, 1, 2], [1, 0, 2]]), np.array([0, 1]), 2)
        >>> profiles.utilities.tolist()
        [[[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]]]
        >>> profiles.welfares.tolist(), profiles.disparities.tolist()
        ([[1.5, 1.5, 0.0]], [[1.0, 1.0, 0.0]])
    """

    group_sizes: tuple[int, ...]  # the groups' sizes n_k
    # Int8, shape (elections, voters, alternatives): each alternative's position; one election if all trials have the
    # same voters.
    positions: NDArray[np.int8]
    is_fixed: bool = False  # whether all trials have the same voters

    @property
    def num_alternatives(self) -> int:
        """The number of alternatives, m."""
        return self.positions.shape[2]

    @property
    def members(self) -> IntArray:
        """The index of each voter's group, int64, shape (voters,)."""
        return np.repeat(np.arange(len(self.group_sizes), dtype=np.int64), self.group_sizes)

    @functools.cached_property
    def counts(self) -> IntArray:
        """The number of a group's voters with each alternative at each position, int64, shape (elections, G, m, m)."""
        size, num_groups = self.num_alternatives, len(self.group_sizes)
        cells = (self.members[:, None] * size + np.arange(size)) * size
        kinds = num_groups * size * size
        rows = [np.bincount((cells + each).reshape(-1), minlength=kinds) for each in self.positions]
        return np.stack(rows).reshape(-1, num_groups, size, size).astype(np.int64)

    def sums(self, scoring: Scoring) -> IntArray:
        """Return the groups' sums of utilities in steps from the center: int64, shape (elections, G, m)."""
        return self.counts @ np.array(scoring.steps, dtype=np.int64)

    @functools.cached_property
    def _points(self) -> IntArray:
        """The sums of the paper's utilities, which are Borda scores."""
        return self.counts @ np.arange(self.num_alternatives - 1, -1, -1)

    @functools.cached_property
    def utilities(self) -> FloatArray:
        """The paper's W_k(a), float64, shape (elections, G, m)."""
        return self._points / np.array(self.group_sizes)[:, None]

    @property
    def disparities(self) -> FloatArray:
        """The disparities ΔW, float64, shape (elections, m)."""
        return self.utilities.max(axis=1) - self.utilities.min(axis=1)

    @property
    def welfares(self) -> FloatArray:
        """The welfares W, float64, shape (elections, m)."""
        return self._points.sum(axis=1) / sum(self.group_sizes)

    def __len__(self) -> int:
        return len(self.positions)


def fixed_profile(positions: IntArray, members: IntArray, num_groups: int) -> Profiles:
    """Return one fixed profile from positions, int64, shape (n, m), and each voter's group, `members`.

    Examples:
        >>> profiles = fixed_profile(np.array([[0, 1], [1, 0], [0, 1]]), np.array([1, 0, 0]), 2)
        >>> profiles.group_sizes, profiles.positions.tolist()
        ((2, 1), [[[1, 0], [0, 1], [0, 1]]])
    """
    order = np.argsort(members, kind="stable")
    sizes: list[int] = np.bincount(members, minlength=num_groups).tolist()
    return Profiles(tuple(sizes), positions[order][None].astype(np.int8), is_fixed=True)
