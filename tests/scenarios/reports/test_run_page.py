"""A run's page: what it says, what it never says, and what a hostile name does to it, which is nothing."""

import base64
import contextlib
import functools
import hashlib
import json
import operator
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from bad_input import Psephos, Write
from page_parts import Parts
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios import RunFolder, load_scenario, resolve, run_in_folder
from psephos.scenarios.cli.reports import leave_page
from psephos.scenarios.presentation import seals
from psephos.scenarios.reports import REPORT, write_report
from runs import read_json
from thoroughness import draws

SMALL = ("--set", "count=20", "--no-pictures", "--transport", "array")
WATCHED = ("--set", "adversary=[{role='coalition', members=['server'], target='partner-1'}]", "--no-report")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}</table>",
    "=cmd|' /C calc'!A0",
    "javascript:alert(3)&amp;",
)


ANYTHING: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**400, 1.5, 1e308, "", "x", "9" * 5_000, "\u202e<b>"),
    *([], {}, [1], ["x"], [[]], [{}], {"a": 1}, {"a": {}}),
)
"""What may stand anywhere in a file of JSON that somebody else wrote."""


def ways_in(read: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value of what was read of a file of JSON, from the top."""
    yield way
    keys: list[Any] = []
    if isinstance(read, dict):
        keys = list(cast("dict[str, Any]", read))
    elif isinstance(read, list):
        keys = list(range(len(cast("list[Any]", read))))
    for key in keys:
        yield from ways_in(read[key], (*way, key))


def replaced(read: Any, way: tuple[Any, ...], value: object) -> Any:
    """Return what was read with another value at the end of a way."""
    if not way:
        return value
    inner = functools.reduce(operator.getitem, way[:-1], read)
    inner[way[-1]] = value
    return read


def page_in(folder: Path) -> Parts:
    """Return the page of a folder."""
    return Parts((folder / REPORT).read_text(encoding="utf-8"))


def test_a_page_and_a_comparison_explain_an_error_only_where_they_show_one(psephos: Psephos) -> None:
    """Of decisions alone they show the truth beside its share of all votes, and no error."""
    alone = ("--set", "release=decision", "--set", "public_weights=true", "--set", "count=20", "--no-pictures")
    for name, settings in (("alone", alone), ("again", alone), ("margins", alone[2:])):
        assert psephos("run", "trusted-count", *settings, "--out", name).status == 0
        assert ("±" in Path(name, REPORT).read_text(encoding="utf-8")) == (name == "margins")
    assert "True margin" in psephos("compare", "alone", "again").out
    assert "±" not in psephos("compare", "alone", "again").out
    assert "±" in psephos("compare", "alone", "margins").out


def test_a_run_leaves_a_page_that_says_what_came_of_it_and_what_it_cost(psephos: Psephos) -> None:
    assert psephos("run", "eu-council", "--out", "out", "--seed", "7").status == 0
    page = page_in(Path("out"))
    for said in (
        "The Council of the European Union votes on three proposals",
        "27 partners",
        "Rail corridors and Data act pass; Fishing quotas is undecided, leaning no.",
        "232 ± 19 (67 %)",
        "Whoever had no idea (50 : 50) ends at most 99.988 % sure of one person's vote (ε = 9).",
        "Nobody is trusted with private values",
        "Request: opinions",
        "randomized response, 3 times one opinion, ε ≤ 9 in all",
        "27 reports",
        "In this folder, to repeat it: psephos run scenario.json The seed is not kept here",
        "parties 27 listed",
        "parameters.quota 255.0",
    ):
        assert said in page.text, said
    assert [tag for tag, _ in page.tags].count("svg") == 2  # wide, and for phones


def test_no_report_leaves_none_and_python_writes_none(psephos: Psephos, tmp_path: Path) -> None:
    assert psephos("run", "consortium", *SMALL, "--no-report", "--out", "out").status == 0
    assert not Path("out", REPORT).exists()
    run_in_folder(resolve(load_scenario("consortium", ["count=20"])), RunFolder(tmp_path / "own"), pictures=False)
    assert not (tmp_path / "own" / REPORT).exists()


def test_what_fails_before_it_writes_anything_has_no_page_and_says_nothing_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`serve` with a journal that it refuses said first that its new folder is not the folder of a run."""
    with pytest.raises(ConfigurationError), leave_page(RunFolder(tmp_path), is_wanted=True):
        raise ConfigurationError(field="journal", value="version 3", allowed="of version 4")
    assert capsys.readouterr() == ("", "")
    assert not any(tmp_path.iterdir())


def test_a_page_is_made_again_from_the_folder_alone_and_is_the_same(psephos: Psephos) -> None:
    assert psephos("run", "consortium", "--set", "count=20", *WATCHED, "--out", "out").status == 0
    first = write_report(Path("out")).read_bytes()
    assert first.count(b"<svg ") == 2
    ended = psephos("report", "out")
    assert (ended.status, ended.out, ended.err) == (0, f"out/{REPORT}\n", "")
    assert Path("out", REPORT).read_bytes() == first
    assert psephos("report", "out", "--out", "elsewhere.html").status == 0
    assert Path("elsewhere.html").read_bytes() == first
    assert Path("elsewhere.html").stat().st_mode & 0o777 == 0o600
    ids = Counter(page_in(Path("out")).values("id"))
    assert ids.most_common(1)[0][1] == 1  # of two pictures, too


def test_a_page_may_load_nothing_and_runs_its_own_script_alone(psephos: Psephos) -> None:
    assert psephos("run", "consortium", "--set", "count=20", "--transport", "array", "--out", "out").status == 0
    page = page_in(Path("out"))
    (policy,) = [each["content"] for tag, each in page.tags if "http-equiv" in each and tag == "meta"]
    assert policy is not None
    assert "default-src 'none'" in policy
    text = Path("out", REPORT).read_text(encoding="utf-8")
    for kind in ("style", "script"):
        (content,) = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not any(name.startswith("on") or name == "style" for _, each in page.tags for name in each)
    for address in (*page.values("href"), *page.values("src")):
        assert address.startswith(("#", "data:")), address


@pytest.mark.bad_input("names with markup, quotes or marks that turn the direction of what follows")
def test_hostile_names_are_shown_and_obeyed_by_nothing(psephos: Psephos) -> None:
    candidates = json.dumps(HOSTILE, ensure_ascii=False)
    settings = ("--set", f"candidates={candidates}", "--set", f"yes_shares={[0.5] * len(HOSTILE)}")
    title = f"title={HOSTILE[0]} \u202emoc.live"
    ended = psephos("run", "consortium", "--set", "count=20", *settings, "--set", title, "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    text = Path("out", REPORT).read_text(encoding="utf-8")
    page = page_in(Path("out"))
    tags = Counter(tag for tag, _ in page.tags)
    assert (tags["script"], tags["img"], tags["h1"]) == (1, 0, 1)
    assert not any(name.startswith("on") for _, each in page.tags for name in each)
    assert "\u202e" not in text
    for name in (*HOSTILE, "�moc.live"):
        assert name in page.text
    downloads = [value for value in page.values("href") if value.startswith("data:text/csv")]
    files = [base64.b64decode(value.partition("base64,")[2]).decode() for value in downloads]
    assert any("'=cmd|" in file for file in files)  # no spreadsheet takes it for a formula
    assert not any("\n=cmd|" in file for file in files)


@pytest.fixture
def drawn(psephos: Psephos, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a run with its pictures, which a user drew who has used nothing before."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "first"))
    assert psephos("run", "consortium", "--set", "count=20", "--out", "drawn").status == 0
    assert (tmp_path / "first" / "psephos" / "pictures.key").stat().st_mode & 0o777 == 0o600
    return tmp_path / "drawn"


def pictures_of(folder: Path) -> tuple[int, int]:
    """Return how many pictures a folder's page has, narrow ones too, and how often it says that it leaves one out."""
    write_report(folder)
    page = page_in(folder)
    left_out = "picture of the folder is left out: nothing shows that you drew it from these results."
    return [tag for tag, _ in page.tags].count("svg"), page.text.count(left_out)


def test_the_pictures_of_somebody_elses_folder_are_left_out_and_the_page_says_so(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    moved = shutil.copytree(drawn, tmp_path / "moved")
    assert pictures_of(moved) == (2, 0)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "second"))
    assert pictures_of(moved) == (0, 1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "first"))
    assert pictures_of(moved) == (2, 0)


def _of_another_run(folder: Path, other: Path) -> None:
    for name in ("estimates.svg", "estimates-narrow.svg", "pictures.json"):
        shutil.copy(other / name, folder)


def _under_another_name(folder: Path, _other: Path) -> None:
    for name in ("estimates.svg", "estimates-narrow.svg"):
        shutil.copy(folder / name, folder / f"old-{name}")
    shutil.copy(folder / "old-estimates-narrow.svg", folder / "estimates.svg")
    told = json.loads((folder / "pictures.json").read_bytes())
    told["estimates.svg"] = told["estimates-narrow.svg"]
    (folder / "pictures.json").write_text(json.dumps(told), encoding="utf-8")


def _sealed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path, Path], None]:
    """Return what changes the seal of each picture."""

    def forge(folder: Path, _other: Path) -> None:
        seals_of = read_json(folder / "pictures.json")
        for own in seals_of.values():
            change(own)
        (folder / "pictures.json").write_text(json.dumps(seals_of), encoding="utf-8")

    return forge


