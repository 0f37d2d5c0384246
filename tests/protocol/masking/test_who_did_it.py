"""Who lies in a masked phase is named, or out at least; everybody else stays, and the sum is exact."""

import random
from collections.abc import Mapping, Sequence

import pytest
from liars import (
    ACCUSERS,
    ALONE,
    DEALERS,
    KEYS,
    PAIRS,
    TELLERS,
    UNSIGNED,
    AnotherG,
    BoxThatDoesNotOpen,
    Conspirator,
    ConspiratorWhoOpensNothing,
    ConspiringAboutItsKey,
    ConspiringDealer,
    Draft,
    FalseAccuser,
    LyingDealer,
    SilentAccuser,
    TellerOfAnotherShare,
    UnsignedConfirmation,
    UnsignedShares,
    hold,
    with_liars,
)
from masking_dealer import PRIMITIVES, Dealer, check_of, keys_of, total_of_rows
from psephos.protocol import LocalProtocolError, QuorumError, RemoteProtocolError
from psephos.protocol.masking import (
    Circle,
    Deal,
    Evidence,
    Excluded,
    MaskingMove,
    MaskingParty,
    MaskingState,
    Survivors,
    deals,
    graph,
    server,
    verdict,
)
from psephos.protocol.masking.evidence import NoSecret, WrongBox, WrongDeal, WrongKeys, WrongOpening, WrongShare
from psephos.protocol.masking.scalars import _test_of, is_of_one_polynomial  # pyright: ignore[reportPrivateUsage]  as a liar would
from thoroughness import draws

NUMBER = 10
ROWS = [[3**place, -place] for place in range(NUMBER)]
KIND_OF: Mapping[type[MaskingParty], type[Evidence]] = {
    **dict.fromkeys(KEYS, WrongKeys),
    **dict.fromkeys(DEALERS[:6], WrongBox),
    **dict.fromkeys(DEALERS[6:], WrongDeal),
    **dict.fromkeys(ACCUSERS, WrongBox),
    **dict.fromkeys(TELLERS, WrongShare),
}
"""What proves each lie."""


@pytest.fixture(params=["complete", "circle"])
def dealer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Dealer:
    """Ten parties, of whom three may leave or lie: each with each, or with six others, of whom three tell a secret."""
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", NUMBER)
    return Dealer(NUMBER, 7, circle=Circle(NUMBER, 3, 6, b"public") if request.param == "circle" else None)


def check(dealer: Dealer, liars: Sequence[int], *, out: Sequence[int], lost: Sequence[int] = ()) -> None:
    """Check that nobody but liars is out, and that the sum is that of all but those who were out before their rows."""
    assert {*range(NUMBER)} - dealer.server.parties == {*out}
    assert {*range(NUMBER)} - {*dealer.server.survivors} == {*lost}
    assert dealer.server.total == total_of_rows(ROWS, dealer.server.survivors)
    for place, party in enumerate(dealer.parties):
        assert place in liars or party.state in {MaskingState.UNMASKED, MaskingState.OPENED}


@pytest.mark.parametrize("kind", ALONE, ids=lambda kind: kind.__name__)
def test_who_lies_alone_is_named_and_all_others_stay(kind: type[MaskingParty], dealer: Dealer) -> None:
    named = hold(with_liars(dealer, {1: kind}), ROWS, liars=[1])
    assert {place: [*map(type, evidence)] for place, evidence in named.items()} == {1: [KIND_OF[kind]]}
    check(dealer, [1], out=[1], lost=[] if kind in TELLERS else [1])


class KnowsTheTest(LyingDealer):
    """Changes two values of h so that they pass a test by the word that a seed expands to."""

    seed: bytes

    def change(self, draft: Draft) -> None:
        place = {number: holder for holder, number in draft.numbers.items()}
        numbers = tuple(sorted(place))
        word = _test_of(numbers, self._rules.needed, self.seed)
        one, other = len(numbers) - 2, len(numbers) - 1  # none by which h(0) is found
        draft.in_h[place[numbers[one]]][2] += word[other]
        draft.in_h[place[numbers[other]]][2] -= word[one]


