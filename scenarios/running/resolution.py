"""Resolve a scenario: look up and check everything that it names, before anything runs.

Each mode has a type: parties are read at once (`Local`), come in batches (`Streamed`), or are separate processes
(`ServerRun`).
"""

import contextlib
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ...agents.noise import check_secure_noise
from ...protocol.admission import check_sizes
from ...protocol.arrays import IntArray
from ...protocol.columns import Observed
from ...protocol.errors import BudgetExceededError, ConfigurationError, did_you_mean, refuse
from ...protocol.phases import Entries, Inputs, PhasedProtocol
from ...protocol.plugin_checks import check_completed, check_own_columns, checked_inputs
from ...protocol.privacy import Ledger, NeighboringRelation, PrivacyLoss, TrustModel, total_of
from ...protocol.roster import Roster
from ...protocol.rules import PhaseRules, SessionRules, names_of
from ...transports.tap import check_tapped
from ..adversaries.reading import find_adversary, read_adversaries
from ..adversaries.role import AttackContext, Role
from ..datasets import DATA_VARIABLE
from ..plugins import ARRAY, AUTO, check_transport, find, find_client_role, find_server_role, make_transport
from ..reading.conversion import convert
from ..reading.frames import name_rows_in_errors
from ..reading.sources import OpenStream, PartiesTable, PartyStream
from ..system import find_protocol
from ..words import say_number
from .config import Scenario, with_trust
from .limits import check_descriptors
from .parties import read_parties, sources_of
from .plugin_errors import Plugin, blame_plugins, blaming, parts_of
from .rosters import (
    KEY_COLUMNS,
    check_columns,
    fingerprints_in,
    merge_roster,
    parameters_left_to_parties,
    read_roster,
    signature_keys_in,
)
from .streams import stream_of
from .synthetic import check_seed, check_synthetic, has_own_values
from .turnout import Turnout

MOST_BY_AGENTS: Final = 10_000
_MOST_MASKED: Final = 100  # most parties of a masked session with agents, whose work grows with the square
"""With more parties, arrays are the default: agents would take minutes, with the same result."""
_AGENTS: Final = "memory"


class Resolved(msgspec.Struct, kw_only=True):
    """A resolved scenario: everything that it names is looked up and checked.

    Examples:
        >>> from psephos.scenarios import load_scenario
        >>> resolve(load_scenario("consortium", ["partners.count=30"])).parties
        '30 partners'
    """

    scenario: Scenario  # the scenario with settings, and with the data set's folder
    protocol: PhasedProtocol[Any, Any]  # the protocol with its parameters
    names: Sequence[str]  # the parties' names; empty if they are streamed
    inputs: Inputs  # the parties' rows; only public ones if parties are separate processes
    rules: SessionRules  # deadlines and quorums
    note: str = ""  # a line on skipped or merged rows of the parties' file

    @property
    def parties(self) -> str:
        """The number of parties with their role's noun."""
        number, role = len(self.names), self.protocol.client_role
        return f"{number:,} {say_number(role, f'{role}s', number)}"


