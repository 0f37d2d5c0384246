"""Scenarios as data: every key, how keys are set, and what is said about a wrong one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psephos.protocol import ConfigurationError, PhaseRules, SessionRules
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.privacy import Budget
from psephos.scenarios import Scenario, list_scenarios, load_scenario, resolve
from runs import refusal

Write = Callable[[str, str | bytes], Path]

BALLOT = """
protocol = "dpwevote"

[parameters]
candidates = ["first", "second"]

[partners]
count = 6
"""


@pytest.fixture
def ballot(write: Write) -> str:
    """A small scenario's path."""
    return str(write("ballot.toml", BALLOT))


def test_the_shipped_scenarios_resolve() -> None:
    # Those over data sets need a folder that is not ours: datasets/test_datasets.py has them.
    of_data_sets = {"duchenne", "eu-council-treaties", "imf", "un-roll-call"}
    expected = {"consortium": 2000, "crowd": 50, "eu-council": 27, "hyper-laws": 72, "peer-grading": 72}
    assert expected.keys() | of_data_sets <= set(list_scenarios())
    assert {name: len(resolve(load_scenario(name)).names) for name in expected} == expected
    council = resolve(load_scenario("eu-council"))
    assert council.protocol.truth(council.inputs) == {
        "Fishing quotas": 219.0,
        "Rail corridors": 331.0,
        "Data act": 293.0,
        "total weight": 345.0,
        "quota": 255.0,
    }
    assert council.may_show_truth


def test_defaults_are_those_that_the_scenario_states(ballot: str) -> None:
    scenario = load_scenario(ballot)
    assert scenario == Scenario(
        name="ballot",
        protocol="dpwevote",
        parameters={"candidates": ["first", "second"]},
        parties={"count": 6},
    )
    resolved = resolve(scenario)
    assert resolved.rules == SessionRules(deadline_seconds=300.0, quorum=1.0)
    assert len(resolved.names) == 6
    assert resolved.protocol.parameters == Parameters(candidates=("first", "second"))


SCENARIO_KEYS: dict[str, tuple[str, object]] = {
    "name": ("spring-ballot", "spring-ballot"),
    "protocol": ("dpwevote", "dpwevote"),
    "title": ("A vote", "A vote"),
    "description": ("'made up'", "made up"),
    "trust": ("Nobody at all.", "Nobody at all."),
    "parameters": ('{candidates = ["x"]}', {"candidates": ["x"]}),
    "parties": ("{count = 3}", {"count": 3}),
    "transport": ("array", "array"),
    "noise": ("secure", "secure"),
    "seed": ("17", 17),
    "round": ("2", 2),
    "data": ("'/sets'", "/sets"),
    "synthetic": ("true", True),
    "public_record": ("true", True),
    "budget": ("4.5", 4.5),
    "deadline_seconds": ("7", 7.0),
    "quorum": ("3", 3),
    "phases": ("{join = {quorum = 2}}", {"join": {"quorum": 2}}),
    "network": ("{loss = 0.25}", {"loss": 0.25}),
    "adversary": ('[{role = "coalition"}]', [{"role": "coalition"}]),
}
WEIGHT_MATRIX = ("2/3", "1/6", "1/6"), (0.1, 0.8, 0.1), (0.25, 0.25, 0.5)
PARAMETER_KEYS: dict[str, tuple[str, object]] = {
    "prior": ("uniform", "uniform"),
    "candidates": ('["a", "b", "c"]', ("a", "b", "c")),
    "weights": ("[0.5, 4]", (0.5, 4.0)),
    "weights_within": ("0.25", 0.25),
    "groups": ("[[1, 2], [3]]", ((1.0, 2.0), (3.0,))),
    "public_weights": ("true", True),
    "variant": ("printed", "printed"),
    "epsilon": ("0.25", 0.25),
    "epsilon_weight": ("0.5", 0.5),
    "epsilon_opinion": ("0.125", 0.125),
    "weight_matrix": ("[['2/3', '1/6', '1/6'], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5]]", WEIGHT_MATRIX),
    "opinion_matrix": ("[[0.75, 0.25], ['1/3', '2/3']]", ((0.75, 0.25), ("1/3", "2/3"))),
    "quota": ("5", 5.0),
    "quota_fraction": ("0.75", 0.75),
    "noise_weight": ("0.5", 0.5),
    "passes": ("more_than", "more_than"),
    "release": ("decision", "decision"),
    "weight_collection": ("per_candidate", "per_candidate"),
    "project_counts": ("true", True),
    "level": ("0.01", 0.01),
    "game": ("spring", "spring"),
    "threshold": ("5", 5),
    "colluders": ("1", 1),
    "epsilons": ("[0.5, 2]", (0.5, 2.0)),
    "chosen_by": ("partner", "partner"),
}


