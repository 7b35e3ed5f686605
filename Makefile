# Two commands on a fresh machine with Python and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
FUZZ ?= 60

# Python keeps what it compiled, whatever the shell says: the tests start hundreds of processes, and each would compile
# the package again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test tests checks lint types docs notebooks bench reproduce audit proofs lowest mutants clean

demo: .venv/installed
	$(BIN)/shortlist demo

# pyspark is large: it is installed for the tests alone, and only where there is a Java to run it.
SPARK := $(if $(shell command -v java),.venv/spark)

PYTEST := $(BIN)/pytest -n auto --dist worksteal

# Style and types are checked while the tests run: either would leave a core idle.
test: .venv/installed $(SPARK)
	+$(MAKE) --no-print-directory -j2 checks tests

checks: lint types

tests: .venv/installed
	$(PYTEST) --cov --cov-branch --cov-report=term-missing:skip-covered --cov-fail-under=100

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/installed
	$(BIN)/mypy

# The documentation site, into site/: strict, so that a warning or a link that leads nowhere fails.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The notebooks of docs/tutorials, run again with their outputs.
notebooks: .venv/docs
	$(BIN)/python -m tests.helpers.notebooks docs/tutorials/*.ipynb

bench: .venv/installed
	$(BIN)/python -m bench

# Every figure and table of five papers, ours beside theirs, into report/. DATA=folder for the papers' own data.
reproduce: .venv/installed
	$(BIN)/python -m studies.papers --out report/ $(if $(DATA),--data $(DATA))

# The long tests, the statistical ones at their full size, fuzzing, and every mechanism under attack: docs/audit.md.
audit: .venv/installed $(SPARK)
	SHORTLIST_FULL=1 $(PYTEST) -m 'long or sized' --timeout=1800
	$(BIN)/python -m tests.fuzz.scores -max_total_time=$(FUZZ) -verbosity=0
	$(BIN)/python -m tests.fuzz.parsers -max_total_time=$(FUZZ) -verbosity=0
	$(BIN)/python -m bench audit-catalogue audit-tightness audit audit-sets audit-releases

# The proofs in proofs/, checked by Coq, with cases that Coq confirms: docs/theory/machine-checked.md.
proofs: .venv/installed
	$(BIN)/python proofs/check.py

# The tests with the oldest versions that pyproject.toml allows: its floors are true.
lowest: .venv/lowest
	.venv/lowest/bin/pytest -n auto --dist worksteal -m 'not long and not newest'

# Planted bugs, one at a time: each must make its named tests fail. `make mutants WORDS="privacy/filter pate"` for some.
mutants: .venv/installed
	$(BIN)/python -m tests.mutants $(WORDS)

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

.venv/lowest: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(PYTHON) -m venv $@
	$(BIN)/uv pip install --quiet --python $@ --resolution lowest-direct -e '.[test]'

.venv/spark: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,spark]'
	touch $@

.venv/docs: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test,docs]'
	touch $@

clean:
	rm -rf .venv .bench site
