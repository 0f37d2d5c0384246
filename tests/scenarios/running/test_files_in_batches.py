"""Partners of files of any size: the bits of one CSV that is read at once, and what is wrong said with file and row."""

import gzip
import itertools
import json
import random
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.columns import normalize_name
from psephos.protocol.dpwevote import Outcome
from psephos.scenarios import Local, Streamed, load_scenario, resolve, run_session
from psephos.scenarios.reading import batches, columns, grouping
from psephos.scenarios.running.record import SessionObservers

pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

Columns = dict[str, list[Any]]

PARAMETERS = {
    "joint": {"variant": "joint", "weights": [1, 2, 3]},
    "split": {"variant": "joint", "epsilon_weight": 0.5, "epsilon_opinion": 0.75, "weights": [1, 2, 3]},
    "public": {"variant": "joint", "public_weights": True},
    "optimal": {"variant": "optimal", "weights": [1, 2, 3]},
    "central": {"variant": "central", "weights": [1, 2, 3]},
    "rounded": {"variant": "joint", "weights": [1.05, 2.1, 2.9], "weights_within": 0.05},
    "rounded and public": {"variant": "central", "weights": [1.05, 2.1], "weights_within": 0.5, "public_weights": True},
    "central and public": {"variant": "central", "public_weights": True, "weights": [1, 2, 3]},
    "heavy": {"variant": "central", "public_weights": True, "epsilon": 9.0},
}


def made(number: int, seed: int = 5) -> Columns:
    draw = random.Random(seed)
    return {
        "partner": [f"p{place}" for place in range(number)],
        "weight": [draw.choice([1, 2, 3]) for _ in range(number)],
        "roof": [draw.choice(["yes", "no"]) for _ in range(number)],
        "bylaws": [draw.choice([True, False]) for _ in range(number)],
    }


def part(columns: Columns, start: int, stop: int) -> Columns:
    return {name: entries[start:stop] for name, entries in columns.items()}


def as_csv(columns: Columns, *, delimiter: str = ",") -> str:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


def write(path: Path, columns: Columns) -> None:
    """Write a table in the form that its file's name says."""
    path.parent.mkdir(exist_ok=True)
    match path.suffixes[-1]:
        case ".parquet":
            parquet.write_table(pyarrow.table(columns), path, row_group_size=4)
        case ".arrow":
            table = pyarrow.table(columns)
            with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as file:
                file.write_table(table, max_chunksize=5)
        case ".gz":
            path.write_bytes(gzip.compress(as_csv(columns).encode()))
        case _:
            path.write_text(as_csv(columns))


def resolved(file: Path | str, parameters: dict[str, Any], **more: Any) -> Local:
    own = {"candidates": ["roof", "bylaws"], **parameters}
    content: dict[str, Any] = {
        "protocol": "dpwevote",
        "name": "v",
        "seed": 3,
        "noise": "simulated",
        "transport": "array",
        "parameters": own if "epsilon_weight" in own else {"epsilon": 1.0, **own},
        "partners": {"file": str(file), **more},
    }
    scenario = Path(f"{len(str(file))}.json")
    scenario.write_text(json.dumps(content))
    return resolve(load_scenario(str(scenario)))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batches, "_ROWS", 7)
    monkeypatch.setattr(columns, "_ROWS", 7)


def refusal(file: Path | str, **parameters: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        run_session(resolved(file, {"variant": "joint", "weights": [1, 2, 3], **parameters}), seed=3)
    return caught.value


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("end", [".parquet", ".arrow", ".csv", ".csv.gz"])
def test_files_in_batches_have_the_bits_of_one_that_is_read_at_once(name: str, end: str) -> None:
    columns, parameters = made(40), PARAMETERS[name]
    write(Path("all.csv"), columns)
    for number, (start, stop) in enumerate([(0, 11), (11, 12), (12, 40)]):
        write(Path(f"parts/{number}{end}"), part(columns, start, stop))
    at_once, folder, pattern = (
        resolved(Path.cwd() / path, parameters) for path in ("all.csv", "parts", f"parts/*{end}")
    )
    assert not isinstance(at_once, Streamed)
    outcome = run_session(at_once, seed=3)
    assert isinstance(outcome.outcome, Outcome)
    assert (outcome.outcome.noise_weight == 0.0) is (name == "heavy")  # of which most files know nothing by themselves
    for streamed in (folder, pattern):
        assert isinstance(streamed, Streamed)
        found = run_session(streamed, seed=3)
        assert found.outcome == outcome.outcome
        assert list(found.tallies) == list(outcome.tallies)


def test_a_file_that_is_too_large_to_be_read_at_once_comes_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("all.csv"), made(30))
    outcome = run_session(resolved("all.csv", PARAMETERS["joint"]), seed=3).outcome
    monkeypatch.setattr(batches, "MAX_FILE_BYTES", 100)
    large = resolved("all.csv", PARAMETERS["joint"])
    assert isinstance(large, Streamed)
    assert run_session(large, seed=3).outcome == outcome


