"""What a coalition saw of a session, from the views of its members or from arrays: the same either way.

An adversary is a function of its coalition's views and of public parameters, never of another party's memory. So a
`CoalitionView` holds everything that an attack may use. It comes from the recorded views of agents, over any transport,
or from the array path, which draws the same reports. All public rows, and the tallies if the server publishes them, are
known to everybody who receives the outcome, and to an outsider (a coalition without members).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import IntArray
from ...protocol.masking import MaskingMove, Survivors
from ...protocol.messages import Release, Report, Request
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.population import draw_for_release, draw_reports, released_tally
from ...protocol.randomness import SimulatedNoise
from ...protocol.roles import Side
from ...protocol.tally import Tally
from ...protocol.views import Happening, Observation, View

_PLAIN = msgspec.msgpack.Decoder(Any)


@dataclasses.dataclass(frozen=True)
class Coalition:
    """Parties that pool their views: increasing roster indices of clients, and whether the server is a member.

    Examples:
        >>> Coalition((0, 2), has_server=True).members
        (0, 2)
    """

    members: tuple[int, ...]
    has_server: bool

    def __post_init__(self) -> None:
        if list(self.members) != sorted(set(self.members)):
            raise ValueError(f"members are {self.members}: use places in increasing order, each once")


class Background(NamedTuple):
    """A coalition's worst-case knowledge of a masked sum: all private rows, and who is in the sum, shape (n,)."""

    private: IntArray
    is_in: NDArray[np.bool_]


class Ending(NamedTuple):
    """What a session publishes: its phases' outcomes and the release.

    Args:
        outcomes: the published outcome of each phase but the last, as plain data; None if there was none.
        release: the final release; None if the coalition received none.

    Examples:
        >>> Ending().outcomes, Ending().release
        ((), None)
    """

    outcomes: Sequence[Any] = ()
    release: msgspec.Struct | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class CoalitionView:
    """What a coalition saw of one session of n parties.

    Args:
        protocol: the session's protocol.
        coalition: the parties that saw it.
        rows: int64, shape (members, private columns): the members' private rows.
        public: int64, shape (n, public columns): all public rows.
        reports: for each phase int64, shape (n, num_reported): the reports; 0 for parties not in `told`.
        told: for each phase bool, shape (n,): whose reports the coalition saw; only its members' if they are masked.
        totals: each phase's published tally (as in `result.json`); empty if the session did not complete.
        background: what the coalition knows of a masked sum.
        find_ending: returns what was published; called late, since it is slow and most attacks need only totals.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), epsilon=2.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> seen = view_by_server(vote, inputs, noise=SimulatedNoise(7, session="vote"))
        >>> seen.num_parties, seen.coalition.has_server
        (3, True)
    """

    protocol: PhasedProtocol[Any, Any]
    coalition: Coalition
    rows: IntArray
    public: IntArray
    reports: tuple[IntArray, ...]
    told: tuple[NDArray[np.bool_], ...]
    totals: tuple[IntArray, ...] = ()
    background: Background | None = None
    find_ending: Callable[[], Ending] = Ending

    @functools.cached_property
    def _ending(self) -> Ending:
        return self.find_ending()

    @property
    def outcomes(self) -> Sequence[Any]:
        """The published outcomes of phases. See `Ending`."""
        return self._ending.outcomes

    @property
    def release(self) -> msgspec.Struct | None:
        """The final release. See `Ending`."""
        return self._ending.release

    @property
    def num_parties(self) -> int:
        """The number of parties."""
        return len(self.public)


