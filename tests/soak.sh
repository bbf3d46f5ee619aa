#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the checks that take long, one after the other, as root, and goes on after one that
# fails. build/soak/ has the output of each, and report.txt: result, how many of its tests were
# skipped, seconds, and when and of which commit it was last green.
#
#   soak.sh [CHECK]...   those named; default: all
set -u -o pipefail
cd "$(dirname "$0")/.." || exit
out=build/soak
mkdir -p $out
chosen=" $* "
rows=() failed=0
export SLUICE_SOAK=1

# check runs a command, unless others were chosen.
check() { # NAME COMMAND [ARGUMENT]...
	local name=$1 began=$SECONDS result=ok skipped
	shift
	[ "$chosen" = "  " ] || [[ $chosen == *" $name "* ]] || return 0
	printf '%s: ' "$name"
	if "$@" </dev/null >"$out/$name.log" 2>&1; then
		echo "$(date -u +%Y-%m-%dT%H:%MZ) $(git describe --always --dirty=.dirty --exclude '*' 2>/dev/null)" >"$out/$name.green"
	else
		result=FAILED failed=$((failed + 1))
	fi
	skipped=$(grep -c '^ *--- SKIP: ' "$out/$name.log")
	echo "$result, $skipped skipped, $((SECONDS - began)) s"
	[ $result = ok ] || tail -n 40 "$out/$name.log"
	rows+=("$name|$result|$skipped|$((SECONDS - began))")
}

# absent notes a check that this machine cannot run.
absent() { # NAME REASON
	[ "$chosen" = "  " ] || [[ $chosen == *" $1 "* ]] || return 0
	echo "$1: not run: $2"
	rows+=("$1|not run: $2|0|0")
}

long() { go test -count=1 -timeout 90m -v "$@"; }

# within runs a command, and judges the milliseconds that its test logs.
within() { # MILLISECONDS COMMAND [ARGUMENT]...
	local limit=$1
	shift
	"$@" | tee /dev/stderr | awk -v limit="$limit" '/the slowest was away for/ { n++; if ($(NF - 3) > limit) late = 1 } /^FAIL/ { late = 1 } END { exit !n || late }'
}

# needs installs packages of Debian, and runs a command.
needs() { # PACKAGES COMMAND [ARGUMENT]...
	make -s deps DEPS="$1" && "${@:2}"
}

# with makes a file by the Makefile, and runs a command.
with() { # FILE COMMAND [ARGUMENT]...
	make -s "$1" && "${@:2}"
}

check e2e long -skip Endurance ./tests/e2e
# 20 minutes of all features while all changes: nothing grows; draws build/soak/endurance.svg
check endurance long -run Endurance ./tests/e2e
check disk long -run "Disk|KillSwitch|PortsOfAnother|JournalIsOptional|ReadOnly|CutJournal|Unreadable" ./tests/e2e ./orchagent-ext/switch/trust ./orchagent-ext/host/files ./gnmi-server/server
check gnmi long ./tests/gnmi
# all tests on a machine with much else to do
check busy env -u SLUICE_SOAK make test PARALLEL=$((3 * $(nproc)))
# each part of the kernel's that Sluice needs, taken away under traffic
# parts that were taken are put back within 2 s, and the counters of that written within one more
check drift within 3000 long -run 'Drift|Audit|HoldDevice|Frozen' ./sai-shim/softsai ./tests/e2e ./orchagent-ext/switch/drift ./orchagent-ext/switch/audit
check rough make rough
check mutants make mutants
check mutants-tool make mutants-tool
check sim make sim
check sim-full make sim-full
check minute long ./tests/minute
# writes build/view/report.json, a package after the other
check view needs 'chromium redis-server iproute2 openssl' with build/prometheus long -p 1 -run 'Browser|View|ManySwitches' ./orchagent-ext/view/... ./orchagent-ext/cli ./orchagent-ext/cli/targets ./lab
check rdma-lab make rdma-lab
check kernels make kernels
check fabric long -run Fabric ./tests/leafspine
check container long -run 'Restart|OpenTelemetry' ./sonic-container
check examples long -run Examples ./tests/docs
check debian needs 'debootstrap systemd-container' long ./debian
check lab-tests needs ansible-core long ./lab
check lab sh -c 'make lab && make lab-down'
# all rounds of tests that have fewer under the race detector
check rounds long -run '^(TestLockstepIsNeverGuessed|TestMillionFlowsExpireAtOnce|TestNodesShareRealEtcd|TestHistory.*Thinned.*)$' ./orchagent-ext/export/ipfix ./orchagent-ext/flows/streamid ./orchagent-ext/flows/flow ./orchagent-ext/view/keep
check faults long -run Faults ./orchagent-ext/switch/saidriver ./orchagent-ext/cmd/sluiced
check bench make bench
check collectors sh -c 'go test -count=1 -v -run ManyRecords ./tests/peers && cd tests/bench/goipfix && go test -count=1 -v -run Collector .'
check demo-full make demo-full
check image-test make image-test
check arm64-test make arm64-test
check release sh -c 'make release && go test -count=1 -v ./release'
if [ -n "${SONIC:-}" ]; then
	check sonic make sonic SONIC="$SONIC"
	check sonic-guest make sonic-guest SONIC="$SONIC"
	check sonic-utilities make sonic-utilities SONIC="$SONIC"
else
	absent sonic 'SONIC=FOLDER names the root of a release'
	absent sonic-guest 'SONIC=FOLDER names the root of a release'
	absent sonic-utilities 'SONIC=FOLDER names the root of a release'
fi
inc=${SAI_INC:-/usr/include/sai}
if [ -f "$inc/sai.h" ]; then
	check sai-abi-check make sai-abi-check SAI_INC="$inc"
else
	absent sai-abi-check "$inc has no sai.h: SAI_INC=FOLDER names it"
fi
check fuzz make fuzz

{
	printf 'CHECK|RESULT|SKIPPED|SECONDS|LAST GREEN\n'
	for row in "${rows[@]}"; do
		echo "$row|$(cat "$out/${row%%|*}.green" 2>/dev/null || echo never here)"
	done
} | column -t -s '|' | tee $out/report.txt
[ ${#rows[@]} -gt 0 ] || { echo "soak.sh: no check has the name$chosen" >&2; exit 2; }
[ $failed = 0 ]
