"""k-RR and local hashing of many values with estimates, beside libraries in which every user is a call of a client."""

import math
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators import estimate_counts
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, LocalHashing
from psephos.protocol.randomness import SimulatedNoise, philox_rows
from rivals import Rival, RivalError, open_rival
from table import Row, at_least, skipped
from trials import interleave, timed

__all__ = ["measure"]

_LEAST: Final = 8
_LEAST_ONE_BY_ONE: Final = 0.5
_TRIALS: Final = 5
_EPSILON: Final = 1.0
_SHARES: Final = (0.5, 0.3, 0.2)
_SEED: Final = 1
_BATCH_ROWS: Final = 1 << 15  # as the array path has it
# One at a time takes long; so many tell the rate.
_MOST_ONE_BY_ONE: Final = 100_000
_LIBRARIES: Final = ("multi-freq-ldpy", "pure-ldp")
_WITH_COMPILED_LOOP: Final = "multi-freq-ldpy"
_WITH_HASHING: Final = "pure-ldp"
_HASHED_CHOICES: Final = 100
# Of many thousand honest estimates, none is farther off.
_MOST_STANDARD_ERRORS: Final = 5


class _Answer(msgspec.Struct, frozen=True):
    """What a rival says of a trial."""

    seconds: float
    counts: list[float]


class _Population:
    """Values, their randomizer, and what estimates of them should be.

    Args:
        num_values: how many.
    """

    def __init__(self, num_values: int) -> None:
        self.mechanism = GeneralizedRandomizedResponse(_EPSILON, len(_SHARES))
        self.values = np.random.default_rng(_SEED).choice(len(_SHARES), num_values, p=_SHARES)

    def check(self, counts: Sequence[float], *, num_values: int) -> None:
        """Make sure that these are estimates of how often each choice is among the first values.

        Raises:
            ValueError: they are too far off.
        """
        truth = np.bincount(self.values[:num_values], minlength=len(counts))
        for count, true, error in zip(counts, truth.tolist(), self.errors(truth), strict=True):
            if not abs(count - true) <= _MOST_STANDARD_ERRORS * error:
                raise ValueError(f"estimated {count:.0f} of {num_values} where it is {true}, give or take {error:.0f}")

    def errors(self, truth: IntArray) -> list[float]:
        """Return the standard errors of estimates of these numbers."""
        expected = np.rint(truth @ np.array(self.mechanism.channel_matrix())).astype(np.int64)
        return [estimate.standard_error for estimate in estimate_counts(self.mechanism, expected.tolist())]

    def run_as_arrays(self) -> list[float]:
        """Randomize and count batch by batch, then estimate."""
        num_choices = self.mechanism.num_choices
        counts = np.zeros(num_choices, dtype=np.int64)
        for start in range(0, len(self.values), _BATCH_ROWS):
            values = self.values[start : start + _BATCH_ROWS]
            uniforms = philox_rows(_SEED, start=start, stop=start + len(values), slots=self.mechanism.slots)
            counts += np.bincount(self.mechanism.randomize(values, uniforms), minlength=num_choices)
        return [estimate.value for estimate in estimate_counts(self.mechanism, counts.tolist())]

    def run_one_by_one(self, values: Sequence[int]) -> list[float]:
        """Randomize each value as its agent does."""
        noise = SimulatedNoise(_SEED, session="benchmark")
        counts = [0] * self.mechanism.num_choices
        for place, value in enumerate(values):
            (report,) = noise.randomize(self.mechanism, [value], protocol="benchmark", phase="values", place=place)
            counts[report] += 1
        return [estimate.value for estimate in estimate_counts(self.mechanism, counts)]


