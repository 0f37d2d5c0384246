"""Liars in whole sessions, between machines: they are named and out, all others hear the outcome, the sum is right."""

import functools
import json
from collections.abc import Mapping, Sequence

import msgspec
import pytest
import structlog
import trio
from exchanges import SESSION_NAME
from liars import (
    ALONE,
    TELLERS,
    AnotherSeed,
    BoxOfOtherValues,
    Conspirator,
    ConspiringDealer,
    DegreeTooHigh,
    FalseAccuser,
    TellerOfAnotherShare,
    befriend,
)
from masked_sums import MaskedSession, make_session, tally_of
from psephos.agents.events import log_effect
from psephos.agents.masking import Cryptography
from psephos.agents.modes import Simulation
from psephos.protocol import QuorumError, masked_sessions
from psephos.protocol.effects import Closed, Effect, Keep, LiarNamed
from psephos.protocol.masked_sessions import masking_rules
from psephos.protocol.masking import (
    DEEDS,
    LEAST_FOR_CIRCLE,
    Evidence,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    graph,
    verdict,
)
from psephos.protocol.messages import Abort, decode
from psephos.protocol.phases import masked_phase
from psephos.protocol.records import PhaseClosed, ServerRecord
from psephos.scenarios.running.session import run_agents
from psephos.transports.memory import MemoryTransport
from psephos.transports.tcp import TCPTransport
from wire import Wire

Kinds = Mapping[str, type[MaskingParty]]


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> dict[str, type[MaskingParty]]:
    """Who lies, by name, and how: what is put here holds in all sessions of the test."""
    kinds: dict[str, type[MaskingParty]] = {}
    parts: dict[int, MaskingParty] = {}

    def make(rules: MaskingRules, place: int, **given: object) -> MaskingParty:
        kind = kinds.get(rules.names[place], MaskingParty)
        parts[place] = part = kind(rules, place, **given)  # type: ignore[arg-type]  as it is called
        befriend(parts)
        return part

    monkeypatch.setattr(masked_sessions, "MaskingParty", make)
    return kinds


def held(session: MaskedSession) -> Wire:
    wire = session.wire()
    wire.start()
    wire.run()
    wire.check_end()
    return wire


def named_by_evidence(session: MaskedSession, wire: Wire) -> dict[str, str]:
    """Return who is named, by what was written of it and the rules that its parties agreed to, with what proves it."""
    phase, signing = session.protocol.masked_phase, session.roster.signing_roster
    assert phase is not None
    assert signing is not None
    found: dict[str, str] = {}
    for named in wire.named.values():
        told = json.loads(named.evidence)
        seed = b"" if told["rules"]["circle"] is None else msgspec.convert(told["rules"]["circle"]["seed"], bytes)
        rules = masking_rules(session.protocol, phase, signing, session.mode(), seed=seed)
        evidence = msgspec.convert(told["evidence"], Evidence)
        place = verdict(rules, evidence, Cryptography())
        assert place is not None
        assert named.deed == DEEDS[type(evidence)]
        found[session.names[place]] = told["evidence"]["kind"]
    assert found.keys() == wire.named.keys()
    return found


def test_three_liars_of_27_in_three_ways_are_named_and_the_sum_of_the_others_is_right(
    lying: dict[str, type[MaskingParty]],
) -> None:
    """One deals wrong boxes, one accuses somebody honest, one tells wrong shares, whose row counts."""
    lying |= {"p1": BoxOfOtherValues, "p4": FalseAccuser, "p7": TellerOfAnotherShare}
    session = make_session(27, threshold=24)
    wire = held(session)
    assert named_by_evidence(session, wire) == {"p1": "box", "p4": "box", "p7": "share"}
    assert wire.result is not None
    assert wire.result.tallies == (tally_of(session, [place for place in range(27) if place not in {1, 4}]),)
    assert wire.outcomes.keys() == {*session.names} - lying.keys()
    asked = Closed("sum, accuse", 2, 0, None)  # nobody is missing but who was asked
    assert asked in wire.effects
    assert {name: len(session.ledgers[name].entries) for name in ("p0", "p1", "p4", "p7")} == {
        "p0": 1,
        "p1": 0,
        "p4": 0,
        "p7": 1,
    }