FORMS: Sequence[Callable[[str], str]] = (
    lambda text: text.replace("\n", "\n\n", 9),
    lambda text: text.replace(",", ";"),
    lambda text: text.replace("p3,", '"p,3",').replace("p8,", '"p\n8",'),
    lambda text: "\ufeff" + text.replace("\n", "\r\n"),
)


@pytest.mark.parametrize("change", FORMS)
def test_a_csv_of_any_form_has_the_same_bits(change: Callable[[str], str]) -> None:
    text = as_csv(made(30))
    Path("plain").mkdir()
    Path("other").mkdir()
    Path("plain/a.csv").write_text(text)
    Path("other/a.csv").write_bytes(change(text).encode())
    outcomes = [run_session(resolved(folder, PARAMETERS["joint"]), seed=3).outcome for folder in ("plain", "other")]
    assert outcomes[0] == outcomes[1]


def test_words_and_names_of_columns_are_the_file_s() -> None:
    columns = made(20)
    write(Path("all.csv"), columns)
    own = {"member": columns["partner"], "shares": columns["weight"], "more": columns["weight"]}
    own |= {name: ["ja" if each in {"yes", True} else "nein" for each in columns[name]] for name in ("roof", "bylaws")}
    write(Path("own.parquet"), own)
    more = {"columns": {"partner": "member", "weight": "shares"}, "yes": ["ja"], "no": ["nein"]}
    assert (
        run_session(resolved("own.parquet", PARAMETERS["joint"], **more), seed=3).outcome
        == run_session(resolved("all.csv", PARAMETERS["joint"]), seed=3).outcome
    )


def test_without_weights_everybody_has_one() -> None:
    write(Path("one.parquet"), {"roof": ["yes", "no", "yes"], "bylaws": ["no", "no", "no"]})
    found = resolved("one.parquet", {"variant": "joint"})
    assert found.protocol.parameters.public_weights
    assert run_session(found, seed=3).tallies[-1].num_reports == 3


def _with(columns: Columns, **entries: Sequence[Any]) -> Columns:
    return {**columns, **{name: list(own) for name, own in entries.items()}}


SMALL: Columns = {"weight": [1, 2], "roof": ["yes", "no"], "bylaws": [True, False]}


@pytest.mark.parametrize(
    ("second", "field", "allowed"),
    [
        ({name: SMALL[name] for name in ("weight", "roof")}, "column 'bylaws' of 2.parquet", "as in 1.parquet"),
        (_with(SMALL, weight=["1", "2"]), "column 'weight' of 2.parquet", "a number, as in 1.parquet"),
        (_with(SMALL, weight=[[1], [2]]), "column 'weight' of 2.parquet", "a number, as in 1.parquet"),
        (_with(SMALL, weight=[1, 7]), "weight (2.parquet row 2)", "one of 1, 2, 3"),
        (_with(SMALL, weight=[1, None]), "weight (2.parquet row 2)", "one of 1, 2, 3"),
        (_with(SMALL, roof=["yes", "perhaps"]), "roof (2.parquet row 2)", "yes or no"),
        (_with(SMALL, roof=[None, "yes"]), "roof (2.parquet row 1)", "yes or no"),
        (_with(SMALL, bylaws=[True, None]), "bylaws (2.parquet row 2)", "yes or no"),
    ],
)
def test_what_is_wrong_with_one_of_many_files_is_said_with_its_name(second: Columns, field: str, allowed: str) -> None:
    write(Path("s/1.parquet"), SMALL)
    write(Path("s/2.parquet"), second)
    error = refusal("s")
    assert error.field == field
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("name", "content", "field", "allowed"),
    [
        ("2.parquet", b"PAR1", "2.parquet", "a whole file of parquet"),
        ("2.arrow", b"ARROW1", "2.arrow", "a whole file of arrow"),
        ("2.csv", b"weight,roof,bylaws\n", "2.csv", "a file with rows"),
        ("2.csv", b"weight,roof,bylaws\n1,yes,no\n\n1,maybe,no\n", "roof (2.csv line 4)", "yes or no"),
        ("2.csv", b"weight,roof,bylaws\n1,yes,no\n1,yes\n", "2.csv line 3", "the header 3"),
        ("2.csv", b"weight,roof,roof\n1,yes,no\n", "2.csv line 1", "distinct, non-empty names"),
        ("2.txt", b"", "2.txt", "a CSV file with a header"),
    ],
)
def test_a_broken_file_is_named(name: str, content: bytes, field: str, allowed: str) -> None:
    first = {".csv": "1.csv", ".txt": "1.csv"}.get(Path(name).suffix, "1.parquet")
    write(Path("s") / first, SMALL)
    Path("s", name).write_bytes(content)
    error = refusal("s")
    assert error.field == field
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("s/*.csv", "Name a file, a folder or a pattern."),
        ("none.parquet", "Name a file, a folder or a pattern."),
        ("empty", "There is no file in "),
        ("s/*", "a file of .parquet"),
    ],
)
def test_what_names_no_tables_is_refused(path: str, allowed: str) -> None:
    write(Path("s/1.parquet"), SMALL)
    Path("s/note.doc").write_text("")
    Path("empty").mkdir()
    error = refusal(path)
    assert error.field == "partners"
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"without": ["Total"]}, "partners.without"),
        ({"one_of": ["roof", "bylaws"]}, "partners.one_of"),
        ({"repeats": "last"}, "partners.repeats"),
        ({"abstentions": "absent"}, "partners.abstentions"),
        ({"columns": {"weight": "shares"}}, "partners.columns.weight"),
    ],
)
def test_what_needs_all_partners_at_once_is_refused(more: dict[str, Any], field: str) -> None:
    write(Path("s/1.parquet"), SMALL)
    with refuses(field):
        resolved("s", PARAMETERS["joint"], **more)


