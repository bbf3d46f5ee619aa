// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

var (
	router6, router4   = netip.MustParseAddr("2001:db8:ff::1"), netip.MustParseAddr("203.0.113.1")
	gateway6, gateway4 = netip.MustParseAddr("2001:db8:ff::9"), netip.MustParseAddr("203.0.113.9")
	source4, sink4     = netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.2.0.2")
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// telling is the switch under test as one that tells gateways and senders, and sends no
// PFCM.
func telling() *Config {
	c := config()
	c.Generate = false
	c.Router6, c.Router4 = router6, router4
	c.PPFC = &PPFC{Gateways: []Gateway{
		{Prefix: netip.MustParsePrefix("2001:db8::/32"), Addrs: []netip.Addr{netip.MustParseAddr("2001:db8:ff::8")}}, {Prefix: netip.MustParsePrefix("2001:db8:a::/48"), Addrs: []netip.Addr{gateway6}},
		{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Addrs: []netip.Addr{gateway4}},
	}}
	return c
}

func advising() *Config {
	c := telling()
	c.PPFC = nil
	c.Advice = &Advice{Hosts: prefixes("2001:db8:a::/48", "10.1.0.0/16"), Target: congestion.Target{Bytes: 100_000, Delay: time.Second, Min: 1},
		Pace: congestion.Pace{Interval: 10 * time.Millisecond, Lifetime: 3}}
	return c
}

// rdmaHead is a packet of a session, cut off as the switch does.
func rdmaHead(t testing.TB, src, dst netip.Addr, qp uint32, bits uint8) (h [sai.FlowHead]byte, n uint8) {
	t.Helper()
	var b []byte
	if src.Is4() {
		b = roce.IPv4Header{TOS: 26 << 2, Protocol: 17, TTL: 64, Src: src.As4(), Dst: dst.As4()}.Append(b)
	} else {
		b = roce.IPv6Header{TrafficClass: 26 << 2, FlowLabel: 0x777, NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(b)
	}
	b = roce.UDPHeader{SrcPort: 0xc123, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCWriteOnly, PKey: 0x8001, DestQP: qp, Resv6: bits}.Append(b)
	b = roce.RETH{Length: 1024}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 1024)...), 0)
	if err != nil {
		t.Fatal(err)
	}
	return h, uint8(copy(h[:], b))
}

// fills tells that a session has so many octets in the queue.
func (f *fake) fills(id uint64, src, dst netip.Addr, qp uint32, octets uint64, mark sai.FlowMark) {
	f.fillsWith(id, src, dst, qp, 0, octets, mark)
}

func (f *fake) fillsWith(id uint64, src, dst netip.Addr, qp uint32, bits uint8, octets uint64, mark sai.FlowMark) {
	f.depth[idOf(queue, id)] = octets
	e := sai.FlowEvent{Queue: queue, InPort: up, Flow: id, Octets: octets, At: f.now, Mark: mark}
	e.Head, e.Length = rdmaHead(f.t, src, dst, qp, bits)
	f.core.event(f.now, arrived(e))
}

func (f *fake) takeTold() []told {
	all := f.told
	f.told = nil
	return all
}

