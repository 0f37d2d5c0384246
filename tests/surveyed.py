"""A session of each system whose parties have files of their own: what is served, and by whom it is answered."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import deployments
from deployments import SEED, Serving, invitations_to, serving
from psephos.protocol.fair_voting.kinds import CENTRAL
from psephos.scenarios import load_scenario, resolve, run_session
from psephos.scenarios.deployment.client import JoinResult
from psephos.scenarios.running.folder import read_ledger


@dataclasses.dataclass(frozen=True)
class Surveyed:
    """A session of a few parties.

    Attributes:
        protocol: its name.
        name: of the session, and of its scenario's file.
        role: of the parties, as their files name it.
        files: each party's own, as it would write it: lines and columns in any order, in every usual form.
        row: of a party in the scenario, beside its name.
        served: parameters that a server needs, which has nobody's values.
        lines: more of the parameters.
        own: more of each party's row.
    """

    protocol: str
    name: str
    role: str
    files: Mapping[str, str]
    row: Callable[[str], str]
    served: str
    lines: str = ""
    own: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])

    def having(self, lines: str, own: Mapping[str, str] | None = None) -> "Surveyed":
        """Return it with other lines among its parameters, and maybe more in the parties' rows."""
        return dataclasses.replace(self, lines=lines, own={} if own is None else own)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.files)

    @property
    def trusts(self) -> bool:
        return "VLCP" in self.lines or any(f"mechanism = '{name}'" in self.lines for name in (*CENTRAL, "central"))

    def write(self, folder: Path, *, names: Sequence[str] = ()) -> str:
        """Write its scenario and each party's own file, and return the scenario's path; of a few parties, if named."""
        rows = [f"{{{self.role} = '{name}', {self.row(name)}{self.own.get(name, '')}}}" for name in names or self.names]
        text = f"{self.role}s = [{', '.join(rows)}]\n[parameters]\n{self.served}\n{self.lines}\n"
        path = folder / f"{self.name}.toml"
        path.write_text(f'protocol = "{self.protocol}"\n{text}', encoding="utf-8")
        for name, content in self.files.items():
            (folder / f"{name}.csv").write_text(content, encoding="utf-8")
        return str(path)

    def write_served(self, folder: Path) -> None:
        """Write the server's own copy of the scenario, `served.toml`, which has nobody's values."""
        text = f'name = "{self.name}"\nprotocol = "{self.protocol}"\n[parameters]\n{self.served}\n{self.lines}\n'
        (folder / "served.toml").write_text(text, encoding="utf-8")

    @property
    def joining(self) -> Callable[..., Any]:
        return functools.partial(deployments.joining, role=self.role, most=len(self.names))

    def join_all(
        self, session: Serving, folder: Path, own: Mapping[str, Mapping[str, Any]] | None = None, **options: Any
    ) -> dict[str, JoinResult]:
        """Let all take part, with the same options and maybe some of their own, and return what each heard."""
        given = {name: {"trusts_server": self.trusts, **options, **(own or {}).get(name, {})} for name in self.names}
        return deployments.join_all(session, folder, given, role=self.role)

    def check_choices(
        self, folder: Path, epsilons: Mapping[str, float], public: Sequence[Sequence[int]], *, is_invited: bool
    ) -> None:
        """Let all choose their ε as they join, over real sockets, and check what is heard and paid.

        The server has no level of anybody's before, but these public rows; the bits are those of one process.
        """
        scenario = self.write(folder)
        record = run_session(resolve(load_scenario(scenario, ["noise=simulated"])), seed=SEED)
        invited = invitations_to(scenario) if is_invited else dict.fromkeys(self.names)
        own = {name: {"choices": {"epsilon": str(epsilons[name])}, "invitation": invited[name]} for name in epsilons}
        with serving(scenario) as session:
            assert session.side.inputs.public.tolist() == public
            heard = self.join_all(session, folder, own)
        assert [each.outcome for each in heard.values()] == [record.outcome] * len(own)
        paid = {party: [entry.claimed for entry in read_ledger(folder / f"as-{party}")] for party in self.names}
        assert paid == {name: [epsilon] for name, epsilon in epsilons.items()}

    def refusal(self, *given: Any, **options: Any) -> str:
        return deployments.refusal(*given, role=self.role, unwritten=("outcome.json", "own_outcome.json"), **options)

    def entries_of(self, party: str, folder: Path) -> Mapping[str, Any]:
        """Return what a party's own file holds."""
        return deployments.entries_of(party, folder, role=self.role)


