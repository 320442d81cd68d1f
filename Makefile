# Shard by Shard: every command sets up what it needs by itself.
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH :=
export JAX_PLATFORMS := cpu

.DEFAULT_GOAL := help
.PHONY: help setup programs book preview notebooks test test-grading check lab \
	reset grade review bench lock clean

help:  ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
		| awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup:  ## create .venv with every package (once; the others call it)
	@$(PYTHON) tools/setup.py

programs: setup
	@$(PY) tools/setup.py --browser --sandbox

book: setup  ## build the book into _build/html (seconds; first time minutes)
	@$(PY) -m tools.page

preview: setup  ## show the page of one chapter: CHAPTER=01, RUN=1 to execute
	@$(PY) -m tools.preview "$(CHAPTER)" $(if $(RUN),--execute)

notebooks: setup  ## regenerate chapters/, solutions/ and exercises/ from book/
	@$(PY) -m tools.notebooks
	@$(PY) -m tools.sources
	@$(PY) -m tools.strategies
	@$(PY) -m tools.checks

test: programs  ## run every test, two at a time
	@echo "running all tests on two cores: about twenty minutes"
	@$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q --nbval \
		--nbval-current-env --nbval-cell-timeout 600 tests chapters solutions

test-grading: programs  ## every attack, every honest student, whole classes
	@$(PY) tools/setup.py --database
	@$(PY) -m pytest -n 2 --dist worksteal -q --suite whole tests/grading

check: setup  ## the quick tests, for an author at work (under a minute)
	@$(PY) -m tools.notebooks --check
	@$(PY) -m pytest -n 2 --dist loadfile -q tests/style tests/exercises \
		tests/library

lab: setup  ## copy missing chapters and exercises to work/, open JupyterLab
	@$(PY) -m tools.work
	@cd work && SHARD_BY_SHARD_STUDENT="$(STUDENT)" ../$(PY) -m jupyter lab --config=../tools/jupyterlab.py

reset: setup  ## a fresh copy of exercise set SET=01; the old one is kept
	@$(PY) -m tools.work --reset "$(SET)"

grade: setup  ## grade SUBMISSIONS=folder (see book/instructors.md)
	@$(if $(NO_SANDBOX),,$(PY) tools/setup.py --sandbox)
	@$(PY) -m shardlab.grading "$(SUBMISSIONS)" \
		$(if $(NO_SANDBOX),--no-sandbox) $(if $(AGAIN),--again) \
		$(if $(ROSTER),--roster "$(ROSTER)") \
		$(if $(MAPPING),--mapping "$(MAPPING)") \
		$(foreach date,$(DUE),--due "$(date)") \
		$(if $(LATE),--late "$(LATE)") $(if $(SEED),--seed "$(SEED)") \
		$(if $(WORKERS),--workers "$(WORKERS)") \
		$(if $(SECONDS),--seconds "$(SECONDS)") \
		$(if $(DATABASE),--database "$(DATABASE)") $(OPTIONS)

review: setup  ## open formgrader: scores, feedback, marks for written answers
	@cd tools/review && DATABASE="$(DATABASE)" ../../$(PY) -m jupyter lab \
		--config=jupyter_config.py

bench: setup  ## measure the instruments, to the screen and work/bench.json
	@$(PY) -m bench --json work/bench.json

lock: setup  ## compile requirements.txt from pyproject.toml
	@$(PY) tools/setup.py --lock

clean:  ## remove the built page and the environment
	rm -rf _build .venv
