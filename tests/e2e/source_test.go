// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const (
	wanDelay   = 10 * time.Millisecond // one way
	ownQP      = 0x42                  // that the flows are sent from
	elephantQP = 0x77
	victimQP   = 0x78
	stopUs     = 60_000 // for which far asks
)

// gateway is a switch of the WAN as [leaf], with a Redis of its own: its hosts at
// LeafA, the other gateway at its only uplink.
func gateway(t testing.TB, w *fabric.WAN, i int) *leaf {
	t.Helper()
	memory := filepath.Join(t.TempDir(), "sluiced.json")
	shape := &fabric.LeafSpine{A: w.Sender, LeafA: w.Host[i], Uplinks: w.Between[i : i+1], B: w.Receiver, Leaf: w.Gateways[i]}
	l := &leaf{LeafSpine: shape, t: t, log: &logged{}, memory: memory}
	var err error
	if l.redis, err = privateredis.Start(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.redis.Stop)
	databases, err := sonicdb.Load(l.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &l.config, "STATE_DB": &l.state, "COUNTERS_DB": &l.countersDB, "APPL_DB": &l.appl} {
		if *db, err = sonicdb.Open(databases, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	l.ports()
	l.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[i].String())
	l.witness()
	t.Cleanup(func() {
		if t.Failed() {
			counts, _ := l.countersDB.Read(context.Background(), "SLUICE_NOTIFY_STATS") // the test has failed anyway
			t.Logf("%s counts %v; its sluiced wrote:\n%s", w.Gateways[i].Name, counts, l.log)
		}
	})
	return l
}

// newWAN is sender – near – [10 ms] – far – receiver: far has an egress of some Mbit/s and
// tells near by PPFC, near tells the sender. Neither runs yet.
func newWAN(t testing.TB, ppfc ...string) (w *fabric.WAN, near, far *leaf) {
	t.Helper()
	for _, file := range []string{"sluiced", "libsoftsai.so"} {
		if _, err := os.Stat(bin + file); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	t.TempDir() // made before the fabric, so that all are removed after sluiced has ended
	w, err := fabrictest.New(t).WAN(wanDelay)
	fabrictest.Check(t, err)
	near, far = gateway(t, w, 0), gateway(t, w, 1)
	far.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000", "duration_us", fmt.Sprint(stopUs))
	far.set("SLUICE_PORT", far.LeafA.Name, "role", "edge", "threshold", "gold")
	for _, l := range []*leaf{near, far} {
		l.set("SLUICE_PPFC", "global", append([]string{"admin_state", "enabled"}, ppfc...)...)
		l.set("SLUICE_PPFC_GATEWAY", fabric.HostA.Masked().String(), "gateway", fabric.WANRouters[0].String())
	}
	near.set("SLUICE_PPFC_PEER", fabric.WANRouters[1].String()+"/128", "NULL", "NULL")
	return w, near, far
}

// startWAN starts both, far with a slow egress.
func startWAN(near, far *leaf, mbps, queueBytes int) {
	near.t.Helper()
	// What waited comes at twice the rate of the egress: for a round trip of that there is room.
	near.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=%d", near.Uplinks[0].Name, 2*mbps))
	far.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=%d", far.LeafA.Name, mbps),
		"--sai-profile", fmt.Sprintf("SLUICE_QUEUE_BYTES=1000000,%s=%d", far.LeafA.Name, queueBytes))
	for _, l := range []*leaf{near, far} {
		l.awaitFields("SLUICE_STATE", "global", "ppfc", "active")
		l.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "exact", "hold_method", "exact", "hold_state", "active")
	}
}

// datagram is packet number n to a queue pair; it names the queue pair that it is from.
func (l *leaf) datagram(qp uint32, n int) []byte { l.t.Helper(); return l.datagramOf(qp, n, 0xffff) }

// datagramOf is one with a partition key.
func (l *leaf) datagramOf(qp uint32, n int, pkey uint16) []byte {
	l.t.Helper()
	return l.datagramWith(roce.BTH{PKey: pkey, DestQP: qp, PSN: uint32(n)})
}

// datagramWith is one with fields of the base transport header.
func (l *leaf) datagramWith(bth roce.BTH) []byte {
	l.t.Helper()
	bth.Opcode = roce.UDSendOnly
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{FlowLabel: bth.DestQP, NextHeader: 17, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = bth.Append(b)
	b = roce.DETH{QKey: 1, SrcQP: ownQP}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 512)...), ip)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// TestPPFCHoldsAtTheIngressGateway: a flow that fills a queue 10 ms away is held at the
