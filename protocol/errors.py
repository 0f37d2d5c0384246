"""The errors of Psephos.

A message names the value, the limit and the party. The same facts are attributes of the error, so that a program need
not parse a sentence. Pure functions raise `ValueError` or `TypeError` for wrong arguments; channels raise trio's
exceptions.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Final

# The most characters quoted from a peer or a file: a sentence with a megabyte could not be sent, or read.
MAX_QUOTED_CHARACTERS = 120
# The least similarity of a suggested word, from 0 to 1; at smaller ones, "cube" would be suggested for "number".
_CLOSE = 0.65
# The most missing parties that a sentence names; the attribute holds all of them.
MAX_NAMES_IN_A_SENTENCE = 12


def printable(text: str) -> str:
    """Return a text with "�" in place of characters that a terminal would interpret.

    These are control characters, including new lines, marks that change the direction of text, and lone surrogates.

    Examples:
        >>> printable("two" + chr(10) + "lines")
        'two�lines'
    """
    return text if text.isprintable() else "".join(character if character.isprintable() else "�" for character in text)


def quote(value: object) -> str:
    """Return `repr(value)`, truncated if it is long, for sentences that quote a peer.

    Examples:
        >>> quote("short"), quote("x" * 500)[-20:]
        ("'short'", '... (502 characters)')
    """
    text = repr(value)
    return text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[:MAX_QUOTED_CHARACTERS]}... ({len(text)} characters)"


def did_you_mean(word: object, words: Iterable[str]) -> str:
    """Return the end of a sentence that suggests the closest known word; empty if none is close.

    Examples:
        >>> did_you_mean("wieghts", ["weights", "opinions"])
        " (did you mean 'weights'?)"
    """
    close = difflib.get_close_matches(word, words, n=1, cutoff=_CLOSE) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""


def join_names(names: Sequence[str], total: int = 0) -> str:
    """Return names as a list in a sentence, a dozen at most.

    Args:
        names: all names, or the first ones.
        total: the number of all names, if it is larger than that of `names`.

    Examples:
        >>> join_names(["ann", "bob"]), join_names([str(number) for number in range(20)])[-14:]
        ('ann, bob', ' 11 and 8 more')
    """
    num_unnamed = max(len(names), total) - min(len(names), MAX_NAMES_IN_A_SENTENCE)
    return ", ".join(names[:MAX_NAMES_IN_A_SENTENCE]) + (f" and {num_unnamed} more" if num_unnamed else "")


def list_choices(choices: Iterable[str], word: object) -> str:
    """List the allowed words, and suggest those that a mistyped word may mean.

    Examples:
        >>> list_choices(["local", "masked"], "maskd")
        "one of local, masked (did you mean 'masked'?)"
    """
    words = tuple(choices)
    hint = "" if word in words else did_you_mean(word, words)  # the search takes milliseconds
    return f"one of {', '.join(words)}{hint}"


class PsephosError(Exception):
    """Base of every error that Psephos raises on purpose.

    Its sentence may quote a peer, and is shown and logged, so it is made `printable` here.

    Examples:
        >>> isinstance(ConfigurationError(field="n", value=0, allowed="positive"), PsephosError)
        True
    """

    def __init__(self, reason: str) -> None:
        super().__init__(printable(reason))


class ProtocolError(PsephosError):
    """A step that the protocol does not allow.

    Attributes:
        role: the side that noticed it ("client" or "server"), or None.
        state: the state of that side, or None.
        message_type: the name of the message concerned, or None.
    """

    def __init__(
        self, reason: str, *, role: str | None = None, state: str | None = None, message_type: str | None = None
    ) -> None:
        super().__init__(reason)
        self.role, self.state, self.message_type = role, state, message_type


class LocalProtocolError(ProtocolError):
    """We were asked for what the protocol forbids: a bug on this side."""


class RemoteProtocolError(ProtocolError):
    """A peer did what the protocol forbids.

    Attributes:
        sender: the peer's name, or None before its Hello.

    Examples:
        >>> error = RemoteProtocolError("p1 sent no report", sender="p1", role="server")
        >>> error.sender, str(error)
        ('p1', 'p1 sent no report')
    """

    def __init__(
        self,
        reason: str,
        *,
        sender: str | None = None,
        role: str | None = None,
        state: str | None = None,
        message_type: str | None = None,
    ) -> None:
        super().__init__(reason, role=role, state=state, message_type=message_type)
        self.sender = sender


class StrangerError(RemoteProtocolError):
    """A peer that did not authenticate as a party. The reply reveals nothing (`messages.Abort.from_error`)."""


class HandshakeError(RemoteProtocolError):
    """A handshake failed: the peer's identity could not be established, or the peer did not accept this side's.

    Its sentence is one of a few, and quotes nothing from the peer, since servers count connections by it.
    """


class BrokenHandshakeError(HandshakeError):
    """A handshake that came to no end, by no certificate's fault: the next one may."""


