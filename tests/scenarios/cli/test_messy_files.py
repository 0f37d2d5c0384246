"""Twelve tables as a club's secretary saves them: each is voted on as it says, or refused with a way out.

Each is resolved in the end, and its motions' support is held against what was counted by hand.
"""

import dataclasses
import shlex
from pathlib import Path

import pytest
from bad_input import Psephos, Write, is_plain
from psephos.scenarios import Local, load_scenario, resolve


@dataclasses.dataclass(frozen=True)
class Messy:
    """A table, what it gets, and what is voted on where that is said.

    Args:
        content: of the file.
        support: of each motion, counted by hand.
        refused: parts of the sentence that it gets; nothing where it needs no word.
        said: the options that resolve it.
        told: parts of what is said of it then.
    """

    content: str | bytes
    support: dict[str, float]
    refused: tuple[str, ...] = ()
    said: str = ""
    told: tuple[str, ...] = ()


WEIGHTS = [round(1.5 + 1.37 * number, 2) for number in range(28)]
MESSY = {
    "an empty entry": Messy(
        "name,roof,new bylaws\nAnn,yes,no\nBob,no,\nCid,yes,yes\n",
        {"new bylaws": 1},
        (
            "--abstentions: new bylaws (own.csv line 3) says 'nothing', and 1 of 3 abstain in a motion",
            "hold a vote for each motion (--candidate)",
            "(--leave-out-empty COLUMN)? One of no, yes",
        ),
        "--candidate 'new bylaws' --abstentions absent",
        ("Abstentions: absent from the vote, as everybody can see.",),
    ),
    "abstentions": Messy(
        "name,roof\nAnn,yes\n\nBob,no\nCid,Enthaltung\nDee,\n",
        {"roof": 1},
        ("--abstentions: roof (own.csv line 5) says 'Enthaltung', and 2 of 4 abstain", "absent, no, yes"),
        "--abstentions no",
    ),
    "a typo": Messy(
        "name,roof,bylaws\nAnn,yes,no\nBob,no,noo\nCid,yes,yess\n",
        {"roof": 2, "bylaws": 1},
        (
            "bylaws (own.csv line 3) is 'noo': use yes or no (did you mean 'no'?)",
            "also 'yess' in bylaws (own.csv line 4)",
        ),
        "--yes yess --no noo",
    ),
    "another language in a column": Messy(
        "name,roof,bylaws\nAnn,yes,ja\nBob,no,nein\nCid,ja,ja\n",
        {"roof": 2, "bylaws": 2},
        told=("'ja' means yes.", "'nein' means no."),
    ),
    "words of no language that is known, beside others": Messy(
        "name,roof,bylaws\nAnn,yes,hiya\nBob,no,hapana\nCid,yes,hapana\n",
        {"roof": 2, "bylaws": 1},
        ("--leave-out: 'bylaws' has 'hiya' (1×) and 'hapana' (2×): is it left out",),
        "--leave-out none --yes hiya",
        ("'hapana' means no.",),
    ),
    "as Excel saves it in Germany": Messy(
        "sep=;\r\nName;Stimmen;Dach;;\r\nJörg;1,5;ja;;\r\nBob;2;nein;;\r\n;;;;\r\nZoë;2;ja;;\r\nGesamt:;5,5;;;\r\n".encode(
            "cp1252"
        ),
        {"Dach": 3.5},
        ("is line 6 of own.csv, 'Gesamt:', a member? If not, add --without Gesamt:; if so, --without none",),
        "--without Gesamt:",
        ("with semicolons between entries", "Windows-1252"),
    ),
    "UTF-16 without a mark": Messy("Nom\tToit\nJörg\toui\nÅsa\tnon\nZoë\toui\n".encode("utf-16-le"), {"Toit": 2}),
    "ids, addresses and accents": Messy(
        "Member No.;Email;techo\n17;a@b.es;Sí\n18;b@b.es;no\n19;c@b.es;sí\n",
        {"techo": 2},
        told=("by the column 'Email'", "Not used: Member No.."),
    ),
    "ticks and crosses": Messy(
        "Member No.,roof\n17,✓\n18,x\n19,✓\n", {"roof": 2}, told=("by the column 'Member No.'",)
    ),
    "crosses alone": Messy(
        "name,roof\nAnn,x\nBob,\nCid,x\n",
        {"roof": 2},
        ("--yes: 'roof' has 'x' (2×): which means yes? One of x, none",),
        "--yes x --abstentions no",
    ),
    "many private weights": Messy(
        "WEIGHT,Who,plan\n" + "".join(f"{w},p{n},{'agree' if n % 3 else 'disagree'}\n" for n, w in enumerate(WEIGHTS)),
        {"plan": 358.35},  # of 359.91: each weight is that of the list which is nearest
        (
            "--round-weights: 28 different weights are private",
            "By which share of itself may each be rounded (5%: 35 possible weights; 10%: 18 possible weights; 20%: 10 ",
            "or --public-weights",
        ),
        "--round-weights 5%",
        (
            "Each is rounded by at most 5 % to one of 35 possible weights, all together by -0.18 %;",
            "Everybody may know that none is below 1.47 or above 38.3.",
        ),
    ),
    "numbers that can be read in two ways, and four gaps in one": Messy(
        'age,shares held,roof\n17,"1,000",ag\n21,"2,000",dis\n21,"2,000",dis\n',
        {"roof": 1000},
        (
            "--partner: ",
            "One of none, age, shares held, roof",
            "Add your answers to: psephos new vote own.csv --no-run\n",
        ),
        "--partner none --weight 'shares held' --yes ag --decimal .",
    ),
}


