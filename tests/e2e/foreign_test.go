// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// foreign is sluiced with a SAI library of another maker, which writes down what
// it is called with. It needs no root.
type foreign struct {
	t             *testing.T
	dir           string
	redis         *privateredis.Server
	config, state *sonicdb.DB
	log           *logged
	process       *exec.Cmd
	done          chan error
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	if _, err := os.Stat(bin + "sluiced"); err != nil {
		t.Skipf("needs what make build makes: %v", err)
	}
	t.Setenv("SLUICE_METRICS", "off") // its port is this machine's, which others may use
	f := &foreign{t: t, dir: t.TempDir(), log: &logged{}}
	out, err := exec.Command("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
		"-I../../sai-shim/include", "-o", f.library(), "testdata/foreign.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if f.redis, err = privateredis.Start(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.redis.Stop)
	databases, err := sonicdb.Load(f.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &f.config, "STATE_DB": &f.state} {
		if *db, err = sonicdb.Open(databases, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	f.set("PORT", "Ethernet0", "lanes", "0,1,2,3")
	f.set("PORT", "Ethernet4", "lanes", "4")
	f.set("SLUICE_PORT", "Ethernet4", "role", "edge")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sluiced wrote:\n%s", f.log)
		}
	})
	return f
}

func (f *foreign) library() string { return filepath.Join(f.dir, "libforeign.so") }
func (f *foreign) calls() string   { return filepath.Join(f.dir, "calls") }

func (f *foreign) set(table, key string, pairs ...string) {
	f.t.Helper()
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	if err := f.config.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *foreign) command(args ...string) *exec.Cmd {
	return exec.Command(bin+"sluiced", append([]string{"--db-config", f.redis.Config}, args...)...)
}

func (f *foreign) start(args ...string) {
	f.t.Helper()
	f.process = f.command(append([]string{"--sai-profile", "FOREIGN_LOG=" + f.calls()}, args...)...)
	f.process.Stdout, f.process.Stderr = f.log, f.log
	if err := child.Start(f.process); err != nil {
		f.t.Fatal(err)
	}
	f.done = make(chan error, 1)
	go func() { f.done <- f.process.Wait() }()
	f.t.Cleanup(func() { _ = f.process.Process.Kill() })
}

// stop ends sluiced as SIGTERM does.
func (f *foreign) stop() {
	f.t.Helper()
	if err := f.process.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	select {
	case err := <-f.done:
		if err != nil {
			f.t.Fatal(err)
		}
	case <-time.After(patience):
		f.t.Fatal("sluiced does not end")
	}
}

// await waits until SLUICE_STATE|global is as wanted.
func (f *foreign) await(wanted func(map[string]string) bool) map[string]string {
	f.t.Helper()
	var fields map[string]string
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all, _ := f.state.Read(context.Background(), "SLUICE_STATE")
		if len(all) == 1 {
			fields = all[0].Fields
		}
		if wanted(fields) {
			return fields
		}
		select {
		case err := <-f.done:
			f.t.Fatalf("sluiced ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("SLUICE_STATE|global is %v", fields)
		}
	}
}

func (f *foreign) enable() map[string]string {
	f.t.Helper()
	f.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
	return f.await(func(s map[string]string) bool { return s["flow_label"] == "unproven" || s["flow_label"] == "failed" }) // it reads nothing back
}

