"""A first vote of a table: words, persons, columns and majorities are said or asked about, and never guessed."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from bad_input import Psephos, Write, is_plain
from psephos.scenarios import Local, load_scenario, resolve

Count = Callable[..., tuple[int, dict[str, float]]]
Ask = Callable[..., str]
SIGNED = "name,roof\n" + "".join(f"p{n},{1 if n < 20 else -1 if n < 39 else 0}\n" for n in range(50))


@pytest.fixture
def counted(psephos: Psephos, write: Write) -> Count:
    """Return how many take part in the vote on a table, and what each motion gets."""

    def count(content: str, options: str = "") -> tuple[int, dict[str, float]]:
        write("own.csv", content)
        name = f"v{len(list(Path().glob('v*.toml')))}.toml"
        ended = psephos("new", "vote", "own.csv", "--no-run", "--to", name, *shlex.split(options))
        assert (ended.status, ended.err) == (0, "")
        resolved = resolve(load_scenario(name))
        assert isinstance(resolved, Local)
        truth = resolved.protocol.truth(resolved.inputs)
        assert truth is not None
        return len(resolved.names), {name: float(truth[name]) for name in resolved.protocol.parameters.candidates}

    return count


@pytest.fixture
def asked(psephos: Psephos, write: Write) -> Ask:
    """Return the question that a table gets."""

    def ask(content: str, options: str = "") -> str:
        write("own.csv", content)
        ended = psephos("new", "vote", "own.csv", "--no-run", *shlex.split(options))
        assert (ended.status, ended.out, is_plain(ended.err)) == (2, "", True)
        assert not list(Path().glob("own.toml"))
        return str(ended.err)

    return ask


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "--yes: 'roof' has '1' (20×), '-1' (19×) and '0' (11×): which means yes?"),
        ("--no=-1", "--abstain: 'roof' has '1' (20×), '-1' (19×) and '0' (11×): does '0' mean abstain?"),
        ("--yes 1 --no=-1", "does '0' mean abstain"),
        ("--no=-1 --abstain 0", "11 of 50 abstain ('0' 11×): are they absent"),
        ("--yes=-1", "which means no"),
    ],
)
def test_beside_minus_one_a_zero_is_a_third_value(asked: Ask, options: str, words: str) -> None:
    assert words in asked(SIGNED, options)
    assert "did you mean" not in asked(SIGNED, options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--no=-1 --abstain 0 --abstentions absent", (39, 20)),
        ("--no=-1 --abstain 0 --abstentions yes", (50, 31)),
        ("--no=-1 --no 0", (50, 20)),
        ("--yes=-1 --no 1 --abstain 0 --abstentions no", (50, 19)),
        ("--yes 0 --no 1 --no=-1", (50, 11)),
    ],
)
def test_a_word_that_somebody_gave_beats_what_is_built_in(
    counted: Count, options: str, expected: tuple[int, int]
) -> None:
    number, support = counted(SIGNED, options)
    assert (number, support["roof"]) == expected


@pytest.mark.parametrize("third", ["0", "false", "n", "x", "0.0", "✗", "N", "FALSE", "1", "y", "true"])
@pytest.mark.parametrize("words", [("agree", "disagree"), ("hiya", "hapana")])
def test_a_sign_that_nobody_named_is_asked_about_beside_words_that_were_given(
    counted: Count, asked: Ask, words: tuple[str, str], third: str
) -> None:
    yes, no = words
    content = f"name,roof\nann,{yes}\nbob,{no}\ncid,{third}\ndee,{yes}\n"
    err = asked(content, f"--yes {yes} --no {no}")
    assert f"does {third!r} mean abstain" in err
    answers = {"no": 2, "yes": 3}
    for answer, support in answers.items():
        options = f"--yes {yes} --no {no} --{answer} {third}"
        assert counted(content, options) == (4, {"roof": support})


@pytest.mark.parametrize("third", ["0", "false", "✗", "true", "1"])
def test_a_sign_beside_plain_words_is_asked_about(asked: Ask, third: str) -> None:
    assert f"{third!r} mean" in asked(f"name,roof\nann,yes\nbob,no\ncid,{third}\n")


def test_words_of_one_kind_need_no_word(counted: Count) -> None:
    for yes, no in (("1", "0"), ("TRUE", "False"), ("y", "N"), ("✓", "x"), ("1.0", "0.0"), ("j", "nein")):
        assert counted(f"name,roof\nann,{yes}\nbob,{no}\ncid,{yes}\n") == (3, {"roof": 2})


@pytest.mark.parametrize("filler", ["No opinion", "Under reserve", "Maybe", "unkown", "Don't know", "Neutral"])
def test_a_filler_is_asked_about_and_is_no_other_answer(counted: Count, asked: Ask, filler: str) -> None:
    content = f"name,roof\nann,hiya\nbob,{filler}\ncid,hiya\n"
    assert "--no: " in asked(content, "--yes hiya")
    content = f"name,roof\nann,Yes\nbob,No\ncid,{filler}\n"
    assert "mean abstain? One of" in asked(content)
    options = f"--abstain {shlex.quote(filler)} --abstentions absent"
    assert counted(content, options) == (2, {"roof": 1})


@pytest.mark.parametrize(
    ("number", "yes", "needed"), [(30, 15, "more than 15 of 30"), (31, 15, "more than 15.5 of 31")]
)
def test_a_majority_is_more_than_half(psephos: Psephos, write: Write, number: int, yes: int, needed: str) -> None:
    write("own.csv", "name,roof\n" + "".join(f"p{n},{'yes' if n < yes else 'no'}\n" for n in range(number)))
    ended = psephos("new", "vote", "own.csv", "--trust", "central", "--epsilon", "20", "--out", "run")
    assert (ended.status, ended.err) == (0, "")
    assert f"A candidate passes with more than half: {needed} needed." in " ".join(ended.out.split())
    assert 'passes = "more_than"' in Path("own.toml").read_text(encoding="utf-8")
    assert "roof passes" not in ended.out


@pytest.mark.parametrize("share", ["2/3", "66.7%", "0.55", "75 %", "1", ".9", "1/3"])
def test_a_share_is_what_it_says(psephos: Psephos, write: Write, share: str) -> None:
    content = "name,roof\n" + "".join(f"p{n},{'yes' if n < 200 else 'no'}\n" for n in range(300))
    write("own.csv", content)
    ended = psephos("new", "vote", "own.csv", "--no-run", "--quota", share)
    assert (ended.status, ended.err) == (0, "")
    least = {"2/3": 200, "66.7%": 201, "0.55": 165, "75 %": 225, "1": 300, ".9": 270, "1/3": 100}[share]
    assert f"{share} or more: {least} of 300 needed." in " ".join(ended.out.split())
    resolve(load_scenario("own.toml"))


@pytest.mark.bad_input("a quota ≤ 0 or above the total")
@pytest.mark.parametrize("share", ["two thirds", "0", "4/3", "1/0", "101%", "2/3/4", "1/30000", "²/3"])
def test_what_is_no_share_is_refused_with_what_to_write(asked: Ask, share: str) -> None:
    assert "a share above 0 and up to 1, such as 2/3" in asked("name,roof\nann,yes\nbob,no\n", f"--quota '{share}'")


REPEATED = "Timestamp,Email,roof\n" + "".join(
    f"2026/01/0{n + 1} 3:04:05,p0{3 if n == 6 else n}@x.org,{'yes' if n in {3, 6} else 'no'}\n" for n in range(8)
)


def test_who_stands_twice_is_said_with_the_column_and_the_lines(counted: Count, asked: Ask) -> None:
    err = asked(REPEATED)
    assert "'Email' names 7 persons in 8 lines: 'p03@x.org' stands in lines 5 and 8" in err
    assert "Timestamp" not in err
    assert counted(REPEATED, "--repeats last") == (7, {"roof": 1})
    changed = REPEATED.replace("3:04:05,p03@x.org,yes\n2026/01/05", "3:04:05,P03@X.org ,no\n2026/01/05")
    assert "One of last, first, none" in asked(changed)
    assert counted(changed, "--repeats last") == (7, {"roof": 1})
    assert counted(changed, "--repeats first") == (7, {"roof": 0})
    assert counted(changed, "--repeats none") == (8, {"roof": 1})


def test_no_time_and_no_number_of_a_line_is_a_person_unless_somebody_says_so(
    psephos: Psephos, write: Write, asked: Ask
) -> None:
    rows = "".join(f"2026-01-0{n + 1} 3:04,R_{n},team {n % 2},{'yes' if n % 3 else 'no'}\n" for n in range(9))
    without_ids = "".join(f"{row.split(',')[0]},{row.split(',', 2)[2]}\n" for row in rows.splitlines())
    assert "One of none, Team, roof" in asked(f"Timestamp,Team,roof\n{without_ids}", "--leave-out Team")
    write("own.csv", "Timestamp,ResponseId,Team,roof\n" + rows)
    ended = psephos("new", "vote", "own.csv", "--no-run", "--leave-out", "Team")
    assert (ended.status, ended.err) == (0, "")
    assert "'ResponseId' numbers lines, and no column names persons" in " ".join(ended.out.split())
    assert "numbered = true" in Path("own.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["delegate", "has_duplicate_rank", "is_member"])
@pytest.mark.parametrize("signs", [("True", "False"), ("1", "0")])
@pytest.mark.parametrize("others", [True, False])
def test_a_column_of_signs_is_no_motion_unasked(
    counted: Count,
    asked: Ask,
    name: str,
    signs: tuple[str, str],
    others: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    roof = ",roof" if others else ""
    rows = "".join(f"p{n},{signs[n % 2]}{(',yes' if n % 3 else ',no') if others else ''}\n" for n in range(6))
    assert f"--leave-out: '{name}' has" in asked(f"name,{name}{roof}\n{rows}")
    if others:
        assert counted(f"name,{name}{roof}\n{rows}", f"--leave-out {name}")[1] == {"roof": 4}
        assert counted(f"name,{name}{roof}\n{rows}", "--leave-out none")[1] == {name: 3, "roof": 4}


@pytest.mark.parametrize("name", ["lastpage", "Last page", "Progress", "Duration (in seconds)", "seed", "n-votes"])
def test_what_a_program_notes_is_no_weight(counted: Count, asked: Ask, name: str) -> None:
    content = f"name,{name},roof\n" + "".join(f"p{n},{n + 1},{'yes' if n % 2 else 'no'}\n" for n in range(6))
    assert counted(content) == (6, {"roof": 3})
    assert "One of shares held, none" in asked(content.replace(name, "shares held"))


@pytest.mark.parametrize("columns", ["Summe,5,", "Ann,x,Total", "sum,3,1", "Total:,,yes"])
def test_a_line_of_totals_is_asked_about(asked: Ask, columns: str) -> None:
    label = columns.partition(",")[0]
    err = asked(f"name,roof,pool\nann,1,0\nbob,0,1\n{columns}\n")
    assert f"is line 4 of own.csv, {label!r}, a member? If not, add --without {label}; if so, --without none" in err


def test_columns_of_answers_are_one_motion_if_somebody_says_so(counted: Count, asked: Ask) -> None:
    content = "name,agree,abstain,disagree\nann,1,,\nbob,,,1\ncid,,,\ndee,,1,\n"
    assert "are they one motion? One of agree, abstain, disagree; none" in asked(content)
    options = "--one-of 'agree, abstain, disagree' --abstentions absent"
    assert counted(content, options) == (2, {"answer": 1})
    err = asked(content.replace("bob,,", "bob,1,"), options)
    assert "--one-of (own.csv line 3) is 'agree and disagree': use one of them filled, or none" in err


def test_several_answers_in_a_cell_are_said_with_what_to_do(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,roof,What matters?\nann,yes,Price;Taste;\nbob,no,Price;\n")
    ended = psephos("new", "vote", "own.csv", "--no-run")
    assert "'What matters?' has several answers in a cell, such as 'Price;Taste;'" in " ".join(ended.out.split())


def test_of_one_column_the_answers_are_voted_on_and_lines_numbered(psephos: Psephos, write: Write) -> None:
    write("own.csv", "roof\nyes\nno\nyes\n")
    assert psephos("new", "vote", "own.csv", "--no-run").status == 0
    assert "numbered = true" in Path("own.toml").read_text(encoding="utf-8")


def test_nobody_abstains_unasked(counted: Count, asked: Ask) -> None:
    content = "name,roof\nann,yes\nbob,\ncid,N/A\ndee,no\n"
    err = asked(content)
    assert "2 of 4 abstain ('' 1× and 'N/A' 1×)" in err
    assert "--leave-out-empty COLUMN" in err
    for what, expected in (("absent", (2, 1)), ("no", (4, 1)), ("yes", (4, 3))):
        number, support = counted(content, f"--abstentions {what}")
        assert (number, support["roof"]) == expected


FORM = (
    "Your_name,Approve,_validation_status\nAnn,yes,\nBob,no,Approved\nCid,yes,Not approved\nDee,yes,\nEve,no,Approved\n"
)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (FORM, "--only _validation_status=Approved", (2, {"Approve": 0})),
        (FORM, "--only none", (5, {"Approve": 3})),
        (FORM.replace("_validation_status", "checked"), "--only checked=Approved", (2, {"Approve": 0})),
        (
            FORM.replace("_validation_status", "checked"),
            "--only checked=Approved --candidate checked",
            (2, {"checked": 2}),
        ),
    ],
)
def test_a_column_by_which_rows_were_chosen_is_no_motion_unasked(
    counted: Count, content: str, options: str, expected: tuple[int, dict[str, float]]
) -> None:
    assert counted(content, options) == expected


def test_strong_answers_are_answers(counted: Count, asked: Ask) -> None:
    words = ("Strongly agree", "Agree", "Neither agree nor disagree", "Disagree", "Strongly disagree")
    content = "name,merge\n" + "".join(f"p{n},{word}\n" for n, word in enumerate(words))
    assert "does 'Neither agree nor disagree' mean abstain" in asked(content)
    options = f"--abstain '{words[2]}' --abstentions absent"
    assert counted(content, options) == (4, {"merge": 2})


def test_numbers_with_points_between_thousands_are_read_as_was_said(counted: Count) -> None:
    content = "name;shares;roof\na;1.200;ja\nb;3.400;nein\nc;800;ja\n"
    options = "--weight shares --public-weights --decimal "
    assert counted(content, options + ",") == (3, {"roof": 2000})
    assert counted(content, options + ".") == (3, {"roof": pytest.approx(801.2)})


@pytest.mark.parametrize("entries", [("Jan 1, 2026", "Jan 2, 2026"), ("12,5", "37,5")])
def test_dates_and_numbers_are_not_several_answers(psephos: Psephos, write: Write, entries: tuple[str, str]) -> None:
    write("own.csv", "name,roof,other\n" + "".join(f'p{n},yes,"{entry}"\n' for n, entry in enumerate(entries)))
    ended = psephos("new", "vote", "own.csv", "--weight", "none", "--no-run")
    assert (ended.status, "several answers" in ended.out) == (0, False)


def test_only_columns_that_can_name_persons_are_offered(asked: Ask) -> None:
    content = "unit,holding,share,roof\na,b,1 %,For\nc,d,1 %,Against\ne,f,2 %,For\n"
    err = asked(content)
    assert "One of none, unit, holding\n" in err
    assert "'share' names" not in err
    assert "--repeats: 'share' names" in asked(content, "--partner share")


@pytest.mark.parametrize(
    ("rows", "label"),
    [
        ("a,4,yes\nb,1,no\nc,1,yes\nd,2,no\nGrand Total,8,yes\n", "Grand Total"),
        ("a,4,yes\nb,1,no\nc,1,yes\nd,2,no\nSumme der Stimmen,9,yes\n", "Summe der Stimmen"),
        ("a,4,yes\nb,1,no\nSubtotal,5,yes\nc,1,yes\nd,2,no\ne,1,no\n", "Subtotal"),
        ("everybody,8,yes\na,4,yes\nb,1,no\nc,1,yes\nd,2,no\n", "everybody"),
        ("a,4,yes\nb,1,no\nc,1,yes\nd,2,no\neverybody,8,no\n", "everybody"),
    ],
)
def test_a_line_of_totals_is_asked_about_wherever_it_stands_and_whatever_it_is_called(
    psephos: Psephos, write: Write, counted: Count, rows: str, label: str
) -> None:
    write("own.csv", f"name,weight,roof\n{rows}")
    ended = psephos("new", "vote", "own.csv", "--no-run", "--public-weights")
    assert (ended.status, f"{label!r}, a member?" in ended.err) == (2, True)
    number, _ = counted(f"name,weight,roof\n{rows}", f"--public-weights --without '{label}'")
    assert number == rows.count("\n") - 1
    assert counted(f"name,weight,roof\n{rows}", "--public-weights --without none")[0] == number + 1


@pytest.mark.parametrize("weights", [("1.200", "900", "3.100"), ('"1,200"', "900", "7")])
def test_a_weight_that_may_be_two_numbers_is_refused_in_a_scenario_too(
    psephos: Psephos, write: Write, weights: tuple[str, ...]
) -> None:
    write("own.csv", "partner,weight,roof\n" + "".join(f"p{n},{each},yes\n" for n, each in enumerate(weights)))
    scenario = 'title = "x"\nprotocol = "dpwevote"\n[parameters]\ncandidates = ["roof"]\npublic_weights = true\n'
    write("own.toml", f'{scenario}[partners]\nfile = "own.csv"\n')
    entry = weights[0].strip('"')
    assert f"is {entry!r}" in psephos("run", "own.toml").err
    values = [1.2, 3.1, 900] if "." in entry else [7, 900, 1200]
    write("own.toml", f'{scenario}weights = {values}\n[partners]\nfile = "own.csv"\ndecimal = "."\n')
    resolved = resolve(load_scenario("own.toml"))
    assert resolved.protocol.parameters.weights == tuple(map(float, values))


@pytest.mark.bad_input("a weight outside the public set")
def test_shares_in_percent_are_weights_and_no_motion(asked: Ask) -> None:
    content = "name,share,roof\na,12.5 %,yes\nb,37.5 %,no\nc,50 %,yes\n"
    assert "--weight: which column holds weights" in (err := asked(content))
    assert "One of share, none\n" in err
    assert "Write a number above 0, with '.' before its decimals and no unit." in (asked(content, "--weight share"))