def view_by_arrays(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    noise: SimulatedNoise,
    coalition: Coalition,
    places: Sequence[int] | None = None,
    earlier_reports: dict[str, IntArray] | None = None,
) -> CoalitionView:
    """Return a coalition's view of a session in which everybody follows the protocol, computed without agents.

    Each party's report is the same, whichever other parties are counted.

    Args:
        protocol: the session's protocol.
        inputs: all parties' private and public rows.
        noise: the session's simulated noise.
        coalition: indices among all parties; its members are counted. A coalition without members and server sees only
            what is published.
        places: increasing indices among all parties of those that are counted; by default all.
        earlier_reports: maps each memoizing phase to all parties' reports in earlier sessions; this session's are added
            to it.

    Returns:
        The view of a session of the counted parties only; its indices are among these.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), epsilon=2.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> noise = SimulatedNoise(7, session="vote")
        >>> seen = view_by_arrays(vote, inputs, noise=noise, coalition=Coalition((0,), has_server=False))
        >>> seen.told[0].tolist(), seen.rows.tolist()
        ([True, False, False], [[0, 1, 0]])
    """
    protocol.check_inputs(inputs)
    places = range(len(inputs)) if places is None else places
    if not places or not {*coalition.members} <= {*places}:
        raise ValueError(
            "a member's place is not counted, or no place is: count at least one, and those of all members"
        )
    place_array = np.array(places, dtype=np.int64)
    public = inputs.public[place_array]
    member_indices = [places.index(place) for place in coalition.members]
    is_visible = np.full(len(place_array), coalition.has_server)
    is_visible[member_indices] = True
    drawn_reports = [
        reports[place_array] for reports in draw_all(protocol, inputs, noise=noise, earlier_reports=earlier_reports)
    ]
    tallies = tallies_of(protocol, drawn_reports, public, noise=noise)
    background = None
    if protocol.masked_phase is not None:
        is_visible = np.isin(np.arange(len(place_array)), member_indices)
        background = Background(inputs.private[place_array], np.ones(len(place_array), dtype=np.bool_))
    return CoalitionView(
        protocol=protocol,
        coalition=Coalition(tuple(member_indices), coalition.has_server),
        rows=inputs.private[list(coalition.members)],
        public=public,
        reports=tuple(np.where(is_visible[:, None], reports, 0) for reports in drawn_reports),
        told=(is_visible,) * len(drawn_reports),
        totals=tuple(tally.totals for tally in tallies),
        background=background,
        find_ending=lambda: Ending(_publish_phases(protocol, tallies), protocol.outcome(tallies)),
    )


def tallies_of(
    protocol: PhasedProtocol[Any, Any], reports: Sequence[IntArray], public: IntArray, *, noise: SimulatedNoise
) -> list[Tally]:
    """Return the tally that each phase of a session releases from these reports."""
    tallies: list[Tally] = []
    for number, phase in enumerate(protocol.phases):
        tally = phase.tally(reports[number], earlier=protocol.retained_reports(reports[:number]), public=public)
        tallies.append(released_tally(phase, tally, draw_for_release(noise, protocol=protocol.name, phase=phase)))
    return tallies


def view_by_server(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    noise: SimulatedNoise,
    earlier_reports: dict[str, IntArray] | None = None,
) -> CoalitionView:
    """Return the server's view of reports, without what it publishes: enough for many targets at once.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), epsilon=2.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> seen = view_by_server(vote, inputs, noise=SimulatedNoise(7, session="vote"))
        >>> [reports.shape for reports in seen.reports]
        [(3, 1), (3, 1)]
    """
    reports = tuple(draw_all(protocol, inputs, noise=noise, earlier_reports=earlier_reports))
    return CoalitionView(
        protocol=protocol,
        coalition=Coalition((), has_server=True),
        rows=inputs.private[:0],
        public=inputs.public,
        reports=reports,
        told=(np.ones(len(inputs), dtype=np.bool_),) * len(reports),
        find_ending=lambda: Ending((None,) * (len(reports) - 1)),
    )


def draw_all(
    protocol: PhasedProtocol[Any, Any],
    inputs: Inputs,
    *,
    noise: SimulatedNoise,
    earlier_reports: dict[str, IntArray] | None = None,
) -> list[IntArray]:
    """Return all parties' reports in a session, phase by phase. See `view_by_arrays`.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("tea",), weights=(1, 2), epsilon=2.0))
        >>> inputs = vote.encode({"weight": [1, 2, 1], "tea": [1, 0, 1]})
        >>> [reports.shape for reports in draw_all(vote, inputs, noise=SimulatedNoise(7, session="vote"))]
        [(3, 1), (3, 1)]
    """
    reports_of_phases: list[IntArray] = []
    for phase in protocol.phases:
        reports = None if earlier_reports is None or phase.memo_scope is None else earlier_reports.get(phase.name)
        if reports is None:
            reports = draw_reports(phase, inputs, noise=noise, protocol=protocol.name, start=0)
        if earlier_reports is not None and phase.memo_scope is not None:
            earlier_reports[phase.name] = reports
        reports_of_phases.append(reports)
    return reports_of_phases


