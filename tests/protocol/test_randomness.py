"""Addressed noise: rows of one table, keys that never meet, draws that do not depend on their order."""

import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol import ConfigurationError, SessionKind, SimulatedNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.mechanisms import DiscreteLaplace, GeneralizedRandomizedResponse, Mechanism
from psephos.protocol.privacy.events import NonPrivate
from psephos.protocol.randomness import philox_rows, stream_key
from strategies import CHECKED

FIELDS = {
    "seed": 7,
    "session": "spring-ballot",
    "round_number": 0,
    "protocol": "dpwevote",
    "phase": "weights",
    "purpose": "report",
}
KEY = 0x0123456789ABCDEF0123456789ABCDEF


def key_of(**changes: object) -> int:
    return stream_key(**{**FIELDS, **changes})  # pyright: ignore[reportArgumentType]  the tests' own changes


@dataclasses.dataclass(frozen=True)
class TwoSlots(Mechanism):
    """Reports which half each of its two uniforms is in, added to the value; no privacy at all."""

    slots: int = 2

    @property
    def value_range(self) -> tuple[int, int]:
        return 0, 9

    @property
    def report_range(self) -> tuple[int, int]:
        return 0, 39

    @property
    def event(self) -> NonPrivate:
        """Nothing protects the value."""
        return NonPrivate()

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Add ten for the first half, twenty for the second."""
        return values + 10 * (uniforms[:, 0] < 0.5) + 20 * (uniforms[:, 1] < 0.5)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        first, second = uniforms
        return value + 10 * (first < 0.5) + 20 * (second < 0.5)


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 5, 7, 8, 13])
def test_philox_rows_are_rows_of_one_big_table(slots: int) -> None:
    table = np.random.Generator(np.random.Philox(key=KEY)).random((40, slots))
    for start, stop in itertools.combinations_with_replacement([0, 1, 2, 3, 4, 5, 17, 38, 39, 40], 2):
        assert np.array_equal(philox_rows(KEY, start=start, stop=stop, slots=slots), table[start:stop])


def test_a_row_far_into_the_stream_is_reached_at_once() -> None:
    far = philox_rows(KEY, start=10**15, stop=10**15 + 3, slots=3)
    assert np.array_equal(far[1:], philox_rows(KEY, start=10**15 + 1, stop=10**15 + 3, slots=3))


@CHECKED
@given(st.integers(0, 2**128 - 1), st.integers(0, 200), st.integers(0, 20), st.integers(1, 9))
def test_philox_rows_do_not_depend_on_where_a_reading_begins(key: int, start: int, number: int, slots: int) -> None:
    whole = philox_rows(key, start=0, stop=start + number, slots=slots)
    assert np.array_equal(philox_rows(key, start=start, stop=start + number, slots=slots), whole[start:])
    assert np.all((whole >= 0) & (whole < 1))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({}, 0x16E455DFCFCA59BC78CC3ACE008CF27A),
        ({"seed": 0}, 0xE24FA3BF5A7BECCC2414242D55C07EA8),
        ({"seed": 2**64, "session": "Ψῆφος", "round_number": 12}, 0x4AEFFB8C786FBC547196DAD24F3E6F43),
    ],
)
def test_stream_keys_are_those_that_were_first_published(changes: dict[str, object], key: int) -> None:
    assert key_of(**changes) == key


def test_a_stream_key_is_the_stated_hash() -> None:
    digest = hashlib.blake2b(digest_size=16, person=b"psephos-stream-1")
    for text in (b"7", b"spring-ballot", b"0", b"dpwevote", b"weights", b"report"):
        digest.update(bytes([0, 0, 0, 0, 0, 0, 0, len(text)]) + text)
    assert key_of() == int(digest.hexdigest(), 16)


def test_a_stream_key_differs_when_any_field_differs() -> None:
    changes: list[dict[str, object]] = [
        {},
        {"seed": 8},
        {"session": "autumn-ballot"},
        {"round_number": 1},
        {"protocol": "dpwevote2"},
        {"phase": "opinions"},
        {"purpose": "test"},
    ]
    assert len({key_of(**change) for change in changes}) == len(changes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"seed": 71, "session": "a"}, {"seed": 7, "session": "1a"}),
        ({"session": "a1", "round_number": 2}, {"session": "a", "round_number": 12}),
        ({"round_number": 12, "protocol": "p"}, {"round_number": 1, "protocol": "2p"}),
        ({"protocol": "pq", "phase": "w"}, {"protocol": "p", "phase": "qw"}),
        ({"phase": "wr", "purpose": "e"}, {"phase": "w", "purpose": "re"}),
        ({"protocol": "", "phase": "pw"}, {"protocol": "pw", "phase": ""}),
    ],
)
def test_a_stream_key_differs_when_characters_move_to_a_neighboring_field(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert key_of(**one) != key_of(**other)


def test_a_negative_seed_is_refused_without_being_shown() -> None:
    with refuses("seed") as caught:
        SimulatedNoise(-12345, session="s")
    assert "12345" not in str(caught.value)


def test_a_negative_round_is_refused() -> None:
    with refuses("round_number", -1):
        SimulatedNoise(0, session="s", round_number=-1)


def test_simulated_noise_is_for_simulations() -> None:
    assert SimulatedNoise(0, session="s").kind is SessionKind.SIMULATION


def test_uniforms_are_those_of_the_stated_stream() -> None:
    noise = SimulatedNoise(7, session="spring-ballot")
    uniforms = noise.uniforms(protocol="dpwevote", phase="weights", start=2, stop=5, slots=3)
    assert np.array_equal(uniforms, philox_rows(key_of(), start=2, stop=5, slots=3))


@pytest.mark.parametrize(("start", "stop", "slots"), [(0, 5, 1), (3, 7, 3), (2, 3, 2), (4, 4, 1)])
def test_many_rounds_have_the_uniforms_of_each(start: int, stop: int, slots: int) -> None:
    asked: dict[str, Any] = {"protocol": "p", "phase": "q", "start": start, "stop": stop, "slots": slots}
    noise = SimulatedNoise(2**200 + 5, session="spring-ballot", round_number=1)
    rounds = noise.make_rounds(range(3, 9))
    each = [SimulatedNoise(2**200 + 5, session="spring-ballot", round_number=number) for number in range(3, 9)]
    uniforms = rounds.uniforms(**asked)
    assert uniforms.shape == (len(rounds), stop - start, slots)
    assert np.array_equal(uniforms, [own.uniforms(**asked) for own in each])
    assert [own.session_id for own in rounds] == [own.session_id for own in each]


def test_a_negative_round_among_many_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="rounds"):
        SimulatedNoise(1, session="s").make_rounds(range(-1, 3))


def test_repeated_votes_share_no_noise() -> None:
    rounds = [
        SimulatedNoise(7, session="s", round_number=number).uniforms(
            protocol="dpwevote", phase="weights", start=0, stop=4, slots=1
        )
        for number in range(3)
    ]
    assert len({table.tobytes() for table in rounds}) == 3


@pytest.mark.parametrize("mechanism", [GeneralizedRandomizedResponse(0.5, 4), DiscreteLaplace(300.0, 0, 9), TwoSlots()])
@pytest.mark.parametrize("num_values", [1, 3])
def test_an_agents_reports_are_its_rows_of_the_array_whatever_the_order(mechanism: Mechanism, num_values: int) -> None:
    places = [0, 4095, 1, 5000, 4096, 4094, 3, 0, 20_000]
    noise = SimulatedNoise(3, session="s")
    low, _ = mechanism.value_range
    for place in places:
        values = [low + (place + number) % 3 for number in range(num_values)]
        table = SimulatedNoise(3, session="s").uniforms(
            protocol="p", phase="w", start=place, stop=place + 1, slots=num_values * mechanism.slots
        )
        expected = mechanism.randomize(np.array(values, dtype=np.int64), table.reshape(num_values, mechanism.slots))
        drawn = noise.randomize(mechanism, values, protocol="p", phase="w", place=place)
        assert drawn == expected.tolist()


def test_more_slots_than_a_block_holds_are_drawn_for_one_party_at_a_time() -> None:
    mechanism = GeneralizedRandomizedResponse(0.5, 4)
    noise = SimulatedNoise(3, session="s")
    for place in (1, 0):
        table = noise.uniforms(protocol="p", phase="w", start=place, stop=place + 1, slots=5000).reshape(5000, 1)
        expected = mechanism.randomize(np.zeros(5000, dtype=np.int64), table)
        assert noise.randomize(mechanism, [0] * 5000, protocol="p", phase="w", place=place) == expected.tolist()


def test_agents_that_come_one_after_another_report_as_the_array_whoevers_mechanism_comes_between() -> None:
    mechanisms = [GeneralizedRandomizedResponse(0.5, 4), GeneralizedRandomizedResponse(2.0, 3), TwoSlots()]
    noise = SimulatedNoise(3, session="s")
    for place in range(300):
        for mechanism in mechanisms:
            table = SimulatedNoise(3, session="s").uniforms(
                protocol="p", phase="w", start=place, stop=place + 1, slots=2 * mechanism.slots
            )
            values = [place % 3, (place + 1) % 3]
            expected = mechanism.randomize(np.array(values), table.reshape(2, mechanism.slots)).tolist()
            assert noise.randomize(mechanism, values, protocol="p", phase="w", place=place) == expected


@pytest.mark.parametrize("num_before", [0, 1, 40])
@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        *(([wrong, *more], "an integer") for wrong in (1.0, True, np.True_, "1", None) for more in ([], [0])),
        ({0: 1}, "one number after another"),
    ],
)
def test_what_is_no_row_of_integers_is_refused_however_much_was_drawn_ahead(
    num_before: int, values: Any, allowed: str
) -> None:
    mechanism, noise = GeneralizedRandomizedResponse(0.5, 4), SimulatedNoise(3, session="s")
    for place in range(num_before):
        noise.randomize(mechanism, [0] * len(values), protocol="p", phase="w", place=place)
    with refuses("values", allowed=allowed):
        noise.randomize(mechanism, values, protocol="p", phase="w", place=num_before)


@pytest.mark.parametrize("num_before", [0, 1, 40])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_value_out_of_range_is_refused_however_much_was_drawn_ahead(num_before: int, wrong: int) -> None:
    mechanism = GeneralizedRandomizedResponse(0.5, 4)
    noise = SimulatedNoise(3, session="s")
    for place in range(num_before):
        noise.randomize(mechanism, [0], protocol="p", phase="w", place=place)
    with pytest.raises(ValueError, match=r"value is .*: use a value from 0 to 3"):
        noise.randomize(mechanism, [wrong], protocol="p", phase="w", place=num_before)
    equal = noise.randomize(mechanism, [np.int64(2)], protocol="p", phase="w", place=num_before)  # pyright: ignore[reportArgumentType]  somebody else's
    assert equal == noise.randomize(mechanism, [2], protocol="p", phase="w", place=num_before)


class Reversed(GeneralizedRandomizedResponse):
    """Its own path for one party, and another's for arrays."""

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Report the other choice."""
        return 1 - super().randomize_one(value, uniforms)


class _Wrapping:
    """Wraps a decorated method, and so bears what is written on it."""

    @functools.wraps(GeneralizedRandomizedResponse.randomize_one)
    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Report the other choice."""
        return 1 - GeneralizedRandomizedResponse.randomize_one(self, value, uniforms)  # pyright: ignore[reportArgumentType]  a mixin of one


