"""Format numbers, nouns and lists for terminals and pictures, with as many decimals as errors support."""

import math
from collections.abc import Iterable
from typing import Final

from ..words import say_number

_DIGITS: Final = 2
_DIGITS_WITHOUT_ERRORS: Final = 3
_MOST_DECIMALS: Final = 9


def decimals_of(values: Iterable[float], errors: Iterable[float | None]) -> int:
    """Return a common number of decimals: two digits of the least error, or three digits of a value.

    Examples:
        >>> decimals_of([12.34], [0.45]), decimals_of([12.34], [])
        (2, 1)
    """
    numbers, digits = [error for error in errors if error], _DIGITS
    if not numbers:
        numbers, digits = [max(map(abs, values))], _DIGITS_WITHOUT_ERRORS
    min_number = min(numbers)
    return min(max(digits - 1 - math.floor(math.log10(min_number)), 0), _MOST_DECIMALS) if min_number else 0


def rounded(value: float, decimals: int, *, signed: bool = False) -> str:
    """Format a number with a number of decimals; a number rounded to 0 has no sign.

    Examples:
        >>> rounded(1234.56, 1), rounded(3.0, 0, signed=True), rounded(-0.001, 1)
        ('1,234.6', '+3', '0.0')
    """
    number_text = f"{value:{'+' if signed else ''},.{min(decimals, _MOST_DECIMALS)}f}"
    return number_text if any(digit in number_text for digit in "123456789") else number_text.lstrip("+-")


def format_number(number: float, digits: int = _DIGITS_WITHOUT_ERRORS) -> str:
    """Format a number with some significant digits, but with all digits before the point.

    Examples:
        >>> format_number(0.012345), format_number(1234.5)
        ('0.0123', '1,234')
    """
    if not math.isfinite(number):
        return f"{number:g}"
    number_text = rounded(number, max(digits - 1 - math.floor(math.log10(abs(number))), 0) if number else 0)
    return number_text.rstrip("0").rstrip(".") if "." in number_text else number_text


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """Format a number with a noun; by default the plural adds an s.

    Examples:
        >>> pluralize(1, "vote"), pluralize(1200, "party", "parties")
        ('1 vote', '1,200 parties')
    """
    return f"{number:,} {say_number(noun, plural or f'{noun}s', number)}"


def join_words(words: Iterable[str]) -> str:
    """Join at least one word to a list: "a, b and c".

    Examples:
        >>> join_words(["ann", "bob", "cid"])
        'ann, bob and cid'
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def capitalize(sentence: str) -> str:
    """Capitalize a sentence's first letter, and leave the others.

    Examples:
        >>> capitalize("roof of ACME")
        'Roof of ACME'
    """
    return sentence[:1].upper() + sentence[1:]
