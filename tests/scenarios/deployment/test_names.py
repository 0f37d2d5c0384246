"""Files that carry a party's name: no two parties have the same, in whatever script they are written."""

import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from deployments import ENTRIES
from durable_votes import Vote
from hypothesis import given
from hypothesis import strategies as st
from journal_sessions import NOW, session_of
from psephos.agents.person_journal import PersonJournal
from psephos.protocol.errors import JournalError
from psephos.protocol.roles import MAX_PARTY_NAME_LENGTH
from psephos.scenarios.deployment.journals import journal_file
from psephos.scenarios.deployment.keys import slug_of, stem_of

Psephos = Callable[..., Any]

ALIKE = ("张伟", "李娜", "Ольга", "party", "Müller", "M ller", "Ann", "ANN", "ann", "é", "e\u0301", "x" * 40, "x" * 41)
"""Of these an older version had five files."""
LETTERS = st.characters(exclude_categories=["C", "Z"])
NAMES = st.one_of(
    st.text(LETTERS, min_size=1, max_size=MAX_PARTY_NAME_LENGTH),
    st.text("aA bBéÉ-.", min_size=1, max_size=60).filter(lambda name: name == name.strip()),
    st.sampled_from(ALIKE),
)


@given(names=st.lists(NAMES, min_size=2, max_size=20, unique=True))
def test_no_two_names_have_one_file_where_letters_are_alike_or_not(names: list[str]) -> None:
    stems = [stem_of(name) for name in names]
    assert len({stem.casefold() for stem in stems}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}-[0-9a-f]{16}", stem) for stem in stems)
    assert [stem_of(name) for name in names] == stems


def test_names_that_were_written_alike_have_files_of_their_own(tmp_path: Path) -> None:
    assert len({slug_of(name) for name in ALIKE}) == 5
    assert len({journal_file(tmp_path, party=name) for name in ALIKE}) == len(ALIKE)
    assert journal_file(tmp_path / "own.sqlite", party="Ann") == tmp_path / "own.sqlite"


def keep(path: Path, *parties: str) -> None:
    with PersonJournal.open(path, now=NOW) as journal:
        for party in parties:
            journal.sitting(f"id-{party}").keep(session_of("spring", 1.0, 2.0, num_drawn=1, party=party))


def test_a_journal_of_one_person_under_its_old_name_is_found(tmp_path: Path, psephos: Psephos) -> None:
    older = tmp_path / "party.sqlite"
    keep(older, "李娜")
    assert journal_file(tmp_path, party="李娜") == older
    assert journal_file(tmp_path, party="张伟") == tmp_path / f"{stem_of('张伟')}.sqlite"
    assert "李娜 in all: ε proven = 1" in psephos("ledger", tmp_path, "--party", "李娜").out
    keep(journal_file(tmp_path, party="张伟"), "张伟")
    assert "张伟 in all: ε proven = 1" in psephos("ledger", tmp_path, "--party", "张伟").out
    older.unlink()  # what is gone is missed by whoever may have had it
    for party in ("李娜", "Ольга"):
        with pytest.raises(JournalError, match="is gone, and had 3 records"):
            PersonJournal.open(journal_file(tmp_path, party=party), now=NOW)
    assert journal_file(tmp_path, party="张伟").exists()


def test_a_journal_that_several_persons_had_is_refused_with_what_helps(tmp_path: Path, psephos: Psephos) -> None:
    older = tmp_path / "party.sqlite"
    keep(older, "张伟", "李娜")
    for party in ("张伟", "李娜"):
        with pytest.raises(JournalError) as caught:
            journal_file(tmp_path, party=party)
        assert caught.value.reason == (
            "is of 张伟, 李娜: names that are written alike had one journal. Go on with it by --journal "
            f"{older}, where its budget counts the losses of all of them"
        )
        ended = psephos("ledger", tmp_path, "--party", party)
        assert (ended.status, ended.err) == (2, f"psephos: {caught.value}\n")
    assert journal_file(tmp_path, party="Ольга") == tmp_path / f"{stem_of('Ольга')}.sqlite"
    assert journal_file(older, party="张伟") == older


def test_keys_go_into_folders_of_their_own_and_are_found_there(
    tmp_path: Path, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for party in ("张伟", "李娜"):
        ended = psephos("enroll", party)
        assert (ended.status, ended.err) == (0, "")
        assert (tmp_path / stem_of(party) / "key.pem").exists()
    assert "has no keys yet" in psephos("enroll", "张伟").err
    nobody = psephos("enroll", "\udcff\ud800")  # bytes that are no text
    assert (nobody.status, nobody.err.startswith("psephos: party must be 1 to 128 printable ")) == (2, True)


@pytest.mark.full("eight processes")
def test_people_whose_names_were_written_alike_vote_at_once(tmp_path: Path) -> None:
    own: dict[str, Mapping[str, str]] = dict(
        zip(("张伟", "李娜", "Müller", "M ller", "Ann", "ANN"), itertools.cycle(ENTRIES.values()), strict=False)
    )
    with Vote(tmp_path, lines='partners.repeats = "none"', entries=own) as vote:
        server = vote.serve()
        server.address()
        vote.check({party: vote.join(party) for party in own}, server)
        assert len({vote.journal_of(party) for party in own}) == len(own)