def view_by_agents(
    protocol: PhasedProtocol[Any, Any],
    views: Iterable[View],
    *,
    names: Sequence[str],
    public: IntArray,
    coalition: Coalition,
    tallies: Sequence[Tally] = (),
) -> CoalitionView:
    """Return a coalition's view of a session of agents, from its members' views only.

    `tallies` are the phases' published tallies (`SessionRecord.tallies`); empty if the session did not complete.
    """
    members = {names[place] for place in coalition.members}
    view_of_party: dict[str, View] = {}
    server: View | None = None
    width = max(phase.columns.stop for phase in protocol.phases)
    for view in views:
        width = max(width, len(view.private_row))  # the number of columns is public, even without members
        if view.side is Side.SERVER:
            server = view
        elif view.party in members:
            view_of_party[view.party] = view
    if missing := sorted(members - view_of_party.keys()) or (coalition.has_server and server is None and ["server"]):
        raise ValueError(f"the view of {missing[0]} was not recorded")
    gathered = _Gathered(protocol, {name: place for place, name in enumerate(names)}, public)
    if coalition.has_server and server is not None:
        gathered.take(server)
    for view in view_of_party.values():
        gathered.take(view)
    if tallies and not view_of_party and not coalition.has_server:  # a coalition without a view sees what is published
        gathered.read(tallies)
    rows = [view_of_party[names[place]].private_row for place in coalition.members]
    return CoalitionView(
        protocol=protocol,
        coalition=coalition,
        rows=np.array(rows, dtype=np.int64).reshape(len(rows), width),
        public=public,
        reports=tuple(gathered.reports),
        told=tuple(gathered.told),
        totals=tuple(tally.totals for tally in tallies) if gathered.release is not None else (),
        find_ending=lambda: Ending(gathered.outcomes[:-1], gathered.release),
    )


def with_shares(
    coalition_view: CoalitionView, inputs: Inputs, *, noise: SimulatedNoise, views: Iterable[View]
) -> CoalitionView:
    """Return a view of a masked sum, extended by the members' noise shares and the worst-case background.

    The server tells all parties who survived, so any party's view shows it.
    """
    steps, decode = coalition_view.protocol.steps, msgspec.msgpack.Decoder(Survivors).decode
    requests = (each.message for view in views for each in view.observations if isinstance(each.message, Request))
    confirming = (request.payload for request in requests if steps[request.step].move is MaskingMove.CONFIRM)
    is_in = np.isin(np.arange(coalition_view.num_parties), next((decode(payload).places for payload in confirming), ()))
    whole = view_by_arrays(coalition_view.protocol, inputs, noise=noise, coalition=coalition_view.coalition)
    background = Background(inputs.private, is_in)
    return dataclasses.replace(coalition_view, reports=whole.reports, told=whole.told, background=background)


class _Gathered:
    """Accumulates the content of views."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], places: Mapping[str, int], public: IntArray) -> None:
        self._protocol = protocol
        self._places = places
        self._public: list[list[int]] = public.tolist()
        phases = protocol.phases
        self.reports = [np.zeros((len(places), phase.num_reported), dtype=np.int64) for phase in phases]
        self.told = [np.zeros(len(places), dtype=np.bool_) for _ in phases]
        self.outcomes: list[Any] = [None] * len(phases)
        self.release: msgspec.Struct | None = None

    def take(self, view: View) -> None:
        """Add one view."""
        is_server = view.side is Side.SERVER
        for observation in view.observations:
            owner = observation.peer if is_server else view.party
            self._take(observation, self._places.get(owner), is_own=is_server)

    def read(self, tallies: Sequence[Tally]) -> None:
        """Add the reports that follow from published tallies."""
        self.outcomes = [*_publish_phases(self._protocol, tallies), None]
        self.release = self._protocol.outcome(tallies)

    def _take(self, observation: Observation, place: int | None, *, is_own: bool) -> None:
        match observation.message:
            case Report() | Request() if self._protocol.masked_phase is not None:
                pass  # a masked report reveals nothing, and a member knows its row
            case Report(number, payload) if place is not None and number < len(self.reports):
                expected = Happening.RECEIVED if is_own else Happening.SENT
                if observation.happening is expected and not self.told[number][place]:
                    phase = self._protocol.phases[number]
                    try:
                        report = phase.codec.decode(payload)
                        phase.check_report(report, self._public[place])
                    except Exception:  # noqa: BLE001  plugin code may raise anything; the server drops the sender
                        return  # no honest party sends a report that is refused
                    self.reports[number][place] = report
                    self.told[number][place] = True
            case Request(number, payload) if 0 < number <= len(self.outcomes):
                self.outcomes[number - 1] = _PLAIN.decode(payload)
            case Release(payload):
                self.release = self._protocol.outcome_decoder.decode(payload)
            case _:
                pass


def _publish_phases(protocol: PhasedProtocol[Any, Any], tallies: Sequence[Tally]) -> list[Any]:
    """Return the published outcome of each phase but the last, as the plain data that a request carries."""
    outcomes = (phase.outcome(tallies[: number + 1]) for number, phase in enumerate(protocol.phases[:-1]))
    return [_PLAIN.decode(msgspec.msgpack.encode(outcome)) for outcome in outcomes]
