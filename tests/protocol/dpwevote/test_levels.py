"""Partners with an ε of their own: equal bits on all paths, exact laws, what each pays, and what is refused."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from machine_sessions import play_own_levels
from makers import as_usual, vote_of
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import DPWeVote, Outcome, Parameters
from psephos.protocol.mechanisms import FiniteMechanism
from psephos.protocol.phases import Inputs
from reference_runs import run_dpwevote
from vote_margins import margin_of

LEVELS = (0.5, 1.0, 3.0)
VARIANTS = ["two_point", "signed_rr", "optimal"]
WEIGHTS, OPINIONS, CHOICES = [1, 3, 2, 3, 1], [1, 0, 1, 1, 0], [0, 2, 1, 2, 0]

every_variant = pytest.mark.parametrize("variant", VARIANTS)


make_vote = as_usual(vote_of, candidates=("a", "b"), variant="two_point", epsilons=LEVELS)


def make_inputs(vote: DPWeVote, choices: Sequence[int] = CHOICES) -> Inputs:
    table: dict[str, Any] = {"weight": WEIGHTS, "epsilon": [LEVELS[choice] for choice in choices], "a": OPINIONS}
    return vote.encode({**table, **({"b": OPINIONS[::-1]} if "b" in vote.parameters.candidates else {})})


@every_variant
def test_agents_who_choose_arrays_a_roster_and_the_reference_have_the_same_bits(variant: str) -> None:
    vote = make_vote(variant=variant, chosen_by="partner")
    unknown = vote.encode_public({}, num_parties=len(CHOICES))
    assert unknown[:, 0].tolist() == [len(LEVELS) - 1] * len(CHOICES)  # the dearest, until they say
    session, arrays = play_own_levels(
        vote, make_inputs(vote), unknown, of_roster=make_vote(variant=variant), reference=run_dpwevote
    )
    assert isinstance(arrays, Outcome)
    assert [(each.epsilon, each.num_partners) for each in arrays.levels or ()] == [(0.5, 2), (1.0, 1), (3.0, 2)]
    spent = [sum(entry.proven for entry in session.ledgers[name].entries) for name in session.names]
    assert spent == [pytest.approx(2 * LEVELS[choice], rel=1e-6) for choice in CHOICES]


@every_variant
@pytest.mark.parametrize("given", [{}, {"quota_fraction": 2 / 3}, {"quota": 2.5}], ids=str)
def test_of_one_level_alone_a_vote_is_that_of_its_epsilon(variant: str, given: dict[str, Any]) -> None:
    """Whoever chooses it: margins, errors and verdicts are those of a session of one ε."""
    vote, plain = make_vote(variant=variant, **given), make_vote(variant=variant, epsilons=(1.0,), **given)
    one = DPWeVote(Parameters(candidates=("a", "b"), variant=plain.parameters.variant, epsilon=1.0, **given))
    noise = SimulatedNoise(3, session="s")
    outcomes = [
        run_population(vote, make_inputs(vote, [1] * 5), noise=noise).outcome,
        run_population(one, one.encode({"weight": WEIGHTS, "a": OPINIONS, "b": OPINIONS[::-1]}), noise=noise).outcome,
    ]
    for ours, theirs in zip(*(outcome.candidates for outcome in outcomes), strict=True):
        assert (ours.margin, ours.support, ours.verdict, ours.leans_yes) == (
            theirs.margin,
            theirs.support,
            theirs.verdict,
            theirs.leans_yes,
        )
    assert vote.reach(make_inputs(vote, [1] * 5).public) == one.reach(np.empty((5, 0), dtype=np.int64))


@every_variant
def test_margins_are_unbiased_and_their_errors_are_enough_over_every_vector_of_reports(variant: str) -> None:
    """Two partners of different levels: exact laws, no false alarm. What two points state is the greatest variance."""
    vote = make_vote(variant=variant, candidates=("a",))
    inputs = vote.encode({"weight": [1, 3], "epsilon": [0.5, 3.0], "a": [1, 0]})
    (phase,) = vote.phases
    laws: list[FloatArray] = []
    rows: list[list[int]] = inputs.private.tolist()
    for row, public in zip(rows, inputs.public.tolist(), strict=True):
        mechanism = phase.mechanism_of(public)
        assert isinstance(mechanism, FiniteMechanism)
        laws.append(np.array(mechanism.channel_matrix()[row[0]]))
    mean = square = stated = whole = 0.0
    for reports in itertools.product(*(range(len(law)) for law in laws)):
        chance = math.prod(float(law[drawn]) for law, drawn in zip(laws, reports, strict=True))
        table = np.array(reports)[:, None]
        tally = phase.tally(table, earlier=[], public=inputs.public)
        margin = margin_of(vote.outcome([tally]).candidates[0])
        assert margin.value == pytest.approx(float(vote.contributions([table], inputs.public).sum()))
        whole, mean = whole + chance, mean + chance * margin.value
        square, stated = square + chance * (margin.value + 1) ** 2, stated + chance * margin.standard_error**2
    assert whole == pytest.approx(1)
    assert mean == pytest.approx(0.5 - 1.5, abs=1e-8)
    assert square <= stated * (1 + 1e-9)
    low, high = (make_vote(variant=variant, epsilons=(level,)) for level in (0.5, 3.0))
    worst = [DPWeVote(each.parameters.level_parameters[0]).parameters for each in (low, high)]
    greatest = sum(each.kind(each).worst_variance for each in worst)
    assert square <= greatest * (1 + 1e-9)
    assert make_vote(variant=variant).parameters.kind(vote.parameters).worst_variance == pytest.approx(
        worst[0].kind(worst[0]).worst_variance
    )


def test_a_report_that_the_partners_own_epsilon_does_not_have_is_refused() -> None:
    """The optimal mechanism has more reports at one ε than at another."""
    vote = make_vote(variant="optimal", epsilons=(0.05, 5.0), weights=(1.0, 2.0, 30.0))
    (phase,) = vote.phases
    widths = [phase.mechanism_of([level]).report_range[1] for level in (0, 1)]
    assert widths[0] != widths[1]
    narrow = int(widths[1] < widths[0])
    phase.check_report([max(widths), 0], [1 - narrow])
    with pytest.raises(ValueError, match="the range at the partner's ε"):
        phase.check_report([max(widths), 0], [narrow])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"variant": "joint"}, r"leave out epsilons in variant 'joint': .* 'two_point' or 'signed_rr' or 'optimal'"),
    ({"variant": "auto"}, "leave out epsilons in variant 'auto'"),
    ({"variant": "laplace"}, "leave out epsilons in variant 'laplace'"),
    ({"variant": "central"}, "leave out epsilons in variant 'central'"),
    ({"variant": "masked", "threshold": 2, "colluders": 0}, "leave out epsilons in variant 'masked'"),
    ({"variant": "joint", "opinion_matrix": ((0.6, 0.4), (0.4, 0.6))}, "leave out epsilons in variant 'joint'"),
    ({"game": "board"}, "leave out game"),
    ({"public_weights": True}, "variant is .*: use 'joint' or 'auto', since weights are public"),
    ({"epsilons": ()}, "epsilons is .*: use at least one level"),
    ({"epsilons": (2.0, 1.0)}, "Make them distinct, ascending"),
    ({"epsilons": (1.0, 31.0)}, r"epsilons is 31.0: use a value from 1e-09 to 30"),
    ({"epsilons": tuple(range(1, 22))}, "epsilons are 21 levels: use at most 20"),
    ({"epsilon": 2.0}, "leave out epsilon beside epsilons"),
    ({"epsilons": msgspec.UNSET, "chosen_by": "partner"}, "give epsilons"),
    ({"candidates": ("epsilon",)}, "candidates is"),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=[str(given) for given, _ in REFUSED])
def test_what_has_no_levels_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        make_vote(**given)


def test_an_epsilon_that_is_no_level_is_refused() -> None:
    vote = make_vote()
    table: dict[str, Any] = {"weight": [1, 2], "a": [1, 0], "b": [1, 0]}
    with refuses(said="epsilon in row 2 is '0.7': use one of 0.5, 1, 3"):
        vote.encode({**table, "epsilon": ["1", "0.7"]})
    with refuses(said="the table has no column epsilon"):
        vote.encode(table)
    with refuses(said="epsilon is 3: use the ε that the server has: 1"):
        vote.encode_own({"weight": 1, "a": 1, "b": 1, "epsilon": 3}, [1])
    (row,) = vote.encode({"weight": [1], "a": [1], "b": [1], "epsilon": [1]}).private.tolist()
    assert list(vote.encode_own({"weight": 1, "a": 1, "b": 1}, [1])) == row
    for row in ([], [3], [0, 0]):
        with refuses(said="use the place of an ε, in [0, 2]"):
            vote.check_public(row)
    assert vote.encode_chosen({}) == ()
    chosen = make_vote(chosen_by="partner")
    assert chosen.encode_chosen({"epsilon": "3"}) == (2,)
    with refuses(said="epsilon is missing: use one of 0.5, 1, 3"):
        chosen.encode_chosen({})


def test_levels_follow_from_no_column_and_an_epsilon_beside_them_is_refused() -> None:
    """A column is a candidate's, unless levels are given."""
    table: dict[str, Any] = {"weight": [1, 2], "epsilon": [1, 0], "a": [1, 0]}
    assert DPWeVote.complete({}, table)["candidates"] == ["epsilon", "a"]
    assert DPWeVote.complete({"epsilons": [1, 2]}, table)["candidates"] == ["a"]
    assert DPWeVote.complete({"epsilons": [1, 2], "epsilon": 2}, table)["epsilon"] == 2  # as a run's folder has it
    with refuses(said="left out beside epsilons"):
        DPWeVote.complete({"epsilons": [1, 2], "epsilon": 1}, table)