func (f *foreign) recorded() []string {
	f.t.Helper()
	text, err := os.ReadFile(f.calls())
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestAnotherLibrary: a connection to a SAI library other than Sluice's is a matter
// of one flag, and a vendor's own ids for the extension one of the profile.
func TestAnotherLibrary(t *testing.T) {
	f := newForeign(t)
	f.start("--sai-library", f.library(),
		"--sai-profile", "FOREIGN_COMPUTE=0x10000055", "--sai-profile", "SLUICE_EXT_COMPUTE_IPV6_FLOW_LABEL=0x10000055")
	if s := f.enable(); s["flow_label_method"] != "compute" {
		t.Errorf("%v", s)
	}
	// Numbers of SAI: attributes, and of their values the first, second and fourth
	// 64 bits, which hold enable, mask and data of a field.
	want := []string{
		"create switch 0x2100000000000000 0x74=0x1/0/0",
		"create acl_table 0x7000000000001 0=0/0/0 0x1=0x1/LIST/0 0x2=0x10/0/0 0x1016=0x1/0/0 0x1024=0x1/0/0 0x1026=0x1/0/0",
		"create acl_counter 0x9000000000002 0=0x7000000000001/0/0 0x1=0x1/0/0 0x2=0x1/0/0",
		"create acl_entry 0x8000000000003 0=0x7000000000001/0/0 0x1=0xa/0/0 0x2=0x1/0/0 0x1016=0x1/0xffff/0x12b7 " +
			"0x1024=0x1/0xffffffff/0x5 0x1026=0x1/0xfffff/0 0x10000055=0x1/0x100/0 0x2005=0x1/0x9000000000002/0",
		"create acl_counter 0x9000000000004 0=0x7000000000001/0/0 0x1=0x1/0/0 0x2=0x1/0/0",
		"create acl_entry 0x8000000000005 0=0x7000000000001/0/0 0x1=0x1/0/0 0x2=0x1/0/0 0x1016=0x1/0xffff/0x12b7 " +
			"0x1024=0x1/0xffffffff/0x5 0x2005=0x1/0x9000000000004/0",
		"set port 0x1000000000001 0x3b=0x7000000000001/0/0",
		"create hash 0x1c000000000006 0=0x6/LIST/0",
		"set switch 0x2100000000000000 0x5f=0x1c000000000006/0/0",
	}
	if diff := cmp.Diff(want, normal(f.recorded())); diff != "" {
		t.Error(diff)
	}
	f.stop()
}

// address is that of a list's elements, which differs from run to run.
var address = regexp.MustCompile(`/0x[57][0-9a-f]{11}/`)

func normal(lines []string) []string {
	for i := range lines {
		lines[i] = address.ReplaceAllString(lines[i], "/LIST/")
	}
	return lines
}

// TestMethodsOfAnotherLibrary: what it lacks, or has no room for, decides the means.
func TestMethodsOfAnotherLibrary(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile []string
		reason  string
	}{
		{"no action for labels", nil, "compute: the SAI library does not have the extension of sai_sluice_ext.h: it does not answer SAI_SWITCH_ATTR_SLUICE_EXTENSION; rewrite: "},
		{
			"no room for an entry",
			[]string{"--sai-profile", "FOREIGN_COMPUTE=0x10000001", "--sai-profile", "FOREIGN_FULL=0"},
			"SAI create acl_entry: TABLE_FULL",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForeign(t)
			f.start(append(tt.profile, "--sai-library", f.library())...)
			if s := f.enable(); s["flow_label_method"] != "hash" {
				t.Errorf("%v", s)
			}
			all, err := f.state.Read(t.Context(), "SLUICE_CAPABILITY")
			if err != nil || len(all) != 1 || !strings.Contains(all[0].Fields["flow_label_reason"], tt.reason) {
				t.Errorf("%v %v, want %q", all, err, tt.reason)
			}
			calls := strings.Join(f.recorded(), "\n")
			if !strings.Contains(calls, "set switch 0x2100000000000000 0xf8=") {
				t.Errorf("the hash of RDMA packets is not set:\n%s", calls)
			}
			f.stop()
		})
	}
}

// TestWrongLibrary: sluiced says why, keeps trying, and does not end.
func TestWrongLibrary(t *testing.T) {
	for _, tt := range []struct {
		name, file, content, want string
	}{
		{"no such file", "nosuch.so", "", "nosuch.so"},
		{"no library", "text.so", "this is text", "text.so"},
		{"no SAI library", "", "libc.so.6", "is no SAI library: it has no symbol sai_api_initialize"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForeign(t)
			path := filepath.Join(f.dir, tt.file)
			switch {
			case tt.file == "":
				path = tt.content
			case tt.content != "":
				if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f.start("--sai-library", path)
			s := f.await(func(s map[string]string) bool { return s["last_error"] != "" })
			if s["state"] != "starting" || !strings.Contains(s["last_error"], tt.want) {
				t.Errorf("%v", s)
			}
			f.stop()
		})
	}
}

// TestDryRun prints the plan and calls no library.
func TestDryRun(t *testing.T) {
	f := newForeign(t)
	f.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled")
	f.set("SLUICE_PORT", "Ethernet9", "role", "edge")
	out, err := f.command("--dry-run").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"not in force: SLUICE_PORT|Ethernet9", "create  label/compute", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL", "create  port/Ethernet4"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err = f.command("--dry-run", "--json", "--method", "hash").Output(); err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Method string
		Steps  []struct {
			Remove bool
			Object struct{ Key string }
		}
	}
	if err := json.Unmarshal(out, &plan); err != nil || plan.Method != "hash" || len(plan.Steps) != 3 || plan.Steps[0].Object.Key != "hash" {
		t.Errorf("%v: %+v", err, plan)
	}
	if left, err := f.state.Read(t.Context(), "SLUICE_ASIC_OBJECT", "SLUICE_STATE"); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}

// TestCommandLine: bad input is exit code 1 and one clear line.
func TestCommandLine(t *testing.T) {
	f := newForeign(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--db-config", "nosuch.json"}, "nosuch.json"},
		{[]string{"extra"}, `unexpected "extra"`},
		{[]string{"--sai-library", f.library(), "--sai-profile", "novalue"}, `"novalue" is not KEY=VALUE`},
		{[]string{"--dry-run", "--method", "best"}, `unknown method "best"`},
	} {
		cmd := f.command(tt.args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%v: %v: %s", tt.args, err, &stderr)
		}
	}
	out, err := f.command("--version").Output()
	if err != nil || !strings.HasPrefix(string(out), "sluiced ") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := f.command("--help").CombinedOutput(); err != nil || !strings.Contains(string(out), "--dry-run") {
		t.Errorf("%v: %s", err, out)
	}
}
