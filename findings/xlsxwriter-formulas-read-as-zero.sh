#!/usr/bin/env bash
# One would guess that a formula which no spreadsheet has computed yet reads as nothing, or as its text. XlsxWriter, which
# computes nothing, stores 0 as the result of each formula, and in another part of the file a flag by which a spreadsheet
# computes all of them when it opens it. Readers take the 0 for the result: python-calamine and openpyxl (data_only=True)
# do, even of a formula whose result is a text. Only the flag (calcPr fullCalcOnLoad in xl/workbook.xml) tells.
# Why a user would care: 0 is a "no" in a column of votes and a number in a column of weights, and nothing looks wrong.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet XlsxWriter==3.2.9 python-calamine==0.9.1 openpyxl==3.1.5
"$folder/venv/bin/python" - "$folder/votes.xlsx" <<'PYTHON'
import importlib.metadata
import sys
import zipfile

import openpyxl
import xlsxwriter
from python_calamine import CalamineWorkbook

book = xlsxwriter.Workbook(sys.argv[1])
book.add_worksheet("votes").write_formula("A1", '=IF(TRUE,"yes","no")')
book.close()
by_calamine = CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0).to_python()
by_openpyxl = openpyxl.load_workbook(sys.argv[1], data_only=True).active["A1"].value
has_flag = b'fullCalcOnLoad="1"' in zipfile.ZipFile(sys.argv[1]).read("xl/workbook.xml")
for name in ("XlsxWriter", "python-calamine", "openpyxl"):
    print(name, importlib.metadata.version(name))
print("calamine:", by_calamine, "openpyxl:", by_openpyxl, "flag:", has_flag)
sys.exit((by_calamine, by_openpyxl, has_flag) != ([[0.0]], 0, True))
PYTHON
# Seen: calamine: [[0.0]] openpyxl: 0 flag: True