// ingress gateway, over ICMP and UDP, and its sender told; every packet arrives, in order.
// tshark and scapy read every message that was on the link and at the sender.
//
//conformance:draft-xz/icmp draft-xz/rocev2 draft-xz/trigger draft-xz/map-qp draft-zz/near-source draft-zz/remote
//conformance:draft-xz/priority draft-xz/port draft-xz/duration draft-zz/dest-qp
func TestPPFCHoldsAtTheIngressGateway(t *testing.T) {
	for transport, client := range map[string]string{"icmp": "rate-advice", "udp": "cnp"} {
		t.Run(transport, func(t *testing.T) {
			if transport == "udp" {
				soakOnly(t)
			}
			w, near, far := newWAN(t, "transport", transport, "client_message", client)
			for _, l := range []*leaf{near, far} { // near tells clients alone
				l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "target_delay_us", "1000000", "min_rate_mbps", "1")
				l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
			}
			startWAN(near, far, 5, 1_000_000)
			far.awaitFields("SLUICE_STATE", "global", "rate_advice", "active")
			captures := []*fabric.Capture{}
			for _, at := range []*fabric.Interface{w.Receiver, w.Between[0], w.Sender} {
				c, err := at.Capture()
				if err != nil {
					t.Fatal(err)
				}
				captures = append(captures, c)
			}
			sender, err := w.Sender.Sender()
			if err != nil {
				t.Fatal(err)
			}
			defer sender.Close()
			n := 0
			send := func(packets int) {
				for range packets {
					if err := sender.Send(near.datagram(elephantQP, n)); err != nil {
						t.Fatal(err)
					}
					n++
				}
			}
			const half = 400 // of 610 octets: 390 ms at 5 Mbit/s
			send(half)
			for deadline := time.Now().Add(patience); near.notified("ppfc", "held") == 0 || far.notified("rate-advice", "sent") == 0; time.Sleep(poll) {
				if time.Now().After(deadline) {
					t.Fatalf("after %d packets near holds the flow: %d, far advised its sender: %d; %s", n,
						near.notified("ppfc", "held"), far.notified("rate-advice", "sent"), far.notifiedAll("ppfc"))
				}
				send(2) // as many as leave: on a busy machine it takes longer than the queue lasts
			}
			send(half) // while the flow is held, or is about to be
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := captures[0].Wait(ctx, n); err != nil {
				t.Errorf("%d of %d packets arrived", captures[0].Len(), n)
			}
			for message, l := range map[string]*leaf{client: near, "ppfc": far} {
				l.awaitNotified(message, "sent", 1)
			}
			far.awaitNotified("ppfc", "reaction_us_n", 1)
			near.awaitNotified("ppfc", "enforce_us_n", 1)
			for deadline := time.Now().Add(patience); len(near.table("SLUICE_HOLD")) > 0 || far.congested() > 0; time.Sleep(poll) {
				if time.Now().After(deadline) {
					t.Fatalf("left: holds %v, flows %v", near.table("SLUICE_HOLD"), far.table("SLUICE_FLOW"))
				}
			}
			var all [3][]fabric.Frame
			for i, c := range captures {
				if all[i], err = c.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			near.inOrder(all[0], n)
			checkSourceMessages(t, append(slices.Clone(all[1]), all[2]...), far.LeafA.Index)
			seen := readByTools(t, notifications(append(all[1], all[2]...)))
			for _, kind := range []string{"ppfc/" + transport, client, "rate-advice"} {
				if seen[kind] == 0 {
					t.Errorf("no %s was on the wire: %v", kind, seen)
				}
			}
		})
	}
}

// checkSourceMessages checks what messages say of the flow of the test, which has DSCP 0 and
// leaves by a port of far.
func checkSourceMessages(t *testing.T, frames []fabric.Frame, port int) {
	t.Helper()
	for _, f := range frames {
		var p notify.Packet
		if p.Parse(f.Data, notify.DefaultCodePoints()) != nil {
			continue
		}
		switch m, a := p.PPFC, p.RateAdvice; {
		case p.Kind == notify.KindRateAdvice && (a.DestQP != ownQP || a.DestinationQP != ownQP || a.SourceQP != elephantQP):
			t.Errorf("Rate Advice to queue pair %#x: %+v", ownQP, a)
		case p.Kind != notify.KindPPFC:
		case m.Priority != 0, m.Transport == notify.OverICMP && m.CongestionPort != uint16(port), m.PT == notify.Stop && m.PauseDuration != stopUs:
			t.Errorf("PPFC of port %d: %+v", port, m)
		}
	}
}

