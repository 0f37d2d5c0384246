"""PrefLib's files of orders: what is read, and what is refused with its line."""

import gzip
from pathlib import Path

import pytest
from bad_input import Write, refused_by
from makers import as_usual
from psephos.protocol import ConfigurationError
from psephos.scenarios.fair_voting.data.ballots import FileBallots
from psephos.scenarios.fair_voting.data.preflib import read_preflib

HEADER = """# FILE NAME: trees.{suffix}
# DATA TYPE: {suffix}
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: {voters}
# NUMBER UNIQUE ORDERS: {orders}
# ALTERNATIVE NAME 1: Oak
# ALTERNATIVE NAME 2: Ash: tall
# ALTERNATIVE NAME 3: Elm
# ALTERNATIVE NAME 4: Yew
"""
STRICT = HEADER.format(suffix="soc", voters=6, orders=3) + "3: 1,2,3,4\n1: 4,3,2,1\n2: 2,1,4,3\n"
INCOMPLETE = HEADER.format(suffix="soi", voters=3, orders=2) + "2: 3\n1: 4,1\n"
TIED = HEADER.format(suffix="toc", voters=3, orders=2) + "2: 1,{3,2},4\n1: {1,2,3,4}\n"
ANY = HEADER.format(suffix="toi", voters=4, orders=3) + "1: {4, 2}\n2: 3,{1,2}\n1: {2},1\n"


def orders_of(ballots: FileBallots) -> list[list[list[int]]]:
    """Return each voter's classes of alternatives, numbered from 1, without those that are not listed."""
    most = len(ballots.alternatives)
    tables: list[list[int]] = ballots.classes[ballots.ballot_of_voter].tolist()
    return [
        [[number for number, of in enumerate(row, start=1) if of == place] for place in range(max(row) + 1)]
        for row in ([of if of < most else -1 for of in row] for row in tables)
    ]


refusal = as_usual(refused_by, read_preflib)


def test_voters_stand_in_the_order_of_the_lines_each_as_often_as_its_count(write: Write) -> None:
    ballots = read_preflib(write("trees.soc", STRICT))
    assert ballots.alternatives == ("Oak", "Ash: tall", "Elm", "Yew")
    assert ballots.ids == ("1", "2", "3", "4")
    assert len(ballots) == 6
    assert orders_of(ballots) == [[[1], [2], [3], [4]]] * 3 + [[[4], [3], [2], [1]]] + [[[2], [1], [4], [3]]] * 2
    assert ballots.lines.tolist() == [10, 10, 10, 11, 12, 12]
    assert ballots.where(3) == "trees.soc line 11, voter 4"


def test_what_an_incomplete_order_does_not_list_is_in_the_last_class(write: Write) -> None:
    ballots = read_preflib(write("trees.soi", INCOMPLETE))
    assert orders_of(ballots) == [[[3]], [[3]], [[4], [1]]]
    assert ballots.classes[1].tolist() == [1, 4, 4, 0]
    assert ballots.listed[1].tolist() == [1, 4, 4, 0]


def test_tied_alternatives_are_one_class_and_keep_the_order_of_the_line(write: Write) -> None:
    ballots = read_preflib(write("trees.toc", TIED))
    assert orders_of(ballots) == [[[1], [2, 3], [4]]] * 2 + [[[1, 2, 3, 4]]]
    assert ballots.listed[0].tolist() == [0, 2, 1, 3]
    assert orders_of(read_preflib(write("trees.toi", ANY))) == [[[2, 4]], [[3], [1, 2]], [[3], [1, 2]], [[2], [1]]]


