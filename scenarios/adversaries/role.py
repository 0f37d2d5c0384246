"""The base class of adversaries: who deviates and how, what is observed, and the report in the end.

A scenario names adversaries as tables,

    [[adversary]]
    role = "coalition"
    members = ["server", "partner-2..27"]
    target = "partner-1"

and each table becomes a `Role`, whose fields are the table's other keys. A new role is one module with a subclass,
registered under the entry point group `psephos.adversaries`. A role infers only from its `SessionTrace`: its members'
views, traffic, and what was published. It may use the context's inputs only for a member's deviation with its own
values, and to score the inference in the end. Most runs have no adversary, so attacks are imported late.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import msgspec

from ...agents.adversaries import SERVER, Attempt, Deviation
from ...protocol.errors import ConfigurationError, PsephosError, did_you_mean, refuse, require
from ...protocol.masking import MaskingMove
from ...protocol.messages import Hello
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.privacy import Budget, LedgerEntry
from ...protocol.randomness import SimulatedNoise
from ...protocol.shown import Shown
from ...protocol.tally import Tally
from ...protocol.views import View
from ...transports.tap import Traffic

if TYPE_CHECKING:
    from ..attacks import Attack, Coalition, CoalitionView

Row: TypeAlias = Mapping[str, str | int | float]
"""A row of a report's table; all rows of a table have the same keys."""


@dataclasses.dataclass(frozen=True, eq=False)
class AttackContext:
    """The session that an adversary attacks: protocol, roster, inputs and noise.

    Args:
        protocol: the protocol with its parameters.
        names: the roster's n party names, in order.
        inputs: all parties' private and public rows.
        seed: the seed of the simulated noise.
        budget: each party's budget; None for no limit.
        may_show_truth: whether a report may show a single party's value, because the participants are synthetic or
            their values public.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), public_weights=True, epsilon=1.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> context = AttackContext(vote, ["ann", "bob", "eve"], inputs, session="vote", seed=7)
        >>> context.place_of("bob", field="target"), context.coalition(["server", "eve"]).members
        (1, (2,))
    """

    protocol: PhasedProtocol[Any, Any]
    names: Sequence[str]
    inputs: Inputs
    session: str
    round_number: int = 0
    seed: int = 0
    budget: Budget | None = None
    may_show_truth: bool = True

    def noise(self, *, rerun: int = 0) -> SimulatedNoise:
        """Return the noise of the session, or of a later vote of the same parties, `votes` after it."""
        return SimulatedNoise(self.seed, session=self.session, round_number=self.round_number + rerun)

    def budget_of(self, epsilon: float | None) -> Budget | None:
        """Return a budget with this ε; the context's budget if ε is None."""
        if epsilon is None:
            return self.budget
        return msgspec.structs.replace(self.budget or Budget(epsilon=epsilon), epsilon=epsilon)

    def place_of(self, name: str, *, field: str) -> int:
        """Return a party's index in the roster; ConfigurationError if there is no such party."""
        try:
            return self.names.index(name)
        except ValueError:
            role = self.protocol.client_role
            hint = did_you_mean(name, self.names)
            allowed = f"a {role} of the roster, such as {self.names[0]!r}{hint}"
            raise ConfigurationError(field=field, value=name, allowed=allowed) from None

    def count_parties(self, number: int) -> str:
        """Return a number of parties in words, such as "3 voters"."""
        return f"{number:,} {self.protocol.client_role}{'s' if number > 1 else ''}"

    def place_of_target(self, name: str, coalition: "Coalition", *, knows: str = "") -> int:
        """Return the index of a coalition's target; a member is no target, since it knows its own secret.

        Raises:
            ConfigurationError: there is no such party, or it is a member; `knows` is the message's reason why a member
                is no target.
        """
        place = self.place_of(name, field="target")
        allowed = f"no member of the coalition{knows and f': it knows {knows}'}"
        refuse(place in coalition.members, "target", name, allowed)
        return place

    def coalition(self, members: Sequence[str], *, field: str = "members") -> "Coalition":
        """Return the coalition of these parties and the server, if named; ConfigurationError for unknown names."""
        from ..attacks import Coalition

        places = [self.place_of(name, field=field) for name in members if name != SERVER]
        if len(set(members)) < len(members):
            repeated_name = next(name for name in members if list(members).count(name) > 1)
            raise ConfigurationError(field=field, value=repeated_name, allowed="named once")
        return Coalition(tuple(sorted(places)), SERVER in members)