OF_LEVELS = (
    "parties=[{partner='ann', weight=1, first='yes', second='no', epsilon=2}, "
    "{partner='bob', weight=2, first='no', second='no', epsilon=0.5}]"
)


def test_the_lists_above_name_every_key() -> None:
    assert {*SCENARIO_KEYS, "budget_delta", "budget_datum"} == set(Scenario.__struct_fields__)
    assert set(PARAMETER_KEYS) == set(Parameters.__struct_fields__)


@pytest.mark.parametrize("key", list(SCENARIO_KEYS))
def test_every_key_of_a_scenario_can_be_set(ballot: str, key: str) -> None:
    text, value = SCENARIO_KEYS[key]
    assert getattr(load_scenario(ballot, [f"{key}={text}"]), key) == value


@pytest.mark.parametrize("key", list(SCENARIO_KEYS))
def test_every_key_of_a_scenario_can_be_written(write: Write, key: str) -> None:
    text, value = SCENARIO_KEYS[key]
    written = text if text[0] in "0123456789{['" or text in {"true", "false"} else f"'{text}'"
    keys = {"protocol": "'dpwevote'", "parties": "{count = 6}", key: written}
    path = write("written.toml", "".join(f"{name} = {given}\n" for name, given in keys.items()))
    assert getattr(load_scenario(str(path)), key) == value


@pytest.mark.parametrize("prefix", ["", "parameters."])
@pytest.mark.parametrize("key", list(PARAMETER_KEYS))
def test_every_parameter_can_be_set_by_its_name_or_its_path(ballot: str, key: str, prefix: str) -> None:
    text, value = PARAMETER_KEYS[key]
    needed = {  # beside it: the variant that alone has it, and what else that needs
        "threshold": ["variant=masked", "colluders=1"],
        "colluders": ["variant=masked", "threshold=5"],
        "prior": ["variant=optimal"],
        "release": ["variant=central"],
        "noise_weight": ["variant=central", "public_weights=true", "weights=[0.5, 4]"],
        "epsilons": ["variant=two_point", OF_LEVELS],
        "chosen_by": ["variant=two_point", "epsilons=[0.5, 2]", OF_LEVELS],
        "weight_matrix": ["epsilon_opinion=1"],
        "opinion_matrix": ["epsilon_weight=1"],
    }
    others = needed.get(key, [])
    parameters = resolve(load_scenario(ballot, [f"{prefix}{key}={text}", *others])).protocol.parameters
    assert getattr(parameters, key) == value


@pytest.mark.parametrize("setting", ["count=9", "parties.count=9", "partners.count=9", "partners={count=9}"])
def test_a_generators_key_is_set_by_name_by_path_and_by_the_word_that_a_file_uses(ballot: str, setting: str) -> None:
    assert len(resolve(load_scenario(ballot, [setting])).names) == 9


def test_a_generators_seed_is_set_by_its_path_and_the_noises_by_its_name(ballot: str) -> None:
    scenario = load_scenario(ballot, ["parties.seed=5", "seed=6"])
    assert (scenario.parties, scenario.seed) == ({"count": 6, "seed": 5}, 6)


def test_a_dotted_path_makes_the_tables_that_it_needs(ballot: str) -> None:
    resolved = resolve(load_scenario(ballot, ["phases.weights.quorum=0.5", "phases.join.deadline_seconds=9"]))
    assert resolved.rules.phases == {
        "weights": PhaseRules(deadline_seconds=300.0, quorum=0.5),
        "join": PhaseRules(deadline_seconds=9.0, quorum=1.0),
    }


def test_rules_of_a_phase_begin_with_the_scenarios(ballot: str) -> None:
    resolved = resolve(load_scenario(ballot, ["quorum=0.25", "deadline_seconds=2", "phases.weights.quorum=4"]))
    of_weights = {"weights": PhaseRules(deadline_seconds=2.0, quorum=4)}
    assert resolved.rules == SessionRules(deadline_seconds=2.0, quorum=0.25, phases=of_weights)


