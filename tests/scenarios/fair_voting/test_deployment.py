"""Fair voting between processes: a voter's group is what it agreed to, and who is in the smaller one pays more."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import Psephos, Write
from deployments import NOBODY_LISTENS, SEED, invitations_to, serving
from psephos.protocol import ConfigurationError
from psephos.protocol.errors import PsephosError
from psephos.scenarios import load_scenario, resolve, resolve_served, run_session
from psephos.scenarios.deployment import CheckedInvitation
from psephos.scenarios.running.folder import read_ledger
from surveyed import CHOSEN_PLANS, GROUPS, OWN_EPSILONS, PLANS, RANKINGS, TRUSTED_PLANS


def test_voters_whose_groups_are_private_tell_nobody_theirs(tmp_path: Path) -> None:
    """No roster, welcome or report has a group: it stands in one's own file, and leaves randomized with the ranking."""
    scenario = PLANS.having("mechanism = 'joint'").write(tmp_path)
    for name in PLANS.names:
        content = f"ranking,group\n{RANKINGS[name]},{GROUPS[name]}\n"
        (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
    resolved = resolve(load_scenario(scenario, ["noise=simulated"]))
    assert resolved.inputs.public.shape == (5, 0)
    record = run_session(resolved, seed=SEED)
    told: list[CheckedInvitation] = []
    with serving(scenario) as session:
        heard = PLANS.join_all(session, tmp_path, on_agreed=told.append)
    assert [each.outcome for each in heard.values()] == [record.outcome] * 5
    assert {tuple(agreement.terms.public) for agreement in told} == {()}
    for party in PLANS.names:
        (entry,) = read_ledger(tmp_path / f"as-{party}")
        assert (entry.person, entry.proven, entry.model.value) == (party, 1.5, "local")


@pytest.mark.parametrize("is_invited", [False, True])
def test_voters_choose_their_epsilon_as_they_join(tmp_path: Path, *, is_invited: bool) -> None:
    CHOSEN_PLANS.check_choices(tmp_path, OWN_EPSILONS, [[group, 2] for group in (0, 0, 0, 1, 1)], is_invited=is_invited)


def test_who_is_in_the_smaller_group_pays_more(tmp_path: Path) -> None:
    """Three voters against two: one of the two moves the difference of means by 3/2 of what one of the three does."""
    system = PLANS.having("mechanism = 'exponential'")
    with serving(system.write(tmp_path)) as session:
        system.join_all(session, tmp_path)
    paid = {party: [entry.proven for entry in read_ledger(tmp_path / f"as-{party}")] for party in system.names}
    assert paid["ann"] == paid["bob"] == paid["cid"] == [pytest.approx(1)]
    assert paid["dee"] == paid["eve"] == [pytest.approx(1.5)]


def test_a_server_that_moves_a_voter_into_another_group_is_found_out(tmp_path: Path) -> None:
    """The roster of the server has ann among the two of the south and eve in the north, which was not agreed to."""
    scenario = TRUSTED_PLANS.write(tmp_path)
    agreed = invitations_to(scenario)
    text = Path(scenario).read_text(encoding="utf-8")
    for name, old, new in (("ann", "north", "south"), ("eve", "south", "north")):
        text = text.replace(f"'{name}', group = '{old}'", f"'{name}', group = '{new}'")
    other = tmp_path / "other" / "plans.toml"
    other.parent.mkdir()
    other.write_text(text.replace("[parameters]", "[parameters]\ngroups = ['north', 'south']"), encoding="utf-8")
    with serving(str(other)) as session:
        options: dict[str, Any] = {"invitation": agreed["ann"], "trusts_server": True}
        assert TRUSTED_PLANS.refusal(session.address, tmp_path, PsephosError, **options)
        assert not [event for event in session.events if "report" in event["event"]]


@pytest.mark.parametrize("is_invited", [False, True])
@pytest.mark.parametrize("group", ["south", "west", ""])
def test_a_group_that_differs_from_the_servers_is_refused(tmp_path: Path, group: str, *, is_invited: bool) -> None:
    scenario = TRUSTED_PLANS.write(tmp_path)
    entries = {"group": group, "ranking": RANKINGS["ann"]}
    options: dict[str, Any] = {"entries": entries, "trusts_server": True}
    if is_invited:
        options["invitation"] = invitations_to(scenario)["ann"]
        said = TRUSTED_PLANS.refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, **options)
    else:
        with serving(scenario) as session:
            said = TRUSTED_PLANS.refusal(session.address, tmp_path, ConfigurationError, **options)
            assert not [event for event in session.events if "report" in event["event"]]
    assert said.startswith("group ")
    assert "north" in said
    assert (f"is {group!r}" if group else "is empty") in said


@pytest.mark.parametrize("public", [(), (2,), (-1,), (0, 1)])
def test_a_group_that_there_is_not_is_refused(tmp_path: Path, public: tuple[int, ...]) -> None:
    strange = msgspec.structs.replace(invitations_to(TRUSTED_PLANS.write(tmp_path))["ann"], public=public)
    options: dict[str, Any] = {"invitation": strange, "trusts_server": True}
    said = TRUSTED_PLANS.refusal(NOBODY_LISTENS, tmp_path, ConfigurationError, **options)
    assert said.startswith("the server's public row is")


def test_a_roster_of_fewer_voters_is_what_counts(psephos: Psephos, write: Write) -> None:
    write("v.csv", "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c > a > b\n")
    assert psephos("roster", "two-societies", "--set", "voters=v.csv", "--make-keys", "--out", "drawn").status == 0
    lines = Path("drawn/roster.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    write("drawn/roster.csv", "".join(lines[:-1]))
    side = resolve_served(load_scenario("two-societies", ["voters=v.csv"]), roster=Path("drawn/roster.csv"))
    assert (side.protocol.parameters.groups, side.protocol.parameters.group_sizes) == (("north", "south"), (1, 1))
