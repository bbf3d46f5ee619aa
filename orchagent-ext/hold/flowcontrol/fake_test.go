// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

const ms = int64(time.Millisecond)

// Ports of the switch under test: up and other lead to switches, host to a host, edge is
// a border's; down is a PortChannel of two.
const (
	up sai.ObjectID = iota + 1
	other
	host
	borderPort
	down1
	down2
	queue sai.ObjectID = 100 // of down1
)

func link(n byte) netip.Addr { return netip.AddrFrom16([16]byte{0xfe, 0x80, 15: n}) }

var (
	sender, sink = netip.MustParseAddr("2001:db8:a::1"), netip.MustParseAddr("2001:db8:b::2")
	errFake      = errors.New("fake")
)

// config is the switch under test: ports have their object id as index, ::n is the
// address of port n and ::1n that of its neighbor.
func config() *Config {
	p := func(name string, notify, border bool, members ...sai.ObjectID) Port {
		n := byte(members[0])
		return Port{Name: name, Members: members, Index: uint32(n), MAC: roce.MAC{2, 5: n}, Self: link(n), Neighbor: link(0x10 + n),
			Speed: 100_000, Notify: notify, Border: border}
	}
	return &Config{
		Generate: true, Obey: true, Codes: notify.DefaultCodePoints(), Seed: 7, HoldLimit: 400 * time.Millisecond,
		Ports: []Port{p("up", true, false, up), p("other", true, false, other), p("host", false, false, host), p("border", true, true, borderPort), p("down", true, false, down1, down2)},
		Queues: map[sai.ObjectID]Queue{queue: {Port: down1, Name: "down", Number: 3, Threshold: congestion.Threshold{
			High: 100_000, Low: 50_000, Action: notify.Pause, Duration: 40 * time.Millisecond}}},
	}
}

// fake is a switch and a network, and their time.
type fake struct {
	t       testing.TB
	now     int64
	core    *traced
	depth   map[flowID]uint64
	holds   map[target]hold
	asked   []call
	match   map[target]sai.HoldState
	sent    []sent
	told    []told // routed messages
	drops   bool   // what is sent gets lost, and the sender is told
	gone    map[sai.ObjectID]bool
	room    int                                 // holds that the switch has room for; 0: any number
	silent  bool                                // the switch and the network remember nothing
	drained bool                                // the switch has no octets of any flow; where it is silent
	count   func(target) (sai.HoldState, error) // what a hold has counted; nil: as match has it
}

// The names of flows, targets and pairs, as tests write them.
type (
	flowID = kernel.FlowID
	target = kernel.Target
)

func idOf(queue sai.ObjectID, flow uint64) flowID { return flowID{Queue: queue, Flow: flow} }

func targetOf(port sai.ObjectID, m sai.HoldMatch) target { return target{Port: port, Match: m} }

func pairOf(src, dst netip.Addr, qp uint32) Pair { return Pair{Src: src, Dst: dst, DestQP: qp} }

type hold struct {
	until int64
	rate  uint64
}

type call struct {
	target
	d    time.Duration
	rate uint64
}

type sent struct {
	port  uint32
	to    netip.Addr
	at    int64
	pfcm  notify.PFCM
	pfc   *notify.PFC
	frame bool
	// its flow was paused here: the message asks for no more than that
	paused bool
}

// newFake returns a switch and its flow control, whose trace has to be the recorded one.
func newFake(t testing.TB, c *Config) *fake {
	f := newUntraced(t)
	f.core.trace = traces.of(t)
	f.core.trace.core = f.core.core
	f.core.configure(f.now, newSettings(c))
	return f
}

// newRandom returns a switch that a test drives by chance, and that has no trace therefore.
func newRandom(t testing.TB, c *Config) *fake {
	f := newUntraced(t)
	f.core.configure(f.now, newSettings(c))
	return f
}

func newUntraced(t testing.TB) *fake {
	f := &fake{t: t, now: ms, depth: map[flowID]uint64{}, holds: map[target]hold{}, match: map[target]sai.HoldState{}, gone: map[sai.ObjectID]bool{}}
	f.core = &traced{core: newCore(f, f, func() int64 { return f.now })}
	return f
}

// silence has the switch and the network remember nothing, and ends the trace.
func (f *fake) silence() {
	f.silent = true
	if f.core.trace != nil {
		f.core.trace.core, f.core.trace = nil, nil
	}
}

func (f *fake) ReadFlowEvents([]sai.FlowEvent) (int, uint64) { return 0, 0 }

