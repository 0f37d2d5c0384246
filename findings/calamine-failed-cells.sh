#!/usr/bin/env bash
# One would guess that a workbook's cell in which a formula failed (#N/A) reads as an error, and one whose formula no
# program ever computed reads as its formula, or as an error too. python-calamine, and so pandas with engine="calamine",
# gives for both what it gives for a cell that nobody filled: empty text. openpyxl's writers leave each formula without a
# value, so a list of members that a script wrote loses all computed answers in silence.
# Why a user would care: where an empty answer means an abstention or a no, a vote is counted wrongly, and nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet python-calamine==0.9.1 openpyxl==3.1.5
"$folder/venv/bin/python" - "$folder/votes.xlsx" <<'PYTHON'
import importlib.metadata
import sys

import openpyxl
from python_calamine import CalamineWorkbook

book = openpyxl.Workbook()
for row in (("name", "vote"), ("Ann", "yes"), ("Bob", "#N/A"), ("Cid", '=IF(TRUE,"yes","no")'), ("Dee", None)):
    book.active.append(row)
book.active["B3"].data_type = "e"
book.save(sys.argv[1])
rows = CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0).to_python()
print("python-calamine", importlib.metadata.version("python-calamine"))
for row in rows:
    print(row)
sys.exit(rows[2:] != [["Bob", ""], ["Cid", ""], ["Dee", ""]])
PYTHON
# Seen: ['Bob', ''], ['Cid', ''] and ['Dee', '']: failed, never computed and empty are the same.
