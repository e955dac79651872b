# `make demo` and `make test` need only Python (3.11 or newer) and make.
# Another interpreter: `make clean && make test PYTHON=python3.12`.
# Fewer tests:         `make pytest PYTEST_ARGS="-m 'not slow'"`.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
BENCH_ARGS ?=
LAB_ARGS ?=
SOAK_ARGS ?=

BIN := $(VENV)/bin
OLDEST := test_solve.py test_threads.py cli/test_cli.py persistence/test_persistence.py

.PHONY: demo test pytest interpreted test-gpu soak lint types installed released oldest docs bench lab clean

demo: $(VENV)/.installed-plot
	$(BIN)/python examples/demo.py

# What a change must leave in order. The tests alone, without the legs behind them: `make lint types pytest`.
test: lint types pytest interpreted installed oldest docs

pytest: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

# The compiled code's own tests, without compilation: numba's translation and Python agree on what it says.
interpreted: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(wildcard tests/compiled/test_compiled_*.py)

# Rows on a device: on the card that torch finds, or on CPU tensors and by Triton's interpreter. The range of versions
# admits builds for the CPU, which are smaller.
TORCH ?= torch>=2.8,<2.14
test-gpu: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet "$(TORCH)" "triton>=3.4; platform_system == 'Linux'"
	$(BIN)/python -m pytest -q tests/device $(PYTEST_ARGS)

# gapfit under attack, on a seed drawn anew: under 40 minutes on two cores, one table. A tenth of it is in the
# tests. Less: `make soak SOAK_ARGS="--scale 0.1"`; one area: `make soak SOAK_ARGS="--only fuzz"`.
soak: $(VENV)/.installed-test
	$(BIN)/python -m soak $(SOAK_ARGS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

# The wheel, where nothing can be written beside it.
installed: $(VENV)/.installed-test
	[ ! -d build/installed ] || chmod -R u+w build/installed
	rm -rf build/wheel build/installed
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	$(BIN)/python -m pip install --quiet --no-deps --no-compile --target build/installed build/wheel/*.whl
	$(BIN)/python .ci/installed.py build/installed

# The wheel and the sdist, outside of the checkout: `make released PYTHONS="python3.11 python3.13"`.
PYTHONS ?= $(PYTHON)
released: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python .ci/released.py $(PYTHONS)

# The oldest versions of what gapfit needs.
oldest: build/oldest/.installed
	build/oldest/bin/python -m pytest -n 2 -p no:cacheprovider $(addprefix tests/,$(OLDEST))

# The pages and the examples, into docs/_build/html. A warning is an error, and no network is needed. Where there is
# Chromium, those with formulas are looked at; all of them: `.venv/bin/python .ci/pages.py docs/_build/html --all`.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -b html -a -W --keep-going -n docs docs/_build/html
	$(BIN)/python .ci/pages.py docs/_build/html

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

build/oldest/.installed: pyproject.toml .ci/oldest.py | $(BIN)/pip
	rm -rf build/oldest
	$(PYTHON) -m venv build/oldest
	$(BIN)/python .ci/oldest.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --constraint build/oldest/constraints.txt --editable ".[test]"
	@touch $@

# pip is the last thing venv writes, so a broken environment is made again.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "gapfit needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
