"""Moral preferences as a protocol: tables into rows, what each paradigm costs, levels of ε, and the outcome."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import Session, make_preference_inputs, make_preferences, raw
from psephos.agents.noise import SecureNoise
from psephos.protocol import Inputs, SessionRules, SimulatedNoise, Tally, run_population
from psephos.protocol.errors import ConfigurationError, RemoteProtocolError
from psephos.protocol.messages import Report, encode
from psephos.protocol.moral_preferences import (
    DisclosedPhase,
    MoralPreferences,
    NoisyMaxima,
    Outcome,
    Paradigm,
    PerturbedPhase,
    Records,
)
from psephos.protocol.moral_preferences.parameters import PAPERS
from psephos.protocol.moral_preferences.records import GREATEST_FEATURE
from psephos.protocol.moral_preferences.sensitivity import printed_sensitivity, tight_sensitivity
from psephos.protocol.population import draw_reports
from psephos.protocol.privacy import NeighboringRelation, TrustModel
from thoroughness import draws

NOISE = SimulatedNoise(2019, session="s")
PAIR = [[1.0, 0.0], [0.0, 0.5]]
OTHER = [[0.25, -1.0], [2.0, 0.0]]
LEVELS = (0.01, 0.2, 1.0)


def refusal(protocol: MoralPreferences, table: dict[str, Any]) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        protocol.encode(table)
    return caught.value


def kinds(**given: Any) -> list[dict[str, Any]]:
    """Return every paradigm with every mechanism that it has."""
    of_level: dict[str, list[str]] = {
        "VLCP": ["laplace", "direction"],
        "VLDP": ["laplace", "direction"],
        "RLCP": ["laplace", "direction", "pooled"],
        "RLDP": ["laplace", "direction", "pooled", "functional"],
    }
    return [
        {"paradigm": Paradigm(paradigm), "mechanism": mechanism, **given}
        for paradigm, mechanisms in of_level.items()
        for mechanism in mechanisms
    ]


def name_of(given: dict[str, Any]) -> str:
    return f"{given['paradigm'].value}-{given['mechanism']}"


every_kind = pytest.mark.parametrize("given", kinds(), ids=name_of)
LOCAL_KINDS = [given for given in kinds() if given["paradigm"].value.endswith("DP")]
every_local_kind = pytest.mark.parametrize("given", LOCAL_KINDS, ids=name_of)


# Tables


def test_columns_say_who_may_know_them() -> None:
    assert [(column.name, column.private) for column in make_preferences().columns()] == [("records", True)]
    personal = make_preferences(epsilons=LEVELS).columns()
    assert [(column.name, column.private) for column in personal] == [("epsilon", False), ("records", True)]
    assert personal[0].description.endswith("one of 0.01, 0.2, 1")


@every_kind
def test_one_row_for_each_voter_whether_records_are_lists_arrays_tables_or_all_together(given: dict[str, Any]) -> None:
    protocol = make_preferences(2, **given)
    lists = [[PAIR, OTHER], [OTHER], [PAIR, PAIR, OTHER]]
    expected = protocol.encode({"records": lists}).private
    assert expected.shape == (3, protocol.summary.num_values)
    arrays = [np.array(voter) for voter in lists]
    named = [[[dict(zip("ba", reversed(each), strict=True)) for each in pair] for pair in voter] for voter in lists]
    for records in (arrays, named, Records.from_voters(arrays, num_features=2)):
        inputs = protocol.encode({"records": records})
        assert np.array_equal(inputs.private, expected)
        assert inputs.public.shape == (3, 0)


@every_kind
def test_a_voters_own_row_is_its_row_of_the_table_bit_for_bit(given: dict[str, Any]) -> None:
    protocol = make_preferences(3, **given)
    generator = np.random.default_rng(0)
    voters = [generator.normal(size=(int(number), 2, 3)) for number in generator.integers(1, 9, size=draws(6, full=20))]
    inputs = protocol.encode({"records": voters})
    rows: list[list[int]] = inputs.private.tolist()
    assert [list(protocol.encode_own({"records": voter}, ())) for voter in voters] == rows
    for row in rows:
        protocol.check_row(row, ())
    protocol.check_inputs(inputs)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ([], "0 records"),
        (np.empty((0, 2, 2)), "0 records"),
        ([PAIR] * 4, "4 records"),
        ([PAIR, [[1.0], [2.0]]], "something else"),  # of different width
        ([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], "an array of shape (1, 2, 3)"),  # of the wrong width
        ([[[1.0, 2.0]]], "an array of shape (1, 1, 2)"),
        ([PAIR, OTHER, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]], "something else"),
        (PAIR, "an array of shape (2, 2)"),
        (1.0, "an array of shape ()"),
        ("yes", "something else"),
        (None, "an array of shape ()"),
        ([["a", "b"]], "something else"),
        ([[[math.nan, 0.0], [0.0, 0.0]]], "an array of shape (1, 2, 2)"),
        ([[[0.0, 0.0], [math.inf, 0.0]]], "an array of shape (1, 2, 2)"),
        ([[[0.0, 0.0], [0.0, -2 * GREATEST_FEATURE]]], "an array of shape (1, 2, 2)"),
    ],
)
def test_records_that_are_not_allowed_are_refused_by_row_and_not_shown(entry: Any, value: str) -> None:
    protocol = make_preferences(max_records=3)
    error = refusal(protocol, {"records": [[PAIR], entry, [PAIR]]})
    assert error.field == "records in row 2"
    assert error.value == value
    with refuses("records in row 1", value):
        protocol.encode_own({"records": entry}, ())


def together(*numbers: int, num_features: int = 2) -> Records:
    """Return voters with so many records, all ones."""
    return Records.from_voters([np.ones((number, 2, num_features)) for number in numbers], num_features=num_features)


FULL, UNKNOWN = {"a": 1.0, "b": 2.0}, "records in row 1: an alternative"
REFUSED: list[tuple[dict[str, Any], dict[str, Any], str, Any, str]] = [
    *(
        ({}, {"records": [[[FULL, {**FULL, name: 7.5}]]]}, UNKNOWN, name, "described by all of a, b")
        for name in ("c", "A", "")
    ),
    ({}, {"records": [[[{"a": 1.0}, FULL]]]}, UNKNOWN, "b", "described by all of a, b"),
    ({}, {"records": together(1, num_features=3)}, "records", "with 3 features", "with 2 features"),
    ({}, {"records": together(1, 0, 2)}, "records in row 2", "0 records", "1 to 3 records (max_records)"),
    ({}, {"records": together(2, 3, 4)}, "records in row 3", "4 records", "1 to 3 records (max_records)"),
    ({}, {}, "records", "no such column", ""),
    ({"epsilons": LEVELS}, {"epsilon": [1.0]}, "records", "no such column", ""),
    ({"epsilons": LEVELS}, {"records": [[PAIR]]}, "epsilon", "no such column", ""),
    *(
        ({"epsilons": LEVELS}, {"records": [[PAIR]] * 2, "epsilon": [1.0] * n}, "epsilon", f"{n} entries", "2 entries")
        for n in (0, 1, 3)
    ),
    ({}, {"records": [[PAIR]], "recrods": [1]}, "recrods", None, "the columns are records (did you mean 'records'?)"),
    ({}, {"records": [[PAIR]], "epsilon": [1.0]}, "epsilon", None, "left out, since nobody has an ε of its own here"),
]


@pytest.mark.parametrize(("given", "table", "field", "value", "allowed"), REFUSED, ids=range(len(REFUSED)))
def test_a_table_that_is_not_allowed_is_refused_by_its_field(
    given: dict[str, Any], table: dict[str, Any], field: str, value: Any, allowed: str
) -> None:
    error = refusal(make_preferences(max_records=3, **given), table)
    assert error.field == field
    assert value is None or error.value == value
    assert allowed in error.allowed
    assert "7.5" not in str(error)


# Levels of ε


@pytest.mark.parametrize("entries", [[1.0, 0.01, 0.2], ["1", "0.01", "0.20"], np.array([1.0, 0.01, 0.2])])
def test_a_public_row_is_the_place_of_the_voters_epsilon(entries: Any) -> None:
    protocol = make_preferences(epsilons=LEVELS)
    inputs = protocol.encode({"records": [[PAIR]] * 3, "epsilon": entries})
    assert inputs.public.tolist() == [[2], [0], [1]]
    assert protocol.encode_public({"epsilon": entries}, num_parties=3).tolist() == [[2], [0], [1]]
    written = protocol.write_public(inputs.public)
    assert written == {"epsilon": ["1.0", "0.01", "0.2"]}
    assert protocol.encode_public(written, num_parties=3).tolist() == [[2], [0], [1]]


@pytest.mark.parametrize("entry", [0.5, 0.0, -1.0, math.nan, math.inf, "one", None, "", 0.2000001])
def test_an_epsilon_that_is_no_level_is_refused_by_its_row(entry: Any) -> None:
    error = refusal(make_preferences(epsilons=LEVELS), {"records": [[PAIR]] * 2, "epsilon": [1.0, entry]})
    assert error.field == "epsilon in row 2"
    assert error.value is entry


def test_levels_follow_from_the_public_column() -> None:
    table: dict[str, Any] = {"epsilon": ["0.2", "1", "0.2", "0.01"]}
    assert MoralPreferences.complete({"bound": 1.0}, table) == {"bound": 1.0, "epsilons": [0.01, 0.2, 1.0]}
    assert MoralPreferences.complete({"epsilons": [1.0]}, table) == {"epsilons": [1.0]}
    assert MoralPreferences.complete({"epsilon": 1.0}, table) == {"epsilon": 1.0}
    assert MoralPreferences.complete({}, {"records": []}) == {}
    with refuses("epsilon in row 2", "-1"):
        MoralPreferences.complete({}, {"epsilon": ["1", "-1"]})


def test_a_voter_may_state_its_epsilon_and_is_told_if_the_server_has_another() -> None:
    protocol = make_preferences(epsilons=LEVELS)
    expected = protocol.encode_own({"records": [PAIR]}, (2,))
    assert protocol.encode_own({"records": [PAIR], "epsilon": "1.0"}, (2,)) == expected
    with pytest.raises(ConfigurationError) as caught:
        protocol.encode_own({"records": [PAIR], "epsilon": 0.2}, (2,))
    assert (caught.value.field, caught.value.allowed) == ("epsilon", "the ε that the server has: 1")
    with pytest.raises(ConfigurationError):
        protocol.encode_own({"records": [PAIR], "epsilon": 0.5}, (2,))


@pytest.mark.parametrize("public", [(), (3,), (-1,), (0, 0)])
def test_a_server_that_tells_a_voter_no_level_is_refused(public: tuple[int, ...]) -> None:
    protocol = make_preferences(epsilons=LEVELS)
    for check in (lambda: protocol.check_public(public), lambda: protocol.encode_own({"records": [PAIR]}, public)):
        with refuses("the server's public row"):
            check()
    protocol.check_public((2,))
    with pytest.raises(ConfigurationError, match="empty"):
        make_preferences().check_public((0,))


# Rows that no records give


@every_kind
def test_a_row_that_no_records_give_is_neither_drawn_for_nor_counted(given: dict[str, Any]) -> None:
    protocol = make_preferences(2, max_records=3, **given)
    inputs = make_preference_inputs(protocol, 3)
    greatest = protocol.summary.bound
    bad = [greatest] * protocol.summary.num_values
    if given["mechanism"] in {"pooled", "functional"}:
        bad = [greatest + 1, *bad[1:]]
    with pytest.raises(ValueError, match="no summary of any records"):
        protocol.check_row(bad, ())
    private = inputs.private.copy()
    private[1] = bad
    with pytest.raises(ValueError, match=r"not a summary of records|takes values in"):
        protocol.check_inputs(Inputs(private, inputs.public))


# Phases and losses


@every_kind
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.0])
def test_losses_by_hand(given: dict[str, Any], epsilon: float) -> None:
    """At voter level ε, without parts. At record level ε for a record, and n times as much for its voter.

    A preference vector is bounded whatever the records are, so that its voter pays ε as well.
    """
    protocol = make_preferences(epsilon=epsilon, max_records=13, **given)
    (loss,) = protocol.losses
    is_central = given["paradigm"] in {Paradigm.VLCP, Paradigm.RLCP}
    assert type(protocol.phase) is (DisclosedPhase if is_central else PerturbedPhase)
    assert protocol.trusts_server == is_central
    assert loss.model is (TrustModel.CENTRAL if is_central else TrustModel.LOCAL)
    assert (loss.relation, loss.unit) == (NeighboringRelation.REPLACE_ONE, "voter")
    is_record = given["paradigm"] in {Paradigm.RLCP, Paradigm.RLDP}
    times = 13 if is_record and given["mechanism"] != "laplace" else 1
    assert loss.claimed == epsilon * times
    assert loss.proven == pytest.approx(epsilon * times, rel=1e-12)
    if not is_record:
        assert loss.part is None
    else:
        assert loss.part is not None
        assert (loss.part.unit, loss.part.claimed) == ("record", epsilon)
        assert loss.part.proven == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize(("paradigm", "mechanism"), [("RLCP", "pooled"), ("RLDP", "pooled"), ("RLDP", "functional")])
@pytest.mark.parametrize(("num_features", "share"), [(1, 0.80306), (10, 8.36 / 11.41)])
def test_the_printed_sensitivity_loses_less_than_it_claims(
    paradigm: str, mechanism: Any, num_features: int, share: float
) -> None:
    """One feature: a = 2√(2/π), b = √2/π, cos φ = .39136: 1.79274 against 2.23238. Ten: reading M6."""
    given: dict[str, Any] = {"paradigm": Paradigm(paradigm), "mechanism": mechanism, "sensitivity": "printed"}
    (loss,) = make_preferences(num_features, epsilon=2.0, max_records=7, **given).losses
    assert loss.part is not None
    assert (loss.part.claimed, loss.claimed) == (2.0, 14.0)
    assert loss.part.proven == pytest.approx(2.0 * share, rel=1e-3)
    assert loss.proven == pytest.approx(14.0 * share, rel=1e-3)
    assert share == pytest.approx(tight_sensitivity(num_features) / printed_sensitivity(num_features), rel=1e-3)


@every_local_kind
def test_each_level_has_its_own_losses_and_noise(given: dict[str, Any]) -> None:
    protocol = make_preferences(epsilons=LEVELS, max_records=5, **given)
    phase = protocol.phase
    times = 5 if given["paradigm"] is Paradigm.RLDP and given["mechanism"] != "laplace" else 1
    for place, epsilon in enumerate(LEVELS):
        (loss,) = phase.losses_of((place,))
        assert loss.claimed == epsilon * times
        assert loss.proven == pytest.approx(epsilon * times, rel=1e-12)
        event: Any = phase.mechanism_of((place,)).event_of(phase.num_values)
        assert event.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert phase.losses == phase.losses_of((2,)), "what anybody pays at most"
    assert phase.mechanism is phase.mechanism_of((0,)), "the widest reports"
    assert len({phase.mechanism_of((place,)).slots_of(phase.num_values) for place in range(3)}) == 1


def test_losses_are_grouped_by_level() -> None:
    phase = make_preferences(epsilons=LEVELS).phase
    groups = phase.loss_groups(np.array([[2], [0], [2], [2]], dtype=np.int64))
    assert [(name, number) for name, number, _ in groups] == [("with ε = 0.01", 1), ("with ε = 1", 3)]
    assert [losses for _, _, losses in groups] == [phase.losses_of((0,)), phase.losses_of((2,))]
    (alone,) = phase.loss_groups(np.array([[1], [1]], dtype=np.int64))
    assert alone == ("", 2, phase.losses_of((1,)))
    same = make_preferences().phase
    assert same.loss_groups(np.empty((4, 0), dtype=np.int64)) == [("", 4, same.losses)]


@pytest.mark.parametrize("mechanism", ["laplace", "direction"])
def test_each_voters_noise_has_the_scale_of_its_own_epsilon(mechanism: Any) -> None:
    """4,000 voters a level with rows of zeros.

    A mean of 8,000 squares of Laplace noise has a relative error of √(5/8000) = .025; two numbers of a direction share
    a radius, and theirs is √(7/3/4000) = .024. Eight of them are allowed: false alarm below 1e-9; fixed seed.
    """
    protocol = make_preferences(epsilons=LEVELS, mechanism=mechanism)
    phase = protocol.phase
    number = 12_000
    public = np.arange(number, dtype=np.int64)[:, None] % 3
    inputs = Inputs(np.zeros((number, 2), dtype=np.int64), public)
    reports = draw_reports(phase, inputs, noise=NOISE, protocol=protocol.name, start=0) * protocol.summary.step
    for place, epsilon in enumerate(LEVELS):
        expected = 8 * 2.0**2 / epsilon**2 if mechanism == "laplace" else 3 * (2 / epsilon) ** 2
        assert float((reports[public[:, 0] == place] ** 2).mean()) == pytest.approx(expected, rel=0.2)


# Reports


@every_local_kind
def test_a_report_beyond_what_the_voters_own_noise_reaches_is_refused(given: dict[str, Any]) -> None:
    phase = make_preferences(epsilons=LEVELS, **given).phase
    for place in range(3):
        low, high = phase.mechanism_of((place,)).report_range
        width = phase.num_reported
        phase.check_report([low] + [0] * (width - 1), (place,))
        phase.check_report([0] * (width - 1) + [high], (place,))
        if given["mechanism"] != "functional":
            phase.check_report([low] + [high] * (width - 1), (place,))
        for report in ([high + 1] * width, [low] * (width - 1) + [low - 1]):
            with pytest.raises(ValueError, match="the range at the voter's ε"):
                phase.check_report(report, (place,))


@pytest.mark.parametrize("report", [[1, 1 << 20], [-(1 << 20), -1], [1 << 19, -(1 << 19) - 1]])
def test_a_place_just_outside_of_the_ball_is_no_maximum(report: list[int]) -> None:
    """It would weigh more than any voter's: the ball of radius 2 has 2²⁰ steps of 2⁻¹⁹ on either side."""
    protocol = make_preferences(2, paradigm=Paradigm.RLDP, mechanism="functional")
    phase = protocol.phase
    assert phase.mechanism.report_range == (-(1 << 20), 1 << 20)
    with pytest.raises(ValueError, match="outside of the ball"):
        phase.check_report(report, ())
    for inside in ([0, 1 << 20], [-(1 << 20) + 1, -1], [1 << 19, -(1 << 19)]):
        phase.check_report(inside, ())


