// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/sai-shim/saitest"
	"sluice/yang/rows"
)

// mostStarts is how often sluiced may be started until it stays: each start does without
// one method more.
const mostStarts = 6

// TestFaultsThatEndTheProcess: whichever call that a method makes aborts or does not return,
// from the first time or a later one on, each start of sluiced names the call that ended the
// one before, and in the end one stays, with a method that works or none and the reason.
// `make soak` tries all, `make test` one.
func TestFaultsThatEndTheProcess(t *testing.T) {
	calls := []string{
		"create acl_table", "create acl_counter", "create acl_entry", "create hash", "create udf", "create udf_match", "create udf_group",
		"create hostif_user_defined_trap", "create policer", "create hostif_trap_group", "set port", "set switch.ECMP_HASH_IPV6",
		"capability acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL", "capability switch.ECMP_HASH_IPV6", "values hash.NATIVE_HASH_FIELD_LIST", "list acl_counter", "list acl_table",
	}
	afters, hows := []int{0, 1}, []string{"abort", "exit", "hang"}
	if os.Getenv("SLUICE_SOAK") == "" {
		calls, afters, hows = calls[:1], afters[:1], hows[:1]
	}
	for _, call := range calls {
		for _, after := range afters {
			for _, how := range hows {
				fail := fmt.Sprintf("%s %d %s", call, after, how)
				t.Run(fail, func(t *testing.T) { endsInStep(t, call, fail) })
			}
		}
	}
}

// endsInStep starts sluiced until it stays.
func endsInStep(t *testing.T, call, fail string) {
	library, state := saitest.New(t), filepath.Join(t.TempDir(), "sluiced.json")
	d, file := labelled(t)
	short, _, _ := strings.Cut(call, ".")
	short = strings.NewReplacer("capability ", "ask ", "values hash", "ask hash values").Replace(short) // as sluiced names it
	for start := range mostStarts {
		forgetState(t, d)
		r := runSluiced(t, d, file, library, state, fail, "--sai-call-limit", "200ms")
		done := make(chan int, 1)
		go func() { done <- r.ends() }()
		var fields map[string]string
		for deadline := time.Now().Add(time.Minute); fields == nil; {
			if time.Now().After(deadline) {
				t.Fatalf("start %d does not come to an end:\n%s", start+1, r.said())
			}
			select {
			case <-done:
				fields = map[string]string{}
			case <-time.After(20 * time.Millisecond):
				fields = r.settled()
			}
		}
		if start > 0 && !strings.Contains(r.said(), short) {
			t.Errorf("start %d does not name the call:\n%s", start+1, r.said())
		}
		switch {
		case len(fields) == 0: // the library ended it
			continue
		case fields["sai_call"] != "":
			_ = r.cmd.Process.Kill()
			<-done
			continue
		}
		if start > 0 && !strings.Contains(fields["warnings"]+fields["last_error"], short) {
			t.Errorf("no warning names the call: %v", fields)
		}
		t.Logf("start %d stays: labels by %s, %s", start+1, fields["flow_label_method"], fields["flow_label"])
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if status := <-done; status != 0 {
			t.Errorf("it ended with status %d:\n%s", status, r.said())
		}
		return
	}
	t.Errorf("sluiced did not stay in %d starts", mostStarts)
}

// forgetState removes what a process that was ended left.
func forgetState(t *testing.T, d *sonicdb.Databases) {
	t.Helper()
	db, err := sonicdb.Open(d, "STATE_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: telemetry.TableState, Key: "global"}, Deleted: true}); err != nil {
		t.Fatal(err)
	}
}

// settled is SLUICE_STATE|global of this process, once it says what came of the configuration,
// or that a call hangs; nil before.
func (r *running) settled() map[string]string {
	all, err := r.stateDB.Read(r.t.Context(), telemetry.TableState)
	if err != nil || !strings.Contains(r.said(), "sluiced starts") {
		return nil
	}
	for _, row := range all {
		f := row.Fields
		if f["sai_call"] != "" || f["state"] != telemetry.Starting && (f["flow_label_method"] != "none" || strings.Contains(f["warnings"], "no method for flow labels")) {
			return f
		}
	}
	return nil
}
