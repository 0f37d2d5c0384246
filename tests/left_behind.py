"""What the folders of runs say of privacy, held against their own ledgers and logs, by arithmetic of this module's own.

Every test's folders are looked through as it ends (`quoting.py`). What has no place in a folder, as a file that a test
has damaged, is left alone: only what can be read is held against what else can be.
"""

import collections
import contextlib
import csv
import fractions
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

FILES: Final = ("run.json", "result.json", "ledger.jsonl", "events.jsonl", "losses.csv")
"""What is held against each other."""
_NEAR: Final = 1e-9  # of sums in floating point
_LOSS: Final = ("phase", "mechanism", "relation", "unit", "model", "claimed", "proven")
_OF_PEERS: Final = ("peer", "received", "missing", "asked", "reasons", "total")
"""What a server's log has of who takes part; of a phase where that is private it is left out, or null."""


def fault_of(folder: Path) -> str:
    """Return what a folder states that is not so; nothing where all agrees."""
    run, result = (_json(folder / name) for name in ("run.json", "result.json"))
    if not run:
        return ""  # nobody has ended there
    losses, events = (_lines(folder / name) for name in ("ledger.jsonl", "events.jsonl"))
    faults = (_of_facts(run), _of_events(run, events, losses), _of_server(run, result, events, losses))
    of_all = itertools.chain(*faults, _of_result(run, result, losses), _of_series(folder, run, result, losses))
    return next((f"{folder.name}: {fault}" for fault in of_all), "")


def _json(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        read: Any = json.loads(path.read_bytes())
        return cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    return {}


def _lines(path: Path) -> list[dict[str, Any]] | None:
    with contextlib.suppress(OSError, ValueError):
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    return None


def _sum(losses: Sequence[Mapping[str, Any]], *, relation: str, what: str = "proven") -> float:
    """Return what losses add up to under a relation; infinite where nothing bounds one."""
    if any(loss[what] is None for loss in losses):
        return math.inf
    whole = sum(
        fractions.Fraction(loss[what]) * (1 + (relation == "replace-one" != loss["relation"])) for loss in losses
    )
    return float(whole)


def _common(losses: Sequence[Mapping[str, Any]]) -> str:
    relations = {loss["relation"] for loss in losses}
    return relations.pop() if len(relations) == 1 else "replace-one"


def _differ(stated: float | None, found: float) -> bool:
    stated = math.inf if stated is None else stated
    return not math.isclose(stated, found, rel_tol=_NEAR, abs_tol=1e-12)


def _certainty(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon))


