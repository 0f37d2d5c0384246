"""The five steps of a masked phase: its public rules, what is said in each, and where each side stands.

| step | a party says | and hears |
|---|---|---|
| keys | two keys, signed | those of its neighbors |
| shares | a box for each neighbor, with shares of its two seeds | its neighbors' boxes |
| masked | its values, under masks | who survived |
| confirm | its signature on who survived | as many signatures as are needed |
| unmask | for each neighbor one share, of either seed | |

The rules that hold here: whatever moves a side is in these tables. All parties agree on the rules beforehand, and all
that is signed or sealed begins with their digest, so that nothing of another session, phase or roster passes.

Source: Bonawitz et al. (2017).
"""

import dataclasses
import enum
import functools
import hashlib
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec

from ..errors import require
from .graph import Circle, Complete
from .primitives import KEY_BYTES, SIGNATURE_BYTES, check_signature_key
from .shamir import SHARE_BYTES

BOX_BYTES: Final = 2 * SHARE_BYTES + 16
_Place = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Key = Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
_Signature = Annotated[bytes, msgspec.Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
_Share = Annotated[bytes, msgspec.Meta(min_length=SHARE_BYTES, max_length=SHARE_BYTES)]
_Box = Annotated[bytes, msgspec.Meta(min_length=BOX_BYTES, max_length=BOX_BYTES)]
_Residue = Annotated[int, msgspec.Meta(ge=-(2**63), lt=2**63)]


class MaskingMove(enum.Enum):
    """What moves a side of a masked phase: the five steps in order, or a break."""

    KEYS = "keys"
    SHARES = "shares"
    MASKED = "masked"
    CONFIRM = "confirm"
    UNMASK = "unmask"
    BREAK = "break"
    """A party found the server at fault; or the server has fewer parties left than it needs."""


class MaskingState(enum.Enum):
    """Where a side of a masked phase stands: the last step that it has done, or its end."""

    NEW = "new"
    KEYED = "keyed"
    SHARED = "shared"
    MASKED = "masked"
    CONFIRMED = "confirmed"
    UNMASKED = "unmasked"
    ENDED = "ended"


_Move, _State = MaskingMove, MaskingState

MASKING: Final[Mapping[MaskingState, Mapping[MaskingMove, MaskingState]]] = {
    _State.NEW: {_Move.KEYS: _State.KEYED, _Move.BREAK: _State.ENDED},
    _State.KEYED: {_Move.SHARES: _State.SHARED, _Move.BREAK: _State.ENDED},
    _State.SHARED: {_Move.MASKED: _State.MASKED, _Move.BREAK: _State.ENDED},
    _State.MASKED: {_Move.CONFIRM: _State.CONFIRMED, _Move.BREAK: _State.ENDED},
    _State.CONFIRMED: {_Move.UNMASK: _State.UNMASKED, _Move.BREAK: _State.ENDED},
    _State.UNMASKED: {},
    _State.ENDED: {},
}
"""State × move → state, of a party as it answers a step, and of the server as it closes one.

What is absent is forbidden: no step is answered twice, so that no party says a second share of anybody."""


class Keys(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A party's keys: of masks, and of the boxes for it."""

    of_masks: _Key
    of_boxes: _Key
    signature: _Signature


class NeighborKeys(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The keys of a party's neighbors, by their places."""

    keys: tuple[tuple[_Place, Keys], ...]


class Boxes(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Boxes by the places of those for whom they are, or, on their way down, from whom."""

    boxes: tuple[tuple[_Place, _Box], ...]


class Masked(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Values under masks, as residues modulo 2⁶⁴ in [−2⁶³, 2⁶³)."""

    residues: tuple[_Residue, ...]


class Survivors(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The places of those whose masked values count, in order."""

    places: tuple[_Place, ...]


class Confirmation(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A party's signature on the survivors."""

    signature: _Signature


class Confirmations(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Signatures on the survivors, by the places of those who signed."""

    signatures: tuple[tuple[_Place, _Signature], ...]


class Shares(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One share of each neighbor's: of its own mask's seed where it survived, else of its keys'."""

    shares: tuple[tuple[_Place, _Share], ...]

    def __repr__(self) -> str:
        return f"Shares(of {len(self.shares)} parties)"


@dataclasses.dataclass(frozen=True)
class MaskingRules:
    """What is public of a masked phase, and the same for all.

    Args:
        names: of all parties, in the order of the roster.
        keys: their keys of signatures, agreed beforehand.
        threshold: T: who survives, answers and signs, at least.
        colluders: c: parties that may be in league with the server, at most.
        width: numbers of a row.
        circle: who masks with whom, where it is not each with each.
        agreed: a digest of all else that each has agreed to, so that no two agree to laws of noise that differ: what
            the others add protects each one, and is part of its loss.

    Raises:
        ConfigurationError: these do not fit one another: for the complete graph 2T > n + c, without which T holders of
            shares might be asked for both secrets of a party, or two sets of survivors might gather T signatures each.
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
        """Who masks with whom."""
        return self.circle or Complete(len(self.names), self.threshold)

    @property
    def needed(self) -> int:
        """How many shares tell a seed, and how many signatures of neighbors settle who survived."""
        return self.graph.needed

    @functools.cached_property
    def digest(self) -> bytes:
        """Of all of it, 32 bytes."""
        circle = self.circle
        sparse = [] if circle is None else [str(circle.degree), circle.seed.hex()]
        numbers = map(str, (self.threshold, self.colluders, self.width, self.needed))
        texts = [
            self.session,
            self.phase,
            self.agreed.hex(),
            *numbers,
            *self.names,
            *(key.hex() for key in self.keys),
            *sparse,
        ]
        return hashlib.blake2b(msgspec.msgpack.encode(texts), digest_size=32, person=b"psephos-masking1").digest()

    def about(self, what: str, *places: int) -> bytes:
        """Return what something that is signed, sealed or derived is about."""
        return self.digest + msgspec.msgpack.encode((what, *places))

    def about_keys(self, place: int, keys: Keys) -> bytes:
        """Return what a party signs of its keys."""
        return self.about("keys", place) + keys.of_masks + keys.of_boxes

    def about_survivors(self, places: tuple[int, ...], keys: Mapping[int, Keys]) -> bytes:
        """Return what a party signs of who survived.

        Where each masks with each, their keys are part of it. They are new in each run: a signature of another run of
        the same session, which a server broke off, passes in none.
        """
        known = [] if self.circle else [keys[place].of_masks + keys[place].of_boxes for place in places]
        return hashlib.blake2b(b"".join((self.about("survivors", *places), *known)), digest_size=32).digest()
