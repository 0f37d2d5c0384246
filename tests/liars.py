"""Parties of masked phases that lie, each in one way, and phases held with them: by themselves, or two together.

A liar follows its part but for what it changes, and signs that: what it says passes wherever the server looks at its
form alone.
"""

import contextlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
from masking_dealer import PRIMITIVES, Dealer
from psephos.protocol import RemoteProtocolError
from psephos.protocol.masking import (
    Boxes,
    Check,
    Claims,
    Confirmation,
    Confirmations,
    Deal,
    Disputes,
    Evidence,
    HeldBox,
    Keys,
    Liars,
    MaskingMove,
    MaskingParty,
    Opening,
    Piece,
    ServerMessage,
    Shares,
    Survivors,
)
from psephos.protocol.masking.deals import alpha_of, combined_of, entry_digest, key_of_box, leaves_of
from psephos.protocol.masking.scalars import ORDER, encode_scalar, scalar_from, values_at
from psephos.protocol.masking.steps import Entry

__all__ = [
    "ACCUSERS",
    "ALONE",
    "DEALERS",
    "KEYS",
    "PAIRS",
    "TELLERS",
    "UNSIGNED",
    "Conspirator",
    "Draft",
    "LyingDealer",
    "TrustingConspirator",
    "befriend",
    "hold",
    "with_liars",
]

_TORSION: Final = (2**255 - 20).to_bytes(32, "little")
"""The point of order 2: a point of the group and it are one outside of it."""
Values = dict[int, list[int]]
"""Of each holder: of f, g and r."""


class Draft:
    """A deal while it is made.

    Attributes:
        polynomials: f, g, r.
        in_leaves, in_boxes, in_h: what leaves are of, what boxes hold, and what h is computed from.
        blinding, seed: R and G.
        wrong_leaves, wrong_h, wrong_boxes: bytes in place of what is right, by holders.
    """

    def __init__(self, polynomials: Sequence[list[int]], numbers: Mapping[int, int]) -> None:
        self.polynomials = list(polynomials)
        self.numbers = numbers
        self.spread()
        self.blinding = PRIMITIVES.base(encode_scalar(polynomials[2][-1]))
        self.seed = PRIMITIVES.base(encode_scalar(polynomials[1][-1]))
        self.wrong_leaves: dict[int, bytes] = {}
        self.wrong_h: dict[int, bytes] = {}
        self.wrong_boxes: dict[int, bytes] = {}

    def spread(self) -> None:
        """Compute what each holder gets."""
        values = dict(zip(self.numbers, values_at([*self.numbers.values()], self.polynomials), strict=True))
        self.in_leaves: Values = {holder: [*own] for holder, own in values.items()}
        self.in_boxes: Values = {holder: [*own] for holder, own in values.items()}
        self.in_h: Values = {holder: [*own] for holder, own in values.items()}


class LyingDealer(MaskingParty):
    """Deals wrongly to its victims, which are its first neighbors, but for friends."""

    num_victims: ClassVar[int] = 1
    friends: tuple[int, ...] = ()
    dealt: Deal | None = None

    @property
    def victims(self) -> list[int]:
        return [place for place in self._peer_keys if place not in self.friends][: self.num_victims]

    def change(self, draft: Draft) -> None:
        """Change a deal."""

    def _deal(self) -> Deal:
        rules, own = self._rules, self._place
        holders = sorted({*self._peer_keys, own})
        blinding = self._scalars("a liar's blinding", rules.needed)
        numbers = {holder: rules.graph.number_of(own, holder) for holder in holders}
        draft = Draft([self._key_terms, self._seed_terms, blinding], numbers)
        self.change(draft)
        leaves = {
            holder: draft.wrong_leaves.get(holder) or leaves_of(rules, own, holder, _content(draft.in_leaves[holder]))
            for holder in holders
        }
        alpha = alpha_of(
            rules, own, self._keys, blinding=draft.blinding, seed=draft.seed, leaves=[leaves[each] for each in holders]
        )
        boxes = {
            holder: draft.wrong_boxes.get(holder)
            or PRIMITIVES.seal(
                key_of_box(rules, (own, holder), secret, alpha=alpha, primitives=PRIMITIVES),
                _content(draft.in_boxes[holder]),
                rules.domain("box", own, holder),
            )
            for holder, secret in self._box_secrets.items()
        }
        self._dealt_values[own] = _content(draft.in_boxes[own])
        pieces = (
            Piece(
                holder,
                leaves[holder],
                draft.wrong_h.get(holder) or combined_of(draft.in_h[holder], alpha),
                boxes.get(holder, b""),
            )
            for holder in holders
        )
        self.dealt = Deal(draft.blinding, draft.seed, tuple(pieces))
        return self.dealt


