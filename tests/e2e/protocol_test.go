// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"sluice/orchagent-ext/switch/engine"
)

const protocolTCP = 6

// tcpSegments are n segments of TCP over IPv6 and as many over IPv4, to the port that
// RoCEv2 has with UDP.
func (l *leaf) tcpSegments(n int) (frames [][]byte) {
	const ethernet, nextHeader, protocol = 14, 6, 9
	for range n {
		six, four := l.frame(packet{qp: 0x500}), l.frame4(packet{qp: 0x500})
		six[ethernet+nextHeader] = protocolTCP
		four[ethernet+protocol] = protocolTCP
		// The checksum of IPv4's header has the protocol in it, in the low octet of a word.
		sum := uint32(four[ethernet+10])<<8 | uint32(four[ethernet+11])
		sum += 17 - protocolTCP
		sum = sum&0xffff + sum>>16
		four[ethernet+10], four[ethernet+11] = byte(sum>>8), byte(sum)
		frames = append(frames, six, four)
	}
	return frames
}

// TestTCPToThePortOfRoCEv2 is neither copied to the CPU nor sampled, so that it takes
// nothing from what the CPU is allowed.
func TestTCPToThePortOfRoCEv2(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		if w.long || w.method != engine.Compute && w.method != engine.Rewrite {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			l := newLeaf(t)
			l.way = w
			l.start()
			l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", "127.0.0.1", "port", "9")
			l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "1")
			l.enable()
			if !l.exporting() {
				t.Fatal("no object samples packets")
			}
			l.send(l.tcpSegments(50))
			roce := append(l.sessions(2), l.frame4(packet{qp: 0x900})) // behind them
			l.send(roce)
			counts := l.counts("SLUICE_STATS", "global")
			for deadline := time.Now().Add(patience); counts["cpu_flows"] != "65" && time.Now().Before(deadline); time.Sleep(poll) {
				counts = l.counts("SLUICE_STATS", "global")
			}
			if counts["cpu_flows"] != "65" || counts["cpu_not_roce"] != "0" || counts["cpu_malformed"] != "0" {
				t.Errorf("of 100 segments and %d packets of 65 flows: %v", len(roce), counts)
			}
		})
	}
}

// counts is a row of COUNTERS_DB.
func (l *leaf) counts(table, key string) map[string]string {
	all, _ := l.countersDB.Read(l.t.Context(), table)
	for _, r := range all {
		if r.Key == key {
			return r.Fields
		}
	}
	return nil
}
