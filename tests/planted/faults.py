"""Planted faults: ways to lose more privacy than is claimed, each beside its repair, for the audit to tell.

A self-test of audits. Each fault is a mistake that has been made, planted into mechanisms and sessions that are
otherwise ours; what the mechanism claims stays as it was. The audit must refute each one, and none of the repaired.
It is told nothing of how to tell them: neither laws nor scores, but for samplers that do not have the law that they say
(`sampler_faults` has more of those).

Source: Mironov (2012) for low bits; reading M4 for clipping by the data; the truth discovery paper, Section 5.2, and
reading T3 for a worker's flip probability.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from planted import dpwevote, fair_voting, moral_preferences, truth_discovery
from planted.fault import GROUP, Fault, fault_of
from planted.sampler_faults import sampler_faults
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import (
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    OneLayer,
    Prepared,
    RowMechanism,
    TwoLayer,
    Uniform,
    VectorLaplace,
    loss_of_one_answer,
)
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.audit.case import OutputSampler, Pair
from scipy.special import xlogy

_EPSILON: Final = 1.0
_STEPS: Final = 128
_WIDTH: Final = 3

_Outputs: TypeAlias = Callable[[SimulatedNoise, int], IntArray]
"""What so many sessions show, with noise of their own, shape (number, width)."""


def planted_faults() -> list[Fault]:
    """Return all of them."""
    return [
        *_wrong_scales(),
        _per_answer(),
        _reused_randomness(),
        _drawn_again(),
        _clipped_by_data(),
        _low_bits(),
        _biased_response(),
        _kept_flip_probability(),
        *sampler_faults(),
        *dpwevote.planted_faults(),
        *truth_discovery.planted_faults(),
        *moral_preferences.planted_faults(),
        *fair_voting.planted_faults(),
    ]


def _wrong_scales() -> Iterator[Fault]:
    zero, apart = [0] * _WIDTH, [_STEPS] * _WIDTH
    sensitivity = _STEPS * _WIDTH

    def noise(wrong: float, *, is_faulty: bool) -> Pair:
        mechanism = VectorLaplace(scale=wrong if is_faulty else right, sensitivity=sensitivity, bound=_STEPS)
        return _pair(_reports(mechanism, zero), _reports(mechanism, apart))

    right = sensitivity / _EPSILON
    for name, what, wrong in (
        ("noise halved", "The scale is half of sensitivity/ε.", right / 2),
        ("sensitivity forgotten", "The scale is that of one coordinate, and three may change.", _STEPS / _EPSILON),
    ):
        yield _fault(name, "noise by the sensitivity", "row", what, functools.partial(noise, wrong))


def _per_answer() -> Fault:
    def answers(*, is_faulty: bool) -> Pair:
        mechanism = OneLayer.from_epsilon((2,), _EPSILON if is_faulty else _EPSILON / _WIDTH)
        return _pair(_reports(mechanism, [0] * _WIDTH), _reports(mechanism, [1] * _WIDTH))

    what = "Each of three answers costs what all were to cost."
    return _fault("ε per answer", "ε for all answers", "all answers", what, answers)


def _responses(values: Sequence[int], phases: Sequence[str]) -> _Outputs:
    """Return what binary k-RR makes of values, each by the uniforms of a phase."""
    response = GeneralizedRandomizedResponse(_EPSILON, 2)

    def outputs(noise: SimulatedNoise, number: int) -> IntArray:
        columns = [
            response.randomize(np.full(number, value), _uniforms(noise, number, response.slots, phase))
            for value, phase in zip(values, phases, strict=True)
        ]
        return np.column_stack(columns)

    return outputs


def _reused_randomness() -> Fault:
    def pair(*, is_faulty: bool) -> Pair:
        phases = ["weights", "weights" if is_faulty else "opinions"]
        return _pair(_responses([0, 0], phases), _responses([0, 1], phases))

    what = "Two phases randomize by the same uniforms: their reports agree exactly if the values do."
    return _fault("randomness reused", "randomness of its own", "the second phase's value", what, pair)


def _drawn_again() -> Fault:
    def pair(*, is_faulty: bool) -> Pair:
        phases = [f"sent {sent if is_faulty else 0}" for sent in range(_WIDTH)]
        return _pair(_responses([0] * _WIDTH, phases), _responses([1] * _WIDTH, phases))

    what = "Each time that a report is sent again it is drawn again."
    return _fault("reports drawn again", "reports sent again", "value", what, pair)


def _clipped_by_data() -> Fault:
    size = 10
    before, after = [_STEPS] * size, [*([_STEPS] * (size - 1)), -size * _STEPS]

    def pair(*, is_faulty: bool) -> Pair:
        mechanism = _ClippedSum(clip=_STEPS, num_records=size, is_by_data=is_faulty)
        return _pair(_reports(mechanism, before), _reports(mechanism, after))

    what = "Records are scaled by the greatest of all, so that one record moves all others."
    return _fault("clipping by the data", "clipping each on its own", "record", what, pair)


@dataclasses.dataclass(frozen=True)
class _ClippedSum(Prepared):
    """The sum of records of [−clip, clip], in grid steps, with Laplace noise; others are brought into it, or wrongly.

    By data all records of a row are scaled by the greatest; else each is clipped on its own.
    """

    clip: int
    num_records: int
    is_by_data: bool

    @property
    def noise(self) -> RowMechanism:
        """Laplace noise by the sensitivity of clipped records."""
        sensitivity = 2 * self.clip
        return VectorLaplace(scale=sensitivity / _EPSILON, sensitivity=sensitivity, bound=self.clip * self.num_records)

    @property
    def value_range(self) -> tuple[int, int]:
        return -(2**31), 2**31

    def num_prepared_of(self, num_values: int) -> int:
        del num_values
        return 1

    def prepare_rows(self, values: IntArray) -> IntArray:
        if not self.is_by_data:
            return np.clip(values, -self.clip, self.clip).sum(axis=1, keepdims=True)
        most = np.maximum(np.abs(values).max(axis=1, keepdims=True), self.clip)
        return np.rint(values * (self.clip / most)).sum(axis=1, keepdims=True).astype(np.int64)


def _low_bits() -> Fault:
    def textbook(value: float) -> _Outputs:
        def outputs(noise: SimulatedNoise, number: int) -> IntArray:
            signs, sizes = _uniforms(noise, number, 2, "noise").T
            sizes = np.asarray(xlogy(1.0, 1 - sizes), dtype=np.float64) / -_EPSILON
            draws = np.where(signs < 0.5, -sizes, sizes)
            return (value + draws)[:, None].view(np.int64)

        return outputs

    def pair(*, is_faulty: bool) -> Pair:
        if is_faulty:
            return _pair(textbook(0.0), textbook(1.0))
        mechanism = DiscreteLaplace(_STEPS / _EPSILON, 0, _STEPS)
        return _pair(_reports(mechanism, [0]), _reports(mechanism, [_STEPS]))

    what = "The textbook's sum of two floats: which of them it can be tells the value."
    return _fault("low bits of floats", "noise on a grid", "number", what, pair)


def _biased_response() -> Fault:
    def pair(*, is_faulty: bool) -> Pair:
        response = (_BiasedResponse if is_faulty else GeneralizedRandomizedResponse)(_EPSILON, _WIDTH)
        laws = np.array(response.channel_matrix())[:2]
        return dataclasses.replace(_pair(_reports(response, [0]), _reports(response, [1])), laws=laws)

    what = "A lie is drawn among all choices, so that it may be the truth."
    return _fault("biased k-RR", "k-RR", "value", what, pair)


class _BiasedResponse(GeneralizedRandomizedResponse):
    """k-RR whose lies may be true."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Keep a value where its uniform is below p, else tell any choice."""
        place = (uniforms[:, 0] - self.keep_probability) / (1 - self.keep_probability)
        return np.where(place < 0, values, (place * self.num_choices).astype(np.int64))


