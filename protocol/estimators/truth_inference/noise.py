"""Laws of the perturbation of answers, as inputs of noise-aware estimators.

Source: Li et al. (2018), Definition 5.1 and section 5.2.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from ...arguments import exact_arguments, make_fields_exact
from ...arrays import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class KnownNoise:
    """The law of the flip probability of Definition 5.1, for each size of answer set.

    With one layer, or with two layers and an independent draw for each answer, the law of a report depends on the mean
    flip probability alone, which is then the only value. With two layers and one draw for each worker, the law of the
    draw is represented by equally likely values.

    Args:
        flips: for each size s, the equally likely flip probabilities of a worker, in ascending order, each in [0, 1].
            All sizes have the same number of values, and a worker has the value of the same index for all sizes.

    Raises:
        ValueError: there is no size, a size is below 2, the numbers of values differ, or a value is out of range.

    Examples:
        >>> KnownNoise.from_flip_probabilities({2: 0.25}).flips
        {2: (0.25,)}
        >>> KnownNoise.uniform({2: (0.0, 0.5)}, num_values=2).flips
        {2: (0.125, 0.375)}
    """

    flips: Mapping[int, tuple[float, ...]]

    def __post_init__(self) -> None:
        make_fields_exact(self)
        if not self.flips or min(self.flips) < 2:  # noqa: PLR2004  one label is no question
            raise ValueError(f"flips has the sizes {sorted(self.flips)}: give one or more, each at least 2")
        lengths = {len(values) for values in self.flips.values()}
        if len(lengths) > 1 or 0 in lengths:
            raise ValueError(f"sizes have {sorted(lengths)} flip probabilities: give each as many, at least one")
        for size, values in self.flips.items():
            if not all(0 <= value <= 1 for value in values) or list(values) != sorted(values):
                raise ValueError(
                    f"flip probabilities of size {size} are {values}: use values from 0 to 1 that never fall"
                )

    @property
    def level_noises(self) -> "Sequence[tuple[KnownNoise, IntArray | slice]]":
        """This law, and which workers have it: all."""
        return [(self, slice(None))]

    @property
    def num_values(self) -> int:
        """How many equally likely flip probabilities a worker may have."""
        return len(next(iter(self.flips.values())))

    @classmethod
    @exact_arguments
    def from_flip_probabilities(cls, flip_probabilities: Mapping[int, float]) -> "KnownNoise":
        """Return the noise of one layer, or of two layers with an independent draw for each answer.

        Args:
            flip_probabilities: for each size of answer set, p^f (one layer) or the mean of the hyper-distribution.
        """
        return cls({size: (value,) for size, value in flip_probabilities.items()})

    @classmethod
    @exact_arguments
    def uniform(cls, bounds: Mapping[int, tuple[float, float]], *, num_values: int = 15) -> "KnownNoise":
        """Return the noise of two layers in which each worker u draws p_u ~ U(a, b) once for all its answers.

        Args:
            bounds: (a, b) for each size of answer set.
            num_values: the number of equal subintervals of [a, b] whose midpoints are the equally likely values.
        """
        places = [(2 * index + 1) / (2 * num_values) for index in range(num_values)]
        return cls({size: tuple(low + (high - low) * at for at in places) for size, (low, high) in bounds.items()})

    @exact_arguments
    def means_of(self, sizes: IntArray) -> FloatArray:
        """Return the mean flip probability for each of `sizes`, shape (sizes,). See `values_of`."""
        return self.values_of(sizes).mean(axis=1)

    @exact_arguments
    def values_of(self, sizes: IntArray) -> FloatArray:
        """Return the equally likely flip probabilities for each of `sizes`, shape (sizes, values).

        Raises:
            ValueError: a size is unknown.
        """
        unknown = sorted(set(sizes.tolist()) - set(self.flips))
        if unknown:
            raise ValueError(f"no flip probability for answer sets of {unknown} labels, only of {sorted(self.flips)}")
        return np.array([self.flips[size] for size in sizes.tolist()]).reshape(len(sizes), self.num_values)


@dataclasses.dataclass(frozen=True, eq=False)
class OwnNoise:
    """The law of the flip probability of each worker, if workers choose different privacy levels ε.

    Args:
        levels: the law of each privacy level, for the same sizes of answer sets.
        level_of_worker: int64, shape (workers,): the index of each worker's level.

    Raises:
        ValueError: there is no level, or an index is out of range.

    Examples:
        >>> levels = tuple(KnownNoise.from_flip_probabilities({2: flip}) for flip in (0.4, 0.1))
        >>> noise = OwnNoise(levels, np.array([0, 1, 0]))
        >>> noise.means_of(np.array([2])).tolist()
        [[0.4], [0.1], [0.4]]
    """

    levels: tuple[KnownNoise, ...]
    level_of_worker: IntArray

    def __post_init__(self) -> None:
        make_fields_exact(self)
        levels_of_workers = self.level_of_worker
        if not self.levels or (
            levels_of_workers.size
            and not 0 <= int(levels_of_workers.min()) <= int(levels_of_workers.max()) < len(self.levels)
        ):
            raise ValueError(f"every worker needs one of the levels, of which there are {len(self.levels)}")

    @property
    def level_noises(self) -> Sequence[tuple[KnownNoise, IntArray | slice]]:
        """Each law, and the places of the workers who have it."""
        return [(law, np.flatnonzero(self.level_of_worker == level)) for level, law in enumerate(self.levels)]

    def means_of(self, sizes: IntArray) -> FloatArray:
        """Return each worker's mean flip probability for each of `sizes`, shape (workers, sizes). See `KnownNoise`."""
        return np.stack([law.means_of(sizes) for law in self.levels])[self.level_of_worker]
