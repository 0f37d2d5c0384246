"""The server of a masked phase, without I/O; it learns only the sum of the survivors' rows, if parties are honest.

A visible fault, or silence, ends only that party's part: it gets no further requests. A party that signed a false
statement is *named*, with evidence that anybody who knows the rules can check. A party that leaves before its masked
row arrives is not in the sum, and its neighbors' shares of its key remove its masks. A party that leaves or is named
later is still in the sum. Below the threshold nothing is unmasked.
"""

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec
import numpy as np

from ..arrays import IntArray
from ..errors import LocalProtocolError, MalformedMessageError, QuorumError, RemoteProtocolError, UnexpectedMessageError
from ..roles import Side
from ..states import Position
from .deals import KnownDeal, entry_of, has_leaf, hash_parts, held_digest, value_of
from .evidence import (
    Evidence,
    Liars,
    NoSecret,
    WrongBox,
    WrongDeal,
    WrongKeys,
    WrongOpening,
    WrongShare,
    has_possession,
    is_secret_of,
    verdict,
)
from .party import agreements, mask_of, mask_of_seed
from .primitives import Primitives, has_large_order
from .scalars import scalar_from, value_at_zero
from .steps import (
    BOX_BYTES,
    MARK_BYTES,
    MASKING,
    Boxes,
    Check,
    Claims,
    Confirmation,
    Confirmations,
    Deal,
    Dispute,
    Disputes,
    Entry,
    Excluded,
    HeldBox,
    Keys,
    Masked,
    MaskingMove,
    MaskingRules,
    MaskingState,
    NeighborKeys,
    Opening,
    Shares,
    Survivors,
)

PartyMessage: TypeAlias = Keys | Deal | Check | Claims | Masked | Confirmation | Shares | Opening
"""A party's message in a step."""
ServerMessage: TypeAlias = NeighborKeys | Boxes | Disputes | Excluded | Survivors | Confirmations | Liars
"""The server's message to a party, before the party's next message."""

_PartyMessageT = TypeVar("_PartyMessageT", bound=PartyMessage)
_STEPS: Final = dict(zip(MaskingMove, (Keys, Deal, Check, Claims, Masked, Confirmation, Shares, Opening), strict=False))
_MOST_EVIDENCE: Final = 900_000
"""The bytes of a request for evidence about cheating dealers, which limit the number of dealers that can be opened."""


