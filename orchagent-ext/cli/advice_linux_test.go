// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

// TestAdviceListenTellsTheRateThatHolds: two nodes advise about one queue pair; the
// lowest rate holds until it expires, and a CNP, which any node may send, is told at once. What has a wrong ICRC, another version, the rate
// 0, another receiver or a sender who may not advise changes nothing and is counted.
//
//conformance:draft-zz/sender draft-zz/cnp-first draft-zz/security
func TestAdviceListenTellsTheRateThatHolds(t *testing.T) {
	p := fabrictest.Pair(t)
	w := newWorld(t, p.A, p.B)
	cmd := exec.Command(w.Program, "advise", "listen", "--json", "--lifetime", "2s", "--count", "5", "--for", "3m", "--from", "2001:db8::/32")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	process, err := p.B.Node.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	says := bufio.NewScanner(stderr)
	if !says.Scan() || !strings.HasPrefix(says.Text(), "listening") {
		t.Fatalf("it says %q", says.Text())
	}
	sender, err := p.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	var frames [][]byte // sent at once, lest the first advice expires before the last one comes
	send := func(m notify.Message, src string, change func([]byte)) {
		t.Helper()
		frame := adviceFrame(t, p, m, src)
		if change != nil {
			change(frame)
		}
		frames = append(frames, frame)
	}
	advice := notify.RateAdvice{PKey: 0xffff, DestQP: 0x17, DestinationQP: 0x17, SourceQP: 0x11, Rate: 5000, Version: 1}
	low := advice
	low.Rate = 1
	send(low, "2001:db8::1", func(b []byte) { b[len(b)-1] ^= 1 })
	send(low, "2001:db8::1", func(b []byte) { body(t, b, 4, 2) }) // version 2
	send(low, "2001:db8::1", func(b []byte) { body(t, b, 0, 0) }) // rate 0
	send(low, "fd00::1", nil)                                     // not in --from
	send(low, "2001:db8::1", func(b []byte) { b[24+14] ^= 0xff }) // to another host
	send(advice, "2001:db8::1", nil)                              // holds: 5000
	send(advice, "2001:db8::1", nil)                              // a refresh: nothing to say
	advice.Rate = 2000
	send(advice, "2001:db8::2", nil) // holds: 2000
	advice.Rate = 1500
	send(advice, "2001:db8::2", nil) // holds: 1500
	cnp := notify.CNP{PKey: 0xffff, DestQP: 0x17}
	send(cnp, "fd00::1", func(b []byte) { b[len(b)-1] ^= 1 })
	send(cnp, "fd00::1", nil) // 1500 holds, and does not rise
	send(cnp, "fd00::1", nil) // nothing to say
	for _, frame := range frames {
		if err := sender.Send(frame); err != nil {
			t.Fatal(err)
		}
	}

	var got []advisedRate
	decoder := json.NewDecoder(stdout)
	for range 5 {
		var r advisedRate
		if err := decoder.Decode(&r); err != nil {
			t.Fatalf("after %+v: %v", got, err)
		}
		got = append(got, r)
	}
	summary := ""
	for says.Scan() {
		summary += says.Text()
	}
	if err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint32{5000, 2000, 1500, 1500} {
		if got[i].Mbps != want || got[i].CNP != (i == 3) || got[i].QP != 0x17 || got[i].Host != fabric.HostB.Addr() {
			t.Errorf("change %d is %+v, want %d Mbit/s", i, got[i], want)
		}
	}
	// The first node's advice expires before, or together with, the second's.
	if r := got[4]; r.Mbps != 0 || r.By != nil || r.CNP {
		t.Errorf("at the end %+v holds, want nothing", r)
	}
	if want := "11 notifications: 7 accepted, 4 refused (checksum: 2; version: 1; zero-rate: 1); 1 from elsewhere, 0 without room"; summary != want {
		t.Errorf("it says %q, want %q", summary, want)
	}
}

// body sets 32 bits behind the BTH of a frame over IPv6, and makes the checksums right.
func body(t *testing.T, frame []byte, at int, value uint32) {
	t.Helper()
	binary.BigEndian.PutUint32(frame[14+40+8+roce.BTHLen+at:], value)
	b, err := roce.Finish(frame[:len(frame)-4], 14)
	if err != nil || len(b) != len(frame) {
		t.Fatalf("%d octets of %d: %v", len(b), len(frame), err)
	}
	copy(frame, b)
}

func adviceFrame(t *testing.T, p *fabric.Pair, m notify.Message, src string) []byte {
	t.Helper()
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst = netip.MustParseAddr(src), fabric.HostB.Addr()
	e.SrcMAC, e.DstMAC = roce.MAC(p.A.MAC), roce.MAC(p.B.MAC)
	frame, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
	if err != nil {
		t.Fatal(err)
	}
	return frame
}
