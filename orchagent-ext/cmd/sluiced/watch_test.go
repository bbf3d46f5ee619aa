// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/trust"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/sai-shim/saitest"
	"sluice/yang/rows"
)

// running is a sluiced with the recording library and databases of its own.
type running struct {
	t       *testing.T
	cmd     *exec.Cmd
	stateDB *sonicdb.DB
	mu      sync.Mutex
	log     bytes.Buffer
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(b)
}

func (r *running) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// labelled are the databases of a switch whose port is to label, and their file.
func labelled(t *testing.T) (*sonicdb.Databases, string) {
	t.Helper()
	s, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	d, err := sonicdb.Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sonicdb.Open(d, "CONFIG_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for key, fields := range map[string]map[string]string{
		"PORT|Ethernet0":           {"lanes": "0,1,2,3", "admin_status": "up"},
		"SLUICE_PORT|Ethernet0":    {"role": "edge"},
		"SLUICE_FLOW_LABEL|global": {"admin_state": "enabled"},
	} {
		table, key, _ := strings.Cut(key, "|")
		if err := db.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
			t.Fatal(err)
		}
	}
	return d, s.Config
}

// configure writes a row of CONFIG_DB.
func configure(t *testing.T, d *sonicdb.Databases, row rows.Row) {
	t.Helper()
	db, err := sonicdb.Open(d, "CONFIG_DB", nil)
	if err == nil {
		err = errors.Join(db.Write(t.Context(), sonicdb.Change{Row: row}), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runSluiced starts sluiced with more of a command line.
func runSluiced(t *testing.T, d *sonicdb.Databases, config string, library *saitest.Library, state, fail string, more ...string) *running {
	t.Helper()
	r := &running{t: t}
	args := []string{
		"--db-config", config, "--state-file", state, "--lock-folder", filepath.Dir(state), "--sandbox", "off",
		"--metrics", "127.0.0.1:0", "--sai-library", library.Path,
	}
	for key, value := range library.Profile("FAIL", fail) {
		args = append(args, "--sai-profile", key+"="+value)
	}
	r.cmd = exec.Command(os.Args[0], append(args, more...)...)
	r.cmd.Stderr = r
	var err error
	if r.stateDB, err = sonicdb.Open(d, "STATE_DB", nil); err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _, _ = r.cmd.Process.Kill(), r.cmd.Wait(), r.stateDB.Close()
	})
	return r
}

// until polls a row of STATE_DB until it is as wanted.
func (r *running) until(table, key string, wanted func(fields map[string]string) bool) map[string]string {
	r.t.Helper()
	var last map[string]string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		all, err := r.stateDB.Read(r.t.Context(), table)
		if err != nil {
			continue
		}
		for _, row := range all {
			if last = row.Fields; row.Key == key && wanted(last) {
				return last
			}
		}
	}
	r.t.Fatalf("%s|%s is not as wanted: %v\n%s", table, key, last, r.said())
	return nil
}

// ends waits for the end, and returns the exit status.
func (r *running) ends() int {
	r.t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return 0
	case <-time.After(time.Minute):
		r.t.Fatalf("sluiced does not end:\n%s", r.said())
		return 0
	}
}

var servedAt = regexp.MustCompile(`metrics are served" address=(\S+)`)

