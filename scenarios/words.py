"""Sentences that people read, with places for names and numbers."""

from collections.abc import Sequence

__all__ = ["marked", "refused", "say", "say_again", "say_all", "say_number"]


def marked(message: str) -> str:
    """Return a message as it is."""
    return message


def say(message: str, /, **places: object) -> str:
    """Return a message with its places filled in."""
    return message.format(**places) if places else message


def say_number(one: str, many: str, number: int, /, **places: object) -> str:
    """Return what agrees with a number, which stands at {number} or {number:,}."""
    return (one if number == 1 else many).format(number=number, **places)


def say_again(text: str, fewest: int = 0) -> str:
    """Return a text as it is."""
    del fewest
    return text


def say_all(texts: Sequence[str]) -> Sequence[str]:
    """Return texts as they are."""
    return texts


def refused(error: Exception) -> str:
    """Return what an error says."""
    return str(error)