class MaskingServer:
    """The server's part: `receive` takes the parties' messages in a step, and `close` ends it.

    Attributes:
        step: the open step; None at the end.
        parties: the indices of the parties that take part and have not been named.
        asked: the indices of the parties that get a request in the open step: all that take part, except in a dispute.
        named: the evidence against each named party, by index, in the order of discovery.
    """

    def __init__(self, rules: MaskingRules, primitives: Primitives) -> None:
        self._rules, self._primitives = rules, primitives
        self._neighbors = functools.cache(rules.graph.neighbors_of)
        self._near_places = functools.cache(self._find_near)
        self._position = Position(MASKING, MaskingState.NEW)
        self._messages_of_move: dict[MaskingMove, dict[int, PartyMessage]] = {move: {} for move in _STEPS}
        self.step: MaskingMove | None = MaskingMove.KEYS
        self.parties = self.asked = frozenset(range(len(rules.names)))
        self.named: list[tuple[int, Evidence]] = []
        self._owners: dict[bytes, int] = {}  # the owners of valid keys
        self._deals: dict[int, KnownDeal] = {}
        self._right_deals: frozenset[int] = frozenset()
        self._wrong_deals: frozenset[int] = frozenset()
        self._disputes: Mapping[int, Disputes] = {}
        self._excluded_places: tuple[int, ...] = ()
        self._liars: dict[int, NoSecret] = {}
        self._secrets: dict[int, int] = {}
        self._sum: IntArray | None = None

    @property
    def state(self) -> MaskingState:
        """The last step that was closed, or its end."""
        return self._position.state

    @property
    def survivors(self) -> tuple[int, ...]:
        """The places of the parties whose masked values came, in order: they count even if they leave later."""
        return tuple(sorted(self._messages_of_move[MaskingMove.MASKED]))

    @property
    def total(self) -> tuple[int, ...]:
        """The sum of the survivors' rows, as residues modulo 2⁶⁴ in [−2⁶³, 2⁶³).

        Raises:
            LocalProtocolError: the last step is not closed.
        """
        if self._sum is None:
            raise self._misuse_error("nothing is opened before the last step has closed")
        return tuple(self._sum.tolist())

    def receive(self, place: int, message: PartyMessage) -> None:
        """Take a party's message in the open step.

        Raises:
            UnexpectedMessageError: the message is not allowed here; the party is removed, unless it repeats a message.
            MalformedMessageError: the message violates the rules; the party is removed.
        """
        move, name = self.step, self._rules.names[place]
        if any(
            message == messages.get(place)
            for earlier_move, messages in self._messages_of_move.items()
            if earlier_move is not move
        ):
            return  # repeated and late
        if move is None or not (place in self.parties and place in self.asked) or type(message) is not _STEPS[move]:
            reason = f"{name!r} says {type(message).__name__} where it has no place"
            raise self._fault(place, reason, UnexpectedMessageError)
        earlier_message = self._messages_of_move[move].setdefault(place, message)
        if earlier_message != message:
            reason = f"{name!r} says another {type(message).__name__} than before"
            raise self._fault(place, reason, UnexpectedMessageError)
        if reason := self._find_fault(place, message):
            raise self._fault(place, f"{name!r} {reason}")

    def drop(self, place: int) -> None:
        """Let a party go: it is out of the open step, and of all that follow."""
        self.parties -= {place}
        if self.step is not None:
            self._messages_of_move[self.step].pop(place, None)

    def close(self) -> Mapping[int, ServerMessage]:
        """Close the open step; return the next message to each party that gets a request, empty after the last step.

        Raises:
            QuorumError: fewer parties than the threshold remain, or too few shares of some secret; nothing is unmasked.
            RemoteProtocolError: more dealers cheated than can be opened; nothing is unmasked.
            LocalProtocolError: no step is open.
        """
        move = self.step
        if move is None:
            raise self._misuse_error("no step is open")
        self.parties -= self.asked - self._messages_of_move[move].keys()
        self._judge(move)
        remaining = self.parties - self._wrong_deals  # those are named as soon as they have signed their deal
        if move is not MaskingMove.OPEN and len(remaining) < self._rules.threshold:
            raise self._too_few(
                move.value, {*range(len(self._rules.names))} - remaining, len(remaining), self._rules.threshold
            )
        if move in {MaskingMove.UNMASK, MaskingMove.OPEN}:
            self._find_secrets()
            self._sum = None if self._liars.keys() - self._secrets.keys() else self._open_sum()
        self._position.move(move)
        self.step = self._next_move(move)
        answers = self._answers()
        self.asked = frozenset(answers)
        return answers

    def _next_move(self, move: MaskingMove) -> MaskingMove | None:
        if self._sum is not None:
            return None
        if move is MaskingMove.CHECK and not self._disputes:
            return MaskingMove.MASKED
        moves = [*_STEPS]
        return moves[moves.index(move) + 1]

    def _answers(self) -> Mapping[int, ServerMessage]:
        """Return the message for each party that is asked in the open step."""
        near = self._neighbors
        answer: ServerMessage
        match self.step:
            case None:
                return {}
            case MaskingMove.SHARES:
                keys = self._signed_keys
                return self._messages_to_all(
                    lambda place: NeighborKeys(tuple((o, keys[o]) for o in near(place) if o in keys))
                )
            case MaskingMove.CHECK:
                return self._messages_to_all(self._boxes)
            case MaskingMove.ACCUSE:
                return self._disputes
            case MaskingMove.MASKED:
                self._excluded_places = tuple(sorted({*range(len(self._rules.names))} - self.parties))
                answer = Excluded(self._excluded_places)
            case MaskingMove.CONFIRM:
                answer = Survivors(self.survivors)
            case MaskingMove.UNMASK:
                signed = {
                    place: message.signature
                    for place, message in self._messages(MaskingMove.CONFIRM, Confirmation).items()
                }
                return self._messages_to_all(
                    lambda place: Confirmations(
                        tuple(
                            (neighbor, signed[neighbor]) for neighbor in sorted({place, *near(place)} & signed.keys())
                        )
                    )
                )
            case _:
                return self._messages_to_holders()
        return self._messages_to_all(lambda _: answer)

    def _messages_to_all(self, tell: Callable[[int], ServerMessage]) -> Mapping[int, ServerMessage]:
        return {place: tell(place) for place in sorted(self.parties)}

    def _messages_to_holders(self) -> Mapping[int, ServerMessage]:
        """Return the message for each party that holds shares of dealers who have lied."""
        answers: dict[int, ServerMessage] = {}
        for place in sorted(self.parties):
            liars = Liars(tuple(secrets for liar, secrets in self._liars.items() if liar in self._near_places(place)))
            if len(msgspec.msgpack.encode(liars)) > _MOST_EVIDENCE:
                self._break()
                reason = f"{len(self._liars)} parties have dealt shares of no secret: more than a question has room for"
                raise RemoteProtocolError(reason, role=Side.SERVER.value)
            if liars.evidence:
                answers[place] = liars
        return answers

    def _find_near(self, place: int) -> list[int]:
        """Return the places of all whose shares a party may hold, itself among them, in order."""
        return sorted((place, *self._neighbors(place)))

    def _dealers(self, holder: int) -> list[int]:
        """Return the places of the dealers whose boxes a holder gets: neighbors whose deals are right."""
        return [place for place in self._neighbors(holder) if place in self._right_deals]

    def _boxes(self, holder: int) -> Boxes:
        deals = [(dealer, self._deals[dealer]) for dealer in self._dealers(holder)]
        boxes = [
            HeldBox(dealer, deal.pieces[holder].box, deal.entries[holder][:MARK_BYTES], deal.alpha)
            for dealer, deal in deals
        ]
        return Boxes(tuple(boxes))

    def _held_places(self, holder: int, doubted: Collection[int]) -> list[int]:
        """Return the places of those of whose deals a holder says that it holds its part, in order."""
        dealers = (self._right_deals | {holder}).difference(doubted)
        return [near for near in self._near_places(holder) if near in dealers]

    def _find_fault(self, place: int, message: PartyMessage) -> str:
        """Return the fault in a party's message; empty if it is right."""
        rules, primitives = self._rules, self._primitives
        verify, key = primitives.verify, rules.keys[place]
        match message:
            case Keys():
                return self._wrong_of_keys(place, message)
            case Deal(pieces=pieces):
                signed_keys = self._signed_keys
                recipients = [neighbor for neighbor in self._near_places(place) if neighbor in signed_keys]
                sizes = [BOX_BYTES] * len(recipients)
                sizes[recipients.index(place)] = 0
                if [piece.place for piece in pieces] != recipients or [len(piece.box) for piece in pieces] != sizes:
                    return f"deals to other parties than its {len(recipients) - 1} neighbors and itself"
                self._deals[place] = KnownDeal(rules, place, signed_keys, message)
                return ""
            case Check(doubted=doubted):
                if doubted != tuple(sorted({*doubted}.intersection(self._dealers(place)))):
                    return "doubts others than those whose boxes it has, in order"
                if len(doubted) > rules.most_gone:
                    return f"doubts the boxes of {len(doubted)} parties, and {rules.most_gone} at most may lie"
                if message.deal != self._deals[place].digest:
                    return "has signed another deal than its own"
                entries = [self._deals[dealer].held_entries[place] for dealer in self._held_places(place, doubted)]
                if message.held != held_digest(rules, place, entries):
                    return "has signed that it holds something else than what it was told"
                public, about = self._keys(place).of_boxes, rules.domain("possession", place)
                if not has_possession(message.possession, public=public, about=about, primitives=primitives):
                    self._name_for_keys(place)
                    return "has not proven that it has the secret of its key of boxes"
                about = rules.check_statement(place, self._keys(place), message)
                return "" if verify(key, message.signature, about) else "has not signed its word on the deals"
            case Claims(claims):
                disputes = self._disputes[place].disputes
                if [claim.place for claim in claims] != [dispute.place for dispute in disputes]:
                    return "accuses others than those whose boxes it doubts"
                for claim, dispute in zip(claims, disputes, strict=True):
                    entry = self._deals[claim.place].entries[place]
                    about = rules.claim_statement(place, self._keys(place), claim, deal=dispute.check.deal, entry=entry)
                    if not verify(key, claim.signature, about):
                        return "has not signed its accusation"
                return ""
            case Masked(residues):
                return "" if len(residues) == rules.width else f"sends {len(residues)} values, not {rules.width}"
            case Confirmation(signature):
                return "" if verify(key, signature, self._survivors_statement) else "has not signed who survived"
            case Shares(shares):
                survivors, dealers = {*self.survivors}, {*self._near_places(place)}.difference(self._excluded_places)
                if [share[:2] for share in shares] != [(dealer, dealer in survivors) for dealer in sorted(dealers)]:
                    return f"sends shares of other secrets than of the {len(dealers)} parties whose it holds"
                about = rules.shares_statement(place, self._keys(place), message, held_digest=self._check(place).held)
                return "" if verify(key, message.signature, about) else "has not signed its shares"
            case Opening(values):
                liars = [liar for liar in self._liars if liar in self._near_places(place)]
                if [liar for liar, _ in values] != liars:
                    return "tells values of other parties than those who have lied"
                about = rules.opening_statement(place, self._keys(place), message, held_digest=self._check(place).held)
                return "" if verify(key, message.signature, about) else "has not signed the values that it tells"

    def _wrong_of_keys(self, place: int, message: Keys) -> str:
        rules, primitives = self._rules, self._primitives
        if not primitives.verify(rules.keys[place], message.signature, rules.keys_statement(place, message)):
            return "has not signed its keys for this phase"
        # Later proofs show that they are in the group: the deal, and the proof of possession.
        points = message.of_masks, message.of_boxes
        if not all(map(has_large_order, points)) or message.of_masks == message.of_boxes:
            self._name(WrongKeys(place=place, keys=message))
            return "has signed keys that are no two points of the group"
        if any(self._owners.get(key, place) != place for key in points):
            return "has the keys of somebody else"
        self._owners.update(dict.fromkeys(points, place))
        return ""

    def _judge(self, move: MaskingMove) -> None:
        """Find who has lied in a step, and name whoever has signed that."""
        match move:
            case MaskingMove.SHARES:
                deals = {place: self._deals[place] for place in sorted(self.parties)}
                seed = hash_parts(*(deal.digest for deal in deals.values()))
                wrong = [place for place, deal in deals.items() if not deal.is_right(self._primitives, seed=seed)]
                self._wrong_deals = frozenset(wrong)
                self._right_deals = frozenset(deals) - self._wrong_deals
            case MaskingMove.CHECK:
                for place in sorted(self._wrong_deals & self.parties):
                    if self._name_for_keys(place):
                        continue
                    deal, keys = self._deals[place].deal, self._keys(place)
                    holders = tuple((piece.place, self._keys(piece.place)) for piece in deal.pieces)
                    check = self._check(place)
                    self._name(WrongDeal(place=place, keys=keys, check=check, deal=deal, holders=holders))
                self._disputes = self._find_disputes()
            case MaskingMove.ACCUSE:
                for holder, message in self._messages(move, Claims).items():
                    for dispute, claim in zip(self._disputes[holder].disputes, message.claims, strict=True):
                        self._name(
                            WrongBox(
                                place=dispute.place,
                                keys=self._keys(dispute.place),
                                check=dispute.check,
                                path=dispute.path,
                                entry=dispute.entry,
                                holder=holder,
                                holder_keys=self._keys(holder),
                                claim=claim,
                            )
                        )
            case _:
                pass

    def _name_for_keys(self, place: int) -> bool:
        """Name a party whose keys are not of the group; return whether they are not."""
        keys = self._keys(place)
        are_wrong = not all(map(self._primitives.is_point, (keys.of_masks, keys.of_boxes)))
        if are_wrong:
            self._name(WrongKeys(place=place, keys=keys))
        return are_wrong

    def _find_disputes(self) -> Mapping[int, Disputes]:
        """Return the dealers that each party doubts, as far as they have signed their deals."""
        disputes: dict[int, Disputes] = {}
        for holder in sorted(self.parties):
            doubted = [dealer for dealer in self._check(holder).doubted if dealer in self.parties]
            about = (
                Dispute(dealer, self._check(dealer), self._deals[dealer].path_to(holder), self._entry(dealer, holder))
                for dealer in doubted
            )
            if doubted:
                disputes[holder] = Disputes(tuple(about))
        return disputes

    def _name(self, evidence: Evidence) -> None:
        """Leave out whom evidence names, who is named once."""
        place = verdict(self._rules, evidence, self._primitives)
        assert place is not None  # noqa: S101  it was made of what was checked as it came
        if all(place != named_place for named_place, _ in self.named):
            self.named.append((place, evidence))
        self.parties -= {place}

    def _find_secrets(self) -> None:
        """Put together the secrets that take the masks off; name who tells wrong shares, and who has dealt them."""
        rows = {*self.survivors}
        if self.step is MaskingMove.OPEN:
            for dealer in self._liars:
                self._secrets[dealer] = self._secret_of_liar(dealer)
            return
        shares: dict[int, dict[int, bytes]] = {}  # by dealer and holder
        for holder, message in self._messages(MaskingMove.UNMASK, Shares).items():
            for dealer, _, share in message.shares:
                shares.setdefault(dealer, {})[holder] = share
        for dealer in sorted(self._deals.keys() - {*self._excluded_places}):
            if dealer in rows or not rows.isdisjoint(self._neighbors(dealer)):
                secret = self._secret_of(dealer, shares.get(dealer, {}), is_of_seed=dealer in rows)
                if secret is not None:
                    self._secrets[dealer] = secret

    def _secret_of(self, dealer: int, shares: Mapping[int, bytes], *, is_of_seed: bool) -> int | None:
        """Return a secret by its shares; None where its dealer has lied, and all that was dealt is to be told."""
        rules, primitives, deal = self._rules, self._primitives, self._deals[dealer]
        point = deal.deal.seed if is_of_seed else self._keys(dealer).of_masks
        secret = self._combine_values(dealer, shares)
        is_right = is_secret_of(secret, point, primitives)
        if is_right and len(shares) == rules.needed:
            return secret
        # If the first ones yield the secret, only the others need a check.
        right = dict[int, bytes]()
        ordered = sorted(shares, key=deal.numbers.__getitem__)
        for holder in ordered[rules.needed * is_right :]:
            leaves, share = deal.pieces[holder].leaves, shares[holder]
            if has_leaf(rules, dealer, holder, leaves=leaves, is_of_seed=is_of_seed, value=share):
                right[holder] = share
            elif holder in self.parties:  # else it is named
                message = cast("Shares", self._messages_of_move[MaskingMove.UNMASK][holder])
                self._name(WrongShare(**self._acknowledged(holder, dealer), shares=message))
        if is_right or is_secret_of(secret := self._combine_values(dealer, right), point, primitives):
            return secret
        first = [*right][: rules.needed]
        evidence = NoSecret(
            place=dealer,
            keys=self._keys(dealer),
            check=self._check(dealer),
            blinding=deal.deal.blinding,
            seed=deal.deal.seed,
            leaves=tuple((piece.place, piece.leaves) for piece in deal.deal.pieces),
            chunks=deal.chunks,
            is_of_seed=is_of_seed,
            shares=tuple((holder, right[holder]) for holder in first),
        )
        self._name(evidence)
        self._liars[dealer] = evidence
        return None

    def _secret_of_liar(self, dealer: int) -> int:
        """Return a secret by all that its holders have, of a dealer who has lied."""
        rules, deal, is_of_seed = self._rules, self._deals[dealer], self._liars[dealer].is_of_seed
        values: dict[int, bytes] = {}
        for holder, message in self._messages(MaskingMove.OPEN, Opening).items():
            content = dict(message.values).get(dealer)
            if content is None:
                continue
            entry = self._entry(dealer, holder)
            if entry_of(rules, dealer, holder, content=content, alpha=deal.alpha, box=entry.box) == entry:
                values[holder] = value_of(content, is_of_seed=is_of_seed)
            elif holder in self.parties:  # else it is named
                self._name(WrongOpening(**self._acknowledged(holder, dealer), opening=message))
        secret = self._combine_values(dealer, values)
        if not is_secret_of(secret, deal.deal.seed if is_of_seed else self._keys(dealer).of_masks, self._primitives):
            self._break()
            reason = f"the shares of a secret of {rules.names[dealer]!r}, who was found to lie, do not open it"
            raise RemoteProtocolError(reason, role=Side.SERVER.value)
        return secret

    def _combine_values(self, dealer: int, values: Mapping[int, bytes]) -> int:
        """Return the secret from the first of these values, by holder; a value that is no scalar counts as 0.

        Raises:
            QuorumError: there are too few values.
        """
        rules, numbers = self._rules, self._deals[dealer].numbers
        scalars = {numbers[holder]: scalar_from(value) or 0 for holder, value in values.items()}
        if len(scalars) < rules.needed:
            holders = {*self._near_places(dealer)}.intersection(self._deals).difference(self._excluded_places)
            step = f"{MaskingMove.UNMASK.value} of {rules.names[dealer]}"
            raise self._too_few(step, holders - values.keys(), len(scalars), rules.needed)
        return value_at_zero(scalars, rules.needed)

    def _open_sum(self) -> IntArray:
        """Return the sum of all masked rows without own masks, and without those for who has left."""
        rules, primitives = self._rules, self._primitives
        rows, keys = self._messages(MaskingMove.MASKED, Masked), self._signed_keys
        total = np.zeros(rules.width, dtype=np.int64)
        for row in rows.values():
            total += np.array(row.residues, dtype=np.int64)
        for place, secret in self._secrets.items():
            if place in rows:
                total -= mask_of_seed(secret, rules, primitives)
                continue
            near = [neighbor for neighbor in self._neighbors(place) if neighbor in rows]
            for neighbor, common in zip(
                near, agreements(secret, [keys[o].of_masks for o in near], primitives), strict=True
            ):
                # The neighbor's mask is the negative of this party's.
                total += mask_of(common, place, neighbor, rules=rules, primitives=primitives)
        return total

    @functools.cached_property
    def _signed_keys(self) -> Mapping[int, Keys]:
        """All that were right; asked for once their step is closed."""
        return self._messages(MaskingMove.KEYS, Keys)

    @functools.cached_property
    def _survivors_statement(self) -> bytes:
        """The bytes that parties sign about the survivors; known once these are fixed."""
        return self._rules.survivors_statement(self.survivors, self._excluded_places, self._signed_keys)

    def _keys(self, place: int) -> Keys:
        return cast("Keys", self._messages_of_move[MaskingMove.KEYS][place])

    def _check(self, place: int) -> Check:
        return cast("Check", self._messages_of_move[MaskingMove.CHECK][place])

    def _entry(self, dealer: int, holder: int) -> Entry:
        piece = self._deals[dealer].pieces[holder]
        return Entry(piece.leaves, piece.combined, piece.box)

    def _acknowledged(self, holder: int, dealer: int) -> dict[str, Any]:
        """Return the fields of evidence about a dealer's entry that a holder has acknowledged."""
        check = self._check(holder)
        return {
            "place": holder,
            "keys": self._keys(holder),
            "check": check,
            "held": tuple(
                (place, self._deals[place].entries[holder], self._deals[place].alpha)
                for place in self._held_places(holder, check.doubted)
            ),
            "dealer": dealer,
            "entry": self._entry(dealer, holder),
        }

    def _messages(self, move: MaskingMove, kind: type[_PartyMessageT]) -> dict[int, _PartyMessageT]:
        return {place: message for place, message in self._messages_of_move[move].items() if isinstance(message, kind)}

    def _fault(
        self, place: int, reason: str, kind: Callable[..., RemoteProtocolError] = MalformedMessageError
    ) -> RemoteProtocolError:
        self.drop(place)
        state = self.state.value
        return kind(reason, sender=self._rules.names[place], role=Side.SERVER.value, state=state)

    def _break(self) -> None:
        self._position.move(MaskingMove.BREAK)
        self.step = None

    def _too_few(self, step: str, missing: set[int], received: int, required: int) -> QuorumError:
        self._break()
        names = [self._rules.names[place] for place in sorted(missing)]
        return QuorumError(phase=f"{self._rules.phase}, {step}", received=received, required=required, missing=names)

    def _misuse_error(self, reason: str) -> LocalProtocolError:
        return LocalProtocolError(reason, role=Side.SERVER.value, state=self.state.value)