@pytest.mark.parametrize("most", [1 << 25, 5], ids=["one pass", "many passes"])
@pytest.mark.parametrize("end", [".parquet", ".arrow", ".csv", ".csv.gz"])
@pytest.mark.parametrize("names", ["partner", "Name"])
def test_a_partner_in_two_lines_of_any_files_is_refused_by_both(
    monkeypatch: pytest.MonkeyPatch, names: str, end: str, most: int
) -> None:
    monkeypatch.setattr(grouping, "_MOST_NAMES", most)
    word = "row" if end in {".parquet", ".arrow"} else "line"
    add = 1 if word == "row" else 2
    for again, said in (
        ("p3", "named once"),
        (" P3", "unlike 'p3', but for case and blanks"),
        ("p\u00b3", "unlike"),
    ):
        columns = made(40)
        columns["partner"][29] = again
        columns = {names if name == "partner" else name: entries for name, entries in columns.items()}
        for number, (start, stop) in enumerate([(0, 11), (11, 40)]):
            write(Path(f"twice/{number}{end}"), part(columns, start, stop))
        with refuses(f"partner (1{end} {word} {18 + add})", allowed=f"(0{end} {word} {3 + add} has it too)") as caught:
            resolved("twice", PARAMETERS["joint"])
        assert caught.value.allowed.startswith(said)
        assert isinstance(resolved("twice", PARAMETERS["joint"], numbered=True), Streamed)
        if said != "named once" and names == "partner":
            assert isinstance(resolved("twice", PARAMETERS["joint"], repeats="none"), Streamed)


def test_names_are_told_apart_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(8)
    for case in range(60):
        monkeypatch.setattr(grouping, "_MOST_NAMES", draw.choice([3, 1 << 25]))
        pool = ["a", "A", "b", "\u00e9", "e\u0301", "b  c", "b c", "\u00df", "ss", "d", "e", "f", "g", "h", "i"]
        names = [draw.choice(pool) for _ in range(draw.randint(2, 5))]
        write(Path(f"n{case}/1.csv"), {**part(made(len(names)), 0, len(names)), "partner": names})
        is_due = len({*map(normalize_name, names)}) < len(names)
        with pytest.raises(ConfigurationError, match=r"partner \(1.csv line") if is_due else nullcontext():
            resolved(f"n{case}", PARAMETERS["joint"])


