"""The variant `masked`: the sums of `central` from masked rows, on every path with the same bits."""

import functools
from typing import Any

import numpy as np
import pytest
import trio
from makers import as_usual, vote_of
from psephos.agents.modes import Deployment, Simulation
from psephos.agents.noise import SecureNoise
from psephos.protocol import ConfigurationError, SessionDescriptor, SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.masked import MaskedVariant
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.mechanisms.polya import share_masses, share_reach
from psephos.protocol.phases import Inputs, MaskedPhase
from psephos.protocol.privacy import TrustModel
from psephos.scenarios.plugins import make_transport
from psephos.scenarios.running.by_agents import run_agents

TABLE = {"weight": [1, 3, 2, 1, 2], "a": [1, 0, 1, 1, 1], "b": [0, 0, 1, 1, 0]}
QUOTAS: list[dict[str, Any]] = [{}, {"quota": 4.0}, {"quota_fraction": 0.75}]


make_vote = as_usual(vote_of, candidates=("a", "b"), variant="masked", threshold=4, colluders=1)


@pytest.mark.parametrize("quota", QUOTAS)
@pytest.mark.parametrize("public_weights", [False, True])
def test_a_vote_costs_what_central_costs_and_asks_for_no_less_noise(
    quota: dict[str, Any], *, public_weights: bool
) -> None:
    vote = make_vote(public_weights=public_weights, epsilon=0.5, **quota)
    (phase,) = vote.phases
    assert isinstance(phase, MaskedPhase)
    of_server = DPWeVote(vote.parameters.with_variant("central")).phases[0].tally_mechanism
    assert isinstance(of_server, VectorLaplace)
    assert (phase.share.sensitivity, phase.share.scale) == (of_server.sensitivity, of_server.scale)
    assert [loss.proven for loss in vote.losses] == pytest.approx([1.0])
    assert vote.model is TrustModel.DISTRIBUTED
    inputs = vote.encode(TABLE)
    assert vote.truth(inputs) == DPWeVote(vote.parameters.with_variant("joint")).truth(
        DPWeVote(vote.parameters.with_variant("joint")).encode(TABLE)
    )
    vote.check_roster(inputs.public)
    vote.check_loss_groups(inputs.public)
    if public_weights:
        assert [vote.losses_of((place, place))[0].proven for place in range(3)] == pytest.approx([1 / 3, 2 / 3, 1.0])


@pytest.mark.parametrize(
    ("public_weights", "added"),
    [
        (False, [1, 1, 1, 3, 3, 2]),  # as far from the row of the greatest "no" as 4 / 3 of what is charged for
        (False, [7, 1, 1, 3, 3, 6]),
        (True, [1, 1, 3, 3]),  # of a weight that pays a third
        (True, [2, 1, 2, 1]),
    ],
)
def test_a_row_that_adds_up_what_its_partner_does_not_hold_is_refused_on_every_path(
    added: list[int], *, public_weights: bool
) -> None:
    vote = make_vote(public_weights=public_weights)
    inputs = vote.encode(TABLE)
    held, public = inputs.private.tolist(), inputs.public.tolist()
    vote.check_row(held[0], public[0])
    false = Inputs(np.array([added, *held[1:]]), inputs.public)
    with pytest.raises(ValueError, match="adds up what its weight and opinions do not say"):
        vote.check_row(added, public[0])
    with pytest.raises(ValueError, match="adds up what its weight and opinions do not say"):
        run_population(vote, false, noise=SimulatedNoise(5, session="s"))


@pytest.mark.parametrize("public_weights", [False, True])
def test_every_row_that_a_partner_may_hold_is_within_what_its_loss_is_of(*, public_weights: bool) -> None:
    vote = make_vote(public_weights=public_weights)
    (phase,) = vote.phases
    assert isinstance(phase, MaskedPhase)
    table = {"weight": np.repeat([1, 2, 3], 4), "a": np.tile([0, 1, 0, 1], 3), "b": np.tile([0, 0, 1, 1], 3)}
    inputs = vote.encode(table)
    rows = inputs.private[:, phase.columns]
    apart = np.abs(rows[:, None] - rows).sum(axis=2)
    if public_weights:
        for place in range(3):
            own = inputs.public[:, 1] == place
            assert apart[np.ix_(own, own)].max() == phase.sensitivity_of((place, place))
    else:
        assert apart.max() == phase.share.sensitivity


