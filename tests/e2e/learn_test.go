// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// Source queue pairs are learned of 500 packets in a second with one answer to 16, by samples of one
// packet in 256: the software switch gives all packets to the CPU while these are few. Two
// connections of the same hosts begin with the same PSN; each is known if answers of both show round
// trips.
func TestFewPacketsTeachQueuePairs(t *testing.T) {
	l := newLeaf(t)
	l.start("--sai-profile", withQueues)
	l.enable()
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled")
	l.awaitFields("SLUICE_STATE", "global", "rate_advice", "active")
	if !l.exporting() {
		t.Fatal("no object samples packets")
	}
	const packets, every = 500, 16
	a, b := l.sender(l.A), l.sender(l.B)
	exchange := func(to, from, psn uint32) (answers int) {
		l.put(a, l.across(l.A, true, to, psn, roce.RCSendOnly, nil))
		if psn%every != 0 {
			return 0
		}
		l.put(b, l.across(l.B, false, from, psn, roce.RCAck, roce.AETH{}.Append))
		return 1
	}
	pace, ofOne := time.NewTicker(2*time.Millisecond), 0
	defer pace.Stop()
	for n := range uint32(packets) {
		<-pace.C
		ofOne += exchange(0x500, 0x15, n)
		if n%2 == 0 {
			exchange(0x600, 0x16, n/2)
		}
	}
	l.await("SLUICE_HOST", fabric.HostB.Addr().String(), func(f map[string]string) bool {
		samples, _ := strconv.Atoi(f["samples"])
		return f["rtt_from"] == "answer" && samples > ofOne
	})
}
