# The two commands are `make demo` and `make test`. Everything lives in .venv, target, dist and demo, all git-ignored.
# Rust is always built with the one release profile, so that the extension, the tests and the wheel share their crates.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
OLDEST := $(VENV)/oldest/bin/python
PROFILE := --release
PYTEST_ARGS ?=
# Most tests of the stores wait, for deadlines and pauses: more of them at a time than there are cores.
RUST_TEST_THREADS ?= 8
# Processes of pytest beside each other, one more than the cores that it is made for, as tests wait for servers, too. A file's
# tests stay together: they share what its fixtures make. 0: no others, for a debugger.
PYTEST_WORKERS ?= 3
PYTEST := -m pytest -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder
BENCH_ARGS ?=
# Results of the campaigns, of which figures are made.
BENCH_DB ?= bench.db
CAMPAIGN ?= reading
COMMIT ?= HEAD~1
FIGURES ?=
PERF_ARGS ?=
FUZZ_SECONDS ?= 60
FAULT_ARGS ?=
FAULT_ROOMS ?=
BOUND_ARGS ?=

export PYTHON
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# rustup may be installed without being on the PATH. A toolchain named here wins over rust-toolchain.toml, whose components
# rustup would otherwise try to download, also where there is no network.
export PATH := $(PATH):$(HOME)/.cargo/bin
export RUSTUP_TOOLCHAIN ?= stable
# As maturin sets them: any other value would have cargo build PyO3 anew for each of clippy and maturin.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYO3_BUILD_EXTENSION_MODULE := 1

# In CI the versions are those of Cargo.lock, and what a developer may lack is an error (CONTRIBUTING.md).
LOCKED := $(if $(CI),$(if $(wildcard Cargo.lock),--locked))
# Property tests draw the same cases each time there, as Hypothesis does (tests/python/conftest.py).
ifneq ($(CI),)
export PROPTEST_RNG_SEED := 1
endif
SHARED ?= ../shared

# On a terminal cargo shows how far it is.
QUIETLY = $(shell test -t 2 || echo --quiet)
HOST = $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
# Wheels of Linux are linked with the C library of 2012, which zig has of all versions.
PORTABLE = $(if $(findstring linux,$(HOST)),--zig --target $(HOST) --compatibility manylinux_2_17)

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml' -o -name '*.pyi') Cargo.toml $(wildcard Cargo.lock)
PYTHON_CODE := $(wildcard python lab campaigns tests tools bench fuzz/seeds/make.py)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: build ## make a sample of event data, read it, report the cost, run the laboratory's quick campaign
	@mkdir -p demo
	@echo 'arrowroot: a sample of simulated events (4 s)'
	@$(BIN)/arrowroot sample nanoaod demo/sample.root --size '30 MB' --keep
	@echo 'arrowroot: all of it is read, and the cost reported (2 s)'
	@$(BIN)/arrowroot perf demo/sample.root:Events --plot demo/perf.png $(PERF_ARGS)
	@echo "arrowroot: the laboratory's quick campaign (12 s), and its pages"
	@$(BIN)/arrowroot lab run campaigns/quick.toml --db demo/lab.db
	@$(BIN)/arrowroot lab publish demo/pages --db demo/lab.db
	@$(BIN)/python tools/demo_epilogue.py demo/sample.root demo/perf.png demo/pages/index.html demo/lab.db

.PHONY: test
test: check-ci installed lint test-rust test-python test-oldest ## lint, cargo test, pytest: everything that must hold

# On a fresh machine: what tests the engine is fetched while it is compiled, four of thirteen minutes less. The laboratory comes
# before, as both would install it.
.PHONY: installed
installed: $(VENV)/.laboratory
	@$(MAKE) -s --no-print-directory $(addprefix $(VENV)/.,demo dependencies servers root browser oldest) & others=$$!; \
	  trap 'kill $$others 2>/dev/null || true' EXIT; \
	  $(MAKE) -s --no-print-directory $(VENV)/.native; wait $$others

.PHONY: quick
quick: build $(VENV)/.dependencies ## what says in three minutes if a change is worth make test: no servers, no ROOT, no long tests
	$(BIN)/ruff check --quiet $(PYTHON_CODE)
	RUST_TEST_THREADS=$(RUST_TEST_THREADS) cargo test $(PROFILE) $(LOCKED) --quiet --workspace --lib
	$(BIN)/python $(PYTEST) --quick tests $(PYTEST_ARGS)

