// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Attribute numbers, as KIND:ATTRIBUTE of the driver.
const (
	fieldRoCE  = "FIELD_L4_DST_PORT=4791 FIELD_IPV6_NEXT_HEADER=17" // L4_DST_PORT, IPV6_NEXT_HEADER
	fieldInner = "FIELD_INNER_L4_DST_PORT=4791"                     // INNER_L4_DST_PORT

	compute  = "ACTION_COMPUTE_IPV6_FLOW_LABEL"
	setLabel = "ACTION_SET_IPV6_FLOW_LABEL"
)

// newTable makes a table with every field, binds it to a port, and returns it.
func newTable(t *testing.T, d *driver, port string) string {
	t.Helper()
	table := d.id("create table ACL_STAGE=INGRESS ACL_BIND_POINT_TYPE_LIST=PORT FIELD_SRC_IPV6=1 FIELD_DST_IPV6=1 FIELD_SRC_IP=1 FIELD_DST_IP=1 FIELD_L4_SRC_PORT=1 FIELD_L4_DST_PORT=1 " +
		"FIELD_INNER_L4_DST_PORT=1 FIELD_IP_PROTOCOL=1 FIELD_IPV6_NEXT_HEADER=1 FIELD_DSCP=1 FIELD_IPV6_FLOW_LABEL=1 FIELD_BTH_OPCODE=1 FIELD_AETH_SYNDROME=1 FIELD_ICMP_TYPE=1 FIELD_ICMPV6_TYPE=1 FIELD_ACL_IP_TYPE=1")
	d.do("set port %s INGRESS_ACL=%s", portID(t, port), table)
	return table
}

// headroom is where the switch looks for the begin of headers, in octets.
const headroom = 512

// wantLabel is the frame as the switch must send it on.
func wantLabel(frame []byte, algorithm flow.Algorithm, always, outer bool) (want []byte, labelled, tunnelled bool) {
	var p roce.Packet
	want = slices.Clone(frame)
	if p.Parse(want, len(want)) != nil || p.Is4() && !p.Tunnelled() || p.Fragment() ||
		!outer && p.Tunnelled() || !always && p.FlowLabel() != 0 {
		return want, false, false
	}
	deth, datagram := p.DETH() // connected services: no queue pair of the source in the packet
	bth := cap(want) - cap(p.BTHBytes())
	if bth-udpLen > headroom || datagram && bth+bthLen > headroom {
		return want, false, false
	}
	k := flow.KeyOf(&p)
	p.SetFlowLabel(k.Label(algorithm, deth.SrcQP))
	return want, true, p.Tunnelled()
}

// The label is the one of package flow, in every packet that carries RoCEv2
// directly over IPv6, in the outermost header of tunnels where that is asked for, and
// nothing else changes in any packet.
//
//conformance:draft-hu/input draft-hu/crc-loop draft-hu/low-20 draft-hu/write draft-hu/only-label
func TestComputedLabel(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1 ENABLE_BYTE_COUNT=1", table)

	program := startRunner(t, "port0")
	const zeroOnly, flagOuter = 0x100, 0x200
	for seed, test := range []struct {
		algorithm     flow.Algorithm
		always, outer bool
		parameter     int
	}{
		{flow.DraftLiteral, false, false, 0 | zeroOnly},
		{flow.DraftLiteral, true, true, 0 | flagOuter},
		{flow.CRC32, false, true, 1 | zeroOnly | flagOuter},
		{flow.CRC32, true, false, 1},
	} {
		// No t.Run: its goroutine would be in another namespace.
		name := fmt.Sprintf("%s, always %v, outer %v", test.algorithm, test.always, test.outer)
		var entries []string
		for _, field := range []string{fieldRoCE, fieldInner} {
			entries = append(entries, d.id("create entry TABLE_ID=%s PRIORITY=5 %s %s=%d ACTION_COUNTER=%s", table, field, compute, test.parameter, counter))
		}
		const frames = 25000
		labels, tunnels := 0, 0
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		for range frames {
			frame := anyFrame(r)
			want, labelled, tunnelled := wantLabel(frame, test.algorithm, test.always, test.outer)
			verdict, got := program.run(frame)
			if verdict != verdictGoOn {
				t.Fatalf("%s: verdict %d for %x", name, verdict, frame)
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: sent %x\n got %x\nwant %x", name, frame, got, want)
			}
			if labelled {
				labels++
			}
			if tunnelled {
				tunnels++
			}
		}
		if labels < frames/10 || labels > frames*9/10 {
			t.Errorf("%s: %d of %d frames labelled: the test tests too little", name, labels, frames)
		}
		if test.outer && tunnels < frames/100 {
			t.Errorf("%s: %d of %d frames are tunnels with a label: the test tests too little", name, tunnels, frames)
		}
		for _, entry := range entries {
			d.do("remove entry %s", entry)
		}
	}
}
