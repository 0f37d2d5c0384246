"""Fair votes: tables in, rankings checked, losses stated, and outcomes out, with numbers worked by hand."""

import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refused_by, refuses
from helpers import Session, make_fair_inputs, make_fair_vote, outcome_of_those_who_reported
from psephos.agents.noise import SecureNoise
from psephos.protocol import (
    BudgetExceededError,
    ConfigurationError,
    Inputs,
    SessionRules,
    SimulatedNoise,
    Tally,
    run_population,
)
from psephos.protocol.fair_voting import (
    DisclosedRankings,
    FairVoting,
    Outcome,
    Parameters,
    Rankings,
)
from psephos.protocol.fair_voting.choices import SampledChoice
from psephos.protocol.fair_voting.kinds import CENTRAL, LOCAL
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.messages import MAX_MESSAGE_BYTES
from psephos.protocol.population import draw_for_release
from psephos.protocol.privacy import Budget, NeighboringRelation, TrustModel
from thoroughness import draws

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
NOISE = SimulatedNoise(3, session="s")
MECHANISMS: list[dict[str, Any]] = [
    {"mechanism": "laplace"},
    {"mechanism": "laplace", "calibration": "printed", "relation": ADD},
    {"mechanism": "sampling", "num_samples": 2},
    {"mechanism": "sampling", "num_samples": 2, "reading": "subsample"},
    {"mechanism": "exponential"},
    {"mechanism": "permute_and_flip"},
    *({"mechanism": mechanism} for mechanism in (*LOCAL, "local")),
]
every_mechanism = pytest.mark.parametrize("given", MECHANISMS, ids=lambda given: "-".join(map(str, given.values())))
TABLE: dict[str, Any] = {"group": ["g0", "g1", "g0"], "ranking": ["b > a > c", ["c", "b", "a"], "a>b>c"]}


def proven_of(vote: FairVoting, group: int = 0) -> float:
    (loss,) = vote.losses_of([group])
    return loss.proven


# Tables


def test_columns_say_who_may_know_them() -> None:
    columns = make_fair_vote().columns()
    assert [(column.name, column.private) for column in columns] == [("group", False), ("ranking", True)]
    assert "one of g0, g1" in columns[0].description
    assert "all of a, b, c, the best first" in columns[1].description


def test_rankings_are_text_lists_or_positions() -> None:
    vote = make_fair_vote(2, 1)
    inputs = vote.encode(TABLE)
    assert inputs.private.tolist() == [[1, 0, 2], [2, 1, 0], [0, 1, 2]]
    assert inputs.public.tolist() == [[0], [1], [0]]
    same = vote.encode({"group": np.array([0, 1, 0]), "ranking": Rankings(inputs.private)})
    assert np.array_equal(same.private, inputs.private)
    assert np.array_equal(same.public, inputs.public)
    vote.check_inputs(inputs)
    assert vote.write_public(inputs.public) == {"group": ["g0", "g1", "g0"]}
    assert np.array_equal(vote.encode_public({"group": ["g0", "g1", "g0"]}, num_parties=3), inputs.public)


@pytest.mark.parametrize(
    ("entry", "problem", "value"),
    [
        ("a > b", "missing", "c"),
        ("a > b > b", "repeated", "b"),
        ("a > b > d", "unknown", "d"),
        ("a > b > c > d", "unknown", "d"),
        ("a > b > c > a", "repeated", "a"),
        ("a, b, c", "unknown", "a, b, c"),
        ("", "unknown", ""),
        ("A > b > c", "unknown", "A"),
        ([], "missing", "a"),
        (["a", "b"], "missing", "c"),
        (("a", "a", "b"), "repeated", "a"),
        (None, "unknown", "None"),
        (1.5, "unknown", "1.5"),
    ],
)
def test_what_is_no_ranking_of_the_alternatives_is_refused_by_its_row(entry: Any, problem: str, value: str) -> None:
    vote = make_fair_vote(2, 1)
    error = refused_by(lambda: vote.encode({**TABLE, "ranking": ["a>b>c", entry, "a>b>c"]}))
    assert (error.field, error.value) == (f"ranking in row 2: {problem} alternative", value)
    assert "each of a, b, c once" in error.allowed
    own = refused_by(lambda: vote.encode_own({"ranking": entry}, [0]))
    assert own.field == f"ranking in row 1: {problem} alternative"


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ({"group": ["g0"] * 3}, "ranking"),
        ({"ranking": TABLE["ranking"]}, "group"),
        ({**TABLE, "weight": [1, 2, 3]}, "weight"),
        ({**TABLE, "group": ["g0", "g1"]}, "group"),
        ({**TABLE, "group": ["g0", "g2", "g1"]}, "group in row 2"),
        ({**TABLE, "group": ["g0", "g1", ""]}, "group in row 3"),
        ({**TABLE, "group": np.array([0, 1, 2])}, "group"),
        ({**TABLE, "group": np.array([0, -1, 1])}, "group"),
        ({**TABLE, "ranking": Rankings(np.array([[0, 1]] * 3))}, "ranking"),
    ],
)
def test_a_table_that_is_not_allowed_is_refused_by_its_field(table: dict[str, Any], field: str) -> None:
    assert refused_by(lambda: make_fair_vote(2, 1).encode(table)).field == field


