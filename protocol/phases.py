"""A protocol is a list of phases; a phase is a randomizer, a tally and an outcome.

In each phase the server opens with a request, every client answers with one report (the phase's local
randomizer applied to columns of its private row), the server tallies the reports, and closing the phase yields
an outcome that the next request carries. Machines, agents, arrays and replays are all driven by these two
classes, so a protocol is one module that defines them.

A party's private input is a *row* of integers: indices into public sets, or multiples of a public grid.
`PhasedProtocol.encode` makes rows from a table as users know it, and each phase names its columns.
"""

import abc
import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Generic, TypeAlias, TypeVar, cast

import msgspec
import numpy as np

from .arrays import IntArray
from .columns import Column, Entries, check_columns, missing_column
from .errors import ConfigurationError
from .guard import Guarded, GuardedRelease
from .integers import encode_row, width_of
from .kept import Scope
from .mechanisms import Disclosure, FiniteMechanism, RowMechanism
from .messages import MAX_CHOSEN, MAX_MESSAGE_BYTES, encode_payload
from .privacy import NeighboringRelation, PrivacyLoss, TrustModel
from .tally import Tally

__all__ = [
    "MAX_VALUES_IN_REPORT",
    "CentralPhase",
    "Column",
    "Draw",
    "Entries",
    "Inputs",
    "MechanismGroups",
    "OnePhaseProtocol",
    "Phase",
    "PhasedProtocol",
    "Truth",
    "missing_column",
]

Truth: TypeAlias = Mapping[str, float] | Mapping[str, str] | Mapping[str, float | str]
"""What an outcome estimates, by name: numbers, labels, or both."""

MechanismGroups: TypeAlias = Sequence[tuple[RowMechanism, IntArray | slice]]
"""Local randomizers, each with the places of the persons who use it."""

Draw: TypeAlias = Callable[[RowMechanism, Sequence[int]], Sequence[int]]
"""Applies a mechanism to a row, with randomness of its owner's."""

# An integer takes up to nine bytes, and the message around them a few.
MAX_VALUES_IN_REPORT: Final = (MAX_MESSAGE_BYTES - 64) // 9

ParametersT = TypeVar("ParametersT", bound=msgspec.Struct)
OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)
PhaseT = TypeVar("PhaseT", bound="Phase")


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """All parties' inputs, one row each, in roster order.

    Args:
        private: int64, shape (n, private columns): known to its owner alone.
        public: int64, shape (n, public columns): known to the server as well.
    """

    private: IntArray
    public: IntArray

    def __post_init__(self) -> None:
        if not all(np.issubdtype(table.dtype, np.integer) for table in (self.private, self.public)):
            # A float would leave its party with its low bits in clear.
            raise TypeError(f"rows are integers, got {self.private.dtype} and {self.public.dtype}")
        if self.private.ndim != 2 or self.public.ndim != 2 or len(self.private) != len(self.public):  # noqa: PLR2004  tables
            raise ValueError(f"expected two tables of as many rows, got {self.private.shape} and {self.public.shape}")

    def of_range(self, start: int, stop: int) -> "Inputs":
        """Return the rows of the parties from `start` up to `stop`."""
        return Inputs(self.private[start:stop], self.public[start:stop])

    def __len__(self) -> int:
        return len(self.private)


