// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
)

// TestFlowsTellHowTheyFare: where every packet comes to the CPU, SLUICE_FLOW has what is
// missing, also of flows without an entry; where samples come, it has no leaf that takes
// every packet.
func TestFlowsTellHowTheyFare(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	l.enable()
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return strings.Contains(f["warnings"], "has no collector") })
	l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", "127.0.0.1", "port", "9")
	l.awaitCounters("SLUICE_IPFIX_STATS", "c1", "dropped", "0") // the exporter runs
	l.awaitFields("SLUICE_STATE", "global", "state", "running")
	if !l.exporting() {
		t.Fatal("no object samples packets")
	}
	var frames [][]byte
	for psn := range uint32(40) {
		if psn != 10 && psn != 11 && psn != 30 {
			frames = append(frames, l.frame(packet{qp: 0x500, psn: psn}))
		}
		frames = append(frames, l.frame4(packet{qp: 0x600, psn: psn}))
	}
	l.send(frames)
	six := fmt.Sprintf("%s,%s,000500", fabric.HostA.Addr(), fabric.HostB.Addr())
	four := fmt.Sprintf("%s,%s,000600", fabric.HostA4.Addr(), fabric.HostB4.Addr())
	// Not exactly how many gaps: a sender that goes to another core is overtaken by itself.
	l.awaitFields("SLUICE_FLOW", six, "seen_packets", "37", "psn_lost", "3", "psn_duplicates", "0", "sampling_rate", "1", "ingress_port", "Ethernet0")
	l.awaitFields("SLUICE_FLOW", four, "seen_packets", "40", "psn_lost", "0", "payload_bytes", "5120")

	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "2")
	l.await("SLUICE_FLOW", six, func(f map[string]string) bool { return f["seen_packets"] == "" })
	l.send(frames)
	l.send(frames)
	row := l.await("SLUICE_FLOW", six, func(f map[string]string) bool { return f["sampling_rate"] == "2" })
	if row["psn_gaps"] != "" || row["payload_bytes"] != "" || row["ce_packets"] != "0" {
		t.Errorf("%v", row)
	}
}
