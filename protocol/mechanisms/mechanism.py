"""The interface of local randomizers: functions from integers and uniforms to integers.

Most randomize each value independently (`Mechanism`). Those whose values share randomness randomize whole rows
(`RowMechanism`).

Mechanisms never draw. Uniforms come in as an argument, so the same function serves one simulated agent, an array over a
million voters, and a replay. A deployment samples the same law with exact samplers instead (`psephos.agents.noise`).

Values and reports are integers: indices of a public set, or multiples of a public power-of-two grid. So tallies add up
exactly, and low bits leak nothing.

A mechanism also implements its law, ln P[report | values], which is all that Bayes's rule needs.
"""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import exact_arguments, unconverted
from ..arrays import FloatArray, IntArray, exact_column_sums
from ..errors import ConfigurationError
from ..estimate import Estimate, Estimates
from ..privacy.events import NoRelease, PrivacyEvent, SelfComposed
from ..shown import Tabled
from .logarithms import log_of

# Methods whose arguments are converted in every subclass.
_TAKING_NUMBERS: Final = frozenset(
    {
        "event_of",
        "log_likelihoods",
        "log_probabilities",
        "num_reports_of",
        "randomize",
        "randomize_one",
        "randomize_row",
        "randomize_rows",
        "slots_of",
    }
)
# The methods that a session calls for each report, and their names without conversion of arguments.
_INNER: Final = {"randomize_one": "draw_one", "randomize_row": "draw_row"}
# The attributes that determine how a value is drawn.
_DRAWING: Final = frozenset({"randomize", "randomize_one", "randomize_row", "slots", "slots_of", "value_range"})


class OnArrays(NamedTuple):
    """Functions that apply mechanisms to arrays. They need noise and estimators, which import mechanisms.

    Examples:
        >>> import numpy as np
        >>> from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
        >>> response = GeneralizedRandomizedResponse(4.0, 2)
        >>> reports = RowMechanism.on_arrays.perturb(response, np.array([0, 0, 1]), seed=1)
        >>> reports.shape
        (3,)
    """

    perturb: Callable[..., IntArray]
    """See `RowMechanism.perturb`."""
    estimate: Callable[..., Estimates]
    """See `RowMechanism.estimate`."""
    counts: Callable[..., tuple[Estimate, ...]]
    """Estimates the number of persons with each value, for a mechanism with an inverse and reports in range."""


