"""Evidence that a party of a masked phase cheated: its signed statements, and `verdict`, which names a party or none.

No honest party is ever named, even if the server and all others collude (`docs/distributed-proofs.md`, B1). For this, a
verdict uses the rules that its caller agreed to, never rules from the evidence. An honest party signs each statement
only once for its keys, which are new in each run. An accuser's signature covers everything that a verdict reads.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from ..messages import WireStruct
from .deals import (
    KnownDeal,
    alpha_of,
    deal_digest,
    entry_digest,
    entry_of,
    has_leaf,
    held_digest,
    held_entry,
    key_of_box,
    leads_to,
)
from .primitives import Primitives
from .scalars import ORDER, SCALAR_BYTES, encode_scalar, montgomery_of, scalar_from, value_at_zero
from .steps import (
    Check,
    Claim,
    Deal,
    Digest,
    Entry,
    Keys,
    Leaves,
    Mark,
    MaskingRules,
    Opening,
    Path,
    Place,
    Point,
    Scalar,
    Shares,
)


class _Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The fields of all evidence: a party's place, and its keys of this run."""

    place: int
    keys: Keys


class WrongKeys(_Evidence, frozen=True, kw_only=True, tag="keys"):
    """A party has signed keys that are no points of the group, or are one."""


class WrongDeal(_Evidence, frozen=True, kw_only=True, tag="deal"):
    """A dealer signed a deal whose values are not those of polynomials, or not of its keys.

    Args:
        holders: the keys of all holders, including the dealer, by index.
    """

    check: Check
    deal: Deal
    holders: tuple[tuple[Place, Keys], ...]


class NoSecret(_Evidence, frozen=True, kw_only=True, tag="apart"):
    """A dealer's shares match its leaves, but do not yield the secret of its point.

    Args:
        blinding, seed, chunks: as in `Path`.
        leaves: the leaves of all holders, by index, in the deal's order.
        is_of_seed: whether the shares are those of the seed of its self-mask; otherwise of its key.
        shares: the shares of `needed` holders, by their indices.
    """

    check: Check
    blinding: Point
    seed: Point
    leaves: tuple[tuple[Place, Leaves], ...]
    chunks: tuple[Digest, ...]
    is_of_seed: bool
    shares: tuple[tuple[Place, Scalar], ...]


class WrongBox(_Evidence, frozen=True, kw_only=True, tag="box"):
    """A dealer signed an entry whose box has other content than the entry states; or a holder accused it falsely.

    Args:
        holder: the accusing holder.
    """

    check: Check
    path: Path
    entry: Entry
    holder: int
    holder_keys: Keys
    claim: Claim


class _WrongValue(_Evidence, frozen=True, kw_only=True):
    """A holder's false value: it differs from the one that the holder acknowledged.

    Args:
        place: the holder's index.
        check: the message in which it acknowledged its entries.
        held: the acknowledged entries: dealers' indices, the digests of their entries, and their α.
        dealer: the dealer of the value.
        entry: the dealer's entry for this holder.
    """

    check: Check
    held: tuple[tuple[Place, Digest, Mark], ...]
    dealer: int
    entry: Entry


class WrongShare(_WrongValue, frozen=True, kw_only=True, tag="share"):
    """It does so in its shares."""

    shares: Shares


class WrongOpening(_WrongValue, frozen=True, kw_only=True, tag="open"):
    """It does so where it tells all that it holds of a dealer who has lied."""

    opening: Opening


Evidence: TypeAlias = WrongKeys | WrongDeal | NoSecret | WrongBox | WrongShare | WrongOpening


class Liars(WireStruct, frozen=True):
    """Proofs that some dealers have lied; holders then reveal all that they hold of these."""

    evidence: tuple[NoSecret, ...]


DEEDS: Final[Mapping[type, str]] = {
    WrongKeys: "signed keys that are none",
    WrongDeal: "signed a deal that is not of its keys",
    NoSecret: "dealt shares that are not of its keys",
    WrongBox: "signed a box that does not hold what it says, or accused somebody of it whose box does",
    WrongShare: "told another share than it had acknowledged",
    WrongOpening: "told other values than it had acknowledged",
}
"""What a named party did, as a phrase, by the type of evidence."""


def verdict(rules: MaskingRules, evidence: Evidence, primitives: Primitives) -> int | None:
    """Return the index of the party that the evidence proves to have cheated; None if it proves nothing.

    Args:
        rules: the rules that the caller agreed to.
        evidence: the evidence.
        primitives: the cryptographic primitives.
    """
    judge, place = _Judge(rules, primitives), evidence.place
    if not judge.has_signed_keys(place, evidence.keys):
        return None
    if not judge.are_keys(evidence.keys):
        return place
    match evidence:
        case WrongKeys():
            return None
        case WrongDeal():
            return place if judge.has_wrong_deal(evidence) else None
        case NoSecret():
            return place if judge.has_no_secret(evidence) else None
        case WrongBox():
            return judge.liar_about(evidence)
        case WrongShare() | WrongOpening():
            return place if judge.has_told_another(evidence) else None


