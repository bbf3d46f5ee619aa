// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/tests/fabrictest"
)

// TestMultiASIC: an instance a namespace. Each has its own databases, ports and
// gNMI and choices, and what is done to one is not done to the other.
func TestMultiASIC(t *testing.T) {
	f := fabrictest.New(t)
	boxes := []*box{newBox(t, f, "asic0", "0"), newBox(t, f, "asic1", "1")}
	global := filepath.Join(t.TempDir(), "database_global.json")
	writeFile(t, filepath.Join(filepath.Dir(global), "database_config.json"), read(t, boxes[0].redis.Config))
	writeFile(t, global, fmt.Sprintf(`{"INCLUDES": [{"include": "database_config.json"},
		{"namespace": "asic0", "include": %q}, {"namespace": "asic1", "include": %q}], "VERSION": "1.0"}`,
		relative(t, global, boxes[0].redis.Config), relative(t, global, boxes[1].redis.Config)))

	boxes[1].set("SLUICE_FLOW_LABEL", "global", "admin_state", "disabled")
	for i, b := range boxes { // what is for an instance counts
		b.choose("1", `SLUICE_GNMI_FLAGS="--insecure-loopback 127.0.0.1:50071"`)
		b.choose(fmt.Sprint(i+2), "SLUICE_DB_CONFIG=/nosuch.json")
		b.start()
	}
	boxes[0].awaitRow("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
	boxes[1].awaitRow("SLUICE_STATE", "global", "state", "running", "flow_label", "inactive")
	const hash = "net.ipv6.fib_multipath_hash_policy"
	if first, second := boxes[0].in("sysctl", hash), boxes[1].in("sysctl", hash); first != hash+" = 3\n" || second != hash+" = 0\n" {
		t.Errorf("ECMP's hash: %q and %q, want the first one's set", first, second)
	}
	for _, b := range boxes {
		b.await("health", func() bool { _, err := b.exec(b.script("health.sh")); return err == nil })
	}

	for i, want := range []bool{false, true} {
		if got := strings.Contains(boxes[i].in("ss", "-ltn"), "127.0.0.1:50071"); got != want {
			t.Errorf("asic%d listens on port 50071: %v, want %v", i, got, want)
		}
	}

	// From the host, as SONiC's own programs see the namespaces.
	for i, b := range boxes {
		databases, err := sonicdb.Load(filepath.Join(filepath.Dir(global), "database_config.json"), fmt.Sprintf("asic%d", i))
		if err != nil {
			t.Fatal(err)
		}
		seen, err := open(t, databases, "STATE_DB").Read(t.Context(), "SLUICE_STATE")
		if err != nil || len(seen) != 1 || seen[0].Fields["flow_label"] != b.row("SLUICE_STATE", "global")["flow_label"] {
			t.Errorf("asic%d from the host: %v, %v", i, seen, err)
		}
	}

	boxes[0].set("FEATURE", "sluice", "state", "disabled")
	for _, b := range boxes {
		if err := b.stop(); err != nil {
			t.Errorf("stopped: %v", err)
		}
	}
	if programs := boxes[0].programs(); strings.Contains(programs, "Ethernet0") {
		t.Errorf("left on the first ASIC: %s", programs)
	}
	if left := boxes[1].row("SLUICE_CAPABILITY", "switch"); left == nil {
		t.Error("the second ASIC has lost its rows with the first one's feature")
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func relative(t *testing.T, from, to string) string {
	t.Helper()
	path, err := filepath.Rel(filepath.Dir(from), to)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