def _with_one_digit_changed(folder: Path, _other: Path) -> None:
    text = (folder / "estimates-narrow.svg").read_text(encoding="utf-8")
    (folder / "estimates-narrow.svg").write_text(text.replace("%", "&#37;", 1), encoding="utf-8")


FORGED: dict[str, Callable[[Path, Path], object]] = {
    "of another run": _of_another_run,
    "under another name": _under_another_name,
    "of other results": lambda folder, _: (folder / "estimates.csv").write_text("candidate,estimate\na,1\n"),
    "of fewer results": _sealed(lambda own: own["of"].remove("estimates.csv")),
    "of what lies elsewhere": _sealed(lambda own: own["of"].append("../private")),
    "with one digit changed": _with_one_digit_changed,
    "with no code": lambda folder, _: (folder / "pictures.json").unlink(),
    "with a code that is none": _sealed(lambda own: own.update(code="ä")),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_picture_is_left_out(
    psephos: Psephos, drawn: Path, tmp_path: Path, forge: Callable[[Path, Path], object]
) -> None:
    assert psephos("run", "consortium", "--set", "count=20", "--seed", "5", "--out", "other").status == 0
    (tmp_path / "private").write_text("1", encoding="utf-8")
    forge(drawn, tmp_path / "other")
    assert pictures_of(drawn) == (0, 1)


def test_where_no_key_can_be_kept_the_run_itself_has_its_pictures_on_its_page(
    psephos: Psephos, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "full").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "full"))
    assert psephos("run", "consortium", "--set", "count=20", "--out", "out").status == 0
    assert b"<svg " in Path("out", REPORT).read_bytes()
    seals.key_of_this_process.cache_clear()
    assert pictures_of(tmp_path / "out") == (0, 1)


