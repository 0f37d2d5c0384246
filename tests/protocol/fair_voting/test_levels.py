"""Voters with an ε of their own: equal bits on all paths, exact laws, what each pays, and what is refused."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from machine_sessions import play_own_levels
from makers import make_fair_vote
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.fair_voting import Details, FairVoting, Outcome, RandomizedRankings
from psephos.protocol.fair_voting.confirmation import p_value_of
from psephos.protocol.fair_voting.kinds import CENTRAL, JOINT, LOCAL
from psephos.protocol.fair_voting.utility_noise import UtilityNoise
from psephos.protocol.phases import Inputs
from reference_runs import run_fair_voting

LEVELS = (0.5, 1.0, 3.0)
GROUPS, CHOICES = ["g0", "g1", "g0", "g0", "g1"], [0, 2, 1, 2, 0]
RANKINGS = ["a > b > c", "b > c > a", "c > a > b", "a > c > b", "b > a > c"]

every_mechanism = pytest.mark.parametrize("mechanism", ["local", *LOCAL])


def make_vote(*sizes: int, epsilons: Sequence[float] = LEVELS, **given: Any) -> FairVoting:
    fields: dict[str, Any] = {"mechanism": "local", "epsilons": epsilons, **given}
    return make_fair_vote(*(sizes or (3, 2)), **fields)


def make_inputs(vote: FairVoting, choices: Sequence[int] = CHOICES) -> Inputs:
    own = [LEVELS[choice] for choice in choices] if vote.parameters.own_levels.epsilons else []
    return vote.encode({"group": GROUPS, "ranking": RANKINGS, **({"epsilon": own} if own else {})})


@every_mechanism
def test_agents_who_choose_arrays_a_roster_and_the_reference_have_the_same_bits(mechanism: str) -> None:
    vote = make_vote(mechanism=mechanism, chosen_by="voter")
    unknown = vote.encode_public({"group": GROUPS}, num_parties=len(CHOICES))
    assert unknown[:, 1].tolist() == [len(LEVELS) - 1] * len(CHOICES)  # the dearest, until they say
    session, arrays = play_own_levels(
        vote, make_inputs(vote), unknown, of_roster=make_vote(mechanism=mechanism), reference=run_fair_voting
    )
    assert isinstance(arrays, Outcome)
    assert isinstance(arrays.details, Details)
    assert [(each.epsilon, each.num_reports) for each in arrays.details.levels] == [
        (0.5, (1, 1)),
        (1.0, (1, 0)),
        (3.0, (1, 1)),
    ]
    spent = [sum(entry.proven for entry in session.ledgers[name].entries) for name in session.names]
    assert spent == [pytest.approx(LEVELS[choice], rel=1e-6) for choice in CHOICES]
    assert all(own <= LEVELS[choice] * (1 + 1e-9) for own, choice in zip(spent, CHOICES, strict=True))


@every_mechanism
@pytest.mark.parametrize("objective", ["parity", "penalized"])
def test_of_one_level_alone_a_vote_is_that_of_its_epsilon(mechanism: str, objective: str) -> None:
    """Whoever chooses it: winner, utilities, errors, verdict and probability are those of a session of one ε."""
    vote = make_vote(mechanism=mechanism, objective=objective)
    assert isinstance(vote.phase, RandomizedRankings)
    one = make_fair_vote(3, 2, mechanism=vote.phase.report.name, objective=objective, epsilon=1.0)
    noise = SimulatedNoise(3, session="s")
    ours = run_population(vote, make_inputs(vote, [1] * 5), noise=noise).outcome
    theirs = run_population(one, make_inputs(one), noise=noise).outcome
    assert ours.alternatives == theirs.alternatives
    assert (ours.assurance.p_value, ours.assurance.verdict) == (theirs.assurance.p_value, theirs.assurance.verdict)


@pytest.mark.parametrize("mechanism", [name for name in LOCAL if name != "noisy_scores"])  # whose reports are not few
def test_utilities_are_unbiased_and_their_errors_exact_over_every_vector_of_reports(mechanism: str) -> None:
    """Two voters of one group and of different levels: exact laws, no false alarm."""
    vote = make_vote(2, 1, mechanism=mechanism, epsilons=(0.5, 3.0))
    phase = vote.phase
    assert isinstance(phase, RandomizedRankings)
    inputs = vote.encode({"group": ["g0", "g0", "g1"], "ranking": RANKINGS[:3], "epsilon": [0.5, 3.0, 3.0]})
    low, high = phase.mechanism.report_range
    every = np.arange(low, high + 1, dtype=np.int64)[:, None]
    laws = [
        np.exp(phase.mechanism_of(public).log_likelihoods(every, row[None]))[:, 0]
        for row, public in zip(inputs.private[:2], inputs.public[:2].tolist(), strict=True)
    ]
    true = np.array([[float(value) for value in row] for row in vote.utilities_in(inputs)])[0]
    whole, mean, square = 0.0, np.zeros(3), 0.0
    errors = set[float]()
    for reports in itertools.product(range(len(every)), repeat=2):
        chance = math.prod(float(law[drawn]) for law, drawn in zip(laws, reports, strict=True))
        table = np.array([*(every[drawn] for drawn in reports), every[0]], dtype=np.int64)
        outcome = vote.outcome([phase.tally(table, earlier=[], public=inputs.public)])
        told = np.array([own.utilities[0].value for own in outcome.alternatives])
        errors |= {own.utilities[0].standard_error for own in outcome.alternatives}
        whole, mean, square = whole + chance, mean + chance * told, square + chance * np.square(told - true).mean()
    assert whole == pytest.approx(1)
    assert mean == pytest.approx(true)
    assert [square] == pytest.approx([error**2 for error in errors])


def test_a_probability_is_stated_of_one_level_and_not_of_several() -> None:
    vote = make_vote()
    mixed, alone = (
        run_population(vote, make_inputs(vote, choices), noise=SimulatedNoise(1, session="s")).outcome.assurance
        for choices in (CHOICES, [0] * 5)
    )
    assert (mixed.probability, mixed.prior) == (None, None)
    assert mixed.p_value is not None
    assert alone.probability is not None


def test_the_best_mechanism_is_one_for_all_levels() -> None:
    """At ε = .2 a pair is best, at 5 the whole ranking: the variance of both together decides."""
    low, high, both = (make_vote(epsilons=levels).phase for levels in ((0.2,), (5.0,), (0.2, 5.0)))
    assert isinstance(low, RandomizedRankings)
    assert isinstance(high, RandomizedRankings)
    assert isinstance(both, RandomizedRankings)
    assert {report.name for report in both.reports} == {low.report.name} != {high.report.name}


REFUSED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"mechanism": name}, f"leave out epsilons in mechanism '{name}': what it releases has one ε for all")
        for name in sorted(CENTRAL - {"pairwise"})
    ),
    ({"mechanism": "masked", "threshold": 4, "colluders": 0}, "in mechanism 'masked': what it releases has one ε"),
    *(({"mechanism": name}, f"in mechanism '{name}': groups are private in it") for name in ("joint", *JOINT)),
    ({"epsilons": ()}, "epsilons is .*: use at least one level"),
    ({"epsilons": (2.0, 1.0)}, "Make them distinct, ascending"),
    ({"epsilons": (1.0, 31.0)}, r"epsilons is 31.0: use a value from 0\.0001 to 30"),
    ({"epsilons": tuple(range(1, 22))}, "epsilons are 21 levels: use at most 20"),
    ({"epsilon": 2.0}, "leave out epsilon beside epsilons: each voter has one of these"),
    ({"epsilons": msgspec.UNSET, "chosen_by": "voter"}, "give epsilons"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=[str(given) for given, _ in REFUSED])
def test_what_has_no_levels_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        make_vote(**given)


def test_an_epsilon_that_is_no_level_is_refused() -> None:
    vote = make_vote(1, 1)
    table: dict[str, Any] = {"group": ["g0", "g1"], "ranking": RANKINGS[:2]}
    with pytest.raises(ConfigurationError, match=r"epsilon in row 2 is '0\.7': use one of 0\.5, 1, 3"):
        vote.encode({**table, "epsilon": ["1", "0.7"]})
    with pytest.raises(ConfigurationError, match="the table has no column epsilon"):
        vote.encode(table)
    with pytest.raises(ConfigurationError, match="epsilon is 3: use the ε that the server has: 1"):
        vote.encode_own({"ranking": RANKINGS[0], "epsilon": 3}, [0, 1])
    assert vote.encode_own({"ranking": RANKINGS[0], "epsilon": 1, "group": "g0"}, [0, 1]) == (0, 1, 2)
    assert vote.encode_own({"ranking": RANKINGS[0]}, [0, 1]) == (0, 1, 2)
    with pytest.raises(ConfigurationError, match=r"group (is|are) .*the group that the server has: g0"):
        vote.encode_own({"ranking": RANKINGS[0], "group": "g1"}, [0, 1])
    for row in ([0], [0, 3], [2, 0], [0, 0, 0]):
        with pytest.raises(ConfigurationError, match=r"place of a group, in \[0, 1\], then that of an ε, in \[0, 2\]"):
            vote.check_public(row)
    chosen = make_vote(1, 1, chosen_by="voter")
    assert chosen.encode_chosen({"epsilon": "3"}) == (2,)
    with pytest.raises(ConfigurationError, match=r"epsilon is missing: use one of 0\.5, 1, 3"):
        chosen.encode_chosen({})
    assert vote.write_public(np.array([[0, 1]])) == {"group": ["g0"], "epsilon": ["1.0"]}


def test_an_epsilon_beside_levels_is_refused_in_a_table_of_parameters() -> None:
    table: dict[str, Any] = {"group": ["g0", "g1"], "ranking": RANKINGS[:2], "epsilon": [1, 2]}
    assert FairVoting.complete({"epsilons": [1, 2], "epsilon": 2}, table)["epsilon"] == 2  # as a run's folder has it
    with pytest.raises(ConfigurationError, match="beside epsilons: each voter has one of these"):
        FairVoting.complete({"epsilons": [1, 2], "epsilon": 1}, table)
    assert "epsilon" not in FairVoting.complete({"epsilons": [1, math.nan]}, table)  # which equals nothing: said later
    assert FairVoting.complete({"epsilons": 3}, table)["epsilons"] == 3  # refused by its type, later


@every_mechanism
def test_errors_and_verdicts_hold_where_few_have_nearly_all_of_the_noise(mechanism: str) -> None:
    """4,000 votes, ε from .2 to 5. False alarm: a mean square is off by 6 standard errors, 2e-9 for each of ten."""
    sizes, trials, level = (12, 9), 4_000, 0.2
    vote = make_vote(*sizes, mechanism=mechanism, epsilons=(0.2, 1.0, 5.0), level=level, objective="welfare")
    phase, generator = vote.phase, np.random.default_rng(11)
    assert isinstance(phase, RandomizedRankings)
    groups = np.repeat(np.arange(2), sizes)
    orders = np.tile(np.array(["a > b > c", "c > b > a", "b > a > c"]), 7)
    epsilons = np.where(np.arange(21) % 7 == 0, 0.2, np.where(np.arange(21) % 2, 1.0, 5.0))
    inputs = vote.encode({"group": groups, "ranking": orders.tolist(), "epsilon": epsilons.tolist()})
    means = np.zeros((trials, 2, 3))
    for place, (row, public) in enumerate(zip(inputs.private, inputs.public.tolist(), strict=True)):
        report, mechanism_of = phase.reports[int(public[1])], phase.mechanism_of(public)
        drawn = mechanism_of.randomize_rows(
            np.tile(row, (trials, 1)), generator.random((trials, mechanism_of.slots_of(3)))
        )
        kinds, places = np.unique(drawn, axis=0, return_inverse=True)
        if report.laplace is None:
            told = np.array(
                [list(map(float, report.estimates(report.totals_of(kind[None]).tolist(), 1))) for kind in kinds]
            )
        else:
            told = kinds * float(report.step) + float(next(report.estimates([0] * 3, 1)))
        means[:, groups[place]] += told[places.reshape(-1)]
    estimates = means / np.array(sizes)[:, None] + float(phase.report.mean)
    true = np.array([[float(value) for value in row] for row in vote.utilities_in(inputs)])
    counts = [np.bincount(inputs.public[groups == group, 1], minlength=3).tolist() for group in range(2)]
    noise = UtilityNoise.from_reports(phase.reports, counts)
    assert noise.is_mixed
    squares = np.square(estimates - true).mean(axis=2) / np.square(noise.errors)
    assert (np.abs(squares.mean(axis=0) - 1) <= 6 * squares.std(axis=0) / math.sqrt(trials)).all()
    # The rule is loose by far: that winners are confirmed which are not the best is a rare event here.
    weights = np.array(sizes, dtype=np.float64)
    objective, shares = vote.parameters.make_objective(), weights / weights.sum()
    best = (shares @ true).argmax()
    welfare = np.einsum("g,tgm->tm", shares, estimates)
    wrong = np.flatnonzero(welfare.argmax(axis=1) != best)
    confirmed = sum(
        p_value_of(estimates[one], int(welfare[one].argmax()), noise, objective=objective, sizes=weights) <= level
        for one in wrong[:40].tolist()
    )
    assert confirmed / min(len(wrong), 40) * len(wrong) / trials <= level
