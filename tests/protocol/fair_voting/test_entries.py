"""Rankings as text: read many at a time as one by one, whatever stands in them."""

from hypothesis import example, given
from hypothesis import strategies as st
from psephos.protocol.fair_voting.entries import names_of, orders_of

NAMES = ("a", "b", "c")
ENTRIES = st.lists(st.sampled_from(["a", " b ", "c", "b ", "  a", "\n", "", "d"]), min_size=1, max_size=7).map(">".join)


@given(st.lists(ENTRIES, max_size=4))
@example(["a>b>c>\n>c>b>a", "a"])  # as many names and ends as three entries have
@example(["a>b", "c>c>b>a"])
@example([" a > b > c ", "c>b>a"])
def test_orders_of_many_entries_are_those_of_each(entries: list[str]) -> None:
    expected = [[NAMES.index(name) if name in NAMES else -1 for name in names_of(entry)] for entry in entries]
    found = orders_of(entries, NAMES).tolist()
    assert found == [own if len(own) == len(NAMES) else [-1] * len(NAMES) for own in expected]
