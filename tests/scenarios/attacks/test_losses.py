"""What is proven against a coalition: the loss of the target who pays most, and never less with more of it."""

import itertools
import math

import numpy as np
import pytest
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.privacy import NeighboringRelation, total_of
from psephos.scenarios.attacks import Coalition, find_attack

WEIGHTS = (1.0, 2.0, 5.0)
NUMBERS = (0, 1, 2, 2, 0, 1)


def vote_of(variant: str) -> DPWeVote:
    masked = {"threshold": 4, "colluders": 1} if variant == "masked" else {}
    given = {"candidates": ("a",), "weights": WEIGHTS, "public_weights": True, "epsilon": 1.5, **masked}
    return DPWeVote(Parameters(variant=variant, **given))  # pyright: ignore[reportArgumentType]  one of the names


@pytest.mark.parametrize("variant", ["central", "masked"])
def test_a_bound_is_of_the_target_who_pays_most_and_grows_with_the_coalition(variant: str) -> None:
    """A trusted server sees values as they are, whoever is with it."""
    vote = vote_of(variant)
    inputs = vote.encode({"weight": [WEIGHTS[number] for number in NUMBERS], "a": [1, 0] * 3})
    attack = find_attack(vote).against(inputs)
    for targets in itertools.chain.from_iterable(itertools.combinations(range(2, 6), size) for size in (1, 2, 3)):
        paid = [
            total_of(vote.losses_of(inputs.public[place].tolist()), relation=NeighboringRelation.REPLACE_ONE).proven
            for place in targets
        ]
        bounds: dict[bool, list[float]] = {
            has_server: [
                attack.loss(
                    attack.default_secret, inputs.public, np.array(targets), Coalition(members, has_server=has_server)
                )
                for members in ((), (0,), (0, 1))
            ]
            for has_server in (False, True)
        }
        assert bounds[False][:2] == [max(paid)] * 2
        for alone, with_server in zip(bounds[False], bounds[True], strict=True):
            assert with_server >= alone >= max(paid)
            assert not vote.trusts_server or math.isinf(with_server)
    assert len({loss for row in inputs.public.tolist() for loss in vote.losses_of(row)}) == len(WEIGHTS)
