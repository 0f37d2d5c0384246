"""Dilemmas like the Moral Machine's: types and sides as published, shares and correlations as sampled."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.scenarios.moral_preferences.data.dilemmas import CHARACTERS, FEATURES
from psephos.scenarios.moral_preferences.data.machine_like import (
    MEAN_PREFERENCES,
    SCENARIO_TYPES,
    Dilemmas,
    MoralMachineLike,
    draw_dilemmas,
    make_machine_like,
)
from psephos.scenarios.moral_preferences.data.moral_machine import read_moral_machine
from runs import read_rows

SPEC = MoralMachineLike(voters=4_000, seed=2)
PLACES = {name: place for place, name in enumerate(FEATURES)}


@pytest.fixture(scope="module")
def dilemmas() -> list[Dilemmas]:
    """Thirteen dilemmas of each of some voters."""
    return [draw_dilemmas(SPEC, record, start=0, stop=SPEC.voters) for record in range(13)]


def of_type(dilemmas: list[Dilemmas], name: str) -> IntArray:
    """Return the counts of characters in all dilemmas of a type: shape (dilemmas, 2, 20)."""
    kind = SCENARIO_TYPES.index(name)
    return np.concatenate([each.entries[each.kinds == kind][:, :, :20] for each in dilemmas]).astype(np.int64)


def test_thirteen_dilemmas_are_two_of_each_type_and_one_random(dilemmas: list[Dilemmas]) -> None:
    for voter in range(50):
        counts = Counter(SCENARIO_TYPES[int(each.kinds[voter])] for each in dilemmas)
        assert counts == {name: 1 if name == "Random" else 2 for name in SCENARIO_TYPES}


def test_each_place_has_all_types_in_their_shares(dilemmas: list[Dilemmas]) -> None:
    """Each share is within 5 standard errors in 13 places and 7 types (false alarm below 6e-5)."""
    shares = np.array([2, 2, 2, 2, 2, 2, 1]) / 13
    for each in dilemmas:
        counts = np.bincount(each.kinds, minlength=7)
        assert np.all(np.abs(counts - SPEC.voters * shares) < 5 * np.sqrt(SPEC.voters * shares * (1 - shares)))


def test_sides_have_one_to_five_characters(dilemmas: list[Dilemmas]) -> None:
    for name in SCENARIO_TYPES:
        numbers = of_type(dilemmas, name).sum(axis=2)
        assert set(np.unique(numbers).tolist()) == {1, 2, 3, 4, 5}
        if name == "Utilitarian":
            assert np.all(numbers.max(axis=1) == 5)
            assert np.all(numbers.min(axis=1) < 5)
        elif name != "Random":
            assert np.all(numbers[:, 0] == numbers[:, 1])


def test_more_lives_contain_the_fewer(dilemmas: list[Dilemmas]) -> None:
    counts = of_type(dilemmas, "Utilitarian")
    more = counts[np.arange(len(counts)), np.argmax(counts.sum(axis=2), axis=1)]
    assert np.all(np.minimum(counts[:, 0], counts[:, 1]) + np.maximum(counts[:, 0], counts[:, 1]) == counts.sum(axis=1))
    assert np.all(more >= counts.min(axis=1))
    assert np.all(more == counts.max(axis=1))


def test_gender_exchanges_men_for_women(dilemmas: list[Dilemmas]) -> None:
    counts = of_type(dilemmas, "Gender")
    women = [CHARACTERS.index(name) for name in ("Woman", "OldWoman", "Girl", "LargeWoman", "FemaleDoctor")]
    men = [CHARACTERS.index(name) for name in ("Man", "OldMan", "Boy", "LargeMan", "MaleDoctor")]
    assert np.array_equal(counts[:, 0][:, women], counts[:, 1][:, men])
    assert np.array_equal(counts[:, 1][:, women], counts[:, 0][:, men])
    assert np.all(counts[:, :, CHARACTERS.index("Dog")] == 0)


def test_species_sets_humans_against_pets(dilemmas: list[Dilemmas]) -> None:
    pets = of_type(dilemmas, "Species")[:, :, -2:].sum(axis=2)
    humans = of_type(dilemmas, "Species")[:, :, :-2].sum(axis=2)
    assert np.array_equal(pets[:, 0], humans[:, 1])
    assert np.array_equal(humans[:, 0], pets[:, 1])
    assert np.all((pets == 0).sum(axis=1) == 1)


def test_circumstances_are_possible(dilemmas: list[Dilemmas]) -> None:
    entries = np.concatenate([each.entries for each in dilemmas])[:, :, 20:].astype(np.int64)
    intervention, barrier, signal = entries[:, :, 0], entries[:, :, 1], entries[:, :, 2]
    assert np.all(intervention == [0, 1])
    assert np.all(barrier.sum(axis=1) <= 1)
    assert np.all(signal[barrier == 1] == 0)
    of_pedestrians = signal[barrier.sum(axis=1) == 0]
    assert {tuple(each) for each in of_pedestrians.tolist()} == {(0, 0), (1, 2), (2, 1)}
    assert set(signal[(barrier == 0) & (barrier.sum(axis=1) == 1)[:, None]].tolist()) == {0, 1, 2}


def test_favored_group_stands_on_either_side_by_a_fair_coin(dilemmas: list[Dilemmas]) -> None:
    """Within 5 standard errors (false alarm below 1e-6)."""
    humans = of_type(dilemmas, "Species")[:, 0, :-2].sum(axis=1) > 0
    assert abs(humans.mean() - 0.5) < 2.5 / np.sqrt(len(humans))


def test_mean_preferences_have_the_published_signs() -> None:
    def mean(name: str) -> float:
        return float(MEAN_PREFERENCES[PLACES[name]])

    assert np.all(MEAN_PREFERENCES[: len(CHARACTERS)] > 0)
    assert mean("Boy") > mean("Man") > mean("OldMan")
    assert mean("Man") > mean("Dog")
    assert mean("MaleDoctor") > mean("Homeless")
    assert mean("FemaleAthlete") > mean("LargeWoman")
    assert mean("legality") > 0 > mean("intervention") > mean("passengers")


def test_preferences_of_many_choices_have_these_signs_too() -> None:
    differences = make_machine_like(SPEC).records.differences
    assert differences[:, :18].sum() > 0
    for name, sign in {"Dog": -1, "legality": 1, "intervention": -1, "Girl": 1, "OldMan": -1}.items():
        assert np.sign(differences[:, PLACES[name]].mean()) == sign


def correlations(moments: FloatArray) -> FloatArray:
    """Return the correlations above the diagonal."""
    deviations = np.sqrt(np.diag(moments))
    return (moments / np.outer(deviations, deviations))[np.triu_indices(len(moments), 1)]


def test_differences_vary_and_correlate_as_in_the_public_sample(real_sets: Path, dilemmas: list[Dilemmas]) -> None:
    """Moments of the 23 differences (spared minus dead), each scenario type with the share that it has in the sample.

    Correlations of 477 pairs scatter by about .046, which gives a mean distance of .037 for a perfect copy.
    """
    path = real_sets / "moral_machine_sample" / "moral_machine_sample.csv"
    survey = read_moral_machine(path)
    type_of = {row["UserID"]: row["ScenarioType"] for row in read_rows(path)}
    shares = Counter(type_of[name].replace("Status", "Value") for name in survey.voters)
    assert set(shares) == set(SCENARIO_TYPES)
    real = survey.records.differences
    mean, moments = np.zeros(23), np.zeros((23, 23))
    for name, number in shares.items():
        rows = [each.kinds == SCENARIO_TYPES.index(name) for each in dilemmas]
        parts = [
            each.features[here, each.spared[here]] - each.features[here, 1 - each.spared[here]]
            for each, here in zip(dilemmas, rows, strict=True)
        ]
        differences = np.concatenate(parts)
        mean += number / len(real) * differences.mean(axis=0)
        moments += number / len(real) * differences.T @ differences / len(differences)
    real_moments = real.T @ real / len(real)
    ratios = np.sqrt(np.diag(moments) / np.diag(real_moments))
    assert np.all((ratios > 0.85) & (ratios < 1.2))
    distances = np.abs(correlations(moments) - correlations(real_moments))
    assert distances.mean() < 0.045
    assert np.corrcoef(correlations(moments), correlations(real_moments))[0, 1] > 0.85
    # The sizes of the preferences are made up, but what is spared more often is as sampled.
    assert np.corrcoef(mean, real.mean(axis=0))[0, 1] > 0.8