class Local(Resolved, kw_only=True):
    """A run in one process, by agents or arrays, whose parties are read at once.

    Examples:
        >>> from psephos.scenarios import load_scenario
        >>> local = resolve(load_scenario("consortium", ["partners.count=30", "transport=array"]))
        >>> local.is_generated, local.may_show_truth
        (True, True)
    """

    may_show_truth: bool = False  # whether the truth may be shown: parties are synthetic, or their values public
    is_generated: bool = False  # whether a generator made the private values
    is_real: bool = False  # whether values are real, so that the folder reveals nothing about them beyond the proven ε
    record: bool = False  # whether seed, private inputs and views are recorded
    # The parameters that follow from the parties' table, also in a rerun.
    parameters_of_parties: frozenset[str] = frozenset()
    # The gold standard: true values by name. It is no party's input, and may always be shown.
    gold: Mapping[str, str] = {}
    roles: tuple[Role, ...] = ()  # the roles of the scenario's adversaries
    away: frozenset[str] = frozenset()  # parties of a series who are absent from this vote

    @property
    def adversaries(self) -> tuple[Role, ...]:
        """The roles that take part in this run."""
        return tuple(role for role in self.roles if role.takes_part(self.away))

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Plug-ins whose code also runs, to be named for exceptions: adversaries and the protocol."""
        return (*(Plugin(f"role {role.name!r}", (type(role),)) for role in self.roles), parts_of(self.protocol))

    @property
    def list_plugins(self) -> tuple[Plugin, ...]:
        """Return the session's plug-ins, including its transport."""
        if self.scenario.transport == ARRAY:
            return self.plugins
        transport = type(make_transport(self.scenario.transport))
        return (*self.plugins, Plugin(f"transport {self.scenario.transport!r}", (transport,)))

    def context(self, *, seed: int) -> AttackContext:
        """Return the adversaries' context, at a seed of simulated noise."""
        return AttackContext(
            protocol=self.protocol,
            names=self.names,
            inputs=self.inputs,
            session=self.scenario.name,
            round_number=self.scenario.round,
            seed=seed,
            budget=self.scenario.budget_of_parties,
            may_show_truth=self.may_show_truth,
        )


class Streamed(Local, kw_only=True):
    """A run by arrays over parties that come in batches (`streams`); their values are not stored."""

    stream: PartyStream

    @property
    def parties(self) -> str:
        """The parties' role, with their number if it is known in advance."""
        number = self.stream.num_parties
        return f"{'' if number is None else f'{number:,} '}streamed {self.protocol.client_role}s"


class ServerRun(Resolved, kw_only=True):
    """A server's run, whose parties are separate processes: private columns are ignored, public ones stay as given.

    It has the fingerprints of the parties' certificates, if they have any.

    Examples:
        >>> from psephos.scenarios import load_scenario
        >>> served = resolve_served(load_scenario("eu-council"))
        >>> served.num_connections, served.roster.public.shape
        (27, (27, 2))
    """

    public_table: Mapping[str, Entries]
    fingerprints: Sequence[str] | None
    keys: Sequence[bytes] | None = None  # public signature keys, in a masked session

    @property
    def roster(self) -> Roster:
        """The roster of parties that may take part."""
        return Roster(self.names, self.inputs.public, fingerprints=self.fingerprints, keys=self.keys)

    @property
    def num_connections(self) -> int:
        """The number of the parties' connections; a host's parties share one."""
        return len(self.names if self.fingerprints is None else set(self.fingerprints))


def resolve(
    scenario: Scenario, *, record: bool = False, turnout: Turnout | None = None, reads_adversaries: bool = True
) -> Local:
    """Look up and check everything that a scenario names, to be run in one process.

    Args:
        record: whether to record seed, private inputs and views; only for agents in simulations.
        turnout: the parties that are present in a vote of a series; by default all.
        reads_adversaries: whether to look up the adversaries too, instead of later by `with_adversaries`.

    Returns:
        The run; a `Streamed` if the scenario's parties are streamed.

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> from psephos.scenarios import load_scenario
        >>> local = resolve(load_scenario("consortium", ["partners.count=30"]))
        >>> local.parties, local.names[0], local.protocol.name, local.inputs.private.shape
        ('30 partners', 'partner-1', 'dpwevote', (30, 3))
    """
    with name_rows_in_errors(scenario.parties):
        return _resolve(scenario, record=record, turnout=turnout, reads_adversaries=reads_adversaries)