class Wrapped(_Wrapping, GeneralizedRandomizedResponse):
    """Takes its way to draw from a class that is no mechanism."""


class Choosy(GeneralizedRandomizedResponse):
    """Refuses a value in its range, of which nobody asks it."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        if np.any(values == 0):
            raise ValueError("nobody has 0")
        return super().randomize(values, uniforms)


class Floating(GeneralizedRandomizedResponse):
    """Its arrays hold other numbers than its reports are."""

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        return super().randomize(values, uniforms).astype(np.float64)  # pyright: ignore[reportReturnType]  wrong on purpose


@pytest.mark.parametrize("kind", [Reversed, Wrapped, Choosy, Floating])
def test_a_party_reports_by_its_mechanisms_own_path_however_many_have_asked(
    kind: type[GeneralizedRandomizedResponse],
) -> None:
    mechanism, noise = kind(1.0, 2), SimulatedNoise(3, session="s")
    for place in range(60):
        uniforms = noise.uniforms(protocol="p", phase="w", start=place, stop=place + 1, slots=1)[0].tolist()
        drawn = noise.randomize(mechanism, (1,), protocol="p", phase="w", place=place)
        assert drawn == [mechanism.randomize_one(1, uniforms)] == mechanism.randomize_row((1,), uniforms)
        assert {*map(type, drawn)} == {int}


def test_however_many_phases_and_widths_are_asked_for_memory_is_bounded_and_nothing_is_drawn_otherwise() -> None:
    mechanism, noise = GeneralizedRandomizedResponse(0.5, 4), SimulatedNoise(3, session="s")
    asked = [(f"w{number}", place, 1 + number % 3) for place in range(3) for number in range(150)]
    for phase, place, width in asked:
        drawn = noise.randomize(mechanism, (1,) * width, protocol="p", phase=phase, place=place)
        alone = SimulatedNoise(3, session="s").randomize(
            mechanism, (1,) * width, protocol="p", phase=phase, place=place
        )
        assert drawn == alone
        assert len(noise._blocks) <= 64  # pyright: ignore[reportPrivateUsage]  what is kept is seen nowhere else


def test_each_place_has_secrets_of_its_own() -> None:
    noise = SimulatedNoise(1, session="s")
    secrets = {noise.entropy(protocol="p", phase="f", place=place) for place in (*range(1_030), 1 << 16, 1 << 20)}
    others = [noise.entropy(protocol=protocol, phase=phase, place=0) for protocol, phase in (("q", "f"), ("p", "g"))]
    later = SimulatedNoise(1, session="s", round_number=1).entropy(protocol="p", phase="f", place=0)
    assert len({*secrets, *others, later}) == 1_030 + 2 + 2 + 1
