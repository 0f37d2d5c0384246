"""Partners in files as people have them: weights or none, yes and no in words, other columns."""

from pathlib import Path

import pytest
from bad_input import Write, refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, load, load_scenario, resolve, resolve_served, run_session


def vote(write: Write, content: str, partners: str = "'mine.csv'", more: str = "") -> Local:
    """Resolve a vote over these partners."""
    write("mine.csv", content)
    return resolve(load_scenario(str(write("b.toml", f'protocol = "dpwevote"\npartners = {partners}\n{more}\n'))))


def opinions(resolved: Local) -> list[int]:
    """Return what each partner says of the first candidate, of public weights."""
    return resolved.inputs.private[:, 0].tolist()


def test_one_person_one_vote_needs_no_weights_and_spends_nothing_on_them(write: Write) -> None:
    resolved = vote(write, "partner,merger\nann,1\nbob,0\ncid,1\n")
    assert [phase.name for phase in resolved.protocol.phases] == ["opinions"]
    assert (resolved.protocol.parameters.loss_of_weight, resolved.protocol.parameters.loss_of_opinion) == (0, 1)
    assert resolved.protocol.truth(resolved.inputs) == {"merger": 2, "total weight": 3, "quota": 1.5}
    assert resolved.note == "mine.csv has no column 'weight': one person, one vote, and nothing is spent on weights."


def test_a_shipped_vote_takes_a_file_without_weights(write: Write) -> None:
    path = write("mine.csv", "partner,merger\nann,yes\nbob,no\n")
    resolved = resolve(load_scenario("consortium", [f"partners={path}"]))
    assert resolved.protocol.parameters.loss_of_weight == 0
    assert resolved.protocol.parameters.candidates == ("merger",)
    assert opinions(resolved) == [1, 0]


@pytest.mark.parametrize(
    "words", ["yes no YES No", "y n Y N", "true false TRUE False", "1 0 1.0 0", "yes 0 true N", " yes no 1 n"]
)
def test_an_opinion_may_be_a_word(write: Write, words: str) -> None:
    lines = [f"p{place},{word}\n" for place, word in enumerate(words.split(), start=1)]
    assert opinions(vote(write, "partner,m\n" + "".join(lines))) == [1, 0, 1, 0]


def test_a_file_has_its_own_words_and_columns(write: Write) -> None:
    content = "Name;Anteile;Anbau;Bemerkung\nann;2;Ja;gern\nbob;3;nein;\n"
    partners = "{ file = 'mine.csv', columns = { partner = 'Name', weight = 'Anteile' }, yes = ['ja'], no = ['NEIN'] }"
    resolved = vote(write, content, partners, "[parameters]\ncandidates = ['Anbau']")
    assert list(resolved.names) == ["ann", "bob"]
    assert resolved.inputs.private.tolist() == [[1, 1, 1], [2, 0, 2]]


@pytest.mark.parametrize(
    "content", ["partner\nann\nbob\n", f"partner,certificate_sha256\nann,{'a' * 64}\nbob,{'b' * 64}\n"]
)
def test_names_alone_say_nothing_of_weights(write: Write, content: str) -> None:
    scenario = load_scenario(
        str(write("b.toml", 'protocol = "dpwevote"\npartners = "mine.csv"\n[parameters]\ncandidates = ["m"]\n'))
    )
    write("mine.csv", content)
    assert not resolve_served(scenario).protocol.parameters.public_weights


@pytest.mark.bad_input("columns and words of one's own that are none")
@pytest.mark.parametrize(
    ("options", "field", "allowed"),
    [
        ("columns = { wieght = 'w' }", "partners.columns", "did you mean 'weight'?"),
        ("columns = { weight = 'wegiht' }", "partners.columns.weight", "did you mean 'weight'?"),
        ("yes = ['no']", "partners.yes", "Another answer has 'no' already. Use another word."),
        ("yes = ['ja'], no = ['Ja ']", "partners.no", "Another answer has 'Ja ' already. Use another word."),
        ("no = [' ']", "partners.no", "The word ' ' is blank. Use another word."),
        ("ja = ['yes']", "partners", "without the unknown key 'ja'"),
        ("columns = { partner = 'weight' }", "mine.csv line 1", "distinct"),
    ],
)
def test_what_does_not_fit_a_file_is_named(write: Write, options: str, field: str, allowed: str) -> None:
    with refuses(field, allowed=allowed):
        vote(write, "partner,weight,m\nann,1,1\n", f"{{ file = 'mine.csv', {options} }}")


SIGNED = "partner,m,f\nann,1,yes\nbob,-1,no\ncid,0,no\n"