def test_no_dealer_knows_beforehand_by_what_its_deal_is_tested(dealer: Dealer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the server's seed nor a verdict's is one that an honest deal, or the same lie before, was tested by."""
    seeds: set[bytes] = set()

    def watched(values: Mapping[int, int], needed: int, *, seed: bytes) -> bool:
        seeds.add(seed)
        return is_of_one_polynomial(values, needed, seed=seed)

    monkeypatch.setattr(deals, "is_of_one_polynomial", watched)
    honest = Dealer(NUMBER, 7, circle=dealer.rules.circle)
    honest.run(ROWS)
    place, keys = 1, {other: keys_of(honest, other) for other in range(NUMBER)}
    deal = honest.said[place, MaskingMove.SHARES]
    assert isinstance(deal, Deal)
    holders = tuple((piece.place, keys[piece.place]) for piece in deal.pieces)
    told = WrongDeal(place=place, keys=keys[place], check=check_of(honest, place), deal=deal, holders=holders)
    assert verdict(honest.rules, told, PRIMITIVES) is None

    def lie(seed: bytes) -> None:
        lying = Dealer(NUMBER, 7, circle=dealer.rules.circle)
        named = hold(with_liars(lying, {place: type("Knows", (KnowsTheTest,), {"seed": seed})}), ROWS, liars=[place])
        assert [*map(type, named[place])] == [WrongDeal]

    lie(bytes(32))  # by which its alpha, and all else but h, is known as well
    for seed in (*sorted(seeds), honest.rules.digest):
        lie(seed)


@pytest.mark.parametrize("kind", TELLERS, ids=lambda kind: kind.__name__)
def test_who_tells_wrong_shares_that_nobody_needs_is_named(kind: type[MaskingParty], dealer: Dealer) -> None:
    last = NUMBER - 1  # on the complete graph no secret needs its share
    named = hold(with_liars(dealer, {last: kind}), ROWS, liars=[last])
    assert {place: [*map(type, evidence)] for place, evidence in named.items()} == {last: [WrongShare]}
    check(dealer, [last], out=[last])


@pytest.mark.parametrize("kind", [*UNSIGNED, SilentAccuser], ids=lambda kind: kind.__name__)
def test_who_signs_nothing_or_is_silent_is_out_and_not_named(kind: type[MaskingParty], dealer: Dealer) -> None:
    assert not hold(with_liars(dealer, {1: kind}), ROWS, liars=[1])
    check(dealer, [1], out=[1], lost=[] if kind in {UnsignedConfirmation, UnsignedShares} else [1])


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "".join(kind.__name__ for kind in pair))
def test_a_dealer_and_a_holder_together_are_named_and_what_they_hid_opens(
    pair: tuple[type[MaskingParty], type[MaskingParty]], dealer: Dealer
) -> None:
    """A secret is needed where the dealer stays; its key, where it leaves after it has dealt."""
    holder = dealer.rules.graph.neighbors_of(1)[0]
    while dealer.rules.graph.number_of(1, holder) > 3:  # whose share is needed
        holder = dealer.rules.graph.neighbors_of(1)[dealer.rules.graph.neighbors_of(1).index(holder) + 1]
    leaves = {1: MaskingMove.MASKED} if pair[0] is ConspiringAboutItsKey else {}
    named = hold(with_liars(dealer, {1: pair[0], holder: pair[1]}), ROWS, liars=[1, holder], leaves=leaves)
    kinds = {place: [*map(type, evidence)] for place, evidence in named.items()}
    if pair[1] is ConspiratorWhoOpensNothing:
        assert kinds == {1: [NoSecret]}
    elif pair[0] in {ConspiringDealer, ConspiringAboutItsKey}:
        assert kinds == {1: [NoSecret], holder: [WrongOpening]}
    else:  # what is told is no scalar, whatever its leaf is of
        assert kinds == {holder: [WrongShare]}
    out = {*named, holder, *leaves}
    check(dealer, [1, holder], out=[*out], lost=[*leaves])


def test_a_liar_is_named_once_whoever_proves_it() -> None:
    class AllBoxes(BoxThatDoesNotOpen):
        num_victims = NUMBER

    dealer = Dealer(NUMBER, 7)
    named = hold(with_liars(dealer, {1: AllBoxes, 4: TellerOfAnotherShare}), ROWS, liars=[1, 4])
    assert {place: len(evidence) for place, evidence in named.items()} == {1: 1, 4: 1}
    check(dealer, [1, 4], out=[1, 4], lost=[1])


@pytest.mark.parametrize("more", [[], [9]])
def test_liars_and_leavers_count_together_and_with_one_more_than_may_leave_nothing_opens(more: list[int]) -> None:
    dealer = Dealer(NUMBER, 7)
    kinds = {1: BoxThatDoesNotOpen, 4: FalseAccuser}
    leaves = dict.fromkeys([8, *more], MaskingMove.UNMASK)
    if more:
        with pytest.raises(QuorumError, match=r"'votes, unmask' closed with 6 of the 7 parties"):
            hold(with_liars(dealer, kinds), ROWS, liars=kinds, leaves=leaves)
    else:
        hold(with_liars(dealer, kinds), ROWS, liars=kinds, leaves=leaves)
        check(dealer, [1, 4, 8], out=[1, 4, 8], lost=[1, 4])
    assert {place for place, _ in dealer.server.named} == kinds.keys()


def test_where_more_deals_are_wrong_than_parties_may_lie_nobody_honest_hears_of_too_few_boxes() -> None:
    """The server knows before it tells: who heard of too few would take the server for a liar, and never come back."""
    dealer = Dealer(NUMBER, 7)
    liars = dict.fromkeys(range(4), AnotherG)
    with pytest.raises(QuorumError, match=r"'votes, shares' closed with 6 of the 7 parties .* missing: p0, p1, p2, p3"):
        hold(with_liars(dealer, liars), ROWS, liars=liars)
    assert {party.state for party in dealer.parties} == {MaskingState.SHARED}


def test_where_wrong_shares_leave_too_few_right_ones_nothing_opens_and_their_tellers_are_named() -> None:
    dealer = Dealer(NUMBER, 7)
    liars = dict.fromkeys(range(4), TellerOfAnotherShare)
    with pytest.raises(QuorumError, match=r"closed with 6 of the 7 parties .* missing: p0, p1, p2, p3"):
        hold(with_liars(dealer, liars), ROWS, liars=liars)
    assert {place for place, _ in dealer.server.named} == liars.keys()
    with pytest.raises(LocalProtocolError, match="nothing is opened before"):
        _ = dealer.server.total


def test_more_dealers_that_lied_than_a_question_has_room_for_open_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named, and the session ends by a sentence."""
    monkeypatch.setattr(server, "_MOST_EVIDENCE", 500)
    dealer = Dealer(NUMBER, 7)
    with pytest.raises(RemoteProtocolError, match="1 parties have dealt shares of no secret: more than a question has"):
        hold(with_liars(dealer, {1: ConspiringDealer, 0: Conspirator}), ROWS, liars=[0, 1])
    assert [place for place, _ in dealer.server.named] == [1]
    assert dealer.server.step is None


def test_after_unmasking_a_party_says_nothing_of_the_same_values_again() -> None:
    """Without the liar two sums of the same rows would tell whoever left in between."""
    dealer = Dealer(NUMBER, 7)
    named = hold(with_liars(dealer, {1: ConspiringDealer, 0: Conspirator}), ROWS, liars=[0, 1])
    assert named.keys() == {0, 1}
    for place, party in enumerate(dealer.parties):
        if place > 1:
            for again in (
                party.keys,
                lambda party=party: party.mask(Excluded((1,)), [1, 2]),
                lambda party=party: party.confirm(Survivors((0, *range(2, NUMBER)))),
            ):
                with pytest.raises(LocalProtocolError, match="cannot follow 'opened'"):
                    again()


def test_whatever_two_liars_do_nobody_honest_is_named_or_out_and_no_sum_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Liars, lies, who leaves, and the order of answers are drawn; half of the phases are on circles."""
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 9)
    draw = random.Random(55)
    kinds = [*ALONE, *UNSIGNED, SilentAccuser, *(kind for pair in PAIRS for kind in pair)]
    num_named = 0
    for number in range(draws(20, full=2_000)):
        size = draw.randrange(9, 12)
        is_sparse = number % 2 == 0
        circle = Circle(size, 3, 6, draw.randbytes(8)) if is_sparse else None
        dealer = Dealer(size, size - 3, circle=circle, session=f"session {number}")
        first, second, gone = draw.sample(range(size), 3)
        lies = draw.choice(PAIRS) if draw.random() < 0.3 else (draw.choice(kinds), draw.choice(kinds))
        liars = dict(zip((first, second), lies, strict=True))
        leaves = {gone: draw.choice([*MaskingMove][:8])} if draw.random() < 0.3 and not is_sparse else {}
        rows = [[draw.randrange(-(2**63), 2**63), place] for place in range(size)]
        named = hold(with_liars(dealer, liars), rows, liars=liars, leaves=leaves, order=draw)
        about = f"session {number}, liars {liars}, leaves {leaves}"
        assert named.keys() <= liars.keys(), about
        assert {*range(size)} - dealer.server.parties <= {*liars, *leaves}, about
        assert {*range(size)} - {*dealer.server.survivors} <= {*liars, *leaves}, about
        assert dealer.server.total == total_of_rows(rows, dealer.server.survivors), about
        num_named += len(named)
    assert num_named > draws(20, full=2_000)
