"""Planted faults: nine ways to lose more privacy than is claimed, each beside its repair, for the audit to tell.

A self-test of audits. Each fault is a mistake that has been made, planted into mechanisms and sessions that are
otherwise ours; what the mechanism claims stays as it was. The audit must refute each one, and none of the repaired.
It is told nothing of how to tell them: neither laws nor scores, but for the sampler that does not have the law it says.

Source: Mironov (2012) for low bits; reading M4 for clipping by the data; the truth discovery paper, Section 5.2, and
reading T3 for a worker's flip probability.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from scipy.special import xlogy

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms import (
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
from ...protocol.privacy import NeighboringRelation, TrustModel
from ...protocol.randomness import SimulatedNoise
from .case import Case, OutputSampler, Pair

__all__ = ["CONFIDENCE", "GROUP", "SAMPLES", "Fault", "planted_faults"]

GROUP: Final = "faults"
"""What `psephos audit` calls them."""
CONFIDENCE: Final = 1 - 1e-11
"""Of each: what is refuted at so high a confidence is refuted at .99 with four standard deviations to spare."""
SAMPLES: Final = 100_000
"""Outputs of each neighbor."""

_EPSILON: Final = 1.0
_STEPS: Final = 128
_WIDTH: Final = 3

_Outputs: TypeAlias = Callable[[SimulatedNoise, int], IntArray]
"""What so many sessions show, with noise of their own, shape (number, width)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fault:
    """A planted fault.

    Args:
        name: as a phrase.
        what: what is wrong, as a sentence.
        faulty: what must be refuted.
        repaired: the same without the fault, which must not be.
    """

    name: str
    what: str
    faulty: Case
    repaired: Case


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
    ]


def _wrong_scales() -> Iterator[Fault]:
    zero, apart = [0] * _WIDTH, [_STEPS] * _WIDTH
    sensitivity = _STEPS * _WIDTH

    def noise(scale: float) -> Sequence[Pair]:
        mechanism = VectorLaplace(scale=scale, sensitivity=sensitivity, bound=_STEPS)
        return [_pair(_reports(mechanism, zero), _reports(mechanism, apart))]

    right = sensitivity / _EPSILON
    repaired = _case("noise by the sensitivity", "row", lambda: noise(right))
    yield Fault(
        "noise halved",
        "The scale is half of sensitivity/ε.",
        _case("noise halved", "row", lambda: noise(right / 2)),
        repaired,
    )
    yield Fault(
        "sensitivity forgotten",
        "The scale is that of one coordinate, and three may change.",
        _case("sensitivity forgotten", "row", lambda: noise(_STEPS / _EPSILON)),
        repaired,
    )


def _per_answer() -> Fault:
    def answers(epsilon: float) -> Sequence[Pair]:
        mechanism = OneLayer.of_epsilon((2,), epsilon)
        return [_pair(_reports(mechanism, [0] * _WIDTH), _reports(mechanism, [1] * _WIDTH))]

    return Fault(
        "ε per answer",
        "Each of three answers costs what all were to cost.",
        _case("ε per answer", "all answers", lambda: answers(_EPSILON)),
        _case("ε for all answers", "all answers", lambda: answers(_EPSILON / _WIDTH)),
    )


def _reused_randomness() -> Fault:
    response = GeneralizedRandomizedResponse(_EPSILON, 2)

    def session(values: Sequence[int], phases: Sequence[str]) -> _Outputs:
        def outputs(noise: SimulatedNoise, number: int) -> IntArray:
            columns = [
                response.randomize(np.full(number, value), _uniforms(noise, number, response.slots, phase))
                for value, phase in zip(values, phases, strict=True)
            ]
            return np.column_stack(columns)

        return outputs

    def pairs(phases: Sequence[str]) -> Sequence[Pair]:
        return [_pair(session([0, 0], phases), session([0, 1], phases))]

    return Fault(
        "randomness reused",
        "Two phases randomize by the same uniforms: their reports agree exactly if the values do.",
        _case("randomness reused", "the second phase's value", lambda: pairs(["weights", "weights"])),
        _case("randomness of its own", "the second phase's value", lambda: pairs(["weights", "opinions"])),
    )


def _drawn_again() -> Fault:
    response = GeneralizedRandomizedResponse(_EPSILON, 2)
    num_sent = 3

    def session(value: int, *, is_drawn_again: bool) -> _Outputs:
        def outputs(noise: SimulatedNoise, number: int) -> IntArray:
            values = np.full(number, value)
            columns = [
                response.randomize(
                    values, _uniforms(noise, number, response.slots, f"sent {sent if is_drawn_again else 0}")
                )
                for sent in range(num_sent)
            ]
            return np.column_stack(columns)

        return outputs

    def pairs(*, is_drawn_again: bool) -> Sequence[Pair]:
        return [_pair(session(0, is_drawn_again=is_drawn_again), session(1, is_drawn_again=is_drawn_again))]

    return Fault(
        "reports drawn again",
        "Each time that a report is sent again it is drawn again.",
        _case("reports drawn again", "value", lambda: pairs(is_drawn_again=True)),
        _case("reports sent again", "value", lambda: pairs(is_drawn_again=False)),
    )