def test_a_key_of_which_a_crash_left_half_is_made_anew(drawn: Path, tmp_path: Path) -> None:
    key = tmp_path / "first" / "psephos" / "pictures.key"
    key.write_bytes(key.read_bytes()[:16])
    assert pictures_of(drawn) == (0, 1)
    assert len(key.read_bytes()) == 32


def test_a_picture_brings_no_code_and_no_address(psephos: Psephos, tmp_path: Path) -> None:
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    (tmp_path / "out" / "estimates.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" '
        'onload="alert(1)"><script>alert(2)</script><style>@import "http://evil.example/a.css"</style>'
        '<foreignObject><iframe src="http://evil.example"/></foreignObject><image href="http://evil.example/a.png"/>'
        '<a xlink:href="javascript:alert(3)"><text onclick="alert(4)">inside</text></a>'
        '<text style="fill: url(http://evil.example/b); stroke: red; background: url(x)" x="1">kept</text>'
        '<text style="fill: url(evil.example); clip-path: URL(#a) url(evil.example)" '
        'fill="url(#a) url(http://evil.example/c)">also</text></svg>',
        encoding="utf-8",
    )
    seals.seal(tmp_path / "out", [tmp_path / "out" / "estimates.svg"])
    write_report(tmp_path / "out")
    page = page_in(tmp_path / "out")
    assert "evil.example" not in (tmp_path / "out" / REPORT).read_text(encoding="utf-8")
    assert "kept" in page.text
    assert not any(name.startswith("on") for _, each in page.tags for name in each)
    assert {"iframe", "a href"}.isdisjoint(tag for tag, _ in page.tags)


