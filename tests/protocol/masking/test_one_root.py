"""What a party derives from its root for keys that it hears: for others another blinding, and other keys of boxes."""

from collections.abc import Sequence
from unittest import mock

import msgspec
import pytest
from liars import BoxThatDoesNotOpen, KeysOutsideTheGroup, hold, with_liars
from masking_dealer import Dealer
from psephos.agents.masking import Cryptography
from psephos.protocol import RemoteProtocolError
from psephos.protocol.masking import Deal, Keys, MaskingParty, MaskingServer, NeighborKeys, server
from psephos.protocol.masking.deals import KnownDeal
from psephos.protocol.masking.scalars import ORDER, scalar_from, value_at_zero

ROWS = [[3**place, -place] for place in range(4)]


class OneBlinding(MaskingParty):
    """As a first version was: its blinding is the same whatever keys it hears."""

    def _scalars(self, what: str, number: int) -> list[int]:
        return super()._scalars("blinding" if what.startswith("blinding") else what, number)


def signed(dealer: Dealer, place: int, keys: Keys) -> Keys:
    return msgspec.structs.replace(keys, signature=dealer.signers[place](dealer.rules.keys_statement(place, keys)))


def heard_in_two_runs(name: str) -> tuple[Dealer, NeighborKeys, NeighborKeys]:
    """Return what a server tells p0, and what it tells it after a restart; p2 and p3 are in league with it."""
    dealer = Dealer(4, 3)
    keys = [party.keys() for party in dealer.parties]
    first = NeighborKeys(((1, keys[1]), (2, keys[2])))
    other = msgspec.structs.replace(keys[2], of_masks=keys[3].of_masks)
    again = {
        "other keys": ((1, keys[1]), (2, signed(dealer, 2, other))),
        "one neighbor more": (*first.keys, (3, keys[3])),
        "the same keys at another place": ((1, keys[1]), (3, signed(dealer, 3, keys[2]))),
    }
    return dealer, first, NeighborKeys(again[name])


OTHERS = ["one neighbor more", "the same keys at another place"]
"""Other holders, and so other leaves, and another alpha, even by the same polynomials."""


def deal_of(dealer: Dealer, kind: type[MaskingParty], heard: NeighborKeys) -> tuple[MaskingParty, Deal, int]:
    """Return a party anew, what it deals, and its alpha."""
    party = dealer.party(0, kind)
    own = party.keys()
    deal = party.shares(heard)
    known = KnownDeal(dealer.rules, 0, {**dict(heard.keys), 0: own}, deal)
    return party, deal, int.from_bytes(known.alpha, "little")


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("kind", [OneBlinding, MaskingParty])
def test_two_alphas_on_one_blinding_tell_a_key_by_a_seed_and_there_are_none(
    kind: type[MaskingParty], name: str
) -> None:
    """Their difference is (a - a')(f + (a + a')g): who hears g(0) at the end, and both h, has f(0), and a row."""
    dealer, *heard = heard_in_two_runs(name)
    (party, first, alpha), (_, second, beta) = (deal_of(dealer, kind, own) for own in heard)
    assert alpha != beta
    at_zero = [
        value_at_zero({piece.place + 1: scalar_from(piece.combined) or 0 for piece in deal.pieces}, dealer.rules.needed)
        for deal in (first, second)
    ]
    seed = party._seed_terms[-1]  # pyright: ignore[reportPrivateUsage]  as shares of it tell
    key = party._key_terms[-1]  # pyright: ignore[reportPrivateUsage]  what must not follow
    found = ((at_zero[0] - at_zero[1]) * pow(alpha - beta, -1, ORDER) - (alpha + beta) * seed) % ORDER
    assert (found == key) is (kind is OneBlinding)
    assert (first.blinding == second.blinding) is (kind is OneBlinding)
    assert first.seed == second.seed


@pytest.mark.parametrize("field", ["of_masks", "of_boxes"])
def test_keys_that_are_another_partys_end_the_part_of_who_hears_them(field: str) -> None:
    dealer = Dealer(4, 3)
    keys = [party.keys() for party in dealer.parties]
    other = signed(dealer, 2, msgspec.structs.replace(keys[2], **{field: getattr(keys[3], field)}))
    with pytest.raises(RemoteProtocolError, match="the keys of 'p3' are somebody's already"):
        dealer.parties[0].shares(NeighborKeys(((1, keys[1]), (2, other), (3, keys[3]))))


