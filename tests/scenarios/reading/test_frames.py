"""Frames in place of files: the same bits, the same refusals by rows instead of lines, and nothing left of them."""

import csv
import datetime as dt
import functools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import psephos
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psephos.protocol import ConfigurationError
from psephos.scenarios import load, run
from psephos.scenarios.cli.group import cli
from psephos.scenarios.reading.files import check_size
from psephos.scenarios.reading.frames import FrameText, is_frame, path_of
from psephos.scenarios.reading.text_forms import PLAIN, form_of, header_of, open_table
from psephos.scenarios.running import parties
from psephos.scenarios.running.drafts import samples
from psephos.scenarios.truth_discovery.data import SyntheticCrowd, make_crowd
from psephos.scenarios.truth_discovery.data.frames import crowd_from_frame
from runs import read_json

Table = Mapping[str, Sequence[Any]]

ANSWERS: Table = {
    "task": ["q1", "q1", "q2", "q2"],
    "worker": ["ann", "bob", "ann", "bob"],
    "label": ["yes", "no", "no", "no"],
}
MANY_ANSWERS: Table = {
    "task": ["q1", "q2"] * 5,
    "worker": [f"w{place // 2}" for place in range(10)],
    "label": ["yes", "no"] * 5,
}
VOTES: Table = {"partner": ["ann", "bob", "eve"], "weight": [1, 2, 2], "pool": ["yes", "no", "yes"]}
RANKINGS: Table = {
    "voter": ["ann", "bob", "eve"],
    "group": ["town", "town", "village"],
    "ranking": ["pool > rink", "rink > pool", "rink > pool"],
}
RECORDS: Table = {
    "voter": ["ann", "ann", "bob", "bob"],
    "record": [1, 1, 1, 1],
    "choice": [1, 0, 0, 1],
    "lives": [5, 1.5, 2, 0],
}
CROWD = ("truth-discovery", 2.0)
LABELS = {"workers.labels": ["no", "yes"]}
SYSTEMS = {"answers": "crowd", "votes": "consortium", "rankings": "breakfast", "records": "moral-synthetic"}


def run_of(word: str, table: Any, **more: object) -> Any:
    """Run a shipped scenario whose parties are a frame's, or a file's."""
    public = {"public_record": True} if word == "answers" else {}  # else nobody reads labels off answers
    chosen = {word: table, "noise": "simulated", **public}
    return run(load(SYSTEMS[word], chosen, **more), seed=7, transport="array")


def cells(names: str) -> st.SearchStrategy[str]:
    """Draw names as people have them: with signs that mean something to CSV, and blanks around."""
    return st.text(alphabet=names + 'é ,;"\n|', min_size=1, max_size=4)


NAMES = st.sampled_from(["ann", "bob", "é, c", 'd "e"']) | cells("abc")


@st.composite
def answers(draw: st.DrawFn) -> Table:
    """Draw a crowd's answers, in any order."""
    tasks, workers = (draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)) for _ in range(2))
    rows = [(task, worker, draw(st.sampled_from([0, 1, 2]))) for task in tasks for worker in workers]
    random.Random(draw(st.integers(0, 9))).shuffle(rows)
    return dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True))


@st.composite
def votes(draw: st.DrawFn) -> Table:
    """Draw partners with weights and opinions, in some of several forms."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5))
    opinions = draw(st.sampled_from([(0, 1), ("no", "yes"), ("false", "TRUE")]))
    own = {name: [draw(st.sampled_from(opinions)) for _ in names] for name in ("pool", "a rink")}
    return {"partner": names, "weight": [draw(st.sampled_from([1, 2, 3])) for _ in names], **own}


@st.composite
def rankings(draw: st.DrawFn) -> Table:
    """Draw voters with groups and rankings."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5))
    orders = [" > ".join(draw(st.permutations(["pool", "rink", "café"]))) for _ in names]
    return {"voter": names, "group": [draw(st.sampled_from("ab")) for _ in names], "ranking": orders}


@st.composite
def records(draw: st.DrawFn) -> Table:
    """Draw voters' choices between two alternatives of two features."""
    names = draw(st.lists(NAMES, min_size=2, max_size=4))
    rows = [
        (name, place, choice, draw(st.integers(-9, 9)), draw(st.floats(-1e6, 1e6)))
        for place, name in enumerate(names)
        for choice in (0, 1)
    ]
    random.Random(draw(st.integers(0, 9))).shuffle(rows)
    return dict(zip(("voter", "record", "choice", "lives", "law"), zip(*rows, strict=True), strict=True))


