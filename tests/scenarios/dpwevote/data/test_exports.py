"""Forms of programs with a yes/no question: at most three options typed, and what is counted is as by hand.

What is typed follows what is asked: without it nothing is counted.
"""

import dataclasses
import shlex
import shutil
from pathlib import Path

import pytest
from bad_input import Psephos, is_plain
from psephos.scenarios import Local, load_scenario, resolve

EXPORTS = Path(__file__).parents[3] / "exports"
ROOF = "Shall we mend the roof?"
FIRST, SECOND, THIRD = (
    f"{day} January [{hour}]" for day, hour in (("Friday 2", "9:00"), ("Friday 2", "14:00"), ("Saturday 3", "9:00"))
)


@dataclasses.dataclass(frozen=True)
class Export:
    """A file of a program.

    Args:
        typed: the options.
        partners: how many take part.
        support: the yes votes of each motion, counted by hand.
        asked: what is asked before anything is typed.
    """

    typed: str
    partners: int
    support: dict[str, float]
    asked: tuple[str, ...]


EXPORTED = {
    "limesurvey_codes": Export(
        "--candidate roof --leave-out-empty submitdate",
        3,
        {"roof": 2},
        ("'submitdate' is empty in 1 rows",),
    ),
    "limesurvey_answers": Export(
        "--leave-out-empty 'Date submitted'",
        3,
        {ROOF: 2, "What matters? [Price]": 2, "What matters? [Taste]": 2},
        ("'Date submitted' is empty in 1 rows",),
    ),
    "google_forms": Export(
        f"--repeats last --candidate '{ROOF}' --abstentions absent",
        2,
        {ROOF: 2},
        ("'Username' names 3 persons in 4 lines: 'bob@example.org' stands in lines 3 and 4",),
    ),
    "ms_forms": Export(f"--leave-out-empty '{ROOF}'", 2, {ROOF: 1}, ("line 4) says 'nothing', and 1 of 3 abstain",)),
    "qualtrics": Export(
        "--only 'Status=IP Address' --leave-out-empty Q1", 2, {"Q1": 1}, ("--only: 'Status' has 'IP Address' (3×)",)
    ),
    "surveymonkey": Export("--header-lines 2 --abstentions absent", 2, {ROOF: 1}, ("--header-lines 2",)),
    "polis_votes": Export(
        "--only comment-id=1 --no=-1",
        3,
        {"vote": 2},
        ("'voter-id' names 3 persons in 7 lines, as a rule one for each 'comment-id'", "comment-id=1"),
    ),
    "polis_participants_votes": Export(
        "--no=-1 --abstain 0 --abstentions no", 4, {"0": 2, "1": 2, "2": 1}, ("'-1' (1×)", "which means")
    ),
    "framadate": Export(
        "--repeats last --abstain unkown --abstentions no",
        3,
        {"roof": 2, "pool": 1},
        ("'Bob' stands in lines 3 and 5",),
    ),
    "framadate_dates": Export(
        "--header-lines 2 --abstain 'Under reserve' --abstentions no", 2, {FIRST: 1, SECOND: 1, THIRD: 1}, ("2 lines",)
    ),
    "decidim_responses": Export(
        f"--only none --candidate '1. {ROOF}' --abstentions absent",
        2,
        {f"1. {ROOF}": 1},
        ("'User status' has 'Registered' (2×)",),
    ),
    "loomio": Export(
        "--header 9 --one-of 'agree, abstain, disagree' --abstentions absent", 2, {"answer": 1}, ("Add --header 9",)
    ),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_a_form_is_asked_about_and_counted_as_by_hand(psephos: Psephos, name: str) -> None:
    export, file = EXPORTED[name], f"{name}.csv"
    shutil.copy(EXPORTS / file, file)
    ended = psephos("new", "vote", file, "--no-run")
    assert (ended.status, ended.out, is_plain(ended.err)) == (2, "", True)
    for words in export.asked:
        assert words in ended.err
    typed = shlex.split(export.typed)
    assert sum(word.startswith("--") for word in typed) <= 3
    ended = psephos("new", "vote", file, "--no-run", "--to", "vote", *typed)
    assert (ended.status, ended.err) == (0, "")
    resolved = resolve(load_scenario("vote.toml"))
    assert isinstance(resolved, Local)
    truth = resolved.protocol.truth(resolved.inputs)
    assert truth is not None
    counted = {name: truth[name] for name in resolved.protocol.parameters.candidates}
    assert (len(resolved.names), counted) == (export.partners, export.support)
