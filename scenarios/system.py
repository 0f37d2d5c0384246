"""A system's descriptor: its parts by name, each imported when it is first needed, and how a system is found.

A distribution that declares, say,

    [project.entry-points."psephos.systems"]
    mean = "survey.system:SYSTEM"

with `SYSTEM = System(protocol="survey.mean:BoundedMean", presenters="survey.pictures:PRESENTERS")` has a system: a
protocol with what belongs to it in scenarios. Ours are declared the same way, in `pyproject.toml`. Every part but the
protocol may be missing, and is then what any protocol has. A distribution with a protocol alone declares it under
`psephos.protocols`.

The rule that holds here: a part is named by text and imported late, so that looking up a system imports none of it.
"""

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from .plugins import PROTOCOLS, check_registered, find, load, names_in

if TYPE_CHECKING:
    from ..protocol.phases import PhasedProtocol

SYSTEMS: Final = "psephos.systems"
"""Entry points: the protocol's name → `System`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class System:
    """A protocol and its parts, each as "module:name"; an empty part is missing.

    Args:
        protocol: a subclass of `PhasedProtocol`, whose name is the entry point's.
        place: where lists of all systems have this one; those of the same place are in the order of their names.
        sources: a `reading.sources.PartySources`: where parties may be from.
        own_entries: a `deployment.own_entries.OwnEntries`: how one party's own entries are read, written
            and asked for.
        data_sets: by the names of their folders, each a `datasets.DataSet`.
        beginning: a `running.drafts.ScenarioTemplate`: how `psephos new` makes a scenario of somebody's own file; a
            module that imports nothing heavy.
        file_form: a `verdicts.FileForm`, where files have outcomes otherwise than messages.
        presenters: by the types of what they show, each a `presentation.Presenter`.
        attack: a subclass of `attacks.Attack`; without it `attacks.ReportAttack`, which infers from reports.
        estimates: where an outcome's fields are none, makes estimates by name, of which `poisoner` pushes one, of a
            protocol and the tallies that are released.
        asking: what asking again is said to cost: a context → sentences.
        forecasts: a `running.forecasts.Forecasts`: what a session can tell at its price, before it is held.
        variants: a subclass of `experiments.variants.VariantTable`: what every variant offers, for `psephos variants`.
        plan: the same, with the errors that `psephos plan` plans for, where these are others; without it `variants`.
        details: a function of a `running.resolution.Local` whose truth may be shown: more tables for its run's folder,
            rows by the file's name.
        measures: a subclass of `experiments.measures.Measures`: what trials are measured by; without it errors of
            estimates.
        mechanism_cases: makes cases (`audit.Case`) of single mechanisms; without them `audit.any_protocol` does.
        session_cases: makes cases of whole sessions; likewise.
        sweeps: makes families of whole sessions of every size (`audit.size_grid.SizeSweep`).
        claims: makes an `experiments.BoundedFinding` of each of the paper's claims.
        reproduction: an `experiments.Paper`: the paper's experiments, run again; a module that imports nothing heavy.
        web_ballot: a `deployment.links.BallotMaker`: what the page of `serve --web` asks a voter.
        commands: of the command line, by name: click commands, whose modules import nothing heavy.

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
    """Return all systems by their protocols' names, in the order of their places.

    Raises:
        ConfigurationError: one cannot be imported, or is none.

    Examples:
        >>> list(systems())
        ['dpwevote', 'truth-discovery', 'moral-preferences', 'fair-voting']
    """
    system_of_name = {name: find(SYSTEMS, name, System, field="system") for name in names_in(SYSTEMS)}
    return dict(sorted(system_of_name.items(), key=lambda each: each[1].place))


def protocol_names() -> tuple[str, ...]:
    """Return the names of all protocols, with a system or alone, sorted.

    Examples:
        >>> "fair-voting" in protocol_names()
        True
    """
    return tuple(sorted({*names_in(SYSTEMS), *names_in(PROTOCOLS)}))


def names_with(part: str) -> tuple[str, ...]:
    """Return the names of the systems that have a part, sorted.

    Examples:
        >>> names_with("data_sets")
        ('dpwevote', 'fair-voting', 'moral-preferences', 'truth-discovery')
    """
    return tuple(sorted(name for name, system in systems().items() if getattr(system, part)))


def find_protocol(name: str) -> type["PhasedProtocol[Any, Any]"]:
    """Return the protocol registered as `name`, with a system or alone.

    Raises:
        ConfigurationError: there is none, it cannot be imported, or it is no protocol.

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
    """Return a part of the system of a protocol's class, or of the nearest that it inherits from and has it, else None.

    Args:
        part: one of `System`'s.
        kind: what the part is, or with `is_class` a subclass of.

    Raises:
        ConfigurationError: it cannot be imported, or is something else.

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
    """Return a part of a system, which is not a table; None where it is missing. See `part_of`.

    Raises:
        ConfigurationError: it cannot be imported, or is something else; it names the system as given.
    """
    target: str = getattr(system, part)
    field = part.replace("_", " ").removesuffix("s")
    return load(target, kind, field=field, name=name, is_class=is_class) if target else None


def commands(kind: Any) -> dict[str, Any]:
    """Return the commands of one kind that systems bring, by name.

    Raises:
        ConfigurationError: one cannot be imported, or is none.
    """
    return {
        command: load(target, kind, field="command", name=command)
        for system in systems().values()
        for command, target in system.commands.items()
    }


def load_each(part: str, kind: Any, *, is_imported: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield a part of every system that has it, with the system's name, or only of those already imported.

    Raises:
        ConfigurationError: as `load_part`.
    """
    for name, system in systems().items():
        if is_imported and system.protocol.partition(":")[0] not in sys.modules:
            continue
        if (part_found := load_part(system, part, kind, name=name)) is not None:
            yield name, part_found