class RowMechanism(abc.ABC):
    """A local randomizer of a row of integers, whose values may share randomness.

    Subclasses are frozen dataclasses: equal mechanisms have the same law, and ConfigurationError is raised for
    parameters out of range. Their methods accept numbers of any width, in arrays or lists
    (`psephos.protocol.arguments`). The stated privacy requires secret randomness; simulated noise with a known seed has
    none.

    Rows of w values are int64 of shape (n, w), in `value_range`. Their uniforms are float64 in [0, 1), of shape (n,
    slots_of(w)). Their reports are int64 of shape (n, num_reports_of(w)), in `report_range`. ValueError is raised for
    other numbers and shapes.

    Examples:
        >>> from psephos.protocol.mechanisms import SampledPosition
        >>> mechanism = SampledPosition(epsilon=1.0, num_alternatives=3)
        >>> mechanism.event_of(3).epsilon
        1.0
        >>> mechanism.randomize_row([2, 0, 1], [0.0, 0.0])
        [2]
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _TAKING_NUMBERS & vars(cls).keys():
            setattr(cls, name, exact_arguments(vars(cls)[name]))
        for name, inner in _INNER.items():
            method = getattr(cls, name, None)
            if method is not None and not getattr(method, "__isabstractmethod__", False):
                setattr(cls, inner, unconverted(method))

    on_arrays: ClassVar[OnArrays]
    """The functions on arrays; set by `psephos.protocol.on_arrays`."""
    entry_of_rankings: ClassVar[str] = ""
    """The name of one entry of a row, if rows are rankings; else empty."""
    ignores_order: ClassVar[bool] = False
    """Whether permuting the columns of a row only permutes the numbers of its reports."""

    @property
    @abc.abstractmethod
    def report_range(self) -> tuple[int, int]:
        """The least and the greatest report, both included."""

    @property
    @abc.abstractmethod
    def value_range(self) -> tuple[int, int]:
        """The least and the greatest private value, both included."""

    @abc.abstractmethod
    def slots_of(self, num_values: int) -> int:
        """Return how many uniforms a row of so many values takes, at least 1."""

    @exact_arguments
    def num_reports_of(self, num_values: int) -> int:
        """Return how many numbers the report of a row of so many values has: as many, unless overridden."""
        return num_values

    @abc.abstractmethod
    def event_of(self, num_values: int) -> PrivacyEvent:
        """Return the event of one application to a row of this many values, at most, for an accountant."""

    def event_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """Return the event of one application to a row if the possible values of each column are public.

        By default it is the event of any row of this many values.
        """
        return self.event_of(len(values))

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """Return the event of one value of such a row if all other values are known.

        By default it is the event of the whole row, since values may share randomness.
        """
        return self.event_among(values)

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Return for which pairs of c and d rows `event_of` bounds the loss, shape (c, d); by default for all.

        Override this if the loss grows with the distance of two rows, or if a report reveals a part of a row. The
        caller must check that any two rows of one person are neighbors, or state a greater loss.
        """
        return np.ones((len(values), len(other_values)), dtype=np.bool_)

    @abc.abstractmethod
    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Return a report of each row, randomized on its own."""

    @exact_arguments
    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        """Return `randomize_rows` of one row, bit for bit; overridden where that is faster without arrays."""
        rows = self.randomize_rows(np.array([values], dtype=np.int64), np.array([uniforms], dtype=np.float64))
        return rows[0].tolist()

    def draw_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        """Return `randomize_row` of Python's own numbers: that method itself, without another look at its arguments."""
        return self.randomize_row(values, uniforms)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return ln P[report | values] of n reports for each of c candidate rows of values.

        The law is that of a deployment's exact samplers. A simulation follows it up to the resolution of its uniforms,
        which have 53 bits and never yield a report rarer than 2**-53.

        Returns:
            float64, shape (n, c), in nats; −∞ for an impossible report. The difference between two candidates is the
            loss that the report realizes; every proven ε for the two is at least as large.

        Raises:
            NotImplementedError: the mechanism does not implement its law.
        """
        raise NotImplementedError(f"the law of {type(self).__name__} is not written down")

    def perturb(self, values: ArrayLike, *, seed: int) -> IntArray:
        """Return a report with simulated noise for each value, or for each row of values.

        This is for experiments: anybody who knows the seed can remove the noise. A deployment uses secure noise
        (`psephos.agents.noise`). See `psephos.protocol.on_arrays.perturb`.
        """
        return self.on_arrays.perturb(self, values, seed=seed)

    def estimate(self, reports: ArrayLike) -> Estimates:
        """Return unbiased estimates of the values, with errors: see `psephos.protocol.on_arrays.estimate`."""
        return self.on_arrays.estimate(self, reports)

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        """Return `estimate` of reports that are in range, shape (n, w).

        Raises:
            ConfigurationError: the mechanism has no estimator for these reports.
        """
        allowed = "one of k-RR, a frequency oracle, an invertible channel, Laplace noise, a ranking or noisy scores"
        raise ConfigurationError(field="mechanism", value=type(self).__name__, allowed=allowed)


class PostProcessed(RowMechanism):
    """A mechanism whose reports are computed from those of another mechanism, without access to the values.

    It has the privacy of the other mechanism (post-processing), and uses its sampler.

    Examples:
        >>> from psephos.protocol.mechanisms import VectorLaplace
        >>> from psephos.protocol.moral_preferences.functional import NoisyObjective
        >>> noisy = NoisyObjective(VectorLaplace(2.0, 4, 2), 1, 0.5, 1.0, 0.01, "project")
        >>> isinstance(noisy, PostProcessed), noisy.event_of(2) == noisy.noise.event_of(2)
        (True, True)
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def noise(self) -> RowMechanism:
        """The other mechanism, which alone sees the values."""

    @abc.abstractmethod
    def finish_rows(self, noisy: IntArray) -> IntArray:
        """Return the reports of the other mechanism's, each row on its own."""

    @property
    def forgets_noise(self) -> bool:
        """Whether post-processing does not depend on the noise, so that a phase's mechanisms can be finished together.

        Only mechanisms of a phase that differ in nothing but ε may set this.
        """
        return False

    @property
    def value_range(self) -> tuple[int, int]:
        return self.noise.value_range

    def slots_of(self, num_values: int) -> int:
        return self.noise.slots_of(num_values)

    def event_of(self, num_values: int) -> PrivacyEvent:
        return self.noise.event_of(num_values)

    def event_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        return self.noise.event_among(values)

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        return self.noise.event_of_one_among(values)

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        return self.noise.are_neighbors(values, other_values)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return self.finish_rows(self.noise.randomize_rows(values, uniforms))

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        return self.finish_row(self.noise.randomize_row(values, uniforms))

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Raise NotImplementedError, unless overridden, since many noisy rows may yield the same report.

        For the law of the noisy rows themselves, use `noise`. See `RowMechanism.log_likelihoods`.
        """
        raise NotImplementedError(f"the law of {type(self).__name__} is not written down; that of its noise may be")

    def finish_row(self, noisy: Sequence[int]) -> list[int]:
        """Return `finish_rows` of one row."""
        return self.finish_rows(np.array([noisy], dtype=np.int64))[0].tolist()


class Prepared(RowMechanism):
    """A mechanism that applies another mechanism to a deterministic function of the row.

    It has for the row the privacy that the other mechanism has for the function's value, and uses its sampler.

    Examples:
        >>> from psephos.protocol.mechanisms import WholeRanking
        >>> WholeRanking(epsilon=2.0, num_alternatives=3).prepare_row([2, 0, 1])  # the ranking's code
        [4]
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def noise(self) -> RowMechanism:
        """The other mechanism."""

    @abc.abstractmethod
    def num_prepared_of(self, num_values: int) -> int:
        """Return how many values the other mechanism sees of a row of so many."""

    @abc.abstractmethod
    def prepare_rows(self, values: IntArray) -> IntArray:
        """Return the rows that the other mechanism gets: int64, shape (n, num_prepared_of(w))."""

    def prepare_row(self, values: Sequence[int]) -> list[int]:
        """Return `prepare_rows` of one row."""
        return self.prepare_rows(np.array([values], dtype=np.int64))[0].tolist()

    @property
    def report_range(self) -> tuple[int, int]:
        return self.noise.report_range

    def slots_of(self, num_values: int) -> int:
        return self.noise.slots_of(self.num_prepared_of(num_values))

    def num_reports_of(self, num_values: int) -> int:
        return self.noise.num_reports_of(self.num_prepared_of(num_values))

    def event_of(self, num_values: int) -> PrivacyEvent:
        return self.noise.event_of(self.num_prepared_of(num_values))

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        return self.noise.are_neighbors(self.prepare_rows(values), self.prepare_rows(other_values))

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return self.noise.randomize_rows(self.prepare_rows(values), uniforms)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        return self.noise.randomize_row(self.prepare_row(values), uniforms)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        check_candidates(self, reports, values)
        return self.noise.log_likelihoods(reports, self.prepare_rows(values))


