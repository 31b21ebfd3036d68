# `make help` lists what there is.
VENV ?= .venv
PY := $(VENV)/bin/python
export EFR_VENV := $(VENV)
# The tests start hundreds of programs, which would compile every module each time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check lint types contract pytest bench bless schema picture corpus fuzz kills talks \
	test-local-model test-typescript install clean prepare-run prepare-test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

prepare-run:
	@scripts/prepare run

prepare-test:
	@scripts/prepare test

run: prepare-run ## a shell with efr on a throwaway daemon; a scripted tour when there is no terminal
	@$(PY) -m scripts.run

test: prepare-test check pytest ## install what is missing, then every check and every test

check: prepare-test lint types contract ## lint, types, the import contract, generated files

lint: ## ruff: rules and form
	@$(VENV)/bin/ruff check --no-cache .
	@$(VENV)/bin/ruff format --no-cache --check .

types: ## mypy, strict
	@$(VENV)/bin/mypy

contract: ## which room may import which, and that generated files are current
	@$(VENV)/bin/lint-imports --no-cache > .import-contract.log 2>&1 || { cat .import-contract.log; exit 1; }
	@rm -f .import-contract.log
	@$(PY) -m efr.wire.schema --check docs/protocol.schema.json
	@$(PY) -m efr.wire.docs --check docs/protocol.md
	@$(PY) -m efr.config.docs --check .

pytest: ## every test
	@$(PY) -m pytest -n 3 --dist worksteal

bench: prepare-test ## measure, each number as a ratio to a yardstick of the same run
	@$(PY) -m bench $(ONLY)

bless: prepare-test ## rewrite the frozen fixtures and say what changed
	@$(PY) -m tests.wire.bless
	@$(PY) -m tests.providers.recorded

schema: prepare-test ## write what is made from declared types and keys: schemas, pages, the example
	@$(PY) -m efr.wire.schema --write docs/protocol.schema.json
	@$(PY) -m efr.wire.docs --write docs/protocol.md
	@$(PY) -m efr.config.docs --write .

picture: prepare-test ## draw docs/tour.svg from the tour itself
	@$(PY) -m scripts.run --picture docs/tour.svg

N ?= 20000
SEED ?= 1
DB ?= corpus.sqlite
corpus: prepare-test ## write a database of N turns to DB (N=20000 SEED=1 DB=corpus.sqlite)
	@$(PY) -m scripts.corpus --turns $(N) --seed $(SEED) $(DB)

fuzz: N = 200000
S ?= 1
fuzz: prepare-test ## throw N damaged frames at the readers, N/20 at a daemon, N lines at zsh (N=200000 S=1)
	@$(PY) -m tests.wire.fuzz --count $(N) --seed $(S)
	@$(PY) -m tests.policy.fuzz --count $(N) --seed $(S)

KILLS ?= 200
kills: prepare-test ## kill the daemon, and the store alone, at KILLS=200 random points of a load
	@EFR_KILLS=$(KILLS) EFR_MESSAGES=500 $(PY) -m pytest tests/daemon/test_kill.py \
		tests/daemon/test_messages.py \
		tests/store/test_faults.py::test_killed_at_any_moment_what_was_answered_is_there_once \
		--timeout 1800

STEPS ?= 300
talks: prepare-test ## long talks of STEPS=300 steps in small windows, over each of the three model APIs
	@EFR_TALK_STEPS=$(STEPS) EFR_TALK_APIS="openai-api anthropic-api compatible" \
		$(PY) -m pytest tests/daemon/test_long_talk.py --timeout 1800

test-local-model: prepare-test ## three turns against a real local model server (llama-cpp-python)
	@scripts/local-model

test-typescript: prepare-test ## compile a TypeScript client against the published schema (needs Node)
	@$(PY) -m pytest -m typescript tests/wire/test_typescript.py --timeout 300

install: ## install efr and efrd for this user, with pipx or uv
	@if command -v uv >/dev/null 2>&1; then uv tool install --force .; \
	elif command -v pipx >/dev/null 2>&1; then pipx install --force .; \
	else echo "please install pipx or uv first" >&2; exit 1; fi

clean: ## remove what the targets above made, but no database
	rm -rf $(VENV) .venv-local-model .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
