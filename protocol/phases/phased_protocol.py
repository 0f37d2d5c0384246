"""A whole protocol: its parameters, its phases, the table that its users fill in, and what is released at the end.

A protocol encodes a table's entries as rows of integers, and computes an outcome for users from the tallies. Each
method says which side runs it.
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
"""The true values behind an outcome's estimates, by name: numbers, labels, or both."""

_MOST_ROWS_HELD: Final = 1 << 10
_MOST_TABLES_HELD: Final = 16
_MOST_COMPARED: Final = 256  # rows; comparing them takes as long as drawing some thousand reports
_COMPARED_AT_ONCE: Final = 64

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)
PhaseT = TypeVar("PhaseT", bound=Phase)


class PhasedProtocol(NamedFunctions[ParametersT], abc.ABC, Generic[ParametersT, OutcomeT]):
    """A private collective decision: parameters, phases, and what is released at the end.

    Instances are immutable and may be shared by any number of machines. A method's argument `public` is a party's
    public row, or the public rows of many, shape (n, public columns).

    Args:
        parameters: the public parameters. A client checks that the server's are equal before it draws anything.

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
    """The type of the part of a release for a single client; None if all clients get the same release."""
    completes_from: ClassVar[frozenset[str]] = frozenset()
    """The private columns that `complete` reads. What it derives from them is public, and no ε bounds its leakage."""
    settings_by_trust: ClassVar[Sequence[tuple[TrustModel, Mapping[str, Any]]]] = ()
    """Each trust model of the protocol, with its default settings; empty unless there are several."""
    computes_twice: ClassVar[bool] = True
    """Whether a session computes its outcome twice, and fails if the results differ.

    False if this takes long; then tests check that the outcome is deterministic.
    """

    def __init__(self, parameters: ParametersT) -> None:
        # Equal parameters must have equal bytes, so 1 becomes 1.0 and a list a tuple where the type says so.
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
        """Whether participation is private in some phase.

        Such a phase has no quorum, closes only at its deadline, and its tally does not contain the number of reports.
        """
        return any(phase.hides_participation for phase in self.phases)

    def check_losses(self, public: Sequence[int], *private: Sequence[int]) -> None:
        """Run `guard.Guarded.check_losses` and `check_rows` of each phase, before a client reserves budget.

        If one process runs many parties, it checks each public row once.

        Args:
            public: the party's public row.
            private: private rows of persons with this public row, such as the client's.

        Raises:
            ConfigurationError: a phase states a smaller loss than it draws for this public row, or for one of the
                private rows.
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
        """Refuse a protocol that states too small a loss for some public row; run before anything is charged.

        Raises:
            ConfigurationError: a phase states a smaller loss than it draws for one of the rows.
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
        """Check private rows against `rows_of` and `num_parts`, as clients do; run before arrays are drawn.

        Up to 256 distinct pairs of private and public row, all are checked. Of more pairs, at most 256 are checked:
        some of all sizes, the smallest and the largest included.

        Raises:
            ConfigurationError: a row's loss exceeds the stated one. The message does not show the row.
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
        """The number of integers at the end of a public row that each party chooses as it joins, one for each column.

        Until a party joins, its row ends with the integers that `encode_public` returns without these columns.

        Raises:
            ConfigurationError: there are more than a message carries.
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
        """Return the parameters, with those filled in that follow from the public part of the table.

        Args:
            fields: parameters by name, not checked yet.
            table: the parties' entries by column, not checked yet. A session is refused if this method reads a private
                column that `completes_from` does not name.
        """
        return dict(fields)

    @abc.abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of the table from which `encode` makes rows, beside each party's name."""

    def possible_entries(self) -> Mapping[str, Entries] | None:
        """Return a table of a party's possible entries, as `encode` accepts it, for attacks and audits.

        Each line is one possibility. The adversary's prior is uniform over the lines. Any party may have any of these
        private rows. None, the default, stands for all rows that the mechanisms accept, if these are few.
        """
        return None

    @abc.abstractmethod
    def encode(self, table: Mapping[str, Entries]) -> Inputs:
        """Check a table and turn it into rows.

        Args:
            table: for each of `columns`, the parties' entries in roster order (text, as in a file, or numbers).

        Raises:
            ConfigurationError: an entry is not allowed; `field` names the column, and the row from 1.

        Examples:
            >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
            >>> vote = DPWeVote(Parameters(candidates=("tea",)))
            >>> vote.encode({"weight": [1, 3], "tea": ["yes", "no"]}).private.tolist()
            [[0, 1, 0], [2, 0, 2]]
        """

    def encode_public(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Return the public rows of parties from the public columns alone; a server of remote parties runs this.

        A protocol with public columns overrides this. The table lacks the columns that parties choose. In their place
        the rows hold the allowed values with the greatest losses, since losses are stated by these rows until the
        parties join.

        Raises:
            ConfigurationError: an entry is not allowed, or the protocol has public columns and does not override this.
        """
        allowed = "one that encodes its public columns by themselves (encode_public)"
        require(all(column.private for column in self.columns()), "protocol", self.name, allowed)
        return np.empty((num_parties, 0), dtype=np.int64)

    def place_rows(self, public: IntArray, *, start: int) -> IntArray:
        """Return the public rows of a batch whose first party has the roster index `start`.

        Override this if public rows contain roster indices; else each batch of a population would begin at 0.
        """
        return public

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the end of a public row that the party chooses; a client runs this before it sends anything.

        A protocol with columns that parties choose overrides this. A choice is public, and no ε bounds what it reveals
        about the private values.

        Args:
            entries: the entries of the chosen columns only, by column.

        Raises:
            ConfigurationError: an entry is missing or not allowed, or the protocol has such columns and does not
                override this.
        """
        allowed = "one that encodes the columns that a party chooses (encode_chosen)"
        require(not self.num_chosen, "protocol", self.name, allowed)
        return ()

    def write_public(self, public: IntArray) -> Mapping[str, Sequence[str]]:
        """Return those public columns as a file holds them whose entries `encode_public` also takes as codes."""
        return {}

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise ConfigurationError for a missing or unknown column; run before a table is encoded.

        A protocol with an optional column overrides this.
        """
        check_columns(self.columns(), names)

    def encode_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> tuple[int, ...]:
        """Return a party's private row; a client runs this.

        Args:
            entries: the party's entries, by column; public ones may be missing if the protocol does not need them.
            public: the party's public row, as the server has it.

        Raises:
            ConfigurationError: an entry is missing or not allowed, or a public entry differs from the server's.
        """
        self.check_columns(entries)
        (row,) = self.encode({name: [entry] for name, entry in entries.items()}).private.tolist()
        return tuple(row)

    def write_counted(self, row: Sequence[int], public: Sequence[int]) -> Mapping[str, str]:
        """Run by a client, for its own eyes: return by column what counts in place of entries that were rounded."""
        del row, public
        return {}

    def check_public(self, public: Sequence[int]) -> None:
        """Raise ConfigurationError if no table encodes to this public row; a client runs this first.

        A protocol with public columns overrides this. The error's message is sent to the server.
        """
        del public

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Raise ValueError if a public row does not fit the private row; a client runs this before it draws anything.

        A protocol overrides this if a public row determines what a client pays or sends. `check_public` runs before.
        The server learns only that the rows do not fit, not the error's message.
        """
        del row, public

    def check_fit(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Run `check_public` and `check_row`, and check that each private value is allowed; a client runs this first.

        The stated loss holds only for allowed values. If one process runs many parties, it checks the same rows once.

        Raises:
            ConfigurationError: no table encodes to this public row.
            ValueError: it does not fit the private row. The message is for the party alone.
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
        """Raise ConfigurationError if the parameters cannot serve these parties; run before a session begins.

        An override in a protocol with a masked phase must call this method, which checks T and c against the number of
        parties.
        """
        if self.masked_phase is not None:
            self.masked_phase.check_parties(len(public))

    def numbers_to_check(self, public: IntArray) -> IntArray:
        """Return the part of public rows that `check_numbers` checks, shape (n, any).

        Of batches only this part is kept. A protocol overrides both methods if most of its public rows belong to one
        party each.
        """
        return public

    def check_numbers(self, rows: IntArray, numbers: IntArray) -> None:
        """Check a roster of parties who come in batches.

        A protocol with public columns overrides this if it checks a roster and may have more parties than fit into
        memory. By default all rows are materialized.

        Args:
            rows: the distinct rows of `numbers_to_check`.
            numbers: the number of parties with each row.
        """
        if type(self).check_roster is not PhasedProtocol.check_roster:  # pyright: ignore[reportUnknownMemberType]  of any parameters
            self.check_roster(np.repeat(rows, numbers, axis=0))
        elif self.masked_phase is not None:
            self.masked_phase.check_parties(int(numbers.sum()))

    @abc.abstractmethod
    def outcome(self, tallies: Sequence[Tally]) -> OutcomeT:
        """Return the public outcome of the session from the tallies of all phases; the server runs this.

        The outcome must fit into one message (`messages.MAX_MESSAGE_BYTES`). It is a pure function of integers, so that
        anybody with the tallies computes the same bits.
        """

    def decisions(self, tallies: Sequence[TallyBlock]) -> Decisions:
        """Return the decisions of many sessions, without statements, from the tallies of all phases, for trials.

        A protocol that overrides this uses it in its `outcome`. It is ignored if a subclass overrides only `outcome`.
        Without an override, trials compute each session's `outcome`.
        """
        raise NotImplementedError(f"{type(self).__name__} decides session by session")

    def largest_outcome(self, num_parties: int) -> OutcomeT | None:
        """Return an outcome with the most bytes; None if no outcome comes near a message's limit.

        A server refuses to begin a session whose release might not fit into a message.
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