def _resolve(scenario: Scenario, *, record: bool, turnout: Turnout | None, reads_adversaries: bool) -> Local:
    kind = find_protocol(scenario.protocol)
    scenario = with_trust(scenario, kind)
    if (stream := stream_of(kind, scenario.parties, scenario.parameters)) is not None:
        return _resolve_streamed(scenario, kind, stream, record=record, turnout=turnout)
    scenario = _with_digest(scenario, kind)
    parties = _own_parties(scenario, kind)
    parties = parties if turnout is None else turnout.apply_to(parties, role=kind.client_role)
    scenario = _with_data_folder(scenario, parties)
    is_nobody_real = scenario.synthetic or scenario.public_record or parties.is_generated or parties.is_public_record
    is_real = not is_nobody_real and has_own_values(scenario.parties, sources_of(kind))
    arrays_note = ""
    with blaming(kind):
        with parties.name_lines_in_errors():
            parameters = kind.complete(parties.complete(scenario.parameters), table := Observed(parties.table))
        protocol = make_protocol(kind, parameters, scenario.model)
        if scenario.transport == AUTO:
            scenario, arrays_note = _on_path(scenario, protocol, num_parties=len(parties.names), needs_agents=record)
        is_said = scenario.noise != AUTO
        scenario = _with_noise(scenario, protocol, is_real=is_real, record=record)
        check_completed(protocol, table)
        with parties.name_lines_in_errors():
            protocol.check_columns(parties.table)
            inputs = checked_inputs(protocol, protocol.encode(parties.table), num_parties=len(parties.names))
        protocol.check_roster(inputs.public)
        protocol.check_inputs(inputs)
        dearest = _check_and_total_losses(protocol, inputs)
    check_seed(scenario.seed, is_real=is_real and not is_said)
    _check_path(scenario, num_parties=len(parties.names), record=record)
    _check_budget(scenario, dearest)
    if scenario.transport != ARRAY:
        _check_agents(protocol, inputs.public, is_secure=scenario.noise == "secure")
    local = Local(
        **_common_fields(scenario, protocol, num_parties=len(parties.names)),
        names=parties.names,
        inputs=inputs,
        may_show_truth=bool(is_nobody_real) and scenario.noise == "simulated",
        is_generated=parties.is_generated,
        is_real=is_real,
        record=record,
        parameters_of_parties=_parameters_of_parties(parties, kind) - frozenset(scenario.parameters),
        gold=parties.gold,
        note=" ".join(filter(None, (parties.note, arrays_note, _warn_of_noise(scenario, is_real=is_real)))),
    )
    return with_adversaries(local) if reads_adversaries else local


def _resolve_streamed(
    scenario: Scenario,
    kind: type[PhasedProtocol[Any, Any]],
    stream_opener: OpenStream,
    *,
    record: bool,
    turnout: Turnout | None,
) -> Streamed:
    """Look up and check a run by arrays over a stream of parties, which stores nothing about single parties."""
    allowed = f"{ARRAY!r}, since {kind.client_role}s are streamed and agents would keep each of them in memory"
    refuse(scenario.transport not in {ARRAY, AUTO}, "transport", scenario.transport, allowed)
    scenario = _with_digest(msgspec.structs.replace(scenario, transport=ARRAY), kind)
    is_real = not (scenario.synthetic or scenario.public_record) and has_own_values(scenario.parties, sources_of(kind))
    allowed = f"left out, since {kind.client_role}s are streamed and nobody's values are kept"
    refuse(scenario.adversary, "adversary", f"{len(scenario.adversary)} given", allowed)
    stream = stream_opener()
    allowed = f"read at once: a series has to know its {kind.client_role}s by their names"
    refuse(turnout is not None, f"{kind.client_role}s", "streamed", allowed)
    source = f"the streamed {kind.client_role}s"
    derived = stream.parameters
    parties = PartiesTable((), {}, source=source, parameters=derived, fixed=stream.fixed, unsaid=stream.unsaid)
    parties.check_said(is_public=bool(scenario.synthetic or scenario.public_record))
    no_rows: IntArray = np.empty((0, 0), dtype=np.int64)
    inputs = Inputs(no_rows, no_rows)
    with blaming(kind):
        parameters = parties.complete(scenario.parameters)
        if stream.columns is not None:
            parameters = kind.complete(parameters, stream.columns)
        protocol = make_protocol(kind, parameters, scenario.model)
        if stream.columns is not None:
            protocol.check_columns(stream.columns)
        if stream.check is not None:
            stream.check(protocol)
        dearest = _check_and_total_losses(protocol, inputs)
    check_seed(scenario.seed, is_real=is_real and scenario.noise == AUTO)
    scenario = _with_noise(scenario, protocol, is_real=is_real, record=record)
    _check_path(scenario, num_parties=0, record=record)
    _check_budget(scenario, dearest)
    return Streamed(
        **_common_fields(scenario, protocol, num_parties=stream.num_parties or stream.most_parties),
        names=(),
        inputs=inputs,
        is_real=is_real,
        note=_warn_of_noise(scenario, is_real=is_real),
        parameters_of_parties=_parameters_of_parties(parties, kind) - frozenset(scenario.parameters),
        gold=stream.gold,
        stream=stream,
    )