func (f *fake) GetFlow(q sai.ObjectID, id uint64) (sai.FlowState, error) {
	if f.silent && f.drained {
		return sai.FlowState{}, sai.ErrNotFound
	}
	if f.silent {
		return sai.FlowState{Flow: id, Octets: 150_000}, nil
	}
	d := f.depth[idOf(q, id)]
	if d == 0 {
		return sai.FlowState{}, sai.ErrNotFound
	}
	return sai.FlowState{Flow: id, Octets: d, At: f.now}, nil
}

func (f *fake) SetHold(port sai.ObjectID, m sai.HoldMatch, d time.Duration, rate uint64) error {
	if f.silent {
		return nil
	}
	t := targetOf(port, m)
	if f.gone[port] {
		f.core.trace.hold(t, d, rate, errFake)
		return errFake
	}
	if _, ok := f.holds[t]; f.room != 0 && d != 0 && !ok && len(f.holds) >= f.room {
		f.core.trace.hold(t, d, rate, sai.ErrNoRoom)
		return sai.ErrNoRoom
	}
	f.core.trace.hold(t, d, rate, nil)
	f.asked = append(f.asked, call{t, d, rate})
	if d == 0 {
		delete(f.holds, t)
	} else {
		f.holds[t] = hold{f.now + int64(d), rate}
	}
	return nil
}

func (f *fake) GetHold(port sai.ObjectID, m sai.HoldMatch) (sai.HoldState, error) {
	if f.silent {
		return sai.HoldState{Octets: 1000, Packets: 1}, nil
	}
	if f.count != nil {
		return f.count(targetOf(port, m))
	}
	s, ok := f.match[targetOf(port, m)]
	if !ok {
		return s, sai.ErrNotFound
	}
	return s, nil
}

func (f *fake) Send(port uint32, to netip.Addr, packet []byte) error {
	if f.silent {
		return nil
	}
	f.core.trace.line("  send %d %v %x %v", port, to, packet, f.drops)
	if f.drops {
		return errFake
	}
	var p notify.Packet
	if err := p.ParseIP(packet, f.core.settings.Codes); err != nil || p.Kind != notify.KindPFCM {
		f.t.Fatalf("sent %x: %v", packet, err)
	}
	h, held := f.holds[onStream(down1, p.PFCM.StreamID)]
	f.sent = append(f.sent, sent{port: port, to: to, at: f.now, pfcm: p.PFCM, paused: held && h.until > f.now && h.rate == 0})
	return nil
}

func (f *fake) SendFrame(port uint32, frame []byte) error {
	if f.silent {
		return nil
	}
	f.core.trace.line("  frame %d %x", port, frame)
	var p notify.Packet
	if err := p.Parse(frame, f.core.settings.Codes); err != nil || p.Kind != notify.KindPFC {
		f.t.Fatalf("sent %x: %v", frame, err)
	}
	pfc := p.PFC
	f.sent = append(f.sent, sent{port: port, at: f.now, pfc: &pfc, frame: true})
	return nil
}

// told is a message that was routed.
type told struct {
	at     int64
	packet notify.Packet
}

func (f *fake) Route(packet []byte) error {
	if f.silent {
		return nil
	}
	f.core.trace.line("  route %x %v", packet, f.drops)
	if f.drops {
		return errFake
	}
	x := told{at: f.now}
	if err := x.packet.ParseIP(packet, f.core.settings.Codes); err != nil {
		f.t.Fatalf("routed %x: %v", packet, err)
	}
	f.told = append(f.told, x)
	return nil
}

// head is a packet of a flow from its IPv6 header on.
func head(src, dst netip.Addr, label uint32) (h [sai.FlowHead]byte) {
	binary.BigEndian.PutUint32(h[:], 6<<28|label)
	s, d := src.As16(), dst.As16()
	copy(h[8:], s[:])
	copy(h[24:], d[:])
	return h
}

// arrived gives an event the arrival of a packet that this switch changes nothing of.
func arrived(e sai.FlowEvent) *sai.FlowEvent {
	a := &e.Arrival
	switch h := e.Head[:]; {
	case e.Length >= 40 && h[0]>>4 == 6:
		word := binary.BigEndian.Uint32(h)
		*a = sai.Arrival{Known: true, TrafficClass: uint8(word >> 20), FlowLabel: word & 0xfffff,
			Src: sai.AddressOf(netip.AddrFrom16([16]byte(h[8:]))), Dst: sai.AddressOf(netip.AddrFrom16([16]byte(h[24:])))}
	case e.Length >= 20 && h[0]>>4 == 4:
		*a = sai.Arrival{Known: true, TrafficClass: h[1], Src: sai.AddressOf(netip.AddrFrom4([4]byte(h[12:]))), Dst: sai.AddressOf(netip.AddrFrom4([4]byte(h[16:])))}
	}
	return &e
}