@pytest.mark.parametrize("given", [given for given in kinds() if given["paradigm"].value.endswith("CP")], ids=name_of)
def test_a_summary_that_no_records_give_is_refused_and_the_others_are_counted(given: dict[str, Any]) -> None:
    """Nothing that was accepted is lost: the release is that of the voters who are left."""
    protocol = make_preferences(2, max_records=3, **given)
    session = Session(protocol, make_preference_inputs(protocol, 4), seed=3, rules=SessionRules(quorum=3))
    wire = session.wire()
    wire.start()
    for name in session.names:  # hellos
        wire.feed_server(name, wire.up[name].popleft())
    bad = [protocol.summary.bound] * protocol.summary.num_values
    if given["mechanism"] == "pooled":
        bad[0] += 1
    wire.feed_server("p2", encode(Report(0, raw(bad))))
    wire.up["p2"].clear()
    wire.crash("p2")
    wire.run()
    error = wire.drops["p2"]
    assert isinstance(error, RemoteProtocolError)
    assert wire.result is not None
    released = wire.result.outcome
    assert isinstance(released, Outcome)
    assert released.num_voters == 3
    assert set(wire.outcomes) == {"p0", "p1", "p3"}
    rows = np.delete(session.inputs.private, 2, axis=0)
    phase = protocol.phase
    assert isinstance(phase, DisclosedPhase)
    noisy = session.fresh_noise().randomize(
        phase.tally_mechanism,
        rows.sum(axis=0).tolist(),
        protocol=protocol.name,
        phase="release of preferences",
        place=0,
    )
    assert released == protocol.outcome([Tally(3, np.array(noisy, dtype=np.int64))])


