"""All parties of a masked phase and its server in one place, with real primitives; a lie changes what is told."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from psephos.agents.masking import Cryptography, signer_of
from psephos.protocol.masking import (
    IN_DISPUTE,
    Check,
    Circle,
    Keys,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    MaskingServer,
    PartyMessage,
    ServerMessage,
)
from psephos.protocol.mechanisms.polya import wrap

__all__ = [
    "LOW_ORDER",
    "PRIMITIVES",
    "ROWS",
    "STEPS",
    "USUAL_STEPS",
    "Dealer",
    "check_of",
    "key_of",
    "keys_of",
    "secret_of",
    "total_of_rows",
]

PRIMITIVES = Cryptography()
STEPS = tuple(move for move in MaskingMove if move is not MaskingMove.BREAK)
USUAL_STEPS = tuple(move for move in STEPS if move not in IN_DISPUTE)

ROWS: Final = [[1, -5], [20, 7], [300, 11], [4_000, 40], [50_000, -3]]
"""Of five parties."""
LOW_ORDER: Final = [
    bytes(32),
    (1).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    (2**255 - 19).to_bytes(32, "little"),
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
]
"""By their y: all that have an order that divides 8, and one that is not reduced."""

Lie = Callable[[MaskingMove, int, Any], Any]
"""(the step that was closed, a party's place, what it is to hear) → what it is told."""


def secret_of(what: str, place: int) -> bytes:
    return hashlib.sha256(f"{what} of {place}".encode()).digest()


def key_of(place: int) -> bytes:
    """Return a party's public key of signatures."""
    return Ed25519PrivateKey.from_private_bytes(secret_of("signing key", place)).public_key().public_bytes_raw()


def total_of_rows(rows: Sequence[Sequence[int]], places: Sequence[int]) -> tuple[int, ...]:
    return tuple(wrap(sum(rows[place][column] for place in places)) for column in range(len(rows[0])))


def answer(party: MaskingParty, move: MaskingMove, heard: Any, row: Sequence[int]) -> PartyMessage:
    """Return what a party says in a step."""
    match move:
        case MaskingMove.KEYS:
            return party.keys()
        case MaskingMove.MASKED:
            return party.mask(heard, row)
        case _:
            said: PartyMessage = getattr(party, move.value)(heard)
            return said


class Dealer:
    """Plays a masked phase.

    Args:
        number: of parties.
        threshold: T.
        kind: of parties.
        given: more of the rules.
    """

    def __init__(
        self,
        number: int,
        threshold: int,
        *,
        kind: type[MaskingParty] = MaskingParty,
        colluders: int = 0,
        width: int = 2,
        session: str = "s",
        circle: Circle | None = None,
    ) -> None:
        private = [secret_of("signing key", place) for place in range(number)]
        keys = tuple(map(key_of, range(number)))
        names = tuple(f"p{place}" for place in range(number))
        self.rules = MaskingRules(session, "votes", names, keys, threshold, colluders, width, circle, agreed=bytes(32))
        self.signers = [signer_of(own) for own in private]
        self.parties = [self.party(place, kind) for place in range(number)]
        self.server = MaskingServer(self.rules, PRIMITIVES)
        self.said: dict[tuple[int, MaskingMove], PartyMessage] = {}

    def party(self, place: int, kind: type[MaskingParty] = MaskingParty) -> MaskingParty:
        root = secret_of("root", place)
        return kind(self.rules, place, root=root, sign=self.signers[place], primitives=PRIMITIVES)

    def answer(self, place: int, move: MaskingMove, heard: Any, row: Sequence[int]) -> PartyMessage:
        return answer(self.parties[place], move, heard, row)

    def run(
        self,
        rows: Sequence[Sequence[int]],
        *,
        leaves: Mapping[int, MaskingMove] | None = None,
        lie: Lie = lambda _move, _place, told: told,
        until: MaskingMove | None = None,
    ) -> tuple[int, ...]:
        """Return the sum; parties leave before they answer the step that is theirs, and the server lies.

        Until a step it is played until that step is said, and not closed.
        """
        heard: Mapping[int, ServerMessage | None] = dict.fromkeys(range(len(rows)))
        left = {place: STEPS.index(move) for place, move in (leaves or {}).items()}
        while (move := self.server.step) is not None:
            for place in heard:
                if left.get(place, len(STEPS)) > STEPS.index(move):
                    self.say(place, move, self.answer(place, move, heard[place], rows[place]))
            if move is until:
                return ()
            told = self.server.close()
            heard = {place: lie(move, place, own) for place, own in told.items()}
        return self.server.total

    def say(self, place: int, move: MaskingMove, said: PartyMessage) -> None:
        self.said[place, move] = said
        self.server.receive(place, said)


def keys_of(dealer: Dealer, place: int) -> Keys:
    """Return the keys that a party has said."""
    said = dealer.said[place, MaskingMove.KEYS]
    assert isinstance(said, Keys)
    return said


def check_of(dealer: Dealer, place: int) -> Check:
    """Return what a party has said in the step of that name."""
    said = dealer.said[place, MaskingMove.CHECK]
    assert isinstance(said, Check)
    return said
