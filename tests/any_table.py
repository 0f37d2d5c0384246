"""Tables at random as people have them, and a second reader of them, which shares no code with the product.

The reader counts what a table says with the options that were typed, or says that nobody can know (None).
"""

import csv
import io
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

FULL = {"yes": 1, "no": 0, "ja": 1, "nein": 0, "oui": 1, "non": 0, "agree": 1, "disagree": 0, "aye": 1, "nay": 0}
SIGNS = ({"1": 1, "0": 0}, {"true": 1, "false": 0}, {"y": 1, "n": 0}, {"✓": 1, "x": 0})
SILENT = {"", "abstain", "abstention", "n/a", "-", "?", "enthaltung"}
NAMES, SHARES = ("name", "email", "member"), ("weight", "shares", "stimmen", "votes")
NOTED = ("timestamp", "finished", "lastpage", "progress", "language", "comment", "id", "ip address", "is_draft")
TOTALS = ("total", "summe", "sum")
Options = Mapping[str, Sequence[str]]


def plain(entry: str) -> str:
    """Return an entry in small letters, 1.0 as 1."""
    entry = entry.strip().casefold()
    return str(int(float(entry))) if entry in {"1.0", "0.0", "-1.0"} else entry


def meaning(column: Sequence[str], told: dict[str, int | None], *, signed: bool) -> dict[str, int | None] | None:
    """Return what each word of a column means, None for an abstention; None in all where a word may mean two things.

    The one that is left beside one that was told means the other answer, which is told from then on.
    """
    words = {plain(entry) for entry in column}
    own = {word: told[word] for word in words if word in told}
    if told.get("-1") == 0 and told.get("0") != 1 and "1" in words:
        own.setdefault("1", 1)
    own |= dict.fromkeys((words - own.keys()) & SILENT)
    left = words - own.keys()
    full = {word: FULL[word] for word in left & FULL.keys()}
    signs = [family for family in SIGNS if not left.isdisjoint(family)]
    answers = {value for value in own.values() if value is not None}
    if left == full.keys():
        return own | full
    signs = [family for family in signs if "1" not in family or not signed]
    are_signs = len(signs) == 1 and not answers and left <= full.keys() | signs[0].keys() and left != {"x"}
    if are_signs and (not full or signs[0] is SIGNS[2]):
        return own | full | {word: signs[0][word] for word in left - full.keys()}
    if len(left) == 1 and len(answers) == 1:
        told[left.copy().pop()] = 1 - answers.pop()
        return meaning(column, told, signed=signed)
    return None


def read(text: str, said: Options) -> dict[str, Any] | None:
    """Return the number of lines that count, all weight, and the support of each motion; None where nobody knows."""
    header, *rows = [row for row in csv.reader(io.StringIO(text)) if any(map(str.strip, row))]
    folded = [name.casefold() for name in header]
    given = said.get("partner", ())
    who = next((n for n, name in enumerate(header) if name in given), None)
    if not given:
        who = next((folded.index(name) for name in ("email", "member", "name") if name in folded), None)
    label = 0 if who is None else who
    rows = [row for row in rows if row[label].strip() not in said.get("without", ())]
    if "none" not in said.get("without", ()) and any(
        cell.strip().casefold() in TOTALS and len(row) > 1 for row in rows[-2:] for cell in row
    ):
        return None
    if who is not None:
        people = Counter(" ".join(row[who].casefold().split()) for row in rows)
        which = said.get("repeats", ("",))[-1]
        if max(people.values()) > 1 and which not in {"last", "first", "none"}:
            return None
        if which in {"last", "first"}:
            order = rows if which == "last" else rows[::-1]
            kept = {" ".join(row[who].casefold().split()): id(row) for row in order}
            rows = [row for row in rows if id(row) in kept.values()]
    weight = next(
        (
            n
            for n, name in enumerate(header)
            if name in said.get("weight", ()) or ("weight" not in said and folded[n] in SHARES)
        ),
        None,
    )
    motions = said.get("candidate") or [
        name
        for name in header
        if name.casefold() not in (*NAMES, *SHARES, *NOTED, "age") and name not in said.get("leave-out", ())
    ]
    if "candidate" not in said and "none" in said.get("leave-out", ()):
        motions = [
            name
            for name in header
            if name in motions
            or (name.casefold() in {"finished", "is_draft"} and name not in said.get("leave-out", ()))
        ]
    told: dict[str, int | None] = {
        plain(word): value for key, value in (("yes", 1), ("no", 0), ("abstain", None)) for word in said.get(key, ())
    }
    if "candidate" not in said:  # remarks, of which no two are alike, or one word in all lines
        known = {*FULL, *told, *SILENT, "-1"}.union(*SIGNS) - {"-", "?", "n/a"}
        entries = {
            name: [plain(row[header.index(name)]) for row in rows if row[header.index(name)].strip()]
            for name in motions
        }
        alike = {name: len(set(each)) for name, each in entries.items()}
        motions = [
            n for n in motions if not known.isdisjoint({*entries[n]} - {""}) or 1 < alike[n] < min(4, len(entries[n]))
        ]
    weights = [1.0 if weight is None else float(row[weight]) for row in rows]
    support, absent = dict[str, float](), set[int]()
    columns = [{plain(cell) for cell in column} for column in zip(*rows, strict=True)]
    signed = any("-1" in column and column <= {"-1", "0", "1", ""} for column in columns)
    for name in motions:  # what is told by one holds in all
        meaning([row[header.index(name)] for row in rows], told, signed=signed)
    for name in motions:
        column = [row[header.index(name)] for row in rows]
        if (known := meaning(column, told, signed=signed)) is None:
            return None
        values = [known[plain(entry)] for entry in column]
        if None in values:
            what = said.get("abstentions", ("",))[-1]
            if what == "absent":
                absent |= {n for n, value in enumerate(values) if value is None}
            elif what not in {"no", "yes"}:
                return None
            values = [int(what == "yes") if value is None else value for value in values]
        support[name] = sum(
            w for n, (w, value) in enumerate(zip(weights, values, strict=True)) if value and n not in absent
        )
    left = [w for n, w in enumerate(weights) if n not in absent]
    return {"partners": len(left), "total weight": sum(left), **support}


