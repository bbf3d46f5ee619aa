# SPDX-License-Identifier: Apache-2.0
# Sluice. `make help` lists the targets. make build installs nothing; make demo, make test and
# targets for labs install packages by make deps: a fresh Debian 12 with Go, git and make is
# enough to begin.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:

FUZZTIME ?= 5m
SAI_INC  ?= /usr/include/sai
# What programs say of themselves: the file VERSION, which the manifest agrees with, and
# the commit that they are built of, as semver's build metadata.
COMMIT   := $(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null)
VERSION  := $(shell cat VERSION)$(COMMIT:%=+%)

# To build: gcc and libc6-dev, since the shim and the race detector are C; clang, bpftool,
# libbpf, libnl for the software switch. clang-format: for `make lint`. redis-server: tests
# and the demo start one of their own. tshark and scapy: tests compare with them. iproute2: the network namespaces
# of tests. libyang-tools: judges the models. pmacct, nfdump, libfixbuf-tools: IPFIX
# collectors that tests send to. etcd-server, etcd-client: tests start members of
# their own, and run the commands of a page.
# lintian, systemd: judge the Debian package and its units.
# python3-*: the commands on the switch, and a gNMI client of another make. openssl,
# procps, curl: the commands of the pages. tcpdump: compiles filters.
TO_BUILD := gcc libc6-dev clang bpftool libbpf-dev libelf-dev libnl-3-dev libnl-route-3-dev
DEPS    := $(TO_BUILD) clang-format redis-server tshark python3-scapy iproute2 libyang-tools pmacct nfdump \
	libfixbuf-tools python3-pytest python3-click python3-redis python3-tabulate python3-natsort \
	python3-grpcio python3-protobuf etcd-server etcd-client openssl procps curl lintian systemd tcpdump
missing  = $(filter-out $(patsubst installed/%,%,$(shell \
	dpkg-query -W -f '$${db:Status-Status}/$${Package}\n' $(1) 2>/dev/null)),$(1))

# A profile of where Go programs spend time, by which they are compiled; see make profile.
PROFILE := orchagent-ext/cmd/cpu.pgo

# Every folder cmd/NAME that has Go files becomes bin/NAME.
COMMANDS := $(addprefix ./,$(sort $(dir $(wildcard orchagent-ext/cmd/*/*.go gnmi-server/cmd/*/*.go))))

# What judges scripts, manual pages and the playbook: for `make lint` alone.
LINT_DEPS := shellcheck mandoc ansible-lint

# The cross compiler, and what runs its programs here: for `make arm64` alone.
ARM64_DEPS := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
ARM64      := CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 GOOS=linux GOARCH=arm64

.PHONY: profile tool uninstall tool-image mutants mutants-tool sim sim-full install release lab lab-down demo-full help deps build deb test soak lint generate fuzz bench rough rdma-lab kernels sonic sonic-guest sonic-utilities demo image image-tar image-test arm64 arm64-test clean sai-abi-check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what a fresh Debian 12 lacks, by apt-get (through sudo when not root)
	@missing='$(call missing,$(DEPS))'
	[ -n "$$missing" ] || exit 0
	if ! command -v apt-get >/dev/null; then
		echo "make deps: no apt-get here; the tests need what Debian calls: $$missing" >&2
		exit 0
	fi
	sudo=
	if [ "$$(id -u)" != 0 ]; then
		sudo=$$(command -v sudo) || {
			echo "make deps: not root, and no sudo. Run as root: apt-get install $$missing" >&2
			exit 1
		}
	fi
	echo "make deps: installing $$missing"
	log=$$(mktemp)
	if $$sudo apt-get update -q >"$$log" 2>&1 &&
		$$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends $$missing </dev/null >>"$$log" 2>&1; then
		rm "$$log"
	else
		tail -n 20 "$$log" >&2
		echo "make deps: apt-get fails; $$log has all it printed" >&2
		exit 1
	fi

build: ## build the programs and libsoftsai.so into bin/; installs nothing
	@missing='$(call missing,$(TO_BUILD))'
	if [ -n "$$missing" ] && command -v dpkg-query >/dev/null; then
		echo "make build: Debian packages are missing: $$missing" >&2
		echo 'make deps installs them, with those of the tests; make tool builds sluice alone, without them' >&2
		exit 1
	fi
	make -s -C sai-shim/softsai
	go build -trimpath -buildvcs=false -pgo=$(PROFILE) -ldflags '-X main.version=$(VERSION)' -o bin/ $(COMMANDS)

