"""The exact chance to pass, against all reports of a few partners, and against laws that are known of many."""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.central import CentralVotes
from psephos.protocol.dpwevote.chances import PassingLaw, chances_to_pass
from psephos.protocol.mechanisms import FiniteMechanism, VectorLaplace
from psephos.protocol.phases import InputBlock, Phase
from psephos.protocol.tally import TallyBlock
from scipy.special import bdtrc

CANDIDATES = ("a", "b")
WEIGHTS = (1.0, 2.0, 4.0)


def vote_of(**given: Any) -> DPWeVote:
    usual: dict[str, Any] = {"candidates": CANDIDATES, "weights": WEIGHTS, "epsilon": 1.5}
    return DPWeVote(Parameters(**{**usual, **given}))


def holding(vote: DPWeVote, weights: Sequence[float], *opinions: Sequence[int]) -> InputBlock:
    return InputBlock.from_inputs(vote.encode({"weight": weights, **dict(zip(CANDIDATES, opinions, strict=False))}))


def channel_of(phase: Phase) -> Sequence[Sequence[float]]:
    assert isinstance(phase.mechanism, FiniteMechanism)
    return phase.mechanism.channel_matrix()


def by_all_reports(vote: DPWeVote, inputs: InputBlock) -> list[float]:
    """Return the chance of each candidate by every report that each partner may give."""
    rows, found = inputs.inputs(0), list[float]()
    for candidate in range(len(vote.parameters.candidates)):
        law: Mapping[float, float] = {0.0: 1.0}
        for private, public in zip(rows.private, rows.public, strict=True):
            own = [phase for phase in vote.phases if candidate < phase.num_values or phase.num_values == 1]
            own = own[2 * candidate : 2 * candidate + 2] if len(own) > 2 else own  # a weight for each candidate
            values = [int(private[phase.columns][candidate if phase.num_values > 1 else 0]) for phase in own]
            channels = [np.array(channel_of(phase))[value] for phase, value in zip(own, values, strict=True)]
            added: dict[float, float] = {}
            for reports in itertools.product(*(range(len(each)) for each in channels)):
                columns = [np.full((1, phase.num_values), 0) for phase in vote.phases]
                for phase, report in zip(own, reports, strict=True):
                    columns[vote.phases.index(phase)][0, candidate if phase.num_values > 1 else 0] = report
                value = float(vote.contributions(columns, public[None])[0, candidate])
                chance = math.prod(each[report] for each, report in zip(channels, reports, strict=True))
                for total, so_far in law.items():
                    key = round(total + value, 9)
                    added[key] = added.get(key, 0.0) + so_far * chance
            law = added
        tie = -1e-6 if vote.parameters.passes == "at_least" else 1e-6
        found.append(math.fsum(chance for total, chance in law.items() if total - (vote.parameters.quota or 0) >= tie))
    return found


@pytest.mark.parametrize(
    "given",
    [
        {"variant": "joint"},
        {"variant": "printed"},
        {"variant": "printed", "quota_fraction": 0.6},
        {"variant": "printed", "quota": 5.0, "passes": "more_than"},
        {"variant": "printed", "weight_collection": "per_candidate"},
        {"variant": "joint", "public_weights": True, "quota_fraction": 0.625},
        {"variant": "joint", "public_weights": True, "passes": "more_than"},
        {"variant": "joint", "weights": (3.0,), "public_weights": True},
        {"variant": "joint", "groups": ((1.0, 2.0), (4.0,))},
        {"variant": "two_point"},
        {"variant": "two_point", "quota": 4.0},
        {"variant": "signed_rr", "quota_fraction": 0.75},
    ],
    ids=lambda given: " ".join(map(str, given.values())),
)
def test_the_chance_to_pass_is_that_of_all_reports(given: dict[str, Any]) -> None:
    vote = vote_of(**given)
    weights = vote.parameters.weights
    held = [weights[place % len(weights)] for place in (0, 1, 2, 1, 0)]
    inputs = holding(vote, held, (1, 0, 1, 0, 0), (0, 0, 1, 1, 1))
    found = chances_to_pass(vote, inputs)
    assert found is not None
    assert found.shape == (1, 2)
    assert found[0].tolist() == pytest.approx(by_all_reports(vote, inputs), abs=1e-9)