def resolve_served(scenario: Scenario, *, roster: Path | None = None) -> ServerRun:
    """Look up and check everything that a scenario names for its server; the parties are separate processes.

    Args:
        roster: a folder of `psephos roster`, or a CSV file with the role's name, the public columns, and
            `rosters.KEY_COLUMNS`; by default the scenario's parties, without certificates.

    Raises:
        ConfigurationError: a value is not allowed.

    Examples:
        >>> from psephos.scenarios import load_scenario
        >>> served = resolve_served(load_scenario("eu-council"))
        >>> served.parties, served.roster.names[:2], list(served.public_table)
        ('27 partners', ('Germany', 'France'), ['weight'])
    """
    refuse(scenario.network, "network", scenario.network, "left out where the network is real")
    kind = find_protocol(scenario.protocol)
    scenario = with_trust(scenario, kind)
    parties = _own_parties(scenario, kind) if roster is None else read_roster(roster, kind)
    if scenario.transport == AUTO:
        scenario = msgspec.structs.replace(scenario, transport=_AGENTS)
    scenario = _with_data_folder(msgspec.structs.replace(scenario, seed=None, adversary=[], noise="secure"), parties)
    table = {name: entries for name, entries in parties.table.items() if name not in KEY_COLUMNS}
    with blaming(kind):
        described = parties if roster is None else _with_roster(scenario, kind, parties)
        with parties.name_lines_in_errors():
            observed_table = Observed({**described.table, **table})
            parameters = kind.complete(described.complete(scenario.parameters), observed_table)
        protocol = make_protocol(kind, parameters, scenario.model)
        check_completed(protocol, observed_table)
        own_columns = [column.name for column in protocol.columns() if column.is_own]
        public = [column.name for column in protocol.columns() if not column.is_own]
        of_parties = own_columns if roster is None else ()  # a roster has no such columns
        check_columns(parties, [protocol.client_role, *public, *of_parties, *sorted(KEY_COLUMNS)])
        public_table = {name: table[name] for name in public if name in table}
        with parties.name_lines_in_errors():
            protocol.check_columns([*public_table, *own_columns])
            public_rows = protocol.encode_public(public_table, num_parties=len(parties.names))
        protocol.check_roster(public_rows)
        inputs = Inputs(np.empty((len(public_rows), 0), dtype=np.int64), public_rows)
        _check_and_total_losses(protocol, inputs)
    _check_agents(protocol, inputs.public, is_secure=False)
    return ServerRun(
        **_common_fields(scenario, protocol, num_parties=len(parties.names)),
        names=parties.names,
        inputs=inputs,
        note="" if roster is None else parties.note,  # notes on private columns are not for the server
        public_table=public_table,
        fingerprints=fingerprints_in(parties),
        keys=signature_keys_in(parties) if protocol.masked_phase is not None else None,
    )


def _with_digest(scenario: Scenario, kind: type[PhasedProtocol[Any, Any]]) -> Scenario:
    """Return a scenario with the digest of its parties' files, if these are synthetic."""
    synthetic = check_synthetic(scenario.parties, sources_of(kind), synthetic=scenario.synthetic)
    return msgspec.structs.replace(scenario, synthetic=synthetic)


