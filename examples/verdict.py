"""Judges evidence that a party of a masked sum has lied, without Psephos: written from `docs/masked-evidence.md`.

    python examples/verdict.py EVIDENCE RULES    # RULES are those that you have agreed to, or --believe-the-rules

Ends with status 0 if somebody is named, 1 if nothing is proven, and 2 if this is no evidence. Needs `cryptography`.
"""

import base64
import json
import sys
from functools import cache, partial, reduce
from hashlib import blake2b
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ZERO, inverse = -121665 * pow(121666, -1, P) % P, (0, 1), cache(partial(pow, exp=-1, mod=L))
little, four = partial(int.from_bytes, byteorder="little"), partial(int.to_bytes, length=4, byteorder="big")

# Forms of JSON: bytes of a length, or, where it is negative, of no more; types; lists, arrays and objects of forms.
RULES = {"session": str, "phase": str, "agreed": -64, "threshold": int, "colluders": int, "width": int, "needed": int}
KEYS, ENTRY, CIRCLE = (32, 32, 64), (48, 32, -112), {"needed": int, "num_parties": int, "degree": int, "seed": -64}
DEALT: dict[str, Any] = {"kind": str, "place": int, "keys": KEYS, "check": (32, 32, [int], 64, 64)}
TOLD = DEALT | {"held": [(int, 32, 16)], "dealer": int, "entry": ENTRY}
BOX = {"path": (32, 32, 16, [(int, 32)], [32]), "entry": ENTRY, "holder": int, "holder_keys": KEYS}
APART = {"blinding": 32, "seed": 32, "leaves": [(int, 48)], "chunks": [32], "is_of_seed": bool}
FORMS: dict[str, Any] = {"keys": {"kind": str, "place": int, "keys": KEYS}}
FORMS["deal"] = DEALT | {"deal": (32, 32, [(int, 48, 32, -112)]), "holders": [(int, KEYS)]}
FORMS.update(apart=DEALT | APART | {"shares": [(int, 32)]}, box=DEALT | BOX | {"claim": (int, 32, 32, 32, 64)})
FORMS.update(share=TOLD | {"shares": ([(int, bool, 32)], 64)}, open=TOLD | {"opening": ([(int, 96)], 64)})


class NothingProvenError(Exception):
    """The evidence names nobody, for this reason."""


def prove(condition: object, reason: str) -> None:
    if not condition:
        raise NothingProvenError(reason)


def read(value: Any, form: Any) -> Any:
    kinds = tuple(map(type, (form, value)))
    if kinds == (dict, dict) and form.keys() == value.keys():
        return {name: read(value[name], own) for name, own in form.items()}
    if kinds == (list, list):
        return [read(each, form[0]) for each in value]
    if kinds == (tuple, list) and len(form) == len(value):
        return tuple(map(read, value, form))
    if kinds == (int, str) and (len(data := base64.b64decode(value, validate=True)) == form or len(data) <= -form):
        return data
    if kinds[1] is form and (form is not int or 0 <= value < 2**31):
        return value
    raise ValueError(f"this has not the form that it should: {value!r:.60}")


