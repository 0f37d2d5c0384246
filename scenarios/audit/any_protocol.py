"""Audits of any protocol that provides none: its phases' mechanisms, and whole sessions.

Neighbors are two rows of one party: of the rows that the protocol lists (`PhasedProtocol.possible_entries`), or else of
those that its mechanisms accept (all, if they are few). The audited pair has the greatest loss by the mechanisms' laws,
over all reports if they are few, else over some that are listed and drawn. Without a known law, several pairs are
audited, the extremes of each column, and distinguished by outputs alone.

The bound is compared with the losses that a phase states, and for a session with the party's ledger. In a masked
session the observable is the sum with T − c honest noise shares.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...agents.noise import SecureNoise
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.mechanisms import PostProcessed, RowMechanism
from ...protocol.mechanisms.realized import reports_to_try
from ...protocol.phases import MaskedPhase, Phase, PhasedProtocol
from ...protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss
from ...protocol.tally import Tally
from ..attacks.candidates import CandidateRows, named_rows, sample_rows
from ..reading.conversion import convert
from ..reading.settings import Tables, read_setting, set_value
from ..running.config import load_scenario
from ..running.plugin_errors import blaming
from ..running.resolution import Streamed, resolve
from ..system import find_protocol, protocol_names, systems
from .case import FULL_SAMPLES, Case, LawCheck, OutputSampler, Pair, Source
from .exposed_parts import (
    ExposedPart,
    OwnRelease,
    ReleasedTallies,
    Reported,
    Summed,
    draw_releases,
    greatest_gaps,
    noisy_totals,
)
from .machines import run_by_agents
from .mechanisms.checking import checks_of
from .mechanisms.sampling import secure_draw, simulate_draw
from .observables import Observable, exposure_of_party
from .whole_sessions import AGENT_SHARES, PARTY_SHARES, TWO_PARTY_SHARES, charge, exposure_of_two

_Neighbors: TypeAlias = NDArray[np.bool_]
_MOST_PUBLIC_ROWS: Final = 8  # kinds of public rows that are audited separately
_DRAWS: Final = 64  # reports drawn for each candidate to find the worst pair, in addition to those that are listed
_MOST_PAIRS: Final = 12  # pairs that are distinguished by outputs alone
_SHARE_OF_NUMBER: Final = 0.5
"""Fraction of the requested outputs with secure noise, divided by a report's length: a number takes tens of μs."""
_SHARE_OF_OWN_RELEASES, _SHARE_OF_RELEASES = 0.02, 0.5
"""Fractions of the requested outputs: a phase makes its releases one by one."""
_SHARES: Final[Mapping[Source, int]] = {"simulated": 1_000_000, "secure": 60_000}
"""The number of noise shares drawn for each row of a masked sum, over all of its numbers."""
_REPLACE, _REMOVE = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
_NOBODY: Final = "nobody"
_NO_LAW: Final = "No law is written down: neighbors are told apart by outputs alone."
_NO_SAMPLER: Final = "Deployments have no exact sampler of it, so that simulated noise alone is audited."


def cases_of_protocol(
    protocol: PhasedProtocol[Any, Any], public: IntArray | None = None, *, has_mechanisms: bool = True
) -> list[Case]:
    """Return the audits of a protocol with these parameters, and if requested of its mechanisms separately.

    Public rows have shape (n, public columns); by default they are those of the candidates.

    Raises:
        ConfigurationError: public rows are missing; no party has more than one possible row; or the protocol states no
            loss for what a party, or a trusted server, sends.
    """
    cases: list[Case] = []
    candidate_rows = named_rows(protocol)
    kinds, note = _kinds_of(protocol, candidate_rows, public)
    for kind in kinds:
        candidates = candidate_rows or sample_rows(protocol, kind)
        if len(candidates.rows) < 2:  # noqa: PLR2004  a public row that leaves nothing to tell
            continue
        suffix = f", public row ({', '.join(map(str, kind))})" if len(kinds) > 1 else ""
        audited_protocol = _Audited(protocol, candidates, kind, suffix, note)
        cases += [*(audited_protocol.mechanism_cases() if has_mechanisms else ()), *audited_protocol.session_cases()]
    allowed = "one with a loss for replace-one neighbors in the local model, or for any in the central one"
    require(cases, "protocol", protocol.name, f"{allowed}, and two rows that are neighbors")
    return cases