def test_the_last_of_two_settings_stands(ballot: str) -> None:
    assert load_scenario(ballot, ["round=1", "round=2"]).round == 2


def test_a_quorum_that_no_phase_uses_may_be_any(ballot: str) -> None:
    phases = [f"phases.{name}.quorum=6" for name in ("join", "weights", "opinions")]
    assert resolve(load_scenario(ballot, ["quorum=7", *phases])).rules.quorum == 7


@pytest.mark.parametrize("word", ["parties", "partners"])
def test_a_file_of_partners_brings_its_own_candidates(ballot: str, write: Write, word: str) -> None:
    table = write("mine.csv", "partner,weight,third\nann,1,1\nbob,3,0\n")
    resolved = resolve(load_scenario(ballot, [f"{word}={table}"]))
    assert resolved.protocol.parameters.candidates == ("third",)
    assert list(resolved.names) == ["ann", "bob"]
    assert not resolved.may_show_truth


def test_a_file_that_a_scenario_names_is_found_beside_the_scenario(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("mine.csv", "partner,weight,third\nann,1,1\nbob,3,0\n")
    path = write("ballot.toml", 'protocol = "dpwevote"\npartners = "mine.csv"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for source in (str(path), "../ballot.toml"):
        assert list(resolve(load_scenario(source)).names) == ["ann", "bob"]


def test_parties_named_by_both_words_are_refused(write: Write) -> None:
    error = refusal(str(write("b.toml", BALLOT + "\n[parties]\ncount = 3\n")))
    assert (error.field, error.allowed) == ("parties", "left out beside partners")


def test_a_json_scenario_is_read_like_a_toml_one(write: Write, ballot: str) -> None:
    text = '{"name": "ballot", "protocol": "dpwevote", "parties": {"count": 6}, '
    path = write("other.json", text + '"parameters": {"candidates": ["first", "second"]}}')
    assert load_scenario(str(path)) == load_scenario(ballot)


def test_another_protocol_is_looked_up_before_the_keys_that_depend_on_it(survey: str, write: Write) -> None:
    path = write("any.toml", 'protocol = "dpwevote"\nsurveyors = [{ surveyor = "ann", value = 5 }]\n')
    scenario = load_scenario(str(path), ["greatest=9", "protocol=bounded-total"])
    assert resolve(scenario).protocol.parameters.greatest == 9, survey


def test_public_weights_of_a_file_are_the_public_set(write: Write) -> None:
    write("mine.csv", "partner,weight,third\nann,7,1\nbob,3,0\ncid,7,1\n")
    path = write("b.toml", 'protocol = "dpwevote"\npartners = "mine.csv"\n[parameters]\npublic_weights = true\n')
    assert resolve(load_scenario(str(path))).protocol.parameters.weights == (3.0, 7.0)


@pytest.mark.bad_input("an unknown scenario, key or transport")
@pytest.mark.parametrize(
    ("setting", "field", "value", "allowed"),
    [
        ("epsilon=0", "epsilon", 0.0, ", 30]"),
        ("epsilon=inf", "epsilon", float("inf"), ", 30]"),
        ("epsilon=much", "parameters.epsilon", "much", "a number"),
        ("weights=3", "parameters.weights", 3, "a list"),
        ("candidates=5", "parameters.candidates", 5, "a list"),
        ("candidates=['a', 2]", "parameters.candidates[1]", 2, "text"),
        ("name=Spring", "name", "Spring", "small letters"),
        ("name=2", "name", 2, "text"),
        ("protocol=3", "protocol", 3, "text"),
        ("noise=loud", "noise", "loud", "one of auto, simulated, secure"),
        ("round=-1", "round", "negative", "at least 0"),
        ("seed=-1", "seed", "negative", "at least 0"),
        ("budget=0.5", "budget", 0.5, "at least 1.5, which the session costs"),
        ("budget=nan", "budget", None, "at least 0"),
        ("budget_delta=1e-6", "budget_delta", 1e-6, "left out without a budget"),
        ("budget_datum=1", "budget_datum", 1.0, "left out without a budget"),
        ("deadline_seconds=0", "deadline_seconds", 0.0, "positive"),
        ("deadline_seconds=inf", "deadline_seconds", float("inf"), "finite"),
        ("deadline_seconds=soon", "deadline_seconds", "soon", "a number"),
        ("quorum=0", "quorum", 0, "an integer >= 1"),
        ("quorum=1.5", "quorum", 1.5, "a share"),
        ("quorum=7", "quorum", 7, "at most the 6 parties"),
        ("phases=3", "phases", 3, "a table"),
        ("phases.weights=3", "phases.weights", 3, "a table"),
        ("phases.weights.foo=3", "phases.weights", None, "without the unknown key 'foo'"),
        ("phases.weights.quorum=7", "quorum", 7, "at most the 6 parties"),
        ("phases.wieghts.quorum=2", None, "wieghts", "join, weights, opinions"),
        ("parties.count.x=1", "--set", "partners.count.x", "'count' is no table"),
        ("count=2.5", "partners.count", 2.5, "an integer"),
        ("yes_shares=[0.5]", "--set", "yes_shares", "one of"),
        ("partners=5", "parties", 5, "text or a table or a list"),
        ("partners=nowhere.csv", "partners", "nowhere.csv", "a readable CSV file"),
        ("parameters.epsilom=2", "parameters", None, "without the unknown key 'epsilom'"),
    ],
)
def test_a_wrong_setting_is_refused_by_field_value_and_what_is_allowed(
    ballot: str, setting: str, field: str | None, value: object, allowed: str
) -> None:
    error = refusal(ballot, setting)
    assert field in {None, error.field}
    assert allowed in error.allowed
    if value is not None:
        assert error.value == value
    assert str(error) == str(ConfigurationError(field=error.field, value=error.value, allowed=error.allowed))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BALLOT + "\n[paramters]\nepsilon = 2\n", "'paramters' (did you mean 'parameters'?)"),
        (
            "epsilon = 2\n" + BALLOT,
            "'epsilon': it is a parameter, as in parameters = { epsilon = ... }",
        ),
        (BALLOT.replace("protocol", "protocl"), "'protocl' (did you mean 'protocol'?)"),
    ],
)
def test_a_key_that_stands_nowhere_is_named_with_what_was_meant(write: Write, text: str, said: str) -> None:
    assert str(refusal(str(write("b.toml", text)))).removeprefix("leave out ").startswith(f"unknown key {said}")