class MalformedMessageError(RemoteProtocolError):
    """Bytes that are no message, or a payload that its phase did not declare."""


class UnexpectedMessageError(RemoteProtocolError):
    """A well-formed message that has no place in the sender's state."""


class ConflictingReportError(RemoteProtocolError):
    """A second report that differs from the first one of the same phase; the first one stands."""


class QuorumError(PsephosError):
    """A phase closed with fewer reports than its quorum.

    Attributes:
        received: the number of reports when the phase closed.
        required: the quorum.
        missing: the parties without a report, in roster order (a client may know only the first ones).
        num_missing: the number of all parties without a report.
        first_drop: why the first party was dropped or left, as the server knows it; empty if none was, and on a client.

    Examples:
        >>> error = QuorumError(phase="opinions", received=2, required=3, missing=["p2"])
        >>> error.missing
        ('p2',)
        >>> str(error)
        "phase 'opinions' closed with 2 of the 3 parties that its quorum requires; missing: p2"
    """

    def __init__(
        self,
        *,
        phase: str,
        received: int,
        required: int,
        missing: Sequence[str],
        num_missing: int | None = None,
        first_drop: str = "",
    ) -> None:
        self.phase, self.received, self.required, self.first_drop = phase, received, required, first_drop
        self.missing = tuple(missing)
        self.num_missing = max(len(self.missing), num_missing or 0)  # a peer's numbers need not be consistent
        dropped = f"; the first is out because {first_drop}" if first_drop else ""
        # A phase closes before its deadline once its quorum is out of reach.
        ending = "; the others were no longer waited for" if received + self.num_missing < required else ""
        super().__init__(
            f"phase {phase!r} closed with {received} of the {required} parties that its quorum requires; "
            f"missing: {join_names(self.missing, self.num_missing)}{dropped}{ending}"
        )


class SessionAborted(PsephosError):  # noqa: N818  an ending that a party chose, rather than a fault
    """A party ended the session.

    Attributes:
        reason: its reason.
        by: its name.

    Examples:
        >>> error = SessionAborted(reason="not today", by="p1")
        >>> error.by, str(error)
        ('p1', 'p1 ended the session: not today')
    """

    def __init__(self, *, reason: str, by: str) -> None:
        self.reason, self.by = printable(reason), by
        super().__init__(f"{by} ended the session: {reason}")


class ConnectionLostError(SessionAborted):
    """The connection to the server was lost before the release: a party with a journal may come back."""


class JournalError(PsephosError):
    """A journal that cannot be read or written, or that belongs to something else.

    Attributes:
        path: the path of the journal's file; empty if it is no file.
        reason: the problem, and what to do.

    Examples:
        >>> str(JournalError("does not exist", path="p1.journal"))
        'the journal p1.journal does not exist'
    """

    def __init__(self, reason: str, *, path: str = "") -> None:
        self.path, self.reason = path, printable(reason)
        super().__init__(f"the journal {path} {reason}" if path else f"the journal {reason}")


class JournalInUseError(JournalError):
    """A journal that another process has open."""


class UnheardError(PsephosError):
    """A session whose release no party received.

    Attributes:
        role: the protocol's word for a party.
        num_parties: the number of parties.
        first: why the first party did not receive it; empty if unknown.
    """

    def __init__(self, *, role: str, num_parties: int, first: str = "") -> None:
        self.role, self.num_parties, self.first = role, num_parties, first
        because = f"; the first did not hear it because {first}" if first else ""
        super().__init__(f"the outcome was told to 0 {role}s of {num_parties}{because}")


