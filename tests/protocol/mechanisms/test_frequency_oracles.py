"""Frequency oracles: laws, means and variances by enumeration, samplers on every outcome of their draws, both limits.

Everything but two tests of draws is exact, in fractions.
"""

import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact_laws import exact_law, exact_log
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import Parameters, make_offers
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators import estimate_counts
from psephos.protocol.mechanisms import (
    MAX_EPSILON,
    MIN_EPSILON,
    FrequencyOracle,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
    two_point,
)
from thoroughness import draws

LN2 = math.log(2)
KINDS: list[type[FrequencyOracle]] = [SubsetSelection, HadamardResponse, LocalHashing]
SIZES = (2, 3, 5, 6, 8, 10)
EPSILONS = (MIN_EPSILON, 0.1, 1.0, 2.0, 5.0, MAX_EPSILON)
MOST_REPORTS = 5_000

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def possible_reports(oracle: FrequencyOracle) -> IntArray:
    """Return all reports of one value that are ever made."""
    low, high = oracle.report_range
    numbers = itertools.product(range(low, high + 1), repeat=oracle.num_reports_of(1))
    reports = np.array(list(numbers), dtype=np.int64)
    return reports[(np.diff(reports, axis=1) >= 0).all(axis=1)]


def law(oracle: FrequencyOracle, value: int, reports: IntArray) -> list[Fraction]:
    """Return P[report | value], exactly."""
    keep = oracle.law.keep
    inside, outside = keep / oracle.law.num_supporting, (1 - keep) / oracle.law.num_others
    return [inside if supports else outside for (supports,) in oracle.supports(reports, np.array([value])).tolist()]


def small_oracles(kind: type[FrequencyOracle], sizes: Sequence[int] = SIZES) -> list[FrequencyOracle]:
    """Return those of which all reports can be counted."""
    made = [kind(epsilon, size) for size, epsilon in itertools.product(sizes, EPSILONS)]
    return [oracle for oracle in made if (oracle.report_range[1] + 1) ** oracle.num_reports_of(1) <= MOST_REPORTS]


@kinds
def test_as_many_reports_support_each_value_as_are_stated(kind: type[FrequencyOracle]) -> None:
    oracles = small_oracles(kind)
    assert {oracle.num_choices for oracle in oracles} == set(SIZES)
    for oracle in oracles:
        reports = possible_reports(oracle)
        supports = oracle.supports(reports, np.arange(oracle.num_choices))
        assert supports.sum(axis=0).tolist() == [oracle.law.num_supporting] * oracle.num_choices
        assert len(reports) == oracle.law.num_supporting + oracle.law.num_others


@kinds
def test_the_exact_loss_is_at_most_epsilon_and_less_by_no_more_than_rounding(kind: type[FrequencyOracle]) -> None:
    """In exact fractions; a coin of 53 bits leaves less than 1e-3 of ε where ε is 1e-9 or 30, else less than 1e-9."""
    for size, epsilon in itertools.product((*SIZES, 97, 1000), EPSILONS):
        oracle = kind(epsilon, size)
        keep = oracle.law.keep
        assert (keep * 2**53).denominator == 1
        loss = exact_log(keep * oracle.law.num_others / ((1 - keep) * oracle.law.num_supporting))
        slack = 1e-3 if epsilon in {MIN_EPSILON, MAX_EPSILON} else 1e-9
        assert epsilon * (1 - slack) <= loss <= epsilon


@kinds
def test_estimates_are_unbiased_and_their_variance_is_the_stated_one(kind: type[FrequencyOracle]) -> None:
    """By enumeration of the law, for each value and each holder: the mean is 1 or 0, exactly."""
    for oracle in small_oracles(kind, SIZES[: draws(3, full=6)]):
        reports = possible_reports(oracle)
        for_it, against_it = oracle.contributions
        tallies = [oracle.support_counts(reports[place : place + 1]) for place in range(len(reports))]
        for holder, value in itertools.product(range(oracle.num_choices), repeat=2):
            chances = law(oracle, holder, reports)
            assert sum(chances) == 1
            told = [tally[:, value].tolist() for tally in tallies]
            numbers = [supporting * for_it + (telling - supporting) * against_it for supporting, telling in told]
            mean = sum((c * number for c, number in zip(chances, numbers, strict=True)), start=Fraction(0))
            square = sum((c * number**2 for c, number in zip(chances, numbers, strict=True)), start=Fraction(0))
            assert mean == (holder == value)
            assert square - mean**2 == oracle.variance_of(value, holder)


