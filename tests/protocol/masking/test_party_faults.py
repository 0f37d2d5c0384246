"""What a party may say that is wrong ends its row alone, and names it only where it has signed what is a lie."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from masking_dealer import LOW_ORDER, ROWS, STEPS, USUAL_STEPS, Dealer, check_of, keys_of, total_of_rows
from psephos.protocol import LocalProtocolError, QuorumError
from psephos.protocol.errors import MalformedMessageError, UnexpectedMessageError
from psephos.protocol.masking import Check, Confirmation, Deal, Keys, Masked, MaskingMove, PartyMessage, Shares


def wrong_answers(dealer: Dealer) -> dict[MaskingMove, tuple[PartyMessage, str]]:
    return {
        MaskingMove.KEYS: (Keys(bytes(32), bytes(32), bytes(64)), "'p0' has not signed its keys for this phase"),
        MaskingMove.SHARES: (
            Deal(bytes(32), bytes(32), ()),
            "'p0' deals to other parties than its 4 neighbors and itself",
        ),
        MaskingMove.CHECK: (
            Check(bytes(32), bytes(32), (), bytes(64), bytes(64)),
            "'p0' has signed another deal than its own",
        ),
        MaskingMove.MASKED: (Masked((1,)), "'p0' sends 1 values, not 2"),
        MaskingMove.CONFIRM: (Confirmation(dealer.signers[0](b"")), "'p0' has not signed who survived"),
        MaskingMove.UNMASK: (
            Shares(((0, True, bytes(32)),), bytes(64)),
            "'p0' sends shares of other secrets than of the 5 parties whose it holds",
        ),
    }


@pytest.mark.parametrize("wrong", USUAL_STEPS)
def test_a_party_s_fault_ends_its_row_alone(wrong: MaskingMove) -> None:
    """After its masked values came they count."""
    dealer = Dealer(5, 4)
    is_late = wrong in {MaskingMove.CONFIRM, MaskingMove.UNMASK}
    heard: Mapping[int, Any] = dict.fromkeys(range(5))
    for move in USUAL_STEPS:
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
        assert (0 in dealer.server.parties) is (STEPS.index(move) < STEPS.index(wrong))
    assert dealer.server.total == total_of_rows(ROWS, range(5) if is_late else range(1, 5))
    assert not dealer.server.named  # it has signed nothing of that


def changed(said: Any, dealer: Dealer, **fields: Any) -> Any:
    """Return what p0 says with other fields, signed by it."""
    other = msgspec.structs.replace(said, **fields)
    if isinstance(other, Check):
        about = dealer.rules.check_statement(0, keys_of(dealer, 0), other)
    else:
        about = dealer.rules.shares_statement(0, keys_of(dealer, 0), other, held_digest=check_of(dealer, 0).held)
    return msgspec.structs.replace(other, signature=dealer.signers[0](about))


def with_own_box(said: Any, _: Dealer) -> Deal:
    first, *rest = said.pieces
    return msgspec.structs.replace(said, pieces=(msgspec.structs.replace(first, box=b"0"), *rest))


UNLIKE_THE_SERVER_S: dict[str, tuple[MaskingMove, Callable[[Any, Dealer], Any], str]] = {
    "a box for itself, whose size would say something": (
        MaskingMove.SHARES,
        with_own_box,
        "deals to other parties than its 4 neighbors and itself",
    ),
    "a check with another deal": (
        MaskingMove.CHECK,
        lambda said, dealer: changed(said, dealer, deal=bytes(32)),
        "has signed another deal than its own",
    ),
    "a check of other entries": (
        MaskingMove.CHECK,
        lambda said, dealer: changed(said, dealer, held=bytes(32)),
        "has signed that it holds something else than what it was told",
    ),
    "doubts of itself": (
        MaskingMove.CHECK,
        lambda said, dealer: changed(said, dealer, doubted=(0,)),
        "doubts others than those whose boxes it has, in order",
    ),
    "doubts of more than may lie": (
        MaskingMove.CHECK,
        lambda said, dealer: changed(said, dealer, doubted=(1, 2)),
        "doubts the boxes of 2 parties, and 1 at most may lie",
    ),
    "a check that is not signed": (
        MaskingMove.CHECK,
        lambda said, _: msgspec.structs.replace(said, signature=bytes(64)),
        "has not signed its word on the deals",
    ),
    "shares that are not signed": (
        MaskingMove.UNMASK,
        lambda said, _: msgspec.structs.replace(said, signature=bytes(64)),
        "has not signed its shares",
    ),
    "shares of the other secrets": (
        MaskingMove.UNMASK,
        lambda said, dealer: changed(
            said, dealer, shares=tuple((place, not is_of_seed, own) for place, is_of_seed, own in said.shares)
        ),
        "sends shares of other secrets",
    ),
}


@pytest.mark.parametrize("name", UNLIKE_THE_SERVER_S)
def test_who_says_something_else_than_was_asked_is_out_and_not_named(name: str) -> None:
    """It could have been told so by a server; nobody can prove which of the two lies."""
    wrong, change, reason = UNLIKE_THE_SERVER_S[name]
    dealer = Dealer(5, 4)
    heard: Mapping[int, Any] = dict.fromkeys(range(5))
    for move in USUAL_STEPS:
        for place in heard:
            said = dealer.answer(place, move, heard[place], ROWS[place])
            dealer.said[place, move] = said
            if place == 0 and move is wrong:
                with pytest.raises(MalformedMessageError, match=f"'p0' {reason}"):
                    dealer.server.receive(0, change(said, dealer))
                continue
            dealer.server.receive(place, said)
        heard = dealer.server.close()
    assert not dealer.server.named
    assert dealer.server.total == total_of_rows(ROWS, range(5) if wrong is MaskingMove.UNMASK else range(1, 5))


@pytest.mark.parametrize("key", LOW_ORDER)
@pytest.mark.parametrize("field", ["of_boxes", "of_masks"])
def test_keys_with_which_no_other_could_go_on_name_who_signed_them(key: bytes, field: str) -> None:
    dealer = Dealer(5, 4)
    keys = [party.keys() for party in dealer.parties]
    for place in (0, 1, 2, 3):
        dealer.server.receive(place, keys[place])
    wrong = msgspec.structs.replace(keys[4], **{field: key})
    wrong = msgspec.structs.replace(wrong, signature=dealer.signers[4](dealer.rules.keys_statement(4, wrong)))
    with pytest.raises(MalformedMessageError, match="'p4' has signed keys that are no two points of the group"):
        dealer.server.receive(4, wrong)
    assert dealer.server.close().keys() == {0, 1, 2, 3}
    assert [place for place, _ in dealer.server.named] == [4]


def test_whose_keys_are_somebody_else_s_is_out_and_not_named() -> None:
    """The other one may have taken them from it."""
    dealer = Dealer(5, 4)
    keys = [party.keys() for party in dealer.parties]
    for place in (0, 1, 2, 3):
        dealer.server.receive(place, keys[place])
    wrong = msgspec.structs.replace(keys[4], of_masks=keys[1].of_boxes)
    wrong = msgspec.structs.replace(wrong, signature=dealer.signers[4](dealer.rules.keys_statement(4, wrong)))
    with pytest.raises(MalformedMessageError, match="'p4' has the keys of somebody else"):
        dealer.server.receive(4, wrong)
    assert dealer.server.close().keys() == {0, 1, 2, 3}
    assert not dealer.server.named


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