DRAWN = {"answers": answers(), "votes": votes(), "rankings": rankings(), "records": records()}


def said_of(case: Callable[[], Any], name: str) -> object:
    """Return what a run releases and charges, or why it is refused, whatever its rows are called."""
    try:
        left = case()
    except ConfigurationError as error:
        told = re.sub(rf"({re.escape(name)} )?line 1\b|columns of {re.escape(name)}", "HEADER", str(error))
        return re.sub(rf"({re.escape(name)} )?line \d+|row \d+ of {re.escape(name)}", "PLACE", told)
    return left.outcome, tuple(left.ledger)


@pytest.mark.parametrize("word", SYSTEMS)
def test_a_frame_has_the_bits_and_the_refusals_of_the_file_with_the_same_rows(word: str, tmp_path: Path) -> None:
    seen: list[bool] = []

    @settings(suppress_health_check=[HealthCheck.nested_given])
    @given(DRAWN[word])
    def check(table: Table) -> None:
        file = tmp_path / "mine.csv"
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows([list(table), *zip(*table.values(), strict=True)])
        of_file = said_of(lambda: run_of(word, file), "mine.csv")
        of_frame = said_of(lambda: run_of(word, pd.DataFrame(table)), f"frame {word}")
        assert of_frame == of_file
        seen.append(isinstance(of_file, tuple))

    check()
    assert any(seen)  # and not refused, each of them


@pytest.mark.parametrize(
    ("word", "table"), [("answers", ANSWERS), ("votes", VOTES), ("rankings", RANKINGS), ("records", RECORDS)]
)
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_read_as_those_of_pandas(word: str, table: Table, library: str) -> None:
    assert run_of(word, frame_by(library, table)).outcome == run_of(word, pd.DataFrame(table)).outcome


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("table", "protocol", "epsilon"),
    [
        (MANY_ANSWERS, "truth-discovery", 2.0),
        (VOTES, "dpwevote", 2.0),
        ({"name": ["ann", "bob", "eve"], "roof": ["ja", "nein", "ja"], "pool": ["yes", "no", "no"]}, "dpwevote", 2.0),
        (RANKINGS, "fair-voting", 2.0),
        (RECORDS, "moral-preferences", 1.0),
        # It may be a vote as well, but a crowd's columns are all there.
        ({**MANY_ANSWERS, "task": ["q"] * 10, "worker": [f"w{place}" for place in range(10)]}, *CROWD),
    ],
)
def test_a_frame_alone_is_run_as_what_its_columns_tell(
    table: Table, protocol: str, epsilon: float, library: str
) -> None:
    made = frame_by(library, table)
    left = psephos.run(made, synthetic=True, seed=7)
    assert (left.scenario.protocol, left.scenario.parameters["epsilon"]) == (protocol, epsilon)
    assert left.scenario.trust == "local"
    assert f"epsilon = {epsilon}  # the price of" in str(left)
    assert 'trust = "local"  # nobody is trusted' in str(left)
    assert left.said[0] in html_of(left)
    assert left.outcome == psephos.run(pd.DataFrame(dict(table)), synthetic=True, seed=7).outcome


def html_of(shown: Any) -> str:
    """Return what a notebook shows."""
    return shown._repr_html_().replace("&#x27;", "'").replace("&#39;", "'")


def test_a_frame_alone_is_what_new_makes_of_the_file_with_the_same_rows(tmp_path: Path) -> None:
    for word, file in (("vote", "committee"), ("ranking", "rankings"), ("survey", "choices"), ("crowd", "answers")):
        sample = samples()[f"{file}.csv"]
        made = CliRunner().invoke(cli, ["new", word, str(sample), "--no-run", "--to", str(tmp_path / f"{file}.toml")])
        assert made.exit_code == 0, made.output
        of_file = load(tmp_path / f"{file}.toml", synthetic=True)
        left = psephos.run(pd.read_csv(sample), synthetic=True, seed=3)
        own = msgspec.structs.replace(of_file, name=left.scenario.name)  # which names the session, and so its noise
        of_own = run(own, seed=3)
        assert (left.outcome, left.scenario.parameters) == (of_own.outcome, of_own.scenario.parameters)