class PluginError(PsephosError):
    """The code of a protocol, transport or role raised an exception, or breaks its contract.

    This covers the protocols of Psephos and of others. The exception is the cause (`__cause__`).

    Attributes:
        plugin: kind and name of the plug-in, such as "protocol 'mean'".
        step: the operation that failed, such as "outcome".
        reason: the problem.
        place: file and line in the plug-in's code; empty if it raised nothing.

    Examples:
        >>> error = PluginError(plugin="protocol 'mean'", step="outcome", reason="ZeroDivisionError")
        >>> error.public_message
        "protocol 'mean' failed in outcome"
    """

    def __init__(self, *, plugin: str, step: str, reason: str, place: str = "") -> None:
        self.plugin, self.step, self.reason, self.place = plugin, step, reason, place
        PsephosError.__init__(self, f"{plugin} failed in {step}: {reason}" + (f" ({place})" if place else ""))

    @property
    def public_message(self) -> str:
        """The message for other parties: without the reason, which may quote a value, or files of this machine."""
        return f"{self.plugin} failed in {self.step}"


class PrivacyError(PsephosError):
    """A privacy loss that may not, or cannot, be charged."""


class RefutedLedgerError(PrivacyError):
    """An exact attack learns more than the proven loss in a ledger allows.

    Attributes:
        adversary: the adversary, as a phrase.
    """

    def __init__(self, adversary: str) -> None:
        self.adversary = adversary
        super().__init__(f"this ledger is refuted: {adversary} learnt more than it says is proven")


class BudgetExceededError(PrivacyError):
    """A loss exceeds the remaining budget; raised before anything is drawn.

    Attributes:
        requested: the proven loss of the request (ε, in nats).
        remaining: the remaining budget (ε, in nats).
        unit: the unit of protection of the request.
        relation: the neighboring relation of the budget; empty if unknown.
        cap: the budget that is exceeded: that of the `person`, or that of one `datum`.
        least: the least total budget that would admit the request, given all that was spent; 0 if unknown.

    Examples:
        >>> error = BudgetExceededError(requested=0.5, remaining=0.25, unit="vote")
        >>> error.requested, error.remaining
        (0.5, 0.25)
    """

    def __init__(
        self,
        *,
        requested: float,
        remaining: float,
        unit: str,
        relation: str = "",
        cap: str = "person",
        least: float = 0.0,
    ) -> None:
        self.requested, self.remaining, self.unit, self.relation = requested, remaining, unit, relation
        self.cap, self.least = cap, least
        holds, asks, hint = f"{remaining:g}", f"{requested:g}", ""
        if holds == asks:  # the float 0.1 is slightly more than a tenth, so ten such losses exceed 1
            holds, asks = repr(remaining), repr(requested)
            hint = f"; a budget of {least!r} would hold it" if least else ""
        neighbors, owner = f", {relation} neighbors" if relation else "", " of one datum" if cap == "datum" else ""
        super().__init__(
            f"the privacy budget{owner} holds epsilon = {holds}, requested {asks} "
            f"(unit: {unit}{neighbors}){hint}; nothing was drawn"
        )


class UnsupportedEventError(PrivacyError):
    """An accountant cannot bound this event under its neighboring relation.

    Attributes:
        event: the event that cannot be bounded; the innermost one of nested events.
        accountant: the accountant's name.
    """

    def __init__(self, *, event: object, accountant: str, reason: str) -> None:
        self.event, self.accountant = event, accountant
        super().__init__(f"{accountant} cannot account for {event!r}: {reason}")