def test_parties_that_are_no_generator_are_named_as_the_scenario_names_them() -> None:
    assert "'partners' is no table" in refusal("eu-council", "partners.count=3").allowed
    assert "partners" in refusal("eu-council", "quorun=3").allowed


def test_other_parties_take_title_and_description_with_them() -> None:
    scenario = load_scenario("eu-council", ["partners=mine.csv"])
    assert (scenario.title, scenario.description) == ("", "")
    assert load_scenario("eu-council", ["partners=mine.csv", "title=Mine"]).title == "Mine"


def test_a_seed_beside_secure_noise_is_refused_and_not_shown(ballot: str) -> None:
    error = refusal(ballot, "noise=secure", "seed=987654321")
    assert (error.field, error.value) == ("seed", "given")
    assert "987654321" not in str(error)


def test_secure_noise_takes_the_scenarios_own_seed_away(write: Write) -> None:
    path = write("b.toml", "seed = 3\n" + BALLOT)
    assert load_scenario(str(path), ["noise=secure"]).seed is None


def test_secure_noise_is_refused_for_arrays(ballot: str) -> None:
    error = refusal(ballot, "noise=secure", "transport=array")
    assert (error.field, error.allowed) == ("noise", "'simulated' for arrays of parties that draw")


def test_a_budget_that_just_holds_the_session_is_enough(ballot: str) -> None:
    assert resolve(load_scenario(ballot, ["budget=1.5"])).scenario.budget == 1.5


def test_a_budget_may_have_a_delta(ballot: str) -> None:
    scenario = load_scenario(ballot, ["budget=1.5", "budget_delta=1e-6"])
    assert resolve(scenario).context(seed=1).budget == scenario.budget_of_parties == Budget(epsilon=1.5, delta=1e-6)


@pytest.mark.parametrize("delta", ["1", "-0.1", "nan"])
def test_a_delta_that_is_none_is_refused(ballot: str, delta: str) -> None:
    with pytest.raises(ConfigurationError, match=r"budget_delta is .*: use a value of at least 0 and below 1"):
        load_scenario(ballot, ["budget=9", f"budget_delta={delta}"])


