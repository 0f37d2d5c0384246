"""The distributed model: a phase whose server sees one sum of all rows, to which each party adds a share of the noise.

Its steps are those of `psephos.protocol.masking` (secure aggregation). A party whose masked row has arrived is in the
sum, even if it leaves later. `masked_sessions` connects these steps with a session.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final, cast

import msgspec
import numpy as np

from ..arguments import integer_of, number_of
from ..arrays import IntArray, exact_column_sums
from ..elementary import quotient_up
from ..errors import ConfigurationError, refuse, require
from ..guard import Guarded, Values
from ..integers import RowCodec
from ..masking import (
    IN_DISPUTE,
    KEY_BYTES,
    LEAST_FOR_CIRCLE,
    Check,
    Circle,
    Claims,
    Confirmation,
    Deal,
    Keys,
    Masked,
    MaskingMove,
    Opening,
    Shares,
    circle_for,
)
from ..mechanisms import NoiseShare, RowMechanism
from ..mechanisms.polya import MOST_TIMES
from ..mechanisms.realized import differ_in_one, non_neighbors_error, rows_to_try
from ..privacy import (
    SEMI_HONEST,
    NeighboringRelation,
    NoRelease,
    PrivacyEvent,
    PrivacyLoss,
    PureAccountant,
    SelfComposed,
    TrustModel,
)
from ..tally import Tally
from .phase import Codec, Phase, Step, parts_of

MOST_PARTIES: Final = 10_000
"""The most parties whose roster fits into a message."""
_BYTES_OF_HEADERS: Final = 512
_BYTES_OF_ONE: Final = 256  # a party's index, with a piece of a deal, a share or a claim
_MOST_THRESHOLD: Final = 2**31
_BEYOND_INT64: Final = 2**63
_RANGES: Final = "pairs of 64-bit integers in a list, the least and the greatest value of each number, and one at least"
_LAW: Final = "shares of discrete Laplace noise on sums"


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


class GuardedShare(Guarded):
    """The guard of a masked phase, whose server sees only the sum of all rows; its losses are those of the sum.

    Attributes:
        share: the mechanism of each person's share of the noise, with its `planned` number of shares.
        honest: the least number of shares in the sum that neither the server nor a colluder knows.
    """

    model: ClassVar[TrustModel] = TrustModel.DISTRIBUTED
    share: NoiseShare
    honest: int

    @property
    def event(self) -> PrivacyEvent:
        """The privacy event of the sum, for one person's data: a larger loss with fewer honest shares than planned."""
        return self.event_within(self.share.sensitivity)

    def event_within(self, sensitivity: int) -> PrivacyEvent:
        """Return this event for a person whose rows differ by at most this ℓ₁ distance."""
        event = self.share.event_of_sum(self.num_values, honest=self.honest)
        return self.compose_parts(msgspec.structs.replace(event, sensitivity=sensitivity))

    def sensitivity_of(self, public: Sequence[int]) -> int:
        """Return how far apart rows of this person are at most, 0 if it has one: as anybody's, unless overridden."""
        return self.share.sensitivity

    def part_event_of(self, public: Sequence[int]) -> PrivacyEvent:
        """Return the privacy event of the sum for one part of a person's row if all other parts are known.

        By default it is the event of the whole row, or of one of its `num_parts` parts.
        """
        return _part_event(self.event_within(self.sensitivity_of(public)))

    def check_largest(self) -> None:
        of_part = self.event.event if isinstance(self.event, SelfComposed) else NoRelease()  # no statement for a row
        self._refuse_shares(self.event, of_part, [self.losses])

    def check_losses(self, public: Sequence[int]) -> None:
        mechanism = self.mechanism_of(public)
        require(
            mechanism == self.share,
            f"mechanism of phase {self.name!r}",
            mechanism,
            f"{self.share}, whose loss is stated",
        )
        sensitivity = self.sensitivity_of(public)
        stated_losses = [self.losses_of(public), self.losses]
        self._refuse_shares(self.event_within(sensitivity), self.part_event_of(public), stated_losses, public)
        if self.num_parts == 1 and any(loss.part is not None for losses in stated_losses for loss in losses):
            rows = self._rows_compared(public)
            moved = [
                int(np.abs(rows - row)[pairs].sum(axis=1).max(initial=0))
                for row, pairs in zip(rows, differ_in_one(rows), strict=True)
            ]
            self._refuse_shares(NoRelease(), self.event_within(max(1, *moved)), stated_losses, public)
        self._compare_rows(np.empty((0, self.num_values), dtype=np.int64), public, ())

    def _compare_rows(self, rows: IntArray, public: Sequence[int], earlier: Sequence[Guarded]) -> None:
        together = np.concatenate([rows, self._rows_compared(public)])
        share = dataclasses.replace(self.share, sensitivity=max(self.sensitivity_of(public) * self.num_parts, 1))
        if strangers := non_neighbors_error(self.name, share, together, is_shown=not len(rows)):
            raise strangers

    def _rows_compared(self, public: Sequence[int]) -> IntArray:
        rows = self.rows_of(public)
        return rows_to_try(self.protected_values_of(public)) if rows is None else rows

    def check_loss_groups(self, public: IntArray, *, earlier: Sequence[Guarded] = ()) -> None:
        for row, _, stated_losses in self._stated_losses(public):
            self.check_losses(row)
            self._refuse_shares(
                self.event_within(self.sensitivity_of(row)), self.part_event_of(row), stated_losses, row
            )

    def _refuse_shares(
        self,
        event: PrivacyEvent,
        of_part: PrivacyEvent,
        stated_losses: Sequence[Sequence[PrivacyLoss]],
        public: Sequence[int] = (),
    ) -> None:
        for relation in {relation for losses in stated_losses for relation in self._relations_of(losses)}:
            self.refuse_below(PureAccountant.epsilon_of(event, relation), relation, stated_losses, public)
            self._refuse_part(stated_losses, relation, functools.partial(PureAccountant.epsilon_of, of_part, relation))

    def _largest_part(self, loss: PrivacyLoss, mechanism: RowMechanism | None) -> float:
        return PureAccountant.epsilon_of(_part_event(self.event), loss.relation)