// A congested flow's ingress gateway is told by alarm, stop, hold and resume, over both
// families and transports, with the queue pair once it is learned.
//
//conformance:draft-xz/trigger
func TestGatewayIsToldAsTheFlowFillsAndDrains(t *testing.T) {
	for _, tt := range []struct {
		transport        notify.Transport
		src, dst, router netip.Addr
		gateway          netip.Addr
		byQueue          bool
		priority         uint8
	}{
		{notify.OverICMP, sender, sink, router6, gateway6, false, 26},
		{notify.OverUDP, sender, sink, router6, gateway6, true, 3},
		{notify.OverICMP, source4, sink4, router4, gateway4, false, 26},
		{notify.OverUDP, source4, sink4, router4, gateway4, false, 26},
	} {
		c := telling()
		c.PPFC.Transport, c.PPFC.ByQueue = tt.transport, tt.byQueue
		f := newFake(t, c)
		start := f.now
		f.fills(1, tt.src, tt.dst, 0x99, 85_000, sai.MarkAlarm)
		f.fills(1, tt.src, tt.dst, 0x99, 150_000, sai.MarkHigh)
		f.core.learn(f.now, Learned{Pair: pairOf(tt.src, tt.dst, 0x99), SrcQP: 0x42})
		f.until(start + 30*ms)
		f.depth[idOf(queue, 1)] = 70_000
		f.until(start + 50*ms)
		f.depth[idOf(queue, 1)] = 0
		f.until(start + 70*ms)
		got := f.takeTold()
		want := []struct {
			pt notify.PT
			us uint16
			at int64
			qp uint32
		}{{notify.Alarm, 0, 0, 0}, {notify.Stop, 40_000, 0, 0}, {notify.Stop, 40_000, 20, 0x42}, {notify.Hold, 40_000, 40, 0x42}, {notify.Resume, 0, 60, 0x42}}
		if len(got) != len(want) {
			t.Fatalf("%v from %s: %d messages, want %d: %+v", tt.transport, tt.src, len(got), len(want), got)
		}
		for i, w := range want {
			m, e := got[i].packet.PPFC, got[i].packet.Envelope
			if m.PT != w.pt || m.PauseDuration != w.us || got[i].at != start+w.at*ms {
				t.Errorf("message %d: %v for %d µs at %d ms, want %+v", i, m.PT, m.PauseDuration, (got[i].at-start)/ms, w)
			}
			id := notify.FlowIdentifier{Form: notify.QPs, Protocol: 17, SrcPort: 0xc123, DstPort: 4791, SrcQP: w.qp, DstQP: 0x99}
			if m.Flow != id || m.Source != tt.src || m.Destination != tt.dst || m.RouterID != tt.router || m.Priority != tt.priority {
				t.Errorf("message %d is about %+v", i, m)
			}
			if e.Src != tt.router || e.Dst != tt.gateway || m.Transport != tt.transport {
				t.Errorf("message %d went from %s to %s", i, e.Src, e.Dst)
			}
			if tt.transport == notify.OverUDP && m.CongestionQID != 3 || tt.transport == notify.OverICMP && m.CongestionPort != uint16(down1) {
				t.Errorf("message %d: port %d, queue %d", i, m.CongestionPort, m.CongestionQID)
			}
		}
		if f.core.gateways.Reaction.Count != 1 || f.core.downstream.Reaction.Count != 0 {
			t.Errorf("the reaction is measured %d times, %d as PFCM's", f.core.gateways.Reaction.Count, f.core.downstream.Reaction.Count)
		}
		if f.core.kernel.Counters.PPFCSent != 5 || len(f.sent) != 0 || f.core.detector.Flows() != 0 {
			t.Errorf("counted %d; PFCM %d; %d flows left", f.core.kernel.Counters.PPFCSent, len(f.sent), f.core.detector.Flows())
		}
	}
}

