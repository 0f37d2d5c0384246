"""No phase of any registered protocol may state less than it draws: for everybody, or for one public row.

Each statement of each phase (`losses`, `losses_of`, `loss_groups`) is brought down to a share of what it is, and every
path refuses it by the name `losses` before anything is charged or drawn. Unchanged, none is refused: `test_protocols`
has that among the promises of every protocol.
"""

import collections
import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

import msgspec
import pytest
from helpers import SERVER, Session
from hypothesis import assume, given
from hypothesis import strategies as st
from psephos.protocol import ConfigurationError, Phase, run_population
from psephos.protocol.arrays import IntArray
from psephos.protocol.effects import Fail, Send
from psephos.protocol.messages import Abort, Welcome
from psephos.protocol.population import run_batches
from psephos.protocol.privacy import LedgerEntry, PrivacyLoss, PureMechanism
from psephos.scenarios.running.record import SessionObservers
from psephos.scenarios.running.session import run_arrays
from psephos.scenarios.system import protocol_names
from strategies import CHECKED, crowd_sessions, fair_sessions, preference_sessions, quizzes, sessions

Losses = tuple[PrivacyLoss, ...]

SESSIONS: dict[str, st.SearchStrategy[Session]] = {
    "dpwevote": sessions(),
    "truth-discovery": crowd_sessions(),
    "moral-preferences": preference_sessions(),
    "fair-voting": fair_sessions(),
    "quiz": quizzes(),
}
SHARES = st.sampled_from([0.1, 0.5, 0.99, 1 - 1e-6])
every_protocol = pytest.mark.parametrize("name", SESSIONS)


def share_of(losses: Sequence[PrivacyLoss], share: float) -> Losses:
    return tuple(
        msgspec.structs.replace(loss, event=PureMechanism(loss.proven * share), proven=loss.proven * share, part=None)
        for loss in losses
    )


@contextlib.contextmanager
def stating(phase: Phase, share: float, *, where: Callable[[Sequence[int]], bool]) -> Generator[None]:
    """Let a phase state a share of what the persons of these public rows pay, on every path.

    Groups of losses are those of single rows then, since one of many is changed.
    """
    losses_of = phase.losses_of

    def changed(public: Sequence[int]) -> Losses:
        return share_of(losses_of(public), share) if where(public) else losses_of(public)

    def groups(public: IntArray) -> list[tuple[str, int, Losses]]:
        numbers = collections.Counter(changed(row) for row in public.tolist())
        return [(f"group {place}", number, losses) for place, (losses, number) in enumerate(numbers.items())]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phase, "losses_of", changed)
        patch.setattr(phase, "loss_groups", groups)
        yield


def drawn(draw: Callable[[st.SearchStrategy[Any]], Any], name: str) -> tuple[Session, Phase, int]:
    """Return a session, one of its phases, and the place of somebody who pays there."""
    session: Session = draw(SESSIONS[name])
    phase: Phase = draw(st.sampled_from(session.protocol.phases))
    rows: list[list[int]] = session.inputs.public.tolist()
    paying = [place for place, row in enumerate(rows) if sum(loss.proven for loss in phase.losses_of(row)) > 0]
    assume(paying)
    return session, phase, draw(st.sampled_from(paying))


def test_every_registered_protocol_is_tested_here() -> None:
    assert set(SESSIONS) == {*protocol_names(), "quiz"}


@every_protocol
@CHECKED
@given(st.data(), SHARES, st.sampled_from(["everybody", "one row"]))
def test_a_server_and_the_array_paths_refuse_it_before_anything_is_drawn(
    name: str, data: st.DataObject, share: float, who: str
) -> None:
    session, phase, place = drawn(data.draw, name)
    rows: list[list[int]] = session.inputs.public.tolist()
    entries: list[LedgerEntry] = []
    paths: list[Callable[[], object]] = [
        session.server,
        lambda: run_population(session.protocol, session.inputs, noise=session.fresh_noise()),
        lambda: run_arrays(
            session.protocol,
            inputs=session.inputs,
            noise=session.fresh_noise(),
            observers=SessionObservers(entries=entries),
        ),
    ]
    paths.append(lambda: run_batches(session.protocol, [session.inputs], noise=session.fresh_noise()))
    with stating(phase, share, where=lambda row: who == "everybody" or list(row) == rows[place]):
        for path in paths:
            with pytest.raises(ConfigurationError, match=f"at least what phase {phase.name!r} draws") as caught:
                path()
            assert caught.value.field == "losses"
            stated: Any = caught.value.value
            least = float(caught.value.allowed.rpartition(" (less")[0].rsplit(" ", 1)[1])
            assert stated < least * (1 + 1e-5)  # of which six digits are shown
            assert stated == pytest.approx(share * least, rel=1e-5)
    assert entries == []
    assert session.noise.draws == []


@every_protocol
@CHECKED
@given(st.data(), SHARES, st.sampled_from(["everybody", "one row"]))
def test_a_client_refuses_it_before_it_reserves(name: str, data: st.DataObject, share: float, who: str) -> None:
    session, phase, place = drawn(data.draw, name)
    public: list[int] = session.inputs.public[place].tolist()
    party = session.names[place]
    client = session.client(party)
    client.start()
    welcome = Welcome.make(session.protocol, public=public)
    with stating(phase, share, where=lambda row: who == "everybody" or list(row) == public):
        said, failed = client.receive(SERVER, welcome)
    assert said == Send((SERVER,), Abort("the party's protocol states a loss that is not what it draws"))
    assert isinstance(failed, Fail)
    assert isinstance(failed.error, ConfigurationError)
    assert failed.error.field == "losses"
    assert (session.ledgers[party].entries, session.ledgers[party].reserved) == ((), 0.0)
    assert session.noise.draws == []


@every_protocol
@CHECKED
@given(st.data(), SHARES)
def test_losses_that_are_to_cover_everybody_are_refused_as_the_phase_is_made(
    name: str, data: st.DataObject, share: float
) -> None:
    """The whole statement, which a client that knows no public row yet goes by."""
    session: Session = data.draw(SESSIONS[name])
    number = data.draw(st.integers(0, len(session.protocol.phases) - 1))
    made: list[str] = []
    make = Phase.__init__

    def cheaper(phase: Phase, name: str, *, losses: Sequence[PrivacyLoss], **given: Any) -> None:
        given["losses"] = share_of(losses, share) if len(made) == number else losses
        made.append(name)
        make(phase, name, **given)

    protocol = type(session.protocol)(session.protocol.parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Phase, "__init__", cheaper)
        with pytest.raises(ConfigurationError, match=r"at least what phase '.*' draws") as caught:
            _ = protocol.phases
    assert caught.value.field == "losses"


@every_protocol
@CHECKED
@given(st.data())
def test_a_client_whose_row_holds_another_value_than_its_public_row_allows_refuses_that(
    name: str, data: st.DataObject
) -> None:
    session, phase, place = drawn(data.draw, name)
    public: list[int] = session.inputs.public[place].tolist()
    row: list[int] = session.inputs.private[place].tolist()
    client = session.client(session.names[place])
    client.start()

    def held(_public: Sequence[int]) -> list[list[int]]:
        return [[value + 1] for value in row[phase.columns]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(phase, "values_of", held)
        said, failed = client.receive(SERVER, Welcome.make(session.protocol, public=public))
    assert isinstance(said, Send)
    assert isinstance(said.message, Abort)
    assert "does not fit" in said.message.reason
    assert isinstance(failed, Fail)
    assert session.noise.draws == []
