// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// pod is switches with a port each, and the file of their names.
type pod struct {
	t     *testing.T
	all   []*server
	front *between // of the last one
}

// newPod starts n switches, leaf1 and so on, with a port; the tool knows them by name. The last one has a
// front for faults.
func newPod(t *testing.T, n int) *pod {
	t.Helper()
	p := &pod{t: t}
	inventory := ""
	for i := range n {
		s := start(t)
		s.write(s.config, "PORT|Ethernet0", "admin_status", "up")
		s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
		socket := s.socket()
		if i == n-1 {
			p.front = s.front(t)
			socket = p.front.socket
		}
		p.all = append(p.all, s)
		inventory += fmt.Sprintf("leaf%d unix:%s\n", i+1, socket)
	}
	file := filepath.Join(t.TempDir(), "switches")
	if err := os.WriteFile(file, []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_TARGETS", file)
	t.Setenv("SLUICE_TARGET_JOURNAL", filepath.Join(t.TempDir(), "journals"))
	return p
}

// run runs a command line of sluice about all switches, unless it names others.
func (p *pod) run(args ...string) (out string, status int) {
	p.t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--target ") {
		args = append(args, "--target", "all")
	}
	out, errs, status := tool(p.t, append(args, "--target-timeout", patience.String())...)
	return out + errs, status
}

// roles returns the roles of the port on all switches, - where there is none.
func (p *pod) roles() string {
	p.t.Helper()
	var all []string
	for _, s := range p.all {
		role := s.rows("SLUICE_PORT")["SLUICE_PORT|Ethernet0"]["role"]
		if role == "" {
			role = "-"
		}
		all = append(all, role)
	}
	return strings.Join(all, " ")
}

// has checks the output of a command, its status, and the roles after it.
func (p *pod) has(roles string, status int, want string, args ...string) {
	p.t.Helper()
	out, got := p.run(args...)
	if diff := cmp.Diff(want, out); diff != "" || got != status {
		p.t.Errorf("%v: status %d, want %d (-want +got):\n%s", args, got, status, diff)
	}
	if is := p.roles(); is != roles {
		p.t.Errorf("%v: roles %s, want %s", args, is, roles)
	}
}

