"""The tables of moves: total, closed, and with the shape that both machines rely on."""

import ast
import itertools
import re
from pathlib import Path

import pytest
from psephos.protocol import Side
from psephos.protocol.states import (
    CONVERSATION,
    KEPT,
    SESSION,
    Move,
    Position,
    SessionMove,
    SessionState,
    State,
    mermaid,
)

PROTOCOL = Path(__file__).parents[2] / "protocol"
TERMINAL = {State.FINISHED, State.ENDED}


@pytest.mark.parametrize("side", list(Side))
def test_a_table_has_a_row_for_every_state(side: Side) -> None:
    assert set(CONVERSATION[side]) == set(State)


def test_there_is_a_table_for_every_side() -> None:
    assert set(CONVERSATION) == set(Side)
    assert set(SESSION) == set(SessionState)


@pytest.mark.parametrize("side", list(Side))
def test_terminal_rows_are_empty_and_every_reachable_other_row_can_break(side: Side) -> None:
    for state, moves in CONVERSATION[side].items():
        if state in TERMINAL or (side is Side.CLIENT and state is State.LATE):
            assert not moves
        else:
            assert moves[Move.BREAK] is State.ENDED


@pytest.mark.parametrize("side", list(Side))
def test_every_move_leads_to_a_state_and_every_state_is_reached(side: Side) -> None:
    reached = {State.NEW}
    frontier = [State.NEW]
    while frontier:
        for after in CONVERSATION[side][frontier.pop()].values():
            if after not in reached:
                reached.add(after)
                frontier.append(after)
    unreachable = {State.LATE} if side is Side.CLIENT else set[State]()
    assert reached == set(State) - unreachable


def test_both_sides_agree_on_every_move_that_both_have() -> None:
    for state, move in itertools.product(State, Move):
        ours, theirs = (CONVERSATION[side][state].get(move) for side in (Side.CLIENT, Side.SERVER))
        assert ours is theirs or ours is None or theirs is None


def test_the_sides_differ_only_in_what_a_client_cannot_see() -> None:
    differing = {
        (state, move)
        for state, move in itertools.product(State, Move)
        if CONVERSATION[Side.CLIENT][state].get(move) is not CONVERSATION[Side.SERVER][state].get(move)
    }
    assert differing == {
        (State.ASKED, Move.CLOSE),
        *((State.LATE, move) for move in (Move.REPORT, Move.RELEASE, Move.BREAK)),
    }


def test_only_who_was_asked_and_answered_or_was_late_is_released() -> None:
    released = {side: {state for state, moves in CONVERSATION[side].items() if Move.RELEASE in moves} for side in Side}
    assert released == {Side.CLIENT: {State.REPORTED}, Side.SERVER: {State.REPORTED, State.LATE}}


def test_a_session_gathers_collects_and_ends_once() -> None:
    assert SESSION[SessionState.IDLE] == {SessionMove.START: SessionState.GATHERING}
    assert SESSION[SessionState.GATHERING] == {
        SessionMove.OPEN_PHASE: SessionState.COLLECTING,
        SessionMove.ABORT: SessionState.ABORTED,
    }
    assert SESSION[SessionState.COLLECTING] == {
        SessionMove.OPEN_PHASE: SessionState.COLLECTING,
        SessionMove.RELEASE: SessionState.RELEASED,
        SessionMove.ABORT: SessionState.ABORTED,
    }
    assert not SESSION[SessionState.RELEASED]
    assert not SESSION[SessionState.ABORTED]


@pytest.mark.parametrize("side", list(Side))
def test_the_diagram_is_the_table(side: Side) -> None:
    lines = mermaid(side).splitlines()
    assert lines[:2] == ["stateDiagram-v2", "    [*] --> new"]
    edges = {
        f"    {state.value} --> {after.value}: {move.value}"
        for state, moves in CONVERSATION[side].items()
        for move, after in moves.items()
    }
    assert {re.sub(r" \[[a-z]+\]$", "", line) for line in lines[2:]} == edges | {
        "    finished --> [*]",
        "    ended --> [*]",
    }
    assert len(lines) == 2 + len(edges) + 2


@pytest.mark.parametrize("side", list(Side))
def test_the_diagram_says_what_is_kept_where_something_new_happens(side: Side) -> None:
    shown = {line.partition(": ")[2] for line in mermaid(side).splitlines() if " [" in line.partition(": ")[2]}
    assert shown == {f"{move.value} [{record}]" for move, record in KEPT[side].items()}
    assert "    reported --> reported: report\n" in mermaid(side)  # the same again


@pytest.mark.parametrize("side", list(Side))
def test_a_position_makes_the_moves_of_its_table_and_no_other(side: Side) -> None:
    table = CONVERSATION[side]
    for state, move in itertools.product(State, Move):
        position = Position(table, state)
        assert position.moves is table[state]
        if move in table[state]:
            position.move(move)
            assert position.state is table[state][move]
        else:
            with pytest.raises(KeyError):
                position.move(move)
            assert position.state is state


def states_set(source: str) -> list[int]:
    """Return the lines that set the state of anything but an error, or a generator of random numbers."""
    targets = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute))
    return [
        node.lineno
        for node in targets
        if node.attr.lstrip("_") == "state"
        and isinstance(node.ctx, ast.Store)
        and not (isinstance(node.value, ast.Name) and node.value.id in {"error", "philox"})
    ]


def test_nothing_but_a_position_changes_a_state() -> None:
    """The rule at the head of `states`: a reader who looks for what moves a state has to look there alone."""
    assert states_set("row.state = State.LATE\nself._state, x = after, 1") == [1, 2]
    assert states_set("error.state = 'asked'\nafter = row.state") == []
    elsewhere = {
        path.name: lines
        for path in PROTOCOL.glob("*.py")
        if path.name not in {"states.py", "errors.py"} and (lines := states_set(path.read_text(encoding="utf-8")))
    }
    assert elsewhere == {}