.PHONY: lint
lint: lint-python lint-rust ## formatting, clippy, ruff, mypy, import contracts

# All of the workspace, though the extension has no tests: with other features than those that it was built with all crates would
# be compiled anew.
.PHONY: test-rust
test-rust: build $(VENV)/.servers ## cargo test of the crates
	RUST_TEST_THREADS=$(RUST_TEST_THREADS) cargo test $(PROFILE) $(LOCKED) --quiet --workspace

.PHONY: test-python
test-python: build $(VENV)/.dependencies $(VENV)/.root $(VENV)/.servers $(VENV)/.browser ## pytest
	$(BIN)/python $(PYTEST) $(PYTEST_ARGS)

.PHONY: test-oldest
test-oldest: build $(VENV)/.oldest ## pytest of the Python layer with the oldest versions that it says it works with
	@if [ -x $(OLDEST) ]; then PYTHONPATH=$(CURDIR)/python $(OLDEST) $(PYTEST) --oldest tests/python; \
	else echo "NOTE: no wheels of the oldest versions here: tests with them were NOT run (rm $(VENV)/.oldest to try again)"; fi

.PHONY: lint-rust
lint-rust: build
	cargo fmt --all --check
	$(if $(wildcard fuzz/Cargo.toml),cargo fmt --manifest-path fuzz/Cargo.toml --check)
	@if cargo clippy --version >/dev/null 2>&1; then \
	  echo "cargo clippy"; cargo clippy $(PROFILE) $(LOCKED) --quiet --workspace --all-targets -- -D warnings; \
	else echo "NOTE: clippy is not installed: the Rust lints were NOT run (rustup component add clippy)"; fi
	$(if $(CI),tools/fuzz.sh --check)

# import-linter sees no compiled modules: in the copy that it reads, the extension's stub stands for the extension.
.PHONY: lint-python
lint-python: $(VENV)/.dependencies
	$(BIN)/ruff check --quiet $(PYTHON_CODE)
	$(BIN)/ruff format --quiet --check $(PYTHON_CODE)
	$(BIN)/mypy
	@rm -rf target/imports && mkdir -p target/imports && cp -r python/arrowroot target/imports
	@cp python/arrowroot/_native.pyi target/imports/arrowroot/_native.py
	PYTHONPATH=target/imports $(BIN)/lint-imports --no-cache --no-logo
	cd lab && ../$(BIN)/lint-imports --no-cache --no-logo

.PHONY: format
format: $(VENV)/.dependencies ## format all Rust and Python code
	cargo fmt --all
	$(if $(wildcard fuzz/Cargo.toml),cargo fmt --manifest-path fuzz/Cargo.toml)
	$(BIN)/ruff check --quiet --fix $(PYTHON_CODE) || true
	$(BIN)/ruff format --quiet $(PYTHON_CODE)

.PHONY: build
build: $(VENV)/.native $(VENV)/.demo ## build the extension into .venv (optimised, editable), and the laboratory and Matplotlib beside it
	@$(BIN)/python -m compileall -q python/arrowroot lab # as pip does with what it installs

.PHONY: bench
bench: build $(VENV)/.dependencies $(VENV)/.bench $(VENV)/.servers ## measure a campaign of the documents' figures (CAMPAIGN=writing BENCH_ARGS='--case GLOB')
	$(BIN)/python -m bench.programs
	$(BIN)/arrowroot lab run campaigns/$(CAMPAIGN).toml --db $(BENCH_DB) $(BENCH_ARGS)

.PHONY: against
against: build $(VENV)/.dependencies $(VENV)/.bench ## where the checkout is slower than a commit (COMMIT=HEAD~1 BENCH_ARGS='--cases GLOB')
	$(BIN)/python -m bench.against $(COMMIT) $(BENCH_ARGS)

.PHONY: bench-scale
bench-scale: build $(VENV)/.dependencies ## what threads gain in reading and writing, and what one of them does alone
	$(BIN)/python -m bench.scale.table $(BENCH_ARGS)

.PHONY: bench-scale-parts
bench-scale-parts: build $(VENV)/.dependencies ## the same part by part: reading, nullable columns of all kinds, producers with and without an interpreter
	$(BIN)/python -m bench.scale.reading
	$(BIN)/python -m bench.scale.nullable
	$(BIN)/python -m bench.scale.producers 1 2 4 8 16

