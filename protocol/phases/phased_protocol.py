"""A whole protocol: its parameters, its phases, the table that its users fill in, and what is released at the end.

What users write and read, a table's entries and an outcome, is turned into rows and out of tallies here, and nowhere
else. Each method says who runs it.
"""

import abc
import functools
import hashlib
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar, cast

import msgspec
import numpy as np

from ..arrays import IntArray, select_distinct
from ..columns import Column, Entries, check_columns
from ..errors import ConfigurationError, refuse, require
from ..guard import Guarded, Values
from ..memoized_reports import Scope
from ..messages import MAX_CHOSEN, PayloadDecoder, encode_payload
from ..privacy import PrivacyLoss, TrustModel
from ..shown import exact_line
from ..tally import Decisions, Tally, TallyBlock
from .masked_phase import MaskedPhase
from .named_functions import NamedFunctions, ParametersT
from .phase import Inputs, Phase, Step

Truth: TypeAlias = Mapping[str, float] | Mapping[str, str] | Mapping[str, float | str]
"""The true values of an outcome's estimates, by name: numbers, labels, or both."""

_MOST_ROWS_HELD: Final = 1 << 10
_MOST_TABLES_HELD: Final = 16
_MOST_COMPARED: Final = 256  # rows of a table, in the time that drawing some thousand takes
_COMPARED_AT_ONCE: Final = 64

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)
PhaseT = TypeVar("PhaseT", bound=Phase)


