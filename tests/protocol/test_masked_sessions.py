"""Masked phases in sessions: whoever leaves, whatever a server tells, the sum is that of arrays, or nothing opens.

Tallies are compared bit for bit with those of arrays over the same parties, of which each holds another power of two.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked_sums import MaskedSession, PrivateSum, Size, make_session, tally_of
from masking_dealer import STEPS, USUAL_STEPS
from psephos.protocol import (
    ClientMachine,
    ConfigurationError,
    Party,
    QuorumError,
    RemoteProtocolError,
    Roster,
    ServerMachine,
    SessionDescriptor,
    SessionMode,
    SimulatedNoise,
)
from psephos.protocol.effects import Effect, Fail, Keep, Send
from psephos.protocol.errors import JournalError
from psephos.protocol.masked_sessions import ServerMasking
from psephos.protocol.masking import (
    Boxes,
    Confirmation,
    Confirmations,
    Disputes,
    Excluded,
    HeldBox,
    MaskingMove,
    NeighborKeys,
    Survivors,
    check_signature_key,
    graph,
)
from psephos.protocol.messages import NIL, Report, Request, Welcome, decode, encode
from psephos.protocol.phases import masked_phase
from psephos.protocol.privacy import Ledger
from psephos.protocol.records import ClientRecord, Drawn, SessionEnded
from psephos.protocol.roster import SeededRoster, SigningRoster
from psephos.protocol.traffic import ExpectedTraffic, TrafficMeter
from psephos.scenarios.testing import check_protocol
from thoroughness import draws
from wire import Delivery, Wire

KEYS, SHARES, CHECK, ACCUSE, MASKED, CONFIRM, UNMASK = map(STEPS.index, STEPS[:7])
ALL = len(USUAL_STEPS)  # answers of a party where nobody lies
TO_THE_ROW = USUAL_STEPS.index(MaskingMove.MASKED)  # of them before the masked one


def play(session: MaskedSession, leaves: dict[int, int]) -> Wire:
    """Hold a session in which parties are gone right after they have answered so many steps."""
    wire = session.wire()
    wire.start()
    while True:
        for place, answered in list(leaves.items()):
            name = session.names[place]
            sent = sum(1 for party, _ in wire.reports if party == name)
            if sent >= answered and not wire.up[name]:
                del leaves[place]
                wire.lose(name)
        available = wire.available()
        if available:
            wire.deliver(available[0])
        elif not wire.hang_up():
            if not wire.deadlines or wire.result is not None or wire.failure is not None:
                return wire
            wire.expire(wire.deadlines[0])


def check(session: MaskedSession, leaves: dict[int, int], *, threshold: int) -> None:
    number = len(session.names)
    wire = play(session, dict(leaves))
    masked = {party for party, step in wire.reports if step == MASKED}
    survivors = [place for place in range(number) if leaves.get(place, ALL) > TO_THE_ROW]
    to_the_end = [place for place in range(number) if leaves.get(place, ALL) == ALL]
    for place, name in enumerate(session.names):
        assert len(session.ledgers[name].entries) == (name in masked), place
    if len(to_the_end) < threshold:
        assert wire.result is None
        assert isinstance(wire.failure, QuorumError)
        return
    assert wire.result is not None
    assert wire.result.tallies == (tally_of(session, survivors),)
    assert wire.result.num_received == (len(survivors),)
    assert {session.names[place] for place in to_the_end} <= wire.outcomes.keys()


def test_all_of_four_add_up_to_what_arrays_do() -> None:
    check(make_session(4), {}, threshold=3)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("answered", range(ALL))
def test_one_of_four_may_leave_after_any_step_and_counts_from_the_masked_one_on(place: int, answered: int) -> None:
    check(make_session(4), {place: answered}, threshold=3)


@pytest.mark.parametrize("answered", [*itertools.product(range(ALL), repeat=2)][:: draws(4, full=1)])
def test_where_two_of_four_leave_nothing_is_released_and_what_was_charged_stays(answered: tuple[int, int]) -> None:
    check(make_session(4), {1: answered[0], 3: answered[1]}, threshold=3)


@given(st.data())
def test_sums_of_more_parties_are_those_of_arrays_whoever_leaves(data: st.DataObject) -> None:
    number = data.draw(st.integers(2, 6))
    colluders = data.draw(st.integers(0, number - 2))
    threshold = data.draw(st.integers((number + colluders) // 2 + 1, number))
    leaves = data.draw(
        st.dictionaries(st.integers(0, number - 1), st.integers(0, ALL - 1), max_size=number - threshold + 1)
    )
    check(make_session(number, threshold=threshold, colluders=colluders), leaves, threshold=threshold)


@pytest.fixture
def few_on_a_circle(monkeypatch: pytest.MonkeyPatch) -> MaskedSession:
    """Twelve of whom each masks with six, as of more than 1,000; one may leave, and one collude."""
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 11)
    monkeypatch.setattr(masked_phase, "LEAST_FOR_CIRCLE", 11)
    return make_session(12, threshold=11, colluders=1)


@pytest.mark.parametrize("answered", range(ALL))
def test_on_a_circle_sums_are_those_of_arrays_too_and_the_loss_says_against_whom(
    answered: int, few_on_a_circle: MaskedSession
) -> None:
    check(few_on_a_circle, {3: answered}, threshold=11)
    (entry,) = few_on_a_circle.ledgers["p0"].entries
    assert entry.mechanism == "shares of discrete Laplace noise, semi-honest server only"


def test_whoever_comes_back_on_a_circle_says_again_what_it_said(few_on_a_circle: MaskedSession) -> None:
    client = Journaled(few_on_a_circle)
    _, request = asked(few_on_a_circle, UNMASK, own=client)
    again = few_on_a_circle.client("p0", ledger=few_on_a_circle.ledgers["p0"], records=client.records)
    again.start()
    again.receive("server", Welcome.make(few_on_a_circle.protocol, descriptor=few_on_a_circle.descriptor))
    assert again.receive("server", request)[1:] == client.receive("server", request)


@pytest.mark.usefixtures("few_on_a_circle")
def test_a_circle_s_seed_is_told_to_all_and_after_a_restart_the_same_and_of_another_session_another() -> None:
    session = make_session(12, threshold=11, colluders=1)
    phase = session.protocol.masked_phase
    assert phase is not None
    seeds: list[bytes] = []
    for secret, session_id in ((b"one", "5e" * 16), (b"one", "5e" * 16), (b"another", "5e" * 16), (b"one", "6f" * 16)):
        mode = dataclasses.replace(session.mode(), descriptor=SessionDescriptor(session_id, session.roster.digest))
        masking = ServerMasking(session.protocol, phase, session.roster, mode, secret=secret)
        seeds.append(msgspec.msgpack.decode(masking.payload, type=SeededRoster).seed)
    assert seeds[0] == seeds[1]
    assert len({*seeds}) == 3


@pytest.mark.parametrize("colluders", [1_000, 1_300])
def test_of_many_parties_as_many_leave_and_collude_as_a_circle_bears(colluders: int) -> None:
    session = make_session(2_000, threshold=1_700, colluders=colluders)
    (phase,) = session.protocol.phases
    assert isinstance(phase, masked_phase.MaskedPhase)
    if colluders < 1_300:
        phase.check_parties(2_000)
        return
    with pytest.raises(
        ConfigurationError, match=r"threshold, colluders (is|are) .*such that fewer of the 2,000 parties"
    ):
        phase.check_parties(2_000)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_what_is_expected_to_travel_travels(*, is_sparse: bool, request: pytest.FixtureRequest) -> None:
    session = request.getfixturevalue("few_on_a_circle") if is_sparse else make_session(4)
    wire = session.wire()
    meter = TrafficMeter(session.protocol)
    wire.start()
    while available := wire.available():
        (delivery,) = available[:1]
        queue = wire.up if delivery.direction == "up" else wire.down
        payload = queue[delivery.party][0]
        meter.note(decode(payload), len(payload), times=None if delivery.direction == "up" else 1)
        wire.deliver(delivery)
    assert wire.result is not None
    expected = ExpectedTraffic(
        session.protocol,
        names=session.names,
        public=session.inputs.public,
        session=session.mode().session,
        kind=session.mode().kind,
        descriptor=session.descriptor,
    )
    assert expected.phase_traffic(wire.result.tallies, wire.result.outcome, {}) == meter.phases


def test_a_masked_protocol_keeps_all_promises_also_where_parties_leave() -> None:
    check_protocol(PrivateSum(Size(threshold=4, colluders=1, most=8)), {"number": [3, 1, 8, 0, 5]})


# A server that lies

Lie = Callable[[Request], Request]


class Journaled(ClientMachine):
    """Keeps what it is asked to."""

    def __init__(self, session: MaskedSession, noise: SimulatedNoise | None = None) -> None:
        super().__init__(session.protocol, session.party("p0"), session.mode(noise), records=[])
        self.records: list[ClientRecord] = []

    def receive(self, sender: str, message: Any) -> list[Effect]:
        return self.keep(super().receive(sender, message))

    def keep(self, effects: list[Effect]) -> list[Effect]:
        self.records += [effect.record for effect in effects if isinstance(effect, Keep)]  # type: ignore[misc]  a client's
        return [effect for effect in effects if not isinstance(effect, Keep)]


def asked(session: MaskedSession, step: int, *, own: ClientMachine | None = None) -> tuple[Wire, Request]:
    """Return a session in which the first party is asked for a step, all before being right, and the question."""
    wire = session.wire()
    if own is not None:
        wire.clients["p0"] = own
    wire.start()
    while True:
        available = [each for each in wire.available() if each.party != "p0" or not asks(wire, each, step)]
        if not available:
            break
        wire.deliver(available[0])
    request = decode(wire.down["p0"][0])
    assert isinstance(request, Request)
    return wire, request


def lied_to(lie: Lie, *, step: int, session: MaskedSession | None = None) -> list[Effect]:
    """Return what the first party does when it is told a lie in a step."""
    wire, request = asked(session or make_session(4), step)
    return wire.clients["p0"].receive("server", lie(request))


def test_no_key_seals_two_roots() -> None:
    """Of one key two seals tell how two roots differ: of who began anew from an older copy of its journal."""
    sealed: list[tuple[bytes, bytes]] = []
    for seed in (1, 2):
        session, noise = make_session(4), SimulatedNoise(seed, session="roots")
        own = Journaled(session, noise)
        wire, request = asked(session, KEYS, own=own)
        own.keep(wire.clients["p0"].receive("server", request))
        (box,) = (record.sealed for record in own.records if isinstance(record, Drawn))
        sealed.append((box, noise.entropy(protocol=session.protocol.name, phase="sum", place=0)))
    (one, root), (other, other_root) = sealed
    assert root != other_root
    apart = [first ^ second for first, second in zip(root, other_root, strict=True)]
    assert len(one) == len(other)
    covered = [first ^ second for first, second in zip(one, other, strict=True)]
    assert all(covered[at : at + len(apart)] != apart for at in range(len(covered)))


def test_a_root_is_sealed_by_each_bit_of_its_owner_s_secret_and_stands_nowhere_else() -> None:
    """Whoever has the journal and all of the secret but a bit opens nothing; nor does a record show the root."""
    session = make_session(4)
    own = Journaled(session)
    _, request = asked(session, KEYS, own=own)
    own.keep(own.receive("server", request))
    plain = session.party("p0")
    secrets = [
        (int.from_bytes(plain.secret, "big") ^ 1 << bit).to_bytes(len(plain.secret), "big")
        for bit in range(8 * len(plain.secret))
    ]
    assert all(session.roots[0] not in msgspec.msgpack.encode(record) for record in own.records)
    for secret in (plain.secret, *secrets, plain.secret + b"\0"):
        party = Party(plain.name, plain.place, plain.row, ledger=Ledger("p0"), secret=secret, sign=plain.sign)
        made = functools.partial(ClientMachine, session.protocol, party, session.mode(), records=own.records)
        if secret == plain.secret:
            made()
            continue
        with pytest.raises(JournalError, match="cannot be read"):
            made()


def asks(wire: Wire, delivery: Delivery, step: int) -> bool:
    """Return whether what is delivered next asks for a step."""
    if delivery.direction == "up":
        return False
    message = decode(wire.down[delivery.party][0])
    return isinstance(message, Request) and message.step == step


def told(kind: type[Any], change: Callable[[Any], Any], *, is_own: bool = False) -> Lie:
    def lie(request: Request) -> Request:
        value = change(msgspec.msgpack.decode(request.own if is_own else request.payload, type=kind))
        raw = msgspec.Raw(msgspec.msgpack.encode(value))
        return Request(request.step, request.payload, raw) if is_own else Request(request.step, raw)

    return lie


LIES: dict[str, tuple[int, Lie]] = {
    "another roster of keys": (
        KEYS,
        told(SigningRoster, lambda own: msgspec.structs.replace(own, keys=(bytes(32), *own.keys[1:]))),
    ),
    "a roster of others": (KEYS, told(SigningRoster, lambda own: msgspec.structs.replace(own, names=own.names[::-1]))),
    "no roster": (KEYS, lambda request: Request(request.step, NIL)),
    "keys that nobody signed": (
        SHARES,
        told(NeighborKeys, lambda heard: NeighborKeys(((3, heard.keys[2][1]), *heard.keys[:3]))),
    ),
    "something for one alone beside keys": (
        SHARES,
        lambda request: Request(SHARES, request.payload, msgspec.Raw(b"\x01")),
    ),
    "a box less than are needed": (CHECK, told(Boxes, lambda heard: Boxes(heard.boxes[:1]), is_own=True)),
    "boxes of which more do not open than may lie": (
        CHECK,
        told(Boxes, lambda heard: Boxes(tuple(with_box(own, bytes(112)) for own in heard.boxes)), is_own=True),
    ),
    "boxes for all": (CHECK, lambda request: Request(CHECK, request.own)),
    "disputes of nothing": (
        MASKED,
        lambda _: Request(ACCUSE, NIL, msgspec.Raw(msgspec.msgpack.encode(Disputes(())))),
    ),
    "more left out than may be": (MASKED, told(Excluded, lambda _: Excluded((1, 2)))),
    "oneself left out": (MASKED, told(Excluded, lambda _: Excluded((0,)))),
    "fewer survivors than have to": (CONFIRM, told(Survivors, lambda _: Survivors((0, 1)))),
    "survivors without oneself": (CONFIRM, told(Survivors, lambda _: Survivors((1, 2, 3)))),
    "a signature less": (UNMASK, told(Confirmations, lambda heard: Confirmations(heard.signatures[:2]))),
}


def with_box(own: HeldBox, box: bytes) -> HeldBox:
    return msgspec.structs.replace(own, box=box)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_ends_the_party_s_part_and_no_value_leaves(name: str) -> None:
    step, lie = LIES[name]
    effects = lied_to(lie, step=step)
    (failure,) = [effect.error for effect in effects if isinstance(effect, Fail)]
    assert isinstance(failure, RemoteProtocolError)
    sent = [effect.message for effect in effects if isinstance(effect, Send)]
    assert not any(isinstance(message, Report) for message in sent)


def of_a_stranger(heard: NeighborKeys) -> NeighborKeys:
    known = dict(heard.keys)
    stranger = next(place for place in range(1, 12) if place not in known)
    return NeighborKeys(((stranger, heard.keys[0][1]), *heard.keys[1:]))


ON_A_CIRCLE: dict[str, tuple[int, Lie]] = {
    "no seed": (KEYS, told(SeededRoster, lambda own: SigningRoster(own.others, own.names, own.keys))),
    "keys for all": (SHARES, lambda request: Request(SHARES, request.own)),
    "keys of a stranger": (SHARES, told(NeighborKeys, of_a_stranger, is_own=True)),
    "a signature less": (UNMASK, told(Confirmations, lambda own: Confirmations(own.signatures[:1]), is_own=True)),
}


@pytest.mark.parametrize("name", ON_A_CIRCLE)
def test_a_lie_that_shows_on_a_circle_ends_the_party_s_part(name: str, few_on_a_circle: MaskedSession) -> None:
    step, lie = ON_A_CIRCLE[name]
    effects = lied_to(lie, step=step, session=few_on_a_circle)
    assert any(isinstance(effect, Fail) for effect in effects)
    assert not any(isinstance(effect, Send) and isinstance(effect.message, Report) for effect in effects)


def test_a_party_leaves_whose_place_is_anothers_and_seals_nothing_without_a_secret() -> None:
    session = make_session(4)
    own = session.party("p0")
    moved = Party("p0", 1, own.row, ledger=own.ledger, sign=own.sign)
    wire, request = asked(session, KEYS, own=ClientMachine(session.protocol, moved, session.mode()))
    (error,) = (each.error for each in wire.clients["p0"].receive("server", request) if isinstance(each, Fail))
    assert "roster of keys is not the one agreed to" in str(error)
    with pytest.raises(ConfigurationError, match="a journal beside a private key"):
        ClientMachine(session.protocol, moved, session.mode(), records=[])


def test_where_each_masks_with_each_a_seed_is_refused() -> None:
    lie = told(SeededRoster, lambda own: SeededRoster(own.others, own.names, own.keys, bytes(32)))
    (failure,) = [effect.error for effect in lied_to(lie, step=KEYS) if isinstance(effect, Fail)]
    assert "use 0 bytes" in str(failure)


@pytest.mark.parametrize("name", LIES)
def test_a_server_that_lied_is_refused_from_then_on_and_what_was_charged_stays(name: str) -> None:
    step, lie = LIES[name]
    session = make_session(4)
    client = Journaled(session)
    _, request = asked(session, step, own=client)
    client.receive("server", lie(request))
    last = client.records[-1]
    assert isinstance(last, SessionEnded)
    assert last.is_final
    charged = [entry for record in client.records if isinstance(record, Drawn) for entry in record.entries]
    assert charged == list(session.ledgers["p0"].entries)
    assert len(charged) == (step > MASKED)
    with pytest.raises(JournalError, match="the journal refuses this session for good: ") as caught:
        session.client("p0", ledger=Ledger("p0", entries=charged), records=client.records)
    assert str(caught.value).endswith(last.reason)


def test_a_server_that_was_silent_or_gone_may_be_spoken_to_again() -> None:
    session = make_session(4)
    client = Journaled(session)
    asked(session, CONFIRM, own=client)
    client.keep(client.receive_silence("server", 30))
    last = client.records[-1]
    assert isinstance(last, SessionEnded)
    assert not last.is_final
    session.client("p0", ledger=Ledger("p0"), records=client.records)


def test_whoever_agreed_to_other_parameters_than_the_others_goes_on_with_none_of_them() -> None:
    """Shares of noise protect each other: those of a larger epsilon than a party agreed to would protect it less."""
    session, others = make_session(4), make_session(4, epsilon=30.0)
    assert session.descriptor == others.descriptor
    _, of_others = asked(others, SHARES)
    effects = lied_to(lambda _: of_others, step=SHARES, session=session)
    (failure,) = [effect.error for effect in effects if isinstance(effect, Fail)]
    assert "are not signed by it for this phase" in str(failure)
    assert not session.ledgers["p0"].entries


def test_a_server_that_changes_a_box_is_found_out_by_what_its_dealer_signed_and_nothing_is_charged() -> None:
    """Two of five may lie: p0 doubts p1, whose box was changed, is shown what p1 signed, and sees whose lie it is."""
    session = make_session(5)
    wire, request = asked(session, CHECK)
    changed = told(Boxes, lambda heard: Boxes((with_box(heard.boxes[0], bytes(112)), *heard.boxes[1:])), is_own=True)
    wire.down["p0"][0] = encode(changed(request))
    while available := wire.available():
        wire.deliver(available[0])
    failure = wire.failures["p0"]
    assert isinstance(failure, RemoteProtocolError)
    assert "the box of 'p1' was another one than it has signed" in str(failure)
    assert not session.ledgers["p0"].entries
    assert wire.result is not None
    assert wire.result.tallies == (tally_of(session, range(1, 5)),)


def test_a_server_that_tells_each_of_other_survivors_reads_nothing() -> None:
    """With T = 27 of 40 each is told of 28 survivors; without signatures the server would read the sum of 23."""
    number, threshold = 40, 27
    wire = make_session(number, threshold=threshold).wire()
    wire.start()
    while any(
        available := [each for each in wire.available() if each.direction == "up" or not asks(wire, each, CONFIRM)]
    ):
        wire.deliver(available[0])
    few: dict[int, tuple[int, ...]] = {}
    signatures: dict[int, bytes] = {}
    for place, name in enumerate(wire.session.names):
        others = [other for other in range(number) if other != place]
        few[place] = tuple(sorted((place, *others[place % 12 : place % 12 + threshold])))
        lie = Request(CONFIRM, msgspec.Raw(msgspec.msgpack.encode(Survivors(few[place]))))
        (said,) = wire.clients[name].receive("server", lie)
        assert isinstance(said, Send)
        assert isinstance(said.message, Report)
        signatures[place] = msgspec.msgpack.decode(said.message.payload, type=Confirmation).signature
    assert len({*few.values()}) > 1
    for place, name in enumerate(wire.session.names):
        heard = Confirmations(tuple((other, signatures[other]) for other in few[place]))
        lie = Request(UNMASK, msgspec.Raw(msgspec.msgpack.encode(heard)))
        effects = wire.clients[name].receive("server", lie)
        assert any(isinstance(effect, Fail) for effect in effects)
        assert not any(isinstance(effect, Send) and isinstance(effect.message, Report) for effect in effects)


# What does not fit

SMALL = (  # the points whose order divides 8, by their y, as libsodium lists them
    "00" * 32,
    "01" + "00" * 31,
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ec" + "ff" * 30 + "7f",
    "ed" + "ff" * 30 + "7f",  # 0 and 1 again, plus the prime
    "ee" + "ff" * 30 + "7f",
)


@pytest.mark.parametrize("sign", [0, 0x80])
@pytest.mark.parametrize("key", [*SMALL, "02" + "00" * 31, "f0" + "ff" * 30 + "7f"])
def test_a_key_by_which_anybody_could_sign_or_nobody_can_is_refused_and_its_party_named(key: str, sign: int) -> None:
    session = make_session(4)
    wrong = bytes.fromhex(key)
    wrong = wrong[:-1] + bytes([wrong[-1] | sign])
    keys = [*(session.roster.keys or ())[:2], wrong, *(session.roster.keys or ())[3:]]
    with pytest.raises(
        ConfigurationError, match=r"signature_key of 'p2' (is|are) .*32 bytes that are a point of Ed25519"
    ):
        Roster(session.names, session.inputs.public, keys=keys)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    keys = make_session(4).roster.keys
    assert keys is not None
    right = keys[0]
    check_signature_key("p0", right)
    with pytest.raises(ConfigurationError, match="signature_key of 'p0'"):
        check_signature_key("p0", (right * 2)[:length])


def test_a_party_leaves_whose_server_shows_an_agreed_roster_with_a_key_by_which_anybody_signs() -> None:
    session = make_session(4)
    _, request = asked(session, KEYS)
    signing = msgspec.msgpack.decode(request.payload, type=SigningRoster)
    signing = msgspec.structs.replace(signing, keys=(*signing.keys[:3], bytes.fromhex(SMALL[2])))
    session.descriptor = SessionDescriptor(session.descriptor.id, signing.digest)
    client = session.client("p0")
    client.start()
    client.receive("server", Welcome.make(session.protocol, descriptor=session.descriptor))
    effects = client.receive("server", Request(0, msgspec.Raw(msgspec.msgpack.encode(signing))))
    (failure,) = [effect.error for effect in effects if isinstance(effect, Fail)]
    assert "does not fit what was agreed to: signature_key of 'p3'" in str(failure)


def test_a_roster_that_fits_into_no_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psephos.protocol.messages.MAX_MESSAGE_BYTES", 200)
    with pytest.raises(ConfigurationError, match=r"5 names of 2 letters at most.*Make it fewer"):
        make_session(5).server()


def test_a_roster_without_keys_is_refused() -> None:
    session = make_session(4)
    session.roster = Roster(session.names, session.inputs.public)
    with pytest.raises(ConfigurationError, match=r"roster (is|are) .*one whose parties all have enrolled"):
        session.server()


def test_a_server_and_parties_agree_to_one_roster_of_keys() -> None:
    session = make_session(4)
    session.descriptor = SessionDescriptor(session.descriptor.id, "0" * 64)
    with pytest.raises(ConfigurationError, match=r"descriptor\.roster is .*: use"):
        session.server()
    session.descriptor = SessionDescriptor(session.descriptor.id)
    with pytest.raises(ConfigurationError, match=r"First agree on a roster"):
        session.client("p0")
    session.descriptor = SessionDescriptor()
    with pytest.raises(ConfigurationError, match="give session id"):
        session.client("p0")


def test_a_mode_without_primitives_is_refused() -> None:
    session = make_session(4)
    mode = SessionMode("session", session.noise, descriptor=session.descriptor)
    with pytest.raises(ConfigurationError, match=r"mode (is|are) .*a mode of agents"):
        ServerMachine(session.protocol, session.roster, mode)


@pytest.mark.parametrize(
    ("number", "threshold", "colluders"), [(4, 2, 0), (4, 3, 2), (4, 5, 0), (40, 20, 0), (40, 21, 2)]
)
def test_a_threshold_that_does_not_fit_is_refused_and_the_inequality_is_shown(
    number: int, threshold: int, colluders: int
) -> None:
    session = make_session(number, threshold=threshold, colluders=colluders)
    with pytest.raises(ConfigurationError, match=rf"2 \* threshold > parties \+ colluders = {number} \+ {colluders}"):
        session.server()


def test_a_masked_phase_is_its_protocol_s_only_one() -> None:
    class Twice(PrivateSum):
        def make_phases(self) -> Any:
            (first,) = super().make_phases()
            (second,) = super().make_phases()
            second.name = "again"
            return (first, second)

    with pytest.raises(ConfigurationError, match="a masked phase is its protocol's only one"):
        _ = Twice(Size()).phases