// Each gateway of the longest prefix gets every message, with one time, and only once where two flows ask by
// one key. The send limit is of messages: of six there go four.
//
//conformance:draft-xz/gateways
func TestEachGatewayOfThePrefixIsTold(t *testing.T) {
	second, third := netip.MustParseAddr("2001:db8:ff::5"), netip.MustParseAddr("2001:db8:ff::6")
	c := telling()
	c.PPFC.Gateways[1].Addrs = []netip.Addr{gateway6, second, third}
	f := newFake(t, c)
	start := f.now
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	f.until(start + 30*ms)
	f.depth[idOf(queue, 1)] = 0
	f.until(start + 50*ms)
	type message struct {
		to netip.Addr
		pt notify.PT
		us uint16
		at int64
	}
	var got, want []message
	for _, g := range f.takeTold() {
		if m := g.packet.PPFC; m.Flow.DstQP != 0x99 || m.RouterID != router6 {
			t.Errorf("a message is about %+v", m)
		}
		got = append(got, message{g.packet.Envelope.Dst, g.packet.PPFC.PT, g.packet.PPFC.PauseDuration, (g.at - start) / ms})
	}
	for _, m := range []message{{pt: notify.Stop, us: 40_000}, {pt: notify.Stop, us: 40_000, at: 20}, {pt: notify.Resume, at: 40}} {
		for _, m.to = range []netip.Addr{gateway6, second, third} {
			want = append(want, m)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("told %+v\nwant %+v", got, want)
	}
	if n := f.core.kernel.Counters.PPFCSent; n != 9 || f.core.gateways.Open() != 0 {
		t.Errorf("%d counted, %d requests are open", n, f.core.gateways.Open())
	}

	c.PPFC.Send = Rate{PerSecond: 1, Burst: 4}
	f = newFake(t, c)
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	f.fills(2, sender, sink, 0x98, 150_000, sai.MarkHigh)
	if n := &f.core.kernel.Counters; n.PPFCSent != 4 || n.PPFCPoliced != 2 {
		t.Errorf("%d PPFC sent, %d policed, want 4 and 2", n.PPFCSent, n.PPFCPoliced)
	}

	// This node is one of them: its client is told here, and the others by PPFC.
	c = telling()
	c.PPFC.Gateways[1].Addrs = []netip.Addr{gateway6, router6}
	c.Ingress = &Ingress{Serves: prefixes("2001:db8:a::/48"), Client: ClientCNP, Hosts: prefixes("2001:db8:a::/48")}
	f = newFake(t, c)
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	all := f.takeTold()
	if len(all) != 2 || all[0].packet.Kind != notify.KindCNP || all[0].packet.Envelope.Dst != sender || all[1].packet.Kind != notify.KindPPFC || all[1].packet.Envelope.Dst != gateway6 {
		t.Errorf("as a gateway itself it told %+v", all)
	}
}

func TestGatewayThatIsNotKnownIsCounted(t *testing.T) {
	c := telling()
	f := newFake(t, c)
	f.fills(1, netip.MustParseAddr("2001:db9::1"), sink, 1, 150_000, sai.MarkHigh)
	f.until(f.now + 100*ms)
	if f.core.kernel.Counters.NoGateway != 1 || len(f.told) != 0 {
		t.Errorf("no gateway: %d, told %d", f.core.kernel.Counters.NoGateway, len(f.told))
	}
	c.Router6 = netip.Addr{}
	f = newFake(t, c)
	f.fills(1, sender, sink, 1, 150_000, sai.MarkHigh)
	if f.core.kernel.Counters.NoRouterID != 1 || len(f.told) != 0 {
		t.Errorf("no router id: %d, told %d", f.core.kernel.Counters.NoRouterID, len(f.told))
	}
}

// When the feature goes, or the daemon ends, the gateway is told that it is over.
func TestGatewayIsToldTheEnd(t *testing.T) {
	for name, end := range map[string]func(f *fake){
		"end": func(f *fake) { f.core.end(f.now) },
		"disabled": func(f *fake) {
			c := config()
			c.Router6 = router6
			c.Generate = false
			f.core.configure(f.now, newSettings(c))
		},
	} {
		f := newFake(t, telling())
		f.fills(1, sender, sink, 1, 150_000, sai.MarkHigh)
		f.takeTold()
		end(f)
		if got := f.takeTold(); len(got) != 1 || got[0].packet.PPFC.PT != notify.Resume {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// ppfcFrom gives the core a PPFC that came from an address.
func (f *fake) ppfcFrom(from, to netip.Addr, m notify.PPFC) {
	f.t.Helper()
	if m.RouterID == (netip.Addr{}) {
		m.RouterID = from
	}
	e := notify.DefaultEnvelope(notify.KindPPFC)
	e.Src, e.Dst = from, to
	b, err := m.AppendPacket(nil, &e, f.core.settings.Codes)
	if err != nil {
		f.t.Fatal(err)
	}
	msg := packetio.Message{Port: uint32(up), At: f.now - 30_000}
	msg.Err = msg.Packet.ParseIP(b, f.core.settings.Codes)
	f.core.receiveMessage(f.now, &msg)
}

func ingress(client Client) *Config {
	c := config()
	c.Router6, c.Router4, c.Codes.Figure2 = gateway6, gateway4, true
	c.Ingress = &Ingress{Serves: prefixes("2001:db8:a::/48", "10.1.0.0/16"), Peers: prefixes("2001:db8:ff::/64", "203.0.113.0/24"), Client: client, Hosts: prefixes("2001:db8:a::/48"), MinRate: 2}
	return c
}

func stopOf(src, dst netip.Addr, id notify.FlowIdentifier) notify.PPFC {
	return notify.PPFC{PT: notify.Stop, PauseDuration: 40_000, CongestionPort: 4, Source: src, Destination: dst, Flow: id}
}

var qps = notify.FlowIdentifier{Form: notify.QPs, Protocol: 17, SrcPort: 0xc123, DstPort: 4791, SrcQP: 0x42, DstQP: 0x99}

// tcpHead is a packet of a TCP connection from its IPv6 header on.
func tcpHead(src, dst netip.Addr, srcPort, dstPort uint16) (h [sai.FlowHead]byte, n uint8) {
	h = head(src, dst, 0)
	h[4], h[5], h[6], h[7] = 0, 20, kernel.ProtocolTCP, 64
	binary.BigEndian.PutUint16(h[40:], srcPort)
	binary.BigEndian.PutUint16(h[42:], dstPort)
	return h, 60
}

// A connection that is no RDMA session is named by protocol and ports, and a session in a
// tunnel by the addresses inside, whatever the library gives it by.
//
//conformance:draft-xz/flow-id draft-xz/tcp-quic
func TestPPFCNamesOneFlow(t *testing.T) {
	tcp := sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: 150_000, Mark: sai.MarkHigh}
	tcp.Head, tcp.Length = tcpHead(sender, sink, 5000, 80)
	outer := netip.MustParseAddr("2001:db8:6::1")
	tunnel := sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: 150_000, Mark: sai.MarkHigh, Length: sai.FlowHead, Head: head(outer, outer, 5)}
	tunnel.Session = sai.Session{Protocol: 17, RoCEv2: true, SrcPort: 0xc123, DstPort: 4791, DestQP: 0x99, SrcQP: 0x42, Src: sai.AddressOf(sender), Dst: sai.AddressOf(sink)}
	quic := tcp
	quic.Head[6] = kernel.ProtocolUDP
	binary.BigEndian.PutUint16(quic.Head[42:], 443)
	other := tcp
	other.Head[6] = 50 // ESP
	for name, tt := range map[string]struct {
		e    sai.FlowEvent
		want notify.FlowIdentifier
	}{
		"TCP":                   {tcp, notify.FlowIdentifier{Form: notify.Ports, Protocol: 6, SrcPort: 5000, DstPort: 80}},
		"QUIC":                  {quic, notify.FlowIdentifier{Form: notify.Ports, Protocol: 17, SrcPort: 5000, DstPort: 443}},
		"a session in a tunnel": {tunnel, qps},
		"ESP":                   {other, notify.FlowIdentifier{Form: notify.AllFlows}},
	} {
		f := newFake(t, telling())
		f.depth[idOf(queue, 1)] = 150_000
		f.core.event(f.now, arrived(tt.e))
		got := f.takeTold()
		if len(got) != 1 || got[0].packet.PPFC.Flow != tt.want || got[0].packet.PPFC.Source != sender || got[0].packet.PPFC.Destination != sink {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// A resume ends what its own key asked for: that of a connection leaves the session of the
// same hosts held, and that of all flows leaves both.
//
//conformance:draft-xz/flow-id
func TestResumeEndsItsOwnKeyOnly(t *testing.T) {
	f := newFake(t, ingress(ClientNone))
	tcp := notify.FlowIdentifier{Form: notify.Ports, Protocol: 6, SrcPort: 0xc123, DstPort: 4791}
	udp := notify.FlowIdentifier{Form: notify.Ports, Protocol: 17, SrcPort: 0xc123, DstPort: 4791}
	all := notify.FlowIdentifier{Form: notify.AllFlows}
	ids := []notify.FlowIdentifier{qps, tcp, udp, all}
	for _, id := range ids {
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, id))
	}
	for left := len(ids); left > 0; left-- {
		if len(f.holds) != left {
			t.Fatalf("%d holds, want %d: %+v", len(f.holds), left, f.holds)
		}
		resume := stopOf(sender, sink, ids[left-1])
		resume.PT = notify.Resume
		f.ppfcFrom(router6, gateway6, resume)
	}
	// One word tells messages about the same hosts apart.
	for _, word := range []uint32{7, 8} {
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, notify.FlowIdentifier{Form: notify.OneWord, Word: word}))
	}
	for ended, word := range []uint32{7, 8} {
		resume := stopOf(sender, sink, notify.FlowIdentifier{Form: notify.OneWord, Word: word})
		resume.PT = notify.Resume
		f.ppfcFrom(router6, gateway6, resume)
		if len(f.holds) != 1-ended {
			t.Errorf("after the resume of word %d: %+v", word, f.holds)
		}
	}
	// A protocol without ports names no flow that the switch could find.
	f.ppfcFrom(router6, gateway6, stopOf(sender, sink, notify.FlowIdentifier{Form: notify.Ports, Protocol: 50}))
	if n := f.core.kernel.Counters.PPFCOutcome[enforce.Unknown]; n != 1 || len(f.holds) != 0 {
		t.Errorf("counted %d, holds %+v", n, f.holds)
	}
}

// A gateway holds the flow of a PPFC whichever port it leaves by: by its queue pair, its
// ports, or all of the address pair; resume, hold and expiry end or keep it.
//
//conformance:draft-xz/map-qp draft-xz/duration
func TestGatewayHoldsTheFlowOfAPPFC(t *testing.T) {
	for _, tt := range []struct {
		id   notify.FlowIdentifier
		want sai.HoldMatch
	}{
		{qps, sai.HoldMatch{Kind: sai.HoldSession, Value: 0x99, Src: sender, Dst: sink}},
		{notify.FlowIdentifier{Form: notify.Ports, Protocol: 6, SrcPort: 0xc123, DstPort: 4791}, sai.HoldMatch{Kind: sai.HoldTuple, Protocol: 6, Value: 0xc123<<16 | 4791, Src: sender, Dst: sink}},
		{notify.FlowIdentifier{Form: notify.Ports, Protocol: 17, SrcPort: 0xc123, DstPort: 4791}, sai.HoldMatch{Kind: sai.HoldTuple, Protocol: 17, Value: 0xc123<<16 | 4791, Src: sender, Dst: sink}},
		{notify.FlowIdentifier{Form: notify.AllFlows}, sai.HoldMatch{Kind: sai.HoldPair, Src: sender, Dst: sink}},
		{notify.FlowIdentifier{Form: notify.OneWord, Word: 7}, sai.HoldMatch{Kind: sai.HoldPair, Src: sender, Dst: sink}},
	} {
		f := newFake(t, ingress(ClientNone))
		at := targetOf(sai.Null, tt.want)
		stop := stopOf(sender, sink, tt.id)
		f.ppfcFrom(router6, gateway6, stop)
		if h := f.holds[at]; h.until != f.now+40*ms || h.rate != 0 {
			t.Fatalf("%v: held %+v of %+v", tt.id.Form, h, f.holds)
		}
		if f.core.holder.EnforcedPPFC.Count != 1 || f.core.holder.Enforced.Count != 0 {
			t.Errorf("%d times measured, %d as PFCM", f.core.holder.EnforcedPPFC.Count, f.core.holder.Enforced.Count)
		}
		f.until(f.now + 30*ms)
		hold := stop
		hold.PT = notify.Hold
		f.ppfcFrom(router6, gateway6, hold)
		if h := f.holds[at]; h.until != f.now+40*ms || h.rate != 0 {
			t.Errorf("%v: kept %+v", tt.id.Form, h)
		}
		resume := stop
		resume.PT, resume.PauseDuration, resume.Flow.SrcQP = notify.Resume, 0, 0
		f.ppfcFrom(netip.MustParseAddr("2001:db8:ff::bad"), gateway6, resume)
		if len(f.holds) != 1 {
			t.Errorf("%v: another node's resume ended the hold", tt.id.Form)
		}
		f.ppfcFrom(router6, gateway6, resume)
		if len(f.holds) != 0 {
			t.Errorf("%v: after the resume %+v", tt.id.Form, f.holds)
		}
		f.ppfcFrom(router6, gateway6, stop)
		f.until(f.now + 41*ms)
		if len(f.holds) != 0 || f.core.holder.Len() != 0 {
			t.Errorf("%v: it never expired: %+v", tt.id.Form, f.holds)
		}
	}
}

//conformance:draft-xz/security
func TestGatewayRefusesPPFC(t *testing.T) {
	served := stopOf(sender, sink, qps)
	for name, tt := range map[string]struct {
		from, to netip.Addr
		m        notify.PPFC
		count    func(c *Counters) uint64
	}{
		"of a stranger":                         {netip.MustParseAddr("2001:db8:fe::1"), gateway6, served, func(c *Counters) uint64 { return c.PPFCSender }},
		"to another node":                       {router6, netip.MustParseAddr("2001:db8:ff::7"), served, func(c *Counters) uint64 { return c.PPFCRefused[notify.BadDestination] }},
		"about a source behind another gateway": {router6, gateway6, stopOf(netip.MustParseAddr("2001:db8:b::1"), sink, qps), func(c *Counters) uint64 { return c.PPFCNotServed }},
	} {
		f := newFake(t, ingress(ClientCNP))
		f.ppfcFrom(tt.from, tt.to, tt.m)
		if tt.count(&f.core.kernel.Counters) != 1 || len(f.holds) != 0 || len(f.told) != 0 {
			t.Errorf("%s: counters %+v, holds %d, told %d", name, f.core.kernel.Counters, len(f.holds), len(f.told))
		}
	}
	c := ingress(ClientNone)
	c.Ingress = nil
	f := newFake(t, c)
	f.ppfcFrom(router6, gateway6, served)
	if f.core.kernel.Counters.PPFCOff != 1 || len(f.holds) != 0 {
		t.Errorf("switched off: %+v", f.core.kernel.Counters)
	}
	c = ingress(ClientNone)
	c.Ingress.Receive = Rate{PerSecond: 10, Burst: 3}
	f = newFake(t, c)
	for range 10 {
		f.ppfcFrom(router6, gateway6, served)
	}
	if f.core.kernel.Counters.PPFCReceivePoliced != 7 || f.core.kernel.Counters.PPFCOutcome[enforce.Held] != 1 || f.core.kernel.Counters.PPFCOutcome[enforce.Refreshed] != 2 {
		t.Errorf("policed: %+v", f.core.kernel.Counters)
	}
}

// The client of a gateway is told in RoCEv2 form, where its queue pair is known.
//
//conformance:draft-xz/rocev2 draft-zz/near-source draft-zz/remote
func TestGatewayTellsTheClient(t *testing.T) {
	c := ingress(ClientCNP)
	c.Ingress.Hosts = prefixes("2001:db8:b::/48")
	f := newFake(t, c)
	f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
	if told := f.takeTold(); len(told) != 0 || f.core.kernel.Counters.CNPNotAllowed != 1 || len(f.holds) != 1 {
		t.Errorf("a client that is not listed: %d messages, %d not allowed, %d holds", len(told), f.core.kernel.Counters.CNPNotAllowed, len(f.holds))
	}
	for _, client := range []Client{ClientNone, ClientRateAdvice, ClientCNP} {
		c := ingress(client)
		c.Advice = &Advice{Hosts: c.Ingress.Hosts}
		f := newFake(t, c)
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
		unknown := qps
		unknown.SrcQP, unknown.DstQP = 0, 0x98
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, unknown))
		got := f.takeTold()
		if client == ClientNone {
			if len(got) != 0 {
				t.Errorf("told %+v", got)
			}
			continue
		}
		if len(got) != 1 || got[0].packet.Envelope.Src != gateway6 || got[0].packet.Envelope.Dst != sender || f.core.kernel.Counters.ClientQPUnknown != 1 {
			t.Fatalf("client %d: told %+v, unknown %d", client, got, f.core.kernel.Counters.ClientQPUnknown)
		}
		p := &got[0].packet
		switch client {
		case ClientRateAdvice:
			if m := p.RateAdvice; p.Kind != notify.KindRateAdvice || m.Rate != 2 || m.DestQP != 0x42 || m.DestinationQP != 0x42 || m.SourceQP != 0x99 {
				t.Errorf("%+v", m)
			}
		case ClientCNP:
			if p.Kind != notify.KindCNP || p.CNP.DestQP != 0x42 {
				t.Errorf("%+v", p.CNP)
			}
		}
	}
}