class Mechanism(RowMechanism):
    """A local randomizer of single integers: the values of a row are randomized independently.

    Examples:
        >>> from psephos.protocol.mechanisms import DiscreteLaplace
        >>> mechanism = DiscreteLaplace(scale=0.1, least=0, greatest=9)
        >>> mechanism.randomize_one(4, (0.5,))
        4
    """

    __slots__ = ()

    ignores_order: ClassVar[bool] = True
    is_drawn_ahead: ClassVar[bool] = False
    """Whether simulated noise may call `randomize` for all possible values, and for parties in advance.

    Otherwise each party's report is drawn singly, from its value. The flag covers only methods that the same class
    defines: a subclass that overrides one of them must set the flag again.
    """
    slots: int = 1
    """The number of uniforms that one value takes."""

    @property
    @abc.abstractmethod
    def event(self) -> PrivacyEvent:
        """The event of one application to one value, for an accountant."""

    @abc.abstractmethod
    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Return a report of each value, shape (n,), randomized on its own by its uniforms, shape (n, slots)."""

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Return `randomize` of one value, bit for bit; overridden where that is faster without arrays."""
        values, rows = np.array([value], dtype=np.int64), np.array([uniforms], dtype=np.float64)
        return int(self.randomize(values, rows)[0])

    def draw_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Return `randomize_one` of Python numbers, without conversion. See `RowMechanism.draw_row`."""
        return self.randomize_one(value, uniforms)

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return ln P[report | value] of single values; `log_likelihoods` of rows are their sums.

        Returns:
            float64, shape (n, c), for n reports and c candidates, in nats; −∞ for an impossible report.

        Raises:
            NotImplementedError: the mechanism does not implement its law.
        """
        raise NotImplementedError(f"the law of {type(self).__name__} is not written down")

    @property
    def draws_singly(self) -> bool:
        """Whether a row is drawn value by value, and reports may be drawn ahead: see `is_drawn_ahead`."""
        drawing = next(vars(kind) for kind in type(self).__mro__ if not _DRAWING.isdisjoint(vars(kind)))
        return bool(drawing.get("is_drawn_ahead")) and type(self).draw_row is Mechanism.draw_row

    def slots_of(self, num_values: int) -> int:
        """Return the number of slots of a row: those of its values, one after another."""
        return self.slots * num_values

    def event_of(self, num_values: int) -> PrivacyEvent:
        """One value's event, as often as there are values."""
        return SelfComposed(self.event, num_values)

    def event_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """Return the event of the columns with more than one possible value. See `RowMechanism.event_among`."""
        return self.event_of(sum(len(column) > 1 for column in values))

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> PrivacyEvent:
        """Return the event of one value, if a column has several. See `RowMechanism.event_of_one_among`."""
        return self.event_of(1) if any(len(column) > 1 for column in values) else NoRelease()

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return self.randomize(values.reshape(-1), uniforms.reshape(-1, self.slots)).reshape(values.shape)

    def randomize_row(self, values: Sequence[int], uniforms: Sequence[float]) -> list[int]:
        slots = self.slots
        if slots == 1:
            return [self.draw_one(value, (uniform,)) for value, uniform in zip(values, uniforms, strict=True)]
        starts = range(0, len(uniforms), slots)
        return [self.draw_one(value, uniforms[at : at + slots]) for value, at in zip(values, starts, strict=True)]

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Add up `log_probabilities`, column by column."""
        check_candidates(self, reports, values)
        # With few candidates and many reports, arrays in the order of candidates are several times as fast.
        total = np.zeros((len(values), len(reports))).T
        for of_reports, of_values in zip(np.ascontiguousarray(reports.T), values.T, strict=True):
            total += self.log_probabilities(of_reports, of_values)
        return total


class FiniteMechanism(Tabled, Mechanism):
    """A mechanism with finitely many values and reports, whose law is a matrix; a notebook shows it as a table.

    Examples:
        >>> from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
        >>> matrix = GeneralizedRandomizedResponse(math.log(3), 2).channel_matrix()
        >>> [[round(chance, 4) for chance in row] for row in matrix]
        [[0.75, 0.25], [0.25, 0.75]]
    """

    __slots__ = ()

    @abc.abstractmethod
    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return P[report | value] as rows, one for each value in order, one column for each report in order."""

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        log_channel = log_of(np.array(self.channel_matrix(), dtype=np.float64))
        return log_channel[values - self.value_range[0]][:, reports - self.report_range[0]].T