def test_a_frames_price_and_trust_are_arguments_and_of_a_frame_alone() -> None:
    left = psephos.run(pd.DataFrame(dict(VOTES)), epsilon=0.5, trust="central", synthetic=True, seed=7)
    assert (left.scenario.parameters["epsilon"], left.scenario.trust) == (0.5, "central")
    assert {entry.model.value for entry in left.ledger} == {"central"}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"trust": "my neighbor"}, r"trust is 'my neighbor': use local or central"),
        ({"trust": ["local"]}, r"trust is \['local'\]: use local or central"),
        ({"epsilon": -1}, r"epsilon is -1.*: use a value from"),
    ]
    for more, match in refused:
        with pytest.raises(ConfigurationError, match=match):
            psephos.run(pd.DataFrame(dict(VOTES)), **more)
    with pytest.raises(ConfigurationError, match=r"leave out epsilon but of a frame: `load` sets it"):
        psephos.run("consortium", epsilon=1.0)
    with pytest.raises(ConfigurationError, match=r"leave out trust but of a frame: `load` sets it"):
        psephos.run("consortium", trust="central")
    with pytest.raises(ConfigurationError, match=r"leave out synthetic but of a frame: `load` sets it"):
        psephos.run("consortium", synthetic=True)


@pytest.mark.parametrize(
    ("table", "match"),
    [
        (
            {"a": [1, 2], "b": [3, 4]},
            r"'columns a, b': .*looked for: vote \(.*crowd \(.*survey \(.*ranking \(.*load\(NAME",
        ),
        (
            {"name": list("abcdefgh"), "weight": range(1, 9), "roof": ["yes"] * 8},
            r"vote \(8 different weights are private.*votes=frame, answers=frame",
        ),
        (
            {"name": ["ann", "bob"], "task": ["q", "q"], "worker": ["x", "y"], "label": ["yes", "no"]},
            r"crowd \(.*which labels can",
        ),
        ({"name": ["ann", "bob"], "roof": ["yes", "yse"]}, r"roof \(row 1 of frame parties\).*mean 'yes'.*load\(NAME"),
        ({**ANSWERS, "label": ["yes", None, "no", "no"]}, r"label \(row 1 of frame parties\)"),
        ({**RANKINGS, "task": ["q"] * 3, "worker": ["a"] * 3, "label": [1, 0, 1]}, "crowd and ranking both fit"),
    ],
)
def test_a_frame_that_tells_nothing_or_too_much_is_refused_with_what_was_looked_for(table: Table, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match) as caught:
        psephos.run(pd.DataFrame(dict(table)))
    assert " line " not in str(caught.value)


def frame_by(library: str, table: Table) -> Any:
    """Return a frame of a library; skip where it is not installed."""
    module: Any = pytest.importorskip(library, reason=f"{library} is not installed; `make exchange` does")
    columns = {name: list(column) for name, column in table.items()}
    if library == "pyarrow":
        return module.table(columns)
    return module.DataFrame(columns, strict=False) if library == "polars" else module.DataFrame(columns)


def test_columns_of_any_type_of_polars_are_those_of_pandas() -> None:
    polars: Any = pytest.importorskip("polars", reason="polars is not installed; `make exchange` does")
    texts, numbers = polars.DataFrame(dict(ANSWERS)), polars.DataFrame({**VOTES, "pool": [True, False, True]})
    of_texts, of_numbers = (
        psephos.run(pd.DataFrame(dict(own)), synthetic=True, seed=7).outcome for own in (ANSWERS, VOTES)
    )
    for cast in (polars.Categorical, polars.Enum(["ann", "bob", "no", "q1", "q2", "yes"]), polars.String):
        assert psephos.run(texts.with_columns(polars.all().cast(cast)), synthetic=True, seed=7).outcome == of_texts
    for cast in (polars.Decimal(10, 2), polars.UInt8, polars.Float32):
        assert (
            psephos.run(numbers.with_columns(polars.col("weight").cast(cast)), synthetic=True, seed=7).outcome
            == of_numbers
        )
    beside = [polars.lit(None).alias("note"), polars.lit(dt.date(2026, 1, 5)).alias("day")]
    assert psephos.run(texts.with_columns(beside), synthetic=True, seed=7).outcome == of_texts


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_what_a_run_left_is_a_frame_of_other_libraries(library: str) -> None:
    module: Any = pytest.importorskip(library, reason=f"{library} is not installed; `make exchange` does")
    pytest.importorskip("pyarrow", reason="pandas hands columns over by pyarrow; `make exchange` has it")
    left = psephos.run(pd.DataFrame(dict(MANY_ANSWERS)), synthetic=True, seed=7)
    take = module.from_dataframe if library == "polars" else module.table
    for own in (left, left.ledger):
        expected = own.to_frame()
        taken = take(own)
        assert list(taken.columns if library == "polars" else taken.column_names) == list(expected.columns)
        for name in expected.columns:
            column = taken[name].to_list() if library == "polars" else taken[name].to_pylist()
            assert column == [None if each is None or each != each else each for each in expected[name].tolist()]  # noqa: PLR0124  nan