// The client of a gateway is advised as other senders are: where Rate Advice is on, and the list or
// the bit of its packets allows it; with the P_Key of these, as the queue pair and from the address
// that are configured.
//
//conformance:draft-zz/capable
func TestClientIsAdvisedAsOthers(t *testing.T) {
	seen := Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42, SrcPort: 0xc123, PKey: 0x8001, Bits: 2}
	for name, tt := range map[string]struct {
		advice *Advice
		seen   bool
		want   bool
	}{
		"Rate Advice is off":   {nil, true, false},
		"not listed":           {&Advice{Hosts: prefixes("2001:db8:b::/48")}, true, false},
		"the bit is not known": {&Advice{Mask: 2}, false, false},
		"another bit":          {&Advice{Mask: 1}, true, false},
		"the bit":              {&Advice{Mask: 2}, true, true},
		"listed":               {&Advice{Hosts: prefixes("2001:db8:a::/48"), Copy: true, Receiver: true}, true, true},
	} {
		c := ingress(ClientRateAdvice)
		c.Advice = tt.advice
		f := newFake(t, c)
		if tt.seen {
			f.core.learn(f.now, seen)
		}
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
		got := f.takeTold()
		if len(got) == 1 != tt.want || (f.core.kernel.Counters.AdviceNotAllowed == 0) != tt.want {
			t.Errorf("%s: %d messages, counted %d", name, len(got), f.core.kernel.Counters.AdviceNotAllowed)
		}
		if !tt.want || len(got) != 1 {
			continue
		}
		qp, from := uint32(0x42), gateway6
		if tt.advice.Copy {
			qp, from = 0x99, sink
		}
		if p := got[0].packet; p.RateAdvice.PKey != 0x8001 || p.RateAdvice.DestinationQP != qp || p.Envelope.Src != from {
			t.Errorf("%s: %+v from %v", name, p.RateAdvice, p.Envelope.Src)
		}
	}
}