def _with_noise(scenario: Scenario, protocol: PhasedProtocol[Any, Any], *, is_real: bool, record: bool) -> Scenario:
    """Return a scenario with its noise: secure for real values, unless the request needs simulated noise.

    Arrays support secure noise if only the server draws it.
    """
    is_simulated = scenario.transport == ARRAY and not _draws_at_server(protocol)
    refuse(
        scenario.noise == "secure" and is_simulated, "noise", "secure", "'simulated' for arrays of parties that draw"
    )
    if scenario.noise != AUTO:
        return scenario
    is_simulated |= record or bool(scenario.network or scenario.adversary) or not is_real
    with contextlib.suppress(ConfigurationError):  # a plug-in's mechanism without an exact sampler
        if not is_simulated and scenario.seed is None:
            check_secure_noise(protocol)
            return msgspec.structs.replace(scenario, noise="secure")
    return msgspec.structs.replace(scenario, noise="simulated")


def _warn_of_noise(scenario: Scenario, *, is_real: bool) -> str:
    """Return a warning if real values get simulated noise."""
    warning = "The noise of these real values is simulated: no bound holds of who finds out its seed."
    return warning if is_real and scenario.noise == "simulated" else ""


def _draws_at_server(protocol: PhasedProtocol[Any, Any]) -> bool:
    """Return whether only the server draws noise."""
    return all(phase.model.trusts_server for phase in protocol.phases)


def _with_data_folder(scenario: Scenario, parties: PartiesTable) -> Scenario:
    """Return a scenario with the folder of its data set."""
    return msgspec.structs.replace(scenario, data=_data_folder(scenario)) if parties.is_of_data_set else scenario