def test_a_budget_holds_the_replace_one_total() -> None:
    """Whoever hides that it took part pays twice of what replacing it tells."""
    settings = ["mechanism=laplace", "relation=add-remove-one", "calibration=tight", "epsilon=1"]
    resolve(load_scenario("two-societies", [*settings, "budget=2"]))
    with pytest.raises(
        ConfigurationError, match=r"budget is .*: use at least 2, which the session costs for replace-one neighbors"
    ):
        resolve(load_scenario("two-societies", [*settings, "budget=1.9"]))


@pytest.mark.parametrize("settings", [("parties=mine.csv",), ("partners=mine.csv", "epsilon=2"), ("count=4",)])
def test_parameters_that_are_no_table_are_named(write: Write, settings: tuple[str, ...]) -> None:
    path = write("b.toml", 'protocol = "dpwevote"\nparameters = 5\n[partners]\ncount = 3\n')
    write("mine.csv", "partner,weight,third\nann,1,1\nbob,3,0\n")
    assert refusal(str(path), *settings)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("eu-counsil", "did you mean 'eu-council'?"),
        ("zzz", "`psephos scenarios` lists the shipped ones"),
        ("", "This is a folder"),
    ],
)
def test_a_scenario_that_does_not_exist_is_refused_with_a_hint(source: str, hint: str) -> None:
    error = refusal(source)
    assert (error.field, error.value) == ("scenario", source)
    assert hint in error.allowed


def test_a_name_too_long_for_a_file_is_a_scenario_that_does_not_exist() -> None:
    assert refusal("a" * 5000).field == "scenario"


@pytest.mark.parametrize(
    ("name", "content", "allowed"),
    [
        ("b.toml", "protocol = ", "well-formed"),
        ("b.toml", b"\xff\xfe", "a readable file"),
        ("b.json", "{", "well-formed"),
        ("b.json", "", "a file that is not empty: it was cut short as it was written. Repeat the command that did"),
        ("b.json", "[1]", "well-formed"),
        ("b.toml", "", "one of"),
        ("b.toml", "protocol = 5", "text"),
        ("b.json", "[" * 9999, "well-formed"),
        ("b.toml", "epsilon = " + "9" * 5000, "well-formed"),
    ],
)
def test_a_scenario_that_cannot_be_read_is_refused(write: Write, name: str, content: str | bytes, allowed: str) -> None:
    assert allowed in refusal(str(write(name, content))).allowed


def test_a_folder_is_no_scenario(tmp_path: Path) -> None:
    assert refusal(str(tmp_path)).field == "scenario"


def test_parties_may_stand_in_the_scenario(write: Write) -> None:
    rows = '[{ partner = "ann", weight = 1, x = 1 }, { partner = "bob", weight = 3, x = 0 }]'
    resolved = resolve(load_scenario(str(write("b.toml", f'protocol = "dpwevote"\npartners = {rows}\n'))))
    assert isinstance(resolved.protocol, DPWeVote)
    truth: Any = resolved.protocol.truth(resolved.inputs)
    assert truth == {"x": 1.0, "total weight": 4.0, "quota": 2.0}


# Voters of a survey.


@pytest.mark.parametrize(
    "setting",
    [
        "voters.groups={}",
        "voters.groups.seed=4",
        "voters.epsilons=mine.csv",
        "parties.groups.seed=4",
        "voters={voters=3, groups={}}",
        "voters={choices='a.csv', epsilons='mine.csv'}",
    ],
)
def test_an_epsilon_for_each_voter_takes_the_place_of_the_scenarios(setting: str) -> None:
    assert load_scenario("moral-machine").parameters["epsilon"] == 1
    assert load_scenario("moral-machine", [setting]).parameters == {"paradigm": "RLDP", "mechanism": "direction"}
    chosen = load_scenario("moral-machine", [setting, "epsilon=2"])  # which whoever resolves it refuses
    assert chosen.parameters["epsilon"] == 2


@pytest.mark.parametrize("setting", ["voters.seed=4", "voters=mine.csv", "voters={voters=3}", "voters.stream=true"])
def test_other_settings_of_voters_leave_the_scenarios_epsilon(setting: str) -> None:
    assert load_scenario("moral-machine", [setting]).parameters["epsilon"] == 1


