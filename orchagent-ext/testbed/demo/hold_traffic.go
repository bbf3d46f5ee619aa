// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// The load of the scenario hold. Elephants go to the slow egress, victims to the
// fast one; both are of one priority.
const (
	portMbps   = 10000 // speed of a port, as PORT rows have it
	linkMbps   = 200   // at which queues send
	slowMbps   = 40    // of the slow egress
	queueBytes = 1 << 20

	elephants    = 2
	elephantMbps = 60
	victims      = 4
	victimMbps   = 15

	holdPriority = 3                       // of elephants and victims
	holdClass    = (holdPriority*8)<<2 | 2 // traffic class: DSCP 24, ECT(0)
	holdPayload  = 1024

	highMark = 64 << 10 // octets of a flow in a queue
	lowMark  = 32 << 10

	elephantQP = 0x1000 // first DestQP
	victimQP   = 0x2000
	firstLabel = 0xabc00
)

// holdFlows are n flows to a receiver.
func holdFlows(from, to int, n int, qp uint32, mbps uint64, backlog bool) (flows []nic.Flow) {
	for i := range uint32(n) {
		flows = append(flows, nic.Flow{
			Src: fabric.ChainSenders[from].Addr(), Dst: fabric.ChainReceivers[to].Addr(),
			SrcQP: qp + i, DestQP: qp + i, Label: firstLabel + qp + i, SrcPort: 0xc000,
			TrafficClass: holdClass, Payload: holdPayload, Rate: mbps * 1_000_000, Backlog: backlog,
		})
	}
	return flows
}

// qps returns n consecutive queue pairs.
func qps(first uint32, n int) (list []uint32) {
	for i := range uint32(n) {
		list = append(list, first+i)
	}
	return list
}

// adapter returns the configuration of the sending host i, with its flows.
// Victims make up for packets that were late: their applications wait for them.
func adapter(c *fabric.Chain, i int, obey nic.Obey) nic.Config {
	a := nic.Config{
		LineRate: linkMbps * 1_000_000, MAC: roce.MAC(c.Senders[i].MAC), Next: roce.MAC(c.Senders[i].Peer().MAC),
		Obey: obey, Priority: holdPriority, Points: notify.DefaultCodePoints(), Lifetime: 30 * time.Millisecond,
	}
	if i == 0 {
		a.Flows = holdFlows(0, 0, elephants, elephantQP, elephantMbps, false)
	} else {
		a.Flows = holdFlows(1, 1, victims, victimQP, victimMbps, true)
	}
	return a
}
