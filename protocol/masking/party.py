"""A party of a masked phase: pure; it believes nothing of the server that it can check.

All its secrets are derived from one root of 32 uniform bytes, so a party that kept its root and what it heard says the
same bytes again after a restart. A root masks one row of one phase, and is then forgotten: masks that cover two rows
show their difference.

What is found wrong ends the party's part: it raises a RemoteProtocolError and says nothing any more. That may keep a
session from ending; nothing is opened by it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from ..arrays import IntArray
from ..errors import LocalProtocolError, RemoteProtocolError
from ..roles import SERVER, Side
from ..states import Position
from .primitives import KEY_BYTES, Primitives
from .shamir import SEED_BYTES, SHARE_BYTES, entropy_bytes, split
from .steps import (
    MASKING,
    Boxes,
    Confirmation,
    Confirmations,
    Keys,
    Masked,
    MaskingMove,
    MaskingRules,
    MaskingState,
    NeighborKeys,
    Shares,
    Survivors,
)

_SaidT = TypeVar("_SaidT")
_NUMBER_BYTES: Final = 8


def private_key_of(seed: bytes, rules: MaskingRules, primitives: Primitives) -> bytes:
    """Return a party's private key of masks, of its seed: the one of which shares are given to its neighbors."""
    return primitives.derive(seed, rules.about("key of masks"), KEY_BYTES)


def mask_of_seed(seed: bytes, rules: MaskingRules, primitives: Primitives) -> IntArray:
    """Return a party's own mask: int64, shape (width,), modulo 2⁶⁴."""
    return _expand(primitives.derive(seed, rules.about("own mask"), KEY_BYTES), rules, primitives)


def mask_of(secret: bytes, place: int, other: int, *, rules: MaskingRules, primitives: Primitives) -> IntArray:
    """Return what a party adds for a neighbor, who takes it away: int64, shape (width,), modulo 2⁶⁴.

    Args:
        secret: what their keys of masks have in common.
    """
    key = primitives.derive(secret, rules.about("mask of two", min(place, other), max(place, other)), KEY_BYTES)
    mask = _expand(key, rules, primitives)
    return mask if place < other else -mask


def _expand(key: bytes, rules: MaskingRules, primitives: Primitives) -> IntArray:
    return np.frombuffer(primitives.expand(key, _NUMBER_BYTES * rules.width), dtype="<i8").astype(np.int64)


