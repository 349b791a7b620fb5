# Everything runs inside a virtual environment that this file makes itself.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The real benchmark files, where they exist (see CONTRIBUTING.md); tests that need them say so when they skip.
HYPERLABEL_DATA ?= $(wildcard ../shared/data)
export HYPERLABEL_DATA
# One BLAS thread per test process: two processes share the cores better than two pools fighting for them.
TEST_JOBS ?= 2

# Other environments read the source from here, and keep compiled code apart.
UNINSTALLED = PYTHONPATH=$(CURDIR)/src NUMBA_CACHE_DIR=$(CURDIR)/.numba OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Pinned versions without their hashes, which pip accepts for released files only and then for all of them.
VERSIONS = sed -n 's/^\([^ ]*==[^ ]*\).*/\1/p' constraints.txt

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types contract doctest docs check attack attack-bounds attack-doors soak reproduce test-minimum test-core test-spark bench speed clean
.PHONY: test-fast wheel

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-13s %s\n", $$1, $$2}'

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hyperlabel needs Python 3.11 or newer; set PYTHON=python3.x"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install your system's python3-venv package"; exit 2; }
	@echo "setting up $(VENV) (once, a minute or two)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r constraints.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(VERSIONS) > $(VENV)/versions.txt
	@touch $@

setup: $(VENV)/.ready ## make the virtual environment

demo: setup ## compare the methods on the embedded data: a table and a report
	@$(BIN)/hyperlabel demo

test: setup ## run the tests
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(TEST_JOBS) --dist worksteal

test-fast: setup ## run the tests that take no time (tests/slow.txt lists the others): a minute or two
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(TEST_JOBS) --dist worksteal -m "not slow"

lint: setup ## ruff: style and formatting
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup ## mypy
	@$(BIN)/mypy

contract: setup ## imports go down only, lazy ones too; the drawing is up to date; names and prose keep their limits
	@$(BIN)/lint-imports
	@$(BIN)/python tools/architecture.py
	@$(BIN)/python tools/call_trace.py --check
	@$(BIN)/python tools/readme.py --check
	@$(BIN)/python tools/reliability.py --check
	@$(BIN)/python tools/names.py --check

doctest: setup ## run the examples in docstrings, README and docs
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(TEST_JOBS) --doctest-modules --doctest-glob='*.md' src reproduction README.md docs

docs: setup ## build the documentation site into docs/_build/html (warnings are errors)
	@rm -rf docs/generated docs/gallery  # pages of names that are gone would count as warnings
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

wheel: setup ## build the wheel and the sdist, install each into a clean environment and use it
	@PIP_CONSTRAINT=$(abspath $(VENV)/versions.txt) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/release.py --build-only

check: test lint types contract doctest docs wheel ## all that CI runs

# The short run of CI; an hour is ATTACK="--seconds 3600". What it finds is kept in tests/attack/corpus.
ATTACK ?= --seconds 20
attack: setup ## mutate every kind of file hyperlabel reads; python -m attack.planted checks the attack
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m attack $(ATTACK)

# Compiled with checks of every index, in a folder of its own: numba would take either code for the other.
attack-bounds: setup ## forge arrays and settings of every estimator's file, the bounds of compiled code checked
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba-bounds OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(BIN)/python -m attack --targets estimators $(ATTACK)

speed: setup ## three ratios to NumPy and scikit-learn against the last line of benchmarks/history.jsonl: ten seconds
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.history --check

# Slow beside files: thousands of these are read while one page is shown. The last needs chromium.
attack-doors: setup ## send requests made from openapi.json, run commands with odd options, show hostile pages in a browser
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m attack --targets http options page $(ATTACK)

# Not in CI: ten minutes of 500 clients, and 200 kills of two writers.
SOAK ?= --clients 500 --minutes 10
soak: setup ## 500 clients of one server for ten minutes, then two writers of a file killed 200 times
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m attack.server_soak $(SOAK)
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m attack.acknowledged --rows 10000 --kills 200

# Everything in full, two hours of one core, is REPRODUCE=; the data are those of HYPERLABEL_DATA.
REPRODUCE ?= --quick
reproduce: setup ## the papers' tables and figures beside ours, in small; REPRODUCE="--list" shows what there is
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m reproduction $(REPRODUCE)

test-minimum: ## run the tests with the oldest versions pyproject.toml allows, in a virtual environment of its own
	@test -x .venv-minimum/bin/python || $(PYTHON) -m venv .venv-minimum
	@$(PYTHON) tools/minimum.py > .venv-minimum/versions.txt
	@.venv-minimum/bin/python -m pip install -q --disable-pip-version-check -r .venv-minimum/versions.txt
	@# Old packages warn about what their own newer dependencies deprecate: no fault of this project.
	@$(UNINSTALLED) .venv-minimum/bin/python -m pytest -q -n $(TEST_JOBS) --dist worksteal -W ignore::DeprecationWarning

test-core: ## run the tests without the optional packages, in a virtual environment of its own
	@test -x .venv-core/bin/python || $(PYTHON) -m venv .venv-core
	@$(PYTHON) tools/minimum.py core | sed 's/==.*//' > .venv-core/packages.txt
	@$(VERSIONS) > .venv-core/versions.txt
	@.venv-core/bin/python -m pip install -q --disable-pip-version-check -c .venv-core/versions.txt -r .venv-core/packages.txt
	@$(UNINSTALLED) .venv-core/bin/python -m pytest -q -n $(TEST_JOBS) --dist worksteal

test-spark: ## run the Spark recipe of docs/engines.md (needs a Java runtime), in a virtual environment of its own
	@test -x .venv-spark/bin/python || $(PYTHON) -m venv .venv-spark
	@$(PYTHON) tools/minimum.py core | sed 's/==.*//' > .venv-spark/packages.txt
	@.venv-spark/bin/python -m pip install -q --disable-pip-version-check -r .venv-spark/packages.txt pyspark pyarrow pandas
	@$(UNINSTALLED) .venv-spark/bin/python -m pytest -q tests/test_engines.py -k Spark

bench: setup ## peers and growth, 20 minutes; the others: python -m benchmarks.NAME
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c $(VENV)/versions.txt -e '.[bench]'
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.peers
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.growth

clean: ## remove the virtual environment and caches
	@rm -rf $(VENV) .venv-minimum .venv-core .venv-spark dist .numba .numba-bounds .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .bench out
