"""Run many elections of one cell over arrays, with the protocol's mechanisms and estimators.

Election t uses row t of the release's noise streams; in the local model, its voters are rows t·n to (t + 1)·n of one
population. So elections have independent noise, and all cells with the same seed and session share their random
numbers.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expm1

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.fair_voting import (
    DisclosedRankings,
    FairVoting,
    MaskedRankings,
    Objective,
    Parameters,
    RandomizedRankings,
    Scoring,
)
from ...protocol.fair_voting.choices import ExponentialChoice, SampledChoice
from ...protocol.fair_voting.lots import lot_of
from ...protocol.fair_voting.reports import RankingReport
from ...protocol.fair_voting.subsample import Subsample
from ...protocol.fair_voting.utility_noise import share_quantiles
from ...protocol.mechanisms import VectorLaplace, code_of_rankings
from ...protocol.phases import Inputs
from ...protocol.population import draw_reports
from ...protocol.randomness import SimulatedNoise
from .binomials import draw_binomials
from .profiles import Profiles

_ROWS_AT_A_TIME: Final = 1 << 16
_NOBODY: Final = -1
_MOST: Final = 2**62


@dataclasses.dataclass(frozen=True, eq=False)
class ElectionRelease:
    """The released numbers that determine winners in every trial, for any objective.

    Args:
        values: integers, shape (trials, G, m): W_k(a) is unit·values/denominator, up to a common shift.
        unit: the unit of `values`, in units of the scores.
        denominators: the groups' denominators.
        sizes: the groups' sizes n_k.
        random_winners: int64, shape (trials,): winners that do not depend on values (Algorithm 2, line 2); −1 for none.
        of_ties: uniforms, shape (trials,), that break ties; without them, the first of tied alternatives wins.
    """

    values: NDArray[Any]
    unit: Fraction
    denominators: tuple[int, ...]
    sizes: tuple[int, ...]
    random_winners: IntArray | None = None
    of_ties: FloatArray | None = None

    def rescale(self) -> "ElectionRelease":
        """Return Algorithm 2's counts on the printed scale S_k/n_k instead of the unbiased one (reading F3)."""
        return dataclasses.replace(self, unit=Fraction(1), denominators=self.sizes)

    def best(self, objective: Objective) -> NDArray[np.bool_]:
        """Return the best alternatives of each trial, several in a tie: bool, shape (trials, m).

        This is `Objective.best_alternatives` on arrays. Values are scaled to a common denominator and compared as
        integers, so that ties are exact (reading F3); Python's integers are used if 64 bits do not suffice.
        """
        values, common = self.values, math.lcm(*self.denominators)
        weight = objective.fairness_weight
        # A bound of the numbers below: welfare over all voters, times λ's denominator, plus the part of ΔW.
        largest = int(np.abs(values).max()) * common * sum(self.sizes)
        if largest * 2 * max(weight.numerator, weight.denominator) >= _MOST:
            values = values.astype(object)
        scaled_values = values * np.array([common // each for each in self.denominators], dtype=values.dtype)[:, None]
        disparity = scaled_values.max(axis=1) - scaled_values.min(axis=1)
        if objective.name == "parity":
            return _most(-disparity)
        welfare = (scaled_values * np.array(self.sizes, dtype=values.dtype)[:, None]).sum(axis=1)
        if objective.name == "penalized":
            return _most(welfare * weight.denominator - disparity * (weight.numerator * sum(self.sizes)))
        is_within = np.asarray(disparity <= math.floor(objective.max_disparity * common / self.unit), dtype=np.bool_)
        has_any = np.asarray(is_within.any(axis=1), dtype=np.bool_)
        # The greatest welfare within the limit; if no alternative is within it, the least disparity.
        lowest = welfare.min(axis=1, keepdims=True)
        welfare = np.asarray(welfare - (welfare - lowest + 1) * ~is_within)
        return np.where(has_any[:, None], _most(welfare), _most(-disparity)).astype(np.bool_)


def elect(election_release: ElectionRelease, objective: Objective) -> IntArray:
    """Return the winners: int64, shape (trials,).

    Examples:
        >>> released = ElectionRelease(np.array([[[4, 1], [2, 3]]]), Fraction(1), (2, 2), (2, 2))
        >>> elect(released, Objective("parity")).tolist(), elect(released, Objective("welfare")).tolist()
        ([0], [0])
    """
    best = election_release.best(objective)
    winners = best.argmax(axis=1)
    if election_release.of_ties is not None:
        ties = best.sum(axis=1)
        chosen_ties = np.minimum((election_release.of_ties * ties).astype(np.int64), ties - 1)
        winners = (best.cumsum(axis=1) == (chosen_ties + 1)[:, None]).argmax(axis=1)
    if election_release.random_winners is not None:
        winners = np.where(election_release.random_winners == _NOBODY, winners, election_release.random_winners)
    return winners.astype(np.int64)


def clean_release(parameters: Parameters, profiles: Profiles) -> ElectionRelease:
    """Return the exact release, without privacy."""
    scoring = parameters.make_scoring(is_centered=False)
    return _release_sums(profiles.sums(scoring), scoring, profiles)


def release(vote: FairVoting, profiles: Profiles, *, trials: int, noise: SimulatedNoise) -> ElectionRelease:
    """Run all trials of a session, up to the numbers that determine the winner.

    The vote may have any mechanism with public groups, except choices by qualities (`choice_shares`). `profiles` has
    one election for each trial, or one for all.
    """
    phase = vote.phase
    if isinstance(phase, RandomizedRankings):
        return _local(vote, phase, profiles, trials=trials, noise=noise)
    if isinstance(phase, MaskedRankings):
        return _masked(vote, phase, profiles, trials=trials, noise=noise)
    disclosed = vote.disclosed_phase
    if disclosed.choice is None:
        return _laplace(vote, disclosed, profiles, trials=trials, noise=noise)
    return _release_sampled(vote, disclosed, disclosed.elects_by(SampledChoice), profiles, trials=trials, noise=noise)


def has_quick_law(vote: FairVoting) -> bool:
    """Return whether the winner's law is quickly computed for each election (`choice_shares`)."""
    if vote.parameters.samples_voters_first or not isinstance(vote.phase, DisclosedRankings):
        return False
    choice = vote.disclosed_phase.choice
    return isinstance(choice, ExponentialChoice) or (isinstance(choice, SampledChoice) and choice.is_small)


def choice_shares(vote: FairVoting, profiles: Profiles) -> FloatArray:
    """Return the winner's law for each election, for mechanisms that release only a winner.

    The result is float64, shape (elections, m), equal to the protocol's law up to about 1e-12. Algorithm 2 takes about
    0.1 ms for an election with few samples (`SampledChoice.is_small`), and much longer with many.

    Examples:
        >>> from psephos.scenarios.fair_voting.profiles import fixed_profile
        >>> given = {"mechanism": "exponential", "objective": "welfare", "epsilon": 2.0}
        >>> vote = FairVoting(Parameters(alternatives=("a", "b"), groups=("all",), group_sizes=(3,), **given))
        >>> profiles = fixed_profile(np.array([[0, 1]] * 3), np.zeros(3, dtype=np.int64), 1)
        >>> choice_shares(vote, profiles).round(3).tolist()
        [[0.953, 0.047]]
    """
    phase = vote.disclosed_phase
    if isinstance(phase.choice, SampledChoice):
        return np.exp(phase.choice.log_laws(profiles.sums(phase.scoring).reshape(len(profiles), -1)))
    choice = phase.elects_by(ExponentialChoice)
    if len(profiles) == 1:
        sums: list[int] = profiles.sums(phase.scoring).reshape(-1).tolist()
        return np.array([choice.probabilities(sums)])
    qualities = qualities_of(choice.objective, profiles)
    quality_gaps = qualities.max(axis=1, keepdims=True) - qualities
    rate = float(choice.rate / Fraction(phase.scoring.step))
    masses = cast("FloatArray", expm1(-rate * quality_gaps)) + 1.0
    if not choice.is_flipped:
        return masses / masses.sum(axis=1, keepdims=True)
    shares = np.empty_like(masses)
    for alternative in range(masses.shape[1]):
        # P = p ∫ Π (1 − t·p_other) dt over [0, 1], as a polynomial in t.
        terms = [np.ones(len(masses))]
        for other in range(masses.shape[1]):
            if other != alternative:
                shifted_terms = [np.zeros(len(masses)), *(masses[:, other] * term for term in terms)]
                terms = [
                    own_term - shifted_term
                    for own_term, shifted_term in zip([*terms, np.zeros(len(masses))], shifted_terms, strict=True)
                ]
        integral = sum((term / power for power, term in enumerate(terms, start=1)), np.zeros(len(masses)))
        shares[:, alternative] = masses[:, alternative] * integral
    return shares


def qualities_of(objective: Objective, profiles: Profiles) -> FloatArray:
    """Return `Objective.qualities` of each alternative, in units of the scores: float64, shape (elections, m)."""
    if objective.name == "parity":
        return -profiles.disparities
    excess = profiles.disparities
    if objective.name == "constrained":
        excess = np.maximum(excess - float(objective.max_disparity), 0.0)
    return profiles.welfares - float(objective.fairness_weight) * excess


def _laplace(
    vote: FairVoting, phase: DisclosedRankings, profiles: Profiles, *, trials: int, noise: SimulatedNoise
) -> ElectionRelease:
    laplace = cast("VectorLaplace", phase.tally_mechanism)
    sums = profiles.sums(phase.scoring)
    width = sums[0].size
    uniforms = _uniforms(vote, phase, noise, trials=trials, slots=laplace.slots_of(width))
    values = np.broadcast_to(sums.reshape(-1, width), (trials, width))
    noisy = laplace.randomize_rows(np.ascontiguousarray(values), uniforms).reshape(trials, *sums.shape[1:])
    return _release_sums(noisy, phase.scoring, profiles)


def _masked(
    vote: FairVoting, phase: MaskedRankings, profiles: Profiles, *, trials: int, noise: SimulatedNoise
) -> ElectionRelease:
    """Return the sums with the noise of all voters' shares, drawn as continuous quantiles."""
    sums, number = profiles.sums(phase.scoring), sum(profiles.group_sizes)
    uniforms = _uniforms(vote, phase, noise, trials=trials, slots=sums[0].size).reshape(trials, *sums.shape[1:])
    share_noise = share_quantiles(uniforms, planned=phase.share.planned, number=number)
    share_noise = np.rint(share_noise * math.sqrt(number * phase.share.noise_variance)).astype(np.int64)
    return _release_sums(sums + share_noise, phase.scoring, profiles)


def _release_sampled(
    vote: FairVoting,
    phase: DisclosedRankings,
    choice: SampledChoice,
    profiles: Profiles,
    *,
    trials: int,
    noise: SimulatedNoise,
) -> ElectionRelease:
    sums, draw = profiles.sums(phase.scoring), 1
    if vote.parameters.reading == "subsample":
        sums, draw = _sums_of_sampled(vote, phase, profiles, trials=trials, noise=noise), 2
    uniforms = _uniforms(vote, phase, noise, trials=trials, slots=choice.slots_of(sums[0].size), draw=draw)
    of_counts = uniforms[:, 2:]
    # Numerators and denominators of `SampledChoice.hit_probabilities` for all elections.
    of_group = np.array(choice.sum_sizes, dtype=np.int64)[:, None]
    hits = 2 * (sums - of_group * choice.scoring.steps[-1]).reshape(-1)
    chances = np.broadcast_to(of_group * (choice.num_alternatives * choice.scoring.range), sums.shape).reshape(-1)
    counts = draw_binomials(
        choice.num_samples, hits, chances, of_counts if len(sums) == 1 else of_counts.reshape(1, -1)
    )
    values = counts.reshape(trials, *sums.shape[1:])
    size = choice.num_alternatives
    random_winners = np.full(trials, _NOBODY, dtype=np.int64)
    if choice.gamma:
        places = np.minimum((uniforms[:, 0] / choice.gamma * size).astype(np.int64), size - 1)
        random_winners = np.where(uniforms[:, 0] < choice.gamma, places, _NOBODY)
    sizes = profiles.group_sizes
    unit = Fraction(size * choice.scoring.range, 2 * choice.num_samples) * Fraction(choice.scoring.step)
    sampled_release = ElectionRelease(values, unit, (1,) * len(sizes), sizes, random_winners, uniforms[:, 1])
    return sampled_release.rescale() if choice.scale == "printed" else sampled_release


def _sums_of_sampled(
    vote: FairVoting, phase: DisclosedRankings, profiles: Profiles, *, trials: int, noise: SimulatedNoise
) -> IntArray:
    """Return the sums of line 4's voters in each trial: int64, shape (trials, G, m)."""
    parameters = vote.parameters
    subsample = Subsample(parameters.group_sizes, parameters.samples)
    uniforms = _uniforms(vote, phase, noise, trials=trials, slots=subsample.slots_of(1))
    steps = np.array(phase.scoring.steps, dtype=np.int64)
    starts = np.repeat(np.cumsum([0, *parameters.group_sizes[:-1]]), parameters.samples)
    sums = np.empty((trials, len(parameters.groups), phase.num_values), dtype=np.int64)
    positions: IntArray = np.empty(0, dtype=np.int64)
    for trial, row in enumerate(uniforms.tolist()):
        if not trial or not profiles.is_fixed:
            positions = profiles.positions[trial].astype(np.int64)
            # Sorted within each group, as in the protocol's tally.
            positions = positions[np.lexsort((code_of_rankings(positions), profiles.members))]
        chosen_voters = starts + np.array(subsample.randomize_row([0], row), dtype=np.int64)
        utilities = steps[positions[chosen_voters]]
        sums[trial] = utilities.reshape(len(parameters.groups), parameters.samples, -1).sum(axis=1)
    return sums


def _local(
    vote: FairVoting,
    phase: RandomizedRankings,
    profiles: Profiles,
    *,
    trials: int,
    noise: SimulatedNoise,
) -> ElectionRelease:
    report = phase.report
    units, unit = _linear(report)
    sizes, members = profiles.group_sizes, profiles.members
    num_voters, ends = len(members), np.cumsum(sizes)[:-1]
    values = np.empty((trials, len(sizes), report.size), dtype=units.dtype)
    of_ties = np.empty(trials)
    at_a_time = max(1, _ROWS_AT_A_TIME // num_voters)
    for start in range(0, trials, at_a_time):
        stop = min(start + at_a_time, trials)
        if profiles.is_fixed:
            positions = np.broadcast_to(profiles.positions, (stop - start, *profiles.positions.shape[1:]))
        else:
            positions = profiles.positions[start:stop]
        rows = positions.reshape(-1, report.size).astype(np.int64)
        inputs = Inputs(rows, np.tile(members, stop - start)[:, None])
        drawn_reports = draw_reports(phase, inputs, noise=noise, protocol=vote.name, start=start * num_voters)
        drawn_reports = drawn_reports.reshape(stop - start, num_voters, -1)
        for trial in range(start, stop):
            by_group = np.split(drawn_reports[trial - start], ends)
            counts = np.stack([report.totals_of(reports) for reports in by_group])
            values[trial] = counts.astype(units.dtype) @ units
            of_ties[trial] = lot_of(np.concatenate([np.array(sizes, dtype=np.int64)[:, None], counts], axis=1))
    return ElectionRelease(values, unit, sizes, sizes, of_ties=of_ties)


def _linear(report: RankingReport) -> tuple[NDArray[Any], Fraction]:
    """Return the integer coefficients of a tally's numbers in the estimates, shape (width, m), and their unit.

    Estimates are linear in the tally, so they are computed by the protocol's estimator from unit vectors.
    """
    zero_estimates = list(report.estimates([0] * report.width, 1))
    singles: list[list[int]] = np.eye(report.width, dtype=np.int64).tolist()
    rows = [
        [value - base for value, base in zip(report.estimates(single, 1), zero_estimates, strict=True)]
        for single in singles
    ]
    common = math.lcm(*(value.denominator for row in rows for value in row))
    whole = [[int(value * common) for value in row] for row in rows]
    divisor = math.gcd(*(value for row in whole for value in row))
    units = np.array([[value // divisor for value in row] for row in whole], dtype=np.int64)
    return units, Fraction(divisor, common)


def _uniforms(
    vote: FairVoting,
    phase: DisclosedRankings | MaskedRankings,
    noise: SimulatedNoise,
    *,
    trials: int,
    slots: int,
    draw: int = 1,
) -> FloatArray:
    stream = f"release of {phase.name}" + (f", draw {draw}" if draw > 1 else "")
    return noise.uniforms(protocol=vote.name, phase=stream, start=0, stop=trials, slots=slots)


def _release_sums(sums: IntArray, scoring: Scoring, profiles: Profiles) -> ElectionRelease:
    """Return the release for given sums of utilities by group, with or without noise."""
    sizes, step = profiles.group_sizes, Fraction(scoring.step)
    return ElectionRelease(sums, step, sizes, sizes)


def _most(merits: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(merits == merits.max(axis=1, keepdims=True), dtype=np.bool_)
