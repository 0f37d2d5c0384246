"""Features see what they are made for, and scores are learned from what differs."""

import numpy as np
import pytest
from psephos.protocol.arrays import IntArray
from psephos.scenarios.audit.features import features_of, learn_scores

NUMBER = 4_000


def best_gap(first: IntArray, second: IntArray) -> tuple[str, float]:
    """Return the score whose signs tell the two apart most, and by how much."""
    gaps = {
        name: float((score(first) > 0).mean() - (score(second) > 0).mean())
        for name, score in learn_scores(first, second)
    }
    name = max(gaps, key=lambda each: gaps[each])
    return name, gaps[name]


def rows(seed: int, width: int, high: int) -> IntArray:
    return np.random.default_rng(seed).integers(0, high, size=(NUMBER, width))


def test_low_bits_are_seen() -> None:
    first, second = rows(1, 1, 1 << 40), rows(2, 1, 1 << 40)
    second &= ~7
    name, gap = best_gap(first, second)
    assert "low" in name
    assert gap > 0.8


def test_equal_columns_are_seen_though_each_by_itself_is_alike() -> None:
    first, second = rows(1, 2, 1 << 40), rows(2, 2, 1 << 40)
    second[:, 1] = second[:, 0]
    assert best_gap(first, second)[1] > 0.9


def test_two_features_together_tell_what_neither_tells() -> None:
    """The parity of two columns, hidden behind a third that differs a little, is in the rows as a whole."""
    first, second = rows(1, 2, 2), rows(2, 2, 2)
    second[:, 1] = second[:, 0]
    first[:, 1] = 1 - first[:, 0]
    assert best_gap(first, second)[1] == pytest.approx(1)


def test_equal_laws_are_hardly_told_apart() -> None:
    """By outputs that taught nothing: the gap is that of chance."""
    first, second, third, fourth = (rows(seed, 2, 4) for seed in range(4))
    for _, score in learn_scores(first, second):
        assert abs(float((score(third) > 0).mean() - (score(fourth) > 0).mean())) < 0.1


def test_values_never_seen_say_nothing() -> None:
    first, second = np.zeros((50, 1), dtype=np.int64), np.ones((50, 1), dtype=np.int64)
    scores = dict(learn_scores(first, second))
    assert scores["number 1"](np.array([[7], [-3], [0], [1]])).tolist() == pytest.approx(
        [0, 0, np.log(101), -np.log(101)]
    )


def test_outputs_that_are_all_alike_have_no_score() -> None:
    same = np.full((50, 2), 3, dtype=np.int64)
    assert not list(learn_scores(same, same))


def test_extreme_integers_do_no_harm() -> None:
    """Bits of floats fill 64 bits: differences wrap around, alike for all."""
    info = np.iinfo(np.int64)
    wild = np.array([[info.min, info.max], [info.max, info.min], [0, -1]] * 20, dtype=np.int64)
    other = np.roll(wild, 1, axis=1)
    assert all(np.isfinite(score(wild)).all() for _, score in learn_scores(wild, other))
    assert len({feature.name for feature in features_of(wild)}) == len(list(features_of(wild)))
