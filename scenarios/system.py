"""A system's descriptor: its parts by name, imported on first use; and functions that find systems.

A distribution that declares, say,

    [project.entry-points."psephos.systems"]
    mean = "survey.system:SYSTEM"

with `SYSTEM = System(protocol="survey.mean:BoundedMean", presenters="survey.pictures:PRESENTERS")` has a system: a
protocol with its parts in scenarios. Those of Psephos are declared in the same way, in `pyproject.toml`. Every part
except the protocol may be missing, and has a default for any protocol. A distribution with only a protocol declares it
under `psephos.protocols`.

Parts are named by text and imported late, so that looking up a system does not import them.
"""

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from .plugins import PROTOCOLS, check_registered, find, load, names_in

if TYPE_CHECKING:
    from ..protocol.phases import PhasedProtocol

SYSTEMS: Final = "psephos.systems"
"""The entry point group that maps protocols' names to `System` objects."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class System:
    """A protocol and its parts, each as "module:name"; an empty part is missing.

    Args:
        protocol: a subclass of `PhasedProtocol`, whose name is the entry point's.
        place: position in lists of systems; systems with equal positions are sorted by name.
        sources: a `reading.sources.PartySources`: the sources of parties.
        own_entries: a `deployment.own_entries.OwnEntries`: how to read, write and ask for one party's entries.
        data_sets: maps folders' names to `datasets.DataSet` objects.
        beginning: a `running.drafts.ScenarioTemplate`: how `psephos new` makes a scenario from a user's file; its
            module must not import anything heavy.
        file_form: a `verdicts.FileForm`, if outcomes in files differ from those in messages.
        presenters: maps outcome types to `presentation.Presenter` objects.
        attack: a subclass of `attacks.Attack`; by default `attacks.ReportAttack`, which infers from reports.
        estimates: maps a protocol and released tallies to estimates by name, of which `poisoner` pushes one; needed if
            the outcome has no `Estimate` fields.
        asking: an `adversaries.averaging_attacker.AskedAnew`: a value that the protocol can collect anew for each
            question.
        forecasts: a `running.forecasts.Forecasts`: the margins that a session can decide at its ε.
        variants: a subclass of `experiments.variants.VariantTable`, for `psephos variants`.
        plan: the same with the errors of `psephos plan`, if these differ; by default `variants`.
        details: maps a `running.resolution.Local` whose truth may be shown to further tables of its run's folder: rows
            by file name.
        measures: a subclass of `experiments.measures.Measures` for trials; by default errors of estimates.
        mechanism_cases: yields audits (`audit.Case`) of mechanisms; by default those of `audit.any_protocol`.
        session_cases: yields audits of whole sessions; by default as above.
        sweeps: yields sweeps of whole sessions over sizes (`audit.size_grid.SizeSweep`).
        claims: yields an `experiments.BoundedFinding` for each of the paper's claims that laws decide.
        reproduction: an `experiments.Paper`: the reproduction of the paper's experiments; its module must not import
            anything heavy.
        web_ballot: a `deployment.links.BallotMaker`: the form on the page of `serve --web`.
        commands: click commands by name, whose modules must not import anything heavy.

    Examples:
        >>> System(protocol="my.votes:Vote").place
        100
    """

    protocol: str
    place: int = 100
    sources: str = ""
    own_entries: str = ""
    data_sets: str = ""
    beginning: str = ""
    file_form: str = ""
    presenters: str = ""
    attack: str = ""
    estimates: str = ""
    asking: str = ""
    forecasts: str = ""
    variants: str = ""
    plan: str = ""
    details: str = ""
    measures: str = ""
    mechanism_cases: str = ""
    session_cases: str = ""
    sweeps: str = ""
    claims: str = ""
    reproduction: str = ""
    web_ballot: str = ""
    commands: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])


def systems() -> dict[str, System]:
    """Return all systems by protocol name, in the order of their positions.

    Raises:
        ConfigurationError: one cannot be imported, or has another type.

    Examples:
        >>> list(systems())
        ['dpwevote', 'truth-discovery', 'moral-preferences', 'fair-voting']
    """
    system_of_name = {name: find(SYSTEMS, name, System, field="system") for name in names_in(SYSTEMS)}
    return dict(sorted(system_of_name.items(), key=lambda each: each[1].place))


def protocol_names() -> tuple[str, ...]:
    """Return the sorted names of all protocols, with or without a system.

    Examples:
        >>> "fair-voting" in protocol_names()
        True
    """
    return tuple(sorted({*names_in(SYSTEMS), *names_in(PROTOCOLS)}))


def names_with(part: str) -> tuple[str, ...]:
    """Return the sorted names of the systems that have a part.

    Examples:
        >>> names_with("data_sets")
        ('dpwevote', 'fair-voting', 'moral-preferences', 'truth-discovery')
    """
    return tuple(sorted(name for name, system in systems().items() if getattr(system, part)))


def find_protocol(name: str) -> type["PhasedProtocol[Any, Any]"]:
    """Return the protocol registered as `name`, with or without a system.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is not a protocol.

    Examples:
        >>> find_protocol("dpwevote").__name__
        'DPWeVote'
    """
    from ..protocol.phases import PhasedProtocol
    from ..protocol.plugin_checks import check_declared

    if name in names_in(SYSTEMS):
        system: System = find(SYSTEMS, name, System, field="system")
        protocol = load(system.protocol, PhasedProtocol, field="protocol", name=name, is_class=True)
        check_registered(protocol, name, field="protocol")
    else:
        protocol = find(PROTOCOLS, name, PhasedProtocol, field="protocol", is_class=True, also=names_in(SYSTEMS))
    check_declared(protocol)
    return protocol


def part_of(protocol: type["PhasedProtocol[Any, Any]"], part: str, kind: Any, *, is_class: bool = False) -> Any:
    """Return a part of a protocol's system, or of its nearest base class's system that has the part; else None.

    Args:
        part: the name of a field of `System`.
        kind: the required type; with `is_class`, the required base class.

    Raises:
        ConfigurationError: it cannot be imported, or has another type.

    Examples:
        >>> from psephos.scenarios.attacks import Attack
        >>> part_of(find_protocol("dpwevote"), "attack", Attack, is_class=True).__name__
        'DPWeVoteAttack'
    """
    system_names = names_in(SYSTEMS)
    for each in protocol.__mro__:
        name = vars(each).get("name")
        if isinstance(name, str) and name in system_names and find_protocol(name) is each:
            system: System = find(SYSTEMS, name, System, field="system")
            if (part_found := load_part(system, part, kind, name=name, is_class=is_class)) is not None:
                return part_found
    return None


def load_part(system: System, part: str, kind: Any, *, name: str, is_class: bool = False) -> Any:
    """Return a single part of a system; None if it is missing. See `part_of`.

    Raises:
        ConfigurationError: it cannot be imported, or has another type; the error names the system as given.
    """
    target: str = getattr(system, part)
    field = part.replace("_", " ").removesuffix("s")
    return load(target, kind, field=field, name=name, is_class=is_class) if target else None


def commands(kind: Any) -> dict[str, Any]:
    """Return the systems' commands of one kind, by name.

    Raises:
        ConfigurationError: one cannot be imported, or has another type.
    """
    return {
        command: load(target, kind, field="command", name=command)
        for system in systems().values()
        for command, target in system.commands.items()
    }


def load_each(part: str, kind: Any, *, is_imported: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield a part of every system that has it, with the system's name; optionally only of imported systems.

    Raises:
        ConfigurationError: as `load_part`.
    """
    for name, system in systems().items():
        if is_imported and system.protocol.partition(":")[0] not in sys.modules:
            continue
        if (part_found := load_part(system, part, kind, name=name)) is not None:
            yield name, part_found
