"""What is keyed by a secret is so by all of it: whoever tries some of its bits finds nothing.

A digest by eight of them looks as one by all, and passes wherever it is compared with itself.
"""

from collections.abc import Callable, Iterator

import pytest
from masking_dealer import PRIMITIVES, Dealer
from psephos.protocol import Scope
from psephos.protocol.masking import MaskingParty
from psephos.protocol.memoized_reports import has_changed, seal_of
from psephos.protocol.records import receipt_of

SECRET = bytes(range(40, 72))
SCOPE = Scope(kind="game", name="board", law=())


def flipped(secret: bytes) -> Iterator[bytes]:
    """Yield the secret with each of its bits flipped, and with one byte more or less."""
    for bit in range(8 * len(secret)):
        yield (int.from_bytes(secret, "little") ^ 1 << bit).to_bytes(len(secret), "little")
    yield from (secret[:-1], secret + b"\0")


def masks_of(root: bytes) -> bytes:
    """Return a party's public keys by a root, which has to have 32 bytes."""
    dealer = Dealer(2, 2)
    root = root[:32].ljust(32, b"\xff")
    keys = MaskingParty(dealer.rules, 0, root=root, sign=dealer.signers[0], primitives=PRIMITIVES).keys()
    assert keys.of_masks != keys.of_boxes
    return keys.of_masks + keys.of_boxes


KEYED: dict[str, Callable[[bytes], tuple[object, ...]]] = {
    "seal of kept values": lambda secret: tuple(seal_of(secret, SCOPE, "weights", (3,)).split(".")),
    "receipt": lambda secret: (receipt_of(secret, session_id="5e" * 16, party="p0", step=1),),
    "keys of masks and boxes": lambda root: (masks_of(root)[:32], masks_of(root)[32:]),
}


@pytest.mark.parametrize("name", KEYED)
def test_each_bit_of_a_secret_counts(name: str) -> None:
    others = [*flipped(SECRET)]
    if name.startswith("keys"):
        others = others[:-2]
    for parts in zip(*map(KEYED[name], [SECRET, *others]), strict=True):
        assert len({*parts}) == len(parts)


def test_a_seal_tells_each_change_of_values_and_compares_nothing_under_another_secret() -> None:
    values = [(0,), (1,), (-1,), (0, 1), (1, 0), (1, 1), (2**40,), ()]
    for secret in (SECRET, b"s", SECRET[:8]):
        seals = [seal_of(secret, SCOPE, "weights", own) for own in values]
        seals += [
            seal_of(secret, SCOPE, "opinions", (0,)),
            seal_of(secret, Scope("game", "other", ()), "weights", (0,)),
        ]
        for place, seal in enumerate(seals):
            assert [has_changed(seal, other) for other in seals] == [at != place for at in range(len(seals))]
        others = [seal_of(other, SCOPE, "weights", values[0]) for other in flipped(secret)]
        assert not any(has_changed(seals[0], other) for other in others)
