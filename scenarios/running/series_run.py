"""Run a series: each vote as a separate run in a separate folder, with one ledger for each person over all votes.

All paths give the same bits: a vote's roster depends only on public values, and its noise on its number.
"""

import contextlib
import dataclasses
import functools
import importlib.metadata
import itertools
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import msgspec

from ...agents.adversaries import SERVER
from ...protocol.errors import BudgetExceededError, PsephosError, QuorumError, UnheardError
from ...protocol.memoized_reports import KeptReports, MemoizedReports, check_values
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss, common_relation, total_of
from ...protocol.roles import SessionKind
from ..adversaries.role import AttackReport, Role, SeriesVote
from ..plugins import ARRAY
from ..presentation import briefs_of
from ..presentation.numbers import pluralize
from ..reading.times import say_period
from ..verdicts import round_up
from .accounts import Accounts
from .folder import SCHEMA, RunFolder
from .plugin_errors import blame_plugins
from .progress import Watcher
from .record import SessionObservers
from .resolution import Local, resolve, with_adversaries
from .run import FinishedRun, run_in_folder, write_lessons
from .series import Series, Vote, name_vote_in_errors
from .session_facts import SessionFacts, about, prices_of
from .statements import certainty_of, meaning_of, model_of, trust_of
from .studies import Study, StudyTable, write_study
from .writing import describe_failure