def _ignore_progress(done: int, total: int) -> None:
    """Ignore a role's progress."""
    del done, total


@dataclasses.dataclass(frozen=True, eq=False)
class SessionTrace:
    """What a session produced: views, traffic, tallies, outcome and ledger.

    Args:
        views: the agents' views; empty if the session ran without agents.
        traffic: what a network observer recorded.
        tallies: one for each phase; empty if the session did not complete.
        outcome: the released outcome; None if nothing was released.
        entries: the ledger's entries.
        endings: maps each party that did not receive the outcome to the reason.
        failure: why the session failed; None if it completed.
        attempts: the results of the connections that `Role.strangers` asked for.
        on_step: called by a slow role with the numbers of completed and of all steps.

    Examples:
        >>> SessionTrace().outcome is None
        True
    """

    views: Sequence[View] = ()
    traffic: Sequence[Traffic] = ()
    tallies: Sequence[Tally] = ()
    outcome: msgspec.Struct | None = None
    entries: Sequence[LedgerEntry] = ()
    endings: Mapping[str, PsephosError] = dataclasses.field(default_factory=dict[str, PsephosError])
    failure: PsephosError | None = None
    attempts: Sequence[Attempt] = ()
    on_step: Callable[[int, int], None] = _ignore_progress

    def seen(self, context: AttackContext, coalition: "Coalition") -> "CoalitionView":
        """Return a coalition's view of the session: from recorded views, or from the array path if there are none."""
        from ..attacks import view_by_agents, view_by_arrays, with_shares

        if not self.views:
            return view_by_arrays(context.protocol, context.inputs, noise=context.noise(), coalition=coalition)
        view = view_by_agents(
            context.protocol,
            self.views,
            names=context.names,
            public=context.inputs.public,
            coalition=coalition,
            tallies=self.tallies,
        )
        if context.protocol.masked_phase is None:
            return view
        return with_shares(view, context.inputs, noise=context.noise(), views=self.views)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SeriesVote:
    """One vote of a series, for an adversary that attacks the whole series.

    Args:
        number: the vote's number, counted from 1.
        members: the adversary's members who took part in this vote.
        context: the vote's session.
        trace: what the session produced.
        paid: each party's proven ε in this vote, for replace-one neighbors.
        repeated: for each phase, the parties whose reports repeat an earlier vote's.
    """

    number: int
    members: Sequence[str]
    context: AttackContext
    trace: SessionTrace
    paid: Mapping[str, float]
    repeated: Mapping[str, Collection[str]]


def check_at_least(field: str, value: float, minimum: float) -> None:
    """Raise ConfigurationError if a table's number is less than the minimum.

    Examples:
        >>> check_at_least("votes", 2, 1)
    """
    require(value >= minimum, field, value, f"at least {minimum}")


def check_between(field: str, value: float, minimum: float, maximum: float) -> None:
    """Raise ConfigurationError if a table's number is out of range, whose ends are allowed.

    Examples:
        >>> check_between("votes", 2, 1, 50)
    """
    require(minimum <= value <= maximum, field, value, f"in [{minimum}, {maximum}]")


def find_masked_step(context: AttackContext, move: MaskingMove) -> int:
    """Return the number of a step of the masked phase; ConfigurationError if no phase is masked."""
    step_numbers = [number for number, step in enumerate(context.protocol.steps) if step.move is move]
    require(
        step_numbers, "role", "of a masked session", f"another: protocol {context.protocol.name!r} masks nothing here"
    )
    return step_numbers[0]


