"""A first survey of one's own: which of two alternatives each voter chose, record by record."""

from typing import Final

from ...protocol.columns import normalize_name
from ...protocol.errors import did_you_mean, require
from ..running.drafts import Chosen, Draft, SavedTable, ScenarioLine, ScenarioTemplate, alike_line, alike_option, filled

_COLUMNS: Final = ("voter", "record", "choice")


def _draft(sheet: SavedTable, options: Chosen) -> Draft:
    """Return a draft of a survey. See `ScenarioTemplate`."""
    for name in _COLUMNS:
        allowed = f"a header with {', '.join(_COLUMNS)} and the features{did_you_mean(name, sheet.header)}"
        require(name in sheet.header, f"{sheet.path.name} line 1", list(sheet.header), allowed)
    features = [name for name in sheet.header if name not in _COLUMNS]
    voters = list(dict.fromkeys(sheet.column("voter")))
    lines = [ScenarioLine("choices", sheet.written, "two lines for each record: choice 1 is the alternative chosen")]
    lines += filled(alike_line(sheet, options, voters, "voter"))
    number = sheet.count(
        len(set(map(normalize_name, voters))) if "one" in options.get("alike-voters", ()) else len(voters)
    )
    return Draft(
        title="What voters prefer",
        role="voter",
        price="all records of a voter together",
        parameters=[ScenarioLine("bound", 2.0, "the greatest length of a voter's preferences; longer ones are cut")],
        parties=lines,
        said=[f"{number} voters compare alternatives by {', '.join(features)}."],
    )


BEGINNING: Final = ScenarioTemplate(
    word="survey",
    help="What a society prefers, found from choices between two alternatives. FILE has two lines for each choice, "
    "with the columns voter, record, choice (1 for the alternative that was chosen, 0 for the other) and a number for "
    "each feature.",
    options=(alike_option("voter"),),
    draft=_draft,
    shown="choices",
    sample="choices.csv",
    wanted=_COLUMNS,
)
