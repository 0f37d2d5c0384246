"""Leads of wrong winners: no truth that is tried has more of them than the bound, and the worst one nearly as many."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.noise_tails import NoisePart, tail_of_noise
from psephos.protocol.fair_voting.false_leads import FalseLeads
from psephos.protocol.mechanisms.polya import share_masses
from scipy.special import ndtr
from thoroughness import draws

Law = Callable[[FloatArray], FloatArray]
STEP = 1 / 64
TRUTHS = draws(12, full=200)


def laplace(points: FloatArray) -> FloatArray:
    """The distribution function of one draw of scale 1."""
    tails = np.exp(-np.abs(points)) / 2
    return np.where(points < 0, tails, 1 - tails)


def two_draws(points: FloatArray) -> FloatArray:
    """That of two: beyond x ≥ 0 are (2 + x)e^(−x)/4."""
    tails = (2 + np.abs(points)) * np.exp(-np.abs(points)) / 4
    return np.where(points < 0, tails, 1 - tails)


def many_draws(points: FloatArray) -> FloatArray:
    """That of very many, as good as normal."""
    return np.asarray(ndtr(points), dtype=np.float64)


LAWS: dict[str, tuple[Law, NoisePart]] = {
    "one draw": (laplace, NoisePart(1.0, 1.0)),
    "two draws": (two_draws, NoisePart(1.0, 2.0)),
    "many draws": (many_draws, NoisePart(math.sqrt(1 / 2e6), 1e6)),
}


def wrong_leads(laws: list[FloatArray], lead: int) -> float:
    """Return how likely any but the first leads all others, by distribution functions on a grid.

    Whoever is between two points is taken for the lower one, and others for the upper one: no more than the truth.
    """
    total = 0.0
    for place, own in enumerate(laws):
        if place:
            others = np.prod([law for number, law in enumerate(laws) if number != place], axis=0)
            total += float(np.sum(np.diff(own)[lead:] * others[: len(own) - 1 - lead]))
    return total


def truths(generator: np.random.Generator) -> Iterator[list[float]]:
    """Yield by how much others are worse than the best: some of them by nothing, or far."""
    yield from ([0.0], [0.0] * 4, [0.0, 9.0, 9.0], [0.0, 1.0, 2.0, 3.0])
    for _ in range(TRUTHS):
        yield (generator.choice([0.0, 0.3, 1.0, 3.0, 9.0], size=generator.integers(1, 6)) * generator.random()).tolist()


@pytest.mark.parametrize("lead", [2.5, 4.0, 6.0])
@pytest.mark.parametrize("name", list(LAWS))
def test_no_truth_has_more_wrong_leads_than_the_bound(name: str, lead: float) -> None:
    law, part = LAWS[name]
    points = np.arange(-40.0, 60.0, STEP)
    for worse in truths(np.random.default_rng(1)):
        laws = [law(points + off) for off in (0.0, *worse)]
        found = wrong_leads(laws, round(lead / STEP))
        assert found <= FalseLeads((part,), is_folded=False).chance(lead, len(worse))


@pytest.mark.parametrize("lead", [2.5, 4.0])
@pytest.mark.parametrize("name", list(LAWS))
def test_no_truth_has_more_wrong_leads_by_parity(name: str, lead: float) -> None:
    """Merits are −|D + e|, the best one's at every distance from 0."""
    law, part = LAWS[name]
    points = np.arange(-60.0, STEP / 2, STEP)
    for worse in truths(np.random.default_rng(2)):
        for nearest in (0.0, 0.5, 1.5, 3.0, 6.0, 20.0):
            laws = [
                1 - (law(-points - nearest - off) - law(points - nearest - off)) for off in (0.0, *worse)
            ]  # P[−|D + e| <= y] = P[|D + e| >= −y]
            found = wrong_leads(laws, round(lead / STEP))
            assert found <= FalseLeads((part,), is_folded=True).chance(lead, len(worse)), (worse, nearest)


@pytest.mark.parametrize("is_folded", [False, True])
@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize(("name", "most"), [("one draw", 1.32), ("two draws", 1.09), ("many draws", 1.03)])
def test_many_others_cost_little_more_than_one(name: str, most: float, level: float, *, is_folded: bool) -> None:
    """Nine others, where nine pairs would cost nine times as much."""
    part = LAWS[name][1]
    lead = next(own for own in np.arange(0.5, 12, 0.01).tolist() if tail_of_noise([part, part], own) <= level)
    assert level * 0.98 <= FalseLeads((part,), is_folded=is_folded).chance(lead, 9) <= most * level


@pytest.mark.parametrize(("planned", "number"), [(10, 12), (4, 7)])
def test_noise_shares_on_a_grid_lead_no_more_often(planned: int, number: int) -> None:
    """By the exact law of the shares, where three others, or one, are as good as the best."""
    for scale in (6.0, 60.0):
        side = share_masses(scale=scale, planned=planned, num_shares=number)
        law = np.cumsum(np.concatenate([[0.0], side[:0:-1], side]))
        leads = FalseLeads((NoisePart(scale, number / planned, 1.0),), is_folded=False)
        for lead in (round(3.5 * scale), 5 * round(scale)):
            # P[others <= x − lead], as they are whole.
            law_ahead = np.diff(law)[lead:], law[1 : len(law) - lead]
            worst = max(others * float(np.sum(law_ahead[0] * law_ahead[1] ** others)) for others in (1, 3))
            chance = leads.chance(float(lead), 3)
            assert worst <= chance
            assert scale < 60 or chance <= 1.35 * worst


def test_a_lead_that_the_grid_may_have_made_says_nothing() -> None:
    leads = FalseLeads((NoisePart(2.0, 4.0, 1.0),), is_folded=False)
    assert leads.chance(12.0, 3) == 1.0
    assert leads.chance(60.0, 3) < 0.01


@pytest.mark.parametrize("is_folded", [False, True])
@pytest.mark.parametrize("name", list(LAWS))
def test_a_lead_beyond_all_noise_is_as_sure_as_can_be_told(name: str, *, is_folded: bool) -> None:
    part = LAWS[name][1]
    far = FalseLeads((part,), is_folded).chance(40 * math.sqrt(part.variance), 49)
    assert 2.0**-20 <= far <= 1e-4
