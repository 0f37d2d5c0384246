"""Rankings with ties and blanks, written in many forms: what a session counts is what another, short reader counts."""

import csv
import io
import itertools
import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from bad_input import Psephos
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.fair_voting import FairVoting
from psephos.scenarios.reading.headers import UnclearTableError
from psephos.scenarios.running.config import load_scenario, scenario_of
from psephos.scenarios.running.resolution import resolve
from thoroughness import draws

NAMES: Sequence[str] = ("pool", "rink", "ice hall", "path = way")
SILENT = ("", "undervote", "No opinion", "-")
Tiers = list[list[str]]


def drawn(generator: random.Random, *, has_ties: bool, is_complete: bool) -> Tiers:
    """Return what somebody ranks, the best first: perhaps with ties, perhaps not all."""
    names = generator.sample(NAMES, len(NAMES) if is_complete else generator.randint(1, len(NAMES)))
    tiers: Tiers = []
    for name in names:
        if tiers and has_ties and generator.random() < 0.4:
            tiers[-1].append(name)
        else:
            tiers.append([name])
    return tiers


def scores_of(ballots: list[Tiers]) -> dict[str, Fraction]:
    """Return each name's sum of Borda scores, the mean over all strict orders that a ballot allows, one by one."""
    sums = dict.fromkeys(NAMES, Fraction(0))
    for tiers in ballots:
        rest = [name for name in NAMES if name not in itertools.chain(*tiers)]
        orders = [
            list(itertools.chain(*own)) for own in itertools.product(*map(itertools.permutations, [*tiers, rest]))
        ]
        for order in orders:
            for place, name in enumerate(order):
                sums[name] += Fraction(len(NAMES) - 1 - place, len(orders))
    return sums


def as_places(tiers: Tiers, generator: random.Random) -> list[str]:
    place_of = {name: place for place, tier in enumerate(tiers, start=1) for name in tier}
    return [str(place_of.get(name, "")) or generator.choice(SILENT) for name in NAMES]


def as_scores(tiers: Tiers, generator: random.Random) -> list[str]:
    levels = sorted((generator.random() * 9 - 3 for _ in tiers), reverse=True)
    score_of = {name: f"{level:.6f}" for level, tier in zip(levels, tiers, strict=True) for name in tier}
    return [score_of.get(name) or generator.choice(SILENT) for name in NAMES]


def as_choices(tiers: Tiers, generator: random.Random) -> list[str]:
    cells = ["\n".join(tier) for tier in tiers]
    for _ in range(len(NAMES) - len(cells)):
        cells.insert(generator.randint(0, len(cells)), generator.choice(SILENT))
    return cells


def as_text(sign: str) -> Callable[[Tiers, random.Random], list[str]]:
    return lambda tiers, _: [sign.join(" = ".join(tier) for tier in tiers)]


def table(header: list[str], ballots: list[Tiers], cells: Callable[..., list[str]], generator: random.Random) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["voter", *header])
    writer.writerows([f"v{number}", *cells(own, generator)] for number, own in enumerate(ballots))
    return text.getvalue()


FORMS: Mapping[str, tuple[list[str], Callable[[Tiers, random.Random], list[str]], bool, Mapping[str, Any]]] = {
    "places": (list(NAMES), as_places, True, {"places": NAMES}),
    "scores": (list(NAMES), as_scores, True, {"scores": NAMES}),
    "choices": (
        [f"Rank {n}" for n in range(1, 5)],
        as_choices,
        True,
        {"choices": [f"Rank {n}" for n in range(1, 5)], "between": "\n"},
    ),
    "text": (["ranking"], as_text(" > "), True, {}),
    "semicolons": (["ranking"], as_text(";"), False, {"between": ";"}),
    "commas": (["ranking"], as_text(", "), False, {"between": ","}),
    "lines": (["ranking"], as_text("\n"), False, {"between": "\n"}),
}


