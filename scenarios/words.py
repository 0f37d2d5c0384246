"""The words that people read: English in the code, and other languages by message catalogues (gettext).

The rules that hold here: a message is a whole sentence, or a whole label, whose places have names; numbers keep their
form in each language; and what programs read (JSON, the headers of CSV, settings) is never translated.
"""

import functools
import gettext
import os
import re
import string
from collections.abc import Sequence
from importlib import resources
from typing import Final

__all__ = ["choose_language", "in_words", "marked", "refused", "say", "say_again", "say_all", "say_number"]

_VARIABLES: Final = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")  # in gettext's order
_OURS: Final = ("en", "C", "POSIX")  # languages that need no catalogue
_PLACE: Final = re.compile(r"\{(\w+).*?\}")
_FEWEST: Final = 7  # characters beside its places by which a message is known in a text
_chosen: list[str] = []


def choose_language(language: str | None) -> None:
    """Have this process speak en, de or fr; None for the one that the environment names, else English."""
    _chosen[:] = [] if language is None else [language]


def in_words() -> str:
    """Return the language that is spoken, as HTML names it."""
    return _catalogue(_asked()).info().get("language", "en")


def marked(message: str) -> str:
    """Return a message as it is: it is said later, and stands in the catalogues since it is marked here."""
    return message


def say(message: str, /, **places: object) -> str:
    """Return a message in the language that is spoken, with its places filled in."""
    said = _catalogue(_asked()).gettext(message) if message else ""
    return said.format(**places) if places else said


def say_number(one: str, many: str, number: int, /, **places: object) -> str:
    """Return what agrees with a number, which stands at {number} or {number:,}, in the language that is spoken."""
    return _catalogue(_asked()).ngettext(one, many, number).format(number=number, **places)


def say_again(text: str, fewest: int = _FEWEST) -> str:
    """Return what was said in English, as files and errors have it, in the language that is spoken.

    A message with places is found by its words, of which a phrase has few; in a place with `!s` stand words of ours,
    which are said again too, and several of something in one with `!s}s`. What no catalogue knows stays as it is.
    """
    if not text or in_words() == "en":
        return text
    ends = [len(text), *sorted((found.end() for found in re.finditer(r"(?<=[.:]) ", text)), reverse=True)]
    for end in ends:
        for known in (text[:end].rstrip(), f" {text[:end].rstrip()}"):  # as it stood after another sentence
            if (said := _again(known, fewest)) is not None:
                return f"{said} {say_again(text[end:])}".strip()
    return "; ".join(say_all(text.split("; ")))


def say_all(texts: Sequence[str]) -> Sequence[str]:
    """Return texts in the language that is spoken, if all of them are words of ours: else they are names of others."""
    said = [_again(text) for text in texts]
    return texts if None in said else [each or "" for each in said]


def refused(error: Exception) -> str:
    """Return what an error says, in the language that is spoken if all of it is known there: else in English.

    Of a setting that is not allowed the catalogues have what is allowed, by itself (unless that `is_said` already).
    """
    text, field, allowed = str(error), getattr(error, "field", ""), getattr(error, "allowed", "")
    begins = f"{field} must be {allowed}, got "
    if in_words() == "en" or not allowed or not text.startswith(begins):
        return say_again(text)
    if (allowed := allowed if getattr(error, "is_said", False) else _again(allowed, 1)) is None:
        return text
    field = _again(field) or field
    if getattr(error, "value", None) == "left out":
        return say("{field} must be {allowed}", field=field, allowed=allowed)
    value = text.removeprefix(begins)
    return say("{field} must be {allowed}, got {value}", field=field, allowed=allowed, value=value)


def _again(text: str, fewest: int = _FEWEST) -> str | None:
    """Return a message, which may have places, said again; None for what is none."""
    catalogue = _catalogue(_asked())
    said = catalogue.gettext(text) if text else ""
    if said != text or not text:
        return said
    for words, message in _with_places(_asked()):
        least = fewest if "!" in message or message[0] != "{" else _FEWEST  # "{low} of {number}" may be anything
        if words in text and _num_words(message) >= least and (found := _pattern(message).fullmatch(text)):
            ours = {name for _, name, _, kind in string.Formatter().parse(message) if name and kind == "s"}
            filled = {name: _list(value) if name in ours else value for name, value in found.groupdict().items()}
            return _PLACE.sub(r"{\1}", catalogue.gettext(message)).format(**filled)
    number, _, noun = text.rpartition(" ")  # "3 voters", or "voters"
    one = "party" if noun == "parties" else noun.removesuffix("s")
    many = int(number.replace(",", "")) if number.replace(",", "").isdecimal() else 0 if number else 2
    said = catalogue.ngettext(one, noun, many)
    return None if said in {one, noun} or (number and not many) else f"{number} {said}".strip()


def _list(words: str) -> str:
    """Return words of ours said again, or each of several that stand in a row."""
    if (said := _again(words)) is None and (sign := next((sign for sign in ("; ", ", ") if sign in words[1:]), "")):
        return sign.join(map(_list, words.split(sign)))
    if said is None and None not in (both := [_again(part) for part in words.rsplit(" and ", 1)]) and len(both) > 1:
        return say("{first} and {last}", first=both[0], last=both[1])
    return said or _again(words, 1) or words


@functools.cache
def _with_places(languages: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return the messages with places, the wordiest first, each behind the longest of its words between them."""
    known: dict[object, str] = getattr(_catalogue(languages), "_catalog", {})  # gettext has no other list of them
    messages = [message for message in known if isinstance(message, str) and "{" in message]
    ordered = sorted(messages, key=lambda message: (_num_words(message), message.count("!s")), reverse=True)
    return [(max(re.split(r"\{.*?\}s?", message), key=len), message) for message in ordered]


def _num_words(message: str) -> int:
    """Return how many characters a message has beside its places."""
    return len(_PLACE.sub("", message))


@functools.cache
def _pattern(message: str) -> re.Pattern[str]:
    """Return what a message with places looks like in English; a number has no blank."""
    parts, seen = list[str](), set[str]()
    for literal, name, form, kind in string.Formatter().parse(re.sub(r"!s\}s\b", "!p}", message)):
        parts.append(re.escape(literal))
        if name:
            error = r"(?: ± [^\s;]+)?" if form == "s" else ""
            known = {"s": ".*?", "p": r"\w+?s", "r": r"'[^']*'|\"[^\"]*\"|[^'\"].*?"}.get(kind or "", ".+?")
            known = rf"[^\s;]+{error}" if form else known
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>{known})")
            seen.add(name)
    return re.compile("".join(parts), re.DOTALL)


def _asked() -> Sequence[str]:
    """Return the languages that are asked for, the dearest first, up to English."""
    named = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    languages = tuple(_chosen or filter(None, named.split(":")))
    ends = [place for place, language in enumerate(languages) if re.split("[_.@]", language)[0] in _OURS]
    return languages[: ends[0]] if ends else languages


@functools.cache
def _catalogue(languages: Sequence[str]) -> gettext.NullTranslations:
    """Return the first catalogue that there is, by the language alone: de_CH.UTF-8 is de."""
    for language in languages:
        file = resources.files(__package__ or "") / "languages" / f"{re.split('[_.@]', language)[0]}.mo"
        if file.is_file():
            with file.open("rb") as opened:
                return gettext.GNUTranslations(opened)
    return gettext.NullTranslations()
