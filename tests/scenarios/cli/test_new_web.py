"""From a file of names to a page in the browser: `new vote FILE --web`, and the command that it prints."""

import shlex
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import msgspec
import pytest
import trio
from bad_input import Psephos, Write
from deployments import Process
from psephos.agents import Partner
from psephos.protocol import Party
from psephos.scenarios import load_scenario, resolve_served
from psephos.scenarios.deployment.common import make_mode, with_descriptor
from psephos.scenarios.deployment.invitations import read_server_session
from psephos.scenarios.deployment.links import read_links
from runs import read_json
from terminals import Terminal
from test_documents import ROOT, blocks_of, files_of
from web_parties import SEAT, Browser, free_port, links_in

NAMES: Final = "name,email\nAnn,ann@example.org\nBob,bob@example.org\nCid,cid@example.org\n"
HERE: Final = "http://127.0.0.1:8000"
HAS_VOTES: Final = (
    "Partners answer on the page, and nothing in the file counts as an answer. Empty this column, or leave out --web "
    "to count it. If it holds no votes,"
)


def command_in(out: str) -> list[str]:
    """Return the words of the command that was printed last, as a shell takes it."""
    return shlex.split(out.strip().splitlines()[-1])


async def vote_by(link: str, folder: Path, scenario: str, entries: dict[str, str]) -> None:
    """Take part as a browser does that was sent this link."""
    side = resolve_served(load_scenario(scenario), roster=folder)
    table = read_links(folder)
    assert table is not None
    fingerprints = side.fingerprints or ()
    opening, _ = read_server_session(folder, fingerprints=fingerprints, linked_fingerprints=table.fingerprints)
    browser = Browser(link)
    row = side.protocol.encode({column: [entry] for column, entry in entries.items()}).private[0].tolist()
    party = Party(side.names[browser.place], browser.place, row)
    descriptor = msgspec.structs.replace(opening.descriptor, roster=side.roster.digest)
    client = Partner(side.protocol, party, with_descriptor(make_mode(side.scenario.name, seed=None), descriptor))
    async with await browser.connect() as channel:
        assert (await browser.greet(channel))[0] == SEAT
        await client.take_part(channel)


@pytest.mark.parametrize(
    ("content", "options", "entries"),
    [
        (NAMES, ("--partner", "name"), {"weight": "1"}),
        ("name;shares\nAnn;1\nBob;2\nCid;2\n", ("--weight", "shares", "--public-weights"), {"weight": "1"}),
        ("name;shares\nAnn;1\nBob;2\nCid;2\n", ("--weight", "shares"), {"weight": "2"}),
        ("name\nAnn\nBob\nCid\n", ("--trust", "central"), {"weight": "1"}),
    ],
    ids=["names", "public weights", "private weights", "central"],
)
async def test_two_commands_lead_from_names_to_a_result(
    psephos: Psephos,
    write: Write,
    tmp_path: Path,
    content: str,
    options: tuple[str, ...],
    entries: dict[str, str],
) -> None:
    write("members.csv", content)
    origin = f"http://127.0.0.1:{free_port()}"
    first = psephos(
        *("new", "vote", "members.csv", "--web", origin, "--candidate", "A new roof?", "--epsilon", "25", *options)
    )
    assert first.status == 0
    program, *words = command_in(first.out)
    port = origin.rpartition(":")[2]
    assert [program, *words] == ["psephos", *f"serve members.toml --roster members --web {port} --web-hours 24".split()]
    links = links_in(Path("members/links.csv"))
    assert list(links) == ["Ann", "Bob", "Cid"]
    assert "members/links.csv: a link for each of 3 of them" in first.out
    with Process(*words, "--web-hours", "0", "--listen", "127.0.0.1:0", "--out", "held", folder=tmp_path) as server:
        server.address()
        async with trio.open_nursery() as nursery:
            for link in links.values():
                nursery.start_soon(vote_by, link, Path("members"), "members.toml", {**entries, "A new roof?": "1"})
        ending = await trio.to_thread.run_sync(server.ending)
    assert ending.status == 0, ending
    assert "A new roof?" in ending.out
    (result,) = read_json("held/result.json")["outcome"]["candidates"]
    assert (result["name"], result["leaning"]) == ("A new roof?", "yes")