GROUPS = {"ann": "north", "bob": "north", "cid": "north", "dee": "south", "eve": "south"}
RANKINGS = {"ann": "a > b > c", "bob": "b > a > c", "cid": "a > c > b", "dee": "c > a > b", "eve": "c > b > a"}
PLANS: Final = Surveyed(
    protocol="fair-voting",
    name="plans",
    role="voter",
    files={
        "ann": "ranking\na > b > c\n",
        "bob": "voter,group,ranking\nbob,north,b>a>c\n",
        "cid": "ranking,voter\n a >c> b ,cid\n",
        "dee": "group,ranking\n south ,c > a > b\n",
        "eve": "\ufeffvoter,ranking\r\neve,c > b > a\r\n",
    },
    row=lambda name: f"group = '{GROUPS[name]}', ranking = '{RANKINGS[name]}'",
    served="alternatives = ['a', 'b', 'c']\nnum_samples = 2\nepsilon = 1.5",
)
TRUSTED_PLANS: Final = PLANS.having("mechanism = 'laplace'")
LOCAL_PLANS: Final = PLANS.having("mechanism = 'local'")
OWN_EPSILONS: Final = {"ann": 0.5, "bob": 3, "cid": 0.5, "dee": 1, "eve": 3}
CHOSEN_PLANS: Final = dataclasses.replace(
    PLANS,
    served="alternatives = ['a', 'b', 'c']\nmechanism = 'local'\nepsilons = [0.5, 1, 3]\nchosen_by = 'voter'",
    own={name: f", epsilon = {epsilon}" for name, epsilon in OWN_EPSILONS.items()},
)

_RECORDS = {
    "ann": "[[[5, 0], [1, 1]], [[4, 1], [0, 1]]]",
    "bob": "[[[3, 0], [2, 2]]]",
    "cid": "[[{lives = 1, law = 1}, {law = 0, lives = 2}], [{lives = 3, law = 1}, {lives = 6, law = 0}]]",
}
SURVEY: Final = Surveyed(
    protocol="moral-preferences",
    name="survey",
    role="voter",
    files={
        "ann": "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,0,0,1\n2,1,4,1\n",
        "bob": "law,lives,choice,record\n2,2,0,a\n0,3,1,a\n",
        "cid": "record,choice,lives,law\n7,0,2,0\n8,1,3,1\n8,0,6,0\n7,1,1,1\n",
    },
    row=lambda name: f"records = {_RECORDS[name]}",
    served="features = ['lives', 'law']\nmax_records = 2",
    lines="paradigm = 'VLDP'\nepsilon = 1.5",
)
TRUSTED_SURVEY: Final = SURVEY.having("paradigm = 'VLCP'\nepsilon = 1.5")
EPSILONS: Final = {"ann": 0.5, "bob": 2, "cid": 0.5}
CHOSEN: Final = SURVEY.having(
    "paradigm = 'VLDP'\nepsilons = [0.5, 1, 2]\nchosen_by = 'voter'",
    {name: f", epsilon = {epsilon}" for name, epsilon in EPSILONS.items()},
)
DIRECTION: Final = "paradigm = 'RLDP'\nmechanism = 'direction'"
# Public, as bob's vote is all of his society's.
SOCIETIES: Final = {"ann": ", society = 'north'", "bob": ", society = 'south'", "cid": ", society = 'north'"}

TASKS = {"ann": "q1; q2; q3", "bob": "q1; q2", "cid": "q2; q3", "dee": "q1; q2; q3"}
ANSWERS = {"ann": "yes; no; yes", "bob": "yes; ", "cid": "no; no", "dee": "no; no; yes"}
# A line for each answer, or one line for all of them. Bob skips a task.
QUIZ: Final = Surveyed(
    protocol="truth-discovery",
    name="quiz",
    role="worker",
    files={
        "ann": "task,label\nq1,yes\nq2,no\nq3,yes\n",
        "bob": "worker,task,label\nbob,q1,yes\n",
        "cid": "worker,answers\ncid,q2=no; q3=no\n",
        "dee": "answers\nq3 = yes; q1 = no; q2 = no\n",
    },
    row=lambda name: f"tasks = '{TASKS[name]}', answers = '{ANSWERS[name]}'",
    served="answer_sets = [['yes', 'no']]",
    lines="epsilon = 2.0",
)
TRUSTED_QUIZ: Final = QUIZ.having("mechanism = 'central'\nepsilon = 2.0")