def _clipped_by_data() -> Fault:
    size = 10
    before, after = [_STEPS] * size, [*([_STEPS] * (size - 1)), -size * _STEPS]

    def pairs(*, is_by_data: bool) -> Sequence[Pair]:
        mechanism = _ClippedSum(clip=_STEPS, num_records=size, is_by_data=is_by_data)
        return [_pair(_reports(mechanism, before), _reports(mechanism, after))]

    return Fault(
        "clipping by the data",
        "Records are scaled by the greatest of all, so that one record moves all others.",
        _case("clipping by the data", "record", lambda: pairs(is_by_data=True)),
        _case("clipping each on its own", "record", lambda: pairs(is_by_data=False)),
    )


@dataclasses.dataclass(frozen=True)
class _ClippedSum(Prepared):
    """The sum of records of [−clip, clip], with Laplace noise; others are brought into it, rightly or wrongly.

    Args:
        clip: the greatest size of a record, in grid steps.
        num_records: in a row.
        is_by_data: whether all records are scaled by the greatest; else each is clipped on its own.
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
        """Records of any size."""
        return -(2**31), 2**31

    def num_prepared_of(self, num_values: int) -> int:
        """One sum."""
        del num_values
        return 1

    def prepare_rows(self, values: IntArray) -> IntArray:
        """Return the sums of clipped records."""
        if not self.is_by_data:
            return np.clip(values, -self.clip, self.clip).sum(axis=1, keepdims=True)
        most = np.maximum(np.abs(values).max(axis=1, keepdims=True), self.clip)
        return np.rint(values * (self.clip / most)).sum(axis=1, keepdims=True).astype(np.int64)


def _low_bits() -> Fault:
    def textbook(value: float) -> _Outputs:
        def outputs(noise: SimulatedNoise, number: int) -> IntArray:
            signs, sizes = _uniforms(noise, number, 2, "noise").T
            sizes = np.asarray(xlogy(1.0, 1 - sizes), dtype=np.float64) / -_EPSILON
            draws = np.where(signs < 0.5, -sizes, sizes)  # noqa: PLR2004  a coin
            return (value + draws)[:, None].view(np.int64)

        return outputs

    def pairs() -> Sequence[Pair]:
        mechanism = DiscreteLaplace(_STEPS / _EPSILON, 0, _STEPS)
        return [_pair(_reports(mechanism, [0]), _reports(mechanism, [_STEPS]))]

    return Fault(
        "low bits of floats",
        "The textbook's sum of two floats: which of them it can be tells the value.",
        _case("low bits of floats", "number", lambda: [_pair(textbook(0.0), textbook(1.0))]),
        _case("noise on a grid", "number", pairs),
    )


def _biased_response() -> Fault:
    def pairs(kind: type[GeneralizedRandomizedResponse]) -> Sequence[Pair]:
        response = kind(_EPSILON, _WIDTH)
        laws = np.array(response.channel_matrix())[:2]
        draws: list[OutputSampler] = [_draw(_reports(response, [value])) for value in range(2)]
        return [Pair("0 and 1", laws=laws, draws=(draws[0], draws[1]))]

    return Fault(
        "biased k-RR",
        "A lie is drawn among all choices, so that it may be the truth.",
        _case("biased k-RR", "value", lambda: pairs(_BiasedResponse)),
        _case("k-RR", "value", lambda: pairs(GeneralizedRandomizedResponse)),
    )


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

    def sessions(first: int, *, is_kept: bool) -> _Outputs:
        row = [first, *([0] * (num_answers * num_sessions - 1))]

        def outputs(noise: SimulatedNoise, number: int) -> IntArray:
            values = np.tile(np.array(row, dtype=np.int64), (number, 1))
            if is_kept:  # the draw of the first session serves them all
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

    def pairs(*, is_kept: bool) -> Sequence[Pair]:
        return [_pair(sessions(0, is_kept=is_kept), sessions(1, is_kept=is_kept))]

    proven = loss_of_one_answer((2,) * num_answers, hyper)
    return Fault(
        "flip probability kept",
        "A worker's flip probability serves four sessions, of which the others tell it.",
        _case("flip probability kept", "one answer", lambda: pairs(is_kept=True), proven=proven),
        _case("flip probability drawn anew", "one answer", lambda: pairs(is_kept=False), proven=proven),
    )


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


def _case(name: str, unit: str, pairs: Callable[[], Sequence[Pair]], *, proven: float = _EPSILON) -> Case:
    return Case(
        name=name,
        group=GROUP,
        unit=unit,
        relation=NeighboringRelation.REPLACE_ONE,
        model=TrustModel.LOCAL,
        claimed=proven,
        proven=proven,
        pairs=pairs,
    )
