"""Deals: a party's secret shares of its two secrets, which all parties check before any row is sent.

A dealer draws three polynomials with `needed` coefficients. The constant term of f is its private mask key, that of g
is the seed of its self-mask, and r is a blinding polynomial. Each holder gets the values of all three at the holder's
number. Digests of these values, the *leaves*, commit to them before α is known, which is a digest of all leaves. The
values of h = r + α·f + α²·g are public. Let B be the base point, R and G the points of r(0) and g(0). If the values of
h are those of one polynomial, and h(0)·B = R + α·(the public key + α·G), then the values of f, g and r are those of
polynomials, too, and their secrets are those of the key and of G.

An *entry* is the part of a deal for one holder: box, leaves and h. The deal's digest covers all entries in chunks, so
that one entry can be shown without the others.

Source: `docs/distributed-proofs.md`; Cascudo and David (2017), for the test (SCRAPE).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from .primitives import KEY_BYTES, Primitives, has_large_order
from .scalars import ORDER, SCALAR_BYTES, encode_scalar, is_of_one_polynomial, scalar_from, value_at_zero
from .steps import DIGEST_BYTES, LEAF_BYTES, MARK_BYTES, Deal, Entry, Keys, MaskingRules, Path, Piece

POLYNOMIALS: Final = b"fgr"
"""The polynomials of the key, of the seed and of the blinding, in the order of their values in boxes."""
_CHUNK: Final = 16  # entries per chunk


def hash_parts(*parts: bytes, size: int = DIGEST_BYTES) -> bytes:
    """Return a digest (BLAKE2b) of parts, each of a length that follows from what is before it."""
    return hashlib.blake2b(b"".join(parts), digest_size=size).digest()


def leaves_of(rules: MaskingRules, dealer: int, holder: int, content: bytes) -> bytes:
    """Return the leaves of what a holder's box holds, one after another."""
    about = rules.domain("leaf", dealer, rules.graph.number_of(dealer, holder))
    leaves = [hash_parts(about, bytes((name,)), value, size=LEAF_BYTES) for name, value in _named(content)]
    return b"".join(leaves)


def has_leaf(rules: MaskingRules, dealer: int, holder: int, *, leaves: bytes, is_of_seed: bool, value: bytes) -> bool:
    """Return whether a value, of the seed's polynomial or the key's, is a scalar, and the one that a leaf is of."""
    about = rules.domain("leaf", dealer, rules.graph.number_of(dealer, holder))
    leaf = hash_parts(about, POLYNOMIALS[is_of_seed : is_of_seed + 1], value, size=LEAF_BYTES)
    leaf_bytes = leaves[LEAF_BYTES * is_of_seed : LEAF_BYTES * (is_of_seed + 1)]
    return leaf == leaf_bytes and scalar_from(value) is not None


def value_of(content: bytes, *, is_of_seed: bool) -> bytes:
    """Return the value of the seed's polynomial, or of the key's, of what a box holds."""
    return content[SCALAR_BYTES * is_of_seed : SCALAR_BYTES * (is_of_seed + 1)]


def combined_of(values: Sequence[int], alpha: bytes) -> bytes:
    """Return h of a holder's values of f, g and r."""
    key, seed, blinding = values
    factor = int.from_bytes(alpha, "little")
    return encode_scalar((blinding + factor * (key + factor * seed)) % ORDER)


def alpha_of(
    rules: MaskingRules, dealer: int, keys: Keys, *, blinding: bytes, seed: bytes, leaves: Iterable[bytes]
) -> bytes:
    """Return the coefficient α that combines a dealer's polynomials: a digest of all holders' leaves, in order."""
    return hash_parts(
        rules.domain("alpha", dealer), keys.of_masks, keys.of_boxes, blinding, seed, *leaves, size=MARK_BYTES
    )


def key_of_box(
    rules: MaskingRules, pair: tuple[int, int], secret: bytes, *, alpha: bytes, primitives: Primitives
) -> bytes:
    """Return the key of a box. It depends on α, so that no key seals boxes of two deals.

    Args:
        pair: the indices of dealer and holder.
        secret: the shared secret of their box keys.
    """
    return primitives.derive(secret, rules.domain("key of a box", *pair) + alpha, KEY_BYTES)


def entry_digest(holder: Keys, entry: Entry | Piece) -> bytes:
    """Return the digest of an entry, and of the keys of the holder for whom it is."""
    return hash_parts(holder.of_masks, holder.of_boxes, entry.box, entry.leaves, entry.combined)


def entry_of(
    rules: MaskingRules, dealer: int, holder: int, *, content: bytes, alpha: bytes, box: bytes
) -> Entry | None:
    """Return the entry of a box by what it holds; None where that is not three scalars."""
    values = [scalar for _, value in _named(content) if (scalar := scalar_from(value)) is not None]
    if len(content) != len(POLYNOMIALS) * SCALAR_BYTES or len(values) < len(POLYNOMIALS):
        return None
    return Entry(leaves_of(rules, dealer, holder, content), combined_of(values, alpha), box)


