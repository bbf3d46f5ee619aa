// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// stream is a flow of the load from host A to host B that sends at a constant rate.
type stream struct {
	qp, label uint32
	four      bool    // over IPv4
	mbps      float64 // of Ethernet frames
	size      int     // octets of payload
	sent      int
}

// load is what host A sends until it is ended.
type load struct {
	l       *leaf
	capture *fabric.Capture
	streams []*stream
	stop    atomic.Bool
	done    sync.WaitGroup
	err     error
}

// load begins to send streams, paced by a thread of real-time priority.
func (l *leaf) load(streams ...*stream) *load {
	l.t.Helper()
	c, err := l.B.Capture()
	if err != nil {
		l.t.Fatal(err)
	}
	ld := &load{l: l, capture: c, streams: streams}
	sender := l.sender(l.A)
	ld.done.Go(func() {
		fabric.GoFirst()
		begin := time.Now()
		var frames [][]byte
		for _, s := range streams {
			frames = append(frames, l.streamFrame(s))
		}
		tick := unix.NsecToTimespec(int64(200 * time.Microsecond))
		for !ld.stop.Load() && ld.err == nil {
			now := time.Now()
			for i, s := range streams {
				due := int(s.mbps * 1e6 / 8 * now.Sub(begin).Seconds() / float64(len(frames[i])))
				for s.sent < due && ld.err == nil {
					f := frames[i]
					psn := uint32(s.sent)
					at := len(f) - 4 - s.size - 3 // of the BTH, octets 9 to 11
					f[at], f[at+1], f[at+2] = byte(psn>>16), byte(psn>>8), byte(psn)
					s.sent++
					ld.err = sender.Send(f)
				}
			}
			_ = unix.Nanosleep(&tick, nil)
		}
	})
	return ld
}

// streamFrame is a packet of a stream. The PSN, and so the ICRC, is written over.
func (l *leaf) streamFrame(s *stream) []byte {
	l.t.Helper()
	etherType := uint16(roce.EtherTypeIPv6)
	if s.four {
		etherType = roce.EtherTypeIPv4
	}
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: etherType}.Append(nil)
	ip := len(b)
	if s.four {
		b = roce.IPv4Header{TTL: 64, Protocol: 17, Src: fabric.HostA4.Addr().As4(), Dst: fabric.HostB4.Addr().As4()}.Append(b)
	} else {
		b = roce.IPv6Header{FlowLabel: s.label, NextHeader: 17, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
	}
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: s.qp}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, s.size)...), ip)
	if err != nil {
		panic(err)
	}
	return b
}

// end stops the load, and returns how many packets of each stream arrived after one with a higher PSN.
func (ld *load) end() map[*stream]int {
	ld.l.t.Helper()
	ld.stop.Store(true)
	ld.done.Wait()
	if ld.err != nil {
		ld.l.t.Fatal(ld.err)
	}
	frames, err := ld.capture.Stop()
	if err != nil {
		ld.l.t.Fatal(err)
	}
	reordered, highest := map[uint32]int{}, map[uint32]uint32{} // by queue pair
	var p roce.Packet
	for _, f := range frames {
		if p.Parse(f.Data, len(f.Data)) != nil {
			continue
		}
		if p.PSN() < highest[p.DestQP()] {
			reordered[p.DestQP()]++
		}
		highest[p.DestQP()] = max(highest[p.DestQP()], p.PSN())
	}
	all := map[*stream]int{}
	for _, s := range ld.streams {
		all[s] = reordered[s.qp]
	}
	return all
}
