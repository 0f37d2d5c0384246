"""Line 4 of Algorithm 2: a uniform sample of each group's voters.

The sample does not depend on any ranking, so it reveals nothing about rankings.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from ..arrays import FloatArray, IntArray
from ..mechanisms import ExactMechanism, RandBelow
from ..mechanisms.logarithms import log_of
from ..mechanisms.mechanism import check_candidates
from ..privacy import NoRelease


@dataclasses.dataclass(frozen=True)
class Subsample(ExactMechanism):
    """Draw n_s indices from each group without replacement, in the order of the draws.

    Its row is a single 0; a report has n_s indices for each group, group by group.

    Args:
        group_sizes: n_k.
        num_samples: 1 ≤ n_s ≤ min n_k.
    """

    group_sizes: tuple[int, ...]
    num_samples: int

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, 0

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, max(self.group_sizes) - 1

    def slots_of(self, num_values: int) -> int:
        return self.num_samples * len(self.group_sizes)

    def num_reports_of(self, num_values: int) -> int:
        return self.slots_of(num_values)

    def event_of(self, num_values: int) -> NoRelease:
        """No ranking is looked at."""
        return NoRelease()

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        rows = [
            self.randomize_row(row, row_uniforms)
            for row, row_uniforms in zip(values.tolist(), uniforms.tolist(), strict=True)
        ]
        return np.array(rows, dtype=np.int64).reshape(len(values), self.slots_of(1))

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        remaining_uniforms = iter(uniforms)
        return self._draw(lambda number: min(int(next(remaining_uniforms) * number), number - 1))

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        return self._draw(randbelow)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        check_candidates(self, reports, values)
        log_chance = 0.0
        is_possible = np.ones(len(reports), dtype=np.bool_)
        for group, size in enumerate(self.group_sizes):
            log_chance -= float(np.sum(log_of(np.arange(size - self.num_samples + 1, size + 1, dtype=np.float64))))
            places = np.sort(reports[:, group * self.num_samples : (group + 1) * self.num_samples], axis=1)
            is_possible &= (places[:, -1] < size) & (np.diff(places, axis=1) > 0).all(axis=1)
        return np.repeat(np.where(is_possible, log_chance, -np.inf)[:, None], len(values), axis=1)

    def _draw(self, randbelow: Callable[[int], int]) -> list[int]:
        sample: list[int] = []
        for size in self.group_sizes:
            swaps: dict[int, int] = {}  # the first positions of a Fisher-Yates shuffle
            for place in range(self.num_samples):
                swap_place = place + randbelow(size - place)
                sample.append(swaps.get(swap_place, swap_place))
                swaps[swap_place] = swaps.get(place, place)
        return sample
