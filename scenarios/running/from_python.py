"""Run scenarios from Python: `run(load("sybil"))` returns all results in memory.

Each part of the result prints as text, is a table in a notebook, and converts to a frame by `to_frame()`. A run in
memory has the same checks and the same bits as `psephos run`. Views contain private values, so they are recorded only
in simulations, and written only by the caller.
"""

import contextlib
import dataclasses
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, SupportsIndex, TypeVar, cast, overload

import msgspec
import numpy as np

from ...protocol.errors import ConfigurationError, printable, refuse
from ...protocol.phases import Truth
from ...protocol.privacy import LedgerEntry, total_of
from ...protocol.views import View
from ..adversaries.role import AttackReport
from ..presentation import rows_of
from ..presentation.numbers import join_words, pluralize
from ..presentation.objects import (
    frame_of_entries,
    frame_of_lessons,
    frame_of_rows,
    frame_of_views,
    html_of_outcome,
    mark_of,
    paragraph,
    table_of,
    text_of,
)
from ..reading.frames import AnyFrame, is_frame
from ..verdicts import at_most
from .config import Scenario, load_scenario
from .folder import RunFolder
from .frame_drafts import scenario_of_frame
from .plugin_errors import blame_plugins
from .resolution import resolve
from .run import ObservedRun, run_in_folder, run_in_memory

if TYPE_CHECKING:
    import pandas as pd

_T = TypeVar("_T")

_SOURCES: Final = "a shipped scenario's name, a file's path, or what `load` returns; of parties a frame"