def test_what_is_signed_of_survivors_is_of_both_keys_of_each() -> None:
    """So that it passes in no other run, whoever began anew."""
    dealer = Dealer(4, 3)
    keys = {place: party.keys() for place, party in enumerate(dealer.parties)}
    others = [
        {**keys, place: msgspec.structs.replace(keys[place], **{field: keys[3].of_masks})}
        for place in range(3)
        for field in ("of_masks", "of_boxes")
    ]
    assert len({dealer.rules.survivors_statement((0, 1, 2), (3,), each) for each in (keys, *others)}) == 7


def rank(rows: Sequence[Sequence[int]]) -> int:
    """Return the rank of a matrix modulo the group's order, by elimination."""
    left, found = [[*row] for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((row for row in left if row[column] % ORDER), None)
        if pivot is None:
            continue
        left.remove(pivot)
        inverse = pow(pivot[column], -1, ORDER)
        left = [
            [(own - row[column] * inverse * theirs) % ORDER for own, theirs in zip(row, pivot, strict=True)]
            for row in left
        ]
        found += 1
    return found


@pytest.mark.parametrize("is_one", [True, False])
def test_a_secret_follows_from_two_h_and_the_other_one_where_the_blinding_is_one_alone(*, is_one: bool) -> None:
    """Exactly, over the field: of f, g, r and r' with three terms each, one holder in league knows its values."""
    dealer, *heard = heard_in_two_runs(OTHERS[0])
    (_, _, alpha), (_, _, beta) = (deal_of(dealer, MaskingParty, own) for own in heard)
    needed, again = dealer.rules.needed, 2 if is_one else 3

    def row(*terms: tuple[int, int, int]) -> list[int]:
        """Return an equation: factors of polynomials' terms."""
        own = [0] * (4 * needed)
        for polynomial, term, factor in terms:
            own[polynomial * needed + term] = factor
        return own

    known = [
        row((0, term, each), (1, term, each * each), (blinding, term, 1))
        for term in range(needed)
        for each, blinding in ((alpha, 2), (beta, again))
    ]
    number = 3
    known += [row(*((each, term, number**term) for term in range(needed))) for each in range(4)]
    key, seed = row((0, 0, 1)), row((1, 0, 1))
    assert rank([*known, key]) == rank([*known, seed]) == rank(known) + 1
    known.append(seed)
    assert (rank([*known, key]) == rank(known)) is is_one


@pytest.mark.parametrize("name", ["other keys", *OTHERS])
def test_no_key_seals_two_boxes(name: str) -> None:
    """What is the same in both would be the same in the boxes: what is not, the server would know the difference of."""
    dealer, *heard = heard_in_two_runs(name)
    (_, first, _), (_, second, _) = (deal_of(dealer, MaskingParty, own) for own in heard)
    (one, other) = (piece.box for deal in (first, second) for piece in deal.pieces if piece.place == 1)
    assert all(one[start : start + 32] != other[start : start + 32] for start in (0, 32, 64))


class TrustingServerPrimitives(Cryptography):
    """Of a server that takes any key for one."""

    def is_point(self, encoded: bytes) -> bool:
        return True


class DealerOutsideTheGroup(BoxThatDoesNotOpen, KeysOutsideTheGroup):
    """Its key of boxes is no point of the group, and its box for p0 does not open."""


def test_nobody_accuses_by_a_key_outside_of_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """An honest server lets none pass; of one that does p0 sees that it did, and shows nothing."""
    monkeypatch.setattr(server, "has_possession", mock.Mock(return_value=True))
    dealer = Dealer(4, 3)
    dealer.server = MaskingServer(dealer.rules, TrustingServerPrimitives())
    with pytest.raises(RemoteProtocolError, match="'p2' has not proven that it has the secret"):
        hold(with_liars(dealer, {2: DealerOutsideTheGroup}), ROWS, liars=[2])
