"""Memoized reports: drawn once in a scope, and repeated in its later sessions (permanent randomized response).

In a scope a person has one report of a phase. The first session draws and charges it. Every later session repeats the
same numbers at no cost, since this is post-processing of the first report. If scope, law or values differ, the report
is refused; it is never drawn again.

The servers of all sessions in a scope can link a person's sessions by the repeated report.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from .errors import refuse, require

_SEAL_BYTES: Final = 16


class Scope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The scope of memoized reports: the sessions in which the same report is repeated.

    Args:
        kind: the users' word for the scope, such as "game".
        name: the name of this scope.
        law: all parameters that determine the law of a report, by name and as text; public. A phase adds a digest of
            its randomizer's parameters.

    Examples:
        >>> game = Scope("game", "winter", law=(("epsilon", "1.0"),))
        >>> str(game)
        "game 'winter'"
        >>> game.with_law("epsilon", "2.0").law
        (('epsilon', '2.0'),)
    """

    kind: str
    name: str
    law: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Return the scope's name for users."""
        return f"{self.kind} {self.name!r}"

    def with_law(self, name: str, value: str) -> "Scope":
        """Return the scope with one more entry of the law, or with another value of it."""
        other_entries = (entry for entry in self.law if entry[0] != name)
        return msgspec.structs.replace(self, law=(*other_entries, (name, value)))

    def check(self, other: "Scope") -> None:
        """Raise ConfigurationError, naming the difference, for a report of another scope or law.

        Examples:
            >>> game = Scope("game", "winter", law=(("epsilon", "1.0"),))
            >>> game.check(game)
            >>> game.check(game.with_law("epsilon", "2.0"))
            Traceback (most recent call last):
                ...
            psephos.protocol.errors.ConfigurationError: epsilon is '1.0': use 2.0, as in the earlier ...
        """
        is_same = (self.kind, self.name) == (other.kind, other.name)
        require(is_same, self.kind, self.name, f"{other}, whose reports are kept")
        ours, theirs = dict(self.law), dict(other.law)
        for field in dict.fromkeys((*theirs, *ours)):
            value = theirs.get(field, "left out")
            allowed = f"{value}, as in the earlier sessions of {self}; another needs another {self.kind}"
            require(ours.get(field) == theirs.get(field), field, ours.get(field), allowed)


class KeptReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person's report of one phase, as an earlier session drew it.

    Args:
        report: the numbers of the report.
        seal: lets the person check whether its values have changed since (`seal_of`); empty without a secret, or if a
            runner of all parties has compared the values.

    Examples:
        >>> KeptReport(scope=Scope("game", "winter", law=()), report=(1, 0)).report
        (1, 0)
    """

    scope: Scope
    report: tuple[int, ...]
    seal: str = ""


class MemoizedReports(msgspec.Struct, kw_only=True):
    """All persons' reports of one phase in one scope, by party name, for a runner of all parties.

    `values` are private. None of this is written to a file.

    Args:
        drawn: the reports that the persons' machines drew.
        received: the reports that the server received, which differ if a person deviates from the protocol.
        values: the private values behind the reports.

    Examples:
        >>> MemoizedReports(scope=Scope("game", "winter", law=()), drawn={"ann": (1,)}).drawn
        {'ann': (1,)}
    """

    scope: Scope
    drawn: dict[str, tuple[int, ...]] = {}
    received: dict[str, tuple[int, ...]] = {}
    values: dict[str, tuple[int, ...]] = {}


KeptReports: TypeAlias = dict[tuple[str, str], MemoizedReports]
"""Memoized reports by scope name and phase name. Sessions add to it; pass it from session to session."""

ReceivedReports: TypeAlias = Mapping[str, Mapping[str, tuple[int, ...]]]
"""A server's reports from earlier sessions, by phase and party."""


def seal_of(secret: bytes, scope: Scope, phase: str, values: Sequence[int]) -> str:
    """Return a seal of the values behind a report, by which the person later detects that they have changed.

    Since few values are possible, a plain or salted digest would reveal them by trial. The seal is a keyed digest,
    which reveals nothing without the secret; the secret is stored elsewhere. The part before the dot identifies the
    secret, since seals under different secrets cannot be compared.

    Args:
        secret: the person's secret; without one the seal is empty, and nothing is compared.

    Examples:
        >>> game = Scope("game", "winter", law=())
        >>> yes, no = (seal_of(b"ann's own", game, "opinions", [value]) for value in (1, 0))
        >>> has_changed(yes, no), has_changed(yes, yes)
        (True, False)
    """
    if not secret:
        return ""
    content = msgspec.msgpack.encode((scope.kind, scope.name, phase, tuple(values)))
    key = hashlib.sha256(secret).digest()
    tag, seal = (hashlib.blake2b(text, key=key, digest_size=_SEAL_BYTES).hexdigest() for text in (b"", content))
    return f"{tag}.{seal}"


def has_changed(earlier: str, now: str) -> bool:
    """Return whether two seals show that the values have changed; False if their secrets differ or one is empty.

    Examples:
        >>> has_changed("ann.1f", "ann.2e"), has_changed("ann.1f", "bob.2e"), has_changed("", "ann.2e")
        (True, False, False)
    """
    return earlier != now and bool(earlier) and earlier.partition(".")[0] == now.partition(".")[0]


def check_values(scope: Scope, *, is_changed: bool, party: str) -> None:
    """Raise ConfigurationError if the person's values have changed since the report. The message shows no value.

    Examples:
        >>> check_values(Scope("game", "winter", law=()), is_changed=True, party="ann")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: what ann holds is 'changed'. Make it as it was when ...
    """
    allowed = f"as it was when {party} first took part in {scope}: a changed one needs a new {scope.kind}"
    refuse(is_changed, f"what {party} holds", "changed", allowed)


def check_kept_names(reports: Mapping[str, object], scopes: Mapping[str, Scope | None]) -> None:
    """Raise ConfigurationError for memoized reports of phases without memoization.

    Examples:
        >>> check_kept_names({"opinions": ()}, {"opinions": None})
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: kept is ...: use a phase that keeps its reports
    """
    for name in reports:
        is_kept = scopes.get(name) is not None
        require(is_kept, "kept", f"a report of phase {name!r}", "a phase that keeps its reports")