def test_groups_and_alternatives_follow_from_a_table() -> None:
    table: dict[str, Any] = {"group": ["y", "x", " y "], "ranking": ["c>a>b", "a>b>c", "b>a>c"]}
    completed = FairVoting.complete({"epsilon": 2.0}, table)
    assert completed["epsilon"] == 2.0
    assert list(completed["groups"]) == ["y", "x"]
    assert list(completed["group_sizes"]) == [2, 1]
    assert list(completed["alternatives"]) == ["a", "b", "c"]
    given = {"groups": ["x", "y"], "alternatives": ["c", "b", "a"]}
    completed = FairVoting.complete(given, table)
    assert list(completed["group_sizes"]) == [1, 2]
    assert completed["alternatives"] == ["c", "b", "a"]
    assert given == {"groups": ["x", "y"], "alternatives": ["c", "b", "a"]}  # as it was
    assert len(FairVoting(msgspec.convert(completed, Parameters)).encode(table)) == 3


def test_a_given_group_without_a_voter_is_refused() -> None:
    completed = FairVoting.complete({"groups": ["x", "z"]}, {"group": ["x", "x"], "ranking": ["a>b", "b>a"]})
    assert refused_by(lambda: Parameters(**completed)).field == "group 'z'"


# A voter's own side


def test_a_voter_encodes_its_own_ranking() -> None:
    vote = make_fair_vote(2, 1)
    assert vote.encode_own({"ranking": "c > a > b"}, [1]) == (1, 2, 0)
    assert vote.encode_own({"ranking": ["c", "a", "b"], "group": "g1"}, [1]) == (1, 2, 0)
    assert refused_by(lambda: vote.encode_own({}, [1])).field == "ranking"
    assert refused_by(lambda: vote.encode_own({"ranking": "a>b>c", "weight": 2}, [0])).field == "weight"
    error = refused_by(lambda: vote.encode_own({"ranking": "a>b>c", "group": "g0"}, [1]))
    assert (error.field, error.value, error.allowed) == ("group", "g0", "the group that the server has: g1")
    assert refused_by(lambda: vote.encode_own({"ranking": "a>b>c", "group": "g7"}, [1])).field == "group in row 1"


@pytest.mark.parametrize("public", [[], [2], [-1], [0, 0], [0, 1]])
def test_a_public_row_that_is_no_group_is_refused(public: list[int]) -> None:
    vote = make_fair_vote(2, 1)
    for act in (lambda: vote.check_public(public), lambda: vote.encode_own({"ranking": "a>b>c"}, public)):
        error = refused_by(act)
        assert error.field == "the server's public row"
        assert "[0, 1]" in error.allowed


@pytest.mark.parametrize("row", [[0, 0, 1], [0, 1, 3], [-1, 0, 1], [2, 2, 2]])
def test_a_row_that_is_no_ranking_is_refused_everywhere(row: list[int]) -> None:
    """Its neighbors might be farther away than the noise is made for: by the voter, the server and the arrays."""
    for given in MECHANISMS:
        vote = make_fair_vote(2, 2, **given)
        with pytest.raises(ValueError, match="no ranking"):
            vote.check_row(row, [0])
        inputs = Inputs(np.array([row] * 4, dtype=np.int64), np.array([[0], [0], [1], [1]]))
        with pytest.raises(ValueError, match=r"not a ranking|takes values in"):
            vote.check_inputs(inputs)
        phase = vote.phase
        if isinstance(phase, DisclosedRankings):
            with pytest.raises(ValueError, match="no ranking"):
                phase.check_report(row, [0])


