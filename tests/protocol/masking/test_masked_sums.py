"""A dealer plays all parties and the server: the sum is that of the survivors, whoever leaves after whichever step."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from masking_dealer import PRIMITIVES, STEPS, USUAL_STEPS, Dealer, key_of, secret_of, total_of_rows
from psephos.agents.masking import signer_of
from psephos.protocol import ConfigurationError, LocalProtocolError, QuorumError, RemoteProtocolError
from psephos.protocol.masking import (
    MASKING,
    Boxes,
    Circle,
    Confirmations,
    Disputes,
    Excluded,
    Liars,
    MaskingMove,
    MaskingParty,
    MaskingRules,
    MaskingState,
    NeighborKeys,
    Opening,
    Shares,
    Survivors,
    graph,
)
from thoroughness import IS_FULL, draws

ROWS = [[1, -5], [2**62, 7], [2**62, 2**63 - 1], [-(2**63), 40]]


def rules_of(*given: Any, agreed: bytes = bytes(32)) -> MaskingRules:
    return MaskingRules(*given, agreed=agreed)


def survivors_of(number: int, leaves: dict[int, MaskingMove]) -> list[int]:
    late = STEPS.index(MaskingMove.MASKED)
    return [place for place in range(number) if place not in leaves or STEPS.index(leaves[place]) > late]


def test_whoever_leaves_of_four_before_each_step_the_sum_is_that_of_the_survivors() -> None:
    """Three of four are needed."""
    for leaves in [{}, *({place: move} for place in range(4) for move in USUAL_STEPS)]:
        assert Dealer(4, 3).run(ROWS, leaves=leaves) == total_of_rows(ROWS, survivors_of(4, leaves))


def test_where_more_of_four_leave_nothing_opens() -> None:
    """Each of the other 2,376 patterns of four parties and six steps; some of them in a quick run."""
    patterns = [
        {place: move for place, move in enumerate(pattern) if move is not None}
        for pattern in itertools.product([None, *USUAL_STEPS], repeat=4)
    ]
    several = [leaves for leaves in patterns if len(leaves) > 1]
    assert len(several) == 2_376
    for leaves in several if IS_FULL else several[::100]:
        dealer = Dealer(4, 3)
        with pytest.raises(QuorumError) as caught:
            dealer.run(ROWS, leaves=leaves)
        assert caught.value.required == 3
        assert dealer.server.state is MaskingState.ENDED
        with pytest.raises(LocalProtocolError, match="nothing is opened before"):
            _ = dealer.server.total


@settings(max_examples=draws(6, full=60))
@given(st.data())
def test_sums_of_more_parties(data: st.DataObject) -> None:
    number = data.draw(st.integers(2, 14))
    colluders = data.draw(st.integers(0, number - 1))
    threshold = data.draw(st.integers((number + colluders) // 2 + 1, number))
    width = data.draw(st.integers(1, 3))
    row = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=number, max_size=number))
    leaving = data.draw(st.lists(st.integers(0, number - 1), unique=True, max_size=number - threshold))
    leaves = {place: data.draw(st.sampled_from(USUAL_STEPS)) for place in leaving}
    dealer = Dealer(number, threshold, colluders=colluders, width=width)
    assert dealer.run(rows, leaves=leaves) == total_of_rows(rows, survivors_of(number, leaves))


@pytest.mark.full("a thousand parties")
def test_a_sum_on_a_circle() -> None:
    number = 1_001
    circle = Circle(number, 3, 6, b"public")
    dealer = Dealer(number, 600, circle=circle, width=1)
    rows = [[3 * place] for place in range(number)]
    leaves = {place: USUAL_STEPS[place % 6] for place in range(0, number, 40)}
    assert dealer.run(rows, leaves=leaves) == total_of_rows(rows, survivors_of(number, leaves))


def test_where_a_seed_has_too_few_shares_its_party_and_its_holders_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 9)
    circle = Circle(9, 3, 4, b"public")
    gone = circle.neighbors_of(0)[:3]
    dealer = Dealer(9, 5, circle=circle, width=1)
    with pytest.raises(QuorumError, match=r"'votes, unmask of p0' closed with 2 of the 3 parties") as caught:
        dealer.run([[1]] * 9, leaves=dict.fromkeys(gone, MaskingMove.UNMASK))
    assert caught.value.missing == tuple(f"p{place}" for place in gone)


def test_on_a_circle_too_as_many_survive_as_have_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three shares tell a secret there, and five rows have the noise that is stated."""
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 9)
    dealer = Dealer(9, 5, circle=Circle(9, 3, 4, b"public"), width=1)
    dealer.run([[1]] * 9, until=MaskingMove.MASKED)
    assert dealer.parties[1].confirm(Survivors((0, 1, 2, 3, 4))).signature
    with pytest.raises(RemoteProtocolError, match="4 parties survived, and at least 5 have to"):
        dealer.parties[0].confirm(Survivors((0, 1, 2, 3)))


