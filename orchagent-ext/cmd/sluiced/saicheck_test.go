// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/saicheck"
	"sluice/sai-shim/saitest"
)

// asSluiced makes this test's program sluiced.
const asSluiced = "SLUICED_TEST_RUNS_SLUICED"

func TestMain(m *testing.M) {
	if os.Getenv(asSluiced) != "" {
		main()
		return
	}
	if err := os.Setenv(asSluiced, "1"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// checkOf checks the recording library with a profile.
func checkOf(t *testing.T, library *saitest.Library, folder string, limit time.Duration, profile ...string) (*saicheck.Report, error) {
	t.Helper()
	args := []string{"--lock-folder", folder, "--sandbox", "off", "--log-level", "error"}
	for key, value := range library.Profile(profile...) {
		args = append(args, "--sai-profile", key+"="+value)
	}
	return saicheck.Run(t.Context(), saicheck.Config{
		Sluiced: os.Args[0], Args: args, Library: library.Path, Limit: limit, Log: io.Discard, Order: saicheck.Order{Port: "Ethernet4", Lanes: []uint32{4}},
	})
}

// leftBy are the objects that the library's calls created and did not remove, and ports and
// attributes of the switch that have a value of Sluice's.
func leftBy(calls []string) (left []string) {
	there := map[string]bool{}
	for _, call := range calls {
		words := strings.Fields(call)
		switch {
		case words[0] == "create" && !strings.HasPrefix(words[1], "switch#"):
			there[words[1]] = true
		case words[0] == "remove":
			delete(there, words[1])
		case words[0] == "set" && len(words) > 2:
			name, value, _ := strings.Cut(words[2], "=")
			if strings.Contains(value, "#") {
				there[words[1]+" "+name] = true
			} else {
				delete(there, words[1]+" "+name)
			}
		}
	}
	for what := range there {
		left = append(left, what)
	}
	slices.Sort(left)
	return left
}

const noRewrite = "needs the method rewrite of flow labels, which is none here"

// TestCheckOfALibrary: each method is tried on one port, works or does not with the call that
// was refused, and nothing is left; a call that aborts or hangs is the result of its method
// alone.
func TestCheckOfALibrary(t *testing.T) {
	for _, tt := range []struct {
		name    string
		profile []string
		limit   time.Duration
		not     map[string]string // reasons of methods that do not work, by need and method
	}{
		{name: "all works", limit: time.Minute},
		{name: "refused", limit: time.Minute, profile: []string{"FAIL", "create acl_entry.ACTION_SET_IPV6_FLOW_LABEL 0 -327680"}, not: map[string]string{
			"flow-label rewrite": "SAI create acl_entry: SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL: ATTR_NOT_SUPPORTED",
			"placement entries":  "SAI create acl_entry: SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL: ATTR_NOT_SUPPORTED", "placement rewrite": noRewrite,
		}},
		{name: "fails", limit: time.Minute, profile: []string{"FAIL", "create acl_table 0 -1"}, not: map[string]string{
			"flow-label compute": "SAI create acl_table: FAILURE", "flow-label rewrite": "SAI create acl_table: FAILURE", "export sample": "SAI create acl_table: FAILURE",
			"placement entries": "SAI create acl_table: FAILURE", "placement rewrite": noRewrite,
		}},
		{name: "not bound", limit: time.Minute, profile: []string{"FAIL", "set port.INGRESS_ACL 0 -2"}, not: map[string]string{
			"flow-label compute": "SAI set port: SAI_PORT_ATTR_INGRESS_ACL: NOT_SUPPORTED", "flow-label rewrite": "SAI set port", "export sample": "SAI set port",
			"placement entries": "SAI set port", "placement rewrite": noRewrite,
		}},
		{name: "no callback", limit: time.Minute, profile: []string{"FAIL", "set switch.PACKET_EVENT_NOTIFY 0 -2"}, not: map[string]string{
			"flow-label rewrite": "PACKET_EVENT_NOTIFY", "export sample": "PACKET_EVENT_NOTIFY",
			"placement entries": "PACKET_EVENT_NOTIFY", "placement rewrite": "PACKET_EVENT_NOTIFY",
		}},
		{name: "aborts", limit: time.Minute, profile: []string{"FAIL", "create udf_group 0 abort"}, not: map[string]string{
			"flow-label rewrite":  "the library ended the process in create udf_group SAI_UDF_GROUP_ATTR_TYPE (0x1)=generic SAI_UDF_GROUP_ATTR_LENGTH (0x2)=4: exit status 2: saitest: aborts in create udf_group; SIGABRT: abort",
			"flow-label udf-hash": "the library ended the process in create udf_group",
			"placement entries":   "the library ended the process in create udf_group", "placement rewrite": "the library ended the process in create udf_group",
		}},
		{name: "hangs", limit: 5 * time.Second, profile: []string{"FAIL", "set queue 0 hang"}, not: map[string]string{
			"threshold exact": "no answer for 5s in set queue oid:0x15000000000009 SAI_QUEUE_ATTR_FLOW_MONITOR_LOW (0x10000001)=0",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			library := saitest.New(t)
			report, err := checkOf(t, library, t.TempDir(), tt.limit, tt.profile...)
			if err != nil {
				t.Fatal(err)
			}
			if report.Version != "1.18" || report.Port != "Ethernet4" || len(report.Opening) == 0 || report.Opening[0].Call != "initialize" {
				t.Errorf("SAI %q, port %q, %d calls to open", report.Version, report.Port, len(report.Opening))
			}
			for _, name := range []string{"flow-label compute", "flow-label rewrite", "flow-label hash", "flow-label udf-hash", "export sample", "placement entries", "placement rewrite", "threshold exact", "hold exact"} {
				need, method, _ := strings.Cut(name, " ")
				is := report.Methods[need][method]
				switch reason, no := tt.not[name]; {
				case is == nil:
					t.Errorf("%s: no result", name)
				case is.Works == no || no && !strings.Contains(is.Reason, reason):
					t.Errorf("%s: works %v: %s\nwant a reason with %q", name, is.Works, is.Reason, reason)
				case len(is.Calls) == 0:
					t.Errorf("%s: no calls", name)
				}
			}
			if tt.name != "aborts" && tt.name != "hangs" { // the recording library's switch goes with its process
				if left := leftBy(library.Calls()); len(left) > 0 {
					t.Errorf("left on the switch: %q", left)
				}
			} else if len(report.Left) > 0 {
				t.Errorf("left by the ledger: %v", report.Left)
			}
		})
	}
}

// TestCheckOfALibraryThatAbortsAtTheHandshake: it is asked for the extension once, and the
// methods of SAI itself are tried.
func TestCheckOfALibraryThatAbortsAtTheHandshake(t *testing.T) {
	t.Parallel()
	report, err := checkOf(t, saitest.New(t), t.TempDir(), time.Minute, "FAIL", "get switch.SLUICE_EXTENSION 0 abort")
	if err != nil {
		t.Fatal(err)
	}
	if is := report.Methods["flow-label"]; is["compute"].Works || !is["hash"].Works || !is["udf-hash"].Works {
		t.Errorf("compute %+v, hash %+v, udf-hash %+v", is["compute"], is["hash"], is["udf-hash"])
	}
	var text strings.Builder
	if err := report.Text(&text, false); err != nil || !strings.Contains(text.String(), "the extension: no: the library ended the process in get switch extension oid:") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestCheckOfALibraryThatAbortsWhenItIsAsked: its methods are tried without the queries of
// capabilities, however many of those abort.
func TestCheckOfALibraryThatAbortsWhenItIsAsked(t *testing.T) {
	t.Parallel()
	const fail = "capability acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 abort;capability acl_entry.ACTION_SET_IPV6_FLOW_LABEL 0 abort;values hash.NATIVE_HASH_FIELD_LIST 0 abort"
	report, err := checkOf(t, saitest.New(t), t.TempDir(), time.Minute, "FAIL", fail)
	if err != nil {
		t.Fatal(err)
	}
	if is := report.Methods["flow-label"]; !is["compute"].Works || !is["rewrite"].Works || !is["hash"].Works {
		t.Errorf("compute %+v, rewrite %+v, hash %+v", is["compute"], is["rewrite"], is["hash"])
	}
	var text strings.Builder
	if err := report.Text(&text, false); err != nil || !strings.Contains(text.String(), "queries of capabilities: no: the library ended the process in ask acl_entry ") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestCheckSaysWhatALibraryLacksToOpen: one that fails, aborts or hangs before it has a
// switch is an error that says so.
func TestCheckSaysWhatALibraryLacksToOpen(t *testing.T) {
	for fail, want := range map[string]string{
		"initialize api 0 -1":    "sai_api_initialize answers -1",
		"initialize api 0 abort": "the library ended the process in initialize api: exit status 2: saitest: aborts in initialize api; SIGABRT: abort",
		"create switch 0 hang":   "no answer for 5s in create switch SAI_SWITCH_ATTR_INIT_SWITCH (0x74)=true",
	} {
		t.Run(fail, func(t *testing.T) {
			t.Parallel()
			report, err := checkOf(t, saitest.New(t), t.TempDir(), 5*time.Second, "FAIL", fail)
			if err == nil || !strings.Contains(err.Error(), want) || report.Error != err.Error() || len(report.Opening) == 0 {
				t.Errorf("%v; the report has %q and %d calls\nwant %s", err, report.Error, len(report.Opening), want)
			}
		})
	}
}

// TestInterruptedCheckLeavesNothing: the method that is tried is ended properly.
func TestInterruptedCheckLeavesNothing(t *testing.T) {
	library := saitest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		for deadline := time.Now().Add(time.Minute); ctx.Err() == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if text, _ := os.ReadFile(library.Profile()["RECORD"]); strings.Contains(string(text), "create acl_table") {
				cancel()
			}
		}
	}()
	args := []string{"--lock-folder", t.TempDir(), "--sandbox", "off", "--log-level", "error"}
	for key, value := range library.Profile() {
		args = append(args, "--sai-profile", key+"="+value)
	}
	_, err := saicheck.Run(ctx, saicheck.Config{Sluiced: os.Args[0], Args: args, Library: library.Path, Limit: time.Minute, Log: io.Discard})
	cancel()
	if err != nil && err != context.Canceled { // nil: it was done before it was told
		t.Errorf("%v", err)
	}
	if left := leftBy(library.Calls()); len(left) > 0 {
		t.Errorf("left on the switch: %q", left)
	}
}

// TestCheckTriesMoreOfRedirections: groups, a group as backup, a second equal match, and a table
// with DROP in one group of tables: each is taken or refused by itself, and removed.
func TestCheckTriesMoreOfRedirections(t *testing.T) {
	const group, backup, second, drop = "to a group", "to a next hop with a group as backup", "a second equal match", "a table with DROP beside it"
	for name, tt := range map[string]struct {
		fail  string
		wants map[string]string // why each is refused; "": it is taken
	}{
		"all":              {"", map[string]string{group: "", backup: "", second: "", drop: ""}},
		"no groups at all": {"query next_hop_group 0 -2; create acl_table_group 0 -2", map[string]string{group: "next_hop_group", backup: "next_hop_group", second: "", drop: "NOT_SUPPORTED"}},
		"little":           {"create next_hop_group_member.CONFIGURED_ROLE 1 -5; create acl_entry.FIELD_L4_SRC_PORT 12 -6", map[string]string{group: "", backup: "INVALID_PARAMETER", second: "ITEM_ALREADY_EXISTS", drop: "ITEM_ALREADY_EXISTS"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			library := saitest.New(t)
			profile := []string{"ROUTER", "1"}
			if tt.fail != "" {
				profile = append(profile, "FAIL", tt.fail)
			}
			report, err := checkOf(t, library, t.TempDir(), time.Minute, profile...)
			if err != nil {
				t.Fatal(err)
			}
			is := report.Methods["placement"]["redirect"]
			if is == nil || !is.Works || len(is.Trials) != len(tt.wants) {
				t.Fatalf("placement by redirect: %+v", is)
			}
			for _, trial := range is.Trials {
				why, known := tt.wants[trial.Name]
				if !known || trial.Taken != (why == "") || !strings.Contains(trial.Reason, why) {
					t.Errorf("%+v: want that it is refused with %q", trial, why)
				}
			}
			if left := leftBy(library.Calls()); len(left) > 0 {
				t.Errorf("left on the switch: %q", left)
			}
		})
	}
}
