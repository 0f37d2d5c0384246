"""Rows of integers have a size that their numbers do not change, and any MessagePack decoder reads them."""

from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import make_fair_vote, make_preferences, make_vote
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.integers import RowCodec, bytes_of, encode_row, rewrite_row, width_of
from psephos.protocol.messages import MAX_MESSAGE_BYTES, Report, encode
from psephos.protocol.moral_preferences import Paradigm
from psephos.protocol.phases import MAX_VALUES_IN_REPORT, Phase, PhasedProtocol
from psephos.protocol.truth_discovery import Parameters, TruthDiscovery
from quiz import Parameters as QuizParameters
from quiz import Quiz
from strategies import CHECKED

LIMITS = sorted(
    {sign * (1 << bits) + step for bits in (0, 5, 7, 8, 15, 16, 31, 32, 62) for sign in (-1, 1) for step in (-1, 0, 1)}
)
WIDTHS = (1, 2, 3, 5, 9)
CROWD = TruthDiscovery(Parameters(tasks=("a", "b"), answer_sets=(("no", "yes"),), max_answers=2))
PROTOCOLS: list[PhasedProtocol[Any, Any]] = [
    make_vote(),
    make_vote(variant="laplace"),
    make_vote(variant="signed_rr"),
    make_vote(public_weights=True),
    CROWD,
    make_preferences(),
    make_preferences(paradigm=Paradigm.VLCP),
    make_preferences(paradigm=Paradigm.RLDP, mechanism="functional"),
    make_preferences(epsilons=(0.5, 4.0)),
    make_fair_vote(),
    make_fair_vote(mechanism="noisy_scores"),
    Quiz(QuizParameters()),
]
PHASES = [
    pytest.param(phase, id=f"{each.name} {place} {phase.name}")
    for place, each in enumerate(PROTOCOLS)
    for phase in each.phases
]


def headers_of(length: int) -> list[bytes]:
    """Return the ways to begin a row of so many numbers, the shortest first."""
    longer = [b"\xdc" + length.to_bytes(2, "big"), b"\xdd" + length.to_bytes(4, "big")]
    return [bytes([0x90 | length]), *longer] if length < 16 else longer


@pytest.mark.parametrize("number", LIMITS)
def test_the_width_of_one_number_is_what_messagepack_takes_for_it(number: int) -> None:
    assert width_of(number, number) == len(msgspec.msgpack.encode(number))
    assert bytes_of(np.array([[number]], dtype=np.int64)).tolist() == [[width_of(number, number)]]


@CHECKED
@given(st.lists(st.sampled_from(LIMITS), min_size=1, max_size=20))
def test_any_numbers_of_a_range_take_as_many_bytes_and_come_back(numbers: list[int]) -> None:
    width = width_of(min(numbers), max(numbers))
    row = encode_row(numbers, width=width)
    assert rewrite_row(row, [0, *numbers]) == encode_row([0, *numbers], width=width)
    header = 1 if len(numbers) < 16 else 3
    assert len(row) == header + width * len(numbers)
    assert msgspec.msgpack.decode(row) == numbers


@pytest.mark.parametrize("length", [0, 1, 15, 16, 65535, 65536])
@pytest.mark.parametrize("width", [1, 2])
def test_rows_of_any_length_come_back(length: int, width: int) -> None:
    numbers = [7] * length
    assert msgspec.msgpack.decode(encode_row(numbers, width=width)) == numbers


@pytest.mark.parametrize(
    ("number", "width"), [(128, 1), (-33, 1), (256, 2), (-129, 2), (1 << 32, 5), (-(1 << 31) - 1, 5)]
)
def test_a_number_that_is_too_wide_is_refused(number: int, width: int) -> None:
    with pytest.raises(OverflowError):
        encode_row([0, number], width=width)


@CHECKED
@pytest.mark.parametrize("phase", PHASES)
@given(st.data())
def test_all_reports_of_a_phase_have_one_size(phase: Phase, data: st.DataObject) -> None:
    low, high = phase.mechanism.report_range
    numbers = st.sampled_from(sorted({low, high, max(low, min(0, high)), max(low, min(high, 128))})) | st.integers(
        low, high
    )
    report = data.draw(st.lists(numbers, min_size=phase.num_reported, max_size=phase.num_reported))
    payload = phase.codec.encode(report)
    assert phase.codec.decode(payload) == tuple(report)
    assert phase.codec.decode_all([bytes(payload)] * 2).tolist() == [report, report]
    assert len(bytes(payload)) == len(bytes(phase.codec.encode([low] * phase.num_reported))) == phase.codec.max_bytes


@CHECKED
@given(st.data())
def test_a_row_is_read_in_one_width_alone(data: st.DataObject) -> None:
    """Whatever the others take, and where another header or another number's width makes up for the size."""
    low, high = data.draw(st.lists(st.sampled_from(LIMITS), min_size=2, max_size=2).map(sorted))
    row = data.draw(st.lists(st.integers(low, high), min_size=1, max_size=20))
    widths = [data.draw(st.sampled_from([width for width in WIDTHS if width >= width_of(n, n)])) for n in row]
    header = data.draw(st.sampled_from(headers_of(len(row))))
    payload = header + b"".join(encode_row([n], width=width)[1:] for n, width in zip(row, widths, strict=True))
    codec = RowCodec(len(row), low, high)
    if {*widths} == {codec.number_bytes} and header == headers_of(len(row))[0]:
        assert codec.decode(payload) == tuple(row)
        return
    with pytest.raises(msgspec.DecodeError, match=f"do not take the {codec.number_bytes} bytes that each has to"):
        codec.decode(payload)


def test_no_payloads_are_no_rows() -> None:
    assert RowCodec(3, 0, 1).decode_all([]).shape == (0, 3)


def test_the_largest_report_fits_into_a_message() -> None:
    payload = encode_row([1 << 62] * MAX_VALUES_IN_REPORT, width=9)
    assert len(encode(Report(1 << 62, msgspec.Raw(payload)))) <= MAX_MESSAGE_BYTES