// TestConfigOfManySwitches: a change on four switches, what it would be, what it was, and back; switches that
// are so already; and none where one has no such port.
func TestConfigOfManySwitches(t *testing.T) {
	p := newPod(t, 4)
	set := func(more ...string) []string {
		return append([]string{"config", "port", "set", "Ethernet0", "--role", "fabric"}, more...)
	}
	const table = "Switch  Row                      Field  Value\n" +
		"leaf1   - SLUICE_PORT|Ethernet0  role   edge\nleaf1   + SLUICE_PORT|Ethernet0  role   fabric\n" +
		"leaf2   - SLUICE_PORT|Ethernet0  role   edge\nleaf2   + SLUICE_PORT|Ethernet0  role   fabric\n" +
		"leaf3   - SLUICE_PORT|Ethernet0  role   edge\nleaf3   + SLUICE_PORT|Ethernet0  role   fabric\n" +
		"leaf4   - SLUICE_PORT|Ethernet0  role   edge\nleaf4   + SLUICE_PORT|Ethernet0  role   fabric\n"
	const before, after = "edge edge edge edge", "fabric fabric fabric fabric"
	p.has(before, 0, table, set("--dry-run")...)
	p.has(before, 0, "- SLUICE_PORT|Ethernet0  role  edge\n+ SLUICE_PORT|Ethernet0  role  fabric\n", set("--dry-run", "--target", "leaf2")...)
	p.has("edge fabric edge edge", 0, "leaf2  written  1 row\n", set("--target", "leaf2")...)
	p.has(after, 0, "leaf1  written        1 row\nleaf2  nothing to do\nleaf3  written        1 row\nleaf4  written        1 row\n", set()...)
	p.has(after, 0, "Nothing to do.\n", set("--dry-run", "--target", "leaf2")...)
	p.has(after, 0, "Nothing to do: leaf1, leaf2, leaf3, leaf4\n", set("--dry-run")...)
	p.has(after, 0, table, "diff")
	p.has(after, 0, "--- before the last change\n+++ CONFIG_DB\n- SLUICE_PORT|Ethernet0  role  edge\n+ SLUICE_PORT|Ethernet0  role  fabric\n", "diff", "--target", "leaf3")
	out, status := p.run("rollback", "--list")
	if status != 0 || strings.Count(out, "config port set Ethernet0 --role fabric\n") != 4 || !strings.HasPrefix(out, "Switch  Last  Time") {
		t.Errorf("list: status %d: %s", status, out)
	}
	var listed []struct {
		Switch  string
		Changes []struct{ Command string }
	}
	if out, status = p.run("rollback", "--list", "--json"); status != 0 || json.Unmarshal([]byte(out), &listed) != nil || len(listed) != 4 || listed[3].Switch != "leaf4" || len(listed[3].Changes) != 1 {
		t.Errorf("list: status %d: %s", status, out)
	}
	p.all[0].write(p.all[0].config, "SLUICE_PORT|Ethernet0", "role", "border")
	const changed = `SLUICE_PORT|Ethernet0: has changed since "config port set Ethernet0 --role fabric": sluice diff shows it, --force takes it back all the same` + "\n"
	p.has("border fabric fabric fabric", 1, "leaf1  refused      "+changed+"leaf2  not written\nleaf3  not written\nleaf4  not written\n", "rollback")
	p.has("border fabric fabric fabric", 0, "- SLUICE_PORT|Ethernet0  role  fabric\n+ SLUICE_PORT|Ethernet0  role  edge\n", "rollback", "--dry-run", "--target", "leaf4")
	p.has(before, 0, "leaf1  written  1 row\nleaf2  written  1 row\nleaf3  written  1 row\nleaf4  written  1 row\n", "rollback", "--force")
	p.has(before, 1, "sluice: no change by sluice config is known: only changes with --target from this machine are\n", "rollback", "--target", "leaf4")
	p.has(before, 1, "sluice: leaf4: no change by sluice config is known: only changes with --target from this machine are; give a FILE to compare with\n", "diff", "--target", "leaf4")

	var outcomes []struct {
		Switch, Address, Result, Error string
		Edits                          []struct{ Table, Key string }
	}
	if out, status = p.run(set("--json")...); status != 0 || json.Unmarshal([]byte(out), &outcomes) != nil || len(outcomes) != 4 || outcomes[3].Switch != "leaf4" || outcomes[3].Result != "written" || outcomes[3].Edits[0].Key != "Ethernet0" {
		t.Errorf("JSON: status %d: %s", status, out)
	}
	file := filepath.Join(t.TempDir(), "config_db.json")
	if err := os.WriteFile(file, []byte(`{"PORT": {"Ethernet0": {"admin_status": "up"}}, "SLUICE_PORT": {"Ethernet0": {"role": "edge"}}, "SLUICE_THRESHOLD": {"gold": {"high_bytes": "9", "queues": ["3", "4"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.has("fabric edge fabric fabric", 0, "leaf2  written  2 rows\n", "config", "load", file, "--target", "leaf2")
	p.has("fabric edge fabric fabric", 0, "leaf2  nothing to do\n", "config", "load", file, "--target", "leaf2")
	p.has(after, 0, "leaf2  written  2 rows\n", "rollback", "--target", "leaf2")
	p.all[2].remove(p.all[2].config, "PORT|Ethernet0")
	p.all[2].remove(p.all[2].config, "SLUICE_PORT|Ethernet0")
	for _, tt := range []struct {
		counts bool // sluiced there counts at a port
		want   string
		result string // of the others
	}{
		{false, `SLUICE_PORT|Ethernet0: name "Ethernet0": no such row in PORT or PORTCHANNEL`, "taken back"},
		{true, `SLUICE_PORT|Ethernet0: name "Ethernet0": no such row in PORT or PORTCHANNEL; there are: Ethernet4`, "not written"},
	} {
		if tt.counts {
			p.all[2].write(p.all[2].counter, "SLUICE_PORT_STATS|Ethernet4", "rx_packets", "1")
		}
		out, status := p.run("config", "port", "set", "Ethernet0", "--role", "border")
		if status != 1 || strings.Count(out, tt.result) != 3 || !strings.Contains(out, "leaf3  refused") || !strings.Contains(out, tt.want+"\n") || p.roles() != "fabric fabric - fabric" {
			t.Errorf("no such port: status %d, %s: %s", status, p.roles(), out)
		}
	}
}

// TestFailureOfOneSwitchTakesAllBack: the last of four real switches has a fault in a step, and none is left
// changed; the status and the line of each.
func TestFailureOfOneSwitchTakesAllBack(t *testing.T) {
	refusal := status.Error(codes.PermissionDenied, "alice may not write role")
	at := func(step string, err error) setFault {
		return func(_ context.Context, r *gpb.SetRequest, pass func() error) error {
			if action(r) == step {
				return err
			}
			return pass()
		}
	}
	lost := status.Error(codes.Unavailable, "the connection broke")
	p := newPod(t, 4)
	for _, tt := range []struct {
		name   string
		fault  setFault
		status int
		last   string // line of the last one
	}{
		{"refuses", at("begin", refusal), 1, "leaf4  refused     alice may not write role\n"},
		{"closes", at("begin", lost), 5, "leaf4  taken back  did not answer: the connection broke\n"},
		{"lies", at("begin", nil), 1, "leaf4  refused     it took the change, and SLUICE_PORT|Ethernet0 is not so\n"},
		{"closes after the Set", func(_ context.Context, r *gpb.SetRequest, pass func() error) error {
			if err := pass(); action(r) != "begin" {
				return err
			}
			return lost
		}, 5, "leaf4  taken back  did not answer: the connection broke\n"},
		{"refuses to confirm", at("confirm", refusal), 1, "leaf4  refused     it did not confirm: alice may not write role\n"},
		{"does not answer to confirm", at("confirm", lost), 5, "leaf4  taken back  did not answer when it was to confirm: the connection broke\n"},
	} {
		p.front.set(tt.fault)
		want := "leaf1  taken back\nleaf2  taken back\nleaf3  taken back\n" + tt.last
		p.has("edge edge edge edge", tt.status, want, "config", "port", "set", "Ethernet0", "--role", "fabric")
		p.has("edge edge edge edge", 1, "sluice: no change by sluice config is known: only changes with --target from this machine are\n", "rollback", "--target", "leaf1")
	}
	p.front.set(nil)
	p.has("fabric fabric fabric fabric", 0, "leaf1  written  1 row\nleaf2  written  1 row\nleaf3  written  1 row\nleaf4  written  1 row\n", "config", "port", "set", "Ethernet0", "--role", "fabric")
}

// TestSwitchesFallBackWhenTheToolIsKilled: SIGKILL while one of them has not answered its Set; all take
// the change back by themselves.
func TestSwitchesFallBackWhenTheToolIsKilled(t *testing.T) {
	tool, err := program("sluice", "./orchagent-ext/cmd/sluice")
	if err != nil {
		t.Fatal(err)
	}
	p := newPod(t, 4)
	held := make(chan struct{})
	p.front.set(func(ctx context.Context, _ *gpb.SetRequest, pass func() error) error {
		if err := pass(); err != nil {
			t.Error(err)
		}
		close(held)
		<-ctx.Done() // until the tool is gone
		return ctx.Err()
	})
	cmd := exec.Command(tool, "config", "port", "set", "Ethernet0", "--role", "fabric", "--target", "all", "--target-rollback", "6s", "--target-timeout", patience.String())
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held:
	case <-limited(t).Done():
		t.Fatalf("no Set came: %s", &said)
	}
	p.all[0].eventually("all have the change", func() bool { return p.roles() == "fabric fabric fabric fabric" })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var killed *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &killed) || said.Len() > 0 {
		t.Errorf("%v: %s", err, &said)
	}
	p.all[0].eventually("all take it back", func() bool { return p.roles() == "edge edge edge edge" })
}

// TestRollbackAfterTheToolIsKilled: SIGKILL when three of four have confirmed. When the last one has fallen back one rollback
// makes all as before.
func TestRollbackAfterTheToolIsKilled(t *testing.T) {
	tool, err := program("sluice", "./orchagent-ext/cmd/sluice")
	if err != nil {
		t.Fatal(err)
	}
	p := newPod(t, 4)
	held := make(chan struct{})
	p.front.set(func(ctx context.Context, r *gpb.SetRequest, pass func() error) error {
		if action(r) == "begin" {
			return pass()
		}
		close(held)
		<-ctx.Done() // until the tool is gone
		return ctx.Err()
	})
	cmd := exec.Command(tool, "config", "port", "set", "Ethernet0", "--role", "fabric", "--target", "all", "--target-rollback", "15s", "--target-timeout", patience.String())
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held:
	case <-limited(t).Done():
		t.Fatal("no confirmation came")
	}
	for _, s := range p.all[:3] {
		s.eventually("it has confirmed", func() bool {
			_, err := s.client().Set(limited(t), &gpb.SetRequest{})
			return err == nil
		})
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	p.front.set(nil)
	p.all[3].eventually("the last one falls back", func() bool { return p.roles() == "fabric fabric fabric edge" })
	p.has("fabric fabric fabric edge", 0, "No difference from before the last change.\n", "diff", "--target", "leaf4")
	p.has("edge edge edge edge", 0, "leaf1  written        1 row\nleaf2  written        1 row\nleaf3  written        1 row\nleaf4  nothing to do\n", "rollback")
	out, status := p.run("rollback")
	if status != 1 || strings.Count(out, "no change by sluice config is known") != 4 {
		t.Errorf("once more: status %d: %s", status, out)
	}
}

// TestRollbackNeedsNoRoomOnDisk: a journal that cannot be locked keeps no change from being taken back, and the
// command says that it does not follow; another change is refused.
func TestRollbackNeedsNoRoomOnDisk(t *testing.T) {
	p := newPod(t, 2)
	p.has("edge edge", 0, "leaf1  nothing to do\nleaf2  nothing to do\n", "config", "port", "set", "Ethernet0", "--role", "edge")
	if written, err := filepath.Glob(filepath.Join(os.Getenv("SLUICE_TARGET_JOURNAL"), "*.json")); err != nil || len(written) > 0 {
		t.Errorf("nothing to do: %v, %v", written, err)
	}
	p.has("fabric fabric", 0, "leaf1  written  1 row\nleaf2  written  1 row\n", "config", "port", "set", "Ethernet0", "--role", "fabric")
	locks, err := filepath.Glob(filepath.Join(os.Getenv("SLUICE_TARGET_JOURNAL"), "*.lock"))
	if err != nil || len(locks) != 2 {
		t.Fatal(locks, err)
	}
	for _, name := range locks {
		if err := errors.Join(os.Remove(name), os.Mkdir(name, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	out, status := p.run("config", "port", "set", "Ethernet0", "--role", "border")
	if status != 1 || !strings.HasPrefix(out, "sluice: nothing was written: lock the journal: ") || p.roles() != "fabric fabric" {
		t.Errorf("a change: status %d, roles %s: %s", status, p.roles(), out)
	}
	out, status = p.run("rollback")
	if status != 0 || !strings.HasPrefix(out, "leaf1  written  1 row\nleaf2  written  1 row\nwarning: the journal that rollback goes by does not say what it took back: lock the journal: ") || p.roles() != "edge edge" {
		t.Errorf("rollback: status %d, roles %s: %s", status, p.roles(), out)
	}
	for _, name := range locks {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	p.has("edge edge", 0, "leaf1  nothing to do\nleaf2  nothing to do\n", "rollback")
}

// TestSwitchLeftChangedHasTheStatus: a switch that says that it canceled a commit, and did not, has the exit status where
// the journal cannot be written, too; the reason is a warning.
func TestSwitchLeftChangedHasTheStatus(t *testing.T) {
	p := newPod(t, 2)
	p.front.set(func(_ context.Context, r *gpb.SetRequest, pass func() error) error {
		if action(r) == "cancel" {
			return nil
		}
		return pass()
	})
	journal := filepath.Join(os.Getenv("SLUICE_TARGET_JOURNAL"), url.PathEscape("unix:"+p.all[0].socket())+".json")
	if err := os.MkdirAll(filepath.Join(journal, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, status := p.run("config", "port", "set", "Ethernet0", "--role", "fabric")
	const want = "leaf1  taken back\nleaf2  left changed  it said that it took the change back, and SLUICE_PORT|Ethernet0 is not as before\n" +
		"warning: the change was not confirmed: the journal of leaf1: "
	if status != 6 || !strings.HasPrefix(out, want) || p.roles() != "edge fabric" {
		t.Errorf("status %d, roles %s: %s", status, p.roles(), out)
	}
}

// TestSwitchThatLosesPowerFallsBack: the server of one is killed before it confirms; the others take the change
// back, and it does so by itself when it is back.
func TestSwitchThatLosesPowerFallsBack(t *testing.T) {
	p := newPod(t, 2)
	last := p.all[1]
	p.front.set(func(_ context.Context, r *gpb.SetRequest, pass func() error) error {
		switch action(r) {
		case "begin":
			return pass()
		case "confirm":
			last.kill()
		}
		return status.Error(codes.Unavailable, "the connection broke")
	})
	out, status := p.run("config", "port", "set", "Ethernet0", "--role", "fabric", "--target-rollback", "6s")
	if status != 6 || !strings.HasPrefix(out, "leaf1  taken back\nleaf2  unknown     did not answer when it was to confirm: the connection broke; at ") || !strings.HasSuffix(out, " at the latest it has taken the change back by itself, unless it was confirmed\n") {
		t.Errorf("status %d: %s", status, out)
	}
	if got := p.roles(); got != "edge fabric" {
		t.Errorf("roles %s", got)
	}
	last.run()
	last.eventually("it takes the change back", func() bool { return p.roles() == "edge edge" })
	p.front.set(nil)
	if out, status := p.run("rollback", "--list"); status != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "\nleaf2   1 ") {
		t.Errorf("the change that may be there is known: status %d: %s", status, out)
	}
}

// TestKillSwitchOfManySwitches: each that answers is disabled at once and for good, also where a commit waits;
// one that does not answer is named, and the others stay disabled.
func TestKillSwitchOfManySwitches(t *testing.T) {
	p := newPod(t, 4)
	p.front.set(func(context.Context, *gpb.SetRequest, func() error) error {
		return status.Error(codes.Unavailable, "the connection broke")
	})
	p.all[1].mustSet(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice/SLUICE/global/admin_state", str("enabled"))}, Extension: commitOf("rollout 7", patience)})
	const waits = `sluice: commit "rollout 7" waits to be confirmed; confirm or cancel it first, or try again when it is over by itself: one of sluice config is after its --target-rollback, 60 s by default` + "\n"
	p.has("edge edge edge edge", 1, waits, "config", "port", "set", "Ethernet0", "--role", "fabric", "--target", "leaf2")
	out, status := p.run("config", "global", "set", "--admin-state", "disabled")
	want := "leaf1  written         1 row\nleaf2  written         commit \"rollout 7\", which waited there, was canceled for it\nleaf3  written         1 row\nleaf4  did not answer  unix:" + p.front.socket + ": the connection broke\n"
	if diff := cmp.Diff(want, out); diff != "" || status != 5 {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
	for i, s := range p.all {
		disabled := s.rows("SLUICE")["SLUICE|global"]["admin_state"] == "disabled"
		if disabled != (i < 3) {
			t.Errorf("leaf%d: disabled %v", i+1, disabled)
		}
		s.mustSet(&gpb.SetRequest{Extension: commitOf("next", patience)}) // no commit waits there
	}
}

// TestConfigOfOtherSwitchesNeedsItsFlags: those about this machine, and those without --target, are refused.
func TestConfigOfOtherSwitchesNeedsItsFlags(t *testing.T) {
	t.Setenv("SLUICE_TARGETS", "")
	for want, args := range map[string][]string{
		"--journal is about this machine: leave it out with --target":   {"config", "port", "set", "a", "--role", "edge", "--target", "x", "--journal", "y"},
		"--db-config is about this machine: leave it out with --target": {"config", "port", "set", "a", "--role", "edge", "--target", "x", "--db-config", "y"},
		"--target-rollback goes with --target":                          {"config", "port", "set", "a", "--role", "edge", "--target-rollback", "5s"},
		"--target-rollback 1ms: from 1s to 24h0m0s are possible":        {"rollback", "--target", "x", "--target-rollback", "1ms"},
		"--target-journal goes with --target":                           {"diff", "--target-journal", "x"},
		"without a journal no change can be taken back":                 {"rollback", "--target", "x", "--target-journal", ""},
		"without a journal no change is known":                          {"rollback", "--list", "--target", "x", "--target-journal", ""},
		"a and b are one switch, at unix:/x: name it once":              {"config", "global", "set", "--admin-state", "enabled", "--target", "@@"},
		"--trace is about this machine: leave it out with --target":     {"path", "--src", "::1", "--dst", "::2", "--dst-qp", "1", "--target", "x", "--trace"},
		"--gnmi-user goes with --trace or --target":                     {"path", "--src", "::1", "--dst", "::2", "--dst-qp", "1", "--gnmi-user", "x"},
		"--sort is about one switch, and --target names several":        {"top", "--target", "x,y", "--sort", "qp"},
		"nothing was written: lock the journal":                         {"config", "port", "set", "a", "--role", "edge", "--target", "x", "--target-journal", "/proc/self"},
		"did not answer":                                                {"config", "port", "set", "a", "--role", "edge", "--target", "unix:/nowhere", "--target-journal", ""},
	} {
		if i := len(args) - 1; args[i] == "@@" {
			args[i] = "@" + filepath.Join(t.TempDir(), "switches")
			if err := os.WriteFile(args[i][1:], []byte("a unix:/x\nb unix:/x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, errs, status := tool(t, args...)
		if status == 0 || !strings.Contains(out+errs, want) || strings.Count(out+errs, "\n") != 1 {
			t.Errorf("%v: status %d: %s%s, want %s", args, status, out, errs, want)
		}
	}
}
