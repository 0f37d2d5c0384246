"""The mechanism `masked` of a fair vote: the sums of `laplace` from masked rows, and its noise by the exact law."""

from typing import Any, Final

import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.estimators.noise_tails import NoisePart, tail_of_noise
from psephos.protocol.fair_voting import DisclosedRankings, FairVoting, MaskedRankings, Parameters
from psephos.protocol.fair_voting.utility_noise import UtilityNoise
from psephos.protocol.mechanisms import NoiseShare, VectorLaplace
from psephos.protocol.mechanisms.polya import share_masses
from psephos.protocol.phases import Inputs
from psephos.protocol.privacy import NeighboringRelation

TABLE: Final = {"group": ["l", "r", "l", "l", "r"], "ranking": ["a>b>c", "c>b>a", "b>a>c", "a>c>b", "b>c>a"]}


def vote(**given: Any) -> FairVoting:
    fields: dict[str, Any] = {"mechanism": "masked", "threshold": 4, "colluders": 1, **given}
    return FairVoting(Parameters(alternatives=("a", "b", "c"), groups=("l", "r"), group_sizes=(3, 2), **fields))


@pytest.mark.parametrize("scores", ["borda", "plurality", (5.0, 4.5, 0.0)])
def test_the_sums_and_their_sensitivity_are_those_of_laplace(scores: Any) -> None:
    masked, central = (
        vote(scores=scores),
        FairVoting(Parameters(alternatives=("a", "b", "c"), groups=("l", "r"), group_sizes=(3, 2), scores=scores)),
    )
    assert isinstance(masked.phase, MaskedRankings)
    assert isinstance(central.phase, DisclosedRankings)
    sums = masked.encode(TABLE).private[:, 3:].sum(axis=0).reshape(2, 3) * masked.phase.scoring.step
    inputs = central.encode(TABLE)
    expected = central.phase.sums_of(inputs.private, inputs.public[:, 0]) * central.phase.scoring.step
    # All alternatives of a group may be shifted alike, by where scores are counted from.
    assert np.ptp(sums - expected, axis=1).max() <= 1e-4
    assert isinstance(central.phase.tally_mechanism, VectorLaplace)
    sensitivities = [
        masked.phase.share.sensitivity * masked.phase.scoring.step,
        central.phase.tally_mechanism.sensitivity * central.phase.scoring.step,
    ]
    assert sensitivities[0] == pytest.approx(sensitivities[1], rel=1e-4)


def test_with_as_many_shares_as_planned_the_noise_has_the_law_of_laplace() -> None:
    phase = vote(threshold=5, colluders=0).phase
    assert isinstance(phase, MaskedRankings)
    share, laplace = phase.share, VectorLaplace(phase.share.scale, phase.share.sensitivity, phase.share.bound)
    law = share_masses(scale=share.scale, planned=share.planned, num_shares=5)
    noise = np.arange(50, dtype=np.int64)[:, None]
    assert np.log(law[:50]) == pytest.approx(laplace.log_likelihoods(noise, np.zeros((1, 1), dtype=np.int64))[:, 0])
    assert vote(threshold=5, colluders=0).losses[0].proven == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("number", [8, 9, 20])
def test_the_noise_of_estimates_is_of_all_shares_that_are_in_the_sum(number: int) -> None:
    """Eight are planned; each voter adds one."""
    noise = UtilityNoise.from_shares(NoiseShare(400.0, 2, 1, 8), number, 1.0, (1,))
    masses = share_masses(scale=400.0, planned=8, num_shares=number)
    assert noise.sums is not None
    for reach in (400, 1_200, 2_400):
        exact = float(masses[reach:].sum())
        (found,) = noise.sums.tails(np.array([[[1.0, 0.0]]]), float(reach)).tolist()
        assert exact <= found <= 1.1 * exact


@pytest.mark.parametrize("number", [8, 9, 11, 20, 33])
@pytest.mark.parametrize("widths", [(1, 0), (1, 1), (3, 2), (5, 1)])
@pytest.mark.parametrize("scale", [2.0, 9.0])
def test_tails_of_shares_are_those_of_the_exact_law_or_more(number: int, widths: tuple[int, int], scale: float) -> None:
    """Of a weighted sum of two sums of shares, whose law is worked out by adding up."""
    side = share_masses(scale=scale, planned=8, num_shares=number)
    masses = np.concatenate([side[:0:-1], side])
    laws: list[Any] = []
    for width in filter(None, widths):
        law = np.zeros((len(masses) - 1) * width + 1)
        law[::width] = masses
        laws.append(law)
    law = laws[0] if len(laws) == 1 else np.convolve(*laws)
    middle = len(law) // 2
    parts = [NoisePart(width * scale, number / 8, width) for width in widths]
    for reach in (1, int(scale), int(5 * scale), int(15 * scale)):
        exact = float(law[middle + reach :].sum())
        told = tail_of_noise(parts, reach)
        assert told >= exact - 1e-9
        if reach > 10 * scale and number % 8:  # and hardly more than what lies some steps nearer
            nearer = reach - int(6 * max(widths) * len(laws)) - 1
            assert told <= float(law[middle + max(nearer, 0) :].sum()) + 3e-6


def test_a_row_that_adds_up_what_its_ranking_does_not_say_is_refused() -> None:
    masked = vote()
    inputs = masked.encode(TABLE)
    row, public = inputs.private[0].tolist(), inputs.public[0].tolist()
    masked.check_row(row, public)
    with pytest.raises(ValueError, match="adds up what its ranking does not say"):
        masked.check_row([*row[:3], row[3] + 1, *row[4:]], public)
    private = inputs.private.copy()
    private[0, 6] = private[0, 3]
    with pytest.raises(ValueError, match="adds up what its ranking does not say"):
        masked.check_inputs(Inputs(private, inputs.public))


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"threshold": 2, "colluders": 0}, "threshold is 2: use a value from"),
        ({"colluders": 4}, "colluders is 4: use a value of at least 0"),
        ({"mechanism": "laplace"}, "leave out threshold in mechanism 'laplace'"),
        ({"relation": NeighboringRelation.ADD_OR_REMOVE_ONE}, "relation is .*: use 'replace-one'"),
        ({"epsilon": 1e-4}, "epsilon is .*: use at least 0.000732422 in mechanism 'masked'"),
    ],
)
def test_sizes_and_prices_that_cannot_be_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        vote(**given).check_roster(np.array([[0], [1], [0], [0], [1]]))