def test_the_manuals_page_has_the_command_that_is_printed(psephos: Psephos, write: Write) -> None:
    """With the board of another page, which has weights."""
    first, second = blocks_of(ROOT / "docs" / "web.md", "console")[0].strip().splitlines()
    write("board.csv", files_of(ROOT / "docs" / "operations.md")["board.csv"])
    ended = psephos(*shlex.split(first)[1:])
    assert (ended.status, command_in(ended.out)) == (0, shlex.split(second))
    assert "Each partner chooses its own on the page." in ended.out


def test_a_workbook_is_as_good_and_empty_columns_may_be_questions(psephos: Psephos) -> None:
    rows = (("Mitglied", "Roof", "Remarks"), ("Ann", "", "late"), ("Bob", "", ""))
    cells = ("".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) for row in rows)
    sheet = "".join(f'<row r="{number}">{row}</row>' for number, row in enumerate(cells, start=1))
    kind, relations = "openxmlformats.org", "officeDocument/2006/relationships"
    with zipfile.ZipFile("Our members.xlsx", "w") as packed:
        for name, path, to in (
            ("_rels/.rels", "officeDocument", "xl/workbook.xml"),
            ("xl/_rels/workbook.xml.rels", "worksheet", "worksheets/s.xml"),
        ):
            link = f'<Relationship Id="rId1" Type="http://schemas.{kind}/{relations}/{path}" Target="{to}"/>'
            packed.writestr(
                name, f'<Relationships xmlns="http://schemas.{kind}/package/2006/relationships">{link}</Relationships>'
            )
        spaces = f'xmlns="http://schemas.{kind}/spreadsheetml/2006/main" xmlns:r="http://schemas.{kind}/{relations}"'
        sheets = '<sheets><sheet name="Members" sheetId="1" r:id="rId1"/></sheets>'
        packed.writestr("xl/workbook.xml", f"<workbook {spaces}>{sheets}</workbook>")
        packed.writestr("xl/worksheets/s.xml", f"<worksheet {spaces}><sheetData>{sheet}</sheetData></worksheet>")
    ended = psephos("new", "Our members.xlsx", "--candidate", "Roof", "--candidate", "A garden", "--web")
    assert ended.status == 0
    assert "Not used: Remarks." in ended.out
    assert [link.partition("/vote#")[0] for link in links_in(Path("our-members/links.csv")).values()] == [HERE] * 2
    tables = tomllib.loads(Path("our-members.toml").read_text(encoding="utf-8"))
    assert tables["trust"] == "local"
    assert tables["parameters"]["candidates"] == ["Roof", "A garden"]
    terms = read_json("our-members/web.json")
    assert (terms["parameters"]["variant"], terms["parameters"]["weights"]) == ("joint", [1.0])
    assert (
        Path("our-members.toml")
        .read_text(encoding="utf-8")
        .startswith(
            "# Made by `psephos new vote 'Our members.xlsx' --web`. "
            f"Draw up new links: psephos roster our-members.toml --links {HERE}\n"
        )
    )


def test_a_file_with_one_column_names_who_may_vote(psephos: Psephos, write: Write) -> None:
    write("board.csv", "Vorstand\nÅsa\nJürgen\nLi\n")
    assert psephos("new", "vote", "board.csv", "--candidate", "x", "--web").status == 0
    assert list(links_in(Path("board/links.csv"))) == ["Åsa", "Jürgen", "Li"]


@pytest.mark.parametrize(
    ("origin", "address", "said"),
    [
        ("http://localhost:9000", "localhost:9000", ""),
        ("http://127.0.0.1", "127.0.0.1:80", ""),
        ("http://[::1]:9000", "[::1]:9000", ""),
        ("https://vote.example.org", "8000", "behind a proxy that passes https://vote.example.org on to port 8000"),
    ],
)
def test_the_command_fits_the_links_and_a_shell(
    psephos: Psephos, write: Write, origin: str, address: str, said: str
) -> None:
    Path("-our $HOME").mkdir()
    write("names.csv", "name\nAnn\nBob\n")
    ended = psephos("new", "vote", "names.csv", "--candidate", "x", "--to", "-our $HOME/it's.toml", "--web", origin)
    assert ended.status == 2  # a scenario's name is no such word
    ended = psephos("new", "vote", "names.csv", "--candidate", "x", "--to", "-our $HOME/roof", "--web", origin)
    assert (ended.status, said in ended.out) == (0, True)
    assert command_in(ended.out) == [
        *("psephos", "serve", "./-our $HOME/roof.toml", "--roster", "-our $HOME/roof", "--web", address),
        *("--web-hours", "24"),
    ]


