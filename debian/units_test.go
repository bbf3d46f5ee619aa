// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// values returns what a unit's lines KEY=VALUE have for a key.
func values(t *testing.T, unit, key string) []string {
	t.Helper()
	text, err := os.ReadFile(unit + ".service")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			found = append(found, value)
		}
	}
	return found
}

// The container and the package give sluiced the same rights.
func TestUnitOfSluicedHasTheRightsOfTheContainer(t *testing.T) {
	start, err := os.ReadFile("../sonic-container/start.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\{SLUICE_CAPABILITIES:-([a-z_ ]+)\$\{SLUICE_SAI_LIBRARY:\+([a-z_ ]+)\}`).FindStringSubmatch(string(start))
	if found == nil {
		t.Fatal("start.sh has no default of SLUICE_CAPABILITIES: is it read right?")
	}
	var want []string
	for _, name := range strings.Fields(found[1] + found[2]) {
		want = append(want, "CAP_"+strings.ToUpper(name))
	}
	for _, key := range []string{"CapabilityBoundingSet", "AmbientCapabilities"} {
		if got := strings.Fields(strings.Join(values(t, "sluiced", key), " ")); !slices.Equal(got, want) {
			t.Errorf("%s %q, start.sh has %q", key, got, want)
		}
	}
	found = regexp.MustCompile(`(?s)\{SLUICE_SYSCTLS:-([^}]+)\}`).FindStringSubmatch(string(start))
	if found == nil {
		t.Fatal("start.sh has no default of SLUICE_SYSCTLS: is it read right?")
	}
	want = nil
	for _, name := range strings.Fields(strings.ReplaceAll(found[1], "\\\n", " ")) {
		want = append(want, "-/proc/sys/"+name)
	}
	if got := values(t, "sluiced", "ReadWritePaths"); !slices.Equal(got, want) {
		t.Errorf("ReadWritePaths %q, start.sh has %q", got, want)
	}
}

func TestUnitsRunAsUsersOfTheirOwn(t *testing.T) {
	seen := map[string]bool{"": true, "root": true}
	for _, unit := range []string{"sluiced", "sluice-gnmi", "sluice-redis"} {
		user := strings.Join(values(t, unit, "User"), " ")
		if seen[user] {
			t.Errorf("%s runs as %q", unit, user)
		}
		seen[user] = true
		for key, want := range map[string]string{"NoNewPrivileges": "yes", "ProtectSystem": "strict", "Group": "sluice", "ProtectKernelTunables": "yes"} {
			if got := values(t, unit, key); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %s=%q, want %s", unit, key, got, want)
			}
		}
		if bound := strings.Join(values(t, unit, "CapabilityBoundingSet"), " "); (bound != "") != (unit == "sluiced") {
			t.Errorf("%s may have the capabilities %q", unit, bound)
		}
	}
}

// systemd finds no fault, in a folder where the programs are.
func TestSystemdFindsNoFaultInTheUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: make deps")
	}
	units, err := filepath.Glob("*.service")
	if err != nil || len(units) != 3 {
		t.Fatalf("units %q, %v", units, err)
	}
	dir := t.TempDir()
	verify := func(change func(string) string) string {
		args := []string{"verify", "--man=no"}
		for _, unit := range units {
			text, err := os.ReadFile(unit)
			if err != nil {
				t.Fatal(err)
			}
			// Whether a program is installed here is no fault of the unit.
			file := filepath.Join(dir, unit)
			if err := os.WriteFile(file, []byte(change(regexp.MustCompile(`(?m)^ExecStart=/usr/bin/\S+`).ReplaceAllString(string(text), "ExecStart=/bin/true"))), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
		if (err != nil) && len(out) == 0 {
			t.Fatal(err)
		}
		return string(out)
	}
	if said := verify(func(s string) string { return s }); said != "" {
		t.Error(said)
	}
	if said := verify(func(s string) string { return strings.ReplaceAll(s, "ProtectHome=yes", "ProtectHomes=yes") }); said == "" {
		t.Error("systemd-analyze takes what is wrong")
	}
}
