"""A conformance suite for adversary roles, for any test runner.

    from psephos.scenarios.testing import check_role

    def test_the_forger_keeps_its_promises():
        check_role(Forger(members=("voter-1",)), mean, salaries)

The role is applied to a small session over memory, with fields such that it acts. A role that passes may still be
wrong. A role that fails is wrong, and the message names the promise in `ROLE_PROMISES` that it broke.
"""

import collections
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import trio
import trio.testing

from ...agents.adversaries import SERVER, Attempt, Deviation, Passage
from ...agents.modes import Simulation
from ...protocol.errors import ConfigurationError, PluginError, PsephosError
from ...protocol.messages import Message, Report, encode
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.privacy import LedgerEntry
from ...protocol.roles import Side
from ...protocol.views import Happening, View
from ...transports.memory import MemoryTransport
from ...transports.promises import check_promise, require, sentence_of
from ...transports.tap import TappedTransport, Traffic
from ..adversaries.role import AttackContext, AttackReport, Role, SessionTrace
from ..running.session import Adversity, SessionObservers, Strangers, run_agents
from .cases import SESSION, ProtocolCase, Rows

_QUIET_SECONDS: Final = 0.01  # idle real time after which the clock jumps to the next deadline
_ROUNDING: Final = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class _RoleCase:
    """A role with a session."""

    role: Role  # the checked role
    context: AttackContext  # the role's context
    given: Inputs  # the context's rows, which no role has seen

    @functools.cached_property
    def play_honestly(self) -> "_Played":
        """The record of a session with the role's deviations, which are recorded."""
        return _play(self, self.context)


@dataclasses.dataclass(frozen=True, eq=False)
class _Played:
    """A session's record, and deviating parties' actions: by name, pairs (message, altered messages) in order."""

    trace: SessionTrace
    done: Mapping[str, Sequence[tuple[bytes, str]]]
    has_acted: bool


def _check_table(case: _RoleCase) -> None:
    """A role has a name, and is what a scenario's table of its fields makes."""
    role = case.role
    require(role.name, "the name is empty")
    converted = msgspec.convert(msgspec.to_builtins(role), type(role))
    require(converted == role, f"{role!r} comes back as {converted!r}")


def _check_scene(case: _RoleCase) -> None:
    """The role's own check takes this context, and the protocol is one that has it."""
    kinds = type(case.role).protocols
    require(not kinds or case.context.protocol.name in kinds, f"it is for {', '.join(sorted(kinds))}")
    case.role.check(case.context)


def _check_deviators(case: _RoleCase) -> None:
    """Who deviates is a member, or the server, and does so by a Deviation."""
    allowed = {*case.role.members, SERVER} & {*case.context.names, SERVER}
    for name, deviation in case.role.deviations(case.context).items():
        deviation_found: Any = deviation
        require(name in allowed, f"{name!r} deviates, and is neither a member nor the server")
        require(isinstance(deviation_found, Deviation), f"what {name!r} does is {deviation_found!r}, and no Deviation")


def _check_needs_agents(case: _RoleCase) -> None:
    """A role needs agents only if it deviates, sends strangers or watches the network."""
    role = case.role
    reasons = {
        "deviations": bool(role.deviations(case.context)),
        "strangers": bool(role.strangers(case.context)),
        "watches_traffic": role.watches_traffic,
    }
    is_needed = any(reasons.values())
    require(is_needed or not role.needs_agents, f"it has none of {', '.join(reasons)}, and arrays would do")


def _check_acts(case: _RoleCase) -> None:
    """Deviations act, without an error: some message is not what an honest party makes of it."""
    if case.role.deviations(case.context):
        require(case.play_honestly.has_acted, "every message of those who deviate passed as it was")


def _check_knowledge(case: _RoleCase) -> None:
    """What a deviating party does depends on its own row and on what it is sent, and on nobody else's row."""
    deviators = {*case.role.deviations(case.context)} - {SERVER}
    if not deviators:
        return
    done = _play(case, _with_other_rows(case.context, {*case.role.members, *deviators})).done
    for name in sorted(deviators):
        same = done.get(name) == case.play_honestly.done.get(name)
        require(same, f"{name!r} did something else where only other parties' rows were others")