def _of_facts(run: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run says of its session that its own phases do not."""
    about: dict[str, Any] = run.get("about") or {}
    if not about.get("prices") or "votes" in run:
        return
    losses = [loss for phase in about["phases"] for loss in phase["losses"]]
    if _differ(about["proven"], _sum(losses, relation=_common(losses))) or about["relation"] != _common(losses):
        yield f"run.json has ε = {about['proven']} ({about['relation']}) of {losses}"
    if _differ(about["prices"]["replaced"], _sum(losses, relation="replace-one")):
        yield f"run.json has ε = {about['prices']['replaced']} for replace-one neighbors of {losses}"
    hidden = _sum(losses, relation=_common(losses)) if losses and _common(losses) != "replace-one" else 0.0
    if _differ(about["prices"].get("participation", 0.0), hidden):
        yield f"run.json has ε = {about['prices'].get('participation')} of participation, and not {hidden}"


def _of_events(
    run: Mapping[str, Any], events: Sequence[Mapping[str, Any]] | None, losses: Sequence[dict[str, Any]] | None
) -> Iterator[str]:
    """Yield what a log says of losses that the ledger does not, or the other way round."""
    if events is None or losses is None or "votes" in run or run.get("events_lost"):
        return
    told = [event for event in events if event.get("event") == "privacy_loss"]
    before: dict[tuple[str, str], float] = {}
    for event in told:
        who, relation = (event["party"], event["total_relation"]), event["total_relation"]
        own = _sum([event], relation=relation)
        least = before.get(who, 0.0) + own
        before[who] = math.inf if event["total"] is None else event["total"]
        if before[who] < least * (1 - _NEAR):
            yield f"events.jsonl has a total of {event['total']} where {least} was lost"
    in_log, in_ledger = (
        collections.Counter((each[who], *(each[name] for name in _LOSS)) for each in own)
        for own, who in ((told, "party"), (losses, "person"))
    )
    if missing := in_log - in_ledger:
        yield f"ledger.jsonl lacks {missing}"
    if told and "server" not in run and (more := in_ledger - in_log):
        yield f"events.jsonl lacks {more}"
    if "server" in run and len(sessions := {each["session"] for each in losses}) > 1:
        yield f"ledger.jsonl of one session has losses of {sessions}"


def _of_server(
    run: Mapping[str, Any],
    result: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]] | None,
    losses: Sequence[Mapping[str, Any]] | None,
) -> Iterator[str]:
    """Yield what a server's folder has of who takes part where that is private."""
    about: dict[str, Any] = run.get("about") or {}
    hidden = {phase["name"] for phase in about.get("phases", ()) if phase["hides_participation"]}
    if shown := hidden & (result.get("received") or {}).keys():
        yield f"result.json counts who took part in {shown}"
    if losses is not None or not hidden:
        return
    if "traffic" in run or "traffic_since_restart" in run:
        yield "run.json counts messages, by which it counts parties"
    for event in events or ():
        if shown := [name for name in _OF_PEERS if event.get(name) is not None]:
            yield f"events.jsonl has {shown} of {event['event']}"


def _of_result(
    run: Mapping[str, Any], result: Mapping[str, Any], losses: Sequence[dict[str, Any]] | None
) -> Iterator[str]:
    """Yield what a result says of its price that its session's facts or its ledger do not."""
    about: dict[str, Any] = run.get("about") or {}
    privacy: dict[str, Any] = result.get("privacy") or {}
    stated = privacy.get("person")
    if stated is None or not about.get("prices") or "votes" in run:
        return
    proven = math.inf if about["proven"] is None else about["proven"]
    if _differ(stated["proven"], proven) or stated["relation"] != about["relation"]:
        yield f"result.json has ε = {stated['proven']}, and run.json {proven}"
    replaced = about["prices"]["replaced"]
    if _differ(stated["certainty"], _certainty(math.inf if replaced is None else replaced)):
        yield f"result.json has a certainty of {stated['certainty']} at ε = {replaced}"
    for own in _by_person(losses or ()).values():
        if (paid := _sum(own, relation="replace-one")) > (math.inf if replaced is None else replaced) * (1 + _NEAR):
            yield f"run.json has ε = {replaced} where ledger.jsonl has {paid}"
        for each in own:
            part = each["part"] or each
            price = _sum([{**part, "relation": each["relation"]}], relation="replace-one")
            finest = [epsilon for epsilon, units in about["prices"]["finest"] if part["unit"] in " ".join(units)]
            if finest and price > (math.inf if None in finest else max(finest)) * (1 + _NEAR):
                yield f"run.json has ε = {finest} of one {part['unit']}, and ledger.jsonl {price}"


def _by_person(losses: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    own: dict[str, list[dict[str, Any]]] = {}
    for loss in losses:
        own.setdefault(loss["person"], []).append(loss)
    return own


def _of_series(
    folder: Path, run: Mapping[str, Any], result: Mapping[str, Any], losses: Sequence[dict[str, Any]] | None
) -> Iterator[str]:
    """Yield what a series says of its price that its votes, or its ledger, do not."""
    if "votes" not in run or "votes" not in result or losses is None:
        return
    told = [facts for vote in result["votes"] if (facts := _json(folder / vote["folder"] / "run.json").get("about"))]
    about, stated = run["about"], result["privacy"]["person"]
    if len(told) == len(result["votes"]):
        masked = [facts for facts in told if facts.get("threshold")]
        for name in ("threshold", "colluders"):
            if about.get(name, 0) != min((facts.get(name, 0) for facts in masked), default=0):
                yield f"run.json has {name} {about.get(name, 0)}, and its votes {[each.get(name) for each in masked]}"
        bounds = [math.inf if facts["prices"]["replaced"] is None else facts["prices"]["replaced"] for facts in told]
        if _differ(about["prices"]["replaced"], max(bounds)):
            yield f"run.json has ε = {about['prices']['replaced']} of a vote, and its votes {bounds}"
        same = [facts["proven"] for facts in told if facts["relation"] == about["relation"]]
        if len(same) == len(told) and None not in same and _differ(about["proven"], max(same)):
            yield f"run.json has ε = {about['proven']} of a vote, and its votes {same}"
    common, people = _common(losses), _by_person(losses)
    worst, replaced = (
        max((_sum(own, relation=relation) for own in people.values()), default=0.0)
        for relation in (common, "replace-one")
    )
    if _differ(stated["proven"], worst) or _differ(stated["certainty"], _certainty(replaced)):
        yield f"result.json has {stated} of a ledger with {worst}, and {replaced} for replace-one neighbors"
    budget = result["privacy"].get("budget", {})
    in_all = budget.get("in_all", math.inf if "period_seconds" in budget else budget.get("epsilon", math.inf))
    if not budget.get("delta") and replaced > in_all * (1 + _NEAR):
        yield f"ledger.jsonl has {replaced} of one person, whose budget is {in_all}"
    with contextlib.suppress(OSError), (folder / "losses.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, *_ = row.values()
            paid = _sum(people.get(name, []), relation="replace-one")
            if _differ(float(row["in all"]), paid):
                yield f"losses.csv has {row['in all']} for {name}, and ledger.jsonl {paid}"
            if "left" in row and float(row["left"]) > in_all - paid + _NEAR:
                yield f"losses.csv has {row['left']} left for {name} of {in_all}, who has lost {paid}"
