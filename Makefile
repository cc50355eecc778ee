# Perdure's own commands. `make` alone lists them; each does its own set-up.
PYTHON ?= python3
UV     ?= uv
VENV   := .venv
BENCH  := .venv-bench
CLIENTS := .venv-clients
HOSTS  := .venv-hosts
ADAPTERS := .venv-adapters
API    := .venv-api
CHROMA := .venv-chroma
DOCS   := .venv-docs
TRAINING := .venv-training
WEB    := .venv-web
BIN    := $(VENV)/bin
INSTALL := install -qq --disable-pip-version-check --no-deps
PIP    := -m pip $(INSTALL)

# How many test workers; how many times the soak kills a writer and cuts the power; how many seconds to fuzz.
JOBS  ?= 3
KILLS ?= 1000
LOSSES ?= 5000
FUZZ  ?= 300
# How many requests `make test-api` makes up for each operation, besides those of the description's own edges. 25 took three
# minutes on a busy machine with two processors, 200 more than twenty: before a release, EXAMPLES=200.
EXAMPLES ?= 80

# make lock UPGRADE=--upgrade takes newer versions, too.
UPGRADE ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-clients test-hosts test-adapters test-web check format docs fuzz test-api test-postgres soak soak-postgres bench bench-postgres bench-lives bench-triggers bench-recall bench-learn bench-keywords bench-warm bench-index bench-nearest bench-hooks bench-session bench-told bench-secrets bench-peers bench-serve bench-web bench-embedder training-data train train-judge lock build clean

help:  ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready  ## Build .venv from the hash-locked requirements

$(VENV)/.locked: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("Perdure needs Python 3.11 or newer; try: make setup PYTHON=python3.12")'
	@echo "setup: new environment in $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@echo "setup: locked packages, each checked by its hash (the first time about 220 MB to download)"
	@$(BIN)/python $(PIP) --require-hashes -r $<
	@touch $@

$(VENV)/.ready: $(VENV)/.locked pyproject.toml packages/minilm/pyproject.toml packages/minilm/build_weights.py packages/minilm/delta.npz packages/minilm/judge.npz
	@echo "setup: perdure itself, editable, and its model"
	@$(BIN)/python $(PIP) --no-build-isolation -e . ./packages/minilm
	@touch $@

demo: setup  ## Two small stories: the life of a memory, and a coding agent that remembers
	@$(BIN)/perdure demo

test: check  ## Everything CI checks: lint, types, architecture, tests, coverage
	PYTHONWARNDEFAULTENCODING=1 $(BIN)/pytest -n $(JOBS) --cov --cov-report=term:skip-covered

test-clients: setup $(CLIENTS)/.ready  ## Clients of others, in Python and Node, against `perdure mcp`
	PERDURE_CLIENTS=$(CLIENTS) $(BIN)/pytest tests/clients

test-hosts: setup $(HOSTS)/.ready  ## Four coding agents, each a whole turn with `perdure mcp`, against a scripted model
	PERDURE_HOSTS=$(HOSTS) $(BIN)/pytest tests/hosts

test-web: setup $(WEB)/.ready  ## The page in a real Chromium; PICTURES=docs/web makes its screenshots anew, ONLY=newcomer runs a part
	@{ command -v chromium || command -v chromium-browser; } >/dev/null || { echo "test-web: Chromium is not there; on Debian: apt-get install chromium"; exit 1; }
	PERDURE_WEB=$(WEB) $(if $(PICTURES),PERDURE_PICTURES=$(abspath $(PICTURES))) $(BIN)/pytest tests/web_browser $(if $(ONLY),-k '$(ONLY)')

$(WEB)/.ready: requirements/web.txt | $(VENV)/.ready
	@echo "test-web: environment with playwright in $(WEB), apart from Perdure's own (the first time about 50 MB to download)"
	@$(PYTHON) -m venv --clear --without-pip $(WEB)
	@$(BIN)/python -m pip --python $(WEB)/bin/python $(INSTALL) --no-compile --require-hashes -r $<
	@touch $@

# Clones of the repositories whose tests are run may be named where they cannot be fetched; the commits stand in
# tests/adapters/test_foreign.py.
test-adapters: setup $(ADAPTERS)/.ready $(ADAPTERS)/crewai/.ready  ## Agents of every framework on a memory, and the frameworks' own tests; LANGGRAPH_REPO=path names a clone
	$(BIN)/basedpyright --warnings --project tests/adapters/pyrightconfig.json
	$(BIN)/basedpyright --warnings --project tests/adapters/pyrightconfig.crewai.json
	$(ADAPTERS)/bin/python $(ADAPTED) tests/adapters
	$(ADAPTERS)/floors/bin/python $(ADAPTED) tests/adapters --ignore tests/adapters/test_foreign.py
	PYTHONPATH=$(ADAPTERS)/oldest $(ADAPTERS)/bin/python $(ADAPTED) tests/adapters/test_openai_agents.py tests/adapters/test_langchain.py
	$(ADAPTERS)/crewai/bin/python $(ADAPTED) tests/adapters/test_crewai.py tests/adapters/test_docs.py

