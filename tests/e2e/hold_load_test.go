// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
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
	until     time.Duration

	sent []time.Time // by PSN
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

// verdict is what became of a stream.
type verdict struct {
	sent, arrived, reordered int
	lost                     []time.Time // when the lost packets were sent
	times                    []time.Time // of the arrivals
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
				elapsed := now.Sub(begin)
				if s.until != 0 {
					elapsed = min(elapsed, s.until)
				}
				due := int(s.mbps * 1e6 / 8 * elapsed.Seconds() / float64(len(frames[i])))
				for len(s.sent) < due && ld.err == nil {
					f := frames[i]
					psn := uint32(len(s.sent))
					at := len(f) - 4 - s.size - 3 // of the BTH, octets 9 to 11
					f[at], f[at+1], f[at+2] = byte(psn>>16), byte(psn>>8), byte(psn)
					s.sent = append(s.sent, time.Now())
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

// end stops the load, waits until the fabric is quiet, and judges each stream by PSN.
func (ld *load) end() map[*stream]verdict {
	ld.l.t.Helper()
	ld.stop.Store(true)
	ld.done.Wait()
	if ld.err != nil {
		ld.l.t.Fatal(ld.err)
	}
	for n := -1; n != ld.capture.Len(); time.Sleep(500 * time.Millisecond) {
		n = ld.capture.Len()
	}
	frames, err := ld.capture.Stop()
	if err != nil {
		ld.l.t.Fatal(err)
	}
	byQP := map[uint32][]fabric.Frame{}
	psns := map[uint32][]uint32{}
	var p roce.Packet
	for _, f := range frames {
		if p.Parse(f.Data, len(f.Data)) == nil {
			byQP[p.DestQP()] = append(byQP[p.DestQP()], f)
			psns[p.DestQP()] = append(psns[p.DestQP()], p.PSN())
		}
	}
	verdicts := map[*stream]verdict{}
	for _, s := range ld.streams {
		v := verdict{sent: len(s.sent)}
		there := make([]bool, len(s.sent))
		highest := -1
		for i, psn := range psns[s.qp] {
			there[psn] = true
			v.arrived++
			v.times = append(v.times, byQP[s.qp][i].Time)
			if int(psn) < highest {
				v.reordered++
			}
			highest = max(highest, int(psn))
		}
		for psn, ok := range there {
			if !ok {
				v.lost = append(v.lost, s.sent[psn])
			}
		}
		slices.SortFunc(v.lost, time.Time.Compare)
		verdicts[s] = v
	}
	return verdicts
}

func (v verdict) String() string {
	return fmt.Sprintf("%d sent, %d arrived, %d lost, %d reordered", v.sent, v.arrived, len(v.lost), v.reordered)
}
