"""From what a scenario names to what can be run: everything is looked up and checked before anything happens."""

import contextlib
import dataclasses
import math
import os
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from ...protocol.admission import check_sizes
from ...protocol.arrays import IntArray
from ...protocol.errors import ConfigurationError
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.rules import JOIN, PhaseRules
from ..adversaries.reading import read_adversaries
from ..adversaries.role import Role, Scene
from ..datasets import DATA_VARIABLE
from ..plugins import ARRAY, check_transport
from ..system import find_protocol
from .config import Scenario
from .conversion import convert
from .parties import read_parties, sources_of
from .session import check_descriptors
from .sources import PartiesTable

__all__ = ["Resolved", "blaming", "data_folder", "make_rules", "make_scene", "refuse_large", "resolve"]


class Resolved(msgspec.Struct, kw_only=True):
    """A scenario with everything that it names looked up and checked.

    Args:
        scenario: as written, with what was set, and with the folder that a data set was found in.
        protocol: the protocol with its parameters.
        names: the parties.
        inputs: their rows.
        rules: by phase.
        default_rules: for the other phases.
        may_show_truth: whether the truth may stand beside the estimates: in a simulation of nobody real, or of values
            that are public record.
        record: whether seed, private inputs and views are kept as well.
        parameters_of_data: the parameters that the scenario leaves to its data set, which says them again in a rerun.
        gold: what is true, where somebody knows: a name's true value. It is no party's, and may always be shown.
        note: what became of the rows of the parties' file, as a line for people.
        adversaries: who deviates, watches or infers.
    """

    scenario: Scenario
    protocol: PhasedProtocol[Any, Any]
    names: Sequence[str]
    inputs: Inputs
    rules: Mapping[str, PhaseRules]
    default_rules: PhaseRules
    may_show_truth: bool
    record: bool
    parameters_of_data: frozenset[str] = frozenset()
    gold: Mapping[str, str] = {}
    note: str = ""
    adversaries: tuple[Role, ...] = ()

    def scene(self, *, seed: int) -> Scene:
        """Return what is run, as adversaries find it.

        Args:
            seed: of the simulated noise.
        """
        scene = make_scene(self.scenario, self.protocol, self.names, self.inputs, seed=seed)
        return dataclasses.replace(scene, may_show_truth=self.may_show_truth)


def make_scene(
    scenario: Scenario, protocol: PhasedProtocol[Any, Any], names: Sequence[str], inputs: Inputs, *, seed: int
) -> Scene:
    """Return what is run, as adversaries find it."""
    return Scene(
        protocol=protocol,
        names=names,
        inputs=inputs,
        session=scenario.name,
        round_number=scenario.round,
        seed=seed,
        budget=scenario.budget,
    )


def resolve(scenario: Scenario, *, record: bool = False) -> Resolved:
    """Look up and check everything that a scenario names.

    Args:
        scenario: what is to be run.
        record: also keep seed, private inputs and what each party sees; for agents in simulations only.

    Raises:
        ConfigurationError: something is not allowed.
    """
    kind = find_protocol(scenario.protocol)
    folder = data_folder(scenario)
    parties = read_parties(scenario.parties, parameters=scenario.parameters, protocol=kind, data=folder)
    if parties.is_of_data_set:
        scenario = msgspec.structs.replace(scenario, data=folder)
    with blaming(kind):
        with parties.naming_lines():
            given = kind.complete(parties.complete(scenario.parameters), parties.table)
        protocol = kind(convert(given, kind.parameters_type, "parameters"))
        with parties.naming_lines():
            inputs = protocol.encode(parties.table)
        protocol.check_roster(inputs.public)
        protocol.check_inputs(inputs)  # which makes the phases
    _check_path(scenario, num_parties=len(parties.names), record=record)
    if scenario.transport != ARRAY:
        refuse_large(protocol, inputs.public)
    _check_budget(scenario, protocol, inputs)
    rules, default_rules = make_rules(scenario, protocol, num_parties=len(parties.names))
    adversaries = read_adversaries(
        scenario.adversary,
        make_scene(scenario, protocol, parties.names, inputs, seed=0),  # no draw of the session's own
        has_agents=scenario.transport != ARRAY,
    )
    if any(role.watches_traffic for role in adversaries):
        check_descriptors(scenario.transport, num_parties=len(parties.names), is_tapped=True)
    return Resolved(
        scenario=scenario,
        protocol=protocol,
        names=parties.names,
        inputs=inputs,
        rules=rules,
        default_rules=default_rules,
        may_show_truth=scenario.noise == "simulated"
        and (scenario.made_up or scenario.public_record or parties.is_generated or parties.is_public_record),
        record=record,
        parameters_of_data=_said_by(parties, kind) - frozenset(scenario.parameters),
        gold=parties.gold,
        note=parties.note,
        adversaries=adversaries,
    )