def test_a_crowd_is_made_of_a_frame_of_polars() -> None:
    polars: Any = pytest.importorskip("polars", reason="polars is not installed; `make exchange` does")
    crowd = crowd_from_frame(polars.DataFrame(ANSWERS), pd.Series({"q1": "yes"}))
    assert (list(crowd.workers), crowd.truth.tolist()) == (["ann", "bob"], [1, -1])
    with pytest.raises(ValueError, match="column label has 1 missing values, in rows 0"):
        crowd_from_frame(polars.DataFrame({**ANSWERS, "label": [None, "no", "no", "no"]}))


def test_polars_has_its_refusals_too() -> None:
    polars: Any = pytest.importorskip("polars", reason="polars is not installed; `make exchange` does")
    frame = polars.DataFrame({**ANSWERS, "label": ["yes", "no", None, "no"]})
    with pytest.raises(ConfigurationError, match=r"give label \(row 2 of frame answers\)"):
        run_of("answers", frame)
    with pytest.raises(ConfigurationError, match=r"frame answers (is|are) .*.* in memory.*LazyFrame"):
        run_of("answers", frame.lazy())
    lists = polars.DataFrame({**RANKINGS, "ranking": [["pool", "rink"], ["rink", "pool"], ["rink", "pool"]]})
    assert run_of("rankings", lists).outcome == run_of("rankings", pd.DataFrame(RANKINGS)).outcome


class Remote:
    """A frame elsewhere, which comes when it is asked."""

    columns = ("task", "worker", "label")

    def to_pandas(self) -> pd.DataFrame:
        """Return it."""
        return pd.DataFrame(ANSWERS)


def test_a_frame_that_comes_as_one_of_pandas_will_do() -> None:
    assert is_frame(Remote())
    assert run_of("answers", Remote()).outcome == run_of("answers", pd.DataFrame(ANSWERS)).outcome


@pytest.mark.parametrize(
    ("word", "base", "change", "said"),
    [
        ("answers", ANSWERS, {"label": ["yes", "no", None, "no"]}, r"give label \(row y of frame answers\)"),
        ("answers", ANSWERS, {"task": [1.0, 1, np.nan, 2]}, r"give task \(row y of frame answers\)"),
        ("answers", ANSWERS, {"task": ["q1", "q1", "q1", "q2"]}, r"label \(row y .* before \(row w of frame answers\)"),
        ("votes", VOTES, {"partner": ["ann", "bob", "bob"]}, r"partner \(row y of .* also in row x of frame votes\. "),
        ("votes", VOTES, {"pool": ["yes", "no", "maybe"]}, r"pool \(row y of frame votes, eve\) is .*: use yes or no"),
        ("votes", VOTES, {"pool": ["yes", "no", None]}, r"pool \(row y of frame votes, eve\) is .*: use yes or no"),
        ("votes", VOTES, {"weight": [1, 2, -2]}, r"weight.*\(row y of frame votes, eve\)"),
        ("rankings", RANKINGS, {"ranking": ["pool > rink", "rink", "rink > pool"]}, r"row x of frame rankings, bob\)"),
        ("rankings", RANKINGS, {"group": ["town", "town", None]}, r"row y of frame rankings"),
        ("records", RECORDS, {"lives": [5, 1, None, 0]}, r"lives \(row y of frame records\) is empty: use a value"),
        ("records", RECORDS, {"choice": [1, 0, 7, 1]}, "use 1"),
        ("records", RECORDS, {"record": [1, 1, 1, 2]}, r"use a record of two lines"),
    ],
)  # fmt: skip
@pytest.mark.bad_input("columns and words of one's own that are none")
def test_a_faulty_cell_is_named_by_its_rows_label(word: str, base: Table, change: Table, said: str) -> None:
    table = {**base, **change}
    with pytest.raises(ConfigurationError, match=said):
        run_of(word, pd.DataFrame(table, index=list("wxyz"[: len(next(iter(table.values())))])))