@pytest.mark.bad_input("columns and words of one's own that are none")
@pytest.mark.parametrize(
    ("words", "field", "allowed"),
    [
        ("", "m (mine.csv line 3, bob)", "explained, and a 0 beside it too, in partners.yes"),
        (", no = ['-1']", "m (mine.csv line 2, ann)", "in partners.yes, no or abstain"),
        (", yes = ['1'], no = ['-1']", "m (mine.csv line 4, cid)", "in partners.yes, no or abstain"),
        (", yes = ['1'], no = ['-1'], abstain = ['0']", "m (mine.csv line 4, cid)", "abstentions counts none"),
        (
            ", yes = ['1.0'], no = ['-1'], abstain = ['0.0']",
            "m (mine.csv line 4, cid)",
            "abstentions counts none",
        ),
    ],
)
def test_a_sign_that_nobody_explained_is_refused_beside_words_of_the_file(
    write: Write, words: str, field: str, allowed: str
) -> None:
    with refuses(field, allowed=allowed):
        vote(write, SIGNED, f"{{ file = 'mine.csv', numbered = false{words} }}", "[parameters]\ncandidates = ['m']")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("yes = ['1'], no = ['-1'], abstain = ['0'], abstentions = 'no'", [1, 0, 0]),
        ("yes = ['1'], no = ['-1'], abstain = ['0'], abstentions = 'yes'", [1, 0, 1]),
        ("yes = ['1'], no = ['-1'], abstain = ['0'], abstentions = 'absent'", [1, 0]),
        ("yes = ['0'], no = ['1', '-1']", [0, 0, 1]),
        ("yes = ['1'], no = ['-1', '0']", [1, 0, 0]),
    ],
)
def test_a_scenarios_own_signs_mean_what_it_says(write: Write, words: str, expected: list[int]) -> None:
    more = "[parameters]\ncandidates = ['m']"
    assert opinions(vote(write, SIGNED, f"{{ file = 'mine.csv', {words} }}", more)) == expected


def test_a_frame_is_read_by_the_same_rules() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"partner": ["ann", "bob", "cid"], "m": [1.0, -1.0, 0.0], "f": [True, False, True]})
    assert opinions(resolve(load("consortium", votes=frame[["partner", "f"]]))) == [1, 0, 1]
    with pytest.raises(ConfigurationError, match=r"explain it, and a 0 beside it too, in partners\.yes"):
        resolve(load("consortium", votes=frame[["partner", "m"]]))


def test_files_in_batches_are_read_by_the_same_rules(write: Write, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number, word in enumerate(("ja", "0")):  # of which no part has both
        (tmp_path / "parts" / f"{number}.csv").write_text(f"partner,m\na{number},{word}\n", encoding="utf-8")
    partners = 'partners = { file = "parts", yes = ["ja"], no = ["nein"] }'
    path = write("b.toml", f'protocol = "dpwevote"\n{partners}\n[parameters]\ncandidates = ["m"]\n')
    with refuses("m (1.csv line 2)", allowed="in partners.yes, no or abstain"):
        run_session(resolve(load_scenario(str(path))), seed=1)


TWICE = "partner,m\nann,yes\nbob,no\nAnn ,no\n"


def test_names_that_are_nearly_alike_are_asked_about(write: Write) -> None:
    with refuses("partner (mine.csv line 4)", allowed="unlike 'ann' in mine.csv line 2"):
        vote(write, TWICE)
    for repeats, expected in (("first", [1, 0]), ("last", [0, 0]), ("none", [1, 0, 0])):
        resolved = vote(write, TWICE, f"{{ file = 'mine.csv', repeats = '{repeats}' }}")
        assert opinions(resolved) == expected
        assert ("1 of 3 are left out" in resolved.note) == (repeats != "none")


def test_of_a_name_that_stands_twice_one_line_counts(write: Write) -> None:
    content = "Email,weight,m\nann,1,yes\nbob,2,no\nann,3,no\nTotal,6,1\n"
    table = "{ file = 'mine.csv', columns = { partner = 'Email' }, without = ['Total'], repeats = 'last' }"
    resolved = vote(write, content, table)
    assert list(resolved.names) == ["bob", "ann"]
    assert resolved.inputs.private.tolist() == [[1, 0, 1], [2, 0, 2]]
    with pytest.raises(ConfigurationError, match="repeats"):
        vote(write, content, "{ file = 'mine.csv', numbered = true, repeats = 'last' }")


def test_large_files_are_looked_at_for_names_that_are_nearly_alike(write: Write) -> None:
    rows = [f"Person of the House {number:06d},{'yes' if number % 3 else 'no'}\n" for number in range(40_000)]
    assert len(vote(write, "partner,m\n" + "".join(rows)).names) == 40_000
    rows[31_000] = rows[17].replace("Person", "pERSON")
    with pytest.raises(ConfigurationError, match=r"and 'Person of the House 000017' in mine.csv line 19"):
        vote(write, "partner,m\n" + "".join(rows))


def test_abstentions_that_count_are_said(write: Write) -> None:
    table = "{ file = 'mine.csv', abstentions = 'no' }"
    resolved = vote(write, "partner,m\nann,yes\nbob,\ncid,abstain\n", table)
    assert "2 abstentions count as no." in resolved.note


def test_columns_of_answers_are_one_motion(write: Write) -> None:
    content = "partner,agree,disagree\nann,1,\nbob,,x\n"
    table = "{ file = 'mine.csv', one_of = ['agree', 'disagree'], yes = ['agree'], no = ['disagree'] }"
    more = "[parameters]\ncandidates = ['answer']"
    assert opinions(vote(write, content, table, more)) == [1, 0]
    with pytest.raises(ConfigurationError, match="agree and disagree"):
        vote(write, content.replace("ann,1,", "ann,1,1"), table, more)
    with pytest.raises(ConfigurationError, match="did you mean 'agree'"):
        vote(write, content, table.replace("'agree', ", "'agre', "), more)
