"""What bad input there is, and what it gets: a sentence with field, value and limit, a status, and nothing half-done.

Each item of `ITEMS` is tested by the tests marked `bad_input` with its words, wherever they stand, and which
`pytest -m bad_input` runs; `scenarios/test_bad_input.py` fails where an item has no test.
"""

import contextlib
import re
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from psephos.protocol.errors import ConfigurationError

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

ITEMS: Final = (
    # Any session.
    "epsilon ≤ 0, nan, inf",
    "a weight outside the public set",
    "an opinion other than 0 or 1",
    "a missing, doubled or unknown partner or column, with its line",
    "no partners",
    "no candidates",
    "a quota ≤ 0 or above the total",
    "an unknown scenario, key or transport",
    "a level outside (0, 1/2)",
    "an unreachable or a taken address",
    "a folder that others may write to",
    "a page for monitors at no address of this machine",
    "a peer of another version, session or kind",
    "another's certificate, one that is on no roster, one that has expired",
    "oversized, truncated or garbage frames",
    "a report in the wrong phase",
    "a second, different report",
    "the same report again",
    "a partner that vanishes",
    "a partner that stalls",
    "a partner that never reads",
    "Ctrl-C on either side",
    # Weighted votes.
    "a matrix that is no law, not square, singular or nearly so, ignored, or beside an epsilon",
    "a game: none to keep, another's weights, changed weights or settings",
    # Truth discovery.
    "a label outside the task's answer set",
    "a worker who answers a task twice with different labels",
    "a task that nobody answered",
    "one worker",
    "one class",
    "all workers equal",
    "p^f above (s - 1)/s; a > b; [a, b] outside [0, 1]",
    "moments of no distribution; a table that is none; a hyper-distribution's parameters out of range",
    "a law with fewer moments than a worker has answers",
    "a weight function that does not increase, is not known, or is no function",
    "an estimator that is not known, or that fails",
    "an empty file, wrong columns, text that is none",
    "a large file",
    "a file of another kind, or in two forms",
    "columns and words of one's own that are none",
    "a file of one's own that does not tell what is needed",
    "options of two kinds of session",
    "names with markup",
    "a name that is nearly one that is known",
    # Moral preferences.
    "preferences outside the ball, nan, inf or of another dimension, from a peer",
    "a voter without records; records of different width",
    "a voter's epsilon ≤ 0; a voter without one, or with two",
    "a bound ≤ 0",
    "one voter and central noise",
    "fractions of groups that do not add up to 1",
    "a response without its second row; unknown characters or columns; a truncated file",
    "nothing accepted is lost",
    "an unknown prior; a level outside (0, 1/2); a verdict without errors",
    "too few alternatives, or too many; a feature that voters were not asked about",
    "an epsilon that is no level, or another one than was chosen before",
    "neighbors or a norm that a mechanism has not",
    "societies that are not two or more, or that a voter is not in exactly once",
    # Fair voting.
    "a ranking that repeats, omits or invents an alternative",
    "a voter in no group, or in two",
    "an empty group; one group; one alternative",
    "gamma outside [0, 1); delta outside (0, 1)",
    "a level of a verdict outside (0, 1/2)",
    "scores of another number, that do not fall, or are no numbers",
    "an unknown mechanism, objective, relation or reading",
    "an objective that is not known, that fails, or that a mechanism does not take",
    "a file whose numbers are not those of its header",
    "too few voters for the samples of Algorithm 2",
    "a calibration that a mechanism ignores; an ε that cannot be proven; a share of welfare outside (0, 1]",
    "a quorum where who takes part is private",
    "groups that cannot be private; crossings of private groups",
    "features that are none, or that a mechanism has no proof for; crossings without voters",
    # Protocols of one's own.
    "psephos new protocol with a name that is none, or is taken, or a folder that holds something",
    # Journals.
    "a journal that is missing, damaged, not a person's, in use, moved, or a backup",
    # Networks.
    "a network with an unknown fault, a number out of range, or that is real or none",
    # Series of votes.
    "a budget by periods without a clock, or of no length; dates that go backwards",
    "a series without votes; an unknown key in a vote, or one that a vote cannot replace",
    "a vote without parties, with unknown ones, one twice, or without somebody's entry",
    "runs whose losses cannot be added",
    # Folders of runs.
    "a run's folder that is unfinished, damaged, of another kind, or of a later version",
    "names with markup, quotes or marks that turn the direction of what follows",
    "a series whose votes have titles, names and folders that somebody made up to do harm",
    "runs that cannot be compared",
    # Adversaries and audits.
    "a coalition that contains its target; unknown parties",
    "a role that nobody registered, or that a protocol does not have",
    "priors that do not sum to one",
    "an adversary in a session that cannot have it",
    "a confidence outside (0, 1)",
    "too few samples for any statement",
    "trials that are too few, or of what cannot be tried; a grid of no key",
    "a wanted error of nothing that is measured, or of none",
    "a cluster that is not there, or of another version",
    "a run to go on with that is another one, or none",
    "files that change while a cluster reads them, or that are there twice",
    "an error that is no error; a session without variants",
    "a plan that no ε can meet, or no number of people; an aim that is none",
)


@contextlib.contextmanager
def refuses(
    field: str | None = None, value: object = ..., allowed: str = "", *, said: str = ""
) -> Generator[pytest.ExceptionInfo[ConfigurationError]]:
    """Check that what is done in this context is refused: of this field and value, with words of what is allowed.

    Args:
        field: of the error; any by default.
        value: of the error; any by default.
        allowed: a part of what the error says is allowed.
        said: a part of its sentence, or of what it says is allowed.
    """
    with pytest.raises(ConfigurationError) as caught:
        yield caught
    error = caught.value
    assert field is None or error.field == field
    assert value is ... or error.value == value
    assert allowed in error.allowed
    assert said in str(error) or said in error.allowed


def refused_by(act: Callable[..., object], *given: Any, **named: Any) -> ConfigurationError:
    """Return the error with which something refuses what it is given."""
    with refuses() as caught:
        act(*given, **named)
    return caught.value


def is_plain(error: str) -> bool:
    """Return whether an error is one line, or one and a list of questions, each indented."""
    first, *others = error.splitlines()
    return first.startswith("psephos: ") and all(
        re.match(r"  (--[\w-]+: .*\?|Add your answers to: psephos new )", each) for each in others
    )


def check_fault(psephos: Psephos, write: Write, text: str, change: tuple[str, str], words: Sequence[str]) -> None:
    """Check that a scenario in which a part was changed is refused with one sentence that has these words."""
    assert change[0] in text
    write("mine.toml", text.replace(*change))
    check_refused(psephos, "mine.toml", (), words)


def check_refused(
    psephos: Psephos,
    scenario: str,
    settings: Sequence[str],
    words: Sequence[str],
    *,
    command: Sequence[str] = ("run",),
) -> None:
    """Check that a command is refused with one sentence that has these words, and status 2, and leaves no folder."""
    options = [word for setting in settings for word in ("--set", setting)]
    refusal = psephos(*command, scenario, *options, "--out", "out").refusal
    for word in words:
        assert word in refusal
    assert not Path("out").exists()