Watching = Callable[[Local], AbstractContextManager[Watcher]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VoteResult:
    """The result of one vote of a series.

    Args:
        vote: the vote.
        folder: the name of its folder, below the series' folder.
        num_there: number of parties that wanted to take part.
        names: the parties on its roster; empty if it had none.
        refused: parties whose budget did not suffice, each with the error.
        paid: each party's proven ε in it (replace-one neighbors).
        repeated: for each phase, the parties whose reports repeat an earlier vote's.
        finished: the finished run; None if it has no outcome.
        failure: why it has none.
    """

    vote: Vote
    folder: str
    num_there: int
    names: Sequence[str]
    refused: Mapping[str, BudgetExceededError]
    paid: Mapping[str, float]
    repeated: Mapping[str, Collection[str]] = dataclasses.field(default_factory=dict[str, Collection[str]])
    finished: FinishedRun | None = None
    failure: PsephosError | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class FinishedSeries:
    """A finished series.

    Args:
        held: the results of its votes, in order.
        accounts: all persons' losses.
        result: the content of the series' `result.json`.
        attack_reports: adversaries' reports on all votes together.
        setting: the number of persons, their losses and trust model, for the line below pictures' titles.
    """

    held: Sequence[VoteResult]
    accounts: Accounts
    result: Mapping[str, Any]
    attack_reports: Sequence[AttackReport] = ()
    setting: str = ""


def resolve_series(series: Series, *, record: bool = False) -> list[Local]:
    """Look up and check everything that the votes name, as if each party had enough budget for all of them.

    Raises:
        ConfigurationError: a value is not allowed; `field` names the vote.

    Examples:
        >>> from psephos.scenarios import load_series
        >>> sides = resolve_series(load_series("housing-cooperative"))
        >>> [len(side.names) for side in sides]
        [6, 4, 7, 6]
    """
    sides: list[Local] = []
    memoized_by_phase: dict[tuple[str, str], MemoizedReports] = {}
    for vote in series.votes:
        with name_vote_in_errors(vote.number):
            side = resolve(vote.scenario, record=record, turnout=vote.turnout, reads_adversaries=False)
            _check_kept(side, memoized_by_phase)
            sides.append(side)
    all_names = frozenset(name for side in sides for name in side.names)
    setups: list[Local] = []
    for vote, side in zip(series.votes, sides, strict=True):
        with name_vote_in_errors(vote.number):
            setups.append(with_adversaries(side, absent_names=all_names.difference(side.names)))
    return setups


def _check_kept(side: Local, memoized_by_phase: dict[tuple[str, str], MemoizedReports]) -> None:
    """Refuse a vote that would repeat memoized reports of other values, or of another law.

    `memoized_by_phase` has the reports of all earlier votes, and receives those of this one.
    """
    for phase in side.protocol.phases:
        if (scope := phase.memo_scope) is None:
            continue
        memoized = memoized_by_phase.setdefault((scope.name, phase.name), MemoizedReports(scope=scope))
        scope.check(memoized.scope)
        rows: list[list[int]] = side.inputs.private[:, phase.columns].tolist()
        for name, values in zip(side.names, map(tuple, rows), strict=True):
            check_values(scope, is_changed=memoized.values.setdefault(name, values) != values, party=name)


def run_series(
    series: Series,
    setups: Sequence[Local],
    folder: RunFolder,
    *,
    pictures: bool = True,
    watch_vote: Watching | None = None,
    on_vote: Callable[[VoteResult], None] | None = None,
) -> FinishedSeries:
    """Run votes one after another, and write all results into a folder.

    If a vote misses its quorum, or no party receives its outcome, the series continues with the next vote; its losses
    stay charged. The ledger has all charges in any case.

    Args:
        setups: the resolved votes, from `resolve_series`.
        folder: the series' folder, with a folder for each vote.
        pictures: whether to draw the outcomes; `series_shown.draw_series` draws the series.
        watch_vote: returns the watcher of a running vote.
        on_vote: called with each finished vote.

    Raises:
        ConfigurationError, PluginError, OSError: as `run_session`.
    """
    accounts = Accounts(series.allowance)
    memoized: KeptReports = {}
    started_at = time.perf_counter()
    first = setups[0].scenario
    run_facts: dict[str, Any] = {"transport": first.transport, "noise": first.noise, "votes": len(setups)}
    run_facts |= {"title": series.title, "about": facts_of_votes(setups)}
    failure: dict[str, Any] = {}
    vote_results: list[VoteResult] = []
    try:
        for vote, side in zip(series.votes, setups, strict=True):
            vote_results.append(
                _hold(series, vote, side, accounts, memoized, folder, pictures=pictures, watch_vote=watch_vote)
            )
            if on_vote is not None:
                on_vote(vote_results[-1])
    except BaseException as error:
        failure["failure"] = describe_failure(error)
        raise
    finally:
        folder.write_ledger(accounts.entries)
        versions = {name: importlib.metadata.version(name) for name in ("psephos", "numpy")}
        run_facts["seconds"] = time.perf_counter() - started_at
        folder.write_json("run.json", {"schema": SCHEMA, **run_facts, **versions, **failure})
        if failure:
            write_study(
                folder, _study_of(series, setups, vote_results, accounts, failure=str(failure["failure"]["reason"]))
            )
    result = _result_of(series, vote_results, accounts, is_secure="secure" in {side.scenario.noise for side in setups})
    folder.write_json("result.json", result)
    if rows := _rows_of(series, vote_results, accounts):
        folder.write_table("losses.csv", rows, is_exact=True)
    attack_reports = _learn(setups, vote_results)
    setting = _setting_of(_most_trusting_protocol(setups), vote_results)
    folder.write_table("votes.csv", _rows_of_votes(vote_results, setups))
    write_study(folder, _study_of(series, setups, vote_results, accounts, attack_reports=attack_reports))
    if attack_reports:
        write_lessons(folder, attack_reports)
    return FinishedSeries(
        held=vote_results, accounts=accounts, result=result, attack_reports=attack_reports, setting=setting
    )


def say_allowance(series: Series) -> str:
    """Return each party's budgets, as a phrase; empty without limits.

    Examples:
        >>> from psephos.scenarios import load_series
        >>> say_allowance(load_series("housing-cooperative"))
        'ε at most 6 for each partner in any 7 days, and 9 in all'
    """
    allowance, budget = series.allowance, series.allowance.budget
    if budget is None:
        return ""
    at_delta = f" (δ = {budget.delta:g})" if budget.delta else ""
    limit = f"ε at most {round_up(budget.epsilon, 6):g}{at_delta} for each {series.client_role}"
    if not math.isinf(budget.datum):
        limit = f"{limit} and {budget.datum:g} for each datum"
    if allowance.period_seconds is None:
        return f"{limit} in all"
    limit_text = f"{limit} in any {say_period(allowance.period_seconds)}"
    return limit_text + ("" if allowance.in_all is None else f", and {allowance.in_all.epsilon:g} in all")


def _rows_of_votes(vote_results: Sequence[VoteResult], setups: Sequence[Local]) -> list[dict[str, object]]:
    """Return a row for each vote: its subject, participants (unless private), and result."""
    rows: list[dict[str, object]] = []
    hides = any(side.protocol.hides_participation for side in setups)
    for each in vote_results:
        row: dict[str, object] = {"vote": each.vote.number, "title": each.vote.scenario.title, "folder": each.folder}
        if not hides:
            row |= {"parties": len(each.names), "refused_no_budget": len(each.refused)}
        outcome = None if each.finished is None else each.finished.record.outcome
        briefs = () if outcome is None else briefs_of(outcome)
        brief_texts = "; ".join(f"{brief.name}: {brief.said.plain}" for brief in briefs)
        rows.append({**row, "outcome": brief_texts or str(each.failure or "")})
    return rows


def _study_of(
    series: Series,
    setups: Sequence[Local],
    vote_results: Sequence[VoteResult],
    accounts: Accounts,
    *,
    attack_reports: Sequence[AttackReport] = (),
    failure: str = "",
) -> Study:
    """Return the content of a series' page; each vote has a separate folder and page."""
    persons = [*map(accounts.entries_of, accounts.persons)]
    paid_text = " ".join(meaning_of(prices_of(*persons), party=series.client_role)) if persons else "nothing."
    limit = say_allowance(series) or "what votes cost adds up, without a limit"
    is_secure = "secure" in {side.scenario.noise for side in setups}
    hides = any(side.protocol.hides_participation for side in setups)
    attack_texts = [f"{each.role}, {each.who}: {' '.join(each.sentences)}" for each in attack_reports]
    num_finished = sum(each.finished is not None for each in vote_results)
    return Study(
        kind="Series of votes",
        title=series.title,
        facts=[pluralize(len(setups), "vote"), *([] if is_secure else ["a simulation, which protects nobody"])],
        verdict=[
            f"{num_finished:,} of {pluralize(len(vote_results), 'vote')} came to an outcome.",
            *([f"The series ended: {failure}."] if failure else []),
            f"Privacy loss per person over all votes: {paid_text}",
            f"Over the series: {limit}.",
        ],
        tables=[
            StudyTable(name="series", picture="The votes, one after another"),
            StudyTable(name="votes", caption="The votes"),
            *([] if is_secure or hides else [StudyTable(name="losses", caption="ε of each person, by vote")]),
            *(
                StudyTable(name=f"adversary-{number}", caption=each.role)
                for number, each in enumerate(attack_reports, 1)
            ),
        ],
        notes=[*trust_of(facts_of_votes(setups)), *attack_texts],
    )


def facts_of_votes(setups: Sequence[Local]) -> SessionFacts:
    """Return facts that hold for every vote: the weakest trust model, and the greatest losses of any vote.

    For masked votes, T and c are the least of any.

    Examples:
        >>> from psephos.scenarios import load_series
        >>> facts = facts_of_votes(resolve_series(load_series("housing-cooperative")))
        >>> facts.client_role, facts.proven
        ('partner', 3.0)
    """
    protocols = [side.protocol for side in setups]
    losses = [protocol.losses for protocol in protocols]
    relation = common_relation(itertools.chain(*losses))
    totals = [total_of(losses_of_vote, relation=relation) for losses_of_vote in losses]
    masked = [phase for protocol in protocols if (phase := protocol.masked_phase) is not None]
    return msgspec.structs.replace(
        about(_most_trusting_protocol(setups)),
        prices=prices_of(*losses),
        claimed=max(total.claimed for total in totals),
        proven=max(total.proven for total in totals),
        relation=relation.value,
        threshold=min((phase.threshold for phase in masked), default=0),
        colluders=min((phase.colluders for phase in masked), default=0),
    )


def _most_trusting_protocol(setups: Sequence[Local]) -> PhasedProtocol[Any, Any]:
    """Return the protocol with the most trust: in a server with values, else a semi-honest one, else few colluders."""

    def trust(protocol: PhasedProtocol[Any, Any]) -> tuple[bool, bool, bool]:
        masked = protocol.masked_phase
        sees_values = any(phase.model.trusts_server for phase in protocol.phases)
        return sees_values, masked is not None and masked.is_sparse, masked is not None

    return max((side.protocol for side in setups), key=trust)


def _setting_of(protocol: PhasedProtocol[Any, Any], vote_results: Sequence[VoteResult]) -> str:
    """Return the number of persons, their greatest loss, and their trust model."""
    party = protocol.client_role
    persons = {name for each in vote_results for name in (*each.names, *each.refused)}
    max_paid = max((math.fsum(each.paid.get(name, 0.0) for each in vote_results) for name in persons), default=0.0)
    paid_text = f"at most ε = {round_up(max_paid, 6):g} proven for one {party} over all votes (replace-one)"
    return f"{pluralize(len(persons), party)} · {paid_text} · {model_of(protocol)}"


def _learn(setups: Sequence[Local], vote_results: Sequence[VoteResult]) -> list[AttackReport]:
    """Return the reports on all votes together, of adversaries that every vote has."""
    attack_reports: list[AttackReport | None] = []
    for number, table in enumerate(setups[0].scenario.adversary):
        if any(side.scenario.adversary[number : number + 1] != [table] for side in setups):
            continue
        roles = [side.roles[number] for side in setups]
        if votes := [*_finished_votes(roles, vote_results)]:
            with blame_plugins(setups[0].plugins, is_private=setups[0].protocol.keeps_words):
                attack_reports.append(roles[0].learn_over(votes))
    return [attack_report for attack_report in attack_reports if attack_report is not None]


def _finished_votes(roles: Sequence[Role], vote_results: Sequence[VoteResult]) -> Iterator[SeriesVote]:
    """Yield the completed votes for an adversary of the whole series, with its roles in each vote."""
    for role, each in zip(roles, vote_results, strict=True):
        if each.finished is None or each.finished.trace is None:
            continue
        context, trace = each.finished.trace
        yield SeriesVote(
            number=each.vote.number,
            members=[name for name in role.members if name == SERVER or name in context.names],
            context=context,
            trace=trace,
            paid=each.paid,
            repeated=each.repeated,
        )


def _hold(
    series: Series,
    vote: Vote,
    side: Local,
    accounts: Accounts,
    memoized: KeptReports,
    folder: RunFolder,
    *,
    pictures: bool,
    watch_vote: Watching | None,
) -> VoteResult:
    """Run one vote, with the parties whose budget suffices."""
    repeated_names = _find_repeated(side, memoized)
    prices = _prices(side, repeated_names)
    refusals = {
        name: accounts.refusal(name, [loss for _, loss in losses_of_person], vote.at)
        for name, losses_of_person in prices.items()
    }
    refused_names = {name: refusal for name, refusal in refusals.items() if refusal is not None}
    name_of_folder = f"vote-{vote.number:0{len(str(len(series.votes)))}}"
    outcome = functools.partial(
        VoteResult,
        vote=vote,
        folder=name_of_folder,
        num_there=len(side.names),
        refused=refused_names,
        repeated=repeated_names,
    )
    if refused_names:
        try:
            side = _without(side, vote, refused_names)
        except PsephosError as error:
            return outcome(names=(), paid={}, failure=error)
    ledgers = {name: accounts.ledger(name, vote.at) for name in side.names}
    entries_before = {name: len(ledger.entries) for name, ledger in ledgers.items()}
    finished_run: FinishedRun | None = None
    failure: PsephosError | None = None
    observers = SessionObservers(kept=memoized)
    try:
        with contextlib.nullcontext() if watch_vote is None else watch_vote(side) as watcher:
            if watcher is not None:
                observers = SessionObservers(kept=memoized, listener=watcher.on_effect, on_progress=watcher.poll)
            finished_run = run_in_folder(
                side,
                RunFolder(folder.path / name_of_folder),
                pictures=pictures,
                ledgers=None if side.scenario.transport == ARRAY else ledgers,
                observers=observers,
            )
    except (QuorumError, UnheardError) as error:
        failure = error
    finally:
        if side.scenario.transport == ARRAY:  # whose ledger has one entry for all parties
            for name, ledger in ledgers.items():
                for phase, loss in prices[name]:
                    ledger.charge(loss, session=series.name, phase=phase)
        charged = [entry for name, ledger in ledgers.items() for entry in ledger.entries[entries_before[name] :]]
        session = f"{series.name}, vote {vote.number}"
        accounts.book((msgspec.structs.replace(entry, session=session) for entry in charged), vote.at)
    return outcome(
        names=side.names, paid=_epsilon_of_persons(charged, side.names), finished=finished_run, failure=failure
    )


def _without(side: Local, vote: Vote, refused_names: Mapping[str, BudgetExceededError]) -> Local:
    """Return a vote without parties whose budget does not suffice, if the others meet the quorum of all present.

    Raises:
        QuorumError: the quorum is not met.
        ConfigurationError: the vote is not possible with the others.
    """
    scenario, protocol = side.scenario, side.protocol
    num_remaining = len(side.names) - len(refused_names)
    wait_times = side.rules.waits_of(protocol, num_parties=len(side.names))
    required = {wait.name: wait.quorum for wait in wait_times if not wait.is_hidden}
    for name, min_required in required.items():
        if num_remaining < min_required:
            missing = tuple(refused_names)
            raise QuorumError(
                phase=name, received=num_remaining, required=min_required, missing=missing, first_drop=_NO_ROOM
            )
    changes: dict[str, Any] = {}
    if side.rules.quorum is not None:
        changes["quorum"] = side.rules.num_required(len(side.names))
    changes["phases"] = {
        name: {**phase_settings, "quorum": required[name]}
        if "quorum" in phase_settings and name in required
        else phase_settings
        for name, phase_settings in scenario.phases.items()
    }
    smaller = msgspec.structs.replace(scenario, **changes)
    smaller_setup = resolve(
        smaller, record=side.record, turnout=vote.turnout.without(refused_names), reads_adversaries=False
    )
    return with_adversaries(smaller_setup, absent_names={*side.away, *refused_names})


_NO_ROOM: Final = "its budget has no room for this vote"


def _find_repeated(side: Local, memoized: KeptReports) -> dict[str, Collection[str]]:
    """Return for each phase the parties whose reports a vote repeats."""
    names_of_phase: dict[str, Collection[str]] = {}
    for phase in side.protocol.phases:
        earlier_reports = None if phase.memo_scope is None else memoized.get((phase.memo_scope.name, phase.name))
        if earlier_reports is not None:
            names_of_phase[phase.name] = earlier_reports.drawn.keys() & set(side.names)
    return names_of_phase


def _prices(side: Local, repeated_names: Mapping[str, Collection[str]]) -> dict[str, list[tuple[str, PrivacyLoss]]]:
    """Return each party's losses in a vote by phase; none if it repeats a memoized report."""

    @functools.cache  # cached, since many parties have the same public row
    def losses_of(phase: int, public: tuple[int, ...]) -> tuple[PrivacyLoss, ...]:
        return side.protocol.phases[phase].losses_of(public)

    rows: list[list[int]] = side.inputs.public.tolist()
    return {
        name: [
            (phase.name, loss)
            for place, phase in enumerate(side.protocol.phases)
            if name not in repeated_names.get(phase.name, ())
            for loss in losses_of(place, tuple(public))
        ]
        for name, public in zip(side.names, rows, strict=True)
    }


def _epsilon_of_persons(entries: Sequence[LedgerEntry], names: Sequence[str]) -> dict[str, float]:
    """Return each person's ε."""
    entries_of_person: dict[str, list[LedgerEntry]] = {name: [] for name in names}
    for entry in entries:
        entries_of_person[entry.person].append(entry)
    return {
        name: total_of(person_entries, relation=NeighboringRelation.REPLACE_ONE).proven
        for name, person_entries in entries_of_person.items()
    }


def _result_of(
    series: Series, vote_results: Sequence[VoteResult], accounts: Accounts, *, is_secure: bool
) -> dict[str, Any]:
    """Return the content of the series' `result.json`."""
    kind = SessionKind.DEPLOYMENT if is_secure else SessionKind.SIMULATION
    return {
        "schema": SCHEMA,
        "series": series.name,
        "protocol": series.protocol,
        "kind": kind.value,
        "votes": [_result_of_vote(each) for each in vote_results],
        "privacy": _privacy_of(series, accounts),
    }


def _result_of_vote(vote_result: VoteResult) -> dict[str, Any]:
    result: dict[str, Any] = {
        "vote": vote_result.vote.number,
        "title": vote_result.vote.scenario.title,
        "folder": vote_result.folder,
    }
    if vote_result.vote.at is not None:
        result["at"] = vote_result.vote.at.isoformat()
    result["num_parties"] = len(vote_result.names)
    if vote_result.refused:
        result |= {"num_there": vote_result.num_there, "refused": list(vote_result.refused)}
    if vote_result.finished is not None:
        result["outcome"] = vote_result.finished.result["outcome"]
    else:
        result["failure"] = str(vote_result.failure)
    return result


def _privacy_of(series: Series, accounts: Accounts) -> dict[str, Any]:
    """Return the greatest loss of a person in the series, and the budgets."""
    allowance = series.allowance
    entries_of_persons = [accounts.entries_of(person) for person in accounts.persons]
    relation = common_relation(accounts.entries)
    worst = max(
        (total_of(person_entries, relation=relation) for person_entries in entries_of_persons),
        key=lambda total: total.proven,
        default=total_of(()),
    )
    worst_replace = max(
        (
            total_of(person_entries, relation=NeighboringRelation.REPLACE_ONE).proven
            for person_entries in entries_of_persons
        ),
        default=0.0,
    )
    privacy: dict[str, Any] = {
        "person": {
            "claimed": worst.claimed,
            "proven": worst.proven,
            "relation": worst.relation.value,
            "certainty": certainty_of(worst_replace),
            "against": total_of(accounts.entries, relation=relation).against,
        }
    }
    if allowance.budget is not None:
        budget: dict[str, Any] = {"epsilon": allowance.budget.epsilon, "delta": allowance.budget.delta}
        if allowance.period_seconds is not None:
            budget["period_seconds"] = allowance.period_seconds
        if allowance.in_all is not None:
            budget["in_all"] = allowance.in_all.epsilon
        if not math.isinf(allowance.budget.datum):
            budget["datum"] = allowance.budget.datum
        privacy["budget"] = budget
    return privacy


def _rows_of(series: Series, vote_results: Sequence[VoteResult], accounts: Accounts) -> list[dict[str, object]]:
    """Return a row for each person: its loss in each vote, its total, and its remaining budget."""
    last = vote_results[-1].vote.at
    names = dict.fromkeys(name for each in vote_results for name in (*each.names, *each.refused))
    rows: list[dict[str, object]] = []
    for name in names:
        row: dict[str, object] = {series.client_role: name}
        row |= {f"vote {each.vote.number}": each.paid.get(name, "") for each in vote_results}
        row["in all"] = sum(each.paid.get(name, 0.0) for each in vote_results)
        if series.allowance.budget is not None:
            row["left"] = accounts.remaining(name, last)
        rows.append(row)
    return rows
