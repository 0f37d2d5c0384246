"""Roles: a third party's is found and used, and a run leaves what its adversaries learnt."""

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributions import installed
from psephos.protocol import ConfigurationError
from psephos.protocol.privacy import Budget
from psephos.scenarios.adversaries.reading import find_adversary
from psephos.scenarios.plugins import ADVERSARIES, names_in
from psephos.scenarios.running.resolution import Local
from runs import read_json, read_rows

Configuration = Callable[..., Local]
Play = Callable[..., Any]
Psephos = Callable[..., Any]
Write = Callable[[str, str], Path]

EAVESDROPPER = '''
"""A role as a third party would write it: counts what a member received."""

from psephos.agents.adversaries import Deviation, Passage
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.messages import Report
from psephos.scenarios.adversaries import AttackReport, Role


class Silent(Deviation):
    def outgoing(self, peer, message):
        return Passage(hangs_up=True) if isinstance(message, Report) else super().outgoing(peer, message)


class Eavesdropper(Role, frozen=True, kw_only=True):
    loud: bool = True

    name = "eavesdropper"
    needs_agents = True

    def check(self, context):
        super().check(context)
        if not self.members:
            raise ConfigurationError(field="members", value="nobody", allowed="somebody")

    def deviations(self, context):
        return {} if self.loud else dict.fromkeys(self.members, Silent())

    def learn(self, context, happened):
        heard = {view.party: len(view.observations) for view in happened.views if view.party in self.members}
        return AttackReport(
            role=self.name,
            who=f"{len(heard)} listeners",
            trust="None.",
            sentences=(f"The failure: {happened.failure}.",),
            rows=tuple({"party": name, "messages": number} for name, number in heard.items()),
        )


class Burglar:
    pass
'''


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Installs a distribution of somebody else's; yields its module's name."""
    entries = "[psephos.adversaries]\neavesdropper = ears_elsewhere:Eavesdropper\nburglar = ears_elsewhere:Burglar\n"
    with installed(monkeypatch, tmp_path / "elsewhere", "ears_elsewhere", entries, EAVESDROPPER):
        yield "ears_elsewhere"


def test_a_third_party_s_role_stands_beside_ours(elsewhere: str) -> None:
    assert {"eavesdropper", "coalition", "tampering-server"} <= set(names_in(ADVERSARIES))
    assert find_adversary("eavesdropper") is importlib.import_module(elsewhere).Eavesdropper
    with pytest.raises(ConfigurationError, match="role of an adversary is 'burglar': register it as a Role"):
        find_adversary("burglar")


def test_what_somebody_else_registered_wrongly_is_no_fault_of_another_table(
    elsewhere: str, configuration: Configuration
) -> None:
    with pytest.raises(ConfigurationError, match=r"one that protocol 'dpwevote' has: .*eavesdropper") as caught:
        configuration("dpwevote", {"role": "membership"})
    assert caught.value.value == "membership", elsewhere


def test_every_registered_role_is_the_one_of_its_name() -> None:
    for name in (
        "coalition",
        "collusion-sweep",
        "selective-abort",
        "drop-out",
        "equivocator",
        "tampering-server",
        "replayer",
    ):
        assert find_adversary(name).name == name


def test_a_third_party_s_role_learns_from_a_scenario_and_its_files_are_in_the_folder(
    elsewhere: str, psephos: Psephos, write: Write
) -> None:
    text = """
    protocol = "dpwevote"
    transport = "memory"
    seed = 4
    [parameters]
    candidates = ["merger"]
    [partners]
    count = 3
    [[adversary]]
    role = "eavesdropper"
    members = ["partner-1..2"]
    """
    ended = psephos("run", write("ears.toml", text), "--out", "out", "--verbose")
    assert (ended.status, ended.err) == (0, ""), elsewhere
    assert "Adversary: eavesdropper, 2 listeners" in ended.out
    (attack_report,) = read_json("out/adversaries.json")
    assert (attack_report["role"], attack_report["sentences"]) == ("eavesdropper", ["The failure: None."])
    rows = read_rows("out/adversary-1.csv")
    assert [row["party"] for row in rows] == ["partner-1", "partner-2"]
    assert all(int(row["messages"]) >= 5 for row in rows)  # joined, asked and answered twice, and heard the end


def test_a_third_party_s_role_deviates(elsewhere: str, play: Play) -> None:
    table = {"role": "eavesdropper", "members": ["partner-1"], "loud": False}
    played = play("dpwevote", table, settings=["quorum=3"])
    assert played.failure is None, elsewhere
    assert read_json(played.folder / "result.json")["received"] == {"weights": 3, "opinions": 3}


def test_a_run_without_adversaries_leaves_nothing_of_them(play: Play) -> None:
    played = play("dpwevote")
    assert played.attack_reports == ()
    assert not list(played.folder.glob("adversar*"))


def test_several_adversaries_have_a_table_each(play: Play) -> None:
    coalition = {"role": "coalition", "members": ["server"], "target": "partner-1"}
    equivocator = {"role": "equivocator", "misled": ["partner-2"]}
    played = play("dpwevote", equivocator, coalition)
    assert [attack_report.role for attack_report in played.attack_reports] == ["equivocator", "coalition"]
    written = {path.name for path in played.folder.glob("adversar*")}
    assert written == {
        "adversaries.json",
        "adversary-1.csv",
        "adversary-2.csv",
    }


def test_a_scene_knows_its_parties_its_noise_and_its_later_votes(configuration: Configuration) -> None:
    resolved = configuration("dpwevote", settings=["round=3", "budget=9.0"])
    context = resolved.context(seed=5)
    assert (context.round_number, context.seed, context.budget, context.may_show_truth) == (
        3,
        5,
        Budget(epsilon=9.0),
        True,
    )
    assert context.place_of("partner-3", field="target") == 2
    assert context.coalition(["server", "partner-4", "partner-1"]).members == (0, 3)
    draws = [
        noise.uniforms(protocol="dpwevote", phase="weights", start=0, stop=4, slots=2).tolist()
        for noise in (context.noise(), context.noise(rerun=1), resolved.context(seed=5).noise())
    ]
    assert draws[0] == draws[2] != draws[1]


def test_a_session_that_fails_ends_with_status_1_and_says_what_was_learnt(psephos: Psephos) -> None:
    setting = "adversary=[{role='selective-abort', target='partner-1', trials=2}]"
    settings = ["quorum=1.0", "count=4", setting]
    ended = psephos("run", "selective-abort", *(word for each in settings for word in ("--set", each)), "--out", "out")
    assert ended.status == 1
    assert ended.err.count("\n") == 1
    assert "quorum requires" in ended.err
    assert "Adversary: selective-abort" in ended.out
    assert "The quorum held" in ended.out
    (attack_report,) = read_json("out/adversaries.json")
    assert attack_report["role"] == "selective-abort"
    assert Path("out/adversary-1.csv").is_file()
    assert not Path("out/result.json").exists()


def test_with_json_nothing_but_json_is_printed(psephos: Psephos) -> None:
    setting = "adversary=[{role='coalition', members=['server'], target='partner-1'}]"
    ended = psephos(
        "run", "consortium", "--set", "count=5", "--set", setting, "--json", "--no-pictures", "--out", "out"
    )
    assert ended.status == 0
    assert json.loads(ended.out)["num_parties"] == 5
    assert Path("out/adversaries.json").is_file()