# What frameworks warn of is not ours to mend, and their tests bring loops of their own.
ADAPTED := -m pytest -n $(JOBS) -p no:asyncio -o filterwarnings=ignore

$(ADAPTERS)/.ready: requirements/adapters.txt requirements/adapters-floors.txt requirements/adapters-oldest.txt pyproject.toml | $(VENV)/.ready
	@echo "adapters: environments in $(ADAPTERS), apart from Perdure's own, with the newest frameworks and the oldest ones"
	@$(PYTHON) -m venv --clear --without-pip $(ADAPTERS)
	@$(PYTHON) -m venv --clear --without-pip $(ADAPTERS)/floors
	@echo "adapters: locked packages, each checked by its hash (the first time about 400 MB to download, 1.4 GB on disk)"
	@$(BIN)/python -m pip --python $(ADAPTERS)/bin/python $(INSTALL) --no-compile --require-hashes -r requirements/adapters.txt
	@$(BIN)/python -m pip --python $(ADAPTERS)/floors/bin/python $(INSTALL) --no-compile --require-hashes -r requirements/adapters-floors.txt
	@$(BIN)/python -m pip $(INSTALL) --no-compile --require-hashes --upgrade --target $(ADAPTERS)/oldest -r requirements/adapters-oldest.txt
	@$(BIN)/python -m pip --python $(ADAPTERS)/bin/python $(INSTALL) --no-build-isolation -e . ./packages/minilm
	@$(BIN)/python -m pip --python $(ADAPTERS)/floors/bin/python $(INSTALL) --no-build-isolation -e . ./packages/minilm
	@touch $@

$(ADAPTERS)/crewai/.ready: requirements/crewai.txt | $(ADAPTERS)/.ready
	@echo "adapters: an environment for CrewAI, which fits beside no other framework (the first time about 300 MB to download)"
	@$(PYTHON) -m venv --clear --without-pip $(ADAPTERS)/crewai
	@$(BIN)/python -m pip --python $(ADAPTERS)/crewai/bin/python $(INSTALL) --no-compile --require-hashes -r $<
	@$(BIN)/python -m pip --python $(ADAPTERS)/crewai/bin/python $(INSTALL) --no-build-isolation -e . ./packages/minilm
	@touch $@

check: setup  ## Lint, format, types, architecture and docs; no tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/basedpyright --warnings
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/docs.py --check

format: setup  ## Put the code into its format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

docs: setup $(DOCS)/.ready  ## Write docs/reference again, from the code, and build the site, its links checked and its search included
	$(BIN)/python tools/docs.py
	$(BIN)/python tools/typescript.py
	@rm -rf site
	@# A warning, such as a link or an anchor that leads nowhere, is an error.
	$(DOCS)/bin/python -m sphinx --quiet --fail-on-warning --fresh-env --doctree-dir $(DOCS)/pages --conf-dir docs . site
	@echo "docs: open site/index.html in a browser; nothing has to be served"

# As the clients below, without a pip of its own.
$(DOCS)/.ready: requirements/docs.txt | $(VENV)/.ready
	@echo "docs: environment with Sphinx in $(DOCS), apart from Perdure's own (the first time about 20 MB to download)"
	@$(PYTHON) -m venv --clear --without-pip $(DOCS)
	@$(BIN)/python -m pip --python $(DOCS)/bin/python $(INSTALL) --no-compile --require-hashes -r $<
	@touch $@

fuzz: setup  ## Try new examples for five minutes (FUZZ=seconds); a failure says how to repeat it
	$(BIN)/python tools/fuzz.py --seconds $(FUZZ)

test-api: setup $(API)/.ready  ## Ask a real server all that its OpenAPI document allows, and what it does not (EXAMPLES=n)
	$(BIN)/python tools/test_api.py $(API)/bin/st --examples $(EXAMPLES)

$(API)/.ready: requirements/api.txt
	@echo "test-api: environment with schemathesis in $(API), apart from Perdure's own"
	@$(PYTHON) -m venv --clear $(API)
	@$(API)/bin/python $(PIP) --require-hashes -r $<
	@touch $@

