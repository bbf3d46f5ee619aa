// SPDX-License-Identifier: Apache-2.0

package rooms

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module = "sluice/"
	root   = "../.."
	page   = root + "/docs/architecture.md"
)

// roomRow is a row of the list of rooms: its first cell is the folder.
var roomRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// rooms are the rooms of docs/architecture.md, in order.
func rooms(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "\n## Rooms, and who may import whom\n")
	list, _, _ = strings.Cut(list, "\n## ")
	var all []string
	for _, row := range roomRow.FindAllStringSubmatch(list, -1) {
		all = append(all, row[1])
	}
	if !found || len(all) < 20 {
		t.Fatalf("%s has %d rooms", page, len(all))
	}
	return all
}

// imports are the imports of a package, as `go list` reports them.
type imports struct {
	ImportPath                                            string
	GoFiles, CgoFiles, Imports, TestImports, XTestImports []string
}

// packages are all packages of the module.
func packages(t *testing.T) (all []imports) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,GoFiles,CgoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(out); ; {
		var p imports
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// roomOf returns the room of a folder, the longest that contains it, and its place in the
// order; -1: it is in no room.
func roomOf(order []string, folder string) (string, int) {
	at := -1
	for i, room := range order {
		if (folder == room || strings.HasPrefix(folder, room+"/")) && (at < 0 || len(room) > len(order[at])) {
			at = i
		}
	}
	if at < 0 {
		return "", at
	}
	return order[at], at
}

// between returns the error of an import of one folder by another; nil: it is allowed.
func between(order []string, from, to string, test bool) error {
	room, at := roomOf(order, from)
	imported, above := roomOf(order, to)
	switch {
	case at < 0:
		return fmt.Errorf("%s is in no room of docs/architecture.md", from)
	case above < 0:
		return fmt.Errorf("%s imports %s, which is in no room of docs/architecture.md", from, to)
	case room == imported, above < at:
		return nil
	case test && (imported == "orchagent-ext/testbed" || imported == "tests"):
		return nil
	case test && from == "sai-shim/softsai": // compares the labels of C and of Go
		return nil
	}
	return fmt.Errorf("%s imports %s: a room imports only rooms above it in docs/architecture.md", from, to)
}

func TestEveryImportFollowsTheOrderOfRooms(t *testing.T) {
	order := rooms(t)
	used := map[string]bool{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		room, _ := roomOf(order, from)
		used[room] = true
		for _, to := range p.Imports {
			if folder, ours := strings.CutPrefix(to, module); ours {
				if err := between(order, from, folder, false); err != nil {
					t.Error(err)
				}
			}
		}
		for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
			if folder, ours := strings.CutPrefix(to, module); ours {
				if err := between(order, from, folder, true); err != nil {
					t.Error("test:", err)
				}
			}
		}
	}
	for _, room := range order {
		if !used[room] {
			t.Errorf("docs/architecture.md has room %s, which has no package", room)
		}
	}
}

func TestBetweenRefusesImportsAgainstTheOrder(t *testing.T) {
	order := []string{"wire", "flows/flow", "flows", "orchagent-ext/testbed", "tests"}
	for _, tt := range []struct {
		from, to string
		test, ok bool
	}{
		{"flows/flow", "wire", false, true},
		{"wire/roce", "wire/notify", false, true}, // within a room
		{"wire", "flows/flow", false, false},
		{"wire", "flows/flow", true, false},
		{"flows/flow", "flows/health", false, false}, // the longest room counts
		{"wire", "orchagent-ext/testbed", false, false},
		{"wire", "orchagent-ext/testbed/fabric", true, true},
		{"wire", "nowhere", false, false},
		{"nowhere", "wire", false, false},
		{"wires", "wire", false, false},
	} {
		if err := between(order, tt.from, tt.to, tt.test); (err == nil) != tt.ok {
			t.Errorf("%s imports %s, test %v: %v", tt.from, tt.to, tt.test, err)
		}
	}
}

// confined are imports that only some folders may have, outside tests.
var confined = []struct {
	path string   // of the import, with all below it
	only []string // folders, with all below them
}{
	{"github.com/redis/go-redis", []string{"orchagent-ext/db/sonicdb"}},
	{"go.etcd.io/etcd", []string{"orchagent-ext/host/etcd", "orchagent-ext/flows/streamid", "tests/etcdtest"}},
	{"sluice/orchagent-ext/testbed", []string{"orchagent-ext/testbed", "orchagent-ext/cmd/sluice-lab", "lab", "tests"}},
	{"sluice/tests", []string{"tests"}},
}

func below(folder string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") })
}

func TestConfinedImports(t *testing.T) {
	for _, p := range packages(t) {
		folder := strings.TrimPrefix(p.ImportPath, module)
		for _, c := range confined {
			for _, to := range p.Imports {
				if (to == c.path || strings.HasPrefix(to, c.path+"/")) && !below(folder, c.only) {
					t.Errorf("%s imports %s: only %s may", folder, to, strings.Join(c.only, ", "))
				}
			}
		}
		if len(p.CgoFiles) > 0 && folder != "sai-shim" {
			t.Errorf("%s is cgo (%s): only sai-shim may be", folder, p.CgoFiles[0])
		}
	}
}

// TestOnlySluicedLinksTheSwitch: the tool and the gNMI server reach the switch through
// Redis alone.
func TestOnlySluicedLinksTheSwitch(t *testing.T) {
	for program, links := range map[string]bool{"orchagent-ext/cmd/sluiced": true, "orchagent-ext/cmd/sluice": false, "gnmi-server/cmd/sluice-gnmi": false} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+program)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
		deps := strings.Fields(string(out))
		for _, of := range []string{"sluice/sai-shim", "sluice/orchagent-ext/switch/engine"} {
			if slices.Contains(deps, of) != links {
				t.Errorf("%s links %s: %v, want %v", program, of, !links, links)
			}
		}
		if i := slices.IndexFunc(deps, func(of string) bool { return strings.HasPrefix(of, "sluice/orchagent-ext/testbed") }); i >= 0 {
			t.Errorf("%s links %s, of the laboratory", program, deps[i])
		}
	}
}
