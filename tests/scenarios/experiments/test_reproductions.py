"""The one runner of reproductions, with a paper of somebody's: what it writes, shows and refuses, and its command."""

import csv
import io
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios import RunFolder, system
from psephos.scenarios.experiments import reproductions
from psephos.scenarios.experiments.findings import Finding
from psephos.scenarios.experiments.judging import judge_exact
from psephos.scenarios.experiments.measurements import Measurement
from psephos.scenarios.experiments.paper import Paper
from psephos.scenarios.experiments.reproductions import (
    Asked,
    Experiments,
    PaperPart,
    PaperReproduction,
    page_of,
    reproduce,
    show_reproduction,
)
from psephos.scenarios.presentation.drawing import Picture
from psephos.scenarios.tables import Table
from psephos.scenarios.verdicts import Judgement
from rich.console import Console

PAPER = Paper(
    help="Coins, tossed again.\n\n    All of them are made up.",
    experiments=f"{__name__}:EXPERIMENTS",
    trials=50,
    about_trials="Of each coin.",
    least_trials=10,
    most_trials=2_000,
    takes_data=True,
    takes_workers=True,
)
MADE: list[str] = []


class Coin(msgspec.Struct, frozen=True):
    """A coin, and what it showed."""

    name: str
    heads: Measurement | None


class Coins(PaperReproduction, frozen=True, kw_only=True):
    """All coins."""

    even_ones: tuple[Coin, ...]
    odd: tuple[Coin, ...]
    lost: tuple[Coin, ...]


def coins(*names: str) -> Iterator[Coin]:
    """Yield coins; they are tossed as somebody asks for them."""
    for name in names:
        MADE.append(name)
        yield Coin(name, Measurement(0.5, 0.125) if name == "a" else None)


def parts(asked: Asked) -> Iterator[PaperPart]:
    """Toss all coins."""
    yield PaperPart("the first", {"even_ones": coins("a"), "odd": coins("b")}, {"gold": "it is not there"})
    asked.tell(f"{asked.trials} {asked.seed} {asked.data} {asked.workers}")
    yield PaperPart(rows={"even_ones": coins("c")}, missing={"silver": "it is not there", "tin": "nobody has it"})


def on_paper(found: Coins) -> Iterator[Finding]:
    """Say what the paper says."""
    told = f"All {len(found.even_ones)} are."
    yield Finding(claim="Coins are fair.", source="Table 1", judgement=Judgement.HOLDS, numbers=told)
    yield Finding(claim="There are two.", source="Table 2", judgement=Judgement.REFUTED, numbers="There are three.")


def additions(found: Coins) -> Iterator[Finding]:
    """Say one thing more."""
    judgement = judge_exact(is_true=not found.lost)
    yield Finding(claim="Coins are round.", source="a reading", judgement=judgement, numbers="π is 3.1.")


def sheets(found: Coins) -> Iterator[Table]:
    yield Table(caption="Coins", columns=("name",), labels=0, rows=tuple((coin.name,) for coin in found.even_ones))


def pictures(found: Coins) -> dict[str, Picture]:
    names = ("heads", "tails") if found.lost else ("heads",)
    return {name: Picture(draw=lambda _: None, size=(2, 2)) for name in names}


EXPERIMENTS = Experiments(
    found=Coins,
    parts=parts,
    on_paper=on_paper,
    additions=additions,
    sheets=sheets,
    pictures=pictures,
    captions={"heads": "How many heads.", "tails": "How many tails."},
    title="Coins, tossed again",
    introduction="{run.trials:,} tosses, seed {run.seed}.",
    cells="{run.trials:,} tosses a coin",
    remarks=("Readings are read.",),
)
LACKS = [
    f"Not run on {what}. A folder is named by --data FOLDER or PSEPHOS_DATA, and has a folder for each data set."
    for what in ("gold, silver: it is not there", "tin: nobody has it")
]


@pytest.fixture
def reproduced(tmp_path: Path) -> tuple[Coins, Path, list[str]]:
    lines: list[str] = []
    MADE.clear()

    def tell(said: str, done: float, total: float) -> None:
        assert (done, total) == (len(lines), 0)  # nobody has said how many there are
        lines.append(f"{said} ({len(MADE)})")

    found = reproduce(PAPER, RunFolder(tmp_path / "run"), trials=2_000, seed=3, pictures=False, on_progress=tell)
    assert isinstance(found, Coins)
    return found, tmp_path / "run", lines


