"""What a server may try, each caught by a party with a sentence."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from masking_dealer import LOW_ORDER, PRIMITIVES, ROWS, USUAL_STEPS, Dealer, keys_of, total_of_rows
from psephos.protocol import LocalProtocolError, RemoteProtocolError
from psephos.protocol.arrays import IntArray
from psephos.protocol.masking import (
    Boxes,
    Check,
    Confirmation,
    Confirmations,
    Deal,
    Disputes,
    Excluded,
    HeldBox,
    Keys,
    Liars,
    Masked,
    MaskingMove,
    MaskingParty,
    MaskingState,
    NeighborKeys,
    Shares,
    Survivors,
)
from psephos.protocol.masking.evidence import NoSecret
from psephos.protocol.masking.party import agreements, mask_of, mask_of_seed
from psephos.protocol.masking.scalars import scalar_from, value_at_zero


def box_for(dealer: Dealer, sender: int, recipient: int) -> bytes:
    said = dealer.said[sender, MaskingMove.SHARES]
    assert isinstance(said, Deal)
    return said.pieces[recipient].box


def signed(dealer: Dealer, place: int, survivors: tuple[int, ...]) -> bytes:
    keys = {each: keys_of(dealer, each) for each in survivors}
    return dealer.signers[place](dealer.rules.survivors_statement(survivors, (), keys))


def other_keys(dealer: Dealer, place: int, **changed: bytes) -> Keys:
    """Return keys that a party has signed, with one that is another: the party is in league with the server."""
    keys = msgspec.structs.replace(keys_of(dealer, place), **changed)
    return msgspec.structs.replace(keys, signature=dealer.signers[place](dealer.rules.keys_statement(place, keys)))


Change = Callable[[Dealer, Any], Any]


def told(lied: MaskingMove, change: Change, *more: tuple[MaskingMove, Change]) -> Callable[[Dealer], Any]:
    """Return the lie that changes what party 0 hears after a step, or after several."""

    def of(dealer: Dealer) -> Any:
        changes = {lied: change, **dict(more)}

        def lie(move: MaskingMove, place: int, heard: Any) -> Any:
            return changes[move](dealer, heard) if place == 0 and move in changes else heard

        return lie

    return of


def replaced(pairs: tuple[tuple[int, Any], ...], place: int, new: Any) -> tuple[tuple[int, Any], ...]:
    return tuple((each, new if each == place else own) for each, own in pairs)


def keys_with(place: int, make: Callable[[Dealer], Keys]) -> Callable[[Dealer], Any]:
    return told(MaskingMove.KEYS, lambda dealer, heard: NeighborKeys(replaced(heard.keys, place, make(dealer))))


def other_box(place: int, heard: Boxes, **changed: bytes) -> Boxes:
    return Boxes(
        tuple(msgspec.structs.replace(own, **changed) if own.place == place else own for own in heard.boxes),
    )


def boxes_with(place: int, make: Callable[[Dealer, HeldBox], dict[str, bytes]]) -> Callable[[Dealer], Any]:
    def change(dealer: Dealer, heard: Boxes) -> Boxes:
        (own,) = (each for each in heard.boxes if each.place == place)
        return other_box(place, heard, **make(dealer, own))

    return told(MaskingMove.SHARES, change)


def doubting(change: Callable[[Dealer, Disputes], Any]) -> Callable[[Dealer], Any]:
    """Return the lie that has party 0 doubt p3, whose box the server changes, and then changes what it hears of it."""
    return told(
        MaskingMove.SHARES,
        lambda _, heard: other_box(3, heard, box=bytes(112)),
        (MaskingMove.CHECK, change),
    )


def dispute_with(**changed: Callable[[Any], Any]) -> Callable[[Dealer], Any]:
    def change(_: Dealer, heard: Disputes) -> Disputes:
        (own,) = heard.disputes
        fields = {name: make(getattr(own, name)) for name, make in changed.items()}
        return Disputes((msgspec.structs.replace(own, **fields),))

    return doubting(change)


def excluding(*places: int) -> Callable[[Dealer], Any]:
    return told(MaskingMove.CHECK, lambda _, __: Excluded(places))


def surviving(*places: int) -> Callable[[Dealer], Any]:
    return told(MaskingMove.MASKED, lambda _, __: Survivors(places))


def other_session() -> Dealer:
    dealer = Dealer(5, 4, session="another")
    dealer.run(ROWS)
    return dealer


LIES: dict[str, tuple[Callable[[Dealer], Any], str]] = {
    "keys that somebody forged": (
        keys_with(2, lambda dealer: msgspec.structs.replace(keys_of(dealer, 2), of_masks=keys_of(dealer, 1).of_boxes)),
        "the keys of 'p2' are not signed by it for this phase",
    ),
    "keys of another session": (
        keys_with(2, lambda _: keys_of(other_session(), 2)),
        "the keys of 'p2' are not signed by it for this phase",
    ),
    "keys of another party": (
        keys_with(2, lambda dealer: keys_of(dealer, 1)),
        "the keys of 'p2' are not signed by it for this phase",
    ),
    "one key for two parties": (
        keys_with(2, lambda dealer: other_keys(dealer, 2, of_masks=keys_of(dealer, 1).of_masks)),
        "the keys of 'p2' are somebody's already",
    ),
    "one's own key as another's": (
        keys_with(2, lambda dealer: other_keys(dealer, 2, of_masks=keys_of(dealer, 0).of_masks)),
        "the keys of 'p2' are somebody's already",
    ),
    **{
        f"a key of masks of low order, {number}": (
            keys_with(2, lambda dealer, key=key: other_keys(dealer, 2, of_masks=key)),
            "a key of a neighbor is of low order",
        )
        for number, key in enumerate(LOW_ORDER)
    },
    "a key of boxes of low order": (
        keys_with(2, lambda dealer: other_keys(dealer, 2, of_boxes=bytes(32))),
        "a key of a neighbor is of low order",
    ),
    "a neighbor twice": (
        told(MaskingMove.KEYS, lambda _, heard: NeighborKeys((*heard.keys, heard.keys[0]))),
        "the keys of a neighbor came twice",
    ),
    "a neighbor from nowhere": (
        told(MaskingMove.KEYS, lambda _, heard: NeighborKeys((*heard.keys, (9, heard.keys[0][1])))),
        "keys came of party 9, which is no neighbor",
    ),
    "oneself as a neighbor": (
        told(MaskingMove.KEYS, lambda dealer, heard: NeighborKeys((*heard.keys, (0, keys_of(dealer, 0))))),
        "keys came of party 0, which is no neighbor",
    ),
    "too few neighbors": (
        told(MaskingMove.KEYS, lambda _, heard: NeighborKeys(heard.keys[:2])),
        "keys came of 2 neighbors, and at least 3 are needed",
    ),
    "a box that was changed": (
        boxes_with(3, lambda _, __: {"box": bytes(112)}),
        "the box of 'p3' was another one than it has signed",
    ),
    "a box for somebody else": (
        boxes_with(3, lambda dealer, _: {"box": box_for(dealer, 3, 1)}),
        "the box of 'p3' was another one than it has signed",
    ),
    "one's own box": (
        boxes_with(3, lambda dealer, _: {"box": box_for(dealer, 0, 3)}),
        "the box of 'p3' was another one than it has signed",
    ),
    "a box of another session": (
        boxes_with(3, lambda _, __: {"box": box_for(other_session(), 3, 0)}),
        "the box of 'p3' was another one than it has signed",
    ),
    "another mark of a box": (
        boxes_with(3, lambda _, own: {"mark": own.mark[1:] + own.mark[:1]}),
        "the box of 'p3' was another one than it has signed",
    ),
    "another alpha of a box": (
        boxes_with(3, lambda _, own: {"alpha": own.alpha[1:] + own.alpha[:1]}),
        "the box of 'p3' was another one than it has signed",
    ),
    "more boxes that do not open than parties may lie": (
        told(
            MaskingMove.SHARES,
            lambda _, heard: other_box(3, other_box(2, heard, box=bytes(112)), box=bytes(112)),
        ),
        "the boxes of 2 parties do not open, and 1 at most may lie",
    ),
    "a dispute about what its dealer did not sign": (
        dispute_with(check=lambda check: msgspec.structs.replace(check, doubted=(1,))),
        "'p3' has not signed what it is said to have dealt",
    ),
    "a dispute about another entry": (
        dispute_with(entry=lambda entry: msgspec.structs.replace(entry, box=bytes(112))),
        "what 'p3' is said to have dealt is not what it has signed",
    ),
    "a dispute about a path to another deal": (
        dispute_with(path=lambda path: msgspec.structs.replace(path, chunks=(*path.chunks, bytes(32)))),
        "what 'p3' is said to have dealt is not what it has signed",
    ),
    "a dispute about whom it does not doubt": (
        dispute_with(place=lambda _: 2),
        "the disputes are not of boxes that this party doubts, each once",
    ),
    "a dispute twice": (
        doubting(lambda _, heard: Disputes(heard.disputes * 2)),
        "the disputes are not of boxes that this party doubts, each once",
    ),
    "no disputes": (
        doubting(lambda _, __: Disputes(())),
        "the disputes are not of boxes that this party doubts, each once",
    ),
    "a box twice": (
        told(MaskingMove.SHARES, lambda _, heard: Boxes((*heard.boxes, heard.boxes[0]))),
        "the boxes of a neighbor came twice",
    ),
    "a box from nowhere": (
        told(
            MaskingMove.SHARES, lambda _, heard: Boxes((*heard.boxes, msgspec.structs.replace(heard.boxes[0], place=7)))
        ),
        "boxes came of party 7, which is no neighbor",
    ),
    "too few boxes": (
        told(MaskingMove.SHARES, lambda _, heard: Boxes(heard.boxes[:2])),
        "boxes came of 2 neighbors, and at least 3 are needed",
    ),
    "oneself left out": (excluding(0), "this party is left out, and is asked for its values"),
    "somebody left out twice": (excluding(1, 1), "those who are left out are not distinct parties of the roster"),
    "somebody from nowhere left out": (excluding(5), "those who are left out are not distinct parties of the roster"),
    "too many left out": (excluding(1, 2), "3 parties are left, and 4 have to be"),
    "survivors without oneself": (
        surviving(1, 2, 3, 4),
        "the survivors lack this party, whose values it has sent",
    ),
    "too few survivors": (
        surviving(0, 1, 2),
        "3 parties survived, and at least 4 have to",
    ),
    "a survivor twice": (
        surviving(0, 1, 1, 2, 3),
        "the survivors are not distinct parties of the roster, in order",
    ),
    "a survivor from nowhere": (
        surviving(0, 1, 2, 3, 5),
        "the survivors are not distinct parties of the roster, in order",
    ),
    "no survivors": (
        surviving(),
        "the survivors are not distinct parties of the roster, in order",
    ),
    "signatures on other survivors": (
        told(
            MaskingMove.CONFIRM,
            lambda dealer, heard: Confirmations(replaced(heard.signatures, 2, signed(dealer, 2, (0, 1, 2, 3)))),
        ),
        "'p2' has not signed that these survived",
    ),
    "one signature for another": (
        told(
            MaskingMove.CONFIRM,
            lambda _, heard: Confirmations(replaced(heard.signatures, 2, dict(heard.signatures)[1])),
        ),
        "'p2' has not signed that these survived",
    ),
    "a signature twice": (
        told(MaskingMove.CONFIRM, lambda _, heard: Confirmations((*heard.signatures[:3], heard.signatures[0]))),
        "the signatures on the survivors are not those of distinct neighbors",
    ),
    "a signature from nowhere": (
        told(MaskingMove.CONFIRM, lambda _, heard: Confirmations((*heard.signatures, (8, bytes(64))))),
        "the signatures on the survivors are not those of distinct neighbors",
    ),
    "signatures short of the threshold": (
        told(MaskingMove.CONFIRM, lambda _, heard: Confirmations(heard.signatures[:3])),
        "3 parties have signed who survived, and 4 have to",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_each_lie_is_caught_and_ends_the_party_s_part(name: str) -> None:
    make, said = LIES[name]
    dealer = Dealer(5, 4)
    with pytest.raises(RemoteProtocolError, match=said) as caught:
        dealer.run(ROWS, lie=make(dealer))
    assert (caught.value.sender, caught.value.role) == ("server", "client")
    party = dealer.parties[0]
    assert party.state is MaskingState.ENDED
    with pytest.raises(LocalProtocolError, match="cannot follow 'ended'"):
        party.unmask(Confirmations(()))


def test_without_a_lie_the_same_session_ends() -> None:
    assert Dealer(5, 4).run(ROWS) == total_of_rows(ROWS, range(5))


def test_whom_a_party_accuses_has_to_be_left_out() -> None:
    """The server changes a box, and asks p0 for its values as if it had doubted nothing."""
    dealer = Dealer(5, 4)
    lie = doubting(lambda _, __: Excluded(()))(dealer)
    heard: Mapping[int, Any] = dict.fromkeys(range(5))
    for move in (MaskingMove.KEYS, MaskingMove.SHARES, MaskingMove.CHECK):
        for place in heard:
            dealer.say(place, move, dealer.answer(place, move, heard[place], ROWS[place]))
        heard = {place: lie(move, place, own) for place, own in dealer.server.close().items()}
    with pytest.raises(RemoteProtocolError, match="'p3' is not left out, whose box does not hold what it should"):
        dealer.parties[0].mask(heard[0], ROWS[0])


def test_whoever_is_left_has_to_have_dealt_what_a_party_holds() -> None:
    """The server keeps a box back, and says that its dealer masks."""
    dealer = Dealer(5, 4)
    dealer.run(ROWS, until=MaskingMove.SHARES)
    boxes = dealer.server.close()[0]
    assert isinstance(boxes, Boxes)
    dealer.parties[0].check(Boxes(boxes.boxes[:-1]))
    with pytest.raises(RemoteProtocolError, match="'p4' is not left out, and its box never came"):
        dealer.parties[0].mask(Excluded(()), ROWS[0])


def test_of_whom_was_left_out_nobody_survives() -> None:
    dealer = Dealer(5, 4)
    dealer.run(ROWS, leaves={4: MaskingMove.CHECK}, until=MaskingMove.MASKED)
    with pytest.raises(RemoteProtocolError, match="'p4' is said to have survived, and was left out before"):
        dealer.parties[0].confirm(Survivors((0, 1, 2, 3, 4)))


def test_who_has_signed_must_have_survived() -> None:
    dealer = Dealer(5, 4)
    dealer.run(ROWS, leaves={4: MaskingMove.MASKED}, until=MaskingMove.CONFIRM)
    survivors = (0, 1, 2, 3)
    signatures = tuple((place, signed(dealer, place, survivors)) for place in range(1, 5))
    with pytest.raises(RemoteProtocolError, match="a party has signed that is said not to have survived"):
        dealer.parties[0].unmask(Confirmations(signatures))


def test_of_nobody_both_shares_are_said() -> None:
    """Of who has left the one, of who survived the other, and no second time."""
    dealer = Dealer(5, 4)
    dealer.run(ROWS, leaves={4: MaskingMove.MASKED})
    held = dealer.parties[0]._dealt_values  # pyright: ignore[reportPrivateUsage]  what a party never tells
    said = dealer.said[0, MaskingMove.UNMASK]
    assert isinstance(said, Shares)
    of_key, of_seed = slice(32), slice(32, 64)
    shares = tuple((place, place != 4, held[place][of_key if place == 4 else of_seed]) for place in range(5))
    assert said.shares == shares


@pytest.mark.parametrize("places", [(), (0,), (2, 2), (9,)])
def test_all_is_told_of_dealers_alone_each_once(places: tuple[int, ...]) -> None:
    dealer = Dealer(5, 4)
    dealer.run(ROWS)
    check, of = dealer.said[2, MaskingMove.CHECK], keys_of(dealer, 2)
    assert isinstance(check, Check)
    nothing: dict[str, Any] = {"blinding": bytes(32), "seed": bytes(32), "leaves": (), "chunks": (), "shares": ()}
    liars = (NoSecret(place=place, keys=of, check=check, is_of_seed=True, **nothing) for place in places)
    with pytest.raises(RemoteProtocolError, match="those of whom all is to be told are not dealers of what this party"):
        dealer.parties[0].open(Liars(tuple(liars)))


# The attack that the confirming step is for.


class Trusting(MaskingParty):
    """A party that asks nobody who survived."""

    def _check_confirmed(self, request: Confirmations) -> None: ...


def attacked(kind: type[MaskingParty]) -> tuple[Dealer, tuple[int, ...]]:
    """Return the sum of 23 of 40 that a lying server reads: it tells each party of 28 survivors at least.

    All are told that those 23 survived, and each of some of the others, so that 27 give shares of each secret that it
    wants: the own masks of the 23, and the keys of the 17.
    """
    number, needed, aimed = 40, 27, range(23)
    dealer = Dealer(number, needed, kind=kind, width=1)
    others = range(23, number)

    def lie(move: MaskingMove, place: int, heard: Any) -> Any:
        if move is not MaskingMove.MASKED:
            return heard
        first = 5 * place if place in aimed else place - aimed.stop  # of others each is told of by 12 at most
        near = {others[(first + step) % len(others)] for step in range(5)}
        return Survivors(tuple(sorted({*aimed, *near})))

    rows = [[10**place % 997] for place in range(number)]
    heard: dict[int, Any] = dict.fromkeys(range(number))
    for move in USUAL_STEPS[: USUAL_STEPS.index(MaskingMove.CONFIRM)]:
        for place, own in heard.items():
            dealer.say(place, move, dealer.answer(place, move, own, rows[place]))
        heard = {place: lie(move, place, own) for place, own in dealer.server.close().items()}
    signatures: dict[int, bytes] = {}
    for place, own in heard.items():
        assert len(own.places) >= 28
        confirmed = dealer.parties[place].confirm(own)
        signatures[place] = confirmed.signature
    shares: dict[int, dict[int, int]] = {}
    for place in range(number):
        chosen = tuple((other, signatures[other]) for other in heard[place].places)
        for other, is_of_seed, share in dealer.parties[place].unmask(Confirmations(chosen)).shares:
            if (other in aimed) is is_of_seed:
                shares.setdefault(other, {})[place + 1] = scalar_from(share) or 0
    assert all(len(own) >= needed for own in shares.values())
    secrets = {place: value_at_zero(own, needed) for place, own in shares.items()}
    return dealer, tuple((_read(dealer, secrets, [*aimed]) - sum(rows[place][0] for place in aimed)).tolist())


def _read(dealer: Dealer, secrets: dict[int, int], aimed: list[int]) -> IntArray:
    """Return what is under the masks of these parties, by the seeds of their own masks and the keys of the others."""
    rules = dealer.rules
    total = np.zeros(1, dtype=np.int64)
    for place in aimed:
        said = dealer.said[place, MaskingMove.MASKED]
        assert isinstance(said, Masked)
        total += np.array(said.residues) - mask_of_seed(secrets[place], rules, PRIMITIVES)
        for other in range(len(rules.names)):
            if other not in aimed:
                (common,) = agreements(secrets[other], [keys_of(dealer, place).of_masks], PRIMITIVES)
                total -= mask_of(common, place, other, rules=rules, primitives=PRIMITIVES)
    return total


def test_without_the_confirming_step_a_server_reads_the_sum_of_23_of_40() -> None:
    _, error = attacked(Trusting)
    assert error == (0,)


def test_with_the_confirming_step_it_reads_nothing() -> None:
    with pytest.raises(RemoteProtocolError, match="has not signed that these survived"):
        attacked(MaskingParty)


def test_a_signature_of_a_run_that_was_broken_off_passes_in_no_other() -> None:
    broken, dealer = Dealer(5, 4), Dealer(5, 4)
    broken.parties = [
        MaskingParty(dealer.rules, place, root=bytes([place] * 32), sign=dealer.signers[place], primitives=PRIMITIVES)
        for place in range(5)
    ]
    broken.run(ROWS, until=MaskingMove.CONFIRM)
    earlier = broken.said[1, MaskingMove.CONFIRM]
    assert isinstance(earlier, Confirmation)

    def lie(move: MaskingMove, place: int, heard: Any) -> Any:
        is_told = move is MaskingMove.CONFIRM and place == 0
        return Confirmations(replaced(heard.signatures, 1, earlier.signature)) if is_told else heard

    with pytest.raises(RemoteProtocolError, match="'p1' has not signed that these survived"):
        dealer.run(ROWS, lie=lie)