def add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    (x1, y1), (x2, y2) = one, other
    t = D * x1 * x2 * y1 * y2
    return (x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P


def times(scalar: int, point: tuple[int, int]) -> tuple[int, int]:
    half = times(scalar // 2, add(point, point)) if scalar > 1 else ZERO
    return add(half, point) if scalar % 2 else half


@cache
def point_of(data: bytes) -> Any:
    """Return a point of the subgroup of order ℓ, and not its zero; None where the bytes are none."""
    y, sign = little(data) % 2**255, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P  # as −1/D is no square, there is an inverse
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    point = (x if x % 2 == sign else P - x), y
    return point if x * x % P == square and x and y < P and times(L, point) == ZERO else None


BASE = point_of((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def interpolated(values: Any) -> tuple[int, int]:
    """Return the value at 0 and the number of coefficients of the polynomial through pairs of number and value."""
    numbers, row = [number for number, _ in values], [value for _, value in values]
    for level in range(1, len(row)):  # Newton's divided differences
        for i in range(len(row) - 1, level - 1, -1):
            row[i] = (row[i] - row[i - 1]) * inverse(numbers[i] - numbers[i - level]) % L
    at_zero = reduce(lambda total, own: (own[1] - total * own[0]) % L, list(zip(numbers, row, strict=True))[::-1], 0)
    return at_zero, max((i + 1 for i, own in enumerate(row) if own), default=0)


def hashed(*parts: bytes, size: int = 32) -> bytes:
    return blake2b(b"".join(parts), digest_size=size).digest()


class Judge:
    """Judges evidence by rules, both as `docs/masked-evidence.md` has them."""

    def __init__(self, given: dict[str, Any]) -> None:
        circle = read(given["circle"], CIRCLE) if given["circle"] else None
        self.names, self.keys = read(given["names"], [str]), read(given["keys"], [32])
        rules, n = read({name: given[name] for name in RULES}, RULES), len(self.names)
        self.needed, parties, self.degree, *seed = circle.values() if circle else (rules["threshold"], n, None)
        prove(len(self.keys) == n == parties and rules["needed"] == self.needed, "the rules do not fit one another")
        texts = [*rules.values(), *self.names, *self.keys, *([self.degree, *seed] if circle else [])]
        told = [own.hex().encode() if isinstance(own, bytes) else str(own).encode() for own in texts]
        whole = b"".join(len(own).to_bytes(8, "big") + own for own in told)
        self.digest = blake2b(whole, digest_size=32, person=b"psephos-masking2").digest()
        key = partial(blake2b, key=b"".join(seed), digest_size=16)
        self.order = sorted(range(n), key=lambda place: key(place.to_bytes(8, "big")).digest())

    def number(self, dealer: int, holder: int) -> int:
        prove(max(dealer, holder) < len(self.names), "there is no such party")
        distance, n, degree = self.order.index(holder) - self.order.index(dealer), len(self.names), self.degree
        prove(degree is None or (distance + degree // 2) % n <= degree, "a holder is no neighbor")
        return holder + 1 if degree is None else (distance + degree // 2) % n + 1

    def about(self, what: str, *places: int) -> bytes:
        return self.digest + what.encode() + b"\0" + b"".join(map(four, places))

    def prove_signed(self, place: int, what: str, keys: Any, signature: bytes, *told: bytes) -> None:
        try:
            message = self.about(what, place) + keys[0] + keys[1] + (hashed(*told) if told else b"")
            Ed25519PublicKey.from_public_bytes(self.keys[place]).verify(signature, message)
        except (InvalidSignature, ValueError, IndexError):
            raise NothingProvenError(f"{what!r} is not signed under these rules") from None

    def are_keys(self, place: int, keys: Any) -> bool:
        self.prove_signed(place, "keys", keys, keys[2])
        return keys[0] != keys[1] and None not in map(point_of, keys[:2])

    def prove_dealt(self, dealer: int, keys: Any, check: Any, *told: bytes) -> None:
        prove(check[0] == hashed(self.about("deal", dealer), *keys[:2], *told), "another deal is signed")
        self.prove_signed(dealer, "check", keys, check[3], *check[:2], *map(four, check[2]))

    def alpha(self, dealer: int, keys: Any, points: Any, leaves: Any) -> bytes:
        places = [place for place, _ in leaves if self.number(dealer, place)]
        prove(dealer in places and places == sorted({*places}), "these are no holders in order")
        return hashed(self.about("alpha", dealer), *keys[:2], *points, *(own for _, own in leaves), size=16)

    def has_leaf(self, pair: tuple[int, int], of: int, value: bytes, entry: Any) -> bool:
        leaf = hashed(self.about("leaf", pair[0], self.number(*pair)), b"fgr"[of : of + 1], value, size=16)
        return len(value) == 32 and little(value) < L and leaf == entry[0][16 * of : 16 * (of + 1)]

    def fits(self, pair: tuple[int, int], content: bytes, *, alpha: bytes, entry: Any) -> bool:
        parts = [content[start : start + 32] for start in (0, 32, 64)]
        (f, g, r), factor = map(little, parts), little(alpha)
        has_leaves = all(self.has_leaf(pair, of, part, entry) for of, part in enumerate(parts))
        return has_leaves and (r + factor * f + factor**2 * g) % L == little(entry[1])

    def of_deal(self, place: int, keys: Any, check: Any, deal: Any, holders: Any) -> tuple[int, str]:
        (*points, pieces), holders = deal, dict(holders)
        told = self.alpha(place, keys, points, [piece[:2] for piece in pieces])
        prove(holders.keys() == {piece[0] for piece in pieces} and holders[place] == keys, "keys are of others")
        entries = [four(holder) + hashed(*holders[holder][:2], box, leaves, h) for holder, leaves, h, box in pieces]
        chunks = [hashed(*entries[start : start + 16]) for start in range(0, len(entries), 16)]
        self.prove_dealt(place, keys, check, *points, told, *chunks)
        values = sorted((self.number(place, piece[0]), little(piece[2])) for piece in pieces)
        alpha, key, r, g = little(told), *map(point_of, (keys[0], *points))
        at_zero, length = interpolated(values)
        is_one = length <= self.needed <= len(values) and max(h for _, h in values) < L
        if is_one and key and r and g and alpha and at_zero:
            secrets = add(key, times(alpha, g))
            prove(secrets == ZERO or times(at_zero, BASE) != add(r, times(alpha, secrets)), "the deal is right")
        return place, "it signed a deal that is not right"

    def of_apart(self, place: int, keys: Any, check: Any, is_of_seed: Any, **given: Any) -> tuple[int, str]:
        points, leaves, values = (given["blinding"], given["seed"]), given["leaves"], dict[int, int]()
        alpha = self.alpha(place, keys, points, leaves)
        self.prove_dealt(place, keys, check, *points, alpha, *given["chunks"])
        for holder, share in given["shares"]:
            leaf = [dict(leaves).get(holder, b"")]
            prove(self.has_leaf((place, holder), is_of_seed, share, leaf), "a share is not that of its leaf")
            values[self.number(place, holder)] = little(share)
        prove(len(values) >= self.needed, "the shares are too few")
        secret, _ = interpolated(sorted(values.items())[: self.needed])
        prove(times(secret, BASE) != point_of(points[1] if is_of_seed else keys[0]), "the shares tell the secret")
        return place, "it dealt shares that are not of its keys"

    def of_box(self, place: int, keys: Any, check: Any, entry: Any, holder: int, **given: Any) -> tuple[int, str]:
        pair, own, (*points, alpha, chunk, chunks) = (place, holder), given["holder_keys"], given["path"]
        prove(self.number(*pair) and place != holder, "these two are no neighbors")
        if not self.are_keys(holder, own):
            return holder, "it signed keys that are none"
        digest = hashed(*own[:2], entry[2], *entry[:2])
        is_there = (holder, digest) in chunk and hashed(*(four(each) + told for each, told in chunk)) in chunks
        dealer, shared, *numbers, signature = given["claim"]
        prove(is_there and dealer == place, "the box is not of this deal")
        self.prove_dealt(place, keys, check, *points, alpha, *chunks)
        self.prove_signed(holder, "accuse", own, signature, four(place), check[0], digest, shared, *numbers)
        z, x, y, (challenge, response) = *map(point_of, (shared, own[1], keys[1])), map(little, numbers)
        ends = [add(times(response, p), times(L - challenge, q or ZERO)) for p, q in ((BASE, x), (y, z))]
        told = (own[1], keys[1], shared, *((v | u % 2 << 255).to_bytes(32, "little") for u, v in ends))
        own_challenge = little(hashed(self.about("proof", *pair), *told, size=64)) % L
        if not (z and challenge and 0 < response < L and own_challenge == challenge):
            return holder, "it accused somebody by a wrong proof"
        secret = ((1 + z[1]) * pow(1 - z[1], -1, P) % P).to_bytes(32, "little")
        key = HKDF(SHA256(), 32, None, self.about("key of a box", *pair) + alpha).derive(secret)
        try:
            content = ChaCha20Poly1305(key).decrypt(bytes(12), entry[2], self.about("box", *pair))
        except InvalidTag:
            return place, "it signed a box that does not open"
        if self.fits(pair, content, alpha=alpha, entry=entry):
            return holder, "it accused somebody of a box that is right"
        return place, "it signed a box that does not hold what it says"

    def of_told(self, kind: str, holder: int, keys: Any, check: Any, *given: Any) -> tuple[int, str]:
        held, dealer, entry, (told, signature) = given
        pair, digest = (dealer, holder), hashed(*keys[:2], entry[2], *entry[:2])
        alphas = [alpha for place, own, alpha in held if (place, own) == (dealer, digest)]
        whole = hashed(self.about("held", holder), *(four(place) + own + alpha for place, own, alpha in held))
        prove(self.number(*pair) and alphas and check[1] == whole, "this entry was not acknowledged")
        self.prove_signed(holder, "check", keys, check[3], *check[:2], *map(four, check[2]))
        what, is_right = ("unmask", self.has_leaf) if kind == "share" else ("open", partial(self.fits, alpha=alphas[0]))
        parts = (four(own[0]) + b"".join(bytes([o]) if isinstance(o, bool) else o for o in own[1:]) for own in told)
        self.prove_signed(holder, what, keys, signature, check[1], *parts)
        for place, *own in told:
            if place == dealer and not is_right(pair, *own, entry=entry):
                return holder, "it told something else than it had acknowledged"
        raise NothingProvenError("what was told is what was acknowledged")

    def named(self, given: dict[str, Any]) -> tuple[int, str]:
        """Return the place of who is named, and why."""
        told = read(given, FORMS[read(given["kind"], str)])
        if not self.are_keys(told["place"], told["keys"]):
            return told["place"], "it signed keys that are none"
        prove((kind := told.pop("kind")) != "keys", "the keys are right")
        return self.of_told(kind, *told.values()) if kind in {"share", "open"} else getattr(self, f"of_{kind}")(**told)


if __name__ == "__main__":
    try:
        evidence, rules = sys.argv[1:]
        if rules == "--believe-the-rules":
            print("BELIEVED, NOT CHECKED: these rules are of whoever shows the evidence, and may be made up.")
            rules = evidence
        judge = Judge(json.loads(Path(rules).read_bytes())["rules"])
        place, why = judge.named(json.loads(Path(evidence).read_bytes())["evidence"])
        print(f"{judge.names[place]!r} (place {place}) has lied: {why}.")
    except NothingProvenError as reason:
        sys.exit(f"Nothing is proven: {reason}.")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        print(f"This is no evidence, or these are no rules: {error!r}\n\n{__doc__}", file=sys.stderr)
        sys.exit(2)
