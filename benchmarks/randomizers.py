"""k-RR and local hashing of many values with estimates, beside libraries in which every user is a call of a client.

All estimates have to be within five standard errors of the truth, whoever made them: of many thousand honest ones none
is farther off.
"""

import contextlib
import math
import pathlib
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import partial

import numpy as np
from harness import RivalError, Rows, open_rival, or_skipped, timed, turns
from psephos.protocol import SimulatedNoise
from psephos.protocol.arrays import IntArray
from psephos.protocol.estimators import estimate_counts
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, LocalHashing
from psephos.protocol.randomness import philox_rows

_TURNS = 5
_EPSILON = 1.0
_SHARES = (0.5, 0.3, 0.2)
_K_RR = GeneralizedRandomizedResponse(_EPSILON, len(_SHARES))
_HASHING = LocalHashing(_EPSILON, 100)
_SEED = 1
_BATCH_ROWS = 1 << 15  # as the array path has it
_RATE = "{:,.0f} values/s"
_Ask = Callable[[str], Callable[[], float]]


def randomizers(*, quick: bool) -> Rows:
    """Yield values a second, as arrays and one at a time, beside each library."""
    generator = np.random.default_rng(_SEED)
    values = generator.choice(len(_SHARES), 100_000 if quick else 1_000_000, p=_SHARES)
    for library in ("multi-freq-ldpy", "pure-ldp"):
        yield from or_skipped(f"k-RR of {len(values):,} values, beside {library}", _k_rr(values, library))
    values = np.random.default_rng(_SEED).integers(0, _HASHING.num_choices, 2_000 if quick else 10_000)
    what = f"local hashing of {len(values):,} values of {_HASHING.num_choices} with estimates, beside pure-ldp"
    yield from or_skipped(what, _local_hashing(values, what))


def _k_rr(values: IntArray, library: str) -> Rows:
    few = values[:100_000]  # one at a time takes long; so many tell the rate
    arrays = partial(_run, values, _errors_of_k_rr(values), partial(_as_arrays, values))
    one_by_one = partial(_run, few, _errors_of_k_rr(few), partial(_one_by_one, few.tolist()))
    names = ["clients", "compiled"] if library == "multi-freq-ldpy" else ["clients"]
    with _asking(library, values, _errors_of_k_rr(values)) as ask:
        times = turns(_TURNS, arrays=arrays, one=one_by_one, **{name: ask(name) for name in names})
    what, number = f"k-RR of {len(values):,} values with estimates, beside {library}'s client", len(values)
    yield times.row(f"{what}s", "arrays", "clients", number=number, show=_RATE, target="≥ 8")
    for name in names[1:]:
        yield times.row(f"{what} in a loop that we compile", "arrays", name, number=number, show=_RATE)
    what = f"k-RR one value at a time, with estimates, beside {library}'s clients"
    yield times.row(what, "one", "clients", number=len(few), of_raw=number, show=_RATE, target="≥ 0.5")


def _local_hashing(values: IntArray, what: str) -> Rows:
    truth = np.bincount(values, minlength=_HASHING.num_choices)
    own, other = (float(_HASHING.variance_of(0, holder)) for holder in (0, 1))
    errors = [math.sqrt(number * own + (len(values) - number) * other) for number in truth.tolist()]

    def estimate() -> list[float]:
        return [own.value for own in _HASHING.estimate(_HASHING.perturb(values, seed=_SEED))]

    with _asking("pure-ldp", values, errors) as ask:
        times = turns(_TURNS, ours=lambda: _run(values, errors, estimate), raw=ask("hashing"))
    yield times.row(what, number=len(values), show=_RATE)


def _as_arrays(values: IntArray) -> list[float]:
    """Randomize and count batch by batch, then estimate."""
    counts = np.zeros(len(_SHARES), dtype=np.int64)
    for start in range(0, len(values), _BATCH_ROWS):
        batch = values[start : start + _BATCH_ROWS]
        uniforms = philox_rows(_SEED, start=start, stop=start + len(batch), slots=_K_RR.slots)
        counts += np.bincount(_K_RR.randomize(batch, uniforms), minlength=len(_SHARES))
    return [estimate.value for estimate in estimate_counts(_K_RR, counts.tolist())]


def _one_by_one(values: Sequence[int]) -> list[float]:
    """Randomize each value as its agent does."""
    noise, counts = SimulatedNoise(_SEED, session="benchmark"), [0] * len(_SHARES)
    for place, value in enumerate(values):
        (report,) = noise.randomize(_K_RR, [value], protocol="benchmark", phase="values", place=place)
        counts[report] += 1
    return [estimate.value for estimate in estimate_counts(_K_RR, counts)]


def _errors_of_k_rr(values: IntArray) -> list[float]:
    expected = np.rint(np.bincount(values) @ np.array(_K_RR.channel_matrix())).astype(np.int64)
    return [estimate.standard_error for estimate in estimate_counts(_K_RR, expected.tolist())]


def _check(values: IntArray, errors: Sequence[float], counts: Sequence[float]) -> None:
    """Make sure that these are estimates of how often each choice is among the values.

    Raises:
        RivalError: they are too far off.
    """
    truth = np.bincount(values, minlength=len(errors)).tolist()
    for count, true, error in zip(counts, truth, errors, strict=True):
        if not abs(count - true) <= 5 * error:
            raise RivalError(f"estimated {count:.0f} of {len(values)} where it is {true}, give or take {error:.0f}")


def _run(values: IntArray, errors: Sequence[float], estimate: Callable[[], Sequence[float]]) -> float:
    counts: list[float] = []
    seconds = timed(lambda: counts.extend(estimate()))
    _check(values, errors, counts)
    return seconds


@contextlib.contextmanager
def _asking(library: str, values: IntArray, errors: Sequence[float]) -> Generator[_Ask]:
    """Yield what asks a rival by the name of what it shall do."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(file := pathlib.Path(folder) / "values.npy", values)
        with open_rival(library.replace("-", "_"), file, len(errors), _EPSILON) as rival:

            def ask(name: str) -> float:
                answer = rival.ask(name)
                _check(values, errors, answer["counts"])
                return answer["seconds"]

            yield lambda name: partial(ask, name)
