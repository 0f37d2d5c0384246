"""One phase of a protocol: columns of a private row, a randomizer, a tally, and what closing the phase publishes.

Clients and server hold the same phase, and each method says which of them runs it. When a phase is made, its stated
losses are checked against its mechanism (`guard`).
"""

import abc
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Protocol, TypeAlias, cast, get_type_hints

import msgspec
import numpy as np

from ..arguments import NAMES, integer_of, is_name
from ..arrays import IntArray
from ..errors import require
from ..guard import Guarded
from ..integers import RowCodec
from ..masking import IN_DISPUTE, MaskingMove
from ..mechanisms import FiniteMechanism, RowMechanism
from ..memoized_reports import Scope
from ..messages import MAX_MESSAGE_BYTES, PayloadDecoder
from ..privacy import NeighboringRelation, PrivacyLoss, TrustModel
from ..tally import Tally, TallyBlock

MechanismGroups: TypeAlias = Sequence[tuple[RowMechanism, IntArray | slice]]
"""Local randomizers, each with the indices of the persons who use it."""

DrawBlock: TypeAlias = Callable[[RowMechanism, IntArray], IntArray]
"""A function that applies a mechanism to one row per session, with the randomness of each session's server."""

# An integer takes up to nine bytes, and the message around them a few.
MAX_VALUES_IN_REPORT: Final = (MAX_MESSAGE_BYTES - 64) // 9
_MOST_PARTS: Final = 2**31
_NAMED: Final = f"text {NAMES.removeprefix('names ')}"


class Codec(Protocol):
    """The encoding of the answers of a step, as payloads whose size reveals nothing.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> codec = DPWeVote(Parameters(candidates=("tea",))).phases[0].codec
        >>> codec.decode(codec.encode([2]))
        (2,)
    """

    max_bytes: int
    """The most bytes of a payload, by any implementation."""

    def encode(self, answer: Any, /) -> msgspec.Raw:
        """Run by a client: return an answer as it travels."""
        ...

    def decode(self, payload: bytes | msgspec.Raw, /) -> Any:
        """Decode a payload; msgspec.DecodeError if it is no answer."""
        ...


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Step:
    """A request to all parties, and their answers: the unit of messages, records, deadlines and traffic.

    `rules.SessionRules` set its deadline and quorum, by its name.

    Args:
        name: unique in its protocol.
        move: which step of a masked phase it is; None in any other phase.
        least: the least number of answers, whatever the rules say.
        is_charged: whether the phase's losses are charged for the answer to this step.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> [step.name for step in DPWeVote(Parameters(candidates=("tea",))).steps]
        ['weights', 'opinions']
    """

    name: str
    phase: "Phase"
    codec: Codec
    move: MaskingMove | None = None
    least: int = 0
    is_charged: bool = True

    @property
    def is_in_dispute(self) -> bool:
        """Whether it is left out unless somebody has lied, and then asks some alone."""
        return self.move in IN_DISPUTE


def parts_of(num_parts: Any) -> int:
    """Check and return the number of parts of a person's values.

    ConfigurationError if it is less than 1, since then nothing would be charged.

    Examples:
        >>> parts_of(3)
        3
    """
    num_parts = integer_of(num_parts, "num_parts")
    require(1 <= num_parts < _MOST_PARTS, "num_parts", num_parts, f"at least 1 and less than {_MOST_PARTS:,}")
    return num_parts


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """All parties' inputs, one row each, in roster order.

    Args:
        private: int64, shape (n, private columns); each row is known only to its party.
        public: int64, shape (n, public columns); known to the server as well.

    Examples:
        >>> inputs = Inputs(private=np.array([[0], [1]]), public=np.array([[3], [1]]))
        >>> len(inputs), inputs.slice_rows(1, 2).public.tolist()
        (2, [[1]])
    """

    private: IntArray
    public: IntArray

    def __post_init__(self) -> None:
        if not all(np.issubdtype(table.dtype, np.integer) for table in (self.private, self.public)):
            # Reports of floats would reveal the low bits of a value.
            raise TypeError(f"rows are {self.private.dtype} and {self.public.dtype}: convert both to integers")
        if self.private.ndim != 2 or self.public.ndim != 2 or len(self.private) != len(self.public):  # noqa: PLR2004  tables
            raise ValueError(f"tables have shapes {self.private.shape} and {self.public.shape}: give both as many rows")

    def slice_rows(self, start: int, stop: int) -> "Inputs":
        """Return the rows of the parties from `start` up to `stop`."""
        return Inputs(self.private[start:stop], self.public[start:stop])

    def __len__(self) -> int:
        return len(self.private)