class Phase(Guarded):
    """One step of a protocol, for clients and server alike.

    Args:
        name: what users call it; unique in its protocol.
        columns: which columns of a private row it randomizes.
        mechanism: the local randomizer of these values. Where persons have randomizers of their own (`mechanism_of`),
            the one whose reports have the widest range.
        losses: what this phase costs one person, one entry for each unit of protection.
        num_parts: how many parts a person's values are made of at most, where the mechanism's event covers the change
            of one part, such as a record.
        kept: where a person's report outlives its session. Later sessions of the same scope then repeat it, and cost
            nothing in this phase (`kept`). For replace-one neighbors in the local model, and one randomizer for all:
            elsewhere a repeated report tells more than the first, or is another's.

    Raises:
        ConfigurationError: the columns have gaps, a report would not fit into a message, the losses of one relation
            and model are less than what is drawn (`guard`), or reports are kept where they cannot be.
        UnsupportedEventError: `event` cannot be bounded under a loss's relation.
    """

    def __init__(
        self,
        name: str,
        *,
        columns: range,
        mechanism: RowMechanism,
        losses: Sequence[PrivacyLoss],
        num_parts: int = 1,
        kept: Scope | None = None,
    ) -> None:
        if not columns or columns.step != 1:
            raise ConfigurationError(
                field="columns", value=columns, allowed="at least one column, and columns next to each other"
            )
        if (slots := mechanism.slots_of(1)) < 1:
            raise ConfigurationError(field="slots", value=slots, allowed="at least 1")
        if max(len(columns), mechanism.num_reports_of(len(columns))) > MAX_VALUES_IN_REPORT:
            allowed = f"at most {MAX_VALUES_IN_REPORT}, so that a report fits into a message"
            raise ConfigurationError(field="columns", value=len(columns), allowed=allowed)
        self.name = name
        self.columns = slice(columns.start, columns.stop)
        self.num_values = len(columns)
        self.num_reported = mechanism.num_reports_of(len(columns))
        self.mechanism = mechanism
        self.losses = tuple(losses)
        self.num_parts = num_parts
        self.kept = None if kept is None else kept.with_law("randomizer", _law_of(mechanism, self.losses))
        self.check_largest()
        self._check_kept()

    @property
    def hides_participation(self) -> bool:
        """Whether it is private who reported, and so how many did: neighbors differ by a person who is there or not."""
        return any(loss.relation is NeighboringRelation.ADD_OR_REMOVE_ONE for loss in self.losses)

    def _check_kept(self) -> None:
        if self.kept is None:
            return
        stated = {(loss.relation, loss.model) for loss in self.losses}
        can_be = stated == {(NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL)}
        if not can_be or type(self).mechanism_of is not Phase.mechanism_of:
            allowed = "a phase of replace-one neighbors in the local model, with one randomizer for all"
            raise ConfigurationError(field="kept", value=f"phase {self.name!r}", allowed=allowed)

    @functools.cached_property
    def decoder(self) -> msgspec.msgpack.Decoder[tuple[int, ...]]:
        """Decodes and checks the payload type that this phase declares.

        A report is an array of `num_reported` integers in the mechanism's report range.
        """
        low, high = self.mechanism.report_range
        number = Annotated[int, msgspec.Meta(ge=low, le=high)]
        length = msgspec.Meta(min_length=self.num_reported, max_length=self.num_reported)
        return msgspec.msgpack.Decoder(Annotated[tuple[number, ...], length])

    @functools.cached_property
    def number_bytes(self) -> int:
        """How many bytes each number of a report takes: as many as the widest that anybody's can have."""
        return width_of(*self.mechanism.report_range)

    def encode_report(self, report: Sequence[int]) -> msgspec.Raw:
        """Run by a client: return a report as it travels, in as many bytes as any other of this phase.

        Args:
            report: `num_reported` integers in the mechanism's report range.
        """
        return msgspec.Raw(encode_row(report, width=self.number_bytes))

    def mechanism_of(self, public: Sequence[int]) -> RowMechanism:
        """Return the local randomizer of one person: `mechanism`, unless overridden.

        All of a phase are of one type, take as many uniforms and report as many numbers.

        Args:
            public: the person's public row.
        """
        del public
        return self.mechanism

    def mechanism_groups(self, public: IntArray) -> MechanismGroups:
        """Return the local randomizers of many: each with the places of those who use it.

        A phase that overrides `mechanism_of` overrides this.

        Args:
            public: their public rows, shape (n, public columns).
        """
        del public
        return [(self.mechanism, slice(None))]

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return what this phase costs one person: `losses`, or less where the public row says so.

        Args:
            public: the person's public row.
        """
        del public
        return self.losses

    def loss_groups(self, public: IntArray) -> Sequence[tuple[str, int, tuple[PrivacyLoss, ...]]]:
        """Return what this phase costs many: for each group of persons who pay alike a name, their number, the losses.

        A phase that overrides `losses_of` overrides this.

        Args:
            public: their public rows, shape (n, public columns).

        Returns:
            Groups with distinct names; the name of a single one is empty.
        """
        return [("", len(public), self.losses)]

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        """Run by the server: refuse a report that does not fit its sender's public row.

        Args:
            report: `num_reported` integers in the mechanism's report range.
            public: the sender's public row.

        Raises:
            ValueError: it does not fit; the message goes back to the sender.
        """
        del report, public

    @abc.abstractmethod
    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Run by the server: tally the reports of some clients.

        Args:
            reports: int64, shape (n, num_reported): theirs in this phase.
            earlier: theirs in each earlier phase, in order.
            public: int64, shape (n, public columns): their public rows.

        Returns:
            A tally such that the tallies of a partition of the clients merge into that of all.
        """

    def outcome(self, tallies: Sequence[Tally]) -> msgspec.Struct | None:
        """Run by the server: what closing this phase publishes in the next request; nothing unless overridden.

        Args:
            tallies: of all phases up to this one.
        """
        del tallies
        return None


