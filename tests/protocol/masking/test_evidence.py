"""Evidence names who has lied, and nobody else: whatever is changed in it, put together of several runs, or made up."""

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
import pytest
from liars import (
    ALONE,
    BoxThatDoesNotOpen,
    Conspirator,
    ConspiringAboutItsKey,
    ConspiringDealer,
    FalseAccuser,
    TellerOfAnotherShare,
    hold,
    with_liars,
)
from masking_dealer import PRIMITIVES, Dealer, check_of, keys_of, secret_of
from psephos.agents.masking import signer_of
from psephos.protocol import RemoteProtocolError
from psephos.protocol.masking import (
    DEEDS,
    Circle,
    Deal,
    Evidence,
    Liars,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    Shares,
    graph,
    verdict,
)
from psephos.protocol.masking.deals import KnownDeal
from psephos.protocol.masking.evidence import NoSecret, WrongBox, WrongDeal, WrongKeys, WrongOpening, WrongShare
from psephos.protocol.masking.steps import Claim, Entry, Opening
from thoroughness import IS_FULL, draws

NUMBER: Final = 6
ROWS: Final = [[3**place, -place] for place in range(NUMBER)]
Kinds = Mapping[int, type[MaskingParty]]
_PLACES: Final = (1, 3) if IS_FULL else (1,)


def run_of(kinds: Kinds, *, leaves: Mapping[int, MaskingMove] | None = None, session: str = "s") -> Dealer:
    """Return a phase of six parties, of whom two may lie, that has been held; all runs are of the same roots."""
    dealer = with_liars(Dealer(NUMBER, 4, session=session), kinds)
    hold(dealer, ROWS, liars=kinds, leaves=leaves)
    return dealer


def of_each_kind() -> Iterator[tuple[Evidence, frozenset[int]]]:
    """Yield evidence of each kind, with who lies in its run."""
    runs: list[tuple[Kinds, Mapping[int, MaskingMove]]] = [({place: kind}, {}) for kind in ALONE for place in _PLACES]
    runs += [({1: ConspiringDealer, 0: Conspirator}, {}), ({2: ConspiringDealer, 3: Conspirator}, {})]
    runs.append(({1: ConspiringAboutItsKey, 0: Conspirator}, {1: MaskingMove.MASKED}))
    for kinds, leaves in runs:
        for place, evidence in run_of(kinds, leaves=leaves).server.named:
            assert verdict(RULES, evidence, PRIMITIVES) == place
            yield evidence, frozenset(kinds)


RULES: Final = Dealer(NUMBER, 4).rules


@pytest.fixture(scope="module")
def proven() -> list[tuple[Evidence, frozenset[int]]]:
    found = [*of_each_kind()]
    assert {type(evidence) for evidence, _ in found} == {*DEEDS}
    return found


# What is changed in evidence, as it travels: decoders are the first to judge.

Path = tuple[Any, ...]


def tree_of(evidence: Evidence) -> Any:
    return msgspec.to_builtins(evidence, builtin_types=(bytes,))