def _check_honest(case: _RoleCase) -> None:
    """Whatever members do, everybody else keeps its row, pays at most what it agreed to, and reports once a phase."""
    context, trace = case.context, case.play_honestly.trace
    same = np.array_equal(context.inputs.private, case.given.private)
    require(
        same and np.array_equal(context.inputs.public, case.given.public), "the context's rows are others than before"
    )
    deviators = case.role.deviations(context).keys()
    public: list[list[int]] = context.inputs.public.tolist()
    for name, phase_public in zip(context.names, public, strict=True):
        if name in deviators:
            continue
        paid_epsilon = math.fsum(entry.proven for entry in trace.entries if entry.person == name)
        agreed_epsilon = math.fsum(loss.proven for loss in context.protocol.losses_of(phase_public))
        require(
            paid_epsilon <= agreed_epsilon * (1 + _ROUNDING),
            f"{name!r} paid {paid_epsilon:g}, and agreed to {agreed_epsilon:g}",
        )
    for view in trace.views:
        if view.side is Side.CLIENT and view.party not in deviators:
            sent_messages = (each.message for each in view.observations if each.happening is Happening.SENT)
            reports: dict[int, set[bytes]] = collections.defaultdict(set)
            for message in sent_messages:
                if isinstance(message, Report):
                    reports[message.step].add(bytes(message.payload))
            num_drawn = {phase: len(phase_public) for phase, phase_public in reports.items() if len(phase_public) > 1}
            require(not num_drawn, f"{view.party!r} drew more than one report in phases {sorted(num_drawn)}")


def _check_lesson(case: _RoleCase) -> None:
    """What it learnt is told, also of a session that failed: its name, sentences, and a table of numbers."""
    trace = case.play_honestly.trace
    failure = PsephosError("the session came to no end")
    for each in (trace, dataclasses.replace(trace, tallies=(), outcome=None, failure=trace.failure or failure)):
        attack_report: Any = case.role.learn(case.context, each)
        require(isinstance(attack_report, AttackReport), f"it is {attack_report!r}, and no AttackReport")
        require(attack_report.role == case.role.name, f"the lesson is of {attack_report.role!r}")
        require(
            attack_report.who and attack_report.trust and attack_report.sentences,
            "who it is, the trust statement or all is left out",
        )
        msgspec.json.encode(attack_report)
        keys = {tuple(row) for row in attack_report.rows}
        require(len(keys) <= 1, f"lines of the table have different keys: {sorted(keys)}")
        for row in attack_report.rows:
            strange = {key: number for key, number in row.items() if isinstance(number, float) and math.isnan(number)}
            require(not strange, f"{', '.join(strange)} of a line is no number")


def _check_views(case: _RoleCase) -> None:
    """A role that only infers learns from its members' views alone: without all others it learns the same."""
    role, trace = case.role, case.play_honestly.trace
    if role.deviations(case.context) or role.strangers(case.context):
        return  # reports on deviations are about all parties
    role_views = [
        view for view in trace.views if (SERVER if view.side is Side.SERVER else view.party) in {*role.members}
    ]
    whole, part = (role.learn(case.context, each) for each in (trace, dataclasses.replace(trace, views=role_views)))
    require(whole == part, f"it learnt {_told(whole)}, and of its members' views alone {_told(part)}")


_CHECKS: Final[Mapping[str, Callable[[_RoleCase], None]]] = {
    sentence_of(check): check
    for check in (
        _check_table,
        _check_scene,
        _check_deviators,
        _check_needs_agents,
        _check_acts,
        _check_knowledge,
        _check_honest,
        _check_lesson,
        _check_views,
    )
}

ROLE_PROMISES: Final = tuple(_CHECKS)
"""The promises in the order of their checks; each may rely on the previous ones."""


def check_role(role: Role, protocol: PhasedProtocol[Any, Any], rows: Rows, *, seed: int = 1) -> None:
    """Check that an adversary's role fulfills its contract with the framework.

    Args:
        role: the role, with fields such that it acts in this session.
        protocol: the session's protocol.
        rows: rows of a few parties, as for `check_protocol`. The role's members have the names in them; in a table or
            in `Inputs`, the protocol's role with a number from 1 ("voter-1").
        seed: the seed of simulated noise.

    Raises:
        AssertionError: a promise was broken; the message begins with the promise.
    """
    session = ProtocolCase(protocol, rows, seed)
    private, public = session.inputs.private.copy(), session.inputs.public.copy()
    context = AttackContext(protocol, session.names, Inputs(private, public), SESSION, seed=seed)
    case = _RoleCase(role, context, session.inputs)
    for promise, check in _CHECKS.items():
        with check_promise(promise):
            check(case)


