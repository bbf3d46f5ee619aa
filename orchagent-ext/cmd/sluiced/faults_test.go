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
	limit := time.Minute // a busy machine may take long for a call that returns
	if strings.HasSuffix(fail, " hang") {
		limit = time.Second
	}
	short = strings.NewReplacer("capability ", "ask ", "values hash", "ask hash values").Replace(short) // as sluiced names it
	for start := range mostStarts {
		forgetState(t, d)
		r := runSluiced(t, d, file, library, state, fail, "--sai-call-limit", limit.String())
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
// or that a call hangs; nil before. The sign of life may write the row first, without a state.
func (r *running) settled() map[string]string {
	all, err := r.stateDB.Read(r.t.Context(), telemetry.TableState)
	if err != nil || !strings.Contains(r.said(), "sluiced starts") {
		return nil
	}
	for _, row := range all {
		f := row.Fields
		if f["sai_call"] != "" || f["state"] != "" && f["state"] != telemetry.Starting && (f["flow_label_method"] != "none" || strings.Contains(f["warnings"], "no method for flow labels")) {
			return f
		}
	}
	return nil
}

// killSwitchLimit is how long the kill switch may take beside the removals themselves, which
// take no time here.
const killSwitchLimit = time.Second

// TestFaultsLeaveTheKillSwitch: whichever call fails, with libraries that were tried, too, the
// kill switch removes everything from the switch. `make soak` tries all, and measures the time;
// `make test` tries one.
func TestFaultsLeaveTheKillSwitch(t *testing.T) {
	soak := os.Getenv("SLUICE_SOAK") != ""
	faults := []string{
		"create acl_entry 2 -13", "create acl_table 0 -1", "create acl_table 1 null", "create acl_counter 0 -1", "create hash 0 -5", "create udf_group 0 -1",
		"create policer 0 -2", "create hostif_user_defined_trap 0 -15", "create samplepacket 0 -13", "set port.INGRESS_ACL 0 -2", "set switch.ECMP_HASH_IPV6 0 -1",
		"set switch.PACKET_EVENT_NOTIFY 0 -2", "get port 3 -1", "stats port 0 -1", "stats queue 0 -1", "list acl_table 0 endless", "list acl_counter 0 more",
		"values hash.NATIVE_HASH_FIELD_LIST 0 -8", "capability acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 -65536", "remove acl_counter 0 -1 2", "remove acl_entry 0 -1 1",
	}
	libraries := append([]string{""}, saitest.Personalities(t)...)
	if !soak {
		faults, libraries = faults[:1], libraries[:1]
	}
	library, folder := saitest.New(t), t.TempDir()
	d, file := labelled(t)
	configure(t, d, rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled", "manage_switch_hash": "true"}})
	configure(t, d, rows.Row{Table: "SLUICE_IPFIX", Key: "global", Fields: map[string]string{"admin_state": "enabled", "sampling_rate": "1000"}})
	configure(t, d, rows.Row{Table: "SLUICE_IPFIX_COLLECTOR", Key: "c", Fields: map[string]string{"address": "127.0.0.1", "port": "4739"}})
	admin := func(state string) {
		configure(t, d, rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"admin_state": state}})
	}
	tried, slowest := 0, time.Duration(0)
	for _, name := range libraries {
		if name == "fboss-fake" { // it ends the process: TestFaultsThatEndTheProcess
			continue
		}
		for i, fault := range faults {
			admin("enabled")
			forgetState(t, d)
			var more []string
			fail := fault
			if name != "" {
				for key, value := range library.Personality(name) {
					if key == "FAIL" {
						fail += ";" + value
					} else {
						more = append(more, "--sai-profile", key+"="+value)
					}
				}
			}
			calls := library.Calls()[:0]
			r := runSluiced(t, d, file, library, filepath.Join(folder, fmt.Sprintf("%s%d.json", name, i)), fail, more...)
			r.until(telemetry.TableState, "global", func(f map[string]string) bool { return r.settled() != nil || f["last_error"] != "" })
			admin("disabled")
			began := time.Now()
			left := func() []string {
				calls = append(calls, library.Calls()...)
				return leftBy(calls)
			}
			for deadline := time.Now().Add(time.Minute); len(left()) > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Errorf("%s, %s: the kill switch leaves %q\n%s", name, fault, left(), r.said())
					break
				}
			}
			took := time.Since(began)
			if tried, slowest = tried+1, max(slowest, took); soak && took > killSwitchLimit {
				t.Errorf("%s, %s: the kill switch took %v", name, fault, took)
			}
			if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			r.ends()
		}
	}
	t.Logf("%d faults tried: the kill switch took at most %v", tried, slowest)
}
