"""The base class of adversaries: who deviates and how, what is observed, and the report in the end.

A scenario names adversaries as tables,

    [[adversary]]
    role = "coalition"
    members = ["server", "partner-2..27"]
    target = "partner-1"

and each becomes a `Role`: its fields are the table's other keys. A new role is one module with a subclass, registered
under the entry point group `psephos.adversaries`. What a role infers, it infers from `SessionTrace`: views of its
members, traffic, what was published. The context's inputs are there for two things alone: to deviate with a member's
own values, and to say in the end how right the inference was. Most runs have no adversary, so attacks are imported
late.
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
"""A line of a lesson's table; all lines of one have the same keys."""


@dataclasses.dataclass(frozen=True, eq=False)
class AttackContext:
    """What is run, as adversaries find it.

    Args:
        protocol: with its parameters.
        names: the roster.
        inputs: everybody's rows.
        seed: of the simulated noise.
        budget: the most that each party may lose; None for no limit.
        may_show_truth: whether a lesson may hold what a single party's value is, because nobody real stands behind it.

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
        """Return the noise of the session, or of the vote of the same parties that is so many votes later."""
        return SimulatedNoise(self.seed, session=self.session, round_number=self.round_number + rerun)

    def budget_of(self, epsilon: float | None) -> Budget | None:
        """Return the budget of a party that allows this ε instead; the context's own where it is None."""
        if epsilon is None:
            return self.budget
        return msgspec.structs.replace(self.budget or Budget(epsilon=epsilon), epsilon=epsilon)

    def place_of(self, name: str, *, field: str) -> int:
        """Return a party's place in the roster; ConfigurationError where there is no such party."""
        try:
            return self.names.index(name)
        except ValueError:
            role = self.protocol.client_role
            hint = did_you_mean(name, self.names)
            allowed = f"a {role} of the roster, such as {self.names[0]!r}{hint}"
            raise ConfigurationError(field=field, value=name, allowed=allowed) from None

    def count_parties(self, number: int) -> str:
        """Return how many parties, in words: "3 voters"."""
        return f"{number:,} {self.protocol.client_role}{'s' if number > 1 else ''}"

    def place_of_target(self, name: str, coalition: "Coalition", *, knows: str = "") -> int:
        """Return the place of somebody of whom a coalition infers what its members know of themselves.

        Raises:
            ConfigurationError: there is no such party, or it is a member; `knows` says why that is no target.
        """
        place = self.place_of(name, field="target")
        allowed = f"no member of the coalition{knows and f': it knows {knows}'}"
        refuse(place in coalition.members, "target", name, allowed)
        return place

    def coalition(self, members: Sequence[str], *, field: str = "members") -> "Coalition":
        """Return the coalition of these parties, of which one may be the server; ConfigurationError for others."""
        from ..attacks import Coalition

        places = [self.place_of(name, field=field) for name in members if name != SERVER]
        if len(set(members)) < len(members):
            repeated_name = next(name for name in members if list(members).count(name) > 1)
            raise ConfigurationError(field=field, value=repeated_name, allowed="named once")
        return Coalition(tuple(sorted(places)), SERVER in members)


def _ignore_progress(done: int, total: int) -> None:
    """Tell nobody how far a role has come."""
    del done, total