def is_secret_of(secret: int, point: bytes, primitives: Primitives) -> bool:
    """Return whether a point is so many times the base point."""
    return secret != 0 and primitives.base(encode_scalar(secret)) == point


def proof_of(
    secret: int, nonce: int, *, public: bytes, point: bytes, shared: bytes, about: bytes, primitives: Primitives
) -> tuple[bytes, bytes]:
    """Return a proof of equal discrete logarithms: of `public` to the base point, and of `shared` to `point`.

    Args:
        secret: the discrete logarithm.
        nonce: a uniform scalar that is used only for this proof.

    Returns:
        Challenge and response.

    Source:
        Chaum and Pedersen (1992), with the challenge of Fiat and Shamir (1986).
    """
    nonce_bytes = encode_scalar(nonce)
    challenge = _challenge(
        about, public, point, shared, primitives.base(nonce_bytes), primitives.times(nonce_bytes, point)
    )
    return encode_scalar(challenge), encode_scalar((nonce + challenge * secret) % ORDER)


def possession_of(secret: int, nonce: int, *, public: bytes, about: bytes, primitives: Primitives) -> bytes:
    """Return a proof of knowledge of the secret of a key: challenge and response.

    Args:
        nonce: a uniform scalar that is used only for this proof.

    Source:
        Schnorr (1991), with the challenge of Fiat and Shamir (1986).
    """
    challenge = _challenge(about, public, primitives.base(encode_scalar(nonce)))
    return encode_scalar(challenge) + encode_scalar((nonce + challenge * secret) % ORDER)


def has_possession(proof: bytes, *, public: bytes, about: bytes, primitives: Primitives) -> bool:
    """Return whether a proof of `possession_of` is right."""
    challenge, response = scalar_from(proof[:SCALAR_BYTES]), proof[SCALAR_BYTES:]
    if challenge is None or scalar_from(response) is None:
        return False
    opposite = encode_scalar(-challenge % ORDER)
    try:
        commitment = primitives.plus(primitives.base(response), primitives.times(opposite, public))
    except ValueError:
        return False
    return challenge == _challenge(about, public, commitment)


def opens_to(
    shared: bytes, entry: Entry, *, rules: MaskingRules, pair: tuple[int, int], alpha: bytes, primitives: Primitives
) -> bool:
    """Return whether the box of an entry has the content that the entry states.

    Args:
        shared: the point shared by dealer and holder, which opens the box.
        pair: their indices.
    """
    (secret,) = montgomery_of([shared])
    key = key_of_box(rules, pair, secret, alpha=alpha, primitives=primitives)
    try:
        content = primitives.open(key, entry.box, rules.domain("box", *pair))
    except ValueError:
        return False
    return entry_of(rules, *pair, content=content, alpha=alpha, box=entry.box) == entry