class MaskingParty:
    """One party's part, step by step.

    Args:
        root: 32 uniform bytes, of this phase of this session alone.
        sign: signs by the key that the rules have for it.

    Raises:
        LocalProtocolError: from any step, if it is not the next one.
        RemoteProtocolError: from any step, if what the server says cannot be right.
    """

    def __init__(
        self, rules: MaskingRules, place: int, *, root: bytes, sign: Callable[[bytes], bytes], primitives: Primitives
    ) -> None:
        if len(root) != KEY_BYTES:
            raise ValueError(f"the root must have {KEY_BYTES} bytes, got {len(root)}")
        self._rules, self._place, self._sign, self._primitives = rules, place, sign, primitives
        self._root = primitives.derive(root, rules.about("root", place), KEY_BYTES)
        self._neighbors = rules.graph.neighbors_of(place)
        self._key_seed, self._own_seed = self._secret("seed of keys", SEED_BYTES), self._secret("own seed", SEED_BYTES)
        self._of_masks = private_key_of(self._key_seed, rules, primitives)
        self._of_boxes = self._secret("key of boxes", KEY_BYTES)
        self._position = Position(MASKING, MaskingState.NEW)
        self._known: dict[int, Keys] = {}
        self._agreed: dict[int, bytes] = {}
        self._box_keys: dict[int, tuple[bytes, bytes]] = {}
        self._held: dict[int, tuple[bytes, bytes]] = {}  # of each party: the shares of its keys' seed, of its own
        self._survivors: tuple[int, ...] = ()
        self._own = self._own_keys()

    @property
    def state(self) -> MaskingState:
        """The last step that it has answered, or its end."""
        return self._position.state

    def keys(self) -> Keys:
        """Step 1: say two public keys, signed."""
        self._begin(MaskingMove.KEYS)
        return self._done(MaskingMove.KEYS, self._own)

    def shares(self, heard: NeighborKeys) -> Boxes:
        """Step 2: seal for each neighbor a share of either seed."""
        self._begin(MaskingMove.SHARES)
        self._check_neighbors("keys", [place for place, _ in heard.keys], self._neighbors)
        self._known = dict(heard.keys)
        self._check_keys()
        rules, primitives = self._rules, self._primitives
        holders = [self._place, *self._known]
        of_keys, of_own = (
            split(
                seed,
                [holder + 1 for holder in holders],
                needed=rules.needed,
                entropy=self._secret(f"coefficients for the {what}", entropy_bytes(rules.needed)),
            )
            for what, seed in (("seed of keys", self._key_seed), ("own seed", self._own_seed))
        )
        pairs = dict(zip(holders, zip(of_keys, of_own, strict=True), strict=True))
        self._held[self._place] = pairs.pop(self._place)
        boxes = [
            (place, primitives.seal(self._box_keys[place][0], b"".join(pair), rules.about("box", self._place, place)))
            for place, pair in pairs.items()
        ]
        return self._done(MaskingMove.SHARES, Boxes(tuple(boxes)))

    def masked(self, heard: Boxes, values: Sequence[int] | Callable[[], Sequence[int]]) -> Masked:
        """Step 3: say the row under masks.

        Args:
            heard: the boxes of those neighbors who are still there.
            values: the row with its noise shares, as residues modulo 2⁶⁴; it leaves here. Or what draws it, which is
                called once, when nothing of what was heard is wrong.
        """
        self._take_boxes(heard)
        rules, primitives = self._rules, self._primitives
        row = values() if callable(values) else values
        if len(row) != rules.width:
            raise ValueError(f"expected {rules.width} values, got {len(row)}")
        total = np.array(row, dtype=np.int64) + mask_of_seed(self._own_seed, rules, primitives)
        for place, _ in heard.boxes:
            total += mask_of(self._agreed[place], self._place, place, rules=rules, primitives=primitives)
        return self._done(MaskingMove.MASKED, Masked(tuple(total.tolist())))

    def has_masked(self, heard: Boxes) -> None:
        """Step 3 after a restart: the masked row has left, or is kept to leave as it was; nothing is masked again."""
        self._take_boxes(heard)
        self._position.move(MaskingMove.MASKED)

    def _take_boxes(self, heard: Boxes) -> None:
        self._begin(MaskingMove.MASKED)
        rules, primitives = self._rules, self._primitives
        self._check_neighbors("boxes", [place for place, _ in heard.boxes], self._known)
        for place, box in heard.boxes:
            try:
                pair = primitives.open(self._box_keys[place][1], box, rules.about("box", place, self._place))
            except ValueError:
                raise self._fault(f"the box of {rules.names[place]!r} does not open", place) from None
            if len(pair) != 2 * SHARE_BYTES:
                raise self._fault(f"the box of {rules.names[place]!r} does not hold two shares", place)
            self._held[place] = pair[:SHARE_BYTES], pair[SHARE_BYTES:]

    def confirm(self, heard: Survivors) -> Confirmation:
        """Step 4: sign who survived."""
        self._begin(MaskingMove.CONFIRM)
        rules, places = self._rules, heard.places
        if places != tuple(sorted({*places})) or not places or places[-1] >= len(rules.names):
            raise self._fault("the survivors are not distinct parties of the roster, in order")
        if self._place not in places:
            raise self._fault("the survivors lack this party, whose values it has sent")
        if len(places) < rules.threshold:
            raise self._fault(f"{len(places)} parties survived, and at least {rules.threshold} have to")
        if strangers := {*places}.intersection(self._neighbors) - self._held.keys():
            named = rules.names[min(strangers)]
            raise self._fault(f"{named!r} is said to have survived, and its box never came")
        self._survivors = places
        return self._done(MaskingMove.CONFIRM, Confirmation(self._sign(self._about_survivors())))

    def unmask(self, heard: Confirmations) -> Shares:
        """Step 5: say of each neighbor one share, of the one seed or of the other; never both."""
        self._begin(MaskingMove.UNMASK)
        self._check_confirmed(heard)
        survivors = {*self._survivors}
        shares = [(place, pair[place in survivors]) for place, pair in sorted(self._held.items())]
        return self._done(MaskingMove.UNMASK, Shares(tuple(shares)))

    def _about_survivors(self) -> bytes:
        return self._rules.about_survivors(self._survivors, {**self._known, self._place: self._own})

    def _own_keys(self) -> Keys:
        public_of = self._primitives.public_of
        keys = Keys(public_of(self._of_masks), public_of(self._of_boxes), b"")
        return Keys(keys.of_masks, keys.of_boxes, self._sign(self._rules.about_keys(self._place, keys)))

    def _check_keys(self) -> None:
        rules, primitives = self._rules, self._primitives
        seen = {self._own.of_masks, self._own.of_boxes}
        mask_with, box_with = map(primitives.agreement, (self._of_masks, self._of_boxes))
        for place, keys in self._known.items():
            name = rules.names[place]
            if not primitives.verify(rules.keys[place], keys.signature, rules.about_keys(place, keys)):
                raise self._fault(f"the keys of {name!r} are not signed by it for this phase", place)
            if len(seen | {keys.of_masks, keys.of_boxes}) < len(seen) + 2:
                raise self._fault(f"the keys of {name!r} are somebody's already", place)
            seen |= {keys.of_masks, keys.of_boxes}
            try:
                self._agreed[place] = mask_with(keys.of_masks)
                secret = box_with(keys.of_boxes)
            except ValueError:
                raise self._fault(f"a key of {name!r} is of low order", place) from None
            out, into = (
                primitives.derive(secret, rules.about("key of a box", *pair), KEY_BYTES)
                for pair in ((self._place, place), (place, self._place))
            )
            self._box_keys[place] = out, into

    def _check_neighbors(self, what: str, places: Sequence[int], allowed: Sequence[int] | Mapping[int, Keys]) -> None:
        if len({*places}) < len(places):
            raise self._fault(f"the {what} of a neighbor came twice")
        if strangers := {*places}.difference(allowed):
            raise self._fault(f"{what} came of party {min(strangers)}, which is no neighbor")
        if len(places) + 1 < self._rules.needed:
            least = self._rules.needed - 1
            raise self._fault(f"{what} came of {len(places)} neighbors, and at least {least} are needed")

    def _check_confirmed(self, heard: Confirmations) -> None:
        rules, message = self._rules, self._about_survivors()
        signers = {place for place, _ in heard.signatures}
        if len(signers) < len(heard.signatures) or not signers <= {self._place, *self._neighbors}:
            raise self._fault("the signatures on the survivors are not those of distinct neighbors")
        if not signers <= {*self._survivors}:
            raise self._fault("a party has signed that is said not to have survived")
        for place, signature in heard.signatures:
            if not self._primitives.verify(rules.keys[place], signature, message):
                raise self._fault(f"{rules.names[place]!r} has not signed that these survived", place)
        if len(signers) < rules.needed:
            raise self._fault(f"{len(signers)} parties have signed who survived, and {rules.needed} have to")

    def _secret(self, what: str, length: int) -> bytes:
        key = self._primitives.derive(self._root, self._rules.about(what, self._place), KEY_BYTES)
        return self._primitives.expand(key, length)

    def _begin(self, move: MaskingMove) -> None:
        if move not in self._position.moves:
            reason = f"the step {move.value!r} cannot follow {self.state.value!r}"
            raise LocalProtocolError(reason, role=Side.CLIENT.value, state=self.state.value)

    def _done(self, move: MaskingMove, said: _SaidT) -> _SaidT:
        self._position.move(move)
        return said

    def _fault(self, reason: str, place: int | None = None) -> RemoteProtocolError:
        """Return the fault of the server; or, where it passes on what the party at `place` said, of either."""
        before = self.state.value
        self._position.move(MaskingMove.BREAK)
        who = SERVER if place is None else f"{SERVER} or {self._rules.names[place]!r}"
        reason = f"the {who} is at fault: {reason}"
        return RemoteProtocolError(reason, sender=SERVER, role=Side.CLIENT.value, state=before)