@pytest.mark.parametrize(
    ("word", "table", "said"),
    [
        (
            "answers",
            {"task": ["q"], "worker": ["a"], "lable": ["x"]},
            r"column 'label' of frame answers is missing \(did you mean 'lable'\?\): there are task, worker, lable\.",
        ),
        ("answers", {"task": []}, r"frame answers is 'one without rows': use a frame with columns and rows"),
        ("answers", {}, r"use a frame with columns and rows"),
        ("answers", {**ANSWERS, " ": ["", "", "", ""]}, r"use names that are not empty"),
        ("answers", {**ANSWERS, "label": [["no"], "no", "no", "no"]}, r"use a t"),
        ("votes", {"weight": [1], "pool": ["yes"]}, r"columns of frame votes has no column 'partner'"),
        ("votes", {"partner": ["ann"], "weights": [1], "pool": ["yes"]}, r"Call .weights. .weight."),
        ("votes", {name: [*own, None] for name, own in VOTES.items()}, r"use an entry"),
        ("rankings", {"voter": ["ann"], "group": ["a"]}, r"ranking"),
        ("records", {"voter": ["ann"], "record": [1], "choice": [1]}, r"columns of frame records .* one feature"),
    ],
)  # fmt: skip
@pytest.mark.bad_input("an empty file, wrong columns, text that is none")
def test_a_frame_that_is_no_table_of_parties_is_refused(word: str, table: Table, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        run_of(word, pd.DataFrame(table))


@pytest.mark.bad_input("an unknown scenario, key or transport")
def test_a_frame_where_none_can_be_is_refused_without_its_cells() -> None:
    frame = pd.DataFrame(ANSWERS)
    for settings_of, said in (
        ({"votes": frame}, "votes is 'a frame': use no frame: one is given as answers or truth or workers"),
        ({"epsilon": frame}, "use no frame"),
        ({"answers": 3}, "answers is 3: use a frame, or the path of a file"),
        ({"answers": frame, "workers.answers": frame}, "settings is 'workers.answers': set it once"),
    ):
        with pytest.raises(ConfigurationError, match=said) as caught:
            load("crowd", settings_of)
        assert "q1" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="need not be streamed"):
        run(load("moral-machine", {"voters.responses": frame, "voters.stream": True}), transport="array")


def test_a_word_that_is_a_scenarios_own_key_stays_that_unless_it_names_a_file() -> None:
    assert load("moral-synthetic", records=3).parties["records"] == 3  # pyright: ignore[reportCallIssue, reportArgumentType]  a table


def test_truths_stand_beside_what_is_found() -> None:
    truth = pd.DataFrame({"task": ["q1", "q2"], "truth": ["yes", "no"]})
    left: Any = run(load("crowd", LABELS, answers=pd.DataFrame(ANSWERS), truth=truth, synthetic=True), seed=7)
    assert left.to_frame()["gold"].tolist() == ["yes", "no"]
    assert {"task", "truth", "confidence", "least_confidence", "most_confidence"} <= {*left.outcome.to_frame()}
    assert "<th>Gold</th>" in left._repr_html_()
    with pytest.raises(ConfigurationError, match=r"truth \(row 0 of frame truth\) is .*: use one of 'no', 'yes'"):
        run(load("crowd", LABELS, answers=pd.DataFrame(ANSWERS), truth=truth.assign(truth="perhaps")))


def test_a_missing_truth_makes_no_other_label_of_a_whole_number() -> None:
    numbered = pd.DataFrame({**ANSWERS, "label": [1, 0, 0, 0]})
    truth = pd.DataFrame({"task": ["q1", "q2"], "truth": [1, np.nan]}).dropna()  # a column of floats
    labels = {"workers.labels": ["0", "1"]}
    assert run(load("crowd", labels, answers=numbered, truth=truth, noise="simulated"), seed=7).gold == {"q1": "1"}


@pytest.mark.parametrize("sets", [None, ["no|yes", "no|yes", "no|perhaps", "no|perhaps"]])
def test_a_crowd_is_given_as_its_frame_is(sets: Sequence[str] | None) -> None:
    frame = pd.DataFrame({**ANSWERS, **({} if sets is None else {"answer_set": sets})})
    crowd = crowd_from_frame(frame, pd.Series({"q1": "yes"}))
    said = LABELS if sets is None else {}
    left = run(
        load("crowd", {} if sets else {"answer_sets": [["no", "yes"]]}, answers=crowd, noise="simulated"), seed=7
    )
    assert left.outcome == run(load("crowd", said, answers=frame, noise="simulated"), seed=7).outcome
    assert left.gold == {"q1": "yes"}