def _said_by(parties: PartiesTable, kind: type[PhasedProtocol[Any, Any]]) -> frozenset[str]:
    """Return the parameters that parties say again in a rerun, and those in place of which they do."""
    sources = sources_of(kind)
    names = frozenset(parties.parameters) | sources.parameters_of_public_columns
    return names.union(*(group for group in sources.alternatives if group & names))


def data_folder(scenario: Scenario) -> str:
    """Return the folder of data sets that the scenario, or else the environment, names; empty where neither does."""
    return scenario.data or os.environ.get(DATA_VARIABLE, "")


def make_rules(
    scenario: Scenario, protocol: PhasedProtocol[Any, Any], *, num_parties: int
) -> tuple[dict[str, PhaseRules], PhaseRules]:
    """Return a scenario's rules by phase, and those of the other phases.

    Raises:
        ConfigurationError: a rule is not allowed.
    """
    default = {"deadline_seconds": scenario.deadline_seconds, "quorum": scenario.quorum}
    default_rules: PhaseRules = convert(default, PhaseRules, "")
    rules: dict[str, PhaseRules] = {
        name: convert({**default, **convert(own, dict[str, Any], f"phases.{name}")}, PhaseRules, f"phases.{name}")
        for name, own in scenario.phases.items()
    }
    _check_rules(protocol, rules, default_rules, num_parties=num_parties)
    return rules, default_rules


@contextlib.contextmanager
def blaming(kind: type[PhasedProtocol[Any, Any]]) -> Generator[None]:
    """Turn what a protocol's own code makes of parameters and entries that it did not foresee into a sentence.

    Raises:
        ConfigurationError: as the code inside, or in place of its arithmetic, lookup, type and value errors.
    """
    try:
        yield
    except ConfigurationError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        allowed = f"what protocol {kind.name!r} can take"
        value = f"{type(error).__name__}: {error}"
        raise ConfigurationError(field="parameters and entries", value=value, allowed=allowed) from error


def refuse_large(protocol: PhasedProtocol[Any, Any], public: IntArray) -> None:
    """Raise ConfigurationError if a session of agents would have a message above the limit.

    Args:
        protocol: with its parameters.
        public: the parties' public rows.
    """
    try:
        check_sizes(protocol, public)
    except ValueError as error:
        allowed = f"small enough for messages: {error}. By arrays there are none (transport = 'array')"
        raise ConfigurationError(field="the session of agents", value=protocol.name, allowed=allowed) from None


def _check_path(scenario: Scenario, *, num_parties: int, record: bool) -> None:
    """Raise ConfigurationError unless the path exists, can carry so many, and be recorded if it is to be."""
    check_transport(scenario.transport)
    check_descriptors(scenario.transport, num_parties=num_parties)
    if record and scenario.transport == ARRAY:
        allowed = "left out on the array path, where nobody sees anything"
        raise ConfigurationError(field="--record", value="given", allowed=allowed)
    if record and scenario.noise == "secure":
        raise ConfigurationError(field="--record", value="given", allowed="left out where noise is secure")


def _check_budget(scenario: Scenario, protocol: PhasedProtocol[Any, Any], inputs: Inputs) -> None:
    """Raise ConfigurationError unless the budget allows the session to whoever pays most."""
    most = (
        max(math.fsum(loss.proven for loss in losses) for _, _, losses in phase.loss_groups(inputs.public))
        for phase in protocol.phases
    )
    paid = math.fsum(most)
    if scenario.budget is not None and not scenario.budget >= paid:
        raise ConfigurationError(field="budget", value=scenario.budget, allowed=f"at least the session's {paid:g}")


def _check_rules(
    protocol: PhasedProtocol[Any, Any], rules: Mapping[str, PhaseRules], default: PhaseRules, *, num_parties: int
) -> None:
    """Raise ConfigurationError unless each rule is a phase's, can be kept by so many parties, and written down."""
    names = (JOIN, *(phase.name for phase in protocol.phases))
    for name in rules:
        if name not in names:
            raise ConfigurationError(field="phases", value=name, allowed=f"rules for {', '.join(names)}")
    for name in names:
        rule = rules.get(name, default)
        rule.required(num_parties)
        if math.isinf(rule.deadline_seconds):  # which no JSON could say again
            raise ConfigurationError(field="deadline_seconds", value=rule.deadline_seconds, allowed="finite")