def table(rng: random.Random) -> str:
    """Return a table."""
    number = rng.randint(3, 9)
    columns: dict[str, list[str]] = {}
    for name in rng.choice((("Name",), ("Name", "Email"), ("Email",), ("Member",), ("ID",), ("ID", "Email"), ())):
        columns[name] = [
            f"{name[0]}{n}{'@x.org' if name == 'Email' else ''}" if name != "ID" else str(n) for n in range(number)
        ]
        if rng.random() < 0.25 and name != "ID":
            again = columns[name][rng.randrange(number)]
            columns[name][rng.randrange(number)] = rng.choice((again, again.upper(), f"{again} ", again.lower()))
    for name in rng.sample((*NOTED, "age"), rng.randint(0, 3)):
        kinds: dict[str, Callable[[int], str]] = {
            "timestamp": lambda n: f"2026/01/0{n + 1} 3:04:0{rng.randint(0, 1)} PM",
            "finished": lambda _: rng.choice(("True", "False")),
            "is_draft": lambda _: rng.choice("01"),
            "lastpage": lambda _: str(rng.randint(1, 3)),
            "progress": lambda _: rng.choice(("100", "40")),
            "language": lambda _: rng.choice(("en", "de")),
            "comment": lambda n: rng.choice(("", f"as said {n}", f"later, at {n}", f"yes but {n}")),
            "id": lambda n: str(n + 100),
            "ip address": lambda n: f"10.0.0.{n}",
            "age": lambda _: str(rng.randint(17, 80)),
        }
        if name.casefold() not in map(str.casefold, columns):
            columns[rng.choice((name, name.title()))] = [kinds[name](n) for n in range(number)]
    if rng.random() < 0.3:
        columns[rng.choice(("weight", "Stimmen", "shares"))] = [str(rng.choice((1, 2, 3))) for _ in range(number)]
    full = list(FULL)
    pairs = [full[n : n + 2] for n in range(0, len(full), 2)] + [list(signs) for signs in SIGNS]
    pairs += [
        ["1", "-1"],
        ["hiya", "hapana"],
        ["1.0", "0.0"],
        ["Y", ""],
        ["x", ""],
        ["True", "False"],
        ["aprobar", "rechazar"],
    ]
    for name in rng.sample(("roof", "new bylaws", "Shall we?", "0", "pool"), rng.randint(1, 3)):
        words = list(rng.choice(pairs))
        if rng.random() < 0.35:
            words.append(
                rng.choice(("", "n/a", "0", "-1", "x", "n", "false", "Under reserve", "abstain", "no opinion", "maybe"))
            )
        if rng.random() < 0.15:
            words += rng.choice(pairs)
        columns[name] = [rng.choice((word, word, word.title(), f" {word}")) for word in rng.choices(words, k=number)]
    order = list(columns)
    if rng.random() < 0.5:
        rng.shuffle(order)
    rows = [[columns[name][n] for name in order] for n in range(number)]
    if rng.random() < 0.1:
        rows.append([rng.choice(("Total", "Summe")) if n == 0 else str(rng.randint(0, 9)) for n in range(len(order))])
    file = io.StringIO()
    csv.writer(file).writerows([order, *rows])
    return file.getvalue()
