// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// Queue pairs of the two hosts of a connection.
const connectedA, connectedB = 0x1a, 0x1b

// across is a frame from one host of the WAN to the other, whose gateway is at the other end of its link.
func (l *leaf) across(from *fabric.Interface, forward bool, qp, psn uint32, op roce.Opcode, headers func([]byte) []byte) []byte {
	l.t.Helper()
	src, dst := fabric.HostA.Addr(), fabric.HostB.Addr()
	if !forward {
		src, dst = dst, src
	}
	b := roce.Ethernet{Dst: roce.MAC(from.Peer().MAC), Src: roce.MAC(from.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: op, PKey: 0xffff, DestQP: qp, PSN: psn, AckReq: op == roce.RCSendOnly}.Append(b)
	if headers != nil {
		b = headers(b)
	}
	b, err := roce.Finish(b, ip)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// answer answers at once what arrives, as an adapter and the software that sets up connections do,
// until ctx ends.
func (l *leaf) answer(ctx context.Context, at *fabric.Interface, forward bool) {
	l.t.Helper()
	capture, err := at.Capture()
	if err != nil {
		l.t.Fatal(err)
	}
	sender := l.sender(at)
	done := make(chan struct{})
	l.t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		var frames []fabric.Frame
		for seen := 0; capture.Wait(ctx, seen+1) == nil; seen++ {
			if seen == len(frames) {
				frames = capture.Frames()
			}
			var p roce.Packet
			f := frames[seen]
			if p.Parse(f.Data, len(f.Data)) != nil {
				continue
			}
			m, managed := p.CM()
			var back []byte
			switch {
			case managed && m.Attribute == roce.CMReq:
				rep := roce.CM{Attribute: roce.CMRep, LocalCommID: m.LocalCommID + 1, RemoteCommID: m.LocalCommID, LocalQPN: connectedB}
				back = l.across(at, forward, 1, 0, roce.UDSendOnly, rep.Append)
			case managed && m.Attribute == roce.CMRep:
				rtu := roce.CM{Attribute: roce.CMRtu, LocalCommID: m.RemoteCommID, RemoteCommID: m.LocalCommID}
				back = l.across(at, forward, 1, 0, roce.UDSendOnly, rtu.Append)
			case p.AckReq():
				back = l.across(at, forward, connectedA, p.PSN(), roce.RCAck, roce.AETH{}.Append)
			default:
				continue
			}
			if err := sender.Send(back); err != nil {
				l.t.Error(err)
			}
		}
	}()
}

// Two switches with 10 ms between them measure the hosts at both ends, each from where it is: by
// answers, and by messages of RDMA-CM where only those pass; advice goes by the time to the farthest
// sender, and a configured time that is far off is named.
func TestRoundTripsToHostsAreMeasured(t *testing.T) {
	soakOnly(t)
	_, near, far := newWAN(t)
	for _, l := range []*leaf{near, far} {
		l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled")
		l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	}
	startWAN(near, far, 100, 1_000_000)
	ctx, cancel := context.WithCancel(t.Context())
	near.answer(ctx, near.A, true)
	near.answer(ctx, near.B, false)
	t.Cleanup(cancel)
	sender, psn, id := near.sender(near.A), uint32(1), uint32(100)
	exchange := func() {
		req := roce.CM{Attribute: roce.CMReq, LocalCommID: id, LocalQPN: connectedA, StartingPSN: psn}
		near.put(sender, near.across(near.A, true, 1, 0, roce.UDSendOnly, req.Append))
		id += 2
		for range 20 {
			near.put(sender, near.across(near.A, true, connectedB, psn, roce.RCSendOnly, nil))
			psn++
		}
	}
	// The time is the second least one: it falls to that of the path, and never below it.
	measured := func(l *leaf, host netip.Addr, from string, least time.Duration) {
		t.Helper()
		var is time.Duration
		l.soon("the round trip to "+host.String(), func() bool {
			exchange()
			row := l.row("SLUICE_HOST", host.String())
			us, _ := strconv.ParseFloat(row["rtt_us"], 64)
			samples, _ := strconv.Atoi(row["samples"])
			if is = time.Duration(us * 1000); row["rtt_from"] != from || samples < 2 {
				return false
			}
			if is < least {
				t.Errorf("%s: %s is %v away, and the delay is %v", l.Leaf.Name, host, is, least)
			}
			return is <= least+wanDelay
		})
		t.Logf("%s: %s by %s: %v", l.Leaf.Name, host, from, is)
	}
	a, b := fabric.HostA.Addr(), fabric.HostB.Addr()
	measured(near, b, "answer", 2*wanDelay)
	measured(far, b, "answer", 0)
	measured(near, a, "cm", 0)
	measured(far, a, "cm", 2*wanDelay)
	far.awaitFields("SLUICE_STATE", "global", "rtt_us", "32768")
	far.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "rtt_us", "1000")
	far.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		exchange()
		return f["rtt_us"] == "1000" && strings.Contains(f["warnings"], "the farthest host that is measured, "+a.String())
	})
}

// The round trip to a host is measured without any row of sampling beside connections that are busy:
// far more packets pass than the switch gives to the CPU, and one of 16 is answered.
func TestRoundTripsOfBusyConnectionsAreMeasured(t *testing.T) {
	soakOnly(t)
	const (
		rate  = 5000 // packets a second, more than the switch gives to the CPU
		every = 16   // of them is answered
		lasts = 6 * time.Second
	)
	_, near, far := newWAN(t)
	near.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled")
	near.set("SLUICE_RATE_ADVICE_HOST", fabric.HostB.Masked().String(), "NULL", "NULL")
	startWAN(near, far, 1000, 1_000_000)
	ctx, cancel := context.WithCancel(t.Context())
	near.answer(ctx, near.B, false)
	t.Cleanup(cancel)
	s := near.sender(near.A)
	frames := map[bool][]byte{}
	for _, asks := range []bool{false, true} {
		op := roce.RCSendMiddle
		if asks {
			op = roce.RCSendOnly
		}
		frames[asks] = near.across(near.A, true, connectedB, 0, op, nil)
	}
	begin, measured, samples := time.Now(), time.Duration(0), 0
	for n := 0; time.Since(begin) < lasts; {
		for ; n < int(min(time.Since(begin), lasts).Seconds()*rate); n++ {
			f := frames[n%every == 0]
			at := len(f) - 4 - 3 // of the BTH, octets 9 to 11
			f[at], f[at+1], f[at+2] = byte(n>>16), byte(n>>8), byte(n)
			near.put(s, f)
		}
		time.Sleep(time.Millisecond)
		row := near.row("SLUICE_HOST", fabric.HostB.Addr().String())
		if samples, _ = strconv.Atoi(row["samples"]); samples > 0 && measured == 0 {
			measured = time.Since(begin)
		}
	}
	row := near.row("SLUICE_HOST", fabric.HostB.Addr().String())
	t.Logf("%d packets/s: first seen after %v, %d samples in %v, %s us by %s", rate, measured.Round(10*time.Millisecond), samples, lasts, row["rtt_us"], row["rtt_from"])
	us, _ := strconv.ParseFloat(row["rtt_us"], 64)
	if is := time.Duration(us * 1000); row["rtt_from"] != "answer" || is < 2*wanDelay || is > 3*wanDelay {
		t.Errorf("the host is %v away by %q, and the delay is %v", is, row["rtt_from"], 2*wanDelay)
	}
	near.awaitFields("SLUICE_STATE", "global", "rtt_us", "32768")
}
