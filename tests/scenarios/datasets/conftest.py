"""Folders of data sets: a small one that the tests write, and two of the real roll calls where those are."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

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


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
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
def sets(put: Callable[[str, str | bytes], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small folder of data sets, which no variable names."""
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    for name, lines in SMALL.items():
        put(name, "\n".join(lines) + "\n")
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
