"""The distributed model: a phase whose server sees one sum of all rows, to which each party has added a share of noise.

It takes the five steps of `psephos.protocol.masking`. Who takes part to the third of them is in the sum, whatever
becomes of it later. `masked_sessions` is what joins these steps to a session.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ..arrays import IntArray, exact_column_sums
from ..errors import require
from ..guard import GuardedShare
from ..integers import RowCodec
from ..masking import Boxes, Confirmation, Keys, Masked, MaskingMove, Shares
from ..mechanisms import PolyaShare
from ..privacy import PrivacyLoss
from ..tally import Tally
from .phase import Codec, Phase, Step

__all__ = ["MOST_PARTIES", "MaskedPhase"]

MOST_PARTIES: Final = 5_000
"""The keys of so many fit into a message."""
_BYTES_OF_HEADERS: Final = 512
_BYTES_OF_ONE: Final = 160  # a place, with a box or a share


class _Structs:
    """Answers that are structs of a fixed size for so many parties."""

    def __init__(self, kind: type[msgspec.Struct], max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.decode: Callable[[bytes | msgspec.Raw], Any] = msgspec.msgpack.Decoder(kind).decode

    def encode(self, answer: Any, /) -> msgspec.Raw:
        return msgspec.Raw(msgspec.msgpack.encode(answer))


class _Residues:
    """Masked rows: each in as many bytes as any other."""

    def __init__(self, rows: RowCodec) -> None:
        self._rows = rows
        self.max_bytes = rows.max_bytes

    def encode(self, answer: Masked, /) -> msgspec.Raw:
        return self._rows.encode(answer.residues)

    def decode(self, payload: bytes | msgspec.Raw, /) -> Masked:
        return Masked(self._rows.decode(payload))


class MaskedPhase(GuardedShare, Phase):
    """A phase whose server learns the noisy sum of all rows and nothing else (the distributed model).

    All parties have keys of signatures on an agreed roster, and know who else is on it. The private columns are the
    numbers that are added up. A protocol with such a phase has no other.

    Args:
        columns: which columns of a private row are added up.
        share: what each party adds noise by: `planned` is `threshold` − `colluders`.
        threshold: T: parties who take part to the end, at least; more than half of the parties and the colluders.
        colluders: c: parties that may be in league with the server, at most.
        losses: what this phase costs one person, in the distributed model.

    Raises:
        ConfigurationError: as `Phase`, or a loss is stated in another model, or threshold, colluders and share do not
            fit each other.

    Privacy:
        Of the sum, against the server and `colluders` parties with it: `GuardedShare`. Parties follow the protocol;
        the server need not. It holds as far as encryption, signatures and generator do (`docs/distributed-proofs.md`).
    """

    def __init__(
        self,
        name: str,
        *,
        columns: range,
        share: PolyaShare,
        threshold: int,
        colluders: int,
        losses: Sequence[PrivacyLoss],
        num_parts: int = 1,
    ) -> None:
        require(0 <= colluders < threshold, "colluders", colluders, f"in [0, {threshold}), below the threshold")
        allowed = f"{threshold - colluders}: threshold - colluders honest shares are certain"
        require(share.planned == threshold - colluders, "planned", share.planned, allowed)
        self.share, self.honest = share, share.planned
        self.threshold, self.colluders = threshold, colluders
        super().__init__(name, columns=columns, mechanism=share, losses=losses, num_parts=num_parts)

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        # 2T > n + c, so that no more parties than these have to be named.
        of_all = _BYTES_OF_HEADERS + _BYTES_OF_ONE * min(2 * self.threshold, MOST_PARTIES)
        codecs: dict[MaskingMove, Codec] = {
            MaskingMove.KEYS: _Structs(Keys, _BYTES_OF_HEADERS),
            MaskingMove.SHARES: _Structs(Boxes, of_all),
            MaskingMove.MASKED: _Residues(self.codec),
            MaskingMove.CONFIRM: _Structs(Confirmation, _BYTES_OF_HEADERS),
            MaskingMove.UNMASK: _Structs(Shares, of_all),
        }
        return tuple(
            Step(f"{self.name}, {move.value}", self, codec, move, self.threshold, move is MaskingMove.MASKED)
            for move, codec in codecs.items()
        )

    def check_parties(self, number: int) -> None:
        """Raise ConfigurationError unless so many parties can hold the phase: the sum fits, and T and c fit n."""
        require(2 <= number <= MOST_PARTIES, "parties", number, f"2 to {MOST_PARTIES:,} in a masked phase")  # noqa: PLR2004  a sum of one is a value
        least = (number + self.colluders) // 2 + 1
        allowed = f"in [{least}, {number}]: 2 * threshold > parties + colluders = {number} + {self.colluders}"
        require(least <= self.threshold <= number, "threshold", self.threshold, allowed)
        self.share.check_sum(number)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        del earlier
        return self.tally_of_sum(exact_column_sums(reports), public)

    def tally_of_sum(self, total: IntArray, public: IntArray) -> Tally:
        """Run by the server: return the tally of a sum of rows.

        Args:
            total: int64, shape (num_values,).
            public: the public rows of those in the sum.
        """
        return Tally(len(public), np.asarray(total, dtype=np.int64))
