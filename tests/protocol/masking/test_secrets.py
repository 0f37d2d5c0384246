"""What masks, boxes and seeds are made of: nothing that anybody else knows, and nothing that is used for two things.

A sum is right, and masked rows look uniform, by whatever secrets: so a party's primitives are watched.
"""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from masking_dealer import Dealer, secret_of, total_of_rows
from psephos.agents.masking import Cryptography
from psephos.protocol.masking import MaskingMove, MaskingParty
from psephos.protocol.masking.shamir import PRIME, SHARE_BYTES, combine

ROWS = [[place, -place] for place in range(6)]
THRESHOLD = 5


class Watched(Cryptography):
    """Primitives that take as a secret only what a party's root, or an agreement of two, has led to.

    Attributes:
        sealed: what was sealed, in order.
    """

    def __init__(self, root: bytes) -> None:
        self.secrets = {root}
        self.keys: list[bytes] = []
        self.sealed: list[bytes] = []
        self.derived: dict[bytes, tuple[bytes, bytes]] = {}

    def known(self, secret: bytes) -> bytes:
        assert secret in self.secrets, "a secret that others know"
        return secret

    def made(self, secret: bytes) -> bytes:
        self.secrets.add(secret)
        return secret

    def public_of(self, private: bytes) -> bytes:
        return super().public_of(self.known(private))

    def agreement(self, private: bytes) -> Callable[[bytes], bytes]:
        agree = super().agreement(self.known(private))
        return lambda public: self.made(agree(public))

    def derive(self, secret: bytes, info: bytes, length: int) -> bytes:
        derived = self.made(super().derive(self.known(secret), info, length))
        assert self.derived.setdefault(derived, (secret, info)) == (secret, info)
        return derived

    def expand(self, key: bytes, length: int) -> bytes:
        return self.made(super().expand(self.known(key), length))

    def seal(self, key: bytes, content: bytes, about: bytes) -> bytes:
        assert key not in self.keys, "a key that seals twice"
        self.keys.append(key)
        self.sealed.append(content)
        return super().seal(self.known(key), content, about)

    def open(self, key: bytes, box: bytes, about: bytes) -> bytes:
        return super().open(self.known(key), box, about)


class WatchedDealer(Dealer):
    """A dealer each of whose parties has primitives of its own."""

    def party(self, place: int, kind: type[MaskingParty] = MaskingParty) -> MaskingParty:
        own = Watched(secret_of("root", place))
        self.watched: dict[int, Watched] = {**getattr(self, "watched", {}), place: own}
        root = secret_of("root", place)
        return kind(self.rules, place, root=root, sign=self.signers[place], primitives=own)


@pytest.fixture(scope="module")
def dealer() -> WatchedDealer:
    """A session in which the last party leaves before its masked row."""
    dealer = WatchedDealer(len(ROWS), THRESHOLD)
    left = len(ROWS) - 1
    assert dealer.run(ROWS, leaves={left: MaskingMove.MASKED}) == total_of_rows(ROWS, range(left))
    return dealer


def shares_of(dealer: WatchedDealer, place: int) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """Return what a party has sealed for each other one: shares of its keys' seed, and of its own."""
    others = [1 + other for other in range(len(ROWS)) if other != place]
    boxes = dealer.watched[place].sealed
    first, second = ([box[start:][:SHARE_BYTES] for box in boxes] for start in (0, SHARE_BYTES))
    return dict(zip(others, first, strict=True)), dict(zip(others, second, strict=True))


def test_two_seeds_are_shared_each_by_a_polynomial_of_its_own(dealer: WatchedDealer) -> None:
    """The shares of a seed differ, as do those of two seeds, each by something else; too few tell another seed."""
    for place in range(len(ROWS)):
        of_keys, of_own = shares_of(dealer, place)
        needed = dealer.rules.needed
        seeds = [combine(shares, needed=needed) for shares in (of_keys, of_own)]
        assert seeds[0] != seeds[1]
        apart: set[Any] = set()
        for shares, seed in zip((of_keys, of_own), seeds, strict=True):
            assert len({*shares.values(), seed + bytes(SHARE_BYTES - len(seed))}) == len(shares) + 1
            for some in itertools.combinations(sorted(shares), needed - 1):
                assert told_of({holder: shares[holder] for holder in some}) != seed
        for holder, share in of_keys.items():
            difference = int.from_bytes(share, "little") - int.from_bytes(of_own[holder], "little")
            apart.add(difference % PRIME)
        assert len(apart) == len(of_keys)


def told_of(shares: dict[int, bytes]) -> bytes | None:
    try:
        return combine(shares, needed=len(shares))
    except ValueError:
        return None


def test_each_party_has_secrets_that_no_other_one_has(dealer: WatchedDealer) -> None:
    """But for what two agree on, which is no third one's."""
    for one, *others in itertools.combinations(dealer.watched.values(), 3):
        assert not one.secrets.intersection(*(other.secrets for other in others))