# Each at least so often as when Perdure was last attacked from outside: combinations of token, route and namespace;
# requests made of the description; writers that do everything, killed, with what they acknowledged and erased; and
# operations that a disk refuses.
soak-postgres: KILLS = 200
soak-postgres: setup  ## Kill clients and servers of PostgreSQL, half each (KILLS=200), and count what survived
	PERDURE_KILLS=$(KILLS) PERDURE_CUTS=1 PERDURE_COPIED=10000 PERDURE_COPY_KILLS=20 PYTHONWARNDEFAULTENCODING=1 \
	$(BIN)/pytest -s tests/faults/test_postgres_kills.py tests/faults/test_copy_kills.py

test-postgres: setup  ## The contract of a store, and everything else about PostgreSQL, on a server that the tests start
	PYTHONWARNDEFAULTENCODING=1 $(BIN)/pytest -n $(JOBS) tests/store -k "postgres or copy" \
	tests/faults/test_postgres_kills.py tests/faults/test_postgres_many.py tests/faults/test_copy_kills.py \
	tests/recall/test_inside_database.py

bench-postgres: setup  ## What a store in PostgreSQL costs beside one in a file, as ratios of one run
	$(BIN)/python -m bench.postgres

soak: COUNTS = PERDURE_COMBINATIONS=5175 PERDURE_REQUESTS=12000 PERDURE_MIXED_KILLS=56 PERDURE_MIXED_CALLS=13577 \
	PERDURE_MIXED_ERASED=1049 PERDURE_POINTS=508 PERDURE_EXPORT_MB=1000 PERDURE_INDEX_KILLS=200
soak: setup  ## Kill writers 1,000 times (KILLS=n), cut the power 5,000 times (LOSSES=n), count what survived; failing disks, tokens, requests in full
	PERDURE_KILLS=$(KILLS) PERDURE_POWER_LOSSES=$(LOSSES) PERDURE_MESSAGES=20000 PERDURE_CALLS=50 PERDURE_SECONDS=60 PERDURE_ORPHANS=50 $(COUNTS) PYTHONWARNDEFAULTENCODING=1 $(BIN)/pytest -m soak -s

bench: setup  ## Measure Perdure on this machine; LOCOMO=path names the texts
	$(BIN)/python -m bench

bench-lives: setup  ## What correcting, undoing and checkpoints cost, as ratios within one run
	$(BIN)/python -m bench.lives

bench-triggers: setup  ## What it costs to find trigger phrases in a prompt, as ratios within one run
	$(BIN)/python -m bench.triggers

bench-recall: setup  ## How well recall finds on every kind of text; LOCOMO, SCIFACT, BEAM, DEV, STS, SICK name the data, RECALL=--save writes the page
	$(BIN)/python -m bench.recall $(RECALL)

bench-learn: setup  ## How well it is decided what texts say; STS=folder SICK=folder LOCOMO=path name the data
	$(BIN)/python -m bench.learn

bench-keywords: setup  ## Whether the keywords we choose meet their criterion; LOCOMO=path SCIFACT=folder name the data
	$(BIN)/python -m bench.keywords

bench-warm: setup  ## What a warm recall costs beside a bare scan, as ratios; WARM=--large to 1M
	$(BIN)/python -m bench.warm $(WARM)

bench-index: setup  ## What the index file gives to new processes, servers and memory, as ratios; INDEX="--workers --save" and more
	$(BIN)/python -m bench.index $(INDEX)

bench-nearest: setup  ## How many of the nearest are found in a large index file, on several kinds of vectors; NEAREST="--locomo path --scifact folder"
	$(BIN)/python -m bench.nearest $(NEAREST)

bench-secrets: setup  ## How many planted secrets are found, and what harmless text is touched; LOCOMO=path adds turns
	$(BIN)/python -m bench.secrets $(LOCOMO)

bench-peers: $(BENCH)/.ready  ## The same, in one run with chromadb, lancedb, sqlite-vec and txtai
	$(BENCH)/bin/python -m bench --peers

bench-web: setup  ## What the page costs at 100,000 memories, beside the verbs behind it; PAGE_BENCH="20000 --save" and more
	$(BIN)/python -m bench.web $(PAGE_BENCH)

bench-hooks: setup  ## What a hook costs at each event, as ratios to a bare interpreter
	$(BIN)/python -m bench.hooks

bench-session: setup $(CHROMA)/.ready  ## What a cold session start costs with 10,000 learnings, as ratios; SESSION=--save writes the page
	$(BIN)/python -m bench.session --chromadb $(CHROMA)/bin/python $(SESSION)