@kinds
def test_the_estimated_variance_is_unbiased_but_never_below_what_all_reports_have(kind: type[FrequencyOracle]) -> None:
    """Report by report d² − d, whose mean is Var[d] by the test above, since E[d] is 0 or 1, which is its square."""
    for oracle in (kind(1.0, 5), kind(4.0, 20)):
        supporting, against = map(float, oracle.contributions)
        variances = [float(oracle.variance_of(0, holder)) for holder in range(oracle.num_choices)]
        for number in (1, 3, 200):
            reports = oracle.perturb(np.arange(number) % 3, seed=number).reshape(number, -1)
            estimates = oracle.estimate(reports)
            assert min(each.standard_error for each in estimates) ** 2 >= number * min(variances) * (1 - 1e-12)
            for value, each in enumerate(estimates):
                told = [oracle.support_counts(report)[:, value].tolist() for report in reports]
                numbers = [supporting if for_it else against * telling for for_it, telling in told]
                assert each.value == pytest.approx(math.fsum(numbers), abs=1e-9)
                raw = math.fsum(one * one - one for one in numbers)
                expected = max(raw, number * min(variances))
                assert each.standard_error**2 == pytest.approx(expected, rel=1e-9, abs=1e-9)


@kinds
def test_the_sampler_follows_the_law_on_every_outcome_of_its_draws(kind: type[FrequencyOracle]) -> None:
    """Secure noise draws by this sampler: its law is the stated one, exactly."""
    for oracle in (kind(1.0, 4), kind(2.5, 5)):
        reports = possible_reports(oracle)
        for value in (0, oracle.num_choices - 1):
            sampled = exact_law(
                lambda below, value=value, oracle=oracle: tuple(oracle.randomize_exactly([value], below))
            )
            listed: list[list[int]] = reports.tolist()
            stated = dict(zip(map(tuple, listed), law(oracle, value, reports), strict=True))
            assert sampled == stated


@kinds
def test_uniforms_and_integers_make_the_same_reports(kind: type[FrequencyOracle]) -> None:
    """A simulation's uniforms, rounded down, are the integers of a deployment's sampler."""
    oracle = kind(1.3, 37)
    uniforms = np.random.default_rng(1).random((50, oracle.slots_of(2)))
    values = np.random.default_rng(2).integers(0, 37, size=(50, 2))
    for row, numbers, report in zip(values, uniforms, oracle.randomize_rows(values, uniforms), strict=True):
        left = iter(numbers.tolist())
        drawn = oracle.randomize_exactly(row.tolist(), lambda bound, left=left: math.floor(next(left) * bound))
        assert drawn == report.tolist()


@kinds
def test_tallies_of_parts_add_up_to_the_tally_of_all(kind: type[FrequencyOracle]) -> None:
    oracle = kind(2.0, 30)
    values = np.arange(300) % 30
    flat = oracle.perturb(values, seed=1)
    reports = flat.reshape(300, -1)
    assert oracle.support_counts(flat).tolist() == oracle.support_counts(reports).tolist()
    parts = oracle.support_counts(reports[:100]) + oracle.support_counts(reports[100:])
    assert parts.tolist() == oracle.support_counts(reports).tolist()
    assert oracle.estimate_support(parts, 300) == oracle.estimate(reports)
    counts = oracle.supports(reports, np.arange(30)).sum(axis=0)
    assert oracle.support_counts(reports)[0].tolist() == counts.tolist()
    assert [each.value for each in oracle.estimate(reports[:0])] == [0.0] * 30


