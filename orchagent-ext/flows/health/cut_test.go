// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// TestCutHeadersTellNothingWrong: where the capture cut each packet after its BTH, reads whose
// length is unknown make no gaps, acknowledgements without their syndrome count as neither kind,
// and writes have no size but their own octets.
func TestCutHeadersTellNothingWrong(t *testing.T) {
	s := newSession(t, 5)
	for _, name := range []string{"none", "read", "none", "receiver not ready", "read", "no access"} {
		for range 5 {
			faults[name](s)
		}
	}
	table := NewTable(Config{})
	var p roce.Packet
	reads, acks := 0, 0
	for _, c := range s.packets {
		const upToBTH = 40 + 8 + roce.BTHLen
		if err := p.ParseIP(c.frame[:upToBTH], len(c.frame)); err != nil {
			t.Fatal(err)
		}
		if _, ok := p.AETH(); ok {
			t.Fatal("an AETH that is not there")
		}
		switch p.Opcode() {
		case roce.RCReadRequest:
			reads++
		case roce.RCAck:
			acks++
		}
		seen := Seen{Time: c.at, SrcQP: qpB, From: flow.Ack, Slot: 1}
		if c.forward {
			seen.SrcQP, seen.Slot = qpA, 0
		}
		table.Observe(&p, seen)
	}
	if reads == 0 || acks == 0 {
		t.Fatalf("the session has %d reads and %d acknowledgements", reads, acks)
	}
	for d := range table.All() {
		naks := uint64(0)
		for _, n := range d.NAKs {
			naks += n
		}
		if d.Acks != 0 || naks != 0 {
			t.Errorf("acknowledgements %d, by syndrome %d, of which none is there", d.Acks, naks)
		}
		if d.DestQP == qpB && d.Gaps+d.Missing != 0 {
			t.Errorf("gaps of requests: %+v", d.Counters)
		}
	}
}