def cases_of_scenario(source: str, settings: Sequence[str] = (), *, data: str = "") -> list[Case]:
    """Return the audits of a scenario's protocol, or of a registered protocol by its name.

    For a name, `settings` are the protocol's parameters. For a scenario they may be any of its values, and its parties'
    public rows are audited.

    Raises:
        ConfigurationError: a value is not allowed, or the protocol's system has its own audits; also as
            `cases_of_protocol`.
    """
    if source in protocol_names():
        kind, public = find_protocol(source), None
        tables: Tables = {"parameters": {}}
        for setting in settings:
            key, value = read_setting(setting)
            set_value(tables, key, value, own_keys=(), parameters=kind.parameters_type.__struct_fields__, parties="")
        with blaming(kind):
            protocol = kind(convert(tables["parameters"], kind.parameters_type, "parameters"))
    else:
        scenario = load_scenario(source, [*settings, "adversary=[]", "noise=simulated", "transport=array"])
        resolved_scenario = resolve(msgspec.structs.replace(scenario, data=data) if data else scenario)
        protocol, public = (
            resolved_scenario.protocol,
            None if isinstance(resolved_scenario, Streamed) else resolved_scenario.inputs.public,
        )
    system = systems().get(protocol.name)
    allowed = f"The protocol of this scenario has audits of its own. Run them: psephos audit {protocol.name}"
    refuse(system is not None and system.session_cases, "scenario", source, allowed)
    with blaming(type(protocol)):
        return cases_of_protocol(protocol, public, has_mechanisms=system is None or not system.mechanism_cases)


def _kinds_of(
    protocol: PhasedProtocol[Any, Any], candidate_rows: CandidateRows | None, public: IntArray | None
) -> tuple[list[list[int]], str]:
    """Return the public rows that are audited, and a sentence if others are not."""
    if public is None and candidate_rows is not None:
        public = candidate_rows.public
    if public is None:
        if names := [column.name for column in protocol.columns() if not column.private]:
            allowed = "given by a scenario with parties, or by the protocol's method possible_entries()"
            raise ConfigurationError(field="public columns", value=names, allowed=allowed)
        return [[]], ""
    kinds: list[list[int]] = np.unique(public, axis=0).tolist()
    if len(kinds) <= _MOST_PUBLIC_ROWS:
        return kinds, ""
    places = np.linspace(0, len(kinds) - 1, _MOST_PUBLIC_ROWS).round().astype(int).tolist()
    return [kinds[place] for place in places], f"Of {len(kinds):,} kinds of public rows {len(places)} are audited."