class _Judge:
    """The checks of a verdict, under given rules."""

    def __init__(self, rules: MaskingRules, primitives: Primitives) -> None:
        self._rules, self._primitives = rules, primitives

    def has_signed_keys(self, place: int, keys: Keys) -> bool:
        return 0 <= place < len(self._rules.names) and self._is_signed(
            place, keys.signature, self._rules.keys_statement(place, keys)
        )

    def are_keys(self, keys: Keys) -> bool:
        is_point = self._primitives.is_point
        return keys.of_masks != keys.of_boxes and is_point(keys.of_masks) and is_point(keys.of_boxes)

    def has_wrong_deal(self, evidence: WrongDeal) -> bool:
        """Return whether the dealer has signed the deal, and it is wrong."""
        rules, dealer, deal, keys = self._rules, evidence.place, evidence.deal, dict(evidence.holders)
        places = [piece.place for piece in deal.pieces]
        if not self._are_holders(places, dealer) or {*places} != keys.keys() or keys.get(dealer) != evidence.keys:
            return False
        known_deal = KnownDeal(rules, dealer, keys, deal)
        is_signed = known_deal.digest == evidence.check.deal and self._has_signed(evidence.check, dealer, evidence.keys)
        return is_signed and not known_deal.is_right(self._primitives, seed=known_deal.digest)

    def has_no_secret(self, evidence: NoSecret) -> bool:
        """Return whether the dealer has signed the leaves of shares that are not of its secret."""
        rules, dealer, keys, leaves = self._rules, evidence.place, evidence.keys, dict(evidence.leaves)
        points = {"blinding": evidence.blinding, "seed": evidence.seed}
        if not self._are_holders([place for place, _ in evidence.leaves], dealer):
            return False
        alpha = alpha_of(rules, dealer, keys, **points, leaves=(leaf for _, leaf in evidence.leaves))
        digest = deal_digest(rules, dealer, keys, **points, alpha=alpha, chunks=evidence.chunks)
        if digest != evidence.check.deal or not self._has_signed(evidence.check, dealer, keys):
            return False
        is_of_seed, values = evidence.is_of_seed, dict[int, int]()
        for holder, share in evidence.shares:
            if holder not in leaves:
                return False
            if not has_leaf(rules, dealer, holder, leaves=leaves[holder], is_of_seed=is_of_seed, value=share):
                return False
            values[rules.graph.number_of(dealer, holder)] = int.from_bytes(share, "little")
        point = evidence.seed if is_of_seed else keys.of_masks
        is_enough = len(values) >= rules.needed
        return is_enough and not is_secret_of(value_at_zero(values, rules.needed), point, self._primitives)

    def _are_holders(self, places: Sequence[int], dealer: int) -> bool:
        """Return whether a dealer may have dealt to these, itself among them, in order."""
        near = {dealer, *self._rules.graph.neighbors_of(dealer)}
        return dealer in places and [*places] == sorted({*places}) and near.issuperset(places)

    def liar_about(self, evidence: WrongBox) -> int | None:
        """Return who lies about a box: its dealer, or who accuses the dealer of it."""
        rules, dealer, holder, claim = self._rules, evidence.place, evidence.holder, evidence.claim
        if holder not in rules.graph.neighbors_of(dealer) or not self.has_signed_keys(holder, evidence.holder_keys):
            return None
        if not self.are_keys(evidence.holder_keys):
            return holder
        entry, path, check = evidence.entry, evidence.path, evidence.check
        digest = entry_digest(evidence.holder_keys, entry)
        is_entry = leads_to(path, holder, digest, deal=check.deal, about=(rules, dealer, evidence.keys))
        if not is_entry or not self._has_signed(check, dealer, evidence.keys) or claim.place != dealer:
            return None
        about = rules.claim_statement(holder, evidence.holder_keys, claim, deal=check.deal, entry=digest)
        if not self._is_signed(holder, claim.signature, about):
            return None
        if not self._is_proven(claim, (dealer, holder), evidence.holder_keys.of_boxes, evidence.keys.of_boxes):
            return holder
        is_right = opens_to(
            claim.shared, entry, rules=rules, pair=(dealer, holder), alpha=path.alpha, primitives=self._primitives
        )
        return holder if is_right else dealer

    def has_told_another(self, evidence: WrongShare | WrongOpening) -> bool:
        """Return whether a holder has told another value than it has acknowledged, and signed both."""
        rules, holder, dealer, entry = self._rules, evidence.place, evidence.dealer, evidence.entry
        if dealer not in {holder, *rules.graph.neighbors_of(holder)}:
            return False
        digest, check = entry_digest(evidence.keys, entry), evidence.check
        alphas = [alpha for place, known_digest, alpha in evidence.held if (place, known_digest) == (dealer, digest)]
        if not alphas or check.held != held_digest(rules, holder, (held_entry(*mark) for mark in evidence.held)):
            return False
        if not self._has_signed(check, holder, evidence.keys):
            return False
        if isinstance(evidence, WrongShare):
            shares = evidence.shares
            about = rules.shares_statement(holder, evidence.keys, shares, held_digest=check.held)
            return self._is_signed(holder, shares.signature, about) and any(
                not has_leaf(rules, dealer, holder, leaves=entry.leaves, is_of_seed=is_of_seed, value=share)
                for place, is_of_seed, share in shares.shares
                if place == dealer
            )
        opening = evidence.opening
        about = rules.opening_statement(holder, evidence.keys, opening, held_digest=check.held)
        return self._is_signed(holder, opening.signature, about) and any(
            entry_of(rules, dealer, holder, content=content, alpha=alphas[0], box=entry.box) != entry
            for place, content in opening.values
            if place == dealer
        )

    def _is_proven(self, claim: Claim, pair: tuple[int, int], public: bytes, point: bytes) -> bool:
        """Return whether the proof of a claim is right."""
        primitives, about = self._primitives, self._rules.domain("proof", *pair)
        challenge, response = scalar_from(claim.challenge), scalar_from(claim.response)
        if challenge is None or response is None:
            return False
        opposite = encode_scalar(-challenge % ORDER)
        try:
            first = primitives.plus(primitives.base(claim.response), primitives.times(opposite, public))
            second = primitives.plus(primitives.times(claim.response, point), primitives.times(opposite, claim.shared))
        except ValueError:
            return False
        return challenge == _challenge(about, public, point, claim.shared, first, second)

    def _has_signed(self, check: Check, place: int, keys: Keys) -> bool:
        return self._is_signed(place, check.signature, self._rules.check_statement(place, keys, check))

    def _is_signed(self, place: int, signature: bytes, message: bytes) -> bool:
        return self._primitives.verify(self._rules.keys[place], signature, message)


def _challenge(*parts: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(b"".join(parts), digest_size=64).digest(), "little") % ORDER