def test_on_a_circle_nobody_masks_with_fewer_neighbors_than_tell_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 9)
    circle = Circle(9, 3, 4, b"public")
    for gone in (2, 3):
        dealer = Dealer(9, 5, circle=circle, width=1)
        dealer.run([[1]] * 9, until=MaskingMove.CHECK)
        heard = Excluded(tuple(sorted(circle.neighbors_of(0)[:gone])))
        if gone == 2:
            assert dealer.parties[0].mask(heard, [1])
            continue
        with pytest.raises(RemoteProtocolError, match="1 neighbors are left, and at least 2 are needed"):
            dealer.parties[0].mask(heard, [1])


def test_masked_values_look_like_nothing() -> None:
    """The same row is masked otherwise in another session, and by another party."""
    first, second = Dealer(3, 2), Dealer(3, 2, session="t")
    rows = [[1, 1]] * 3
    for dealer in (first, second):
        assert dealer.run(rows) == (3, 3)
    masked = [dealer.said[place, MaskingMove.MASKED] for dealer in (first, second) for place in range(3)]
    assert len({repr(each) for each in masked}) == 6
    assert not any("residues=(1, 1)" in repr(each) for each in masked)


def test_after_a_restart_the_same_bytes_are_said() -> None:
    """From the same root and what it heard; nothing else is kept."""
    dealer = Dealer(4, 3)
    heard: dict[MaskingMove, object] = {}

    def listen(_: MaskingMove, place: int, told: object) -> object:
        if place == 1 and dealer.server.step is not None:
            heard[dealer.server.step] = told
        return told

    dealer.run(ROWS, lie=listen)
    dealer.parties[1] = dealer.party(1)
    for move in USUAL_STEPS:
        assert dealer.answer(1, move, heard.get(move), ROWS[1]) == dealer.said[1, move]
    assert dealer.parties[1].state is MaskingState.UNMASKED


def test_no_step_is_answered_twice_or_early() -> None:
    """Each state by each step, as the table has it."""
    dealer = Dealer(3, 2)
    heard = {
        MaskingMove.SHARES: NeighborKeys(()),
        MaskingMove.CHECK: Boxes(()),
        MaskingMove.ACCUSE: Disputes(()),
        MaskingMove.MASKED: Excluded(()),
        MaskingMove.CONFIRM: Survivors(()),
        MaskingMove.UNMASK: Confirmations(()),
        MaskingMove.OPEN: Liars(()),
    }
    dealer.run([[1, 2]] * 3)
    for move in STEPS[:-1]:
        with pytest.raises(LocalProtocolError, match=f"the step '{move.value}' cannot follow 'unmasked'"):
            dealer.answer(0, move, heard.get(move), [1, 2])
    dealer.parties[0] = dealer.party(0)
    for move in STEPS[1:]:
        with pytest.raises(LocalProtocolError, match="cannot follow 'new'"):
            dealer.answer(0, move, heard[move], [1, 2])


def test_the_table_is_total_and_leads_to_an_end_by_the_steps_in_order() -> None:
    assert set(MASKING) == set(MaskingState)
    assert [MASKING[state] for state in (MaskingState.OPENED, MaskingState.ENDED)] == [{}, {}]
    order = [*MaskingState]
    for state, moves in MASKING.items():
        assert moves.get(MaskingMove.BREAK, MaskingState.ENDED) is MaskingState.ENDED
        assert all(order.index(after) > order.index(state) for after in moves.values())
    for steps in (STEPS, USUAL_STEPS):
        state = MaskingState.NEW
        for move in steps:
            state = MASKING[state][move]
        assert state in {MaskingState.OPENED, MaskingState.UNMASKED}


def test_no_secret_is_in_a_repr() -> None:
    dealer = Dealer(3, 2)
    dealer.run([[1, 2]] * 3)
    shares = dealer.said[0, MaskingMove.UNMASK]
    assert isinstance(shares, Shares)
    assert repr(shares) == "Shares(of 3 parties)"
    opening = Opening(((1, bytes(96)),), bytes(64))
    assert repr(opening) == "Opening(of 1 parties)"
    shown = repr(dealer.parties[0]) + repr(dealer.server) + repr(dealer.rules)
    assert all(repr(share)[2:10] not in shown for _, _, share in shares.shares)
    assert "object at" in repr(dealer.parties[0])


