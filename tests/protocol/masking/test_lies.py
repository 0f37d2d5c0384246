"""What a server may try, each caught by a party with a sentence; and what a party may try, which ends its row alone."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from masking_dealer import PRIMITIVES, STEPS, Dealer, total_of_rows
from psephos.protocol import LocalProtocolError, QuorumError, RemoteProtocolError
from psephos.protocol.arrays import IntArray
from psephos.protocol.errors import MalformedMessageError, UnexpectedMessageError
from psephos.protocol.masking import (
    Boxes,
    Confirmation,
    Confirmations,
    Keys,
    Masked,
    MaskingMove,
    MaskingParty,
    MaskingState,
    NeighborKeys,
    Said,
    Shares,
    Survivors,
    combine,
)
from psephos.protocol.masking.party import mask_of, mask_of_seed, private_key_of
from psephos.protocol.masking.shamir import PRIME

ROWS = [[1, -5], [20, 7], [300, 11], [4_000, 40], [50_000, -3]]
LOW_ORDER = [
    bytes(32),
    (1).to_bytes(32, "little"),
    (2**255 - 19).to_bytes(32, "little"),
    (2**255 - 18).to_bytes(32, "little"),
]


def keys_of(dealer: Dealer, place: int) -> Keys:
    said = dealer.said[place, MaskingMove.KEYS]
    assert isinstance(said, Keys)
    return said


def box_for(dealer: Dealer, sender: int, recipient: int) -> bytes:
    said = dealer.said[sender, MaskingMove.SHARES]
    assert isinstance(said, Boxes)
    return dict(said.boxes)[recipient]


def signed(dealer: Dealer, place: int, survivors: tuple[int, ...]) -> bytes:
    keys = {each: keys_of(dealer, each) for each in survivors}
    return dealer.signers[place](dealer.rules.about_survivors(survivors, keys))


def other_keys(dealer: Dealer, place: int, **changed: bytes) -> Keys:
    """Return keys that a party has signed, with one that is another: the party is in league with the server."""
    keys = msgspec.structs.replace(keys_of(dealer, place), **changed)
    return msgspec.structs.replace(keys, signature=dealer.signers[place](dealer.rules.about_keys(place, keys)))


def told(lied: MaskingMove, change: Callable[[Dealer, Any], Any]) -> Callable[[Dealer], Any]:
    """Return the lie that changes what party 0 hears after a step."""

    def of(dealer: Dealer) -> Any:
        def lie(move: MaskingMove, place: int, heard: Any) -> Any:
            return change(dealer, heard) if move is lied and place == 0 else heard

        return lie

    return of


def replaced(pairs: tuple[tuple[int, Any], ...], place: int, new: Any) -> tuple[tuple[int, Any], ...]:
    return tuple((each, new if each == place else own) for each, own in pairs)


def keys_with(place: int, make: Callable[[Dealer], Keys]) -> Callable[[Dealer], Any]:
    return told(MaskingMove.KEYS, lambda dealer, heard: NeighborKeys(replaced(heard.keys, place, make(dealer))))


def boxes_with(place: int, make: Callable[[Dealer], bytes]) -> Callable[[Dealer], Any]:
    return told(MaskingMove.SHARES, lambda dealer, heard: Boxes(replaced(heard.boxes, place, make(dealer))))


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
            "a key of 'p2' is of low order",
        )
        for number, key in enumerate(LOW_ORDER)
    },
    "a key of boxes of low order": (
        keys_with(2, lambda dealer: other_keys(dealer, 2, of_boxes=bytes(32))),
        "a key of 'p2' is of low order",
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
        boxes_with(3, lambda _: bytes(80)),
        "the box of 'p3' does not open",
    ),
    "a box for somebody else": (
        boxes_with(3, lambda dealer: box_for(dealer, 3, 1)),
        "the box of 'p3' does not open",
    ),
    "one's own box": (
        boxes_with(3, lambda dealer: box_for(dealer, 0, 3)),
        "the box of 'p3' does not open",
    ),
    "a box of another session": (
        boxes_with(3, lambda _: box_for(other_session(), 3, 0)),
        "the box of 'p3' does not open",
    ),
    "a box twice": (
        told(MaskingMove.SHARES, lambda _, heard: Boxes((*heard.boxes, heard.boxes[0]))),
        "the boxes of a neighbor came twice",
    ),
    "a box from nowhere": (
        told(MaskingMove.SHARES, lambda _, heard: Boxes((*heard.boxes, (7, heard.boxes[0][1])))),
        "boxes came of party 7, which is no neighbor",
    ),
    "too few boxes": (
        told(MaskingMove.SHARES, lambda _, heard: Boxes(heard.boxes[:2])),
        "boxes came of 2 neighbors, and at least 3 are needed",
    ),
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


def test_a_survivor_whose_box_never_came_is_a_lie() -> None:
    dealer = Dealer(5, 4)

    def lie(move: MaskingMove, place: int, heard: Any) -> Any:
        return Boxes(heard.boxes[:-1]) if move is MaskingMove.SHARES and place == 0 else heard

    with pytest.raises(RemoteProtocolError, match="'p4' is said to have survived, and its box never came"):
        dealer.run(ROWS, lie=lie)


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
    held = dealer.parties[0]._held  # pyright: ignore[reportPrivateUsage]  what a party never tells
    said = dealer.said[0, MaskingMove.UNMASK]
    assert isinstance(said, Shares)
    assert dict(said.shares) == {place: held[place][place != 4] for place in range(5)}


# The attack that the confirming step is for.


class Trusting(MaskingParty):
    """A party that asks nobody who survived."""

    def _check_confirmed(self, heard: Confirmations) -> None: ...


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
    for move in (MaskingMove.KEYS, MaskingMove.SHARES, MaskingMove.MASKED):
        for place, own in heard.items():
            dealer.said[place, move] = dealer.answer(place, move, own, rows[place])
            dealer.server.receive(place, dealer.said[place, move])
        heard = {place: lie(move, place, own) for place, own in dealer.server.close().items()}
    signatures: dict[int, bytes] = {}
    for place, own in heard.items():
        assert len(own.places) >= 28
        confirmed = dealer.parties[place].confirm(own)
        signatures[place] = confirmed.signature
    shares: dict[int, dict[int, bytes]] = {}
    for place in range(number):
        chosen = tuple((other, signatures[other]) for other in heard[place].places)
        for other, share in dealer.parties[place].unmask(Confirmations(chosen)).shares:
            if (other in aimed) is (other in heard[place].places):
                shares.setdefault(other, {})[place + 1] = share
    assert all(len(own) >= needed for own in shares.values())
    seeds = {place: combine(own, needed=needed) for place, own in shares.items()}
    return dealer, tuple((_read(dealer, seeds, [*aimed]) - sum(rows[place][0] for place in aimed)).tolist())


def _read(dealer: Dealer, seeds: dict[int, bytes], aimed: list[int]) -> IntArray:
    """Return what is under the masks of these parties, by their own masks' seeds and by the others' seeds of keys."""
    rules = dealer.rules
    total = np.zeros(1, dtype=np.int64)
    for place in aimed:
        said = dealer.said[place, MaskingMove.MASKED]
        assert isinstance(said, Masked)
        total += np.array(said.residues) - mask_of_seed(seeds[place], rules, PRIMITIVES)
        for other in range(len(rules.names)):
            if other not in aimed:
                private = private_key_of(seeds[other], rules, PRIMITIVES)
                secret = PRIMITIVES.agreement(private)(keys_of(dealer, place).of_masks)
                total -= mask_of(secret, place, other, rules=rules, primitives=PRIMITIVES)
    return total


def test_without_the_confirming_step_a_server_reads_the_sum_of_23_of_40() -> None:
    _, error = attacked(Trusting)
    assert error == (0,)


def test_with_the_confirming_step_it_reads_nothing() -> None:
    with pytest.raises(RemoteProtocolError, match="has not signed that these survived"):
        attacked(MaskingParty)


# What parties do wrong ends their own rows.


def wrong_answers(dealer: Dealer) -> dict[MaskingMove, tuple[Said, str]]:
    return {
        MaskingMove.KEYS: (Keys(bytes(32), bytes(32), bytes(64)), "'p0' has not signed its keys for this phase"),
        MaskingMove.SHARES: (Boxes(((1, b""), (2, b""))), "'p0' sends boxes for other parties than its 4 neighbors"),
        MaskingMove.MASKED: (Masked((1,)), "'p0' sends 1 values, not 2"),
        MaskingMove.CONFIRM: (Confirmation(dealer.signers[0](b"")), "'p0' has not signed who survived"),
        MaskingMove.UNMASK: (Shares(((0, bytes(32)),)), "'p0' sends shares of other parties than the 5 whose it holds"),
    }


@pytest.mark.parametrize("wrong", STEPS)
def test_a_party_s_fault_ends_its_row_alone(wrong: MaskingMove) -> None:
    """After its masked values came they count."""
    dealer = Dealer(5, 4)
    is_late = wrong in {MaskingMove.CONFIRM, MaskingMove.UNMASK}
    heard: Any = dict.fromkeys(range(5))
    for number, move in enumerate(STEPS):
        for place in heard:
            if place == 0 and move is wrong:
                said, named = wrong_answers(dealer)[move]
                with pytest.raises(MalformedMessageError, match=named) as caught:
                    dealer.server.receive(0, said)
                assert caught.value.sender == "p0"
                with pytest.raises(UnexpectedMessageError, match="where it has no place"):
                    dealer.server.receive(0, said)
                continue
            dealer.server.receive(place, dealer.answer(place, move, heard[place], ROWS[place]))
        heard = dealer.server.close()
        assert (0 in dealer.server.parties) is (number < STEPS.index(wrong))
    assert dealer.server.total == total_of_rows(ROWS, range(5) if is_late else range(1, 5))


@pytest.mark.parametrize("key", LOW_ORDER)
def test_a_key_with_which_no_other_could_go_on_ends_its_row_alone(key: bytes) -> None:
    dealer = Dealer(5, 4)
    keys = [party.keys() for party in dealer.parties]
    for place in (0, 1, 2, 3):
        dealer.server.receive(place, keys[place])
    for changed, said in (({"of_boxes": key}, "of low order"), ({"of_masks": keys[1].of_boxes}, "of somebody else")):
        other = Dealer(5, 4)
        for place in (0, 1, 2, 3):
            other.server.receive(place, keys[place])
        wrong = msgspec.structs.replace(keys[4], **changed)
        wrong = msgspec.structs.replace(wrong, signature=dealer.signers[4](dealer.rules.about_keys(4, wrong)))
        with pytest.raises(MalformedMessageError, match=f"'p4' has .*{said}"):
            other.server.receive(4, wrong)
        assert other.server.close().keys() == {0, 1, 2, 3}


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (3, 1, 4, 0, 2)])
def test_a_share_that_is_another_opens_nothing(order: tuple[int, ...]) -> None:
    """Five shares are there and four are needed: the first four tell another seed than the last.

    Whose seed is named does not depend on who came first.
    """
    dealer = Dealer(5, 4)

    def other(share: bytes) -> bytes:
        return ((int.from_bytes(share, "little") + 1) % PRIME).to_bytes(32, "little")

    heard: dict[int, Any] = dict.fromkeys(range(5))
    for move in STEPS:
        for place in order:
            said = dealer.answer(place, move, heard[place], ROWS[place])
            if place == 0 and isinstance(said, Shares):
                said = Shares(tuple((each, other(share)) for each, share in said.shares))
            dealer.server.receive(place, said)
        if move is not MaskingMove.UNMASK:
            heard = dict(dealer.server.close())
    with pytest.raises(RemoteProtocolError, match="of 'p0' are not of one seed: somebody who holds one says another"):
        dealer.server.close()


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


def test_the_same_again_counts_once_and_another_ends_the_row() -> None:
    dealer = Dealer(5, 4)
    keys = [party.keys() for party in dealer.parties]
    for place in (0, 0, 1, 2, 3, 4):
        dealer.server.receive(place, keys[place])
    with pytest.raises(UnexpectedMessageError, match="'p0' says another Keys than before"):
        dealer.server.receive(0, keys[1])
    with pytest.raises(UnexpectedMessageError, match="'p1' says Masked where it has no place"):
        dealer.server.receive(1, Masked((1, 2)))
    with pytest.raises(QuorumError, match=r"'votes, keys' closed with 3 of the 4 parties .* missing: p0, p1"):
        dealer.server.close()
    with pytest.raises(LocalProtocolError, match="no step is open"):
        dealer.server.close()


def test_shares_of_no_seed_open_nothing() -> None:
    for place, leaves in ((1, {}), (4, {4: MaskingMove.MASKED})):
        dealer = Dealer(5, 4)
        dealer.run(ROWS, leaves=leaves, until=MaskingMove.CONFIRM)
        heard = dealer.server.close()
        for party in heard:
            said = dealer.answer(party, MaskingMove.UNMASK, heard[party], ROWS[party])
            assert isinstance(said, Shares)
            share = pow(3, 1_000 + party, PRIME).to_bytes(32, "little")
            wrong = Shares(replaced(said.shares, place, share))
            dealer.server.receive(party, wrong)
        with pytest.raises(RemoteProtocolError, match=f"the shares of a seed of 'p{place}' are not of one seed"):
            dealer.server.close()
        assert dealer.server.state is MaskingState.ENDED
