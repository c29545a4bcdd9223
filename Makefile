# make run: repair the starter cohort. make test: every quick test. See README.md.
PYTHON ?= python3
BIN := .venv/bin
export PYTHON

# make bench: every figure of docs and issues again.
.PHONY: run test test-slow test-full bench chaos lint format install wheel lock clean

run: install
	@$(BIN)/opmend run cohorts/starter

test: install
	@$(BIN)/pytest -m "not slow" -n 2 --dist loadfile --durations=20 tests/unit tests/integration tests/acceptance

# Long suites, each behind its own target.
test-slow: install
	@$(BIN)/pytest -m slow tests

# The starter operators' right kernels on all of their cases, with no size cut.
test-full: install
	@$(BIN)/pytest -m slow -n 0 -v --durations=0 tests/integration/test_full_sets.py

# Figures as ratios against peers and limits of the same run; name one with NAME=keys.
bench: install
	@$(BIN)/python -m tests.bench $(NAME)

# Everything killed at every moment, and what is left of the tasks afterwards; some with NAME="points redis".
chaos: install
	@$(BIN)/python -m tests.chaos $(NAME)

lint: install
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: install
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

install:
	@ops/install

wheel: install
	@$(BIN)/python -m hatchling build -t wheel

# For maintainers: pins every package but torch, with hashes of all its files. Needs uv.
ROLES := constraints coordinator llm-worker npu-worker
lock:
	@python3 ops/lock-inputs
	@for role in $(ROLES); do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    $$([ $$role = constraints ] || echo -c requirements/constraints.txt) \
	    requirements/$$role.in -o requirements/$$role.txt || exit 1; \
	done

clean:
	rm -rf .opmend build dist
