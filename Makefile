# make demo: install the package with its extra `run`, and see the main job run.
# make test: install everything and run the tests.
# make test-quick: those that start no process or server and train nothing, and a tenth of each property's examples.
# make check: lint and types as well. A second call does not reinstall.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-quick lint types check clean

$(RUNS): pyproject.toml constraints.txt
	@echo "Installing paraconsist with torch and transformers into $(VENV) ..."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[run]'
	touch $@

$(INSTALLED): $(RUNS)
	@echo "Installing what tests and linters need ..."
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[all]'
	touch $@

demo: $(RUNS)
	HF_HUB_OFFLINE=1 $(BIN)/paraconsist demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-quick: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" --hypothesis-profile quick

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

check: lint types test

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
