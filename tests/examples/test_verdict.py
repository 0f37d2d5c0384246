"""A verdict by `examples/verdict.py`, which has nothing of Psephos, is the verdict of `psephos.protocol.masking`."""

import base64
import contextlib
import copy
import json
import random
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import pytest
from masking_dealer import PRIMITIVES, Dealer, check_of, keys_of, total_of_rows
from psephos.protocol import RemoteProtocolError
from psephos.protocol.masking import (
    Check,
    Circle,
    Confirmations,
    Deal,
    Evidence,
    HeldBox,
    Keys,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    Opening,
    PartyMessage,
    Piece,
    Shares,
    graph,
    verdict,
)
from psephos.protocol.masking.deals import (
    KnownDeal,
    alpha_of,
    combined_of,
    deal_digest,
    entry_digest,
    hash_parts,
    held_digest,
    held_entry,
    key_of_box,
    leaves_of,
)
from psephos.protocol.masking.evidence import NoSecret, WrongBox, WrongDeal, WrongKeys, WrongOpening, WrongShare
from psephos.protocol.masking.scalars import ORDER, encode_scalar, values_at
from psephos.protocol.masking.steps import Claim, Dispute
from thoroughness import draws

ROOT: Final = Path(__file__).parents[2]
SCRIPT: Final = ROOT / "examples" / "verdict.py"
VERIFIER: Final[dict[str, Any]] = runpy.run_path(str(SCRIPT))
VECTORS: Final = sorted((ROOT / "tests" / "vectors").glob("*/*.json"))
OF_ORDER_2: Final = (2**255 - 20).to_bytes(32, "little")
FIVE: Final = encode_scalar(5)
NUMBER, THRESHOLD = 6, 4


class Liar(MaskingParty):
    """A party that follows the protocol but for `lies`, by name, to a `victim`, or with one who is in league."""

    lies: Mapping[str, Any] = {}
    victim = 1

    def _lie(self, name: str, told: Any) -> Any:
        return self.lies[name](told) if name in self.lies else told

    def _own_keys(self) -> Keys:
        told = self._lie("keys", super()._own_keys())
        return msgspec.structs.replace(told, signature=self._sign(self._rules.keys_statement(self._place, told)))

    def _deal(self) -> Deal:
        rules, own, keys = self._rules, self._place, {**self._peer_keys, self._place: self._keys}
        terms = [self._scalars(f"{name} of a lie", rules.needed + self.lies.get("more", 0)) for name in "fgr"]
        terms[0][-1] = self._key_terms[-1] + self.lies.get("other key", 0)
        terms[1][-1] = self._seed_terms[-1]
        numbers = [rules.graph.number_of(own, holder) for holder in sorted(keys)]
        values = dict(zip(sorted(keys), values_at(numbers, terms), strict=True))
        points = [PRIMITIVES.base(encode_scalar(each[-1] % ORDER)) for each in (terms[2], terms[1])]
        blinding, seed = self._lie("points", points)
        told = {holder: self._content("leaves", holder, each) for holder, each in values.items()}
        leaves = {holder: leaves_of(rules, own, holder, content) for holder, content in told.items()}
        alpha = alpha_of(rules, own, self._keys, blinding=blinding, seed=seed, leaves=leaves.values())
        self._dealt_values[own] = told[own]
        boxes = {own: b""}
        for holder, secret in self._box_secrets.items():
            key = key_of_box(rules, (own, holder), secret, alpha=alpha, primitives=PRIMITIVES)
            boxes[holder] = PRIMITIVES.seal(
                key, self._content("box", holder, values[holder]), rules.domain("box", own, holder)
            )
        pieces = [Piece(j, leaves[j], combined_of(values[j], alpha), boxes[j]) for j in sorted(keys)]
        pieces = [self._lie("piece", piece) if piece.place == self.victim else piece for piece in pieces]
        return Deal(blinding, seed, tuple(self._lie("pieces", pieces)))

    def _content(self, name: str, holder: int, values: tuple[int, ...]) -> bytes:
        told = self._lie(name, values) if holder == self.victim else values
        return b"".join(own.to_bytes(32, "little") for own in told)

    def _take_box(self, held_box: HeldBox) -> None:
        super()._take_box(held_box)
        if held_box.place == self.victim and "doubts" in self.lies:
            del self._dealt_values[held_box.place], self._entries[held_box.place]
        if held_box.place == self.victim and "takes" in self.lies:  # what does not fit, from who is in league
            secret, pair = self._box_secrets[held_box.place], (held_box.place, self._place)
            key = key_of_box(self._rules, pair, secret, alpha=held_box.alpha, primitives=PRIMITIVES)
            self._dealt_values[held_box.place] = PRIMITIVES.open(key, held_box.box, self._rules.domain("box", *pair))
            self._entries[held_box.place] = self.lies["takes"](self._place), held_box.alpha

    def _claim(self, dispute: Dispute, nonce: int) -> Claim:
        told, entry = self._lie("claim", super()._claim(dispute, nonce)), entry_digest(self._keys, dispute.entry)
        about = self._rules.claim_statement(self._place, self._keys, told, deal=dispute.check.deal, entry=entry)
        return msgspec.structs.replace(told, signature=self._sign(about))

    def unmask(self, request: Confirmations) -> Shares:
        shares = super().unmask(request).shares
        told = Shares(
            tuple((j, of, self._lie("share", own) if j == self.victim else own) for j, of, own in shares), b""
        )
        about = self._rules.shares_statement(self._place, self._keys, told, held_digest=self._held_digest)
        return msgspec.structs.replace(told, signature=self._sign(about))