def test_another_number_of_voters_than_the_parameters_say_is_refused() -> None:
    vote = make_fair_vote(2, 1)
    vote.check_roster(np.array([[0], [1], [0]]))
    for groups, name, value in (
        ([0, 0], "g1", "0 voters"),
        ([0, 1, 1], "g0", "1 voters"),
        ([0] * 3 + [1], "g0", "3 voters"),
    ):
        with refuses(f"group {name!r}", value):
            vote.check_roster(np.array(groups)[:, None])


# Losses


@pytest.mark.parametrize(
    ("relation", "calibration", "expected"),
    [
        (REPLACE, "tight", 0.6),
        (ADD, "tight", 0.6),
        (REPLACE, "printed", 0.6 * 4 / 3),
        (ADD, "printed", 0.6),
    ],
)
def test_algorithm_1_proves_what_reading_f1_says(
    relation: NeighboringRelation, calibration: str, expected: float
) -> None:
    """At m = 4 the printed noise is for a voter who is added or removed; for a replaced ranking it proves 4/3·ε."""
    vote = make_fair_vote(5, 3, num_alternatives=4, epsilon=0.6, relation=relation, calibration=calibration)
    (loss,) = vote.losses
    assert loss.proven == pytest.approx(expected, rel=1e-12)
    assert (loss.claimed, loss.unit, loss.relation, loss.model) == (0.6, "voter", relation, TrustModel.CENTRAL)
    assert proven_of(vote, 0) == proven_of(vote, 1) == loss.proven


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("calibration", ["tight", "printed"])
@pytest.mark.parametrize("scores", ["borda", "veto", (3.0, 2.5, -1.0)])
def test_the_loss_of_algorithm_1_is_the_l1_distance_of_sums_in_scales(
    relation: NeighboringRelation, calibration: str, scores: Any
) -> None:
    """By brute force over one voter's rankings; no other group's sums move."""
    vote = make_fair_vote(2, 2, relation=relation, calibration=calibration, scores=scores, epsilon=1.3)
    phase = vote.disclosed_phase
    assert phase.choice is None
    others = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]], dtype=np.int64)
    groups = np.array([0, 1, 1])
    rest = phase.sums_of(others, groups)
    rows = [np.array([ranking], dtype=np.int64) for ranking in itertools.permutations(range(3))]
    sums = [phase.sums_of(np.concatenate([others, row]), np.append(groups, 0)) for row in rows]
    pairs = itertools.product(sums, sums if relation is REPLACE else [rest])
    farthest = max(int(np.abs(one - other).sum()) for one, other in pairs)
    assert isinstance(phase.tally_mechanism, VectorLaplace)
    assert proven_of(vote) == pytest.approx(farthest / phase.tally_mechanism.scale, rel=1e-12)
    if calibration == "tight":
        assert proven_of(vote) == pytest.approx(1.3, rel=1e-12)
    assert all(np.array_equal(own[1], rest[1]) for own in sums)


def test_the_printed_scale_is_the_papers() -> None:
    """m(m − 1)/(2·n_k·ε) on a mean, so that the error of a mean of 500 is √2 times that: to the grid's fineness."""
    vote = make_fair_vote(1000, 500, num_alternatives=4, epsilon=0.3, calibration="printed")
    outcome = run_population(vote, make_fair_inputs(vote), noise=NOISE).outcome
    for alternative in outcome.alternatives:
        errors = [own.standard_error for own in alternative.utilities]
        assert errors == pytest.approx([math.sqrt(2) * 12 / (2 * n * 0.3) for n in (1000, 500)], rel=1e-6)
        assert alternative.welfare.standard_error == pytest.approx(math.sqrt(2) * math.sqrt(2) * 20 / 1500, rel=1e-6)


@every_mechanism
def test_everybody_pays_what_the_groups_say(given: dict[str, Any]) -> None:
    vote = make_fair_vote(8, 3, **given)
    phase = vote.phase
    public = make_fair_inputs(vote).public
    groups = phase.loss_groups(public)
    assert sum(number for _, number, _ in groups) == 11
    if len(groups) == 1:
        assert groups[0] == ("", 11, phase.losses)
    else:
        assert [(name, number) for name, number, _ in groups] == [("of g0", 8), ("of g1", 3)]
        assert [losses for _, _, losses in groups] == [phase.losses_of([0]), phase.losses_of([1])]
        assert proven_of(vote, 0) < proven_of(vote, 1) == vote.losses[0].proven
    assert (len(groups) == 2) is (given["mechanism"] in {"sampling", "exponential", "permute_and_flip"})
    (loss,) = vote.losses
    is_central = given["mechanism"] in CENTRAL
    assert (vote.trusts_server, isinstance(phase, DisclosedRankings)) == (is_central, is_central)
    assert (loss.model, loss.claimed) == (TrustModel.CENTRAL if is_central else TrustModel.LOCAL, 1.0)
    assert is_central or loss.proven == pytest.approx(1.0, rel=1e-12)