// notifications are those of the frames; the others are what hosts say of their own.
func notifications(frames []fabric.Frame) []fabric.Frame {
	var p notify.Packet
	return slices.DeleteFunc(frames, func(f fabric.Frame) bool {
		return errors.Is(p.Parse(f.Data, notify.DefaultCodePoints()), notify.ErrNotNotification)
	})
}

// TestPPFCThatIsNotObeyedIsCounted sends PPFC to a gateway that it must not obey, each with
// its reason, and floods it; the hold of the true node stays, and another node's resume
// does not end it.
//
//conformance:draft-xz/security
func TestPPFCThatIsNotObeyedIsCounted(t *testing.T) {
	soakOnly(t)
	w, near, _ := newWAN(t, "rx_rate", "50", "rx_burst", "20")
	near.set("SLUICE_PPFC_PEER", "2001:db8:ff::3/128", "NULL", "NULL")
	near.start("--sai-profile", withQueues)
	near.awaitFields("SLUICE_STATE", "global", "ppfc", "active")
	sender, err := w.Between[1].Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	true1, other, stranger := fabric.WANRouters[1], netip.MustParseAddr("2001:db8:ff::3"), netip.MustParseAddr("2001:db8:fe::1")
	flow := notify.FlowIdentifier{Form: notify.QPs, Protocol: unix.IPPROTO_UDP, SrcPort: 49152, DstPort: roce.UDPPort, SrcQP: ownQP, DstQP: elephantQP}
	message := func(pt notify.PT, from, source netip.Addr) *notify.PPFC {
		return &notify.PPFC{PT: pt, PauseDuration: 65_535, Source: source, Destination: fabric.HostB.Addr(), RouterID: from, Flow: flow}
	}
	send := func(m *notify.PPFC, from netip.Addr, change func([]byte) []byte) {
		t.Helper()
		e := notify.DefaultEnvelope(notify.KindPPFC)
		e.Src, e.Dst = from, fabric.WANRouters[0]
		e.SrcMAC, e.DstMAC = roce.MAC(w.Between[1].MAC), roce.MAC(w.Between[0].MAC)
		b, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			b = change(b)
		}
		if err := sender.Send(b); err != nil {
			t.Fatal(err)
		}
	}
	held := func() bool { return len(near.table("SLUICE_HOLD")) == 1 }
	for _, tt := range []struct {
		counter string
		send    func()
	}{
		{"dropped_sender", func() { send(message(notify.Stop, stranger, fabric.HostA.Addr()), stranger, nil) }},
		{"dropped_not_served", func() { send(message(notify.Stop, true1, netip.MustParseAddr("2001:db8:77::1")), true1, nil) }},
		{"dropped_flow_length", func() {
			m := message(notify.Stop, true1, fabric.HostA.Addr())
			m.Flow = notify.FlowIdentifier{Form: notify.Ports, Protocol: unix.IPPROTO_UDP, SrcPort: 49152, DstPort: roce.UDPPort}
			send(m, true1, fiveOctets)
		}},
		{"dropped_one_word", func() {
			m := message(notify.Stop, true1, fabric.HostA.Addr())
			m.Flow = notify.FlowIdentifier{Form: notify.OneWord, Word: 7}
			send(m, true1, nil)
		}},
		{"dropped_checksum", func() {
			send(message(notify.Stop, true1, fabric.HostA.Addr()), true1, func(b []byte) []byte { b[60] ^= 1; return b })
		}},
	} {
		tt.send()
		near.awaitNotified("ppfc", tt.counter, 1)
		if held() {
			t.Errorf("%s: the gateway holds %v", tt.counter, near.table("SLUICE_HOLD"))
		}
	}
	// What is obeyed holds; a resume by another peer is of another key.
	for deadline := time.Now().Add(patience); !held(); time.Sleep(poll) {
		send(message(notify.Stop, true1, fabric.HostA.Addr()), true1, nil)
		if time.Now().After(deadline) {
			t.Fatal("PPFC of the true node is not obeyed")
		}
	}
	refreshed := near.notified("ppfc", "refreshed") // and not obeyed: no packet matches the hold here
	for deadline := time.Now().Add(patience); near.notified("ppfc", "refreshed") <= refreshed+1; time.Sleep(poll) {
		send(message(notify.Stop, true1, fabric.HostA.Addr()), true1, nil)
		send(message(notify.Resume, other, fabric.HostA.Addr()), other, nil)
		if time.Now().After(deadline) {
			t.Fatal("nothing is obeyed any more")
		}
	}
	for key, row := range near.table("SLUICE_HOLD") {
		if row["from"] != true1.String() {
			t.Errorf("%s is held by %v", key, row)
		}
	}
	// A flood of a true peer is policed.
	for range 500 {
		send(message(notify.Stop, true1, fabric.HostA.Addr()), true1, nil)
	}
	near.awaitNotified("ppfc", "dropped_policed", 1)
	if n := near.notified("ppfc", "full"); n != 0 {
		t.Errorf("%d found no room", n)
	}
}

