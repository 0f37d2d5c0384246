"""Moral preferences between processes: voters with an ε of their own, given or chosen as they join."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deployments import NOBODY_LISTENS, SEED, invitations_to, serving
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve, resolve_served, run_session
from psephos.scenarios.running.folder import read_ledger
from surveyed import CHOSEN, DIRECTION, EPSILONS, SURVEY

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]


def test_voters_with_an_epsilon_each_pay_their_own(tmp_path: Path) -> None:
    system = SURVEY.having(DIRECTION, CHOSEN.own)
    scenario = system.write(tmp_path)
    record = run_session(resolve(load_scenario(scenario, ["noise=simulated"])), seed=SEED)
    with serving(scenario) as session:
        assert session.side.protocol.parameters.epsilons == (0.5, 2)
        heard = system.join_all(session, tmp_path)
    assert [each.outcome for each in heard.values()] == [record.outcome] * 3
    paid = {party: [entry.claimed for entry in read_ledger(tmp_path / f"as-{party}")] for party in SURVEY.names}
    assert paid == {"ann": [1], "bob": [4], "cid": [1]}  # two records of each at most


@pytest.mark.parametrize("is_invited", [False, True])
def test_voters_choose_their_epsilon_as_they_join(tmp_path: Path, *, is_invited: bool) -> None:
    CHOSEN.check_choices(tmp_path, EPSILONS, [[2], [2], [2]], is_invited=is_invited)


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "epsilon=0.7"], "epsilon is '0.7': use one of 0.5, 1, 2"),
        (["--set", "epsilon=nan"], "epsilon is 'nan': use a number > 0"),
        ([], "epsilon is missing: use one of 0.5, 1, 2"),
        (["--set", "epsilon"], "--set is 'epsilon': use NAME=VALUE, once for each name"),
        (["--set", "epsilon=1", "--set", "epsilon=2"], "use NAME=VALUE, once for each name"),
        (["--set", "records=1"], "--set is 'records': use one of epsilon"),
    ],
)
def test_an_epsilon_that_is_no_level_is_refused_before_anybody_is_called(
    psephos: Psephos, tmp_path: Path, words: list[str], said: str
) -> None:
    survey = CHOSEN.write(tmp_path)
    assert psephos("roster", survey, "--make-keys", "--simulate", "--out", "drawn").status == 0
    assert "epsilon" not in Path("drawn/roster.csv").read_text(encoding="utf-8")
    invited = ("--invitation", "drawn/invitations", "--simulate", "--seed", SEED)
    own = ("--as", "ann", "--input", "ann.csv", *words)
    refusal = psephos("join", NOBODY_LISTENS, "--transport", "tcp", *own, *invited, "--out", "out").refusal
    assert said in refusal
    assert not Path("out").exists()


@pytest.mark.bad_input("an epsilon that is no level, or another one than was chosen before")
def test_a_session_without_anything_to_choose_takes_no_choice(tmp_path: Path) -> None:
    invitation = invitations_to(SURVEY.write(tmp_path))["ann"]
    choices = {"epsilon": "1"}
    said = SURVEY.refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, invitation=invitation, choices=choices)
    assert said.startswith("leave out --set: the session leaves nothing to choose")


@pytest.mark.parametrize(
    "content",
    [
        "record,choice,law,lives\n1,1,0,5\n1,0,1,1\n2,0,1,0\n2,1,1,4\n",
        "record,choice,lives,law\n2,0,0,1\n1,1,5,0\n2,1,4,1\n1,0,1,1\n",
        'lives,law,record,choice\n5,0,"first, of all",1\n1,1,"first, of all",0\n\n4.0,1e0,second,1\n0,1,second,0\n',
        "\ufeffrecord,choice,lives,law\r\n1,1,5,0\r\n1,0,1,1\r\n2,0,0,1\r\n2,1,4,1\r\n",
    ],
    ids=["another order of columns", "another order of lines", "quotes", "as spreadsheets save it"],
)
def test_a_voters_file_is_read_in_every_usual_form(write: Write, tmp_path: Path, content: str) -> None:
    survey = SURVEY.write(tmp_path)
    side = resolve_served(load_scenario(survey))
    whole = resolve(load_scenario(survey)).inputs.private.tolist()
    write("ann.csv", content)
    assert list(side.protocol.encode_own(SURVEY.entries_of("ann", tmp_path), ())) == whole[0]
