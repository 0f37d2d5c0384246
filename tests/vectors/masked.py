"""Vectors of masked votes: who leaves, and what a server and parties may try.

A lie of the server's ends the part of the party that hears it. A party's fault ends its own row; what it has signed
names it, with evidence.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import liars
import msgspec
from helpers import SERVER, raw
from liars import befriend
from masked_sums import MaskedSession
from masking_dealer import PRIMITIVES, STEPS, answer
from psephos.protocol import SessionRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.masked_sessions import masking_rules
from psephos.protocol.masking import (
    Boxes,
    Check,
    Confirmation,
    Confirmations,
    Deal,
    Disputes,
    Excluded,
    Keys,
    Liars,
    MaskingParty,
    MaskingRules,
    NeighborKeys,
    Shares,
    Survivors,
)
from psephos.protocol.masking.deals import KnownDeal
from psephos.protocol.masking.evidence import NoSecret
from psephos.protocol.messages import NIL, Abort, Message, Report, Request, decode
from psephos.protocol.population import draw_reports
from psephos.protocol.roster import SigningRoster

from .recorder import Recorder, all_goes_well

KEYS, SHARES, CHECK, ACCUSE, MASKED, CONFIRM, UNMASK, OPEN = range(8)
_HEARD: Final[Mapping[int, Any]] = {
    KEYS: SigningRoster,
    SHARES: NeighborKeys,
    CHECK: Boxes,
    ACCUSE: Disputes,
    MASKED: Excluded,
    CONFIRM: Survivors,
    UNMASK: Confirmations,
    OPEN: Liars,
}
_OWN: Final = frozenset((CHECK, ACCUSE, OPEN))
"""The steps whose questions are for one party alone."""
_SAID: Final[Mapping[int, Any]] = {
    KEYS: Keys,
    SHARES: Deal,
    CHECK: Check,
    CONFIRM: Confirmation,
    UNMASK: Shares,
}
VICTIM: Final = "p0"

Lie = Callable[[Recorder, Any], Any]
"""(the session so far, what the server would tell p0) → what it tells p0."""


def _session(num_partners: int = 4, *, threshold: int = 3, **given: Any) -> MaskedSession:
    fields: dict[str, Any] = {
        "candidates": ("ada", "bob"),
        "epsilon": 2.0,
        "variant": "masked",
        "colluders": 0,
        **given,
    }
    vote = DPWeVote(Parameters(threshold=threshold, **fields))
    table = {"weight": [1, 2, 3, 2, 1], "ada": [1, 0, 1, 1, 0], "bob": [0, 0, 1, 0, 1]}
    inputs = vote.encode({column: own[:num_partners] for column, own in table.items()})
    return MaskedSession(vote, inputs, seed=2017, rules=SessionRules())


def _asks(message: Message, step: int) -> bool:
    return isinstance(message, Request) and message.step == step


def _hold(recorder: Recorder, step: int, party: str = VICTIM) -> Any:
    """Let a session go on until a party is asked for a step and all else has come; return what it is to hear."""
    while True:
        going = [(sender, to) for _, sender, to, said in recorder.waiting if to != party or not _asks(said, step)]
        if not going:
            break
        recorder.deliver(*going[0])
    ((_, _, _, request),) = recorder.waiting
    assert isinstance(request, Request)
    payload = request.own if step in _OWN else request.payload
    return msgspec.msgpack.decode(payload, type=_HEARD[step])


def _held(about: str, step: int) -> tuple[Recorder, Any]:
    """Return a session of four, of whom three are enough, in which p0 is about to hear what a step begins with."""
    recorder = Recorder(_session(), about)
    recorder.start(*recorder.session.names)
    return recorder, _hold(recorder, step)


def _told(step: int, value: Any) -> Request:
    """Return a request that tells a party so."""
    return Request(step, NIL, raw(value)) if step in _OWN else Request(step, raw(value))


def _said(recorder: Recorder, step: int, party: str) -> Any:
    """Return what a party has said in a step."""
    for entry in recorder.messages:
        message = decode(bytes.fromhex(entry["bytes"]))
        if isinstance(message, Report) and (entry["from"], message.step) == (party, step):
            return msgspec.msgpack.decode(message.payload, type=_SAID[step])
    raise LookupError(party)


def _lied_to(about: str, step: int, lie: Lie) -> Recorder:
    """Record a session in which p0 is told a lie and leaves; the others go on."""
    recorder, heard = _held(about, step)
    recorder.waiting.clear()
    recorder.forge(SERVER, VICTIM, _told(step, lie(recorder, heard)))
    recorder.deliver_all()
    return recorder


def _replaced(pairs: tuple[tuple[int, Any], ...], place: int, new: Any) -> tuple[tuple[int, Any], ...]:
    return tuple((each, new if each == place else own) for each, own in pairs)


def _masking_rules(recorder: Recorder) -> MaskingRules:
    session = recorder.session
    phase, signing = session.protocol.masked_phase, session.roster.signing_roster
    assert phase is not None
    assert signing is not None
    return masking_rules(session.protocol, phase, signing, session.mode())


def _signed_keys(recorder: Recorder, place: int, **changed: bytes) -> Keys:
    """Return keys that a party in league with the server has signed: one of them is another than all else hear."""
    session = recorder.session
    assert isinstance(session, MaskedSession)
    keys = msgspec.structs.replace(_said(recorder, KEYS, session.names[place]), **changed)
    about = _masking_rules(recorder).keys_statement(place, keys)
    return msgspec.structs.replace(keys, signature=session.signers[place](about))


def _lying(about: str, kinds: Mapping[str, type[MaskingParty]]) -> Recorder:
    """Record a session of five, of whom three are enough, in which some parties lie: what their machines say is kept.

    Each liar's part is played beside its machine, with its keys, and hears the same.
    """
    session = _session(5)
    recorder = Recorder(session, about)
    rules, places = _masking_rules(recorder), {name: session.names.index(name) for name in kinds}
    (phase,) = session.protocol.phases
    drawn = draw_reports(phase, session.inputs, noise=session.fresh_noise(), protocol=session.protocol.name, start=0)
    parts = {
        name: kind(rules, place, root=session.roots[place], sign=session.signers[place], primitives=PRIMITIVES)
        for (name, kind), place in zip(kinds.items(), places.values(), strict=True)
    }
    befriend(dict(zip(places.values(), parts.values(), strict=True)))
    recorder.start(*session.names)
    while recorder.waiting:
        number, sender, recipient, message = recorder.waiting[0]
        if sender in parts and isinstance(message, Report | Abort) and "forged" not in recorder.messages[number]:
            del recorder.waiting[0]
            continue
        recorder.deliver()
        if recipient in parts and isinstance(message, Request):
            heard = msgspec.msgpack.decode(
                message.own if message.step in _OWN else message.payload, type=_HEARD[message.step]
            )
            if isinstance(heard, NeighborKeys):  # all hear the same
                heard = NeighborKeys(tuple(each for each in heard.keys if each[0] != places[recipient]))
            said = answer(parts[recipient], STEPS[message.step], heard, drawn[places[recipient]].tolist())
            recorder.forge(recipient, SERVER, Report(message.step, phase.steps[message.step].codec.encode(said)))
    return recorder


def _with_keys(make: Callable[[Recorder], Keys]) -> Lie:
    return lambda recorder, heard: NeighborKeys(_replaced(heard.keys, 2, make(recorder)))


def _forged_keys(recorder: Recorder) -> Keys:
    other = _said(recorder, KEYS, "p1")
    return msgspec.structs.replace(_said(recorder, KEYS, "p2"), of_masks=other.of_boxes)


def _another_roster(_: Recorder, heard: SigningRoster) -> SigningRoster:
    return msgspec.structs.replace(heard, keys=(*heard.keys[:2], heard.keys[3], heard.keys[2]))


def _with_box(heard: Boxes, **changed: bytes) -> Boxes:
    first, *rest = heard.boxes
    return Boxes((msgspec.structs.replace(first, **changed), *rest))


def _changed_box(_: Recorder, heard: Boxes) -> Boxes:
    box = heard.boxes[0].box
    return _with_box(heard, box=bytes([box[0] ^ 1]) + box[1:])


def _swapped_boxes(_: Recorder, heard: Boxes) -> Boxes:
    one, other, *rest = heard.boxes
    swapped = msgspec.structs.replace(one, box=other.box), msgspec.structs.replace(other, box=one.box)
    return Boxes((*swapped, *rest))


def _not_excluded() -> Recorder:
    """Record a session in which p0 is lied to about a box, and then asked for its row as if it had said nothing."""
    recorder, heard = _held("The server changes a box for p0, and does not leave out whose box p0 then doubts.", CHECK)
    recorder.waiting.clear()
    recorder.forge(SERVER, VICTIM, _told(CHECK, _changed_box(recorder, heard)))
    recorder.deliver()
    recorder.waiting.clear()
    recorder.forge(SERVER, VICTIM, _told(MASKED, Excluded(())))
    recorder.deliver_all()
    return recorder


def _unsigned_dispute() -> Recorder:
    """Record a session in which p0 is lied to about a box, and shown that its dealer signed another entry."""
    recorder, heard = _held("The server changes a box for p0, and says that p1 has dealt that.", CHECK)
    recorder.waiting.clear()
    changed = _changed_box(recorder, heard)
    recorder.forge(SERVER, VICTIM, _told(CHECK, changed))
    recorder.deliver()
    recorder.deliver()
    ((_, _, _, request),) = [entry for entry in recorder.waiting if _asks(entry[3], ACCUSE)]
    assert isinstance(request, Request)
    (dispute,) = msgspec.msgpack.decode(request.own, type=Disputes).disputes
    entry = msgspec.structs.replace(dispute.entry, box=changed.boxes[0].box)
    recorder.waiting.clear()
    recorder.forge(SERVER, VICTIM, _told(ACCUSE, Disputes((msgspec.structs.replace(dispute, entry=entry),))))
    recorder.deliver_all()
    return recorder


def _open_an_honest_one() -> Recorder:
    """Record a session in which p0 is asked for all that it holds of somebody honest."""
    recorder, _ = _held(
        "The server asks p0 for all that it holds of p1, who has not lied: it would open p1's row.", UNMASK
    )
    recorder.deliver()
    recorder.waiting.clear()
    deal = _said(recorder, SHARES, "p1")
    known = {place: _said(recorder, KEYS, f"p{place}") for place in range(4)}
    shares = tuple((place, _said(recorder, UNMASK, "p0").shares[1][2]) for place in range(3))
    evidence = NoSecret(
        place=1,
        keys=known[1],
        check=_said(recorder, CHECK, "p1"),
        blinding=deal.blinding,
        seed=deal.seed,
        leaves=tuple((piece.place, piece.leaves) for piece in deal.pieces),
        chunks=KnownDeal(_masking_rules(recorder), 1, known, deal).chunks,
        is_of_seed=True,
        shares=shares,
    )
    recorder.forge(SERVER, VICTIM, _told(OPEN, Liars((evidence,))))
    recorder.deliver_all()
    return recorder


def _leaving() -> Recorder:
    about = (
        "Three of five are enough: p1 leaves before its masked row and is in no sum; p3 leaves after it, and counts."
    )
    recorder = Recorder(_session(5), about)
    recorder.start(*recorder.session.names)
    for step, party in ((MASKED, "p1"), (CONFIRM, "p3")):
        _hold(recorder, step, party)
        recorder.lose(party)
    recorder.deliver_all()
    return recorder


def _too_few() -> Recorder:
    recorder, _ = _held("Two of four leave after their masked rows: no row is opened.", CONFIRM)
    for party in ("p0", "p1"):
        recorder.lose(party)
    recorder.deliver_all()
    return recorder


def _two_sets() -> Recorder:
    about = (
        "The server tells p0 of other survivors than the others, whose signatures are then on another set: p0 leaves."
    )
    recorder, survivors = _held(about, CONFIRM)
    recorder.waiting.clear()
    recorder.forge(SERVER, VICTIM, _told(CONFIRM, Survivors(survivors.places[:3])))
    recorder.deliver()
    recorder.waiting.clear()  # what p0 has signed, the server keeps for itself
    signatures = [(place, _said(recorder, CONFIRM, f"p{place}").signature) for place in range(3)]
    recorder.forge(SERVER, VICTIM, _told(UNMASK, Confirmations(tuple(signatures))))
    recorder.deliver_all()
    return recorder


def _asked_twice(about: str, step: int, again: Callable[[Any], Any]) -> Recorder:
    """Record a session in which p0 answers a step, and is asked for it again, with something else."""
    recorder, heard = _held(about, step)
    recorder.deliver()
    recorder.forge(SERVER, VICTIM, _told(step, again(heard)))
    recorder.deliver_last()
    recorder.deliver_all()
    return recorder


def _boxes_for_all() -> Recorder:
    recorder, boxes = _held("The server tells all what is for one party alone, and p0 leaves.", CHECK)
    recorder.waiting.clear()
    recorder.forge(SERVER, VICTIM, Request(CHECK, raw(boxes)))
    recorder.deliver_all()
    return recorder


def _wrong_answer(about: str, step: int, change: Callable[[Any], Any]) -> Recorder:
    """Record a session in which p0 answers a step, and somebody changes that on its way."""
    recorder, _ = _held(about, step)
    recorder.deliver()
    recorder.waiting.clear()
    said = None if step == MASKED else _said(recorder, step, VICTIM)
    recorder.forge(VICTIM, SERVER, Report(step, raw(change(said))))
    recorder.deliver_all()
    return recorder


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_masked": lambda: all_goes_well(
        _session(), "Four partners add up their masked rows; the server learns a sum."
    ),
    "good_masked_public_weights": lambda: all_goes_well(
        _session(public_weights=True), "The same where weights are public, and who weighs less pays less."
    ),
    "good_masked_leaving": _leaving,
    "bad_masked_too_few_left": _too_few,
    "bad_masked_another_roster": lambda: _lied_to(
        "The server shows p0 another roster of keys than it has agreed to; p0 leaves, the others go on.",
        KEYS,
        _another_roster,
    ),
    "bad_masked_forged_keys": lambda: _lied_to(
        "The server changes a key of p2, which did not sign it; p0 leaves, the others go on.",
        SHARES,
        _with_keys(_forged_keys),
    ),
    "bad_masked_keys_of_another": lambda: _lied_to(
        "The server tells p0 keys of p1 as those of p2.", SHARES, _with_keys(lambda own: _said(own, KEYS, "p1"))
    ),
    "bad_masked_one_key_for_two": lambda: _lied_to(
        "p2 is in league with the server, and signs a key that is p1's.",
        SHARES,
        _with_keys(lambda own: _signed_keys(own, 2, of_masks=_said(own, KEYS, "p1").of_masks)),
    ),
    "bad_masked_key_of_low_order": lambda: _lied_to(
        "p2 is in league with the server, and signs a key with which all have the same in common.",
        SHARES,
        _with_keys(lambda own: _signed_keys(own, 2, of_masks=bytes(32))),
    ),
    "bad_masked_too_few_neighbors": lambda: _lied_to(
        "The server tells p0 of one neighbor, so that few masks would cover its row.",
        SHARES,
        lambda _, heard: NeighborKeys(heard.keys[:2]),
    ),
    "bad_masked_changed_box": lambda: _lied_to(
        "The server changes a bit of a box for p0, which doubts it, and sees that its dealer signed another.",
        CHECK,
        _changed_box,
    ),
    "bad_masked_swapped_boxes": lambda: _lied_to(
        "The server swaps two boxes for p0, where one party at most may lie.", CHECK, _swapped_boxes
    ),
    "bad_masked_too_few_boxes": lambda: _lied_to(
        "The server keeps two of three boxes for p0 back.", CHECK, lambda _recorder, heard: Boxes(heard.boxes[:1])
    ),
    "bad_masked_boxes_for_all": _boxes_for_all,
    "bad_masked_mark_of_another_entry": lambda: _lied_to(
        "The server tells p0 that a right box is of another entry.",
        CHECK,
        lambda _recorder, heard: _with_box(heard, mark=heard.boxes[1].mark),
    ),
    "bad_masked_unsigned_dispute": _unsigned_dispute,
    "bad_masked_doubted_and_not_left_out": _not_excluded,
    "bad_masked_too_many_left_out": lambda: _lied_to(
        "The server says that two of four are left out, where three have to be left.",
        MASKED,
        lambda _recorder, _heard: Excluded((1, 2)),
    ),
    "bad_masked_left_out_oneself": lambda: _lied_to(
        "The server asks p0 for its row, and says that p0 is left out.",
        MASKED,
        lambda _recorder, _heard: Excluded((0,)),
    ),
    "bad_masked_all_of_an_honest_dealer": _open_an_honest_one,
    "bad_masked_survivors_without_oneself": lambda: _lied_to(
        "The server says that p0, whose masked row it has, did not survive.",
        CONFIRM,
        lambda _recorder, _heard: Survivors((1, 2, 3)),
    ),
    "bad_masked_too_few_survivors": lambda: _lied_to(
        "The server asks p0 to sign that two survived, of whom it would read the sum.",
        CONFIRM,
        lambda _recorder, _heard: Survivors((0, 1)),
    ),
    "bad_masked_two_sets_of_survivors": _two_sets,
    "bad_masked_second_set_to_sign": lambda: _asked_twice(
        "The server asks p0, who has signed, to sign another set of survivors.",
        CONFIRM,
        lambda heard: Survivors(heard.places[:3]),
    ),
    "bad_masked_too_few_signatures": lambda: _lied_to(
        "The server shows p0 two signatures where three are needed.",
        UNMASK,
        lambda _, heard: Confirmations(heard.signatures[:2]),
    ),
    "bad_masked_signature_of_another": lambda: _lied_to(
        "The server shows p0 a signature of p1 as that of p2.",
        UNMASK,
        lambda _, heard: Confirmations(_replaced(heard.signatures, 2, dict(heard.signatures)[1])),
    ),
    "bad_masked_second_shares": lambda: _asked_twice(
        "The server asks p0, who has told one share of each party, once more: it would have both.",
        UNMASK,
        lambda heard: Confirmations(heard.signatures[:3]),
    ),
    "bad_masked_unsigned_keys": lambda: _wrong_answer(
        "Keys come in p0's name that it has not signed; its row ends, the others go on.",
        KEYS,
        lambda said: msgspec.structs.replace(said, signature=bytes(64)),
    ),
    "bad_masked_deal_for_few": lambda: _wrong_answer(
        "p0 deals to one neighbor alone; its row ends, the others go on.",
        SHARES,
        lambda said: msgspec.structs.replace(said, pieces=said.pieces[:2]),
    ),
    "bad_masked_check_of_another_deal": lambda: _wrong_answer(
        "p0 signs another deal than it has sent; its row ends, the others go on.",
        CHECK,
        lambda said: msgspec.structs.replace(said, deal=said.held),
    ),
    "bad_masked_unsigned_check": lambda: _wrong_answer(
        "p0's word on the deals is not signed; its row ends, the others go on.",
        CHECK,
        lambda said: msgspec.structs.replace(said, signature=bytes(64)),
    ),
    "bad_masked_row_of_another_width": lambda: _wrong_answer(
        "p0 sends one masked number where there are three; its row ends, the others go on.", MASKED, lambda _: [7]
    ),
    "bad_masked_wrong_signature": lambda: _wrong_answer(
        "p0's signature is on something else; it has survived, and counts.", CONFIRM, lambda _: Confirmation(bytes(64))
    ),
    "bad_masked_shares_of_few": lambda: _wrong_answer(
        "p0 tells shares of two parties alone; it has survived, and counts.",
        UNMASK,
        lambda said: msgspec.structs.replace(said, shares=said.shares[:2]),
    ),
    "bad_masked_unsigned_shares": lambda: _wrong_answer(
        "p0's shares are not those that it has signed; it has survived, and counts.",
        UNMASK,
        lambda said: msgspec.structs.replace(said, shares=(*said.shares[:3], (3, True, said.shares[0][2]))),
    ),
    "bad_masked_liar_about_keys": lambda: _lying(
        "p1 signs a key that is no point of the group; it is named, and the others go on.",
        {"p1": liars.KeysOutsideTheGroup},
    ),
    "bad_masked_liar_about_a_deal": lambda: _lying(
        "p1 deals shares of another seed than its point; it is named when it has signed that, and the others go on.",
        {"p1": liars.AnotherSeed},
    ),
    "bad_masked_liar_about_a_box": lambda: _lying(
        "p1 seals a box for p0 that holds another value than its leaf; p0 accuses it, p1 is named, the others go on.",
        {"p1": liars.BoxOfOtherValues},
    ),
    "bad_masked_liar_who_accuses": lambda: _lying(
        "p1 accuses p0, whose box is right, and shows what opens it: p1 is named, the others go on.",
        {"p1": liars.FalseAccuser},
    ),
    "bad_masked_liar_with_a_wrong_proof": lambda: _lying(
        "p1 accuses p0 with another point than they have in common: p1 is named, the others go on.",
        {"p1": liars.AccuserWithAnotherPoint},
    ),
    "bad_masked_liar_about_a_share": lambda: _lying(
        "p1 tells other shares than it has acknowledged; it is named, and the sum opens without them.",
        {"p1": liars.TellerOfAnotherShare},
    ),
    "bad_masked_two_liars": lambda: _lying(
        "p1 deals p2 what fits its leaf and not p1's seed, and p2 tells it. p1 is named, and all tell what they hold "
        "of p1; p2 tells another h than it has acknowledged and is named, too. The sum opens.",
        {"p1": liars.ConspiringDealer, "p2": liars.Conspirator},
    ),
}
