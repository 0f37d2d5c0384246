"""The page on operations: its commands are run as they stand there, in their order, each as a process of its own.

Only the port is another one, since two runs of these tests may be under way.
"""

import dataclasses
import itertools
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

import pytest
from deployments import Ending, Process
from psephos.scenarios.deployment.rehearsal import reserve_address
from psephos.scenarios.running.folder import read_ledger
from runs import read_json
from terminals import Terminal
from test_documents import blocks_of, files_of

PAGE: Final = Path(__file__).parents[1] / "docs" / "operations.md"
README: Final = PAGE.parents[1] / "README.md"
ADDRESS: Final = "votes.example.org:7000"
pytestmark = pytest.mark.full("some thirty processes, one after another")
TYPED: Final = {"bob": "0", "cid": "1"}
"""What they answer who are asked, as on the page."""


@dataclasses.dataclass
class Operated:
    """What became of the page's commands.

    Args:
        folder: where they ran.
        ended: how each ended, by its line on the page.
    """

    folder: Path
    ended: dict[str, Ending]

    def one(self, beginning: str) -> Ending:
        (found,) = [ending for line, ending in self.ended.items() if line.startswith(beginning)]
        return found


class Operator:
    """Somebody who goes through the page.

    Args:
        folder: an empty one.
        address: of the server.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.operated = Operated(folder, {})
        self._folder, self._address = folder, address
        self._server: tuple[str, Process] | None = None
        self._parties: dict[str, Process] = {}
        self._terminals: dict[str, Terminal] = {}
        for name, text in files_of(PAGE).items():
            (folder / name).write_text(text, encoding="utf-8")

    def follow(self, lines: list[str]) -> Operated:
        for line, following in itertools.pairwise([*lines, ""]):
            program, *words = shlex.split(re.sub("<[^>]*>", "OF_SERVER", line).replace(ADDRESS, self._address))
            match program, words[0]:
                case "psephos", "serve":
                    self._server = line, Process(*words, folder=self._folder)
                    self._server[1].line_with("listening on ")
                case "psephos", "join" if "--input" in words:
                    self._parties[line] = Process(*words, folder=self._folder)
                case "psephos", "join":
                    self._terminals[line] = Terminal(*words, folder=self._folder)
                case "psephos", _:
                    with Process(*words, folder=self._folder) as process:
                        self.operated.ended[line] = process.ending()
                case "kill", _:
                    assert words == ["-TERM", "OF_SERVER"]
                    self._running.send(signal.SIGTERM)
                case _:
                    self._run(line, program, words)
            if " join " not in following and (self._parties or self._terminals or program == "kill"):
                self._end()
        return self.operated

    @property
    def _running(self) -> Process:
        assert self._server is not None
        return self._server[1]

    def _run(self, line: str, program: str, words: list[str]) -> None:
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"there is no {program} here")
        ended = subprocess.run([path, *words], cwd=self._folder, capture_output=True, text=True, check=False)  # noqa: S603  the page's own
        self.operated.ended[line] = Ending(ended.returncode, ended.stdout, ended.stderr)

    def _end(self) -> None:
        """Wait for everybody who takes part."""
        ended = self.operated.ended
        for line, terminal in self._terminals.items():
            name = re.sub(r".*-(\w+)\.json .*", r"\1", line)
            terminal.answer("merger (yes or no): ", TYPED[name])
        for line, terminal in self._terminals.items():
            ended[line] = Ending(terminal.ending(), terminal.seen, "")
        for line, process in [*self._parties.items(), *([self._server] if self._server else [])]:
            ended[line] = process.ending()
        self.close()

    def close(self) -> None:
        for process in [*self._parties.values(), *self._terminals.values(), *([self._running] if self._server else [])]:
            with process:
                pass
        self._server = None
        self._parties.clear()
        self._terminals.clear()


def commands(page: Path) -> list[str]:
    """Return the lines of a page's commands, in their order."""
    lines = [line for block in blocks_of(page, "console") for line in block.splitlines()]
    return [line.partition("  #")[0].strip() for line in lines if line]


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Operated:
    """What became of the page's commands, all of them run."""
    with reserve_address() as address:
        operator = Operator(tmp_path_factory.mktemp("operations"), address)
        try:
            return operator.follow(commands(PAGE))
        finally:
            operator.close()


def test_every_command_of_the_page_ends_as_the_page_says(operated: Operated) -> None:
    expected = {
        line: 143 if line.endswith("--out stopped") else 0 for line in commands(PAGE) if not line.startswith("kill ")
    }
    assert {line: ended.status for line, ended in operated.ended.items()} == expected, operated.ended
    words = {line.split()[1] for line in expected if line.startswith("psephos ")}
    assert words == {"rehearse", "enroll", "roster", "serve", "revoke", "join", "ledger", "tally"}


def test_reports_that_are_counted_again_have_the_outcome_of_their_session(operated: Operated) -> None:
    session, counted, again = (
        read_json(operated.folder / name / "result.json") for name in ("session", "counted", "counted-again")
    )
    assert counted["outcome"] == again["outcome"] == session["outcome"]
    assert counted["tallies"] == again["tallies"] == session["tallies"]


def test_a_rehearsal_prints_what_it_runs_and_says_who_heard(operated: Operated) -> None:
    first, second = (ended for line, ended in operated.ended.items() if " rehearse " in line)
    assert "and 2 more like it; --show-commands prints all" in first.out
    assert second.out.count("\n  psephos join rehearsal/vote/invitations/") == 3
    for ended in (first, second):
        assert "3 of 3 partners heard what the server released" in ended.out
    assert {path.name for path in (operated.folder / "rehearsal").iterdir()} == {"vote", "values", "server", "parties"}


def test_what_is_typed_counts_as_what_is_in_a_file(operated: Operated) -> None:
    for session, parties in (("session", "2031"), ("session-2032", "2032")):
        result = read_json(operated.folder / session / "result.json")
        assert result["received"] == {"opinions": 3}, parties
    assert [entry.proven for entry in read_ledger(operated.folder / "bob-2031")] == [1.0]


def test_the_one_that_is_stopped_has_said_so(operated: Operated) -> None:
    run = read_json(operated.folder / "stopped" / "run.json")
    assert run["failure"]["error"] == "KeyboardInterrupt"


def test_a_renewed_key_is_the_one_that_opens(operated: Operated) -> None:
    """The page's openssl shows the end that `enroll` has said, and the old key fits no new invitation."""
    said = re.search(r"until (\d{4})-(\d{2})-(\d{2});", operated.one("psephos enroll Bob --out bob").out)
    assert said is not None
    shown = operated.one("openssl ").out
    assert re.fullmatch(rf"notAfter=\w{{3}} +{int(said[3])} [\d:]+ {said[1]} GMT\n", shown)
    words = ("join", "vote-2032/invitations/2-bob.json", "--key", "bob", "--input", "own.csv", "--out", "old")
    with Process(*words, folder=operated.folder) as process:
        ended = process.ending()
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert ended.err.startswith("psephos: give --key: the folder of the keys of 'Bob'")


@pytest.mark.full("27 processes at once")
def test_the_readmes_rehearsal_runs_as_printed(tmp_path: Path) -> None:
    (line,) = [line for line in commands(README) if line.startswith("psephos rehearse ")]
    with Process(*shlex.split(line)[1:], folder=tmp_path, is_measured=False) as process:
        ended = process.ending()
    assert (ended.status, ended.err) == (0, "")
    assert "27 of 27 partners heard what the server released" in ended.out