@kinds
def test_bad_parameters_are_refused(kind: type[FrequencyOracle]) -> None:
    for epsilon in (0.0, -1.0, MIN_EPSILON / 2, MAX_EPSILON + 1, math.nan, math.inf):
        with pytest.raises(ConfigurationError, match=r"epsilon is .*: use a value from 1e-09 to 30"):
            kind(epsilon, 5)
    for size in (-1, 0, 1, kind.most_choices + 1):
        with pytest.raises(
            ConfigurationError, match=rf"num_choices is .*: use a value from 2 to {kind.most_choices:,}"
        ):
            kind(1.0, size)
    with pytest.raises(ConfigurationError, match="one report for each person"):
        kind(1.0, 5).estimate([[0] * 2 * kind(1.0, 5).num_reports_of(1)])
    low, high = kind(1.0, 5).report_range
    with pytest.raises(ValueError, match=f"reports are {low} to {high + 1}: use values from 0 to {high}"):
        kind(1.0, 5).support_counts(np.array([low, high + 1] * kind(1.0, 5).law.num_numbers))
    with pytest.raises(ValueError, match=r"counts have shape \(2, 4\): give shape \(2, 5\)"):
        kind(1.0, 5).estimate_support(np.zeros((2, 4), dtype=np.int64), 0)


