# Shard by Shard: every command sets up what it needs by itself.
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH :=
export JAX_PLATFORMS := cpu

.DEFAULT_GOAL := help
.PHONY: help setup browser book preview notebooks test check lab reset grade \
	bench lock clean

help:  ## list these commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
		| awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup:  ## create .venv with every package (once; the others call it)
	@$(PYTHON) tools/setup.py

browser: setup
	@$(PY) tools/setup.py --browser

book: setup  ## build the book into _build/html (seconds; first time minutes)
	@$(PY) -m tools.page

preview: setup  ## show the page of one chapter: CHAPTER=01, RUN=1 to execute
	@$(PY) -m tools.preview "$(CHAPTER)" $(if $(RUN),--execute)

notebooks: setup  ## regenerate chapters/, solutions/ and exercises/ from book/
	@$(PY) -m tools.notebooks
	@$(PY) -m tools.sources
	@$(PY) -m tools.checks

test: setup browser  ## run every test, two at a time
	@echo "running all tests on two cores: about five minutes"
	@$(PY) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q --nbval \
		--nbval-current-env --nbval-cell-timeout 600 tests chapters solutions

check: setup  ## the quick tests, for an author at work (under a minute)
	@$(PY) -m tools.notebooks --check
	@$(PY) -m pytest -n 2 --dist loadfile -q tests/style tests/exercises \
		tests/library

lab: setup  ## copy missing chapters and exercises to work/, open JupyterLab
	@$(PY) -m tools.work
	@cd work && ../$(PY) -m jupyter lab --config=../tools/jupyterlab.py

reset: setup  ## a fresh copy of exercise set SET=01; the old one is kept
	@$(PY) -m tools.work --reset "$(SET)"

grade: setup  ## grade SUBMISSIONS=folder (see book/instructors.md)
	@$(PY) -m shardlab.grading "$(SUBMISSIONS)" \
		$(if $(NO_SANDBOX),--no-sandbox)

bench: setup  ## measure the instruments, to the screen and work/bench.json
	@$(PY) -m bench --json work/bench.json

lock: setup  ## compile requirements.txt from pyproject.toml
	@$(PY) tools/setup.py --lock

clean:  ## remove the built page and the environment
	rm -rf _build .venv