// event tells that a flow with a label has so many octets in the queue.
func (f *fake) event(id uint64, in sai.ObjectID, label uint32, octets uint64, mark sai.FlowMark) {
	f.depth[idOf(queue, id)] = octets
	f.core.event(f.now, arrived(sai.FlowEvent{Queue: queue, InPort: in, Flow: id, Octets: octets, At: f.now - 50_000, Mark: mark,
		Length: sai.FlowHead, Head: head(sender, sink, label)}))
}

// whileDown does something while the port to the neighbor at up has no address, as where its link is down.
func (f *fake) whileDown(do func()) {
	f.now += ms
	down := config()
	down.Ports[0].Self = netip.Addr{}
	f.core.configure(f.now, newSettings(down))
	do()
	f.now += ms
	f.core.configure(f.now, newSettings(config()))
}

// until lets time pass, and does what is due in between.
func (f *fake) until(to int64) {
	for n := 0; ; n++ {
		at := f.core.next()
		if at > to {
			break
		}
		if n > 1_000_000 {
			f.t.Fatalf("due without end at %d", at)
		}
		f.now = max(f.now, at)
		f.end()
		f.core.step(f.now)
	}
	f.now = to
	f.end()
}

// end ends the holds that are over, as the switch does.
func (f *fake) end() {
	for t, h := range f.holds {
		if h.until <= f.now {
			delete(f.holds, t)
		}
	}
}

// receive takes a PFCM that came in by a port from its neighbor.
func (f *fake) receive(port sai.ObjectID, m notify.PFCM) { f.from(port, link(0x10+byte(port)), m) }

func (f *fake) from(port sai.ObjectID, from netip.Addr, m notify.PFCM) {
	msg := f.message(port, from, m)
	f.core.receiveMessage(f.now, &msg)
}

// message is a PFCM that came in by a port from an address.
func (f *fake) message(port sai.ObjectID, from netip.Addr, m notify.PFCM) packetio.Message {
	if m.Source == (netip.Addr{}) {
		m.Source, m.Destination = sender, sink
	}
	e := notify.DefaultEnvelope(notify.KindPFCM)
	e.Src, e.Dst, e.HopLimit = from, link(byte(port)), 255
	b, err := m.AppendPacket(nil, &e, f.core.settings.Codes)
	if err != nil {
		f.t.Fatal(err)
	}
	msg := packetio.Message{Port: uint32(port), At: f.now - 20_000}
	msg.Err = msg.Packet.ParseIP(b, f.core.settings.Codes)
	return msg
}

func pause(stream uint16, us uint16) notify.PFCM {
	return notify.PFCM{StreamID: stream, QueueID: 3, Action: notify.Pause, Time: us}
}

func streamOf(label uint32) uint16 { return flow.HashStreamID(7, sender.As16(), sink.As16(), label) }

func onStream(port sai.ObjectID, stream uint16) target {
	return targetOf(port, sai.HoldMatch{Kind: sai.HoldStream, Value: uint32(stream), Src: sender, Dst: sink})
}

// take returns what was sent since the last call.
func (f *fake) take() []sent {
	all := f.sent
	f.sent = nil
	return all
}

// messagesOf are messages of every outcome.
func messagesOf(t testing.TB, f *fake) (all []packetio.Message) {
	for i, change := range []func(e *notify.Envelope, m *notify.PFCM){
		func(*notify.Envelope, *notify.PFCM) {},
		func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID = 10 },
		func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID, m.Action = 11, notify.Reduce(30) },
		func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID, m.Action, m.Time = 10, notify.Cancel, 0 },
		func(e *notify.Envelope, _ *notify.PFCM) { e.HopLimit = 64 },
		func(e *notify.Envelope, _ *notify.PFCM) { e.Src = link(0x77) },
	} {
		e, m := notify.DefaultEnvelope(notify.KindPFCM), pause(uint16(20+i), 40_000)
		e.Src, e.Dst, m.Source, m.Destination = link(0x11), link(1), sender, sink
		change(&e, &m)
		b, err := m.AppendPacket(nil, &e, f.core.settings.Codes)
		if err != nil {
			t.Fatal(err)
		}
		msg := packetio.Message{Port: uint32(up), At: 1}
		msg.Err = msg.Packet.ParseIP(b, f.core.settings.Codes)
		all = append(all, msg)
	}
	return all
}
