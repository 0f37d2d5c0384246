"""The central model: a phase whose server sees the values, and draws the noise as the phase closes.

Whatever is published after such a phase is computed from the noisy tally. The clear one is dropped.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..arrays import FloatArray
from ..guard import GuardedRelease
from ..mechanisms import Disclosure, RowMechanism
from ..privacy import PrivacyLoss, TrustModel
from ..tally import Tally
from .phase import Draw, Phase


class CentralPhase(GuardedRelease, Phase):
    """A phase in which the server is trusted with the values, and draws the noise itself (the central model).

    Clients disclose their values, and the server's view has them as they are. When the phase closes, the server
    randomizes the tally once. Everything that is published is computed from the noisy tally, and the clear one is
    dropped. So the losses of such a phase are bounded against everybody who sees only the release, and not against
    somebody who sees the server's view.

    Args:
        columns: which columns of a private row are disclosed.
        bound: the greatest size of a value.
        tally_mechanism: what the server randomizes the tally's totals with, as one row.
        losses: what this phase costs one person, in the central model.

    Raises:
        ConfigurationError: as `Phase`, or a loss is stated in another model.
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
        """What the server randomizes the tally's totals with."""
        return self._tally_mechanism

    @property
    def makes_own_release(self) -> bool:
        """Whether `randomize_tally` is overridden, or some of the totals have no noise."""
        return self.num_noisy is not None or type(self).randomize_tally is not CentralPhase.randomize_tally

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        """Add the tally mechanism's noise to the totals, or the first of them, as one row. See `Phase`."""
        totals: list[int] = tally.totals.reshape(-1).tolist()
        noisy = slice(self.num_noisy)
        totals[noisy] = draw(self.tally_mechanism, totals[noisy])
        return Tally(tally.num_reports, np.array(totals, dtype=np.int64).reshape(tally.totals.shape))

    def log_laws(self, tallies: Sequence[Tally]) -> FloatArray:
        """Return the law of the numbers that have noise. See `GuardedRelease.log_laws`."""
        noisy = slice(self.num_noisy)
        return super().log_laws([Tally(tally.num_reports, tally.totals.reshape(-1)[noisy]) for tally in tallies])
