"""Several societies in one session: a release each, which costs a voter what its own society's does."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import Session, make_preference_inputs, make_preferences
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.moral_preferences import (
    DisclosedPhase,
    MoralPreferences,
    Outcome,
    Paradigm,
    PerturbedPhase,
    SocietiesPhase,
    decide,
)
from psephos.protocol.phases import Inputs
from psephos.protocol.tally import Tally
from reference_runs import run_moral_preferences
from thoroughness import draws

NAMES = ("north", "east", "south")
LEVELS = (0.5, 1.0, 2.0)
VARIANTS: tuple[dict[str, Any], ...] = (
    {"paradigm": Paradigm.VLCP, "mechanism": "laplace"},
    {"paradigm": Paradigm.VLCP, "mechanism": "direction"},
    {"paradigm": Paradigm.RLCP, "mechanism": "pooled"},
    {"paradigm": Paradigm.VLDP, "mechanism": "laplace"},
    {"paradigm": Paradigm.RLDP, "mechanism": "functional"},
    {"paradigm": Paradigm.RLDP, "mechanism": "pooled"},
    {"paradigm": Paradigm.RLDP, "mechanism": "direction", "epsilons": LEVELS},
)


def make_societies(num_features: int = 2, **given: Any) -> MoralPreferences:
    usual: dict[str, Any] = {"societies": NAMES, "max_records": 4}
    return make_preferences(num_features, **{**usual, **given})


def alone(protocol: MoralPreferences) -> MoralPreferences:
    return MoralPreferences(msgspec.structs.replace(protocol.parameters, societies=msgspec.UNSET))


def without_societies(inputs: Inputs) -> Inputs:
    return Inputs(inputs.private, inputs.public[:, 1:])


def released(protocol: MoralPreferences, inputs: Inputs, *, seed: int = 0) -> Outcome:
    return run_population(protocol, inputs, noise=SimulatedNoise(seed, session="vote")).outcome


@pytest.mark.parametrize("given", VARIANTS)
def test_agents_arrays_and_the_reference_have_the_same_bits(given: dict[str, Any]) -> None:
    protocol = make_societies(**given)
    inputs = make_preference_inputs(protocol, 10)
    session = Session(protocol, inputs, seed=3)
    wire = session.play()
    assert wire.result is not None
    arrays = run_population(protocol, inputs, noise=session.fresh_noise())
    assert wire.result.outcome == arrays.outcome
    assert wire.result.outcome == run_moral_preferences(protocol, inputs, noise=session.fresh_noise())
    assert [(society.name, society.num_voters) for society in arrays.outcome.society_outcomes] == [
        ("north", 4),
        ("east", 3),
        ("south", 3),
    ]


@pytest.mark.parametrize("given", [given for given in VARIANTS if given["paradigm"] in {Paradigm.VLDP, Paradigm.RLDP}])
def test_where_nobody_is_trusted_societies_are_only_another_way_to_add_up_the_same_reports(
    given: dict[str, Any],
) -> None:
    protocol = make_societies(**given)
    inputs = make_preference_inputs(protocol, 12)
    found = released(protocol, inputs)
    assert msgspec.structs.replace(found, societies=msgspec.UNSET) == released(
        alone(protocol), without_societies(inputs)
    )
    assert protocol.losses == alone(protocol).losses


@pytest.mark.parametrize("mechanism", ["laplace", "direction"])
def test_a_trusted_server_releases_of_a_society_what_a_session_of_its_voters_alone_would(mechanism: str) -> None:
    """The first society's noise is that of a session by itself, bit for bit; others have streams of their own."""
    protocol = make_societies(paradigm=Paradigm.VLCP, mechanism=mechanism)
    inputs = make_preference_inputs(protocol, 9)
    own = np.flatnonzero(inputs.public[:, 0] == 0)
    theirs = without_societies(Inputs(inputs.private[own], inputs.public[own]))
    assert released(protocol, inputs).society_outcome("north") == released(alone(protocol), theirs)
    first, second, third = (society.preferences for society in released(protocol, inputs).society_outcomes)
    assert len({first, second, third}) == 3
    assert protocol.losses == alone(protocol).losses


