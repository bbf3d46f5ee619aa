// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

var update = flag.Bool("update", false, "write the captures of real runs in tests/captures")

// wire is a link on which both directions are captured.
type wire struct {
	name string
	ends [2]*fabric.Capture
}

func captureWire(t *testing.T, name string, a *fabric.Interface) *wire {
	t.Helper()
	w := &wire{name: name}
	for i, end := range []*fabric.Interface{a, a.Peer()} {
		var err error
		if w.ends[i], err = end.Capture(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// crossed is a frame on a wire.
type crossed struct {
	fabric.Frame
	wire int
}

// crossings are the frames of wires, in the order of their arrival.
func crossings(t *testing.T, wires ...*wire) (all []crossed) {
	t.Helper()
	for i, w := range wires {
		for _, c := range w.ends {
			frames, err := c.Stop()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range frames {
				all = append(all, crossed{f, i})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b crossed) int { return a.Time.Compare(b.Time) })
	return all
}

// TestHoldOverTwoHops: the core asks the aggregation to hold the flow that fills its queue;
// what waits there passes the mark there, so the aggregation asks the edge, for no longer
// than what remains. When the core has drained both are told, and every packet arrives, in
// order.
//
//conformance:draft-yang/recursion
func TestHoldOverTwoHops(t *testing.T) {
	needsPrograms(t)
	n := fabrictest.Chain(t)
	var at [3]*leaf
	for i, node := range n.Switches {
		at[i] = newSwitch(t, &fabric.LeafSpine{Leaf: node, LeafA: n.Ports[i][0], Uplinks: n.Ports[i][1:]})
		for _, p := range n.Ports[i] {
			at[i].set("SLUICE_PORT", p.Name, "role", "fabric", "threshold", "gold", "upstream_neighbor", p.Peer().LinkLocal.String())
		}
		at[i].set("SLUICE_THRESHOLD", "gold", "high_bytes", []string{"1000000", "5000", "10000"}[i])
		at[i].set("SLUICE_PFCM", "global", "admin_state", "enabled", "hold_limit_ms", "0")
		at[i].start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=%d", n.Ports[2][1].Name, []int{1000, 1000, 1}[i]))
		at[i].awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	}
	edge, aggregation, core := at[0], at[1], at[2]
	wires := []*wire{captureWire(t, "edge-aggregation", n.Ports[0][2]), captureWire(t, "aggregation-core", n.Ports[1][1])}
	c, err := n.Receivers[0].Capture()
	if err != nil {
		t.Fatal(err)
	}
	src, dst := fabric.ChainSenders[0].Addr(), fabric.ChainReceivers[0].Addr()
	sender, packets := edge.sender(n.Senders[0]), 0
	send := func() {
		b := roce.Ethernet{Dst: roce.MAC(n.Senders[0].Peer().MAC), Src: roce.MAC(n.Senders[0].MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
		ip := len(b)
		b = roce.IPv6Header{FlowLabel: heldLabel, NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(b)
		b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
		b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: 0x77, PSN: uint32(packets)}.Append(b)
		b, err := roce.Finish(append(b, make([]byte, 128)...), ip)
		if err != nil {
			t.Fatal(err)
		}
		edge.put(sender, b)
		packets++
		for begin := time.Now(); time.Since(begin) < 200*time.Microsecond; { // some 8 Mbit/s; a sleep would be longer
		}
	}
	edge.soon("the edge is asked", func() bool {
		for range 10 {
			send()
		}
		return slices.ContainsFunc(wires[0].ends[0].Frames(), func(f fabric.Frame) bool { _, ok := pfcmOf(f); return ok })
	})
	for range 20 { // these wait at the edge
		send()
	}
	edge.arrived(c, packets)
	edge.awaitNotified("pfcm", "held", 1)
	for _, one := range at {
		one.quiet()
		if lost := one.notified("pfcm", "hold_queue_full") + one.notified("pfcm", "hold_queue_lost"); lost > 0 {
			t.Errorf("%s: %d packets lost in holds", one.Leaf.Name, lost)
		}
	}
	core.awaitNotified("pfcm", "sent", 2)
	aggregation.awaitNotified("pfcm", "sent", 2)
	all := crossings(t, wires...)
	var asked [2][]notify.PFCM
	var first [2]time.Time
	for _, f := range all {
		p, ok := pfcmOf(f.Frame)
		if !ok {
			continue
		}
		if len(asked[f.wire]) == 0 {
			first[f.wire] = f.Time
		}
		m := p.PFCM
		asked[f.wire] = append(asked[f.wire], m)
		if m.Source != src || m.Destination != dst || m.StreamID != asked[f.wire][0].StreamID || m.Time > 40_000 || p.Envelope.HopLimit != 255 {
			t.Errorf("%s: %+v", wires[f.wire].name, m)
		}
	}
	for i, messages := range asked {
		if len(messages) < 2 || messages[0].Cancels() || !messages[len(messages)-1].Cancels() {
			t.Fatalf("%s: messages %+v", wires[i].name, messages)
		}
	}
	if !first[1].Before(first[0]) {
		t.Errorf("the edge was asked at %v, the aggregation at %v", first[0], first[1])
	}
	if *update {
		writeCapture(t, "../captures/hold-two-hops.pcapng", wires, all)
	}
}

// pfcmOf reads a frame that is a PFCM.
func pfcmOf(f fabric.Frame) (p notify.Packet, ok bool) {
	err := p.Parse(f.Data, notify.DefaultCodePoints())
	return p, err == nil && p.Kind == notify.KindPFCM
}

// writeCapture writes frames as pcapng, each wire an interface.
func writeCapture(t *testing.T, path string, wires []*wire, all []crossed) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	section := pcapgo.NgSectionInfo{Application: "sluice tests/e2e TestHoldOverTwoHops"}
	face := func(i int) pcapgo.NgInterface {
		return pcapgo.NgInterface{Name: wires[i].name, LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}
	}
	w, err := pcapgo.NewNgWriterInterface(f, face(0), pcapgo.NgWriterOptions{SectionInfo: section})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(wires) && err == nil; i++ {
		_, err = w.AddInterface(face(i))
	}
	for _, frame := range all {
		if err == nil {
			err = w.WritePacket(gopacket.CaptureInfo{Timestamp: frame.Time, CaptureLength: len(frame.Data), Length: len(frame.Data), InterfaceIndex: frame.wire}, frame.Data)
		}
	}
	if err = cmp.Or(err, w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}
