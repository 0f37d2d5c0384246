# Psephos: `make demo` and `make test` need a Python >= 3.11 and nothing else; both set up .venv themselves.

PYTHON ?= python3
BIN := .venv/bin
ROOMS := protocol transports agents scenarios
# The installation links to every file, so a new or a removed one makes it stale; a changed one does not.
FILES := $(shell find $(ROOMS) -name '*.py' -o -name '*.toml' -o -name '*.j2' -o -name '*.css' -o -name '*.js' -o -name 'py.typed' | sort)

.PHONY: demo test quick verify check style types strict bench bench-survey docs papers exchange mutate simulate \
	versions constraints vulnerabilities bits clean FORCE

demo: .venv/demo
	@$(BIN)/psephos run consortium-masked
	@$(BIN)/psephos run consortium --transport tcp

# All checks, and every test beside the slowest of them: minutes, and it says how many.
# Without compiled files each process that a test starts would compile all modules anew.
test quick: export PYTHONDONTWRITEBYTECODE =
test: export PSEPHOS_TESTS =
test: .venv/installed
	@begun=$$(date +%s); \
	$(MAKE) --no-print-directory style && $(MAKE) --no-print-directory --jobs=2 types quick && \
	echo "make test: all is well, after $$(($$(date +%s) - begun)) s"

quick: .venv/installed
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# Everything at its full length, under coverage, which is held to its floors; then quick audits, whose secure noise has
# no seed, so that they are to give no false alarm in a million runs. Half an hour to an hour on two cores.
verify: export PYTHONDONTWRITEBYTECODE =
verify: export PSEPHOS_TESTS = full
verify: check strict
	@$(BIN)/pip install --quiet --group notebooks --group docs --group hosting
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto --dist loadfile --no-loadscope-reorder
	$(BIN)/coverage combine --quiet
	$(BIN)/python tests/coverage_gate.py
	$(BIN)/python tests/audit_faults.py
	$(BIN)/psephos audit all --quick --confidence 0.999999
	@$(MAKE) --no-print-directory bits

check: style types
	$(BIN)/python -m pytest -q tests/test_import_boundaries.py tests/test_packaging.py

style: .venv/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/installed
	$(BIN)/pyrefly check --output-format=min-text

# A second opinion on all types, stricter, which takes minutes. Node would collect what is young at each 16 MiB.
strict: export NODE_OPTIONS = --max-semi-space-size=64
strict: .venv/installed
	$(BIN)/basedpyright

# Rivals have an environment of their own; one that cannot be installed has a row that says so.
bench: .venv/installed
	@$(BIN)/python -m venv --without-pip .rivals
	@-$(BIN)/pip --python .rivals/bin/python install --quiet --group rivals
	$(BIN)/python benchmarks/run.py

# Conversions to and from other libraries, with the libraries themselves: in an environment of its own, since they ask for
# older releases of ours. Elsewhere these tests are skipped.
exchange:
	@$(PYTHON) -m venv .exchange
	.exchange/bin/pip install --quiet 'pip>=25.1'
	.exchange/bin/pip install --quiet . --group exchange
	.exchange/bin/python -m pytest -q -k 'pabutools or pref_voting or frame' \
		tests/scenarios/fair_voting/data tests/scenarios/truth_discovery/data tests/scenarios/reading/test_frames.py

# An hour and some 15 GB of disk, where TMPDIR says: as many voters as the whole Moral Machine has.
bench-survey: .venv/installed
	$(BIN)/python benchmarks/survey_scale.py --record

# The pages alone, in less than a minute; `make papers` first runs again all that they report, which takes hours.
docs: .venv/installed
	@$(BIN)/pip install --quiet --group docs
	$(BIN)/python docs/build.py

papers: .venv/installed
	@$(BIN)/pip install --quiet --group docs
	$(BIN)/python docs/build.py papers

mutate: .venv/installed
	$(BIN)/pip install --quiet --group mutate
	$(BIN)/python tests/mutate.py

# The hostile world, from one seed after another, on all cores; a failure says how to repeat it. With RECORD=1 from the
# first seed that is not in tests/simulation/register.csv, into which it comes.
simulate: SECONDS = 60
simulate: .venv/installed
	$(BIN)/python tests/simulate.py --seconds $(SECONDS) $(if $(FIRST),--first $(FIRST)) $(if $(RECORD),--record) \
		$(if $(WORKERS),--workers $(WORKERS))

# Equal bits under the arithmetic of other processors and libraries, and of the interpreters that PYTHONS names.
bits: export PYTHONDONTWRITEBYTECODE =
bits: PYTHONS =
bits: .venv/installed
	$(BIN)/python tests/bits.py $(PYTHONS)

# The lowest versions that pyproject.toml allows, and the newest: each in an environment of its own, in which a part of
# the tests runs that touches every dependency; all that `tests/frozen.py --quick` computes is to be the same in both.
versions: .venv/installed
	$(BIN)/python tests/versions.py .versions

# What a deployment installs, each package with the hashes of its files: for `pip install --require-hashes -r`. Beside
# it what its wheel is built with (…-build.txt), and what all extras install (…-extras.txt).
constraints: CONSTRAINTS = constraints.txt
constraints: COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make constraints'
constraints: .venv/installed
	@$(BIN)/pip install --quiet --group release
	$(COMPILE) pyproject.toml --output-file $(CONSTRAINTS)
	$(COMPILE) pyproject.toml --all-extras --output-file $(CONSTRAINTS:.txt=-extras.txt)
	@echo 'setuptools>=78.1.1' | $(COMPILE) - --output-file $(CONSTRAINTS:.txt=-build.txt)

# What is known against it. Where no database is at hand it ends with status 3: nothing was looked up.
vulnerabilities: constraints
	$(BIN)/python tests/vulnerabilities.py constraints.txt constraints-extras.txt constraints-build.txt

clean:
	rm -rf .venv .rivals .exchange .versions build *.egg-info

# An environment that grows: what a run needs comes first, and what tests and extras need with the first `make test`.
EDITABLE = PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --no-deps --no-build-isolation --editable . \
	--config-settings editable_mode=strict

.venv/installed: .venv/dependencies .venv/files
	@$(EDITABLE)
	@touch .venv/demo $@

.venv/demo: .venv/runtime .venv/files
	@$(EDITABLE)
	@touch $@

.venv/dependencies: .venv/runtime
	@echo 'Adding to .venv what tests and extras need: about a minute, once.'
	@$(BIN)/pip install --quiet '.[cluster,columnar,composition,opendp,pictures,qr,spreadsheets]' --group dev
	@touch $@

.venv/runtime: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Psephos needs Python 3.11 or newer: make PYTHON=... ")'
	@echo 'Setting up .venv: about half a minute, once.'
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' 'setuptools>=78.1.1' wheel
	@$(BIN)/pip install --quiet .
	@touch $@

# Rewritten only when the list of files has changed, or the links are gone.
.venv/files: FORCE | .venv/runtime
	@test -d build && echo '$(FILES)' | cmp -s - $@ || echo '$(FILES)' > $@

FORCE:
