# `make demo` and `make test` need only Python (3.11 or newer) and make.
# Another interpreter: `make clean && make test PYTHON=python3.12`.
# Fewer tests:         `make test PYTEST_ARGS="-m 'not slow'"`.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
BENCH_ARGS ?=
LAB_ARGS ?=
SOAK_ARGS ?=

BIN := $(VENV)/bin

.PHONY: demo test soak lint types docs bench lab clean

demo: $(VENV)/.installed-plot
	$(BIN)/python examples/demo.py

test: lint types
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

# gapfit under attack, on a seed drawn anew: under 40 minutes on two cores, one table. A tenth of it is in the
# tests. Less: `make soak SOAK_ARGS="--scale 0.1"`; one area: `make soak SOAK_ARGS="--only fuzz"`.
soak: $(VENV)/.installed-test
	$(BIN)/python -m soak $(SOAK_ARGS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

# The pages and the examples, into docs/_build/html. A warning is an error, and no network is needed.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -b html -a -W --keep-going -n docs docs/_build/html

# gapfit beside its peers: see benchmarks/README.md. Quickly: `make bench BENCH_ARGS=--quick`.
bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/table.py $(BENCH_ARGS)

# The papers' theorems and experiments, in about ten minutes, into one page: build/lab/index.html. Files are
# read from the folder GAPFIT_DATA; what is absent is generated.
lab: $(VENV)/.installed-plot
	$(BIN)/gapfit lab theorems --out build/lab
	$(BIN)/gapfit lab figures --out build/lab $(LAB_ARGS)

# Everything generated, the environment included.
clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis demo.png docs/_build docs/auto_examples
	find src tests soak examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp an extra; a changed pyproject.toml installs again.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

# pip is the last thing venv writes, so a broken environment is made again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "gapfit needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
