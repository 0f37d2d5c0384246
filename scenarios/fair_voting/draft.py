"""A first ranking of one's own: who is in which group, and how each voter ranks the alternatives."""

from collections.abc import Sequence
from typing import Final

from ...protocol.errors import ConfigurationError, refuse
from ...protocol.fair_voting.parameters import SEPARATOR
from ..running.drafts import (
    NONE,
    Beginning,
    Chosen,
    Draft,
    Line,
    Option,
    Sheet,
    UnclearError,
    check_column,
    check_header,
    chosen_column,
)
from ..words import marked, say_again

__all__ = ["BEGINNING"]

_VOTERS: Final = ("voter", "name", "member", "person", "partner")
_GROUPS: Final = ("group", "team", "district", "gender", "sex", "department")
_LEAST: Final = 2


def _draft(sheet: Sheet, chosen: Chosen) -> Draft:
    options = ("voter", "group", "ranking", "place", "choice")
    check_header(sheet, chosen, options=options, names={*_VOTERS, *_GROUPS, "ranking"}, example="voter,group,ranking")
    question = f"which column has a different name for each voter, or {NONE!r}: they are numbered"
    voter = chosen_column(sheet, chosen, "voter", names=_VOTERS, question=question, may_lack=True)
    question = "which column says in which group each voter is"
    group = chosen_column(sheet, chosen, "group", names=_GROUPS, question=question)
    columns = {"voter": voter, "group": group}
    lines = [Line("file", sheet.written, "a line for each voter")]
    rest = [name for name in sheet.header if name not in {voter, group}]
    kinds = [key for key in ("ranking", "place", "choice") if chosen.get(key)]
    if len(kinds) > 1:
        allowed = f"left out beside --{kinds[0]}"
        raise ConfigurationError(field=f"--{kinds[1]}", value=chosen[kinds[1]][0], allowed=allowed)
    if not kinds or kinds == ["ranking"]:
        columns["ranking"] = _ranking(sheet, chosen, rest)
        names = [name.strip() for name in sheet.column(columns["ranking"])[0].split(SEPARATOR)]
    else:
        key = f"{kinds[0]}s"
        named = [check_column(sheet, name, kinds[0]) for name in chosen[kinds[0]]]
        about = "a column for each alternative, with its place: 1 is the best" if key == "places" else "the best first"
        lines.append(Line(key, named, about))
        names = named if key == "places" else sorted({sheet.column(name)[0] for name in named})
    if not voter:
        lines.insert(1, Line("numbered", value=True, comment="it has no names"))
    if renamed := {name: own for name, own in columns.items() if own not in {"", name}}:
        lines.insert(1, Line("columns", renamed, "what the file calls them"))
    groups = list(dict.fromkeys(sheet.column(group)))
    allowed = "a column with two groups or more, which the winner is to serve alike"
    refuse(len(groups) < _LEAST, "--group", group, allowed)
    number, shown = sheet.count(len(sheet.rows)), ", ".join(groups[:9])
    said = [marked(f"{number} voters of {len(groups):,} groups ({shown}) rank {', '.join(names)}.")]
    return Draft(
        title=say_again(f"Which of {', '.join(names)} serves all groups alike"),
        role="voter",
        price=marked("a voter's ranking"),
        parameters=[
            Line("objective", "penalized", "the welfare of all, less what groups differ by"),
        ],
        parties=lines,
        said=said,
    )


def _ranking(sheet: Sheet, chosen: Chosen, rest: Sequence[str]) -> str:
    """Return the column of rankings; UnclearError where the file does not tell it."""
    if given := chosen.get("ranking", ()):
        return check_column(sheet, given[-1], "ranking")
    found = [name for name in rest if all(SEPARATOR in entry for entry in sheet.column(name))]
    if len(found) == 1:
        return found[0]
    question = (
        f"which column has a ranking, such as a {SEPARATOR} b {SEPARATOR} c; or --place for each column with the places"
        " of an alternative, or --choice for the first, second and further choices in turn"
    )
    raise UnclearError(option="ranking", question=question, choices=found or rest)


BEGINNING: Final = Beginning(
    word="ranking",
    help="A vote by rankings whose winner serves all groups of voters alike. FILE has a line for each voter: a name, a "
    f"group, and a ranking such as pool {SEPARATOR} library {SEPARATOR} rink.",
    options=(
        Option("voter", f"The column of names, or {NONE!r}: voters are numbered.", multiple=False),
        Option("group", "The column of groups.", multiple=False),
        Option("ranking", "The column of rankings.", multiple=False),
        Option("place", "In place of it, a column of places: its header is an alternative, 1 the best place."),
        Option("choice", "In place of it, the column of the first, then of the second choice, and so on."),
    ),
    draft=_draft,
    shown="rankings",
    sample="rankings.csv",
    epsilon=2.0,
    wanted=("voter", "group", "ranking"),
)