// PPFC has limits of its own: those of PFCM neither end its holds nor stop what is sent, and
// what ends a hold is always sent. Messages to senders have one together.
func TestLimitsAreOfTheirKind(t *testing.T) {
	c := ingress(ClientCNP)
	c.HoldLimit, c.Ingress.HoldLimit = 50*time.Millisecond, 150*time.Millisecond
	c.SendClient = Rate{PerSecond: 1, Burst: 2}
	f := newFake(t, c)
	start := f.now
	for f.now < start+140*ms {
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
		f.until(f.now + 20*ms)
		if len(f.holds) != 1 {
			t.Fatalf("not held after %d ms", (f.now-start)/ms)
		}
	}
	f.until(start + 151*ms)
	if n := &f.core.kernel.Counters; len(f.holds) != 0 || n.PPFCWatchdog != 1 || n.Watchdog != 0 || n.CNPSent != 2 || n.CNPPoliced != 5 {
		t.Errorf("holds %v; %+v", f.holds, n)
	}
	r := newReport()
	f.core.fill(f.now, r)
	if len(r.Holds) != 1 || !r.Holds[0].Ignored || r.Holds[0].Source != sender || r.Holds[0].Destination != sink || r.Holds[0].Match.Value != qps.DstQP {
		t.Errorf("the ignored hold is reported as %+v", r.Holds)
	}
	c = telling()
	c.Send, c.PPFC.Send = Rate{PerSecond: 1, Burst: 1}, Rate{PerSecond: 1, Burst: 3}
	f = newFake(t, c)
	for id := range uint64(5) {
		f.fills(id+1, sender, sink, uint32(0x90+id), 150_000, sai.MarkHigh)
	}
	if n := &f.core.kernel.Counters; n.PPFCSent != 3 || n.PPFCPoliced != 2 {
		t.Errorf("%d PPFC sent, %d policed", n.PPFCSent, n.PPFCPoliced)
	}
}

