"""Many crowds side by side: each has what it has alone, to the bit, and stops when it would alone."""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_crowds import crowd_blocks, table
from psephos.protocol.estimators.truth_inference import (
    AnswerBlock,
    Inference,
    InferenceBlock,
    KnownNoise,
    OwnNoise,
    cautious_truth_discovery,
    crh,
    dawid_skene,
    majority_vote,
    minimax_entropy,
    noise_aware_dawid_skene,
    noise_aware_one_coin,
    one_coin,
    truth_discovery,
)
from psephos.protocol.estimators.truth_inference import noise_aware as models
from psephos.protocol.estimators.truth_inference.rounds import Rounds
from strategies import CHECKED

SIZES = range(2, 5)
LAW = KnownNoise(dict.fromkeys(SIZES, (0.1, 0.3, 0.4)))


def majority(answers: Any, *, ties: Any, max_iterations: int) -> Any:
    del max_iterations
    find: Any = majority_vote
    return find(answers, ties=ties)


def so_many_rounds(answers: Any, *, ties: Any, max_iterations: int) -> Any:
    find: Any = one_coin
    return find(answers, rounds=max_iterations, ties=ties)


UNAWARE: Mapping[str, Callable[..., Any]] = {
    "majority": majority,
    "truth_discovery": truth_discovery,
    "linear": functools.partial(truth_discovery, weight_function="linear"),
    "one_coin": one_coin,
    "so many rounds": so_many_rounds,
    "accu": functools.partial(one_coin, class_prior="uniform"),
    "dawid_skene": dawid_skene,
    "crh": crh,
    "greatest loss": functools.partial(crh, scale="greatest"),
    "minimax_entropy": minimax_entropy,
}
AWARE: Mapping[str, Callable[..., Any]] = {
    "noise_aware": noise_aware_one_coin,
    "estimated prior": functools.partial(noise_aware_one_coin, class_prior="estimated"),
    "noise_aware_dawid_skene": noise_aware_dawid_skene,
    "cautious": cautious_truth_discovery,
}


def check_alike(block: AnswerBlock, find: Callable[[Any], Any]) -> None:
    """Hold what is found of crowds side by side against what is found of each: all fields, and their bits."""
    found: InferenceBlock[Inference] = find(block)
    assert len(found) == len(block)
    for number in range(len(block)):
        alone, own = find(block.answers(number)), found.inference(number)
        assert type(alone) is type(own)
        for field in dataclasses.fields(alone):
            if len(found.log_likelihoods[0]) or field.name != "log_likelihoods":
                assert bits_of(getattr(own, field.name)) == bits_of(getattr(alone, field.name)), field.name


def bits_of(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {size: bits_of(own) for size, own in cast("Mapping[Any, Any]", value).items()}
    return (cast("Any", value).shape, value.tobytes()) if isinstance(value, np.ndarray) else value


options = st.fixed_dictionaries(
    {"ties": st.sampled_from(["first", "last", "missing"]), "max_iterations": st.sampled_from([1, 2, 3, 50])}
)


@pytest.mark.parametrize("name", UNAWARE)
@CHECKED
@given(block=crowd_blocks(), given_options=options)
def test_crowds_side_by_side_have_the_bits_of_each(
    name: str, block: AnswerBlock, given_options: dict[str, Any]
) -> None:
    check_alike(block, functools.partial(UNAWARE[name], **given_options))


@pytest.mark.parametrize("name", AWARE)
@CHECKED
@given(block=crowd_blocks(), given_options=options, data=st.data())
def test_so_they_have_where_the_perturbation_is_known(
    name: str, block: AnswerBlock, given_options: dict[str, Any], data: st.DataObject
) -> None:
    levels = data.draw(st.lists(st.integers(0, 1), min_size=block.first.num_workers, max_size=block.first.num_workers))
    own = OwnNoise((LAW, KnownNoise(dict.fromkeys(SIZES, (0.0, 0.0, 0.1)))), np.array(levels, dtype=np.int64))
    for noise in (KnownNoise.from_flip_probabilities(dict.fromkeys(SIZES, 0.3)), LAW, own):
        check_alike(block, functools.partial(AWARE[name], noise=noise, **given_options))


def large_block(*, tasks: int = 40, workers: int = 30, crowds: int = 12) -> AnswerBlock:
    """Crowds of which some take many rounds, and some few: half of each crowd's workers guess."""
    draws = np.random.default_rng(6)
    first = table([(0,) * tasks] * workers)
    truths, rates = draws.integers(0, 2, (crowds, tasks)), np.linspace(0.5, 1, crowds)[:, None]
    is_right = draws.random((crowds, workers * tasks)) < np.where(first.workers % 2, rates, 0.5)
    labels = np.where(is_right, truths[:, first.tasks], 1 - truths[:, first.tasks])
    return AnswerBlock(first, labels)


@pytest.mark.parametrize("name", [*UNAWARE, *AWARE])
def test_crowds_stop_at_rounds_of_their_own(name: str) -> None:
    block, given_options = large_block(), {"ties": "first", "max_iterations": 50}
    known = {"noise": KnownNoise.from_flip_probabilities({2: 0.2})} if name in AWARE else {}
    find = functools.partial({**AWARE, **UNAWARE}[name], **known, **given_options)
    if name not in {"majority", "so many rounds"}:
        assert len(set(find(block).num_iterations.tolist())) > 1
    check_alike(block, find)


@pytest.mark.parametrize("cells", [40, 40 * 7, 40 * 29, 40 * 30, 40 * 31])
def test_however_many_workers_are_looked_at_together_each_crowd_has_its_bits(
    monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setattr(models, "_MAX_CELLS", cells)
    block, noise = large_block(), KnownNoise.from_flip_probabilities({2: 0.2})
    for find in AWARE.values():
        check_alike(block, functools.partial(find, noise=noise, ties="first", max_iterations=9))


def test_crowds_that_go_on_are_left_alone_once_the_others_are_most() -> None:
    @dataclasses.dataclass
    class State:
        numbers: Any

    rounds = Rounds[State](5)
    rounds.stop(np.array([True, False, False, False, False]), lambda: State(np.arange(5)))
    assert rounds.leave_behind() is None
    rounds.stop(np.array([True, True, False, False, True]), lambda: State(np.arange(5) + 10))
    places = rounds.leave_behind()
    assert places is not None
    assert places.tolist() == rounds.crowds.tolist() == [2, 3]
    rounds.stop(np.array([True, True]), lambda: State(places + 20))
    assert not rounds.go_on
    assert rounds.leave_behind() is None
    assert rounds.final_states().numbers.tolist() == [0, 11, 22, 23, 14]


def test_labels_of_another_shape_or_outside_their_answer_sets_are_no_crowds() -> None:
    first = table([(0, 1), (1, 1)])
    for labels in (np.zeros((0, 4)), np.zeros(4), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=re.escape(f"labels has shape {labels.shape}: give (crowds, 4)")):
            AnswerBlock(first, labels.astype(np.int64))
    with pytest.raises(ValueError, match="outside its task's answer set"):
        AnswerBlock(first, np.array([[0, 0, 0, 2]]))
