"""What masks, boxes and seeds are made of: nothing that anybody else knows, and nothing that is used for two things.

A sum is right, and masked rows look uniform, by whatever secrets: so a party's primitives are watched.
"""

import itertools
from collections.abc import Callable

import pytest
from masking_dealer import Dealer, secret_of, total_of_rows
from psephos.agents.masking import Cryptography
from psephos.protocol.masking import MaskingMove, MaskingParty
from psephos.protocol.masking.scalars import (
    ENTROPY_BYTES,
    ORDER,
    SCALAR_BYTES,
    encode_scalar,
    exchange_key_of,
    scalars_of,
    value_at_zero,
)

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

    def base(self, scalar: bytes) -> bytes:
        return super().base(self.known(scalar))

    def times(self, scalar: bytes, point: bytes) -> bytes:
        return super().times(self.known(scalar), point)

    def agreement(self, private: bytes) -> Callable[[bytes], bytes]:
        agree = super().agreement(self.known(private))
        return lambda public: self.made(agree(public))

    def derive(self, secret: bytes, info: bytes, length: int) -> bytes:
        derived = self.made(super().derive(self.known(secret), info, length))
        assert self.derived.setdefault(derived, (secret, info)) == (secret, info)
        return derived

    def expand(self, key: bytes, length: int) -> bytes:
        expanded = self.made(super().expand(self.known(key), length))
        for scalar in scalars_of(expanded) if length % ENTROPY_BYTES == 0 else ():
            self.made(encode_scalar(scalar))
            self.made(exchange_key_of(scalar) or b"")
        return expanded

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


def shares_of(dealer: WatchedDealer, place: int) -> list[dict[int, int]]:
    """Return what a party has sealed for each other one: values of its key's polynomial, its seed's, what blinds."""
    others = [1 + other for other in range(len(ROWS)) if other != place]
    boxes = dealer.watched[place].sealed
    parts = (
        [int.from_bytes(box[start:][:SCALAR_BYTES], "little") for box in boxes]
        for start in (0, SCALAR_BYTES, 2 * SCALAR_BYTES)
    )
    return [dict(zip(others, each, strict=True)) for each in parts]


def test_three_secrets_are_shared_each_by_a_polynomial_of_its_own(dealer: WatchedDealer) -> None:
    """The shares of a secret differ, as do those of two, each by something else; too few tell another one."""
    for place in range(len(ROWS)):
        shared, needed = shares_of(dealer, place), dealer.rules.needed
        secrets = [value_at_zero(shares, needed) for shares in shared]
        assert len({*secrets}) == 3
        for shares, secret in zip(shared, secrets, strict=True):
            assert len({*shares.values(), secret}) == len(shares) + 1
            for some in itertools.combinations(sorted(shares), needed - 1):
                assert value_at_zero({holder: shares[holder] for holder in some}, needed - 1) != secret
        for one, other in itertools.combinations(shared, 2):
            assert len({(share - other[holder]) % ORDER for holder, share in one.items()}) == len(one)


def test_each_party_has_secrets_that_no_other_one_has(dealer: WatchedDealer) -> None:
    """But for what two agree on, which is no third one's."""
    for one, *others in itertools.combinations(dealer.watched.values(), 3):
        assert not one.secrets.intersection(*(other.secrets for other in others))
