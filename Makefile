# make run   set everything up, show published models, and ask the embedded model a handful of questions
# make test  set everything up, then lint, types, import rules and tests
# make claims  tests that are slow by nature
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run-ready
TEST := $(VENV)/.test-ready
SLICED := $(VENV)/.slice-ready
# No bytecode ahead of time: of 24,000 files most are never imported.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
SLICE ?= tests/core tests/data tests/instruments tests/store
# Three processes on two cores: for a third of their time tests wait for servers, browsers and limits. No threads beside.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal
COMPILE := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet

# Containers often forbid bytecode; tests start hundreds of processes, and each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run talk test tests claims slice slice-setup lint docs docs-output bench audit sbom dist lock clean

help:                ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 13

setup: $(TEST)       ## build the environment in .venv, with everything that tests need
	@echo "Ready: $(BIN)/eqlab --help"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("EQ Lab needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else 0'
	@echo "Making a Python environment in $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no working venv module (Debian: apt-get install python3-venv)"; exit 1; }
	@touch $@

$(RUN): $(VENV)/.made requirements/run.txt pyproject.toml
	@echo "Installing EQ Lab and $$(grep -c '^[a-z]' requirements/run.txt) pinned packages into $(VENV); this takes a minute or two …"
	@$(PIP) --no-deps --require-hashes -r requirements/run.txt
	@$(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

$(TEST): $(RUN) requirements/build.txt requirements/dev.txt
	@echo "Installing what the tests need, $$(grep -c '^[a-z]' requirements/dev.txt) pinned packages; this takes some minutes …"
	@$(PIP) --no-deps --require-hashes -r requirements/build.txt
	@$(PIP) --no-deps --require-hashes --no-build-isolation -r requirements/dev.txt
	@touch $@

$(SLICED): $(RUN) requirements/slice.txt
	@$(PIP) --no-deps --require-hashes -r requirements/slice.txt
	@touch $@

run: $(RUN)          ## published models in a chart, then a handful of questions to the embedded model (a minute or two)
	@echo "1 of 2: published models, from figures that ship with EQ Lab. No model is needed for this."
	@$(BIN)/eqlab plot ladder -o -
	@echo "2 of 2: eight questions to the embedded model, which runs on this machine. The first time its weights are unpacked."
	@$(BIN)/eqlab run embedded -b eqbench -b empathy --limit 4
	@echo "Your model in that chart: $(BIN)/eqlab data fetch eqbench, then $(BIN)/eqlab run PROVIDER/MODEL"

talk: $(RUN)         ## the embedded model in both seats of four short talks (several minutes)
	@$(BIN)/eqlab run embedded -b dialogue --speaker embedded
	@echo "Read the talks: eqlab-report-talks/index.html"

test: lint tests     ## lint, types, import rules, tests

tests: setup         ## tests alone
	$(PYTEST) -m "not claims"

claims: setup        ## tests that are slow by nature: repeated kills, Ray, coverage over repetitions, foreign oracles
	$(PYTEST) -m claims

slice-setup: $(SLICED)

slice: $(SLICED)     ## a few minutes of tests, on another interpreter: make slice PYTHON=python3.13 VENV=.venv-newest
	$(PYTEST) -m "not claims" $(SLICE)

lint: setup          ## lint, types and import rules
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: setup          ## this documentation as a site in site/; a broken link is an error
	$(BIN)/zensical build --strict

docs-output: setup   ## make the output that the documentation shows (minutes: the embedded model is asked)
	$(BIN)/python bench/docs_output.py

bench: setup         ## speed in one table, each row against a floor measured in the same run (minutes)
	$(BIN)/python bench/speed.py --write

audit:               ## known weaknesses of the pinned packages; says so when the advisory database is out of reach
	@$(PYTHON) bench/audit.py

sbom: setup          ## bill of materials of this environment (CycloneDX)
	$(BIN)/python bench/sbom.py > eqlab.cdx.json

dist: $(VENV)/.made  ## sdist and wheel in dist/, built twice: the same bytes, with their sha256
	@$(PIP) -r requirements/build.txt --require-hashes --no-deps
	@$(PIP) "hatchling>=1.27"
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist/again
	cmp dist/*.whl dist/again/*.whl && cmp dist/*.tar.gz dist/again/*.tar.gz && rm -r dist/again
	cd dist && sha256sum *.whl *.tar.gz | tee SHA256SUMS

lock: setup          ## pin every dependency anew, with hashes
	$(PIP) uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev $(COMPILE) -o requirements/dev.txt
	echo setuptools | $(BIN)/uv pip compile - -c requirements/dev.txt $(COMPILE) -o requirements/build.txt
	$(BIN)/uv pip compile pyproject.toml --extra embedded --extra study --extra submit --group build -c requirements/dev.txt $(COMPILE) -o requirements/run.txt
	$(BIN)/uv pip compile pyproject.toml --extra embedded --extra study --extra submit --extra postgres --group build --group tests -c requirements/dev.txt $(COMPILE) -o requirements/slice.txt

clean:               ## remove the environment
	rm -rf $(VENV)