@dataclasses.dataclass(frozen=True)
class _Audited:
    """A party's public row, its candidate private rows, and a suffix for the names of its cases."""

    protocol: PhasedProtocol[Any, Any]
    candidates: CandidateRows
    public: Sequence[int]
    suffix: str
    note: str

    def mechanism_cases(self) -> Iterator[Case]:
        """Yield an audit of each phase's randomizer."""
        for phase in self.protocol.phases:
            losses = [loss for loss in phase.losses_of(self.public) if _is_of(loss, _REPLACE, bounds_release=False)]
            values, firsts = np.unique(self.candidates.rows[:, phase.columns], axis=0, return_index=True)
            if not losses or len(values) < 2 or phase.model.bounds_release:  # noqa: PLR2004  two neighbors
                continue
            mechanism = phase.mechanism_of(self.public)
            places: list[int] = firsts.tolist()
            rows, names = self.candidates.rows[places], [self.candidates.labels[place] for place in places]
            part = Reported(self.protocol, phase, rows, self.public)
            secure = (
                functools.partial(_draw_candidate_securely, mechanism, part.values) if _has_sampler(mechanism) else None
            )
            yield from self._case(
                f"phase {phase.name!r} alone",
                functools.partial(Observable, (part,), 1, secure=secure),
                losses,
                names=names,
                are_neighbors=self._neighbors_in_phase(phase, rows),
                secure_share=min(1.0, _SHARE_OF_NUMBER / phase.num_values),
                law_checks=functools.partial(_checks, mechanism, values, is_secure=secure is not None),
            )

    def session_cases(self) -> Iterator[Case]:
        """Yield audits of all that leaves the party in one session, in two, and with another party; then releases."""
        protocol, public, rows = self.protocol, self.public, self.candidates.rows
        if protocol.masked_phase is not None:
            yield from self._sum_cases(protocol.masked_phase)
            return
        entries = {number: charge(protocol, rows[0].tolist(), public, num_sessions=number) for number in (1, 2)}
        local = {
            number: [entry for entry in each if _is_of(entry, _REPLACE, bounds_release=False)]
            for number, each in entries.items()
        }
        is_secure = all(_has_sampler(phase.mechanism_of(public)) for phase in protocol.phases)
        are_neighbors = np.ones((len(rows), len(rows)), dtype=np.bool_)
        for phase in protocol.phases:
            are_neighbors &= self._neighbors_in_phase(phase, rows)

        def exposed(make: Callable[[], Observable]) -> Observable:
            return make() if is_secure else dataclasses.replace(make(), secure=None)

        party = functools.partial(exposure_of_party, protocol, rows, public)
        two = functools.partial(exposure_of_two, protocol, rows, public, (rows[-1], public))
        by_two_agents = functools.partial(two, simulated=run_by_agents, secure=run_by_agents)
        makers: list[tuple[str, int, Callable[[], Observable], tuple[float, float]]] = [
            ("whole session", 1, functools.partial(party, num_sessions=1), PARTY_SHARES),
            ("whole session, twice", 2, functools.partial(party, num_sessions=2), PARTY_SHARES),
            ("two parties", 1, two, TWO_PARTY_SHARES),
            ("two parties among agents", 1, by_two_agents, AGENT_SHARES),
        ]
        for name, number, make, shares in makers if local[1] and not protocol.model.bounds_release else ():
            yield from self._case(
                name,
                functools.partial(exposed, make),
                local[number],
                names=self.candidates.labels,
                are_neighbors=are_neighbors,
                share=shares[0],
                secure_share=shares[1],
            )
        for phase in protocol.phases:
            if phase.tally_mechanism is not None:
                yield from self._release_cases(phase, [entry for entry in entries[1] if entry.phase == phase.name])

    def _sum_cases(self, phase: MaskedPhase) -> Iterator[Case]:
        """Yield audits of a masked sum, against an adversary that knows all other rows and c parties' shares."""
        part = Summed(self.protocol, phase, self.candidates.rows, self.public)
        of_sums = (
            (source, part.most_outputs(max_shares) / FULL_SAMPLES[source]) for source, max_shares in _SHARES.items()
        )
        shares = {source: min(share, 1.0) for source, share in of_sums}
        yield from self._case(
            f"sum of phase {phase.name!r}",
            functools.partial(Observable, (part,), 1, secure=part.draw_securely if _has_sampler(phase.share) else None),
            [loss for loss in phase.losses_of(self.public) if loss.relation is _REPLACE],
            names=self.candidates.labels,
            are_neighbors=self._neighbors_in_phase(phase, self.candidates.rows),
            share=shares["simulated"],
            secure_share=shares["secure"],
        )

    def _release_cases(self, phase: Phase, entries: Sequence[LedgerEntry]) -> Iterator[Case]:
        """Yield audits of a trusted server's release with one party's report, or with no report."""
        rows, labels = self.candidates.rows, (*self.candidates.labels, _NOBODY)
        tallies = [*(self._tally(phase, row[None, :]) for row in rows), self._tally(phase, rows[:0])]
        totals = np.stack([noisy_totals(phase, tally) for tally in tallies])
        is_there = np.arange(len(totals)) < len(rows)
        is_own = phase.makes_own_release
        part = (OwnRelease if is_own else ReleasedTallies)(self.protocol, phase, tallies)

        def sampler(candidate: int, side: int) -> OutputSampler:
            del side
            return lambda number, _: draw_releases(self.protocol, phase, tallies[candidate], number, SecureNoise())

        secure = sampler if is_own else functools.partial(_draw_candidate_securely, part.mechanism, totals)
        secure = secure if _has_sampler(part.mechanism) else None
        for relation, pairs in ((_REPLACE, is_there & is_there[:, None]), (_REMOVE, is_there ^ is_there[:, None])):
            if losses := [entry for entry in entries if _is_of(entry, relation, bounds_release=True)]:
                yield from self._case(
                    f"release of phase {phase.name!r}, {relation.value}",
                    functools.partial(Observable, (part,), 1, secure=secure),
                    losses,
                    names=labels,
                    are_neighbors=pairs,
                    share=_SHARE_OF_OWN_RELEASES if is_own else _SHARE_OF_RELEASES,
                    secure_share=min(1.0, _SHARE_OF_NUMBER / totals.shape[1]),
                )

    def _tally(self, phase: Phase, rows: IntArray) -> Tally:
        """Return the tally of parties with these rows, whose reports in earlier phases were the least allowed."""
        phases = self.protocol.phases
        least_reports = [np.array([each.least_report], dtype=np.int64) for each in phases[: phases.index(phase)]]
        earlier_reports = [
            np.repeat(reports, len(rows), axis=0) for reports in self.protocol.retained_reports(least_reports)
        ]
        public = np.tile(np.array(self.public, dtype=np.int64), (len(rows), 1))
        return phase.tally(rows[:, phase.columns], earlier=earlier_reports, public=public)

    def _neighbors_in_phase(self, phase: Phase, rows: IntArray) -> _Neighbors:
        """Return which rows are neighbors: all rows that the protocol lists; otherwise the mechanism decides."""
        if self.candidates.are_given:
            return np.ones((len(rows), len(rows)), dtype=np.bool_)
        values = rows[:, phase.columns]
        return phase.mechanism_of(self.public).are_neighbors(values, values)

    def _case(
        self,
        name: str,
        make: Callable[[], Observable],
        losses: Sequence[PrivacyLoss] | Sequence[LedgerEntry],
        *,
        names: Sequence[str],
        are_neighbors: _Neighbors,
        share: float = 1.0,
        secure_share: float = 1.0,
        law_checks: Callable[[], Sequence[LawCheck]] = tuple,
    ) -> Iterator[Case]:
        """Yield a case if there are neighbors; nothing can distinguish a row from itself."""
        if not np.any(are_neighbors & ~np.eye(len(are_neighbors), dtype=np.bool_)):
            return
        observable = make()
        is_law_known = all(part.is_law_known for part in observable.parts)
        sentences = self.note, "" if is_law_known else _NO_LAW, "" if observable.secure else _NO_SAMPLER
        yield Case.against(
            losses,
            name=f"{name}{self.suffix}",
            group=self.protocol.name,
            unit=", ".join(dict.fromkeys(loss.unit for loss in losses)),
            pairs=lambda: _pairs(make(), names, are_neighbors),
            note=" ".join(sentence for sentence in sentences if sentence),
            share=share,
            secure_share=secure_share,
            law_checks=law_checks,
        )


