"""Phases and protocols: what a report must look like, and what a protocol checks of itself."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import make_vote
from makers import AddedUp, loss_of
from polls import Ask, Settings, Shares
from psephos.protocol import Column, ConfigurationError, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse, PostProcessed, RowMechanism
from psephos.protocol.messages import NIL, encode_payload
from psephos.protocol.phases import MAX_VALUES_IN_REPORT, Entries, MaskedSums
from psephos.protocol.privacy import PrivacyLoss, PureMechanism

FOUR_CHOICES = GeneralizedRandomizedResponse(1.0, 4)
LOSS = loss_of(mechanism="k-RR", event=FOUR_CHOICES.event, unit="answer", claimed=1.0)

FREE = msgspec.structs.replace(LOSS, event=PureMechanism(0.0), claimed=0.0)


class Sums(AddedUp):
    """Adds the reports up."""

    def __init__(self, name: str, columns: range = range(2)) -> None:
        super().__init__(name, columns=columns, mechanism=FOUR_CHOICES, losses=[LOSS] * len(columns))


@dataclasses.dataclass(frozen=True)
class Echo(PostProcessed):
    """Reports the sum of a noisy row so many times."""

    times: int

    @property
    def noise(self) -> RowMechanism:
        return FOUR_CHOICES

    @property
    def report_range(self) -> tuple[int, int]:
        """Sums of up to ten."""
        return 0, 30

    def num_reports_of(self, num_values: int) -> int:
        del num_values
        return self.times

    def finish_rows(self, noisy: IntArray) -> IntArray:
        return np.repeat(noisy.sum(axis=1)[:, None], self.times, axis=1)


class Echoes(AddedUp):
    """Reports that are computed from noisy values."""

    def __init__(self, times: int) -> None:
        super().__init__("echoes", columns=range(2), mechanism=Echo(times), losses=[LOSS] * 2)


class Nothing(msgspec.Struct, frozen=True):
    """No parameters, no outcome."""


class Survey(PhasedProtocol[Nothing, Nothing]):
    """A protocol of the phases that a test gives it."""

    name: ClassVar[str] = "survey"
    parameters_type: ClassVar[type[msgspec.Struct]] = Nothing
    outcome_type: ClassVar[type[msgspec.Struct]] = Nothing

    def __init__(self, *phases: Phase) -> None:
        super().__init__(Nothing())
        self._given = phases

    def make_phases(self) -> Iterable[Phase]:
        return iter(self._given)

    def columns(self) -> tuple[Column, ...]:
        return ()

    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        raise NotImplementedError

    def outcome(self, tallies: Sequence[Tally]) -> Nothing:
        del tallies
        return Nothing()


def table(*rows: Sequence[int]) -> IntArray:
    return np.array(rows, dtype=np.int64)


@pytest.mark.parametrize(
    ("private", "public"),
    [
        (np.zeros(3, dtype=np.int64), np.zeros((3, 1), dtype=np.int64)),
        (np.zeros((3, 1), dtype=np.int64), np.zeros(3, dtype=np.int64)),
        (np.zeros((3, 1), dtype=np.int64), np.zeros((2, 1), dtype=np.int64)),
    ],
)
def test_inputs_that_are_not_two_tables_of_as_many_rows_are_refused(private: IntArray, public: IntArray) -> None:
    with pytest.raises(ValueError, match="give both as many rows"):
        Inputs(private, public)


@pytest.mark.parametrize("columns", [range(0), range(3, 3), range(0, 4, 2), range(3, 0, -1)])
def test_a_phase_needs_columns_without_gaps(columns: range) -> None:
    with refuses("columns", columns):
        Sums("sums", columns)


@pytest.mark.parametrize("losses", [[], [LOSS]])
def test_a_phase_that_states_less_than_it_draws_is_refused(losses: list[PrivacyLoss]) -> None:
    """Two values at epsilon = 1 cost two: neither a free phase nor the price of one value will do."""

    class Cheap(Sums):
        def __init__(self) -> None:
            Phase.__init__(self, "cheap", columns=range(2), mechanism=FOUR_CHOICES, losses=losses)

    with pytest.raises(ConfigurationError, match="at least what phase 'cheap' draws: 2") as caught:
        Cheap()
    assert (caught.value.field, caught.value.value) == ("losses", len(losses))


@pytest.mark.parametrize("num_parts", [0, -1])
def test_a_phase_of_no_parts_is_refused(num_parts: int) -> None:
    """It would have drawn for a value, and been free."""

    class Free(Sums):
        def __init__(self) -> None:
            Phase.__init__(self, "free", columns=range(1), mechanism=FOUR_CHOICES, losses=[FREE], num_parts=num_parts)

    with pytest.raises(ConfigurationError, match=f"num_parts is {num_parts}: use at least 1 and less than .*"):
        Free()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_masked_sums_without_a_price_are_refused(epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon is .*: use a positive value"):
        MaskedSums("sums", ranges=[(0, 1)], epsilon=epsilon, threshold=2, colluders=0, unit="answer")


@pytest.mark.parametrize("low", [-1, 4])
def test_rows_outside_the_ranges_of_masked_sums_are_refused_by_arrays_too(low: int) -> None:
    """As an agent refuses its own row: the noise is made for the ranges."""
    sums = MaskedSums("sums", ranges=[(0, 9), (0, 3)], epsilon=1.0, threshold=2, colluders=0, unit="answer")
    sums.check_values(np.array([[9, 3], [0, 0]]))
    with pytest.raises(ValueError, match=r"number 1 of phase 'sums' takes values in \[0, 3\]"):
        sums.check_values(np.array([[0, low], [9, 0]]))


@pytest.mark.parametrize(("field", "value"), [("threshold", True), ("colluders", 0.5), ("epsilon", "1")])
def test_masked_sums_take_numbers_alone(field: str, value: Any) -> None:
    given: dict[str, Any] = {"epsilon": 1.0, "threshold": 2, "colluders": 0, field: value}
    with pytest.raises(ConfigurationError, match=f"{field} is .*: use a"):
        MaskedSums("sums", ranges=[(0, 1)], unit="answer", **given)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ranges", [(0, 9), (4, 1)]),
        ("ranges", [(0, 1, 2)]),
        ("ranges", ["ab"]),
        ("ranges", [(3, 3)]),
        ("ranges", []),
        ("ranges", None),
        ("ranges", 5),
        ("ranges", [(0, 10**400)]),
        ("sensitivity", 10**400),
        ("num_parts", "x"),
        ("num_parts", 10**400),
        ("losses", 5),
        ("unit", None),
        ("unit", ""),
        ("sensitivity", 0),
        ("sensitivity", "6"),
        ("first", -1),
        ("first", 2**63),
        ("first", 1.5),
    ],
)
def test_masked_sums_of_no_ranges_are_refused(field: str, value: Any) -> None:
    given: dict[str, Any] = {"ranges": [(0, 1)], "unit": "answer", field: value}
    with pytest.raises(ConfigurationError, match=f"^{field} (is|are) "):
        MaskedSums("sums", epsilon=1.0, threshold=2, colluders=0, **given)


def test_masked_sums_of_several_parts_state_the_loss_of_all() -> None:
    sums = MaskedSums("sums", ranges=[(0, 1)], epsilon=0.5, threshold=2, colluders=0, unit="voter", num_parts=3)
    assert [(loss.claimed, loss.proven) for loss in sums.losses] == [(pytest.approx(1.5), pytest.approx(1.5))]


@pytest.mark.parametrize("name", [None, 5, "", "a\nb", " a"])
def test_a_phase_has_a_name(name: Any) -> None:
    class Named(Sums):
        def __init__(self) -> None:
            Phase.__init__(self, name, columns=range(1), mechanism=FOUR_CHOICES, losses=[LOSS])

    with pytest.raises(ConfigurationError, match=r"^name (is|are) .*text of 1 to 256 printable characters"):
        Named()


def test_small_integers_of_ranges_do_not_wrap_around() -> None:
    ranges = np.array([[0, 100]] * 3, dtype=np.int8)
    made = MaskedSums("sums", ranges=ranges, epsilon=1.0, threshold=2, colluders=0, unit="answer")  # pyright: ignore[reportArgumentType]  as somebody may give them
    assert (made.share.sensitivity, made.losses[0].proven) == (300, pytest.approx(1.0))


def test_a_report_that_would_not_fit_into_a_message_is_refused_before_any_is_drawn() -> None:
    with pytest.raises(ConfigurationError, match="fits into a message"):
        Sums("wide", range(MAX_VALUES_IN_REPORT + 1))


def test_rows_of_floats_are_refused() -> None:
    with pytest.raises(TypeError, match="integers"):
        Inputs(np.array([[0.5]]), np.empty((1, 0), dtype=np.int64))


def test_rows_of_a_range_of_parties_are_theirs() -> None:
    inputs = Inputs(table([1], [2], [3]), table([4], [5], [6]))
    some = inputs.slice_rows(1, 3)
    assert (some.private.tolist(), some.public.tolist()) == ([[2], [3]], [[5], [6]])
    assert len(inputs.slice_rows(2, 2)) == 0


def test_a_report_may_have_another_number_of_numbers_than_values() -> None:
    phase = Echoes(3)
    assert (phase.num_values, phase.num_reported) == (2, 3)
    assert phase.codec.decode(msgspec.msgpack.encode([30, 0, 6])) == (30, 0, 6)
    for report in ([1, 2], [1, 2, 3, 4], [31, 0, 0]):
        with pytest.raises(msgspec.DecodeError):
            phase.codec.decode(msgspec.msgpack.encode(report))


def test_what_is_computed_from_noisy_values_costs_and_takes_what_the_noise_does() -> None:
    mechanism = Echo(3)
    assert mechanism.event_of(2) == FOUR_CHOICES.event_of(2)
    assert mechanism.slots_of(2) == FOUR_CHOICES.slots_of(2)
    assert mechanism.value_range == FOUR_CHOICES.value_range
    values, uniforms = table([3, 0], [1, 2]), np.random.default_rng(0).random((2, mechanism.slots_of(2)))
    noisy = FOUR_CHOICES.randomize_rows(values, uniforms)
    reports = mechanism.randomize_rows(values, uniforms)
    assert reports.tolist() == [[int(row.sum())] * 3 for row in noisy]
    rows: list[list[int]] = values.tolist()
    assert [mechanism.randomize_row(row, draws) for row, draws in zip(rows, uniforms.tolist(), strict=True)] == (
        reports.tolist()
    )
    with pytest.raises(ValueError, match=r"use values from"):
        mechanism.randomize_rows(table([4, 0], [0, 0]), uniforms)


def test_a_computed_report_that_would_not_fit_into_a_message_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="fits into a message"):
        Echoes(MAX_VALUES_IN_REPORT + 1)
    assert Echoes(MAX_VALUES_IN_REPORT).num_reported == MAX_VALUES_IN_REPORT


def test_everybody_has_the_phases_randomizer_unless_the_phase_says_otherwise() -> None:
    phase = Sums("sums")
    assert phase.mechanism_of(()) is phase.mechanism_of((7,)) is FOUR_CHOICES
    ((mechanism, places),) = phase.mechanism_groups(table([0], [1]))
    assert mechanism is FOUR_CHOICES
    assert np.arange(2)[places].tolist() == [0, 1]


def test_a_phase_is_one_step_whose_answer_is_its_report() -> None:
    survey = Survey(Sums("first"), Sums("second"))
    assert [(step.name, step.phase, step.codec) for step in survey.steps] == [
        (phase.name, phase, phase.codec) for phase in survey.phases
    ]


def test_the_losses_of_a_session_are_those_of_its_phases_in_order() -> None:
    assert Survey(Sums("first", range(1)), Sums("second", range(3))).losses == (LOSS,) * 4


@pytest.mark.parametrize("names", [[], ["same", "same"]])
def test_a_protocol_needs_phases_with_distinct_names(names: list[str]) -> None:
    with refuses("phases", names):
        _ = Survey(*map(Sums, names)).phases


def test_inputs_in_range_pass_the_check() -> None:
    Survey(Sums("sums")).check_inputs(Inputs(table([0, 3], [3, 0]), np.empty((2, 0), dtype=np.int64)))
    Survey(Sums("sums")).check_inputs(Inputs(np.empty((0, 2), dtype=np.int64), np.empty((0, 0), dtype=np.int64)))


@pytest.mark.parametrize("row", [[0, 4], [-1, 0]])
def test_inputs_out_of_range_are_refused(row: list[int]) -> None:
    with pytest.raises(ValueError, match=r"phase 'sums' takes values in \[0, 3\]"):
        Survey(Sums("sums")).check_inputs(Inputs(table([0, 0], row), np.empty((2, 0), dtype=np.int64)))


def test_inputs_with_too_few_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="phase 'sums' needs columns"):
        Survey(Sums("sums")).check_inputs(Inputs(table([0]), np.empty((1, 0), dtype=np.int64)))


def test_equal_parameters_have_equal_bytes_whether_a_number_was_typed_with_a_point_or_not() -> None:
    """Else a party that wrote `epsilon=1` refuses a server that read `epsilon = 1` from a file as 1.0."""
    whole, decimal = make_vote(epsilon=1, weights=(1, 2)), make_vote(epsilon=1.0, weights=(1.0, 2.0))
    assert whole.parameters == decimal.parameters
    assert bytes(whole.encoded_parameters) == bytes(decimal.encoded_parameters)


def test_the_losses_of_a_row_are_held_against_what_is_drawn_once_for_all_parties_that_have_it() -> None:
    held: list[tuple[int, ...]] = []

    class Counted(Sums):
        def check_losses(self, public: Sequence[int]) -> None:
            held.append(tuple(public))
            super().check_losses(public)

    survey = Survey(Counted("counted"))
    for public in ((), [], [1], (1,), (2,)):
        survey.check_losses(public)
    assert held == [(), (1,), (2,)]


def test_losses_that_are_stated_too_low_for_a_row_are_refused_every_time() -> None:
    class Confused(Sums):
        def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
            return self.losses[: 1 + public[0]]

    survey = Survey(Confused("confused"))
    survey.check_losses((1,))
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="at least what phase 'confused' draws for the public row"):
            survey.check_losses((0,))


class Undeclared(Ask):
    """Says nothing of what its closing publishes, as code without types does."""

    def outcome(self, tallies: Sequence[Tally]):  # noqa: ANN201  on purpose
        del tallies
        return Shares(())


class Elsewhere(Ask):
    """Says it by a name that nobody else can look up."""

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        del tallies
        return Shares(())


Elsewhere.outcome.__annotations__["return"] = "NobodyKnows"


class Declared(Ask):
    """Says it."""

    def outcome(self, tallies: Sequence[Tally]) -> Shares:
        del tallies
        return Shares(())


def test_what_a_phase_announces_is_decoded_as_far_as_it_says_what_it_is() -> None:
    assert Ask(Settings()).outcome_decoder is None
    shares = encode_payload(Shares(()))
    for kind in (Undeclared, Elsewhere, Declared):
        decoder = kind(Settings()).outcome_decoder
        assert decoder is not None
        assert decoder.decode(NIL) is None
        assert decoder.decode(shares) == (Shares(()) if kind is Declared else {"drinkers": []})
        for payload in (b"\x91\x01", b"\x01", *([b"\x80"] if kind is Declared else [])):  # [1], 1, {}
            with pytest.raises(msgspec.ValidationError):
                decoder.decode(payload)