def _check_and_total_losses(protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> list[PrivacyLoss]:
    """Return the worst-case losses of parties, after checking that none is stated too low."""
    protocol.check_loss_groups(inputs.public)
    return dearest_losses(protocol, inputs.public)


def _on_path(
    scenario: Scenario, protocol: PhasedProtocol[Any, Any], *, num_parties: int, needs_agents: bool
) -> tuple[Scenario, str]:
    """Return a scenario with "auto" replaced by a transport or arrays, and a sentence if there are many parties."""
    is_secure = scenario.noise == "secure" and not _draws_at_server(protocol)
    has_agents = needs_agents or scenario.network or scenario.adversary or is_secure
    most_by_agents = MOST_BY_AGENTS if protocol.masked_phase is None else _MOST_MASKED
    if has_agents or num_parties <= most_by_agents:
        return msgspec.structs.replace(scenario, transport=_AGENTS), ""
    note = (
        f"More than {most_by_agents:,} {protocol.client_role}s are computed by arrays, with the result that agents "
        f"would have; transport = {_AGENTS!r} makes agents of them."
    )
    return msgspec.structs.replace(scenario, transport=ARRAY), note


def _common_fields(scenario: Scenario, protocol: PhasedProtocol[Any, Any], *, num_parties: int) -> dict[str, Any]:
    """Return the fields that all modes share: scenario, protocol and rules."""
    if scenario.quorum is None and not protocol.hides_participation and protocol.masked_phase is None:
        scenario = msgspec.structs.replace(scenario, quorum=1.0)  # written explicitly, as in a run's folder
    rules = _make_rules(scenario, protocol, num_parties=num_parties)
    return {"scenario": scenario, "protocol": protocol, "rules": rules}


def with_adversaries(setup: Local, *, absent_names: Collection[str] = ()) -> Local:
    """Look up and check a run's adversaries; they may name absent parties of a series."""
    tables, transport = setup.scenario.adversary, setup.scenario.transport
    roles: tuple[Role, ...] = ()
    if tables:
        names = (str(table.get("role")) for table in tables)
        plugins = (Plugin(f"role {name!r}", (find_adversary(name),)) for name in names)  # to be named for exceptions
        with blame_plugins(plugins, is_set_up=True):
            context = setup.context(seed=0)  # not a seed of the session
            roles = read_adversaries(tables, context, has_agents=transport != ARRAY, absent_names=absent_names)
    if any(role.watches_traffic for role in roles):
        check_tapped(make_transport(transport))
        check_descriptors(transport, num_parties=len(setup.names), is_tapped=True)
    return msgspec.structs.replace(setup, roles=roles, away=frozenset(absent_names))


def dearest_losses(protocol: PhasedProtocol[Any, Any], public: IntArray) -> list[PrivacyLoss]:
    """Return the worst-case losses of a whole session, phase by phase; without public rows, over all possible ones.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> nobody = np.empty((0, 0), dtype=np.int64)
        >>> [loss.proven for loss in dearest_losses(vote, nobody)]
        [0.5, 0.5]
    """
    dearest: list[PrivacyLoss] = []
    for phase in protocol.phases:
        groups = [losses for _, _, losses in phase.loss_groups(public)] if len(public) else [phase.losses]
        dearest += max(groups, key=lambda losses: total_of(losses, relation=NeighboringRelation.REPLACE_ONE).proven)
    return dearest


def _own_parties(scenario: Scenario, kind: type[PhasedProtocol[Any, Any]]) -> PartiesTable:
    parameters, data = scenario.parameters, _data_folder(scenario)
    parties = read_parties(scenario.parties, parameters=parameters, protocol=kind, data=data)
    parties.check_said(is_public=bool(scenario.synthetic or scenario.public_record))
    return parties


def _with_roster(scenario: Scenario, kind: type[PhasedProtocol[Any, Any]], roster: PartiesTable) -> PartiesTable:
    """Return the parties' table that determines parameters which neither scenario nor roster states."""
    left_out = parameters_left_to_parties(kind, {**roster.parameters, **scenario.parameters})
    is_of_data_set = isinstance(scenario.parties, Mapping) and "data" in scenario.parties
    if not scenario.parties or not (is_of_data_set or left_out):
        return merge_roster(kind, roster, None, scenario.parameters)
    try:
        own_parties = _own_parties(scenario, kind)
    except ConfigurationError as error:
        if not left_out or error.field.partition(".")[0] != f"{kind.client_role}s":
            raise
        allowed = (
            f"set, in the scenario or by --set, or agreed in a folder of `psephos roster`: "
            f"the scenario's own {kind.client_role}s cannot say it here ({error})"
        )
        raise ConfigurationError(field=left_out[0], value="left out", allowed=allowed) from None
    return merge_roster(kind, roster, own_parties, scenario.parameters)


def _parameters_of_parties(parties: PartiesTable, kind: type[PhasedProtocol[Any, Any]]) -> frozenset[str]:
    """Return the parameters that follow from the parties' table in a rerun, and those that they replace."""
    sources = sources_of(kind)
    names = frozenset(parties.parameters) | sources.parameters_of_public_columns
    return names.union(*(group for group in sources.alternatives if group & names))


def _data_folder(scenario: Scenario) -> str:
    """Return the folder of data sets from the scenario, or else from the environment; empty for none."""
    return scenario.data or os.environ.get(DATA_VARIABLE, "")


def _make_rules(scenario: Scenario, protocol: PhasedProtocol[Any, Any], *, num_parties: int) -> SessionRules:
    """Return a scenario's rules."""
    default = {"deadline_seconds": scenario.deadline_seconds, "quorum": scenario.quorum}
    whole: SessionRules = convert(default, SessionRules, "")
    phases: dict[str, PhaseRules] = {
        name: convert({**default, **convert(rules, dict[str, Any], f"phases.{name}")}, PhaseRules, f"phases.{name}")
        for name, rules in scenario.phases.items()
    }
    rules = msgspec.structs.replace(whole, phases=phases)
    _check_rules(protocol, rules, num_parties=num_parties)
    return rules


def make_protocol(
    kind: type[PhasedProtocol[Any, Any]], parameters: Mapping[str, Any], model: TrustModel | None = None
) -> PhasedProtocol[Any, Any]:
    """Return a protocol with its parameters and plug-ins, after checking these, its columns and its trust model.

    Examples:
        >>> from psephos.scenarios.system import find_protocol
        >>> vote = make_protocol(find_protocol("dpwevote"), {"candidates": ["roof"], "epsilon": 2})
        >>> vote.parameters.epsilon, vote.model.value
        (2.0, 'local')
    """
    protocol = kind(convert(parameters, kind.parameters_type, "parameters"))
    if model is not None and protocol.model is not model:
        fields = dict.fromkeys(key for _, keys in kind.settings_by_trust for key in keys if key in parameters)
        text = " and ".join(f"{name} = {parameters[name]!r}" for name in fields)
        allowed = f"{protocol.model.value!r}, as {text} has it, or {' and '.join(fields)} left out to follow it"
        raise ConfigurationError(field="trust", value=model.value, allowed=allowed)
    for field, name in protocol.foreign_functions.items():
        own_functions = tuple(protocol.named_functions[field])
        protocol.use_function(field, find(f"psephos.{field}s", name, Callable, field=field, also=own_functions))
    check_own_columns(protocol)
    return protocol


def _check_agents(protocol: PhasedProtocol[Any, Any], public: IntArray, *, is_secure: bool) -> None:
    """Raise ConfigurationError if a role has no agent class, or a message would exceed the limit.

    With secure noise, also check that all mechanisms have samplers.
    """
    if is_secure:
        check_secure_noise(protocol)
    find_client_role(protocol.client_role)
    find_server_role(protocol.server_role)
    try:
        check_sizes(protocol, public)
    except ValueError as error:
        allowed = f"small enough for messages: {error}. The array path needs no messages (transport = 'array')"
        raise ConfigurationError(field="the session of agents", value=protocol.name, allowed=allowed) from None


def _check_path(scenario: Scenario, *, num_parties: int, record: bool) -> None:
    """Raise ConfigurationError unless the transport exists, and supports the number of parties and recording."""
    check_transport(scenario.transport)
    check_descriptors(scenario.transport, num_parties=num_parties)
    refuse(record and scenario.transport == ARRAY, "--record", "given", "left out on arrays, which record no views")
    refuse(record and scenario.noise == "secure", "--record", "given", "left out where noise is secure")


def _check_budget(scenario: Scenario, losses: Sequence[PrivacyLoss]) -> None:
    """Raise ConfigurationError unless the budget suffices for the worst-case losses."""
    budget = scenario.budget_of_parties
    if budget is None:
        return
    try:
        Ledger("whoever pays most", budget=budget).check(losses)
    except BudgetExceededError as error:
        allowed = f"at least {error.requested:g}, which the session costs for {error.relation} neighbors"
        field = "budget" if error.cap == "person" else "budget_datum"
        raise ConfigurationError(field=field, value=getattr(scenario, field), allowed=allowed) from None


def _check_rules(protocol: PhasedProtocol[Any, Any], rules: SessionRules, *, num_parties: int) -> None:
    """Raise ConfigurationError unless each rule belongs to a step, and its quorum is possible.

    If participation is private, a rule has no quorum.
    """
    names = names_of(protocol)
    for name in rules.phases:
        if name not in names:
            allowed = f"rules for {', '.join(names)}{did_you_mean(name, names)}"
            raise ConfigurationError(field="phases", value=name, allowed=allowed)
    for name, is_hidden in names.items():
        rule = rules.phase_rules(name)
        try:
            rule.num_required(num_parties, hides_participation=is_hidden)
        except ConfigurationError as error:
            if not (is_hidden and name in rules.phases and rule.quorum != rules.quorum):
                raise
            field = f"phases.{name}.{error.field}"
            raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None
        refuse(math.isinf(rule.deadline_seconds), "deadline_seconds", rule.deadline_seconds, "finite")