# Tallies


def test_a_local_tally_has_for_each_level_the_number_coarse_squares_and_sums() -> None:
    phase = make_preferences(epsilons=(0.5, 1.0)).phase
    assert isinstance(phase, PerturbedPhase)
    reports = np.array([[1 << 24, 0], [5, -7], [-(1 << 24), 1 << 24]], dtype=np.int64)
    public = np.array([[1], [0], [1]], dtype=np.int64)
    tally = phase.tally(reports, earlier=[], public=public)
    # At ε = 1 noise has the scale 2**21 and the deviation 2**21.5, of which a 32nd is rounded down to steps of 2**16.
    coarse = (1 << 24) >> 16
    assert tally.totals.tolist() == [[1, 0, 5, -7], [2, 3 * coarse**2, 0, 1 << 24]]
    nobody = phase.tally(reports[:0], earlier=[], public=public[:0])
    assert nobody == Tally(0, np.zeros((2, 4), dtype=np.int64))


@every_local_kind
@pytest.mark.parametrize("epsilons", [(1e-4,), (1.0,), (100.0,), LEVELS])
def test_coarse_squares_are_those_of_the_reports_within_half_a_coarse_step(
    given: dict[str, Any], epsilons: tuple[float, ...]
) -> None:
    """Each report is rounded to a grid of coarse steps: c = r + δ, |δ| ≤ h, so |c² − r²| ≤ 2|r|h + h²."""
    protocol = make_preferences(epsilons=epsilons, **given)
    phase = protocol.phase
    assert isinstance(phase, PerturbedPhase)
    inputs = make_preference_inputs(protocol, 60)
    reports = draw_reports(phase, inputs, noise=NOISE, protocol=protocol.name, start=0)
    tally = phase.tally(reports, earlier=[], public=inputs.public)
    sums = phase.sums_of(tally)
    assert [each.epsilon for each in sums] == list(epsilons)
    for place, of_level in enumerate(sums):
        own = reports[inputs.public[:, 0] == place] * protocol.summary.reported_step
        assert of_level.num_voters == len(own)
        assert of_level.mean == pytest.approx(own.mean(axis=0), rel=1e-9, abs=1e-12)
        half = math.ldexp(protocol.summary.reported_step, phase.shifts[place] - 1)
        allowed = float((2 * np.abs(own) * half + half**2).mean())
        assert abs(of_level.mean_square - float((own**2).mean())) <= allowed
        # Which is small beside the noise, where it is additive.
        if of_level.noise_variance is not None:
            assert half**2 < of_level.noise_variance / 4000