// fiveOctets cuts a PPFC over ICMPv6 with ports, so that 5 octets of its Flow Identifier
// are left, and makes lengths and checksum right.
func fiveOctets(b []byte) []byte {
	b = b[:len(b)-3]
	const ip, icmp = 14, 14 + 40
	plen := len(b) - icmp
	binary.BigEndian.PutUint16(b[ip+4:], uint16(plen))
	b[icmp+2], b[icmp+3] = 0, 0
	pseudo := append(append([]byte(nil), b[ip+8:icmp]...), 0, 0, byte(plen>>8), byte(plen), 0, 0, 0, unix.IPPROTO_ICMPV6)
	binary.BigEndian.PutUint16(b[icmp+2:], roce.Checksum(0, append(pseudo, b[icmp:]...)))
	return b
}

// sendUntilTheEnd sends a flow of some 30 Mbit/s that ignores all notifications until the test ends.
func (l *leaf) sendUntilTheEnd(qp uint32) (sent *atomic.Int64) {
	l.t.Helper()
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	l.t.Cleanup(func() { stop(); wg.Wait(); _ = sender.Close() })
	sent = new(atomic.Int64)
	wg.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; <-tick.C {
			for range 6 {
				if sender.Send(l.datagram(qp, n)) != nil {
					return
				}
				n++
				sent.Store(int64(n))
			}
		}
	})
	return sent
}

// TestGatewayKilledWhileItHolds: with its process the gateway's hold ends, so the flow goes
// on; the process that follows holds it again as soon as the congested node repeats itself.
func TestGatewayKilledWhileItHolds(t *testing.T) {
	w, near, far := newWAN(t)
	startWAN(near, far, 5, 1_000_000)
	near.sendUntilTheEnd(elephantQP)
	near.awaitNotified("ppfc", "held", 1)
	near.sluiced.Kill()
	before, err := w.Receiver.Counters()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		now, err := w.Receiver.Counters()
		if err != nil {
			t.Fatal(err)
		}
		if now.RxPackets > before.RxPackets+300 { // more than far's queue had
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("without its process the gateway still holds the flow")
		}
	}
	near.start("--sai-profile", withQueues)
	for deadline := time.Now().Add(patience); near.row("SLUICE_STATE", "global")["ppfc"] != "active" || near.notified("ppfc", "held") == 0; time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("the new process holds nothing: %v", near.row("SLUICE_STATE", "global"))
		}
	}
}

// TestSenderThatIgnoresAdvice: it fills its hold at the ingress gateway, and no queue:
// another flow that goes through the same queues loses nothing.
func TestSenderThatIgnoresAdvice(t *testing.T) {
	soakOnly(t)
	w, near, far := newWAN(t, "client_message", "rate-advice")
	near.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled")
	near.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	startWAN(near, far, 20, 600_000)
	c, err := w.Receiver.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sent := near.sendUntilTheEnd(elephantQP)
	near.awaitNotified("ppfc", "held", 1)
	near.awaitNotified("rate-advice", "sent", 1)
	sender, err := w.Sender.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	const victims = 200
	for n := range victims {
		if err := sender.Send(near.datagram(victimQP, n)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // the pace of its application
	}
	held := near.notified("ppfc", "obeyed")
	arrived := func() (n int, elephants int) {
		for _, f := range c.Frames() {
			var p roce.Packet
			if p.Parse(f.Data, len(f.Data)) != nil {
				continue
			}
			if p.DestQP() == victimQP {
				n++
			} else {
				elephants++
			}
		}
		return n, elephants
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		n, elephants := arrived()
		if n == victims {
			t.Logf("the victim lost nothing; of the elephant's %d packets %d arrived; %d PPFC were obeyed", sent.Load(), elephants, held)
			return
		}
		if time.Now().After(deadline) {
			q, _ := far.LeafA.Queue()
			t.Fatalf("%d of the victim's %d packets arrived; queue %+v", n, victims, q)
		}
	}
}