@dataclasses.dataclass(frozen=True, eq=False)
class InputBlock:
    """The inputs of the same parties in many sessions.

    Args:
        private: int64, shape (sessions, n, private columns); the first axis has length 1 if all sessions have the same.
        public: int64, shape (n, public columns); the same in all sessions.

    Examples:
        >>> inputs = Inputs(private=np.array([[0], [1]]), public=np.array([[3], [1]]))
        >>> block = InputBlock.from_inputs(inputs)
        >>> block.num_parties, block.flatten(2).private.tolist()
        (2, [[0], [1], [0], [1]])
    """

    private: IntArray
    public: IntArray

    @classmethod
    def from_inputs(cls, inputs: Inputs) -> "InputBlock":
        """Make a block of inputs that are the same in all sessions."""
        return cls(inputs.private[None], inputs.public)

    @property
    def num_parties(self) -> int:
        """How many parties each session has."""
        return len(self.public)

    def inputs(self, number: int) -> Inputs:
        """Return one session's inputs."""
        return Inputs(self.private[number], self.public)

    def flatten(self, num_sessions: int) -> Inputs:
        """Return the rows of all parties of so many sessions, one session after another."""
        shape = (num_sessions, *self.private.shape[1:])
        private = np.broadcast_to(self.private, shape).reshape(num_sessions * self.num_parties, -1)
        return Inputs(private, np.tile(self.public, (num_sessions, 1)))