FORMS = {
    "CR LF": STRICT.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + STRICT,
    "no last line end": STRICT.rstrip("\n"),
    "blanks": STRICT.replace("1,2,3,4", " 1, 2 ,3,\t4 "),
    "blank lines": STRICT.replace("3: 1", "\n3: 1"),
    "no type": STRICT.replace("# DATA TYPE: soc\n", ""),
    "an order on two lines": STRICT.replace("2: 2,1,4,3", "1: 2,1,4,3\n1: 2,1,4,3"),
    "an order on two lines, written differently": STRICT.replace("2: 2,1,4,3", "1: 2,1,4,3\n1: 2, 1,4,3"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_file_give_the_same_orders(write: Write, form: str) -> None:
    expected = orders_of(read_preflib(write("trees.soc", STRICT)))
    assert orders_of(read_preflib(write("trees.soc", FORMS[form]))) == expected


def test_packed_file_is_read(write: Write) -> None:
    ballots = read_preflib(write("trees.SOC.gz", gzip.compress(STRICT.encode())))
    assert len(ballots) == 6


def test_alternatives_with_the_same_name_stand_behind_their_numbers(write: Write) -> None:
    ballots = read_preflib(write("trees.soc", STRICT.replace("Elm", "Oak")))
    assert ballots.alternatives == ("1: Oak", "2: Ash: tall", "3: Oak", "4: Yew")


FAULTS = {
    "voters": ("VOTERS: 6", "VOTERS: 7", "NUMBER VOTERS (trees.soc line 4)", "voters in the lines below, 6"),
    "no voters": ("# NUMBER VOTERS: 6\n", "", "trees.soc, header", "with NUMBER VOTERS"),
    "voters in words": ("VOTERS: 6", "VOTERS: six", "NUMBER VOTERS (trees.soc line 4)", ", 6"),
    "alternatives": ("NATIVES: 4", "NATIVES: 5", "NUMBER ALTERNATIVES (trees.soc line 3)", "that have a name, 4"),
    "unique orders": ("ORDERS: 3", "ORDERS: 4", "NUMBER UNIQUE ORDERS (trees.soc line 5)", "below, 3"),
    "type": ("TYPE: soc", "TYPE: toc", "DATA TYPE (trees.soc line 2)", "'soc'"),
    "key twice": ("TYPE: soc", "TYPE: soc\n# DATA TYPE: soc", "trees.soc line 3", "line 2 has DATA TYPE"),
    "name left out": ("# ALTERNATIVE NAME 3: Elm\n", "", "trees.soc, ALTERNATIVE NAME", "1, 2, … each"),
    "repeated": ("4,3,2,1", "4,3,4,1", "trees.soc line 11", "4 is repeated"),
    "omitted": ("4,3,2,1", "4,3,1", "trees.soc line 11", "an order of all 4 alternatives"),
    "unknown": ("4,3,2,1", "4,3,2,5", "alternative (trees.soc line 11)", "1 to 4"),
    "numbered from 0": ("4,3,2,1", "3,2,1,0", "alternative (trees.soc line 11)", "1 to 4"),
    "tie": ("4,3,2,1", "4,{3,2},1", "trees.soc line 11", "ties belong in a file .toc or .toi"),
    "count in words": ("1: 4", "one: 4", "count (trees.soc line 11)", "a number of voters"),
    "count below 0": ("1: 4", "-1: 4", "count (trees.soc line 11)", "a number of voters"),
    "count of 0": ("1: 4", "0: 4", "count (trees.soc line 11)", "at least 1"),
    "count of a half": ("1: 4", "0.5: 4", "count (trees.soc line 11)", "at least 1"),
    "vast count": ("1: 4", "999999999: 4", "count (trees.soc line 11)", "at most 10,000,000"),
    "no count": ("1: 4,3,2,1", "4,3,2,1", "trees.soc line 11", "'count: 1,2,3'"),
    "no order": ("1: 4,3,2,1", "1: ", "trees.soc line 11", "numbers of alternatives"),
    "name for a number": ("4,3,2,1", "4,3,2,Oak", "trees.soc line 11", "numbers of alternatives"),
    "blank for a comma": ("4,3,2,1", "4,3,2 1", "trees.soc line 11", "numbers of alternatives"),
    "comma at the end": ("4,3,2,1", "4,3,2,1,", "trees.soc line 11", "numbers of alternatives"),
    "other digits": ("4,3,2,1", "4,3,2,١", "trees.soc line 11", "numbers of alternatives"),
    "cut": ("2: 2,1,4,3\n", "2: 2,", "trees.soc line 12", "numbers of alternatives"),
    "metadata below": ("1: 4", "# TITLE: late\n1: 4", "trees.soc line 11", "metadata stand before"),
    "NUL": ("4,3,2,1", "4,3,\0,1", "trees.soc line 11", "without NUL"),
}


@pytest.mark.bad_input("a file whose numbers are not those of its header")
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_with_its_line(write: Write, fault: str) -> None:
    right, wrong, field, allowed = FAULTS[fault]
    assert STRICT.count(right) == 1
    error = refusal(write("trees.soc", STRICT.replace(right, wrong)))
    assert error.field == field
    assert allowed in error.allowed


@pytest.mark.parametrize("order", ["1,{2,3", "1,2,3}", "{1,{2,3}}", "1,{},2", "{}"])
def test_braces_that_do_not_match_or_are_empty_are_refused(write: Write, order: str) -> None:
    error = refusal(write("trees.toi", ANY.replace("{2},1", order)))
    assert error.field == "trees.toi line 12"
    assert "tied ones in braces" in error.allowed


def test_alternative_repeated_in_a_tie_is_refused(write: Write) -> None:
    error = refusal(write("trees.toi", ANY.replace("3,{1,2}", "3,{1,3}")))
    assert (error.field, error.value) == ("trees.toi line 11", [3, 1, 3])


def test_tied_order_of_a_complete_file_must_be_complete(write: Write) -> None:
    error = refusal(write("trees.toc", TIED.replace("{1,2,3,4}", "{1,2,4}")))
    assert (error.field, error.value) == ("trees.toc line 11", "an order without 3")


def test_text_in_another_encoding_is_named_with_its_line_and_byte(write: Write) -> None:
    error = refusal(write("trees.soc", STRICT.replace("Elm", "Érable").encode("latin-1")))
    assert error.field == "trees.soc line 8"
    assert "byte 23 of the line is 0xc9" in error.allowed


def test_what_is_no_file_of_orders_is_refused(write: Write, tmp_path: Path) -> None:
    assert "a readable file" in refusal(tmp_path / "nowhere.soc").allowed
    assert "a readable file" in refusal(write("no.soc.gz", STRICT)).allowed
    assert ".soc, .soi, .toc, .toi" in refusal(write("trees.csv", STRICT)).allowed
    assert refusal(write("empty.soc", "")).field == "empty.soc, header"
    assert refusal(write("trees.soc", STRICT[: STRICT.index("3: 1")])).value == "a header alone"


def test_no_more_alternatives_than_a_table_should_have(write: Write) -> None:
    names = "".join(f"# ALTERNATIVE NAME {number}: a{number}\n" for number in range(1, 1002))
    error = refusal(write("many.soi", f"# NUMBER ALTERNATIVES: 1001\n{names}1: 5\n"))
    assert (error.field, error.value) == ("many.soi, NUMBER ALTERNATIVES", 1001)


@pytest.mark.parametrize(
    ("name", "num_voters", "num_alternatives"),
    [
        *((f"preflib_00035_breakfast/00035-{number:08d}.soc", 42, 15) for number in range(2, 8)),
        *(
            (f"preflib_00024_dots/00024-{number:08d}.soc", voters, 4)
            for number, voters in enumerate((795, 794, 800, 794), start=1)
        ),
        ("preflib_00030_uklabor/00030-00000001.soi", 266, 5),
    ],
)
def test_real_files_have_the_published_counts(
    real_sets: Path, name: str, num_voters: int, num_alternatives: int
) -> None:
    ballots = read_preflib(real_sets / name)
    assert (len(ballots), len(ballots.alternatives)) == (num_voters, num_alternatives)


def test_shares_of_right_answers_on_the_dots_are_those_published(real_sets: Path) -> None:
    shares: list[float] = []
    for number in range(1, 5):
        ballots = read_preflib(real_sets / f"preflib_00024_dots/00024-{number:08d}.soc")
        orders = orders_of(ballots)
        shares.append(round(orders.count([[1], [2], [3], [4]]) / len(orders), 3))
    assert shares == [0.093, 0.115, 0.161, 0.213]


def test_files_that_the_libraries_write_themselves_are_read(write: Write) -> None:
    """As preflibtools 2.0.33 and pref_voting 1.18.2 do: numbers from 0, a tie in two orders counted as two."""
    header = "# DATA TYPE: toc\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 6\n# NUMBER UNIQUE ORDERS: {}\n"
    names = "# ALTERNATIVE NAME 0: oak\n# ALTERNATIVE NAME 1: ash\n# ALTERNATIVE NAME 2: elm\n"
    votes = "3: {2, 1}, 0\n2: {1, 2}, 0\n1: 1, 0, 2\n"
    for number in (2, 3):
        ballots = read_preflib(write("trees.toc", header.format(number) + names + votes))
        assert (ballots.alternatives, ballots.ids) == (("oak", "ash", "elm"), ("0", "1", "2"))
        assert ballots.classes[ballots.ballot_of_voter].tolist() == [[1, 0, 0]] * 5 + [[1, 0, 2]]
    for wrong in ("1", "4"):
        with pytest.raises(ConfigurationError, match="unique orders in the lines below, 2"):
            read_preflib(write("trees.toc", header.format(wrong) + names + votes))
    with pytest.raises(ConfigurationError, match="a number of an alternative, 0 to 2"):
        read_preflib(write("trees.toc", header.format(2) + names + votes.replace("0\n2", "3\n2")))
