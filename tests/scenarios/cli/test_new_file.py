"""`psephos new FILE`: which kind of session a file's columns look like, and what is asked about any table."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from bad_input import Psephos, Write
from psephos.scenarios import Streamed, load_scenario, resolve, run_session
from terminals import Terminal

EXPORTS = Path(__file__).parents[2] / "exports"
VOTE = "name,roof\nAnn,yes\nBob,no\nCid,yes\n"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (VOTE, "vote"),
        ("name,roof\nAnn,yes\nBob,\nCid,no\n", "vote"),
        ('name,roof\nYour name,Mend it?\n"{""ImportId"":1}","{""ImportId"":2}"\nAnn,yes\nBob,no\nCid,yes\n', "vote"),
        ("task,worker,label\n" + "".join(f"t{n % 2},w{n // 2},{n % 3 % 2}\n" for n in range(12)), "crowd"),
        ("voter,group,ranking\na,x,p > q\nb,y,q > p\n", "ranking"),
        ("voter,record,choice,lives\na,1,1,3\na,1,0,1\n", "survey"),
    ],
)
def test_a_file_is_begun_as_what_its_columns_look_like(psephos: Psephos, write: Write, content: str, word: str) -> None:
    write("own.csv", content)
    assert f"own.csv looks like what `psephos new {word}` begins." in psephos("new", "own.csv", "--no-run").err


@pytest.mark.bad_input("a file of another kind, or in two forms")
def test_a_file_that_does_not_tell_gets_the_commands_that_may_be_meant(psephos: Psephos, write: Write) -> None:
    write("my own.csv", "a,b\nx,1\ny,2\n")
    refusal = psephos("new", "my own.csv", "--no-run").refusal
    assert "my own.csv does not tell what it holds: psephos new vote 'my own.csv'; psephos new crowd" in refusal


def test_what_is_said_of_a_table_is_written_into_the_scenario(psephos: Psephos, write: Write) -> None:
    write("own.csv", "Assembly\n\nname,roof,part\nAnn,yes,a\nBob,no,b\nCid,no,\nDee,yes,a\n")
    refusal = psephos("new", "own.csv", "--no-run").refusal
    assert "own.csv: the header seems to be in line 3. Add --header 3" in refusal
    said = ("--header", "3", "--only", "part=a", "--only", "part=b", "--leave-out-empty", "part")
    ended = psephos("new", "own.csv", *said, "--partner", "name", "--candidate", "roof", "--no-run")
    assert ended.status == 0, ended.err
    assert "1 of 4 rows of own.csv are left out: part is empty." in ended.out
    table = tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["partners"]
    assert table["only"] == {"part": ["a", "b"]}
    assert (table["header"], table["leave_out_empty"]) == (3, ["part"])
    assert psephos("run", "own.toml", "--out", "run").status == 0


def test_rows_of_a_column_whose_name_or_word_holds_an_equals_sign_are_picked(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,roof,size = big,key\nAnn,yes,so,a=1\nBob,no,not,a=1\nCid,no,so,b=2\nDee,yes,not,b=2\n")
    said = ("new", "vote", "own.csv", "--partner", "name", "--candidate", "roof", "--no-run")
    for pick, column, word in (("size = big=so", "size = big", "so"), ("key=a=1", "key", "a=1")):
        ended = psephos(*said, "--only", pick, "--to", f"{word[0]}.toml")
        assert ended.status == 0, ended.err
        assert tomllib.loads(Path(f"{word[0]}.toml").read_text(encoding="utf-8"))["partners"]["only"] == {
            column: [word]
        }
    write("two.csv", "name,roof,a,a=b\nAnn,yes,b=c,c\nBob,no,b=c,d\nCid,no,e,c\n")
    refusal = psephos("new", "vote", "two.csv", "--partner", "name", "--candidate", "roof", "--only", "a=b=c").refusal
    assert "It may mean 'a' and 'a=b'. Write it into the scenario" in refusal


def test_answers_in_json_and_raters_as_columns_are_told_by_what_to_make_of_them(psephos: Psephos, write: Write) -> None:
    """JSON beside plain answers is no matter, and neither are numbered columns of something else."""
    cells = [json.dumps([{"task": "T0", "value": word}]).replace('"', '""') for word in ("yes", "no", "yes", "no")]
    lines = [f'{place},u{place % 2},"{{}}",s{place // 2},"{cell}"' for place, cell in enumerate(cells)]
    write("zoo.csv", "\n".join(["classification_id,user_name,metadata,subject_ids,annotations", *lines]))
    for word in ([], ["crowd"], ["vote"]):
        ended = psephos("new", *word, "zoo.csv", "--no-run")
        assert ended.status == 2
        assert "use plain answers: make a column" in ended.err
        assert "[json.loads(cell)[0]['value'] for cell in table['annotations']]" in ended.err
    write(
        "zoo.csv",
        "\n".join(
            [
                "id,user_name,metadata,subject_id,label",
                *(f"{line[: -len(cell) - 2]}yes" for line, cell in zip(lines, cells, strict=True)),
            ]
        ),
    )
    assert "JSON" not in psephos("new", "crowd", "zoo.csv", "--no-run").err
    deep = '[{""a"":' * 3_000  # which is none, and deeper than Python reads
    write("deep.csv", "\n".join(["task,worker,label", *(f'{place % 2},u{place // 2},"{deep}"' for place in range(4))]))
    assert psephos("new", "crowd", "deep.csv", "--no-run").err.startswith("psephos: deep.csv leaves questions open. ")
    write("wide.csv", "item,rater 1,rater 2\na,x,y\nb,y,x\nc,x,x\n")
    for word in ([], ["crowd"]):
        ended = psephos("new", *word, "wide.csv", "--no-run")
        assert ended.status == 2
        assert "rater 1, rater 2 are a column of answers each. Put them below each other" in ended.err
        assert "table.melt(['item'], ['rater 1', 'rater 2'], 'worker', 'label')" in ended.err
    write("wide.csv", "item,option 1,option 2\na,x,y\nb,y,x\nc,x,x\n")
    assert "melt" not in psephos("new", "crowd", "wide.csv", "--no-run").err


@pytest.mark.parametrize("name", ["rctab_generic.csv", "label_studio.csv", "polis_votes.csv"])
def test_a_command_that_is_printed_holds_nothing_that_nobody_said(psephos: Psephos, name: str) -> None:
    """Each answer is left to whoever pastes it."""
    path = EXPORTS / name
    err = psephos("new", "vote", str(path), "--no-run", "--to", "own").err
    words = shlex.split(err.partition("Add your answers to: ")[2])[4:]
    assert words == ["--to", "own", "--no-run"]  # which was typed


def test_a_command_that_is_printed_keeps_all_that_was_typed(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,part,roof\nAnn,{a},hiya\nBob,{a},hapana\nCid,{a},hiya\nDee,b,hiya\n")
    typed = (
        "--only",
        "part={a}",
        "--candidate",
        "roof",
        "--epsilon",
        0.5,
        "--trust",
        "central",
        "--title",
        "The roof",
        "--to",
        "there.toml",
        "--no-run",
    )
    err = psephos("new", "vote", "own.csv", *typed).err
    words = shlex.split(err.partition("Add your answers to: ")[2])
    assert psephos(*words[1:], "--yes", "hiya").status == 0, err
    scenario = tomllib.loads(Path("there.toml").read_text(encoding="utf-8"))
    assert (scenario["title"], scenario["trust"], scenario["parameters"]["epsilon"]) == ("The roof", "central", 0.5)


@pytest.mark.bad_input("options of two kinds of session")
def test_options_that_no_kind_of_session_has_together_are_refused(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,roof\nAnn,yes\nBob,no\n")
    refusal = psephos("new", "own.csv", "--candidate", "roof", "--labels", "yes,no", "--no-run").refusal
    assert (
        "No session takes all of --candidate, --labels. Use the options of one of vote, crowd, survey, ranking"
        in refusal
    )


def test_names_with_commas_that_are_proposed_can_be_said(psephos: Psephos, write: Write) -> None:
    rows = "".join(f'v{n},"pool, indoors > rink"\n' for n in range(4))
    write("own.csv", f"voter,ranking\n{rows}v9,rink > hall\n")
    options = ("--group", "none", "--ties", "mean", "--no-run")
    asked = psephos("new", "ranking", "own.csv", *options).err
    assert "One of pool, indoors;rink; hall;pool, indoors;rink" in asked
    ended = psephos("new", "ranking", "own.csv", "--alternatives", "hall;pool, indoors;rink", *options)
    assert ended.status == 0, ended.err
    voters = tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["voters"]
    assert voters["alternatives"] == ["hall", "pool, indoors", "rink"]


def test_a_status_is_asked_about_and_so_is_a_form_that_was_left(psephos: Psephos) -> None:
    asked = psephos("new", "crowd", str(EXPORTS / "mturk_batch.csv"), "--no-run").err
    assert "--only: 'AssignmentStatus' has 'Approved' (4×) and 'Rejected' (1×)" in asked
    asked = psephos("new", "vote", str(EXPORTS / "limesurvey_codes.csv"), "--no-run").err
    assert "--leave-out-empty: 'submitdate' is empty in 1 rows: are these left out" in asked


@pytest.mark.parametrize("words", [(), ("vote",)])
def test_in_a_terminal_nothing_that_was_answered_is_lost(write: Write, tmp_path: Path, words: tuple[str, ...]) -> None:
    write("own.csv", "Assembly\n\nname,Status,roof\nAnn,ok,hiya\nBob,draft,hapana\nCid,ok,hapana\nDee,ok,hiya\n")
    with Terminal("new", *words, "own.csv", "--trust", "local", "--no-run", folder=tmp_path) as terminal:
        terminal.answer("Header (3): ", "3")
        terminal.answer("which rows count, or 'none': all? (Status=ok, Status=draft, none): ", "ok")
        terminal.answer("which rows count, or 'none': all? (Status=ok, Status=draft, none): ", "Status=ok")
        terminal.answer("(hiya, hapana): ", "hiya")
        assert terminal.ending() == 0, terminal.seen
    table = tomllib.loads((tmp_path / "own.toml").read_text(encoding="utf-8"))["partners"]
    assert (table["header"], table["only"], table["yes"]) == (3, {"Status": ["ok"]}, ["hiya"])


def test_an_error_after_all_questions_says_every_answer(write: Write, tmp_path: Path) -> None:
    write("own.csv", "Assembly\n\nname,roof\nAnn,hiya\nBob,hapana\nCid,hapana\n")
    with Terminal("new", "vote", "own.csv", "--epsilon", "-1", "--no-run", folder=tmp_path) as terminal:
        terminal.answer("Header (3): ", "third")
        terminal.answer("Header (3): ", "3")
        terminal.answer("(hiya, hapana): ", "hiya")
        terminal.answer("(yes, no): ", "no")
        assert terminal.ending() == 2, terminal.seen
    said = " ".join(terminal.seen.split())
    assert "new vote own.csv --epsilon -1.0 --no-run --header 3 --yes hiya --trust local`" in said


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
@pytest.mark.parametrize("words", [(), ("vote",), ("crowd",), ("ranking",)])
def test_an_address_is_no_name_of_a_column(psephos: Psephos, write: Write, words: tuple[str, ...]) -> None:
    write("own.csv", "ann,ann@example.org,yes it is\nbob,bob@example.org,no it is not\n")
    refusal = psephos("new", *words, "own.csv", "--no-run").refusal
    assert ": use the columns' names" in refusal


def test_answers_to_tasks_are_known_by_who_and_what_repeats(psephos: Psephos, write: Write) -> None:
    rows = "".join(f"{n % 2},{n},{'true' if n else 'false'},{n // 2},{'cat' if n % 3 else 'dog'}\n" for n in range(12))
    write("own.csv", f"_unit_id,_id,_tainted,_worker_id,animal\n{rows}")
    asked = psephos("new", "own.csv", "--no-run").err
    assert "own.csv looks like what `psephos new crowd` begins." in asked
    assert "--labels: " in asked
    ended = psephos("new", "own.csv", "--labels", "cat,dog", "--no-run")
    assert ended.status == 0, ended.err
    columns = tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["workers"]["columns"]
    assert columns == {"task": "_unit_id", "worker": "_worker_id", "label": "animal"}


def test_nothing_is_asked_about_a_column_that_nobody_named(psephos: Psephos, write: Write) -> None:
    """What depends on the answer to another question is asked after it, or in general words."""
    write("own.csv", "id,kind,note,day,share\n1,a,u,x,p\n1,b,u,y,q\n2,a,v,x,p\n2,a,v,x,q\n")
    asked = psephos("new", "crowd", "own.csv", "--worker", "share", "--no-run").err
    assert "--labels: needed in any case: what answers can be, which tells their column, too: no,yes" in asked
    assert "Add your answers to: psephos new crowd own.csv --worker share --no-run\n" in asked


@pytest.mark.bad_input("columns and words of one's own that are none")
@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("vote", VOTE, ("--repeats", "maybe")),
        ("vote", VOTE, ("--abstentions", "perhaps")),
        ("ranking", "voter,ranking\na,p > q\nb,q > p\n", ("--ties", "lots")),
        ("ranking", "voter,ranking\na,p > q\nb,q > p\n", ("--numbers", "place")),
        ("crowd", "task,worker,label\nt,w,a\nt,v,b\n", ("--other-labels", "drop")),
    ],
)
def test_a_word_is_checked_where_nothing_needs_it_too(
    psephos: Psephos, write: Write, kind: str, content: str, words: tuple[str, str]
) -> None:
    write("own.csv", content)
    assert re.search(f"{words[0]} .*[Uu]se one of ", psephos("new", kind, "own.csv", "--no-run", *words).refusal)


RANKED = "voter,ranking\na,p > q\nb,q > p\nc,p > q\n"
PLACED = "voter,Rank [p],Rank [q]\na,1,2\nb,2,1\nc,1,2\n"


@pytest.mark.bad_input("columns and words of one's own that are none")
@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("vote", VOTE, ("--round-weights", "5%")),
        ("vote", VOTE, ("--public-weights",)),
        ("vote", VOTE, ("--decimal", ",")),
        ("ranking", RANKED, ("--numbers", "places")),
        ("ranking", RANKED, ("--not-ranked", "nobody")),
        ("ranking", RANKED, ("--group", "voter")),
        ("ranking", PLACED, ("--between", ";", "--place", "Rank [p]", "--place", "Rank [q]")),
        (
            "crowd",
            "task,worker,label\n" + "".join(f"t,w{n},{n % 2}\n" for n in range(20)),
            ("--other-labels", "refuse"),
        ),
    ],
)
def test_an_option_without_effect_is_refused(
    psephos: Psephos, write: Write, kind: str, content: str, words: tuple[str, ...]
) -> None:
    write("own.csv", content)
    assert psephos("new", kind, "own.csv", "--no-run", "--to", "plain", *words[2:]).status == 0
    refusal = psephos("new", kind, "own.csv", "--no-run", *words).refusal
    assert re.search(f"leave out {words[0]}|{words[0]} (is|are) ", refusal)


def test_voters_of_a_survey_whose_names_are_nearly_alike_are_asked_about(psephos: Psephos, write: Write) -> None:
    rows = "".join(
        f"{who},{n},{choice},{n + choice}\n" for n, who in enumerate(("ann", "Ann", "bob")) for choice in (0, 1)
    )
    write("own.csv", f"voter,record,choice,x\n{rows}")
    asked = psephos("new", "survey", "own.csv", "--no-run")
    assert (asked.status, "--alike-voters: whether 'ann' and 'Ann' in own.csv are one voter" in asked.err) == (2, True)
    Path("many").mkdir()
    write("many/1.csv", f"voter,record,choice,x\n{rows}")
    for word, number in (("one", 2), ("several", 3)):
        said = ("--alike-voters", word, "--to", word, "--no-run")
        assert psephos("new", "survey", "own.csv", *said).status == 0
        settings = ["noise=simulated", "transport=array"]
        resolved = resolve(load_scenario(f"{word}.toml", settings))
        assert len(resolved.names) == number
        streamed = resolve(load_scenario(f"{word}.toml", [*settings, "voters.choices=many"]))
        assert isinstance(streamed, Streamed)
        assert streamed.stream.num_parties == number
        assert streamed.protocol.parameters == resolved.protocol.parameters
        assert run_session(streamed, seed=3).outcome == run_session(resolved, seed=3).outcome
    text = Path("one.toml").read_text(encoding="utf-8").replace("alike_voters", "# alike_voters")
    for source in ("own.csv", "many"):
        write("none.toml", text.replace("own.csv", source))
        assert "voters.alike_voters says whether they are one voter's" in psephos("run", "none.toml").err


@pytest.mark.bad_input("a file of another kind, or in two forms")
@pytest.mark.parametrize("name", ["nosuch.csv", "folder/nosuch", "nosuch.xlsx"])
def test_a_file_that_is_not_there_is_no_command(psephos: Psephos, name: str) -> None:
    refusal = psephos("new", name).refusal
    assert f"FILE: There is no file {name}. Check its name." in refusal


@pytest.mark.bad_input("a file of another kind, or in two forms")
@pytest.mark.parametrize("name", ["election.soc", "election.pb"])
@pytest.mark.parametrize("words", [(), ("ranking",)])
def test_an_election_is_no_table_and_a_scenario_reads_it(psephos: Psephos, name: str, words: tuple[str, ...]) -> None:
    assert psephos("samples").status == 0
    refusal = psephos("new", *words, name).refusal
    assert f"a scenario reads an election of PrefLib or Pabulib as it is, by file = '{name}' in [voters]" in refusal


def test_what_is_said_of_a_ranking_are_sentences(psephos: Psephos, write: Write) -> None:
    write("own.csv", "voter,ranking\na,p > q > r\nb,q > p\na,p = q > r\n")
    ended = psephos("new", "ranking", "own.csv", "--ties", "mean", "--repeats", "last", "--out", "run")
    said = (
        "Of voters with several rows the last one counts: 1 of 3 are left out. Ties, or alternatives not ranked, of 1 "
        "voter have the mean score of their places."
    )
    assert said in " ".join(ended.out.split()), ended


@pytest.mark.bad_input("columns and words of one's own that are none")
def test_weights_that_differ_as_sums_are_rounded_are_refused_by_line(psephos: Psephos, write: Write) -> None:
    write("own.csv", f"name,weight,roof\nAnn,0.3,yes\nBob,{0.1 + 0.2!r},no\nCid,1,yes\n")
    refusal = psephos("new", "vote", "own.csv", "--no-run").refusal
    assert "the same weight as 0.3? Write one weight alike" in refusal


@pytest.mark.bad_input("a missing, doubled or unknown partner or column, with its line")
def test_names_that_are_nearly_alike_are_refused_in_lists_and_in_elections(psephos: Psephos, write: Write) -> None:
    people = "".join(f"[[partners]]\npartner = '{name}'\nweight = 1\nroof = 'yes'\n" for name in ("ann", "Bob", "ANN"))
    head = "protocol = 'dpwevote'\n[parameters]\ncandidates = ['roof']\nepsilon = 1.0\nweights = [1]\n"
    write("own.toml", head + people)
    refusal = psephos("run", "own.toml").refusal
    assert "'ann' differ in case or blanks alone" in refusal
    meta = "META\nkey;value\nvote_type;ordinal\nnum_projects;2\nnum_votes;3\nPROJECTS\nproject_id;cost\n1;5\n2;5\n"
    meta += "VOTES\nvoter_id;vote\n"
    write("own.pb", meta + "v1;1,2\nw;2,1\nV1;1,2\n")
    write(
        "pb.toml",
        "protocol = 'fair-voting'\n[parameters]\nepsilon = 1.0\ngroups = ['all']\nobjective = 'welfare'\n"
        "[voters]\nfile = 'own.pb'\n",
    )
    refusal = psephos("run", "pb.toml").refusal
    assert "'v1' in line 12 differ in case or blanks alone" in refusal
    assert len(resolve(load_scenario("pb.toml", ["voters.alike_voters=several"])).names) == 3