def _kept_flip_probability() -> Fault:
    hyper = Uniform(0.0, 0.6)
    mechanism = TwoLayer((2,), hyper)
    num_sessions, num_answers = 4, 2

    def sessions(first: int, *, is_faulty: bool) -> _Outputs:
        row = [first, *([0] * (num_answers * num_sessions - 1))]

        def outputs(noise: SimulatedNoise, number: int) -> IntArray:
            values = np.tile(np.array(row, dtype=np.int64), (number, 1))
            if is_faulty:  # the draw of the first session serves them all
                return mechanism.randomize_rows(values, _uniforms(noise, number, mechanism.slots_of(len(row)), "all"))
            parts = [
                mechanism.randomize_rows(
                    values[:, start : start + num_answers],
                    _uniforms(noise, number, mechanism.slots_of(num_answers), f"session {start}"),
                )
                for start in range(0, len(row), num_answers)
            ]
            return np.column_stack(parts)

        return outputs

    def pair(*, is_faulty: bool) -> Pair:
        return _pair(sessions(0, is_faulty=is_faulty), sessions(1, is_faulty=is_faulty))

    what = "A worker's flip probability serves four sessions, of which the others tell it."
    proven = loss_of_one_answer((2,) * num_answers, hyper)
    return _fault("flip probability kept", "flip probability drawn anew", "one answer", what, pair, proven=proven)


def _uniforms(noise: SimulatedNoise, number: int, slots: int, phase: str) -> FloatArray:
    return noise.uniforms(protocol=GROUP, phase=phase, start=0, stop=number, slots=slots)


def _reports(mechanism: RowMechanism, row: Sequence[int]) -> _Outputs:
    values = np.array([row], dtype=np.int64)

    def outputs(noise: SimulatedNoise, number: int) -> IntArray:
        uniforms = _uniforms(noise, number, mechanism.slots_of(len(row)), "report")
        return mechanism.randomize_rows(np.repeat(values, number, axis=0), uniforms)

    return outputs


def _draw(outputs: _Outputs) -> OutputSampler:
    return lambda number, stream: outputs(SimulatedNoise(stream, session=GROUP), number)


def _pair(first: _Outputs, second: _Outputs) -> Pair:
    return Pair("the two", draws=(_draw(first), _draw(second)))


def _fault(
    name: str, repaired: str, unit: str, what: str, pair: Callable[..., Pair], *, proven: float = _EPSILON
) -> Fault:
    """Return a fault and its repair, by their names; `pair` makes the neighbors of either, told which (`is_faulty`)."""

    def sides(is_faulty: bool) -> dict[str, Any]:  # noqa: FBT001  as `fault_of` calls it
        return {"pairs": lambda: [pair(is_faulty=is_faulty)]}

    return fault_of((name, repaired), what, sides, unit=unit, proven=proven)