@pytest.mark.parametrize(
    "content",
    [
        b"<svg",
        b'<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>'.encode("utf-16"),
        b"\xff<svg/>",
        b"<svg>" + b"<g>" * 5_000 + b"</g>" * 5_000 + b"</svg>",
    ],
)
def test_a_damaged_picture_is_refused(psephos: Psephos, content: bytes) -> None:
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    Path("out/estimates.svg").write_bytes(content)
    seals.seal(Path("out"), [Path("out/estimates.svg")])
    assert "SVG" in psephos("report", "out").refusal


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    "scenario",
    [
        "sybil",
        *(
            pytest.param(name, marks=pytest.mark.full("the same of another system"))
            for name in ("two-features", "two-societies", "hyper-laws")
        ),
    ],
)
def test_a_folder_that_anybody_may_have_written_has_a_page_or_is_refused(psephos: Psephos, scenario: str) -> None:
    """Whatever stands in whatever place of a file, there is a page or a sentence, and never another exception."""
    assert psephos("run", scenario, "--no-pictures", "--no-report", "--out", "out", "--seed", "1").status == 0
    rng = random.Random(scenario)
    places = [(path, way) for path in sorted(Path("out").glob("*.json")) for way in ways_in(read_json(path))]
    for path, way in rng.sample(places, min(len(places), draws(5, full=80))):
        whole = path.read_bytes()
        for value in rng.sample(ANYTHING, 3):
            path.write_text(json.dumps(replaced(json.loads(whole), way, value)), encoding="utf-8")
            with contextlib.suppress(ConfigurationError):
                write_report(Path("out"))
        path.write_bytes(whole)


def test_nothing_of_the_private_folder_is_in_a_page(psephos: Psephos) -> None:
    words = ("--set", "count=20", "--no-pictures", "--seed", "918273645", "--record")
    assert psephos("run", "consortium", *words, "--out", "plain").status == 0
    text = Path("plain", REPORT).read_text(encoding="utf-8")
    assert "918273645" not in text
    before = text
    Path("plain/private/simulation.json").write_text("not read", encoding="utf-8")
    write_report(Path("plain"))
    assert Path("plain", REPORT).read_text(encoding="utf-8") == before


