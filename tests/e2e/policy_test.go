// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
)

// TestPriorityHasItsPartOfThePort: the priority of the hosts' flows has 30 % of an uplink of 20 Mbit/s, which they
// fill. Two flows are advised 3 Mbit/s each, and the one that goes on alone 6.
//
//conformance:draft-zz/policy
func TestPriorityHasItsPartOfThePort(t *testing.T) {
	l := newLeaf(t)
	l.onePath()
	slow := l.Uplinks[0].Name
	l.set("PORT", slow, "lanes", "4", "admin_status", "up", "speed", "20")
	l.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	l.set("SLUICE_PORT", slow, "role", "fabric", "threshold", "gold")
	l.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[0].String())
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "target_bytes", "1000000", "target_delay_us", "1000000", "min_rate_mbps", "1")
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	l.set("SLUICE_RATE_POLICY", "bulk", "dscp", "0", "port_percent", "30")
	c := l.capture(l.A)
	l.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=20", slow))
	l.awaitFields("SLUICE_STATE", "global", "rate_advice", "active", "warnings", "")
	host, n := l.sender(l.A), 0
	// advised returns the rates that the sender of a flow was advised, each once.
	advised := func(qp uint32) map[uint32]bool {
		rates := map[uint32]bool{}
		for _, f := range c.Frames() {
			var p notify.Packet
			if p.Parse(f.Data, notify.DefaultCodePoints()) == nil && p.Kind == notify.KindRateAdvice && p.RateAdvice.SourceQP == qp {
				rates[p.RateAdvice.Rate] = true
			}
		}
		return rates
	}
	send := func(flows ...uint32) {
		for range 32 {
			for _, qp := range flows {
				l.put(host, l.datagram(qp, n))
			}
			n++
		}
	}
	l.until("two flows have a half each", func() bool {
		send(elephantQP, victimQP)
		return advised(elephantQP)[3] && advised(victimQP)[3]
	})
	from := c.Len()
	l.until("one alone has all of it", func() bool {
		send(elephantQP)
		return advised(elephantQP)[6] && c.Len() > from
	})
	for qp, all := range map[uint32]map[uint32]bool{elephantQP: advised(elephantQP), victimQP: advised(victimQP)} {
		for rate := range all {
			if rate > 6 {
				t.Errorf("queue pair %#x is advised %d Mbit/s, want 6 at most", qp, rate)
			}
		}
	}
}