def counted(scenario: str) -> dict[str, Fraction]:
    resolved = resolve(load_scenario(scenario))
    protocol = cast("FairVoting", resolved.protocol)
    (means,) = protocol.utilities_in(resolved.inputs)
    return {n: own * len(resolved.names) for n, own in zip(protocol.parameters.alternatives, means, strict=True)}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_in_any_form_counts_as_another_reader_counts_it(tmp_path: Path, form: str) -> None:
    header, cells, has_ties, options = FORMS[form]
    for seed in range(draws(4, full=60)):
        generator = random.Random(f"{form} {seed}")
        ballots = [drawn(generator, has_ties=has_ties, is_complete=False) for _ in range(12)]
        path = tmp_path / "own.csv"
        path.write_text(table(header, ballots, cells, generator), encoding="utf-8", newline="")
        voters = {
            "file": str(path),
            "ties": "mean",
            "not_ranked": list(SILENT[1:]),
            "alternatives": list(NAMES),
            **options,
        }
        parameters = {"groups": ["all"], "objective": "welfare", "epsilon": 1.0}
        scenario = {"name": "own", "title": "t", "protocol": "fair-voting", "voters": voters, "parameters": parameters}
        try:
            resolved = resolve(scenario_of(dict(scenario), folder=tmp_path))
        except UnclearTableError:  # its first ballot looks like a second line of the header, which is asked about
            resolved = resolve(scenario_of({**scenario, "voters": {**voters, "header": 1}}, folder=tmp_path))
        protocol = cast("FairVoting", resolved.protocol)
        (means,) = protocol.utilities_in(resolved.inputs)
        found = dict(zip(protocol.parameters.alternatives, (mean * len(ballots) for mean in means), strict=True))
        assert found == scores_of(ballots)


@pytest.mark.parametrize("form", FORMS)
def test_new_finds_the_form_or_asks_and_counts_the_same(psephos: Psephos, form: str) -> None:
    header, cells, has_ties, _ = FORMS[form]
    generator = random.Random(f"new {form}")
    ballots = [drawn(generator, has_ties=has_ties, is_complete=n < 4) for n in range(9)]
    Path("own.csv").write_text(table(header, ballots, cells, generator), encoding="utf-8", newline="")
    typed: dict[str, tuple[str, ...]] = {
        "scores": ("--score", "pool", "--score", "rink", "--score", "ice hall", "--score", "path = way")
    }
    typed |= dict.fromkeys(("semicolons", "commas", "lines"), ("--ranking", "ranking"))
    # Of a name that holds the sign of a tie the file alone does not tell.
    typed["text"] = tuple(word for name in NAMES for word in ("--alternatives", name))
    options = (*typed.get(form, ()), "--group", "none", "--ties", "mean")
    ended = psephos("new", "ranking", "own.csv", *options, "--to", "own.toml", "--no-run")
    if form == "places":  # points from 1 to n look alike
        assert "--numbers: what the numbers in " in ended.err
        ended = psephos("new", "ranking", "own.csv", *options, "--numbers", "places", "--to", "own.toml", "--no-run")
    assert (ended.status, ended.err) == (0, "")
    assert counted("own.toml") == scores_of(ballots)


@pytest.mark.parametrize("suffix", ["toi", "pb"])
def test_a_published_files_form_counts_as_another_reader_counts_it(tmp_path: Path, suffix: str) -> None:
    for seed in range(draws(4, full=60)):
        generator = random.Random(f"{suffix} {seed}")
        ballots = [drawn(generator, has_ties=suffix == "toi", is_complete=False) for _ in range(12)]
        numbers = {name: str(number) for number, name in enumerate(NAMES)}
        if suffix == "toi":
            lines = [",".join("{" + ",".join(numbers[name] for name in tier) + "}" for tier in own) for own in ballots]
            names = "".join(f"# ALTERNATIVE NAME {number}: {name}\n" for name, number in numbers.items())
            text = f"# NUMBER ALTERNATIVES: 4\n# NUMBER VOTERS: 12\n# NUMBER UNIQUE ORDERS: {len(set(lines))}\n{names}"
            text += "".join(f"1: {line}\n" for line in lines)
        else:
            lines = [",".join(numbers[name] for tier in own for name in tier) for own in ballots]
            text = "META\nkey;value\nnum_projects;4\nnum_votes;12\nvote_type;ordinal\nPROJECTS\nproject_id;name\n"
            text += "".join(f"{number};{name}\n" for name, number in numbers.items())
            text += "VOTES\nvoter_id;vote\n" + "".join(f"v{number};{line}\n" for number, line in enumerate(lines))
        (tmp_path / f"own.{suffix}").write_text(text, encoding="utf-8")
        (tmp_path / "own.toml").write_text(
            f'title = "t"\nprotocol = "fair-voting"\nvoters = "own.{suffix}"\n'
            '[parameters]\ngroups = ["all"]\nobjective = "welfare"\nepsilon = 1.0\n',
            encoding="utf-8",
        )
        assert counted(str(tmp_path / "own.toml")) == scores_of(ballots)