def test_squares_of_the_widest_reports_do_not_overflow() -> None:
    phase = make_preferences(epsilons=(1e-4, 100.0), mechanism="pooled", paradigm=Paradigm.RLDP).phase
    for place in (0, 1):
        for end in phase.mechanism_of((place,)).report_range:
            reports = np.full((3, 5), end, dtype=np.int64)
            tally = phase.tally(reports, earlier=[], public=np.full((3, 1), place, dtype=np.int64))
            assert 1 <= math.sqrt(int(tally.totals[place, 1]) / 15) <= 1 << 15
            assert tally.totals[place, 2:].tolist() == [3 * end] * 5


def test_levels_with_nobody_are_left_out() -> None:
    protocol = make_preferences(epsilons=LEVELS)
    inputs = protocol.encode({"records": [[PAIR], [OTHER]], "epsilon": [0.2, 0.2]})
    outcome = run_population(protocol, inputs, noise=NOISE).outcome
    assert [(each.epsilon, each.num_voters, each.weight) for each in outcome.levels] == [(0.2, 2, 1.0)]


# Outcomes


@every_kind
def test_an_outcome_says_what_was_run(given: dict[str, Any]) -> None:
    protocol = make_preferences(3, max_records=5, epsilon=0.5, **given)
    outcome = run_population(protocol, make_preference_inputs(protocol, 6), noise=NOISE).outcome
    (loss,) = protocol.losses
    assert outcome.features == ("a", "b", "c")
    assert (outcome.paradigm, outcome.mechanism) == (given["paradigm"].value, given["mechanism"])
    assert outcome.num_voters == 6
    assert len(outcome.preferences) == 3
    assert outcome.is_direction == (given["mechanism"] == "direction")
    assert outcome.epsilon_voter == loss.proven
    assert outcome.epsilon_record == (loss.proven if loss.part is None else loss.part.proven)
    assert [(each.epsilon, each.num_voters, each.weight) for each in outcome.levels] == [(0.5, 6, 1.0)]
    assert (outcome.errors is None) == (given["mechanism"] == "pooled")
    assert isinstance(outcome.maxima, NoisyMaxima) == (given["mechanism"] == "functional")
    assert not outcome.is_projected
    if outcome.is_direction:
        assert math.fsum(each * each for each in outcome.preferences) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("paradigm", PAPERS)
