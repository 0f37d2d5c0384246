"""What the tests of scenarios share: the command line in this process, small data sets, plug-ins of somebody."""

import dataclasses
import functools
import gzip
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import approval as approval_vote
import coverage
import pytest
from adversary_runs import configuration, play
from bad_input import is_plain
from distributions import installed
from psephos.scenarios.cli import main

__all__ = ["configuration", "play"]

# A protocol, a transport and a role as a third party would write them, with entries that are none of these.
SURVEY = '''
"""The private total of bounded values."""

import msgspec
import numpy as np

from psephos.agents import Client
from psephos.protocol import Column, Inputs, Phase, PhasedProtocol, Tally
from psephos.protocol.mechanisms import DiscreteLaplace
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from psephos.transports import MemoryTransport


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    greatest: int = 1_000_000
    epsilon: float = 1.0
    label: str = "nothing"


class Total(msgspec.Struct, frozen=True):
    total: float
    label: str


class Values(Phase):
    def tally(self, reports, *, earlier, public):
        return Tally(len(reports), reports.sum(axis=0))


class BoundedTotal(PhasedProtocol):
    name = "bounded-total"
    client_role = "surveyor"
    parameters_type, outcome_type = Bounds, Total

    def make_phases(self):
        greatest, epsilon = self.parameters.greatest, self.parameters.epsilon
        mechanism = DiscreteLaplace(greatest / epsilon, 0, greatest)
        paid = {"claimed": epsilon, "relation": NeighboringRelation.REPLACE_ONE, "model": TrustModel.LOCAL}
        loss = PrivacyLoss(mechanism="discrete Laplace", event=mechanism.event, unit="value", **paid)
        yield Values("values", columns=range(1), mechanism=mechanism, losses=[loss])

    def columns(self):
        return (Column("value", private=True, description="an integer within the bounds"),)

    def encode(self, table):
        values = np.array([int(value) for value in table["value"]])
        return Inputs(values[:, None], np.empty((len(values), 0), dtype=np.int64))

    def outcome(self, tallies):
        return Total(float(tallies[0].totals[0]), self.parameters.label)

    def truth(self, inputs):
        return {"total": float(inputs.private.sum())}


class Surveyor(Client):
    role = "surveyor"
    names = []

    async def take_part(self, channel):
        self.names.append(self.ledger.person)
        return await super().take_part(channel)


class Wire(MemoryTransport):
    name = "wire"
    opened = 0

    async def open_listener(self, address=None):
        type(self).opened += 1
        return await super().open_listener(address)


def no_class_at_all():
    return None
'''
ENTRY_POINTS = """
[psephos.protocols]
bounded-total = survey_elsewhere:BoundedTotal
no-protocol = survey_elsewhere:Wire
lost = nowhere_at_all:Lost
renamed = survey_elsewhere:OldName

[psephos.transports]
wire = survey_elsewhere:Wire
no-transport = survey_elsewhere:Surveyor

[psephos.roles]
surveyor = survey_elsewhere:Surveyor
no-role = survey_elsewhere:no_class_at_all
"""
# States that nobody knows but three, with as many votes as the treaties gave to all together.
COUNCIL = [
    "country,v10,v25,p2007",
    *(f"Large {n},10,12,1" for n in range(4)),
    *(f"Middle {n},5,12,1" for n in range(3)),
    *(f"Small {n},3,12,1" for n in range(2)),
    "Least,2,12,1",
    *(f"New {n},,12,1" for n in range(14)),
    "Newest,,33,1",
    "Bulgaria,,10,1",
    "Romania,,14,1",
    "Croatia,,7,1",
]
FUND = ["country,vote_percentage", '"Alpha, Republic of3",51.00', "Beta,26.50", "CÃ´te3,12.25", "Delta3,10.24"]
ROLL_CALLS = [
    "rcid,session,date,unres,short",
    '3,1,1946-01-01,R/1/66,"AMENDMENTS, RULES"',
    "4,1,1946-01-02,,ELECTIONS",
    "6,1,1946-01-03,R/1/9,NOBODY VOTES",
    "7,1,1946-01-04,R/1/10,ALL ABSTAIN",
]
VOTES = [
    "rcid,country,country_code,vote",
    "3,Namibia,NA,yes",
    "3,Zanzibar,,no",
    "4,Namibia,NA,no",
    "3,Côte d’Ivoire,CI,abstain",
    "3,Peru,PE,yes",
    "7,Peru,PE,abstain",
]
SMALL = {
    "eu_council_weights/eucouncil_weights.csv": COUNCIL,
    "imf_votes/votes.csv": FUND,
    "un_general_assembly/un_roll_calls.csv": ROLL_CALLS,
    "un_general_assembly/un_votes.csv.gz": VOTES,
}


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: object
    out: str
    err: str

    @property
    def refusal(self) -> str:
        """The one line of a command that is refused: with status 2, and nothing else said."""
        assert (self.status, self.out, self.err.count("\n")) == (2, "", 1), self
        assert self.err.startswith("psephos: ")
        return self.err

    @property
    def questions(self) -> str:
        """What a refused command asks: a line, and perhaps one for each question."""
        assert (self.status, self.out, is_plain(self.err)) == (2, "", True), self
        return self.err