_VERBS: Final = "set|name|call|explain|confirm|register|describe|answer|read|enroll"
_ADJECTIVES: Final = (
    "larger|smaller|greater|fewer|more|shorter|finite|even|rising|increasing|decreasing|ascending|distinct(?=,)|noisy|public|private|strict|"
    "small enough|like|unlike|such|so|as|not|within|beside|of|for|from|in"
)
_SENTENCES: Final = (
    (r"(?=[A-Z][a-z]* (?s:.*)[.?](?:\W|$))", r"{field}: "),  # a sentence of its own
    (r"left out \((did you mean .*\?)\)$", r"{field} ({0})"),
    (r"left out", r"leave out {field}"),
    (r"given one (?:of them )?(alone|at a time)", r"give one of {field} {0}"),
    (r"given", r"give {field}"),
    (r"without the unknown key ", r"{field} has no key "),
    (r"with the required key ", r"{field} needs the key "),
    (
        r"a column of ([^:]*\.\w+): ([^;]*?)( \(did you mean .*\?\)|)$",
        r"{field}: {0} has no column {value}{2}; it has {1}",
    ),
    (r"a readable [^()]*\(No such file or directory\)(.*)$", r"{field}: There is no file {value}{0}. Check its name."),
    (
        r"the folder of a run \(No such file or directory\)(.*)$",
        r"{field}: There is no folder {value}{0}. Check its name.",
    ),
    (
        r"the folder of a run \(No such file or directory: (.*)\)$",
        r"{field}: There is no {0}. Name the folder of a run, such as one in runs/.",
    ),
    (r"the folder of a run \(Not a directory\)$", r"{field}: {value} is a file. Name the folder of a run."),
    (r"the folder of a run \((.*)\)$", r"{field} is not the folder of a run: {value} ({0})"),
    (r"the folder of a run: this one ", r"{field} is not the folder of a run: {value} "),
    (r"an invitation \((.*)\)$", r"{field} is not an invitation: {value} ({0})"),
    (r"a column of the table", r"the table has no column {field}"),
    (r"a column of each file", r"{field} is missing: give each file one"),
    (
        r"a column of (.*), or named by (\S+)( \(did you mean .*\?\)|)$",
        r"{field} is missing{2}: there are {0}. Name yours by {1}",
    ),
    (r"(a number|a text|true or false|bytes)(?=, as in )", r"{field} holds {value} in each row, and needs {0}"),
    (r"read at once: ", r"{field} are streamed: use ones that are read at once, since "),
    (r"a readable ([^()]*) \(", r"{field}: {value} is no readable {0} ("),
    (
        r"(?:a )?well-formed CSV(?: file)? \((.*)\)$",
        r"{field} is no well-formed CSV ({0}). Is a quotation mark missing?",
    ),
    (r"a header of distinct, non-empty names", r"{field} has {value}: give each column a name of its own"),
    (r"unlike (.*), but for case and blanks", r"{field}: {value} and {0} differ in case or blanks alone"),
    (r"distinct names(?= of)", r"one of {field} is {value}: use distinct names"),
    (r"described by (all of .*, and by nothing else)$", r"{field} has no {value}: describe it by {0}"),
    (r"described by (all of .* alone)$", r"{field} has {value}: describe it by {0}"),
    (r"named once\b", r"{field}: {value} is named twice"),
    (r"a file that can be written \((.*)\)$", r"{field}: {value} cannot be written ({0})"),
    (r"a folder to write to[^(]*\((.*)\)$", r"{field}: nothing can be written into {value} ({0})"),
    (r"a new file(?=$|,)", r"{field}: {value} is there already. Name a new file"),
    (r"a table(?: with[^:]*)?: ", r"{field} is no table: "),
    (r"each of ", r"{field} is {value}: write each of "),
    (r"well-formed \(", r"{field} {value} is not well-formed ("),
    (r"UTF-8 text ", r"{field} is not UTF-8 text "),
    (r"text without NUL bytes$", r"{field} is no text (it has NUL bytes): save the file as CSV (UTF-8), and name that"),
    (r"a header with the column ('[^']*')(.*)$", r"{field} has no column {0}{1}; it has {value}"),
    (r"one of ((?:[^,]*, ){30,}.*) \((did you mean .*\?)\)$", r"{field} {value} is unknown: {1}"),
    (r"(one of .*) \((did you mean .*\?)\)$", r"{field} {value} is unknown: {1} Use {0}"),
    (r"an integer in \[([^],]*), ([^])]*)\]", r"{field} is {value}: use an integer from {0} to {1}"),
    (r"(?:a number )?in \[([^],]*), ([^])]*)\]", r"{field} is {value}: use a value from {0} to {1}"),
    (r"(?:a number )?in \[([^],]*), ([^])]*)\)", r"{field} is {value}: use a value of at least {0} and below {1}"),
    (r"(?:a number )?in \(([^],]*), ([^])]*)\]", r"{field} is {value}: use a value above {0}, up to {1}"),
    (r"(?:a number )?in \(([^],]*), ([^])]*)\)", r"{field} is {value}: use a value above {0} and below {1}"),
    (r"positive( and finite)?$", r"{field} is {value}: use a positive value"),
    (r"(above|below|[<>]=?)(?= )", r"{field} is {value}: use a value {0}"),
    (r"(\d+ entries)\b", r"{field} has {value}, and needs {0}"),
    (r"from (\S+) to\b", r"{field} is {value}: use a value from {0} to"),
    (r"('[^']*')(?! or left out)(?=[ ,:]|$)", r"{field} is {value}: use {0}"),
    (r"(with(?:out)?) ", r"{field} is {value}: use one {0} "),
    (rf"({_VERBS})(?:e?d)?(?=[ ,:])", r"{field} is {value}: {0} it"),
    (rf"(?=(?:{_ADJECTIVES})(?!\w))", r"{field} is {value}. Make it "),
)
"""Patterns of the beginning of `allowed`, and the beginning of the sentence for each."""
_LACKING: Final = {
    "''": "empty",
    "'left out'": "missing",
    "'negative'": "negative",
    "'nothing'": "nothing",
    "[]": "none",
}
_DESCRIPTION: Final = re.compile(
    r"'(?:\d[\d,]* [a-z ]+|\d+ lines?, \d+ of them chosen.*|"
    r"an? (?:header alone|empty file|array of .*|sum of .*|singular matrix|str|list|dict)|"
    r"an? (?:int|float|bool|NoneType|tuple|number|text|entry of a CSV)|true or false|"
    r"no rows|(?:columns|lists) of different length|shape \(.*|rows of .*)'"
)