class _Hashed(_Population):
    """Values that local hashing reports."""

    def __init__(self, num_values: int) -> None:
        super().__init__(0)
        self.oracle = LocalHashing(_EPSILON, _HASHED_CHOICES)
        self.values = np.random.default_rng(_SEED).integers(0, _HASHED_CHOICES, num_values)

    def errors(self, truth: IntArray) -> list[float]:
        """Return the standard errors of estimates of these numbers."""
        own, other = (float(self.oracle.variance_of(0, holder)) for holder in (0, 1))
        total = int(truth.sum())
        return [math.sqrt(number * own + (total - number) * other) for number in truth.tolist()]

    def run_as_arrays(self) -> list[float]:
        """Randomize and estimate."""
        reports = self.oracle.perturb(self.values, seed=_SEED)
        return [estimate.value for estimate in self.oracle.estimate(reports)]


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield values a second, as arrays and one at a time, beside each library."""
    yield from _k_rr(quick=quick)
    yield from _local_hashing(quick=quick)


def _local_hashing(*, quick: bool) -> Iterator[Row]:
    hashed = _Hashed(2_000 if quick else 10_000)
    what = f"local hashing of {len(hashed.values):,} values of {_HASHED_CHOICES} with estimates, beside {_WITH_HASHING}"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "values.npy"
        np.save(file, hashed.values)
        try:
            with open_rival("rival_clients.py", _WITH_HASHING, str(file), str(_HASHED_CHOICES), str(_EPSILON)) as rival:
                contestants: dict[str, Callable[[], float]] = {
                    "hashing": lambda: _ask(rival, "hashing", hashed),
                    "arrays": lambda: _run(hashed, hashed.run_as_arrays, num_values=len(hashed.values)),
                }
                times = interleave(contestants, trials=_TRIALS)
        except RivalError as error:
            yield skipped(what, str(error))
            return
    ours, theirs = (f"{len(hashed.values) / times.median(name):,.0f} values/s" for name in ("arrays", "hashing"))
    yield Row(what, ours, theirs, f"{times.ratio('hashing', to='arrays'):.2f}")


def _k_rr(*, quick: bool) -> Iterator[Row]:
    num_values = 100_000 if quick else 1_000_000
    population = _Population(num_values)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "values.npy"
        np.save(file, population.values)
        for library in _LIBRARIES:
            try:
                with open_rival("rival_clients.py", library, str(file), str(len(_SHARES)), str(_EPSILON)) as rival:
                    rows = list(_compare(population, library, rival))
            except RivalError as error:
                yield skipped(f"k-RR of {num_values:,} values with estimates, beside {library}", str(error))
            else:
                yield from rows


def _compare(population: _Population, library: str, rival: Rival) -> Iterator[Row]:
    num_values = len(population.values)
    few: list[int] = population.values[:_MOST_ONE_BY_ONE].tolist()
    contestants: dict[str, Callable[[], float]] = {
        "clients": lambda: _ask(rival, "clients", population),
        "arrays": lambda: _run(population, population.run_as_arrays, num_values=num_values),
        "one by one": lambda: _run(population, lambda: population.run_one_by_one(few), num_values=len(few)),
    }
    if library == _WITH_COMPILED_LOOP:
        contestants["compiled"] = lambda: _ask(rival, "compiled", population)
    times = interleave(contestants, trials=_TRIALS)

    def row(what: str, ours: str, theirs: str, *, num_ours: int, least: float | None = None) -> Row:
        ratio = times.ratio(theirs, to=ours) * num_ours / num_values
        return Row(
            what,
            f"{num_ours / times.median(ours):,.0f} values/s",
            f"{num_values / times.median(theirs):,.0f} values/s",
            f"{ratio:.2f}",
            at_least(ratio, least),
        )

    what = f"k-RR of {num_values:,} values with estimates"
    yield row(f"{what}, beside {library}'s clients", "arrays", "clients", num_ours=num_values, least=_LEAST)
    if "compiled" in contestants:
        yield row(
            f"{what}, beside {library}'s client in a loop that we compile", "arrays", "compiled", num_ours=num_values
        )
    yield row(
        f"k-RR one value at a time, with estimates, beside {library}'s clients",
        "one by one",
        "clients",
        num_ours=len(few),
        least=_LEAST_ONE_BY_ONE,
    )


def _run(population: _Population, run: Callable[[], list[float]], *, num_values: int) -> float:
    counts: list[float] = []
    seconds = timed(lambda: counts.extend(run()))
    population.check(counts, num_values=num_values)
    return seconds


def _ask(rival: Rival, contestant: str, population: _Population) -> float:
    rival.tell(contestant.encode())
    answer = msgspec.json.decode(rival.answer(), type=_Answer)
    try:
        population.check(answer.counts, num_values=len(population.values))
    except ValueError as error:
        raise RivalError(str(error)) from error
    return answer.seconds
