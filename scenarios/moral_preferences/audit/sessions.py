"""Audits of whole sessions of moral preferences: a voter's report, or a trusted server's release, in all paradigms.

Neighbors have the greatest known distance in the norm of the noise
(`psephos.scenarios.moral_preferences.audit.audit_list`); for a voter with several records, all of them are replaced.
Both directions are tried. If the release determines the randomized sums, these are the observable; else the release
itself, on a grid.
"""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.moral_preferences import (
    DisclosedPhase,
    Level,
    MoralPreferences,
    Outcome,
    Paradigm,
    Parameters,
    Records,
)
from ....protocol.moral_preferences.parameters import PAPERS, MechanismName
from ....protocol.phases import Inputs
from ...audit.case import Case, OutputSampler, Pair, Score, Source
from ...audit.machines import RecordedSession, noise_of, roster_of, session_sampler
from ...audit.masked_configurations import MASKED_RUNGS, MaskedStage, sizes_of
from ...audit.observables import Observable, exposure_of_party, exposure_of_release
from ...audit.size_grid import RUNGS, Configuration, Ends, Member, SizeSweep
from ...audit.whole_sessions import AuditParty, keep_finest_loss, two_party_cases
from .audit_list import audit_list, mechanisms_of
from .witnesses import sensitivity_witness

_FEATURES = ("x", "y", "z")
_RECORDS = 2
_LEVELS = (0.5, 1.0, 2.0)  # levels of personalized ε, each of which is audited
_OWN_LEVELS: Final = {"VLDP, own ε": (1,), "VLDP, own ε in a society": (1, 0)}
"""A sweep's choices with public rows: a level, or a society and a level."""
_SOCIETIES = ("ours", "others")
_GRID = 2.0**20  # grid steps in a unit, for observed releases
_NAMES = ("records that point one way", "records that point the other way")
_PRESENCE = ("a voter who is there", "the same roster without it")
_SECURE_SHARES: Final = {"functional": 0.02, "pooled": 0.04, "direction": 0.04}
"""Fractions of the requested outputs: a spherical draw, or a row of coefficients, takes most of a millisecond."""
# Fractions of the requested outputs: a session by machines takes a millisecond, and a maximizer some tenths of one.
_SHARE_OF_RELEASES, _SECURE_SHARE_OF_RELEASES = 0.0015, 0.04


def moral_preferences_cases() -> Iterator[Case]:
    """Yield the audits of every mechanism in every paradigm that has it, and of voters with personalized ε."""
    for paradigm in PAPERS:
        is_record, is_central = paradigm.level is Level.RECORD, paradigm.model.trusts_server
        for mechanism in mechanisms_of(paradigm):
            parameters: dict[str, Any] = {"paradigm": paradigm, "mechanism": mechanism, "epsilon": 1.0}
            yield _case(parameters, unit=paradigm.level.value, num_sessions=2)
            if mechanism == "functional":
                yield _case(parameters | {"sensitivity": "printed"}, unit="record", num_sessions=2)
            if is_record and mechanism != "laplace":
                yield _case(parameters | {"max_records": _RECORDS}, unit="voter", num_sessions=1)
            if is_central and mechanism != "laplace":
                # A maximizer reveals little; with a greater ε, it is enough to be detected.
                epsilon = 4.0 if mechanism == "pooled" else 1.0
                yield _case_of_release(parameters | {"epsilon": epsilon}, unit=paradigm.level.value)
            if paradigm is Paradigm.VLCP:
                yield _case_of_release(parameters | {"societies": _SOCIETIES}, unit=paradigm.level.value)
    removal_parameters = {
        "paradigm": Paradigm.VLCP,
        "mechanism": "laplace",
        "epsilon": 1.0,
        "relation": "add-remove-one",
    }
    yield _case(removal_parameters | {"num_voters": 2}, unit="voter", num_sessions=2, suffix=", there or not")
    chosen_parameters = {"paradigm": Paradigm.VLDP, "mechanism": "laplace", "epsilons": _LEVELS, "chosen_by": "voter"}
    yield _case(
        chosen_parameters,
        unit="voter",
        num_sessions=2,
        public=[1],
        suffix=f", own ε = {_LEVELS[1]:g}, chosen as it joins",
    )
    personal: list[MechanismName] = ["laplace", "direction"]
    for mechanism, (place, level) in itertools.product(personal, enumerate(_LEVELS)):
        parameters = {"paradigm": Paradigm.VLDP, "mechanism": mechanism, "epsilons": _LEVELS}
        yield _case(parameters, unit="voter", num_sessions=2, public=[place], suffix=f", own ε = {level:g}")
    # Voters with different ε, so that arrays are perturbed group by group.
    protocol = _protocol({"paradigm": Paradigm.VLDP, "mechanism": "laplace", "epsilons": _LEVELS})
    party = AuditParty(protocol, _rows(protocol), [0], _NAMES)
    other = party.rows[1], [len(_LEVELS) - 1]
    yield from two_party_cases(party, other, name=f"VLDP laplace, own ε = {_LEVELS[0]:g}", unit="voter")


