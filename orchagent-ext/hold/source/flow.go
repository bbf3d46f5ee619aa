// SPDX-License-Identifier: Apache-2.0

package source

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/hold/dcqcn"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

const (
	maxFlows = 4096
	// maxOfTarget bounds the work for one message, where flows share a Stream ID or their hosts.
	maxOfTarget = 256
	recent      = time.Second // a flow is slowed if it had a packet within it when the hold began
	sweepEvery  = 100 * time.Millisecond
)

// seen is a flow of which packets came to the CPU lately.
type seen struct {
	learned kernel.Learned
	stream  uint16 // as it leaves; 0: it is not IPv6
	next    [numLists]*seen
	at      int64 // of its last packet, when it came to this task
	rate    meter // bit/s at which it arrives
	slowed  slowed
	passed  passed
}

// slowed is the state of a flow towards its sender.
type slowed struct {
	until   int64 // ns; 0: it is not slowed
	rate    uint64
	steer   dcqcn.Steer
	advised int64 // when its sender was advised last
	ignores bool  // counted as one whose sender ignores CNPs
	counted bool  // as one whose sender cannot be slowed

	due   int64 // of the next message
	place int
}

// passed is the state of a flow towards the neighbor that it comes from.
type passed struct {
	to    *kernel.Port // that PFCM about it was passed to; nil: none was
	last  notify.PFCM
	until int64 // as far as that asked
}

// When implements [clock.Timed].
func (f *seen) When() int64 { return f.slowed.due }

// Place implements [clock.Timed].
func (f *seen) Place() *int { return &f.slowed.place }

// matches returns the matches of holds that a flow may be under: those of its path by PFCM,
// then those of its session by PPFC.
func (f *seen) matches() [4]sai.HoldMatch {
	l := &f.learned
	return [...]sai.HoldMatch{
		{Kind: sai.HoldStream, Value: uint32(f.stream), Src: l.Packet.Src, Dst: l.Packet.Dst},
		{Kind: sai.HoldPair, Src: l.Packet.Src, Dst: l.Packet.Dst},
		{Kind: sai.HoldSession, Src: l.Src, Dst: l.Dst, Value: l.DestQP},
		{Kind: sai.HoldTuple, Src: l.Src, Dst: l.Dst, Protocol: kernel.ProtocolUDP, Value: uint32(l.SrcPort)<<16 | roce.UDPPort},
	}
}

// isOf reports whether a flow is one of a target's. A target of a port has only flows that are
// known to leave by it.
func (f *seen) isOf(t kernel.Target) bool {
	if t.Port != sai.Null && f.learned.Packet.Out != t.Port || t.Match.Kind == sai.HoldStream && f.stream == 0 {
		return false
	}
	for _, m := range f.matches() {
		if m == t.Match {
			return true
		}
	}
	return false
}

// pathStream returns the Stream ID of a packet's path; 0: it is not IPv6.
func pathStream(seed uint32, p *kernel.Packet) uint16 {
	if !p.Src.Is6() || !p.Dst.Is6() {
		return 0
	}
	return flow.HashStreamID(seed, p.Src.As16(), p.Dst.As16(), p.Label)
}

// Lists of flows in [flows]; each has its next element in the flow.
const (
	byStream = iota
	byHosts
	numLists
)

// flows are those that were seen lately, by pair, by Stream ID and by hosts.
type flows struct {
	byPair  map[kernel.Pair]*seen
	streams map[uint16]*seen           // lists
	hosts   map[kernel.Addresses]*seen // lists, by the addresses of the session
	free    []*seen
	swept   int64
}

// newFlows returns an empty set with all its memory.
func newFlows() flows {
	s := flows{byPair: make(map[kernel.Pair]*seen, maxFlows), streams: make(map[uint16]*seen, maxFlows), hosts: make(map[kernel.Addresses]*seen, maxFlows)}
	all := make([]seen, maxFlows)
	for i := range all {
		s.free = append(s.free, &all[i])
	}
	return s
}

// add returns a new flow, after those are forgotten that are idle; nil: there is no room.
func (s *flows) add(now int64, l *kernel.Learned) *seen {
	if len(s.free) == 0 && now-s.swept >= int64(sweepEvery) {
		s.swept = now
		s.sweep(now)
	}
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	f := s.free[last]
	s.free = s.free[:last]
	*f = seen{}
	s.byPair[l.Pair] = f
	enlist(s.hosts, kernel.Addresses{Src: l.Src, Dst: l.Dst}, f, byHosts)
	enlist(s.streams, 0, f, byStream)
	return f
}

// sweep forgets flows that are idle.
func (s *flows) sweep(now int64) {
	for pair, f := range s.byPair {
		if f.slowed.until == 0 && now-f.at > int64(recent) {
			delist(s.streams, f.stream, f, byStream)
			delist(s.hosts, kernel.Addresses{Src: pair.Src, Dst: pair.Dst}, f, byHosts)
			delete(s.byPair, pair)
			s.free = append(s.free, f)
		}
	}
}

// setStream sets the Stream ID of a flow.
func (s *flows) setStream(f *seen, stream uint16) {
	if stream != f.stream {
		delist(s.streams, f.stream, f, byStream)
		enlist(s.streams, stream, f, byStream)
		f.stream = stream
	}
}

// first returns the first flow that may be of a target, and the list of the others.
func (s *flows) first(m *sai.HoldMatch) (f *seen, list int) {
	if m.Kind == sai.HoldStream {
		return s.streams[uint16(m.Value)], byStream
	}
	return s.hosts[kernel.Addresses{Src: m.Src, Dst: m.Dst}], byHosts
}

// enlist adds a flow to those with a key.
func enlist[K comparable](lists map[K]*seen, k K, f *seen, list int) {
	f.next[list], lists[k] = lists[k], f
}

// delist removes a flow from those with a key.
func delist[K comparable](lists map[K]*seen, k K, f *seen, list int) {
	first, next := lists[k], f.next[list]
	switch {
	case first != f:
		for first.next[list] != f {
			first = first.next[list]
		}
		first.next[list] = next
	case next != nil:
		lists[k] = next
	default:
		delete(lists, k)
	}
	f.next[list] = nil
}

// Settings are those of holds at senders.
type Settings struct {
	Hosts    []netip.Prefix // who may be slowed; others get nothing
	Advise   bool           // by Rate Advice where that is configured and allowed; else by CNPs
	Receiver bool           // the IP source of CNPs is the flow's receiver; otherwise the router id
}

// Slows reports whether a flow may be held at its sender, or passed on to a neighbor; false for
// nil settings.
func (s *Settings) Slows(ports *kernel.Ports, l *kernel.Learned) bool {
	if s == nil {
		return false
	}
	p := ports.Of(l.Packet.In)
	return p != nil && (!p.Edge || kernel.Within(s.Hosts, l.Src))
}
