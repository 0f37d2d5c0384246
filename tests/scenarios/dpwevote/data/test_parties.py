"""Partners in files as people have them: weights or none, yes and no in words, other columns."""

import pytest
from bad_input import Write
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, load_scenario, resolve, resolve_served


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
        ("yes = ['no']", "partners.yes", "do not mean the other answer"),
        ("yes = ['ja'], no = ['Ja ']", "partners.no", "do not mean the other answer"),
        ("no = [' ']", "partners.no", "do not mean the other answer"),
        ("ja = ['yes']", "partners", "without the unknown key 'ja'"),
        ("columns = { partner = 'weight' }", "mine.csv line 1", "distinct"),
    ],
)
def test_what_does_not_fit_a_file_is_named(write: Write, options: str, field: str, allowed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        vote(write, "partner,weight,m\nann,1,1\n", f"{{ file = 'mine.csv', {options} }}")
    assert caught.value.field == field
    assert allowed in caught.value.allowed