def moral_preferences_climbs() -> Iterator[SizeSweep]:
    """Yield sweeps over features, records and voters, for mechanisms with a known law."""
    sizes = {"features": RUNGS, "records": RUNGS, "voters": RUNGS}
    yield SizeSweep("reports", sizes, ["VLDP", "RLDP", *_OWN_LEVELS], _report_configuration, most=512)
    yield SizeSweep("releases", sizes, ["VLCP", "RLCP", "VLCP, there or not"], _release_configuration, most=512)
    sizes |= {"voters": MASKED_RUNGS}
    yield SizeSweep("masked sums", sizes, ["VLMP", "RLMP"], masked_configuration, most=512)


def masked_configuration(choice: str, sizes: Mapping[str, int]) -> MaskedStage:
    """Return masked sums of one voter's row among equal rows of others."""
    number = sizes["voters"]
    protocol, (one, other, replaced_row, empty_row) = _protocol_and_rows(choice, sizes, epsilon=1.0, **sizes_of(number))

    def ends(first: Sequence[int], second: Sequence[int], other_row: Sequence[int]) -> Ends:
        rosters = (roster_of(protocol, [row, *[other_row] * (number - 1)], [()] * number) for row in (first, second))
        return Ends(*rosters)

    kinds = {"all records": ends(one, other, one), "one record": ends(one, replaced_row, empty_row)}
    return MaskedStage(protocol, kinds, num_parties=number)


def _protocol_and_rows(
    choice: str, sizes: Mapping[str, int], **parameters: Any
) -> tuple[MoralPreferences, list[tuple[int, ...]]]:
    """Return the protocol, and rows of voters whose records all point one way, all the other way, or all but one."""
    number = sizes["records"]
    protocol = MoralPreferences(
        Parameters(
            features=tuple(f"x{place}" for place in range(sizes["features"])),
            paradigm=Paradigm[choice[:4]],
            mechanism="laplace",
            max_records=number,
            **parameters,
        )
    )
    one, other = sensitivity_witness(number, num_features=sizes["features"], radius=protocol.parameters.bound)
    empty_row = np.zeros_like(one)
    rows = np.concatenate(
        [
            protocol.summary.rows_of(Records(np.array([0, number]), kind_row, empty_row))
            for kind_row in (one, -one, other, empty_row)
        ]
    )
    return protocol, [tuple(row) for row in rows.tolist()]


def _report_configuration(choice: str, sizes: Mapping[str, int]) -> Configuration:
    public = _OWN_LEVELS.get(choice, ())
    parameters: dict[str, Any] = {"epsilons": _LEVELS} if public else {"epsilon": 1.0}
    if len(public) > 1:
        parameters["societies"] = ("south", "north")
    protocol, (one, other, replaced_row, empty_row) = _protocol_and_rows(choice, sizes, **parameters)
    kinds = {"all records": (one, other), "one record": (one, replaced_row), "records that cancel": (one, empty_row)}
    ends = {kind: Ends(*(Member(row, public) for row in rows)) for kind, rows in kinds.items()}
    return Configuration(protocol, ends, num_parties=sizes["voters"])


