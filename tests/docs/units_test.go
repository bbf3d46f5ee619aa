// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// systemctl does in a box, which has no systemd, what the pages and the package's
// scripts ask of it: it starts what a unit starts, as its user, with its capabilities,
// environment and folders, and stops it.
const systemctl = `#!/bin/sh
set -eu
all() { sed -n "s/^$2=//p" "/lib/systemd/system/$1.service"; }
start() {
	for wanted in $(all "$1" Wants); do start "${wanted%.service}"; done
	! { [ -e "/run/unit-$1" ] && kill -0 "$(cat "/run/unit-$1")" 2>/dev/null; } || return 0
	user=$(all "$1" User) group=$(all "$1" Group)
	mkdir -p /var/lib/sluice
	for folder in "/run/$(all "$1" RuntimeDirectory)" "/var/lib/$(all "$1" StateDirectory)"; do
		mkdir -p "$folder"
		chown -R "$user:$group" "$folder"
	done
	capabilities=-all
	for name in $(all "$1" CapabilityBoundingSet); do
		capabilities=$capabilities,+$(echo "${name#CAP_}" | tr A-Z a-z)
	done
	(
		set -a
		[ "$(all "$1" EnvironmentFile)" = "" ] || . /etc/sluice/sluiced.env
		eval "$(all "$1" Environment)"
		exec setsid setpriv --bounding-set="$capabilities" --inh-caps="$capabilities" --ambient-caps="$capabilities" --no-new-privs \
			--clear-groups --reuid="$user" --regid="$group" sh -c "exec $(all "$1" ExecStart)"
	) </dev/null >"/tmp/unit-$1.log" 2>&1 &
	echo $! >"/run/unit-$1"
	socket=/run/sluice-redis/redis.sock # the unit is of Type=notify
	while [ "$1" = sluice-redis ] && ! redis-cli -s $socket PING; do sleep 0.1; done >/dev/null 2>&1
}
stop() {
	[ -e "/run/unit-$1" ] || return 0
	pid=$(cat "/run/unit-$1")
	kill "$pid" 2>/dev/null || :
	while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	rm -r "/run/unit-$1" "/run/$(all "$1" RuntimeDirectory)"
}
verb=$1
shift
for unit; do
	case $verb/$unit in
	enable/--now) ;;
	enable/* | start/*) start "${unit%.service}" ;;
	stop/*) stop "${unit%.service}" ;;
	*) echo "systemctl $verb $unit: not known here" >&2; exit 1 ;;
	esac
done
`

// packaged puts the Debian package where make deb puts it, and a systemctl, into a
// box that has the folder of the source at here.
func packaged(t *testing.T, b *box, here string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), filepath.Join(root, "debian/build.sh"), dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(dir, "systemctl")
	if err := os.WriteFile(program, []byte(systemctl), 0o600); err != nil {
		t.Fatal(err)
	}
	b.install(program)
	b.run("/", "mv /usr/local/bin/systemctl /usr/bin/systemctl") // apt-get looks there alone
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("packages %q, %v", debs, err)
	}
	text, err := os.ReadFile(debs[0])
	if err != nil {
		t.Fatal(err)
	}
	release := filepath.Join(here, "build/release")
	b.run("/", "rm -rf "+release+"; mkdir -p "+release)
	if err := os.WriteFile(filepath.Join("/proc", b.pid, "root", b.root, release, filepath.Base(debs[0])), text, 0o600); err != nil {
		t.Fatal(err)
	}
}