// TestCallThatDoesNotReturn: STATE_DB and /healthz name a call of the library that does not
// return; SIGTERM ends sluiced all the same, with a status of its own; the next start says so.
func TestCallThatDoesNotReturn(t *testing.T) {
	library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
	d, file := labelled(t)
	const fail = "create acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 hang"
	r := runSluiced(t, d, file, library, state, fail, "--sai-call-limit", "100ms")
	r.until(telemetry.TableState, "global", func(f map[string]string) bool { // a busy machine may be slow with another call, too
		return strings.HasPrefix(f["sai_call"], "create acl_entry ") && strings.Contains(f["sai_call"], "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL") && f["sai_call_since"] != ""
	})
	at := servedAt.FindStringSubmatch(r.said())
	if at == nil {
		t.Fatalf("no metrics:\n%s", r.said())
	}
	answer, err := http.Get("http://" + at[1] + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.HasPrefix(string(body), "the SAI library does not return from create acl_entry ") {
		t.Errorf("/healthz: %d %s", answer.StatusCode, body)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := r.ends(); status != trust.ExitHung {
		t.Errorf("it ended with status %d, want %d:\n%s", status, trust.ExitHung, r.said())
	}

	r = runSluiced(t, d, file, library, state, fail)
	r.until(telemetry.TableState, "global", func(f map[string]string) bool {
		return f["flow_label_method"] == "rewrite" && f["sai_call"] == "" && strings.Contains(f["warnings"], "the SAI library did not return from create acl_entry ")
	})
}

// TestLibraryThatAbortsAtTheHandshake: the next starts do not ask for the extension, say so,
// and take a method of SAI itself.
func TestLibraryThatAbortsAtTheHandshake(t *testing.T) {
	library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
	d, file := labelled(t)
	configure(t, d, rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled", "manage_switch_hash": "true"}})
	const fail = "get switch.SLUICE_EXTENSION 0 abort"
	if r := runSluiced(t, d, file, library, state, fail); r.ends() == 0 {
		t.Fatal("it ended well")
	}
	for range 2 { // it is not forgotten
		r := runSluiced(t, d, file, library, state, fail)
		fields := r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["flow_label"] == "active" })
		const want = "the SAI library ended sluiced by SIGABRT in get switch extension oid:"
		if method := fields["flow_label_method"]; !strings.Contains(method, "hash") || strings.Count(fields["warnings"], want) != 1 || !strings.Contains(fields["warnings"], "is not asked for the extension again") {
			t.Errorf("method %s, warnings %q", method, fields["warnings"])
		}
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := r.ends(); status != 0 {
			t.Errorf("it ended with status %d:\n%s", status, r.said())
		}
	}
}

// TestLibraryThatAborts: the next start names the call in the log and in STATE_DB, and does
// not try the method again, until the configuration is another one.
func TestLibraryThatAborts(t *testing.T) {
	library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
	d, file := labelled(t)
	const fail = "create acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 abort"
	const why = "the SAI library ended sluiced by SIGABRT in create acl_entry "
	if r := runSluiced(t, d, file, library, state, fail); r.ends() == 0 {
		t.Fatal("it ended well")
	}
	var r *running
	for life := range 3 { // it is not forgotten
		r = runSluiced(t, d, file, library, state, fail)
		r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["state"] != telemetry.Starting })
		r.until(telemetry.TableCapability, "switch", func(f map[string]string) bool {
			return f["flow_label_method"] == "rewrite" && f["flow_label_state"] == "active" && strings.Contains(f["flow_label_reason"], "compute: "+why)
		})
		if life == 2 {
			break
		}
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := r.ends(); status != 0 {
			t.Errorf("it ended with status %d:\n%s", status, r.said())
		}
	}
	configure(t, d, rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled", "rewrite": "always"}})
	if r.ends() == 0 || !strings.Contains(r.said(), "saitest: aborts") {
		t.Errorf("another configuration does not try it again:\n%s", r.said())
	}
	r = runSluiced(t, d, file, library, state, fail)
	r.until(telemetry.TableState, "global", func(f map[string]string) bool {
		return f["flow_label_method"] == "rewrite" && strings.Contains(f["warnings"], why)
	})
}

// TestLibraryThatAbortsWhenItIsAsked: a call that only reads ends no second start: sluiced goes
// on without its answer, and says so.
func TestLibraryThatAbortsWhenItIsAsked(t *testing.T) {
	for _, fail := range []string{
		"capability acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 abort",
		"capability acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 abort;capability acl_entry.ACTION_SET_IPV6_FLOW_LABEL 0 abort;values hash.NATIVE_HASH_FIELD_LIST 0 abort;capability switch.ECMP_HASH_IPV6 0 abort",
		"values hash.NATIVE_HASH_FIELD_LIST 0 exit", "list acl_table 0 abort",
	} {
		t.Run(fail, func(t *testing.T) {
			library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
			d, file := labelled(t)
			if r := runSluiced(t, d, file, library, state, fail); r.ends() == 0 && !strings.HasSuffix(fail, "exit") {
				t.Fatal("it ended well")
			}
			for range 2 { // it is not forgotten
				r := runSluiced(t, d, file, library, state, fail)
				fields := r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["flow_label"] == "active" })
				if strings.Count(fields["warnings"], "the SAI library ended sluiced by ") != 1 || !strings.Contains(fields["warnings"], "this library is not ") {
					t.Errorf("warnings %q", fields["warnings"])
				}
				if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				if status := r.ends(); status != 0 {
					t.Errorf("it ended with status %d:\n%s", status, r.said())
				}
			}
		})
	}
}

// TestPersonalityThatEndsSluiced: a library that ends the process at the default hash, and
// takes neither a UDF nor samples, leaves sluiced up after the first start, with no method,
// and the reasons; the kill switch leaves nothing.
func TestPersonalityThatEndsSluiced(t *testing.T) {
	library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
	d, file := labelled(t)
	configure(t, d, rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled", "manage_switch_hash": "true"}})
	var profile []string
	for key, value := range library.Personality("fboss-fake") {
		profile = append(profile, "--sai-profile", key+"="+value)
	}
	start := func() *running { return runSluiced(t, d, file, library, state, "", profile...) }
	if r := start(); r.ends() == 0 {
		t.Fatal("it ended well")
	}
	r := start()
	fields := r.until(telemetry.TableCapability, "switch", func(f map[string]string) bool {
		return f["flow_label_method"] == "none" && strings.Contains(f["flow_label_reason"], "udf-hash: ")
	})
	for _, want := range []string{"hash: the SAI library ended sluiced by SIGABRT in get hash oid:0x4d2 SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST", "create udf udf/dest-qp: the switch refuses"} {
		if !strings.Contains(fields["flow_label_reason"], want) {
			t.Errorf("no %q in %q", want, fields["flow_label_reason"])
		}
	}
	configure(t, d, rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"admin_state": "disabled"}})
	r.until(telemetry.TableState, "global", func(f map[string]string) bool { return f["objects"] == "0" && f["state"] == "disabled" })
	left := map[string]bool{}
	for _, call := range library.Calls() {
		switch words := strings.Fields(call); {
		case words[0] == "create" && !strings.HasPrefix(words[1], "switch#"):
			left[words[1]] = true
		case words[0] == "remove":
			delete(left, words[1])
		}
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
