// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// TestFlowsAreShownWithoutACollector: where labels, placement or flow control are on and nothing is
// exported, SLUICE_FLOW has the flows, as estimates by samples, and the tool shows them. With all
// off no packet comes to the CPU.
func TestFlowsAreShownWithoutACollector(t *testing.T) {
	t.Parallel()
	for name, enable := range map[string]func(*leaf){
		"labels": func(l *leaf) { l.enable() },
		"labels by hash, and IPFIX without a collector": func(l *leaf) {
			l.enable()
			l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "64") // with a warning: nothing is exported
		},
		"placement": func(l *leaf) {
			l.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled")
			l.enable()
		},
		"redirection": func(l *leaf) {
			l.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled")
		},
		"flow control": func(l *leaf) {
			l.set("SLUICE_PFCM", "global", "admin_state", "enabled")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLeaf(t)
			if strings.Contains(name, "hash") {
				l.start("--sai-profile", "SLUICE_HIDE=compute,rewrite")
			} else {
				l.start()
			}
			enable(l)
			defer l.sending()()
			for deadline := time.Now().Add(patience); ; {
				v := l.top()
				estimated := 0
				for _, f := range v.Flows {
					if f.Bits != nil && *f.Bits > 0 && f.Src == fabric.HostA.Addr().String() {
						estimated++
					}
				}
				if v.Rows >= 32 && estimated >= 8 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d flows have rows, %d of them a rate", v.Rows, estimated)
				}
			}
			out, err := exec.Command(bin+"sluice", "show", "flows", "--db-config", l.redis.Config).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "0x000100") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