def test_a_page_has_no_report_of_anybody_and_no_name_of_a_party(psephos: Psephos, write: Write) -> None:
    rows = "".join(f"Zebra{number},1,{number % 2}\n" for number in range(12))
    path = write("mine.csv", f"partner,weight,merger\n{rows}")
    words = ("--set", f"partners={path}", "--set", "noise=secure", "--set", "synthetic=false")
    ended = psephos("run", "consortium", *words, "--out", "out")
    assert (ended.status, ended.err) == (0, "")
    run, events = Path("out/run.json"), Path("out/events.jsonl")
    left = {"event": "party_dropped", "peer": "Zebra1", "reason": "Zebra1 says something else"}
    for told in ({}, {"parties_without_outcome": {"Zebra1": "it left", "Zebra2": "the connection was lost"}}):
        run.write_text(json.dumps(json.loads(run.read_bytes()) | told), encoding="utf-8")
        write_report(Path("out"))
        page = Path("out", REPORT).read_text(encoding="utf-8")
        assert "Zebra" not in page
        assert "tallies" not in page
        with events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(left) + "\n")
    assert "<dd><bdi>secure</bdi></dd>" in page


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_a_run_that_failed_leaves_a_page_that_says_why(psephos: Psephos) -> None:
    leaver = "adversary=[{role='drop-out', members=['partner-1']}]"
    ended = psephos("run", "consortium", "--set", "count=20", "--set", leaver, "--no-pictures", "--out", "out")
    assert ended.status == 1
    page = page_in(Path("out"))
    assert "No outcome: " in page.text
    assert "ends without an outcome" in page.text
    assert "drop-out, " in page.text


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_an_unfinished_folder_has_a_page_that_says_so(psephos: Psephos) -> None:
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    for name in ("run.json", "result.json", "estimates.csv", "ledger.jsonl"):
        Path("out", name).unlink()
    with Path("out/events.jsonl").open("ab") as file:
        file.write(b'{"event":"party_dropped","par": ' + b"[" * 100_000 + b"\n")
        file.write(b'{"event":"party_dropped","par')  # cut off as the process was killed
    assert psephos("report", "out").status == 0
    page = page_in(Path("out"))
    assert "the run has not ended, or its process was killed" in page.text
    assert "a run that has not ended does not say whom it trusts" in page.text


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "nowhere"), "RUN: There is no folder 'nowhere'"),
        (("report", "photos"), "neither run.json nor result.json"),
        (("report", "out", "--out", "photos/cat.jpg"), "Name a new file, or a report"),
        (("report", "out", "--out", "photos"), "Name a new file, or a report"),
        (("report", "out", "--out", "nowhere/report.html"), "cannot be written"),
    ],
)
def test_what_cannot_be_reported_is_refused_and_nothing_is_overwritten(
    psephos: Psephos, words: tuple[str, ...], said: str
) -> None:
    Path("photos").mkdir()
    Path("photos/cat.jpg").write_bytes(b"cat")
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    assert said in psephos(*words).refusal
    assert Path("photos/cat.jpg").read_bytes() == b"cat"
    assert not list(Path().rglob(".report-*"))


def test_a_page_that_cannot_be_written_fails_no_run(psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path) -> None:
        raise ConfigurationError(field="--out", value=str(folder), allowed="a file that can be written (full)")

    monkeypatch.setattr("psephos.scenarios.reports.write_report", refuse)
    ended = psephos("run", "consortium", *SMALL, "--out", "out")
    assert ended.status == 0
    assert "no report.html" in ended.err
    assert Path("out/result.json").exists()


def test_a_page_has_no_column_that_is_empty(psephos: Psephos) -> None:
    words = ("--transport", "array", "--no-pictures", "--out", "out")
    assert psephos("run", "canteen", *words).status == 0  # which tells no scores
    page = page_in(Path("out")).text
    assert "Alternative Wins True welfare" in page
    assert "Probability of best" not in page
    assert "± is" not in page


def test_no_line_of_a_page_ends_between_a_number_and_its_sign(psephos: Psephos) -> None:
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert (
        "at most 73.2\N{NO-BREAK SPACE}% sure of one person&#39;s vote (ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}1)."
        in page
    )


def test_a_word_for_the_model_of_trust_is_no_text_about_it(psephos: Psephos) -> None:
    run = ("run", "eu-council", "--transport", "array", "--no-pictures", "--set")
    for trust in ("central", "The council is honest."):
        assert psephos(*run, f"trust={trust}", "--out", trust[:3]).status == 0
        shown = Path(trust[:3], "report.html").read_text(encoding="utf-8")
        assert ("<bdi>The council is honest.</bdi>" in shown) is (" " in trust)
        assert "<p><bdi>central</bdi></p>" not in shown


