# Shard by Shard: every command sets up what it needs by itself.
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH :=
export JAX_PLATFORMS := cpu

.DEFAULT_GOAL := help
.PHONY: help setup programs book preview notebooks test test-long check lab \
	reset folder grade review pdf dist bench canary lock clean

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
	@$(PY) -m tools.back_matter
	@$(PY) -m tools.api
	@$(PY) -m tools.machines
	@$(PY) -m tools.strategies
	@$(PY) -m tools.checks

TESTS = $(PY) -m pytest -n 2 --no-loadscope-reorder -q --durations=10

test: programs  ## the tests: all notebooks, all values, all pages
	@echo "running the tests on two cores: about twelve minutes"
	@$(TESTS) --dist loadfile --nbval --nbval-current-env \
		--nbval-cell-timeout 600 tests chapters solutions

test-long: programs  ## what takes longer: attacks, classes, a fresh clone, ...
	@$(PY) tools/setup.py --database
	@$(TESTS) --dist loadfile --long -m long tests
	@$(TESTS) --dist worksteal --suite whole -m whole tests/grading

PAGES = api back_matter bibliography elsewhere in_practice machines

check: setup  ## the quick tests, for an author at work (under a minute)
	@$(TESTS) --dist loadfile --quick tests/style tests/library \
		$(PAGES:%=tests/commands/test_%.py)

lab: setup  ## copy missing chapters and exercises to work/, open JupyterLab
	@$(PY) -m tools.work
	@cd work && SHARD_BY_SHARD_STUDENT="$(STUDENT)" ../$(PY) -m jupyter lab --config=../tools/jupyterlab.py

reset: setup  ## a fresh copy of exercise set SET=01; the old one is kept
	@$(PY) -m tools.work --reset "$(SET)"

folder:
	@if [ -z "$(SUBMISSIONS)" ]; then \
		echo "say which folder: make grade SUBMISSIONS=folder" >&2; exit 2; fi

grade: folder setup  ## grade SUBMISSIONS=folder (see book/instructors.md)
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

pdf: programs book  ## print the whole book into one PDF (two minutes)
	@$(PY) -m tools.pdf

dist: programs book  ## pack page, notebooks and PDF into dist/
	@$(PY) -m tools.dist

bench: setup  ## measure the instruments, to the screen and work/bench.json
	@$(PY) -m bench --json work/bench.json

canary: setup  ## run all notebooks with the newest packages; a report
	@$(PY) -m tools.canary

lock: setup  ## compile requirements.txt from pyproject.toml
	@$(PY) tools/setup.py --lock

clean:  ## remove the built page and the environment
	rm -rf _build dist .venv
