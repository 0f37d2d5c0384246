"""The figures that pages quote are those that `make docs` computes."""

import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FIGURES: dict[str, Any] = runpy.run_path(str(DOCS / "figures.py"))


@pytest.mark.parametrize("page", FIGURES["TABLES"])
def test_a_page_quotes_what_is_computed(page: str) -> None:
    assert FIGURES["with_tables"](page) == (DOCS / page).read_text(encoding="utf-8")


def test_the_summary_has_every_page_of_evidence() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    group = index.partition(":caption: Evidence")[2].partition(":hidden:")[2].partition("```")[0].split()
    summary = (DOCS / "evidence.md").read_text(encoding="utf-8")
    assert group[0] == "evidence"
    assert [page for page in group[1:] if f"]({page}.md) |" not in summary] == []