@pytest.mark.parametrize("end", [".csv", ".csv.gz"])
def test_a_weight_that_may_be_thousands_is_asked_about_in_batches_too(end: str) -> None:
    columns = made(20)
    columns["weight"] = ["7"] * 10 + ["1.200"] * 10
    write(Path(f"w/1{end}"), columns)
    weights = {"variant": "joint", "weights": [1.2, 7, 1200]}
    with pytest.raises(
        ConfigurationError, match=r"Which number is '1\.200'\? Set partners\.decimal to the sign before decimals"
    ) as caught:
        run_session(resolved("w", weights), seed=3)
    assert (caught.value.field, caught.value.value) == (f"weight (1{end} line 12)", "1.200")
    public = {"variant": "joint", "public_weights": True}
    with pytest.raises(ConfigurationError, match=r"partners\.decimal"):
        resolved("w", public)
    for decimal, weight in ((".", 1.2), (",", 1200.0)):
        told = run_session(resolved("w", public, decimal=decimal), seed=3).outcome
        plain = {**columns, "weight": [7] * 10 + [weight] * 10}
        write(Path("plain.csv"), plain)
        assert told == run_session(resolved("plain.csv", public), seed=3).outcome
    columns["weight"] = ["7"] * 10 + ["1.200"] * 9 + ["0.5"]
    write(Path(f"v/1{end}"), columns)
    assert isinstance(resolved("v", public), Streamed)  # one that can be no thousands tells the others


def test_a_column_like_that_of_weights_is_not_left_out() -> None:
    write(Path("s/1.parquet"), {"Weight": [5, 6], "roof": ["yes", "no"], "bylaws": ["yes", "no"]})
    with pytest.raises(ConfigurationError, match=r"line 1\): Call 'Weight' 'weight', if it holds weights"):
        resolved("s", {"variant": "joint"})


def test_where_all_rows_are_needed_at_once_it_is_said(psephos: Callable[..., Any]) -> None:
    write(Path("s/1.parquet"), SMALL)
    resolved(Path.cwd() / "s", PARAMETERS["joint"])
    for command, said in (
        (("plan", "--error", "1%"), "use one file, read at once: many files, and larger ones, are for `psephos run`"),
        (("trials",), "partners are streamed: use ones that are read at once, since trials hold"),
    ):
        ended = psephos(command[0], *[path.name for path in Path().glob("*.json")], *command[1:])
        assert ended.status == 2
        assert said in ended.err


@pytest.mark.parametrize("is_public", [True, False])
def test_a_quota_that_nobody_reaches_is_refused_before_anything_is_released(*, is_public: bool) -> None:
    write(Path("s/1.parquet"), SMALL)
    found = run_session(resolved("s", {**PARAMETERS["joint"], "public_weights": is_public, "quota": 3.0}), seed=3)
    assert found.tallies[-1].num_reports == 2
    with pytest.raises(ConfigurationError, match=r"quota is .*: use at most") as caught:
        run_session(resolved("s", {**PARAMETERS["joint"], "public_weights": is_public, "quota": 7.0}), seed=3)
    assert f"{3 if is_public else 6}" in caught.value.allowed


# Elections.


def ballots(number: int) -> Columns:
    draw = random.Random(9)
    return {
        "voter": [f"v{place}" for place in range(number)],
        "group": [draw.choice(["town", "village ", "town "]) for _ in range(number)],
        "ranking": [" > ".join(draw.sample(["pool", "rink", "library"], 3)) for _ in range(number)],
    }


def election(file: Path | str, parameters: dict[str, Any], **more: Any) -> Local:
    voters = {"file": str(file), **more} if more else str(Path.cwd() / file)
    own = {"epsilon": 1.0, **parameters}
    content = {
        "protocol": "fair-voting",
        "name": "e",
        "seed": 3,
        "noise": "simulated",
        "transport": "array",
        "parameters": own,
    }
    scenario = Path("election.json")
    scenario.write_text(json.dumps({**content, "voters": voters}))
    return resolve(load_scenario(str(scenario)))


@pytest.mark.parametrize(
    "parameters",
    [
        {"mechanism": "laplace"},
        {"mechanism": "exponential", "groups": ["village", "town"]},
        {"mechanism": "noisy_scores"},
        {"mechanism": "joint_ranking"},
        {"mechanism": "sampled_pair", "alternatives": ["rink", "library", "pool"]},
    ],
)
@pytest.mark.parametrize("end", [".parquet", ".csv"])
def test_ballots_in_batches_have_the_bits_of_a_file_that_is_read_at_once(parameters: dict[str, Any], end: str) -> None:
    columns = ballots(50)
    write(Path("all.csv"), columns)
    for number, (start, stop) in enumerate([(0, 3), (3, 30), (30, 50)]):
        write(Path(f"parts/{number}{end}"), part(columns, start, stop))
    at_once, streamed = (election(path, parameters) for path in ("all.csv", "parts"))
    assert isinstance(streamed, Streamed) and not isinstance(at_once, Streamed)  # noqa: PT018  one is, one is not
    found, expected = (run_session(each, seed=3) for each in (streamed, at_once))
    assert found.outcome == expected.outcome
    assert list(found.tallies) == list(expected.tallies)