def _sentence(field: str, value: str, allowed: str) -> str:
    before, separator, field = field.rpartition(": ")
    if _DESCRIPTION.fullmatch(value):
        value = re.sub(r"^1 (.*)s$", r"1 \1", value[1:-1])
        value = re.sub(r"^a (?=[aeio])", "an ", value)
    value = _LACKING.get(value, value)
    sentence, ending = f"{field} is {value}: use ", allowed
    for pattern, form in _SENTENCES:
        if match := re.match(pattern, allowed):
            sentence, ending = form.format(*match.groups(), field=field, value=value), allowed[match.end() :]
            break
    is_list = value[0] in "[("
    several = field if is_list else field.partition(" (")[0]
    if (several.endswith("s") and (is_list or re.match(r"\d[\d,]* \w+s\b", value))) or (is_list and ", " in several):
        sentence = sentence.replace(f" is {value}", f" are {value}").replace(". Make it ", ". Make them ")
    return before + separator + re.sub(r"\b1 entr(ie|ies)\b", "1 entry", sentence + ending)


class ConfigurationError(PsephosError, ValueError):
    """A setting that is not allowed.

    Attributes:
        field: the setting's name.
        value: the value.
        allowed: the allowed values, as a phrase.

    Examples:
        >>> raise ConfigurationError(field="epsilon", value=-1.0, allowed="positive")
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: epsilon is -1.0: use a positive value
    """

    def __init__(self, *, field: str, value: object, allowed: str) -> None:
        self.field, self.value, self.allowed = field, value, allowed
        PsephosError.__init__(self, _sentence(field, quote(value), allowed))


def require(condition: object, field: str, value: object, allowed: str) -> None:
    """Raise ConfigurationError, of these, unless something holds."""
    if not condition:
        raise ConfigurationError(field=field, value=value, allowed=allowed)


def refuse(condition: object, field: str, value: object, allowed: str) -> None:
    """Raise ConfigurationError, of these, if something holds; of what is no number, no comparison does."""
    if condition:
        raise ConfigurationError(field=field, value=value, allowed=allowed)


class UnusablePluginError(PluginError, ConfigurationError):
    """A plug-in failed before a session began: in its import, its constructor, or with its parameters and entries.

    Attributes:
        plugin, step, reason, place: see `PluginError`.
        field, value, allowed: see `ConfigurationError`.
    """

    def __init__(
        self,
        *,
        plugin: str,
        step: str,
        reason: str,
        place: str = "",
        field: str = "",
        value: object = None,
        allowed: str = "",
    ) -> None:
        PluginError.__init__(self, plugin=plugin, step=step, reason=reason, place=place)
        if allowed:  # the value may be to blame instead of the plug-in, so the sentence is about the value
            ConfigurationError.__init__(self, field=field, value=value, allowed=allowed)
        else:
            self.field, self.value, self.allowed = plugin, reason, f"one whose {step} does not fail"