def sums_of(reports: IntArray, noise_variance: float) -> Estimates:
    """Return the sum of the values in each column, from reports with unbiased noise of this variance."""
    error = math.sqrt(noise_variance * len(reports))
    sums: list[int] = exact_column_sums(reports).tolist()
    return Estimates((Estimate(float(total), error) for total in sums), of="column")


def check_batch(mechanism: Mechanism, values: IntArray, uniforms: FloatArray) -> None:
    """Raise ValueError unless `values` and `uniforms` fit `mechanism` and each other."""
    if values.ndim != 1 or uniforms.shape != (values.shape[0], mechanism.slots):
        allowed_shapes = f"values of shape (n,) and uniforms of shape (n, {mechanism.slots})"
        raise ValueError(f"shapes are {values.shape} and {uniforms.shape}: give {allowed_shapes}")
    check_numbers("values", values, mechanism.value_range)


def check_candidates(mechanism: RowMechanism, reports: IntArray, values: IntArray) -> None:
    """Raise ValueError unless `reports` and rows of candidate values fit `mechanism` and each other."""
    if values.ndim != 2 or reports.ndim != 2 or reports.shape[1] != mechanism.num_reports_of(values.shape[1]):  # noqa: PLR2004  tables
        allowed_shapes = "reports of shape (n, num_reports_of(w)) and candidates of shape (c, w)"
        raise ValueError(f"shapes are {reports.shape} and {values.shape}: give {allowed_shapes}")
    check_numbers("reports", reports, mechanism.report_range)
    check_numbers("candidates", values, mechanism.value_range)


def check_numbers(name: str, numbers: IntArray, limits: tuple[int, int]) -> None:
    """Raise ValueError unless all numbers are within limits."""
    low, high = limits
    if numbers.size and not (low <= int(numbers.min()) and int(numbers.max()) <= high):
        raise ValueError(f"{name} are {int(numbers.min())} to {int(numbers.max())}: use values from {low} to {high}")
