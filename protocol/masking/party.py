"""A party of a masked phase, without I/O; it checks the server's messages as far as possible.

All its secrets are derived from one root of 32 uniform bytes. So with its root and the received messages, a party sends
the same bytes again after a restart. A root masks one row of one phase, and is then discarded, since masks that cover
two rows would reveal their difference.

A fault ends the party's part: it raises RemoteProtocolError and sends nothing more. This may prevent the session from
ending, but reveals nothing. A box with wrong content is no such fault: the party names its dealer, and proves the claim
if it is asked to.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
import numpy as np

from ..arrays import IntArray
from ..errors import LocalProtocolError, RemoteProtocolError
from ..roles import SERVER, Side
from ..states import Position
from .deals import (
    KnownDeal,
    alpha_of,
    combined_of,
    entry_digest,
    entry_of,
    hash_parts,
    held_digest,
    held_entry,
    key_of_box,
    leads_to,
    leaves_of,
    value_of,
)
from .evidence import Liars, has_possession, possession_of, proof_of, verdict
from .primitives import KEY_BYTES, Primitives
from .scalars import ENTROPY_BYTES, encode_scalar, exchange_key_of, montgomery_of, scalars_of, values_at
from .steps import (
    MARK_BYTES,
    MASKING,
    Boxes,
    Check,
    Claim,
    Claims,
    Confirmation,
    Confirmations,
    Deal,
    Dispute,
    Disputes,
    Excluded,
    HeldBox,
    Keys,
    Masked,
    MaskingMove,
    MaskingRules,
    MaskingState,
    NeighborKeys,
    Opening,
    Piece,
    Shares,
    Survivors,
)

_PartyMessageT = TypeVar("_PartyMessageT")
_NUMBER_BYTES: Final = 8


def agreements(scalar: int, points: Sequence[bytes], primitives: Primitives) -> list[bytes]:
    """Return the shared secret of a private key with each of these public keys.

    Raises:
        ValueError: a public key is of low order.
    """
    if (private := exchange_key_of(scalar)) is not None:
        return [*map(primitives.agreement(private), montgomery_of(points))]
    return montgomery_of([primitives.times(encode_scalar(scalar), point) for point in points])


def mask_of_seed(seed: int, rules: MaskingRules, primitives: Primitives) -> IntArray:
    """Return a party's own mask: int64, shape (width,), modulo 2⁶⁴."""
    return _expand(primitives.derive(encode_scalar(seed), rules.domain("own mask"), KEY_BYTES), rules, primitives)


def mask_of(secret: bytes, place: int, other: int, *, rules: MaskingRules, primitives: Primitives) -> IntArray:
    """Return the mask that a party adds and its neighbor subtracts: int64, shape (width,), modulo 2⁶⁴.

    Args:
        secret: the shared secret of their mask keys.
    """
    key = primitives.derive(secret, rules.domain("mask of two", min(place, other), max(place, other)), KEY_BYTES)
    mask = _expand(key, rules, primitives)
    return mask if place < other else -mask


def _expand(key: bytes, rules: MaskingRules, primitives: Primitives) -> IntArray:
    return np.frombuffer(primitives.expand(key, _NUMBER_BYTES * rules.width), dtype="<i8").astype(np.int64)