def test_without_random_winners_algorithm_2_proves_nothing() -> None:
    """At γ = 0 the loss is infinite, and shown as such; a budget refuses it before anything is drawn."""
    vote = make_fair_vote(8, 3, mechanism="sampling", num_samples=2, gamma=0.0)
    assert vote.losses[0].proven == math.inf
    session = Session(vote, make_fair_inputs(vote))
    wire = session.play()
    assert wire.result is not None
    outcome = wire.result.outcome
    assert isinstance(outcome, Outcome)
    assert outcome.epsilon_proven is None
    assert b'"epsilon_proven":null' in msgspec.json.encode(outcome)
    ledger = session.ledgers["p0"]
    assert [entry.proven for entry in ledger.entries] == [math.inf]
    assert ledger.reserved == 0.0
    refused = Session(vote, make_fair_inputs(vote), budget=Budget(epsilon=100.0)).wire()
    refused.start()
    refused.run()
    assert {type(error) for error in refused.failures.values()} == {BudgetExceededError}


# Sessions


@every_mechanism
@pytest.mark.parametrize("missing", [[0], [1, 3], [0, 2, 4]])
def test_a_session_with_a_quorum_is_that_of_those_who_reported(given: dict[str, Any], missing: list[int]) -> None:
    """By arrays over exactly those; in the central model who is missing leaves 0, and groups count as on the roster."""
    vote = make_fair_vote(3, 2, **given)
    rules = SessionRules(quorum=None if vote.hides_participation else 2)
    session = Session(vote, make_fair_inputs(vote, seed=4), rules=rules)
    wire = session.wire()
    wire.start()
    for place in missing:
        wire.lose(session.names[place])
    wire.run()
    wire.check_end()
    assert wire.result is not None
    places = [place for place in range(5) if place not in missing]
    expected = outcome_of_those_who_reported(session, [places])
    assert (wire.result.outcome, wire.result.tallies) == expected


def test_a_missing_voter_is_indifferent_to_algorithm_1() -> None:
    """Its group's sums are those of the others, and the mean is over the roster: half of 1, from a center of 1."""
    vote = make_fair_vote(2, 1, epsilon=30.0)
    phase = vote.disclosed_phase
    reports = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.int64)
    tally = phase.tally(reports, earlier=[], public=np.array([[0], [1]]))
    outcome = vote.outcome([tally])  # without noise
    means = [[own.value for own in alternative.utilities] for alternative in outcome.alternatives]
    assert means == [[1.5, 0.0], [1.0, 1.0], [0.5, 2.0]]
    assert [alternative.disparity for alternative in outcome.alternatives] == [1.5, 0.0, 1.5]
    assert [alternative.welfare.value for alternative in outcome.alternatives] == [1.0, 1.0, 1.0]
    assert outcome.winner == "b"
    assert outcome.num_reports == ()


@pytest.mark.parametrize("mechanism", LOCAL)
def test_a_group_without_a_report_is_indifferent_in_the_local_model(mechanism: str) -> None:
    vote = make_fair_vote(2, 1, mechanism=mechanism)
    phase = vote.phase
    reports = phase.mechanism.randomize_rows(np.array([[0, 1, 2]]), np.full((1, phase.mechanism.slots_of(3)), 0.3))
    outcome = vote.outcome([phase.tally(reports, earlier=[], public=np.array([[0]]))])
    assert outcome.num_reports == (1, 0)
    assert [alternative.utilities[1].value for alternative in outcome.alternatives] == [1.0] * 3
    assert outcome.mechanism == mechanism


@every_mechanism
def test_a_deployments_noise_serves_every_mechanism(given: dict[str, Any]) -> None:
    """And what it draws leads to an outcome that a session can release."""
    vote = make_fair_vote(4, 3, **given)
    inputs = make_fair_inputs(vote)
    phase = vote.phase
    noise = SecureNoise()
    noise.check(phase.mechanism)
    rows: list[list[int]] = inputs.private.tolist()
    reports = [noise.randomize(phase.mechanism, row, protocol=vote.name, phase=phase.name, place=0) for row in rows]
    tally = phase.tally(np.array(reports, dtype=np.int64), earlier=[], public=inputs.public)
    if isinstance(phase, DisclosedRankings):
        noise.check(phase.tally_mechanism)
        tally = phase.randomize_tally(tally, draw_for_release(noise, protocol=vote.name, phase=phase))
    outcome = vote.outcome([tally])
    assert outcome.winner in vote.parameters.alternatives
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=vote.outcome_type) == outcome


