"""What is shown of a ledger of any size, against what is shown of its entries, and what it takes to read it."""

import io
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.privacy import LedgerEntry
from psephos.scenarios.running import ledgers
from psephos.scenarios.running.folder import read_entry, read_ledger, to_json
from psephos.scenarios.running.ledgers import entries_of, summarize_ledgers
from psephos.scenarios.running.report import show_ledger
from rich.console import Console
from strategies import CHECKED

NAMES = ("ann", "bob", "Ольга", 'a "quoted" name', "back\\slash", "张伟\u2028", "each of 30 partners")
KINDS = [
    LedgerEntry.from_loss(loss, person="", session=session, phase=phase.name)
    for session in ("spring", "autumn")
    for epsilon in (1.0, 2.0)
    for phase in DPWeVote(Parameters(candidates=("bridge",), epsilon=epsilon)).phases
    for loss in phase.losses
]


def write(folder: Path, entries: Sequence[LedgerEntry]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "ledger.jsonl").write_bytes(b"".join(to_json(entry) + b"\n" for entry in entries))


def shown(entries: Sequence[LedgerEntry], **options: object) -> str:
    file = io.StringIO()
    show_ledger(Console(file=file, width=200), entries, **{"party": None, "delta": None, **options})  # type: ignore[arg-type]  as given
    return file.getvalue()


@CHECKED
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS)), min_size=1, max_size=30), st.data())
def test_a_summary_shows_what_all_entries_show(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, LedgerEntry]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("runs") / "run"
    lines.sort(key=lambda line: KINDS.index(line[1]))  # as phases follow each other
    entries = [
        msgspec.structs.replace(kind, person=name, num_persons=30 if name.startswith("each of") else 1)
        for name, kind in lines
    ]
    write(folder, entries)
    party = data.draw(st.none() | st.sampled_from([name for name, _ in lines]))
    summary = summarize_ledgers([folder], party=party)
    whole, brief = (
        sorted(page.splitlines())
        for page in (
            shown(entries, party=party),
            shown(summary.entries, party=party, num_alike=summary.num_alike),
        )
    )
    assert brief == whole
    assert list(entries_of([folder])) == read_ledger(folder) == entries


def crowd_of(number: int) -> list[LedgerEntry]:
    """Return a ledger in which so many pay one half, and as many the other."""
    halves = (KINDS[: len(KINDS) // 2], KINDS[len(KINDS) // 2 :])
    names = [f"voter {place}" for place in range(2 * number)]
    return [
        msgspec.structs.replace(kind, person=name) for name in names for kind in halves[int(name.split()[1]) % 2][:2]
    ]


def test_many_who_pay_alike_are_one_and_each_kind_of_line_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "run", crowd_of(500))
    with mock.patch.object(ledgers, "read_entry", wraps=read_entry) as read:
        summary = summarize_ledgers([tmp_path / "run"], party=None)
    assert read.call_count == len(summary.entries) == 4
    assert sorted(summary.num_alike.values()) == [500, 500]


def test_a_line_takes_few_bytes_of_memory(tmp_path: Path) -> None:
    num_lines = 2 * 2 * 10_000
    write(tmp_path / "run", crowd_of(num_lines // 4))
    summarize_ledgers([tmp_path / "run"], party=None)
    tracemalloc.start()
    summarize_ledgers([tmp_path / "run"], party=None)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 200_000 + 32 * num_lines


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize("name", [b"\xff", b"\x01", b"\\q", b'"'])
def test_a_name_that_is_no_text_is_refused_by_its_line(name: bytes, tmp_path: Path) -> None:
    """Also where the rest of its line is another's, of which nothing is read again."""
    write(tmp_path / "run", crowd_of(2))
    file = tmp_path / "run" / "ledger.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"voter 2"', b'"voter ' + name + b'"', 1))
    with pytest.raises(ConfigurationError, match=r"ledger\.jsonl line 5 (is|are) .*a ledger's entry"):
        summarize_ledgers([tmp_path / "run"], party=None)


def test_what_one_value_tells_is_of_whoever_paid_most_for_it() -> None:
    """Ann paid more in all, and Bob more for one opinion."""
    of = {(kind.phase, kind.session, kind.proven): kind for kind in KINDS}
    ann = [msgspec.structs.replace(of[phase, "spring", 0.5], person="ann") for phase in ("weights", "opinions")] * 2
    bob = msgspec.structs.replace(of["opinions", "spring", 1.0], person="bob")
    page = shown([*ann, bob])
    assert "each of 2 at most: ε proven = 2" in page
    assert "Of one opinion, if all else is known: up to 73.2 % (ε = 1)." in page
