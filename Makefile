# make demo: install the package with its extra `run`, and see the main job run.
# make test: install everything and run the tests.
# make test-quick: those that start no process or server and train nothing, and a tenth of each property's examples.
# make test-newest, make test-oldest: what needs no torch, with constraints.txt and with the oldest versions that are claimed,
# each in an environment of its own: make test-oldest PYTHON=python3.10.
# make check: lint and types as well. A second call does not reinstall.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed

TESTS := pytest pytest-xdist hypothesis polars build setuptools

.PHONY: demo test test-quick test-newest test-oldest lint types check clean

$(RUNS): pyproject.toml constraints.txt
	@echo "Installing paraconsist with torch and transformers into $(VENV), some minutes the first time ..."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --no-compile -c constraints.txt -e '.[run]'
	touch $@

$(INSTALLED): $(RUNS)
	@echo "Installing what tests and linters need ..."
	$(BIN)/python -m pip install --no-compile --quiet -c constraints.txt -e '.[all]'
	touch $@

demo: $(RUNS)
	HF_HUB_OFFLINE=1 $(BIN)/paraconsist demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 30

test-quick: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --hypothesis-profile quick

test-newest: CONSTRAINTS := constraints.txt
test-oldest: CONSTRAINTS := constraints-oldest.txt
test-newest test-oldest:
	$(PYTHON) -m venv $(VENV)-$@
	$(VENV)-$@/bin/python -m pip install --quiet -c $(CONSTRAINTS) -e '.[report,baselines,nlp]' $(TESTS)
	$(VENV)-$@/bin/python -m pytest -n 2 --dist loadfile -m "not slow" --hypothesis-profile quick

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

check: lint types test

clean:
	rm -rf $(VENV) $(VENV)-test-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