@pytest.mark.parametrize("mechanism", ["laplace", "functional", "pooled", "direction"])
def test_only_a_mean_of_vectors_is_projected_to_the_ball(paradigm: Paradigm, mechanism: Any) -> None:
    given: dict[str, Any] = {"paradigm": paradigm, "mechanism": mechanism}
    if given not in kinds():
        return
    protocol = make_preferences(2, project=True, epsilon=0.05, **given)
    outcome = run_population(protocol, make_preference_inputs(protocol, 3), noise=NOISE).outcome
    assert outcome.is_projected == (mechanism == "laplace")
    size = math.fsum(map(abs, outcome.preferences))
    if mechanism == "laplace":
        assert size == pytest.approx(2, rel=1e-12)  # noise of scale 80 or more leaves the ball
        plain = make_preferences(2, epsilon=0.05, **given)
        unprojected = run_population(plain, make_preference_inputs(plain, 3), noise=NOISE).outcome
        assert math.fsum(map(abs, unprojected.preferences)) > 2


def test_pooled_preferences_are_on_a_public_grid() -> None:
    protocol = make_preferences(3, paradigm=Paradigm.RLCP, mechanism="pooled")
    outcome = run_population(protocol, make_preference_inputs(protocol, 9), noise=NOISE).outcome
    assert all((each * 2.0**32).is_integer() for each in outcome.preferences)


