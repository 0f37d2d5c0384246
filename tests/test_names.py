"""The field has a word for these things: no name of ours takes another one."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).parent.parent
_ROOMS: Final = ("protocol", "transports", "agents", "scenarios")
INSTEAD: Final = {
    "Beginning": "ScenarioTemplate",
    "Below": "RandBelow, as secrets.randbelow",
    "Broken": "SessionFailed",
    "Charter": "SessionDescriptor",
    "Climb": "SizeSweep",
    "Exposure": "Observable",
    "Happened": "SessionTrace",
    "HeldSession": "RecordedSession",
    "Holder": "SessionRunner",
    "Kept": "MemoizedReports",
    "Ladder": "SizeGrid",
    "Left": "SessionEnded",
    "Lesson": "AttackReport",
    "LeveledPhase": "PersonalizedPhase",
    "Lobby": "PendingConnections",
    "Patience": "RetryPolicy",
    "PolyaShare": "NoiseShare",
    "RunLeft": "RunArtifacts",
    "Scene": "AttackContext",
    "Seat": "ClientState",
    "Seats": "ClientTable",
    "Seen": "CoalitionView",
    "Sitting": "JournalSession",
    "Stage": "Configuration",
    "Standing": "SessionStatus",
    "Witness": "RollbackGuard",
    "about_shares": "shares_statement",
    "as_journal_error": "to_journal_error",
    "as_variant": "with_variant",
    "charter": "descriptor",
    "climb": "sweep",
    "counted_of": "numbers_to_check",
    "earlier_held": "describe_earlier",
    "for_roster": "make_for_roster",
    "happened": "trace",
    "has_happened": "bernoulli",
    "has_happened_exp": "bernoulli_exp",
    "lesson": "attack_report",
    "lie_probability": "flip_probability",
    "lobby": "pending",
    "made_up": "synthetic",
    "of_all_parts": "compose_parts",
    "of_epsilon": "from_epsilon",
    "of_flip_probability": "from_flip_probability",
    "of_joint_reports": "from_joint_reports",
    "of_one_or_many": "accept_one_or_many",
    "of_range": "slice_rows",
    "of_society": "society_outcome",
    "one_by_one": "apply_one_by_one",
    "scene": "context",
    "seat": "client",
    "some_distinct": "select_distinct",
    "some_rankings": "representative_rankings",
    "to_be_asked": "next_clients",
    "usual_of": "typical_row",
    "whoever": "the party, client or user that is meant",
    "without_count": "hide_count",
}
"""What to write, by what not to."""
INNER: Final = ("protocol", "transports", "agents")
BARE: Final = {
    "asked",
    "arrived",
    "beside",
    "drawn",
    "found",
    "given",
    "heard",
    "held",
    "kept",
    "left",
    "others",
    "own",
    "rest",
    "said",
    "seen",
    "told",
    "wanted",
    "whose",
}
"""No noun: an argument, a variable or a method says by its name what it holds or does."""
PREPOSITION: Final = re.compile(r"_?(of|in|by|as|at|against|for|among|without|within|beside|after|before)(_|$)")
BARE_IN_SCENARIOS: Final = frozenset(
    {
        "again",
        "alike",
        "alone",
        "beyond",
        "both",
        "counted",
        "drafted",
        "drawn",
        "earlier",
        "everybody",
        "everyone",
        "fitted",
        "following",
        "hidden",
        "hosted",
        "how",
        "keeping",
        "lacking",
        "leading",
        "leaving",
        "loaded",
        "many",
        "meant",
        "merged",
        "mixed",
        "nobody",
        "nothing",
        "ours",
        "passing",
        "pushed",
        "ranked",
        "reached",
        "rest",
        "served",
        "several",
        "some",
        "such",
        "tested",
        "theirs",
        "there",
        "tied",
        "unexplained",
        "untold",
        "used",
        "usual",
        "waits",
        "watched",
        "watching",
        "which",
        "whom",
        "whose",
        "why",
    }
)
"""Participles, pronouns and adverbs, which say nothing of the thing: in `scenarios` nothing is called so."""
MEANT: Final = {
    "as_electorate": "electorate_to_parties",
    "as_parties": "crowd_to_parties",
    "as_voters": "survey_to_parties",
    "as_written": "outcome_to_dict",
    "by_agents": "run_by_agents",
    "by_machines": "run_by_machines",
    "hosted_by": "read_hosted",
    "left_to_parties": "parameters_left_to_parties",
    "of_block": "measure_block",
    "of_people": "with_people",
    "of_systems": "system_commands",
    "said_of": "describe_phase_outcome",
    "said_of_trust": "trust_note",
    "seen_by_agents": "view_by_agents",
    "seen_by_arrays": "view_by_arrays",
    "seen_by_server": "view_by_server",
    "written_line": "format_line",
}
"""What functions of `scenarios` are called, by what they were: a verb, or the noun of what they return."""


def _names(text: str) -> set[str]:
    return {each.string for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type == tokenize.NAME}


@pytest.mark.parametrize("room", _ROOMS)
def test_things_have_the_names_of_the_field(room: str) -> None:
    paths = sorted((_ROOT / room).rglob("*.py"))
    assert paths
    wrong = {
        f"{path.relative_to(_ROOT)}: {name}, write {INSTEAD[name]}"
        for path in paths
        for name in _names(path.read_text(encoding="utf-8")) & INSTEAD.keys()
    }
    assert sorted(wrong) == []


def test_a_name_of_old_is_found() -> None:
    assert _names("class Lesson:\n    def scene(self): ...\n") & INSTEAD.keys() == {"Lesson", "scene"}


def _bound(text: str, *, has_functions: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the arguments and variables of functions, and their own names; not fields, which may be on the wire."""
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if has_functions:
            yield function.lineno, function.name
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                yield node.lineno, node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.lineno, node.id


@pytest.mark.parametrize("room", [*INNER, "scenarios"])
def test_arguments_variables_and_methods_are_named_by_nouns(room: str) -> None:
    bare = BARE if room in INNER else BARE_IN_SCENARIOS
    wrong = {
        f"{path.relative_to(_ROOT)}:{line}: {name}"
        for path in sorted((_ROOT / room).rglob("*.py"))
        for line, name in _bound(path.read_text(encoding="utf-8"), has_functions=room in INNER)
        if name in bare
    }
    assert sorted(wrong) == []


@pytest.mark.parametrize("room", INNER)
def test_no_function_begins_with_a_preposition(room: str) -> None:
    """But for `with_`, `to_` and `from_`, and `on_` for what is called back."""
    wrong = {
        f"{path.relative_to(_ROOT)}:{node.lineno}: {node.name}"
        for path in sorted((_ROOT / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and PREPOSITION.match(node.name)
    }
    assert sorted(wrong) == []


def test_a_bare_name_is_found() -> None:
    assert [name for _, name in _bound("def f(told):\n    own = [held for held in told]\n") if name in BARE] == [
        "told",
        "own",
        "held",
    ]
    assert PREPOSITION.match("_of_group")
    assert not PREPOSITION.match("offer_of")


def test_functions_of_scenarios_have_their_new_names() -> None:
    wrong = {
        f"{path.relative_to(_ROOT)}: {node.name}, write {MEANT[node.name]}"
        for path in sorted((_ROOT / "scenarios").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in MEANT
    }
    assert sorted(wrong) == []