def test_a_crowds_labels_that_nobody_chose_stay() -> None:
    crowd = make_crowd(SyntheticCrowd(tasks=3, workers=3, answers_per_task=2, quality=(0.99, 0.0), classes=9))
    left: Any = run(load("crowd", answers=crowd, noise="simulated"), seed=7).outcome
    assert left.answer_sets == tuple(map(tuple, crowd.answer_sets))


def test_any_file_of_parties_may_be_a_frame() -> None:
    votes = pd.DataFrame({"name": ["ann", "bob"], "pool": ["oui", "non"]})
    words = {"partners.file": votes, "partners.yes": ["oui"], "partners.no": ["non"]}
    expected = run(load("consortium", votes=votes.assign(pool=[1, 0]), synthetic=True), seed=1).outcome
    assert run(load("consortium", words, synthetic=True), seed=1).outcome == expected
    whole = {"file": votes, "yes": ["oui"], "no": ["non"]}
    assert run(load("consortium", partners=whole, synthetic=True), seed=1).outcome == expected
    with pytest.raises(ConfigurationError, match=r"pool \(row 0 of frame partners.file, ann\)"):
        run(load("consortium", {"partners.file": votes}))
    epsilons = pd.DataFrame({"voter": ["ann", "bob"], "epsilon": [0.5, 1]})
    own = {"voters.choices": pd.DataFrame(RECORDS), "voters.epsilons": epsilons}
    assert run(load("own-epsilon", own, **{"parameters.epsilons": [0.5, 1]}, synthetic=True), seed=1).ledger


def test_partners_may_have_a_column_of_names(tmp_path: Path) -> None:
    renamed = pd.DataFrame(VOTES).rename(columns={"partner": "Name"})
    renamed.to_csv(file := tmp_path / "mine.csv", index=False)
    expected = run_of("votes", pd.DataFrame(VOTES)).outcome
    assert run_of("votes", renamed).outcome == run_of("votes", file).outcome == expected


def test_nothing_of_a_frame_is_written_or_shown(tmp_path: Path) -> None:
    scenario = load("crowd", LABELS, answers=pd.DataFrame(ANSWERS), noise="simulated")
    assert "q1" not in f"{scenario!r} {scenario.parties}"
    assert scenario == load("crowd", LABELS, answers=pd.DataFrame(ANSWERS), noise="simulated")
    others = pd.DataFrame({**ANSWERS, "label": ["no", "no", "no", "yes"]})
    assert scenario != load("crowd", LABELS, answers=others, noise="simulated")
    run(scenario, seed=7, out=tmp_path / "out")
    written = read_json(tmp_path / "out" / "scenario.json")
    assert "parties" not in written
    again = load(tmp_path / "out" / "scenario.json")
    with pytest.raises(ConfigurationError, match=r"scenario.json keeps none that its scenario listed"):
        run(again)


def test_a_cell_is_written_as_a_workbooks_is() -> None:
    frame = pd.DataFrame(
        {
            "a": pd.Series([1.0, 0.5, None]),
            "b": pd.Series([True, False, None], dtype="boolean"),
            "c": pd.Series([np.int64(3), np.float64(0.25), np.True_], dtype=object),
            "d": pd.to_datetime(pd.Series(["2026-01-05", None, "2026-01-05T18:00"], dtype=object), format="ISO8601"),
            "e": pd.Categorical(["x,y", 'a"b', "two\nlines"]),
            "f": [dt.date(2026, 1, 5), dt.time(18), "plain"],
        }
    )
    path = path_of(FrameText.of("mine", frame))
    assert (form_of(path), header_of(path)) == (PLAIN, list("abcdef"))
    with open_table(path, PLAIN) as rows:
        assert [row for _, row in rows] == [
            ["1", "true", "3", "2026-01-05T00:00:00", "x,y", "2026-01-05"],
            ["0.5", "false", "0.25", "", 'a"b', "18:00:00"],
            ["", "", "true", "2026-01-05T18:00:00", "two\nlines", "plain"],
        ]


@pytest.mark.bad_input("a large file")
def test_a_frame_that_is_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parties, "check_size", functools.partial(check_size, max_bytes=10))
    with pytest.raises(ConfigurationError, match=r"frame votes of \d+ bytes': use a file of at most 10 bytes"):
        run_of("votes", pd.DataFrame(VOTES))
