"""The steps of a masked phase: its public rules, the messages of each step, and the states of each side.

| step | a party sends | and then receives |
|---|---|---|
| keys | two keys, signed | those of its neighbors |
| shares | a deal: for each neighbor a box with shares of its two secrets, and public data to check them | its boxes |
| check | its signature on its deal, on the boxes that it holds, and on the list of wrong ones | who remains |
| accuse | only if it listed a wrong box: the secret that opens the box, and a proof | |
| masked | its row, under masks | who survived |
| confirm | its signature on the survivors | as many signatures as are needed |
| unmask | for each neighbor one share, of one of the two secrets, signed | |
| open | only for a dealer whose shares do not yield the secret of its key: all shares of it | |

A party that cheats in a step is named by its signed statements (`evidence`), and the others continue. All moves of both
sides are in these tables. All parties agree on the rules in advance. Everything that is signed or sealed begins with
the digest of the rules, so that nothing from another session, phase or roster is accepted.

Source: Bonawitz et al. (2017); `docs/distributed-proofs.md`, for checked deals.
"""

import dataclasses
import enum
import functools
import hashlib
import struct
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from ..errors import require
from ..messages import WireStruct
from .graph import Circle, Complete
from .primitives import KEY_BYTES, SIGNATURE_BYTES, check_signature_key
from .scalars import SCALAR_BYTES

