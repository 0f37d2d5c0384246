"""Bad input of moral preferences, by the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write, check_refused
from golden import tables_beside
from machine_files import write_moral_machine_like
from runs import read_json

CHOICES_FINE = "voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\nbob,1,1,3,0\nbob,1,0,2,2\n"
CHOICES = tables_beside(__file__, "refused.toml")["choices"]


@pytest.mark.bad_input(
    "a voter without records; records of different width",
    "a voter's epsilon ≤ 0; a voter without one, or with two",
    "a bound ≤ 0",
    "fractions of groups that do not add up to 1",
    "a response without its second row; unknown characters or columns; a truncated file",
)
@pytest.mark.parametrize("case", CHOICES)
def test_a_wrong_survey_gets_one_sentence_status_2_and_no_folder(psephos: Psephos, write: Write, case: str) -> None:
    own = CHOICES[case]
    write("own.csv", own.get("content", CHOICES_FINE))
    write("zero.csv", "voter,epsilon\nann,1\nbob,0\n")
    write("one.csv", "voter,epsilon\nann,1\n")
    write("two.csv", "voter,epsilon\nann,1\nbob,1\nann,2\n")
    write("own.toml", 'protocol = "moral-preferences"\nvoters = "own.csv"\n[parameters]\nparadigm = "VLCP"\n')
    check_refused(psephos, "own.toml", own.get("set", ()), own["said"])


def responses_of(psephos: Psephos, change: Callable[[list[str]], str], *settings: str, stream: bool) -> Any:
    """Run the Moral Machine of a made-up file that was changed, and return how that ended."""
    path = Path("responses.csv")
    write_moral_machine_like(path, voters=4, records=2, shuffle=False)
    path.write_text(change(path.read_text(encoding="utf-8").splitlines(keepends=True)), encoding="utf-8")
    settings = (f"voters.responses={path}", *settings, *(("voters.stream=true",) if stream else ()))
    options = [word for setting in settings for word in ("--set", setting)]
    words = ("--transport", "array", "--no-pictures", "--out", "out")
    return psephos("run", "moral-machine", *words, *options)


RESPONSES: dict[str, tuple[Callable[[list[str]], str], list[str]]] = {
    "an unknown character": (
        lambda lines: "".join([lines[0], lines[1].rstrip()[:-1] + "9\n", *lines[2:]]),
        ["responses.csv line 2"],
    ),
    "an unknown column": (
        lambda lines: "".join([lines[0].replace("Cat", "Cow"), *lines[1:]]),
        ["responses.csv line 1", "missing: Cat"],
    ),
    "a file that ends within a line": (lambda lines: "".join(lines)[:-12], ["responses.csv line 17"]),
    "a header alone": (lambda lines: lines[0], ["responses.csv"]),
}


@pytest.mark.bad_input("a response without its second row; unknown characters or columns; a truncated file")
@pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize("case", list(RESPONSES))
def test_wrong_responses_get_one_sentence_and_status_2(psephos: Psephos, case: str, *, stream: bool) -> None:
    change, words = RESPONSES[case]
    ended = responses_of(psephos, change, stream=stream)
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    for word in words:
        assert word in ended.err
    assert not Path("out/result.json").exists()
    assert Path("out").exists() <= stream  # a stream is read while it runs


@pytest.mark.bad_input("nothing accepted is lost")
@pytest.mark.parametrize("stream", [False, True], ids=["at once", "streamed"])
@pytest.mark.parametrize("settings", [(), ("synthetic=true",)], ids=["real", "made up"])
def test_what_is_read_is_a_record_or_counted(psephos: Psephos, settings: tuple[str, ...], *, stream: bool) -> None:
    """Of sixteen rows one is missing: its response is dropped and counted, and the other seven are records.

    No ε pays for that count, so that the folder of real voters does not have it.
    """
    ended = responses_of(psephos, lambda lines: "".join([*lines[:3], *lines[4:]]), *settings, stream=stream)
    assert (ended.status, ended.err) == (0, "")
    note = "7 records of 4 voters, from 15 rows; responses dropped: 1 without a second row"
    assert note in " ".join(ended.out.split())
    assert read_json("out/run.json").get("parties") == (note if settings else None)
