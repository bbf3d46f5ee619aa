// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"testing"

	"sluice/orchagent-ext/hold/kernel"
	sai "sluice/sai-shim"
)

// FuzzFlowEvent: whatever head of a packet a library gives with the event of a flow, the core
// goes on, sends notifications that can be parsed, and takes back what it asked for.
func FuzzFlowEvent(f *testing.F) {
	for _, version := range []byte{4, 6} {
		head := make([]byte, sai.FlowHead)
		head[0], head[6], head[9] = version<<4|5, kernel.ProtocolUDP, kernel.ProtocolTCP
		f.Add(head, uint8(sai.FlowHead), uint64(up), uint64(200_000), true)
	}
	f.Add([]byte{0x45}, uint8(255), uint64(queue), uint64(1), false)
	f.Fuzz(func(t *testing.T, head []byte, length uint8, in, octets uint64, known bool) {
		n := newRandom(t, config())
		e := sai.FlowEvent{Queue: queue, InPort: sai.ObjectID(in), Flow: 1, Octets: octets, At: n.now, Mark: sai.MarkHigh, Length: length}
		copy(e.Head[:], head)
		if known {
			e = *arrived(e)
		}
		n.depth[idOf(queue, 1)] = octets
		n.core.event(n.now, &e)
		n.until(n.now + 100*ms)
		delete(n.depth, idOf(queue, 1))
		n.until(n.now + 100*ms)
		n.core.end(n.now)
		if n.core.detector.Flows() > 0 {
			t.Errorf("%d flows are congested after the end", n.core.detector.Flows())
		}
	})
}
