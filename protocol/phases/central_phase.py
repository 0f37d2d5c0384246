"""The central model: a phase whose server sees the values, and draws the noise as the phase closes."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..guard import Draw, GuardedRelease
from ..mechanisms import Disclosure, RowMechanism
from ..privacy import PrivacyLoss, TrustModel
from ..tally import Tally, TallyBlock
from .phase import DrawBlock, Phase


class CentralPhase(GuardedRelease, Phase):
    """A phase in which the server is trusted with the values, and draws the noise itself (the central model).

    Clients send their values to the server without noise. When the phase closes, the server randomizes the tally once,
    drops the exact one, and publishes only what follows from the noisy one. So the losses are bounded against anybody
    who sees only the release. They are not bounded against anybody who sees the server's view.

    Args:
        columns: the columns of a private row that are sent to the server.
        bound: the greatest absolute value.
        tally_mechanism: the server's mechanism for the tally's totals, as one row.
        losses: the losses of one person in this phase, in the central model.

    Raises:
        ConfigurationError: as `Phase`, or a loss is stated in another model.

    Examples:
        >>> from psephos.protocol.mechanisms import VectorLaplace
        >>> CentralPhase.model.value, CentralPhase.model.trusts_server
        ('central', True)
    """

    model: ClassVar[TrustModel] = TrustModel.CENTRAL

    def __init__(
        self,
        name: str,
        *,
        columns: range,
        bound: int,
        tally_mechanism: RowMechanism,
        losses: Sequence[PrivacyLoss],
        num_parts: int = 1,
    ) -> None:
        self._tally_mechanism = tally_mechanism
        super().__init__(name, columns=columns, mechanism=Disclosure(bound), losses=losses, num_parts=num_parts)

    @property
    def tally_mechanism(self) -> RowMechanism:
        """The mechanism that randomizes the tally's totals on the server."""
        return self._tally_mechanism

    @property
    def makes_own_release(self) -> bool:
        return type(self).randomize_tally is not CentralPhase.randomize_tally

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        """Return the totals with the tally mechanism's noise, as one row. See `Phase`."""
        totals = draw(self.tally_mechanism, tally.totals.reshape(-1).tolist())
        return Tally(tally.num_reports, np.array(totals, dtype=np.int64).reshape(tally.totals.shape))

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        totals = draw(self.tally_mechanism, tallies.totals.reshape(len(tallies), -1))
        return TallyBlock(tallies.num_reports, totals.reshape(tallies.totals.shape))