@dataclasses.dataclass(frozen=True, eq=False)
class SessionTrace:
    """What a run left.

    Args:
        views: what agents saw; empty where there were none.
        traffic: what a network observer saw.
        tallies: each phase's; empty where the session came to no end.
        outcome: what was released; None where nothing was.
        entries: the ledger.
        endings: for each party that did not end with the outcome, why.
        failure: why the session came to no end; None where it did.
        attempts: what came of the connections that `Role.strangers` asked for.
        on_step: told by a role that takes long how many of how many steps it has made.

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
        """Return what a coalition saw of the session: by its views, or by the array path where nobody had any."""
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
    """One vote of a series, as an adversary of the whole series finds it.

    Args:
        number: the vote's, from 1.
        members: the adversary's, of whom was there.
        context: what was run.
        trace: what it left.
        paid: what each party lost in it (ε proven, replace-one neighbors).
        repeated: by phase whose reports are those of an earlier vote.
    """

    number: int
    members: Sequence[str]
    context: AttackContext
    trace: SessionTrace
    paid: Mapping[str, float]
    repeated: Mapping[str, Collection[str]]


def check_at_least(field: str, value: float, minimum: float) -> None:
    """Raise ConfigurationError where a number that a table gives is less.

    Examples:
        >>> check_at_least("votes", 2, 1)
    """
    require(value >= minimum, field, value, f"at least {minimum}")


def check_between(field: str, value: float, minimum: float, maximum: float) -> None:
    """Raise ConfigurationError where a number that a table gives is out of range.

    Examples:
        >>> check_between("votes", 2, 1, 50)
    """
    require(minimum <= value <= maximum, field, value, f"in [{minimum}, {maximum}]")


def find_masked_step(context: AttackContext, move: MaskingMove) -> int:
    """Return the number of a step of the masked phase; ConfigurationError where no phase is masked."""
    step_numbers = [number for number, step in enumerate(context.protocol.steps) if step.move is move]
    require(
        step_numbers, "role", "of a masked session", f"another: protocol {context.protocol.name!r} masks nothing here"
    )
    return step_numbers[0]


class AttackReport(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What an adversary learnt, or broke, in words and numbers.

    Args:
        role: the adversary's.
        who: who it is, as a phrase.
        trust: whom it has to be, or to corrupt, and what it is allowed: the trust statement.
        sentences: what came of it.
        rows: a table; empty for none.
        refutes_ledger: whether its evidence passes a bound that is said to be proven, and it does not approximate.

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
    """One adversary of a scenario; the fields of a subclass are what its table may say.

    Args:
        members: the parties that it controls or watches through; "server" is the server.

    Examples:
        >>> class Watcher(Role, frozen=True, kw_only=True):
        ...     name = "watcher"
        >>> Watcher(members=("ann",)).needs_agents
        False
    """

    members: tuple[str, ...] = ()

    name: ClassVar[str] = ""
    """As registered."""
    needs_agents: ClassVar[bool] = False
    """Whether it takes agents; always so where it deviates, brings strangers or watches the network."""
    protocols: ClassVar[frozenset[str]] = frozenset()
    """The protocols that have it, by name; empty for all of them."""
    refused_if_masked: ClassVar[str] = ""
    """Why a session of masked sums does not have it; empty where it does."""
    watches_traffic: ClassVar[bool] = False
    """Whether it sits on the network between clients and server."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Take note of what does nothing without agents."""
        super().__init_subclass__(**given)
        acts = cls.deviations is not Role.deviations or cls.strangers is not Role.strangers
        cls.needs_agents = cls.needs_agents or acts or cls.watches_traffic

    def check(self, context: AttackContext) -> None:
        """Raise ConfigurationError unless this context can have this adversary; before anything runs."""
        context.coalition(self.members)

    def takes_part(self, absent_names: Collection[str]) -> bool:
        """Return whether it has a part in a vote of a series: target and at least one member are not away."""
        is_somebody_there = not self.members or any(name not in absent_names for name in self.members)
        return is_somebody_there and getattr(self, "target", "") not in absent_names

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        """Return what its members do that the protocol does not say, by name; nothing unless overridden."""
        del context
        return {}

    def strangers(self, context: AttackContext) -> Sequence[Hello]:
        """Return what connections say that are nobody's of the session; none unless overridden."""
        del context
        return ()

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        """Return what it learnt of the run, or did to it; called once the run has ended, also where it failed."""
        raise NotImplementedError

    def learn_over(self, votes: Sequence[SeriesVote]) -> AttackReport | None:
        """Return what it learnt from all votes of a series together, or None for nothing of its own, unless overridden.

        The votes came to an end and are in order, at least one; in some its target may be away.
        """
        del votes
        return None

    def attack_report(self, who: str, trust: str, sentences: Iterable[str], rows: Iterable[Row] = ()) -> AttackReport:
        """Return what it learnt. See `AttackReport`."""
        return AttackReport(role=self.name, who=who, trust=trust, sentences=tuple(sentences), rows=tuple(rows))

    def check_parties_alone(
        self, context: AttackContext, *, allowed: str = "parties that report, at least one"
    ) -> None:
        """Raise ConfigurationError unless members are parties of the roster, at least one, without the server."""
        context.coalition(self.members)
        value = SERVER if SERVER in self.members else "nobody"
        refuse(not self.members or SERVER in self.members, "members", value, allowed)

    def check_server_alone(self) -> None:
        """Raise ConfigurationError unless the server is the one member, or left out."""
        refuse(set(self.members) - {SERVER}, "members", list(self.members)[:3], "'server', or left out")

    def check_left_out(self, *, allowed: str) -> None:
        """Raise ConfigurationError where there are members, who have no place in this role."""
        refuse(self.members, "members", list(self.members)[:3], f"left out: {allowed}")


class InferringRole(Role, frozen=True, kw_only=True):
    """An adversary that infers a secret of parties, by the attack on their protocol.

    Args:
        secret: what it infers; by default the first that the protocol's attack knows.

    Examples:
        >>> InferringRole(secret="weight").takes_part({"bob"})
        True
    """

    secret: str = ""

    def attack(self, context: AttackContext) -> "tuple[Attack, str]":
        """Return the attack on the context's parties, and its secret; ConfigurationError where neither is known."""
        from ..attacks import find_attack

        attack = find_attack(context.protocol).against(context.inputs)
        secret = self.secret or attack.default_secret
        attack.check_secret(secret)
        return attack, secret
