# The two commands of the README are `make demo` and `make test`.

SEALANT_CACHE ?= $(HOME)/.cache/sealant
TOOLS := $(SEALANT_CACHE)/tools
SERVERS := tests/harness/bin/install-servers

ADVISORY_DB ?= https://github.com/rustsec/advisory-db
PREFIX ?= /usr/local
RELEASE = $(or $(BINARY),$${CARGO_TARGET_DIR:-target}/release/sealant)

.PHONY: help demo test test-long test-build check servers build install deb optimized release release-check lint deny advisories-refresh docs docs-check fuzz bench soak soak-tests clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 14

# Servers are fetched while the code compiles: one waits for the network, the other for the processors.
demo: ## Start real servers, audit them, leave a report in demo/
	tests/beside '$(SERVERS) tools mysql97 mariadb1011' cargo build --package sealant --bin sealant --package sealant-harness --example demo
	"$${CARGO_TARGET_DIR:-target}/debug/examples/demo"

test: test-build ## Run the tests against real servers
	PATH="$(TOOLS)/bin:$$PATH" tests/suite

test-long: test-build ## Run the tests that `make test` leaves out because they take minutes; see .config/nextest.toml
	PATH="$(TOOLS)/bin:$$PATH" tests/suite --ignore-default-filter --filterset 'not default()'

test-build: $(TOOLS)/bin/cargo-nextest ## Compile the tests, install their servers
	tests/beside '$(SERVERS) all' cargo test --workspace --no-run --quiet

check: $(TOOLS)/bin/cargo-nextest ## Daily work: format, lint and unit tests of what changed since main, and of what depends on it
	PATH="$(TOOLS)/bin:$$PATH" tests/check-changed

servers: ## Install the servers and tools of the tests, outside the tree
	$(SERVERS) all

build: ## Build the binary
	cargo build --package sealant

install: $(if $(BINARY),,optimized) ## Put a release build (or BINARY), man pages, completions, units and Galera's state transfer below PREFIX (and DESTDIR)
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" packaging/install "$(RELEASE)"

deb: $(if $(BINARY),,optimized) ## Make a Debian package of a release build (or BINARY) in the working directory
	packaging/deb "$(RELEASE)"

optimized:
	cargo build --release --package sealant

release: ## Static programs, packages, images, bills of materials and checksums in dist/; see docs/install.md
	$(SERVERS) cross
	packaging/release

release-check: ## Use the packages of dist/ on clean Debian 12 and 13 (root, debootstrap), test for aarch64 (qemu-user), compare two builds
	tests/clean-roots dist
	tests/aarch64
	tests/reproducible-build