BOX_BYTES: Final = 3 * SCALAR_BYTES + 16
LEAF_BYTES: Final = 16
DIGEST_BYTES: Final = 32
MARK_BYTES: Final = 16
"""The bytes of an entry's mark and of α: enough that nobody can find a second preimage."""
Place = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Point = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Scalar = Annotated[bytes, msgspec.Meta(min_length=SCALAR_BYTES, max_length=SCALAR_BYTES)]
_Three = Annotated[bytes, msgspec.Meta(min_length=3 * SCALAR_BYTES, max_length=3 * SCALAR_BYTES)]
Digest = Annotated[bytes, msgspec.Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
Mark = Annotated[bytes, msgspec.Meta(min_length=MARK_BYTES, max_length=MARK_BYTES)]
Leaves = Annotated[bytes, msgspec.Meta(min_length=3 * LEAF_BYTES, max_length=3 * LEAF_BYTES)]
_Signature = Annotated[bytes, msgspec.Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
_Possession = Annotated[bytes, msgspec.Meta(min_length=2 * SCALAR_BYTES, max_length=2 * SCALAR_BYTES)]
_Box = Annotated[bytes, msgspec.Meta(min_length=BOX_BYTES, max_length=BOX_BYTES)]
_BoxOrNone = Annotated[bytes, msgspec.Meta(max_length=BOX_BYTES)]
_Residue = Annotated[int, msgspec.Meta(ge=-(2**63), lt=2**63)]


_IS_OF_SEED: Final = b"\0", b"\1"


class MaskingMove(enum.Enum):
    """The moves of a side of a masked phase: the steps in order, or a break."""

    KEYS = "keys"
    SHARES = "shares"
    CHECK = "check"
    ACCUSE = "accuse"
    MASKED = "masked"
    CONFIRM = "confirm"
    UNMASK = "unmask"
    OPEN = "open"
    BREAK = "break"
    """A party found the server at fault; or the server has fewer parties left than it needs."""


IN_DISPUTE: Final = frozenset({MaskingMove.ACCUSE, MaskingMove.OPEN})
"""The steps that are skipped unless a party cheated, and in which only some parties get requests."""


class MaskingState(enum.Enum):
    """The state of a side of a masked phase: the last step that it has done, or its end."""

    NEW = "new"
    KEYED = "keyed"
    SHARED = "shared"
    CHECKED = "checked"
    ACCUSED = "accused"
    MASKED = "masked"
    CONFIRMED = "confirmed"
    UNMASKED = "unmasked"
    OPENED = "opened"
    ENDED = "ended"


_Move, _State = MaskingMove, MaskingState

MASKING: Final[Mapping[MaskingState, Mapping[MaskingMove, MaskingState]]] = {
    _State.NEW: {_Move.KEYS: _State.KEYED, _Move.BREAK: _State.ENDED},
    _State.KEYED: {_Move.SHARES: _State.SHARED, _Move.BREAK: _State.ENDED},
    _State.SHARED: {_Move.CHECK: _State.CHECKED, _Move.BREAK: _State.ENDED},
    _State.CHECKED: {_Move.ACCUSE: _State.ACCUSED, _Move.MASKED: _State.MASKED, _Move.BREAK: _State.ENDED},
    _State.ACCUSED: {_Move.MASKED: _State.MASKED, _Move.BREAK: _State.ENDED},
    _State.MASKED: {_Move.CONFIRM: _State.CONFIRMED, _Move.BREAK: _State.ENDED},
    _State.CONFIRMED: {_Move.UNMASK: _State.UNMASKED, _Move.BREAK: _State.ENDED},
    _State.UNMASKED: {_Move.OPEN: _State.OPENED, _Move.BREAK: _State.ENDED},
    _State.OPENED: {},
    _State.ENDED: {},
}
"""State × move → state, for a party as it answers a step, and for the server as it closes one.

Absent moves are forbidden: no step is answered twice, so that no party reveals a second share of any secret."""


class Keys(WireStruct, frozen=True):
    """A party's keys, points of Ed25519's group: of masks, and of the boxes for it."""

    of_masks: Point
    of_boxes: Point
    signature: _Signature


class NeighborKeys(WireStruct, frozen=True):
    """The keys of a party's neighbors, by their places."""

    keys: tuple[tuple[Place, Keys], ...]


class Piece(WireStruct, frozen=True):
    """A dealer's message for one holder.

    Args:
        place: the holder's index.
        leaves: the digests of the holder's values of the three polynomials, concatenated.
        combined: the holder's value of the combined polynomial h.
        box: the three values, sealed; empty if the dealer is the holder.
    """

    place: Place
    leaves: Leaves
    combined: Scalar
    box: _BoxOrNone


class Deal(WireStruct, frozen=True):
    """A dealer's message: the points of its blinding and of the seed of its own mask, and a piece for each holder."""

    blinding: Point
    seed: Point
    pieces: tuple[Piece, ...]


class HeldBox(WireStruct, frozen=True):
    """A box as its holder receives it.

    Args:
        place: the dealer's index.
        mark: the first bytes of the digest of the dealer's entry for this holder.
        alpha: α, by which the dealer's polynomials are combined.
    """

    place: Place
    box: _Box
    mark: Mark
    alpha: Mark


class Boxes(WireStruct, frozen=True):
    """The boxes for a party."""

    boxes: tuple[HeldBox, ...]


class Check(WireStruct, frozen=True):
    """A party's check of the deals.

    Args:
        deal: the digest of its deal.
        held: the digest of the entries that it holds.
        doubted: the indices of dealers whose box for it is wrong, in order.
        possession: a proof that it knows the secret of its box key. Without it nobody reveals a shared secret with the
            key, since for a key derived from another party's, this would open boxes between two others.
    """

    deal: Digest
    held: Digest
    doubted: tuple[Place, ...]
    signature: _Signature
    possession: _Possession


class Path(WireStruct, frozen=True):
    """The hashes and points that lead from one entry of a deal to the deal's digest.

    Args:
        chunk: the digests of the entries in its chunk, by their holders' indices.
        chunks: the digests of all chunks.
    """

    blinding: Point
    seed: Point
    alpha: Mark
    chunk: tuple[tuple[Place, Digest], ...]
    chunks: tuple[Digest, ...]


class Entry(WireStruct, frozen=True):
    """A dealer's entry for one holder. See `Piece`."""

    leaves: Leaves
    combined: Scalar
    box: _BoxOrNone


class Dispute(WireStruct, frozen=True):
    """A holder's dispute of a dealer's box: the entry for the holder, and the dealer's signature."""

    place: Place
    check: Check
    path: Path
    entry: Entry


class Disputes(WireStruct, frozen=True):
    """All disputes of one holder."""

    disputes: tuple[Dispute, ...]


class Claim(WireStruct, frozen=True):
    """A holder's claim against a dealer: the shared secret of their box keys, and a proof of it.

    Args:
        place: the dealer's index.
        shared: the shared point, which opens the box.
        challenge: the challenge of the proof that the holder's key and this point have the same discrete logarithm.
        response: the response of that proof.
    """

    place: Place
    shared: Point
    challenge: Scalar
    response: Scalar
    signature: _Signature


class Claims(WireStruct, frozen=True):
    """A holder's claims, one for each of its disputes."""

    claims: tuple[Claim, ...]


class Excluded(WireStruct, frozen=True):
    """The places of those of the roster who mask no rows, in order: who has left, did not sign, or was named."""

    places: tuple[Place, ...]


class Masked(WireStruct, frozen=True):
    """Values under masks, as residues modulo 2⁶⁴ in [−2⁶³, 2⁶³)."""

    residues: tuple[_Residue, ...]


class Survivors(WireStruct, frozen=True):
    """The places of those whose masked values count, in order."""

    places: tuple[Place, ...]


class Confirmation(WireStruct, frozen=True):
    """A party's signature on the survivors."""

    signature: _Signature


class Confirmations(WireStruct, frozen=True):
    """Signatures on the survivors, by the places of those who signed."""

    signatures: tuple[tuple[Place, _Signature], ...]


class Shares(WireStruct, frozen=True):
    """One share of each neighbor's: whether it is of its own mask's seed, as where it survived, or else of its key."""

    shares: tuple[tuple[Place, bool, Scalar], ...]
    signature: _Signature

    def __repr__(self) -> str:
        return f"Shares(of {len(self.shares)} parties)"


class Opening(WireStruct, frozen=True):
    """All three values that a holder has of dealers who were proven to lie."""

    values: tuple[tuple[Place, _Three], ...]
    signature: _Signature

    def __repr__(self) -> str:
        return f"Opening(of {len(self.values)} parties)"


@dataclasses.dataclass(frozen=True)
class MaskingRules:
    """The public rules of a masked phase, the same for all.

    Args:
        names: the names of all parties, in roster order.
        keys: their signature keys, agreed on in advance.
        threshold: T, the least number of parties that survive, answer and sign.
        colluders: c, the greatest number of parties that collude with the server.
        width: the number of values in a row.
        circle: the circle on which parties mask; None for the complete graph.
        agreed: a digest of all other terms, so that all parties agree on one law of noise: the others' noise protects
            each party, and determines its loss.

    Raises:
        ConfigurationError: these do not fit each other. The complete graph needs 2T > n + c; otherwise T holders could
            be asked for both secrets of a party, or two sets of survivors could get T signatures each.

    Examples:
        >>> rules = MaskingRules(
        ...     "a1", "votes", ("ann", "bob"), (b"9" * 32, b"8" * 32), threshold=2, colluders=0, width=1, agreed=b""
        ... )
        >>> rules.needed, rules.most_gone
        (2, 0)
    """

    session: str
    phase: str
    names: tuple[str, ...]
    keys: tuple[bytes, ...] = dataclasses.field(repr=False)
    threshold: int
    colluders: int
    width: int
    circle: Circle | None = None
    agreed: bytes = dataclasses.field(kw_only=True)

    def __post_init__(self) -> None:
        number, threshold, colluders = len(self.names), self.threshold, self.colluders
        require(number >= 2, "parties", number, "at least 2")  # noqa: PLR2004  a sum of one is a value
        are_distinct = len({*self.names}) == len({*self.keys}) == len(self.keys) == number
        require(are_distinct, "parties", number, "distinct, each with a key of signatures of its own")
        for name, key in zip(self.names, self.keys, strict=True):
            check_signature_key(name, key, may_be_nobodys=True)
        require(0 <= colluders < number, "colluders", colluders, f"in [0, {number})")
        allowed = f"at most the {number} parties, with 2 * threshold > parties + colluders = {number + colluders}"
        require(number + colluders < 2 * threshold <= 2 * number, "threshold", threshold, allowed)
        require(self.width >= 1, "width", self.width, "at least 1")
        if self.circle is not None:
            require(self.circle.num_parties == number, "circle", self.circle.num_parties, f"of the {number} parties")

    @functools.cached_property
    def graph(self) -> Complete | Circle:
        """The graph of who masks with whom."""
        return self.circle or Complete(len(self.names), self.threshold)

    @property
    def needed(self) -> int:
        """How many shares tell a seed, and how many signatures of neighbors settle who survived."""
        return self.graph.needed

    @property
    def most_gone(self) -> int:
        """How many may leave or lie, at most."""
        return len(self.names) - self.threshold

    @functools.cached_property
    def digest(self) -> bytes:
        """The digest of all rules, 32 bytes: of texts in UTF-8, each after its length (8 bytes, big-endian)."""
        circle = self.circle
        sparse = [] if circle is None else [str(circle.degree), circle.seed.hex()]
        numbers = map(str, (self.threshold, self.colluders, self.width, self.needed))
        keys = (key.hex() for key in self.keys)
        texts = [self.session, self.phase, self.agreed.hex(), *numbers, *self.names, *keys, *sparse]
        content = b"".join(len(encoded).to_bytes(8, "big") + encoded for encoded in (text.encode() for text in texts))
        return hashlib.blake2b(content, digest_size=DIGEST_BYTES, person=b"psephos-masking2").digest()

    def describe(self) -> dict[str, Any]:
        """Return all of it, as evidence shows it to whoever holds it against what they have agreed to."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "circle"}
        circle = None if self.circle is None else dataclasses.asdict(self.circle)
        return {**fields, "circle": circle, "needed": self.needed}

    def domain(self, what: str, *places: int) -> bytes:
        """Return the domain of a signature, box or key: the rules, its purpose, and its owner."""
        return b"%b%b%b" % (self.digest, what.encode(), struct.pack(f">x{len(places)}I", *places))

    def keys_statement(self, place: int, keys: Keys) -> bytes:
        """Return the bytes that a party signs for its keys."""
        return self.domain("keys", place) + keys.of_masks + keys.of_boxes

    def check_statement(self, place: int, keys: Keys, check: Check) -> bytes:
        """Return the bytes that a party signs for its check of the deals."""
        return self._statement("check", place, keys, check.deal, check.held, *map(_place_bytes, check.doubted))

    def claim_statement(self, place: int, keys: Keys, claim: Claim, *, deal: bytes, entry: bytes) -> bytes:
        """Return the bytes that a holder signs for a claim: all that a verdict reads, digests of deal and entry too."""
        parts = deal, entry, claim.shared, claim.challenge, claim.response
        return self._statement("accuse", place, keys, _place_bytes(claim.place), *parts)

    def shares_statement(self, place: int, keys: Keys, shares: Shares, *, held_digest: bytes) -> bytes:
        """Return the bytes that a party signs for its shares, and for the entries that it has acknowledged.

        A party that restarts from an older copy of its journal may hold other boxes under the same keys. Its shares are
        compared only with the entries that it acknowledged.
        """
        parts = (_place_bytes(dealer) + _IS_OF_SEED[is_of_seed] + share for dealer, is_of_seed, share in shares.shares)
        return self._statement("unmask", place, keys, held_digest, *parts)

    def opening_statement(self, place: int, keys: Keys, opening: Opening, *, held_digest: bytes) -> bytes:
        """Return the bytes that a party signs for what it reveals of lying dealers: as `shares_statement`."""
        parts = (_place_bytes(dealer) + content for dealer, content in opening.values)
        return self._statement("open", place, keys, held_digest, *parts)

    def _statement(self, what: str, place: int, keys: Keys, *content: bytes) -> bytes:
        """Return the bytes that a party signs. They include its keys, which are new in each run."""
        digest = hashlib.blake2b(b"".join(content), digest_size=DIGEST_BYTES).digest()
        return self.domain(what, place) + keys.of_masks + keys.of_boxes + digest

    def survivors_statement(
        self, places: tuple[int, ...], excluded: tuple[int, ...], keys: Mapping[int, Keys]
    ) -> bytes:
        """Return the bytes that a party signs for the survivors, and for the parties excluded before.

        In the complete graph they include the survivors' keys, which are new in each run. So a signature from another
        run of the same session, which a server broke off, is not valid.
        """
        keys_known = [] if self.circle else [keys[place].of_masks + keys[place].of_boxes for place in places]
        content = b"".join((self.domain("survivors", *places), self.domain("excluded", *excluded), *keys_known))
        return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def _place_bytes(place: int) -> bytes:
    return place.to_bytes(4, "big")