def test_the_csv_files_say_what_the_json_says_and_tables_without_rows_have_none(
    reproduced: tuple[Coins, Path, list[str]],
) -> None:
    found, path, lines = reproduced
    assert {file.name for file in path.iterdir()} == {
        "claims.csv",
        "even-ones.csv",
        "odd.csv",
        "reproduction.json",
        "study.json",
        "summary.md",
    }
    whole: dict[str, Any] = msgspec.json.decode((path / "reproduction.json").read_bytes())
    assert list(whole) == ["trials", "seed", "versions", "paper_findings", "own_findings", "missing", "tables"]
    assert (whole["trials"], whole["seed"]) == (2_000, 3)
    assert whole["missing"] == {"gold": "it is not there", "silver": "it is not there", "tin": "nobody has it"}
    assert whole["versions"].keys() == {"psephos", "numpy", "python"}
    assert whole["own_findings"][0]["numbers"] == "π is 3.1."
    assert whole["tables"]["even-ones"] == [
        {"name": "a", "heads": 0.5, "heads_standard_error": 0.125},
        {"name": "c", "heads": None, "heads_standard_error": None},
    ]
    for name, rows in whole["tables"].items():
        text = io.StringIO((path / f"{name}.csv").read_text(encoding="utf-8"), newline="")
        read = list(csv.DictReader(text))
        assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    assert [coin.name for coin in found.even_ones] == ["a", "c"]
    # Told before any of its rows are made.
    assert lines == ["the first (0)", "2000 3  0 (2)"]


def test_the_page_has_findings_pictures_and_tables(reproduced: tuple[Coins, Path, list[str]]) -> None:
    found, path, _ = reproduced
    assert (path / "summary.md").read_text(encoding="utf-8") == page_of(PAPER, found)
    page = page_of(PAPER, found, prefix="coins-").split("\n\n")
    assert page[:3] == ["# Coins, tossed again", "2,000 tosses, seed 3.", "Readings are read."]
    assert page[3:5] == LACKS
    assert page[5:11] == [
        "## What the paper says",
        "Of 2 claims 1 holds and 1 does not hold.",
        (
            "- **Holds.** Coins are fair. (Table 1) All 2 are.\n"
            "- **Does not hold.** There are two. (Table 2) There are three."
        ),
        "## What we add",
        "Of 1 claim 1 holds.",
        "- **Holds.** Coins are round. (a reading) π is 3.1.",
    ]
    assert page[11:15] == ["## Pictures", "![How many heads.](coins-heads.png)", "How many heads.", "## Tables"]
    assert page[15] == "**Coins**"
    assert not any("](" in line or line == "## Pictures" for line in page_of(PAPER, found, pictures=False).split("\n"))


def test_a_terminal_shows_tables_findings_and_notes(reproduced: tuple[Coins, Path, list[str]]) -> None:
    file = io.StringIO()
    show_reproduction(Console(file=file, width=300, color_system=None), PAPER, reproduced[0])
    lines = file.getvalue().splitlines()
    assert lines[-4:] == [*LACKS, "2,000 tosses a coin, seed 3; ± is one standard error", "Readings are read."]
    assert "does not hold: There are two. (Table 2)" in lines
    assert lines.index("What the paper says") < lines.index("What we add")
    assert "Coins" in lines[1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"trials": 9}, "--trials is 9: use a value from 10 to 2,000"),
        ({"trials": 2_001}, "--trials is 2001: use a value from 10 to 2,000"),
        ({"seed": -1}, "--seed is -1: use an integer >= 0"),
        ({"data": "nowhere"}, "data is 'nowhere': use a folder of data sets"),
        ({"workers": -1}, "--workers is -1: use at least 1, or 0 for one each core"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], error: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        reproduce(PAPER, RunFolder(tmp_path), **options)
    assert str(caught.value) == error
    assert list(tmp_path.iterdir()) == []


def test_somebody_s_paper_has_a_command(
    psephos: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coined = system.System(protocol="nowhere:Coins", reproduction=f"{__name__}:PAPER")
    monkeypatch.setattr(system, "systems", lambda: {"coins": coined, "other": system.System(protocol="nowhere:Other")})
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    drawn: list[tuple[str, Path]] = []

    def save(pictures: Mapping[str, Picture], folder: Path) -> None:
        drawn.extend((name, folder) for name in pictures)

    monkeypatch.setattr(reproductions, "save_pictures", save)
    told = psephos("reproduce", "--help").out
    assert "coins  Coins, tossed again." in told
    assert "other" not in told
    told = psephos("reproduce", "coins", "--help").out
    for words in ("All of them are made up.", "Of each coin.  [default: 50]", "--data", "--workers", "--no-pictures"):
        assert words in told
    ended = psephos("reproduce", "coins", "--out", "out", "--data", str(tmp_path), "--workers", 2)
    assert ended.status == 0
    assert [line.strip() for line in ended.err.splitlines()[::2]] == ["the first", "pictures"]
    assert f"50 1 {tmp_path} 2" in ended.err.replace("\n", "")
    assert "\nEverything is in out\n  report.html " in ended.out
    assert drawn == [("heads", Path("out"))]
    assert psephos("reproduce", "other").status == 2


def test_of_one_s_own_data_nothing_is_said_that_is_computed_from_the_paper_s() -> None:
    """Its tables are then empty; that the runs end is tested with each paper, of some by `make verify` alone."""
    papers = {name: paper for name, paper in system.load_each("reproduction", Paper) if paper.own}
    assert papers.keys() == {"truth-discovery", "moral-preferences", "fair-voting"}
    assert all(pkgutil.resolve_name(paper.own_experiments).additions is None for paper in papers.values())