def test_groups_of_a_crowds_stand_in_are_something_else() -> None:
    settings = ["workers.stand_in=peer_grading", "workers.groups=5", "epsilon=3"]
    assert load_scenario("crowd", settings).parameters["epsilon"] == 3
    assert load_scenario("crowd", settings[:2]).parameters == load_scenario("crowd", settings[:1]).parameters


@pytest.mark.parametrize("setting", ["voters.groups={}", "voters=mine.csv"])
def test_parameters_of_voters_that_are_no_table_are_named(write: Write, setting: str) -> None:
    path = write("b.toml", 'protocol = "moral-preferences"\nparameters = 5\n[voters]\nvoters = 3\n')
    assert refusal(str(path), setting).field == "parameters"


def test_an_unknown_paradigm_is_answered_with_those_that_there_are() -> None:
    error = refusal("moral-synthetic", "voters.voters=3", "paradigm=VLDPS")
    assert (error.field, error.value) == ("parameters.paradigm", "VLDPS")
    assert error.allowed == "one of VLCP, RLCP, VLDP, RLDP, VLMP, RLMP (did you mean 'VLDP'?)"


@pytest.mark.parametrize("key", ["voters", "parties"])
@pytest.mark.parametrize("name", ["x.soc", "X.SOI", "x.toc.gz", "x.toi", "x.pb"])
def test_a_file_of_ballots_is_a_table_beside_which_its_groups_can_be_said(key: str, name: str) -> None:
    whole = [f"{key}={name}", f"{key}.groups_file=g.csv"]
    for settings in (whole, whole[::-1], [f"voters.file={name}", "parties.groups_file=g.csv"]):
        scenario = load_scenario("two-societies", settings)
        assert scenario.parties == {"file": name, "groups_file": "g.csv"}
        assert (scenario.title, scenario.seed) == ("", None)


def test_a_file_of_ballots_that_a_scenario_names_is_a_table_too(write: Write, tmp_path: Path) -> None:
    path = write("own.toml", 'protocol = "fair-voting"\nvoters = "x.soc"\n')
    scenario = load_scenario(str(path), ["voters.groups_file=g.csv"])
    assert scenario.parties == {"file": str(tmp_path / "x.soc"), "groups_file": "g.csv"}
    # A file with a line for each voter says their groups itself, and one of another protocol is no ballots.
    assert load_scenario("two-societies", ["voters=x.csv"]).parties == "x.csv"
    assert load_scenario("moral-machine", ["voters=x.pb"]).parties == "x.pb"


def test_another_data_set_takes_the_place_of_the_options_of_the_scenarios_own() -> None:
    own = load_scenario("breakfast").parties
    assert isinstance(own, dict)
    assert load_scenario("breakfast", ["voters.data=zurich_pb"]).parties == {"data": "zurich_pb"}
    assert load_scenario("breakfast", ["voters.data=preflib_00035_breakfast"]).parties == own
    assert load_scenario("breakfast", ["situation=6"]).parties == {**own, "situation": 6}


def test_a_path_that_has_a_sources_name_in_it_is_a_path(write: Write) -> None:
    path = write("own.toml", 'protocol = "fair-voting"\nvoters = "data/v.csv"\n')
    assert load_scenario(str(path), ["voters.data=zurich_pb"]).parties == {"data": "zurich_pb"}


@pytest.mark.parametrize("settings", [["voters=a.csv", "voters.file=b.soc"], ["voters.file=b.soc", "voters=a.csv"]])
def test_parts_of_parties_that_are_a_path_are_refused_in_any_order(settings: list[str]) -> None:
    error = refusal("two-societies", *settings)
    assert (error.field, error.value) == ("--set", "voters.file")
    assert error.allowed == "another key: 'voters' is no table here"


def test_a_session_that_costs_a_datum_more_than_its_cap_is_refused_before_it_begins(ballot: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"budget_datum is .*: use at least .*, which the session costs"
    ) as caught:
        resolve(load_scenario(ballot, ["budget=99", "budget_datum=0.1"]))
    assert (caught.value.field, caught.value.value) == ("budget_datum", 0.1)
    resolve(load_scenario(ballot, ["budget=99", "budget_datum=99"]))