@pytest.mark.full("1,100 parties on a circle, twice")
@pytest.mark.parametrize("transport", [MemoryTransport(), TCPTransport()], ids=lambda transport: transport.name)
def test_liars_among_1_100_on_a_circle_are_named_between_agents_and_the_sum_of_the_others_is_right(
    transport: MemoryTransport | TCPTransport, lying: dict[str, type[MaskingParty]]
) -> None:
    """One deals wrong boxes, one accuses, one deals of too high a degree; the row of who tells wrong shares counts."""
    deeds = {"p1": "box", "p4": "box", "p9": "deal", "p7": "another share"}
    lying |= {"p1": BoxOfOtherValues, "p4": FalseAccuser, "p9": DegreeTooHigh, "p7": TellerOfAnotherShare}
    session = make_session(1_100, threshold=LEAST_FOR_CIRCLE, colluders=30)
    own = functools.partial(
        run_agents,
        session.protocol,
        names=session.names,
        inputs=session.inputs,
        mode=Simulation(SESSION_NAME, session.fresh_noise()),
        transport=transport,
    )
    record = trio.run(own)
    assert record.tallies == (tally_of(session, [place for place in range(1_100) if place not in {1, 4, 9}]),)
    told = {name: str(error) for name, error in record.endings.items()}
    assert told.keys() == lying.keys()  # all others heard the outcome
    assert all(deed in told[name] and f"{name!r} has" in told[name] for name, deed in deeds.items()), told


@pytest.mark.parametrize("kind", ALONE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_each_liar_is_told_what_it_did_and_all_others_hear_the_outcome(
    kind: type[MaskingParty], lying: dict[str, type[MaskingParty]], monkeypatch: pytest.MonkeyPatch, *, is_sparse: bool
) -> None:
    lying["p0"] = kind
    if is_sparse:
        monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 11)
        monkeypatch.setattr(masked_phase, "LEAST_FOR_CIRCLE", 11)
    session = make_session(12, threshold=11, colluders=1) if is_sparse else make_session(5, threshold=4)
    wire = held(session)
    assert named_by_evidence(session, wire).keys() == {"p0"}
    assert wire.outcomes.keys() == {*session.names[1:]}
    assert wire.result is not None
    first = 0 if kind in TELLERS else 1
    assert wire.result.tallies == (tally_of(session, range(first, len(session.names))),)
    assert "p0" in wire.failures


def test_two_who_conspire_are_named_when_all_tell_what_they_hold(lying: dict[str, type[MaskingParty]]) -> None:
    lying |= {"p3": ConspiringDealer, "p0": Conspirator}
    session = make_session(7, threshold=5)
    wire = held(session)
    assert named_by_evidence(session, wire) == {"p3": "apart", "p0": "open"}
    assert wire.result is not None
    assert wire.result.tallies == (tally_of(session, range(7)),)
    assert wire.outcomes.keys() == {*session.names} - lying.keys()


def test_more_liars_than_may_leave_end_the_session_are_named_and_nobody_blames_the_server(
    lying: dict[str, type[MaskingParty]],
) -> None:
    lying |= {"p1": AnotherSeed, "p2": BoxOfOtherValues}
    session = make_session(5, threshold=4)
    wire = held(session)
    assert isinstance(wire.failure, QuorumError)
    assert named_by_evidence(session, wire) == {"p1": "deal", "p2": "box"}
    assert not any(session.ledgers[name].entries for name in session.names)
    ended = {name: error for name, error in wire.failures.items() if name not in lying}
    assert {type(error) for error in ended.values()} == {QuorumError}


def test_who_is_named_is_told_why_and_says_nothing_more(lying: dict[str, type[MaskingParty]]) -> None:
    lying["p1"] = AnotherSeed
    session = make_session(5, threshold=4)
    wire = session.wire()
    wire.start()
    while "p1" not in wire.named:
        wire.deliver(wire.available()[0])
    told = decode(wire.down["p1"][-1])
    assert told == Abort("'p1' has signed a deal that is not of its keys")


class Keeping(Wire):
    """A wire whose server keeps records."""

    def __init__(self, session: MaskedSession) -> None:
        super().__init__(session)
        self.server = session.server(records=[])
        self.records: list[ServerRecord] = []

    def _act_for_server(self, sender: str | None, effects: Sequence[Effect]) -> None:
        self.records += [effect.record for effect in effects if isinstance(effect, Keep)]  # type: ignore[misc]  a server's
        super()._act_for_server(sender, [effect for effect in effects if not isinstance(effect, Keep)])


def test_who_was_named_before_a_restart_is_told_of_again_and_logged_once(lying: dict[str, type[MaskingParty]]) -> None:
    """So `run.json` has all; a server that stopped before it had told of somebody logs it when it begins anew."""
    lying["p1"] = BoxOfOtherValues
    session = make_session(5, threshold=4)
    wire = Keeping(session)
    wire.start()
    wire.run()
    closed = {record.step: place for place, record in enumerate(wire.records) if isinstance(record, PhaseClosed)}
    steps = [step.move for step in session.protocol.steps]
    for move, is_known in ((MaskingMove.ACCUSE, False), (MaskingMove.MASKED, True)):
        effects = session.server(records=wire.records[: closed[steps.index(move)] + 1]).start()
        (named,) = [effect for effect in effects if isinstance(effect, LiarNamed)]
        assert (named.party, named.is_known) == ("p1", is_known)
        with structlog.testing.capture_logs() as events:
            log_effect(structlog.get_logger(), session="s", party="server", effect=named)
        assert len(events) == (not is_known)