class AttackReport(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What an adversary learned or broke, in sentences and a table.

    Args:
        role: the role's registered name.
        who: the adversary's parties, as a phrase.
        trust: the trust statement: the parties that it must be or corrupt, and what it may do.
        sentences: its results.
        rows: the table's rows; empty for no table.
        refutes_ledger: whether an exact posterior exceeds a bound that the ledger calls proven.

    Examples:
        >>> found = AttackReport(role="coalition", who="ann", trust="semi-honest", sentences=("It learns nothing.",))
        >>> found.refutes_ledger
        False
    """

    role: str
    who: str
    trust: str
    sentences: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    refutes_ledger: bool = False


class Role(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One adversary of a scenario; a subclass's fields are the keys that its table may have.

    Args:
        members: names of the parties that it controls or observes; "server" is the server.

    Examples:
        >>> class Watcher(Role, frozen=True, kw_only=True):
        ...     name = "watcher"
        >>> Watcher(members=("ann",)).needs_agents
        False
    """

    members: tuple[str, ...] = ()

    name: ClassVar[str] = ""
    """The name under which the role is registered."""
    needs_agents: ClassVar[bool] = False
    """Whether it needs agents; always true if it deviates, brings strangers or watches the network."""
    protocols: ClassVar[frozenset[str]] = frozenset()
    """Names of the protocols that it applies to; empty for all."""
    refused_if_masked: ClassVar[str] = ""
    """Why it does not apply to sessions of masked sums; empty if it does."""
    watches_traffic: ClassVar[bool] = False
    """Whether it observes the network between clients and server."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Set `needs_agents` for roles that have no effect without agents."""
        super().__init_subclass__(**given)
        acts = cls.deviations is not Role.deviations or cls.strangers is not Role.strangers
        cls.needs_agents = cls.needs_agents or acts or cls.watches_traffic

    def check(self, context: AttackContext) -> None:
        """Raise ConfigurationError unless the role applies to this context; called before the session runs."""
        context.coalition(self.members)

    def takes_part(self, absent_names: Collection[str]) -> bool:
        """Return whether it takes part in a vote of a series: its target and at least one member are present."""
        is_somebody_there = not self.members or any(name not in absent_names for name in self.members)
        return is_somebody_there and getattr(self, "target", "") not in absent_names

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return its members' deviations from the protocol, by name; by default none."""
        del context
        return {}

    def strangers(self, context: AttackContext) -> Sequence[Hello]:
        """Return the Hellos of connections from outside the session; by default none."""
        del context
        return ()

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return what it learned or changed; called after the session has ended, also after a failure."""
        raise NotImplementedError

    def learn_over(self, votes: Sequence[SeriesVote]) -> AttackReport | None:
        """Return what it learned from all votes of a series together; by default None.

        There is at least one vote, in order; all completed. The target may be absent from some.
        """
        del votes
        return None

    def attack_report(self, who: str, trust: str, sentences: Iterable[str], rows: Iterable[Row] = ()) -> AttackReport:
        """Return the role's report. See `AttackReport`."""
        return AttackReport(role=self.name, who=who, trust=trust, sentences=tuple(sentences), rows=tuple(rows))

    def check_parties_alone(
        self, context: AttackContext, *, allowed: str = "parties that report, at least one"
    ) -> None:
        """Raise ConfigurationError unless there are members, and all are parties of the roster, not the server."""
        context.coalition(self.members)
        value = SERVER if SERVER in self.members else "nobody"
        refuse(not self.members or SERVER in self.members, "members", value, allowed)

    def check_server_alone(self) -> None:
        """Raise ConfigurationError if there are members other than the server."""
        refuse(set(self.members) - {SERVER}, "members", list(self.members)[:3], "'server', or left out")

    def check_left_out(self, *, allowed: str) -> None:
        """Raise ConfigurationError if there are members, since this role has none."""
        refuse(self.members, "members", list(self.members)[:3], f"left out: {allowed}")


class InferringRole(Role, frozen=True, kw_only=True):
    """An adversary that infers a secret of parties, with the attack on their protocol.

    Args:
        secret: the secret that it infers; by default the first of the protocol's attack.

    Examples:
        >>> InferringRole(secret="weight").takes_part({"bob"})
        True
    """

    secret: str = ""

    def attack(self, context: AttackContext) -> "tuple[Attack, str]":
        """Return the attack on the context's parties, and its secret; ConfigurationError if either does not exist."""
        from ..attacks import find_attack

        attack = find_attack(context.protocol).against(context.inputs)
        secret = self.secret or attack.default_secret
        attack.check_secret(secret)
        return attack, secret
