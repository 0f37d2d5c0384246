"""Made-up surveys: their laws, their seeds, their batches, and options that are refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.arrays import FloatArray
from psephos.scenarios.moral_preferences.data.fairness import FAIRNESS_FEATURES, FairnessJudgements, make_fairness
from psephos.scenarios.moral_preferences.data.generators import split_batches
from psephos.scenarios.moral_preferences.data.machine_like import MoralMachineLike, make_machine_like
from psephos.scenarios.moral_preferences.data.survey import Survey
from psephos.scenarios.moral_preferences.data.synthetic import SyntheticPreferences, make_preferences, mean_preferences
from scipy.special import chdtrc, ndtr

KINDS: dict[str, tuple[Any, Callable[..., Survey]]] = {
    "synthetic": (SyntheticPreferences, make_preferences),
    "machine": (MoralMachineLike, make_machine_like),
    "fairness": (FairnessJudgements, make_fairness),
}


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_parts_of_the_same_survey_bit_for_bit(kind: str) -> None:
    struct, make = KINDS[kind]
    spec = struct(voters=23, records=7, seed=5)
    whole = make(spec)
    assert whole.is_generated
    assert (whole.reading.num_voters, whole.reading.num_records) == (23, 161)
    for start, stop in ((0, 1), (3, 4), (1, 22), (22, None)):
        part = make(spec, start=start, stop=stop)
        expected = whole.records.slice_rows(start, stop or 23)
        assert list(part.voters) == list(whole.voters[start:stop])
        assert np.array_equal(part.records.chosen, expected.chosen)
        assert np.array_equal(part.records.rejected, expected.rejected)
        assert whole.truth is not None
        assert part.truth is not None
        assert np.array_equal(part.truth, whole.truth[start:stop])


@pytest.mark.parametrize("kind", KINDS)
def test_seed_makes_others_and_more_voters_do_not(kind: str) -> None:
    struct, make = KINDS[kind]
    first = make(struct(voters=5, records=3, seed=1))
    assert not np.array_equal(first.records.chosen, make(struct(voters=5, records=3, seed=2)).records.chosen)
    more = make(struct(voters=50, records=3, seed=1))
    assert np.array_equal(first.records.chosen, more.records.slice_rows(0, 5).chosen)
    assert list(first.voters) == list(more.voters[:5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"voters": 0}, "voters"),
        ({"voters": 100_000_001}, "voters"),
        ({"records": 0}, "records"),
        ({"records": 1_000_000}, "records"),
        ({"spread": -0.1}, "spread"),
        ({"spread": float("nan")}, "spread"),
        ({"spread": float("inf")}, "spread"),
        ({"seed": -1}, "seed"),
    ],
)
def test_option_that_is_not_allowed_is_refused(kind: str, options: dict[str, Any], field: str) -> None:
    with refuses(field) as caught:
        KINDS[kind][0](**{"voters": 3, **options})
    assert caught.value.allowed


@pytest.mark.parametrize("features", [0, 1001])
def test_number_of_features_is_checked(features: int) -> None:
    with pytest.raises(ConfigurationError, match="features"):
        SyntheticPreferences(voters=1, features=features)


@pytest.mark.parametrize("mean", [(1.0,), (0.0, 0.0, 0.0, 0.0, float("nan"))])
def test_mean_of_judgements_is_checked(mean: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match="5 finite numbers"):
        FairnessJudgements(voters=1, mean=mean)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 2), (0, 4)])
def test_voters_that_are_not_there_cannot_be_made(kind: str, start: int, stop: int) -> None:
    struct, make = KINDS[kind]
    with pytest.raises(ValueError, match="within 0 to 3"):
        make(struct(voters=3), start=start, stop=stop)


@pytest.mark.parametrize("kind", KINDS)
def test_batches_end_with_a_smaller_one(kind: str) -> None:
    struct, make = KINDS[kind]
    spec = struct(voters=7, records=2)
    assert [len(survey.voters) for survey in split_batches(make, spec, batch_voters=3)] == [3, 3, 1]
    with pytest.raises(ValueError, match="at least 1"):
        next(split_batches(make, spec, batch_voters=0))


def test_spread_of_zero_makes_all_voters_alike() -> None:
    for struct, make in KINDS.values():
        truth = make(struct(voters=4, spread=0.0)).truth
        assert truth is not None
        assert np.array_equal(truth, np.broadcast_to(truth[0], truth.shape))


def test_synthetic_means_and_variances_are_as_printed() -> None:
    """Each of 10 means and 10 variances of 20,000 draws lies within 5 standard errors (false alarm below 2e-5)."""
    spec = SyntheticPreferences(voters=20_000, records=1, seed=3)
    truth = make_preferences(spec).truth
    assert truth is not None
    mean = mean_preferences(spec)
    assert np.all((mean >= -1) & (mean < 1))
    assert np.all(np.abs(truth.mean(axis=0) - mean) < 5 / np.sqrt(20_000))
    assert np.all(np.abs(truth.var(axis=0) - 1) < 5 * np.sqrt(2 / 20_000))


def test_synthetic_mean_of_seeds_is_uniform() -> None:
    """A chi-squared test over ten bins of 5,000 means; false alarm 1e-4 (fixed seeds)."""
    means = np.concatenate([mean_preferences(SyntheticPreferences(voters=1, seed=seed)) for seed in range(500)])
    counts, _ = np.histogram(means, bins=10, range=(-1, 1))
    assert chdtrc(9, float(np.sum((counts - 500) ** 2 / 500))) > 1e-4


def test_synthetic_alternatives_are_standard_normal() -> None:
    """Means and second moments of 10 coordinates of 40,000 alternatives within 5 standard errors (below 2e-5)."""
    records = make_preferences(SyntheticPreferences(voters=400, records=50, seed=2)).records
    both = np.concatenate([records.chosen, records.rejected])
    assert np.all(np.abs(both.mean(axis=0)) < 5 / np.sqrt(len(both)))
    assert np.all(np.abs((both**2).mean(axis=0) - 1) < 5 * np.sqrt(2 / len(both)))


def calibration(survey: Survey) -> tuple[FloatArray, FloatArray]:
    """Return z-scores of how often the first alternative is chosen, and variances, by ten bins of its chance."""
    assert survey.truth is not None
    differences = survey.records.differences
    utilities = np.sum(differences * np.repeat(survey.truth, survey.records.num_records, axis=0), axis=1)
    # Of the two alternatives the first is the one that is larger in the last number where they differ.
    last = differences.shape[1] - 1 - np.argmax(differences[:, ::-1] != 0, axis=1)
    sign = np.sign(differences[np.arange(len(differences)), last])
    is_told = sign != 0
    chance = np.asarray(ndtr((sign * utilities)[is_told]), dtype=np.float64)
    is_first = (sign > 0)[is_told]
    bins = np.minimum((chance * 10).astype(np.int64), 9)
    excess = np.bincount(bins, weights=is_first - chance, minlength=10).astype(np.float64)
    variance = np.bincount(bins, weights=chance * (1 - chance), minlength=10).astype(np.float64)
    return excess / np.sqrt(np.maximum(variance, 1e-300)), variance


@pytest.mark.parametrize("kind", KINDS)
def test_choices_follow_the_probit_law(kind: str) -> None:
    """In each of ten bins of probability the number of choices is within 5 standard deviations (below 2e-5 in all)."""
    struct, make = KINDS[kind]
    scores, variance = calibration(make(struct(voters=5_000, records=13, seed=8)))
    assert np.all(variance > 25)
    assert np.all(np.abs(scores) < 5)


def test_judgements_compare_rules_within_their_ranges() -> None:
    survey = make_fairness(FairnessJudgements(voters=200, seed=1))
    assert survey.features == FAIRNESS_FEATURES
    rules = np.concatenate([survey.records.chosen, survey.records.rejected])
    assert np.all((rules[:, 0] >= 6) & (rules[:, 0] <= 9.5))
    assert np.all((rules[:, 1:4] >= 0) & (rules[:, 1:4] <= 4))
    assert set(rules[:, 4].tolist()) == {0.0, 1.0}
    assert np.all(np.sign(survey.records.differences.mean(axis=0)) == [1, -1, -1, -1, 1])
