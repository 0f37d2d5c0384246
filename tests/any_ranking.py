"""Tables of rankings at random as people have them, each with what it says, which shares no code with the product."""

import csv
import io
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

NAMES = ("pool", "library", "rink", "roof garden")
SIGNS = (" > ", ";", ", ", "|")


class Ranked(NamedTuple):
    """A table, and what each row of it says.

    Args:
        kind: how rankings are written: "cell", "places", "scores" or "choices".
        columns: where.
        tiers: of each row what it ranks, the best first.
        voters: of each row; nothing where they have no names.
        groups: likewise.
        twice: rows that rank an alternative again.
    """

    text: str
    kind: str
    columns: Sequence[str]
    sign: str
    names: Sequence[str]
    tiers: Sequence[Sequence[Sequence[str]]]
    voters: Sequence[str]
    groups: Sequence[str]
    twice: bool

    def options(self) -> dict[str, list[list[str]]]:
        """Return what somebody who knows the table may type, by what is asked for: options and their values."""
        option = {"cell": "ranking", "places": "place", "scores": "score", "choices": "choice"}[self.kind]
        said = [[f"--{option}", name] for name in self.columns]
        voter, group = ("voter" if self.voters else "none"), ("group" if self.groups else "none")
        return {
            "ranking": [[word for each in said for word in each]],
            "numbers": [["--numbers", self.kind]],
            "between": [["--between", self.sign.strip() or self.sign]],
            "alternatives": [["--alternatives", ",".join(self.names)]],
            "voter": [["--voter", voter], ["--voter", "none"]],
            "group": [["--group", group], ["--group", "none"]],
            "ties": [["--ties", "mean"]],
            "twice": [["--twice", "first"]],
            "repeats": [["--repeats", "last"], ["--repeats", "first"]],
            "only": [["--only", "none"]],
        }

    def counted(self, said: Mapping[str, str]) -> dict[str, dict[str, float]]:
        """Return by group each alternative's sum of Borda scores, with what was typed of voters, repeats and groups.

        Where cells name alternatives, there are those that are named, unless more are typed.
        """
        rows = list(range(len(self.tiers)))
        names = self.names
        if self.kind in {"cell", "choices"} and "alternatives" not in said:
            named = {name for own in self.tiers for tier in own for name in tier}
            names = [name for name in names if name in named]
        is_named = self.voters and said.get("voter") != "none" and said.get("repeats") != "none"
        if is_named:
            kept = {" ".join(self.voters[row].casefold().split()): row for row in rows[:: self._step(said)]}
            rows = sorted(kept.values())
        found: dict[str, dict[str, float]] = defaultdict(lambda: dict.fromkeys(names, 0.0))
        for row in rows:
            group = self.groups[row] if self.groups and said.get("group") != "none" else ""
            tiers = [list(tier) for tier in self.tiers[row]]
            left = [name for name in names if not any(name in tier for tier in tiers)]
            place = 0
            for tier in [*tiers, left]:
                for name in tier:
                    found[group][name] += len(names) - 1 - (place + (len(tier) - 1) / 2)
                place += len(tier)
        return dict(found)

    @staticmethod
    def _step(said: Mapping[str, str]) -> int:
        return -1 if said.get("repeats") == "first" else 1


def table(rng: random.Random) -> Ranked:
    """Return a table."""
    number, names = rng.randint(4, 9), rng.sample(NAMES, rng.randint(2, 4))
    kind, sign = rng.choice(("cell", "places", "scores", "choices")), rng.choice(SIGNS)
    is_partial, is_tied, has_twice = rng.random() < 0.3, rng.random() < 0.3, rng.random() < 0.15
    tiers: list[list[list[str]]] = []
    cells: list[list[str]] = []
    twice = False
    for _ in range(number):
        order = rng.sample(names, len(names))
        own = [[name] for name in order[: rng.randint(1, len(names)) if is_partial else len(names)]]
        if kind == "cell":
            cells.append([sign.join(name for (name,) in own)])
        elif kind == "choices":
            row = [name for (name,) in own]
            if has_twice and len(row) > 1 and len(row) < len(names) and rng.random() < 0.5:
                row.append(row[0])
                twice = True
            blank = rng.choice(("", "", "undervote"))
            cells.append(row + [blank] * (len(names) - len(row)))
        else:
            if is_tied and len(own) > 1 and rng.random() < 0.5:
                place = rng.randrange(len(own) - 1)
                own[place : place + 2] = [[*own[place], *own[place + 1]]]
            high = sorted(rng.sample(range(6), len(own)), reverse=True)
            value = {name: high[n] if kind == "scores" else n + 1 for n, tier in enumerate(own) for name in tier}
            cells.append([str(value.get(name, "")) for name in names])
        tiers.append(own)
    style = rng.choice(("Rank them [{}]", "{}"))
    columns = {
        "cell": [rng.choice(("ranking", "order", "Your wishes"))],
        "choices": [f"Rank {n}" for n in range(1, len(names) + 1)],
    }.get(kind, [style.format(name) for name in names])
    voters = [f"v{n}" for n in range(number)] if rng.random() < 0.7 else []
    if voters and rng.random() < 0.25:
        voters[rng.randrange(number)] = rng.choice(("v1", "V1"))
    groups = [rng.choice("NS") for _ in range(number)] if rng.random() < 0.4 else []
    others = {"voter": voters, "group": groups}
    if rng.random() < 0.3:
        others["timestamp"] = [f"2026/01/0{n + 1} 3:04:05" for n in range(number)]
    header = [name for name, own in others.items() if own]
    rows = [[*(others[name][n] for name in header), *cells[n]] for n in range(number)]
    file = io.StringIO()
    csv.writer(file).writerows([[*header, *columns], *rows])
    return Ranked(file.getvalue(), kind, columns, sign, names, tiers, voters, groups, twice)
