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
from psephos.protocol.roles import MAX_PARTY_NAME_LENGTH
from psephos.scenarios.deployment.journals import journal_file
from psephos.scenarios.deployment.keys import slug_of, stem_of

Psephos = Callable[..., Any]

ALIKE = ("张伟", "李娜", "Ольга", "party", "Müller", "M ller", "Ann", "ANN", "ann", "é", "e\u0301", "x" * 40, "x" * 41)
"""What can be read of them in a file's name is five texts."""
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


def test_keys_go_into_folders_of_their_own_and_are_found_there(
    tmp_path: Path, psephos: Psephos, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for party in ("张伟", "李娜"):
        ended = psephos("enroll", party)
        assert (ended.status, ended.err) == (0, "")
        assert (tmp_path / stem_of(party) / "key.pem").exists()
    assert "There are keys in " in psephos("enroll", "张伟").err
    nobody = psephos("enroll", "\udcff\ud800")  # bytes that are no text
    assert (nobody.status, nobody.err.startswith("psephos: party is")) == (2, True)


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
