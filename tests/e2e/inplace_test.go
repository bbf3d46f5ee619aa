// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// TestRewriteKeepsLabelsOverChangesOfConfiguration: what is not about labels is
// changed while 1,000 flows send; no packet arrives without its label.
func TestRewriteKeepsLabelsOverChangesOfConfiguration(t *testing.T) {
	t.Parallel()
	const flows = 1000
	l := newLeaf(t)
	l.set("SLUICE_IPFIX_COLLECTOR", "c", "address", "127.0.0.1", "port", "4739", "transport", "udp")
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.enable()
	l.learnMany(flows)
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	var frames [][]byte
	for i := range uint32(flows) {
		frames = append(frames, l.frame(packet{qp: 0x1000 + i}))
	}
	stop := make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() {
		each := time.NewTicker(time.Millisecond)
		defer each.Stop()
		for n := uint32(0); ; n++ {
			if n%32 == 0 {
				select {
				case <-stop:
					return
				case <-each.C:
				}
			}
			if err := sender.Send(frames[n%flows]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	ledger := func(key, attributes string) { // until an object has the attributes
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
			for _, f := range l.table("SLUICE_ASIC_OBJECT") {
				if f["key"] == key && (f["attributes"] == attributes || attributes == "") {
					return
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not %q", key, attributes)
			}
		}
	}
	for _, rate := range []string{"100", "1000", "10"} {
		l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", rate)
		ledger("export/sample", "SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE="+rate)
	}
	for _, capacity := range []string{"2000", "500000", "1024"} {
		l.set("SLUICE", "global", "flow_capacity", capacity, "cpu_rate", capacity)
		ledger("cpu/policer", fmt.Sprintf("SAI_POLICER_ATTR_METER_TYPE=packets SAI_POLICER_ATTR_MODE=sr-tcm SAI_POLICER_ATTR_CIR=%s SAI_POLICER_ATTR_CBS=10000 SAI_POLICER_ATTR_RED_PACKET_ACTION=drop", capacity))
	}
	l.set("SLUICE_PORT", l.Uplinks[0].Name, "role", "fabric", "flow_label", "enabled")
	ledger("port/"+l.Uplinks[0].Name, "SAI_PORT_ATTR_INGRESS_ACL=@label/table")
	l.set("SLUICE_IPFIX", "global", "admin_state", "disabled")
	for deadline := time.Now().Add(patience); l.objects()["export/sample"] != ""; {
		if time.Now().After(deadline) {
			t.Fatal("packets are still sampled")
		}
	}
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled") // Sluice no longer owns the hash
	for deadline := time.Now().Add(patience); l.objects()["hash"] != ""; {
		if time.Now().After(deadline) {
			t.Fatal("Sluice still owns the hash")
		}
	}
	close(stop)
	sending.Wait()
	arrived, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	_, none, _ := labels(t, arrived, flow.DraftLiteral)
	if none > 0 || len(arrived) < flows {
		t.Errorf("%d of %d packets that arrived have no label", none, len(arrived))
	}
	if n := l.flowsNow(); n != flows {
		t.Errorf("%d flows", n)
	}
	t.Logf("%d packets of %d flows, %d without a label", len(arrived), flows, none)
}