def _law_of(mechanism: RowMechanism, losses: Sequence[PrivacyLoss]) -> str:
    """Return what tells a randomizer's law from others', whatever its protocol says of it."""
    told = [type(mechanism).__name__, repr(mechanism.value_range), repr(mechanism.report_range)]
    told += [repr(loss.event) for loss in losses]
    if isinstance(mechanism, FiniteMechanism):
        told += [f"{chance:.9e}" for row in mechanism.channel_matrix() for chance in row]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


class CentralPhase(GuardedRelease, Phase):
    """A step in which the server is trusted with the values, and draws the noise itself (the central model).

    Clients disclose their values, and the server's view has them as they are. When the phase closes, the server
    randomizes the tally once. Everything that is published is computed from the noisy tally, and the clear one is
    dropped. So the losses of such a phase are bounded against everybody who sees only the release, and not against
    somebody who sees the server's view.

    Args:
        name: what users call it; unique in its protocol.
        columns: which columns of a private row are disclosed.
        bound: the greatest size of a value.
        tally_mechanism: what the server randomizes the tally's totals with, as one row.
        losses: what this phase costs one person, in the central model.
        num_parts: see `Phase`.

    Raises:
        ConfigurationError: as `Phase`, or a loss is stated in another model.
    """

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
        self.tally_mechanism = tally_mechanism
        for loss in losses:
            if loss.model is not TrustModel.CENTRAL:
                allowed = f"{TrustModel.CENTRAL.value!r} where the server sees the values"
                raise ConfigurationError(field="losses", value=loss.model.value, allowed=allowed)
        super().__init__(name, columns=columns, mechanism=Disclosure(bound), losses=losses, num_parts=num_parts)

    def randomize_tally(self, tally: Tally, draw: Draw) -> Tally:
        """Run by the server as the phase closes, once: return the tally with noise.

        Args:
            tally: of all reports, with totals alone.
            draw: applies a mechanism to a row, with the server's randomness.
        """
        totals = draw(self.tally_mechanism, tally.totals.reshape(-1).tolist())
        return Tally(tally.num_reports, np.array(totals, dtype=np.int64).reshape(tally.totals.shape))