def _is_of(loss: PrivacyLoss | LedgerEntry, relation: NeighboringRelation, *, bounds_release: bool) -> bool:
    return loss.model.bounds_release is bounds_release and loss.relation is relation


def _has_sampler(mechanism: RowMechanism) -> bool:
    """Return whether a mechanism has an exact sampler for deployments."""
    try:
        SecureNoise().check(mechanism)
    except ConfigurationError:
        return False
    return True


def _draw_candidate_securely(mechanism: RowMechanism, values: IntArray, candidate: int, side: int) -> OutputSampler:
    """Return a sampler of one candidate row with secure noise. See `CandidateSampler`."""
    del side
    return secure_draw(mechanism, values[candidate].tolist())


def _checks(mechanism: RowMechanism, values: IntArray, *, is_secure: bool) -> Sequence[LawCheck]:
    """Return inputs to compare with their laws; none without a known law."""
    try:
        return checks_of(mechanism, values, is_secure=is_secure)
    except NotImplementedError:
        return ()


def _pairs(observable: Observable, names: Sequence[str], are_neighbors: _Neighbors) -> Sequence[Pair]:
    """Return the neighbors with the greatest loss by the laws; without laws, some that are far apart."""

    def pair(first: int, second: int) -> Pair:
        return observable.pair(first, second, name=f"{names[first]}, against {names[second]}")

    if not all(part.is_law_known for part in observable.parts):
        return [pair(first, second) for first, second in _far_apart(observable.parts, are_neighbors)]
    losses = sum((_losses_of(part) for part in observable.parts), start=np.zeros(are_neighbors.shape))
    allowed = np.where(are_neighbors & ~np.eye(len(losses), dtype=np.bool_), np.round(losses, 9), -np.inf)
    values = np.concatenate([part.values for part in observable.parts], axis=1)
    # Of several maxima, take the rows that differ in the most randomized values.
    ends = max(
        np.argwhere(allowed == allowed.max()).tolist(), key=lambda own: np.count_nonzero(np.diff(values[own], axis=0))
    )
    return [pair(*ends)]


def _far_apart(parts: Sequence[ExposedPart], are_neighbors: _Neighbors) -> list[tuple[int, int]]:
    """Return neighbors at the extremes of each randomized number, and all pairs of a few rows."""
    number = len(are_neighbors)
    values = np.concatenate([part.values for part in parts], axis=1)
    ends = zip(values.argmin(axis=0).tolist(), values.argmax(axis=0).tolist(), strict=True)
    pairs = dict.fromkeys([(0, number - 1), *ends, *itertools.combinations(range(min(number, _MOST_PAIRS)), 2)])
    return [(one, other) for one, other in pairs if one != other and are_neighbors[one, other]][:_MOST_PAIRS]


def _losses_of(part: ExposedPart) -> FloatArray:
    """Return the greatest log-likelihood ratio of each pair of candidates, shape (c, c), over all or many reports."""
    if part.log_laws is not None:
        return part.losses
    mechanism = part.mechanism.noise if isinstance(part.mechanism, PostProcessed) else part.mechanism
    outputs = [simulate_draw(mechanism, row)(_DRAWS, 0) for row in part.values.tolist()]
    reports = np.unique(np.concatenate([reports_to_try(mechanism, part.values), *outputs]), axis=0)
    return greatest_gaps(mechanism.log_likelihoods(reports, part.values).T)