class _Noted(Deviation):
    """Records the actions of another deviation."""

    def __init__(self, deviation: Deviation) -> None:
        self._deviation = deviation
        self.done: list[tuple[bytes, str]] = []
        self.has_acted = False
        self.error: Exception | None = None

    def outgoing(self, peer: str, message: Message) -> Passage:
        return self._note(self._deviation.outgoing, peer, message, Passage(outward=(message,)))

    def incoming(self, peer: str, message: Message) -> Passage:
        return self._note(self._deviation.incoming, peer, message, Passage(inward=(message,)))

    def _note(self, act: Callable[[str, Message], Passage], peer: str, message: Message, honest: Passage) -> Passage:
        try:
            passage = act(peer, message)
        except Exception as error:  # noqa: BLE001  whatever it is, a deviation must not raise
            self.error = self.error or error
            return Passage(hangs_up=True)
        encoded_parts = [list(map(encode, part)) for part in passage[:2]]
        self.has_acted |= encoded_parts != [list(map(encode, part)) for part in honest[:2]] or passage.hangs_up
        self.done.append((encode(message), f"{encoded_parts} {passage.hangs_up}"))
        return passage


def _play(case: _RoleCase, context_seen: AttackContext) -> _Played:
    """Return a session's record with the role's deviations, which are made from `context_seen`.

    AssertionError: a deviation raised an exception.
    """
    context, role = case.context, case.role
    noted = {name: _Noted(deviation) for name, deviation in role.deviations(context_seen).items()}
    views, entries, traffic = list[View](), list[LedgerEntry](), list[Traffic]()
    attempts: list[Attempt] = []
    hellos = role.strangers(context_seen)
    memory = MemoryTransport()
    session = functools.partial(
        run_agents,
        context.protocol,
        names=context.names,
        inputs=context.inputs,
        mode=Simulation(SESSION, context.noise(), record_views=True),
        transport=TappedTransport(memory, traffic.append) if role.watches_traffic else memory,
        observers=SessionObservers(entries=entries, views=views),
        adversity=Adversity(deviations=noted, strangers=Strangers(hellos, attempts) if hellos else None),
    )
    trace_fields: dict[str, Any] = {}
    try:
        # Deadlines pass at once if a deviating party blocks all others.
        clock = trio.testing.MockClock(autojump_threshold=_QUIET_SECONDS)
        record = trio.run(session, clock=clock, restrict_keyboard_interrupt_to_checkpoints=True)
        trace_fields = {"tallies": record.tallies, "outcome": record.outcome, "endings": record.endings}
    except (ConfigurationError, PluginError):  # not caused by a deviation
        raise
    except PsephosError as error:
        trace_fields = {"failure": error}
    for name, each in noted.items():
        require(each.error is None, f"the deviation of {name!r} raised {each.error!r}")
    trace = SessionTrace(views=views, traffic=traffic, entries=entries, attempts=attempts, **trace_fields)
    done = {name: each.done for name, each in noted.items()}
    return _Played(trace, done, any(each.has_acted for each in noted.values()))


def _with_other_rows(context: AttackContext, kept_names: set[str]) -> AttackContext:
    """Return the context with exchanged private rows of the parties outside `kept`, if another party's row fits."""
    inputs = context.inputs
    private = inputs.private.copy()
    places = [place for place, name in enumerate(context.names) if name not in kept_names]
    for place, other in itertools.product(places, range(len(inputs))):
        same_public = np.array_equal(inputs.public[place], inputs.public[other])
        if same_public and not np.array_equal(inputs.private[place], inputs.private[other]):
            private[place] = inputs.private[other]
    return dataclasses.replace(context, inputs=Inputs(private, inputs.public))


def _told(attack_report: AttackReport) -> str:
    return repr(attack_report.sentences)[:200]