CASES: Final[dict[str, tuple[str, tuple[str, ...], str]]] = {
    "votes": (
        "name,roof\nAnn,yes\nBob,no\n",
        ("--candidate", "A roof", "--web"),
        f"roof (own.csv line 2): {HAS_VOTES} add --leave-out roof.",
    ),
    "a vote": (
        "name,roof\nAnn,\nBob,later\n",
        ("--candidate", "roof", "--web"),
        f"roof (own.csv line 3): {HAS_VOTES} name the question otherwise.",
    ),
    "no question": (
        "name,roof\nAnn,\nBob,\n",
        ("--web",),
        "--candidate: what do partners answer yes or no to: a title of yours, or an empty column? One of roof",
    ),
    "nothing to choose": ("name\nAnn\nBob\n", ("--web",), "--candidate: what do partners answer yes or no to"),
    "an origin": (NAMES, ("--candidate", "x", "--web", "http://vote.example.org"), "Write https://."),
    "words": (NAMES, ("--candidate", "x", "--yes", "aye", "--web"), "--yes: Leave it out beside --web"),
    "rounding": (
        "name,weight\nAnn,1\nBob,2\n",
        ("--candidate", "x", "--round-weights", "5%", "--web"),
        "--round-weights: Leave it out beside --web",
    ),
    "many weights": (
        "name,weight\n" + "".join(f"p{n},{n}\n" for n in range(1, 7)),
        ("--candidate", "x", "--web"),
        "6 different weights are too many for the page, which lists them. Add --public-weights, where everybody knows",
    ),
    "one question twice": (NAMES, ("--candidate", "x", "--candidate", "x", "--web"), "distinct names"),
    "a reserved name": (NAMES, ("--candidate", "weight", "--web"), "other than"),
    "a name twice": ("name\nAnn\nAnn\nBob\n", ("--candidate", "x", "--web"), "--repeats: 'name' names 2 persons"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_said_and_nothing_is_written(psephos: Psephos, write: Write, case: str) -> None:
    content, options, sentence = CASES[case]
    write("own.csv", content)
    ended = psephos("new", "vote", "own.csv", *options)
    assert ended.status == 2
    assert (ended.out, sentence in ended.err) == ("", True), ended
    assert [path.name for path in Path().iterdir()] == ["own.csv"]


def test_a_column_that_is_no_vote_is_left_out_where_that_is_said(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,active\nAnn,yes\nBob,no\n")
    assert psephos("new", "vote", "own.csv", "--candidate", "x", "--leave-out", "active", "--web").status == 0


def test_without_a_file_nobody_may_vote(psephos: Psephos) -> None:
    assert "psephos new vote FILE --web" in psephos("new", "vote", "--web").refusal
    assert list(Path().iterdir()) == []


def test_links_that_may_have_been_sent_stay(psephos: Psephos, write: Write) -> None:
    write("own.csv", NAMES)
    words = ("new", "vote", "own.csv", "--candidate", "x", "--web")
    assert psephos(*words).status == 0
    links = Path("own/links.csv").read_bytes()
    refusal = psephos(*words).refusal
    assert "There is a folder own already, perhaps with links that were sent. Add --out with a new folder." in refusal
    assert Path("own/links.csv").read_bytes() == links
    assert psephos(*words, "--out", "own-2").status == 0


@pytest.mark.parametrize("failure", [OSError("full"), KeyboardInterrupt()], ids=["full", "interrupted"])
def test_a_failure_half_way_leaves_nothing(
    psephos: Psephos, write: Write, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise failure

    write("own.csv", NAMES)
    monkeypatch.setattr("psephos.scenarios.deployment.links.write_links", fail)
    assert psephos("new", "vote", "own.csv", "--candidate", "x", "--web").status != 0
    assert [path.name for path in Path().iterdir()] == ["own.csv"]


@pytest.mark.few(most=1)
def test_a_terminal_is_asked_for_the_question(write: Write, tmp_path: Path) -> None:
    write("own.csv", "name\nAnn\nBob\n")
    with Terminal("new", "vote", "own.csv", "--web", folder=tmp_path) as terminal:
        terminal.answer("What do partners answer yes or no to: a title of yours, or an empty column?", "The roof")
        terminal.answer("May the person who counts see the votes? (yes, no): ", "no")
        assert terminal.ending() == 0, terminal.seen
    assert "The roof" in (tmp_path / "own.toml").read_text(encoding="utf-8")
