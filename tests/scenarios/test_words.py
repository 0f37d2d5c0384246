"""Message catalogues: nothing is missing in a language, each place of a sentence is in its translation."""

import string
from pathlib import Path
from typing import Any

import catalogues
import pytest
from psephos.scenarios import load_scenario, resolve, words
from psephos.scenarios.running.config import shipped_scenarios
from psephos.scenarios.running.session_facts import about


@pytest.fixture(autouse=True)
def _in_english_afterwards() -> Any:
    yield
    words.choose_language(None)


def places(text: str) -> set[str]:
    """Return the names of the places in a message."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def pairs(language: str) -> list[tuple[str, str]]:
    """Return each message with its translation, those for one and for several each by itself."""
    found: list[tuple[str, str]] = []
    for each in catalogues.read(language):
        if each.id:
            ids = [each.id] if isinstance(each.id, str) else list(each.id)
            said = list(map(str, each.string)) if isinstance(each.string, tuple) else [str(each.string)]
            assert len(said) == 1 if len(ids) == 1 else len(said) in {2, 3}, each.id  # French has one for millions
            found += [(ids[min(place, len(ids) - 1)], form) for place, form in enumerate(said)]
    return found


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_every_message_of_the_code_is_translated_and_no_other_one_is_kept(language: str) -> None:
    kept = {each.id if isinstance(each.id, tuple) else (each.id,) for each in catalogues.read(language) if each.id}
    assert kept == set(catalogues.messages())
    assert [message for message, said in pairs(language) if not said.strip()] == []
    assert not any(each.fuzzy for each in catalogues.read(language) if each.id)


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_every_place_of_a_message_is_in_its_translation_and_ends_alike(language: str) -> None:
    for message, said in pairs(language):
        assert places(said) == places(message), message
        if message[0] == " ":
            assert said[0] == " ", message
        assert (said[-1] in ".:") == (message[-1] in ".:"), message


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_what_is_read_is_what_people_wrote(language: str) -> None:
    """`python tests/catalogues.py` compiles; a translation that was changed and not compiled fails here."""
    catalogue = catalogues.read(language)
    assert (catalogues.FOLDER / f"{language}.mo").read_bytes() == catalogues.compiled(catalogue)
    assert (catalogues.FOLDER / f"{language}.po").read_bytes() == catalogues.written(catalogue)


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_numbers_keep_their_form_and_typography_its_plain_blanks(language: str) -> None:
    for _, said in pairs(language):
        assert said.isprintable(), said  # else a terminal would show a mark in its place


def test_what_protocols_are_made_of_has_a_word_in_each_language() -> None:
    """Mechanisms alone keep their technical names where these are names."""
    known = {each[0] for each in catalogues.messages()}
    for name in shipped_scenarios():
        scenario = load_scenario(name)
        if isinstance(scenario.parties, dict) and scenario.parties.get("data"):
            continue  # its data set may not be there
        facts = about(resolve(scenario).protocol)
        said = {facts.client_role, facts.server_role.replace("-", " "), facts.relation, *facts.public, *facts.chosen}
        said |= {phase.name for phase in facts.phases} | {loss.unit for phase in facts.phases for loss in phase.losses}
        assert facts.prices is not None
        said |= {unit for _, units in facts.prices.finest for unit in units}
        assert said - known == set(), name


def test_a_language_is_that_of_the_option_or_else_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for asked, said in {
        "": "passes",
        "de_CH.UTF-8": "angenommen",
        "fr:de": "adopté",
        "en_US:de": "passes",
        "xx:de": "angenommen",
        "C": "passes",
    }.items():
        monkeypatch.setenv("LANGUAGE", asked)
        assert words.say("passes") == said
    monkeypatch.setenv("LANGUAGE", "fr")
    words.choose_language("de")
    assert (words.say("passes"), words.in_words()) == ("angenommen", "de")
    words.choose_language("en")
    assert (words.say("passes"), words.in_words()) == ("passes", "en")
    monkeypatch.delenv("LANGUAGE")
    monkeypatch.setenv("LC_MESSAGES", "fr_FR.UTF-8")
    words.choose_language(None)
    assert words.say("passes") == "adopté"


def test_a_number_has_the_plural_of_its_language() -> None:
    words.choose_language("fr")
    assert words.say_number("task", "tasks", 0) == "tâche"  # in French none is one
    words.choose_language("de")
    assert words.say_number("task", "tasks", 0) == "Aufgaben"


def test_what_a_catalogue_lacks_is_said_in_english_and_nothing_says_nothing() -> None:
    words.choose_language("de")
    assert words.say("no sentence of ours {x}", x=1) == "no sentence of ours 1"
    assert words.say("") == ""


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_a_page_in_another_language_has_no_sentence_of_ours_in_english(language: str, psephos: Any) -> None:
    english = {
        each[0] for each in catalogues.messages() if len(each[0]) > 12 and "{" not in each[0] and " " in each[0].strip()
    }
    translations = {said for message, said in pairs(language) if message != said}
    for name in ("eu-council", "canteen"):
        run = ("run", name, "--seed", "3", "--transport", "array", "--out", f"{name}-{language}")
        ended = psephos(*run, "--lang", language)
        assert (ended.status, ended.err) == (0, "")
        page = Path(f"{name}-{language}", "report.html").read_text(encoding="utf-8")
        assert f'<html lang="{language}">' in page
        shown = page.partition("</style>")[2]
        left = {message for message in english - translations if f">{message}<" in shown}
        assert left == set(), name