def test_a_voter_changes_the_sums_of_its_own_society_alone() -> None:
    """What parallel composition rests on: replaced, it moves one row of the tally, by the sensitivity at most."""
    protocol = make_societies(paradigm=Paradigm.VLCP)
    phase = protocol.phase
    assert isinstance(phase, SocietiesPhase)
    inputs = make_preference_inputs(protocol, 9)
    other = make_preference_inputs(protocol, 9, seed=1)
    before = phase.tally(inputs.private, earlier=[], public=inputs.public)
    for voter in range(9):
        rows = inputs.private.copy()
        rows[voter] = other.private[voter]
        after = phase.tally(rows, earlier=[], public=inputs.public)
        changes = np.abs(after.totals - before.totals).sum(axis=1)
        assert np.flatnonzero(changes).tolist() == [inputs.public[voter, 0]]
        assert int(changes.max()) <= 2 * protocol.summary.bound


@pytest.mark.parametrize("size", [1 << 20, 1 << 40, (1 << 63) - 1 >> 3])
@pytest.mark.parametrize("number", [0, 1, 2, 5, 70, 20_000])
@pytest.mark.parametrize("num_levels", [1, 2, 100])
def test_local_tallies_are_what_a_loop_over_reports_adds_up(num_levels: int, number: int, size: int) -> None:
    """Also where sums of so many might not fit into 64 bits, though signs take turns; those that do not are refused."""
    levels = tuple(0.5 + level / 32 for level in range(num_levels))
    phase = make_societies(paradigm=Paradigm.VLDP, epsilons=levels).phase
    assert isinstance(phase, PerturbedPhase)
    draw = np.random.default_rng(number)
    public = np.stack([draw.integers(0, len(NAMES), number), draw.integers(0, num_levels, number)], axis=1)
    reports = draw.integers(0, size, (number, 2))
    expected = [[0] * 4 for _ in range(len(NAMES) * num_levels)]
    rows: list[list[int]] = public.tolist()
    for place, (society, level) in enumerate(rows):
        cell, shift = expected[society * num_levels + level], phase.shifts[level]
        reports[place] *= (-1) ** cell[0]
        report: list[int] = reports[place].tolist()
        cell[0] += 1
        cell[1] += sum(min(abs((each + (1 << shift >> 1)) >> shift), 1 << 15) ** 2 for each in report)
        cell[2:] = [total + each for total, each in zip(cell[2:], report, strict=True)]
    if max(abs(total) for cell in expected for total in cell) >= 1 << 63:
        with pytest.raises(OverflowError, match="does not fit into 64 bits"):
            phase.tally(reports, earlier=[], public=public)
    else:
        assert phase.tally(reports, earlier=[], public=public).totals.tolist() == expected