@pytest.mark.parametrize(
    ("number", "threshold", "colluders", "width", "named"),
    [
        (
            4,
            2,
            0,
            1,
            "threshold is 2: use at most the 4 parties, with 2 \\* threshold > parties \\+ colluders = 4",
        ),
        (40, 27, 14, 1, "threshold is 27: use at most .* = 54"),
        (4, 5, 0, 1, "threshold"),
        (4, 4, 4, 1, "colluders is (4|-1): use a value of at least 0"),
        (4, 4, -1, 1, "colluders is (4|-1): use a value of at least 0"),
        (1, 1, 0, 1, "parties is 1: use at least 2"),
        (4, 3, 0, 0, "width"),
    ],
)
def test_rules_that_do_not_fit_are_refused(number: int, threshold: int, colluders: int, width: int, named: str) -> None:
    names = tuple(f"p{place}" for place in range(number))
    keys = tuple(key_of(place) for place in range(number))
    with pytest.raises(ConfigurationError, match=named):
        rules_of("s", "f", names, keys, threshold, colluders, width)


def test_a_roster_with_one_key_or_name_for_two_is_refused() -> None:
    keys = key_of(0), key_of(1)
    for names, own in (
        (("a", "a"), keys),
        (("a", "b"), (keys[0], keys[0])),
        (("a", "b"), keys[:1]),
    ):
        with pytest.raises(ConfigurationError, match="distinct, each with a key of signatures of its own"):
            rules_of("s", "f", names, own, 2, 0, 1)
    with pytest.raises(ConfigurationError, match=r"circle (is|are) .*of the 2 parties"):
        rules_of("s", "f", ("a", "b"), keys, 2, 0, 1, Circle(1_001, 3, 4, b"public"))


@pytest.mark.parametrize("nobodys", ["02" + "00" * 31, "07" + "00" * 31])
def test_a_party_goes_on_beside_a_key_by_which_nobody_can_sign_and_not_beside_one_by_which_anybody_can(
    nobodys: str,
) -> None:
    key = bytes.fromhex(nobodys)
    own = signer_of(secret_of("signing key", 0))
    for signature in (bytes(64), own(b"a"), key + bytes(32), bytes(32) + key):
        assert not PRIMITIVES.verify(key, signature, b"a")
    names, keys = ("a", "b", "c"), (key_of(0), key_of(1), key)
    assert rules_of("s", "f", names, keys, 2, 0, 1).keys[2] == key
    for anybodys in (bytes(32), (1).to_bytes(32, "little")):
        with pytest.raises(ConfigurationError, match="signature_key of 'c'"):
            rules_of("s", "f", names, (*keys[:2], anybodys), 2, 0, 1)


def test_all_rules_are_in_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    names, keys = ("a", "b", "c"), tuple(key_of(place) for place in range(4))
    rules = [
        rules_of("s", "f", names, keys[:3], 2, 0, 1),
        rules_of("t", "f", names, keys[:3], 2, 0, 1),
        rules_of("s", "g", names, keys[:3], 2, 0, 1),
        rules_of("s", "f", ("a", "b", "d"), keys[:3], 2, 0, 1),
        rules_of("s", "f", names, keys[1:], 2, 0, 1),
        rules_of("s", "f", names, keys[:3], 3, 0, 1),
        rules_of("s", "f", names, keys[:3], 3, 1, 1),
        rules_of("s", "f", names, keys[:3], 2, 0, 2),
        rules_of("s", "f", names, keys[:3], 2, 0, 1, agreed=bytes(31) + b"1"),
    ]
    monkeypatch.setattr(graph, "LEAST_FOR_CIRCLE", 3)
    circles = [Circle(3, 1, 2, b"a"), Circle(3, 2, 2, b"a"), Circle(3, 2, 2, b"b")]  # another t is another polynomial
    rules += [rules_of("s", "f", names, keys[:3], 2, 0, 1, circle) for circle in circles]
    assert len({each.digest for each in rules}) == len(rules)


def test_a_root_and_a_row_have_their_lengths() -> None:
    dealer = Dealer(3, 2)
    with pytest.raises(ValueError, match="the root has 31 bytes: give 32"):
        MaskingParty(dealer.rules, 0, root=bytes(31), sign=dealer.signers[0], primitives=PRIMITIVES)
    with pytest.raises(ValueError, match="3 values are given: give 2"):
        dealer.run([[1, 2, 3]] * 3)
