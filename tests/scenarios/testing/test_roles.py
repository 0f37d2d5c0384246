"""`check_role` names each planted fault by what it breaks, and has nothing to say of a role without a fault."""

# ruff: noqa: D101  a planted fault is its one line, and its name says which

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import pytest
from polls import VOTERS, Poll, Settings
from psephos.agents.adversaries import SERVER, Asker, Deviation, Passage
from psephos.protocol.messages import Message, Report
from psephos.protocol.roles import Side
from psephos.scenarios.adversaries.role import AttackContext, AttackReport, Role, SessionTrace
from psephos.scenarios.testing import ROLE_PROMISES, check_role

FAULTS: dict[str, list[type[Role]]] = {}
"""By the beginning of the promise that it breaks."""


def breaks(promise: str) -> Any:
    """Put a role among the faults."""

    def planted(kind: type[Role]) -> type[Role]:
        FAULTS.setdefault(promise, []).append(kind)
        return kind

    return planted


class Forge(Deviation):
    """Reports a drink of its choice.

    Args:
        payload: the report as it travels.
    """

    def __init__(self, payload: Any) -> None:
        self._payload = payload

    def outgoing(self, peer: str, message: Message) -> Passage:
        return Passage(outward=(Report(message.step, self._payload) if isinstance(message, Report) else message,))


def forging(context: AttackContext, drink: int) -> Deviation:
    return Forge(context.protocol.phases[0].codec.encode([drink]))


class Forger(Role, frozen=True, kw_only=True):
    """Members who report what they wish."""

    name: ClassVar[str] = "forger"
    needs_agents: ClassVar[bool] = True

    drink: int = 2

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return {name: forging(context, self.drink) for name in self.members}

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        return AttackReport(
            role=self.name, who="a forger", trust="Members lie.", sentences=("It lied.",), rows=self.rows()
        )

    def rows(self) -> tuple[Mapping[str, Any], ...]:
        return ({"reports": 1}, {"reports": 2})


class Onlooker(Role, frozen=True, kw_only=True):
    """Members who count what they see."""

    name: ClassVar[str] = "onlooker"

    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        told = (f"They saw {len(self.seen(trace))} messages.",)
        return AttackReport(role=self.name, who="onlookers", trust="They follow the protocol.", sentences=told)

    def seen(self, trace: SessionTrace) -> Sequence[object]:
        return [each for view in trace.views if view.party in self.members for each in view.observations]


@breaks("A role has a name")
class Nameless(Forger, frozen=True, kw_only=True):
    name: ClassVar[str] = ""


@breaks("The role's own check takes")
class ForAnother(Forger, frozen=True, kw_only=True):
    protocols: ClassVar[frozenset[str]] = frozenset({"lottery"})


@breaks("The role's own check takes")
class Refuses(Forger, frozen=True, kw_only=True):
    def check(self, context: AttackContext) -> None:
        context.place_of("nobody", field="target")


@breaks("Who deviates is a member")
class LetsAnotherDeviate(Forger, frozen=True, kw_only=True):
    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return {context.names[-1]: forging(context, self.drink)}


@breaks("Who deviates is a member")
class NoDeviation(Forger, frozen=True, kw_only=True):
    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return {self.members[0]: cast("Deviation", "lies")}


@breaks("A role needs agents only")
class NeedsNone(Onlooker, frozen=True, kw_only=True):
    needs_agents: ClassVar[bool] = True


@breaks("Deviations act")
class DoesNothing(Forger, frozen=True, kw_only=True):
    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return {self.members[0]: Deviation()}


class Raises(Deviation):
    def outgoing(self, peer: str, message: Message) -> Passage:
        raise LookupError(peer)


@breaks("Deviations act")
class BreaksAsItActs(Forger, frozen=True, kw_only=True):
    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return {self.members[0]: Raises()}


@breaks("What a deviating party does depends on its own row")
class ReadsOtherRows(Forger, frozen=True, kw_only=True):
    """Reports what another voter drinks."""

    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        return {self.members[0]: forging(context, int(context.inputs.private[5, 0]))}


@breaks("Whatever members do, everybody else keeps")
class ChangesOtherRows(Forger, frozen=True, kw_only=True):
    def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
        context.inputs.private[5:] = self.drink
        return super().deviations(context)


@breaks("What it learnt is told")
class NoLesson(Forger, frozen=True, kw_only=True):
    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        return cast("AttackReport", "It lied.")


@breaks("What it learnt is told")
class RaggedTable(Forger, frozen=True, kw_only=True):
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        return ({"reports": 1}, {"lies": 1})


@breaks("What it learnt is told")
class NotANumber(Forger, frozen=True, kw_only=True):
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        return ({"reports": math.nan},)


@breaks("What it learnt is told")
class NeedsAnOutcome(Forger, frozen=True, kw_only=True):
    def learn(self, context: AttackContext, trace: SessionTrace) -> AttackReport:
        assert trace.outcome is not None, "the outcome is missing"
        return super().learn(context, trace)


@breaks("A role that only infers learns")
class ReadsOtherViews(Onlooker, frozen=True, kw_only=True):
    def seen(self, trace: SessionTrace) -> Sequence[object]:
        return [each for view in trace.views if view.side is Side.CLIENT for each in view.observations]


PLANTED = [(promise, kind) for promise, kinds in FAULTS.items() for kind in kinds]


@pytest.mark.parametrize(("promise", "kind"), PLANTED, ids=[kind.__name__ for _, kind in PLANTED])
def test_a_planted_fault_is_named_by_what_it_breaks(promise: str, kind: type[Role]) -> None:
    with pytest.raises(AssertionError) as caught:
        check_role(kind(members=("voter-1",)), Poll(Settings()), VOTERS)
    assert str(caught.value).startswith(promise)
    assert " Broken: " in str(caught.value)


def test_every_promise_has_a_fault_that_breaks_it() -> None:
    broken = [[begun for begun in FAULTS if promise.startswith(begun)] for promise in ROLE_PROMISES]
    assert [len(each) for each in broken] == [1] * len(ROLE_PROMISES)


@pytest.mark.parametrize("kind", [Forger, Onlooker])
def test_a_role_without_a_fault_passes(kind: type[Role]) -> None:
    check_role(kind(members=("voter-1", "voter-2")), Poll(Settings()), VOTERS)


def test_a_server_that_deviates_needs_no_member() -> None:
    class Repeater(Forger, frozen=True, kw_only=True):
        def deviations(self, context: AttackContext) -> Mapping[str, Deviation]:
            return {SERVER: Asker(3)}

    check_role(Repeater(), Poll(Settings()), VOTERS)


def test_a_session_that_cannot_be_held_is_not_laid_to_the_role() -> None:
    class Tasting(Poll):
        client_role = "taster"

    with pytest.raises(AssertionError, match=r"client role is .*taster.*: use one of .* psephos.roles"):
        check_role(Forger(members=("voter-1", "voter-2")), Tasting(Settings()), VOTERS)