.PHONY: bench-filters
bench-filters: build $(VENV)/.dependencies $(VENV)/.servers ## measure what two passes of a filter gain, on a sample of 300 MB (BENCH_ARGS='...')
	@mkdir -p demo && $(BIN)/arrowroot sample nanoaod demo/filters.root --keep
	$(BIN)/python -m bench.filters demo/filters.root $(BENCH_ARGS)

.PHONY: figures
figures: build $(VENV)/.dependencies ## tables and pictures of README and docs, made of what was measured (FIGURES='adl layouts')
	$(BIN)/python -m campaigns.tables --db $(BENCH_DB) $(FIGURES)

.PHONY: classics
classics: build $(VENV)/.dependencies $(VENV)/.root $(VENV)/.servers $(VENV)/.bench ## the classics again, in virtual time and for real, and their pages in demo/classics: an hour
	@tools/classics.sh

.PHONY: faults
faults: build $(VENV)/.dependencies $(VENV)/.servers ## read 1,000 times under seeded faults (FAULT_ARGS='--n 100 --seed 7')
	$(BIN)/python -m tests.remote.faults $(FAULT_ARGS)

.PHONY: soak-long
soak-long: build $(VENV)/.dependencies $(VENV)/.root $(VENV)/.servers $(VENV)/.browser ## the tests that take ten seconds and more, which make test leaves out
	$(BIN)/python $(PYTEST) --long -m long tests $(PYTEST_ARGS)

.PHONY: soak-live-writer
soak-live-writer: build $(VENV)/.root ## look 2,000 times at a file that ROOT is writing to (LOOKS=500)
	ARROWROOT_LOOKS=$(or $(LOOKS),2000) $(BIN)/python -m pytest tests/differential/test_live_writer.py

.PHONY: soak-lab
soak-lab: build $(VENV)/.dependencies $(VENV)/.servers ## the laboratory's tests with those that take long: workers that are killed
	ARROWROOT_SOAK=1 $(BIN)/python -m pytest tests/lab $(PYTEST_ARGS)

.PHONY: soak-shared
soak-shared: build $(VENV)/.dependencies $(VENV)/.servers ## the laboratory on a node that others use: nights beside 4 and 14 busy processes, half an hour
	ARROWROOT_SOAK=1 $(BIN)/python -m pytest -n 0 -s tests/lab/test_shared.py $(PYTEST_ARGS)

.PHONY: soak-store
soak-store: build $(VENV)/.dependencies ## CPU time of the laboratory's commands with a store of 1,000,000 results, 6 GB (STORE=DIRECTORY)
	$(BIN)/python -m tests.lab.large $(or $(STORE),target/store)

.PHONY: soak-bounds
soak-bounds: build ## judge hostile small files by memory and time (BOUND_ARGS='--seeds 500 --first 7')
	$(BIN)/python -m tests.robustness.bounds
	$(BIN)/python -m tests.robustness.bounds $(or $(BOUND_ARGS),--seeds 200)

.PHONY: soak-write
soak-write: build $(VENV)/.root ## write 1,000 drawn tables, large files and killed writers; all is read back (PYTEST_ARGS='-k matrix', SEEDS=200:300)
	ARROWROOT_SOAK=1 ARROWROOT_SEEDS=$(SEEDS) $(BIN)/python -m pytest tests/writing $(PYTEST_ARGS)

.PHONY: soak-merge
soak-merge: build $(VENV)/.root ## 500 drawn chains of writing, merging, skimming, updates by ROOT; 400 damaged inputs, 100 kills, 2.5 GB
	ARROWROOT_SOAK=1 $(BIN)/python -m pytest tests/merging/test_chains.py tests/merging/test_damage.py tests/merging/test_large.py \
	  tests/python/test_skim_parts.py $(PYTEST_ARGS)

.PHONY: validation
validation: build $(VENV)/.root ## read and write what the RNTuple Validation Suite has (SUITE=DIRECTORY, a checkout of it)
	ARROWROOT_VALIDATION=$(SUITE) $(BIN)/python -m tests.validation

.PHONY: soak-files
soak-files: build $(VENV)/.dependencies ## read 10,000 small files in a row: what is opened and compiled, and CPU time beside reading their bytes
	ARROWROOT_SOAK=1 ARROWROOT_FILES=10000 $(BIN)/python -m pytest -n 0 -s tests/python/test_files.py tests/python/test_left_out.py $(PYTEST_ARGS)

.PHONY: soak-incoming
soak-incoming: build ## write 5,000 drawn Arrow arrays of which something is wrong, and all while a thread writes over them
	ARROWROOT_SOAK=1 $(BIN)/python -m pytest tests/robustness/test_incoming.py $(PYTEST_ARGS)