def _release_configuration(choice: str, sizes: Mapping[str, int]) -> Configuration:
    parameters: dict[str, Any] = {"epsilon": 1.0}
    if choice.endswith("not"):
        parameters["relation"] = "add-remove-one"
        parameters["num_voters"] = sizes["voters"] + 1
    protocol, (one, other, replaced_row, empty_row) = _protocol_and_rows(choice, sizes, **parameters)
    number = sizes["voters"]
    publics: list[tuple[int, ...]] = [()] * (number + 1)

    def ends(first: Sequence[int], second: Sequence[int], other_row: Sequence[int]) -> Ends:
        return Ends(*(roster_of(protocol, [row, *[other_row] * number], publics) for row in (first, second)))

    kinds = {
        "all records, greatest totals": ends(one, other, one),
        "all records, least totals": ends(one, other, other),
        "one record": ends(one, replaced_row, empty_row),
        "totals of 0": ends(empty_row, one, empty_row),
    }
    if protocol.parameters.public_number is not None:
        member_rows = [one] * (number + 1)
        kinds = {
            "presence": Ends(
                roster_of(protocol, member_rows, publics), roster_of(protocol, member_rows[1:], publics[1:])
            ),
            "presence, totals of 0": Ends(
                roster_of(protocol, [one, empty_row], publics[:1] * 2), roster_of(protocol, [empty_row], publics[:1])
            ),
        }
    return Configuration(protocol, kinds, num_parties=number + 1, is_central=True)


def exposure_of_preferences(protocol: MoralPreferences, public: Sequence[int], *, num_sessions: int) -> Observable:
    """Return the observable of a voter, or a trusted server, for records that point one way or the other."""
    phase = protocol.phase
    if not isinstance(phase, DisclosedPhase):
        return exposure_of_party(protocol, _rows(protocol), public, num_sessions=num_sessions)
    read_outcome = functools.partial(read_sums, protocol) if protocol.parameters.mechanism == "laplace" else None
    return exposure_of_release(protocol, phase, _rosters(protocol), read_outcome, num_sessions=num_sessions)


def _case(
    parameters_given: dict[str, Any], *, unit: str, num_sessions: int, public: Sequence[int] = (), suffix: str = ""
) -> Case:
    """Return the audit of one set of parameters, without the features, for the unit "record" or "voter".

    A voter has the maximum number of records.
    """
    protocol = _protocol(parameters_given)
    parameters = protocol.parameters
    party = AuditParty(protocol, _rows(protocol), public, _NAMES if parameters.public_number is None else _PRESENCE)
    entries = party.charge(num_sessions)
    printed = ", printed Δ" if parameters.sensitivity == "printed" else ""
    return party.case(
        f"{parameters.paradigm.value} {parameters.mechanism}{printed}, {unit}{suffix}",
        unit if parameters.max_records == 1 else f"{unit} of {parameters.max_records} records",
        num_sessions=num_sessions,
        observable=lambda: exposure_of_preferences(protocol, public, num_sessions=num_sessions),
        entries=[keep_finest_loss(entry) for entry in entries] if unit == Level.RECORD.value else entries,
        # The sensitivity of a vector is attained; that of coefficients is a bound, somewhat above the greatest known
        # change.
        is_tight=parameters.mechanism == "laplace",
        # Each output maximizes a separate objective.
        share=0.02 if parameters.mechanism == "functional" or parameters.paradigm.model.trusts_server else 0.2,
        secure_share=0.04 if parameters.paradigm.model.trusts_server else _SECURE_SHARES.get(parameters.mechanism, 0.1),
        note="Scored by a projection: many noisy objectives have the same maximum."
        if parameters.mechanism == "functional"
        else "",
    )