def test_a_series_has_a_page_of_its_votes_and_of_what_each_person_lost(psephos: Psephos) -> None:
    assert psephos("run", "housing-cooperative", "--out", "out", "--no-pictures", "--seed", "7").status == 0
    page = page_in(Path("out"))
    for said in (
        "4 of 4 votes came to an outcome.",
        "Solar panels",
        "at most 99.988 % sure of one person's vote",
        "ε at most 6 for each partner in any 7 days, and 9 in all.",
        "Gauss",
        "the command that repeats it: psephos run housing-cooperative",
    ):
        assert said in page.text, said


@pytest.mark.bad_input("a series whose votes have titles, names and folders that somebody made up to do harm")
def test_hostile_votes_are_shown_and_no_folder_beside_the_series_is_opened(psephos: Psephos) -> None:
    assert psephos("run", "housing-cooperative", "--out", "out", "--no-pictures", "--seed", "7").status == 0
    study = read_json("out/study.json")
    study |= {"title": HOSTILE[0], "verdict": list(HOSTILE), "notes": list(HOSTILE)}
    Path("out/study.json").write_text(json.dumps(study), encoding="utf-8")
    losses = Path("out/losses.csv")
    losses.write_text(losses.read_text(encoding="utf-8").replace("Gauss", '"<b onload=""alert(4)"">Gauss"'), "utf-8")
    assert psephos("report", "out").status == 0
    page = page_in(Path("out"))
    tags = Counter(tag for tag, _ in page.tags)
    assert (tags["script"], tags["img"], tags["b"]) == (1, 0, 0)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    for name in HOSTILE[:4]:
        assert page.text.count(name) >= 2
    assert '<b onload="alert(4)">Gauss' in page.text
    assert "\u202e" not in page.text


def test_an_audit_in_the_folder_is_shown_on_a_runs_page(psephos: Psephos) -> None:
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    Path("out/audit").mkdir()
    study = {"kind": "Audit", "title": "Audit of k-rr", "verdict": ["No proof is refuted."]}
    table = {"name": "audit", "caption": "What an audit found"}
    Path("out/audit/study.json").write_text(json.dumps({**study, "tables": [table]}), encoding="utf-8")
    Path("out/audit/audit.csv").write_text("name,proven,audited\nk = 4,1.0,0.93\n", encoding="utf-8")
    assert psephos("report", "out").status == 0
    page = page_in(Path("out"))
    assert "No proof is refuted." in page.text
    assert "k = 4" in page.text
    Path("out/audit/study.json").write_text('{"tables": [{}]}', encoding="utf-8")
    assert psephos("report", "out").status == 2


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_a_truth_of_other_names_is_left_out_and_a_price_below_0_is_refused(psephos: Psephos) -> None:
    assert psephos("run", "eu-council", "--transport", "array", "--no-pictures", "--out", "out").status == 0
    result, run = (read_json(Path("out", name)) for name in ("result.json", "run.json"))
    Path("out/result.json").write_text(json.dumps({**result, "truth": {"quota": 3.0}}), encoding="utf-8")
    assert psephos("report", "out").status == 0
    assert "True support" not in page_in(Path("out")).text
    run["about"]["prices"]["replaced"] = -1e308
    Path("out/run.json").write_text(json.dumps(run), encoding="utf-8")
    assert psephos("report", "out").refusal


def test_a_protocol_of_somebody_else_has_the_whole_page(approval: Path, psephos: Psephos) -> None:
    assert psephos("run", "tea.toml", "--out", str(approval / "out")).status == 0
    page = page_in(approval / "out")
    for said in ("Privacy loss per person", "Trust", "Course of the session", "tea"):
        assert said in page.text


@pytest.mark.parametrize("status", [0, 1])
def test_open_gives_a_browser_the_file(psephos: Psephos, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    opened: list[str] = []

    def launch(url: str) -> int:
        opened.append(url)
        return status

    monkeypatch.setattr("click.launch", launch)
    assert psephos("run", "consortium", *SMALL, "--out", "out").status == 0
    ended = psephos("report", "out", "--open")
    assert (ended.status, ended.out) == (0, f"out/{REPORT}\n")
    assert opened == [Path("out", REPORT).resolve().as_uri()]
    assert ("no browser" in ended.err) == bool(status)