bench-told: setup  ## How much of what a session is told helps it, on learnings of several projects; TOLD=--cases prints each case
	$(BIN)/python -m bench.told $(TOLD)

$(CHROMA)/.ready: requirements/chroma.txt | $(VENV)/.ready
	@echo "bench-session: environment with chromadb in $(CHROMA), apart from Perdure's own (the first time about 90 MB to download)"
	@$(PYTHON) -m venv --clear --without-pip $(CHROMA)
	@$(BIN)/python -m pip --python $(CHROMA)/bin/python $(INSTALL) --no-compile --require-hashes -r $<
	@touch $@

bench-serve: setup $(CLIENTS)/.ready  ## How fast the servers start and answer, beside others, as ratios; SERVE=--save writes the page
	$(BIN)/python -m bench.serve $(SERVE)

bench-embedder: setup  ## Agreement of the int8 model with float32; LOCOMO=path names the texts
	$(BIN)/python bench/embedder_agreement.py $(LOCOMO)

# Where the snapshots of the sources are, where the data goes, and how many minutes to train.
SNAPSHOTS ?= snapshots
DATA      ?= train.json.xz
MINUTES   ?= 45

training-data: setup  ## What the local model is trained on, from snapshots of the sources: SNAPSHOTS=folder DATA=file
	$(BIN)/python -m training.prepare --snapshots $(SNAPSHOTS) --out $(DATA)

train: $(TRAINING)/.ready  ## Train the local model (DATA=file MINUTES=n) and write packages/minilm/delta.npz
	$(TRAINING)/bin/python -m training.train --data $(DATA) --minutes $(MINUTES) --out trained.npz
	$(TRAINING)/bin/python -m training.delta trained.npz packages/minilm/delta.npz

train-judge: $(TRAINING)/.ready setup  ## Train the judge of changes (SNAPSHOTS=folder PUBLIC=file MINUTES=n) and write packages/minilm/judge.npz
	$(BIN)/python -m training.talks --snapshots $(SNAPSHOTS) --out talks.json
	$(BIN)/python -m training.chats --out chats.json
	PYTHONPATH=src $(TRAINING)/bin/python -m training.judge --public $(PUBLIC) --talks talks.json --chats chats.json --minutes $(MINUTES) --out judge.npz
	PYTHONPATH=src $(TRAINING)/bin/python -m training.delta judge.npz packages/minilm/judge.npz --rank 48 --judge

$(TRAINING)/.ready: requirements/dev.txt
	@echo "training: environment with PyTorch in $(TRAINING), apart from Perdure's own (the first time about 400 MB to download)"
	@$(PYTHON) -m venv --clear $(TRAINING)
	@$(TRAINING)/bin/python $(PIP) --require-hashes -r $<
	@# As for the bench: another build for each kind of machine, so by version and not by hash.
	@$(TRAINING)/bin/python -m pip install -qq --disable-pip-version-check torch==2.13.0
	@touch $@

$(BENCH)/.ready: requirements/bench.txt pyproject.toml
	@echo "bench: environment with the peers in $(BENCH), apart from Perdure's own"
	@$(PYTHON) -m venv --clear $(BENCH)
	@echo "bench: locked packages, each checked by its hash (the first time about 500 MB to download)"
	@$(BENCH)/bin/python $(PIP) --require-hashes -r $<
	@# torch, which txtai imports, has another build for each kind of machine: pip's own choice, by version, not by hash.
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check torch==2.13.0
	@$(BENCH)/bin/python $(PIP) --no-build-isolation -e . ./packages/minilm
	@touch $@

# Environments that are only used, without a pip of their own, and compiled where something is imported.
$(CLIENTS)/.ready: requirements/clients.txt requirements/clients-1.txt requirements/node/package.json requirements/node/package-lock.json | $(VENV)/.ready
	@echo "clients: environments in $(CLIENTS), apart from Perdure's own"
	@$(PYTHON) -m venv --clear --without-pip $(CLIENTS)
	@$(PYTHON) -m venv --clear --without-pip $(CLIENTS)/1
	@echo "clients: locked packages, each checked by its hash (the first time about 150 MB to download)"
	@$(BIN)/python -m pip --python $(CLIENTS)/bin/python $(INSTALL) --no-compile --require-hashes -r requirements/clients.txt
	@$(BIN)/python -m pip --python $(CLIENTS)/1/bin/python $(INSTALL) --no-compile --require-hashes -r requirements/clients-1.txt
	@mkdir -p $(CLIENTS)/node
	@cp requirements/node/package.json requirements/node/package-lock.json $(CLIENTS)/node
	@cd $(CLIENTS)/node && PATH="$(CURDIR)/$(CLIENTS)/bin:$$PATH" npm install --no-save --omit=dev --omit=optional --ignore-scripts --prefer-offline --no-audit --no-fund --silent
	@touch $@