// A node that is its flows' ingress gateway itself tells the client at once.
func TestOwnGatewayTellsTheClient(t *testing.T) {
	c := telling()
	c.PPFC.Gateways = []Gateway{{Prefix: netip.MustParsePrefix("2001:db8:a::/48"), Addrs: []netip.Addr{router6}}}
	c.Ingress = &Ingress{Serves: prefixes("2001:db8:a::/48"), Client: ClientCNP, Hosts: prefixes("2001:db8:a::/48")}
	f := newFake(t, c)
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	got := f.takeTold()
	if len(got) != 1 || got[0].packet.Kind != notify.KindCNP || got[0].packet.CNP.DestQP != 0x42 || got[0].packet.CNP.PKey != 0x8001 || got[0].packet.Envelope.Dst != sender {
		t.Errorf("told %+v", got)
	}
}

// A stop of a connection (17, 50001, 4791) holds it, and stops the client by the message to each known
// queue pair whose packets have it.
//
//conformance:draft-xz/map-qp draft-xz/rocev2
func TestConnectionIsMappedToItsQueuePairs(t *testing.T) {
	tuple := notify.FlowIdentifier{Form: notify.Ports, Protocol: 17, SrcPort: 50001, DstPort: 4791}
	for _, client := range []Client{ClientRateAdvice, ClientCNP} {
		c := ingress(client)
		c.Advice = &Advice{Hosts: c.Ingress.Hosts}
		f := newFake(t, c)
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, tuple))
		if n := f.core.kernel.Counters.ClientQPUnknown; n != 1 || len(f.takeTold()) != 0 {
			t.Errorf("before any packet: counted %d", n)
		}
		for i := range uint32(2) {
			f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x98+i), SrcQP: 0x41 + i, SrcPort: 50001, PKey: 0x8001})
		}
		f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x97), SrcQP: 0x40, SrcPort: 50002, PKey: 0x8001})
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, tuple))
		got := map[uint32]uint32{} // queue pairs in the BTH
		for _, m := range f.takeTold() {
			switch p := &m.packet; {
			case p.Kind == notify.KindRateAdvice && client == ClientRateAdvice:
				if p.RateAdvice.PKey != 0x8001 || p.RateAdvice.Rate != 2 || p.Envelope.SrcPort != 50001 {
					t.Errorf("advised %+v", p.RateAdvice)
				}
				got[p.RateAdvice.DestQP] = p.RateAdvice.SourceQP
			case p.Kind == notify.KindCNP && client == ClientCNP:
				got[p.CNP.DestQP] = 0
			default:
				t.Errorf("client %d: told %v", client, p.Kind)
			}
		}
		want := map[uint32]uint32{0x41: 0x98, 0x42: 0x99}
		if client == ClientCNP {
			want = map[uint32]uint32{0x41: 0, 0x42: 0}
		}
		if !maps.Equal(got, want) {
			t.Errorf("client %d: told %#x, want %#x", client, got, want)
		}
		at := targetOf(sai.Null, sai.HoldMatch{Kind: sai.HoldTuple, Protocol: 17, Value: 50001<<16 | 4791, Src: sender, Dst: sink})
		if _, ok := f.holds[at]; !ok || f.core.kernel.Counters.ClientQPUnknown != 1 {
			t.Errorf("holds %+v, unknown %d", f.holds, f.core.kernel.Counters.ClientQPUnknown)
		}
		other := tuple
		other.SrcPort = 50002
		f.ppfcFrom(router6, gateway6, stopOf(sender, sink, other))
		if all := f.takeTold(); len(all) != 1 || all[0].packet.RateAdvice.DestQP+all[0].packet.CNP.DestQP != 0x40 {
			t.Errorf("client %d: of the connection (17, 50002, 4791) told %+v, want queue pair 0x40", client, all)
		}
	}
}

