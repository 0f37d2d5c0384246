"""The words that people read: English in the code, and other languages by message catalogues (gettext).

The rules that hold here: a message is a whole sentence, or a whole label, whose places have names; numbers keep their
form in each language; and what programs read (JSON, the headers of CSV, settings) is never translated.
"""

import functools
import gettext
import os
import re
from collections.abc import Sequence
from importlib import resources
from typing import Final

__all__ = ["choose_language", "in_words", "marked", "say", "say_number"]

_VARIABLES: Final = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")  # in gettext's order
_OURS: Final = ("en", "C", "POSIX")  # languages that need no catalogue
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
