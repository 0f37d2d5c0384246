"""Who comes back to a session: whose connection was lost before anything of it was counted, and nobody else.

A model that knows nothing of rows and tables keeps account of a session's parties beside the machine, over whatever
Hypothesis lets happen: whom the server waits for, when a phase closes, and what was counted.
"""

import dataclasses
from typing import Literal, get_args

import pytest
from helpers import (
    Session,
    failure_of,
    hello,
    make_inputs,
    make_names,
    messages_of,
    raw,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lone_machines import TWO_OF_THREE, VOTE, join, opinion_report, weight_report
from psephos.protocol import (
    JOIN,
    MalformedMessageError,
    QuorumError,
    RemoteProtocolError,
    ServerMachine,
    SessionResult,
    SessionRules,
    UnexpectedMessageError,
)
from psephos.protocol.effects import Attended, Closed, Effect, Finish, Presence, Send
from psephos.protocol.messages import PROTOCOL_VERSION, Abort, Inquiry, Message, Report, Request, Terms, Welcome
from psephos.protocol.states import SESSION, SessionState, State
from psephos.protocol.views import View
from strategies import CHECKED
from thoroughness import draws

OWN = tuple(f"{place}c" * 32 for place in range(3))
NAMES = make_names(3)


def make_server(
    *, rules: SessionRules = TWO_OF_THREE, with_certificates: bool = False, view: View | None = None
) -> ServerMachine:
    """Return a server of three that waits for its roster."""
    session = Session(VOTE, make_inputs(VOTE, 3), rules=rules, fingerprints=OWN if with_certificates else None)
    server = session.server(view)
    server.start()
    return server


# Coming back


def test_a_party_that_is_lost_in_the_first_phase_may_come_back_while_it_is_open() -> None:
    server = make_server()
    join(server, *NAMES)
    assert server.receive_loss("p0") == [Attended("p0", Presence.LOST)]
    assert server.progress == ("weights", 0, 2)
    server.admit(hello("p0"))
    assert join(server, "p0") == [
        Attended("p0", Presence.RETURNED),
        Send(("p0",), Welcome.make(VOTE)),
        Send(("p0",), Request(0, raw(None))),
    ]
    assert server.progress == ("weights", 0, 3)
    assert server.state_of("p0") is State.ASKED
    for party in NAMES:
        server.receive(party, weight_report())
    assert server.progress == ("opinions", 0, 3)


def test_a_quorum_that_a_loss_puts_out_of_reach_in_the_first_phase_ends_the_session() -> None:
    server = make_server(rules=SessionRules())
    join(server, *NAMES)
    error = failure_of(server.receive_loss("p0"))
    assert isinstance(error, QuorumError)
    assert error.missing == ("p0",)
    with pytest.raises(UnexpectedMessageError, match="session 'spring-ballot' has ended") as caught:
        server.admit(hello("p0"))
    assert caught.value.state == "ended"
    assert server.receive("p0", hello("p0")) == []


def test_a_party_that_has_reported_may_not_come_back_and_its_first_report_stands() -> None:
    server = make_server()
    join(server, *NAMES)
    server.receive("p0", weight_report(2))
    server.receive_loss("p0")
    with pytest.raises(UnexpectedMessageError) as caught:
        server.admit(hello("p0"))
    assert str(caught.value) == "'p0' has reported; its first report stands, and nothing is drawn again"
    assert (caught.value.sender, caught.value.state, caught.value.message_type) == ("p0", "ended", "Hello")
    assert server.receive("p0", hello("p0")) == []
    assert server.receive("p0", weight_report(0)) == []
    assert server.progress == ("weights", 1, 2)
    server.receive("p1", weight_report())
    server.receive("p2", weight_report())
    server.receive("p1", opinion_report())
    (*_, ending) = server.receive("p2", opinion_report())
    assert isinstance(ending, Finish)
    assert isinstance(ending.result, SessionResult)
    assert ending.result.num_received == (3, 2)
    assert ending.result.tallies[0].totals.tolist() == [0, 2, 1]


def test_a_party_that_has_reported_and_is_there_still_has_reported() -> None:
    server = make_server()
    join(server, *NAMES)
    server.receive("p0", weight_report())
    with pytest.raises(UnexpectedMessageError, match="has reported") as caught:
        server.admit(hello("p0"))
    assert caught.value.state == "reported"


@pytest.mark.parametrize("phase", [JOIN, "weights"])
@pytest.mark.parametrize("ending", ["abort", "fault", "drop"])
def test_who_left_on_purpose_or_was_dropped_may_not_come_back(phase: str, ending: str) -> None:
    server = make_server()
    join(server, *(NAMES if phase == "weights" else ["p0"]))
    match ending:
        case "abort":
            server.receive("p0", Abort("not today"))
        case "fault":
            server.receive_fault("p0", MalformedMessageError("noise", sender="p0"))
        case _:
            server.receive("p0", Report(9, raw([0])))
    assert server.receive_loss("p0") == []  # its connection ends as well
    progress = server.progress
    with pytest.raises(UnexpectedMessageError, match="'p0' has joined before"):
        server.admit(hello("p0"))
    assert server.receive("p0", hello("p0")) == []
    assert server.progress == progress


def test_nobody_comes_back_in_another_ones_name() -> None:
    server = make_server()
    join(server, "p0", "p1")
    server.receive_loss("p0")
    assert server.receive("p0", hello("p2")) == []
    assert server.receive("p0", hello("p1")) == []
    assert [server.state_of(name) for name in NAMES] == [State.ENDED, State.JOINED, State.NEW]
    assert server.progress == (JOIN, 1, 2)


@pytest.mark.parametrize(
    "change",
    [{"version": 1}, {"session": "autumn"}, {"protocol": "moral"}, {"kind": "deployment"}, {"session_id": "another"}],
)
def test_who_comes_back_is_checked_like_who_comes(change: dict[str, object]) -> None:
    server = make_server(with_certificates=True)
    server.receive("p0", hello("p0"))
    server.receive_loss("p0")
    wrong = hello("p0", **change)
    with pytest.raises(RemoteProtocolError):
        server.admit(wrong, fingerprint=OWN[0])
    for fingerprint in ("", OWN[1]):
        with pytest.raises(RemoteProtocolError, match="certificate"):
            server.admit(hello("p0"), fingerprint=fingerprint)
    assert server.receive("p0", wrong) == []
    assert server.progress == (JOIN, 0, 3)
    assert [type(message) for _, message in messages_of(server.receive("p0", hello("p0")))] == [Welcome]


@pytest.mark.parametrize("message", [weight_report(), Abort("enough"), Request(0, raw(None))])
def test_what_was_on_its_way_when_the_connection_was_lost_changes_nothing(message: Message) -> None:
    server = make_server()
    join(server, "p0")
    server.receive_loss("p0")
    assert server.receive("p0", message) == []
    assert server.receive_fault("p0", MalformedMessageError("noise", sender="p0")) == []
    assert server.receive_loss("p0") == []
    assert server.progress == (JOIN, 0, 3)
    server.admit(hello("p0"))


# Terms, and certificates


def test_an_inquiry_is_answered_with_what_the_party_would_take_part_in() -> None:
    server = make_server(with_certificates=True)
    expected = Terms(PROTOCOL_VERSION, "spring-ballot", "dpwevote", "simulation", VOTE.encoded_parameters, 2)
    assert server.answer(Inquiry(PROTOCOL_VERSION, "p2"), fingerprint=OWN[2]) == expected
    assert server.state_of("p2") is State.NEW
    assert server.progress == (JOIN, 0, 3)


@pytest.mark.parametrize(
    ("inquiry", "fingerprint", "reason"),
    [
        (Inquiry(1, "p0"), OWN[0], f"the server's version is {PROTOCOL_VERSION}, 'p0' came with 1"),
        (Inquiry(PROTOCOL_VERSION, "p9"), OWN[0], "'p9' is not on the roster"),
        (Inquiry(PROTOCOL_VERSION, "p0"), "", "'p0' came with no certificate"),
        (Inquiry(PROTOCOL_VERSION, "p0"), OWN[1], "'p0' came with a certificate that is not its own"),
    ],
)
def test_an_inquiry_of_somebody_else_is_refused(inquiry: Inquiry, fingerprint: str, reason: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        make_server(with_certificates=True).answer(inquiry, fingerprint=fingerprint)
    error = caught.value
    assert (str(error), error.sender, error.role, error.message_type) == (reason, inquiry.party, "server", "Inquiry")


@pytest.mark.parametrize("fingerprint", ["", "guess", OWN[1]])
def test_a_hello_by_a_certificate_that_is_not_the_partys_own_is_refused(fingerprint: str) -> None:
    server = make_server(with_certificates=True)
    with pytest.raises(RemoteProtocolError, match="'p0' came with") as caught:
        server.admit(hello("p0"), fingerprint=fingerprint)
    assert (caught.value.sender, caught.value.message_type) == ("p0", "Hello")
    server.admit(hello("p0"), fingerprint=OWN[0])


def test_a_stranger_does_not_learn_whether_a_party_has_reported() -> None:
    server = make_server(with_certificates=True)
    join(server, *NAMES)
    server.receive("p0", weight_report())
    with pytest.raises(RemoteProtocolError, match="'p0' came with no certificate"):
        server.admit(hello("p0"))


# A model of who is waited for and what counts


Kind = Literal["hello", "lose", "abort", "fault", "report", "next report", "bad report", "expire", "expire another"]


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing that happens to the server: what, whose, and with which report (or deadline)."""

    kind: Kind
    place: int = 0
    value: int = 0


def happening(*steps: str) -> list[Step]:
    """Return steps written as what happens and to whom."""
    kinds = {kind: kind for kind in get_args(Kind)}
    return [Step(kinds[kind], int(place)) for kind, place in map(str.split, steps)]


class Model:
    """What a server of any machine must keep, by parties: nothing of rows, tables or running counts.

    Attributes:
        phase: -1 while the parties join, then the open one's number.
        stands: for each party "new", "there", "asked", "reported", "late", "gone" (for good) or "lost".
        reports: for each party, what was accepted of it, by phase.
        closed: for each phase that closed, joining first, the number of those who were in time.
        has_ended: whether the session has.
        is_released: and with its outcome.
    """

    def __init__(self, num_parties: int, required: int, num_phases: int) -> None:
        self.required = required
        self.num_phases = num_phases
        self.phase = -1
        self.stands = ["new"] * num_parties
        self.reports: list[list[int]] = [[] for _ in range(num_parties)]
        self.closed: list[int] = []
        self.has_ended = False
        self.is_released = False

    def admits(self, place: int) -> bool:
        if self.has_ended or self.reports[place]:
            return False
        return self.phase <= {"lost": 0, "new": -1}.get(self.stands[place], -2)

    def in_time(self) -> int:
        if self.phase < 0:
            return self.stands.count("there")
        return sum(len(reports) > self.phase for reports in self.reports)

    def waited_for(self) -> int:
        if self.phase < 0:
            return self.stands.count("new") + self.stands.count("lost")
        return self.stands.count("asked")

    def hello(self, place: int) -> None:
        if self.admits(place):
            self.stands[place] = "there" if self.phase < 0 else "asked"
        elif self.stands[place] != "lost":
            self.leave(place)

    def leave(self, place: int, how: str = "gone") -> None:
        if not self.has_ended and self.stands[place] not in {"gone", "lost"}:
            self.stands[place] = how

    def report(self, place: int, phase: int, value: int) -> None:
        known = self.reports[place]
        stands = self.stands[place]
        if stands in {"late", "gone", "lost"}:
            return
        if stands == "asked" and phase == self.phase and value >= 0:
            known.append(value)
            self.stands[place] = "reported"
        elif not (known and phase == len(known) - 1 and value == known[-1]):
            self.leave(place)

    def settle(self, *, is_late: bool = False) -> None:
        """Close what can be closed; at a deadline, what is open."""
        while not self.has_ended:
            if not is_late and self.waited_for():
                self.has_ended = self.in_time() + self.waited_for() < self.required
                return
            is_late = False
            self.has_ended = self.in_time() < self.required
            if self.has_ended:
                return
            self.closed.append(self.in_time())
            self.phase += 1
            self.stands = ["late" if stands == "asked" else stands for stands in self.stands]
            if self.phase == self.num_phases:
                self.has_ended = self.is_released = True
                return
            may_answer = self.stands.count("there") + self.stands.count("reported")
            self.has_ended = may_answer < self.required
            if not self.has_ended:
                self.stands = ["asked" if stands in {"there", "reported"} else stands for stands in self.stands]


class Both:
    """The machine and the model, step by step."""

    def __init__(self, num_parties: int, required: int) -> None:
        self.names = make_names(num_parties)
        self.session = Session(VOTE, make_inputs(VOTE, num_parties), rules=SessionRules(quorum=required))
        self.server = self.session.server()
        self.server.start()
        self.phases = (JOIN, *(phase.name for phase in VOTE.phases))
        self.model = Model(num_parties, required, len(VOTE.phases))
        self.effects: list[Effect] = []

    def step(self, step: Step) -> None:
        server, model = self.server, self.model
        place = step.place % len(self.names)
        party = self.names[place]
        is_late = False
        match step.kind:
            case "hello":
                assert _admits(server, party) == model.admits(place)
                effects = server.receive(party, hello(party))
                model.hello(place)
            case "lose":
                effects = server.receive_loss(party)
                model.leave(place, "lost")
            case "abort":
                effects = server.receive(party, Abort("enough"))
                model.leave(place)
            case "fault":
                effects = server.receive_fault(party, MalformedMessageError("noise", sender=party))
                model.leave(place)
            case "report" | "next report" | "bad report":
                phase = max(0, model.phase) + (step.kind == "next report")
                value = -1 if step.kind == "bad report" else step.value % 2
                effects = server.receive(party, Report(phase, raw([value] * (phase + 1))))
                model.report(place, phase, value)
            case "expire" | "expire another":
                open_phase = min(model.phase, len(VOTE.phases) - 1) + 1
                number = (open_phase + (step.kind == "expire another") * (1 + step.value % 2)) % len(self.phases)
                effects = server.receive_timeout(self.phases[number])
                is_late = number == open_phase
        model.settle(is_late=is_late)
        self.effects += effects
        self.check()

    def check(self) -> None:
        server, model = self.server, self.model
        assert (not SESSION[server.state]) == model.has_ended
        assert (server.state is SessionState.RELEASED) == model.is_released
        assert [effect.num_received for effect in self.effects if isinstance(effect, Closed)] == model.closed
        if model.has_ended:
            return
        name, received, outstanding = server.progress
        assert (name, received, outstanding) == (
            self.phases[model.phase + 1],
            model.in_time(),
            model.waited_for(),
        )
        assert received is not None
        assert outstanding is not None
        assert outstanding > 0, "nobody is waited for, and yet it waits"
        assert received + outstanding >= model.required, "a quorum is out of reach, and yet it waits"
        for party, stands in zip(self.names, model.stands, strict=True):
            assert server.state_of(party) is STATES[stands]

    def check_result(self) -> None:
        """What was released is the sum of what was accepted, each report once."""
        (ending,) = (effect for effect in self.effects if isinstance(effect, Finish))
        assert isinstance(ending.result, SessionResult)
        weights, ayes = ([reports[phase] for reports in self.model.reports if len(reports) > phase] for phase in (0, 1))
        assert ending.result.num_received == (len(weights), len(ayes))
        first, second = ending.result.tallies
        assert (first.num_reports, first.totals.tolist()) == (
            len(weights),
            [weights.count(group) for group in range(3)],
        )
        assert second.num_reports == len(ayes)


STATES = {
    "new": State.NEW,
    "there": State.JOINED,
    "asked": State.ASKED,
    "reported": State.REPORTED,
    "late": State.LATE,
    "gone": State.ENDED,
    "lost": State.ENDED,
}


def _admits(server: ServerMachine, party: str) -> bool:
    try:
        server.admit(hello(party))
    except RemoteProtocolError:
        return False
    return True


FAIR: tuple[Kind, ...] = ("hello", "report")
KINDS: tuple[Kind, ...] = ("hello", "hello", "report", "report", "lose", *get_args(Kind))
steps = st.lists(st.builds(Step, st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 1)), max_size=40)


@settings(CHECKED, max_examples=draws(40, full=1000))
@given(st.integers(1, 4), st.integers(1, 4), steps)
@example(3, 2, happening("hello 0", "hello 1", "hello 2", "lose 0", "hello 0"))
@example(2, 2, happening("hello 0", "lose 0", "hello 0", "hello 1", "report 0"))
@example(3, 2, happening("hello 0", "hello 1", "lose 0", "hello 2", "hello 0"))
@example(3, 2, happening("hello 0", "hello 1", "lose 0", "hello 2", "expire 0", "hello 0"))
@example(3, 3, happening(*["hello 0", "hello 1", "lose 0", "lose 1"] * 2, "hello 0", "hello 1", "hello 2"))
@example(3, 2, happening("hello 0", "hello 1", "hello 2", "report 1", "report 2", "lose 0", "hello 0"))
@example(3, 2, happening("hello 0", "hello 1", "lose 0", "hello 0", "abort 0", "hello 2"))
@example(3, 2, happening("hello 0", "hello 1", "lose 0", "hello 0", "fault 0", "hello 2"))
@example(3, 2, happening("hello 0", "abort 0", "hello 1", "hello 2"))
@example(3, 2, happening("hello 0", "hello 1", "hello 2", "report 0", "lose 0", "report 1", "report 2"))
def test_a_server_waits_for_exactly_those_who_can_still_answer_and_counts_each_report_once(
    num_parties: int, required: int, drawn: list[Step]
) -> None:
    both = Both(num_parties, min(required, num_parties))
    for step in drawn:
        both.step(step)
    # Whoever is there answers, whoever can comes, and what is left expires.
    while not both.model.has_ended:
        for kind in FAIR:
            for place in range(num_parties):
                if kind == "report" or both.model.admits(place):
                    both.step(Step(kind, place, 1))
        both.step(Step("expire"))
    if both.model.is_released:
        both.check_result()
