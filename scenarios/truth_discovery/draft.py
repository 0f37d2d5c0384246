"""A first crowd of one's own: who answered which task how, and perhaps what is true."""

from typing import Final

from ..running.drafts import Beginning, Chosen, Draft, Line, Option, Sheet, check_header, chosen_column
from ..words import marked, say_again

__all__ = ["BEGINNING"]

_COLUMNS: Final = {
    "task": (("task", "item", "question", "image"), "which column says what was asked"),
    "worker": (("worker", "name", "person", "user", "annotator"), "which column says who answered"),
    "label": (("label", "answer", "response", "grade"), "which column has the answers"),
}


def _draft(sheet: Sheet, chosen: Chosen) -> Draft:
    """Return a draft of a crowd. See `Beginning`."""
    known = {name for names, _ in _COLUMNS.values() for name in names}
    check_header(sheet, chosen, options=tuple(_COLUMNS), names=known, example=",".join(_COLUMNS))
    columns = {
        name: chosen_column(sheet, chosen, name, names=names, question=question)
        for name, (names, question) in _COLUMNS.items()
    }
    lines = [Line("answers", sheet.written, "a line for each answer")]
    if renamed := {name: own for name, own in columns.items() if own != name}:
        lines.append(Line("columns", renamed, "what the file calls them"))
    if truth := chosen.get("truth", ()):
        lines.append(Line("truth", truth[-1], "task,truth: only to compare with what is found"))
    num = {name: sheet.count(len(set(sheet.column(own)))) for name, own in columns.items()}
    said = [marked(f"{num['worker']} workers answer {num['task']} tasks with {num['label']} different labels.")]
    return Draft(
        title=say_again(f"A crowd answers {num['task']} questions"),
        role="worker",
        price=marked("each answer"),
        parties=lines,
        said=said,
    )


BEGINNING: Final = Beginning(
    word="crowd",
    help="The true answers to many tasks, found from what a crowd answers. FILE has a line for each answer: the task, "
    "the worker and the label.",
    options=(
        Option("task", "The column of tasks.", multiple=False),
        Option("worker", "The column of workers.", multiple=False),
        Option("label", "The column of answers.", multiple=False),
        Option(
            "truth", "A file of task,truth, where some truths are known.", metavar="FILE", multiple=False, is_file=True
        ),
    ),
    draft=_draft,
    shown="answers",
    sample="answers.csv",
    epsilon=2.0,
    wanted=("task", "worker", "label"),
)