def test_at_hardly_any_noise_the_estimates_are_the_truth() -> None:
    """Tens of thousands of voters at ε = 30: to a twentieth, for Algorithm 1 and for every local mechanism."""
    number = draws(8_000, full=30_000)
    for mechanism in ("laplace", *LOCAL):
        vote = make_fair_vote(2 * number, number, epsilon=30.0, objective="penalized", mechanism=mechanism)
        inputs = make_fair_inputs(vote)
        outcome = run_population(vote, inputs, noise=NOISE).outcome
        truth = vote.truth(inputs)
        assert truth is not None
        for alternative in outcome.alternatives:
            for group, own in zip(vote.parameters.groups, alternative.utilities, strict=True):
                assert own.value == pytest.approx(truth[f"{alternative.name} ({group})"], abs=0.05)


def test_the_truth_worked_by_hand() -> None:
    vote = make_fair_vote(2, 1, objective="constrained", max_disparity=1.0)
    truth = vote.truth(vote.encode({"group": ["g0", "g0", "g1"], "ranking": ["a>b>c", "a>b>c", "c>b>a"]}))
    assert truth == {
        "a (g0)": 2.0,
        "a (g1)": 0.0,
        "b (g0)": 1.0,
        "b (g1)": 1.0,
        "c (g0)": 0.0,
        "c (g1)": 2.0,
        "this objective": "b",
        "least disparity": "b",
        "plurality": "a",
        "borda": "a",
        "copeland": "a",
        "egalitarian": "b",
    }


@every_mechanism
def test_the_largest_outcome_is_no_smaller_than_what_is_released(given: dict[str, Any]) -> None:
    vote = make_fair_vote(4, 3, **given)
    outcome = run_population(vote, make_fair_inputs(vote), noise=NOISE).outcome
    largest = vote.largest_outcome(7)
    assert len(msgspec.msgpack.encode(largest)) >= len(msgspec.msgpack.encode(outcome))


def test_a_session_whose_release_would_not_fit_is_not_begun() -> None:
    """A thousand groups and fifty alternatives have two million bytes of estimates."""
    names = tuple(f"g{number}" for number in range(1000))
    alternatives = tuple(f"a{number}" for number in range(50))
    parameters = Parameters(alternatives=alternatives, groups=names, group_sizes=(1,) * 1000)
    vote = FairVoting(parameters)
    assert len(msgspec.msgpack.encode(vote.largest_outcome(1000))) > MAX_MESSAGE_BYTES
    rows = np.tile(np.arange(50), (1000, 1))
    inputs = vote.encode({"group": np.arange(1000), "ranking": Rankings(rows)})
    with pytest.raises(ValueError, match="this Release has"):
        Session(vote, inputs).server()


def test_tallies_of_batches_keep_rankings_apart_only_where_voters_are_sampled() -> None:
    for reading, width in (("group", 0), ("subsample", 2)):
        vote = make_fair_vote(4, 3, mechanism="sampling", num_samples=2, reading=reading)
        phase = vote.phase
        inputs = make_fair_inputs(vote)
        whole = phase.tally(inputs.private, earlier=[], public=inputs.public)
        assert whole.rows.shape == ((7 if width else 0), width)
        parts = [phase.tally(inputs.private[p], earlier=[], public=inputs.public[p]) for p in (slice(3), slice(3, 7))]
        assert parts[0].merge(parts[1]) == parts[1].merge(parts[0]) == whole
        released = run_population(vote, inputs, noise=NOISE).tallies[0]
        assert isinstance(released, Tally)
        assert released.rows.shape == (0, 0)  # what is released has no voter's ranking


def test_a_phase_or_a_choice_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="one of the central model"):
        _ = make_fair_vote(2, 1, mechanism="noisy_scores").disclosed_phase
    for mechanism in ("laplace", "exponential"):
        with pytest.raises(
            ConfigurationError, match=f"mechanism is '{mechanism}': use one that elects by a SampledChoice"
        ):
            make_fair_vote(2, 1, mechanism=mechanism).disclosed_phase.elects_by(SampledChoice)