class CountedTwice(SocietiesPhase):
    """A fault: the voters of the first society count in the second one as well."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        tally = super().tally(reports, earlier=earlier, public=public)
        totals = tally.totals.copy()
        totals[1] += totals[0]
        return Tally(tally.num_reports, totals)


@pytest.mark.parametrize("given", VARIANTS[:3])
def test_a_voter_that_counts_in_two_societies_is_found_before_anybody_pays(given: dict[str, Any]) -> None:
    class Faulty(MoralPreferences):
        def make_phase(self) -> PerturbedPhase | DisclosedPhase:
            return CountedTwice(self.parameters, self.summary)

    protocol = make_societies(**given)
    protocol.check_loss_groups(np.arange(3)[:, None])
    with pytest.raises(ConfigurationError, match="at least"):
        Faulty(protocol.parameters).check_loss_groups(np.arange(3)[:, None])
    Faulty(protocol.parameters).check_loss_groups(np.arange(1, 3)[:, None])  # those who count once


def test_differences_have_the_errors_of_both_and_are_off_by_these() -> None:
    """The standard deviation of all standardized differences, four of a session, is 1 within five of its errors."""
    protocol = make_societies(paradigm=Paradigm.VLCP, epsilon=0.5)
    inputs = make_preference_inputs(protocol, 12)
    truth = protocol.truth(inputs)
    standardized: list[float] = []
    sessions = draws(100, full=300)
    for seed in range(sessions):
        outcome = released(protocol, inputs, seed=seed)
        for first, second in (("north", "east"), ("south", "north")):
            found = outcome.differences(first, second)
            errors = [society.errors for society in outcome.society_outcomes if society.name in {first, second}]
            assert found is not None
            for place, feature in enumerate(protocol.parameters.features):
                clean = truth[f"{first}, {feature}"] - truth[f"{second}, {feature}"]
                both = [own[place] for own in errors if own is not None]
                assert found[place].standard_error == pytest.approx(math.hypot(*both), rel=1e-12)
                standardized.append((found[place].value - clean) / found[place].standard_error)
    assert np.std(standardized) == pytest.approx(1, rel=5 / math.sqrt(8 * sessions))
    assert abs(float(np.mean(standardized))) < 5 / math.sqrt(len(standardized) / 2)


def test_the_whole_of_trusted_sums_has_the_noise_of_all_societies() -> None:
    protocol = make_societies(paradigm=Paradigm.VLCP)
    inputs = make_preference_inputs(protocol, 12)
    outcome = released(protocol, inputs)
    single = released(alone(protocol), without_societies(inputs))
    assert outcome.errors is not None
    assert single.errors is not None
    assert outcome.errors[0] == pytest.approx(math.sqrt(3) * single.errors[0], rel=1e-12)
    weighed = sum(society.num_voters * (society.preferences or (math.nan,))[0] for society in outcome.society_outcomes)
    assert outcome.preferences[0] == pytest.approx(weighed / 12, rel=1e-9)


def test_a_decision_of_a_society_is_that_of_its_release() -> None:
    protocol = make_societies(paradigm=Paradigm.VLCP)
    inputs = make_preference_inputs(protocol, 300)
    outcome = released(protocol, inputs)
    whole = decide(outcome, {"a": 1.0}, {"b": 1.0})
    ours = decide(outcome.society_outcome("east"), {"a": 1.0}, {"b": 1.0})
    assert whole.p_value is not None
    assert ours.p_value is not None
    east = outcome.society_outcomes[1].preferences
    assert east is not None
    assert ours.margin == pytest.approx(east[0] - east[1])


def test_the_verdict_on_all_voters_knows_that_its_noise_is_of_several_draws() -> None:
    """By 200,000 draws: noise is as large as the margin as often as the p-value says, to five standard errors."""
    protocol = make_societies(num_features=1, paradigm=Paradigm.VLCP)
    phase = protocol.phase
    assert isinstance(phase, SocietiesPhase)
    outcome = released(protocol, make_preference_inputs(protocol, 6))
    p_value = decide(msgspec.structs.replace(outcome, preferences=(1.5,)), {"a": 1.0}, {}).p_value
    uniforms = np.random.default_rng(5).random((600_000, 1))
    noise: IntArray = phase.tally_mechanism.randomize_rows(np.zeros((600_000, 1), dtype=np.int64), uniforms)
    means: FloatArray = noise.reshape(-1, 3).sum(axis=1, dtype=np.int64) * protocol.summary.step / 6
    found = float(np.mean(means >= 1.5))
    assert p_value is not None
    assert abs(found - p_value) < 5 * math.sqrt(p_value / 200_000)


def test_a_society_of_which_nobody_reports_stops_no_vote() -> None:
    for paradigm in (Paradigm.VLCP, Paradigm.VLDP):
        protocol = make_societies(paradigm=paradigm)
        inputs = make_preference_inputs(protocol, 9)
        there = np.flatnonzero(inputs.public[:, 0] != 1)
        outcome = released(protocol, Inputs(inputs.private[there], inputs.public[there]))
        east = outcome.society_outcomes[1]
        assert (east.num_voters, east.preferences, east.errors, east.levels) == (0, None, None, ())
        assert outcome.num_voters == 6
        with pytest.raises(ConfigurationError, match="society is 'east': use one of which somebody reported"):
            outcome.society_outcome("east")


def test_a_release_is_no_larger_than_the_largest() -> None:
    for given in VARIANTS:
        protocol = make_societies(**given)
        largest = protocol.largest_outcome(12)
        outcome = released(protocol, make_preference_inputs(protocol, 12))
        assert len(msgspec.msgpack.encode(outcome)) <= len(msgspec.msgpack.encode(largest))
    assert make_preferences().largest_outcome(12) is None


def test_a_society_and_an_epsilon_of_ones_own_stand_in_the_public_row() -> None:
    protocol = make_societies(epsilons=LEVELS, chosen_by="voter")
    roster = protocol.encode_public({"society": ["south", "north"]}, num_parties=2)
    assert roster.tolist() == [[2, 2], [0, 2]]  # until they choose: the dearest
    assert protocol.write_public(roster) == {"society": ["south", "north"], "epsilon": ["2.0", "2.0"]}
    assert protocol.encode_chosen({"epsilon": 0.5}) == (0,)
    pair = [[[1, 0], [0, 1]]]
    row = protocol.encode_own({"records": pair, "society": "south", "epsilon": 2}, (2, 2))
    assert row == protocol.encode_own({"records": pair}, (2, 2))
    with pytest.raises(ConfigurationError, match="society is 'east': use the society that the server has: south"):
        protocol.encode_own({"records": pair, "society": "east"}, (2, 2))
    with pytest.raises(ConfigurationError, match=r"public row (is|are) .*the place of a society, in"):
        protocol.encode_own({"records": pair}, (3, 2))


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"societies": ("north",)}, r"use 2 to 256 societies \(left out, all voters are one\)"),
        ({"societies": ()}, "use 2 to 256 societies"),
        ({"societies": ("north", "north")}, "use distinct names"),
        ({"societies": ("north", " ")}, "use distinct names"),
        (
            {"paradigm": Paradigm.VLCP, "relation": "add-remove-one", "num_voters": 9},
            "leave out societies with add-remove-one",
        ),
    ],
)
def test_societies_that_cannot_be_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        make_societies(**given)


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
def test_a_voter_of_no_known_society_and_a_society_without_voters_are_refused() -> None:
    protocol = make_societies()
    with pytest.raises(ConfigurationError, match="society in row 2 is 'west': use one of north, east, south"):
        protocol.encode_public({"society": ["north", "west"]}, num_parties=2)
    with pytest.raises(ConfigurationError, match="'east: a society without voters': use societies"):
        protocol.check_roster(np.array([[0], [2]], dtype=np.int64))
    with pytest.raises(ConfigurationError, match="society"):
        protocol.encode_public({}, num_parties=2)
    with pytest.raises(ConfigurationError, match="leave out society, since all voters are one society"):
        make_preferences().check_columns(["records", "society"])


@pytest.mark.bad_input("societies that are not two or more, or that a voter is not in exactly once")
def test_differences_of_unknown_or_equal_societies_are_refused() -> None:
    protocol = make_societies()
    outcome = released(protocol, make_preference_inputs(protocol, 9))
    with pytest.raises(ConfigurationError, match="society is 'west': use one of north, east, south"):
        outcome.differences("north", "west")
    with pytest.raises(ConfigurationError, match="society is 'north': use another one than 'north'"):
        outcome.differences("north", "north")
    single = alone(protocol)
    with pytest.raises(ConfigurationError, match="leave out society: all voters are one society"):
        released(single, make_preference_inputs(single, 3)).society_outcome("north")


@pytest.mark.parametrize("given", [{}, {"mechanism": "functional", "paradigm": Paradigm.RLDP}, VARIANTS[-1]])
def test_a_voters_noise_is_that_of_its_own_level_in_every_society(given: dict[str, Any]) -> None:
    own: dict[str, Any] = {**given, "epsilons": LEVELS}
    protocol = make_societies(**own)
    (phase,), (alike,) = protocol.phases, alone(protocol).phases
    for society in range(len(NAMES)):
        for level in range(len(LEVELS)):
            assert phase.mechanism_of((society, level)) == alike.mechanism_of((level,))
            assert phase.losses_of((society, level)) == alike.losses_of((level,))
