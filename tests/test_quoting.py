"""That no test may quote what is private: planted sentences, each of which the watch of `conftest.py` finds."""

import base64
import functools
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import quoting
from psephos.agents import events, server
from psephos.agents.journal_file import JournalFile
from psephos.agents.journal_format import About, Row
from psephos.protocol.errors import ConfigurationError, PsephosError, RemoteProtocolError
from psephos.protocol.sides import Party
from psephos.scenarios.deployment import Joining
from psephos.scenarios.running.folder import RunFolder
from psephos.transports.keys import make_identity

ROW = [3, 1, -123_456_789]
LONG_ROW = [*ROW, 1, 2, 3, 4, 5]
SECRET = bytes(range(1, 33))


def logging_of(module: ModuleType) -> Callable[[str], object]:
    """Return what logs a reason by the function that a module has."""

    def log(reason: str) -> object:
        return vars(module)["log_unless_it_fails"](print, "party_dropped", reason=reason)

    return log


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (f"values are {ROW}: use values from 0 to 2", "a private row"),
        (f"row {tuple(ROW)} is not encoded", "a private row"),
        (f"it is {ROW[-1]}: use a value below 4", "a private number"),
        (f"the key {SECRET.hex()} does not open", "a secret"),
        (f"the key {SECRET!r} does not open", "a secret"),
    ],
)
@pytest.mark.parametrize(
    "say",
    [
        PsephosError,
        functools.partial(RemoteProtocolError, sender="ada"),
        logging_of(events),
        logging_of(server),
    ],
)
def test_what_quotes_something_private_is_found(told: str, kind: str, say: Callable[[str], object]) -> None:
    Party("ada", 0, ROW, secret=SECRET)
    say("use values from 0 to 2")
    assert not quoting.found()
    say(told)
    found = quoting.found()
    quoting.begin()  # or this test would fail by it
    assert found.endswith(f"quotes {kind}")


def a_folder(path: Path) -> RunFolder:
    """Return a folder of a party's, beside which nothing of it is known yet."""
    quoting.begin()
    Party("ada", 0, LONG_ROW, secret=SECRET)
    folder = RunFolder(path)
    folder.write_json("run.json", {"party": "ada", "server": "127.0.0.1:1"})
    return folder


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (json.dumps({"row": LONG_ROW}).encode(), "quotes a private row"),
        (",".join(map(str, LONG_ROW)).encode(), "quotes a private row"),
        (b"ada,-123456789", "quotes a private number"),
        (b"\x00" + SECRET, "quotes a secret"),
        (base64.b64encode(SECRET), "quotes a secret"),
        (make_identity().text.encode(), "holds a private key"),
        (b"weight is 'seven': use 1 or 2", "quotes what was given for weight"),
        (b"weight, 'seven', use 1 or 2", "quotes what was given for weight"),
        (b"ada prefers b > a > c", "quotes an entry of ranking"),
    ],
)
def test_a_file_that_quotes_something_private_is_found(tmp_path: Path, content: bytes, kind: str) -> None:
    folder = a_folder(tmp_path / "run")
    ConfigurationError(field="weight", value="seven", allowed="1 or 2")
    Joining(address="", party="ada", entries={"ranking": "b > a > c", "weight": "7"}, seed=None)
    folder.write_bytes("fine.csv", b"ada,1,weight: use 1 or 2")
    assert not quoting.found()
    folder.write_bytes("left.csv", content)
    found = quoting.found()
    quoting.begin()
    assert found == f"left.csv {kind}"


def test_a_file_that_others_can_read_is_found(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "run")
    (folder.path / "run.json").chmod(0o644)
    found = quoting.found()
    quoting.begin()
    assert found == "run.json can be read by others"


@pytest.mark.parametrize(("body", "kind"), [(SECRET, "a secret"), (make_identity().text.encode(), "a private key")])
def test_a_journal_that_holds_what_it_may_not_is_found(tmp_path: Path, body: bytes, kind: str) -> None:
    Party("ada", 0, ROW, secret=SECRET)
    journal, _ = JournalFile.open(tmp_path / "journal.sqlite", About(kind="person"))
    with journal:
        journal.append([Row("one", "left", None, str(ROW).encode())])
        assert not quoting.found()
        journal.append([Row("two", "left", None, body)])
        found = quoting.found()
        quoting.begin()
        assert found.startswith("journal.sqlite")
        assert found.endswith(f"holds {kind}")