def _content(values: Sequence[int]) -> bytes:
    return b"".join(map(encode_scalar, values))


class BoxThatDoesNotOpen(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.wrong_boxes = dict.fromkeys(self.victims, bytes(112))


class BoxesThatDoNotOpen(BoxThatDoesNotOpen):
    num_victims = 2


class BoxOfOtherValues(LyingDealer):
    def change(self, draft: Draft) -> None:
        for victim in self.victims:
            draft.in_boxes[victim][0] += 1


class BoxOfNoScalar(LyingDealer):
    def change(self, draft: Draft) -> None:
        for victim in self.victims:
            draft.in_boxes[victim][1] = ORDER


class LeafOfAnotherValue(LyingDealer):
    def change(self, draft: Draft) -> None:
        for victim in self.victims:
            draft.in_leaves[victim][1] += 1


class LeafOfNothing(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.wrong_leaves = dict.fromkeys(self.victims, bytes(48))


class OtherValuesAltogether(LyingDealer):
    """Box, leaf and h of the victim fit one another, and no polynomial."""

    def change(self, draft: Draft) -> None:
        for victim in self.victims:
            for values in (draft.in_boxes, draft.in_leaves, draft.in_h):
                values[victim][0] += 1


class AnotherH(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.wrong_h = {victim: encode_scalar(5) for victim in self.victims}


class HOfNoScalar(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.wrong_h = {victim: encode_scalar(ORDER) for victim in self.victims}


class HOfZeros(LyingDealer):
    """Of a polynomial, and h(0) is 0: there is no such point for the bindings."""

    def change(self, draft: Draft) -> None:
        draft.wrong_h = dict.fromkeys(draft.numbers, encode_scalar(0))


class AnotherR(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.blinding = PRIMITIVES.base(encode_scalar(7))


class AnotherG(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.seed = PRIMITIVES.base(encode_scalar(7))


class ROutsideTheGroup(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.blinding = PRIMITIVES.plus(draft.blinding, _TORSION)


class GOutsideTheGroup(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.seed = PRIMITIVES.plus(draft.seed, _TORSION)


class NoPoints(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.blinding, draft.seed = (2).to_bytes(32, "little"), _TORSION


class AnotherKey(LyingDealer):
    """f is of another key than it has said."""

    def change(self, draft: Draft) -> None:
        draft.polynomials[0] = [*draft.polynomials[0][:-1], draft.polynomials[0][-1] + 1]
        draft.spread()


class AnotherSeed(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.polynomials[1] = [*draft.polynomials[1][:-1], draft.polynomials[1][-1] + 1]
        draft.spread()


class DegreeTooHigh(LyingDealer):
    def change(self, draft: Draft) -> None:
        draft.polynomials = [[9, *draft.polynomials[0]], *([0, *own] for own in draft.polynomials[1:])]
        draft.spread()


class DegreeOfGTooHigh(LyingDealer):
    """Of f and r it is not."""

    def change(self, draft: Draft) -> None:
        f, g, r = draft.polynomials
        draft.polynomials = [[0, *f], [9, *g], [0, *r]]
        draft.spread()


DEALERS: Final[tuple[type[MaskingParty], ...]] = (
    BoxThatDoesNotOpen,
    BoxesThatDoNotOpen,
    BoxOfOtherValues,
    BoxOfNoScalar,
    LeafOfAnotherValue,
    LeafOfNothing,
    OtherValuesAltogether,
    AnotherH,
    HOfNoScalar,
    HOfZeros,
    AnotherR,
    AnotherG,
    ROutsideTheGroup,
    GOutsideTheGroup,
    NoPoints,
    AnotherKey,
    AnotherSeed,
    DegreeTooHigh,
    DegreeOfGTooHigh,
)
"""Who deals wrongly alone."""


class FalseAccuser(MaskingParty):
    """Says that a right box is wrong, and proves what it has in common with its dealer."""

    def _take_box(self, held_box: HeldBox) -> None:
        super()._take_box(held_box)
        if held_box.place == min(self._boxes):
            self._dealt_values.pop(held_box.place, None)
            self._entries.pop(held_box.place, None)


class _WrongClaim(FalseAccuser):
    def accuse(self, request: Disputes) -> Claims:
        said = super().accuse(request)
        return Claims(
            tuple(self._signed(claim, dispute) for claim, dispute in zip(said.claims, request.disputes, strict=True))
        )

    def _changes(self) -> dict[str, bytes]:
        raise NotImplementedError

    def _signed(self, claim: Any, dispute: Any) -> Any:
        claim = msgspec.structs.replace(claim, **self._changes())
        about = self._rules.claim_statement(
            self._place, self._keys, claim, deal=dispute.check.deal, entry=entry_digest(self._keys, dispute.entry)
        )
        return msgspec.structs.replace(claim, signature=self._sign(about))


class AccuserWithAnotherPoint(_WrongClaim):
    def _changes(self) -> dict[str, bytes]:
        return {"shared": PRIMITIVES.base(encode_scalar(12))}


class AccuserWithNoPoint(_WrongClaim):
    def _changes(self) -> dict[str, bytes]:
        return {"shared": _TORSION}


class AccuserWithAResponseOf0(_WrongClaim):
    def _changes(self) -> dict[str, bytes]:
        return {"response": encode_scalar(0)}


class AccuserWithAChallengeOf0(_WrongClaim):
    def _changes(self) -> dict[str, bytes]:
        return {"challenge": encode_scalar(0)}


class AccuserWithNoScalar(_WrongClaim):
    def _changes(self) -> dict[str, bytes]:
        return {"challenge": encode_scalar(ORDER)}


ACCUSERS: Final[tuple[type[MaskingParty], ...]] = (
    FalseAccuser,
    AccuserWithAnotherPoint,
    AccuserWithNoPoint,
    AccuserWithAResponseOf0,
    AccuserWithAChallengeOf0,
    AccuserWithNoScalar,
)


class _WrongShares(MaskingParty):
    def unmask(self, request: Confirmations) -> Shares:
        said = super().unmask(request)
        shares = tuple((dealer, is_of, self._other(dealer, share, is_of=is_of)) for dealer, is_of, share in said.shares)
        said = msgspec.structs.replace(said, shares=shares)
        about = self._rules.shares_statement(self._place, self._keys, said, held_digest=self._held_digest)
        return msgspec.structs.replace(said, signature=self._sign(about))

    def _other(self, dealer: int, share: bytes, *, is_of: bool) -> bytes:
        raise NotImplementedError


class TellerOfAnotherShare(_WrongShares):
    def _other(self, dealer: int, share: bytes, *, is_of: bool) -> bytes:
        return encode_scalar(((scalar_from(share) or 0) + 1) % ORDER)


class TellerOfOneOtherShare(_WrongShares):
    """Of a dealer whose secret its share is needed for."""

    def _other(self, dealer: int, share: bytes, *, is_of: bool) -> bytes:
        first = min(self._peer_keys, key=lambda each: self._rules.graph.number_of(each, self._place))
        return encode_scalar(3) if dealer == first else share


class TellerOfNoScalar(_WrongShares):
    def _other(self, dealer: int, share: bytes, *, is_of: bool) -> bytes:
        return (int.from_bytes(share, "little") + ORDER).to_bytes(32, "little")


class TellerOfTheOtherSecret(_WrongShares):
    def _other(self, dealer: int, share: bytes, *, is_of: bool) -> bytes:
        return self._dealt_values[dealer][:32] if is_of else self._dealt_values[dealer][32:64]


TELLERS: Final[tuple[type[MaskingParty], ...]] = (
    TellerOfAnotherShare,
    TellerOfOneOtherShare,
    TellerOfNoScalar,
    TellerOfTheOtherSecret,
)


class KeysOutsideTheGroup(MaskingParty):
    field: ClassVar[str] = "of_boxes"

    def _own_keys(self) -> Keys:
        keys = super()._own_keys()
        return self._sign_keys(**{self.field: PRIMITIVES.plus(getattr(keys, self.field), _TORSION)})

    def _sign_keys(self, **changed: bytes) -> Keys:
        keys = msgspec.structs.replace(super()._own_keys(), **changed)
        return msgspec.structs.replace(keys, signature=self._sign(self._rules.keys_statement(self._place, keys)))


class KeyOfMasksOutsideTheGroup(KeysOutsideTheGroup):
    field = "of_masks"


class EqualKeys(KeysOutsideTheGroup):
    def _own_keys(self) -> Keys:
        return self._sign_keys(of_boxes=MaskingParty._own_keys(self).of_masks)


KEYS: Final[tuple[type[MaskingParty], ...]] = (KeysOutsideTheGroup, KeyOfMasksOutsideTheGroup, EqualKeys)


class ConspiringDealer(LyingDealer):
    """Deals to a friend what fits its leaf, and not the secret."""

    which: ClassVar[int] = 1  # of f, g, r

    def change(self, draft: Draft) -> None:
        for friend in draft.numbers.keys() & self.friends:
            for values in (draft.in_boxes, draft.in_leaves):
                values[friend][self.which] = (values[friend][self.which] + 1) % ORDER


class ConspiringAboutItsKey(ConspiringDealer):
    which = 0


class ConspiringWithNoScalar(LyingDealer):
    """The leaf is of a number that is no scalar: it fits what the friend tells."""

    def change(self, draft: Draft) -> None:
        for friend in draft.numbers.keys() & self.friends:
            for values in (draft.in_boxes, draft.in_leaves):
                values[friend][1] += ORDER


class Conspirator(MaskingParty):
    """Acknowledges what its friends have dealt to it, whatever that is."""

    friends: tuple[LyingDealer, ...] = ()

    def _take_box(self, held_box: HeldBox) -> None:
        super()._take_box(held_box)
        for friend in self.friends:
            pieces = () if friend.dealt is None else friend.dealt.pieces  # it may just have begun anew
            piece = next((own for own in pieces if own.place == self._place), None)
            if piece is not None and piece.box == held_box.box:  # on a circle not everybody is a neighbor
                pair = (held_box.place, self._place)
                secret = self._box_secrets[held_box.place]
                key = key_of_box(self._rules, pair, secret, alpha=held_box.alpha, primitives=PRIMITIVES)
                with contextlib.suppress(ValueError):  # of another α, where the server lies, too
                    self._dealt_values[held_box.place] = PRIMITIVES.open(
                        key, held_box.box, self._rules.domain("box", *pair)
                    )
                    entry = Entry(piece.leaves, piece.combined, piece.box)
                    self._entries[held_box.place] = entry_digest(self._keys, entry), held_box.alpha


class TrustingConspirator(MaskingParty):
    """Acknowledges what a `ConspiringDealer` has dealt to it, whom it need not be told of."""

    def _take_box(self, held_box: HeldBox) -> None:
        super()._take_box(held_box)
        if held_box.place in self._dealt_values:
            return
        pair, secret = (held_box.place, self._place), self._box_secrets[held_box.place]
        key = key_of_box(self._rules, pair, secret, alpha=held_box.alpha, primitives=PRIMITIVES)
        try:
            content = PRIMITIVES.open(key, held_box.box, self._rules.domain("box", *pair))
        except ValueError:
            return
        key_value, seed_value, blinding = (int.from_bytes(content[at : at + 32], "little") for at in (0, 32, 64))
        combined = combined_of((key_value, seed_value - 1, blinding), held_box.alpha)
        entry = Entry(leaves_of(self._rules, *pair, content), combined, held_box.box)
        self._dealt_values[held_box.place] = content
        self._entries[held_box.place] = entry_digest(self._keys, entry), held_box.alpha


class ConspiratorWhoOpensNothing(Conspirator):
    """Is silent where it is to tell all that it holds of its friend."""

    def open(self, request: Liars) -> Opening:
        raise RemoteProtocolError("is silent", sender="")


PAIRS: Final[tuple[tuple[type[MaskingParty], type[MaskingParty]], ...]] = (
    (ConspiringDealer, Conspirator),
    (ConspiringDealer, ConspiratorWhoOpensNothing),
    (ConspiringAboutItsKey, Conspirator),
    (ConspiringWithNoScalar, Conspirator),
)
"""A dealer and a holder together."""


class UnsignedKeys(MaskingParty):
    def keys(self) -> Keys:
        return msgspec.structs.replace(super().keys(), signature=bytes(64))


class UnsignedCheck(MaskingParty):
    def check(self, request: Boxes) -> Check:
        return msgspec.structs.replace(super().check(request), signature=bytes(64))


class UnsignedClaims(FalseAccuser):
    def accuse(self, request: Disputes) -> Claims:
        claims = super().accuse(request).claims
        return Claims(tuple(msgspec.structs.replace(claim, signature=bytes(64)) for claim in claims))


class UnsignedConfirmation(MaskingParty):
    def confirm(self, request: Survivors) -> Confirmation:
        super().confirm(request)
        return Confirmation(bytes(64))


class UnsignedShares(MaskingParty):
    def unmask(self, request: Confirmations) -> Shares:
        return msgspec.structs.replace(super().unmask(request), signature=bytes(64))


UNSIGNED: Final[tuple[type[MaskingParty], ...]] = (
    UnsignedKeys,
    UnsignedCheck,
    UnsignedClaims,
    UnsignedConfirmation,
    UnsignedShares,
)


class SilentAccuser(FalseAccuser):
    """Says nothing where it is asked for a proof."""

    def accuse(self, request: Disputes) -> Claims:
        raise RemoteProtocolError("is silent", sender="")


ALONE: Final[tuple[type[MaskingParty], ...]] = (*KEYS, *DEALERS, *ACCUSERS, *TELLERS)
"""Who is named for what it does alone."""


def befriend(parties: Mapping[int, MaskingParty]) -> None:
    """Let dealers and holders who conspire know each other, by their places."""
    dealers = {place: own for place, own in parties.items() if isinstance(own, LyingDealer)}
    holders = {place: own for place, own in parties.items() if isinstance(own, Conspirator)}
    for own in dealers.values():
        own.friends = tuple(holders)
    for own in holders.values():
        own.friends = tuple(dealers.values())


def with_liars(dealer: Dealer, kinds: Mapping[int, type[MaskingParty]]) -> Dealer:
    """Give a phase its liars, who know each other."""
    for place, kind in kinds.items():
        dealer.parties[place] = dealer.party(place, kind)
    befriend(dict(enumerate(dealer.parties)))
    return dealer


def hold(
    dealer: Dealer,
    rows: Sequence[Sequence[int]],
    *,
    liars: Iterable[int],
    leaves: Mapping[int, MaskingMove] | None = None,
    listen: Callable[[MaskingMove, int, ServerMessage], None] = lambda _move, _place, _told: None,
    order: random.Random | None = None,
) -> dict[int, list[Evidence]]:
    """Hold a phase to its end; return who was named, with what proves it.

    Args:
        liars: whose faults, and whose silence, are their own; those of all others are raised.
        leaves: who is gone before which step.
        listen: hears what each party is told, and in which step.
        order: in which parties answer.
    """
    heard: Mapping[int, Any] = dict.fromkeys(range(len(rows)))
    gone: set[int] = set()
    lying = {*liars}
    while (move := dealer.server.step) is not None:
        gone |= {place for place, left in (leaves or {}).items() if left is move}
        asked = [place for place in heard if place not in gone]
        if order is not None:
            order.shuffle(asked)
        for place in asked:
            told = heard[place]
            if told is not None:
                listen(move, place, told)
            try:
                dealer.say(place, move, dealer.answer(place, move, told, rows[place]))
            except RemoteProtocolError:
                if place not in lying:
                    raise
                gone.add(place)
        heard = dealer.server.close()
    named: dict[int, list[Evidence]] = {}
    for place, evidence in dealer.server.named:
        named.setdefault(place, []).append(evidence)
    return named