def test_there_are_twelve() -> None:
    assert len(MESSY) == 12


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
@pytest.mark.parametrize("case", MESSY)
def test_a_messy_table_is_voted_on_as_it_says_or_refused(psephos: Psephos, write: Write, case: str) -> None:
    messy = MESSY[case]
    write("own.csv", messy.content)
    if messy.refused:
        ended = psephos("new", "vote", "own.csv", "--no-run")
        assert (ended.status, ended.out, is_plain(ended.err)) == (2, "", True)
        for words in messy.refused:
            assert words in ended.err
        assert not Path("own.toml").exists()
    ended = psephos("new", "vote", "own.csv", "--no-run", *shlex.split(messy.said))
    assert (ended.status, ended.err) == (0, "")
    for words in messy.told:
        assert words in " ".join(ended.out.split())
    resolved = resolve(load_scenario("own.toml"))
    assert isinstance(resolved, Local)
    truth = resolved.protocol.truth(resolved.inputs)
    assert truth is not None
    assert {name: truth[name] for name in resolved.protocol.parameters.candidates} == messy.support


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('without = ["Totl"]', "partners.without is 'Totl': use one of Ann, Bob, Cid"),
        (
            'abstentions = "absent"',
            ": use yes or no: all partners of one session vote on",
        ),
        ('abstain = ["yes"]', "Another answer has 'yes' already"),
        ('decimal = ","', "weight (own.csv line 4, Cid) is '1.5.2': use a number > 0 (',' before decimals)"),
        ('decimal = "."', "weight (own.csv line 4, Cid) is '1.5.2': use a number > 0 ('.' before decimals)"),
    ],
)
def test_a_scenarios_own_words_are_held_against_its_file(psephos: Psephos, write: Write, keys: str, words: str) -> None:
    write("own.csv", "partner,weight,roof,bylaws\nAnn,1,yes,yes\nBob,1,no,-\nCid,1.5.2,no,no\n".replace("-", ""))
    write("own.toml", f'protocol = "dpwevote"\n[partners]\nfile = "own.csv"\n{keys}\n')
    assert words in psephos("run", "own.toml").refusal


def test_who_abstains_from_all_is_absent_and_a_file_of_nobody_else_is_refused(psephos: Psephos, write: Write) -> None:
    write("own.csv", "partner,roof,bylaws\nAnn,abstain,\nBob,no,yes\n")
    write("own.toml", 'protocol = "dpwevote"\n[partners]\nfile = "own.csv"\nabstentions = "absent"\n')
    resolved = resolve(load_scenario("own.toml"))
    assert (list(resolved.names), resolved.note.split(".")[0]) == (
        ["Bob"],
        "1 of 2 abstain, and are absent, which everybody can see",
    )
    write("own.csv", "partner,roof,bylaws\nAnn,abstain,\n")
    assert ": use no or yes" in psephos("run", "own.toml").err


def test_a_person_may_be_called_as_totals_are(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,roof\nAnn,yes\nSum,no\n")
    assert psephos("new", "vote", "own.csv", "--no-run").status == 0
    assert list(resolve(load_scenario("own.toml")).names) == ["Ann", "Sum"]