@pytest.mark.parametrize("transport", ["memory", "tcp", "tls"])
@pytest.mark.parametrize("public_weights", [False, True])
def test_agents_over_each_transport_have_the_bits_of_arrays(transport: str, *, public_weights: bool) -> None:
    vote = make_vote(public_weights=public_weights)
    inputs = vote.encode(TABLE)
    noise = functools.partial(SimulatedNoise, 5, session="s")
    expected = run_population(vote, inputs, noise=noise())
    record = trio.run(
        functools.partial(
            run_agents,
            vote,
            names=[f"p{place}" for place in range(5)],
            inputs=inputs,
            mode=Simulation("s", noise()),
            transport=make_transport(transport),
        )
    )
    assert record.outcome == expected.outcome
    assert record.tallies == expected.tallies
    assert not record.endings
    assert sorted({entry.model for entry in record.entries}, key=str) == [TrustModel.DISTRIBUTED]
    assert len(record.entries) == 5


@pytest.mark.full("a thousand parties")
def test_more_than_a_thousand_on_a_circle_have_the_bits_of_arrays() -> None:
    vote = make_vote(threshold=1_001, colluders=1)
    table = {"weight": np.tile([1, 2, 3], 334), "a": np.tile([1, 0], 501), "b": np.tile([0, 1], 501)}
    inputs, noise = vote.encode(table), functools.partial(SimulatedNoise, 5, session="s")
    names = [f"p{place}" for place in range(1_002)]
    session = functools.partial(run_agents, vote, names=names, inputs=inputs, mode=Simulation("s", noise()))
    record = trio.run(functools.partial(session, transport=make_transport("memory")))
    assert record.tallies == run_population(vote, inputs, noise=noise()).tallies
    assert {entry.mechanism for entry in record.entries} == {
        "shares of discrete Laplace noise on sums, semi-honest server only"
    }


def test_a_masked_vote_with_secure_noise_ends() -> None:
    vote = make_vote(epsilon=8.0)
    mode = Deployment("s", SecureNoise(), SessionDescriptor("5e" * 16))
    session = functools.partial(
        run_agents, vote, names=list("abcde"), inputs=vote.encode(TABLE), mode=mode, transport=make_transport("memory")
    )
    record = trio.run(session)
    assert record.num_received == (5,)


def test_the_verdicts_reach_is_the_exact_law_s() -> None:
    for shares in (8, 10, 13):
        masses = share_masses(scale=3.0, planned=8, num_shares=shares)
        for level in (0.2, 0.05, 1e-6):
            reach = share_reach(scale=3.0, planned=8, num_shares=shares, level=level)
            assert masses[reach:].sum() <= level < masses[reach - 1 :].sum()


@pytest.mark.parametrize("number", [4, 5, 6])
def test_a_verdict_takes_all_shares_that_are_in_the_sum(number: int) -> None:
    """Three are planned, and each party adds one: with six the noise has twice the variance."""
    parameters = make_vote(candidates=("a",), epsilon=0.5).parameters
    variant = MaskedVariant(parameters)
    share = variant.share
    masses = share_masses(scale=share.scale, planned=share.planned, num_shares=number)
    for level in (0.2, 0.05):
        reach = variant.reach_in_steps(number, level)
        assert masses[reach:].sum() <= level < masses[reach - 1 :].sum()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"threshold": 2}, "threshold is 2: use a value from"),
        ({"threshold": 6}, "threshold is 6: use a value from"),
        ({"threshold": -1}, "threshold is -1: use"),
        ({"threshold": 2**40}, "threshold is .*: use"),
        ({"colluders": 4}, "colluders is .*: use a value of at least 0"),
        ({"colluders": -1}, "colluders is .*: use a value of at least 0"),
        ({"epsilon": 1e-4}, "epsilon is .*: use at least 0.000976562 in variant 'masked'"),
        ({"game": "board"}, "leave out game in variant 'masked': a masked sum is never kept"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        make_vote(**given).check_roster(np.empty((5, 0), dtype=np.int64))


def test_sizes_are_of_this_variant_alone() -> None:
    with pytest.raises(ConfigurationError, match="give threshold in variant 'masked'"):
        DPWeVote(Parameters(candidates=("a",), variant="masked"))
    with pytest.raises(ConfigurationError, match="leave out threshold in variant 'joint'"):
        DPWeVote(Parameters(candidates=("a",), threshold=3, colluders=0))