class PhasedProtocol(NamedFunctions[ParametersT], abc.ABC, Generic[ParametersT, OutcomeT]):
    """A private collective decision: parameters, phases, and what is released at the end.

    Instances are immutable and may be shared by any number of machines. Where a method takes `public`, that is a
    party's public row, as the server has it, or the rows of many, shape (n, public columns).

    Args:
        parameters: public; both sides must hold equal ones, and a client checks that before it draws anything.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",)))
        >>> [phase.name for phase in vote.phases], [column.name for column in vote.columns()]
        (['weights', 'opinions'], ['weight', 'tea'])
    """

    name: ClassVar[str]
    """The protocol's name on the wire, in scenarios and in entry points."""
    client_role: ClassVar[str] = "voter"
    server_role: ClassVar[str] = "aggregator"
    parameters_type: ClassVar[type[msgspec.Struct]]
    outcome_type: ClassVar[type[msgspec.Struct]]
    own_outcome_type: ClassVar[type[msgspec.Struct] | None] = None
    """The type of the release's part for a single client; None if everybody gets the same."""
    completes_from: ClassVar[frozenset[str]] = frozenset()
    """Private columns that `complete` looks at: what it makes of them is public, and no ε bounds what that tells."""
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = ()
    """The settings for each model of trust, if a protocol has several, where the parameters do not say."""
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({exact_line(self.parameters)})"

    @functools.cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases, in order; at least one."""
        made = cast("object", self.make_phases())
        made_phases = list(cast("Iterable[object]", made)) if isinstance(made, Iterable) else [made]
        phases = tuple(phase for phase in made_phases if isinstance(phase, Phase))
        if len(phases) < len(made_phases) or not isinstance(made, Iterable):
            value = [type(phase).__name__ for phase in made_phases]
            field, allowed = f"make_phases() of protocol {self.name!r}", "Phases, yielded or in a tuple"
            raise ConfigurationError(field=field, value=value, allowed=allowed)
        names = [phase.name for phase in phases]
        are_named = phases and len(set(names)) == len(phases)
        require(are_named, "phases", names, "at least one, with distinct names")
        for phase, following in itertools.pairwise(phases):
            allowed = f"before {phase.name!r}: that phase hides who reports, so no later phase may show it"
            is_hidden = following.hides_participation or not phase.hides_participation
            require(is_hidden, "phases", following.name, allowed)
        masked = next((phase.name for phase in phases if isinstance(phase, MaskedPhase)), "")
        allowed = f"left out beside {masked!r}: a masked phase is its protocol's only one"
        refuse(masked and len(phases) > 1, "phases", names, allowed)
        return phases

    @functools.cached_property
    def masked_phase(self) -> MaskedPhase | None:
        """The one phase of a protocol in the distributed model; None in any other."""
        (first, *_) = self.phases
        return first if isinstance(first, MaskedPhase) else None

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all phases, in order; messages, records and rules count these."""
        return tuple(step for phase in self.phases for step in phase.steps)

    @functools.cached_property
    def num_public_steps(self) -> int:
        """How many questions everybody is asked: those of a dispute are for some, if there is one at all."""
        return sum(not step.is_in_dispute for step in self.steps)

    @functools.cached_property
    def kept_scopes(self) -> Mapping[str, Scope | None]:
        """The scope of each phase's memoized reports, by the phase's name; None for a phase without any."""
        return {phase.name: phase.memo_scope for phase in self.phases}

    @functools.cached_property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        """The greatest losses of a whole session for one person, phase by phase."""
        return tuple(loss for phase in self.phases for loss in phase.losses)

    def losses_of(self, public: Sequence[int]) -> tuple[PrivacyLoss, ...]:
        """Return the losses of a whole session for the person with this public row, phase by phase."""
        return tuple(loss for phase in self.phases for loss in phase.losses_of(public))

    @functools.cached_property
    def hides_participation(self) -> bool:
        """Whether it is private, in some phase, who takes part.

        Such a phase has no quorum, closes at its deadline alone, and leaves a tally without the number of reports.
        """
        return any(phase.hides_participation for phase in self.phases)

    def check_losses(self, public: Sequence[int], *private: Sequence[int]) -> None:
        """Run by a client before it reserves: see `guard.Guarded.check_losses` and `check_rows`, phase by phase.

        Where one process runs many parties, the same public row is checked once for all of them.

        Args:
            private: rows of persons with this public row, such as the client's own.

        Raises:
            ConfigurationError: a phase states less than it draws for this public row, or for one of these rows.
        """
        row = tuple(public)
        if row not in self._rows_held:
            for phase in self.phases:
                phase.check_losses(row)
            if len(self._rows_held) < _MOST_ROWS_HELD:
                self._rows_held.add(row)
        if not private or not self.compared_phases or (key := (row, *map(tuple, private))) in self._rows_held:
            return
        rows = np.array(private, dtype=np.int64)
        for number in self.compared_phases:
            phase = self.phases[number]
            phase.check_rows(rows[:, phase.columns], row, earlier=self.phases[:number])
        if len(self._rows_held) < _MOST_ROWS_HELD:
            self._rows_held.add(key)

    def retained_reports(self, reports: Sequence[IntArray]) -> list[IntArray]:
        """Return the earlier reports that a phase's tally gets: `guard.Guarded.retained_reports`."""
        return [phase.retained_reports(rows) for phase, rows in zip(self.phases, reports, strict=False)]

    @functools.cached_property
    def _rows_held(self) -> set[tuple[int | tuple[int, ...], ...]]:
        """The public rows, with private ones, whose losses were found to be stated high enough."""
        return set()

    def values_of(self, public: Sequence[int]) -> Sequence[Values]:
        """Return the values that a person may hold, phase by phase: see `guard.Guarded.values_of`; cached by row."""
        row = tuple(public)
        values = self._values_held.get(row)
        if values is None:
            values = [phase.values_of(row) for phase in self.phases]
            if len(self._values_held) < _MOST_ROWS_HELD:
                self._values_held[row] = values
        return values

    @functools.cached_property
    def _values_held(self) -> dict[tuple[int, ...], Sequence[Values]]:
        """The cache of `values_of`, by public row."""
        return {}

    def check_loss_groups(self, public: IntArray) -> None:
        """Run by the maker of a session, before anything is charged: refuse losses of any row that are stated too low.

        Raises:
            ConfigurationError: a phase states less than it draws for one of them.
        """
        table = (public.shape, public.tobytes()) if len(public) <= _MOST_ROWS_HELD else None
        if not len(public) or table in self._tables_held:
            return
        for number, phase in enumerate(self.phases):
            phase.check_loss_groups(public, earlier=self.phases[:number])
        if table is not None and len(self._tables_held) < _MOST_TABLES_HELD:
            self._tables_held.add(table)

    @functools.cached_property
    def _tables_held(self) -> set[tuple[tuple[int, ...], bytes]]:
        """The public rows of all parties, of some sessions, whose losses were found to be stated high enough."""
        return set()

    def check_rows(self, inputs: Inputs) -> None:
        """Run before arrays are drawn: hold private rows against `rows_of` and `num_parts`, as clients do theirs.

        All that differ, with their public rows, where these are 256 at most; else as many at most, spread by their
        sizes, the innermost and the outermost among them.

        Raises:
            ConfigurationError: one is told from others by more than is stated. It is not shown.
        """
        width = inputs.public.shape[1]
        for number in self.compared_phases:
            phase = self.phases[number]
            table = np.concatenate([inputs.public, inputs.private[:, phase.columns]], axis=1)
            table = select_distinct(table, most=_MOST_COMPARED, sized_by=slice(width, None))
            key = phase.name, table.tobytes()
            if key in self._checked_tables:
                continue
            of_public: dict[tuple[int, ...], list[list[int]]] = {}
            for row in table.tolist():
                of_public.setdefault(tuple(row[:width]), []).append(row[width:])
            for public, rows in of_public.items():
                for start in range(0, len(rows), _COMPARED_AT_ONCE):
                    together = np.array(rows[start : start + _COMPARED_AT_ONCE], dtype=np.int64)
                    phase.check_rows(together, public, earlier=self.phases[:number])
            if len(self._checked_tables) < _MOST_TABLES_HELD:
                self._checked_tables.add(key)

    @functools.cached_property
    def compared_phases(self) -> Sequence[int]:
        """The phases whose rows are compared, by their numbers: others say of no rows that they are nobody's."""
        return [
            number
            for number, phase in enumerate(self.phases)
            if phase.model.bounds_release or type(phase).rows_of is not Guarded.rows_of
        ]

    @functools.cached_property
    def _checked_tables(self) -> set[tuple[str, bytes]]:
        """The tables whose rows `check_rows` has found to be near enough, by phase."""
        return set()

    @functools.cached_property
    def num_chosen(self) -> int:
        """How many integers at the end of a public row each party says itself as it joins: one a column that is chosen.

        Until it has, its row has there what `encode_public` makes without that column.

        Raises:
            ConfigurationError: they are more than a message carries.
        """
        number = sum(column.chosen for column in self.columns())
        require(number <= MAX_CHOSEN, "chosen columns", number, f"at most {MAX_CHOSEN}")
        return number

    @property
    def model(self) -> TrustModel:
        """The model of trust: the weakest of its phases'."""
        return TrustModel.weakest_of(phase.model for phase in self.phases)

    @property
    def trusts_server(self) -> bool:
        """Whether some phase shows the server private values as they are (the central model)."""
        return any(phase.model.trusts_server for phase in self.phases)

    @property
    def keeps_words(self) -> bool:
        """Whether what an exception says is left out of sentences and logs: it may quote a value, or count people."""
        return self.trusts_server or self.hides_participation

    @functools.cached_property
    def encoded_parameters(self) -> msgspec.Raw:
        """The parameters as every `Welcome` carries them; equal parameters have equal bytes."""
        return encode_payload(self.parameters)

    @functools.cached_property
    def terms(self) -> str:
        """A digest of the parameters: what a party that keeps records is held to in a session."""
        return hashlib.sha256(bytes(self.encoded_parameters)).hexdigest()

    @functools.cached_property
    def outcome_decoder(self) -> PayloadDecoder[msgspec.Struct]:
        """Decodes and checks the outcome that a `Release` carries."""
        return PayloadDecoder(self.outcome_type)

    @functools.cached_property
    def own_outcome_decoder(self) -> msgspec.msgpack.Decoder[msgspec.Struct | None]:
        """Decodes and checks what a `Release` carries for one client alone."""
        outcome_type = self.own_outcome_type
        return msgspec.msgpack.Decoder(type(None) if outcome_type is None else outcome_type | None)

    @abc.abstractmethod
    def make_phases(self) -> Iterable[Phase]:
        """Return the phases that these parameters ask for."""

    @classmethod
    def complete(cls, fields: Mapping[str, Any], table: Mapping[str, Entries]) -> dict[str, Any]:
        """Return the parameters as given, with those filled in that follow from the table's public part.

        Args:
            fields: parameters by name, before they are checked.
            table: the parties' entries by column, before they are checked. A session is refused if a private one was
                looked at that `completes_from` does not name.
        """
        return dict(fields)

    @abc.abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the table from which `encode` makes rows, beside each party's name."""

    def possible_entries(self) -> Mapping[str, Entries] | None:
        """Return a table of a party's possible entries, as `encode` takes it, for attacks and audits.

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

        Examples:
            >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
            >>> vote = DPWeVote(Parameters(candidates=("tea",)))
            >>> vote.encode({"weight": [1, 3], "tea": ["yes", "no"]}).private.tolist()
            [[0, 1, 0], [2, 0, 2]]
        """

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Run by a server that serves parties elsewhere: return their public rows, from the public columns alone.

        A protocol with public columns overrides this. Columns that are chosen are missing, and their places then have
        any row that is allowed: the dearest, since losses are told by these rows until parties come.

        Raises:
            ConfigurationError: an entry is not allowed, or the protocol has public columns and does not say how.
        """
        allowed = "one that encodes its public columns by themselves (encode_public)"
        require(all(column.private for column in self.columns()), "protocol", self.name, allowed)
        return np.empty((num_parties, 0), dtype=np.int64)

    def place_rows(self, public: IntArray, *, start: int) -> IntArray:
        """Return public rows with places from `start` on, for parties whose table was encoded by itself.

        Override this if public rows hold places; else a population in batches would have the same places twice.
        """
        return public

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        """Run by a client, before it says anything: return what it chooses, the end of its public row.

        A protocol with columns that are chosen overrides this. What a party chooses is public, and no ε bounds what the
        choice itself tells of its private values.

        Args:
            entries: of the chosen columns alone, by column.

        Raises:
            ConfigurationError: an entry is missing or not allowed, or the protocol has such columns and does not say
                how.
        """
        allowed = "one that encodes the columns that a party chooses (encode_chosen)"
        require(not self.num_chosen, "protocol", self.name, allowed)
        return ()

    def write_public(self, public: IntArray) -> Mapping[str, Sequence[str]]:
        """Return those public columns as a file holds them whose entries `encode_public` also takes as codes."""
        return {}

    def check_columns(self, names: Iterable[str]) -> None:
        """Run by whoever has a table, before it is encoded: raise ConfigurationError for a missing or unknown column.

        A protocol that can do without one of its columns overrides this.
        """
        check_columns(self.columns(), names)

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Run by a client: return its private row.

        Args:
            entries: its own, by column; public ones may be missing where the protocol can do without.

        Raises:
            ConfigurationError: an entry is missing or not allowed, or a public one is not what the server has.
        """
        self.check_columns(entries)
        (row,) = self.encode({name: [entry] for name, entry in entries.items()}).private.tolist()
        return tuple(row)

    def write_counted(self, row: Sequence[int], public: Sequence[int]) -> Mapping[str, str]:
        """Run by a client, for its own eyes: return by column what counts in place of entries that were rounded."""
        del row, public
        return {}

    def check_public(self, public: Sequence[int]) -> None:
        """Run by a client, before anything else is made of it: raise ConfigurationError if no table can have this row.

        A protocol with public columns overrides this. The server is told the message.
        """
        del public

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Run by a client, before it draws anything: raise ValueError if a public row does not fit its private one.

        A protocol overrides this if what a public row says decides what a client pays or sends. `check_public` has
        passed. The server learns that they do not fit, and not the message.
        """
        del row, public

    def check_fit(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Run by a client as it is welcomed: `check_public`, `check_row`, and whether each value may be held.

        Else its loss would be of other values. Where one process runs many parties, the same rows are checked once.

        Raises:
            ConfigurationError: no table can have this public row.
            ValueError: it does not fit the private row; the message is the party's own.
        """
        key = tuple(public), tuple(row)
        if key in self._fits_held:
            return
        self.check_public(public)
        self.check_row(row, public)
        for phase, values in zip(self.phases, self.values_of(public), strict=True):
            phase_values = row[phase.columns]
            if len(phase_values) != len(values) or not all(map(operator.contains, values, phase_values)):
                raise ValueError("a value is outside what the public row allows")
        if len(self._fits_held) < _MOST_ROWS_HELD:
            self._fits_held.add(key)

    @functools.cached_property
    def _fits_held(self) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The public rows, with private ones, that were found to fit."""
        return set()

    def check_roster(self, public: IntArray) -> None:
        """Run by the maker of a session: raise ConfigurationError if the parameters cannot serve these parties.

        A protocol that overrides this and has a masked phase calls this one, too: T and c have to fit so many.
        """
        if self.masked_phase is not None:
            self.masked_phase.check_parties(len(public))

    def numbers_to_check(self, public: IntArray) -> IntArray:
        """Return the part of public rows that `check_numbers` checks, shape (n, any); batches keep this alone.

        A protocol overrides this together with that, where most of its public rows are one party's.
        """
        return public

    def check_numbers(self, rows: IntArray, numbers: IntArray) -> None:
        """Check a roster of parties who come in batches, so many of each of these distinct rows of `numbers_to_check`.

        A protocol with public columns overrides this where it checks a roster and may have more parties than fit into
        memory: by default their rows are made.
        """
        if type(self).check_roster is not PhasedProtocol.check_roster:  # pyright: ignore[reportUnknownMemberType]  of any parameters
            self.check_roster(np.repeat(rows, numbers, axis=0))
        elif self.masked_phase is not None:
            self.masked_phase.check_parties(int(numbers.sum()))

    @abc.abstractmethod
    def outcome(self, tallies: Sequence[Tally]) -> OutcomeT:
        """Run by the server: the public outcome of the session, from the tallies of all phases.

        It travels in one message, and must fit into `messages.MAX_MESSAGE_BYTES`.

        A pure function of integers: everybody who holds the tallies computes the same bits.
        """

    def decisions(self, tallies: Sequence[TallyBlock]) -> Decisions:
        """Run where many sessions are tried: what they decide, without statements, from the tallies of all phases.

        A protocol that overrides this makes its `outcome` of it. It is not asked where `outcome` is a subclass's, and
        sessions are held one by one where a protocol does not override it.
        """
        raise NotImplementedError(f"{type(self).__name__} decides session by session")

    def largest_outcome(self, num_parties: int) -> OutcomeT | None:
        """Return an outcome that takes as many bytes as any; None where that is never near a message's limit.

        A server refuses to begin a session whose release would not fit into a message.
        """
        return None

    def own_outcomes(self, tallies: Sequence[Tally]) -> Mapping[int, msgspec.Struct]:
        """Run by the server: what the release tells single clients, by their places; nothing unless overridden."""
        return {}

    def truth(self, inputs: Inputs) -> Truth | None:
        """Return the true values of the outcome's estimates, for simulations; None if not offered."""
        return None

    def check_inputs(self, inputs: Inputs) -> None:
        """Raise ValueError unless every value is in the range of the mechanism that will randomize it."""
        for phase in self.phases:
            values = inputs.private[:, phase.columns]
            if values.shape[1] != phase.num_values:
                raise ValueError(f"phase {phase.name!r} needs columns {phase.columns}, the rows have {values.shape[1]}")
            phase.check_values(values)


class OnePhaseProtocol(PhasedProtocol[ParametersT, OutcomeT], Generic[ParametersT, OutcomeT, PhaseT]):
    """A protocol with one phase, whose type is known.

    Examples:
        >>> from psephos.protocol.fair_voting import FairVoting, Parameters
        >>> voting = FairVoting(Parameters(alternatives=("a", "b"), groups=("g", "h"), group_sizes=(3, 3)))
        >>> voting.phase.name
        'rankings'
    """

    @abc.abstractmethod
    def make_phase(self) -> PhaseT:
        """Return the phase that these parameters ask for."""

    @functools.cached_property
    def phase(self) -> PhaseT:
        """The one phase."""
        return self.make_phase()

    def make_phases(self) -> Iterable[Phase]:
        return (self.phase,)