.PHONY: soak-producers
soak-producers: build $(VENV)/.root ## 1,000 seeded tables that several threads fill, with mishaps; all is read back
	ARROWROOT_SOAK=1 $(BIN)/python -m pytest tests/writing/test_producers.py $(PYTEST_ARGS)

.PHONY: soak-index
soak-index: build ## memory that the ids of event lists and of joined friends take, at 5, 20 and 50 million (MILLIONS='5 20')
	mkdir -p demo/index && $(BIN)/python -m bench.index_memory demo/index --millions $(or $(MILLIONS),5 20 50)

.PHONY: soak-faults
soak-faults: build $(VENV)/.dependencies ## plant faults, one at a time, and say which the tests catch: hours (FAULT_ROOMS='format writing')
	$(BIN)/python tools/planted_faults.py $(FAULT_ROOMS)

# Zig links it. The codecs are left to the compiler of the machine: GCC's zstd is an eighth faster than that of zig's Clang.
.PHONY: wheel
wheel: $(VENV)/.wheel ## build the abi3 wheel, the laboratory's and the relay's into dist, and try them in a clean environment
	@rm -f dist/*.whl
	@echo 'arrowroot: the engine, for any Linux: 130 crates and the codecs in C (4 min)'
	@ARROWROOT_COMMIT=$$(git rev-parse --short=12 HEAD) PATH=$(CURDIR)/$(BIN):$$PATH CC_$(subst -,_,$(HOST))=$(CC) \
	  $(BIN)/maturin build $(PROFILE) $(LOCKED) $(QUIETLY) $(PORTABLE) --out dist
	@$(if $(PORTABLE),PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build $(PROFILE) $(LOCKED) $(QUIETLY) $(PORTABLE) \
	  --manifest-path crates/relay/Cargo.toml --out dist)
	@$(PIP) wheel --no-deps --wheel-dir dist ./lab
	@echo 'arrowroot: the wheels in a clean environment (30 s)'
	@$(BIN)/python tools/check_wheel.py dist/arrowroot-*.whl dist/arrowroot_lab-*.whl $(if $(PORTABLE),dist/arrowroot_relay-*.whl)

# RELOCATABLE_PYTHON: of a prefix of its own, as those of pyenv, conda and python-build-standalone are.
.PHONY: relocatable
relocatable: wheel ## a directory and tarball with arrowroot, the laboratory and a Python of its own in dist, for jobs (WITH='uproot root')
	@$(or $(RELOCATABLE_PYTHON),$$($(BIN)/python -c 'import os, sys; print(os.path.realpath(sys.executable))')) \
	  tools/relocatable.py dist/arrowroot-lab dist/*.whl $(WITH)

.PHONY: sdist
sdist: $(VENV)/.wheel ## build the sources as one archive each, and the laboratory's wheel, into dist
	@rm -f dist/*.tar.gz
	@$(BIN)/maturin sdist --out dist
	@$(BIN)/maturin sdist --manifest-path crates/relay/Cargo.toml --out dist
	@$(BIN)/python -m build --outdir dist lab

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZ_SECONDS (60); FUZZ_TARGETS='a b' chooses
	@tools/prerequisites.sh --cxx
	FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz.sh $(FUZZ_TARGETS)

.PHONY: clean
clean: ## remove all that make made, the demo's sample included
	rm -rf $(VENV) target fuzz/target dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f python/arrowroot/*.so
	find python lab tests tools bench -name __pycache__ -prune -exec rm -rf {} +

.PHONY: prerequisites
prerequisites:
	@tools/prerequisites.sh

# A checkout beside $(SHARED) has the conformance files. One that lacks only them is broken, and CI says so.
.PHONY: check-ci
check-ci:
	@if [ -n "$(CI)" ] && [ -d $(SHARED) ] && [ ! -d $(SHARED)/conformance/truth ]; then \
	  echo "$(SHARED) is here without its conformance files: CI needs them" >&2; exit 1; fi

# Stamps: what a second `make` finds done it does not do again, and needs no network for.

$(VENV)/.created: | prerequisites
	@echo 'arrowroot: the first build takes some 5 min on two cores; what is done is kept'
	@echo 'arrowroot: the virtual environment $(VENV) (10 s)'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

# What builds it, what the demo needs besides, and all that linting and testing need: nobody waits for the last who only reads files.
$(VENV)/.builder: $(VENV)/.created pyproject.toml | prerequisites
	@echo 'arrowroot: what builds it: maturin, NumPy, pyarrow (20 s)'
	@$(PIP) install --group build
	@touch $@

$(VENV)/.demo: $(VENV)/.laboratory
	@echo 'arrowroot: Matplotlib (10 s)'
	@$(PIP) install --group demo
	@touch $@

$(VENV)/.dependencies: $(VENV)/.laboratory
	@echo 'arrowroot: what lints and tests it: uproot, Awkward, Dask and others (1 min)'
	@$(PIP) install --group development
	@touch $@

$(VENV)/.wheel: $(VENV)/.builder
	@echo 'arrowroot: what makes wheels for all of Linux: zig, auditwheel (20 s)'
	@$(PIP) install --group wheel
	@touch $@

$(VENV)/.laboratory: $(VENV)/.builder lab/pyproject.toml
	@echo 'arrowroot: the laboratory (10 s)'
	@$(PIP) install --editable ./lab
	@touch $@

$(VENV)/.native: $(VENV)/.builder $(RUST_SOURCES) | prerequisites
	@echo 'arrowroot: the engine: 130 crates and the codecs in C (4 min the first time)'
	@$(BIN)/maturin develop $(PROFILE) $(LOCKED) $(QUIETLY)
	@touch $@

# Another environment, with the extension of the checkout. Wheels of so old versions are there up to Python 3.11.
$(VENV)/.oldest: $(VENV)/.dependencies pyproject.toml tools/oldest.py
	@rm -rf $(VENV)/oldest
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then \
	  $(PYTHON) -m venv $(VENV)/oldest; \
	  $(OLDEST) -m pip install --only-binary :all: $$($(BIN)/python tools/oldest.py) || { \
	    if [ -n "$(CI)" ]; then echo "CI needs the versions of tools/oldest.py" >&2; exit 1; fi; rm -rf $(VENV)/oldest; }; \
	fi
	@touch $@

# Real servers for the remote tests. What is missing here is skipped there, with the reason, but in CI.
$(VENV)/.servers: tools/prerequisites.sh tools/versitygw.sh lab/arrowroot_servers/s3.py | $(VENV)/.created
	@tools/prerequisites.sh --servers
	@$(PIP) install --only-binary :all: --group servers || { \
	  if [ -n "$(CI)" ]; then echo "CI needs XRootD's own client" >&2; exit 1; fi; \
	  echo "NOTE: no wheel of XRootD's own client here: tests with it will be SKIPPED"; }
	@if tools/versitygw.sh; then touch $@; \
	elif [ -n "$(CI)" ]; then echo "CI needs the S3 server (tools/versitygw.sh)" >&2; exit 1; \
	else echo "NOTE: no S3 server here: tests with it will be SKIPPED (rm $@ to try again)"; touch $@; fi

# The browser of the tests of the laboratory's pages, and what drives it. What is missing is skipped, but in CI.
$(VENV)/.browser: tools/prerequisites.sh pyproject.toml | $(VENV)/.created
	@tools/prerequisites.sh --browser
	@$(PIP) install --only-binary :all: --group browser || { \
	  if [ -n "$(CI)" ]; then echo "CI needs what drives the browser" >&2; exit 1; fi; \
	  echo "NOTE: no wheel of Playwright here: tests in a browser will be SKIPPED"; }
	@touch $@

# What the peers need for benchmarks: headers of ROOT's wheel, libraries of the codecs, uproot's codecs and remote files.
$(VENV)/.bench: $(VENV)/.root tools/prerequisites.sh pyproject.toml
	@tools/prerequisites.sh --bench
	@$(PIP) install --group bench
	@touch $@

# ROOT's wheels exist for some platforms only, and its interpreter wants the headers of a C++ library. Where it does not
# work it is taken off again, so that there is one question to ask, whether it imports: then the tests that compare with
# it are skipped, except in CI.
$(VENV)/.root: $(VENV)/.dependencies
	@tools/prerequisites.sh --cxx-if-possible
	@if $(PIP) install --group root && $(BIN)/python tools/check_root.py 2>$(VENV)/root.log; then touch $@; \
	else $(PIP) uninstall --yes ROOT || true; \
	  if [ -n "$(CI)" ]; then echo "ROOT does not work here, and CI needs it ($(VENV)/root.log)" >&2; exit 1; fi; \
	  echo "NOTE: no ROOT here ($(VENV)/root.log): tests against it will be SKIPPED (rm $@ to try again)"; touch $@; fi