tool: ## build the tool bin/sluice alone: it takes Go, and neither a C compiler nor root
	@CGO_ENABLED=0 go build -trimpath -buildvcs=false -pgo=$(PROFILE) -ldflags '-X main.version=$(VERSION)' -o bin/ ./orchagent-ext/cmd/sluice

deb: build ## build the Debian packages sluice and sluice-lab into build/release/
	debian/build.sh build/release

PREFIX  ?= /usr/local
DESTDIR ?=
install: ## install what make build made: PREFIX (/usr/local), DESTDIR
	@release/install.sh '$(PREFIX)' '$(DESTDIR)'

uninstall: ## remove what make install installed, with the same PREFIX and DESTDIR; keeps /etc/sluice
	@release/uninstall.sh '$(PREFIX)' '$(DESTDIR)'

# Without a make of its own in the recipe, which `make -n` would run.
release: build arm64 ## write packages for amd64 and arm64, images, archives of the tool, YANG, SBOM and checksums into build/release/ (root, for the images)
	@command -v docker >/dev/null || make -s deps DEPS=docker.io
	sonic-container/with-docker.sh make image-tar tool-image
	release/release.sh build/release build/docker-sluice.tar.gz build/docker-sluice-tool.tar.gz

# Programs of Debian's packages that would start a server or a daemon when they are installed,
# so each is taken out of its package: promtool judges metrics, alerts and the dashboard; prometheus
# is a source of the past; with softflowd the bench compares; a Linux in user space tests features
# that this kernel may lack (IPsec).
build/promtool:
	@tests/unpack.sh prometheus usr/bin/promtool $@
build/prometheus:
	@tests/unpack.sh prometheus usr/bin/prometheus $@
build/softflowd:
	@tests/unpack.sh softflowd usr/sbin/softflowd $@
build/uml:
	@tests/unpack.sh user-mode-linux . $@

# Hashes of passwords take ten times as long under the race detector, which finds nothing
# there. Tests wait half of their time: there is room for three more packages than CPUs. The
# longest packages, which wait most, begin first: at the end they would run alone. What is
# compiled does not know its folder (-trimpath): another clone takes it from Go's cache, and
# programs that tests build are those that `make build` has compiled.
NO_RACE := -gcflags=golang.org/x/crypto/blowfish=-race=false

# The longest packages, longest first. In the order of ./... those of tests would come last.
LONGEST := $(addprefix ./,tests/e2e tests/gnmi tests/docs sai-shim/softsai sonic-container tests/peers tests/ipsec \
	orchagent-ext/cli orchagent-ext/view/keep orchagent-ext/hold/flowcontrol orchagent-ext/flows/streamid)

# The race detector lets each program wait a second before it ends, so that other threads can
# still be caught. Tests start hundreds of programs: a tenth is enough.
RACE := GORACE="atexit_sleep_ms=100 $${GORACE:-}"

# The state of the tree: tests, and make generate, must leave it as it was.
TREE := { git status --porcelain && git diff || true; } 2>/dev/null | git hash-object --stdin

# Packages at a time.
PARALLEL ?= $$(($$(nproc) + 3))

test: deps build build/promtool build/prometheus build/uml ## run all tests under the race detector
	@echo 'go test: the longest packages run first, and results come in order: the first line takes some minutes'
	before=$$($(TREE))
	GOFLAGS='-trimpath -buildvcs=false' $(RACE) go test -race $(NO_RACE) -p $(PARALLEL) -count=1 -timeout 25m $(LONGEST) ./...
	[ "$$before" = "$$($(TREE))" ] || { git status --short; echo 'make test: a test changed files of the tree' >&2; exit 1; }

CHECKS ?=
soak: deps build ## every check that takes long, as root: faults, attacks, rough weather, packages, image, arm64, lab, bench, release, fuzz (hours); CHECKS="fuzz lab" runs these; writes build/soak/report.txt
	@tests/soak.sh $(CHECKS)

lint: deps build ## gofmt, clang-format, includes, words, shell, manual pages, units, playbook, go vet, golangci-lint, govulncheck; and `make generate` must change nothing
	@make -s deps DEPS='$(LINT_DEPS)'
	tools/lint.sh