def test_it_is_as_exact_for_many_of_whom_a_part_of_the_lattice_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    vote, number = vote_of(weights=(1.0, 2.0), variant="joint", epsilon=4.0), 300
    held = [1.0, 2.0] * (number // 2)
    opinions = [[place % 5 > 1 for place in range(number)], [place % 3 > 1 for place in range(number)]]
    inputs = holding(vote, held, *np.array(opinions, dtype=np.int64).tolist())
    sums = vote.make_variant().report_sums
    assert sums is not None
    numbers = np.array([[30, 90, 90, 90], [70, 80, 20, 130]])
    part = PassingLaw(sums, number, quota=Fraction(0), tie_passes=True)
    monkeypatch.setattr("psephos.protocol.dpwevote.chances._OUTSIDE", 1e6)
    whole = PassingLaw(sums, number, quota=Fraction(0), tie_passes=True)
    assert part.chances(numbers).tolist() == pytest.approx(whole.chances(numbers).tolist(), abs=2e-12)
    # One by one they have the bits that they have together.
    alone = [float(part.chances(own)[0]) for own in (numbers[:1], numbers[1:])]
    assert alone == part.chances(numbers).tolist()
    assert chances_to_pass(vote, inputs) is not None


def test_two_points_pass_by_the_binomial_law() -> None:
    vote, number = vote_of(weights=(1.0, 2.0), variant="two_point", epsilon=1.0), 2_001
    found = chances_to_pass(vote, holding(vote, [2.0] * number, [1] * number, [1] * number))
    assert found is not None
    keep = math.e / (1 + math.e)
    assert found[0].tolist() == pytest.approx([float(bdtrc(number // 2, number, keep))] * 2, abs=1e-12)


@pytest.mark.parametrize("release", ["margin", "decision"])
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    "quota", [{}, {"passes": "more_than"}, {"quota_fraction": 2 / 3}, {"quota": 5.0}, {"quota_fraction": 1.0}]
)
def test_what_a_trusted_server_tells_passes_by_the_law_of_its_noise(
    quota: dict[str, Any], release: str, *, public: bool
) -> None:
    """By every noise that has a chance to speak of, in what is released of the sums with it."""
    vote = vote_of(variant="central", release=release, public_weights=public, **quota)
    inputs = holding(vote, WEIGHTS, (1, 0, 1), (0, 1, 0))
    found = chances_to_pass(vote, inputs)
    assert found is not None
    (phase,), rows = vote.phases, inputs.inputs(0)
    clear = phase.tally(rows.private, earlier=[], public=rows.public)
    ((mechanism, values),) = phase.fixed_release(clear, 0).drawn
    scale = mechanism.scale if isinstance(mechanism, VectorLaplace) else 0.0
    drawn = range(4) if release == "decision" else range(-math.ceil(50 * scale), math.ceil(50 * scale) + 1)
    expected = [0.0, 0.0]
    for place, own in itertools.product(range(2), drawn):
        totals = clear.totals.copy()
        if isinstance(mechanism, VectorLaplace):
            totals[place] += own
            chance = mechanism.noise_probability(own)
        else:
            totals[:2] = own
            chance = math.exp(mechanism.log_likelihoods(np.array([[own]]), np.array([[values[place]]]))[0, 0])
        expected[place] += chance * vote.decisions([TallyBlock(3, totals[None])]).leans_yes[0, place]
    assert found[0].tolist() == pytest.approx(expected, abs=1e-9)


class Another(DPWeVote):
    """The same, of whom nobody knows it."""


@pytest.mark.parametrize(
    "given",
    [
        {"variant": "laplace"},
        {"variant": "masked", "threshold": 3, "colluders": 0},
        {"variant": "optimal"},
        {"variant": "joint", "quota_fraction": 0.6},
        {"variant": "joint", "weights": (0.1, 0.2, 0.7)},
        {"variant": "printed", "weights": (1.0, 2.0**40)},
    ],
    ids=lambda given: " ".join(map(str, given.values())),
)
def test_where_the_law_is_not_worked_out_there_is_none(given: dict[str, Any]) -> None:
    vote = vote_of(**given)
    weights = vote.parameters.weights
    assert chances_to_pass(vote, holding(vote, weights[:2] * 2, (1, 0, 1, 1), (0, 1, 1, 0))) is None


def test_a_trusted_servers_phase_is_made_once_for_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CentralVotes] = []
    init = CentralVotes.__init__

    def count(self: CentralVotes, *arguments: Any, **named: Any) -> None:
        made.append(self)
        init(self, *arguments, **named)

    vote = vote_of(variant="central", epsilon=1.25)
    inputs = holding(vote, vote.parameters.weights, (1, 0, 1), (0, 1, 1))
    assert len(vote.phases) == 1  # its own
    monkeypatch.setattr(CentralVotes, "__init__", count)
    for _ in range(3):
        assert chances_to_pass(vote, inputs) is not None
    assert len(made) == 1


def test_of_somebodys_own_vote_there_is_none() -> None:
    known, own = vote_of(), Another(vote_of().parameters)
    held = holding(known, WEIGHTS, (1, 0, 1), (0, 0, 1))
    assert chances_to_pass(known, held) is not None
    assert chances_to_pass(own, held) is None
