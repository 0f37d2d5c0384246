"""Message catalogues: nothing is missing in a language, each place of a sentence is in its translation."""

import re
import string
from pathlib import Path
from typing import Any

import catalogues
import pytest
from psephos.protocol import ConfigurationError
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


def filled(message: str) -> tuple[str, dict[str, str]]:
    """Return a message with something in each of its places, and what is in them: of "{roles!s}s" with the s."""
    said, last, held = "", "", dict[str, str]()
    for number, (literal, name, form, kind) in enumerate(string.Formatter().parse(message)):
        is_many = bool(said) and said.endswith("qu") and re.match(r"s\b", literal) is not None
        if is_many:
            held[last] += "s"
        said += literal
        if name is not None:
            word = {"r": f"'Q {number}'", "s": "qu" if literal or not number else " qu"}.get(kind or "", f"Q {number}")
            held[name] = held.get(name) or (
                f"0.{number}1 ± 0.{number}2" if form == "s" else f"0.{number}1" if form else word
            )
            said, last = said + held[name], name
    return said, held


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_what_was_said_in_english_is_said_again(language: str) -> None:
    """Every message with places, all of them filled in, is found by its words; what is in a place is where it belongs.

    But for the few words by which a phrase is known only where one is expected.
    """
    words.choose_language(language)
    others: list[tuple[str, str, str]] = []
    numbered = {text for each in catalogues.messages() if len(each) > 1 for text in each}  # said at once
    for message, said in pairs(language):
        if "{" in message and message not in numbered and len(re.sub(r"\{.*?\}", "", message)) >= 7:
            text, held = filled(message)
            expected = re.sub(r"\{(\w+).*?\}", r"{\1}", said).format(**held).strip()
            others += [(message, expected, again)] if (again := words.say_again(text)) != expected else []
    assert others == []


REFUSED = {
    "run eu-counci": ("das Psephos mitbringt (meinten Sie 'eu-council'?)", "livré avec Psephos (vouliez-vous dire"),
    "run eu-council --set epsilon=-1": (
        "epsilon: erlaubt ist ein Wert in [1e-09, 30]; angegeben ist -1.0",
        "une valeur",
    ),
    "new vote no.csv": (
        "FILE: erlaubt ist eine lesbare CSV-Datei (gibt es nicht); angegeben ist 'no.csv'",
        "(introuvable)",
    ),
    "new vote own.csv --trust local": (
        "bylaws (own.csv Zeile 3): erlaubt ist ja oder nein (meinten Sie 'no'?); andere Wörter geben Sie mit",
        "bylaws (own.csv ligne 3) : admis : oui ou non (vouliez-vous dire 'no' ?)",
    ),
    "new vote two.csv --trust local": (
        "--abstentions fehlt: anzugeben ist (roof (two.csv Zeile 4) sagt 'nothing', und 1 von 3 enthalten sich",
        "l’un de absent, no, yes ; par exemple `psephos new vote two.csv",
    ),
    "join": ("INVITATION fehlt: anzugeben, wo kein Terminal fragen kann", "INVITATION manque : à indiquer"),
}


@pytest.mark.parametrize("typed", REFUSED)
def test_the_commonest_refusals_are_said_in_the_language_that_is_spoken(
    typed: str, psephos: Any, monkeypatch: Any
) -> None:
    Path("own.csv").write_text("name,roof,bylaws\nAnn,yes,no\nBob,no,noo\n", encoding="utf-8")
    Path("two.csv").write_text("name,roof\nAnn,yes\nBob,no\nCid,\n", encoding="utf-8")
    for language, said in zip(("de", "fr"), REFUSED[typed], strict=True):
        monkeypatch.setenv("LANGUAGE", language)
        ended = psephos(*typed.split())
        assert ended.status == 2
        assert said in ended.err
        assert "must be" not in ended.err


def test_a_refusal_of_which_a_part_is_not_known_is_all_in_english() -> None:
    words.choose_language("de")
    error = ConfigurationError(field="epsilon", value=3, allowed="what no catalogue has")
    assert words.refused(error) == "epsilon must be what no catalogue has, got 3"
    words.choose_language("en")
    assert words.refused(ConfigurationError(field="a", value="left out", allowed="given")) == (
        "a must be given, got 'left out'"
    )


def test_what_was_said_in_english_stays_so_for_who_reads_english() -> None:
    words.choose_language("en")
    for text in ("", "3 voters", "private", "A vote on roof", "nobody's sentence; and another one."):
        assert words.say_again(text) == text
        assert list(words.say_all([text])) == [text]


def test_what_is_said_again_has_its_own_words_in_its_places() -> None:
    words.choose_language("de")
    sees = "every value as it is, since this protocol trusts its server"
    told = (
        f"The coalition is semi-honest: it follows the protocol, sees {sees}, and pools it. 3 of 4 voters are honest."
    )
    assert words.say_again(told).endswith("legt alles zusammen. Ehrliche Stimmende: 3 von 4.")
    assert words.say_again("the cloud server and 3 voters", 1) == "der Cloud-Server und 3 Stimmende"
    pushed = "They push the margin of 'Roof up' up. Without them it is -8 units of weight (standard error 3), and "
    assert "nach oben: der Abstand von 'Roof up'." in words.say_again(
        f"{pushed}'Roof up' passes; with their false values 4, and 'Roof up' does not pass."
    )
    assert words.say_again("3 of 9 voters; left out: 6 without a group") == (
        "3 von 9 Stimmenden; ausgelassen: 6 ohne Gruppe"
    )
    assert words.say_again("what somebody else's role says, and 3 voters") == (
        "what somebody else's role says, and 3 voters"
    )
    swept = (
        "DPWeVote, ε = 1: with the server the advantage is 0.138; without it, 7 others have 0.065 and 8 others have "
    )
    said = words.say_again(f"{swept}0.080, who are right in 0.196 ± 0.001 (the bound is 0.308).")
    assert said == (
        "DPWeVote, ε = 1: mit dem Server beträgt der Vorteil 0.138; ohne ihn bei 7 anderen 0.065 und bei 8 anderen "
        "0.080, richtig in 0.196 ± 0.001 (die Grenze ist 0.308)."
    )
    lie = "its best misreport is worth 0.02 more than the truth, by ferry > bridge"
    assert words.say_again(lie) == "die beste falsche Rangliste bringt 0.02 mehr als die Wahrheit, mit ferry > bridge"
    assert list(words.say_all(["yes", "no"])) == ["ja", "nein"]
    assert list(words.say_all(["yes", "Ann"])) == ["yes", "Ann"]  # names, of which one is a word of ours


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
        said |= {loss.mechanism for phase in facts.phases for loss in phase.losses if " noise on " in loss.mechanism}
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