class PhasedProtocol(abc.ABC, Generic[ParametersT, OutcomeT]):
    """A private collective decision: parameters, phases, and what is released at the end.

    Instances are immutable and may be shared by any number of machines.

    Args:
        parameters: public; both sides must hold equal ones, and a client checks that before it draws anything.
    """

    name: ClassVar[str]
    """What the wire, scenarios and entry points call it."""
    client_role: ClassVar[str] = "voter"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]]
    outcome_type: ClassVar[type[msgspec.Struct]]
    own_outcome_type: ClassVar[type[msgspec.Struct] | None] = None
    """What the release tells each client alone; None where it tells everybody the same."""
    computes_twice: ClassVar[bool] = True
    """Whether a session computes its outcome twice, and stops where the two differ.

    False where that takes long, and tests hold the protocol to it instead.
    """

    def __init__(self, parameters: ParametersT) -> None:
        # Equal parameters must have equal bytes: 1 for 1.0 and a list for a tuple are put right here.
        try:
            self.parameters = msgspec.convert(msgspec.to_builtins(parameters), type(parameters))
        except msgspec.ValidationError as error:
            if isinstance(error.__cause__, ConfigurationError):  # raised by the parameters themselves
                raise error.__cause__ from None
            allowed = f"of the declared types ({error})"
            raise ConfigurationError(field="parameters", value=parameters, allowed=allowed) from None

    @functools.cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases, in order; at least one."""
        made = cast("object", self.make_phases())
        told = list(cast("Iterable[object]", made)) if isinstance(made, Iterable) else [made]
        phases = tuple(phase for phase in told if isinstance(phase, Phase))
        if len(phases) < len(told) or not isinstance(made, Iterable):
            field, value = f"make_phases() of protocol {self.name!r}", [type(each).__name__ for each in told]
            raise ConfigurationError(field=field, value=value, allowed="Phases, yielded or in a tuple")
        names = [phase.name for phase in phases]
        if not phases or len(set(names)) < len(phases):
            raise ConfigurationError(field="phases", value=names, allowed="at least one, with distinct names")
        for phase, following in itertools.pairwise(phases):
            if phase.hides_participation and not following.hides_participation:
                allowed = f"before {phase.name!r}: that phase hides who reports, so no later phase may show it"
                raise ConfigurationError(field="phases", value=following.name, allowed=allowed)
        return phases

    @functools.cached_property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        """What a whole session costs one person at most, phase by phase."""
        return tuple(loss for phase in self.phases for loss in phase.losses)

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return what a whole session costs the person with this public row, phase by phase."""
        return tuple(loss for phase in self.phases for loss in phase.losses_of(public))

    @functools.cached_property
    def hides_participation(self) -> bool:
        """Whether it is private, in some phase, who takes part.

        Such a phase has no quorum, closes at its deadline alone, and leaves a tally without the number of reports.
        """
        return any(phase.hides_participation for phase in self.phases)

    def check_losses(self, public: Sequence[int]) -> None:
        """Run by a client before it reserves: see `guard.Guarded.check_losses`, phase by phase.

        Raises:
            ConfigurationError: a phase states less than it draws for this public row.
        """
        for phase in self.phases:
            phase.check_losses(public)

    def check_loss_groups(self, public: IntArray) -> None:
        """Run by the maker of a session, before anything is charged: refuse losses of any row that are stated too low.

        Args:
            public: the parties' public rows, shape (n, public columns).

        Raises:
            ConfigurationError: a phase states less than it draws for one of them.
        """
        if not len(public):
            return
        for number, phase in enumerate(self.phases):
            phase.check_loss_groups(public, earlier=self.phases[:number])

    @functools.cached_property
    def num_chosen(self) -> int:
        """How many integers at the end of a public row each party says itself as it joins: one a column that is chosen.

        Until it has, its row has there what `encode_public` makes without that column.

        Raises:
            ConfigurationError: they are more than a message carries.
        """
        number = sum(column.chosen for column in self.columns())
        if number > MAX_CHOSEN:
            raise ConfigurationError(field="chosen columns", value=number, allowed=f"at most {MAX_CHOSEN}")
        return number

    @property
    def trusts_server(self) -> bool:
        """Whether some phase shows the server private values as they are (the central model)."""
        return any(isinstance(phase, CentralPhase) for phase in self.phases)

    @property
    def keeps_words(self) -> bool:
        """Whether what an exception says is left out of sentences and logs: it may quote a value, or count people."""
        return self.trusts_server or self.hides_participation

    @functools.cached_property
    def encoded_parameters(self) -> msgspec.Raw:
        """The parameters as every `Welcome` carries them; equal parameters have equal bytes."""
        return encode_payload(self.parameters)

    @functools.cached_property
    def outcome_decoder(self) -> msgspec.msgpack.Decoder[msgspec.Struct]:
        """Decodes and checks the outcome that a `Release` carries."""
        return msgspec.msgpack.Decoder(self.outcome_type)

    @functools.cached_property
    def own_outcome_decoder(self) -> msgspec.msgpack.Decoder[msgspec.Struct | None]:
        """Decodes and checks what a `Release` carries for one client alone."""
        own = self.own_outcome_type
        return msgspec.msgpack.Decoder(type(None) if own is None else own | None)

    @abc.abstractmethod
    def make_phases(self) -> Iterable[Phase]:
        """Return the phases that these parameters ask for."""

    @classmethod
    def complete(cls, given: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Return the parameters as given, with those filled in that follow from the table's public part.

        Args:
            given: parameters by name, before they are checked.
            table: the parties' entries by column, before they are checked.
        """
        del table
        return dict(given)

    @abc.abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the table from which `encode` makes rows, beside each party's name."""

    def possible_entries(self) -> Mapping[str, Entries] | None:
        """Return what a party may hold, for those who attack or audit a session: a table as `encode` takes it.

        Each line is a possibility; whoever infers takes all of them for equally likely before. Each private row must be
        one that any party may have. None, unless overridden: all rows that the mechanisms take, where these are few.
        """
        return None

    @abc.abstractmethod
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Check a table and turn it into rows.

        Args:
            table: for each of `columns`, the parties' entries in roster order (text, as in a file, or numbers).

        Raises:
            ConfigurationError: an entry is not allowed; `field` names column and row, from 1.
        """

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Run by a server that serves parties elsewhere: return their public rows, from the public columns alone.

        A protocol with public columns overrides this. Columns that are chosen are missing, and their places then have
        any row that is allowed: the dearest, since losses are told by these rows until parties come.

        Args:
            table: the public columns.
            num_parties: how many are on the roster.

        Raises:
            ConfigurationError: an entry is not allowed, or the protocol has public columns and does not say how.
        """
        del table
        public = [column.name for column in self.columns() if not column.private]
        if public:
            allowed = "one that encodes its public columns by themselves (encode_public)"
            raise ConfigurationError(field="protocol", value=self.name, allowed=allowed)
        return np.empty((num_parties, 0), dtype=np.int64)

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        """Run by a client, before it says anything: return what it chooses, the end of its public row.

        A protocol with columns that are chosen overrides this. What a party chooses is public, and no ε bounds what the
        choice itself tells of its private values.

        Args:
            entries: its own, by column.

        Raises:
            ConfigurationError: an entry is missing or not allowed, or the protocol has such columns and does not say
                how.
        """
        del entries
        if self.num_chosen:
            allowed = "one that encodes the columns that a party chooses (encode_chosen)"
            raise ConfigurationError(field="protocol", value=self.name, allowed=allowed)
        return ()

    def write_public(self, public: IntArray) -> Mapping[str, Sequence[str]]:
        """Return those public columns as a file holds them whose entries `encode_public` also takes as codes.

        Args:
            public: public rows.
        """
        del public
        return {}

    def check_columns(self, names: Iterable[str]) -> None:
        """Run by whoever has a table, before it is encoded: refuse one that lacks a column, or has another.

        A protocol that can do without one of its columns overrides this.

        Args:
            names: the table's.

        Raises:
            ConfigurationError: a column is missing or unknown.
        """
        check_columns(self.columns(), names)

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Run by a client: return its private row.

        Args:
            entries: its own, by column; public ones may be missing where the protocol can do without.
            public: its public row, as the server has it.

        Raises:
            ConfigurationError: an entry is missing or not allowed, or a public one is not what the server has.
        """
        del public
        self.check_columns(entries)
        (row,) = self.encode({name: [entry] for name, entry in entries.items()}).private.tolist()
        return tuple(row)

    def check_public(self, public: Sequence[int]) -> None:
        """Run by a client, before anything else is made of it: refuse a public row that no table can have.

        A protocol with public columns overrides this.

        Args:
            public: its public row, as the server has it.

        Raises:
            ConfigurationError: it is none; the message goes to the server.
        """
        del public

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Run by a client, before it draws anything: refuse a public row that does not fit its private one.

        A protocol overrides this if what a public row says decides what a client pays or sends. `check_public` has
        passed.

        Args:
            row: its private row.
            public: its public row, as the server has it.

        Raises:
            ValueError: they do not fit; the server learns that, and not the message.
        """
        del row, public

    def check_roster(self, public: IntArray) -> None:
        """Run by the maker of a session: raise ConfigurationError if the parameters cannot serve these parties.

        Args:
            public: their public rows, shape (n, public columns).
        """
        del public

    @abc.abstractmethod
    def outcome(self, tallies: Sequence[Tally]) -> OutcomeT:
        """Run by the server: the public outcome of the session, from the tallies of all phases.

        It travels in one message, and must fit into `messages.MAX_MESSAGE_BYTES`.

        A pure function of integers: everybody who holds the tallies computes the same bits.
        """

    def largest_outcome(self, num_parties: int) -> OutcomeT | None:
        """Return an outcome that takes as many bytes as any; None where that is never near a message's limit.

        A server refuses to begin a session whose release would not fit into a message.

        Args:
            num_parties: how many are on the roster.
        """
        del num_parties
        return None

    def own_outcomes(self, tallies: Sequence[Tally]) -> Mapping[int, msgspec.Struct]:
        """Run by the server: what the release tells single clients, by their places; nothing unless overridden.

        Args:
            tallies: of all phases.
        """
        del tallies
        return {}

    def truth(self, inputs: Inputs) -> Truth | None:
        """Return what the outcome estimates, computed without noise, for simulations; None where not offered."""
        del inputs
        return None

    def check_inputs(self, inputs: Inputs) -> None:
        """Raise ValueError unless every value is in the range of the mechanism that will randomize it."""
        for phase in self.phases:
            values = inputs.private[:, phase.columns]
            low, high = phase.mechanism.value_range
            if values.shape[1] != phase.num_values:
                raise ValueError(f"phase {phase.name!r} needs columns {phase.columns}, the rows have {values.shape[1]}")
            if values.size and (np.any(values < low) or np.any(values > high)):
                raise ValueError(f"phase {phase.name!r} takes values in [{low}, {high}]")


class OnePhaseProtocol(PhasedProtocol[ParametersT, OutcomeT], Generic[ParametersT, OutcomeT, PhaseT]):
    """A protocol with one phase, whose type is known."""

    @abc.abstractmethod
    def make_phase(self) -> PhaseT:
        """Return the phase that these parameters ask for."""

    @functools.cached_property
    def phase(self) -> PhaseT:
        """The one phase."""
        return self.make_phase()

    def make_phases(self) -> Iterable[Phase]:
        """Return the one phase."""
        return (self.phase,)