def _case_of_release(parameters_given: dict[str, Any], *, unit: str) -> Case:
    """Return the audit of a trusted server's release that does not determine sums."""
    protocol = _protocol(parameters_given)
    parameters = protocol.parameters
    public = (0,) * len(parameters.names_of_societies[:1])

    def observe(session: RecordedSession) -> Sequence[Sequence[int]]:
        assert isinstance(session.outcome, Outcome)  # noqa: S101  this protocol's
        released_preferences = [society.preferences or () for society in session.outcome.society_outcomes] or [
            session.outcome.preferences
        ]
        return [[round(preference * _GRID) for preferences in released_preferences for preference in preferences]]

    def draws(source: Source) -> tuple[OutputSampler, OutputSampler]:
        noise = noise_of(source)
        first, second = (
            session_sampler(protocol, roster, observe, noise, side=side)
            for side, roster in enumerate(_rosters(protocol))
        )
        return first, second

    def pairs() -> list[Pair]:
        name = f"{_NAMES[0]}, against {_NAMES[1]}"
        return [Pair(name, draws=draws("simulated"), score=_line_between(protocol), secure=draws("secure"))]

    societies = ", of a society" if parameters.names_of_societies else ""
    case_name = f"{parameters.paradigm.value} {parameters.mechanism}, ε = {parameters.epsilon:g}, {unit}{societies}"
    return Case.against(
        AuditParty(protocol, _rows(protocol), public, _NAMES).charge(),
        name=f"{case_name}, as released",
        group=protocol.name,
        unit=unit,
        pairs=pairs,
        share=_SHARE_OF_RELEASES,
        secure_share=_SECURE_SHARE_OF_RELEASES,
    )


def _line_between(protocol: MoralPreferences) -> Score:
    """Return a score: a release's projection on the line between the two rosters' noiseless preferences."""
    first, second = (np.array(list(protocol.truth(roster).values())) for roster in _rosters(protocol))
    # Skip the preferences of all voters, since those of societies reveal more.
    own_columns = slice(protocol.parameters.num_features * bool(protocol.parameters.names_of_societies), None)
    line: FloatArray = (first - second)[own_columns]
    return lambda outputs: outputs @ line


def _protocol(parameters_given: dict[str, Any]) -> MoralPreferences:
    values: dict[str, Any] = {"features": _FEATURES, "max_records": 1}
    return MoralPreferences(Parameters(**values | parameters_given))


def _rows(protocol: MoralPreferences) -> IntArray:
    """Return the voter's private rows of both neighbors."""
    return np.concatenate([protocol.summary.rows_of(records) for records in _neighbors(protocol.parameters)])


def _rosters(protocol: MoralPreferences) -> list[Inputs]:
    """Return rosters of both neighbors, with another voter, whose row cancels in every comparison."""
    rows = _rows(protocol)
    if names := protocol.parameters.names_of_societies:
        # The voter is in the first society; another voter of each society has a row that cancels.
        publics = [[0], *([place] for place in range(len(names)))]
        return [roster_of(protocol, [row] + [rows[0]] * len(names), publics) for row in rows]
    if protocol.parameters.public_number is not None:
        return [roster_of(protocol, row_list, [()] * len(row_list)) for row_list in ([rows[0], rows[0]], [rows[0]])]
    return [roster_of(protocol, [row, rows[0]], [(), ()]) for row in rows]


def read_sums(protocol: MoralPreferences, outcome: msgspec.Struct | None) -> list[int]:
    """Return the randomized sums from released mean preferences, for each society.

    The mechanism is "laplace", in the central model.
    """
    assert isinstance(outcome, Outcome)  # noqa: S101  this protocol's
    released_preferences = [(outcome.num_voters, outcome.preferences)]
    if outcome.society_outcomes:
        released_preferences = [(society.num_voters, society.preferences or ()) for society in outcome.society_outcomes]
    return [round(mean * number / protocol.summary.step) for number, means in released_preferences for mean in means]


def _neighbors(parameters: Parameters) -> tuple[Records, Records]:
    """Return both neighbors' records: the maximum number, all of them replaced."""
    number = parameters.max_records
    records_before, records_after = (
        Records(
            record.offsets * number,
            np.repeat(record.chosen, number, axis=0),
            np.repeat(record.rejected, number, axis=0),
        )
        for record in _single_records(parameters.num_features)[parameters.mechanism]
    )
    return records_before, records_after


@functools.cache
def _single_records(num_features: int) -> dict[MechanismName, tuple[Records, Records]]:
    """Return the neighbors of a single record, by mechanism, for every paradigm."""
    entries = audit_list(num_features=num_features)
    return {entry.protocol.parameters.mechanism: (entry.before, entry.after) for entry in entries}