// A resume frees a stopped client: Rate Advice of the fastest port's speed, or of its policy. A CNP has no
// end, and a resume of a flow that is not held is nothing to the client.
//
//conformance:draft-xz/client-resume
func TestResumeReachesTheClient(t *testing.T) {
	for name, tt := range map[string]struct {
		client   Client
		policies []congestion.Policy
		want     []uint32
	}{
		"Rate Advice":   {ClientRateAdvice, nil, []uint32{2, 100_000}},
		"with a policy": {ClientRateAdvice, []congestion.Policy{{DSCP: -1, Rate: 40}}, []uint32{2, 40}},
		"CNP":           {ClientCNP, nil, []uint32{0}},
	} {
		c := ingress(tt.client)
		c.Advice = &Advice{Hosts: c.Ingress.Hosts, Policies: tt.policies}
		f := newFake(t, c)
		resume := stopOf(sender, sink, qps)
		resume.PT, resume.PauseDuration = notify.Resume, 0
		for _, m := range []notify.PPFC{resume, stopOf(sender, sink, qps), resume, resume} {
			f.ppfcFrom(router6, gateway6, m)
		}
		var got []uint32
		for _, m := range f.takeTold() {
			got = append(got, m.packet.RateAdvice.Rate)
		}
		if tt.client == ClientCNP && len(got) == 1 {
			got[0] = 0
		}
		if !slices.Equal(got, tt.want) || f.core.kernel.Counters.ClientQPUnknown != 0 {
			t.Errorf("%s: rates %v, want %v", name, got, tt.want)
		}
	}
}
