# Shard by Shard: every command sets up what it needs by itself.
SHELL := /bin/bash
PYTHON ?= python3
PY := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHONPATH :=
# Python keeps what it compiled, whatever the machine says: a second a process.
export PYTHONDONTWRITEBYTECODE :=
export JAX_PLATFORMS := cpu

.DEFAULT_GOAL := help
.PHONY: help setup programs book preview notebooks test test-long check lab \
	reset folder grade review shots pdf epub dist bench canary lock clean

help:  ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' \
		| awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup:  ## create .venv with every package (once; the others call it)
	@$(PYTHON) tools/setup.py

programs: setup
	@$(PY) tools/setup.py --browser --sandbox

book:  ## build the book into _build/html (executes nothing)
	@$(PYTHON) tools/setup.py --page

preview: setup  ## show the page of one chapter: CHAPTER=01, RUN=1 to execute
	@$(PY) -m tools.preview "$(CHAPTER)" $(if $(RUN),--execute)

notebooks: setup  ## regenerate chapters/, solutions/ and exercises/ from book/
	@$(PY) -m tools.notebooks
	@$(PY) -m tools.sources
	@$(PY) -m tools.back_matter
	@$(PY) -m tools.api
	@$(PY) -m tools.machines
	@$(PY) -m tools.predicted
	@$(PY) -m tools.strategies
	@$(PY) -m tools.status
	@$(PY) -m tools.checks

TESTS = $(PY) -m pytest -n 2 --no-loadscope-reorder -q --durations=10

NOTEBOOKS = --dist loadfile -p tools.drawings --nbval --nbval-current-env --nbval-cell-timeout 600 \
	$(if $(ACCOUNT),-p bench.account --account "$(ACCOUNT)")

test: programs  ## the tests: all chapters, all values, all pages
	@echo "running the tests on two cores: ten minutes or more"
	@$(TESTS) $(NOTEBOOKS) tests chapters

test-long: programs  ## what takes longer: solutions, attacks, classes, ...
	@$(PY) tools/setup.py --database
	@$(TESTS) $(NOTEBOOKS) --long -m long --mutants $(or $(MUTANTS),all) tests solutions
	@$(TESTS) --dist worksteal --suite whole -m whole tests/grading

PAGES = api back_matter bibliography elsewhere in_practice machines predicted

check: setup  ## the quick tests, for an author at work (under a minute)
	@$(TESTS) --dist loadfile --quick tests/style tests/library tests/strategies \
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
		$(if $(SCHEDULER),--scheduler "$(SCHEDULER)") \
		$(if $(DATABASE),--database "$(DATABASE)") $(OPTIONS)

review: setup  ## open formgrader: scores, feedback, marks for written answers
	@cd tools/review && DATABASE="$(DATABASE)" ../../$(PY) -m jupyter lab \
		--config=jupyter_config.py

shots: programs book  ## pictures of pages and JupyterLab, into _build/shots
	@$(PY) -m tools.shots

pdf: programs book  ## print the whole book into one PDF (two minutes)
	@$(PY) -m tools.pdf

epub: setup book  ## pack the whole book into one EPUB
	@$(PY) -m tools.epub

dist: programs book  ## pack page, notebooks, PDF and EPUB into dist/
	@$(PY) -m tools.dist

bench: setup  ## measure book, notebooks, instruments; also bench/results
	@$(PY) -m bench --json bench/results $(if $(ONLY),--only $(ONLY)) \
		$(if $(LARGE),--large)
	@$(PY) -m bench.goals
	@$(PY) -m tools.status

canary: setup  ## notebooks with the newest packages, LOWEST=1, or ISA=AVX2
ifdef ISA
	@failed=0; for suite in test test-long; do \
		$(PY) -m bench.soak --times 1 --suite $$suite --instructions $(ISA) \
			|| failed=1; done; $(PY) -m tools.status; exit $$failed
else
	@$(PY) -m tools.canary $(if $(LOWEST),--lowest) \
		$(if $(CHAPTER),--chapter "$(CHAPTER)") \
		$(if $(WITH),--python "$$(command -v "$(WITH)")")
endif

lock: setup  ## compile requirements.txt from pyproject.toml
	@$(PY) tools/setup.py --lock

clean:  ## remove the built page and the environments
	rm -rf _build dist .venv .venv-page
