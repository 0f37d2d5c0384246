"""A masked phase states what its shares cost with as many honest ones as are certain, or is refused."""

from collections.abc import Sequence

import numpy as np
import pytest
from makers import loss_of
from psephos.protocol import ConfigurationError, PrivacyError
from psephos.protocol.arrays import IntArray
from psephos.protocol.mechanisms import NoiseShare
from psephos.protocol.phases.masked_phase import GuardedShare
from psephos.protocol.privacy import (
    NeighboringRelation,
    PrivacyLoss,
    SharedDiscreteLaplace,
    TrustModel,
)
from psephos.protocol.tally import Tally

SHARE = NoiseShare(6.0, 6, 3, 4)


class Masked(GuardedShare):
    """As much of a masked phase as the guard asks."""

    name = "votes"
    num_values = 1

    def __init__(
        self, stated: float, *, honest: int = 4, share: NoiseShare = SHARE, model: TrustModel = TrustModel.DISTRIBUTED
    ) -> None:
        self.share = self.mechanism = share
        self.honest = honest
        self.losses = (loss_of(stated, model=model),)

    def mechanism_of(self, public: Sequence[int]) -> NoiseShare:
        return self.share

    def mechanism_groups(self, public: IntArray) -> list[tuple[NoiseShare, slice]]:
        return [(self.share, slice(None))]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        return self.losses

    def loss_groups(self, public: IntArray) -> list[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        return [("all", len(public), self.losses)]

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None: ...

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        raise NotImplementedError


def check(phase: Masked) -> None:
    phase.check_largest()
    phase.check_losses((1,))
    phase.check_loss_groups(np.ones((3, 1), dtype=np.int64))


def test_the_loss_of_the_sum_is_enough() -> None:
    """Less than a share costs that is seen by itself."""
    check(Masked(1.0))
    check(Masked(2.0))
    assert SHARE.privacy(honest=1) > 3


@pytest.mark.parametrize("honest", [3, 2, 1, 0])
def test_fewer_honest_shares_than_planned_cost_more(honest: int) -> None:
    needed = SHARE.privacy(honest=honest)
    phase = Masked(1.0, honest=honest)
    with pytest.raises(ConfigurationError, match=f"losses is .*: use at least what phase 'votes' draws.*{needed:g}"):
        phase.check_largest()
    with pytest.raises(ConfigurationError, match="for the public row"):
        phase.check_losses((1,))
    with pytest.raises(ConfigurationError, match="losses"):
        Masked(1.0, honest=honest).check_loss_groups(np.ones((3, 1), dtype=np.int64))
    if honest:
        check(Masked(needed, honest=honest))


def test_rows_that_are_farther_apart_than_the_sensitivity_are_refused() -> None:
    wide = Masked(1.0, share=NoiseShare(6.0, 6, 4, 4))
    wide.check_largest()
    with pytest.raises(ConfigurationError, match="neighbors of NoiseShare"):
        wide.check_losses((1,))


def test_a_loss_of_another_model_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match="'distributed' in phase 'votes', whose server sees one noisy sum of all"
    ):
        check(Masked(1.0, model=TrustModel.CENTRAL))


def test_whom_it_is_bounded_against_and_who_is_trusted() -> None:
    model = TrustModel.DISTRIBUTED
    assert model.adversary == "the server, and as many parties with it as the session states"
    assert model.trusted_party("cloud-server") == "nobody"
    assert model.bounds_release
    assert not model.trusts_server
    assert TrustModel.weakest_of([model, TrustModel.LOCAL]) is model
    assert TrustModel.weakest_of([model, TrustModel.CENTRAL]) is TrustModel.CENTRAL


def test_participation_is_not_hidden() -> None:
    with pytest.raises(PrivacyError, match="in the distributed model a report shows that its owner took part"):
        loss_of(model=TrustModel.DISTRIBUTED, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert loss_of(event=SharedDiscreteLaplace(6.0, 6, 4, 4, 1), model=TrustModel.DISTRIBUTED).proven == 1.0
