# make run   set everything up and evaluate the embedded model on the open items
# make test  set everything up, then lint, types, import rules and all tests
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete

.PHONY: help setup run test lint bench lock clean

help:                ## what there is
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

setup: $(STAMP)      ## build the environment in .venv

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("EQ Lab needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else 0'
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no working venv module (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Installing the pinned packages into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

run: setup           ## evaluate the embedded model on the open items (a few minutes)
	@$(BIN)/eqlab run --profile quick
	@if [ -n "$$EQLAB_DATA" ]; then $(BIN)/eqlab judge calibrate embedded --limit 4; fi
	@$(BIN)/eqlab judge embedded --on last --on author
	@$(BIN)/eqlab report --last 2

test: setup          ## lint, types, import rules, all tests
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: setup          ## lint, types and import rules
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup         ## speed against a floor measured in the same run
	$(BIN)/python bench/runner.py

lock: setup          ## pin every dependency anew, with hashes
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra embedded --extra postgres --group dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --quiet -o requirements/dev.txt

clean:               ## remove the environment
	rm -rf $(VENV)