def held_entry(dealer: int, entry: bytes, alpha: bytes) -> bytes:
    """Return the bytes for one dealer in `held_digest`: its place, the digest of its entry, its α."""
    return dealer.to_bytes(4, "big") + entry + alpha


def held_digest(rules: MaskingRules, holder: int, entries: Iterable[bytes]) -> bytes:
    """Return the digest of what a holder says that it holds: of each dealer's `held_entry`, by place."""
    return hash_parts(rules.domain("held", holder), *entries)


def deal_digest(
    rules: MaskingRules, dealer: int, keys: Keys, *, blinding: bytes, seed: bytes, alpha: bytes, chunks: Iterable[bytes]
) -> bytes:
    """Return the digest of a deal, of those of its chunks."""
    return hash_parts(rules.domain("deal", dealer), keys.of_masks, keys.of_boxes, blinding, seed, alpha, *chunks)


def leads_to(path: Path, holder: int, entry: bytes, *, deal: bytes, about: tuple[MaskingRules, int, Keys]) -> bool:
    """Return whether a path leads from the digest of a holder's entry to that of a deal.

    Args:
        about: the rules, the dealer's index and its keys.
    """
    known_parts = {"blinding": path.blinding, "seed": path.seed, "alpha": path.alpha}
    is_in_chunk = (holder, entry) in path.chunk and _digest_of_chunk(path.chunk) in path.chunks
    return is_in_chunk and deal == deal_digest(*about, **known_parts, chunks=path.chunks)


class KnownDeal:
    """A deal with all its entries, as known to its dealer, the server and a verdict.

    Args:
        keys: the keys of all holders, including the dealer, by index.

    Attributes:
        alpha: α, by which its polynomials are combined.
        entries: the digests of its entries, by their holders' indices, in order.
        held_entries: for each holder's index, the deal's bytes in the holder's `held_digest`.
        numbers: the numbers at which holders have the values, by index.
        pieces: its pieces, by their holders' indices.
        digest: the digest of the deal.
    """

    def __init__(self, rules: MaskingRules, dealer: int, keys: Mapping[int, Keys], deal: Deal) -> None:
        self._rules, self._dealer, self._keys, self.deal = rules, dealer, keys[dealer], deal
        points = {"blinding": deal.blinding, "seed": deal.seed}
        self.alpha = alpha_of(rules, dealer, self._keys, **points, leaves=(piece.leaves for piece in deal.pieces))
        self.pieces = {piece.place: piece for piece in deal.pieces}
        self.numbers = {holder: rules.graph.number_of(dealer, holder) for holder in self.pieces}
        self.entries = {piece.place: entry_digest(keys[piece.place], piece) for piece in deal.pieces}
        self.held_entries = {place: held_entry(dealer, entry, self.alpha) for place, entry in self.entries.items()}
        pairs = tuple(self.entries.items())
        self._chunks = [pairs[start : start + _CHUNK] for start in range(0, len(pairs), _CHUNK)]
        self.chunks = tuple(map(_digest_of_chunk, self._chunks))
        self.digest = deal_digest(rules, dealer, self._keys, **points, alpha=self.alpha, chunks=self.chunks)

    def path_to(self, holder: int) -> Path:
        """Return the path from a holder's entry to the digest."""
        (chunk,) = (chunk for chunk in self._chunks if any(place == holder for place, _ in chunk))
        return Path(self.deal.blinding, self.deal.seed, self.alpha, chunk, self.chunks)

    def is_right(self, primitives: Primitives, *, seed: bytes) -> bool:
        """Return whether the deal has values of polynomials, with the secrets of the dealer's key and of G.

        Args:
            seed: as in `is_of_one_polynomial`.
        """
        rules, deal = self._rules, self.deal
        values = {self.numbers[piece.place]: scalar_from(piece.combined) for piece in deal.pieces}
        values_known = {number: value for number, value in values.items() if value is not None}
        if len(values_known) < len(values) or not is_of_one_polynomial(values_known, rules.needed, seed=seed):
            return False
        alpha = self.alpha.ljust(SCALAR_BYTES, b"\0")
        if not has_large_order(deal.blinding):  # a difference of two points of the group is in the group
            return False
        try:
            commitment = primitives.base(encode_scalar(value_at_zero(values_known, rules.needed)))
            secrets = primitives.plus(self._keys.of_masks, primitives.times(alpha, deal.seed))
            return commitment == primitives.plus(deal.blinding, primitives.times(alpha, secrets))
        except ValueError:
            return False


def _named(content: bytes) -> Iterable[tuple[int, bytes]]:
    values = (content[start : start + SCALAR_BYTES] for start in range(0, len(content), SCALAR_BYTES))
    return zip(POLYNOMIALS, values, strict=False)


def _digest_of_chunk(chunk: Iterable[tuple[int, bytes]]) -> bytes:
    return hash_parts(*(place.to_bytes(4, "big") + entry for place, entry in chunk))