def changed(data: bytes, at: int = 0) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def plus_one(*of: int) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    return lambda values: tuple((own + (place in of)) % ORDER for place, own in enumerate(values))


def too_large(of: int) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    return lambda values: tuple(own + ORDER * (place == of) for place, own in enumerate(values))


def with_torsion(point: bytes) -> bytes:
    return PRIMITIVES.plus(point, OF_ORDER_2)


def replaced(**fields: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda told: msgspec.structs.replace(
        told, **{name: own(getattr(told, name)) for name, own in fields.items()}
    )


LIES: Final[dict[str, dict[str, Callable[[Any], Any] | int]]] = {
    "equal keys": {"keys": lambda keys: Keys(keys.of_boxes, keys.of_boxes, b"")},
    "a key outside the group": {"keys": replaced(of_boxes=with_torsion)},
    "a key of masks that is no point": {"keys": replaced(of_masks=lambda _: (2).to_bytes(32, "little"))},
    "a coefficient too many": {"more": 1},
    "the shares of another key": {"other key": 1},
    "another R": {"points": lambda points: [PRIMITIVES.base(FIVE), points[1]]},
    "an R outside the group": {"points": lambda points: [with_torsion(points[0]), points[1]]},
    "no R": {"points": lambda points: [(1).to_bytes(32, "little"), points[1]]},
    "another G": {"points": lambda points: [points[0], PRIMITIVES.base(FIVE)]},
    "a G outside the group": {"points": lambda points: [points[0], with_torsion(points[1])]},
    "another h": {"piece": replaced(combined=changed)},
    "an h that is no scalar": {"piece": replaced(combined=lambda _: b"\xff" * 32)},
    "an h of zeros": {"pieces": lambda told: [msgspec.structs.replace(each, combined=bytes(32)) for each in told]},
    "a box that does not open": {"piece": replaced(box=changed)},
    "a box of another share": {"box": plus_one(0)},
    "a box of another blinding": {"box": plus_one(2)},
    "a box of no scalar": {"box": too_large(0), "leaves": too_large(0)},
    "leaves of another share": {"leaves": plus_one(1)},
    "a false accusation": {"doubts": True},
    "an accusation with another point": {"doubts": True, "claim": replaced(shared=lambda _: PRIMITIVES.base(FIVE))},
    "an accusation with a point outside the group": {"doubts": True, "claim": replaced(shared=with_torsion)},
    "an accusation with another proof": {"doubts": True, "claim": replaced(response=changed)},
    "an accusation with a response of 0": {"doubts": True, "claim": replaced(response=lambda _: bytes(32))},
    "an accusation with a challenge of 0": {"doubts": True, "claim": replaced(challenge=lambda _: bytes(32))},
    "another share": {"share": changed},
    "a share that is no scalar": {"share": lambda _: b"\xff" * 32},
}  # fmt: skip
"""What one party does, alone: each is named for it."""


Document = dict[str, Any]
"""Evidence as a server keeps it, beside its rules."""


class Session(Dealer):
    """Six parties, of whom some lie, on the complete graph or a circle."""

    def __init__(self, *, is_circle: bool) -> None:
        circle = Circle(NUMBER, 3, 4, b"public") if is_circle else None
        super().__init__(NUMBER, THRESHOLD, circle=circle, width=1)

    def first(self, one: int, *, is_dealer: bool) -> int:
        """Return a neighbor with, or as, a holder whose share is among those that are put together first."""
        number_of, near = self.rules.graph.number_of, self.rules.graph.neighbors_of(one)
        return min(near, key=lambda other: number_of(one, other) if is_dealer else number_of(other, one))

    def let_lie(self, place: int, lies: Mapping[str, Any], victim: int) -> None:
        self.parties[place] = self.party(place, type("Told", (Liar,), {"lies": lies, "victim": victim}))

    def say(self, place: int, move: MaskingMove, said: PartyMessage) -> None:
        with contextlib.suppress(RemoteProtocolError):  # the server puts it out
            super().say(place, move, said)

    def documents(self) -> list[Document]:
        """Return what proves of whom that it lies, when all has been played, and the sum is right."""
        rows = [[1 << place] for place in range(NUMBER)]
        assert self.run(rows) == total_of_rows(rows, self.server.survivors)
        return [self.document(evidence) for _, evidence in self.server.named]

    def document(self, evidence: Evidence) -> Document:
        return json.loads(msgspec.json.encode({"rules": self.rules.describe(), "evidence": evidence}))

    def ours(self, document: Document) -> int | None:
        try:
            evidence = msgspec.convert(document["evidence"], Evidence)
        except msgspec.ValidationError:
            return None
        return verdict(self.rules, evidence, PRIMITIVES)

    def theirs(self, document: Document) -> int | None:
        try:
            place, _ = VERIFIER["Judge"](document["rules"]).named(document["evidence"])
        except (VERIFIER["NothingProvenError"], ValueError):
            return None
        return place


def lone_lie(lies: Mapping[str, Any], *, is_circle: bool) -> tuple[Session, Document]:
    session = Session(is_circle=is_circle)
    session.let_lie(0, lies, session.first(0, is_dealer=False))
    (document,) = session.documents()
    return session, document


def league(lies: Mapping[str, Any], *, is_circle: bool) -> tuple[Session, int, list[Document]]:
    """Return what proves that party 0 deals something wrong to a holder who says that it is right, and the holder."""
    session = Session(is_circle=is_circle)
    holder = session.first(0, is_dealer=True)
    session.let_lie(0, lies, holder)

    def entry_of(own: int) -> bytes:
        """Return an entry that the server holds, which who is in league knows."""
        return session.server._deals[0].entries[own]  # pyright: ignore[reportPrivateUsage]  which no message tells

    session.let_lie(holder, {"takes": entry_of}, 0)
    return session, holder, session.documents()


@pytest.fixture(autouse=True)
def small_circles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", NUMBER)


@pytest.mark.few(most=8)
@pytest.mark.parametrize("is_circle", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_both_name_whoever_lies_alone(lie: str, *, is_circle: bool) -> None:
    session, document = lone_lie(LIES[lie], is_circle=is_circle)
    assert (session.ours(document), session.theirs(document)) == (0, 0)


@pytest.mark.parametrize("is_circle", [False, True])
def test_both_name_two_who_are_in_league(*, is_circle: bool) -> None:
    session, holder, documents = league({"leaves": plus_one(1), "box": plus_one(1)}, is_circle=is_circle)
    assert [document["evidence"]["kind"] for document in documents] == ["apart", "open"]
    assert [*map(session.ours, documents)] == [*map(session.theirs, documents)] == [0, holder]


def test_both_name_a_holder_who_acknowledged_a_leaf_of_no_scalar() -> None:
    """No dealer is proven to lie by it: the others' shares tell its secret."""
    session, holder, documents = league({"leaves": too_large(1), "box": too_large(1)}, is_circle=False)
    assert [document["evidence"]["kind"] for document in documents] == ["share"]
    assert [*map(session.ours, documents)] == [*map(session.theirs, documents)] == [holder]


def of_the_honest(session: Session) -> list[Evidence]:
    """Return evidence against party 0, made of what it has said in a session of nobody who lies."""
    session.documents()
    server, near = session.server, session.first(0, is_dealer=True)
    keys, check = keys_of(session, 0), check_of(session, 0)
    own: dict[str, Any] = {"place": 0, "keys": keys, "check": check}
    deal = server._deals[0]  # pyright: ignore[reportPrivateUsage]  as a server puts evidence together of it
    holders = tuple((place, keys_of(session, place)) for place in deal.pieces)
    shares = [(holder, own) for holder, said in shares_of(session) for dealer, _, own in said.shares if dealer == 0]
    acknowledged = server._acknowledged(0, near)  # pyright: ignore[reportPrivateUsage]  likewise
    entry = server._entry(0, near)  # pyright: ignore[reportPrivateUsage]  likewise
    held = session.parties[0]._dealt_values[near]  # pyright: ignore[reportPrivateUsage]  what a party never tells
    path, holder_keys = deal.path_to(near), keys_of(session, near)
    claim = Claim(0, PRIMITIVES.base(encode_scalar(3)), bytes(32), bytes(32), bytes(64))
    return [
        WrongKeys(place=0, keys=keys),
        WrongDeal(**own, deal=deal.deal, holders=holders),
        NoSecret(
            **own,
            blinding=deal.deal.blinding,
            seed=deal.deal.seed,
            leaves=tuple((place, piece.leaves) for place, piece in deal.pieces.items()),
            chunks=deal.chunks,
            is_of_seed=True,
            shares=tuple(shares),
        ),
        WrongBox(**own, path=path, entry=entry, holder=near, holder_keys=holder_keys, claim=claim),
        WrongShare(**acknowledged, shares=dict(shares_of(session))[0]),
        WrongOpening(**acknowledged, opening=Opening(((near, held),), bytes(64))),
    ]


def shares_of(session: Session) -> list[tuple[int, Shares]]:
    return [(place, said) for (place, _), said in session.said.items() if isinstance(said, Shares)]


def signed(session: Session, evidence: Evidence) -> Evidence:
    """Return evidence with all signatures and digests as who has lied would make them, for whatever else it holds."""
    rules, keys = session.rules, signed_keys(session, evidence.place, evidence.keys)
    evidence = msgspec.structs.replace(evidence, keys=keys)
    match evidence:
        case WrongKeys():
            return evidence
        case WrongDeal(place=place, deal=deal):
            holders = {**dict(evidence.holders), place: keys}
            if not {piece.place for piece in deal.pieces} <= holders.keys():
                return evidence
            digest = KnownDeal(rules, place, holders, deal).digest
            check = checked(session, evidence, deal=digest)
            return msgspec.structs.replace(evidence, check=check, holders=tuple(holders.items()))
        case NoSecret(place=place, blinding=blinding, seed=seed):
            points = {"blinding": blinding, "seed": seed}
            alpha = alpha_of(rules, place, keys, **points, leaves=(own for _, own in evidence.leaves))
            digest = deal_digest(rules, place, keys, **points, alpha=alpha, chunks=evidence.chunks)
            return msgspec.structs.replace(evidence, check=checked(session, evidence, deal=digest))
        case WrongBox(place=place, holder=holder, path=path, claim=claim):
            if not 0 <= holder < NUMBER:
                return evidence
            own = signed_keys(session, holder, evidence.holder_keys)
            entry = entry_digest(own, evidence.entry)
            chunk = tuple((each, entry if each == holder else told) for each, told in path.chunk)
            told = hash_parts(*(each.to_bytes(4, "big") + told for each, told in chunk))
            path = msgspec.structs.replace(path, chunk=chunk, chunks=(told, *path.chunks[1:]))
            points = {"blinding": path.blinding, "seed": path.seed}
            digest = deal_digest(rules, place, keys, **points, alpha=path.alpha, chunks=path.chunks)
            about = rules.claim_statement(holder, own, claim, deal=digest, entry=entry)
            claim = msgspec.structs.replace(claim, signature=session.signers[holder](about))
            check = checked(session, evidence, deal=digest)
            return msgspec.structs.replace(evidence, check=check, path=path, holder_keys=own, claim=claim)
        case WrongShare(place=place, dealer=dealer) | WrongOpening(place=place, dealer=dealer):
            entry = entry_digest(keys, evidence.entry)
            held = tuple((each, entry if each == dealer else told, alpha) for each, told, alpha in evidence.held)
            check = checked(session, evidence, held=held_digest(rules, place, (held_entry(*own) for own in held)))
            evidence = msgspec.structs.replace(evidence, check=check, held=held)
            name, about = (
                ("shares", rules.shares_statement)
                if isinstance(evidence, WrongShare)
                else ("opening", rules.opening_statement)
            )
            said = getattr(evidence, name)
            signature = session.signers[place](about(place, keys, said, held_digest=check.held))
            return msgspec.structs.replace(evidence, **{name: msgspec.structs.replace(said, signature=signature)})


def signed_keys(session: Session, place: int, keys: Keys) -> Keys:
    return msgspec.structs.replace(keys, signature=session.signers[place](session.rules.keys_statement(place, keys)))


def checked(session: Session, evidence: Any, **digests: bytes) -> Check:
    check = msgspec.structs.replace(evidence.check, **digests)
    about = session.rules.check_statement(evidence.place, evidence.keys, check)
    return msgspec.structs.replace(check, signature=session.signers[evidence.place](about))


@pytest.mark.parametrize("is_circle", [False, True])
def test_neither_names_the_honest(*, is_circle: bool) -> None:
    session = Session(is_circle=is_circle)
    for evidence in of_the_honest(session):
        assert verdict(session.rules, evidence, PRIMITIVES) is None
        assert session.theirs(session.document(evidence)) is None


def change_one(document: Any, draw: random.Random) -> None:
    """Change one thing: a bit of some bytes, a number, a list's length or order."""
    places = [*_places_in(document["evidence"])]
    of, at = draw.choice(places)
    own = of[at]
    match own:
        case bool():
            of[at] = not own
        case int():
            of[at] = draw.choice([own + 1, max(own - 1, 0), draw.randrange(NUMBER), 2**31 - 1])
        case str() if at != "kind":
            data = bytearray(base64.b64decode(own))
            if data:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            of[at] = base64.b64encode(
                draw.choice([bytes(data), bytes(data), bytes(len(data)), bytes(data[:-1])])
            ).decode()
        case [*_] if own:
            parts: list[Any] = of[at]
            draw.choice([parts.pop, parts.reverse, lambda: parts.append(copy.deepcopy(draw.choice(parts)))])()
        case _:
            pass


def _places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    for at in cast("Document", value) if isinstance(value, dict) else range(len(value)):
        yield value, at
        if isinstance(value[at], dict | list):
            yield from _places_in(value[at])


@pytest.mark.parametrize("is_circle", [False, True])
def test_both_say_the_same_of_changed_evidence(*, is_circle: bool) -> None:
    """Half of it is signed again, as who lies might have said it."""
    session, *_, two = league({"leaves": plus_one(1), "box": plus_one(1)}, is_circle=is_circle)
    names = ["equal keys", "another h", "a box of another share", "a false accusation", "another share"]
    lone = [lone_lie(LIES[name], is_circle=is_circle)[1] for name in names]
    right = [*map(session.document, of_the_honest(Session(is_circle=is_circle)))]
    draw = random.Random(1)
    outcomes: list[int | None] = []
    for _ in range(draws(150, full=2_000)):
        document = copy.deepcopy(draw.choice([*two, *lone, *right]))
        for _ in range(draw.choice([1, 1, 2])):
            change_one(document, draw)
        if draw.random() < 0.7:
            try:
                evidence = msgspec.convert(document["evidence"], Evidence)
            except msgspec.ValidationError:
                pass
            else:
                if evidence.place < NUMBER:
                    document = session.document(signed(session, evidence))
        outcomes.append(session.ours(document))
        assert session.theirs(document) == outcomes[-1], document
    assert len({*outcomes}) >= 3  # nobody, and more than one


def test_rules_of_others_prove_nothing() -> None:
    """So does evidence under rules that differ in a single thing, all of which are agreed to."""
    session, document = lone_lie(LIES["another h"], is_circle=False)
    for name, other in [("session", "t"), ("phase", "p"), ("colluders", 1), ("width", 2), ("agreed", "AA==")]:
        assert session.theirs({**document, "rules": {**document["rules"], name: other}}) is None
    fewer = {**document["rules"], "threshold": THRESHOLD + 1}
    assert session.theirs({**document, "rules": fewer}) is None
    assert session.theirs({**document, "rules": {**fewer, "needed": THRESHOLD + 1}}) is None


def run_script(*words: str) -> tuple[int, str, str]:
    ended = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)  # noqa: S603  our own
    return ended.returncode, ended.stdout, ended.stderr


def test_the_script_says_whom_or_nobody(tmp_path: Path) -> None:
    session, document = lone_lie(LIES["another h"], is_circle=False)
    evidence, rules, right = (tmp_path / name for name in ("evidence.json", "rules.json", "right.json"))
    evidence.write_text(json.dumps(document), encoding="utf-8")
    rules.write_text(json.dumps({"rules": document["rules"]}), encoding="utf-8")
    right.write_text(json.dumps(session.document(of_the_honest(Session(is_circle=False))[0])), encoding="utf-8")
    named = "'p0' (place 0) has lied: it signed a deal that is not right.\n"
    assert run_script(str(evidence), str(rules)) == (0, named, "")
    status, said, _ = run_script(str(evidence), "--believe-the-rules")
    assert (status, said.splitlines()[0][:21], said.splitlines(keepends=True)[1]) == (
        0,
        "BELIEVED, NOT CHECKED",
        named,
    )
    assert run_script(str(right), str(rules)) == (1, "", "Nothing is proven: the keys are right.\n")
    for words in ([], [str(evidence)], [str(tmp_path / "none"), str(rules)], [str(rules), str(rules)]):
        status, said, complaint = run_script(*words)
        assert (status, said) == (2, "")
        assert complaint.startswith("This is no evidence, or these are no rules: ")


def documents_in(value: Any) -> Iterator[Document]:
    """Yield each object that has both rules and evidence."""
    named = cast("Document", value) if isinstance(value, dict) else {}
    if {"rules", "evidence"} <= named.keys():
        yield named
    for own in cast("list[Any]", value) if isinstance(value, list) else named.values():
        yield from documents_in(own)


@pytest.mark.parametrize(
    "vector", [file for file in VECTORS if '"evidence"' in file.read_text("utf-8")], ids=lambda f: f.stem
)
def test_both_say_the_same_of_the_vectors(vector: Path) -> None:
    documents = [*documents_in(json.loads(vector.read_text("utf-8")))]
    assert documents
    for document in documents:
        told = {name: own for name, own in document["rules"].items() if name != "needed"}
        session = Session(is_circle=False)
        session.rules = msgspec.convert(told, MaskingRules)
        assert session.theirs(document) == session.ours(document)
        if "party" in document:
            assert session.ours(document) == session.rules.names.index(document["party"])