@pytest.fixture
def psephos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """The command line, run in this process and in a temporary folder."""
    monkeypatch.chdir(tmp_path)

    def command(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["psephos", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        captured = capsys.readouterr()
        return Ended(ending.value.code, captured.out, captured.err)

    return command


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file of the temporary folder and returns its path."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Installs a distribution of somebody else's; yields its module's name."""
    with installed(monkeypatch, tmp_path / "site", "survey_elsewhere", ENTRY_POINTS, SURVEY):
        yield "survey_elsewhere"


@pytest.fixture
def approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with an approval vote of somebody, which is registered: the current folder, with `tea.toml`."""
    (tmp_path / "tea.toml").write_text(approval_vote.SCENARIO, encoding="utf-8")
    (tmp_path / "ballots.csv").write_text(approval_vote.BALLOTS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with installed(monkeypatch, tmp_path / "site", "approval_vote", approval_vote.ENTRY_POINTS, approval_vote.SOURCE):
        yield tmp_path


@pytest.fixture(scope="session")
def real_sets() -> Path:
    """The real folder of data sets, or a skipped test."""
    named = os.environ.get("PSEPHOS_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder of data sets: neither PSEPHOS_DATA nor shared/data beside the checkout")
    return folder


@pytest.fixture
def put_set(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Writes a file of the small folder; text is packed where the name says so."""

    def put_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / "sets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode()
        path.write_bytes(content)
        return path

    return put_file


@pytest.fixture
def sets(put_set: Callable[[str, str | bytes], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small folder of data sets, which no variable names."""
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    for name, lines in SMALL.items():
        put_set(name, "\n".join(lines) + "\n")
    return tmp_path / "sets"


@pytest.fixture(scope="session")
def two_roll_calls(real_sets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the real lines of roll calls 1190 and 4801 alone: to read all of them takes seconds each time."""
    folder = tmp_path_factory.mktemp("roll-calls")
    votes = folder / "un_general_assembly" / "un_votes.csv.gz"
    votes.parent.mkdir()
    shutil.copy(real_sets / "un_general_assembly" / "un_roll_calls.csv", votes.parent)
    with gzip.open(real_sets / votes.relative_to(folder), "rb") as whole, gzip.open(votes, "wb") as few:
        few.writelines(line for line in whole if line.startswith((b"rcid,", b"1190,", b"4801,")))
    return folder


@pytest.fixture
def reproduction(reproduced: tuple[Any, ...]) -> Any:
    """The numbers of a paper that a module has run again."""
    return reproduced[0]


@pytest.fixture
def unmeasured_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep coverage out of how matplotlib writes a figure's files: to follow all of its lines doubles their time."""
    measuring = coverage.Coverage.current()
    figure: Any = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed").Figure
    save = figure.savefig

    @functools.wraps(save)
    def savefig(*given: Any, **options: Any) -> None:
        if measuring is not None:
            measuring.stop()
        try:
            save(*given, **options)
        finally:
            if measuring is not None:
                measuring.start()

    monkeypatch.setattr(figure, "savefig", savefig)