def test_choices_that_are_counted_in_words_are_found(psephos: Psephos, write: Callable[[str, str], Path]) -> None:
    first, second = (f"Congress {nth} Choice District 2" for nth in ("1st", "2nd"))
    write("own.csv", f"Record,{first},{second}\n1,Golden,Hoar\n2,Hoar,undervote\n3,Hoar,Golden\n4,Golden,Hoar\n")
    ended = psephos("new", "ranking", "own.csv", "--voter", "none", "--ties", "mean", "--no-run")
    assert ended.status == 0, ended.err
    table = tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["voters"]
    assert (table["choices"], table["alternatives"]) == ([first, second], ["Golden", "Hoar"])


CHOICES = "name,district,Choice 1,Choice 2\n"


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        (
            "Ann,N,A,B\nann ,S,B,A\ncy,N,A,B\ndi,S,A,B\n",
            "",
            "--repeats: Ann stands in lines 2, 3: which row counts, if that is one voter, or 'none'",
        ),
        (
            "Ann,N,A,B\nAnn,S,B,A\ncy,N,A,B\ndi,S,A,B\n",
            "--repeats none",
            "--repeats: Ann stands in lines 2, 3: which row counts? One of last, first\n",
        ),
        ("Ann,N,A,B\nbo,n,B,A\ncy,N,A,B\ndi,n,A,B\n", "", "'N' differ in case or blanks alone"),
        ("Ann,N,A,B\nbo,S,a,b\ncy,N,A,B\ndi,S,a,b\n", "--ties mean", "'A' differ in case or blanks alone"),
    ],
)
def test_names_of_voters_groups_and_alternatives_that_are_nearly_alike_are_asked_about(
    psephos: Psephos, rows: str, options: str, words: str
) -> None:
    Path("own.csv").write_text(CHOICES + rows, encoding="utf-8")
    questions = psephos("new", "ranking", "own.csv", "--no-run", "--group", "district", *options.split()).questions
    assert words in questions


@pytest.mark.parametrize(("repeats", "number"), [("none", 3), ("first", 2), ("last", 2)])
def test_whether_voters_whose_names_are_nearly_alike_are_one_is_said(
    psephos: Psephos, repeats: str, number: int
) -> None:
    Path("own.csv").write_text("voter,ranking\nAnn,A > B\nann,B > A\ncy,B > A\n", encoding="utf-8")
    ended = psephos("new", "ranking", "own.csv", "--no-run", "--to", "v.toml", "--repeats", repeats)
    assert (ended.status, ended.err) == (0, "")
    assert len(resolve(load_scenario("v.toml")).names) == number
    written = Path("v.toml").read_text(encoding="utf-8")
    Path("v.toml").write_text(written.replace(f'repeats = "{repeats}"', ""), encoding="utf-8")
    ended = psephos("run", "v.toml", "--set", "groups=['all']")
    assert "'Ann' in own.csv line 2 differ in case or blanks alone" in ended.err


def test_groups_that_are_nearly_alike_are_two_if_the_scenario_names_both(psephos: Psephos) -> None:
    Path("own.csv").write_text("voter,group,ranking\na,N,A > B\nb,n,B > A\n", encoding="utf-8")
    written = 'title = "x"\nprotocol = "fair-voting"\nvoters = "own.csv"\n[parameters]\nepsilon = 2.0\n'
    Path("v.toml").write_text(written, encoding="utf-8")
    assert "'N' differ in case or blanks alone" in psephos("run", "v.toml").err
    Path("v.toml").write_text(f'{written}groups = ["N", "n"]\n', encoding="utf-8")
    assert psephos("run", "v.toml").status == 0


@pytest.mark.parametrize("repeats", ["first", "last"])
def test_which_row_counts_needs_a_column_of_names(tmp_path: Path, repeats: str) -> None:
    (tmp_path / "own.csv").write_text("name,ranking\nAnn,a > b\nBob,b > a\n", encoding="utf-8")
    parameters = {"groups": ["all"], "objective": "welfare", "epsilon": 1.0}
    voters = {"file": str(tmp_path / "own.csv"), "repeats": repeats}
    scenario = {"name": "own", "title": "t", "protocol": "fair-voting", "voters": voters, "parameters": parameters}
    with pytest.raises(ConfigurationError, match=r"own.csv line 1 has no column 'voter', or voters"):
        resolve(scenario_of(scenario, folder=tmp_path))
