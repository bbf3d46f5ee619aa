// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
)

// ppfcTimes are the parts of the time from a flow that passes its mark at gateway 2 to its
// hold at gateway 1, in µs.
type ppfcTimes struct {
	// Reaction: mark passed → PPFC sent, as gateway 2 counts
	Reaction latency `json:"reaction"`
	// Link: PPFC sent → received, by the kernel's time stamps
	Link latency `json:"link"`
	// Enforce: PPFC received → held, as gateway 1 counts
	Enforce latency `json:"enforce"`
	P99     float64 `json:"p99"` // sum of the three 99th percentiles
}

// Spans of the measurement of delays: more notifications give steadier quantiles.
const (
	timingSpan     = 8 * time.Second
	timingSpanFull = 32 * time.Second
)

// timing sends flows in bursts, so that they pass the mark one after the other, and
// measures how long it takes until they are held.
func (w *wan) timing(ctx context.Context, full bool) (times ppfcTimes, err error) {
	a := w.adapter()
	// The sender here may be late. A sender with real-time priority would starve
	// other threads; the kernel gives those 50 ms now and then, for which all
	// real-time threads wait, those of the switches too.
	a.Realtime = false
	for i := range uint32(pairFlows) {
		// Together they offer less than the slow egress carries.
		f := wanFlow(pairQP+i, pairQP+0x100+i, slowMbps*1_000_000*9/10/pairFlows)
		f.Burst = pairBurst
		a.Flows = append(a.Flows, f)
	}
	_, slow := w.slow(wanTiming)
	p := &playing{
		senders: []sending{{w.Sender, a}}, receivers: []*fabric.Interface{w.Receiver}, qps: qps(pairQP, pairFlows), answers: answersOf(a.Flows),
		ports: []*fabric.Interface{slow}, span: min(w.span, timingSpan),
	}
	if full {
		p.span = timingSpanFull
	}
	var out, in []int64 // when PPFC left, and arrived
	taps := []*tap{
		{at: w.Between[1], filter: onlyPPFC, each: func(at int64, outgoing bool, _ []byte) {
			if outgoing {
				out = append(out, at)
			}
		}},
		{at: w.Between[0], filter: onlyPPFC, each: func(at int64, outgoing bool, _ []byte) {
			if !outgoing {
				in = append(in, at)
			}
		}},
	}
	for _, t := range taps {
		if err := t.open(); err != nil {
			return times, err
		}
		defer func() { err = errors.Join(err, unix.Close(t.fd)) }()
		p.beside = append(p.beside, t.record)
	}
	err = w.during(ctx, wanTiming, func(ctx context.Context, planes [2]*plane) error {
		if _, err := p.play(ctx); err != nil {
			return err
		}
		if len(in) != len(out) {
			return fmt.Errorf("%d PPFC were sent, and %d arrived", len(out), len(in))
		}
		var link []int64
		for i := range in {
			link = append(link, in[i]-out[i])
		}
		times.Link = latencyOf(link)
		for _, part := range []struct {
			to    *latency
			from  *plane
			field string
		}{{&times.Reaction, planes[1], "reaction_us"}, {&times.Enforce, planes[0], "enforce_us"}} {
			if err := part.to.read(ctx, part.from, "ppfc", part.field); err != nil {
				return err
			}
		}
		return nil
	})
	times.P99 = times.Reaction.P99 + times.Link.P99 + times.Enforce.P99
	return times, err
}

// latencyOf sums up times in ns.
func latencyOf(ns []int64) latency {
	slices.Sort(ns)
	of := func(p float64) float64 { return percentile(ns, p) / 1000 }
	return latency{P50: of(.5), P99: of(.99), P999: of(.999), Max: of(1), N: len(ns)}
}

// read reads a latency that flow control measured.
func (l *latency) read(ctx context.Context, p *plane, message, name string) error {
	row, err := field(ctx, p.counters, "SLUICE_NOTIFY_STATS", message)
	if err != nil {
		return err
	}
	for suffix, to := range map[string]*float64{"_p50": &l.P50, "_p99": &l.P99, "_p999": &l.P999, "_max": &l.Max} {
		// 0 where it was not measured
		*to, _ = strconv.ParseFloat(row[name+suffix], 64)
	}
	l.N, _ = strconv.Atoi(row[name+"_n"])
	return nil
}

// A tap passes the frames at an interface that a filter accepts to a function, with the
// kernel's time in ns since 1970. The frame is valid until the next call.
type tap struct {
	at     *fabric.Interface
	filter []bpf.Instruction
	each   func(at int64, outgoing bool, frame []byte)
	fd     int
}

// onlyPPFC lets ICMPv6 of PPFC's type through.
var onlyPPFC = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 20, Size: 1},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: 3},
	bpf.LoadAbsolute{Off: 54, Size: 1},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(notify.DefaultCodePoints().PPFCTypeV6), SkipTrue: 1},
	bpf.RetConstant{Val: 1 << 16},
	bpf.RetConstant{Val: 0},
}

// open opens the socket; frames wait there until they are recorded.
func (t *tap) open() (err error) {
	if t.fd, err = t.at.PacketSocket(unix.ETH_P_ALL); err != nil {
		return err
	}
	if err = attach(t.fd, t.filter); err == nil {
		err = unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}
	if err == nil {
		err = unix.SetsockoptInt(t.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, tapBuffer)
	}
	return err
}

// tapBuffer is room for frames that are read late, octets as the kernel counts them.
const tapBuffer = 16 << 20

// record passes frames on until ctx ends. It is for [playing] beside the traffic, and sends no
// message.
func (t *tap) record(ctx context.Context) (int, error) {
	frame, control := make([]byte, 1<<14), make([]byte, 128)
	for {
		n, nControl, _, from, err := unix.Recvmsg(t.fd, frame, control, unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			if link, ok := from.(*unix.SockaddrLinklayer); ok {
				t.each(nic.Timestamp(control[:nControl]), link.Pkttype == unix.PACKET_OUTGOING, frame[:n])
			}
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if ctx.Err() != nil {
				return 0, nil
			}
			ts := unix.NsecToTimespec(int64(20 * time.Millisecond))
			// the loop asks again
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}}, &ts, nil)
		default:
			return 0, fmt.Errorf("record at %s of %s: %w", t.at.Name, t.at.Node.Name, err)
		}
	}
}