@pytest.mark.parametrize(
    ("column", "entry", "field", "allowed"),
    [
        ("group", "", "group", "one group, such as"),
        ("group", "town; village", "group", "one group, such as"),
        ("ranking", "pool > rink", "ranking: missing alternative (b.parquet row 2)", "each of"),
    ],
)
def test_a_wrong_ballot_is_named(column: str, entry: str, field: str, allowed: str) -> None:
    write(Path("s/a.parquet"), ballots(9))
    wrong = {**ballots(3), "voter": ["v9", "v10", "v11"]}
    wrong[column][1] = entry
    write(Path("s/b.parquet"), wrong)
    with refuses(field, allowed=allowed):
        run_session(election("s", {"mechanism": "laplace"}), seed=3)


def test_sizes_of_groups_that_are_not_the_file_s_are_refused() -> None:
    write(Path("s/a.parquet"), ballots(9))
    own = {"mechanism": "laplace", "groups": ["town", "village"], "group_sizes": [1, 8]}
    with pytest.raises(ConfigurationError, match=r"group 'town' (is|are) .*the 1 of group_sizes"):
        run_session(election("s", own), seed=3)


def progress() -> list[tuple[int, float]]:
    told: list[tuple[int, float]] = []

    def tell(_: str, received: int, outstanding: float) -> None:
        told.append((received, outstanding))

    run_session(resolved("parts", PARAMETERS["joint"]), seed=3, observers=SessionObservers(on_progress=tell))
    return told


def test_progress_is_by_rows_and_says_how_many_are_left_where_files_do() -> None:
    write(Path("parts/0.parquet"), made(23))
    told = progress()
    assert told[-1] == (23, 0)
    assert all(received + left == 23 for received, left in told)


@pytest.mark.parametrize("end", ["csv", "csv.gz"])
def test_progress_of_text_is_estimated_by_bytes(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(columns, "_ROWS", 1_000)
    for number in range(2):  # the first one's rows are of blank lines: read with care, as the second one's are not
        write(Path(f"parts/{number}.csv"), part(made(20_000), 10_000 * number, 10_000 * (number + 1)))
    lines = Path("parts/0.csv").read_text().replace("\n", "\n\n")
    if end == "csv.gz":
        Path("parts/0.csv.gz").write_bytes(gzip.compress(lines.encode()))
        Path("parts/0.csv").unlink()
    else:
        Path("parts/0.csv").write_text(lines)
    sizes = [path.stat().st_size for path in sorted(Path("parts").iterdir())]
    told = progress()
    assert told[-1] == (20_000, pytest.approx(0.0, abs=1e-6))
    shares = [received / (received + left) for received, left in told]
    assert all(later >= earlier - 1e-12 for earlier, later in itertools.pairwise(shares))
    assert all(isinstance(left, float) for _, left in told)
    ((_, of_first),) = [(done, share) for (done, _), share in zip(told, shares, strict=True) if done == 10_000]
    assert of_first == pytest.approx(sizes[0] / sum(sizes), abs=0.03)


def test_a_blank_line_after_each_row_makes_no_batch_of_it() -> None:
    Path("blank.csv").write_text(as_csv(made(30)).replace("\n", "\n\n"))
    files = batches.TableFiles("blank.csv", field="partners", columns={})
    found = list(files.batches(["weight", "roof"]))
    assert [batch.num_rows for batch in found] == [7, 7, 7, 7, 2]
    assert [batch.where(2) for batch in found] == [f"blank.csv line {3 + 2 * row}" for row in (1, 8, 15, 22, 29)]


@pytest.mark.parametrize("as_dictionary", [False, True])
def test_truths_are_read_wherever_a_batch_of_them_begins(*, as_dictionary: bool) -> None:
    truths = [bool(own) for own in random.Random(4).choices([0, 1], k=70)]
    column = pyarrow.array(truths)
    table = pyarrow.table({"roof": column.dictionary_encode() if as_dictionary else column})
    with pyarrow.OSFile("votes.arrow", "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    read = list(batches.TableFiles("votes.arrow", field="partners", columns={}).batches(["roof"]))
    assert [batch.num_rows for batch in read] == [7] * 10
    assert [bool(own) for batch in read for own in batch.table["roof"]] == truths