@every_kind
def test_no_preference_is_a_negative_zero(given: dict[str, Any]) -> None:
    """Of voters who see no difference, without noise to speak of where that is possible."""
    protocol = make_preferences(2, epsilon=100.0, **given)
    phase = protocol.phase
    shape = phase.tally_mechanism if isinstance(phase, DisclosedPhase) else None
    totals = [0] * protocol.summary.num_values if shape else [[4, 0, *[0] * phase.num_reported]]
    outcome = protocol.outcome([Tally(4, np.array(totals, dtype=np.int64))])
    assert b"-0.0" not in msgspec.json.encode(outcome)
    truth = protocol.truth(protocol.encode({"records": [[[[1.0, 2.0], [1.0, 2.0]]]]}))
    assert list(truth.values()) == [0.0, 0.0]
    assert b"-0.0" not in msgspec.json.encode(truth)


def test_a_small_negative_number_that_is_projected_away_is_no_negative_zero() -> None:
    protocol = make_preferences(2, paradigm=Paradigm.VLCP, project=True)
    outcome = protocol.outcome([Tally(1, np.array([-5, 1 << 25], dtype=np.int64))])
    assert outcome.preferences == (0.0, 2.0)
    assert math.copysign(1, outcome.preferences[0]) == 1


# The truth