class MaskingParty:
    """One party's part, step by step.

    Args:
        root: 32 uniform bytes that are used only for this phase of this session.
        sign: signs with the party's key in the rules.

    Raises:
        LocalProtocolError: by any step's method, if it is not the next step.
        RemoteProtocolError: by any step's method, if an honest server could not have sent this request.
    """

    def __init__(
        self, rules: MaskingRules, place: int, *, root: bytes, sign: Callable[[bytes], bytes], primitives: Primitives
    ) -> None:
        if len(root) != KEY_BYTES:
            raise ValueError(f"the root has {len(root)} bytes: give {KEY_BYTES}")
        self._rules, self._place, self._sign, self._primitives = rules, place, sign, primitives
        self._root = primitives.derive(root, rules.domain("root", place), KEY_BYTES)
        self._neighbors = rules.graph.neighbors_of(place)
        self._key_terms = self._scalars("coefficients for the key", rules.needed)  # the last one is the key
        self._seed_terms = self._scalars("coefficients for the seed", rules.needed)
        (self._of_boxes,) = self._scalars("key of boxes", 1)
        self._position = Position(MASKING, MaskingState.NEW)
        self._peer_keys: dict[int, Keys] = {}
        self._agreed_secrets: dict[int, bytes] = {}
        self._box_secrets: dict[int, bytes] = {}
        self._held_digest = b""
        self._own_deal = b""
        self._boxes: dict[int, HeldBox] = {}
        self._dealt_values: dict[int, bytes] = {}  # by dealer: the values of its three polynomials
        self._entries: dict[int, tuple[bytes, bytes]] = {}  # by dealer: the digest of its entry, and its α
        self._doubts: tuple[int, ...] = ()
        self._excluded_places: tuple[int, ...] = ()
        self._survivors: tuple[int, ...] = ()
        self._keys = self._own_keys()

    @property
    def state(self) -> MaskingState:
        """The last step that it has answered, or its end."""
        return self._position.state

    def keys(self) -> Keys:
        """Step 1: say two public keys, signed."""
        self._begin(MaskingMove.KEYS)
        return self._done(MaskingMove.KEYS, self._keys)

    def shares(self, request: NeighborKeys) -> Deal:
        """Step 2: deal shares of both secrets to all neighbors."""
        self._begin(MaskingMove.SHARES)
        self._check_neighbors("keys", [place for place, _ in request.keys], self._neighbors)
        self._peer_keys = dict(request.keys)
        self._check_keys()
        deal, place = self._deal(), self._place
        known_deal = KnownDeal(self._rules, place, {**self._peer_keys, place: self._keys}, deal)
        self._entries[place], self._own_deal = (known_deal.entries[place], known_deal.alpha), known_deal.digest
        return self._done(MaskingMove.SHARES, deal)

    def _deal(self) -> Deal:
        rules, primitives, own_place = self._rules, self._primitives, self._place
        keys = {**self._peer_keys, own_place: self._keys}
        holders = sorted(keys)
        # The blinding depends on the holders' keys: the same blinding with two different α would reveal the secrets.
        holder_keys = (holder.to_bytes(4, "big") + keys[holder].of_masks + keys[holder].of_boxes for holder in holders)
        keys_digest = hash_parts(*holder_keys)
        terms = self._key_terms, self._seed_terms, self._scalars(f"blinding for {keys_digest.hex()}", rules.needed)
        numbers = [rules.graph.number_of(own_place, holder) for holder in holders]
        values = dict(zip(holders, values_at(numbers, terms), strict=True))
        contents = {holder: b"".join(map(encode_scalar, shares)) for holder, shares in values.items()}
        leaves = {holder: leaves_of(rules, own_place, holder, content) for holder, content in contents.items()}
        seed, blinding = (primitives.base(encode_scalar(each[-1])) for each in terms[1:])
        alpha = alpha_of(rules, own_place, self._keys, blinding=blinding, seed=seed, leaves=leaves.values())
        boxes = {
            holder: primitives.seal(
                key_of_box(rules, (own_place, holder), secret, alpha=alpha, primitives=primitives),
                contents[holder],
                rules.domain("box", own_place, holder),
            )
            for holder, secret in self._box_secrets.items()
        }
        self._dealt_values[own_place] = contents[own_place]
        pieces = (
            Piece(holder, leaves[holder], combined_of(values[holder], alpha), boxes.get(holder, b""))
            for holder in holders
        )
        return Deal(blinding, seed, tuple(pieces))

    def check(self, request: Boxes) -> Check:
        """Step 3: sign the own deal and the boxes that this party holds; name the dealers whose boxes are wrong."""
        self._begin(MaskingMove.CHECK)
        rules, place = self._rules, self._place
        self._check_neighbors("boxes", [held_box.place for held_box in request.boxes], self._peer_keys)
        self._boxes = {held_box.place: held_box for held_box in request.boxes}
        for held_box in request.boxes:
            self._take_box(held_box)
        self._doubts = tuple(sorted(self._boxes.keys() - self._dealt_values.keys()))
        if len(self._doubts) > rules.most_gone:
            most = rules.most_gone
            raise self._fault(f"the boxes of {len(self._doubts)} parties do not open, and {most} at most may lie")
        entries = (held_entry(dealer, *self._entries[dealer]) for dealer in sorted(self._dealt_values))
        self._held_digest = held_digest(rules, place, entries)
        about, (nonce,) = rules.domain("possession", place), self._scalars("nonce for the key of boxes", 1)
        possession = possession_of(
            self._of_boxes, nonce, public=self._keys.of_boxes, about=about, primitives=self._primitives
        )
        check = Check(self._own_deal, self._held_digest, self._doubts, b"", possession)
        signature = self._sign(rules.check_statement(place, self._keys, check))
        return self._done(MaskingMove.CHECK, msgspec.structs.replace(check, signature=signature))

    def _take_box(self, held_box: HeldBox) -> None:
        """Keep what a box holds, if it is what its dealer says that it dealt."""
        rules, dealer, place, primitives = self._rules, held_box.place, self._place, self._primitives
        secret, pair = self._box_secrets[dealer], (dealer, place)
        key = key_of_box(rules, pair, secret, alpha=held_box.alpha, primitives=primitives)
        try:
            content = primitives.open(key, held_box.box, rules.domain("box", *pair))
        except ValueError:
            return
        entry = entry_of(rules, dealer, place, content=content, alpha=held_box.alpha, box=held_box.box)
        if entry is not None and (digest := entry_digest(self._keys, entry))[:MARK_BYTES] == held_box.mark:
            self._dealt_values[dealer], self._entries[dealer] = content, (digest, held_box.alpha)

    def accuse(self, request: Disputes) -> Claims:
        """Step 4, asked of who doubts alone: show what opens the boxes, which their dealers have signed."""
        self._begin(MaskingMove.ACCUSE)
        places = [dispute.place for dispute in request.disputes]
        if not places or len({*places}) < len(places) or not {*places} <= {*self._doubts}:
            raise self._fault("the disputes are not of boxes that this party doubts, each once")
        nonces = self._scalars(f"nonces for {hash_parts(msgspec.msgpack.encode(request)).hex()}", len(places))
        claims = (self._claim(dispute, nonce) for dispute, nonce in zip(request.disputes, nonces, strict=True))
        return self._done(MaskingMove.ACCUSE, Claims(tuple(claims)))

    def _claim(self, dispute: Dispute, nonce: int) -> Claim:
        """Return the proof that a box holds something else than its dealer has signed."""
        rules, primitives, dealer, own_place = self._rules, self._primitives, dispute.place, self._place
        keys, box, name, check = self._peer_keys[dealer], self._boxes[dealer], rules.names[dealer], dispute.check
        if not primitives.verify(rules.keys[dealer], check.signature, rules.check_statement(dealer, keys, check)):
            raise self._fault(f"{name!r} has not signed what it is said to have dealt")
        digest = entry_digest(self._keys, dispute.entry)
        if not leads_to(dispute.path, own_place, digest, deal=check.deal, about=(rules, dealer, keys)):
            raise self._fault(f"what {name!r} is said to have dealt is not what it has signed")
        if (dispute.entry.box, digest[:MARK_BYTES], dispute.path.alpha) != (box.box, box.mark, box.alpha):
            raise self._fault(f"the box of {name!r} was another one than it has signed")
        about = rules.domain("possession", dealer)
        if not has_possession(check.possession, public=keys.of_boxes, about=about, primitives=primitives):
            raise self._fault(f"{name!r} has not proven that it has the secret of its key of boxes")
        secret, about = self._of_boxes, rules.domain("proof", dealer, own_place)
        shared = primitives.times(encode_scalar(secret), keys.of_boxes)  # proven to be a point of the group
        proof = proof_of(
            secret,
            nonce,
            public=self._keys.of_boxes,
            point=keys.of_boxes,
            shared=shared,
            about=about,
            primitives=primitives,
        )
        claim = Claim(dealer, shared, *proof, b"")
        signature = self._sign(rules.claim_statement(own_place, self._keys, claim, deal=check.deal, entry=digest))
        return msgspec.structs.replace(claim, signature=signature)

    def mask(self, request: Excluded, values: Sequence[int] | Callable[[], Sequence[int]]) -> Masked:
        """Step 5: send the row under masks.

        Args:
            request: the excluded parties; this party has entries of all its other neighbors.
            values: the row with its noise shares, as residues modulo 2⁶⁴, which is sent here. Or a function that draws
                it, which is called once, and only if the request is valid.
        """
        near = self._take_excluded(request)
        rules, primitives = self._rules, self._primitives
        row = values() if callable(values) else values
        if len(row) != rules.width:
            raise ValueError(f"{len(row)} values are given: give {rules.width}")
        total = np.array(row, dtype=np.int64) + mask_of_seed(self._seed_terms[-1], rules, primitives)
        for place in near:
            total += mask_of(self._agreed_secrets[place], self._place, place, rules=rules, primitives=primitives)
        return self._done(MaskingMove.MASKED, Masked(tuple(total.tolist())))

    def has_masked(self, request: Excluded) -> None:
        """Step 5 after a restart: the masked row has left, or is kept to leave as it was; nothing is masked again."""
        self._take_excluded(request)
        self._position.move(MaskingMove.MASKED)

    def _take_excluded(self, request: Excluded) -> list[int]:
        """Return the neighbors with whom this party masks."""
        self._begin(MaskingMove.MASKED)
        rules, excluded = self._rules, {*request.places}
        if request.places != tuple(sorted(excluded)) or not excluded <= {*range(len(rules.names))}:
            raise self._fault("those who are left out are not distinct parties of the roster, in order")
        if self._place in excluded:
            raise self._fault("this party is left out, and is asked for its values")
        if len(excluded) > rules.most_gone:
            raise self._fault(f"{len(rules.names) - len(excluded)} parties are left, and {rules.threshold} have to be")
        if doubted := {*self._doubts} - excluded:
            raise self._fault(f"{rules.names[min(doubted)]!r} is not left out, whose box does not hold what it should")
        near = [place for place in self._neighbors if place not in excluded]
        if strangers := {*near} - self._dealt_values.keys():
            raise self._fault(f"{rules.names[min(strangers)]!r} is not left out, and its box never came")
        if len(near) + 1 < rules.needed:
            raise self._fault(f"{len(near)} neighbors are left, and at least {rules.needed - 1} are needed")
        self._excluded_places = request.places
        return near

    def confirm(self, request: Survivors) -> Confirmation:
        """Step 6: sign who survived."""
        self._begin(MaskingMove.CONFIRM)
        rules, places = self._rules, request.places
        if places != tuple(sorted({*places})) or not places or places[-1] >= len(rules.names):
            raise self._fault("the survivors are not distinct parties of the roster, in order")
        if self._place not in places:
            raise self._fault("the survivors lack this party, whose values it has sent")
        if len(places) < rules.threshold:
            raise self._fault(f"{len(places)} parties survived, and at least {rules.threshold} have to")
        if strangers := {*places}.intersection(self._excluded_places):
            raise self._fault(f"{rules.names[min(strangers)]!r} is said to have survived, and was left out before")
        self._survivors = places
        return self._done(MaskingMove.CONFIRM, Confirmation(self._sign(self._survivors_statement())))

    def unmask(self, request: Confirmations) -> Shares:
        """Step 7: say of each neighbor one share, of the one secret or of the other; never both."""
        self._begin(MaskingMove.UNMASK)
        self._check_confirmed(request)
        survivors, excluded = {*self._survivors}, {*self._excluded_places}
        shares = tuple(
            (dealer, dealer in survivors, value_of(self._dealt_values[dealer], is_of_seed=dealer in survivors))
            for dealer in sorted(self._dealt_values.keys() - excluded)
        )
        message = Shares(shares, b"")
        signature = self._sign(
            self._rules.shares_statement(self._place, self._keys, message, held_digest=self._held_digest)
        )
        return self._done(MaskingMove.UNMASK, msgspec.structs.replace(message, signature=signature))

    def open(self, request: Liars) -> Opening:
        """Step 8, asked only where a dealer has lied: say all that is held of it, once that is proven."""
        self._begin(MaskingMove.OPEN)
        rules, liars = self._rules, [evidence.place for evidence in request.evidence]
        if (
            not liars
            or len({*liars}) < len(liars)
            or not {*liars} <= self._dealt_values.keys() - {self._place, *self._excluded_places}
        ):
            raise self._fault("those of whom all is to be told are not dealers of what this party holds, each once")
        for evidence in request.evidence:
            if verdict(rules, evidence, self._primitives) != evidence.place:
                name = rules.names[evidence.place]
                raise self._fault(f"it is not proven that {name!r} has lied, of whom all is to be told")
        message = Opening(tuple((liar, self._dealt_values[liar]) for liar in liars), b"")
        signature = self._sign(rules.opening_statement(self._place, self._keys, message, held_digest=self._held_digest))
        return self._done(MaskingMove.OPEN, msgspec.structs.replace(message, signature=signature))

    def _survivors_statement(self) -> bytes:
        all_keys = {**self._peer_keys, self._place: self._keys}
        return self._rules.survivors_statement(self._survivors, self._excluded_places, all_keys)

    def _own_keys(self) -> Keys:
        base = self._primitives.base
        keys = Keys(base(encode_scalar(self._key_terms[-1])), base(encode_scalar(self._of_boxes)), b"")
        return msgspec.structs.replace(keys, signature=self._sign(self._rules.keys_statement(self._place, keys)))

    def _check_keys(self) -> None:
        rules, primitives = self._rules, self._primitives
        keys_seen = {self._keys.of_masks, self._keys.of_boxes}
        for place, keys in self._peer_keys.items():
            name = rules.names[place]
            if not primitives.verify(rules.keys[place], keys.signature, rules.keys_statement(place, keys)):
                raise self._fault(f"the keys of {name!r} are not signed by it for this phase", place)
            if len(keys_seen | {keys.of_masks, keys.of_boxes}) < len(keys_seen) + 2:
                raise self._fault(f"the keys of {name!r} are somebody's already", place)
            keys_seen |= {keys.of_masks, keys.of_boxes}
        try:
            agreed_secrets = agreements(
                self._key_terms[-1], [keys.of_masks for keys in self._peer_keys.values()], primitives
            )
            secrets = agreements(self._of_boxes, [keys.of_boxes for keys in self._peer_keys.values()], primitives)
        except ValueError:
            raise self._fault("a key of a neighbor is of low order") from None
        self._agreed_secrets = dict(zip(self._peer_keys, agreed_secrets, strict=True))
        self._box_secrets = dict(zip(self._peer_keys, secrets, strict=True))

    def _check_neighbors(self, what: str, places: Sequence[int], allowed: Sequence[int] | Mapping[int, Keys]) -> None:
        if len({*places}) < len(places):
            raise self._fault(f"the {what} of a neighbor came twice")
        if strangers := {*places}.difference(allowed):
            raise self._fault(f"{what} came of party {min(strangers)}, which is no neighbor")
        if len(places) + 1 < self._rules.needed:
            least = self._rules.needed - 1
            raise self._fault(f"{what} came of {len(places)} neighbors, and at least {least} are needed")

    def _check_confirmed(self, request: Confirmations) -> None:
        rules, message = self._rules, self._survivors_statement()
        signers = {place for place, _ in request.signatures}
        if len(signers) < len(request.signatures) or not signers <= {self._place, *self._neighbors}:
            raise self._fault("the signatures on the survivors are not those of distinct neighbors")
        if not signers <= {*self._survivors}:
            raise self._fault("a party has signed that is said not to have survived")
        for place, signature in request.signatures:
            if not self._primitives.verify(rules.keys[place], signature, message):
                raise self._fault(f"{rules.names[place]!r} has not signed that these survived", place)
        if len(signers) < rules.needed:
            raise self._fault(f"{len(signers)} parties have signed who survived, and {rules.needed} have to")

    def _scalars(self, what: str, number: int) -> list[int]:
        """Return this many secret scalars."""
        key = self._primitives.derive(self._root, self._rules.domain(what, self._place), KEY_BYTES)
        return scalars_of(self._primitives.expand(key, ENTROPY_BYTES * number))

    def _begin(self, move: MaskingMove) -> None:
        if move not in self._position.moves:
            reason = f"the step {move.value!r} cannot follow {self.state.value!r}"
            raise LocalProtocolError(reason, role=Side.CLIENT.value, state=self.state.value)

    def _done(self, move: MaskingMove, message: _PartyMessageT) -> _PartyMessageT:
        self._position.move(move)
        return message

    def _fault(self, reason: str, place: int | None = None) -> RemoteProtocolError:
        """Return the fault of the server; or, where it passes on what the party at `place` said, of either."""
        step_name = self.state.value
        self._position.move(MaskingMove.BREAK)
        sender = SERVER if place is None else f"{SERVER} or {self._rules.names[place]!r}"
        reason = f"the {sender} is at fault: {reason}"
        return RemoteProtocolError(reason, sender=SERVER, role=Side.CLIENT.value, state=step_name)
