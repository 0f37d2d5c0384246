"""Format displayed sentences, with only the characters that the terminal supports."""

import codecs
import contextlib
import io
import re
import sys
import unicodedata
from collections.abc import Mapping
from typing import Final

_ERRORS: Final = "psephos-in-words"
_ASCII: Final = "psephos-ascii"  # under another name, since click writes UTF-8 to terminals that report ASCII
_SIGNS: Final[Mapping[str, str]] = dict(
    re.findall(
        r"(\S)(\S+)",
        '±+- ∓-+ –- —- −- →-> ←<- ≥>= ≤<= ≠!= ≈~ ×x ·| ∞infinity √sqrt ∈in ßss ’\' ›\' “" ”" „" «" »" ‖|| │| █# ░. ⁄/',
    )
)
_SHAPES: Final = {"<super>": "^", "<sub>": "_"}


def say_number(one: str, plural: str, number: int, /, **places: object) -> str:
    """Return the singular or plural text for a number, inserted at {number} or {number:,}.

    Examples:
        >>> say_number("{number} vote", "{number:,} votes", 1_200)
        '1,200 votes'
    """
    return (one if number == 1 else plural).format(number=number, **places)


def replace_unencodable(encoding: str, text: str) -> str:
    """Return a text in an encoding's characters: Greek letters by name, and others by number.

    Examples:
        >>> replace_unencodable("ascii", "ε ≥ 1")
        'epsilon >= 1'
    """
    if text.isascii() or encoding.startswith("utf"):
        return text
    return text.encode(encoding, _ERRORS).decode(encoding)


def show_all_signs() -> None:
    """Make output and input of this process tolerate characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=_ASCII if is_ascii else None, errors=_ERRORS)
    if isinstance(stream := sys.stdin, io.TextIOWrapper):
        with contextlib.suppress(io.UnsupportedOperation):  # the stream was partly read already
            stream.reconfigure(errors="backslashreplace")


def _replace_signs(error: UnicodeError) -> tuple[str, int]:
    """Return words for the characters that an encoder lacks, and the position to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    replaced_text = "".join(map(_word_for, error.object[error.start : error.end]))
    return re.sub(r"(?<=([\^_]).)\1", "", replaced_text), error.end  # so that superscript digits become 10^-12


def _word_for(sign: str) -> str:
    """Return a word for one character, or the base letter of an accented letter."""
    if sign.isascii() or sign in _SIGNS:
        return _SIGNS.get(sign, sign)
    if unicodedata.combining(sign):
        return ""
    parts = unicodedata.decomposition(sign).split()
    shape = parts.pop(0) if parts and parts[0].startswith("<") else ""
    if parts:
        return _SHAPES.get(shape, "") + "".join(_word_for(chr(int(part, 16))) for part in parts)
    script, *words = unicodedata.name(sign, "").split()[:4] or [""]
    if script == "GREEK" and words:
        return words[-1].title() if words[0] == "CAPITAL" else words[-1].lower()
    return sign.encode("ascii", "backslashreplace").decode("ascii")


def _ascii_by_another_name(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != _ASCII:
        return None
    codec = codecs.lookup("ascii")
    streams = codec.streamreader, codec.streamwriter, codec.incrementalencoder, codec.incrementaldecoder
    return codecs.CodecInfo(codec.encode, codec.decode, *streams, name=_ASCII)


codecs.register_error(_ERRORS, _replace_signs)
codecs.register(_ascii_by_another_name)