lint: ## Formatting, clippy, rustdoc: warnings are errors
	cargo metadata --locked --format-version 1 >/dev/null
	cargo fmt --all --check
	rustfmt --check --edition 2024 crates/audit/src/checks/*/*.rs
	cargo clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --document-private-items --quiet
	cargo test --quiet --doc --package sealant-harness

deny: $(TOOLS)/bin/cargo-deny ## Licences, bans, sources of dependencies, and the advisories in .ci/advisories.tsv
	PATH="$(TOOLS)/bin:$$PATH" cargo deny check bans licenses sources
	cargo run --quiet --package sealant-advisories -- check

advisories-refresh: ## Fetch the advisory database (network), and write .ci/advisories.tsv as it is today
	rm -rf "$(TOOLS)/advisory-db"
	git clone --quiet --bare --depth 1 "$(ADVISORY_DB)" "$(TOOLS)/advisory-db"
	cargo run --quiet --package sealant-advisories -- refresh "$(TOOLS)/advisory-db"

$(TOOLS)/bin/cargo-%:
	tests/install-cargo-tool $(TOOLS) $*

# The gate gives BINARY: the tests have compiled it already, and `build` would do so again for another choice of features.
docs: $(if $(BINARY),,build) ## Write man pages, completions and the references of checks and servers
	$(PROGRAM) generate man docs/man
	$(PROGRAM) generate completions packaging/completions
	$(PROGRAM) generate checks docs
	$(PROGRAM) generate compatibility docs

PROGRAM = $(or $(BINARY),$${CARGO_TARGET_DIR:-target}/debug/sealant)

docs-check: docs ## Fail if a generated document is not up to date
	git diff --exit-code --stat -- docs packaging/completions

fuzz: $(TOOLS)/bin/cargo-fuzz ## SECONDS (60) of libFuzzer for every parser of hostile bytes
	PATH="$(TOOLS)/bin:$$PATH" tests/fuzz $(or $(SECONDS),60)

bench: $(TOOLS)/bin/inno ## Measure; see docs/benchmarks.md
	$(SERVERS) tools mysql97 mariadb1011 vault fio peers
	cargo build --release --package sealant
	cargo bench --package sealant

$(TOOLS)/bin/inno:
	cargo install --locked --quiet --root $(TOOLS) innodb-utils

scale: ## List, plan a prune and check with the receipts of a million objects, of ten hosts and of one; the map of 10 TiB; prints time and memory
	SEALANT_SCALE_OBJECTS=1000000 SEALANT_SCALE_HOSTS=10 cargo test --release --package sealant-backup --test scale -- --nocapture
	SEALANT_SCALE_OBJECTS=1000000 SEALANT_SCALE_HOSTS=1 cargo test --release --package sealant-backup --test scale -- --nocapture
	SEALANT_SCALE_GIB=10240 cargo test --release --package sealant-backup --lib -- --nocapture _of_terabytes_

soak-tests: test-build ## Run all tests ten times, the long ones too; fail if one of them fails, or is flaky in two runs
	PATH="$(TOOLS)/bin:$$PATH" tests/soak-tests 10

soak: $(TOOLS)/bin/cargo-fuzz test-long ## What takes hours: the long tests, faults at many random moments, an hour of fuzzing for every parser
	SEALANT_FAULTS=400 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- transfer_faults::
	SEALANT_FAULTS=500 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- backup_faults:: backup_failures::a_run_killed
	SEALANT_FAULTS=50 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- backup_store_kills:: backup_spool::a_killed_store_
	$(SERVERS) azurite fake-gcs
	cargo test --package sealant-store --features clouds clouds
	cargo test --package sealant --features clouds --test commands -- backup_clouds::
	SEALANT_WRITER_PAUSE_MS=0 cargo test --package sealant --test commands -- backup::backups_of_a_running_
	SEALANT_FAULTS=50 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- encrypt::a_run_killed_ encrypt::a_run_whose_server_was_killed encrypt::a_run_on_mariadb_ encrypt::a_table_with_an_odd_name
	SEALANT_FAULTS=51 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- encrypt_steered::the_next_run_removes_leftovers
	SEALANT_ROTATIONS=100 cargo test --package sealant --test commands -- rotate::many_rotations_in_a_row_succeed
	SEALANT_FAULTS=100 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- rotate_faults::a_rotation_killed_ rotate_faults::a_server_that_is_killed rotate_data::a_run_killed_
	SEALANT_SOAK_SECONDS=1800 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- tunnel_soak:: --nocapture
	SEALANT_KEY_SOURCES=9 cargo test --package sealant --test commands -- key_sources::
	SEALANT_MONITOR_SECONDS=3600 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- monitor_soak:: --ignored --nocapture
	cargo test --package sealant --test commands -- --ignored --test-threads 1 bench_oltp::a_server_that_
	SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- --ignored --skip monitor_soak:: --skip bench_oltp::a_server_that_
	SEALANT_WRITER_PAUSE_MS=0 cargo test --package sealant-migrate --test mysql --test pairs --test servers --test resets --test kills -- --include-ignored
	cargo test --package sealant-migrate --test fallback --test whole -- --ignored
	SEALANT_MUTATIONS=200000 SEALANT_FLIPS=4000 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- transfer_mutation::
	SEALANT_WRITER_PAUSE_MS=0 SEALANT_SNAPSHOT_ROUNDS=20 cargo test --package sealant --test commands -- snapshot::mysql_ snapshot::mariadb_ snapshot::a_mysql_ snapshot::a_mariadb_ snapshot::a_running_m
	SEALANT_FOLLOW_ROUNDS=200 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant-snapshot --test follow
	SEALANT_SST_KILLS=50 SEALANT_FAULT_SEED=$$(date +%s) cargo test --package sealant --test commands -- sst_faults::a_joiner_that_is_killed sst_faults::a_donor_whose_program_is_killed
	SEALANT_SST_ROUNDS=10 SEALANT_SST_MIB=512 cargo test --package sealant --test commands -- sst::nodes_ sst::a_donor_on_
	cargo test --package sealant-harness --test vm -- --ignored
	PATH="$(TOOLS)/bin:$$PATH" tests/fuzz 3600

clean: ## Remove what was built
	cargo clean
	rm -rf demo dist