@every_kind
def test_the_truth_is_the_release_without_noise(given: dict[str, Any]) -> None:
    """At ε = 100, with 20,000 equal voters, noise is small beside what is told."""
    protocol = make_preferences(2, epsilon=100.0, max_records=4, **given)
    voter = protocol.encode({"records": [[PAIR, OTHER, [[1.0, 0.0], [0.0, 0.0]]]]}).private
    inputs = Inputs(np.repeat(voter, 20_000, axis=0), np.empty((20_000, 0), dtype=np.int64))
    truth = protocol.truth(inputs)
    assert set(truth) == {"a", "b"}
    assert math.fsum(map(abs, truth.values())) > 0.1
    released = run_population(protocol, inputs, noise=NOISE).outcome
    for told, true in zip(released.preferences, truth.values(), strict=True):
        assert told == pytest.approx(true, abs=0.03)


def test_the_truth_is_the_mean_of_the_voters_vectors() -> None:
    protocol = make_preferences(2)
    inputs = make_preference_inputs(protocol, 7)
    mean = inputs.private.mean(axis=0) * protocol.summary.step
    assert list(protocol.truth(inputs).values()) == pytest.approx(mean.tolist(), rel=1e-14)


def test_the_truth_does_not_depend_on_epsilon() -> None:
    for remedy in ("project", "trim", "nonconvex"):
        given: dict[str, Any] = {"paradigm": Paradigm.RLDP, "mechanism": "functional", "remedy": remedy}
        truths = [
            protocol.truth(make_preference_inputs(protocol, 5))
            for protocol in (make_preferences(epsilon=epsilon, **given) for epsilon in (0.01, 10.0))
        ]
        assert truths[0] == truths[1]


def test_a_deployments_noise_knows_every_mechanism() -> None:
    for given in kinds():
        protocol = make_preferences(**given)
        for phase in protocol.phases:
            SecureNoise().check(phase.mechanism)
            if isinstance(phase, DisclosedPhase):
                SecureNoise().check(phase.tally_mechanism)
