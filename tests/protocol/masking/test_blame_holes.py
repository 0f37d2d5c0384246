"""Ways to have an honest party named, or its secrets told, by an older copy of its journal; and many wrong shares."""

import contextlib
from collections.abc import Mapping
from unittest import mock

import msgspec
import pytest
from masking_dealer import PRIMITIVES, Dealer, keys_of, total_of_rows
from psephos.agents.masking import Cryptography
from psephos.protocol import MalformedMessageError, RemoteProtocolError
from psephos.protocol.masking import (
    Confirmations,
    Deal,
    Keys,
    MaskingMove,
    MaskingParty,
    NeighborKeys,
    PartyMessage,
    Shares,
    server,
    verdict,
)
from psephos.protocol.masking.deals import KnownDeal
from psephos.protocol.masking.evidence import WrongShare
from psephos.protocol.masking.scalars import encode_scalar
from psephos.protocol.masking.steps import HeldBox

ROWS = [[1, 2], [3, 4], [5, 6], [7, 8]]


class OtherDealer(MaskingParty):
    """One who deals other polynomials than before, which are right."""

    def _scalars(self, what: str, number: int) -> list[int]:
        own = super()._scalars(what, number)
        return [own[0] + 1, *own[1:]] if what.startswith("coefficients") else own


def test_what_a_party_tells_of_one_run_is_not_held_against_what_it_acknowledged_in_another() -> None:
    """Both have the same keys, as where a journal is an older copy; in the second somebody deals otherwise."""
    first, second = Dealer(4, 3), Dealer(4, 3)
    second.parties[0] = second.party(0, OtherDealer)
    for dealer in (first, second):
        assert dealer.run(ROWS) == total_of_rows(ROWS, range(4))
        assert dealer.server.named == []
    told = second.said[1, MaskingMove.UNMASK]
    assert isinstance(told, Shares)
    acknowledged = first.server._acknowledged(1, 0)  # pyright: ignore[reportPrivateUsage]  as a server would say it
    assert acknowledged["keys"] == keys_of(second, 1)
    assert verdict(first.rules, WrongShare(**acknowledged, shares=told), PRIMITIVES) is None


class Watched(Cryptography):
    """Primitives that keep by which keys they seal."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []

    def seal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        self.keys.append(key)
        return super().seal(key, content, about)


def test_no_key_seals_boxes_of_two_deals() -> None:
    """A party that begins anew from its root hears other keys of one neighbor."""
    dealer, watched, deals = Dealer(4, 3), Watched(), list[Deal]()
    keys = [party.keys() for party in dealer.parties]
    other = Dealer(4, 3, session="t").parties[3]
    changed = msgspec.structs.replace(keys[3], of_boxes=other.keys().of_boxes)
    signature = dealer.signers[3](dealer.rules.keys_statement(3, changed))
    for last in (keys[3], msgspec.structs.replace(changed, signature=signature)):
        root = bytes(32)
        party = MaskingParty(dealer.rules, 0, root=root, sign=dealer.signers[0], primitives=watched)
        party.keys()
        deals.append(party.shares(NeighborKeys(((1, keys[1]), (2, keys[2]), (3, last)))))
    assert [piece.leaves[:32] for piece in deals[0].pieces] == [piece.leaves[:32] for piece in deals[1].pieces]
    assert len({*watched.keys}) == len(watched.keys) == 6


class TellsWrongShares(MaskingParty):
    """One whose shares of all are wrong."""

    def unmask(self, request: Confirmations) -> Shares:
        shares = tuple((dealer, of, bytes(32)) for dealer, of, _ in super().unmask(request).shares)
        about = self._rules.shares_statement(
            self._place, self._keys, Shares(shares, b""), held_digest=self._held_digest
        )
        return Shares(shares, self._sign(about))


def test_who_tells_many_wrong_shares_is_named_once() -> None:
    """Each piece of evidence holds all that is held: of a thousand shares they would be a hundred megabytes."""
    dealer = Dealer(4, 3)
    dealer.parties[0] = dealer.party(0, TellsWrongShares)
    assert dealer.run(ROWS) == total_of_rows(ROWS, range(4))
    assert [place for place, _ in dealer.server.named] == [0]


class HasAnothersKey(MaskingParty):
    """One whose key of boxes is twice that of party 1, so that its boxes open for nobody, nor others' for it."""

    deals: Mapping[int, KnownDeal] = {}  # the server's, with which it is in league

    def _own_keys(self) -> Keys:
        own = super()._own_keys()
        twice = PRIMITIVES.times(encode_scalar(2), Dealer(4, 3).party(1).keys().of_boxes)
        told = Keys(own.of_masks, twice, b"")
        return msgspec.structs.replace(told, signature=self._sign(self._rules.keys_statement(self._place, told)))

    def _take_box(self, held_box: HeldBox) -> None:
        self._dealt_values[held_box.place] = bytes(96)
        self._entries[held_box.place] = self.deals[held_box.place].entries[self._place], held_box.alpha


class Session(Dealer):
    """Four parties, of whom the first has a key that is made of another's."""

    def __init__(self) -> None:
        super().__init__(4, 3)
        deals = self.server._deals  # pyright: ignore[reportPrivateUsage]  what the party has from who is in league with it
        self.parties[0] = self.party(0, type("InLeague", (HasAnothersKey,), {"deals": deals}))

    def say(self, place: int, move: MaskingMove, said: PartyMessage) -> None:
        with contextlib.suppress(MalformedMessageError):  # its sender is out
            super().say(place, move, said)


def test_a_party_with_a_key_that_is_made_of_anothers_is_out_and_nobody_accuses_it() -> None:
    """What others have in common with it would open, to the server, all boxes of the other: both of its secrets."""
    dealer = Session()
    assert dealer.run(ROWS) == total_of_rows(ROWS, [1, 2, 3])
    assert MaskingMove.ACCUSE not in {move for _, move in dealer.said}
    assert dealer.server.named == []


def test_nor_does_anybody_where_a_server_lets_it_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "has_possession", mock.Mock(return_value=True))
    with pytest.raises(RemoteProtocolError, match="'p0' has not proven that it has the secret of its key of boxes"):
        Session().run(ROWS)