generate: ## write the generated files
	go generate ./...

# Inputs that reached new code are kept, in FUZZCORPUS, and are where the next run begins.
FUZZCORPUS ?= $(CURDIR)/build/fuzz
fuzz: ## run every fuzz target of tests/fuzz/targets.txt, each for FUZZTIME (5m); keeps its corpus in FUZZCORPUS
	@tests/fuzz/run.sh $(FUZZTIME) '$(FUZZCORPUS)'

bench: deps build build/softflowd ## measure against the bars; writes build/bench/report.json
	go run ./tests/bench

# What it changes is for make bench to say.
profile: ## record the profile by which the programs are compiled
	mkdir -p build/profile
	measure='go test -trimpath -run ^$$ -cpuprofile'
	$$measure build/profile/captures.pprof -o build/profile/test -bench '^BenchmarkCaptures$$' -benchtime 60s ./tests/profile
	$$measure build/profile/packets.pprof -o build/profile/test -bench '^Benchmark(Burst|BurstFollowed)$$' -benchtime 8s ./orchagent-ext/cpu/packetio
	$$measure build/profile/records.pprof -o build/profile/test -bench '^BenchmarkMeter64kFlows$$' -benchtime 8s ./orchagent-ext/export/ipfix
	go tool pprof -proto -output $(PROFILE) build/profile/*.pprof

rough: build ## run in rough weather, as root: bursts, weights, churn, busy CPUs (some 12 minutes); writes build/rough/report.json
	go run -trimpath -buildvcs=false ./tests/rough

mutants: deps ## break the product in each of tests/mutants, and run the test that has to fail (some 20 minutes); writes build/mutants/report.json
	go run -trimpath -buildvcs=false ./tests/mutants

PKG ?= ./orchagent-ext/wire/notify
mutants-tool: ## change operators and conditions of PKG, a package that computes, by gremlins, and run its tests; writes build/mutants/tool.json
	@tests/mutants/tool.sh '$(PKG)'

sim: ## simulate 1024 hosts with and without Sluice, compare with theory (some 5 minutes); writes build/sim/report.json
	@make -s deps DEPS=chromium
	go test -count=1 -run Browser ./orchagent-ext/cli/report
	go run -trimpath -buildvcs=false ./tests/sim

sim-full: ## the same for 20 ms of each load, with every feature (an hour)
	go run -trimpath -buildvcs=false ./tests/sim -full

rdma-lab: build ## put RDMA stacks of others at the ends of a fabric, as root: guests with Debian's kernel and perftest, without KVM (some 8 minutes); writes build/rdma/report.json
	@make -s deps DEPS='qemu-system-x86 redis-server iproute2 xz-utils'
	go run -trimpath -buildvcs=false ./tests/rdma

sonic-utilities: build ## run SONiC's own utilities beside Sluice, as root: SONIC=DIR has its programs; some 20 minutes; writes build/sonic/utilities.json
	@[ -n '$(SONIC)' ] || { echo "SONIC=DIR: a folder with SONiC's programs in their places, such as an unpacked image docker-sonic-vs"; exit 1; }
	sonic-container/with-docker.sh make image-tar
	go run -trimpath -buildvcs=false ./tests/sonic/utilities -sonic '$(SONIC)' -into build/sonic/report.json

kernels: build ## run the software switch's tests and each feature with the kernels of Debian's suites, as root: guests without KVM (some 20 minutes); writes build/kernels/report.json
	@make -s deps DEPS='qemu-system-x86 redis-server iproute2 xz-utils $(TO_BUILD)'
	go run -trimpath -buildvcs=false ./tests/kernels

sonic: ## run sluiced beside SONiC's own daemons, as root: SONIC=DIR has their programs (docs/sonic-vs.md); some 15 minutes; writes build/sonic/report.json
	@make -s deps DEPS='redis-server iproute2'
	go run -trimpath -buildvcs=false ./tests/sonic -sonic '$(SONIC)'

sonic-guest: ## the same in a guest with Debian's kernel, which has psample and VRFs, as root: SONIC=DIR; adds its checks to build/sonic/report.json
	@make -s deps DEPS='qemu-system-x86 redis-server iproute2 xz-utils'
	go run -trimpath -buildvcs=false ./tests/sonic -sonic '$(SONIC)' -guest

# The demo says first that the kernel is too old: the build after it takes minutes.
SHOWN      := spread,placement,stock,hold,wan
DEMO_CHECK := go run -trimpath -buildvcs=false ./orchagent-ext/cmd/sluice-lab demo --check --scenario $(SHOWN) 2>&1 | sed '/^exit status/d'

demo: ## show in network namespaces, as root: even uplinks, placed labels, flows redirected on an ASIC, one flow held, senders advised (some 2 minutes after the build)
	@$(DEMO_CHECK)
	make -s deps DEPS='$(TO_BUILD) redis-server iproute2'
	make -s build
	bin/sluice-lab demo --scenario $(SHOWN)

demo-full: ## all scenarios of the demo, as root: medians of 3 runs, a thousand events (some 10 minutes)
	@$(DEMO_CHECK)
	make -s deps DEPS='$(TO_BUILD) redis-server iproute2'
	make -s build
	bin/sluice-lab demo --full --scenario $(SHOWN),wan-stock

lab: build ## start the fabric of lab/sluice.clab.yml in network namespaces, as root: 2 spines, 4 leaves, 8 hosts
	@make -s deps DEPS='redis-server iproute2 openssl'
	mkdir -p build/lab
	go build -trimpath -buildvcs=false -o build/lab/lab ./lab
	lab/tls.sh build/lab/tls
	build/lab/lab up

lab-down: ## end it; without one it does nothing
	@[ ! -x build/lab/lab ] || build/lab/lab down

image: build ## build the container on BASE, by default a small Debian (docker.io, debootstrap)
	@command -v docker >/dev/null || make -s deps DEPS=docker.io
	[ -n '$(BASE)' ] || make -s deps DEPS=debootstrap
	sonic-container/image.sh $(BASE)

image-tar: image ## the same as a file for sonic-package-manager install --from-tarball
	docker save docker-sluice:latest | gzip >build/docker-sluice.tar.gz
	ls -lh build/docker-sluice.tar.gz

tool-image: tool ## build the image sluice-tool: the tool and sample captures, for an ordinary user (docker.io)
	@command -v docker >/dev/null || make -s deps DEPS=docker.io
	sonic-container/tool-image.sh

image-test: ## build the images and start their containers, in a Docker of the test's own, as root
	@command -v dockerd >/dev/null || make -s deps DEPS=docker.io
	sonic-container/with-docker.sh make image-tar tool-image
	SLUICE_IMAGE_TAR=$(CURDIR)/build/docker-sluice.tar.gz SLUICE_TOOL_IMAGE_TAR=$(CURDIR)/build/docker-sluice-tool.tar.gz \
		go test -count=1 -v -run '^(TestImageLivesThroughItsLife|TestToolImageJudgesCaptures)$$' ./sonic-container

arm64: deps ## build all for arm64 into bin/arm64/
	@make -s deps DEPS='$(ARM64_DEPS)'
	sonic-container/arm64-root.sh build/arm64/root
	make -s -C sai-shim/softsai CC=aarch64-linux-gnu-gcc ROOT=$(CURDIR)/build/arm64/root WORK=../../build/arm64/softsai \
		OUT=../../bin/arm64 ../../bin/arm64/libsoftsai.so
	$(ARM64) go build -trimpath -buildvcs=false -pgo=$(PROFILE) -ldflags '-X main.version=$(VERSION)' -o bin/arm64/ $(COMMANDS)

# Left out: a test that starts itself in a new namespace, which qemu cannot.
arm64-test: arm64 ## run the arm64 programs, and the tests of what computes, under qemu
	go test -count=1 -v -run '^TestARM64' ./sonic-container ./sai-shim
	$(ARM64) go test -count=1 -skip '^TestKernelKnowsASmallerMTU$$' -exec 'qemu-aarch64-static -L /usr/aarch64-linux-gnu' \
		./orchagent-ext/{wire,flows}/... ./orchagent-ext/{export/ipfix,switch/engine,db/config} ./yang/...

clean: ## remove bin/ and build/
	rm -rf bin build

sai-abi-check: ## compare sai-shim/include/sai_abi.h with the SAI headers in SAI_INC
	sh sai-shim/abi_check.sh '$(SAI_INC)'