class RunPart(Sequence[_T], Generic[_T]):
    """A sequence of one kind of results: losses, views, or adversaries' reports.

    Examples:
        >>> part = RunPart("words", ["yes", "no"], to_text=" or ".join, to_frame=frame_of_rows)
        >>> part, str(part), part[0]
        (<words: 2>, 'yes or no', 'yes')
    """

    def __init__(
        self,
        name: str,
        items: Iterable[_T],
        *,
        to_text: Callable[[Sequence[_T]], str],
        to_frame: Callable[[Sequence[_T]], "pd.DataFrame"],
    ) -> None:
        self._name = name
        self._items = tuple(items)
        self._to_text = to_text
        self._to_frame = to_frame

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...

    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        return self._items[index]

    def __iter__(self) -> Iterator[_T]:
        return iter(self._items)

    def __str__(self) -> str:
        return self._to_text(self._items)

    def __repr__(self) -> str:
        return f"<{self._name}: {len(self):,}>"

    def to_frame(self) -> "pd.DataFrame":
        """Return the part as a pandas frame."""
        return self._to_frame(self._items)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return cast("Any", self.to_frame()).__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return paragraph(str(self)) + (table_of(self.to_frame()) if self else "")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RunResult:
    """All results of a run.

    Args:
        scenario: the resolved scenario.
        outcome: the released outcome.
        own_outcomes: private outcomes of single parties, by name.
        ledger: all privacy losses: of each party, or one entry for all parties (arrays).
        views: the parties' views, the server's first; only of agents in simulations. Private.
        findings: reports of the scenario's adversaries.
        truth: true values of the estimates, if they may be shown: in simulations of synthetic parties.
        seconds: duration of the session.
        folder: the folder with all results; None if nothing was written.
        gold: values of a gold standard; None if there is none.
        said: for a frame: sentences on its content, the trust model, and ε.

    Examples:
        >>> left = run(load("consortium", {"partners.count": 30}), seed=7, transport="array")
        >>> left.ledger, left.findings
        (<losses: 2>, <findings: 0>)
        >>> print(left.findings)
        There was no adversary.
    """

    scenario: Scenario
    outcome: msgspec.Struct
    own_outcomes: Mapping[str, msgspec.Struct]
    ledger: RunPart[LedgerEntry]
    views: RunPart[View]
    findings: RunPart[AttackReport]
    truth: Truth | None
    seconds: float
    folder: Path | None = None
    gold: Mapping[str, str] | None = None
    said: tuple[str, ...] = ()

    def to_frame(self) -> "pd.DataFrame":
        """Return the outcome as a frame with the rows of `estimates.csv`, and the truth if it may be shown."""
        return frame_of_rows(rows_of(self.outcome, truth=self.truth, gold=self.gold))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the frame to other libraries: `polars.from_dataframe(left)`, `pyarrow.table(left)`."""
        return cast("Any", self.to_frame()).__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        parts = ["\n".join(self.said)] if self.said else []
        return "\n\n".join([*parts, text_of(self.outcome), str(self.ledger), *map(str, self.findings)])

    def __repr__(self) -> str:
        parts = f"{self.ledger!r}, {self.views!r}, {self.findings!r}"
        return f"RunResult({self.scenario.name!r}, {self.outcome!r}, {parts})"

    def _repr_html_(self) -> str:
        opening_html, sections = [
            "".join(map(paragraph, part)) for part in (self.said, [str(self.ledger), *map(str, self.findings)])
        ]
        return opening_html + html_of_outcome(self.outcome, truth=self.truth, gold=self.gold) + sections


def load(source: str | os.PathLike[str], settings: Mapping[str, object] | None = None, **more: object) -> Scenario:
    """Load a scenario, with some values changed.

    Args:
        source: a shipped scenario's name, as in `psephos scenarios`, or the path of a TOML or JSON file.
        settings: values by key, as in `--set`: a name that is unique among tables, or a dotted path. A file of parties
            may be its path, or a frame of pandas or polars, under `votes`, `answers` (also a `Crowd`) and `truth`,
            `rankings` or `records`, depending on the protocol, or under the file's key. Parties may also be a list of
            rows.
        **more: further settings, by names without a dot.

    Raises:
        ConfigurationError: there is no such scenario, it cannot be read, a key is set twice, or a key or a value is not
            allowed.

    Examples:
        >>> scenario = load("consortium", {"partners.count": 30}, epsilon=2)
        >>> scenario.parameters["epsilon"], scenario.parties["count"]
        (2, 30)
    """
    if not isinstance(cast("object", source), str | os.PathLike):
        raise ConfigurationError(field="scenario", value=f"a {type(source).__name__}", allowed=_SOURCES)
    allowed = "values by key, as {'epsilon': 1}"
    refuse(
        not isinstance(cast("object", settings), Mapping | None), "settings", f"a {type(settings).__name__}", allowed
    )
    all_settings = dict(settings or {})
    if repeated_keys := sorted(all_settings.keys() & more.keys()):
        raise ConfigurationError(field="settings", value=repeated_keys[0], allowed="set once")
    plain = {key: _plain(value) for key, value in {**all_settings, **more}.items()}
    try:
        return load_scenario(os.fspath(source), plain)
    except ConfigurationError as error:
        if error.field != "--set":
            raise
        raise ConfigurationError(field="setting", value=error.value, allowed=error.allowed) from None


def run(
    scenario: Scenario | str | os.PathLike[str] | AnyFrame,
    *,
    epsilon: float | None = None,
    trust: str | None = None,
    synthetic: bool = False,
    seed: SupportsIndex | None = None,
    transport: str | None = None,
    views: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> RunResult:
    """Run a scenario, or a frame of parties, in this process, and return the results.

    Args:
        scenario: a scenario from `load`, a name or a path for `load`, or a frame of pandas, polars or pyarrow, whose
            columns show its kind, as for a file of `psephos new`: a vote (name, optional weight, a column for each
            motion), a crowd's answers (task, worker, label), rankings (voter, group, ranking), or a survey's records
            (voter, record, choice, features).
        epsilon: for a frame: the ε; by default that of `psephos new`, 2, or 1 for a survey. The result states its unit.
        trust: for a frame: "local" (default), without a trusted party, or "central", where the server sees the values.
        synthetic: for a frame: whether its parties are synthetic. Otherwise its noise is secure if possible, without a
            seed.
        seed: the seed of simulated noise; by default the scenario's, or else a new secret one.
        transport: "memory", "tcp" or another registered transport, or "array" for no agents; by default the scenario's.
            It does not change the outcome.
        views: whether to record views, with agents and simulated noise.
        out: a new or empty folder for all results, as by `psephos run`; by default nothing is written.

    Raises:
        ConfigurationError: the scenario, the seed, the transport or the folder is not allowed.
        QuorumError: a phase closed without its quorum. Adversaries' reports are in the error's notes.
        PluginError: the code of a protocol, a transport or a role raised an exception.
        UnheardError: no party received the outcome.
        OSError: the network or the disk fails.

    Examples:
        >>> left = run(load("consortium", {"partners.count": 30}), seed=7, transport="array")
        >>> left.outcome.num_partners, left.outcome.epsilon_total
        (30, 1.0)
        >>> [entry.phase for entry in left.ledger]
        ['weights', 'opinions']
    """
    notes: tuple[str, ...] = ()
    if is_frame(scenario):
        chosen, notes = scenario_of_frame(scenario, epsilon=cast("Any", _plain(epsilon)), trust=trust)
        refuse(not isinstance(cast("object", synthetic), bool | np.bool_), "synthetic", synthetic, "True or False")
        chosen = msgspec.structs.replace(chosen, synthetic=bool(synthetic))
    else:
        for field, value in (("epsilon", epsilon), ("trust", trust), ("synthetic", synthetic or None)):
            refuse(value is not None, field, value, "left out but of a frame: `load` sets it in a scenario")
        chosen = scenario if isinstance(scenario, Scenario) else load(cast("str", scenario))
    if seed is not None:
        chosen = msgspec.structs.replace(chosen, seed=_seed_of(seed))
    if transport is not None:
        chosen = msgspec.structs.replace(chosen, transport=_text_of("transport", transport))
    refuse(not isinstance(cast("object", views), bool | np.bool_), "views", views, "True or False")
    setup = resolve(chosen)
    folder = None if out is None else RunFolder(_path_of(out))
    observed_run = ObservedRun() if views or setup.adversaries else None
    with blame_plugins(setup.list_plugins, is_private=setup.protocol.keeps_words, is_last=True):
        if folder is None:
            finished_run = run_in_memory(setup, observed_run=observed_run)
        else:
            finished_run = run_in_folder(setup, folder, observed_run=observed_run)
    record = finished_run.record
    return RunResult(
        scenario=setup.scenario,
        outcome=record.outcome,
        own_outcomes={  # streamed parties have no names
            setup.names[place]: own_outcome
            for place, own_outcome in record.own_outcomes.items()
            if place < len(setup.names)
        },
        ledger=RunPart("losses", finished_run.entries, to_text=_say_losses, to_frame=frame_of_entries),
        views=RunPart("views", record.views if views else (), to_text=_say_views, to_frame=frame_of_views),
        findings=RunPart("findings", finished_run.attack_reports, to_text=_say_findings, to_frame=frame_of_lessons),
        truth=finished_run.truth,
        seconds=finished_run.seconds,
        folder=None if folder is None else folder.path,
        gold=finished_run.gold,
        said=notes,
    )


def _say_losses(entries: Sequence[LedgerEntry]) -> str:
    """Return a sentence on the greatest loss of a person, with its unit and relation."""
    if not entries:
        return "Nobody lost any privacy: nothing was reported."
    by_person: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        by_person.setdefault(entry.person, []).append(entry)
    num_persons = sum(person_entries[0].num_persons for person_entries in by_person.values())
    worst_total = max(map(total_of, by_person.values()), key=lambda total: total.proven)
    models = " and ".join(sorted({entry.model.value for entry in entries}))
    units = list(dict.fromkeys(entry.unit for entry in entries))
    verb = "lost" if num_persons == 1 else "lost at most"
    units_text = f"unit{'s' * (len(units) > 1)}: {join_words(units)}"
    bound = f"proven for {worst_total.relation.value} neighbors in the {models} model{mark_of(entries)}"
    each = " each" * (num_persons > 1)
    return f"{pluralize(num_persons, 'person')} {verb} ε = {at_most(worst_total.proven)}{each}: {bound} ({units_text})."


def _say_views(views: Sequence[View]) -> str:
    num_steps = sum(len(view.observations) for view in views)
    return f"{pluralize(len(views), 'view')}, {pluralize(num_steps, 'step')}: private values of a simulation."


def _say_findings(attack_reports: Sequence[AttackReport]) -> str:
    return "\n\n".join(map(str, attack_reports)) or "There was no adversary."


def _seed_of(seed: Any) -> int:
    if not isinstance(seed, bool):
        with contextlib.suppress(TypeError):
            return operator.index(seed)  # also accepts numpy's integers
    # Seeds are secret, so errors do not show them.
    raise ConfigurationError(field="seed", value=f"a {type(seed).__name__}", allowed="an integer of at least 0")


def _path_of(out: object) -> Path:
    kind = type(out).__name__
    text = os.fspath(cast("os.PathLike[str]", out)) if isinstance(out, str | os.PathLike) else None
    with contextlib.suppress(UnicodeEncodeError):
        if isinstance(text, str) and b"\0" not in os.fsencode(text):
            return Path(text)
    value = printable(text) if isinstance(text, str) else f"a {kind}"
    raise ConfigurationError(field="out", value=value, allowed="a folder's path, as text")


def _text_of(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(field=field, value=value, allowed="text")
    return value


def _plain(value: object) -> object:
    """Return a setting's value as in a file: arrays as lists, paths as text."""
    value_given = cast("Any", value)
    if isinstance(value, np.ndarray | np.generic):
        return value_given.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value_given.items()}
    return [_plain(each) for each in value_given] if isinstance(value, list | tuple) else value