class MaskedPhase(GuardedShare, Phase):
    """A phase whose server learns the noisy sum of all rows and nothing else (the distributed model).

    All parties have signature keys on an agreed roster, and know who else is on it. The private columns are the numbers
    to add up. A masked phase is the only phase of its protocol.

    Args:
        columns: the columns of a private row that are added up.
        share: the mechanism of each party's share of the noise; its `planned` is `threshold` − `colluders`.
        threshold: T, the least number of parties that take part to the end; 2T exceeds the number of parties plus
            `colluders`.
        colluders: c, the greatest number of parties that collude with the server.
        losses: the losses of one person in this phase, in the distributed model.

    Raises:
        ConfigurationError: as `Phase`; a loss is stated in another model; or `threshold`, `colluders` and `share` do
            not fit each other.

    Privacy:
        The losses bound the sum (`GuardedShare`) against a coalition of the server and `colluders` parties. Parties
        follow the protocol. The server may deviate from it, except if `is_sparse`: then it must follow the protocol
        too, and the bound fails with probability at most 2⁻⁴⁰; the losses say so. The statement assumes that the
        encryption, the signatures and the pseudorandom generator are secure (`docs/distributed-proofs.md`).

    Examples:
        >>> votes = MaskedSums("votes", ranges=[(0, 1)], epsilon=1.0, threshold=4, colluders=1, unit="voter")
        >>> votes.honest, votes.is_sparse
        (3, False)
    """

    def __init__(
        self,
        name: str,
        *,
        columns: range,
        share: NoiseShare,
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
        marked = (msgspec.structs.replace(loss, mechanism=law_of(loss.mechanism, threshold)) for loss in self.losses)
        self.losses = tuple(marked)

    @property
    def is_sparse(self) -> bool:
        """Whether so many have to take part that each masks with some neighbors, and not with all others."""
        return self.threshold >= LEAST_FOR_CIRCLE

    def circle_of(self, number: int, seed: bytes) -> Circle | None:
        """Return the circle on which this number of parties mask, from a seed; None if all pairs mask, without a seed.

        Raises:
            ConfigurationError: no circle serves this number of parties with this threshold and these colluders, or the
                seed is not valid.
        """
        length = KEY_BYTES if self.is_sparse else 0
        require(len(seed) == length, "seed", f"{len(seed)} bytes", f"{length} bytes with threshold {self.threshold}")
        if not self.is_sparse:
            return None
        corrupt, dropped = Fraction(self.colluders, number), Fraction(number - self.threshold, number)
        try:
            return circle_for(number, corrupt=corrupt, dropped=dropped, seed=seed)
        except ConfigurationError:
            settings = self.threshold, self.colluders
            allowed = f"such that fewer of the {number:,} parties leave or collude: each masks with some others alone"
            raise ConfigurationError(field="threshold, colluders", value=settings, allowed=allowed) from None

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        # 2T > n + c, so a message never has to name more parties than this.
        of_all = _BYTES_OF_HEADERS + _BYTES_OF_ONE * 2 * min(self.threshold, LEAST_FOR_CIRCLE)
        codecs: dict[MaskingMove, Codec] = {
            MaskingMove.KEYS: _Structs(Keys, _BYTES_OF_HEADERS),
            MaskingMove.SHARES: _Structs(Deal, of_all),
            MaskingMove.CHECK: _Structs(Check, of_all),
            MaskingMove.ACCUSE: _Structs(Claims, of_all),
            MaskingMove.MASKED: _Residues(self.codec),
            MaskingMove.CONFIRM: _Structs(Confirmation, _BYTES_OF_HEADERS),
            MaskingMove.UNMASK: _Structs(Shares, of_all),
            MaskingMove.OPEN: _Structs(Opening, of_all),
        }
        return tuple(
            Step(
                f"{self.name}, {move.value}",
                self,
                codec,
                move,
                least=0 if move in IN_DISPUTE else self.threshold,
                is_charged=move is MaskingMove.MASKED,
            )
            for move, codec in codecs.items()
        )

    def check_parties(self, number: int) -> None:
        """Raise ConfigurationError unless so many parties can hold the phase: the sum fits, and T and c fit n."""
        require(2 <= number <= MOST_PARTIES, "parties", number, f"2 to {MOST_PARTIES:,} in a masked phase")  # noqa: PLR2004  a sum of one is a value
        least = (number + self.colluders) // 2 + 1
        tenth = number // 10
        allowed = f"in [{least}, {number}]: 2 * threshold > parties + colluders = {number} + {self.colluders}"
        if least > number:
            allowed = f"one that {number} parties can reach: threshold = {number - tenth} and colluders = {tenth}, say"
        require(least <= self.threshold <= number, "threshold", self.threshold, allowed)
        allowed = (
            f"such that {MOST_TIMES} * (threshold - colluders) >= parties = {number}: with more noise no law is known"
        )
        require(number <= MOST_TIMES * self.share.planned, "colluders", self.colluders, allowed)
        if self.is_sparse:
            self.circle_of(number, bytes(KEY_BYTES))
        self.share.check_sum(number)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return self.tally_of_sum(exact_column_sums(reports), public)

    def tally_of_sum(self, total: IntArray, public: IntArray) -> Tally:
        """Return the tally of a sum of rows; the server runs this.

        Args:
            total: int64, shape (num_values,).
            public: the public rows of the parties in the sum.
        """
        return Tally(len(public), np.asarray(total, dtype=np.int64))


class MaskedSums(MaskedPhase):
    """A masked phase defined by the ranges of the numbers that it adds up, and by their sensitivity.

    Args:
        ranges: the least and the greatest value of each number, in the order of the columns.
        epsilon: a person's loss, in nats, against a coalition of the server and `colluders` parties.
        unit: the unit of protection, as in a ledger.
        first: the index of the first column that is added up.
        sensitivity: the greatest ℓ₁ distance between two rows of a person; by default the sum of the ranges' widths.
        num_parts: see `Phase`; `sensitivity` and `epsilon` are then those of one part.
        losses: the losses of one person; by default the loss from the noise, of all parts together, for `unit`.

    Raises:
        ConfigurationError: as `MaskedPhase`, or the noise would be too small or too large.

    Examples:
        >>> votes = MaskedSums("votes", ranges=[(0, 1)], epsilon=1.0, threshold=4, colluders=1, unit="voter")
        >>> [step.name for step in votes.steps][:2]
        ['votes, keys', 'votes, shares']
        >>> votes.losses[0].model.value
        'distributed'
    """

    def __init__(
        self,
        name: str,
        *,
        ranges: Sequence[tuple[int, int]],
        epsilon: float,
        threshold: int,
        colluders: int,
        unit: str,
        first: int = 0,
        sensitivity: int | None = None,
        num_parts: int = 1,
        losses: Sequence[PrivacyLoss] = (),
    ) -> None:
        threshold, colluders = integer_of(threshold, "threshold"), integer_of(colluders, "colluders")
        check_sizes(threshold, colluders)
        epsilon = number_of(epsilon, "epsilon")
        require(0 < epsilon < math.inf, "epsilon", epsilon, "positive and finite")
        self._ranges, num_parts = _ranges_of(ranges), parts_of(num_parts)
        first = integer_of(first, "first")
        require(0 <= first < _BEYOND_INT64, "first", first, "the number of a column, from 0, below 2**63")
        widths = sum(greatest - least for least, greatest in self._ranges)
        moved = widths if sensitivity is None else integer_of(sensitivity, "sensitivity")
        require(widths >= 1, "ranges", ranges, "of two values at least for some number")
        require(1 <= moved < _BEYOND_INT64, "sensitivity", moved, "at least 1 from row to row, and below 2**63")
        bound = max(abs(end) for ends in self._ranges for end in ends)
        share = NoiseShare(quotient_up(moved, epsilon), moved, max(bound, 1), threshold - colluders)
        event = share.event_of_sum(len(self._ranges), honest=share.planned)
        loss = PrivacyLoss(
            mechanism=_LAW,
            event=event if num_parts == 1 else SelfComposed(event, num_parts),
            unit=unit,
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.DISTRIBUTED,
            claimed=num_parts * share.privacy(len(self._ranges), honest=share.planned),
        )
        super().__init__(
            name,
            columns=range(first, first + len(self._ranges)),
            share=share,
            threshold=threshold,
            colluders=colluders,
            losses=losses or [loss],
            num_parts=num_parts,
        )

    def values_of(self, public: Sequence[int]) -> Values:
        return [range(least, greatest + 1) for least, greatest in self._ranges]

    def check_values(self, values: IntArray) -> None:
        """Raise ValueError unless all numbers are in their ranges. See `Phase.check_values`."""
        for place, (column, (least, greatest)) in enumerate(zip(values.T, self._ranges, strict=True)):
            if column.size and not least <= int(column.min()) <= int(column.max()) <= greatest:
                raise ValueError(f"number {place} of phase {self.name!r} takes values in [{least}, {greatest}]")


def _ranges_of(ranges: Any) -> tuple[tuple[int, int], ...]:
    """Return the least and the greatest value of each number; ConfigurationError where there is none."""
    pairs = cast("Any", ranges).tolist() if isinstance(ranges, np.ndarray) else ranges
    require(isinstance(pairs, tuple | list) and len(cast("Any", pairs)), "ranges", cast("Any", ranges), _RANGES)
    return tuple(map(_range_of, cast("Any", pairs)))


def _range_of(ends: Any) -> tuple[int, int]:
    """Return a number's least and greatest value; ConfigurationError for what are none."""
    is_pair = isinstance(ends, tuple | list | np.ndarray) and len(cast("Any", ends)) == 2  # noqa: PLR2004  two ends
    require(is_pair, "ranges", cast("Any", ends), _RANGES)
    least, greatest = (integer_of(end, "ranges") for end in cast("Any", ends))
    require(-_BEYOND_INT64 <= least <= greatest < _BEYOND_INT64, "ranges", (least, greatest), _RANGES)
    return least, greatest


def law_of(law: str, threshold: int) -> str:
    """Return the name of a law for at least T parties; for many parties it is marked `SEMI_HONEST`.

    Examples:
        >>> law_of("shares of noise", threshold=10)
        'shares of noise'
    """
    return f"{law}, {SEMI_HONEST}" if threshold >= LEAST_FOR_CIRCLE else law


def sizes_of(parameters: Any) -> tuple[int, int]:
    """Return T and c of a masked session's parameters, which `check_sizes` has passed."""
    return parameters.threshold, parameters.colluders


def check_sizes(threshold: Any, colluders: Any, *, kind: str = "a masked phase", is_masked: bool = True) -> None:
    """Raise ConfigurationError unless T and c are set for masked sums, and unset otherwise.

    Args:
        threshold: T, or UNSET.
        colluders: c, or UNSET.
        kind: the kind of session for the message, such as "variant 'masked'".
        is_masked: whether this kind masks sums.

    Examples:
        >>> check_sizes(4, 1)
        >>> check_sizes(4, 4)
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: colluders is 4: use a value of at least 0 and below 4, ...
    """
    for field, value in (("threshold", threshold), ("colluders", colluders)):
        refuse(not is_masked and value is not msgspec.UNSET, field, value, f"left out in {kind}")
        allowed = f"given in {kind}: the parties who take part to the end at least, and those in league at most"
        refuse(is_masked and value is msgspec.UNSET, field, "left out", allowed)
        refuse(is_masked and type(value) is not int, field, value, "an integer of Python's own")
    if is_masked:
        require(1 <= threshold < _MOST_THRESHOLD, "threshold", threshold, f"in [1, {_MOST_THRESHOLD:,})")
        require(0 <= colluders < threshold, "colluders", colluders, f"in [0, {threshold}), below the threshold")


def _part_event(event: PrivacyEvent) -> PrivacyEvent:
    return event.event if isinstance(event, SelfComposed) else event