class Phase(Guarded):
    """One phase of a protocol, for clients and server alike.

    A method's argument `public` is a person's public row, or the public rows of many, shape (n, public columns).

    Args:
        name: the name for users; unique in its protocol.
        columns: the columns of a private row that it randomizes.
        mechanism: the local randomizer of these values. If persons have different randomizers (`mechanism_of`), the one
            whose reports have the widest range.
        losses: the losses of one person, one entry for each unit of protection, in the phase's trust model.
        num_parts: the greatest number of parts, such as records, in a person's values. The mechanism's event covers the
            change of one part.
        memo_scope: the scope in which reports are memoized. Later sessions of the scope repeat a person's report at no
            further cost in this phase (`memoized_reports`). It requires losses under replace-one in the local model,
            and the same randomizer for all; elsewhere a repeated report could reveal more than the first.

    Raises:
        ConfigurationError: the columns have gaps; `num_parts` is less than 1; a report would not fit into a message;
            the losses under one relation and model are less than what is drawn (`guard`); or `memo_scope` is set for a
            phase that cannot be memoized.
        UnsupportedEventError: `event` cannot be bounded under a loss's relation.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> phase = DPWeVote(Parameters(candidates=("tea",))).phases[0]
        >>> phase.name, phase.losses[0].unit, phase.num_reported
        ('weights', 'weight', 1)
    """

    model: ClassVar[TrustModel] = TrustModel.LOCAL

    def __init__(
        self,
        name: str,
        *,
        columns: range,
        mechanism: RowMechanism,
        losses: Sequence[PrivacyLoss],
        num_parts: int = 1,
        memo_scope: Scope | None = None,
    ) -> None:
        require(is_name(name), "name", name, _NAMED)
        losses_given: Any = losses
        are_losses = isinstance(losses_given, list | tuple) and all(
            isinstance(loss, PrivacyLoss) for loss in cast("Any", losses_given)
        )
        require(are_losses, "losses", cast("Any", losses_given), "privacy losses, in a list")
        for loss in losses:
            require(is_name(loss.unit), "unit", loss.unit, _NAMED)
        are_columns = isinstance(cast("Any", columns), range) and len(columns) and columns.step == 1
        require(are_columns, "columns", columns, "at least one column, and columns next to each other")
        num_parts = parts_of(num_parts)
        slots = mechanism.slots_of(1)
        require(slots >= 1, "slots", slots, "at least 1")
        self.num_values = len(columns)
        self.num_reported = mechanism.num_reports_of(len(columns))
        allowed = f"at most {MAX_VALUES_IN_REPORT}, so that a report fits into a message"
        fits = max(self.num_values, self.num_reported) <= MAX_VALUES_IN_REPORT
        require(fits, "columns", len(columns), allowed)
        self.name = name
        self.columns = slice(columns.start, columns.stop)
        self.mechanism = mechanism
        self.num_parts = num_parts
        self.losses = self.with_parts(losses)
        self.memo_scope = (
            None if memo_scope is None else memo_scope.with_law("randomizer", _law_of(mechanism, self.losses))
        )
        self.check_largest()
        self._check_kept()

    @property
    def hides_participation(self) -> bool:
        """Whether it is private who reported, and so how many did: neighbors differ by a person who is there or not."""
        return any(loss.relation is NeighboringRelation.ADD_OR_REMOVE_ONE for loss in self.losses)

    def _check_kept(self) -> None:
        if self.memo_scope is None:
            return
        relations = {(loss.relation, loss.model.bounds_release) for loss in self.losses}
        has_one = type(self).mechanism_of is Phase.mechanism_of
        is_kept = has_one and relations == {(NeighboringRelation.REPLACE_ONE, False)}
        allowed = "a phase of replace-one neighbors in the local model, with one randomizer for all"
        require(is_kept, "kept", f"phase {self.name!r}", allowed)

    @functools.cached_property
    def codec(self) -> RowCodec:
        """How a report travels: `num_reported` integers in the mechanism's report range, as many bytes as any other."""
        return RowCodec(self.num_reported, *self.mechanism.report_range)

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps that the phase takes, in order: one, whose answer is the report."""
        return (Step(self.name, self, self.codec),)

    @functools.cached_property
    def outcome_decoder(self) -> PayloadDecoder[Any] | None:
        """Decodes what closing this phase publishes, by the type that `outcome` declares; None where it is nothing."""
        if type(self).outcome is Phase.outcome:
            return None
        try:
            return PayloadDecoder(get_type_hints(type(self).outcome)["return"] | None)
        except (KeyError, NameError, TypeError):  # it has no annotation, or one that cannot be resolved
            return PayloadDecoder(dict[str, Any] | None)

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        """Return the local randomizer of one person: `mechanism`, unless overridden.

        All randomizers of a phase have the same type, take the same number of uniforms, and report the same number of
        integers.
        """
        return self.mechanism

    def mechanism_groups(self, public: IntArray) -> MechanismGroups:
        """Return the local randomizers of many persons, each with the indices of the persons who use it.

        A phase that overrides `mechanism_of` overrides this.
        """
        return [(self.mechanism, slice(None))]

    @property
    def tally_mechanism(self) -> RowMechanism | None:
        """The server's mechanism for the tally's totals as the phase closes; None if the server draws nothing."""
        return None

    @property
    def makes_own_release(self) -> bool:
        """Whether the phase overrides how a trusted server makes the release."""
        return False

    def mechanism_faced(self, public: Sequence[int]) -> RowMechanism:
        """Return the mechanism that stands before the adversary: the server's, or the person's own."""
        return self.tally_mechanism or self.mechanism_of(public)

    def num_draws(self, num_parties: int) -> int:
        """Return how many independent draws are in a tally of so many parties: one of the server's, or one each."""
        return num_parties if self.tally_mechanism is None else 1

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return the phase's losses for one person: `losses`, or smaller ones that depend on the public row.

        A phase that overrides this states the losses of a part, or fills them in by `with_parts`.
        """
        return self.losses

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Return the phase's losses for many persons: each group's name, size and losses.

        A phase that overrides `losses_of` overrides this.

        Returns:
            Groups with distinct names; a single group has an empty name.
        """
        return [("", len(public), self.losses)]

    def check_values(self, values: IntArray) -> None:
        """Raise ValueError unless all values, int64 of shape (n, num_values), are allowed.

        By default a phase allows all values of its mechanism. A phase that allows fewer overrides this.
        """
        low, high = self.mechanism.value_range
        if values.size and not low <= int(values.min()) <= int(values.max()) <= high:
            raise ValueError(f"phase {self.name!r} takes values in [{low}, {high}]")

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Raise ValueError if a report does not fit its sender's public row; the server runs this.

        The error's message goes to the sender and into the server's log, so it must not quote a value.
        """
        del report, public

    @abc.abstractmethod
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Tally the reports of some clients; the server runs this.

        Args:
            reports: the clients' reports in this phase, int64, shape (n, num_reported).
            earlier: their reports in each earlier phase, in order; with no columns for a phase of the central model.
            public: their public rows, int64, shape (n, public columns).

        Returns:
            A tally such that the tallies of a partition of the clients merge into that of all.
        """

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        """Return the tallies of many sessions of the same parties, for trials.

        The default calls `tally` for each session. An override must return the same bits as `tally`. It is ignored if a
        subclass overrides only `tally`.

        Args:
            reports: int64, shape (sessions, n, num_reported).
            earlier: the reports of each earlier phase, with the sessions as first axis.
            public: the parties' public rows, the same in all sessions.
        """
        return TallyBlock.from_tallies(
            [
                self.tally(session_reports, earlier=[rows[number] for rows in earlier], public=public)
                for number, session_reports in enumerate(reports)
            ]
        )

    def randomize_tallies(self, tallies: TallyBlock, draw: DrawBlock) -> TallyBlock:
        """Return the tallies of many sessions with the servers' noise, for trials.

        An override must return the same bits as `randomize_tally`. It is ignored if a subclass overrides only that.
        """
        del draw
        return tallies

    def outcome(self, tallies: Sequence[Tally]) -> msgspec.Struct | None:
        """Run by the server: what closing this phase publishes in the next request, from the tallies so far."""
        return None


def _law_of(mechanism: RowMechanism, losses: Sequence[PrivacyLoss]) -> str:
    """Return a digest of a randomizer's law, whatever name its protocol gives it."""
    parts = [type(mechanism).__name__, repr(mechanism.value_range), repr(mechanism.report_range)]
    parts += [repr(loss.event) for loss in losses]
    if isinstance(mechanism, FiniteMechanism):
        parts += [f"{chance:.9e}" for row in mechanism.channel_matrix() for chance in row]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
