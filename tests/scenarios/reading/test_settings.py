"""Settings: what a key means, and what a value is read as."""

import tomllib

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.protocol.errors import did_you_mean, list_choices
from psephos.scenarios.reading.settings import Tables, read_setting, read_toml, set_value


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("epsilon=2", "epsilon", 2),
        ("epsilon=2.5", "epsilon", 2.5),
        ("weights=[1, 2]", "weights", [1, 2]),
        ("title=A vote", "title", "A vote"),
        ("title='3'", "title", "3"),
        ("title=", "title", ""),
        ("title=a=b", "title", "a=b"),
        ("title=" + "[" * 5000, "title", "[" * 5000),
        ("epsilon=" + "9" * 5000, "epsilon", "9" * 5000),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_value_is_toml_where_it_can_be_and_else_text(text: str, key: str, value: object) -> None:
    assert read_setting(text) == (key, value)


@pytest.mark.parametrize("text", ["", "epsilon", "=2", "=", "epsilon=1\nseed=2"])
def test_a_setting_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Write (a|one) key and its value"):
        read_setting(text)


def tables_after(key: str, value: object) -> Tables:
    """Return a small scenario with one value set."""
    tables: Tables = {"seed": 1, "parameters": {"epsilon": 1.0}, "parties": {"count": 3, "seed": 2}}
    own, parameters = {"seed", "phases", "parties"}, {"epsilon", "seed", "count"}
    set_value(tables, key, value, own_keys=own, parameters=parameters, parties="parties")
    return tables


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("seed", {"seed": 9}),
        ("epsilon", {"parameters": {"epsilon": 9}}),
        ("count", {"parameters": {"epsilon": 1.0, "count": 9}}),
        ("parties.count", {"parties": {"count": 9, "seed": 2}}),
        ("phases.join.quorum", {"phases": {"join": {"quorum": 9}}}),
        ("parties", {"parties": 9}),
    ],
)
def test_a_bare_key_stands_in_the_scenario_before_its_parameters_before_its_generator(
    key: str, changed: Tables
) -> None:
    assert tables_after(key, 9) == {
        "seed": 1,
        "parameters": {"epsilon": 1.0},
        "parties": {"count": 3, "seed": 2},
        **changed,
    }


@pytest.mark.parametrize(("key", "said"), [("epsilom", "did you mean 'epsilon'?"), ("seed.x", "'seed' is no table")])
def test_a_key_that_leads_nowhere_is_refused(key: str, said: str) -> None:
    with refuses("--set", key, said):
        tables_after(key, 9)


def test_a_hint_is_given_only_where_a_word_is_close() -> None:
    assert did_you_mean("consortum", ["consortium", "eu-council"]) == " (did you mean 'consortium'?)"
    assert did_you_mean("zzz", ["consortium"]) == ""
    assert did_you_mean(["consortium"], ["consortium"]) == ""
    assert list_choices(["laplace", "optimal"], "optmal") == "one of laplace, optimal (did you mean 'optimal'?)"


@pytest.mark.parametrize(
    "text",
    [
        "a." * 50_000 + "a = 1",
        "[" + "a." * 101 + "a]",
        "x = {" + "a ." * 101 + "a = 1}",
        '"a b".' * 101 + "a = 1",
        "x = 1\n" + "'.'." * 101 + "a = 1",
        '"\u2028".' * 101 + "a = 1",
        'x = {a = """"""", ' + "a." * 101 + "a = 1}",
        "x = ['#', '''\n''']\n" + "a." * 101 + "a = 1",
    ],
)
def test_a_key_of_many_dots_is_refused_before_it_takes_its_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"a key may have 100 dots, and line [123] has more in a row"):
        read_toml(text)
    assert read_setting(f"k=1\n{text}")[0] == "k"  # which is a text then


@pytest.mark.parametrize(
    "text",
    [
        f"x = {[number / 8 for number in range(500)]}",
        f"x = 'Yes{'.' * 200}'  # or no{'.' * 200}",
        f'x = "\\"{"." * 200}"',
        f'x = """\n""{"." * 200}\n"""""',
        f"x = '''\n'{'.' * 200}'''",
        f"'{'.' * 200}'.x = ''",
        f"{'a.' * 99}b.x = 1",
    ],
)
def test_many_dots_that_are_no_key_are_read(text: str) -> None:
    assert read_toml(text) == tomllib.loads(text)
