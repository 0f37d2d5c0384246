"""Tables of answers at random: `psephos new crowd` counts what a short reader counts that shares no code, or asks."""

import csv
import io
from pathlib import Path
from typing import Any

from answers_counted import counted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.reading.headers import TableOptions
from psephos.scenarios.running.draft_text import scenario_text
from psephos.scenarios.running.drafts import SavedTable, UnclearError
from psephos.scenarios.truth_discovery.draft import BEGINNING
from thoroughness import draws

Answers = dict[tuple[str, str], str]
WORDS = ["yes", "no", "Yes", "yes ", "1", "1.0", "0", "", "maybe", "yes#no"]
HEADERS = [
    ("task", "worker", "label"),
    ("HITId", "WorkerId", "Answer.a"),
    ("x", "y", "z"),
    ("item", "annotator", "said"),
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2", "Q1"]),
        st.sampled_from([f"w{n}" for n in range(7)]),
        st.sampled_from(WORDS),
        st.sampled_from(["approved", "approved", "rejected"]),
    ),
    min_size=1,
    max_size=40,
)


def counted_by_hand(text: str, names: tuple[str, str, str], chosen: dict[str, tuple[str, ...]]) -> Answers:
    """Return what the options say of the file: an independent reading."""
    labels: dict[str, str] = {}
    for value in chosen["labels"]:
        for part in value.split(","):
            first, *others = part.split("=")
            labels |= dict.fromkeys((first, *others), first)
    found: Answers = {}
    for row in csv.DictReader(io.StringIO(text)):
        cells = {name: (cell or "").strip() for name, cell in row.items()}
        task, worker, label = (cells[name] for name in names)
        kept = all(cells[own.partition("=")[0]] == own.partition("=")[2] for own in chosen.get("only", ()))
        if not kept or any(not cells[own] for own in chosen.get("leave-out-empty", ())) or label not in labels:
            continue
        if (worker, task) not in found or chosen.get("repeats") == ("last",):
            found[worker, task] = labels[label]
    return found


@settings(
    max_examples=draws(25, full=1000),
    suppress_health_check=[HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.too_slow],
    deadline=None,
)
@given(rows=ROWS, names=st.sampled_from(HEADERS), data=st.data())
def test_a_session_counts_what_the_file_and_the_answers_to_questions_say(
    tmp_path_factory: Any, rows: list[tuple[str, ...]], names: tuple[str, str, str], data: Any
) -> None:
    folder: Path = tmp_path_factory.mktemp("any")
    written = io.StringIO()
    csv.writer(written).writerows([(*names, "State", "note"), *[(*row, f"n{place}") for place, row in enumerate(rows)]])
    (folder / "own.csv").write_text(written.getvalue())
    chosen: dict[str, tuple[str, ...]] = {}
    if data.draw(st.booleans()):
        chosen["only"] = ("State=approved",)
    draft, options = None, TableOptions()
    try:
        while draft is None:
            options = TableOptions(
                only={"State": ("approved",)} if "only" in chosen else {},
                leave_out_empty=chosen.get("leave-out-empty", ()),
            )
            sheet = SavedTable.of(
                folder / "own.csv", data_path="own.csv", wanted_columns=BEGINNING.wanted, options=options
            )
            try:
                draft = BEGINNING.draft(sheet, chosen)
            except UnclearError as error:
                known = dict[str, str](zip(("task", "worker", "label"), names, strict=True)).get(error.option)
                choices = [known] if known else list(error.choices) or ["no,yes=Yes,maybe"]
                chosen[error.option] = (*chosen.get(error.option, ()), data.draw(st.sampled_from(choices)))
        how: dict[str, Any] = {"protocol": "truth-discovery", "epsilon": 1.0, "synthetic": ""}
        text = scenario_text(draft, head="x", trust="local", options=options, **how)
        (folder / "own.toml").write_text(text)
        session = resolve(load_scenario(str(folder / "own.toml")))
    except ConfigurationError:
        return  # refused, in one sentence
    said = {line.key: line.value for line in draft.parties}["labels"]
    chosen.setdefault("labels", (",".join(said),))
    assert counted(session) == counted_by_hand(written.getvalue(), names, chosen)
