// SPDX-License-Identifier: Apache-2.0

package minute

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	root = "../.."

	// Bars from `make tool` to the verdict, on two processors: with an empty build cache, and with that of
	// a build before.
	cold = 120 * time.Second
	warm = 20 * time.Second
	// processors of the bars. Where other programs run, too, the time of processors is judged.
	processors = 2
)

// ordinary is a user without rights, by number.
const ordinary = "65534"

// others are the programs that the tool is built without: each is in the way, and fails.
var others = []string{"gcc", "cc", "clang", "bpftool", "apt-get", "sudo", "curl"}

// first is the first command of the front page, as a script, where no address can be reached.
const first = `if ip route get 192.0.2.1 2>/dev/null; then exit 1; fi
make -s tool
bin/sluice doctor tests/captures/one-port-ipv6.pcap`

// TestFirstHourToolIsThereWithinAMinute builds the tool in a fresh clone with the build cache of this
// user. With SLUICE_SOAK it also starts with an empty one, as another user.
func TestFirstHourToolIsThereWithinAMinute(t *testing.T) {
	modules, cache := goEnv(t, "GOMODCACHE"), goEnv(t, "GOCACHE")
	t.Run("warm", func(t *testing.T) {
		if out, err := exec.Command(withoutRights()[0], append(withoutRights()[1:], "true")...).CombinedOutput(); err != nil {
			t.Skipf("needs a network namespace: %v: %s", err, out)
		}
		clone := cloneOf(t)
		run(t, clone, modules, cache, withoutRights()) // the tree may have changed since the last build
		if err := os.RemoveAll(filepath.Join(clone, "bin")); err != nil {
			t.Fatal(err)
		}
		wall, busy := run(t, clone, modules, cache, withoutRights())
		t.Logf("warm: %.1f s, %.1f s of processors", wall.Seconds(), busy.Seconds())
		if busy > processors*warm {
			t.Errorf("%v of processors, want at most %v", busy, processors*warm)
		}
	})
	t.Run("cold", func(t *testing.T) {
		switch {
		case os.Getenv("SLUICE_SOAK") == "":
			t.Skip("builds all packages: make soak CHECKS=minute")
		case os.Getuid() != 0:
			t.Skip("not root: it starts as another user")
		}
		clone := cloneOf(t)
		cache := filepath.Join(clone, "build/cache")
		if err := os.MkdirAll(cache, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("chown", "-R", ordinary, clone).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		wall, busy := run(t, clone, modules, cache, asOrdinary(modules))
		t.Logf("cold: %.1f s, %.1f s of processors", wall.Seconds(), busy.Seconds())
		if busy > processors*cold {
			t.Errorf("%v of processors, want at most %v", busy, processors*cold)
		}
	})
}

// goEnv returns a variable of Go's environment.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// cloneOf makes a clone of the tree, with what is not committed, in a folder that all users can read.
func cloneOf(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "minute")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	const copied = `git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || echo "$f"; done' sh | tar -cf - -T - | tar -xf - --no-same-owner -C "$1"`
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", copied, "bash", folder)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range others {
		file := filepath.Join(folder, "build/others", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(fmt.Sprintf("#!/bin/sh\necho %s is called >&2\nexit 97\n", name)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// withoutRights runs a command as this user without a capability, in a network namespace that is empty.
func withoutRights() []string {
	if os.Getuid() != 0 {
		return []string{"unshare", "--user", "--map-current-user", "--net"}
	}
	return []string{"unshare", "--net", "setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"}
}

// asOrdinary runs a command as an ordinary user, in a network namespace that is empty. Modules may be
// below a folder that this user cannot read: they are mounted.
func asOrdinary(modules string) []string {
	const script = `user=$1; mount --bind "$2" "$3"; shift 3; exec setpriv --reuid="$user" --regid="$user" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`
	return []string{"unshare", "--net", "--mount", "sh", "-euc", script, "sh", ordinary, modules}
}

// run runs the first command in a clone, and returns its time and that of processors.
func run(t *testing.T, clone, modules, cache string, before []string) (wall, busy time.Duration) {
	t.Helper()
	if len(before) > 0 && before[len(before)-1] == modules { // they are mounted in the clone
		modules = filepath.Join(clone, "build/modules")
		if err := os.MkdirAll(modules, 0o755); err != nil {
			t.Fatal(err)
		}
		before = append(before, modules)
	}
	words := append(before, "sh", "-euc", first)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir = clone
	cmd.Env = []string{
		"PATH=" + filepath.Join(clone, "build/others") + ":" + filepath.Join(goEnv(t, "GOROOT"), "bin") + ":" + os.Getenv("PATH"),
		"HOME=" + clone, "GOMODCACHE=" + modules, "GOCACHE=" + cache, "GOPROXY=off", "GOTOOLCHAIN=local", "LC_ALL=C.UTF-8",
	}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	wall = time.Since(began)
	if err != nil || !strings.Contains(string(out), "queue pairs: 32") || !strings.Contains(string(out), "act ") {
		t.Fatalf("%v: %s", err, out)
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