def leaves_in(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield what is at each end of a tree, with how one gets there."""
    if isinstance(tree, dict):
        for name, own in cast("dict[str, Any]", tree).items():
            yield from leaves_in(own, (*path, name))
    elif isinstance(tree, list | tuple):
        for place, own in enumerate(cast("Sequence[Any]", tree)):
            yield from leaves_in(own, (*path, place))
    else:
        yield path, tree


def at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def with_at(tree: Any, path: Path, new: Any) -> Any:
    """Return a tree with something else at a path."""
    if not path:
        return new
    first, *rest = path
    if isinstance(tree, dict):
        named: dict[str, Any] = {**tree, first: with_at(tree[first], tuple(rest), new)}
        return named
    return [*tree[:first], with_at(tree[first], tuple(rest), new), *tree[first + 1 :]]


def tag_of(kind: Any) -> str:
    """Return what a kind of evidence is called where it travels."""
    return kind.__struct_config__.tag


def judged(tree: Any, rules: MaskingRules = RULES) -> int | None:
    """Return whom something names that may be no evidence."""
    try:
        evidence = msgspec.msgpack.decode(msgspec.msgpack.encode(tree), type=Evidence)
    except msgspec.ValidationError:
        return None
    return verdict(rules, evidence, PRIMITIVES)


def other_value(value: Any, draw: random.Random) -> Any:
    """Return something else of the same type, or of another length."""
    if isinstance(value, bytes):
        place = draw.randrange(len(value) + 1)
        flipped = value[:-1] + bytes((value[-1] ^ 1 << draw.randrange(8),)) if value else b"\0"
        return draw.choice((flipped, draw.randbytes(len(value)), value[:place] + b"\0" + value[place:], value[:-1]))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice((value + 1, value - 1, draw.randrange(NUMBER), 2**31 - 1, 2**40))
    return value


def changed(tree: Any, others: list[Any], draw: random.Random) -> Any:
    """Return a tree in which something is another, or is of another one."""
    ends = [*leaves_in(tree)]
    path, value = draw.choice(ends)
    depth = draw.randrange(1, len(path) + 1)
    match draw.randrange(5):
        case 0 | 1:
            return with_at(tree, path, other_value(value, draw))
        case 2:  # a part of another run's
            other = draw.choice(others)
            try:
                return with_at(tree, path[:depth], at(other, path[:depth]))
            except (KeyError, IndexError, TypeError):
                return tree
        case 3:  # two of it change places
            second, theirs = draw.choice(ends)
            return with_at(with_at(tree, path, theirs), second, value) if type(value) is type(theirs) else tree
        case _:  # a byte moves into the next
            of_bytes = [end for end in ends if isinstance(end[1], bytes)]
            place = draw.randrange(len(of_bytes) - 1)
            (first, own), (second, theirs) = of_bytes[place : place + 2]
            number = draw.choice((1, 4, 16, 32))
            return with_at(with_at(tree, first, own[:-number]), second, own[-number:] + theirs)


def test_changed_evidence_names_nobody_else(proven: list[tuple[Evidence, frozenset[int]]]) -> None:
    """A byte, a field, a length, or a part of another run's, once or twice."""
    draw = random.Random(20_000)
    trees = [(tree_of(evidence), lying) for evidence, lying in proven]
    by_kind: dict[str, list[tuple[Any, frozenset[int]]]] = {}
    for tree, lying in trees:
        by_kind.setdefault(tree["kind"], []).append((tree, lying))
    still = 0
    for number in range(draws(300, full=20_000)):
        pool = by_kind[draw.choice([*by_kind])] if number % 2 else trees
        (tree, lying), (other, theirs) = draw.choice(pool), draw.choice(pool)
        for _ in range(draw.choice((1, 1, 2))):
            tree = changed(tree, [other], draw)
        place = judged(tree)
        assert place is None or place in lying | theirs, f"change {number} names {place}: {tree}"
        still += place is not None
    assert still > draws(300, full=20_000) // 50  # some changes change nothing


def against(dealer: Dealer, target: int, other: int) -> Iterator[Evidence]:
    """Yield all that can be put together of a phase against somebody, with the help of another."""
    keys = {place: keys_of(dealer, place) for place in range(NUMBER)}
    deal, check = dealer.said[target, MaskingMove.SHARES], check_of(dealer, target)
    assert isinstance(deal, Deal)
    about: dict[str, Any] = {"place": target, "keys": keys[target], "check": check}
    known = KnownDeal(dealer.rules, target, keys, deal)
    yield WrongKeys(place=target, keys=keys[target])
    yield WrongDeal(**about, deal=deal, holders=tuple(keys.items()))
    shares = {
        place: {own: share for own, _, share in said.shares}
        for (place, move), said in dealer.said.items()
        if move is MaskingMove.UNMASK and isinstance(said, Shares)
    }
    of_target = {holder: own[target] for holder, own in shares.items() if target in own}
    no_secret: dict[str, Any] = {
        **about,
        "blinding": deal.blinding,
        "seed": deal.seed,
        "leaves": tuple((piece.place, piece.leaves) for piece in deal.pieces),
        "chunks": known.chunks,
    }
    for is_of_seed in (True, False):
        for told in (tuple(of_target.items()), tuple(of_target.items())[:3], (*of_target.items(),) * 2):
            yield NoSecret(**no_secret, is_of_seed=is_of_seed, shares=told)
    entries: list[tuple[int, bytes, bytes]] = []
    for dealt in range(NUMBER):
        theirs = dealer.said[dealt, MaskingMove.SHARES]
        assert isinstance(theirs, Deal)
        own = KnownDeal(dealer.rules, dealt, keys, theirs)
        entries.append((dealt, own.entries[target], own.alpha))
    of_other = dealer.said[other, MaskingMove.SHARES]
    assert isinstance(of_other, Deal)
    (piece,) = (each for each in of_other.pieces if each.place == target)
    entry = Entry(piece.leaves, piece.combined, piece.box)
    told_by: dict[str, Any] = {**about, "held": tuple(entries), "dealer": other, "entry": entry}
    unmasked = dealer.said.get((target, MaskingMove.UNMASK))
    if isinstance(unmasked, Shares):
        yield WrongShare(**told_by, shares=unmasked)
    opened = dealer.said.get((target, MaskingMove.OPEN))
    if isinstance(opened, Opening):
        yield WrongOpening(**told_by, opening=opened)
    (theirs,) = (each for each in deal.pieces if each.place == other)
    claims = dealer.said.get((other, MaskingMove.ACCUSE))
    nothing = Claim(target, bytes(32), bytes(32), bytes(32), bytes(64))
    yield WrongBox(
        **about,
        path=known.path_to(other),
        entry=Entry(theirs.leaves, theirs.combined, theirs.box),
        holder=other,
        holder_keys=keys[other],
        claim=nothing if claims is None else claims.claims[0],  # type: ignore[union-attr]  of that step
    )


def test_nothing_that_is_put_together_names_the_honest() -> None:
    """Of runs of the same keys, as of parties that began anew from older journals, and of runs of others."""
    kinds: list[Kinds] = [{}, {1: TellerOfAnotherShare}, {1: ConspiringDealer, 0: Conspirator}, {1: FalseAccuser}]
    runs = [run_of(each) for each in kinds]
    made = [
        (tree_of(evidence), target)
        for lying, dealer in zip(kinds, runs, strict=True)
        for target in range(2, NUMBER)
        for other in {0, *lying}
        if (target, MaskingMove.UNMASK) in dealer.said
        for evidence in against(dealer, target, other)
    ]
    assert len(made) > 100
    assert {tree["kind"] for tree, _ in made} == {*map(tag_of, DEEDS)}
    draw = random.Random(4_914)
    for tree, _ in made:
        assert judged(tree) in {None, 0, 1}
    for number in range(draws(300, full=20_000)):
        tree, target = draw.choice(made)
        others = [other for other, _ in made if other["kind"] == tree["kind"]]
        for _ in range(draw.choice((1, 2))):
            tree = changed(tree, others, draw)
        assert judged(tree) in {None, 0, 1}, f"change {number}, against {target}: {tree}"


# Holes of first versions


def test_bytes_that_move_from_one_field_into_the_next_do_not_make_an_honest_dealer_a_liar() -> None:
    """G with a byte of R is of no seed that shares tell, and all that is digested is the same."""
    dealer = run_of({})
    (evidence,) = [own for own in against(dealer, 2, 0) if isinstance(own, NoSecret) and own.is_of_seed][:1]
    moved = msgspec.structs.replace(
        evidence, blinding=evidence.blinding[:-1], seed=evidence.blinding[-1:] + evidence.seed
    )
    raw = msgspec.msgpack.encode(Liars((moved,)))
    with pytest.raises(msgspec.ValidationError, match="Expected `bytes` of length"):
        msgspec.msgpack.decode(raw, type=Liars)
    assert judged(tree_of(moved)) is None


def test_rules_come_from_what_a_party_agreed_to_and_never_from_evidence() -> None:
    """A server with a roster of its own keys would have all parties tell all shares of an honest one."""
    agreed = run_of({})
    forged = Dealer(NUMBER, 4)
    signers = [signer_of(secret_of("server's key", place)) for place in range(NUMBER)]
    keys = tuple(
        signer.__self__.public_key().public_bytes_raw()  # type: ignore[attr-defined]  a private key's method
        for signer in signers
    )
    forged.rules = dataclasses.replace(forged.rules, keys=keys)
    forged.signers = signers
    forged.parties = [forged.party(place) for place in range(NUMBER)]
    forged.server = type(forged.server)(forged.rules, PRIMITIVES)
    hold(with_liars(forged, {1: ConspiringDealer, 0: Conspirator}), ROWS, liars=[0, 1])
    evidence = dict(forged.server.named)[1]
    assert isinstance(evidence, NoSecret)
    assert verdict(forged.rules, evidence, PRIMITIVES) == 1
    assert verdict(agreed.rules, evidence, PRIMITIVES) is None
    with pytest.raises(RemoteProtocolError, match="it is not proven that 'p1' has lied"):
        agreed.parties[2].open(Liars((evidence,)))


def test_of_several_whose_all_is_to_be_told_each_is_proven_to_have_lied() -> None:
    """Beside one who has lied a server names an honest one, before it or behind it."""
    lied = dict(run_of({1: ConspiringDealer, 0: Conspirator}).server.named)[1]
    assert isinstance(lied, NoSecret)
    assert [place for place, _ in run_of({}).parties[2].open(Liars((lied,))).values] == [1]
    for order in (1, -1):
        dealer = run_of({})
        honest = msgspec.structs.replace(lied, place=4, keys=keys_of(dealer, 4), check=check_of(dealer, 4))
        with pytest.raises(RemoteProtocolError, match="it is not proven that 'p4' has lied"):
            dealer.parties[2].open(Liars((lied, honest)[::order]))


def test_an_honest_deal_is_of_no_too_high_a_degree_for_other_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """One share less is needed by these rules; what was signed is signed for the others."""
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", NUMBER)
    circle = Circle(NUMBER, 3, 4, b"public")
    dealer = Dealer(NUMBER, 4, circle=circle)
    hold(dealer, ROWS, liars=[])
    near = {1, *circle.neighbors_of(1)}
    deal, holders = dealer.said[1, MaskingMove.SHARES], tuple((place, keys_of(dealer, place)) for place in sorted(near))
    assert isinstance(deal, Deal)
    own: dict[str, Any] = {"place": 1, "keys": keys_of(dealer, 1), "check": check_of(dealer, 1)}
    evidence = WrongDeal(**own, deal=deal, holders=holders)
    fewer = dataclasses.replace(dealer.rules, circle=dataclasses.replace(circle, needed=2))
    known = KnownDeal(dealer.rules, 1, dict(holders), deal)
    assert known.is_right(PRIMITIVES, seed=known.digest)
    assert not KnownDeal(fewer, 1, dict(holders), deal).is_right(PRIMITIVES, seed=known.digest)
    for rules in (dealer.rules, fewer):
        assert verdict(rules, evidence, PRIMITIVES) is None


def test_what_an_accuser_signs_covers_all_that_a_verdict_reads() -> None:
    """A holder's claim about one entry of a dealer is none about another, though the proof fits both."""
    (place, evidence), *_ = run_of({1: BoxThatDoesNotOpen}).server.named
    assert isinstance(evidence, WrongBox)
    assert place == 1
    right = run_of({})
    for taken in ("check", "path", "entry"):
        (other,) = [own for own in against(right, 1, evidence.holder) if isinstance(own, WrongBox)]
        mixed = msgspec.structs.replace(evidence, **{taken: getattr(other, taken)})
        assert verdict(RULES, mixed, PRIMITIVES) is None
    all_of_it = {name: getattr(other, name) for name in ("check", "path", "entry")}
    assert verdict(RULES, msgspec.structs.replace(evidence, **all_of_it), PRIMITIVES) is None