$(HOSTS)/.ready: requirements/hosts.txt requirements/hosts/package.json requirements/hosts/package-lock.json | $(VENV)/.ready
	@echo "hosts: Node and the coding agents in $(HOSTS), apart from Perdure's own environment"
	@$(PYTHON) -m venv --clear --without-pip $(HOSTS)
	@echo "hosts: locked packages, each checked by its hash (the first time about 550 MB to download, 1.3 GB on disk)"
	@$(BIN)/python -m pip --python $(HOSTS)/bin/python $(INSTALL) --no-compile --require-hashes -r requirements/hosts.txt
	@mkdir -p $(HOSTS)/node
	@cp requirements/hosts/package.json requirements/hosts/package-lock.json $(HOSTS)/node
	@cd $(HOSTS)/node && PATH="$(CURDIR)/$(HOSTS)/bin:$$PATH" npm ci --ignore-scripts --no-audit --no-fund --silent
	@# The one script that is run of those that packages bring: it puts the program of this machine where its name points.
	@$(HOSTS)/bin/node $(HOSTS)/node/node_modules/@anthropic-ai/claude-code/install.cjs
	@touch $@

lock: LOCK = $(UV) pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes --no-header
# perdure-minilm is built here, so no lock names it; pyproject.toml tells the resolver where it is.
lock: COMPILE = $(LOCK) --no-emit-package perdure-minilm --extra local --extra server --extra postgres pyproject.toml
lock: FRAMEWORKS = $(foreach name,adk agent-framework anthropic langchain langgraph llama-index openai-agents pydantic-ai strands,--extra $(name))
lock:  ## Renew the locks from pyproject.toml and requirements/*.in (needs uv)
	$(COMPILE) --excludes requirements/excludes.txt -o requirements/runtime.txt
	$(COMPILE) --excludes requirements/excludes.txt -c requirements/runtime.txt requirements/model.in requirements/dev.in -o requirements/dev.txt
	$(COMPILE) --excludes requirements/bench-excludes.txt -c requirements/runtime.txt --no-emit-package torch requirements/model.in requirements/bench.in -o requirements/bench.txt
	$(LOCK) requirements/clients.in -o requirements/clients.txt
	$(LOCK) requirements/clients-1.in -o requirements/clients-1.txt
	$(LOCK) requirements/hosts.in -c requirements/clients.txt -o requirements/hosts.txt
	$(LOCK) requirements/api.in -o requirements/api.txt
	$(LOCK) --excludes requirements/bench-excludes.txt requirements/chroma.in -c requirements/bench.txt -o requirements/chroma.txt
	$(LOCK) requirements/docs.in -o requirements/docs.txt
	$(LOCK) requirements/web.in -o requirements/web.txt
	$(COMPILE) $(FRAMEWORKS) --excludes requirements/bench-excludes.txt requirements/model.in requirements/adapters.in -o requirements/adapters.txt
	$(COMPILE) $(FRAMEWORKS) --resolution lowest-direct --excludes requirements/bench-excludes.txt requirements/model.in requirements/adapters.in -o requirements/adapters-floors.txt
	$(COMPILE) --extra crewai --excludes requirements/bench-excludes.txt requirements/model.in requirements/crewai.in -o requirements/crewai.txt

build: setup $(CLIENTS)/.ready  ## Build into dist/: the wheels perdure and perdure-minilm (the local model), and the TypeScript client
	$(BIN)/hatchling build --target wheel
	cd packages/minilm && ../../$(BIN)/hatchling build --target wheel --directory ../../dist
	$(CLIENTS)/bin/node $(CLIENTS)/node/node_modules/typescript/bin/tsc --project packages/typescript
	cd packages/typescript && PATH="$(CURDIR)/$(CLIENTS)/bin:$$PATH" npm pack --silent --pack-destination ../../dist
	mv dist/perdure-client-*.tgz dist/perdure-client.tgz

clean:  ## Remove everything that make has built
	rm -rf $(VENV) $(BENCH) $(CLIENTS) $(HOSTS) $(ADAPTERS) $(API) $(CHROMA) $(DOCS) $(TRAINING) $(WEB) bench/.cache dist packages/typescript/lib site .coverage* .pytest_cache .ruff_cache .hypothesis
	find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +
