"""The server of a masked phase: pure; it learns the sum of those who survived, and nothing else if parties are honest.

A party's fault that shows ends that party's row alone, as does its silence: it is not asked again. One that lies inside
a box or a share is not found here, and can keep the phase from opening. Who leaves before its masked values came is in
no sum, and its neighbors' shares of its keys take its masks off; who leaves after that still counts. Below the
threshold nothing opens.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar

import numpy as np

from ..arrays import IntArray
from ..errors import LocalProtocolError, MalformedMessageError, QuorumError, RemoteProtocolError, UnexpectedMessageError
from ..roles import Side
from ..states import Position
from .party import mask_of, mask_of_seed, private_key_of
from .primitives import KEY_BYTES, Primitives
from .shamir import combine
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

Said: TypeAlias = Keys | Boxes | Masked | Confirmation | Shares
"""What a party says in a step."""
Told: TypeAlias = NeighborKeys | Boxes | Survivors | Confirmations
"""What a party hears after it; nothing after the last."""

_SaidT = TypeVar("_SaidT", bound=Said)
_ANY_KEY: Final = bytes(range(KEY_BYTES))
"""Nobody's: with a key of low order it has nothing in common, as has every other one."""
_STEPS: Final = dict(zip(MaskingMove, (Keys, Boxes, Masked, Confirmation, Shares), strict=False))


class MaskingServer:
    """The server's part: `receive` what parties say in a step, and `close` it.

    Attributes:
        parties: the places of those who take part in the step that is open.
    """

    def __init__(self, rules: MaskingRules, primitives: Primitives) -> None:
        self._rules, self._primitives = rules, primitives
        self._position = Position(MASKING, MaskingState.NEW)
        self._said: dict[MaskingMove, dict[int, Said]] = {move: {} for move in _STEPS}
        self.parties = frozenset(range(len(rules.names)))
        self._sum: IntArray | None = None
        self._owners: dict[bytes, int] = {}  # of keys that were right
        self._has_in_common = primitives.agreement(_ANY_KEY)

    @property
    def state(self) -> MaskingState:
        """The last step that was closed, or its end."""
        return self._position.state

    @property
    def step(self) -> MaskingMove | None:
        """The step that is open; None at the end."""
        return next(iter(self._position.moves), None)

    @property
    def survivors(self) -> tuple[int, ...]:
        """The places of those whose masked values came, in order: they count, whoever leaves later."""
        return tuple(sorted(self._said[MaskingMove.MASKED]))

    @property
    def total(self) -> tuple[int, ...]:
        """The sum of the survivors' rows, as residues modulo 2⁶⁴ in [−2⁶³, 2⁶³).

        Raises:
            LocalProtocolError: the last step is not closed.
        """
        if self._sum is None:
            raise self._misused("nothing is opened before the last step has closed")
        return tuple(self._sum.tolist())

    def receive(self, place: int, said: Said) -> None:
        """Take what a party says in the open step.

        Raises:
            UnexpectedMessageError: it has no place here; the party is out of the phase, unless it said the same before.
            MalformedMessageError: it does not fit the rules; the party is out of the phase.
        """
        move, name = self.step, self._rules.names[place]
        if any(said == own.get(place) for earlier, own in self._said.items() if earlier is not move):
            return  # again, and late
        if move is None or place not in self.parties or type(said) is not _STEPS[move]:
            reason = f"{name!r} says {type(said).__name__} where it has no place"
            raise self._fault(place, reason, UnexpectedMessageError)
        before = self._said[move].setdefault(place, said)
        if before != said:
            reason = f"{name!r} says another {type(said).__name__} than before"
            raise self._fault(place, reason, UnexpectedMessageError)
        if reason := self._wrong_of(place, said):
            raise self._fault(place, f"{name!r} {reason}")

    def drop(self, place: int) -> None:
        """Let a party go: it is out of the open step, and of all that follow."""
        self.parties -= {place}
        if self.step is not None:
            self._said[self.step].pop(place, None)

    def close(self) -> Mapping[int, Told]:
        """Close the open step; return what each party hears that goes on.

        Raises:
            QuorumError: fewer than the threshold are left, or, at last, some seed has too few shares; nothing opens.
            RemoteProtocolError: shares are not of one seed, so that nothing opens.
            LocalProtocolError: no step is open.
        """
        move = self.step
        if move is None:
            raise self._misused("no step is open")
        self.parties = frozenset(self._said[move])
        if len(self.parties) < self._rules.threshold:
            missing = {*range(len(self._rules.names))} - self.parties
            raise self._too_few(move.value, missing, len(self.parties), self._rules.threshold)
        told: dict[int, Told] = {}
        if move is MaskingMove.UNMASK:
            self._sum = self._opened()
        else:
            tell = self._telling(move)
            told = {place: tell(place) for place in sorted(self.parties)}
        self._position.move(move)
        return told

    def _telling(self, move: MaskingMove) -> Callable[[int], Told]:
        """Return what tells a party, by its place, what it hears after a step."""
        near = self._rules.graph.neighbors_of
        match move:
            case MaskingMove.KEYS:
                keys = self._of(move, Keys)
                return lambda place: NeighborKeys(tuple((other, keys[other]) for other in near(place) if other in keys))
            case MaskingMove.SHARES:
                sent = {place: dict(said.boxes) for place, said in self._of(move, Boxes).items()}
                return lambda place: Boxes(tuple((other, sent[other][place]) for other in near(place) if other in sent))
            case MaskingMove.MASKED:
                survivors = Survivors(self.survivors)
                return lambda _: survivors
            case _:
                signed = {place: said.signature for place, said in self._of(move, Confirmation).items()}
                return lambda place: Confirmations(
                    tuple((other, signed[other]) for other in sorted({place, *near(place)} & signed.keys()))
                )

    def _wrong_of(self, place: int, said: Said) -> str:
        """Return what is wrong with what a party says; nothing where it is right."""
        rules, verify = self._rules, self._primitives.verify
        match said:
            case Keys():
                if not verify(rules.keys[place], said.signature, rules.about_keys(place, said)):
                    return "has not signed its keys for this phase"
                own = said.of_masks, said.of_boxes
                if len({*own}) < len(own) or any(self._owners.get(key, place) != place for key in own):
                    return "has the keys of somebody else"
                try:
                    for key in own:
                        self._has_in_common(key)
                except ValueError:
                    return "has a key of low order"
                self._owners.update(dict.fromkeys(own, place))
                return ""
            case Boxes(boxes):
                known = self._said[MaskingMove.KEYS].keys()
                wanted = [other for other in rules.graph.neighbors_of(place) if other in known]
                is_right = sorted(other for other, _ in boxes) == wanted
                return "" if is_right else f"sends boxes for other parties than its {len(wanted)} neighbors"
            case Masked(residues):
                return "" if len(residues) == rules.width else f"sends {len(residues)} values, not {rules.width}"
            case Confirmation(signature):
                is_right = verify(rules.keys[place], signature, self._about_survivors)
                return "" if is_right else "has not signed who survived"
            case Shares(shares):
                sharing = self._said[MaskingMove.SHARES].keys()
                wanted = [*filter(sharing.__contains__, sorted((place, *rules.graph.neighbors_of(place))))]
                is_right = [other for other, _ in shares] == wanted
                return "" if is_right else f"sends shares of other parties than the {len(wanted)} whose it holds"

    def _opened(self) -> IntArray:
        """Return the sum of all masked rows without own masks, and without those for who has left."""
        rules, primitives = self._rules, self._primitives
        shares: dict[int, dict[int, bytes]] = {}
        for holder, said in self._of(MaskingMove.UNMASK, Shares).items():
            for place, share in said.shares:
                shares.setdefault(place, {})[holder + 1] = share
        rows = self._of(MaskingMove.MASKED, Masked)
        keys = self._of(MaskingMove.KEYS, Keys)
        total = np.zeros(rules.width, dtype=np.int64)
        for row in rows.values():
            total += np.array(row.residues, dtype=np.int64)
        for place in sorted(self._said[MaskingMove.SHARES]):
            near = [other for other in rules.graph.neighbors_of(place) if other in rows]
            if place not in rows and not near:
                continue
            if len(own := shares.get(place, {})) < rules.needed:
                holders = {place, *rules.graph.neighbors_of(place)}.intersection(self._said[MaskingMove.SHARES])
                step = f"{MaskingMove.UNMASK.value} of {rules.names[place]}"
                raise self._too_few(step, holders - self.parties, len(own), rules.needed)
            try:
                seed = combine(own, needed=rules.needed)
            except ValueError:
                raise self._wrong_shares(place) from None
            if place in rows:
                total -= mask_of_seed(seed, rules, primitives)
                continue
            private = private_key_of(seed, rules, primitives)
            masks_with = primitives.agreement(private)
            if primitives.public_of(private) != keys[place].of_masks:
                raise self._wrong_shares(place)
            for other in near:
                # What the other added for this one is the opposite of what this one would have.
                total += mask_of(masks_with(keys[other].of_masks), place, other, rules=rules, primitives=primitives)
        return total

    @functools.cached_property
    def _about_survivors(self) -> bytes:
        """What parties sign; asked for once they are fixed."""
        return self._rules.about_survivors(self.survivors, self._of(MaskingMove.KEYS, Keys))

    def _of(self, move: MaskingMove, kind: type[_SaidT]) -> dict[int, _SaidT]:
        return {place: said for place, said in self._said[move].items() if isinstance(said, kind)}

    def _fault(
        self, place: int, reason: str, kind: Callable[..., RemoteProtocolError] = MalformedMessageError
    ) -> RemoteProtocolError:
        self.drop(place)
        state = self.state.value
        return kind(reason, sender=self._rules.names[place], role=Side.SERVER.value, state=state)

    def _wrong_shares(self, place: int) -> RemoteProtocolError:
        self._position.move(MaskingMove.BREAK)
        name = self._rules.names[place]
        reason = f"the shares of a seed of {name!r} are not of one seed: somebody who holds one says another"
        return RemoteProtocolError(reason, role=Side.SERVER.value)

    def _too_few(self, step: str, missing: set[int], received: int, required: int) -> QuorumError:
        self._position.move(MaskingMove.BREAK)
        names = [self._rules.names[place] for place in sorted(missing)]
        return QuorumError(phase=f"{self._rules.phase}, {step}", received=received, required=required, missing=names)

    def _misused(self, reason: str) -> LocalProtocolError:
        return LocalProtocolError(reason, role=Side.SERVER.value, state=self.state.value)