@kinds
def test_the_largest_alphabet_has_reports_of_64_bits_and_exact_estimates(kind: type[FrequencyOracle]) -> None:
    size = kind.most_choices
    for epsilon in (1.0, MAX_EPSILON):
        oracle = kind(epsilon, size)
        assert 0 < oracle.report_range[1] < 2**63
        reports = oracle.perturb(np.array([0, size - 1, size // 2]), seed=3).reshape(3, -1)
        counts = oracle.support_counts(reports)
        chosen = np.array([0, 1, size // 2, size - 1])
        assert counts[0, chosen].tolist() == oracle.supports(reports, chosen).sum(axis=0).tolist()


# Each kind by itself


def test_subset_selection_by_hand() -> None:
    """At k = 6, e^ε = 2: ω = 6/3 = 2, p = 2·2/(2·2 + 4) = 1/2, q = (2 − 1/2)/5 = 3/10, variance .21/.04."""
    oracle = SubsetSelection(LN2, 6)
    assert oracle.law.num_numbers == 2
    assert float(oracle.law.keep) == pytest.approx(1 / 2, rel=1e-14)
    assert float(oracle.law.luck) == pytest.approx(3 / 10, rel=1e-14)
    assert float(oracle.variance_of(0, 1)) == pytest.approx(5.25, rel=1e-13)
    assert (oracle.law.num_supporting, oracle.law.num_others) == (5, 10)


def test_no_subsets_of_another_size_have_a_smaller_variance() -> None:
    for size, epsilon in itertools.product((3, 10, 50), (0.1, 1.0, 2.0, 4.0)):
        own = SubsetSelection(epsilon, size).variance_of(0, 1)
        ratio = math.exp(epsilon)
        for other in range(1, size):
            keep = other * ratio / (other * ratio + size - other)
            luck = (other - keep) / (size - 1)
            assert float(own) <= luck * (1 - luck) / (keep - luck) ** 2 * (1 + 1e-12)


def test_subsets_of_one_value_are_k_rr() -> None:
    """The same estimates, and nearly the same standard errors: k-RR's are those of estimated numbers of all values."""
    oracle, response = SubsetSelection(3.0, 4), GeneralizedRandomizedResponse(3.0, 4)
    assert oracle.law.num_numbers == 1
    assert float(oracle.law.keep) == pytest.approx(response.keep_probability, rel=1e-14)
    counts = [40, 30, 20, 10]
    reports = np.repeat(np.arange(4), counts)[:, None]
    for own, theirs in zip(oracle.estimate(reports), estimate_counts(response, counts), strict=True):
        assert own.value == pytest.approx(theirs.value, abs=1e-9)
        assert own.standard_error == pytest.approx(theirs.standard_error, rel=1e-9)


def test_whatever_numbers_are_sent_a_subset_report_supports_as_many_values_as_an_honest_one() -> None:
    """So a lying party can promote no more values than others do."""
    oracle = SubsetSelection(1.0, 9)
    low, high = oracle.report_range
    for numbers in itertools.product(range(low, high + 1), repeat=oracle.law.num_numbers):
        supported = oracle.support_counts(np.array([numbers]))[0]
        assert sorted(supported.tolist()) == [0] * (9 - oracle.law.num_numbers) + [1] * oracle.law.num_numbers


def test_hadamard_response_by_hand() -> None:
    """e^ε = 3, k = 3: one block of 4, p = 3/4, q = 1/2, variance (1/4)/(1/4)² = 4; row 1 has + − + −."""
    oracle = HadamardResponse(math.log(3), 3)
    assert (oracle.num_blocks, oracle.block_size) == (1, 4)
    assert float(oracle.law.keep) == pytest.approx(3 / 4, rel=1e-14)
    assert float(oracle.variance_of(0, 1)) == pytest.approx(4, rel=1e-13)
    signs = oracle.supports(np.arange(4)[:, None], np.arange(3)).T.tolist()
    assert signs == [[True, False, True, False], [True, True, False, False], [True, False, False, True]]


def test_no_other_number_of_blocks_has_a_smaller_mean_variance() -> None:
    for size, epsilon in itertools.product((4, 10, 64, 1000), (0.1, 1.0, 1.3, 1.4, 3.0, 6.0, 30.0)):
        blocks = HadamardResponse(epsilon, size).num_blocks
        ratio = math.exp(epsilon)
        tried = [2**bits for bits in range((size - 1).bit_length() + 1)]
        means = {number: (ratio + 2 * number - 1) ** 2 / (number * (ratio - 1) ** 2) for number in tried}
        assert means[blocks] == pytest.approx(min(means.values()), rel=1e-12)
        oracle = HadamardResponse(epsilon, size)
        assert oracle.block_size > -(-size // blocks) >= oracle.block_size // 2
        assert blocks * oracle.block_size <= 4 * size


def test_local_hashing_by_hand() -> None:
    """At k = 5, e^ε = 2: g = 3 hashes of 2, 2, 1 of 5 numbers, c = 4/20, p = 1/2, q = 1/10 + 4/5·1/4 = 3/10."""
    oracle = LocalHashing(LN2, 5)
    assert (oracle.prime, oracle.num_hashes) == (5, 3)
    assert oracle.collision_probability(3) == Fraction(1, 5)
    assert float(oracle.law.luck) == pytest.approx(3 / 10, rel=1e-14)
    assert [LocalHashing(*each).num_hashes for each in ((1.0, 1000), (MAX_EPSILON, 1000), (MIN_EPSILON, 2))] == [
        4,
        1000,
        2,
    ]


@pytest.mark.parametrize("num_choices", [2, 3, 4, 6, 7, 10, 13])
def test_two_values_collide_as_often_as_is_stated_whichever_they_are(num_choices: int) -> None:
    """All functions of the family, all pairs, all numbers of hashes."""
    oracle = LocalHashing(1.0, num_choices)
    prime = oracle.prime
    assert all(prime % divisor for divisor in range(2, prime))
    numbers = [
        [(factor * value + shift) % prime for value in range(num_choices)]
        for factor in range(1, prime)
        for shift in range(prime)
    ]
    for hashes in range(2, num_choices + 1):
        stated = oracle.collision_probability(hashes)
        assert stated <= Fraction(1, hashes)
        for one, other in itertools.combinations(range(num_choices), 2):
            collisions = sum(row[one] % hashes == row[other] % hashes for row in numbers)
            assert Fraction(collisions, len(numbers)) == stated


def test_a_report_follows_from_its_own_draws_whoever_is_before_it() -> None:
    """Of the first person, of the last one and of some in between: by arrays of all, and by itself."""
    for kind, size in itertools.product(KINDS, (2, 1_000, 10_000)):
        oracle, number = kind(3.0, size), 3_000_000 // size if size > SIZES[-1] else 3_000
        generator = np.random.default_rng(size)
        values = generator.integers(0, size, size=(number, 1))
        uniforms = generator.random((number, oracle.slots_of(1)))
        together = oracle.randomize_rows(values, uniforms)
        for place in np.linspace(0, number - 1, 12).astype(int):
            own = slice(place, place + 1)
            assert oracle.randomize_rows(values[own], uniforms[own]).tolist() == together[own].tolist()


@kinds
def test_the_variance_of_who_holds_another_value_is_the_mean_over_all_others(kind: type[FrequencyOracle]) -> None:
    for epsilon, size in itertools.product((0.5, 2.0, 5.0), (2, 3, 5, 8, 17)):
        oracle = kind(epsilon, size)
        others = [oracle.variance_of(0, holder) for holder in range(1, size)]
        assert oracle.variance_of_others == sum(others) / len(others)


# What the manual says

DOCS = Path(__file__).parents[3] / "docs"


def deviations(epsilon: float, size: int) -> list[float]:
    """Return the root of the variance that a person adds to a value that it does not hold, on average over values."""
    oracles = [oracle(epsilon, size) for oracle in KINDS if size <= oracle.most_choices]
    each = [math.fsum(float(one.variance_of(0, holder)) for holder in range(1, min(size, 129))) for one in oracles]
    ratio = math.exp(epsilon)
    means = [(ratio + size - 2) / (ratio - 1) ** 2, *(total / (min(size, 129) - 1) for total in each)]
    return [math.sqrt(mean) for mean in means]


def test_the_manuals_table_of_errors_is_the_exact_one() -> None:
    """Of large alphabets over the next 128 values, a whole number of turns at all blocks."""
    page = (DOCS / "which-mechanism.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:-1] for row in page.splitlines() if re.fullmatch(r"\| [\d,]+ \| [13] \|.*", row)]
    assert len(rows) == 10
    for size, epsilon, *shown in rows:
        number = int(size.replace(",", ""))
        errors = [f"{error:.3g}" for error in deviations(float(epsilon), number)]
        if number > SubsetSelection.most_choices:
            errors.insert(1, "–")
        assert [cell.strip() for cell in shown] == errors


def second_moments(epsilon: float, weights: Sequence[int]) -> list[float]:
    """Return E[ŵ² | w] of the debiased weight, if subset selection reports it: ŵ adds up all values' contributions.

    A subset is the true weight and ω − 1 of the others, or ω of the others, all alike: sums of draws without return.
    """
    oracle = SubsetSelection(epsilon, len(weights))
    keep, size = float(oracle.law.keep), oracle.law.num_numbers
    for_it, against_it = map(float, oracle.contributions)
    moments: list[float] = []
    for own in weights:
        others = [weight for weight in weights if weight != own]
        mean = math.fsum(others) / len(others)
        spread = math.fsum((weight - mean) ** 2 for weight in others) / len(others)
        second = 0.0
        for chance, number, held in ((keep, size - 1, own), (1 - keep, size, 0)):
            drawn = number * spread * (len(others) - number) / max(len(others) - 1, 1)
            center = against_it * math.fsum(weights) + (for_it - against_it) * (held + number * mean)
            second += chance * (center**2 + (for_it - against_it) ** 2 * drawn)
        moments.append(second)
    return moments


def worst_of_joint(moments: Sequence[float], weights: Sequence[int], epsilon: float) -> float:
    """Return the worst variance of ŵ·φ̂ − ŵ/2, with an opinion by randomized response."""
    noise = math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2
    return max(moment * (noise + 0.25) - (weight / 2) ** 2 for moment, weight in zip(moments, weights, strict=True))


@pytest.mark.full("what the manual says of it")
@pytest.mark.parametrize("size", [2, 16, 100])
def test_the_manual_says_what_an_oracle_would_be_worth_to_a_weights_phase(size: int) -> None:
    """The best of 99 splits of ε = 1, beside what the variants offer, exactly."""
    page = " ".join((DOCS / "dpwevote-variants.md").read_text(encoding="utf-8").split())
    weights = list(range(1, size + 1))
    parameters = Parameters(candidates=("pool",), weights=tuple(map(float, weights)), epsilon=1.0)
    offers = {offer.variant: offer.worst_variance for offer in make_offers(parameters)}

    def of_subsets(epsilon: float) -> list[float]:
        return second_moments(epsilon, weights)

    def of_numbers(epsilon: float) -> list[float]:
        report = two_point([Fraction(weight) for weight in weights], epsilon=epsilon)
        return [spread + weight**2 for spread, weight in zip(report.variances, weights, strict=True)]

    found = [
        min(worst_of_joint(of_weight(part / 100), weights, 1 - part / 100) for part in range(1, 100))
        for of_weight in (of_subsets, of_numbers)
    ]
    shown = [f"{float(f'{number:.3g}'):,.10g}" for number in (offers["joint"], *found, offers["two_point"])]
    assert f"| {size} | {' | '.join(shown)} |" in page


def test_the_manual_says_what_an_oracle_would_be_worth_to_published_counts() -> None:
    page = " ".join((DOCS / "dpwevote-variants.md").read_text(encoding="utf-8").split())
    for size in (16, 100):
        before, after = (deviations(1.0, size)[place] ** 2 for place in (0, 1))
        assert f"from {before:.3g} to {after:.3g} a partner with {size} weights" in page
