"""What masks, boxes and seeds are made of: nothing that anybody else knows, and nothing that is used for two things.

A sum is right, and masked rows look uniform, by whatever secrets: so a party's primitives are watched.
"""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from liars import BoxThatDoesNotOpen, hold, with_liars
from masking_dealer import PRIMITIVES, Dealer, keys_of, secret_of, total_of_rows
from psephos.agents.masking import Cryptography
from psephos.protocol.masking import Check, Claims, Deal, Keys, MaskingMove, MaskingParty
from psephos.protocol.masking.party import mask_of, mask_of_seed
from psephos.protocol.masking.scalars import (
    ORDER,
    SCALAR_BYTES,
    encode_scalar,
    exchange_key_of,
    scalar_from,
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
        self.asked: set[tuple[bytes, bytes]] = set()

    def known(self, secret: bytes) -> bytes:
        assert secret in self.secrets, "a secret that others know"
        return secret

    def made(self, secret: bytes) -> bytes:
        self.secrets.add(secret)
        return secret

    def base(self, scalar: bytes) -> bytes:
        return super().base(self.known(scalar))

    def agreement(self, private: bytes) -> Callable[[bytes], bytes]:
        agree = super().agreement(self.known(private))
        return lambda public: self.made(agree(public))

    def derive(self, secret: bytes, info: bytes, length: int) -> bytes:
        assert (secret, info) not in self.asked, "one secret that is made for two things"
        self.asked.add((secret, info))
        derived = self.made(super().derive(self.known(secret), info, length))
        assert self.derived.setdefault(derived, (secret, info)) == (secret, info)
        return derived

    def expand(self, key: bytes, length: int) -> bytes:
        expanded = super().expand(self.known(key), length)
        for scalar in scalars_of(expanded):
            self.secrets |= {encode_scalar(scalar), exchange_key_of(scalar) or b""}
        return self.made(expanded)

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


def values_of(dealer: WatchedDealer, place: int) -> list[dict[int, int]]:
    """Return what a party has sealed for each other one, by number: of its key, its seed, what blinds both."""
    numbers = [1 + other for other in range(len(ROWS)) if other != place]
    boxes = [
        [scalar_from(box[start:][:SCALAR_BYTES]) for start in range(0, 3 * SCALAR_BYTES, SCALAR_BYTES)]
        for box in dealer.watched[place].sealed
    ]
    return [
        {number: value for number, value in zip(numbers, own, strict=True) if value is not None}
        for own in zip(*boxes, strict=True)
    ]


def test_three_secrets_are_shared_each_by_a_polynomial_of_its_own(dealer: WatchedDealer) -> None:
    """The values of each differ, as do those of two, each by something else; too few tell another secret."""
    for place in range(len(ROWS)):
        polynomials, needed = values_of(dealer, place), dealer.rules.needed
        secrets = [value_at_zero(values, needed) for values in polynomials]
        assert len({*secrets}) == len(polynomials)
        for values, secret in zip(polynomials, secrets, strict=True):
            assert len({*values.values(), secret}) == len(values) + 1
            for some in itertools.combinations(sorted(values), needed - 1):
                assert value_at_zero({number: values[number] for number in some}, needed - 1) != secret
        for one, other in itertools.combinations(polynomials, 2):
            apart = {(value - other[number]) % ORDER for number, value in one.items()}
            assert len(apart) == len(one)


def test_each_party_has_secrets_that_no_other_one_has(dealer: WatchedDealer) -> None:
    """But for what two agree on, which is no third one's."""
    for one, *others in itertools.combinations(dealer.watched.values(), 3):
        assert not one.secrets.intersection(*(other.secrets for other in others))


def test_no_number_of_a_mask_is_another_one_s_however_wide_a_row_is() -> None:
    """Where a stream began anew, rows would tell differences. False alarm: below 1e-9, for the same keys every time."""
    rules = Dealer(2, 2, width=1 << 16).rules
    masks = mask_of_seed(1, rules, PRIMITIVES), mask_of(bytes(32), 0, 1, rules=rules, primitives=PRIMITIVES)
    assert len(np.unique(masks)) == 2 * rules.width


def test_no_nonce_serves_for_two_proofs() -> None:
    """Else two responses tell the key of boxes. All runs are of the same roots, as from older copies of a journal.

    Nor is a nonce any other secret whose point is said: of such a one a single response tells the key.
    """
    proofs: dict[tuple[int, bytes], bytes] = {}
    num_claims = 0
    for liar in (1, 3):
        dealer = with_liars(Dealer(len(ROWS), THRESHOLD), {liar: BoxThatDoesNotOpen})
        hold(dealer, ROWS, liars=[liar])
        points = {
            point
            for said in dealer.said.values()
            if isinstance(said, Keys | Deal)
            for point in ((said.of_masks, said.of_boxes) if isinstance(said, Keys) else (said.blinding, said.seed))
        }
        assert len(points) == 4 * len(ROWS)
        for (place, move), said in dealer.said.items():
            own = [said.possession] if isinstance(said, Check) else []
            if isinstance(said, Claims):
                own = [claim.challenge + claim.response for claim in said.claims]
                num_claims += len(own)
            for proof in own:
                opposite = encode_scalar(-int.from_bytes(proof[:SCALAR_BYTES], "little") % ORDER)
                less = PRIMITIVES.times(opposite, keys_of(dealer, place).of_boxes)
                drawn = PRIMITIVES.plus(PRIMITIVES.base(proof[SCALAR_BYTES:]), less)
                assert proofs.setdefault((place, drawn), proof) == proof, move
                assert drawn not in points, move
    assert num_claims >= 2
