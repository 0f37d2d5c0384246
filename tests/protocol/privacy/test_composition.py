"""What losses of one person come to together, and against whom: no sentence says more than its weakest loss."""

import itertools
import math
from fractions import Fraction

import pytest
from psephos.protocol.errors import PrivacyError
from psephos.protocol.masking import LEAST_FOR_CIRCLE
from psephos.protocol.phases import law_of
from psephos.protocol.privacy import (
    SEMI_HONEST,
    NeighboringRelation,
    PrivacyLoss,
    PureMechanism,
    SharedDiscreteLaplace,
    TrustModel,
    total_of,
)

REPLACE, ADD_OR_REMOVE = NeighboringRelation
LOCAL, DISTRIBUTED, CENTRAL = TrustModel


def loss_of(
    model: TrustModel, *, epsilon: float = 0.1, relation: NeighboringRelation = REPLACE, mechanism: str = "noise"
) -> PrivacyLoss:
    event = SharedDiscreteLaplace(1 / epsilon, 1, 3, 3, 1) if model is DISTRIBUTED else PureMechanism(epsilon)
    return PrivacyLoss(
        mechanism=mechanism, event=event, unit="vote", relation=relation, model=model, claimed=epsilon / 2
    )


KINDS = {
    "local": loss_of(LOCAL),
    "central": loss_of(CENTRAL),
    "hidden": loss_of(CENTRAL, relation=ADD_OR_REMOVE),
    "masked": loss_of(DISTRIBUTED, mechanism=law_of("shares", 3)),
    "on a circle": loss_of(DISTRIBUTED, mechanism=law_of("shares", LEAST_FOR_CIRCLE)),
}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_total_holds_against_nobody_against_whom_one_of_its_losses_does_not(number: int) -> None:
    """In whatever order; and it names no condition that none of them has."""
    for names in itertools.product(KINDS, repeat=number):
        total = total_of([KINDS[name] for name in names])
        given, told = {*names}, total.against
        assert (SEMI_HONEST in told) is ("on a circle" in given), names
        assert ("as the session states" in told) is bool(given & {"masked", "on a circle"}), names
        assert ("no view of a trusted server" in told) is bool(given & {"central", "hidden"}), names
        assert ("all of them collude" in told) is (given == {"local"}), names
        assert total.model is max((KINDS[name].model for name in names), key=[*TrustModel].index)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_total_is_the_exact_sum_in_its_relation_and_nothing_less(number: int) -> None:
    for names in itertools.product(KINDS, repeat=number):
        losses = [KINDS[name] for name in names]
        relation = ADD_OR_REMOVE if {*names} == {"hidden"} else REPLACE
        times = [1 + (loss.relation is not relation) for loss in losses]
        exact = sum(
            (count * Fraction(loss.proven) for count, loss in zip(times, losses, strict=True)), start=Fraction(0)
        )
        for total in (total_of(losses), total_of(losses, relation=relation)):
            assert total.relation is relation
            assert total.is_converted is (2 in times)
            assert math.nextafter(total.proven, 0) < exact <= Fraction(total.proven)
            assert total.claimed == math.fsum(n * loss.claimed for n, loss in zip(times, losses, strict=True))
        doubled = total_of(losses, relation=REPLACE).proven
        assert doubled >= exact * (2 if relation is ADD_OR_REMOVE else 1)
        if {*names} != {"hidden"}:
            with pytest.raises(PrivacyError, match="bounds nothing"):
                total_of(losses, relation=ADD_OR_REMOVE)
