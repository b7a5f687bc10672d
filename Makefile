# make demo: install the package with its extra `run`, and see the main job run.
# make test: install everything and run the tests.
# make test-quick: those that start no process or server and train nothing, and a tenth of each property's examples.
# make test-newest, make test-oldest: what needs no torch, with constraints.txt and with the oldest versions that are claimed,
# each in an environment of its own: make test-oldest PYTHON=python3.10.
# make docs: the site, into build/docs; a warning or a dead link fails.
# make dist: what a release uploads, into dist/, checked and tried in an environment of its own.
# make check: lint, spelling and types as well. A second call does not reinstall.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed
DOCUMENTING := $(VENV)/.documenting

# The pip of Python 3.11 takes a minute longer than the newest. Errors are shown, and no warnings, of which every editable
# install has one.
ENVIRONMENT := test -x $(BIN)/python || PIP_QUIET=2 $(PYTHON) -m venv --upgrade-deps $(VENV)
INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --no-compile --quiet --quiet -c constraints.txt

# What Python compiles on an import is kept, also where images of containers forbid it: hundreds of processes of the tests
# import torch and transformers, and compiling these again takes 5 s of a processor each time.
unexport PYTHONDONTWRITEBYTECODE

# Under CI=true branches of measures, scoring and data are counted (pyproject.toml says of what); `make test COVERAGE=` does not.
COVERAGE := $(if $(filter true,$(CI)),--cov --cov-report=term:skip-covered --cov-report=markdown:build/coverage.md)

TESTS := pytest pytest-xdist hypothesis polars build 'setuptools>=77'

.PHONY: demo test test-quick test-newest test-oldest lint types docs dist check clean

$(RUNS): pyproject.toml constraints.txt
	@echo "Installing paraconsist with torch and transformers into $(VENV), some minutes the first time ..."
	@$(ENVIRONMENT)
	@$(INSTALL) -e '.[run]'
	@touch $@

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Installing paraconsist with all that tests and linters need into $(VENV), some minutes the first time ..."
	@$(ENVIRONMENT)
	@$(INSTALL) -e '.[all]'
	@touch $(RUNS) $@

$(DOCUMENTING): $(INSTALLED)
	@$(INSTALL) -e '.[all,docs]'
	@touch $@

demo: $(RUNS)
	@HF_HUB_OFFLINE=1 $(BIN)/paraconsist demo

test: $(INSTALLED)
	mkdir -p build
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 30 $(COVERAGE)

test-quick: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --hypothesis-profile quick

test-newest: CONSTRAINTS := constraints.txt
test-oldest: CONSTRAINTS := constraints-oldest.txt
test-newest test-oldest:
	$(PYTHON) -m venv $(VENV)-$@
	$(VENV)-$@/bin/python -m pip install --quiet -c $(CONSTRAINTS) -e '.[report,baselines,nlp]' $(TESTS)
	CI= $(VENV)-$@/bin/python -m pytest -n 2 --dist loadfile -m "not slow" --hypothesis-profile quick

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: $(INSTALLED)
	$(BIN)/mypy

docs: $(DOCUMENTING)
	$(BIN)/python -m sphinx -W --keep-going --color -q -j 2 -b html docs build/docs
	$(BIN)/python docs/check_site.py build/docs

dist:
	rm -rf dist build/release
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install --quiet build twine
	build/release/bin/python -m build
	build/release/bin/python -m twine check --strict dist/*
	build/release/bin/python -m pip install --quiet -c constraints.txt dist/*.whl
	build/release/bin/paraconsist --version
	cd build && release/bin/python -c "import paraconsist as pc; print(pc.paraphrastic_consistency([1, 0], [1, 1], ['a', 'a']))"

check: lint types test

clean:
	rm -rf $(VENV) $(VENV)-test-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
