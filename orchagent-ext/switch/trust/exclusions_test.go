// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
)

func TestExclusionNamesTheMethodOrTheCallThatEndedAProcess(t *testing.T) {
	const label = "create acl_entry SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"
	for name, tt := range map[string]struct {
		ended Ended
		want  exclusion
		none  bool
	}{
		"a method":      {Ended{Call: label, Trying: Trying{"flow-label", "compute", "12345678"}}, exclusion{Need: "flow-label", Method: "compute", Mark: "12345678"}, false},
		"the extension": {Ended{Call: "get switch extension oid:0x1"}, exclusion{Need: needExtension}, false},
		"a hold":        {Ended{Call: "set hold oid:0x1"}, exclusion{Need: engine.NeedHold, Method: engine.Exact}, false},
		"a read":        {Ended{Call: "get port oid:0x1 SAI_PORT_ATTR_SPEED"}, exclusion{Need: needCall, Call: "get port SAI_PORT_ATTR_SPEED"}, false},
		"a query":       {Ended{Call: "ask acl_entry SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE"}, exclusion{Need: needCall, Call: "ask"}, false},
		"a write":       {Ended{Call: "remove hash oid:0x1"}, exclusion{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Library, tt.want.Why = "lib", tt.ended.String()
			is, ok := exclusionOf(&tt.ended, "lib")
			if ok == tt.none {
				t.Fatalf("an exclusion: %t", ok)
			}
			if diff := gocmp.Diff(tt.want, is); ok && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// recorded is a file that an earlier version wrote: a method, a call that reads, and a
// method of another library.
const recorded = `[{"need":"flow-label","method":"compute","why":"the SAI library ended sluiced by SIGABRT in create acl_entry, at 2026-11-23T05:00:00Z","library":"/lib.so 1 2","mark":"8a2807b0"},
{"need":"call","method":"","call":"get port SAI_PORT_ATTR_SPEED","why":"it did not return","library":"/lib.so 1 2","mark":""},
{"need":"flow-label","method":"rewrite","why":"another","library":"/other.so 1 2","mark":""}]`

func TestGuardTakesOverTheFileOfAnEarlierVersion(t *testing.T) {
	at := filepath.Join(t.TempDir(), "sluiced")
	if err := os.WriteFile(at+"-sai.json", []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := NewGuard(GuardConfig{Library: "/lib.so 1 2", Files: at, Limit: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if !g.Avoid()["get port SAI_PORT_ATTR_SPEED"] || g.NoExtension() {
		t.Errorf("avoids %v, without the extension %t", g.Avoid(), g.NoExtension())
	}
	if len(g.exclusions) != 2 || g.exclusions[0].Mark != "8a2807b0" || len(g.Warnings()) != 1 {
		t.Errorf("exclusions %+v, warnings %q", g.exclusions, g.Warnings())
	}
	if is := g.excluded(engine.Policy{}); len(is) != 0 {
		t.Errorf("another policy has %v", is)
	}
}
